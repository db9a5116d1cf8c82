//! The profile of one run: one call tree for all ranks and threads, with each metric's sum, minimum and maximum over
//! ranks at every node. What it holds, how the profiles of ranks merge, and the file format (`docs/formats.md`).
//!
//! The runtime writes profiles inside measured programs, so this crate depends on little and never panics on input.

mod builder;
mod codec;
mod error;
mod file;
mod merge;
mod messages;
mod noise;
mod phases;
mod run;

use std::collections::BTreeMap;

pub use builder::RankBuilder;
pub use codec::EncodedPhases;
pub use error::ProfileError;
pub use file::{can_be_written, write_encoded};
pub use messages::{Histogram, Messages, OfRank, Traffic};
pub use noise::{Burst, Loop, Noise, Series, VARIANTS};
pub use phases::{Bin, BinUnit, Code, Modelled, Phases, Place, Share, Shares, Timeline, joining_hides};
pub use run::{
    BEGAN, HYDRA, LAUNCHERS, began, date, earlier, forget_earlier_runs, is_first_to_say, is_of_this_run, leave,
    on_rank, own_rank, said_beside, starts_ranks, told_by_launcher,
};

/// What a region of code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RegionKind {
    /// A function of the measured program.
    Function,
    /// An MPI operation.
    Mpi,
    /// Marked by hand.
    User,
    /// A function of the measured program where it was inlined: a part of the function that it is in, without visits and
    /// time of its own.
    Inlined,
}

/// A function, MPI operation or marked region.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Region {
    /// Name as the linker knows it.
    pub name: String,
    /// Source file; empty where unknown.
    pub file: String,
    /// Source line; 0 where unknown.
    pub line: u32,
    /// What it is.
    pub kind: RegionKind,
}

/// A node of the call tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Index of the caller's node, which is smaller than this node's; `None` at a root.
    pub parent: Option<u32>,
    /// Index into [`Profile::regions`].
    pub region: u32,
}

/// A quantity's unit and arithmetic. The names are the contract's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Metric {
    /// Number of times the call path was entered.
    Visits,
    /// Exclusive time in nanoseconds.
    Time,
    /// Executed basic blocks, exclusive.
    BasicBlocks,
    /// Bytes that MPI calls sent.
    BytesSent,
    /// Bytes that MPI calls received.
    BytesReceived,
    /// Ranks of the largest communicator used; per rank the largest that it saw.
    CommSize,
    /// Waiting for other ranks by the logical clock, in its ticks: what no noise can change.
    LogicalWait,
    /// Waiting for other ranks in nanoseconds, a part of the time.
    WaitTime,
    /// Executed basic blocks that only asked again after an MPI test without success; not in [`Metric::BasicBlocks`].
    PollingBlocks,
    /// Executed instructions, exclusive.
    Instructions,
    /// Executed basic blocks of a function with those of the functions that were inlined into it, which are callees in the
    /// tree; only where there are such. It is what the function's time was spent on.
    CompiledBlocks,
    /// Ranks that messages were exchanged with, each counted once per rank and call path.
    Peers,
    /// Waiting for a message that was sent after its receive had begun, in nanoseconds; a part of [`Metric::WaitTime`].
    LateSender,
    /// Waiting of a send for its receive to begin, in nanoseconds; a part of [`Metric::WaitTime`].
    LateReceiver,
}

impl Metric {
    /// Every metric, in the order of the file format's codes.
    pub const ALL: [Self; 14] = [
        Self::Visits,
        Self::Time,
        Self::BasicBlocks,
        Self::BytesSent,
        Self::BytesReceived,
        Self::CommSize,
        Self::LogicalWait,
        Self::WaitTime,
        Self::PollingBlocks,
        Self::Instructions,
        Self::CompiledBlocks,
        Self::Peers,
        Self::LateSender,
        Self::LateReceiver,
    ];

    /// The metric's public name, such as `basic_blocks`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Visits => "visits",
            Self::Time => "time",
            Self::BasicBlocks => "basic_blocks",
            Self::BytesSent => "bytes_sent",
            Self::BytesReceived => "bytes_received",
            Self::CommSize => "comm_size",
            Self::LogicalWait => "logical_wait",
            Self::WaitTime => "wait_time",
            Self::PollingBlocks => "polling_blocks",
            Self::Instructions => "instructions",
            Self::CompiledBlocks => "compiled_blocks",
            Self::Peers => "peers",
            Self::LateSender => "late_sender",
            Self::LateReceiver => "late_receiver",
        }
    }
}

/// One metric at one node over the ranks that reached the node. Values are exact integers (times in nanoseconds).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverRanks {
    /// Ranks that reached the node.
    pub ranks: u32,
    /// Sum over these ranks.
    pub sum: u128,
    /// Smallest value, and the lowest rank that had it.
    pub minimum: (u64, u32),
    /// Largest value, and the lowest rank that had it.
    pub maximum: (u64, u32),
}

/// What one run left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Facts about the run by key, such as `tool_version`, `clock`, `mpi_library`, `parameter.n`.
    pub metadata: BTreeMap<String, String>,
    /// Number of ranks that took part.
    pub ranks: u32,
    /// The regions that the nodes refer to.
    pub regions: Vec<Region>,
    /// The call tree, callers before callees.
    pub nodes: Vec<Node>,
    /// Values by node index and metric; a metric a node has no entry for was never measured there.
    pub values: BTreeMap<(u32, Metric), OverRanks>,
    /// What noise injection measured; empty in a run without it.
    pub noise: Noise,
    /// Effort over time; empty in a run that was not asked for it.
    pub phases: Phases,
    /// Messages of all ranks by node index.
    pub messages: BTreeMap<u32, Messages>,
    /// What each rank had, by node index and rank; empty in a run that was not asked for it.
    pub by_rank: BTreeMap<(u32, u32), OfRank>,
}

impl OverRanks {
    /// What a single rank measured.
    #[must_use]
    pub fn of_rank(rank: u32, value: u64) -> Self {
        Self { ranks: 1, sum: u128::from(value), minimum: (value, rank), maximum: (value, rank) }
    }
}

impl Profile {
    /// The regions from the root to `node`, outermost first; `None` where `node` or a region it needs does not exist.
    #[must_use]
    pub fn path(&self, node: u32) -> Option<Vec<&Region>> {
        let mut path = Vec::new();
        let mut next = Some(node);
        while let Some(index) = next {
            let node = self.nodes.get(index as usize)?;
            path.push(self.regions.get(node.region as usize)?);
            // A caller precedes its callees, so this ends even on a tree that nobody checked.
            next = node.parent.filter(|&parent| parent < index);
        }
        path.reverse();
        Some(path)
    }

    /// Checks that the parts fit together: references exist, callers precede callees, and each value's minimum, sum
    /// and maximum are possible for its number of ranks.
    ///
    /// # Errors
    /// [`ProfileError::Inconsistent`], naming the first part that does not fit.
    pub fn check(&self) -> Result<(), ProfileError> {
        let inconsistent = |what: String| Err(ProfileError::Inconsistent { what });
        if u32::try_from(self.nodes.len()).is_err() || u32::try_from(self.regions.len()).is_err() {
            return inconsistent("more than 2^32 nodes or regions".to_owned());
        }
        for (index, node) in self.nodes.iter().enumerate() {
            if node.region as usize >= self.regions.len() {
                return inconsistent(format!("node {index} refers to region {}, which does not exist", node.region));
            }
            if node.parent.is_some_and(|parent| parent as usize >= index) {
                return inconsistent(format!("node {index} does not follow its caller"));
            }
        }
        for (&(node, metric), value) in &self.values {
            if node as usize >= self.nodes.len() {
                return inconsistent(format!("a value refers to node {node}, which does not exist"));
            }
            if !value.is_possible() || value.ranks > self.ranks {
                return inconsistent(format!("{} of node {node} is impossible: {value:?}", metric.name()));
            }
        }
        messages::check(&self.messages, &self.by_rank, self.nodes.len())?;
        self.noise.check(self.nodes.len())?;
        self.phases.check(self.nodes.len())
    }
}

impl OverRanks {
    /// Whether some `ranks` values have this minimum, sum and maximum.
    fn is_possible(&self) -> bool {
        let (low, high) = (u128::from(self.minimum.0), u128::from(self.maximum.0));
        match u128::from(self.ranks) {
            0 => false,
            1 => self.minimum == self.maximum && self.sum == low,
            // At least one value is the minimum and one the maximum; the others lie between.
            n => low <= high && (n - 1) * low + high <= self.sum && self.sum <= low + (n - 1) * high,
        }
    }
}
