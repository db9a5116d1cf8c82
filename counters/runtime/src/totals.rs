//! The sum of several threads' call trees by call path.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ptr::null;
use std::sync::atomic::Ordering;

use poise_profile::{Messages, Metric, RankBuilder, RegionKind};

use crate::clock::{self, Scale};
use crate::thread;
use crate::traffic::{Peers, Traffic};
use crate::tree::{LOOPS, Node, PARTS, Region, Tree, View};

/// Values of one call path, in the order of [`Metric::ALL`]; time in ticks.
type Values = [u64; Metric::ALL.len()];

impl Node {
    /// The counters in the order of [`Metric::ALL`].
    ///
    /// # Safety
    /// `node` must live. Its thread may change its links meanwhile, so that there is no reference to the whole of it.
    unsafe fn values(node: *const Self) -> Values {
        // SAFETY: the caller's promise.
        let late = unsafe { Self::messages(node) }
            .map_or([0, 0], |traffic| [traffic.late_sender.get(), traffic.late_receiver.load(Ordering::Relaxed)]);
        // SAFETY: the caller's promise; counters are atomic, and may be read by any thread.
        Metric::ALL.map(|metric| unsafe {
            match metric {
                Metric::Visits => (*node).visits.get(),
                Metric::Time => (*node).ticks.get(),
                Metric::BasicBlocks => (*node).blocks.get(),
                Metric::BytesSent => (*node).bytes_sent.get(),
                Metric::BytesReceived => (*node).bytes_received.get(),
                Metric::CommSize => (*node).comm_size.get(),
                Metric::LogicalWait => (*node).logical_wait.get(),
                Metric::WaitTime => (*node).wait_ticks.get().saturating_add(late[1]),
                Metric::PollingBlocks => (*node).polling_blocks.get(),
                // Only an emulator counts them.
                Metric::Instructions => 0,
                // Follow of the others when all is known.
                Metric::CompiledBlocks | Metric::Peers => 0,
                Metric::LateSender => late[0],
                Metric::LateReceiver => late[1],
            }
        })
    }

    /// Its messages, if there are any.
    ///
    /// # Safety
    /// As [`Node::values`]; the result lives as long as the node.
    unsafe fn messages<'a>(node: *const Self) -> Option<&'a Traffic> {
        // SAFETY: null or from a box that goes with the node.
        unsafe { (*node).traffic.load(Ordering::Acquire).as_ref() }
    }
}

struct Total {
    parent: Option<u32>,
    region: *const Region,
    /// Its node in the profile, once there is one.
    node: Option<u32>,
    values: Values,
    /// Messages of an MPI operation.
    messages: Option<Box<(Messages, Peers)>>,
}

/// Hashes numbers and addresses by a multiplication each: nobody chooses them so that they collide, and the program waits for it.
#[derive(Default)]
struct Quick(u64);

impl Hasher for Quick {
    fn finish(&self) -> u64 {
        // The high bits depend on all that was written.
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        // The odd number next to 2^64 by the golden ratio.
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}

/// Call paths by the addresses of their regions; regions of equal value but different address (an inline function in
/// two shared objects) become one in [`Totals::profile`].
#[derive(Default)]
pub struct Totals {
    nodes: Vec<Total>,
    index: HashMap<(Option<u32>, usize), u32, BuildHasherDefault<Quick>>,
    full: bool,
    lacks_messages: bool,
}

// SAFETY: the pointers lead to regions, which are constant and live as long as the process.
unsafe impl Send for Totals {}

impl Totals {
    /// Adds what `tree` holds, and what its thread has done since it was brought up to date.
    ///
    /// # Safety
    /// `tree` and its thread must live during the call.
    pub unsafe fn add(&mut self, tree: *const Tree) {
        let root = self.node(None, null());
        let before = self.nodes[root as usize].values[Metric::Time as usize];
        // By the number of the tree's node; links have none, so numbers have gaps.
        let mut here: Vec<u32> = Vec::new();
        let visit = |view: View| {
            let parent = view.parent.map(|number| here[number as usize]);
            // SAFETY: null, at the root and at bases, or a region, which lives as long as the process.
            let is_unrecorded = unsafe { view.region.as_ref() }.is_some_and(Region::is_unrecorded);
            // SAFETY: nodes that are shown live as long as their tree.
            let mut values = unsafe { Node::values(view.node) };
            let id = match parent {
                // What a thread does for another's call path counts for that; the time between two callees does not.
                Some(parent) if view.region.is_null() => {
                    values[Metric::Time as usize] = 0;
                    parent
                }
                // Of operations without a record nothing stays but what they had the program execute.
                Some(parent) if is_unrecorded => {
                    for metric in Metric::ALL {
                        if !matches!(metric, Metric::BasicBlocks | Metric::PollingBlocks) {
                            values[metric as usize] = 0;
                        }
                    }
                    parent
                }
                _ => self.node(parent, view.region),
            };
            here.resize(view.number as usize + 1, id);
            let total = &mut self.nodes[id as usize];
            add(&mut total.values, &values);
            // SAFETY: as above.
            if let Some(traffic) = unsafe { Node::messages(view.node) }.filter(|_| !is_unrecorded) {
                let (messages, peers) = &mut **total.messages.get_or_insert_default();
                traffic.read(messages, peers);
            }
        };
        // SAFETY: the caller's promise.
        unsafe { Tree::read(tree, visit) };
        // SAFETY: the caller's promise.
        if let Some(pending) = thread::pending(unsafe { (*tree).thread() })
            && let Some(&id) = here.get(pending.node as usize)
        {
            let values = &mut self.nodes[id as usize].values;
            values[Metric::Time as usize] = values[Metric::Time as usize].saturating_add(pending.ticks);
            values[Metric::BasicBlocks as usize] = values[Metric::BasicBlocks as usize].saturating_add(pending.blocks);
            values[Metric::Visits as usize] = values[Metric::Visits as usize].saturating_add(pending.visits);
        }
        // SAFETY: the caller's promise.
        let (is_full, is_from_stack) = unsafe { ((*tree).is_full(), (*tree).is_from_stack()) };
        self.full |= is_full;
        // SAFETY: the caller's promise.
        self.lacks_messages |= unsafe { (*tree).lacks_messages() };
        if !is_from_stack {
            // A thread outside its regions has left what is measured, or waits for something to do.
            self.nodes[root as usize].values[Metric::Time as usize] = before;
        }
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        let mut here = Vec::with_capacity(other.nodes.len());
        for node in &other.nodes {
            let parent = node.parent.map(|parent: u32| here[parent as usize]);
            let id = self.node(parent, node.region);
            here.push(id);
            let total = &mut self.nodes[id as usize];
            add(&mut total.values, &node.values);
            if let Some(more) = &node.messages {
                let (messages, peers) = &mut **total.messages.get_or_insert_default();
                messages.merge(&more.0);
                more.1.iter().for_each(|(&peer, traffic)| peers.entry(peer).or_default().merge(traffic));
            }
        }
        self.full |= other.full;
        self.lacks_messages |= other.lacks_messages;
    }

    /// Whether some thread left out call paths because it had too many.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Whether there was no memory for some messages.
    pub fn lacks_messages(&self) -> bool {
        self.lacks_messages
    }

    /// What the blocks of the functions that were entered are: `blocks`, `loops`, or both in two lines where objects were compiled
    /// differently. `None` where no function counts.
    pub fn weights(&self) -> Option<String> {
        let mut has = [false; 2];
        for total in self.nodes.iter().filter(|total| total.values[Metric::Visits as usize] > 0) {
            // SAFETY: null, at the root, or a region, which lives as long as the process.
            if let Some(region) = unsafe { total.region.as_ref() }.filter(|region| region.kind == 0) {
                has[usize::from(region.flags & LOOPS != 0)] = true;
            }
        }
        let names: Vec<_> = ["blocks", "loops"].into_iter().zip(has).filter(|(_, has)| *has).map(|(n, _)| n).collect();
        (!names.is_empty()).then(|| names.join("\n"))
    }

    fn node(&mut self, parent: Option<u32>, region: *const Region) -> u32 {
        let next = self.nodes.len() as u32;
        *self.index.entry((parent, region as usize)).or_insert_with(|| {
            self.nodes.push(Total { parent, region, node: None, values: [0; Metric::ALL.len()], messages: None });
            next
        })
    }

    /// For each function with inlined ones that count for themselves, its blocks with theirs, also where none of those was executed.
    fn compiled(&self) -> Vec<Option<u64>> {
        let mut compiled = vec![None; self.nodes.len()];
        // The function that was entered, for each node.
        let mut entered: Vec<usize> = Vec::with_capacity(self.nodes.len());
        for (index, total) in self.nodes.iter().enumerate() {
            let blocks = total.values[Metric::BasicBlocks as usize];
            let owner = match total.parent {
                Some(parent) if region_is_inlined(total.region) => entered[parent as usize],
                _ => index,
            };
            entered.push(owner);
            // SAFETY: null, at the root, or a region, which lives as long as the process.
            if unsafe { total.region.as_ref() }.is_some_and(|region| region.flags & PARTS != 0) {
                compiled[index].get_or_insert(blocks);
            }
            if owner != index {
                let own = self.nodes[owner].values[Metric::BasicBlocks as usize];
                let sum = compiled[owner].get_or_insert(own);
                *sum = sum.saturating_add(blocks);
            }
        }
        compiled
    }

    /// The profile of rank `rank`. The trees' roots are no call paths: their callees are the profile's roots. Blocks
    /// executed outside all regions get a root of their own, and so does the time that a program without regions spends
    /// between its MPI operations.
    /// `waiting` says whether waiting was measured, `keeps_rank` whether what the rank had is to be kept as its own.
    pub fn profile(&mut self, rank: u32, scale: &Scale, waiting: bool, keeps_rank: bool) -> poise_profile::Profile {
        let mut builder = RankBuilder::new();
        if keeps_rank {
            builder.keep_rank();
        }
        for (index, compiled) in self.compiled().into_iter().enumerate() {
            let parent = self.nodes[index].parent.and_then(|parent| self.nodes[parent as usize].node);
            let total = &mut self.nodes[index];
            if total.region.is_null() {
                let value = |metric: Metric| total.values[metric as usize];
                for metric in [Metric::BasicBlocks, Metric::PollingBlocks] {
                    outside(&mut builder, "(outside all regions)", metric, value(metric));
                }
                outside(&mut builder, "(outside MPI)", Metric::Time, scale.nanoseconds(value(Metric::Time)));
                if waiting && clock::is_shared() {
                    let polling = scale.nanoseconds(value(Metric::WaitTime));
                    outside(&mut builder, "(outside MPI)", Metric::WaitTime, polling);
                }
                continue;
            }
            // SAFETY: regions live as long as the process; poise_enter's callers promise it.
            let region = unsafe { (*total.region).to_profile() };
            let is_mpi = region.kind == RegionKind::Mpi;
            let node = builder.node(parent, region);
            total.node = Some(node);
            // A function that is known from the stack alone: nobody counts when it is entered.
            if total.values.iter().all(|&value| value == 0) {
                continue;
            }
            if region_is_inlined(total.region) {
                // Nothing enters it, and its time is that of the function that it is in.
                let blocks = total.values[Metric::BasicBlocks as usize];
                if blocks > 0 {
                    builder.add(node, Metric::BasicBlocks, blocks);
                }
                if total.values[Metric::PollingBlocks as usize] > 0 {
                    builder.add(node, Metric::PollingBlocks, total.values[Metric::PollingBlocks as usize]);
                }
                continue;
            }
            if let Some((messages, peers)) = total.messages.as_deref() {
                builder.add_messages(node, messages, peers);
            }
            if let Some(blocks) = compiled {
                builder.add(node, Metric::CompiledBlocks, blocks);
            }
            for (metric, value) in Metric::ALL.into_iter().zip(total.values) {
                match metric {
                    Metric::Time if clock::is_none() => {}
                    Metric::Time => builder.add(node, metric, scale.nanoseconds(value)),
                    Metric::WaitTime if waiting && clock::is_shared() && (is_mpi || value > 0) => {
                        builder.add(node, metric, scale.nanoseconds(value));
                    }
                    Metric::LateSender | Metric::LateReceiver if waiting && value > 0 && clock::is_shared() => {
                        builder.add(node, metric, scale.nanoseconds(value));
                    }
                    Metric::LogicalWait if waiting && is_mpi => builder.add(node, metric, value),
                    Metric::PollingBlocks if value > 0 => builder.add(node, metric, value),
                    Metric::Visits | Metric::BasicBlocks => builder.add(node, metric, value),
                    Metric::BytesSent | Metric::BytesReceived | Metric::CommSize if is_mpi => {
                        builder.add(node, metric, value);
                    }
                    _ => {}
                }
            }
        }
        builder.finish(rank)
    }
}

impl Totals {
    /// The call path of `region` below that of the number `caller`, or with neither what is outside all regions; its number, if it is known.
    pub fn find(&self, caller: Option<u32>, region: *const Region) -> Option<u32> {
        self.index.get(&(caller, region as usize)).copied()
    }

    /// The node that [`Totals::profile`] gave the call path of a number; none to what is outside all regions.
    pub fn node_of(&self, number: u32) -> Option<u32> {
        self.nodes[number as usize].node
    }
}

/// Whether a region is an inlined function.
fn region_is_inlined(region: *const Region) -> bool {
    // SAFETY: null, at the root, or a region, which lives as long as the process.
    unsafe { region.as_ref() }.is_some_and(|region| region.kind == 3)
}

/// Adds the values of one call path: they add up, but for the size of the communicator, of which the larger stays.
fn add(sums: &mut Values, values: &Values) {
    for (metric, (sum, &value)) in Metric::ALL.into_iter().zip(sums.iter_mut().zip(values)) {
        *sum = if metric == Metric::CommSize { value.max(*sum) } else { sum.saturating_add(value) };
    }
}

/// Adds a root for what was counted outside all regions, if there is any.
fn outside(builder: &mut RankBuilder, name: &str, metric: Metric, value: u64) {
    if value > 0 {
        let region = poise_profile::Region { name: name.into(), file: String::new(), line: 0, kind: RegionKind::User };
        let node = builder.node(None, region);
        builder.add(node, metric, value);
    }
}
