//! `poise run` on a real Slurm cluster: values that arrive as written, geometry, jobs that outlive the call that
//! submitted them, and what happens to jobs that cannot run or are taken away.

#[path = "common/cluster.rs"]
mod cluster;
mod common;

use std::io::BufRead as _;
use std::time::{Duration, Instant};

use cluster::Cluster;
use common::World;

fn on(cluster: &Cluster) -> World {
    let mut world = World::new();
    world.set("SLURM_CONF", &cluster.configuration());
    world
}

/// One cluster for all, since starting it takes longer than what is asked of it.
#[test]
fn studies_run_as_jobs() {
    let mut cluster = Cluster::start();
    values_arrive_as_written(&cluster);
    ranks_are_placed_as_asked(&cluster);
    one_repetition_follows_the_other(&cluster);
    a_repetition_waits_by_as_many_dependencies_as_jobs(&cluster);
    a_point_that_failed_leaves_the_queue_and_the_order_stays(&cluster);
    jobs_that_may_wait_for_ever_are_told(&cluster);
    runs_that_follow_each_other_are_not_told_as_simultaneous(&cluster);
    the_time_left_is_that_of_jobs_beside_each_other(&cluster);
    ranks_of_srun_that_wait_for_each_other_hang(&cluster);
    jobs_outlive_the_call(&cluster);
    what_cannot_run_is_told(&cluster);
    arrays_are_as_long_as_the_cluster_takes(&cluster);
    submit_limits_are_waited_for(&cluster);
    what_sbatch_waits_for_is_told_and_can_be_interrupted(&cluster);
    a_job_whose_sbatch_was_interrupted_is_taken_up(&cluster);
    an_outage_of_the_controller_is_told_once(&mut cluster);
    // The controller remembers it, since nothing keeps accounts.
    assert!(cluster.command("sacct", &[]).is_empty());
    let (found, _) = ends_of_jobs(&cluster, &["failed", "killed"], &|_, _| ());
    let expected = [
        ("failed", "cannot-start", "(FAILED, status 7)"),
        ("killed", "signal", "9 (SIGKILL), perhaps for want of memory"),
    ];
    assert_eq!(found, expected.map(|(k, c, r)| (k.into(), c.into(), r.into())));
}

/// What accounts alone can know: the commands that ask the controller for jobs that have ended are not there.
#[test]
fn accounts_tell_how_jobs_ended_that_left_nothing() {
    let cluster = Cluster::start_with_accounts();
    arrays_that_never_began_are_told(&cluster);
    a_step_without_memory_is_told_where_the_launcher_does_not(&cluster);
    let kinds = ["completed", "failed", "memory", "killed", "cancelled", "node", "timeout"];
    let (found, jobs) = ends_of_jobs(&cluster, &kinds, &|kind, job| match kind {
        "cancelled" => drop(cluster.command("scancel", &[job])),
        "timeout" => drop(cluster.command("scontrol", &["update", &format!("JobId={job}"), "TimeLimit=0"])),
        "node" => drop(cluster.command("scontrol", &["update", "NodeName=n4", "State=DOWN", "Reason=dead"])),
        _ => {}
    });
    let expected = [
        ("completed", "cannot-start", "(COMPLETED)"),
        ("failed", "cannot-start", "(FAILED, status 7)"),
        ("memory", "out-of-memory", "ended its job for want of memory"),
        ("killed", "signal", "9 (SIGKILL), perhaps for want of memory"),
        ("cancelled", "killed-by-launcher", "was cancelled"),
        ("node", "node-failed", "A node of its job failed"),
        ("timeout", "time-limit", "at the time limit"),
    ];
    assert_eq!(found, expected.map(|(k, c, r)| (k.into(), c.into(), r.into())));
    // By another question, what Slurm itself has in its books.
    let states = ["COMPLETED", "FAILED", "FAILED", "FAILED", "CANCELLED", "NODE_FAIL", "TIMEOUT"];
    for (job, state) in jobs.iter().zip(states) {
        let line = cluster.command("sacct", &["--noheader", "--allocations", "--format=State%20", "--jobs", job]);
        assert!(line.starts_with(state), "{job}: {line}, not {state}");
    }
    for job in &jobs[2..4] {
        let line = cluster.command("sacct", &["--noheader", "--allocations", "--format=ExitCode", "--jobs", job]);
        assert_eq!(line, "0:9", "what uses too much memory looks like what somebody kills");
    }
}

/// A job of two tasks at most is taken, and the next when a run has made room.
fn submit_limits_are_waited_for(cluster: &Cluster) {
    let world = on(cluster);
    let room = cluster.limit_submissions();
    let made = |world: &World| {
        let mut made: Vec<String> = world.read("made").lines().map(str::to_owned).collect();
        made.sort();
        std::fs::remove_file(world.path("made")).unwrap();
        made
    };
    for (submit, most) in [("jobs", 3), ("array", 4)] {
        world.write(
            "s.toml",
            &format!(
                "executor = \"slurm\"\ncommand = [\"sh\", \"-c\", \"echo $0 $SLURM_ARRAY_JOB_ID >> made; touch {}\", \"{{n}}\"]\n\
                 collect = \"elapsed\"\n[parameters]\nn = {{ from = 1, to = {most}, step = 1 }}\n\
                 [slurm]\nsubmit = \"{submit}\"\npoll_seconds = 1\n",
                room.display()
            ),
        );
        std::fs::write(&room, "").unwrap();
        let ran = world.poise(["run", "s.toml", "-o", submit]).status(0);
        assert!(ran.stdout.contains(&format!("{most} runs are complete")), "{}", ran.stdout);
        let told = ran.stderr.matches("The other runs are submitted when some of this study's jobs have ended").count();
        assert_eq!(told, 1, "{}", ran.stderr);
        let made = made(&world);
        let numbers: Vec<String> = made.iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect();
        assert_eq!(numbers, (1..=most).map(|n| n.to_string()).collect::<Vec<_>>());
        if submit == "array" {
            let mut arrays: Vec<&str> = made.iter().map(|line| line.split(' ').nth(1).unwrap()).collect();
            arrays.sort_unstable();
            arrays.dedup();
            assert_eq!(arrays.len(), 2, "halved once: {made:?}");
        }
    }
    // Where none is taken at all there is nothing to wait for.
    let _ = std::fs::remove_file(&room);
    let refused = world.poise(["run", "s.toml", "-o", "none"]).status(2);
    assert!(refused.stderr.contains("sbatch refused the job: QOSMaxSubmitJobPerUserLimit "), "{}", refused.stderr);
    assert_eq!(world.names("none/.slurm"), Vec::<String>::new());
    cluster.allow_submissions();
}

/// sbatch tries again for two minutes before it says that it cannot.
fn what_sbatch_waits_for_is_told_and_can_be_interrupted(cluster: &Cluster) {
    let world = on(cluster);
    world.write(
        "s.toml",
        "executor = \"slurm\"\ncommand = [\"sh\", \"-c\", \"echo $0 >> made\", \"{n}\"]\ncollect = \"elapsed\"\n\
         [parameters]\nn = [1, 2]\n[slurm]\npoll_seconds = 1\n",
    );
    let busy = cluster.be_busy();
    let mut command = world.command(env!("CARGO_BIN_EXE_poise"), ["run", "s.toml", "--format", "json"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut events = std::io::BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let note = events.find(|line| line.contains("\"event\":\"note\"")).unwrap();
    let note: serde_json::Value = serde_json::from_str(&note).unwrap();
    let said = "sbatch has not submitted the job for 5 s; waiting. It says: \"Slurm temporarily unable to accept job, sleeping and retrying\".";
    assert_eq!(note["text"], said);
    let interrupted = Instant::now();
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(interrupted.elapsed() < Duration::from_secs(5), "{:?}", interrupted.elapsed());
    std::fs::remove_file(busy).unwrap();
    let ran = world.poise(["run", "s.toml"]).status(0);
    assert!(ran.stdout.contains("2 runs are complete"), "{}", ran.stdout);
    let mut made: Vec<String> = world.read("made").lines().map(str::to_owned).collect();
    made.sort();
    assert_eq!(made, ["1", "2"]);
}

/// A script of the site's around sbatch, which has submitted the job and has not said so when the user interrupts.
fn a_job_whose_sbatch_was_interrupted_is_taken_up(cluster: &Cluster) {
    let mut world = on(cluster);
    world.write(
        "s.toml",
        "executor = \"slurm\"\ncommand = [\"sh\", \"-c\", \"echo $0 >> made; while ! test -e go; do sleep 0.1; done\", \"{n}\"]\n\
         collect = \"elapsed\"\n[parameters]\nn = [1]\n[slurm]\npoll_seconds = 1\n",
    );
    std::fs::create_dir(world.path("bin")).unwrap();
    world.write("bin/sbatch", "#!/bin/sh\n/usr/bin/sbatch \"$@\" > /dev/null\nsleep 60\n");
    world.command("chmod", ["+x", "bin/sbatch"]).status().unwrap();
    world.set("PATH", &format!("{}:{}", world.path("bin").display(), std::env::var("PATH").unwrap()));
    let interrupted = || {
        let mut command = world.command(env!("CARGO_BIN_EXE_poise"), ["run", "s.toml", "--format", "json"]);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let begun = Instant::now();
        while !world.path("made").exists() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{}", cluster.command("squeue", &[]));
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut events = std::io::BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        if !world.path("bin/sbatch").exists() {
            events.find(|line| line.contains("\"event\":\"run\"")).unwrap();
        }
        let begun = Instant::now();
        assert!(std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        let ended = child.wait_with_output().unwrap();
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        assert_eq!(ended.status.code(), Some(130));
        String::from_utf8_lossy(&ended.stderr).into_owned()
    };
    cluster.wait_until_idle();
    let told = interrupted();
    let name = cluster.command("squeue", &["--noheader", "--format=%j"]);
    assert!(name.starts_with("poise-") && told.contains(&format!("`scancel --name={name}` ends it")), "{name}: {told}");
    std::fs::remove_file(world.path("bin/sbatch")).unwrap();
    let told = interrupted();
    let job = cluster.command("squeue", &["--noheader", "--format=%F"]);
    assert!(told.contains(&format!("`scancel {job}` ends them")), "{job}: {told}");
    world.write("go", "");
    world.poise(["run", "s.toml"]).status(0);
    assert_eq!(world.read("made"), "1\n", "nothing was submitted twice");
}

/// What the bar says while jobs are held in the queue; `script` of util-linux gives the command a terminal.
fn the_bar_tells_why_runs_are_pending(cluster: &Cluster, world: &World) {
    let mut command =
        world.command("script", ["-qec", "stty rows 40 columns 150; poise run s.toml -o seen", "/dev/null"]);
    command.env("TERM", "xterm").stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The bar is drawn again and again in one line.
    let frames = std::io::BufReader::new(child.stdout.take().unwrap()).split(b'\r');
    let mut frames = frames.map(|frame| String::from_utf8_lossy(&frame.unwrap()).into_owned());
    let seen = frames.find(|frame| frame.contains("pending")).unwrap();
    assert!(seen.contains("0 done, 0 failed, 2 to do; 2 pending (JobHeldUser)"), "{seen:?}");
    // A line for each job.
    let jobs = cluster.command("squeue", &["--noheader", "--format=%F"]);
    cluster.command("scancel", &jobs.lines().collect::<Vec<_>>());
    frames.for_each(drop);
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

/// Held in the queue they are told as pending, and cancelled together as cancelled each.
fn arrays_that_never_began_are_told(cluster: &Cluster) {
    let world = on(cluster);
    world.write(
        "s.toml",
        "executor = \"slurm\"\ncommand = [\"true\", \"{n}\"]\ncollect = \"elapsed\"\n[parameters]\nn = [1, 2]\n\
         [slurm]\npoll_seconds = 1\noptions = [\"--hold\"]\n",
    );
    let mut command = world.command(env!("CARGO_BIN_EXE_poise"), ["run", "s.toml", "--format", "json"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut events = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    let pending = events.by_ref().map(Result::unwrap).find(|line| line.contains("pending")).unwrap();
    let pending: serde_json::Value = serde_json::from_str(&pending).unwrap();
    assert_eq!(pending, serde_json::json!({"event": "pending", "runs": 2, "reason": "JobHeldUser"}));
    let job = cluster.command("squeue", &["--noheader", "--format=%F"]);
    // By its tasks, since others of an array may run.
    let note = events.by_ref().map(Result::unwrap).find(|line| line.contains("\"event\":\"note\"")).unwrap();
    assert!(note.contains(&format!("`scancel {job}_0 {job}_1` gives their runs up")), "{note}");
    cluster.command("scancel", &[&job]);
    let rest: Vec<String> = events.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(5), "{rest:?}");
    assert!(!rest.iter().any(|line| line.contains("\"event\":\"run\"")), "none has begun: {rest:?}");
    // By Slurm's books, in which they have one line.
    let booked = cluster.command("sacct", &["--noheader", "--allocations", "--format=JobID%20", "--jobs", &job]);
    assert_eq!(booked, format!("{job}_[0-1]"));
    for run in ["n1.r1", "n2.r1"] {
        let record = world.json(&format!("s.runs/{run}/run.json"));
        assert_eq!(record["cause"], "killed-by-launcher");
        assert_eq!(record["reason"], "Its job was cancelled.");
        assert!(record["exit_status"].is_null(), "{record}");
    }
    the_bar_tells_why_runs_are_pending(cluster, &world);
}

/// A launcher that starts what it needs by srun and does not tell why that ended.
fn a_step_without_memory_is_told_where_the_launcher_does_not(cluster: &Cluster) {
    let world = on(cluster);
    let script = "srun --nodes=1 --ntasks=1 perl -e '$x = \\\"a\\\" x 300000000; sleep 300' 2>/dev/null; exit 205";
    world.write(
        "s.toml",
        &format!(
            "executor = \"slurm\"\ncommand = [\"sh\", \"-c\", \"{script}\", \"{{n}}\"]\ncollect = \"elapsed\"\n\
             [parameters]\nn = [1]\n[slurm]\npoll_seconds = 1\nnodes = 2\noptions = [\"--mem=100\", \"--ntasks=2\"]\n"
        ),
    );
    world.poise(["run", "s.toml"]).status(5);
    let record = world.json("s.runs/n1.r1/run.json");
    let reason = record["reason"].as_str().unwrap();
    assert!(reason.starts_with("It ended with status 205. Slurm or the kernel killed its step "), "{reason}");
    assert_eq!(record["cause"], "out-of-memory", "{reason}");
    assert!(reason.contains("had 100 MiB on each node"), "{reason}");
}

/// Jobs that end before they call poise: for each kind its cause and what the reason says of the state, and the job's number.
/// `act` is called with the kinds of those that wait for their end and their jobs.
fn ends_of_jobs(
    cluster: &Cluster,
    kinds: &[&str],
    act: &dyn Fn(&str, &str),
) -> (Vec<(String, String, String)>, Vec<String>) {
    let mut world = on(cluster);
    // squeue, sbatch and sacct, but not scontrol, where there are accounts.
    let commands = ["squeue", "sbatch", "scancel", if cluster.has_accounts() { "sacct" } else { "scontrol" }];
    std::fs::create_dir(world.path("bin")).unwrap();
    for command in commands {
        std::os::unix::fs::symlink(format!("/usr/bin/{command}"), world.path(&format!("bin/{command}"))).unwrap();
    }
    world.set("PATH", world.path("bin").to_str().unwrap());
    let named: Vec<String> = kinds.iter().map(|kind| format!("\"{kind}\"")).collect();
    world.write(
        "s.toml",
        &format!(
            "executor = \"slurm\"\ncommand = [\"/bin/true\", \"{{kind}}\", \"{{n}}\"]\ncollect = \"elapsed\"\n\
             where = \"(kind == 'node') == (at == 'n4')\"\n\
             [parameters]\nn = [1]\nkind = [{}]\nat = [\"n1\", \"n4\"]\n\
             [slurm]\nsubmit = \"jobs\"\npoll_seconds = 1\n\
             options = [\"--export=ALL,KIND={{kind}}\", \"--no-requeue\", \"--mem=100\", \"--nodelist={{at}}\"]\n\
             preamble = [\"export PATH=/usr/bin:/bin\", \"echo $SLURM_JOB_ID > $KIND.new; mv $KIND.new $KIND.job\", '''case $KIND in \
             completed) exit 0;; failed) exit 7;; memory) perl -e '$x = \"a\" x 300000000; sleep 300';; killed) kill -9 $$;; *) sleep 300;; esac''']\n",
            named.join(", ")
        ),
    );
    let mut child = world.command(env!("CARGO_BIN_EXE_poise"), ["run", "s.toml"]).spawn().unwrap();
    let job = |kind: &&str| {
        let begun = Instant::now();
        while !world.path(&format!("{kind}.job")).exists() {
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "{kind} never began: {}",
                cluster.command("squeue", &[])
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        world.read(&format!("{kind}.job")).trim().to_owned()
    };
    let jobs: Vec<String> = kinds.iter().map(job).collect();
    kinds.iter().zip(&jobs).for_each(|(kind, job)| act(kind, job));
    assert_eq!(child.wait().unwrap().code(), Some(5));
    let end = |kind: &&str| {
        let at = if *kind == "node" { "n4" } else { "n1" };
        let record = world.json(&format!("s.runs/kind={kind},at={at}/n1.r1/run.json"));
        let reason = record["reason"].as_str().unwrap().to_owned();
        let known = [
            "(COMPLETED)",
            "(FAILED, status 7)",
            "ended its job for want of memory",
            "9 (SIGKILL), perhaps for want of memory",
            "was cancelled",
            "A node of its job failed",
            "at the time limit",
        ];
        let said =
            known.iter().find(|words| reason.contains(**words)).map_or(reason.clone(), |words| (*words).to_owned());
        ((*kind).to_owned(), record["cause"].as_str().unwrap().to_owned(), said)
    };
    (kinds.iter().map(end).collect(), jobs)
}

fn values_arrive_as_written(cluster: &Cluster) {
    let world = on(cluster);
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/echo.c");
    world.poise(["cc", "-O1", source.to_str().unwrap(), "-o", "echo"]).status(0);
    world.write("input.in", "value = {value}\n");
    let odd = [
        "two  words",
        "it's \"quoted\"",
        "; touch harm && $(touch harm) `touch harm` | * ?",
        "line\nbreak",
        "%a %% \\ {n}",
    ];
    let values: Vec<String> = odd.iter().map(|text| serde_json::to_string(text).unwrap()).collect();
    for submit in ["array", "jobs"] {
        world.write(
            "s.toml",
            &format!(
                "executor = \"slurm\"\ncommand = [\"./echo\", \"{{value}}\", \"{{n}}\", \"@{{input.nml}}\"]\nrepetitions = 2\n\
                 [environment]\nVALUE = \"<{{value}}>\"\n[files]\n\"input.nml\" = \"input.in\"\n[parameters]\nn = [7]\nvalue = [{}]\n\
                 [slurm]\nsubmit = \"{submit}\"\npoll_seconds = 1\npreamble = [\"export FROM_PREAMBLE='a b'\"]\n",
                values.join(", ")
            ),
        );
        // A folder that a script would have to quote.
        let results = format!("it's 100% {submit}");
        let ran = world.poise(["run", "s.toml", "-o", &results]).status(0);
        assert!(ran.stdout.contains("10 runs are complete"), "{}", ran.stdout);
        let mut seen = Vec::new();
        for group in world.names(&results).into_iter().filter(|name| !name.starts_with('.')) {
            let record = world.json(&format!("{results}/{group}/n7.r2/run.json"));
            let value = record["factors"]["value"].as_str().unwrap().to_owned();
            let printed = world.read(&format!("{results}/{group}/n7.r2/stdout.txt"));
            let words: Vec<&str> = printed.split('\0').collect();
            let expected = [&value, "7", words[2], &format!("<{value}>"), &format!("value = {value}\n")];
            assert_eq!(words, expected);
            assert!(words[2].starts_with('@') && words[2].ends_with("/input.nml"), "{}", words[2]);
            assert!(record["environment"]["SLURM_JOB_ID"].is_string(), "{record}");
            seen.push(value);
        }
        seen.sort();
        let mut expected = odd.to_vec();
        expected.sort_unstable();
        assert_eq!(seen, expected);
        assert_eq!(world.names(&format!("{results}/.slurm")), Vec::<String>::new(), "nothing is left of the jobs");
    }
    assert!(!world.path("harm").exists(), "no shell has read a value");
}

fn ranks_are_placed_as_asked(cluster: &Cluster) {
    let world = on(cluster);
    world.write(
        "s.toml",
        "executor = \"slurm\"\nlauncher = \"srun\"\ncommand = [\"sh\", \"-c\", \
         \"echo $SLURMD_NODENAME $SLURM_NTASKS $SLURM_CPUS_PER_TASK >> $0/places\", \"{folder}\"]\n\
         collect = \"elapsed\"\nthreads = 2\n[parameters]\np = [2, 4]\n\
         [slurm]\nnodes = \"p / 2\"\ntasks_per_node = 2\npoll_seconds = 1\n",
    );
    world.poise(["run", "s.toml"]).status(0);
    for (p, nodes) in [(2, 1), (4, 2)] {
        let places = world.read(&format!("s.runs/p{p}.r1/places"));
        let mut lines: Vec<&str> = places.lines().collect();
        assert_eq!(lines.len(), p, "{places}");
        assert!(lines.iter().all(|line| line.ends_with(&format!(" {p} 2"))), "{places}");
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), nodes, "{places}");
    }
}

/// Every job takes the whole cluster, and the cluster prefers the points with small n.
fn one_repetition_follows_the_other(cluster: &Cluster) {
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

/// All are held, so that they stay as they were submitted.
fn a_repetition_waits_by_as_many_dependencies_as_jobs(cluster: &Cluster) {
    const POINTS: usize = 6;
    let world = on(cluster);
    world.write(
        "s.toml",
        "executor = \"slurm\"\ncommand = [\"true\", \"{p}\"]\ncollect = \"elapsed\"\nrepetitions = 3\n\
         [parameters]\np = { from = 1, to = 6, step = 1 }\n\
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
fn a_point_that_failed_leaves_the_queue_and_the_order_stays(cluster: &Cluster) {
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

/// What somebody holds (`sbatch -H`), and what wants a node that is away.
fn jobs_that_may_wait_for_ever_are_told(cluster: &Cluster) {
    let world = on(cluster);
    world.write(
        "s.toml",
        "executor = \"slurm\"\ncommand = [\"sh\", \"-c\", \"echo $0 >> made\", \"{how}\", \"{n}\"]\ncollect = \"elapsed\"\nrepetitions = 2\n\
         [parameters]\nn = [1]\nhow = [\"-k\", \"-H\", \"-wn4\"]\n\
         [slurm]\nsubmit = \"jobs\"\npoll_seconds = 1\noptions = [\"{how}\"]\n",
    );
    cluster.command("scontrol", &["update", "NodeName=n4", "State=DRAIN", "Reason=repair"]);
    let mut command = world.command(env!("CARGO_BIN_EXE_poise"), ["run", "s.toml", "--format", "json"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut events = std::io::BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut note = || {
        let note = events.find(|line| line.contains("\"event\":\"note\"")).unwrap();
        let note: serde_json::Value = serde_json::from_str(&note).unwrap();
        note["text"].as_str().unwrap().to_owned()
    };
    // Jobs of the second repetition may be told by themselves.
    let mut told: Vec<String> = Vec::new();
    let (held, away) = loop {
        told.push(note());
        let of = |reason: &str| told.iter().find(|text| text.contains(reason));
        if let (Some(held), Some(away)) = (of(": JobHeldUser. "), of("ReqNodeNotAvail")) {
            break (held.clone(), away.clone());
        }
    };
    assert!(away.contains("Later repetitions of all points wait with them. `scancel "), "{away}");
    let between = |text: &str, from: &str, to: &str| {
        let (_, rest) = text.split_once(from).unwrap_or_else(|| panic!("{text}"));
        rest.split_once(to).unwrap_or_else(|| panic!("{text}")).0.to_owned()
    };
    let begun = Instant::now();
    while world.path("made").metadata().map_or(0, |file| file.len()) < 3 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", cluster.command("squeue", &[]));
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(world.read("made"), "-k\n", "the second repetition waits");
    for job in between(&held, "`scontrol release ", "` lets them begin").split(' ') {
        cluster.command("scontrol", &["release", job]);
    }
    cluster.command("scancel", &[&between(&away, "`scancel ", "` gives their runs up")]);
    let begun = Instant::now();
    while world.read("made").lines().count() < 4 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", cluster.command("squeue", &[]));
        // The second repetition, where it was not held yet.
        for line in cluster.command("squeue", &["--noheader", "--format=%i|%r"]).lines() {
            if let Some((job, "JobHeldUser")) = line.split_once('|') {
                cluster.command("scontrol", &["release", job]);
            }
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    cluster.command("scontrol", &["update", "NodeName=n4", "State=RESUME"]);
    events.for_each(drop);
    assert_eq!(child.wait().unwrap().code(), Some(5));
    let record = world.json("s.runs/how=-wn4/n1.r1/run.json");
    assert_eq!(record["cause"], "killed-by-launcher", "{record}");
    let record = world.json("s.runs/how=-wn4/n1.r2/run.json");
    assert_eq!(record["status"], "complete", "its job was cancelled, which says nothing of the point: {record}");

    // A dependency of the user's own that nothing can satisfy any more.
    let dead = cluster.command("sbatch", &["--parsable", "--output=/dev/null", "--wrap", "exit 1"]);
    cluster.wait_until_idle();
    world.write(
        "s.toml",
        &format!(
            "executor = \"slurm\"\ncommand = [\"true\", \"{{n}}\"]\ncollect = \"elapsed\"\n[parameters]\nn = [1]\n\
             [slurm]\npoll_seconds = 1\noptions = [\"--dependency=afterok:{dead}\"]\n"
        ),
    );
    world.poise(["run", "s.toml", "-o", "never"]).status(5);
    let record = world.json("never/n1.r1/run.json");
    assert_eq!(record["cause"], "cannot-start", "{record}");
    assert!(record["reason"].as_str().unwrap().contains("would never start it: DependencyNeverSatisfied."), "{record}");
}

/// Every job takes the whole cluster and ends at once.
fn runs_that_follow_each_other_are_not_told_as_simultaneous(cluster: &Cluster) {
    let world = on(cluster);
    world.write(
        "s.toml",
        "executor = \"slurm\"\ncommand = [\"true\", \"{n}\"]\ncollect = \"elapsed\"\nranks = 1\n\
         [parameters]\nn = { from = 1, to = 8, step = 1 }\n\
         [slurm]\nsubmit = \"jobs\"\npoll_seconds = 1\nnodes = 1\noptions = [\"--exclusive\", \"--nodelist=n1\"]\n",
    );
    let ran = world.poise(["run", "s.toml", "--format", "json"]).status(0);
    let events = ran.stdout.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let kinds: Vec<String> = events.map(|event| event["event"].as_str().unwrap().to_owned()).collect();
    let runs: Vec<&str> = kinds.iter().map(String::as_str).filter(|kind| ["run", "ended"].contains(kind)).collect();
    assert_eq!(runs, ["run", "ended"].repeat(8), "one after the other");
}

/// Six runs that end when all have begun.
fn the_time_left_is_that_of_jobs_beside_each_other(cluster: &Cluster) {
    let world = on(cluster);
    world.write(
        "s.toml",
        "executor = \"slurm\"\ncommand = [\"sh\", \"-c\", \"touch on.$0; while test $(ls on.* | wc -l) -lt 6; do sleep 0.1; done; sleep 3\", \
         \"{n}\"]\ncollect = \"elapsed\"\nranks = 1\n[parameters]\nn = { from = 1, to = 6, step = 1 }\n[slurm]\nsubmit = \"jobs\"\npoll_seconds = 60\n",
    );
    let ran = world.poise(["run", "s.toml", "--format", "json"]).status(0);
    let events: Vec<serde_json::Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| events.iter().filter(|event| event["event"] == kind).collect::<Vec<_>>();
    assert!(of("begin")[0]["seconds_left"].is_null(), "nobody knows how many run at a time: {}", of("begin")[0]);
    let first = of("ended")[0];
    let (left, one) = (first["seconds_left"].as_f64().unwrap(), first["seconds"].as_f64().unwrap());
    assert!(left < 1.5 * one && first["left"] == 5, "the others ran at the same time: {first}");
}

/// Their number is told by PMIx and srun, and the time limit is short.
fn ranks_of_srun_that_wait_for_each_other_hang(cluster: &Cluster) {
    let world = on(cluster);
    world.compile("mpicc.openmpi", "deadlock.c", "deadlock");
    world.write(
        "s.toml",
        "executor = \"slurm\"\nlauncher = [\"srun\", \"--mpi=pmix\", \"-n\", \"{ranks}\"]\ncommand = [\"./deadlock\"]\n\
         time_limit = 11\n[parameters]\np = [2]\n[slurm]\npoll_seconds = 1\n",
    );
    world.poise(["run", "s.toml"]).status(5);
    let record = world.json("s.runs/p2.r1/run.json");
    assert_eq!(record["cause"], "hangs", "{record}");
    let reason = record["reason"].as_str().unwrap();
    assert!(reason.contains("each of its 2 ranks had been within one MPI call for 3 s"), "{reason}");
    // Without it each rank is alone.
    world.write("s.toml", &world.read("s.toml").replace("\"--mpi=pmix\", ", ""));
    let ran = world.poise(["run", "s.toml", "-o", "alone"]).status(5);
    assert_eq!(world.json("alone/p2.r1/run.json")["cause"], "cannot-start", "{}", ran.stderr);
    assert!(ran.stderr.contains("it wants `srun --mpi=pmix`"), "{}", ran.stderr);
}

fn jobs_outlive_the_call(cluster: &Cluster) {
    let world = on(cluster);
    world.write(
        "s.toml",
        "executor = \"slurm\"\ncommand = [\"sh\", \"-c\", \"echo $0 >> made; sleep 3\", \"{n}\"]\ncollect = \"elapsed\"\n\
         [parameters]\nn = [1, 2, 3]\n[slurm]\npoll_seconds = 1\n",
    );
    let mut child = world.command(env!("CARGO_BIN_EXE_poise"), ["run", "s.toml"]).spawn().unwrap();
    let begun = Instant::now();
    while world.path("made").metadata().map_or(0, |file| file.len()) < 6 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", cluster.command("squeue", &[]));
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let ran = world.poise(["run", "s.toml"]).status(0);
    assert!(ran.stdout.contains("3 runs are complete"), "{}", ran.stdout);
    let mut made: Vec<String> = world.read("made").lines().map(str::to_owned).collect();
    made.sort();
    assert_eq!(made, ["1", "2", "3"], "nothing was submitted twice");
}

fn an_outage_of_the_controller_is_told_once(cluster: &mut Cluster) {
    let world = on(cluster);
    world.write(
        "s.toml",
        "executor = \"slurm\"\ncommand = [\"sh\", \"-c\", \"touch began; while ! test -e go; do sleep 0.1; done\", \"{n}\"]\n\
         collect = \"elapsed\"\n[parameters]\nn = [1]\n[slurm]\npoll_seconds = 1\n",
    );
    let mut command = world.command(env!("CARGO_BIN_EXE_poise"), ["run", "s.toml", "--format", "json"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while !world.path("began").exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", cluster.command("squeue", &[]));
        std::thread::sleep(Duration::from_millis(20));
    }
    cluster.stop_controller();
    let mut events = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    let is_note = |line: &String| line.contains("\"event\":\"note\"");
    let note = events.by_ref().map(Result::unwrap).find(is_note).unwrap();
    let told =
        ["Slurm's controller does not answer; waiting.", "Slurm's controller has not answered for 5 s; waiting."];
    assert!(told.iter().any(|text| note.contains(text)), "{note}");
    cluster.start_controller();
    while cluster.command("squeue", &["--noheader", "--format=%T"]) != "RUNNING" {
        assert!(begun.elapsed() < Duration::from_secs(120), "{}", cluster.command("squeue", &[]));
        std::thread::sleep(Duration::from_millis(100));
    }
    world.write("go", "");
    let rest: Vec<String> = events.map(Result::unwrap).collect();
    assert!(child.wait().unwrap().success() && !rest.iter().any(is_note), "{rest:?}");
}

/// The cluster's `MaxArraySize` is 4. Each run notes how many are running, itself included.
fn arrays_are_as_long_as_the_cluster_takes(cluster: &Cluster) {
    assert!(cluster.command("scontrol", &["show", "config"]).contains("MaxArraySize            = 4\n"));
    let world = on(cluster);
    world.write(
        "s.toml",
        "executor = \"slurm\"\ncommand = [\"sh\", \"-c\", \
         \"echo $SLURM_ARRAY_JOB_ID >> arrays; mkdir -p on/$0; ls on | wc -l >> most; sleep 1; rmdir on/$0\", \"{n}\"]\n\
         collect = \"elapsed\"\n[parameters]\nn = { from = 1, to = 6, step = 1 }\n[slurm]\npoll_seconds = 1\nat_once = 2\n",
    );
    let plan = world.poise(["run", "s.toml", "--dry-run"]).status(0).stdout;
    let job = "job: sbatch --time=12 --array=0-3%2 --ntasks=1 --cpus-per-task=1\n    2 array jobs, 6 runs: n1 n2 n3 n4 n5 n6\n";
    assert!(plan.contains(job), "{plan}");
    let ran = world.poise(["run", "s.toml"]).status(0);
    assert!(ran.stdout.contains("6 runs are complete"), "{}", ran.stdout);
    let mut arrays: Vec<String> = world.read("arrays").lines().map(str::to_owned).collect();
    arrays.sort();
    let sizes: Vec<usize> = arrays.chunk_by(|a, b| a == b).map(<[String]>::len).collect();
    assert_eq!(sizes, [4, 2], "{arrays:?}");
    let most = world.read("most").lines().map(|line| line.trim().parse::<u32>().unwrap()).max();
    assert_eq!(most, Some(2), "of both arrays together");
}

fn what_cannot_run_is_told(cluster: &Cluster) {
    let world = on(cluster);
    let script = "case $0 in 1) exit 0;; 2) exit 3;; 3) echo Cannot allocate memory >&2; exit 1;; 4) scancel $SLURM_JOB_ID; sleep 60;; esac";
    world.write(
        "s.toml",
        &format!(
            "executor = \"slurm\"\ncommand = [\"sh\", \"-c\", \"{script}\", \"{{n}}\"]\ncollect = \"elapsed\"\n\
             ranks = \"1 + 8 * floor(n / 5)\"\n[parameters]\nn = [1, 2, 3, 4, 5]\n\
             [slurm]\nnodes = \"1 + 8 * floor(n / 5)\"\npoll_seconds = 1\nsubmit = \"jobs\"\n"
        ),
    );
    world.poise(["run", "s.toml"]).status(5);
    let cause = |n: u32| world.json(&format!("s.runs/n{n}.r1/run.json"))["cause"].as_str().unwrap_or("").to_owned();
    assert_eq!(
        [1, 2, 3, 4, 5].map(cause),
        ["", "exit-status", "out-of-memory", "killed-by-launcher", "too-many-ranks"]
    );
    let reason = world.json("s.runs/n5.r1/run.json")["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("It asked for `--time=12 --ntasks=9 --cpus-per-task=1 --nodes=9`"), "{reason}");
    cluster.wait_until_idle();
    let hidden = world.names("s.runs").into_iter().filter(|name| name.starts_with(".task-")).count();
    assert_eq!(hidden, 0, "nothing half-made is left");

    world.write(
        "s.toml",
        "executor = \"slurm\"\ncommand = [\"true\", \"{n}\"]\n[parameters]\nn = [1]\n[slurm]\npartition = \"nope\"\n",
    );
    let refused = world.poise(["run", "s.toml", "-o", "other"]).status(2);
    assert!(refused.stderr.contains("sbatch refused the job: invalid partition specified: nope"), "{}", refused.stderr);
}
