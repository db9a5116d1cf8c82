//! One rank at which hardly anything happens that happens everywhere else, as messages: what is measured there says nothing of how it grows.

use crate::data::Data;
use crate::effort::Found;
use crate::experiment::Experiment;
use crate::segments::{self, Cut};
use crate::warning::{self, warning};

/// Of so many values of a parameter that begin with one the first may be left out.
const LEAST_VALUES: usize = 5;
/// Values there are apart that are less than this share of what the next two give.
pub(super) const APART: f64 = 0.1;
/// And those that are less than this share where repetitions tell that they are.
const APART_AS_TOLD: f64 = 0.7;

/// The cut between value one of parameter `l` and the others, where these are enough, and all other parameters have as many values there.
pub(super) fn cut(data: &Data, l: usize) -> Option<Cut> {
    let values = |data: &Data, m: usize| data.lines.levels(m).values.len();
    let [below, above, ..] = data.lines.levels(l).values[..] else { return None };
    if below != 1.0 || values(data, l) < LEAST_VALUES {
        return None;
    }
    let cut = Cut { parameter: l, below, above };
    let beyond = cut.part(data, false);
    let mut others = (0..data.points[0].len()).filter(|m| *m != l);
    others.all(|m| values(&beyond, m) == values(data, m)).then_some(cut)
}

/// Whether `found`, which gives the counts beyond one, is sure, and differs from all those at one by more than this share, but where both are
/// nothing.
pub(super) fn is_apart(at_one: &Data, beyond: &Data, found: &Found, share: f64) -> bool {
    let pairs = || at_one.points.iter().zip(&at_one.medians).map(|(x, count)| (found.at(x), *count));
    let mut told = pairs().filter(|pair| *pair != (0.0, 0.0)).peekable();
    let is_any = told.peek().is_some();
    is_any && segments::is_determined(found, beyond) && told.all(|(expected, count)| differ(expected, count, share))
}

/// Whether the counts where parameter `l` is one are off the power of `l` that goes through the next two, by more than this share: others have
/// no function of their own to look for. Where no line tells they may be.
pub(super) fn is_off_power(data: &Data, l: usize, share: f64) -> bool {
    let counts = begun(data, &data.medians, l);
    counts.iter().all(|[at_one, expected]| differ(*expected, *at_one, share))
}

/// The data without those where a parameter is one, with a warning, if these are far below what all others give.
pub(super) fn without_far_below<'a>(experiment: &Experiment, data: &Data<'a>, least: usize) -> Option<Data<'a>> {
    let why = "values are less than a tenth of what the next two give";
    without_below(experiment, data, least, (APART, why)).next()
}

/// For each parameter that begins with one the data without those there, with a warning, if these are below what all others give by so much
/// that repetitions may tell it.
pub(super) fn without_below_as_told<'a>(
    experiment: &Experiment,
    data: &Data<'a>,
    least: usize,
) -> impl Iterator<Item = Data<'a>> {
    without_below(
        experiment,
        data,
        least,
        (APART_AS_TOLD, "repetitions tell that values are less than the others give"),
    )
}

/// For each parameter the data without those where it is one, if these are below this share of what all others give, with a warning that
/// says why.
fn without_below<'a>(
    experiment: &Experiment,
    data: &Data<'a>,
    least: usize,
    (share, why): (f64, &str),
) -> impl Iterator<Item = Data<'a>> {
    let parameters = data.points.first().map_or(0, |x| x.len());
    let is_below = move |l: &usize| are_below(data, *l, share);
    (0..parameters).filter(is_below).filter_map(move |l| without(experiment, data, l, least, why))
}

/// The data without those where parameter `l` is one, with a warning that says why, if there are any, and `least` points beyond.
pub(super) fn without<'a>(
    experiment: &Experiment,
    data: &Data<'a>,
    l: usize,
    least: usize,
    why: &str,
) -> Option<Data<'a>> {
    cut(data, l)?;
    let mut rest = data.without_observations(|o| data.points[o.0][l] == 1.0);
    if rest.points.len() < least {
        return None;
    }
    let name = &experiment.parameters[l];
    let message = format!("At {name} = 1 {why}: the model is of larger {name}.");
    rest.warnings.push(warning(warning::FIRST_VALUE, message));
    rest.warnings.extend(super::few_points(rest.points.len()));
    Some(rest)
}

/// Whether the values where parameter `l` is one are below this share of those that the next two give, which most of them have on their
/// lines.
fn are_below(data: &Data, l: usize, share: f64) -> bool {
    if data.lines.levels(l).values.first() != Some(&1.0) {
        return false;
    }
    let begun = begun(data, data.levels(), l);
    let at_one = data.points.iter().filter(|x| x[l] == 1.0).count();
    let are_told = 2 * begun.len() > at_one && begun.len() >= at_one.min(2);
    are_told && begun.iter().all(|[at_one, expected]| *at_one < share * expected)
}

/// Of the lines along parameter `l` that begin at one and go on for two values: the first value, and what the power of `l` through the next two
/// gives there. Lines of nothing say nothing.
fn begun(data: &Data, y: &[f64], l: usize) -> Vec<[f64; 2]> {
    let expected = |line: &Vec<usize>| {
        let [first, second, third] = *line.first_chunk()?;
        if data.points[first][l] != 1.0 || [first, second, third].iter().all(|&i| y[i] == 0.0) {
            return None;
        }
        let power = (y[third] / y[second]).ln() / (data.points[third][l] / data.points[second][l]).ln();
        let expected = if y[second] == 0.0 { 0.0 } else { y[second] * data.points[second][l].powf(-power) };
        Some([y[first], expected])
    };
    data.lines.along(l).iter().filter_map(expected).collect()
}

/// Whether two values differ by more than this share of the larger.
fn differ(a: f64, b: f64, share: f64) -> bool {
    (a - b).abs() > share * a.abs().max(b.abs())
}
