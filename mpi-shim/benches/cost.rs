//! What the library costs per call, under both MPI implementations: runs without it, inert, measured, with waiting and with the stack's call
//! paths in turns; of each the median of what it takes longer than the run without in the same turn. `cargo bench -p poise-mpi`.

#[path = "../tests/common/mod.rs"]
mod common;

use std::collections::BTreeMap;

use common::{BOTH, Mode, Mpi, Run};

const TURNS: usize = 9;

/// Nanoseconds per call of each kind of calls.
fn costs(mpi: Mpi, mode: Mode) -> BTreeMap<String, f64> {
    let run = Run::of("cost", mpi, 1, mode);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let cost =
        |line: &str| line.split_once(' ').map(|(calls, cost)| (calls.to_owned(), cost.parse().expect("a number")));
    run.stdout.lines().filter_map(cost).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let modes = [Mode::Bare, Mode::Inert, Mode::Measured, Mode::Waiting, Mode::OnStacks];
    for mpi in BOTH {
        let turns: Vec<_> = (0..TURNS).map(|_| modes.map(|mode| costs(mpi, mode))).collect();
        for calls in turns[0][0].keys() {
            let bare = median(turns.iter().map(|turn| turn[0][calls]).collect());
            print!("{mpi:?} {calls}: {bare:.0} ns");
            for (at, mode) in modes.iter().enumerate().skip(1) {
                let more = median(turns.iter().map(|turn| turn[at][calls] - turn[0][calls]).collect());
                print!(", {mode:?} {more:+.0}");
            }
            println!();
        }
    }
}
