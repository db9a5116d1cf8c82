//! Waiting by the logical clock, against the clocks that a program keeps for itself.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{BOTH, Checked, Mode, Mpi, Run, over_ranks};
use poise_profile::{Metric, OverRanks, Profile};

/// What the program says that each rank waited, by operation.
fn ledger(run: &Run) -> Vec<(String, Vec<u64>)> {
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next()?.to_owned();
        Some((name, words.map(|word| word.parse().expect("a number")).collect()))
    };
    run.stdout.lines().filter_map(line).collect()
}

/// The logical waiting of each operation of the program `waiting`. Returns the blocks that are effort.
fn compare(mpi: Mpi, ranks: u32) -> Option<OverRanks> {
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
    checked.value(&["(outside all regions)"], Metric::BasicBlocks)
}

#[test]
fn logical_waiting_is_what_the_program_says() {
    for ranks in [1, 2, 3, 6] {
        // However often each had to ask, and 77 blocks follow each question without an answer.
        let [one, other] = BOTH.map(|mpi| compare(mpi, ranks));
        assert!(one.is_some() && one == other, "{one:?} and {other:?}");
    }
}

/// The depth of a sweep over a cuboid of ranks, times one stage less half of one, is what the theory says of the mean: with p ranks in d
/// dimensions it grows as p^(1/d), where all that is sent is constant per rank inside the grid. Ranks that share cores, in
/// whatever order they run, wait the same.
#[test]
fn a_wavefront_waits_as_long_as_it_is_deep() {
    let (sweeps, work, bytes) = (5, 12_345, 800);
    let stage = work + 1000 + bytes / 8;
    let arguments = |dimensions: u32| [dimensions, sweeps, work, bytes].map(|number| number.to_string());
    for (mpi, dimensions, side) in
        [(Mpi::OpenMpi, 2, 2), (Mpi::Mpich, 2, 4), (Mpi::OpenMpi, 3, 2), (Mpi::Mpich, 3, 2), (Mpi::OpenMpi, 3, 3)]
    {
        let arguments = arguments(dimensions);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let ranks = u32::pow(side, dimensions);
        let run = Run::with("wavefront", &arguments, mpi, ranks, Mode::Waiting);
        let checked = Checked::of(&run, "wavefront", mpi, ranks);
        let waited = checked.value(&["MPI_Recv"], Metric::LogicalWait).expect("waiting");
        let depth = dimensions * (side - 1);
        let twice_the_mean = u128::from((2 * sweeps - 1) * depth * stage);
        assert_eq!(2 * waited.sum, twice_the_mean * u128::from(ranks), "{mpi:?}, {side}^{dimensions} ranks");
        let sent = checked.value(&["MPI_Send"], Metric::LogicalWait).expect("waiting");
        assert_eq!((sent.sum, sent.ranks), (0, ranks));
    }
}

/// Threads that keep all processors busy, two for each, until this is dropped.
struct Load(Arc<AtomicBool>);

impl Load {
    fn begin() -> Self {
        let goes_on = Arc::new(AtomicBool::new(true));
        for _ in 0..2 * std::thread::available_parallelism().map_or(2, usize::from) {
            let goes_on = Arc::clone(&goes_on);
            std::thread::spawn(move || while goes_on.load(Ordering::Relaxed) {});
        }
        Self(goes_on)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Of programs whose messages have one order. By default a few runs of each kind; `POISE_TEST_RUNS` is another number.
#[test]
fn runs_wait_the_same_on_an_idle_and_a_loaded_machine() {
    let runs = std::env::var("POISE_TEST_RUNS").map_or(2, |runs| runs.parse().expect("a number of runs"));
    let programs: [(&str, &[&str], u32); 2] = [("wavefront", &["3", "20", "12345", "800"], 8), ("waiting", &[], 4)];
    for mpi in BOTH {
        for (name, arguments, ranks) in programs {
            let folder = tempfile::tempdir().expect("a folder for temporary files");
            let program = mpi.compile(name, folder.path());
            let counts = || {
                let run = Run::compiled(&program, arguments, mpi, ranks, Mode::Waiting);
                let mut profile = Checked::of(&run, name, mpi, ranks).profile;
                let is_count = |metric| {
                    [Metric::LogicalWait, Metric::BasicBlocks, Metric::BytesSent, Metric::BytesReceived]
                        .contains(&metric)
                };
                let time = profile
                    .values
                    .iter()
                    .filter(|((_, metric), _)| *metric == Metric::Time)
                    .map(|(_, time)| time.sum)
                    .sum::<u128>();
                profile.values.retain(|&(_, metric), _| is_count(metric));
                ((profile.regions, profile.nodes, profile.values), time)
            };
            let (first, mut shortest) = counts();
            assert!(first.2.iter().any(|((_, metric), value)| *metric == Metric::LogicalWait && value.sum > 100_000));
            let mut longest = shortest;
            for run in 1..2 * runs {
                let load = (run >= runs).then(Load::begin);
                let (counts, time) = counts();
                drop(load);
                assert!(counts == first, "run {run} of {name} under {mpi:?}: {:?} and {:?}", counts.2, first.2);
                (shortest, longest) = (shortest.min(time), longest.max(time));
            }
            println!(
                "{name} under {mpi:?}: {} values in {} runs, times {shortest} to {longest} ns",
                first.2.len(),
                2 * runs
            );
        }
    }
}

/// What each of six ranks waits in the program `parts`, in `MPI_Allreduce` and in `MPI_Sendrecv`.
fn parts() -> [Vec<u64>; 2] {
    let mut clocks = [0_u64; 6];
    let mut waited = [vec![0; 6], vec![0; 6]];
    let meet = |clocks: &mut [u64; 6], waited: &mut [Vec<u64>; 2], ranks: std::ops::Range<usize>, step: usize| {
        ranks.clone().for_each(|rank| clocks[rank] += 1000 * ((rank as u64 * 7 + step as u64 * 3) % 11));
        let latest = clocks[ranks.clone()].iter().copied().max().unwrap_or(0);
        let levels = ranks.len().next_power_of_two().ilog2();
        for rank in ranks {
            waited[0][rank] += latest - clocks[rank];
            clocks[rank] = latest + 1000 * u64::from(levels) + 64 / 8;
        }
    };
    for step in 0..3 {
        meet(&mut clocks, &mut waited, 0..2, step);
        meet(&mut clocks, &mut waited, 2..6, step);
    }
    // All of a part are at one moment, and then receive from a neighbour.
    clocks.iter_mut().for_each(|clock| *clock += 1000 + 64 / 8);
    waited[1].iter_mut().for_each(|waited| *waited += 1000 + 64 / 8);
    meet(&mut clocks, &mut waited, 0..2, 3);
    meet(&mut clocks, &mut waited, 0..6, 4);
    waited
}

fn is_as_in_parts(checked: &Checked) {
    let [met, received] = parts().map(|waited| over_ranks(waited.into_iter().map(Some)));
    assert_eq!(checked.value(&["MPI_Allreduce"], Metric::LogicalWait), met);
    assert_eq!(checked.value(&["MPI_Sendrecv"], Metric::LogicalWait), received);
}

#[test]
fn communicators_that_one_call_makes_are_told_apart() {
    for mpi in BOTH {
        let run = Run::of("parts", mpi, 6, Mode::Waiting);
        is_as_in_parts(&Checked::of(&run, "parts", mpi, 6));
    }
}

#[test]
fn communicators_that_one_call_makes_are_told_apart_where_all_ranks_are_in_one_process() {
    if let Some(run) = Run::simulated("parts", 6) {
        // What is said of the MPI is for messages alone.
        is_as_in_parts(&Checked::of(&run, "parts", Mpi::OpenMpi, 6));
    }
}

/// A program has room for its own communicators, also where waiting is measured. MPICH has least.
#[test]
fn many_communicators_are_the_programs() {
    let run = Run::of("many", Mpi::Mpich, 2, Mode::Waiting);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let lines: Vec<&str> = run.stderr.lines().collect();
    assert!(lines.len() == 1 && lines[0].starts_with("poise: more than 256 communicators at once"), "{}", run.stderr);
    let profile = Profile::read(&run.profile_path).expect("a profile");
    for name in ["MPI_Comm_dup", "MPI_Allreduce", "MPI_Comm_free"] {
        let is_it = |node: &u32| profile.path(*node).unwrap().last().is_some_and(|region| region.name == name);
        let node = (0..profile.nodes.len() as u32).find(is_it).expect("an operation");
        assert_eq!(profile.values[&(node, Metric::Visits)].sum, 1800, "{name}");
    }
}

/// Clocks of messages that nobody received, or MPI refused, are nothing that `MPI_Finalize` waits for or takes for something else, and
/// MPI has nothing to say of them that it would not say of the program's own.
#[test]
fn clocks_that_are_left_over_harm_nobody() {
    for mpi in BOTH {
        for ranks in [2, 3] {
            let [bare, run] = [Mode::Bare, Mode::Waiting].map(|mode| Run::of("left", mpi, ranks, mode));
            assert!(run.status == Some(0) && run.stdout.lines().any(|line| line == "ended"), "{mpi:?}: {}", run.stderr);
            let said = |run: &Run| [&run.stdout, &run.stderr].map(|text| text.lines().count());
            assert_eq!(said(&run), said(&bare), "{mpi:?}: {} {}", run.stdout, run.stderr);
            let profile = poise_profile::Profile::read(&run.profile_path).expect("a profile");
            assert_eq!(profile.ranks, ranks);
            // All read one clock.
            assert_eq!(profile.metadata.get("clock_drift_ns").map_or("0", String::as_str), "0");
        }
    }
}

/// Senders that are far ahead leave more clocks than there is room for in memory, so that some go as messages; their order stays.
#[test]
fn clocks_of_messages_far_ahead_keep_their_order() {
    for mpi in BOTH {
        let run = Run::of("ahead", mpi, 3, Mode::Waiting);
        let [(_, waited)] = &ledger(&run)[..] else { panic!("{} {}", run.stdout, run.stderr) };
        assert!(waited[0] > 10_000, "{waited:?}");
        let value = Checked::of(&run, "ahead", mpi, 3).value(&["MPI_Recv"], Metric::LogicalWait).expect("waiting");
        assert_eq!((value.sum, value.ranks), (waited[0].into(), 1), "{mpi:?}");
    }
}

/// Runs the program `stray` on two ranks; `apart` as if each were on a machine of its own, so that clocks are messages.
fn stray(mpi: Mpi, case: &str, apart: bool) -> (String, u64) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let profile = folder.path().join("run.poise");
    let program = mpi.compile("stray", folder.path());
    let mut command = mpi.one_by_one(2, (&program, &[case]), &profile, |rank, command| {
        command.args(["POISE_WAITING=1", "POISE_STACK=off"]);
        command.arg(format!("POISE_CLOCK_SKEW={}", if apart { 1_000_000 * rank } else { 0 }));
    });
    // Ended after a minute, as all runs here.
    let output = command.output().expect("timeout, from coreutils");
    let [printed, said] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{mpi:?}, {case}, apart: {apart}: {:?} {said}", output.status);
    let profile = Profile::read(&profile).expect("a profile");
    let is_it = |node: &u32| {
        let path = profile.path(*node).expect("a path for each node");
        path.iter().map(|region| region.name.as_str()).eq(["later", "MPI_Wait"])
    };
    let node = (0..profile.nodes.len() as u32).find(is_it).expect("the usual messages");
    let waited = profile.values.get(&(node, Metric::LogicalWait)).map_or(0, |value| value.sum as u64);
    (printed, waited)
}

/// No receive waits for a clock that was sent with no message, and later ones have theirs.
#[test]
fn receives_that_get_no_message_or_another_do_not_wait_for_its_clock() {
    // In each turn the sender works and both messages are paid for, from the receiver's sending on.
    let turn = 50_000 + 2 * 1000;
    for mpi in BOTH {
        for case in ["cancel", "free", "two"] {
            for apart in [false, true] {
                let (printed, waited) = stray(mpi, case, apart);
                assert!(printed.lines().any(|line| line == "ended"), "{mpi:?}, {case}: {printed}");
                let what = format!("{mpi:?}, {case}, apart: {apart}: {waited}");
                // The first turn depends on what came before.
                assert!((19 * turn..=21 * turn).contains(&waited), "{what}");
            }
        }
    }
}
