//! Times without noise that were rounded, as by a table or a coarse clock: of the functions that give all of them when they are rounded as they
//! are, the simplest is theirs, though one with more terms comes nearer to what rounding left.

use super::Fitter;
use crate::data::Data;
use crate::effort::Workspace;
use crate::hypotheses::Hypotheses;
use crate::rounded;
use crate::shape_search::{self, Candidate, Extent};

/// Where the nearest function leaves more than so many squared ticks in the mean, something else than rounding does.
const BESIDE_ROUNDING: f64 = 1.0;
/// What a function leaves at most, in twelfths of a squared tick, which rounding leaves in the mean.
const OF_ROUNDING: f64 = 1.5;
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
        let first = candidates.first().filter(|first| !first.is_exact())?;
        let y = &data.medians;
        let range = y.iter().fold(0.0_f64, |most, v| most.max((v - y[0]).abs()));
        let tick = rounded::step(y).filter(|tick| range >= FEWEST * tick)?;
        let left =
            |fitted: &[f64]| y.iter().zip(fitted).map(|(v, f)| ((v - f) / tick).powi(2)).sum::<f64>() / y.len() as f64;
        if !data.repeats_exactly() || left(&first.fitted) > BESIDE_ROUNDING {
            return None;
        }
        let of_rounding = tick * tick / 12.0;
        let variance = of_rounding * y.len() as f64 / y.iter().map(|v| v * v).sum::<f64>();
        // Rounding is the same everywhere, so all values are weighed alike.
        let found = shape_search::search(hypotheses, y, 0.0, (Extent::Usual, variance), &mut workspace.searched);
        let is_it = |c: &Candidate| 12.0 * left(&c.fitted) <= OF_ROUNDING && y.len() >= c.coefficients() + SPARE;
        let mut simplest = found.into_iter().filter(is_it).min_by_key(Candidate::coefficients)?;
        simplest.score = first.score;
        let is_other = |c: &&Candidate| c.coefficients() <= simplest.coefficients() && c.terms != simplest.terms;
        let others: Vec<Candidate> = candidates.iter().filter(is_other).cloned().collect();
        Some(std::iter::once(simplest).chain(others).collect())
    }
}
