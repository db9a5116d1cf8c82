//! `mpirun -n R poise model` with the feature `mpi`: any number of ranks writes the bytes that one process writes.

mod common;

use common::{World, outcome};
use std::process::Command;

/// The program with its features, built beside the one without them.
fn built_with_features() -> std::path::PathBuf {
    let root = env!("CARGO_MANIFEST_DIR");
    // A folder of its own, so that the plain program, which needs no MPI, stays what it is.
    let target = std::path::Path::new(env!("CARGO_BIN_EXE_poise")).parent().unwrap().parent().unwrap().join("features");
    let status = Command::new(env!("CARGO"))
        // With Parquet as well, whose test is built of the same by scripts/test. Without tests, as users build it: what these need of the
        // libraries they share must not be what makes the program compile.
        .args(["build", "--release", "--locked", "-p", "counterpoise", "-p", "modeler", "--features", "mpi,parquet"])
        // Quicker to compile; the bytes are compared with those of the plain program.
        .args(["--config", "profile.release.opt-level=0", "--config", "profile.release.debug=false", "--target-dir"])
        .arg(&target)
        .args(["--manifest-path", &format!("{root}/Cargo.toml")])
        .status();
    assert!(
        status.is_ok_and(|s| s.success()),
        "building with the features failed; `make setup` installs what MPI needs"
    );
    target.join("release/poise")
}

#[test]
fn one_two_and_four_ranks_write_the_same_bytes_as_one_process() {
    let world = World::new();
    let dataset = format!("{}/datasets/relearn2p/relearn_data.txt", env!("CARGO_MANIFEST_DIR"));
    let arguments = ["model", dataset.as_str(), "--format", "json", "--threads", "1"];
    let alone = world.poise(arguments).status(0).stdout;
    assert!(alone.matches("\"expression\"").count() >= 10, "{alone}");

    let program = built_with_features();
    for ranks in ["1", "2", "4"] {
        let launch = ["--oversubscribe", "-n", ranks, program.to_str().unwrap()];
        let together = world.command("mpirun.openmpi", launch.into_iter().chain(arguments)).output().unwrap();
        assert_eq!(outcome(together).status(0).stdout, alone, "{ranks} ranks");
    }

    // Folders of two nodes: what is there counts where the rank that writes runs.
    world.write(
        "few.txt",
        "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC time\nDATA 1\nDATA 2\nDATA 4\nDATA 8\nDATA 16\n",
    );
    let input = world.path("few.txt");
    let node = |name: &str| {
        let folder = world.path(name);
        std::fs::create_dir_all(&folder).unwrap();
        [folder.to_str().unwrap(), program.to_str().unwrap(), "model", input.to_str().unwrap(), "-o", "there.json"]
            .map(str::to_owned)
    };
    let beside = |first: &str, second: &str| {
        let launch = ["--oversubscribe", "--timeout", "60", "-n", "1", "-wdir"].map(str::to_owned).into_iter();
        let other = [":", "-n", "1", "-wdir"].map(str::to_owned);
        let arguments: Vec<String> = launch.chain(node(first)).chain(other).chain(node(second)).collect();
        outcome(world.command("mpirun.openmpi", arguments.iter().map(String::as_str)).output().unwrap())
    };
    beside("first", "second").status(0);
    assert_eq!((world.names("first"), world.names("second")), (vec!["there.json".to_owned()], Vec::new()));
    let refused = beside("first", "second");
    assert_ne!(refused.status, Some(0));
    assert_eq!(refused.stderr.matches("is not overwritten").count(), 1, "{}", refused.stderr);
    beside("second", "first").status(0);

    let launch = ["--oversubscribe", "-n", "2", program.to_str().unwrap(), "model", "missing.txt"];
    let failed = outcome(world.command("mpirun.openmpi", launch).output().unwrap());
    assert_ne!(failed.status, Some(0));
    assert_eq!(failed.stderr.matches("missing.txt").count(), 1, "one rank says it: {}", failed.stderr);
}
