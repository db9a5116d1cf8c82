//! Kernels of nested loops whose bounds are rounded powers or logarithms of p or n, and blocks of code at each depth.

use crate::{Case, Group, TEST, leading};
use modeler::ExponentSets;
use modeler::model::Exponent;
use rand::{RngExt, SeedableRng, rngs::StdRng};

/// No program counts more than this at the test point.
const MOST_BLOCKS: f64 = 1e13;

/// How a program makes an integer of a bound.
type Round = fn(f64) -> f64;

/// A loop bound `x^exponent` or `log2(x)^log`.
#[derive(Clone, Copy, Debug)]
struct Bound {
    parameter: usize,
    exponent: Exponent,
    log: i32,
}

impl Bound {
    fn draw(rng: &mut StdRng) -> Self {
        let parameter = rng.random_range(0..2);
        if rng.random_range(0..4) == 0 {
            return Self { parameter, exponent: Exponent::default(), log: rng.random_range(1..3) };
        }
        let exponents = ExponentSets::default().exponents;
        Self { parameter, exponent: exponents[rng.random_range(1..exponents.len())], log: 0 }
    }

    fn smooth(&self, x: &[f64]) -> f64 {
        let power = f64::from(*self.exponent.numer()) / f64::from(*self.exponent.denom());
        x[self.parameter].powf(power) * x[self.parameter].log2().powi(self.log)
    }

    fn trips(&self, x: &[f64], round: Round) -> f64 {
        let smooth = self.smooth(x);
        // A power that is an integer in exact arithmetic is one.
        let whole = smooth.round();
        if (smooth - whole).abs() < 1e-12 * whole { whole } else { round(smooth) }
    }
}

/// Nested loops; `blocks[d]` basic blocks at depth d.
#[derive(Clone, Debug)]
struct Kernel {
    bounds: Vec<Bound>,
    blocks: Vec<f64>,
}

impl Kernel {
    fn draw(rng: &mut StdRng, deepest: usize) -> Self {
        let depth = rng.random_range(1..=deepest);
        Self {
            bounds: (0..depth).map(|_| Bound::draw(rng)).collect(),
            blocks: (0..=depth).map(|_| f64::from(rng.random_range(1..8))).collect(),
        }
    }

    /// Coefficient and bounds of each term.
    fn terms(&self) -> impl Iterator<Item = (f64, &[Bound])> {
        (0..self.blocks.len()).map(|d| (self.blocks[d], &self.bounds[..d]))
    }

    fn count(&self, x: &[f64], round: Round) -> f64 {
        self.terms().map(|(c, bounds)| c * bounds.iter().map(|b| b.trips(x, round)).product::<f64>()).sum()
    }
}

fn exponents(bounds: &[Bound]) -> [Exponent; 2] {
    [0, 1].map(|l| bounds.iter().filter(|b| b.parameter == l).map(|b| b.exponent).sum())
}

fn describe(kernels: &[Kernel], total: f64) -> String {
    let bound = |b: &Bound| {
        let x = ["p", "n"][b.parameter];
        if b.log > 0 { format!("[log2({x})^{}]", b.log) } else { format!("[{x}^({})]", b.exponent) }
    };
    let terms = kernels.iter().flat_map(Kernel::terms).map(|(c, bounds)| {
        let share = c * bounds.iter().map(|b| b.smooth(&TEST)).product::<f64>() / total;
        format!("{c} {} ({:.3} %)", bounds.iter().map(bound).collect::<String>(), 100.0 * share)
    });
    terms.collect::<Vec<_>>().join(" + ")
}

fn case(rng: &mut StdRng, most_kernels: usize, deepest: usize, round: Round) -> Case {
    loop {
        let kernels: Vec<Kernel> =
            (0..rng.random_range(1..=most_kernels)).map(|_| Kernel::draw(rng, deepest)).collect();
        let smooth = |bounds: &[Bound]| bounds.iter().map(|b| b.smooth(&TEST)).product::<f64>();
        let terms: Vec<_> =
            kernels.iter().flat_map(Kernel::terms).map(|(c, b)| (c * smooth(b), exponents(b))).collect();
        // Powers beyond the exponent sets cannot be named by anyone.
        let sets = ExponentSets::default();
        let nameable = terms.iter().all(|t| t.1.iter().all(|e| sets.exponents.contains(e)));
        let total = terms.iter().map(|t| t.0).sum::<f64>();
        if total <= MOST_BLOCKS && nameable {
            let (growth, text) = (leading(&terms), describe(&kernels, total));
            return Case { count: Box::new(move |x| kernels.iter().map(|k| k.count(x, round)).sum()), growth, text };
        }
    }
}

/// Bytes of a message whose length is a product of one or two bounds.
fn message(rng: &mut StdRng, round: Round) -> Case {
    loop {
        let bounds: Vec<Bound> = (0..rng.random_range(1..3)).map(|_| Bound::draw(rng)).collect();
        let growth = exponents(&bounds);
        let nameable = growth.iter().all(|e| ExponentSets::default().exponents.contains(e));
        let text = format!("{bounds:?}");
        let volume = move |x: &[f64]| 8.0 * bounds.iter().map(|b| b.trips(x, round)).product::<f64>();
        if (64.0..1e11).contains(&volume(&TEST)) && nameable {
            return Case { count: Box::new(volume), growth, text };
        }
    }
}

/// Computation and communication by depth and way of rounding, `functions` of each.
pub fn groups(functions: usize, seed: u64) -> Vec<Group> {
    let mut groups = Vec::new();
    let roundings: [(&str, Round); 3] = [("floor", f64::floor), ("round", f64::round), ("ceil", f64::ceil)];
    for (name, round) in roundings {
        for deepest in [2, 3] {
            let rng = &mut StdRng::seed_from_u64(seed);
            let cases = (0..functions).map(|_| case(rng, 3, deepest, round)).collect();
            let name = format!("nests, {name}, up to {deepest} deep");
            groups.push(Group { name, callpath: "solve", metric: "basic_blocks", cases });
        }
    }
    for (name, round) in roundings {
        let rng = &mut StdRng::seed_from_u64(seed);
        let cases = (0..functions).map(|_| message(rng, round)).collect();
        let name = format!("messages, {name}");
        groups.push(Group { name, callpath: "MPI_Bcast", metric: "bytes_received", cases });
    }
    groups
}
