//! Rules out products of factors in single precision.
//!
//! Everything is relative: weights to the largest one, the residual to its own length. A sum of n products of numbers
//! that were rounded is off by at most (n + 2) units in the last place times the sum of their sizes, which Cauchy and
//! Schwarz's inequality bounds by the lengths of the two vectors. A product is ruled out only where it would leave too
//! much even then; where squares come near the least numbers of the format, it is not.

use super::{Base, PAD, Screen, USUAL};
use crate::wide::wide;

/// Smaller square sums of columns may have lost digits below the least numbers.
const TINY: f32 = 1e-25;
/// The same for square sums of one value of the lane.
const TINY_PART: f32 = 1e-30;
/// Bounds whose equations come closer to having no solution than this are not used.
const SINGULAR: f32 = 1e-3;
/// The largest relative error of rounding to single precision.
const ROUNDING: f32 = f32::EPSILON / 2.0;

/// A vector of lanes or heads.
type Lanes = [f32; PAD];

/// What is known of all products in single precision.
#[derive(Debug, Default)]
pub(super) struct Rough {
    /// By head: which share of the residual's square sum every product with it leaves at least.
    pub left: Vec<f32>,
    /// By point: weights relative to the largest one; those times a vector of the base.
    weights: Vec<f32>,
    products: Vec<f32>,
    /// By vector of the base, the residual first, then value of the lane and head: sums over the points.
    folded: Vec<f32>,
    /// By value of the lane, then head: square sums of the heads.
    head_squares: Vec<f32>,
    /// By head, then lane: square sums, where they are known.
    squares: Vec<f32>,
    /// By head: whether they are.
    squared: Vec<bool>,
    /// Of one head: its sums by vector, then value of the lane.
    of_head: Vec<f32>,
    /// Of one head, by block of lanes: what products leave at least.
    least: Vec<Least>,
    /// Relative error of sums over all points.
    error: f32,
    shape: Shape,
}

/// Sizes of the matrices.
#[derive(Clone, Copy, Debug, Default)]
struct Shape {
    levels: usize,
    heads: usize,
    lanes: usize,
    vectors: usize,
}

impl Rough {
    /// Takes new weights.
    pub fn weigh(&mut self, screen: &Screen, weights: &[f64]) {
        let (lane, heads) = (screen.lane(), screen.heads);
        self.shape = Shape { levels: lane.levels, heads: heads.width, lanes: lane.width, vectors: 0 };
        self.error = (weights.len() + lane.levels + 12) as f32 * ROUNDING;
        let largest = weights.iter().copied().fold(0.0, f64::max);
        self.weights.clear();
        self.weights.extend(weights.iter().map(|w| (w / largest) as f32));
        self.products.clear();
        self.products.extend(self.weights.iter().map(|w| w * w));
        self.head_squares.resize(lane.levels * heads.width, 0.0);
        fold(&lane.level, heads.width, &heads.rough, &self.products, true, &mut self.head_squares);
        self.squares.resize(heads.factors.len() * lane.width, 0.0);
        self.squared.clear();
        self.squared.resize(heads.factors.len(), false);
    }

    /// Folds the vectors of `base` over the points with equal values of the lane.
    pub fn fold(&mut self, screen: &Screen, base: Base) {
        let (lane, heads, size) = (screen.lane(), screen.heads, self.shape.levels * self.shape.heads);
        self.shape.vectors = 1 + base.columns.len();
        self.folded.resize(size * self.shape.vectors, 0.0);
        self.of_head.resize(self.shape.levels * self.shape.vectors, 0.0);
        self.least.resize(self.shape.lanes / PAD, NOTHING);
        let scale = if base.rss > 0.0 { base.rss.sqrt().recip() } else { 0.0 };
        let vectors = std::iter::once((base.residual, scale)).chain(base.columns.columns().map(|c| (c, 1.0)));
        for ((vector, scale), folded) in vectors.zip(self.folded.chunks_exact_mut(size)) {
            self.products.clear();
            self.products.extend(self.weights.iter().zip(vector).map(|(w, v)| w * (v * scale) as f32));
            fold(&lane.level, heads.width, &heads.rough, &self.products, false, folded);
        }
    }

    /// Finds what each head leaves at least beside so many columns.
    pub fn bounds(&mut self, columns: usize) {
        self.left.clear();
        self.left.resize(self.shape.heads, 0.0);
        let of = (self.folded.as_slice(), self.head_squares.as_slice());
        match columns {
            0 => bounds_0(&self.shape, of, self.error, &mut self.left),
            1 => bounds_1(&self.shape, of, self.error, &mut self.left),
            // Bounds of zero rule nothing out.
            2 => bounds_2(&self.shape, of, self.error, &mut self.left),
            _ => {}
        }
    }

    /// Finds what products with `head` leave at least, and whether that, times what their lane's complexity costs, is less than the
    /// share `most` of the residual's square sum for any of them.
    pub fn least(&mut self, screen: &Screen, head: usize, most: f64) -> bool {
        let (shape, lane) = (self.shape, screen.lane());
        let squares = &mut self.squares[head * shape.lanes..(head + 1) * shape.lanes];
        if !std::mem::replace(&mut self.squared[head], true) {
            let sums = &mut self.of_head[..shape.levels];
            column_of(&self.head_squares, shape.heads, head, sums);
            lane_squares(sums, &lane.rough_squares, squares);
        }
        column_of(&self.folded, shape.heads, head, &mut self.of_head);
        let of = Lane { values: &lane.rough, squares, costs: &lane.rough_costs };
        let (sums, least) = (&self.of_head, &mut self.least);
        let most = rounded(most);
        match shape.vectors {
            1 => least_0(sums, of, self.error, most, least),
            2 => least_1(sums, of, self.error, most, least),
            3 => least_2(sums, of, self.error, most, least),
            _ => {
                least.fill(NOTHING);
                true
            }
        }
    }

    /// Bits of those lanes of a block in which what products with the head of the last [`Self::least`] leave, times what their
    /// lane's complexity costs, may be less than the share `most`.
    pub fn block(&self, block: usize, most: f64) -> u32 {
        below(&self.least[block], rounded(most))
    }
}

/// A column of a matrix whose rows have this `width`, as long as `out`.
fn column_of(rows: &[f32], width: usize, column: usize, out: &mut [f32]) {
    let mut at = column;
    for out in out {
        *out = rows[at];
        at += width;
    }
}

/// `most` in single precision, and no less unless it is beyond all numbers or below the least one.
fn rounded(most: f64) -> f32 {
    ((most * (1.0 + 1e-6)) as f32).min(f32::MAX)
}

/// What the products of a head and the lanes of a block leave at least, times the lane's cost: numerators and denominators of shares
/// of the residual's square sum, since dividing takes as long as all the rest.
#[derive(Clone, Copy, Debug)]
struct Least {
    left: Lanes,
    of: Lanes,
}

/// What rules nothing out.
const NOTHING: Least = Least { left: [f32::NEG_INFINITY; PAD], of: [1.0; PAD] };

/// Whether so much is left of this that it is no less than the share `most`; what is not a number rules nothing out.
#[inline(always)]
fn is_ruled_out(left: f32, of: f32, most: f32) -> bool {
    left >= most * of
}

wide! {
    /// Bits of those lanes that are not ruled out.
    fn below(least: &Least, most: f32) -> u32 {
        let mut bits = 0;
        for (j, (left, of)) in least.left.iter().zip(&least.of).enumerate() {
            bits |= u32::from(!is_ruled_out(*left, *of, most)) << j;
        }
        bits
    }
}

/// What is known of the lanes.
#[derive(Clone, Copy)]
struct Lane<'a> {
    /// The factors by block, value and lane.
    values: &'a [f32],
    /// The products' square sums by lane.
    squares: &'a [f32],
    /// What their complexity costs; infinite for those behind the last.
    costs: &'a [f32],
}

wide! {
    /// Sums over the points of each level: `sums[level][head] = Σ a · value`, or `a · value²` where those are `squared`.
    fn fold(level: &[u32], width: usize, values: &[f32], a: &[f32], squared: bool, sums: &mut [f32]) {
        sums.fill(0.0);
        for ((&level, values), a) in level.iter().zip(values.chunks_exact(width)).zip(a) {
            let sums = &mut sums[level as usize * width..(level as usize + 1) * width];
            for (sums, values) in sums.as_chunks_mut::<PAD>().0.iter_mut().zip(values.as_chunks::<PAD>().0) {
                for j in 0..PAD {
                    sums[j] += a * if squared { values[j] * values[j] } else { values[j] };
                }
            }
        }
    }
}

/// By lane of a block: `Σ_level sums[level] · values[level][lane]`. Loops and no closures, which would not be compiled for
/// wide vectors with their caller.
#[inline(always)]
fn along(sums: &[f32], values: &[Lanes]) -> Lanes {
    let mut sum = [0.0; PAD];
    if let (Ok(sums), Ok(values)) = (<&[f32; USUAL]>::try_from(sums), <&[Lanes; USUAL]>::try_from(values)) {
        for (along, values) in sums.iter().zip(values) {
            for j in 0..PAD {
                sum[j] += along * values[j];
            }
        }
        return sum;
    }
    for (along, values) in sums.iter().zip(values) {
        for j in 0..PAD {
            sum[j] += along * values[j];
        }
    }
    sum
}

wide! {
    /// [`along`] for all lanes.
    fn lane_squares(sums: &[f32], values: &[f32], squares: &mut [f32]) {
        let blocks = values.chunks_exact(sums.len() * PAD);
        for (squares, values) in squares.as_chunks_mut::<PAD>().0.iter_mut().zip(blocks) {
            *squares = along(sums, values.as_chunks().0);
            // What is not a number is never ruled out.
            squares.iter_mut().for_each(|s| *s = if *s > 0.0 && *s < TINY { f32::NAN } else { *s });
        }
    }
}

/// One function per number of columns.
macro_rules! beside {
    ($($columns:literal $bounds:ident $least:ident,)*) => {$(
        wide! {
            fn $bounds(shape: &Shape, of: (&[f32], &[f32]), error: f32, left: &mut [f32]) {
                bounds_beside::<$columns>(shape, of, error, left)
            }
        }
        wide! {
            fn $least(sums: &[f32], lane: Lane, error: f32, most: f32, least: &mut [Least]) -> bool {
                let levels = sums.len() / ($columns + 1);
                match levels {
                    USUAL => least_beside::<$columns>(sums, USUAL, lane, (error, most), least),
                    _ => least_beside::<$columns>(sums, levels, lane, (error, most), least),
                }
            }
        }
    )*};
}

beside! { 0 bounds_0 least_0, 1 bounds_1 least_1, 2 bounds_2 least_2, }

/// By head: the share of the residual's square sum that any function of the lane's parameter in the place of the lane's
/// factor would leave at least, so that products need not be looked at where that is too much.
///
/// Beside a basis Q of `K` columns, such functions are all x = H u with H the head where the lane has each of its
/// values; HᵀH = D is diagonal, and with g = Hᵀr and P = HᵀQ the most that x beside Q explains of r is
/// gᵀ (D - P Pᵀ)⁻¹ g = gᵀD⁻¹g + bᵀ (1 - PᵀD⁻¹P)⁻¹ b with b = PᵀD⁻¹g (Sherman, Morrison and Woodbury).
#[inline(always)]
// Indices name the triangle's entries; iterators over its rows would hide which.
#[allow(clippy::needless_range_loop)]
fn bounds_beside<const K: usize>(
    shape: &Shape,
    (folded, head_squares): (&[f32], &[f32]),
    error: f32,
    left: &mut [f32],
) {
    let size = shape.levels * shape.heads;
    for (block, left) in left.as_chunks_mut::<PAD>().0.iter_mut().enumerate() {
        let (mut explained, mut along, mut gram) = ([0.0; PAD], [[0.0; PAD]; K], [[[0.0; PAD]; K]; K]);
        let mut least: Lanes = [1.0; PAD];
        for level in 0..shape.levels {
            let at = level * shape.heads + block * PAD;
            let of = |vector: usize| -> &Lanes { folded[vector * size + at..][..PAD].try_into().expect("as long") };
            let squares: &Lanes = head_squares[at..][..PAD].try_into().expect("as long");
            let gains = of(0);
            let columns: [&Lanes; K] = std::array::from_fn(|k| of(k + 1));
            for j in 0..PAD {
                // A bound that cannot be relied on becomes zero.
                least[j] = if squares[j] < TINY_PART { 0.0 } else { least[j] };
                let inverse = 1.0 / squares[j];
                explained[j] += gains[j] * gains[j] * inverse;
                for k in 0..K {
                    let part = columns[k][j] * inverse;
                    along[k][j] += gains[j] * part;
                    for l in 0..=k {
                        gram[k][l][j] -= part * columns[l][j];
                    }
                }
            }
        }
        for k in 0..K {
            for j in 0..PAD {
                let pivot = 1.0 + gram[k][k][j];
                least[j] = least[j].min(pivot);
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
            let slack = 16.0 * error / least[j].max(SINGULAR);
            let bound = (1.0 - explained[j] * (1.0 + slack) - slack).max(0.0);
            left[j] = if least[j] < SINGULAR { 0.0 } else { bound };
        }
    }
}

/// [`Rough::least`] beside a basis of `K` columns, of whose products with the head `sums` are those of the residual by
/// value of the lane, of which there are so many `levels`, then those of each column.
#[inline(always)]
// One index runs over all the lanes' arrays at once.
#[allow(clippy::needless_range_loop)]
fn least_beside<const K: usize>(
    sums: &[f32],
    levels: usize,
    lane: Lane,
    (error, most): (f32, f32),
    least: &mut [Least],
) -> bool {
    let sums = &sums[..levels * (K + 1)];
    let squares = lane.squares.as_chunks::<PAD>().0.iter();
    let costs = lane.costs.as_chunks::<PAD>().0.iter();
    let blocks = lane.values.chunks_exact(levels * PAD).zip(squares.zip(costs));
    let mut any = false;
    for (least, (values, (squares, costs))) in least.iter_mut().zip(blocks) {
        let values = &values.as_chunks().0[..levels];
        let gain = along(&sums[..levels], values);
        let mut norms = [0.0; PAD];
        for j in 0..PAD {
            norms[j] = squares[j] + (2 * K + 2) as f32 * error * squares[j];
        }
        for k in 1..=K {
            let part = along(&sums[k * levels..(k + 1) * levels], values);
            for j in 0..PAD {
                norms[j] -= part[j] * part[j];
            }
        }
        let (mut left, mut of) = ([0.0; PAD], [0.0; PAD]);
        for j in 0..PAD {
            let unsure = squares[j] * error;
            let explained = gain[j] * gain[j];
            let negative = (gain[j] < 0.0) & (explained > 4.0 * error * unsure);
            of[j] = norms[j].max(0.0);
            let some = ((1.0 - error) * of[j] - (explained + 2.1 * unsure)) * costs[j];
            left[j] = if negative | (squares[j] == 0.0) { f32::INFINITY } else { some };
        }
        for j in 0..PAD {
            any |= !is_ruled_out(left[j], of[j], most);
        }
        *least = Least { left, of };
    }
    any
}
