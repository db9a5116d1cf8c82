//! Source-level call paths: the inlined functions below each node, as debug information that others read tells them.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use poise_profile::{Metric, Profile, RegionKind};

use crate::counts::everywhere;
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

/// Without debug information, and where nobody asks, everything counts for what was compiled.
#[test]
fn no_paths_without_debug_information_or_wish() {
    let bench = Bench::new();
    let with = bench.measure(&bench.counted(&NESTED, &["-O2"]), &[]);
    let mut plain = bench.counting(&NESTED, &["-O2"]);
    succeed(plain.env_remove("POISE_INLINED").arg("-o").arg(bench.path("plain")));
    let plain = bench.measure(&bench.path("plain"), &[]);
    let without = bench.measure(&bench.counted(&NESTED, &["-O2", "-g0"]), &[]);
    for run in [&plain, &without] {
        assert!(run.profile().regions.iter().all(|region| region.kind == RegionKind::Function));
        assert_eq!(total(run.profile()), total(with.profile()));
        let of_main = |run: &crate::tools::Run, metric| at(run.profile(), &["main"], metric);
        assert_eq!(of_main(run, Metric::BasicBlocks), of_main(&with, Metric::CompiledBlocks));
    }
}
