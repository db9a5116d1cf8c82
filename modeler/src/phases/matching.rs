//! The same phases in runs at several points. Phases match by label and order: the longest sequence of labels that all runs have
//! in common (as `diff` finds lines in common) is matched, and nothing else; phases beside it are told, never forced
//! into a place.

use std::collections::BTreeSet;

use super::{Analysis, Phase, Totals};
use crate::experiment::{Experiment, ExperimentBuilder, Metric};

/// A run at a point.
#[derive(Clone, Debug)]
pub struct At {
    /// Its name, for messages.
    pub name: String,
    /// Parameters and their values, in the same order in all runs.
    pub parameters: Vec<(String, f64)>,
    /// Its phases.
    pub analysis: Analysis,
}

/// What matching found.
#[derive(Clone, Debug, Default)]
pub struct Matched {
    /// The phases as call paths: values of each, the mean over ranks, at each point.
    pub experiment: Experiment,
    /// Names of the matched phases, in their order.
    pub phases: Vec<String>,
    /// A sentence for each run that has phases beside the matched ones.
    pub unmatched: Vec<String>,
}

/// Finds the phases that all runs have.
///
/// # Errors
/// The runs have different parameters, or there is none.
pub fn matched(runs: &[At]) -> Result<Matched, String> {
    let first = runs.first().ok_or("there is no run with phases")?;
    let names = |run: &At| run.parameters.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    if let Some(other) = runs.iter().find(|run| names(run) != names(first)) {
        return Err(format!("{} and {} have different parameters", first.name, other.name));
    }
    // The first thread of each rank: what it does is what others wait for or help with.
    let mut sequences: Vec<(usize, Vec<&Phase>, Vec<String>)> = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        let mut ranks = BTreeSet::new();
        for timeline in run.analysis.timelines.iter().filter(|t| ranks.insert(t.rank)) {
            let labels = timeline.phases.iter().map(|p| run.analysis.name(p.function).to_owned()).collect();
            sequences.push((index, timeline.phases.iter().collect(), labels));
        }
    }
    let mut common = sequences.first().map(|s| s.2.clone()).unwrap_or_default();
    for (_, _, labels) in &sequences {
        common = longest_common(&common, labels);
    }
    let phases = numbered(&common);
    let mut builder = ExperimentBuilder::new(names(first));
    let mut unmatched = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        let coordinates: Vec<f64> = run.parameters.iter().map(|(_, value)| *value).collect();
        let point = builder.point(&coordinates);
        let of_run: Vec<_> = sequences.iter().filter(|(i, ..)| *i == index).collect();
        let mut sums = vec![Totals::default(); phases.len()];
        for (_, these, labels) in &of_run {
            let places = embedding(&common, labels);
            for (sum, &place) in sums.iter_mut().zip(&places) {
                sum.add(&these[place].totals);
            }
            let others: Vec<&str> =
                (0..labels.len()).filter(|i| !places.contains(i)).map(|i| labels[i].as_str()).collect();
            if !others.is_empty() {
                unmatched.push(told(&run.name, &others));
            }
        }
        unmatched.dedup();
        for (name, sum) in phases.iter().zip(&sums) {
            let callpath = builder.callpath([name]);
            for (metric, unit, value) in values(sum) {
                let metric = builder.metric(Metric { name: metric.into(), unit: unit.into(), over_ranks: None });
                builder.add(callpath, metric, point, value / of_run.len().max(1) as f64);
            }
        }
    }
    Ok(Matched { experiment: builder.finish(), phases, unmatched })
}

/// A phase's values as an experiment has them.
fn values(totals: &Totals) -> Vec<(&'static str, &'static str, f64)> {
    let counted = |name, number: u64| (number > 0).then_some((name, "", number as f64));
    let bytes = |name, number: u64| (number > 0).then_some((name, "bytes", number as f64));
    [
        Some(("basic_blocks", "", totals.blocks as f64)),
        counted("instructions", totals.instructions),
        counted("visits", totals.visits),
        bytes("bytes_sent", totals.bytes_sent),
        bytes("bytes_received", totals.bytes_received),
        (totals.time > 0).then_some(("time", "s", totals.time as f64 * 1e-9)),
        (totals.wait_time > 0).then_some(("wait_time", "s", totals.wait_time as f64 * 1e-9)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// `run: 3 phases have no counterpart in all other runs: a (twice), b.`
fn told(run: &str, others: &[&str]) -> String {
    let distinct: BTreeSet<&str> = others.iter().copied().collect();
    let one = |name: &&str| match others.iter().filter(|o| o == &name).count() {
        1 => (*name).to_owned(),
        count => format!("{name} ({count} times)"),
    };
    let names: Vec<String> = distinct.iter().map(one).collect();
    let phases = if others.len() == 1 { "1 phase has".to_owned() } else { format!("{} phases have", others.len()) };
    format!("{run}: {phases} no counterpart in all other runs: {}.", names.join(", "))
}

/// Labels with a number where one appears several times.
fn numbered(labels: &[String]) -> Vec<String> {
    let name = |(i, label): (usize, &String)| {
        let all = labels.iter().filter(|l| *l == label).count();
        let before = labels[..i].iter().filter(|l| *l == label).count();
        if all > 1 { format!("{label} #{}", before + 1) } else { label.clone() }
    };
    labels.iter().enumerate().map(name).collect()
}

/// The longest sequence that both have in common, elements in order but not necessarily next to each other; of several the one
/// whose elements come first in `a`.
fn longest_common(a: &[String], b: &[String]) -> Vec<String> {
    // lengths[i][j]: of the longest common sequence of a[i..] and b[j..].
    let mut lengths = vec![vec![0u32; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            lengths[i][j] =
                if a[i] == b[j] { lengths[i + 1][j + 1] + 1 } else { lengths[i + 1][j].max(lengths[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut common) = (0, 0, Vec::new());
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
    common
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
    use crate::phases::Timeline;
    use crate::phases::regions::Thresholds;

    fn run(n: f64, phases: &[(&str, u64)]) -> At {
        let mut functions: Vec<(String, String, u32)> = Vec::new();
        let phases = phases.iter().map(|&(name, blocks)| {
            let function = functions.iter().position(|f| f.0 == name).unwrap_or_else(|| {
                functions.push((name.into(), String::new(), 0));
                functions.len() - 1
            });
            let totals = Totals { blocks, ..Totals::default() };
            Phase { function: function as u32, occurrence: 1, bins: 0..5, totals }
        });
        let phases = phases.collect();
        let timelines = vec![Timeline { rank: 0, thread: 0, bins: Vec::new(), phases }];
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

    #[test]
    fn phases_in_another_order_do_not_match() {
        let runs = [run(1.0, &[("a", 1), ("b", 2)]), run(2.0, &[("b", 2), ("a", 1)])];
        assert_eq!(matched(&runs).unwrap().phases.len(), 1);
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
}
