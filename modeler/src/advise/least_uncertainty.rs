//! What the best choice of runs would leave uncertain, beside one run of each point of a grid: no advice that names the same points can
//! leave less.
//!
//! Where functions are known but for their coefficients, and all runs err alike relative to their times, w_i runs at points where the
//! coefficients enter as g_i tell these to a covariance of (Σ w_i g_i g_iᵀ)⁻¹. The weights that make predictions least uncertain for given
//! core-hours are an optimal design, a convex problem, whose weights need not be whole numbers here. Multiplicative steps with exponent
//! 1/2 approach it (Silvey, Titterington, Torsney, Communications in Statistics A 7, 1978), and a tangent bounds it from below wherever
//! they end.

use nalgebra::{DMatrix, DVector};

use super::AdviseOptions;
use super::knowledge::{Knowledge, Program};
use super::points::candidates;
use crate::experiment::Experiment;
use crate::fit::Fits;

/// Least standard deviations of predictions, relative to those that one run of each point of the grid leaves; above one no choice among
/// the points is as good.
///
/// ```
/// use modeler::advise::{AdviseOptions, least_uncertainty};
/// # let text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC time\nDATA 2\nDATA 4\nDATA 8\nDATA 16\nDATA 32\n\
/// #     METRIC basic_blocks\nDATA 200\nDATA 400\nDATA 800\nDATA 1600\nDATA 3200\n";
/// # let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// # let fits = modeler::fit(&experiment, &Default::default());
/// // One coefficient, which every run tells alike: 2 + 4 + 8 + 16 + 32 seconds pay 31 runs of 2 seconds in place of five.
/// let options = AdviseOptions {
///     target: vec![256.0],
///     ranks: None,
///     budget: None,
///     level: 0.9,
///     tolerance: 0.01,
///     steps: 1,
///     each: true,
///     down_to: Vec::new(),
/// };
/// let least = least_uncertainty(&experiment, &fits, &options, 1.0).expect("a time was modelled");
/// assert!((least.whole_program - (5.0_f64 / 31.0).sqrt()).abs() < 1e-3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct LeastUncertainty {
    /// Of the whole program's time at the target.
    pub whole_program: f64,
    /// Of a call path's, in the mean over those that [`super::AdviseOptions::each`] counts.
    pub call_paths: f64,
}

/// What runs for `share` of the grid's core-hours leave uncertain at least, at the points that [`super::advise`] may name. The experiment
/// has one run of each point of the grid, best without noise. Of the options the target, the ranks and how far down runs may go matter.
///
/// `None` where no time was modelled, all are known exactly, behaviour changes within the range, or the grid does not tell the
/// coefficients. Takes time in proportion to points and call paths: a second for thirty of each.
#[must_use]
pub fn least_uncertainty(
    experiment: &Experiment,
    fits: &Fits,
    options: &AdviseOptions,
    share: f64,
) -> Option<LeastUncertainty> {
    let target = &options.target[..];
    let program = Program::of(experiment, fits, target, true)?;
    if program.paths.iter().any(|path| !path.model.segments.is_empty()) {
        return None;
    }
    let program = Program { paths: program.paths.iter().map(Knowledge::as_fitted).collect(), ..program };
    let price = |x: &[f64]| program.core_seconds(x, options.ranks);
    let budget = share * experiment.points.iter().map(|x| price(x)).sum::<f64>();
    let others = candidates(experiment, target, &options.down_to)
        .into_iter()
        .filter(|(_, is_measured)| !is_measured)
        .map(|(at, _)| at);
    let of_grid = experiment.points.iter().cloned().map(|at| (at, 1.0));
    let places = of_grid.chain(others.map(|at| (at, 0.0))).filter(|(at, _)| price(at) > 0.0);
    let (places, grid): (Vec<Vec<f64>>, Vec<f64>) = places.unzip();
    let affordable: Vec<f64> = places.iter().map(|x| budget / price(x)).collect();
    let predictions = |each: bool| {
        let program = Program { each, ..program.clone() };
        let counted = program.counted(target).into_iter().filter(|(path, _)| !path.gradient(target).is_empty());
        let of = |(path, weight): (&Knowledge, f64)| {
            let target = DVector::from(path.gradient(target));
            // Where the time is zero nothing is told.
            let enters = |x: &Vec<f64>| {
                let g = path.gradient(x);
                if g.len() == target.len() { DVector::from(g) } else { DVector::zeros(target.len()) }
            };
            Prediction { at: places.iter().map(enters).collect(), target, weight }
        };
        Predictions { of: counted.map(of).collect(), each }
    };
    let ratio = |predictions: Predictions| {
        let of_grid = predictions.uncertainty(&grid).filter(|(uncertainty, _)| *uncertainty > 0.0)?.0;
        predictions.least(&affordable).map(|least| least / of_grid)
    };
    let [of_variances, call_paths] = [ratio(predictions(false))?, ratio(predictions(true))?];
    Some(LeastUncertainty { whole_program: of_variances.sqrt(), call_paths })
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

/// Steps at most, and by which part of the least value the bound may be too low before.
const STEPS: usize = 10_000;
const EXACT: f64 = 1e-3;
/// By so much the diagonal of a matrix is raised, relative to itself, so that rounding leaves it positive.
const ROUNDING: f64 = 1e-12;

impl Predictions {
    /// The uncertainty after so many runs at each place, and by how much it falls with each more; `None` where these do not tell all.
    fn uncertainty(&self, runs: &[f64]) -> Option<(f64, Vec<f64>)> {
        let (mut uncertainty, mut falls) = (0.0, vec![0.0; runs.len()]);
        for prediction in &self.of {
            let count = prediction.target.len();
            let mut information = DMatrix::zeros(count, count);
            for (g, runs) in prediction.at.iter().zip(runs) {
                information.ger(*runs, g, g, 1.0);
            }
            (0..count).for_each(|i| information[(i, i)] *= 1.0 + ROUNDING);
            let told = information.cholesky()?.solve(&prediction.target);
            let variance = prediction.target.dot(&told);
            let (value, slope) = if self.each { (variance.sqrt(), 0.5 / variance.sqrt()) } else { (variance, 1.0) };
            uncertainty += prediction.weight * value;
            for (fall, g) in falls.iter_mut().zip(&prediction.at) {
                *fall += prediction.weight * slope * g.dot(&told).powi(2);
            }
        }
        uncertainty.is_finite().then_some((uncertainty, falls))
    }

    /// A lower bound of the uncertainty for a budget that pays `affordable` runs at each place alone.
    fn least(&self, affordable: &[f64]) -> Option<f64> {
        let mut shares = vec![1.0 / affordable.len() as f64; affordable.len()];
        let mut bound: f64 = 0.0;
        for _ in 0..STEPS {
            let runs: Vec<f64> = shares.iter().zip(affordable).map(|(share, runs)| share * runs).collect();
            let (uncertainty, falls) = self.uncertainty(&runs)?;
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
        Some(bound)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{N, P, measured};
    use super::*;
    use crate::experiment::{ExperimentBuilder, Metric};
    use crate::{MethodChoice, Options, fit};

    fn options(target: &[f64]) -> AdviseOptions {
        AdviseOptions {
            target: target.to_vec(),
            ranks: Some(0),
            budget: None,
            level: 0.9,
            tolerance: 0.01,
            steps: 1,
            each: true,
            down_to: Vec::new(),
        }
    }

    /// The two parts of a time at p ranks.
    type Time = fn(f64) -> [f64; 2];

    /// Two call paths of two coefficients each, in a unit of so many seconds, at points of p alone, and their exact times.
    fn two(unit: f64) -> (Experiment, [Time; 2]) {
        let times: [Time; 2] = [|p| [3.0, 0.02 * p], |p| [0.5, 0.2 * p.sqrt()]];
        let mut builder = ExperimentBuilder::new(["p"]);
        let metric = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
        for (name, of) in ["line", "root"].into_iter().zip(times) {
            let callpath = builder.callpath(["main", name]);
            for (i, p) in P.into_iter().enumerate() {
                let point = builder.point(&[p]);
                // Too little noise to be seen, and enough for times not to be known exactly.
                let noise = 1.0 + 1e-5 * ((7 * i * i + 3 * i) % 5) as f64;
                builder.add(callpath, metric, point, unit * noise * of(p).iter().sum::<f64>());
            }
        }
        (builder.finish(), times)
    }

    /// All divisions of the budget into twentieths among the six places, by hand.
    #[test]
    fn no_division_of_the_budget_leaves_less_and_one_leaves_next_to_no_more() {
        let (experiment, times) = two(1.0);
        let fits = fit(&experiment, &Options { method: MethodChoice::Time, ..Options::default() });
        let found = least_uncertainty(&experiment, &fits, &options(&[256.0]), 0.5).unwrap();
        let seconds = |path: usize, p: f64| times[path](p).iter().sum::<f64>();
        let variance = |path: usize, runs: &[(f64, f64)]| {
            let g = |p: f64| times[path](p).map(|part| part / seconds(path, p));
            let of = |i: usize, j: usize| runs.iter().map(|(p, runs)| runs * g(*p)[i] * g(*p)[j]).sum::<f64>();
            let (a, b, d, t) = (of(0, 0), of(0, 1), of(1, 1), g(256.0));
            (d * t[0] * t[0] - 2.0 * b * t[0] * t[1] + a * t[1] * t[1]) / (a * d - b * b)
        };
        let whole = |runs: &[(f64, f64)]| {
            let total = seconds(0, 256.0) + seconds(1, 256.0);
            (0..2).map(|path| (seconds(path, 256.0) / total).powi(2) * variance(path, runs)).sum::<f64>().sqrt()
        };
        let each = |runs: &[(f64, f64)]| (0..2).map(|path| variance(path, runs).sqrt()).sum::<f64>();
        let price = |p: f64| p * (seconds(0, p) + seconds(1, p));
        let grid = P.map(|p| (p, 1.0));
        let budget = 0.5 * P.map(price).iter().sum::<f64>();
        let places = [4.0, 8.0, 16.0, 32.0, 64.0, 128.0];
        let mut least = [f64::INFINITY; 2];
        for code in 0..20_usize.pow(5) {
            let parts: Vec<usize> = (0..5).map(|i| code / 20_usize.pow(i) % 20).collect();
            let Some(last) = 20_usize.checked_sub(parts.iter().sum()) else { continue };
            let part = |i: usize| parts.get(i).copied().unwrap_or(last) as f64 / 20.0;
            let runs: Vec<(f64, f64)> =
                places.iter().enumerate().map(|(i, p)| (*p, part(i) * budget / price(*p))).collect();
            if runs.iter().filter(|(_, runs)| *runs > 0.0).count() > 1 {
                least = [least[0].min(whole(&runs)), least[1].min(each(&runs))];
            }
        }
        let expected = [least[0] / whole(&grid), least[1] / each(&grid)];
        for (ratio, expected) in [found.whole_program, found.call_paths].into_iter().zip(expected) {
            assert!(ratio < 1.001 * expected && ratio > 0.985 * expected, "{found:?} {expected}");
        }
    }

    #[test]
    fn units_change_nothing() {
        let of = |unit: f64| {
            let (experiment, _) = two(unit);
            let fits = fit(&experiment, &Options { method: MethodChoice::Time, ..Options::default() });
            least_uncertainty(&experiment, &fits, &options(&[256.0]), 0.5).unwrap()
        };
        let (seconds, nanoseconds) = (of(1.0), of(1e9));
        assert!((seconds.whole_program / nanoseconds.whole_program - 1.0).abs() < 1e-3, "{seconds:?} {nanoseconds:?}");
        assert!((seconds.call_paths / nanoseconds.call_paths - 1.0).abs() < 1e-3, "{seconds:?} {nanoseconds:?}");
    }

    #[test]
    fn summands_that_keep_one_coefficient_are_told_by_the_cheapest_runs() {
        let blocks = |p: f64, n: f64| n + p * p;
        let of = |p, n, drawn| (1e-3 * blocks(p, n) * (1.0 + 0.05 * drawn), Some(blocks(p, n)));
        let (small, large) = ([2.0, 4.0, 8.0, 16.0, 32.0], N.map(|n| 10.0 * n));
        let experiment = measured(&small, &large, of);
        let fits = fit(&experiment, &Options::default());
        let least = |target: [f64; 2], share| least_uncertainty(&experiment, &fits, &options(&target), share);
        // Every run tells the coefficient alike, and the cheapest is that of the smallest p and n.
        let price = |p: f64, n: f64| p * blocks(p, n);
        let grid: f64 = small.iter().flat_map(|p| large.iter().map(|n| price(*p, *n))).sum();
        let expected = (25.0 / (0.5 * grid / price(2.0, 1000.0))).sqrt();
        // One of the targets is a point of the grid.
        for target in [[256.0, 5000.0], [32.0, 5000.0]] {
            let found = least(target, 0.5).unwrap();
            assert!((found.whole_program / expected - 1.0).abs() < 2e-3, "{found:?} {expected}");
        }
        // And smaller ones where they are allowed: one rank.
        let smaller = AdviseOptions { down_to: vec![1.0], ..options(&[256.0, 5000.0]) };
        let found = least_uncertainty(&experiment, &fits, &smaller, 0.5).unwrap();
        let expected = (25.0 / (0.5 * grid / price(1.0, 1000.0))).sqrt();
        assert!((found.whole_program / expected - 1.0).abs() < 2e-3, "{found:?} {expected}");
        // No runs tell nothing.
        assert_eq!(least([256.0, 5000.0], 0.0), None);
    }

    #[test]
    fn times_that_are_known_exactly_leave_nothing_to_choose() {
        let experiment = measured(&P, &[100.0], |p, _, _| (0.5 * p, None));
        let fits = fit(&experiment, &Options { method: MethodChoice::Time, ..Options::default() });
        assert_eq!(least_uncertainty(&experiment, &fits, &options(&[256.0, 100.0]), 0.5), None);
    }
}
