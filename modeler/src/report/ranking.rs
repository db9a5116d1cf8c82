//! Which call paths cost most at the target point, and where they overtake those that cost most today.

use std::collections::BTreeSet;

use super::ReportOptions;
use super::costs::Costs;
use crate::compare::Ratio;
use crate::experiment::{CallPathId, Experiment, MetricId};
use crate::fit::Fits;
use crate::model::{Method, Model, Prediction};
use crate::verdict::{Together, is_far};

/// Places between today and the target at which an overtaking is looked for.
const STEPS: usize = 128;
/// Where a shape that explains the measurements nearly as well predicts less than this part of what the model does, the place
/// in the ranking is in doubt.
const IN_DOUBT: f64 = 0.5;

/// One call path of the ranking.
pub(crate) struct Ranked<'a> {
    /// Its model of the ranked metric.
    pub model: &'a Model,
    /// What the model predicts at the target.
    pub prediction: Prediction,
    /// Its place today, from 1.
    pub place_now: usize,
    /// What a shape that explains the measurements nearly as well predicts, where that is so much less that the place is in
    /// doubt: it is ranked by this.
    pub least: Option<f64>,
}

impl Ranked<'_> {
    /// What the place is by.
    fn value(&self) -> f64 {
        self.least.unwrap_or(if self.prediction.value.is_finite() { self.prediction.value.max(0.0) } else { 0.0 })
    }
}

/// A call path that was smaller than another today and is larger at the target.
pub(crate) struct Overtaking {
    /// The largest of today's call paths that it leaves behind.
    pub other: CallPathId,
    /// How many more it leaves behind.
    pub more: usize,
    /// Where both cost the same, on the straight way (of logarithms) from today to the target.
    pub at: Vec<f64>,
    /// Whether the intervals at the target leave no doubt about the order there.
    pub is_certain: bool,
}

/// The modelled call paths, the largest prediction first.
///
/// Of thousands of shapes that were searched in noisy times some have a steep term by chance, and far beyond the measurements these
/// would lead. Such a call path has the place that the least of the shapes gives it that explain its measurements nearly as well:
/// the more call paths there are, the more chances noise had, and the less probable such a shape may be.
pub(crate) fn rank<'a>(costs: &Costs<'a>) -> Vec<Ranked<'a>> {
    let mut now: Vec<&Model> = costs.models.iter().flatten().copied().collect();
    now.sort_by(|a, b| costs.now[b.callpath as usize].total_cmp(&costs.now[a.callpath as usize]));
    let mut places = vec![0; costs.models.len()];
    now.iter().enumerate().for_each(|(i, m)| places[m.callpath as usize] = i + 1);
    let together = Together(now.len());
    let with_prediction = |model: &&'a Model| {
        let prediction = costs.then[model.callpath as usize]?;
        let least = least(model, &costs.target, together).filter(|least| *least < IN_DOUBT * prediction.value);
        Some(Ranked { model, prediction, place_now: places[model.callpath as usize], least })
    };
    let mut ranked: Vec<Ranked> = costs.models.iter().flatten().filter_map(with_prediction).collect();
    ranked.sort_by(|a, b| b.value().total_cmp(&a.value()));
    ranked
}

/// The least, not below zero, that a shape has at `target` which explains the measurements nearly as well as the model's, where
/// that was searched in noisy times and the target is far beyond them.
fn least(model: &Model, target: &[f64], together: Together) -> Option<f64> {
    let goes_far = model.uncertainty.range.iter().zip(target).any(|(&range, &x)| is_far(range, x));
    (model.method == Method::Time && goes_far).then(|| model.least_of_rivals_at(target, together).max(0.0))
}

/// Whether the growth of `model`, of so many, may be chance: its shape was searched in noisy times, and another that explains them nearly as
/// well predicts less than half as much where each parameter has twice its largest value.
///
/// ```
/// use modeler::report::may_be_chance;
/// use modeler::verdict::Together;
/// let model = |times: &str| {
///     let text = format!("PARAMETER p\nPOINTS 2 4 8 16 32 64\nREGION solve\nMETRIC time\n{times}");
///     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?.experiment;
///     Ok::<_, modeler::formats::ReadError>(modeler::fit(&experiment, &modeler::Options::default()).models.remove(0))
/// };
/// let clear = model("DATA 2.1\nDATA 4.0\nDATA 8.1\nDATA 16.0\nDATA 32.2\nDATA 64.1\n")?;
/// assert!(!may_be_chance(&clear, Together(1)));
/// let unclear = model("DATA 1.0\nDATA 1.3\nDATA 1.1\nDATA 1.4\nDATA 1.2\nDATA 2.4\n")?;
/// assert!(may_be_chance(&unclear, Together(1)));
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[must_use]
pub fn may_be_chance(model: &Model, of: Together) -> bool {
    let there: Vec<f64> = model.uncertainty.range.iter().map(|&(_, high)| beyond(high)).collect();
    let is_searched = model.method == Method::Time && !model.terms.is_empty();
    // What is below zero there falls, and does not grow.
    is_searched && model.least_of_rivals_at(&there, of).max(0.0) < IN_DOUBT * model.at(&there)
}

/// Whom the call path at `place` of `ranked` overtakes between today and the target.
pub(crate) fn overtaking(
    experiment: &Experiment,
    costs: &Costs,
    ranked: &[Ranked],
    place: usize,
    level: f64,
) -> Option<Overtaking> {
    let one = &ranked[place];
    let id = one.model.callpath as usize;
    // A caller that holds its callees is not in a race with them.
    let related = |other: CallPathId| {
        let (one, whole) = (one.model.callpath, costs.callees.whole);
        costs.is_inclusive() && (is_related(experiment, other, one) || whole == Some(other) || whole == Some(one))
    };
    let behind = ranked[place + 1..].iter().filter(|r| {
        let other = r.model.callpath;
        costs.now[other as usize] > costs.now[id] && r.prediction.value < one.prediction.value && !related(other)
    });
    let overtaken: Vec<&Ranked> = behind.collect();
    let first = overtaken.iter().min_by_key(|r| r.place_now)?;
    let ratio = Ratio::of(one.model.predict(&costs.target, level), first.model.predict(&costs.target, level));
    Some(Overtaking {
        other: first.model.callpath,
        more: overtaken.len() - 1,
        at: crossing(&costs.today, &costs.target, |x| one.model.at(x) > first.model.at(x)),
        // Growth that may be chance makes nothing certain.
        is_certain: ratio.lower > 1.0 && one.least.is_none() && first.least.is_none(),
    })
}

/// The last name of a call path, with as many of its callers as tell it from the others that end in this name:
/// `MPI_Allreduce`, `solve -> MPI_Allreduce`.
pub(crate) fn name_among(experiment: &Experiment, id: CallPathId) -> String {
    let path = experiment.path(id);
    let namesakes: Vec<Vec<&str>> = (0..experiment.callpaths.len() as CallPathId)
        .filter(|&other| {
            other != id && experiment.callpaths[other as usize].name == experiment.callpaths[id as usize].name
        })
        .map(|other| experiment.path(other))
        .collect();
    let is_alone = |ending: &&[&str]| namesakes.iter().all(|other| !other.ends_with(ending));
    let endings = (0..path.len()).rev().map(|first| &path[first..]);
    endings.into_iter().find(is_alone).unwrap_or(&path).join(" -> ")
}

fn is_related(experiment: &Experiment, a: CallPathId, b: CallPathId) -> bool {
    let above = |from: CallPathId, wanted: CallPathId| {
        let mut next = Some(from);
        while let Some(id) = next {
            if id == wanted {
                return true;
            }
            next = experiment.callpaths[id as usize].parent;
        }
        false
    };
    above(a, b) || above(b, a)
}

/// The place from which on `is_larger` holds up to the target.
fn crossing(today: &[f64], target: &[f64], is_larger: impl Fn(&[f64]) -> bool) -> Vec<f64> {
    let at = |t: f64| -> Vec<f64> { today.iter().zip(target).map(|(&a, &b)| between(a, b, t)).collect() };
    let step = |i: usize| i as f64 / STEPS as f64;
    let before = (0..STEPS).rev().find(|&i| !is_larger(&at(step(i)))).unwrap_or(0);
    let (mut low, mut high) = (step(before), step(before + 1));
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if is_larger(&at(middle)) { high = middle } else { low = middle }
    }
    at(high)
}

/// `t` of the way from `a` to `b`, on a logarithmic scale where both are positive.
fn between(a: f64, b: f64, t: f64) -> f64 {
    if a == b {
        return a;
    }
    if a > 0.0 && b > 0.0 { a * (b / a).powf(t) } else { a + t * (b - a) }
}

/// The metric that call paths are ranked by: time where it has models, or else what stands for it, or else the first that has.
pub(crate) fn ranked_metric(experiment: &Experiment, fits: &Fits) -> Option<MetricId> {
    let modelled = || fits.models.iter().map(|m| m.metric);
    let named = |name: &&str| modelled().find(|&m| experiment.metrics[m as usize].name == *name);
    [experiment.name_of_time(), "instructions", "basic_blocks"].iter().find_map(named).or_else(|| modelled().min())
}

/// The metric that a report is in: the one asked for where it has models, or else that of [`ranked_metric`].
pub(crate) fn ranked_by(experiment: &Experiment, fits: &Fits, options: &ReportOptions) -> Option<MetricId> {
    let asked = options.metric.filter(|&metric| fits.models.iter().any(|m| m.metric == metric));
    asked.or_else(|| ranked_metric(experiment, fits))
}

/// The names of the metrics that have models, without that of `metric`, in the experiment's order.
pub(crate) fn other_metrics<'a>(experiment: &'a Experiment, fits: &Fits, metric: MetricId) -> Vec<&'a str> {
    let own = experiment.metrics[metric as usize].name.as_str();
    let modelled: BTreeSet<MetricId> = fits.models.iter().map(|m| m.metric).collect();
    let mut names: Vec<&str> = Vec::new();
    for name in modelled.into_iter().map(|id| experiment.metrics[id as usize].name.as_str()) {
        if name != own && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The largest measured value of each parameter.
///
/// ```
/// use modeler::{ExperimentBuilder, report::largest};
/// let mut builder = ExperimentBuilder::new(["p", "n"]);
/// builder.point(&[8.0, 10.0]);
/// builder.point(&[2.0, 30.0]);
/// assert_eq!(largest(&builder.finish()), [8.0, 30.0]);
/// ```
#[must_use]
pub fn largest(experiment: &Experiment) -> Vec<f64> {
    let column = |i: usize| experiment.points.iter().map(move |p| p[i]);
    (0..experiment.parameters.len()).map(|i| column(i).fold(f64::NEG_INFINITY, f64::max)).collect()
}

fn beyond(largest: f64) -> f64 {
    if largest > 0.0 { 2.0 * largest } else { largest }
}

/// Where to rank if nothing is asked for: twice the largest measured value of each parameter.
///
/// ```
/// use modeler::{ExperimentBuilder, report::default_target};
/// let mut builder = ExperimentBuilder::new(["p", "n"]);
/// builder.point(&[8.0, 10.0]);
/// builder.point(&[2.0, 30.0]);
/// assert_eq!(default_target(&builder.finish()), [16.0, 60.0]);
/// ```
#[must_use]
pub fn default_target(experiment: &Experiment) -> Vec<f64> {
    largest(experiment).into_iter().map(beyond).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{ExperimentBuilder, Metric};
    use crate::{Options, fit};

    #[test]
    fn callers_are_named_where_the_last_name_is_not_enough() {
        let mut builder = ExperimentBuilder::new(["p"]);
        let ids: Vec<CallPathId> = [
            vec!["main", "solve", "MPI_Allreduce"],
            vec!["main", "check", "MPI_Allreduce"],
            vec!["main", "check"],
            vec!["MPI_Allreduce"],
        ]
        .into_iter()
        .map(|names| builder.callpath(names))
        .collect();
        let experiment = builder.finish();
        let named: Vec<String> = ids.into_iter().map(|id| name_among(&experiment, id)).collect();
        assert_eq!(named, ["solve -> MPI_Allreduce", "check -> MPI_Allreduce", "check", "MPI_Allreduce"]);
    }

    #[test]
    fn who_grows_faster_overtakes_where_the_functions_cross() {
        let mut builder = ExperimentBuilder::new(["p"]);
        let metric = builder.metric(Metric { name: "basic_blocks".into(), unit: String::new(), over_ranks: None });
        // 3000 p and 50 p^2 cross at p = 60; 1000 stays behind both.
        for (name, f) in
            [("linear", (|p| 3000.0 * p) as fn(f64) -> f64), ("square", |p| 50.0 * p * p), ("flat", |_| 1000.0)]
        {
            let callpath = builder.callpath([name]);
            for p in [2.0, 4.0, 8.0, 16.0, 32.0] {
                let point = builder.point(&[p]);
                builder.add(callpath, metric, point, f(p));
            }
        }
        let experiment = builder.finish();
        let fits = fit(&experiment, &Options::default());
        let costs = Costs::new(&experiment, &fits, 0, vec![256.0], 0.9);
        let ranked = rank(&costs);
        assert_eq!(ranked.iter().map(|r| r.model.callpath).collect::<Vec<_>>(), [1, 0, 2]);
        assert_eq!(ranked.iter().map(|r| r.place_now).collect::<Vec<_>>(), [2, 1, 3]);
        let found = overtaking(&experiment, &costs, &ranked, 0, 0.9).unwrap();
        assert_eq!((found.other, found.more, found.is_certain), (0, 0, true));
        assert!((found.at[0] - 60.0).abs() < 1e-6, "{:?}", found.at);
        assert!(overtaking(&experiment, &costs, &ranked, 1, 0.9).is_none());
    }

    #[test]
    fn what_stands_for_time_ranks_where_no_time_was_measured() {
        let mut builder = ExperimentBuilder::new(["n"]);
        let of = |name: &str| Metric { name: name.into(), unit: String::new(), over_ranks: None };
        let ids = ["visits", "basic_blocks", "instructions"].map(|name| builder.metric(of(name)));
        let solve = builder.callpath(["solve"]);
        for n in [1.0, 2.0, 4.0, 8.0, 16.0] {
            let point = builder.point(&[n]);
            ids.iter().for_each(|&id| builder.add(solve, id, point, 100.0 * n));
        }
        let experiment = builder.finish();
        let fits = fit(&experiment, &Options::default());
        let name =
            |fits: &Fits| ranked_metric(&experiment, fits).map(|id| experiment.metrics[id as usize].name.clone());
        assert_eq!(name(&fits).as_deref(), Some("instructions"));
        let mut fewer = fits;
        fewer.models.retain(|m| m.metric != ids[2]);
        assert_eq!(name(&fewer).as_deref(), Some("basic_blocks"));
    }
}
