//! What call paths cost at the largest measured point and at the target, alone and together with what they call.

use rayon::prelude::*;

use super::ranking::largest;
use crate::experiment::{CallPathId, Experiment, MetricId, median};
use crate::fit::Fits;
use crate::model::{Model, Prediction};

/// How much larger than its callees together a caller has to be, at least, if its values include them. Noise may make
/// it a little smaller.
const INCLUDES: f64 = 0.95;
/// So many callers with callees tell whether values are inclusive; fewer could be so by chance.
const CALLERS: usize = 3;

/// The costs of all call paths in one metric.
pub(crate) struct Costs<'a> {
    /// The metric.
    pub metric: MetricId,
    /// By call path, its model.
    pub models: Vec<Option<&'a Model>>,
    /// The point that stands for today: the largest measured value of each parameter.
    pub today: Vec<f64>,
    /// The point that is predicted.
    pub target: Vec<f64>,
    /// By call path, the model's value today, not below zero.
    pub now: Vec<f64>,
    /// By call path, the prediction at the target.
    pub then: Vec<Option<Prediction>>,
    /// By call path, what it costs with all that it calls, today and at the target.
    pub with_callees: Vec<(f64, f64)>,
    /// The whole program, today and at the target.
    pub total: (f64, f64),
    /// The ends of the whole program's interval at the target: the sums of the ends of its parts, which is as wide as it can
    /// be, since call paths need not err in the same direction.
    pub total_interval: (f64, f64),
    /// Whether the values of a call path hold those of its callees already, as some tools write them.
    pub is_inclusive: bool,
}

impl<'a> Costs<'a> {
    /// The costs in `metric` at `target`, with intervals at `level`.
    pub fn new(experiment: &Experiment, fits: &'a Fits, metric: MetricId, target: Vec<f64>, level: f64) -> Self {
        let mut models: Vec<Option<&Model>> = vec![None; experiment.callpaths.len()];
        for model in fits.models.iter().filter(|m| m.metric == metric) {
            models[model.callpath as usize] = Some(model);
        }
        let today = largest(experiment);
        let now: Vec<f64> = models.iter().map(|m| m.map_or(0.0, |m| finite(m.at(&today)))).collect();
        let then: Vec<Option<Prediction>> = models.par_iter().map(|m| m.map(|m| m.predict(&target, level))).collect();
        // Our own runs tell how values became one over ranks, and their times are exclusive.
        let is_inclusive = experiment.metrics[metric as usize].over_ranks.is_none() && includes(experiment, &now);
        let own = |id: usize| (now[id], then[id].map_or(0.0, |p| finite(p.value)));
        let with_callees = with_callees(experiment, own, is_inclusive);
        let total = whole(experiment, &with_callees);
        let end = |value: f64| if value.is_nan() { 0.0 } else { value.max(0.0) };
        let ends = |id: usize| then[id].map_or((0.0, 0.0), |p| (end(p.lower), end(p.upper)));
        let total_interval = whole(experiment, &self::with_callees(experiment, ends, is_inclusive));
        Self { metric, models, today, target, now, then, with_callees, total, total_interval, is_inclusive }
    }

    /// The middle of what was measured at the point that stands for today, where it was measured.
    pub fn measured(&self, experiment: &Experiment, id: CallPathId) -> Option<f64> {
        let series = experiment.series_of(id, self.metric)?;
        experiment.measurements(series).find(|(x, _)| *x == self.today).map(|(_, values)| median(values))
    }

    /// The part of the program's cost that the call path is today, from 0 to 1.
    pub fn share_now(&self, id: CallPathId) -> f64 {
        part(self.now[id as usize], self.total.0)
    }

    /// The part of the program's cost that the call path is at the target.
    pub fn share_then(&self, id: CallPathId) -> f64 {
        part(self.value_then(id), self.total.1)
    }

    /// The part that the call path and all that it calls are at the target.
    pub fn share_with_callees(&self, id: CallPathId) -> f64 {
        part(self.with_callees[id as usize].1, self.total.1)
    }

    /// The predicted value, or zero where there is none.
    pub fn value_then(&self, id: CallPathId) -> f64 {
        self.then[id as usize].map_or(0.0, |p| finite(p.value))
    }
}

/// The sum over the roots.
fn whole(experiment: &Experiment, with_callees: &[(f64, f64)]) -> (f64, f64) {
    let roots = experiment.callpaths.iter().zip(with_callees).filter(|(c, _)| c.parent.is_none());
    roots.fold((0.0, 0.0), |sum, (_, of)| (sum.0 + of.0, sum.1 + of.1))
}

/// The value where it is finite and positive.
fn finite(value: f64) -> f64 {
    if value.is_finite() { value.max(0.0) } else { 0.0 }
}

fn part(value: f64, total: f64) -> f64 {
    if total > 0.0 { value / total } else { 0.0 }
}

/// Whether callers are as large as their callees together throughout.
fn includes(experiment: &Experiment, now: &[f64]) -> bool {
    let mut callees = vec![0.0; now.len()];
    for (id, callpath) in experiment.callpaths.iter().enumerate() {
        if let Some(parent) = callpath.parent {
            callees[parent as usize] += now[id];
        }
    }
    let callers: Vec<(f64, f64)> = now.iter().copied().zip(callees).filter(|(_, callees)| *callees > 0.0).collect();
    callers.len() >= CALLERS && callers.iter().all(|(own, callees)| *own >= INCLUDES * callees)
}

/// Sums from the leaves to the roots.
fn with_callees(experiment: &Experiment, own: impl Fn(usize) -> (f64, f64), is_inclusive: bool) -> Vec<(f64, f64)> {
    let mut sums = vec![(0.0, 0.0); experiment.callpaths.len()];
    for (id, callpath) in experiment.callpaths.iter().enumerate().rev() {
        let (own, below) = (own(id), sums[id]);
        sums[id] = match is_inclusive {
            true => (if own.0 > 0.0 { own.0 } else { below.0 }, if own.1 > 0.0 { own.1 } else { below.1 }),
            false => (own.0 + below.0, own.1 + below.1),
        };
        if let Some(parent) = callpath.parent {
            let (now, then) = sums[id];
            let of = &mut sums[parent as usize];
            *of = (of.0 + now, of.1 + then);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{ExperimentBuilder, Metric};
    use crate::{Options, fit};

    /// main -> (a -> (b, c), d), with counts that are multiples of p.
    fn costs(own: [f64; 5], check: impl Fn(&Costs)) {
        let mut builder = ExperimentBuilder::new(["p"]);
        let metric = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
        let paths: [&[&str]; 5] =
            [&["main"], &["main", "a"], &["main", "a", "b"], &["main", "a", "b", "c"], &["main", "d"]];
        for (path, own) in paths.iter().zip(own) {
            let callpath = builder.callpath(path.iter().copied());
            for p in [1.0, 2.0, 4.0, 8.0, 16.0] {
                let point = builder.point(&[p]);
                builder.add(callpath, metric, point, own * p);
            }
        }
        let experiment = builder.finish();
        let fits = fit(&experiment, &Options::default());
        check(&Costs::new(&experiment, &fits, 0, vec![32.0], 0.9));
    }

    #[test]
    fn exclusive_costs_add_up_to_the_whole() {
        costs([1.0, 2.0, 4.0, 8.0, 16.0], |costs| {
            assert!(!costs.is_inclusive);
            assert!((costs.total.0 - 31.0 * 16.0).abs() < 1e-6 && (costs.total.1 - 31.0 * 32.0).abs() < 1e-6);
            assert!(costs.total_interval.0 <= costs.total.1 && costs.total.1 <= costs.total_interval.1);
            assert!((costs.total_interval.1 / costs.total.1 - 1.0).abs() < 1e-3, "{:?}", costs.total_interval);
            assert!((costs.share_now(4) - 16.0 / 31.0).abs() < 1e-9);
            assert!((costs.share_with_callees(1) - 14.0 / 31.0).abs() < 1e-9);
        });
    }

    #[test]
    fn inclusive_costs_are_told_by_callers_that_hold_their_callees() {
        costs([31.0, 14.0, 12.0, 8.0, 16.0], |costs| {
            assert!(costs.is_inclusive);
            assert!((costs.total.1 - 31.0 * 32.0).abs() < 1e-6);
            assert!((costs.total_interval.1 / costs.total.1 - 1.0).abs() < 1e-3, "{:?}", costs.total_interval);
            assert!((costs.share_then(1) - 14.0 / 31.0).abs() < 1e-9);
            assert_eq!(costs.share_then(1), costs.share_with_callees(1));
        });
    }
}
