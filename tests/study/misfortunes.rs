//! Every way in which a point of a study can fail: told apart and named, at no cost to another point.

use std::time::{Duration, Instant};

use crate::common::World;
use crate::{compile, runs, toml_text};

/// Every misfortune is a point of one study; those beside them are complete.
#[test]
fn misfortunes_are_told_apart_and_cost_no_other_point() {
    let world = World::new();
    world.compile("mpicc.openmpi", "sums.c", "sums");
    compile(&world, "hog");
    let mpirun = "exec mpirun.openmpi --oversubscribe -n 2 ./sums 10";
    let cases = [
        ("fine", mpirun, "", ""),
        ("refused", "exec mpirun.openmpi -n 4000 --nooversubscribe ./sums 10", "too-many-ranks", "no room"),
        ("memory", "ulimit -v 200000; exec ./hog 9999", "out-of-memory", "not enough memory"),
        ("signal", "kill -SEGV $$", "signal", "11 (SIGSEGV)"),
        (
            "rank",
            "exec mpirun.openmpi --oversubscribe -n 2 sh -c 'test $OMPI_COMM_WORLD_RANK -eq 0 && exec sleep 60; sleep 1; kill -KILL $$'",
            "rank-killed",
            "Rank 1 was killed by signal 9",
        ),
        ("launcher", "exec mpirun.openmpi --timeout 1 -n 1 sleep 60", "killed-by-launcher", "The launcher ended it"),
        ("silent", "true", "prints-nothing", "printed nothing and left no profile"),
        ("chatty", "echo hello", "no-profile", "left no profile"),
        ("forks", "setsid sleep 4713 & echo", "left-children", "ran on and were ended: sleep"),
        ("nameless", "env -i sleep 4713 & echo", "left-children", "ran on and were ended: sleep"),
        (
            "kept",
            "exec mpirun.openmpi --oversubscribe -n 2 sh -c 'setsid sleep 4713 & exit 0'",
            "left-children",
            "2 of the processes that they had started ran on and kept the launcher waiting",
        ),
        ("hangs", "sleep 4714", "hangs", "done nothing for"),
        ("late", "while :; do :; done", "time-limit", "longer than 5 s"),
        ("missing", "exec ./no-such", "exit-status", "status 127"),
        ("status", "exit 3", "exit-status", "status 3"),
        ("gone", "rm -r \"$2\"", "no-profile", "removed its run's own folder"),
        ("odd", "printf 'bad\\033]0;title\\007 end\\n' >&2; exit 3", "exit-status", "status 3"),
        ("also", mpirun, "", ""),
    ];
    let names: Vec<String> = cases.iter().map(|case| toml_text(case.0)).collect();
    let lines: Vec<String> = cases.iter().map(|(name, script, ..)| format!("{name}) {script};;")).collect();
    world.write("point.sh", &format!("case $1 in\n{}\nesac\n", lines.join("\n")));
    world.write(
        "s.toml",
        &format!(
            "command = [\"sh\", \"point.sh\", \"{{which}}\", \"{{folder}}\"]\ntime_limit = 5\n[parameters]\nn = [1]\nwhich = [{}]\n[derived]\n",
            names.join(", ")
        )
        .replace("n = [1]\n", ""),
    );
    let ran = world.poise(["run", "s.toml"]).status(5);
    assert!(ran.stdout.contains("2 runs are complete"), "{}\n{}", ran.stdout, ran.stderr);
    assert!(
        ran.stderr.contains("bad\\u{1b}]0;title\\u{7} end"),
        "no terminal gets what a program wrote to it: {}",
        ran.stderr
    );
    for (name, _, cause, reason) in cases {
        let record = world.json(&format!("s.runs/which={name}/r1/run.json"));
        assert_eq!(record["status"], if cause.is_empty() { "complete" } else { "failed" }, "{name}: {record}");
        assert_eq!(record["cause"].as_str().unwrap_or(""), cause, "{name}: {record}");
        assert!(record["reason"].as_str().unwrap_or("").contains(reason), "{name}: {record}");
    }
    let left =
        world.command("sh", ["-c", "grep -sl 'sleep.471[34]' /proc/[0-9]*/cmdline | grep -v self"]).output().unwrap();
    assert!(left.stdout.is_empty(), "{}", String::from_utf8_lossy(&left.stdout));
}

/// MPI libraries wait without sleeping. A shell that starts a rank does not make it another. The limit leaves ranks much time to start on a busy machine.
#[test]
fn ranks_that_wait_for_each_other_hang_and_those_that_compute_do_not() {
    let world = World::new();
    world.compile("mpicc.openmpi", "deadlock.c", "deadlock");
    world.compile("mpicc.mpich", "deadlock.c", "deadlock.mpich");
    world.write(
        "point.sh",
        "case $1 in\n\
         openmpi) exec mpirun.openmpi --oversubscribe -n 2 ./deadlock;;\n\
         mpich) exec mpiexec.mpich -n 2 sh -c './deadlock.mpich; exit 1';;\n\
         busy) exec mpirun.openmpi --oversubscribe -n 2 ./deadlock busy;;\n\
         esac\n",
    );
    let study = "command = [\"sh\", \"point.sh\", \"{which}\"]\ntime_limit = 16\n\
                 [parameters]\nwhich = [\"openmpi\", \"mpich\", \"busy\"]\n";
    world.write("s.toml", study);
    world.poise(["run", "s.toml"]).status(5);
    let within = "each of its 2 ranks had been within one MPI call for 4 s";
    for (which, cause, reason) in
        [("openmpi", "hangs", within), ("mpich", "hangs", within), ("busy", "time-limit", "longer than 16 s")]
    {
        let record = world.json(&format!("s.runs/which={which}/r1/run.json"));
        assert_eq!(record["cause"], cause, "{record}");
        assert!(record["reason"].as_str().unwrap().contains(reason), "{record}");
    }
    // The last quarter is shorter than what ranks are watched for.
    world.write("s.toml", &study.replace("16", "10").replace(", \"mpich\", \"busy\"", ""));
    world.poise(["run", "s.toml", "-o", "short"]).status(5);
    let record = world.json("short/which=openmpi/r1/run.json");
    assert_eq!(record["cause"], "hangs", "{record}");
    assert!(record["reason"].as_str().unwrap().contains("within one MPI call for 3 s"), "{record}");
}

/// Two looks at the program that are made at the same time find the same, whatever it does.
#[test]
fn a_run_that_computes_does_not_hang_where_poise_was_stopped() {
    let world = World::new();
    world.write(
        "s.toml",
        "command = [\"sh\", \"-c\", \"touch began; while :; do :; done\", \"{n}\"]\ntime_limit = 4\n[parameters]\nn = [1]\n",
    );
    let mut child = world.command(env!("CARGO_BIN_EXE_poise"), ["run", "s.toml"]).spawn().unwrap();
    let begun = Instant::now();
    while !world.path("began").exists() {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(20));
    }
    let id = child.id().to_string();
    let signal = |name: &str| assert!(std::process::Command::new("kill").args([name, &id]).status().unwrap().success());
    signal("-STOP");
    std::thread::sleep(Duration::from_secs(5));
    signal("-CONT");
    assert_eq!(child.wait().unwrap().code(), Some(5));
    let record = world.json("s.runs/n1.r1/run.json");
    assert_eq!(record["cause"], "time-limit");
    // Stopped with its job the program would have had no time to do anything.
    assert!(record["seconds"].as_f64().unwrap() > 8.0, "the 5 s are not of the limit's 4: {record}");
    let concerns = record["machine"]["concerns"].as_array().unwrap();
    let is_told = |concern: &serde_json::Value| concern.as_str().unwrap().starts_with("poise was stopped");
    assert!(concerns.iter().any(is_told), "{concerns:?}");
}

#[test]
fn a_memory_limit_holds_for_each_process() {
    let world = World::new();
    compile(&world, "hog");
    world.write("s.toml", "command = [\"./hog\", \"{n}\"]\nmemory_limit = 500\n[parameters]\nn = [10, 1000]\n");
    world.poise(["run", "s.toml"]).status(5);
    assert_eq!(world.json("s.runs/n10.r1/run.json")["status"], "complete");
    assert_eq!(world.json("s.runs/n1000.r1/run.json")["cause"], "out-of-memory");
    // A program that does not say why it fails.
    world.write(
        "t.toml",
        "command = [\"./hog\", \"{n}\", \"silently\"]\nmemory_limit = 500\n[parameters]\nn = [1000]\n",
    );
    let told = world.poise(["run", "t.toml"]).status(5).stderr;
    assert!(
        told.contains("signal 11 (SIGSEGV). Perhaps it wanted more than the study's memory_limit of 500 MiB"),
        "{told}"
    );
    assert_eq!(world.json("t.runs/n1000.r1/run.json")["cause"], "signal");
    // Ends that want of memory does not bring.
    for (name, script) in
        [("terminated", "kill -15 $$"), ("killed", "kill -9 $$"), ("told", "echo bad input >&2; exit 3")]
    {
        let study =
            format!("command = [\"sh\", \"-c\", \"{script}\", \"{{n}}\"]\nmemory_limit = 500\n[parameters]\nn = [1]\n");
        world.write(&format!("{name}.toml"), &study);
        let told = world.poise(["run", &format!("{name}.toml")]).status(5).stderr;
        assert!(told.contains(" failed. It ") && !told.contains("memory_limit"), "{told}");
    }
}

#[test]
fn runs_that_failed_alike_are_named_with_their_groups() {
    let world = World::new();
    world.write(
        "s.toml",
        "command = [\"sh\", \"-c\", \"exit 3\", \"{mode}\", \"{n}\"]\ncollect = \"elapsed\"\n\
         [parameters]\nn = [1]\nmode = [\"sleep\", \"work\"]\n",
    );
    let told = world.poise(["run", "s.toml"]).status(5).stderr;
    let names = |one: &str, other: &str| {
        told.contains(&format!("s.runs/mode={one}/n1.r1 failed. It ended with status 3."))
            && told.contains(&format!("So did 1 other run: mode={other}/n1.r1."))
    };
    assert!(names("sleep", "work") || names("work", "sleep"), "{told}");
}

#[test]
fn what_comes_next_is_of_a_group_that_has_runs_and_the_machine_is_judged_by_what_ran() {
    let world = World::new();
    world.write(
        "s.toml",
        "launcher = [\"mpirun.openmpi\", \"-n\", \"1\"]\ncommand = [\"{w}\", \"{p}\"]\ncollect = \"elapsed\"\n\
         [parameters]\np = [4000]\nw = [\"./no-such\", \"true\"]\n",
    );
    let ran = world.poise(["run", "s.toml"]).status(5);
    assert!(ran.stdout.contains("1 run is complete. Next: poise model s.runs/w=true"), "{}", ran.stdout);
    let causes = runs(&world, "s.runs").into_iter().map(|run| world.json(&format!("{run}/run.json"))["cause"].clone());
    assert_eq!(causes.collect::<Vec<_>>(), ["cannot-start".into(), serde_json::Value::Null]);
    assert!(ran.stderr.contains("1 of 2 runs: 4000 ranks"), "{}", ran.stderr);
}
