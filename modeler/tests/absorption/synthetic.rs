//! A synthetic processor: loops with known curves, measured with known disturbances.

use poise_profile::{Burst, Loop, Node, Noise, Profile, Region, RegionKind, Series};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

/// The default quantities.
pub const QUANTITIES: [u32; 12] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];

/// How a mode slows the loop down: `k1`, `k2` and the slope as a share of the time without noise per instruction.
#[derive(Clone, Copy, Debug)]
pub struct Truth {
    pub mode: &'static str,
    pub k1: f64,
    pub k2: f64,
    pub slope: f64,
}

impl Truth {
    /// The time relative to that without noise: the slope's integral, summed in small steps.
    pub fn ratio(&self, k: u32) -> f64 {
        let steps = 400;
        let width = f64::from(k) / f64::from(steps);
        let slope_at = |x: f64| {
            if x <= self.k1 {
                0.0
            } else if x >= self.k2 {
                self.slope
            } else {
                self.slope * (x - self.k1) / (self.k2 - self.k1)
            }
        };
        1.0 + (0..steps).map(|i| width * slope_at((f64::from(i) + 0.5) * width)).sum::<f64>()
    }
}

/// What disturbs the measurements.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disturbance {
    /// Spread of every burst.
    pub jitter: f64,
    /// Share of bursts that are interrupted, and how much longer they take on average.
    pub interrupted: (f64, f64),
    /// Slow growth of all times over the run.
    pub drift: f64,
    /// Spread of variants, from where their code lies.
    pub layout: f64,
}

/// A loop that takes `nanoseconds` an iteration, of which each mode's resource is idle a share; a further instruction of the
/// mode takes `nanoseconds`: the numbers of a [`Truth`].
pub fn resource(mode: &'static str, loop_ns: f64, idle: f64, instruction_ns: f64) -> Truth {
    let k1 = idle * loop_ns / instruction_ns;
    Truth { mode, k1, k2: k1, slope: instruction_ns / loop_ns }
}

/// One loop of 100 ns an iteration with `rounds` rounds; each has every variant once and as many bursts without noise as
/// modes.
pub fn profile(truths: &[Truth], quantities: &[u32], rounds: u32, disturbance: Disturbance, seed: u64) -> Profile {
    profile_of(100.0, truths, quantities, rounds, disturbance, seed)
}

/// The same of a loop of `loop_ns` nanoseconds an iteration.
pub fn profile_of(
    loop_ns: f64,
    truths: &[Truth],
    quantities: &[u32],
    rounds: u32,
    disturbance: Disturbance,
    seed: u64,
) -> Profile {
    let mut random = StdRng::seed_from_u64(seed);
    let bursts = bursts(loop_ns, truths, quantities, rounds, disturbance, &mut random);
    with(truths, vec![bursts])
}

/// The bursts of one thread.
pub fn bursts(
    loop_ns: f64,
    truths: &[Truth],
    quantities: &[u32],
    rounds: u32,
    disturbance: Disturbance,
    random: &mut StdRng,
) -> Vec<Burst> {
    let uniform = |random: &mut StdRng| -> f64 { random.random() };
    let mut variants: Vec<(u32, u32, f64)> = Vec::new();
    for (mode, truth) in truths.iter().enumerate() {
        for &k in std::iter::once(&0).chain(quantities) {
            let layout = if k == 0 { 0.0 } else { disturbance.layout * (2.0 * uniform(random) - 1.0) };
            variants.push((mode as u32, k, truth.ratio(k) * (1.0 + layout)));
        }
    }
    let mut bursts = Vec::new();
    for round in 0..rounds {
        variants.shuffle(random);
        for &(mode, k, ratio) in &variants {
            let iterations = 1000;
            let mut time = loop_ns * iterations as f64 * ratio;
            time *= 1.0 + disturbance.jitter * uniform(random);
            time *= 1.0 + disturbance.drift * f64::from(round) / f64::from(rounds);
            if uniform(random) < disturbance.interrupted.0 {
                time *= 1.0 - disturbance.interrupted.1 * uniform(random).ln();
            }
            let burst =
                Burst { round, mode, k, entries: 10, iterations: Some(iterations), nanoseconds: time.round() as u64 };
            bursts.push(burst);
        }
    }
    bursts
}

/// The profile of a loop in `main -> solve` that has these bursts, one series for each thread.
pub fn with(truths: &[Truth], threads: Vec<Vec<Burst>>) -> Profile {
    let region =
        |name: &str| Region { name: name.into(), file: "solve.c".into(), line: 40, kind: RegionKind::Function };
    let target = Loop {
        function: "solve".into(),
        file: "/src/solve.c".into(),
        line: 41,
        id: 0,
        width: 1,
        refusal: String::new(),
    };
    let series = |(thread, bursts): (usize, Vec<Burst>)| Series {
        node: 1,
        target: 0,
        rank: 0,
        thread: thread as u32,
        executions: 1200,
        left_out: 0,
        bursts,
    };
    Profile {
        ranks: 1,
        regions: vec![region("main"), region("solve")],
        nodes: vec![Node { parent: None, region: 0 }, Node { parent: Some(0), region: 1 }],
        noise: Noise {
            modes: truths.iter().map(|t| t.mode.to_owned()).collect(),
            loops: vec![target],
            series: threads.into_iter().enumerate().map(series).collect(),
        },
        ..Profile::default()
    }
}
