//! How jobs end that leave no complete run, each named by what happened to it.

use std::time::{Duration, Instant};

use crate::cluster::Cluster;
use crate::on;

pub fn what_cannot_run_is_told(cluster: &Cluster) {
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

/// The line fails for one of two points, within a condition of two lines.
pub fn a_line_of_the_preamble_that_fails_is_told(cluster: &Cluster) {
    let world = on(cluster);
    world.write("setup.sh", "false\nexport GREETING='a b'\n");
    world.write(
        "s.toml",
        "executor = \"slurm\"\ncommand = [\"sh\", \"-c\", \"echo $GREETING $0 >> made\", \"{n}\"]\ncollect = \"elapsed\"\n\
         [parameters]\nn = [1, 2]\n[slurm]\nsubmit = \"jobs\"\npoll_seconds = 1\noptions = [\"--export=ALL,N={n}\"]\n\
         preamble = [\"source ./setup.sh\", \"if test $N = 2; then\", \"  ls nothere.d\", \"fi\"]\n",
    );
    world.poise(["run", "s.toml"]).status(5);
    assert_eq!(world.read("made"), "a b 1\n");
    let record = world.json("s.runs/n2.r1/run.json");
    let reason = record["reason"].as_str().unwrap();
    assert_eq!(record["cause"], "cannot-start", "{reason}");
    assert!(reason.starts_with("Line 3 of the job's preamble, `ls nothere.d`, failed with status 2;"), "{reason}");
    assert!(reason.contains("nothere.d") && reason.contains("No such file"), "{reason}");
    cluster.wait_until_idle();
}

/// Their number is told by PMIx and srun, and the time limit is short.
pub fn ranks_of_srun_that_wait_for_each_other_hang(cluster: &Cluster) {
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

/// What a signal kills behind plain `srun poise preload` says nothing itself: a process beside rank 0 does, also where srun then kills all ranks of the step.
pub fn a_rank_that_a_signal_kills_is_told(cluster: &Cluster) {
    let mut world = on(cluster);
    world.set("POISE_CHECKPOINT", "0.1");
    for (mpi, plugin) in [("openmpi", "pmix"), ("mpich", "pmi2")] {
        world.compile(&format!("mpicc.{mpi}"), "killed.c", &format!("killed.{mpi}"));
        for (rank, flags) in [("1", &["--kill-on-bad-exit=1"][..]), ("0", &["--kill-on-bad-exit=1"]), ("none", &[])] {
            let profile = format!("{mpi}.{rank}.poise");
            world.set("POISE_PROFILE", &profile);
            let (plugin, program) = (format!("--mpi={plugin}"), format!("./killed.{mpi}"));
            let command = [flags, &["--ntasks=2", &plugin, "poise", "preload", &program, rank]].concat();
            let ended = world.command("srun", command).output().unwrap();
            let stderr = String::from_utf8_lossy(&ended.stderr);
            let said: Vec<&str> = stderr.lines().filter(|line| line.contains("poise: ")).collect();
            if rank == "none" {
                assert!(ended.status.success() && said.is_empty() && world.path(&profile).exists(), "{mpi}: {stderr}");
                assert!(!world.path(&format!("{profile}.failed")).exists());
                continue;
            }
            assert!(!ended.status.success() && !world.path(&profile).exists(), "{mpi}: {stderr}");
            cluster.wait_until_idle();
            let left = world.path(&format!("{profile}.failed"));
            let line = std::fs::read_to_string(&left).unwrap_or_else(|error| panic!("{mpi} {rank}: {error}: {stderr}"));
            assert!(line.contains("this run has no profile") && line.contains("2 ranks"), "{mpi} {rank}: {line}");
            assert!(said.len() == 1 && said[0].ends_with(line.trim_end()), "{mpi} {rank}: {said:?}");
        }
    }
}

/// A launcher that starts what it needs by srun and does not tell why that ended.
pub fn a_step_without_memory_is_told_where_the_launcher_does_not(cluster: &Cluster) {
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
pub fn ends_of_jobs(
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
