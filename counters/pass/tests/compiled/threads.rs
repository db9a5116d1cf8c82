//! Threads join under the call path that started them, and OpenMP's under the parallel region they work for.

use std::process::Command;

use poise_profile::{Metric, Profile};

use crate::tools::{Bench, Source, at, libraries, succeed, total};

/// The call paths without a caller.
fn roots(profile: &Profile) -> Vec<String> {
    let nodes = (0..profile.nodes.len() as u32).filter(|&node| profile.nodes[node as usize].parent.is_none());
    let mut roots: Vec<_> = nodes.map(|node| profile.path(node).unwrap()[0].name.clone()).collect();
    roots.sort_unstable();
    roots
}

/// Visits of `last` below the call path that starts with `above`, whatever the compiler calls the functions between.
pub fn visits_below(profile: &Profile, above: &[&str], last: &str) -> u128 {
    let is_meant = |&node: &u32| {
        let path = profile.path(node).unwrap();
        let names: Vec<_> = path.iter().map(|region| region.name.as_str()).collect();
        names.starts_with(above) && names.last() == Some(&last)
    };
    let nodes = (0..profile.nodes.len() as u32).filter(is_meant);
    nodes.map(|node| profile.values[&(node, Metric::Visits)].sum).sum()
}

const WORK: &str = "
extern \"C\" __attribute__((noinline)) long work(long n) {
    static volatile long sink;
    for (long i = 0; i < n; i++) sink = i % 3 ? i : -i;
    return 0; }
";

/// Started by pthreads, C++ and C11; by threads that were started themselves; and by one that has ended before the other runs.
#[test]
fn are_below_the_function_that_started_them() {
    let text = format!(
        "#include <pthread.h>\n#include <threads.h>\n#include <thread>\n#include <vector>\n#include <unistd.h>\n{WORK}
        static pthread_t late;
        extern \"C\" void *inner(void *n) {{ usleep(50000); return (void *)work((long)n); }}
        extern \"C\" void *outer(void *n) {{ work(10); if (pthread_create(&late, nullptr, inner, n)) return nullptr; pthread_exit(n); }}
        extern \"C\" int eleven(void *n) {{ return work((long)n) == 7; }}
        extern \"C\" __attribute__((noinline)) int with_pthreads(long n) {{
            pthread_t thread; void *result;
            if (pthread_create(&thread, nullptr, outer, (void *)n) || pthread_join(thread, &result)) return 1;
            return result != (void *)n || pthread_join(late, nullptr); }}
        extern \"C\" __attribute__((noinline)) int with_cpp(int k) {{
            std::vector<std::thread> threads;
            for (int i = 0; i < k; i++) threads.emplace_back([i] {{ work(100 + i); }});
            for (auto &thread : threads) thread.join();
            return 0; }}
        extern \"C\" __attribute__((noinline)) int with_c11(long n) {{
            thrd_t thread; int result = 9;
            return thrd_create(&thread, eleven, (void *)n) != thrd_success || thrd_join(thread, &result) != thrd_success || result; }}
        int main() {{ return with_pthreads(50) || with_cpp(20) || with_c11(30); }}"
    );
    for level in ["-O0", "-O2"] {
        let (bench, source) = (Bench::new(), Source { text: &text, language: "cpp" });
        let run = bench.measure(&bench.counted(&source, &[level, "-pthread"]), &[]);
        assert_eq!(run.output.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.output.stderr));
        let profile = run.profile();
        assert_eq!(roots(profile), ["main"], "{level}");
        let path = ["main", "with_pthreads", "outer", "inner", "work"];
        assert_eq!(at(profile, &path, Metric::Visits), Some(1), "{level}");
        assert_eq!(at(profile, &["main", "with_pthreads", "outer", "work"], Metric::Visits), Some(1), "{level}");
        assert_eq!(visits_below(profile, &["main", "with_cpp"], "work"), 20, "{level}");
        assert_eq!(at(profile, &["main", "with_c11", "eleven", "work"], Metric::Visits), Some(1), "{level}");
        assert_eq!(total(profile), bench.covered(&source, &[level, "-pthread"], &[]), "{level}");
    }
}

/// A thread that starts the very function that started it counts for it as recursion does; its time is not lost.
#[test]
fn that_recurse_fold_as_calls_do() {
    let text = format!(
        "#include <thread>\n{WORK}
        extern \"C\" void split(int depth) {{
            work(300000);
            if (depth) {{ std::thread half(split, depth - 1); split(depth - 1); half.join(); }} }}
        int main() {{ split(3); }}"
    );
    let (bench, source) = (Bench::new(), Source { text: &text, language: "cpp" });
    let run = bench.measure(&bench.counted(&source, &["-O1", "-pthread"]), &[]);
    let profile = run.profile();
    assert_eq!(roots(profile), ["main"]);
    assert_eq!(at(profile, &["main", "split"], Metric::Visits), Some(15));
    assert_eq!(at(profile, &["main", "split", "work"], Metric::Visits), Some(15));
    assert!(at(profile, &["main", "split"], Metric::Time).unwrap() > 0);
    assert_eq!(total(profile), bench.covered(&source, &["-O1", "-pthread"], &[]));
}

/// What only counts and has no node of its own counts for the call path that started the thread, which its time does not.
#[test]
fn without_a_node_count_for_their_starter() {
    let text = "#include <pthread.h>\n#include <unistd.h>
        static int sum; static void *small(void *n) { if (n) sum++; return n; }
        static void *sleeps(void *n) { usleep(400000); return small(n); }
        int main() { pthread_t t; int bad = 0;
            for (long i = 1; i < 6; i++) bad |= pthread_create(&t, 0, small, (void *)i) || pthread_join(t, 0);
            return bad | (sum != 5); }";
    let (bench, source) = (Bench::new(), Source { text, language: "c" });
    let run = bench.measure(&bench.counted(&source, &["-O0"]), &[]);
    assert_eq!(run.output.status.code(), Some(0));
    assert_eq!(roots(run.profile()), ["main"]);
    assert_eq!(total(run.profile()), bench.covered(&source, &["-O0"], &[]));
}

/// A thread that never comes to an end is counted as far as its last call that might not have come back: what it has done since is in its registers.
#[test]
fn that_run_at_the_end_count_up_to_their_last_call() {
    let text = "#include <pthread.h>\n#include <unistd.h>
        static volatile int has_begun, sink;
        __attribute__((noinline)) int f(int n) { int s = 0; while (n > 0) s += n--; return s; }
        static void *runs(void *n) { sink = f(10) + f(10); usleep(1); has_begun = 1; for (;;) sink = sink + 1; return n; }
        int main() { pthread_t t; if (pthread_create(&t, 0, runs, 0)) return 1; while (!has_begun || sink < 200000) usleep(1000); return 5; }";
    let (bench, source) = (Bench::new(), Source { text, language: "c" });
    let run = bench.measure(&bench.counted(&source, &["-O0", "-pthread"]), &[]);
    assert_eq!((run.output.status.code(), run.output.stderr.len()), (Some(5), 0));
    let blocks = |path: &[&str]| at(run.profile(), path, Metric::BasicBlocks);
    // Twice the entry, 11 conditions, 10 bodies and the end; and the entry of the thread's function, whose loop has turned many times by then.
    assert_eq!((blocks(&["main", "runs", "f"]), blocks(&["main", "runs"])), (Some(2 * 23), Some(1)));
}

/// The same of a recursion that calls nothing else: what its activations that have come back counted, and nothing of those that are open.
#[test]
fn that_recurse_at_the_end_count_what_has_come_back() {
    let text = "#include <pthread.h>\n#include <unistd.h>
        static volatile int has_begun, sink;
        __attribute__((noinline)) static void down(int n, int stays) {
            if (n == 0) { has_begun = stays; while (stays) sink = n; return; }
            down(n - 1, stays); sink = n; }
        static void *runs(void *n) { down(5, 0); if (n) down((int)(long)n, 1); return n; }
        int main(int c, char **v) { pthread_t t; if (pthread_create(&t, 0, runs, (void *)(c * 10L - 10))) return 1;
            if (c == 1) return pthread_join(t, 0);
            while (!has_begun) usleep(1000);
            return 0; }";
    let (bench, source) = (Bench::new(), Source { text, language: "c" });
    let program = bench.counted(&source, &["-O1", "-pthread"]);
    let blocks = |arguments: &[&str]| {
        let run = bench.measure(&program, arguments);
        assert_eq!((run.output.status.code(), run.output.stderr.len()), (Some(0), 0));
        at(run.profile(), &["main", "runs", "down"], Metric::BasicBlocks)
    };
    let come_back = blocks(&[]);
    assert!(come_back > Some(6));
    assert_eq!([blocks(&["10"]), blocks(&["20", "20"])], [come_back; 2]);
}

/// The pool's threads serve two functions in turn, one of them in nested regions, and regions too small for a node.
const TEAMS: &str = "
#include <omp.h>
static long counter;
extern \"C\" __attribute__((noinline)) void first() {
    #pragma omp parallel num_threads(4)
    work(1000);
}
extern \"C\" __attribute__((noinline)) void second() {
    #pragma omp parallel for num_threads(4) schedule(dynamic)
    for (int i = 0; i < 40; i++) work(i);
}
extern \"C\" __attribute__((noinline)) void nested() {
    #pragma omp parallel num_threads(2)
    {
        #pragma omp parallel num_threads(2)
        work(500);
    }
}
extern \"C\" __attribute__((noinline)) void tiny() {
    #pragma omp parallel num_threads(4)
    {
        #pragma omp atomic
        counter++;
    }
}
int main() {
    omp_set_max_active_levels(2);
    omp_set_dynamic(0);
    for (int i = 0; i < 25; i++) { first(); second(); nested(); tiny(); }
    return counter != 100;
}";

#[test]
fn of_llvms_openmp_are_below_their_region() {
    let text = format!("{WORK}{TEAMS}");
    for level in ["-O0", "-O2"] {
        let (bench, source) = (Bench::new(), Source { text: &text, language: "cpp" });
        let run = bench.measure(&bench.counted(&source, &[level, "-fopenmp"]), &[]);
        assert_eq!(run.output.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.output.stderr));
        let profile = run.profile();
        assert_eq!(roots(profile), ["main"], "{level}");
        let visits = |function| visits_below(profile, &["main", function], "work");
        assert_eq!([visits("first"), visits("second"), visits("nested")], [100, 1000, 100], "{level}");
        // The number of blocks of dynamic schedules depends on who gets which part; that of all else does not.
        let whole = |run: &crate::tools::Run| {
            let profile = run.profile();
            let value = |path: &[&str]| at(profile, path, Metric::BasicBlocks);
            [value(&["main"]), value(&["main", "first"]), value(&["main", "tiny"]), value(&["main", "nested"])]
        };
        let again = bench.measure(&bench.path("counted"), &[]);
        assert_eq!(whole(&run), whole(&again), "{level}");
    }
}

/// A library that GCC compiled runs an instrumented program's functions in parallel, with its own runtime and with LLVM's.
#[test]
fn of_gnus_openmp_are_below_their_region() {
    let team = "void team(void (*f)(int)) {\n#pragma omp parallel num_threads(4)\n f(1000); }
        void loop(void (*f)(int)) {\n#pragma omp parallel for num_threads(4) schedule(dynamic)\n for (int i = 0; i < 40; i++) f(i); }
        void guided(void (*f)(int)) {\n#pragma omp parallel for num_threads(4) schedule(monotonic: guided, 2)\n for (int i = 0; i < 30; i++) f(i); }
        void sections(void (*f)(int)) {\n#pragma omp parallel sections num_threads(2)\n {
            #pragma omp section\n f(1);\n #pragma omp section\n f(2);\n } }";
    let main = "void team(void (*)(int)), loop(void (*)(int)), guided(void (*)(int)), sections(void (*)(int));
        static volatile int sum;
        static void task(int n) { for (int i = 0; i < n; i++) sum = i; }
        __attribute__((noinline)) static void first() { team(task); sections(task); }
        __attribute__((noinline)) static void second() { loop(task); guided(task); }
        int main() { for (int i = 0; i < 25; i++) { first(); second(); } return 0; }";
    let bench = Bench::new();
    std::fs::write(bench.path("team.c"), team).unwrap();
    succeed(Command::new("gcc").args(["-O2", "-fopenmp", "-c", "team.c", "-o", "team.o"]).current_dir(bench.path("")));
    let source = Source { text: main, language: "c" };
    let object = bench.path("team.o").display().to_string();
    for runtime in ["-l:libgomp.so.1", "-fopenmp"] {
        let run = bench.measure(&bench.counted(&source, &["-O1", &object, runtime]), &[]);
        assert_eq!(run.output.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.output.stderr));
        assert_eq!(roots(run.profile()), ["main"], "{runtime}");
        let visits = |path: &[&str]| at(run.profile(), path, Metric::Visits);
        assert_eq!(visits(&["main", "first", "task"]), Some(25 * (4 + 2)), "{runtime}");
        assert_eq!(visits(&["main", "second", "task"]), Some(25 * (40 + 30)), "{runtime}");
        let expected = bench.covered(&source, &["-O1", &object, runtime], &[]);
        assert_eq!(total(run.profile()), expected, "{runtime}");
    }
}

/// Threads of Rust's standard library, in a Rust program whose work is instrumented C.
#[test]
fn of_rust_are_below_the_function_that_started_them() {
    let bench = Bench::new();
    let folder = libraries().display().to_string();
    let work = "void spawn(void); void work(int n) { static volatile int sum; while (n--) sum = n; }
        void solve(int n) { for (int i = 0; i < n; i++) spawn(); }";
    let main = "unsafe extern \"C\" { fn solve(n: i32); fn work(n: i32); }
        #[unsafe(no_mangle)] extern \"C\" fn spawn() { std::thread::spawn(|| unsafe { work(30) }).join().unwrap(); }
        fn main() { unsafe { solve(7) } }";
    std::fs::write(bench.path("work.c"), work).unwrap();
    std::fs::write(bench.path("main.rs"), main).unwrap();
    let plugin = format!("-fpass-plugin={folder}/libpoise_pass.so");
    succeed(Command::new("clang-19").args(["-O1", &plugin, "-c", "work.c"]).current_dir(bench.path("")));
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition", "2024", "main.rs", "-Clink-arg=work.o", "-Clink-arg=-lpoise_runtime"]);
    rustc.args([format!("-Clink-arg=-L{folder}"), format!("-Clink-arg=-Wl,-rpath,{folder}")]);
    succeed(rustc.current_dir(bench.path("")));
    // Rust names our library after the C library, before which it must come: preloaded, it does.
    let (profile, runtime) = (bench.path("rust.poise"), libraries().join("libpoise_runtime.so"));
    succeed(Command::new(bench.path("main")).env("POISE_PROFILE", &profile).env("LD_PRELOAD", runtime));
    let profile = Profile::read(profile).unwrap();
    assert_eq!(at(&profile, &["solve", "work"], Metric::Visits), Some(7));
    assert_eq!(roots(&profile), ["solve"]);
}

/// A program that measures nothing is as it was, also where libgomp was loaded into a scope of its own.
#[test]
fn work_where_a_library_brings_its_own_openmp() {
    let bench = Bench::new();
    let team = "void team(void (*f)(void)) {\n#pragma omp parallel num_threads(3)\n f(); }";
    let main = "#include <dlfcn.h>\n#include <stdio.h>\nstatic int calls;
        static void task(void) { __atomic_fetch_add(&calls, 1, 5); for (volatile int i = 0; i < 9; i = i + 1); }
        int main() { void *library = dlopen(\"./libteam.so\", RTLD_NOW | RTLD_LOCAL);
            if (!library) { puts(dlerror()); return 1; }
            ((void (*)(void (*)(void)))dlsym(library, \"team\"))(task); return calls != 3; }";
    std::fs::write(bench.path("team.c"), team).unwrap();
    let line = ["-O1", "-fopenmp", "-shared", "-fPIC", "team.c", "-o", "libteam.so"];
    succeed(Command::new("gcc").args(line).current_dir(bench.path("")));
    let program = bench.counted(&Source { text: main, language: "c" }, &["-O1"]);
    for measured in [false, true] {
        let mut command = Command::new(&program);
        command.current_dir(bench.path(""));
        if measured {
            command.env("POISE_PROFILE", bench.path("local.poise"));
        }
        succeed(&mut command);
    }
    let profile = Profile::read(bench.path("local.poise")).unwrap();
    assert_eq!(at(&profile, &["main", "task"], Metric::Visits), Some(3));
}
