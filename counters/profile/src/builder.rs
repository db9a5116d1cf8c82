//! Collects what one rank measured, in any order, and gives its profile.

use std::collections::HashMap;

use crate::{Metric, Node, OverRanks, Profile, Region};

/// The profile of one rank under construction; what threads or calls measured at the same call path adds up.
///
/// ```
/// use poise_profile::{Metric, RankBuilder, Region, RegionKind};
///
/// let function = |name: &str| Region { name: name.into(), file: String::new(), line: 0, kind: RegionKind::Function };
/// let mut builder = RankBuilder::new();
/// let main = builder.node(None, function("main"));
/// let solve = builder.node(Some(main), function("solve"));
/// builder.add(solve, Metric::BasicBlocks, 40);
/// builder.add(solve, Metric::BasicBlocks, 2);
/// let profile = builder.finish(3);
/// assert_eq!(profile.values[&(solve, Metric::BasicBlocks)].sum, 42);
/// assert_eq!(profile.values[&(solve, Metric::BasicBlocks)].maximum, (42, 3));
/// ```
#[derive(Debug, Default)]
pub struct RankBuilder {
    regions: Vec<Region>,
    region_ids: HashMap<Region, u32>,
    nodes: Vec<Node>,
    node_ids: HashMap<(Option<u32>, u32), u32>,
    values: HashMap<(u32, Metric), u64>,
}

impl RankBuilder {
    /// Nothing measured yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The node of `region` below `parent` (a node of this builder), or a root; added if it is new.
    pub fn node(&mut self, parent: Option<u32>, region: Region) -> u32 {
        let next = self.regions.len() as u32;
        let region = *self.region_ids.entry(region).or_insert_with_key(|region| {
            self.regions.push(region.clone());
            next
        });
        let next = self.nodes.len() as u32;
        *self.node_ids.entry((parent, region)).or_insert_with(|| {
            self.nodes.push(Node { parent, region });
            next
        })
    }

    /// Adds `value` to a metric of `node`; a sum that overflows stays at the largest number. [`Metric::CommSize`]
    /// keeps the largest value instead.
    pub fn add(&mut self, node: u32, metric: Metric, value: u64) {
        let sum = self.values.entry((node, metric)).or_insert(0);
        *sum = if metric == Metric::CommSize { value.max(*sum) } else { sum.saturating_add(value) };
    }

    /// The profile of rank `rank`.
    #[must_use]
    pub fn finish(self, rank: u32) -> Profile {
        let values = self.values.into_iter().map(|(key, value)| (key, OverRanks::of_rank(rank, value))).collect();
        Profile { ranks: 1, regions: self.regions, nodes: self.nodes, values, ..Profile::default() }
    }
}
