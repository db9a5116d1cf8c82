//! Loops bound by each resource, as a simple processor has them: a mode's noise is free while its resource is idle.

use modeler::absorption::{Bottleneck, Code, Options, Recurrence, analyse};

use crate::synthetic::{Disturbance, QUANTITIES, Truth, profile_of, resource};
use crate::{DRIFTING, INTERRUPTED, QUIET};

/// A loop: its class, its nanoseconds an iteration, its own memory accesses, the idle share of fp_add64, fma64, int64_add, l1_ld64,
/// memory_ld64 and nop, and how its iterations wait for each other.
type Bound = (Bottleneck, f64, u32, [f64; 6], Recurrence);

/// Iterations that share an induction variable and nothing else, that add to one sum, and that follow pointers.
const APART: Recurrence = Recurrence { nanoseconds: 0.5, is_chase: false };
const SUM: Recurrence = Recurrence { nanoseconds: 16.0, is_chase: false };
const CHASE: Recurrence = Recurrence { nanoseconds: 4.0, is_chase: true };

const BOUND: [Bound; 11] = [
    (Bottleneck::Compute, 10.0, 4, [0.02, 0.02, 0.5, 0.5, 0.9, 0.5], APART),
    // On AMD a saturated FMA kernel absorbs any number of additions.
    (Bottleneck::Compute, 10.0, 4, [0.95, 0.03, 0.5, 0.5, 0.9, 0.5], SUM),
    (Bottleneck::LoadStore, 8.0, 20, [0.9, 0.9, 0.6, 0.04, 0.8, 0.5], APART),
    (Bottleneck::FrontEnd, 1.5, 4, [0.03, 0.03, 0.03, 0.03, 0.4, 0.02], APART),
    (Bottleneck::Bandwidth, 12.0, 3, [0.8, 0.8, 0.8, 0.7, 0.05, 0.8], APART),
    // One core that streams leaves room for some loads from memory, which its sum does not wait for.
    (Bottleneck::Bandwidth, 24.0, 12, [0.9, 0.9, 0.9, 0.9, 0.98, 0.9], APART),
    (Bottleneck::Bandwidth, 24.0, 12, [0.9, 0.9, 0.9, 0.9, 0.98, 0.9], SUM),
    (Bottleneck::Latency, 90.0, 1, [0.95, 0.95, 0.95, 0.9, 0.9, 0.95], CHASE),
    // A chase in a cache, which has no room for a load from memory.
    (Bottleneck::Latency, 12.0, 2, [0.7, 0.7, 0.8, 0.7, 0.9, 0.8], CHASE),
    (Bottleneck::Dependency, 12.0, 2, [0.7, 0.7, 0.8, 0.7, 0.9, 0.8], SUM),
    (Bottleneck::Dependency, 12.0, 0, [0.7, 0.7, 0.8, 0.7, 0.2, 0.8], APART),
];

/// Nanoseconds of an instruction of each mode, as measured on current processors.
const COST: [(&str, f64); 6] =
    [("fp_add64", 0.34), ("fma64", 0.34), ("int64_add", 0.11), ("l1_ld64", 0.17), ("memory_ld64", 8.0), ("nop", 0.065)];

fn class(bound: &Bound, rounds: u32, disturbance: Disturbance, seed: u64) -> (Bottleneck, String) {
    class_of(bound, &COST, 20, rounds, disturbance, seed)
}

fn class_of(
    bound: &Bound,
    cost: &[(&'static str, f64); 6],
    instructions: u32,
    rounds: u32,
    disturbance: Disturbance,
    seed: u64,
) -> (Bottleneck, String) {
    let truths: Vec<Truth> =
        cost.iter().zip(bound.3).map(|(&(mode, ns), idle)| resource(mode, bound.1, idle, ns)).collect();
    let profile = profile_of(bound.1, &truths, &QUANTITIES, rounds, disturbance, seed);
    let code = Code { instructions, accesses: bound.2, recurrence: Some(bound.4), ..Code::default() };
    let report = analyse(&profile, &|_| Some(code.clone()), &Options { replicates: 120, ..Options::default() });
    (report.loops[0].class, report.loops[0].reason.clone())
}

#[test]
fn each_resource_is_found() {
    for disturbance in [QUIET, INTERRUPTED, DRIFTING] {
        for bound in &BOUND {
            let (class, reason) = class(bound, 40, disturbance, 21);
            assert_eq!(class, bound.0, "{bound:?} {disturbance:?}: {reason}");
        }
    }
}

/// A triad in the second-level cache of a Zen 4, as it was measured: 12 loads and stores of vectors take 6.8 ns, since no more lines come, and what noise
/// there is makes it slower soon, though four fused multiply-adds leave their units idle.
#[test]
fn an_idle_unit_binds_nothing() {
    let cost = [
        ("fp_add64", 0.04),
        ("fma64", 0.081),
        ("int64_add", 0.04),
        ("l1_ld64", 0.102),
        ("memory_ld64", 3.5),
        ("nop", 0.02),
    ];
    let bound = (Bottleneck::Undecided, 6.8, 12, [0.03, 0.08, 0.06, 0.3, 0.95, 0.9], APART);
    let (class, reason) = class_of(&bound, &cost, 15, 40, QUIET, 23);
    assert_eq!(class, Bottleneck::Undecided, "{reason}");
    // Where loads take longer, and so fill a quarter of the time, they are what it waits for, and arithmetic is still not.
    let slow_loads = [cost[0], cost[1], cost[2], ("l1_ld64", 0.2), cost[4], cost[5]];
    let bound_by_loads = (bound.0, bound.1, bound.2, [0.03, 0.08, 0.06, 0.05, 0.95, 0.9], APART);
    let (class, reason) = class_of(&bound_by_loads, &slow_loads, 15, 40, QUIET, 23);
    assert_eq!(class, Bottleneck::LoadStore, "{reason}");
    // With ten times the instructions in the same time the unit is what it waits for.
    let (class, reason) = class_of(&bound, &cost, 150, 40, QUIET, 23);
    assert_eq!(class, Bottleneck::Compute, "{reason}");
}

/// Like a triad in the first-level cache of a Zen 4 beside a load of twenty, with numbers chosen for the rule: its loads and stores are what it waits
/// for, and arithmetic seems to cost half as much as it does, so that ten additions are free and the unit is idle for a fifth of the time.
#[test]
fn arithmetic_that_has_room_does_not_overlap_fully() {
    let cost = [
        ("fp_add64", 0.08),
        ("fma64", 0.15),
        ("int64_add", 0.05),
        ("l1_ld64", 0.102),
        ("memory_ld64", 1.3),
        ("nop", 0.02),
    ];
    let bound = (Bottleneck::Undecided, 4.15, 12, [0.19, 0.6, 0.3, 0.01, 0.02, 0.95], APART);
    let (class, reason) = class_of(&bound, &cost, 15, 40, QUIET, 23);
    assert_eq!(class, bound.0, "{reason}");
    assert!(reason.contains("arithmetic is in part"), "{reason}");
    // Without room it does, as in table 3, case 3.
    let full = (bound.0, bound.1, bound.2, [0.01, 0.6, 0.3, 0.01, 0.02, 0.95], APART);
    let (class, reason) = class_of(&full, &cost, 15, 40, QUIET, 23);
    assert_eq!(class, Bottleneck::Compute, "{reason}");
}

/// A product with a sparse matrix that waits for memory with as many loads in flight as the processor can hold: further
/// instructions of any kind take room there, and cost many times what their units take.
#[test]
fn a_full_window_is_no_unit() {
    let cost = [
        ("fp_add64", 1.05),
        ("fma64", 1.0),
        ("int64_add", 1.0),
        ("l1_ld64", 1.65),
        ("memory_ld64", 4.3),
        ("nop", 0.13),
    ];
    let bound = (Bottleneck::Undecided, 7.5, 3, [0.4, 0.4, 0.4, 0.06, 0.0, 0.4], SUM);
    let (class, reason) = class_of(&bound, &cost, 7, 40, QUIET, 21);
    assert_eq!(class, bound.0, "{reason}");
    assert!(reason.contains("window"), "{reason}");
}

/// Nops that add to the time from the first on, where the front end needs a quarter of it: 7 instructions in 2.5 ns.
#[test]
fn a_front_end_that_is_idle_binds_nothing() {
    let bound = (Bottleneck::Undecided, 2.5, 3, [0.02, 0.02, 0.02, 0.02, 0.02, 0.02], APART);
    let (class, reason) = class_of(&bound, &COST, 7, 40, QUIET, 21);
    assert_eq!(class, bound.0, "{reason}");
    assert!(reason.contains("idle"), "{reason}");
    let (class, reason) = class_of(&bound, &COST, 40, 40, QUIET, 21);
    assert_eq!(class, Bottleneck::FrontEnd, "{reason}");
}

/// With few rounds and most bursts disturbed, the class is the right one or none.
#[test]
fn load_never_gives_another_class() {
    let load = Disturbance { jitter: 0.1, interrupted: (0.8, 1.0), drift: 0.1, layout: 0.01 };
    let mut decided = 0;
    for bound in &BOUND {
        for (rounds, seed) in [(8, 1), (8, 2), (60, 3)] {
            let (class, reason) = class(bound, rounds, load, seed);
            assert!(class == bound.0 || class == Bottleneck::Undecided, "{bound:?}: {class:?}, {reason}");
            decided += u32::from(class == bound.0);
        }
    }
    assert!(decided >= 4, "{decided} of 24");
}

/// A chase of eight loads an iteration: further loads from memory overlap with it, at a cost of their own that is next to
/// nothing beside 1290 ns and that no quantity makes a quarter of it.
#[test]
fn a_chase_waits_for_the_latency_of_its_loads() {
    let cost =
        [("fp_add64", 0.2), ("fma64", 0.2), ("int64_add", 0.2), ("l1_ld64", 0.2), ("memory_ld64", 1.8), ("nop", 0.1)];
    let (class, reason) = class_of(&(Bottleneck::Latency, 1290.0, 8, [0.0; 6], CHASE), &cost, 13, 40, QUIET, 21);
    assert_eq!(class, Bottleneck::Latency, "{reason}");
}
