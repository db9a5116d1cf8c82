//! Absorption over a study: what runs with noise add to an experiment, and how the resource that binds a call path changes
//! with the parameters.
//!
//! An experiment holds the class as the metric `bound.<class>`, which is 1 where a run found it, beside
//! `absorption.<mode>` and `slack.<mode>`: plain columns, which every format keeps.

use std::collections::BTreeMap;

use poise_profile::Profile;

use super::{Bottleneck, LoopReport, Options, State, analyse, free_words};
use crate::experiment::{CallPathId, Experiment, Metric, PointId};

/// How the metrics' names begin.
const BOUND: &str = "bound.";
const ABSORPTION: &str = "absorption.";
const SLACK: &str = "slack.";
/// Replicates of the bootstrap, fewer than for the intervals that people read.
const REPLICATES: usize = 120;

/// What the loop that takes most of the time of one call path adds to an experiment.
pub(crate) struct Added {
    /// The call path's node in the profile.
    pub node: u32,
    /// Metrics and their values.
    pub values: Vec<(Metric, f64)>,
}

/// What a run's noise says of each call path that has any. At a call path with several loops the one counts that takes
/// most time.
pub(crate) fn of_run(profile: &Profile) -> Vec<Added> {
    if profile.noise.series.is_empty() {
        return Vec::new();
    }
    let report = analyse(profile, &|_| None, &Options { replicates: REPLICATES, ..Options::default() });
    let mut main: BTreeMap<u32, &LoopReport> = BTreeMap::new();
    for found in &report.loops {
        let known = main.entry(found.node).or_insert(found);
        if found.total_ns > known.total_ns {
            *known = found;
        }
    }
    main.into_iter().map(|(node, found)| Added { node, values: values(found) }).collect()
}

fn values(found: &LoopReport) -> Vec<(Metric, f64)> {
    let metric = |name: String, unit: &str| Metric { name, unit: unit.into(), over_ranks: None };
    let mut values = Vec::new();
    let per = format!("instructions per {}", found.unit());
    for mode in found.modes.iter().filter(|mode| mode.state != State::Undecided) {
        values.push((metric(format!("{ABSORPTION}{}", mode.name), &per), mode.raw));
        if let Some(slack) = mode.slack_ns() {
            values.push((metric(format!("{SLACK}{}", mode.name), "s"), 1e-9 * slack));
        }
    }
    values.push((metric(format!("{BOUND}{}", found.class.name()), ""), 1.0));
    values
}

/// Whether a metric says what binds and is no quantity of its own.
pub(crate) fn is_class(metric: &str) -> bool {
    metric.starts_with(BOUND)
}

/// What binds one call path, over an experiment's points.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    /// The call path.
    pub callpath: CallPathId,
    /// The class at each point where there is one; [`Bottleneck::Undecided`] where runs differ.
    pub at: Vec<(PointId, Bottleneck)>,
}

/// Where a class begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Index of the parameter.
    pub parameter: usize,
    /// Its largest value below.
    pub below: f64,
    /// Its smallest value above.
    pub above: f64,
    /// The class below.
    pub before: Bottleneck,
    /// The class above.
    pub after: Bottleneck,
}

/// What binds the call paths of an experiment that were measured with noise.
#[must_use]
pub fn bindings(experiment: &Experiment) -> Vec<Binding> {
    if !experiment.metrics.iter().any(|metric| is_class(&metric.name)) {
        return Vec::new();
    }
    (0..experiment.callpaths.len() as CallPathId).filter_map(|callpath| binding(experiment, callpath)).collect()
}

/// What binds one call path.
pub(crate) fn binding(experiment: &Experiment, callpath: CallPathId) -> Option<Binding> {
    let mut votes: BTreeMap<PointId, BTreeMap<Bottleneck, u32>> = BTreeMap::new();
    for (class, name) in Bottleneck::ALL {
        let wanted = format!("{BOUND}{name}");
        let metrics = experiment.metrics.iter().enumerate().filter(|(_, metric)| metric.name == wanted);
        for (id, _) in metrics {
            let Some(series) = experiment.series_of(callpath, id as u32) else { continue };
            let layout = &experiment.layouts[series.layout as usize];
            for (&point, &runs) in layout.points.iter().zip(&layout.repetitions) {
                *votes.entry(point).or_default().entry(class).or_insert(0) += runs;
            }
        }
    }
    let at: Vec<(PointId, Bottleneck)> = votes.into_iter().map(|(point, votes)| (point, elected(&votes))).collect();
    (!at.is_empty()).then_some(Binding { callpath, at })
}

/// The class that all runs found that found one.
fn elected(votes: &BTreeMap<Bottleneck, u32>) -> Bottleneck {
    let mut decided = votes.keys().filter(|class| **class != Bottleneck::Undecided);
    match (decided.next(), decided.next()) {
        (Some(class), None) => *class,
        _ => Bottleneck::Undecided,
    }
}

impl Binding {
    fn decided(&self) -> impl Iterator<Item = (PointId, Bottleneck)> {
        self.at.iter().copied().filter(|(_, class)| *class != Bottleneck::Undecided)
    }

    /// Whether anything but the core binds the call path at some point.
    #[must_use]
    pub fn leaves_the_core(&self) -> bool {
        self.decided().any(|(_, class)| !class.is_in_the_core())
    }

    /// The class, if all points that have one agree.
    #[must_use]
    pub fn everywhere(&self) -> Option<Bottleneck> {
        let first = self.decided().next()?.1;
        self.decided().all(|(_, class)| class == first).then_some(first)
    }

    /// Where the class changes, if one value of one parameter parts the points of two classes.
    #[must_use]
    pub fn change(&self, experiment: &Experiment) -> Option<Change> {
        (0..experiment.parameters.len()).find_map(|parameter| self.change_in(experiment, parameter))
    }

    fn change_in(&self, experiment: &Experiment, parameter: usize) -> Option<Change> {
        let mut sorted: Vec<(f64, Bottleneck)> =
            self.decided().map(|(point, class)| (experiment.points[point as usize][parameter], class)).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let place = sorted.windows(2).position(|pair| pair[0].1 != pair[1].1)?;
        let ((below, before), (above, after)) = (sorted[place], sorted[place + 1]);
        let parted = sorted.iter().all(|&(x, class)| if x <= below { class == before } else { class == after });
        (parted && below < above).then_some(Change { parameter, below, above, before, after })
    }

    /// The sentence for people; `None` where no point has a class.
    ///
    /// From p = 700 on, solve is bound by memory bandwidth; about 60 floating-point instructions per iteration are free;
    /// before, it is bound by arithmetic.
    #[must_use]
    pub fn sentence(&self, experiment: &Experiment) -> Option<String> {
        let name = &experiment.callpaths[self.callpath as usize].name;
        if let Some(class) = self.everywhere() {
            let free = self.free(experiment, |_| true);
            return Some(format!("{name} is bound by {}{free}.", class.binds()));
        }
        if let Some(Change { parameter, above, before, after, .. }) = self.change(experiment) {
            let free = self.free(experiment, |x| x[parameter] >= above);
            return Some(format!(
                "From {} = {above} on, {name} is bound by {}{free}; before, it is bound by {}.",
                experiment.parameters[parameter],
                after.binds(),
                before.binds()
            ));
        }
        let mut counts: BTreeMap<Bottleneck, u32> = BTreeMap::new();
        self.decided().for_each(|(_, class)| *counts.entry(class).or_insert(0) += 1);
        let parts: Vec<String> = counts.iter().map(|(class, n)| format!("{} at {n}", class.binds())).collect();
        let all = self.at.len();
        (!parts.is_empty())
            .then(|| format!("What binds {name} depends on the point: of {all} points, {}.", parts.join(", ")))
    }

    /// What is free at the points that `wanted` holds: the median.
    fn free(&self, experiment: &Experiment, wanted: impl Fn(&[f64]) -> bool) -> String {
        for mode in ["fp_add64", "fp_mul64", "int64_add"] {
            let name = format!("{ABSORPTION}{mode}");
            let Some(id) = experiment.metrics.iter().position(|metric| metric.name == name) else { continue };
            let Some(series) = experiment.series_of(self.callpath, id as u32) else { continue };
            let measured = experiment.measurements(series).filter(|(x, _)| wanted(x));
            let mut values: Vec<f64> = measured.flat_map(|(_, values)| values.to_vec()).collect();
            values.sort_by(f64::total_cmp);
            let Some(&free) = values.get(values.len() / 2).filter(|&&free| free >= 1.0) else { continue };
            let unit = experiment.metrics[id].unit.rsplit(' ').next().unwrap_or("iteration");
            return format!("; {}", free_words(mode, free, State::Measured, unit));
        }
        String::new()
    }
}

/// The sentences of all call paths that have one, with their call paths.
#[must_use]
pub fn sentences(experiment: &Experiment) -> Vec<(CallPathId, String)> {
    let all = bindings(experiment);
    all.iter().filter_map(|binding| Some((binding.callpath, binding.sentence(experiment)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::ExperimentBuilder;

    /// An experiment over p and n whose runs say this of `main -> solve`.
    fn experiment(runs: &[(f64, f64, Bottleneck, f64)]) -> Experiment {
        let mut builder = ExperimentBuilder::new(["p", "n"]);
        let solve = builder.callpath(["main", "solve"]);
        for &(p, n, class, free) in runs {
            let point = builder.point(&[p, n]);
            let plain = |name: String, unit: &str| Metric { name, unit: unit.into(), over_ranks: None };
            let bound = builder.metric(plain(format!("bound.{}", class.name()), ""));
            builder.add(solve, bound, point, 1.0);
            let absorbed = builder.metric(plain("absorption.fp_add64".into(), "instructions per iteration"));
            builder.add(solve, absorbed, point, free);
        }
        builder.finish()
    }

    fn sentence(runs: &[(f64, f64, Bottleneck, f64)]) -> Option<String> {
        sentences(&experiment(runs)).into_iter().next().map(|(_, sentence)| sentence)
    }

    use Bottleneck::{Bandwidth, Compute, Latency, Undecided};

    #[test]
    fn a_change_is_told_with_what_is_free_beyond() {
        let runs = [
            (128.0, 1.0, Compute, 2.0),
            (512.0, 2.0, Compute, 3.0),
            (700.0, 1.0, Bandwidth, 58.0),
            (900.0, 2.0, Undecided, 61.0),
            (1024.0, 2.0, Bandwidth, 60.0),
        ];
        let expected = "From p = 700 on, solve is bound by memory bandwidth; about 60 floating-point instructions per \
                        iteration are free; before, it is bound by arithmetic.";
        assert_eq!(sentence(&runs).unwrap(), expected);
        let experiment = experiment(&runs);
        let change = binding(&experiment, 1).unwrap().change(&experiment).unwrap();
        assert_eq!((change.parameter, change.below, change.above), (0, 512.0, 700.0));
    }

    #[test]
    fn one_class_everywhere_and_many_classes_are_told() {
        let same = [(2.0, 1.0, Latency, 0.0), (4.0, 1.0, Latency, 0.0)];
        assert_eq!(sentence(&same).unwrap(), "solve is bound by the latency of memory.");
        let mixed = [(2.0, 1.0, Latency, 0.0), (4.0, 1.0, Compute, 0.0), (8.0, 1.0, Latency, 0.0)];
        let expected =
            "What binds solve depends on the point: of 3 points, arithmetic at 1, the latency of memory at 2.";
        assert_eq!(sentence(&mixed).unwrap(), expected);
        assert_eq!(sentence(&[(2.0, 1.0, Undecided, 9.0)]), None);
    }

    /// Repetitions that contradict each other decide nothing; one that is undecided leaves the decision to the other.
    #[test]
    fn repetitions_must_agree() {
        let differ = experiment(&[(2.0, 1.0, Compute, 0.0), (2.0, 1.0, Bandwidth, 9.0)]);
        assert_eq!(binding(&differ, 1).unwrap().at, [(0, Undecided)]);
        let agree = experiment(&[(2.0, 1.0, Undecided, 0.0), (2.0, 1.0, Bandwidth, 9.0)]);
        assert_eq!(binding(&agree, 1).unwrap().at, [(0, Bandwidth)]);
        assert_eq!(binding(&agree, 0), None);
    }
}
