//! Predictions beyond what was measured: over a short range a shape that was searched in times alone may be another one's, and what a
//! parameter of one value does was not measured at all.

use super::costs::Costs;
use super::markup::counted;
use super::quantity::{coordinate, percent};
use super::ranking::{Ranked, ranked_metric};
use super::rests::rest;
use super::turn::turn;
use crate::cross;
use crate::experiment::Experiment;
use crate::fit::Fits;
use crate::model::{Method, Model};
use crate::verdict::{is_far, is_far_below};
use crate::warning::{self, Code};
use std::collections::{BTreeMap, BTreeSet};

/// Where less of the predicted cost stands on such shapes, the ranking says nothing of it.
const LEAST: f64 = 0.05;

/// Of so many points one that was left out is missed.
const FEW: usize = 8;

/// Parameters that follow a power of each other do so up to this, of their logarithms: sizes are whole numbers.
const ALIKE: f64 = 0.1;

/// The parameters along which the target lies far beyond what was measured: `size = 90 after 25 to 45`, or `size = 5 below 25 to 45`.
fn far(experiment: &Experiment, target: &[f64]) -> Vec<String> {
    let along = |(l, values): (usize, Vec<f64>)| {
        let (low, high) = (*values.first()?, *values.last()?);
        let target = target[l];
        let side = match target > high {
            true => is_far((low, high), target).then_some("after"),
            false => is_far_below((low, high), target).then_some("below"),
        };
        let [low, high, target] = [low, high, target].map(coordinate);
        Some(format!("{} = {target} {} {low} to {high}", experiment.parameters[l], side?))
    };
    experiment.levels().into_iter().enumerate().filter_map(along).collect()
}

/// That a parameter has one value in all points and another at the target, or that parameters change together at all points and not there,
/// in a sentence; nothing where that is not so.
///
/// ```
/// let text = "PARAMETER p\nPARAMETER n\nPOINTS ( 2 10 ) ( 2 20 )\nREGION solve\nMETRIC time\nDATA 1\nDATA 2\n";
/// let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?.experiment;
/// let told = modeler::report::unmeasured(&experiment, &[4.0, 20.0]).unwrap();
/// assert!(told.starts_with("All points have p = 2, so that no measurement says what p = 4 changes"));
/// assert_eq!(modeler::report::unmeasured(&experiment, &[2.0, 4000.0]), None);
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[must_use]
pub fn unmeasured(experiment: &Experiment, target: &[f64]) -> Option<String> {
    of_one_value(experiment, target).or_else(|| apart(experiment, target))
}

/// The parameters that have two values in all points, each with these.
fn with_two_values(experiment: &Experiment) -> Vec<(usize, [f64; 2])> {
    let two = |(l, values): (usize, Vec<f64>)| Some((l, values.try_into().ok()?));
    experiment.levels().into_iter().enumerate().filter_map(two).collect()
}

/// What the two values `low` and `high` that all points have of parameter `l` leave open, beside a function `at` further ones.
fn two_values(experiment: &Experiment, l: usize, [low, high]: [f64; 2], at: &str) -> String {
    let named = |value: f64| format!("{} = {}", experiment.parameters[l], coordinate(value));
    format!(
        "All points have {} or {}, which do not tell how the cost goes on: for {at} a simple function that passes near both values is taken.",
        named(low),
        named(high)
    )
}

/// The parameters that have two values in all points and neither at the target, each with that in a sentence.
fn of_two_values(experiment: &Experiment, target: &[f64]) -> Vec<(usize, String)> {
    let told = |(l, values): (usize, [f64; 2])| {
        let at = format!("{} = {}", experiment.parameters[l], coordinate(target[l]));
        (!values.contains(&target[l])).then(|| (l, two_values(experiment, l, values, &at)))
    };
    with_two_values(experiment).into_iter().filter_map(told).collect()
}

/// Of the sentences about parameters those that are about one along which any of `models` grows or falls.
fn about<'m>(sentences: &[(usize, String)], models: impl Iterator<Item = &'m Model> + Clone) -> Option<String> {
    let is_along = |l: usize| {
        let mut terms = models.clone().flat_map(|model| &model.terms).filter(|term| term.coefficient != 0.0);
        terms.any(|term| term.factors.iter().any(|factor| factor.parameter == l))
    };
    let told: Vec<&str> = sentences.iter().filter(|(l, _)| is_along(*l)).map(|(_, told)| told.as_str()).collect();
    (!told.is_empty()).then(|| told.join(" "))
}

fn of_one_value(experiment: &Experiment, target: &[f64]) -> Option<String> {
    let only = |(l, values): (usize, Vec<f64>)| {
        let value = *values.first().filter(|value| values.len() == 1 && **value != target[l])?;
        let name = &experiment.parameters[l];
        Some((format!("{name} = {}", coordinate(value)), format!("{name} = {}", coordinate(target[l]))))
    };
    let (only, there): (Vec<_>, Vec<_>) = experiment.levels().into_iter().enumerate().filter_map(only).unzip();
    (!only.is_empty()).then(|| {
        format!(
            "All points have {}, so that no measurement says what {} changes: the prediction takes it for nothing.",
            only.join(", "),
            there.join(", ")
        )
    })
}

/// Which of `models` are below zero at the target, where no cost can be and 0 is predicted, in a sentence; nothing where none is.
///
/// ```
/// let text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\nDATA 98\nDATA 96\nDATA 92\nDATA 84\nDATA 68\n";
/// let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?.experiment;
/// let fits = modeler::fit(&experiment, &modeler::Options::default()); // 100 - p
/// let told = modeler::report::below_zero(&experiment, &fits.models, &[128.0]).unwrap();
/// assert!(told.starts_with("The function of solve (visits) is below zero at p = 128"));
/// assert_eq!(modeler::report::below_zero(&experiment, &fits.models, &[64.0]), None);
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[must_use]
pub fn below_zero(experiment: &Experiment, models: &[Model], target: &[f64]) -> Option<String> {
    let mut below = models.iter().filter(|model| model.at(target) < 0.0);
    let first = below.next()?;
    let others = below.count();
    let path = experiment.path(first.callpath).join(" -> ");
    let metric = &experiment.metrics[first.metric as usize].name;
    let (are, they) = if others == 0 { ("is", "it holds") } else { ("are", "they hold") };
    let and = if others == 0 { String::new() } else { format!(" and {} more", counted(others, "function")) };
    let at: Vec<String> =
        experiment.parameters.iter().zip(target).map(|(name, x)| format!("{name} = {}", coordinate(*x))).collect();
    Some(format!(
        "The function of {path} ({metric}){and} {are} below zero at {}, where no cost can be: {they} less far than that. 0 is \
         predicted, and measurements nearer to the target would say what really comes.",
        at.join(", ")
    ))
}

/// That the target is far beyond what was measured, where the shapes of some of `models` come from times alone, in a sentence; nothing
/// where that is not so.
///
/// ```
/// use modeler::report::beyond_times;
/// let text = "PARAMETER p\nPOINTS 25 30 35 40 45\nREGION solve\nMETRIC time\nDATA 2.5\nDATA 3.1\nDATA 3.4\nDATA 4.1\nDATA 4.5\n";
/// let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?.experiment;
/// let fits = modeler::fit(&experiment, &modeler::Options::default());
/// let told = beyond_times(&experiment, &fits.models, &[90.0]).unwrap();
/// assert!(told.starts_with("The target is far beyond what was measured (p = 90 after 25 to 45), and the shape comes from times alone"));
/// assert_eq!(beyond_times(&experiment, &fits.models, &[45.0]), None);
/// assert!(beyond_times(&experiment, &fits.models, &[5.0]).is_some_and(|told| told.contains("(p = 5 below 25 to 45)")));
/// assert_eq!(beyond_times(&experiment, &fits.models, &[22.0]), None);
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[must_use]
pub fn beyond_times(experiment: &Experiment, models: &[Model], target: &[f64]) -> Option<String> {
    let by_time = models.iter().filter(|model| model.method == Method::Time).count();
    match by_time {
        0 => None,
        1 if models.len() == 1 => beyond(experiment, target, "the shape comes"),
        _ if by_time == models.len() => beyond(experiment, target, "the shapes come"),
        _ => beyond(experiment, target, &format!("{by_time} of the {} shapes come", models.len())),
    }
}

fn beyond(experiment: &Experiment, target: &[f64], shapes_come: &str) -> Option<String> {
    let far = far(experiment, target);
    (!far.is_empty()).then(|| {
        format!(
            "The target is far beyond what was measured ({}), and {shapes_come} from times alone: functions that look alike over so short \
             a range differ there, by more than the interval may say.",
            far.join(", ")
        )
    })
}

/// That the points of some of `models` lie on lines along single parameters through one place, and the target on none of these lines, where
/// their shapes come from times alone or grow along two of the parameters, in a sentence; nothing where that is not so.
///
/// ```
/// use modeler::report::off_the_lines;
/// let points = "POINTS ( 2 10 ) ( 4 10 ) ( 8 10 ) ( 2 20 ) ( 2 40 )";
/// let text = format!("PARAMETER p\nPARAMETER n\n{points}\nREGION solve\nMETRIC time\nDATA 1\nDATA 2\nDATA 4\nDATA 2\nDATA 4\n");
/// let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?.experiment;
/// let fits = modeler::fit(&experiment, &modeler::Options::default());
/// let told = off_the_lines(&experiment, &fits.models, &[8.0, 40.0]).unwrap();
/// assert!(told.contains("no measurement says whether what p and n add is a sum or a product"));
/// assert_eq!(off_the_lines(&experiment, &fits.models, &[16.0, 10.0]), None);
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[must_use]
pub fn off_the_lines(experiment: &Experiment, models: &[Model], target: &[f64]) -> Option<String> {
    off_lines(experiment, models, target)
}

fn off_lines<'m>(
    experiment: &Experiment,
    models: impl IntoIterator<Item = &'m Model>,
    target: &[f64],
) -> Option<String> {
    let (points, off) = on_lines(experiment, models, Some(target))?;
    Some(format!(
        "{points} {}, as it matters at the target. A point at which they are large together would.",
        sum_or_product(&off)
    ))
}

/// Whose points lie on lines along single parameters, of those of `models` that these leave open, in words, and the names of the parameters
/// off whose lines `target`, or some place, lies.
fn on_lines<'e, 'm>(
    experiment: &'e Experiment,
    models: impl IntoIterator<Item = &'m Model>,
    target: Option<&[f64]>,
) -> Option<(String, Vec<&'e str>)> {
    let mut layouts: BTreeMap<u32, usize> = BTreeMap::new();
    let layout = |model: &Model| Some(experiment.series_of(model.callpath, model.metric)?.layout);
    for layout in models.into_iter().filter(|model| is_open(model)).filter_map(layout) {
        *layouts.entry(layout).or_default() += 1;
    }
    let all = layouts.values().sum::<usize>();
    let off_lines = |layout: u32| {
        let (_, off) = off_centre(experiment, layout, target)?;
        Some(off.iter().map(|&l| experiment.parameters[l].as_str()).collect::<Vec<_>>())
    };
    let mut open: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
    for (layout, models) in layouts {
        if let Some(names) = off_lines(layout) {
            *open.entry(names).or_default() += models;
        }
    }
    let (names, count) = open.into_iter().max_by_key(|(_, models)| *models)?;
    let whose = if count == all { String::new() } else { format!(" of {}", counted(count, "model")) };
    Some((format!("The points{whose} lie on lines along single parameters:"), names))
}

/// The place through which the lines go on which all points of `layout` lie, and the parameters off whose lines `target`, or some place, lies;
/// nothing where these are not two.
fn off_centre(experiment: &Experiment, layout: u32, target: Option<&[f64]>) -> Option<(Vec<f64>, Vec<usize>)> {
    let points = points_of(experiment, &experiment.layouts[layout as usize].points);
    let centre = cross::centre(&points)?;
    let varies = |l: &usize| points.iter().any(|x| x[*l] != centre[*l]);
    let is_off = |l: &usize| target.is_none_or(|target| target[*l] != centre[*l]);
    let off: Vec<usize> = (0..centre.len()).filter(varies).filter(is_off).collect();
    (off.len() > 1).then_some((centre, off))
}

/// The points that would tell what lines along single parameters leave open of `model` at `target`: those at which two of the parameters off
/// whose lines that lies have the measured values that are farthest from the lines, or the next ones where that is the target; and of more
/// than two that at which all have them. None where nothing is open, or the point was measured.
pub(crate) fn off_line_points(experiment: &Experiment, model: &Model, target: &[f64]) -> Vec<Vec<f64>> {
    let Some(series) = experiment.series_of(model.callpath, model.metric).filter(|_| is_open(model)) else {
        return Vec::new();
    };
    let Some((centre, off)) = off_centre(experiment, series.layout, Some(target)) else { return Vec::new() };
    // By parameter its values, the farthest first, and of two that are as far the larger.
    let farthest = |(l, mut values): (usize, Vec<f64>)| {
        let distance = |value: &f64| (value / centre[l]).ln().abs();
        values.retain(|value| *value != centre[l]);
        values.sort_by(|a, b| distance(b).total_cmp(&distance(a)).then(b.total_cmp(a)));
        values
    };
    let farthest: Vec<Vec<f64>> = experiment.levels().into_iter().enumerate().map(farthest).collect();
    let at = |of: &[usize], place: usize| -> Option<Vec<f64>> {
        let mut at = centre.clone();
        for &l in of {
            at[l] = *farthest[l].get(place).or(farthest[l].first())?;
        }
        Some(at)
    };
    let is_new = |at: &Vec<f64>| at != target && !experiment.points.contains(at);
    let pairs = off.iter().enumerate().flat_map(|(i, &l)| off[i + 1..].iter().map(move |&m| vec![l, m]));
    let all = (off.len() > 2).then(|| off.clone());
    pairs.chain(all).filter_map(|of| (0..2).filter_map(|place| at(&of, place)).find(is_new)).collect()
}

/// Whether a function that is the same on lines along single parameters may be another one elsewhere: a count's, and that of a time with its
/// shape, if it grows along two of them.
fn is_open(model: &Model) -> bool {
    let terms = model.terms.iter().filter(|term| term.coefficient != 0.0);
    let along: BTreeSet<usize> = terms.flat_map(|term| &term.factors).map(|factor| factor.parameter).collect();
    model.method == Method::Time || along.len() > 1
}

/// What lines along these parameters do not say.
fn sum_or_product(names: &[&str]) -> String {
    format!("no measurement says whether what {} add is a sum or a product", names.join(" and "))
}

fn points_of<'e>(experiment: &'e Experiment, ids: &[u32]) -> Vec<&'e [f64]> {
    ids.iter().map(|&i| experiment.points[i as usize].as_slice()).collect()
}

fn points(experiment: &Experiment) -> Vec<&[f64]> {
    experiment.points.iter().map(Vec::as_slice).collect()
}

/// Of how many of `models` values were left out since a run failed or went astray, or since they are those of one rank and apart from all
/// others, in a sentence; nothing where none is. The models' own warnings name them.
///
/// ```
/// use modeler::report::left_out;
/// let text = "PARAMETER p\nPOINTS 2 4 8 16 32 64\nREGION solve\nMETRIC time\nDATA 2\nDATA 4\nDATA 80\nDATA 16\nDATA 32\nDATA 64\n";
/// let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?.experiment;
/// let fits = modeler::fit(&experiment, &modeler::Options::default());
/// assert!(left_out(&fits.models).is_some_and(|said| said.starts_with("1 model leaves out values of runs that")));
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[must_use]
pub fn left_out<'m>(models: impl IntoIterator<Item = &'m Model>) -> Option<String> {
    let (mut astray, mut apart) = (0, 0);
    for model in models {
        let is_told = |codes: &[Code]| model.warnings.iter().any(|warning| codes.contains(&warning.code));
        apart += usize::from(is_told(&[warning::FIRST_VALUE]));
        astray +=
            usize::from(!model.uncertainty.left_out.is_empty() && is_told(&[warning::ASTRAY, warning::UNUSABLE_VALUE]));
    }
    let of = |count: usize, what: &str| {
        let leave = if count == 1 { "leaves" } else { "leave" };
        (count > 0).then(|| format!("{} {leave} out {what}", counted(count, "model")))
    };
    let failed = of(astray, "values of runs that failed or went astray");
    let first = of(apart, "what was measured at one rank, where something is not done that more ranks do");
    let said: Vec<String> = failed.into_iter().chain(first).collect();
    (!said.is_empty()).then(|| format!("{}; `poise model` names them.", said.join(", ")))
}

/// What the places of the points leave open, whatever was measured there, in a sentence; nothing where they leave nothing open: parameters of
/// which each value goes with one value of the others, as in weak scaling, or that the points of some of
/// `models` lie on lines along single parameters, where their shapes come from times alone or grow along two of the parameters; and
/// parameters of two values, along which some of `models` grow or fall.
///
/// ```
/// use modeler::report::left_open;
/// let told = |points: &str| {
///     let text = format!("PARAMETER p\nPARAMETER n\n{points}\nREGION solve\nMETRIC time\nDATA 1\nDATA 2\nDATA 4\nDATA 8\nDATA 16\n");
///     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?.experiment;
///     let fits = modeler::fit(&experiment, &modeler::Options::default());
///     Ok::<_, modeler::formats::ReadError>(left_open(&experiment, &fits.models))
/// };
/// let weak = told("POINTS ( 2 10 ) ( 4 20 ) ( 8 40 ) ( 16 80 ) ( 32 160 )")?.unwrap();
/// assert!(weak.starts_with("At all points each value of p goes with one of n"));
/// let cross = told("POINTS ( 2 10 ) ( 4 10 ) ( 8 10 ) ( 2 20 ) ( 2 40 )")?.unwrap();
/// assert!(cross.ends_with("whether what p and n add is a sum or a product. A point at which they are large together would."));
/// assert_eq!(told("POINTS ( 2 10 ) ( 4 10 ) ( 8 10 ) ( 2 20 ) ( 4 40 )")?, None);
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[must_use]
pub fn left_open(experiment: &Experiment, models: &[Model]) -> Option<String> {
    let of_two = |(l, values): (usize, [f64; 2])| {
        let others = format!("other values of {}", experiment.parameters[l]);
        (l, two_values(experiment, l, values, &others) + " A third value would tell.")
    };
    let of_two: Vec<(usize, String)> = with_two_values(experiment).into_iter().map(of_two).collect();
    joined(of_lines(experiment, models), about(&of_two, models.iter()))
}

/// What the lines on which the points lie leave open.
fn of_lines(experiment: &Experiment, models: &[Model]) -> Option<String> {
    if let Some(together) = cross::together(&points(experiment)) {
        let names: Vec<&str> = together.iter().map(|&l| experiment.parameters[l].as_str()).collect();
        return Some(change_together(&names));
    }
    let (points, names) = on_lines(experiment, models, None)?;
    Some(format!("{points} {}. A point at which they are large together would.", sum_or_product(&names)))
}

fn change_together(names: &[&str]) -> String {
    format!(
        "At all points each value of {} goes with one of {}: no measurement says which of them the cost comes from, and functions may name \
         either. Points at which one of them changes alone would.",
        names[0],
        names[1..].join(" and of ")
    )
}

/// That the target is where parameters do not change together that do at all points, in a sentence; nothing where that is not so, or where
/// they do not follow a power of each other, so that nothing says whether it is.
fn apart(experiment: &Experiment, target: &[f64]) -> Option<String> {
    let points = points(experiment);
    let together = cross::together(&points)?;
    let first = together[0];
    let by_first = |a: &&&[f64], b: &&&[f64]| a[first].total_cmp(&b[first]);
    let (low, high) = (points.iter().min_by(by_first)?, points.iter().max_by(by_first)?);
    let off = |x: &[f64], l: usize| {
        let power = (high[l] / low[l]).ln() / (high[first] / low[first]).ln();
        ((x[l] / low[l]).ln() - power * (x[first] / low[first]).ln()).abs()
    };
    let is_power = |&l: &usize| points.iter().all(|x| off(x, l) <= ALIKE);
    let is_apart = together.iter().copied().filter(is_power).any(|l| off(target, l) > ALIKE);
    let names: Vec<&str> = together.iter().map(|&l| experiment.parameters[l].as_str()).collect();
    is_apart.then(|| change_together(&names))
}

/// What the reader of single call paths' predictions at one target should know.
///
/// ```
/// use modeler::report::Doubts;
/// let text = "PARAMETER p\nPOINTS 25 30 35 40 45\nREGION solve\nMETRIC time\nDATA 2.5\nDATA 3.1\nDATA 3.4\nDATA 4.1\nDATA 4.5\n";
/// let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?.experiment;
/// let fits = modeler::fit(&experiment, &modeler::Options::default());
/// assert!(Doubts::at(&experiment, &[90.0]).of(&fits.models[0]).is_some());
/// assert_eq!(Doubts::at(&experiment, &[45.0]).of(&fits.models[0]), None); // where it was measured
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Doubts<'a> {
    experiment: &'a Experiment,
    target: Vec<f64>,
    /// Of every prediction there.
    of_all: Option<String>,
    /// Of those whose shapes come from times alone.
    beyond_times: Option<String>,
    /// Of those that grow or fall along these parameters.
    of_two_values: Vec<(usize, String)>,
}

impl<'a> Doubts<'a> {
    /// Those of predictions at `target`, one coordinate per parameter.
    #[must_use]
    pub fn at(experiment: &'a Experiment, target: &[f64]) -> Self {
        Self {
            experiment,
            target: target.to_vec(),
            of_all: unmeasured(experiment, target),
            beyond_times: beyond(experiment, target, "the shape comes"),
            of_two_values: of_two_values(experiment, target),
        }
    }

    /// That of the prediction of `model`, in a sentence: its shape comes from times alone or does not hold so far. Nothing where there is
    /// none.
    #[must_use]
    pub fn of(&self, model: &Model) -> Option<String> {
        let only = std::slice::from_ref(model);
        let beyond_times = || self.beyond_times.clone().filter(|_| model.method == Method::Time);
        let of_times = || joined(beyond_times(), off_lines(self.experiment, only, &self.target));
        let below_zero = || below_zero(self.experiment, only, &self.target);
        let turn = || {
            let rest = rest(self.experiment, model, &self.target);
            rest.or_else(|| turn(self.experiment, model, &self.target))
        };
        let two_values = about(&self.of_two_values, only.iter());
        let others = || self.of_all.clone().or_else(|| self.at_one(model)).or_else(below_zero);
        let doubt = joined(others().or_else(|| joined(turn(), of_times())), two_values);
        joined(doubt, self.left_out_of_few(model))
    }

    /// That `model` leaves one of few points out: that its run went astray is likely, and the interval takes it for sure.
    fn left_out_of_few(&self, model: &Model) -> Option<String> {
        let series = self.experiment.series_of(model.callpath, model.metric)?;
        let is_left_out = |point: &[f64], value: &f64| {
            model.uncertainty.left_out.iter().any(|(x, left_out)| x == point && left_out == value)
        };
        let all: Vec<(&[f64], &[f64])> = self.experiment.measurements(series).collect();
        let is_astray = model.warnings.iter().any(|warning| warning.code == warning::ASTRAY)
            && all.iter().any(|(point, values)| values.iter().all(|value| is_left_out(point, value)));
        (all.len() <= FEW && is_astray).then(|| {
            format!(
                "One of the {} points was left out as gone astray, which so few do not tell for sure and the interval does not allow for: measure \
                 it again. `poise model` names it.",
                all.len()
            )
        })
    }

    /// That `model` is of more than one rank, and the target is one.
    fn at_one(&self, model: &Model) -> Option<String> {
        let is_apart = model.warnings.iter().any(|warning| warning.code == warning::FIRST_VALUE);
        let is_below = |l: &usize| self.target[*l] == 1.0 && model.uncertainty.range[*l].0 > 1.0;
        let l = (0..self.target.len()).find(is_below).filter(|_| is_apart)?;
        let name = &self.experiment.parameters[l];
        Some(format!("The model is of larger {name} than 1, where what was measured is apart from it."))
    }
}

/// The same for a prediction of the whole program at `target`, one coordinate per parameter, in a sentence with the part of
/// the predicted cost that it is about; nothing where the target is near, or hardly any of the cost stands on such shapes. Where a
/// parameter has one value in all points, and another at the target, it says that first.
///
/// ```
/// use modeler::report::doubt;
/// let text = "PARAMETER p\nPOINTS 25 30 35 40 45\nREGION solve\nMETRIC time\nDATA 2.5\nDATA 3.1\nDATA 3.4\nDATA 4.1\nDATA 4.5\n";
/// let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?.experiment;
/// let fits = modeler::fit(&experiment, &modeler::Options::default());
/// assert!(doubt(&experiment, &fits, &[90.0], 0.9).is_some_and(|said| said.contains("p = 90 after 25 to 45")));
/// assert_eq!(doubt(&experiment, &fits, &[45.0], 0.9), None); // where it was measured
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[must_use]
pub fn doubt(experiment: &Experiment, fits: &Fits, target: &[f64], level: f64) -> Option<String> {
    let metric = ranked_metric(experiment, fits)?;
    of_ranking(experiment, &Costs::new(experiment, fits, metric, target.to_vec(), level))
}

/// [`doubt`] where the costs are known.
pub(crate) fn of_ranking(experiment: &Experiment, costs: &Costs) -> Option<String> {
    joined(of_target(experiment, costs), without_model(experiment, costs))
}

/// That call paths of which there is no model take a part of what was measured today, in a sentence.
fn without_model(experiment: &Experiment, costs: &Costs) -> Option<String> {
    let lacking = (0..costs.models.len()).filter(|id| costs.models[*id].is_none() && !costs.is_inclusive());
    let measured = lacking.filter_map(|id| costs.measured(experiment, id as u32)).filter(|value| *value > 0.0);
    let (count, sum) = measured.fold((0, 0.0), |(count, sum), value| (count + 1, sum + value));
    let share = sum / (sum + costs.total.0);
    let (take, are) = if count == 1 { ("takes", "is") } else { ("take", "are") };
    (share >= LEAST).then(|| {
        format!(
            "{} without a model {take} {} of the cost at the largest measured point, and {are} in no total and no prediction: `poise model` \
             says why.",
            counted(count, "call path"),
            percent(share)
        )
    })
}

/// What the target leaves in doubt.
fn of_target(experiment: &Experiment, costs: &Costs) -> Option<String> {
    let models = || costs.models.iter().flatten().copied();
    let two_values = about(&of_two_values(experiment, &costs.target), models());
    if let Some(unmeasured) = unmeasured(experiment, &costs.target) {
        return joined(Some(unmeasured), two_values);
    }
    let far = far(experiment, &costs.target);
    let by_time = costs.models.iter().flatten().filter(|m| m.method == Method::Time);
    let share: f64 = by_time.map(|m| costs.share_then(m.callpath)).sum::<f64>().min(1.0);
    if share < LEAST {
        return two_values;
    }
    let is_far = (!far.is_empty()).then(|| {
        format!(
            "The target is far beyond what was measured ({}), and for {} of the cost there the shapes come from times alone: functions \
             that look alike over so short a range differ there, by more than intervals may say.",
            far.join(", "),
            percent(share)
        )
    });
    joined(joined(is_far, off_lines(experiment, models(), &costs.target)), two_values)
}

/// Both sentences, where there is one.
fn joined(first: Option<String>, second: Option<String>) -> Option<String> {
    let both: Vec<String> = first.into_iter().chain(second).collect();
    (!both.is_empty()).then(|| both.join(" "))
}

/// How many call paths are ranked by less than they are predicted, and why, in a sentence; `noun` is what they are called.
pub(crate) fn of_places(ranked: &[Ranked], noun: &str) -> Option<String> {
    let doubtful = ranked.iter().filter(|r| r.least.is_some()).count();
    (doubtful > 0).then(|| {
        let (their, they_are) = if doubtful == 1 { ("its", "it is") } else { ("their", "they are") };
        format!(
            "of {}, {doubtful} may owe {their} growth to chance, since a function that explains the measurements nearly as well predicts \
             less than half as much; {they_are} ranked by that.",
            counted(ranked.len(), noun)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times of five points may be off by chance as one that went astray is.
    #[test]
    fn predictions_without_one_of_few_points_are_doubted() {
        let doubts_of = |times: &[f64]| {
            let points: String = (0..times.len()).map(|i| format!(" {}", 100 << i)).collect();
            let data: String = times.iter().map(|time| format!("DATA {time}\n")).collect();
            let text = format!("PARAMETER n\nPOINTS{points}\nREGION a\nMETRIC time\n{data}");
            let experiment = crate::formats::read_bytes("a.txt", text.into(), &Default::default()).unwrap().experiment;
            let fits = crate::fit(&experiment, &Default::default());
            Doubts::at(&experiment, &[100.0 * 2_f64.powi(times.len() as i32 - 1)]).of(&fits.models[0])
        };
        let told = doubts_of(&[1.012, 2.543, 3.732, 7.963, 17.17]).unwrap();
        assert!(told.starts_with("One of the 5 points was left out as gone astray"), "{told}");
        assert_eq!(doubts_of(&[1.012, 1.9, 3.732, 7.963, 16.5]), None);
        // Of nine one hardly decides.
        assert_eq!(doubts_of(&[1.01, 2.02, 12.0, 8.01, 16.1, 32.2, 63.5, 128.4, 256.2]), None);
    }

    /// Where a call path is missing at some points, those of its own count.
    #[test]
    fn lines_are_those_of_each_models_points() {
        let values = |path: &str, is_there: fn(u32, u32) -> bool| -> String {
            let all = (0..5).flat_map(|i| (0..5).map(move |j| (1 << i, 10 << j)));
            let there = all.filter(|(p, n)| is_there(*p, *n));
            let line = |(p, n): (u32, u32)| {
                let time = f64::from(p) + 0.1 * f64::from(n);
                format!(
                    "{{\"params\":{{\"p\":{p},\"n\":{n}}},\"callpath\":\"{path}\",\"metric\":\"time\",\"value\":{time}}}\n"
                )
            };
            there.map(line).collect()
        };
        let text = values("all", |_, _| true) + &values("cross", |p, n| p == 1 || n == 10);
        let experiment = crate::formats::read_bytes("a.jsonl", text.into(), &Default::default()).unwrap().experiment;
        let fits = crate::fit(&experiment, &Default::default());
        let target = [64.0, 640.0];
        let told = off_the_lines(&experiment, &fits.models, &target).unwrap();
        assert!(told.starts_with("The points of 1 model lie on lines along single parameters"), "{told}");
        assert!(left_open(&experiment, &fits.models).is_some_and(|told| told.starts_with("The points of 1 model lie")));
        let doubts = Doubts::at(&experiment, &target);
        let of = |i: usize| doubts.of(&fits.models[i]).is_some_and(|told| told.contains("The points lie on lines"));
        assert_eq!((of(0), of(1)), (false, true));
        assert_eq!(off_the_lines(&experiment, &fits.models, &[64.0, 10.0]), None);
    }

    #[test]
    fn targets_at_which_parameters_part_that_change_together_are_doubted() {
        let text = "PARAMETER p\nPARAMETER n\nPOINTS ( 2 10 ) ( 4 20 ) ( 8 40 ) ( 16 80 ) ( 32 160 )\nREGION solve\nMETRIC time\n\
                    DATA 1\nDATA 2\nDATA 3\nDATA 4\nDATA 5\n";
        let experiment = crate::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
        let said = |p: f64, n: f64| unmeasured(&experiment, &[p, n]);
        assert_eq!(said(64.0, 320.0), None);
        assert_eq!(said(64.0, 330.0), None); // nearly
        assert!(said(64.0, 160.0).unwrap().starts_with("At all points each value of p goes with one of n"));
    }

    #[test]
    fn a_parameter_of_two_values_is_told_where_the_target_has_neither() {
        let text = "PARAMETER p\nPARAMETER t\nPOINTS ( 2 1 ) ( 2 2 ) ( 4 1 ) ( 4 2 ) ( 8 1 ) ( 8 2 )\nREGION solve\nMETRIC time\n\
                    DATA 8\nDATA 4\nDATA 16\nDATA 8\nDATA 32\nDATA 16\n";
        let experiment = crate::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
        let fits = crate::fit(&experiment, &Default::default());
        let said = |p: f64, t: f64| Doubts::at(&experiment, &[p, t]).of(&fits.models[0]);
        let of_t = "All points have t = 1 or t = 2, which do not tell how the cost goes on: for t = 4";
        let open = left_open(&experiment, &fits.models).unwrap();
        assert!(open.contains("or t = 2, which do not tell") && open.ends_with("A third value would tell."), "{open}");
        let told = said(8.0, 4.0).unwrap();
        assert!(told.contains(of_t), "{told}");
        assert_eq!(said(8.0, 2.0), None);
        // Beside what else is to be said, there and of all call paths.
        let told = said(1e5, 4.0).unwrap();
        assert!(told.starts_with("The target is far beyond") && told.contains(of_t), "{told}");
        let ranked = doubt(&experiment, &fits, &[1e5, 4.0], 0.9).unwrap();
        assert!(ranked.starts_with("The target is far beyond") && ranked.contains(of_t), "{ranked}");
    }

    #[test]
    fn points_off_the_lines_are_the_farthest_of_each_two_and_of_all() {
        let text = "PARAMETER a\nPARAMETER b\nPARAMETER c\nPOINTS ( 4 10 1 ) ( 2 10 1 ) ( 8 10 1 ) ( 32 10 1 ) ( 4 20 1 ) ( 4 40 1 ) ( 4 10 3 ) ( 4 10 9 )\n\
                    REGION solve\nMETRIC time\nDATA 4\nDATA 2\nDATA 8\nDATA 32\nDATA 8\nDATA 16\nDATA 12\nDATA 36\n";
        let experiment = crate::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
        let fits = crate::fit(&experiment, &Default::default());
        let named = |target: [f64; 3]| off_line_points(&experiment, &fits.models[0], &target);
        // 32 is farther from 4 than 2 is.
        let pairs = [vec![32.0, 40.0, 1.0], vec![32.0, 10.0, 9.0], vec![4.0, 40.0, 9.0]];
        assert_eq!(named([64.0, 80.0, 18.0]), [&pairs[..], &[vec![32.0, 40.0, 9.0]]].concat());
        // On a line's value of one parameter the other two are left, and the target itself is never named.
        assert_eq!(named([64.0, 80.0, 1.0]), pairs[..1]);
        // Of 2 and 8, which are as far from 4, it is the larger.
        assert_eq!(named([32.0, 40.0, 1.0]), [[8.0, 20.0, 1.0]]);
        assert_eq!(named([64.0, 10.0, 1.0]), [[0.0; 3]; 0]);
    }

    #[test]
    fn targets_below_a_range_are_as_far_as_those_beyond_it() {
        // A third of the range of 2 to 16, on the scale of logarithms, is a factor of two.
        assert!(!is_far_below((2.0, 16.0), 1.0) && is_far_below((2.0, 16.0), 0.99));
        // Zero has no logarithm.
        assert!(is_far_below((0.0, 8.0), -1.0) && !is_far_below((0.0, 8.0), 0.0) && is_far_below((1.0, 8.0), 0.0));
    }

    #[test]
    fn a_parameter_of_one_value_is_told_where_the_target_has_another() {
        let text = "PARAMETER p\nPARAMETER n\nPOINTS ( 2 10 ) ( 2 20 ) ( 2 30 ) ( 2 40 ) ( 2 50 )\nREGION solve\nMETRIC time\n\
                    DATA 1\nDATA 2\nDATA 3\nDATA 4\nDATA 5\n";
        let experiment = crate::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
        let fits = crate::fit(&experiment, &Default::default());
        let said = |p: f64| doubt(&experiment, &fits, &[p, 50.0], 0.9);
        let told = said(4.0).unwrap();
        assert!(told.starts_with("All points have p = 2, so that no measurement says what p = 4 changes"), "{told}");
        assert_eq!(said(2.0), None);
        assert_eq!(Doubts::at(&experiment, &[4.0, 50.0]).of(&fits.models[0]), Some(told));
    }
}
