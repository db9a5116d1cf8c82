//! What the library costs per call. Numbers belong to a machine, so this is run by hand, on a quiet one:
//! `cargo test -p poise-mpi --release --test cost -- --ignored --nocapture`.

mod common;

use common::{BOTH, Mode, Run};

#[test]
#[ignore = "a measurement, for a quiet machine"]
fn cost_per_call() {
    for mpi in BOTH {
        for mode in [Mode::Bare, Mode::Inert, Mode::Measured] {
            let run = Run::of("cost", mpi, 1, mode);
            assert_eq!(run.status, Some(0), "{}", run.stderr);
            println!("{mpi:?} {mode:?}: {}", run.stdout.replace('\n', " ns, ").trim_end_matches(", "));
        }
    }
}
