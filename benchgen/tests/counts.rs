//! Compares the truth with independent counts of what generated programs do: GCC's line counters for loop iterations
//! and visits, an interposed MPI for calls and bytes, and another one's logical clock for waiting.

mod common;

use std::collections::BTreeMap;
use std::process::Command;

use benchgen::operation::MpiOperation;
use benchgen::spec::Function;
use benchgen::truth::{CallPathTruth, Kind, RankBytes};
use benchgen::{Generated, Language, Point, Spec, Truth};
use common::{
    EVERYTHING, compile, compile_with, gcc, generated, generated_in, output, point, read, run, standard_output,
};

/// How often GCC's counters saw each line of a program executed, summed over the ranks.
fn line_counts(source: &str, language: Language, ranks: u32, arguments: &[&str]) -> BTreeMap<usize, u64> {
    let program = compile(source, (language, gcc(language)), &["-O0", "--coverage"]);
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
    let name = format!("program.{}", language.extension());
    let file = files.iter().find(|f| f["file"] == *name).expect("gcov lists the program");
    let lines = file["lines"].as_array().expect("gcov lists lines");
    // A line of a function template occurs once for each instance; the functions looked at here are none.
    lines.iter().map(|l| (l["line_number"].as_u64().unwrap() as usize, l["count"].as_u64().unwrap())).collect()
}

/// The lines of a benchmark function, with their numbers.
fn body<'a>(source: &'a str, language: Language, function: &str) -> Vec<(usize, &'a str)> {
    let (head, end) = match language {
        Language::Cpp => (format!("void {function}(const Parameters& parameters) {{"), "}"),
        Language::C => (format!("void {function}(const Parameters* parameters) {{"), "}"),
        Language::Fortran => {
            (format!("    subroutine run_{function}() bind(C, name='{function}')"), "    end subroutine")
        }
    };
    let lines = source.lines().enumerate().skip_while(|(_, line)| *line != head);
    let ends = |line: &str| if end == "}" { line == end } else { line.starts_with(end) };
    lines.take_while(|(_, line)| !ends(line)).map(|(i, line)| (i + 1, line.trim())).collect()
}

/// Whether a line is the statement of kernel `i`; in Fortran the one before it, since GCC counts a loop's last test with
/// the last line of its body.
fn is_kernel(line: &str, language: Language, i: usize) -> bool {
    match language {
        Language::Fortran => line.starts_with(&format!("k{i} = iand(")),
        _ => line.starts_with(&format!("sum{i} +=")) || line.starts_with(&format!("a{i}[")),
    }
}

/// A program, its truth and what was counted at a point.
struct Counted<'a> {
    generated: &'a Generated,
    language: Language,
    counts: BTreeMap<usize, u64>,
    at: Point,
    ranks: u32,
}

impl Counted<'_> {
    /// Executions per rank of the lines of `function` that satisfy `is`.
    fn executed(&self, function: &str, is: impl Fn(&str) -> bool) -> u128 {
        let body = body(&self.generated.source, self.language, function);
        let lines: Vec<usize> = body.into_iter().filter(|(_, line)| is(line)).map(|(i, _)| i).collect();
        assert!(!lines.is_empty(), "no line of {function} was found");
        let total: u64 = lines.iter().map(|line| self.statement(*line)).sum();
        assert_eq!(total % u64::from(self.ranks), 0, "every rank executes as much");
        u128::from(total / u64::from(self.ranks))
    }

    /// Executions on all ranks of the statement that begins in a line. In Fortran it may be continued, and GCC counts a
    /// loop's last test, one for each rank here, with the last line of its body.
    fn statement(&self, line: usize) -> u64 {
        let source: Vec<&str> = self.generated.source.lines().skip(line - 1).take(5).collect();
        let continued = source.iter().take_while(|text| text.trim_end().ends_with('&')).count();
        let counted = (line..=line + continued).find_map(|line| self.counts.get(&line)).expect("a counted line");
        let last = source.get(continued + 1).is_some_and(|next| next.trim() == "end do");
        counted - if last { u64::from(self.ranks) } else { 0 }
    }

    /// Checks a function's iterations and its MPI calls' visits. Gives the number of comparisons.
    fn compare(&self, function: &Function) -> usize {
        let truth = &self.generated.truth;
        let own = truth.find(&["main", &function.name]).expect("every function has its truth");
        let iterations = own.iterations.as_ref().expect("a function computes");
        // Work within wavefronts comes behind the loops around MPI calls.
        let works = function.messages.iter().filter(|m| m.work.is_some()).count();
        let (kernels, loops) = (function.kernels.len(), function.messages.len());
        let kernels = (0..kernels).chain(kernels + loops..kernels + loops + works);
        let mut compared = 0;
        for (i, term) in kernels.enumerate() {
            let counted = self.executed(&function.name, |line| is_kernel(line, self.language, i));
            assert_eq!(iterations.exact[term].at(&self.at), Ok(counted), "{}, kernel {i}", function.name);
            let smooth = iterations.complexity.terms[term].at(&self.at).unwrap();
            let error = (smooth - counted as f64).abs();
            assert!(error <= 0.0101 * smooth, "{}: {smooth} rounds to {counted}", function.name);
            compared += 1;
        }
        for path in truth.callpaths.iter().filter(|c| c.callpath.len() == 3 && c.callpath[1] == function.name) {
            let call = format!("{}(", path.callpath[2]);
            let is = |line: &str| line.trim_start_matches("call ").starts_with(&call);
            let counted = self.executed(&function.name, is);
            assert_eq!(path.visits.exact_at(&self.at), Ok(counted), "{:?}", path.callpath);
            compared += 1;
        }
        compared
    }
}

/// Checks every function at a point. Gives the number of comparisons.
fn compare(spec: &Spec, generated: &Generated, language: Language, ranks: u32, n: u32) -> usize {
    let counts = line_counts(&generated.source, language, ranks, &[&format!("n={n}")]);
    let counted = Counted { generated, language, counts, at: point(ranks, n), ranks };
    spec.functions.iter().map(|function| counted.compare(function)).sum()
}

#[test]
fn iterations_and_visits_are_what_gcc_counts() {
    for (language, ranks, n) in
        [(Language::Cpp, 1, 100), (Language::Cpp, 3, 777), (Language::C, 4, 1000), (Language::Fortran, 3, 1000)]
    {
        let (spec, generated) = generated_in(EVERYTHING, language);
        // 20 kernels and two wavefronts' work; 12 MPI operations, three of which call two functions.
        assert_eq!(compare(&spec, &generated, language, ranks, n), 22 + 15);
    }
}

#[test]
fn drawn_functions_iterate_as_their_truth_says() {
    let text = "name = \"drawn\"\n[parameters]\np = [2, 4]\nn = [1000, 2000]\n[random]\nfunctions = 25\nseed = 7\n\
                iterations = [1e4, 1e5]\nmessage_bytes = [1e3, 1e5]\n";
    for (language, ranks, n) in [(Language::Cpp, 2, 1000), (Language::Fortran, 4, 1000)] {
        let (spec, generated) = generated_in(text, language);
        assert!(compare(&spec, &generated, language, ranks, n) > 40);
    }
}

#[test]
fn a_wrong_program_is_noticed() {
    let (spec, mut generated) = generated(EVERYTHING);
    // One iteration less in one kernel of one function.
    generated.source = generated.source.replacen("i1 < trips1;", "i1 + 1 < trips1;", 1);
    let broken = std::panic::catch_unwind(|| compare(&spec, &generated, Language::Cpp, 2, 100));
    let message =
        *broken.expect_err("the missing iteration is noticed").downcast::<String>().expect("a formatted message");
    assert!(message.contains("reductions, kernel 1"), "{message}");
}

/// Calls, bytes sent and bytes received by rank and MPI function, as the interposer counts them.
fn moved(generated: &Generated, language: Language, ranks: u32, n: u32) -> BTreeMap<(u32, String), [u128; 3]> {
    let interposer = include_str!("specs/interposer.c");
    let program = compile_with(&generated.source, (language, gcc(language)), &["-O1"], Some(interposer));
    let text = standard_output(run(&program, ranks, &[&format!("n={n}")]));
    let lines = text.lines().filter_map(|line| line.strip_prefix("moved "));
    let entry = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |i: usize| words[i].parse::<u128>().expect("a number");
        ((number(0) as u32, words[1].to_owned()), [number(2), number(3), number(4)])
    };
    lines.map(entry).collect()
}

/// Bytes that a rank moves by the truth; `None` where only the sum over the ranks is known.
fn at_rank(bytes: &RankBytes, rank: u32, at: &Point) -> Option<u128> {
    match bytes {
        RankBytes::ByRole { root, others } => Some(if rank == 0 { root } else { others }.exact_at(at).unwrap()),
        RankBytes::Together { .. } => None,
    }
}

fn together(bytes: &RankBytes, at: &Point) -> Option<u128> {
    match bytes {
        RankBytes::ByRole { .. } => None,
        RankBytes::Together { all } => Some(all.exact_at(at).unwrap()),
    }
}

/// Compares a call path of the truth with the calls and bytes that were counted on all ranks.
fn compare_moved(path: &CallPathTruth, counted: &[[u128; 3]], at: &Point) {
    let bytes = path.bytes.as_ref().expect("communication moves bytes");
    let visits = path.visits.exact_at(at).unwrap();
    let pairs =
        matches!(bytes.sent, RankBytes::ByRole { .. }) && ["MPI_Send", "MPI_Recv"].contains(&&*path.callpath[2]);
    for (rank, [calls, sent, received]) in (0..).zip(counted) {
        assert_eq!(*calls, visits, "{:?} on rank {rank}", path.callpath);
        // The last of an odd number of ranks has no partner.
        let unpaired = pairs && counted.len() % 2 == 1 && rank as usize == counted.len() - 1;
        for (side, counted) in [(&bytes.sent, sent), (&bytes.received, received)] {
            let expected = at_rank(side, rank, at).map(|bytes| if unpaired { 0 } else { bytes });
            assert!(expected.is_none_or(|e| e == *counted), "{:?} on rank {rank}: {counted}", path.callpath);
        }
    }
    for (side, i) in [(&bytes.sent, 1), (&bytes.received, 2)] {
        let sum: u128 = counted.iter().map(|counts| counts[i]).sum();
        assert!(together(side, at).is_none_or(|all| all == sum), "{:?} moves {sum}", path.callpath);
    }
}

/// Each function of a specification in a program of its own: then call paths and MPI functions are one to one.
fn one_by_one(text: &str, take: impl Fn(&Function) -> bool) -> Vec<String> {
    let (spec, _) = generated(text);
    let tables: Vec<&str> = text.split("[[function]]").collect();
    let chosen = spec.functions.iter().zip(&tables[1..]).filter(|(function, _)| take(function));
    chosen.map(|(_, table)| format!("{}[[function]]{table}", tables[0])).collect()
}

#[test]
fn visits_and_bytes_are_what_an_interposed_mpi_counts() {
    // Together, but for barriers, which `main` calls too, and wavefronts, which call what others call.
    let is_wavefront = |f: &Function| f.messages.iter().any(|m| m.operation.dimensions().is_some());
    let is_barrier = |f: &Function| f.messages.iter().any(|m| m.operation == MpiOperation::Barrier);
    let alone = one_by_one(EVERYTHING, |f| is_wavefront(f) || is_barrier(f));
    assert_eq!(alone.len(), 3);
    let others: String = one_by_one(EVERYTHING, |f| !is_wavefront(f) && !is_barrier(f))
        .iter()
        .enumerate()
        .map(|(i, text)| if i == 0 { text.clone() } else { text[text.find("[[function]]").unwrap()..].to_owned() })
        .collect();
    let mut compared = 0;
    for text in alone.iter().chain([&others]) {
        for (language, ranks, n) in
            [(Language::Cpp, 1, 100), (Language::Cpp, 3, 777), (Language::C, 8, 100), (Language::Fortran, 6, 777)]
        {
            let (_, generated) = generated_in(text, language);
            let counted = moved(&generated, language, ranks, n);
            for path in generated.truth.callpaths.iter().filter(|c| c.kind == Kind::Communication) {
                let function = path.callpath.last().expect("a call path has names");
                let of = |rank| counted[&(rank, function.clone())];
                compare_moved(path, &(0..ranks).map(of).collect::<Vec<_>>(), &point(ranks, n));
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 4 * (2 + 2 + 11));
}

#[test]
fn ranks_wait_as_often_as_the_truth_says() {
    for dimensions in [2, 3] {
        let text = format!(
            "name = \"sweep\"\n[parameters]\np = [1, 8]\nn = [4, 5]\n[[function]]\nname = \"sweep\"\n\
             mpi = [{{ operation = \"wavefront_{dimensions}d\", elements = \"10\", calls = \"n\", work = \"n\" }}]\n"
        );
        let (_, generated) = generated_in(&text, Language::C);
        let program =
            compile_with(&generated.source, (Language::C, "gcc"), &["-O1"], Some(include_str!("specs/clock.c")));
        let path = generated.truth.find(&["main", "sweep", "MPI_Recv"]).expect("a wavefront receives");
        let waiting = path.waiting.as_ref().expect("a wavefront waits");
        for (ranks, n) in [(1, 5), (2, 4), (6, 1), (8, 5), (12, 4)] {
            let at = point(ranks, n);
            let text = standard_output(run(&program, ranks, &[&format!("n={n}")]));
            let waited: f64 = text.lines().find_map(|l| l.strip_prefix("waited ")?.parse().ok()).expect("the clock");
            assert_eq!(waiting.mean_stages_at(&at).unwrap() * f64::from(ranks), waited, "{ranks} ranks, {n} sweeps");
        }
        // Where p is a cube or square, the smooth form is exact: of 8 ranks in three dimensions the last waits for 3.
        let ranks = if dimensions == 3 { 8 } else { 4 };
        let smooth = waiting.stages.at(&point(ranks, 5)).unwrap();
        assert!((smooth - 4.5 * f64::from(dimensions)).abs() < 1e-9, "{smooth}");
        let growth = path.growth.time["p"].exponent.to_string();
        assert_eq!(growth, format!("1/{dimensions}"));
    }
}

#[test]
fn a_truth_file_reads_back_as_it_was_written() {
    let (_, generated) = generated(EVERYTHING);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("truth.json");
    generated.truth.save(&path).unwrap();
    assert_eq!(Truth::load(&path).unwrap(), generated.truth);
    for language in Language::ALL {
        assert_eq!(generated_in(EVERYTHING, language).1.truth, generated.truth);
    }

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
