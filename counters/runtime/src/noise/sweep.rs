//! Which quantities of one mode to measure next: in rounds of a few with one burst without noise among them, in random
//! order, quantities with the fewest bursts first. Larger ones only come while smaller ones have not saturated the loop:
//! beyond that they cost time and tell nothing new. A quantity whose times differ much gets more bursts than others.

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
const SATURATED: f32 = 4.0;
/// A quantity that takes so many times as long slows the loop down without doubt, however well its time is known.
const SLOWED: f32 = 1.25;
/// The analysis takes this quantile of a quantity's times (`curve.rs` in the modeler).
const LOW: f64 = 0.1;
/// It is known well enough where its standard error is this at most, relative: a fifth of what a loop may be slower and still count as not
/// slowed down there.
const KNOWN: f64 = 0.01;
/// For that a quantity is measured so many times as often as others, at most.
const MOST_TIMES: usize = 10;

/// The quantities of one mode in one loop.
#[derive(Debug)]
pub struct Sweep {
    /// Ascending, each once, without 0.
    quantities: Vec<Quantity>,
    /// How many of them are allowed.
    allowed: usize,
    /// Whether the allowed ones have saturated the loop.
    is_saturated: bool,
    /// Bursts that each quantity gets whatever they say.
    least: usize,
}

/// What is known of one.
#[derive(Debug)]
struct Quantity {
    k: u32,
    /// Ratios to the bursts without noise of the same rounds, and times in any unit.
    ratios: Vec<f32>,
    times: Vec<f32>,
    /// Bursts that it is to have.
    wanted: usize,
}

impl Quantity {
    fn has_wanted(&self) -> bool {
        self.ratios.len() >= self.wanted
    }

    /// Whether it has bursts enough to take `bound` times as long as no noise, and does.
    fn exceeds(&self, bound: f32) -> bool {
        self.ratios.len() >= TO_DECIDE && median(&self.ratios) > bound
    }
}

impl Sweep {
    /// Over these quantities, until each has `least` bursts, or more where those leave its time uncertain.
    pub fn new(mut quantities: Vec<u32>, least: u32) -> Self {
        quantities.sort_unstable();
        quantities.dedup();
        let least = least as usize;
        let quantity = |k| Quantity { k, ratios: Vec::new(), times: Vec::new(), wanted: least };
        let quantities: Vec<Quantity> = quantities.into_iter().map(quantity).collect();
        let allowed = quantities.len().min(AT_LEAST);
        Self { quantities, allowed, is_saturated: false, least }
    }

    /// Whether there is nothing left to measure.
    pub fn is_done(&self) -> bool {
        self.is_at_the_end() && self.quantities[..self.allowed].iter().all(Quantity::has_wanted)
    }

    /// By what sweeps take turns: those come first of which some quantity lacks the bursts that each gets, and then those with the fewest.
    pub fn turn(&self) -> (bool, usize) {
        let has_least = self.quantities[..self.allowed].iter().all(|quantity| quantity.ratios.len() >= self.least);
        let bursts = self.quantities.iter().map(|quantity| quantity.ratios.len()).sum();
        (has_least && self.is_at_the_end(), bursts)
    }

    /// The quantities of the next round in the order in which to measure them, with 0 among them.
    pub fn round(&self, random: &mut Random) -> Vec<u32> {
        let mut order: Vec<&Quantity> = self.quantities[..self.allowed].iter().collect();
        random.shuffle(&mut order);
        order.sort_by_key(|quantity| (quantity.has_wanted(), quantity.ratios.len()));
        let mut round: Vec<u32> = order.into_iter().take(PER_ROUND).map(|quantity| quantity.k).collect();
        round.push(0);
        random.shuffle(&mut round);
        round
    }

    /// Learns that `k` took `time` where no noise took `base` in the same round.
    pub fn learn(&mut self, k: u32, time: f64, base: f64) {
        let Ok(index) = self.quantities.binary_search_by_key(&k, |quantity| quantity.k) else { return };
        let (quantity, ratio) = (&mut self.quantities[index], (time / base) as f32);
        quantity.ratios.push(ratio);
        quantity.times.push(time as f32);
        // A median passes a bound only when a value does.
        if ratio > SATURATED / 2.0 && !self.is_saturated {
            let steep = |index: usize| {
                index > 0
                    && index < self.allowed
                    && self.quantities[index].exceeds(SATURATED)
                    && self.quantities[index - 1].exceeds(SATURATED / 2.0)
            };
            self.is_saturated = steep(index) || steep(index + 1);
        }
        while !self.is_at_the_end() && self.quantities[self.allowed - 1].ratios.len() >= TO_DECIDE {
            self.allowed += 1;
        }
        let quantity = &mut self.quantities[index];
        let is_open = quantity.has_wanted() && quantity.wanted < MOST_TIMES * self.least;
        if is_open && !quantity.exceeds(SLOWED) && standard_error(&quantity.times) > KNOWN {
            quantity.wanted += self.least;
        }
    }

    /// Whether no larger quantities are to come.
    fn is_at_the_end(&self) -> bool {
        self.allowed == self.quantities.len() || self.is_saturated
    }
}

fn sorted(values: &[f32]) -> Vec<f32> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f32::total_cmp);
    sorted
}

fn median(values: &[f32]) -> f32 {
    sorted(values)[values.len() / 2]
}

/// The standard error of the values' low quantile, relative, by what lies between it and the median, which few disturbed ones do not change: `sqrt(q (1 - q) / n)` over
/// the density there (David and Nagaraja, Order Statistics, section 10.2), of a normal distribution 1.71 standard deviations over `sqrt(n)`, of which the distance is 1.28.
fn standard_error(values: &[f32]) -> f64 {
    let (sorted, n) = (sorted(values), values.len() as f64);
    let [low, middle] = [LOW, 0.5].map(|share| f64::from(sorted[(n * share).ceil() as usize - 1]));
    1.71 / 1.28 * (middle - low) / low / n.sqrt()
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
                    sweep.learn(k, time(k), time(0));
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

    /// Times that are spread evenly over so much of the time without noise, around it.
    fn spread(over: f64) -> impl Fn() -> f64 {
        let random = std::cell::RefCell::new(Random::new(3));
        move || 1.0 + over * (random.borrow_mut().below(1001) as f64 / 1000.0 - 0.5)
    }

    #[test]
    fn what_differs_from_burst_to_burst_is_measured_until_it_is_known() {
        let bursts_of = |over: f64| {
            let time = spread(over);
            let mut bursts = measured(|k| if k == 0 { 1.0 } else { time() });
            bursts.remove(&0);
            bursts
        };
        // What lies between the lower tenth and the middle is 0.4 of the width, and makes 0.53 of it over sqrt(n): 0.03 needs three bursts, 0.1 needs 28, and 0.8
        // needs a thousand and more, of which a hundred are made.
        assert!(bursts_of(0.03).values().all(|&count| count <= 13), "{:?}", bursts_of(0.03));
        let some = bursts_of(0.1);
        let mean = some.values().sum::<usize>() as f64 / some.len() as f64;
        assert!((20.0..40.0).contains(&mean) && some.values().all(|&count| count <= 60), "{some:?}");
        assert!(bursts_of(0.8).values().all(|&count| (100..=103).contains(&count)), "{:?}", bursts_of(0.8));
    }

    #[test]
    fn one_quantity_that_differs_has_no_others_measured_again() {
        let time = spread(0.8);
        let bursts = measured(|k| if k == 8 { time() } else { 1.0 });
        assert!(bursts[&8] >= 60, "{bursts:?}");
        // Rounds have three quantities, of which two have all they need.
        let others: usize = bursts.iter().filter(|burst| !matches!(burst.0, 0 | 8)).map(|burst| *burst.1).sum();
        assert!(others <= 11 * 10 + 2 * bursts[&8], "{bursts:?}");
        // Nor does one that is slow without doubt, however much.
        let time = spread(0.8);
        assert!(measured(|k| if k == 64 { 2.0 * time() } else { 1.0 }).values().all(|&count| count <= 50));
    }

    #[test]
    fn bursts_that_were_interrupted_are_no_uncertainty() {
        // A fifth takes a third longer; the lower tenth does not see them.
        let count = std::cell::Cell::new(0);
        let bursts = measured(|k| {
            count.set(count.get() + 1);
            if k > 0 && count.get() % 5 == 0 { 1.3 } else { 1.0 }
        });
        assert!(bursts.iter().filter(|burst| *burst.0 > 0).all(|burst| *burst.1 <= 12), "{bursts:?}");
    }

    #[test]
    fn sweeps_that_lack_their_first_bursts_come_first() {
        let mut uncertain = Sweep::new(vec![1, 2, 3], 4);
        let time = spread(0.8);
        for k in [1, 2, 3].repeat(4) {
            uncertain.learn(k, time(), 1.0);
        }
        assert!(!uncertain.is_done());
        let mut later = Sweep::new(vec![1, 2, 3, 4, 6, 8, 12, 16], 4);
        for k in [1, 2, 3].repeat(2) {
            later.learn(k, 1.0, 1.0);
        }
        assert!(later.turn() < uncertain.turn());
    }

    #[test]
    fn the_standard_error_is_that_of_the_lower_tenth() {
        let values: Vec<f32> = (0..100_u8).map(|i| 1.0 + f32::from(i) / 100.0).collect();
        // The tenth value is 1.09, and the fiftieth 1.49.
        assert!((standard_error(&values) - 1.336 * 0.4 / 1.09 / 10.0).abs() < 1e-5);
        assert_eq!(standard_error(&[2.0]), 0.0);
    }

    #[test]
    fn one_disturbed_burst_does_not_stop_a_sweep() {
        let disturbed = std::cell::Cell::new(true);
        let bursts = measured(|k| if k == 3 && disturbed.replace(false) { 100.0 } else { 1.0 });
        assert_eq!(bursts.len(), 13);
    }
}
