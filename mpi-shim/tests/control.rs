//! MPI_Pcontrol, against a program's own ledger of what there should be a record of.

mod common;

use std::collections::BTreeMap;

use common::{BOTH, Calls, Checked, Mode, Mpi, Run};
use poise_profile::Metric;

const RANKS: u32 = 4;
const PARTS: [&str; 3] = ["before", "meanwhile", "after"];

/// The program's ledger: by part and operation, what each rank did of which a record is wanted.
fn ledger(run: &Run) -> BTreeMap<(String, String), Vec<Calls>> {
    let entry = |line: &str| {
        let mut words = line.split_whitespace().map(str::to_owned);
        let key = (words.next().expect("a part"), words.next().expect("an operation"));
        let numbers: Vec<u64> = words.map(|word| word.parse().expect("a number")).collect();
        let calls = |n: &[u64]| Calls { calls: n[0], sent: n[1], received: n[2], ..Calls::default() };
        (key, numbers.chunks_exact(3).map(calls).collect())
    };
    run.stdout.lines().map(entry).collect()
}

/// Runs the program and compares what moved with its ledger.
fn compared(mpi: Mpi, mode: Mode, argument: &str) -> Checked {
    let run = Run::with("pcontrol", &[argument], mpi, RANKS, mode);
    let checked = Checked::of(&run, "pcontrol", mpi, RANKS);
    let ledger = ledger(&run);
    assert_eq!(ledger.len(), 15, "{}", run.stdout);
    type Of = fn(&Calls) -> u64;
    let metrics: [(Metric, Of); 3] = [
        (Metric::Visits, |calls| calls.calls),
        (Metric::BytesSent, |calls| calls.sent),
        (Metric::BytesReceived, |calls| calls.received),
    ];
    for ((part, operation), calls) in ledger {
        assert_eq!(calls.len(), RANKS as usize);
        let path = [part.as_str(), operation.as_str()];
        for (metric, value) in metrics {
            let has_any = calls.iter().any(|calls| calls.calls > 0);
            let expected = common::over_ranks(calls.iter().map(|calls| has_any.then(|| value(calls))));
            assert_eq!(checked.value(&path, metric), expected, "{metric:?} at {path:?}, {mpi:?}, {mode:?}, {argument}");
        }
    }
    let names: Vec<_> = checked.profile.regions.iter().map(|region| region.name.as_str()).collect();
    assert!(!names.contains(&"MPI_Gather") && !names.contains(&"MPI"), "{names:?}");
    checked
}

#[test]
fn operations_between_levels_0_and_1_have_no_record() {
    for mpi in BOTH {
        for mode in [Mode::Measured, Mode::EachRank] {
            for argument in ["on", "off"] {
                compared(mpi, mode, argument);
            }
        }
    }
}

/// Clocks travel with operations that have no record: those after them wait as long as if all had one, and the effort is the same.
#[test]
fn clocks_go_on_while_there_is_no_record() {
    for mpi in BOTH {
        let [on, off] = ["on", "off"].map(|argument| compared(mpi, Mode::Waiting, argument));
        for part in ["before", "after"] {
            for operation in ["MPI_Sendrecv", "MPI_Allreduce"] {
                let [with, without] = [&on, &off].map(|run| run.value(&[part, operation], Metric::LogicalWait));
                assert!(with.is_some_and(|wait| wait.sum > 0) && with == without, "{part}: {with:?}, {without:?}");
            }
        }
        assert!(on.value(&["meanwhile", "MPI_Sendrecv"], Metric::LogicalWait).is_some_and(|wait| wait.sum > 0));
        for part in PARTS {
            let [with, without] = [&on, &off].map(|run| run.value(&[part], Metric::BasicBlocks));
            assert!(with.is_some_and(|blocks| blocks.sum > 0) && with == without, "{part}: {with:?}, {without:?}");
        }
    }
}

/// Bins of effort leave them out as well: of bytes they hold what the record holds, and all that was executed, also by what an
/// operation without a record calls back and that is too small to be a call path.
#[test]
fn bins_have_no_record_either() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let profile = folder.path().join("run.poise");
    let program = Mpi::OpenMpi.compile("pcontrol", folder.path());
    let mut command = Mpi::OpenMpi.launcher(RANKS);
    command
        .arg("env")
        .arg(format!("LD_PRELOAD={}", common::preload()))
        .args(["POISE_STACK=off", "POISE_PHASES=blocks"]);
    command.arg(format!("POISE_PROFILE={}", profile.display())).arg(program).args(["off", "operator"]);
    let output = command.output().expect("timeout, from coreutils");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let profile = poise_profile::Profile::read(&profile).expect("a profile");
    let shares = || profile.phases.timelines.iter().flat_map(|timeline| &timeline.bins).flat_map(|bin| &bin.shares);
    let recorded = |wanted: Metric| {
        let values = profile.values.iter().filter(|((_, metric), _)| *metric == wanted);
        values.map(|(_, value)| value.sum).sum::<u128>()
    };
    let sent: u64 = shares().map(|share| share.bytes_sent).sum();
    assert!(sent > 0 && u128::from(sent) == recorded(Metric::BytesSent), "{sent}: {profile:?}");
    let executed: u64 = shares().map(|share| share.count).sum();
    // All but the operator executes thousands.
    let by_operator = executed % 1000;
    assert!(by_operator > 0 && by_operator.is_multiple_of(7), "{executed}");
    assert_eq!(u128::from(executed), recorded(Metric::BasicBlocks));
}
