//! The smallest sum of a constant and few factors that gives the values along a parameter exactly, for a dot product per sum.
//!
//! Values are a sum of some functions exactly where they are orthogonal to all that these functions are orthogonal to. Of the values at one
//! point more than there are functions that is one vector, which is known before any values are.

use crate::axis::{Axis, INDEPENDENT, MOST_VALUES, Vector, dot, length, scaled, without};
use crate::effort::{EXPLAINS, relative_weights};
use crate::exact_sum::given_by;
use crate::library::Rounding;
use crate::model::Factor;
use crate::options::ExponentSets;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Sums of three factors are of so many of the simplest, of which those that fall are a parameter's inverse and that of its root.
const SIMPLE: usize = 23;
/// Sums of two factors are of so many of the simplest; the usual exponents are fewer than these.
const MOST_FACTORS: usize = 200;
/// So many lines are kept, of 0.3 to 1 MB each; where points are missing at random more of them may be different.
const MOST_LINES: usize = 64;

/// The sums along all lines that were asked for, which experiments with missing points share.
#[derive(Debug, Default)]
pub(crate) struct PlainSums(Mutex<HashMap<Key, Arc<OnceLock<Line>>>>);

/// The parameter, whether it has the exponents of steep ones, and the bits of the coordinates.
type Key = (usize, bool, Vec<u64>);

/// The sums along one line.
#[derive(Debug)]
struct Line {
    /// Which of the points are looked at: no more than vectors have room for.
    chosen: Vec<usize>,
    /// By candidate: the factor, `None` for the constant one, and its values.
    factors: Vec<Option<Factor>>,
    values: Vec<Vector>,
    one: Sums<2, 1>,
    constant_and_one: Sums<3, 2>,
    constant_and_two: Sums<4, 3>,
    constant_and_three: Sums<5, 4>,
}

/// Sums of `K` candidates, of which `N` values, one more, tell that they do not give them.
#[derive(Debug)]
struct Sums<const N: usize, const K: usize> {
    /// Which of the values these are.
    at: [usize; N],
    /// By sum: its candidates, and what is orthogonal to them there, of which the absolute values add up to one.
    sums: Vec<([u16; K], [f64; N])>,
}

impl PlainSums {
    /// The factors, `None` for the constant one, of the smallest sum that gives the values `y` at points that differ in `parameter` alone, in which
    /// they ascend, and how many sums are no larger; `None` if there is none. Sums of a constant and three factors are of simple ones only. Steep
    /// parameters always have the same `sets`, and others, too.
    pub fn smallest(
        &self,
        points: &[&[f64]],
        (parameter, is_steep): (usize, bool),
        sets: &ExponentSets,
        y: &[f64],
    ) -> Option<(Vec<Option<Factor>>, usize)> {
        debug_assert!(points.is_sorted_by(|a, b| a[parameter] < b[parameter]));
        let key = (parameter, is_steep, points.iter().map(|x| x[parameter].to_bits()).collect());
        let line = self.kept(key);
        line.get_or_init(|| Line::new(points, parameter, sets)).smallest(y)
    }

    /// The line that is kept for all who ask, in the place of another where too many are.
    fn kept(&self, key: Key) -> Arc<OnceLock<Line>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == MOST_LINES
            && !kept.contains_key(&key)
            && let Some(other) = kept.keys().next().cloned()
        {
            kept.remove(&other);
        }
        Arc::clone(kept.entry(key).or_default())
    }
}

impl Line {
    fn new(points: &[&[f64]], parameter: usize, sets: &ExponentSets) -> Self {
        let most = points.len().min(MOST_VALUES);
        let chosen: Vec<usize> = (0..most).map(|k| k * (points.len() - 1) / (most - 1).max(1)).collect();
        let points: Vec<&[f64]> = chosen.iter().map(|&i| points[i]).collect();
        let axis = Axis::new(&points, parameter, &sets.falling(), Rounding::None);
        let mut candidates = axis.map_or(Vec::new(), |axis| axis.candidates);
        candidates.truncate(1 + MOST_FACTORS);
        let factors: Vec<Option<Factor>> = candidates.iter().map(|c| c.factor).collect();
        let values: Vec<Vector> = candidates.iter().map(|c| c.values).collect();
        let others = || 1..values.len();
        let may_be_simple = |f: Factor| *f.exponent.numer() >= 0 || *f.exponent.numer() == -1 && f.log_exponent == 0;
        let is_simple = |&k: &usize| factors[k].is_some_and(may_be_simple);
        let simple: Vec<usize> = others().filter(is_simple).take(SIMPLE).collect();
        let pairs = |of: Vec<usize>| -> Vec<[usize; 2]> {
            (0..of.len()).flat_map(|j| (0..j).map(move |i| (i, j))).map(|(i, j)| [of[i], of[j]]).collect()
        };
        let below = |k: usize| simple.iter().copied().filter(|&other| other < k).collect();
        let triples = simple.iter().flat_map(|&k| pairs(below(k)).into_iter().map(move |[i, j]| [0, i, j, k]));
        let size = points.len();
        Self {
            one: Sums::new((0..values.len()).map(|k| [k]), &values, size),
            constant_and_one: Sums::new(others().map(|k| [0, k]), &values, size),
            constant_and_two: Sums::new(pairs(others().collect()).into_iter().map(|[i, j]| [0, i, j]), &values, size),
            constant_and_three: Sums::new(triples, &values, size),
            chosen,
            factors,
            values,
        }
    }

    fn smallest(&self, y: &[f64]) -> Option<(Vec<Option<Factor>>, usize)> {
        let y: Vec<f64> = self.chosen.iter().map(|&i| y[i]).collect();
        let mut tried = 0;
        let found = self.one.giving(&y, &self.values, &mut tried);
        let found = found.or_else(|| self.constant_and_one.giving(&y, &self.values, &mut tried));
        let found = found.or_else(|| self.constant_and_two.giving(&y, &self.values, &mut tried));
        let found = found.or_else(|| self.constant_and_three.giving(&y, &self.values, &mut tried))?;
        Some((found.iter().map(|&k| self.factors[k as usize]).collect(), tried))
    }
}

impl<const N: usize, const K: usize> Sums<N, K> {
    /// These sums of candidates with such values; none where there are too few points.
    fn new(sums: impl Iterator<Item = [usize; K]>, values: &[Vector], size: usize) -> Self {
        let at = std::array::from_fn(|k| k * size.saturating_sub(1) / (N - 1));
        let there: Vec<[f64; N]> = values.iter().map(|values| scaled(at.map(|i| values[i]))).collect();
        let told = |sum: [usize; K]| Some((sum.map(|k| k as u16), orthogonal_to(sum.map(|k| there[k]))?));
        Self { at, sums: sums.filter(|_| size >= N).filter_map(told).collect() }
    }

    /// The candidates of the first of the sums that gives these values, which are `tried` too.
    fn giving(&self, y: &[f64], values: &[Vector], tried: &mut usize) -> Option<&[u16]> {
        if self.sums.is_empty() {
            return None;
        }
        *tried += self.sums.len();
        let there = self.at.map(|i| y[i]);
        let limit = EXPLAINS * there.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
        let mut near = self.sums.iter().filter(|(_, orthogonal)| dot(orthogonal, &there).abs() <= limit);
        near.find(|(of, _)| gives(of, y, values)).map(|(of, _)| &of[..])
    }
}

/// What is orthogonal to these columns of length one, of which the absolute values add up to one; `None` where one column is nearly in the span
/// of those before.
fn orthogonal_to<const N: usize, const K: usize>(columns: [[f64; N]; K]) -> Option<[f64; N]> {
    let mut basis = [[0.0; N]; K];
    for k in 0..K {
        let rest = without(columns[k], &basis[..k]);
        if length(&rest) <= INDEPENDENT {
            return None;
        }
        basis[k] = scaled(rest);
    }
    // What is left of the axis that is farthest from their span.
    let inside = |i: usize| basis.iter().map(|q| q[i] * q[i]).sum::<f64>();
    let farthest = (0..N).min_by(|&a, &b| inside(a).total_cmp(&inside(b)))?;
    let rest = without(std::array::from_fn(|i| f64::from(u8::from(i == farthest))), &basis);
    let total: f64 = rest.iter().map(|v| v.abs()).sum();
    Some(rest.map(|v| v / total))
}

/// Whether the sum of these candidates with the best coefficients is all values.
fn gives(of: &[u16], y: &[f64], values: &[Vector]) -> bool {
    let weights = relative_weights(y);
    let weighted =
        |values: &[f64]| -> Vec<f64> { values.iter().zip(&weights).map(|(value, weight)| value * weight).collect() };
    let columns: Vec<Vec<f64>> = of.iter().map(|&k| weighted(&values[k as usize])).collect();
    given_by(&columns, &weighted(y)).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::STEEP_SETS;

    /// The exponents and powers of logarithms of the factors along `coordinates`, which are the same however large the values are.
    fn factors(coordinates: &[f64], of: impl Fn(f64) -> f64) -> Option<Vec<(f64, i32)>> {
        let points: Vec<[f64; 1]> = coordinates.iter().map(|p| [*p]).collect();
        let points: Vec<&[f64]> = points.iter().map(|x| x.as_slice()).collect();
        let plain = PlainSums::default();
        let at_scale = |scale: f64| {
            let y: Vec<f64> = coordinates.iter().map(|p| scale * of(*p)).collect();
            plain.smallest(&points, (0, false), &ExponentSets::default(), &y)
        };
        let found = at_scale(1.0);
        assert_eq!((&found, &found), (&at_scale(1e-9), &at_scale(1e9)));
        let exponents = |f: Factor| (f64::from(*f.exponent.numer()) / f64::from(*f.exponent.denom()), f.log_exponent);
        Some(found?.0.into_iter().map(|factor| factor.map_or((0.0, 0), exponents)).collect())
    }

    #[test]
    fn the_factors_of_sums_are_told_from_few_values() {
        let p = [2.0, 4.0, 8.0, 16.0, 32.0, 64.0_f64];
        assert_eq!(factors(&p[..3], |p| 7.0 * p.sqrt()).unwrap(), [(0.5, 0)]);
        assert_eq!(factors(&p[..3], |p| 7.0 + 3.0 / p).unwrap(), [(0.0, 0), (-1.0, 0)]);
        assert_eq!(factors(&p[..4], |p| 4e-5 * p + 3e-4 * p.log2()).unwrap(), [(0.0, 0), (0.0, 1), (1.0, 0)]);
        let three = |p: f64| p * p + 40.0 * p + 100.0 * p.log2();
        assert_eq!(factors(&p, three).unwrap(), [(0.0, 0), (0.0, 1), (1.0, 0), (2.0, 0)]);
        let falling = |p: f64| 1.01 / p.sqrt() + 0.0101 * p + 0.203 * p.log2();
        assert_eq!(factors(&p, falling).unwrap(), [(0.0, 0), (0.0, 1), (1.0, 0), (-0.5, 0)]);
        let many: Vec<f64> = (1..40).map(f64::from).collect();
        assert_eq!(factors(&many, |p| 2.0 * p * p + 9.0 * p).unwrap(), [(0.0, 0), (1.0, 0), (2.0, 0)]);
    }

    #[test]
    fn what_no_sum_gives_has_no_factors() {
        let p = [2.0, 4.0, 8.0, 16.0, 32.0, 64.0_f64];
        assert_eq!(factors(&p, |p| p * (1.0 + 1e-7 * p.sin())), None);
        assert_eq!(factors(&p[..2], |p| p), None);
        assert_eq!(factors(&p[..3], |p| 3.0 * p + 1.0 / p), None);
    }

    #[test]
    fn lines_that_are_kept_are_those_that_were_asked_for() {
        let one_of = |first: f64| (1..6).map(|k| [first * f64::from(k), first + f64::from(k * k)]).collect::<Vec<_>>();
        let asked = |plain: &PlainSums, first: usize, parameter: usize, is_steep: bool| {
            let points = one_of(first as f64);
            let points: Vec<&[f64]> = points.iter().map(|x| x.as_slice()).collect();
            let y: Vec<f64> = points.iter().map(|x| 5.0 + 2.0 * x[parameter].powi(4)).collect();
            let sets = if is_steep { STEEP_SETS.clone() } else { ExponentSets::default() };
            plain.smallest(&points, (parameter, is_steep), &sets, &y)
        };
        let shared = PlainSums::default();
        // More than are kept, and each a second time.
        for first in (1..MOST_LINES).chain(1..MOST_LINES) {
            for (parameter, is_steep) in [(0, false), (0, true), (1, false), (1, true)] {
                let found = asked(&shared, first, parameter, is_steep);
                assert_eq!(found, asked(&PlainSums::default(), first, parameter, is_steep));
                assert_eq!(found.is_some(), is_steep, "{first} {parameter}");
            }
        }
        let key = || (0, false, vec![1.5_f64.to_bits()]);
        assert!(Arc::ptr_eq(&shared.kept(key()), &shared.kept(key())));
        assert_eq!(shared.0.lock().unwrap().len(), MOST_LINES);
    }
}
