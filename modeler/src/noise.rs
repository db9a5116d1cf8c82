//! The noise of time measurements and the scale of a model under it.
//!
//! A measurement of a true value f is `f (1 + a U) (1 + σ Z)`, nearly: interference adds up to a fraction `a` (U is
//! uniform on 0..1) and the background varies either way by `σ` (Z is standard normal). Least squares is this model's
//! answer for a = 0; the lower edge of the residuals is its answer for σ = 0. Averaging over what the residuals
//! leave possible moves between the two smoothly.

use crate::predict::{normal_density, normal_distribution};

/// Ranges of one-sided noise that compete, with prior weights.
const ONE_SIDED: [f64; 13] = [0.0, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75, 0.95, 1.3];
/// Deviations of background noise that compete.
const BACKGROUND: [f64; 9] = [0.003, 0.006, 0.012, 0.02, 0.03, 0.042, 0.06, 0.1, 0.2];
/// What background noise is expected to be before looking: the geometric mean and its spread in nats.
const EXPECTED_BACKGROUND: (f64, f64) = (0.028, 0.3);
/// Prior weight of there being no one-sided noise, relative to each of the other ranges.
const NO_NOISE_WEIGHT: f64 = 12.0;

/// Combinations whose probability at a scale near the best is smaller by more than this, in nats, are not refined.
const HOPELESS: f64 = 40.0;

/// What the residuals say about noise and scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NoiseEstimate {
    /// Factor by which the fitted values must be multiplied to be the undisturbed ones.
    pub scale: f64,
    /// Variance of the logarithm of that factor.
    pub scale_variance: f64,
    /// Range of one-sided noise, a.
    pub one_sided: f64,
    /// Deviation of background noise, σ.
    pub sigma: f64,
    /// Logarithm of the probability of the residuals, averaged over noise and scale.
    pub evidence: f64,
}

/// Estimates noise and scale from the ratios of measured to fitted values.
pub(crate) fn estimate(ratios: &[f64]) -> NoiseEstimate {
    let mut cells = Vec::with_capacity(ONE_SIDED.len() * BACKGROUND.len());
    let mut start = initial_scale(ratios, 0.0);
    let mut top = f64::NEG_INFINITY;
    for (i, &a) in ONE_SIDED.iter().enumerate() {
        for &sigma in &BACKGROUND {
            // Most combinations are out of the question at once, wherever exactly their best scale is.
            if log_likelihood(ratios, start, a, sigma) + log_prior(i, sigma) < top - HOPELESS {
                continue;
            }
            let (log_scale, peak, variance) = best_scale(ratios, a, sigma, start);
            let prior = log_prior(i, sigma);
            let evidence = peak + prior + 0.5 * (2.0 * std::f64::consts::PI * variance).ln();
            top = top.max(peak + prior);
            cells.push((evidence, log_scale, variance, a, sigma));
            start = log_scale;
        }
        start = initial_scale(ratios, a);
    }
    average(&cells)
}

/// Where the scale's maximum is likely for noise up to `a`: half of it above the median.
fn initial_scale(ratios: &[f64], a: f64) -> f64 {
    let mut sorted = ratios.to_vec();
    sorted.sort_by(f64::total_cmp);
    (sorted[sorted.len() / 2] / (1.0 + 0.5 * a)).max(1e-3).ln()
}

fn log_prior(one_sided: usize, sigma: f64) -> f64 {
    let (centre, spread) = EXPECTED_BACKGROUND;
    let weight = if one_sided == 0 { NO_NOISE_WEIGHT.ln() } else { 0.0 };
    weight - 0.5 * ((sigma / centre).ln() / spread).powi(2)
}

/// Weighted mean of the cells `(log weight, log scale, variance, a, σ)`.
fn average(cells: &[(f64, f64, f64, f64, f64)]) -> NoiseEstimate {
    let top = cells.iter().map(|c| c.0).fold(f64::NEG_INFINITY, f64::max);
    let (mut total, mut mean, mut square, mut a, mut sigma) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for &(evidence, log_scale, variance, one_sided, s) in cells {
        let w = (evidence - top).exp();
        total += w;
        mean += w * log_scale;
        square += w * (log_scale * log_scale + variance);
        a += w * one_sided;
        sigma += w * s;
    }
    let mean = mean / total;
    NoiseEstimate {
        scale: mean.exp(),
        scale_variance: (square / total - mean * mean).max(1e-12),
        one_sided: a / total,
        sigma: sigma / total,
        evidence: top + total.ln(),
    }
}

/// The logarithm of the scale that makes `ratios` most likely under `a` and `sigma`, the log likelihood there, and
/// the inverse of its curvature: Newton's method with safeguards.
fn best_scale(ratios: &[f64], a: f64, sigma: f64, start: f64) -> (f64, f64, f64) {
    let mut log_scale = start;
    let mut step_limit: f64 = 0.3;
    let h = 0.2 * sigma;
    let value = |t: f64| log_likelihood(ratios, t, a, sigma);
    let mut here = value(log_scale);
    let mut variance = sigma * sigma / ratios.len() as f64;
    for _ in 0..12 {
        let (below, above) = (value(log_scale - h), value(log_scale + h));
        let slope = (above - below) / (2.0 * h);
        let curvature = (above - 2.0 * here + below) / (h * h);
        if curvature < 0.0 {
            variance = -1.0 / curvature;
        }
        let newton = if curvature < 0.0 { -slope / curvature } else { slope.signum() * step_limit };
        let close = 0.1 * variance.sqrt();
        let mut step = newton.clamp(-step_limit, step_limit);
        let mut there = value(log_scale + step);
        while there < here && step.abs() > close {
            step *= 0.4;
            there = value(log_scale + step);
        }
        if there > here {
            (log_scale, here) = (log_scale + step, there);
        }
        if step.abs() <= close {
            break;
        }
        step_limit = (2.0 * step.abs()).min(0.3);
    }
    (log_scale, here, variance.min(0.1))
}

/// Log likelihood of `ratios` when the undisturbed ratio is `exp(log_scale)`.
fn log_likelihood(ratios: &[f64], log_scale: f64, a: f64, sigma: f64) -> f64 {
    let inverse = (-log_scale).exp();
    ratios.iter().map(|r| log_density(r * inverse - 1.0, a, sigma) - log_scale).sum()
}

/// Logarithm of the density of `a U + σ Z` at `r`, with a floor that a measurement gone astray cannot pass: the
/// background has a share of one in two hundred that is ten times as wide.
pub(crate) fn log_density(r: f64, a: f64, sigma: f64) -> f64 {
    const STRAY: f64 = 0.005;
    let wide = (10.0 * sigma).max(0.1) + a;
    let stray = normal_density((r - 0.5 * a) / wide) / wide;
    let core = if a < 0.2 * sigma {
        normal_density((r - 0.5 * a) / sigma) / sigma
    } else {
        (normal_distribution(r / sigma) - normal_distribution((r - a) / sigma)).max(0.0) / a
    };
    ((1.0 - STRAY) * core + STRAY * stray + 1e-300).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng, rngs::StdRng};
    use rand_distr::{Distribution, Normal};

    fn ratios(rng: &mut StdRng, a: f64, sigma: f64, n: usize) -> Vec<f64> {
        let background = Normal::new(0.0, sigma).unwrap();
        (0..n).map(|_| 1.0 + a * rng.random::<f64>() + background.sample(rng)).collect()
    }

    #[test]
    fn density_integrates_to_one() {
        for (a, sigma) in [(0.0, 0.03), (0.5, 0.03), (0.02, 0.03), (1.0, 0.2)] {
            let n = 400_000;
            let step = 10.0 / n as f64;
            let total: f64 = (0..n).map(|i| log_density(-5.0 + step * i as f64, a, sigma).exp() * step).sum();
            assert!((total - 1.0).abs() < 1e-3, "{a} {sigma}: {total}");
        }
    }

    #[test]
    fn the_scale_is_the_undisturbed_one_at_any_noise() {
        let mut rng = StdRng::seed_from_u64(7);
        for (a, tolerance) in [(0.0, 0.015), (0.1, 0.035), (0.5, 0.04), (0.75, 0.05)] {
            let errors = (0..40).map(|_| (estimate(&ratios(&mut rng, a, 0.03, 25)).scale - 1.0).abs());
            let mean = errors.sum::<f64>() / 40.0;
            assert!(mean < tolerance, "one-sided noise {a}: mean error {mean}");
        }
    }

    #[test]
    fn scaling_the_ratios_scales_the_scale() {
        let mut rng = StdRng::seed_from_u64(1);
        let ratios = ratios(&mut rng, 0.4, 0.03, 25);
        let scaled: Vec<f64> = ratios.iter().map(|r| 3.0 * r).collect();
        let (one, three) = (estimate(&ratios), estimate(&scaled));
        assert!((three.scale / one.scale / 3.0 - 1.0).abs() < 1e-3);
    }
}
