//! Functions that call themselves: every activation is a visit and every block counts, though only the first enters the node.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use poise_profile::{Metric, Profile};

use crate::counts::everywhere;
use crate::tools::{Bench, LLVMS, Source, at, libraries, succeed, total};

const RECURSIVE: &str = include_str!("programs/recursive.cpp");
/// The functions that mark a region, not instrumented themselves; and such as mark none.
const MARKS: &str = "#include <poise.h>
    extern \"C\" void poise_test_begin(void) { POISE_BEGIN(\"marked\"); }
    extern \"C\" void poise_test_end(void) { POISE_END(\"marked\"); }";
const NO_MARKS: &str = "extern \"C\" void poise_test_begin(void) {}\nextern \"C\" void poise_test_end(void) {}";

/// Tells how often SanitizerCoverage's calls came from each function that the dynamic linker knows, `?` from others.
const TRACE: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
static struct { const char *name; unsigned long count; } all[64];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
void __sanitizer_cov_trace_pc(void) {
    Dl_info info;
    const char *name = dladdr(__builtin_return_address(0), &info) && info.dli_sname ? info.dli_sname : "?";
    pthread_mutex_lock(&mutex);
    int at = 0;
    while (all[at].name && strcmp(all[at].name, name)) at++;
    all[at].name = name;
    all[at].count++;
    pthread_mutex_unlock(&mutex);
}
__attribute__((destructor)) static void tell(void) {
    for (int at = 0; all[at].name; at++) fprintf(stderr, "%s %lu\n", all[at].name, all[at].count);
}
"#;

/// Functions that call themselves or each other.
const NAMES: [&str; 16] = [
    "put", "sum", "queens", "pointed", "visiting", "back", "first", "second", "last", "throwing", "catching",
    "jumping", "landing", "marking", "leaving", "sweeping",
];

/// Visits by function, wherever it was called from.
fn visits(profile: &Profile) -> BTreeMap<String, u128> {
    let mut visits = BTreeMap::new();
    for (&(node, _), value) in profile.values.iter().filter(|((_, metric), _)| *metric == Metric::Visits) {
        *visits.entry(profile.path(node).unwrap().last().unwrap().name.clone()).or_default() += value.sum;
    }
    visits.retain(|name, _| NAMES.contains(&name.as_str()));
    visits
}

/// Compiles one object of the program.
fn object(bench: &Bench, llvm: u32, name: &str, text: &str, flags: &[&str]) -> PathBuf {
    let language = if text == TRACE { "c" } else { "c++" };
    let (source, object) = (bench.path(&format!("{name}.cpp")), bench.path(&format!("{name}.o")));
    std::fs::write(&source, text).unwrap();
    let include = format!("-I{}/../markers", env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(format!("clang++-{llvm}"));
    command.args([&include, "-x", language, "-gline-tables-only", "-c", "-o"]).arg(&object).arg(source).args(flags);
    succeed(&mut command);
    object
}

/// An instrumented program that may mark a region.
fn counted(bench: &Bench, llvm: u32, text: &str, level: &str) -> PathBuf {
    let folder = libraries().display().to_string();
    let plugin = format!("-fpass-plugin={folder}/libpoise_pass.so");
    let marks = object(bench, llvm, "marks", MARKS, &[level]);
    let program = bench.path("counted");
    let mut command = Command::new(format!("clang++-{llvm}"));
    command.arg("-o").arg(&program).arg(format!("-L{folder}")).arg("-lpoise_runtime");
    command.arg(format!("-Wl,-rpath,{folder}")).arg(marks);
    succeed(command.arg(object(bench, llvm, "recursive", text, &[level, &plugin])));
    program
}

/// How often SanitizerCoverage calls from each function of the program: in every block, or at entries alone. And what the program prints.
fn traced(bench: &Bench, llvm: u32, level: &str, places: &str) -> (BTreeMap<String, u128>, Vec<u8>) {
    let coverage = format!("-fsanitize-coverage={places},trace-pc");
    let objects = [
        object(bench, llvm, "plain", NO_MARKS, &[level]),
        object(bench, llvm, "traced", RECURSIVE, &[level, &coverage, "-mllvm", "-sanitizer-early-opt-ep=1"]),
        object(bench, llvm, "trace", TRACE, &["-O1"]),
    ];
    let program = bench.path("covered");
    succeed(Command::new(format!("clang++-{llvm}")).args(["-rdynamic", "-o"]).arg(&program).args(objects));
    let output = Command::new(program).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    (lines.map(|(name, count)| (name.to_owned(), count.parse().unwrap())).collect(), output.stdout)
}

fn has_symbol(program: &Path, name: &str) -> bool {
    let symbols = succeed(Command::new("nm").arg(program)).stdout;
    String::from_utf8_lossy(&symbols).lines().any(|line| line.ends_with(&format!(" {name}")))
}

/// Under exceptions, longjmp, marks, threads and exit, through pointers and other functions, and where the last call is no call.
#[test]
fn has_exact_visits_and_blocks() {
    for (llvm, level) in everywhere() {
        let bench = Bench::of(llvm);
        let program = counted(&bench, llvm, RECURSIVE, level);
        // Otherwise this would say nothing of what it is about.
        for name in ["queens", "visiting", "throwing", "marking", "sweeping"] {
            assert!(has_symbol(&program, &format!("{name}.poise")), "{name} with {llvm} {level}");
        }
        let run = bench.measure(&program, &[]);
        // The linker's name without optimisation, where it is not inlined.
        let swept =
            ["swept", "_ZL5sweptPVii"].map(|name| at(run.profile(), &["main", "sweeping", name], Metric::BasicBlocks));
        assert!(swept.iter().flatten().any(|&blocks| blocks > 100), "{llvm} {level}: {swept:?}");
        let (mut entries, printed) = traced(&bench, llvm, level, "func");
        entries.retain(|name, _| NAMES.contains(&name.as_str()));
        assert_eq!((run.output.stdout.as_slice(), run.output.status.code()), (&printed[..], Some(4)), "{llvm} {level}");
        assert!(run.output.stderr.is_empty(), "{}", String::from_utf8_lossy(&run.output.stderr));
        let mut visits = visits(run.profile());
        // What is no node at this level.
        entries.retain(|name, _| visits.contains_key(name));
        visits.retain(|_, visits| *visits > 0);
        assert_eq!(visits, entries, "{llvm} {level}");
        assert!(visits.len() >= 12, "{llvm} {level}: {visits:?}");
        let (blocks, _) = traced(&bench, llvm, level, "bb,no-prune");
        assert_eq!(total(run.profile()), blocks.values().sum::<u128>(), "{llvm} {level}");
    }
}

/// Without optimisation the activations are those of the source, and regions and handlers are where they were.
#[test]
fn keeps_call_paths() {
    let bench = Bench::new();
    let program = counted(&bench, 19, RECURSIVE, "-O0");
    let run = bench.measure(&program, &[]);
    let visits = |path: &[&str]| at(run.profile(), path, Metric::Visits);
    assert_eq!(visits(&["main", "pointed"]), Some(21));
    assert_eq!(visits(&["main", "last"]), Some(101));
    assert_eq!(visits(&["main", "leaving"]), Some(6));
    assert_eq!(visits(&["main", "landing"]), Some(5));
    assert_eq!(visits(&["main", "landing", "jumping"]), Some(7));
    assert_eq!(visits(&["main", "landing", "after"]), Some(1));
    fn marking(n: i32) -> (u128, u128, u128) {
        // Activations, regions, and calls of `after`.
        match n {
            ..=0 => (1, 0, 1),
            n if n % 3 != 0 => {
                let (all, marked, after) = marking(n - 1);
                (all + 1, marked, after)
            }
            n => {
                let (a, b) = (marking(n - 1), marking(n - 2));
                (a.0 + b.0 + 1, a.1 + b.1 + 1, a.2 + b.2)
            }
        }
    }
    let (all, marked, after) = marking(9);
    assert_eq!(visits(&["main", "marking"]), Some(all));
    assert_eq!(visits(&["main", "marking", "marked"]), Some(marked));
    assert_eq!(visits(&["main", "marking", "after"]), Some(after));
    for (name, is_divided) in [("put", true), ("sum", true), ("marking", true), ("throwing", true), ("second", false)] {
        assert_eq!(has_symbol(&program, &format!("{name}.poise")), is_divided, "{name}");
    }
}

/// Two files have the same recursive functions, of which the linker keeps one, whatever has been inlined by then.
#[test]
fn links_what_several_files_have() {
    let common = "#include <algorithm>
        #include <map>
        #include <vector>
        template <class T> __attribute__((noinline)) T turns(T n, volatile T *cell) {
            for (T i = 0; i < n % 3; i++) *cell += i;
            return n <= 0 ? *cell : (turns<T>(n - 1, cell) * 3) ^ (turns<T>(n - 2, cell) - n);
        }
        inline long sorted(long n) {
            std::map<long, long> all;
            for (long i = 0; i < 100; i++) all[i * 7 % 31] = i * n;
            std::vector<long> values;
            for (auto &one : all) values.push_back(one.second % 13);
            std::sort(values.begin(), values.end());
            volatile long cell = 0;
            return turns<long>(n, &cell) + values[3];
        }
        long other(long n);";
    let main =
        format!("{common}\nint main(int count, char **) {{ return (sorted(count + 8) ^ other(count + 6)) & 63; }}");
    let other = format!("{common}\nlong other(long n) {{ return sorted(n) + sorted(n - 1); }}");
    fn activations(n: i32) -> u128 {
        if n <= 0 { 1 } else { 1 + activations(n - 1) + activations(n - 2) }
    }
    let folder = libraries().display().to_string();
    let plugin = format!("-fpass-plugin={folder}/libpoise_pass.so");
    let mut codes = Vec::new();
    let plain = ["-O2"].as_slice();
    let full = ["-O2", "-g", "-flto", "-fuse-ld=lld"].as_slice();
    let thin = ["-O2", "-g", "-flto=thin", "-fuse-ld=lld"].as_slice();
    for (llvm, flags) in [(16, plain), (19, plain), (19, full), (19, thin)] {
        let bench = Bench::of(llvm);
        let flags_of_compiler: Vec<&str> =
            flags.iter().copied().filter(|flag| !flag.starts_with("-fuse")).chain([plugin.as_str()]).collect();
        let objects = [("main", &main), ("other", &other)]
            .map(|(name, text)| object(&bench, llvm, name, text, &flags_of_compiler));
        let program = bench.path("counted");
        let mut command = Command::new(format!("clang++-{llvm}"));
        command.args(flags).arg("-o").arg(&program).arg(format!("-L{folder}")).arg("-lpoise_runtime");
        let linked = succeed(command.arg(format!("-Wl,-rpath,{folder}")).args(objects));
        assert!(linked.stderr.is_empty(), "{llvm} {flags:?}: {}", String::from_utf8_lossy(&linked.stderr));
        let run = bench.measure(&program, &[]);
        codes.push(run.output.status.code().expect("no signal"));
        let profile = run.profile();
        let is_it = |node| profile.path(node).unwrap().last().unwrap().name.contains("turns");
        let visits = profile.values.iter().filter(|((node, metric), _)| *metric == Metric::Visits && is_it(*node));
        let visits: u128 = visits.map(|(_, value)| value.sum).sum();
        assert_eq!(visits, activations(9) + activations(7) + activations(6), "{llvm} {flags:?}");
    }
    assert!(codes.iter().all(|code| *code == codes[0]), "{codes:?}");
}

/// Debuggers find the parameters and variables of a function in two parts.
#[test]
fn keeps_the_places_of_parameters() {
    let text = "__attribute__((noinline)) int forked(int number, volatile int *cell) {
            *cell += number;
            return number < 2 ? 1 : forked(number - 1, cell) + forked(number - 2, cell); }
        int main(int count, char **) { volatile int cell = 0; return forked(count + 5, &cell) == 0; }";
    for llvm in LLVMS {
        for level in ["-O0", "-O2"] {
            let bench = Bench::of(llvm);
            let plugin = format!("-fpass-plugin={}/libpoise_pass.so", libraries().display());
            let object = object(&bench, llvm, "forked", text, &[level, &plugin, "-g"]);
            let symbols = succeed(Command::new("nm").arg(&object)).stdout;
            assert!(String::from_utf8_lossy(&symbols).contains("forkediPVi.poise"), "{llvm} {level}");
            for name in ["number", "cell"] {
                let mut command = Command::new("llvm-dwarfdump-19");
                let told = succeed(command.arg(format!("--name={name}")).arg(&object)).stdout;
                let told = String::from_utf8_lossy(&told).into_owned();
                let parameter = told.split("DW_TAG_formal_parameter").nth(1).expect("a parameter");
                assert!(parameter.contains("DW_AT_location"), "{llvm} {level}: {told}");
            }
        }
    }
}

/// A region that an inner activation leaves without its end ends with that activation.
#[test]
fn ends_regions_that_were_forgotten() {
    let text = "extern \"C\" void poise_test_begin(void);
        extern \"C\" __attribute__((noinline)) int after(int n) { int x = 0; for (int i = 0; i < n; i++) x ^= i * 3; return x; }
        extern \"C\" __attribute__((noinline)) int forgets(int n) {
            if (n == 0) { poise_test_begin(); return after(2); }
            int inner = forgets(n - 1);
            return inner + after(3) + n; }
        int main(int count, char **) { return forgets(count + 3) > 100; }";
    for level in ["-O0", "-O2"] {
        let bench = Bench::new();
        let run = bench.measure(&counted(&bench, 19, text, level), &[]);
        let visits = |path: &[&str]| at(run.profile(), path, Metric::Visits);
        assert_eq!(visits(&["main", "forgets"]), Some(5), "{level}");
        assert_eq!(visits(&["main", "forgets", "after"]), Some(4), "{level}");
        assert_eq!(visits(&["main", "forgets", "marked", "after"]), Some(1), "{level}");
    }
}

/// What `docs/counters.md` says is lost: a handler of a signal that ends the program, or jumps, out of a recursion which calls nothing else
/// takes the counts of the activations that it leaves with it, however many they are, and no others.
#[test]
fn that_a_handler_leaves_loses_what_is_open() {
    let text = "#include <setjmp.h>\n#include <signal.h>\n#include <stdlib.h>
        static volatile int sink; static int *volatile nowhere; static sigjmp_buf back;
        __attribute__((noinline)) static void down(int n, int faults) {
            if (n == 0) { if (faults) sink = *nowhere; return; }
            down(n - 1, faults); sink = n; }
        static void ends(int s) { exit(s - SIGSEGV); }
        static void jumps(int s) { siglongjmp(back, s); }
        int main(int c, char **v) {
            int n = atoi(v[1]); signal(SIGSEGV, c > 2 ? jumps : ends); down(3, 0);
            if (!sigsetjmp(back, 1)) down(n, n > 0);
            down(4, 0); return 0; }";
    for flags in [["-O1", "-g0"], ["-O3", "-g0"]] {
        let (bench, source) = (Bench::new(), Source { text, language: "c" });
        let program = bench.counted(&source, &flags);
        for more in [&[][..], &["jump"]] {
            let counts = |n: &'static str| {
                let arguments = [&[n][..], more].concat();
                let run = bench.measure(&program, &arguments);
                assert_eq!(run.output.status.code(), Some(0));
                (total(run.profile()), bench.covered(&source, &flags, &arguments))
            };
            let [(none, exact), (ten, of_ten), (twenty, of_twenty)] = ["0", "10", "20"].map(counts);
            assert_eq!(none, exact);
            assert!(of_twenty > of_ten && of_ten > ten, "{of_twenty} {of_ten} {ten}");
            assert_eq!(ten, twenty);
        }
    }
}
