//! What noise injection measured: loops, the modes and quantities injected into them, and how long bursts of executions
//! took. The runtime writes it, `modeler::absorption` reads it.
//!
//! A *burst* is some executions of one loop in a row, all with the same mode and quantity. A *round* is a few bursts of one
//! thread close to each other in time, in random order, at least one of them without noise: what slows the machine for
//! longer than a round slows both sides of a pair alike.

use std::collections::{BTreeMap, BTreeSet};

use crate::ProfileError;

/// The metadata that says which noise loops were built with: a line `mode:k,k,…` per mode. Measurements need not reach them all.
pub const VARIANTS: &str = "noise.variants";

/// A loop that the pass considered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Loop {
    /// The function that holds the loop's code, as the linker knows it.
    pub function: String,
    /// Source file; empty where unknown.
    pub file: String,
    /// Source line of the loop's first statement; 0 where unknown.
    pub line: u32,
    /// Number of the loop in its function, which stays the same from build to build.
    pub id: u32,
    /// How many iterations of the source one iteration of the machine code does (vector width times unrolling); 0 where
    /// that is unknown.
    pub width: u32,
    /// Why the pass could not inject noise into it, in a sentence; empty where it could.
    pub refusal: String,
}

impl Loop {
    /// Whether the loop is at `place`: the function's name, or `file:line`.
    #[must_use]
    pub fn is_at(&self, place: &str) -> bool {
        let is_of_file = |name: &str| self.file == name || self.file.ends_with(&format!("/{name}"));
        let (name, line) = place.rsplit_once(':').unwrap_or((place, ""));
        place == self.function || (line.parse() == Ok(self.line) && is_of_file(name))
    }
}

/// One burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Burst {
    /// The round; it never decreases within a series.
    pub round: u32,
    /// Index into [`Noise::modes`]; any mode where `k` is 0.
    pub mode: u32,
    /// The noise quantity: patterns injected into each iteration.
    pub k: u32,
    /// Executions of the loop in this burst, at least one; a chunk of iterations of a long execution counts as one.
    pub entries: u64,
    /// Iterations of the machine code over all entries, where they are known.
    pub iterations: Option<u64>,
    /// Elapsed time of all entries in nanoseconds.
    pub nanoseconds: u64,
}

/// The bursts of one loop at one call path, on one thread of one rank.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Series {
    /// Index into the profile's nodes: the call path that ran the loop.
    pub node: u32,
    /// Index into [`Noise::loops`].
    pub target: u32,
    /// The rank.
    pub rank: u32,
    /// Number of the thread in its process.
    pub thread: u32,
    /// Executions of the loop, measured or not.
    pub executions: u64,
    /// Bursts that did not fit into memory, and rounds of executions too brief for the clock: where there are no bursts, that is why.
    pub left_out: u64,
    /// The bursts in the order in which they ran.
    pub bursts: Vec<Burst>,
}

/// All that noise injection measured in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Noise {
    /// Names of the modes, such as `fp_add64`.
    pub modes: Vec<String>,
    /// The loops, those without noise among them.
    pub loops: Vec<Loop>,
    /// What was measured.
    pub series: Vec<Series>,
}

impl Noise {
    /// Whether nothing was injected and nothing refused, as in a run without noise.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.modes.is_empty() && self.loops.is_empty() && self.series.is_empty()
    }

    /// Whether noise was injected into any loop; where loops were found too short for that, there are series without bursts.
    #[must_use]
    pub fn is_injected(&self) -> bool {
        self.series.iter().any(|series| !series.bursts.is_empty())
    }

    /// Checks that references exist and bursts are possible, in a profile of `nodes` nodes.
    pub(crate) fn check(&self, nodes: usize) -> Result<(), ProfileError> {
        for (index, series) in self.series.iter().enumerate() {
            let wrong = |what: String| {
                Err(ProfileError::Inconsistent { what: format!("series {index} of noise bursts {what}") })
            };
            if series.node as usize >= nodes {
                return wrong(format!("refers to node {}, which does not exist", series.node));
            }
            if series.target as usize >= self.loops.len() {
                return wrong(format!("refers to loop {}, which does not exist", series.target));
            }
            if let Some(burst) = series.bursts.iter().find(|b| b.mode as usize >= self.modes.len() || b.entries == 0) {
                return wrong(format!("has an impossible burst: {burst:?}"));
            }
            if series.bursts.windows(2).any(|pair| pair[1].round < pair[0].round) {
                return wrong("goes back to an earlier round".to_owned());
            }
        }
        Ok(())
    }

    /// The union of several, each with the new number of each node of its profile, in an order that does not depend on
    /// theirs. All must have been checked.
    pub(crate) fn union<'a>(parts: impl IntoIterator<Item = (&'a Self, Vec<u32>)> + Clone) -> Self {
        let loops: BTreeSet<&Loop> = parts.clone().into_iter().flat_map(|(part, _)| &part.loops).collect();
        let modes: BTreeSet<&String> = parts.clone().into_iter().flat_map(|(part, _)| &part.modes).collect();
        let mut series: Vec<Series> = Vec::new();
        for (part, nodes) in parts {
            let target = positions(&part.loops, &loops);
            let mode = positions(&part.modes, &modes);
            series.extend(part.series.iter().map(|s| Series {
                node: nodes[s.node as usize],
                target: target[s.target as usize],
                bursts: s.bursts.iter().map(|b| Burst { mode: mode[b.mode as usize], ..*b }).collect(),
                ..*s
            }));
        }
        series.sort();
        Self { modes: modes.into_iter().cloned().collect(), loops: loops.into_iter().cloned().collect(), series }
    }
}

/// Where each of `items` stands in the sorted set that holds them all.
fn positions<T: Ord>(items: &[T], all: &BTreeSet<&T>) -> Vec<u32> {
    let place: BTreeMap<&T, u32> = all.iter().zip(0..).map(|(&item, place)| (item, place)).collect();
    items.iter().map(|item| place[item]).collect()
}
