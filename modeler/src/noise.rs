//! The noise of one time measurement: what it adds to an undisturbed time, as distributions.
//!
//! A measurement of a true time f is `f (1 + a H) (1 + σ Z)`: interference only adds, up to a part `a` of the time
//! with H between 0 and 1 in one of a few patterns, and the background varies either way by `σ` (Z is standard
//! normal). Interference comes to a share `d` of the measurements; to the others H is 0. All here is about the logarithm t
//! of measurement over truth, in which the two are a sum: the density of `ln(1 + a H)` is taken as constant between a few
//! edges, so that density and distribution function of the sum have closed forms.

use crate::logarithm::logarithms;
use crate::wide::wide;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How one-sided noise is distributed over its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Pattern {
    /// Evenly.
    Uniform,
    /// As a standard normal variable between 0 and 1.
    Normal,
    /// As an exponential variable of mean 1 of which all above 1 is 1: an interference that often takes its maximum.
    Clipped,
    /// As an exponential variable; the range is its mean. Rare interference may take many times that.
    Tail,
    /// Always the whole range: runs beside another program, or at a lower frequency.
    Fixed,
}

/// One distribution of noise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Noise {
    /// How the one-sided part is distributed.
    pub pattern: Pattern,
    /// Range of the one-sided part relative to the undisturbed time, a.
    pub range: f64,
    /// Share of the measurements that are disturbed, d.
    #[serde(default = "all")]
    pub disturbed: f64,
    /// Deviation of the background, σ.
    pub sigma: f64,
}

/// Pieces of constant density that stand for a pattern.
const PIECES: usize = 8;
/// Multiples of the mean up to which [`Pattern::Tail`] reaches.
const TAIL_END: f64 = 8.0;
/// Share of measurements that went astray: whatever their noise, they are ten times as far off.
const STRAY: f64 = 0.005;
/// Deviations of the logarithm up to which the background's mean is one. A larger mean than e^1.36 medians would be that of values
/// that are too rare to be measured, and 95 % of them would lie below it, however far apart those are that were.
const MEAN_COUNTS: f64 = 1.65;

/// Ranges below this are none.
const LEAST_RANGE: f64 = 1e-9;

/// The share of the measurements that are disturbed where nothing says so.
fn all() -> f64 {
    1.0
}

impl Pattern {
    /// Probability that H is below `u`.
    fn below(self, u: f64) -> f64 {
        match self {
            Self::Uniform => u,
            Self::Normal => (normal_distribution(u) - 0.5) / (normal_distribution(1.0) - 0.5),
            Self::Clipped => 1.0 - (-u).exp(),
            Self::Tail => (1.0 - (-u).exp()) / (1.0 - (-TAIL_END).exp()),
            Self::Fixed => 0.0,
        }
    }

    /// The largest H.
    fn end(self) -> f64 {
        if self == Self::Tail { TAIL_END } else { 1.0 }
    }

    /// Where the pieces of constant density end, as values of H.
    fn edge(self, piece: usize) -> f64 {
        let share = piece as f64 / PIECES as f64;
        // A tail is steep at its start and long.
        if self == Self::Tail { TAIL_END * share * share } else { share }
    }

    /// Mean and deviation of H.
    fn moments(self) -> (f64, f64) {
        match self {
            Self::Uniform => (0.5, (1.0 / 12f64).sqrt()),
            Self::Normal => (0.459_862, 0.282_134),
            Self::Clipped => (1.0 - (-1f64).exp(), (1.0 - 2.0 * (-1f64).exp() - (-2f64).exp()).sqrt()),
            Self::Tail => (1.0, 1.0),
            Self::Fixed => (1.0, 0.0),
        }
    }
}

impl Noise {
    /// Background alone.
    pub fn background(sigma: f64) -> Self {
        Self { pattern: Pattern::Uniform, range: 0.0, disturbed: 1.0, sigma }
    }

    /// Mean of the one-sided part.
    pub fn mean(&self) -> f64 {
        self.range * self.disturbed * self.pattern.moments().0
    }

    /// Standard deviation of a measurement relative to the undisturbed time.
    pub fn deviation(&self) -> f64 {
        let (mean, deviation) = self.pattern.moments();
        let variance = deviation * deviation + (1.0 - self.disturbed) * mean * mean;
        self.sigma.hypot(self.range * (self.disturbed * variance).sqrt())
    }

    /// What one measurement of many tells the logarithm of the undisturbed time to: the inverse root of the Fisher information of t's
    /// density about its place. It is σ where there is only background, and far less than the deviation where the one-sided part has
    /// an edge.
    pub fn resolution(&self) -> f64 {
        if self.sigma <= 0.0 {
            return 0.0;
        }
        let (shares, edges) = (self.shares(), self.edges());
        let step = self.sigma / FINENESS;
        let start = -REACH.0 * self.sigma;
        let end = (self.range * self.pattern.end()).ln_1p() + REACH.1 * self.sigma;
        let densities: Vec<f64> = (0..((end - start) / step).ceil() as usize)
            .map(|i| start + i as f64 * step)
            .map(|t| shares.density(&self.ingredients(&edges, t)))
            .collect();
        let of = |near: &[f64]| if near[1] > 0.0 { (near[2] - near[0]).powi(2) / near[1] } else { 0.0 };
        let information = densities.windows(3).map(of).sum::<f64>() / (4.0 * step);
        information.recip().sqrt()
    }

    /// Where pieces of constant density of `ln(1 + a H)` begin and end, all patterns but the tail alike.
    fn edges(&self) -> [f64; PIECES + 1] {
        std::array::from_fn(|i| (self.range * self.pattern.edge(i)).ln_1p())
    }

    /// The pieces of the density of `ln(1 + a H)`: where each begins and ends and its probability.
    fn pieces(&self) -> impl Iterator<Item = (f64, f64, f64)> + '_ {
        let edges = self.edges();
        let below = |i: usize| self.pattern.below(self.pattern.edge(i));
        let pieces = if self.pattern == Pattern::Fixed { 0 } else { PIECES };
        (0..pieces).map(move |i| (edges[i], edges[i + 1], self.disturbed * (below(i + 1) - below(i))))
    }

    /// Where the one-sided part ends, and the probability that it is exactly there.
    fn atom(&self) -> (f64, f64) {
        let end = self.pattern.end();
        ((self.range * end).ln_1p(), self.disturbed * (1.0 - self.pattern.below(end)))
    }

    /// The largest logarithm that the one-sided part adds, but for one in three thousand of those with a tail.
    pub fn width(&self) -> f64 {
        self.atom().0
    }

    /// Whether the one-sided part is too small beside the background to have a shape of its own.
    fn is_background(&self) -> bool {
        self.range <= 0.05 * self.sigma
    }

    /// Density of t, the logarithm of measurement over truth.
    #[cfg(test)]
    fn density(&self, t: f64) -> f64 {
        self.shares().density(&self.ingredients(&self.edges(), t))
    }

    /// What the density at `t` is made of, with the [`Self::edges`].
    fn ingredients(&self, edges: &[f64; PIECES + 1], t: f64) -> Ingredients {
        let background = Background(self.sigma);
        if self.is_background() {
            return Ingredients { undisturbed: background.density(t - self.mean()), ..Ingredients::default() };
        }
        let mut before = background.distribution(t);
        let steps = std::array::from_fn(|i| {
            let after = background.distribution(t - edges[i + 1]);
            (std::mem::replace(&mut before, after) - after).max(0.0)
        });
        Ingredients { undisturbed: background.density(t), at_end: background.density(t - edges[PIECES]), steps }
    }

    /// What each ingredient counts for in the density.
    fn shares(&self) -> Shares {
        if self.is_background() {
            return Shares { undisturbed: 1.0, at_end: 0.0, pieces: Vec::new() };
        }
        let pieces = self.pieces().map(|(from, to, probability)| probability / (to - from)).collect();
        Shares { undisturbed: 1.0 - self.disturbed, at_end: self.atom().1, pieces }
    }

    fn stray(&self) -> Stray {
        let end = self.range.ln_1p();
        let wide = (10.0 * self.sigma).max(0.1) + end;
        Stray {
            top: (STRAY * normal_density(0.0) / wide).ln(),
            centre: 0.5 * end,
            half_inverse_square: 0.5 / (wide * wide),
        }
    }

    /// The distribution of t when the truth has a further relative deviation of `spread`. Deviations are those of log-normal variables,
    /// which have no largest value and are never negative; the background's has a mean of one, unless it is very large.
    pub fn beside(&self, spread: f64) -> Distribution {
        let deviation = logarithmic(self.sigma.hypot(spread));
        let background = 0.5 * logarithmic(self.sigma).min(MEAN_COUNTS).powi(2);
        if deviation <= 0.0 && self.range <= 0.0 {
            return Distribution { background, deviation, at: Vec::new(), over: Vec::new() };
        }
        let deviation = deviation.max(1e-12);
        // Of smaller ranges the differences below would be rounding.
        if self.range <= (0.05 * deviation).max(LEAST_RANGE) {
            return Distribution { background, deviation, at: vec![(self.mean(), 1.0)], over: Vec::new() };
        }
        let (end, share) = self.atom();
        let mut over: Vec<(f64, f64)> = Vec::with_capacity(PIECES + 1);
        for (from, to, probability) in self.pieces() {
            let density = probability / (to - from);
            match over.last_mut() {
                Some(last) => last.1 += density,
                None => over.push((from, density)),
            }
            over.push((to, -density));
        }
        Distribution { background, deviation, at: vec![(0.0, 1.0 - self.disturbed), (end, share)], over }
    }
}

/// The distribution function of t beside a deviation of the truth.
#[derive(Debug)]
pub(crate) struct Distribution {
    /// How far the background's median is below its mean.
    background: f64,
    /// Deviation of the normal variable in it; zero where t is always zero, or that and the background's mean.
    deviation: f64,
    /// The logarithms that the one-sided part adds, each with its probability.
    at: Vec<(f64, f64)>,
    /// Where the density of what it adds otherwise becomes another, and by how much.
    over: Vec<(f64, f64)>,
}

impl Distribution {
    /// Probability that t is below `t`: with `h(x) = x Φ(x) + φ(x)`, the integral of Φ, a density that is constant between a and b
    /// gives `s (h((t - a)/s) - h((t - b)/s))`.
    pub fn below(&self, t: f64) -> f64 {
        let s = self.deviation;
        if self.at.is_empty() {
            return if t < 0.0 { 0.0 } else { 1.0 };
        }
        let t = t + self.background;
        let at = |(place, probability): &(f64, f64)| match *probability {
            0.0 => 0.0,
            probability => probability * normal_distribution((t - place) / s),
        };
        let over = |(place, step): &(f64, f64)| step * s * integral_of_distribution((t - place) / s);
        let sum = self.at.iter().map(at).sum::<f64>() + self.over.iter().map(over).sum::<f64>();
        sum.clamp(0.0, 1.0)
    }
}

/// What a density is made of at one place; the same for all noises of a background and a range but those with a tail.
#[derive(Default)]
struct Ingredients {
    /// The background's density there.
    undisturbed: f64,
    /// Its density as far from the end of the one-sided part.
    at_end: f64,
    /// By how much the background's distribution function is larger at the beginning of each piece than at its end.
    steps: [f64; PIECES],
}

/// What each of the [`Ingredients`] counts for in the density of one distribution.
struct Shares {
    undisturbed: f64,
    at_end: f64,
    pieces: Vec<f64>,
}

impl Shares {
    fn density(&self, of: &Ingredients) -> f64 {
        let mut sum = self.undisturbed * of.undisturbed;
        if self.at_end > 1e-9 {
            sum += self.at_end * of.at_end;
        }
        for (share, step) in self.pieces.iter().zip(of.steps) {
            sum += share * step;
        }
        sum
    }
}

/// Deviations beyond which a normal distribution is one, or less than 1e-18.
const CERTAIN: f64 = 9.0;

/// The background of this deviation: the logarithm of `1 + σ Z`, whose skewness of `-3 σ` thousands of residuals see.
/// Where σ is so large that `1 + σ Z` could be negative it is normal in the logarithm.
struct Background(f64);

impl Background {
    const LARGE: f64 = 0.15;

    fn density(&self, t: f64) -> f64 {
        let s = self.0;
        if s > Self::LARGE {
            return normal_density(t / s + 0.5 * s) / s;
        }
        normal_density(t.exp_m1() / s) * t.exp() / s
    }

    fn distribution(&self, t: f64) -> f64 {
        let s = self.0;
        // What is so many deviations away is certain to the last bit, and tables ask for it more than for all else.
        if t > CERTAIN * s {
            return 1.0;
        }
        let z = if s > Self::LARGE { t / s + 0.5 * s } else { t.exp_m1() / s };
        if z < -CERTAIN { 0.0 } else { normal_distribution(z) }
    }
}

/// A distribution of noise that a series may have.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PossibleNoise {
    /// Its probability.
    pub weight: f64,
    /// Logarithm of the undisturbed time over the model's value, should this be the noise.
    pub shift: f64,
    /// The distribution.
    pub noise: Noise,
}

impl PossibleNoise {
    /// The one distribution that there can be.
    pub fn certain(noise: Noise) -> Self {
        Self { weight: 1.0, shift: 0.0, noise }
    }
}

/// A distribution of noise with its log density in a table, since a fit asks for it thousands of times.
#[derive(Debug)]
pub(crate) struct Tabulated {
    /// The distribution.
    pub noise: Noise,
    table: Table,
}

#[derive(Debug)]
struct Table {
    start: f64,
    per_unit: f64,
    /// Each entry but the last, and how much higher the next one is.
    entries: Vec<[f32; 2]>,
    /// No log density is above this.
    highest: f64,
    /// Where the [`QUANTILES`] are.
    quantiles: [f64; 3],
    stray: Stray,
}

/// Log density of measurements that went astray, which alone matter beyond the ends of a table: a parabola.
#[derive(Clone, Copy, Debug)]
struct Stray {
    top: f64,
    centre: f64,
    half_inverse_square: f64,
}

/// Entries of a table per deviation of the background: linear interpolation is then right to 0.001.
const FINENESS: f64 = 10.0;
/// Deviations that a table reaches below and above the range of the one-sided part. The logarithm of a normal variable
/// falls off more slowly below.
const REACH: (f64, f64) = (9.0, 7.0);
/// Shares of the measurements below three values that a table knows: near both ends of 25 measurements, and a quarter.
pub(crate) const QUANTILES: [f64; 3] = [1.0 / 15.0, 0.25, 14.0 / 15.0];
/// No log density is below this.
const LEAST: f64 = -690.0;

impl Stray {
    fn log_density(&self, t: f64) -> f64 {
        let from_centre = t - self.centre;
        (self.top - self.half_inverse_square * from_centre * from_centre).max(LEAST)
    }
}

impl Tabulated {
    /// One distribution by itself.
    pub fn new(noise: Noise) -> Self {
        Self::all(&[noise]).remove(0)
    }

    /// All `noises`, in their order. The tables of those of one background and one range, all with a tail or none, are made
    /// together, since what their densities are made of is the same, and is most of the work.
    pub fn all(noises: &[Noise]) -> Vec<Self> {
        let kind = |n: &Noise| (n.sigma.to_bits(), n.range.to_bits(), n.pattern == Pattern::Tail);
        let mut of_kind: BTreeMap<_, (Vec<usize>, Vec<Noise>)> = BTreeMap::new();
        for (i, noise) in noises.iter().enumerate() {
            let (places, kind) = of_kind.entry(kind(noise)).or_default();
            places.push(i);
            kind.push(*noise);
        }
        let tables = |(places, kind): (Vec<usize>, Vec<Noise>)| places.into_iter().zip(Table::of_kind(&kind));
        let mut tables: Vec<(usize, Table)> = of_kind.into_values().flat_map(tables).collect();
        tables.sort_unstable_by_key(|(place, _)| *place);
        noises.iter().zip(tables).map(|(noise, (_, table))| Self { noise: *noise, table }).collect()
    }

    /// Sum of the log densities at `logs` less `shift`.
    pub fn log_likelihood(&self, logs: &[f64], shift: f64) -> f64 {
        sum(&self.table, logs, shift, f64::NEG_INFINITY)
    }

    /// The same, or minus infinity where it is less than `least`.
    pub fn log_likelihood_from(&self, logs: &[f64], shift: f64, least: f64) -> f64 {
        sum(&self.table, logs, shift, least)
    }

    /// The largest log density, and that of the measurements that went astray.
    pub fn highest(&self) -> (f64, f64) {
        (self.table.highest, self.table.stray.top)
    }

    /// Between what values of t the [`QUANTILES`] lie.
    pub fn quantiles(&self) -> [f64; 3] {
        self.table.quantiles
    }

    /// Log density at `t`.
    #[cfg(test)]
    pub fn log_density(&self, t: f64) -> f64 {
        self.table.at(t)
    }
}

impl Table {
    /// The tables of noises of one background and one range, all with a tail or none.
    fn of_kind(noises: &[Noise]) -> Vec<Self> {
        let one = &noises[0];
        let start = -REACH.0 * one.sigma;
        let end = (one.range * one.pattern.end()).ln_1p() + REACH.1 * one.sigma;
        let per_unit = FINENESS / one.sigma;
        let entries = ((end - start) * per_unit).ceil() as usize + 2;
        let place = |i: usize| start + i as f64 / per_unit;
        let edges = one.edges();
        let ingredients: Vec<Ingredients> = (0..entries).map(|i| one.ingredients(&edges, place(i))).collect();
        let stray = one.stray();
        let of_stray: Vec<f64> = (0..entries).map(|i| stray.log_density(place(i)).exp()).collect();
        let of = |noise: &Noise| {
            let shares = noise.shares();
            let mut densities: Vec<f64> = ingredients.iter().map(|of| shares.density(of)).collect();
            let quantiles = QUANTILES.map(|share| place(entries_below(&densities, share * per_unit)));
            densities
                .iter_mut()
                .zip(&of_stray)
                .for_each(|(density, stray)| *density = (1.0 - STRAY) * *density + stray);
            logarithms(&mut densities);
            Self::of(stray, start, per_unit, &densities, quantiles)
        };
        noises.iter().map(of).collect()
    }

    /// The table of the log densities `exact`, which begins at `start` and has so many entries per unit.
    fn of(stray: Stray, start: f64, per_unit: f64, exact: &[f64], quantiles: [f64; 3]) -> Self {
        let entries = exact.len();
        // Straight lines between the entries lie below a density that is concave; thousands of residuals would see
        // that. A twelfth of the second difference makes the lines right on average.
        let correction = |i: usize| (exact[i + 1] - 2.0 * exact[i] + exact[i - 1]) / 12.0;
        let inner = |i: usize| 0 < i && i + 1 < entries;
        let values: Vec<f64> =
            (0..entries).map(|i| if inner(i) { exact[i] - correction(i) } else { exact[i] }).collect();
        let entries = values.windows(2).map(|pair| [pair[0] as f32, (pair[1] - pair[0]) as f32]).collect();
        let highest = values.iter().copied().fold(stray.top, f64::max);
        Self { start, per_unit, entries, highest, quantiles, stray }
    }

    fn at(&self, t: f64) -> f64 {
        let position = (t - self.start) * self.per_unit;
        let index = position as usize;
        match self.entries.get(index) {
            Some([value, step]) if position >= 0.0 => f64::from(*value) + f64::from(*step) * (position - index as f64),
            _ => self.stray.log_density(t),
        }
    }
}

/// How many of the first `densities` have together no more than `sum`.
fn entries_below(densities: &[f64], sum: f64) -> usize {
    let mut left = sum;
    let has_more = |density: &f64| {
        left -= density;
        left < 0.0
    };
    densities.iter().position(has_more).unwrap_or(densities.len())
}

/// Logarithms that are looked up side by side.
const SIDE_BY_SIDE: usize = 8;

wide! {
    /// Sum of the table's log densities at `logs` less `shift`; minus infinity once it can no longer reach `least`.
    fn sum(table: &Table, logs: &[f64], shift: f64, least: f64) -> f64 {
        let (chunks, rest) = logs.as_chunks::<SIDE_BY_SIDE>();
        let mut sums = [0.0; SIDE_BY_SIDE];
        let end = table.entries.len() as f64;
        let mut missing = logs.len();
        let is_bounded = least > f64::NEG_INFINITY;
        for logs in chunks {
            if is_bounded && total_of(&sums) + table.highest * (missing as f64) < least {
                return f64::NEG_INFINITY;
            }
            missing -= SIDE_BY_SIDE;
            let mut positions = [0.0; SIDE_BY_SIDE];
            for j in 0..SIDE_BY_SIDE {
                positions[j] = (logs[j] - shift - table.start) * table.per_unit;
            }
            let mut inside = true;
            for position in positions {
                inside &= (position >= 0.0) & (position < end);
            }
            if !inside {
                for j in 0..SIDE_BY_SIDE {
                    sums[j] += table.at(logs[j] - shift);
                }
                continue;
            }
            let mut indices = [0_i32; SIDE_BY_SIDE];
            for j in 0..SIDE_BY_SIDE {
                // SAFETY: the position is a number from 0 to below that of the entries, of which no table has 2^31.
                indices[j] = unsafe { positions[j].to_int_unchecked() };
            }
            for j in 0..SIDE_BY_SIDE {
                // SAFETY: what is at least zero and below the number of entries stays that when its fraction is cut off.
                let [value, step] = unsafe { *table.entries.get_unchecked(indices[j] as usize) };
                sums[j] += f64::from(value) + f64::from(step) * (positions[j] - f64::from(indices[j]));
            }
        }
        rest.iter().fold(total_of(&sums), |sum, log| sum + table.at(log - shift))
    }
}

#[inline(always)]
fn total_of(sums: &[f64; SIDE_BY_SIDE]) -> f64 {
    ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]))
}

/// Standard deviation of the logarithm of a log-normal variable whose own, relative to its mean, is `deviation`.
fn logarithmic(deviation: f64) -> f64 {
    (deviation * deviation).ln_1p().sqrt()
}

/// Density of the standard normal distribution.
pub(crate) fn normal_density(t: f64) -> f64 {
    (-0.5 * t * t).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// Distribution function of the standard normal distribution, to 1.5e-7: Abramowitz and Stegun, 7.1.26.
pub(crate) fn normal_distribution(t: f64) -> f64 {
    normal(t).0
}

/// The integral of that from below: `t Φ(t) + φ(t)`.
fn integral_of_distribution(t: f64) -> f64 {
    let (below, falling) = normal(t);
    t * below + falling / (2.0 * std::f64::consts::PI).sqrt()
}

/// Distribution function of the standard normal distribution, and `exp(-t²/2)`.
fn normal(t: f64) -> (f64, f64) {
    let x = t.abs() / std::f64::consts::SQRT_2;
    let u = 1.0 / (1.0 + 0.327_591_1 * x);
    let poly =
        u * (0.254_829_592 + u * (-0.284_496_736 + u * (1.421_413_741 + u * (-1.453_152_027 + u * 1.061_405_429))));
    let falling = (-x * x).exp();
    let tail = 0.5 * poly * falling;
    (if t > 0.0 { 1.0 - tail } else { tail }, falling)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATTERNS: [Pattern; 5] = [Pattern::Uniform, Pattern::Normal, Pattern::Clipped, Pattern::Tail, Pattern::Fixed];

    /// `draws` values of t, evenly over the probability of both parts.
    fn sample(noise: &Noise) -> Vec<f64> {
        let inverse = |p: f64, f: &dyn Fn(f64) -> f64, low: f64, high: f64| {
            let (mut low, mut high) = (low, high);
            for _ in 0..50 {
                let middle = 0.5 * (low + high);
                if f(middle) < p { low = middle } else { high = middle }
            }
            low
        };
        let mut logs = Vec::new();
        for i in 0..400 {
            let p = ((f64::from(i) + 0.5) / 400.0 - 1.0 + noise.disturbed) / noise.disturbed;
            let h = if p < 0.0 { 0.0 } else { inverse(p, &|u| noise.pattern.below(u), 0.0, noise.pattern.end()) };
            for j in 0..400 {
                let z = inverse((f64::from(j) + 0.5) / 400.0, &normal_distribution, -9.0, 9.0);
                logs.push((noise.range * h).ln_1p() + (noise.sigma * z).ln_1p());
            }
        }
        logs.sort_by(f64::total_cmp);
        logs
    }

    #[test]
    fn the_distribution_is_that_of_drawn_noise() {
        for pattern in PATTERNS {
            for (range, disturbed, sigma) in [(0.1, 1.0, 0.03), (0.5, 1.0, 0.03), (0.8, 1.0, 0.06), (0.5, 0.3, 0.03)] {
                let noise = Noise { pattern, range, disturbed, sigma };
                let logs = sample(&noise);
                for share in [0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98] {
                    let t = logs[(share * logs.len() as f64) as usize];
                    let p = noise.beside(0.0).below(t);
                    // Background in the logarithm is a little narrower at the upper end than drawn.
                    assert!((p - share).abs() < 0.015, "{noise:?}: {p} where {share} was drawn");
                }
            }
        }
    }

    #[test]
    fn densities_integrate_to_the_distribution() {
        for pattern in PATTERNS {
            let noise = Noise { pattern, range: 0.4, disturbed: 0.6, sigma: 0.05 };
            let (from, steps) = (-0.6, 6000);
            let mut sum = 0.0;
            for i in 0..steps {
                let t = from + (f64::from(i) + 0.5) * 1e-3 / 3.0;
                sum += noise.density(t) * 1e-3 / 3.0;
                if i % 500 == 0 {
                    assert!((sum - noise.beside(0.0).below(t)).abs() < 5e-3, "{noise:?} at {t}");
                }
            }
        }
    }

    #[test]
    fn tables_agree_with_what_they_tabulate() {
        for pattern in PATTERNS {
            let table = Tabulated::new(Noise { pattern, range: 0.3, disturbed: 0.7, sigma: 0.02 });
            for i in 0..200 {
                let t = -0.3 + 0.007 * f64::from(i);
                let noise = &table.noise;
                let stray = noise.stray().log_density(t).exp();
                let direct = ((1.0 - STRAY) * noise.density(t) + stray).ln();
                assert!((table.log_density(t) - direct).abs() < 0.01 + 0.002 * direct.abs(), "{t}");
            }
        }
    }

    #[test]
    fn tables_that_are_made_together_are_those_made_alone() {
        let of = |(pattern, disturbed)| Noise { pattern, range: 0.3, disturbed, sigma: 0.02 };
        let noises: Vec<Noise> = PATTERNS.into_iter().flat_map(|p| [(p, 1.0), (p, 0.5)]).map(of).collect();
        for together in Tabulated::all(&noises) {
            let alone = Tabulated::new(together.noise);
            let t = |i: i32| -0.3 + 0.007 * f64::from(i);
            assert!((0..200).map(t).all(|t| together.log_density(t) == alone.log_density(t)), "{:?}", alone.noise);
        }
    }

    #[test]
    fn a_resolution_is_what_the_likeliest_scale_of_many_measurements_has() {
        let background = Noise::background(0.03);
        assert!((background.resolution() / 0.03 - 1.0).abs() < 0.02, "{}", background.resolution());
        // Half of the measurements have the background alone, and the others say nothing where they are far and wide.
        let half = Noise { pattern: Pattern::Uniform, range: 1.8, disturbed: 0.5, sigma: 0.01 };
        assert!((half.resolution() / (0.01 / 0.5f64.sqrt()) - 1.0).abs() < 0.05, "{}", half.resolution());
        // Where noise is always the same the disturbed say as much as the others.
        let fixed = Noise { pattern: Pattern::Fixed, range: 0.5, disturbed: 0.5, sigma: 0.03 };
        assert!((fixed.resolution() / 0.03 - 1.0).abs() < 0.02, "{}", fixed.resolution());
        assert!(fixed.deviation() > 0.2);
    }

    #[test]
    fn moments_are_those_of_disturbed_and_undisturbed_measurements() {
        let noise = Noise { pattern: Pattern::Fixed, range: 0.4, disturbed: 0.5, sigma: 0.03 };
        assert!((noise.mean() - 0.2).abs() < 1e-12);
        assert!((noise.deviation() - 0.03f64.hypot(0.2)).abs() < 1e-12);
        // Of 0 and of all between 0 and 1: mean 1/4, mean square 1/6.
        let noise = Noise { pattern: Pattern::Uniform, range: 1.0, disturbed: 0.5, sigma: 0.0 };
        assert!((noise.mean() - 0.25).abs() < 1e-12);
        assert!((noise.deviation() - (1.0 / 6.0 - 1.0 / 16.0f64).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn moments_are_those_of_the_pattern() {
        for pattern in PATTERNS {
            let n = 40_000;
            let (mut mean, mut square) = (0.0, 0.0);
            for i in 0..n {
                let at = |i: i32| pattern.end() * f64::from(i) / f64::from(n);
                let (p, u) = (pattern.below(at(i + 1)) - pattern.below(at(i)), 0.5 * (at(i) + at(i + 1)));
                mean += p * u;
                square += p * u * u;
            }
            let atom = 1.0 - pattern.below(pattern.end());
            mean += atom * pattern.end();
            square += atom * pattern.end() * pattern.end();
            let (want, deviation) = pattern.moments();
            let error = if pattern == Pattern::Tail { 0.02 } else { 1e-4 };
            assert!((mean - want).abs() < error, "{pattern:?}: {mean}");
            assert!(((square - mean * mean).sqrt() - deviation).abs() < error, "{pattern:?}");
        }
    }
}
