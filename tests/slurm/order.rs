//! How repetitions follow each other by dependencies, and what becomes of them when runs fail or are taken away.

use std::collections::BTreeSet;
use std::io::BufRead as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::cluster::Cluster;
use crate::common::World;
use crate::on;

/// Every job takes the whole cluster, and the cluster prefers the points with small n.
pub fn one_repetition_follows_the_other(cluster: &Cluster) {
    let world = on(cluster);
    for (submit, at_once) in [("jobs", ""), ("array", "at_once = 1")] {
        world.write(
            "s.toml",
            &format!(
                "executor = \"slurm\"\ncommand = [\"sh\", \"-c\", \"echo $0 >> {submit}.made\", \"{{n}}\"]\ncollect = \"elapsed\"\n\
                 ranks = 4\nrepetitions = 2\n[parameters]\nn = [1, 2, 3, 4]\n[derived]\nnice = \"1000 * floor((n + 1) / 2)\"\n\
                 [slurm]\nsubmit = \"{submit}\"\npoll_seconds = 1\nnodes = 4\noptions = [\"--exclusive\", \"--nice={{nice}}\"]\n{at_once}\n"
            ),
        );
        if submit == "array" {
            let plan = world.poise(["run", "s.toml", "--dry-run"]).status(0).stdout;
            assert_eq!(plan.matches("    2 array jobs, 4 runs: n").count(), 2, "of each two points: {plan}");
        }
        world.poise(["run", "s.toml", "-o", submit]).status(0);
        let made = world.read(&format!("{submit}.made"));
        let mut turns: Vec<Vec<&str>> = made.lines().collect::<Vec<_>>().chunks(4).map(<[&str]>::to_vec).collect();
        turns.iter_mut().for_each(|turn| turn.sort_unstable());
        assert_eq!(turns, [["1", "2", "3", "4"]; 2], "{submit}: {made}");
    }
}

/// More than wait for each other one by one. All are held, so that they stay as they were submitted.
pub fn a_repetition_waits_by_as_many_dependencies_as_jobs(cluster: &Cluster) {
    const POINTS: usize = 10;
    let world = on(cluster);
    world.write(
        "s.toml",
        "executor = \"slurm\"\ncommand = [\"true\", \"{p}\"]\ncollect = \"elapsed\"\nrepetitions = 3\n\
         [parameters]\np = { from = 1, to = 10, step = 1 }\n\
         [slurm]\nsubmit = \"jobs\"\npoll_seconds = 1\noptions = [\"--hold\"]\n",
    );
    for call in ["first", "second"] {
        let mut child = world.command(env!("CARGO_BIN_EXE_poise"), ["run", "s.toml"]).spawn().unwrap();
        let begun = Instant::now();
        let queue = || cluster.command("squeue", &["--noheader", "--sort=i", "--format=%i|%C|%E"]);
        while queue().lines().count() < 3 * POINTS {
            assert!(begun.elapsed() < Duration::from_secs(60), "{}", queue());
            std::thread::sleep(Duration::from_millis(50));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let queue = queue();
        let jobs: Vec<(u32, u32, Vec<u32>)> = queue
            .lines()
            .map(|line| {
                let fields: Vec<&str> = line.split('|').collect();
                let after =
                    fields[2].split(',').filter_map(|one| one.strip_prefix("after:")?.split('(').next()?.parse().ok());
                (fields[0].parse().unwrap(), fields[1].parse().unwrap(), after.collect())
            })
            .collect();
        let numbers: Vec<u32> = jobs.iter().map(|job| job.0).collect();
        assert!(jobs[..POINTS].iter().all(|job| job.2.is_empty()), "{queue}");
        for turn in [1, 2] {
            let at = turn * POINTS;
            let mut awaited = jobs[at].2.clone();
            awaited.sort_unstable();
            assert_eq!(awaited, numbers[at - POINTS..at], "{queue}");
            assert_eq!(jobs[at].1, 1, "the smallest leads: {queue}");
            assert!(jobs[at + 1..at + POINTS].iter().all(|job| job.2 == [numbers[at]]), "{queue}");
        }
        // What is submitted again waits for those that are there.
        if call == "first" {
            let last: Vec<String> = numbers[2 * POINTS..].iter().map(u32::to_string).collect();
            cluster.command("scancel", &last.iter().map(String::as_str).collect::<Vec<_>>());
        } else {
            cluster.command(
                "scancel",
                &numbers.iter().map(u32::to_string).collect::<Vec<_>>().iter().map(String::as_str).collect::<Vec<_>>(),
            );
        }
    }
    cluster.wait_until_idle();
}

/// Every job takes the whole cluster. The smallest point, whose later runs lead their repetitions, fails, and so does the largest.
pub fn a_point_that_failed_leaves_the_queue_and_the_order_stays(cluster: &Cluster) {
    let world = on(cluster);
    for submit in ["jobs", "array"] {
        world.write(
            "s.toml",
            &format!(
                "executor = \"slurm\"\ncommand = [\"sh\", \"-c\", \"echo $0 >> {submit}.made; sleep 2; test $0 != 2 -a $0 != 5\", \"{{p}}\"]\n\
                 collect = \"elapsed\"\nrepetitions = 3\n[parameters]\np = [2, 3, 4, 5]\n\
                 [slurm]\nsubmit = \"{submit}\"\npoll_seconds = 1\nnodes = 4\noptions = [\"--exclusive\"]\n"
            ),
        );
        let ran = world.poise(["run", "s.toml", "-o", submit]).status(5);
        assert!(ran.stdout.contains("6 runs are complete"), "{}", ran.stdout);
        let made = world.read(&format!("{submit}.made"));
        assert_eq!(made.lines().filter(|&p| p == "5").count(), 1, "{submit}: {made}");
        assert!(["p5.r2", "p5.r3"].iter().all(|run| !world.path(&format!("{submit}/{run}")).exists()), "{made}");
        let others: Vec<&str> = made.lines().filter(|p| ["3", "4"].contains(p)).collect();
        let mut turns: Vec<Vec<&str>> = others.chunks(2).map(<[&str]>::to_vec).collect();
        turns.iter_mut().for_each(|turn| turn.sort_unstable());
        assert_eq!(turns, [["3", "4"]; 3], "{submit}: {made}");
        let first: Vec<&str> = made.lines().take(4).collect();
        assert!(["2", "5"].iter().all(|p| first.contains(p)), "the second repetition began after the first: {made}");
    }
}

/// Two points on nodes of their own. The smaller one's second run, which led its repetition, is over when the next call begins; for the
/// other's second run nothing waits.
pub fn a_later_call_knows_for_which_jobs_others_wait(cluster: &Cluster) {
    let world = on(cluster);
    world.write(
        "s.toml",
        "executor = \"slurm\"\ncommand = [\"sh\", \"-c\", \"echo $0 >> made; test $0 = 1 && exit; while ! test -e go; do sleep 0.1; done; exit 1\", \"{n}\"]\n\
         collect = \"elapsed\"\nranks = \"n\"\nrepetitions = 2\n[parameters]\nn = [1, 2]\n\
         [slurm]\nsubmit = \"jobs\"\npoll_seconds = 1\noptions = [\"--exclusive\", \"--nodelist=n{n}\"]\n",
    );
    let call = || {
        let mut command = world.command(env!("CARGO_BIN_EXE_poise"), ["run", "s.toml", "--format", "json"]);
        command.stdout(Stdio::piped()).spawn().unwrap()
    };
    let mut first = call();
    wait_until(cluster, || world.path("s.runs/n1.r2/run.json").exists());
    first.kill().unwrap();
    first.wait().unwrap();
    // By Slurm's own words, what has been submitted and has not ended.
    let pending = cluster.command("squeue", &["--noheader", "--states=PENDING", "--format=%i"]);
    assert_eq!(pending.lines().count(), 1, "the other point's second run: {pending}");
    cluster.command("scontrol", &["hold", &pending]);
    let mut second = call();
    let mut events = std::io::BufReader::new(second.stdout.take().unwrap()).lines().map(Result::unwrap);
    events.find(|line| line.contains("\"event\":\"run\"")).unwrap();
    world.write("go", "");
    let mut status = None;
    wait_until(cluster, || {
        status = second.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.and_then(|status| status.code()), Some(5));
    let mut made: Vec<String> = world.read("made").lines().map(str::to_owned).collect();
    made.sort();
    assert_eq!(made, ["1", "1", "2"], "a point that has failed is not run again, and nothing is submitted twice");
    cluster.wait_until_idle();
}

/// One task first, and then the array as a whole, as by a user who changes her mind. For Slurm that array has not begun until it
/// is forgotten, five minutes later. Both repetitions are held until then, so that nothing begins by chance.
pub fn what_waits_for_an_array_that_was_cancelled_begins(cluster: &Cluster) {
    let mut world = on(cluster);
    // The controller refuses the first change of a dependency.
    std::fs::create_dir(world.path("bin")).unwrap();
    let refused = world.path("refused");
    world.write(
        "bin/scontrol",
        &format!(
            "#!/bin/sh\nif test \"$1\" = update && mkdir '{}'; then exit 1; fi 2> /dev/null\nexec /usr/bin/scontrol \"$@\"\n",
            refused.display()
        ),
    );
    world.command("chmod", ["+x", "bin/scontrol"]).status().unwrap();
    world.set("PATH", &format!("{}:{}", world.path("bin").display(), std::env::var("PATH").unwrap()));
    world.write(
        "s.toml",
        "executor = \"slurm\"\ncommand = [\"sh\", \"-c\", \"echo $0 >> made\", \"{n}\"]\ncollect = \"elapsed\"\nranks = 1\n\
         repetitions = 2\n[parameters]\nn = [1, 2]\n[slurm]\npoll_seconds = 1\nat_once = 1\noptions = [\"--hold\"]\n",
    );
    let mut child = world.command(env!("CARGO_BIN_EXE_poise"), ["run", "s.toml"]).spawn().unwrap();
    let arrays = || cluster.command("squeue", &["--noheader", "--sort=i", "--format=%F"]);
    wait_until(cluster, || arrays().lines().count() == 2);
    let arrays = arrays();
    let (first, second) = arrays.split_once('\n').unwrap();
    cluster.command("scontrol", &["release", second]);
    cluster.command("scancel", &[&format!("{first}_0")]);
    cluster.command("scancel", &[first]);
    let mut status = None;
    wait_until(cluster, || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.and_then(|status| status.code()), Some(5));
    let remembered = cluster.command("scontrol", &["show", "job", first]);
    assert!(remembered.contains("JobState=CANCELLED"), "Slurm has not forgotten it: {remembered}");
    assert!(refused.exists(), "the change was asked for twice");
    let mut made: Vec<String> = world.read("made").lines().map(str::to_owned).collect();
    made.sort();
    assert_eq!(made, ["1", "2"]);
    for n in [1, 2] {
        let record = world.json(&format!("s.runs/n{n}.r1/run.json"));
        assert_eq!(record["cause"], "killed-by-launcher", "{record}");
        let record = world.json(&format!("s.runs/n{n}.r2/run.json"));
        assert_eq!(record["status"], "complete", "{record}");
    }
    cluster.wait_until_idle();
}

/// Two studies at the same time, since either waits until what is gone from the queue is given up. Of one a single task is cancelled
/// while others of its array run; of the other the second of three repetitions, while the first has not begun.
pub fn what_is_cancelled_lets_nothing_overtake_what_was_before_it(cluster: &Cluster) {
    let arrays = || {
        let said = cluster.command("squeue", &["--noheader", "--format=%F"]);
        let numbers: BTreeSet<u32> = said.lines().map(|line| line.parse().unwrap()).collect();
        numbers.into_iter().map(|number| number.to_string()).collect::<Vec<_>>()
    };
    let waits_for = |array: &str| cluster.command("squeue", &["--noheader", "--format=%E", "--jobs", array]);
    let begin = |keys: &str| {
        let world = on(cluster);
        world.write(
            "s.toml",
            &format!(
                "executor = \"slurm\"\ncommand = [\"sh\", \"-c\", \"echo $0 >> made; while ! test -e go; do sleep 0.1; done\", \"{{n}}\"]\n\
                 collect = \"elapsed\"\nranks = 1\n{keys}\npoll_seconds = 1\n"
            ),
        );
        let child = world.command(env!("CARGO_BIN_EXE_poise"), ["run", "s.toml"]).spawn().unwrap();
        (world, child)
    };
    let made = |world: &World| std::fs::read_to_string(world.path("made")).unwrap_or_default().lines().count();
    let running = begin("repetitions = 2\n[parameters]\nn = [1, 2, 3]\n[slurm]\nat_once = 2");
    wait_until(cluster, || arrays().len() == 2);
    let held = begin("repetitions = 3\n[parameters]\nn = [1, 2]\n[slurm]\noptions = [\"--hold\"]");
    wait_until(cluster, || arrays().len() == 5 && made(&running.0) == 2);
    let arrays = <[String; 5]>::try_from(arrays()).unwrap();
    let [runs, follows, first, second, third] = arrays.each_ref().map(String::as_str);
    cluster.command("scancel", &[&format!("{runs}_2"), second]);
    cluster.command("scontrol", &["release", third]);
    wait_until(cluster, || waits_for(third) == format!("after:{first}_*(unfulfilled)"));
    let is_given_up = |n: u32| running.0.path(&format!("s.runs/n{n}.r1/run.json")).exists();
    wait_until(cluster, || (1..=3).any(is_given_up));
    // What poise had Slurm begin now would have begun.
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(waits_for(follows), format!("afterany:{runs}_*(unfulfilled)"));
    assert_eq!([made(&running.0), made(&held.0)], [2, 0], "nothing has begun too early");
    cluster.command("scontrol", &["release", first]);
    for ((world, mut child), runs) in [(running, 5), (held, 4)] {
        world.write("go", "");
        let mut status = None;
        wait_until(cluster, || {
            status = child.try_wait().unwrap();
            status.is_some()
        });
        assert_eq!((status.and_then(|status| status.code()), made(&world)), (Some(5), runs));
    }
    cluster.wait_until_idle();
}

/// Two arrays for each of two repetitions, all held. What leads the second is cancelled as a whole, and the other one of it released.
pub fn what_leads_a_repetition_may_be_cancelled(cluster: &Cluster) {
    let world = on(cluster);
    world.write(
        "s.toml",
        "executor = \"slurm\"\ncommand = [\"sh\", \"-c\", \"echo $0 >> made\", \"{n} {i}\"]\ncollect = \"elapsed\"\nranks = \"n\"\n\
         repetitions = 2\n[parameters]\nn = [1, 2]\ni = [1, 2]\n[slurm]\npoll_seconds = 1\noptions = [\"--hold\"]\n",
    );
    let mut child = world.command(env!("CARGO_BIN_EXE_poise"), ["run", "s.toml"]).spawn().unwrap();
    let arrays = || cluster.command("squeue", &["--noheader", "--sort=i", "--format=%F"]);
    wait_until(cluster, || arrays().lines().count() == 4);
    let arrays = arrays();
    let [one, other, leader, follows] = <[&str; 4]>::try_from(arrays.lines().collect::<Vec<_>>()).unwrap();
    cluster.command("scontrol", &["release", follows]);
    cluster.command("scancel", &[leader]);
    // It would begin now.
    std::thread::sleep(Duration::from_secs(2));
    let waits_for = cluster.command("squeue", &["--noheader", "--format=%T|%E", "--jobs", follows]);
    let (state, awaited) = waits_for.split_once('|').unwrap();
    let awaited: BTreeSet<&str> = awaited.split(',').collect();
    let expected = [one, other].map(|array| format!("after:{array}_*(unfulfilled)"));
    assert_eq!((state, awaited), ("PENDING", expected.iter().map(String::as_str).collect()));
    assert!(!world.path("made").exists(), "the second repetition does not begin before the first");
    cluster.command("scontrol", &["release", one, other]);
    let mut status = None;
    wait_until(cluster, || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.and_then(|status| status.code()), Some(5));
    let made = world.read("made");
    let mut first: Vec<&str> = made.lines().take(4).collect();
    first.sort_unstable();
    assert_eq!((first, made.lines().count()), (vec!["1 1", "1 2", "2 1", "2 2"], 6), "{made}");
    cluster.wait_until_idle();
}

fn wait_until(cluster: &Cluster, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(90), "{}", cluster.command("squeue", &[]));
        std::thread::sleep(Duration::from_millis(50));
    }
}
