//! Regions marked by hand, in C, C++, Fortran and Rust: call paths by name, however they are left.

use std::path::PathBuf;
use std::process::Command;

use poise_profile::{Metric, Profile};

use crate::tools::{Bench, Run, Source, at, libraries, succeed, total};

fn markers() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../markers")
}

/// Compiles and measures a program that includes `poise.h`.
fn run(text: &str, language: &str, flags: &[&str]) -> (Bench, Run) {
    let bench = Bench::new();
    let include = format!("-I{}", markers().display());
    let flags: Vec<_> = flags.iter().copied().chain([include.as_str(), "-Wall", "-Wextra", "-Werror"]).collect();
    let run = bench.measure(&bench.counted(&Source { text, language }, &flags), &[]);
    (bench, run)
}

fn errors(run: &Run) -> String {
    String::from_utf8_lossy(&run.output.stderr).into_owned()
}

const WORK: &str = "
static volatile int sum;
__attribute__((noinline)) static void work(int n) { for (int i = 0; i < n; i++) sum = i; }
";

/// Blocks and calls between two marks belong to the region, also where a name is made while the program runs and where the marks
/// are called by small functions; nested and recursive regions fold as functions do.
#[test]
fn in_c_make_call_paths() {
    let text = format!(
        "#include <poise.h>\n#include <stdio.h>\n{WORK}
        static void start(void) {{ POISE_BEGIN(\"phase\"); }}
        static void stop(void) {{ POISE_END(\"phase\"); }}
        __attribute__((noinline)) static void recurse(int n) {{
            POISE_BEGIN(\"level\"); work(2); if (n) recurse(n - 1); POISE_END(\"level\"); work(3); }}
        int main(void) {{
            for (int i = 0; i < 5; i++) {{ POISE_BEGIN(\"solve\"); work(10); POISE_BEGIN(\"inner\"); work(20); POISE_END(\"inner\"); POISE_END(\"solve\"); }}
            start(); work(30); stop(); work(40);
            for (int i = 0; i < 3; i++) {{ char name[9]; snprintf(name, sizeof name, \"step%d\", i); POISE_BEGIN_NAMED(name); work(i); POISE_END_NAMED(name); }}
            recurse(4);
            return 0; }}"
    );
    for level in ["-O0", "-O1", "-O3"] {
        let (_, run) = run(&text, "c", &[level]);
        assert_eq!(errors(&run), "", "{level}");
        let visits = |path: &[&str]| at(run.profile(), path, Metric::Visits);
        assert_eq!(visits(&["main", "solve", "work"]), Some(5), "{level}");
        assert_eq!(visits(&["main", "solve", "inner", "work"]), Some(5), "{level}");
        assert_eq!(visits(&["main", "phase"]), Some(1), "{level}");
        assert_eq!(visits(&["main", "phase", "work"]), Some(1), "{level}");
        assert_eq!(visits(&["main", "work"]), Some(1), "{level}");
        assert_eq!(visits(&["main", "step2", "work"]), Some(1), "{level}");
        assert_eq!(visits(&["main", "recurse", "level"]), Some(5), "{level}");
        assert_eq!(visits(&["main", "recurse", "level", "work"]), Some(5), "{level}");
        assert!(!run.profile().metadata.contains_key("marks_that_do_not_match"));
    }
}

/// What a block leaves by an exception, a return or a break, it ends.
#[test]
fn in_cpp_end_with_their_block() {
    let text = format!(
        "#include <poise.h>\n{WORK}
        static void thrower(int n) {{ poise::region region(\"risky\"); work(5); if (n % 2) throw n; work(6); }}
        static int early(int n) {{ poise::region region(\"early\"); if (n) return 1; work(7); return 0; }}
        int main() {{
            int caught = 0;
            for (int i = 0; i < 6; i++) {{ try {{ thrower(i); }} catch (int) {{ caught++; work(8); }} }}
            for (int i = 0; i < 4; i++) {{ poise::region region(\"loop\"); if (early(i)) continue; work(9); }}
            work(1);
            return caught; }}"
    );
    for level in ["-O0", "-O2"] {
        let (_, run) = run(&text, "cpp", &[level, "-fdebug-info-for-profiling"]);
        assert_eq!((errors(&run).as_str(), run.output.status.code()), ("", Some(3)), "{level}");
        let profile = run.profile();
        let below = |wanted: &[&str]| -> u128 {
            let is_meant = |&node: &u32| {
                let names: Vec<_> = profile.path(node).unwrap().iter().map(|region| region.name.clone()).collect();
                let kept: Vec<_> = names
                    .iter()
                    .filter(|name| !name.starts_with("_ZL7thrower") && !name.starts_with("_ZL5early"))
                    .collect();
                kept.iter().map(|name| name.as_str()).eq(wanted.iter().copied())
            };
            let nodes = (0..profile.nodes.len() as u32).filter(is_meant);
            // Where a function was inlined, nothing visits it.
            nodes.filter_map(|node| profile.values.get(&(node, Metric::Visits))).map(|visits| visits.sum).sum()
        };
        assert_eq!(below(&["main", "risky", "_ZL4worki"]), 6 + 3, "{level}");
        assert_eq!(below(&["main", "loop", "early"]), 4, "{level}");
        assert_eq!(below(&["main", "loop", "_ZL4worki"]), 1, "{level}");
        // What a handler and main itself call is below main alone.
        assert_eq!(below(&["main", "_ZL4worki"]), 3 + 1, "{level}");
    }
}

/// Ends without begin, begins without end, and ends elsewhere: one line, the rest of the call tree unharmed.
#[test]
fn that_do_not_match_are_told_in_one_line() {
    let text = format!(
        "#include <poise.h>\n#include <stdlib.h>\n{WORK}
        __attribute__((noinline)) static void forgets(int n) {{ POISE_BEGIN(\"forgotten\"); work(n); }}
        __attribute__((noinline)) static void ends_it(int n) {{ work(n); POISE_END(\"outer\"); work(n); }}
        int main(void) {{
            POISE_END(\"never\");
            for (int i = 0; i < 4; i++) forgets(i);
            POISE_BEGIN(\"outer\"); ends_it(2); POISE_END(\"outer\");
            POISE_BEGIN(\"around\"); POISE_BEGIN(\"unended\"); work(1); POISE_END(\"around\");
            work(2);
            POISE_BEGIN(\"to the end\"); work(1); exit(3); }}"
    );
    let (_, run) = run(&text, "c", &["-O1"]);
    assert_eq!(run.output.status.code(), Some(3));
    let said = "poise: regions marked by hand do not match: ended without having begun 2 times, left without its end 5 times, \
                ended in another function than it began in 1 times; the first is \"never\".\n";
    assert_eq!(errors(&run), said);
    let visits = |path: &[&str]| at(run.profile(), path, Metric::Visits);
    assert_eq!(visits(&["main", "forgets", "forgotten", "work"]), Some(4));
    assert_eq!(visits(&["main", "forgets"]), Some(4));
    assert_eq!(visits(&["main", "around", "unended", "work"]), Some(1));
    assert_eq!(visits(&["main", "to the end", "work"]), Some(1));
    assert_eq!(run.profile().metadata["marks_that_do_not_match"], "yes");
}

/// Without the runtime, and with it when nothing measures, marks do nothing.
#[test]
fn cost_nothing_where_nothing_measures() {
    let text = "#include <poise.h>\nint main(int argc, char **argv) { (void)argv; POISE_BEGIN(\"a\"); POISE_END(\"b\");
        return argc + poise_marks_.on; }";
    let bench = Bench::new();
    let include = format!("-I{}", markers().display());
    for compiler in ["clang-19", "gcc"] {
        for flags in [&["-O0"][..], &["-O2", "-static"], &["-O2", "-fPIE", "-pie"]] {
            let program = bench.path("plain");
            std::fs::write(bench.path("plain.c"), text).unwrap();
            let mut command = Command::new(compiler);
            succeed(command.args(flags).arg(&include).arg(bench.path("plain.c")).arg("-o").arg(&program));
            let run = Command::new(&program).output().unwrap();
            assert_eq!((run.status.code(), run.stderr.len()), (Some(1), 0), "{compiler} {flags:?}");
        }
    }
    let counted = bench.counted(&Source { text, language: "c" }, &["-O2", &include]);
    let idle = Command::new(&counted).env_remove("POISE_PROFILE").output().unwrap();
    assert_eq!((idle.status.code(), idle.stderr.len()), (Some(1), 0));
    assert_eq!(bench.measure(&counted, &[]).output.status.code(), Some(2));
}

/// Two files and a shared library mark the same region, in threads too; the thread's marks are its own.
#[test]
fn in_several_files_and_threads_are_one_region() {
    let bench = Bench::new();
    let include = format!("-I{}", markers().display());
    let library = "#include <poise.h>\nvoid work(int n) { static volatile int sum; POISE_BEGIN(\"shared\"); while (n--) sum = n; POISE_END(\"shared\"); }";
    std::fs::write(bench.path("library.c"), library).unwrap();
    let plugin = format!("-fpass-plugin={}/libpoise_pass.so", libraries().display());
    let mut command = Command::new("clang-19");
    command.args(["-O1", "-shared", "-fPIC", "-Wl,-z,nodelete", &include, &plugin, "library.c", "-o", "libwork.so"]);
    succeed(command.current_dir(bench.path("")));
    let text = "#include <poise.h>\n#include <thread>\nextern \"C\" void work(int);
        extern \"C\" __attribute__((noinline)) void part(int n) { poise::region shared(\"shared\"); for (int i = 0; i < n; i++) work(i); }
        int main() { poise::region whole(\"whole\"); std::thread one(part, 3), two(part, 4); one.join(); two.join(); part(5); }";
    let path = bench.path("").display().to_string();
    let flags = ["-O1", "-pthread", &include, &format!("-L{path}"), "-lwork", &format!("-Wl,-rpath,{path}")];
    let run = bench.measure(&bench.counted(&Source { text, language: "cpp" }, &flags), &[]);
    assert_eq!(errors(&run), "");
    let profile = run.profile();
    let shared: Vec<_> = profile.regions.iter().filter(|region| region.name == "shared").collect();
    assert_eq!(shared.len(), 1);
    let all = (0..profile.nodes.len() as u32).filter(|&n| profile.path(n).unwrap().last().unwrap().name == "work");
    assert_eq!(all.map(|node| profile.values[&(node, Metric::Visits)].sum).sum::<u128>(), 12);
    assert!((0..profile.nodes.len() as u32).all(|n| profile.path(n).unwrap()[0].name == "main"));
    assert_eq!(at(profile, &["main", "whole", "part", "shared", "work"], Metric::Visits), Some(5));
    assert!(total(profile) > 0);
}

/// The Fortran module, compiled with the program by flang; by gfortran it does without the runtime.
#[test]
fn in_fortran_make_call_paths() {
    let text = "program app\n use poise\n implicit none\n integer :: i\n real :: total\n total = 0\n
        do i = 1, 4\n call poise_begin('assembly')\n call assemble(i, total)\n call poise_end('assembly ')\n end do\n
        call poise_begin('solve')\n call assemble(1000, total)\n call poise_end('solve')\n if (total < 0) stop 1\n
        contains\n subroutine assemble(n, total)\n integer, intent(in) :: n\n real, intent(inout) :: total\n integer :: i\n
        do i = 1, n\n total = total * 0.5 + real(i)\n end do\n end subroutine\n end program";
    let bench = Bench::new();
    let module = markers().join("poise.f90");
    std::fs::write(bench.path("app.f90"), text).unwrap();
    let folder = libraries().display().to_string();
    for level in ["-O0", "-O2"] {
        let mut flang = Command::new("flang-new-19");
        flang.args([level, "-lpoise_runtime"]).arg(format!("-L{folder}")).arg(format!("-Wl,-rpath,{folder}"));
        flang.arg(format!("-fpass-plugin={folder}/libpoise_pass.so")).arg(&module).args(["app.f90", "-o", "app"]);
        succeed(flang.current_dir(bench.path("")));
        let run = bench.measure(&bench.path("app"), &[]);
        assert_eq!(errors(&run), "");
        let profile = run.profile();
        let visits = |name: &str| -> u128 {
            let ends = |&node: &u32| profile.path(node).unwrap().last().unwrap().name == name;
            let nodes = (0..profile.nodes.len() as u32).filter(ends);
            nodes.map(|node| profile.values[&(node, Metric::Visits)].sum).sum()
        };
        assert_eq!((visits("assembly"), visits("solve")), (4, 1), "{level}");
        let names: Vec<_> = profile.regions.iter().map(|region| region.name.as_str()).collect();
        assert!(!names.iter().any(|name| name.contains("poise")), "{level}: {names:?}");
        let blocks = |last: &str| -> u128 {
            let inside = |&node: &u32| profile.path(node).unwrap().iter().any(|region| region.name == last);
            let nodes = (0..profile.nodes.len() as u32).filter(inside);
            nodes.map(|node| profile.values[&(node, Metric::BasicBlocks)].sum).sum()
        };
        // One call of 1000 iterations, and four of ten in all, which the compiler may work out itself.
        assert!(blocks("solve") >= 1000 && blocks("assembly") < 100, "{level}");
    }
    let mut gfortran = Command::new("gfortran");
    succeed(gfortran.arg(&module).args(["app.f90", "-o", "plain"]).current_dir(bench.path("")));
    succeed(&mut Command::new(bench.path("plain")));
}

/// The Rust crate, in a program that nothing instruments and into which the runtime is preloaded.
#[test]
fn in_rust_end_with_their_block() {
    let main = "fn step(fails: bool) { let _step = poise_markers::region!(\"step\"); if fails { panic!(\"meant\") } }
        fn main() { let _whole = poise_markers::region!(\"whole\");
            for i in 0..6 { let _ = std::panic::catch_unwind(|| step(i % 2 == 0)); } }";
    let bench = Bench::new();
    std::fs::write(bench.path("main.rs"), main).unwrap();
    let rustc = |arguments: &[&str]| {
        succeed(Command::new("rustc").args(["--edition", "2024"]).args(arguments).current_dir(bench.path("")));
    };
    let library = markers().join("src/lib.rs").display().to_string();
    rustc(&["--crate-type", "rlib", "--crate-name", "poise_markers", &library]);
    rustc(&["main.rs", "--extern", "poise_markers=libpoise_markers.rlib"]);
    let runtime = libraries().join("libpoise_runtime.so");
    let profile = bench.path("rust.poise");
    let plain = succeed(&mut Command::new(bench.path("main")));
    let mut command = Command::new(bench.path("main"));
    let measured = succeed(command.env("POISE_PROFILE", &profile).env("LD_PRELOAD", runtime));
    assert_eq!(plain.stderr.len(), measured.stderr.len(), "{}", String::from_utf8_lossy(&measured.stderr));
    let profile = Profile::read(profile).unwrap();
    assert_eq!(at(&profile, &["whole", "step"], Metric::Visits), Some(6));
    assert_eq!(at(&profile, &["whole"], Metric::Visits), Some(1));
    assert_eq!(profile.nodes.len(), 2);
}
