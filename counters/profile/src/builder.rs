//! Collects what one rank measured, in any order, and gives its profile.

use std::collections::{BTreeMap, HashMap};

use crate::{Histogram, Messages, Metric, Node, OfRank, OverRanks, Profile, Region, Traffic};

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
    messages: BTreeMap<u32, (Messages, Peers)>,
    keeps_rank: bool,
}

/// Messages by the rank at the other end.
type Peers = BTreeMap<Option<u32>, Traffic>;

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

    /// Adds messages of `node`, but for their distances, which follow from `peers`: the ranks at the other ends, `None` for those that
    /// have no number.
    pub fn add_messages(&mut self, node: u32, messages: &Messages, peers: &BTreeMap<Option<u32>, Traffic>) {
        let (sum, all) = self.messages.entry(node).or_default();
        sum.merge(messages);
        peers.iter().for_each(|(&peer, traffic)| all.entry(peer).or_default().merge(traffic));
    }

    /// The profile is to have what this rank measured as the rank's own, too.
    pub fn keep_rank(&mut self) {
        self.keeps_rank = true;
    }

    /// The profile of rank `rank`.
    #[must_use]
    pub fn finish(mut self, rank: u32) -> Profile {
        for (&node, (messages, peers)) in &mut self.messages {
            let known = peers.iter().filter_map(|(peer, traffic)| Some(((*peer)?, traffic)));
            for (peer, traffic) in known {
                messages.distances.add(Histogram::bucket(u64::from(peer.abs_diff(rank))), traffic.messages());
            }
            // Of an operation that has no peers, as a collective one, none is told. Those without a number are one.
            if !peers.is_empty() {
                self.values.insert((node, Metric::Peers), peers.len() as u64);
            }
        }
        let mut by_rank: BTreeMap<(u32, u32), OfRank> = BTreeMap::new();
        if self.keeps_rank {
            for (&(node, metric), &value) in &self.values {
                by_rank.entry((node, rank)).or_default().values.insert(metric, value);
            }
            for (&node, (messages, peers)) in &self.messages {
                let of = by_rank.entry((node, rank)).or_default();
                (of.messages, of.peers) = (messages.clone(), peers.clone());
            }
        }
        let messages = self.messages.into_iter().map(|(node, (messages, _))| (node, messages)).collect();
        let values = self.values.into_iter().map(|(key, value)| (key, OverRanks::of_rank(rank, value))).collect();
        let Self { regions, nodes, .. } = self;
        Profile { ranks: 1, regions, nodes, values, messages, by_rank, ..Profile::default() }
    }
}
