//! Evaluates models away from the measurements, with intervals.
//!
//! A new measurement is `f(x) (1 + a U) (1 + σ Z)`: f known up to the errors of its coefficients and of its shape, U
//! uniform one-sided noise, Z standard normal. Its distribution function has a closed form.

use crate::model::{Model, Prediction, Term};

impl Model {
    /// The model's value at `x`, one coordinate per parameter, with the interval that holds a new measurement there
    /// with probability `level`, in the metric's unit. Neither end is ever negative.
    ///
    /// The interval covers the noise of one measurement, the coefficients' errors and, where the shape was searched
    /// in noisy data, the disagreement of the shapes that explain them nearly as well.
    #[must_use]
    pub fn predict(&self, x: &[f64], level: f64) -> Prediction {
        let value = self.at(x).max(0.0);
        let level = if level > 0.0 && level < 1.0 { level } else { 0.9 };
        let u = &self.uncertainty;
        let spread = if value > 0.0 { self.relative_error_at(x, value) } else { 0.0 };
        let sigma = u.sigma.hypot(spread) * small_sample_factor(u.freedom);
        let tail = (1.0 - level) / 2.0;
        let end = |q| (value * (1.0 + noise_quantile(q, u.one_sided, sigma))).max(0.0);
        // Beside the metric's noise a value in double precision has its own rounding.
        let (lower, upper) = (end(tail).min(value), end(1.0 - tail).max(value));
        Prediction { value, lower, upper, level }
    }

    /// Relative standard error of the undisturbed value at `x`, from coefficients and shape.
    fn relative_error_at(&self, x: &[f64], value: f64) -> f64 {
        let u = &self.uncertainty;
        let basis: Vec<f64> = u.basis.iter().map(|group| group.iter().map(|t| t.at(x)).sum::<f64>() / value).collect();
        let k = basis.len();
        let mut variance = 0.0;
        for i in 0..k {
            for j in 0..k {
                variance += basis[i] * u.covariance[i * k + j] * basis[j];
            }
        }
        (variance.max(0.0) + self.shape_variance_at(x, value)).sqrt()
    }

    /// Relative variance of the value at `x` over the shapes that explain the data nearly as well.
    fn shape_variance_at(&self, x: &[f64], value: f64) -> f64 {
        let (mut sum, mut weights) = (0.0, 1.0);
        for (weight, constant, terms) in &self.uncertainty.rivals {
            let rival = constant + terms.iter().map(|t: &Term| t.at(x)).sum::<f64>();
            sum += weight * (rival / value - 1.0).clamp(-10.0, 10.0).powi(2);
            weights += weight;
        }
        sum / weights
    }
}

/// Widens normal quantiles when the deviation itself is estimated from few degrees of freedom.
///
/// The 95 % quantile of Student's t over that of the normal distribution is within 3 % of `1 + 1.1/ν + 1.5/ν²` from
/// ν = 2 on.
fn small_sample_factor(freedom: f64) -> f64 {
    let nu = freedom.max(2.0);
    1.0 + 1.0 / nu + 1.5 / (nu * nu)
}

/// The `q` quantile of `a U + s Z`, U uniform on 0..1 and Z standard normal, by bisection on its distribution.
pub(crate) fn noise_quantile(q: f64, a: f64, s: f64) -> f64 {
    if a <= 0.0 && s <= 0.0 {
        return 0.0;
    }
    let (mut low, mut high) = (-9.0 * s, a + 9.0 * s);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if noise_distribution(middle, a, s) < q {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// `P(a U + s Z < r)`: with `h(t) = t Φ(t) + φ(t)`, the integral of Φ, it is `s/a (h(r/s) - h((r-a)/s))`.
pub(crate) fn noise_distribution(r: f64, a: f64, s: f64) -> f64 {
    if s <= 0.0 {
        return (r / a).clamp(0.0, 1.0);
    }
    if a < 1e-3 * s {
        return normal_distribution((r - 0.5 * a) / s);
    }
    let h = |t: f64| t * normal_distribution(t) + normal_density(t);
    (s / a * (h(r / s) - h((r - a) / s))).clamp(0.0, 1.0)
}

/// Density of the standard normal distribution.
pub(crate) fn normal_density(t: f64) -> f64 {
    (-0.5 * t * t).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// Distribution function of the standard normal distribution, to 1.5e-7: Abramowitz and Stegun, 7.1.26.
pub(crate) fn normal_distribution(t: f64) -> f64 {
    let x = t.abs() / std::f64::consts::SQRT_2;
    let u = 1.0 / (1.0 + 0.327_591_1 * x);
    let poly =
        u * (0.254_829_592 + u * (-0.284_496_736 + u * (1.421_413_741 + u * (-1.453_152_027 + u * 1.061_405_429))));
    let tail = 0.5 * poly * (-x * x).exp();
    if t > 0.0 { 1.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_pure_noises_are_the_textbook_ones() {
        assert!((noise_quantile(0.95, 0.0, 2.0) - 2.0 * 1.644_854).abs() < 1e-4);
        assert!((noise_quantile(0.3, 0.5, 0.0) - 0.15).abs() < 1e-9);
    }

    #[test]
    fn distribution_of_a_sum_agrees_with_numerical_convolution() {
        for (r, a, s) in [(0.1, 0.5, 0.1), (0.7, 0.5, 0.2), (-0.05, 1.0, 0.03)] {
            let n = 20_000;
            let step = |i: usize| normal_distribution((r - a * (i as f64 + 0.5) / n as f64) / s);
            let naive = (0..n).map(step).sum::<f64>() / n as f64;
            assert!((noise_distribution(r, a, s) - naive).abs() < 1e-5, "{r} {a} {s}");
        }
    }

    #[test]
    fn small_sample_factor_follows_students_table() {
        // 95 % quantiles of Student's t over 1.645: 2.920, 2.015, 1.812, 1.725 at 2, 5, 10, 20 degrees of freedom.
        for (nu, t) in [(2.0, 2.920), (5.0, 2.015), (10.0, 1.812), (20.0, 1.725)] {
            assert!((small_sample_factor(nu) / (t / 1.644_85) - 1.0).abs() < 0.06, "{nu}");
        }
    }
}
