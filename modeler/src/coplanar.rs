//! Pairs of vectors that lie in one plane with a third, without a close look at all pairs.
//!
//! Two vectors and the third lie in one plane where what the third leaves of them has the same direction. One coordinate of the directions
//! tells nearly all pairs apart, in wide loops that compare one with many; [`left_by`] looks at one pair.

use crate::axis::{INDEPENDENT, LOST, dot, scaled, without};
use crate::rows::Rows;
use crate::wide::wide;

/// Vectors of which little is left are compared with all others: their directions are not told as well. It is so many times the root of what tells
/// directions apart, where no direction is told any more, within these bounds.
const SHORT: f64 = 10.0;
const SHORTEST: [f64; 2] = [1e-5, 0.1];
/// The ends of two directions are farther apart than the sine of the acute angle between them, by no more than this.
const FARTHER: f64 = std::f64::consts::SQRT_2;
/// So many are compared before the next look at whether one is near.
const BLOCK: usize = 32;

/// What two vectors of length one leave of the square length of a third one, from their cosine and how long the third is along each; and how
/// much of that, as a share of the square, may be lost to arithmetic. `None` where the two are as good as one.
#[inline(always)]
pub(crate) fn left_by(cosine: f64, (first, second): (f64, f64), square: f64) -> Option<(f64, f64)> {
    let sine_squared = 1.0 - cosine * cosine;
    let second = second - cosine * first;
    let left = square - first * first - second * second / sine_squared;
    (sine_squared > INDEPENDENT * INDEPENDENT).then_some((left, LOST / sine_squared))
}

/// What a vector, and perhaps another one, leave of unit vectors.
#[derive(Debug)]
pub(crate) struct Directions {
    /// By vector: a coordinate of the direction without its sign, or not a number for a vector that is beside none.
    coordinates: Vec<f64>,
    /// By vector: one over what is left of it, infinite for those that are beside all.
    reaches: Vec<f64>,
    /// How far apart coordinates may be, as a share of the product of both reaches.
    far: f64,
}

impl Directions {
    /// What `third` leaves of `vectors`, all of length one. Planes are looked for that it may be as `near` as this.
    pub fn new<const N: usize>(third: &[f64; N], vectors: &[(usize, [f64; N])], near: f64) -> Self {
        let along = coordinate::<N>();
        let of_third = dot(third, &along);
        let left_of = |(_, vector): &(usize, [f64; N])| {
            let cosine = dot(vector, third);
            let left = (1.0 - cosine * cosine).max(0.0).sqrt();
            (left, (dot(vector, &along) - cosine * of_third).abs())
        };
        Self::of(vectors.iter().map(left_of), near)
    }

    /// By vector: what is left of it, and the coordinate of that.
    fn of(left: impl Iterator<Item = (f64, f64)>, near: f64) -> Self {
        let long = long(near);
        let (coordinates, reaches) = left.map(|(left, coordinate)| direction(left, coordinate, long)).unzip();
        Self { coordinates, reaches, far: far(near) }
    }

    /// Those of some of the vectors.
    pub fn only(&self, which: &[usize]) -> Self {
        let of = |all: &[f64]| which.iter().map(|&i| all[i]).collect();
        Self { coordinates: of(&self.coordinates), reaches: of(&self.reaches), far: self.far }
    }

    /// Vectors before vector `i` that span with it a plane which the third one may be that near, ascending.
    pub fn before(&self, i: usize, beside: &mut Vec<usize>) {
        beside.clear();
        // The area between two directions is at most the third's distance from the plane over what is left of both.
        find_near(&self.coordinates[..i], &self.reaches[..i], self.coordinates[i], self.far * self.reaches[i], beside);
    }

    /// The same of all vectors beside vector `i` of `others`, which are directions beside the same third one.
    pub fn beside(&self, others: &Self, i: usize, beside: &mut Vec<usize>) {
        beside.clear();
        let (coordinate, far) = (others.coordinates[i], self.far * others.reaches[i]);
        find_near(&self.coordinates, &self.reaches, coordinate, far, beside);
    }
}

wide! {
    /// Adds the indices of coordinates that are no farther from this one than so many of their reaches.
    fn find_near(coordinates: &[f64], reaches: &[f64], coordinate: f64, far: f64, near: &mut Vec<usize>) {
        let is_near = |at: f64, reach: f64| (at - coordinate).abs() <= far * reach;
        for (block, (some, of_some)) in coordinates.chunks(BLOCK).zip(reaches.chunks(BLOCK)).enumerate() {
            if some.iter().zip(of_some).fold(false, |any, (at, reach)| any | is_near(*at, *reach)) {
                let which = |(i, (at, reach)): (usize, (&f64, &f64))| is_near(*at, *reach).then_some(block * BLOCK + i);
                near.extend(some.iter().zip(of_some).enumerate().filter_map(which));
            }
        }
    }
}

/// Vectors that are compared beside one after the other of some more, with the same third vector.
#[derive(Debug)]
pub(crate) struct Family {
    vectors: Rows,
    /// What the third vector leaves of each.
    rests: Rows,
    /// Its square length, and its coordinate.
    squares: Vec<f64>,
    coordinates: Vec<f64>,
}

/// A vector that is taken out of a [`Family`], with what the third one leaves of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outer<const N: usize> {
    vector: [f64; N],
    rest: [f64; N],
    coordinate: f64,
    left: f64,
}

impl<const N: usize> Outer<N> {
    /// Both have length one.
    pub fn new(third: &[f64; N], vector: &[f64; N]) -> Self {
        let rest = scaled(without(*vector, &[*third]));
        let cosine = dot(vector, third);
        Self {
            vector: *vector,
            rest,
            coordinate: dot(&rest, &coordinate()),
            left: (1.0 - cosine * cosine).max(0.0).sqrt(),
        }
    }

    /// What it leaves of the third vector.
    pub fn left(&self) -> f64 {
        self.left
    }
}

impl Family {
    /// All of length one, and of so many coordinates that are not zero.
    pub fn new<const N: usize>(size: usize, third: &[f64; N], vectors: &[(usize, [f64; N])]) -> Self {
        let rests: Vec<[f64; N]> = vectors.iter().map(|(_, vector)| without(*vector, &[*third])).collect();
        Self {
            vectors: Rows::new(size, vectors.iter().map(|(_, vector)| vector)),
            squares: rests.iter().map(|rest| dot(rest, rest)).collect(),
            coordinates: rests.iter().map(|rest| dot(rest, &coordinate())).collect(),
            rests: Rows::new(size, rests.iter()),
        }
    }

    /// What the third vector and `outer` leave of the family. Two of it that are beside each other span with `outer` a space which the third one may
    /// be as `near` as this, as a share of what `outer` leaves of it. Vectors that `outer` contains to within `contained` are beside none.
    pub fn beside<const N: usize>(&self, outer: &Outer<N>, contained: f64, near: f64) -> Directions {
        let (mut coordinates, mut reaches) = (self.vectors.along(&outer.vector), self.rests.along(&outer.rest));
        let least = contained * contained;
        take_out(&mut coordinates, &mut reaches, &self.squares, &self.coordinates, outer.coordinate, least, long(near));
        Directions { coordinates, reaches, far: far(near) }
    }
}

wide! {
    /// Replaces cosines of vectors with an outer one by the coordinates of directions, and scalar products of what the third one leaves of both by
    /// reaches. Vectors of which the outer one leaves no more than the square `least` are beside none.
    fn take_out(
        cosines: &mut [f64],
        along: &mut [f64],
        squares: &[f64],
        coordinates: &[f64],
        of_outer: f64,
        least: f64,
        long: f64,
    ) {
        let vectors = cosines.iter_mut().zip(along).zip(squares.iter().zip(coordinates));
        for ((cosine, along), (square, coordinate)) in vectors {
            let own = 1.0 - *cosine * *cosine;
            let left = ((square - *along * *along).max(0.0) / own).sqrt();
            let (of_direction, reach) = direction(left, (coordinate - *along * of_outer).abs() / own.sqrt(), long);
            *cosine = if own > least { of_direction } else { f64::NAN };
            *along = reach;
        }
    }
}

/// How far apart coordinates may be; vectors of no direction are beside all however near planes may be.
fn far(near: f64) -> f64 {
    FARTHER * near.max(f64::MIN_POSITIVE)
}

/// Directions of longer vectors are told.
fn long(near: f64) -> f64 {
    (SHORT * near.sqrt()).clamp(SHORTEST[0], SHORTEST[1])
}

/// The coordinate of a direction, and its reach, from what is left of a vector and the coordinate of that.
#[inline(always)]
fn direction(left: f64, coordinate: f64, long: f64) -> (f64, f64) {
    match left < long {
        true => (0.0, f64::INFINITY),
        false => (coordinate / left, 1.0 / left),
    }
}

/// A vector of length one that is in no way special.
fn coordinate<const N: usize>() -> [f64; N] {
    let vector: [f64; N] = std::array::from_fn(|i| 1.0 + (0.618_033_988_749_894_9 * (i + 1) as f64).fract());
    scaled(vector)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What two unit vectors leave of the third.
    fn off<const N: usize>(third: &[f64; N], v: &[f64; N], w: &[f64; N]) -> f64 {
        let beside = scaled(without(*w, &[*v]));
        let rest = without(*third, &[*v, beside]);
        dot(&rest, &rest).sqrt()
    }

    proptest! {
        #[test]
        fn a_pair_leaves_what_is_beside_its_plane(
            (v, w, third) in (
                proptest::array::uniform5(-1.0..1.0f64),
                proptest::array::uniform5(-1.0..1.0f64),
                proptest::array::uniform5(-1.0..1.0f64),
            ),
        ) {
            let (v, w) = (scaled(v), scaled(w));
            let square = dot(&third, &third);
            let along = (dot(&third, &v), dot(&third, &w));
            let (left, lost) = left_by(dot(&v, &w), along, square).unwrap();
            prop_assert!((left - square * off(&scaled(third), &v, &w).powi(2)).abs() <= 10.0 * lost * square);
            prop_assert_eq!(left_by(1.0, (along.0, along.0), square), None);
        }

        /// None that a look at all pairs finds is left out, be they far apart or nearly one.
        #[test]
        fn every_pair_that_lies_in_one_plane_with_the_third_is_visited(
            vectors in proptest::collection::vec(proptest::array::uniform5(-1.0..1.0f64), 3..100),
            (a, b, beside) in (0.1..2.0f64, -2.0..2.0f64, 0.0..0.9f64),
            alike in proptest::sample::select(vec![1.0, 1e-2]),
            near in proptest::sample::select(vec![1e-12, 1e-9, 1e-6, 1e-3, 0.1, 0.5]),
        ) {
            // Vectors that are much alike, as the factors of a parameter are, where little of each is its own.
            let of = |v: &[f64; 5]| scaled(std::array::from_fn(|i| 1.0 + alike * v[i]));
            let units: Vec<(usize, [f64; 5])> = vectors.iter().map(of).enumerate().collect();
            let plane: [f64; 5] = scaled(std::array::from_fn(|i| a * units[0].1[i] + b * units[1].1[i]));
            let third = scaled(std::array::from_fn(|i| plane[i] + beside * near * units[2].1[i]));
            let directions = Directions::new(&third, &units, near);
            let (mut before, mut beside) = (Vec::new(), Vec::new());
            for i in 0..units.len() {
                directions.before(i, &mut before);
                directions.beside(&directions, i, &mut beside);
                prop_assert!(before.is_sorted() && before.iter().all(|j| *j < i));
                for j in (0..units.len()).filter(|j| *j != i) {
                    let is_near = off(&third, &units[i].1, &units[j].1) <= 0.99 * near;
                    prop_assert!(!is_near || beside.contains(&j) && (j > i || before.contains(&j)), "{i} {j}");
                }
            }
        }

        /// The same beside one more vector.
        #[test]
        fn every_triple_that_lies_in_one_space_with_the_third_is_visited(
            vectors in proptest::collection::vec(proptest::array::uniform6(-1.0..1.0f64), 4..100),
            (a, b, c) in (0.1..2.0f64, -2.0..2.0f64, 0.1..2.0f64),
            near in proptest::sample::select(vec![1e-10, 1e-7, 1e-4]),
        ) {
            let units: Vec<(usize, [f64; 6])> = vectors.iter().map(|v| scaled(*v)).enumerate().collect();
            let third: [f64; 6] =
                scaled(std::array::from_fn(|i| a * units[0].1[i] + b * units[1].1[i] + c * units[2].1[i]));
            let outer = Outer::new(&third, &units[0].1);
            let directions = Family::new(6, &third, &units).beside(&outer, 1e-5, near);
            let mut beside = Vec::new();
            directions.before(2, &mut beside);
            prop_assert!(beside.contains(&1));
            directions.only(&[1, 2]).beside(&directions, 1, &mut beside);
            prop_assert!(beside.contains(&1));
            // The outer one is in the space that is taken out.
            directions.beside(&directions, 0, &mut beside);
            prop_assert_eq!(beside, Vec::<usize>::new());
        }
    }
}
