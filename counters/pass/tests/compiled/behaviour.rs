//! An instrumented program behaves as it would without us.

use std::process::Command;

use poise_profile::{Metric, Profile};

use crate::counts::{LEVELS, MIXED};
use crate::tools::{Bench, Source, at, libraries, succeed, total};

#[test]
fn unmeasured_programs_write_nothing() {
    let bench = Bench::new();
    let program = bench.counted(&MIXED, &["-O2"]);
    let before = std::fs::read_dir(bench.path("")).unwrap().count();
    let run = Command::new(&program).current_dir(bench.path("")).env_remove("POISE_PROFILE").output().unwrap();
    assert_eq!(run.status.code(), Some(6));
    assert!(run.stderr.is_empty());
    assert_eq!(std::fs::read_dir(bench.path("")).unwrap().count(), before);
}

#[test]
fn a_profile_that_cannot_be_written_is_one_line_and_no_failure() {
    let bench = Bench::new();
    let program = bench.counted(&MIXED, &["-O2"]);
    let taken = bench.path("taken");
    std::fs::write(&taken, "mine").unwrap();
    // Nobody, not even root, can make files below /proc.
    for path in [taken.clone(), bench.path("missing/folder/x.poise"), "/proc/x.poise".into()] {
        let run = Command::new(&program).env("POISE_PROFILE", &path).output().unwrap();
        let errors = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(6));
        assert_eq!(errors.lines().count(), 1, "{errors}");
        assert!(errors.starts_with("poise: ") && errors.contains("no profile"), "{errors}");
    }
    assert_eq!(std::fs::read(&taken).unwrap(), b"mine");
}

/// Objects and shared libraries compiled apart, one call tree and one count.
#[test]
fn shared_libraries_join_in() {
    let bench = Bench::new();
    let (library, main) = (bench.path("lib.c"), bench.path("main.c"));
    let half = "int half(int n) { int s = 0; for (int i = 0; i < n; i += 2) s += i & 3; return s; }\n";
    std::fs::write(&library, half).unwrap();
    std::fs::write(
        &main,
        "int half(int); int main() { int s = 0; for (int i = 0; i < 9; i++) s += half(i); return s; }",
    )
    .unwrap();
    let folder = libraries().display().to_string();
    let here = bench.path("").display().to_string();
    let clang = |arguments: &[&str]| {
        let mut command = Command::new("clang-19");
        command.arg("-O1").arg(format!("-fpass-plugin={folder}/libpoise_pass.so")).args(arguments);
        command.args([format!("-L{folder}"), "-lpoise_runtime".into(), format!("-Wl,-rpath,{folder}")]);
        succeed(command.current_dir(bench.path("")));
    };
    clang(&["-shared", "-fPIC", "-Wl,-z,nodelete", "lib.c", "-o", "libhalf.so"]);
    clang(&["main.c", "-o", "main", "-L.", "-lhalf", &format!("-Wl,-rpath,{here}")]);
    let run = bench.measure(&bench.path("main"), &[]);
    assert_eq!(at(run.profile(), &["main", "half"], Metric::Visits), Some(9));
    let whole = format!("{half}{}", std::fs::read_to_string(&main).unwrap());
    let covered = bench.covered(&Source { text: &whole, language: "c" }, &["-O1", "-fno-inline"], &[]);
    assert_eq!(total(run.profile()), covered);
}

/// The child of a fork neither writes nor spoils its parent's profile.
#[test]
fn forked_children_write_nothing() {
    let text = "#include <stdlib.h>\n#include <sys/wait.h>\n#include <unistd.h>
        __attribute__((noinline)) int f(int n) { int s = 0; while (n > 0) s += n--; return s; }
        int main() { int child = fork(), status = 0; if (child == 0) { f(1000); exit(5); }
                     waitpid(child, &status, 0); f(10); return WEXITSTATUS(status); }";
    let bench = Bench::new();
    let run = bench.measure(&bench.counted(&Source { text, language: "c" }, &["-O0"]), &[]);
    assert_eq!(run.output.status.code(), Some(5));
    assert!(run.output.stderr.is_empty(), "{}", String::from_utf8_lossy(&run.output.stderr));
    // Entry, 11 conditions, 10 bodies, end.
    assert_eq!(at(run.profile(), &["main", "f"], Metric::BasicBlocks), Some(23));
}

/// Parameters of the run are in the profile, and the processor's time can be the clock.
#[test]
fn the_environment_reaches_the_profile() {
    let bench = Bench::new();
    let (program, path) = (bench.counted(&MIXED, &["-O0"]), bench.path("x.poise"));
    let mut command = Command::new(program);
    command.env("POISE_PROFILE", &path).env("POISE_CLOCK", "cpu").env("POISE_PARAMETERS", "n=200, p=1");
    command.output().unwrap();
    let profile = Profile::read(path).unwrap();
    assert_eq!(profile.metadata["parameter.n"], "200");
    assert_eq!(profile.metadata["parameter.p"], "1");
    assert_eq!(profile.metadata["clock"], "cpu");
    assert!(at(&profile, &["main"], Metric::Time).unwrap() > 0);
}

/// Calls that must be tail calls stay the last thing before the return, also of callees that always come back.
#[test]
fn forced_tail_calls_compile_and_count() {
    let text = "__attribute__((noinline)) static int sum(int n) { int s = 0; for (int i = 0; i < n; i++) s += i ^ n; return s; }
        __attribute__((noinline)) static int pick(int n) { if (n & 1) [[clang::musttail]] return sum(n + 2); return n; }
        int main(int argc, char **) { int s = 0; for (int i = 0; i < 10; i++) s += pick(i + argc); return s & 63; }";
    for level in LEVELS {
        let (bench, source) = (Bench::new(), Source { text, language: "cpp" });
        let run = bench.measure(&bench.counted(&source, &[level]), &[]);
        assert_eq!(total(run.profile()), bench.covered(&source, &[level], &[]), "{level}");
        let native = Command::new(bench.native(&source, &[level])).status().unwrap();
        assert_eq!(run.output.status, native, "{level}");
    }
}

/// Bitcode that the pass has instrumented may meet the pass again when it is compiled, alone or linked with other bitcode.
#[test]
fn bitcode_is_instrumented_once() {
    let bench = Bench::new();
    let folder = libraries().display().to_string();
    let plugin = format!("-fpass-plugin={folder}/libpoise_pass.so");
    let half = "int half(int n) { int s = 0; for (int i = 0; i < n; i += 2) s += i & 3; return s; }\n";
    let main = "int half(int); int main() { int s = 0; for (int i = 0; i < 9; i++) s += half(i); return s; }";
    std::fs::write(bench.path("half.c"), half).unwrap();
    std::fs::write(bench.path("main.c"), main).unwrap();
    let run = |program: &str, arguments: &[&str]| {
        succeed(Command::new(program).args(arguments).current_dir(bench.path("")));
    };
    let whole = format!("{half}{main}");
    let covered = bench.covered(&Source { text: &whole, language: "c" }, &["-O1", "-fno-inline"], &[]);
    run("clang-19", &["-O1", "-fno-inline", &plugin, "-c", "-emit-llvm", "half.c"]);
    // With `main` instrumented before the two are linked, and after.
    for before in [Some(plugin.as_str()), None] {
        let mut arguments = vec!["-O1", "-c", "-emit-llvm", "main.c"];
        arguments.extend(before);
        run("clang-19", &arguments);
        run("llvm-link-19", &["half.bc", "main.bc", "-o", "whole.bc"]);
        let (search, path) = (format!("-L{folder}"), format!("-Wl,-rpath,{folder}"));
        run("clang-19", &["-O1", &plugin, "whole.bc", "-o", "whole", &search, "-lpoise_runtime", &path]);
        let run = bench.measure(&bench.path("whole"), &[]);
        assert_eq!(total(run.profile()), covered, "{before:?}");
        assert_eq!(at(run.profile(), &["main"], Metric::Visits), Some(1));
        assert_eq!(at(run.profile(), &["main", "half"], Metric::Visits), Some(9));
        assert_eq!(run.profile().nodes.len(), 2, "{before:?}");
    }
}

/// What is instrumented already and is inlined into what is not counts once by its own instructions and once as a part of that.
#[test]
fn bitcode_inlined_into_bitcode_without_the_pass_counts_twice() {
    let bench = Bench::new();
    let folder = libraries().display().to_string();
    let plugin = format!("-fpass-plugin={folder}/libpoise_pass.so");
    let half = "__attribute__((always_inline)) int half(int n) { volatile int s = 0; for (int i = 0; i < n; i += 2) s += i & 3; return s; }\n";
    let main = "int half(int); int main(int c, char **v) { return half(2000 * c) < 0; }";
    std::fs::write(bench.path("half.c"), half).unwrap();
    std::fs::write(bench.path("main.c"), main).unwrap();
    let run = |program: &str, arguments: &[&str]| {
        succeed(Command::new(program).args(arguments).current_dir(bench.path("")));
    };
    let counts = |main_has_it: bool| {
        run("clang-19", &["-O1", &plugin, "-c", "-emit-llvm", "half.c"]);
        let arguments = ["-O1", "-c", "-emit-llvm", "main.c", &plugin];
        run("clang-19", &arguments[..if main_has_it { 5 } else { 4 }]);
        run("llvm-link-19", &["half.bc", "main.bc", "-o", "whole.bc"]);
        let (search, path) = (format!("-L{folder}"), format!("-Wl,-rpath,{folder}"));
        run("clang-19", &["-O1", &plugin, "whole.bc", "-o", "whole", &search, "-lpoise_runtime", &path]);
        total(bench.measure(&bench.path("whole"), &[]).profile())
    };
    let (once, twice) = (counts(true), counts(false));
    // The loop turns 1000 times; the few blocks around it may be joined with those of `main`.
    assert!(once >= 1000 && twice.abs_diff(2 * once) <= 6, "{once} {twice}");
}

/// Compilers make code for GPUs and for the kernel's machine in between, with the same options; the runtime is not there. It has no noise, either.
#[test]
fn code_for_devices_is_left_alone() {
    let text = "static int mix(int n) { int s = 0; for (int i = 0; i < n; i++) s = s * 3 ^ i; return s; } int first(int n) { return mix(n) + 1; }";
    let bench = Bench::new();
    for (target, is_device) in [("nvptx64-nvidia-cuda", true), ("bpf", true), ("x86_64-linux-gnu", false)] {
        for noise in ["off", "modes=fp_add64;k=4"] {
            let assembly = bench.path("code.s");
            let target = format!("--target={target}");
            let mut command = bench.counting(
                &Source { text, language: "c" },
                &["-O1", &target, "-S", "-Wno-unused-command-line-argument"],
            );
            succeed(command.env("POISE_NOISE", noise).arg("-o").arg(&assembly));
            let code = std::fs::read_to_string(assembly).unwrap();
            assert!(code.contains("first"), "{code}");
            assert_eq!(code.contains("poise"), !is_device, "{target} {noise}: {code}");
        }
    }
}
