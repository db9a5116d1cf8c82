//! Absorption over a study: what runs with noise add to an experiment, and how the resource that binds a call path changes
//! with the parameters.
//!
//! An experiment holds the class as the metric `bound.<class>`, which is 1 where a run found it, beside
//! `absorption.<mode>` and `slack.<mode>`: plain columns, which every format keeps. Where a loop never slowed down, what it absorbs
//! is only known to be at least something; that is `at_least.<mode>`, and no value to fit a model to.

use std::collections::BTreeMap;

use poise_profile::Profile;

use super::{Bottleneck, LoopReport, Options, State, analyse, free_words};
use crate::experiment::{CallPathId, Experiment, Metric, PointId};

/// How the metrics' names begin.
const BOUND: &str = "bound.";
pub(crate) const ABSORPTION: &str = "absorption.";
pub(crate) const AT_LEAST: &str = "at_least.";
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
    for mode in &found.modes {
        let kind = match mode.state {
            State::Measured => ABSORPTION,
            State::AtLeast => AT_LEAST,
            State::Undecided => continue,
        };
        values.push((metric(format!("{kind}{}", mode.name), &per), mode.raw));
        if let Some(slack) = mode.slack_ns() {
            values.push((metric(format!("{SLACK}{}", mode.name), "s"), 1e-9 * slack));
        }
    }
    values.push((metric(format!("{BOUND}{}", found.class.name()), ""), 1.0));
    values
}

/// Whether a metric is none to model: what binds is no quantity, and what is absorbed at least grows with what was injected.
pub(crate) fn is_no_quantity(metric: &str) -> bool {
    is_class(metric) || metric.starts_with(AT_LEAST)
}

fn is_class(metric: &str) -> bool {
    metric.starts_with(BOUND)
}

/// What binds one call path, over an experiment's points.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Binding {
    /// The call path.
    pub callpath: CallPathId,
    /// The class at each point where there is one; [`Bottleneck::Undecided`] where runs differ.
    pub at: Vec<(PointId, Bottleneck)>,
}

/// Where a class begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Change {
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
pub(crate) fn bindings(experiment: &Experiment) -> Vec<Binding> {
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

/// Whether so many points with a class speak for all that were measured: at least half of them, and two unless there are fewer.
fn speak_for(decided: usize, measured: usize) -> bool {
    2 * decided >= measured && decided >= measured.min(2)
}

impl Binding {
    fn decided(&self) -> impl Iterator<Item = (PointId, Bottleneck)> {
        self.at.iter().copied().filter(|(_, class)| *class != Bottleneck::Undecided)
    }

    /// Whether anything but the core binds the call path: everywhere, on one side of a change, or else at two points at least,
    /// where enough points have a class. What few say is not worth giving up the shape that basic blocks have.
    #[must_use]
    pub fn leaves_the_core(&self, experiment: &Experiment) -> bool {
        if let Some(class) = self.everywhere() {
            return !class.is_in_the_core();
        }
        if let Some(Change { before, after, .. }) = self.change(experiment) {
            return !(before.is_in_the_core() && after.is_in_the_core());
        }
        let beyond = self.decided().filter(|(_, class)| !class.is_in_the_core()).count();
        speak_for(self.decided().count(), self.at.len()) && beyond >= 2
    }

    /// The class, if all points that have one agree, and are enough to speak for the others.
    #[must_use]
    pub fn everywhere(&self) -> Option<Bottleneck> {
        let class = self.only_class()?;
        speak_for(self.decided().count(), self.at.len()).then_some(class)
    }

    /// The class of all points that have one, however few.
    fn only_class(&self) -> Option<Bottleneck> {
        let first = self.decided().next()?.1;
        self.decided().all(|(_, class)| class == first).then_some(first)
    }

    /// Where the class changes, if one value of one parameter parts the points of two classes, which on either side are
    /// enough to speak for the others there.
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
        let speaks = |is_there: &dyn Fn(f64) -> bool| {
            let at = |point: PointId| is_there(experiment.points[point as usize][parameter]);
            let measured = self.at.iter().filter(|(point, _)| at(*point)).count();
            speak_for(self.decided().filter(|(point, _)| at(*point)).count(), measured)
        };
        // Points between the two are on neither side, and undecided.
        let speak = speaks(&|_| true) && speaks(&|x| x <= below) && speaks(&|x| x >= above);
        (parted && below < above && speak).then_some(Change { parameter, below, above, before, after })
    }

    /// The sentence for people; `None` where no point has a class.
    ///
    /// From p = 700 on, solve is bound by memory bandwidth; about 60 floating-point instructions per iteration are free;
    /// before, it is bound by arithmetic.
    #[must_use]
    pub fn sentence(&self, experiment: &Experiment) -> Option<String> {
        let name = &experiment.callpaths[self.callpath as usize].name;
        if let Some(class) = self.everywhere() {
            let free = self.free(experiment, class, |_| true);
            return Some(format!("{name} is bound by {}{free}.", class.binds()));
        }
        if let Some(Change { parameter, above, before, after, .. }) = self.change(experiment) {
            let free = self.free(experiment, after, |x| x[parameter] >= above);
            return Some(format!(
                "From {} = {above} on, {name} is bound by {}{free}; before, it is bound by {}.",
                experiment.parameters[parameter],
                after.binds(),
                before.binds()
            ));
        }
        self.by_point(experiment, name)
    }

    /// The sentence where no class holds for all points: what was found at which, and nothing of the others.
    fn by_point(&self, experiment: &Experiment, name: &str) -> Option<String> {
        let all = self.at.len();
        let decided: Vec<(PointId, Bottleneck)> = self.decided().collect();
        if let Some(class) = self.only_class() {
            let place = match decided.as_slice() {
                [(point, _)] => coordinates(experiment, *point),
                several => format!("{} of {all} points", several.len()),
            };
            return Some(format!("At {place}, {name} is bound by {}; elsewhere undecided.", class.binds()));
        }
        let mut counts: BTreeMap<Bottleneck, usize> = BTreeMap::new();
        decided.iter().for_each(|&(_, class)| *counts.entry(class).or_insert(0) += 1);
        let mut parts: Vec<String> = counts.iter().map(|(class, n)| format!("{} at {n}", class.binds())).collect();
        if decided.len() < all {
            parts.push(format!("undecided at {}", all - decided.len()));
        }
        (!decided.is_empty())
            .then(|| format!("What binds {name} depends on the point: of {all} points, {}.", parts.join(", ")))
    }

    /// What is free at the points that `wanted` holds, which this binds: the median. It is a lower bound itself where a value at or below it is
    /// one, which may be above it in truth.
    fn free(&self, experiment: &Experiment, class: Bottleneck, wanted: impl Fn(&[f64]) -> bool) -> String {
        for mode in ["fp_add64", "fp_mul64", "int64_add"] {
            let mut values: Vec<(f64, State)> = Vec::new();
            let mut unit = "iteration";
            for (kind, state) in [(ABSORPTION, State::Measured), (AT_LEAST, State::AtLeast)] {
                let name = format!("{kind}{mode}");
                let Some(id) = experiment.metrics.iter().position(|metric| metric.name == name) else { continue };
                let Some(series) = experiment.series_of(self.callpath, id as u32) else { continue };
                unit = experiment.metrics[id].unit.rsplit(' ').next().unwrap_or(unit);
                let measured = experiment.measurements(series).filter(|(x, _)| wanted(x));
                values.extend(measured.flat_map(|(_, values)| values.to_vec()).map(|value| (value, state)));
            }
            values.sort_by(|a, b| a.0.total_cmp(&b.0));
            let Some(&(free, _)) = values.get(values.len() / 2).filter(|(free, _)| *free >= 1.0) else { continue };
            let is_bound = values.iter().any(|&(value, state)| value <= free && state == State::AtLeast);
            let state = if is_bound { State::AtLeast } else { State::Measured };
            return format!("; {}", free_words(mode, class, free, state, unit));
        }
        String::new()
    }
}

/// `p = 2, n = 262144`.
fn coordinates(experiment: &Experiment, point: PointId) -> String {
    let values = experiment.parameters.iter().zip(&experiment.points[point as usize]);
    values.map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

/// The sentences of all call paths that have one, with their call paths.
///
/// ```
/// use modeler::absorption::scaling::sentences;
/// # use modeler::experiment::{ExperimentBuilder, Metric};
/// # let mut builder = ExperimentBuilder::new(["p"]);
/// # let solve = builder.callpath(["main", "solve"]);
/// # let bound = builder.metric(Metric { name: "bound.latency".into(), unit: String::new(), over_ranks: None });
/// # for p in [2.0, 4.0, 8.0] {
/// #     let point = builder.point(&[p]);
/// #     builder.add(solve, bound, point, 1.0);
/// # }
/// # let experiment = builder.finish();
/// // Runs with noise at three points, each of which found latency.
/// assert_eq!(sentences(&experiment), [(solve, "solve is bound by the latency of memory.".to_owned())]);
/// ```
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

    /// Points over p and n of which the first are of this class and all others undecided.
    fn few(decided: usize, class: Bottleneck, of: usize) -> Vec<(f64, f64, Bottleneck, f64)> {
        let class = |i| if i < decided { class } else { Undecided };
        (0..of).map(|i| (2.0, f64::from(1 << i as u32), class(i), 2.0)).collect()
    }

    fn leaves_the_core(runs: &[(f64, f64, Bottleneck, f64)]) -> bool {
        let experiment = experiment(runs);
        binding(&experiment, 1).unwrap().leaves_the_core(&experiment)
    }

    #[test]
    fn few_points_do_not_speak_for_the_others() {
        let one = few(1, Bandwidth, 16);
        assert_eq!(
            sentence(&one).unwrap(),
            "At p = 2, n = 1, solve is bound by memory bandwidth; elsewhere undecided."
        );
        assert!(!leaves_the_core(&one));
        let seven = few(7, Bandwidth, 16);
        let expected = "At 7 of 16 points, solve is bound by memory bandwidth; elsewhere undecided.";
        assert_eq!(sentence(&seven).unwrap(), expected);
        assert!(!leaves_the_core(&seven));
        let half = few(8, Bandwidth, 16);
        assert!(sentence(&half).unwrap().starts_with("solve is bound by memory bandwidth; about 2 floating-point"));
        assert!(leaves_the_core(&half) && !leaves_the_core(&few(8, Compute, 16)));
        // One of two is half, but it is one; one of one is all there is.
        assert!(!leaves_the_core(&few(1, Latency, 2)) && leaves_the_core(&few(1, Latency, 1)));
    }

    #[test]
    fn a_change_needs_enough_points_on_either_side() {
        // Four small sizes in the core; of four large ones as many as this wait for memory, the others nobody knows.
        let sizes = |beyond: usize| {
            let mut runs = few(4, Compute, 4);
            let large = few(beyond, Bandwidth, 4);
            runs.extend(large.into_iter().map(|(p, n, class, free)| (p, 100.0 * n, class, free)));
            runs
        };
        assert!(sentence(&sizes(2)).unwrap().starts_with("From n = 100 on, solve is bound by memory bandwidth"));
        assert!(leaves_the_core(&sizes(2)));
        let expected = "What binds solve depends on the point: of 8 points, arithmetic at 4, memory bandwidth at 1, undecided at 3.";
        assert_eq!(sentence(&sizes(1)).unwrap(), expected);
        assert!(!leaves_the_core(&sizes(1)));
        // Nor do two points with five between them of which nobody knows anything.
        let mut apart = [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0].map(|p| (p, 1.0, Undecided, 0.0));
        (apart[0].2, apart[6].2) = (Compute, Bandwidth);
        assert!(!sentence(&apart).unwrap().starts_with("From p") && !leaves_the_core(&apart));
        // No value parts these, but memory binds two of them for certain.
        let mixed = [(2.0, 1.0, Latency, 0.0), (4.0, 1.0, Compute, 0.0), (8.0, 1.0, Latency, 0.0)];
        assert!(leaves_the_core(&mixed) && !leaves_the_core(&[mixed[1], mixed[0], (2.0, 2.0, Compute, 0.0)]));
    }

    /// Where nothing slowed down, what is free is only known from below.
    #[test]
    fn lower_bounds_are_told_as_such() {
        let free = |absorbed: &[(&str, f64)]| {
            let mut builder = ExperimentBuilder::new(["n"]);
            let solve = builder.callpath(["solve"]);
            for (n, &(kind, value)) in (1u32..).zip(absorbed) {
                let point = builder.point(&[f64::from(n)]);
                let mut add = |name: String, value| {
                    let unit = "instructions per iteration".into();
                    let metric = builder.metric(Metric { name, unit, over_ranks: None });
                    builder.add(solve, metric, point, value);
                };
                add("bound.latency".into(), 1.0);
                add(format!("{kind}.int64_add"), value);
            }
            sentences(&builder.finish()).remove(0).1
        };
        let told = |words: &str| format!("solve is bound by the latency of memory; {words} per iteration are free.");
        let exact = [("absorption", 4.0), ("absorption", 6.0), ("absorption", 9.0)];
        assert_eq!(free(&exact), told("about 6 integer instructions"));
        // 64 or more is above the median whatever it is, 2 or more may not be below it.
        assert_eq!(free(&[exact[0], exact[1], ("at_least", 64.0)]), told("about 6 integer instructions"));
        assert_eq!(free(&[("at_least", 2.0), exact[1], exact[2]]), told("at least 6 integer instructions"));
        assert!(is_no_quantity("at_least.nop") && is_no_quantity("bound.latency") && !is_no_quantity("absorption.nop"));
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
