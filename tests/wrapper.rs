//! `poise cc` and `poise c++` as compilers: with the counters in, with the counters off, and when things are missing.

mod common;

use common::{World, outcome};
use poise_profile::{Metric, Profile};

const PROGRAM: &str = "#include <cstdio>
int twice(int);
int main() { std::printf(\"%d\\n\", twice(21)); }
";
const LIBRARY: &str = "__attribute__((noinline)) int twice(int x) { int sum = 0; for (volatile int i = 0; i < 2; i = i + 1) sum += x; return sum; }";

fn blocks(world: &World, program: &str) -> u128 {
    let profile = world.path(&format!("{program}.poise"));
    let _ = std::fs::remove_file(&profile);
    let mut command = world.command(&format!("./{program}"), [""; 0]);
    let ran = outcome(command.env("POISE_PROFILE", &profile).output().unwrap()).status(0);
    assert_eq!(ran.stdout, "42\n");
    let profile = Profile::read(&profile).unwrap();
    profile.values.iter().filter(|((_, metric), _)| *metric == Metric::BasicBlocks).map(|(_, v)| v.sum).sum()
}

#[test]
fn compiling_and_linking_together_apart_and_through_a_shared_library_count_the_same() {
    let world = World::new();
    world.write("main.cpp", PROGRAM);
    world.write("twice.cpp", LIBRARY);
    let build = |line: &str| world.poise(["c++"].into_iter().chain(line.split_whitespace())).status(0);
    build("-O1 main.cpp twice.cpp -o together");
    build("-O1 -c main.cpp");
    build("-O1 -c twice.cpp -fPIC");
    build("main.o twice.o -o apart");
    build("-shared twice.o -o libtwice.so");
    build("main.o -L. -ltwice -Wl,-rpath,$ORIGIN -o shared");
    let counted = blocks(&world, "together");
    assert!(counted > 2, "{counted}");
    assert_eq!(blocks(&world, "apart"), counted);
    assert_eq!(blocks(&world, "shared"), counted);
}

/// Threads hang below what started them in shared and static programs, also where `-x` names the language of all that follows.
#[test]
fn static_programs_count_and_know_who_started_their_threads() {
    let world = World::new();
    let text = "#include <cstdio>\n#include <thread>
        extern \"C\" void work(int n) { static volatile int sum; while (n--) sum = n; }
        int main() { std::thread t(work, 9); t.join(); std::puts(\"42\"); }";
    world.write("main.cpp", text);
    let below_main = |program: &str| {
        blocks(&world, program);
        let profile = Profile::read(world.path(&format!("{program}.poise"))).unwrap();
        let works = |&node: &u32| profile.path(node).unwrap().last().unwrap().name == "work";
        let work = (0..profile.nodes.len() as u32).find(works).unwrap();
        profile.path(work).unwrap()[0].name == "main"
    };
    world.poise(["c++", "-O1", "-static", "-x", "c++", "main.cpp", "-o", "static"]).status(0);
    world.poise(["c++", "-O1", "-x", "c++", "main.cpp", "-o", "shared"]).status(0);
    world.poise(["c++", "-O1", "-static-pie", "-fPIE", "-x", "c++", "main.cpp", "-o", "movable"]).status(0);
    assert!(below_main("static") && below_main("shared") && below_main("movable"));
    assert_eq!([blocks(&world, "static"), blocks(&world, "movable")], [blocks(&world, "shared"); 2]);
}

/// Nothing can be preloaded into a static program; one that was compiled with counters needs nothing preloaded.
#[test]
fn a_static_program_that_cannot_be_measured_is_told() {
    let mut world = World::new();
    world.write("main.c", "int main(void) { return 7; }");
    let compiled = world.command("cc", ["-static", "-s", "main.c", "-o", "plain"]).output().unwrap();
    assert!(compiled.status.success());
    world.poise(["cc", "-static", "-s", "main.c", "-o", "counted"]).status(0);
    world.set("POISE_PROFILE", "run.poise");
    let run = world.poise(["preload", "./plain"]).status(7);
    assert!(
        run.stderr.starts_with("poise: ./plain is linked statically") && run.stderr.lines().count() == 1,
        "{}",
        run.stderr
    );
    assert!(!world.path("run.poise").exists());
    // In each run anew, by one rank for all.
    assert_eq!(world.poise(["preload", "./plain"]).status(7).stderr, run.stderr);
    for (rank, said) in [("0", run.stderr.as_str()), ("1", "")] {
        world.set("PMI_RANK", rank);
        assert_eq!(world.poise(["preload", "./plain"]).status(7).stderr, said, "rank {rank}");
    }
    world.set("PMI_RANK", "0");
    assert_eq!(world.poise(["preload", "./counted"]).status(7).stderr, "");
    assert!(world.path("run.poise").exists());
}

/// Who asks for no profile may have forgotten it; it is said by one rank, and not where it was said that there is to be none.
#[test]
fn a_profile_that_is_not_asked_for_is_told() {
    let mut world = World::new();
    for (rank, lines) in [("0", 1), ("1", 0)] {
        world.set("PMI_RANK", rank);
        let said = world.poise(["preload", "sh", "-c", "exit 7"]).status(7).stderr;
        assert_eq!((said.lines().count(), said.matches("POISE_PROFILE is not set").count()), (lines, lines), "{said}");
    }
    world.set("PMI_RANK", "0");
    world.set("POISE_PROFILE", "");
    assert_eq!(world.poise(["preload", "sh", "-c", "exit 7"]).status(7).stderr, "");
}

/// The dynamic linker itself names none, but obeys what is to be preloaded when it starts a program.
#[test]
fn a_program_that_the_dynamic_linker_is_asked_to_start_is_measured() {
    let mut world = World::new();
    world.write("main.c", "static volatile int sum; int main(void) { for (int i = 0; i < 9; i++) sum = i; return 7; }");
    world.poise(["cc", "-O1", "main.c", "-o", "counted"]).status(0);
    let headers = world.command("readelf", ["-l", "counted"]).output().unwrap();
    let headers = String::from_utf8(headers.stdout).unwrap();
    let linker = headers.split_once("program interpreter: ").and_then(|(_, rest)| rest.split_once(']')).unwrap().0;
    world.set("POISE_PROFILE", "run.poise");
    let run = world.poise(["preload", linker, "./counted"]).status(7);
    assert_eq!(run.stderr, "");
    assert!(world.path("run.poise").exists());
}

#[test]
fn a_program_built_with_counters_and_not_asked_to_measure_leaves_nothing() {
    let world = World::new();
    world.write("main.cpp", &format!("{PROGRAM}{LIBRARY}"));
    world.poise(["c++", "main.cpp", "-o", "main"]).status(0);
    let ran = outcome(world.command("./main", [""; 0]).output().unwrap()).status(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("42\n", ""));
    assert_eq!(world.names("."), ["main", "main.cpp"]);
}

#[test]
fn the_compiler_behind_the_wrapper_answers_for_itself() {
    let mut world = World::new();
    assert!(world.poise(["cc", "--version"]).status(0).stdout.contains("clang version 19"));
    assert!(world.poise(["c++", "-help"]).status(0).stdout.contains("-fpass-plugin"));
    let ours = world.poise(["c++", "--help"]).status(0).stdout;
    assert!(ours.contains("--noise") && ours.lines().count() < 25, "{ours}");

    world.write("wrong.cpp", "int main() { return undeclared; }");
    let wrong = world.poise(["c++", "wrong.cpp", "-o", "wrong"]).status(1);
    assert!(wrong.stderr.contains("wrong.cpp:1:21: error"), "{}", wrong.stderr);
    assert_eq!(world.names("."), ["wrong.cpp"]);

    world.set("POISE_WRAPPER", "off");
    world.write("main.cpp", &format!("{PROGRAM}{LIBRARY}"));
    world.poise(["c++", "-Werror", "main.cpp", "-o", "main"]).status(0);
    let needed = outcome(world.command("readelf", ["-d", "main"]).output().unwrap()).status(0);
    assert!(!needed.stdout.contains("poise"), "{}", needed.stdout);
}

#[test]
fn standard_input_headers_and_response_files_compile_as_with_clang() {
    use std::io::Write;
    use std::process::Stdio;
    let world = World::new();
    let text = format!("{PROGRAM}{LIBRARY}");
    let poise = env!("CARGO_BIN_EXE_poise");
    let mut child =
        world.command(poise, ["c++", "-x", "c++", "-", "-o", "piped"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());

    world.write("main.cpp", &text);
    world.write("arguments", "main.cpp -o listed");
    world.poise(["c++", "@arguments"]).status(0);
    assert_eq!(blocks(&world, "listed"), blocks(&world, "piped"));

    world.write("empty.hpp", "");
    world.poise(["c++", "-x", "c++-header", "empty.hpp", "-o", "empty.pch"]).status(0);
}

/// Counts with every LLVM that the pass serves, by name, through another wrapper, and by default.
#[test]
fn the_pass_works_in_the_compiler_that_is_asked_for() {
    let mut world = World::new();
    world.write("main.cpp", &format!("{PROGRAM}{LIBRARY}"));
    let doctor = world.poise(["doctor"]).status(0).stdout;
    assert!(doctor.contains("for LLVM 19") && doctor.contains(" 16."), "{doctor}");
    let wrapper = "#!/bin/sh\nexec clang++-16 -DWRAPPED \"$@\"\n";
    world.write("mpi-like", wrapper);
    outcome(world.command("chmod", ["+x", "mpi-like"]).output().unwrap()).status(0);
    let producer = |world: &World, program: &str| {
        let comment = outcome(world.command("readelf", ["-p", ".comment", program]).output().unwrap()).status(0).stdout;
        ["16.", "19."].into_iter().filter(|v| comment.contains(&format!("clang version {v}"))).collect::<String>()
    };
    world.poise(["c++", "-O1", "main.cpp", "-o", "default"]).status(0);
    assert_eq!(producer(&world, "default"), "19.");
    for (compiler, program) in [("clang++-16", "named"), ("./mpi-like", "wrapped")] {
        world.set("POISE_CXX", compiler);
        world.poise(["c++", "-O1", "main.cpp", "-o", program]).status(0);
        assert_eq!(producer(&world, program), "16.");
        assert_eq!(blocks(&world, program), blocks(&world, "default"));
    }
}

/// A compiler that the pass does not serve, and one that is none.
#[test]
fn a_compiler_of_another_llvm_is_one_line_with_what_to_do() {
    let mut world = World::new();
    world.write("main.cpp", PROGRAM);
    for (banner, said) in [("Debian clang version 17.0.6", "is LLVM 17"), ("g++ 12.2.0", "does not say which LLVM")] {
        world.write("other", &format!("#!/bin/sh\necho '{banner}'\n"));
        outcome(world.command("chmod", ["+x", "other"]).output().unwrap()).status(0);
        world.set("POISE_CXX", "./other");
        let refused = world.poise(["c++", "-c", "main.cpp"]).status(2).stderr;
        assert_eq!(refused.lines().count(), 1, "{refused}");
        for part in [said, "built for LLVM 19", "16.", "apt install clang-19 or clang-16", "POISE_CXX"] {
            assert!(refused.contains(part), "{part}: {refused}");
        }
    }
    assert_eq!(world.names("."), ["main.cpp", "other"]);
}

#[test]
fn a_missing_llvm_or_pass_is_named_with_what_to_do() {
    let mut world = World::new();
    world.set("PATH", "/nowhere");
    let missing = world.poise(["c++", "x.cpp"]).status(2);
    assert!(
        missing.stderr.contains("No LLVM compiler: none of clang++-19")
            && missing.stderr.contains("apt install clang-19")
    );
    assert_eq!(missing.stderr.lines().count(), 1);

    let doctor = world.poise(["doctor", "--format", "json"]).status(0);
    let doctor: serde_json::Value = serde_json::from_str(&doctor.stdout).unwrap();
    let finding = |name: &str| {
        doctor["findings"]
            .as_array()
            .unwrap()
            .iter()
            .find(|f| f["name"] == name)
            .unwrap_or_else(|| panic!("{name}"))
            .clone()
    };
    assert_eq!(finding("C++ compiler")["found"], false);
    assert_eq!(finding("Open MPI")["found"], false);
    assert_eq!(finding("runtime")["found"], true);
    for tool in ["llvm-mc", "llvm-mca"] {
        assert_eq!(finding(tool)["found"], false);
        assert!(finding(tool)["detail"].as_str().unwrap().contains("apt install llvm-19"));
    }
}
