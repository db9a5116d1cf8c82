//! Loop-header weights equal a naive count: a call at every function's entry and in every loop's header, as LLVM's own analysis
//! finds them, put as text into the code that the pass meets.

use std::collections::HashSet;
use std::process::Command;

use poise_profile::Metric;

use crate::counts::{THREADS, THROWING, everywhere};
use crate::random::{loop_nests, one_of};
use crate::tools::{Bench, LLVMS, Source, at, succeed, total};

/// Counts the naive calls in all threads.
const NAIVE: &str = r#"
#include <stdatomic.h>
#include <stdio.h>
static atomic_ulong headers;
void poise_naive(void) { atomic_fetch_add_explicit(&headers, 1, memory_order_relaxed); }
__attribute__((destructor)) static void tell(void) { fprintf(stderr, "%lu\n", (unsigned long)headers); }
"#;

/// The program compiled with loop-header weights.
fn weighted(bench: &Bench, source: &Source<'_>, flags: &[&str]) -> std::path::PathBuf {
    let program = bench.path("weighted");
    succeed(bench.counting(source, flags).env("POISE_WEIGHTS", "loops").arg("-o").arg(&program));
    program
}

/// The entries and headers that a run of the program executes by the naive count.
fn naive(bench: &Bench, source: &Source<'_>, flags: &[&str], llvm: u32) -> u128 {
    // LLVM shows a module before a pass runs: SanitizerCoverage is where ours is.
    let mut command = bench.compile(source, flags);
    command.args(["-fsanitize-coverage=bb,trace-pc", "-mllvm", "-sanitizer-early-opt-ep=1"]);
    let output = succeed(command.args(["-mllvm", "-print-before=sancov-module", "-c", "-o", "/dev/null"]));
    let dump = String::from_utf8(output.stderr).unwrap();
    let module = &dump[dump.find("; ModuleID").expect("LLVM prints the module")..];
    let (code, called) = (bench.path("code.ll"), bench.path("called.ll"));
    // Analyses leave functions alone that are not to be optimised; the other word is LLVM 16's alone.
    std::fs::write(&code, module.replace(" optnone", "").replace("inrange ", "")).unwrap();
    // That of LLVM 16 does not say which function a loop is in.
    let mut analysis = Command::new(format!("opt-{}", LLVMS[0]));
    let output = succeed(analysis.args(["-passes=print<loops>", "-disable-output"]).arg(&code));
    std::fs::write(&called, with_calls(module, &String::from_utf8(output.stderr).unwrap())).unwrap();
    let counter = bench.path("naive.c");
    std::fs::write(&counter, NAIVE).unwrap();
    let (program, object) = (bench.path("naive"), bench.path("naive.o"));
    succeed(Command::new(format!("clang-{llvm}")).arg("-c").arg(counter).arg("-o").arg(&object));
    let compiler = if source.language == "c" { "clang" } else { "clang++" };
    let mut link = Command::new(format!("{compiler}-{llvm}"));
    succeed(
        link.args(["-O0", "-pthread", "-Wno-override-module"])
            .args([&called, &object])
            .arg("-lm")
            .arg("-o")
            .arg(&program),
    );
    let output = Command::new(program).output().unwrap();
    String::from_utf8_lossy(&output.stderr).lines().last().unwrap().parse().unwrap()
}

/// The module with a call at the start of each function and in each header that `loops` tells.
fn with_calls(module: &str, loops: &str) -> String {
    let mut headers: HashSet<(String, String)> = HashSet::new();
    let mut function = String::new();
    for line in loops.lines() {
        if let Some(name) = line.strip_prefix("Loop info for function '") {
            function = name.trim_end_matches(['\'', ':']).to_owned();
        } else if let Some((_, blocks)) = line.split_once("containing: ") {
            let header = blocks.split(',').find_map(|block| block.split_once("<header>")).unwrap().0;
            headers.insert((function.clone(), header.trim_start_matches('%').to_owned()));
        }
    }
    assert!(!headers.is_empty());
    let mut text = String::new();
    let mut is_due = false;
    for line in module.lines() {
        // What must stand first in a block, and the rest of a landing pad's lines.
        let stays_first = line.contains(" = phi ") || line.contains(" = landingpad ");
        let goes_on = line.starts_with("          ");
        let label = line.split_once(':').map(|(label, _)| label).filter(|label| !label.contains([' ', '!', '"']));
        if is_due && !line.is_empty() && label.is_none() && !stays_first && !goes_on {
            text.push_str("  call void @poise_naive()\n");
            is_due = false;
        }
        text.push_str(line);
        text.push('\n');
        if line.starts_with("define ") {
            let name = line.split_once('@').unwrap().1.split_once('(').unwrap().0;
            (function, is_due) = (name.to_owned(), true);
        } else if let Some(label) = label {
            is_due |= headers.contains(&(function.clone(), label.to_owned()));
        }
    }
    text + "declare void @poise_naive()\n"
}

/// At all levels, on all LLVMs: loops of every kind, exceptions, threads.
#[test]
fn of_loops_equal_a_naive_count_of_entries_and_headers() {
    for (llvm, level) in everywhere() {
        let nests = one_of(loop_nests(40));
        let nests = Source { text: &nests, language: "c" };
        // C++ takes long to compile: without optimisation and with all of it.
        let sources = if matches!(level, "-O0" | "-O3") { vec![nests, THROWING, THREADS] } else { vec![nests] };
        for source in sources {
            let (bench, flags) = (Bench::of(llvm), [level, "-fwrapv", "-pthread"]);
            let run = bench.measure(&weighted(&bench, &source, &flags), &[]);
            assert_eq!(total(run.profile()), naive(&bench, &source, &flags, llvm), "{llvm} {level}\n{}", source.text);
        }
    }
}

/// Without optimisation they are those of the source, and the profile says what was counted.
#[test]
fn of_loops_are_told_and_those_of_the_source() {
    let text =
        "__attribute__((noinline)) int f(int n) { int s = 0; for (int i = 0; i < n; i++) if (i % 3) s += i; return s; }
                int main(int c, char **v) { return f(c * 10) == 27 ? 0 : 1; }";
    let (bench, source) = (Bench::new(), Source { text, language: "c" });
    let run = bench.measure(&weighted(&bench, &source, &["-O0"]), &[]);
    // The entry of f and eleven conditions; the entry of main.
    assert_eq!(at(run.profile(), &["main", "f"], Metric::BasicBlocks), Some(12));
    assert_eq!(at(run.profile(), &["main"], Metric::BasicBlocks), Some(1));
    assert_eq!(run.profile().metadata["weights"], "loops");
    let blocks = bench.measure(&bench.counted(&source, &["-O0"]), &[]);
    assert_eq!(blocks.profile().metadata["weights"], "blocks");
}

/// Objects that were compiled differently are told as such.
#[test]
fn of_both_kinds_in_one_program_are_told() {
    let bench = Bench::new();
    let part = "int g(int n) { int s = 0; for (int i = 0; i < n; i++) s ^= i; return s; }";
    let object = bench.path("part.o");
    let mut command =
        bench.counting(&Source { text: part, language: "c" }, &["-O1", "-c", "-Wno-unused-command-line-argument"]);
    succeed(command.env("POISE_WEIGHTS", "loops").arg("-o").arg(&object));
    let text = "int g(int); int main(int c, char **v) { return g(c * 8) ? 0 : 1; }";
    let mut command = bench.counting(&Source { text, language: "c" }, &["-O1"]);
    succeed(command.arg(&object).arg("-o").arg(bench.path("both")));
    let run = bench.measure(&bench.path("both"), &[]);
    assert_eq!(run.profile().metadata["weights"], "blocks\nloops");
}
