//! Counts of which the whole function was rounded and not the bounds of its loops, as of what is computed in floating point: `880 n/sqrt(p)`
//! bytes.
//!
//! They lie within half a step of a smooth function, which the search of times finds at once; the search of counts tries every way of
//! rounding bounds before it takes such a function for the one behind them.

use super::Fitter;
use crate::effort::{self, Found, Workspace, common_step};
use crate::hypotheses::Hypotheses;
use crate::shape_search::{self, Candidate, Extent};

/// With so many more values than coefficients, and so many steps between the least and the largest of them, they agree with no function by
/// chance: the fewer values are over, the more each must tell.
const TELLING: [(usize, f64); 2] = [(8, 1e3), (4, 1e5)];
/// Arithmetic leaves a hundredth of a step of larger values.
const LARGEST: f64 = 1e13;
/// What the function leaves, as a mean square over the twelfth of a squared step that rounding leaves: with less the values were not
/// rounded, or are given by another function exactly; with more they are not the function's.
const ROUNDED: std::ops::RangeInclusive<f64> = 1e-3..=1.5;
/// Where another function leaves no more than this, the values do not tell the two apart.
const AS_GOOD: f64 = 6.0;

impl Fitter<'_> {
    /// The functions of the counts `y`, best first, where the first with its whole value rounded gives all of them and no other does. Those
    /// that `fall` along parameters along which the counts rise may be among them if that is asked for, which takes longer.
    pub(super) fn rounded_functions(
        &self,
        y: &[f64],
        fall: bool,
        hypotheses: &Hypotheses,
        workspace: &mut Workspace,
    ) -> Option<Vec<Found>> {
        let step = common_step(y.iter().copied());
        let (least, most) = y.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), v| (least.min(*v), most.max(*v)));
        let telling = TELLING.iter().rev().find(|(_, steps)| most - least >= steps * step);
        let spare = telling.filter(|(spare, _)| step > 0.0 && least > 0.0 && most <= LARGEST && y.len() > *spare)?.0;
        let n = y.len() as f64;
        let of_rounding = step * step / 12.0;
        let variance = of_rounding * n / y.iter().map(|v| v * v).sum::<f64>();
        let left = |of: &Candidate| {
            y.iter().zip(&of.fitted).map(|(v, fitted)| (v - fitted).powi(2)).sum::<f64>() / (n * of_rounding)
        };
        let coefficients = |of: &Candidate| of.terms.len() + usize::from(of.constant != 0.0);
        let is_it = |candidates: &[Candidate]| {
            let Some((first, others)) = candidates.split_first() else { return false };
            let is_as_good = |other: &Candidate| coefficients(other) <= coefficients(first) && left(other) <= AS_GOOD;
            let is_given = ROUNDED.contains(&left(first)) && y.len() >= coefficients(first) + spare;
            is_given && !first.terms.is_empty() && !others.iter().any(is_as_good)
        };
        // Rounding is the same everywhere, so all values are weighed alike.
        let extent = if fall { Extent::Proposed(&[]) } else { Extent::Usual };
        let candidates = shape_search::search(hypotheses, y, 0.0, (extent, variance), &mut workspace.searched);
        if !is_it(&candidates) {
            return None;
        }
        let found = |of: &Candidate| {
            let terms = of.terms.iter().map(|term| (term.factors.clone(), term.coefficient)).collect();
            let mut found = Found { exact: false, score: of.score, ..effort::exact(of.constant, terms) };
            found.residual = found.differs_by(&hypotheses.points, y);
            found
        };
        let all: Vec<Found> = candidates.iter().map(found).collect();
        let whole = with_whole_coefficients(&all[0], &hypotheses.points, y, step);
        Some(whole.map_or(all, |whole| vec![whole]))
    }
}

/// The function with the nearest whole coefficients, where that too gives the counts when it is rounded.
fn with_whole_coefficients(found: &Found, points: &[&[f64]], y: &[f64], step: f64) -> Option<Found> {
    let terms = found.terms.iter().map(|(shape, c)| (shape.clone(), c.round())).collect();
    let mut whole = effort::exact(found.constant.round(), terms);
    let is_rounded = |(x, v): (&&[f64], &f64)| (whole.at(x) - v).abs() <= 0.5 * step * (1.0 + 1e-9);
    if whole.terms.iter().any(|term| term.1 == 0.0) || !points.iter().zip(y).all(is_rounded) {
        return None;
    }
    whole.residual = whole.differs_by(points, y);
    Some(whole)
}
