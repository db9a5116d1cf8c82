//! Compares the truth with independent counts of what generated programs do: GCC's line counters for loop iterations
//! and visits, and an interposed MPI for calls and bytes.

mod common;

use std::collections::BTreeMap;
use std::process::Command;

use benchgen::truth::Kind;
use benchgen::{Generated, Point, Spec, Truth};
use common::{EVERYTHING, compile, generated, output, point, read, run, standard_output};

/// How often GCC's counters saw each line of `program.cpp` executed, summed over the ranks.
fn line_counts(source: &str, ranks: u32, arguments: &[&str]) -> BTreeMap<usize, u64> {
    let program = compile(&[("program.cpp", source)], "g++", &["-O0", "--coverage"]);
    standard_output(run(&program, ranks, arguments));
    let folder = program.folder.path();
    let data = std::fs::read_dir(folder)
        .expect("the folder exists")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let data: Vec<String> = data.filter(|name| name.ends_with(".gcda")).collect();
    assert_eq!(data.len(), 1, "{data:?}");
    let report = output(Command::new("gcov").current_dir(folder).args(["--json-format", "--stdout", &data[0]]));
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).expect("gcov writes JSON");
    let files = report["files"].as_array().expect("gcov lists files");
    let file = files.iter().find(|f| f["file"] == "program.cpp").expect("gcov lists the program");
    let lines = file["lines"].as_array().expect("gcov lists lines");
    // A line of a function template occurs once for each instance; the functions looked at here are none.
    lines.iter().map(|l| (l["line_number"].as_u64().unwrap() as usize, l["count"].as_u64().unwrap())).collect()
}

/// The lines of a benchmark function, with their numbers.
fn body<'a>(source: &'a str, function: &str) -> Vec<(usize, &'a str)> {
    let head = format!("void {function}(const Parameters& parameters) {{");
    let lines = source.lines().enumerate().skip_while(|(_, line)| *line != head);
    lines.take_while(|(_, line)| *line != "}").map(|(i, line)| (i + 1, line.trim())).collect()
}

/// Executions per rank of the lines of `function` that satisfy `is`.
fn executed(
    source: &str,
    counts: &BTreeMap<usize, u64>,
    function: &str,
    ranks: u32,
    is: impl Fn(&str) -> bool,
) -> u128 {
    let lines: Vec<usize> = body(source, function).into_iter().filter(|(_, line)| is(line)).map(|(i, _)| i).collect();
    assert!(!lines.is_empty(), "no line of {function} was found");
    let total: u64 = lines.iter().map(|line| counts[line]).sum();
    assert_eq!(total % u64::from(ranks), 0, "every rank executes as much");
    u128::from(total / u64::from(ranks))
}

/// Checks every function's iterations and every MPI call's visits at a point. Gives the number of comparisons.
fn compare(spec: &Spec, generated: &Generated, at: &Point, ranks: u32, arguments: &[&str]) -> usize {
    let (source, truth) = (&generated.source, &generated.truth);
    let counts = line_counts(source, ranks, arguments);
    let mut compared = 0;
    for function in &spec.functions {
        let own = truth.find(&["main", &function.name]).expect("every function has its truth");
        let iterations = own.iterations.as_ref().expect("a function computes");
        for i in 0..function.kernels.len() {
            let is = |line: &str| line.starts_with(&format!("sum{i} +=")) || line.starts_with(&format!("a{i}["));
            let counted = executed(source, &counts, &function.name, ranks, is);
            assert_eq!(iterations.exact[i].at(at), Ok(counted), "{}, kernel {i} at {at:?}", function.name);
            let smooth = iterations.complexity.terms[i].at(at).unwrap();
            let error = (smooth - counted as f64).abs();
            assert!(error <= 0.0101 * smooth, "{}: {smooth} rounds to {counted} at {at:?}", function.name);
            compared += 1;
        }
        for path in truth.callpaths.iter().filter(|c| c.callpath.len() == 3 && c.callpath[1] == function.name) {
            let call = format!("{}(", path.callpath[2]);
            let counted = executed(source, &counts, &function.name, ranks, |line| line.starts_with(&call));
            assert_eq!(path.visits.exact_at(at), Ok(counted), "{:?} at {at:?}", path.callpath);
            compared += 1;
        }
    }
    compared
}

#[test]
fn iterations_and_visits_are_what_gcc_counts() {
    let (spec, generated) = generated(EVERYTHING);
    for (ranks, n) in [(1, 100), (3, 777), (4, 1000)] {
        let compared = compare(&spec, &generated, &point(ranks, n), ranks, &[&format!("n={n}")]);
        // 19 kernels; 10 MPI operations, one of which calls two functions.
        assert_eq!(compared, 19 + 11);
    }
}

#[test]
fn drawn_functions_iterate_as_their_truth_says() {
    let text = "name = \"drawn\"\n[parameters]\np = [2, 3, 4]\nn = [1000, 2000]\n[random]\nfunctions = 25\nseed = 7\n\
                iterations = [1e4, 1e5]\nmessage_bytes = [1e3, 1e5]\n";
    let (spec, generated) = generated(text);
    for (ranks, n) in [(2, 1000), (3, 2000)] {
        assert!(compare(&spec, &generated, &point(ranks, n), ranks, &[&format!("n={n}")]) > 40);
    }
}

#[test]
fn a_wrong_program_is_noticed() {
    let (spec, mut generated) = generated(EVERYTHING);
    // One iteration less in one kernel of one function.
    generated.source = generated.source.replacen("i1 < trips1;", "i1 + 1 < trips1;", 1);
    let broken = std::panic::catch_unwind(|| compare(&spec, &generated, &point(2, 100), 2, &["n=100"]));
    let message =
        *broken.expect_err("the missing iteration is noticed").downcast::<String>().expect("a formatted message");
    assert!(message.contains("reductions, kernel 1"), "{message}");
}

/// Calls, bytes sent and bytes received by rank and MPI function, as the interposer counts them.
fn moved(generated: &Generated, ranks: u32, arguments: &[&str]) -> BTreeMap<(u32, String), [u128; 3]> {
    let interposer = include_str!("specs/interposer.cpp");
    let program = compile(&[("program.cpp", &generated.source), ("interposer.cpp", interposer)], "g++", &["-O1"]);
    let text = standard_output(run(&program, ranks, arguments));
    let lines = text.lines().filter_map(|line| line.strip_prefix("moved "));
    let entry = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |i: usize| words[i].parse::<u128>().expect("a number");
        ((number(0) as u32, words[1].to_owned()), [number(2), number(3), number(4)])
    };
    lines.map(entry).collect()
}

#[test]
fn visits_and_bytes_are_what_an_interposed_mpi_counts() {
    let (_, generated) = generated(EVERYTHING);
    for (ranks, n) in [(1, 100), (3, 777), (4, 1000)] {
        let counted = moved(&generated, ranks, &[&format!("n={n}")]);
        let at = point(ranks, n);
        let mut compared = 0;
        for path in generated.truth.callpaths.iter().filter(|c| c.kind == Kind::Communication) {
            let function = path.callpath.last().expect("a call path has names");
            let bytes = path.bytes.as_ref().expect("communication moves bytes");
            for rank in 0..ranks {
                let unpaired =
                    ranks % 2 == 1 && rank == ranks - 1 && ["MPI_Send", "MPI_Recv"].contains(&function.as_str());
                let expected = |by: &benchgen::truth::RankBytes| {
                    let count = if rank == 0 { &by.root } else { &by.others };
                    if unpaired { 0 } else { count.exact_at(&at).unwrap() }
                };
                let expected = [path.visits.exact_at(&at).unwrap(), expected(&bytes.sent), expected(&bytes.received)];
                assert_eq!(
                    counted[&(rank, function.clone())],
                    expected,
                    "{function} on rank {rank} of {ranks}, n = {n}"
                );
                compared += 1;
            }
        }
        assert_eq!(compared, 11 * ranks as usize);
    }
}

#[test]
fn a_truth_file_reads_back_as_it_was_written() {
    let (_, generated) = generated(EVERYTHING);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("truth.json");
    generated.truth.save(&path).unwrap();
    assert_eq!(Truth::load(&path).unwrap(), generated.truth);

    let text = read(folder.path(), "truth.json");
    std::fs::write(&path, text.replace("\"schema_version\": 1", "\"schema_version\": 2")).unwrap();
    let error = Truth::load(&path).unwrap_err().to_string();
    assert!(error.ends_with("expected counterpoise/truth version 1; generate the benchmark again"), "{error}");

    std::fs::write(&path, &text[..text.len() / 2]).unwrap();
    let error = Truth::load(&path).unwrap_err().to_string();
    assert!(error.contains("truth.json:") && error.contains("EOF"), "{error}");

    let error = Truth::load(&folder.path().join("absent.json")).unwrap_err().to_string();
    assert!(error.contains("absent.json: No such file"), "{error}");
}
