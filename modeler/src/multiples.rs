//! Loops that run `round(c f(x))` times with any factor c, as `for i in 0..(0.37 * n^1.5)`: where each of them depends on one
//! parameter, their trips are known to the last one, and f with them.
//!
//! Along a parameter a count that holds one such loop is `A + B H(x)`, where H are its trips and A and B are whole and
//! depend on the other parameters. Differences between the values of the parameter no longer hold A, and are multiples
//! of each other along all lines: divided by their common divisor they are the differences of H. A function f is
//! possible if some line `a + c f` comes within half a trip of them everywhere, whichever way bounds are rounded. That
//! is decided exactly: by the alternation theorem a line comes as near to some points as it comes to the three
//! that it misses most. Where several functions are possible, as for loops of some fifty trips, nothing is known.

use crate::axis::{Axis, Candidate, MOST_VALUES, Vector};
use crate::line;

/// How far rounding puts trips off a multiple of f, and what double precision adds.
const HALF_A_TRIP: f64 = 0.5 + 1e-6;
/// What a bound of unknown scale adds to the complexity of its factor.
const SCALE: f64 = 0.3;
/// Whole numbers beyond are not exact in double precision.
const MOST: f64 = 9_007_199_254_740_992.0;

/// The loop that a count holds along `axis`, given its lines along it, where a single function is possible.
pub(crate) fn bound(axis: &Axis, lines: &[Vector]) -> Option<Candidate> {
    let trips = differences(axis.size, lines)?;
    let most = trips.iter().fold(0.0_f64, |m, v| m.max(*v));
    if !line::is_no_accident(axis.size.saturating_sub(2), most.max(1.0).ln(), axis.candidates.len() as f64) {
        return None;
    }
    let first = first_trips(axis.size, lines, &trips);
    let mut possible = axis.candidates.iter().filter_map(|candidate| rounded(candidate, &trips, first));
    let single = possible.next()?;
    possible.next().is_none().then_some(single)
}

/// What is between the trips at each value and those at the first, in the smallest whole numbers: `None` where the lines
/// differ by more than a factor and a constant, or do not rise.
fn differences(size: usize, lines: &[Vector]) -> Option<Vec<f64>> {
    let is_whole = |line: &Vector| line.iter().all(|v| v.fract() == 0.0 && v.abs() < MOST);
    if !lines.iter().all(is_whole) {
        return None;
    }
    let rises: Vec<Vec<i128>> =
        lines.iter().map(|line| line[..size].iter().map(|v| (v - line[0]) as i128).collect()).collect();
    let longest = rises.iter().max_by_key(|rise| rise[size - 1])?;
    let divisor = longest.iter().fold(0, |a, b| common_divisor(a, *b));
    let is_multiple = |rise: &Vec<i128>| (1..size).all(|i| rise[i] * longest[size - 1] == longest[i] * rise[size - 1]);
    let ascends = longest.windows(2).all(|w| w[0] <= w[1]);
    (divisor > 0 && ascends && rises.iter().all(is_multiple))
        .then(|| longest.iter().map(|v| (v / divisor) as f64).collect())
}

/// The most trips that there can be at the first value, since what is outside the loop is no less than nothing.
fn first_trips(size: usize, lines: &[Vector], trips: &[f64]) -> f64 {
    let per_trip = |line: &Vector| (line[size - 1] - line[0]) / trips[size - 1];
    let most = |line: &Vector| line[0] / per_trip(line);
    lines.iter().filter(|line| per_trip(line) > 0.0).map(most).fold(f64::INFINITY, f64::min)
}

/// The loop whose trips are multiples of `candidate`, differ by `trips` and are at most `first` at the first value, if
/// there can be one.
fn rounded(candidate: &Candidate, trips: &[f64], first: f64) -> Option<Candidate> {
    let f = &candidate.values[..trips.len()];
    let factor = candidate.factor?;
    if !f.windows(2).all(|w| w[0] < w[1]) {
        return None;
    }
    let (least, most) = possible_at_first(f, trips)?;
    if first < least - HALF_A_TRIP {
        return None;
    }
    // As many trips as possible: what is done around the loop is little.
    let at_first = most.min(first).max(least).round();
    let scales = |off: f64| f.iter().zip(trips).map(move |(f, t)| (at_first + t + off) / f).filter(|c| c.is_finite());
    let lowest = scales(-HALF_A_TRIP).fold(f64::NEG_INFINITY, f64::max);
    let highest = scales(HALF_A_TRIP).fold(f64::INFINITY, f64::min);
    let mut values: Vector = [0.0; MOST_VALUES];
    values.iter_mut().zip(trips).for_each(|(v, t)| *v = at_first + t);
    let (scale, price) = (0.5 * (lowest + highest), candidate.price + SCALE);
    (scale > 0.0).then_some(Candidate { factor: Some(factor), values, scale, price, plain: true, rounded: true })
}

/// The least and the most trips at the first value of all multiples `c f` that come within half a trip of them and of `trips`
/// more everywhere: `None` if there are none.
fn possible_at_first(f: &[f64], trips: &[f64]) -> Option<(f64, f64)> {
    let n = f.len();
    for k in 2..n {
        for j in 1..k {
            for i in 0..j {
                let share = (f[j] - f[i]) / (f[k] - f[i]);
                let off = trips[j] - trips[i] - share * (trips[k] - trips[i]);
                if 0.5 * off.abs() > HALF_A_TRIP {
                    return None;
                }
            }
        }
    }
    // The corners of what is possible lie where two of the conditions hold just so.
    let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
    for j in 1..n {
        for i in 0..j {
            for off in [HALF_A_TRIP, -HALF_A_TRIP] {
                let (low, high) = (trips[i] - off, trips[j] + off);
                let c = (high - low) / (f[j] - f[i]);
                let a = c * f[i] - low;
                let fits = |(f, t): (&f64, &f64)| (c * f - a - t).abs() <= HALF_A_TRIP + 1e-12 * t.abs();
                if c > 0.0 && f.iter().zip(trips).all(fits) {
                    (least, most) = (least.min(a), most.max(a));
                }
            }
        }
    }
    (least <= most).then_some((least, most))
}

fn common_divisor(a: i128, b: i128) -> i128 {
    if b == 0 { a.abs() } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Rounding;
    use crate::model::Exponent;
    use crate::options::ExponentSets;
    use crate::separable::Grid;

    const N: [f64; 5] = [8000.0, 16000.0, 24000.0, 32000.0, 40000.0];

    fn axis() -> Axis {
        let points: Vec<[f64; 1]> = N.map(|n| [n]).to_vec();
        let views: Vec<&[f64]> = points.iter().map(|x| x.as_slice()).collect();
        Axis::new(&views, 0, &ExponentSets::default(), Rounding::None).unwrap()
    }

    fn line(value: impl Fn(f64) -> f64) -> Vector {
        std::array::from_fn(|i| N.get(i).map_or(0.0, |n| value(*n)))
    }

    fn trips(n: f64) -> f64 {
        (4.14e-8 * n.powf(1.75) * n.log2().powi(2)).round()
    }

    #[test]
    fn the_trips_of_a_loop_tell_its_function() {
        let lines = [3.0, 7.0].map(|outer| line(|n| 3.0 + outer * (2.0 + trips(n))));
        let found = bound(&axis(), &lines).unwrap();
        let factor = found.factor.unwrap();
        assert_eq!((factor.exponent, factor.log_exponent), (Exponent::new(7, 4), 2));
        assert!((found.scale / 4.14e-8 - 1.0).abs() < 1e-2, "{}", found.scale);
        // 47 trips at n = 8000, and two blocks more around the loop.
        assert_eq!(found.values[4] - found.values[0], trips(N[4]) - trips(N[0]));
        assert!((found.values[0] - trips(N[0])).abs() <= 2.0);
    }

    #[test]
    fn a_few_trips_more_or_less_are_no_multiple() {
        let is_so = |c: &Candidate| c.factor.is_some_and(|f| f.exponent == Exponent::new(7, 4) && f.log_exponent == 2);
        for odd in &N[1..] {
            let off = line(|n| trips(n) + if n == *odd { 6.0 } else { 0.0 });
            assert!(!bound(&axis(), &[off]).as_ref().is_some_and(is_so), "value at {odd}");
        }
    }

    /// 42, 85, 128, 170 and 212 trips: `round(0.0053125 n)` is within half a trip of each, too.
    #[test]
    fn where_two_functions_are_possible_neither_is_known() {
        let trips = |n: f64| (1.89e-4 * n.powf(0.8) * n.log2().powi(2)).round();
        assert!(N.iter().all(|&n| (trips(n) - 0.0053125 * n).abs() < 0.5 + 1e-9));
        assert!(bound(&axis(), &[line(trips)]).is_none());
        let ten_times = |n: f64| (1.89e-3 * n.powf(0.8) * n.log2().powi(2)).round();
        let known = bound(&axis(), &[line(ten_times)]).unwrap().factor.unwrap();
        assert_eq!((known.exponent, known.log_exponent), (Exponent::new(4, 5), 2));
    }

    #[test]
    fn few_trips_and_lines_of_two_loops_tell_nothing() {
        assert!(bound(&axis(), &[line(|n| (n / 8000.0).powi(2))]).is_none());
        let two = [1.0, 2.0].map(|outer| line(|n| trips(n) + outer * n.sqrt().floor()));
        assert!(bound(&axis(), &two).is_none());
        assert!(bound(&axis(), &[line(|n| trips(n) + 0.5)]).is_none());
    }

    /// `3 + log2(p) (2 + round(c n^(7/4) log2(n)^2))`, the outer loop's own blocks included.
    #[test]
    fn a_nest_of_any_scale_is_found_whole() {
        let p = [8.0, 16.0, 32.0, 64.0, 128.0_f64];
        let points: Vec<[f64; 2]> = p.iter().flat_map(|&p| N.map(|n| [p, n])).collect();
        let views: Vec<&[f64]> = points.iter().map(|x| x.as_slice()).collect();
        let y: Vec<f64> = points.iter().map(|x| 3.0 + x[0].log2() * (2.0 + trips(x[1]))).collect();
        let grid = Grid::new(&views, &[0, 1], &ExponentSets::default()).unwrap();
        let (constant, terms) = grid.function(&y).expect("a function");
        assert!((constant - 3.0).abs() < 1e-6, "{constant} {terms:?}");
        let largest = terms.iter().max_by_key(|t| t.0.len()).unwrap();
        let shape: Vec<_> = largest.0.iter().map(|f| (f.parameter, f.exponent, f.log_exponent)).collect();
        assert_eq!(shape, [(0, Exponent::new(0, 1), 1), (1, Exponent::new(7, 4), 2)]);
        assert!((largest.1 / 4.14e-8 - 1.0).abs() < 1e-2, "{terms:?}");
        assert!(terms.len() <= 2, "{terms:?}");
    }
}
