//! Finds exact functions of counts on full grids, one parameter at a time.
//!
//! A sum of products of factors, seen as a matrix of one parameter's values against all others, has columns in the
//! span of that parameter's factors, however the loop bounds of the others were rounded. So the smallest set of
//! factors, rounded or not, that spans the columns is found first; what multiplies each of them is a count of the other
//! parameters, which is taken apart in the same way. In the end there are counts of one parameter, which
//! [`crate::line`] explains. A function that is no such sum is not found here.

use crate::axis::{
    Axis, Candidate, INDEPENDENT, LOST, MOST_VALUES, Vector, dot, length, orthonormal, product, scaled, without,
};
use crate::coplanar::{Directions, left_by};
use crate::library::{Rounding, Shape};
use crate::line;
use crate::linear::{least_squares, residual};
use crate::multiples;
use crate::options::ExponentSets;
use crate::subspace::{self, Sum};
use std::collections::BTreeSet;

/// Relative size below which a column adds nothing to a span.
const RANK_TOLERANCE: f64 = 1e-10;
/// Relative size below which a pivot is zero.
const DEGENERATE: f64 = 1e-9;
/// Distance below which a unit vector lies in a span.
const SPAN_TOLERANCE: f64 = 1e-8;
/// Relative residual of an exact function at every point.
const EXACT: f64 = 1e-8;
/// How far the search goes with bounds of unknown scale, see [`line::explain`].
const EFFORT_WITH_MULTIPLES: usize = 2;
/// Most factors of a parameter.
const MOST_FACTORS: usize = 6;

/// A full grid with its candidates.
#[derive(Debug)]
pub(crate) struct Grid {
    /// By way of rounding.
    by_rounding: Vec<Vec<Axis>>,
    /// Without any.
    pub smooth: Vec<Axis>,
    /// The same with negative exponents.
    pub falling: Vec<Axis>,
    /// The smooth candidates that are whole powers.
    whole_powers: Vec<Axis>,
    /// Values per parameter.
    pub sizes: Vec<usize>,
}

/// A product of candidates, at most one of each axis, as pairs of axis and candidate; the constant ones are left out.
pub(crate) type Product = Vec<(usize, usize)>;

/// A sum of terms that is near counts, with what it leaves.
#[derive(Debug)]
pub(crate) struct Near {
    pub constant: f64,
    pub terms: Vec<(Shape, f64)>,
    /// As a mean square in that of what is expected.
    pub left: f64,
    /// The criterion of the search; smaller is better.
    pub score: f64,
}

impl Near {
    /// How many summands there are.
    pub fn coefficients(&self) -> usize {
        self.terms.len() + usize::from(self.constant != 0.0)
    }
}

/// A sum of products and how complicated it is.
struct Solution {
    products: Vec<Product>,
    price: f64,
}

impl Grid {
    /// The grid of `points` over the parameters `varying`; `None` where points are missing or there are too many
    /// values.
    pub fn new(points: &[&[f64]], varying: &[usize], sets: &ExponentSets) -> Option<Self> {
        let axes_of = |sets: &ExponentSets, r: Rounding| {
            varying.iter().map(|&l| Axis::new(points, l, sets, r)).collect::<Option<Vec<Axis>>>()
        };
        let values = |l: usize| points.iter().map(|x| x[l].to_bits()).collect::<BTreeSet<u64>>().len();
        if varying.is_empty() || varying.iter().map(|&l| values(l)).product::<usize>() != points.len() {
            return None;
        }
        let roundings = [Rounding::Floor, Rounding::Ceiling, Rounding::Nearest];
        let by_rounding: Vec<Vec<Axis>> = roundings.into_iter().map(|r| axes_of(sets, r)).collect::<Option<_>>()?;
        let sizes: Vec<usize> = by_rounding[0].iter().map(|a| a.size).collect();
        let smooth = axes_of(sets, Rounding::None)?;
        let falling = axes_of(&sets.falling(), Rounding::None)?;
        let is_whole_power = |c: &Candidate| c.factor.is_none_or(|f| f.log_exponent == 0 && f.exponent.is_integer());
        let whole_powers = smooth.iter().map(|axis| axis.only(is_whole_power)).collect();
        Some(Self { by_rounding, smooth, falling, whole_powers, sizes })
    }

    /// Constant and terms of the function that gives `y` exactly, if it is a sum of products of few factors.
    ///
    /// Programs round their loop bounds one way and execute whole, non-negative numbers of blocks per iteration, so of
    /// the ways of rounding the one with the fewest terms and the fewest other coefficients wins, but where whole powers give `y` without
    /// any: `20 + y` at 10, 20, 30, 40 and 50 is also ten times the rounded root.
    pub fn function(&self, y: &[f64]) -> Option<(f64, Vec<(Shape, f64)>)> {
        self.with(&self.by_rounding, y, line::MOST_EFFORT).or_else(|| self.function_with_multiples(y))
    }

    /// The same with short sums along lines alone, which takes a fraction of the time.
    pub fn short_function(&self, y: &[f64]) -> Option<(f64, Vec<(Shape, f64)>)> {
        self.with(&self.by_rounding, y, line::MOST_EFFORT - 1)
    }

    /// The same with bounds of unknown scale.
    fn function_with_multiples(&self, y: &[f64]) -> Option<(f64, Vec<(Shape, f64)>)> {
        let bound = |position: usize| multiples::bound(&self.smooth[position], &fibers(y, &self.sizes, position));
        let bounds: Vec<Option<Candidate>> = (0..self.sizes.len()).map(bound).collect();
        let with_bounds = |axes: &Vec<Axis>| -> Vec<Axis> {
            axes.iter().zip(&bounds).map(|(axis, bound)| axis.with(bound.as_slice())).collect()
        };
        let is_any = bounds.iter().any(Option::is_some);
        is_any
            .then(|| self.by_rounding.iter().map(with_bounds).collect::<Vec<_>>())
            .and_then(|axes| self.with(&axes, y, EFFORT_WITH_MULTIPLES))
    }

    /// The function with one of these ways of rounding, the least effort first.
    fn with(&self, by_rounding: &[Vec<Axis>], y: &[f64], most: usize) -> Option<(f64, Vec<(Shape, f64)>)> {
        (0..=most).find_map(|effort| {
            let found: Vec<Exact> = by_rounding.iter().filter_map(|axes| exact(axes, y, effort)).collect();
            let plain = || (0..=line::MOST_EFFORT).find_map(|effort| exact(&self.whole_powers, y, effort));
            if let Some(plain) = (!found.is_empty()).then(plain).flatten().filter(|f| is_plain(f, y.len())) {
                return Some(plain.2);
            }
            found
                .into_iter()
                .min_by(|a, b| (a.0, a.1).partial_cmp(&(b.0, b.1)).unwrap_or(std::cmp::Ordering::Equal))
                .map(|f| f.2)
        })
    }

    /// Constant and terms of the function without any rounding that gives `y` exactly.
    pub fn smooth_function(&self, y: &[f64]) -> Option<(f64, Vec<(Shape, f64)>)> {
        let with = |axes: &Vec<Axis>| (0..=line::MOST_EFFORT).find_map(|effort| exact(axes, y, effort));
        [&self.smooth, &self.falling].into_iter().find_map(with).map(|found| found.2)
    }

    /// Sums without any rounding of which `y`, each value divided by its own if `is_relative`, differs by no more than about this deviation; the
    /// fewest terms come first.
    pub fn sums_near(&self, y: &[f64], deviation: f64, is_relative: bool) -> Vec<Near> {
        let weights = if is_relative { self.relative_weights(y) } else { vec![[1.0; MOST_VALUES]; self.sizes.len()] };
        let with = |axes: &[Axis]| -> Vec<Near> {
            let of = |sum: Sum| {
                let (constant, terms) = assemble(axes, &sum.products, &sum.coefficients);
                Near { constant, terms, left: sum.left, score: f64::NEG_INFINITY }
            };
            subspace::sums(axes, y, &weights, deviation).into_iter().map(of).collect()
        };
        [&self.smooth, &self.falling]
            .into_iter()
            .map(|axes| with(axes))
            .find(|sums| !sums.is_empty())
            .unwrap_or_default()
    }

    /// By parameter and value: weights whose products are about one over each of the values `y`.
    fn relative_weights(&self, y: &[f64]) -> Vec<Vector> {
        let largest = y.iter().fold(f64::MIN_POSITIVE, |most, v| most.max(v.abs()));
        let logs: Vec<f64> = y.iter().map(|v| v.abs().max(1e-6 * largest).ln()).collect();
        let overall = logs.iter().sum::<f64>() / logs.len() as f64;
        // The mean is taken off once by each parameter and belongs there once.
        let share = overall * (self.sizes.len() - 1) as f64 / self.sizes.len() as f64;
        let of = |position: usize| -> Vector {
            let lines = fibers(&logs, &self.sizes, position);
            let of_value = |i: usize| lines.iter().map(|line| line[i]).sum::<f64>() / lines.len() as f64;
            std::array::from_fn(|i| if i < self.sizes[position] { (share - of_value(i)).exp() } else { 0.0 })
        };
        (0..self.sizes.len()).map(of).collect()
    }

    /// How many coefficients the function of a constant and two factors at most has that gives values of one parameter, be it by accident and
    /// however bounds are rounded.
    pub fn plain(&self, y: &[f64]) -> Option<usize> {
        let mut all = self.by_rounding.iter().chain([&self.falling]).flatten();
        all.find_map(|axis| Some(line::given(axis, y)?.len()))
    }

    /// Whether the values `y`, as a matrix of the parameter with the most values against all others, have less than full rank, as those of
    /// a sum of few products have, and those of measurements with noise have not. Only the first columns are looked at.
    pub fn is_degenerate(&self, y: &[f64]) -> bool {
        let Some(position) = (0..self.sizes.len()).max_by_key(|&position| self.sizes[position]) else { return false };
        let (size, stride) = (self.sizes[position], self.sizes[position + 1..].iter().product::<usize>());
        let rank = size.min(y.len() / size);
        let at = |row: usize, column: usize| y[column / stride * stride * size + row * stride + column % stride];
        let mut rows = [[0.0; MOST_VALUES]; MOST_VALUES];
        for (row, values) in rows.iter_mut().enumerate().take(rank) {
            (0..rank).for_each(|column| values[column] = at(row, column));
        }
        let largest = y.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        // Elimination with pivots from the column.
        for k in 0..rank {
            let size_at = |rows: &[[f64; MOST_VALUES]; MOST_VALUES], row: usize| rows[row][k].abs();
            let pivot = (k..rank).max_by(|&a, &b| size_at(&rows, a).total_cmp(&size_at(&rows, b))).unwrap_or(k);
            if size_at(&rows, pivot) <= DEGENERATE * largest {
                return true;
            }
            rows.swap(k, pivot);
            let of_pivot = rows[k];
            for row in &mut rows[k + 1..rank] {
                let factor = row[k] / of_pivot[k];
                (k..rank).for_each(|column| row[column] -= factor * of_pivot[column]);
            }
        }
        false
    }

    /// How many of the values of `y` can be rounded on their own: those of the independent columns of each parameter, or,
    /// where the factors of a parameter are known exactly, those of what multiplies them.
    pub fn independent(&self, y: &[f64]) -> usize {
        let of = |position: usize| {
            let size = self.sizes[position];
            let columns = fibers(y, &self.sizes, position);
            let exact = self.by_rounding.iter().filter_map(|axes| factors(&axes[position], &columns, 0));
            let multiplied = exact.map(|f| f.len() * columns.len()).min().unwrap_or(y.len());
            (size * column_span(&columns, &weights(&columns), size).len(), multiplied)
        };
        let counts: Vec<(usize, usize)> = (0..self.sizes.len()).map(of).collect();
        let spanned = counts.iter().map(|c| c.0).sum();
        counts.iter().map(|c| c.1).fold(spanned, usize::min)
    }
}

/// How long and odd the function is, its price, and the function.
type Exact = (usize, f64, (f64, Vec<(Shape, f64)>));

/// The function with one way of rounding.
fn exact(axes: &[Axis], y: &[f64], effort: usize) -> Option<Exact> {
    let numbered: Vec<(usize, &Axis)> = axes.iter().enumerate().collect();
    let solution = solve(&numbered, y, effort)?;
    if solution.products.len() > y.len() {
        return None;
    }
    let mut products = solution.products;
    let largest = y.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let weights: Vec<f64> = y.iter().map(|v| 1.0 / v.abs().max(1e-6 * largest)).collect();
    let times = |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(x, y)| x * y).collect() };
    let data = times(y, &weights);
    loop {
        let columns: Vec<Vec<f64>> = products.iter().map(|p| times(&values(axes, p), &weights)).collect();
        let c = least_squares(&columns, &data);
        // A product whose share is rounding alone is not part of the function.
        let size = |k: usize| columns[k].iter().fold(0.0_f64, |m, v| m.max((v * c[k]).abs()));
        let weakest = (0..products.len()).min_by(|&a, &b| size(a).total_cmp(&size(b)))?;
        if size(weakest) < EXACT && products.len() > 1 {
            products.remove(weakest);
            continue;
        }
        let is_exact = residual(&columns, &data, &c).iter().all(|r| r.abs() < EXACT);
        let odd = c.iter().filter(|c| line::is_odd(**c)).count();
        return is_exact.then(|| (products.len() + odd, solution.price, assemble(axes, &products, &c)));
    }
}

/// So many more values than coefficients agree with no sum of whole powers by chance.
const PLAIN_SPARE: usize = 3;

/// Whether the function, of whole powers, has whole coefficients.
fn is_plain((_, _, (constant, terms)): &Exact, values: usize) -> bool {
    let is_whole = |c: f64| c >= -EXACT && (c - c.round()).abs() <= EXACT * c.abs().max(1.0);
    let coefficients = terms.len() + usize::from(*constant != 0.0);
    is_whole(*constant)
        && terms.iter().all(|(_, c)| is_whole(*c) && c.round() >= 1.0)
        && coefficients + PLAIN_SPARE <= values
}

fn assemble(axes: &[Axis], products: &[Product], c: &[f64]) -> (f64, Vec<(Shape, f64)>) {
    let (mut constant, mut terms) = (0.0, Vec::new());
    for (product, &c) in products.iter().zip(c) {
        let mut product = product.clone();
        product.sort_unstable();
        let shape: Shape = product.iter().filter_map(|&(a, k)| axes[a].candidates[k].factor).collect();
        let c = product.iter().fold(c, |c, &(a, k)| c * axes[a].candidates[k].scale);
        if shape.is_empty() {
            constant = c;
        } else {
            terms.push((shape, c));
        }
    }
    (constant, terms)
}

/// The values of a product at the points, which are in lexicographic order.
fn values(axes: &[Axis], product: &Product) -> Vec<f64> {
    let mut values = vec![1.0];
    for (a, axis) in axes.iter().enumerate() {
        let factor = product.iter().find(|(b, _)| *b == a).map_or(0, |(_, k)| *k);
        let factor = &axis.candidates[factor].values[..axis.size];
        values = values.iter().flat_map(|v| factor.iter().map(move |f| v * f)).collect();
    }
    values
}

/// The simplest sum of products that gives `y` on the grid of these axes.
fn solve(axes: &[(usize, &Axis)], y: &[f64], effort: usize) -> Option<Solution> {
    if y.iter().all(|v| *v == 0.0) {
        return Some(Solution { products: Vec::new(), price: 0.0 });
    }
    if let [(id, axis)] = axes {
        let found = line::explain(axis, y, effort)?;
        let products = found.chosen.iter().map(|&k| if k == 0 { Vec::new() } else { vec![(*id, k)] }).collect();
        return Some(Solution { products, price: found.price });
    }
    let tries = (0..axes.len()).filter_map(|first| solve_along(axes, first, y, effort));
    tries.min_by(|a, b| {
        let key = |s: &Solution| (s.products.len(), s.price);
        key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal)
    })
}

/// Takes `y` apart along one axis.
fn solve_along(axes: &[(usize, &Axis)], first: usize, y: &[f64], effort: usize) -> Option<Solution> {
    let sizes: Vec<usize> = axes.iter().map(|(_, a)| a.size).collect();
    let (id, axis) = axes[first];
    let columns = fibers(y, &sizes, first);
    let chosen = factors(axis, &columns, effort)?;
    let rest: Vec<(usize, &Axis)> = axes.iter().enumerate().filter(|(i, _)| *i != first).map(|(_, a)| *a).collect();
    let mut solution = Solution { products: Vec::new(), price: 0.0 };
    for (k, component) in chosen.iter().zip(components(axis, &chosen, &columns)) {
        let inner = solve(&rest, &component, effort)?;
        solution.price += inner.price + axis.candidates[*k].price * inner.products.len() as f64;
        for mut product in inner.products {
            if *k != 0 {
                product.push((id, *k));
            }
            solution.products.push(product);
        }
    }
    Some(solution)
}

/// The lines of values along the axis at `position`, in the order of the other axes' points.
pub(crate) fn fibers(y: &[f64], sizes: &[usize], position: usize) -> Vec<Vector> {
    let inner: usize = sizes[position + 1..].iter().product();
    let block = sizes[position] * inner;
    let mut fibers = vec![[0.0; MOST_VALUES]; y.len() / sizes[position]];
    for (at, v) in y.iter().enumerate() {
        fibers[at / block * inner + at % inner][at % block / inner] = *v;
    }
    fibers
}

/// What multiplies each chosen candidate in each column.
fn components(axis: &Axis, chosen: &[usize], columns: &[Vector]) -> Vec<Vec<f64>> {
    let weights = weights(columns);
    let weigh = |v: &Vector| product(v, &weights)[..axis.size].to_vec();
    let factors: Vec<Vec<f64>> = chosen.iter().map(|&k| weigh(&axis.candidates[k].values)).collect();
    let mut components = vec![Vec::with_capacity(columns.len()); chosen.len()];
    for column in columns {
        let c = least_squares(&factors, &weigh(column));
        components.iter_mut().zip(c).for_each(|(of, c)| of.push(c));
    }
    let shares: Vec<f64> = factors.iter().map(|f| f.iter().fold(0.0_f64, |m, v| m.max(v.abs()))).collect();
    let size = |k: usize| components[k].iter().fold(0.0_f64, |m, v| m.max(v.abs())) * shares[k];
    let largest = (0..chosen.len()).map(size).fold(0.0, f64::max);
    let negligible: Vec<bool> = (0..chosen.len()).map(|k| size(k) < 1e-11 * largest).collect();
    for (component, negligible) in components.iter_mut().zip(negligible) {
        match negligible {
            true => component.fill(0.0),
            false => snap(component),
        }
    }
    components
}

/// Makes values whole, halves or sixths that are so but for rounding.
fn snap(values: &mut [f64]) {
    const PARTS: f64 = 12.0;
    let near = |v: &f64| v.abs() < 1e14 && (v * PARTS - (v * PARTS).round()).abs() < 1e-3;
    if values.iter().all(near) {
        values.iter_mut().for_each(|v| *v = (*v * PARTS).round() / PARTS);
    }
}

/// The smallest set of candidates found that spans the columns, ascending.
fn factors(axis: &Axis, columns: &[Vector], effort: usize) -> Option<Vec<usize>> {
    let weights = weights(columns);
    let span = column_span(columns, &weights, axis.size);
    if span.len() >= axis.size || span.len() > MOST_FACTORS {
        return None;
    }
    let mut candidates = Weighted::new(axis, &weights);
    let inside = candidates.share_in(&span);
    let mut chosen: Vec<usize> = Vec::new();
    for (k, inside) in inside.iter().enumerate() {
        if chosen.len() == span.len() {
            break;
        }
        // Enough to reject nearly all.
        if *inside < (1.0 - SPAN_TOLERANCE) * candidates.squares[k] {
            continue;
        }
        let unit = candidates.unit(k);
        if length(&without(unit, &span)) < SPAN_TOLERANCE {
            let rest = without(unit, &candidates.basis);
            if length(&rest) > INDEPENDENT {
                candidates.take_out(scaled(rest));
                chosen.push(k);
            }
        }
    }
    let missing: Vec<Vector> =
        span.iter().map(|u| without(*u, &candidates.basis)).filter(|u| length(u) > SPAN_TOLERANCE).collect();
    if !missing.is_empty() {
        let added = candidates.cover(&missing, effort)?;
        let conditions = (axis.size - chosen.len() - added.len()) * missing.len();
        let span = columns.iter().map(|c| line::span(&c[..axis.size])).fold(0.0, f64::max);
        let tried = 0.5 * (axis.candidates.len() as f64).powi(added.len().min(2) as i32);
        if !line::is_no_accident(conditions, span, tried) {
            return None;
        }
        chosen.extend(added);
    }
    chosen.sort_unstable();
    Some(chosen)
}

/// One over the size of the columns at each value of the parameter, so that what matters only where counts are small is
/// seen as well.
fn weights(columns: &[Vector]) -> Vector {
    let sizes: Vector = std::array::from_fn(|i| columns.iter().fold(0.0_f64, |m, c| m.max(c[i].abs())));
    let largest = sizes.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    sizes.map(|s| largest / s.max(1e-12 * largest))
}

/// Orthonormal basis of the weighted columns: Gram-Schmidt, longest remaining column first.
fn column_span(columns: &[Vector], weights: &Vector, size: usize) -> Vec<Vector> {
    let mut rest: Vec<Vector> = columns.iter().map(|c| product(c, weights)).collect();
    let limit = RANK_TOLERANCE * rest.iter().map(length).fold(0.0, f64::max);
    let mut span: Vec<Vector> = Vec::new();
    while span.len() < size {
        let Some(longest) = rest.iter().max_by(|a, b| length(a).total_cmp(&length(b))) else { break };
        if length(longest) <= limit {
            break;
        }
        span.push(scaled(without(*longest, &span)));
        rest.iter_mut().for_each(|c| *c = without(*c, &span));
    }
    span
}

/// The candidates of an axis with weighted values, of which the span of some is taken out.
#[derive(Clone)]
struct Weighted<'a> {
    axis: &'a Axis,
    weights: &'a Vector,
    /// What is taken out, orthonormal.
    basis: Vec<Vector>,
    /// By candidate: its square length, and that of what is left of it.
    squares: Vec<f64>,
    left: Vec<f64>,
}

impl<'a> Weighted<'a> {
    fn new(axis: &'a Axis, weights: &'a Vector) -> Self {
        let squares = axis.squares(weights);
        Self { axis, weights, basis: Vec::new(), left: squares.clone(), squares }
    }

    /// A candidate, of length one.
    fn unit(&self, k: usize) -> Vector {
        scaled(product(&self.axis.candidates[k].values, self.weights))
    }

    /// How much of the square length of each candidate is in the span of these orthonormal vectors.
    fn share_in(&self, span: &[Vector]) -> Vec<f64> {
        let mut inside = vec![0.0; self.squares.len()];
        for q in span {
            let along = self.axis.along(&product(q, self.weights));
            inside.iter_mut().zip(along).for_each(|(inside, along)| *inside += along * along);
        }
        inside
    }

    /// Takes out one more vector, which is orthogonal to those before and has length one.
    fn take_out(&mut self, vector: Vector) {
        let inside = self.share_in(&[vector]);
        self.left.iter_mut().zip(inside).for_each(|(left, inside)| *left -= inside);
        self.basis.push(vector);
    }

    /// What is left of the constant, of length one, if anything is.
    fn constant(&self) -> Option<Vector> {
        let rest = without(self.unit(0), &self.basis);
        (length(&rest) > INDEPENDENT).then(|| scaled(rest))
    }

    /// One candidate, two, or the constant and two others that together with what is taken out span all of `missing`.
    fn cover(&self, missing: &[Vector], effort: usize) -> Option<Vec<usize>> {
        let room = self.axis.size.checked_sub(1 + self.basis.len())?;
        if room >= 1
            && missing.len() == 1
            && let Some(k) = self.single_that_covers(missing, |k| self.is_apart(k))
        {
            return Some(vec![k]);
        }
        // The constant is the factor that most often stands beside another.
        let beside_constant = |missing: &[Vector]| {
            let mut candidates = self.clone();
            candidates.take_out(self.constant()?);
            let missing: Vec<Vector> = missing.iter().map(|m| without(*m, &candidates.basis)).collect();
            Some((candidates, missing))
        };
        if room >= 2
            && missing.len() <= 2
            && let Some((candidates, missing)) = beside_constant(missing)
            && let Some(k) = candidates.single_that_covers(&missing, |k| k > 0 && self.is_apart(k))
        {
            return Some(vec![0, k]);
        }
        if effort == 0 {
            return None;
        }
        if room >= 2
            && let Some(pair) = pair_that_covers(missing, &self.remaining())
        {
            return Some(pair);
        }
        if effort == 1 || room < 3 {
            return None;
        }
        let (candidates, missing) = beside_constant(missing)?;
        let pair = pair_that_covers(&missing, &candidates.remaining())?;
        Some(std::iter::once(0).chain(pair).collect())
    }

    /// Whether a candidate is not in the span of what is taken out.
    fn is_apart(&self, k: usize) -> bool {
        self.left[k] > INDEPENDENT * INDEPENDENT * self.squares[k]
    }

    /// The first of some candidates that spans all of `missing`, of which nothing is in the span of what is taken out.
    fn single_that_covers(&self, missing: &[Vector], is_one: impl Fn(usize) -> bool) -> Option<usize> {
        let largest = missing.iter().max_by(|a, b| length(a).total_cmp(&length(b)))?;
        let size = dot(largest, largest);
        let along = self.axis.along(&product(largest, self.weights));
        let is_near = |k: &usize| {
            let (left, square) = (self.left[*k], self.squares[*k]);
            // Enough to reject nearly all, and multiplied by what may be next to nothing.
            size * left - along[*k] * along[*k] <= SPAN_TOLERANCE * SPAN_TOLERANCE * left + LOST * square * size
        };
        let spans = |k: &usize| covers(missing, &[scaled(without(self.unit(*k), &self.basis))]);
        (0..along.len()).filter(|k| is_one(*k)).filter(is_near).find(spans)
    }

    /// What is left of the candidates, of length one, without those of which nothing is.
    fn remaining(&self) -> Vec<(usize, Vector)> {
        let units: Vec<Vector> = (0..self.squares.len()).map(|k| self.unit(k)).collect();
        remaining(&units, &self.basis)
    }
}

/// Candidates with `basis` taken out, of length one, without those that are all in it.
pub(crate) fn remaining<const N: usize>(units: &[[f64; N]], basis: &[[f64; N]]) -> Vec<(usize, [f64; N])> {
    let rest = units.iter().enumerate().map(|(k, unit)| (k, without(*unit, basis)));
    rest.filter(|(_, v)| length(v) > INDEPENDENT).map(|(k, v)| (k, scaled(v))).collect()
}

/// The first pair, by the more complicated of the two, that spans all of `missing`.
fn pair_that_covers(missing: &[Vector], rest: &[(usize, Vector)]) -> Option<Vec<usize>> {
    let first = missing.iter().max_by(|a, b| length(a).total_cmp(&length(b)))?;
    let size = dot(first, first);
    let along: Vec<f64> = rest.iter().map(|(_, v)| dot(first, v)).collect();
    let directions = Directions::new(&scaled(*first), rest, SPAN_TOLERANCE / size.sqrt());
    let mut beside: Vec<usize> = Vec::new();
    for j in 1..rest.len() {
        directions.before(j, &mut beside);
        for &i in &beside {
            // What the pair leaves of the largest missing vector, to single precision: enough to reject nearly all.
            let pair = left_by(dot(&rest[i].1, &rest[j].1), (along[i], along[j]), size);
            if pair.is_some_and(|(left, _)| left < 1e-10 * size) && covers(missing, &[rest[i].1, rest[j].1]) {
                return Some(vec![rest[i].0, rest[j].0]);
            }
        }
    }
    None
}

/// Whether the unit vectors `with`, which need not be orthogonal, span all of `missing`.
fn covers(missing: &[Vector], with: &[Vector]) -> bool {
    let basis = orthonormal(with);
    missing.iter().all(|m| length(&without(*m, &basis)) < SPAN_TOLERANCE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effort;

    fn grid_of(values: &[&[f64]]) -> (Grid, Vec<Vec<f64>>) {
        let longer = |points: Vec<Vec<f64>>, of: &&[f64]| -> Vec<Vec<f64>> {
            points.iter().flat_map(|x| of.iter().map(|v| x.iter().copied().chain([*v]).collect())).collect()
        };
        let points = values.iter().fold(vec![Vec::new()], longer);
        let views: Vec<&[f64]> = points.iter().map(Vec::as_slice).collect();
        let all: Vec<usize> = (0..values.len()).collect();
        (Grid::new(&views, &all, &ExponentSets::default()).unwrap(), points)
    }

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
        let n = [8000.0, 16000.0, 24000.0, 32000.0, 40000.0];
        let (grid, points) = grid_of(&[&[128.0, 256.0, 512.0, 1024.0, 2048.0], &n]);
        let count = |x: &Vec<f64>| {
            let (a, b) = (x[0].powf(0.8).floor(), x[1].powf(0.75).floor());
            6.0 + 2.0 * a + 3.0 * a * b + 5.0 * x[1] + x[1] * x[0].log2().floor() + 4.0 * b
        };
        let y: Vec<f64> = points.iter().map(count).collect();
        let (constant, terms) = grid.function(&y).expect("an exact function");
        assert!((constant - 6.0).abs() < 1e-4, "{constant} {terms:?}");
        assert_eq!(terms.len(), 5, "{terms:?}");
    }

    /// Where counts are zero the weights are so large that the constant and what else is not zero there are nearly one.
    #[test]
    fn products_of_what_is_zero_at_one_are_found() {
        let doubling: Vec<f64> = (0..7).map(|i| f64::from(i).exp2()).collect();
        let eights = [1.0, 8.0, 64.0, 512.0, 4096.0];
        type Count = fn(&[f64]) -> f64;
        let cases: [(Vec<&[f64]>, Count, usize); 4] = [
            (vec![&doubling, &doubling], |x| (x[0] - 1.0) * (x[1] - 1.0), 3),
            (vec![&eights, &eights], |x| (x[0] - 1.0) * (x[1] - 1.0), 3),
            (vec![&doubling[..6], &doubling[..6]], |x| 5.0 * (x[0] - 1.0) * (x[1] * x[1] - 1.0), 3),
            (vec![&doubling, &doubling, &[10.0, 20.0, 40.0]], |x| (x[0] - 1.0) * (x[1] - 1.0) * x[2], 4),
        ];
        for (values, count, terms) in cases {
            let (grid, points) = grid_of(&values);
            let y: Vec<f64> = points.iter().map(|x| count(x)).collect();
            let (constant, found) = grid.function(&y).expect("an exact function");
            assert_eq!(found.len(), terms, "{constant} {found:?}");
            let far: Vec<f64> = values.iter().map(|of| 4.0 * of[of.len() - 1]).collect();
            let there = effort::exact(constant, found).at(&far);
            assert!((there / count(&far) - 1.0).abs() < 1e-6, "{there} for {}", count(&far));
        }
    }

    #[test]
    fn candidates_that_span_are_found_as_by_a_close_look_at_all() {
        let (grid, points) = grid_of(&[&[1.0, 2.0, 4.0, 8.0, 16.0], &[1.0, 2.0, 3.0, 4.0, 5.0]]);
        let counts: [fn(&[f64]) -> f64; 4] = [
            |x| (x[0] - 1.0) * x[1],
            |x| 7.0 + x[0].powf(1.5).floor() * x[1],
            |x| 3.0 * x[0].sqrt() * x[1] + 2.0,
            |x| (x[0].log2() + 5.0 * x[0]) * (x[1] - 1.0),
        ];
        for count in counts {
            let y: Vec<f64> = points.iter().map(|x| count(x)).collect();
            for (position, axis) in grid.by_rounding.iter().flat_map(|axes| axes.iter().enumerate()) {
                let columns = fibers(&y, &grid.sizes, position);
                let weights = weights(&columns);
                let span = column_span(&columns, &weights, axis.size);
                let candidates = Weighted::new(axis, &weights);
                let mut constant = candidates.clone();
                constant.take_out(candidates.constant().unwrap());
                for of in [&candidates, &constant] {
                    let missing: Vec<Vector> = span.iter().map(|u| without(*u, &of.basis)).collect();
                    let close = |k: &usize| covers(&missing, &[scaled(without(of.unit(*k), &of.basis))]);
                    let is_one = |k: usize| k > 0 && candidates.is_apart(k);
                    let by_hand = (0..axis.candidates.len()).filter(|k| is_one(*k)).find(close);
                    assert_eq!(of.single_that_covers(&missing, is_one), by_hand);
                }
            }
        }
    }

    /// Whole numbers of whole powers come before a rounded bound that gives the same few values, and nothing else does for being one.
    #[test]
    fn whole_powers_come_before_rounded_bounds() {
        let (grid, points) = grid_of(&[&[10.0, 20.0, 30.0, 40.0, 50.0]]);
        let y: Vec<f64> = points.iter().map(|x| 20.0 + x[0]).collect();
        let (constant, terms) = grid.function(&y).unwrap();
        assert!((constant - 20.0).abs() < 1e-9 && terms.len() == 1 && (terms[0].1 - 1.0).abs() < 1e-9, "{terms:?}");
        // A cube times next to nothing is no whole number of them.
        let near: Vec<f64> = (0..14).map(|i| 1e6 + f64::from(i)).collect();
        let (grid, points) = grid_of(&[&near]);
        let y: Vec<f64> = points.iter().map(|x| 14.0 * x[0].powf(1.5) + 9.0).collect();
        let (_, terms) = grid.function(&y).unwrap();
        assert!(terms.iter().all(|(_, c)| *c > 1.0), "{terms:?}");
    }

    #[test]
    fn noise_is_no_function() {
        let (grid, _) = grid_of(&[&[1.0, 2.0, 3.0, 4.0, 5.0]]);
        assert_eq!(grid.function(&[1.0, 1.7, 3.1, 3.9, 5.3]), None);
    }
}
