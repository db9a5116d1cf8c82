//! Waiting by the logical clock, against the clocks that a program keeps for itself.

mod common;

use common::{BOTH, Checked, Mode, Mpi, Run, over_ranks};
use poise_profile::Metric;

/// What the program says that each rank waited, by operation.
fn ledger(run: &Run) -> Vec<(String, Vec<u64>)> {
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next()?.to_owned();
        Some((name, words.map(|word| word.parse().expect("a number")).collect()))
    };
    run.stdout.lines().filter_map(line).collect()
}

/// The logical waiting of each operation of the program `waiting`.
fn compare(mpi: Mpi, ranks: u32) {
    let run = Run::of("waiting", mpi, ranks, Mode::Waiting);
    let checked = Checked::of(&run, "waiting", mpi, ranks);
    let ledger = ledger(&run);
    assert_eq!(ledger.len(), 22, "{}", run.stdout);
    assert!(ranks == 1 || ledger.iter().map(|(_, waited)| waited.iter().sum::<u64>()).sum::<u64>() > 100_000);
    for (name, waited) in ledger {
        if let Some(value) = checked.value(&[&name], Metric::LogicalWait) {
            let expected = over_ranks(waited.iter().map(|&w| Some(w)));
            assert_eq!(Some(value), expected, "{name} under {mpi:?} on {ranks} ranks");
        } else {
            assert!(waited.iter().all(|&w| w == 0), "{name} under {mpi:?} on {ranks} ranks: {waited:?}");
        }
    }
}

#[test]
fn logical_waiting_is_what_the_program_says() {
    for mpi in BOTH {
        for ranks in [1, 2, 3, 6] {
            compare(mpi, ranks);
        }
    }
}
