//! Which functions are call paths, as users choose: by POISE_SMALL and by filter files.

use std::path::Path;
use std::process::Command;

use poise_profile::{Metric, Profile, RegionKind};

use crate::tools::{Bench, Source, at, succeed, total};

const PROGRAM: Source<'_> = Source {
    text: "
static volatile int sink;
#define KEPT __attribute__((noinline))
namespace grid {
KEPT int leaf(int x) { return x & 4 ? sink : x + 1; }
KEPT int work(int n) { int s = 0; for (int i = 0; i < n; i++) s += leaf(i); return s; }
KEPT int work(double n) { int s = 0; for (int i = 0; i < n; i++) s ^= sink + i; return s; }
}
KEPT int tree(int n) { return n < 2 ? 1 + grid::work(n) : tree(n - 1) + tree(n - 2); }
KEPT int solve(int n) { int s = 0; for (int i = 0; i < n; i++) s += tree(i) + grid::work(2.0 * i); return s; }
static inline int inner(int n) { int s = 0; for (int i = 0; i < n; i++) s += sink * i; return s; }
int main(int c, char **v) { return solve(6) + inner(9 * c) == 1; }
",
    language: "cpp",
};

/// What a run measures of the program compiled with these variables.
fn measured(variables: &[(&str, &str)]) -> Profile {
    let bench = Bench::new();
    let mut command = bench.counting(&PROGRAM, &["-O2", "-fdebug-info-for-profiling"]);
    for (name, value) in variables {
        let file = bench.path("filter");
        std::fs::write(&file, value).unwrap();
        match *name {
            "POISE_FILTER" => command.env(name, file),
            _ => command.env(name, value),
        };
    }
    succeed(command.arg("-o").arg(bench.path("program")));
    let mut run = bench.measure(&bench.path("program"), &[]);
    run.profile.take().expect("the run wrote a profile")
}

/// The call paths that a profile has, without the inlined ones.
fn paths(profile: &Profile) -> Vec<String> {
    let is_entered = |node: &u32| profile.path(*node).unwrap().last().unwrap().kind == RegionKind::Function;
    let text = |node| profile.path(node).unwrap().iter().map(|r| r.name.clone()).collect::<Vec<_>>().join(" > ");
    let mut paths: Vec<_> = (0..profile.nodes.len() as u32).filter(is_entered).map(text).collect();
    paths.sort();
    paths
}

const LEAF: &str = "_ZN4grid4leafEi";
const WORK: [&str; 2] = ["_ZN4grid4workEi", "_ZN4grid4workEd"];

fn blocks(profile: &Profile, path: &[&str]) -> u128 {
    at(profile, path, Metric::BasicBlocks).unwrap()
}

fn visits(profile: &Profile, path: &[&str]) -> Option<u128> {
    at(profile, path, Metric::Visits)
}

#[test]
fn functions_that_a_filter_excludes_count_for_their_callers() {
    let plain = measured(&[]);
    let solve = ["main", "_Z5solvei"];
    let tree = [&solve[..], &["_Z4treei"]].concat();
    assert_eq!(visits(&plain, &[&tree[..], &WORK[..1]].concat()), Some(20));
    // By the name that people read, with its arguments; the other overload stays.
    let filter = "SCOREP_REGION_NAMES_BEGIN EXCLUDE grid::work\\(int\\) tree SCOREP_REGION_NAMES_END";
    let filtered = measured(&[("POISE_FILTER", filter)]);
    assert_eq!(paths(&filtered), ["main".to_owned(), solve.join(" > "), [solve[0], solve[1], WORK[1]].join(" > ")]);
    let below: u128 = [&tree[..], &[&tree[..], &WORK[..1]].concat()].map(|path| blocks(&plain, path)).iter().sum();
    assert_eq!(blocks(&filtered, &solve), blocks(&plain, &solve) + below);
    assert_eq!(blocks(&filtered, &[solve[0], solve[1], WORK[1]]), blocks(&plain, &[solve[0], solve[1], WORK[1]]));
    // What is between call paths may be left out.
    let filter = "SCOREP_REGION_NAMES_BEGIN EXCLUDE MANGLED _Z4tree* _Z5solve? SCOREP_REGION_NAMES_END";
    let filtered = measured(&[("POISE_FILTER", filter)]);
    assert_eq!(visits(&filtered, &["main", WORK[0]]), Some(20));
    assert_eq!(total(&filtered), total(&plain));
}

#[test]
fn what_a_filter_includes_is_a_call_path_however_small() {
    let filter = "# all but\nSCOREP_REGION_NAMES_BEGIN\n  EXCLUDE *\n  INCLUDE *leaf\nSCOREP_REGION_NAMES_END\n";
    let filtered = measured(&[("POISE_FILTER", filter)]);
    assert_eq!(paths(&filtered), ["main".to_owned(), format!("main > {LEAF}")]);
    let plain = measured(&[]);
    assert!(paths(&plain).iter().all(|path| !path.ends_with(LEAF)), "{:?}", paths(&plain));
    assert_eq!(total(&filtered), total(&plain));
    // `work(int)` calls it n times for each visit with n.
    let ones = 12; // Leaves of the trees of 0 to 5 calls with n = 1: fib(0) + … + fib(5).
    assert_eq!(visits(&filtered, &["main", LEAF]), Some(ones));
}

#[test]
fn inlined_functions_and_source_files_are_filtered_too() {
    let inner = ["main", "_ZL5inneri"];
    let plain = measured(&[]);
    assert!(blocks(&plain, &inner) >= 9);
    let filter = "SCOREP_REGION_NAMES_BEGIN EXCLUDE inner SCOREP_REGION_NAMES_END";
    let filtered = measured(&[("POISE_FILTER", filter)]);
    assert_eq!(at(&filtered, &inner, Metric::BasicBlocks), None);
    assert_eq!(blocks(&filtered, &inner[..1]), blocks(&plain, &inner) + blocks(&plain, &inner[..1]));
    let filter = "SCOREP_FILE_NAMES_BEGIN EXCLUDE */program.cpp SCOREP_FILE_NAMES_END";
    let filtered = measured(&[("POISE_FILTER", filter)]);
    assert_eq!(paths(&filtered), ["main"]);
    assert_eq!(blocks(&filtered, &["main"]), total(&plain));
}

#[test]
fn the_rule_for_small_functions_may_be_their_size() {
    let plain = measured(&[]);
    let none = measured(&[("POISE_SMALL", "blocks=0")]);
    let tree = ["main", "_Z5solvei", "_Z4treei"];
    let leaf = [&tree[..], &[WORK[0], LEAF]].concat();
    assert_eq!((visits(&plain, &leaf), visits(&none, &leaf)), (None, Some(12)));
    let all = measured(&[("POISE_SMALL", "blocks=1000")]);
    assert_eq!(paths(&all), ["main"]);
    assert!([&none, &all].iter().all(|profile| total(profile) == total(&plain)));
}

/// A wrong filter or rule ends the compiler with one line that says where and what.
#[test]
fn wrong_wishes_are_told_with_their_place() {
    let bench = Bench::new();
    let file = bench.path("wrong.filter");
    std::fs::write(&file, "SCOREP_REGION_NAMES_BEGIN\n  EXCLUDE a*\n  INCLUDED b\nSCOREP_FILE_NAMES_END\n").unwrap();
    let place = format!("{}:4:1: expected SCOREP_REGION_NAMES_END", file.display());
    for (name, value, said) in [
        ("POISE_FILTER", file.to_str().unwrap(), place.as_str()),
        ("POISE_FILTER", "/nowhere/filter", "/nowhere/filter: No such file"),
        ("POISE_SMALL", "tiny", "neither leaves nor blocks=N"),
        ("POISE_WEIGHTS", "edges", "neither blocks nor loops"),
    ] {
        let mut command = bench.counting(&PROGRAM, &["-O1", "-c", "-Wno-unused-command-line-argument"]);
        let output = command.env(name, value).args(["-o", "/dev/null"]).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<_> = errors.lines().filter(|line| line.starts_with("poise: ")).collect();
        assert!(!output.status.success() && lines.len() == 1 && lines[0].contains(said), "{errors}");
    }
}

/// A pattern of a path holds wherever the compiler was when it compiled the file, and however the file was named to it.
#[test]
fn files_are_known_by_their_whole_path() {
    let bench = Bench::new();
    let folder = bench.path("vendor");
    std::fs::create_dir(&folder).unwrap();
    let text = "static volatile int sink; __attribute__((noinline)) static void work(int n) { for (int i = 0; i < n; i++) sink = i; }
        int main(void) { work(9); return 0; }";
    std::fs::write(folder.join("program.c"), text).unwrap();
    let paths = |pattern: &str, place: &Path, name: &str| {
        let filter = bench.path("filter");
        std::fs::write(&filter, format!("SCOREP_FILE_NAMES_BEGIN EXCLUDE {pattern} SCOREP_FILE_NAMES_END")).unwrap();
        let (from, program) = (Source { text, language: "c" }, bench.path("program"));
        let mut command = bench.counting(&from, &["-O1"]);
        // Instead of the bench's own file.
        let own = bench.path("program.c").into_os_string();
        let arguments: Vec<_> = command.get_args().filter(|&word| word != own).map(ToOwned::to_owned).collect();
        command = Command::new(command.get_program());
        command.args(arguments).arg(name).arg("-o").arg(&program).env("POISE_FILTER", filter).current_dir(place);
        succeed(&mut command);
        paths(bench.measure(&program, &[]).profile())
    };
    let whole = folder.join("program.c").display().to_string();
    let (above, build) = (folder.parent().unwrap(), bench.path("build"));
    std::fs::create_dir(&build).unwrap();
    let outside = (build.as_path(), "../vendor/program.c");
    for (place, name) in
        [(above, "vendor/program.c"), (&folder, "program.c"), (&folder, &whole), (above, &whole), outside]
    {
        for pattern in ["*/vendor/*", &whole] {
            assert_eq!(paths(pattern, place, name), ["main"], "{pattern} {name}");
        }
        assert_eq!(paths("*/build/*", place, name), ["main", "main > work"], "{name}");
    }
}
