//! What residuals say about their noise and about the scale of a model under it.
//!
//! Least squares is the answer where noise is two-sided; the lower edge of the residuals is the answer where it is
//! one-sided and the background quiet. Averaging over the distributions that the residuals leave possible moves between the two
//! smoothly.

use crate::noise::{Noise, Pattern, PossibleNoise, QUANTILES, Tabulated};
use crate::noise_bounds::Bounds;
use std::f64::consts::PI;
use std::sync::{Arc, LazyLock};

/// Ranges of one-sided noise that compete.
const RANGES: [f64; 13] = [0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.62, 0.75, 0.95, 1.3, 1.8];
/// Means of one-sided noise with a tail that compete.
const TAILS: [f64; 6] = [0.05, 0.12, 0.3, 0.6, 1.2, 2.5];
/// Deviations of background noise that compete.
const BACKGROUNDS: [f64; 12] = [0.003, 0.006, 0.012, 0.018, 0.024, 0.032, 0.042, 0.06, 0.1, 0.2, 0.4, 0.8];
/// How many deviations compete around each of these, up to halfway to the next ones, where there is no other noise: many residuals tell the
/// deviation to a few per cent, and would else make up one between two of these by one-sided noise.
const BETWEEN: usize = 12;
/// What background noise is expected to be before looking: the geometric mean and its spread in nats. Beyond two
/// spreads the expectation falls off slowly, so that data soon overrule it.
const EXPECTED_BACKGROUND: (f64, f64) = (0.03, 0.17);
/// Prior weight of there being no one-sided noise, relative to all distributions with a given range.
const NO_NOISE_WEIGHT: f64 = 12.0;
/// Shares of the measurements that are disturbed which compete, and their prior weights: all, four fifths or half of them.
const DISTURBED: [(f64, f64); 3] = [(1.0, 0.9), (0.8, 0.05), (0.5, 0.05)];
/// Prior weight of each pattern. [`Pattern::Fixed`] can be told from a slower machine only where some are undisturbed.
const PATTERNS: [(Pattern, f64); 4] =
    [(Pattern::Uniform, 0.33), (Pattern::Normal, 0.33), (Pattern::Clipped, 0.33), (Pattern::Fixed, 0.33)];
/// Prior weight of noise with a tail.
const TAIL_WEIGHT: f64 = 0.2;
/// Combinations whose probability is smaller by more than this, in nats, than the best one's are not refined.
pub(crate) const HOPELESS: f64 = 20.0;
/// The same for estimates of one series, which a less probable distribution does not change.
const IMPROBABLE: f64 = 6.0;
/// How far, in nats, the place where the search for a scale begins may lie below the best one. Of distributions that mattered one in a
/// thousand lay farther below in experiments with each pattern, with all or half of the measurements disturbed.
const FROM_START: f64 = 8.0;
/// The same for the first of the places that are tried, beyond those: of the distributions that mattered about one in a hundred lay
/// 21 nats below there, and one in a thousand 40.
const FROM_FIRST: f64 = 20.0;
/// How much more than a parabola promises a better scale may gain, in nats, and how many times as much.
const SURPRISE: (f64, f64) = (2.0, 1.5);

/// Distributions less probable than this are not kept for predictions.
const NEGLIGIBLE: f64 = 0.01;

/// Distributions less probable than this before coefficients were refined do not become probable by that.
const STILL_POSSIBLE: f64 = 1e-3;

/// A distribution of noise and the logarithm of its probability before looking at a series.
pub(crate) type Belief = (Arc<Tabulated>, f64);

/// What is believed of the noise of a series before its times are looked at.
#[derive(Clone, Debug)]
pub(crate) struct Beliefs {
    /// Some distributions.
    pub own: Vec<Belief>,
    /// Logarithm of the probability that it is any of the [`GRID`].
    pub any: Option<f64>,
}

impl Beliefs {
    /// That it is one of these.
    pub fn of(own: Vec<Belief>) -> Self {
        Self { own, any: None }
    }

    /// Logarithm of the sum of the probabilities.
    pub fn total(&self) -> f64 {
        log_sum(self.own.iter().map(|b| b.1).chain(self.any))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.own.len() + self.any.map_or(0, |_| GRID.beliefs.len())
    }

    /// One of the distributions, first its own, and the logarithm of its probability.
    fn belief(&self, index: usize) -> (&Arc<Tabulated>, f64) {
        match index.checked_sub(self.own.len()) {
            None => (&self.own[index].0, self.own[index].1),
            Some(index) => (&GRID.beliefs[index].0, GRID.beliefs[index].1 + self.any.unwrap_or(f64::NEG_INFINITY)),
        }
    }
}

/// Logarithm of the sum of what these are the logarithms of.
fn log_sum(logs: impl Iterator<Item = f64> + Clone) -> f64 {
    let top = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    top + logs.map(|l| (l - top).exp()).sum::<f64>().ln()
}

/// The beliefs without any data.
pub(crate) static DEFAULT: Beliefs = Beliefs { own: Vec::new(), any: Some(0.0) };

/// All distributions that are believed possible without any data, with probabilities of which the sum is one.
#[derive(Debug)]
pub(crate) struct Grid {
    /// The distributions.
    pub beliefs: Vec<Belief>,
    /// What rules most of them out.
    pub bounds: Bounds,
}

/// The distributions that compete.
pub(crate) static GRID: LazyLock<Grid> = LazyLock::new(|| {
    let (mut noises, mut priors) = (Vec::new(), Vec::new());
    let mut add = |pattern, range: f64, disturbed: f64, sigma: f64, weight: f64| {
        noises.push(Noise { pattern, range, disturbed, sigma });
        priors.push(weight.ln() + background_prior(sigma));
    };
    for (i, sigma) in BACKGROUNDS.into_iter().enumerate() {
        let halfway = |other: Option<&f64>| (sigma * other.copied().unwrap_or(sigma)).sqrt();
        let (low, high) = (halfway(i.checked_sub(1).and_then(|i| BACKGROUNDS.get(i))), halfway(BACKGROUNDS.get(i + 1)));
        for step in 0..BETWEEN {
            let between = low * (high / low).powf((step as f64 + 0.5) / BETWEEN as f64);
            add(Pattern::Uniform, 0.0, 1.0, between, NO_NOISE_WEIGHT / BETWEEN as f64);
        }
        for (disturbed, of_share) in DISTURBED {
            // Undisturbed measurements among others stand out only where the range is larger than the background.
            let (is_all, least) = if disturbed == 1.0 { (true, 0.8 * sigma) } else { (false, 2.0 * sigma) };
            for range in RANGES.into_iter().filter(|a| *a > least) {
                let patterns = PATTERNS.into_iter().filter(|p| !is_all || p.0 != Pattern::Fixed);
                patterns.for_each(|(pattern, weight)| add(pattern, range, disturbed, sigma, of_share * weight));
            }
            for mean in TAILS.into_iter().filter(|a| *a > least) {
                add(Pattern::Tail, mean, disturbed, sigma, of_share * TAIL_WEIGHT);
            }
        }
    }
    let total = log_sum(priors.iter().copied());
    let belief = |(noise, prior)| (Arc::new(noise), prior - total);
    let beliefs: Vec<Belief> = Tabulated::all(&noises).into_iter().zip(priors).map(belief).collect();
    let of_bounds = |(noise, prior): &Belief| {
        let (highest, stray) = noise.highest();
        (noise.noise, *prior, highest, stray)
    };
    Grid { bounds: Bounds::of(beliefs.iter().map(of_bounds)), beliefs }
});

/// Log probability of this background before looking: normal in the logarithm, with the tails of Student's t with ten degrees of
/// freedom. With eight, what a function misses is soon taken for noise with a background of next to nothing.
pub(crate) fn background_prior(sigma: f64) -> f64 {
    let (centre, spread) = EXPECTED_BACKGROUND;
    let z = (sigma / centre).ln() / spread;
    -5.5 * (z * z / 10.0).ln_1p()
}

/// One distribution with what the residuals say under it.
#[derive(Clone, Debug)]
pub(crate) struct Weighted {
    /// The distribution.
    pub noise: Arc<Tabulated>,
    /// Its probability.
    pub weight: f64,
    /// Logarithm of its probability before looking.
    prior: f64,
    /// Logarithm of the model's scale under it.
    pub log_scale: f64,
    /// Variance of that.
    pub variance: f64,
}

/// What the residuals say about noise and scale.
#[derive(Clone, Debug)]
pub(crate) struct NoiseEstimate {
    /// Factor by which the fitted values must be multiplied to be the undisturbed ones.
    pub scale: f64,
    /// Variance of the logarithm of that factor when the noise is known, on average over what it may be.
    pub variance: f64,
    /// The distributions that remain possible, most probable first.
    pub noises: Vec<Weighted>,
    /// Logarithm of the probability of the residuals, averaged over noise and scale.
    pub evidence: f64,
    /// Logarithm of the sum of all probabilities before looking.
    total: f64,
}

impl NoiseEstimate {
    /// The estimate from residuals that differ little from those of this one: only what was possible still is.
    pub fn again(&self, logs: &[f64]) -> Self {
        let possible = self.noises.iter().filter(|w| w.weight > STILL_POSSIBLE);
        let beliefs = Beliefs::of(possible.map(|w| (Arc::clone(&w.noise), w.prior)).collect());
        estimate_of(logs, &beliefs, self.total)
    }

    /// Whether the same residuals are so many nats likelier under the [`DEFAULT`] beliefs.
    pub fn is_beaten_by(&self, nats: f64, logs: &[f64]) -> bool {
        let needed = self.evidence + nats;
        // The likelihood is about as wide as it is for the distribution that is likeliest here.
        let width = 0.5 * (2.0 * PI * self.likeliest().variance).ln();
        estimate_from(logs, &DEFAULT, DEFAULT.total(), needed - width).evidence >= needed
    }

    /// The distributions that are not negligible, relative to the scale.
    pub fn possible(&self) -> Vec<PossibleNoise> {
        let kept: Vec<&Weighted> = self.noises.iter().filter(|w| w.weight > NEGLIGIBLE).collect();
        let total: f64 = kept.iter().map(|w| w.weight).sum();
        let shift = |w: &Weighted| w.log_scale - self.scale.ln();
        let one = |w: &&Weighted| PossibleNoise { weight: w.weight / total, shift: shift(w), noise: w.noise.noise };
        kept.iter().map(one).collect()
    }

    /// The most probable distribution.
    pub fn likeliest(&self) -> &Weighted {
        &self.noises[0]
    }
}

/// What residuals say of one belief.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    /// Index of the belief.
    pub belief: usize,
    /// Logarithm of the probability of the residuals, averaged over the scale.
    pub log: f64,
    /// Logarithm of the scale under it, and the variance of that.
    log_scale: f64,
    variance: f64,
}

/// The evidence of the beliefs, in their order, without those that are out of the question: whose probability is smaller by
/// more than `hopeless`, in nats, than the best one's, or than `least`.
pub(crate) fn evidences(logs: &[f64], beliefs: &Beliefs, hopeless: f64, least: f64) -> Vec<Evidence> {
    let mut sorted = logs.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let quantiles = QUANTILES.map(|share| sorted[(share * sorted.len() as f64) as usize]);
    let logs = outermost_first(&sorted);
    // Most are out of the question at once, wherever exactly their best scale is.
    let mut top = least;
    let probable = hopeless + FROM_START;
    let mut possible: Vec<(f64, usize, (f64, f64))> = Vec::new();
    let mut look = |belief: usize, top: &mut f64| {
        let (noise, prior) = beliefs.belief(belief);
        let (start, value) = likeliest_start(&logs, quantiles, noise, *top - probable - prior);
        *top = top.max(value + prior);
        if value + prior >= *top - probable {
            possible.push((value + prior, belief, (start, value)));
        }
    };
    let own = beliefs.own.len();
    (0..own).for_each(|belief| look(belief, &mut top));
    if let Some(any) = beliefs.any {
        let bounds = GRID.bounds.at_most(&sorted);
        // The most promising first: what is known of it rules out most of the others.
        let first = (0..bounds.len()).fold(0, |best, i| if bounds[i] > bounds[best] { i } else { best });
        look(own + first, &mut top);
        for (i, bound) in bounds.iter().enumerate() {
            if i != first && f64::from(*bound) + any >= top - hopeless {
                look(own + i, &mut top);
            }
        }
    }
    possible.retain(|(probability, ..)| *probability >= top - probable);
    // The best first: what is known of them rules out others.
    possible.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut evidences = Vec::with_capacity(possible.len());
    for (_, belief, (start, value)) in possible {
        let (noise, prior) = beliefs.belief(belief);
        let found = best_scale(&logs, noise, start, value, top - prior - hopeless);
        let Some((log_scale, peak, variance)) = found else { continue };
        top = top.max(peak + prior);
        let (log, log_scale, variance) = over_scales(&logs, noise, log_scale, peak, variance.sqrt());
        evidences.push(Evidence { belief, log, log_scale, variance });
    }
    evidences.sort_unstable_by_key(|e| e.belief);
    evidences
}

/// Of sorted values the smallest, the largest, the next to the smallest and so on: the outermost rule out most.
fn outermost_first(sorted: &[f64]) -> Vec<f64> {
    let (lower, upper) = sorted.split_at(sorted.len().div_ceil(2));
    let pairs = lower.iter().zip(upper.iter().rev()).flat_map(|(low, high)| [*low, *high]);
    pairs.chain(lower.get(upper.len()).copied()).collect()
}

/// Where the search for the logarithm of the scale begins, and the log likelihood there; that is minus infinity where it is less
/// than `least`. The place is one at which residuals and noise have the same lower end, the same quarter below, or the
/// same middle between their ends: likelihoods of noise with edges and of noise of some measurements have several peaks, and valleys
/// between them.
fn likeliest_start(logs: &[f64], measured: [f64; 3], noise: &Tabulated, mut least: f64) -> (f64, f64) {
    let [low, quarter, high] = noise.quantiles();
    let middle = 0.5 * (measured[0] - low + measured[2] - high);
    let mut best = (middle, noise.log_likelihood_from(logs, middle, least - FROM_FIRST));
    if best.1 == f64::NEG_INFINITY {
        return best;
    }
    for start in [measured[1] - quarter, measured[0] - low] {
        least = least.max(best.1);
        let value = noise.log_likelihood_from(logs, start, least);
        if value > best.1 {
            best = (start, value);
        }
    }
    best
}

/// Estimates noise and scale from the logarithms of the ratios of measured to fitted values.
pub(crate) fn estimate(logs: &[f64], beliefs: &Beliefs) -> NoiseEstimate {
    estimate_of(logs, beliefs, beliefs.total())
}

/// The same for beliefs that are some of those with the sum of probabilities whose logarithm is `total`.
pub(crate) fn estimate_of(logs: &[f64], beliefs: &Beliefs, total: f64) -> NoiseEstimate {
    estimate_from(logs, beliefs, total, f64::NEG_INFINITY)
}

/// The same where distributions matter only that are about as probable as that whose largest likelihood and prior have `least` as
/// logarithm.
fn estimate_from(logs: &[f64], beliefs: &Beliefs, total: f64, least: f64) -> NoiseEstimate {
    let evidences = evidences(logs, beliefs, IMPROBABLE, least);
    let top = log_sum(evidences.iter().map(|e| e.log + beliefs.belief(e.belief).1));
    let weighted = |e: &Evidence| {
        let (noise, prior) = beliefs.belief(e.belief);
        Weighted {
            noise: Arc::clone(noise),
            prior,
            weight: (e.log + prior - top).exp(),
            log_scale: e.log_scale,
            variance: e.variance,
        }
    };
    let mut noises: Vec<Weighted> = evidences.iter().map(weighted).collect();
    noises.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let mean = noises.iter().map(|w| w.weight * w.log_scale).sum::<f64>();
    let variance = noises.iter().map(|w| w.weight * w.variance).sum();
    NoiseEstimate { scale: mean.exp(), variance, noises, evidence: top - total, total }
}

/// Logarithm of the probability of `logs` over all scales, with the mean and variance of the scale's logarithm: the
/// trapezoidal rule about the `peak`, which for bell-shaped functions is as good as exact.
fn over_scales(logs: &[f64], noise: &Tabulated, centre: f64, peak: f64, deviation: f64) -> (f64, f64, f64) {
    const STEP: f64 = 1.0;
    let (mut total, mut first, mut second) = (0.0, 0.0, 0.0);
    for i in -4..=4 {
        let offset = STEP * deviation * f64::from(i);
        let weight = if i == 0 { 1.0 } else { (noise.log_likelihood(logs, centre + offset) - peak).exp() };
        total += weight;
        first += weight * offset;
        second += weight * offset * offset;
    }
    let mean = first / total;
    let variance = (second / total - mean * mean).max(1e-12);
    (peak + (total * STEP * deviation).ln(), centre + mean, variance)
}

/// The logarithm of the scale that makes `logs` most likely under `noise`, the log likelihood there, and the inverse
/// of its curvature: Newton's method with safeguards.
///
/// `here` is the log likelihood at `start`. `None` where the likelihood cannot come near `least`.
fn best_scale(logs: &[f64], noise: &Tabulated, start: f64, mut here: f64, least: f64) -> Option<(f64, f64, f64)> {
    let sigma = noise.noise.sigma;
    let (mut log_scale, mut step_limit) = (start, 0.3_f64);
    let h = 0.3 * sigma;
    let value = |t: f64| noise.log_likelihood(logs, t);
    let mut variance = sigma * sigma / logs.len() as f64;
    for _ in 0..12 {
        let (below, above) = (value(log_scale - h), value(log_scale + h));
        let slope = (above - below) / (2.0 * h);
        let curvature = (above - 2.0 * here + below) / (h * h);
        if curvature < 0.0 {
            variance = -1.0 / curvature;
            if here + SURPRISE.0 + SURPRISE.1 * 0.5 * slope * slope * variance < least {
                return None;
            }
        }
        let newton = if curvature < 0.0 { -slope / curvature } else { slope.signum() * step_limit };
        let close = 0.2 * variance.sqrt();
        let mut step = newton.clamp(-step_limit, step_limit);
        let mut there = value(log_scale + step);
        while there < here && step.abs() > close {
            step *= 0.4;
            there = value(log_scale + step);
        }
        if there > here {
            (log_scale, here) = (log_scale + step, there);
        }
        if step.abs() <= close {
            break;
        }
        step_limit = (2.0 * step.abs()).min(0.3);
    }
    (here + SURPRISE.0 >= least).then_some((log_scale, here, variance.min(0.1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng, rngs::StdRng};
    use rand_distr::{Distribution, StandardNormal};

    fn logs(rng: &mut StdRng, count: usize, noise: impl Fn(&mut StdRng) -> f64, sigma: f64) -> Vec<f64> {
        let mut one = || {
            let z: f64 = StandardNormal.sample(rng);
            (1.0 + noise(rng)).ln() + (1.0 + sigma * z).ln()
        };
        (0..count).map(|_| one()).collect()
    }

    #[test]
    fn the_scale_is_that_of_the_undisturbed_times() {
        let rng = &mut StdRng::seed_from_u64(3);
        for a in [0.0, 0.3, 0.75] {
            let mut errors = Vec::new();
            for _ in 0..40 {
                let logs = logs(rng, 25, |rng| a * rng.random::<f64>(), 0.03);
                errors.push((estimate(&logs, &DEFAULT).scale - 1.0).abs());
            }
            let mean = errors.iter().sum::<f64>() / errors.len() as f64;
            assert!(mean < 0.015 + 0.04 * a, "{a}: {mean}");
        }
    }

    /// Mean error of the scale from 25 times of which the share `disturbed` has `noise`.
    fn mean_error(rng: &mut StdRng, disturbed: f64, noise: fn(&mut StdRng) -> f64) -> f64 {
        let mut error = || {
            let noise = |rng: &mut StdRng| if rng.random_bool(disturbed) { noise(rng) } else { 0.0 };
            (estimate(&logs(rng, 25, noise, 0.03), &DEFAULT).scale - 1.0).abs()
        };
        (0..60).map(|_| error()).sum::<f64>() / 60.0
    }

    /// Taken for noise of all measurements half of them at 0 would move the scale down by 5 % and more.
    #[test]
    fn undisturbed_measurements_among_others_tell_the_scale() {
        let rng = &mut StdRng::seed_from_u64(6);
        for (disturbed, noise, most) in [
            (0.5, (|rng| 0.5 * rng.random::<f64>()) as fn(&mut StdRng) -> f64, 0.025),
            (0.5, |rng| 0.75 * rng.random::<f64>(), 0.025),
            (0.5, |_| 0.5, 0.025),
            (0.5, |_| 0.75, 0.025),
            (0.8, |_| 0.5, 0.05),
        ] {
            let error = mean_error(rng, disturbed, noise);
            assert!(error < most, "{error} with {disturbed} disturbed, not below {most}");
        }
    }

    #[test]
    fn scaling_all_times_scales_the_scale() {
        let rng = &mut StdRng::seed_from_u64(4);
        let logs = logs(rng, 12, |rng| 0.5 * rng.random::<f64>(), 0.03);
        let scaled: Vec<f64> = logs.iter().map(|l| l + 3f64.ln()).collect();
        let (one, three) = (estimate(&logs, &DEFAULT), estimate(&scaled, &DEFAULT));
        assert!((three.scale / one.scale / 3.0 - 1.0).abs() < 1e-3);
        assert!((three.evidence - one.evidence).abs() < 1e-3 * one.evidence.abs());
    }
}
