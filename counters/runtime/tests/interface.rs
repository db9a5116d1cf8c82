//! The C interface as a C program uses it, without any compiler plugin.

use std::path::PathBuf;
use std::process::{Command, Output};

use poise_profile::{Metric, Profile};

/// A C program around `body`, the body of `main` with `argc` and `argv`, linked with the runtime.
fn build(folder: &std::path::Path, body: &str) -> PathBuf {
    build_with(folder, "", body)
}

/// The same with `before` at its beginning.
fn build_with(folder: &std::path::Path, before: &str, body: &str) -> PathBuf {
    let library = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let include = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("include");
    let (source, program) = (folder.join("program.c"), folder.join("program"));
    let text = format!(
        "{before}#include \"poise_runtime.h\"\n#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>
         static const struct poise_region M = {{\"main\", \"m.c\", 1, POISE_FUNCTION}}, A = {{\"a\", 0, 0, POISE_FUNCTION}},
             B = {{\"b\", 0, 0, POISE_USER}}, S = {{\"MPI_Send\", 0, 0, POISE_MPI}};
         static void *thread(void *region) {{
             void *token = poise_enter(region); poise_thread.blocks += 7; poise_leave(token); return 0; }}
         int main(int argc, char **argv) {{ void *main_token = poise_enter(&M); {body} poise_leave(main_token); return 3; }}"
    );
    std::fs::write(&source, text).unwrap();
    let mut command = Command::new("cc");
    command
        .args([
            "-O1",
            "-Wall",
            "-Werror",
            "-Wno-unused-variable",
            "-Wno-unused-function",
            "-Wno-unused-parameter",
            "-I",
        ])
        .arg(include);
    command.arg(source).arg("-o").arg(&program).arg(format!("-L{}", library.display()));
    command.args(["-lpoise_runtime", "-lpthread"]).arg(format!("-Wl,-rpath,{}", library.display()));
    // The library that was built with these tests, and not one beside them that LD_LIBRARY_PATH may name.
    command.arg("-Wl,--disable-new-dtags");
    let output = command.output().expect("a C compiler is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// Runs the program around `body`, measured; its output and the profile it wrote.
fn run(body: &str) -> (Output, Option<Profile>) {
    run_with(body, &[])
}

/// The same with variables in its environment.
fn run_with(body: &str, environment: &[(&str, &str)]) -> (Output, Option<Profile>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.poise");
    let mut command = Command::new(build(folder.path(), body));
    command.envs(environment.iter().copied());
    let output = command.arg(&path).env("POISE_PROFILE", &path).output().unwrap();
    let profile = path.exists().then(|| Profile::read(&path).unwrap());
    (output, profile)
}

fn value(profile: &Profile, path: &[&str], metric: Metric) -> Option<u128> {
    let names = |node| profile.path(node).unwrap().iter().map(|r| r.name.clone()).collect::<Vec<_>>();
    let node = (0..profile.nodes.len() as u32).find(|&node| names(node) == path)?;
    profile.values.get(&(node, metric)).map(|value| value.sum)
}

#[test]
fn blocks_and_calls_go_to_the_current_call_path() {
    let (output, profile) = run("poise_thread.blocks += 5;
        for (int i = 0; i < 6; i++) {
            void *a = poise_enter(&A); poise_thread.blocks += 10;
            void *b = poise_enter(&B); poise_thread.blocks += 100;
            void *again = poise_enter(&A); poise_thread.blocks += 1000; poise_leave(again);
            poise_thread.blocks += 1; poise_leave(b);
            poise_thread.blocks += 2; poise_leave(a); }
        poise_thread.blocks += 3;");
    let profile = profile.unwrap();
    assert_eq!(output.status.code(), Some(3));
    let blocks = |path: &[&str]| value(&profile, path, Metric::BasicBlocks);
    assert_eq!(blocks(&["main"]), Some(8));
    // The inner activation of a is recursion: it counts for the outer one.
    assert_eq!(blocks(&["main", "a"]), Some(6 * 1012));
    assert_eq!(blocks(&["main", "a", "b"]), Some(6 * 101));
    assert_eq!(blocks(&["main", "a", "b", "a"]), None);
    assert_eq!(value(&profile, &["main", "a"], Metric::Visits), Some(12));
    assert_eq!(value(&profile, &["main", "a"], Metric::BytesSent), None);
}

/// Functions that call themselves add to `poise_again`: visits of the call path that is current when it is attributed, and of no other.
#[test]
fn visits_without_entering_are_those_of_the_current_call_path() {
    let (_, profile) = run("void *a = poise_enter(&A); poise_again += 3;
        void *b = poise_enter(&B); if (poise_thread.current != poise_here()) return 1; poise_again += 10; poise_leave(b);
        poise_again += 100; poise_leave(a);");
    let profile = profile.unwrap();
    assert_eq!(value(&profile, &["main", "a"], Metric::Visits), Some(104));
    assert_eq!(value(&profile, &["main", "a", "b"], Metric::Visits), Some(11));
    assert_eq!(value(&profile, &["main"], Metric::Visits), Some(1));
}

/// A signal's handler that attributes while an addition has been loaded and not stored yet takes nothing twice: at most that one visit is lost.
#[test]
fn visits_that_a_handler_attributed_are_not_attributed_again() {
    let (_, profile) = run("void *a = poise_enter(&A); poise_again += 1000;
        uint64_t loaded = poise_again; poise_again += 5; void *b = poise_enter(&B); poise_again += 2; poise_leave(b);
        poise_again = loaded + 1; poise_leave(poise_enter(&B)); poise_again += 3; poise_leave(a);");
    let profile = profile.unwrap();
    assert_eq!(value(&profile, &["main", "a"], Metric::Visits), Some(1 + 1000 + 5 + 3));
    assert_eq!(value(&profile, &["main", "a", "b"], Metric::Visits), Some(1 + 2 + 1));
}

/// A function that calls itself has no hook but those of functions that were inlined into it: its blocks and visits are in the bins in which
/// they happened all the same, but for what the narrowest bins hold.
#[test]
fn a_recursion_with_inlined_functions_is_in_the_bins_in_which_it_ran() {
    let body = "static const struct poise_region G = {\"g\", \"g.c\", 2, POISE_INLINED};
        static const struct poise_inlined g = {0, &G};
        void *a = poise_enter(&A);
        for (int i = 0; i < 1000; i++) { poise_thread.blocks += 60; poise_again++; poise_inlined(&g, 40); }
        poise_leave(a);";
    let (_, profile) = run_with(body, &[("POISE_PHASES", "blocks=10000")]);
    let profile = profile.unwrap();
    assert_eq!(value(&profile, &["main", "a"], Metric::BasicBlocks), Some(60_000));
    assert_eq!(value(&profile, &["main", "a"], Metric::Visits), Some(1001));
    let node =
        profile.phases.places.iter().position(|place| profile.path(place.node).unwrap().last().unwrap().name == "a");
    let bins = &profile.phases.timelines[0].bins;
    assert!(bins.len() >= 10, "{}", bins.len());
    // What is told of both before the clock is read.
    let late = 4096 + 100;
    for bin in &bins[..10] {
        let share = bin.shares.iter().find(|share| Some(share.place as usize) == node).expect("the recursion");
        assert!(share.count.abs_diff(6000) <= late, "{}", share.count);
        assert!(share.visits.abs_diff(100) <= late / 60, "{}", share.visits);
    }
    let visits: u64 =
        bins.iter().flat_map(|bin| &bin.shares).filter(|s| Some(s.place as usize) == node).map(|s| s.visits).sum();
    assert_eq!(visits, 1001);
}

#[test]
fn an_outer_token_leaves_everything_and_resume_comes_back() {
    let (_, profile) = run("void *a = poise_enter(&A); poise_enter(&B); poise_enter(&S); poise_thread.blocks += 1;
        poise_resume(a, &A); poise_thread.blocks += 10;
        poise_enter(&B); poise_leave(a); poise_thread.blocks += 100;");
    let profile = profile.unwrap();
    assert_eq!(value(&profile, &["main", "a", "b", "MPI_Send"], Metric::BasicBlocks), Some(1));
    assert_eq!(value(&profile, &["main", "a"], Metric::BasicBlocks), Some(10));
    assert_eq!(value(&profile, &["main", "a"], Metric::Visits), Some(1));
    assert_eq!(value(&profile, &["main"], Metric::BasicBlocks), Some(100));
}

/// Two coroutines take turns on one thread, as ranks do under SimGrid's SMPI: each finds its own call path again, a new one has entered
/// nothing, and each is taken alone.
#[test]
fn coroutines_that_take_turns_keep_their_call_paths() {
    let folder = tempfile::tempdir().unwrap();
    let body = "uint64_t first[8], second[8]; size_t length; FILE *file; (void)argc;
        void *a = poise_enter(&A); poise_thread.blocks += 5; poise_again += 2;
        poise_suspend(first);
        if (poise_here()) return 1;
        void *b = poise_enter(&B); poise_thread.blocks += 100; poise_again += 20;
        poise_suspend(second); poise_proceed(first);
        poise_thread.blocks += 7; poise_again += 1;
        void *s = poise_enter(&S); poise_thread.blocks += 1000;
        poise_suspend(first); poise_proceed(second);
        poise_thread.blocks += 200; poise_leave(b);
        uint8_t *bytes = poise_take_coroutine(1, &length);
        file = fopen(argv[2], \"wb\"); fwrite(bytes, 1, length, file); fclose(file); poise_release(bytes, length);
        void *late = poise_enter(&B); poise_thread.blocks += 50000; poise_leave(late);
        poise_proceed(first);
        poise_leave(s); poise_thread.blocks += 3; poise_leave(a);
        bytes = poise_take_coroutine(0, &length);
        file = fopen(argv[1], \"wb\"); fwrite(bytes, 1, length, file); fclose(file); poise_release(bytes, length);";
    let program = build(folder.path(), body);
    let files = ["0.poise", "1.poise"].map(|name| folder.path().join(name));
    let status =
        Command::new(program).args(&files).env("POISE_PROFILE", folder.path().join("x.poise")).status().unwrap();
    assert_eq!(status.code(), Some(3));
    let [first, second] = files.map(|file| Profile::read(&file).unwrap());
    let blocks = |profile: &Profile, path: &[&str]| value(profile, path, Metric::BasicBlocks);
    assert_eq!(blocks(&first, &["main", "a"]), Some(5 + 7 + 3));
    assert_eq!(blocks(&first, &["main", "a", "MPI_Send"]), Some(1000));
    assert_eq!(value(&first, &["main", "a"], Metric::Visits), Some(1 + 2 + 1));
    assert_eq!(first.nodes.len(), 3);
    assert_eq!(blocks(&second, &["b"]), Some(300));
    assert_eq!(value(&second, &["b"], Metric::Visits), Some(1 + 20));
    assert_eq!(second.nodes.len(), 1);
    // The profile of the process is the caller's to write.
    assert!(!folder.path().join("x.poise").exists());
}

/// Inlined functions count below the current call path, are no visits and have no time, and calls in them go below them.
#[test]
fn inlined_functions_are_below_the_function_they_are_in() {
    let (_, profile) = run("static const struct poise_region G = {\"g\", \"g.c\", 2, POISE_INLINED}, H = {\"h\", 0, 0, POISE_INLINED};
        static const struct poise_inlined g = {0, &G}, h = {&g, &H};
        for (int i = 0; i < 4; i++) {
            poise_thread.blocks += 3; poise_inlined(&g, 10); poise_inlined(&h, 100); poise_thread.blocks += 2;
            poise_site = &h; void *a = poise_enter(&A); poise_thread.blocks += 1000;
            // Control comes back here by another way than a return, from a callee.
            void *here = poise_here(); poise_enter(&B); poise_thread.blocks += 7; poise_return_to(here); poise_thread.blocks += 1;
            poise_leave(a);
            // What the same call of a library calls back is below it too; what the function itself calls is not.
            void *back = poise_enter(&B); poise_leave(back);
            poise_site = 0; void *s = poise_enter(&S); poise_leave(s);
            poise_site = &g; poise_return_to(poise_here()); void *b = poise_enter(&B); poise_leave(b); }");
    let profile = profile.unwrap();
    let value = |path: &[&str], metric| value(&profile, path, metric);
    assert_eq!(value(&["main"], Metric::BasicBlocks), Some(20));
    assert_eq!(value(&["main"], Metric::CompiledBlocks), Some(20 + 440));
    assert_eq!(value(&["main", "g"], Metric::BasicBlocks), Some(40));
    assert_eq!(value(&["main", "g", "h"], Metric::BasicBlocks), Some(400));
    assert_eq!(value(&["main", "g", "h"], Metric::CompiledBlocks), None);
    assert_eq!(value(&["main", "g", "h"], Metric::Visits), None);
    assert_eq!(value(&["main", "g"], Metric::Time), None);
    assert_eq!(value(&["main", "g", "h", "a"], Metric::BasicBlocks), Some(4 * 1001));
    assert_eq!(value(&["main", "g", "h", "a"], Metric::Visits), Some(4));
    assert_eq!(value(&["main", "g", "h", "a", "b"], Metric::BasicBlocks), Some(28));
    assert_eq!(value(&["main", "g", "h", "b"], Metric::Visits), Some(4));
    assert_eq!(value(&["main", "MPI_Send"], Metric::Visits), Some(4));
    assert_eq!(value(&["main", "b"], Metric::Visits), Some(4));
    assert_eq!(profile.nodes.len(), 8);
}

/// Polling in an inlined function is no effort of it either.
#[test]
fn inlined_functions_poll() {
    let (_, profile) = run("struct poise_stamp s;
        static const struct poise_region G = {\"g\", 0, 0, POISE_INLINED};
        static const struct poise_inlined g = {0, &G};
        for (int i = 0; i < 5; i++) {
            poise_inlined(&g, 30);
            poise_site = &g; void *t = poise_enter(&S); poise_call_begins(1, &s); poise_call_proceeds(); poise_call_ends();
            poise_tested_in_vain(&s); poise_call_leaves(t, 1); }");
    let profile = profile.unwrap();
    assert_eq!(value(&profile, &["main", "g"], Metric::BasicBlocks), Some(30));
    assert_eq!(value(&profile, &["main", "g"], Metric::PollingBlocks), Some(4 * 30));
    assert_eq!(value(&profile, &["main", "g", "MPI_Send"], Metric::Visits), Some(5));
}

#[test]
fn messages_add_up_and_the_largest_communicator_stays() {
    let (_, profile) = run("for (int i = 1; i < 4; i++) {
        void *s = poise_enter(&S); poise_mpi_moved(i, 10 * i, 8 / i); poise_leave(s); }");
    let profile = profile.unwrap();
    let send = |metric| value(&profile, &["main", "MPI_Send"], metric);
    assert_eq!(send(Metric::BytesSent), Some(6));
    assert_eq!(send(Metric::BytesReceived), Some(60));
    assert_eq!(send(Metric::CommSize), Some(8));
    assert_eq!(send(Metric::Visits), Some(3));
}

/// What lies between tests without success is polling, in whatever call path; what another operation follows is work.
#[test]
fn blocks_between_tests_in_vain_are_no_effort() {
    let (_, profile) = run("struct poise_stamp s;
        for (int i = 0; i < 5; i++) {
            poise_thread.blocks += 3;
            void *a = poise_enter(&A); poise_thread.blocks += 20; poise_leave(a);
            void *t = poise_enter(&S); poise_call_begins(i < 4, &s); poise_call_proceeds(); poise_call_ends();
            if (i != 1) poise_tested_in_vain(&s);
            poise_call_leaves(t, 1); }
        poise_thread.blocks += 100;");
    let profile = profile.unwrap();
    // Of five rounds the second follows a test in vain, so does the fourth; the last round ends in no test.
    let value = |path: &[&str], metric| value(&profile, path, metric);
    assert_eq!(value(&["main"], Metric::BasicBlocks), Some(3 * 3 + 100));
    assert_eq!(value(&["main"], Metric::PollingBlocks), Some(2 * 3));
    assert_eq!(value(&["main", "a"], Metric::BasicBlocks), Some(3 * 20));
    assert_eq!(value(&["main", "a"], Metric::PollingBlocks), Some(2 * 20));
    assert_eq!(value(&["main", "MPI_Send"], Metric::LogicalWait), None);
}

/// All time of polling is waiting: that of the tests, what lies between them, and what the shim does after a test that another follows. After the last that is
/// nobody's, as after any operation with long bookkeeping.
#[test]
fn all_time_of_polling_is_waiting() {
    let (output, profile) = run("struct poise_stamp s; struct timespec begin, end;
        static const struct poise_region R = {\"MPI_Recv\", 0, 0, POISE_MPI};
        poise_measure_waiting();
        for (int outside = 0; outside < 2; outside++) {
            if (outside) poise_leave(main_token);
            clock_gettime(CLOCK_MONOTONIC, &begin);
            for (int i = 0; i < 3; i++) {
                if (i) { usleep(10000); poise_thread.blocks += 5; }
                void *t = poise_enter(&S); poise_call_begins(1, &s); poise_call_ends();
                poise_tested_in_vain(&s); usleep(20000); poise_call_leaves(t, 1); }
            void *t = poise_enter(&R); poise_call_begins(0, &s); poise_call_ends(); poise_call_leaves(t, 1);
            clock_gettime(CLOCK_MONOTONIC, &end);
            printf(\"%f \", 1e3 * (end.tv_sec - begin.tv_sec) + 1e-6 * (end.tv_nsec - begin.tv_nsec)); }
        main_token = poise_enter(&M);");
    let profile = profile.unwrap();
    let milliseconds = |path: &[&str], metric| value(&profile, path, metric).map_or(0.0, |value| value as f64 * 1e-6);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let whole = printed.split_whitespace().map(|whole| whole.parse::<f64>().unwrap());
    for ((between, test), whole) in
        [(["main"], &["main", "MPI_Send"][..]), (["(outside MPI)"], &["MPI_Send"])].iter().zip(whole)
    {
        let [time, waited] = [Metric::Time, Metric::WaitTime].map(|metric| milliseconds(test, metric));
        assert!(waited >= 40.0 && (time - waited).abs() < 0.01, "{waited} of {time} ms at {test:?}: {printed}");
        let polled = milliseconds(between, Metric::WaitTime);
        assert!(polled >= 20.0 && polled <= milliseconds(between, Metric::Time), "{polled} at {between:?}: {printed}");
        assert!(waited + polled <= whole - 20.0, "{waited} and {polled} of {whole} ms at {between:?}");
    }
    assert_eq!(value(&profile, &["(outside all regions)"], Metric::PollingBlocks), Some(10));
}

/// By hand: blocks and costs set the clock ahead, polling does not, and the later moment wins.
#[test]
fn the_logical_clock_takes_the_maximum() {
    let (output, profile) = run("struct poise_stamp s, other = {0, 0};
        poise_measure_waiting();
        unsigned long clocks[4];
        for (int i = 0; i < 4; i++) {
            poise_thread.blocks += 10;
            void *t = poise_enter(&S); poise_call_begins(i == 1, &s); poise_call_proceeds(); usleep(1000); poise_call_ends();
            clocks[i] = s.clock; other.clock = i == 3 ? 5 : 100; other.time = i == 2 ? ~0ull : 0;
            if (i == 0) poise_tested_in_vain(&s); else poise_awaited(&s, &other, 7, 1);
            poise_call_leaves(t, 1); }
        printf(\"%lu %lu %lu %lu\", clocks[0], clocks[1], clocks[2], clocks[3]);");
    // 10; 10 more are polling; at 10 the other shows 100 and 7 follow; 117, the other's 100 is past; 134.
    assert_eq!(String::from_utf8_lossy(&output.stdout), "10 10 117 134");
    let profile = profile.unwrap();
    assert_eq!(value(&profile, &["main", "MPI_Send"], Metric::LogicalWait), Some(90));
    // The test in vain and the third operation, each of at least a millisecond, and never more than the time.
    let of = |metric| value(&profile, &["main", "MPI_Send"], metric).unwrap();
    assert!(of(Metric::WaitTime) >= 2_000_000 && of(Metric::WaitTime) < of(Metric::Time));
    assert!(value(&profile, &["main"], Metric::WaitTime).is_some());
}

#[test]
fn threads_join_by_call_path_and_the_rest_has_a_root() {
    let (_, profile) = run("for (int i = 0; i < 2000; i++) {
            pthread_t t; if (pthread_create(&t, 0, thread, (void *)(i % 2 ? &A : &B)) || pthread_join(t, 0)) return 9; }
        poise_leave(main_token); poise_thread.blocks += 4; main_token = poise_enter(&M);");
    let profile = profile.unwrap();
    assert_eq!(value(&profile, &["main", "a"], Metric::BasicBlocks), Some(7000));
    assert_eq!(value(&profile, &["main", "b"], Metric::Visits), Some(1000));
    assert_eq!(value(&profile, &["(outside all regions)"], Metric::BasicBlocks), Some(4));
}

/// Times are those of a known pause, and exclusive.
#[test]
fn time_is_exclusive_and_in_nanoseconds() {
    let (_, profile) = run("void *a = poise_enter(&A); usleep(50000); void *b = poise_enter(&B); usleep(150000);
        poise_leave(b); poise_leave(a);");
    let profile = profile.unwrap();
    let milliseconds = |path: &[&str]| value(&profile, path, Metric::Time).unwrap() / 1_000_000;
    assert!((50..140).contains(&milliseconds(&["main", "a"])), "{}", milliseconds(&["main", "a"]));
    assert!((150..400).contains(&milliseconds(&["main", "a", "b"])), "{}", milliseconds(&["main", "a", "b"]));
    assert!(milliseconds(&["main"]) < 40);
}

/// What the shim does after an operation is nobody's time where it was long, and the caller's where it was not; never the operation's.
#[test]
fn work_of_the_shim_is_not_the_operations() {
    for (was_long, callers) in [(1, 0..40), (0, 100..290)] {
        let (_, profile) = run(&format!(
            "struct poise_stamp s; void *t = poise_enter(&S); poise_call_begins(0, &s); poise_call_proceeds();
            usleep(50000); poise_call_ends(); usleep(100000); poise_call_leaves(t, {was_long});"
        ));
        let profile = profile.unwrap();
        let milliseconds = |path: &[&str]| value(&profile, path, Metric::Time).unwrap() / 1_000_000;
        assert!((50..99).contains(&milliseconds(&["main", "MPI_Send"])), "{}", milliseconds(&["main", "MPI_Send"]));
        assert!(callers.contains(&milliseconds(&["main"])), "{} where {was_long}", milliseconds(&["main"]));
    }
}

#[test]
fn a_taken_profile_is_not_written_and_has_the_rank() {
    let (output, profile) = run("poise_claim_output(); size_t length; poise_thread.blocks += 2;
        uint8_t *bytes = poise_take_profile(5, &length);
        FILE *file = fopen(argv[1], \"wb\"); fwrite(bytes, 1, length, file); fclose(file); poise_release(bytes, length);");
    let profile = profile.unwrap();
    assert!(output.stderr.is_empty());
    let main = profile.values[&(0, Metric::BasicBlocks)];
    assert_eq!((main.sum, main.minimum, main.ranks), (2, (2, 5), 1));
}

#[test]
fn a_claimed_profile_that_nobody_takes_is_one_line() {
    let (output, profile) = run("poise_claim_output();");
    assert!(profile.is_none());
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(output.stderr, b"poise: MPI_Finalize was never reached; this run has no profile; POISE_CHECKPOINT would have saved what there was.\n");
}

/// Of several processes that measure into one file the first is kept, and a marker says that there were more.
#[test]
fn a_second_process_leaves_a_marker() {
    let folder = tempfile::tempdir().unwrap();
    let (path, marker) = (folder.path().join("x.poise"), folder.path().join("x.poise.conflict"));
    let program = build(folder.path(), "poise_thread.blocks += argc;");
    let run = |arguments: &[&str]| {
        let output = Command::new(&program).args(arguments).env("POISE_PROFILE", &path).output().unwrap();
        assert_eq!(output.status.code(), Some(3));
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(run(&[]), "");
    assert!(!marker.exists());
    let said = run(&["more"]);
    assert_eq!(said, format!("poise: {}", std::fs::read_to_string(&marker).unwrap()));
    assert!(said.contains("there is a file already") && said.lines().count() == 1, "{said}");
    std::fs::write(&marker, "first").unwrap();
    run(&["more", "still"]);
    assert_eq!(std::fs::read(&marker).unwrap(), b"first");
    assert_eq!(value(&Profile::read(&path).unwrap(), &["main"], Metric::BasicBlocks), Some(1));
}

#[test]
fn everything_is_inert_unless_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let body = "if (main_token || poise_active() || poise_output_path()) return 9;
        size_t length; if (poise_take_profile(0, &length)) return 8; poise_mpi_moved(1, 2, 3); poise_resume(0, &A);";
    let output = Command::new(build(folder.path(), body)).env_remove("POISE_PROFILE").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(output.stderr.is_empty());
}

/// A million call paths of one thread stay within 200 bytes each.
#[test]
fn a_million_call_paths_fit() {
    let (output, profile) = run("enum { N = 1000 }; struct poise_region *r = calloc(2 * N, sizeof *r);
        for (int i = 0; i < 2 * N; i++) { char *n = malloc(8); sprintf(n, \"r%d\", i); r[i].name = n; }
        void *before = sbrk(0);
        for (int round = 0; round < 2; round++)
            for (int i = 0; i < N; i++) { void *a = poise_enter(&r[i]);
                for (int j = 0; j < N; j++) poise_leave(poise_enter(&r[N + j]));
                poise_leave(a); }
        printf(\"%ld\\n\", (long)((char *)sbrk(0) - (char *)before));");
    let profile = profile.unwrap();
    assert_eq!(profile.nodes.len(), 1_001_001);
    assert_eq!(value(&profile, &["main", "r7"], Metric::Visits), Some(2));
    let bytes: u64 = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap();
    assert!(bytes > 50_000_000 && bytes < 200_000_000, "{bytes}");
}

/// What a full tree has no call path for counts for the caller: nothing is lost, and a line says so. Links, by which recursion folds, fill
/// the tree here, since they are in no profile.
#[test]
fn a_full_tree_counts_for_callers() {
    let (output, profile) = run("enum { N = 800, D = 100 }; struct poise_region *r = calloc(N + D + 1, sizeof *r);
        for (int i = 0; i <= N + D; i++) { char *n = malloc(8); sprintf(n, \"r%d\", i); r[i].name = n; }
        for (int i = 0; i < N; i++) { void *a = poise_enter(&r[i]);
            for (int k = 0; k < D; k++) { poise_enter(&r[N + k]);
                for (int j = 0; j < k; j++) poise_leave(poise_enter(&r[N + j])); }
            poise_leave(a); }
        for (int i = 0; i < 7; i++) { void *late = poise_enter(&r[N + D]); poise_thread.blocks += 11; poise_leave(late); }");
    assert_eq!(output.status.code(), Some(3));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.starts_with("poise: a thread has more call paths than fit") && told.lines().count() == 1, "{told}");
    let profile = profile.unwrap();
    assert_eq!(profile.metadata["call_paths_left_out"], "yes");
    assert_eq!(value(&profile, &["main"], Metric::BasicBlocks), Some(7 * 11));
    assert!(profile.regions.iter().all(|region| region.name != "r900"));
    let visits = profile.values.iter().filter(|((_, metric), _)| *metric == Metric::Visits);
    let (chains, deep) = (800, 100);
    assert_eq!(visits.map(|(_, v)| v.sum).sum::<u128>(), 1 + chains * (1 + deep + deep * (deep - 1) / 2) + 7);
}

/// The thread that writes checkpoints begins with the first region: a shell or launcher that is preloaded has none.
#[test]
fn a_process_that_enters_nothing_has_one_thread() {
    let folder = tempfile::tempdir().unwrap();
    let threads = |command: &mut Command| {
        command.env("POISE_PROFILE", folder.path().join("x.poise")).env("POISE_CHECKPOINT", "3600");
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let library = std::env::current_exe().unwrap().parent().unwrap().join("libpoise_runtime.so");
    assert!(library.exists());
    let mut grep = Command::new("grep");
    grep.args(["^Threads:", "/proc/self/status"]).env("LD_PRELOAD", library);
    assert_eq!(threads(&mut grep), "Threads:\t1\n");
    let body = "char line[99]; FILE *f = fopen(\"/proc/self/status\", \"r\");
        while (fgets(line, 99, f)) { if (line[0] == 'T' && line[1] == 'h') fputs(line, stdout); }";
    assert_eq!(threads(&mut Command::new(build(folder.path(), body))), "Threads:\t2\n");
}

/// What a process of an earlier run said late does not keep this run's word back; what this run has said does.
#[test]
fn who_dies_is_heard_beside_what_an_earlier_run_said() {
    use std::time::{SystemTime, UNIX_EPOCH};
    let folder = tempfile::tempdir().unwrap();
    let (path, marker) = (folder.path().join("x.poise"), folder.path().join("x.poise.failed"));
    // A sanitizer's library calls back when it ends the process.
    let body = "FILE *said = fopen(argv[1], \"w\"); fputs(\"said\\n\", said); fclose(said);
        struct timespec times[2] = {{atol(argv[2])}, {atol(argv[2])}}; utimensat(AT_FDCWD, argv[1], times, 0);
        dies(); _exit(3);";
    let callback = "#define _GNU_SOURCE\n#include <fcntl.h>\n#include <sys/stat.h>\nstatic void (*dies)(void);\n\
                    void __sanitizer_set_death_callback(void (*callback)(void)) { dies = callback; }\n";
    let program = build_with(folder.path(), callback, body);
    let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let said = |written: u64| {
        let mut command = Command::new(&program);
        command.arg(&marker).arg(written.to_string()).env("POISE_PROFILE", &path);
        let output = command.env("POISE_BEGAN", began.as_nanos().to_string()).output().unwrap();
        let file = std::fs::read_to_string(&marker).unwrap();
        std::fs::remove_file(&marker).unwrap();
        (String::from_utf8(output.stderr).unwrap(), file)
    };
    let (line, file) = said(began.as_secs() - 10);
    assert!(line.starts_with("poise: the program was ended by its sanitizer; this run has no profile"), "{line}");
    assert_eq!(format!("poise: {file}"), line);
    assert_eq!(said(began.as_secs() + 10), (String::new(), "said\n".into()));
}
