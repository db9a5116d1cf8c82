//! Which quantities of one mode to measure next: in rounds of a few with one burst without noise among them, in random
//! order, quantities with the fewest bursts first. Larger ones only come while smaller ones have not saturated the loop:
//! beyond that they cost time and tell nothing new.

/// A generator of numbers that look random: xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift
/// generators, scrambled", TOMS 2016).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// From any seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `bound`, which is small.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        usize::try_from(high).unwrap_or(0) % bound.max(1)
    }

    /// Puts items into random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// Quantities measured beside one burst without noise.
const PER_ROUND: usize = 3;
/// Quantities that are measured in any case, so that a line can be told from a curve.
const AT_LEAST: usize = 3;
/// Bursts of a quantity before it decides about larger ones.
const TO_DECIDE: usize = 3;
/// A loop is saturated for certain where a quantity takes this many times as long and the one before it half of that.
const SATURATED: f64 = 4.0;
/// A quantity is known well enough where the standard error of its ratios is this at most, relative: a fifth of what a loop may be slower
/// and still count as not slowed down (`UNAFFECTED` in the modeler's absorption).
const KNOWN: f64 = 0.01;
/// For that it is measured so many times as often as wanted, at most.
const PATIENCE: usize = 10;

/// The quantities of one mode in one loop.
#[derive(Debug)]
pub struct Sweep {
    /// Ascending, without 0.
    quantities: Vec<u32>,
    /// Ratios to the round's burst without noise, per quantity.
    ratios: Vec<Vec<f32>>,
    /// How many quantities are allowed.
    allowed: usize,
    /// Bursts that each quantity is to have: `least`, and more where times differ much.
    wanted: usize,
    least: usize,
}

impl Sweep {
    /// Over these quantities, until each has `least` bursts, or more where those leave its time uncertain.
    pub fn new(mut quantities: Vec<u32>, least: u32) -> Self {
        quantities.sort_unstable();
        quantities.dedup();
        let ratios = vec![Vec::new(); quantities.len()];
        let allowed = quantities.len().min(AT_LEAST);
        Self { quantities, ratios, allowed, wanted: least as usize, least: least as usize }
    }

    /// Whether there is nothing left to measure.
    pub fn is_done(&self) -> bool {
        self.has_wanted() && self.is_at_the_end()
    }

    /// Whether each quantity has the bursts that it is to have.
    fn has_wanted(&self) -> bool {
        self.ratios[..self.allowed].iter().all(|ratios| ratios.len() >= self.wanted)
    }

    /// Bursts with noise so far.
    pub fn bursts(&self) -> usize {
        self.ratios.iter().map(Vec::len).sum()
    }

    /// The quantities of the next round in the order in which to measure them, with 0 among them.
    pub fn round(&self, random: &mut Random) -> Vec<u32> {
        let mut order: Vec<usize> = (0..self.allowed).collect();
        random.shuffle(&mut order);
        order.sort_by_key(|&index| self.ratios[index].len());
        let mut round: Vec<u32> = order.into_iter().take(PER_ROUND).map(|index| self.quantities[index]).collect();
        round.push(0);
        random.shuffle(&mut round);
        round
    }

    /// Learns that `k` took `ratio` times as long as no noise in the same round.
    pub fn learn(&mut self, k: u32, ratio: f64) {
        if let Ok(index) = self.quantities.binary_search(&k) {
            self.ratios[index].push(ratio as f32);
        }
        while !self.is_at_the_end() && self.ratios[self.allowed - 1].len() >= TO_DECIDE {
            self.allowed += 1;
        }
        // Asked once for each further `least` bursts, as it takes sorting.
        if self.is_done() && self.wanted < PATIENCE * self.least && !self.is_known() {
            self.wanted += self.least;
        }
    }

    /// Whether the ratios of every quantity say well enough how long it takes.
    fn is_known(&self) -> bool {
        self.ratios[..self.allowed].iter().all(|ratios| error(ratios) <= KNOWN)
    }

    /// Whether no larger quantities are to come.
    fn is_at_the_end(&self) -> bool {
        self.allowed == self.quantities.len() || self.is_saturated()
    }

    fn is_saturated(&self) -> bool {
        let exceeds = |index: usize, bound: f64| {
            let ratios = &self.ratios[index];
            ratios.len() >= TO_DECIDE && f64::from(median(ratios)) > bound
        };
        (1..self.allowed).any(|index| exceeds(index, SATURATED) && exceeds(index - 1, SATURATED / 2.0))
    }
}

fn median(values: &[f32]) -> f32 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f32::total_cmp);
    sorted[sorted.len() / 2]
}

/// The standard error of the values' mean, relative, by a spread that single disturbed ones do not change: half of what lies between the
/// quantiles that are one standard deviation from a normal distribution's middle (Huber, Robust Statistics, section 5.1).
fn error(values: &[f32]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f32::total_cmp);
    let at = |share: f64| f64::from(sorted[((sorted.len() - 1) as f64 * share).round() as usize]);
    0.5 * (at(0.841) - at(0.159)) / at(0.5) / (sorted.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measures all of a sweep over a loop that takes `time(k)`; gives bursts per quantity.
    fn measured(time: impl Fn(u32) -> f64) -> std::collections::BTreeMap<u32, usize> {
        let mut sweep = Sweep::new(vec![1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64], 10);
        let mut random = Random::new(7);
        let mut bursts = std::collections::BTreeMap::new();
        while !sweep.is_done() {
            let round = sweep.round(&mut random);
            assert_eq!(round.iter().filter(|&&k| k == 0).count(), 1);
            for k in round {
                *bursts.entry(k).or_insert(0) += 1;
                if k > 0 {
                    sweep.learn(k, time(k) / time(0));
                }
            }
        }
        bursts
    }

    #[test]
    fn a_loop_that_absorbs_everything_is_measured_up_to_the_largest_quantity() {
        let bursts = measured(|_| 1.0);
        assert_eq!(bursts.len(), 13);
        assert!(bursts.values().all(|&count| count >= 10), "{bursts:?}");
        assert!(bursts[&0] <= 50, "{bursts:?}");
    }

    #[test]
    fn sweeps_stop_where_saturation_is_certain() {
        // Saturated from the start: 1 + k.
        let bursts = measured(|k| 1.0 + f64::from(k));
        assert_eq!(bursts.keys().copied().max(), Some(4));
        // Absorbs 8, then a tenth per instruction: four times as long from 38 on.
        let bursts = measured(|k| 1.0 + 0.1 * f64::from(k.saturating_sub(8)));
        assert_eq!(bursts.keys().copied().max(), Some(48));
    }

    #[test]
    fn what_differs_from_burst_to_burst_is_measured_until_it_is_known() {
        // The spread is 0.1 of the time: 100 bursts have an error of 0.01.
        let random = std::cell::RefCell::new(Random::new(3));
        let spread = |of: f64| of * 12f64.sqrt() * (random.borrow_mut().below(1001) as f64 / 1000.0 - 0.5);
        let bursts = measured(|k| if k == 0 { 1.0 } else { 1.0 + spread(0.1) });
        let noisy: Vec<usize> = bursts.iter().filter(|burst| *burst.0 > 0).map(|burst| *burst.1).collect();
        assert!(noisy.iter().all(|&count| (80..=100).contains(&count)), "{bursts:?}");
        // Ten times as many would be needed, which is more than anybody waits for.
        let bursts = measured(|k| if k == 0 { 1.0 } else { 1.0 + spread(0.25) });
        assert!(bursts.iter().filter(|burst| *burst.0 > 0).all(|burst| *burst.1 <= 103), "{bursts:?}");
    }

    #[test]
    fn one_disturbed_burst_does_not_stop_a_sweep() {
        let disturbed = std::cell::Cell::new(true);
        let bursts = measured(|k| if k == 3 && disturbed.replace(false) { 100.0 } else { 1.0 });
        assert_eq!(bursts.len(), 13);
    }
}
