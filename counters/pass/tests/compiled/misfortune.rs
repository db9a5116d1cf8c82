//! What goes wrong in programs, or is much: the program itself is unharmed, its exit status its own, and the profile right or absent.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use poise_profile::Metric;

use crate::tools::{Bench, LLVMS, Run, Source, at, libraries, succeed, total};

const WORK: &str = "
static volatile int sink;
__attribute__((noinline)) void work(int n) { for (int i = 0; i < n; i++) sink = i; }
";

fn errors(run: &Run) -> String {
    String::from_utf8_lossy(&run.output.stderr).into_owned()
}

/// Ten thousand threads, a thousand at a time: every one is counted, and none costs memory when it has ended.
#[test]
fn ten_thousand_threads_are_counted() {
    let text = format!(
        "#include <pthread.h>\n#include <stdio.h>\n#include <string.h>\n{WORK}
        static void *body(void *n) {{ work(1 + (int)(long)n % 7); return n; }}
        static long peak(void) {{ char line[256]; long kilobytes = 0; FILE *file = fopen(\"/proc/self/status\", \"r\");
            while (fgets(line, sizeof line, file)) if (sscanf(line, \"VmHWM: %ld\", &kilobytes) == 1) break;
            fclose(file); return kilobytes; }}
        __attribute__((noinline)) static int round_of(int n) {{ static pthread_t threads[1000]; pthread_attr_t small; pthread_attr_init(&small);
            pthread_attr_setstacksize(&small, 1 << 16);
            for (int i = 0; i < 1000; i++) if (pthread_create(&threads[i], &small, body, (void *)(long)(n * 1000 + i))) return 1;
            for (int i = 0; i < 1000; i++) if (pthread_join(threads[i], 0)) return 1;
            return 0; }}
        int main(void) {{
            if (round_of(0)) return 9;
            long first = peak();
            for (int i = 1; i < 10; i++) if (round_of(i)) return 9;
            printf(\"%ld %ld\\n\", first, peak());
            return 0; }}"
    );
    let (bench, source) = (Bench::new(), Source { text: &text, language: "c" });
    let run = bench.measure(&bench.counted(&source, &["-O1", "-pthread"]), &[]);
    assert_eq!((run.output.status.code(), errors(&run).as_str()), (Some(0), ""));
    let path = ["main", "round_of", "body", "work"];
    let visits = |path: &[&str]| at(run.profile(), path, Metric::Visits);
    assert_eq!((visits(&path), visits(&path[..3])), (Some(10_000), Some(10_000)));
    let printed = String::from_utf8_lossy(&run.output.stdout).into_owned();
    let kilobytes: Vec<u64> = printed.split_whitespace().map(|word| word.parse().unwrap()).collect();
    // A thousand trees of some 5 KiB may live at once; nine thousand that have ended do not add to them.
    assert!(kilobytes[1] < kilobytes[0] + 20_000, "{printed}");
}

/// A thread ends the process: what it and the others had done is in the profile, and the status is the one it gave.
#[test]
fn exit_in_a_thread_ends_well() {
    let text = format!(
        "#include <pthread.h>\n#include <stdlib.h>\n#include <unistd.h>\n{WORK}
        static void *ends(void *n) {{ work(5); usleep(200000); /* Until main waits. */ exit(7); return n; }}
        int main(void) {{ pthread_t thread; work(3); if (pthread_create(&thread, 0, ends, 0)) return 1;
            pthread_join(thread, 0); work(4); return 2; }}"
    );
    let (bench, source) = (Bench::new(), Source { text: &text, language: "c" });
    let run = bench.measure(&bench.counted(&source, &["-O1", "-pthread"]), &[]);
    assert_eq!((run.output.status.code(), errors(&run).as_str()), (Some(7), ""));
    let visits = |path: &[&str]| at(run.profile(), path, Metric::Visits);
    assert_eq!((visits(&["main", "work"]), visits(&["main", "ends", "work"])), (Some(1), Some(1)));
    // The oracle leaves out the one block of `ends`, which never returns.
    assert_eq!(total(run.profile()), bench.covered(&source, &["-O1", "-pthread"], &[]) + 1);
}

/// Programs that end without an end, by abort, `_exit`, `quick_exit` or a signal: as without us, and no profile.
#[test]
fn what_never_leaves_main_dies_as_it_would() {
    for (end, code, signal) in [
        ("abort()", None, Some(6)),
        ("_exit(5)", Some(5), None),
        ("quick_exit(6)", Some(6), None),
        ("raise(SIGTERM)", None, Some(15)),
    ] {
        let text = format!(
            "#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\n{WORK}
            int main(void) {{ work(3); {end}; for (;;) work(9); }}"
        );
        let bench = Bench::new();
        let run = bench.measure(&bench.counted(&Source { text: &text, language: "c" }, &["-O1"]), &[]);
        assert_eq!((run.output.status.code(), run.output.status.signal()), (code, signal), "{end}");
        assert!(run.profile.is_none() && errors(&run).is_empty(), "{end}: {}", errors(&run));
    }
}

/// Libraries that are loaded and unloaded while the program runs, two of them with functions of one name.
#[test]
fn libraries_that_come_and_go_keep_their_names() {
    let bench = Bench::new();
    let plugin = format!("-fpass-plugin={}/libpoise_pass.so", libraries().display());
    for (name, calls) in [("one", 3), ("two", 4), ("three", 5)] {
        let text =
            format!("{WORK} int start(void) {{ for (int i = 0; i < {calls}; i++) work({calls}); return {calls}; }}");
        std::fs::write(bench.path(&format!("{name}.c")), text).unwrap();
        let mut command = Command::new("clang-19");
        command.args(["-O1", "-shared", "-fPIC", "-gline-tables-only", &plugin, "-Wl,-z,nodelete"]);
        succeed(command.args([&format!("{name}.c"), "-o", &format!("lib{name}.so")]).current_dir(bench.path("")));
    }
    let folder = bench.path("").display().to_string();
    let text = format!(
        "#include <dlfcn.h>\n__attribute__((noinline)) static int load(const char *name) {{
            void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL); if (!library) return 1000;
            int calls = ((int (*)(void))dlsym(library, \"start\"))(); dlclose(library); return calls; }}
        int main(void) {{ return load(\"{folder}/libone.so\") + load(\"{folder}/libtwo.so\") + load(\"{folder}/libthree.so\") + load(\"{folder}/libone.so\"); }}"
    );
    let run = bench.measure(&bench.counted(&Source { text: &text, language: "c" }, &["-O1"]), &[]);
    assert_eq!((run.output.status.code(), errors(&run).as_str()), (Some(3 + 4 + 5 + 3), ""));
    let profile = run.profile();
    let works =
        (0..profile.nodes.len() as u32).filter(|&node| profile.path(node).unwrap().last().unwrap().name == "work");
    let mut visits: Vec<_> = works.map(|node| profile.values[&(node, Metric::Visits)].sum).collect();
    visits.sort_unstable();
    // One per library's file, below the function that loaded it.
    assert_eq!(visits, [4, 5, 6]);
    let files: Vec<_> = profile.regions.iter().filter(|r| r.name == "work").map(|r| r.file.as_str()).collect();
    assert!(
        files.len() == 3 && ["one.c", "two.c", "three.c"].iter().all(|f| files.iter().any(|file| file.ends_with(f)))
    );
}

/// Ten thousand threads that live at the same time, within a bounded memory for each.
#[test]
fn ten_thousand_threads_at_once_are_counted() {
    let text = format!(
        "#define _GNU_SOURCE\n#include <pthread.h>\n#include <stdio.h>\n#include <string.h>\n{WORK}
        enum {{ N = 10000 }};
        static pthread_t threads[N]; static pthread_barrier_t all;
        static void *body(void *n) {{ work(1 + (int)(long)n % 7); pthread_barrier_wait(&all); work(2); return n; }}
        static long resident(void) {{ char line[256]; long kilobytes = 0; FILE *file = fopen(\"/proc/self/status\", \"r\");
            while (fgets(line, sizeof line, file)) if (sscanf(line, \"VmRSS: %ld\", &kilobytes) == 1) break;
            fclose(file); return kilobytes; }}
        int main(void) {{
            pthread_attr_t small; pthread_attr_init(&small); pthread_attr_setstacksize(&small, 1 << 16);
            if (pthread_barrier_init(&all, 0, N + 1)) return 9;
            for (int i = 0; i < N; i++) if (pthread_create(&threads[i], &small, body, (void *)(long)i)) return 1;
            long most = resident();
            pthread_barrier_wait(&all);
            for (int i = 0; i < N; i++) if (pthread_join(threads[i], 0)) return 1;
            printf(\"%ld\\n\", most);
            return 0; }}"
    );
    let (bench, source) = (Bench::new(), Source { text: &text, language: "c" });
    let program = bench.counted(&source, &["-O1", "-pthread"]);
    let alone = Command::new(&program).output().unwrap();
    let run = bench.measure(&program, &[]);
    assert_eq!((run.output.status.code(), errors(&run).as_str()), (Some(0), ""));
    let visits = |path: &[&str]| at(run.profile(), path, Metric::Visits);
    assert_eq!(visits(&["main", "body"]), Some(10_000));
    assert_eq!(visits(&["main", "body", "work"]), Some(20_000));
    let kilobytes =
        |output: &std::process::Output| -> u64 { String::from_utf8_lossy(&output.stdout).trim().parse().unwrap() };
    // A tree's first nodes take some 5 KiB, and touching them a page or two more.
    let each = kilobytes(&run.output).saturating_sub(kilobytes(&alone)) / 10_000;
    assert!(each <= 16, "{each} KiB");
}

/// Objects do not care which LLVM made them; bitcode of a newer one counts once where the older compiler can read it, and else is refused in one line.
#[test]
fn parts_of_different_llvms_make_one_program_or_are_refused() {
    let bench = Bench::new();
    let plugin = format!("-fpass-plugin={}/libpoise_pass.so", libraries().display());
    let part = "int part(int n) { static volatile int s; for (int i = 0; i < n; i++) s += i; return s; }";
    std::fs::write(bench.path("part.c"), part).unwrap();
    let compile = |compiler: &str, arguments: &[&str]| {
        Command::new(compiler).args(arguments).arg(&plugin).current_dir(bench.path("")).output().unwrap()
    };
    let main = "int part(int n); int main(int c, char **v) { int s = 0; for (int i = 0; i < 5; i++) s += part(c + i); return s == 0; }";
    let source = Source { text: main, language: "c" };
    let object = bench.path("part.o");
    assert!(compile("clang-16", &["-O1", "-c", "part.c", "-o", "part.o"]).status.success());
    let program = bench.path("both");
    succeed(bench.counting(&source, &["-O1"]).arg(&object).arg("-o").arg(&program));
    let run = bench.measure(&program, &[]);
    assert_eq!(at(run.profile(), &["main", "part"], Metric::Visits), Some(5));
    // The part has its entry, its iterations and its end, as LLVM 19 compiles it too.
    assert!(compile("clang-19", &["-O1", "-c", "part.c", "-o", "part.o"]).status.success());
    succeed(bench.counting(&source, &["-O1"]).arg(&object).arg("-o").arg(&program));
    assert_eq!(total(bench.measure(&program, &[]).profile()), total(run.profile()));
    assert!(compile("clang-19", &["-O1", "-c", "-emit-llvm", "part.c", "-o", "part.bc"]).status.success());
    // What an older LLVM can read of it is instrumented already, and stays so.
    let older = compile("clang-16", &["-O1", "-c", "part.bc", "-o", "part.o"]);
    let told = String::from_utf8_lossy(&older.stderr).into_owned();
    if older.status.success() {
        succeed(bench.counting(&source, &["-O1"]).arg(&object).arg("-o").arg(&program));
        assert_eq!(total(bench.measure(&program, &[]).profile()), total(run.profile()));
    } else {
        assert!(told.lines().filter(|line| line.contains("error: ")).count() == 1, "{told}");
    }
}

/// A function that refers to all that the runtime has for compiled code, by a name of its own.
fn part(name: &str) -> String {
    format!(
        "int other(int n); void exit(int);
        static inline int inner(int n) {{ int s = 0; for (int i = 0; i < n; i++) s += other(i) ^ i; return s; }}
        __attribute__((noinline)) static int again(int n) {{ if (n > 99) exit(n); return n < 2 ? 1 : again(n - 1) + again(n - 2); }}
        int {name}(int n) {{ int s = inner(n) + again(n % 9); for (int i = 0; i < n; i++) s += inner(i) + other(s); return s; }}"
    )
}

/// Linkers and what may be asked of them that leaves parts of programs out.
const LINKERS: [&[&str]; 5] = [
    &[],
    &["-Wl,--as-needed"],
    &["-Wl,--gc-sections"],
    &["--ld-path=ld.lld-19"],
    &["--ld-path=ld.lld-19", "-Wl,--gc-sections", "-Wl,--as-needed"],
];

/// The linker's only complaint is of the symbol whose name says what to do.
fn demands_the_runtime(told: &str) {
    let is_complaint = |line: &&str| line.contains("undefined reference") || line.contains("undefined symbol");
    let lines: Vec<_> = told.lines().filter(is_complaint).collect();
    assert!(lines.len() == 1, "{told}");
    assert!(lines[0].contains("poise_runtime_is_missing_link_with_poise_cc_or_lpoise_runtime"), "{told}");
}

/// Instrumented objects that are linked without the runtime, however much they refer to in it: one undefined reference, which says what to do.
#[test]
fn a_missing_runtime_is_one_line_of_the_linker() {
    for llvm in LLVMS {
        for level in ["-O0", "-O3"] {
            let bench = Bench::of(llvm);
            let objects = ["main", "other"].map(|name| {
                let object = bench.path(&format!("{name}.o"));
                let (text, flags) = (part(name), [level, "-c", "-Wno-everything", "-ffunction-sections"]);
                succeed(bench.counting(&Source { text: &text, language: "c" }, &flags).arg("-o").arg(&object));
                object
            });
            let folder = libraries();
            for linker in LINKERS {
                let mut link = Command::new(format!("clang-{llvm}"));
                link.args(linker).args(&objects).arg("-o").arg(bench.path("program"));
                let output = link.output().unwrap();
                assert!(!output.status.success(), "{llvm} {level} {linker:?}");
                demands_the_runtime(&String::from_utf8_lossy(&output.stderr));
                let output = succeed(link.arg(format!("-L{}", folder.display())).arg("-lpoise_runtime"));
                assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{llvm} {level} {linker:?}");
            }
        }
    }
}

/// An instrumented library that was linked without the runtime cannot be opened as a program runs, for a reason that says what to do; the
/// program goes on. With the runtime the same code counts.
#[test]
fn a_library_without_the_runtime_says_so_when_it_is_opened() {
    let main = "#include <dlfcn.h>
        #include <stdio.h>
        int other(int n) { return n & 3; }
        int main(int count, char **names) {
            void *library = dlopen(names[1], RTLD_NOW | RTLD_LOCAL);
            if (!library) { puts(dlerror()); return 4; }
            printf(\"%d\\n\", ((int (*)(int))dlsym(library, \"part\"))(7));
            return 3;
        }";
    for llvm in LLVMS {
        let bench = Bench::of(llvm);
        let [program, library] = [bench.path("program"), bench.path("libpart.so")];
        succeed(bench.compile(&Source { text: main, language: "c" }, &["-O2", "-rdynamic"]).arg("-o").arg(&program));
        let text = part("part");
        let source = Source { text: &text, language: "c" };
        let flags = ["-O2", "-Wno-everything", "-fPIC", "-shared"];
        succeed(bench.compile(&source, &flags).arg("-o").arg(&library));
        let open = || {
            let mut command = Command::new(&program);
            command.arg(&library).env("POISE_PROFILE", bench.path("none.poise")).output().unwrap()
        };
        let native = open();
        assert_eq!(native.status.code(), Some(3));
        // As a linker finds no runtime where nobody names one.
        let object = bench.path("part.o");
        succeed(bench.counting(&source, &["-O2", "-Wno-everything", "-fPIC", "-c"]).arg("-o").arg(&object));
        let link = |with: &[String]| {
            let mut command = Command::new(format!("clang-{llvm}"));
            succeed(command.arg("-shared").arg(&object).args(with).arg("-o").arg(&library));
        };
        link(&[]);
        let without = open();
        let told = String::from_utf8_lossy(&without.stdout).into_owned();
        assert_eq!((without.status.code(), told.lines().count()), (Some(4), 1), "{told}");
        assert!(told.contains("poise_runtime_is_missing_link_with_poise_cc_or_lpoise_runtime"), "{told}");
        assert!(without.stderr.is_empty() && !bench.path("none.poise").exists(), "{llvm}");
        let folder = libraries().display().to_string();
        link(&[format!("-L{folder}"), "-lpoise_runtime".to_owned(), format!("-Wl,-rpath,{folder}")]);
        let run = bench.measure(&program, &[&library.display().to_string()]);
        assert_eq!(run.output, native, "{llvm}");
        assert!(total(run.profile()) > 100, "{llvm}");
    }
}

/// An instrumented archive in a program that is compiled without the pass: without the runtime the link says in one line what is missing where the
/// program calls what is in it, and the program is as it was where not; with the runtime all blocks of it count, whatever the linker leaves out.
#[test]
fn an_instrumented_archive_alone_demands_the_runtime_where_it_is_used() {
    let main = "#include <stdio.h>
        int other(int n) { return n & 3; }
        #ifdef USED
        int part(int n);
        #else
        static int part(int n) { return n; }
        #endif
        int main(void) { printf(\"%d\\n\", part(7)); return 3; }";
    for llvm in LLVMS {
        let bench = Bench::of(llvm);
        let [archive, objects] = [bench.path("libpart.a"), bench.path("")];
        let compile = |command: &mut Command, name: &str| {
            succeed(command.args(["-c", "-o"]).arg(objects.join(name)));
        };
        let (text, flags) = (part("part"), ["-O2", "-Wno-everything", "-ffunction-sections"]);
        compile(&mut bench.counting(&Source { text: &text, language: "c" }, &flags), "part.o");
        succeed(Command::new("ar").arg("rc").arg(&archive).arg(objects.join("part.o")));
        let plain = |text: &str, flags: &[&str], name: &str| {
            compile(&mut bench.compile(&Source { text, language: "c" }, flags), name);
        };
        plain(&text, &flags, "native.o");
        plain(main, &["-O2", "-DUSED"], "used.o");
        plain(main, &["-O2"], "unused.o");
        let program = bench.path("program");
        let link = |linker: &[&str], files: &[&str]| {
            let mut command = Command::new(format!("clang-{llvm}"));
            command.current_dir(&objects).args(linker).args(files).arg("-o").arg(&program);
            command
        };
        succeed(&mut link(&[], &["used.o", "native.o"]));
        let native = Command::new(&program).output().unwrap();
        let folder = libraries().display().to_string();
        let mut counts = Vec::new();
        for linker in LINKERS {
            let output = link(linker, &["used.o", "libpart.a"]).output().unwrap();
            assert!(!output.status.success(), "{llvm} {linker:?}");
            demands_the_runtime(&String::from_utf8_lossy(&output.stderr));
            succeed(&mut link(linker, &["unused.o", "libpart.a"]));
            let alone = Command::new(&program).env("POISE_PROFILE", bench.path("none.poise")).output().unwrap();
            assert_eq!((alone.status.code(), &alone.stdout[..]), (Some(3), &b"7\n"[..]), "{llvm} {linker:?}");
            assert!(alone.stderr.is_empty() && !bench.path("none.poise").exists(), "{llvm} {linker:?}");
            let runtime = [format!("-L{folder}"), "-lpoise_runtime".to_owned(), format!("-Wl,-rpath,{folder}")];
            succeed(link(linker, &["used.o", "libpart.a"]).args(runtime));
            let run = bench.measure(&program, &[]);
            assert_eq!(run.output, native, "{llvm} {linker:?}");
            counts.push(total(run.profile()));
        }
        assert!(counts[0] > 100 && counts.iter().all(|count| *count == counts[0]), "{llvm}: {counts:?}");
    }
}
