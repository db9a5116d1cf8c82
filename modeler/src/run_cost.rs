//! How long a run of a study probably takes, learned from runs at other points. This plans measurements; it is no model
//! of the program: one power law over all parameters, fitted to few elapsed times, launcher included.

use nalgebra::{DMatrix, DVector};

/// seconds = exp(c) Π_l x_l^e_l.
///
/// ```
/// use modeler::run_cost::RunCost;
/// // Logarithms about their means are ±1/2 for both: an exponent of (1/4 + 1/4) / (1/4 + 1/4 + 0.1), which is 5/6.
/// let e = std::f64::consts::E;
/// let cost = RunCost::learn(&[(vec![1.0], 1.0), (vec![e], e)]).unwrap();
/// assert!((cost.seconds(&[e.powf(1.5)]) - (0.5 + 5.0 / 6.0_f64).exp()).abs() < 1e-12);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RunCost {
    constant: f64,
    exponents: Vec<f64>,
    /// Mean logarithm of each parameter.
    center: Vec<f64>,
}

/// How many squared logarithms an exponent of 1 costs: without data an exponent is 0, and little data move it little.
const RIDGE: f64 = 0.1;

impl RunCost {
    /// Learns from runs: coordinates (positive) and elapsed seconds. None where there are no runs, or their numbers of
    /// coordinates differ.
    ///
    /// Ridge regression of the logarithms about their means (Hoerl and Kennard, Technometrics 12, 1970), so that it is
    /// defined for any number of runs, and for parameters that have not been varied yet.
    ///
    /// ```
    /// use modeler::run_cost::RunCost;
    /// // The work is n; ranks do not matter.
    /// let runs = [(vec![2.0, 100.0], 1.0), (vec![4.0, 100.0], 1.0), (vec![2.0, 200.0], 2.0), (vec![4.0, 200.0], 2.0)];
    /// let cost = RunCost::learn(&runs).expect("there are runs");
    /// let seconds = cost.seconds(&[4.0, 400.0]);
    /// assert!((3.0..4.5).contains(&seconds), "{seconds}");
    /// assert!(RunCost::learn(&[]).is_none());
    /// ```
    #[must_use]
    pub fn learn(runs: &[(Vec<f64>, f64)]) -> Option<Self> {
        let parameters = runs.first()?.0.len();
        if runs.iter().any(|(coordinates, _)| coordinates.len() != parameters) {
            return None;
        }
        let count = runs.len() as f64;
        let logarithm = |seconds: f64| seconds.max(1e-6).ln();
        let center: Vec<f64> =
            (0..parameters).map(|l| runs.iter().map(|(x, _)| x[l].ln()).sum::<f64>() / count).collect();
        let constant = runs.iter().map(|&(_, seconds)| logarithm(seconds)).sum::<f64>() / count;
        let design = DMatrix::from_fn(runs.len(), parameters, |i, l| runs[i].0[l].ln() - center[l]);
        let target = DVector::from_fn(runs.len(), |i, _| logarithm(runs[i].1) - constant);
        let normal = design.transpose() * &design + DMatrix::identity(parameters, parameters) * RIDGE;
        let exponents = normal.cholesky()?.solve(&(design.transpose() * target));
        Some(Self { constant, exponents: exponents.iter().copied().collect(), center })
    }

    /// Probable seconds of a run at these coordinates, as many as it was learned from.
    ///
    /// ```
    /// use modeler::run_cost::RunCost;
    /// let cost = RunCost::learn(&[(vec![2.0], 3.0)]).unwrap();
    /// // One run tells no exponent.
    /// assert!([1.0, 2.0, 64.0].iter().all(|&p| (cost.seconds(&[p]) - 3.0).abs() < 1e-12));
    /// ```
    #[must_use]
    pub fn seconds(&self, coordinates: &[f64]) -> f64 {
        let terms = coordinates.iter().zip(&self.center).zip(&self.exponents);
        terms.fold(self.constant, |sum, ((x, center), exponent)| sum + exponent * (x.ln() - center)).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_law_is_learned_and_extrapolated() {
        let law = |p: f64, n: f64| 0.01 * p.powf(0.5) * n.powf(1.5);
        let mut runs = Vec::new();
        for p in [2.0, 4.0, 8.0, 16.0] {
            for n in [100.0, 200.0, 400.0, 800.0] {
                runs.push((vec![p, n], law(p, n)));
            }
        }
        let learned = RunCost::learn(&runs).unwrap();
        let ratio = learned.seconds(&[32.0, 1600.0]) / law(32.0, 1600.0);
        assert!((0.9..1.1).contains(&ratio), "{ratio}");
    }

    #[test]
    fn one_run_says_that_all_take_as_long() {
        let learned = RunCost::learn(&[(vec![4.0], 3.0)]).unwrap();
        assert!((learned.seconds(&[400.0]) - 3.0).abs() < 1e-12);
        assert_eq!(RunCost::learn(&[]), None);
        assert_eq!(RunCost::learn(&[(vec![1.0], 1.0), (vec![1.0, 2.0], 1.0)]), None);
        // Runs of no time at all, and a study without numeric parameters.
        assert!(RunCost::learn(&[(vec![], 0.0)]).unwrap().seconds(&[]) > 0.0);
    }
}
