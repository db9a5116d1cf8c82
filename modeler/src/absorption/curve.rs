//! One mode's curve: times over the noise quantity from the samples of one class of executions, the bend fitted to it,
//! and how certain that is.
//!
//! Each quantity's time is a low quantile, since disturbances only add. What the quantities' times differ from the fitted
//! curve by beyond what their bursts explain is the variants' own: code of another length lies elsewhere in memory. The
//! interval is that of a bootstrap over rounds (Efron and Tibshirani, An Introduction to the Bootstrap, chapter 13) with
//! that difference added anew to each quantity.

use std::collections::BTreeMap;

use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};

use super::hinge::{self, At, Hinge};
use super::samples::{Class, low_quantile};
use super::{Options, Point, State};
use crate::words::counted;

/// Bursts that a quantity needs to be used.
pub const LEAST_BURSTS: usize = 3;
/// Quantities that a curve needs, the one without noise among them.
pub const LEAST_POINTS: usize = 4;
/// Bursts that a curve needs.
pub(crate) const NEEDED: usize = LEAST_BURSTS * LEAST_POINTS;
/// What no number of bursts makes more certain, relative: variants differ by a few in a thousand anyway.
const FINEST: f64 = 0.003;
/// Up to this ratio a quantity is not slower; the paper's "not affected at all" as far as clocks can tell.
const UNAFFECTED: f64 = 1.05;
/// Ratios above this are a slowdown without doubt, and with so many of them and one beyond [`ENOUGH`], saturation is
/// certain: further quantities say nothing about the bend.
const SLOWED: f64 = 1.25;
const ENOUGH_SLOWED: usize = 5;
const ENOUGH: f64 = 2.5;
/// What a bend must explain, in units of chi squared, to be one: two more coefficients at the level of one in a hundred.
const BENDS: f64 = 9.2;
/// The same for a smooth bend, with one coefficient more.
const SMOOTH: f64 = 6.6;

/// What a curve says.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    pub state: State,
    /// The absorption; for [`State::AtLeast`] a lower bound.
    pub raw: f64,
    pub lower: f64,
    /// `None` where no slowdown was seen that would bound it.
    pub upper: Option<f64>,
    pub k1: f64,
    pub k2: Option<f64>,
    /// Further time per further instruction, as a share of the time without noise.
    pub slope: Option<f64>,
    /// The resource's idle share of the time without noise: lower end, value, upper end.
    pub slack: [f64; 3],
    pub points: Vec<Point>,
    /// Why the state is what it is, where that needs saying.
    pub reason: String,
}

/// The samples at one quantity, sorted by their logarithm.
struct Quantity {
    k: u32,
    samples: Vec<(f64, usize)>,
}

impl Quantity {
    /// The logarithm of the time: the low quantile of samples that count as often as their round was drawn.
    fn drawn(&self, q: f64, times: &[u32]) -> Option<f64> {
        let total: u32 = self.samples.iter().map(|s| times[s.1]).sum();
        let wanted = q * f64::from(total);
        let mut met = 0;
        let reached = self.samples.iter().find(|s| {
            met += times[s.1];
            met > 0 && f64::from(met) >= wanted
        });
        reached.map(|s| s.0)
    }

    fn level(&self, q: f64) -> f64 {
        let sorted: Vec<f64> = self.samples.iter().map(|s| s.0).collect();
        low_quantile(&sorted, q)
    }
}

/// Rounds as drawn by the bootstrap: how often each is in each replicate. All modes of a class share them.
pub(crate) struct Draws(Vec<Vec<u32>>);

impl Draws {
    /// Draws `rounds` of `rounds` with replacement, `replicates` times.
    pub fn new(rounds: usize, options: &Options) -> Self {
        let mut random = StdRng::seed_from_u64(options.seed);
        let draw = |_| {
            let mut times = vec![0; rounds];
            (0..rounds).for_each(|_| times[random.random_range(0..rounds)] += 1);
            times
        };
        Self((0..options.replicates).map(draw).collect())
    }
}

/// A standard normal number (Box and Muller).
fn normal(random: &mut impl Rng) -> f64 {
    let (u, v): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// The curve of `mode` over the quantities that `refused` does not give a reason against.
pub(crate) fn curve(
    class: &Class,
    mode: u32,
    draws: &Draws,
    refused: &dyn Fn(u32) -> Option<String>,
    options: &Options,
) -> Curve {
    let all = quantities(class, mode);
    let mut points: Vec<Point> = all.iter().map(|q| described(q, refused)).collect();
    let usable: Vec<&Quantity> = all.iter().zip(&points).filter(|(_, p)| p.unused.is_none()).map(|(q, _)| q).collect();
    let fewest = usable.iter().map(|q| q.samples.len()).min().unwrap_or(0);
    if usable.len() < LEAST_POINTS || usable[0].k != 0 {
        return too_few(points, &usable);
    }
    // A low quantile needs samples below it; all quantities have the same, so that its bias cancels.
    let q = match fewest {
        20.. => 0.1,
        8.. => 0.25,
        _ => 0.35,
    };
    let measured = Measured::of(&usable, q, draws, options);
    measured.describe(&mut points);
    measured.judge(points, options)
}

/// The samples of `mode` and those without noise, by quantity.
fn quantities(class: &Class, mode: u32) -> Vec<Quantity> {
    let mut by_k: BTreeMap<u32, Vec<(f64, usize)>> = BTreeMap::new();
    for sample in class.samples.iter().filter(|s| s.k == 0 || s.mode == mode) {
        by_k.entry(sample.k).or_default().push((sample.log_ratio, sample.round));
    }
    let sorted = |(k, mut samples): (u32, Vec<(f64, usize)>)| {
        samples.sort_by(|a, b| a.0.total_cmp(&b.0));
        Quantity { k, samples }
    };
    by_k.into_iter().map(sorted).collect()
}

fn described(quantity: &Quantity, refused: &dyn Fn(u32) -> Option<String>) -> Point {
    let bursts = quantity.samples.len();
    let few = (bursts < LEAST_BURSTS).then(|| format!("only {bursts} of {LEAST_BURSTS} bursts"));
    let unused = few.or_else(|| refused(quantity.k));
    Point { k: quantity.k, ratio: f64::NAN, lower: f64::NAN, upper: f64::NAN, bursts, unused }
}

/// Whether too few of a curve's points have their bursts, whatever else there is.
pub(crate) fn lacks_bursts(points: &[Point]) -> bool {
    points.iter().filter(|point| point.bursts >= LEAST_BURSTS).count() < LEAST_POINTS
}

fn too_few(points: Vec<Point>, usable: &[&Quantity]) -> Curve {
    let reason = match usable.first() {
        Some(first) if first.k == 0 => {
            let few = points.iter().filter(|point| point.bursts < LEAST_BURSTS).count();
            let others = if few > 0 { format!("; {few} had fewer than {LEAST_BURSTS} bursts") } else { String::new() };
            let usable = counted(usable.len(), "quantity", "quantities");
            format!("{usable} can be used, {LEAST_POINTS} are needed{others}")
        }
        _ => "too few bursts without noise".to_owned(),
    };
    undecided(points, reason)
}

fn undecided(points: Vec<Point>, reason: String) -> Curve {
    Curve {
        state: State::Undecided,
        raw: f64::NAN,
        lower: 0.0,
        upper: None,
        k1: f64::NAN,
        k2: None,
        slope: None,
        slack: [0.0, f64::NAN, 1.0],
        points,
        reason,
    }
}

/// The times of the usable quantities with their replicates.
struct Measured {
    k: Vec<f64>,
    /// Relative to the baseline.
    y: Vec<f64>,
    /// Standard error of each, relative.
    error: Vec<f64>,
    /// That of the time without noise, by its bursts alone.
    bare_error: f64,
    /// What each replicate has instead of `y`.
    replicates: Vec<Vec<f64>>,
    /// How many quantities decide, from the smallest.
    decisive: usize,
}

impl Measured {
    fn of(usable: &[&Quantity], q: f64, draws: &Draws, options: &Options) -> Self {
        let level: Vec<f64> = usable.iter().map(|quantity| quantity.level(q)).collect();
        let replicate = |times: &Vec<u32>| -> Vec<f64> {
            usable.iter().zip(&level).map(|(quantity, l)| quantity.drawn(q, times).unwrap_or(*l).exp()).collect()
        };
        let mut replicates: Vec<Vec<f64>> = draws.0.iter().map(replicate).collect();
        let y: Vec<f64> = level.iter().map(|l| l.exp()).collect();
        let error = |i: usize| {
            let squares: f64 = replicates.iter().map(|r| (r[i] / y[i]).ln().powi(2)).sum();
            (squares / replicates.len().max(1) as f64).sqrt()
        };
        let error: Vec<f64> = (0..y.len()).map(error).collect();
        let k: Vec<f64> = usable.iter().map(|quantity| f64::from(quantity.k)).collect();
        let mut measured = Self { decisive: decisive(&y), bare_error: error[0], k, y, error, replicates: Vec::new() };
        let own = measured.own_difference().hypot(FINEST);
        let mut random = StdRng::seed_from_u64(options.seed.wrapping_add(1));
        for replicate in &mut replicates {
            replicate.iter_mut().for_each(|y| *y *= (own * normal(&mut random)).exp());
        }
        measured.replicates = replicates;
        measured.error.iter_mut().for_each(|e| *e = e.hypot(own));
        measured
    }

    /// The decisive points of times `y`, with these weights relative to their errors.
    fn points(&self, y: &[f64], robust: &[f64]) -> Vec<At> {
        let at = |i: usize| At { k: self.k[i], y: y[i], weight: robust[i] / (self.error[i] * self.y[i]).powi(2) };
        (0..self.decisive).map(at).collect()
    }

    /// How much variants differ from the curve by themselves, relative: the robust spread of the residuals, less what the
    /// bursts explain.
    fn own_difference(&self) -> f64 {
        let mut points = self.points(&self.y, &vec![1.0; self.k.len()]);
        points.iter_mut().zip(&self.error).for_each(|(p, e)| p.weight = 1.0 / ((e * e + FINEST * FINEST) * p.y * p.y));
        let hinge = hinge::fit(&points);
        let smooth = hinge::transition(&points, &hinge);
        // A smooth bend is no difference between variants.
        let residual = |p: &At| match &smooth {
            Some(t) => p.y / t.at(p.k) - 1.0,
            None => p.y / hinge.at(p.k) - 1.0,
        };
        let mut residuals: Vec<f64> = points.iter().map(|p| residual(p).abs()).collect();
        residuals.sort_by(f64::total_cmp);
        let freedom = residuals.len() as f64 - 4.0;
        if freedom < 1.0 {
            return 0.0;
        }
        let spread = 1.4826 * low_quantile(&residuals, 0.5) * (residuals.len() as f64 / freedom).sqrt();
        let mut errors = self.error[..self.decisive].to_vec();
        errors.sort_by(f64::total_cmp);
        let explained = low_quantile(&errors, 0.5);
        (spread * spread - explained * explained).max(0.0).sqrt()
    }

    /// Weights that single variants far from the curve lose (Huber, Robust Statistics, section 7.8), and the curve.
    fn robust(&self) -> (Vec<f64>, Hinge) {
        let mut weights = vec![1.0; self.k.len()];
        let mut hinge = hinge::fit(&self.points(&self.y, &weights));
        for _ in 0..4 {
            for (i, weight) in weights.iter_mut().enumerate().take(self.decisive) {
                let residual = ((self.y[i] - hinge.at(self.k[i])) / (self.y[i] * self.error[i])).abs();
                *weight = (1.5 / residual.max(1e-9)).min(1.0);
            }
            hinge = hinge::fit(&self.points(&self.y, &weights));
        }
        (weights, hinge)
    }

    fn describe(&self, points: &mut [Point]) {
        let level = self.robust().1.level;
        let used = points.iter_mut().filter(|p| p.unused.is_none());
        for (i, point) in used.enumerate() {
            let reach = 1.645 * self.error[i];
            point.ratio = self.y[i] / level;
            point.lower = point.ratio * (-reach).exp();
            point.upper = point.ratio * reach.exp();
            if i >= self.decisive {
                point.unused = Some("saturation is certain before".into());
            }
        }
    }

    /// State, absorption and intervals.
    fn judge(&self, points: Vec<Point>, options: &Options) -> Curve {
        let (weights, hinge) = self.robust();
        let decisive = self.points(&self.y, &weights);
        let bends = hinge.slope > 0.0 && constant_cost(&decisive) - hinge.cost >= BENDS;
        if !bends || self.unaffected(&hinge) == self.decisive {
            return self.never_slowed(points);
        }
        let fits: Vec<Hinge> = self.replicates.iter().map(|y| hinge::fit(&self.points(y, &weights))).collect();
        let last = self.k[self.decisive - 1];
        let (low, high) = (0.5 * (1.0 - options.level), 0.5 * (1.0 + options.level));
        let knees = interval(fits.iter().map(|f| f.knee), low, high, hinge.knee);
        let slack =
            interval(fits.iter().map(|f| if f.slope > 0.0 { f.slack() } else { 1.0 }), low, high, hinge.slack());
        let flat = fits.iter().filter(|f| f.slope <= 0.0).count() as f64;
        // One slowed quantity alone says that the bend is somewhere before it. One right behind the bend is not slower yet.
        let slowed = self.k[..self.decisive].iter().filter(|&&k| hinge.at(k) > UNAFFECTED * hinge.level).count();
        let upper = match slowed {
            1 => knees.1.max(last),
            _ => knees.1,
        };
        let bounded = flat <= (1.0 - high) * fits.len() as f64;
        let transition = self.transition(&decisive, &hinge);
        let (k1, k2, slope) = transition.map_or((hinge.knee, hinge.knee, hinge.slope), |t| (t.start, t.end, t.slope));
        let wide = upper - knees.0 > hinge.knee.max(8.0);
        let (state, reason) = match (bounded, wide) {
            (false, _) => (State::Undecided, "noise hides whether it slows down".to_owned()),
            (_, true) => {
                (State::Undecided, format!("the slowdown may begin anywhere from {:.0} to {upper:.0}", knees.0))
            }
            _ => (State::Measured, String::new()),
        };
        Curve {
            state,
            raw: hinge.knee,
            lower: knees.0,
            upper: bounded.then_some(upper),
            k1,
            k2: Some(k2),
            slope: Some(slope / hinge.level),
            slack: [slack.0, hinge.slack(), slack.1],
            points,
            reason,
        }
    }

    /// The smooth bend, where it explains clearly more than the sharp one.
    fn transition(&self, decisive: &[At], hinge: &Hinge) -> Option<hinge::Transition> {
        let transition = hinge::transition(decisive, hinge)?;
        (hinge.cost - transition.cost > SMOOTH).then_some(transition)
    }

    /// How many quantities, from the smallest, certainly do not slow the loop down, each by itself.
    fn unaffected(&self, hinge: &Hinge) -> usize {
        let is_certain = |&i: &usize| is_unaffected(self.y[i] / hinge.level, self.error[i]);
        (0..self.decisive).take_while(is_certain).count()
    }

    /// The same without a bend, where each may be known by the larger ones, too: more noise is taken to be no faster, so that no quantity takes longer than it
    /// and all larger ones do on average. The level is that average itself then, so the loop without noise is what they are compared with.
    fn unaffected_together(&self) -> usize {
        let mean = |y: &[f64], from: usize| {
            let weight = |i: usize| (self.error[i] * self.y[i]).powi(-2);
            let range = from..self.decisive;
            range.clone().map(|i| weight(i) * y[i]).sum::<f64>() / range.map(weight).sum::<f64>()
        };
        let is_certain = |y: f64, error: f64| is_unaffected(y / self.y[0], error.hypot(self.bare_error));
        let are_certain = |&from: &usize| {
            let here = mean(&self.y, from);
            let squares: f64 = self.replicates.iter().map(|y| (mean(y, from) / here).ln().powi(2)).sum();
            let error = (squares / self.replicates.len().max(1) as f64).sqrt();
            is_certain(self.y[from], self.error[from]) || is_certain(here, error)
        };
        (1..self.decisive).take_while(are_certain).count() + 1
    }

    /// No slowdown is certain: how far the times are certainly unaffected.
    fn never_slowed(&self, points: Vec<Point>) -> Curve {
        let bound = self.k[self.unaffected_together() - 1];
        if bound <= 0.0 {
            return undecided(points, "noise hides whether it slows down".into());
        }
        Curve {
            state: State::AtLeast,
            raw: bound,
            lower: bound,
            upper: None,
            k1: bound,
            k2: None,
            slope: None,
            slack: [0.0, f64::NAN, 1.0],
            points,
            reason: String::new(),
        }
    }
}

/// Whether a time of this ratio, with this relative error, is certainly no slowdown.
fn is_unaffected(ratio: f64, error: f64) -> bool {
    ratio * (1.645 * error).exp() <= UNAFFECTED
}

/// How many quantities decide, from the smallest.
fn decisive(y: &[f64]) -> usize {
    let mut slowed = 0;
    let end = y.iter().position(|y| {
        slowed += usize::from(*y > SLOWED);
        slowed >= ENOUGH_SLOWED && *y > ENOUGH
    });
    end.map_or(y.len(), |end| end + 1)
}

/// The cost of taking the points for constant.
fn constant_cost(points: &[At]) -> f64 {
    let weight: f64 = points.iter().map(|p| p.weight).sum();
    let mean = points.iter().map(|p| p.weight * p.y).sum::<f64>() / weight;
    points.iter().map(|p| p.weight * (p.y - mean).powi(2)).sum()
}

/// The quantiles of the replicates' `values`, widened to hold the `value` itself.
fn interval(values: impl Iterator<Item = f64>, low: f64, high: f64, value: f64) -> (f64, f64) {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    if values.is_empty() {
        return (value, value);
    }
    (low_quantile(&values, low).min(value), low_quantile(&values, high).max(value))
}
