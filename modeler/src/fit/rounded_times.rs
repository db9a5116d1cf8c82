//! Times without noise that were rounded, as by a table or a coarse clock: of the functions that give all of them when they are rounded as they
//! are, the simplest is theirs, though one with more terms comes nearer to what rounding left.

use super::Fitter;
use super::smooth_counts::{ROUNDED, near_rounded};
use crate::data::Data;
use crate::effort::Workspace;
use crate::hypotheses::Hypotheses;
use crate::rounded;
use crate::shape_search::{Candidate, Extent};

/// Where the nearest function is off by more than a step, as the root of the mean square, something else than rounding is.
const BESIDE_ROUNDING: f64 = 1.0;
/// So many steps are between times at least: fewer tell nothing of a function.
const FEWEST: f64 = 30.0;
/// So many more values than coefficients a function must give.
const SPARE: usize = 3;

impl Fitter<'_> {
    /// The candidates that are no longer than the simplest one that gives all times of `data` when they are rounded, which is the first of them;
    /// `None` where times have other noise, or so many digits that rounding is none.
    pub(super) fn rounded_time(
        &self,
        data: &Data,
        candidates: &[Candidate],
        hypotheses: &Hypotheses,
        workspace: &mut Workspace,
    ) -> Option<Vec<Candidate>> {
        let first = candidates.first().filter(|first| !first.is_exact() && data.repeats_exactly())?;
        let y = &data.medians;
        let range = y.iter().fold(0.0_f64, |most, v| most.max((v - y[0]).abs()));
        let step = rounded::step(y).filter(|step| range >= FEWEST * step)?;
        let off = y.iter().zip(&first.fitted).map(|(v, fitted)| (v - fitted).powi(2)).sum::<f64>() / y.len() as f64;
        if off.sqrt() > BESIDE_ROUNDING * step {
            return None;
        }
        let near = near_rounded(y, step, Extent::Usual, hypotheses, workspace).into_iter();
        let rounded = near.filter(|(_, left)| *left <= *ROUNDED.end()).map(|(of, _)| of);
        let told = rounded.filter(|of| y.len() >= of.coefficients() + SPARE);
        let mut simplest = told.min_by_key(Candidate::coefficients)?;
        simplest.score = first.score;
        let is_other = |of: &&Candidate| of.coefficients() <= simplest.coefficients() && of.terms != simplest.terms;
        let others: Vec<Candidate> = candidates.iter().filter(is_other).cloned().collect();
        Some(std::iter::once(simplest).chain(others).collect())
    }
}
