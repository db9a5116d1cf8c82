//! Searches the shape of a time in the times themselves, where no effort was measured.
//!
//! The candidates come from the same search as a count's; among them, leaving points out one at a time decides, and
//! of those within one standard error of the best the most probable simple one wins. Coefficients are non-negative,
//! so no prediction is.

use crate::coefficients::{combine, weighted_fit};
use crate::effort::{Found, Workspace, noisy_candidates};
use crate::hypotheses::Hypotheses;
use crate::library::Shape;
use crate::model::{Role, Scale, Term};
use crate::quality::left_out_errors;

/// Candidates that are compared by leaving points out.
const CANDIDATES: usize = 24;
/// Most terms beside the constant.
const MOST_TERMS: usize = 2;

/// A shape with what speaks for it.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// Constant and terms, fitted.
    pub constant: f64,
    /// Terms with coefficients.
    pub terms: Vec<Term>,
    /// Mean squared relative error at points left out.
    pub left_out: f64,
    /// Its standard error.
    pub left_out_error: f64,
    /// The search's criterion.
    pub score: f64,
}

/// Shapes for the times `y`, one value per point: the chosen one first, the others by their criterion.
pub(crate) fn search(hypotheses: &Hypotheses, y: &[f64], workspace: &mut Workspace) -> Vec<Candidate> {
    let library = hypotheses.for_time(y);
    let found = noisy_candidates(y, &library, MOST_TERMS, CANDIDATES, workspace);
    let mut candidates: Vec<Candidate> = found.iter().filter_map(|f| candidate(hypotheses, y, f)).collect();
    candidates.sort_by(|a, b| a.score.total_cmp(&b.score));
    candidates.dedup_by(|a, b| a.terms == b.terms);
    let Some(best) = candidates.iter().min_by(|a, b| a.left_out.total_cmp(&b.left_out)) else { return candidates };
    let limit = best.left_out + best.left_out_error;
    if let Some(chosen) = candidates.iter().position(|c| c.left_out <= limit) {
        let chosen = candidates.remove(chosen);
        candidates.insert(0, chosen);
    }
    candidates
}

/// Refits a hypothesis with non-negative coefficients and leaves points out; exact hypotheses keep their signs.
fn candidate(hypotheses: &Hypotheses, y: &[f64], found: &Found) -> Option<Candidate> {
    let term = |shape: &Shape, coefficient| Term {
        coefficient,
        role: Role::Computation,
        scale: Scale::One,
        factors: shape.clone(),
    };
    let mut terms: Vec<Term> = found.terms.iter().map(|(shape, _)| term(shape, 1.0)).collect();
    let mut columns = vec![vec![1.0; y.len()]];
    columns.extend(terms.iter().map(|t| hypotheses.points.iter().map(|x| t.at(x)).collect::<Vec<f64>>()));
    let coefficients = if found.exact {
        std::iter::once(found.constant).chain(found.terms.iter().map(|t| t.1)).collect()
    } else {
        weighted_fit(&columns, y)
    };
    let fitted = combine(&columns, &coefficients);
    let active: Vec<Vec<f64>> =
        (0..columns.len()).filter(|&k| coefficients[k] != 0.0).map(|k| columns[k].clone()).collect();
    let errors = left_out_errors(&active, y, &fitted)?;
    let squares: Vec<f64> = errors.iter().map(|e| e * e).collect();
    let n = squares.len() as f64;
    let mean = squares.iter().sum::<f64>() / n;
    let variance = squares.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    terms.iter_mut().zip(&coefficients[1..]).for_each(|(t, c)| t.coefficient = *c);
    terms.retain(|t| t.coefficient != 0.0);
    // A term that non-negativity removed must not leave its price or its credit behind.
    let removed = found.terms.len() - terms.len();
    let score = if removed > 0 { found.score + 1e3 } else { found.score };
    Some(Candidate { constant: coefficients[0], terms, left_out: mean, left_out_error: (variance / n).sqrt(), score })
}
