//! Which call paths cost most at the target point.

use std::cmp::Ordering;

use crate::experiment::{Experiment, MetricId};
use crate::fit::Fits;
use crate::model::{Model, Prediction};

/// One call path of the ranking.
pub(crate) struct Ranked<'a> {
    /// Its model of the ranked metric.
    pub model: &'a Model,
    /// What the model predicts at the target.
    pub prediction: Prediction,
    /// Share of the sum over all ranked call paths, 0 to 1.
    pub share: f64,
}

/// The models of `metric`, the largest prediction at `target` first.
pub(crate) fn rank<'a>(fits: &'a Fits, metric: MetricId, target: &[f64], level: f64) -> Vec<Ranked<'a>> {
    let models = fits.models.iter().filter(|m| m.metric == metric);
    let mut ranked: Vec<Ranked> =
        models.map(|model| Ranked { model, prediction: model.predict(target, level), share: 0.0 }).collect();
    let total: f64 = ranked.iter().map(|r| r.prediction.value).filter(|v| v.is_finite()).sum();
    for r in &mut ranked {
        r.share = if total > 0.0 && r.prediction.value.is_finite() { r.prediction.value / total } else { 0.0 };
    }
    ranked.sort_by(|a, b| {
        b.share.partial_cmp(&a.share).unwrap_or(Ordering::Equal).then(a.model.callpath.cmp(&b.model.callpath))
    });
    ranked
}

/// The metric that call paths are ranked by: time where it has models, otherwise the first that has.
pub(crate) fn ranked_metric(experiment: &Experiment, fits: &Fits) -> Option<MetricId> {
    let modelled = || fits.models.iter().map(|m| m.metric);
    let time = modelled().find(|&m| experiment.metrics[m as usize].name == "time");
    time.or_else(|| modelled().min())
}

/// The largest measured value of each parameter.
#[must_use]
pub fn largest(experiment: &Experiment) -> Vec<f64> {
    let column = |i: usize| experiment.points.iter().map(move |p| p[i]);
    (0..experiment.parameters.len()).map(|i| column(i).fold(f64::NEG_INFINITY, f64::max)).collect()
}

/// Where to rank if nothing is asked for: twice the largest measured value of each parameter.
#[must_use]
pub fn default_target(experiment: &Experiment) -> Vec<f64> {
    largest(experiment).into_iter().map(|x| if x > 0.0 { 2.0 * x } else { x }).collect()
}
