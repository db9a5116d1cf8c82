//! Which phase the parts of a bin belong to: each to one at most, so that all phases together never have more than the run. Ranges of
//! different functions overlap where these take turns within a few bins; where they overlap by much, the phases say nothing.

use std::collections::BTreeMap;
use std::ops::Range;

use poise_profile::Node;

use super::regions::{Region, Thresholds};
use super::{Bin, Part, Phase};

/// Part of a phase's bins from which on it is not its own if another function's phases cover them, too.
const SHARED: f64 = 0.2;

/// What a function did in a bin when it was called on one path.
pub(super) struct Piece {
    pub part: Part,
    /// The call path: a node of the call tree; `None` where no calls are known.
    pub node: Option<u32>,
}

/// The phases of each bin.
pub(super) struct Owners<'a> {
    regions: &'a [Region],
    /// The call tree.
    nodes: &'a [Node],
    /// By bin, the regions that it lies in or next to, by their indices.
    near: Vec<Vec<usize>>,
    /// The first bin that may belong to one.
    first: usize,
}

impl<'a> Owners<'a> {
    /// Of bins, those of the range belong to regions.
    pub fn new(regions: &'a [Region], nodes: &'a [Node], bins: Range<usize>) -> Self {
        let mut near = vec![Vec::new(); bins.end];
        for (index, region) in regions.iter().enumerate() {
            let end = (region.bins.end + 1).min(bins.end);
            let start = region.bins.start.saturating_sub(1).max(bins.start).min(end);
            near[start..end].iter_mut().for_each(|near| near.push(index));
        }
        Self { regions, nodes, near, first: bins.start }
    }

    /// The regions that cover a bin.
    fn covering(&self, at: usize) -> impl Iterator<Item = usize> {
        self.near[at].iter().copied().filter(move |&index| self.regions[index].bins.contains(&at))
    }

    /// The region that a whole bin belongs to: of those that cover it that of a function that labels it, else the first.
    pub fn of_bin(&self, at: usize, labels: &[u32]) -> Option<usize> {
        let labelled = self.covering(at).find(|&index| labels.contains(&self.regions[index].function));
        labelled.or_else(|| self.covering(at).next())
    }

    /// The region that a piece of a bin belongs to: one in or next to which the bin lies, of the piece's own function, or else of the
    /// innermost of its callers that has one; else that of the whole bin. But a region's first and last bin may hold the end of the one
    /// before or the beginning of the next; of them it has what its own function did, and what that called.
    pub fn of_piece(&self, at: usize, labels: &[u32], piece: &Piece) -> Option<usize> {
        if self.near[at].is_empty() {
            return None;
        }
        let near =
            |function: u32| self.near[at].iter().copied().find(|&index| self.regions[index].function == function);
        let on_path = || self.callers(piece.node).find_map(near);
        near(piece.part.function).or_else(on_path).or_else(|| {
            let is_inner = |index: &usize| {
                let bins = &self.regions[*index].bins;
                at > bins.start && at + 1 < bins.end
            };
            self.of_bin(at, labels).filter(is_inner)
        })
    }

    /// The functions that called the one of a node, the innermost first.
    fn callers(&self, node: Option<u32>) -> impl Iterator<Item = u32> {
        let parent = |node: &Node| self.nodes.get(node.parent? as usize);
        let own = node.and_then(|node| self.nodes.get(node as usize));
        std::iter::successors(own.and_then(parent), move |node| parent(node)).map(|node| node.region)
    }

    /// Calls `take` with each piece of the bins that may belong to a region, and the index of the one that it belongs to.
    pub fn each_piece(&self, bins: &[Bin], pieces: Pieces, mut take: impl FnMut(Option<usize>, &Part)) {
        for (at, bin) in bins.iter().enumerate().skip(self.first) {
            for piece in pieces(at, bin) {
                take(self.of_piece(at, &bin.labels, &piece), &piece.part);
            }
        }
    }

    /// Of each region the other function whose regions cover most of its bins, if that is a fifth of them and as many as a
    /// region must have: two that take turns within bins, so that chance labels these. A few bins in common are where one ends and the
    /// other begins.
    pub fn shared_with(&self, thresholds: &Thresholds) -> Vec<Option<u32>> {
        let of = |region: &Region| {
            let mut common: BTreeMap<u32, usize> = BTreeMap::new();
            for at in region.bins.clone() {
                for index in self.covering(at) {
                    *common.entry(self.regions[index].function).or_default() += 1;
                }
            }
            common.remove(&region.function);
            let least = (SHARED * region.bins.len() as f64).max(thresholds.filter as f64);
            let (function, bins) = common.into_iter().max_by_key(|&(_, bins)| bins)?;
            (bins as f64 >= least).then_some(function)
        };
        self.regions.iter().map(of).collect()
    }
}

/// Where phases are.
pub(super) fn regions(phases: &[Phase]) -> Vec<Region> {
    phases.iter().map(|phase| Region { function: phase.function, bins: phase.bins.clone() }).collect()
}

/// Gives the pieces of a bin with its number.
pub(super) type Pieces<'a> = &'a dyn Fn(usize, &Bin) -> Vec<Piece>;

/// The parts of a bin as its pieces, where no calls are known.
pub(super) fn without_calls(_: usize, bin: &Bin) -> Vec<Piece> {
    bin.parts.iter().map(|&part| Piece { part, node: None }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phases::{Timeline, Totals, timeline_of};

    fn part(function: u32, blocks: u64) -> Part {
        Part { function, totals: Totals { blocks, ..Totals::default() } }
    }

    fn bin(labels: &[u32], parts: &[Part]) -> Bin {
        let mut totals = Totals::default();
        parts.iter().for_each(|part| totals.add(&part.totals));
        Bin { totals, parts: parts.to_vec(), labels: labels.to_vec() }
    }

    #[test]
    fn what_neighbours_did_in_a_phases_edge_bins_is_not_its_own() {
        // Function 1 begins in bin 0, which is another's, and ends in bin 4; function 2 is called in between and at the end.
        let bins = [
            bin(&[0], &[part(0, 9), part(1, 1)]),
            bin(&[1], &[part(0, 2), part(1, 8)]),
            bin(&[1], &[part(1, 6), part(2, 4)]),
            bin(&[1], &[part(1, 9), part(2, 1)]),
            bin(&[2], &[part(1, 3), part(2, 7)]),
        ];
        let regions = [Region { function: 1, bins: 1..4 }];
        let mut blocks = 0;
        Owners::new(&regions, &[], 0..bins.len())
            .each_piece(&bins, &without_calls, |index, part| blocks += index.map_or(0, |_| part.totals.blocks));
        assert_eq!(blocks, 1 + 8 + (6 + 4) + 9 + 3);
    }

    /// A callee's part belongs to the phase that called it, also in the bins at its ends: the same function 9 is called by 1, by 2
    /// (through 3), and by 0, which has no phase.
    #[test]
    fn what_a_phases_function_called_is_its_own() {
        let node = |parent: Option<u32>, region: u32| Node { parent, region };
        let nodes = [
            node(None, 0),
            node(Some(0), 1),
            node(Some(1), 9),
            node(Some(0), 2),
            node(Some(3), 3),
            node(Some(4), 9),
            node(Some(0), 9),
        ];
        let called = |node: u32, bytes_sent: u64| Piece {
            part: Part { function: 9, totals: Totals { bytes_sent, ..Totals::default() } },
            node: Some(node),
        };
        // Before function 1's bins 1 to 5, in its first, within, in its last, which is also next to function 2's 6 to 10; behind all.
        let pieces = |at: usize, _: &Bin| match at {
            0 => vec![called(6, 1), called(2, 2)],
            1 => vec![called(2, 4), called(6, 8)],
            3 => vec![called(2, 16), called(6, 32)],
            5 => vec![called(2, 64), called(5, 128)],
            10 => vec![called(5, 256), called(6, 512)],
            11 => vec![called(5, 1024), called(2, 2048)],
            12 => vec![called(5, 4096)],
            _ => Vec::new(),
        };
        let bins = vec![bin(&[], &[]); 13];
        let regions = [Region { function: 1, bins: 1..6 }, Region { function: 2, bins: 6..11 }];
        let mut bytes = [0; 2];
        let owners = Owners::new(&regions, &nodes, 0..bins.len());
        let mut outside = 0;
        owners.each_piece(&bins, &pieces, |index, part| match index {
            Some(index) => bytes[index] += part.totals.bytes_sent,
            None => outside += part.totals.bytes_sent,
        });
        assert_eq!(outside, 8191 - bytes.iter().sum::<u64>());
        // What function 0 had called counts for the phase only within it, where nothing else says whose it is.
        assert_eq!(bytes, [2 + 4 + 16 + 32 + 64, 128 + 256 + 1024]);
    }

    /// Bins of 10 blocks that are shared, 6 to 4, by two functions, labelled by the larger; a third has one block of some.
    fn alternating(bins: usize) -> Timeline {
        let bin = |at: usize| {
            let (large, small) = if at.is_multiple_of(3) { (0, 1) } else { (1, 0) };
            bin(&[large], &[part(large, 5), part(small, 4), part(2, 1)])
        };
        timeline_of((0, 0), (0..bins).map(bin).collect(), &Thresholds::default())
    }

    #[test]
    fn phases_that_cover_the_same_bins_have_each_part_once_and_say_with_whom() {
        let timeline = alternating(30);
        let phases: Vec<_> = timeline.phases.iter().map(|p| (p.function, p.bins.clone(), p.shared_with)).collect();
        // Function 0 labels bins 0, 3, … 27, function 1 the others from 1 to 29.
        assert_eq!(phases, [(0, 0..28, Some(1)), (1, 1..30, Some(0))]);
        let blocks: Vec<u64> = timeline.phases.iter().map(|phase| phase.totals.blocks).collect();
        // Each has its own five or four of all bins, but function 0 not of the last, next to which it has none; the third function's block is that of the phase which labels the bin, but
        // not of its first or last bin: function 0's 3 to 24, function 1's 2 to 28.
        assert_eq!(blocks, [10 * 5 + 19 * 4 + 8, 10 * 4 + 20 * 5 + 18]);
        assert_eq!(timeline.phases[0].held, BTreeMap::from([(0, 126), (2, 8)]));
        assert_eq!(timeline.phases[1].held, BTreeMap::from([(1, 140), (2, 18)]));
    }

    #[test]
    fn a_few_bins_in_common_are_a_boundary() {
        let bins = b"aaaaaaaaaababbbbbbbbbb".iter().map(|&c| bin(&[c.into()], &[part(c.into(), 10)])).collect();
        let timeline = timeline_of((0, 0), bins, &Thresholds::default());
        let phases: Vec<_> = timeline.phases.iter().map(|p| (p.bins.clone(), p.shared_with, p.totals.blocks)).collect();
        assert_eq!(phases, [(0..12, None, 11 * 10), (10..22, None, 11 * 10)]);
    }

    /// A function's phases that are one bin apart both touch that bin.
    #[test]
    fn a_bin_between_two_phases_of_a_function_counts_once() {
        let thresholds = Thresholds { gap: 0, join: 0, filter: 1, ..Thresholds::default() };
        let bins: Vec<Bin> = [0, 0, 0, 1, 0, 0, 0].map(|label| bin(&[label], &[part(0, 4), part(1, 6)])).into();
        let timeline = timeline_of((0, 0), bins, &thresholds);
        assert_eq!(timeline.phases.len(), 3);
        // All of function 0's blocks are in its phases; function 1's next to its own, and in the inner bins 1 and 5.
        assert_eq!(timeline.phases.iter().map(|p| p.totals.blocks).collect::<Vec<_>>(), [4 * 4 + 6, 3 * 6, 3 * 4 + 6]);
    }
}
