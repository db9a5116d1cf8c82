//! Judges models against expectations, with intervals: noise can leave a question undecided but never fail it.

use crate::compare::{Ratio, Side};
pub use crate::evidence::Evidence;
use crate::evidence::{evidence, grows_faster};
use crate::experiment::Experiment;
use crate::model::{Growth, Method, Model, Prediction, Term, far_end, value_at};

/// Shares of the total below this are not growth at the scale where they are judged, as for [`Model::growth`].
const MATTERS: f64 = 0.01;
/// Shapes that explain the measurements less than this times as well as the chosen one are not held against it.
const PLAUSIBLE: f64 = 0.05;
/// Models know no shapes that are less probable beside them.
const LEAST_KNOWN: f64 = 0.01;
/// How probable it may be that noise alone fails any of the judgements that are made together, if its models know the noise.
pub const FAMILY_DOUBT: f64 = 0.01;
/// Two shapes can be told apart where they differ by this many standard errors of the mean of some runs...
const APART: f64 = 3.0;
/// ... whose noise is at least this, since nothing is measured more exactly beyond the measured range ...
const LEAST_NOISE: f64 = 0.02;
/// ... and so many runs at most.
const MOST_RUNS: f64 = 5.0;
/// How often the parameter is doubled in the search for such a place.
const DOUBLINGS: i32 = 6;

/// The outcome of one expectation.
/// In ascending order: of several verdicts the largest is that of all together.
///
/// ```
/// use modeler::verdict::Verdict;
/// assert_eq!([Verdict::Pass, Verdict::Fail, Verdict::Undecided].into_iter().max(), Some(Verdict::Fail));
/// ```
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
    ///
    /// ```
    /// use modeler::verdict::Verdict;
    /// assert_eq!([Verdict::Pass, Verdict::Undecided, Verdict::Fail].map(Verdict::name), ["pass", "undecided", "fail"]);
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Undecided => "undecided",
            Self::Fail => "fail",
        }
    }
}

/// A place is far where it goes beyond the measured range by more than this part of that range, both on the scale of logarithms.
/// Twice the largest of 1, 2, 4, 8 is not; twice the largest of 25, 30, 35, 40, 45 is.
const FAR: f64 = 1.0 / 3.0;

/// Whether `place` is far above the measured `range`.
pub(crate) fn is_far(range: (f64, f64), place: f64) -> bool {
    let (low, high) = range;
    if low <= 0.0 {
        // Zero has no logarithm: all that is beyond such a range is far.
        return place > high;
    }
    high > low && (place / high).ln() > FAR * (high / low).ln() + 1e-9
}

/// Whether `place` is as far below the measured `range`.
pub(crate) fn is_far_below(range: (f64, f64), place: f64) -> bool {
    let (low, high) = range;
    if low <= 0.0 || place <= 0.0 { place < low } else { is_far((high.recip(), low.recip()), place.recip()) }
}

/// How many judgements are made together: each must be the more certain to fail, the more there are, since noise has that many
/// chances.
///
/// ```
/// use modeler::verdict::Together;
/// // Bonferroni's rule: 1 % of doubt for all, a sixtieth of that for each.
/// assert_eq!(Together(1).doubt(), 0.01);
/// assert_eq!(Together(60).doubt(), 0.01 / 60.0);
/// assert_eq!(Together(60).level(), 1.0 - 2.0 * 0.01 / 60.0); // of an interval, one end of which can fail
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Together(pub usize);

impl Together {
    /// How probable it may be that noise alone fails one of them.
    /// Bonferroni's rule: [`FAMILY_DOUBT`] over their number.
    ///
    /// ```
    /// use modeler::verdict::Together;
    /// assert_eq!(Together(4).doubt(), 0.0025); // a quarter of 1 %
    /// ```
    #[must_use]
    pub fn doubt(self) -> f64 {
        FAMILY_DOUBT / self.0.max(1) as f64
    }

    /// The level of the interval whose lower end fails one of them.
    ///
    /// ```
    /// use modeler::verdict::Together;
    /// assert_eq!(Together(4).level(), 0.995); // 0.25 % beyond each end
    /// ```
    #[must_use]
    pub fn level(self) -> f64 {
        1.0 - 2.0 * self.doubt()
    }

    /// How probable beside the model a shape may be that is held against a failure; of a single judgement [`PLAUSIBLE`], and
    /// [`LEAST_KNOWN`] at least.
    fn plausible(self) -> f64 {
        (PLAUSIBLE / self.0.max(1) as f64).max(LEAST_KNOWN)
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

/// A value against a limit, as one of several judgements.
///
/// ```
/// use modeler::verdict::{Together, Verdict};
/// # let of = |cost: fn(f64) -> f64| {
/// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
/// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
/// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// #     let fits = modeler::fit(&experiment, &Default::default());
/// #     (experiment, fits)
/// # };
/// let (_, fits) = of(|p| 3.0 * p); // exact, so intervals have no width
/// let limited = fits.models[0].is_at_most(&[100.0], 250.0, 0.9, Together(1));
/// assert_eq!((limited.prediction.value, limited.at_least, limited.verdict), (300.0, 300.0, Verdict::Fail));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limited {
    /// The model's value with the interval of the level that was asked for, whose upper end passes it.
    pub prediction: Prediction,
    /// What is certain of all judgements together: the value is at least this. It alone fails.
    pub at_least: f64,
    /// What follows.
    pub verdict: Verdict,
}

/// New over old, as one of several judgements.
///
/// ```
/// use modeler::{compare::Side, verdict::{Together, Verdict, is_no_worse}};
/// # let of = |cost: fn(f64) -> f64| {
/// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
/// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
/// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// #     let fits = modeler::fit(&experiment, &Default::default());
/// #     (experiment, fits)
/// # };
/// let (new, old) = (of(|p| 3.0 * p), of(|p| 2.0 * p));
/// let [of_new, of_old] = [&new, &old].map(|(experiment, fits)| (Side { experiment, fits }, &fits.models[0]));
/// let judged = is_no_worse(of_new, of_old, &[64.0], 0.1, 0.9, Together(1));
/// assert_eq!((judged.ratio.value, judged.evidence, judged.verdict), (1.5, None, Verdict::Fail));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoWorse {
    /// The models' quotient with the interval of the level that was asked for, whose upper end passes it.
    pub ratio: Ratio,
    /// What the measurements say, where the interval is above the limit and noise could be why.
    pub evidence: Option<Evidence>,
    /// What follows.
    pub verdict: Verdict,
}

/// The model of a series in one experiment.
pub type Measured<'a> = (Side<'a>, &'a Model);

impl Model {
    /// Whether the value at `x` is at most `limit`, as one of several judgements: the upper end of the interval of this level
    /// passes it, and what fails it is certain of all together, whichever of the plausible shapes is right.
    ///
    /// ```
    /// use modeler::verdict::{Together, Verdict};
    /// # use modeler::experiment::{ExperimentBuilder, Metric};
    /// # let mut builder = ExperimentBuilder::new(["p"]);
    /// # let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
    /// # let solve = builder.callpath(["main", "solve"]);
    /// # for (i, p) in [2.0_f64, 4.0, 8.0, 16.0, 32.0].into_iter().enumerate() {
    /// #     let point = builder.point(&[p]);
    /// #     for wave in [0.0, 2.0, 4.0] {
    /// #         builder.add(solve, time, point, p * (1.0 + 0.05 * (7.0 * i as f64 + wave).sin()));
    /// #     }
    /// # }
    /// # let fits = modeler::fit(&builder.finish(), &modeler::Options::default());
    /// let model = &fits.models[0]; // of p seconds, with noise of a few percent
    /// assert_eq!(model.is_at_most(&[32.0], 60.0, 0.9, Together(1)).verdict, Verdict::Pass);
    /// assert_eq!(model.is_at_most(&[32.0], 15.0, 0.9, Together(1)).verdict, Verdict::Fail);
    /// let one = model.is_at_most(&[32.0], 29.0, 0.9, Together(1));
    /// let many = model.is_at_most(&[32.0], 29.0, 0.9, Together(1000));
    /// assert!(many.at_least < one.at_least && many.prediction == one.prediction);
    /// ```
    #[must_use]
    pub fn is_at_most(&self, x: &[f64], limit: f64, level: f64, of: Together) -> Limited {
        let prediction = self.predict(x, level);
        let certain = |x: &[f64]| self.predict(x, of.level()).lower.min(self.least_at(x, of)).max(0.0);
        let at_least = match self.nearest_measured(x) {
            // Shapes that look alike where they were searched go apart beyond: half of the growth, in logarithms, is certain.
            Some(end) => certain(x).min(certain(&end) * (self.at(x) / self.at(&end)).max(0.0).sqrt()),
            None => certain(x),
        };
        let verdict = match at_most(prediction, limit) {
            Verdict::Fail if at_least <= limit * (1.0 + 1e-9) => Verdict::Undecided,
            verdict => verdict,
        };
        Limited { prediction, at_least, verdict }
    }
}

impl Model {
    /// The model whose shape, range and rivals hold at `x`: of the segment there, or this one.
    fn that_holds_at(&self, x: &[f64]) -> &Model {
        self.segment_at(x).unwrap_or(self)
    }

    /// The place of the measured range that is nearest to `x`, where `x` is far beyond it and the shape was searched in noisy data.
    fn nearest_measured(&self, x: &[f64]) -> Option<Vec<f64>> {
        let Self { method, uncertainty: u, .. } = self.that_holds_at(x);
        if !x.iter().zip(&u.range).any(|(x, range)| is_far(*range, *x)) {
            return None;
        }
        let end: Vec<f64> = x.iter().zip(&u.range).map(|(x, (low, high))| x.max(*low).min(*high)).collect();
        (*method == Method::Time && u.noise_level() > 0.0 && end.len() == x.len()).then_some(end)
    }
}

/// Where the growth of the models of an experiment is judged: the measured value of each parameter that is farthest from zero.
///
/// ```
/// use modeler::{ExperimentBuilder, verdict::corner};
/// let mut builder = ExperimentBuilder::new(["t", "n"]);
/// builder.point(&[-20.0, 10.0]);
/// builder.point(&[5.0, 30.0]);
/// assert_eq!(corner(&builder.finish()), [-20.0, 30.0]);
/// ```
#[must_use]
pub fn corner(experiment: &Experiment) -> Vec<f64> {
    let of = |l: usize| experiment.points.iter().map(|x| x[l]).fold(0.0, |far, x| far_end((x, far)));
    (0..experiment.parameters.len()).map(of).collect()
}

/// [`Model::grows_at_most`], where a failure is also seen in the measurements themselves: a shape that noise alone made grow faster
/// is not held against anybody.
///
/// ```
/// use modeler::{compare::Side, model::Growth, verdict::{Together, Verdict, grows_at_most}};
/// # let of = |cost: fn(f64) -> f64| {
/// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
/// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
/// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// #     let fits = modeler::fit(&experiment, &Default::default());
/// #     (experiment, fits)
/// # };
/// let (experiment, fits) = of(|p| 3.0 * p * p);
/// let measured = (Side { experiment: &experiment, fits: &fits }, &fits.models[0]);
/// let power = |exponent: i32| Growth { exponent: exponent.into(), log_exponent: 0 };
/// assert_eq!(grows_at_most(measured, 0, power(1), &[64.0], Together(1)), Verdict::Fail);
/// assert_eq!(grows_at_most(measured, 0, power(2), &[64.0], Together(1)), Verdict::Pass);
/// ```
#[must_use]
pub fn grows_at_most(of: Measured, parameter: usize, bound: Growth, corner: &[f64], all: Together) -> Verdict {
    let (_, model) = of;
    let decided = model.grows_at_most(parameter, bound, corner, all);
    let is_searched = model.method == Method::Time && model.uncertainty.noise_level() > 0.0;
    match decided {
        Verdict::Fail if is_searched && !grows_faster(of, parameter, bound, all.doubt()) => Verdict::Undecided,
        verdict => verdict,
    }
}

/// Whether the new model's value at `x` is at most `1 + tolerance` times the old one's, as one of several judgements: the
/// upper end of the interval of this level passes it. What fails it is its lower end, and where noise could have moved that,
/// the measurements themselves must say so with certainty of all together: at the points that both have, or where there are
/// none, by intervals at the place of both measured ranges that is nearest to `x`. A quotient of models whose shapes effort
/// gave may be certain by its interval alone.
///
/// `x` is in the order of the new experiment's parameters, which are the old one's in any order.
///
/// ```
/// use modeler::{compare::Side, verdict::{Together, Verdict, is_no_worse}};
/// # let of = |cost: fn(f64) -> f64| {
/// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
/// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
/// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// #     let fits = modeler::fit(&experiment, &Default::default());
/// #     (experiment, fits)
/// # };
/// let (new, old) = (of(|p| 21.0 * p), of(|p| 20.0 * p));
/// let [of_new, of_old] = [&new, &old].map(|(experiment, fits)| (Side { experiment, fits }, &fits.models[0]));
/// let judge = |tolerance| is_no_worse(of_new, of_old, &[64.0], tolerance, 0.9, Together(1)).verdict;
/// assert_eq!((judge(0.04), judge(0.06)), (Verdict::Fail, Verdict::Pass)); // 5 % more
/// ```
#[must_use]
pub fn is_no_worse(new: Measured, old: Measured, x: &[f64], tolerance: f64, level: f64, of: Together) -> NoWorse {
    let order: Vec<usize> = {
        let ours = &new.0.experiment.parameters;
        let theirs = old.0.experiment.parameters.iter();
        theirs.filter_map(|name| ours.iter().position(|p| p == name)).collect()
    };
    let in_order = |x: &[f64]| order.iter().map(|&k| x[k]).collect::<Vec<f64>>();
    let ratio = |x: &[f64], level: f64| Ratio::of(new.1.predict(x, level), old.1.predict(&in_order(x), level));
    let asked = ratio(x, level);
    let decided = no_worse(asked, tolerance);
    let noise = |model: &Model| model.uncertainty.noise_level();
    if decided != Verdict::Fail || noise(new.1) + noise(old.1) == 0.0 {
        return NoWorse { ratio: asked, evidence: None, verdict: decided };
    }
    let is_shaped_by_effort = |model: &Model| model.method == Method::Effort;
    let by_effort = is_shaped_by_effort(new.1) && is_shaped_by_effort(old.1);
    // Where either of the two may fail it, each has half of the doubt.
    let of = if by_effort { Together(2 * of.0.max(1)) } else { of };
    if by_effort && no_worse(ratio(x, of.level()), tolerance) == Verdict::Fail {
        return NoWorse { ratio: asked, evidence: None, verdict: Verdict::Fail };
    }
    let evidence = evidence(new, old, x, of.doubt());
    let is_certain = match evidence {
        Some(found) => found.is_above(tolerance),
        None => {
            let ranges = in_order_of(&old.1.uncertainty.range, &order);
            let both = new.1.uncertainty.range.iter().zip(ranges).map(|(a, b)| (a.0.max(b.0), a.1.min(b.1)));
            // Between ranges that have nothing in common both models are guesses.
            let within = |(&value, (low, high)): (&f64, (f64, f64))| (low <= high).then(|| value.min(high).max(low));
            let nearest: Option<Vec<f64>> = x.iter().zip(both).map(within).collect();
            nearest.is_some_and(|nearest| no_worse(ratio(&nearest, of.level()), tolerance) == Verdict::Fail)
        }
    };
    NoWorse { ratio: asked, evidence, verdict: if is_certain { Verdict::Fail } else { Verdict::Undecided } }
}

/// `theirs`, whose entry `i` is of our parameter `order[i]`, in our order.
fn in_order_of(theirs: &[(f64, f64)], order: &[usize]) -> Vec<(f64, f64)> {
    (0..theirs.len()).map(|k| order.iter().position(|&o| o == k).map_or(theirs[k], |i| theirs[i])).collect()
}

/// Why a growth is undecided: another shape that explains the measurements nearly as well and gives the other answer.
///
/// ```
/// use modeler::{model::Growth, verdict::Together};
/// # let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32 64\nREGION solve\nMETRIC time\n".to_owned();
/// # for p in [2.0_f64, 4.0, 8.0, 16.0, 32.0, 64.0] {
/// #     text += &format!("DATA {}\n", 1e-3 * p * p.log2() * (1.0 + 0.3 * (p.log2() * 2.1).sin()));
/// # }
/// # let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?.experiment;
/// # let fits = modeler::fit(&experiment, &Default::default());
/// // Times of p log2(p) that are up to 30 % off, so that p may be their growth, too.
/// let bounds = [0, 1].map(|log_exponent| Growth { exponent: 1.into(), log_exponent });
/// let rival = |bound| fits.models[0].rival_of_growth(0, bound, &[256.0], Together(1));
/// let rival = bounds.into_iter().find_map(rival).expect("one of them is undecided");
/// assert!(rival.weight > 0.0 && rival.weight <= 1.0 && rival.noise > 0.1);
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
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
///
/// ```
/// use modeler::{model::Growth, verdict::Together};
/// # let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32 64\nREGION solve\nMETRIC time\n".to_owned();
/// # for p in [2.0_f64, 4.0, 8.0, 16.0, 32.0, 64.0] {
/// #     text += &format!("DATA {}\n", 1e-3 * p * p.log2() * (1.0 + 0.3 * (p.log2() * 2.1).sin()));
/// # }
/// # let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?.experiment;
/// # let fits = modeler::fit(&experiment, &Default::default());
/// // Times of p log2(p) that are up to 30 % off, so that p may be their growth, too.
/// let bounds = [0, 1].map(|log_exponent| Growth { exponent: 1.into(), log_exponent });
/// let rival = |bound| fits.models[0].rival_of_growth(0, bound, &[256.0], Together(1));
/// let apart = bounds.into_iter().find_map(rival).and_then(|rival| rival.apart).expect("a doubling tells them apart");
/// assert!(apart.at >= 512.0 && apart.runs <= 5);
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
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
    ///
    /// ```
    /// use modeler::{model::Growth, verdict::Together};
    /// # let of = |cost: fn(f64) -> f64| {
    /// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
    /// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
    /// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
    /// #     let fits = modeler::fit(&experiment, &Default::default());
    /// #     (experiment, fits)
    /// # };
    /// let (_, fits) = of(|p| 3.0 * p * p);
    /// let linear = Growth { exponent: 1.into(), log_exponent: 0 };
    /// // Counts have no noise, so nothing leaves their growth undecided.
    /// assert_eq!(fits.models[0].rival_of_growth(0, linear, &[64.0], Together(1)), None);
    /// ```
    #[must_use]
    pub fn rival_of_growth(&self, parameter: usize, bound: Growth, corner: &[f64], of: Together) -> Option<Rival> {
        let key = |growth: Growth| (growth.exponent, growth.log_exponent);
        let complies = |growth: Growth| key(growth) <= key(bound);
        let own = complies(self.growth[parameter]);
        let least = if own { PLAUSIBLE } else { of.plausible() };
        let rivals = self.uncertainty.rivals.iter().filter(|rival| rival.0 >= least);
        let others = rivals.map(|rival| (rival, leading(rival.1, &rival.2, parameter, corner)));
        let ((weight, constant, terms), growth) =
            others.filter(|(_, growth)| complies(*growth) != own).max_by(|(a, _), (b, _)| a.0.total_cmp(&b.0))?;
        let noise = self.uncertainty.noise_level();
        let apart = |doubling: i32| {
            let mut x = corner.to_vec();
            x[parameter] *= 2_f64.powi(doubling);
            let ratio = value_at(*constant, terms, &x) / self.at(&x);
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
    /// that explain them nearly as well must agree, or else it is undecided; the more judgements it is one of, the less
    /// probable a shape may be that keeps it from failing.
    ///
    /// ```
    /// use modeler::{model::Growth, verdict::{Together, Verdict}};
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
    /// assert_eq!(model.grows_at_most(0, linear, &[1024.0], Together(60)), Verdict::Fail);
    /// assert_eq!(model.grows_at_most(0, quadratic, &[1024.0], Together(60)), Verdict::Pass);
    /// ```
    #[must_use]
    pub fn grows_at_most(&self, parameter: usize, bound: Growth, corner: &[f64], of: Together) -> Verdict {
        let key = |growth: Growth| (growth.exponent, growth.log_exponent);
        let complies = |growth: Growth| key(growth) <= key(bound);
        let decided = match complies(self.growth[parameter]) {
            true => Verdict::Pass,
            false => Verdict::Fail,
        };
        self.rival_of_growth(parameter, bound, corner, of).map_or(decided, |_| Verdict::Undecided)
    }

    /// The least that the model, or a shape that explains the measurements as well or nearly so, has at `x`: what many judgements together
    /// are sure of where intervals are too narrow, which is far beyond the measurements.
    #[must_use]
    pub(crate) fn least_at(&self, x: &[f64], of: Together) -> f64 {
        self.that_holds_at(x).span_at(x).0.min(self.least_of_rivals_at(x, of))
    }

    /// [`Self::least_at`] of shapes that measurements might tell apart, whose growth may be another one.
    #[must_use]
    pub(crate) fn least_of_rivals_at(&self, x: &[f64], of: Together) -> f64 {
        let rivals = self.that_holds_at(x).uncertainty.rivals.iter().filter(|rival| rival.0 >= of.plausible());
        rivals.map(|(_, constant, terms)| value_at(*constant, terms, x)).fold(self.at(x), f64::min)
    }
}

/// Leading growth in one parameter of a constant and terms.
fn leading(constant: f64, terms: &[Term], parameter: usize, corner: &[f64]) -> Growth {
    let still = Growth { exponent: 0.into(), log_exponent: 0 };
    let total = value_at(constant, terms, corner).abs();
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

    const ONE: Together = Together(1);

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
        assert_eq!(model.grows_at_most(0, bound(1, 1), &[256.0], ONE), Verdict::Pass);
        assert_eq!(model.grows_at_most(0, bound(2, 0), &[256.0], ONE), Verdict::Pass);
        assert_eq!(model.grows_at_most(0, bound(1, 0), &[256.0], ONE), Verdict::Fail);
    }

    #[test]
    fn what_rounding_leaves_of_a_line_is_no_rival_however_far_away() {
        // Nine decimals of seconds: the smallest value is exact to 2e-7 of itself.
        let model = model("time", |p| (1.234_567_891e-3 * p * 1e9).round() * 1e-9);
        assert_eq!(model.grows_at_most(0, bound(1, 0), &[1e12], ONE), Verdict::Pass, "{:?}", model.runners_up);
        assert_eq!(model.grows_at_most(0, bound(0, 1), &[1e12], ONE), Verdict::Fail);
        let rivals = &model.uncertainty.rivals;
        assert!(rivals.iter().all(|(_, _, terms)| leading(0.0, terms, 0, &[1e12]) == bound(1, 0)), "{rivals:?}");
    }

    #[test]
    fn noise_leaves_neighbouring_shapes_undecided_and_distant_ones_not() {
        // p log2(p) with alternating errors of 30 %: p and p^(5/4) explain it as well.
        let model = model("time", |p| 1e-3 * p * p.log2() * (1.0 + 0.3 * (p.log2() * 2.1).sin()));
        assert_eq!(model.grows_at_most(0, bound(3, 0), &[256.0], ONE), Verdict::Pass);
        assert_eq!(model.grows_at_most(0, bound(0, 0), &[256.0], ONE), Verdict::Fail);
        let near: Vec<Verdict> =
            [bound(1, 0), bound(1, 1)].map(|b| model.grows_at_most(0, b, &[256.0], ONE)).into_iter().collect();
        assert!(near.contains(&Verdict::Undecided), "{near:?} {:?}", model.growth);
        let mut told = 0;
        for (bound, verdict) in [bound(1, 0), bound(1, 1)].into_iter().zip(near) {
            let rival = model.rival_of_growth(0, bound, &[256.0], ONE);
            assert_eq!(rival.is_some(), verdict == Verdict::Undecided);
            let Some(rival) = rival else { continue };
            let complies = |g: Growth| (g.exponent, g.log_exponent) <= (bound.exponent, bound.log_exponent);
            assert_ne!(complies(rival.growth), complies(model.growth[0]), "the rival gives the other answer");
            assert!(rival.weight >= 0.05 && rival.noise > 0.1, "{rival:?}");
            let Apart { at, off, runs } = rival.apart.expect("such shapes are told apart within a few doublings");
            assert!(at >= 512.0 && (at / 256.0).log2().fract() == 0.0, "{rival:?}");
            // Nearer to one the ratio's logarithm is its distance from one; five runs halve the noise at least.
            assert!(
                off.max((1.0 - off.min(0.99)).ln().abs()) * f64::from(runs).sqrt() >= 3.0 * rival.noise,
                "{rival:?}"
            );
            told += 1;
        }
        assert!(told > 0, "some shape is near");
    }

    #[test]
    fn shapes_that_both_give_nothing_are_nowhere_apart() {
        let mut model = model("time", |p| 1e-3 * p * (1.0 + 0.1 * (p.log2() * 2.1).sin()));
        assert_eq!(model.growth[0], bound(1, 0));
        (model.constant, model.terms, model.uncertainty.rivals) = (0.0, Vec::new(), vec![(0.5, 0.0, Vec::new())]);
        let rival = model.rival_of_growth(0, bound(0, 0), &[256.0], ONE).expect("a shape without growth");
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
