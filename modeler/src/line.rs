//! Explains a count of one parameter exactly: the smallest sum of candidates that gives all its values.
//!
//! Blocks of code are executed a whole number of times per iteration, so a sum with whole, non-negative coefficients is
//! taken before one without, even where the latter has a term fewer: with few values, only that tells many sums apart.

use crate::axis::{Axis, INDEPENDENT, MOST_VALUES, USUAL_VALUES, dot, length, orthonormal, product, scaled, without};
use crate::coplanar::{Directions, Family, Outer, left_by};
use crate::effort::common_step;
use crate::linear::{least_squares, residual};

/// Relative residual of an exact sum at every value.
const EXACT: f64 = 1e-8;
/// The same of one with whole coefficients.
const WHOLE: f64 = 1e-13;
/// Directions of what is nearly all taken out are told no better: of candidates [`INDEPENDENT`] of the constant so much is arithmetic.
const TOLD: f64 = 1e-10;
/// Candidates of the longest sum.
const LONGEST: usize = 4;
/// Square of what three candidates and the constant may leave before the sum is looked at closely.
const NEARLY: f64 = 1e-10;
/// By so many nats a sum must be less likely to be an accident than there are sums.
const CERTAINTY: f64 = 7.0;
/// The same for the constant and three candidates. A simple function and what rounding adds to it, a few steps per value,
/// is told in about as many nats more than such a sum.
const LONG_CERTAINTY: f64 = 25.0;
/// Coefficients of sums of several candidates are small next to this: of so many sums one has large ones by chance. One candidate,
/// alone or with the constant, gives no values by chance, however much it is multiplied by.
const MOST_BLOCKS: f64 = 1e6;

/// The search goes no further than this.
pub(crate) const MOST_EFFORT: usize = 3;

/// A sum of candidates.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    /// Indices of the axis's candidates.
    pub chosen: Vec<usize>,
    /// How complicated they are together.
    pub price: f64,
}

/// Whether a coefficient is no whole, non-negative number of blocks.
pub(crate) fn is_odd(c: f64) -> bool {
    c < 0.0 || (c - c.round()).abs() > 1e-5 * c.abs()
}

/// The search for one count, in vectors of length N.
struct Search<'a, const N: usize> {
    axis: &'a Axis,
    /// Weights of the values.
    weights: [f64; N],
    /// The weighted values.
    data: [f64; N],
    /// The best sum with whole coefficients.
    whole: Option<Line>,
    /// The best other one.
    other: Option<Line>,
    /// Steps per unit: the values differ by whole numbers of steps; one where they do not.
    per_step: f64,
    /// Logarithm of the number of steps that the values span: how unlikely it is that a sum meets one by chance.
    span: f64,
    /// How many sums were tried.
    tried: f64,
    /// The first that gave all values, be it by accident.
    given: Option<Vec<usize>>,
}

/// The smallest sum of candidates that gives `y`, one value per value of the parameter: of at most one candidate and the
/// constant at the least effort, two, the constant and two, and the constant and three at the most, [`MOST_EFFORT`].
pub(crate) fn explain(axis: &Axis, y: &[f64], effort: usize) -> Option<Line> {
    match axis.size <= USUAL_VALUES {
        true => Search::<USUAL_VALUES>::new(axis, y).explain(effort),
        false => Search::<MOST_VALUES>::new(axis, y).explain(effort),
    }
}

/// The candidates of the smallest sum of the constant and two at most that gives `y`, be it by accident: of few values from lines through
/// others. To learn that there is none costs a third of what it does with [`explain`].
pub(crate) fn given(axis: &Axis, y: &[f64]) -> Option<Vec<usize>> {
    match axis.size <= USUAL_VALUES {
        true => Search::<USUAL_VALUES>::new(axis, y).given(),
        false => Search::<MOST_VALUES>::new(axis, y).given(),
    }
}

impl<'a, const N: usize> Search<'a, N> {
    fn new(axis: &'a Axis, y: &[f64]) -> Self {
        let mut values = [0.0; N];
        values[..y.len()].copy_from_slice(y);
        let largest = y.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let mut weights = [0.0; N];
        weights[..y.len()].iter_mut().zip(y).for_each(|(w, v)| *w = 1.0 / v.abs().max(1e-6 * largest));
        let data = product(&values, &weights);
        let span = span(y);
        let (low, high) = range(y);
        let per_step = if high > low { span.exp() / (high - low) } else { 1.0 };
        Self { axis, weights, data, whole: None, other: None, per_step, span, tried: 1.0, given: None }
    }
}

/// Whether so many conditions that sums of so many meet cannot be met by chance, where values have this [`span`].
pub(crate) fn is_no_accident(conditions: usize, span: f64, tried: f64) -> bool {
    conditions as f64 * span > tried.ln() + CERTAINTY
}

fn range(y: &[f64]) -> (f64, f64) {
    y.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)))
}

/// Logarithm of the number of different values that there may be between the smallest and the largest.
pub(crate) fn span(y: &[f64]) -> f64 {
    let (low, high) = range(y);
    // Values of few digits are whole numbers in a smaller unit.
    let is_whole = |v: f64| (v.round() - v).abs() < 1e-6 && (v == 0.0 || v.round() != 0.0);
    let unit = (0..7).map(|digits| 10_f64.powi(digits)).find(|u| y.iter().all(|v| is_whole(v * u)));
    let step = unit.map_or(0.0, |u| common_step(y.iter().map(|v| (v * u).round())) / u);
    let step = if step > 0.0 { step } else { step_as_told(y) };
    ((high - low) / step).max(1.0).ln()
}

/// No [`span`] of values with such a range is larger, where they are not whole.
pub(crate) fn most_span(y: &[f64]) -> f64 {
    let (low, high) = range(y);
    ((high - low) / least_step(y)).max(1.0).ln()
}

/// What no exact sum is off.
fn least_step(y: &[f64]) -> f64 {
    EXACT * y.iter().fold(0.0_f64, |most, v| most.max(v.abs()))
}

/// The greatest common divisor of all differences between these values, as far as it is told.
fn step_as_told(y: &[f64]) -> f64 {
    let least = least_step(y);
    let step = y.iter().fold(0.0, |step, v| {
        let (mut a, mut b) = ((v - y[0]).abs(), step);
        while b > least {
            (a, b) = (b, a % b);
        }
        a
    });
    step.max(least)
}

impl<const N: usize> Search<'_, N> {
    fn explain(mut self, effort: usize) -> Option<Line> {
        self.one();
        let steps = [Self::constant_and_one, Self::two, Self::constant_and_two, Self::constant_and_three];
        for step in steps.into_iter().take(effort + 1) {
            if self.whole.is_some() {
                break;
            }
            step(&mut self);
        }
        self.polynomial();
        self.whole.or(self.other)
    }

    fn given(mut self) -> Option<Vec<usize>> {
        let steps = [Self::one, Self::constant_and_one, Self::two, Self::constant_and_two];
        steps.into_iter().find_map(|step| {
            step(&mut self);
            self.given.take()
        })
    }

    /// Whether so many candidates that give all values cannot do so by chance.
    fn is_no_accident(&self, candidates: usize) -> bool {
        is_no_accident(self.axis.size.saturating_sub(candidates), self.span, self.tried)
    }

    fn weighted(&self, k: usize) -> [f64; N] {
        std::array::from_fn(|i| self.axis.candidates[k].values[i] * self.weights[i])
    }

    /// Keeps the sum of these candidates if it gives all values and none better is known.
    fn offer(&mut self, chosen: &[usize]) {
        let price: f64 = chosen.iter().map(|&k| 1.0 + self.axis.candidates[k].price).sum();
        let is_better =
            |known: &Option<Line>| known.as_ref().is_none_or(|k| (chosen.len(), price) < (k.chosen.len(), k.price));
        if !is_better(&self.whole) && !is_better(&self.other) {
            return;
        }
        // Enough to reject nearly all.
        let basis = orthonormal(&chosen.iter().map(|&k| self.weighted(k)).collect::<Vec<_>>());
        if without(self.data, &basis).iter().any(|r| r.abs() > 2.0 * EXACT) {
            return;
        }
        let size = self.axis.size;
        let columns: Vec<Vec<f64>> = chosen.iter().map(|&k| self.weighted(k)[..size].to_vec()).collect();
        let mut c = least_squares(&columns, &self.data[..size]);
        let left = residual(&columns, &self.data[..size], &c);
        if !left.iter().all(|r| r.abs() < EXACT) {
            return;
        }
        self.given.get_or_insert_with(|| chosen.to_vec());
        // Refined once, coefficients of terms that are small beside others are whole numbers where they should be.
        let correction = least_squares(&columns, &left);
        c.iter_mut().zip(correction).for_each(|(c, d)| *c += d);
        let line = Line { chosen: chosen.to_vec(), price };
        if is_better(&self.whole) && self.is_whole(chosen, &c) {
            if self.is_shorter_than_the_data(&c) {
                self.whole = Some(line);
            }
        } else if chosen.len() + 2 <= self.conditions(chosen)
            && self.is_no_accident(chosen.len())
            && is_better(&self.other)
        {
            self.other = Some(line);
        }
    }

    /// How many of the values the candidates could miss: a zero that all of them have is none.
    fn conditions(&self, chosen: &[usize]) -> usize {
        let is_any = |i: &usize| chosen.iter().any(|&k| self.axis.candidates[k].values[*i] != 0.0);
        (0..self.axis.size).filter(is_any).count()
    }

    /// Whether it takes less to say which long sum it is, and its coefficients, than to say the values: small values, such
    /// as those of a rounded message of a few bytes, are given by some sum of the constant and three candidates by chance.
    fn is_shorter_than_the_data(&self, c: &[f64]) -> bool {
        let coefficients: f64 = c.iter().map(|c| (c.abs() * self.per_step).ln_1p()).sum();
        c.len() <= 3 || self.axis.size as f64 * self.span > self.tried.ln() + coefficients + LONG_CERTAINTY
    }

    /// Whether these coefficients are whole numbers of blocks that give the values without any rest.
    fn is_whole(&self, chosen: &[usize], c: &[f64]) -> bool {
        let most = if chosen.iter().filter(|&&k| k > 0).count() > 1 { MOST_BLOCKS } else { f64::INFINITY };
        let is_near = |c: &f64| (-1e-2..most).contains(c) && (c - c.round()).abs() < 1e-2;
        let sum = |i: usize| -> f64 {
            chosen.iter().zip(c).map(|(&k, c)| c.round() * self.axis.candidates[k].values[i]).sum()
        };
        let gives = |i: usize| (self.weights[i] * sum(i) - self.data[i]).abs() < WHOLE;
        c.iter().all(is_near) && (0..self.axis.size).all(gives)
    }

    /// The square lengths of the weighted candidates.
    fn squares(&self) -> Vec<f64> {
        self.axis.squares(&self.weights)
    }

    fn one(&mut self) {
        self.tried = self.axis.candidates.len() as f64;
        let along = self.axis.along(&product(&scaled(self.data), &self.weights));
        for (k, (along, square)) in along.iter().zip(self.squares()).enumerate() {
            // Enough to reject nearly all; the others are looked at closely.
            if along * along > (1.0 - NEARLY) * square {
                self.offer(&[k]);
            }
        }
    }

    /// Candidates other than the constant, with `basis` taken out, of length one.
    fn remaining(&self, basis: &[[f64; N]]) -> Vec<(usize, [f64; N])> {
        let rest = (1..self.axis.candidates.len()).map(|k| (k, without(scaled(self.weighted(k)), basis)));
        rest.filter(|(_, v)| length(v) > INDEPENDENT).map(|(k, v)| (k, scaled(v))).collect()
    }

    fn constant_and_one(&mut self) {
        let constant = orthonormal(&[self.weighted(0)]);
        let data = scaled(without(self.data, &constant));
        let along = |vector: &[f64; N]| self.axis.along(&product(vector, &self.weights));
        let (of_constant, of_data) = (along(&constant[0]), along(&data));
        for (k, square) in self.squares().into_iter().enumerate().skip(1) {
            let rest = square - of_constant[k] * of_constant[k];
            // Rounding may leave a little more here than in the sums that are looked at closely.
            if of_data[k] * of_data[k] > (1.0 - NEARLY.sqrt()) * rest && rest > NEARLY * square {
                self.offer(&[0, k]);
            }
        }
    }

    /// How far sums that are off all values by this share at most may be from these weighted ones, in their lengths.
    fn near(&self, data: &[f64; N], off: f64) -> f64 {
        off * (self.axis.size as f64).sqrt() / length(data).max(f64::MIN_POSITIVE)
    }

    fn two(&mut self) {
        self.pairs(&[], &self.remaining(&[]));
    }

    fn constant_and_two(&mut self) {
        let constant = orthonormal(&[self.weighted(0)]);
        self.pairs(&[0], &self.remaining(&constant));
    }

    /// Two of the extents of a domain, with the constant or alone, in the place of a rounded bound: few trips of a loop, rounded, are given by more
    /// than one function, and the faces and edges of a domain are more common in programs than a loop of `n^(9/5)` trips.
    fn polynomial(&mut self) {
        let Some(known) = &self.whole else { return };
        if !known.chosen.iter().any(|&k| self.axis.candidates[k].rounded) {
            return;
        }
        let powers: Vec<usize> =
            (1..self.axis.candidates.len()).filter(|&k| self.axis.candidates[k].is_extent()).collect();
        let rounded = self.whole.take();
        self.tried = (powers.len() * powers.len().saturating_sub(1) / 2) as f64;
        for (i, &second) in powers.iter().enumerate() {
            for &first in &powers[..i] {
                for chosen in [&[first, second][..], &[0, first, second]] {
                    if chosen.len() + 2 <= self.axis.size && self.is_no_accident(chosen.len()) {
                        self.offer(chosen);
                    }
                }
            }
        }
        self.whole = self.whole.take().or(rounded);
    }

    /// Pairs that, with the candidates `with`, give the values.
    fn pairs(&mut self, with: &[usize], rest: &[(usize, [f64; N])]) {
        if with.len() + 3 > self.axis.size {
            return;
        }
        let basis = orthonormal(&with.iter().map(|&k| self.weighted(k)).collect::<Vec<_>>());
        let data = without(self.data, &basis);
        let near = self.near(&data, EXACT);
        let data = scaled(data);
        let along: Vec<f64> = rest.iter().map(|(_, v)| dot(&data, v)).collect();
        self.tried = 0.5 * (rest.len() as f64).powi(2);
        let directions = Directions::new(&data, rest, near);
        let mut beside: Vec<usize> = Vec::new();
        for j in 1..rest.len() {
            // The simplest first.
            directions.before(j, &mut beside);
            for &i in &beside {
                let pair = left_by(dot(&rest[i].1, &rest[j].1), (along[i], along[j]), 1.0);
                if pair.is_some_and(|(left, lost)| left < NEARLY.min(2.0 * near * near + lost)) {
                    let chosen: Vec<usize> = with.iter().copied().chain([rest[i].0, rest[j].0]).collect();
                    self.offer(&chosen);
                }
            }
        }
    }

    /// The constant and three loops, all single or one inside another: four unknowns, so that only whole numbers tell
    /// sums apart.
    fn constant_and_three(&mut self) {
        if self.axis.size < 5 {
            return;
        }
        let constant = orthonormal(&[self.weighted(0)]);
        let data = without(self.data, &constant);
        // Fewer values than these tell none of other coefficients.
        let off = if self.axis.size < LONGEST + 2 { WHOLE } else { EXACT };
        let near = self.near(&data, off).max(TOLD);
        let data = scaled(data);
        let rest = self.remaining(&constant);
        let at = |k: &usize| rest.binary_search_by_key(k, |(k, _)| *k).ok();
        let nests = self.axis.nests();
        let plain: Vec<usize> = nests.iter().filter_map(|(k, _)| at(k)).collect();
        let counted: Vec<usize> = (0..rest.len()).filter(|&i| self.axis.candidates[rest[i].0].is_counted()).collect();
        self.tried = (plain.len().pow(2) * rest.len()) as f64 / 2.0;
        let family = Family::new(self.axis.size, &data, &rest);
        let (mut beside, mut pairs): (Vec<usize>, Vec<(usize, usize)>) = Default::default();
        for (loops, inner) in nests {
            let Some(outermost) = at(loops) else { continue };
            let outer = Outer::new(&data, &rest[outermost].1);
            let directions = family.beside(&outer, INDEPENDENT, near / outer.left());
            let more = &plain[plain.partition_point(|i| *i <= outermost)..];
            let of_more = directions.only(more);
            for second in 1..more.len() {
                of_more.before(second, &mut beside);
                pairs.extend(beside.iter().map(|&first| (more[first], more[second])));
            }
            self.third(outermost, &data, &rest, &mut pairs);
            if inner.is_empty() {
                continue;
            }
            let of_counted = directions.only(&counted);
            for first in inner.iter().filter_map(at) {
                of_counted.beside(&directions, first, &mut beside);
                pairs.extend(beside.iter().map(|&i| (first, counted[i])).filter(|(first, second)| first != second));
            }
            self.third(outermost, &data, &rest, &mut pairs);
        }
    }

    /// Offers those of the pairs of candidates that nearly span, with the constant and the candidate at `outer`, the data beside the constant.
    fn third(
        &mut self,
        outer: usize,
        data: &[f64; N],
        candidates: &[(usize, [f64; N])],
        pairs: &mut Vec<(usize, usize)>,
    ) {
        let (outer, unit) = candidates[outer];
        let left = without(*data, &[unit]);
        let size = dot(&left, &left);
        let free = |at: usize| scaled(without(candidates[at].1, &[unit]));
        // The simplest first.
        pairs.sort_unstable();
        for (first, second) in pairs.drain(..) {
            let (v, w) = (free(first), free(second));
            let pair = left_by(dot(&v, &w), (dot(&left, &v), dot(&left, &w)), size);
            if pair.is_some_and(|(left, _)| left < NEARLY * size) {
                self.offer(&[0, outer, candidates[first].0, candidates[second].0]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Rounding;
    use crate::options::ExponentSets;

    /// The bytes that a rank of LULESH sends in 240 messages: faces, edges and corners of cubes of 4 to 12 elements a side. They are also
    /// 9120 + 2880 times n^(9/5), rounded to the nearest whole number.
    #[test]
    fn a_polynomial_comes_before_a_rounded_power_that_gives_the_same_values() {
        let n = [4.0, 6.0, 8.0, 10.0, 12.0_f64];
        let bytes = n.map(|n| 1440.0 * n * n + 4320.0 * n + 3360.0);
        assert_eq!(bytes, n.map(|n| 9120.0 + 2880.0 * n.powf(1.8).round()));
        let points = n.map(|n| [n]);
        let points: Vec<&[f64]> = points.iter().map(|x| x.as_slice()).collect();
        let axis = Axis::new(&points, 0, &ExponentSets::default(), Rounding::Nearest).unwrap();
        let shape = |line: &Line| -> Vec<(f64, i32)> {
            let factors = line.chosen.iter().filter_map(|&k| axis.candidates[k].factor);
            factors.map(|f| (f64::from(*f.exponent.numer()) / f64::from(*f.exponent.denom()), f.log_exponent)).collect()
        };
        assert_eq!(shape(&explain(&axis, &bytes, MOST_EFFORT).unwrap()), [(1.0, 0), (2.0, 0)]);
        // A rounded loop that no polynomial gives stays one.
        let loops = n.map(|n| 7.0 + 3.0 * n.powf(1.5).round());
        assert_eq!(shape(&explain(&axis, &loops, MOST_EFFORT).unwrap()), [(1.5, 0)]);
    }

    /// Times of few nanoseconds in seconds are multiples of a tenth of one as those of few seconds are of a tenth of a second.
    #[test]
    fn values_close_to_zero_are_told_apart() {
        let p = [2.0, 4.0, 8.0, 16.0, 32.0_f64];
        let points = p.map(|p| [p]);
        let points: Vec<&[f64]> = points.iter().map(|x| x.as_slice()).collect();
        let axis = Axis::new(&points, 0, &ExponentSets::default(), Rounding::None).unwrap();
        for unit in [1.0, 1e-9, 1e-30] {
            let values = p.map(|p| unit * (0.7 * p + 0.3 * p.log2()));
            assert!((span(&values) - 222_f64.ln()).abs() < 1e-6, "{unit}: {}", span(&values));
            let chosen = explain(&axis, &values, MOST_EFFORT).map(|line| line.chosen);
            assert_eq!(
                chosen,
                explain(&axis, &p.map(|p| 0.7 * p + 0.3 * p.log2()), MOST_EFFORT).map(|line| line.chosen)
            );
            assert!(chosen.is_some());
        }
    }

    #[test]
    fn values_are_told_apart_as_far_as_exact_sums_are() {
        // No common step: as many as the arithmetic tells, be they in whatever unit.
        for unit in [1.0, 1.0 / 3.0, 1e-9] {
            let values = [2.0, 3.0, 5.0, 7.0_f64].map(|v| unit * v.sqrt());
            let most = ((7.0_f64.sqrt() - 2.0_f64.sqrt()) / (EXACT * 7.0_f64.sqrt())).ln();
            assert!(span(&values) <= most && span(&values) > most - 5.0, "{unit}: {} {most}", span(&values));
        }
        // Noise that is hardly more than that tells next to nothing, and values that are alike nothing.
        assert!(span(&[10.0, 10.0 + 2.3e-7, 10.0 + 1.1e-7]) < 2.4_f64.ln());
        assert_eq!((span(&[10.0; 3]), span(&[0.0; 3])), (0.0, 0.0));
    }
}
