//! All products of one factor per parameter at once: what a constant and one of them, or one more of them, leave of a
//! series of times.
//!
//! A candidate is a head, the product of the factors of all parameters but the last, times a factor of the last, the
//! lane. Sums over points of weight × candidate are sums over the lane's few values of (sums over the points that have
//! the value of weight × head) × factor, so that thousands of candidates cost one small matrix product. The matrices
//! depend on the points alone and are shared by all series of a layout.

use crate::library::{Rounding, Shape, complexity, factor_columns};
use crate::linear::{MOST_COLUMNS, Orthonormal};
use crate::model::Factor;
use crate::options::ExponentSets;
use crate::wide::wide;

/// Lanes are padded to a multiple of this, so that whole vectors are computed.
const PAD: usize = 8;
/// Where a parameter has two values they must be so far apart to tell its powers.
const LEAST_RATIO: f64 = 1.5;
/// Square sums of columns that others nearly contain are dominated by rounding.
const CONTAINED: f64 = 1e-9;
/// How much less than computed a head may leave, relative to what it explains and to all: more than rounding makes.
const SLACK: (f64, f64) = (1e-6, 1e-12);
/// Bounds whose equations come closer to having no solution than this are not used.
const SINGULAR: f64 = 1e-6;

/// The factors of one parameter with their values at the points.
#[derive(Debug)]
pub(crate) struct Axis {
    /// The factors, the constant one first.
    pub factors: Vec<Option<Factor>>,
    /// How complicated each is.
    pub complexity: Vec<f64>,
    /// By point: which of the parameter's values it has.
    level: Vec<u32>,
    /// How many values there are.
    levels: usize,
    /// Number of factors, padded.
    width: usize,
    /// By value, then factor: the factor divided by its largest absolute value.
    values: Vec<f64>,
    /// Their squares.
    squares: Vec<f64>,
    /// Largest absolute value of each factor.
    scales: Vec<f64>,
}

impl Axis {
    /// The factors of parameter `l` on `points`.
    pub fn new(points: &[&[f64]], l: usize, sets: &ExponentSets, negative: bool) -> Self {
        let mut distinct: Vec<f64> = points.iter().map(|x| x[l]).collect();
        distinct.sort_by(f64::total_cmp);
        distinct.dedup();
        let level = |x: &&[f64]| distinct.partition_point(|v| v.total_cmp(&x[l]).is_lt()) as u32;
        let single: Vec<[f64; 1]> = distinct.iter().map(|&v| [v]).collect();
        let rows: Vec<&[f64]> = single.iter().map(|v| v.as_slice()).collect();
        let mut columns = factor_columns(&rows, 0, sets, negative, Rounding::None);
        // A factor that is zero at all values, such as a logarithm at one, is no candidate.
        columns.retain(|c| c.values.iter().any(|v| *v != 0.0));
        // Two values tell a power from another where they are far apart.
        let ratio = distinct[distinct.len() - 1] / distinct[0];
        let tells = distinct.len() > 2 || distinct.len() == 2 && ratio >= LEAST_RATIO;
        columns.truncate(if tells { columns.len() } else { 1 });
        let factors: Vec<Option<Factor>> =
            columns.iter().map(|c| c.factor.map(|f| Factor { parameter: l, ..f })).collect();
        let width = factors.len().next_multiple_of(PAD);
        let scales: Vec<f64> = columns.iter().map(|c| c.values.iter().fold(0.0_f64, |m, v| m.max(v.abs()))).collect();
        let mut values = vec![0.0; distinct.len() * width];
        for (j, column) in columns.iter().enumerate() {
            column.values.iter().enumerate().for_each(|(at, v)| values[at * width + j] = v / scales[j]);
        }
        Self {
            complexity: factors.iter().map(|f| f.map_or(0.0, |f| complexity(&[f]))).collect(),
            factors,
            level: points.iter().map(level).collect(),
            levels: distinct.len(),
            width,
            squares: values.iter().map(|v| v * v).collect(),
            values,
            scales,
        }
    }

    /// Number of different values.
    pub fn levels(&self) -> usize {
        self.levels
    }

    /// The scaled value of factor `j` at point `i`.
    pub fn at(&self, i: usize, j: usize) -> f64 {
        self.values[self.level[i] as usize * self.width + j]
    }
}

/// Products of factors of all parameters but the last.
#[derive(Debug)]
pub(crate) struct Heads {
    /// By head: indices of its factors, one per parameter but the last.
    pub factors: Vec<Vec<u16>>,
    /// How complicated each is.
    complexity: Vec<f64>,
    width: usize,
    /// By point, then head.
    values: Vec<f64>,
}

impl Heads {
    /// All products of the `kept` factors of `axes`, of which there may be none.
    pub fn new(points: usize, axes: &[&Axis], kept: &[Vec<u16>]) -> Self {
        let mut factors: Vec<Vec<u16>> = vec![Vec::new()];
        for of_axis in kept {
            let longer = |head: &Vec<u16>| -> Vec<Vec<u16>> {
                of_axis.iter().map(|&j| head.iter().copied().chain([j]).collect()).collect()
            };
            factors = factors.iter().flat_map(longer).collect();
        }
        let width = factors.len().next_multiple_of(PAD);
        let mut values = vec![0.0; points * width];
        for (h, head) in factors.iter().enumerate() {
            for i in 0..points {
                let of_axis = |(axis, &j): (&&Axis, &u16)| axis.at(i, j as usize);
                values[i * width + h] = axes.iter().zip(head).map(of_axis).product();
            }
        }
        let complexity_of = |head: &Vec<u16>| axes.iter().zip(head).map(|(axis, &j)| axis.complexity[j as usize]).sum();
        Self { complexity: factors.iter().map(complexity_of).collect(), factors, width, values }
    }
}

/// A product of factors: a head and a factor of the lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Product {
    /// Which head.
    pub head: u32,
    /// Which factor of the lane.
    pub lane: u32,
}

/// Buffers of the screens of one thread.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    /// Weighted sums by value of the lane, then head, for each of the vectors.
    folded: Vec<f64>,
    /// By value of the lane, then head: weighted square sums of the heads.
    head_squares: Vec<f64>,
    /// By head, then lane: weighted square sums, where they are known.
    squares: Vec<f64>,
    /// By head: whether they are.
    squared: Vec<bool>,
    /// By head: what every product with it leaves at least, times its cost.
    bounds: Vec<f64>,
    /// The heads, those first that may leave least, in the last bits of keys that rise with that.
    order: Vec<u64>,
    /// What the complexity of each head and of each factor of the lane costs.
    head_costs: Vec<f64>,
    lane_costs: Vec<f64>,
    /// One over the costs of the lane's factors.
    cheapness: Vec<f64>,
}

/// The candidates of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen<'a> {
    /// All parameters that vary, the lane last.
    pub axes: &'a [&'a Axis],
    /// The products of all but the lane.
    pub heads: &'a Heads,
}

/// A fit to which a product is added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Base<'a> {
    /// Relative weights of the points.
    pub weights: &'a [f64],
    /// Its weighted columns.
    pub columns: &'a Orthonormal,
    /// Weighted data without their part in the columns.
    pub residual: &'a [f64],
    /// Coefficients of the columns.
    pub coefficients: &'a [f64],
    /// Square sum of the residual.
    pub rss: f64,
}

/// What is asked of a screen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screening {
    /// What a nat of complexity costs.
    pub cost: f64,
    /// Whether the weights or the cost differ from those of the screen before.
    pub fresh: bool,
    /// How many products are wanted at most.
    pub count: usize,
    /// Only products that leave less are.
    pub limit: f64,
}

impl<'a> Screen<'a> {
    fn lane(&self) -> &'a Axis {
        self.axes[self.axes.len() - 1]
    }

    /// Number of points.
    fn points(&self) -> usize {
        self.lane().level.len()
    }

    /// The scaled values of a product at the points.
    pub fn column(&self, product: Product, out: &mut Vec<f64>) {
        let (lane, heads) = (self.lane(), self.heads);
        let value =
            |i: usize| heads.values[i * heads.width + product.head as usize] * lane.at(i, product.lane as usize);
        out.extend((0..self.points()).map(value));
    }

    /// The largest values by which the product's factors were divided.
    pub fn scale(&self, product: Product) -> f64 {
        self.factors(product).map(|(axis, j)| axis.scales[j]).product()
    }

    /// The factors other than the constant one, in order of their parameters.
    pub fn shape(&self, product: Product) -> Shape {
        let mut shape: Shape = self.factors(product).filter_map(|(axis, j)| axis.factors[j]).collect();
        shape.sort_by_key(|f| f.parameter);
        shape
    }

    /// How complicated the product is.
    pub fn complexity(&self, product: Product) -> f64 {
        self.heads.complexity[product.head as usize] + self.lane().complexity[product.lane as usize]
    }

    /// The axes with the factor that the product has of each, as an index.
    pub fn factors(&self, product: Product) -> impl Iterator<Item = (&'a Axis, usize)> + 'a {
        let heads: &'a Heads = self.heads;
        let head = heads.factors[product.head as usize].iter().map(|&j| j as usize);
        self.axes.iter().copied().zip(head.chain([product.lane as usize]))
    }

    /// The products that leave least of `base` when added, all coefficients staying positive: best first, each with the
    /// square sum that is left times `exp(cost · complexity)`.
    pub fn best(&self, base: Base, wanted: Screening, b: &mut Buffers) -> Vec<(f64, Product)> {
        self.prepare(base, wanted, b);
        let size = self.lane().levels * self.heads.width;
        let shape = Shapes {
            heads: self.heads.factors.len(),
            head_width: self.heads.width,
            size,
            width: self.lane().width,
            vectors: 1 + base.columns.len(),
            rss: base.rss,
        };
        let inverse = base.columns.inverse();
        let signs = Signs { coefficients: base.coefficients, inverse: &inverse };
        let Screening { count, limit, .. } = wanted;
        let mut best = Best { count, found: Vec::with_capacity(count + 1), limit };
        b.bounds.clear();
        b.bounds.resize(self.heads.width, 0.0);
        bounds(&shape, &b.folded, &b.head_squares, &b.head_costs, &mut b.bounds);
        let bounds = &b.bounds;
        b.order.clear();
        // Numbers that are not negative are in the order of their bits.
        let mask = shape.head_mask();
        b.order.extend((0..shape.heads).map(|head| bounds[head].to_bits() & !mask | head as u64));
        b.order.sort_unstable();
        let sums = Sums { folded: &b.folded, head_squares: &b.head_squares, bounds, order: &b.order };
        let costs = [b.head_costs.as_slice(), &b.lane_costs, &b.cheapness];
        let lane = [self.lane().values.as_slice(), &self.lane().squares];
        screened(&shape, &sums, lane, costs, &signs, &mut b.squares, &mut b.squared, &mut best);
        best.found
    }

    /// Folds the vectors of `base` over the points with equal values of the lane, and squares where they are new.
    fn prepare(&self, base: Base, Screening { cost, fresh, .. }: Screening, b: &mut Buffers) {
        let (lane, heads) = (self.lane(), self.heads);
        let size = lane.levels * heads.width;
        if fresh {
            b.head_squares.clear();
            b.head_squares.resize(size, 0.0);
            fold(&lane.level, heads.width, &heads.values, base.weights, base.weights, true, &mut b.head_squares);
            b.squares.resize(heads.factors.len() * lane.width, 0.0);
            b.squared.clear();
            b.squared.resize(heads.factors.len(), false);
            b.head_costs.clear();
            b.head_costs.extend(heads.complexity.iter().map(|c| (cost * c).exp()));
            b.head_costs.resize(heads.width, f64::INFINITY);
            b.lane_costs.clear();
            b.lane_costs.extend(lane.complexity.iter().map(|c| (cost * c).exp()));
            b.lane_costs.resize(lane.width, f64::INFINITY);
            b.cheapness.clear();
            b.cheapness.extend(b.lane_costs.iter().map(|c| 1.0 / c));
        }
        let vectors = std::iter::once(base.residual).chain(base.columns.columns());
        b.folded.clear();
        b.folded.resize(size * (1 + base.columns.len()), 0.0);
        for (vector, folded) in vectors.zip(b.folded.chunks_exact_mut(size)) {
            fold(&lane.level, heads.width, &heads.values, base.weights, vector, false, folded);
        }
    }
}

/// Sizes of the matrices.
#[derive(Clone, Copy, Debug)]
struct Shapes {
    heads: usize,
    head_width: usize,
    /// Of the folded sums of one vector.
    size: usize,
    width: usize,
    vectors: usize,
    rss: f64,
}

impl Shapes {
    /// The last bits of a head's key, which are its index.
    fn head_mask(&self) -> u64 {
        self.heads.next_power_of_two() as u64 - 1
    }
}

/// What a screen looks at.
#[derive(Clone, Copy, Debug)]
struct Sums<'a> {
    /// Weighted sums by vector, value of the lane and head.
    folded: &'a [f64],
    /// The heads' weighted square sums by value of the lane.
    head_squares: &'a [f64],
    /// By head: what its products leave at least, times its cost.
    bounds: &'a [f64],
    /// The heads in the order of that, in the bits of [`Shapes::head_mask`].
    order: &'a [u64],
}

/// What tells the signs of the coefficients after a column was added: those before, and the inverse of the triangle
/// that makes the columns of the basis.
#[derive(Clone, Copy, Debug)]
struct Signs<'a> {
    coefficients: &'a [f64],
    inverse: &'a [[f64; MOST_COLUMNS]; MOST_COLUMNS],
}

wide! {
    /// Sums over the points of each level: `sums[level][head] += a · b · value`, or its square where those are `squared`.
    fn fold(level: &[u32], width: usize, values: &[f64], a: &[f64], b: &[f64], squared: bool, sums: &mut [f64]) {
        let of_points = level.iter().zip(values.chunks_exact(width)).zip(a.iter().zip(b));
        for ((&level, values), (a, b)) in of_points {
            let weight = a * b;
            let sums = &mut sums[level as usize * width..(level as usize + 1) * width];
            if squared {
                sums.iter_mut().zip(values).for_each(|(s, v)| *s += weight * (v * v));
            } else {
                sums.iter_mut().zip(values).for_each(|(s, v)| *s += weight * v);
            }
        }
    }
}

wide! {
    /// By head: the least that any function of the lane's parameter in the place of the lane's factor would leave of the
    /// residual, times the head's cost; so that products need not be looked at where that is too much.
    fn bounds(shape: &Shapes, folded: &[f64], head_squares: &[f64], head_costs: &[f64], out: &mut [f64]) {
        match shape.vectors {
            1 => bounds_beside::<0>(shape, folded, head_squares, head_costs, out),
            2 => bounds_beside::<1>(shape, folded, head_squares, head_costs, out),
            3 => bounds_beside::<2>(shape, folded, head_squares, head_costs, out),
            _ => bounds_beside::<3>(shape, folded, head_squares, head_costs, out),
        }
    }
}

/// [`bounds`] for a basis Q of `K` columns. Such functions are all x = H u with H the head where the lane has each of its
/// values; HᵀH = D is diagonal, and with g = Hᵀr and P = HᵀQ the most that x beside Q explains of r is
/// gᵀ (D - P Pᵀ)⁻¹ g = gᵀD⁻¹g + bᵀ (1 - PᵀD⁻¹P)⁻¹ b with b = PᵀD⁻¹g (Sherman, Morrison and Woodbury).
#[inline(always)]
// Indices name the triangle's entries; iterators over its rows would hide which.
#[allow(clippy::needless_range_loop)]
fn bounds_beside<const K: usize>(
    shape: &Shapes,
    folded: &[f64],
    head_squares: &[f64],
    head_costs: &[f64],
    out: &mut [f64],
) {
    let vector = |k: usize| &folded[k * shape.size..(k + 1) * shape.size];
    let of_columns: [&[f64]; K] = std::array::from_fn(|k| vector(k + 1));
    for (block, out) in out.as_chunks_mut::<PAD>().0.iter_mut().enumerate() {
        let (mut explained, mut along, mut gram) = ([0.0; PAD], [[0.0; PAD]; K], [[[0.0; PAD]; K]; K]);
        for level in 0..shape.size / shape.head_width {
            let at = level * shape.head_width + block * PAD;
            for j in 0..PAD {
                let square = head_squares[at + j];
                let inverse = if square > 0.0 { 1.0 / square } else { 0.0 };
                let gain = vector(0)[at + j];
                explained[j] += gain * gain * inverse;
                for k in 0..K {
                    let part = of_columns[k][at + j] * inverse;
                    along[k][j] += gain * part;
                    for l in 0..=k {
                        gram[k][l][j] -= part * of_columns[l][at + j];
                    }
                }
            }
        }
        let mut singular = [false; PAD];
        for k in 0..K {
            for j in 0..PAD {
                let pivot = 1.0 + gram[k][k][j];
                singular[j] |= pivot < SINGULAR;
                explained[j] += along[k][j] * along[k][j] / pivot;
                for i in k + 1..K {
                    let factor = gram[i][k][j] / pivot;
                    along[i][j] -= factor * along[k][j];
                    for l in k + 1..=i {
                        gram[i][l][j] -= factor * gram[l][k][j];
                    }
                }
            }
        }
        for j in 0..PAD {
            let left = shape.rss * (1.0 - SLACK.1) - explained[j] * (1.0 + SLACK.0);
            let bound = left.max(0.0) * head_costs[block * PAD + j];
            out[j] = if singular[j] { 0.0 } else { bound };
        }
    }
}

/// `sum[j] += weight · values[j]`.
#[inline(always)]
fn add(sum: &mut [f64; PAD], weight: f64, values: &[f64; PAD]) {
    sum.iter_mut().zip(values).for_each(|(s, v)| *s += weight * v);
}

/// `out[b] = Σ_l left[l][head] right[l][b]`.
#[inline(always)]
fn product(head: usize, head_width: usize, left: &[f64], right: &[f64], out: &mut [f64]) {
    let width = out.len();
    for (block, out) in out.as_chunks_mut::<PAD>().0.iter_mut().enumerate() {
        let mut sum = [0.0; PAD];
        for (of_level, values) in left.chunks_exact(head_width).zip(right.chunks_exact(width)) {
            add(&mut sum, of_level[head], &values.as_chunks().0[block]);
        }
        *out = sum;
    }
}

wide! {
    /// Adds to `best` the products that leave least of the residual times their cost, where all coefficients stay
    /// positive and the basis does not contain the product. `lane` are the factors' values and squares.
    fn screened(shape: &Shapes, sums: &Sums, lane: [&[f64]; 2], costs: [&[f64]; 3], signs: &Signs, squares: &mut [f64],
                squared: &mut [bool], best: &mut Best) {
        match shape.vectors {
            1 => screened_beside::<0>(shape, sums, lane, costs, signs, squares, squared, best),
            2 => screened_beside::<1>(shape, sums, lane, costs, signs, squares, squared, best),
            3 => screened_beside::<2>(shape, sums, lane, costs, signs, squares, squared, best),
            _ => screened_beside::<3>(shape, sums, lane, costs, signs, squares, squared, best),
        }
    }
}

/// [`screened`] for a basis of `K` columns. With c the new column's coefficient, b its part in the columns, and a their
/// coefficients before, those after are a - c b.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn screened_beside<const K: usize>(
    shape: &Shapes,
    sums: &Sums,
    [lane, lane_squares]: [&[f64]; 2],
    costs: [&[f64]; 3],
    signs: &Signs,
    squares: &mut [f64],
    squared: &mut [bool],
    best: &mut Best,
) {
    let (of_residual, of_columns) = sums.folded.split_at(shape.size);
    let of_columns: [&[f64]; K] = std::array::from_fn(|k| &of_columns[k * shape.size..(k + 1) * shape.size]);
    let lane_costs = costs[1].as_chunks::<PAD>().0;
    let cheapness = costs[2].as_chunks::<PAD>().0;
    let mask = shape.head_mask();
    for head in sums.order.iter().map(|&key| (key & mask) as usize) {
        // So much is left by nearly all that follow, too.
        if sums.bounds[head] >= best.limit {
            continue;
        }
        // What a cost of one may leave at most.
        let most = best.limit / costs[0][head];
        let square = &mut squares[head * shape.width..(head + 1) * shape.width];
        if !std::mem::replace(&mut squared[head], true) {
            product(head, shape.head_width, sums.head_squares, lane_squares, square);
        }
        for (block, square) in square.as_chunks::<PAD>().0.iter().enumerate() {
            let (mut gain, mut parts) = ([0.0; PAD], [[0.0; PAD]; K]);
            for (level, values) in lane.chunks_exact(shape.width).enumerate() {
                let (at, values) = (level * shape.head_width + head, &values.as_chunks::<PAD>().0[block]);
                add(&mut gain, of_residual[at], values);
                for k in 0..K {
                    add(&mut parts[k], of_columns[k][at], values);
                }
            }
            let (mut norms, mut any) = (*square, false);
            for j in 0..PAD {
                for part in &parts {
                    norms[j] -= part[j] * part[j];
                }
                let explained = shape.rss - most * cheapness[block][j];
                let is_worse = gain[j] * gain[j] * (1.0 + SLACK.0) < norms[j] * explained;
                any |= !is_worse;
            }
            // Nearly all blocks hold nothing better, whatever the signs of their coefficients.
            if !any {
                continue;
            }
            let mut remains = [f64::INFINITY; PAD];
            for j in 0..PAD {
                let norm = norms[j];
                let mut usable = (gain[j] > 0.0) & (norm > CONTAINED * square[j]);
                for k in 0..K {
                    let mut part = 0.0;
                    // Below the diagonal it is zero; adding zeros is what vectors do fastest.
                    for (of_column, along) in signs.inverse[k].iter().zip(&parts) {
                        part += of_column * along[j];
                    }
                    usable &= signs.coefficients[k] * norm >= gain[j] * part;
                }
                let left = (shape.rss - gain[j] * gain[j] / norm).max(0.0) * (costs[0][head] * lane_costs[block][j]);
                remains[j] = if usable { left } else { f64::INFINITY };
            }
            best.insert(head, block, &remains);
        }
    }
}

/// The smallest values so far, ascending; ties in order of their places.
#[derive(Debug)]
struct Best {
    count: usize,
    found: Vec<(f64, Product)>,
    /// What a value must be smaller than.
    limit: f64,
}

impl Best {
    #[cold]
    #[inline(never)]
    fn insert(&mut self, head: usize, block: usize, values: &[f64; PAD]) {
        for (lane, &v) in values.iter().enumerate() {
            if v < self.limit {
                let product = Product { head: head as u32, lane: (block * PAD + lane) as u32 };
                let at = self.found.partition_point(|b| (b.0, b.1) < (v, product));
                self.found.insert(at, (v, product));
                self.found.truncate(self.count);
                if self.found.len() == self.count {
                    self.limit = self.found[self.count - 1].0;
                }
            }
        }
    }
}
