//! Whether bins are narrow enough: what a function did against what the phases that belong to it hold. A function that alternates
//! with others within bins has no phase, or only some of what it did has; the rest is in phases of its neighbours.

use std::collections::BTreeMap;
use std::ops::Range;

use poise_profile::BinUnit;

use super::regions::{Thresholds, regions};
use super::{Analysis, Timeline};
use crate::machine::OUTSIDE;

/// Part of a thread's effort from which on a function matters.
const MATTERS: f64 = 0.05;
/// Part of its effort that a function's own phases must hold.
const RESOLVED: f64 = 0.8;
/// Part of the mean of its phases from which on what a function did outside of them may be one more.
const ONE_MORE: f64 = 0.5;

/// Pairs of functions that are named in one sentence.
const PAIRS: usize = 4;

/// What a function did in a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Done {
    /// Its effort.
    pub effort: u64,
    /// What it has of what bins have the same of.
    pub extent: u64,
    /// Its calls.
    pub visits: u64,
    /// How much of its effort is in phases that belong to it alone.
    pub within: u64,
    /// How much of it is in phases that cover the same bins as another function's.
    pub shared: u64,
    /// How many phases there are that belong to it alone.
    pub phases: u64,
    /// Whether what some thread did outside of the phases, within as many bins as they have on average, may be one more of them.
    pub lacks_one: bool,
}

impl Done {
    /// The part of its effort that its own phases hold; 1 where it did nothing.
    #[must_use]
    pub fn part(&self) -> f64 {
        if self.effort == 0 { 1.0 } else { self.within as f64 / self.effort as f64 }
    }

    /// Whether its phases stand for it: they hold most of what it did, not some of its turns only, and are not another's as well.
    #[must_use]
    pub fn is_resolved(&self) -> bool {
        self.part() >= RESOLVED && !self.lacks_one && !self.is_shared()
    }

    /// Whether what it did in phases that cover the same bins as another function's matters.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.shared > 0 && self.shared as f64 >= MATTERS * self.effort as f64
    }

    /// The width of bins, in their own unit, at which a call of average length would fill as many as a region must have, and one more.
    #[must_use]
    pub fn width(&self, bins: usize) -> u64 {
        self.extent / self.visits.max(1) / (bins.max(1) as u64 + 1)
    }

    /// Adds what the function did in another thread.
    pub fn add(&mut self, other: &Self) {
        self.effort += other.effort;
        self.extent += other.extent;
        self.visits += other.visits;
        self.within += other.within;
        self.shared += other.shared;
        self.phases += other.phases;
        self.lacks_one |= other.lacks_one;
    }
}

/// What each function of the program did in a thread; what ran outside of `main` is the loader's.
#[must_use]
pub fn done(analysis: &Analysis, timeline: &Timeline) -> BTreeMap<u32, Done> {
    let mut all: BTreeMap<u32, Done> = BTreeMap::new();
    for part in timeline.bins.iter().flat_map(|bin| &bin.parts) {
        let done = all.entry(part.function).or_default();
        done.effort += part.totals.effort();
        done.extent += part.totals.of(analysis.unit);
        done.visits += part.totals.visits;
    }
    for phase in &timeline.phases {
        let done = all.entry(phase.function).or_default();
        let own = phase.held.get(&phase.function).copied().unwrap_or(0);
        match phase.shared_with {
            Some(_) => done.shared += own,
            None => (done.within, done.phases) = (done.within + own, done.phases + 1),
        }
    }
    all.retain(|&function, _| analysis.name(function) != OUTSIDE);
    for (function, longest) in longest_without_phase(timeline) {
        // A function of one phase has no others that say what one of its phases is like.
        if let Some(done) = all.get_mut(&function).filter(|done| done.phases > 1) {
            done.lacks_one = longest as f64 >= ONE_MORE * done.within as f64 / done.phases as f64;
        }
    }
    all
}

/// Of each function with phases, the most that it did outside of all of them in a row of as many bins as its phases have on
/// average: what a phase that is lacking would have done. What it did here and there is none, however much that adds up to.
fn longest_without_phase(timeline: &Timeline) -> BTreeMap<u32, u64> {
    let mut phases: BTreeMap<u32, Vec<&Range<usize>>> = BTreeMap::new();
    timeline.phases.iter().for_each(|phase| phases.entry(phase.function).or_default().push(&phase.bins));
    let mut without: BTreeMap<u32, Vec<(usize, u64)>> = BTreeMap::new();
    for (at, bin) in timeline.bins.iter().enumerate() {
        for part in &bin.parts {
            // What it did in the bins next to a phase counts as that phase's.
            let is_held = |phases: &Vec<&Range<usize>>| {
                let next = phases.partition_point(|bins| bins.end < at);
                phases.get(next).is_some_and(|bins| bins.start <= at + 1)
            };
            if phases.get(&part.function).is_some_and(|phases| !is_held(phases)) {
                without.entry(part.function).or_default().push((at, part.totals.effort()));
            }
        }
    }
    let longest = |(function, bins): (u32, Vec<(usize, u64)>)| {
        let length = phases[&function].iter().map(|bins| bins.len()).sum::<usize>().div_ceil(phases[&function].len());
        let (mut first, mut sum, mut most) = (0, 0, 0);
        for &(at, effort) in &bins {
            sum += effort;
            while bins[first].0 + length <= at {
                sum -= bins[first].1;
                first += 1;
            }
            most = most.max(sum);
        }
        (function, most)
    };
    without.into_iter().map(longest).collect()
}

/// A function that matters and whose phases do not stand for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unresolved {
    /// Index into [`Analysis::functions`].
    pub function: u32,
    /// Its part of the thread's effort.
    pub share: f64,
    /// What it did.
    pub done: Done,
}

/// Why a function's phases do not stand for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// Most of what it did outside of its bins is in bins in which others did much, too.
    Alternates,
    /// It has bins of its own, too few in a row.
    Rows,
    /// It has regions, too small a part of all bins.
    Share,
    /// Most of what it did outside of its bins is in bins of which it did most and that have no label.
    Label,
    /// It is an address without a name.
    Nameless,
    /// It has no phase, and did not do as much as bins hold that one must have: nobody knows whether it alternates.
    Little,
}

impl Analysis {
    /// Functions of at least a twentieth of what a thread did in the program of which less than four fifths is in phases of their own, or
    /// that have phases in some of their turns only.
    #[must_use]
    pub(crate) fn unresolved(&self, timeline: &Timeline) -> Vec<Unresolved> {
        let done = done(self, timeline);
        let all: u64 = done.values().map(|done| done.effort).sum();
        let functions = done.into_iter().map(|(function, done)| {
            let share = done.effort as f64 / all.max(1) as f64;
            Unresolved { function, share, done }
        });
        functions.filter(|found| found.share >= MATTERS && !found.done.is_resolved()).collect()
    }

    /// A sentence about the functions whose phases cover the same bins of some thread, two by two.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(analysis.shared(), None); // no two functions take turns within bins
    /// ```
    #[must_use]
    pub fn shared(&self) -> Option<String> {
        let mut pairs: BTreeMap<[u32; 2], Vec<Done>> = BTreeMap::new();
        for timeline in self.timelines.iter().filter(|t| t.phases.iter().any(|phase| phase.shared_with.is_some())) {
            let done = done(self, timeline);
            for phase in &timeline.phases {
                let Some(other) = phase.shared_with else { continue };
                let pair = [phase.function.min(other), phase.function.max(other)];
                pairs.entry(pair).or_default().extend(pair.iter().filter_map(|function| done.get(function)));
            }
        }
        let shortest = pairs.values().flatten().min_by_key(|done| done.width(self.thresholds.filter))?;
        let remedy = Some(self.remedy(shortest)).filter(|remedy| !remedy.is_empty());
        let names = pairs.keys().map(|pair| pair.map(|function| self.name(function)).join(" and "));
        let mut told: Vec<String> = names.take(PAIRS).collect();
        match pairs.len().saturating_sub(PAIRS) {
            0 => {}
            1 => told.push("one more pair".to_owned()),
            more => told.push(format!("{more} more pairs")),
        }
        Some(format!(
            "{} take turns within bins, so that phases of both cover the same bins: chance says which of them labels one, and models over \
             several runs leave out functions of which such phases hold 5 % or more{}.",
            told.join(", "),
            remedy.map_or_else(String::new, |remedy| format!("; {remedy}"))
        ))
    }

    /// A sentence about such a function of a timeline.
    #[must_use]
    pub(crate) fn told(&self, timeline: &Timeline, found: &Unresolved) -> String {
        let name = self.name(found.function);
        let share = format!("{name} has {} of the effort", percent(found.share));
        if found.done.is_shared() {
            let part = percent(found.done.shared as f64 / found.done.effort.max(1) as f64);
            return format!("{share}, {part} of it in phases that cover the same bins as another function's.");
        }
        let held = match found.done.phases {
            0 => " and no phase".to_owned(),
            _ => {
                let rival = self.rival(timeline, found.function).map(|(other, part)| {
                    let other = self.name(other);
                    format!(
                        " and {} in those of {other}, where chance may say which of both labels a bin",
                        percent(part)
                    )
                });
                format!(", {} of it in phases of its own{}", percent(found.done.part()), rival.unwrap_or_default())
            }
        };
        let because = self.because(timeline, found.function, &found.done);
        let comma = if because.is_empty() { "" } else { ", " };
        format!("{share}{held}{comma}{because}.")
    }

    /// Why a function's phases hold less than it did there, and what would help, as the end of a sentence; empty where that cannot be told.
    pub(super) fn because(&self, timeline: &Timeline, function: u32, done: &Done) -> String {
        let filter = self.thresholds.filter;
        let (why, remedy) = match self.cause(timeline, function, done) {
            Some(Cause::Alternates) => ("since it alternates with others".to_owned(), self.remedy(done)),
            Some(Cause::Rows) => {
                let why = format!("since it has bins of its own, but seldom the {filter} in a row of --filter");
                // Inlined functions have no calls, but rows.
                let labels: Vec<Vec<u32>> = timeline.bins.iter().map(|bin| bin.labels.clone()).collect();
                let rows = regions(&labels, &Thresholds { filter: 1, share: 0.0, ..self.thresholds });
                let rows = rows.iter().filter(|row| row.function == function).count() as u64;
                (why, self.remedy(&Done { visits: done.visits.max(rows), ..*done }))
            }
            Some(Cause::Little) => {
                let why = format!("since all that it did fills fewer than the {filter} bins of --filter");
                (why, self.remedy(done))
            }
            Some(Cause::Share) => {
                let why = format!(
                    "since these would be less than the {} of all bins of --share",
                    percent(self.thresholds.share)
                );
                let remedy = self.share_for(timeline, function).map(|share| format!("--share {share} keeps them"));
                (why, remedy.unwrap_or_default())
            }
            Some(Cause::Label) => (
                format!(
                    "since bins of which it did most have no label: of their {} {} fewer than the {} of --label belong to one function",
                    self.thresholds.events,
                    // Compiled counters have no addresses: functions have the events that are their part.
                    if self.engine == "counters" { "events" } else { "most frequent addresses" },
                    self.thresholds.label
                ),
                "a lower --label gives more bins one".to_owned(),
            ),
            Some(Cause::Nameless) => (
                "since an address without a name stands for itself".to_owned(),
                "--program names those of a program that is not relocated (linked with -no-pie)".to_owned(),
            ),
            None => return String::new(),
        };
        if remedy.is_empty() { why } else { format!("{why}; {remedy}") }
    }

    /// Another function whose phases hold at least a fifth of what this one did, as this one's hold of what that did, and the part that they
    /// hold: two that take turns within bins, which now the one and now the other labels, for as long as turns and bins happen to
    /// be in step; or two that run together, now mostly the one and now mostly the other.
    fn rival(&self, timeline: &Timeline, function: u32) -> Option<(u32, f64)> {
        let done = done(self, timeline);
        let held = |by: u32, of: u32| -> f64 {
            let phases = timeline.phases.iter().filter(|phase| phase.function == by && phase.shared_with.is_none());
            let sum: u64 = phases.filter_map(|phase| phase.held.get(&of)).sum();
            sum as f64 / done.get(&of).map_or(1, |done| done.effort.max(1)) as f64
        };
        let others = done.keys().copied().filter(|&other| other != function);
        let both = others.map(|other| (other, held(other, function), held(function, other)));
        let rivals = both.filter(|&(_, theirs, ours)| theirs.min(ours) >= 1.0 - RESOLVED);
        rivals.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(other, theirs, _)| (other, theirs))
    }

    /// Why a function's phases hold less than it did, where that can be told.
    fn cause(&self, timeline: &Timeline, function: u32, done: &Done) -> Option<Cause> {
        if self.engine == "gem5" && self.name(function).starts_with("0x") {
            return Some(Cause::Nameless);
        }
        let (mut all, mut own, mut mixed, mut unlabelled) = (0, 0, 0, 0);
        let mut filled = 0.0;
        for bin in &timeline.bins {
            let Some(part) = bin.parts.iter().find(|part| part.function == function) else { continue };
            let effort = part.totals.effort();
            let whole: u64 = bin.parts.iter().map(|part| part.totals.effort()).sum();
            all += effort;
            filled += effort as f64 / whole.max(1) as f64;
            if bin.labels.contains(&function) {
                own += effort;
            } else if bin.labels.is_empty() && 2 * effort > whole {
                unlabelled += effort;
            } else if (whole - effort) as f64 >= (1.0 - RESOLVED) * whole as f64 {
                mixed += effort;
            }
        }
        let found = bins_of(timeline, function, &self.thresholds);
        let bins_by = |thresholds| bins_of(timeline, function, &thresholds);
        // A few of its bins that are five in a row by chance are not what it lacks.
        let labelled = timeline.bins.iter().filter(|bin| bin.labels.contains(&function)).count();
        let is_share = found == 0 && 2 * bins_by(Thresholds { share: 0.0, ..self.thresholds }) > labelled;
        if done.phases == 0 && filled < self.thresholds.filter as f64 && !is_share {
            return Some(Cause::Little);
        }
        if (own as f64) < RESOLVED * all as f64 {
            let most = |part: u64| 2 * part > all - own;
            let label = most(unlabelled).then_some(Cause::Label);
            return label.or_else(|| most(mixed).then_some(Cause::Alternates));
        }
        if is_share {
            return Some(Cause::Share);
        }
        (bins_by(Thresholds { filter: 1, share: 0.0, ..self.thresholds }) > found).then_some(Cause::Rows)
    }

    /// The largest --share, of two digits, with which a function has phases that is too small a part of all bins for any; nothing where
    /// it is something else that keeps it from having some.
    pub(super) fn share_for(&self, timeline: &Timeline, function: u32) -> Option<f64> {
        let done = done(self, timeline);
        let is_small = self.cause(timeline, function, done.get(&function)?) == Some(Cause::Share);
        let own = bins_of(timeline, function, &Thresholds { share: 0.0, ..self.thresholds });
        is_small.then(|| part_below(own, timeline.bins.len()))
    }

    /// What would tell a function's calls apart.
    pub(super) fn remedy(&self, done: &Done) -> String {
        // The width of a simulator's bins is not ours to choose.
        if self.engine == "gem5" {
            return String::new();
        }
        // Bins of a handful of blocks tell nothing, and neither do those that take as long as reading the clock does.
        let least = if self.unit == BinUnit::Time { 1000 } else { 100 };
        match done.width(self.thresholds.filter) {
            width if width < least => {
                "its calls are too short for bins of any width; poise model has its call paths".to_owned()
            }
            width if width < self.width && done.visits == 1 => format!("--width {width} would give it a phase"),
            width if width < self.width => format!("--width {width} would tell its calls apart"),
            _ => "poise model has its call paths".to_owned(),
        }
    }
}

/// How many bins the regions of a function have.
fn bins_of(timeline: &Timeline, function: u32, thresholds: &Thresholds) -> usize {
    let labels: Vec<Vec<u32>> = timeline.bins.iter().map(|bin| bin.labels.clone()).collect();
    let regions = regions(&labels, thresholds);
    regions.iter().filter(|region| region.function == function).map(|region| region.bins.len()).sum()
}

/// The largest number of two digits of which `all` are no more than `part`, of which there is one at least.
fn part_below(part: usize, all: usize) -> f64 {
    let mut places = 1;
    while part as f64 * 10f64.powi(places) < 10.0 * all as f64 {
        places += 1;
    }
    // What is written in decimals may be a little more than it says.
    let numbers = (0..=(part as f64 / all as f64 * 10f64.powi(places)) as u32).rev();
    let written = numbers.map(|number| format!("{number}e-{places}").parse().unwrap_or(0.0));
    written.into_iter().find(|share: &f64| share * all as f64 <= part as f64).unwrap_or(0.0)
}

/// A part of one, for people.
pub(super) fn percent(part: f64) -> String {
    let percent = 100.0 * part;
    let is_plain = (10.0..99.0).contains(&percent) || percent == 0.0 || percent == 100.0;
    if is_plain { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phases::{Bin, Part, Totals, timeline_of};

    /// Bins of 1000 blocks with the parts that are not function 0's, which has the rest. A bin that both share is labelled
    /// as function 0's, whose blocks are the more frequent ones.
    fn timeline(bins: &[u64]) -> Timeline {
        let bin = |&other: &u64| {
            let part = |function, blocks, visits| {
                let totals = Totals { blocks, visits, ..Totals::default() };
                (blocks > 0).then_some(Part { function, totals })
            };
            let parts: Vec<Part> = [part(0, 1000 - other, 0), part(1, other, 1)].into_iter().flatten().collect();
            Bin { totals: Totals::default(), labels: vec![u32::from(other == 1000)], parts }
        };
        timeline_of((0, 0), bins.iter().map(bin).collect(), &Thresholds::default())
    }

    fn analysis(timeline: Timeline) -> Analysis {
        let function = |name: &str| (name.to_owned(), String::new(), 0);
        Analysis {
            engine: "counters".into(),
            unit: poise_profile::BinUnit::Blocks,
            width: 1000,
            thresholds: Thresholds::default(),
            functions: vec![function("product"), function("dot")],
            timelines: vec![timeline],
        }
    }

    #[test]
    fn functions_whose_phases_hold_what_they_did_are_not_told() {
        let analysis = analysis(timeline(&[[0; 10], [1000; 10], [0; 10]].concat()));
        assert_eq!(analysis.timelines[0].phases.len(), 3);
        assert_eq!(analysis.unresolved(&analysis.timelines[0]), []);
    }

    #[test]
    fn functions_that_alternate_within_bins_are_told_with_the_width_that_would_help() {
        // 600 of every 3000 blocks.
        let analysis = analysis(timeline(&[0, 600, 0].repeat(20)));
        let found = analysis.unresolved(&analysis.timelines[0]);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].function, found[0].share, found[0].done.part()), (1, 0.2, 0.0));
        // A call would fill six bins of it, of which five are its own wherever they begin.
        assert_eq!(
            analysis.told(&analysis.timelines[0], &found[0]),
            "dot has 20 % of the effort and no phase, since it alternates with others; --width 100 would tell its calls apart."
        );
    }

    /// One bin or two, in which functions ran one after the other, or next to nothing ran.
    #[test]
    fn a_run_that_is_shorter_than_a_phase_is_told_as_that() {
        for bins in [&[400][..], &[400, 1000], &[0, 600, 0]] {
            let analysis = analysis(timeline(bins));
            let found = analysis.unresolved(&analysis.timelines[0]);
            let told: Vec<String> = found.iter().map(|f| analysis.told(&analysis.timelines[0], f)).collect();
            assert!(told.iter().any(|told| told.starts_with("dot has ")), "{told:?}");
            for told in told {
                assert!(
                    told.contains(" no phase, since all that it did fills fewer than the 5 bins of --filter; "),
                    "{told}"
                );
            }
        }
        // Its 400 blocks would fill six bins of 66.
        let short = analysis(timeline(&[400]));
        let told = short.told(&short.timelines[0], &short.unresolved(&short.timelines[0])[1]);
        assert!(
            told.ends_with("its calls are too short for bins of any width; poise model has its call paths."),
            "{told}"
        );
    }

    /// Function 0 labels every third bin of the first 30 and function 1 the others; so do 2 and 3 in the last 30.
    #[test]
    fn all_functions_that_take_turns_are_one_sentence() {
        let bin = |at: usize| {
            let (large, small) = if at.is_multiple_of(3) { (0, 1) } else { (1, 0) };
            let first = if at < 30 { 0 } else { 2 };
            let part = |function, blocks| {
                let totals = Totals { blocks, visits: 1, ..Totals::default() };
                Part { function: first + function, totals }
            };
            let parts = vec![part(large, 600), part(small, 400)];
            Bin { totals: Totals::default(), labels: vec![first + large], parts }
        };
        let mut analysis = analysis(timeline_of((0, 0), (0..60).map(bin).collect(), &Thresholds::default()));
        analysis.functions.extend(["read", "write"].map(|name| (name.to_owned(), String::new(), 0)));
        let told = analysis.shared().unwrap();
        assert!(told.starts_with("product and dot, read and write take turns within bins, "), "{told}");
        // Calls of 400 or 600 blocks would need bins of less than 100.
        assert!(told.contains("hold 5 % or more; its calls are too short for bins of any width"), "{told}");
    }

    #[test]
    fn the_cause_that_is_told_holds() {
        let told = |bins: &[u64], thresholds: &Thresholds| {
            let labelled = timeline(bins);
            let mut analysis = analysis(timeline_of((0, 0), labelled.bins, thresholds));
            analysis.thresholds = *thresholds;
            let timeline = &analysis.timelines[0];
            analysis.unresolved(timeline).iter().map(|found| analysis.told(timeline, found)).collect::<Vec<_>>()
        };
        let defaults = Thresholds::default();
        // Ten bins of a hundred are less than a fifth.
        let share = Thresholds { share: 0.2, ..defaults };
        assert_eq!(
            told(&[vec![0; 90], vec![1000; 10]].concat(), &share),
            [
                "dot has 10 % of the effort and no phase, since these would be less than the 20 % of all bins of --share; --share 0.1 keeps them."
            ]
        );
        assert_eq!(told(&[vec![0; 90], vec![1000; 10]].concat(), &Thresholds { share: 0.1, ..defaults }), [""; 0]);
        // Three whole bins each time, 20 times of 13: a call is a bin.
        assert_eq!(
            told(&[vec![0; 10], vec![1000; 3]].concat().repeat(20), &defaults),
            [
                "dot has 23 % of the effort and no phase, since it has bins of its own, but seldom the 5 in a row of --filter; \
              --width 166 would tell its calls apart."
            ]
        );
        // Four whole bins each time, and five once: a smaller --share would keep these five alone.
        let four = [vec![0; 12], vec![1000; 4]].concat();
        let mostly =
            told(&[four.repeat(40), vec![0; 12], vec![1000; 5], vec![0; 12], four.repeat(40)].concat(), &defaults);
        assert!(mostly.len() == 1 && mostly[0].contains("seldom the 5 in a row of --filter"), "{mostly:?}");
        // One function alone, in three bins.
        let alone = told(&[1000; 3], &defaults);
        assert!(alone.len() == 1 && !alone[0].contains("alternates") && alone[0].contains("--filter"), "{alone:?}");
    }

    #[test]
    fn a_share_that_is_proposed_is_two_digits_and_no_more_than_there_is() {
        // 0.07 of 100 is a little more than 7, as numbers are kept.
        let cases =
            [(1, 10, 0.1), (7, 100, 0.069), (5, 1234, 0.0040), (999, 1000, 0.99), (3, 3, 1.0), (5, 40_000, 0.00012)];
        for (part, all, expected) in cases {
            assert_eq!(part_below(part, all), expected, "{part} of {all}");
        }
    }

    /// Each bin has many turns of both, and a tenth of it more of the one: for twelve bins product, for the next twelve dot.
    #[test]
    fn turns_that_are_nearly_in_step_with_the_bins_are_told_as_chance() {
        let bin = |at: usize| {
            let dot = if (at / 12).is_multiple_of(2) { 450 } else { 550 };
            let part = |function, blocks| Part { function, totals: Totals { blocks, visits: 9, ..Totals::default() } };
            let labels = vec![u32::from(dot == 550)];
            Bin { totals: Totals::default(), labels, parts: vec![part(0, 1000 - dot), part(1, dot)] }
        };
        let analysis = analysis(timeline_of((0, 0), (0..120).map(bin).collect(), &Thresholds::default()));
        let timeline = &analysis.timelines[0];
        assert_eq!((timeline.phases.len(), analysis.shared()), (10, None));
        let told: Vec<String> =
            analysis.unresolved(timeline).iter().map(|found| analysis.told(timeline, found)).collect();
        // Ten phases of twelve bins: product's hold 550 of its 1000 blocks a pair, but that next to one its own is also what it did there.
        assert_eq!(told.len(), 2);
        for (name, other, told) in [("product", "dot", &told[0]), ("dot", "product", &told[1])] {
            assert!(told.starts_with(&format!("{name} has 50 % of the effort, ")), "{told}");
            assert!(
                told.contains(&format!(" in those of {other}, where chance may say which of both labels a bin, ")),
                "{told}"
            );
            assert!(told.contains("since it alternates with others; "), "{told}");
        }
    }

    /// Product is called once and did three quarters of each bin; the rest is in functions that it called all the time, whose events are among
    /// those of the label.
    #[test]
    fn bins_without_labels_are_told_with_the_threshold_that_they_missed() {
        let bin = |_| {
            let part = |function, blocks| Part { function, totals: Totals { blocks, visits: 1, ..Totals::default() } };
            Bin { totals: Totals::default(), labels: Vec::new(), parts: vec![part(0, 750), part(1, 250)] }
        };
        let mut analysis = analysis(timeline_of((0, 0), (0..60).map(bin).collect(), &Thresholds::default()));
        let told = |analysis: &Analysis| -> Vec<String> {
            let timeline = &analysis.timelines[0];
            analysis.unresolved(timeline).iter().map(|found| analysis.told(timeline, found)).collect()
        };
        for (engine, events) in [("qemu", "most frequent addresses"), ("counters", "events")] {
            engine.clone_into(&mut analysis.engine);
            assert_eq!(
                told(&analysis)[0],
                format!(
                    "product has 75 % of the effort and no phase, since bins of which it did most have no label: of their 5 {events} fewer than \
                     the 5 of --label belong to one function; a lower --label gives more bins one."
                )
            );
        }
        let told = told(&analysis);
        assert!(
            told[1].starts_with("dot has 25 % of the effort and no phase, since it alternates with others"),
            "{}",
            told[1]
        );
    }

    #[test]
    fn the_width_that_would_help_is_in_the_unit_of_the_bins() {
        // Bins of 1 ms, of every third of which dot has 0.6 ms and 600 blocks: a call fills six bins of 0.1 ms.
        let mut analysis = analysis(timeline(&[0, 600, 0].repeat(20)));
        (analysis.unit, analysis.width) = (BinUnit::Time, 1_000_000);
        let parts = analysis.timelines[0].bins.iter_mut().flat_map(|bin| &mut bin.parts);
        parts.for_each(|part| part.totals.time = 1000 * part.totals.blocks);
        let told = |analysis: &Analysis| {
            analysis.told(&analysis.timelines[0], &analysis.unresolved(&analysis.timelines[0])[0])
        };
        assert!(told(&analysis).contains("--width 100000 would tell its calls apart"), "{}", told(&analysis));
        // Calls of 600 ns would need bins of 100 ns.
        let parts = analysis.timelines[0].bins.iter_mut().flat_map(|bin| &mut bin.parts);
        parts.for_each(|part| part.totals.time /= 1000);
        assert!(told(&analysis).contains("too short for bins of any width"), "{}", told(&analysis));
    }

    #[test]
    fn a_function_that_lacks_a_phase_in_some_of_its_turns_is_told() {
        // Each turn is as long; of one of them a bin is labelled as function 0's, so that too few are left in a row.
        let turn = [vec![0; 10], vec![1000; 5]].concat();
        let blurred = [vec![0; 10], vec![400], vec![1000; 4], vec![600]].concat();
        let analysis = analysis(timeline(&[turn.repeat(9), blurred, turn.repeat(10), vec![0; 10]].concat()));
        let found = analysis.unresolved(&analysis.timelines[0]);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].done,
            Done {
                effort: 100_000,
                extent: 100_000,
                visits: 101,
                within: 95_000,
                shared: 0,
                phases: 19,
                lacks_one: true
            }
        );
        assert!(
            analysis.told(&analysis.timelines[0], &found[0]).contains("95 % of it in phases of its own"),
            "{}",
            analysis.told(&analysis.timelines[0], &found[0])
        );
    }

    /// Bins of function 0, four here and there that both share among them, fifty times; function 1 has a phase each time. What lies
    /// between is a fifth of a phase each time, and ten phases together.
    #[test]
    fn what_lies_here_and_there_is_no_phase_that_is_lacking() {
        let turn = [vec![0; 6], vec![250; 4], vec![0; 6], vec![1000; 5]].concat();
        let timeline = timeline(&[turn.repeat(50), vec![0; 10]].concat());
        assert_eq!(timeline.phases.iter().filter(|phase| phase.function == 1).count(), 50);
        let done = done(&analysis(timeline.clone()), &timeline)[&1];
        assert_eq!(
            done,
            Done {
                effort: 300_000,
                extent: 300_000,
                visits: 450,
                within: 250_000,
                shared: 0,
                phases: 50,
                lacks_one: false
            }
        );
        assert!(done.is_resolved());
    }

    /// Ten phases of ten bins, and a thousand bins of which it has a two-hundredth each: half of a phase together.
    #[test]
    fn what_is_spread_over_a_long_time_is_no_phase_that_is_lacking() {
        let turns = [vec![0; 10], vec![1000; 10]].concat().repeat(10);
        let timeline = timeline(&[turns, vec![5; 1000]].concat());
        let done = done(&analysis(timeline.clone()), &timeline)[&1];
        assert_eq!((done.phases, done.effort - done.within, done.lacks_one), (10, 4995, false));
    }

    #[test]
    fn a_phase_may_be_lacking_before_the_first_and_after_the_last() {
        let turns = [vec![0; 10], vec![1000; 5]].concat().repeat(10);
        let blurred = [vec![0; 10], vec![400], vec![1000; 4], vec![600], vec![0; 10]].concat();
        for bins in [[blurred.clone(), turns.clone(), vec![0; 10]].concat(), [turns.clone(), blurred].concat()] {
            let timeline = timeline(&bins);
            let done = done(&analysis(timeline.clone()), &timeline)[&1];
            assert!(done.lacks_one, "{done:?}");
        }
    }

    #[test]
    fn a_function_that_is_a_phase_once_and_alternates_later_is_told_with_both_parts() {
        let analysis = analysis(timeline(&[vec![1000; 6], [0, 600, 0].repeat(20)].concat()));
        let found = analysis.unresolved(&analysis.timelines[0]);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].done,
            Done { effort: 18_000, extent: 18_000, visits: 26, within: 6000, shared: 0, phases: 1, lacks_one: false }
        );
        assert!(
            analysis
                .told(&analysis.timelines[0], &found[0])
                .starts_with("dot has 27 % of the effort, 33 % of it in phases of its own"),
            "{}",
            analysis.told(&analysis.timelines[0], &found[0])
        );
    }
}
