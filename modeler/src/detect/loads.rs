//! Branches that are hard to predict, and loads from far away that wait for one (section 4.3 of the paper).

use super::listing::{Line, Listing, Outcomes};
use super::{Finding, Place, Variant, percent};

/// A conditional branch.
///
/// ```
/// use modeler::detect::{Branch, Outcomes, Place};
/// let place = Place { function: "find".into(), line: "find.c:3".into(), address: 0x1000 };
/// let branch = Branch { place, outcomes: Outcomes { executions: 100, jumps: 50, turns: 51, mispredicted: 49 } };
/// assert!(branch.outcomes.entropy_rate() > 0.99); // as a coin
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// Where it is.
    pub place: Place,
    /// What it did.
    pub outcomes: Outcomes,
}

/// A load whose execution a branch decides.
///
/// ```
/// use modeler::detect::{Branch, Conditioned, Outcomes, Place};
/// let place = |line: &str, address| Place { function: "find".into(), line: line.into(), address };
/// let outcomes = Outcomes { executions: 200, jumps: 100, turns: 101, mispredicted: 99 };
/// let branch = Branch { place: place("find.c:3", 0x1000), outcomes };
/// let load = Conditioned { place: place("find.c:4", 0x1004), executions: 100, fills: [90, 80], branch };
/// assert_eq!(load.executions, load.branch.outcomes.jumps); // it stands where the branch jumps to
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Conditioned {
    /// Where the load is.
    pub place: Place,
    /// Its executions.
    pub executions: u64,
    /// Lines that it fetched into the first and into the second level of the caches.
    pub fills: [u64; 2],
    /// The branch that decides and is predicted worst.
    pub branch: Branch,
}

/// Wrong predictions of an execution from which a branch is hard to predict.
const HARD: f64 = 0.05;
/// Executions that fetch a line from beyond the modelled caches from which a load is of long latency.
const FAR: f64 = 0.05;

/// Instructions that could be executed instead of waiting for a line from far away or after a wrong prediction: some 20 cycles of
/// several instructions each, rounded down.
const COST: u64 = 20;

/// The entropy of a choice with probability `p`, in bits (Shannon, "A mathematical theory of communication", 1948, section 6).
fn entropy(p: f64) -> f64 {
    let term = |p: f64| if p > 0.0 { -p * p.log2() } else { 0.0 };
    term(p) + term(1.0 - p)
}

impl Outcomes {
    /// The entropy of its outcome, in bits: 0 where it always does the same, 1 where it does either as often.
    ///
    /// ```
    /// use modeler::detect::Outcomes;
    /// let branch = Outcomes { executions: 100, jumps: 50, turns: 99, mispredicted: 50 };
    /// assert_eq!(branch.entropy(), 1.0); // it jumps as often as not
    /// ```
    #[must_use]
    pub fn entropy(&self) -> f64 {
        entropy(self.jumps as f64 / self.executions.max(1) as f64)
    }

    /// The entropy of its outcome if the one before is known, in bits: the rate of a Markov chain of two states (Shannon, section 7). It
    /// changes from either state about half as often as it changes.
    ///
    /// ```
    /// use modeler::detect::Outcomes;
    /// // It does other than the time before each time, so that the one before tells it.
    /// let branch = Outcomes { executions: 100, jumps: 50, turns: 100, mispredicted: 50 };
    /// assert_eq!((branch.entropy(), branch.entropy_rate()), (1.0, 0.0));
    /// ```
    #[must_use]
    pub fn entropy_rate(&self) -> f64 {
        let changes = 0.5 * self.turns as f64;
        let of = |state: u64| match state {
            0 => 0.0,
            count => count as f64 * entropy((changes / count as f64).min(1.0)),
        };
        (of(self.jumps) + of(self.executions - self.jumps.min(self.executions))) / self.executions.max(1) as f64
    }
}

/// All branches, the one of the most wrong predictions first, and the loads behind them. `share` is the least part of `all`
/// executed instructions that a branch's wrong predictions or a load's fetched lines must cost.
pub fn find(
    listings: &[Listing],
    all: u64,
    share: f64,
    place: &mut impl FnMut(u32, &Line) -> Place,
) -> (Vec<Branch>, Vec<Conditioned>) {
    let least = ((share * all as f64) as u64 / COST).max(1);
    let is_hard = |line: &Line| {
        let Outcomes { executions, mispredicted, .. } = line.outcomes;
        mispredicted >= least && mispredicted as f64 >= HARD * executions as f64
    };
    let is_far =
        |line: &Line| line.is_load && line.fills[1] >= least && line.fills[1] as f64 >= FAR * line.executions as f64;
    let (mut branches, mut loads) = (Vec::new(), Vec::new());
    for listing in listings {
        let mut branch = |line: &Line| Branch { place: place(listing.region, line), outcomes: line.outcomes };
        branches.extend(listing.lines.iter().filter(|line| line.outcomes.executions > 0).map(&mut branch));
        if !listing.lines.iter().any(is_far) {
            continue;
        }
        let controls = listing.controls();
        for (line, deciding) in listing.lines.iter().zip(controls).filter(|(line, _)| is_far(line)) {
            let deciding = deciding.into_iter().map(|i| &listing.lines[i]).filter(|line| is_hard(line));
            let Some(worst) = deciding.max_by_key(|line| line.outcomes.mispredicted) else { continue };
            let branch = Branch { place: place(listing.region, worst), outcomes: worst.outcomes };
            let place = place(listing.region, line);
            loads.push(Conditioned { place, executions: line.executions, fills: line.fills, branch });
        }
    }
    branches.sort_by_key(|b| (std::cmp::Reverse(b.outcomes.mispredicted), b.place.address));
    loads.sort_by_key(|load| (std::cmp::Reverse(load.fills[1]), load.place.address));
    (branches, loads)
}

impl Conditioned {
    /// The finding.
    pub(super) fn finding(&self, variant: &Variant, prefix: &str) -> Finding {
        let Branch { place, outcomes } = &self.branch;
        let executions = outcomes.executions;
        let cost = COST.saturating_mul(self.fills[1].saturating_add(outcomes.mispredicted));
        Finding {
            detector: "conditioned-loads",
            what: format!(
                "{prefix}A load in {} fetches from far away, and waits for a branch in {place} that is hard to predict.",
                self.place
            ),
            share: (cost as f64 / variant.instructions.max(1) as f64).min(1.0),
            evidence: vec![
                format!(
                    "The load was executed {} times; {} of them fetched a line into the first level of the caches, {} into the second.",
                    self.executions,
                    percent(self.fills[0], self.executions),
                    percent(self.fills[1], self.executions)
                ),
                format!(
                    "The branch was executed {executions} times and jumped in {}: {:.2} bits of entropy, {:.2} if the outcome before is known.",
                    percent(outcomes.jumps, executions),
                    outcomes.entropy(),
                    outcomes.entropy_rate()
                ),
                format!(
                    "A predictor as the {}'s is wrong in {}.",
                    variant.predictor,
                    percent(outcomes.mispredicted, executions)
                ),
            ],
            doubt: vec![
                format!(
                    "The caches are a model ({}; the line used least recently goes, nothing is fetched in advance), and so is the predictor; newer \
                     ones know longer patterns.",
                    variant.cache
                ),
                "Before the branch the load may begin earlier, if its address is valid there; it then also fetches what is not needed.".into(),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropies_are_those_of_a_chain_of_two_states() {
        let of = |executions, jumps, turns| Outcomes { executions, jumps, turns, mispredicted: 0 };
        assert_eq!((of(1000, 1000, 0).entropy(), of(1000, 1000, 0).entropy_rate()), (0.0, 0.0));
        // Every other one: either as often, and known from the one before.
        assert_eq!((of(1000, 500, 1000).entropy(), of(1000, 500, 1000).entropy_rate()), (1.0, 0.0));
        // A coin: it changes every other time.
        assert_eq!(of(1000, 500, 500).entropy_rate(), 1.0);
        // Two of three, in a pattern of three: from "not" always to "jump", from "jump" half the time; 2/3 bit.
        assert!((of(3000, 2000, 2000).entropy_rate() - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(of(0, 0, 0).entropy_rate(), 0.0);
    }
}
