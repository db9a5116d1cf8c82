//! Pairs of vectors that lie in one plane with a third, without a look at all pairs.
//!
//! Two vectors and the third lie in one plane where what the third leaves of them has the same direction. So the vectors are sorted by one
//! coordinate of that direction, and only neighbours are compared.

use crate::axis::{dot, scaled, without};

/// Vectors of which little is left are compared with all others: their directions are not told as well. It is so many times the root of what tells
/// directions apart, where no direction is told any more, within these bounds.
const SHORT: f64 = 10.0;
const SHORTEST: [f64; 2] = [1e-5, 0.1];
/// The ends of two directions are farther apart than the sine of the acute angle between them, by no more than this.
const FARTHER: f64 = std::f64::consts::SQRT_2;

/// What a vector, and perhaps another one, leave of unit vectors.
#[derive(Debug)]
pub(crate) struct Directions {
    /// How near the third vector may be to a plane.
    near: f64,
    /// What is left of those that are sorted.
    long: f64,
    /// Of those of which much is left, ascending: a coordinate of the direction without its sign, how much is left, and which vector it is.
    sorted: Vec<(f64, f64, u32)>,
    /// The others.
    short: Vec<u32>,
    /// By vector: which share of it is left, and the coordinate.
    left: Vec<(f64, f64)>,
}

impl Directions {
    /// What `third` leaves of `vectors`, all of length one. Planes are looked for that it may be as `near` as this.
    pub fn new<const N: usize>(third: &[f64; N], vectors: &[(usize, [f64; N])], near: f64) -> Self {
        let along = coordinate::<N>();
        let of_third = dot(third, &along);
        let left_of = |(_, vector): &(usize, [f64; N])| {
            let cosine = dot(vector, third);
            let left = (1.0 - cosine * cosine).max(0.0).sqrt();
            (left, ((dot(vector, &along) - cosine * of_third) / left.max(f64::MIN_POSITIVE)).abs())
        };
        Self::sorted(vectors.iter().map(left_of).collect(), near)
    }

    fn sorted(left: Vec<(f64, f64)>, near: f64) -> Self {
        let long = (SHORT * near.sqrt()).clamp(SHORTEST[0], SHORTEST[1]);
        let (mut sorted, mut short) = (Vec::with_capacity(left.len()), Vec::new());
        for (i, (left, coordinate)) in left.iter().enumerate() {
            match *left >= long {
                true => sorted.push((*coordinate, *left, i as u32)),
                false => short.push(i as u32),
            }
        }
        sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.2.cmp(&b.2)));
        Self { near, long, sorted, short, left }
    }

    /// Calls `visit` with each vector of these that spans with vector `i` a plane which the third one may be that near, in no order.
    pub fn each_beside(&self, i: usize, visit: impl FnMut(usize)) {
        self.each_near(self.left[i], visit);
    }

    fn each_near(&self, (left, coordinate): (f64, f64), mut visit: impl FnMut(usize)) {
        self.short.iter().for_each(|&j| visit(j as usize));
        if left < self.long {
            self.sorted.iter().for_each(|&(.., j)| visit(j as usize));
            return;
        }
        // The area between two directions is at most the third's distance from the plane over what is left of both.
        let far = FARTHER * self.near / left;
        let first = self.sorted.partition_point(|(at, ..)| *at < coordinate - far / self.long);
        for &(at, other, j) in &self.sorted[first..] {
            if at > coordinate + far / self.long {
                break;
            }
            if (at - coordinate).abs() * other <= far {
                visit(j as usize);
            }
        }
    }
}

/// Vectors that are compared beside one after the other of some more, with the same third vector.
#[derive(Debug)]
pub(crate) struct Family<const N: usize> {
    /// What the third vector leaves of each.
    rests: Vec<[f64; N]>,
    /// Its square length, and its coordinate.
    squares: Vec<(f64, f64)>,
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

impl<const N: usize> Family<N> {
    /// All of length one.
    pub fn new(third: &[f64; N], vectors: &[(usize, [f64; N])]) -> Self {
        let rests: Vec<[f64; N]> = vectors.iter().map(|(_, vector)| without(*vector, &[*third])).collect();
        let along = coordinate();
        let squares = rests.iter().map(|rest| (dot(rest, rest), dot(rest, &along))).collect();
        Self { rests, squares }
    }

    /// Calls `visit` with pairs of one of `firsts` and one of `seconds`, of the `vectors` that the family was made of, that span with `outer` a space
    /// which the third vector may be as `near` as this, as a share of what `outer` leaves of it; in no order. Vectors that `outer` contains to
    /// within `contained` are left out.
    pub fn each_pair(
        &self,
        (outer, contained, near): (&Outer<N>, f64, f64),
        vectors: &[(usize, [f64; N])],
        [firsts, seconds]: [&[usize]; 2],
        mut visit: impl FnMut(usize, usize),
    ) {
        let left = |i: usize| {
            let cosine = dot(&vectors[i].1, &outer.vector);
            let own = 1.0 - cosine * cosine;
            let along = dot(&self.rests[i], &outer.rest);
            let (square, coordinate) = self.squares[i];
            let left = (square - along * along).max(0.0);
            let coordinate = (coordinate - along * outer.coordinate).abs() / left.sqrt().max(f64::MIN_POSITIVE);
            (own > contained * contained).then(|| ((left / own).sqrt(), coordinate))
        };
        let (which, of_firsts): (Vec<usize>, Vec<(f64, f64)>) =
            firsts.iter().filter_map(|&i| Some((i, left(i)?))).unzip();
        let of_firsts = Directions::sorted(of_firsts, near);
        for &second in seconds {
            if let Some(left) = left(second) {
                of_firsts.each_near(left, |first| {
                    if which[first] != second {
                        visit(which[first], second);
                    }
                });
            }
        }
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
        /// None that a look at all pairs finds is left out, be they far apart or nearly one.
        #[test]
        fn every_pair_that_lies_in_one_plane_with_the_third_is_visited(
            vectors in proptest::collection::vec(proptest::array::uniform5(-1.0..1.0f64), 3..12),
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
            for i in 0..units.len() {
                let mut visited = Vec::new();
                directions.each_beside(i, |j| visited.push(j));
                for j in (0..units.len()).filter(|j| *j != i) {
                    let is_near = off(&third, &units[i].1, &units[j].1) <= 0.99 * near;
                    prop_assert!(!is_near || visited.contains(&j), "{i} {j}");
                }
            }
        }

        /// The same beside one more vector.
        #[test]
        fn every_triple_that_lies_in_one_space_with_the_third_is_visited(
            vectors in proptest::collection::vec(proptest::array::uniform6(-1.0..1.0f64), 4..10),
            (a, b, c) in (0.1..2.0f64, -2.0..2.0f64, 0.1..2.0f64),
            near in proptest::sample::select(vec![1e-10, 1e-7, 1e-4]),
        ) {
            let units: Vec<(usize, [f64; 6])> = vectors.iter().map(|v| scaled(*v)).enumerate().collect();
            let third: [f64; 6] =
                scaled(std::array::from_fn(|i| a * units[0].1[i] + b * units[1].1[i] + c * units[2].1[i]));
            let outer = Outer::new(&third, &units[0].1);
            let others: Vec<usize> = (1..units.len()).collect();
            let mut visited = Vec::new();
            Family::new(&third, &units).each_pair((&outer, 1e-5, near), &units, [&others, &others], |i, j| {
                visited.push((i, j));
            });
            prop_assert!(visited.contains(&(1, 2)) && visited.contains(&(2, 1)));
            prop_assert!(visited.iter().all(|(i, j)| i != j));
        }
    }
}
