//! Explains a count of one parameter exactly: the smallest sum of candidates that gives all its values.
//!
//! Blocks of code are executed a whole number of times per iteration, so a sum with whole, non-negative coefficients is
//! taken before one without, even where the latter has a term fewer: with few values, only that tells many sums apart.

use crate::axis::{Axis, Candidate, Vector, dot, length, orthonormal, product, scaled, without};
use crate::effort::common_step;
use crate::linear::{least_squares, residual};

/// Relative residual of an exact sum at every value.
const EXACT: f64 = 1e-8;
/// Square of what three candidates and the constant may leave before the sum is looked at closely.
const NEARLY: f64 = 1e-10;
/// Candidates closer than this to the span of others are not told apart from it.
const INDEPENDENT: f64 = 1e-5;
/// By so many nats a sum must be less likely to be an accident than there are sums.
const CERTAINTY: f64 = 7.0;
/// Coefficients of short sums are small next to this.
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

/// The search for one count.
struct Search<'a> {
    axis: &'a Axis,
    /// Weights of the values.
    weights: Vector,
    /// The weighted values.
    data: Vector,
    /// The best sum with whole coefficients.
    whole: Option<Line>,
    /// The best other one.
    other: Option<Line>,
    /// Logarithm of the number of steps that the values span: how unlikely it is that a sum meets one by chance.
    span: f64,
    /// How many sums were tried.
    tried: f64,
}

/// The smallest sum of candidates that gives `y`, one value per value of the parameter: of at most one candidate and the
/// constant at the least effort, two, the constant and two, and the constant and three at the most, [`MOST_EFFORT`].
pub(crate) fn explain(axis: &Axis, y: &[f64], effort: usize) -> Option<Line> {
    let mut values: Vector = Default::default();
    values[..y.len()].copy_from_slice(y);
    let largest = y.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let mut weights: Vector = Default::default();
    weights[..y.len()].iter_mut().zip(y).for_each(|(w, v)| *w = 1.0 / v.abs().max(1e-6 * largest));
    let data = product(&values, &weights);
    let span = span(y);
    let mut search = Search { axis, weights, data, whole: None, other: None, span, tried: 1.0 };
    search.one();
    let steps = [Search::constant_and_one, Search::two, Search::constant_and_two, Search::constant_and_three];
    for step in steps.into_iter().take(effort + 1) {
        if search.whole.is_some() {
            break;
        }
        step(&mut search);
    }
    search.whole.or(search.other)
}

/// Whether so many conditions that sums of so many meet cannot be met by chance, where values have this [`span`].
pub(crate) fn is_no_accident(conditions: usize, span: f64, tried: f64) -> bool {
    conditions as f64 * span > tried.ln() + CERTAINTY
}

/// Logarithm of the number of different values that there may be between the smallest and the largest.
pub(crate) fn span(y: &[f64]) -> f64 {
    let (low, high) = y.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
    // Values of few digits are whole numbers in a smaller unit.
    let unit =
        (0..7).map(|digits| 10_f64.powi(digits)).find(|u| y.iter().all(|v| ((v * u).round() - v * u).abs() < 1e-6));
    let step = unit.map_or(0.0, |u| common_step(y.iter().map(|v| (v * u).round())) / u);
    let steps = if step > 0.0 { (high - low) / step } else { 1.0 / EXACT };
    steps.max(1.0).ln()
}

impl Search<'_> {
    /// Whether so many candidates that give all values cannot do so by chance.
    fn is_no_accident(&self, candidates: usize) -> bool {
        is_no_accident(self.axis.size.saturating_sub(candidates), self.span, self.tried)
    }

    fn weighted(&self, k: usize) -> Vector {
        product(&self.axis.candidates[k].values, &self.weights)
    }

    /// Keeps the sum of these candidates if it gives all values and none better is known.
    fn offer(&mut self, chosen: &[usize]) {
        let price: f64 = chosen.iter().map(|&k| 1.0 + self.axis.candidates[k].price).sum();
        let is_better =
            |known: &Option<Line>| known.as_ref().is_none_or(|k| (chosen.len(), price) < (k.chosen.len(), k.price));
        if !is_better(&self.whole) && !is_better(&self.other) {
            return;
        }
        let size = self.axis.size;
        let columns: Vec<Vec<f64>> = chosen.iter().map(|&k| self.weighted(k)[..size].to_vec()).collect();
        let c = least_squares(&columns, &self.data[..size]);
        if !residual(&columns, &self.data[..size], &c).iter().all(|r| r.abs() < EXACT) {
            return;
        }
        let line = Line { chosen: chosen.to_vec(), price };
        let is_whole = c.iter().all(|c| !is_odd(*c) && *c < MOST_BLOCKS);
        if is_whole && is_better(&self.whole) {
            self.whole = Some(line);
        } else if chosen.len() + 2 <= size && self.is_no_accident(chosen.len()) && is_better(&self.other) {
            self.other = Some(line);
        }
    }

    fn one(&mut self) {
        self.tried = self.axis.candidates.len() as f64;
        let unit = scaled(self.data);
        for k in 0..self.axis.candidates.len() {
            if length(&without(unit, &[scaled(self.weighted(k))])) < EXACT {
                self.offer(&[k]);
            }
        }
    }

    /// Candidates with `basis` taken out, of length one; only single loops of whole trips if `plain`.
    fn remaining(&self, basis: &[Vector], plain: bool) -> Vec<(usize, Vector)> {
        let is_wanted = |c: &Candidate| !plain || c.plain && c.values.iter().all(|v| v.fract() == 0.0);
        let wanted = (1..self.axis.candidates.len()).filter(|&k| is_wanted(&self.axis.candidates[k]));
        let rest = wanted.map(|k| (k, without(scaled(self.weighted(k)), basis)));
        rest.filter(|(_, v)| length(v) > INDEPENDENT).map(|(k, v)| (k, scaled(v))).collect()
    }

    fn constant_and_one(&mut self) {
        let constant = orthonormal(&[self.weighted(0)]);
        let rest = self.remaining(&constant, false);
        let data = scaled(without(self.data, &constant));
        for (k, v) in &rest {
            if 1.0 - dot(&data, v).abs() < NEARLY {
                self.offer(&[0, *k]);
            }
        }
    }

    fn two(&mut self) {
        self.pairs(&[], &self.remaining(&[], false));
    }

    fn constant_and_two(&mut self) {
        let constant = orthonormal(&[self.weighted(0)]);
        self.pairs(&[0], &self.remaining(&constant, false));
    }

    /// Pairs that, with the candidates `with`, give the values.
    fn pairs(&mut self, with: &[usize], rest: &[(usize, Vector)]) {
        if with.len() + 3 > self.axis.size {
            return;
        }
        let basis = orthonormal(&with.iter().map(|&k| self.weighted(k)).collect::<Vec<_>>());
        let data = scaled(without(self.data, &basis));
        let along: Vec<f64> = rest.iter().map(|(_, v)| dot(&data, v)).collect();
        self.tried = 0.5 * (rest.len() as f64).powi(2);
        for j in 1..rest.len() {
            for i in 0..j {
                let cosine = dot(&rest[i].1, &rest[j].1);
                let sine_squared = 1.0 - cosine * cosine;
                let second = along[j] - cosine * along[i];
                let left = 1.0 - along[i] * along[i] - second * second / sine_squared;
                if left < NEARLY && sine_squared > INDEPENDENT * INDEPENDENT {
                    let chosen: Vec<usize> = with.iter().copied().chain([rest[i].0, rest[j].0]).collect();
                    self.offer(&chosen);
                }
            }
        }
    }

    /// The constant and three single loops: four unknowns, so that only whole numbers tell sums apart.
    fn constant_and_three(&mut self) {
        if self.axis.size < 5 {
            return;
        }
        let constant = orthonormal(&[self.weighted(0)]);
        let rest = self.remaining(&constant, true);
        let data = scaled(without(self.data, &constant));
        for i in 0..rest.len() {
            let left = without(data, &[rest[i].1]);
            let others: Vec<(usize, Vector)> = rest[i + 1..]
                .iter()
                .map(|(k, v)| (*k, without(*v, &[rest[i].1])))
                .filter(|(_, v)| length(v) > INDEPENDENT)
                .map(|(k, v)| (k, scaled(v)))
                .collect();
            let size = dot(&left, &left);
            let along: Vec<f64> = others.iter().map(|(_, v)| dot(&left, v)).collect();
            for j in 1..others.len() {
                for l in 0..j {
                    let cosine = dot(&others[l].1, &others[j].1);
                    let sine_squared = 1.0 - cosine * cosine;
                    let second = along[j] - cosine * along[l];
                    let rest_square = size - along[l] * along[l] - second * second / sine_squared;
                    if rest_square < NEARLY * size && sine_squared > INDEPENDENT * INDEPENDENT {
                        self.offer(&[0, rest[i].0, others[l].0, others[j].0]);
                    }
                }
            }
        }
    }
}
