//! Sums whose loop bounds hold several parameters at once and were rounded as a whole, as `floor(n / p)` and the nests over
//! such a share are: no product of rounded factors has their values.
//!
//! Sums that come near a count are tried with each of their terms rounded in the ways in which programs round bounds. Where
//! every value then agrees exactly, with coefficients that are whole numbers of blocks or simple ratios, that is how the
//! count came about: rounding is far from smooth, and no other sum has the same irregularities.

use std::collections::HashMap;

use crate::library::{Rounding, Shape};
use crate::linear::{least_squares, residual};
use crate::model::{Exponent, Factor};

/// The ways of rounding that are tried; one holds for all terms of a sum.
const ROUNDINGS: [Rounding; 3] = [Rounding::Floor, Rounding::Ceiling, Rounding::Nearest];
/// How many combinations of its terms' ways are tried of a sum.
const MOST_COMBINATIONS: usize = 128;
/// Edges of shares in so many dimensions are tried: `floor(n / p^(1/3))^3` is a share's volume.
const DIMENSIONS: [i32; 2] = [2, 3];
/// How many points each coefficient needs to be no accident, and how many there must be beside.
const POINTS_PER_COEFFICIENT: usize = 2;
const SPARE_POINTS: usize = 5;
/// Coefficients are multiples of one over this: blocks per trip, or their mean over two, three, four … ranks.
const PARTS: f64 = 24.0;
/// Relative precision of what linear equations in double precision give.
const PRECISION: f64 = 1e-8;
/// Whole numbers beyond are not exact in double precision.
const MOST: f64 = 9_007_199_254_740_992.0;

/// A count, and the points at which it was taken.
struct Target<'a> {
    y: &'a [f64],
    /// The largest absolute value.
    largest: f64,
    /// Where the smallest one is, which tells the constant best.
    smallest: usize,
}

/// The constant and the terms of the first of `sums` that gives the count `y` at `points` exactly, if one does. Costs add, so
/// coefficients are positive.
pub(crate) fn exact(y: &[f64], points: &[&[f64]], sums: &[Vec<Shape>]) -> Option<(f64, Vec<(Shape, f64)>)> {
    if !y.iter().all(|v| v.fract() == 0.0 && v.abs() <= MOST) {
        return None;
    }
    let smallest = (0..y.len()).min_by(|&a, &b| y[a].abs().total_cmp(&y[b].abs()))?;
    let target = Target { y, largest: y.iter().fold(0.0_f64, |m, v| m.max(v.abs())), smallest };
    let mut known: HashMap<(Rounding, &Shape), Vec<Vec<f64>>> = HashMap::new();
    let determined = |sum: &&Vec<Shape>| POINTS_PER_COEFFICIENT * (sum.len() + 1) + SPARE_POINTS <= y.len();
    for sum in sums.iter().filter(determined) {
        for rounding in ROUNDINGS {
            for shape in sum {
                known.entry((rounding, shape)).or_insert_with(|| columns(shape, points, rounding));
            }
            let ways: Vec<&Vec<Vec<f64>>> = sum.iter().map(|shape| &known[&(rounding, shape)]).collect();
            let combinations: usize = ways.iter().map(|way| way.len()).product();
            for mut number in 0..combinations.min(MOST_COMBINATIONS) {
                // The last term, the most complicated one, is rounded in all its ways first.
                let mut chosen = vec![&[][..]; ways.len()];
                for (column, way) in chosen.iter_mut().zip(&ways).rev() {
                    *column = way[number % way.len()].as_slice();
                    number /= way.len();
                }
                if let Some((constant, coefficients)) = target.agreement(&chosen) {
                    return Some((constant, sum.iter().cloned().zip(coefficients).collect()));
                }
            }
        }
    }
    None
}

/// The different values that a term may have at the points, by the way in which its bounds were rounded.
fn columns(shape: &Shape, points: &[&[f64]], rounding: Rounding) -> Vec<Vec<f64>> {
    let mut columns: Vec<Vec<f64>> = Vec::new();
    let mut push = |way: &dyn Fn(&[f64]) -> f64| {
        let column: Vec<f64> = points.iter().map(|x| way(x)).collect();
        let is_new = !columns.iter().any(|c| c.iter().zip(&column).all(|(a, b)| (a - b).abs() <= 1e-12 * a.abs()));
        if is_new && column.iter().all(|v| v.is_finite()) {
            columns.push(column);
        }
    };
    let power = |f: &Factor, x: &[f64]| Factor { log_exponent: 0, ..*f }.at(x[f.parameter]);
    let powers = move |x: &[f64]| shape.iter().map(|f| power(f, x)).product::<f64>();
    // Logarithms are loops of their own.
    let loops = move |x: &[f64]| {
        shape.iter().map(|f| rounding.apply(x[f.parameter].log2()).powi(f.log_exponent)).product::<f64>()
    };
    let apart = move |f: &Factor, x: &[f64]| rounding.apply(power(f, x));
    let at = move |x: &[f64]| shape.iter().map(|f| f.at(x[f.parameter])).product::<f64>();
    push(&at);
    push(&|x| rounding.apply(at(x)));
    push(&|x| rounding.apply(powers(x)) * loops(x));
    for dimension in DIMENSIONS {
        let edge = move |x: &[f64]| rounding.apply(powers(x).powf(1.0 / f64::from(dimension)));
        push(&|x| edge(x).powi(dimension) * loops(x));
    }
    let zero = Exponent::from_integer(0);
    match shape.iter().filter(|f| f.exponent < zero).collect::<Vec<_>>()[..] {
        [] => push(&|x| shape.iter().map(|f| apart(f, x)).product::<f64>() * loops(x)),
        // A share of one parameter's values, and loops over all of them.
        [by] => {
            for of in shape.iter().filter(|f| f.exponent >= -by.exponent) {
                let share = move |x: &[f64]| {
                    let size = x[of.parameter] / x[by.parameter];
                    let part = Factor { exponent: -by.exponent, log_exponent: 0, ..*of };
                    match part.exponent.is_integer() {
                        true => rounding.apply(size).powi(*part.exponent.numer()),
                        false => rounding.apply(part.at(size)),
                    }
                };
                let rest = Factor { exponent: of.exponent + by.exponent, ..*of };
                let others = move |x: &[f64]| {
                    let others = shape.iter().filter(|f| f.parameter != of.parameter && f.parameter != by.parameter);
                    others.map(|f| apart(f, x)).product::<f64>()
                };
                push(&|x| share(x) * apart(&rest, x) * others(x) * loops(x));
            }
        }
        _ => {}
    }
    columns
}

impl Target<'_> {
    /// The constant and the positive coefficients with which the `columns` add up to the count everywhere. A few points tell them,
    /// and the rest must agree.
    fn agreement(&self, columns: &[&[f64]]) -> Option<(f64, Vec<f64>)> {
        let points = self.y.len();
        let sample = (POINTS_PER_COEFFICIENT * (columns.len() + 1) + SPARE_POINTS).min(points);
        let sampled = |values: &[f64]| (0..sample).map(|k| values[k * points / sample]).collect::<Vec<f64>>();
        let (mut few, y) = (vec![vec![1.0; sample]], sampled(self.y));
        few.extend(columns.iter().map(|column| sampled(column)));
        let solution = least_squares(&few, &y);
        if residual(&few, &y, &solution).iter().any(|r| r.abs() > PRECISION * self.largest) {
            return None;
        }
        let part = |c: f64| (PARTS * c).round() / PARTS;
        let coefficients: Vec<f64> = solution[1..].iter().map(|c| part(*c)).collect();
        // How exactly a coefficient is told depends on its term's share.
        let is_part = |((c, solved), column): ((&f64, &f64), &&[f64])| {
            let largest = column.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
            *c > 0.0 && (c - solved).abs() * largest <= PRECISION * self.largest.max(c * largest)
        };
        if !coefficients.iter().zip(&solution[1..]).zip(columns).all(is_part) {
            return None;
        }
        let terms = |i: usize| coefficients.iter().zip(columns).map(|(c, column)| c * column[i]).sum::<f64>();
        let constant = part(self.y[self.smallest] - terms(self.smallest));
        let precision = |y: f64| (0.25 / PARTS).max(8.0 * f64::EPSILON * y.abs());
        let agrees = (0..points).all(|i| (constant + terms(i) - self.y[i]).abs() <= precision(self.y[i]));
        agrees.then_some((constant, coefficients))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shapes n/p and √n, and the grid of 3 x 4 points and more.
    fn shapes() -> (Vec<Shape>, Vec<[f64; 2]>) {
        let factor = |parameter, numerator: i32, denominator: i32| Factor {
            parameter,
            exponent: Exponent::new(numerator, denominator),
            log_exponent: 0,
        };
        let points = [3.0, 5.0, 7.0].iter().flat_map(|&p| [100.0, 130.0, 170.0, 220.0].map(|n| [p, n])).collect();
        (vec![vec![factor(0, -1, 1), factor(1, 1, 1)], vec![factor(1, 1, 2)]], points)
    }

    #[test]
    fn a_count_that_is_off_by_one_somewhere_is_not_explained() {
        let (shapes, points) = shapes();
        let points: Vec<&[f64]> = points.iter().map(|x| x.as_slice()).collect();
        let mut y: Vec<f64> =
            points.iter().map(|x| 3.0 + 7.0 * (x[1] / x[0]).floor() + 2.0 * x[1].sqrt().floor()).collect();
        let sums = [vec![shapes[0].clone()], shapes.clone()];
        let found = exact(&y, &points, &sums).expect("the second sum");
        assert_eq!(found, (3.0, vec![(shapes[0].clone(), 7.0), (shapes[1].clone(), 2.0)]));
        assert_eq!(exact(&y, &points, &sums[..1]), None);
        assert_eq!(exact(&y[..10], &points[..10], &sums), None, "two terms and the constant need eleven points");
        for i in 0..y.len() {
            y[i] += 1.0;
            assert_eq!(exact(&y, &points, &sums), None, "value {i}");
            y[i] -= 1.0;
        }
    }

    #[test]
    fn terms_that_a_program_cannot_take_off_or_execute_in_part_are_no_explanation() {
        let (shapes, _) = shapes();
        // The shares are multiples of five.
        let points: Vec<[f64; 2]> =
            [3.0, 5.0, 7.0].iter().flat_map(|&p| [1.0, 2.0, 3.0, 5.0].map(|k| [p, 5.0 * p * k + 1.0])).collect();
        let points: Vec<&[f64]> = points.iter().map(|x| x.as_slice()).collect();
        let count =
            |factor: f64| points.iter().map(|x| (1e3 + factor * (x[1] / x[0]).floor()).round()).collect::<Vec<f64>>();
        let sums = [vec![shapes[0].clone()]];
        assert_eq!(exact(&count(7.0), &points, &sums), Some((1e3, vec![(shapes[0].clone(), 7.0)])));
        assert_eq!(exact(&count(-7.0), &points, &sums), None);
        assert_eq!(exact(&count(0.2), &points, &sums), None, "a fifth of a block");
    }

    /// Counts are large, and what is done once is small.
    #[test]
    fn small_constants_beside_large_counts_are_kept() {
        let (shapes, points) = shapes();
        let points: Vec<[f64; 2]> = points.iter().map(|x| [x[0], 1e5 * x[1] + 1.0]).collect();
        let points: Vec<&[f64]> = points.iter().map(|x| x.as_slice()).collect();
        let nest = vec![shapes[0][0], Factor { exponent: 2.into(), ..shapes[0][1] }];
        let y: Vec<f64> = points.iter().map(|x| 3.0 + x[1] * (x[1] / x[0]).floor()).collect();
        assert!(y.iter().all(|v| *v > 1e13));
        assert_eq!(exact(&y, &points, &[vec![nest.clone()]]), Some((3.0, vec![(nest, 1.0)])));
    }
}
