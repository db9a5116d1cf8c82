//! Counts equal those of an independent instrumentation, on every optimisation level.

use poise_profile::Metric;

use crate::tools::{Bench, LLVMS, Source, at, total};

pub const LEVELS: [&str; 4] = ["-O0", "-O1", "-O2", "-O3"];

pub const MIXED: Source<'_> = Source { text: include_str!("programs/mixed.c"), language: "c" };
pub const THROWING: Source<'_> = Source { text: include_str!("programs/throwing.cpp"), language: "cpp" };
pub const JUMPING: Source<'_> = Source { text: include_str!("programs/jumping.c"), language: "c" };
pub const THREADS: Source<'_> = Source { text: include_str!("programs/threads.cpp"), language: "cpp" };

pub const SIBLINGS: Source<'_> = Source { text: include_str!("programs/siblings.c"), language: "c" };

/// All optimisation levels with all LLVMs.
pub fn everywhere() -> impl Iterator<Item = (u32, &'static str)> {
    LLVMS.into_iter().flat_map(|llvm| LEVELS.map(|level| (llvm, level)))
}

/// Compares counts and output of the program at all levels.
fn agrees(source: &Source<'_>) {
    for (llvm, level) in everywhere() {
        let bench = Bench::of(llvm);
        let native = std::process::Command::new(bench.native(source, &[level])).output().unwrap();
        let run = bench.measure(&bench.counted(source, &[level]), &[]);
        assert_eq!(run.output.stdout, native.stdout, "{llvm} {level}");
        assert_eq!(run.output.status, native.status, "{llvm} {level}");
        assert_eq!(total(run.profile()), bench.covered(source, &[level], &[]), "{llvm} {level}");
    }
}

#[test]
fn of_loops_switches_gotos_callbacks_and_exits() {
    agrees(&MIXED);
}

#[test]
fn of_exceptions() {
    agrees(&THROWING);
}

#[test]
fn of_longjmp_and_recursion() {
    agrees(&JUMPING);
}

#[test]
fn of_threads() {
    agrees(&THREADS);
}

/// Some thousand signals interrupt a program that does little but enter and leave functions. How much one handler executes is seen where it is
/// raised once.
#[test]
#[cfg(target_arch = "x86_64")]
fn of_signal_handlers() {
    let text = "#include <signal.h>\n#include <stdio.h>\n#include <sys/time.h>
        static volatile long sink; static volatile long hits;
        __attribute__((noinline)) static void some(int n) { for (int i = 0; i < n; i++) sink = i; }
        static void handler(int signal) { some(20); hits++; }
        __attribute__((noinline)) static void calls(int n) { for (int i = 0; i < n; i++) some(i % 3); }
        static void every(long microseconds) { struct itimerval timer = {{0, microseconds}, {0, microseconds}}; setitimer(ITIMER_REAL, &timer, 0); }
        static void nothing(void) {} static void once(void) { raise(SIGALRM); } static void often(void) { every(100); }
        int main(int argc, char **argv) {
            static void (*volatile what[])(void) = {nothing, once, often};
            signal(SIGALRM, handler);
            what[argv[1][0] - '0']();
            calls(3000000);
            every(0);
            printf(\"%ld\", hits);
            return 0; }";
    // One that calls a function with a node, and one that is too small for one.
    for text in [text.to_owned(), text.replace("some(20); hits++;", "hits++;")] {
        let (bench, source) = (Bench::new(), Source { text: &text, language: "c" });
        let [none, one] = ["0", "1"].map(|argument| bench.covered(&source, &["-O2"], &[argument]));
        let program = bench.counted(&source, &["-O2"]);
        for _ in 0..3 {
            let run = bench.measure(&program, &["2"]);
            let hits: u128 = String::from_utf8_lossy(&run.output.stdout).parse().expect("a number");
            assert!(hits > 500, "{hits} signals");
            assert_eq!(total(run.profile()), none + hits * (one - none), "{hits} signals");
        }
    }
}

/// Objects are instrumented when they are compiled; what the linker does to them after that changes no count.
#[test]
fn of_link_time_optimisation() {
    for flags in [["-O2", "-flto", "-fuse-ld=lld"], ["-O2", "-flto=thin", "-fuse-ld=lld"]] {
        let bench = Bench::new();
        let run = bench.measure(&bench.counted(&MIXED, &flags), &[]);
        assert_eq!(total(run.profile()), bench.covered(&MIXED, &flags, &[]), "{flags:?}");
    }
}

/// Without optimisation the blocks of a source are those that one can count by hand.
#[test]
fn of_a_loop_without_optimisation_are_those_of_the_source() {
    let text = "__attribute__((noinline)) int f(int n) { int s = 0; for (int i = 0; i < n; i++) s += i; return s; }
                int main(int c, char **v) { return f(c * 10) == 45 ? 0 : 1; }";
    let bench = Bench::new();
    let run = bench.measure(&bench.counted(&Source { text, language: "c" }, &["-O0"]), &[]);
    // f: entry, 11 conditions, 10 bodies, 10 increments, end. main: entry, one arm, end; the arms are one select.
    assert_eq!(at(run.profile(), &["main", "f"], Metric::BasicBlocks), Some(33));
    assert_eq!(at(run.profile(), &["main"], Metric::BasicBlocks), Some(1));
    assert_eq!(at(run.profile(), &["main", "f"], Metric::Visits), Some(1));
}

/// The same on every run, and for every instruction set at one level.
#[test]
fn do_not_depend_on_the_run_or_the_instruction_set() {
    let bench = Bench::new();
    let counts = |flags: &[&str]| {
        let mut values = bench.measure(&bench.counted(&MIXED, flags), &[]).profile().values.clone();
        values.retain(|(_, metric), _| *metric != Metric::Time);
        values
    };
    for level in LEVELS {
        let first = counts(&[level]);
        assert_eq!(counts(&[level]), first, "{level}");
        assert_eq!(counts(&[level, "-march=native"]), first, "{level} -march=native");
    }
}

/// Where the loops are that a compiler says it vectorises in a program of C, with the pass or without.
fn vectorised(bench: &Bench, text: &str, is_instrumented: bool) -> Vec<String> {
    let source = Source { text, language: "c" };
    let flags = ["-O3", "-ffast-math", "-gline-tables-only", "-Rpass=loop-vectorize", "-c"];
    let mut command = bench.compile(&source, &flags);
    command.args(["-o", "/dev/null"]);
    if is_instrumented {
        command.arg(format!("-fpass-plugin={}/libpoise_pass.so", crate::tools::libraries().display()));
    }
    let told = String::from_utf8_lossy(&crate::tools::succeed(&mut command).stderr).into_owned();
    told.lines().filter_map(|line| line.split_once(": remark: vectorized loop")).map(|(at, _)| at.to_owned()).collect()
}

/// Loops are vectorised as they are without the pass.
#[test]
fn do_not_cost_vectorisation() {
    let text = include_str!("programs/vectors.c");
    for llvm in LLVMS {
        let bench = Bench::of(llvm);
        let without = vectorised(&bench, text, false);
        assert!(without.len() >= 6, "{llvm}: {without:?}");
        assert_eq!(vectorised(&bench, text, true), without, "{llvm}");
    }
}

/// So are loops of inlined functions that come one after the other, where what the one counted is told before the next begins.
#[test]
fn of_inlined_loops_do_not_cost_vectorisation() {
    for llvm in LLVMS {
        let bench = Bench::of(llvm);
        let without = vectorised(&bench, SIBLINGS.text, false);
        // Three one after the other, twice, another one, and two of main's.
        assert_eq!(without.len(), 9, "{llvm}: {without:?}");
        assert_eq!(vectorised(&bench, SIBLINGS.text, true), without, "{llvm}");
    }
    agrees(&SIBLINGS);
}
