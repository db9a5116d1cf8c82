//! Phases whose values are not what they seem to be, since bins are too wide in some run: a function's phases that hold only some of
//! what it did, and phases that hold what other runs tell apart. They are told and have no model.

use std::collections::{BTreeMap, BTreeSet};

use super::At;
use crate::phases::resolution::{Done, RESOLVED, done, held, percent};

/// Part of a phase's effort from which on what another function did in it matters.
const MATTERS: f64 = 0.05;

/// What one run says of its functions, over the first threads of its ranks, by their names.
struct Run<'a> {
    at: &'a At,
    effort: u64,
    done: BTreeMap<&'a str, Done>,
    /// By the function that phases belong to, the effort that they hold by function.
    held: BTreeMap<&'a str, BTreeMap<&'a str, u64>>,
}

impl<'a> Run<'a> {
    fn new(at: &'a At) -> Self {
        let mut run = Self { at, effort: 0, done: BTreeMap::new(), held: BTreeMap::new() };
        let mut ranks = BTreeSet::new();
        for timeline in at.analysis.timelines.iter().filter(|t| ranks.insert(t.rank)) {
            for (function, done) in done(&at.analysis, timeline) {
                run.effort += done.effort;
                run.done.entry(at.analysis.name(function)).or_default().add(&done);
            }
            for phase in &timeline.phases {
                let sums = run.held.entry(at.analysis.name(phase.function)).or_default();
                for (function, effort) in held(timeline, phase) {
                    *sums.entry(at.analysis.name(function)).or_default() += effort;
                }
            }
        }
        run
    }

    /// The part of a function's effort that its phases hold.
    fn part(&self, name: &str) -> f64 {
        self.done.get(name).map_or(1.0, Done::part)
    }

    /// What part of the phases of `name` the function `other` did.
    fn share(&self, name: &str, other: &str) -> f64 {
        let Some(held) = self.held.get(name) else { return 0.0 };
        let all: u64 = held.values().sum();
        held.get(other).copied().unwrap_or(0) as f64 / all.max(1) as f64
    }
}

/// Names of functions whose phases are not to be modelled, of those that `matched` names; and a sentence for each of them, and for
/// each function that matters and has no phase in any run.
pub fn swallowed(runs: &[At], matched: &BTreeSet<&str>) -> (BTreeSet<String>, Vec<String>) {
    let runs: Vec<Run> = runs.iter().map(Run::new).collect();
    let labels: BTreeSet<&str> = runs.iter().flat_map(|run| run.held.keys().copied()).collect();
    let (mut without, mut told) = (BTreeSet::new(), Vec::new());
    for &name in matched {
        if let Some(sentence) = in_part(&runs, name).or_else(|| with_others(&runs, name, &labels)) {
            without.insert(name.to_owned());
            told.push(sentence);
        }
    }
    told.extend(without_phase(&runs, &labels));
    (without, told)
}

/// The run in which something is least.
fn least<'a, 'b>(runs: &'b [Run<'a>], of: impl Fn(&Run<'a>) -> f64) -> Option<&'b Run<'a>> {
    runs.iter().min_by(|a, b| of(a).total_cmp(&of(b)))
}

/// A function whose phases hold only some of what it did.
fn in_part(runs: &[Run], name: &str) -> Option<String> {
    let run = least(runs, |run| run.part(name)).filter(|run| run.part(name) < RESOLVED)?;
    Some(format!(
        "{name}: its phases hold {} of what it did in {}, where it alternates with others within bins; they have no model. {}",
        percent(run.part(name)),
        run.at.name,
        remedy(run, name)
    ))
}

/// Phases that hold in some run what another run tells apart.
fn with_others(runs: &[Run], name: &str, labels: &BTreeSet<&str>) -> Option<String> {
    let is_apart = |other: &str| {
        let has_phase = |run: &Run| run.done.get(other).is_some_and(|done| done.has_phase);
        runs.iter().any(|run| has_phase(run) && run.part(other) >= RESOLVED)
    };
    let others = labels.iter().filter(|&&other| other != name && is_apart(other));
    let found = others.flat_map(|&other| {
        let blurred = runs.iter().filter(move |run| run.part(other) < RESOLVED);
        blurred.map(move |run| (run.share(name, other), other, run))
    });
    let (share, other, run) = found.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|found| found.0 >= MATTERS)?;
    Some(format!(
        "{name}: {} of its phases is what {other} did in {}, which other runs tell apart; they have no model. {}",
        percent(share),
        run.at.name,
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
            "{name} has {share} of the effort of {} and no phase in any run. {}",
            run.at.name,
            remedy(run, name)
        ))
    })
}

/// What would help in this run, as a sentence.
fn remedy(run: &Run, name: &str) -> String {
    let text = run.done.get(name).map(|done| run.at.analysis.remedy(done)).unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}
