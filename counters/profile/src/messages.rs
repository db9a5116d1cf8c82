//! What MPI operations moved beyond sums: how large messages were, how far they went, and, where that was asked for, what
//! every single rank had.

use std::collections::BTreeMap;

use crate::{Metric, ProfileError};

/// Numbers by powers of two. Bucket 0 holds how many values were 0, bucket b how many lay from 2^(b−1) to 2^b − 1.
///
/// ```
/// use poise_profile::Histogram;
///
/// let mut sizes = Histogram::default();
/// [0, 8, 15, 16].into_iter().for_each(|bytes| sizes.add(Histogram::bucket(bytes), 1));
/// assert_eq!(sizes.counts.into_iter().collect::<Vec<_>>(), [(0, 1), (4, 2), (5, 1)]);
/// assert_eq!(Histogram::range(4), (8, 15));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// By bucket, from 0 to 64; buckets without values are missing.
    pub counts: BTreeMap<u8, u64>,
}

impl Histogram {
    /// The bucket of a value.
    #[must_use]
    pub const fn bucket(value: u64) -> u8 {
        (u64::BITS - value.leading_zeros()) as u8
    }

    /// Smallest and largest value of a bucket.
    #[must_use]
    pub const fn range(bucket: u8) -> (u64, u64) {
        match bucket {
            0 => (0, 0),
            1..=63 => (1 << (bucket - 1), (1 << bucket) - 1),
            _ => (1 << 63, u64::MAX),
        }
    }

    /// Adds `count` values to a bucket; a number that overflows stays at the largest.
    pub fn add(&mut self, bucket: u8, count: u64) {
        if count > 0 {
            let sum = self.counts.entry(bucket).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Self) {
        other.counts.iter().for_each(|(&bucket, &count)| self.add(bucket, count));
    }

    /// Number of values.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.values().fold(0, |sum, &count| sum.saturating_add(count))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }
}

/// Messages at one call path: those between two ranks, and of each other operation what one call sent or received where that is
/// not nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    /// By bytes, where they were sent.
    pub sent: Histogram,
    /// By bytes, where they arrived.
    pub received: Histogram,
    /// Those between two ranks of MPI_COMM_WORLD, in either direction, by the difference of the two ranks' numbers.
    pub distances: Histogram,
}

impl Messages {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all().into_iter().all(Histogram::is_empty)
    }

    /// Adds all of others.
    pub fn merge(&mut self, other: &Self) {
        self.sent.merge(&other.sent);
        self.received.merge(&other.received);
        self.distances.merge(&other.distances);
    }

    pub(crate) fn all(&self) -> [&Histogram; 3] {
        [&self.sent, &self.received, &self.distances]
    }
}

/// Messages with one other rank at one call path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages sent to it, and their bytes.
    pub sent: (u64, u64),
    /// Messages received from it, and their bytes.
    pub received: (u64, u64),
}

impl Traffic {
    /// Adds others.
    pub fn merge(&mut self, other: &Self) {
        let add = |one: &mut (u64, u64), other: (u64, u64)| {
            *one = (one.0.saturating_add(other.0), one.1.saturating_add(other.1));
        };
        add(&mut self.sent, other.sent);
        add(&mut self.received, other.received);
    }

    /// Messages in either direction.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.sent.0.saturating_add(self.received.0)
    }
}

/// What one rank measured at one call path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfRank {
    /// Its values.
    pub values: BTreeMap<Metric, u64>,
    /// Its messages.
    pub messages: Messages,
    /// With whom, by rank in MPI_COMM_WORLD; `None` for ranks of other worlds and those that there was no room for.
    pub peers: BTreeMap<Option<u32>, Traffic>,
}

impl OfRank {
    /// Adds what siblings of equal regions had, which become one call path.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (&metric, &value) in &other.values {
            let sum = self.values.entry(metric).or_default();
            *sum = if metric == Metric::CommSize { value.max(*sum) } else { sum.saturating_add(value) };
        }
        self.messages.merge(&other.messages);
        other.peers.iter().for_each(|(&peer, traffic)| self.peers.entry(peer).or_default().merge(traffic));
    }
}

/// Checks that histograms have the buckets that there can be, and that all is of nodes and ranks that exist.
pub(crate) fn check(
    messages: &BTreeMap<u32, Messages>,
    by_rank: &BTreeMap<(u32, u32), OfRank>,
    nodes: usize,
) -> Result<(), ProfileError> {
    let inconsistent = |what: String| Err(ProfileError::Inconsistent { what });
    let all = messages.iter().map(|(&node, messages)| (node, messages));
    for (node, messages) in all.chain(by_rank.iter().map(|(&(node, _), of)| (node, &of.messages))) {
        if node as usize >= nodes {
            return inconsistent(format!("messages refer to node {node}, which does not exist"));
        }
        let counts = messages.all().into_iter().flat_map(|histogram| &histogram.counts);
        if let Some((bucket, count)) = counts.clone().find(|&(&bucket, &count)| bucket > 64 || count == 0) {
            return inconsistent(format!("a histogram at node {node} has {count} values in bucket {bucket}"));
        }
    }
    Ok(())
}
