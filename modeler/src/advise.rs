//! Which points to measure next: what a run would do to the prediction at a target, per core-hour that it costs.
//!
//! A fit knows the covariance of its coefficients and the functions that explain the measurements nearly as well
//! ([`crate::model::Model::predict`] makes its intervals of both). One more measurement, which tells a time to σ, at a point
//! where the coefficients enter as g changes the covariance C to C - C g gᵀ C / (σ² + gᵀ C g), the update of linear
//! least squares (Plackett, Biometrika 37, 1950), whatever its value will be. A rival function that is off by d there
//! keeps exp(-d²/2σ²) of its weight if the model is right. So what a run is worth is known before it is paid for.
//! σ is the inverse root of the Fisher information of the noise (`noise.rs`): that of background alone,
//! and less than the deviation where noise is one-sided, since its edge tells more than its mean.

mod knowledge;
mod least_uncertainty;
mod points;

use crate::experiment::{CallPathId, Experiment, MetricId};
use crate::fit::Fits;
use crate::noise::normal_distribution;
use crate::predict::quantile;
use crate::report::off_line_points;
use knowledge::Program;
use points::{candidates, unmeasured};

pub use least_uncertainty::{LeastUncertainty, least_uncertainty};
pub use points::first_design;

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
///     down_to: Vec::new(),
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
    /// The least value of each parameter, in their order, with which runs may be named that are smaller than all measured ones. Parameters that are
    /// missing here, or infinite, stay in the measured range: smaller runs may be unlike the others, as where they leave a node half empty.
    pub down_to: Vec<f64>,
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
///     down_to: Vec::new(),
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
///     down_to: Vec::new(),
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
    /// A parameter has one value in all points and another at the target: what it changes was not measured, and no fit knows it. Or all
    /// points lie on lines along single parameters, which do not say whether what these add is a sum or a product.
    Unmeasured,
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
///     down_to: Vec::new(),
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
    /// The call path that has the largest part of that, and by how much its model misses the points, relative.
    pub missed: Option<(CallPathId, f64)>,
    /// What one run at the target itself would cost, in core-hours.
    pub target_core_hours: f64,
    /// Points to measure before anything else can be advised, where a parameter has one value in all points and another at the target, or
    /// all points lie on lines along single parameters and the target does not; there are no steps then.
    pub first: Vec<Vec<f64>>,
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
///     down_to: Vec::new(),
/// };
/// let advice = advise(&experiment, &fits, &options).expect("a time was modelled");
/// assert!(advice.seconds > 100.0 && advice.before > 0.0);
/// assert!(advice.steps.len() <= 2);
/// ```
#[must_use]
pub fn advise(experiment: &Experiment, fits: &Fits, options: &AdviseOptions) -> Option<Advice> {
    let target = &options.target;
    let program = Program::of(experiment, fits, target, options.each)?;
    // The interval at this level is so many standard errors wide on each side.
    let width = quantile(0.5 + 0.5 * options.level, normal_distribution);
    let price = |x: &[f64]| program.core_seconds(x, options.ranks) / 3600.0;
    let candidates = candidates(experiment, target, &options.down_to);
    let mut advice = Advice {
        seconds: program.seconds(target),
        before: width * program.error(target),
        noise: program.noise(target),
        misfit: width * program.misfit(target),
        missed: program.missed(target),
        target_core_hours: price(target),
        first: first(experiment, &program, options),
        steps: Vec::new(),
        end: End::Steps,
        too_expensive: None,
    };
    if !advice.first.is_empty() {
        advice.end = End::Unmeasured;
        return Some(advice);
    }
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

/// What is to be measured before any run can be weighed: parameters of one value, and points off the lines on which all lie, where the sums
/// and products that these allow differ by more than the tolerance at the target. No such point costs more than a run there, or the budget.
fn first(experiment: &Experiment, program: &Program, options: &AdviseOptions) -> Vec<Vec<f64>> {
    let along = unmeasured(experiment, &options.target);
    if !along.is_empty() {
        return along;
    }
    let target = &options.target;
    let (mut points, mut open): (Vec<Vec<f64>>, f64) = (Vec::new(), 0.0);
    for model in program.parts() {
        let (least, most) = model.span_at(target);
        if most > least {
            open += most - least;
            points.extend(off_line_points(experiment, model, target));
        }
    }
    if open <= 2.0 * options.tolerance * program.seconds(target) {
        return Vec::new();
    }
    let price = |x: &[f64]| program.core_seconds(x, options.ranks);
    let most = price(target).min(options.budget.map_or(f64::INFINITY, |budget| 3600.0 * budget));
    points.retain(|at| price(at) <= most);
    points.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    points.dedup();
    points
}

/// The metric in which runs are priced: the time, or where there are several the first that is measured in seconds.
pub(crate) fn time_of(experiment: &Experiment, fits: &Fits) -> Option<MetricId> {
    let modelled = || fits.models.iter().map(|m| m.metric);
    let metric = |id: MetricId| &experiment.metrics[id as usize];
    let named = modelled().find(|&id| metric(id).name == experiment.name_of_time());
    named.or_else(|| modelled().filter(|&id| metric(id).unit == "s").min())
}

#[cfg(test)]
mod tests {
    use super::knowledge::Knowledge;
    use super::*;
    use crate::experiment::{ExperimentBuilder, Metric};
    use crate::{MethodChoice, Options, fit};

    /// Times, and blocks where there are any, of one call path at all combinations of p and n. What is measured may depend on a
    /// number from -1 to 1 that is never smooth along a line of points.
    pub(super) fn measured(p: &[f64], n: &[f64], of: impl Fn(f64, f64, f64) -> (f64, Option<f64>)) -> Experiment {
        let mut builder = ExperimentBuilder::new(["p", "n"]);
        let metric = |name: &str, unit: &str| Metric { name: name.into(), unit: unit.into(), over_ranks: None };
        let (time, blocks) = (builder.metric(metric("time", "s")), builder.metric(metric("basic_blocks", "")));
        let solve = builder.callpath(["main", "solve"]);
        for (i, &p) in p.iter().enumerate() {
            for (j, &n) in n.iter().enumerate() {
                let point = builder.point(&[p, n]);
                let k = 5 * i + j;
                let (seconds, count) = of(p, n, ((7 * k * k + 3 * k) % 23) as f64 / 11.0 - 1.0);
                builder.add(solve, time, point, seconds);
                if let Some(count) = count {
                    builder.add(solve, blocks, point, count);
                }
            }
        }
        builder.finish()
    }

    pub(super) const P: [f64; 5] = [4.0, 8.0, 16.0, 32.0, 64.0];
    pub(super) const N: [f64; 5] = [100.0, 200.0, 300.0, 400.0, 500.0];

    /// Times 2 + 0.01 n p^(1/2) with noise of about `noise`.
    pub(super) fn with_noise(noise: f64) -> Experiment {
        measured(&P, &N, |p, n, drawn| ((2.0 + 0.01 * n * p.sqrt()) * (1.0 + noise * drawn), None))
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
            down_to: Vec::new(),
        }
    }

    fn advice(noise: f64, budget: Option<f64>, tolerance: f64) -> Advice {
        let experiment = with_noise(noise);
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
        let all = Program {
            paths: vec![Knowledge::of(&fits.models[1], &fits, &experiment, &target, true); 2000],
            each: true,
        };
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
        let experiment = measured(&P, &N, |p, n, _| (0.01 * n * p.powf(0.1), Some(1000.0 * n)));
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
        let (callpath, by) = found.missed.unwrap();
        assert_eq!(callpath, fits.models[0].callpath);
        assert!((1.645 * by - found.misfit).abs() < 1e-3 * by, "one call path has all of it: {by} {}", found.misfit);
        let noisy = advice(0.1, None, 1e-6);
        assert!(noisy.misfit < 1e-9 && noisy.missed.is_none(), "noise alone is no misfit");
    }

    #[test]
    fn what_was_measured_at_one_value_is_measured_at_others_first() {
        let experiment = measured(&[2.0], &N, |_, n, _| (0.01 * n, Some(1000.0 * n)));
        let fits = fit(&experiment, &Options::default());
        let at = |p: f64| {
            let options = AdviseOptions { target: vec![p, 1000.0], ..options(None, 0.05) };
            advise(&experiment, &fits, &options).unwrap()
        };
        let found = at(256.0);
        assert_eq!((found.end, found.steps.len()), (End::Unmeasured, 0));
        assert_eq!(found.first, [4.0, 8.0, 16.0, 32.0].map(|p| vec![p, 100.0]));
        assert_eq!((at(2.0).end, at(2.0).first.len()), (End::Enough, 0));
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
}
