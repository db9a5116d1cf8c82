//! From a profile's bursts to comparable samples: which executions belong together, and times relative to what the same
//! thread took without noise at about the same time.

use std::collections::BTreeMap;

use poise_profile::{Noise, Series};

/// The quantile of times without noise that everything is compared with. Noise of the machine only adds to times, so low
/// quantiles stay where they are when some bursts are disturbed.
const LOW: f64 = 0.1;
/// Bursts without noise that give a baseline which follows slow drift; with fewer than twice as many, one serves all.
const WINDOW: usize = 40;
/// Executions are told apart where their times differ by this factor at least.
const CLEARLY: f64 = 2.0;
/// With a gap of this factor between them.
const GAP: f64 = 1.25;
/// A class has this share of the executions at least.
const LEAST_SHARE: f64 = 0.2;
/// And so many bursts without noise.
const LEAST_BURSTS: usize = 8;

/// One burst.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Number of its round among those of all threads.
    pub round: usize,
    /// Index of its mode in the profile.
    pub mode: u32,
    /// The noise quantity.
    pub k: u32,
    /// Logarithm of its time per unit, relative to the baseline of its thread at its time.
    pub log_ratio: f64,
}

/// Executions of one loop at one call path that took about equally long.
#[derive(Debug)]
pub(crate) struct Class {
    /// Its samples, by round.
    pub samples: Vec<Sample>,
    /// Number of rounds.
    pub rounds: usize,
    /// Nanoseconds per unit without noise: the low quantile.
    pub nanoseconds: f64,
    /// Nanoseconds of all the loop's executions that are of this class, about: from those that were measured without noise, by their number and by how
    /// long they took on average. What was measured is a lower bound, as of one long execution whose chunks were.
    pub total: f64,
    /// Its share of the loop's bursts without noise.
    pub share: f64,
}

/// What was measured of one loop at one call path, over all threads and ranks.
#[derive(Debug)]
pub(crate) struct Group {
    /// Index of the call path's node.
    pub node: u32,
    /// Index of the loop.
    pub target: u32,
    /// Executions, measured or not.
    pub executions: u64,
    /// Bursts that did not fit into memory, and rounds of executions too brief for the clock.
    pub left_out: u64,
    /// Whether times are per iteration of the machine code; else per execution.
    pub per_iteration: bool,
    /// Classes of executions, the one with most time first.
    pub classes: Vec<Class>,
}

/// A burst on its way to a sample.
#[derive(Clone, Copy)]
struct Raw {
    series: usize,
    round: u32,
    mode: u32,
    k: u32,
    entries: u64,
    /// Logarithm of the time per unit.
    log_time: f64,
    /// Binary logarithm of the iterations per execution; 0 where they are not known.
    trip: f64,
}

/// The groups of a run, by call path, then loop.
pub(crate) fn groups(noise: &Noise) -> Vec<Group> {
    let mut by_place: BTreeMap<(u32, u32), Vec<&Series>> = BTreeMap::new();
    for series in &noise.series {
        by_place.entry((series.node, series.target)).or_default().push(series);
    }
    by_place.into_iter().map(|((node, target), series)| group(node, target, &series)).collect()
}

fn group(node: u32, target: u32, series: &[&Series]) -> Group {
    let bursts = || series.iter().flat_map(|s| &s.bursts);
    let per_iteration = bursts().all(|b| b.iterations.is_some_and(|i| i > 0));
    let mut raw = Vec::new();
    for (index, series) in series.iter().enumerate() {
        for b in series.bursts.iter().filter(|b| b.nanoseconds > 0) {
            let iterations = b.iterations.filter(|_| per_iteration).unwrap_or(b.entries) as f64;
            raw.push(Raw {
                series: index,
                round: b.round,
                mode: b.mode,
                k: b.k,
                entries: b.entries,
                log_time: (b.nanoseconds as f64 / iterations).ln(),
                trip: if per_iteration { (iterations / b.entries as f64).log2() } else { 0.0 },
            });
        }
    }
    let executions: u64 = series.iter().map(|s| s.executions).sum();
    let all = raw.iter().filter(|b| b.k == 0).count().max(1) as f64;
    let entries: u64 = raw.iter().filter(|b| b.k == 0).map(|b| b.entries).sum();
    let mut classes: Vec<Class> = split(raw)
        .into_iter()
        .map(|bursts| {
            let unnoised = bursts.iter().filter(|b| b.k == 0);
            let nanoseconds = |b: &Raw| (b.log_time + b.trip * std::f64::consts::LN_2).exp() * b.entries as f64;
            let time: f64 = unnoised.clone().map(nanoseconds).sum();
            let total = time * (executions as f64 / entries.max(1) as f64).max(1.0);
            class(&bursts, total, unnoised.count() as f64 / all)
        })
        .collect();
    classes.sort_by(|a, b| b.total.total_cmp(&a.total));
    Group { node, target, executions, left_out: series.iter().map(|s| s.left_out).sum(), per_iteration, classes }
}

/// The smallest value that at least the share `q` of the sorted `values` does not exceed; NaN where there is none.
pub(crate) fn low_quantile(sorted: &[f64], q: f64) -> f64 {
    let index = (q * sorted.len() as f64).ceil().max(1.0) as usize - 1;
    sorted.get(index).copied().unwrap_or(f64::NAN)
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    low_quantile(&sorted(values), 0.5)
}

/// Bursts of executions that clearly differ, apart: by the number of iterations where that makes their times differ, then
/// by times that leave a gap.
fn split(raw: Vec<Raw>) -> Vec<Vec<Raw>> {
    let by_trip = split_by_trip(raw);
    let halves = |bursts: Vec<Raw>| match split_by_time(&bursts) {
        Some((fast, slow)) => vec![fast, slow],
        None => vec![bursts],
    };
    by_trip.into_iter().flat_map(halves).collect()
}

/// The value in the middle of the widest gap between the sorted `values`, and how wide it is, if both sides have their
/// share.
fn widest_gap(values: &[f64]) -> Option<(f64, f64)> {
    let least = ((LEAST_SHARE * values.len() as f64) as usize).max(LEAST_BURSTS);
    let places = least..(values.len() + 1).checked_sub(least)?;
    let gaps = places.map(|i| (0.5 * (values[i - 1] + values[i]), values[i] - values[i - 1]));
    gaps.max_by(|a, b| a.1.total_cmp(&b.1))
}

fn split_by_trip(raw: Vec<Raw>) -> Vec<Vec<Raw>> {
    let trips = sorted(raw.iter().filter(|b| b.k == 0).map(|b| b.trip));
    let Some((middle, _)) = widest_gap(&trips).filter(|(_, gap)| *gap >= 1.0) else { return vec![raw] };
    let (short, long): (Vec<Raw>, Vec<Raw>) = raw.iter().partition(|b| b.trip < middle);
    let level = |bursts: &[Raw]| median(bursts.iter().filter(|b| b.k == 0).map(|b| b.log_time));
    if (level(&short) - level(&long)).abs() < GAP.ln() {
        return vec![raw];
    }
    [short, long].into_iter().flat_map(split_by_trip).collect()
}

/// Rounds whose times without noise are clearly below or above a gap. A burst that another process interrupted is slow
/// alone; executions that are slow of themselves are so with noise, too, so the others of their rounds are asked.
fn split_by_time(raw: &[Raw]) -> Option<(Vec<Raw>, Vec<Raw>)> {
    let mut of_round: BTreeMap<(usize, u32), f64> = BTreeMap::new();
    for b in raw.iter().filter(|b| b.k == 0) {
        let time = of_round.entry((b.series, b.round)).or_insert(f64::INFINITY);
        *time = time.min(b.log_time);
    }
    let times = sorted(of_round.values().copied());
    let (middle, _) = widest_gap(&times).filter(|(_, gap)| *gap >= GAP.ln())?;
    let (fast, slow) = times.split_at(times.partition_point(|&time| time < middle));
    let gap = low_quantile(slow, 0.5) - low_quantile(fast, 0.5);
    if gap < CLEARLY.ln() {
        return None;
    }
    let is_slow = |b: &Raw| of_round.get(&(b.series, b.round)).is_some_and(|&time| time > middle);
    let mut of_variant: BTreeMap<(u32, u32), Vec<f64>> = BTreeMap::new();
    for b in raw.iter().filter(|b| b.k > 0) {
        of_variant.entry((b.mode, b.k)).or_default().push(b.log_time);
    }
    let usual: BTreeMap<(u32, u32), f64> =
        of_variant.into_iter().map(|(variant, times)| (variant, median(times.into_iter()))).collect();
    let excess = |slow: bool| {
        let these = raw.iter().filter(|b| b.k > 0 && is_slow(b) == slow);
        median(these.map(|b| b.log_time - usual[&(b.mode, b.k)]))
    };
    let differ = excess(true) - excess(false);
    (differ >= 0.5 * gap).then(|| raw.iter().partition(|b| !is_slow(b)))
}

/// The samples of one class's bursts.
fn class(bursts: &[Raw], total: f64, share: f64) -> Class {
    let unnoised = sorted(bursts.iter().filter(|b| b.k == 0).map(|b| b.log_time));
    let common = low_quantile(&unnoised, LOW);
    let mut samples = Vec::with_capacity(bursts.len());
    let mut rounds = 0;
    for of_series in bursts.chunk_by(|a, b| a.series == b.series) {
        let baseline = Baseline::of(of_series, common);
        for of_round in of_series.chunk_by(|a, b| a.round == b.round) {
            let base = baseline.at(of_round[0].round);
            let sample = |b: &Raw| Sample { round: rounds, mode: b.mode, k: b.k, log_ratio: b.log_time - base };
            samples.extend(of_round.iter().map(sample));
            rounds += 1;
        }
    }
    Class { samples, rounds, nanoseconds: common.exp(), total, share }
}

/// What a thread takes without noise, over its rounds.
struct Baseline {
    /// First round and level of each stretch, in order.
    stretches: Vec<(u32, f64)>,
}

impl Baseline {
    /// The low quantile of a thread's bursts without noise, over windows of time where there are many; `common` where
    /// there are few.
    fn of(bursts: &[Raw], common: f64) -> Self {
        let unnoised: Vec<&Raw> = bursts.iter().filter(|b| b.k == 0).collect();
        if unnoised.len() < LEAST_BURSTS {
            return Self { stretches: vec![(0, common)] };
        }
        let level = |part: &[&Raw]| low_quantile(&sorted(part.iter().map(|b| b.log_time)), LOW);
        if unnoised.len() < 2 * WINDOW {
            return Self { stretches: vec![(0, level(&unnoised))] };
        }
        // Windows overlap by half, and each serves its middle.
        let step = WINDOW / 2;
        let starts = (0..=unnoised.len() - WINDOW).step_by(step);
        let stretch = |start: usize| {
            let first = if start == 0 { 0 } else { unnoised[start + step / 2].round };
            (first, level(&unnoised[start..start + WINDOW]))
        };
        Self { stretches: starts.map(stretch).collect() }
    }

    fn at(&self, round: u32) -> f64 {
        let after = self.stretches.partition_point(|&(first, _)| first <= round);
        self.stretches[after.saturating_sub(1)].1
    }
}
