//! Programs compiled with sanitizers, whose libraries stand in front of functions that the runtime calls: they run as they do without the
//! counters, and count what LLVM's coverage counts. Of LLVM 19, whose sanitizers' libraries its Debian package brings.

use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use poise_profile::Metric;

use crate::tools::{Bench, Run, Source, at, total};

/// Leaks, races, reads behind an array or none of these, by its argument; with threads, and on request with regions marked by hand.
const TEXT: &str = r#"
#ifdef MARKED
#include <poise.h>
#else
#define POISE_BEGIN(NAME)
#define POISE_END(NAME)
#endif
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static volatile int sink, shared;
static void *volatile kept;
__attribute__((noinline)) static void work(int n) { for (int i = 0; i < n; i++) sink = i; }
static void *body(void *n) {
    POISE_BEGIN("part");
    static __thread volatile int own;
    for (int i = 0; i < (int)(long)n; i++) own = i;
    POISE_END("part");
    return n;
}
static void *races(void *n) { for (int i = 0; i < 1000; i++) shared++; return n; }
static void nothing(void) {}
static void leak(void) { kept = malloc(10); kept = 0; }
static void race(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, races, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
}
static void overflow(void) { char *bytes = malloc(8); kept = bytes; sink = bytes[8 + shared]; }
int main(int argc, char **argv) {
    void (*what[])(void) = {nothing, leak, race, overflow};
    POISE_BEGIN("part");
    work(argc);
    POISE_END("part");
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) if (pthread_create(&threads[i], 0, body, (void *)(i + 10))) return 9;
    for (int i = 0; i < 4; i++) if (pthread_join(threads[i], 0)) return 9;
    what[argv[1][0] - '0']();
    return 3;
}
"#;

const SOURCE: Source<'_> = Source { text: TEXT, language: "c" };

/// The run with a sanitizer, of what the argument says, and how many blocks LLVM's coverage counts in a run with this sanitizer, or
/// none, and argument.
fn measured(sanitizer: &str, argument: &str, as_in: (Option<&str>, &str)) -> (Run, u128) {
    let bench = Bench::new();
    let flag = |sanitizer: &str| format!("-fsanitize={sanitizer}");
    let run = bench.measure(&bench.counted(&SOURCE, &["-O0", "-pthread", &flag(sanitizer)]), &[argument]);
    let other = as_in.0.map_or("-g0".to_owned(), flag);
    (run, bench.covered(&SOURCE, &["-O0", "-pthread", &other], &[as_in.1]))
}

fn errors(run: &Run) -> String {
    String::from_utf8_lossy(&run.output.stderr).into_owned()
}

#[test]
fn programs_run_and_count_as_without() {
    for sanitizer in ["address", "undefined", "leak", "memory", "thread"] {
        let (run, blocks) = measured(sanitizer, "0", (Some(sanitizer), "0"));
        assert_eq!((run.output.status.code(), errors(&run).as_str()), (Some(3), ""), "{sanitizer}");
        assert_eq!(total(run.profile()), blocks, "{sanitizer}");
    }
}

/// Names of regions are looked up in memory that a sanitizer knows nothing of.
#[test]
fn marks_are_regions() {
    let include = format!("-I{}/../markers", env!("CARGO_MANIFEST_DIR"));
    for sanitizer in ["address", "memory", "thread"] {
        let (bench, sanitizer) = (Bench::new(), format!("-fsanitize={sanitizer}"));
        let program = bench.counted(&SOURCE, &["-O0", "-pthread", "-DMARKED", &include, &sanitizer]);
        let run = bench.measure(&program, &["0"]);
        assert_eq!((run.output.status.code(), errors(&run).as_str()), (Some(3), ""), "{sanitizer}");
        let visits = |path: &[&str]| at(run.profile(), path, Metric::Visits);
        assert_eq!((visits(&["main", "part"]), visits(&["main", "body", "part"])), (Some(1), Some(4)), "{sanitizer}");
    }
}

/// What a sanitizer's library finds only at the end of the program leaves the profile of a program that has ended. Leaks take as many
/// blocks as nothing does.
#[test]
fn what_is_found_at_the_end_leaves_the_profile() {
    for (sanitizer, argument, found, as_in) in [
        ("address", "1", "LeakSanitizer", (Some("address"), "0")),
        ("leak", "1", "LeakSanitizer", (Some("leak"), "0")),
        ("thread", "2", "data race", (None, "2")),
    ] {
        let (run, blocks) = measured(sanitizer, argument, as_in);
        assert!(errors(&run).contains(found) && !errors(&run).contains("poise:"), "{sanitizer}: {}", errors(&run));
        assert_ne!(run.output.status.code(), Some(3), "{sanitizer}");
        assert_eq!(total(run.profile()), blocks, "{sanitizer}");
    }
}

/// A program that dies of an error has no profile, which is told in a line.
#[test]
fn a_death_is_told() {
    let (run, _) = measured("address", "3", (None, "0"));
    assert!(errors(&run).contains("heap-buffer-overflow") && run.profile.is_none(), "{}", errors(&run));
    let is_ours = |line: &&str| line.starts_with("poise: the program was ended by its sanitizer; ");
    assert_eq!(errors(&run).lines().filter(is_ours).count(), 1, "{}", errors(&run));
}

/// The allocator may be what the sanitizer died in: nothing is allocated any more.
#[test]
fn a_death_is_told_without_memory() {
    let text = r#"
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>
int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void *, size_t), void (*)(const volatile void *));
static volatile int is_dying, sink;
void __asan_on_error(void) { is_dying = 1; }
static void allocated(const volatile void *bytes, size_t count) { if (is_dying && write(2, "allocates\n", 10) < 0) _exit(9); }
static void freed(const volatile void *bytes) {}
__attribute__((noinline)) static void work(int n) { for (int i = 0; i < n; i++) sink = i; }
int main(int argc, char **argv) {
    char *volatile bytes = malloc(8);
    work(argc);
    if (!__sanitizer_install_malloc_and_free_hooks(allocated, freed)) return 8;
    return bytes[7 + argc];
}
"#;
    let bench = Bench::new();
    let program = bench.counted(&Source { text, language: "c" }, &["-O0", "-fsanitize=address"]);
    let began = Duration::from_secs(1_000_000_000);
    let profile = bench.path("profile.poise");
    let output = Command::new(program)
        .env("POISE_PROFILE", &profile)
        .env("POISE_BEGAN", began.as_nanos().to_string())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let line = "the program was ended by its sanitizer; this run has no profile; POISE_CHECKPOINT would have saved what there was.";
    assert!(said.contains("heap-buffer-overflow") && !said.contains("allocates") && !profile.exists(), "{said}");
    assert_eq!(said.lines().filter(|said| said.strip_prefix("poise: ") == Some(line)).count(), 1, "{said}");
    let left = bench.path("profile.poise.failed");
    assert_eq!(std::fs::read_to_string(&left).unwrap(), format!("{line}\n"));
    // It is of the run, which began long ago.
    let dated = std::fs::metadata(left).unwrap().modified().unwrap().duration_since(UNIX_EPOCH).unwrap();
    assert_eq!(dated.as_secs(), began.as_secs());
}
