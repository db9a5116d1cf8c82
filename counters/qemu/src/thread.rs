//! What one thread of the guest executes: its call path, followed by calls and returns, and how often each block of machine
//! code ran at it, in bins of as many instructions each. Nothing here is shared between threads but the blocks, which do
//! not change.

use std::collections::HashMap;

use poise_profile::joining_hides;

use crate::flow::Flow;
use crate::models::Models;

/// A block of machine code as QEMU translates it: up to the next transfer of control, or the end of the page.
#[derive(Debug)]
pub struct Block {
    /// Its number.
    pub number: u32,
    /// Address of the first instruction, of the last, and behind it.
    pub start: u64,
    /// See `start`.
    pub last: u64,
    /// See `start`.
    pub end: u64,
    /// What the addresses of the file that is there now are tagged with, as in `maps`; code of two files at one address is two.
    pub tag: u64,
    /// Number of instructions.
    pub instructions: u32,
    /// What the last instruction does.
    pub flow: Flow,
    /// Whether it is the first of an MPI operation.
    pub is_operation: bool,
    /// Whether it is the first of `main`.
    pub is_main: bool,
    /// Whether it is a single string instruction that QEMU repeats.
    pub repeats: bool,
    /// The instructions' bytes.
    pub bytes: Vec<u8>,
}

/// Most instructions of a stub that only jumps on to where a function is, such as those of procedure linkage tables. The
/// beginning of a function that jumps to a loop's condition is no harm: it is entered where it goes on.
const STUB: u32 = 4;
/// Bins that a thread has before two become one, where the width may grow and that hides nothing.
pub const ENOUGH: usize = 4096;
/// Bins that it has at most where the width may grow: a bound for memory.
pub const MOST: usize = 1 << 14;
/// The same where the width was asked for.
pub const MOST_FIXED: usize = 1 << 20;
/// The first width of bins that may grow.
pub const FIRST_WIDTH: u64 = 1 << 12;
/// No counter: what is not counted.
const NO_COUNTER: u32 = u32::MAX;
/// No block: what is counted of a call path itself.
pub const NO_BLOCK: u32 = u32::MAX;

/// How wide bins are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// The whole execution is one bin.
    Whole,
    /// As many instructions as this, doubled should there be [`MOST_FIXED`] bins.
    Fixed(u64),
    /// From [`FIRST_WIDTH`] on doubled whenever there are [`ENOUGH`] bins; if that would hide phases, [`MOST`].
    Growing,
}

/// A call path: where it was called from, and the address that was called.
#[derive(Debug)]
pub struct Node {
    /// The caller; `None` at the root.
    pub parent: Option<u32>,
    /// Address of the function's first instruction.
    pub entry: u64,
    /// The counter of its visits.
    visits: u32,
    /// Whether it is an MPI operation.
    is_operation: bool,
}

/// A call that has not returned.
struct Frame {
    /// Where it returns to.
    back: u64,
    /// The caller's call path.
    node: u32,
}

/// How often something was counted in a bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Index into [`Thread::places`].
    pub place: u32,
    /// Executions, or visits of the call path.
    pub count: u64,
    /// How often the next instruction in memory did not follow.
    pub jumps: u64,
    /// How often it was other than the time before.
    pub turns: u64,
}

/// A place's counters in the current bin.
#[derive(Default)]
struct Counter {
    /// The bin of these counts, by its number.
    bin: u64,
    count: Count,
    /// Whether it jumped the last time.
    jumped: bool,
}

/// Bins that are over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// What was counted, in the order in which the places were first reached.
    pub counts: Vec<Count>,
    /// Lines of memory accessed; `None` where that was not counted, or is not known any more because bins became one:
    /// which lines they had in common was not kept.
    pub lines: Option<u64>,
}

impl Bin {
    fn append(&mut self, next: Self) {
        let places: HashMap<u32, usize> = self.counts.iter().map(|c| c.place).zip(0..).collect();
        for count in next.counts {
            match places.get(&count.place) {
                Some(&index) => {
                    let sum = &mut self.counts[index];
                    sum.count += count.count;
                    sum.jumps += count.jumps;
                    sum.turns += count.turns;
                }
                None => self.counts.push(count),
            }
        }
        self.lines = None;
    }
}

/// One thread of the guest.
pub struct Thread {
    /// QEMU's number of its processor, which a later thread may have again.
    pub processor: u32,
    /// The call paths.
    pub nodes: Vec<Node>,
    /// Linux's number of the thread.
    pub system_number: i64,
    /// Node and block of each place.
    pub places: Vec<(u32, u32)>,
    /// Instructions of each place's block.
    sizes: Vec<u32>,
    /// The bins that are over.
    pub bins: Vec<Bin>,
    /// Instructions of a bin; 0 where all is one.
    pub width: u64,
    grows: bool,
    /// Bins at which they are too many.
    too_many: usize,
    /// These two at first.
    first: (u64, usize),
    callees: HashMap<(u32, u64), u32>,
    stack: Vec<Frame>,
    node: u32,
    /// The block before, and the counter of its place.
    before: Option<(&'static Block, u32)>,
    /// The return address of a call that went to a stub.
    pending: Option<u64>,
    counters: Vec<Counter>,
    index: HashMap<(u32, u32), u32>,
    /// By block: the node where it was last executed, and its counter there.
    recent: Vec<(u32, u32)>,
    touched: Vec<u32>,
    /// Number of the current bin, from 1, in the order of time; joining bins does not change it.
    bin: u64,
    /// Instructions executed.
    position: u64,
    /// The position at which the current bin ends.
    next: u64,
    /// The position at which `main` began, and the bins before that: one, or none.
    main: (u64, usize),
    /// By line of memory, the bin in which it was accessed last.
    accessed: HashMap<u64, u64>,
    /// Of the current bin, where they are counted.
    lines: Option<u64>,
    /// Caches and predictor, where they are asked for.
    pub models: Option<Models>,
}

impl Thread {
    /// A thread that has not executed anything, and whether lines of memory are counted.
    pub fn new(processor: u32, width: Width, lines: bool) -> Self {
        let (width, grows) = match width {
            Width::Whole => (0, false),
            Width::Fixed(width) => (width, false),
            Width::Growing => (FIRST_WIDTH, true),
        };
        let too_many = if grows { ENOUGH } else { MOST_FIXED };
        Self {
            processor,
            nodes: Vec::new(),
            system_number: 0,
            places: Vec::new(),
            sizes: Vec::new(),
            bins: Vec::new(),
            width,
            grows,
            too_many,
            first: (width, too_many),
            callees: HashMap::new(),
            stack: Vec::new(),
            node: 0,
            before: None,
            pending: None,
            counters: Vec::new(),
            index: HashMap::new(),
            recent: Vec::new(),
            touched: Vec::new(),
            bin: 1,
            position: 0,
            next: if width == 0 { u64::MAX } else { width },
            main: (0, 0),
            accessed: HashMap::new(),
            lines: lines.then_some(0),
            models: None,
        }
    }

    /// The thread executes `block`.
    pub fn execute(&mut self, block: &'static Block) {
        match self.before {
            // An iteration of an instruction that was counted when it began.
            Some((before, _)) if block.repeats && before.last == block.start => return,
            Some((before, counter)) => self.follow(before, counter, block),
            None => self.enter(None, block),
        }
        if self.is_within_mpi() {
            self.before = Some((block, NO_COUNTER));
            return;
        }
        while self.position >= self.next {
            self.close();
        }
        let counter = self.counter(block);
        self.touch(counter);
        self.counters[counter as usize].count.count += 1;
        self.position += u64::from(block.instructions);
        self.before = Some((block, counter));
    }

    /// The instruction of this number in its block accesses `size` bytes of memory.
    pub fn access(&mut self, instruction: usize, address: u64, size: u64) {
        for line in address >> 6..=address.saturating_add(size.saturating_sub(1)) >> 6 {
            self.access_line(instruction, line);
        }
    }

    fn access_line(&mut self, instruction: usize, line: u64) {
        let Some((_, counter)) = self.before.filter(|&(_, counter)| counter != NO_COUNTER) else { return };
        if let Some(models) = &mut self.models {
            models.access(counter, instruction, line);
        }
        if self.lines.is_none() {
            return;
        }
        if self.accessed.insert(line, self.bin) != Some(self.bin)
            && let Some(lines) = &mut self.lines
        {
            *lines += 1;
        }
    }

    /// Nothing follows: the last bin is over, and what is only needed to go on is given back.
    pub fn end(&mut self) {
        if !self.touched.is_empty() {
            self.close();
        }
        self.counters = Vec::new();
        self.index = HashMap::new();
        self.recent = Vec::new();
        self.callees = HashMap::new();
        self.stack = Vec::new();
        self.accessed = HashMap::new();
        self.before = None;
    }

    /// Whether its first bin holds what ran before `main`, and is no wider than that.
    pub fn has_main(&self) -> bool {
        self.main.1 > 0
    }

    /// Whether it is in an MPI operation, in which nothing is counted and calls are followed only to see where they end.
    pub fn is_within_mpi(&self) -> bool {
        self.nodes.get(self.node as usize).is_some_and(|node| node.is_operation)
    }

    /// What it means that `block` follows `before`.
    fn follow(&mut self, before: &'static Block, counter: u32, block: &'static Block) {
        if counter != NO_COUNTER {
            self.leave(before, counter, block.start != before.end);
        }
        let calls = match before.flow {
            Flow::Call => Some(before.end),
            _ => self.pending.take(),
        };
        if let Some(back) = calls {
            let is_stub = matches!(block.flow, Flow::IndirectJump | Flow::Jump) && block.instructions <= STUB;
            if is_stub && !block.is_main {
                self.pending = Some(back);
            } else {
                self.pending = None;
                self.stack.push(Frame { back, node: self.node });
                self.enter(Some(self.node), block);
            }
        } else if before.flow == Flow::Return
            && let Some(depth) = self.stack.iter().rposition(|frame| frame.back == block.start)
        {
            self.node = self.stack[depth].node;
            self.stack.truncate(depth);
        } else if block.is_operation {
            // Jumped to: it returns to where the function that jumps was called.
            self.enter(Some(self.node), block);
        }
    }

    /// A block that was counted has ended, and jumped or not.
    fn leave(&mut self, block: &'static Block, counter: u32, jumped: bool) {
        self.touch(counter);
        let known = &mut self.counters[counter as usize];
        known.count.jumps += u64::from(jumped);
        known.count.turns += u64::from(jumped != known.jumped);
        known.jumped = jumped;
        if let Some(models) = self.models.as_mut().filter(|_| block.flow == Flow::Branch) {
            models.branch(counter, block.number, jumped);
        }
    }

    /// The function that begins with `block` is called at `parent`. What an MPI operation calls is its own.
    fn enter(&mut self, parent: Option<u32>, block: &'static Block) {
        if block.is_main {
            self.begin_main();
        }
        if !self.is_within_mpi() {
            self.node = self.callee(parent, block.start + block.tag, block.is_operation);
            self.visit();
        }
    }

    /// `main` begins, and bins anew. What the loader did before depends on the environment, which launchers make another one each time, so it
    /// is one bin, and those behind it are the same in each run.
    fn begin_main(&mut self) {
        if self.width == 0 || self.main.1 > 0 || self.position == 0 {
            return;
        }
        self.close();
        let mut bins = std::mem::take(&mut self.bins).into_iter();
        let mut before = bins.next().unwrap_or_default();
        bins.for_each(|bin| before.append(bin));
        before.lines = self.lines.map(|_| self.accessed.len() as u64);
        self.bins.push(before);
        (self.width, self.too_many) = self.first;
        self.main = (self.position, 1);
        self.next = self.position.saturating_add(self.width);
    }

    /// The call path of the function at `entry` below `parent`; where it is on the path already, that one.
    fn callee(&mut self, parent: Option<u32>, entry: u64, is_operation: bool) -> u32 {
        let key = (parent.unwrap_or(NO_BLOCK), entry);
        if let Some(&known) = self.callees.get(&key) {
            return known;
        }
        let mut above = parent;
        while let Some(node) = above.filter(|&node| self.nodes[node as usize].entry != entry) {
            above = self.nodes[node as usize].parent;
        }
        let node = above.unwrap_or_else(|| {
            let node = self.nodes.len() as u32;
            let visits = self.place(node, NO_BLOCK, 0);
            self.nodes.push(Node { parent, entry, visits, is_operation });
            node
        });
        self.callees.insert(key, node);
        node
    }

    fn visit(&mut self) {
        let visits = self.nodes[self.node as usize].visits;
        self.touch(visits);
        self.counters[visits as usize].count.count += 1;
    }

    /// The counter of a block at the current call path.
    fn counter(&mut self, block: &Block) -> u32 {
        let at = block.number as usize;
        if at >= self.recent.len() {
            self.recent.resize(at + 1, (NO_BLOCK, 0));
        }
        if self.recent[at].0 != self.node {
            self.recent[at] = (self.node, self.place(self.node, block.number, block.instructions));
        }
        self.recent[at].1
    }

    /// The counter of a block, of so many instructions, at a call path.
    fn place(&mut self, node: u32, block: u32, instructions: u32) -> u32 {
        let next = self.places.len() as u32;
        let place = *self.index.entry((node, block)).or_insert(next);
        if place == next {
            self.places.push((node, block));
            self.sizes.push(instructions);
            self.counters.push(Counter { count: Count { place, ..Count::default() }, ..Counter::default() });
        }
        place
    }

    /// Makes a counter one of the current bin.
    fn touch(&mut self, counter: u32) {
        let known = &mut self.counters[counter as usize];
        if known.bin != self.bin {
            known.bin = self.bin;
            known.count = Count { place: known.count.place, ..Count::default() };
            self.touched.push(counter);
        }
    }

    /// The current bin is over.
    fn close(&mut self) {
        let counts = self.touched.drain(..).map(|counter| self.counters[counter as usize].count).collect();
        let lines = self.lines;
        self.lines = lines.map(|_| 0);
        self.bins.push(Bin { counts, lines });
        self.bin += 1;
        if self.bins.len() >= self.too_many {
            if self.grows && self.too_many < MOST && joining_hides(self.labels()) {
                self.too_many *= 2;
            } else {
                self.coarsen();
            }
        }
        let (begin, before) = self.main;
        self.next = begin.saturating_add(self.width.saturating_mul((self.bins.len() - before) as u64 + 1));
    }

    /// The function that has more than half of each bin's instructions, where one has.
    fn labels(&self) -> Vec<Option<u64>> {
        let mut sums: HashMap<u64, u64> = HashMap::new();
        let label = |bin: &Bin| {
            sums.clear();
            for count in &bin.counts {
                let place = count.place as usize;
                let entry = self.nodes[self.places[place].0 as usize].entry;
                *sums.entry(entry).or_default() += count.count * u64::from(self.sizes[place]);
            }
            let all: u64 = sums.values().sum();
            sums.iter().find(|(_, sum)| **sum > all / 2).map(|(&entry, _)| entry)
        };
        self.bins.iter().map(label).collect()
    }

    /// Makes two bins one, from where `main` begins.
    pub fn coarsen(&mut self) {
        self.width = self.width.saturating_mul(2);
        let mut bins = std::mem::take(&mut self.bins).into_iter();
        self.bins.extend(bins.by_ref().take(self.main.1));
        while let Some(mut bin) = bins.next() {
            if let Some(next) = bins.next() {
                bin.append(next);
            }
            self.bins.push(bin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of one instruction of 4 bytes each, unless told otherwise.
    fn block(number: u32, start: u64, instructions: u32, flow: Flow) -> &'static Block {
        let end = start + 4 * u64::from(instructions);
        let block = Block {
            number,
            start,
            last: end - 4,
            end,
            tag: 0,
            instructions,
            flow,
            is_operation: false,
            is_main: false,
            repeats: false,
            bytes: Vec::new(),
        };
        Box::leak(Box::new(block))
    }

    /// Entries from the root to a node.
    fn path(thread: &Thread, node: u32) -> Vec<u64> {
        let mut path: Vec<u64> = std::iter::successors(Some(node), |&n| thread.nodes[n as usize].parent)
            .map(|n| thread.nodes[n as usize].entry)
            .collect();
        path.reverse();
        path
    }

    /// Executions by call path and block, over all bins; visits where there is no block.
    fn counted(thread: &Thread) -> Vec<(Vec<u64>, u32, u64)> {
        let mut sums: HashMap<u32, u64> = HashMap::new();
        thread.bins.iter().flat_map(|bin| &bin.counts).for_each(|c| *sums.entry(c.place).or_default() += c.count);
        let of = |(&place, &count): (&u32, &u64)| {
            let (node, block) = thread.places[place as usize];
            (path(thread, node), block, count)
        };
        let mut counted: Vec<_> = sums.iter().map(of).collect();
        counted.sort();
        counted
    }

    #[test]
    fn calls_through_stubs_recursion_and_returns_over_several_frames_are_followed() {
        let main = block(0, 0x100, 2, Flow::Call);
        let stub = block(1, 0x200, 2, Flow::IndirectJump);
        let f = block(2, 0x300, 1, Flow::Call);
        let g = block(3, 0x400, 1, Flow::Call);
        let after_main = block(4, 0x108, 1, Flow::Return);
        let leave = block(5, 0x400, 1, Flow::Return);
        let mut thread = Thread::new(0, Width::Whole, false);
        // main calls f through a stub; f calls g, g calls f again, which is on the path; then all return at once to main.
        for block in [main, stub, f, g, f, leave, after_main] {
            thread.execute(block);
        }
        assert_eq!(thread.node, 0, "back in main");
        thread.end();
        let (m, mf, mfg) = (vec![0x100], vec![0x100, 0x300], vec![0x100, 0x300, 0x400]);
        let expected = vec![
            (m.clone(), 0, 1),
            (m.clone(), 1, 1),
            (m.clone(), 4, 1),
            (m, NO_BLOCK, 1),
            (mf.clone(), 2, 2),
            (mf, NO_BLOCK, 2),
            (mfg.clone(), 3, 1),
            (mfg.clone(), 5, 1),
            (mfg, NO_BLOCK, 2),
        ];
        assert_eq!(counted(&thread), expected);
    }

    #[test]
    fn bins_hold_as_many_instructions_and_a_block_belongs_to_that_in_which_it_begins() {
        let loops = block(0, 0x100, 4, Flow::Jump);
        let other = block(1, 0x110, 3, Flow::Jump);
        let mut thread = Thread::new(0, Width::Fixed(10), false);
        for block in [loops, loops, loops, other, other, other, other] {
            thread.execute(block);
        }
        thread.end();
        let counts: Vec<Vec<(u32, u64, u64, u64)>> = thread
            .bins
            .iter()
            .map(|bin| {
                bin.counts
                    .iter()
                    .filter(|c| thread.places[c.place as usize].1 != NO_BLOCK)
                    .map(|c| (thread.places[c.place as usize].1, c.count, c.jumps, c.turns))
                    .collect()
            })
            .collect();
        // Begun at 0, 4, 8 | 12, 15, 18 | 21; the loop jumps back twice, then falls through, and the other jumps ever after.
        assert_eq!(counts, [vec![(0, 3, 2, 2)], vec![(1, 3, 3, 1)], vec![(1, 1, 0, 0)]]);
    }

    #[test]
    fn iterations_of_one_instruction_count_once() {
        let before = block(0, 0x100, 2, Flow::Next);
        let repeated = Block {
            repeats: true,
            ..Block {
                number: 1,
                start: 0x104,
                last: 0x104,
                end: 0x108,
                tag: 0,
                instructions: 1,
                flow: Flow::Next,
                is_operation: false,
                is_main: false,
                repeats: true,
                bytes: Vec::new(),
            }
        };
        let repeated: &'static Block = Box::leak(Box::new(repeated));
        let mut thread = Thread::new(0, Width::Whole, false);
        for block in [before, repeated, repeated, repeated] {
            thread.execute(block);
        }
        assert_eq!(thread.position, 2, "the instruction was the last of the block before");
        assert_eq!(thread.counters[1].count.jumps, 0);
    }

    #[test]
    fn many_bins_become_half_as_many_of_twice_the_width() {
        let loops = block(0, 0x100, FIRST_WIDTH as u32 / 2, Flow::Jump);
        let mut thread = Thread::new(0, Width::Growing, true);
        (0..2 * ENOUGH as u64 + 4).for_each(|_| thread.execute(loops));
        thread.access(0, 0, 8);
        thread.access(0, 60, 4);
        thread.access(0, 60, 5);
        thread.end();
        assert_eq!((thread.width, thread.bins.len()), (FIRST_WIDTH * 2, ENOUGH / 2 + 1));
        let executed: u64 = thread.bins.iter().map(|b| b.counts.iter().map(|c| c.count).sum::<u64>()).sum();
        assert_eq!(executed - 1, 2 * ENOUGH as u64 + 4, "one of them is the visit");
        assert_eq!(thread.bins.last().unwrap().lines, Some(2));
        assert_eq!(thread.bins[0].lines, None, "of what was two bins nobody knows it");
    }

    #[test]
    fn bins_stay_narrow_while_wider_ones_would_hide_a_function() {
        // Two functions in turns, each for eight bins of the first width.
        let main = block(0, 0x100, 1, Flow::Call);
        let work = [block(1, 0x200, FIRST_WIDTH as u32, Flow::Jump), block(2, 0x20000, FIRST_WIDTH as u32, Flow::Jump)];
        let back = [block(3, 0x200, 1, Flow::Return), block(4, 0x20000, 1, Flow::Return)];
        let after = block(5, 0x104, 1, Flow::Jump);
        let mut thread = Thread::new(0, Width::Growing, false);
        for turn in 0..2000 {
            thread.execute(main);
            (0..8).for_each(|_| thread.execute(work[turn % 2]));
            thread.execute(back[turn % 2]);
            thread.execute(after);
        }
        thread.end();
        assert_eq!((thread.width, thread.bins.len() / 100), (FIRST_WIDTH, 160));
        // The same without the turns.
        let mut thread = Thread::new(0, Width::Growing, false);
        thread.execute(main);
        (0..16000).for_each(|_| thread.execute(work[0]));
        thread.end();
        assert!(thread.width >= 4 * FIRST_WIDTH && thread.bins.len() <= ENOUGH, "{}", thread.width);
    }

    #[test]
    fn bins_of_main_do_not_depend_on_what_was_before() {
        let start = block(0, 0x100, 10, Flow::Jump);
        let call = block(1, 0x200, 1, Flow::Call);
        let main = block(2, 0x300, 4, Flow::Jump);
        let main: &'static Block = Box::leak(Box::new(Block { is_main: true, bytes: Vec::new(), ..*main }));
        let run = |before: usize, width: Width| {
            let mut thread = Thread::new(0, width, true);
            (0..before).for_each(|_| thread.execute(start));
            thread.access(0, 0, 256);
            thread.execute(call);
            (0..3 * ENOUGH).for_each(|_| thread.execute(main));
            thread.end();
            thread
        };
        for width in [Width::Fixed(7), Width::Fixed(4), Width::Growing] {
            let (few, many) = (run(3, width), run(2_000_000, width));
            assert_eq!(few.width, many.width);
            assert_eq!(few.bins[1..], many.bins[1..]);
            let before = |thread: &Thread| thread.bins[0].counts.iter().map(|c| (c.place, c.count)).collect::<Vec<_>>();
            // Each began with a visit.
            assert_eq!(before(&few), [(0, 1), (1, 3), (2, 1)]);
            assert_eq!(before(&many), [(0, 1), (1, 2_000_000), (2, 1)]);
            assert_eq!((few.bins[0].lines, many.bins[0].lines), (Some(4), Some(4)));
        }
        assert_eq!(run(3, Width::Fixed(4)).bins.len(), 1 + 3 * ENOUGH);
        assert_eq!(run(3, Width::Whole).bins.len(), 1);
    }

    #[test]
    fn what_mpi_operations_execute_is_not_counted() {
        let operation = |block: &Block, at: u64, flow: Flow| -> &'static Block {
            let (last, end) = (at, at + 4);
            Box::leak(Box::new(Block { start: at, last, end, is_operation: true, flow, bytes: Vec::new(), ..*block }))
        };
        let main = block(0, 0x100, 2, Flow::Call);
        let stub = block(1, 0x200, 2, Flow::IndirectJump);
        let wait = operation(block(2, 0x300, 1, Flow::Call), 0x300, Flow::Call);
        let spin = block(3, 0x400, 9, Flow::Return);
        let again = block(4, 0x304, 1, Flow::Return);
        let after = block(5, 0x108, 3, Flow::Call);
        let wrapper = block(6, 0x500, STUB + 1, Flow::Jump);
        let leave = operation(block(7, 0x600, 1, Flow::Return), 0x600, Flow::Return);
        let end = block(8, 0x114, 1, Flow::Jump);
        let run = |spins: usize| {
            let mut thread = Thread::new(0, Width::Fixed(4), false);
            [main, stub, wait].into_iter().for_each(|block| thread.execute(block));
            assert!(thread.is_within_mpi());
            (0..spins).for_each(|_| [spin, wait].into_iter().for_each(|block| thread.execute(block)));
            // Back from the innermost call, then from the operation; a wrapper jumps to another.
            [spin, again, after, wrapper, leave, end].into_iter().for_each(|block| thread.execute(block));
            assert!(!thread.is_within_mpi());
            thread.end();
            thread
        };
        let once = run(1);
        assert_eq!(once.position, 2 + 2 + 3 + 5 + 1);
        let (m, mw) = (vec![0x100], vec![0x100, 0x300]);
        let mut expected = vec![(m.clone(), 0, 1), (m.clone(), 1, 1), (m.clone(), 5, 1), (m.clone(), 8, 1)];
        expected.extend([(m, NO_BLOCK, 1), (mw, NO_BLOCK, 1)]);
        expected.extend([(vec![0x100, 0x500], 6, 1), (vec![0x100, 0x500], NO_BLOCK, 1)]);
        expected.push((vec![0x100, 0x500, 0x600], NO_BLOCK, 1));
        expected.sort();
        assert_eq!(counted(&once), expected);
        assert_eq!(run(1000).bins, once.bins, "however long it waits");
    }

    #[test]
    fn bins_of_a_width_that_was_asked_for_are_bounded_too() {
        let loops = block(0, 0x100, 1, Flow::Jump);
        let mut thread = Thread::new(0, Width::Fixed(1), false);
        (0..MOST_FIXED as u64 + 3).for_each(|_| thread.execute(loops));
        thread.end();
        assert_eq!((thread.width, thread.bins.len()), (2, MOST_FIXED / 2 + 2));
    }
}
