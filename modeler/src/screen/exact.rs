//! What products that are not ruled out leave, in double precision.

use super::{Base, Found, PAD, Product, Screen, USUAL, Worth};
use crate::linear::MOST_COLUMNS;
use crate::wide::wide;

/// Square sums of columns that others nearly contain are dominated by rounding.
const CONTAINED: f64 = 1e-9;

/// Sums over the points, for those heads for which they were needed.
#[derive(Debug, Default)]
pub(super) struct Exact {
    /// By vector of the base, the residual first, then point: weight times vector.
    weighed: Vec<f64>,
    /// By head, vector and value of the lane: sums of that times the head.
    folded: Vec<f64>,
    /// By head: whether these are known.
    is_folded: Vec<bool>,
    /// By head, then value of the lane: weighted square sums of the head.
    squares: Vec<f64>,
    is_squared: Vec<bool>,
    /// By point: the square of its weight.
    weights: Vec<f64>,
    /// The triangle that makes the columns of the basis, inverted.
    inverse: [[f64; MOST_COLUMNS]; MOST_COLUMNS],
    products: Products,
}

/// A vector of lanes.
type Lanes = [f64; PAD];

/// Of the products of a head and a block of lanes: what they have of the residual, of each column and of themselves, and
/// what they would leave of the residual's square sum, times their cost.
#[derive(Debug, Default)]
struct Products {
    gains: Lanes,
    parts: [Lanes; MOST_COLUMNS],
    norms: Lanes,
    left: Lanes,
}

/// What products are judged by.
#[derive(Clone, Copy)]
struct With<'a> {
    /// Square sum of the residual.
    rss: f64,
    /// Cost of the head, and of each lane.
    cost: f64,
    costs: &'a Lanes,
    /// What products must leave less than.
    limit: f64,
}

impl Exact {
    /// Takes a new base, whose weights are other ones where they are `fresh`.
    pub fn prepare(&mut self, screen: &Screen, base: Base, fresh: bool) {
        let (levels, heads) = (screen.lane().levels, screen.heads.factors.len());
        self.weighed.clear();
        for vector in std::iter::once(base.residual).chain(base.columns.columns()) {
            self.weighed.extend(vector.iter().zip(base.weights).map(|(v, w)| w * v));
        }
        // Of what was folded for other bases nothing is looked at.
        let size = (1 + base.columns.len()) * levels * heads;
        self.folded.resize(self.folded.len().max(size), 0.0);
        self.is_folded.clear();
        self.is_folded.resize(heads, false);
        if fresh {
            self.weights.clear();
            self.weights.extend(base.weights.iter().map(|w| w * w));
            self.squares.resize(levels * heads, 0.0);
            self.is_squared.clear();
            self.is_squared.resize(heads, false);
        }
        self.inverse = base.columns.inverse();
    }

    /// Adds the products of `head` and the lanes of a block, whose bits are given, to the `best`, where all coefficients
    /// stay positive and the basis does not contain the product. With c the new column's coefficient, b its part in the
    /// columns, and a their coefficients before, those after are a - c b.
    pub fn block(&mut self, screen: &Screen, base: Base, head: usize, (block, lanes): (usize, u32), best: &mut Best) {
        let (lane, levels, vectors) = (screen.lane(), screen.lane().levels, 1 + base.columns.len());
        self.fold(screen, head);
        let folded = &self.folded[head * vectors * levels..(head + 1) * vectors * levels];
        let squares = &self.squares[head * levels..(head + 1) * levels];
        let values = lane.blocks[block * levels * PAD..(block + 1) * levels * PAD].as_chunks().0;
        let costs: &[f64; PAD] = lane.costs[block * PAD..][..PAD].try_into().expect("whole blocks");
        let with = With { rss: base.rss, cost: screen.heads.costs[head], costs, limit: best.limit };
        let mut possible = lanes & products(values, folded, squares, with, &mut self.products);
        let Products { gains, parts, norms, left } = &self.products;
        while possible != 0 {
            let j = possible.trailing_zeros() as usize;
            possible &= possible - 1;
            if left[j] >= best.limit {
                // The limit falls as products are found.
                continue;
            }
            let part_of = |row: &[f64; MOST_COLUMNS]| {
                row.iter().zip(&parts[..vectors - 1]).fold(0.0, |sum, (of, part)| sum + of * part[j])
            };
            if base.coefficients.iter().zip(&self.inverse).all(|(a, row)| a * norms[j] >= gains[j] * part_of(row)) {
                best.insert(Product { head: head as u32, lane: (block * PAD + j) as u32 }, left[j]);
            }
        }
    }

    /// Folds the vectors of the base, and the squares, over the points with equal values of the lane.
    fn fold(&mut self, screen: &Screen, head: usize) {
        let (lane, points) = (screen.lane(), screen.points());
        let column = screen.heads.column(head, points);
        if !std::mem::replace(&mut self.is_folded[head], true) {
            let vectors = self.weighed.len() / points;
            let folded = &mut self.folded[head * vectors * lane.levels..(head + 1) * vectors * lane.levels];
            for (sums, weighed) in folded.chunks_exact_mut(lane.levels).zip(self.weighed.chunks_exact(points)) {
                lane.fold(sums, weighed, column);
            }
        }
        if !std::mem::replace(&mut self.is_squared[head], true) {
            let squares = &screen.heads.squares[head * points..(head + 1) * points];
            lane.fold(&mut self.squares[head * lane.levels..(head + 1) * lane.levels], &self.weights, squares);
        }
    }
}

wide! {
    fn products(values: &[Lanes], folded: &[f64], squares: &[f64], with: With, out: &mut Products) -> u32 {
        match <&[Lanes; USUAL]>::try_from(values) {
            Ok(values) => products_of(values, folded, squares, with, out),
            _ => products_of(values, folded, squares, with, out),
        }
    }
}

/// Sums over values of the lane of `folded` times the factor, for the residual and each column, and of `squares` times
/// its square; bits of those products that have a part of the residual, leave less than the limit and are not contained in
/// the columns.
#[inline(always)]
fn products_of(values: &[Lanes], folded: &[f64], squares: &[f64], with: With, out: &mut Products) -> u32 {
    let (gains, columns) = folded.split_at(values.len());
    out.gains = along(gains, values);
    let mut square = [0.0; PAD];
    for (sum, values) in squares[..values.len()].iter().zip(values) {
        for j in 0..PAD {
            square[j] += sum * (values[j] * values[j]);
        }
    }
    out.norms = square;
    for (part, sums) in out.parts.iter_mut().zip(columns.chunks_exact(values.len())) {
        *part = along(sums, values);
        for (norm, part) in out.norms.iter_mut().zip(part) {
            *norm -= *part * *part;
        }
    }
    let mut bits = 0;
    for (j, square) in square.iter().enumerate() {
        let (gain, norm) = (out.gains[j], out.norms[j]);
        out.left[j] = (with.rss - gain * gain / norm).max(0.0) * (with.cost * with.costs[j]);
        let is_possible = (gain > 0.0) & (norm > CONTAINED * square) & (out.left[j] < with.limit);
        bits |= u32::from(is_possible) << j;
    }
    bits
}

#[inline(always)]
fn along(sums: &[f64], values: &[Lanes]) -> Lanes {
    let mut sum = [0.0; PAD];
    for (along, values) in sums.iter().zip(values) {
        for j in 0..PAD {
            sum[j] += along * values[j];
        }
    }
    sum
}

/// The smallest values so far, ascending; ties in order of their places.
#[derive(Debug)]
pub(super) struct Best {
    /// How many are kept.
    pub count: usize,
    /// Which are kept beside better ones.
    pub worth: Option<Worth>,
    pub found: Found,
    /// What a value must be smaller than.
    pub limit: f64,
}

/// Whether what the first product leaves is less, or as much and its place before.
#[inline(always)]
fn is_before(a: (f64, Product), b: (f64, Product)) -> bool {
    a.0 < b.0 || a.0 == b.0 && a.1 < b.1
}

impl Best {
    fn insert(&mut self, product: Product, value: f64) {
        if value < self.limit {
            self.found.push((value, product));
            // From behind, where most belong.
            let found = self.found.as_mut_slice();
            let mut at = found.len() - 1;
            while at > 0 && is_before((value, product), found[at - 1]) {
                found[at] = found[at - 1];
                at -= 1;
            }
            found[at] = (value, product);
            self.found.truncate(self.count);
            if self.found.len() == self.count {
                self.limit = self.found[self.count - 1].0;
            }
            if let Some(Worth { sure, times, rounding }) = self.worth
                && let (best, Some(last)) = (self.found[0].0, self.found.get(sure - 1))
                && best > rounding
            {
                self.limit = self.limit.min(last.0.max(times * best));
            }
        }
    }
}
