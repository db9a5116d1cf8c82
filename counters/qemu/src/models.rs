//! Models of what a processor has beside its instructions: two levels of caches and a branch predictor, driven by the addresses
//! and branches of one thread. They are simple and fixed on purpose: what they say depends on the program alone, and is
//! the same on every machine.
//!
//! Caches are set-associative with lines of 64 bytes, replace the line that was used least recently, fetch a line on
//! writes as on reads, and fetch nothing in advance. The second level is asked for what the first lacks. Each
//! thread has its own.
//!
//! The predictor is the Alpha 21264's (Kessler, "The Alpha 21264 microprocessor", IEEE Micro 19(2), 1999, "Branch
//! prediction"): ten outcomes of each branch choose a counter of three bits, twelve outcomes of all branches
//! one of two bits, and another one of two bits which of them is believed. Unlike there, no two branches share a history.

use std::str::FromStr;

use poise_profile::Modelled;

/// Bytes of a line as a power of two.
const LINE: u32 = 6;

/// Size and associativity of a level, such as `32768x8`: 32 KiB in sets of 8 lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Number of sets, a power of two.
    sets: usize,
    /// Lines of a set.
    ways: usize,
}

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = || {
            let (bytes, ways) = text.split_once('x')?;
            let (bytes, ways): (usize, usize) = (bytes.parse().ok()?, ways.parse().ok()?);
            let sets = (bytes >> LINE).checked_div(ways)?;
            (sets.is_power_of_two() && (sets * ways) << LINE == bytes && bytes <= 1 << 30)
                .then_some(Self { sets, ways })
        };
        parsed().ok_or_else(|| format!("`{text}` is no cache of a power of two of sets, such as 32768x8"))
    }
}

/// One level.
struct Cache {
    level: Level,
    /// The lines of each set, the most recently used first; 0 where none is, else the line's number and one.
    lines: Vec<u64>,
}

impl Cache {
    fn new(level: Level) -> Self {
        Self { level, lines: vec![0; level.sets * level.ways] }
    }

    /// Accesses a line by its number; whether it was fetched.
    fn fetch(&mut self, line: u64) -> bool {
        let set = (line as usize & (self.level.sets - 1)) * self.level.ways;
        let set = &mut self.lines[set..set + self.level.ways];
        let (place, is_missing) = match set.iter().position(|&known| known == line + 1) {
            Some(place) => (place, false),
            None => (set.len() - 1, true),
        };
        set[..=place].rotate_right(1);
        set[0] = line + 1;
        is_missing
    }
}

/// A counter that stays between 0 and `MOST`; its upper half predicts a jump.
#[derive(Clone, Copy)]
struct Saturating<const MOST: u8>(u8);

impl<const MOST: u8> Saturating<MOST> {
    fn is_high(self) -> bool {
        self.0 > MOST / 2
    }

    fn learn(&mut self, up: bool) {
        self.0 = if up { (self.0 + 1).min(MOST) } else { self.0.saturating_sub(1) };
    }
}

const LOCAL: usize = 1 << 10;
const GLOBAL: usize = 1 << 12;

/// The predictor.
struct Predictor {
    /// By block, the last outcomes of its branch.
    histories: Vec<u16>,
    local: Vec<Saturating<7>>,
    global: Vec<Saturating<3>>,
    choice: Vec<Saturating<3>>,
    /// The last outcomes of all branches.
    path: usize,
}

impl Predictor {
    fn new() -> Self {
        Self {
            histories: Vec::new(),
            local: vec![Saturating(3); LOCAL],
            global: vec![Saturating(1); GLOBAL],
            choice: vec![Saturating(1); GLOBAL],
            path: 0,
        }
    }

    /// The branch at the end of `block` jumped or not; whether that was predicted.
    fn predicts(&mut self, block: u32, jumped: bool) -> bool {
        let block = block as usize;
        if block >= self.histories.len() {
            self.histories.resize(block + 1, 0);
        }
        let history = usize::from(self.histories[block]);
        let (local, global) = (self.local[history].is_high(), self.global[self.path].is_high());
        let prediction = if self.choice[self.path].is_high() { global } else { local };
        if local != global {
            self.choice[self.path].learn(global == jumped);
        }
        self.local[history].learn(jumped);
        self.global[self.path].learn(jumped);
        self.histories[block] = ((history << 1 | usize::from(jumped)) & (LOCAL - 1)) as u16;
        self.path = (self.path << 1 | usize::from(jumped)) & (GLOBAL - 1);
        prediction == jumped
    }
}

/// The models of one thread and what they found, by the thread's counters.
pub struct Models {
    caches: [Cache; 2],
    predictor: Predictor,
    found: Vec<Modelled>,
}

impl Models {
    /// Empty caches of these sizes, and a predictor that has seen nothing.
    pub fn new(levels: [Level; 2]) -> Self {
        Self { caches: levels.map(Cache::new), predictor: Predictor::new(), found: Vec::new() }
    }

    /// What was found, by counter, for those where something was.
    pub fn found(self) -> impl Iterator<Item = (u32, Modelled)> {
        (0..).zip(self.found).filter(|(_, found)| *found != Modelled::default())
    }

    fn of(&mut self, counter: u32) -> &mut Modelled {
        let counter = counter as usize;
        if counter >= self.found.len() {
            self.found.resize(counter + 1, Modelled::default());
        }
        &mut self.found[counter]
    }

    /// An instruction, by its number in the block of `counter`, accesses the line.
    pub fn access(&mut self, counter: u32, instruction: usize, line: u64) {
        let [first, second] = &mut self.caches;
        if !first.fetch(line) {
            return;
        }
        let is_far = second.fetch(line);
        let fills = &mut self.of(counter).fills;
        if fills.len() <= instruction {
            fills.resize(instruction + 1, [0; 2]);
        }
        fills[instruction][0] += 1;
        fills[instruction][1] += u64::from(is_far);
    }

    /// The conditional branch at the end of the block of `counter` jumped or not.
    pub fn branch(&mut self, counter: u32, block: u32, jumped: bool) {
        if !self.predictor.predicts(block, jumped) {
            self.of(counter).mispredicted += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(text: &str) -> Level {
        text.parse().unwrap()
    }

    #[test]
    fn sizes_are_read_and_mistakes_told() {
        assert_eq!(level("32768x8"), Level { sets: 64, ways: 8 });
        for wrong in ["32768", "32768x0", "32768x7", "1000x1", "x", "99999999999999999999x1"] {
            assert!(wrong.parse::<Level>().unwrap_err().contains("no cache"), "{wrong}");
        }
    }

    #[test]
    fn the_line_used_least_recently_goes() {
        // Two sets of two lines: even lines share one.
        let mut cache = Cache::new(level("256x2"));
        let fetched = [0, 2, 0, 4, 0, 2, 1, 1].map(|line| cache.fetch(line));
        assert_eq!(fetched, [true, true, false, true, false, true, true, false]);
    }

    #[test]
    fn the_second_level_is_asked_for_what_the_first_lacks() {
        let mut models = Models::new([level("128x1"), level("1024x16")]);
        // Lines 0 and 2 push each other out of the first level and stay in the second.
        for line in [0, 2, 0, 2, 0, 1] {
            models.access(3, 1, line);
        }
        let found: Vec<_> = models.found().collect();
        assert_eq!(found, [(3, Modelled { place: 0, mispredicted: 0, fills: vec![[0, 0], [6, 3]] })]);
    }

    /// How many of the last thousand outcomes are not predicted.
    fn wrong(outcomes: impl Iterator<Item = bool>) -> usize {
        let mut predictor = Predictor::new();
        let all: Vec<bool> = outcomes.map(|jumped| predictor.predicts(7, jumped)).collect();
        all[all.len() - 1000..].iter().filter(|&&right| !right).count()
    }

    #[test]
    fn patterns_are_predicted_and_chance_is_not() {
        assert_eq!(wrong((0..2000).map(|_| true)), 0);
        assert_eq!(wrong((0..4000).map(|i| i % 2 == 0)), 0);
        assert_eq!(wrong((0..9000).map(|i| i % 7 == 0)), 0, "a period within the history");
        // Numerical Recipes' generator; its highest bit is as good as chance.
        let mut state = 1u32;
        let chance = wrong((0..20000).map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 31 == 1
        }));
        assert!((400..600).contains(&chance), "{chance}");
    }
}
