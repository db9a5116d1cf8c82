//! Variants of the measured times: with the paper's artificial noise, with fewer repetitions, and, where times are
//! simulated, what the simulated machine's computation costs.

use std::collections::BTreeMap;

use benchgen::truth::CallPathTruth;
use modeler::Experiment;
use modeler::experiment::{ExperimentBuilder, Metric, OverRanks};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1, Poisson, StandardNormal};
use serde::{Deserialize, Serialize};

use super::find;
use super::plan::{Executor, Plan};
use crate::error::{Error, Result};

/// The paper's patterns of noise (section V-A.6), each a distribution clipped to 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// None.
    None,
    /// Uniform between 0 and 1.
    Uniform,
    /// The standard normal distribution between 0 and 1.
    Normal,
    /// A Poisson distribution of mean 1000, divided by 1000.
    Poisson,
    /// The exponential distribution of mean 1.
    Exponential,
}

impl Pattern {
    /// All five.
    pub const ALL: [Self; 5] = [Self::None, Self::Uniform, Self::Normal, Self::Poisson, Self::Exponential];

    /// For tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Uniform => "uniform",
            Self::Normal => "normal",
            Self::Poisson => "Poisson",
            Self::Exponential => "exponential",
        }
    }

    fn draw(self, random: &mut StdRng) -> f64 {
        let value: f64 = match self {
            Self::None => 0.0,
            Self::Uniform => random.random(),
            Self::Normal => loop {
                let z: f64 = StandardNormal.sample(random);
                if (0.0..=1.0).contains(&z) {
                    break z;
                }
            },
            Self::Poisson => Poisson::new(1000.0).map_or(1.0, |poisson| poisson.sample(random) / 1000.0),
            Self::Exponential => Exp1.sample(random),
        };
        value.clamp(0.0, 1.0)
    }
}

/// The paper's intensities, in percent.
pub const LEVELS: [u32; 5] = [2, 5, 10, 50, 75];

/// Share of the measurements that are disturbed: "randomly selected" ones.
const DISTURBED: f64 = 0.5;

/// Where the repetitions of a simulated time come from, which by itself is the same in every run: uniform noise of this
/// intensity in percent on half of the measurements.
const BACKGROUND: u32 = 10;

/// Times of one call path: repetitions by point, in the experiment's order of points.
#[derive(Clone, Debug)]
pub struct Times(pub Vec<Vec<f64>>);

impl Times {
    /// With artificial noise, `y + η`, the largest η being `level` percent of y.
    pub fn disturbed(&self, pattern: Pattern, level: u32, random: &mut StdRng) -> Self {
        let scale = f64::from(level) / 100.0;
        let mut value = |y: &f64| {
            let is_selected = random.random_bool(DISTURBED);
            if is_selected { y * (1.0 + scale * pattern.draw(random)) } else { *y }
        };
        Self(self.0.iter().map(|all| all.iter().map(&mut value).collect()).collect())
    }

    /// Only the chosen repetitions.
    pub fn chosen(&self, repetitions: &[usize]) -> Self {
        let of = |all: &Vec<f64>| repetitions.iter().filter_map(|&r| all.get(r).copied()).collect();
        Self(self.0.iter().map(of).collect())
    }

    /// These times, which have one repetition, in place of the first of `others`.
    pub fn with_exact_first(&self, others: &Self) -> Self {
        let joined = |(one, many): (&Vec<f64>, &Vec<f64>)| one.iter().chain(many.iter().skip(1)).copied().collect();
        Self(self.0.iter().zip(&others.0).map(joined).collect())
    }

    /// `count` repetitions of times that are the same in every run.
    pub fn repeated(&self, count: u32, random: &mut StdRng) -> Self {
        let repeats: Vec<Self> = (0..count).map(|_| self.disturbed(Pattern::Uniform, BACKGROUND, random)).collect();
        let at = |i: usize| repeats.iter().filter_map(|r| r.0[i].first().copied()).collect();
        Self((0..self.0.len()).map(at).collect())
    }
}

/// A generator of its own for each call path and each thing that is drawn, so that one does not depend on the others.
pub fn generator(seed: u64, callpath: &[String], what: &str) -> StdRng {
    // FNV-1a, which is fixed for ever.
    let names = callpath.iter().map(String::as_str).chain([what]);
    let bytes = names.flat_map(|name| name.bytes().chain([0]));
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    StdRng::seed_from_u64(hash ^ seed)
}

/// Seconds per iteration of each loop of a function on the simulated machine, between 0.5 and 2 ns, drawn.
fn seconds_per_iteration(truth: &CallPathTruth, seed: u64) -> Vec<f64> {
    let mut random = generator(seed, &truth.callpath, "seconds per iteration");
    let loops = truth.iterations.as_ref().map_or(0, |count| count.exact.len());
    (0..loops).map(|_| 1e-9 * random.random_range(0.5..2.0)).collect()
}

/// The time of a function's own loops on the simulated machine: what their exact trip counts, by the truth and not by
/// our counters, cost there.
pub fn simulated(truth: &CallPathTruth, seed: u64, parameters: &[String], at: &[f64]) -> f64 {
    let point: benchgen::Point = parameters.iter().cloned().zip(at.iter().copied()).collect();
    let loops = truth.iterations.iter().flat_map(|count| &count.exact);
    let seconds = seconds_per_iteration(truth, seed);
    // Entering the function costs something, too.
    1e-7 + loops.zip(seconds).map(|(l, s)| s * l.at(&point).map_or(f64::NAN, |n| n as f64)).sum::<f64>()
}

/// The measured times of a call path, the mean over ranks, by point.
fn measured(experiment: &Experiment, callpath: &[String]) -> Option<Times> {
    let metric = experiment.metric("time", Some(OverRanks::Mean))?;
    let series = experiment.series_of(find(experiment, callpath)?, metric)?;
    Some(Times(experiment.measurements(series).map(|(_, values)| values.to_vec()).collect()))
}

/// The times of a call path without artificial noise: as measured, but where a machine was simulated, what the loops cost there.
pub fn undisturbed(plan: &Plan, truth: &CallPathTruth, experiment: &Experiment) -> Result<Times> {
    if plan.executor == Executor::Smpi && truth.iterations.is_some() {
        let at = |x: &Vec<f64>| vec![simulated(truth, plan.seed, &experiment.parameters, x)];
        return Ok(Times(experiment.points.iter().map(at).collect()));
    }
    let lost = || Error::Partial(format!("{}: its times were not measured.", truth.callpath.join(" -> ")));
    measured(experiment, &truth.callpath).ok_or_else(lost)
}

/// One call path with everything that is modelled of it.
pub struct Subject<'a> {
    /// What is known of it.
    pub truth: &'a CallPathTruth,
    /// Its times at the training points.
    pub times: Times,
    /// Its time at the unseen point.
    pub unseen: f64,
}

/// An experiment of these subjects alone: the efforts of the first repetition, where they are wanted, and every variant
/// of the times as a metric of its own. All are named `time`, which the modeler knows; the unit tells them apart. So
/// what effort says of a shape is searched for once and serves all variants.
pub fn experiment(
    measured: &Experiment,
    subjects: &[&Subject],
    with_effort: bool,
    variants: &[Vec<Times>],
) -> Experiment {
    let mut builder = ExperimentBuilder::new(measured.parameters.clone());
    for (subject, variants) in subjects.iter().zip(variants) {
        let callpath = builder.callpath(&subject.truth.callpath);
        if with_effort {
            copy_effort(&mut builder, measured, subject, |_| true);
        }
        for (number, times) in variants.iter().enumerate() {
            let unit = format!("{VARIANT}{number}");
            let metric = builder.metric(Metric { name: "time".into(), unit, over_ranks: None });
            for (at, values) in measured.points.iter().zip(&times.0) {
                let point = builder.point(at);
                values.iter().for_each(|&seconds| builder.add(callpath, metric, point, seconds));
            }
        }
    }
    builder.finish()
}

/// How the units of variants begin; their number follows.
const VARIANT: &str = "s, variant ";

/// The number of the variant that a metric is, if it is one.
pub fn variant(metric: &Metric) -> Option<usize> {
    metric.unit.strip_prefix(VARIANT)?.parse().ok()
}

/// The efforts of the first repetition at the points that are wanted.
pub fn copy_effort(
    builder: &mut ExperimentBuilder,
    measured: &Experiment,
    subject: &Subject,
    is_wanted: impl Fn(&[f64]) -> bool,
) {
    let Some(id) = find(measured, &subject.truth.callpath) else { return };
    let callpath = builder.callpath(&subject.truth.callpath);
    for series in measured.series.iter().filter(|s| s.callpath == id) {
        let metric = &measured.metrics[series.metric as usize];
        if metric.name == "time" {
            continue;
        }
        let metric = builder.metric(metric.clone());
        for (at, values) in measured.measurements(series).filter(|(at, _)| is_wanted(at)) {
            let point = builder.point(at);
            values.iter().take(1).for_each(|&count| builder.add(callpath, metric, point, count));
        }
    }
}

/// All choices of `k` of `n` repetitions, for every k, by k.
pub fn combinations(n: usize) -> BTreeMap<usize, Vec<Vec<usize>>> {
    let mut all: BTreeMap<usize, Vec<Vec<usize>>> = BTreeMap::new();
    for bits in 1_u32..1 << n {
        let chosen: Vec<usize> = (0..n).filter(|i| bits >> i & 1 == 1).collect();
        all.entry(chosen.len()).or_default().push(chosen);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_stays_in_its_range_and_leaves_half_of_the_values() {
        let times = Times(vec![vec![1.0; 10]; 200]);
        let mut random = StdRng::seed_from_u64(1);
        for pattern in Pattern::ALL {
            let noisy = times.disturbed(pattern, 50, &mut random);
            let values: Vec<f64> = noisy.0.into_iter().flatten().collect();
            assert!(values.iter().all(|v| (1.0..=1.5).contains(v)), "{pattern:?}");
            let moved = values.iter().filter(|v| **v > 1.0).count();
            let expected = if pattern == Pattern::None { 0..=0 } else { 900..=1100 };
            assert!(expected.contains(&moved), "{pattern:?}: {moved}");
        }
    }

    #[test]
    fn there_are_31_choices_of_five_repetitions() {
        let sizes: Vec<usize> = combinations(5).values().map(Vec::len).collect();
        assert_eq!(sizes, [5, 10, 10, 5, 1]);
        let times = Times(vec![vec![1.0, 2.0, 3.0]]);
        assert_eq!(times.chosen(&[0, 2]).0, [[1.0, 3.0]]);
    }
}
