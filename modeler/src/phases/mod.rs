//! Effort over time: what each bin of a run holds, which code it belongs to, and the phases that follow from it.
//!
//! `regions` finds the phases by the paper's method; `matching` finds the same phases in runs at several points, so that each
//! can be modelled; `owners` says which of them each part of a bin belongs to; `resolution` says which functions' phases hold less than the functions did; `names` says what they are called, `output` writes numbers, `timeline` draws. Nothing here filters data but for pictures.

pub mod gem5;
mod inlined;
pub mod matching;
mod names;
mod output;
mod owners;
pub mod regions;
pub(crate) mod resolution;
mod timeline;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use poise_profile::{BinUnit, Code, Profile, Share};

use crate::formats::Names;
use crate::formats::engines::engine;
pub use crate::machine::classes::{Class, Classes};
use crate::machine::classes::{Decoded, decode};
use owners::{Owners, Piece, Pieces};
use regions::{Event, Thresholds};

/// What was counted in a bin or a phase.
///
/// ```
#[doc = include_str!("example.txt")]
/// let totals = analysis.timelines[0].bins[0].totals;
/// assert_eq!((totals.blocks, totals.visits, totals.instructions), (1000, 1, 0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Executed basic blocks.
    pub blocks: u64,
    /// Executed instructions; 0 where blocks alone were counted.
    pub instructions: u64,
    /// Calls.
    pub visits: u64,
    /// Bytes that MPI calls sent.
    pub bytes_sent: u64,
    /// Bytes that MPI calls received.
    pub bytes_received: u64,
    /// Nanoseconds.
    pub time: u64,
    /// Nanoseconds of waiting.
    pub wait_time: u64,
    /// Different lines of memory, each bin's added up; of bins and phases alone.
    pub lines: Option<u64>,
    /// How often blocks of machine code ended otherwise than the time before: with a jump, or without. A predictor that expects of
    /// each branch what it did last is wrong as often.
    pub turns: u64,
    /// Instructions that were begun and thrown away, as gem5 says of its out-of-order processors.
    pub squashed: u64,
    /// Instructions by class.
    pub classes: Option<Classes>,
}

impl Totals {
    /// What was executed: instructions where they are known, else blocks.
    #[must_use]
    pub(crate) fn effort(&self) -> u64 {
        self.instructions.max(self.blocks)
    }

    /// How much there is of what bins have the same of.
    #[must_use]
    pub(crate) fn of(&self, unit: BinUnit) -> u64 {
        match unit {
            BinUnit::Blocks => self.blocks,
            BinUnit::Instructions => self.instructions,
            BinUnit::Time => self.time,
        }
    }

    /// What is left of it without a part. Lines and classes are not: lines belong to whole bins, and bins may have no classes.
    fn without(&self, part: &Self) -> Self {
        Self {
            blocks: self.blocks.saturating_sub(part.blocks),
            instructions: self.instructions.saturating_sub(part.instructions),
            visits: self.visits.saturating_sub(part.visits),
            bytes_sent: self.bytes_sent.saturating_sub(part.bytes_sent),
            bytes_received: self.bytes_received.saturating_sub(part.bytes_received),
            time: self.time.saturating_sub(part.time),
            wait_time: self.wait_time.saturating_sub(part.wait_time),
            turns: self.turns.saturating_sub(part.turns),
            squashed: self.squashed.saturating_sub(part.squashed),
            lines: None,
            classes: None,
        }
    }

    /// What parts of all this `part` is: `3.0 % of the basic blocks, 12 % of the time and 100 % of the bytes`, of what there is.
    /// Nothing where there is nothing.
    #[must_use]
    pub(crate) fn parts(&self, part: &Self) -> Option<String> {
        let effort = match self.instructions {
            0 => ("basic blocks", self.blocks, part.blocks),
            all => ("instructions", all, part.instructions),
        };
        let bytes = |of: &Self| of.bytes_sent + of.bytes_received;
        let kinds = [effort, ("time", self.time, part.time), ("bytes", bytes(self), bytes(part))];
        let there = kinds.iter().filter(|(_, all, _)| *all > 0);
        let told =
            there.map(|(name, all, part)| format!("{} of the {name}", resolution::percent(*part as f64 / *all as f64)));
        let told: Vec<String> = told.collect();
        let (last, others) = told.split_last()?;
        Some(if others.is_empty() { last.clone() } else { format!("{} and {last}", others.join(", ")) })
    }

    fn add(&mut self, other: &Self) {
        // A sum of which a part is not known is not known; nothing at all is where sums begin.
        self.lines = match *self == Self::default() {
            true => other.lines,
            false => self.lines.zip(other.lines).map(|(a, b)| a + b),
        };
        self.blocks += other.blocks;
        self.instructions += other.instructions;
        self.visits += other.visits;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.time += other.time;
        self.wait_time += other.wait_time;
        self.turns += other.turns;
        self.squashed += other.squashed;
        if let Some(counts) = &other.classes {
            let sums = self.classes.get_or_insert_default();
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }
}

/// What a function did in a bin.
///
/// ```
#[doc = include_str!("example.txt")]
/// let part = analysis.timelines[0].bins[0].parts[0];
/// assert_eq!((analysis.functions[part.function as usize].0.as_str(), part.totals.blocks), ("read", 1000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Index into [`Analysis::functions`].
    pub function: u32,
    /// Its part.
    pub totals: Totals,
}

/// A bin.
///
/// ```
#[doc = include_str!("example.txt")]
/// let last = analysis.timelines[0].bins.last().expect("there are twenty");
/// assert_eq!(analysis.functions[last.labels[0] as usize].0, "solve");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bin {
    /// All that happened in it.
    pub totals: Totals,
    /// The same by function, in the order in which they first appear.
    pub parts: Vec<Part>,
    /// Its labels: indices into [`Analysis::functions`].
    pub labels: Vec<u32>,
}

/// A region of the timeline: bins that belong to one function.
///
/// ```
#[doc = include_str!("example.txt")]
/// let solve = &analysis.timelines[0].phases[1];
/// assert_eq!((solve.bins.clone(), solve.totals.blocks, solve.occurrence), (10..20, 10_000, 1));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Index into [`Analysis::functions`].
    pub function: u32,
    /// Which of the function's phases it is, from 1.
    pub occurrence: u32,
    /// The bins: the first, and the one behind the last, as JSON gives them, too.
    pub bins: Range<usize>,
    /// What happened in them. A part of a bin is in the sums of one phase at most, so that all phases together never have more
    /// than the run from `main` on.
    pub totals: Totals,
    /// The effort in these sums by the function that did it.
    pub held: BTreeMap<u32, u64>,
    /// Calls of its own function; its totals hold those of all functions in it.
    pub calls: u64,
    /// Another function whose phases cover the same bins, since the two take turns within them.
    pub shared_with: Option<u32>,
}

/// The timeline of one thread.
///
/// ```
#[doc = include_str!("example.txt")]
/// let timeline = &analysis.timelines[0];
/// assert_eq!((timeline.rank, timeline.bins.len(), timeline.phases.len()), (0, 20, 2));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// The rank.
    pub rank: u32,
    /// Number of the thread in its process.
    pub thread: u32,
    /// The bins.
    pub bins: Vec<Bin>,
    /// The phases, by their first bin.
    pub phases: Vec<Phase>,
    /// What each function did from `main` on that is in no phase's sums.
    pub outside: BTreeMap<u32, Totals>,
    /// Whether the first bin has a width of its own, as it holds what ran before `main`.
    pub first_apart: bool,
}

impl Timeline {
    /// The bins of the same width, and how many stand before them. What is compared from bin to bin is compared over these.
    #[must_use]
    pub(crate) fn alike(&self) -> (usize, &[Bin]) {
        let before = usize::from(self.first_apart).min(self.bins.len());
        (before, &self.bins[before..])
    }

    /// All that happened from `main` on, and what of it is in no phase's sums. What the loader does before depends on the environment and
    /// belongs to no phase.
    #[must_use]
    pub(crate) fn all_and_outside(&self) -> (Totals, Totals) {
        let (mut all, mut held) = (Totals::default(), Totals::default());
        self.alike().1.iter().for_each(|bin| all.add(&bin.totals));
        self.phases.iter().for_each(|phase| held.add(&phase.totals));
        (all, all.without(&held))
    }
}

/// A run's effort over time.
///
/// ```
#[doc = include_str!("example.txt")]
/// assert_eq!((analysis.engine.as_str(), analysis.width), ("counters", 1000));
/// assert_eq!((analysis.unit, analysis.timelines.len()), (BinUnit::Blocks, 1));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// `counters`, or `qemu` for machine code.
    pub engine: String,
    /// What bins have the same of.
    pub unit: BinUnit,
    /// How much of it; 0 where all is one bin.
    pub width: u64,
    /// How phases were detected.
    pub thresholds: Thresholds,
    /// The functions: names for people, source file, line.
    pub functions: Vec<(String, String, u32)>,
    /// The threads.
    pub timelines: Vec<Timeline>,
}

/// The thresholds that fit what was counted: the paper's where there are addresses. Functions alone get as many of a bin's M
/// events as is their part in its effort, so that a majority of them makes a label.
///
/// ```
#[doc = include_str!("example.txt")]
/// // Blocks have no addresses here: three of five seats make a label.
/// assert_eq!(modeler::phases::default_thresholds(&profile).label, 3);
/// ```
#[must_use]
pub fn default_thresholds(profile: &Profile) -> Thresholds {
    let has_code = profile.phases.places.iter().any(|place| place.code.is_some());
    let defaults = Thresholds::default();
    if has_code { defaults } else { Thresholds { label: defaults.events / 2 + 1, ..defaults } }
}

/// Analyses a run's phases.
///
/// ```
#[doc = include_str!("example.txt")]
/// assert_eq!(analysis.timelines[0].phases.len(), 2); // one of each function
/// ```
#[must_use]
pub fn analyse(profile: &Profile, thresholds: &Thresholds) -> Analysis {
    analysed(profile, thresholds, &Names::of([profile]))
}

/// Analyses the phases of several runs, so that a function has the same name in all of them.
///
/// ```
#[doc = include_str!("example.txt")]
/// use modeler::phases::analyse_all;
/// let (small, large) = (run(10), run(20));
/// let both = analyse_all(&[(&small, Default::default()), (&large, Default::default())]);
/// assert_eq!([&both[0], &both[1]].map(|analysis| analysis.timelines[0].bins.len()), [20, 40]);
/// ```
#[must_use]
pub fn analyse_all(runs: &[(&Profile, Thresholds)]) -> Vec<Analysis> {
    let names = Names::of(runs.iter().map(|run| run.0));
    runs.iter().map(|(profile, thresholds)| analysed(profile, thresholds, &names)).collect()
}

fn analysed(profile: &Profile, thresholds: &Thresholds, names: &Names) -> Analysis {
    let instruction_set = profile.metadata.get("instruction_set").map_or("", String::as_str);
    let decoded: HashMap<u32, Decoded> = (0..)
        .zip(&profile.phases.places)
        .filter_map(|(place, p)| Some((place, decode(instruction_set, p.code.as_ref()?))))
        .collect();
    let reader = Reader { profile, decoded, thresholds };
    let timelines = profile.phases.timelines.iter().map(|timeline| reader.timeline(timeline)).collect();
    let function = |region: &poise_profile::Region| (names.show(region), region.file.clone(), region.line);
    Analysis {
        engine: engine(profile).to_owned(),
        unit: profile.phases.unit,
        width: profile.phases.width,
        thresholds: *thresholds,
        functions: profile.regions.iter().map(function).collect(),
        timelines,
    }
}

/// Reads bins.
struct Reader<'a> {
    profile: &'a Profile,
    /// By place.
    decoded: HashMap<u32, Decoded>,
    thresholds: &'a Thresholds,
}

impl Reader<'_> {
    fn timeline(&self, timeline: &poise_profile::Timeline) -> Timeline {
        let timeline = inlined::with_times(self.profile, timeline);
        let bins = timeline.bins.iter().map(|bin| self.bin(bin)).collect();
        let pieces = |at: usize, _: &Bin| timeline.bins[at].shares.iter().map(|share| self.piece(share)).collect();
        let numbers = (timeline.rank, timeline.thread);
        timeline_by_calls(numbers, (bins, timeline.first_apart), self.thresholds, &self.profile.nodes, &pieces)
    }

    /// What a share says of its function, with the call path.
    fn piece(&self, share: &Share) -> Piece {
        let node = self.profile.phases.places[share.place as usize].node;
        Piece { part: Part { function: self.function(share), totals: self.totals(share) }, node: Some(node) }
    }

    fn bin(&self, bin: &poise_profile::Bin) -> Bin {
        let mut parts: Vec<Part> = Vec::new();
        for share in &bin.shares {
            let function = self.function(share);
            let totals = self.totals(share);
            match parts.iter_mut().find(|part| part.function == function) {
                Some(part) => part.totals.add(&totals),
                None => parts.push(Part { function, totals }),
            }
        }
        let mut totals = Totals::default();
        parts.iter().for_each(|part| totals.add(&part.totals));
        totals.lines = bin.lines;
        Bin { labels: regions::labels(&self.events(bin, &parts), self.thresholds), totals, parts }
    }

    /// The region of a share's place.
    fn function(&self, share: &Share) -> u32 {
        let node = self.profile.phases.places[share.place as usize].node;
        self.profile.nodes[node as usize].region
    }

    fn code(&self, share: &Share) -> Option<(&Code, &Decoded)> {
        let place = &self.profile.phases.places[share.place as usize];
        Some((place.code.as_ref()?, self.decoded.get(&share.place)?))
    }

    fn totals(&self, share: &Share) -> Totals {
        let moved = Totals {
            visits: share.visits,
            bytes_sent: share.bytes_sent,
            bytes_received: share.bytes_received,
            time: share.time,
            wait_time: share.wait_time,
            turns: share.turns,
            ..Totals::default()
        };
        match self.code(share) {
            Some((code, decoded)) => Totals {
                blocks: if code.ends_block { share.count } else { 0 },
                instructions: share.count.saturating_mul(code.instructions.into()),
                classes: decoded.classes.map(|counts| counts.map(|count| count.saturating_mul(share.count))),
                ..moved
            },
            None => Totals { blocks: share.count, ..moved },
        }
    }

    /// What the bin's labels follow from: each executed address; where there are none, each function as often as it has a seat
    /// among the M.
    fn events(&self, bin: &poise_profile::Bin, parts: &[Part]) -> Vec<Event> {
        let mut events: Vec<Event> = Vec::new();
        let mut known: BTreeMap<u64, usize> = BTreeMap::new();
        for share in &bin.shares {
            let Some((_, decoded)) = self.code(share) else { continue };
            let function = self.function(share);
            for &address in &decoded.addresses {
                match known.get(&address) {
                    Some(&index) => events[index].count += share.count,
                    None => {
                        known.insert(address, events.len());
                        events.push(Event { function, count: share.count });
                    }
                }
            }
        }
        if events.is_empty() { self.seats(parts) } else { events }
    }

    /// M events shared out over the functions by their effort, or their time in bins of equal time, by largest remainders, the
    /// earlier first.
    fn seats(&self, parts: &[Part]) -> Vec<Event> {
        let is_time = self.profile.phases.unit == BinUnit::Time;
        let effort = |part: &Part| if is_time { part.totals.time } else { part.totals.blocks };
        let sum: u128 = parts.iter().map(|part| u128::from(effort(part))).sum();
        if sum == 0 {
            return Vec::new();
        }
        let all = self.thresholds.events as u128;
        let quota = |part: &Part| u128::from(effort(part)) * all;
        let mut seats: Vec<u128> = parts.iter().map(|part| quota(part) / sum).collect();
        let mut order: Vec<usize> = (0..parts.len()).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(quota(&parts[i]) % sum));
        let left = all - seats.iter().sum::<u128>();
        order.into_iter().take(left as usize).for_each(|i| seats[i] += 1);
        let event = |part: &Part| Event { function: part.function, count: effort(part) };
        parts.iter().zip(seats).flat_map(|(part, seats)| vec![event(part); seats as usize]).collect()
    }
}

/// The timeline of bins that have their labels, where no calls are known.
fn timeline_of(numbers: (u32, u32), bins: Vec<Bin>, thresholds: &Thresholds) -> Timeline {
    timeline_by_calls(numbers, (bins, false), thresholds, &[], &owners::without_calls)
}

/// The timeline of bins that have their labels, of which the first may hold what ran before `main`, with the call tree and what was done on each of its paths.
fn timeline_by_calls(
    (rank, thread): (u32, u32),
    (bins, first_apart): (Vec<Bin>, bool),
    thresholds: &Thresholds,
    nodes: &[poise_profile::Node],
    pieces: Pieces,
) -> Timeline {
    let labels: Vec<Vec<u32>> = bins.iter().map(|bin| bin.labels.clone()).collect();
    let regions = regions::regions(&labels, thresholds);
    let owners = Owners::new(&regions, nodes, usize::from(first_apart).min(bins.len())..bins.len());
    let mut occurrences: HashMap<u32, u32> = HashMap::new();
    let (sums, outside) = sums_of(&bins, &owners, pieces, regions.len());
    let found = regions.iter().zip(sums).zip(owners.shared_with(thresholds));
    let phases = found.map(|((region, Held { totals, effort, visits }), shared_with)| {
        let occurrence = occurrences.entry(region.function).or_default();
        *occurrence += 1;
        let bins = region.bins.clone();
        let calls = visits.get(&region.function).copied().unwrap_or(0);
        Phase { function: region.function, occurrence: *occurrence, bins, totals, held: effort, calls, shared_with }
    });
    let phases = phases.collect();
    Timeline { rank, thread, bins, phases, outside, first_apart }
}

/// The sums of a phase, and the effort and the calls in them by function.
#[derive(Clone, Default)]
struct Held {
    totals: Totals,
    effort: BTreeMap<u32, u64>,
    visits: BTreeMap<u32, u64>,
}

/// What belongs to each of so many phases, and what each function did that belongs to none.
fn sums_of(bins: &[Bin], owners: &Owners, pieces: Pieces, phases: usize) -> (Vec<Held>, BTreeMap<u32, Totals>) {
    let mut sums = vec![Held::default(); phases];
    let mut outside: BTreeMap<u32, Totals> = BTreeMap::new();
    owners.each_piece(bins, pieces, |phase, part| {
        let Some(phase) = phase else { return outside.entry(part.function).or_default().add(&part.totals) };
        let held = &mut sums[phase];
        held.totals.add(&part.totals);
        *held.effort.entry(part.function).or_default() += part.totals.effort();
        *held.visits.entry(part.function).or_default() += part.totals.visits;
    });
    sums.iter_mut().for_each(|held| held.totals.lines = Some(0));
    for (at, bin) in bins.iter().enumerate() {
        if let Some(phase) = owners.of_bin(at, &bin.labels) {
            let totals = &mut sums[phase].totals;
            totals.lines = totals.lines.zip(bin.totals.lines).map(|(sum, lines)| sum + lines);
        }
    }
    (sums, outside)
}

impl Analysis {
    /// Name of a function for people.
    #[must_use]
    pub(crate) fn name(&self, function: u32) -> &str {
        self.functions.get(function as usize).map_or("?", |f| f.0.as_str())
    }

    /// Whether instructions are told apart by class.
    #[must_use]
    pub(crate) fn has_classes(&self) -> bool {
        self.timelines.iter().flat_map(|t| &t.bins).any(|bin| bin.totals.classes.is_some())
    }
}

/// How often each class occurs, by its public name.
fn by_class(classes: &Classes) -> impl Iterator<Item = (&'static str, u64)> {
    Class::ALL.into_iter().map(Class::name).zip(*classes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_has_the_same_name_in_all_runs() {
        let profile = |functions: &[&str]| {
            let region = |name: &&str| poise_profile::Region {
                name: (*name).into(),
                file: String::new(),
                line: 0,
                kind: poise_profile::RegionKind::Function,
            };
            Profile { regions: functions.iter().map(region).collect(), ..Profile::default() }
        };
        let (one, both) = (profile(&["_Z5solvei"]), profile(&["_Z5solvei", "_Z5solved"]));
        let thresholds = Thresholds::default();
        assert_eq!(analyse(&one, &thresholds).name(0), "solve");
        let runs = analyse_all(&[(&one, thresholds), (&both, thresholds)]);
        assert_eq!([runs[0].name(0), runs[1].name(0)], ["solve(int)", "solve(int)"]);
    }
}
