//! Whether a metric rises or falls with a factor: rank correlations at equal other factors, which need no categories and few rows.
//! They see what goes one way; what a factor says otherwise, or together with others, is the forest's to see.

use nalgebra::DMatrix;

use super::{Analysis, Values};
use crate::noise::normal_distribution;
use crate::predict::quantile;

/// Factors that explain nothing seem to by their ranks in so many tables, two-sided and all together.
const BY_CHANCE: f64 = 0.01;
/// Variance of Fisher's transformation of a rank correlation, times the number of rows less three: Fieller, Hartley and Pearson, Tests for
/// rank correlation coefficients I, Biometrika 44, 1957.
const FIELLER: f64 = 1.06;
/// A smaller correlation explains less than one part in a hundred of the ranks' variance, however many rows show it.
const LEAST: f64 = 0.1;
/// Added to the variance of ranks, so that factors of which one follows from the others have a correlation, which is none.
const RIDGE: f64 = 1e-9;

/// By factor the partial rank correlation with the metric, given all other factors that are numbers (Kendall, Partial rank correlation,
/// Biometrika 32, 1942, for Spearman's coefficients); none where one of the two is no number, or the rows are too few.
pub(super) fn correlations(analysis: &Analysis) -> Vec<Option<f64>> {
    let numbers = |column: usize| match &analysis.table.columns[column].values {
        Values::Numbers(values) => Some(ranks(values)),
        Values::Texts(_) => None,
    };
    let factors: Vec<Option<Vec<f64>>> = analysis.factors.iter().map(|&column| numbers(column)).collect();
    let known: Vec<&Vec<f64>> = factors.iter().flatten().collect();
    let partial =
        numbers(analysis.metric).filter(|_| freedom(analysis) > 0.0).and_then(|metric| partial(&metric, &known));
    let mut partial = partial.into_iter().flatten();
    factors.iter().map(|factor| factor.as_ref().and_then(|_| partial.next())).collect()
}

/// Those that are beyond chance and say anything.
pub(super) fn trends(analysis: &Analysis) -> Vec<Option<f64>> {
    let bound = quantile(1.0 - 0.5 * BY_CHANCE / analysis.factors.len() as f64, normal_distribution);
    let deviation = (FIELLER / freedom(analysis)).sqrt();
    let is_told = |rho: &f64| rho.abs() > LEAST && rho.abs().min(1.0 - 1e-12).atanh() > bound * deviation;
    correlations(analysis).into_iter().map(|rho| rho.filter(is_told)).collect()
}

/// Each of the other factors takes one row.
fn freedom(analysis: &Analysis) -> f64 {
    analysis.table.rows() as f64 - 3.0 - (analysis.factors.len() as f64 - 1.0)
}

/// The partial correlation of `one` with each of `others` given the rest of them, by the inverse of all their correlations.
fn partial(one: &[f64], others: &[&Vec<f64>]) -> Option<Vec<f64>> {
    let all: Vec<&[f64]> = std::iter::once(one).chain(others.iter().map(|other| other.as_slice())).collect();
    let correlation = |i: usize, j: usize| correlation(all[i], all[j]) + if i == j { RIDGE } else { 0.0 };
    let inverse = DMatrix::from_fn(all.len(), all.len(), correlation).try_inverse()?;
    Some((1..all.len()).map(|j| -inverse[(0, j)] / (inverse[(0, 0)] * inverse[(j, j)]).sqrt()).collect())
}

/// Pearson's correlation of two lists of ranks.
fn correlation(one: &[f64], other: &[f64]) -> f64 {
    let middle = 0.5 * (one.len() as f64 - 1.0);
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - middle) * (b - middle)).sum::<f64>();
    product(one, other) / (product(one, one) * product(other, other)).sqrt()
}

/// The ranks of some values, from 0; those of equal values are their mean.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let rank = before as f64 + 0.5 * (equal.len() as f64 - 1.0);
        equal.iter().for_each(|&row| ranks[row] = rank);
        before += equal.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlations_are_spearmans() {
        let spearman = |one: &[f64], other: &[f64]| correlation(&ranks(one), &ranks(other));
        // Without equal values Spearman's is 1 - 6 Σd² / (n³ - n).
        let one = [7.0, 4.0, 3.0, 10.0, 6.0, 2.0, 9.0, 8.0, 1.0, 5.0];
        let other = [5.0, 7.0, 3.0, 10.0, 1.0, 9.0, 6.0, 2.0, 8.0, 4.0];
        let squares: f64 = one.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum();
        assert!((spearman(&one, &other) - (1.0 - 6.0 * squares / 990.0)).abs() < 1e-12);
        assert!((spearman(&one, &one.map(|x| -x * x)) + 1.0).abs() < 1e-12);
        // By hand: ranks 1, 2.5, 2.5, 4, 5 and 1, 3, 2, 4.5, 4.5 about 3, 9 of 9.5.
        let found = spearman(&[1.0, 2.0, 2.0, 3.0, 5.0], &[10.0, 30.0, 20.0, 40.0, 40.0]);
        assert!((found - 9.0 / 9.5).abs() < 1e-12, "{found}");
    }

    #[test]
    fn a_partial_correlation_is_that_of_one_variable_left() {
        // Of two others r = (r12 - r13 r23) / sqrt((1 - r13²) (1 - r23²)).
        let lists = [[0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 0.0, 2.0, 5.0, 3.0, 4.0], [2.0, 1.0, 0.0, 3.0, 5.0, 4.0]]
            .map(Vec::from);
        let r = |i: usize, j: usize| correlation(&lists[i], &lists[j]);
        let expected = (r(0, 1) - r(0, 2) * r(1, 2)) / ((1.0 - r(0, 2).powi(2)) * (1.0 - r(1, 2).powi(2))).sqrt();
        let found = partial(&lists[0], &[&lists[1], &lists[2]]).unwrap()[0];
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        // What says the same as another says nothing beside it.
        let same = partial(&lists[0], &[&lists[1], &lists[1]]).unwrap();
        assert!(same.iter().all(|rho| rho.abs() < 0.01), "{same:?}");
    }
}
