//! Whom ranks wait for: late receivers, late senders, and the last at a collective operation, told apart and compared with the
//! program's own clocks; also where the clocks of nodes disagree.

mod common;
#[path = "../src/waiting/sizes.rs"]
mod sizes;

use common::{BOTH, Mode, Mpi, Run};
use poise_profile::{Metric, Profile};

/// The program comes 200 ms late; a call may begin so much later than the program's own look at its clock, on a busy machine.
const SLACK: f64 = 60.0;

/// Milliseconds of a metric at a call path, over all ranks.
fn milliseconds(profile: &Profile, path: &[&str], metric: Metric) -> f64 {
    let is_it =
        |node: &u32| profile.path(*node).unwrap().iter().map(|region| &region.name[..]).eq(path.iter().copied());
    let node = (0..profile.nodes.len() as u32).find(is_it).unwrap_or_else(|| panic!("no {path:?}"));
    profile.values.get(&(node, metric)).map_or(0.0, |value| value.sum as f64 * 1e-6)
}

/// In each case of the program, where somebody waits, and what for.
const CASES: [([&str; 2], Option<Metric>); 15] = [
    (["first", "MPI_Send"], Some(Metric::LateReceiver)),
    (["ssend", "MPI_Ssend"], Some(Metric::LateReceiver)),
    (["large", "MPI_Send"], Some(Metric::LateReceiver)),
    (["issend", "MPI_Wait"], Some(Metric::LateReceiver)),
    (["persistent", "MPI_Wait"], Some(Metric::LateReceiver)),
    (["posted", "MPI_Wait"], Some(Metric::LateSender)),
    (["short", "MPI_Send"], None),
    (["small", "MPI_Send"], None),
    (["collective", "MPI_Allreduce"], Some(Metric::WaitTime)),
    (["probe", "MPI_Probe"], Some(Metric::LateSender)),
    (["dup", "MPI_Comm_dup"], Some(Metric::WaitTime)),
    (["split", "MPI_Comm_split"], Some(Metric::WaitTime)),
    // Looked at by itself.
    (["spin", "MPI_Test"], None),
    // The last are not under SMPI.
    (["mprobe", "MPI_Mprobe"], Some(Metric::LateSender)),
    (["group", "MPI_Comm_create_group"], Some(Metric::WaitTime)),
];

/// How many of the last of these.
const NOT_UNDER_SMPI: usize = 2;

/// What the program says that was waited in each of so many cases, in milliseconds.
fn waited(printed: &str, cases: usize) -> Vec<f64> {
    let waited: Vec<f64> = printed.lines().map(|line| line.split(' ').nth(1).unwrap().parse().unwrap()).collect();
    assert_eq!(waited.len(), cases, "{printed}");
    waited
}

/// Who waited at which operation, in each case of the program.
fn are_told_apart(profile: &Profile, printed: &str, what: &str) {
    let cases = if what == "SMPI" { CASES.len() - NOT_UNDER_SMPI } else { CASES.len() };
    for (&expected, (ref path, kind)) in waited(printed, cases).iter().zip(CASES) {
        // Messages of a kilobyte wait under Open MPI alone.
        let kind = if path[0] == "short" && what.contains("Open") { Some(Metric::LateReceiver) } else { kind };
        assert!(expected > 150.0, "somebody is late: {printed}");
        if path[0] == "spin" {
            // All of the time: that of the tests, that between them, and that of what the library does after each. The last may be done when another has
            // had the processor for long.
            let all: f64 = [&["spin"][..], path].map(|path| milliseconds(profile, path, Metric::WaitTime)).iter().sum();
            assert!(all > 0.9 * expected && all < expected + SLACK, "{what}: polling is {all}, not {expected}");
            continue;
        }
        let [late_sender, late_receiver, all] = [Metric::LateSender, Metric::LateReceiver, Metric::WaitTime]
            .map(|metric| milliseconds(profile, path, metric));
        let is = |found: f64, kind_here: Metric| {
            let expected = if kind == Some(kind_here) { expected } else { 0.0 };
            assert!((found - expected).abs() < SLACK, "{what}: {kind_here:?} at {path:?} is {found}, not {expected}");
        };
        is(late_sender, Metric::LateSender);
        is(late_receiver, Metric::LateReceiver);
        let of_all = if kind.is_some() { expected } else { 0.0 };
        assert!((all - of_all).abs() < SLACK, "{what}: waiting at {path:?} is {all}, not {of_all}");
    }
    // The other side of each: nobody waited there.
    for path in [
        ["first", "MPI_Recv"],
        ["ssend", "MPI_Recv"],
        ["large", "MPI_Recv"],
        ["issend", "MPI_Recv"],
        ["posted", "MPI_Ssend"],
        ["short", "MPI_Recv"],
        ["small", "MPI_Recv"],
        ["probe", "MPI_Recv"],
    ] {
        assert!(milliseconds(profile, &path, Metric::WaitTime) < SLACK, "{what}: {path:?}");
    }
}

#[test]
fn late_receivers_and_late_senders_are_told_apart() {
    for mpi in BOTH {
        let run = Run::of("receivers", mpi, 2, Mode::Waiting);
        are_told_apart(&run.profile(), &run.stdout, &format!("{mpi:?}"));
    }
}

/// A call waits once, however many it waits for. What would count twice are the 200 ms for which it waits for both.
#[test]
fn what_a_call_waits_for_at_the_same_time_is_told_once() {
    for mpi in BOTH {
        let run = Run::of("together", mpi, 3, Mode::Waiting);
        let profile = run.profile();
        let waited: Vec<f64> =
            run.stdout.lines().map(|line| line.split(' ').nth(1).unwrap().parse().unwrap()).collect();
        let cases = [("rising", true), ("falling", true), ("beside", false), ("small", false)];
        assert_eq!(waited.len(), cases.len(), "{}", run.stdout);
        for (&expected, (case, is_for_receivers)) in waited.iter().zip(cases) {
            assert!(expected > 300.0, "rank 2 is late: {}", run.stdout);
            let [late_receiver, all, time] = [Metric::LateReceiver, Metric::WaitTime, Metric::Time]
                .map(|metric| milliseconds(&profile, &[case, "MPI_Waitall"], metric));
            let what =
                format!("{mpi:?}, {case}: {late_receiver} ms for receivers of {all} waited of {time}, not {expected}");
            assert!(late_receiver <= all && all <= time, "{what}");
            let [of_receivers, of_all] = [is_for_receivers, case != "small"].map(|is| if is { expected } else { 0.0 });
            assert!((late_receiver - of_receivers).abs() < 2.0 * SLACK && (all - of_all).abs() < 2.0 * SLACK, "{what}");
        }
    }
}

/// The sizes of an MPI library's own datatypes, of which MPICH's MPI_DOUBLE and MPI_BYTE are alike in many bits, do not displace each other.
#[test]
fn sizes_of_sixteen_datatypes_are_remembered() {
    let sizes = sizes::Sizes::default();
    let names = [
        "BYTE",
        "CHAR",
        "SHORT",
        "INT",
        "LONG",
        "LONG_LONG",
        "FLOAT",
        "DOUBLE",
        "LONG_DOUBLE",
        "SIGNED_CHAR",
        "UNSIGNED_CHAR",
        "UNSIGNED_SHORT",
        "UNSIGNED",
        "UNSIGNED_LONG",
        "INT16_T",
        "INT32_T",
    ];
    let line = names.map(|name| format!("MPI_{name}")).join(" @ ");
    let header = Mpi::Mpich.preprocessed(&format!(
        "#include <mpi.h>
handles: {line}
"
    ));
    let line = header.rsplit_once("handles:").expect("the line").1;
    let handle =
        |text: &str| usize::from_str_radix(text.split_once("0x").expect("a number").1.trim().trim_end_matches(')'), 16);
    let handles: Vec<usize> = line.split('@').map(|text| handle(text).expect("a number")).collect();
    assert_eq!(handles.len(), sizes::REMEMBERED);
    for turn in 1..3 {
        let size = |place: usize| turn * 100 + place as u64;
        (0..).zip(&handles).for_each(|(place, &handle)| sizes.note(handle, 3, 3 * size(place)));
        assert!((0..).zip(&handles).all(|(place, &handle)| sizes.of(handle) == Some(size(place))));
    }
    // One more takes the place of the first, and none of the others'.
    sizes.note(1, 1, 7);
    assert_eq!((sizes.of(1), sizes.of(handles[0]), sizes.of(handles[1])), (Some(7), None, Some(201)));
    sizes.note(2, 0, 0);
    assert_eq!(sizes.of(2), None, "of no elements nothing is known");
}

/// A process whose clock is some minutes wrong stands for a node of its own.
#[test]
fn clocks_of_nodes_are_compared_first() {
    for mpi in BOTH {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let profile = folder.path().join("run.poise");
        let program = mpi.compile("receivers", folder.path());
        let mut command = mpi.one_by_one(2, (&program, &[]), &profile, |rank, command| {
            command.args(["POISE_WAITING=1", "POISE_STACK=off"]);
            command.arg(format!("POISE_CLOCK_SKEW={}", 700_000_000_000_i64 * (1 - 2 * i64::from(rank))));
        });
        let output = command.output().expect("timeout, from coreutils");
        let [printed, said] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(output.status.success() && !said.contains("poise:"), "{said}");
        let profile = Profile::read(&profile).expect("a profile");
        are_told_apart(&profile, &printed, &format!("{mpi:?} with clocks apart"));
        // Both are the same clock in truth: what it moved is how far the two measurements differ.
        let drift: u64 = profile.metadata.get("clock_drift_ns").map_or(0, |drift| drift.parse().unwrap());
        assert!(drift < 20_000_000, "{drift} ns");
    }
}

/// Ranks of a simulation change places when they sleep, too.
#[test]
fn late_receivers_are_told_apart_under_smpi() {
    if let Some(run) = Run::simulated_with("receivers", 2, &[("POISE_CLOCK", "simulated")]) {
        are_told_apart(&run.profile(), &run.stdout, "SMPI");
    }
}
