//! Fits and choices that a few values gone astray do not decide: the first value of a range before caches are warm, a
//! measurement that something disturbed.

use crate::coefficients::{combine, weighted_fit};
use crate::model::Term;
use crate::quality::left_out_errors;
use crate::roughness::{MEDIAN_OF_NORMAL, median};
use crate::shape_search::Candidate;

/// Relative residuals count in full up to so many standard deviations (Huber, Robust Statistics, 1981, section 7.8:
/// pseudo-values).
const CLIP: f64 = 1.5;
/// Errors at points left out count up to so many.
const CAP: f64 = 3.0;
/// Residuals are taken for no smaller than this.
const FINEST: f64 = 1e-9;

/// `y` with what is far off a fit of `columns` moved closer to it, so that least squares on the result is a robust fit
/// of `y`; for two-sided noise, since one-sided noise has its own model.
pub(crate) fn winsorised(columns: &[Vec<f64>], y: &[f64]) -> Vec<f64> {
    let mut moved = y.to_vec();
    if y.len() < columns.len() + 3 {
        return moved;
    }
    for _ in 0..10 {
        let fitted = combine(columns, &weighted_fit(columns, &moved));
        if fitted.iter().any(|f| *f <= 0.0) {
            return y.to_vec();
        }
        let residuals: Vec<f64> = y.iter().zip(&fitted).map(|(y, f)| y / f - 1.0).collect();
        let limit = CLIP * deviation(&residuals);
        // Where half of the values are as far off as they are large, none is astray, and each round would leave less.
        if limit > 1.0 {
            return y.to_vec();
        }
        moved = residuals.iter().zip(&fitted).map(|(r, f)| f * (1.0 + r.clamp(-limit, limit))).collect();
    }
    moved
}

/// Standard deviation of most of the residuals: from the median of their absolute values.
fn deviation(residuals: &[f64]) -> f64 {
    let mut sizes: Vec<f64> = residuals.iter().map(|r| r.abs()).collect();
    (median(&mut sizes) / MEDIAN_OF_NORMAL).max(FINEST)
}

/// The candidates with the one of shortest description first, where residuals count only up to a cap. Nothing changes
/// where no value is astray.
pub(crate) fn chosen_first(candidates: Vec<Candidate>, points: &[&[f64]], y: &[f64]) -> Vec<Candidate> {
    let Some(first) = candidates.first() else { return candidates };
    if first.is_exact() || !has_stray(first, y) {
        return candidates;
    }
    let mut judged: Vec<Candidate> = candidates.into_iter().map(|c| rejudged(c, points, y)).collect();
    judged.sort_by(|a, b| a.score.total_cmp(&b.score));
    judged
}

/// Whether some value is farther off the candidate than normal deviations are.
fn has_stray(candidate: &Candidate, y: &[f64]) -> bool {
    let residuals: Vec<f64> = y.iter().zip(&candidate.fitted).map(|(y, f)| y / f - 1.0).collect();
    let limit = CAP * deviation(&residuals);
    residuals.iter().any(|r| r.abs() > limit)
}

/// The candidate fitted and judged with capped residuals; as it was where that is impossible.
fn rejudged(mut candidate: Candidate, points: &[&[f64]], y: &[f64]) -> Candidate {
    let basis = candidate.basis();
    let columns: Vec<Vec<f64>> = basis.iter().map(|group| points.iter().map(|x| group.at(x)).collect()).collect();
    let coefficients = weighted_fit(&columns, &winsorised(&columns, y));
    let fitted = combine(&columns, &coefficients);
    let Some(errors) = left_out_errors(&columns, y, &fitted) else { return candidate };
    let squares = |errors: &[f64]| -> Vec<f64> {
        let cap = CAP * deviation(errors);
        errors.iter().map(|e| e.abs().min(cap).powi(2)).collect()
    };
    let relative = |fitted: &[f64]| -> Vec<f64> { y.iter().zip(fitted).map(|(y, f)| y / f - 1.0).collect() };
    let (n, before) = (y.len() as f64, relative(&candidate.fitted));
    let capped = squares(&errors);
    candidate.left_out = capped.iter().sum::<f64>() / n;
    let sum = |squares: &[f64]| squares.iter().sum::<f64>().max(FINEST * FINEST);
    let plain: Vec<f64> = before.iter().map(|r| r * r).collect();
    candidate.score += n * (sum(&squares(&relative(&fitted))) / sum(&plain)).ln();
    (candidate.constant, candidate.terms) = (0.0, Vec::new());
    for (group, c) in basis.into_iter().zip(coefficients).filter(|(_, c)| *c != 0.0) {
        for term in group.terms {
            let coefficient = term.coefficient * c;
            match term.factors.is_empty() {
                true => candidate.constant += coefficient,
                false => candidate.terms.push(Term { coefficient, ..term }),
            }
        }
    }
    candidate.fitted = fitted;
    candidate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_mostly_zero_keep_their_mean() {
        // Cache misses of a small program: 3 and 1200 of nine values, one after the other zero.
        let y = [0.0, 3.0, 0.0, 0.0, 1200.0, 0.0, 0.0, 0.0, 0.0];
        let columns = [vec![1.0; y.len()]];
        let moved = winsorised(&columns, &y);
        assert_eq!(moved, y);
        let mean = 1203.0 / 9.0;
        assert!((weighted_fit(&columns, &moved)[0] / mean - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_value_astray_does_not_decide() {
        let y: Vec<f64> = (0..9).map(|i| if i == 4 { 50.0 } else { 10.0 + 0.1 * f64::from(i % 3) }).collect();
        let columns = [vec![1.0; y.len()]];
        let fitted = weighted_fit(&columns, &winsorised(&columns, &y))[0];
        assert!((10.0..10.2).contains(&fitted), "{fitted}");
    }
}
