//! Source-level call paths: the inlined functions below each node, as debug information that others read tells them.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use poise_profile::{Metric, Profile, RegionKind};

use crate::counts::everywhere;
use crate::threads::visits_below;
use crate::tools::{Bench, Source, at, succeed, total};

const NESTED: Source<'_> = Source { text: include_str!("programs/nested.cpp"), language: "cpp" };

/// Counts the calls that SanitizerCoverage puts into every basic block by where they are.
const PLACES: &str = r#"
#include <stdio.h>
static struct { void *place; unsigned long count; } known[1 << 14];
__attribute__((no_sanitize("coverage"))) void __sanitizer_cov_trace_pc(void) {
    void *place = __builtin_return_address(0);
    unsigned long at = ((unsigned long)place * 2654435761u) >> 8 & ((1 << 14) - 1);
    while (known[at].place && known[at].place != place) at = (at + 1) & ((1 << 14) - 1);
    known[at].place = place;
    known[at].count++;
}
__attribute__((destructor)) static void tell(void) {
    for (int at = 0; at < 1 << 14; at++)
        if (known[at].place) fprintf(stderr, "%p %lu\n", known[at].place, known[at].count);
}
"#;

/// Blocks by the chain of functions that they were inlined from, outermost first; the first is the compiled function.
type Chains = BTreeMap<Vec<String>, u128>;

/// The chains by LLVM's symbolizer, of SanitizerCoverage's calls.
fn symbolized(bench: &Bench, source: &Source<'_>, flags: &[&str]) -> Chains {
    let flags = [flags, &["-gline-tables-only", "-no-pie"]].concat();
    let program = bench.traced(source, &flags, PLACES);
    let output = Command::new(&program).output().unwrap();
    let places: Vec<(u64, u128)> = String::from_utf8_lossy(&output.stderr)
        .lines()
        .map(|line| {
            let (place, count) = line.split_once(' ').unwrap();
            // The call itself is before the address that it returns to.
            (u64::from_str_radix(place.trim_start_matches("0x"), 16).unwrap() - 1, count.parse().unwrap())
        })
        .collect();
    let mut symbolizer = Command::new("llvm-symbolizer-19");
    symbolizer
        .args(["--inlines", "--functions=linkage", "--no-demangle", "--output-style=LLVM", "--obj"])
        .arg(&program);
    let mut child = symbolizer.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let asked: String = places.iter().map(|(place, _)| format!("{place:#x}\n")).collect();
    child.stdin.take().unwrap().write_all(asked.as_bytes()).unwrap();
    let told = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let mut chains = Chains::new();
    for (frames, (_, count)) in told.split("\n\n").zip(places) {
        // A function and its place in turn, innermost first.
        let mut chain: Vec<String> = frames.lines().step_by(2).map(str::to_owned).collect();
        chain.reverse();
        *chains.entry(chain).or_default() += count;
    }
    chains
}

/// The chains of a profile, over all call paths that lead to the compiled function.
fn profiled(profile: &Profile) -> Chains {
    let mut chains = Chains::new();
    for (&(node, metric), value) in &profile.values {
        if metric == Metric::BasicBlocks {
            let path = profile.path(node).unwrap();
            let entered = path.iter().rposition(|region| region.kind != RegionKind::Inlined).unwrap();
            let chain = path[entered..].iter().map(|region| region.name.clone()).collect();
            *chains.entry(chain).or_default() += value.sum;
        }
    }
    chains
}

/// `exact` with what belongs to chains that `known` does not have at the longest parts of them that it has.
fn folded(exact: &Chains, known: &Chains) -> Chains {
    let mut chains = Chains::new();
    for (chain, count) in exact {
        let length = (1..=chain.len()).rev().find(|&length| known.contains_key(&chain[..length]));
        *chains.entry(chain[..length.expect("every compiled function is a node")].to_vec()).or_default() += count;
    }
    chains
}

/// Every chain has what the symbolizer says it has, and nothing is lost.
#[test]
fn paths_have_the_blocks_that_debug_information_says() {
    for (llvm, level) in everywhere() {
        let bench = Bench::of(llvm);
        // A tail call of SanitizerCoverage's function would return to somebody else.
        let flags = [level, "-fdebug-info-for-profiling", "-fno-optimize-sibling-calls"];
        let run = bench.measure(&bench.counted(&NESTED, &flags), &[]);
        let profile = run.profile();
        let known = profiled(profile);
        let exact = symbolized(&bench, &NESTED, &flags);
        assert_eq!(known, folded(&exact, &known), "{llvm} {level}");
        assert_eq!(total(profile), bench.covered(&NESTED, &flags, &[]), "{llvm} {level}");
        let deepest = known.keys().map(Vec::len).max().unwrap();
        assert!(deepest == 3, "{llvm} {level}: {known:?}");
    }
}

/// Calls in inlined functions are callees of these, also after exceptions were caught; times stay with what was entered.
#[test]
fn calls_are_below_the_inlined_functions_that_make_them() {
    for (llvm, level) in everywhere() {
        let bench = Bench::of(llvm);
        let run = bench.measure(&bench.counted(&NESTED, &[level, "-fdebug-info-for-profiling"]), &[]);
        let profile = run.profile();
        let value = |path: &[&str], metric| at(profile, path, metric);
        let sweep = ["main", "_ZL5sweepi", "_ZL4cellii"];
        assert_eq!(value(&[&sweep[..], &["_Z4workl"]].concat(), Metric::Visits), Some(2 * (15 + 10)));
        assert_eq!(value(&["main", "_ZL5guardi", "_Z8throwingi"], Metric::Visits), Some(2 * 4));
        assert_eq!(value(&["main", "_Z4workl"], Metric::Visits), Some(4));
        assert_eq!(value(&sweep[..2], Metric::Visits), None);
        assert_eq!(value(&sweep[..2], Metric::Time), None);
        let inlined: u128 =
            profiled(profile).iter().filter(|(chain, _)| chain[0] == "main").map(|(_, count)| count).sum();
        assert_eq!(value(&["main"], Metric::CompiledBlocks), Some(inlined));
        assert!(value(&["main"], Metric::BasicBlocks).unwrap() < inlined / 2);
    }
}

/// Without debug information, and where that is asked for, everything counts for what was compiled.
#[test]
fn no_paths_without_debug_information_or_on_request() {
    let bench = Bench::new();
    let with = bench.measure(&bench.counted(&NESTED, &["-O2"]), &[]);
    let mut plain = bench.counting(&NESTED, &["-O2"]);
    succeed(plain.env("POISE_INLINED", "off").arg("-o").arg(bench.path("plain")));
    let plain = bench.measure(&bench.path("plain"), &[]);
    let without = bench.measure(&bench.counted(&NESTED, &["-O2", "-g0"]), &[]);
    for run in [&plain, &without] {
        assert!(run.profile().regions.iter().all(|region| region.kind == RegionKind::Function));
        assert_eq!(total(run.profile()), total(with.profile()));
        let of_main = |run: &crate::tools::Run, metric| at(run.profile(), &["main"], metric);
        assert_eq!(of_main(run, Metric::BasicBlocks), of_main(&with, Metric::CompiledBlocks));
    }
}

/// What starts in an inlined function: callbacks of one call, threads of two kinds, and teams of two OpenMP runtimes.
const STARTING: &str = r#"
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <thread>
#define INLINED __attribute__((always_inline)) static inline
static volatile long sum;
static long comparisons;
extern "C" void twice(void (*f)(int));
extern "C" __attribute__((noinline)) void work(long n) { for (long i = 0; i < n; i++) sum = i; }
extern "C" void task(int n) { for (int i = 0; i < n; i++) sum = i; }
static int compare(const void *a, const void *b) { comparisons++; work(2); return *(const int *)a - *(const int *)b; }
static void *body(void *n) { work((long)n); return n; }
INLINED void sort() { int v[] = {5, 3, 8, 1, 9, 2, 7}; qsort(v, 7, sizeof *v, compare); }
INLINED void start(long n) { for (long i = 0; i < n; i++) { pthread_t t; pthread_create(&t, 0, body, (void *)i); pthread_join(t, 0); } }
INLINED void modern(long n) { std::thread t([n] { work(n); }); t.join(); }
INLINED void team() {
#pragma omp parallel num_threads(3)
    work(50);
}
INLINED void library() { twice(task); }
int main() {
    for (int i = 0; i < 5; i++) { sort(); team(); library(); }
    start(6);
    modern(3);
    work(1);
    std::printf("%ld\n", comparisons);
}
"#;

/// All of it is below the inlined function.
#[test]
fn what_inlined_functions_start_is_below_them() {
    let bench = Bench::new();
    let twice = "void twice(void (*f)(int)) {\n#pragma omp parallel num_threads(2)\n f(9);\n#pragma omp parallel num_threads(2)\n f(8);\n}";
    std::fs::write(bench.path("twice.c"), twice).unwrap();
    succeed(
        Command::new("gcc").args(["-O2", "-fopenmp", "-c", "twice.c", "-o", "twice.o"]).current_dir(bench.path("")),
    );
    let object = bench.path("twice.o").display().to_string();
    let source = Source { text: STARTING, language: "cpp" };
    for level in ["-O0", "-O2"] {
        let flags = [level, "-fopenmp", "-pthread", "-fdebug-info-for-profiling", &object];
        let run = bench.measure(&bench.counted(&source, &flags), &[]);
        assert_eq!(run.output.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.output.stderr));
        let profile = run.profile();
        let comparisons: u128 = String::from_utf8_lossy(&run.output.stdout).trim().parse().unwrap();
        let visits = |inlined: &str, last: &str| visits_below(profile, &["main", inlined], last);
        assert_eq!(visits("_ZL4sortv", "_ZL7comparePKvS0_"), comparisons, "{level}");
        assert_eq!(visits("_ZL4sortv", "work"), comparisons, "{level}");
        assert_eq!(visits("_ZL4teamv", "work"), 5 * 3, "{level}");
        assert_eq!(visits("_ZL7libraryv", "task"), 5 * 2 * 2, "{level}");
        assert_eq!(visits("_ZL5startl", "work"), 6, "{level}");
        assert_eq!(visits("_ZL6modernl", "work"), 1, "{level}");
        // What main calls itself is below main alone, after all that.
        assert_eq!(at(profile, &["main", "work"], Metric::Visits), Some(1), "{level}");
        assert_eq!(visits_below(profile, &["main"], "work"), comparisons + 5 * 3 + 6 + 1 + 1, "{level}");
    }
}

/// A function whose inlined loops do not execute has the metric of functions with such loops all the same.
#[test]
fn functions_are_as_compiled_also_where_inlined_loops_do_not_execute() {
    let text = "static volatile int sink;
        static inline int skipped(int n) { int s = 0; for (int i = 0; i < n; i++) s += sink; return s; }
        __attribute__((noinline)) int entered(int n) { while (sink > n) n++; return n > 100 ? skipped(n) : n; }
        int main(int c, char **v) { return entered(c) == 1000; }";
    let bench = Bench::new();
    let run = bench.measure(&bench.counted(&Source { text, language: "c" }, &["-O2"]), &[]);
    let of_entered = |metric| at(run.profile(), &["main", "entered"], metric);
    assert_eq!(at(run.profile(), &["main", "entered", "skipped"], Metric::BasicBlocks), None);
    assert!(of_entered(Metric::BasicBlocks).is_some_and(|blocks| blocks > 0));
    assert_eq!(of_entered(Metric::CompiledBlocks), of_entered(Metric::BasicBlocks));
}

/// A function of very many blocks and inlined loops has as many accumulators as the compiler has time for; nothing is lost.
#[test]
fn very_large_functions_count_right() {
    let parts = 300;
    let mut text = "static volatile int sink;\n".to_owned();
    for part in 0..parts {
        text += &format!(
            "__attribute__((always_inline)) static inline void part{part}(int n) {{ for (int i = 0; i < n; i++) if (sink + i & {}) sink = i; }}\n",
            part % 7 + 1
        );
    }
    text += "int main(int c, char **v) {\n";
    (0..parts).for_each(|part| text += &format!("part{part}(c + {});\n", part % 5));
    text += "return 0; }\n";
    let (bench, source) = (Bench::new(), Source { text: &text, language: "c" });
    let run = bench.measure(&bench.counted(&source, &["-O1"]), &[]);
    let profile = run.profile();
    assert_eq!(total(profile), bench.covered(&source, &["-O1"], &[]));
    let chains = profiled(profile);
    let counted = chains.keys().filter(|chain| chain.len() == 2).count();
    // Each part has at least a header, an arm and a latch, and the entry is before them.
    assert!((100..=(1 << 18) / (3 * parts)).contains(&counted), "{counted}");
    assert!(chains[&vec!["main".to_owned()]] > 1000);
}
