//! How profiles of different ranks become one, and the canonical order of a profile's parts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{Messages, Metric, Node, Noise, OfRank, OverRanks, Phases, Profile, ProfileError, Region};

impl Profile {
    /// Adds what `other` measured on other ranks. Nodes are the same if their call paths are equal by the regions'
    /// values; sums and ranks add; minima and maxima go to the lowest rank that had them; a metadata value that
    /// differs becomes its distinct lines, sorted.
    ///
    /// The result is in canonical order (regions sorted, nodes depth first with siblings sorted by region), so it does
    /// not depend on the order in which profiles merge.
    ///
    /// # Errors
    /// [`ProfileError::Inconsistent`] if either profile fails [`Profile::check`], a number of ranks or a sum overflows, or
    /// bins do not fit together; `self` is then unchanged.
    pub fn merge(&mut self, other: Self) -> Result<(), ProfileError> {
        self.check()?;
        other.check()?;
        let overflow =
            || ProfileError::Inconsistent { what: "the merged profiles have more ranks than 2^32".to_owned() };
        let ranks = self.ranks.checked_add(other.ranks).ok_or_else(overflow)?;
        let mut tree = Tree::new([&*self, &other]);
        let nodes = [tree.add(self)?, tree.add(&other)?];
        let (mut merged, moved) = tree.finish();
        let [here, there] = nodes.map(|nodes| renumbered(&nodes, &moved));
        merged.phases = Phases::union([(&self.phases, here.clone()), (&other.phases, there.clone())])?;
        merged.messages = messages([(&self.messages, &here), (&other.messages, &there)]);
        merged.by_rank = by_rank([(&self.by_rank, &here), (&other.by_rank, &there)]);
        merged.noise = Noise::union([(&self.noise, here), (&other.noise, there)]);
        merged.ranks = ranks;
        merged.metadata = std::mem::take(&mut self.metadata);
        for (key, value) in other.metadata {
            merge_text(merged.metadata.entry(key), value);
        }
        *self = merged;
        Ok(())
    }

    /// The same profile in canonical order: regions sorted and each once, nodes depth first with siblings sorted by
    /// region. Siblings of equal regions become one.
    ///
    /// # Errors
    /// [`ProfileError::Inconsistent`] if the profile fails [`Profile::check`].
    pub fn canonical(&self) -> Result<Self, ProfileError> {
        self.check()?;
        let mut tree = Tree::new([self]);
        let here = tree.add(self)?;
        let (canonical, moved) = tree.finish();
        let nodes = renumbered(&here, &moved);
        let phases = Phases::union([(&self.phases, nodes.clone()), (&Phases::default(), Vec::new())])?;
        let (messages, by_rank) = (messages([(&self.messages, &nodes)]), by_rank([(&self.by_rank, &nodes)]));
        let noise = Noise::union([(&self.noise, nodes)]);
        Ok(Self { metadata: self.metadata.clone(), ranks: self.ranks, noise, phases, messages, by_rank, ..canonical })
    }
}

/// The sum of the profiles' messages, by the nodes' new numbers.
fn messages<const N: usize>(parts: [(&BTreeMap<u32, Messages>, &Vec<u32>); N]) -> BTreeMap<u32, Messages> {
    let mut merged: BTreeMap<u32, Messages> = BTreeMap::new();
    for (part, nodes) in parts {
        part.iter().for_each(|(&node, messages)| merged.entry(nodes[node as usize]).or_default().merge(messages));
    }
    merged
}

/// By node and rank.
type ByRank = BTreeMap<(u32, u32), OfRank>;

/// What the profiles' ranks had, by the nodes' new numbers. A rank that is in several is taken for several that did what it did.
fn by_rank<const N: usize>(parts: [(&ByRank, &Vec<u32>); N]) -> ByRank {
    let mut merged = ByRank::new();
    for (part, nodes) in parts {
        for (&(node, rank), of) in part {
            merged.entry((nodes[node as usize], rank)).or_default().merge(of);
        }
    }
    merged
}

/// Each node's number in the finished profile, from its number in the tree.
fn renumbered(here: &[u32], moved: &[u32]) -> Vec<u32> {
    here.iter().map(|&node| moved[node as usize]).collect()
}

/// The union of both texts' lines, each once and in order, so that merging is associative and commutative.
fn merge_text(entry: std::collections::btree_map::Entry<'_, String, String>, value: String) {
    use std::collections::btree_map::Entry;
    match entry {
        Entry::Vacant(vacant) => {
            vacant.insert(value);
        }
        Entry::Occupied(mut occupied) if *occupied.get() != value => {
            let lines: BTreeSet<&str> = occupied.get().split('\n').chain(value.split('\n')).collect();
            let lines = lines.into_iter().collect::<Vec<_>>().join("\n");
            occupied.insert(lines);
        }
        Entry::Occupied(_) => {}
    }
}

/// `a` and `b` of different ranks as one; `None` if a sum or number of ranks overflows.
fn combine(a: &OverRanks, b: &OverRanks) -> Option<OverRanks> {
    let by_value_then_lowest_rank = |&(value, rank): &(u64, u32)| (value, std::cmp::Reverse(rank));
    Some(OverRanks {
        ranks: a.ranks.checked_add(b.ranks)?,
        sum: a.sum.checked_add(b.sum)?,
        minimum: a.minimum.min(b.minimum),
        maximum: std::cmp::max_by_key(a.maximum, b.maximum, by_value_then_lowest_rank),
    })
}

/// A call tree under construction, over a fixed sorted set of regions.
struct Tree<'a> {
    regions: Vec<&'a Region>,
    nodes: Vec<Node>,
    index: HashMap<(Option<u32>, u32), u32>,
    values: HashMap<(u32, Metric), OverRanks>,
}

impl<'a> Tree<'a> {
    /// An empty tree over the regions that nodes of `profiles` use.
    fn new<const N: usize>(profiles: [&'a Profile; N]) -> Self {
        let used = profiles.iter().flat_map(|p| p.nodes.iter().map(|node| &p.regions[node.region as usize]));
        let regions: BTreeSet<&Region> = used.collect();
        Self {
            regions: regions.into_iter().collect(),
            nodes: Vec::new(),
            index: HashMap::new(),
            values: HashMap::new(),
        }
    }

    /// Adds the nodes and values of `profile`, which was checked; gives each node's number in this tree.
    fn add(&mut self, profile: &'a Profile) -> Result<Vec<u32>, ProfileError> {
        let position = |region| self.regions.binary_search(&region).unwrap_or(0) as u32;
        let regions: Vec<u32> = profile.regions.iter().map(position).collect();
        let mut here: Vec<u32> = Vec::with_capacity(profile.nodes.len());
        for node in &profile.nodes {
            let parent = node.parent.map(|parent| here[parent as usize]);
            here.push(self.node(Node { parent, region: regions[node.region as usize] }));
        }
        for (&(node, metric), value) in &profile.values {
            let overflow = || ProfileError::Inconsistent { what: format!("the sum of {} overflows", metric.name()) };
            let entry = self.values.entry((here[node as usize], metric));
            let mut fits = true;
            entry
                .and_modify(|sum| match combine(sum, value) {
                    Some(combined) => *sum = combined,
                    None => fits = false,
                })
                .or_insert(*value);
            if !fits {
                return Err(overflow());
            }
        }
        Ok(here)
    }

    /// The index of this node, which is added if it is new.
    fn node(&mut self, node: Node) -> u32 {
        let next = self.nodes.len() as u32;
        *self.index.entry((node.parent, node.region)).or_insert_with(|| {
            self.nodes.push(node);
            next
        })
    }

    /// The profile in canonical order, without metadata, number of ranks and noise; and each node's number in it.
    fn finish(self) -> (Profile, Vec<u32>) {
        // Children by parent, siblings by region: the position of `None` comes first.
        let mut order: Vec<u32> = (0..self.nodes.len() as u32).collect();
        order.sort_by_key(|&i| {
            let node = &self.nodes[i as usize];
            (node.parent, std::cmp::Reverse(node.region))
        });
        let children = |parent: Option<u32>| {
            let start = order.partition_point(|&i| self.nodes[i as usize].parent < parent);
            let end = order.partition_point(|&i| self.nodes[i as usize].parent <= parent);
            &order[start..end]
        };
        let mut nodes = Vec::with_capacity(self.nodes.len());
        let mut moved = vec![0u32; self.nodes.len()];
        // Not recursive: a call tree can be deeper than the stack. Siblings are pushed last first.
        let mut stack: Vec<u32> = children(None).to_vec();
        while let Some(old) = stack.pop() {
            let node = self.nodes[old as usize];
            moved[old as usize] = nodes.len() as u32;
            nodes.push(Node { parent: node.parent.map(|parent| moved[parent as usize]), region: node.region });
            stack.extend_from_slice(children(Some(old)));
        }
        let values: BTreeMap<_, _> =
            self.values.into_iter().map(|((node, metric), value)| ((moved[node as usize], metric), value)).collect();
        let regions = self.regions.into_iter().cloned().collect();
        (Profile { regions, nodes, values, ..Profile::default() }, moved)
    }
}
