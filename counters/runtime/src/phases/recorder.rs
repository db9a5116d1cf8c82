//! The bins of one thread. Call paths count in the tree anyway; a bin is the difference of two looks at those that were reached
//! in it. So a hook only asks whether its node was looked at in this bin already, and whether the bin is full.
//!
//! Between two hooks a thread is on one call path, so that effort counted there fills bins exactly, however late it
//! is told. Time is shared out in proportion to it, and effort in proportion to time where bins are of equal time.

use std::collections::HashMap;

use poise_profile::BinUnit;

use crate::tree::{Node, Region};

/// Bins that a thread has before two become one, where the width may grow.
pub const MOST_BINS: usize = 4096;
/// The same where the width was asked for: a bound for memory.
const MOST_FIXED: usize = 1 << 20;

/// What is counted: basic blocks, ticks, visits, bytes sent, bytes received, ticks of waiting.
pub type Numbers = [u64; 6];

/// What a call path did in a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Index into [`Recorder::paths`].
    pub path: u32,
    /// What it did.
    pub numbers: Numbers,
}

/// A call path: its regions, outermost first.
pub type Path = Vec<*const Region>;

/// A node that was reached in the current bin, with what it had counted before.
struct Reached {
    node: *mut Node,
    path: u32,
    before: Numbers,
}

/// One thread's bins.
pub struct Recorder {
    /// What the width is of.
    pub unit: BinUnit,
    /// Blocks or ticks of a bin.
    pub width: u64,
    grows: bool,
    /// The call paths.
    pub paths: Vec<Path>,
    /// The bins that are over.
    pub bins: Vec<Vec<Share>>,
    index: HashMap<usize, u32>,
    reached: Vec<Reached>,
}

/// What a node has counted.
fn numbers(node: *mut Node) -> Numbers {
    // SAFETY: nodes that were reached live as long as their thread's tree, and their counters may be read by any thread;
    // their links may not, so that there is no reference to the whole.
    unsafe {
        [
            (*node).blocks.get(),
            (*node).ticks.get(),
            (*node).visits.get(),
            (*node).bytes_sent.get(),
            (*node).bytes_received.get(),
            (*node).wait_ticks.get(),
        ]
    }
}

impl Recorder {
    /// A thread without bins; `width` is at least 1.
    pub fn new(unit: BinUnit, width: u64, grows: bool) -> Self {
        let (paths, bins, index, reached) = (Vec::new(), Vec::new(), HashMap::new(), Vec::new());
        Self { unit, width, grows, paths, bins, index, reached }
    }

    /// `node`, of the calling thread's tree, is reached for the first time in this bin and has counted nothing in it but
    /// `uncounted`.
    pub fn reach(&mut self, node: *mut Node, uncounted: [u64; 2]) {
        let next = self.paths.len() as u32;
        let path = *self.index.entry(node as usize).or_insert(next);
        if path == next {
            // SAFETY: the caller's promise.
            self.paths.push(unsafe { Node::regions(node) });
        }
        let mut before = numbers(node);
        before[0] -= uncounted[0];
        before[1] -= uncounted[1];
        self.reached.push(Reached { node, path, before });
    }

    /// The bin is full: of what `node` counted last, `blocks` in `ticks`, the last `excess` of the bins' unit belong to later
    /// bins. Gives how much of it is in the new bin.
    pub fn close(&mut self, node: *mut Node, blocks: u64, ticks: u64, excess: u64) -> u64 {
        let whole = if self.unit == BinUnit::Time { ticks } else { blocks };
        let mut left = excess.min(whole);
        // The part of the last counts that a number of units stands for.
        let part = |units: u64| {
            let of = |count: u64| (u128::from(count) * u128::from(units) / u128::from(whole.max(1))) as u64;
            [of(blocks), of(ticks)]
        };
        let mut rest = part(left);
        let mut bin = self.current();
        let path = self.index.get(&(node as usize)).copied();
        if let Some(own) = bin.iter_mut().find(|share| Some(share.path) == path) {
            own.numbers[0] = own.numbers[0].saturating_sub(rest[0]);
            own.numbers[1] = own.numbers[1].saturating_sub(rest[1]);
        }
        self.push(bin);
        while left >= self.width {
            left -= self.width;
            let after = part(left);
            let numbers = [rest[0] - after[0], rest[1] - after[1], 0, 0, 0, 0];
            rest = after;
            self.push(path.map(|path| Share { path, numbers }).into_iter().collect());
        }
        self.reached.clear();
        self.reach(node, rest);
        left
    }

    /// The bins that are over, and the current one as it is.
    pub fn all_bins(&self) -> Vec<Vec<Share>> {
        let mut bins = self.bins.clone();
        let current = self.current();
        if current.iter().any(|share| share.numbers != Numbers::default()) {
            bins.push(current);
        }
        bins
    }

    /// The thread's tree ends: nodes are looked at for the last time.
    pub fn end(&mut self) {
        self.bins = self.all_bins();
        self.reached.clear();
        self.index.clear();
    }

    fn current(&self) -> Vec<Share> {
        let share = |r: &Reached| {
            let now = numbers(r.node);
            Share { path: r.path, numbers: std::array::from_fn(|i| now[i].wrapping_sub(r.before[i])) }
        };
        self.reached.iter().map(share).collect()
    }

    /// Adds a bin that is over, and makes two bins one where there are too many.
    fn push(&mut self, shares: Vec<Share>) {
        self.bins.push(shares);
        if self.bins.len() >= if self.grows { MOST_BINS } else { MOST_FIXED } {
            self.width = self.width.saturating_mul(2);
            self.bins = coarsened(&self.bins);
        }
    }
}

/// Each two bins as one, in the order in which call paths were reached.
fn coarsened(bins: &[Vec<Share>]) -> Vec<Vec<Share>> {
    let joined = |pair: &[Vec<Share>]| {
        let mut sums = pair[0].clone();
        let known: HashMap<u32, usize> = sums.iter().map(|share| share.path).zip(0..).collect();
        for share in pair.iter().skip(1).flatten() {
            match known.get(&share.path) {
                Some(&at) => sums[at].numbers.iter_mut().zip(share.numbers).for_each(|(sum, number)| *sum += number),
                None => sums.push(*share),
            }
        }
        sums
    };
    bins.chunks(2).map(joined).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;
    use std::ptr::null;

    /// A thread that runs on two call paths, with bins, as hooks would drive it.
    struct Thread {
        tree: Box<Tree>,
        nodes: [*mut Node; 2],
        recorder: Recorder,
        reached: [bool; 2],
        at: u64,
        limit: u64,
    }

    impl Thread {
        fn new(unit: BinUnit, width: u64, grows: bool) -> Self {
            let region = || Box::leak(Box::new(Region { name: null(), file: null(), line: 1, kind: 0 }));
            let mut tree = Box::new(Tree::new(0));
            // SAFETY: the root is the tree's, and has no callees yet.
            let nodes = unsafe { [tree.grow(tree.root(), region()), tree.grow(tree.root(), region())] };
            let recorder = Recorder::new(unit, width, grows);
            Self { tree, nodes, recorder, reached: [false; 2], at: 0, limit: width }
        }

        fn run(&mut self, which: usize, blocks: u64, ticks: u64) {
            let node = self.nodes[which];
            if !std::mem::replace(&mut self.reached[which], true) {
                self.recorder.reach(node, [0, 0]);
            }
            // SAFETY: the node is of this test's tree.
            unsafe { ((*node).blocks.add(blocks), (*node).ticks.add(ticks)) };
            self.at += if self.recorder.unit == BinUnit::Time { ticks } else { blocks };
            if self.at >= self.limit {
                let left = self.recorder.close(node, blocks, ticks, self.at - self.limit);
                self.limit = self.at - left + self.recorder.width;
                self.reached = [which == 0, which == 1];
            }
        }

        /// Blocks and ticks by bin and path.
        fn bins(&self) -> Vec<Vec<(u32, u64, u64)>> {
            assert!(!self.tree.is_full());
            let bins = self.recorder.all_bins();
            bins.iter().map(|b| b.iter().map(|s| (s.path, s.numbers[0], s.numbers[1])).collect()).collect()
        }
    }

    #[test]
    fn effort_that_is_told_late_fills_the_bins_that_it_was_executed_in() {
        let mut thread = Thread::new(BinUnit::Blocks, 10, false);
        thread.run(0, 7, 70);
        thread.run(1, 25, 100);
        thread.run(0, 1, 5);
        let expected = [vec![(0, 7, 70), (1, 3, 12)], vec![(1, 10, 40)], vec![(1, 10, 40)], vec![(1, 2, 8), (0, 1, 5)]];
        assert_eq!(thread.bins(), expected);
    }

    #[test]
    fn bins_of_equal_time_share_out_effort() {
        let mut thread = Thread::new(BinUnit::Time, 100, false);
        thread.run(0, 30, 150);
        thread.run(1, 0, 20);
        assert_eq!(thread.bins(), [vec![(0, 20, 100)], vec![(0, 10, 50), (1, 0, 20)]]);
        thread.recorder.end();
        assert_eq!(thread.recorder.bins.len(), 2);
    }

    #[test]
    fn many_bins_become_half_as_many() {
        let mut thread = Thread::new(BinUnit::Blocks, 1, true);
        thread.run(0, 10_000_000, 5);
        thread.run(1, 1, 0);
        let bins = thread.bins();
        assert!(bins.len() <= MOST_BINS && bins.len() >= MOST_BINS / 2, "{}", bins.len());
        assert!(thread.recorder.width.is_power_of_two());
        assert_eq!(bins.iter().flatten().map(|b| b.1).sum::<u64>(), 10_000_001);
        let width = thread.recorder.width;
        assert!(bins[..bins.len() - 2].iter().all(|bin| bin.len() == 1 && bin[0].1 == width));
    }
}
