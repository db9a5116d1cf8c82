//! What all call paths of an experiment together say about the noise of its times.
//!
//! Call paths of one experiment were measured in the same runs on the same machine. Twenty-five residuals hardly tell
//! a background of 4 % from one of 3 % with up to 10 % of interference; those of two hundred call paths do. Two
//! hypotheses compete: all call paths have the same noise, or each has its own out of a common distribution.

use crate::noise::{Noise, Tabulated};
use crate::noise_estimate::{
    Belief, Beliefs, DEFAULT, GRID, HOPELESS, NoiseEstimate, background_prior, estimate, estimate_of, evidences,
};
use std::borrow::Cow;
use std::sync::Arc;

/// Rounds of expectation and maximisation for the distribution over call paths: few, so that it stays near the default
/// where the residuals do not say otherwise.
const ROUNDS: usize = 5;
/// Own noise of each call path must explain the residuals better than the same noise of all by this much, in nats:
/// in any case, and per call path, since a free distribution follows chance too.
const PRICE_OF_DIFFERENCE: (f64, f64) = (6.0, 0.3);
/// Share of call paths whose noise may be anything even where all others have the same.
const STRANGERS: f64 = 0.02;
/// A call path is a stranger from these odds on; with 0.05 models were as accurate, and more call paths were strangers.
const STRANGE: f64 = 0.2;
/// Call paths' worth of default beliefs that the distribution over call paths starts from.
const DEFAULT_WEIGHT: f64 = 4.0;
/// Beliefs less probable than this share of the most probable one are dropped.
const NEGLIGIBLE: f64 = 1e-3;
/// The least that one call path's residuals say against a distribution, in nats below its best one.
const FLOOR: f64 = -HOPELESS;
/// Small one-sided noise looks much like background, and taking one for the other costs more where there is none: so
/// much better, in nats, must it explain the residuals of many call paths.
const CAUTION: f64 = 1.2;
/// From this many call paths on, more of them add no certainty: no pattern of noise is exactly a machine's.
const ENOUGH: f64 = 100.0;
/// From this many call paths on, range, background and share are refined between the values of the grid.
const REFINED_FROM: usize = 12;
/// Only distributions this close to the best, in nats, are refined.
const WORTH_REFINING: f64 = 12.0;
/// From this many pooled call paths on, only those whose residuals are less or more probable than those of all but this
/// share of the pooled ones are asked whether they are strangers: the question costs many times what a usual one's noise does.
const ASKED: (usize, f64) = (40, 0.01);
/// Up to this many call paths each sees the others only; beyond it one makes no difference to all.
const FEW: usize = 64;

/// The noise of an experiment's times.
#[derive(Debug, Default)]
pub(crate) struct NoisePool {
    /// By pooled series what the others say; then what all say. [`Beliefs::total`] before each.
    beliefs: Vec<(f64, Beliefs)>,
    /// Log evidence per residual that most pooled series have under what all say.
    usual: Option<(f64, f64)>,
}

impl NoisePool {
    /// Pools the residuals of some series: the logarithms of measured over fitted values.
    pub fn new(series: &[Vec<f64>]) -> Self {
        if series.is_empty() {
            return Self::default();
        }
        let mut pool = Pool { beliefs: Beliefs::of(GRID.beliefs.clone()), rows: rows_of(series, &DEFAULT) };
        if series.len() >= REFINED_FROM {
            pool.refine(series);
        }
        pool.normalise();
        let (own, rows) = (pool.distribution(), pool.with_strangers());
        let few = (0..series.len()).filter(|_| series.len() <= FEW).map(Some);
        let with_total = |beliefs: Beliefs| (beliefs.total(), beliefs);
        let beliefs: Vec<(f64, Beliefs)> =
            few.chain([None]).map(|i| with_total(pool.beliefs(&rows, i, &own))).collect();
        let usual = beliefs.last().filter(|_| series.len() >= ASKED.0).map(|(_, all)| usual_evidence(series, all));
        Self { beliefs, usual }
    }

    /// What to believe of the noise of a series with the residuals `logs`, which was pooled under that index if any;
    /// and what those residuals say under these beliefs, where that is known.
    pub fn beliefs(&self, pooled: Option<usize>, logs: &[f64]) -> (Cow<'_, Beliefs>, Option<NoiseEstimate>) {
        let Some(all) = self.beliefs.last() else { return (Cow::Borrowed(&DEFAULT), None) };
        let (total, known) = pooled.filter(|_| self.beliefs.len() > 1).map_or(all, |i| &self.beliefs[i]);
        let estimated = estimate_of(logs, known, *total);
        // Whether this one is a stranger among the call paths.
        if self.usual.is_some_and(|(low, high)| (low..=high).contains(&(estimated.evidence / logs.len() as f64))) {
            return (Cow::Borrowed(known), Some(estimated));
        }
        if !estimated.is_beaten_by((STRANGE / STRANGERS).ln(), logs) {
            return (Cow::Borrowed(known), Some(estimated));
        }
        (Cow::Owned(Beliefs { own: known.own.clone(), any: Some(STRANGERS.ln()) }), None)
    }
}

/// Between which values the log evidence per residual of most series lies under `beliefs`.
fn usual_evidence(series: &[Vec<f64>], beliefs: &Beliefs) -> (f64, f64) {
    let mut evidences: Vec<f64> =
        series.iter().map(|logs| estimate(logs, beliefs).evidence / logs.len() as f64).collect();
    evidences.sort_by(f64::total_cmp);
    // Of m values, the k-th smallest has k/(m+1) of further ones below it on average. The bounds lie between two values, so that
    // pooled ones are not on them.
    let tail = ((ASKED.1 * (evidences.len() + 1) as f64) as usize).max(1);
    let between = |at: usize| 0.5 * (evidences[at - 1] + evidences[at]);
    (between(tail), between(evidences.len() - tail))
}

/// Log evidence by series and belief.
fn rows_of(series: &[Vec<f64>], beliefs: &Beliefs) -> Vec<Vec<f64>> {
    let row = |logs: &Vec<f64>| {
        let mut row = vec![f64::NEG_INFINITY; beliefs.len()];
        evidences(logs, beliefs, HOPELESS, f64::NEG_INFINITY).iter().for_each(|e| row[e.belief] = e.log);
        row
    };
    series.iter().map(row).collect()
}

/// The evidence of some series under all beliefs.
struct Pool {
    beliefs: Beliefs,
    rows: Vec<Vec<f64>>,
}

impl Pool {
    /// Makes every row relative to its best entry.
    fn normalise(&mut self) {
        for row in &mut self.rows {
            let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            row.iter_mut().for_each(|e| *e = (*e - top).max(FLOOR));
        }
    }

    /// Log evidence by series and belief when a few series are strangers with any noise.
    fn with_strangers(&self) -> Vec<Vec<f64>> {
        let total = self.beliefs.total();
        let default: Vec<f64> = self.beliefs.own.iter().map(|b| (b.1 - total).exp()).collect();
        let of = |row: &Vec<f64>| {
            let any: f64 = row.iter().zip(&default).map(|(e, d)| e.exp() * d).sum();
            row.iter().map(|e| ((1.0 - STRANGERS) * e.exp() + STRANGERS * any).ln()).collect()
        };
        self.rows.iter().map(of).collect()
    }

    /// Log probability of each belief when all series but one and the strangers have the same noise.
    fn common(&self, rows: &[Vec<f64>], without: Option<usize>) -> Vec<f64> {
        let certainty = (ENOUGH / rows.len() as f64).min(1.0);
        let caution = |noise: &Noise| if noise.range == 0.0 { CAUTION * (1.0 - 1.0 / rows.len() as f64) } else { 0.0 };
        let mut sums: Vec<f64> = self.beliefs.own.iter().map(|b| b.1 + caution(&b.0.noise)).collect();
        for (_, row) in rows.iter().enumerate().filter(|(i, _)| Some(*i) != without) {
            sums.iter_mut().zip(row).for_each(|(s, e)| *s += certainty * e);
        }
        sums
    }

    /// Adds distributions between those of the grid that make all residuals most likely.
    fn refine(&mut self, series: &[Vec<f64>]) {
        let mut relative = Self { beliefs: self.beliefs.clone(), rows: self.rows.clone() };
        relative.normalise();
        let sums = relative.common(&relative.with_strangers(), None);
        let top = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut refined: Vec<(f64, Belief)> = Vec::new();
        let mut order: Vec<usize> = (0..sums.len()).filter(|&i| sums[i] > top - WORTH_REFINING).collect();
        order.sort_by(|a, b| sums[*b].total_cmp(&sums[*a]));
        for i in order {
            let (noise, prior) = &self.beliefs.own[i];
            let noise = noise.noise;
            let kind = |n: &Noise| (n.pattern, n.range == 0.0, n.disturbed.to_bits());
            if refined.iter().all(|(_, (known, _))| kind(&known.noise) != kind(&noise)) {
                let best = climb(series, noise);
                let prior = prior - background_prior(noise.sigma) + background_prior(best.sigma);
                refined.push((sums[i], (Arc::new(Tabulated::new(best)), prior)));
            }
        }
        let refined = Beliefs::of(refined.into_iter().map(|r| r.1).collect());
        for (row, more) in self.rows.iter_mut().zip(rows_of(series, &refined)) {
            row.extend(more);
        }
        self.beliefs.own.extend(refined.own);
    }

    /// The distribution of noise over call paths when each has its own: weights that make the residuals most likely.
    fn distribution(&self) -> Own {
        let total = self.beliefs.total();
        let default: Vec<f64> = self.beliefs.own.iter().map(|b| (b.1 - total).exp()).collect();
        let evidence: Vec<Vec<f64>> = self.rows.iter().map(|row| row.iter().map(|e| e.exp()).collect()).collect();
        let (mut weights, mut log_likelihood) = (default.clone(), 0.0);
        for _ in 0..ROUNDS {
            let mut next = vec![0.0; weights.len()];
            log_likelihood = 0.0;
            for row in &evidence {
                let probability: f64 = row.iter().zip(&weights).map(|(e, w)| e * w).sum();
                log_likelihood += probability.ln();
                next.iter_mut().zip(row.iter().zip(&weights)).for_each(|(n, (e, w))| *n += e * w / probability);
            }
            let count = evidence.len() as f64;
            weights = next.iter().map(|n| n / count).collect();
        }
        let count = evidence.len() as f64;
        let mix = |(w, d): (&f64, &f64)| (count * w + DEFAULT_WEIGHT * d) / (count + DEFAULT_WEIGHT);
        Own { weights: weights.iter().zip(&default).map(mix).collect(), log_likelihood }
    }

    /// What the series say of the noise of another one, or of one of them when its own residuals are left aside.
    fn beliefs(&self, rows: &[Vec<f64>], without: Option<usize>, own: &Own) -> Beliefs {
        let common = self.common(rows, without);
        let top = common.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let common: Vec<f64> = common.iter().map(|c| (c - top).exp()).collect();
        let total: f64 = common.iter().sum();
        let same = (0..self.beliefs.own.len())
            .map(|i| rows.iter().map(|row| row[i]).sum::<f64>())
            .fold(f64::NEG_INFINITY, f64::max);
        let price = PRICE_OF_DIFFERENCE.0 + PRICE_OF_DIFFERENCE.1 * rows.len() as f64;
        let differ = 1.0 / (1.0 + (price - (own.log_likelihood - same)).exp());
        let mix = |(c, o): (&f64, &f64)| (1.0 - differ) * c / total + differ * o;
        let weights: Vec<f64> = common.iter().zip(&own.weights).map(mix).collect();
        let most = weights.iter().copied().fold(0.0, f64::max);
        let kept = self.beliefs.own.iter().zip(&weights).filter(|(_, w)| **w > NEGLIGIBLE * most);
        Beliefs::of(kept.map(|(belief, w)| (Arc::clone(&belief.0), w.ln())).collect())
    }
}

/// A distribution of noise over call paths.
struct Own {
    /// By belief.
    weights: Vec<f64>,
    /// Log probability of all residuals under it.
    log_likelihood: f64,
}

/// The range, the background and the share of disturbed measurements near those of `noise` that make the residuals of all
/// series most likely: a search along each in turn, with steps that shrink.
fn climb(series: &[Vec<f64>], noise: Noise) -> Noise {
    let value = |noise: Noise| -> f64 {
        let beliefs = Beliefs::of(vec![(Arc::new(Tabulated::new(noise)), 0.0)]);
        rows_of(series, &beliefs).iter().map(|row| row[0]).sum::<f64>() + background_prior(noise.sigma)
    };
    // The share moves by its odds, so that all stay all; the grid has it the least fine, so its steps are the largest.
    let moves: [fn(&mut Noise, f64); 3] = [
        |noise, step| noise.range *= step.exp(),
        |noise, step| noise.sigma *= step.exp(),
        |Noise { disturbed, .. }, step| *disturbed /= *disturbed + (1.0 - *disturbed) * (-4.0 * step).exp(),
    ];
    let (mut best, mut here) = (noise, value(noise));
    for step in [0.15, 0.08, 0.04, 0.02_f64] {
        for (along, step) in moves.iter().flat_map(|along| [(along, step), (along, -step)]) {
            let mut there = best;
            along(&mut there, step);
            if there == best {
                continue;
            }
            let height = value(there);
            if height > here {
                (best, here) = (there, height);
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Pattern;
    use rand::{RngExt, SeedableRng, rngs::StdRng};
    use rand_distr::{Distribution, StandardNormal};

    /// Residuals of series with up to `range` of uniform noise and 3 % of background.
    fn series(rng: &mut StdRng, count: usize, range: f64) -> Vec<Vec<f64>> {
        let mut one = || {
            let z: f64 = StandardNormal.sample(rng);
            ((1.0 + range * rng.random::<f64>()) * (1.0 + 0.03 * z)).ln()
        };
        (0..count).map(|_| (0..25).map(|_| one()).collect()).collect()
    }

    /// Mean range of one-sided noise and mean background under these beliefs.
    fn means(beliefs: &Beliefs) -> (f64, f64) {
        let total = beliefs.total();
        let weighted =
            |value: fn(&Noise) -> f64| beliefs.own.iter().map(|b| (b.1 - total).exp() * value(&b.0.noise)).sum::<f64>();
        (weighted(|n| n.mean()), weighted(|n| n.sigma))
    }

    #[test]
    fn many_call_paths_tell_what_one_cannot() {
        let rng = &mut StdRng::seed_from_u64(7);
        for range in [0.0, 0.1, 0.45] {
            let pool = NoisePool::new(&series(rng, 120, range));
            let (mean, sigma) = means(&pool.beliefs(None, &series(rng, 1, range)[0]).0);
            assert!((mean - 0.5 * range).abs() < 0.012 + 0.02 * range, "{range}: {mean}");
            assert!((sigma - 0.03).abs() < 0.009, "{range}: {sigma}");
        }
    }

    /// Of a hundred pooled call paths one is disturbed; what is left of it when it is fitted again differs a little.
    #[test]
    fn a_pooled_call_path_unlike_the_others_is_a_stranger() {
        let rng = &mut StdRng::seed_from_u64(15);
        let mut all = series(rng, 99, 0.0);
        all.extend(series(rng, 1, 0.75));
        let pool = NoisePool::new(&all);
        for shift in [-0.01, 0.0, 0.01] {
            let again: Vec<f64> = all[99].iter().map(|log| log + shift).collect();
            assert!(pool.beliefs(Some(99), &again).0.any.is_some(), "{shift}");
        }
    }

    #[test]
    fn many_call_paths_tell_the_share_that_is_disturbed() {
        let rng = &mut StdRng::seed_from_u64(12);
        let (mut all, undisturbed) = (series(rng, 120, 0.5), series(rng, 120, 0.0));
        for (logs, quiet) in all.iter_mut().zip(undisturbed) {
            for (log, quiet) in logs.iter_mut().zip(quiet) {
                if rng.random_bool(0.35) {
                    *log = quiet;
                }
            }
        }
        let pool = NoisePool::new(&all);
        let beliefs = &pool.beliefs.last().unwrap().1;
        let total = beliefs.total();
        let share: f64 = beliefs.own.iter().map(|b| (b.1 - total).exp() * b.0.noise.disturbed).sum();
        let mean = means(beliefs).0;
        assert!((share - 0.65).abs() < 0.07, "{share}");
        assert!((mean - 0.65 * 0.25).abs() < 0.02, "{mean}");
    }

    #[test]
    fn call_paths_that_differ_keep_their_own_noise() {
        let rng = &mut StdRng::seed_from_u64(8);
        let mut mixed = series(rng, 40, 0.0);
        mixed.extend(series(rng, 40, 0.75));
        let pool = NoisePool::new(&mixed);
        let errors = |range: f64, rng: &mut StdRng| {
            let scale = |logs: &Vec<f64>| estimate(logs, &pool.beliefs(None, logs).0).scale;
            let new = series(rng, 40, range);
            new.iter().map(|logs| (scale(logs) - 1.0).abs()).sum::<f64>() / 40.0
        };
        let (quiet, noisy) = (errors(0.0, rng), errors(0.75, rng));
        assert!(quiet < 0.015 && noisy < 0.05, "{quiet} {noisy}");
    }

    #[test]
    fn a_stranger_among_quiet_call_paths_is_seen() {
        let rng = &mut StdRng::seed_from_u64(9);
        let pool = NoisePool::new(&series(rng, 80, 0.0));
        let stranger = &series(rng, 1, 0.75)[0];
        let likely = estimate(stranger, &pool.beliefs(None, stranger).0);
        assert!(likely.likeliest().noise.noise.range > 0.4);
    }

    #[test]
    fn the_order_of_call_paths_and_their_scale_change_nothing() {
        let rng = &mut StdRng::seed_from_u64(10);
        let all = series(rng, 70, 0.3);
        let scaled: Vec<Vec<f64>> = all.iter().rev().map(|logs| logs.iter().map(|l| l + 2.0).collect()).collect();
        let (one, other) = (NoisePool::new(&all), NoisePool::new(&scaled));
        let (a, b) = (means(&one.beliefs.last().unwrap().1), means(&other.beliefs.last().unwrap().1));
        assert!((a.0 - b.0).abs() < 1e-3 && (a.1 - b.1).abs() < 1e-3, "{a:?} {b:?}");
    }

    #[test]
    fn one_call_path_learns_nothing_from_itself() {
        let rng = &mut StdRng::seed_from_u64(11);
        let alone = series(rng, 1, 0.75);
        let pool = NoisePool::new(&alone);
        let (own, default) = (estimate(&alone[0], &pool.beliefs[0].1), estimate(&alone[0], &DEFAULT));
        assert!((own.scale / default.scale - 1.0).abs() < 0.01);
        assert_eq!(
            default.likeliest().noise.noise.pattern == Pattern::Uniform,
            own.likeliest().noise.noise.pattern == Pattern::Uniform
        );
    }
}
