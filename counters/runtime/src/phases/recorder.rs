//! The bins of one thread. Call paths count in the tree anyway; a bin is what those that were reached in it have counted since
//! the bins before. So a hook only asks whether its node was looked at in this bin already, and whether the bin is full.
//! What a call path counted in a bin in which it could not be looked at is in the next: nothing is lost.
//!
//! Between two hooks a thread is on one call path, so that effort counted there fills bins exactly, however late it
//! is told. Time is shared out in proportion to it, and effort in proportion to time where bins are of equal time.

use std::collections::HashMap;

use poise_profile::{BinUnit, joining_hides};

use super::Done;
use crate::tree::{Node, Region};

/// Bins that a thread has before two become one, where the width may grow and that hides nothing.
pub const ENOUGH: usize = 4096;
/// Bins that it has at most where the width may grow: a bound for memory.
pub const MOST: usize = 1 << 14;
/// The same where the width was asked for.
const MOST_FIXED: usize = 1 << 20;

/// Bins, shares and call paths for which there is room at first: many a short run has no more, and nothing is moved for it.
const ROOM: usize = 256;

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

/// A call path.
#[derive(Clone, Copy)]
pub struct Path {
    /// The call path that it was reached from, which comes before it; `None` at the root.
    pub caller: Option<u32>,
    /// The region; null at the root and at bases, which stand for the call path above.
    pub region: *const Region,
}

/// A node, and what of its counts is in bins.
struct Seen {
    node: *mut Node,
    /// Ticks of waiting that were told after the operation that waited; they are not in the node's.
    late: u64,
    binned: Numbers,
}

impl Seen {
    /// What it has counted that is in no bin.
    #[inline(always)]
    fn unbinned(&self) -> Numbers {
        let mut counted = numbers(self.node);
        counted[5] = counted[5].wrapping_add(self.late);
        std::array::from_fn(|i| counted[i].wrapping_sub(self.binned[i]))
    }
}

/// No call path.
const NONE: u32 = u32::MAX;

/// One thread's bins.
pub struct Recorder {
    /// What the width is of.
    pub unit: BinUnit,
    /// Blocks or ticks of a bin.
    pub width: u64,
    grows: bool,
    /// Bins at which they are too many.
    too_many: usize,
    /// The call paths.
    pub paths: Vec<Path>,
    /// By call path.
    seen: Vec<Seen>,
    /// The call path by the number of its node.
    index: Vec<u32>,
    /// Call paths that were reached in the current bin, in this order.
    reached: Vec<u32>,
    /// Those of all bins that are over, one after the other.
    shares: Vec<Share>,
    /// Where in them each bin ends.
    ends: Vec<usize>,
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
        Self {
            unit,
            width,
            grows,
            too_many: if grows { ENOUGH } else { MOST_FIXED },
            paths: Vec::with_capacity(ROOM),
            seen: Vec::with_capacity(ROOM),
            index: Vec::with_capacity(ROOM),
            reached: Vec::with_capacity(ROOM),
            shares: Vec::with_capacity(ROOM),
            ends: Vec::with_capacity(ROOM),
        }
    }

    /// `node`, of the calling thread's tree, is reached for the first time in this bin.
    pub fn reach(&mut self, node: *mut Node) {
        let path = self.path(node);
        self.reached.push(path);
    }

    /// The call path of a node.
    #[inline]
    pub fn path(&mut self, node: *mut Node) -> u32 {
        // SAFETY: the caller's promise.
        let number = unsafe { Node::number_of(node) } as usize;
        match self.index.get(number) {
            Some(&path) if path != NONE => path,
            _ => self.new_path(number, node),
        }
    }

    /// Adds the call path of a node, and before it those of its callers that are new: a node may be reached while they never are, as inlined
    /// functions are that call others.
    #[cold]
    fn new_path(&mut self, number: usize, node: *mut Node) -> u32 {
        if number >= self.index.len() {
            self.index.resize(number + 1, NONE);
        }
        // Not recursive: a call tree can be deeper than the stack.
        let mut new = Vec::new();
        // SAFETY: the promise of `path`'s caller; callers live as long as the node, and have smaller numbers.
        let (mut caller, region) = unsafe { Node::origin(node) };
        let mut known = loop {
            if caller.is_null() {
                break None;
            }
            // SAFETY: as above.
            let number = unsafe { Node::number_of(caller) } as usize;
            if self.index[number] != NONE {
                break Some(self.index[number]);
            }
            // SAFETY: as above.
            let (next, region) = unsafe { Node::origin(caller) };
            new.push((number, caller, region));
            caller = next;
        };
        for (number, node, region) in new.into_iter().rev() {
            known = Some(self.add_path(number, node, Path { caller: known, region }));
        }
        self.add_path(number, node, Path { caller: known, region })
    }

    fn add_path(&mut self, number: usize, node: *mut Node, path: Path) -> u32 {
        let next = self.paths.len() as u32;
        self.index[number] = next;
        self.paths.push(path);
        self.seen.push(Seen { node, late: 0, binned: Numbers::default() });
        next
    }

    /// The bin is full: of what was done last, the last `excess` of the bins' unit belong to later bins. Gives how much of it is in
    /// the new bin.
    pub fn close(&mut self, done: Done, excess: u64) -> u64 {
        let whole = if self.unit == BinUnit::Time { done.ticks } else { done.blocks };
        let mut left = excess.min(whole);
        // The part of the last counts that a number of units stands for.
        let part = |units: u64| {
            // As a rule the product fits into 64 bits, where dividing is far cheaper.
            let of = |count: u64| match count.checked_mul(units) {
                Some(product) => product / whole.max(1),
                None => (u128::from(count) * u128::from(units) / u128::from(whole.max(1))) as u64,
            };
            [of(done.blocks), of(done.ticks), of(done.visits)]
        };
        let (own, timed) = (self.path(done.node), self.path(done.timed));
        // What belongs to later bins is as good as in bins already, until those before have their shares.
        let mut later = part(left);
        self.hold((own, timed), later, [0; 3]);
        self.share();
        self.reached.clear();
        self.reached.push(own);
        if timed != own {
            self.reached.push(timed);
        }
        self.end_bin();
        while left >= self.width {
            left -= self.width;
            let held = std::mem::replace(&mut later, part(left));
            self.hold((own, timed), later, held);
            self.share();
            self.end_bin();
        }
        self.hold((own, timed), [0; 3], later);
        left
    }

    /// Of the last counts, blocks, ticks and visits, these are as good as in bins, instead of those that were `held` so.
    #[inline(always)]
    fn hold(&mut self, (own, timed): (u32, u32), [blocks, ticks, visits]: [u64; 3], held: [u64; 3]) {
        let binned = &mut self.seen[own as usize].binned;
        binned[0] = binned[0].wrapping_add(blocks).wrapping_sub(held[0]);
        binned[2] = binned[2].wrapping_add(visits).wrapping_sub(held[2]);
        let binned = &mut self.seen[timed as usize].binned;
        binned[1] = binned[1].wrapping_add(ticks).wrapping_sub(held[1]);
    }

    /// Where the thread is, of whose current bin so much is `left`: in the bins' unit, from the first one's beginning. Bins that become one
    /// leave places where they are.
    pub fn place(&self, left: u64) -> u64 {
        (self.ends.len() as u64).saturating_mul(self.width).saturating_add(self.width.saturating_sub(left))
    }

    /// A call path has counted that it waited for `waited` ticks, until the place `until`; bins are of equal time. What it waited in bins that
    /// are over is theirs.
    pub fn waited(&mut self, path: u32, waited: u64, until: u64) {
        let from = until.saturating_sub(waited);
        let over =
            usize::try_from(until.div_ceil(self.width)).map_or(self.ends.len(), |bins| bins.min(self.ends.len()));
        for bin in (0..over).rev() {
            let begin = (bin as u64).saturating_mul(self.width);
            let end = begin.saturating_add(self.width);
            if end <= from {
                break;
            }
            self.put(bin, path, end.min(until).saturating_sub(begin.max(from)));
        }
    }

    /// An operation of the node of that number, which ended at `place`, had waited for `ticks`, until `before` ticks before that. Where bins
    /// are of blocks, of which it executed none, all of it was in one; where it is not known where it ended it is in the current one.
    /// Nothing once the thread's tree has ended.
    pub fn waited_before(&mut self, node: u32, (ticks, before): (u64, u64), place: Option<u64>) {
        let Some(&path) = self.index.get(node as usize) else { return };
        let Some(seen) = self.seen.get_mut(path as usize) else { return };
        seen.late = seen.late.wrapping_add(ticks);
        match (self.unit, place) {
            (_, None) => {}
            (BinUnit::Time, Some(place)) => self.waited(path, ticks, place.saturating_sub(before)),
            // The place is the end of that bin.
            (_, Some(place)) => self.put((place.saturating_sub(1) / self.width) as usize, path, ticks),
        }
    }

    /// Puts waiting into a bin that is over, as far as the call path has so much time there; the rest is counted in the current one.
    fn put(&mut self, bin: usize, path: u32, ticks: u64) {
        let Some(&end) = self.ends.get(bin) else { return };
        let from = if bin == 0 { 0 } else { self.ends[bin - 1] };
        if let Some(share) = self.shares[from..end].iter_mut().find(|share| share.path == path) {
            let [_, time, .., waiting] = &mut share.numbers;
            let part = ticks.min(time.saturating_sub(*waiting));
            *waiting += part;
            let [.., binned] = &mut self.seen[path as usize].binned;
            *binned = binned.wrapping_add(part);
        }
    }

    /// Puts into the current bin what the call paths that were reached in it have counted since the bins before.
    #[inline(always)]
    fn share(&mut self) {
        for &path in &self.reached {
            let seen = &mut self.seen[path as usize];
            let mut numbers = seen.unbinned();
            // Waiting is a part of the time, and comes later where that does.
            numbers[5] = numbers[5].min(numbers[1]);
            // In one word: comparing two arrays is a call.
            if numbers.iter().fold(0, |all, number| all | number) != 0 {
                seen.binned.iter_mut().zip(numbers).for_each(|(binned, number)| *binned = binned.wrapping_add(number));
                self.shares.push(Share { path, numbers });
            }
        }
    }

    /// Calls `with` with the bins that are over and the current one as it is, if there is something in it.
    pub fn bins<T>(&self, with: impl FnOnce(Bins) -> T) -> T {
        let current = self.current();
        with(Bins { over: &self.shares, ends: &self.ends, current: &current })
    }

    /// What no bin has yet: what the call paths did that were reached in the current one, then the others.
    fn current(&self) -> Vec<Share> {
        let mut is_known = vec![false; self.seen.len()];
        let mut shares = Vec::new();
        for path in self.reached.iter().copied().chain(0..self.seen.len() as u32) {
            // A call path may also have been reached twice, as by a signal handler while a bin was closed.
            if std::mem::replace(&mut is_known[path as usize], true) {
                continue;
            }
            let numbers = self.seen[path as usize].unbinned();
            if numbers != Numbers::default() {
                shares.push(Share { path, numbers });
            }
        }
        shares
    }

    /// The thread's tree ends: nodes are looked at for the last time.
    pub fn end(&mut self) {
        let last = self.current();
        if !last.is_empty() {
            self.shares.extend(last);
            self.ends.push(self.shares.len());
        }
        (self.reached, self.seen, self.index) = (Vec::new(), Vec::new(), Vec::new());
        // What is kept until the profile is made is kept of every thread that there was.
        self.paths.shrink_to_fit();
        self.shares.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// The current bin is over.
    fn end_bin(&mut self) {
        self.ends.push(self.shares.len());
        if self.ends.len() >= self.too_many {
            self.make_room();
        }
    }

    /// There are too many bins: two become one; where that would hide phases there may be more, as long as there is room.
    #[cold]
    fn make_room(&mut self) {
        if self.grows && self.too_many < MOST && joining_hides(self.labels()) {
            self.too_many *= 2;
        } else {
            self.coarsen();
        }
    }

    /// The region that has more than half of each bin's effort or time, where one has.
    fn labels(&self) -> Vec<Option<u32>> {
        let counted = usize::from(self.unit == BinUnit::Time);
        let mut numbers: HashMap<*const Region, u32> = HashMap::new();
        let mut regions: Vec<u32> = Vec::with_capacity(self.paths.len());
        for path in &self.paths {
            let next = numbers.len() as u32;
            // A base stands for what it is below.
            regions.push(match path.caller {
                Some(caller) if path.region.is_null() => regions[caller as usize],
                _ => *numbers.entry(path.region).or_insert(next),
            });
        }
        let mut sums = vec![0_u64; numbers.len()];
        let mut begin = 0;
        let label = |&end: &usize| {
            let shares = &self.shares[std::mem::replace(&mut begin, end)..end];
            let region = |share: &Share| regions[share.path as usize];
            shares.iter().for_each(|share| sums[region(share) as usize] += share.numbers[counted]);
            let all: u64 = shares.iter().map(|share| share.numbers[counted]).sum();
            let most = shares.iter().map(region).find(|&region| sums[region as usize] > all / 2);
            shares.iter().for_each(|share| sums[region(share) as usize] = 0);
            most
        };
        self.ends.iter().map(label).collect()
    }

    /// Makes each two bins one, in the order in which call paths were reached.
    fn coarsen(&mut self) {
        self.width = self.width.saturating_mul(2);
        let over = Bins { over: &self.shares, ends: &self.ends, current: &[] };
        (self.shares, self.ends) = over.joined(2, self.paths.len(), |share| Some(*share));
    }
}

/// Bins as they were recorded.
#[derive(Clone, Copy)]
pub struct Bins<'a> {
    /// The shares of those that are over, one bin's after the other's.
    over: &'a [Share],
    /// Where in them each bin ends.
    ends: &'a [usize],
    /// Those of the current one; none where there is nothing in it.
    current: &'a [Share],
}

impl<'a> Bins<'a> {
    /// As [`Bins::joined`] has left them.
    pub fn of((shares, ends): &'a (Vec<Share>, Vec<usize>)) -> Self {
        Self { over: shares, ends, current: &[] }
    }

    /// The shares of each bin.
    pub fn iter(self) -> impl ExactSizeIterator<Item = &'a [Share]> {
        (0..self.ends.len() + usize::from(!self.current.is_empty())).map(move |bin| match self.ends.get(bin) {
            Some(&end) => &self.over[if bin == 0 { 0 } else { self.ends[bin - 1] }..end],
            None => self.current,
        })
    }

    /// Makes each `factor` bins one, with one share of each number that `of` gives shares instead of their call paths, below `numbers`; in the
    /// order in which they come first. What it gives nothing for is left out. The shares, and where in them each bin ends.
    pub fn joined(
        self,
        factor: usize,
        numbers: usize,
        of: impl Fn(&Share) -> Option<Share>,
    ) -> (Vec<Share>, Vec<usize>) {
        let (mut shares, mut ends) = (Vec::<Share>::with_capacity(self.over.len()), Vec::new());
        // By number, where its share of the current bin would be.
        let mut places = vec![usize::MAX; numbers];
        let (bins, mut bin, mut from) = (self.iter().len(), 0, 0);
        while bin < bins {
            bin = bin.saturating_add(factor.max(1)).min(bins);
            let to = self.ends[..bin.min(self.ends.len())].last().copied().unwrap_or(0);
            let current = if bin > self.ends.len() { self.current } else { &[] };
            let begin = shares.len();
            self.over[from..to].iter().chain(current).filter_map(&of).for_each(|share| {
                let place = &mut places[share.path as usize];
                match shares[begin..].get_mut(place.wrapping_sub(begin)).filter(|known| known.path == share.path) {
                    Some(known) => known.numbers.iter_mut().zip(share.numbers).for_each(|(sum, n)| *sum += n),
                    None => {
                        *place = shares.len();
                        shares.push(share);
                    }
                }
            });
            from = to;
            ends.push(shares.len());
        }
        (shares, ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;
    use std::ptr::null;

    /// Which of [`Thread::nodes`] it is of: the root's call path comes before theirs.
    fn which(share: &Share) -> u32 {
        share.path - 1
    }

    /// What `of` makes of each bin.
    fn by_bin<T>(recorder: &Recorder, of: impl Fn(&[Share]) -> T) -> Vec<T> {
        recorder.bins(|bins| bins.iter().map(of).collect())
    }

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
            let region = || Box::leak(Box::new(Region { name: null(), file: null(), line: 1, kind: 0, flags: 0 }));
            let mut tree = Box::new(Tree::new(0));
            // SAFETY: the root is the tree's, and has no callees yet.
            let nodes = unsafe { [tree.grow(tree.root(), region()), tree.grow(tree.root(), region())] };
            let recorder = Recorder::new(unit, width, grows);
            Self { tree, nodes, recorder, reached: [false; 2], at: 0, limit: width }
        }

        fn run(&mut self, which: usize, blocks: u64, ticks: u64) {
            let node = self.nodes[which];
            if !std::mem::replace(&mut self.reached[which], true) {
                self.recorder.reach(node);
            }
            // SAFETY: the node is of this test's tree.
            unsafe { ((*node).blocks.add(blocks), (*node).ticks.add(ticks)) };
            self.at += if self.recorder.unit == BinUnit::Time { ticks } else { blocks };
            if self.at >= self.limit {
                let done = Done { node, blocks, visits: 0, timed: node, ticks };
                let left = self.recorder.close(done, self.at - self.limit);
                self.limit = self.at - left + self.recorder.width;
                self.reached = [which == 0, which == 1];
            }
        }

        /// Blocks and ticks by bin and path.
        fn bins(&self) -> Vec<Vec<(u32, u64, u64)>> {
            assert!(!self.tree.is_full());
            by_bin(&self.recorder, |bin| bin.iter().map(|s| (which(s), s.numbers[0], s.numbers[1])).collect())
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

    /// An operation from 130 to 430, of which it waits from 150 to 420, told when it is over.
    #[test]
    fn waiting_belongs_to_the_bins_in_which_it_happened() {
        let mut thread = Thread::new(BinUnit::Time, 100, false);
        thread.run(0, 5, 130);
        thread.run(1, 0, 300);
        let node = thread.nodes[1];
        // SAFETY: the node is of this test's tree.
        unsafe { (*node).wait_ticks.add(270) };
        let (path, place) = (thread.recorder.path(node), thread.recorder.place(70));
        assert_eq!(place, 430);
        thread.recorder.waited(path, 270, place - 10);
        let waiting = |bin: &[Share]| bin.iter().map(|share| (which(share), share.numbers[5])).collect::<Vec<_>>();
        let found = by_bin(&thread.recorder, waiting);
        assert_eq!(found, [vec![(0, 0)], vec![(0, 0), (1, 50)], vec![(1, 100)], vec![(1, 100)], vec![(1, 20)]]);
    }

    /// The same, of which nobody knows while it ends that it had waited: told when bins have become twice as wide, and while the last of them
    /// is not over.
    #[test]
    fn waiting_that_is_told_late_belongs_to_the_bins_in_which_it_happened() {
        let mut thread = Thread::new(BinUnit::Time, 50, false);
        thread.run(0, 5, 130);
        thread.run(1, 0, 300);
        let node = thread.nodes[1];
        // SAFETY: the node is of this test's tree.
        let (number, place) = (unsafe { (*node).number() }, thread.recorder.place(20));
        assert_eq!(place, 430);
        thread.recorder.coarsen();
        thread.limit = 500;
        thread.run(0, 3, 20);
        thread.recorder.waited_before(number, (270, 10), Some(place));
        let waiting = |bin: &[Share]| bin.iter().map(|s| s.numbers[5]).sum::<u64>();
        assert_eq!(by_bin(&thread.recorder, waiting), [0, 50, 100, 100, 20]);
        // Another one, from 450 to 510, which is told when all is long over.
        thread.run(1, 0, 60);
        let place = thread.recorder.place(90);
        thread.run(0, 1, 300);
        thread.recorder.waited_before(number, (40, 0), Some(place));
        assert_eq!(by_bin(&thread.recorder, waiting), [0, 50, 100, 100, 50, 10, 0, 0, 0]);
    }

    /// Bins of blocks: a send of 400 ticks executes none, and the bin that it was in is over, and has become one with another, when it is
    /// known that it had waited.
    #[test]
    fn late_waiting_is_in_the_bin_of_the_operation() {
        let mut thread = Thread::new(BinUnit::Blocks, 10, false);
        thread.run(0, 25, 100);
        thread.run(1, 0, 400);
        let node = thread.nodes[1];
        // SAFETY: the node is of this test's tree.
        let (number, place) = (unsafe { (*node).number() }, thread.recorder.place(0));
        thread.run(0, 36, 100);
        thread.recorder.waited_before(number, (390, 10), Some(place));
        let waiting = |bin: &[Share]| bin.iter().map(|s| s.numbers[5]).sum::<u64>();
        assert_eq!(by_bin(&thread.recorder, waiting), [0, 0, 390, 0, 0, 0, 0]);
        thread.recorder.coarsen();
        // A second one of which more is told than it took: what does not fit is nowhere but in the last bin.
        thread.recorder.waited_before(number, (20, 0), Some(place));
        assert_eq!(by_bin(&thread.recorder, waiting), [0, 400, 0, 10]);
    }

    /// An operation that calls back and so has blocks of its own ends a bin: its time is shared out by them, and what it waited with it.
    #[test]
    fn waiting_is_shared_out_as_time_is() {
        let mut thread = Thread::new(BinUnit::Blocks, 10, false);
        let node = thread.nodes[0];
        // SAFETY: the node is of this test's tree.
        unsafe { (*node).wait_ticks.add(590) };
        thread.run(0, 12, 600);
        let times = |bin: &[Share]| bin.iter().map(|share| (share.numbers[1], share.numbers[5])).collect::<Vec<_>>();
        assert_eq!(by_bin(&thread.recorder, times), [[(500, 500)], [(100, 90)]]);
    }

    #[test]
    fn time_of_an_inlined_function_is_in_the_bins_of_its_blocks() {
        let mut thread = Thread::new(BinUnit::Blocks, 10, false);
        let [node, timed] = thread.nodes;
        thread.recorder.reach(node);
        thread.recorder.reach(timed);
        // SAFETY: the nodes are of this test's tree.
        unsafe { ((*node).blocks.add(25), (*timed).ticks.add(100)) };
        let left = thread.recorder.close(Done { node, blocks: 25, visits: 0, timed, ticks: 100 }, 15);
        assert_eq!(left, 5);
        assert_eq!(thread.bins(), [[(0, 10, 0), (1, 0, 40)], [(0, 10, 0), (1, 0, 40)], [(0, 5, 0), (1, 0, 20)]]);
    }

    /// A recursion that is told as a whole: its visits are where its blocks are.
    #[test]
    fn visits_without_hooks_are_in_the_bins_of_their_blocks() {
        let mut thread = Thread::new(BinUnit::Blocks, 10, false);
        let node = thread.nodes[0];
        thread.recorder.reach(node);
        // SAFETY: the node is of this test's tree.
        unsafe { ((*node).blocks.add(25), (*node).visits.add(1 + 50)) };
        thread.recorder.close(Done { node, blocks: 25, visits: 50, timed: node, ticks: 0 }, 15);
        let visits = by_bin(&thread.recorder, |bin| bin.iter().map(|share| share.numbers[2]).collect::<Vec<_>>());
        assert_eq!(visits, [[1 + 20], [20], [10]]);
    }

    #[test]
    fn bins_of_equal_time_share_out_effort() {
        let mut thread = Thread::new(BinUnit::Time, 100, false);
        thread.run(0, 30, 150);
        thread.run(1, 0, 20);
        assert_eq!(thread.bins(), [vec![(0, 20, 100)], vec![(0, 10, 50), (1, 0, 20)]]);
        thread.recorder.end();
        assert_eq!(by_bin(&thread.recorder, |_| ()).len(), 2);
    }

    #[test]
    fn many_bins_become_half_as_many() {
        let mut thread = Thread::new(BinUnit::Blocks, 1, true);
        thread.run(0, 10_000_000, 5);
        thread.run(1, 1, 0);
        let bins = thread.bins();
        assert!(bins.len() <= ENOUGH && bins.len() >= ENOUGH / 2, "{}", bins.len());
        assert!(thread.recorder.width.is_power_of_two());
        assert_eq!(bins.iter().flatten().map(|b| b.1).sum::<u64>(), 10_000_001);
        let width = thread.recorder.width;
        assert!(bins[..bins.len() - 2].iter().all(|bin| bin.len() == 1 && bin[0].1 == width));
    }

    #[test]
    fn bins_stay_narrow_while_wider_ones_would_hide_a_call_path() {
        let mut thread = Thread::new(BinUnit::Blocks, 10, true);
        (0..2000).for_each(|turn| thread.run(turn % 2, 80, 5));
        assert_eq!((thread.recorder.width, thread.bins().len()), (10, 16_000));
        // From here on they hide nothing but what is over.
        thread.run(0, 10 * MOST as u64, 5);
        assert!(thread.bins().len() <= MOST && thread.recorder.width == 20, "{}", thread.recorder.width);
        // A call path that holds less than a twentieth of the bins does not keep all others narrow.
        let mut thread = Thread::new(BinUnit::Blocks, 10, true);
        (0..200).for_each(|turn| thread.run(turn % 2, if turn % 2 == 0 { 2000 } else { 80 }, 5));
        assert!(thread.bins().len() <= ENOUGH && thread.recorder.width > 10, "{}", thread.recorder.width);
    }

    #[test]
    fn what_was_counted_while_nobody_could_look_is_in_the_next_bin() {
        let mut thread = Thread::new(BinUnit::Blocks, 10, false);
        thread.run(0, 10, 1);
        // Not prepared, as in a signal handler that interrupted a change.
        thread.reached[1] = true;
        thread.run(1, 5, 1);
        thread.run(0, 5, 1);
        thread.reached[1] = false;
        thread.run(1, 2, 1);
        assert_eq!(thread.bins(), [vec![(0, 10, 1)], vec![(0, 5, 1)], vec![(1, 7, 2)]]);
    }
}
