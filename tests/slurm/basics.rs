//! What runs as jobs get and leave: values that arrive as written, geometry, arrays, and what is told of them on the way.

use std::time::{Duration, Instant};

use crate::cluster::Cluster;
use crate::on;

pub fn values_arrive_as_written(cluster: &Cluster) {
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

pub fn ranks_are_placed_as_asked(cluster: &Cluster) {
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

/// The cluster's `MaxArraySize` is 4. Each run notes how many are running, itself included.
pub fn arrays_are_as_long_as_the_cluster_takes(cluster: &Cluster) {
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

/// Every job takes the whole cluster and ends at once.
pub fn runs_that_follow_each_other_are_not_told_as_simultaneous(cluster: &Cluster) {
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
pub fn the_time_left_is_that_of_jobs_beside_each_other(cluster: &Cluster) {
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

pub fn jobs_outlive_the_call(cluster: &Cluster) {
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
