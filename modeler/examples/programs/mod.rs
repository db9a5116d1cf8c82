//! Programs of known complexity with their measurements, drawn as the seed paper's generator draws them (section V-B):
//! one to three kernels of one or two nested loops whose bounds are `floor(x^i)` or `floor(log2(x)^j)` of the ranks p or
//! the size n, and one MPI operation whose message has such a size. They are measured once at p 128..2048 and n
//! 8000..40000 with 3 % background noise and the paper's artificial noise, and predicted at p = 4096 and n = 48000.

// Each example uses a part of this.
#![allow(dead_code)]

use modeler::model::Exponent;
use modeler::{ExponentSets, Model};
use rand::{RngExt, rngs::StdRng};
use rand_distr::{Distribution, Exp1, StandardNormal};

/// Numbers of ranks.
pub const P: [f64; 5] = [128.0, 256.0, 512.0, 1024.0, 2048.0];
/// Sizes.
pub const N: [f64; 5] = [8000.0, 16000.0, 24000.0, 32000.0, 40000.0];
/// Where models are judged.
pub const TEST: [f64; 2] = [4096.0, 48000.0];
/// Relative standard deviation of what disturbs every measurement.
pub const BACKGROUND: f64 = 0.03;
/// No program counts more than this at the test point.
const MOST_BLOCKS: f64 = 1e13;

/// A loop bound `floor(x^exponent)` or `floor(log2(x)^log)`.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    parameter: usize,
    exponent: Exponent,
    log: i32,
}

impl Bound {
    fn draw(rng: &mut StdRng) -> Self {
        let parameter = rng.random_range(0..2);
        if rng.random_range(0..4) == 0 {
            return Self { parameter, exponent: Exponent::from_integer(0), log: rng.random_range(1..3) };
        }
        let exponents = ExponentSets::default().exponents;
        Self { parameter, exponent: exponents[rng.random_range(1..exponents.len())], log: 0 }
    }

    /// Every bound with its probability to be drawn.
    pub fn every() -> Vec<(Self, f64)> {
        let exponents = &ExponentSets::default().exponents[1..];
        let powers = exponents.iter().map(|&e| (e, 0, 0.75 / exponents.len() as f64));
        let logs = (1..3).map(|log| (Exponent::from_integer(0), log, 0.25 / 2.0));
        let of_one: Vec<_> = powers.chain(logs).collect();
        let of = |parameter| of_one.iter().map(move |&(exponent, log, p)| (Self { parameter, exponent, log }, p / 2.0));
        (0..2).flat_map(of).collect()
    }

    fn power(&self) -> f64 {
        f64::from(*self.exponent.numer()) / f64::from(*self.exponent.denom())
    }

    fn smooth(&self, x: &[f64]) -> f64 {
        x[self.parameter].powf(self.power()) * x[self.parameter].log2().powi(self.log)
    }

    /// How often the loop runs.
    pub fn trips(&self, x: &[f64]) -> f64 {
        (self.smooth(x) * (1.0 + 1e-12)).floor()
    }
}

/// Nested loops; `blocks[d]` basic blocks at depth d.
#[derive(Clone, Debug)]
struct Kernel {
    bounds: Vec<Bound>,
    blocks: Vec<f64>,
    seconds_per_block: f64,
}

impl Kernel {
    fn draw(rng: &mut StdRng) -> Self {
        let depth = rng.random_range(1..3);
        Self {
            bounds: (0..depth).map(|_| Bound::draw(rng)).collect(),
            blocks: (0..=depth).map(|_| f64::from(rng.random_range(1..8))).collect(),
            seconds_per_block: 1e-9 * rng.random_range(0.5..2.0),
        }
    }

    /// Coefficient and bounds of each term.
    fn terms(&self) -> impl Iterator<Item = (f64, &[Bound])> {
        (0..self.blocks.len()).map(|d| (self.blocks[d], &self.bounds[..d]))
    }

    fn count(&self, x: &[f64]) -> f64 {
        self.terms().map(|(c, bounds)| c * bounds.iter().map(|b| b.trips(x)).product::<f64>()).sum()
    }
}

/// Leading exponents of p and n over the terms of at least 1 % at the test point.
fn leading(terms: &[(f64, [Exponent; 2])]) -> [Exponent; 2] {
    let total: f64 = terms.iter().map(|t| t.0).sum();
    let zero = Exponent::from_integer(0);
    let in_parameter = |l: usize| {
        let matter = terms.iter().filter(|t| t.0.abs() >= 0.01 * total.abs());
        matter.map(|t| t.1[l]).max().unwrap_or(zero)
    };
    [in_parameter(0), in_parameter(1)]
}

pub fn model_growth(model: &Model) -> [Exponent; 2] {
    let exponent = |t: &modeler::model::Term, l: usize| {
        t.factors.iter().find(|f| f.parameter == l).map_or(Exponent::from_integer(0), |f| f.exponent)
    };
    let mut terms: Vec<_> = model.terms.iter().map(|t| (t.at(&TEST), [exponent(t, 0), exponent(t, 1)])).collect();
    terms.push((model.constant, [Exponent::from_integer(0); 2]));
    leading(&terms)
}

/// A function of the point p, n.
pub type Function = Box<dyn Fn(&[f64]) -> f64>;

/// A program with its truth: effort counts, seconds and growth.
pub struct Program {
    /// Last name of its call path.
    pub path: &'static str,
    /// Names and values of what is counted.
    pub counts: Vec<(&'static str, Function)>,
    /// Its undisturbed time.
    pub seconds: Function,
    /// Growth of the first count.
    pub growth: [Exponent; 2],
    /// Growth of the time, in which start-up costs may hide that of the bytes.
    pub time_growth: [Exponent; 2],
    /// Terms or operation.
    pub text: String,
}

/// Exponents of p and n in the product of the bounds.
pub fn bounds_growth(bounds: &[Bound]) -> [Exponent; 2] {
    let of = |l: usize| bounds.iter().filter(|b| b.parameter == l).map(|b| b.exponent).sum();
    [of(0), of(1)]
}

pub fn computation(rng: &mut StdRng) -> Program {
    loop {
        let kernels: Vec<Kernel> = (0..rng.random_range(1..4)).map(|_| Kernel::draw(rng)).collect();
        let smooth = |bounds: &[Bound]| bounds.iter().map(|b| b.smooth(&TEST)).product::<f64>();
        let terms: Vec<_> =
            kernels.iter().flat_map(Kernel::terms).map(|(c, b)| (c * smooth(b), bounds_growth(b))).collect();
        let growth = leading(&terms);
        // Powers beyond the exponent sets cannot be named by anyone.
        let sets = ExponentSets::default();
        let nameable = terms.iter().all(|t| t.1.iter().all(|e| sets.exponents.contains(e)));
        if terms.iter().map(|t| t.0).sum::<f64>() > MOST_BLOCKS || !nameable {
            continue;
        }
        let in_seconds = kernels
            .iter()
            .flat_map(|k| k.terms().map(|(c, b)| (k.seconds_per_block * c * smooth(b), bounds_growth(b))))
            .collect::<Vec<_>>();
        let text = format!("{:?}", terms.iter().map(|t| (t.0, t.1.map(|e| e.to_string()))).collect::<Vec<_>>());
        let (a, b) = (kernels.clone(), kernels);
        return Program {
            path: "solve",
            counts: vec![("basic_blocks", Box::new(move |x| a.iter().map(|k| k.count(x)).sum()))],
            seconds: Box::new(move |x| b.iter().map(|k| k.seconds_per_block * k.count(x)).sum()),
            growth,
            time_growth: leading(&in_seconds),
            text,
        };
    }
}

/// MPI operations, each as probable as the others.
pub const OPERATIONS: [&str; 7] =
    ["MPI_Send", "MPI_Bcast", "MPI_Scatter", "MPI_Gather", "MPI_Allgather", "MPI_Reduce", "MPI_Allreduce"];
/// Messages start in so many times 1e-6 seconds, evenly between these.
pub const ALPHA: [f64; 2] = [1.0, 50.0];
/// A byte takes so many times 1e-10 seconds, evenly between these.
pub const BETA: [f64; 2] = [1.0, 9.0];

/// Bytes of a message whose size the bounds tell.
pub fn volume(bounds: &[Bound], x: &[f64]) -> f64 {
    8.0 * bounds.iter().map(|b| b.trips(x)).product::<f64>()
}

/// Whether messages of that size are sent: powers beyond the exponent sets cannot be named by anyone.
pub fn is_sent(bounds: &[Bound]) -> bool {
    let sets = ExponentSets::default();
    let nameable = bounds_growth(bounds).iter().all(|e| sets.exponents.contains(e));
    (64.0..1e11).contains(&volume(bounds, &TEST)) && nameable
}

/// Seconds in which a message between p ranks starts, and seconds per byte.
pub fn message_cost(operation: &str, [alpha, beta]: [f64; 2], p: f64) -> (f64, f64) {
    let share = (p - 1.0) / p;
    match operation {
        "MPI_Send" => (alpha, beta),
        "MPI_Bcast" => (alpha * p.log2(), beta),
        "MPI_Reduce" | "MPI_Allreduce" => (alpha * p.log2(), beta + share * 1e-10),
        _ => (alpha * p.log2(), beta * share),
    }
}

pub fn communication(rng: &mut StdRng) -> Program {
    communication_on(rng, [1.0; 2])
}

/// Communication on a machine that takes so many times as long to start messages, and so many times as long per byte.
pub fn communication_on(rng: &mut StdRng, machine: [f64; 2]) -> Program {
    loop {
        let path = OPERATIONS[rng.random_range(0..OPERATIONS.len())];
        let bounds: Vec<Bound> = (0..rng.random_range(1..3)).map(|_| Bound::draw(rng)).collect();
        if !is_sent(&bounds) {
            continue;
        }
        let growth = bounds_growth(&bounds);
        let volume = move |x: &[f64]| volume(&bounds, x);
        let alpha_beta = [1e-6 * rng.random_range(ALPHA[0]..ALPHA[1]), 1e-10 * rng.random_range(BETA[0]..BETA[1])];
        let bytes = volume.clone();
        let parts = move |x: &[f64]| {
            let (latency, per_byte) = message_cost(path, alpha_beta, x[0]);
            (machine[0] * latency, machine[1] * per_byte * volume(x))
        };
        let (latency, transfer) = parts(&TEST);
        let time_growth = leading(&[(latency, [Exponent::from_integer(0); 2]), (transfer, growth)]);
        let seconds = move |x: &[f64]| {
            let (latency, transfer) = parts(x);
            latency + transfer
        };
        return Program {
            path,
            counts: vec![
                ("bytes_sent", Box::new(bytes.clone())),
                ("bytes_received", Box::new(bytes)),
                ("visits", Box::new(|_| 1.0)),
                ("comm_size", Box::new(|x| x[0])),
            ],
            seconds: Box::new(seconds),
            growth,
            time_growth,
            text: path.to_owned(),
        };
    }
}

/// Artificial noise: level and pattern.
#[derive(Clone, Copy, Debug)]
pub enum Pattern {
    None,
    Uniform,
    Normal,
    Exponential,
    /// Nearly the same slowdown of every measurement, which cannot be told from a slower machine.
    #[allow(dead_code, reason = "not every example that draws programs looks at it")]
    Poisson,
}

fn artificial(rng: &mut StdRng, pattern: Pattern) -> f64 {
    match pattern {
        Pattern::None => 0.0,
        Pattern::Uniform => rng.random(),
        Pattern::Normal => loop {
            let z: f64 = StandardNormal.sample(rng);
            if (0.0..=1.0).contains(&z) {
                break z;
            }
        },
        Pattern::Exponential => {
            let e: f64 = Exp1.sample(rng);
            e.min(1.0)
        }
        Pattern::Poisson => {
            // A Poisson variable of mean 1000 over 1000 is this normal one to three digits.
            let z: f64 = StandardNormal.sample(rng);
            (1.0 + z / 1000f64.sqrt()).clamp(0.0, 1.0)
        }
    }
}

/// What is measured of `seconds`: of all measurements the share `disturbed` has artificial noise.
pub fn measured(rng: &mut StdRng, seconds: f64, pattern: Pattern, level: f64, disturbed: f64) -> f64 {
    measured_in(rng, seconds, BACKGROUND, (pattern, level), disturbed)
}

/// The same with another background.
pub fn measured_in(
    rng: &mut StdRng,
    seconds: f64,
    background: f64,
    (pattern, level): (Pattern, f64),
    disturbed: f64,
) -> f64 {
    let z: f64 = StandardNormal.sample(rng);
    let is_disturbed = disturbed == 1.0 || rng.random_bool(disturbed);
    let artificial = if is_disturbed { level * artificial(rng, pattern) } else { 0.0 };
    seconds * (1.0 + background * z).max(0.1) * (1.0 + artificial)
}
