//! One rank at which hardly anything happens that takes time everywhere else, as messages: a time there says nothing of how it grows.

use std::borrow::Cow;

use crate::data::Data;
use crate::experiment::Experiment;
use crate::roughness::{lines, median};
use crate::warning::{self, warning};

/// Of so many values of a parameter that begin with one the first is left out where times there are less than one of so many parts of those
/// at the next value, from which on they grow by less than so many times to the one behind: they do not fall as they grow.
const LEAST_VALUES: usize = 5;
const PARTS: f64 = 10.0;
const STEEP: f64 = 3.0;

/// The data without the times where a parameter is one, if these are apart from all others; with a warning.
pub(super) fn without_first_value<'d, 'a>(experiment: &Experiment, data: &'d Data<'a>) -> Cow<'d, Data<'a>> {
    let parameters = data.points.first().map_or(0, |x| x.len());
    let Some(l) = (0..parameters).find(|&l| is_apart(data, l)) else { return Cow::Borrowed(data) };
    let mut rest = data.without_observations(|o| data.points[o.0][l] == 1.0);
    let name = &experiment.parameters[l];
    let message =
        format!("At {name} = 1 times are less than a tenth of those at the next value: the model is of larger {name}.");
    rest.warnings.push(warning(warning::FIRST_VALUE, message));
    rest.warnings.extend(super::few_points(rest.points.len()));
    Cow::Owned(rest)
}

/// Whether the times where parameter `l` is one are apart from all others.
fn is_apart(data: &Data, l: usize) -> bool {
    let (values, y) = (&data.lines.levels(l).values, data.levels());
    if values.len() < LEAST_VALUES || values[0] != 1.0 {
        return false;
    }
    let lines = lines(&data.points, l);
    let begun = || lines.iter().filter(|line| line.len() >= 3 && data.points[line[0]][l] == 1.0);
    let mut goes_on: Vec<f64> = begun().map(|line| y[line[2]] / y[line[1]]).collect();
    let are_apart = begun().all(|line| PARTS * y[line[0]] < y[line[1]]);
    !goes_on.is_empty() && are_apart && median(&mut goes_on) < STEEP
}
