//! The whole pipeline: `poise demo` works, and does not where any part of the chain is missing.

mod common;

use common::World;
use poise_profile::{Metric, Profile};
use serde_json::Value;

#[test]
fn the_demo_finds_every_growth_from_what_it_measures() {
    let world = World::new();
    let demo = world.poise(["demo", "--out", "demo", "--format", "json"]).status(0);
    let result: Value = serde_json::from_str(&demo.stdout).unwrap();
    let rows = result["callpaths"].as_array().unwrap();
    for operation in ["MPI_Bcast", "MPI_Allreduce"] {
        assert!(rows.iter().any(|r| r["callpath"].as_array().unwrap().last().unwrap() == operation), "{operation}");
    }
    assert!(rows.iter().filter(|r| r["kind"] == "computation").count() >= 4);
    for row in rows {
        assert_eq!(row["effort"]["exponent_deviation"], serde_json::json!({"n": 0.0, "p": 0.0}), "{row}");
        for side in ["effort", "time_only"] {
            assert!(row[side]["predicted"].as_f64().unwrap() > 0.0, "{row}");
        }
        assert!(row["measured"].as_f64().unwrap() > 0.0, "{row}");
    }

    let runs = world.names("demo/runs");
    assert_eq!(runs.len(), 25, "5 values of p times 5 of n");
    assert_eq!(world.names("demo/test").len(), 1, "the unseen point");
    assert_eq!(world.json(&format!("demo/runs/{}/run.json", runs[0]))["status"], "complete");

    // The nested function runs n times p inner iterations: counts differ by a constant number of blocks for each.
    let blocks = |p: u64| {
        let profile = Profile::read(world.path(&format!("demo/runs/p{p}.n50000.r1/profile.poise"))).unwrap();
        let is_nested = |node: u32| profile.regions[profile.nodes[node as usize].region as usize].name == "nested";
        let found = profile.values.iter().find(|((node, m), _)| *m == Metric::BasicBlocks && is_nested(*node)).unwrap();
        (found.1.minimum.0, found.1.maximum.0)
    };
    let (least, most) = blocks(8);
    assert_eq!(least, most, "every rank does the same work");
    let per_iteration = (blocks(8).0 - blocks(4).0) / (4 * 50_000);
    assert_eq!((blocks(8).0 - blocks(4).0) % (4 * 50_000), 0);
    assert_eq!(blocks(32).0 - blocks(16).0, 16 * 50_000 * per_iteration);

    let page = world.read("demo/report.html");
    assert!(page.matches("<svg").count() >= rows.len(), "a plot per call path");
    assert!(page.contains("Models against the truth"));
}

#[test]
fn a_missing_library_compiler_or_mpi_is_named_before_anything_is_written() {
    let built = std::path::Path::new(env!("CARGO_BIN_EXE_poise")).parent().unwrap();
    for missing in ["libpoise_pass.so", "libpoise_runtime.so", "libpoise_mpi.so"] {
        let world = World::new();
        // A copy of the program in a folder that lacks one of its libraries.
        std::fs::create_dir(world.path("bin")).unwrap();
        for file in ["poise", "libpoise_pass.so", "libpoise_runtime.so", "libpoise_mpi.so"] {
            if file != missing {
                std::fs::copy(built.join(file), world.path("bin").join(file)).unwrap();
            }
        }
        let program = world.path("bin/poise");
        let output = world.command(program.to_str().unwrap(), ["demo", "--out", "demo"]).output().unwrap();
        let failed = common::outcome(output).status(2);
        assert!(failed.stderr.contains(missing), "{}", failed.stderr);
        assert!(!world.path("demo").exists());
    }
    let mut world = World::new();
    world.set("PATH", "/nowhere");
    let failed = world.poise(["demo", "--out", "demo"]).status(2);
    assert!(failed.stderr.contains("apt install libopenmpi-dev"), "{}", failed.stderr);
    assert!(!world.path("demo").exists());
}

#[test]
fn results_go_into_a_new_folder_or_nowhere() {
    let world = World::new();
    std::fs::create_dir(world.path("taken")).unwrap();
    for folder in ["taken", "/proc/nowhere"] {
        let failed = world.poise(["demo", "--out", folder]).status(2);
        assert_eq!(failed.stderr.lines().count(), 1, "{}", failed.stderr);
    }
    assert_eq!(world.names("taken"), Vec::<String>::new());
}
