//! The machine code that a run executed, instruction by instruction and function by function, with what was counted of each
//! and where it continues: what the detectors look at.

use std::collections::{BTreeMap, BTreeSet};

use poise_profile::{Code, Profile, RegionKind};

use crate::absorption::code::{Access, Flow, Step, a64, cycle, x86};
use crate::machine::classes::{self, Class};
use crate::machine::riscv;

/// What a conditional branch did over the whole run.
///
/// ```
/// use modeler::detect::Outcomes;
/// let loop_end = Outcomes { executions: 100, jumps: 99, turns: 1, mispredicted: 1 };
/// assert_eq!(loop_end.executions - loop_end.jumps, 1); // it was left once
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Executions.
    pub executions: u64,
    /// Executions that jumped.
    pub jumps: u64,
    /// Executions that did other than the one before.
    pub turns: u64,
    /// Executions that the model of a predictor predicted wrongly.
    pub mispredicted: u64,
}

/// An executed instruction.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its code.
    pub bytes: Vec<u8>,
    /// Where it is and continues.
    pub(crate) step: Step,
    /// Whether it reads memory.
    pub is_load: bool,
    /// Whether it accesses memory at all.
    pub is_access: bool,
    /// Executions.
    pub executions: u64,
    /// Lines that it fetched into the first and into the second level of the caches.
    pub fills: [u64; 2],
    /// What it did, if it is a conditional branch.
    pub outcomes: Outcomes,
}

/// The executed instructions of a function.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// Index of the function into the profile's regions.
    pub region: u32,
    /// By address.
    pub lines: Vec<Line>,
}

/// Decodes a block of machine code.
fn steps(instruction_set: &str, code: &Code) -> Vec<Step> {
    match instruction_set {
        "x86_64" => x86::decode(&code.bytes, code.address),
        "aarch64" => a64::decode(&code.bytes, code.address),
        _ => riscv::steps(code),
    }
}

/// The executed code of every function, by region. Functions below MPI operations are left out: they wait.
#[must_use]
pub fn listings(profile: &Profile) -> Vec<Listing> {
    let set = profile.metadata.get("instruction_set").map_or("", String::as_str);
    let mut sums = vec![Outcomes::default(); profile.phases.places.len()];
    for share in profile.phases.timelines.iter().flat_map(|t| &t.bins).flat_map(|bin| &bin.shares) {
        let sum = &mut sums[share.place as usize];
        sum.executions += share.count;
        sum.jumps += share.jumps;
        sum.turns += share.turns;
    }
    let mut fills: BTreeMap<u32, &[[u64; 2]]> = BTreeMap::new();
    for modelled in &profile.phases.modelled {
        sums[modelled.place as usize].mispredicted = modelled.mispredicted;
        fills.insert(modelled.place, &modelled.fills);
    }
    let mut functions: BTreeMap<u32, BTreeMap<u64, Line>> = BTreeMap::new();
    for ((number, place), sum) in (0..).zip(&profile.phases.places).zip(sums) {
        let region = profile.nodes[place.node as usize].region;
        let Some(code) = &place.code else { continue };
        if sum.executions == 0 || profile.regions[region as usize].kind == RegionKind::Mpi {
            continue;
        }
        let lines = functions.entry(region).or_default();
        add(lines, set, code, sum, fills.get(&number).copied().unwrap_or_default());
    }
    let listing =
        |(region, lines): (u32, BTreeMap<u64, Line>)| Listing { region, lines: lines.into_values().collect() };
    functions.into_iter().map(listing).collect()
}

/// Adds a block's executions to its instructions'.
fn add(lines: &mut BTreeMap<u64, Line>, set: &str, code: &Code, sum: Outcomes, fills: &[[u64; 2]]) {
    let steps = steps(set, code);
    let end = code.address + code.bytes.len() as u64;
    let ends: Vec<u64> = steps.iter().skip(1).map(|s| s.address).chain([end]).collect();
    let last = steps.len().saturating_sub(1);
    for (number, (step, end)) in steps.into_iter().zip(ends).enumerate() {
        let bytes = &code.bytes[(step.address - code.address) as usize..(end - code.address) as usize];
        let address = step.address;
        let line = lines.entry(address).or_insert_with(|| line(set, bytes, step));
        if line.bytes != bytes {
            // Other code was at this address before; what is rare is not looked at.
            continue;
        }
        line.executions += sum.executions;
        let fetched = fills.get(number).copied().unwrap_or_default();
        line.fills = [0, 1].map(|level| line.fills[level] + fetched[level]);
        if number == last && matches!(line.step.flow, Flow::Branch(_)) {
            let outcomes = &mut line.outcomes;
            outcomes.executions += sum.executions;
            outcomes.jumps += sum.jumps;
            outcomes.turns += sum.turns;
            outcomes.mispredicted += sum.mispredicted;
        }
    }
}

fn line(set: &str, bytes: &[u8], step: Step) -> Line {
    let code = Code { address: step.address, instructions: 1, ends_block: false, bytes: bytes.to_vec() };
    let classes = classes::decode(set, &code).classes.unwrap_or_default();
    let has = |all: &[Class]| all.iter().any(|&class| classes[class as usize] > 0);
    let is_load = has(&[Class::ScalarLoad, Class::VectorLoad]);
    let is_access = is_load || has(&[Class::ScalarStore, Class::VectorStore]) || step.access == Access::Memory;
    Line { bytes: code.bytes, step, is_load, is_access, executions: 0, fills: [0; 2], outcomes: Outcomes::default() }
}

impl Listing {
    /// Where each instruction continues among those that were executed.
    fn successors(&self) -> Vec<Vec<usize>> {
        let steps: Vec<Step> = self.lines.iter().map(|line| line.step.clone()).collect();
        let mut successors = cycle::successors(&steps);
        for (i, next) in successors.iter_mut().enumerate() {
            // What follows in the list need not follow in memory: what is between was not executed.
            let line = &self.lines[i];
            let behind = line.step.address + line.bytes.len() as u64;
            let target = match line.step.flow {
                Flow::Jump(target) | Flow::Branch(target) => Some(target),
                _ => None,
            };
            next.retain(|&to| [Some(behind), target].contains(&Some(self.lines[to].step.address)));
            next.dedup();
        }
        successors
    }

    /// The innermost natural loops: for each the indices of its instructions, in the order of memory, and of its header.
    #[must_use]
    pub fn innermost(&self) -> Vec<(usize, Vec<usize>)> {
        let successors = self.successors();
        if successors.is_empty() {
            return Vec::new();
        }
        // Functions are entered where they begin, and loops may be entered elsewhere where a function is left and
        // entered again: a node before all leads to what nothing else leads to, and to the first.
        let rooted = rooted(&successors);
        let bodies: BTreeMap<usize, BTreeSet<usize>> = cycle::bodies(&rooted);
        let bodies: Vec<(usize, BTreeSet<usize>)> = bodies
            .into_iter()
            .filter(|(header, _)| *header > 0)
            .map(|(header, body)| (header - 1, body.into_iter().filter(|&i| i > 0).map(|i| i - 1).collect()))
            .collect();
        let is_innermost = |header: usize, body: &BTreeSet<usize>| {
            !bodies.iter().any(|(other, inner)| *other != header && body.contains(other) && inner.len() < body.len())
        };
        let innermost = bodies.iter().filter(|(header, body)| is_innermost(*header, body));
        innermost.map(|(header, body)| (*header, body.iter().copied().collect())).collect()
    }

    /// For each instruction the branches, by their indices, on which it depends whether it is executed (Ferrante, Ottenstein and Warren,
    /// "The program dependence graph and its use in optimization", 1987, section 3.1): of a branch's successors
    /// all post-dominators up to, without it, the branch's own.
    #[must_use]
    pub fn controls(&self) -> Vec<BTreeSet<usize>> {
        let successors = self.successors();
        let count = successors.len();
        // Backwards, from a node that everything leads to that leads nowhere, to number 0; instruction i is node i + 1.
        let mut backwards = vec![Vec::new(); count + 1];
        for (from, all) in successors.iter().enumerate() {
            for &to in all {
                backwards[to + 1].push(from + 1);
            }
            if all.is_empty() {
                backwards[0].push(from + 1);
            }
        }
        let mut forwards = vec![Vec::new(); count + 1];
        for (from, all) in backwards.iter().enumerate() {
            all.iter().for_each(|&to| forwards[to].push(from));
        }
        let above = cycle::immediate_dominators(&backwards, &forwards);
        let mut controls = vec![BTreeSet::new(); count];
        for (branch, all) in successors.iter().enumerate().filter(|(_, all)| all.len() > 1) {
            let end = above[branch + 1];
            for &successor in all {
                let mut node = Some(successor + 1);
                while let Some(here) = node.filter(|&here| Some(here) != end && here > 0) {
                    if !controls[here - 1].insert(branch) {
                        break;
                    }
                    node = above[here];
                }
            }
        }
        controls
    }
}

/// A graph with a node 0 before all that leads to the first node and to all that nothing leads to.
fn rooted(successors: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut is_led_to = vec![false; successors.len()];
    successors.iter().flatten().for_each(|&to| is_led_to[to] = true);
    let entries = (0..successors.len()).filter(|&i| i == 0 || !is_led_to[i]).map(|i| i + 1).collect();
    let moved = successors.iter().map(|all| all.iter().map(|to| to + 1).collect());
    std::iter::once(entries).chain(moved).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Instructions of one byte, each with where it continues.
    fn listing(flows: &[Flow]) -> Listing {
        let line = |(address, &flow): (u64, &Flow)| Line {
            bytes: vec![0x90],
            step: Step { address, flow, access: Access::None, key: String::new() },
            is_load: false,
            is_access: false,
            executions: 1,
            fills: [0; 2],
            outcomes: Outcomes::default(),
        };
        Listing { region: 0, lines: (0..).zip(flows).map(line).collect() }
    }

    #[test]
    fn what_a_branch_decides_depends_on_it() {
        use Flow::{Branch, Jump, Next, Stop};
        // 0: if (…) goto 3; 1; 2: goto 4; 3; 4: if (…) goto 0; 5: return
        let listing = listing(&[Branch(3), Next, Jump(4), Next, Branch(0), Stop]);
        let controls = listing.controls();
        let of = |i: usize| controls[i].iter().copied().collect::<Vec<_>>();
        // Both arms depend on the first branch; the head, the first branch and the loop's end on whether it goes round.
        assert_eq!([of(1), of(2), of(3)], [vec![0], vec![0], vec![0]]);
        assert_eq!([of(0), of(4), of(5)], [vec![4], vec![4], vec![]]);
        assert_eq!(listing.innermost(), [(0, vec![0, 1, 2, 3, 4])]);
    }

    #[test]
    fn only_the_inner_of_nested_loops_is_innermost() {
        use Flow::{Branch, Next, Stop};
        // 0; 1: while (…) goto 1; 2: while (…) goto 0; 3: return
        let listing = listing(&[Next, Branch(1), Branch(0), Stop]);
        assert_eq!(listing.innermost(), [(1, vec![1])]);
    }

    #[test]
    fn code_between_that_was_not_executed_is_not_followed_through() {
        use Flow::{Branch, Next};
        let mut listing = listing(&[Branch(2), Next, Next]);
        listing.lines.remove(1);
        assert_eq!(listing.successors(), [vec![1], vec![]]);
    }
}
