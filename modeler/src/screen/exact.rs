//! What products that are not ruled out leave, in double precision.

use super::{Base, PAD, Product, Screen};
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
    /// The triangle that makes the columns of the basis, inverted.
    inverse: [[f64; MOST_COLUMNS]; MOST_COLUMNS],
}

impl Exact {
    /// Takes a new base, whose weights are other ones where they are `fresh`.
    pub fn prepare(&mut self, screen: &Screen, base: Base, fresh: bool) {
        let (levels, heads) = (screen.lane().levels, screen.heads.factors.len());
        self.weighed.clear();
        for vector in std::iter::once(base.residual).chain(base.columns.columns()) {
            self.weighed.extend(vector.iter().zip(base.weights).map(|(v, w)| w * v));
        }
        self.folded.resize((1 + base.columns.len()) * levels * heads, 0.0);
        self.is_folded.clear();
        self.is_folded.resize(heads, false);
        if fresh {
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
        self.fold(screen, base, head);
        let folded = &self.folded[head * vectors * levels..(head + 1) * vectors * levels];
        let squares = &self.squares[head * levels..(head + 1) * levels];
        let values = lane.blocks[block * levels * PAD..(block + 1) * levels * PAD].as_chunks().0;
        let mut sums = [[0.0; PAD]; MOST_COLUMNS + 2];
        products(values, folded, squares, &mut sums);
        let [gains, parts @ .., norms] = &sums;
        let cost = screen.heads.costs[head];
        for j in (0..PAD).filter(|j| lanes >> j & 1 == 1) {
            let (gain, square) = (gains[j], norms[j]);
            let norm = parts.iter().fold(square, |norm, part| norm - part[j] * part[j]);
            let left = (base.rss - gain * gain / norm).max(0.0) * (cost * lane.costs[block * PAD + j]);
            if !(gain > 0.0 && norm > CONTAINED * square && left < best.limit) {
                continue;
            }
            let part_of =
                |row: &[f64; MOST_COLUMNS]| row.iter().zip(parts).fold(0.0, |sum, (of, part)| sum + of * part[j]);
            if base.coefficients.iter().zip(&self.inverse).all(|(a, row)| a * norm >= gain * part_of(row)) {
                best.insert(Product { head: head as u32, lane: (block * PAD + j) as u32 }, left);
            }
        }
    }

    /// Folds the vectors of the base, and the squares, over the points with equal values of the lane.
    fn fold(&mut self, screen: &Screen, base: Base, head: usize) {
        let (lane, points) = (screen.lane(), screen.points());
        let column = screen.heads.column(head, points);
        if !std::mem::replace(&mut self.is_folded[head], true) {
            let vectors = self.weighed.len() / points;
            let folded = &mut self.folded[head * vectors * lane.levels..(head + 1) * vectors * lane.levels];
            folded.fill(0.0);
            for (sums, weighed) in folded.chunks_exact_mut(lane.levels).zip(self.weighed.chunks_exact(points)) {
                for ((level, weight), v) in lane.level.iter().zip(weighed).zip(column) {
                    sums[*level as usize] += weight * v;
                }
            }
        }
        if !std::mem::replace(&mut self.is_squared[head], true) {
            let squares = &mut self.squares[head * lane.levels..(head + 1) * lane.levels];
            squares.fill(0.0);
            for ((level, weight), v) in lane.level.iter().zip(base.weights).zip(column) {
                squares[*level as usize] += weight * weight * (v * v);
            }
        }
    }
}

wide! {
    /// By lane of a block: the sum over values of the lane of `folded` times the factor for each vector, and behind
    /// [`MOST_COLUMNS`] of them that of `squares` times its square.
    fn products(values: &[[f64; PAD]], folded: &[f64], squares: &[f64], out: &mut [[f64; PAD]; MOST_COLUMNS + 2]) {
        for (out, sums) in out.iter_mut().zip(folded.chunks_exact(values.len())) {
            *out = along(sums, values, |v| v);
        }
        out[MOST_COLUMNS + 1] = along(squares, values, |v| v * v);
    }
}

#[inline(always)]
fn along(sums: &[f64], values: &[[f64; PAD]], map: impl Fn(f64) -> f64) -> [f64; PAD] {
    let mut sum = [0.0; PAD];
    for (along, values) in sums.iter().zip(values) {
        (0..PAD).for_each(|j| sum[j] += along * map(values[j]));
    }
    sum
}

/// The smallest values so far, ascending; ties in order of their places.
#[derive(Debug)]
pub(super) struct Best {
    /// How many are kept.
    pub count: usize,
    pub found: Vec<(f64, Product)>,
    /// What a value must be smaller than.
    pub limit: f64,
}

impl Best {
    fn insert(&mut self, product: Product, value: f64) {
        if value < self.limit {
            let at = self.found.partition_point(|b| (b.0, b.1) < (value, product));
            self.found.insert(at, (value, product));
            self.found.truncate(self.count);
            if self.found.len() == self.count {
                self.limit = self.found[self.count - 1].0;
            }
        }
    }
}
