//! Generated programs compile without warnings, run, verify their communication, refuse bad arguments, and still
//! contain their loops when they are optimised.

mod common;

use common::{COMPILERS, EVERYTHING, compile, generated, run, run_with, standard_output};

#[test]
fn programs_compile_and_verify_their_communication() {
    for text in [EVERYTHING, benchgen::DEMO_SPEC] {
        let (_, generated) = generated(text);
        for compiler in COMPILERS {
            let program = compile(&[("program.cpp", &generated.source)], compiler, &["-O3"]);
            for ranks in 2..=4 {
                let text = standard_output(run(&program, ranks, &["n=1000", "verify=1"]));
                assert!(text.starts_with("checksum "), "{text}");
            }
        }
    }
}

#[test]
fn drawn_programs_compile_and_verify_their_communication() {
    let text = "name = \"drawn\"\n[parameters]\np = [2, 4, 8]\nn = [1000, 2000, 4000]\n[random]\nfunctions = 60\nseed = 3\n\
                iterations = [1e4, 1e6]\nmessage_bytes = [1e2, 1e4]\n";
    let (_, generated) = generated(text);
    for compiler in COMPILERS {
        let program = compile(&[("program.cpp", &generated.source)], compiler, &["-O3"]);
        standard_output(run(&program, 4, &["n=1000", "verify=1"]));
    }
}

#[test]
fn wrong_results_are_noticed() {
    let (_, generated) = generated(EVERYTHING);
    // Each replacement makes one operation deliver something else, or nothing after its first call.
    for (function, original, wrong) in [
        ("MPI_Allgather", "MPI_Allgather(message.send, elements, ", "MPI_Allgather(message.send, elements / 2, "),
        ("MPI_Allreduce", "MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD", "MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD"),
        ("MPI_Alltoall", "MPI_Alltoall(message.send,", "MPI_Alltoall(message.receive,"),
        ("MPI_Bcast", "MPI_DOUBLE, 0, MPI_COMM_WORLD);", "MPI_DOUBLE, 1, MPI_COMM_WORLD);"),
        ("MPI_Gather", "MPI_Gather(message.send, elements,", "MPI_Gather(message.send, elements - 1,"),
        ("MPI_Gather", " MPI_Gather(", " if (call == 0) MPI_Gather("),
        ("MPI_Sendrecv", "elements, MPI_DOUBLE, right,", "elements - 1, MPI_DOUBLE, right,"),
        ("MPI_Reduce", "MPI_SUM, 0,", "MPI_MAX, 0,"),
        ("MPI_Scatter", "MPI_Scatter(message.send, elements,", "MPI_Scatter(message.send, elements - 1,"),
        ("MPI_Send", "MPI_Send(message.send,", "MPI_Send(static_cast<float*>(message.send) + 1,"),
    ] {
        assert!(generated.source.contains(original), "{original}");
        let broken = generated.source.replace(original, wrong);
        let program = compile(&[("program.cpp", &broken)], "g++", &["-O1"]);
        let failed = run(&program, 2, &["n=100", "verify=1"]);
        let text = String::from_utf8_lossy(&failed.stderr);
        assert!(!failed.status.success(), "{function} delivers something else and nobody notices");
        assert!(text.contains(&format!(": {function}: rank ")) && text.contains(", expected "), "{function}: {text}");
    }
}

/// What the sanitizers say of a program, which must end well; leaks of the MPI library are none of ours.
fn sanitized(source: &str) -> String {
    let flags = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let program = compile(&[("program.cpp", source)], "g++", &flags);
    let options = [("ASAN_OPTIONS", "detect_leaks=1"), ("LSAN_OPTIONS", "exitcode=0")];
    let run = run_with(&program, 3, &["n=100", "verify=1"], &options);
    let report = String::from_utf8_lossy(&run.stderr).into_owned();
    standard_output(run);
    report
}

#[test]
fn programs_stay_inside_their_memory_and_release_it() {
    let (_, generated) = generated(EVERYTHING);
    let report = sanitized(&generated.source);
    assert!(!report.contains("program.cpp"), "{report}");
    // Without its release the same program is reported, so that the silence above means something.
    let leaky = sanitized(&generated.source.replace("std::free(blocks_[i]);", ""));
    assert!(leaky.contains("detected memory leaks") && leaky.contains("program.cpp"), "{leaky}");
}

#[test]
fn bad_arguments_are_told_once_with_the_usage() {
    let (_, generated) = generated(benchgen::DEMO_SPEC);
    let program = compile(&[("program.cpp", &generated.source)], "g++", &["-O1"]);
    for (arguments, problem) in [
        (&[][..], "a parameter is missing"),
        (&["n=0"], "not understood: n=0"),
        (&["n=-5"], "not understood: n=-5"),
        (&["n=10x"], "not understood: n=10x"),
        (&["n=9007199254740993"], "not understood: n=9007199254740993"),
        (&["n=99999999999999999999999"], "not understood: n=999"),
        (&["n="], "not understood: n="),
        (&["n=100", "m=3"], "not understood: m=3"),
        (&["n=100", "p=3"], "not understood: p=3"),
        (&["n=100", "verify=2"], "not understood: verify=2"),
    ] {
        let refused = run(&program, 2, arguments);
        let text = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}: {text}");
        assert_eq!(text.matches("usage: demo n=INTEGER [verify=0|1] [timing=0|1]").count(), 1, "{text}");
        assert_eq!(text.matches(problem).count(), 1, "{arguments:?}: {text}");
    }
}

#[test]
fn sizes_that_do_not_fit_are_refused_as_the_program_starts() {
    let (_, generated) = generated(benchgen::DEMO_SPEC);
    let program = compile(&[("program.cpp", &generated.source)], "g++", &["-O1"]);
    let refused = run(&program, 2, &["n=9007199254740992"]);
    let text = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{text}");
    assert!(text.contains("distribute, elements n: 9.0072e+15 is more than 2.14748e+09"), "{text}");
}

/// The processor time that each function of a run took, in seconds.
fn seconds(output: &str) -> Vec<(&str, f64)> {
    let line = |line: &'_ str| -> Option<(usize, f64)> {
        let (name, rest) = line.split_once(" cpu_seconds_max ")?;
        Some((name.len(), rest.split(' ').next()?.parse().ok()?))
    };
    output.lines().filter_map(|l| line(l).map(|(length, s)| (&l[..length], s))).collect()
}

#[test]
fn optimised_loops_still_run() {
    // 50 million iterations each. Noise only adds time, so a time below a tenth of a nanosecond per iteration, far less
    // than any of these scalar loops needs, means that a loop was left out or found in closed form.
    let operations = benchgen::operation::Operation::ALL.map(benchgen::operation::Operation::name);
    let mut text = "name = \"loops\"\n[parameters]\np = [1]\nn = [5000]\n".to_owned();
    for operation in operations {
        for element in ["int", "float", "double"] {
            let kernel =
                |c: &str| format!("{{ complexity = \"{c}\", operation = \"{operation}\", element = \"{element}\" }}");
            let (flat, deep) = (kernel("2 * n^2"), [kernel("n"), kernel("2 * n")].join(", "));
            text += &format!("[[function]]\nname = \"flat_{operation}_{element}\"\nkernels = [{flat}]\n");
            text += &format!(
                "[[function]]\nname = \"deep_{operation}_{element}\"\narrangement = \"nested\"\nkernels = [{deep}]\n"
            );
        }
    }
    let (spec, generated) = generated(&text);
    for compiler in COMPILERS {
        let program = compile(&[("program.cpp", &generated.source)], compiler, &["-O3"]);
        let output = standard_output(run(&program, 1, &["n=5000", "timing=1"]));
        let seconds = seconds(&output);
        assert_eq!(seconds.len(), spec.functions.len());
        for (function, seconds) in seconds {
            assert!(seconds > 5e7 * 1e-10, "{compiler}: {function} ran 50 million iterations in {seconds} s");
        }
    }
}
