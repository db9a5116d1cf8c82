//! The profile of one run: one call tree for all ranks and threads, with each metric's sum, minimum and maximum over
//! ranks at every node. What it holds, how the profiles of ranks merge, and the file format (`docs/formats.md`).
//!
//! The runtime writes profiles inside measured programs, so this crate depends on nothing and never panics on input.

use std::collections::BTreeMap;

/// What a region of code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RegionKind {
    /// A function of the measured program.
    Function,
    /// An MPI operation.
    Mpi,
    /// Marked by hand.
    User,
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
    /// Ranks of the largest communicator used.
    CommSize,
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
}
