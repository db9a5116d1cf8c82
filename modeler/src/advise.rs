//! Which points to measure next: what a run would do to the prediction at a target, per core-hour that it costs.
//!
//! A fit knows the covariance of its coefficients and the functions that explain the measurements nearly as well
//! ([`crate::model::Model::predict`] makes its intervals of both). One more measurement with relative noise σ at a point
//! where the coefficients enter as g changes the covariance C to C - C g gᵀ C / (σ² + gᵀ C g), the update of linear
//! least squares (Plackett, Biometrika 37, 1950), whatever its value will be. A rival function that is off by d there
//! keeps exp(-d²/2σ²) of its weight if the model is right. So what a run is worth is known before it is paid for.
//!
//! Where effort gave the shape, every summand that it allows is open, also those that the fit left out or took together because
//! the runs so far do not tell them apart: at the target they may.

use std::collections::{HashMap, HashSet};

use crate::callees::Callees;
use crate::experiment::{CallPathId, Experiment, MetricId};
use crate::fit::Fits;
use crate::model::{Method, Model, Term};

/// What advice is asked for.
///
/// ```
/// use modeler::advise::{AdviseOptions, End, advise};
/// # let text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC time\nDATA 2.1\nDATA 3.9\nDATA 8.3\nDATA 15.8\nDATA 32.5\n";
/// # let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// # let fits = modeler::fit(&experiment, &Default::default());
/// let options = AdviseOptions {
///     target: vec![256.0],
///     ranks: Some(0), // p is the number of cores
///     budget: None,
///     level: 0.9,
///     tolerance: 0.001,
///     steps: 1,
///     each: false,
/// };
/// // As wide as it is will do: nothing more is needed.
/// let options = AdviseOptions { tolerance: 10.0, ..options };
/// assert_eq!(advise(&experiment, &fits, &options).map(|advice| (advice.steps.len(), advice.end)), Some((0, End::Enough)));
/// ```
#[derive(Clone, Debug)]
pub struct AdviseOptions {
    /// Where the prediction matters, one coordinate per parameter.
    pub target: Vec<f64>,
    /// Index of the parameter that is the number of cores of a run; `None` for one core.
    pub ranks: Option<usize>,
    /// Core-hours that may be spent in all; `None` for no limit.
    pub budget: Option<f64>,
    /// Nominal probability of the interval.
    pub level: f64,
    /// Half the interval's width over the prediction, without the noise of a single run, from which on more is not needed.
    pub tolerance: f64,
    /// Steps of the plan, at most.
    pub steps: usize,
    /// Whether the predictions of call paths count, each alike, instead of that of the whole program. Call paths that take
    /// less than a thousandth of the time at the target do not.
    pub each: bool,
}

/// A run to add.
///
/// ```
/// use modeler::advise::{AdviseOptions, advise};
/// # let text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC time\nDATA 2.1\nDATA 3.9\nDATA 8.3\nDATA 15.8\nDATA 32.5\n";
/// # let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// # let fits = modeler::fit(&experiment, &Default::default());
/// let options = AdviseOptions {
///     target: vec![256.0],
///     ranks: Some(0), // p is the number of cores
///     budget: None,
///     level: 0.9,
///     tolerance: 0.001,
///     steps: 1,
///     each: false,
/// };
/// let advice = advise(&experiment, &fits, &options).expect("a time was modelled");
/// let step = &advice.steps[0];
/// assert!(step.after < advice.before); // narrower than before
/// assert!((step.core_hours - step.seconds * step.at[0] / 3600.0).abs() <= 1e-12 * step.core_hours); // p cores
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its point.
    pub at: Vec<f64>,
    /// Whether the point was measured before, so that this is a repetition.
    pub is_repetition: bool,
    /// Predicted time of the run in seconds.
    pub seconds: f64,
    /// What it costs: seconds times cores, in core-hours.
    pub core_hours: f64,
    /// Half the interval's relative width at the target after this step and all before it.
    pub after: f64,
    /// By how much this step alone narrows that, per core-hour.
    pub gain_per_core_hour: f64,
}

/// Why a plan ends.
///
/// ```
/// use modeler::advise::{AdviseOptions, End, advise};
/// # let text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC time\nDATA 2.1\nDATA 3.9\nDATA 8.3\nDATA 15.8\nDATA 32.5\n";
/// # let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// # let fits = modeler::fit(&experiment, &Default::default());
/// let options = AdviseOptions {
///     target: vec![256.0],
///     ranks: Some(0), // p is the number of cores
///     budget: None,
///     level: 0.9,
///     tolerance: 0.001,
///     steps: 1,
///     each: false,
/// };
/// let ends = |options: &AdviseOptions| advise(&experiment, &fits, options).map(|advice| advice.end);
/// assert_eq!(ends(&options), Some(End::Steps)); // after the one step that was asked for
/// assert_eq!(ends(&AdviseOptions { budget: Some(1e-9), ..options }), Some(End::Budget));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The prediction is as narrow as asked: enough.
    Enough,
    /// No candidate narrows it by a noteworthy part, or what is left comes of models that miss the measured points.
    NothingHelps,
    /// What would help costs more than is left.
    Budget,
    /// The plan has as many steps as asked.
    Steps,
}

/// What to measure next.
///
/// ```
/// use modeler::advise::{AdviseOptions, advise};
/// # let text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC time\nDATA 2.1\nDATA 3.9\nDATA 8.3\nDATA 15.8\nDATA 32.5\n";
/// # let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// # let fits = modeler::fit(&experiment, &Default::default());
/// let options = AdviseOptions {
///     target: vec![256.0],
///     ranks: Some(0), // p is the number of cores
///     budget: None,
///     level: 0.9,
///     tolerance: 0.001,
///     steps: 1,
///     each: false,
/// };
/// let advice = advise(&experiment, &fits, &options).expect("a time was modelled");
/// assert_eq!(advice.seconds, fits.models[0].at(&[256.0]));
/// assert!((advice.target_core_hours - advice.seconds * 256.0 / 3600.0).abs() < 1e-9); // 256 cores
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// Predicted time of the whole program at the target in seconds.
    pub seconds: f64,
    /// Half the interval's relative width there now, without the noise of a single run, every summand that the shapes allow left
    /// open. Where call paths count, this and all other widths are means over them.
    pub before: f64,
    /// Relative noise of a single run there.
    pub noise: f64,
    /// The part of `before` that comes of models that miss the measured points by more than noise explains. More runs at
    /// such points do not lessen it: the function is wrong, or the call path does what no function here describes.
    pub misfit: f64,
    /// What one run at the target itself would cost, in core-hours.
    pub target_core_hours: f64,
    /// Runs to add, in this order.
    pub steps: Vec<Step>,
    /// Why there are no more.
    pub end: End,
    /// The cheapest of the candidates that would help and were too expensive, where the plan ended at the budget.
    pub too_expensive: Option<Step>,
}

/// Least part of the interval, without what models miss, that a run must take off; what takes less only costs. Of a thousand runs
/// alike each takes off half of a thousandth: with much noise hundreds are worth their cost.
const NOTEWORTHY: f64 = 0.001;
/// Runs at a cheap point that are weighed together against the one run that helps most, as many as cost the same. A single one
/// would come first although it helps next to nothing, and of very many what the models miss would be left.
const MOST_TOGETHER: f64 = 16.0;
/// What a summand's part of the time at the target may be off by, before any run: standard deviation, relative to the whole. On
/// simulated programs 0.1 and 0.3 advise runs of which models are equally accurate, and 1 such of which they are less.
const UNKNOWN: f64 = 0.2;
/// Runs are taken to disturb each other's measurement by at least this, whatever the fit says.
const LEAST_NOISE: f64 = 0.005;

/// Terms that share a coefficient, and what they are multiplied by to be in its unit.
type Summand<'a> = (&'a [Term], f64);

/// What is known of one call path, and how more measurements change it.
#[derive(Clone)]
struct Knowledge<'a> {
    model: &'a Model,
    /// The model of the effort that gave the shape.
    effort: Option<&'a Model>,
    summands: Vec<Summand<'a>>,
    /// Of the summands' coefficients, row by row.
    covariance: Vec<f64>,
    /// Weights of the rivals of the model, where its summands are not open, and of its effort's model.
    weights: [Vec<f64>; 2],
    noise: f64,
    /// Whether its time is one of those that add up to the whole program's.
    is_part: bool,
}

impl<'a> Knowledge<'a> {
    fn of(model: &'a Model, fits: &'a Fits, experiment: &Experiment, target: &[f64]) -> Self {
        let is_effort = |m: &&Model| m.callpath == model.callpath && Some(m.metric) == model.effort_metric;
        let effort = fits.models.iter().find(is_effort).filter(|_| model.method == Method::Effort);
        let weights =
            [Some(model), effort].map(|m| m.map_or(Vec::new(), |m| m.uncertainty.rivals.iter().map(|r| r.0).collect()));
        let noise = model.uncertainty.noise_level().max(LEAST_NOISE);
        let summands = model.uncertainty.basis.iter().map(|terms| (terms.as_slice(), 1.0)).collect();
        let covariance = model.uncertainty.covariance.clone();
        let fitted = Self { model, effort, summands, covariance, weights, noise, is_part: true };
        fitted.left_open(experiment, target).unwrap_or(fitted)
    }

    /// The same with every summand open: what is believed of each before any run, and then of the measurements. `None` where effort
    /// gave no shape, and where behaviour changes, since the shape is that of one side then.
    fn left_open(&self, experiment: &Experiment, target: &[f64]) -> Option<Self> {
        let in_parts = |terms: &'a Vec<Term>| (terms.as_slice(), self.model.at(target) / sum(terms, target));
        let summands = self.model.uncertainty.open.iter().map(in_parts);
        let summands: Vec<Summand> = summands.filter(|(_, scale)| scale.is_finite() && *scale > 0.0).collect();
        let series = experiment
            .series_of(self.model.callpath, self.model.metric)
            .filter(|_| !summands.is_empty() && self.model.segments.is_empty())?;
        let k = summands.len();
        let covariance = (0..k * k).map(|i| if i % (k + 1) == 0 { UNKNOWN * UNKNOWN } else { 0.0 }).collect();
        let weights = [Vec::new(), self.weights[1].clone()];
        let mut known = Self { summands, covariance, weights, ..self.clone() };
        let is_usable = |seconds: &&f64| seconds.is_finite() && **seconds >= 0.0;
        for (x, runs) in experiment.measurements(series) {
            known = known.after(x, runs.iter().filter(is_usable).count() as f64);
        }
        // The effort's rivals are weighed by these measurements already.
        known.weights[1].clone_from(&self.weights[1]);
        // With much noise the beliefs say more than the measurements; no more is known for that than the fit knows.
        let lacks = self.variance(target) - known.variance(target);
        let of_coefficients = known.of_coefficients(target);
        if lacks > 0.0 && of_coefficients > 0.0 {
            known.covariance.iter_mut().for_each(|c| *c *= 1.0 + lacks / of_coefficients);
        }
        Some(known)
    }

    /// How the coefficients enter at `x`, relative to the value there.
    fn gradient(&self, x: &[f64]) -> Vec<f64> {
        let value = self.model.at(x);
        let of = |(terms, scale): &Summand| scale * sum(terms, x) / value;
        if value > 0.0 { self.summands.iter().map(of).collect() } else { Vec::new() }
    }

    /// The covariance times `g`.
    fn times(&self, g: &[f64]) -> Vec<f64> {
        let k = g.len();
        (0..k).map(|i| (0..k).map(|j| self.covariance[i * k + j] * g[j]).sum()).collect()
    }

    /// Relative variance of the undisturbed value at `x`, from coefficients, shapes and what no shape describes.
    fn variance(&self, x: &[f64]) -> f64 {
        let shapes: f64 = self.rivals().map(|(model, weights)| disagreement(model, weights, x)).sum();
        self.of_coefficients(x) + shapes + self.model.uncertainty.misfit.powi(2)
    }

    /// The part of it that comes from coefficients.
    fn of_coefficients(&self, x: &[f64]) -> f64 {
        let g = self.gradient(x);
        let sum: f64 = g.iter().zip(self.times(&g)).map(|(a, b)| a * b).sum();
        sum.max(0.0)
    }

    /// The model and its effort's, with the weights of their rivals.
    fn rivals(&self) -> impl Iterator<Item = (&'a Model, &Vec<f64>)> {
        [Some(self.model), self.effort].into_iter().zip(&self.weights).filter_map(|(m, w)| Some((m?, w)))
    }

    /// The same after so many more measurements at `x`.
    fn after(&self, x: &[f64], runs: f64) -> Self {
        let mut next = self.clone();
        let g = self.gradient(x);
        let cg = self.times(&g);
        let known = self.noise.powi(2) / runs + g.iter().zip(&cg).map(|(a, b)| a * b).sum::<f64>();
        for (i, a) in cg.iter().enumerate() {
            for (j, b) in cg.iter().enumerate() {
                next.covariance[i * cg.len() + j] -= a * b / known;
            }
        }
        for ((model, _), (which, weights)) in self.rivals().zip(next.weights.iter_mut().enumerate()) {
            // Effort has no noise beyond that of counting.
            let noise = if which == 0 { self.noise } else { LEAST_NOISE };
            for (weight, d) in weights.iter_mut().zip(deviations(model, x)) {
                *weight *= (-0.5 * runs * (d / noise).powi(2)).exp();
            }
        }
        next
    }
}

/// The value of the terms at `x`.
fn sum(terms: &[Term], x: &[f64]) -> f64 {
    terms.iter().map(|t| t.at(x)).sum()
}

/// By how much each rival is off the model at `x`, relative to the model.
fn deviations(model: &Model, x: &[f64]) -> Vec<f64> {
    let value = model.at(x);
    let off = |(_, constant, terms): &(f64, f64, Vec<Term>)| {
        let rival = constant + sum(terms, x);
        if value > 0.0 { (rival / value - 1.0).clamp(-10.0, 10.0) } else { 0.0 }
    };
    model.uncertainty.rivals.iter().map(off).collect()
}

/// Relative variance of the value at `x` over the shapes, the model itself with a weight of one.
fn disagreement(model: &Model, weights: &[f64], x: &[f64]) -> f64 {
    let sum: f64 = deviations(model, x).iter().zip(weights).map(|(d, w)| w * d * d).sum();
    sum / (1.0 + weights.iter().sum::<f64>())
}

/// Part of the time at the target from which on a call path counts by itself, or a tenth of the mean part if that is less.
const LEAST_SHARE: f64 = 0.001;

/// What is known of the whole program: the sum of the times of its parts.
#[derive(Clone)]
struct Program<'a> {
    paths: Vec<Knowledge<'a>>,
    /// Whether call paths count each by itself.
    each: bool,
}

impl Program<'_> {
    fn seconds(&self, x: &[f64]) -> f64 {
        self.paths.iter().filter(|k| k.is_part).map(|k| k.model.at(x).max(0.0)).sum()
    }

    /// Of relative variances of call paths at `x`: the standard error of their sum over the sum, since they err independently
    /// of each other; or where each counts by itself the mean of their relative standard errors.
    fn combined(&self, x: &[f64], variance: impl Fn(&Knowledge) -> f64) -> f64 {
        let total = self.seconds(x);
        if total <= 0.0 {
            return 0.0;
        }
        let shared = self.paths.iter().map(|k| (k, k.model.at(x).max(0.0) / total));
        if self.each {
            // Of very many call paths none may have such a share; then they count that have a typical one.
            let least = LEAST_SHARE.min(0.1 / self.paths.len() as f64);
            let counted: Vec<f64> =
                shared.filter(|(_, share)| *share >= least).map(|(k, _)| variance(k).sqrt()).collect();
            return counted.iter().sum::<f64>() / counted.len().max(1) as f64;
        }
        shared.map(|(k, share)| share.powi(2) * variance(k)).sum::<f64>().sqrt()
    }

    /// Relative standard error at `x`.
    fn error(&self, x: &[f64]) -> f64 {
        self.combined(x, |k| k.variance(x))
    }

    /// The part of [`Self::error`] that comes of models that miss what was measured.
    fn misfit(&self, x: &[f64]) -> f64 {
        self.combined(x, |k| k.model.uncertainty.misfit.powi(2))
    }

    /// What [`Self::error`] would be without that: the part that more runs lessen.
    fn uncertainty(&self, x: &[f64]) -> f64 {
        self.combined(x, |k| k.variance(x) - k.model.uncertainty.misfit.powi(2))
    }

    fn after(&self, x: &[f64], runs: f64) -> Self {
        Self { paths: self.paths.iter().map(|k| k.after(x, runs)).collect(), each: self.each }
    }

    fn noise(&self, x: &[f64]) -> f64 {
        self.combined(x, |k| k.noise.powi(2))
    }
}

/// The runs that are worth most at the target per core-hour, one after the other, each knowing those before it.
///
/// `None` where no time was modelled.
///
/// ```
/// use modeler::experiment::{ExperimentBuilder, Metric};
/// use modeler::{Options, advise::{AdviseOptions, advise}, fit};
///
/// let mut builder = ExperimentBuilder::new(["p"]);
/// let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
/// let solve = builder.callpath(["main", "solve"]);
/// for (p, seconds) in [(2.0, 2.1), (4.0, 3.9), (8.0, 8.3), (16.0, 15.8), (32.0, 32.5)] {
///     let point = builder.point(&[p]);
///     builder.add(solve, time, point, seconds);
/// }
/// let experiment = builder.finish();
/// let fits = fit(&experiment, &Options::default());
/// let options = AdviseOptions {
///     target: vec![256.0],
///     ranks: Some(0),
///     budget: None,
///     level: 0.9,
///     tolerance: 0.01,
///     steps: 2,
///     each: false,
/// };
/// let advice = advise(&experiment, &fits, &options).expect("a time was modelled");
/// assert!(advice.seconds > 100.0 && advice.before > 0.0);
/// assert!(advice.steps.len() <= 2);
/// ```
#[must_use]
pub fn advise(experiment: &Experiment, fits: &Fits, options: &AdviseOptions) -> Option<Advice> {
    let time = time_of(experiment, fits)?;
    let timed = || fits.models.iter().filter(|m| m.metric == time);
    let at_target: HashMap<CallPathId, f64> = timed().map(|m| (m.callpath, m.at(&options.target).max(0.0))).collect();
    let value = |id: CallPathId| at_target.get(&id).copied().unwrap_or(0.0);
    let parts: HashSet<CallPathId> = Callees::of(experiment, time).parts_by(experiment, value).into_iter().collect();
    // What lies in another call path's time is of interest only where each counts by itself.
    let paths: Vec<Knowledge> = timed()
        .filter(|m| options.each || parts.contains(&m.callpath))
        .map(|m| Knowledge {
            is_part: parts.contains(&m.callpath),
            ..Knowledge::of(m, fits, experiment, &options.target)
        })
        .collect();
    let program = Program { paths, each: options.each };
    let target = &options.target;
    // The interval at this level is so many standard errors wide on each side.
    let width = normal_quantile(0.5 + 0.5 * options.level);
    let cores = |x: &[f64]| options.ranks.map_or(1.0, |l| x[l]);
    let price = |x: &[f64]| program.seconds(x) * cores(x) / 3600.0;
    let candidates = candidates(experiment, target);
    let mut advice = Advice {
        seconds: program.seconds(target),
        before: width * program.error(target),
        noise: program.noise(target),
        misfit: width * program.misfit(target),
        target_core_hours: price(target),
        steps: Vec::new(),
        end: End::Steps,
        too_expensive: None,
    };
    let (mut known, mut error, mut spent) = (program.clone(), advice.before, 0.0);
    while advice.steps.len() < options.steps {
        let uncertainty = width * known.uncertainty(target);
        if uncertainty <= options.tolerance {
            advice.end = if error <= options.tolerance { End::Enough } else { End::NothingHelps };
            return Some(advice);
        }
        let step = |(at, was_measured): &(Vec<f64>, bool)| {
            let next = known.after(at, 1.0);
            let (after, core_hours) = (width * next.error(target), price(at));
            let step = Step {
                at: at.clone(),
                is_repetition: *was_measured || advice.steps.iter().any(|s| s.at == *at),
                seconds: program.seconds(at),
                core_hours,
                after,
                gain_per_core_hour: (error - after) / core_hours.max(1e-12),
            };
            // What models miss hides what a run is worth, but is no reason not to make it.
            (uncertainty - width * next.uncertainty(target), step)
        };
        let is_noteworthy = |(gain, _): &(f64, Step)| *gain > NOTEWORTHY * uncertainty;
        let left = options.budget.map_or(f64::INFINITY, |budget| budget - spent);
        let (affordable, too_expensive): (Vec<_>, Vec<_>) =
            candidates.iter().map(step).filter(is_noteworthy).partition(|(_, s)| s.core_hours <= left);
        let most_helpful = affordable.iter().max_by(|a, b| a.0.total_cmp(&b.0));
        let cost = most_helpful.map_or(0.0, |(_, step)| step.core_hours);
        let worth = |step: &Step| {
            let runs = (cost / step.core_hours.max(1e-12)).clamp(1.0, MOST_TOGETHER);
            let gain = uncertainty - width * known.after(&step.at, runs).uncertainty(target);
            gain / (runs * step.core_hours).max(1e-12)
        };
        // Of equals the first, which is the smallest point.
        let weighed = affordable.iter().rev().map(|(_, step)| (worth(step), step));
        let Some((_, best)) = weighed.max_by(|a, b| a.0.total_cmp(&b.0)) else {
            let steps = too_expensive.into_iter().map(|(_, step)| step);
            advice.too_expensive = steps.min_by(|a, b| a.core_hours.total_cmp(&b.core_hours));
            advice.end = if advice.too_expensive.is_some() { End::Budget } else { End::NothingHelps };
            return Some(advice);
        };
        known = known.after(&best.at, 1.0);
        (error, spent) = (best.after, spent + best.core_hours);
        advice.steps.push(best.clone());
    }
    if error <= options.tolerance {
        advice.end = End::Enough;
    }
    Some(advice)
}

/// The metric in which runs are priced: the time, or where none is called so the first that is measured in seconds.
pub(crate) fn time_of(experiment: &Experiment, fits: &Fits) -> Option<MetricId> {
    let modelled = || fits.models.iter().map(|m| m.metric);
    let metric = |id: MetricId| &experiment.metrics[id as usize];
    let named = modelled().find(|&id| metric(id).name == "time");
    named.or_else(|| modelled().filter(|&id| metric(id).unit == "s").min())
}

/// So many combinations are looked at one by one; each step of a plan weighs all of them for every call path.
const MOST_CANDIDATES: f64 = 1000.0;

/// Points that could be measured, ascending, and whether they were: all combinations of the measured values and of
/// those that continue each parameter's values up to the target's. Where these are too many, as of four parameters, the
/// measured points and those of a first design over the same values.
fn candidates(experiment: &Experiment, target: &[f64]) -> Vec<(Vec<f64>, bool)> {
    let axes: Vec<Vec<f64>> = (0..target.len()).map(|l| axis(experiment, l, target[l])).collect();
    let combinations: f64 = axes.iter().map(|axis| axis.len() as f64).product();
    let mut points = if combinations <= MOST_CANDIDATES {
        product(&axes)
    } else {
        experiment.points.iter().cloned().chain(first_design(&axes)).collect()
    };
    points.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    points.dedup();
    let is_measured = |at: &Vec<f64>| experiment.points.contains(at);
    let others = points.into_iter().filter(|at| at.as_slice() != target);
    others.map(|at| (is_measured(&at), at)).map(|(m, at)| (at, m)).collect()
}

/// The measured values of parameter `l`, and those that go on as they do while they stay below the target.
fn axis(experiment: &Experiment, l: usize, target: f64) -> Vec<f64> {
    let mut values: Vec<f64> = experiment.points.iter().map(|point| point[l]).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let measured = values.len();
    let family = Family::of(&values);
    while let [.., a, b] = values[..] {
        let next = family.next(a, b);
        if !(next <= target && values.len() < measured + 4) {
            break;
        }
        values.push(next);
    }
    values
}

/// What the values of a parameter have in common, which those to measure next should share: a program may run on cubes alone.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Family {
    /// A constant factor.
    Geometric,
    /// Powers of two to so many, some of them left out: 64 and 4096 are squares and cubes, and what follows is both, too.
    PowersOfTwo(i32),
    /// Cubes or squares of whole numbers.
    Powers(i32),
    /// Anything else: the last step goes on.
    Steps,
}

impl Family {
    /// The family of `values`, which ascend and are different.
    fn of(values: &[f64]) -> Self {
        let factor = |pair: &[f64]| pair[1] / pair[0];
        let all = |is_one: &dyn Fn(f64) -> bool| values.iter().all(|&x| x >= 1.0 && is_one(x));
        if values.len() < 3 {
            return Self::Steps;
        }
        if values.windows(2).all(|pair| (factor(pair) / factor(values) - 1.0).abs() < 1e-9) {
            return Self::Geometric;
        }
        if all(&|x| x.log2().fract() == 0.0) {
            let is_step = |step: &i32| values.iter().all(|x| x.log2() % f64::from(*step) == 0.0);
            return Self::PowersOfTwo([6, 3, 2].into_iter().find(is_step).unwrap_or(1));
        }
        let is_power = |power: i32| move |x: f64| root(x, power).powi(power) == x;
        [3, 2].into_iter().find(|&power| all(&is_power(power))).map_or(Self::Steps, Self::Powers)
    }

    /// What comes after `a` and `b`, the last two.
    fn next(self, a: f64, b: f64) -> f64 {
        let next = match self {
            Self::Geometric => b * b / a,
            Self::PowersOfTwo(step) => b * 2.0_f64.powi(step),
            Self::Powers(power) => (2.0 * root(b, power) - root(a, power)).powi(power),
            Self::Steps => b + (b - a),
        };
        // Steps of 0.1 do not add up to tenths; whole numbers are exact.
        if next.fract() == 0.0 { next } else { format!("{next:.11e}").parse().unwrap_or(next) }
    }
}

/// The whole number nearest to this root of `x`.
fn root(x: f64, power: i32) -> f64 {
    x.powf(1.0 / f64::from(power)).round()
}

/// All combinations, the last parameter varying fastest.
fn product(axes: &[Vec<f64>]) -> Vec<Vec<f64>> {
    axes.iter().fold(vec![Vec::new()], |points, axis| {
        points.iter().flat_map(|p| axis.iter().map(move |&x| [p.as_slice(), &[x]].concat())).collect()
    })
}

/// The quantile of the standard normal distribution, by bisection of its distribution function.
fn normal_quantile(q: f64) -> f64 {
    let (mut low, mut high) = (0.0, 10.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if crate::noise::normal_distribution(middle) < q { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// A first set of points for `axes`, the ascending values that each parameter may take: a line along each parameter, with
/// the others at their smallest values, and for each pair of parameters a few points in which both grow.
///
/// With effort beside the times this is enough for the shape: the lines tell each parameter's growth, and the pairs
/// whether growths add or multiply. It has far fewer points than all combinations, and none of the expensive ones.
///
/// ```
/// let points = modeler::advise::first_design(&[vec![2.0, 4.0, 8.0], vec![10.0, 20.0, 40.0]]);
/// for on_a_line in [[2.0, 10.0], [4.0, 10.0], [8.0, 10.0], [2.0, 20.0], [2.0, 40.0]] {
///     assert!(points.contains(&on_a_line.to_vec()));
/// }
/// assert!(points.len() < 9 && points.iter().any(|x| x[0] > 2.0 && x[1] > 10.0));
/// ```
#[must_use]
pub fn first_design(axes: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let smallest: Vec<f64> = axes.iter().map(|axis| axis[0]).collect();
    let mut points = vec![smallest.clone()];
    for (l, axis) in axes.iter().enumerate() {
        points.extend(axis[1..].iter().map(|&x| with(&smallest, &[(l, x)])));
    }
    for a in 0..axes.len() {
        for b in a + 1..axes.len() {
            let steps = axes[a].len().min(axes[b].len());
            points.extend((1..steps.min(PAIRED + 1)).map(|i| with(&smallest, &[(a, axes[a][i]), (b, axes[b][i])])));
        }
    }
    points.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    points.dedup();
    points
}

/// Points in which a pair of parameters grows.
const PAIRED: usize = 3;

fn with(point: &[f64], changes: &[(usize, f64)]) -> Vec<f64> {
    let mut changed = point.to_vec();
    changes.iter().for_each(|&(l, x)| changed[l] = x);
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{ExperimentBuilder, Metric};
    use crate::{MethodChoice, Options, fit};

    /// Times 2 + 0.01 n p^(1/2) with a fixed pattern of noise of about `noise`, measured at the first `count` values of p
    /// and n.
    fn experiment(count: usize, noise: f64) -> Experiment {
        let mut builder = ExperimentBuilder::new(["p", "n"]);
        let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
        let solve = builder.callpath(["main", "solve"]);
        for (i, p) in [4.0, 8.0, 16.0, 32.0, 64.0].into_iter().take(count).enumerate() {
            for (j, n) in [100.0, 200.0, 300.0, 400.0, 500.0].into_iter().take(count).enumerate() {
                let point = builder.point(&[p, n]);
                let k = 5 * i + j;
                // From -1 to 1, and never smooth along a line of points.
                let drawn = ((7 * k * k + 3 * k) % 23) as f64 / 11.0 - 1.0;
                builder.add(solve, time, point, (2.0 + 0.01 * n * p.sqrt()) * (1.0 + noise * drawn));
            }
        }
        builder.finish()
    }

    fn options(budget: Option<f64>, tolerance: f64) -> AdviseOptions {
        AdviseOptions {
            target: vec![256.0, 1000.0],
            ranks: Some(0),
            budget,
            level: 0.9,
            tolerance,
            steps: 5,
            each: false,
        }
    }

    fn advice(noise: f64, budget: Option<f64>, tolerance: f64) -> Advice {
        let experiment = experiment(5, noise);
        let fits = fit(&experiment, &Options { method: MethodChoice::Time, ..Options::default() });
        advise(&experiment, &fits, &options(budget, tolerance)).unwrap()
    }

    #[test]
    fn call_paths_that_count_each_alike_are_as_wide_as_the_mean_of_them() {
        let mut builder = ExperimentBuilder::new(["p"]);
        let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
        let paths = ["large", "small", "tiny"].map(|name| builder.callpath(["main", name]));
        for (i, p) in [2.0, 4.0, 8.0, 16.0, 32.0, 64.0].into_iter().enumerate() {
            let point = builder.point(&[p]);
            let wave = |k: f64| (k * i as f64).sin();
            builder.add(paths[0], time, point, 10.0 * p * (1.0 + 0.01 * wave(2.1)));
            builder.add(paths[1], time, point, 0.2 * p * (1.0 + 0.2 * wave(3.3)));
            builder.add(paths[2], time, point, 1e-6 * (1.0 + 0.5 * wave(2.7)));
        }
        let experiment = builder.finish();
        let fits = fit(&experiment, &Options { method: MethodChoice::Time, ..Options::default() });
        let target = vec![256.0];
        let before = |each, only: Option<usize>| {
            let mut fits = fits.clone();
            fits.models.retain(|m| only.is_none_or(|i| m.callpath == paths[i]));
            let options = AdviseOptions { target: target.clone(), each, ..options(None, 1e-6) };
            advise(&experiment, &fits, &options).unwrap().before
        };
        let (large, small) = (before(false, Some(0)), before(false, Some(1)));
        assert!(small > 3.0 * large, "{large} {small}");
        // One call path is its own program.
        assert!((before(true, Some(1)) - small).abs() < 1e-12);
        assert!((before(true, None) - 0.5 * (large + small)).abs() < 1e-12, "the tiny one does not count");
        assert!(before(false, None) < 1.5 * large);
        // However many there are, some count.
        let all =
            Program { paths: vec![Knowledge::of(&fits.models[1], &fits, &experiment, &target); 2000], each: true };
        let one = Program { paths: vec![all.paths[0].clone()], each: true };
        assert!((all.error(&target) - one.error(&target)).abs() < 1e-9 && one.error(&target) > 0.01);
    }

    #[test]
    fn exact_times_are_enough() {
        let found = advice(0.0, None, 0.05);
        assert_eq!((found.end, found.steps.len()), (End::Enough, 0));
        // 2 + 0.01 · 1000 · 16 seconds on 256 cores.
        assert!((found.seconds - 162.0).abs() < 0.2, "{}", found.seconds);
        assert!((found.target_core_hours - 162.0 * 256.0 / 3600.0).abs() < 0.02);
    }

    #[test]
    fn every_step_narrows_the_interval_and_costs_what_it_says() {
        let found = advice(0.1, None, 1e-6);
        assert!(!found.steps.is_empty());
        let mut before = found.before;
        for step in &found.steps {
            assert!(step.after < before, "{step:?}");
            assert!((step.core_hours - step.seconds * step.at[0] / 3600.0).abs() < 1e-12, "{step:?}");
            assert!((step.gain_per_core_hour * step.core_hours - (before - step.after)).abs() < 1e-12, "{step:?}");
            before = step.after;
        }
    }

    #[test]
    fn a_budget_is_never_exceeded_and_says_what_would_help() {
        let free = advice(0.1, None, 1e-6);
        let whole: f64 = free.steps.iter().map(|s| s.core_hours).sum();
        let found = advice(0.1, Some(0.4 * whole), 1e-6);
        assert!(found.steps.iter().map(|s| s.core_hours).sum::<f64>() <= 0.4 * whole);
        let nothing = advice(0.1, Some(1e-9), 1e-6);
        assert_eq!((nothing.end, nothing.steps.len()), (End::Budget, 0));
        assert!(nothing.too_expensive.is_some());
    }

    #[test]
    fn what_the_models_miss_is_in_the_interval_and_no_run_lessens_it() {
        // Blocks grow with n alone, and the times also with p^(1/10), as where caches are shared.
        let mut builder = ExperimentBuilder::new(["p", "n"]);
        let of = |name: &str, unit: &str| Metric { name: name.into(), unit: unit.into(), over_ranks: None };
        let (time, blocks) = (builder.metric(of("time", "s")), builder.metric(of("basic_blocks", "")));
        let solve = builder.callpath(["main", "solve"]);
        for p in [4.0_f64, 8.0, 16.0, 32.0, 64.0] {
            for n in [100.0, 200.0, 300.0, 400.0, 500.0] {
                let point = builder.point(&[p, n]);
                builder.add(solve, blocks, point, 1000.0 * n);
                builder.add(solve, time, point, 0.01 * n * p.powf(0.1));
            }
        }
        let experiment = builder.finish();
        let fits = fit(&experiment, &Options::default());
        let found = advise(&experiment, &fits, &options(None, 0.05)).unwrap();
        // No constant misses the five values of p^(1/10) by less than this, and none within their range by thrice as much.
        let factors = [4.0_f64, 8.0, 16.0, 32.0, 64.0].map(|p| p.powf(0.1));
        let spread = |c: f64| (factors.iter().map(|f| (f / c - 1.0).powi(2)).sum::<f64>() / 5.0).sqrt();
        let least = (100..200).map(|c| spread(f64::from(c) * 0.01)).fold(f64::INFINITY, f64::min);
        let expected = 1.645 * least;
        assert!((0.98 * expected..3.0 * expected).contains(&found.misfit), "{} {expected}", found.misfit);
        assert!(found.before >= found.misfit && found.steps.iter().all(|s| s.after >= found.misfit));
        assert_ne!(found.end, End::Enough);
        assert!(advice(0.1, None, 1e-6).misfit < 1e-9, "noise alone is no misfit");
    }

    #[test]
    fn times_of_other_names_are_priced_too() {
        let mut builder = ExperimentBuilder::new(["p"]);
        let metric = builder.metric(Metric { name: "wall".into(), unit: "s".into(), over_ranks: None });
        let main = builder.callpath(["main"]);
        for p in [2.0, 4.0, 8.0, 16.0, 32.0] {
            let point = builder.point(&[p]);
            builder.add(main, metric, point, 3.0 * p);
        }
        let experiment = builder.finish();
        let fits = fit(&experiment, &Options::default());
        let options = AdviseOptions { target: vec![64.0], ..options(None, 0.05) };
        assert!((advise(&experiment, &fits, &options).unwrap().seconds - 192.0).abs() < 1e-6);
    }

    #[test]
    fn four_parameters_have_no_more_candidates_than_can_be_weighed() {
        let mut builder = ExperimentBuilder::new(["a", "b", "c", "d"]);
        for value in [1.0, 2.0, 4.0, 8.0, 16.0] {
            builder.point(&[value; 4]);
        }
        let experiment = builder.finish();
        let found = candidates(&experiment, &[64.0; 4]);
        // The measured diagonal, lines of seven values and three points for each pair.
        let distinct = (5 + 4 * 6 + 6 * 3) as usize;
        assert!(found.len() <= distinct && found.len() >= distinct - 2, "{}", found.len());
        assert_eq!(found.iter().filter(|(_, was_measured)| *was_measured).count(), 5);
        assert!(found.iter().any(|(at, _)| at == &[64.0, 1.0, 1.0, 1.0]), "they go on towards the target");
    }

    #[test]
    fn an_update_is_the_covariance_of_the_larger_least_squares() {
        // By hand: two coefficients with gradients (1, x), covariance the inverse of XᵀX/σ².
        let experiment = experiment(5, 0.1);
        let fits = fit(&experiment, &Options { method: MethodChoice::Time, ..Options::default() });
        let known = Knowledge::of(&fits.models[0], &fits, &experiment, &[256.0, 1000.0]);
        let x = [64.0, 500.0];
        let after = known.after(&x, 3.0);
        let g = nalgebra::DVector::from_vec(known.gradient(&x));
        let k = g.len();
        let matrix = |c: &[f64]| nalgebra::DMatrix::from_row_slice(k, k, c);
        let information =
            matrix(&known.covariance).try_inverse().unwrap() + &g * g.transpose() * 3.0 / known.noise.powi(2);
        let expected = information.try_inverse().unwrap();
        assert!((matrix(&after.covariance) - &expected).norm() < 1e-6 * expected.norm());
    }

    /// Blocks n + p^2 and times of both with a coefficient each, measured where p is small.
    fn of_effort(second: f64) -> Experiment {
        let mut builder = ExperimentBuilder::new(["p", "n"]);
        let of = |name: &str, unit: &str| Metric { name: name.into(), unit: unit.into(), over_ranks: None };
        let (time, blocks) = (builder.metric(of("time", "s")), builder.metric(of("basic_blocks", "")));
        let solve = builder.callpath(["main", "solve"]);
        for (i, p) in [2.0, 4.0, 8.0, 16.0, 32.0].into_iter().enumerate() {
            for (j, n) in [1000.0, 2000.0, 3000.0, 4000.0, 5000.0].into_iter().enumerate() {
                let point = builder.point(&[p, n]);
                let k = 5 * i + j;
                let drawn = ((7 * k * k + 3 * k) % 23) as f64 / 11.0 - 1.0;
                builder.add(solve, blocks, point, n + p * p);
                builder.add(solve, time, point, 1e-3 * (n + second * p * p) * (1.0 + 0.05 * drawn));
            }
        }
        builder.finish()
    }

    #[test]
    fn summands_that_were_fitted_together_are_open() {
        let experiment = of_effort(1.0);
        let fits = fit(&experiment, &Options::default());
        let model = fits.models.iter().find(|m| experiment.metrics[m.metric as usize].name == "time").unwrap();
        assert_eq!(model.uncertainty.basis.len(), 1, "one coefficient is enough for what was measured");
        let target = [256.0, 5000.0];
        let known = Knowledge::of(model, &fits, &experiment, &target);
        // The constant, p^2 and n, each in parts of the time at the target; by hand the inverse of what is known before and of XᵀX/σ².
        assert_eq!(known.gradient(&target), [1.0; 3]);
        let mut information = nalgebra::DMatrix::identity(3, 3) / UNKNOWN.powi(2);
        let value = |x: &[f64]| (x[1] + x[0] * x[0]) / (target[1] + target[0] * target[0]);
        for x in &experiment.points {
            let parts = [1.0, (x[0] / target[0]).powi(2), x[1] / target[1]];
            let g = nalgebra::DVector::from_iterator(3, parts.map(|part| part / value(x)));
            information += &g * g.transpose() / known.noise.powi(2);
        }
        let expected = information.try_inverse().unwrap();
        let found = nalgebra::DMatrix::from_row_slice(3, 3, &known.covariance);
        assert!((&found - &expected).norm() < 1e-6 * expected.norm(), "{found} {expected}");
        // As one function the time at the target is known far better than that.
        let [coefficient] = model.uncertainty.covariance[..] else { unreachable!("one coefficient") };
        let together = coefficient.sqrt() * sum(&model.uncertainty.basis[0], &target) / model.at(&target);
        assert!(known.variance(&target).sqrt() > 3.0 * together, "{} {together}", known.variance(&target));
    }

    #[test]
    fn no_more_is_known_of_open_summands_than_the_fit_knows() {
        // Counts that are off by a thousandth have rivals; times with twice their size of noise say little.
        let mut builder = ExperimentBuilder::new(["p", "n"]);
        let of = |name: &str, unit: &str| Metric { name: name.into(), unit: unit.into(), over_ranks: None };
        let (time, blocks) = (builder.metric(of("time", "s")), builder.metric(of("basic_blocks", "")));
        let solve = builder.callpath(["main", "solve"]);
        for (i, p) in [2.0, 4.0, 8.0, 16.0, 32.0].into_iter().enumerate() {
            for (j, n) in [1000.0, 2000.0, 3000.0, 4000.0, 5000.0].into_iter().enumerate() {
                let point = builder.point(&[p, n]);
                let k = 5 * i + j;
                let drawn = ((7 * k * k + 3 * k) % 23) as f64 / 11.0 - 1.0;
                let count = n * p.sqrt() * (1.0 + 1e-3 * drawn);
                builder.add(solve, blocks, point, count.round());
                builder.add(solve, time, point, 1e-3 * count * (1.0 + 0.9 * drawn));
            }
        }
        let experiment = builder.finish();
        let fits = fit(&experiment, &Options::default());
        let model = fits.models.iter().find(|m| experiment.metrics[m.metric as usize].name == "time").unwrap();
        let effort = fits.models.iter().find(|m| Some(m.metric) == model.effort_metric).unwrap();
        let target = [256.0, 5000.0];
        let known = Knowledge::of(model, &fits, &experiment, &target);
        let weights: Vec<f64> = effort.uncertainty.rivals.iter().map(|rival| rival.0).collect();
        assert!(!weights.is_empty() && known.weights == [Vec::new(), weights], "{:?}", known.weights);
        let summands = model.uncertainty.basis.iter().map(|terms| (terms.as_slice(), 1.0)).collect();
        let weights = [model, effort].map(|m| m.uncertainty.rivals.iter().map(|r| r.0).collect());
        let covariance = model.uncertainty.covariance.clone();
        let fitted = Knowledge { summands, covariance, weights, ..known.clone() };
        assert!(known.variance(&target) >= (1.0 - 1e-9) * fitted.variance(&target));
    }

    #[test]
    fn candidates_go_on_as_the_measured_values_do_and_stay_below_the_target() {
        let experiment = experiment(3, 0.0);
        assert_eq!(axis(&experiment, 0, 256.0), [4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0]);
        assert_eq!(axis(&experiment, 1, 450.0), [100.0, 200.0, 300.0, 400.0]);
        let all = candidates(&experiment, &[16.0, 300.0]);
        assert_eq!(all.len(), 8, "the target itself is not a candidate: {all:?}");
        assert!(all.iter().all(|(_, was_measured)| *was_measured));
    }

    #[test]
    fn values_to_measure_next_are_of_the_family_of_those_before() {
        let next = |values: &[f64], target: f64| {
            let mut builder = ExperimentBuilder::new(["p"]);
            for &x in values {
                builder.point(&[x]);
            }
            axis(&builder.finish(), 0, target)[values.len()..].to_vec()
        };
        assert_eq!(next(&[27.0, 64.0, 125.0, 216.0, 343.0], 2000.0), [512.0, 729.0, 1000.0, 1331.0]);
        assert_eq!(next(&[8.0, 64.0, 216.0], 600.0), [512.0], "even edges stay even");
        assert_eq!(next(&[4.0, 16.0, 36.0, 64.0], 200.0), [100.0, 144.0, 196.0]);
        assert_eq!(next(&[1.0, 2.0, 8.0, 32.0], 200.0), [64.0, 128.0]);
        assert_eq!(next(&[1.0, 8.0, 64.0], 600.0), [512.0], "a constant factor comes first");
        assert_eq!(next(&[32.0, 64.0, 128.0, 256.0], 1024.0), [512.0, 1024.0]);
        assert_eq!(next(&[10.0, 20.0, 40.0, 50.0], 70.0), [60.0, 70.0]);
        let tenths: Vec<f64> = (1..=9).map(|i| f64::from(i) * 0.1).collect();
        assert_eq!(next(&tenths, 1.35), [1.0, 1.1, 1.2, 1.3], "and no 1.3000000000000003");
    }

    #[test]
    fn a_first_design_is_far_smaller_than_all_combinations() {
        let axis = vec![1.0, 2.0, 4.0, 8.0, 16.0];
        // 4 m + 1 on the lines, 3 for each pair.
        for (m, expected) in [(1, 5), (2, 12), (3, 22), (4, 35)] {
            let points = first_design(&vec![axis.clone(); m]);
            assert_eq!(points.len(), expected);
            for l in 0..m {
                let mut values: Vec<f64> = points.iter().map(|p| p[l]).collect();
                values.sort_by(f64::total_cmp);
                values.dedup();
                assert_eq!(values, axis, "every value of every parameter is measured");
            }
        }
    }

    #[test]
    fn normal_quantiles_are_the_tables() {
        assert!((normal_quantile(0.95) - 1.644_854).abs() < 1e-5);
    }
}
