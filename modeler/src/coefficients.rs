//! Fits the free coefficients of a known shape to times.
//!
//! Coefficients are non-negative and residuals relative. Which of several nested shapes the data can tell apart is
//! decided by the probability of the residuals, so that few coefficients are fitted to noisy data and all to quiet.

use crate::linear::{Orthonormal, dot, inverse_gram, non_negative_least_squares};
use crate::logarithm::logarithms;
use crate::noise::{Noise, PossibleNoise};
use crate::noise_estimate::{Beliefs, NoiseEstimate, estimate};
use crate::shape_search::shares;
use crate::simplex;
use crate::wide::wide;
use std::f64::consts::PI;

/// Relative deviation below which residuals are too small to hold one-sided noise worth looking for.
const QUIET: f64 = 0.012;
/// Weights that change by less make no other fit.
const SETTLED: f64 = 1e-3;
/// Residuals never count as smaller than this, since times are no more exact.
const FINEST: f64 = 1e-9;

/// A fitted shape.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CoefficientFit {
    /// One coefficient per column, those that do not help being zero.
    pub coefficients: Vec<f64>,
    /// Relative covariance of the coefficients that are not zero, in their order, row by row.
    pub covariance: Vec<f64>,
    /// What the noise may be.
    pub noises: Vec<PossibleNoise>,
    /// Observations less coefficients.
    pub freedom: f64,
    /// Twice the negative log probability of the residuals plus the price of the coefficients; smaller is better.
    pub criterion: f64,
}

impl CoefficientFit {
    /// Indices of the columns in use.
    pub fn active(&self) -> Vec<usize> {
        (0..self.coefficients.len()).filter(|&k| self.coefficients[k] > 0.0).collect()
    }
}

/// Weights that make the residuals of measured values relative. A zero does not say how large its own error is: it counts as the smallest value
/// above zero, and where at least half of all values are zero, as the mean, so that they do not decide alone.
pub(crate) fn measured_weights(y: &[f64]) -> Vec<f64> {
    let mean = y.iter().map(|v| v.abs()).sum::<f64>() / y.len().max(1) as f64;
    let is_mostly_zero = 2 * y.iter().filter(|v| **v == 0.0).count() >= y.len();
    let least = y.iter().map(|v| v.abs()).filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
    let zero = if is_mostly_zero { mean } else { least };
    let size = |v: f64| if v == 0.0 { zero } else { v.abs() }.max(1e-3 * mean);
    y.iter().map(|v| if mean > 0.0 { 1.0 / size(*v) } else { 1.0 }).collect()
}

/// Least squares of relative residuals, non-negative: first relative to the measured values, then to the fitted ones.
pub(crate) fn weighted_fit(columns: &[Vec<f64>], y: &[f64]) -> Vec<f64> {
    let floor = 1e-3 * y.iter().sum::<f64>() / y.len() as f64;
    let mut weights = measured_weights(y);
    let (mut coefficients, mut basis) = (Vec::new(), Orthonormal::default());
    for _ in 0..3 {
        coefficients = all_positive_fit(columns, y, &weights, &mut basis).unwrap_or_else(|| {
            let scaled: Vec<Vec<f64>> = columns.iter().map(|c| times(c, &weights)).collect();
            non_negative_least_squares(&scaled, &times(y, &weights))
        });
        let fitted = combine(columns, &coefficients);
        let settled = weights.iter().zip(&fitted).all(|(w, f)| (w * f - 1.0).abs() < SETTLED);
        if settled || fitted.iter().any(|f| *f <= floor) {
            break;
        }
        weights = fitted.iter().map(|f| 1.0 / f).collect();
    }
    coefficients
}

/// Weighted least squares where no coefficient needs to be kept from being negative, which is nearly always.
fn all_positive_fit(columns: &[Vec<f64>], y: &[f64], weights: &[f64], basis: &mut Orthonormal) -> Option<Vec<f64>> {
    basis.clear(y.len());
    for column in columns {
        if !basis.push_weighted(column, weights) {
            return None;
        }
    }
    let coefficients = &basis.project(&mut times(y, weights))[..columns.len()];
    coefficients.iter().all(|c| *c > 0.0).then(|| coefficients.to_vec())
}

/// Relative deviation of `y` from `fitted` with `k` coefficients.
pub(crate) fn deviation(y: &[f64], fitted: &[f64], k: usize) -> f64 {
    let square = |(y, f): (&f64, &f64)| if *f > 0.0 { (y / f - 1.0).powi(2) } else { 1.0 };
    let sum: f64 = y.iter().zip(fitted).map(square).sum();
    (sum / (y.len().saturating_sub(k)).max(1) as f64).sqrt()
}

/// Least squares of relative residuals, and what it leaves.
#[derive(Clone, Debug)]
pub(crate) struct LeastSquares {
    coefficients: Vec<f64>,
    pub fitted: Vec<f64>,
    /// How many coefficients are not zero.
    pub used: usize,
    /// Relative deviation of the times from the fit.
    pub deviation: f64,
}

impl LeastSquares {
    /// The fit of `columns` to the times `y`.
    pub fn of(columns: &[Vec<f64>], y: &[f64]) -> Self {
        let coefficients = weighted_fit(columns, y);
        let used = coefficients.iter().filter(|c| **c > 0.0).count();
        let fitted = combine(columns, &coefficients);
        let deviation = deviation(y, &fitted, used);
        Self { coefficients, fitted, used, deviation }
    }

    /// The fitted value at each of `points` points, of which `observations` have the indices.
    pub fn at_points(&self, observations: &[(usize, f64)], points: usize) -> Vec<f64> {
        let mut at_points = vec![0.0; points];
        observations.iter().zip(&self.fitted).for_each(|(o, f)| at_points[o.0] = *f);
        at_points
    }

    /// The residuals, if they are more than two-sided noise too small to matter.
    pub fn noisy_residuals(&self, y: &[f64]) -> Option<Vec<f64>> {
        let noisy = self.deviation >= QUIET && self.used > 0 && self.fitted.iter().all(|f| *f > 0.0);
        noisy.then(|| residuals(y, &self.fitted, self.used))
    }
}

/// Fits `columns` to the times `y` under what is believed of their noise; without beliefs residuals are taken for
/// two-sided.
pub(crate) fn fit(columns: &[Vec<f64>], y: &[f64], beliefs: Option<&Beliefs>) -> CoefficientFit {
    fit_from(LeastSquares::of(columns, y), columns, y, beliefs, None)
}

/// The same where least squares, and perhaps the estimate of the noise from its residuals, are known already.
pub(crate) fn fit_from(
    start: LeastSquares,
    columns: &[Vec<f64>],
    y: &[f64],
    beliefs: Option<&Beliefs>,
    estimated: Option<NoiseEstimate>,
) -> CoefficientFit {
    let LeastSquares { mut coefficients, mut fitted, used: k, deviation: spread } = start;
    let n = y.len() as f64;
    let freedom = (n - k as f64).max(1.0);
    let price = k as f64 * n.ln();
    let beliefs = beliefs.filter(|_| k > 0 && fitted.iter().all(|f| *f > 0.0));
    let Some(beliefs) = beliefs else {
        let variance = spread * spread;
        // As a density, like that of residuals under beliefs, which other shapes may have.
        let criterion = n * ((2.0 * PI * variance * freedom / n).max(FINEST * FINEST).ln() + 1.0) + price;
        let covariance = covariance(columns, &coefficients, &fitted, variance);
        let noises = vec![PossibleNoise::certain(Noise::background(spread))];
        return CoefficientFit { coefficients, covariance, noises, freedom, criterion };
    };
    let mut noise = estimated.unwrap_or_else(|| estimate(&residuals(y, &fitted, k), beliefs));
    if k > 1 && noise.likeliest().noise.noise.range > 0.0 {
        refine(columns, y, &mut coefficients, &noise);
        fitted = combine(columns, &coefficients);
        noise = noise.again(&residuals(y, &fitted, k));
    }
    coefficients.iter_mut().for_each(|c| *c *= noise.scale);
    fitted.iter_mut().for_each(|f| *f *= noise.scale);
    let covariance = covariance(columns, &coefficients, &fitted, noise.variance * n);
    CoefficientFit {
        coefficients,
        covariance,
        noises: noise.possible(),
        freedom: f64::INFINITY,
        criterion: -2.0 * noise.evidence + price,
    }
}

/// The fit with these coefficients where larger values are trusted more: residuals count with the values to the power of
/// minus `power`. The covariance is that of the values that count most; the noise lies between theirs and that of all, since
/// the function is only approximate.
pub(crate) fn trusting_large(columns: &[Vec<f64>], y: &[f64], coefficients: Vec<f64>, power: f64) -> CoefficientFit {
    let fitted = combine(columns, &coefficients);
    let shares = shares(&fitted, power);
    let freedom = y.len().saturating_sub(columns.len()).max(1) as f64;
    let squares: Vec<f64> = y.iter().zip(&fitted).map(|(y, f)| (y / f - 1.0).powi(2)).collect();
    let variance = dot(&squares, &shares) / freedom;
    let of_all = squares.iter().sum::<f64>() / freedom;
    let weighed: Vec<f64> = fitted.iter().zip(&shares).map(|(f, share)| f / share.sqrt()).collect();
    CoefficientFit {
        covariance: covariance(columns, &coefficients, &weighed, variance),
        coefficients,
        noises: vec![PossibleNoise::certain(Noise::background((variance * of_all).sqrt().sqrt()))],
        freedom,
        criterion: 0.0,
    }
}

/// Logarithms of the ratios of measured to fitted values with `k` coefficients, about their mean as large as they
/// would be had the coefficients not been fitted to them.
pub(crate) fn residuals(y: &[f64], fitted: &[f64], k: usize) -> Vec<f64> {
    let floor = 1e-6 * y.iter().sum::<f64>() / y.len() as f64;
    let mut logs: Vec<f64> = y.iter().zip(fitted).map(|(y, f)| y.max(floor) / f).collect();
    logarithms(&mut logs);
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let stretch = ((n - 1.0) / (n - k as f64)).max(1.0).sqrt();
    if !stretch.is_finite() {
        return logs;
    }
    logs.iter_mut().for_each(|l| *l = mean + (*l - mean) * stretch);
    logs
}

/// The residuals of the shape among `shapes` that the times speak for most, for an estimate of their noise; `None`
/// where there are too few to say anything, or all are tiny.
pub(crate) fn typical_residuals(shapes: &[Vec<Vec<f64>>], y: &[f64], beliefs: &Beliefs) -> Option<Vec<f64>> {
    let fits = shapes.iter().map(|columns| (fit(columns, y, None), columns));
    let (best, columns) = fits.min_by(|a, b| a.0.criterion.total_cmp(&b.0.criterion))?;
    let used: Vec<Vec<f64>> = best.active().iter().map(|&k| columns[k].clone()).collect();
    let fitted = combine(columns, &best.coefficients);
    let k = used.len();
    if k == 0 || y.len() < 2 * k + 3 || fitted.iter().any(|f| *f <= 0.0) || deviation(y, &fitted, k) < QUIET {
        return None;
    }
    let fit = fit(&used, y, Some(beliefs));
    Some(residuals(y, &combine(&used, &fit.coefficients), k))
}

wide! {
    /// Ratios of `y` to the sum of the columns times their coefficients; whether that sum is above zero everywhere.
    fn ratios_to(y: &[f64], columns: &[&[f64]], coefficients: &[f64], ratios: &mut [f64]) -> bool {
        ratios.fill(0.0);
        for (column, c) in columns.iter().zip(coefficients) {
            for (sum, x) in ratios.iter_mut().zip(*column) {
                *sum += x * c;
            }
        }
        let mut positive = true;
        for (ratio, y) in ratios.iter_mut().zip(y) {
            positive &= *ratio > 0.0;
            *ratio = y.max(f64::MIN_POSITIVE) / *ratio;
        }
        positive
    }
}

/// Moves several coefficients to where the residuals are most likely under the noise found so far; least squares
/// gives their sum well and their ratio badly when noise is one-sided.
fn refine(columns: &[Vec<f64>], y: &[f64], coefficients: &mut [f64], noise: &NoiseEstimate) {
    let active: Vec<usize> = (0..coefficients.len()).filter(|&k| coefficients[k] > 0.0).collect();
    let likeliest = noise.likeliest();
    let start: Vec<f64> = active.iter().map(|&k| coefficients[k].ln() + likeliest.log_scale).collect();
    // Negative log likelihood of the logarithms of the coefficients in use.
    let used: Vec<&[f64]> = active.iter().map(|&k| columns[k].as_slice()).collect();
    let (mut at, mut ratios) = (vec![0.0; active.len()], vec![0.0; y.len()]);
    let cost = |logs: &[f64]| {
        at.iter_mut().zip(logs).for_each(|(c, log)| *c = log.clamp(-600.0, 600.0).exp());
        if !ratios_to(y, &used, &at, &mut ratios) {
            return 1e12;
        }
        logarithms(&mut ratios);
        -likeliest.noise.log_likelihood(&ratios, 0.0)
    };
    let best = simplex::minimum(&start, 0.2, (60 * active.len(), 1e-3), cost);
    for (&k, log) in active.iter().zip(&best) {
        coefficients[k] = log.clamp(-600.0, 600.0).exp();
    }
}

/// Covariance of the coefficients in use when every relative residual has this variance.
fn covariance(columns: &[Vec<f64>], coefficients: &[f64], fitted: &[f64], variance: f64) -> Vec<f64> {
    let inverse: Vec<f64> = fitted.iter().map(|f| if *f > 0.0 { 1.0 / f } else { 0.0 }).collect();
    let active = (0..columns.len()).filter(|&k| coefficients[k] > 0.0);
    let scaled: Vec<Vec<f64>> = active.map(|k| times(&columns[k], &inverse)).collect();
    match inverse_gram(&scaled) {
        Some(mut inverse) => {
            inverse.iter_mut().for_each(|v| *v *= variance);
            inverse
        }
        None => diagonal_covariance(&scaled, variance),
    }
}

/// What remains of the covariance when columns cannot be told apart.
fn diagonal_covariance(scaled: &[Vec<f64>], variance: f64) -> Vec<f64> {
    let k = scaled.len();
    let mut covariance = vec![0.0; k * k];
    for (i, column) in scaled.iter().enumerate() {
        covariance[i * k + i] = variance / dot(column, column).max(f64::MIN_POSITIVE);
    }
    covariance
}

fn times(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(x, y)| x * y).collect()
}

/// `Σ c_k columns_k`.
pub(crate) fn combine(columns: &[Vec<f64>], coefficients: &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; columns.first().map_or(0, Vec::len)];
    for (column, c) in columns.iter().zip(coefficients) {
        if *c != 0.0 {
            sum.iter_mut().zip(column).for_each(|(s, x)| *s += c * x);
        }
    }
    sum
}
