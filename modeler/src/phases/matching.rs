//! The same phases in runs at several points. Phases match by label and order: a sequence of labels that all runs have in
//! common (as `diff` finds lines in common, one run after the other) is matched, and nothing else; phases beside it are
//! told, never forced into a place.

mod odd;
mod repeats;
mod swallowed;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use super::resolution::percent;
use super::{Analysis, Phase, Timeline, Totals};
use crate::experiment::{Experiment, ExperimentBuilder, Metric, Values};
use crate::formats::engines;
use swallowed::Swallowed;

/// A run at a point.
///
/// ```
#[doc = include_str!("example.txt")]
/// use modeler::phases::matching::{At, largest};
/// let at = |p: u32| At { name: format!("p{p}"), parameters: vec![("p".into(), p.into())], analysis: analysis.clone() };
/// assert_eq!(largest(&[at(4), at(16), at(8)]).map(|run| run.parameters[0].1), Some(16.0));
/// ```
#[derive(Clone, Debug)]
pub struct At {
    /// Its name, for messages.
    pub name: String,
    /// Parameters and their values, in the same order in all runs.
    pub parameters: Vec<(String, f64)>,
    /// Its phases.
    pub analysis: Analysis,
}

impl At {
    /// The timelines of the ranks' first threads: what others do is what these wait for or help with.
    fn first_threads(&self) -> impl Iterator<Item = &Timeline> {
        let mut ranks = BTreeSet::new();
        self.analysis.timelines.iter().filter(move |timeline| ranks.insert(timeline.rank))
    }
}

/// What matching found.
///
/// ```
#[doc = include_str!("example.txt")]
/// use modeler::phases::matching::{At, matched};
/// # let at = |n: usize| At {
/// #     name: format!("n{n}"),
/// #     parameters: vec![("n".into(), n as f64)],
/// #     analysis: modeler::phases::analyse(&run(10 * n), &Default::default()),
/// # };
/// let runs = [1, 2, 4, 8].map(at); // with n times as many bins
/// let found = matched(&runs)?;
/// assert_eq!((found.experiment.points.len(), found.widths), (4, None)); // all bins are of 1000 blocks
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Matched {
    /// The phases as call paths: values of each, the mean over ranks, at each point.
    pub experiment: Experiment,
    /// Names of the matched phases that can be modelled, in their order.
    pub phases: Vec<String>,
    /// What of the largest run is in none of these phases, as a sentence.
    pub outside: Option<String>,
    /// A sentence about the widths of the runs' bins, where they differ and phases could not be matched, which may be why.
    pub widths: Option<String>,
    /// A sentence for each run that has phases beside the matched ones, and for each phase and function that cannot be modelled.
    pub unmatched: Vec<String>,
}

/// The run at the largest point: that whose values, as parts of the largest of each parameter, have the largest sum.
///
/// ```
#[doc = include_str!("example.txt")]
/// use modeler::phases::matching::{At, largest};
/// # let at = |n: usize| At {
/// #     name: format!("n{n}"),
/// #     parameters: vec![("n".into(), n as f64)],
/// #     analysis: modeler::phases::analyse(&run(10 * n), &Default::default()),
/// # };
/// let runs = [1, 2, 4, 8].map(at); // with n times as many bins
/// assert_eq!(largest(&runs).map(|run| run.name.as_str()), Some("n8"));
/// ```
#[must_use]
pub fn largest(runs: &[At]) -> Option<&At> {
    runs.get(largest_index(&runs.iter().collect::<Vec<_>>())?)
}

fn largest_index(runs: &[&At]) -> Option<usize> {
    let value = |run: &At, i: usize| run.parameters.get(i).map_or(0.0, |(_, value)| *value);
    let most = |i: usize| runs.iter().map(|run| value(run, i)).fold(f64::MIN_POSITIVE, f64::max);
    let size = |run: &At| (0..run.parameters.len()).map(|i| value(run, i) / most(i)).sum::<f64>();
    (0..runs.len()).max_by(|&a, &b| size(runs[a]).total_cmp(&size(runs[b])))
}

/// Functions that are named of what is in no phase, and the part of it that one must have.
const NAMED: usize = 3;
const OF_IT: f64 = 0.1;

/// A sentence about what of the largest run's first threads is in none of the phases, which belong to functions of these names and whose sums
/// in each run these are, and whose most of it is: shares of phases are of all phases, and not of the run.
fn outside(runs: &[&At], labels: &[String], sums: &[Vec<Sum>]) -> Option<String> {
    let index = largest_index(runs)?;
    let run = runs[index];
    let (mut all, mut held) = (Totals::default(), Totals::default());
    // What each function did that no phase has, and what phases of its have that are not modelled.
    let mut rest: BTreeMap<&str, Totals> = BTreeMap::new();
    for timeline in run.first_threads() {
        timeline.alike().1.iter().for_each(|bin| all.add(&bin.totals));
        let in_phases = timeline.phases.iter().map(|phase| (phase.function, &phase.totals));
        let in_none = timeline.outside.iter().map(|(&function, totals)| (function, totals));
        in_phases
            .chain(in_none)
            .for_each(|(function, totals)| rest.entry(run.analysis.name(function)).or_default().add(totals));
    }
    for (label, sum) in labels.iter().zip(&sums[index]) {
        held.add(&sum.totals);
        if let Some(totals) = rest.get_mut(label.as_str()) {
            *totals = totals.without(&sum.totals);
        }
    }
    let outside = all.without(&held);
    let parts = all.parts(&outside)?;
    let (what, of): (&str, fn(&Totals) -> u64) = match (all.time, all.instructions) {
        (0, 0) => ("basic blocks", |totals| totals.blocks),
        (0, _) => ("instructions", |totals| totals.instructions),
        _ => ("time", |totals| totals.time),
    };
    let mut most: Vec<(&str, u64)> = rest.iter().map(|(&name, totals)| (name, of(totals))).collect();
    most.retain(|&(_, part)| part > 0 && part as f64 >= OF_IT * of(&outside) as f64);
    most.sort_by_key(|&(name, part)| (Reverse(part), name));
    let part_of = |part: u64| percent(part as f64 / of(&all) as f64);
    let named: Vec<String> =
        most.into_iter().take(NAMED).map(|(name, part)| format!("{name} {}", part_of(part))).collect();
    let whose = if named.is_empty() { String::new() } else { format!(" Of the {what}: {}.", named.join(", ")) };
    Some(format!("{}: in none of the phases that are modelled: {parts}.{whose}", run.name))
}

/// Runs that are named of those with bins of one width.
const OF_ONE_WIDTH: usize = 4;

/// A sentence about the widths of the runs' bins, the narrowest first, where they differ.
fn widths(runs: &[&At]) -> Option<String> {
    // gem5's dumps are as long as they are.
    if runs.iter().any(|run| run.analysis.engine == "gem5") {
        return None;
    }
    let mut by_width: BTreeMap<(u64, String), Vec<&str>> = BTreeMap::new();
    for run in runs {
        let width = run.analysis.width_text().unwrap_or_else(|| "the whole run".to_owned());
        by_width.entry((run.analysis.width, width)).or_default().push(&run.name);
    }
    if by_width.len() < 2 {
        return None;
    }
    let one = |((_, width), names): (&(u64, String), &Vec<&str>)| match names.len() {
        few if few <= OF_ONE_WIDTH => format!("{width} in {}", listed(names)),
        many => format!("{width} in {many} runs, such as {}", names[0]),
    };
    let told: Vec<String> = by_width.iter().map(one).collect();
    Some(format!(
        "Bins are not as wide in all runs: {}. What a function did and called is in the sums of its phases whatever the width, but a phase \
         that is found in narrow bins may fill too few wide ones. Runs that are measured with the same --width have them alike.",
        told.join("; ")
    ))
}

/// The labels of one rank's phases in a run.
struct Sequence<'a> {
    /// Index of the run.
    run: usize,
    /// Those of one label each: one phase, or what repeats of it.
    phases: Vec<Vec<&'a Phase>>,
    labels: Vec<String>,
}

/// Finds phases that all runs have.
///
/// ```
#[doc = include_str!("example.txt")]
/// use modeler::phases::matching::{At, matched};
/// # let at = |n: usize| At {
/// #     name: format!("n{n}"),
/// #     parameters: vec![("n".into(), n as f64)],
/// #     analysis: modeler::phases::analyse(&run(10 * n), &Default::default()),
/// # };
/// let runs = [1, 2, 4, 8].map(at); // with n times as many bins
/// assert_eq!(matched(&runs)?.phases, ["read", "solve"]);
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// The runs have different parameters or engines or too many phases to compare, or there is none.
pub fn matched(runs: &[At]) -> Result<Matched, String> {
    let first = runs.first().ok_or("there is no run with phases")?;
    let names = |run: &At| run.parameters.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    if let Some(other) = runs.iter().find(|run| names(run) != names(first)) {
        return Err(format!("{} and {} have different parameters", first.name, other.name));
    }
    if let Some(why) = engines::several(runs.iter().map(|run| (run.name.as_str(), run.analysis.engine.as_str()))) {
        return Err(format!("{why}; give those of one engine alone"));
    }
    let runs: Vec<&At> = runs.iter().collect();
    let Found { swallowed, sequences, common, odd } = found(&runs)?;
    let phases = numbered(&common);
    let (mut sums, mut unmatched) = sums(&runs, &sequences, &common);
    if !odd.is_empty() {
        // The other runs only lack what these lack.
        unmatched = unmatched_without(&runs, odd, common.len())?;
    }
    unmatched.extend(odd::shares(&runs, &phases, &sums));
    unmatched.extend(swallowed.too_small());
    let with_others = swallowed.with_others(common.iter().map(String::as_str));
    let in_part = swallowed.in_part();
    unmatched.extend(in_part.values().chain(with_others.values()).cloned().chain(swallowed.without_phase()));
    let is_sound: Vec<bool> = common.iter().map(|label| !with_others.contains_key(label.as_str())).collect();
    sums.iter_mut().for_each(|sums| *sums = sound(sums, &is_sound));
    let phases = sound(&phases, &is_sound);
    let outside = outside(&runs, &sound(&common, &is_sound), &sums).filter(|_| !phases.is_empty());
    let widths = widths(&runs).filter(|_| !unmatched.is_empty());
    Ok(Matched { experiment: experiment(&runs, &phases, &sums), phases, outside, widths, unmatched })
}

/// What runs have in common.
struct Found<'a> {
    swallowed: Swallowed<'a>,
    sequences: Vec<Sequence<'a>>,
    common: Vec<String>,
    /// Those that keep the phases of the others from matching.
    odd: Vec<usize>,
}

fn found<'a>(runs: &[&'a At]) -> Result<Found<'a>, String> {
    let swallowed = Swallowed::of(runs);
    let in_part = swallowed.in_part();
    let sequences = sequences(runs, |name| !in_part.contains_key(name));
    let labels: Vec<&[String]> = sequences.iter().map(|s| s.labels.deref()).collect();
    let common = common(&labels).map_err(|number| {
        format!(
            "{} has {} phases, too many to match with those of the other runs; a larger --filter or --share leaves fewer",
            runs[sequences[number].run].name,
            labels[number].len()
        )
    })?;
    let odd = odd::runs(runs.len(), &sequences, common.len());
    Ok(Found { swallowed, sequences, common, odd })
}

/// What is told of runs of which some are `odd`: these, all that are odd among the others without them, and so on, so that nobody who leaves
/// them out finds the next; and then what the others lack.
fn unmatched_without(runs: &[&At], mut odd: Vec<usize>, with: usize) -> Result<Vec<String>, String> {
    loop {
        let others: Vec<usize> = (0..runs.len()).filter(|run| !odd.contains(run)).collect();
        let rest: Vec<&At> = others.iter().map(|&run| runs[run]).collect();
        let found = found(&rest)?;
        if found.odd.is_empty() {
            odd.sort_unstable();
            let mut told = vec![odd::told(runs, &odd, found.common.len(), with)];
            let (sums, unmatched) = sums(&rest, &found.sequences, &found.common);
            told.extend(unmatched);
            told.extend(odd::shares(&rest, &numbered(&found.common), &sums));
            return Ok(told);
        }
        odd.extend(found.odd.iter().map(|&run| others[run]));
    }
}

/// Those elements that are.
fn sound<T: Clone>(all: &[T], is_sound: &[bool]) -> Vec<T> {
    all.iter().zip(is_sound).filter(|(_, is_sound)| **is_sound).map(|(element, _)| element.clone()).collect()
}

/// The phases of the first thread of each rank that belong to `known` functions.
fn sequences<'a>(runs: &[&'a At], known: impl Fn(&str) -> bool) -> Vec<Sequence<'a>> {
    let mut all = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        for timeline in run.first_threads() {
            let name = |phase: &Phase| run.analysis.name(phase.function);
            let phases: Vec<&Phase> = timeline.phases.iter().filter(|phase| known(name(phase))).collect();
            let labels: Vec<String> = phases.iter().map(|phase| name(phase).to_owned()).collect();
            all.push((index, phases, labels));
        }
    }
    // Iterations differ in number from run to run: what repeats is matched once, with the sums of all its turns.
    let labels: Vec<&[String]> = all.iter().map(|(_, _, labels)| labels.deref()).collect();
    let folded = repeats::folded(&labels);
    let sequences = all.iter().zip(folded).map(|((run, phases, labels), turns)| Sequence {
        run: *run,
        phases: turns.iter().map(|turns| turns.iter().map(|&i| phases[i]).collect()).collect(),
        labels: turns.iter().map(|turns| labels[turns[0]].clone()).collect(),
    });
    sequences.collect()
}

/// A phase's totals in a run, summed over so many ranks.
#[derive(Clone, Copy, Default)]
struct Sum {
    totals: Totals,
    ranks: usize,
}

/// Labels of phases that are not matched, in their order.
type Others<'a> = Vec<&'a str>;

/// Why phases are not matched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    /// Not all ranks of the run have them.
    SomeRanks,
    /// All ranks of all runs have them, but not in the same order.
    Order,
    /// Other runs lack them.
    Lacking,
}

/// Labels, and how often there are phases with them.
type Counts<'a> = BTreeMap<&'a str, usize>;

fn counts<'a>(labels: &[&'a str]) -> Counts<'a> {
    let mut counts = Counts::new();
    labels.iter().for_each(|&name| *counts.entry(name).or_default() += 1);
    counts
}

/// By run and phase, the sum over the run's ranks; a sentence for runs with phases beside these, one where they have the same, told apart by
/// why they are beside them.
fn sums(runs: &[&At], sequences: &[Sequence], common: &[String]) -> (Vec<Vec<Sum>>, Vec<String>) {
    let mut sums = vec![vec![Sum::default(); common.len()]; runs.len()];
    let mut of_ranks: Vec<(usize, Others)> = Vec::new();
    for Sequence { run, phases, labels } in sequences {
        let places = embedding(common, labels);
        for (sum, &place) in sums[*run].iter_mut().zip(&places) {
            // How often others were called meanwhile says nothing of the phase, and depends on where its bins end.
            phases[place].iter().for_each(|phase| sum.totals.add(&Totals { visits: phase.calls, ..phase.totals }));
            sum.ranks += 1;
        }
        let is_other = |place: &usize| places.binary_search(place).is_err();
        of_ranks.push((*run, (0..labels.len()).filter(is_other).map(|place| labels[place].as_str()).collect()));
    }
    // What the other ranks of the run lack needs no other run to match nothing.
    let mut unmatched: Vec<(Others, Why, Vec<usize>)> = Vec::new();
    let of_run = |run: usize| of_ranks.iter().filter(move |(of, _)| *of == run).map(|(_, others)| counts(others));
    let in_ranks: Vec<Counts> = (0..runs.len()).map(|run| in_all(of_run(run))).collect();
    let in_runs = in_all(in_ranks.iter().cloned());
    for (run, others) in &of_ranks {
        let (others, in_some) = apart(others, in_ranks[*run].clone());
        let (in_order, lacking) = apart(&others, in_runs.clone());
        for (others, why) in [(in_some, Why::SomeRanks), (in_order, Why::Order), (lacking, Why::Lacking)] {
            match unmatched.iter_mut().find(|(known, kind, _)| *known == others && *kind == why) {
                _ if others.is_empty() => {}
                Some((.., having)) if having.contains(run) => {}
                Some((.., having)) => having.push(*run),
                None => unmatched.push((others, why, vec![*run])),
            }
        }
    }
    let sentence = |(others, why, having): &(Others, Why, Vec<usize>)| {
        let first = &runs[having[0]].name;
        match having.len() {
            1 => told(first, others, *why) + ".",
            count => {
                let told = told(&format!("{count} of {} runs, such as {first}", runs.len()), others, *why);
                // Few that lack what most have are named; not those that have some of it.
                let is_among = |all: &[&str]| all.iter().any(|name| others.contains(name));
                let has = |run: &usize| unmatched.iter().any(|(all, _, having)| having.contains(run) && is_among(all));
                let without = (0..runs.len()).filter(|run| !has(run)).map(|run| runs[run].name.as_str());
                let without: Vec<&str> = without.collect();
                match without.len() {
                    0 => told + ".",
                    lacking if lacking > runs.len() / 2 => told + ".",
                    lacking => {
                        let verb = if lacking == 1 { "lacks" } else { "lack" };
                        format!("{told}; {} {verb} such.", listed(&without))
                    }
                }
            }
        }
    };
    (sums, unmatched.iter().map(sentence).collect())
}

/// A value of an experiment: its metric's name and unit, and what it is of a phase's totals.
type Value = (&'static str, &'static str, fn(&Totals) -> f64);

/// A phase's values as an experiment has them.
const VALUES: [Value; 8] = [
    ("basic_blocks", "", |t| t.blocks as f64),
    ("instructions", "", |t| t.instructions as f64),
    ("visits", "", |t| t.visits as f64),
    ("bytes_sent", "bytes", |t| t.bytes_sent as f64),
    ("bytes_received", "bytes", |t| t.bytes_received as f64),
    ("time", "s", |t| t.time as f64 * 1e-9),
    ("wait_time", "s", |t| t.wait_time as f64 * 1e-9),
    ("lines", "", |t| t.lines.unwrap_or(0) as f64),
];

/// The mean over ranks of each value of each phase at each point. What is 0 in all phases of all runs was not measured, or is
/// not worth a model; a 0 beside other values is one.
fn experiment(runs: &[&At], phases: &[String], sums: &[Vec<Sum>]) -> Experiment {
    let parameters: Option<Vec<String>> =
        runs.first().map(|run| run.parameters.iter().map(|(name, _)| name.clone()).collect());
    let mut builder = ExperimentBuilder::new(parameters.unwrap_or_default());
    builder.include(Values::Exclusive);
    let all = || sums.iter().flatten();
    // Lines of memory are counted anew in each bin, so that they compare only where bins are alike.
    let width = runs.first().map(|run| run.analysis.width);
    let has_lines =
        runs.iter().all(|run| Some(run.analysis.width) == width) && all().all(|sum| sum.totals.lines.is_some());
    let is_measured = |(name, _, of): &&Value| match *name {
        "lines" => has_lines,
        _ => all().any(|sum| of(&sum.totals) > 0.0),
    };
    let measured: Vec<&Value> = VALUES.iter().filter(is_measured).collect();
    for (run, sums) in runs.iter().zip(sums) {
        let coordinates: Vec<f64> = run.parameters.iter().map(|(_, value)| *value).collect();
        let point = builder.point(&coordinates);
        for (name, sum) in phases.iter().zip(sums) {
            let callpath = builder.callpath([name]);
            for (metric, unit, of) in &measured {
                let metric = Metric { name: (*metric).into(), unit: (*unit).into(), over_ranks: None };
                let metric = builder.metric(metric);
                builder.add(callpath, metric, point, of(&sum.totals) / sum.ranks.max(1) as f64);
            }
        }
    }
    builder.finish()
}

/// `run: 3 phases have no counterpart in all other runs: a (2 times), b`, or why else
fn told(run: &str, others: &[&str], why: Why) -> String {
    let counts = counts(others);
    let one = |(&name, &count): (&&str, &usize)| match count {
        1 => name.to_owned(),
        count => format!("{name} ({count} times)"),
    };
    let names: Vec<String> = counts.iter().map(one).collect();
    let (phases, are, have) = if others.len() == 1 { ("phase", "is", "has") } else { ("phases", "are", "have") };
    let why = match why {
        Why::SomeRanks => format!("{are} in some ranks only, and what is not in all of them is not matched"),
        Why::Order => format!("{are} not in the same order in all runs and ranks"),
        Why::Lacking => format!("{have} no counterpart in all other runs"),
    };
    format!("{run}: {} {phases} {why}: {}", others.len(), names.join(", "))
}

/// Labels that all of these ranks or runs have, with how often each has them at least.
fn in_all<'a>(mut ranks: impl Iterator<Item = Counts<'a>>) -> Counts<'a> {
    let mut all = ranks.next().unwrap_or_default();
    ranks.for_each(|rank| {
        all.retain(|name, often| {
            *often = (*often).min(rank.get(name).copied().unwrap_or(0));
            *often > 0
        })
    });
    all
}

/// Those of a rank's labels that `all` has, as often as it has them, and the others.
fn apart<'a>(labels: &[&'a str], mut all: Counts<'a>) -> (Others<'a>, Others<'a>) {
    labels.iter().partition(|&name| {
        all.get_mut(name).is_some_and(|left| {
            let has = *left > 0;
            *left = left.saturating_sub(1);
            has
        })
    })
}

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// Labels with a number where one appears several times.
fn numbered(labels: &[String]) -> Vec<String> {
    let mut all: BTreeMap<&str, usize> = BTreeMap::new();
    labels.iter().for_each(|label| *all.entry(label).or_default() += 1);
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let number = |label| {
        let number = seen.entry(label).or_default();
        *number += 1;
        *number
    };
    let named = |(label, number): (&String, usize)| match all[label.as_str()] {
        1 => label.clone(),
        _ => format!("{label} #{number}"),
    };
    let numbers: Vec<usize> = labels.iter().map(String::as_str).map(number).collect();
    labels.iter().zip(numbers).map(named).collect()
}

/// Elements of the table that finds the longest common sequence of two, at most: 64 MiB.
const TABLE: usize = 1 << 24;

/// A sequence that all have in common: the longest of the first two, of that and the third, and so on. It need not be the
/// longest of all, which no fast method finds.
///
/// # Errors
/// The number of a sequence that is too long.
fn common(sequences: &[&[String]]) -> Result<Vec<String>, usize> {
    let mut common = sequences.first().map(|s| s.to_vec()).unwrap_or_default();
    for (number, labels) in sequences.iter().enumerate() {
        common = longest_common(&common, labels).ok_or(number)?;
    }
    Ok(common)
}

/// The longest sequence that both have in common, elements in order but not necessarily next to each other; of several the one
/// whose elements come first in `a`. Nothing where the table were too large.
fn longest_common(a: &[String], b: &[String]) -> Option<Vec<String>> {
    // What both begin with is in a longest common sequence.
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (mut common, a, b) = (a[..same].to_vec(), &a[same..], &b[same..]);
    if (a.len() + 1).saturating_mul(b.len() + 1) > TABLE {
        return None;
    }
    // lengths[i][j]: of the longest common sequence of a[i..] and b[j..].
    let mut lengths = vec![vec![0u32; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            lengths[i][j] =
                if a[i] == b[j] { lengths[i + 1][j + 1] + 1 } else { lengths[i + 1][j].max(lengths[i][j + 1]) };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            common.push(a[i].clone());
            (i, j) = (i + 1, j + 1);
        } else if lengths[i][j + 1] > lengths[i + 1][j] {
            j += 1;
        } else {
            i += 1;
        }
    }
    Some(common)
}

/// Where the elements of `common` are in `labels`, the first that are possible.
fn embedding(common: &[String], labels: &[String]) -> Vec<usize> {
    let mut from = 0;
    let mut places = Vec::with_capacity(common.len());
    for label in common {
        let Some(place) = labels[from..].iter().position(|l| l == label) else { break };
        places.push(from + place);
        from += place + 1;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phases::Bin;
    use crate::phases::regions::Thresholds;

    fn run(n: f64, phases: &[(&str, u64)]) -> At {
        let mut functions: Vec<(String, String, u32)> = Vec::new();
        let phases = phases.iter().map(|&(name, blocks)| {
            let function = functions.iter().position(|f| f.0 == name).unwrap_or_else(|| {
                functions.push((name.into(), String::new(), 0));
                functions.len() - 1
            });
            let totals = Totals { blocks, ..Totals::default() };
            Phase {
                function: function as u32,
                occurrence: 1,
                bins: 0..5,
                totals,
                held: BTreeMap::new(),
                calls: 0,
                shared_with: None,
            }
        });
        let phases = phases.collect();
        let timelines = vec![Timeline {
            rank: 0,
            thread: 0,
            bins: Vec::new(),
            phases,
            outside: BTreeMap::new(),
            first_apart: false,
        }];
        let analysis = Analysis {
            engine: "counters".into(),
            unit: poise_profile::BinUnit::Blocks,
            width: 1,
            thresholds: Thresholds::default(),
            functions,
            timelines,
        };
        At { name: format!("n{n}"), parameters: vec![("n".into(), n)], analysis }
    }

    #[test]
    fn phases_that_all_runs_have_match_in_order_and_others_are_told() {
        let runs = [
            run(1.0, &[("read", 10), ("solve", 100), ("write", 5)]),
            run(2.0, &[("read", 20), ("repair", 7), ("solve", 200), ("write", 5)]),
            run(4.0, &[("read", 40), ("solve", 400), ("solve", 3), ("write", 5)]),
        ];
        let matched = matched(&runs).unwrap();
        assert_eq!(matched.phases, ["read", "solve", "write"]);
        let solve =
            matched.experiment.series.iter().find(|s| matched.experiment.path(s.callpath) == ["solve"]).unwrap();
        assert_eq!(matched.experiment.values_of(solve), [100.0, 200.0, 400.0]);
        assert_eq!(
            matched.unmatched,
            [
                "n2: 1 phase has no counterpart in all other runs: repair.",
                "n4: 1 phase has no counterpart in all other runs: solve."
            ]
        );
    }

    /// Three runs of two ranks, of which the first alone has `uneven`, and the last run's both have `repair`.
    #[test]
    fn phases_of_some_ranks_are_not_told_as_lacking_in_other_runs() {
        let ranks = |n: f64, repair: &[(&str, u64)]| {
            let common = [("read", 10), ("solve", 100)];
            let mut whole = run(n, &[&common[..], &[("uneven", 5)], repair].concat());
            let other = run(n, &[&common[..], repair].concat()).analysis.timelines.remove(0);
            // Functions are numbered in the order in which they come.
            let renumbered = |mut phase: Phase| {
                phase.function += u32::from(phase.function == 2);
                phase
            };
            let phases = other.phases.into_iter().map(renumbered).collect();
            whole.analysis.timelines.push(Timeline { rank: 1, phases, ..other });
            whole
        };
        let runs = [ranks(1.0, &[]), ranks(2.0, &[]), ranks(4.0, &[("repair", 3)])];
        let matched = matched(&runs).unwrap();
        assert_eq!(matched.phases, ["read", "solve"]);
        assert_eq!(
            matched.unmatched,
            [
                "3 of 3 runs, such as n1: 1 phase is in some ranks only, and what is not in all of them is not matched: uneven.",
                "n4: 1 phase has no counterpart in all other runs: repair."
            ]
        );
    }

    /// Of the larger run 300 blocks: 220 in phases that match, 70 in one that does not, and 10 of `read` in none.
    #[test]
    fn whose_the_rest_is_is_told() {
        let all =
            |blocks: u64| Bin { totals: Totals { blocks, ..Totals::default() }, parts: Vec::new(), labels: Vec::new() };
        let mut runs =
            [run(1.0, &[("read", 10), ("solve", 100)]), run(2.0, &[("read", 20), ("repair", 70), ("solve", 200)])];
        let timeline = &mut runs[1].analysis.timelines[0];
        timeline.bins = vec![all(300)];
        timeline.outside = BTreeMap::from([(0, Totals { blocks: 10, ..Totals::default() })]);
        let told = |runs: &[At]| matched(runs).unwrap().outside.unwrap();
        assert_eq!(
            told(&runs),
            "n2: in none of the phases that are modelled: 27 % of the basic blocks. Of the basic blocks: repair 23 %, read 3.3 %."
        );
        // Time is what counts where there is some: 10 ns, of which repair's phase has 4 and what read did outside of its own 6.
        let timeline = &mut runs[1].analysis.timelines[0];
        timeline.bins[0].totals.time = 10;
        timeline.phases[1].totals.time = 4;
        timeline.outside.get_mut(&0).unwrap().time = 6;
        assert!(told(&runs).ends_with(" Of the time: read 60 %, repair 40 %."), "{}", told(&runs));
    }

    #[test]
    fn widths_that_differ_are_told_where_phases_are_not_matched_and_change_no_sum() {
        const ALL: [(&str, u64); 3] = [("a", 7), ("b", 9), ("repair", 3)];
        let of = |widths: &[u64], phases_of_second: usize| {
            let numbered = (1..).zip(widths);
            let runs: Vec<At> = numbered
                .map(|(n, &width)| {
                    let mut run = run(f64::from(n), &ALL[..if n == 2 { phases_of_second } else { 2 }]);
                    run.analysis.width = width;
                    run
                })
                .collect();
            matched(&runs).unwrap()
        };
        let (alike, unlike) = (of(&[8; 6], 3), of(&[16, 8, 16, 16, 16, 16], 3));
        assert_eq!((alike.widths, of(&[16, 8, 16, 16, 16, 16], 2).widths), (None, None));
        let told = unlike.widths.unwrap();
        let expected =
            "Bins are not as wide in all runs: 8 basic blocks in n2; 16 basic blocks in 5 runs, such as n1. What";
        assert!(told.starts_with(expected), "{told}");
        let values =
            |found: &Experiment| found.series.iter().map(|series| found.values_of(series).to_vec()).collect::<Vec<_>>();
        assert_eq!(values(&alike.experiment), values(&unlike.experiment));
    }

    #[test]
    fn what_several_runs_have_beside_the_others_is_told_once() {
        let with = |n| run(n, &[("read", 9), ("fill", 5), ("solve", 100), ("write", 9)]);
        let without = |n| run(n, &[("read", 9), ("solve", 100), ("write", 9)]);
        let runs = [with(1.0), with(2.0), without(4.0), with(8.0)];
        assert_eq!(
            matched(&runs).unwrap().unmatched,
            ["3 of 4 runs, such as n1: 1 phase has no counterpart in all other runs: fill; n4 lacks such."]
        );
    }

    #[test]
    fn zeros_of_what_was_measured_are_values() {
        let mut runs = [run(1.0, &[("a", 1), ("b", 2)]), run(2.0, &[("a", 1), ("b", 2)])];
        runs[1].analysis.timelines[0].phases[0].totals.bytes_sent = 8;
        let experiment = matched(&runs).unwrap().experiment;
        let of = |name: &str| {
            let is_it = |s: &&crate::experiment::Series| experiment.metrics[s.metric as usize].name == name;
            experiment.series.iter().filter(is_it).map(|s| experiment.values_of(s)).collect::<Vec<_>>()
        };
        assert_eq!(of("bytes_sent"), [[0.0, 8.0], [0.0, 0.0]]);
        assert!(of("time").is_empty(), "nothing measured time");
    }

    #[test]
    fn lines_of_memory_are_modelled_where_all_runs_count_them_in_the_same_bins() {
        let with = |n: f64, lines: [Option<u64>; 2], width: u64| {
            let mut run = run(n, &[("a", 1), ("b", 2)]);
            run.analysis.width = width;
            run.analysis.timelines[0]
                .phases
                .iter_mut()
                .zip(lines)
                .for_each(|(phase, lines)| phase.totals.lines = lines);
            run
        };
        let of_lines = |runs: &[At]| {
            let experiment = matched(runs).unwrap().experiment;
            let is_it = |s: &&crate::experiment::Series| experiment.metrics[s.metric as usize].name == "lines";
            experiment.series.iter().filter(is_it).map(|s| experiment.values_of(s).to_vec()).collect::<Vec<_>>()
        };
        let first = || with(1.0, [Some(7), Some(0)], 100);
        let alike = [first(), with(2.0, [Some(14), Some(3)], 100)];
        assert_eq!(of_lines(&alike), [[7.0, 14.0], [0.0, 3.0]], "of a, then of b");
        let none: [Vec<f64>; 0] = [];
        assert_eq!(of_lines(&[first(), with(2.0, [Some(14), Some(3)], 200)]), none, "wider bins count anew less often");
        assert_eq!(of_lines(&[first(), with(2.0, [Some(14), None], 100)]), none, "one number is not known");
        assert_eq!(of_lines(&[first(), with(2.0, [None, None], 100)]), none, "one run did not count");
    }

    #[test]
    fn the_run_that_differs_is_named_and_not_the_others() {
        let many: Vec<(String, u64)> = (0..40).map(|i| (format!("f{i}"), 10)).collect();
        let many: Vec<(&str, u64)> = many.iter().map(|(name, blocks)| (name.as_str(), *blocks)).collect();
        let runs = [run(1.0, &many), run(2.0, &[("f3", 400)]), run(3.0, &many), run(4.0, &many)];
        let told = matched(&runs).unwrap().unmatched;
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(
            told[0].starts_with("n2 differs from all other runs: without it 40 phases match, with it 1"),
            "{told:?}"
        );
        assert!(told[1].starts_with("f3 is 100 % of n2 and 2.5 % at most of the other runs"), "{told:?}");
    }

    /// Two runs have next to nothing in common with the others, and a third has half of it.
    #[test]
    fn all_odd_runs_are_named_at_once() {
        let many = |count: usize| (0..count).map(|i| (format!("f{i}"), 10)).collect::<Vec<(String, u64)>>();
        let (whole, half) = (many(40), many(9));
        let of = |n: f64, phases: &[(String, u64)]| {
            run(n, &phases.iter().map(|(name, blocks)| (name.as_str(), *blocks)).collect::<Vec<_>>())
        };
        let runs = [
            of(1.0, &whole),
            run(2.0, &[("f3", 10), ("g", 20)]),
            of(3.0, &whole),
            of(4.0, &half),
            run(5.0, &[("f3", 10), ("g", 30)]),
            of(6.0, &whole),
        ];
        let told = matched(&runs).unwrap().unmatched;
        assert!(
            told[0]
                .starts_with("n2, n4 and n5 differ from all other runs: without them 40 phases match, with them 1. "),
            "{told:?}"
        );
        // Whoever leaves them out finds no other.
        let rest: Vec<At> = [0, 2, 5].map(|at: usize| runs[at].clone()).into();
        let rest = matched(&rest).unwrap();
        assert_eq!((rest.phases.len(), rest.unmatched), (40, Vec::new()));
        // Where two agree with each other as two others do, none is odd.
        let even = [of(1.0, &whole), of(2.0, &whole), run(3.0, &[("g", 1)]), run(4.0, &[("g", 1)])];
        assert!(!matched(&even).unwrap().unmatched.iter().any(|told| told.contains("differ")));
    }

    #[test]
    fn sequences_too_long_to_compare_are_refused() {
        let names = |prefix: &str| (0..5000).map(|i| format!("{prefix}{i}")).collect::<Vec<_>>();
        let all = [names("a"), names("b")];
        let phases = |name: &str| {
            let own = all.iter().find(|own| own[0].starts_with(name)).unwrap();
            own.iter().map(|name| (name.as_str(), 1)).collect::<Vec<_>>()
        };
        let runs = [run(1.0, &phases("a")), run(2.0, &phases("b"))];
        assert!(matched(&runs).unwrap_err().contains("n2 has 5000 phases, too many"));
        assert_eq!(matched(&[run(1.0, &phases("a")), run(2.0, &phases("a"))]).unwrap().phases.len(), 5000);
    }

    #[test]
    fn iterations_match_whatever_their_number() {
        let iterations = |n: u64| {
            let mut phases = vec![("read", 7)];
            (0..n).for_each(|_| phases.extend([("product", 10), ("dot", 1)]));
            phases.push(("write", 3));
            phases
        };
        // Once and twice are as good as often where some run has more.
        for numbers in [[3, 20, 200], [2, 4, 8], [1, 2, 5]] {
            let matched = matched(&numbers.map(|n| run(n as f64, &iterations(n)))).unwrap();
            assert_eq!(matched.phases, ["read", "product", "dot", "write"]);
            assert!(matched.unmatched.is_empty(), "{:?}", matched.unmatched);
            let experiment = &matched.experiment;
            let product = experiment.series.iter().find(|s| experiment.path(s.callpath) == ["product"]).unwrap();
            assert_eq!(experiment.values_of(product), numbers.map(|n| 10.0 * n as f64));
        }
    }

    #[test]
    fn phases_in_another_order_do_not_match() {
        let runs = [run(1.0, &[("a", 1), ("b", 2)]), run(2.0, &[("b", 2), ("a", 1)])];
        let found = matched(&runs).unwrap();
        assert_eq!(found.phases, ["b"]);
        // No run lacks what another has.
        let told = "2 of 2 runs, such as n1: 1 phase is not in the same order in all runs and ranks: a.";
        assert_eq!(found.unmatched, [told]);
        // Two ranks of one run.
        let mut alone = runs[0].clone();
        let mut other = alone.analysis.timelines[0].clone();
        (other.rank, other.phases) = (1, other.phases.into_iter().rev().collect());
        alone.analysis.timelines.push(other);
        let told = "n1: 1 phase is not in the same order in all runs and ranks: a.";
        assert_eq!(matched(&[alone]).unwrap().unmatched, [told]);
        let several = [run(1.0, &[("a", 1), ("b", 2), ("a", 3)]), run(2.0, &[("a", 1), ("b", 2), ("a", 3)])];
        assert_eq!(matched(&several).unwrap().phases, ["a #1", "b", "a #2"]);
    }

    #[test]
    fn runs_over_different_parameters_are_refused() {
        let mut other = run(2.0, &[("a", 1)]);
        other.parameters[0].0 = "m".into();
        assert!(matched(&[run(1.0, &[("a", 1)]), other]).unwrap_err().contains("different parameters"));
        assert!(matched(&[]).is_err());
    }

    #[test]
    fn runs_of_several_engines_are_refused() {
        let mut other = run(2.0, &[("a", 1)]);
        other.analysis.engine = "qemu".into();
        let told = matched(&[run(1.0, &[("a", 1)]), other, run(3.0, &[("a", 1)])]).unwrap_err();
        assert!(told.contains("counters counted n1, n3; qemu counted n2"), "{told}");
    }
}
