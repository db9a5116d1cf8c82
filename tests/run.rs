//! `poise run` on real MPI programs: profiles, records, and every way a run can go wrong.

mod common;

use std::time::{Duration, Instant};

use common::{World, kernel_tells_how_processes_ended, outcome};
use poise_profile::{Metric, Profile};

/// A world with tests/programs/sums.c compiled as `sums`.
fn with_sums() -> World {
    let world = World::new();
    world.compile("mpicc.openmpi", "sums.c", "sums");
    world
}

const MPIRUN: [&str; 4] = ["mpirun.openmpi", "--oversubscribe", "-n", "3"];

fn run<'a>(before: &[&'a str], program: &[&'a str]) -> Vec<&'a str> {
    [&["run"], before, &["--"], &MPIRUN, program].concat()
}

/// Values of a metric at the call path with these names: sum, smallest and largest over ranks.
fn over_ranks(profile: &Profile, path: &[&str], metric: Metric) -> (u128, u64, u64) {
    let named = |node: u32| {
        let mut names = Vec::new();
        let mut next = Some(node);
        while let Some(n) = next {
            let node = profile.nodes[n as usize];
            names.push(profile.regions[node.region as usize].name.as_str());
            next = node.parent;
        }
        names.reverse();
        names
    };
    let node = (0..profile.nodes.len() as u32).find(|&n| named(n) == path);
    let node = node.unwrap_or_else(|| panic!("{path:?} is not in the profile"));
    let value = profile.values[&(node, metric)];
    (value.sum, value.minimum.0, value.maximum.0)
}

#[test]
fn one_program_measured_once_leaves_its_exact_effort() {
    let world = with_sums();
    let plain = world.command(MPIRUN[0], [&MPIRUN[1..], &["./sums", "1000"]].concat()).output().unwrap();
    let measured = world.poise(run(&["-o", "once", "--param", "n=1000"], &["./sums", "1000"])).status(0);
    assert_eq!(measured.stdout.as_bytes(), plain.stdout, "the program's own output is unchanged");

    let profile = Profile::read(world.path("once/profile.poise")).unwrap();
    assert_eq!(profile.ranks, 3);
    assert_eq!(profile.metadata["parameter.n"], "1000");
    let allreduce = ["main", "MPI_Allreduce"];
    assert_eq!(over_ranks(&profile, &allreduce, Metric::Visits), (3, 1, 1));
    assert_eq!(over_ranks(&profile, &allreduce, Metric::BytesSent).2, 24, "3 doubles of 8 bytes");
    assert_eq!(over_ranks(&profile, &allreduce, Metric::CommSize), (9, 3, 3));

    // One more iteration costs the same number of blocks on every rank, whatever the compiler made of the loop.
    world.poise(run(&["-o", "more"], &["./sums", "3000"])).status(0);
    let more = Profile::read(world.path("more/profile.poise")).unwrap();
    let blocks = |p: &Profile| over_ranks(p, &["main", "add_up"], Metric::BasicBlocks);
    let (few, many) = (blocks(&profile), blocks(&more));
    assert_eq!(few.1, few.2, "every rank does the same");
    let per_iteration = (many.1 - few.1) / 2000;
    assert!(per_iteration >= 1 && (many.1 - few.1) % 2000 == 0, "{few:?} {many:?}");
    assert!(few.1 - 1000 * per_iteration < 10, "beside the loop there is next to nothing: {few:?}");

    let record = world.json("once/run.json");
    assert_eq!(record["status"], "complete");
    assert_eq!(record["parameters"]["n"], 1000.0);
    assert_eq!(record["command"][4], "./sums");
}

#[test]
fn a_second_run_is_counted_the_same_and_never_overwrites_the_first() {
    let world = with_sums();
    for folder in ["a", "b"] {
        world.poise(run(&["-o", folder], &["./sums", "500"])).status(0);
    }
    let effort = |folder: &str| {
        let profile = Profile::read(world.path(folder).join("profile.poise")).unwrap();
        profile.values.into_iter().filter(|((_, metric), _)| *metric != Metric::Time).collect::<Vec<_>>()
    };
    assert_eq!(effort("a"), effort("b"));
    let refused = world.poise(run(&["-o", "a"], &["./sums", "500"])).status(2);
    assert!(refused.stderr.contains("never overwritten"), "{}", refused.stderr);
}

#[test]
fn misfortunes_are_told_apart_recorded_and_forwarded() {
    let world = with_sums();
    let cases: [(&str, i32, &str); 2] = [("crash", 134, "status 134"), ("fail", 7, "status 7")];
    for (misfortune, status, reason) in cases {
        let ended = world.poise(run(&["-o", misfortune], &["./sums", "10", misfortune])).status(status);
        assert!(ended.stderr.contains(reason), "{misfortune}: {}", ended.stderr);
        let record = world.json(&format!("{misfortune}/run.json"));
        assert_eq!(record["status"], "failed");
        assert!(record["reason"].as_str().unwrap().contains(reason), "{record}");
    }
    assert!(!world.path("crash/profile.poise").exists());
    // MPI_Finalize was reached, so what was measured is kept although the program calls itself failed.
    assert_eq!(world.json("fail/run.json")["profile"], "profile.poise");
}

#[test]
fn a_program_that_never_calls_finalize_leaves_a_clear_trace() {
    let world = with_sums();
    // Into a file, since Open MPI loses what is printed by ranks that leave so, now and then.
    let script = "exec ./sums 10 leave >> left.txt";
    world.poise(run(&["-o", "left"], &["sh", "-c", script]));
    assert!(world.read("left.txt").contains("from 3 ranks"));
    let record = world.json("left/run.json");
    assert_eq!((&record["status"], &record["profile"]), (&"failed".into(), &serde_json::Value::Null));
    assert_eq!(world.names("left"), ["run.json"]);
}

#[test]
fn what_was_not_measured_is_told_and_makes_way_for_the_next_attempt() {
    let world = with_sums();
    let plain = world.poise(["run", "-o", "once", "--", "true"]).status(0);
    assert!(plain.stderr.contains("was not measured, since it left no profile"), "{}", plain.stderr);
    assert!(plain.stderr.contains("failed run is in once; the next run there takes its place"), "{}", plain.stderr);
    // What died says nothing itself.
    let died = world.poise(["run", "-o", "once", "--", "sh", "-c", "kill -9 $$"]).status(137);
    assert!(died.stderr.contains("Nothing was saved; of a measured program POISE_CHECKPOINT"), "{}", died.stderr);
    assert!(!plain.stderr.contains("Nothing was saved"), "{}", plain.stderr);
    world.poise(["run", "-o", "once", "--", "false"]).status(1);
    world.poise(run(&["-o", "once"], &["./sums", "10"])).status(0);
    assert_eq!(world.json("once/run.json")["status"], "complete");
    world.poise(["run", "-o", "once", "--", "true"]).status(2);
    // Measured and failed: it stays.
    let failed = world.poise(run(&["-o", "failed"], &["./sums", "10", "fail"])).status(7);
    assert!(failed.stderr.contains("failed run is in failed."), "{}", failed.stderr);
    world.poise(run(&["-o", "failed"], &["./sums", "10"])).status(2);
    // A folder of somebody else's that comes into being while the program runs.
    let foreign = world.poise(["run", "-o", "mine", "--", "sh", "-c", "mkdir mine; echo kept > mine/file"]).status(2);
    assert!(foreign.stderr.contains("has come into being meanwhile"), "{}", foreign.stderr);
    assert_eq!(world.names("mine"), ["file"]);
}

#[test]
fn what_was_measured_stays_whatever_stands_in_its_place() {
    let world = with_sums();
    let script = "mkdir mine && echo kept > mine/file && exec mpirun.openmpi --oversubscribe -n 3 ./sums 10";
    for folder in ["mine.1", "mine.2"] {
        let told = world.poise(["run", "-o", "mine", "--", "sh", "-c", script]).status(2);
        assert!(told.stderr.contains("mine has come into being meanwhile"), "{}", told.stderr);
        assert!(told.stderr.contains(&format!("kept in {}.", world.path(folder).canonicalize().unwrap().display())));
        assert_eq!(world.names("mine"), ["file"]);
        assert_eq!(Profile::read(world.path(folder).join("profile.poise")).unwrap().ranks, 3);
        assert_eq!(world.json(&format!("{folder}/run.json"))["status"], "complete");
        std::fs::remove_dir_all(world.path("mine")).unwrap();
    }
    assert!(world.names(".").iter().all(|name| !name.starts_with('.')), "{:?}", world.names("."));
}

#[test]
fn folders_with_something_of_somebody_elses_do_not_make_way() {
    let world = World::new();
    world.poise(["run", "-o", "out", "--", "false"]).status(1);
    world.write("out/notes.txt", "mine");
    let refused = world.poise(["run", "-o", "out", "--", "touch", "started"]).status(2);
    assert!(refused.stderr.contains("out holds notes.txt, which is not poise's"), "{}", refused.stderr);
    // Another tool's record.
    std::fs::create_dir(world.path("other")).unwrap();
    world.write("other/run.json", "{\"status\": \"failed\"}");
    world.poise(["run", "-o", "other", "--", "touch", "started"]).status(2);
    assert_eq!(world.names("."), ["other", "out"]);
    assert_eq!(
        (world.names("out"), world.names("other")),
        (vec!["notes.txt".into(), "run.json".into()], vec!["run.json".into()])
    );
}

/// Kills a poise that runs `script` once `is_so`, and waits until the script's program, whose command line has `word`, has ended
/// too. The script writes its number into `pid`.
fn killed(world: &World, script: &str, word: &str, is_so: impl Fn() -> bool) {
    let script = format!("echo $$ > pid.new; mv pid.new pid; exec {script}");
    let arguments = ["run", "-o", "once", "--", "sh", "-c", &script];
    let mut child = world.command(env!("CARGO_BIN_EXE_poise"), arguments).spawn().unwrap();
    let begun = Instant::now();
    let wait = |is_so: &dyn Fn() -> bool| {
        while !is_so() {
            assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", world.names("."));
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    wait(&is_so);
    child.kill().unwrap();
    child.wait().unwrap();
    let program = format!("/proc/{}/cmdline", world.read("pid").trim());
    wait(&|| !std::fs::read_to_string(&program).is_ok_and(|line| line.contains(word)));
}

/// Where poise itself is killed, its program's checkpoints are all that is left.
#[test]
fn the_checkpoints_of_a_killed_poise_are_kept_by_the_next() {
    let mut world = World::new();
    let text = "static volatile int sum;
        __attribute__((noinline)) static void work(int n) { for (int i = 0; i < n; i++) sum = i; }
        int main(void) { for (;;) work(100000); }";
    world.write("spin.c", text);
    world.poise(["cc", "-O1", "spin.c", "-o", "spin"]).status(0);
    world.set("POISE_CHECKPOINT", "0.05");
    let unfinished = || world.names(".").into_iter().find(|name| name.starts_with(".once-"));
    let is_kept = || unfinished().is_some_and(|name| world.path(&name).join("profile.poise.checkpoint").exists());
    killed(&world, "./spin", "spin", is_kept);
    let next = world.poise(["run", "-o", "once", "--", "true"]).status(0);
    assert!(
        next.stderr.contains("killed-run.1 holds what a run had measured whose poise was killed"),
        "{}",
        next.stderr
    );
    assert_eq!(next.stderr.matches("killed-run.1").count(), 2, "{}", next.stderr);
    let partial = Profile::read(world.path("killed-run.1/partial.poise")).unwrap();
    assert!(partial.metadata.contains_key("partial"));
    let (visits, ..) = over_ranks(&partial, &["main", "work"], Metric::Visits);
    assert!(visits >= 1);
    let table = world.poise(["export", "killed-run.1/partial.poise", "--to", "csv"]).status(0);
    assert!(table.stdout.contains("work"), "{}", table.stdout);
    // It is told once.
    let later = world.poise(["run", "-o", "once", "--", "true"]).status(0);
    assert!(!later.stderr.contains("killed"), "{}", later.stderr);
    assert_eq!(world.names("."), ["killed-run.1", "once", "pid", "spin", "spin.c"]);
}

#[test]
fn what_a_killed_poise_was_running_ends_and_the_next_removes_its_folder() {
    let world = World::new();
    killed(&world, "sleep 4713", "4713", || world.path("pid").exists());
    assert!(world.names(".").iter().any(|name| name.starts_with(".once-")), "{:?}", world.names("."));
    let next = world.poise(["run", "-o", "once", "--", "true"]).status(0);
    assert!(next.stderr.contains("which a poise that was killed had left"), "{}", next.stderr);
    assert_eq!(world.names("."), ["once", "pid"]);
}

#[test]
fn an_interrupted_run_leaves_nothing() {
    let world = with_sums();
    let mut child =
        world.command(env!("CARGO_BIN_EXE_poise"), run(&["-o", "folder"], &["./sums", "10", "hang"])).spawn().unwrap();
    let begun = Instant::now();
    while world.names(".").iter().all(|name| !name.starts_with(".once-")) {
        assert!(begun.elapsed() < Duration::from_secs(30), "the run never began");
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(500));
    let pid = child.id().to_string();
    // The shell's own kill, since the program of that name is in a package that need not be there.
    assert!(world.command("sh", ["-c", &format!("kill -TERM {pid}")]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(128 + 15));
    assert_eq!(world.names("."), ["sums"], "no half-written folder is left");
}

const STUDY: &str = r#"
command = ["mpirun.openmpi", "--oversubscribe", "-n", "{p}", "./sums", "{n}"]
repetitions = 2
time_limit = 60
[parameters]
p = [1, 2]
n = [100, 200]
"#;

#[test]
fn a_study_runs_every_point_once_and_only_what_is_missing_the_next_time() {
    let world = with_sums();
    world.write("scaling.toml", STUDY);
    let dry = world.poise(["run", "scaling.toml", "--dry-run", "-q"]).status(0);
    assert_eq!(dry.stdout.lines().count(), 4);
    let first = world.poise(["run", "scaling.toml"]).status(0);
    assert!(first.stdout.contains("8 runs are complete"), "{}", first.stdout);
    let runs = world.names("scaling.runs");
    assert_eq!(runs.len(), 8);
    assert!(runs.contains(&"p2.n200.r2".to_owned()), "{runs:?}");

    std::fs::remove_dir_all(world.path("scaling.runs/p2.n200.r2")).unwrap();
    let second = world.poise(["run", "scaling.toml"]).status(0);
    assert!(second.stdout.contains("7 of them from an earlier call"), "{}", second.stdout);
    assert_eq!(world.names("scaling.runs"), runs);
}

#[test]
fn a_point_that_fails_costs_no_other_point() {
    let world = with_sums();
    let script = "test $0 -ne 2 || { echo no two >&2; exit 3; }; exec mpirun.openmpi --oversubscribe -n $0 ./sums 10";
    world.write(
        "s.toml",
        &format!("command = [\"sh\", \"-c\", \"{script}\", \"{{p}}\"]\n[parameters]\np = [1, 2, 3]\n"),
    );
    let failed = world.poise(["run", "s.toml"]).status(5);
    let told = "p2.r1 failed. It ended with status 3. Nothing was saved; of a measured program POISE_CHECKPOINT keeps what there is from \
                its first checkpoint on. It said last: \"no two\"";
    assert!(failed.stderr.contains(told), "{}", failed.stderr);
    assert!(failed.stdout.contains("2 runs are complete"), "{}", failed.stdout);
    assert!(failed.stdout.contains("needs 4 points at least, and this study has 3"), "{}", failed.stdout);
    let statuses =
        ["p1.r1", "p2.r1", "p3.r1"].map(|run| world.json(&format!("s.runs/{run}/run.json"))["status"].clone());
    assert_eq!(statuses, ["complete", "failed", "complete"]);
}

#[test]
fn results_of_another_study_or_of_somebody_else_are_left_alone() {
    let world = with_sums();
    world.write("s.toml", STUDY);
    world.poise(["run", "s.toml", "-o", "results"]).status(0);
    world.write("s.toml", &STUDY.replace("\"{n}\"]", "\"{n}\", \"other\"]"));
    let other = world.poise(["run", "s.toml", "-o", "results"]).status(2);
    assert!(other.stderr.contains("measured by another study"), "{}", other.stderr);

    std::fs::create_dir(world.path("photos")).unwrap();
    world.write("photos/cat.png", "");
    let foreign = world.poise(["run", "s.toml", "-o", "photos"]).status(2);
    assert!(foreign.stderr.contains("something else than runs"), "{}", foreign.stderr);
    assert_eq!(world.names("photos"), ["cat.png"]);
    // Nor does an empty folder, the results of another study or a single run among them make them ours.
    std::fs::create_dir(world.path("photos/empty")).unwrap();
    for ours in ["results", "once"] {
        world.poise(["run", "s.toml", "-o", "photos"]).status(2);
        std::fs::create_dir_all(world.path(&format!("photos/{ours}/p2.n10.r1"))).unwrap();
        world.write(&format!("photos/{ours}/p2.n10.r1/run.json"), "{}");
        world.write(&format!("photos/{ours}/run.json"), "{}");
    }
    world.poise(["run", "s.toml", "-o", "photos"]).status(2);
    assert_eq!(world.names("photos"), ["cat.png", "empty", "once", "results"]);
    // Single runs that were killed leave something in whatever folder they are started in.
    for left in [".once-0-1-2-x", "killed-run.1"] {
        std::fs::create_dir(world.path(&format!("photos/{left}"))).unwrap();
        world.write(&format!("photos/{left}/profile.poise"), "");
    }
    world.write("photos/selection.json", "{\"schema\": \"photos\"}");
    world.poise(["run", "s.toml", "-o", "photos"]).status(2);

    // What only a study leaves.
    for (ours, left, text) in [
        ("killed", "killed-run.1/stdout.txt", ""),
        ("selected", "selection.json", "{\"schema\": \"counterpoise/selection\", \"schema_version\": 1}"),
    ] {
        std::fs::create_dir_all(world.path(ours).join(left).parent().unwrap()).unwrap();
        world.write(&format!("{ours}/{left}"), text);
        world.poise(["run", "s.toml", "-o", ours]).status(0);
    }
}

#[test]
fn what_is_in_the_way_of_a_run_is_told_before_any_is_made() {
    let world = World::new();
    world.write(
        "s.toml",
        "command = [\"sh\", \"-c\", \"echo $0 >> ran\", \"{n}\"]\ncollect = \"elapsed\"\n[parameters]\nn = [1, 2, 3]\n",
    );
    world.poise(["run", "s.toml"]).status(0);
    for run in ["n1.r1", "n2.r1"] {
        std::fs::remove_dir_all(world.path(&format!("s.runs/{run}"))).unwrap();
    }
    std::fs::create_dir(world.path("s.runs/n1.r1")).unwrap();
    for record in ["", "{\"schema\": \"coun"] {
        world.write("s.runs/n1.r1/run.json", record);
        let told = world.poise(["run", "s.toml"]).status(2).stderr;
        assert!(told.contains("s.runs/n1.r1 has the name of a run and is none"), "{told}");
        assert_eq!(world.read("ran").lines().count(), 3, "the other missing run was not made, either");
        assert_eq!(world.read("s.runs/n1.r1/run.json"), record);
    }
    std::fs::remove_dir_all(world.path("s.runs/n1.r1")).unwrap();
    world.poise(["run", "s.toml"]).status(0);
    assert_eq!(world.read("ran").lines().count(), 5);
}

#[test]
fn a_failed_run_is_tried_again_and_its_processes_are_all_ended() {
    let world = World::new();
    let study =
        "command = [\"sh\", \"-c\", \"sleep 4711 & sleep 4711; echo {n}\"]\ntime_limit = 1\n[parameters]\nn = [1]\n";
    world.write("s.toml", study);
    for _ in 0..2 {
        let late = world.poise(["run", "s.toml"]).status(5);
        assert!(late.stderr.contains("longer than 1 s"), "{}", late.stderr);
        assert_eq!(world.names("s.runs"), ["n1.r1"]);
        let left = std::fs::read_dir("/proc").unwrap().flatten().any(|process| {
            std::fs::read(process.path().join("cmdline")).is_ok_and(|line| line == b"sleep\x004711\x00")
        });
        assert!(!left, "no process of the run is left");
    }
}

#[test]
fn a_closed_pipe_and_unreadable_variables_are_no_defects() {
    use std::os::unix::ffi::OsStrExt;
    let world = with_sums();
    world.write("s.toml", STUDY);
    let poise = env!("CARGO_BIN_EXE_poise");
    let script =
        format!("set -o pipefail; {poise} run s.toml --dry-run | true; {poise} run s.toml --dry-run > /dev/full");
    let ended = outcome(world.command("bash", ["-c", &script]).output().unwrap());
    assert!(!ended.stderr.contains("panic"), "{}", ended.stderr);
    assert_eq!(ended.status, Some(2), "{}", ended.stderr);

    let mut command = world.command(poise, run(&["-o", "odd"], &["./sums", "10"]));
    let output = command.env("ODD", std::ffi::OsStr::from_bytes(b"\xff")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(world.json("odd/run.json")["status"], "complete");
}

#[test]
fn what_cannot_be_started_or_written_is_said_in_one_line() {
    let world = World::new();
    let cases: [(&[&str], &str); 4] = [
        (&["run", "-o", "x", "--", "./no-such-program"], "Cannot start ./no-such-program"),
        (&["run", "-o", "/proc/nowhere/x", "--", "true"], "Cannot write"),
        (&["run"], "required"),
        (&["run", "missing.toml"], "Cannot read missing.toml"),
    ];
    for (arguments, said) in cases {
        let outcome = world.poise(arguments);
        assert!(outcome.stderr.contains(said), "{arguments:?}: {}", outcome.stderr);
        assert!(matches!(outcome.status, Some(2 | 3)), "{arguments:?}: {:?}", outcome.status);
    }
    assert_eq!(world.names("."), Vec::<String>::new(), "nothing half-written is left");
}

/// Two programs of one run would both write the profile: the folder that is named is the one that there is.
#[test]
fn what_is_said_of_a_run_names_its_folder_as_it_is_afterwards() {
    let world = World::new();
    world.write("one.c", "static volatile int sum; int main(void) { for (int i = 0; i < 9; i++) sum = i; return 0; }");
    world.poise(["cc", "-O1", "one.c", "-o", "one"]).status(0);
    let twice = world.poise(["run", "-o", "twice", "--", "sh", "-c", "./one && ./one"]).status(0);
    let told: Vec<_> = twice.stderr.lines().filter(|line| line.contains("would each write the profile")).collect();
    let profile = world.path("twice").canonicalize().unwrap().join("profile.poise");
    assert!(matches!(told[..], [line] if line.contains(&profile.display().to_string())), "{}", twice.stderr);
    assert!(profile.is_file() && !told[0].contains(".once"), "{told:?}");
}

/// A rank that is killed takes the run with it, and the checkpoints of all ranks become one partial profile.
#[test]
fn a_killed_run_leaves_the_checkpoints_of_its_ranks() {
    let mut world = World::new();
    let text = "#include <mpi.h>\n#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <sys/stat.h>\n#include <unistd.h>
        static volatile int sum;
        __attribute__((noinline)) static void work(int n) { for (int i = 0; i < n; i++) sum = i; }
        int main(int argc, char **argv) {
            int rank; MPI_Init(&argc, &argv); MPI_Comm_rank(MPI_COMM_WORLD, &rank);
            char name[4096]; struct stat file; int again = 0; unsigned long first = 0;
            snprintf(name, sizeof name, \"%s.checkpoint.%d\", getenv(\"POISE_PROFILE\"), rank);
            while (!again) {
                work(100000);
                int is_there = stat(name, &file) == 0;
                if (is_there && !first) first = file.st_ino;
                again = is_there && file.st_ino != first;
                MPI_Allreduce(MPI_IN_PLACE, &again, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
            }
            if (argc > 1 && rank == 1 && *argv[1] == 'a') MPI_Abort(MPI_COMM_WORLD, 3);
            if (argc > 1 && rank == 1) kill(getpid(), SIGKILL);
            MPI_Finalize(); return 0; }";
    world.write("killed.c", text);
    world.set("OMPI_CC", &format!("{} cc", env!("CARGO_BIN_EXE_poise")));
    outcome(world.command("mpicc.openmpi", ["-O1", "killed.c", "-o", "killed"]).output().unwrap()).status(0);
    world.set("POISE_CHECKPOINT", "0.05");
    let failed = world.poise(run(&["-o", "killed.run"], &["./killed", "yes"]));
    assert_ne!(failed.status, Some(0));
    assert!(failed.stderr.contains("partial.poise"), "{}", failed.stderr);
    assert!(!world.names("killed.run").iter().any(|name| name.contains("checkpoint") || name == "profile.poise"));
    let partial = Profile::read(world.path("killed.run/partial.poise")).unwrap();
    assert_eq!(partial.ranks, 3);
    assert!(partial.metadata.contains_key("partial"));
    let (visits, smallest, _) = over_ranks(&partial, &["main", "work"], Metric::Visits);
    assert!(visits >= 3 && smallest >= 1);

    // Where ranks can speak, what they say is where that is when the run is over.
    let aborted = world.poise(run(&["-o", "aborted.run"], &["./killed", "abort"]));
    assert_ne!(aborted.status, Some(0));
    let file = world.path("aborted.run").canonicalize().unwrap().join("partial.poise");
    let line = format!(
        "poise: the program called MPI_Abort with 3 on rank 1; this run has no profile; what its ranks had will be in {}.",
        file.display()
    );
    assert_eq!(aborted.stderr.lines().filter(|said| *said == line).count(), 1, "{}", aborted.stderr);
    assert_eq!(Profile::read(file).unwrap().ranks, 3);

    world.poise(run(&["-o", "well"], &["./killed"])).status(0);
    assert!(!world.names("well").iter().any(|name| name.contains("checkpoint") || name.contains("partial")));
}

/// Launchers do not always tell, and a single run's output is not read.
#[test]
fn the_rank_that_ended_first_is_told_of_single_runs_and_of_studies() {
    if !kernel_tells_how_processes_ended() {
        eprintln!("skipped: this kernel does not tell how processes ended");
        return;
    }
    let world = World::new();
    let ways = [
        ("_exit 4", "exit-status", "First, rank 3 ended with status 4."),
        ("SIGSEGV", "rank-killed", "ank 3 was killed by signal 11"),
        ("MPI_Finalize, exit 3", "exit-status", "First, rank 3 ended with status 3."),
    ];
    let quoted: Vec<String> = ways.iter().map(|(how, ..)| format!("\"{how}\"")).collect();
    for (mpi, launcher) in [("openmpi", vec!["mpirun.openmpi", "--oversubscribe"]), ("mpich", vec!["mpiexec.mpich"])] {
        world.compile(&format!("mpicc.{mpi}"), "ends.c", mpi);
        let program = format!("./{mpi}");
        let words = [&launcher[..], &["-n", "4", &program]].concat();
        let command: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        let study =
            format!("command = [{}, \"{{how}}\"]\n[parameters]\nhow = [{}]\n", command.join(", "), quoted.join(", "));
        world.write(&format!("{mpi}.toml"), &study);
        world.poise(["run", &format!("{mpi}.toml")]).status(5);
        let runs = world.names(&format!("{mpi}.runs")).into_iter().filter(|name| name.starts_with("how="));
        let records: Vec<_> = runs.map(|run| world.json(&format!("{mpi}.runs/{run}/r1/run.json"))).collect();
        assert_eq!(records.len(), ways.len());
        for (how, cause, told) in ways {
            let record = records.iter().find(|record| record["factors"]["how"] == how);
            let record = record.unwrap_or_else(|| panic!("{how}: {records:?}"));
            assert_eq!(record["cause"], cause, "{mpi}, {how}: {record}");
            let reason = record["reason"].as_str().unwrap();
            assert!(reason.contains(told), "{mpi}, {how}: {record}");
            let is_saved = how.starts_with("MPI_Finalize");
            assert_eq!(reason.contains("Nothing was saved"), !is_saved, "{mpi}, {how}: {record}");
            let once = world.poise([&["run", "-o", &format!("{mpi} {how}"), "--"], &words[..], &[how]].concat());
            let lines: Vec<&str> = once.stderr.lines().filter(|line| line.starts_with("poise: It ended")).collect();
            assert!(matches!(lines[..], [line] if line.contains(told)), "{mpi}, {how}: {}", once.stderr);
            assert_eq!(lines[0].contains("Nothing was saved"), !is_saved, "{mpi}, {how}: {}", once.stderr);
        }
    }
}
