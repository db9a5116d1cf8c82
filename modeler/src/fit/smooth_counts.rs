//! Counts that are smooth functions without rounded bounds: exactly, or where the whole function was rounded, as of what is computed in floating
//! point: `880 n/sqrt(p)` bytes.
//!
//! They are within rounding or arithmetic of sums that are found at once: on full grids by [`crate::subspace`], elsewhere by the search of times.
//! The search of counts tries every way of rounding bounds before it takes such a function for the one behind them.

use super::Fitter;
use crate::effort::{self, Found, Workspace, common_step};
use crate::hypotheses::Hypotheses;
use crate::library::Shape;
use crate::separable::Near;
use crate::shape_search::{self, Candidate, Extent};

/// With so many more values than coefficients, and so many steps between the least and the largest of them, they agree with no function by
/// chance: the fewer values are over, the more each must tell.
const TELLING: [(usize, f64); 2] = [(8, 1e3), (4, 1e5)];
/// Arithmetic leaves a hundredth of a step of larger values.
const LARGEST: f64 = 1e13;
/// What the function leaves, as a mean square over the twelfth of a squared step that rounding leaves: with less the values were not
/// rounded, or are given by another function exactly; with more they are not the function's.
pub(super) const ROUNDED: std::ops::RangeInclusive<f64> = 1e-3..=1.5;
/// Where another function leaves no more than this, the values do not tell the two apart.
const AS_GOOD: f64 = 6.0;
/// Shares of values that arithmetic leaves: of its own, and of numbers of twelve digits.
const ARITHMETIC: [f64; 2] = [1e-15, 1e-12];
/// Factors of one parameter, about: 57 rising ones and as many falling ones, of which some are alike.
const FACTORS: f64 = 100.0;
/// By so many nats values must be less likely by chance than there are functions: as in [`crate::line`], since what rounding of bounds adds to a
/// simple function takes about as many to tell.
const CERTAINTY: f64 = 25.0;
/// The same where no rounding of bounds gives the counts exactly.
const BESIDE_EXACT: f64 = 12.0;
/// How many times as large as the smallest the largest value of a parameter is where a factor is not like a sum.
const WIDE: f64 = 4.0;
/// What a function leaves of those, as a mean square.
const OF_ARITHMETIC: f64 = 4.0;

/// The smooth function that gives the counts `y` on a full grid exactly, where they tell it from all others.
pub(super) fn smooth_function(y: &[f64], hypotheses: &Hypotheses) -> Option<Found> {
    // Whole numbers are told by all their digits.
    let is_whole = common_step(y.iter().copied()) > 0.0;
    let shares = if is_whole { &ARITHMETIC[..1] } else { &ARITHMETIC };
    let largest = y.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
    shares.iter().find_map(|share| {
        let step = |line: &mut dyn Iterator<Item = f64>| common_step(line).max(share * largest);
        let is_it = |sum: &Near| sum.left <= OF_ARITHMETIC && is_told(y, (&step, CERTAINTY), sum, hypotheses);
        let sum = hypotheses.sums_near(y, *share, true)?.into_iter().find(is_it)?;
        let mut found = effort::exact_count(sum.constant, sum.terms);
        found.residual = found.differs_by(&hypotheses.points, y);
        Some(found)
    })
}

/// The constant and one factor of the counts `y` of one parameter that give all of them when that is rounded, where no short sum of rounded
/// bounds gives them exactly and the values are so far apart that a factor is not like the sum of two.
pub(super) fn rounded_factor(y: &[f64], hypotheses: &Hypotheses) -> Option<Vec<Found>> {
    let [parameter] = hypotheses.parameters()[..] else { return None };
    let values = || hypotheses.points.iter().map(|x| x[parameter]);
    let is_wide = values().fold(0.0, f64::max) >= WIDE * values().fold(f64::INFINITY, f64::min);
    let found = is_wide.then(|| rounded_sums(y, false, hypotheses))??;
    (found[0].terms.len() == 1 && hypotheses.short_exact_function(y).is_none()).then_some(found)
}

/// The functions of the counts `y` on a full grid, best first, of which the first gives all of them when its value is rounded, and no other one
/// does. Counts with rounded bounds may be near some: `is_exact_ruled_out` tells that no such function gives them exactly.
pub(super) fn rounded_sums(y: &[f64], is_exact_ruled_out: bool, hypotheses: &Hypotheses) -> Option<Vec<Found>> {
    // What is rounded as a whole are multiples of the step. Few values are multiples of a larger one by chance.
    let unit = common_step(std::iter::once(0.0).chain(y.iter().copied()));
    let unit = if hypotheses.varying() == 1 { unit.min(1.0) } else { unit };
    if unit == 0.0 || y.iter().any(|v| *v > LARGEST) {
        return None;
    }
    // Costs add.
    let adds = |sum: &Near| sum.constant >= 0.0 && sum.terms.iter().all(|(_, c)| *c > 0.0);
    let sums: Vec<Near> = hypotheses.sums_near(y, unit / 12_f64.sqrt(), false)?.into_iter().filter(adds).collect();
    let certainty = if is_exact_ruled_out { BESIDE_EXACT } else { CERTAINTY };
    let step = |_: &mut dyn Iterator<Item = f64>| unit;
    let is_told = |sum: &Near| is_told(y, (&step, certainty), sum, hypotheses);
    if sums.first().is_some_and(is_told) { rounded(sums, unit, y, &hypotheses.points) } else { None }
}

impl Fitter<'_> {
    /// The functions of the counts `y`, best first, of which the first gives all of them when its value is rounded and no other does: of two products
    /// at most, at points of any layout. Those that `fall` along parameters along which the counts rise may be among them if that is asked for, which takes longer.
    pub(super) fn rounded_functions(
        &self,
        y: &[f64],
        fall: bool,
        hypotheses: &Hypotheses,
        workspace: &mut Workspace,
    ) -> Option<Vec<Found>> {
        let step = common_step(y.iter().copied());
        let spare = spare(y, step)?;
        let extent = if fall { Extent::Proposed(&[]) } else { Extent::Usual };
        let candidates = near_rounded(y, step, extent, hypotheses, workspace);
        let near = |(of, left): (Candidate, f64)| {
            let terms = of.terms.into_iter().map(|term| (term.factors, term.coefficient)).collect();
            Near { constant: of.constant, terms, left, score: of.score }
        };
        let near: Vec<Near> = candidates.into_iter().map(near).collect();
        if near.first().is_none_or(|first| y.len() < first.coefficients() + spare) {
            return None;
        }
        rounded(near, step, y, &hypotheses.points)
    }
}

/// What the search of times finds near values that were rounded in this step, best first, each with what it leaves as a mean square over the twelfth
/// of a squared step that rounding leaves.
pub(super) fn near_rounded(
    y: &[f64],
    step: f64,
    extent: Extent<'_>,
    hypotheses: &Hypotheses,
    workspace: &mut Workspace,
) -> Vec<(Candidate, f64)> {
    let (of_rounding, n) = (step * step / 12.0, y.len() as f64);
    let variance = of_rounding * n / y.iter().map(|v| v * v).sum::<f64>();
    // Rounding is the same everywhere, so all values are weighed alike.
    let found = shape_search::search(hypotheses, y, 0.0, (extent, variance), &mut workspace.searched);
    let with_left = |of: Candidate| {
        let squares: f64 = y.iter().zip(&of.fitted).map(|(v, fitted)| (v - fitted).powi(2)).sum();
        (of, squares / (n * of_rounding))
    };
    found.into_iter().map(with_left).collect()
}

/// The step in which the counts of a line change.
type Step<'a> = &'a dyn Fn(&mut dyn Iterator<Item = f64>) -> f64;

/// Whether the counts tell the function from all others: along every parameter they leave more to agree than there are ways to choose its factors.
/// `step` gives the step in which counts of a line change, `certainty` by how many nats they must be less likely by chance than there are ways.
fn is_told(y: &[f64], (step, certainty): (Step, f64), of: &Near, hypotheses: &Hypotheses) -> bool {
    let is_told_along = |(bit, &parameter): (usize, &usize)| {
        let beside = |shape: &Shape| -> Shape { shape.iter().filter(|f| f.parameter != parameter).copied().collect() };
        let others: Vec<Shape> = of.terms.iter().map(|(shape, _)| beside(shape)).collect();
        let constant = |other: &Shape| usize::from(of.constant != 0.0 && other.is_empty());
        let factors = |other: &Shape| others.iter().filter(|o| *o == other).count() + constant(other);
        let factors = others.iter().map(factors).max().unwrap_or(1);
        let span = |line: &Vec<usize>| {
            let values = || line.iter().map(|&i| y[i]);
            let (least, most) = values().fold((f64::INFINITY, 0.0_f64), |(l, m), v| (l.min(v), m.max(v)));
            ((most - least) / step(&mut values())).max(1.0).ln()
        };
        let lines = hypotheses.lines(bit);
        let size = lines.iter().map(Vec::len).max().unwrap_or(0);
        let span = lines.iter().map(span).fold(0.0, f64::max);
        size.saturating_sub(factors) as f64 * span >= factors as f64 * FACTORS.ln() + certainty
    };
    y.iter().all(|v| *v > 0.0) && hypotheses.parameters().iter().enumerate().all(is_told_along)
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
