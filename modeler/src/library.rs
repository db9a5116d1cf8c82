//! The hypotheses' columns: every candidate term evaluated at every point, built once per layout and shared by all
//! series of it.
//!
//! A column is a product of one factor `x^i log2(x)^j` per parameter. Loop bounds are integers, so a count holds
//! `floor(n^(2/3))` where the function has `n^(2/3)`; libraries therefore exist per way of rounding.

use crate::model::{Exponent, Factor};
use crate::options::ExponentSets;
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

/// How many candidates are simple.
const SIMPLE: usize = 128;
/// What a negative exponent adds to a factor's complexity.
const NEGATIVE_PRICE: f64 = 1.0;

/// How loop bounds became integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Rounding {
    /// Not at all.
    None,
    /// Towards zero, as a conversion to an integer type does.
    Floor,
    /// Up, as `i < bound` with a fractional bound does.
    Ceiling,
    /// To the nearest integer.
    Nearest,
}

impl Rounding {
    /// `x` as a bound.
    pub fn apply(self, x: f64) -> f64 {
        // A power that is an integer in exact arithmetic must not lose one to its own rounding.
        let nudge = 1e-12 * x.abs();
        match self {
            Self::None => x,
            Self::Floor => (x + nudge).floor(),
            Self::Ceiling => (x - nudge).ceil(),
            Self::Nearest => x.round(),
        }
    }
}

/// The factors of one term, at most one per parameter, in order of their parameters.
pub(crate) type Shape = Vec<Factor>;

/// One factor's values at the points.
#[derive(Clone, Debug)]
pub(crate) struct FactorColumn {
    /// The factor, or `None` for the constant one.
    pub factor: Option<Factor>,
    /// Values by point.
    pub values: Vec<f64>,
}

/// Candidate terms and their values.
#[derive(Debug)]
pub(crate) struct Library {
    /// The candidates.
    pub shapes: Vec<Shape>,
    /// Their values, `points` rows of `shapes.len()` numbers, each column divided by its `scale`.
    columns: Vec<f64>,
    /// Largest absolute value of each column before it was divided.
    pub scales: Vec<f64>,
    /// How complicated each candidate is; see [`complexity`].
    pub complexity: Vec<f64>,
    /// Number of different values of each parameter.
    pub values_per_parameter: Vec<usize>,
    /// By candidate and parameter, the number of the factor from 1 on, 0 where there is none.
    factors: Vec<u32>,
    /// By number of a factor: whether rounding changes it at some point.
    rounded: Vec<bool>,
    /// Where each candidate is, made when first needed.
    positions: OnceLock<HashMap<Shape, usize>>,
    /// See [`Self::simplest`], made when first needed.
    simplest: OnceLock<Vec<usize>>,
}

impl Library {
    /// All products of one factor per parameter, without the constant; equal columns only once, the simplest staying.
    pub fn new(points: &[&[f64]], factors: &[Vec<FactorColumn>]) -> Self {
        let values_per_parameter = values_per_parameter(points);
        let changed = rounded(points, factors);
        let points = points.len();
        let mut candidates = products(points, factors);
        candidates.sort_by(|a, b| complexity(&a.0).total_cmp(&complexity(&b.0)));
        let mut seen = HashSet::new();
        candidates.retain_mut(|(_, values)| normalise(values).is_some_and(|key| seen.insert(key)));
        let width = candidates.len();
        let mut library = Self {
            shapes: Vec::new(),
            columns: vec![0.0; points * width],
            scales: Vec::new(),
            complexity: Vec::new(),
            values_per_parameter,
            factors: Vec::new(),
            rounded: vec![false],
            positions: OnceLock::new(),
            simplest: OnceLock::new(),
        };
        let parameters = library.values_per_parameter.len();
        let mut numbers: HashMap<Factor, u32> = HashMap::new();
        for (j, (shape, values)) in candidates.into_iter().enumerate() {
            library.factors.resize((j + 1) * parameters, 0);
            for factor in &shape {
                let number = *numbers.entry(*factor).or_insert_with(|| {
                    library.rounded.push(changed.contains(factor));
                    library.rounded.len() as u32 - 1
                });
                library.factors[j * parameters + factor.parameter] = number;
            }
            let scale = values.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
            for (i, value) in values.iter().enumerate() {
                library.columns[i * width + j] = value / scale;
            }
            library.scales.push(scale);
            library.complexity.push(complexity(&shape));
            library.shapes.push(shape);
        }
        library
    }

    /// Number of candidates.
    pub fn len(&self) -> usize {
        self.shapes.len()
    }

    /// By parameter, the number of candidate `j`'s factor from 1 on, 0 where it has none.
    pub fn factors(&self, j: usize) -> &[u32] {
        let parameters = self.values_per_parameter.len();
        &self.factors[j * parameters..(j + 1) * parameters]
    }

    /// Whether rounding changes the factor of this number at some point.
    pub fn is_rounded(&self, factor: u32) -> bool {
        self.rounded[factor as usize]
    }

    /// The candidate of this shape, if it is one.
    pub fn position(&self, shape: &Shape) -> Option<usize> {
        let number = || self.shapes.iter().enumerate().map(|(j, shape)| (shape.clone(), j)).collect();
        self.positions.get_or_init(number).get(shape).copied()
    }

    /// Some [`SIMPLE`] candidates that are simpler than all others, with those that are as simple as the last of them. A share is as
    /// simple here as a product.
    pub fn simplest(&self) -> &[usize] {
        self.simplest.get_or_init(|| {
            let zero = Exponent::from_integer(0);
            let price = |j: usize| {
                let negative = self.shapes[j].iter().filter(|f| f.exponent < zero).count();
                ((self.complexity[j] - NEGATIVE_PRICE * negative as f64) * 1e6).round() as i64
            };
            let mut order: Vec<(i64, usize)> = (0..self.len()).map(|j| (price(j), j)).collect();
            order.sort_unstable();
            let most = order.get(SIMPLE - 1).map_or(i64::MAX, |last| last.0);
            order.into_iter().take_while(|(price, _)| *price <= most).map(|(_, j)| j).collect()
        })
    }

    /// Value of candidate `j` at point `i`, divided by its scale.
    pub fn value(&self, i: usize, j: usize) -> f64 {
        self.columns[i * self.len() + j]
    }

    /// `Σ_i w_i X_ij` for every candidate j.
    pub fn sums(&self, weights: &[f64], out: &mut Vec<f64>) {
        self.accumulate(weights, out, |x| x);
    }

    /// `Σ_i w_i X_ij²` for every candidate j.
    pub fn square_sums(&self, weights: &[f64], out: &mut Vec<f64>) {
        self.accumulate(weights, out, |x| x * x);
    }

    /// Row by row within blocks of candidates that stay in the first-level cache.
    fn accumulate(&self, weights: &[f64], out: &mut Vec<f64>, map: impl Fn(f64) -> f64) {
        const BLOCK: usize = 512;
        let width = self.len();
        out.clear();
        out.resize(width, 0.0);
        for (block, sums) in out.chunks_mut(BLOCK).enumerate() {
            for (i, &w) in weights.iter().enumerate() {
                let start = i * width + block * BLOCK;
                let row = &self.columns[start..start + sums.len()];
                for (sum, &x) in sums.iter_mut().zip(row) {
                    *sum += w * map(x);
                }
            }
        }
    }
}

fn values_per_parameter(points: &[&[f64]]) -> Vec<usize> {
    let count = |l: usize| points.iter().map(|x| x[l].to_bits()).collect::<HashSet<_>>().len();
    (0..points.first().map_or(0, |x| x.len())).map(count).collect()
}

/// The factors whose column is not their value everywhere.
fn rounded(points: &[&[f64]], factors: &[Vec<FactorColumn>]) -> HashSet<Factor> {
    let is_rounded = |factor: Factor, values: &[f64]| {
        points.iter().zip(values).any(|(x, v)| (v - factor.at(x[factor.parameter])).abs() > 1e-9 * v.abs())
    };
    let columns = factors.iter().flatten();
    columns.filter_map(|column| column.factor.filter(|&f| is_rounded(f, &column.values))).collect()
}

/// Every product of one factor per parameter with its values.
fn products(points: usize, factors: &[Vec<FactorColumn>]) -> Vec<(Shape, Vec<f64>)> {
    let mut candidates: Vec<(Shape, Vec<f64>)> = vec![(Vec::new(), vec![1.0; points])];
    for of_parameter in factors {
        let mut longer = Vec::with_capacity(candidates.len() * of_parameter.len());
        for (shape, values) in &candidates {
            for column in of_parameter {
                let shape = shape.iter().copied().chain(column.factor).collect();
                let values = values.iter().zip(&column.values).map(|(a, b)| a * b).collect();
                longer.push((shape, values));
            }
        }
        candidates = longer;
    }
    candidates
}

/// The column divided by its first value that is not zero, in fixed precision, to recognise proportional columns;
/// `None` for a column that is constant, zero or not finite.
fn normalise(values: &[f64]) -> Option<Vec<i64>> {
    let first = values.iter().copied().find(|v| *v != 0.0)?;
    if values.iter().any(|v| !v.is_finite()) || values.iter().all(|v| (v / first - 1.0).abs() < 1e-12) {
        return None;
    }
    Some(values.iter().map(|v| ((v / first).ln_1p_signed() * 1e11).round() as i64).collect())
}

/// Compresses the range of ratios so that they can be compared at fixed precision.
trait SignedLog {
    fn ln_1p_signed(self) -> f64;
}

impl SignedLog for f64 {
    fn ln_1p_signed(self) -> f64 {
        self.signum() * self.abs().ln_1p()
    }
}

/// How complicated a term is: each factor counts, fractions more than integers, logarithms, high and negative powers.
///
/// The scale is that of a description length in nats: whole and half powers and single logarithms are common in
/// programs, fifths and squared logarithms are not.
pub(crate) fn complexity(shape: &[Factor]) -> f64 {
    shape.iter().map(factor_complexity).sum()
}

/// The order of factors that values do not tell apart: the simplest first, and of as simple ones powers before logarithms.
pub(crate) fn simplicity(factor: &Factor) -> (f64, i32) {
    (factor_complexity(factor), factor.log_exponent.abs())
}

fn factor_complexity(factor: &Factor) -> f64 {
    let fraction = match factor.exponent.denom() {
        1 => 0.0,
        2 => 0.7,
        3 => 1.0,
        _ => 1.5,
    };
    let exponent = f64::from(*factor.exponent.numer()) / f64::from(*factor.exponent.denom());
    let negative = if exponent < 0.0 { NEGATIVE_PRICE } else { 0.0 };
    let logarithm = match factor.log_exponent {
        0 => 0.0,
        1 if exponent == 0.0 => 0.3,
        1 => 0.8,
        j => 0.9 * f64::from(j.abs()),
    };
    1.0 + fraction + negative + logarithm + 0.3 * exponent.abs()
}

/// The values of every factor of one parameter at `points`, the constant one first.
///
/// Logarithms need coordinates of at least one, fractional powers positive ones. With rounding, a factor with both a
/// power and a logarithm is one loop or two nested ones, so it appears with its bound rounded jointly and apart.
pub(crate) fn factor_columns(
    points: &[&[f64]],
    parameter: usize,
    sets: &ExponentSets,
    negative: bool,
    rounding: Rounding,
) -> Vec<FactorColumn> {
    let x: Vec<f64> = points.iter().map(|point| point[parameter]).collect();
    let mut columns = vec![FactorColumn { factor: None, values: vec![1.0; x.len()] }];
    // A loop with a bound below zero runs no times.
    let has_negative = x.iter().any(|v| *v < 0.0);
    if x.iter().all(|v| *v == x[0]) || has_negative && rounding != Rounding::None {
        return columns;
    }
    // Between values on both sides of zero, or next to it, a negative power has no end.
    let negative = negative && !has_negative;
    let logarithms = x.iter().all(|v| *v >= 1.0);
    for (exponent, log_exponent) in exponent_pairs(sets, negative) {
        if log_exponent != 0 && !logarithms {
            continue;
        }
        let factor = Factor { parameter, exponent, log_exponent };
        let mut push = |values: Vec<f64>| {
            if values.iter().all(|v| v.is_finite()) {
                columns.push(FactorColumn { factor: Some(factor), values });
            }
        };
        push(x.iter().map(|&v| rounding.apply(factor.at(v))).collect());
        if rounding != Rounding::None && log_exponent != 0 && exponent != Exponent::from_integer(0) {
            let power = Factor { log_exponent: 0, ..factor };
            let logarithm = Factor { exponent: Exponent::from_integer(0), ..factor };
            push(x.iter().map(|&v| rounding.apply(power.at(v)) * rounding.apply(logarithm.at(v))).collect());
        }
    }
    columns
}

/// All pairs of exponents but that of the constant, in a stable order.
fn exponent_pairs(sets: &ExponentSets, negative: bool) -> Vec<(Exponent, i32)> {
    let zero = Exponent::from_integer(0);
    let mut exponents = sets.exponents.clone();
    exponents.push(zero);
    if negative {
        exponents.extend(sets.exponents.iter().map(|e| -e));
    }
    exponents.sort_unstable();
    exponents.dedup();
    let mut logs = sets.log_exponents.clone();
    logs.push(0);
    logs.sort_unstable();
    logs.dedup();
    let all = exponents.iter().flat_map(|&e| logs.iter().map(move |&j| (e, j)));
    all.filter(|&(e, j)| (e, j) != (zero, 0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(rounding: Rounding) -> Library {
        let grid: Vec<[f64; 2]> = [2.0, 4.0, 8.0].iter().flat_map(|&p| [10.0, 20.0, 50.0].map(|n| [p, n])).collect();
        let points: Vec<&[f64]> = grid.iter().map(|x| x.as_slice()).collect();
        let sets = ExponentSets::default();
        let factors: Vec<_> = (0..2).map(|l| factor_columns(&points, l, &sets, false, rounding)).collect();
        Library::new(&points, &factors)
    }

    #[test]
    fn equation_two_gives_3599_products_of_two_parameters() {
        assert_eq!(library(Rounding::None).len(), 60 * 60 - 1);
    }

    #[test]
    fn sums_agree_with_a_naive_evaluation_of_the_terms() {
        let library = library(Rounding::None);
        let weights: Vec<f64> = (0..9).map(|i| 1.0 + i as f64 * 0.1).collect();
        let (mut sums, mut squares) = (Vec::new(), Vec::new());
        library.sums(&weights, &mut sums);
        library.square_sums(&weights, &mut squares);
        let coordinates = |i: usize| [[2.0, 4.0, 8.0][i / 3], [10.0, 20.0, 50.0][i % 3]];
        for j in (0..library.len()).step_by(97) {
            let value = |i: usize| -> f64 {
                let x = coordinates(i);
                library.shapes[j].iter().map(|f| f.at(x[f.parameter])).product::<f64>() / library.scales[j]
            };
            let naive: f64 = (0..9).map(|i| weights[i] * value(i)).sum();
            let naive_squares: f64 = (0..9).map(|i| weights[i] * value(i).powi(2)).sum();
            assert!((sums[j] - naive).abs() < 1e-12 && (squares[j] - naive_squares).abs() < 1e-12);
        }
    }

    #[test]
    fn rounding_does_not_lose_exact_integers() {
        assert_eq!(Rounding::Floor.apply(8000f64.powf(2.0 / 3.0)), 400.0);
        assert_eq!(Rounding::Ceiling.apply(8000f64.powf(2.0 / 3.0)), 400.0);
        assert_eq!(Rounding::Floor.apply(16000f64.powf(2.0 / 3.0)), 634.0);
    }
}
