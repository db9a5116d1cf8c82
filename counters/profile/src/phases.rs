//! Effort over time: what each thread did in bins of equal effort or equal time. The runtime and QEMU's plugin write it,
//! `modeler::phases` reads it.
//!
//! A *bin* is a stretch of a thread's execution of the same width as all others, but for the thread's last, and under QEMU the
//! first, which holds what ran before `main`. What was
//! counted in it is kept by *place*: a call path, or a block of machine code at a call path.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use smallvec::SmallVec;

use crate::ProfileError;

/// What bins have the same of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum BinUnit {
    /// Executed basic blocks.
    #[default]
    Blocks,
    /// Executed instructions.
    Instructions,
    /// Nanoseconds.
    Time,
}

impl BinUnit {
    /// The unit's public name, such as `basic_blocks`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Blocks => "basic_blocks",
            Self::Instructions => "instructions",
            Self::Time => "ns",
        }
    }
}

/// Where something was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Index into the profile's nodes: the call path.
    pub node: u32,
    /// The block of machine code there; `None` where the call path is all that is known.
    pub code: Option<Code>,
}

/// A block of machine code: instructions that follow each other in memory, entered at the first alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code {
    /// Address of the first instruction while the program ran.
    pub address: u64,
    /// Number of instructions.
    pub instructions: u32,
    /// Whether the last instruction may transfer control elsewhere; else the basic block continues behind it.
    pub ends_block: bool,
    /// The instructions as they are in memory.
    pub bytes: Vec<u8>,
}

/// What was counted at one place in one bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share {
    /// Index into [`Phases::places`].
    pub place: u32,
    /// Executions of the place's machine code, or basic blocks executed at the call path.
    pub count: u64,
    /// How often the call path was entered.
    pub visits: u64,
    /// Bytes that MPI calls sent.
    pub bytes_sent: u64,
    /// Bytes that MPI calls received.
    pub bytes_received: u64,
    /// Nanoseconds.
    pub time: u64,
    /// Nanoseconds of waiting for other ranks, a part of the time.
    pub wait_time: u64,
    /// How often what followed the machine code was not the next instruction in memory.
    pub jumps: u64,
    /// How often the machine code's end did other than the time before: it jumped, or it did not.
    pub turns: u64,
}

impl Share {
    /// The numbers besides the place, in the order of the file format.
    #[must_use]
    pub fn numbers(&self) -> [u64; 8] {
        [
            self.count,
            self.visits,
            self.bytes_sent,
            self.bytes_received,
            self.time,
            self.wait_time,
            self.jumps,
            self.turns,
        ]
    }

    /// A share of these numbers, in the order of [`Share::numbers`].
    #[must_use]
    pub fn of(place: u32, numbers: [u64; 8]) -> Self {
        let [count, visits, bytes_sent, bytes_received, time, wait_time, jumps, turns] = numbers;
        Self { place, count, visits, bytes_sent, bytes_received, time, wait_time, jumps, turns }
    }

    /// Adds what another share of the same place counted.
    pub fn add(&mut self, other: &Self) {
        let (mut sums, numbers) = (self.numbers(), other.numbers());
        sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum = sum.saturating_add(number));
        *self = Self::of(self.place, sums);
    }
}

/// The shares of a bin. Most bins have one, for which nothing is allocated: a program of few milliseconds waits at its end for some
/// thousand of them.
pub type Shares = SmallVec<[Share; 1]>;

/// One bin.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bin {
    /// What happened at each place that was reached in the bin, in the order in which they were first reached.
    pub shares: Shares,
    /// How many different lines of 64 bytes of memory were accessed; `None` where that was not counted, or
    /// where bins became one.
    pub lines: Option<u64>,
}

/// The bins of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timeline {
    /// The rank.
    pub rank: u32,
    /// Number of the thread in its process.
    pub thread: u32,
    /// Its bins, first to last.
    pub bins: Vec<Bin>,
    /// Whether the first bin is as wide as what it holds, which is what ran before `main`, and no part of what bins are compared for.
    pub first_apart: bool,
}

/// What models of caches and of a branch predictor said of one place over the whole run, where they were asked for. The
/// profile's metadata say which models: `model.cache`, `model.branches`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Modelled {
    /// Index into [`Phases::places`].
    pub place: u32,
    /// How often the conditional branch at the place's end was predicted wrongly.
    pub mispredicted: u64,
    /// By instruction of the place's machine code, lines that it fetched into the first and into the second level of the
    /// caches; shorter where the last instructions fetched none.
    pub fills: Vec<[u64; 2]>,
}

impl Modelled {
    /// Adds what was said of the same machine code elsewhere.
    pub fn add(&mut self, other: &Self) {
        self.mispredicted = self.mispredicted.saturating_add(other.mispredicted);
        self.fills.resize(self.fills.len().max(other.fills.len()), [0; 2]);
        for (sum, fills) in self.fills.iter_mut().zip(&other.fills) {
            *sum = [0, 1].map(|level| sum[level].saturating_add(fills[level]));
        }
    }
}

/// Bins in a row that make a phase, as the modeler detects them by default.
const PHASE: usize = 5;
/// Part of the bins from which on it matters what they show.
const MATTERS: f64 = 0.05;

/// Whether phases that can be told apart now could not if each two bins were one: whether at least a twentieth of the bins are in
/// rows of one label each that are long enough to be a phase and would not be, wherever the pairs begin. `labels` says what
/// each bin belongs to, if to one thing.
#[must_use]
pub fn joining_hides<T: PartialEq>(labels: Vec<Option<T>>) -> bool {
    let rows = labels.chunk_by(|a, b| a == b).filter(|row| row[0].is_some());
    let hidden: usize = rows.map(<[_]>::len).filter(|bins| (PHASE..=2 * PHASE).contains(bins)).sum();
    hidden as f64 >= MATTERS * labels.len() as f64 && hidden > 0
}

/// Effort over time in a run; empty where nobody asked for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    /// What the width is of.
    pub unit: BinUnit,
    /// Width of the bins; 0 where the whole execution is one bin.
    pub width: u64,
    /// Where things were counted.
    pub places: Vec<Place>,
    /// The threads.
    pub timelines: Vec<Timeline>,
    /// What models said of places, by place, each place once; empty where none ran.
    pub modelled: Vec<Modelled>,
}

impl Phases {
    /// Whether nothing was binned.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty() && self.timelines.is_empty()
    }

    /// The same with the places at other call paths: `moved` gives each place's new node, or nothing where what was
    /// counted there is to be left out. Places that become one add up.
    #[must_use]
    pub fn relocated(&self, moved: impl Fn(&Place) -> Option<u32>) -> Self {
        let mut places: Vec<Place> = Vec::new();
        let mut index: HashMap<Place, u32> = HashMap::new();
        let mut number = |place: &Place| {
            let place = Place { node: moved(place)?, code: place.code.clone() };
            let next = places.len() as u32;
            Some(*index.entry(place.clone()).or_insert_with(|| {
                places.push(place);
                next
            }))
        };
        let numbers: Vec<Option<u32>> = self.places.iter().map(&mut number).collect();
        let share = |share: &Share| Some(Share { place: numbers[share.place as usize]?, ..*share });
        let bin = |bin: &Bin| Bin { shares: sum_of(bin.shares.iter().filter_map(share)), lines: bin.lines };
        let timeline = |t: &Timeline| Timeline { bins: t.bins.iter().map(bin).collect(), ..*t };
        let timelines = self.timelines.iter().map(timeline).collect();
        let modelled = sum_of_models(self.modelled.iter().filter_map(|m| Some((numbers[m.place as usize]?, m))));
        Self { unit: self.unit, width: self.width, timelines, places, modelled }
    }

    /// Makes each `factor` bins one, which widens bins and loses nothing but when things happened; also with a factor of 1 each has one share of a
    /// place. A first bin that is apart stays.
    pub fn coarsen(&mut self, factor: u64) {
        let factor_of_bins = usize::try_from(factor).unwrap_or(usize::MAX).max(1);
        self.width = self.width.saturating_mul(factor.max(1));
        for timeline in &mut self.timelines {
            let first = usize::from(timeline.first_apart).min(timeline.bins.len());
            let (first, others) = timeline.bins.split_at(first);
            timeline.bins = first.iter().cloned().chain(others.chunks(factor_of_bins).map(joined)).collect();
        }
    }

    /// Checks that references exist, in a profile of `nodes` nodes.
    pub(crate) fn check(&self, nodes: usize) -> Result<(), ProfileError> {
        let wrong = |what: String| Err(ProfileError::Inconsistent { what });
        if let Some(place) = self.places.iter().find(|place| place.node as usize >= nodes) {
            return wrong(format!("a place of the phases refers to node {}, which does not exist", place.node));
        }
        let shares = self.timelines.iter().flat_map(|t| &t.bins).flat_map(|bin| &bin.shares);
        if let Some(place) = shares.map(|share| share.place).find(|&place| place as usize >= self.places.len()) {
            return wrong(format!("a bin of the phases refers to place {place}, which does not exist"));
        }
        if !self.modelled.is_sorted_by(|a, b| a.place < b.place) {
            return wrong("places that models tell of are not in order".into());
        }
        match self.modelled.iter().find(|m| m.place as usize >= self.places.len()) {
            Some(m) => wrong(format!("models tell of place {}, which does not exist", m.place)),
            None => Ok(()),
        }
    }

    /// The union of two of different ranks or threads, each with the new number of each node of its profile, in an order
    /// that does not depend on theirs. Where one has wider bins, by a whole factor, the other's are joined.
    ///
    /// # Errors
    /// The bins have different units, or widths that do not divide.
    pub(crate) fn union(parts: [(&Self, Vec<u32>); 2]) -> Result<Self, ProfileError> {
        let filled: Vec<_> = parts.iter().filter(|(part, _)| !part.is_empty()).collect();
        let Some((first, _)) = filled.first() else { return Ok(Self::default()) };
        let (unit, width) = (first.unit, filled.iter().map(|(part, _)| part.width).max().unwrap_or(0));
        let fits = |part: &Self| {
            part.unit == unit && (part.width == width || (part.width > 0 && width.is_multiple_of(part.width)))
        };
        if let Some((other, _)) = filled.iter().find(|(part, _)| !fits(part)) {
            let what = format!(
                "bins of {} {} and of {width} {} do not fit together",
                other.width,
                other.unit.name(),
                unit.name()
            );
            return Err(ProfileError::Inconsistent { what });
        }
        let moved = |place: &Place, nodes: &[u32]| Place { node: nodes[place.node as usize], code: place.code.clone() };
        let places: BTreeSet<Place> =
            filled.iter().flat_map(|(part, nodes)| part.places.iter().map(|place| moved(place, nodes))).collect();
        let position: BTreeMap<&Place, u32> = places.iter().zip(0..).collect();
        let (mut timelines, mut modelled) = (Vec::new(), Vec::new());
        for (part, nodes) in &filled {
            let numbers: Vec<u32> = part.places.iter().map(|place| position[&moved(place, nodes)]).collect();
            let mut part = (*part).clone();
            if part.width < width {
                part.coarsen(width / part.width);
            }
            let shares = part.timelines.iter_mut().flat_map(|t| &mut t.bins).flat_map(|bin| &mut bin.shares);
            shares.for_each(|share| share.place = numbers[share.place as usize]);
            timelines.append(&mut part.timelines);
            modelled.extend(part.modelled.into_iter().map(|m| (numbers[m.place as usize], m)));
        }
        timelines.sort();
        let modelled = sum_of_models(modelled.iter().map(|(place, m)| (*place, m)));
        Ok(Self { unit, width, places: places.into_iter().collect(), timelines, modelled })
    }
}

/// Bins that follow each other as one.
fn joined(bins: &[Bin]) -> Bin {
    // Which lines several bins have in common is not known any more.
    let lines = if let [only] = bins { only.lines } else { None };
    Bin { shares: sum_of(bins.iter().flat_map(|bin| &bin.shares).copied()), lines }
}

/// So many places are looked through faster than they are looked up.
const FEW: usize = 8;

/// Shares added up by place, in the order in which the places first appear.
pub(crate) fn sum_of(shares: impl Iterator<Item = Share>) -> Shares {
    let mut sums = Shares::new();
    // Most bins have a few places, and there are many bins.
    let mut index: HashMap<u32, usize> = HashMap::new();
    for share in shares {
        let known = match sums.len() > FEW {
            true => index.get(&share.place).copied(),
            false => sums.iter().position(|sum| sum.place == share.place),
        };
        match known {
            Some(known) => sums[known].add(&share),
            None => {
                sums.push(share);
                let places = sums.iter().map(|sum| sum.place).zip(0..);
                match sums.len() - 1 {
                    FEW => index.extend(places),
                    last if last > FEW => _ = index.insert(share.place, last),
                    _ => {}
                }
            }
        }
    }
    sums
}

/// What models said, added up by the given new places and sorted by them.
fn sum_of_models<'a>(all: impl Iterator<Item = (u32, &'a Modelled)>) -> Vec<Modelled> {
    let mut sums: BTreeMap<u32, Modelled> = BTreeMap::new();
    for (place, modelled) in all {
        sums.entry(place).or_insert_with(|| Modelled { place, ..Modelled::default() }).add(modelled);
    }
    sums.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bin(counts: &[(u32, u64)]) -> Bin {
        let share = |&(place, count)| Share { place, count, time: 10 * count, ..Share::default() };
        Bin { shares: counts.iter().map(share).collect(), lines: Some(3) }
    }

    fn phases(width: u64, rank: u32, bins: Vec<Bin>) -> Phases {
        let places = vec![Place { node: 1, code: None }, Place { node: 0, code: None }];
        Phases {
            unit: BinUnit::Blocks,
            width,
            places,
            timelines: vec![Timeline { rank, bins, ..Timeline::default() }],
            modelled: Vec::new(),
        }
    }

    #[test]
    fn joined_bins_keep_the_order_in_which_places_were_reached() {
        let mut phases = phases(5, 0, vec![bin(&[(1, 2), (0, 3)]), bin(&[(0, 4), (1, 1)]), bin(&[(0, 2)])]);
        phases.coarsen(2);
        let joined = Bin { lines: None, ..bin(&[(1, 3), (0, 7)]) };
        assert_eq!(phases.timelines[0].bins, [joined, bin(&[(0, 2)])]);
        assert_eq!(phases.width, 10);
    }

    #[test]
    fn bins_that_stay_as_wide_have_a_share_of_each_place() {
        let many: Vec<(u32, u64)> = (0..10).chain([3]).map(|place| (place, 1)).collect();
        let mut phases = phases(5, 0, vec![bin(&[(1, 2), (0, 3)]), bin(&[(1, 2), (0, 3), (1, 4)]), bin(&many)]);
        phases.coarsen(1);
        let once: Vec<(u32, u64)> = (0..10).map(|place| (place, if place == 3 { 2 } else { 1 })).collect();
        let expected = [bin(&[(1, 2), (0, 3)]), bin(&[(1, 6), (0, 3)]), bin(&once)];
        assert_eq!((phases.width, &phases.timelines[0].bins[..]), (5, &expected[..]));
    }

    /// Of each number of places, seen twice, also more than are looked through.
    #[test]
    fn shares_of_one_place_are_one_however_many_places_there_are() {
        for places in 0..20_u32 {
            let share = |place| Share { place, count: u64::from(place) + 1, ..Share::default() };
            let twice = (0..places).chain((0..places).rev()).map(share);
            let expected: Vec<Share> =
                (0..places).map(|place| Share { count: 2 * share(place).count, ..share(place) }).collect();
            assert_eq!(sum_of(twice).to_vec(), expected);
        }
    }

    #[test]
    fn a_first_bin_that_is_apart_stays_so_however_wide_those_of_other_ranks_are() {
        let of = |rank, width, counts: &[u64]| {
            let mut phases = phases(width, rank, counts.iter().map(|&count| bin(&[(0, count)])).collect());
            phases.timelines[0].first_apart = true;
            (phases, vec![0, 1])
        };
        let both = Phases::union([&of(0, 4, &[1000, 4, 4, 4]), &of(1, 8, &[3, 8, 8])].map(|(p, n)| (p, n.clone())));
        let counts = |t: &Timeline| t.bins.iter().map(|bin| bin.shares[0].count).collect::<Vec<_>>();
        let found: Vec<_> = both.unwrap().timelines.iter().map(counts).collect();
        assert_eq!(found, [vec![1000, 8, 4], vec![3, 8, 8]]);
    }

    #[test]
    fn ranks_of_different_widths_get_the_wider_one_in_any_order() {
        let narrow = phases(5, 1, vec![bin(&[(0, 5)]), bin(&[(1, 5)]), bin(&[(1, 4)])]);
        let wide = phases(10, 0, vec![bin(&[(1, 9)])]);
        let union = |a: &Phases, b: &Phases| Phases::union([(a, vec![0, 1]), (b, vec![0, 1])]);
        let both = union(&narrow, &wide).unwrap();
        assert_eq!(both, union(&wide, &narrow).unwrap());
        assert_eq!((both.width, both.timelines[0].rank), (10, 0));
        // Node 0's place, which was the second, is now the first.
        assert_eq!(both.timelines[0].bins[0].shares[0].place, 0);
        assert_eq!(both.timelines[1].bins.len(), 2);
        let said = |mispredicted, fills: &[[u64; 2]]| Modelled { place: 1, mispredicted, fills: fills.to_vec() };
        let modelled = |fills: &[[u64; 2]]| Phases { modelled: vec![said(2, fills)], ..wide.clone() };
        // Place 1 is at node 0, which comes first in the union.
        let sum = union(&modelled(&[[1, 0]]), &modelled(&[[2, 1], [5, 5]])).unwrap();
        assert_eq!(sum.modelled, [Modelled { place: 0, ..said(4, &[[3, 1], [5, 5]]) }]);
        let odd = phases(7, 2, vec![bin(&[(0, 5)])]);
        assert!(union(&odd, &wide).unwrap_err().to_string().contains("do not fit together"));
    }
}
