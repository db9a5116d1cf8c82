//! Counts that are smooth functions without rounded bounds: exactly, or where the whole function was rounded, as of what is computed in floating
//! point: `880 n/sqrt(p)` bytes.
//!
//! They are within rounding or arithmetic of sums that are found at once: on full grids by [`crate::subspace`], elsewhere by the search of times.
//! The search of counts tries every way of rounding bounds before it takes such a function for the one behind them.

use super::Fitter;
use crate::effort::{self, Found, Workspace, common_step};
use crate::hypotheses::Hypotheses;
use crate::library::Shape;
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
/// Shares of values that arithmetic leaves: of its own, and of numbers of twelve digits.
const ARITHMETIC: [f64; 2] = [1e-15, 1e-12];
/// Factors of one parameter, about.
const FACTORS: f64 = 100.0;
/// By so many nats values must be less likely by chance than there are functions.
const CERTAINTY: f64 = 25.0;
/// What a function leaves of those, as a mean square.
const OF_ARITHMETIC: f64 = 4.0;

/// A function that may be the one behind counts, with what it leaves.
struct Near {
    constant: f64,
    terms: Vec<(Shape, f64)>,
    /// As a mean square in that of what is expected.
    left: f64,
    score: f64,
}

impl Near {
    fn coefficients(&self) -> usize {
        self.terms.len() + usize::from(self.constant != 0.0)
    }
}

impl Fitter<'_> {
    /// The functions of the counts `y` on a full grid of several parameters, best first, of which the first is smooth and gives all of them: as they
    /// are, or when its value is rounded; and no other does. Sums of several functions of one parameter are rounded only if that is `sure`:
    /// the few values of one with rounded bounds may be near some.
    pub(super) fn smooth_functions(&self, y: &[f64], sure: bool, hypotheses: &Hypotheses) -> Option<Vec<Found>> {
        let near = |deviation: f64, is_relative: bool| -> Option<Vec<Near>> {
            let sums = hypotheses.sums_near(y, deviation, is_relative)?.into_iter();
            Some(
                sums.map(|(left, (constant, terms))| Near { constant, terms, left, score: f64::NEG_INFINITY })
                    .collect(),
            )
        };
        let step = common_step(y.iter().copied());
        // Whole numbers are told by all their digits.
        let shares = if step > 0.0 { &ARITHMETIC[..1] } else { &ARITHMETIC };
        for &share in shares {
            let of_arithmetic = share * y.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
            let is_it = |sum: &Near| sum.left <= OF_ARITHMETIC && is_told(y, step.max(of_arithmetic), sum, hypotheses);
            if let Some(sum) = near(share, true)?.into_iter().find(is_it) {
                let mut found = effort::exact_count(sum.constant, sum.terms);
                found.residual = found.differs_by(&hypotheses.points, y);
                return Some(vec![found]);
            }
        }
        // What is rounded as a whole are multiples of the step. Few values are multiples of a larger one by chance.
        let unit = common_step(std::iter::once(0.0).chain(y.iter().copied()));
        let is_of_one = hypotheses.varying() == 1;
        let unit = if is_of_one { unit.min(1.0) } else { unit };
        if unit == 0.0 || y.iter().any(|v| *v > LARGEST) {
            return None;
        }
        // Costs add.
        let adds = |sum: &Near| sum.constant >= 0.0 && sum.terms.iter().all(|(_, c)| *c > 0.0);
        let sums: Vec<Near> = near(unit / 12_f64.sqrt(), false)?.into_iter().filter(adds).collect();
        let is_it = |sum: &Near| is_told(y, unit, sum, hypotheses) && (sure || !is_of_one || sum.terms.len() <= 1);
        if !sums.first().is_some_and(is_it) {
            return None;
        }
        rounded(sums, unit, y, &hypotheses.points)
    }

    /// The same of functions with their whole value rounded, where the points are no full grid. Those
    /// that `fall` along parameters along which the counts rise may be among them if that is asked for, which takes longer.
    pub(super) fn rounded_functions(
        &self,
        y: &[f64],
        fall: bool,
        hypotheses: &Hypotheses,
        workspace: &mut Workspace,
    ) -> Option<Vec<Found>> {
        let step = common_step(y.iter().copied());
        let spare = spare(y, step)?;
        let of_rounding = step * step / 12.0;
        let n = y.len() as f64;
        let variance = of_rounding * n / y.iter().map(|v| v * v).sum::<f64>();
        // Rounding is the same everywhere, so all values are weighed alike.
        let extent = if fall { Extent::Proposed(&[]) } else { Extent::Usual };
        let candidates = shape_search::search(hypotheses, y, 0.0, (extent, variance), &mut workspace.searched);
        let near = |of: &Candidate| {
            let left =
                y.iter().zip(&of.fitted).map(|(v, fitted)| (v - fitted).powi(2)).sum::<f64>() / (n * of_rounding);
            let terms = of.terms.iter().map(|term| (term.factors.clone(), term.coefficient)).collect();
            Near { constant: of.constant, terms, left, score: of.score }
        };
        let near: Vec<Near> = candidates.iter().map(near).collect();
        if near.first().is_none_or(|first| y.len() < first.coefficients() + spare) {
            return None;
        }
        rounded(near, step, y, &hypotheses.points)
    }
}

/// Whether the counts, which change by such steps, tell the function from all others: they are less likely by chance than there are functions.
fn is_told(y: &[f64], step: f64, of: &Near, hypotheses: &Hypotheses) -> bool {
    let (least, most) = y.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), v| (least.min(*v), most.max(*v)));
    let conditions = y.len() as f64 - of.coefficients() as f64;
    let tried = of.terms.len() as f64 * hypotheses.varying() as f64 * FACTORS.ln();
    least > 0.0 && conditions * ((most - least) / step).max(1.0).ln() >= tried + CERTAINTY
}

/// How many more values than coefficients tell functions, where so large a step tells values; `None` where none do.
fn spare(y: &[f64], step: f64) -> Option<usize> {
    let (least, most) = y.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), v| (least.min(*v), most.max(*v)));
    let telling = TELLING.iter().rev().find(|(_, steps)| most - least >= steps * step);
    Some(telling.filter(|(spare, _)| step > 0.0 && least > 0.0 && most <= LARGEST && y.len() > *spare)?.0)
}

/// The functions that counts with this step are near, best first, where the first leaves what rounding does and no other simple one comes near.
fn rounded(near: Vec<Near>, step: f64, y: &[f64], points: &[&[f64]]) -> Option<Vec<Found>> {
    let (first, others) = near.split_first()?;
    let is_as_good = |other: &Near| other.coefficients() <= first.coefficients() && other.left <= AS_GOOD;
    if !ROUNDED.contains(&first.left) || first.terms.is_empty() || others.iter().any(is_as_good) {
        return None;
    }
    let found = |of: Near| {
        let mut found = Found { exact: false, score: of.score, ..effort::exact(of.constant, of.terms) };
        found.residual = found.differs_by(points, y);
        found
    };
    let all: Vec<Found> = near.into_iter().map(found).collect();
    let whole = with_whole_coefficients(&all[0], points, y, step);
    Some(whole.map_or(all, |whole| vec![whole]))
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
