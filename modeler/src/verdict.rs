//! Judges models against expectations, with intervals: noise can leave a question undecided but never fail it.

use crate::compare::Ratio;
use crate::model::{Growth, Model, Prediction, Term};

/// Shares of the total below this are not growth at the scale where they are judged, as for [`Model::growth`].
const MATTERS: f64 = 0.01;
/// Shapes that explain the measurements less than this times as well as the chosen one are not held against it.
const PLAUSIBLE: f64 = 0.05;
/// Two shapes can be told apart where they differ by this many standard errors of the mean of some runs...
const APART: f64 = 3.0;
/// ... whose noise is at least this, since nothing is measured more exactly beyond the measured range ...
const LEAST_NOISE: f64 = 0.02;
/// ... and so many runs at most.
const MOST_RUNS: f64 = 5.0;
/// How often the parameter is doubled in the search for such a place.
const DOUBLINGS: i32 = 6;

/// The outcome of one expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It holds within the interval's level.
    Pass,
    /// The measurements leave both possible.
    Undecided,
    /// It is violated within the interval's level.
    Fail,
}

impl Verdict {
    /// `pass`, `undecided` or `fail`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Undecided => "undecided",
            Self::Fail => "fail",
        }
    }
}

/// Whether the predicted value is at most `limit`, in the metric's unit: the interval's upper end decides for it, the
/// lower end against it.
///
/// ```
/// use modeler::{Prediction, verdict::{Verdict, at_most}};
/// let prediction = Prediction { value: 1.1, lower: 1.0, upper: 1.3, level: 0.9 };
/// assert_eq!(at_most(prediction, 1.4), Verdict::Pass);
/// assert_eq!(at_most(prediction, 1.2), Verdict::Undecided);
/// assert_eq!(at_most(prediction, 0.9), Verdict::Fail);
/// ```
#[must_use]
pub fn at_most(prediction: Prediction, limit: f64) -> Verdict {
    decide(prediction.lower, prediction.upper, limit)
}

/// Whether the quotient of new over old is at most `1 + tolerance`.
///
/// ```
/// use modeler::{compare::Ratio, verdict::{Verdict, no_worse}};
/// let slower = Ratio { value: 1.2, lower: 1.1, upper: 1.3 };
/// assert_eq!(no_worse(slower, 0.05), Verdict::Fail);
/// assert_eq!(no_worse(slower, 0.2), Verdict::Undecided);
/// ```
#[must_use]
pub fn no_worse(ratio: Ratio, tolerance: f64) -> Verdict {
    decide(ratio.lower, ratio.upper, 1.0 + tolerance)
}

/// Whether a prediction is no worse than a baseline of zero, of which no tolerance is a part: nothing is no worse than
/// nothing, and what is certainly more than the baseline may be is worse.
///
/// ```
/// use modeler::{Prediction, verdict::{Verdict, no_worse_than_nothing}};
/// let interval = |lower, value, upper| Prediction { value, lower, upper, level: 0.9 };
/// let nothing = interval(0.0, 0.0, 0.0);
/// assert_eq!(no_worse_than_nothing(nothing, nothing), Verdict::Pass);
/// assert_eq!(no_worse_than_nothing(interval(0.0, 1.0, 2.0), nothing), Verdict::Undecided);
/// assert_eq!(no_worse_than_nothing(interval(0.5, 1.0, 2.0), nothing), Verdict::Fail);
/// ```
#[must_use]
pub fn no_worse_than_nothing(new: Prediction, baseline: Prediction) -> Verdict {
    match (new.upper <= baseline.lower, new.lower > baseline.upper) {
        (true, _) => Verdict::Pass,
        (false, true) => Verdict::Fail,
        (false, false) => Verdict::Undecided,
    }
}

/// An interval against a limit. What is undefined is undecided.
fn decide(lower: f64, upper: f64, limit: f64) -> Verdict {
    // Limits typed in decimal meet values that were computed.
    let limit = limit * (1.0 + 1e-9);
    if upper <= limit {
        Verdict::Pass
    } else if lower > limit {
        Verdict::Fail
    } else {
        Verdict::Undecided
    }
}

/// Why a growth is undecided: another shape that explains the measurements nearly as well and gives the other answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rival {
    /// Its leading growth in the parameter.
    pub growth: Growth,
    /// How probable it is beside the model, whose own probability is 1.
    pub weight: f64,
    /// Relative noise of a measurement.
    pub noise: f64,
    /// What would tell the two apart; `None` where a few runs at up to 64 times the corner's value of the parameter do not.
    pub apart: Option<Apart>,
}

/// A place at which a few runs tell two shapes apart: the first of twice, four times, eight times the corner's value of a
/// parameter at which five runs at most do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Apart {
    /// The parameter's value.
    pub at: f64,
    /// By how much the rival differs from the model there, relative to the model.
    pub off: f64,
    /// How many runs make the standard error of their mean a third of the difference, on the scale of logarithms.
    pub runs: u32,
}

impl Model {
    /// The most probable shape because of which [`Model::grows_at_most`] leaves the growth in this parameter undecided.
    #[must_use]
    pub fn rival_of_growth(&self, parameter: usize, bound: Growth, corner: &[f64]) -> Option<Rival> {
        let key = |growth: Growth| (growth.exponent, growth.log_exponent);
        let complies = |growth: Growth| key(growth) <= key(bound);
        let own = complies(self.growth[parameter]);
        let rivals = self.uncertainty.rivals.iter().filter(|rival| rival.0 >= PLAUSIBLE);
        let others = rivals.map(|rival| (rival, leading(rival.1, &rival.2, parameter, corner)));
        let ((weight, constant, terms), growth) =
            others.filter(|(_, growth)| complies(*growth) != own).max_by(|(a, _), (b, _)| a.0.total_cmp(&b.0))?;
        let noise = self.uncertainty.noise_level();
        let apart = |doubling: i32| {
            let mut x = corner.to_vec();
            x[parameter] *= 2_f64.powi(doubling);
            let ratio = (constant + terms.iter().map(|t| t.at(&x)).sum::<f64>()) / self.at(&x);
            // What falls to nothing, or below, is as far away as can be; two that both do are not apart.
            let distance = match ratio {
                r if r.is_nan() => 0.0,
                r if r > 0.0 => r.ln().abs(),
                _ => f64::INFINITY,
            };
            let runs = (APART * noise.max(LEAST_NOISE) / distance).powi(2).ceil().max(1.0);
            (runs <= MOST_RUNS).then(|| Apart { at: x[parameter], off: (ratio - 1.0).abs(), runs: runs as u32 })
        };
        let apart = (1..=DOUBLINGS).find_map(apart);
        Some(Rival { growth, weight: *weight, noise, apart })
    }

    /// Whether the model grows at most as `bound` in the parameter with this index, over the terms that are at least
    /// 1 % of the model at `corner`, one coordinate per parameter. Where the shape was searched in noisy data, the shapes
    /// that explain them nearly as well must agree, or else it is undecided.
    ///
    /// ```
    /// use modeler::{model::Growth, verdict::Verdict};
    /// # use modeler::experiment::{ExperimentBuilder, Metric};
    /// # let mut builder = ExperimentBuilder::new(["p"]);
    /// # let blocks = builder.metric(Metric { name: "basic_blocks".into(), unit: String::new(), over_ranks: None });
    /// # let solve = builder.callpath(["main", "solve"]);
    /// # for p in [2.0_f64, 4.0, 8.0, 16.0, 32.0] {
    /// #     let point = builder.point(&[p]);
    /// #     builder.add(solve, blocks, point, 7.0 + 3.0 * p * p.log2());
    /// # }
    /// # let fits = modeler::fit(&builder.finish(), &modeler::Options::default());
    /// let model = &fits.models[0]; // of 7 + 3 p log2(p)
    /// let linear = Growth { exponent: 1.into(), log_exponent: 0 };
    /// let quadratic = Growth { exponent: 2.into(), log_exponent: 0 };
    /// assert_eq!(model.grows_at_most(0, linear, &[1024.0]), Verdict::Fail);
    /// assert_eq!(model.grows_at_most(0, quadratic, &[1024.0]), Verdict::Pass);
    /// ```
    #[must_use]
    pub fn grows_at_most(&self, parameter: usize, bound: Growth, corner: &[f64]) -> Verdict {
        let key = |growth: Growth| (growth.exponent, growth.log_exponent);
        let complies = |growth: Growth| key(growth) <= key(bound);
        let rivals = self.uncertainty.rivals.iter().filter(|rival| rival.0 >= PLAUSIBLE);
        let rivals: Vec<bool> =
            rivals.map(|(_, constant, terms)| complies(leading(*constant, terms, parameter, corner))).collect();
        match complies(self.growth[parameter]) {
            true if rivals.iter().all(|&ok| ok) => Verdict::Pass,
            false if rivals.iter().all(|&ok| !ok) => Verdict::Fail,
            _ => Verdict::Undecided,
        }
    }
}

/// Leading growth in one parameter of a constant and terms.
fn leading(constant: f64, terms: &[Term], parameter: usize, corner: &[f64]) -> Growth {
    let still = Growth { exponent: 0.into(), log_exponent: 0 };
    let total = (constant + terms.iter().map(|t| t.at(corner)).sum::<f64>()).abs();
    let of = |term: &Term| {
        let factor = term.factors.iter().find(|f| f.parameter == parameter);
        factor.map_or(still, |f| Growth { exponent: f.exponent, log_exponent: f.log_exponent })
    };
    let matter = terms.iter().filter(|t| t.at(corner).abs() >= MATTERS * total).map(of);
    let constant = (constant.abs() >= MATTERS * total).then_some(still);
    matter.chain(constant).max_by_key(|g| (g.exponent, g.log_exponent)).unwrap_or(still)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{ExperimentBuilder, Metric};
    use crate::{Options, fit};

    fn model(metric: &str, cost: impl Fn(f64) -> f64) -> Model {
        let mut builder = ExperimentBuilder::new(["p"]);
        let metric = builder.metric(Metric { name: metric.into(), unit: String::new(), over_ranks: None });
        let solve = builder.callpath(["main", "solve"]);
        for p in [2.0_f64, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0] {
            let point = builder.point(&[p]);
            builder.add(solve, metric, point, cost(p));
        }
        fit(&builder.finish(), &Options::default()).models.remove(0)
    }

    fn bound(exponent: i32, log_exponent: i32) -> Growth {
        Growth { exponent: exponent.into(), log_exponent }
    }

    #[test]
    fn exact_counts_are_always_decided() {
        let model = model("basic_blocks", |p| 7.0 + 3.0 * p * p.log2());
        assert_eq!(model.grows_at_most(0, bound(1, 1), &[256.0]), Verdict::Pass);
        assert_eq!(model.grows_at_most(0, bound(2, 0), &[256.0]), Verdict::Pass);
        assert_eq!(model.grows_at_most(0, bound(1, 0), &[256.0]), Verdict::Fail);
    }

    #[test]
    fn what_rounding_leaves_of_a_line_is_no_rival_however_far_away() {
        // Nine decimals of seconds: the smallest value is exact to 2e-7 of itself.
        let model = model("time", |p| (1.234_567_891e-3 * p * 1e9).round() * 1e-9);
        assert_eq!(model.grows_at_most(0, bound(1, 0), &[1e12]), Verdict::Pass, "{:?}", model.runners_up);
        assert_eq!(model.grows_at_most(0, bound(0, 1), &[1e12]), Verdict::Fail);
        let rivals = &model.uncertainty.rivals;
        assert!(rivals.iter().all(|(_, _, terms)| leading(0.0, terms, 0, &[1e12]) == bound(1, 0)), "{rivals:?}");
    }

    #[test]
    fn noise_leaves_neighbouring_shapes_undecided_and_distant_ones_not() {
        // p log2(p) with alternating errors of 30 %: p and p^(5/4) explain it as well.
        let model = model("time", |p| 1e-3 * p * p.log2() * (1.0 + 0.3 * (p.log2() * 2.1).sin()));
        assert_eq!(model.grows_at_most(0, bound(3, 0), &[256.0]), Verdict::Pass);
        assert_eq!(model.grows_at_most(0, bound(0, 0), &[256.0]), Verdict::Fail);
        let near: Vec<Verdict> =
            [bound(1, 0), bound(1, 1)].map(|b| model.grows_at_most(0, b, &[256.0])).into_iter().collect();
        assert!(near.contains(&Verdict::Undecided), "{near:?} {:?}", model.growth);
        for (bound, verdict) in [bound(1, 0), bound(1, 1)].into_iter().zip(near) {
            let rival = model.rival_of_growth(0, bound, &[256.0]);
            assert_eq!(rival.is_some(), verdict == Verdict::Undecided);
            let Some(rival) = rival else { continue };
            let complies = |g: Growth| (g.exponent, g.log_exponent) <= (bound.exponent, bound.log_exponent);
            assert_ne!(complies(rival.growth), complies(model.growth[0]), "the rival gives the other answer");
            assert!(rival.weight >= 0.05 && rival.noise > 0.1, "{rival:?}");
            let Some(Apart { at, off, runs }) = rival.apart else { continue };
            assert!(at >= 512.0 && (at / 256.0).log2().fract() == 0.0, "{rival:?}");
            // Nearer to one the ratio's logarithm is its distance from one; five runs halve the noise at least.
            assert!(
                off.max((1.0 - off.min(0.99)).ln().abs()) * f64::from(runs).sqrt() >= 3.0 * rival.noise,
                "{rival:?}"
            );
        }
    }

    #[test]
    fn shapes_that_both_give_nothing_are_nowhere_apart() {
        let mut model = model("time", |p| 1e-3 * p * (1.0 + 0.1 * (p.log2() * 2.1).sin()));
        assert_eq!(model.growth[0], bound(1, 0));
        (model.constant, model.terms, model.uncertainty.rivals) = (0.0, Vec::new(), vec![(0.5, 0.0, Vec::new())]);
        let rival = model.rival_of_growth(0, bound(0, 0), &[256.0]).expect("a shape without growth");
        assert_eq!(rival.apart, None, "zero over zero is no distance");
    }

    #[test]
    fn regressions_are_judged_by_the_whole_interval() {
        let ratio = |lower, value, upper| Ratio { value, lower, upper };
        assert_eq!(no_worse(ratio(0.9, 1.0, 1.04), 0.05), Verdict::Pass);
        assert_eq!(no_worse(ratio(0.9, 1.2, 1.5), 0.05), Verdict::Undecided);
        assert_eq!(no_worse(ratio(1.1, 1.2, 1.5), 0.05), Verdict::Fail);
        assert_eq!(no_worse(ratio(f64::NAN, f64::NAN, f64::NAN), 0.05), Verdict::Undecided);
    }
}
