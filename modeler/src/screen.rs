//! All products of one factor per parameter at once: what a constant and one of them, or one more of them, leave of a
//! series of times.
//!
//! A candidate is a head, the product of the factors of all parameters but the last, times a factor of the last, the
//! lane. Sums over points of weight × candidate are sums over the lane's few values of (sums over the points that have
//! the value of weight × head) × factor, so that thousands of candidates cost one small matrix product. The matrices
//! depend on the points alone and are shared by all series of a layout.
//!
//! That product is taken in single precision ([`rough`]), with bounds of its rounding, and only rules out: what may be
//! among the best is computed in double precision ([`exact`]), which alone decides. Results are therefore the same
//! however wide a processor's vectors are.

mod exact;
mod rough;

use exact::{Best, Exact};
use rough::Rough;

use crate::library::{FactorColumn, Rounding, Shape, complexity, factor_columns, simplicity};
use crate::linear::Orthonormal;
use crate::model::Factor;
use crate::options::ExponentSets;
use crate::wide::wide;
use smallvec::SmallVec;

/// Heads and lanes are padded to a multiple of this, so that whole vectors are computed.
const PAD: usize = 16;
/// So many values of a parameter most experiments have; loops of that length are compiled apart and cost half.
const USUAL: usize = 5;
/// What a nat of complexity costs in the criterion of searches, which is twice a description length.
pub(crate) const COMPLEXITY_PRICE: f64 = 1.25;
/// Where a parameter has two values they must be so far apart to tell its powers.
const LEAST_RATIO: f64 = 1.5;
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
    /// Whether each value follows the one before from point to point, and the first the last.
    in_turn: bool,
    /// Number of factors, padded.
    width: usize,
    /// By value, then factor: the factor divided by its largest absolute value.
    values: Vec<f64>,
    /// By factor, then point: the same.
    columns: Vec<f64>,
    /// The same and their squares in single precision, by block of [`PAD`] factors, value and factor.
    rough: Vec<f32>,
    rough_squares: Vec<f32>,
    /// The same in double precision.
    blocks: Vec<f64>,
    /// By factor: what its complexity costs. Lanes behind the last factor cost everything.
    costs: Vec<f64>,
    rough_costs: Vec<f32>,
    /// Largest absolute value of each factor.
    scales: Vec<f64>,
}

/// Of the factors that have the same ratio between two values, as `p` and `log2(p)` at 2 and 4, keeps the one that [`simplicity`] puts first.
fn without_alike(columns: &mut Vec<FactorColumn>) {
    let ratio = |column: &FactorColumn| column.values[1] / column.values[0];
    let order = |column: &FactorColumn| column.factor.as_ref().map_or((0.0, 0), simplicity);
    let mut kept: Vec<FactorColumn> = Vec::with_capacity(columns.len());
    for column in columns.drain(..) {
        let is_alike = |other: &&mut FactorColumn| {
            let (one, two) = (ratio(&column), ratio(other));
            // A logarithm is zero at one, so that such ratios are infinite.
            one == two || (one - two).abs() <= 1e-12 * one.abs().min(two.abs())
        };
        match kept.iter_mut().find(is_alike) {
            Some(other) if order(&column) < order(other) => *other = column,
            Some(_) => {}
            None => kept.push(column),
        }
    }
    *columns = kept;
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
        let (low, high) = (distinct[0], distinct[distinct.len() - 1]);
        let are_apart = low * high <= 0.0 || (high / low).max(low / high) >= LEAST_RATIO;
        let tells = distinct.len() > 2 || distinct.len() == 2 && are_apart;
        columns.truncate(if tells { columns.len() } else { 1 });
        if distinct.len() == 2 {
            without_alike(&mut columns);
        }
        let factors: Vec<Option<Factor>> =
            columns.iter().map(|c| c.factor.map(|f| Factor { parameter: l, ..f })).collect();
        let width = factors.len().next_multiple_of(PAD);
        let scales: Vec<f64> = columns.iter().map(|c| c.values.iter().fold(0.0_f64, |m, v| m.max(v.abs()))).collect();
        let mut values = vec![0.0; distinct.len() * width];
        for (j, column) in columns.iter().enumerate() {
            column.values.iter().enumerate().for_each(|(at, v)| values[at * width + j] = v / scales[j]);
        }
        let complexity: Vec<f64> = factors.iter().map(|f| f.map_or(0.0, |f| complexity(&[f]))).collect();
        let costs = costs(&complexity, points.len(), width);
        let level: Vec<u32> = points.iter().map(level).collect();
        let is_next = |(i, level): (usize, &u32)| *level as usize == i % distinct.len();
        let column = |j: usize| level.iter().map(move |&at| (at, j));
        let at = |(at, j): (u32, usize)| values[at as usize * width + j];
        let columns = (0..factors.len()).flat_map(|j| column(j).map(at)).collect();
        let in_turn = points.len().is_multiple_of(distinct.len()) && level.iter().enumerate().all(is_next);
        Self {
            complexity,
            factors,
            level,
            columns,
            in_turn,
            levels: distinct.len(),
            width,
            rough: by_block(&values, width, |v| v as f32),
            rough_squares: by_block(&values, width, |v| (v * v) as f32),
            blocks: by_block(&values, width, |v| v),
            rough_costs: costs.iter().map(|c| *c as f32).collect(),
            costs,
            values,
            scales,
        }
    }

    /// Which of the different values point `i` has.
    pub fn level(&self, i: usize) -> usize {
        self.level[i] as usize
    }

    /// Number of different values.
    pub fn levels(&self) -> usize {
        self.levels
    }

    /// Whether `y` is less on average at the last value than at the first.
    pub fn falls(&self, y: &[f64]) -> bool {
        let mean = |level: usize| {
            let (sum, count) =
                (0..y.len()).filter(|&i| self.level(i) == level).fold((0.0, 0.0), |(s, n), i| (s + y[i], n + 1.0));
            sum / count
        };
        mean(self.levels - 1) < mean(0)
    }

    /// Whether factor `j` grows from each value to the next.
    pub fn grows(&self, j: usize) -> bool {
        (1..self.levels).all(|level| self.values[level * self.width + j] > self.values[(level - 1) * self.width + j])
    }

    /// Sums of `a b` over the points of each value, in the order of the points.
    pub fn fold(&self, sums: &mut [f64], a: &[f64], b: &[f64]) {
        // Full grids have their values in turn.
        if let (true, Ok(sums)) = (self.in_turn, <&mut [f64; USUAL]>::try_from(&mut *sums)) {
            let mut in_turn = [0.0; USUAL];
            for (a, b) in a.as_chunks::<USUAL>().0.iter().zip(b.as_chunks::<USUAL>().0) {
                (0..USUAL).for_each(|level| in_turn[level] += a[level] * b[level]);
            }
            *sums = in_turn;
            return;
        }
        sums.fill(0.0);
        for ((level, a), b) in self.level.iter().zip(a).zip(b) {
            sums[*level as usize] += a * b;
        }
    }

    /// The factor that leaves least of a function of this parameter beside a constant, times what its complexity costs; of the function
    /// `part` has by value where it goes and what that counts for. None where nothing rises with it.
    pub fn closest(&self, part: &[(f64, f64)]) -> Option<usize> {
        let mut closest = None;
        let mut least = f64::INFINITY;
        for (block, values) in self.blocks.chunks_exact(self.levels * PAD).enumerate() {
            for (j, left) in left_beside(values.as_chunks().0, part).into_iter().enumerate() {
                let factor = block * PAD + j;
                let left = left * self.costs[factor];
                if factor > 0 && left < least {
                    (closest, least) = (Some(factor), left);
                }
            }
        }
        closest
    }

    /// The scaled value of factor `j` at point `i`.
    pub fn at(&self, i: usize, j: usize) -> f64 {
        self.values[self.level[i] as usize * self.width + j]
    }
}

wide! {
    /// What each of some factors, of which `values` has those of every level, leaves beside a constant of the weighted square sum of a function;
    /// infinite where the function does not rise with the factor. `part` has the function by level, and the weights.
    fn left_beside(values: &[[f64; PAD]], part: &[(f64, f64)]) -> [f64; PAD] {
        let (mut weights, mut of_part, mut spread) = (0.0, 0.0, 0.0);
        for (value, weight) in part {
            weights += weight;
            of_part += weight * value;
        }
        of_part /= weights;
        for (value, weight) in part {
            spread += weight * (value - of_part) * (value - of_part);
        }
        let mut of_factors = [0.0; PAD];
        for (values, (_, weight)) in values.iter().zip(part) {
            for j in 0..PAD {
                of_factors[j] += weight / weights * values[j];
            }
        }
        let (mut variances, mut covariances) = ([0.0; PAD], [0.0; PAD]);
        for (values, (value, weight)) in values.iter().zip(part) {
            for j in 0..PAD {
                let off = values[j] - of_factors[j];
                variances[j] += weight * off * off;
                covariances[j] += weight * off * (value - of_part);
            }
        }
        let mut left = [0.0; PAD];
        for j in 0..PAD {
            // What is left of rounding tells nothing apart.
            let some = (spread - covariances[j] * covariances[j] / variances[j]).max(1e-12 * spread);
            left[j] = if covariances[j] > 0.0 { some } else { f64::INFINITY };
        }
        left
    }
}

/// What `map` makes of `values`, by row and factor, in blocks of [`PAD`] factors of all rows.
fn by_block<T>(values: &[f64], width: usize, map: impl Fn(f64) -> T) -> Vec<T> {
    let rows = values.len() / width;
    let at = |block: usize, row: usize, j: usize| map(values[row * width + block * PAD + j]);
    let of_row = |block: usize, row: usize| (0..PAD).map(move |j| (block, row, j));
    let all = (0..width / PAD).flat_map(|block| (0..rows).flat_map(move |row| of_row(block, row)));
    all.map(|(block, row, j)| at(block, row, j)).collect()
}

/// By product: what its complexity multiplies the square sum by that it leaves of so many points.
fn costs(complexity: &[f64], points: usize, width: usize) -> Vec<f64> {
    let cost = COMPLEXITY_PRICE / points as f64;
    let padding = std::iter::repeat_n(f64::INFINITY, width - complexity.len());
    complexity.iter().map(|c| (cost * c).exp()).chain(padding).collect()
}

/// Products of factors of all parameters but the last.
#[derive(Debug)]
pub(crate) struct Heads {
    /// By head: indices of its factors, one per parameter but the last.
    pub factors: Vec<Vec<u16>>,
    /// How complicated each is.
    complexity: Vec<f64>,
    /// What that costs.
    costs: Vec<f64>,
    width: usize,
    /// By head, then point; the same squared.
    values: Vec<f64>,
    squares: Vec<f64>,
    /// By point, then head, in single precision.
    rough: Vec<f32>,
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
        let (mut values, mut rough) = (Vec::with_capacity(points * factors.len()), vec![0.0; points * width]);
        for (h, head) in factors.iter().enumerate() {
            for i in 0..points {
                let of_axis = |(axis, &j): (&&Axis, &u16)| axis.at(i, j as usize);
                let value: f64 = axes.iter().zip(head).map(of_axis).product();
                values.push(value);
                rough[i * width + h] = value as f32;
            }
        }
        let complexity_of = |head: &Vec<u16>| axes.iter().zip(head).map(|(axis, &j)| axis.complexity[j as usize]).sum();
        let complexity: Vec<f64> = factors.iter().map(complexity_of).collect();
        let costs = costs(&complexity, points, width);
        let squares = values.iter().map(|v| v * v).collect();
        Self { complexity, costs, factors, width, values, squares, rough }
    }
}

impl Heads {
    /// The values of a head at the points, of which there are so many.
    fn column(&self, head: usize, points: usize) -> &[f64] {
        &self.values[head * points..(head + 1) * points]
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

/// Products with what they leave; so many searches want at most, and one more while they are sorted in.
pub(crate) type Found = SmallVec<[(f64, Product); 13]>;

/// Buffers of the screens of one thread.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    rough: Rough,
    exact: Exact,
    /// By head: what every product with it leaves at least, times its cost.
    bounds: Vec<f64>,
    /// The heads, those first that may leave least, in the last bits of keys that rise with that.
    order: Vec<u64>,
}

wide! {
    /// By head: what every product with it leaves at least, times its cost.
    fn bounds(left: &[f32], costs: &[f64], rss: f64, bounds: &mut [f64]) {
        for ((bound, left), cost) in bounds.iter_mut().zip(left).zip(costs) {
            *bound = f64::from(*left) * cost * rss;
        }
    }
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
    /// Whether the weights or the points differ from those of the screen before.
    pub fresh: bool,
    /// How many products are wanted at most.
    pub count: usize,
    /// Only products that leave less are.
    pub limit: f64,
    /// Which of them are worth having beside better ones, if not all.
    pub worth: Option<Worth>,
}

/// What makes a product not worth having: others that are much better.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Worth {
    /// So many of the best are wanted however much they leave.
    pub sure: usize,
    /// Further ones only if they leave less than so many times what the best does.
    pub times: f64,
    /// Where the best leaves less than this, which is rounding, all are.
    pub rounding: f64,
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
        let (points, of_lane) = (self.points(), product.lane as usize);
        let lane = &self.lane().columns[of_lane * points..(of_lane + 1) * points];
        out.extend(self.heads.column(product.head as usize, points).iter().zip(lane).map(|(head, lane)| head * lane));
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

    /// What that costs: a factor of the square sum that the product leaves.
    pub fn cost(&self, product: Product) -> f64 {
        self.heads.costs[product.head as usize] * self.lane().costs[product.lane as usize]
    }

    /// The axes with the factor that the product has of each, as an index.
    pub fn factors(&self, product: Product) -> impl Iterator<Item = (&'a Axis, usize)> + 'a {
        let heads: &'a Heads = self.heads;
        let head = heads.factors[product.head as usize].iter().map(|&j| j as usize);
        self.axes.iter().copied().zip(head.chain([product.lane as usize]))
    }

    /// The product that is factor `j` of an axis alone, if it is a candidate.
    pub fn pure(&self, axis: usize, j: usize) -> Option<Product> {
        self.product_of(|other| Some(if other == axis { j } else { 0 }))
    }

    /// The product with this shape, if it is a candidate.
    pub fn product(&self, shape: &[Factor]) -> Option<Product> {
        let of_axis = |axis: &Axis| {
            let parameter = axis.factors.iter().flatten().next()?.parameter;
            let wanted = shape.iter().find(|factor| factor.parameter == parameter).copied();
            axis.factors.iter().position(|factor| *factor == wanted)
        };
        self.product_of(|axis| of_axis(self.axes[axis]))
    }

    /// The products of one or more parameters themselves that are candidates.
    pub fn plain_products(&self) -> impl Iterator<Item = Product> {
        let is_plain = |factor: &Option<Factor>| factor.is_some_and(|f| f.exponent == 1.into() && f.log_exponent == 0);
        let plain: SmallVec<[Option<usize>; 4]> =
            self.axes.iter().map(|axis| axis.factors.iter().position(is_plain)).collect();
        let of = move |chosen: u32, axis: usize| if chosen >> axis & 1 == 1 { plain[axis] } else { Some(0) };
        (1..1_u32 << self.axes.len()).filter_map(move |chosen| self.product_of(|axis| of(chosen, axis)))
    }

    /// The product of this factor of each axis, if it is a candidate.
    fn product_of(&self, factor: impl Fn(usize) -> Option<usize>) -> Option<Product> {
        let before = self.axes.len() - 1;
        let lane = factor(before)?;
        let is_it = |head: &Vec<u16>| (0..before).all(|axis| factor(axis) == Some(usize::from(head[axis])));
        let head = self.heads.factors.iter().position(is_it)?;
        Some(Product { head: head as u32, lane: lane as u32 })
    }

    /// The products that leave least of `base` when added, all coefficients staying positive: best first, each with the
    /// square sum that is left times `exp(COMPLEXITY_PRICE · complexity / points)`.
    pub fn best(&self, base: Base, wanted: Screening, b: &mut Buffers) -> Found {
        let Screening { count, limit, fresh, worth } = wanted;
        if fresh {
            b.rough.weigh(self, base.weights);
        }
        b.rough.fold(self, base);
        b.rough.bounds(base.columns.len());
        b.exact.prepare(self, base, fresh);
        let (mut best, costs) = (Best { count, worth, found: Found::new(), limit }, &self.heads.costs);
        b.bounds.resize(self.heads.width, 0.0);
        bounds(&b.rough.left, costs, base.rss, &mut b.bounds);
        let heads = self.heads.factors.len();
        b.order.resize(heads, 0);
        let mut possible = 0;
        for (head, bound) in b.bounds[..heads].iter().enumerate() {
            // Numbers that are not negative are in the order of their bits. What is ruled out the next one replaces: no processor
            // would guess which branch to take.
            b.order[possible] = u64::from((*bound as f32).to_bits()) << 32 | head as u64;
            possible += usize::from(*bound < best.limit);
        }
        b.order.truncate(possible);
        b.order.sort_unstable();
        for &key in &b.order {
            let head = (key & u64::from(u32::MAX)) as usize;
            // So much is left by every product with it.
            if b.bounds[head] >= best.limit {
                let rounded = f32::from_bits((key >> 32) as u32);
                // And no less by those with all that follow.
                if rounded >= f32::MIN_POSITIVE && f64::from(rounded) > best.limit * (1.0 + 1e-6) {
                    break;
                }
                continue;
            }
            // Limits are relative to this, and fall as products are found.
            let unit = costs[head] * base.rss;
            if !b.rough.least(self, head, best.limit / unit) {
                continue;
            }
            for block in 0..self.lane().width / PAD {
                let lanes = b.rough.block(block, best.limit / unit);
                if lanes != 0 {
                    b.exact.block(self, base, head, (block, lanes), &mut best);
                }
            }
        }
        best.found
    }
}

#[cfg(test)]
mod tests;
