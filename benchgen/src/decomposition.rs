//! How the ranks of a wavefront stand to each other: p as a plane or a cuboid, and what a sweep over it counts.

use num_rational::Ratio;
use serde::{Deserialize, Serialize};

use crate::complexity::{Factor, Term};

/// Largest relative departure of the sum of the extents from that of a perfect square or cube.
pub const LOPSIDED: f64 = 0.1;

/// The extents of p ranks in a number of dimensions, largest first: of all products that make p the one with the
/// smallest sum, since a sweep takes so many stages, less the dimensions and more one. `MPI_Dims_create` wants "as close
/// to each other as possible", which for most p is the same.
#[must_use]
pub fn extents(ranks: u64, dimensions: u8) -> Vec<u64> {
    match dimensions {
        0 | 1 => vec![ranks],
        _ => {
            let power = u32::from(dimensions);
            let divisors = (1..=ranks).take_while(|x| x.checked_pow(power).is_some_and(|x| x <= ranks));
            let splits = divisors.filter(|x| ranks.is_multiple_of(*x)).map(|x| {
                let mut all = extents(ranks / x, dimensions - 1);
                all.push(x);
                all
            });
            splits.min_by_key(|all| all.iter().sum::<u64>()).unwrap_or_default()
        }
    }
}

/// What one sweep counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Quantity {
    /// Messages that all ranks send together: the sum of p · (extent - 1) / extent over the dimensions.
    Messages,
    /// Stages between the first and the last rank: the sum of extent - 1 over the dimensions.
    Depth,
}

/// A number of which a sweep over p ranks consists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// Dimensions of the decomposition.
    pub dimensions: u8,
    /// What is counted.
    pub quantity: Quantity,
}

impl Sweep {
    /// The number for so many ranks.
    #[must_use]
    pub fn exact_at(self, ranks: u64) -> u64 {
        let extents = extents(ranks, self.dimensions).into_iter();
        match self.quantity {
            Quantity::Messages => extents.map(|x| ranks / x.max(1) * (x - 1)).sum(),
            Quantity::Depth => extents.map(|x| x - 1).sum(),
        }
    }

    /// The number where p is a perfect square or cube, as two terms: d·p - d·p^(1 - 1/d) or d·p^(1/d) - d.
    #[must_use]
    pub fn smooth(self) -> [Term; 2] {
        let d = i32::from(self.dimensions);
        let term = |sign: i32, exponent: Ratio<i32>| {
            let factor = Factor { parameter: "p".to_owned(), exponent, log_exponent: 0 };
            let factors = if exponent == Ratio::from_integer(0) { Vec::new() } else { vec![factor] };
            Term { coefficient: f64::from(sign * d), factors }
        };
        match self.quantity {
            Quantity::Messages => [term(1, Ratio::from_integer(1)), term(-1, Ratio::new(d - 1, d))],
            Quantity::Depth => [term(1, Ratio::new(1, d)), term(-1, Ratio::from_integer(0))],
        }
    }
}

/// The share by which the sum of the extents departs from that of a perfect square or cube, d·p^(1/d).
#[must_use]
pub fn lopsidedness(ranks: f64, dimensions: u8) -> f64 {
    let sum: u64 = extents(ranks as u64, dimensions).iter().sum();
    sum as f64 / (f64::from(dimensions) * ranks.powf(f64::from(dimensions).recip())) - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_by_hand() {
        for (ranks, plane, cuboid) in [
            (1, vec![1, 1], vec![1, 1, 1]),
            (2, vec![2, 1], vec![2, 1, 1]),
            (7, vec![7, 1], vec![7, 1, 1]),
            (12, vec![4, 3], vec![3, 2, 2]),
            (27, vec![9, 3], vec![3, 3, 3]),
            (128, vec![16, 8], vec![8, 4, 4]),
            (4096, vec![64, 64], vec![16, 16, 16]),
            // 36 = 4·3·3, not 6·6·1.
            (36, vec![6, 6], vec![4, 3, 3]),
        ] {
            assert_eq!((extents(ranks, 2), extents(ranks, 3)), (plane, cuboid));
        }
    }

    #[test]
    fn no_factorisation_has_a_smaller_sum() {
        for ranks in 1..400_u64 {
            let divisors = || (1..=ranks).filter(move |x| ranks.is_multiple_of(*x));
            let pairs = divisors().flat_map(|x| divisors().map(move |y| (x, y)));
            let least = pairs.filter(|(x, y)| ranks.is_multiple_of(x * y)).map(|(x, y)| x + y + ranks / x / y).min();
            assert_eq!(extents(ranks, 3).iter().sum::<u64>(), least.unwrap(), "{ranks}");
            assert_eq!(extents(ranks, 3).iter().product::<u64>(), ranks);
        }
    }

    #[test]
    fn sweeps_by_counting_ranks_and_links() {
        for ranks in [1, 6, 8, 30, 64] {
            for dimensions in [2, 3] {
                let extents = extents(ranks, dimensions);
                let place = |rank: u64| {
                    extents.iter().scan(rank, |rest, x| {
                        let coordinate = *rest % x;
                        *rest /= x;
                        Some(coordinate)
                    })
                };
                let links = |rank| place(rank).zip(&extents).filter(|(at, x)| at + 1 < **x).count() as u64;
                let sweep = |quantity| Sweep { dimensions, quantity }.exact_at(ranks);
                assert_eq!(sweep(Quantity::Messages), (0..ranks).map(links).sum::<u64>());
                assert_eq!(sweep(Quantity::Depth), (0..ranks).map(|rank| place(rank).sum::<u64>()).max().unwrap());
            }
        }
    }

    #[test]
    fn cubes_and_squares_are_what_the_smooth_form_says() {
        for (ranks, dimensions) in [(64.0, 3), (4096.0, 3), (49.0, 2), (4096.0, 2)] {
            let at = crate::Point::from([("p".to_owned(), ranks)]);
            for quantity in [Quantity::Messages, Quantity::Depth] {
                let sweep = Sweep { dimensions, quantity };
                let smooth: f64 = sweep.smooth().iter().map(|term| term.at(&at).unwrap()).sum();
                assert!((smooth - sweep.exact_at(ranks as u64) as f64).abs() < 1e-6 * smooth, "{sweep:?} {ranks}");
            }
            assert!(lopsidedness(ranks, dimensions).abs() < 1e-9);
        }
        // Powers of two are near enough, primes are not.
        for power in 1..13 {
            assert!((0.0..LOPSIDED).contains(&lopsidedness(f64::from(1 << power), 3)), "{power}");
            assert!((-1e-9..LOPSIDED).contains(&lopsidedness(f64::from(1 << power), 2)), "{power}");
        }
        assert!(lopsidedness(5.0, 2) > 0.3 && lopsidedness(2000.0, 2) < LOPSIDED);
    }
}
