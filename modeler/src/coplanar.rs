//! Pairs of vectors that lie in one plane with a third, without a look at all pairs.
//!
//! Two vectors and the third lie in one plane where what the third leaves of them has the same direction. So the vectors are sorted by one
//! coordinate of that direction, and only neighbours are compared.

use crate::axis::dot;

/// How far the third vector, of length one, may be from the plane of two that are looked at.
const NEAR: f64 = 1e-5;
/// Vectors of which less than this is left are compared with all others: their directions are not told as well.
const LONG: f64 = 0.1;
/// Neighbours are looked for a little farther than they may be.
const FARTHER: f64 = 1.1;

/// What a vector leaves of unit vectors.
#[derive(Debug)]
pub(crate) struct Directions {
    /// Of those of which much is left, ascending: a coordinate of the direction without its sign, and which vector it is.
    sorted: Vec<(f64, u32)>,
    /// The others.
    short: Vec<u32>,
    /// By vector: how much is left, and the coordinate.
    left: Vec<(f64, f64)>,
}

impl Directions {
    /// Those of `vectors`, of length one as `third`.
    pub fn new<const N: usize>(third: &[f64; N], vectors: &[(usize, [f64; N])]) -> Self {
        let along = coordinate::<N>();
        let of_third = dot(third, &along);
        let left_of = |(_, vector): &(usize, [f64; N])| {
            let cosine = dot(vector, third);
            let left = (1.0 - cosine * cosine).max(0.0).sqrt();
            (left, ((dot(vector, &along) - cosine * of_third) / left.max(f64::MIN_POSITIVE)).abs())
        };
        let left: Vec<(f64, f64)> = vectors.iter().map(left_of).collect();
        let (mut sorted, mut short) = (Vec::with_capacity(left.len()), Vec::new());
        for (i, (left, coordinate)) in left.iter().enumerate() {
            match *left >= LONG {
                true => sorted.push((*coordinate, i as u32)),
                false => short.push(i as u32),
            }
        }
        sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        Self { sorted, short, left }
    }

    /// Calls `visit` with each vector of these that may lie in one plane with the third vector and vector `i` of `others`, in no order.
    pub fn each_beside(&self, others: &Self, i: usize, mut visit: impl FnMut(usize)) {
        self.short.iter().for_each(|&j| visit(j as usize));
        let (left, coordinate) = others.left[i];
        if left < LONG {
            self.sorted.iter().for_each(|&(_, j)| visit(j as usize));
            return;
        }
        // The area between two directions is at most the third's distance from the plane over what is left of both.
        let far = FARTHER * NEAR / (left * LONG);
        let first = self.sorted.partition_point(|(at, _)| *at < coordinate - far);
        self.sorted[first..].iter().take_while(|(at, _)| *at <= coordinate + far).for_each(|&(_, j)| visit(j as usize));
    }
}

/// A vector of length one that is in no way special.
fn coordinate<const N: usize>() -> [f64; N] {
    let vector: [f64; N] = std::array::from_fn(|i| 1.0 + (0.618_033_988_749_894_9 * (i + 1) as f64).fract());
    crate::axis::scaled(vector)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::scaled;
    use proptest::prelude::*;

    proptest! {
        /// None that a look at all pairs finds is left out.
        #[test]
        fn every_pair_that_lies_in_one_plane_with_the_third_is_visited(
            vectors in proptest::collection::vec(proptest::array::uniform5(-1.0..1.0f64), 3..12),
            (a, b) in (0.1..2.0f64, -2.0..2.0f64),
        ) {
            let units: Vec<(usize, [f64; 5])> = vectors.iter().map(|v| scaled(*v)).enumerate().collect();
            let third = scaled(std::array::from_fn::<f64, 5, _>(|i| a * units[0].1[i] + b * units[1].1[i]));
            let directions = Directions::new(&third, &units);
            let visited = |i: usize| {
                let mut all = Vec::new();
                directions.each_beside(&directions, i, |j| all.push(j));
                all
            };
            prop_assert!(visited(0).contains(&1) && visited(1).contains(&0));
        }
    }
}
