//! What call paths cost at the largest measured point and at the target, alone and together with what they call.

use rayon::prelude::*;

use super::ranking::largest;
use crate::advise::time_of;
use crate::callees::{Callees, INCLUDES};
use crate::experiment::{CallPathId, Experiment, MetricId, median};
use crate::fit::Fits;
use crate::model::{Model, Prediction};

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
    /// By call path, what it costs without what it calls, today and at the target; unknown where values hold those of callees
    /// and nothing tells who calls whom.
    pub own: Option<Vec<(f64, f64)>>,
    /// Whether the values of a call path hold those of its callees already, as some tools write them, and which are the whole.
    pub callees: Callees,
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
        let callees = Callees::of(experiment, metric);
        let value = |id: usize| (now[id], then[id].map_or(0.0, |p| finite(p.value)));
        let with_callees = with_callees(experiment, value, &callees);
        let total = whole(experiment, &callees, &with_callees);
        let end = |value: f64| if value.is_nan() { 0.0 } else { value.max(0.0) };
        let ends = |id: usize| then[id].map_or((0.0, 0.0), |p| (end(p.lower), end(p.upper)));
        let of_ends = self::with_callees(experiment, ends, &callees);
        let total_interval = whole(experiment, &callees, &of_ends);
        let own = match callees.is_inclusive() {
            false => Some((0..now.len()).map(value).collect()),
            true => own(experiment, &with_callees),
        };
        Self { metric, models, today, target, now, then, with_callees, total, total_interval, own, callees }
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

    /// What the call path costs without what it calls, today and at the target, and which parts of the whole that is.
    pub fn own(&self, id: CallPathId) -> Option<Own> {
        let &(now, then) = self.own.as_ref()?.get(id as usize)?;
        Some(Own { then, share_now: part(now, self.total.0), share_then: part(then, self.total.1) })
    }

    /// Whether values hold those of callees.
    pub fn is_inclusive(&self) -> bool {
        self.callees.is_inclusive()
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

/// The time of the whole program at `target`, one coordinate per parameter, with the interval that a report shows for it: the sums of
/// the ends of the call paths that make it up. The time is the metric in which [`crate::advise`] prices runs; nothing where none was
/// modelled.
///
/// ```
/// use modeler::report::whole_program;
/// let text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION a\nMETRIC time\nDATA 2.1\nDATA 3.9\nDATA 8.2\nDATA 15.9\nDATA 32.4\n\
///             REGION b\nMETRIC time\nDATA 7\nDATA 7.1\nDATA 6.9\nDATA 7\nDATA 7.1\n";
/// let experiment = modeler::formats::read_bytes("both.txt", text.into(), &Default::default())?.experiment;
/// let fits = modeler::fit(&experiment, &modeler::Options::default());
/// let whole = whole_program(&experiment, &fits, &[64.0], 0.9).expect("a time was modelled");
/// assert!((whole.value - fits.models.iter().map(|model| model.at(&[64.0])).sum::<f64>()).abs() < 1e-9);
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[must_use]
pub fn whole_program(experiment: &Experiment, fits: &Fits, target: &[f64], level: f64) -> Option<Prediction> {
    let costs = Costs::new(experiment, fits, time_of(experiment, fits)?, target.to_vec(), level);
    let (lower, upper) = costs.total_interval;
    Some(Prediction { value: costs.total.1, lower, upper, level })
}

/// A call path's cost without what it calls.
pub(crate) struct Own {
    /// At the target.
    pub then: f64,
    /// As part of the whole today.
    pub share_now: f64,
    /// As part of the whole at the target.
    pub share_then: f64,
}

/// The call path that holds all others, or the sum over the roots.
fn whole(experiment: &Experiment, callees: &Callees, with_callees: &[(f64, f64)]) -> (f64, f64) {
    if let Some(whole) = callees.whole {
        return with_callees[whole as usize];
    }
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

/// Inclusive costs less those of the callees, which models may take below zero; `None` where no call path calls another.
fn own(experiment: &Experiment, with_callees: &[(f64, f64)]) -> Option<Vec<(f64, f64)>> {
    let mut own = with_callees.to_vec();
    let mut calls = false;
    for (callpath, &(now, then)) in experiment.callpaths.iter().zip(with_callees) {
        let Some(parent) = callpath.parent else { continue };
        let of = &mut own[parent as usize];
        (*of, calls) = ((of.0 - now, of.1 - then), true);
    }
    calls.then(|| own.into_iter().map(|(now, then)| (now.max(0.0), then.max(0.0))).collect())
}

/// What a caller costs whose model may fall below those of its callees: it cannot cost less than they do, but for the little
/// that models differ by.
fn at_least(own: f64, callees: f64) -> f64 {
    if own >= INCLUDES * callees { own } else { callees }
}

/// Sums from the leaves to the roots; of names without callers the one that holds all others is as large as each of them.
fn with_callees(experiment: &Experiment, own: impl Fn(usize) -> (f64, f64), callees: &Callees) -> Vec<(f64, f64)> {
    let mut sums = vec![(0.0, 0.0); experiment.callpaths.len()];
    for (id, callpath) in experiment.callpaths.iter().enumerate().rev() {
        let (own, below) = (own(id), sums[id]);
        sums[id] = match callees.is_inclusive() {
            true => (at_least(own.0, below.0), at_least(own.1, below.1)),
            false => (own.0 + below.0, own.1 + below.1),
        };
        if let Some(parent) = callpath.parent {
            let (now, then) = sums[id];
            let of = &mut sums[parent as usize];
            *of = (of.0 + now, of.1 + then);
        }
    }
    if let Some(whole) = callees.whole {
        let most = sums.iter().fold((0.0_f64, 0.0_f64), |most, of| (most.0.max(of.0), most.1.max(of.1)));
        let of = &mut sums[whole as usize];
        *of = (at_least(of.0, most.0), at_least(of.1, most.1));
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{ExperimentBuilder, Metric, OverRanks, Values};
    use crate::{Options, fit};

    /// main -> (a -> b -> c, d), with times that are multiples of p.
    fn costs(own: [f64; 5], check: impl Fn(&Costs)) {
        let paths: [&[&str]; 5] =
            [&["main"], &["main", "a"], &["main", "a", "b"], &["main", "a", "b", "c"], &["main", "d"]];
        costs_of(&paths, &own, None, None, check);
    }

    fn costs_of(
        paths: &[&[&str]],
        values: &[f64],
        included: Option<Values>,
        over_ranks: Option<OverRanks>,
        check: impl Fn(&Costs),
    ) {
        let mut builder = ExperimentBuilder::new(["p"]);
        included.iter().for_each(|included| builder.include(*included));
        let metric = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks });
        for (path, own) in paths.iter().zip(values) {
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
            assert!(!costs.is_inclusive());
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
            assert!(costs.is_inclusive());
            assert!((costs.total.1 - 31.0 * 32.0).abs() < 1e-6);
            assert!((costs.total_interval.1 / costs.total.1 - 1.0).abs() < 1e-3, "{:?}", costs.total_interval);
            assert!((costs.share_then(1) - 14.0 / 31.0).abs() < 1e-9);
            assert_eq!(costs.share_then(1), costs.share_with_callees(1));
        });
    }
    /// By hand: main 31 = own 1 + a 14 (own 2 + b 12 (own 4 + c 8)) + d 16.
    #[test]
    fn own_costs_are_inclusive_ones_less_those_of_callees() {
        let check = |costs: &Costs| {
            for (id, own) in [1.0, 2.0, 4.0, 8.0, 16.0].into_iter().enumerate() {
                let found = costs.own(id as CallPathId).unwrap();
                assert!((found.then - 32.0 * own).abs() < 1e-6, "{id}: {}", found.then);
                assert!((found.share_then - own / 31.0).abs() < 1e-9 && (found.share_now - own / 31.0).abs() < 1e-9);
            }
            assert!((costs.total.1 - 31.0 * 32.0).abs() < 1e-6);
        };
        costs([1.0, 2.0, 4.0, 8.0, 16.0], check);
        costs([31.0, 14.0, 12.0, 8.0, 16.0], check);
        // Statistics over ranks are inclusive only where somebody says so, two callers are enough then.
        let paths: [&[&str]; 3] = [&["main"], &["main", "a"], &["main", "a", "b"]];
        let mean = Some(OverRanks::Mean);
        costs_of(&paths, &[9.0, 5.0, 2.0], Some(Values::Inclusive), mean, |costs| {
            assert!((costs.total.0 - 9.0 * 16.0).abs() < 1e-6);
            assert!((costs.own(1).unwrap().then - 3.0 * 32.0).abs() < 1e-6);
        });
        costs_of(&paths, &[9.0, 5.0, 2.0], None, mean, |costs| assert!((costs.total.0 - 16.0 * 16.0).abs() < 1e-6));
    }

    #[test]
    fn callers_whose_models_fall_below_their_callees_cost_what_these_do() {
        // main's own model says 9 where its callees say 10 + 2, as models of noisy sums do.
        let paths: [&[&str]; 3] = [&["main"], &["main", "a"], &["main", "b"]];
        costs_of(&paths, &[9.0, 10.0, 2.0], Some(Values::Inclusive), None, |costs| {
            assert!((costs.total.1 - 12.0 * 32.0).abs() < 1e-6);
            assert!((costs.share_then(1) - 10.0 / 12.0).abs() < 1e-9 && costs.own(0).unwrap().then == 0.0);
        });
    }

    #[test]
    fn a_whole_whose_model_falls_below_a_part_costs_what_that_does() {
        // main is 1000 + p and solve 0.9 p², which is less up to p = 16.
        let mut builder = ExperimentBuilder::new(["p"]);
        let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
        let (main, solve) = (builder.callpath(["main"]), builder.callpath(["solve"]));
        for p in [1.0, 2.0, 4.0, 8.0, 16.0] {
            let point = builder.point(&[p]);
            builder.add(main, time, point, 1000.0 + p);
            builder.add(solve, time, point, 0.9 * p * p);
        }
        let experiment = builder.finish();
        let fits = fit(&experiment, &Options::default());
        let costs = Costs::new(&experiment, &fits, time, vec![1024.0], 0.9);
        let of_solve = 0.9 * 1024.0 * 1024.0;
        assert_eq!(costs.callees.whole, Some(main));
        assert!((costs.total.1 / of_solve - 1.0).abs() < 1e-6, "{:?}", costs.total);
        assert!((costs.total.0 / 1016.0 - 1.0).abs() < 1e-3, "{:?}", costs.total);
        let at = |id: CallPathId| fits.models.iter().find(|m| m.callpath == id).map_or(0.0, |m| m.at(&[1024.0]));
        assert_eq!(costs.callees.parts_by(&experiment, at), [solve]);
    }

    #[test]
    fn flat_names_with_a_main_that_holds_all_others_are_not_added_up() {
        let paths: [&[&str]; 4] = [&["read"], &["main(int, char**)"], &["loop"], &["solve"]];
        let values = [1.0, 9.0, 8.0, 7.5];
        costs_of(&paths, &values, None, None, |costs| {
            assert_eq!(costs.callees.whole, Some(1));
            assert!((costs.total.1 - 9.0 * 32.0).abs() < 1e-6 && (costs.share_then(2) - 8.0 / 9.0).abs() < 1e-9);
            assert!(costs.own(2).is_none(), "nothing tells who calls whom");
        });
        costs_of(&paths, &values, Some(Values::Exclusive), None, |costs| {
            assert!((costs.total.1 - 25.5 * 32.0).abs() < 1e-6 && costs.own(2).is_some());
        });
        // The largest of all by another name holds nothing unless somebody says so.
        let paths: [&[&str]; 4] = [&["read"], &["sweep"], &["loop"], &["solve"]];
        costs_of(&paths, &values, None, None, |costs| assert!((costs.total.1 - 25.5 * 32.0).abs() < 1e-6));
        costs_of(&paths, &values, Some(Values::Inclusive), None, |costs| {
            assert!((costs.total.1 - 9.0 * 32.0).abs() < 1e-6);
        });
    }
}
