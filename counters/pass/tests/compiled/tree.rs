//! The call tree is right whatever way functions are left.

use poise_profile::Metric;

use crate::counts::{JUMPING, LEVELS, THREADS, THROWING};
use crate::tools::{Bench, Source, at, succeed, total};

/// What is called after a caught exception is a callee of the function that caught it.
#[test]
fn after_exceptions() {
    for level in LEVELS {
        let bench = Bench::new();
        let run = bench.measure(&bench.counted(&THROWING, &[level]), &[]);
        let visits = |path: &[&str]| at(run.profile(), path, Metric::Visits);
        // n from 5 to 19: of three calls with n, n+1, n+2 one reaches thirteen from n = 12 on.
        assert_eq!(visits(&["main", "_Z5outeri"]), Some(15), "{level}");
        assert_eq!(visits(&["main", "_Z5outeri", "_Z5afteri"]), Some(8), "{level}");
        assert_eq!(visits(&["main", "_Z6directi", "_Z5afteri"]), Some(8), "{level}");
        let inner = ["main", "_Z5outeri", "_Z8cleaningi", "_Z5plaini", "_Z5inneri"];
        // Three strings with three calls each, unless the call whose n is above thirteen ends it all.
        let calls = (5..20).map(|n| if n + 2 < 14 { 9 } else { (n..n + 3).take_while(|&m| m < 14).count() + 1 });
        assert_eq!(visits(&inner), Some(calls.sum::<usize>() as u128), "{level}");
    }
}

#[test]
fn after_longjmp() {
    for level in LEVELS {
        let bench = Bench::new();
        let run = bench.measure(&bench.counted(&JUMPING, &[level]), &[]);
        let visits = |path: &[&str]| at(run.profile(), path, Metric::Visits);
        assert_eq!(visits(&["main", "jumps"]), Some(5), "{level}");
        assert_eq!(visits(&["main", "jumps", "after"]), Some(5), "{level}");
        // Recursion folds: three first calls for each i, n = i + 1, i + 2, i + 3, with n + 1 activations each.
        let activations: u128 = (0..5).map(|i| 3 * i + 9).sum();
        assert_eq!(visits(&["main", "jumps", "deep"]), Some(activations), "{level}");
    }
}

#[test]
fn of_threads_is_below_what_started_them() {
    let bench = Bench::new();
    let run = bench.measure(&bench.counted(&THREADS, &["-O1"]), &[]);
    let profile = run.profile();
    let works =
        (0..profile.nodes.len() as u32).filter(|&n| profile.path(n).unwrap().last().unwrap().name == "_Z4workl");
    let visits: u128 = works.map(|node| profile.values[&(node, Metric::Visits)].sum).sum();
    assert_eq!(visits, 22);
    assert_eq!(at(profile, &["main", "_ZL6sleepsPv", "_Z4workl"], Metric::Visits), Some(1));
}

/// A million activations make no million nodes.
#[test]
fn folds_recursion() {
    let bench = Bench::new();
    let source = Source { text: include_str!("programs/deep.c"), language: "c" };
    let program = bench.counted(&source, &["-O1"]);
    let path = bench.path("deep.poise");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "ulimit -s unlimited && exec \"$0\" 1000000"]).arg(&program).env("POISE_PROFILE", &path);
    assert_eq!(succeed(&mut command).stdout, b"1000000 1000000\n");
    let profile = poise_profile::Profile::read(&path).unwrap();
    assert_eq!(profile.nodes.len(), 4);
    assert_eq!(at(&profile, &["main", "one"], Metric::Visits), Some(1_000_001));
    assert_eq!(at(&profile, &["main", "first"], Metric::Visits), Some(500_001));
    assert_eq!(at(&profile, &["main", "first", "second"], Metric::Visits), Some(500_000));
}

/// Names, files and lines come from the source.
#[test]
fn tells_where_functions_are() {
    let text = "\n\nint f(int n) { int s = 0; while (n) s += n--; return s; }\nint main() { return f(0); }";
    let bench = Bench::new();
    let run = bench.measure(&bench.counted(&Source { text, language: "c" }, &["-O0"]), &[]);
    let f = run.profile().regions.iter().find(|region| region.name == "f").unwrap();
    assert!(f.file.ends_with("program.c"), "{f:?}");
    assert_eq!(f.line, 3);
}

/// What the compiler makes to initialise global variables is no node, counts all the same, and what it calls is a root.
#[test]
fn has_no_nodes_for_static_initialisers() {
    let text = "#include <iostream>
        __attribute__((noinline)) int sum(int n) { int s = 0; for (int i = 0; i < n; i++) s += i ^ n; return s; }
        int table[3] = {sum(4), sum(5), sum(6)};
        int main() { std::cout << table[1]; return 0; }";
    for level in LEVELS {
        let (bench, source) = (Bench::new(), Source { text, language: "cpp" });
        let run = bench.measure(&bench.counted(&source, &[level]), &[]);
        let profile = run.profile();
        let roots = (0..profile.nodes.len() as u32).filter(|&node| profile.nodes[node as usize].parent.is_none());
        let mut roots: Vec<_> = roots.map(|node| profile.path(node).unwrap()[0].name.clone()).collect();
        roots.sort_unstable();
        assert_eq!(roots, ["(outside all regions)", "_Z3sumi", "main"], "{level}");
        assert_eq!(at(profile, &["_Z3sumi"], Metric::Visits), Some(3), "{level}");
        assert_eq!(total(profile), bench.covered(&source, &[level], &[]), "{level}");
    }
}

/// An assertion makes no node of a small function: what it calls never comes back.
#[test]
fn has_no_nodes_for_assertions() {
    let text = "#include <assert.h>
        __attribute__((noinline)) static int less(int a, int b) { assert(a != b); return a < b; }
        int main(void) { int n = 0; for (int i = 0; i < 50; i++) n += less(i, i + 1); return n; }";
    for level in LEVELS {
        let (bench, source) = (Bench::new(), Source { text, language: "c" });
        let run = bench.measure(&bench.counted(&source, &[level]), &[]);
        assert_eq!(run.output.status.code(), Some(50), "{level}");
        assert_eq!(run.profile().nodes.len(), 1, "{level}");
        assert_eq!(total(run.profile()), bench.covered(&source, &[level], &[]), "{level}");
    }
}
