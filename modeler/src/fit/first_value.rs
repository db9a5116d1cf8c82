//! One rank at which hardly anything happens that happens everywhere else, as messages: what is measured there says nothing of how it grows.

use std::borrow::Cow;

use crate::data::Data;
use crate::effort::Found;
use crate::experiment::Experiment;
use crate::roughness::{lines, median};
use crate::segments::{self, Cut};
use crate::warning::{self, warning};

/// Of so many values of a parameter that begin with one the first may be left out.
const LEAST_VALUES: usize = 5;
/// Times there are apart that are less than one of so many parts of those at the next value, from which on they grow by less than so many
/// times to the one behind: they do not fall as they grow.
const PARTS: f64 = 10.0;
const STEEP: f64 = 3.0;

/// The cut between value one of parameter `l` and the others, where there is one and they are enough.
pub(super) fn cut(data: &Data, l: usize) -> Option<Cut> {
    match data.lines.levels(l).values[..] {
        [below, above, ..] if below == 1.0 && data.lines.levels(l).values.len() >= LEAST_VALUES => {
            Some(Cut { parameter: l, below, above })
        }
        _ => None,
    }
}

/// Whether `found`, which gives the counts beyond one, is sure, and differs from all those at one by more than this share.
pub(super) fn is_apart(at_one: &Data, beyond: &Data, found: &Found, share: f64) -> bool {
    let differs = |(x, count): (&&[f64], &f64)| {
        let expected = found.at(x);
        (expected - count).abs() > share * expected.abs().max(*count)
    };
    segments::is_sure(found, beyond) && at_one.points.iter().zip(&at_one.medians).all(differs)
}

/// The data without those where a parameter is one, if these are apart from all others; with a warning.
pub(super) fn without_first_value<'d, 'a>(experiment: &Experiment, data: &'d Data<'a>) -> Cow<'d, Data<'a>> {
    let parameters = data.points.first().map_or(0, |x| x.len());
    match (0..parameters).find(|&l| is_far_below(data, l)) {
        Some(l) => Cow::Owned(without(experiment, data, l, "values are less than a tenth of those at the next one")),
        None => Cow::Borrowed(data),
    }
}

/// The data without those where parameter `l` is one, with a warning that says why.
pub(super) fn without<'a>(experiment: &Experiment, data: &Data<'a>, l: usize, why: &str) -> Data<'a> {
    let mut rest = data.without_observations(|o| data.points[o.0][l] == 1.0);
    let name = &experiment.parameters[l];
    let message = format!("At {name} = 1 {why}: the model is of larger {name}.");
    rest.warnings.push(warning(warning::FIRST_VALUE, message));
    rest.warnings.extend(super::few_points(rest.points.len()));
    rest
}

/// Whether the values where parameter `l` is one are off the power of `l` that goes through the next two, by more than this share: others
/// have no function of their own to look for.
pub(super) fn is_off_power(data: &Data, l: usize, share: f64) -> bool {
    let y = &data.medians;
    let expected = |line: &[usize]| {
        let [second, third] = [line[1], line[2]];
        let power = (y[third] / y[second]).ln() / (data.points[third][l] / data.points[second][l]).ln();
        y[second] * data.points[second][l].powf(-power)
    };
    let differs = |line: &Vec<usize>| (expected(line) / y[line[0]] - 1.0).abs() > share;
    begun(&lines(&data.points, l), data, l).all(differs)
}

/// Those of the lines along parameter `l` that begin at one and go on for two values.
fn begun<'l>(lines: &'l [Vec<usize>], data: &Data, l: usize) -> impl Iterator<Item = &'l Vec<usize>> {
    lines.iter().filter(move |line| line.len() >= 3 && data.points[line[0]][l] == 1.0)
}

/// Whether the values where parameter `l` is one are far below all others.
fn is_far_below(data: &Data, l: usize) -> bool {
    if cut(data, l).is_none() {
        return false;
    }
    let (lines, y) = (lines(&data.points, l), data.levels());
    let begun = || begun(&lines, data, l);
    let mut goes_on: Vec<f64> = begun().map(|line| y[line[2]] / y[line[1]]).collect();
    let are_apart = begun().all(|line| PARTS * y[line[0]] < y[line[1]]);
    // Nothing that grows steeply begins at nothing.
    let are_zero = begun().all(|line| y[line[0]] == 0.0);
    !goes_on.is_empty() && are_apart && (are_zero || median(&mut goes_on) < STEEP)
}
