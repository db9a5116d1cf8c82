//! What the library costs per call, under both MPI implementations: bare, inert, measured, with waiting and with the stack's call paths, one
//! after the other in the same run. `cargo bench -p poise-mpi`.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{BOTH, Mode, Run};

fn main() {
    for mpi in BOTH {
        for mode in [Mode::Bare, Mode::Inert, Mode::Measured, Mode::Waiting, Mode::OnStacks] {
            let run = Run::of("cost", mpi, 1, mode);
            assert_eq!(run.status, Some(0), "{}", run.stderr);
            println!("{mpi:?} {mode:?}: {}", run.stdout.replace('\n', " ns, ").trim_end_matches(", "));
        }
    }
}
