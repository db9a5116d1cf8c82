//! How accurate the best choice of runs could be, beside one run of each point of a grid: what no advice can surpass.
//!
//! Where functions are known but for their coefficients, and all runs err alike relative to their times, w_i runs at points where the
//! coefficients enter as g_i tell these to a covariance of (Σ w_i g_i g_iᵀ)⁻¹. The weights that, for given core-hours, make predictions
//! least uncertain are an optimal design, a convex problem, which multiplicative steps solve (Silvey, Titterington, Torsney,
//! Communications in Statistics A 7, 1978). Weights need not be whole numbers here: what is found is a bound.

use nalgebra::{DMatrix, DVector};

use super::AdviseOptions;
use super::knowledge::{Knowledge, Program};
use super::points::candidates;
use crate::experiment::Experiment;
use crate::fit::Fits;

/// Least standard deviations of predictions, relative to those from one run of each point of the grid; above one no choice of runs is
/// as good.
///
/// ```
/// use modeler::advise::{AdviseOptions, best_choice};
/// # let text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC time\nDATA 2\nDATA 4\nDATA 8\nDATA 16\nDATA 32\n\
/// #     METRIC basic_blocks\nDATA 200\nDATA 400\nDATA 800\nDATA 1600\nDATA 3200\n";
/// # let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// # let fits = modeler::fit(&experiment, &Default::default());
/// let options = AdviseOptions {
///     target: vec![256.0],
///     ranks: None,
///     budget: None,
///     level: 0.9,
///     tolerance: 0.01,
///     steps: 1,
///     each: true,
/// };
/// // One coefficient, which every run tells alike: 2 + 4 + 8 + 16 + 32 seconds pay 31 runs of 2 seconds in place of five.
/// let best = best_choice(&experiment, &fits, &options, 1.0).expect("a time was modelled");
/// assert!((best.whole_program - (5.0_f64 / 31.0).sqrt()).abs() < 1e-3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct BestChoice {
    /// Of the whole program's time at the target.
    pub whole_program: f64,
    /// Of a call path's, in the mean over those that count.
    pub call_paths: f64,
}

/// What runs for `share` of the grid's core-hours could do at best. The experiment has one run of each point of the grid, best without
/// noise, and `options` name target and ranks; nothing else of them is used.
///
/// `None` where no time was modelled, or all are known exactly.
#[must_use]
pub fn best_choice(experiment: &Experiment, fits: &Fits, options: &AdviseOptions, share: f64) -> Option<BestChoice> {
    let target = &options.target;
    let program = Program::of(experiment, fits, &AdviseOptions { each: true, ..options.clone() })?;
    let program = Program { paths: program.paths.iter().map(Knowledge::as_fitted).collect(), ..program };
    if program.paths.iter().all(|path| path.gradient(target).is_empty()) {
        return None;
    }
    let price = |x: &[f64]| program.seconds(x) * options.cores(x);
    let budget = share * experiment.points.iter().map(|x| price(x)).sum::<f64>();
    let others = candidates(experiment, target).into_iter().filter(|(_, is_measured)| !is_measured).map(|(at, _)| at);
    let of_grid = experiment.points.iter().cloned().map(|at| (at, 1.0));
    let places = of_grid.chain(others.map(|at| (at, 0.0))).filter(|(at, _)| price(at) > 0.0);
    let (places, grid): (Vec<Vec<f64>>, Vec<f64>) = places.unzip();
    let affordable: Vec<f64> = places.iter().map(|x| budget / price(x)).collect();
    let ratio = |each: bool| {
        let program = Program { each, ..program.clone() };
        let counted = program.counted(target).into_iter().filter(|(path, _)| !path.gradient(target).is_empty());
        let predictions = counted.map(|(path, weight)| {
            let target = DVector::from(path.gradient(target));
            // Where the time is zero nothing is told.
            let enters = |x: &Vec<f64>| {
                let g = path.gradient(x);
                if g.len() == target.len() { DVector::from(g) } else { DVector::zeros(target.len()) }
            };
            Prediction { at: places.iter().map(enters).collect(), target, weight }
        });
        let predictions = Predictions { of: predictions.collect(), each };
        (predictions.least(&affordable) / predictions.uncertainty(&grid).0).powf(if each { 1.0 } else { 0.5 })
    };
    Some(BestChoice { whole_program: ratio(false), call_paths: ratio(true) })
}

/// How coefficients enter a call path's time at each place and at the target, and how much its error counts.
struct Prediction {
    at: Vec<DVector<f64>>,
    target: DVector<f64>,
    weight: f64,
}

/// Those of a program.
struct Predictions {
    of: Vec<Prediction>,
    /// Whether the sum of standard deviations is to be small, or that of variances.
    each: bool,
}

/// Steps at most, and by which part of the least value the found one may be too high.
const STEPS: usize = 10_000;
const EXACT: f64 = 1e-3;

impl Predictions {
    /// The uncertainty after so many runs at each place, and by how much it falls with each more.
    fn uncertainty(&self, runs: &[f64]) -> (f64, Vec<f64>) {
        let (mut uncertainty, mut falls) = (0.0, vec![0.0; runs.len()]);
        for prediction in &self.of {
            let count = prediction.target.len();
            let mut information = DMatrix::zeros(count, count);
            // What nothing tells has a variance beyond all others, and not none.
            information.fill_diagonal(1e-12 * runs.iter().sum::<f64>());
            for (g, runs) in prediction.at.iter().zip(runs) {
                information.ger(*runs, g, g, 1.0);
            }
            let Some(information) = information.cholesky() else { return (f64::INFINITY, falls) };
            let told = information.solve(&prediction.target);
            let variance = prediction.target.dot(&told);
            let (value, slope) = if self.each { (variance.sqrt(), 0.5 / variance.sqrt()) } else { (variance, 1.0) };
            uncertainty += prediction.weight * value;
            for (fall, g) in falls.iter_mut().zip(&prediction.at) {
                *fall += prediction.weight * slope * g.dot(&told).powi(2);
            }
        }
        (uncertainty, falls)
    }

    /// A bound of the least uncertainty for a budget that pays `affordable` runs at each place alone.
    fn least(&self, affordable: &[f64]) -> f64 {
        let mut shares = vec![1.0 / affordable.len() as f64; affordable.len()];
        let mut bound: f64 = 0.0;
        for _ in 0..STEPS {
            let runs: Vec<f64> = shares.iter().zip(affordable).map(|(share, runs)| share * runs).collect();
            let (uncertainty, falls) = self.uncertainty(&runs);
            if !uncertainty.is_finite() {
                return bound;
            }
            let gains: Vec<f64> = falls.iter().zip(affordable).map(|(fall, runs)| fall * runs).collect();
            let mean: f64 = shares.iter().zip(&gains).map(|(share, gain)| share * gain).sum();
            let most = gains.iter().copied().fold(0.0, f64::max);
            // A convex function lies above its tangents, and no tangent falls by more than where all is spent at the best place.
            bound = bound.max(uncertainty + mean - most);
            if bound >= (1.0 - EXACT) * uncertainty {
                break;
            }
            shares.iter_mut().zip(&gains).for_each(|(share, gain)| *share *= (gain / mean).sqrt());
            let total: f64 = shares.iter().sum();
            shares.iter_mut().for_each(|share| *share /= total);
        }
        bound
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{N, P, measured};
    use super::*;
    use crate::{MethodChoice, Options, fit};

    fn options(target: [f64; 2]) -> AdviseOptions {
        AdviseOptions {
            target: target.to_vec(),
            ranks: Some(0),
            budget: None,
            level: 0.9,
            tolerance: 0.01,
            steps: 1,
            each: false,
        }
    }

    /// 3 + 0.02 p seconds on p cores. An optimal design for one prediction of two coefficients has two points at most, so that all pairs
    /// and divisions of the budget among them are all there is.
    #[test]
    fn no_pair_of_points_is_better_and_one_is_as_good() {
        let experiment = measured(&P, &[100.0, 200.0], |p, _, drawn| ((3.0 + 0.02 * p) * (1.0 + 1e-5 * drawn), None));
        let fits = fit(&experiment, &Options { method: MethodChoice::Time, ..Options::default() });
        let target = [256.0, 200.0];
        let found = best_choice(&experiment, &fits, &options(target), 0.5).unwrap();
        let seconds = |p: f64| 3.0 + 0.02 * p;
        let g = |p: f64| [3.0 / seconds(p), 0.02 * p / seconds(p)];
        let variance = |runs: &[(f64, f64)]| {
            let of = |i: usize, j: usize| runs.iter().map(|(p, runs)| runs * g(*p)[i] * g(*p)[j]).sum::<f64>();
            let (a, b, d, t) = (of(0, 0), of(0, 1), of(1, 1), g(target[0]));
            (d * t[0] * t[0] - 2.0 * b * t[0] * t[1] + a * t[1] * t[1]) / (a * d - b * b)
        };
        let of_grid = variance(&P.map(|p| (p, 2.0)));
        let budget = 0.5 * P.iter().map(|p| 2.0 * p * seconds(*p)).sum::<f64>();
        let places = [4.0, 8.0, 16.0, 32.0, 64.0, 128.0];
        let mut least = f64::INFINITY;
        for (i, one) in places.into_iter().enumerate() {
            for other in &places[i + 1..] {
                for share in (1..500).map(|k| f64::from(k) / 500.0) {
                    let runs = |p: f64, share: f64| (p, share * budget / (p * seconds(p)));
                    least = least.min(variance(&[runs(one, share), runs(*other, 1.0 - share)]));
                }
            }
        }
        let expected = (least / of_grid).sqrt();
        for ratio in [found.whole_program, found.call_paths] {
            assert!((ratio / expected - 1.0).abs() < 2e-3, "{found:?} {expected}");
        }
    }

    #[test]
    fn summands_that_keep_one_coefficient_are_told_by_the_cheapest_runs() {
        let blocks = |p: f64, n: f64| n + p * p;
        let of = |p, n, drawn| (1e-3 * blocks(p, n) * (1.0 + 0.05 * drawn), Some(blocks(p, n)));
        let (small, large) = ([2.0, 4.0, 8.0, 16.0, 32.0], N.map(|n| 10.0 * n));
        let experiment = measured(&small, &large, of);
        let fits = fit(&experiment, &Options::default());
        let found = best_choice(&experiment, &fits, &options([256.0, 5000.0]), 0.5).unwrap();
        // Every run tells the coefficient alike, and the cheapest is that of the smallest p and n.
        let price = |p: f64, n: f64| p * blocks(p, n);
        let grid: f64 = small.iter().flat_map(|p| large.iter().map(|n| price(*p, *n))).sum();
        let expected = (25.0 / (0.5 * grid / price(2.0, 1000.0))).sqrt();
        assert!((found.whole_program / expected - 1.0).abs() < 2e-3, "{found:?} {expected}");
    }
}
