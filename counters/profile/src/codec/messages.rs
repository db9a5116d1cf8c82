//! The bytes of messages, and of what each rank had.

use std::collections::BTreeMap;

use super::{Input, put};
use crate::{Histogram, Messages, Metric, OfRank, ProfileError, Traffic};

/// Appends the messages of all ranks.
pub(super) fn put_messages(out: &mut Vec<u8>, messages: &BTreeMap<u32, Messages>) {
    put(out, messages.len() as u128);
    for (&node, messages) in messages {
        put(out, node.into());
        put_histograms(out, messages);
    }
}

/// Appends what each rank had.
pub(super) fn put_by_rank(out: &mut Vec<u8>, by_rank: &BTreeMap<(u32, u32), OfRank>) {
    put(out, by_rank.len() as u128);
    for (&(node, rank), of) in by_rank {
        put(out, node.into());
        put(out, rank.into());
        put(out, of.values.len() as u128);
        for (&metric, &value) in &of.values {
            out.push(metric as u8);
            put(out, value.into());
        }
        put_histograms(out, &of.messages);
        put(out, of.peers.len() as u128);
        for (peer, traffic) in &of.peers {
            put(out, peer.map_or(0, |peer| u128::from(peer) + 1));
            let Traffic { sent, received } = *traffic;
            [sent.0, sent.1, received.0, received.1].into_iter().for_each(|number| put(out, number.into()));
        }
    }
}

fn put_histograms(out: &mut Vec<u8>, messages: &Messages) {
    for histogram in messages.all() {
        put(out, histogram.counts.len() as u128);
        for (&bucket, &count) in &histogram.counts {
            out.push(bucket);
            put(out, count.into());
        }
    }
}

impl Input<'_> {
    /// The messages of all ranks.
    pub(super) fn messages(&mut self) -> Result<BTreeMap<u32, Messages>, ProfileError> {
        let mut all = BTreeMap::new();
        for _ in 0..self.count("nodes with messages", 4)? {
            let node = self.number()?;
            let messages = self.histograms()?;
            if all.insert(node, messages).is_some() {
                return Err(self.inconsistent("a node has messages twice"));
            }
        }
        Ok(all)
    }

    /// What each rank had.
    pub(super) fn by_rank(&mut self) -> Result<BTreeMap<(u32, u32), OfRank>, ProfileError> {
        let mut all = BTreeMap::new();
        for _ in 0..self.count("nodes of ranks", 7)? {
            let (node, rank) = (self.number()?, self.number()?);
            let of = OfRank { values: self.values_of_rank()?, messages: self.histograms()?, peers: self.peers()? };
            if all.insert((node, rank), of).is_some() {
                return Err(self.inconsistent("a node has the same rank twice"));
            }
        }
        Ok(all)
    }

    fn values_of_rank(&mut self) -> Result<BTreeMap<Metric, u64>, ProfileError> {
        let mut values = BTreeMap::new();
        for _ in 0..self.count("values of a rank", 2)? {
            let metric = self.metric()?;
            if values.insert(metric, self.number()?).is_some() {
                return Err(self.inconsistent("a rank has the same metric twice"));
            }
        }
        Ok(values)
    }

    fn peers(&mut self) -> Result<BTreeMap<Option<u32>, Traffic>, ProfileError> {
        let mut peers = BTreeMap::new();
        for _ in 0..self.count("peers", 5)? {
            let peer = match self.wide()? {
                0 => None,
                n => Some(u32::try_from(n - 1).map_err(|_| self.inconsistent("a peer does not exist"))?),
            };
            let sent = (self.number()?, self.number()?);
            let received = (self.number()?, self.number()?);
            if peers.insert(peer, Traffic { sent, received }).is_some() {
                return Err(self.inconsistent("a rank has the same peer twice"));
            }
        }
        Ok(peers)
    }

    fn histograms(&mut self) -> Result<Messages, ProfileError> {
        Ok(Messages { sent: self.histogram()?, received: self.histogram()?, distances: self.histogram()? })
    }

    fn histogram(&mut self) -> Result<Histogram, ProfileError> {
        let mut counts = BTreeMap::new();
        for _ in 0..self.count("buckets", 2)? {
            let bucket = self.byte()?;
            if counts.insert(bucket, self.number()?).is_some() {
                return Err(self.inconsistent("a histogram has the same bucket twice"));
            }
        }
        Ok(Histogram { counts })
    }
}
