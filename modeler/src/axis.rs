//! One parameter of a full grid of points: its values, the factors that may stand for it in a count, and small vectors
//! over its values.

use crate::library::{FactorColumn, Rounding, complexity, factor_columns};
use crate::model::{Exponent, Factor};
use crate::options::{ExponentSets, NegativeExponents};
use crate::rows::Rows;
use std::collections::HashSet;
use std::sync::OnceLock;

/// Parameters with more values than this are left to the general search.
pub(crate) const MOST_VALUES: usize = 16;
/// Parameters have no more values than this as a rule: vectors of half the length take half the time.
pub(crate) const USUAL_VALUES: usize = MOST_VALUES / 2;
/// Functions closer than this to the span of others are not told apart from it.
pub(crate) const INDEPENDENT: f64 = 1e-5;
/// Share of squares that their differences lose.
pub(crate) const LOST: f64 = 1e-14;
/// Loops in each other may have logarithms to this power together.
const MOST_LOGARITHMS: i32 = 4;
/// What a loop inside another one adds to the complexity of a factor.
const NESTING: f64 = 0.3;

/// One value per value of a parameter, zero beyond.
pub(crate) type Vector = [f64; MOST_VALUES];

/// A factor that may be part of a count.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// The factor, or `None` for the constant one.
    pub factor: Option<Factor>,
    /// Values, as they enter the count.
    pub values: Vector,
    /// How many times the factor they are: one but for bounds of unknown scale, see [`crate::multiples`].
    pub scale: f64,
    /// How complicated it is.
    pub price: f64,
    /// Whether it is a single loop or the constant.
    pub plain: bool,
    /// Whether its values are those of rounded bounds and not of the factor.
    pub rounded: bool,
}

impl Candidate {
    /// Whether it is an edge, a face or the volume of a domain: the parameter, its square or its cube.
    pub fn is_extent(&self) -> bool {
        let is_whole =
            |f: &Factor| *f.exponent.denom() == 1 && (1..=3).contains(f.exponent.numer()) && f.log_exponent == 0;
        !self.rounded && self.factor.as_ref().is_some_and(is_whole)
    }

    /// Whether its values are whole, as the trips of loops are.
    pub fn is_counted(&self) -> bool {
        self.values.iter().all(|v| v.fract() == 0.0)
    }
}

/// A parameter's different values and its candidates.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// Number of values.
    pub size: usize,
    /// By ascending complexity, the constant first.
    pub candidates: Vec<Candidate>,
    /// Their values, for wide loops over all.
    rows: Rows,
    /// See [`Axis::nests`].
    nests: OnceLock<Vec<(usize, Vec<usize>)>>,
}

impl Axis {
    /// The axis of `parameter` in `points`, with its bounds rounded in this way; `None` where it has fewer than three
    /// values or too many.
    pub fn new(points: &[&[f64]], parameter: usize, sets: &ExponentSets, rounding: Rounding) -> Option<Self> {
        let mut values: Vec<f64> = points.iter().map(|x| x[parameter]).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        if values.len() > MOST_VALUES || values.len() < 3 {
            return None;
        }
        let representatives: Vec<Vec<f64>> =
            values.iter().map(|v| (0..=parameter).map(|l| if l == parameter { *v } else { 1.0 }).collect()).collect();
        let representatives: Vec<&[f64]> = representatives.iter().map(Vec::as_slice).collect();
        Some(Self::of(values.len(), candidates(&representatives, parameter, sets, rounding)))
    }

    fn of(size: usize, candidates: Vec<Candidate>) -> Self {
        let rows = Rows::new(size, candidates.iter().map(|c| &c.values));
        Self { size, candidates, rows, nests: OnceLock::new() }
    }

    /// The axis with more candidates.
    pub fn with(&self, more: &[Candidate]) -> Self {
        let mut candidates: Vec<Candidate> = self.candidates.iter().chain(more).cloned().collect();
        candidates.sort_by(|a, b| a.price.total_cmp(&b.price));
        Self::of(self.size, candidates)
    }

    /// The axis with some of its candidates.
    pub fn only(&self, which: impl Fn(&Candidate) -> bool) -> Self {
        Self::of(self.size, self.candidates.iter().filter(|c| which(c)).cloned().collect())
    }

    /// The scalar product of each candidate with this vector.
    pub fn along(&self, vector: &[f64]) -> Vec<f64> {
        self.rows.along(vector)
    }

    /// The square length of each candidate when its values are multiplied by these weights.
    pub fn squares(&self, weights: &[f64]) -> Vec<f64> {
        self.rows.squares(weights)
    }

    /// Single loops with whole trips, and the candidates whose loops may run inside of each.
    pub fn nests(&self) -> &[(usize, Vec<usize>)] {
        self.nests.get_or_init(|| {
            let values = |k: usize| &self.candidates[k].values[..self.size];
            let is_inside = |inner: usize, outer: usize| {
                !self.candidates[inner].plain
                    && values(inner).iter().zip(values(outer)).all(|(x, y)| *y != 0.0 && (x / y).fract() == 0.0)
            };
            let all = 1..self.candidates.len();
            let outer = all.clone().filter(|&k| self.candidates[k].plain && self.candidates[k].is_counted());
            outer.map(|outer| (outer, all.clone().filter(|&inner| is_inside(inner, outer)).collect())).collect()
        })
    }
}

/// Every factor of a parameter as it is and rounded, proportional ones once, simplest first.
fn candidates(points: &[&[f64]], parameter: usize, sets: &ExponentSets, rounding: Rounding) -> Vec<Candidate> {
    let negative = sets.negative == NegativeExponents::Always
        || sets.negative == NegativeExponents::Auto && rounding != Rounding::None;
    let price = |column: &FactorColumn| column.factor.map_or(0.0, |f| complexity(&[f]));
    // By price: whether they are single loops, and whether rounded.
    let mut columns: Vec<(f64, (bool, bool), FactorColumn)> = Vec::new();
    let smooth = factor_columns(points, parameter, sets, negative, Rounding::None);
    columns.extend(smooth.into_iter().map(|c| (price(&c), (true, false), c)));
    if rounding != Rounding::None {
        let rounded = factor_columns(points, parameter, sets, false, rounding);
        for (depth, nested) in nested_loops(&rounded, sets) {
            columns.push((price(&nested) + NESTING * depth, (false, true), nested));
        }
        columns.extend(rounded.into_iter().map(|c| (price(&c) + 0.01, (true, true), c)));
    }
    columns.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut seen = HashSet::new();
    let mut candidates = Vec::new();
    for (price, (plain, rounded), column) in columns {
        let mut values = [0.0; MOST_VALUES];
        values[..column.values.len()].copy_from_slice(&column.values);
        let unit = scaled(values);
        let key: Vec<i64> = unit.iter().map(|v| (v * 1e11).round() as i64).collect();
        if length(&values) > 0.0 && seen.insert(key) {
            candidates.push(Candidate { factor: column.factor, values, scale: 1.0, price, plain, rounded });
        }
    }
    candidates
}

/// Two and three nested loops over the same parameter, each with its own rounded bound, where the product of their
/// powers has an exponent of the sets; the first value is how many loops are inside another.
fn nested_loops(rounded: &[FactorColumn], sets: &ExponentSets) -> Vec<(f64, FactorColumn)> {
    let zero = Exponent::from_integer(0);
    let pure = |f: &Factor| f.log_exponent == 0 || *f.exponent.numer() == 0;
    let loops: Vec<(Factor, &[f64])> = rounded
        .iter()
        .filter_map(|c| Some((c.factor?, c.values.as_slice())))
        .filter(|(f, _)| pure(f) && f.exponent >= zero)
        .collect();
    let product = |(a, x): &(Factor, Vec<f64>), (b, y): &(Factor, &[f64])| -> Option<(Factor, Vec<f64>)> {
        let (exponent, log_exponent) = (a.exponent + b.exponent, a.log_exponent + b.log_exponent);
        let known = exponent == zero || sets.exponents.contains(&exponent);
        let values = || x.iter().zip(*y).map(|(x, y)| x * y).collect();
        (known && log_exponent <= MOST_LOGARITHMS).then(|| (Factor { exponent, log_exponent, ..*a }, values()))
    };
    let mut nested = Vec::new();
    for (i, (a, values)) in loops.iter().enumerate() {
        let outer = (*a, values.to_vec());
        for (j, inner) in loops.iter().enumerate().skip(i) {
            let Some(two) = product(&outer, inner) else { continue };
            let three = loops[j..].iter().filter_map(|innermost| product(&two, innermost));
            nested.extend(three.map(|t| (2.0, t)));
            nested.push((1.0, two));
        }
    }
    nested.into_iter().map(|(depth, (f, values))| (depth, FactorColumn { factor: Some(f), values })).collect()
}

pub(crate) fn product<const N: usize>(a: &[f64; N], b: &[f64; N]) -> [f64; N] {
    std::array::from_fn(|i| a[i] * b[i])
}

pub(crate) fn dot<const N: usize>(a: &[f64; N], b: &[f64; N]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

pub(crate) fn length<const N: usize>(a: &[f64; N]) -> f64 {
    dot(a, a).sqrt()
}

/// `a` with length one.
pub(crate) fn scaled<const N: usize>(mut a: [f64; N]) -> [f64; N] {
    let length = length(&a).max(f64::MIN_POSITIVE);
    a.iter_mut().for_each(|v| *v /= length);
    a
}

/// `a` without its part in the span of the orthonormal `basis`; done twice to be orthogonal to machine precision.
pub(crate) fn without<const N: usize>(mut a: [f64; N], basis: &[[f64; N]]) -> [f64; N] {
    for _ in 0..2 {
        for q in basis {
            let along = dot(&a, q);
            a.iter_mut().zip(q).for_each(|(a, q)| *a -= along * q);
        }
    }
    a
}

/// An orthonormal basis of the span of `vectors`, which are independent.
pub(crate) fn orthonormal<const N: usize>(vectors: &[[f64; N]]) -> Vec<[f64; N]> {
    let mut basis: Vec<[f64; N]> = Vec::with_capacity(vectors.len());
    for v in vectors {
        basis.push(scaled(without(*v, &basis)));
    }
    basis
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(rounding: Rounding) -> Axis {
        let points = [8.0, 16.0, 24.0, 32.0, 40.0].map(|n| [n]);
        let points: Vec<&[f64]> = points.iter().map(|x| x.as_slice()).collect();
        Axis::new(&points, 0, &ExponentSets::default(), rounding).unwrap()
    }

    #[test]
    fn products_and_squares_are_those_of_each_candidate() {
        let axis = axis(Rounding::Floor);
        let vector: Vector = std::array::from_fn(|i| if i < 5 { 0.3 * i as f64 - 0.5 } else { 0.0 });
        let (along, squares) = (axis.along(&vector), axis.squares(&vector));
        assert_eq!((along.len(), squares.len()), (axis.candidates.len(), axis.candidates.len()));
        for (k, candidate) in axis.candidates.iter().enumerate() {
            let square = length(&product(&candidate.values, &vector)).powi(2);
            assert!((along[k] - dot(&candidate.values, &vector)).abs() <= 1e-12 * length(&candidate.values));
            assert!((squares[k] - square).abs() <= 1e-12 * square);
        }
    }

    #[test]
    fn loops_run_inside_those_whose_trips_divide_theirs() {
        let axis = axis(Rounding::Floor);
        let trips = |k: usize| &axis.candidates[k].values[..5];
        // floor(log2(n)) and floor(n^(1/2)), and two of the latter in each other.
        let at = |values: &[f64]| (0..axis.candidates.len()).find(|&k| trips(k) == values).unwrap();
        let (outer, other) = (at(&[3.0, 4.0, 4.0, 5.0, 5.0]), at(&[2.0, 4.0, 4.0, 5.0, 6.0]));
        let nested = at(&[4.0, 16.0, 16.0, 25.0, 36.0]);
        let inside = |k: usize| &axis.nests().iter().find(|(loops, _)| *loops == k).unwrap().1;
        assert!(inside(other).contains(&nested) && !inside(outer).contains(&nested));
        assert!(!inside(other).contains(&other));
        for (loops, inner) in axis.nests() {
            assert!(trips(*loops).iter().all(|v| v.fract() == 0.0));
            assert!(inner.iter().all(|k| trips(*k).iter().zip(trips(*loops)).all(|(x, y)| x % y == 0.0)));
        }
    }

    #[test]
    fn some_candidates_keep_their_order_and_values() {
        let all = axis(Rounding::None);
        let some = all.only(|c| c.is_extent());
        let prices: Vec<f64> = some.candidates.iter().map(|c| c.price).collect();
        assert!(prices.is_sorted() && some.candidates.len() == 3);
        assert_eq!(some.along(&[1.0, 0.0, 0.0, 0.0, 0.0]), [8.0, 64.0, 512.0]);
    }
}
