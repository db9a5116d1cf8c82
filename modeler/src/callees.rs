//! Whether values of call paths hold those of their callees, and which call paths together are the whole program.
//!
//! Our own runs and profiles of tools say it; text formats do not. Then it is judged from what was measured: in a call tree
//! from callers that are as large as their callees, and among flat names from a `main` that is the largest of all. Whatever
//! is assumed is told in a sentence, since every total and share stands on it.

use std::collections::BTreeMap;

use crate::experiment::{CallPathId, Experiment, MetricId, PointId, Values, median};

/// How much larger than its callees together a caller has to be, at least, if its values include them. Noise may make
/// it a little smaller.
pub(crate) const INCLUDES: f64 = 0.95;
/// So many callers with callees tell whether values are inclusive; fewer could be so by chance.
const CALLERS: usize = 3;
/// What the call path of a whole program is called, in lower case and without arguments.
const WHOLES: [&str; 12] = [
    "main",
    "main__",
    "main.main",
    "_start",
    "__libc_start_main",
    "<root>",
    "<program root>",
    "program",
    "<program>",
    "application",
    ".tau application",
    "total",
];

/// How the values of one metric make up the whole program.
///
/// ```
/// use modeler::{callees::{Callees, Known}, experiment::Values};
/// let text = "PARAMETER p\nPOINTS 2 4\nREGION main\nMETRIC time\nDATA 1\nDATA 2\nREGION main->solve\nMETRIC time\nDATA 5\nDATA 9\n";
/// let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?.experiment;
/// // A caller that is smaller than its callee does not hold it.
/// let expected = Callees { values: Values::Exclusive, known: Known::Assumed, whole: None };
/// assert_eq!(Callees::of(&experiment, 0), expected);
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Callees {
    /// Whether the values of a call path hold those of its callees.
    pub values: Values,
    /// How that is known.
    pub known: Known,
    /// Among inclusive values of names without callers, the one that holds all others, where there is one.
    pub whole: Option<CallPathId>,
}

/// How it is known what values include.
///
/// ```
/// use modeler::{ExperimentBuilder, callees::{Callees, Known}, experiment::{Metric, Values}};
/// let mut builder = ExperimentBuilder::new(["p"]);
/// let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
/// builder.include(Values::Inclusive);
/// assert_eq!(Callees::of(&builder.finish(), time).known, Known::Said);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// The input, its reader or the user says it.
    Said,
    /// Every caller is as large as its callees together, or one name of a whole program is the largest at every point.
    Judged,
    /// Nothing tells; values are taken to be exclusive.
    Assumed,
}

impl Callees {
    /// What the values of `metric` include.
    ///
    /// ```
    /// use modeler::callees::{Callees, Known};
    /// use modeler::experiment::{ExperimentBuilder, Metric, Values};
    ///
    /// let mut builder = ExperimentBuilder::new(["p"]);
    /// let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
    /// for (name, seconds) in [("main()", 9.0), ("read", 1.0), ("loop", 8.0), ("solve", 7.5)] {
    ///     let callpath = builder.callpath([name]);
    ///     for p in [1.0, 2.0] {
    ///         let point = builder.point(&[p]);
    ///         builder.add(callpath, time, point, seconds * p);
    ///     }
    /// }
    /// let found = Callees::of(&builder.finish(), time);
    /// assert_eq!(found, Callees { values: Values::Inclusive, known: Known::Judged, whole: Some(0) });
    /// ```
    #[must_use]
    pub fn of(experiment: &Experiment, metric: MetricId) -> Self {
        let is_flat = experiment.callpaths.iter().all(|c| c.parent.is_none());
        let exclusive = |known| Self { values: Values::Exclusive, known, whole: None };
        let inclusive = |known, whole| Self { values: Values::Inclusive, known, whole };
        match experiment.included {
            Some(Values::Exclusive) => return exclusive(Known::Said),
            Some(Values::Inclusive) if is_flat => {
                return inclusive(Known::Said, Table::of(experiment, metric).largest());
            }
            Some(Values::Inclusive) => return inclusive(Known::Said, None),
            None => {}
        }
        // Statistics over ranks are those of our own runs and of profiles, whose times are exclusive.
        if experiment.metrics[metric as usize].over_ranks.is_some() {
            return exclusive(Known::Assumed);
        }
        let table = Table::of(experiment, metric);
        if !is_flat {
            return if table.callers_hold() { inclusive(Known::Judged, None) } else { exclusive(Known::Assumed) };
        }
        let names_a_program = |&id: &CallPathId| is_program(&experiment.callpaths[id as usize].name);
        let whole = table.largest().filter(names_a_program).filter(|_| table.medians.len() > 1);
        whole.map_or(exclusive(Known::Assumed), |whole| inclusive(Known::Judged, Some(whole)))
    }

    /// Whether values hold those of callees.
    #[must_use]
    pub(crate) fn is_inclusive(&self) -> bool {
        self.values == Values::Inclusive
    }

    /// The call paths whose values add up to the whole program: all, or of inclusive values those that no other holds.
    ///
    /// ```
    /// use modeler::{ExperimentBuilder, callees::Callees, experiment::{Metric, Values}};
    /// let of = |values| {
    ///     let mut builder = ExperimentBuilder::new(["p"]);
    ///     let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
    ///     builder.include(values);
    ///     let point = builder.point(&[2.0]);
    ///     for (names, seconds) in [(&["main"][..], 3.0), (&["main", "solve"], 2.0)] {
    ///         let callpath = builder.callpath(names);
    ///         builder.add(callpath, time, point, seconds);
    ///     }
    ///     let experiment = builder.finish();
    ///     Callees::of(&experiment, time).parts(&experiment, time)
    /// };
    /// assert_eq!(of(Values::Exclusive), [0, 1]); // 3 s + 2 s
    /// assert_eq!(of(Values::Inclusive), [0]); // `main` holds `solve`
    /// ```
    #[must_use]
    pub fn parts(&self, experiment: &Experiment, metric: MetricId) -> Vec<CallPathId> {
        let mut is_measured = vec![false; experiment.callpaths.len()];
        let of_metric = experiment.series.iter().filter(|s| s.metric == metric);
        of_metric.for_each(|series| is_measured[series.callpath as usize] = true);
        // What was measured stands for itself, however large its callees are.
        let value = |id: CallPathId| if is_measured[id as usize] { f64::INFINITY } else { 0.0 };
        let mut parts = self.parts_by(experiment, value);
        parts.retain(|&id| is_measured[id as usize]);
        parts
    }

    /// The call paths that make up the whole program where each has this `value`, by a model say: a caller that falls below its
    /// callees together, or that has no value, is replaced by them.
    pub(crate) fn parts_by(&self, experiment: &Experiment, value: impl Fn(CallPathId) -> f64) -> Vec<CallPathId> {
        let ids = 0..experiment.callpaths.len() as CallPathId;
        if self.values == Values::Exclusive {
            return ids.collect();
        }
        let mut below: Vec<(f64, Vec<CallPathId>)> = vec![(0.0, Vec::new()); experiment.callpaths.len()];
        let mut roots: Vec<(f64, Vec<CallPathId>)> = Vec::new();
        // Callers stand before callees, so from the back each knows what stands for its own.
        for id in ids.rev() {
            let (own, callees) = (value(id), std::mem::take(&mut below[id as usize]));
            let part = if own > 0.0 && own >= INCLUDES * callees.0 { (own, vec![id]) } else { callees };
            match experiment.callpaths[id as usize].parent {
                Some(parent) => {
                    below[parent as usize].0 += part.0;
                    below[parent as usize].1.extend(part.1);
                }
                None => roots.push(part),
            }
        }
        let Some(whole) = self.whole else { return roots.into_iter().flat_map(|(_, part)| part).collect() };
        let largest =
            (0..experiment.callpaths.len() as CallPathId).rev().max_by(|&a, &b| value(a).total_cmp(&value(b)));
        let most = largest.map_or(0.0, &value);
        if value(whole) >= INCLUDES * most { vec![whole] } else { largest.into_iter().collect() }
    }

    /// What was taken for granted about totals and shares, in full sentences; nothing where the input says that values are
    /// exclusive, or where there is only one call path.
    ///
    /// ```
    /// use modeler::{callees::{Callees, Known}, experiment::Values};
    /// let text = "PARAMETER p\nPOINTS 2 4\nREGION main->solve\nMETRIC time\nDATA 5\nDATA 9\n";
    /// let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?.experiment;
    /// let callees = Callees { values: Values::Exclusive, known: Known::Said, whole: None };
    /// assert_eq!(callees.sentence(&experiment), None); // nothing was taken for granted
    /// let callees = Callees { known: Known::Assumed, ..callees };
    /// assert!(callees.sentence(&experiment).is_some_and(|said| said.starts_with("Values are taken to be exclusive")));
    /// # Ok::<(), modeler::formats::ReadError>(())
    /// ```
    #[must_use]
    pub fn sentence(&self, experiment: &Experiment) -> Option<String> {
        if experiment.callpaths.len() < 2 {
            return None;
        }
        let name = |id: CallPathId| &experiment.callpaths[id as usize].name;
        let is_flat = experiment.callpaths.iter().all(|c| c.parent.is_none());
        Some(match (self.values, self.known, self.whole) {
            (Values::Exclusive, Known::Said, _) => return None,
            (Values::Exclusive, ..) => "Values are taken to be exclusive, since the input does not tell: the total is the sum of all call \
                                        paths. Give --inclusive if they hold those of callees, else --exclusive."
                .to_owned(),
            (Values::Inclusive, Known::Said, Some(whole)) => format!(
                "Values hold those of callees: the total is that of {}, which is the largest at every point.",
                name(whole)
            ),
            (Values::Inclusive, Known::Said, None) if is_flat => {
                "Values hold those of callees, and no call path is the largest at every point: the total is the sum of all, which is \
                 too large where they call each other."
                    .to_owned()
            }
            (Values::Inclusive, Known::Said, None) => {
                "Values hold those of callees: the total is the sum of the outermost call paths.".to_owned()
            }
            (Values::Inclusive, _, Some(whole)) => format!(
                "Values are taken to hold those of callees, since {} is the largest at every point: it is the total. --exclusive adds \
                 all call paths up instead.",
                name(whole)
            ),
            (Values::Inclusive, _, None) => "Values are taken to hold those of callees, since callers are as large as their callees \
                                             together: the total is the sum of the outermost call paths. --exclusive adds all up \
                                             instead."
                .to_owned(),
        })
    }
}

/// Whether a name is that of a whole program.
fn is_program(name: &str) -> bool {
    let lower = name.trim().to_lowercase();
    let plain = lower.split_once('(').map_or(lower.as_str(), |(plain, _)| plain.trim_end());
    WHOLES.contains(&plain.trim_start_matches("int "))
}

/// The middle measurements of one metric, by call path and point.
struct Table<'a> {
    experiment: &'a Experiment,
    medians: BTreeMap<CallPathId, BTreeMap<PointId, f64>>,
}

impl<'a> Table<'a> {
    fn of(experiment: &'a Experiment, metric: MetricId) -> Self {
        let of_series = |series: &crate::experiment::Series| {
            let points = experiment.layouts[series.layout as usize].points.iter().copied();
            (series.callpath, points.zip(experiment.measurements(series).map(|(_, values)| median(values))).collect())
        };
        let medians = experiment.series.iter().filter(|s| s.metric == metric).map(of_series).collect();
        Self { experiment, medians }
    }

    /// The call path that is at least as large as every other at every point, if there is one.
    fn largest(&self) -> Option<CallPathId> {
        let sum = |id: &CallPathId| self.medians[id].values().sum::<f64>();
        let largest = self.medians.keys().copied().max_by(|a, b| sum(a).total_cmp(&sum(b)).then(b.cmp(a)))?;
        let own = &self.medians[&largest];
        // A call path that holds nearly all of another's time may be measured below it by noise.
        let is_held = |(point, value): (&PointId, &f64)| own.get(point).is_some_and(|most| *most >= INCLUDES * value);
        self.medians.values().all(|of| of.iter().all(is_held)).then_some(largest)
    }

    /// Whether callers are as large as their callees together throughout.
    fn callers_hold(&self) -> bool {
        let mut callees: BTreeMap<CallPathId, f64> = BTreeMap::new();
        for (id, values) in &self.medians {
            let Some(parent) = self.experiment.callpaths[*id as usize].parent else { continue };
            let Some(of_parent) = self.medians.get(&parent) else {
                *callees.entry(parent).or_default() += values.values().sum::<f64>();
                continue;
            };
            // Only where both were measured can they be compared.
            let mut common: Vec<(PointId, f64)> = values.iter().map(|(p, v)| (*p, *v)).collect();
            common.retain(|(point, _)| of_parent.contains_key(point));
            *callees.entry(parent).or_default() += common.iter().map(|(_, v)| v).sum::<f64>();
        }
        let own = |id: &CallPathId| self.medians.get(id).map_or(0.0, |of| of.values().sum());
        let callers: Vec<(f64, f64)> =
            callees.iter().filter(|(_, sum)| **sum > 0.0).map(|(id, sum)| (own(id), *sum)).collect();
        callers.len() >= CALLERS && callers.iter().all(|(own, callees)| *own >= INCLUDES * callees)
    }
}
