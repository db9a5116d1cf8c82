//! `poise run` on a real Slurm cluster: values that arrive as written, geometry, jobs that outlive the call that
//! submitted them, and what happens to jobs that cannot run or are taken away.

#[path = "common/cluster.rs"]
mod cluster;
mod common;

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
    let cluster = Cluster::start();
    values_arrive_as_written(&cluster);
    ranks_are_placed_as_asked(&cluster);
    jobs_outlive_the_call(&cluster);
    what_cannot_run_is_told(&cluster);
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
