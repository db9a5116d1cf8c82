//! Generated programs compile without warnings, run, verify their communication, give the same results in every
//! language, refuse bad arguments, release their memory, and still contain their loops when they are optimised.

mod common;

use std::process::Command;

use benchgen::Language;
use common::{
    COMPILERS, EVERYTHING, Program, compile, compile_with, gcc, generated, generated_in, output, run, run_with,
    standard_output,
};

/// The number behind `checksum`.
fn checksum(output: &str) -> f64 {
    let text = output.lines().find_map(|line| line.strip_prefix("checksum "));
    text.and_then(|text| text.trim().parse().ok()).unwrap_or_else(|| panic!("no checksum in {output}"))
}

#[test]
fn programs_compile_verify_their_communication_and_agree() {
    let drawn = "name = \"drawn\"\n[parameters]\np = [2, 4, 8]\nn = [1000, 2000, 4000]\n[random]\nfunctions = 40\n\
                 seed = 3\niterations = [1e4, 1e6]\nmessage_bytes = [1e2, 1e4]\narrays = [\"1024\", \"n^(2/3)\", \"n * p\"]\n";
    for (text, ranks) in [(EVERYTHING, 3), (benchgen::DEMO_SPEC, 2), (drawn, 4)] {
        let run = |compiler: (Language, &str)| {
            let (_, generated) = generated_in(text, compiler.0);
            let program = compile(&generated.source, compiler, &["-O3"]);
            checksum(&standard_output(run(&program, ranks, &["n=1000", "verify=1"])))
        };
        let checksums = COMPILERS.map(run);
        assert!(checksums.iter().all(|c| *c == checksums[0] && *c != 0.0), "{checksums:?}");
    }
}

/// A function that asks for none of its argument's members compiles without a warning, too.
#[test]
fn functions_of_nothing_but_barriers_compile() {
    let text =
        "name = \"t\"\n[parameters]\np = [2, 4]\n[[function]]\nname = \"meet\"\nmpi = [{ operation = \"barrier\" }]\n";
    for (language, compiler) in COMPILERS {
        let (_, generated) = generated_in(text, language);
        standard_output(run(&compile(&generated.source, (language, compiler), &[]), 2, &["verify=1"]));
    }
}

#[test]
fn programs_suit_the_other_mpi_too() {
    let mut checksums = Vec::new();
    for language in Language::ALL {
        let (_, generated) = generated_in(EVERYTHING, language);
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join(&generated.file), &generated.source).expect("the folder is writable");
        let (wrapper, standard) = match language {
            Language::Cpp => ("mpicxx.mpich", "-std=c++17"),
            Language::C => ("mpicc.mpich", "-std=c11"),
            // MPICH's own mpif.h goes beyond the standard.
            Language::Fortran => ("mpifort.mpich", "-std=gnu"),
        };
        let flags = [standard, "-Wall", "-Wextra", "-Werror", "-O2", &generated.file, "-o", "program", "-lm"];
        standard_output(output(Command::new(wrapper).current_dir(folder.path()).args(flags)));
        let binary = folder.path().join("program");
        let run = output(Command::new("mpiexec.mpich").args(["-n", "3"]).arg(binary).args(["n=777", "verify=1"]));
        checksums.push(checksum(&standard_output(run)));
    }
    assert!(checksums.iter().all(|c| *c == checksums[0]), "{checksums:?}");
}

#[test]
fn the_cmake_file_builds_the_program() {
    for language in Language::ALL {
        let (_, generated) = generated_in(benchgen::DEMO_SPEC, language);
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join(&generated.file), &generated.source).expect("the folder is writable");
        std::fs::write(folder.path().join("CMakeLists.txt"), &generated.cmake).expect("the folder is writable");
        let cmake = |arguments: &[&str]| {
            standard_output(output(Command::new("cmake").current_dir(folder.path()).args(arguments)));
        };
        cmake(&["-S", ".", "-B", "build"]);
        cmake(&["--build", "build"]);
        assert!(folder.path().join("build/demo").is_file());
    }
}

#[test]
fn wrong_results_are_noticed() {
    for language in Language::ALL {
        let (_, generated) = generated_in(EVERYTHING, language);
        // The interposer changes one element of what this function receives, in every call.
        let interposer = include_str!("specs/interposer.c");
        let program = compile_with(&generated.source, (language, gcc(language)), &["-O1"], Some(interposer));
        for function in [
            "MPI_Allgather",
            "MPI_Allreduce",
            "MPI_Alltoall",
            "MPI_Bcast",
            "MPI_Gather",
            "MPI_Recv",
            "MPI_Reduce",
            "MPI_Scatter",
            "MPI_Sendrecv",
        ] {
            let failed = run_with(&program, 2, &["n=100", "verify=1"], &[("CORRUPT", function)]);
            let text = String::from_utf8_lossy(&failed.stderr);
            assert!(!failed.status.success(), "{language:?}: {function} delivers something else and nobody notices");
            // A message that is received is known by the function that sent it where both are in one branch.
            let names = if function == "MPI_Recv" { vec!["MPI_Recv", "MPI_Send"] } else { vec![function] };
            for name in names {
                assert!(text.contains(&format!(": {name}: rank ")) && text.contains(", expected "), "{name}: {text}");
            }
        }
        standard_output(run(&program, 2, &["n=100", "verify=1"]));
    }
}

/// A message that is cut short is as wrong as one that is changed.
#[test]
fn a_wrong_count_is_noticed() {
    let (_, generated) = generated(EVERYTHING);
    let wrong =
        generated.source.replace("MPI_Scatter(message.send, elements,", "MPI_Scatter(message.send, elements - 1,");
    assert_ne!(wrong, generated.source);
    let failed = run(&compile(&wrong, (Language::Cpp, "g++"), &["-O1"]), 2, &["n=100", "verify=1"]);
    let text = String::from_utf8_lossy(&failed.stderr);
    assert!(!failed.status.success() && text.contains("from_root: MPI_Scatter: rank 1: element "), "{text}");
}

/// What the sanitizers say of a program, which must end well; leaks of the MPI library are none of ours.
fn sanitized(source: &str, language: Language) -> String {
    let undefined: &[&str] = if language == Language::Fortran { &[] } else { &["-fsanitize=undefined"] };
    let flags = [&["-g", "-O1", "-fsanitize=address", "-fno-sanitize-recover=all"], undefined].concat();
    let program = compile(source, (language, gcc(language)), &flags);
    let options = [("ASAN_OPTIONS", "detect_leaks=1"), ("LSAN_OPTIONS", "exitcode=0")];
    let run = run_with(&program, 3, &["n=100", "verify=1"], &options);
    let report = String::from_utf8_lossy(&run.stderr).into_owned();
    standard_output(run);
    report
}

#[test]
fn programs_stay_inside_their_memory_and_release_it() {
    for (language, release) in [
        (Language::Cpp, "std::free(blocks[i]);"),
        (Language::C, "        free(memory->blocks[i]);"),
        (Language::Fortran, "if (associated(array%doubles)) deallocate (array%doubles)"),
    ] {
        let (_, generated) = generated_in(EVERYTHING, language);
        let name = format!("program.{}", language.extension());
        let report = sanitized(&generated.source, language);
        assert!(!report.contains(&name), "{report}");
        // Without its release the same program is reported, so that the silence above means something.
        assert!(generated.source.contains(release), "{language:?}");
        let leaky = sanitized(&generated.source.replace(release, ""), language);
        assert!(leaky.contains("detected memory leaks") && leaky.contains(&name), "{leaky}");
    }
}

#[test]
fn bad_arguments_are_told_once_with_the_usage() {
    Language::ALL.into_iter().for_each(bad_arguments);
}

fn bad_arguments(language: Language) {
    let (_, generated) = generated_in(benchgen::DEMO_SPEC, language);
    let program = compile(&generated.source, (language, gcc(language)), &["-O1"]);
    let all = [
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
    ];
    // C's reader is that of C++.
    let few = if language == Language::C { 2 } else { all.len() };
    for (arguments, problem) in all.into_iter().take(few) {
        let refused = run(&program, 2, arguments);
        let text = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}: {text}");
        assert_eq!(text.matches("usage: demo n=INTEGER [verify=0|1] [timing=0|1]").count(), 1, "{text}");
        assert_eq!(text.matches(problem).count(), 1, "{arguments:?}: {text}");
    }
}

#[test]
fn sizes_that_do_not_fit_are_refused_as_the_program_starts() {
    for language in Language::ALL {
        let (_, generated) = generated_in(benchgen::DEMO_SPEC, language);
        let program = compile(&generated.source, (language, gcc(language)), &["-O1"]);
        let refused = run(&program, 2, &["n=9007199254740992"]);
        let text = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{text}");
        let line = text.lines().find(|line| line.starts_with("distribute, elements n: ")).expect("the law is named");
        assert!(line.to_lowercase().contains("9.007") && line.contains("more than"), "{line}");
    }
}

/// Instructions that each function of a program executes, all that it calls left out, as callgrind counts them.
fn instructions(program: &Program, n: u32) -> Vec<(String, u64)> {
    let folder = program.folder.path();
    let mut valgrind = Command::new("valgrind");
    valgrind.current_dir(folder).args(["--tool=callgrind", "--callgrind-out-file=counts", "--dump-line=no"]);
    standard_output(output(valgrind.arg(&program.binary).arg(format!("n={n}"))));
    let text = common::read(folder, "counts");
    let mut names = std::collections::HashMap::new();
    let (mut all, mut current, mut called) = (std::collections::BTreeMap::<String, u64>::new(), String::new(), false);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            // `(3) name` where a name occurs first, `(3)` from then on.
            let (id, name) = name.split_once(' ').unwrap_or((name, ""));
            current = names.entry(id.to_owned()).or_insert_with(|| name.to_owned()).clone();
        } else if let Some(name) = line.strip_prefix("cfn=") {
            let (id, name) = name.split_once(' ').unwrap_or((name, ""));
            names.entry(id.to_owned()).or_insert_with(|| name.to_owned());
        } else if line.starts_with("calls=") {
            called = true;
        } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
            // The cost behind a call is the callee's.
            let cost = line.split(' ').nth(1).and_then(|cost| cost.parse::<u64>().ok());
            *all.entry(current.clone()).or_default() += if called { 0 } else { cost.unwrap_or(0) };
            called = false;
        }
    }
    all.into_iter().collect()
}

#[test]
fn optimised_loops_still_run() {
    // Of 10,000 iterations none takes less than two instructions, whatever the compiler does: at least its element is read
    // and combined.
    let operations = benchgen::operation::Operation::ALL.map(benchgen::operation::Operation::name);
    let mut text = "name = \"loops\"\n[parameters]\np = [1]\nn = [100]\n".to_owned();
    for operation in operations {
        for element in ["int", "float", "double"] {
            let kernel =
                |c: &str| format!("{{ complexity = \"{c}\", operation = \"{operation}\", element = \"{element}\" }}");
            let (flat, deep) = (kernel("100 * n"), [kernel("100"), kernel("n")].join(", "));
            text += &format!("[[function]]\nname = \"flat_{operation}_{element}\"\nkernels = [{flat}]\n");
            text += &format!(
                "[[function]]\nname = \"deep_{operation}_{element}\"\narrangement = \"nested\"\nkernels = [{deep}]\n"
            );
        }
    }
    text += "[[function]]\nname = \"sweep\"\n\
             mpi = [{ operation = \"wavefront_3d\", elements = \"4\", calls = \"100\", work = \"n\" }]\n";
    for compiler in COMPILERS {
        let (spec, generated) = generated_in(&text, compiler.0);
        let program = compile(&generated.source, compiler, &["-O3"]);
        let counts = instructions(&program, 100);
        for function in &spec.functions {
            let found = counts.iter().find(|(name, _)| *name == function.name);
            let (_, executed) = found.unwrap_or_else(|| panic!("{compiler:?}: {} is not called", function.name));
            assert!(*executed >= 2 * 10_000, "{compiler:?}: {} takes {executed} instructions", function.name);
        }
    }
}
