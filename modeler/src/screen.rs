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

/// Lanes are padded to a multiple of this, so that whole vectors are computed.
const PAD: usize = 8;
/// Square sums of columns that others nearly contain are dominated by rounding.
const CONTAINED: f64 = 1e-9;
/// Heads are visited in steps of the first of these primes that does not divide their number.
const STEPS: [usize; 3] = [11, 13, 17];

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
        // Two values are explained by any factor.
        columns.truncate(if distinct.len() < 3 { 1 } else { columns.len() });
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
    /// By head, then lane: weighted square sums.
    squares: Vec<f64>,
    /// What the complexity of each head and of each factor of the lane costs.
    head_costs: Vec<f64>,
    lane_costs: Vec<f64>,
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
        let costs = [b.head_costs.as_slice(), &b.lane_costs];
        screened(&shape, &b.folded, &self.lane().values, &b.squares, costs, &signs, &mut best);
        best.found
    }

    /// Folds the vectors of `base` over the points with equal values of the lane, and squares where they are new.
    fn prepare(&self, base: Base, Screening { cost, fresh, .. }: Screening, b: &mut Buffers) {
        let (lane, heads) = (self.lane(), self.heads);
        let size = lane.levels * heads.width;
        if fresh {
            b.folded.clear();
            b.folded.resize(size, 0.0);
            fold(&lane.level, heads.width, &heads.values, base.weights, base.weights, true, &mut b.folded);
            b.squares.resize(heads.factors.len() * lane.width, 0.0);
            products(heads.width, lane.width, &b.folded, &lane.squares, &mut b.squares);
            b.head_costs.clear();
            b.head_costs.extend(heads.complexity.iter().map(|c| (cost * c).exp()));
            b.lane_costs.clear();
            b.lane_costs.extend(lane.complexity.iter().map(|c| (cost * c).exp()));
            b.lane_costs.resize(lane.width, f64::INFINITY);
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

/// What tells the signs of the coefficients after a column was added: those before, and the inverse of the triangle
/// that makes the columns of the basis.
#[derive(Clone, Copy, Debug)]
struct Signs<'a> {
    coefficients: &'a [f64],
    inverse: &'a [[f64; MOST_COLUMNS]; MOST_COLUMNS],
}

/// Compiles a loop for wider vectors too and takes those that the processor has. The order of additions within a
/// candidate is the same in all, and so is every bit of the result.
macro_rules! wide {
    ($(#[$doc:meta])* fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $body:block) => {
        $(#[$doc])*
        #[allow(clippy::too_many_arguments)]
        fn $name($($argument: $kind),*) {
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            fn plain($($argument: $kind),*) $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl")]
                #[allow(clippy::too_many_arguments)]
                fn widest($($argument: $kind),*) {
                    plain($($argument),*);
                }
                #[target_feature(enable = "avx2")]
                #[allow(clippy::too_many_arguments)]
                fn wider($($argument: $kind),*) {
                    plain($($argument),*);
                }
                if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
                    // SAFETY: the processor has what the function was compiled for.
                    return unsafe { widest($($argument),*) };
                }
                if is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has what the function was compiled for.
                    return unsafe { wider($($argument),*) };
                }
            }
            plain($($argument),*);
        }
    };
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

/// `sum[j] += weight · values[j]`.
#[inline(always)]
fn add(sum: &mut [f64; PAD], weight: f64, values: &[f64; PAD]) {
    sum.iter_mut().zip(values).for_each(|(s, v)| *s += weight * v);
}

wide! {
    /// `out[h][b] = Σ_l left[l][h] right[l][b]`.
    fn products(head_width: usize, width: usize, left: &[f64], right: &[f64], out: &mut [f64]) {
        for (head, row) in out.chunks_exact_mut(width).enumerate() {
            for (block, out) in row.as_chunks_mut::<PAD>().0.iter_mut().enumerate() {
                let mut sum = [0.0; PAD];
                for (of_level, values) in left.chunks_exact(head_width).zip(right.chunks_exact(width)) {
                    add(&mut sum, of_level[head], &values.as_chunks().0[block]);
                }
                *out = sum;
            }
        }
    }
}

wide! {
    /// Adds to `best` the products that leave least of the residual times their cost, where all coefficients stay
    /// positive and the basis does not contain the product.
    fn screened(shape: &Shapes, folded: &[f64], lane: &[f64], squares: &[f64], costs: [&[f64]; 2], signs: &Signs,
                best: &mut Best) {
        match shape.vectors {
            1 => screened_beside::<0>(shape, folded, lane, squares, costs, signs, best),
            2 => screened_beside::<1>(shape, folded, lane, squares, costs, signs, best),
            3 => screened_beside::<2>(shape, folded, lane, squares, costs, signs, best),
            _ => screened_beside::<3>(shape, folded, lane, squares, costs, signs, best),
        }
    }
}

/// [`screened`] for a basis of `K` columns. With c the new column's coefficient, b its part in the columns, and a their
/// coefficients before, those after are a - c b.
#[inline(always)]
fn screened_beside<const K: usize>(
    shape: &Shapes,
    folded: &[f64],
    lane: &[f64],
    squares: &[f64],
    costs: [&[f64]; 2],
    signs: &Signs,
    best: &mut Best,
) {
    let (of_residual, of_columns) = folded.split_at(shape.size);
    let of_columns: [&[f64]; K] = std::array::from_fn(|k| &of_columns[k * shape.size..(k + 1) * shape.size]);
    let lane_costs = costs[1].as_chunks::<PAD>().0;
    // Neighbours are alike: far apart ones first soon tell what is good.
    let step = STEPS.into_iter().find(|step| !shape.heads.is_multiple_of(*step)).unwrap_or(1);
    for i in 0..shape.heads {
        let head = i * step % shape.heads;
        let square = &squares[head * shape.width..(head + 1) * shape.width];
        for (block, square) in square.as_chunks::<PAD>().0.iter().enumerate() {
            let (mut gain, mut parts) = ([0.0; PAD], [[0.0; PAD]; K]);
            for (level, values) in lane.chunks_exact(shape.width).enumerate() {
                let (at, values) = (level * shape.head_width + head, &values.as_chunks::<PAD>().0[block]);
                add(&mut gain, of_residual[at], values);
                for k in 0..K {
                    add(&mut parts[k], of_columns[k][at], values);
                }
            }
            let (mut remains, mut any) = ([f64::INFINITY; PAD], false);
            for j in 0..PAD {
                let mut norm = square[j];
                for part in &parts {
                    norm -= part[j] * part[j];
                }
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
                any |= remains[j] < best.limit;
            }
            // Nearly all blocks hold nothing better.
            if any {
                best.insert(head, block, &remains);
            }
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
