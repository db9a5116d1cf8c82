//! Whether bins are narrow enough: what a function did against what the phases that belong to it hold. A function that alternates
//! with others within bins has no phase, or only some of what it did has; the rest is in phases of its neighbours.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{Analysis, Phase, Timeline};
use crate::machine::OUTSIDE;

/// Part of a thread's effort from which on a function matters.
const MATTERS: f64 = 0.05;
/// Part of its effort that a function's own phases must hold.
const RESOLVED: f64 = 0.8;
/// Part of the mean of its phases from which on what a function did outside of them may be one more.
const ONE_MORE: f64 = 0.5;

/// What a function did in a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Done {
    /// Its effort.
    pub effort: u64,
    /// Its calls.
    pub visits: u64,
    /// How much of its effort is in phases that belong to it.
    pub within: u64,
    /// How many such phases there are.
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

    /// Whether its phases stand for it: they hold most of what it did, and not some of its turns only.
    #[must_use]
    pub fn is_resolved(&self) -> bool {
        self.part() >= RESOLVED && !self.lacks_one
    }

    /// The width of bins at which a call of average length would fill as many as a region must have, and one more.
    #[must_use]
    pub fn width(&self, bins: usize) -> u64 {
        self.effort / self.visits.max(1) / (bins.max(1) as u64 + 1)
    }

    /// Adds what the function did in another thread.
    pub fn add(&mut self, other: &Self) {
        self.effort += other.effort;
        self.visits += other.visits;
        self.within += other.within;
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
        done.visits += part.totals.visits;
    }
    for phase in &timeline.phases {
        let done = all.entry(phase.function).or_default();
        done.within += held(timeline, phase).get(&phase.function).copied().unwrap_or(0);
        done.phases += 1;
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

/// The effort that a phase holds, by function: all of its inner bins', and its own function's in those at its ends, as
/// the phase's totals have it.
#[must_use]
pub fn held(timeline: &Timeline, phase: &Phase) -> BTreeMap<u32, u64> {
    let mut held: BTreeMap<u32, u64> = BTreeMap::new();
    for part in super::parts_of(&timeline.bins, phase.function, &phase.bins) {
        *held.entry(part.function).or_default() += part.totals.effort();
    }
    held
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

impl Analysis {
    /// Functions of at least a twentieth of what a thread did in the program of which less than four fifths is in phases of their own, or
    /// that have phases in some of their turns only.
    #[must_use]
    pub fn unresolved(&self, timeline: &Timeline) -> Vec<Unresolved> {
        let done = done(self, timeline);
        let all: u64 = done.values().map(|done| done.effort).sum();
        let functions = done.into_iter().map(|(function, done)| {
            let share = done.effort as f64 / all.max(1) as f64;
            Unresolved { function, share, done }
        });
        functions.filter(|found| found.share >= MATTERS && !found.done.is_resolved()).collect()
    }

    /// A sentence about such a function.
    #[must_use]
    pub fn told(&self, found: &Unresolved) -> String {
        let name = self.name(found.function);
        let share = format!("{name} has {} of the effort", percent(found.share));
        let remedy = self.remedy(&found.done);
        match found.done.phases {
            0 => format!("{share} and no phase, since it alternates with others; {remedy}."),
            _ => {
                let part = percent(found.done.part());
                format!("{share}, {part} of it in phases of its own, since it alternates with others; {remedy}.")
            }
        }
    }

    /// What would tell a function's calls apart.
    pub(super) fn remedy(&self, done: &Done) -> String {
        match done.width(self.thresholds.filter) {
            // Bins of a handful of blocks tell nothing.
            0..100 => "its calls are too short for bins of any width; poise model has its call paths".to_owned(),
            width if width < self.width => format!("--width {width} would tell its calls apart"),
            _ => "the others' bins are among its own".to_owned(),
        }
    }
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
    use crate::phases::regions::Thresholds;
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
            analysis.told(&found[0]),
            "dot has 20 % of the effort and no phase, since it alternates with others; --width 100 would tell its calls apart."
        );
    }

    #[test]
    fn a_function_that_lacks_a_phase_in_some_of_its_turns_is_told() {
        // Each turn is as long; of one of them a bin is labelled as function 0's, so that too few are left in a row.
        let turn = [vec![0; 10], vec![1000; 5]].concat();
        let blurred = [vec![0; 10], vec![400], vec![1000; 4], vec![600]].concat();
        let analysis = analysis(timeline(&[turn.repeat(9), blurred, turn.repeat(10), vec![0; 10]].concat()));
        let found = analysis.unresolved(&analysis.timelines[0]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].done, Done { effort: 100_000, visits: 101, within: 95_000, phases: 19, lacks_one: true });
        assert!(analysis.told(&found[0]).contains("95 % of it in phases of its own"), "{}", analysis.told(&found[0]));
    }

    /// Bins of function 0, four here and there that both share among them, fifty times; function 1 has a phase each time. What lies
    /// between is a fifth of a phase each time, and ten phases together.
    #[test]
    fn what_lies_here_and_there_is_no_phase_that_is_lacking() {
        let turn = [vec![0; 6], vec![250; 4], vec![0; 6], vec![1000; 5]].concat();
        let timeline = timeline(&[turn.repeat(50), vec![0; 10]].concat());
        assert_eq!(timeline.phases.iter().filter(|phase| phase.function == 1).count(), 50);
        let done = done(&analysis(timeline.clone()), &timeline)[&1];
        assert_eq!(done, Done { effort: 300_000, visits: 450, within: 250_000, phases: 50, lacks_one: false });
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
        assert_eq!(found[0].done, Done { effort: 18_000, visits: 26, within: 6000, phases: 1, lacks_one: false });
        assert!(
            analysis.told(&found[0]).starts_with("dot has 27 % of the effort, 33 % of it in phases of its own"),
            "{}",
            analysis.told(&found[0])
        );
    }
}
