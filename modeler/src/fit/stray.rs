//! Times gone astray, which one disturbed run makes of the times of one call path: a repetition far above its siblings, and among so few times
//! of one parameter that a robust fit cannot tell it one far above what the others say of it.

use std::borrow::Cow;

use super::Fitter;
use crate::data::{Data, FEW};
use crate::effort::Workspace;
use crate::experiment::Experiment;
use crate::robust::MEDIAN_OF_NORMAL;
use crate::roughness::{self, median};
use crate::shape_search::{self, Candidate};
use crate::warning::{self, warning};

/// A time is asked about that is above the line between its neighbours by this share, and left out if it is so many times what the
/// function of the others gives.
const HIGH: f64 = 0.1;
const ASTRAY: f64 = 1.3;
/// What the search's criterion, twice the logarithm of a probability, must gain without it beside what the point itself said. Of 4,000
/// series of five to eight times under exponential noise of 30 %, 1 to 3 % lose one then.
const GAIN: f64 = 16.0;

/// A repetition is left out that is so many times the median of its point, and farther above it than so many deviations of all repetitions
/// from theirs, where it has so many siblings and of so many values one at most is such: more are the noise's tail. Of 25 values with
/// exponential noise, of any level, 1 % lose one then.
const ABOVE_SIBLINGS: f64 = 1.5;
const DEVIATIONS: f64 = 10.0;
const SIBLINGS: usize = 2;
const FOR_ONE: usize = 20;

/// The data without the repetitions that went astray, if some did; with a warning.
pub(super) fn without_stray_repetitions<'d, 'a>(experiment: &Experiment, data: &'d Data<'a>) -> Cow<'d, Data<'a>> {
    let by_point: Vec<&[(usize, f64)]> = data.observations.chunk_by(|a, b| a.0 == b.0).collect();
    let above = |o: &(usize, f64)| (o.1 / data.medians[o.0]).ln();
    let has_siblings = |o: &(usize, f64)| by_point[o.0].len() > SIBLINGS && data.medians[o.0] > 0.0;
    // The middle one of an odd number of repetitions is its point's median and says nothing.
    let off = data.observations.iter().filter(|o| has_siblings(o)).map(|o| above(o).abs()).filter(|off| *off > 0.0);
    let mut off: Vec<f64> = off.collect();
    if off.is_empty() || !(off.iter().fold(0.0, |most: f64, off| most.max(*off)) > ABOVE_SIBLINGS.ln()) {
        return Cow::Borrowed(data);
    }
    let limit = ABOVE_SIBLINGS.ln().max(DEVIATIONS * median(&mut off) / MEDIAN_OF_NORMAL);
    let is_astray = |o: &(usize, f64)| has_siblings(o) && above(o) > limit;
    let astray: Vec<(usize, f64)> = data.observations.iter().filter(|o| is_astray(o)).copied().collect();
    if astray.is_empty() || astray.len() * FOR_ONE > data.observations.len() {
        return Cow::Borrowed(data);
    }
    let mut rest = data.without_observations(is_astray);
    for (i, time) in astray {
        let message = format!(
            "A repetition at {} took {:.1} times as long as the median there, and was left out.",
            place(experiment, data.points[i]),
            time / data.medians[i]
        );
        rest.warnings.push(warning(warning::ASTRAY, message));
    }
    Cow::Owned(rest)
}

/// The coordinates of a point with their names.
fn place(experiment: &Experiment, point: &[f64]) -> String {
    let named = experiment.parameters.iter().zip(point).map(|(name, x)| format!("{name} = {x}"));
    named.collect::<Vec<_>>().join(", ")
}

impl<'a> Fitter<'a> {
    /// The data without the time that went astray, if one did; with a warning. Only one above the others is looked for, since
    /// interference only adds, and not the last: nothing tells it from a change of behaviour.
    pub(super) fn without_stray<'d>(&self, data: &'d Data<'a>, workspace: &mut Workspace) -> Cow<'d, Data<'a>> {
        match self.stray(data, workspace) {
            None => Cow::Borrowed(data),
            Some((i, expected)) => {
                let mut rest = data.without_point(i);
                rest.warnings.push(self.left_out(data, i, expected));
                rest.warnings.extend(super::few_points(rest.points.len()));
                Cow::Owned(rest)
            }
        }
    }

    /// The point of the time that went astray, and what the function of the others gives there.
    fn stray(&self, data: &Data<'a>, workspace: &mut Workspace) -> Option<(usize, f64)> {
        let (n, y) = (data.points.len(), data.levels());
        if !(FEW.0..=FEW.1).contains(&n) || n <= self.options.minimum_points || y.contains(&0.0) {
            return None;
        }
        let hypotheses = self.hypotheses(data);
        let high = if hypotheses.has_one_parameter() { roughness::above(&data.lines, y, HIGH) } else { Vec::new() };
        if high.is_empty() {
            return None;
        }
        let power = data.weight_power();
        let whole = shape_search::search(&hypotheses, y, power, &mut workspace.searched).into_iter().next()?;
        let mut without = |i: usize| -> Option<(usize, Candidate)> {
            let rest = data.restricted(|x| x != data.points[i]);
            let found = shape_search::search(&self.hypotheses(&rest), rest.levels(), power, &mut workspace.searched);
            Some((i, found.into_iter().next()?))
        };
        let (i, best) = high.into_iter().filter_map(&mut without).min_by(|a, b| a.1.score.total_cmp(&b.1.score))?;
        let expected = best.at(data.points[i]);
        (best.score + GAIN < whole.score && y[i] > ASTRAY * expected).then_some((i, expected))
    }

    /// The warning that the time at point `i` was left out.
    fn left_out(&self, data: &Data, i: usize, expected: f64) -> crate::model::Warning {
        let message = format!(
            "At {} it is {:.1} times what the function of the other points gives there, and was left out.",
            place(self.experiment, data.points[i]),
            data.levels()[i] / expected
        );
        warning(warning::ASTRAY, message)
    }
}
