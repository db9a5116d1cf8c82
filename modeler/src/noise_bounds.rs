//! Rules out distributions of noise by how far apart measurements lie, without looking up any density.
//!
//! Where two measurements lie farther apart than the one-sided part of the noise is wide, the background made the rest, and
//! wherever the undisturbed time is, the two are together as improbable as two deviations of half of that rest each. The
//! outermost two, the next to these and so on bound how probable all can be.

use crate::noise::Noise;
use crate::wide::wide;

/// Distributions that are bounded side by side.
const SIDE_BY_SIDE: usize = 16;
/// Share of a normal variable's loss that the background, which is a little more likely far below, loses at least: as far out as
/// measurements that went astray are not likelier, and up to the largest deviation of which the logarithm is not normal, 0.15.
const SKEWED: f32 = 0.75;

/// What bounds the probability of measurements under some distributions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bounds {
    /// By block of distributions.
    blocks: Vec<Block>,
    count: usize,
}

/// The bounds' constants of some distributions.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// Logarithm of the probability before looking.
    prior: [f32; SIDE_BY_SIDE],
    /// The largest log density.
    highest: [f32; SIDE_BY_SIDE],
    /// Width of the one-sided part.
    width: [f32; SIDE_BY_SIDE],
    /// What the square of the rest costs.
    rate: [f32; SIDE_BY_SIDE],
    /// The most that two measurements cost, of which one may have gone astray.
    most: [f32; SIDE_BY_SIDE],
}

impl Bounds {
    /// Those of distributions, each with the logarithm of its prior probability, its largest log density, and that of the
    /// measurements that went astray.
    pub fn of(noises: impl Iterator<Item = (Noise, f64, f64, f64)>) -> Self {
        let mut bounds = Self::default();
        for (noise, prior, highest, stray) in noises {
            let j = bounds.count % SIDE_BY_SIDE;
            if j == 0 {
                let none = [0.0; SIDE_BY_SIDE];
                bounds.blocks.push(Block { prior: none, highest: none, width: none, rate: none, most: none });
            }
            let block = bounds.blocks.last_mut().expect("one was pushed");
            block.prior[j] = prior as f32;
            block.highest[j] = highest as f32;
            block.width[j] = noise.width() as f32;
            block.rate[j] = SKEWED / (2.0 * noise.sigma as f32).powi(2);
            block.most[j] = (highest - stray - std::f64::consts::LN_2).max(0.0) as f32;
            bounds.count += 1;
        }
        bounds
    }

    /// By distribution what the logarithm of its probability before looking and of that of the `sorted` measurements is at most,
    /// whatever the undisturbed time.
    pub fn at_most(&self, sorted: &[f64]) -> Vec<f32> {
        let count = sorted.len();
        let gaps: Vec<f32> = (0..count / 2).map(|i| (sorted[count - 1 - i] - sorted[i]) as f32).collect();
        let mut most = vec![[0.0; SIDE_BY_SIDE]; self.blocks.len()];
        of_blocks(&self.blocks, &gaps, count as f32, &mut most);
        let mut most = most.into_flattened();
        most.truncate(self.count);
        most
    }
}

wide! {
    fn of_blocks(blocks: &[Block], gaps: &[f32], count: f32, most: &mut [[f32; SIDE_BY_SIDE]]) {
        for (block, most) in blocks.iter().zip(most) {
            let mut lost = [0.0; SIDE_BY_SIDE];
            for gap in gaps {
                let constants = block.width.iter().zip(&block.rate).zip(&block.most);
                for (lost, ((width, rate), most)) in lost.iter_mut().zip(constants) {
                    let rest: f32 = (gap - width).max(0.0);
                    *lost += (rest * rest * rate).min(*most);
                }
            }
            for j in 0..SIDE_BY_SIDE {
                most[j] = block.prior[j] + count * block.highest[j] - lost[j];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise_estimate::GRID;
    use rand::{RngExt, SeedableRng, rngs::StdRng};
    use rand_distr::{Distribution, StandardNormal};

    /// Whatever the noise and however much of it there is, no undisturbed time makes measurements likelier than bounds say.
    #[test]
    fn no_scale_is_likelier_than_the_bound() {
        let rng = &mut StdRng::seed_from_u64(5);
        for count in [5, 8, 25, 60] {
            for (sigma, range) in [(0.01, 0.0), (0.03, 0.0), (0.03, 0.5), (0.1, 0.0), (0.3, 1.5)] {
                let mut one = || {
                    let z: f64 = StandardNormal.sample(rng);
                    (1.0 + range * rng.random::<f64>()).ln() + sigma * z
                };
                let mut logs: Vec<f64> = (0..count).map(|_| one()).collect();
                logs.sort_by(f64::total_cmp);
                let most = GRID.bounds.at_most(&logs);
                assert_eq!(most.len(), GRID.beliefs.len());
                let (first, last) = (logs[0], logs[count - 1]);
                for ((noise, prior), most) in GRID.beliefs.iter().zip(most) {
                    let place = |i: i32| {
                        first - noise.noise.width() + (last - first + noise.noise.width()) * f64::from(i) / 60.0
                    };
                    let likeliest = (0..=60).map(|i| noise.log_likelihood(&logs, place(i))).fold(f64::MIN, f64::max);
                    assert!(
                        prior + likeliest <= f64::from(most) + 0.02 * count as f64,
                        "{count} of {sigma}, {range}: {most} for {:?} of {}",
                        noise.noise,
                        prior + likeliest
                    );
                }
            }
        }
    }

    /// Of measurements with a background alone the bound of that is nearly reached.
    #[test]
    fn bounds_are_close_where_there_is_only_background() {
        let rng = &mut StdRng::seed_from_u64(6);
        let mut logs: Vec<f64> = (0..25).map(|_| 0.024 * Distribution::<f64>::sample(&StandardNormal, rng)).collect();
        logs.sort_by(f64::total_cmp);
        let off = |noise: &Noise| if noise.range == 0.0 { (noise.sigma / 0.024).ln().abs() } else { f64::INFINITY };
        let off = |i: &usize| off(&GRID.beliefs[*i].0.noise);
        let at = (0..GRID.beliefs.len()).min_by(|a, b| off(a).total_cmp(&off(b))).unwrap();
        let (noise, prior) = &GRID.beliefs[at];
        let likeliest = (-50..50).map(|i| noise.log_likelihood(&logs, 0.001 * f64::from(i))).fold(f64::MIN, f64::max);
        let bound = f64::from(GRID.bounds.at_most(&logs)[at]);
        assert!((0.0..5.0).contains(&(bound - prior - likeliest)), "{bound} where {} is reached", prior + likeliest);
    }
}
