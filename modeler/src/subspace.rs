//! Finds sums of a few products of smooth factors in values on full grids that are off them by no more than a known deviation: that of rounding
//! them, or of the arithmetic.
//!
//! A sum of products, seen as a matrix of one parameter's values against all others, has columns in the span of that parameter's factors, and
//! where there are as many of these as the matrix has rank, each factor lies in the span of the columns. So every factor is tested on its own, as
//! multiple signal classification does with directions (Schmidt, IEEE Transactions on Antennas and Propagation 34, 1986), and no sums of several
//! need to be tried. What multiplies a factor that passes is an array of the other parameters, which is taken apart in the same way; in
//! the end there are functions of one parameter, which have few factors.

use crate::axis::{Axis, INDEPENDENT, LOST, MOST_VALUES, USUAL_VALUES, Vector, dot, length, scaled, without};
use crate::coplanar::{Directions, left_by};
use crate::linear::{MOST_COLUMNS, Orthonormal, least_squares, residual};
use crate::separable::{Product, fibers, remaining};
use nalgebra::DMatrix;

/// Squared residuals are below so many squared deviations beside one for each that is independent.
const BY_CHANCE: f64 = 16.0;
/// Singular values are above the deviation times so much more than the largest one of noise has on average: the square roots of the numbers of
/// rows and columns together (Vershynin, High-Dimensional Probability, theorem 7.3.1).
const ABOVE_NOISE: f64 = 1.2;
/// Share of a unit vector that arithmetic leaves.
const ARITHMETIC: f64 = 1e-15;
/// How far singular values are computed, and for how long at most: some steps each are usual.
const SVD_PRECISION: f64 = 5.0 * f64::EPSILON;
const SVD_STEPS: usize = 1000;
/// How many factors of a parameter are looked at that lie in the span, and how many sums.
const MOST_IN_SPAN: usize = 8;
/// How many sets of them are looked at where two other parameters and more follow, each of which has such sets again.
const MOST_SUBSETS: usize = 10;
const MOST_SUMS: usize = 24;
/// Sums that leave a mean square of no more than so many squared deviations end the search.
const FOUND: f64 = 4.0;
/// In so many steps functions of one parameter become longer, see [`of_line`].
const STEPS: usize = 4;
/// How many functions of one parameter of the same number of factors are looked at.
const LINES: usize = 4;
/// Summands of a sum, the constant included.
const MOST_SUMMANDS: usize = 5;

/// A sum of products that is near values.
#[derive(Clone, Debug)]
pub(crate) struct Sum {
    /// The products; the constant one has no factors.
    pub products: Vec<Product>,
    /// Their coefficients.
    pub coefficients: Vec<f64>,
    /// Mean square of what it leaves, in squared deviations.
    pub left: f64,
    /// How complicated its factors are together.
    pub price: f64,
}

/// The factors of one parameter, in vectors of length N.
struct Factors<'a, const N: usize> {
    axis: &'a Axis,
    /// Which parameter of the grid it is.
    position: usize,
    /// The weighted values of each, of length one.
    units: Vec<[f64; N]>,
    /// What the length was.
    lengths: Vec<f64>,
}

impl<'a, const N: usize> Factors<'a, N> {
    fn new(axis: &'a Axis, position: usize, weights: &Vector) -> Self {
        let of = |values: &Vector| -> [f64; N] { std::array::from_fn(|i| values[i] * weights[i]) };
        let weighted = || axis.candidates.iter().map(|candidate| of(&candidate.values));
        let (units, lengths) = (weighted().map(scaled).collect(), weighted().map(|column| length(&column)).collect());
        Self { axis, position, units, lengths }
    }

    fn size(&self) -> usize {
        self.axis.size
    }

    /// The product that is factor `k` alone.
    fn alone(&self, k: usize) -> Product {
        if k == 0 { Product::new() } else { vec![(self.position, k)] }
    }
}

/// Sums of products of the factors of `axes` that differ from the values `y`, one by point of the grid in lexicographic order, by no more than
/// this deviation, fewest products first. Values are multiplied by the `weights` of their coordinates, by axis; the deviation is that of these
/// products.
pub(crate) fn sums(axes: &[Axis], y: &[f64], weights: &[Vector], deviation: f64) -> Vec<Sum> {
    match axes.iter().all(|axis| axis.size <= USUAL_VALUES) {
        true => sums_of::<USUAL_VALUES>(axes, y, weights, deviation),
        false => sums_of::<MOST_VALUES>(axes, y, weights, deviation),
    }
}

fn sums_of<const N: usize>(axes: &[Axis], y: &[f64], weights: &[Vector], deviation: f64) -> Vec<Sum> {
    let factors: Vec<Factors<N>> =
        axes.iter().enumerate().map(|(a, axis)| Factors::new(axis, a, &weights[a])).collect();
    let of_axes: Vec<&[f64]> = axes.iter().zip(weights).map(|(axis, of)| &of[..axis.size]).collect();
    let data: Vec<f64> = y.iter().zip(over_grid(&of_axes)).map(|(y, w)| y * w).collect();
    // Weights of the smallest and the largest numbers there are have no product.
    if data.iter().any(|v| !v.is_finite()) || data.iter().all(|v| *v == 0.0) {
        return Vec::new();
    }
    let all: Vec<&Factors<N>> = factors.iter().collect();
    let fitted = |products: Vec<Product>| fitted(&factors, products, &data, deviation);
    if axes.len() > 1
        && !(0..axes.len()).any(|first| in_span(all[first], &lines(&all, first, &data), deviation).is_some())
    {
        return Vec::new();
    }
    // Functions of few factors first: where all factors that lie in the span are looked at, only few lead to such functions.
    let is_near = |sum: &Sum| sum.left <= FOUND;
    let with = |most: usize| -> Vec<Sum> {
        of_array(&all, &data, (deviation, most)).into_iter().filter_map(fitted).filter(is_near).collect()
    };
    let mut sums = (0..STEPS).map(with).find(|sums| !sums.is_empty()).unwrap_or_default();
    sums.sort_by(|a, b| a.products.len().cmp(&b.products.len()).then(a.price.total_cmp(&b.price)));
    sums
}

/// The products of one value of each axis, by point.
fn over_grid(of_axes: &[&[f64]]) -> Vec<f64> {
    let one = vec![1.0];
    of_axes.iter().fold(one, |before, of_axis| before.iter().flat_map(|v| of_axis.iter().map(move |w| v * w)).collect())
}

/// The sum of these products that is nearest; none where they do not tell their coefficients.
fn fitted<const N: usize>(factors: &[Factors<N>], products: Vec<Product>, data: &[f64], deviation: f64) -> Option<Sum> {
    let chosen = |product: &Product, a: usize| product.iter().find(|(axis, _)| *axis == a).map_or(0, |(_, k)| *k);
    let column = |product: &Product| {
        let of_axis = |(a, f): (usize, &Factors<N>)| f.units[chosen(product, a)][..f.size()].to_vec();
        let of_axes: Vec<Vec<f64>> = factors.iter().enumerate().map(of_axis).collect();
        over_grid(&of_axes.iter().map(Vec::as_slice).collect::<Vec<_>>())
    };
    let columns: Vec<Vec<f64>> = products.iter().map(column).collect();
    let mut coefficients = least_squares(&columns, data);
    let left = residual(&columns, data, &coefficients);
    // Refined once, small coefficients beside large ones are as exact as the values.
    coefficients.iter_mut().zip(least_squares(&columns, &left)).for_each(|(c, more)| *c += more);
    let left = residual(&columns, data, &coefficients);
    let left = left.iter().map(|r| r * r).sum::<f64>() / (deviation * deviation * data.len() as f64);
    let lengths =
        |product: &Product| factors.iter().enumerate().map(|(a, f)| f.lengths[chosen(product, a)]).product::<f64>();
    coefficients.iter_mut().zip(&products).for_each(|(c, product)| *c /= lengths(product));
    let of_product =
        |product: &Product| 1.0 + product.iter().map(|&(a, k)| factors[a].axis.candidates[k].price).sum::<f64>();
    let price = products.iter().map(of_product).sum();
    coefficients.iter().all(|c| c.is_finite() && *c != 0.0).then_some(Sum { products, coefficients, left, price })
}

/// The products of sums that may be near these weighted values.
fn of_array<const N: usize>(axes: &[&Factors<N>], data: &[f64], (deviation, most): (f64, usize)) -> Vec<Vec<Product>> {
    if let [only] = axes {
        return of_line(only, data, (deviation, most));
    }
    let with = |first: usize| along(axes, first, data, (deviation, most));
    if axes.len() == 2 {
        let mut all = with(0);
        let more: Vec<Vec<Product>> = with(1).into_iter().filter(|products| !all.contains(products)).collect();
        all.extend(more);
        return all;
    }
    // Where one parameter's factors are told by the span, the others' are what multiplies them.
    (0..axes.len()).map(with).find(|all| !all.is_empty()).unwrap_or_default()
}

/// The values along this axis, in the order of the points of the others.
fn lines<const N: usize>(axes: &[&Factors<N>], first: usize, data: &[f64]) -> Vec<[f64; N]> {
    let sizes: Vec<usize> = axes.iter().map(|f| f.size()).collect();
    let narrow = |line: Vector| -> [f64; N] { std::array::from_fn(|i| line[i]) };
    fibers(data, &sizes, first).into_iter().map(narrow).collect()
}

/// The same from the factors of this axis that lie in the span of the values along it.
fn along<const N: usize>(
    axes: &[&Factors<N>],
    first: usize,
    data: &[f64],
    (deviation, most): (f64, usize),
) -> Vec<Vec<Product>> {
    let (of, size) = (axes[first], axes[first].size());
    let columns = lines(axes, first, data);
    let Some(in_span) = in_span(of, &columns, deviation) else { return Vec::new() };
    let subsets = in_span.subsets();
    // Where the deviation leaves room for many, the span does not tell them.
    if axes.len() > 2 && subsets.len() > MOST_SUBSETS {
        return Vec::new();
    }
    let rest: Vec<&Factors<N>> = axes.iter().enumerate().filter(|(a, _)| *a != first).map(|(_, f)| *f).collect();
    let mut all: Vec<Vec<Product>> = Vec::new();
    let mut basis = Orthonormal::default();
    for chosen in subsets {
        basis.clear(size);
        if !chosen.iter().all(|&k| basis.push(&of.units[k][..size])) {
            continue;
        }
        let mut arrays = vec![Vec::with_capacity(columns.len()); chosen.len()];
        for column in &columns {
            let mut column = *column;
            let parts = basis.project(&mut column[..size]);
            arrays.iter_mut().zip(parts).for_each(|(array, part)| array.push(part));
        }
        let mut sums = vec![Vec::new()];
        for ((k, array), row) in chosen.iter().zip(&arrays).zip(basis.inverse()) {
            let of_part = deviation * row.iter().map(|v| v * v).sum::<f64>().sqrt();
            let inner = of_array(&rest, array, (of_part, most));
            sums = sums
                .iter()
                .flat_map(|sum: &Vec<Product>| {
                    inner.iter().filter_map(|more| {
                        let times = |product: &Product| {
                            let mut with: Product = product.iter().copied().chain(of.alone(*k)).collect();
                            with.sort_unstable();
                            with
                        };
                        let longer: Vec<Product> = sum.iter().cloned().chain(more.iter().map(times)).collect();
                        (longer.len() <= MOST_SUMMANDS).then_some(longer)
                    })
                })
                .take(MOST_SUMS)
                .collect();
            if sums.is_empty() {
                break;
            }
        }
        for mut sum in sums {
            sum.sort_unstable();
            if all.len() < MOST_SUMS && !all.contains(&sum) {
                all.push(sum);
            }
        }
    }
    all
}

/// Factors in the span of values.
struct InSpan {
    /// Which they are.
    factors: Vec<usize>,
    /// The dimension of the span.
    rank: usize,
}

impl InSpan {
    /// As many of them as the span has dimensions, in every way.
    fn subsets(&self) -> Vec<Vec<usize>> {
        let mut all: Vec<Vec<usize>> = vec![Vec::new()];
        for &k in &self.factors {
            let with: Vec<Vec<usize>> =
                all.iter().filter(|s| s.len() < self.rank).map(|s| s.iter().copied().chain([k]).collect()).collect();
            all.extend(with);
        }
        all.retain(|s| s.len() == self.rank);
        all
    }
}

/// The factors in the span of these columns; `None` where fewer are than it has dimensions, or it has too many to tell.
fn in_span<const N: usize>(of: &Factors<N>, columns: &[[f64; N]], deviation: f64) -> Option<InSpan> {
    let size = of.size();
    let matrix = DMatrix::from_fn(size, columns.len(), |i, j| columns[j][i]);
    let svd = matrix.try_svd(true, false, SVD_PRECISION, SVD_STEPS)?;
    let (vectors, values) = (svd.u?, svd.singular_values);
    let noise = deviation * ((size as f64).sqrt() + (columns.len() as f64).sqrt());
    let rank = values.iter().filter(|v| **v > ABOVE_NOISE * noise).count();
    if rank == 0 || rank >= size.min(MOST_COLUMNS + 1) {
        return None;
    }
    let column = |m: usize| -> [f64; N] { std::array::from_fn(|i| if i < size { vectors[(i, m)] } else { 0.0 }) };
    let span: Vec<[f64; N]> = (0..rank).map(column).collect();
    // By first-order perturbation each direction of the span is off by the deviation over its singular value.
    let off: Vec<f64> =
        (0..rank).map(|m| (deviation / values[m]).powi(2) + (ARITHMETIC * values[0] / values[m]).powi(2)).collect();
    let independent = (size - rank) as f64;
    let mut factors: Vec<(f64, usize)> = Vec::new();
    for (k, unit) in of.units.iter().enumerate() {
        let variance: f64 = span.iter().zip(&off).map(|(u, off)| dot(u, unit).powi(2) * off).sum();
        let rest = without(*unit, &span);
        let squares = dot(&rest, &rest) / variance;
        if squares <= independent + BY_CHANCE && length(unit) > INDEPENDENT {
            factors.push((squares, k));
        }
    }
    factors.sort_by(|a, b| a.0.total_cmp(&b.0));
    factors.truncate(MOST_IN_SPAN);
    let mut factors: Vec<usize> = factors.into_iter().map(|(_, k)| k).collect();
    factors.sort_unstable();
    (factors.len() >= rank).then_some(InSpan { factors, rank })
}

/// The sums of fewest factors of one parameter that are near these weighted values: of one; if `most` is one, of the constant and one; if two, also
/// of two; if three, of the constant and two.
fn of_line<const N: usize>(of: &Factors<N>, data: &[f64], (deviation, most): (f64, usize)) -> Vec<Vec<Product>> {
    let size = of.size();
    let mut values = [0.0; N];
    values[..size].copy_from_slice(data);
    let near = |values: &[f64; N], with: &[usize], more: usize, factors: &[(usize, [f64; N])]| {
        let limit = deviation * deviation * ((size - with.len() - more) as f64 + BY_CHANCE);
        let mut near = Nearest { values: *values, limit, with: with.to_vec(), sums: Vec::new() };
        if more == 1 {
            near.add_one(factors)
        } else {
            near.add_two(factors)
        }
        near.sums
    };
    if dot(&values, &values) <= deviation * deviation * (size as f64 + BY_CHANCE) {
        return vec![Vec::new()];
    }
    let constant = [of.units[0]];
    let beside_constant = without(values, &constant);
    let all: Vec<(usize, [f64; N])> = of.units.iter().copied().enumerate().collect();
    let mut sums = if size > 1 { near(&values, &[], 1, &all) } else { Vec::new() };
    if sums.is_empty() && most >= 1 && size > 2 {
        sums = near(&beside_constant, &[0], 1, &remaining(&of.units, &constant));
    }
    if sums.is_empty() && most >= 2 && size > 2 {
        sums = near(&values, &[], 2, &all[1..]);
    }
    if sums.is_empty() && most >= 3 && size > 3 {
        sums = near(&beside_constant, &[0], 2, &remaining(&of.units, &constant));
    }
    sums.into_iter().map(|(_, chosen)| chosen.iter().map(|&k| of.alone(k)).collect()).collect()
}

/// The sums of one parameter's factors that leave least of weighted values.
struct Nearest<const N: usize> {
    values: [f64; N],
    /// What a sum leaves at most of their square sum.
    limit: f64,
    /// Factors that all sums have, of which nothing is left in the values.
    with: Vec<usize>,
    /// What each leaves, and its factors.
    sums: Vec<(f64, Vec<usize>)>,
}

impl<const N: usize> Nearest<N> {
    /// Adds the sums with one of these factors.
    fn add_one(&mut self, factors: &[(usize, [f64; N])]) {
        let square = dot(&self.values, &self.values);
        for (k, unit) in factors {
            // Enough to reject nearly all.
            if square - dot(&self.values, unit).powi(2) <= self.limit + LOST * square {
                self.offer(&[*unit], &[*k]);
            }
        }
    }

    /// Adds the sums with two of them.
    fn add_two(&mut self, factors: &[(usize, [f64; N])]) {
        let square = dot(&self.values, &self.values);
        let along: Vec<f64> = factors.iter().map(|(_, unit)| dot(&self.values, unit)).collect();
        let directions = Directions::new(&scaled(self.values), factors, (self.limit / square).sqrt());
        let mut beside: Vec<usize> = Vec::new();
        for (j, (second, w)) in factors.iter().enumerate() {
            directions.before(j, &mut beside);
            for &i in &beside {
                let (first, v) = &factors[i];
                let pair = left_by(dot(v, w), (along[i], along[j]), square);
                if pair.is_some_and(|(left, lost)| left <= self.limit + lost * square) {
                    self.offer(&[*v, scaled(without(*w, &[*v]))], &[*first, *second]);
                }
            }
        }
    }

    /// Keeps the sum with these factors, which have this orthonormal basis, if it is among the nearest ones. What it leaves is computed itself,
    /// which differences of squares would lose.
    fn offer(&mut self, basis: &[[f64; N]], chosen: &[usize]) {
        let rest = without(self.values, basis);
        let left = dot(&rest, &rest);
        let at = self.sums.partition_point(|(other, _)| *other <= left);
        if left <= self.limit && at < LINES {
            self.sums.insert(at, (left, self.with.iter().chain(chosen).copied().collect()));
            self.sums.truncate(LINES);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Rounding;
    use crate::options::ExponentSets;

    const P: [f64; 5] = [128.0, 256.0, 512.0, 1024.0, 2048.0];
    const N: [f64; 5] = [8000.0, 16_000.0, 24_000.0, 32_000.0, 40_000.0];

    fn axes() -> Vec<Axis> {
        let points: Vec<[f64; 2]> = P.iter().flat_map(|&p| N.map(|n| [p, n])).collect();
        let points: Vec<&[f64]> = points.iter().map(|x| x.as_slice()).collect();
        (0..2).map(|l| Axis::new(&points, l, &ExponentSets::default(), Rounding::None).unwrap()).collect()
    }

    fn values(of: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        P.iter().flat_map(|&p| N.map(|n| of(p, n))).collect()
    }

    /// By product: exponents and logarithms' exponents of p and n, with the coefficient.
    fn shown(axes: &[Axis], sum: &Sum) -> Vec<(String, f64)> {
        let of = |product: &Product| {
            let factor = |&(a, k): &(usize, usize)| {
                let factor = axes[a].candidates[k].factor.unwrap();
                format!("{}^{}l{}", ["p", "n"][a], factor.exponent, factor.log_exponent)
            };
            product.iter().map(factor).collect::<Vec<_>>().join(" ")
        };
        sum.products.iter().map(of).zip(sum.coefficients.iter().copied()).collect()
    }

    #[test]
    fn products_and_coefficients_of_rounded_sums_are_found() {
        let axes = axes();
        let of = |p: f64, n: f64| 41.5 * p.sqrt() * n + 0.003 * p * n.powf(1.5) + 700.0 * p.log2() * n.sqrt();
        let sums = sums(&axes, &values(|p, n| of(p, n).round()), &[[1.0; MOST_VALUES]; 2], 1.0 / 12_f64.sqrt());
        let found = shown(&axes, &sums[0]);
        let wanted = [("p^0l1 n^1/2l0", 700.0), ("p^1/2l0 n^1l0", 41.5), ("p^1l0 n^3/2l0", 0.003)];
        assert_eq!(found.len(), 3);
        for (product, c) in wanted {
            let (_, coefficient) = found.iter().find(|(name, _)| name == product).expect(product);
            assert!((coefficient / c - 1.0).abs() < 1e-5, "{product}: {coefficient}");
        }
        // Rounding is uniform.
        assert!((0.5..1.5).contains(&sums[0].left), "{}", sums[0].left);
    }

    #[test]
    fn factors_that_share_a_product_with_one_of_the_other_parameter_are_found() {
        let axes = axes();
        let y = values(|p, n| 12.0 + 3.0 * n + 5.0 * p.sqrt() * n + 2.0 * p);
        let sums = sums(&axes, &y, &[[1.0; MOST_VALUES]; 2], 1e-12 * y[24]);
        assert_eq!(shown(&axes, &sums[0]).len(), 4);
        assert!(shown(&axes, &sums[0]).iter().any(|(name, c)| name == "p^1/2l0 n^1l0" && (c - 5.0).abs() < 1e-9));
    }

    #[test]
    fn values_of_no_few_products_and_noise_give_none() {
        let axes = axes();
        let (ones, deviation) = ([[1.0; MOST_VALUES]; 2], 1.0 / 12_f64.sqrt());
        let mut state = 1_u64;
        let mut noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / (1_u64 << 31) as f64
        };
        for _ in 0..100 {
            let y: Vec<f64> =
                values(|p, n| p.sqrt() * n).iter().map(|v| (v * (1.0 + 0.01 * noise())).round()).collect();
            assert!(sums(&axes, &y, &ones, deviation).is_empty());
        }
        // Nests of rounded bounds are off their products by more than the rounding of one number.
        let y = values(|p, n| 3.0 * (0.37 * p.sqrt()).round() * (1.7 * n.powf(0.75)).round());
        assert!(sums(&axes, &y, &ones, deviation).iter().all(|sum| sum.left > 1.5));
        assert!(sums(&axes, &[0.0; 25], &ones, deviation).is_empty());
    }
}
