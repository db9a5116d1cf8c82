//! What the library costs per call, under both MPI implementations: runs without it, inert, measured, with waiting and with the stack's call
//! paths in turns; of each the median of what it takes longer than the run without in the same turn. `cargo bench -p poise-mpi`.
//!
//! What stands before the program to run it with another tool can follow, from `env` on. It has its run in each turn too, all under Open MPI alone, since
//! a tool is built for one MPI: `cargo bench -p poise-mpi -- env LD_PRELOAD=/…/libcaliper.so CALI_CONFIG=runtime-report,profile.mpi`.

#[path = "../tests/common/mod.rs"]
mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::{BOTH, Mode, Mpi, Run};

const TURNS: usize = 9;

/// Nanoseconds per call of each kind of calls.
type Costs = BTreeMap<String, f64>;

/// The costs of a run of `program` behind the words `before` it.
fn costs(before: &[String], program: &Path, mpi: Mpi, mode: Mode) -> Costs {
    let program = program.to_str().expect("a path in UTF-8");
    let words: Vec<&str> = before.iter().map(String::as_str).chain([program]).collect();
    let run = Run::compiled(Path::new(words[0]), &words[1..], mpi, 1, mode);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    // A tool prints lines of its own.
    let cost = |line: &str| line.split_once(' ').and_then(|(calls, cost)| Some((calls.to_owned(), cost.parse().ok()?)));
    run.stdout.lines().filter_map(cost).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let tool: Vec<String> =
        std::env::args().skip_while(|word| word != "env").filter(|word| word != "--bench").collect();
    let mut kinds = vec![("Bare".to_owned(), Mode::Bare, &[][..])];
    for mode in [Mode::Inert, Mode::Measured, Mode::Waiting, Mode::OnStacks] {
        kinds.push((format!("{mode:?}"), mode, &[]));
    }
    if !tool.is_empty() {
        kinds.push(("other tool".to_owned(), Mode::Bare, &tool));
    }
    for mpi in BOTH.into_iter().filter(|&mpi| tool.is_empty() || mpi == Mpi::OpenMpi) {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let program = mpi.compile("cost", folder.path());
        let turn = |_| kinds.iter().map(|&(_, mode, before)| costs(before, &program, mpi, mode)).collect();
        let turns: Vec<Vec<Costs>> = (0..TURNS).map(turn).collect();
        for calls in turns[0][0].keys() {
            let bare = median(turns.iter().map(|turn| turn[0][calls]).collect());
            print!("{mpi:?} {calls}: {bare:.0} ns");
            for (at, (kind, ..)) in kinds.iter().enumerate().skip(1) {
                let more = median(turns.iter().map(|turn| turn[at][calls] - turn[0][calls]).collect());
                print!(", {kind} {more:+.0}");
            }
            println!();
        }
    }
}
