//! What the measurements of two experiments themselves say about a call path, without the shapes of its models: by how much
//! the new ones lie above the old at the points that both have.
//!
//! Beyond the measured range two experiments with the same truth may have models of other shapes, whose intervals are
//! apart. At the measured points the two are then still alike, which this tells.

use std::collections::HashMap;

use crate::compare::{Ratio, Side};
use crate::experiment::Series;
use crate::linear::{dot, inverse_gram, least_squares};
use crate::model::{Factor, Growth, Model};
use crate::noise::normal_distribution;

/// How many quotients [`Evidence`] has, of which each may be the one that decides.
const QUOTIENTS: f64 = 3.0;
/// Rises that are no larger come from double precision.
const ROUNDING: f64 = 1e-9;
/// Values of a parameter at least through which a line tells growth.
const LEAST_VALUES: usize = 3;

/// New over old, as measured.
/// Each quotient is one of geometric means, with an interval by the normal distribution on the scale of logarithms.
///
/// ```
/// use modeler::{compare::Ratio, verdict::Evidence};
/// let ratio = |value: f64| Ratio { value, lower: 0.9 * value, upper: 1.1 * value };
/// let found = Evidence { average: ratio(1.0), nearest: ratio(2.0), point: ratio(1.5) };
/// assert_eq!(found.larger(), ratio(2.0));
/// assert!(found.is_above(0.7) && !found.is_above(0.9)); // 0.9 · 2 = 1.8 is certain
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// On average over the points, those with more repetitions counting more.
    pub average: Ratio,
    /// At the place of the measured range that is nearest to where models are judged: what a straight line through the
    /// logarithms of the quotients has there.
    pub nearest: Ratio,
    /// At the common point that is nearest to there, by its own repetitions alone: no line has to fit the quotients.
    pub point: Ratio,
}

impl Evidence {
    /// Whether one of the three quotients is certainly above `1 + tolerance`.
    ///
    /// ```
    /// use modeler::{compare::Ratio, verdict::Evidence};
    /// let ratio = Ratio { value: 1.2, lower: 1.1, upper: 1.3 };
    /// let found = Evidence { average: ratio, nearest: ratio, point: ratio };
    /// assert!(found.is_above(0.05) && !found.is_above(0.15));
    /// ```
    #[must_use]
    pub fn is_above(&self, tolerance: f64) -> bool {
        // Limits typed in decimal meet values that were computed.
        let limit = (1.0 + tolerance) * (1.0 + 1e-9);
        self.larger().lower > limit
    }

    /// The one that is the more above.
    ///
    /// ```
    /// use modeler::{compare::Ratio, verdict::Evidence};
    /// let [a, b] = [(1.5, 0.5), (1.2, 1.1)].map(|(value, lower)| Ratio { value, lower, upper: 2.0 });
    /// // What is certain counts, not the value.
    /// assert_eq!(Evidence { average: a, nearest: b, point: a }.larger(), b);
    /// ```
    #[must_use]
    pub fn larger(&self) -> Ratio {
        [self.nearest, self.point].into_iter().fold(self.average, |a, b| if b.lower > a.lower { b } else { a })
    }
}

/// What the measurements of `new` and `old`, each a side with its model of the same series, say at the points that both
/// have; `at` is where models are judged, in the order of the new side's parameters. With probability `doubt` at most one
/// of the lower ends is above the truth where noise is what the models take it for. `None` where no point is in both.
#[must_use]
pub fn evidence(new: (Side, &Model), old: (Side, &Model), at: &[f64], doubt: f64) -> Option<Evidence> {
    let series = |(side, model): (Side, &Model)| side.experiment.series_of(model.callpath, model.metric).cloned();
    let (of_new, of_old) = (series(new)?, series(old)?);
    let order: Option<Vec<usize>> = {
        let theirs = &old.0.experiment.parameters;
        new.0.experiment.parameters.iter().map(|name| theirs.iter().position(|p| p == name)).collect()
    };
    let order = order?;
    let before: HashMap<Vec<u64>, Logarithm> = logarithms(old.0, &of_old)
        .map(|(x, of_point)| (order.iter().map(|&k| x[k].to_bits()).collect(), of_point))
        .collect();
    let noises = [new.1, old.1].map(|model| model.uncertainty.noise_level().powi(2).ln_1p());
    let (mut points, mut quotients, mut variances) = (Vec::new(), Vec::new(), Vec::new());
    let mut closest: Option<(f64, (f64, f64))> = None;
    for (x, now) in logarithms(new.0, &of_new) {
        let key: Vec<u64> = x.iter().map(|v| v.to_bits()).collect();
        let Some(then) = before.get(&key) else { continue };
        let quotient = now.mean - then.mean;
        let far = distance(x, at);
        if closest.is_none_or(|(least, _)| far < least) {
            closest = Some((far, (quotient, (now.variance(noises[0]) + then.variance(noises[1])).sqrt())));
        }
        points.push(x.to_vec());
        quotients.push(quotient);
        variances.push(noises[0] / now.count + noises[1] / then.count);
    }
    let deviations = deviations(doubt / QUOTIENTS);
    let line = Line::through(&points, &quotients, &variances)?;
    let ratio = |(value, error): (f64, f64)| {
        let end = |sign: f64| (value + sign * deviations * error).exp();
        Ratio { value: value.exp(), lower: end(-1.0), upper: end(1.0) }
    };
    Some(Evidence { average: ratio(line.average), nearest: ratio(line.at(&points, at)), point: ratio(closest?.1) })
}

/// Whether the measurements of a series certainly grow faster than `bound` in the parameter with this index, over the range
/// that the model is of: whether a straight line through the logarithms of measurement over bound rises. A sum of terms that each
/// grow at most so falls along it, or stays, over any part of the range; and what grows faster beside a constant rises in the
/// upper part alone. So lines through the uppermost three values of the parameter, four, five, up to all are tested. Wrong with
/// probability `doubt`.
#[must_use]
pub fn grows_faster(of: (Side, &Model), parameter: usize, bound: Growth, doubt: f64) -> bool {
    let (side, model) = of;
    let Some(series) = side.experiment.series_of(model.callpath, model.metric) else { return false };
    let noise = model.uncertainty.noise_level().powi(2).ln_1p();
    let factor = Factor { parameter, exponent: bound.exponent, log_exponent: bound.log_exponent };
    // Where the behaviour changes, the growth is that of the upper segment.
    let is_of_model = |x: &[f64]| x.iter().zip(&model.uncertainty.range).all(|(x, (low, high))| low <= x && x <= high);
    let mut measured: Vec<(Vec<f64>, f64, f64)> = Vec::new();
    for (x, of_point) in logarithms(side, series) {
        // The logarithm of one rank is zero, which tells nothing of growth, and nothing is so many times zero.
        let limit = if x[parameter] > 0.0 { factor.at(x[parameter]) } else { 0.0 };
        if limit > 0.0 && limit.is_finite() && is_of_model(x) {
            measured.push((x.to_vec(), of_point.mean - limit.ln(), of_point.variance(noise)));
        }
    }
    let mut values: Vec<f64> = measured.iter().map(|(x, ..)| x[parameter]).collect();
    values.sort_by(|a, b| b.total_cmp(a));
    values.dedup();
    let starts = values.get(LEAST_VALUES.min(values.len()).saturating_sub(1)..).unwrap_or_default();
    let deviations = deviations(doubt / starts.len().max(1) as f64);
    starts.iter().any(|start| {
        let upper: Vec<_> = measured.iter().filter(|(x, ..)| x[parameter] >= *start).collect();
        let points: Vec<Vec<f64>> = upper.iter().map(|m| m.0.clone()).collect();
        let (quotients, variances): (Vec<f64>, Vec<f64>) = upper.iter().map(|m| (m.1, m.2)).unzip();
        let slope = Line::through(&points, &quotients, &variances).and_then(|line| line.slope(parameter));
        slope.is_some_and(|(value, error)| value > deviations * error + ROUNDING)
    })
}

/// How far a point is from another: over the parameters the squares of (a - b) / (a + b), which goes with the logarithm of
/// their quotient and is defined at zero, too.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let one = |(a, b): (&f64, &f64)| if a == b { 0.0 } else { ((a - b) / (a.abs() + b.abs())).powi(2) };
    a.iter().zip(b).map(one).sum()
}

/// The logarithms of the measurements of a point.
#[derive(Clone, Copy)]
struct Logarithm {
    mean: f64,
    count: f64,
    /// Variance of one of them, from their own scatter; 0 where there is one.
    scatter: f64,
}

impl Logarithm {
    /// Variance of the mean, where that of one of them is `noise`, or what they say themselves if that is more.
    fn variance(&self, noise: f64) -> f64 {
        noise.max(self.scatter) / self.count
    }
}

/// The logarithms of the measurements at each point, of those that have one.
fn logarithms<'a>(side: Side<'a>, series: &Series) -> impl Iterator<Item = (&'a [f64], Logarithm)> {
    let points: Vec<(&[f64], &[f64])> = side.experiment.measurements(series).collect();
    points.into_iter().filter_map(|(x, values)| {
        let values: Vec<f64> = values.iter().map(|v| v.ln()).filter(|v| v.is_finite()).collect();
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        (!values.is_empty()).then(|| (x, Logarithm { mean, count, scatter: squares / (count - 1.0).max(1.0) }))
    })
}

/// A straight line through logarithms of quotients over those of the parameters, by weighted least squares.
struct Line {
    /// Value and standard error on average.
    average: (f64, f64),
    /// Coefficients: at the middle of the points, then along each of `along`.
    coefficients: Vec<f64>,
    /// Their covariance, row by row.
    covariance: Vec<f64>,
    along: Vec<usize>,
    middle: Vec<f64>,
}

impl Line {
    fn through(points: &[Vec<f64>], quotients: &[f64], variances: &[f64]) -> Option<Self> {
        let first = points.first()?;
        // Without noise all points count alike, and nothing has an error.
        let is_exact = variances.iter().all(|v| *v == 0.0);
        let weights: Vec<f64> = variances.iter().map(|v| if is_exact { 1.0 } else { v.recip() }).collect();
        let total: f64 = weights.iter().sum();
        let mean =
            |values: &mut dyn Iterator<Item = f64>| values.zip(&weights).map(|(v, w)| v * w).sum::<f64>() / total;
        let varies = |l: &usize| points.iter().any(|x| x[*l] != first[*l]) && points.iter().all(|x| x[*l] > 0.0);
        let along: Vec<usize> = (0..first.len()).filter(varies).collect();
        let middle: Vec<f64> = along.iter().map(|&l| mean(&mut points.iter().map(|x| x[l].ln()))).collect();
        // A line through as few points as it has coefficients tells nothing of its own error.
        let along = if points.len() > along.len() + 1 { along } else { Vec::new() };
        let roots: Vec<f64> = weights.iter().map(|w| w.sqrt()).collect();
        let slope = |(&l, middle): (&usize, &f64)| -> Vec<f64> {
            points.iter().zip(&roots).map(|(x, root)| (x[l].ln() - middle) * root).collect()
        };
        let columns: Vec<Vec<f64>> = [roots.clone()].into_iter().chain(along.iter().zip(&middle).map(slope)).collect();
        let data: Vec<f64> = quotients.iter().zip(&roots).map(|(q, root)| q * root).collect();
        let coefficients = least_squares(&columns, &data);
        let fitted = |i: usize| columns.iter().zip(&coefficients).map(|(c, b)| c[i] * b).sum::<f64>();
        let residual: Vec<f64> = (0..data.len()).map(|i| data[i] - fitted(i)).collect();
        // A call path that scatters more than its models say has that for its noise.
        let freedom = (data.len() - columns.len()) as f64;
        let own = if freedom > 0.0 { dot(&residual, &residual) / freedom } else { 0.0 };
        let scale = if is_exact { 0.0 } else { own.max(1.0) };
        let covariance = inverse_gram(&columns)?.into_iter().map(|v| v * scale).collect();
        let average = (mean(&mut quotients.iter().copied()), (scale / total).sqrt());
        Some(Self { average, coefficients, covariance, along, middle })
    }

    /// Slope along a parameter and its standard error, if the points tell it.
    fn slope(&self, parameter: usize) -> Option<(f64, f64)> {
        let k = 1 + self.along.iter().position(|&l| l == parameter)?;
        let variance = self.covariance[k * self.coefficients.len() + k];
        Some((self.coefficients[k], variance.max(0.0).sqrt()))
    }

    /// Value and standard error at the place nearest to `target` in the range of the points.
    fn at(&self, points: &[Vec<f64>], target: &[f64]) -> (f64, f64) {
        let place = |(&l, middle): (&usize, &f64)| {
            let ends = points.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), x| (low.min(x[l]), high.max(x[l])));
            target[l].max(ends.0).min(ends.1).ln() - middle
        };
        let row: Vec<f64> = [1.0].into_iter().chain(self.along.iter().zip(&self.middle).map(place)).collect();
        let k = row.len();
        let variance: f64 = (0..k * k).map(|at| row[at / k] * self.covariance[at] * row[at % k]).sum();
        (dot(&row, &self.coefficients), variance.max(0.0).sqrt())
    }
}

/// So many standard deviations above its mean a normal variable is with this probability.
fn deviations(probability: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if normal_distribution(-middle) > probability { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Experiment, ExperimentBuilder, Metric};
    use crate::{Fits, Options, fit};

    /// Two repetitions of `cost` at each p, `noise` above and below it in turns.
    fn measured(metric: &str, points: &[f64], noise: f64, cost: impl Fn(f64) -> f64) -> (Experiment, Fits) {
        let mut builder = ExperimentBuilder::new(["p"]);
        let metric = builder.metric(Metric { name: metric.into(), unit: String::new(), over_ranks: None });
        let solve = builder.callpath(["solve"]);
        for &p in points {
            let point = builder.point(&[p]);
            builder.add(solve, metric, point, (1.0 + noise) * cost(p));
            builder.add(solve, metric, point, (1.0 - noise) * cost(p));
        }
        let experiment = builder.finish();
        let fits = fit(&experiment, &Options::default());
        (experiment, fits)
    }

    const P: [f64; 5] = [4.0, 8.0, 16.0, 32.0, 64.0];

    fn of(new: &(Experiment, Fits), old: &(Experiment, Fits), doubt: f64) -> Option<Evidence> {
        fn side(one: &(Experiment, Fits)) -> (Side<'_>, &Model) {
            (Side { experiment: &one.0, fits: &one.1 }, &one.1.models[0])
        }
        evidence(side(new), side(old), &[1024.0], doubt)
    }

    #[test]
    fn counts_are_compared_exactly() {
        let old = measured("basic_blocks", &P, 0.0, |p| 100.0 * p);
        let found = of(&measured("basic_blocks", &P, 0.0, |p| 106.0 * p), &old, 1e-9).unwrap();
        for ratio in [found.average, found.nearest, found.point] {
            assert!((ratio.lower - 1.06).abs() < 1e-12 && (ratio.upper - 1.06).abs() < 1e-12, "{ratio:?}");
        }
        assert!(found.is_above(0.05) && !found.is_above(0.06));
        // Growth is seen at the end: p^2 / (16 p) is 4 at p = 64, and 1 in the middle.
        let found = of(&measured("basic_blocks", &P, 0.0, |p| 100.0 * p * p / 16.0), &old, 1e-9).unwrap();
        assert!((found.average.value - 1.0).abs() < 1e-12 && (found.nearest.value - 4.0).abs() < 1e-9, "{found:?}");
        assert!(found.is_above(2.9) && (found.larger().value - 4.0).abs() < 1e-9);
    }

    #[test]
    fn the_error_is_that_of_the_mean_over_all_measurements() {
        let (new, old) = (measured("time", &P, 0.1, |p| 2.0 * p), measured("time", &P, 0.1, |p| p));
        let found = of(&new, &old, 0.03).unwrap();
        // Two repetitions of 1.1 and 0.9 have the same mean logarithm in both.
        assert!((found.average.value - 2.0).abs() < 1e-9, "{found:?}");
        // 3 % of doubt are 1 % for each of the three: 2.326 deviations. Ten measurements on each side.
        let noise = |one: &(Experiment, Fits)| one.1.models[0].uncertainty.noise_level().powi(2).ln_1p();
        let error = ((noise(&new) + noise(&old)) / 10.0).sqrt();
        assert!((found.average.lower - 2.0 * (-2.326_348 * error).exp()).abs() < 1e-4, "{found:?} {error}");
        // At the end of five equidistant places the variance is 1/5 + 4/10 of one's, three times that of the mean.
        assert!((found.nearest.lower - 2.0 * (-2.326_348 * error * 3_f64.sqrt()).exp()).abs() < 1e-4, "{found:?}");
        // A fifth of the measurements are at a point, whose logarithms ln 1.1 and ln 0.9 have a variance of (ln 11/9)^2 / 2.
        let scatter = (1.1_f64 / 0.9).ln().powi(2) / 2.0;
        let error = ((noise(&new).max(scatter) + noise(&old).max(scatter)) / 2.0).sqrt();
        assert!((found.point.lower - 2.0 * (-2.326_348 * error).exp()).abs() < 1e-4, "{found:?} {error}");
    }

    #[test]
    fn only_points_that_both_have_are_compared() {
        let old = measured("time", &[4.0, 8.0, 16.0, 32.0, 64.0], 0.1, |p| p);
        let other = measured("time", &[5.0, 10.0, 20.0, 40.0, 80.0], 0.1, |p| p);
        assert_eq!(of(&other, &old, 0.01), None);
        let overlapping = measured("time", &[64.0, 128.0, 256.0, 512.0, 1024.0], 0.1, |p| 3.0 * p);
        let found = of(&overlapping, &old, 0.01).unwrap();
        assert!((found.average.value - 3.0).abs() < 1e-9, "{found:?}");
        // One point has no line: the two are the same but for rounding.
        assert!((found.average.lower / found.nearest.lower - 1.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn what_grows_faster_than_a_bound_rises_beside_it() {
        let growth = |exponent: i32, log_exponent| Growth { exponent: exponent.into(), log_exponent };
        let is_faster = |cost: fn(f64) -> f64, bound| {
            let (experiment, fits) = measured("time", &P, 0.1, cost);
            grows_faster((Side { experiment: &experiment, fits: &fits }, &fits.models[0]), 0, bound, 1e-4)
        };
        assert!(is_faster(|p| p.powf(1.5), growth(1, 0)) && is_faster(|p| p * p.log2(), growth(1, 0)));
        // What grows as the bound, or has a constant beside it, does not.
        assert!(!is_faster(|p| 3.0 * p, growth(1, 0)) && !is_faster(|p| 9.0 + p, growth(1, 0)));
        assert!(!is_faster(|p| p * p.log2(), growth(1, 1)) && !is_faster(|_| 5.0, growth(0, 0)));
        // 10 % of noise do not tell p^1.05 from p.
        assert!(!is_faster(|p| p.powf(1.05), growth(1, 0)));
    }

    #[test]
    fn growth_beside_a_constant_is_seen_in_the_upper_part() {
        let all: Vec<f64> = (2..11).map(|k| 2_f64.powi(k)).collect();
        let is_faster = |points: &[f64], noise: f64, exponent: i32| {
            let (experiment, fits) = measured("time", points, noise, |p| 100.0 + 0.01 * p * p);
            let bound = Growth { exponent: exponent.into(), log_exponent: 0 };
            grows_faster((Side { experiment: &experiment, fits: &fits }, &fits.models[0]), 0, bound, 1e-4)
        };
        // From 4 to 1024 the quotient by p falls from 25 to 2 at p = 100, and rises to 10.
        assert!(is_faster(&all, 0.01, 1) && is_faster(&all, 0.1, 1));
        assert!(!is_faster(&all, 0.01, 2) && !is_faster(&all[..5], 0.01, 1), "as fast, and where it only falls");
        // No power of nothing: the other points tell it.
        assert!(is_faster(&[0.0, 64.0, 128.0, 256.0, 512.0, 1024.0], 0.1, 0));
    }

    #[test]
    fn deviations_are_those_of_the_table() {
        for (probability, expected) in [(0.5, 0.0), (0.05, 1.644_854), (0.001, 3.090_232), (1e-5, 4.264_891)] {
            assert!((deviations(probability) - expected).abs() < 2e-3, "{probability}: {}", deviations(probability));
        }
    }
}
