//! What is made of the threads' bins in a profile: call paths become places, and bins are made equally wide and go into the profile's bytes.

use std::collections::BTreeMap;
use std::ptr::null;

use poise_profile::{EncodedPhases, Metric, Place, Profile, Share};

use super::recorder::{self, Path, Recorder};
use crate::clock::Scale;
use crate::totals::Totals;

/// Whether a region stands for operations of which the program wants no record.
fn is_unrecorded(region: *const crate::tree::Region) -> bool {
    // SAFETY: regions live as long as the process.
    unsafe { (*region).is_unrecorded() }
}

/// What the profile that is being made has of a thread's call path.
#[derive(Clone, Copy)]
struct Known {
    /// Its number in the totals.
    number: Option<u32>,
    /// Whether it is of operations of which the program wants no record: as in the call tree nothing stays but what they had the program
    /// execute, which is their caller's.
    has_no_record: bool,
    /// Its place.
    place: Option<u32>,
}

/// Places of a profile that is being made.
pub(super) struct Collected<'a> {
    totals: &'a Totals,
    profile: &'a Profile,
    pub(super) places: Vec<Place>,
    /// By node of the profile its place, and the last thread that has it.
    index: Vec<Option<(u32, u32)>>,
    /// How many threads there were.
    threads: u32,
}

impl<'a> Collected<'a> {
    pub(super) fn new((totals, profile): (&'a Totals, &'a Profile)) -> Self {
        Self {
            totals,
            profile,
            places: Vec::with_capacity(profile.nodes.len()),
            index: vec![None; profile.nodes.len()],
            threads: 0,
        }
    }

    /// Appends a thread's bins, made as wide as the `widest`; nothing of a thread that did nothing. Adds what is in them to `sums`, by place.
    pub(super) fn put(
        &mut self,
        phases: &mut EncodedPhases,
        thread: (u32, u32),
        (recorder, widest): (&Recorder, u64),
        scale: &Scale,
        sums: Option<&mut BTreeMap<u32, Share>>,
    ) {
        recorder.bins(|bins| {
            if bins.iter().len() == 0 {
                return;
            }
            let (paths, repeats) = self.paths(&recorder.paths);
            // A share of a place.
            let of = |place: u32, numbers: recorder::Numbers| {
                let [count, ticks, visits, bytes_sent, bytes_received, waiting] = numbers;
                // As a rule nothing waits.
                let wait_time = if waiting == 0 { 0 } else { scale.nanoseconds(waiting) };
                let time = scale.nanoseconds(ticks);
                Share { place, count, visits, bytes_sent, bytes_received, time, wait_time, ..Share::default() }
            };
            // As a rule a bin has one share of each place, and is as wide as all others: nothing is copied. Operations without a record have their caller's
            // place, which repeats.
            if !repeats && recorder.width == widest {
                let at_path = |share: &recorder::Share| Some(of(paths[share.path as usize].place?, share.numbers));
                add(phases, thread, bins, at_path, sums);
                return;
            }
            let at_place = |share: &recorder::Share| {
                let Known { place, has_no_record, .. } = paths[share.path as usize];
                let [blocks, ..] = share.numbers;
                match has_no_record {
                    true if blocks == 0 => None,
                    true => Some(recorder::Share { path: place?, numbers: [blocks, 0, 0, 0, 0, 0] }),
                    false => Some(recorder::Share { path: place?, ..*share }),
                }
            };
            let factor = usize::try_from(widest / recorder.width).unwrap_or(usize::MAX);
            let joined = bins.joined(factor, self.places.len(), at_place);
            let as_it_is = |share: &recorder::Share| Some(of(share.path, share.numbers));
            add(phases, thread, recorder::Bins::of(&joined), as_it_is, sums);
        });
    }

    /// What is known of a thread's call paths, and whether two of them have one place.
    fn paths(&mut self, paths: &[Path]) -> (Vec<Known>, bool) {
        let mut known: Vec<Known> = Vec::with_capacity(paths.len());
        self.threads += 1;
        let mut repeats = false;
        for path in paths {
            let caller = path.caller.map(|caller| known[caller as usize]);
            let (number, has_no_record) = match caller {
                None => (self.totals.find(None, null()), false),
                Some(caller) if path.region.is_null() => (caller.number, caller.has_no_record),
                Some(caller) if is_unrecorded(path.region) => (caller.number, true),
                Some(caller) => (caller.number.and_then(|caller| self.totals.find(Some(caller), path.region)), false),
            };
            let node = number.and_then(|number| self.totals.node_of(number).or_else(|| self.outside()));
            let place = node.map(|node| self.at(node));
            repeats |= place.is_some_and(|(_, again)| again);
            known.push(Known { number, has_no_record, place: place.map(|(place, _)| place) });
        }
        (known, repeats)
    }

    /// What is executed outside all regions has a root of its own where it counts anything.
    fn outside(&self) -> Option<u32> {
        let nodes = (0..).zip(&self.profile.nodes);
        let mut roots = nodes.filter(|(_, node)| node.parent.is_none());
        roots.find(|(_, n)| self.profile.regions[n.region as usize].name == "(outside all regions)").map(|(i, _)| i)
    }

    /// The place of a node of the profile, and whether the thread had it before.
    fn at(&mut self, node: u32) -> (u32, bool) {
        let next = self.places.len() as u32;
        let (place, thread) = self.index[node as usize].get_or_insert_with(|| {
            self.places.push(Place { node, code: None });
            (next, 0)
        });
        (*place, std::mem::replace(thread, self.threads) == self.threads)
    }

    /// What the profile has and no timeline, of which this is the sum by place.
    pub(super) fn rest(&mut self, binned: &BTreeMap<u32, Share>) -> Vec<Share> {
        let profile = self.profile;
        let mut shares = Vec::new();
        for node in 0..profile.nodes.len() as u32 {
            let (place, _) = self.at(node);
            let value = |metric| profile.values.get(&(node, metric)).map_or(0, |value| value.sum as u64);
            let known = binned.get(&place).copied().unwrap_or_default();
            let rest = |metric, known| value(metric).saturating_sub(known);
            shares.push(Share {
                place,
                count: rest(Metric::BasicBlocks, known.count),
                visits: rest(Metric::Visits, known.visits),
                bytes_sent: rest(Metric::BytesSent, known.bytes_sent),
                bytes_received: rest(Metric::BytesReceived, known.bytes_received),
                time: rest(Metric::Time, known.time),
                wait_time: rest(Metric::WaitTime, known.wait_time),
                ..Share::default()
            });
        }
        // Times are rounded in each bin, so that a little of them is left of what others did.
        shares.retain(|share| share.count > 0 || share.visits > 0);
        shares
    }
}

/// Appends the bins of a thread of a rank, whose shares `of` gives; adds these to `sums`, by place.
fn add(
    phases: &mut EncodedPhases,
    thread: (u32, u32),
    bins: recorder::Bins,
    of: impl Fn(&recorder::Share) -> Option<Share> + Copy,
    sums: Option<&mut BTreeMap<u32, Share>>,
) {
    phases.add_timeline(thread, bins.iter().map(|shares| shares.iter().filter_map(of)));
    if let Some(sums) = sums {
        for share in bins.iter().flatten().filter_map(of) {
            sums.entry(share.place).or_insert_with(|| Share { place: share.place, ..Share::default() }).add(&share);
        }
    }
}

#[cfg(test)]
mod tests {
    use poise_profile::{Bin, BinUnit};

    use super::*;
    use crate::clock;
    use crate::phases::Done;
    use crate::tree::Node;

    /// Three nodes of two call paths, of which one is the base of what a thread does for the call path of another: they are found by their
    /// regions' addresses.
    #[test]
    fn nodes_of_one_call_path_have_one_share_of_a_bin() {
        let region = |name: &'static std::ffi::CStr| {
            let region = crate::tree::Region { name: name.as_ptr(), file: null(), line: 1, kind: 0, flags: 0 };
            &*Box::leak(Box::new(region))
        };
        let (outer, inner) = (region(c"outer"), region(c"inner"));
        // The block of a thread that is in no region.
        let block = vec![0_u64; 512];
        let mut tree = Box::new(crate::tree::Tree::new(block.as_ptr() as usize));
        // SAFETY: the parents are nodes of this tree that have no such callee, and the regions live as long as the process.
        let nodes = unsafe {
            let caller = tree.grow(tree.root(), outer);
            [caller, tree.grow(caller, inner), tree.base_of_regions(&[outer, inner])]
        };
        let timeline = |nodes: &[(*mut Node, u64)], widest: u64| {
            let mut recorder = Recorder::new(BinUnit::Blocks, 1000, false);
            let mut totals = Totals::default();
            // SAFETY: the nodes are of this test's tree.
            nodes.iter().for_each(|&(node, blocks)| unsafe { (*node).blocks.add(blocks) });
            nodes.iter().for_each(|&(node, _)| recorder.reach(node));
            // SAFETY: tree and thread live.
            unsafe { totals.add(&raw const *tree) };
            let scale = Scale::since(&clock::Instant::now());
            let profile = totals.profile(0, &scale, false, false);
            let mut collected = Collected::new((&totals, &profile));
            let mut phases = EncodedPhases::new(BinUnit::Blocks, widest);
            collected.put(&mut phases, (0, 0), (&recorder, widest), &scale, None);
            let names = collected.places.iter().map(|place| {
                let node = &profile.nodes[place.node as usize];
                (profile.regions[node.region as usize].name.clone(), node.parent)
            });
            let names = names.collect::<Vec<_>>();
            phases.places = collected.places;
            let bins = &Profile::decode(&profile.encode_with(&phases)).unwrap().phases.timelines[0].bins;
            (names, bins[0].shares.iter().map(|share| (share.place, share.count)).collect::<Vec<_>>())
        };
        let name = |name: &str, parent| (name.to_owned(), parent);
        let both = vec![name("outer", None), name("inner", Some(0))];
        assert_eq!(timeline(&[(nodes[0], 5), (nodes[1], 7)], 1000), (both.clone(), vec![(0, 5), (1, 7)]));
        // What was counted before is there again, of a thread that is new.
        let added_up = (both, vec![(0, 5), (1, 18)]);
        assert_eq!(timeline(&[(nodes[0], 0), (nodes[1], 0), (nodes[2], 11)], 1000), added_up);
        assert_eq!(timeline(&[(nodes[0], 0), (nodes[1], 0), (nodes[2], 0)], 4000), added_up);
    }

    /// Of operations without a record only what they had the program execute is in a bin, at their caller's place: where that is nothing, as while they wait,
    /// nothing is. A thread that did nothing has neither bins nor places.
    #[test]
    fn what_is_in_no_bin_has_no_share_and_no_place() {
        let region = |kind: u16| {
            &*Box::leak(Box::new(crate::tree::Region { name: c"f".as_ptr(), file: null(), line: 1, kind, flags: 0 }))
        };
        // The block of a thread that is in no region.
        let block = vec![0_u64; 512];
        let mut tree = Box::new(crate::tree::Tree::new(block.as_ptr() as usize));
        let mut idle_tree = Box::new(crate::tree::Tree::new(0));
        let function = region(0);
        // SAFETY: the parents are nodes of these trees, and the regions live as long as the process.
        let (caller, unrecorded, idle) = unsafe {
            let caller = tree.grow(tree.root(), function);
            (caller, tree.grow(caller, region(4)), idle_tree.grow(idle_tree.root(), function))
        };
        let mut recorder = Recorder::new(BinUnit::Time, 100, false);
        recorder.reach(caller);
        let close = |recorder: &mut Recorder, node: *mut Node, blocks: u64, ticks: u64| {
            // SAFETY: the node is of this test's tree.
            unsafe { ((*node).blocks.add(blocks), (*node).ticks.add(ticks)) };
            recorder.close(Done { node, blocks, visits: 0, timed: node, ticks }, 0);
        };
        close(&mut recorder, caller, 8, 100);
        recorder.reach(unrecorded);
        close(&mut recorder, unrecorded, 0, 100);
        close(&mut recorder, unrecorded, 5, 100);
        let mut totals = Totals::default();
        // SAFETY: tree and thread live.
        unsafe { totals.add(&raw const *tree) };
        let scale = Scale::since(&clock::Instant::now());
        let profile = totals.profile(0, &scale, false, false);
        let mut collected = Collected::new((&totals, &profile));
        let mut phases = EncodedPhases::new(BinUnit::Time, 100);
        let mut did_nothing = Recorder::new(BinUnit::Time, 100, false);
        did_nothing.reach(idle);
        collected.put(&mut phases, (0, 1), (&did_nothing, 100), &scale, None);
        assert_eq!(collected.places.len(), 0);
        collected.put(&mut phases, (0, 2), (&recorder, 100), &scale, None);
        phases.places = collected.places;
        let phases = Profile::decode(&profile.encode_with(&phases)).unwrap().phases;
        let counts = |bin: &Bin| bin.shares.iter().map(|share| share.count).collect::<Vec<_>>();
        let timelines = phases
            .timelines
            .iter()
            .map(|timeline| (timeline.thread, timeline.bins.iter().map(counts).collect::<Vec<_>>()));
        assert_eq!(timelines.collect::<Vec<_>>(), [(2, vec![vec![8], vec![], vec![5]])]);
    }
}
