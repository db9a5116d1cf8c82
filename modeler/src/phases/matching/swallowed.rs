//! Phases whose values are not what they seem to be, since bins are too wide in some run: a function's phases that hold only some of
//! what it did, and phases that hold what other runs tell apart. They are told and have no model.

use std::collections::{BTreeMap, BTreeSet};

use super::{At, listed};
use crate::phases::Timeline;
use crate::phases::resolution::{Done, done, percent};

/// Part of a phase's effort from which on what another function did in it matters.
const MATTERS: f64 = 0.05;

/// What one run says of its functions, over the first threads of its ranks, by their names.
struct Run<'a> {
    at: &'a At,
    effort: u64,
    done: BTreeMap<&'a str, Done>,
    /// By the function that phases belong to, the effort that they hold by function.
    held: BTreeMap<&'a str, BTreeMap<&'a str, u64>>,
    /// Functions of which some phase covers the same bins as another's, and that one.
    shared_with: BTreeMap<&'a str, &'a str>,
}

impl<'a> Run<'a> {
    fn new(at: &'a At) -> Self {
        let mut run =
            Self { at, effort: 0, done: BTreeMap::new(), held: BTreeMap::new(), shared_with: BTreeMap::new() };
        for timeline in at.first_threads() {
            for (function, done) in done(&at.analysis, timeline) {
                run.effort += done.effort;
                run.done.entry(at.analysis.name(function)).or_default().add(&done);
            }
            for phase in &timeline.phases {
                let name = at.analysis.name(phase.function);
                let sums = run.held.entry(name).or_default();
                for (&function, effort) in &phase.held {
                    *sums.entry(at.analysis.name(function)).or_default() += effort;
                }
                run.shared_with.extend(phase.shared_with.map(|other| (name, at.analysis.name(other))));
            }
        }
        run
    }

    /// The part of a function's effort that its phases hold.
    fn part(&self, name: &str) -> f64 {
        self.done.get(name).map_or(1.0, Done::part)
    }

    /// Whether its phases stand for a function, as those of one that did nothing do.
    fn is_resolved(&self, name: &str) -> bool {
        self.done.get(name).is_none_or(Done::is_resolved)
    }

    /// Whether a function has no phase and is a smaller part of the run than phases must be.
    fn is_small(&self, name: &str) -> bool {
        let is_less = |done: &Done| (done.effort as f64) < self.at.analysis.thresholds.share * self.effort as f64;
        self.done.get(name).is_none_or(|done| done.phases == 0 && is_less(done))
    }

    /// The number of a function of this name that did something in a thread, and what it did.
    fn done_by(&self, timeline: &Timeline, name: &str) -> Option<(u32, Done)> {
        done(&self.at.analysis, timeline).into_iter().find(|(function, _)| self.at.analysis.name(*function) == name)
    }

    /// Why its phases hold less than a function did, and what would help: of the first rank of which that can be told.
    fn because(&self, name: &str) -> Option<String> {
        let of = |timeline: &Timeline| {
            let (function, done) = self.done_by(timeline, name).filter(|(_, done)| !done.is_resolved())?;
            Some(self.at.analysis.because(timeline, function, &done)).filter(|because| !because.is_empty())
        };
        self.at.first_threads().find_map(of)
    }

    /// The largest --share with which a function has phases on all ranks where nothing else keeps it from having some.
    fn share_for(&self, name: &str) -> Option<f64> {
        let of = |timeline: &Timeline| self.at.analysis.share_for(timeline, self.done_by(timeline, name)?.0);
        self.at.first_threads().filter_map(of).min_by(f64::total_cmp)
    }

    /// What part of the phases of `name` the function `other` did.
    fn share(&self, name: &str, other: &str) -> f64 {
        let Some(held) = self.held.get(name) else { return 0.0 };
        let all: u64 = held.values().sum();
        held.get(other).copied().unwrap_or(0) as f64 / all.max(1) as f64
    }
}

/// What the runs' phases do not show.
pub struct Swallowed<'a> {
    runs: Vec<Run<'a>>,
    /// Functions with phases.
    labels: BTreeSet<&'a str>,
}

impl<'a> Swallowed<'a> {
    /// What is not to be seen in the phases of these runs.
    pub fn of(runs: &[&'a At]) -> Self {
        let runs: Vec<Run> = runs.iter().map(|run| Run::new(run)).collect();
        let labels = runs.iter().flat_map(|run| run.held.keys().copied()).collect();
        Self { runs, labels }
    }

    /// Functions whose phases hold in some run only some of what they did, each with a sentence. Where they have a phase in one
    /// iteration and none in the next, nothing repeats: without them the phases of others do.
    pub fn in_part(&self) -> BTreeMap<&'a str, String> {
        self.labels.iter().filter_map(|&name| Some((name, in_part(&self.runs, name)?))).collect()
    }

    /// Those of these functions whose phases hold in some run what others tell apart, each with a sentence.
    pub fn with_others<'b>(&self, names: impl IntoIterator<Item = &'b str>) -> BTreeMap<&'b str, String> {
        let told = |name| Some((name, with_others(&self.runs, name, &self.labels)?));
        names.into_iter().filter_map(told).collect()
    }

    /// A sentence about functions that have phases in some runs, and none in others of which they are too small a part, with what would
    /// give them some.
    pub fn too_small(&self) -> Option<String> {
        too_small(&self.runs, &self.labels)
    }

    /// A sentence for each function that matters and has no phase in any run.
    pub fn without_phase(&self) -> impl Iterator<Item = String> {
        without_phase(&self.runs, &self.labels)
    }
}

/// The run in which something is least.
fn least<'a, 'b>(runs: &'b [Run<'a>], of: impl Fn(&Run<'a>) -> f64) -> Option<&'b Run<'a>> {
    runs.iter().min_by(|a, b| of(a).total_cmp(&of(b)))
}

/// A function whose phases hold only some of what it did. Where it is too small a part of a run to have a phase, it lacks nothing.
fn in_part(runs: &[Run], name: &str) -> Option<String> {
    let blurred: Vec<&Run> = runs.iter().filter(|run| !run.is_resolved(name) && !run.is_small(name)).collect();
    let run = *blurred.iter().min_by(|a, b| a.part(name).total_cmp(&b.part(name)))?;
    let at = &run.at.name;
    let is_shared = run.done.get(name).is_some_and(Done::is_shared);
    let what = match run.part(name) {
        _ if is_shared => {
            let other = run.shared_with.get(name).copied().unwrap_or("another function");
            format!("its phases cover the same bins as those of {other} in {at}, where they take turns within bins")
        }
        0.0 => format!("it has phases in other runs and none in {at}"),
        part => format!("its phases hold {} of what it did in {at}", percent(part)),
    };
    let because = match run.because(name).filter(|_| !is_shared) {
        Some(because) => format!(", {because}"),
        None => {
            Some(advice(run, name)).filter(|advice| !advice.is_empty()).map_or_else(String::new, |a| format!("; {a}"))
        }
    };
    Some(format!("{name}: {what}{because}. They have no model. {}", so_in(&blurred, run)).trim_end().to_owned())
}

/// Functions that are told in one sentence.
const NAMED: usize = 4;

fn too_small(runs: &[Run], labels: &BTreeSet<&str>) -> Option<String> {
    let mut least = f64::INFINITY;
    let mut told = Vec::new();
    for &name in labels {
        let lacking = runs.iter().filter(|run| run.is_small(name));
        let shares: Vec<(&str, f64)> =
            lacking.filter_map(|run| Some((run.at.name.as_str(), run.share_for(name)?))).collect();
        least = shares.iter().fold(least, |least, &(_, share)| least.min(share));
        let without: Vec<&str> = shares.iter().map(|&(run, _)| run).collect();
        if !without.is_empty() {
            told.push(format!("{name} in {}", listed(&without)));
        }
    }
    let more = told.len().saturating_sub(NAMED);
    told.truncate(NAMED);
    if more > 0 {
        told.push(format!("{more} more"));
    }
    let names: Vec<&str> = told.iter().map(String::as_str).collect();
    let now = runs.first()?.at.analysis.thresholds.share;
    (!names.is_empty()).then(|| {
        format!(
            "Less than the {} of all bins that a function's phases must have (--share): {}. With --share {least} they have phases there, too.",
            percent(now),
            listed(&names)
        )
    })
}

/// All runs but the one that was named, as a sentence with a blank behind it: who leaves out that one is not to find the next.
fn so_in(all: &[&Run], named: &Run) -> String {
    let names: BTreeSet<&str> =
        all.iter().map(|run| run.at.name.as_str()).filter(|name| *name != named.at.name).collect();
    let names: Vec<&str> = names.into_iter().collect();
    if names.is_empty() { String::new() } else { format!("So in {}. ", listed(&names)) }
}

/// Phases that hold in some run what another run tells apart.
fn with_others(runs: &[Run], name: &str, labels: &BTreeSet<&str>) -> Option<String> {
    let is_apart = |other: &str| {
        runs.iter().any(|run| run.done.get(other).is_some_and(|done| done.phases > 0 && done.is_resolved()))
    };
    let others = labels.iter().filter(|&&other| other != name && is_apart(other));
    let found = others.flat_map(|&other| {
        let blurred = runs.iter().filter(move |run| !run.is_resolved(other));
        blurred.map(move |run| (run.share(name, other), other, run)).filter(|found| found.0 >= MATTERS)
    });
    let found: Vec<(f64, &str, &Run)> = found.collect();
    let &(share, other, run) = found.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let all: Vec<&Run> = found.iter().map(|found| found.2).collect();
    Some(format!(
        "{name}: {} of its phases is what {other} did in {}, which other runs tell apart; they have no model. {}{}",
        percent(share),
        run.at.name,
        so_in(&all, run),
        remedy(run, other)
    ))
}

/// Functions that matter and have no phase anywhere.
fn without_phase<'a>(runs: &'a [Run<'a>], labels: &'a BTreeSet<&str>) -> impl Iterator<Item = String> {
    let names: BTreeSet<&str> = runs.iter().flat_map(|run| run.done.keys().copied()).collect();
    let share = |run: &Run, name: &str| {
        let effort = run.done.get(name).map_or(0, |done| done.effort);
        effort as f64 / run.effort.max(1) as f64
    };
    names.into_iter().filter(|name| !labels.contains(name)).filter_map(move |name| {
        let run = least(runs, |run| -share(run, name)).filter(|run| share(run, name) >= MATTERS)?;
        let share = percent(share(run, name));
        Some(format!(
            "{name} has {share} of the effort of {} and no phase in any run.{} {}",
            run.at.name,
            holder(runs, labels, name),
            remedy(run, name)
        ))
    })
}

/// Whose phases hold most of what a function without a phase did, as a sentence with a blank before it, where that matters to them.
fn holder(runs: &[Run], labels: &BTreeSet<&str>, name: &str) -> String {
    let held = runs.iter().flat_map(|run| labels.iter().map(move |&label| (run.share(label, name), label, run)));
    let most = held.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(share, ..)| *share >= MATTERS);
    most.map_or_else(String::new, |(share, label, run)| {
        format!(" It did {} of what the phases of {label} hold in {}.", percent(share), run.at.name)
    })
}

/// What would help in this run, as a part of a sentence.
fn advice(run: &Run, name: &str) -> String {
    run.done.get(name).map(|done| run.at.analysis.remedy(done)).unwrap_or_default()
}

/// The same as a sentence.
fn remedy(run: &Run, name: &str) -> String {
    let text = advice(run, name);
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phases::regions::Thresholds;
    use crate::phases::{Analysis, Bin, Part, Totals, timeline_of};

    /// A run of bins of 1000 blocks, each with what functions 0 and 1 did of them, labelled by the one that did more.
    fn run(name: &str, bins: &[[u64; 2]]) -> At {
        let bin = |blocks: &[u64; 2]| {
            let part = |function: u32| {
                let totals = Totals { blocks: blocks[function as usize], visits: 1, ..Totals::default() };
                Part { function, totals }
            };
            let parts = [0, 1].map(part).into_iter().filter(|part| part.totals.blocks > 0).collect();
            Bin { totals: Totals::default(), labels: vec![u32::from(blocks[1] > blocks[0])], parts }
        };
        let thresholds = Thresholds::default();
        let analysis = Analysis {
            engine: "counters".into(),
            unit: poise_profile::BinUnit::Blocks,
            width: 1000,
            thresholds,
            functions: ["product", "dot"].map(|name| (name.to_owned(), String::new(), 0)).into(),
            timelines: vec![timeline_of((0, 0), bins.iter().map(bin).collect(), &thresholds)],
        };
        At { name: name.into(), parameters: vec![("n".into(), 1.0)], analysis }
    }

    /// All that is told of runs.
    fn told(runs: &[At]) -> Vec<String> {
        let runs: Vec<&At> = runs.iter().collect();
        let swallowed = Swallowed::of(&runs);
        let with_others = swallowed.with_others(["product", "dot"]);
        let in_part = swallowed.in_part();
        let all = in_part.into_values().chain(with_others.into_values());
        all.chain(swallowed.too_small()).chain(swallowed.without_phase()).collect()
    }

    #[test]
    fn what_is_told_has_one_full_stop_at_a_time() {
        let apart = || [[[1000, 0]; 10], [[0, 1000]; 10]].concat();
        // Bins that both share, 600 to 400: now the one labels them and now the other.
        let turns = || [[600, 400], [400, 600], [400, 600]].repeat(20);
        let shared = told(&[run("n1", &apart()), run("n2", &turns())]);
        let expected = "product: its phases cover the same bins as those of dot in n2, where they take turns within bins; \
                        its calls are too short for bins of any width; poise model has its call paths. They have no model.";
        assert!(shared.iter().any(|told| told == expected), "{shared:?}");
        // 400 of every 3000 blocks, so that one has no phase; in another run it has, or in none.
        let within = || [[1000, 0], [600, 400], [1000, 0]].repeat(20);
        let lacking = told(&[run("n1", &apart()), run("n2", &within())]);
        let nowhere = told(&[run("n1", &within()), run("n2", &within())]);
        assert!(!lacking.is_empty() && !nowhere.is_empty(), "{lacking:?} {nowhere:?}");
        for told in shared.iter().chain(&lacking).chain(&nowhere) {
            assert!(!told.contains(".."), "{told}");
        }
    }
}
