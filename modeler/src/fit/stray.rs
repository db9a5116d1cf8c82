//! Times gone astray, as one run that was disturbed or failed makes them. They are left out of the fit, each with a warning: a repetition far
//! off its siblings, the time of a point far off the function that is found without it, and where effort gives the shape, one far off that.

use std::borrow::Cow;

use super::Fitter;
use crate::coefficients::LeastSquares;
use crate::data::{Data, FEW};
use crate::effort::Workspace;
use crate::experiment::Experiment;
use crate::model::Warning;
use crate::priors::Prior;
use crate::robust;
use crate::roughness::{self, MEDIAN_OF_NORMAL, Off, median};
use crate::shape_search::{self, Candidate, Extent};
use crate::warning::{self, warning};

/// A time is asked about that is off the line between its neighbours by this share, and left out if it is so many times what the function of
/// the others gives, or that so many times it.
const OFF: f64 = 0.1;
const ASTRAY: f64 = 1.3;
const ASTRAY_OF_MANY: f64 = 1.5;
/// Of more values than a few of one parameter only those are asked about where lines between neighbours are off by so many deviations of what
/// they are usually off by, the first few of them, and one of so many points at most is left out.
const ROUGH: f64 = 2.5;
const ASKED: usize = 4;
const ONE_POINT_OF: usize = 12;
/// What the search's criterion, twice the logarithm of a probability, must gain without it beside what the point itself said. Of 4,000
/// series of five to eight times under exponential noise of 30 %, 1 to 3 % lose one then; of 1,000 of 5 x 5 times under 3, 10, 30 and 75 %
/// 0, 2.5, 4.2 and 1.9 %.
const GAIN: f64 = 16.0;

/// A repetition is left out that is so many times the median of its point, or one of so many parts of it, and farther off it than so many
/// deviations of all repetitions from theirs, where it has so many siblings and is the only such one or one of so many values: more are the
/// noise's tail.
const OFF_SIBLINGS: f64 = 1.5;
const DEVIATIONS: f64 = 10.0;
const SIBLINGS_LEFT: usize = 2;
const FOR_ONE: usize = 20;
/// Of a shape that effort gives so many more points are needed than it has coefficients.
const LEAST_LEFT: usize = 3;

/// The data without the repetitions that went astray, if some did; with a warning.
pub(super) fn without_stray_repetitions<'d, 'a>(experiment: &Experiment, data: &'d Data<'a>) -> Cow<'d, Data<'a>> {
    // Most experiments have one repetition.
    if !data.observations.windows(SIBLINGS_LEFT + 1).any(|few| few[0].0 == few[SIBLINGS_LEFT].0) {
        return Cow::Borrowed(data);
    }
    let by_point: Vec<&[(usize, f64)]> = data.observations.chunk_by(|a, b| a.0 == b.0).collect();
    let off = |o: &(usize, f64)| (o.1 / data.medians[o.0]).ln().abs();
    let has_siblings = |o: &(usize, f64)| by_point[o.0].len() > SIBLINGS_LEFT && data.medians[o.0] > 0.0;
    let mut sizes: Vec<f64> = data.observations.iter().filter(|o| has_siblings(o)).map(off).collect();
    if !sizes.iter().any(|off| *off > OFF_SIBLINGS.ln()) {
        return Cow::Borrowed(data);
    }
    // The middle one of an odd number of repetitions is its point's median, and says nothing.
    let middles = by_point.iter().filter(|point| point.len() > SIBLINGS_LEFT && point.len() % 2 == 1).count();
    sizes.sort_by(f64::total_cmp);
    sizes.drain(..middles);
    let limit = OFF_SIBLINGS.ln().max(DEVIATIONS * median(&mut sizes) / MEDIAN_OF_NORMAL);
    let is_astray = |o: &(usize, f64)| o.1 > 0.0 && has_siblings(o) && off(o) > limit;
    let astray: Vec<(usize, f64)> = data.observations.iter().filter(|o| is_astray(o)).copied().collect();
    if astray.is_empty() || astray.len() > (data.observations.len() / FOR_ONE).max(1) {
        return Cow::Borrowed(data);
    }
    let mut rest = data.without_observations(is_astray);
    for (i, time) in astray {
        let message = format!(
            "A repetition at {} took {} the median there, and was left out.",
            place(experiment, data.points[i]),
            times(time / data.medians[i])
        );
        rest.warnings.push(warning(warning::ASTRAY, message));
    }
    Cow::Owned(rest)
}

/// The data without the times that are far off the shape of the effort, where some are; with a warning each. Where the shape is known, the
/// times that follow it say how far is far. Not one above it at the largest value of a parameter, which nothing tells from a change of
/// behaviour, and not where all repetitions say the same.
pub(super) fn without_strays_of<'a>(experiment: &Experiment, data: &Data<'a>, prior: &Prior) -> Option<Data<'a>> {
    let most = (data.observations.len() / ONE_POINT_OF).max(1);
    let basis = prior.fullest();
    if data.points.len() < basis.len() + LEAST_LEFT {
        return None;
    }
    let (columns, y) = (data.columns(basis), data.values());
    let off = |fitted: &[f64]| -> Vec<f64> { y.iter().zip(fitted).map(|(y, f)| (y / f).ln()).collect() };
    // A zero is no failed run: where it is one its repetitions say so.
    let is_large = |off: &f64| off.is_finite() && off.abs() > ASTRAY.ln();
    if !off(&LeastSquares::of(&columns, &y).fitted).iter().any(is_large) {
        return None;
    }
    let fitted = LeastSquares::of(&columns, &robust::winsorised(&columns, &y)).fitted;
    let off = off(&fitted);
    let mut sizes: Vec<f64> = off.iter().map(|off| off.abs()).filter(|off| off.is_finite()).collect();
    if sizes.is_empty() {
        return None;
    }
    let limit = ASTRAY.ln().max(DEVIATIONS * median(&mut sizes) / MEDIAN_OF_NORMAL);
    let range = data.range();
    let is_last = |i: usize| data.points[i].iter().zip(&range).any(|(x, (low, high))| x == high && low < high);
    let is_far = |i: usize, off: f64| is_large(&off) && off.abs() > limit && !(off > 0.0 && is_last(i));
    let far: Vec<bool> = data.observations.iter().zip(&off).map(|(o, off)| is_far(o.0, *off)).collect();
    let is_astray = |k: &usize| {
        let i = data.observations[*k].0;
        far[*k] && !comes_again(data, i, |o| data.observations.iter().zip(&far).any(|(other, far)| *far && other == o))
    };
    let astray: Vec<((usize, f64), f64)> =
        (0..far.len()).filter(is_astray).map(|k| (data.observations[k], fitted[k])).collect();
    if astray.is_empty() || astray.len() > most {
        return None;
    }
    let mut rest = data.without_observations(|o| astray.iter().any(|(astray, _)| astray == o));
    rest.warnings.extend(astray.iter().map(|((i, time), expected)| {
        left_out(&place(experiment, data.points[*i]), time / *expected, "what the shape of the effort gives")
    }));
    Some(rest)
}

/// Whether a time is so many times, or one of so many parts of, what is expected.
fn is_off(time: f64, expected: f64, times: f64) -> bool {
    time > times * expected || times * time < expected
}

/// Whether all of several repetitions at point `i` are as far off, so that nothing happened to one run.
fn comes_again(data: &Data, i: usize, is_off: impl Fn(&(usize, f64)) -> bool) -> bool {
    let mut there = data.observations.iter().filter(|o| o.0 == i);
    there.clone().count() > 1 && there.all(is_off)
}

/// The warning that a time was left out that is so many times what is expected.
fn left_out(place: &str, share: f64, expected: &str) -> Warning {
    warning(warning::ASTRAY, format!("At {place} it is {} {expected} there, and was left out.", times(share)))
}

/// A factor in words.
fn times(factor: f64) -> String {
    match factor {
        f if f < 0.01 => "less than a hundredth of".to_owned(),
        f if f < 1.0 => format!("{f:.2} times"),
        f if f.is_infinite() => "more than nothing, which is".to_owned(),
        f => format!("{f:.1} times"),
    }
}

/// The coordinates of a point with their names.
fn place(experiment: &Experiment, point: &[f64]) -> String {
    let named = experiment.parameters.iter().zip(point).map(|(name, x)| format!("{name} = {x}"));
    named.collect::<Vec<_>>().join(", ")
}

impl<'a> Fitter<'a> {
    /// The data without the points whose time went astray, if some did; with a warning each. Not the last one of a single line: nothing tells it
    /// from a change of behaviour.
    pub(super) fn without_stray<'d>(&self, data: &'d Data<'a>, workspace: &mut Workspace) -> Cow<'d, Data<'a>> {
        let mut rest = Cow::Borrowed(data);
        for _ in 0..(data.points.len() / ONE_POINT_OF).max(1) {
            let Some((i, expected)) = self.stray(&rest, workspace) else { break };
            let mut without = rest.without_observations(|o| o.0 == i && is_off(o.1, expected, ASTRAY));
            let (place, times) = (place(self.experiment, rest.points[i]), rest.levels()[i] / expected);
            without.warnings.push(left_out(&place, times, "what the function of the other points gives"));
            without.warnings.extend(super::few_points(without.points.len()));
            rest = Cow::Owned(without);
        }
        rest
    }

    /// The point of the time that is farthest astray, and what the function of the others gives there.
    fn stray(&self, data: &Data<'a>, workspace: &mut Workspace) -> Option<(usize, f64)> {
        let (n, y) = (data.points.len(), data.levels());
        let zeros = y.iter().filter(|y| **y == 0.0).count();
        if n < FEW.0 || n <= self.options.minimum_points || zeros > (n / ONE_POINT_OF).max(1) {
            return None;
        }
        let are_few = n <= FEW.1 && data.lines.varying() == 1;
        let asked = match are_few {
            true => roughness::off_lines(&data.lines, y, OFF),
            false => roughness::roughest(&data.lines, y, OFF, ROUGH).into_iter().take(ASKED).collect(),
        };
        if asked.is_empty() {
            return None;
        }
        let (hypotheses, power) = (self.hypotheses(data), data.weight_power());
        let whole = shape_search::search(&hypotheses, y, power, (Extent::Usual, 0.0), &mut workspace.searched)
            .into_iter()
            .next()?;
        let mut without = |off: Off| -> Option<(Off, Candidate)> {
            let rest = data.restricted(|x| x != data.points[off.point]);
            let found = shape_search::search(
                &self.hypotheses(&rest),
                rest.levels(),
                power,
                (Extent::Usual, 0.0),
                &mut workspace.searched,
            );
            Some((off, found.into_iter().next()?))
        };
        let gains = |found: &(Off, Candidate)| found.1.score + GAIN < whole.score;
        let found: Vec<(Off, Candidate)> = asked.into_iter().filter_map(&mut without).filter(gains).collect();
        let (off, best) = found.iter().min_by(|a, b| a.1.score.total_cmp(&b.1.score))?;
        let i = off.point;
        // Where behaviour may have changed its neighbours are not to blame for it.
        if found.iter().any(|(off, other)| off.may_be_change && other.score < best.score + GAIN) {
            return None;
        }
        let expected = best.at(data.points[i]);
        if off.only_longer && y[i] < expected {
            return None;
        }
        let least = if are_few { ASTRAY } else { ASTRAY_OF_MANY };
        (is_off(y[i], expected, least) && !comes_again(data, i, |o| is_off(o.1, expected, ASTRAY)))
            .then_some((i, expected))
    }
}
