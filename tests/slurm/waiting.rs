//! What does not begin, or not yet: jobs that the cluster or its controller does not take, and those that stay in the queue.

use std::io::BufRead as _;
use std::time::{Duration, Instant};

use crate::cluster::Cluster;
use crate::common::World;
use crate::on;

/// A job of two tasks at most is taken, and the next when a run has made room.
pub fn submit_limits_are_waited_for(cluster: &Cluster) {
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
pub fn what_sbatch_waits_for_is_told_and_can_be_interrupted(cluster: &Cluster) {
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

/// A script of the site's around sbatch, whose answer is lost: after it has taken the job, before, or each time.
pub fn a_job_of_which_sbatch_had_no_answer_is_made_once(cluster: &Cluster) {
    let mut world = on(cluster);
    world.write(
        "s.toml",
        "executor = \"slurm\"\ncommand = [\"sh\", \"-c\", \"echo $0 >> made\", \"{n}\"]\ncollect = \"elapsed\"\n[parameters]\nn = [1]\n\
         [slurm]\npoll_seconds = 1\n",
    );
    std::fs::create_dir(world.path("bin")).unwrap();
    world.set("PATH", &format!("{}:{}", world.path("bin").display(), std::env::var("PATH").unwrap()));
    let lost = "echo asked >> asked; echo 'sbatch: error: Batch job submission failed: Socket timed out on send/recv operation' >&2; exit 1";
    let run = |results: &str, script: &str| {
        for file in ["asked", "made"] {
            let _ = std::fs::remove_file(world.path(file));
        }
        world.write("bin/sbatch", &format!("#!/bin/sh\n{script}\n{lost}\n"));
        world.command("chmod", ["+x", "bin/sbatch"]).status().unwrap();
        let ran = world.poise(["run", "s.toml", "-o", results]);
        let lines = |file: &str| if world.path(file).exists() { world.read(file).lines().count() } else { 0 };
        (ran.status, ran.stderr, lines("asked"), lines("made"))
    };
    let told = "sbatch had no answer: Batch job submission failed: Socket timed out on send/recv operation";
    let (status, said, asked, made) = run("after", "/usr/bin/sbatch \"$@\" > /dev/null");
    assert_eq!((status, asked, made), (Some(0), 1, 1), "{said}");
    assert_eq!(said.matches(told).count(), 1, "{said}");
    let (status, said, asked, made) = run("before", "test -e asked && exec /usr/bin/sbatch \"$@\"");
    assert_eq!((status, asked, made), (Some(0), 1, 1), "{said}");
    let (status, said, asked, made) = run("never", "");
    assert_eq!((status, asked, made), (Some(2), 5, 0), "{said}");
    assert_eq!(world.names("never/.slurm"), Vec::<String>::new());
    assert!(said.contains(told), "{said}");
}

/// A script of the site's around sbatch, which has submitted the job and has not said so when the user interrupts.
pub fn a_job_whose_sbatch_was_interrupted_is_taken_up(cluster: &Cluster) {
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

pub fn an_outage_of_the_controller_is_told_once(cluster: &mut Cluster) {
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

/// What somebody holds (`sbatch -H`), and what wants a node that is away.
pub fn jobs_that_may_wait_for_ever_are_told(cluster: &Cluster) {
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

/// Held in the queue they are told as pending, and cancelled together as cancelled each.
pub fn arrays_that_never_began_are_told(cluster: &Cluster) {
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
