//! What kills, full disks and neighbours do to a study: nothing is lost, left half-made, or done twice.

mod common;

use std::time::{Duration, Instant};

use common::{World, outcome};
use poise_profile::Profile;

/// The complete and failed runs of a study without groups.
fn runs(world: &World) -> Vec<String> {
    // Hidden ones have not ended, even if their record is written.
    let is_run = |name: &String| !name.starts_with('.') && world.path("s.runs").join(name).join("run.json").is_file();
    world.names("s.runs").into_iter().filter(is_run).collect()
}

/// Starts the study `s.toml`, and gives it `signal` as soon as `is_so`; how it ended.
fn signalled(world: &World, signal: &str, is_so: impl Fn() -> bool) -> common::Outcome {
    let mut command = world.command(env!("CARGO_BIN_EXE_poise"), ["run", "s.toml"]);
    let child = command.stderr(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", world.names("s.runs"));
        std::thread::sleep(Duration::from_millis(5));
    }
    // The shell's own kill, since the program of that name is in a package that need not be there.
    let kill = format!("kill -{signal} {}", child.id());
    assert!(world.command("sh", ["-c", &kill]).status().unwrap().success());
    outcome(child.wait_with_output().unwrap())
}

/// As `nohup` starts it, for a terminal that is going to be closed.
#[test]
fn a_call_that_ignores_hang_ups_outlives_them() {
    let world = World::new();
    world.write(
        "s.toml",
        "command = [\"sh\", \"-c\", \"touch began; sleep 0.5\", \"{n}\"]\ncollect = \"elapsed\"\n[parameters]\nn = [1, 2]\n",
    );
    let poise = env!("CARGO_BIN_EXE_poise");
    let script = format!("trap '' HUP; exec '{poise}' run s.toml");
    let child = world.command("sh", ["-c", &script]).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while !world.path("began").exists() {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    }
    let kill = format!("kill -HUP {}", child.id());
    assert!(world.command("sh", ["-c", &kill]).status().unwrap().success());
    outcome(child.wait_with_output().unwrap()).status(0);
    assert_eq!(runs(&world).len(), 2);
}

/// Killed by the signal that cannot be caught, again and again: what is complete stays, what is missing is made.
#[test]
fn a_killed_study_goes_on_where_it_was() {
    let world = World::new();
    let script = "echo $0 >> made; sleep 0.2";
    world.write(
        "s.toml",
        &format!("command = [\"sh\", \"-c\", \"{script}\", \"{{n}}\"]\ncollect = \"elapsed\"\n[parameters]\nn = {{ from = 1, to = 12, step = 1 }}\n"),
    );
    let complete = |world: &World| runs(world).len();
    for wanted in [2, 5, 8] {
        let mut child = world.command(env!("CARGO_BIN_EXE_poise"), ["run", "s.toml"]).spawn().unwrap();
        let begun = Instant::now();
        while complete(&world) < wanted {
            assert!(begun.elapsed() < Duration::from_secs(60), "{} runs", complete(&world));
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let before: Vec<_> = runs(&world).iter().map(|run| world.read(&format!("s.runs/{run}/run.json"))).collect();
    let last = world.poise(["run", "s.toml"]).status(0);
    assert!(
        last.stdout.contains("12 runs are complete") && last.stdout.contains("from an earlier call"),
        "{}",
        last.stdout
    );
    let after: Vec<_> = runs(&world).iter().map(|run| world.read(&format!("s.runs/{run}/run.json"))).collect();
    for record in &before {
        assert!(after.contains(record), "no complete run was made again, and this one was: {record}");
    }
    let hidden: Vec<_> = world.names("s.runs").into_iter().filter(|name| name.starts_with('.')).collect();
    assert_eq!(hidden, Vec::<String>::new(), "nothing half-made is left");
    // Of the twelve, at most the three that were being made when they were killed were begun twice.
    assert!(world.read("made").lines().count() <= 15, "{}", world.read("made"));
}

#[test]
fn two_at_a_time_do_not_tread_on_each_other() {
    let world = World::new();
    world.write("s.toml", "command = [\"sh\", \"-c\", \"sleep 0.5; echo $0 >> made\", \"{n}\"]\ncollect = \"elapsed\"\n[parameters]\nn = [1, 2, 3]\n");
    let poise = env!("CARGO_BIN_EXE_poise");
    let first = world.command(poise, ["run", "s.toml"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while world.names("s.runs").iter().all(|name| !name.starts_with(".run-")) {
        assert!(begun.elapsed() < Duration::from_secs(30), "the first never began");
        std::thread::sleep(Duration::from_millis(5));
    }
    let second = world.poise(["run", "s.toml"]).status(2);
    assert!(second.stderr.contains(&format!("process {}", first.id())), "{}", second.stderr);
    let first = outcome(first.wait_with_output().unwrap()).status(0);
    assert!(first.stdout.contains("3 runs are complete"), "{}", first.stdout);
    assert_eq!(world.read("made").lines().count(), 3);
}

#[test]
fn a_full_disk_leaves_no_half_run() {
    let world = World::new();
    let study = "command = [\"sh\", \"-c\", \"head -c $0 /dev/zero\", \"{n}\"]\ncollect = \"elapsed\"\n[parameters]\n";
    world.write("small.toml", &format!("{study}n = [10]\n"));
    world.write("large.toml", &format!("{study}n = [10, 9000000]\n"));
    let run = format!("{} run -o disk/runs", env!("CARGO_BIN_EXE_poise"));
    let script = format!(
        "mkdir disk && mount -t tmpfs -o size=1m none disk || exit 77; {run} small.toml || exit 78; {run} large.toml; \
         echo ended with $?; ls -A disk/runs; mount -o remount,size=40m disk; {run} large.toml"
    );
    let Some(ran) = with_a_small_disk(&world, &script) else { return };
    let (full, roomy) =
        ran.stdout.split_once("ended with 2\n").unwrap_or_else(|| panic!("{}{}", ran.stdout, ran.stderr));
    assert!(full.contains("1 run is complete") && ran.stderr.contains("No space left"), "{}", ran.stderr);
    assert!(roomy.starts_with("n10.r1\n2 runs are complete"), "nothing half-made is left, and room helps: {roomy}");
}

/// The disk is full only while the program prints, which does not look.
#[test]
fn output_that_a_full_disk_cuts_off_is_of_no_run() {
    let world = World::new();
    // The disk is full until what the program printed was read from it, also on a busy machine.
    let script = "head -c 2000000 /dev/zero > disk/scratch 2> /dev/null; seq $0; sleep 3; rm disk/scratch";
    world.write(
        "s.toml",
        &format!(
            "command = [\"sh\", \"-c\", \"{script}\", \"{{n}}\"]\ncollect = \"elapsed\"\n[parameters]\nn = [3000]\n"
        ),
    );
    let run = format!("{} run s.toml -o disk/runs", env!("CARGO_BIN_EXE_poise"));
    let script = format!(
        "mkdir disk && mount -t tmpfs -o size=1m none disk || exit 77; {run}; echo ended with $?; ls -A disk/runs; \
         mount -o remount,size=40m disk; {run}; cat disk/runs/n3000.r1/stdout.txt"
    );
    let Some(ran) = with_a_small_disk(&world, &script) else { return };
    let later = ran.stdout.strip_prefix("ended with 2\n").unwrap_or_else(|| panic!("{}{}", ran.stdout, ran.stderr));
    assert!(ran.stderr.contains("No space left"), "{}", ran.stderr);
    let printed = (1..=3000).map(|n| format!("{n}\n")).collect::<String>();
    assert!(later.starts_with("1 run is complete") && later.ends_with(&format!("\n{printed}")), "{later}");
}

/// A batch system ends all processes of a job, one after the other, and a shell whose program was ended may end well.
#[test]
fn a_run_that_ends_as_its_job_is_cancelled_is_none() {
    let mut world = World::new();
    let count = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done";
    let study = format!(
        "command = [\"sh\", \"-c\", \"P=$PPID; ({count}; kill -TERM $P) & echo $0\", \"{{n}}\"]\ncollect = \"elapsed\"\n[parameters]\nn = [1]\n"
    );
    world.write("s.toml", &study);
    world.set("SLURM_JOB_ID", "4711");
    world.poise(["run", "s.toml"]).status(143);
    assert_eq!(runs(&world), Vec::<String>::new());
}

/// The kernel's files of this machine are covered by copies, in a mount namespace of the test's own, since many machines have
/// no governor to set. The values during the run are those that another process sees.
#[test]
fn the_governor_is_put_back_after_any_signal() {
    let world = World::new();
    let covers = ["--map-root-user", "--mount", "mount", "--bind", ".", "/sys/devices/system/cpu"];
    let may = world.command("unshare", covers).status();
    if !may.is_ok_and(|status| status.success()) {
        let is_known = std::env::var_os("POISE_TEST_NO_NAMESPACES").is_some();
        assert!(is_known, "this machine allows no mount namespaces; POISE_TEST_NO_NAMESPACES=1 leaves this test out");
        return;
    }
    world.write(
        "s.toml",
        "command = [\"sh\", \"-c\", \"touch begun; while [ ! -e over ]; do sleep 0.05; done\", \"{n}\"]\n\
         collect = \"elapsed\"\n[parameters]\nn = [1]\n",
    );
    let script = r#"set -e
        cpus=/sys/devices/system/cpu
        mkdir -p tree/cpufreq tree/cpu0/cpufreq tree/cpu1/cpufreq
        cp $cpus/online tree/ || true
        echo 1 > tree/cpufreq/boost
        echo powersave > tree/cpu0/cpufreq/scaling_governor
        echo schedutil > tree/cpu1/cpufreq/scaling_governor
        mount --bind tree $cpus
        show() { echo $1 $(for file in cpu0/cpufreq/scaling_governor cpu1/cpufreq/scaling_governor cpufreq/boost; do cat $cpus/$file; echo; done); }
        for signal in TERM INT KILL; do
            rm -f begun
            poise run s.toml -o runs --quiet-machine 2> said & poise=$!
            tries=0
            while [ ! -e begun ]; do sleep 0.05; tries=$((tries + 1)); [ $tries -lt 600 ]; done
            show during
            kill -$signal $poise
            wait $poise || true
            show $signal
        done
        touch over
        poise run s.toml -o runs >&2
        show next"#;
    let ran = world.command("unshare", ["--map-root-user", "--mount", "bash", "-c", script]).output().unwrap();
    let ran = outcome(ran).status(0);
    let (quiet, as_before) = ("performance performance 0", "powersave schedutil 1");
    let expected = format!(
        "during {quiet}\nTERM {as_before}\nduring {quiet}\nINT {as_before}\nduring {quiet}\nKILL {quiet}\nnext {as_before}\n"
    );
    assert_eq!(ran.stdout, expected, "{}", ran.stderr);
}

#[test]
fn a_build_that_a_killed_call_has_left_is_ended_before_the_next() {
    let world = World::new();
    world.write("build.sh", "touch \"$1/begun\"; [ -e quick ] || sleep 4722; echo 'exit 0' >\"$1/x\"\n");
    world.write(
        "s.toml",
        "command = [\"sh\", \"{build}/x\", \"{n}\"]\ncollect = \"elapsed\"\n\
         build = { command = [\"sh\", \"build.sh\", \"{build}\"] }\n[parameters]\nn = [1]\n",
    );
    let sleeps = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
        lines.filter(|line| line == b"sleep\x004722\x00").count()
    };
    let mut killed = world.command(env!("CARGO_BIN_EXE_poise"), ["run", "s.toml", "-q"]).spawn().unwrap();
    let begun = Instant::now();
    while sleeps() == 0 {
        assert!(begun.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(20));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    world.write("quick", "");
    let next = world.poise(["run", "s.toml"]).status(0);
    assert_eq!(sleeps(), 0, "{}", next.stderr);
    assert!(next.stderr.contains("of a run or a build that an earlier call had left"), "{}", next.stderr);
    assert_eq!(world.names("s.runs"), [".builds", "n1.r1"]);
}

/// What was measured until a run's last checkpoint outlives the poise that ran it, however that ended, and is no run.
#[test]
fn the_checkpoints_of_a_study_that_was_killed_or_interrupted_are_kept_and_told() {
    let mut world = World::new();
    let text = "#include <unistd.h>
        static volatile int sum;
        __attribute__((noinline)) static void work(int n) { for (int i = 0; i < n; i++) sum = i; }
        int main(void) { do work(100000); while (access(\"over\", F_OK)); }";
    world.write("spin.c", text);
    world.poise(["cc", "-O1", "spin.c", "-o", "spin"]).status(0);
    world.set("POISE_CHECKPOINT", "0.05");
    // In a group, since that is where its runs lie.
    world.write("s.toml", "command = [\"./spin\", \"{n}\", \"{kind}\"]\n[parameters]\nn = [7]\nkind = [\"a\"]\n");
    let with_checkpoint = || {
        let is_there = |name: &String| world.path("s.runs/kind=a").join(name).join("profile.poise.checkpoint").exists();
        world.names("s.runs/kind=a").into_iter().find(|name| name.starts_with(".run-") && is_there(name))
    };
    let visits = |profile: &str| {
        let profile = Profile::read(world.path(profile)).unwrap();
        assert_eq!(profile.metadata["parameter.n"], "7");
        let work = profile.nodes.iter().position(|node| profile.regions[node.region as usize].name == "work").unwrap();
        profile.values[&(work as u32, poise_profile::Metric::Visits)].sum
    };
    signalled(&world, "KILL", || with_checkpoint().is_some());
    let earlier = with_checkpoint();
    assert!(earlier.is_some(), "{:?}", world.names("s.runs/kind=a"));
    let interrupted = signalled(&world, "TERM", || with_checkpoint().is_some_and(|now| Some(now) != earlier));
    assert_eq!(interrupted.status, Some(128 + 15));
    for number in [1, 2] {
        let told = format!("killed-run.{number} holds what a run had measured whose poise was killed or interrupted");
        assert!(interrupted.stderr.contains(&told), "{}", interrupted.stderr);
        assert!(visits(&format!("s.runs/kind=a/killed-run.{number}/partial.poise")) >= 1);
    }
    world.write("over", "");
    let next = world.poise(["run", "s.toml"]).status(0);
    assert!(!next.stderr.contains("killed"), "it is told once: {}", next.stderr);
    let names = world.names("s.runs/kind=a");
    assert_eq!(names, ["killed-run.1", "killed-run.2", "n7.r1"]);
    assert_eq!(visits("s.runs/kind=a/n7.r1/profile.poise"), 1);
    let csv = world.poise(["export", "s.runs", "--to", "csv", "-o", "-"]).status(0).stdout;
    let of_work: Vec<&str> = csv.lines().filter(|line| line.contains("work,visits,sum")).collect();
    assert_eq!(of_work.len(), 1, "what was killed is no run: {csv}");
    assert!(of_work[0].starts_with("7,") && of_work[0].ends_with(",1,1"), "repetition 1, one visit: {csv}");
}

/// With more and more free pages, until all is written: whatever is the first that no longer fits.
#[test]
fn a_disk_that_is_full_at_any_moment_leaves_a_whole_run_or_none() {
    let world = World::new();
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/echo.c");
    world.poise(["cc", "-O1", source.to_str().unwrap(), "-o", "echo"]).status(0);
    world.write("s.toml", "command = [\"./echo\", \"{n}\"]\n[parameters]\nn = [1, 2]\n");
    let most = 16;
    let script = format!(
        r#"mkdir disk seen && mount -t tmpfs -o size=1m none disk || exit 77
        for pages in $(seq 0 {most}); do
            head -c 2000000 /dev/zero > disk/filler 2> /dev/null
            truncate -s -$((4096 * pages)) disk/filler
            poise run s.toml -o disk/runs > said 2>&1
            echo $? >> said
            mkdir seen/$pages && cp -r said disk/runs seen/$pages/ 2> /dev/null
            rm disk/filler
            poise run s.toml -o disk/runs > said 2>&1 || {{ cat said; exit 78; }}
            mkdir seen/$pages/later && cp -r disk/runs seen/$pages/later
            rm -r disk/runs
        done"#
    );
    let Some(ran) = with_a_small_disk(&world, &script) else { return };
    ran.status(0);
    let record = |folder: &str, run: &str| world.json(&format!("{folder}/{run}/run.json"));
    let mut ends = Vec::new();
    for pages in 0..=most {
        let said = world.read(&format!("seen/{pages}/said"));
        let status: i32 = said.lines().last().unwrap().parse().unwrap();
        let runs = format!("seen/{pages}/runs");
        let left: Vec<String> = world.names(&runs).into_iter().filter(|name| name != "selection.json").collect();
        assert!(left.iter().all(|name| ["n1.r1", "n2.r1"].contains(&name.as_str())), "{pages}: {left:?}");
        let failed = left.iter().filter(|run| record(&runs, run)["status"] == "failed").count();
        let complete = left.iter().filter(|run| record(&runs, run)["status"] == "complete").count();
        assert_eq!(failed + complete, left.len(), "{pages}");
        match status {
            0 => assert_eq!(complete, 2, "{said}"),
            2 => assert!(said.contains("No space left on device"), "{said}"),
            5 => assert!(failed > 0, "{said}"),
            other => panic!("{other}: {said}"),
        }
        ends.push(status);
        for run in ["n1.r1", "n2.r1"] {
            let later = format!("seen/{pages}/later/runs");
            assert_eq!(record(&later, run)["status"], "complete", "{pages}");
            assert!(Profile::read(world.path(&format!("{later}/{run}/profile.poise"))).is_ok(), "{pages}");
            // What was complete is not made again.
            if left.iter().any(|name| name == run) && record(&runs, run)["status"] == "complete" {
                assert_eq!(record(&later, run), record(&runs, run), "{pages}");
            }
        }
    }
    assert!(ends[0] == 2 && ends[most] == 0, "{ends:?}");
}

/// Runs a script that mounts a small file system, in a name space of its own where the system allows one; none where it
/// lets nobody.
fn with_a_small_disk(world: &World, script: &str) -> Option<common::Outcome> {
    let within = |options: &str| outcome(world.command("unshare", [options, "sh", "-c", script]).output().unwrap());
    let mut ran = within("-rm");
    if matches!(ran.status, Some(77 | 1)) {
        let _ = std::fs::remove_dir_all(world.path("disk"));
        let _ = std::fs::remove_dir_all(world.path("seen"));
        ran = within("-m");
    }
    if matches!(ran.status, Some(77 | 1)) {
        eprintln!("not tested: this system lets nobody make a small disk: {}", ran.stderr);
        return None;
    }
    Some(ran)
}
