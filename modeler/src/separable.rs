//! Finds exact functions of counts on full grids, one parameter at a time.
//!
//! A sum of products of factors, seen as a matrix of one parameter's values against all others, has columns in the
//! span of that parameter's factors, however the loop bounds of the others were rounded. So the factors of each
//! parameter are found on their own: the smallest set of candidates, rounded or not, that spans the columns. The
//! coefficients of all products of the factors found follow from one linear solve. A function that is no such sum, or
//! needs as many factors as the parameter has values, is not found here.

use crate::library::{FactorColumn, Rounding, Shape, complexity, factor_columns};
use crate::linear::{least_squares, residual};
use crate::model::Factor;
use crate::options::{ExponentSets, NegativeExponents};
use std::collections::HashSet;

/// Parameters with more values than this are left to the general search.
const MOST_VALUES: usize = 16;
/// Relative size below which a column adds nothing to a span.
const RANK_TOLERANCE: f64 = 1e-10;
/// Distance below which a unit vector lies in a span.
const SPAN_TOLERANCE: f64 = 1e-8;
/// Candidates closer than this to the span of others are not told apart from it.
const INDEPENDENT: f64 = 1e-5;
/// Relative residual of an exact function at every point.
const EXACT: f64 = 1e-8;

/// So many conditions at least must hold for a pair of rounded bounds not to be an accident.
const LEAST_CONDITIONS: usize = 3;

/// One value per value of a parameter, zero beyond.
type Vector = [f64; MOST_VALUES];

/// A factor that may be part of a count.
#[derive(Clone, Debug)]
struct Candidate {
    factor: Option<Factor>,
    /// Values, as they enter the count.
    values: Vector,
    /// Whether the values are rounded.
    rounded: bool,
}

/// One varying parameter of a grid.
#[derive(Debug)]
struct Axis {
    /// Number of values.
    size: usize,
    /// By ascending complexity, the constant first.
    candidates: Vec<Candidate>,
    /// Which value each point has.
    index: Vec<usize>,
}

/// A full grid with its candidates, by way of rounding.
#[derive(Debug)]
pub(crate) struct Grid {
    by_rounding: Vec<Vec<Axis>>,
    points: usize,
}

impl Grid {
    /// The grid of `points` over the parameters `varying`; `None` where points are missing or there are too many
    /// values.
    pub fn new(points: &[&[f64]], varying: &[usize], sets: &ExponentSets) -> Option<Self> {
        let roundings = [Rounding::Floor, Rounding::Ceiling, Rounding::Nearest];
        let axes = |r: Rounding| varying.iter().map(|&l| Axis::new(points, l, sets, r)).collect::<Option<Vec<Axis>>>();
        let by_rounding: Vec<Vec<Axis>> = roundings.into_iter().map(axes).collect::<Option<_>>()?;
        let size = by_rounding[0].iter().map(|a| a.size).product::<usize>();
        (size == points.len() && !varying.is_empty()).then_some(Self { by_rounding, points: points.len() })
    }

    /// Constant and terms of the function that gives `y` exactly, if it is a sum of products of few factors.
    ///
    /// Programs round their loop bounds one way and execute whole numbers of blocks per iteration, so of the ways of
    /// rounding the one with the fewest terms and the fewest fractional coefficients wins.
    pub fn function(&self, y: &[f64]) -> Option<(f64, Vec<(Shape, f64)>)> {
        let found = self.by_rounding.iter().filter_map(|axes| self.exact(axes, y));
        let fractional = |c: &f64| usize::from((c - c.round()).abs() > 1e-5 * c.abs());
        found.min_by_key(|(constant, terms)| {
            let odd = fractional(constant) + terms.iter().map(|t| fractional(&t.1)).sum::<usize>();
            (terms.len() + usize::from(*constant != 0.0) + odd, odd)
        })
    }

    /// How many of the values of `y` can be rounded on their own: those of the independent columns of each parameter.
    pub fn independent(&self, y: &[f64]) -> usize {
        let of = |axis: &Axis| axis.size * axis.column_span(y, &axis.weights(y)).len();
        self.by_rounding[0].iter().map(of).sum()
    }

    /// The same with one way of rounding.
    fn exact(&self, axes: &[Axis], y: &[f64]) -> Option<(f64, Vec<(Shape, f64)>)> {
        let factors: Vec<Vec<&Candidate>> = axes.iter().map(|axis| axis.factors(y)).collect::<Option<_>>()?;
        let products = self.products(axes, &factors);
        if products.len() > self.points {
            return None;
        }
        let largest = y.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let weights: Vec<f64> = y.iter().map(|v| 1.0 / v.abs().max(1e-6 * largest)).collect();
        let data = times(y, &weights);
        let mut chosen: Vec<usize> = (0..products.len()).collect();
        loop {
            let columns: Vec<Vec<f64>> = chosen.iter().map(|&k| times(&products[k].1, &weights)).collect();
            let c = least_squares(&columns, &data);
            // A product whose share is rounding alone is not part of the function.
            let size = |k: usize| columns[k].iter().fold(0.0_f64, |m, v| m.max((v * c[k]).abs()));
            let weakest = (0..chosen.len()).min_by(|&a, &b| size(a).total_cmp(&size(b)))?;
            if size(weakest) < EXACT && chosen.len() > 1 {
                chosen.remove(weakest);
                continue;
            }
            let exact = residual(&columns, &data, &c).iter().all(|r| r.abs() < EXACT);
            return exact.then(|| assemble(&chosen, &products, &c));
        }
    }

    /// All products of one factor per parameter with their values at the points.
    fn products(&self, axes: &[Axis], factors: &[Vec<&Candidate>]) -> Vec<(Shape, Vec<f64>)> {
        let mut products: Vec<(Shape, Vec<f64>)> = vec![(Vec::new(), vec![1.0; self.points])];
        for (axis, factors) in axes.iter().zip(factors) {
            let mut longer = Vec::with_capacity(products.len() * factors.len());
            for (shape, values) in &products {
                for candidate in factors {
                    let shape = shape.iter().copied().chain(candidate.factor).collect();
                    let values = values.iter().zip(&axis.index).map(|(v, &i)| v * candidate.values[i]).collect();
                    longer.push((shape, values));
                }
            }
            products = longer;
        }
        products
    }
}

fn times(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(x, y)| x * y).collect()
}

fn assemble(chosen: &[usize], products: &[(Shape, Vec<f64>)], c: &[f64]) -> (f64, Vec<(Shape, f64)>) {
    let (mut constant, mut terms) = (0.0, Vec::new());
    for (&k, &c) in chosen.iter().zip(c) {
        if products[k].0.is_empty() {
            constant = c;
        } else {
            terms.push((products[k].0.clone(), c));
        }
    }
    (constant, terms)
}

impl Axis {
    fn new(points: &[&[f64]], parameter: usize, sets: &ExponentSets, rounding: Rounding) -> Option<Self> {
        let mut values: Vec<f64> = points.iter().map(|x| x[parameter]).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        if values.len() > MOST_VALUES || values.len() < 3 {
            return None;
        }
        let index = points.iter().map(|x| values.partition_point(|v| *v < x[parameter])).collect();
        let representatives: Vec<Vec<f64>> =
            values.iter().map(|v| (0..=parameter).map(|l| if l == parameter { *v } else { 1.0 }).collect()).collect();
        let representatives: Vec<&[f64]> = representatives.iter().map(Vec::as_slice).collect();
        Some(Self { size: values.len(), candidates: candidates(&representatives, parameter, sets, rounding), index })
    }

    /// The smallest set of candidates that spans the columns of `y` seen as a matrix over this parameter.
    fn factors(&self, y: &[f64]) -> Option<Vec<&Candidate>> {
        let weights = self.weights(y);
        let units: Vec<Vector> = self.candidates.iter().map(|c| scaled(product(&c.values, &weights))).collect();
        let span = self.column_span(y, &weights);
        if span.len() >= self.size {
            return None;
        }
        let mut chosen: Vec<usize> = Vec::new();
        let mut basis: Vec<Vector> = Vec::new();
        for (k, unit) in units.iter().enumerate() {
            if basis.len() < span.len() && length(&without(*unit, &span)) < SPAN_TOLERANCE {
                let rest = without(*unit, &basis);
                if length(&rest) > INDEPENDENT {
                    basis.push(scaled(rest));
                    chosen.push(k);
                }
            }
        }
        let missing: Vec<Vector> =
            span.iter().map(|u| without(*u, &basis)).filter(|u| length(u) > SPAN_TOLERANCE).collect();
        if !missing.is_empty() {
            chosen.extend(self.cover(&missing, &basis, &units)?);
        }
        Some(chosen.iter().map(|&k| &self.candidates[k]).collect())
    }

    /// One over the size of `y` at each value of the parameter, so that what matters only where counts are small is
    /// seen as well.
    fn weights(&self, y: &[f64]) -> Vector {
        let mut sizes = [0.0_f64; MOST_VALUES];
        for (value, &i) in y.iter().zip(&self.index) {
            sizes[i] = sizes[i].max(value.abs());
        }
        let largest = sizes.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        sizes.map(|s| largest / s.max(1e-12 * largest))
    }

    /// Orthonormal basis of the weighted columns: Gram-Schmidt, longest remaining column first.
    fn column_span(&self, y: &[f64], weights: &Vector) -> Vec<Vector> {
        // Points are in lexicographic order, so those that share all other coordinates appear in the same order under
        // every value of this parameter.
        let mut next = [0; MOST_VALUES];
        let mut columns: Vec<Vector> = vec![[0.0; MOST_VALUES]; y.len() / self.size];
        for (value, &i) in y.iter().zip(&self.index) {
            columns[next[i]][i] = *value * weights[i];
            next[i] += 1;
        }
        let limit = RANK_TOLERANCE * columns.iter().map(length).fold(0.0, f64::max);
        let mut span: Vec<Vector> = Vec::new();
        while span.len() < self.size {
            let rest = columns.iter().map(|c| without(*c, &span));
            let Some(longest) = rest.max_by(|a, b| length(a).total_cmp(&length(b))) else { break };
            if length(&longest) <= limit {
                break;
            }
            span.push(scaled(longest));
        }
        span
    }

    /// One candidate, two, or the constant and two others that together with `basis` span all of `missing`.
    fn cover(&self, missing: &[Vector], basis: &[Vector], units: &[Vector]) -> Option<Vec<usize>> {
        let room = self.size.checked_sub(1 + basis.len())?;
        let rest = remaining(units, basis);
        if room >= 1 && missing.len() == 1 {
            let single = rest.iter().find(|(_, v)| covers(missing, &[*v]));
            if let Some((k, _)) = single {
                return Some(vec![*k]);
            }
        }
        if room >= 2
            && let Some(pair) = pair_that_covers(missing, &rest)
        {
            return Some(pair);
        }
        let (constant, one) = rest.first().filter(|(k, _)| *k == 0 && room >= 3)?;
        let with_constant: Vec<Vector> = basis.iter().chain(std::iter::once(one)).copied().collect();
        let still: Vec<Vector> = missing.iter().map(|m| without(*m, &with_constant)).collect();
        let mut rest = remaining(units, &with_constant);
        // Small whole numbers meet by chance: rounded bounds need more conditions than a single line of values has.
        let conditions = (self.size - 2 - with_constant.len()) * missing.len();
        rest.retain(|(k, _)| conditions >= LEAST_CONDITIONS || !self.candidates[*k].rounded);
        let pair = pair_that_covers(&still, &rest)?;
        Some(std::iter::once(*constant).chain(pair).collect())
    }
}

/// Candidates with `basis` taken out, of length one, without those that are all in it.
fn remaining(units: &[Vector], basis: &[Vector]) -> Vec<(usize, Vector)> {
    let rest = units.iter().enumerate().map(|(k, unit)| (k, without(*unit, basis)));
    rest.filter(|(_, v)| length(v) > INDEPENDENT).map(|(k, v)| (k, scaled(v))).collect()
}

fn product(a: &Vector, b: &Vector) -> Vector {
    std::array::from_fn(|i| a[i] * b[i])
}

/// The first pair, by the more complicated of the two, that spans all of `missing`.
fn pair_that_covers(missing: &[Vector], rest: &[(usize, Vector)]) -> Option<Vec<usize>> {
    let first = missing.iter().max_by(|a, b| length(a).total_cmp(&length(b)))?;
    let size = dot(first, first);
    let along: Vec<f64> = rest.iter().map(|(_, v)| dot(first, v)).collect();
    for j in 1..rest.len() {
        for i in 0..j {
            let cosine = dot(&rest[i].1, &rest[j].1);
            let sine_squared = 1.0 - cosine * cosine;
            let second = along[j] - cosine * along[i];
            // What the pair leaves of the largest missing vector, to single precision: enough to reject nearly all.
            let left = size - along[i] * along[i] - second * second / sine_squared;
            if sine_squared > INDEPENDENT * INDEPENDENT
                && left < 1e-10 * size
                && covers(missing, &[rest[i].1, rest[j].1])
            {
                return Some(vec![rest[i].0, rest[j].0]);
            }
        }
    }
    None
}

/// Whether the unit vectors `with`, which need not be orthogonal, span all of `missing`.
fn covers(missing: &[Vector], with: &[Vector]) -> bool {
    let mut basis: Vec<Vector> = Vec::with_capacity(with.len());
    for v in with {
        basis.push(scaled(without(*v, &basis)));
    }
    missing.iter().all(|m| length(&without(*m, &basis)) < SPAN_TOLERANCE)
}

/// Every factor of a parameter as it is and rounded, proportional ones once, simplest first.
fn candidates(points: &[&[f64]], parameter: usize, sets: &ExponentSets, rounding: Rounding) -> Vec<Candidate> {
    let negative = sets.negative != NegativeExponents::Never;
    let price = |column: &FactorColumn| column.factor.map_or(0.0, |f| complexity(&[f]));
    let mut columns: Vec<(f64, FactorColumn)> = Vec::new();
    let smooth = factor_columns(points, parameter, sets, negative, Rounding::None);
    columns.extend(smooth.into_iter().map(|c| (price(&c), c)));
    let rounded = factor_columns(points, parameter, sets, false, rounding);
    columns.extend(nested_loops(&rounded, sets).into_iter().map(|c| (price(&c) + 0.3, c)));
    columns.extend(rounded.into_iter().map(|c| (price(&c) + 0.01, c)));
    columns.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut seen = HashSet::new();
    let mut candidates = Vec::new();
    for (_, column) in columns {
        let mut values = [0.0; MOST_VALUES];
        values[..column.values.len()].copy_from_slice(&column.values);
        let unit = scaled(values);
        let key: Vec<i64> = unit.iter().map(|v| (v * 1e11).round() as i64).collect();
        if length(&values) > 0.0 && seen.insert(key) {
            let rounded = column.values.iter().all(|v| v.fract() == 0.0) && !is_whole(column.factor);
            candidates.push(Candidate { factor: column.factor, values, rounded });
        }
    }
    candidates
}

/// Two nested loops over the same parameter, each with its own rounded bound, where their product has an exponent of
/// the sets.
fn nested_loops(rounded: &[FactorColumn], sets: &ExponentSets) -> Vec<FactorColumn> {
    let pure = |f: &Factor| f.log_exponent == 0 || (f.log_exponent == 1 && *f.exponent.numer() == 0);
    let loops: Vec<(Factor, &FactorColumn)> =
        rounded.iter().filter_map(|c| Some((c.factor?, c))).filter(|(f, _)| pure(f)).collect();
    let mut nested = Vec::new();
    for (i, (a, outer)) in loops.iter().enumerate() {
        for (b, inner) in &loops[i..] {
            let (exponent, log_exponent) = (a.exponent + b.exponent, a.log_exponent + b.log_exponent);
            if sets.exponents.contains(&exponent) && (log_exponent == 0 || *exponent.numer() == 0) {
                let values = outer.values.iter().zip(&inner.values).map(|(x, y)| x * y).collect();
                nested.push(FactorColumn { factor: Some(Factor { exponent, log_exponent, ..*a }), values });
            }
        }
    }
    nested
}

/// Whether the factor gives whole numbers without rounding.
fn is_whole(factor: Option<Factor>) -> bool {
    factor.is_none_or(|f| f.log_exponent == 0 && f.exponent.is_integer())
}

fn dot(a: &Vector, b: &Vector) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn length(a: &Vector) -> f64 {
    dot(a, a).sqrt()
}

fn scaled(mut a: Vector) -> Vector {
    let length = length(&a).max(f64::MIN_POSITIVE);
    a.iter_mut().for_each(|v| *v /= length);
    a
}

/// `a` without its part in the span of the orthonormal `basis`; done twice to be orthogonal to machine precision.
fn without(mut a: Vector, basis: &[Vector]) -> Vector {
    for _ in 0..2 {
        for q in basis {
            let along = dot(&a, q);
            a.iter_mut().zip(q).for_each(|(a, q)| *a -= along * q);
        }
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_with_a_hole_is_none() {
        let sets = ExponentSets::default();
        let points: Vec<[f64; 2]> = [1.0, 2.0, 3.0].iter().flat_map(|&a| [4.0, 5.0, 6.0].map(|b| [a, b])).collect();
        let all: Vec<&[f64]> = points.iter().map(|x| x.as_slice()).collect();
        assert!(Grid::new(&all, &[0, 1], &sets).is_some());
        assert!(Grid::new(&all[1..], &[0, 1], &sets).is_none());
    }

    #[test]
    fn six_terms_with_rounded_bounds_are_named() {
        let sets = ExponentSets::default();
        let p = [128.0, 256.0, 512.0, 1024.0, 2048.0_f64];
        let n = [8000.0, 16000.0, 24000.0, 32000.0, 40000.0_f64];
        let points: Vec<[f64; 2]> = p.iter().flat_map(|&p| n.map(|n| [p, n])).collect();
        let views: Vec<&[f64]> = points.iter().map(|x| x.as_slice()).collect();
        let grid = Grid::new(&views, &[0, 1], &sets).unwrap();
        let count = |x: &[f64; 2]| {
            let (a, b) = (x[0].powf(0.8).floor(), x[1].powf(0.75).floor());
            6.0 + 2.0 * a + 3.0 * a * b + 5.0 * x[1] + x[1] * x[0].log2().floor() + 4.0 * b
        };
        let y: Vec<f64> = points.iter().map(count).collect();
        let (constant, terms) = grid.function(&y).expect("an exact function");
        assert!((constant - 6.0).abs() < 1e-4, "{constant} {terms:?}");
        assert_eq!(terms.len(), 5, "{terms:?}");
    }

    #[test]
    fn noise_is_no_function() {
        let sets = ExponentSets::default();
        let points: Vec<[f64; 1]> = [1.0, 2.0, 3.0, 4.0, 5.0].map(|x| [x]).to_vec();
        let views: Vec<&[f64]> = points.iter().map(|x| x.as_slice()).collect();
        let grid = Grid::new(&views, &[0], &sets).unwrap();
        assert_eq!(grid.function(&[1.0, 1.7, 3.1, 3.9, 5.3]), None);
    }
}
