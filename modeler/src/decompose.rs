//! Proposes sums for counts on full grids that no rounding of plain bounds gives exactly, such as those of loops that run
//! `round(0.37 n^(2/3))` times: what rounding does is then a small noise.
//!
//! As in [`crate::separable`] a parameter's factors are found first and what multiplies each of them is taken apart
//! next, but here every step ranks the alternatives by what they leave, and keeps several. Their number stays small
//! because only one parameter is looked at in a time, and sums of several terms are found that no greedy choice of
//! single terms leads to. The search over all terms judges the proposals.

use crate::axis::{Axis, MOST_VALUES, Vector, dot, orthonormal, product, scaled, without};
use crate::library::Shape;
use crate::linear::{inverse_gram, least_squares, residual};
use crate::separable::{Grid, fibers};
use crate::wide::wide;

/// So many factors a parameter has at most in the sums that are proposed for counts.
pub(crate) const MOST_FACTORS: usize = 3;
/// Alternatives for a parameter's factors, by their number.
const FACTOR_SETS: usize = 4;
/// Alternatives for a count of one parameter, and for a count of all.
const LINES: usize = 5;
const SUMS: usize = 24;
/// Sets whose score is worse than the best one's by this are not pursued.
const HOPELESS: f64 = 40.0;
/// What a term costs beside its complexity, and how much each unit of that does.
const TERM: f64 = 6.0;
const COMPLEXITY: f64 = 2.0;
/// What a negative coefficient costs: iterations add, so most are accidents.
const NEGATIVE: f64 = 20.0;

/// A product of candidates as pairs of axis and candidate; the constant ones are left out.
type Product = Vec<(usize, usize)>;

/// A sum with what speaks against it.
#[derive(Clone, Debug)]
struct Sum {
    score: f64,
    products: Vec<Product>,
}

/// A value per point of a grid with the weight of each: one over what rounding may be there.
struct Values<'a> {
    y: &'a [f64],
    weights: &'a [f64],
}

/// Sums of terms that may explain `y`, the most promising first. `weights` are relative to each other; `floor` is
/// the mean square of the weighted differences that rounding causes at least. The axes with bits in `falling` may have
/// negative exponents, and each has so many factors at most.
pub(crate) fn propose(
    grid: &Grid,
    y: &[f64],
    weights: &[f64],
    floor: f64,
    (falling, factors): (usize, usize),
) -> Vec<Vec<Shape>> {
    let of = |(a, smooth)| (a, if falling >> a & 1 == 1 { &grid.falling[a] } else { smooth });
    let axes: Vec<(usize, &Axis)> = grid.smooth.iter().enumerate().map(of).collect();
    let size = y.iter().zip(weights).map(|(y, w)| (y * w).powi(2)).sum::<f64>() / y.len() as f64;
    let deviation = floor.max(1e-24 * size).max(f64::MIN_POSITIVE).sqrt();
    let weights: Vec<f64> = weights.iter().map(|w| w / deviation).collect();
    let shapes = |sum: Sum| sum.products.iter().map(|p| shape(&axes, p)).filter(|s| !s.is_empty()).collect();
    sums(&axes, factors, &Values { y, weights: &weights }).into_iter().map(shapes).collect()
}

fn shape(axes: &[(usize, &Axis)], product: &Product) -> Shape {
    let mut product = product.clone();
    product.sort_unstable();
    product.iter().filter_map(|&(a, k)| axes[a].1.candidates[k].factor).collect()
}

/// The best sums for these values on the grid of these axes, with so many factors of each at most.
fn sums(axes: &[(usize, &Axis)], factors: usize, values: &Values) -> Vec<Sum> {
    if let [(id, axis)] = axes {
        return lines(*id, axis, values);
    }
    let mut all: Vec<Sum> = (0..axes.len()).flat_map(|first| sums_along(axes, first, factors, values)).collect();
    best(&mut all, SUMS);
    all
}

/// Keeps the `count` best.
fn best(sums: &mut Vec<Sum>, count: usize) {
    sums.sort_by(|a, b| a.score.total_cmp(&b.score));
    sums.truncate(count);
}

/// The values as lines along one axis.
struct Fibers {
    /// Values.
    columns: Vec<Vector>,
    /// Weight of each value of the parameter.
    rows: Vector,
    /// Weight of each line.
    lines: Vec<f64>,
    /// As many vectors as the parameter has values at most, with the same square sum in every direction.
    compressed: Vec<Vector>,
}

impl Fibers {
    fn new(axes: &[(usize, &Axis)], first: usize, values: &Values) -> Self {
        let sizes: Vec<usize> = axes.iter().map(|(_, a)| a.size).collect();
        let size = sizes[first];
        let columns = fibers(values.y, &sizes, first);
        let weights = fibers(values.weights, &sizes, first);
        // Weights factorise but for what the geometric means leave.
        let mean = |logs: &mut dyn Iterator<Item = f64>, n: usize| logs.sum::<f64>() / n as f64;
        let overall = mean(&mut values.weights.iter().map(|w| w.ln()), values.weights.len());
        let mut rows = [0.0; MOST_VALUES];
        for (i, row) in rows.iter_mut().enumerate().take(size) {
            *row = (mean(&mut weights.iter().map(|w| w[i].ln()), weights.len()) - 0.5 * overall).exp();
        }
        let of_line = |w: &Vector| (mean(&mut w[..size].iter().map(|w| w.ln()), size) - 0.5 * overall).exp();
        let lines: Vec<f64> = weights.iter().map(of_line).collect();
        let weighted = columns.iter().zip(&lines).map(|(c, l)| product(c, &rows).map(|v| v * l)).collect();
        Self { columns, rows, lines, compressed: compress(weighted, size) }
    }

    /// What these unit vectors leave of all lines.
    fn left(&self, basis: &[Vector]) -> f64 {
        let rest = self.compressed.iter().map(|c| without(*c, basis));
        rest.map(|r| dot(&r, &r)).sum()
    }
}

/// Replaces the columns by at most `size` others with the same products of rows: the factor L of an LQ decomposition.
fn compress(columns: Vec<Vector>, size: usize) -> Vec<Vector> {
    if columns.len() <= size {
        return columns;
    }
    let mut rows: Vec<Vec<f64>> = (0..size).map(|i| columns.iter().map(|c| c[i]).collect()).collect();
    let mut compressed = vec![[0.0; MOST_VALUES]; size];
    for k in 0..size {
        let norm = rows[k].iter().map(|v| v * v).sum::<f64>().sqrt();
        if norm == 0.0 {
            continue;
        }
        let direction: Vec<f64> = rows[k].iter().map(|v| v / norm).collect();
        compressed[k][k] = norm;
        for i in k + 1..size {
            let along: f64 = rows[i].iter().zip(&direction).map(|(a, b)| a * b).sum();
            rows[i].iter_mut().zip(&direction).for_each(|(a, b)| *a -= along * b);
            compressed[k][i] = along;
        }
    }
    compressed
}

fn sums_along(axes: &[(usize, &Axis)], first: usize, factors: usize, values: &Values) -> Vec<Sum> {
    let (id, axis) = axes[first];
    let fibers = Fibers::new(axes, first, values);
    let rest: Vec<(usize, &Axis)> = axes.iter().enumerate().filter(|(i, _)| *i != first).map(|(_, a)| *a).collect();
    let sets = factor_sets(axis, factors, &fibers);
    let limit = sets.first().map_or(0.0, |s| s.0 + HOPELESS);
    let mut all: Vec<Sum> = Vec::new();
    for (score, chosen) in sets.iter().take_while(|s| s.0 <= limit) {
        let mut combined = vec![Sum { score: *score, products: Vec::new() }];
        for (k, (component, weights)) in chosen.iter().zip(components(axis, &fibers, chosen)) {
            let inner = sums(&rest, factors, &Values { y: &component, weights: &weights });
            combined = combine(&combined, &inner, (id, *k));
        }
        all.extend(combined);
    }
    best(&mut all, SUMS);
    all
}

/// Each sum with each inner one multiplied by a factor added to it.
fn combine(sums: &[Sum], inner: &[Sum], factor: (usize, usize)) -> Vec<Sum> {
    let with = |sum: &Sum, more: &Sum| {
        let mut products = sum.products.clone();
        products.extend(more.products.iter().map(|p| {
            let mut p = p.clone();
            if factor.1 != 0 {
                p.push(factor);
            }
            p
        }));
        Sum { score: sum.score + more.score, products }
    };
    let mut all: Vec<Sum> = sums.iter().flat_map(|s| inner.iter().take(LINES).map(move |i| with(s, i))).collect();
    best(&mut all, SUMS);
    all
}

/// Sets of one to so many factors by how little of the lines they leave, each with its score.
fn factor_sets(axis: &Axis, factors: usize, fibers: &Fibers) -> Vec<(f64, Vec<usize>)> {
    let units: Vec<Vector> = axis.candidates.iter().map(|c| scaled(product(&c.values, &fibers.rows))).collect();
    let count = (axis.size * fibers.columns.len()) as f64;
    let price = |k: usize| COMPLEXITY * axis.candidates[k].price;
    let sets = Sets::new(&units, axis.size, (0..units.len()).map(|k| (-price(k) / count).exp()).collect());
    let mut all: Vec<(f64, Vec<usize>)> = Vec::new();
    for size in 1..=factors.min(axis.size.saturating_sub(2)) {
        let freedom = (fibers.columns.len() * (axis.size - size)) as f64;
        let mut of_size: Vec<(f64, Vec<usize>)> = Vec::new();
        sets.each(&fibers.compressed, size, freedom, &mut |chosen| {
            let basis = orthonormal(&chosen.iter().map(|&k| units[k]).collect::<Vec<_>>());
            let prices: f64 = chosen.iter().map(|&k| price(k)).sum();
            let score = count * (fibers.left(&basis) / freedom + 1.0).ln() + prices;
            let at = of_size.partition_point(|s| s.0 <= score);
            if at < FACTOR_SETS {
                of_size.insert(at, (score, chosen.to_vec()));
                of_size.truncate(FACTOR_SETS);
            }
            of_size.get(FACTOR_SETS - 1).map_or(f64::INFINITY, |worst| (worst.0 / count).exp())
        });
        all.append(&mut of_size);
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all
}

/// The sets of some vectors, of which those are looked at closely that may leave little.
struct Sets<'a> {
    units: &'a [Vector],
    /// How many numbers of each are not padding.
    size: usize,
    /// The vectors' numbers, all first ones, then all second ones and so on.
    by_row: Vec<f64>,
    /// By vector: what it multiplies the limit by.
    costs: Vec<f64>,
}

/// Vectors with a square length below this, of one, are contained in others.
const CONTAINED: f64 = 1e-12;
/// Share of what a smaller set leaves that arithmetic takes off, of vectors of which nothing is in that set; more where much is.
const ESTIMATED: f64 = 1e-14;

/// A set that is being made.
struct Begun {
    chosen: Vec<usize>,
    basis: Vec<Vector>,
    cost: f64,
}

impl<'a> Sets<'a> {
    fn new(units: &'a [Vector], size: usize, costs: Vec<f64>) -> Self {
        let by_row = (0..size).flat_map(|i| units.iter().map(move |unit| unit[i])).collect();
        Self { units, size, by_row, costs }
    }

    /// Calls `visit` with every set of so many vectors, ascending, whose span may leave so little of the `lines` that what is left over
    /// `freedom`, plus one, is below the limit times the costs of the vectors. `visit` gives the limit from there on; there is none at first.
    fn each(&self, lines: &[Vector], size: usize, freedom: f64, visit: &mut dyn FnMut(&[usize]) -> f64) {
        let squares: Vec<f64> = self.units.iter().map(|unit| dot(unit, unit)).collect();
        let mut begun = Begun { chosen: Vec::with_capacity(size), basis: Vec::with_capacity(size), cost: 1.0 };
        let mut limit = f64::INFINITY;
        self.extend(0, (lines, &squares), size, freedom, &mut begun, &mut limit, visit);
    }

    /// Adds so many vectors from number `first` on to a set that leaves `lines` of the lines and `squares` of the vectors' square lengths.
    #[expect(clippy::too_many_arguments)]
    fn extend(
        &self,
        first: usize,
        (lines, squares): (&[Vector], &[f64]),
        more: usize,
        freedom: f64,
        begun: &mut Begun,
        limit: &mut f64,
        visit: &mut dyn FnMut(&[usize]) -> f64,
    ) {
        let vectors = self.units.len();
        if more == 1 {
            let total: f64 = lines.iter().map(|line| dot(line, line)).sum();
            let mut left = vec![0.0; vectors];
            leave(&self.by_row, first, &self.products(lines), squares, total, &mut left);
            for k in first..vectors {
                let estimate = (left[k] - ESTIMATED / squares[k] * total).max(0.0);
                if squares[k] >= CONTAINED && estimate / freedom + 1.0 < *limit * begun.cost * self.costs[k] {
                    begun.chosen.push(k);
                    *limit = visit(&begun.chosen);
                    begun.chosen.pop();
                }
            }
            return;
        }
        for k in first..vectors {
            if squares[k] < CONTAINED {
                continue;
            }
            let unit = scaled(without(self.units[k], &begun.basis));
            let rest: Vec<Vector> = lines.iter().map(|line| remove(line, &unit)).collect();
            let mut others = squares.to_vec();
            take_off(&self.by_row, k + 1, &unit[..self.size], &mut others);
            let cost = begun.cost;
            begun.cost *= self.costs[k];
            begun.chosen.push(k);
            begun.basis.push(unit);
            self.extend(k + 1, (&rest, &others), more - 1, freedom, begun, limit, visit);
            begun.basis.pop();
            begun.chosen.pop();
            begun.cost = cost;
        }
    }

    /// The sums over the lines of products of two of their numbers, row by row, those of different numbers twice.
    fn products(&self, lines: &[Vector]) -> Vec<f64> {
        let of = |i: usize, j: usize| lines.iter().map(|line| line[i] * line[j]).sum::<f64>();
        let pairs = (0..self.size).flat_map(|i| (i..self.size).map(move |j| (i, j)));
        pairs.map(|(i, j)| if i == j { of(i, i) } else { 2.0 * of(i, j) }).collect()
    }
}

wide! {
    /// What vectors from number `first` on, of which `squares` are the square lengths of what counts, leave of lines with these
    /// [`Sets::products`] and this total.
    fn leave(by_row: &[f64], first: usize, products: &[f64], squares: &[f64], total: f64, left: &mut [f64]) {
        let vectors = left.len();
        let left = &mut left[first..];
        let mut products = products.iter();
        for (i, row) in by_row.chunks_exact(vectors).enumerate() {
            for (other, product) in by_row.chunks_exact(vectors).skip(i).zip(&mut products) {
                for ((left, a), b) in left.iter_mut().zip(&row[first..]).zip(&other[first..]) {
                    *left += product * a * b;
                }
            }
        }
        for (left, square) in left.iter_mut().zip(&squares[first..]) {
            *left = total - *left / square;
        }
    }
}

wide! {
    /// Takes off the `squares` of vectors from number `first` on what `unit` has of them.
    fn take_off(by_row: &[f64], first: usize, unit: &[f64], squares: &mut [f64]) {
        let vectors = squares.len();
        let squares = &mut squares[first..];
        let mut along = vec![0.0; squares.len()];
        for (row, of_unit) in by_row.chunks_exact(vectors).zip(unit) {
            for (along, of_row) in along.iter_mut().zip(&row[first..]) {
                *along += of_unit * of_row;
            }
        }
        for (square, along) in squares.iter_mut().zip(&along) {
            *square -= along * along;
        }
    }
}

/// `a` without its part along the unit vector `q`; once is enough for estimates.
fn remove(a: &Vector, q: &Vector) -> Vector {
    let along = dot(a, q);
    std::array::from_fn(|i| a[i] - along * q[i])
}

/// What multiplies each chosen factor, with its weights: what the factors leave tells how noisy it is.
fn components(axis: &Axis, fibers: &Fibers, chosen: &[usize]) -> Vec<(Vec<f64>, Vec<f64>)> {
    let size = axis.size;
    let factors: Vec<Vec<f64>> =
        chosen.iter().map(|&k| product(&axis.candidates[k].values, &fibers.rows)[..size].to_vec()).collect();
    let freedom = (fibers.columns.len() * (size - chosen.len())).max(1) as f64;
    let mut components = vec![(Vec::new(), Vec::new()); chosen.len()];
    let mut square = 0.0;
    for (column, line) in fibers.columns.iter().zip(&fibers.lines) {
        let data = product(column, &fibers.rows)[..size].to_vec();
        let c = least_squares(&factors, &data);
        square += residual(&factors, &data, &c).iter().map(|r| (r * line).powi(2)).sum::<f64>() / freedom;
        components.iter_mut().zip(c).for_each(|(of, c)| of.0.push(c));
    }
    let covariance = inverse_gram(&factors);
    for (k, (_, weights)) in components.iter_mut().enumerate() {
        let variance = covariance.as_ref().map_or(1.0, |c| c[k * chosen.len() + k].max(f64::MIN_POSITIVE));
        let deviation = (variance * square.max(1.0)).sqrt();
        weights.extend(fibers.lines.iter().map(|line| line / deviation));
    }
    components
}

/// The best sums of candidates of one parameter: none, one, two, or the constant and two.
fn lines(id: usize, axis: &Axis, values: &Values) -> Vec<Sum> {
    let size = axis.size;
    let mut weights = [0.0; MOST_VALUES];
    weights[..size].copy_from_slice(values.weights);
    let mut data = [0.0; MOST_VALUES];
    data[..size].copy_from_slice(values.y);
    let data = product(&data, &weights);
    let columns: Vec<Vector> = axis.candidates.iter().map(|c| product(&c.values, &weights)).collect();
    let units: Vec<Vector> = columns.iter().map(|c| scaled(*c)).collect();
    let count = size as f64;
    let price = |k: usize| TERM + COMPLEXITY * axis.candidates[k].price;
    let score =
        |left: f64, chosen: &[usize]| count * (left / count + 1.0).ln() + chosen.iter().map(|&k| price(k)).sum::<f64>();
    let mut all = vec![(score(dot(&data, &data), &[]), Vec::new())];
    let mut offer = |chosen: &[usize]| {
        let selected: Vec<Vec<f64>> = chosen.iter().map(|&k| columns[k][..size].to_vec()).collect();
        let c = least_squares(&selected, &data[..size]);
        let left: f64 = residual(&selected, &data[..size], &c).iter().map(|r| r * r).sum();
        let score = score(left, chosen) + NEGATIVE * c.iter().filter(|c| **c < 0.0).count() as f64;
        let at = all.partition_point(|s| s.0 <= score);
        if at < LINES {
            all.insert(at, (score, chosen.to_vec()));
            all.truncate(LINES);
        }
        all.get(LINES - 1).map_or(f64::INFINITY, |worst| (worst.0 / count).exp())
    };
    let costs: Vec<f64> = (0..units.len()).map(|k| (-price(k) / count).exp()).collect();
    let sets = Sets::new(&units, size, costs.clone());
    sets.each(&[data], 1, count, &mut offer);
    sets.each(&[data], 2, count, &mut offer);
    if size >= 5 {
        let constant = orthonormal(&[units[0]]);
        let others: Vec<Vector> = units[1..].iter().map(|u| without(*u, &constant)).collect();
        // Both of a pair bear half of what the constant costs.
        let beside = Sets::new(&others, size, costs[1..].iter().map(|cost| cost * costs[0].sqrt()).collect());
        beside.each(&[without(data, &constant)], 2, count, &mut |pair| offer(&[0, pair[0] + 1, pair[1] + 1]));
    }
    let products = |chosen: &[usize]| chosen.iter().map(|&k| if k == 0 { vec![] } else { vec![(id, k)] }).collect();
    all.iter().map(|(score, chosen)| Sum { score: *score, products: products(chosen) }).collect()
}
