//! Loops bound by each resource, as a simple processor has them: a mode's noise is free while its resource is idle.

use modeler::absorption::{Bottleneck, Code, Options, analyse};

use crate::synthetic::{Disturbance, QUANTITIES, Truth, profile_of, resource};
use crate::{DRIFTING, INTERRUPTED, QUIET};

/// A loop: its class, its nanoseconds an iteration, its own memory accesses, and the idle share of fp_add64, fma64,
/// int64_add, l1_ld64, memory_ld64 and nop.
type Bound = (Bottleneck, f64, u32, [f64; 6]);

const BOUND: [Bound; 8] = [
    (Bottleneck::Compute, 10.0, 4, [0.02, 0.02, 0.5, 0.5, 0.9, 0.5]),
    // On AMD a saturated FMA kernel absorbs any number of additions.
    (Bottleneck::Compute, 10.0, 4, [0.95, 0.03, 0.5, 0.5, 0.9, 0.5]),
    (Bottleneck::LoadStore, 8.0, 20, [0.9, 0.9, 0.6, 0.04, 0.8, 0.5]),
    (Bottleneck::FrontEnd, 8.0, 4, [0.03, 0.03, 0.03, 0.03, 0.4, 0.02]),
    (Bottleneck::Bandwidth, 12.0, 3, [0.8, 0.8, 0.8, 0.7, 0.05, 0.8]),
    (Bottleneck::Latency, 90.0, 1, [0.95, 0.95, 0.95, 0.9, 0.9, 0.95]),
    (Bottleneck::Dependency, 12.0, 2, [0.7, 0.7, 0.8, 0.7, 0.9, 0.8]),
    (Bottleneck::Dependency, 12.0, 0, [0.7, 0.7, 0.8, 0.7, 0.2, 0.8]),
];

/// Nanoseconds of an instruction of each mode, as measured on current processors.
const COST: [(&str, f64); 6] =
    [("fp_add64", 0.34), ("fma64", 0.34), ("int64_add", 0.11), ("l1_ld64", 0.17), ("memory_ld64", 8.0), ("nop", 0.065)];

fn class(bound: &Bound, rounds: u32, disturbance: Disturbance, seed: u64) -> (Bottleneck, String) {
    let truths: Vec<Truth> =
        COST.iter().zip(bound.3).map(|(&(mode, ns), idle)| resource(mode, bound.1, idle, ns)).collect();
    let profile = profile_of(bound.1, &truths, &QUANTITIES, rounds, disturbance, seed);
    let code = Code { instructions: 20, accesses: bound.2, ..Code::default() };
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
