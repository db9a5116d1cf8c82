//! How often noise alone fails a gate, and how often a regression does: `cargo run --release -p modeler --example gates
//! [files [seed]]`.
//!
//! A file of expectations judges 60 call paths of one parameter, measured three times (or once) at p = 4 to 64 with noise of
//! several kinds and sizes. *Before* is a judgement by a 90 % interval each, *now* what `poise check` does. With the same
//! truth on both sides every failure is false: against a baseline with a tolerance of 5 %, against a limit 5 % above the
//! truth, and against the truth's own growth.

use modeler::compare::{Ratio, Side};
use modeler::experiment::{ExperimentBuilder, Metric};
use modeler::model::{Exponent, Growth};
use modeler::verdict::{Together, Verdict, at_most, grows_at_most, is_no_worse, no_worse};
use modeler::{Experiment, Fits, Options, fit};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use rand_distr::{Distribution, Exp1, StandardNormal};

const P: [f64; 5] = [4.0, 8.0, 16.0, 32.0, 64.0];
/// Call paths of a file.
const PATHS: usize = 60;
/// Where models are judged: at the largest measured p, and beyond it.
const AT: [f64; 4] = [64.0, 128.0, 1024.0, 4096.0];
const LEVEL: f64 = 0.9;
const TOLERANCE: f64 = 0.05;

/// `factor p^exponent log2(p)^log + constant`.
#[derive(Clone, Copy, Debug)]
struct Truth {
    factor: f64,
    exponent: Exponent,
    log: i32,
    constant: f64,
}

impl Truth {
    fn draw(rng: &mut StdRng) -> Self {
        let exponents = [(0, 1), (1, 4), (1, 3), (1, 2), (2, 3), (3, 4), (1, 1), (5, 4), (3, 2), (2, 1)];
        let (numerator, denominator) = exponents[rng.random_range(0..exponents.len())];
        let truth = Self {
            factor: 10f64.powf(rng.random_range(-4.0..0.0)),
            exponent: Exponent::new(numerator, denominator),
            log: [0, 0, 0, 1, 2][rng.random_range(0..5)],
            constant: 0.0,
        };
        Self { constant: rng.random_range(0.0..1.0) * truth.at(16.0), ..truth }
    }

    fn at(&self, p: f64) -> f64 {
        let power = f64::from(*self.exponent.numer()) / f64::from(*self.exponent.denom());
        self.factor * p.powf(power) * p.log2().powi(self.log) + self.constant
    }
}

#[derive(Clone, Copy, Debug)]
enum Noise {
    /// Either way.
    Normal,
    /// Either way, by factors.
    LogNormal,
    /// On half of the measurements, beside 3 % either way, evenly up to the level.
    Added,
    /// Always some, rarely much.
    Exponential,
}

impl Noise {
    fn on(self, rng: &mut StdRng, y: f64, level: f64) -> f64 {
        let z: f64 = StandardNormal.sample(rng);
        match self {
            Self::Normal => y * (1.0 + level * z).max(0.05),
            Self::LogNormal => y * (level * z).exp(),
            Self::Added => {
                let share = if rng.random_bool(0.5) { rng.random_range(0.0..1.0) } else { 0.0 };
                y * (1.0 + 0.03 * z) * (1.0 + level * share)
            }
            Self::Exponential => {
                let rare: f64 = Exp1.sample(rng);
                y * (1.0 + level * rare)
            }
        }
    }
}

/// What was measured, and how.
#[derive(Clone, Copy)]
struct Setting {
    noise: Noise,
    level: f64,
    repetitions: usize,
    /// Whether counts tell the shapes.
    effort: bool,
}

/// All call paths, each `worse(p)` times its truth.
fn measure(rng: &mut StdRng, truths: &[Truth], setting: Setting, worse: fn(f64) -> f64) -> (Experiment, Fits) {
    let mut builder = ExperimentBuilder::new(["p"]);
    let of = |name: &str, unit: &str| Metric { name: name.into(), unit: unit.into(), over_ranks: None };
    let (time, blocks) = (builder.metric(of("time", "s")), builder.metric(of("basic_blocks", "")));
    for (i, truth) in truths.iter().enumerate() {
        let path = builder.callpath(["main", &format!("f{i}")]);
        for p in P {
            let (point, seconds) = (builder.point(&[p]), truth.at(p) * worse(p));
            if setting.effort {
                builder.add(path, blocks, point, (1e9 * seconds).round());
            }
            for _ in 0..setting.repetitions {
                builder.add(path, time, point, setting.noise.on(rng, seconds, setting.level));
            }
        }
    }
    let experiment = builder.finish();
    let fits = fit(&experiment, &Options::default());
    (experiment, fits)
}

/// Failures, and files with one at least.
#[derive(Clone, Copy, Default)]
struct Failures {
    judgements: usize,
    files: usize,
}

impl Failures {
    fn add(&mut self, failed: impl Iterator<Item = bool>) {
        let count = failed.filter(|f| *f).count();
        self.judgements += count;
        self.files += usize::from(count > 0);
    }
}

/// What fails of so many files, before and now.
#[derive(Default)]
struct Tally {
    baseline: [[Failures; 2]; AT.len()],
    limit: [[Failures; 2]; AT.len()],
    growth: [Failures; 2],
}

fn run(setting: Setting, files: u64, seed: u64, worse: Worse) -> Tally {
    let mut tally = Tally::default();
    for file in 0..files {
        let rng = &mut StdRng::seed_from_u64(seed * 10_000 + file);
        let truths: Vec<Truth> = (0..PATHS).map(|_| Truth::draw(rng)).collect();
        let (old, old_fits) = measure(rng, &truths, setting, |_| 1.0);
        let (new, new_fits) = measure(rng, &truths, setting, worse);
        let (before, after) = (Side { experiment: &old, fits: &old_fits }, Side { experiment: &new, fits: &new_fits });
        let of_time = |fits: &'_ Fits| fits.models.iter().filter(|m| m.metric == 0).cloned().collect::<Vec<_>>();
        let (a, b) = (of_time(&old_fits), of_time(&new_fits));
        let all = Together(b.len());
        for (i, at) in AT.iter().enumerate() {
            let x = [*at];
            let ratio = |i: usize| Ratio::of(b[i].predict(&x, LEVEL), a[i].predict(&x, LEVEL));
            let baseline = |i: usize| is_no_worse((after, &b[i]), (before, &a[i]), &x, TOLERANCE, LEVEL, all).verdict;
            let limit = |i: usize| (1.0 + TOLERANCE) * truths[i].at(*at);
            let fails = |verdict: Verdict| verdict == Verdict::Fail;
            tally.baseline[i][0].add((0..PATHS).map(|i| fails(no_worse(ratio(i), TOLERANCE))));
            tally.baseline[i][1].add((0..PATHS).map(|i| fails(baseline(i))));
            tally.limit[i][0].add((0..PATHS).map(|i| fails(at_most(b[i].predict(&x, LEVEL), limit(i)))));
            tally.limit[i][1].add((0..PATHS).map(|i| fails(b[i].is_at_most(&x, limit(i), LEVEL, all).verdict)));
        }
        let bound = |i: usize| Growth { exponent: truths[i].exponent, log_exponent: truths[i].log };
        let before = |i: usize| b[i].grows_at_most(0, bound(i), &[64.0], Together(1));
        let now = |i: usize| grows_at_most((after, &b[i]), 0, bound(i), &[64.0], all);
        tally.growth[0].add((0..PATHS).map(|i| before(i) == Verdict::Fail));
        tally.growth[1].add((0..PATHS).map(|i| now(i) == Verdict::Fail));
    }
    tally
}

/// How many times the truth's time the second experiment takes, by p.
type Worse = fn(f64) -> f64;

fn main() {
    let argument = |n: usize| std::env::args().nth(n).and_then(|a| a.parse().ok());
    let (files, seed) = (argument(1).unwrap_or(20), argument(2).unwrap_or(1));
    println!(
        "of {PATHS} judgements, those that fail; in brackets files with a failure, of {files}; before > now; p = {AT:?}"
    );
    let cases: [(&str, Worse); 4] = [
        ("same truth", |_| 1.0),
        ("1.5 times", |_| 1.5),
        ("3 times", |_| 3.0),
        ("p^(1/2) more, as much at p = 4", |p| (p / 4.0).sqrt()),
    ];
    for (name, worse) in cases {
        println!("{name}");
        for (noise, level) in [
            (Noise::Normal, 0.01),
            (Noise::Normal, 0.1),
            (Noise::Normal, 0.3),
            (Noise::LogNormal, 0.5),
            (Noise::Added, 0.1),
            (Noise::Added, 0.5),
            (Noise::Exponential, 0.1),
            (Noise::Exponential, 0.5),
        ] {
            for (repetitions, effort) in [(3, false), (1, false), (3, true)] {
                let tally = run(Setting { noise, level, repetitions, effort }, files, seed, worse);
                let one = |f: Failures| format!("{:.1} ({})", f.judgements as f64 / files as f64, f.files);
                let pair = |f: &[Failures; 2]| format!("{} > {}", one(f[0]), one(f[1]));
                let list = |all: &[[Failures; 2]]| all.iter().map(pair).collect::<Vec<_>>().join(", ");
                let shape = if effort { "effort" } else { "time" };
                println!("  {noise:?} {level} x{repetitions} {shape}: baseline {}", list(&tally.baseline));
                println!("    limit {}; growth {}", list(&tally.limit), pair(&tally.growth));
            }
        }
    }
}
