//! One time gone astray among so few of one parameter that a robust fit cannot tell it: what the others say of it decides.

use std::borrow::Cow;

use super::Fitter;
use crate::data::{Data, FEW};
use crate::effort::Workspace;
use crate::roughness;
use crate::shape_search::{self, Candidate};
use crate::warning::{self, warning};

/// A time is asked about that is above the line between its neighbours by this share, and left out if it is so many times what the
/// function of the others gives.
const HIGH: f64 = 0.1;
const ASTRAY: f64 = 1.3;
/// What the search's criterion, twice the logarithm of a probability, must gain without it beside what the point itself said. Of 4,000
/// series of five to eight times under exponential noise of 30 %, 1 to 3 % lose one then.
const GAIN: f64 = 16.0;

impl<'a> Fitter<'a> {
    /// The data without the time that went astray, if one did; with a warning. Only one above the others is looked for, since
    /// interference only adds, and not the last: nothing tells it from a change of behaviour.
    pub(super) fn without_stray<'d>(&self, data: &'d Data<'a>, workspace: &mut Workspace) -> Cow<'d, Data<'a>> {
        match self.stray(data, workspace) {
            None => Cow::Borrowed(data),
            Some((i, expected)) => {
                let mut rest = data.restricted(|x| x != data.points[i]);
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
        let named = self.experiment.parameters.iter().zip(data.points[i]).map(|(name, x)| format!("{name} = {x}"));
        let message = format!(
            "At {} it is {:.1} times what the function of the other points gives there, and was left out.",
            named.collect::<Vec<_>>().join(", "),
            data.levels()[i] / expected
        );
        warning(warning::ASTRAY, message)
    }
}
