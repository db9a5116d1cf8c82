//! Runs that are unlike the others: whose phases keep those of the others from matching, or of which a phase is a part far larger
//! or smaller than of the others.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use super::{At, Sequence, Sum, common, listed, longest_common};

/// Work that looking for odd runs may be: comparisons of labels.
const WORK: usize = 1 << 28;
/// So many times as many phases match without runs that are odd.
const MORE: usize = 2;
/// A phase's share of an odd run is so many times that of any run that is not odd, or of any such so many times its.
const TIMES: f64 = 10.0;
/// Shares of the program below this are not told: what is next to nothing everywhere misleads nobody.
const LEAST: f64 = 0.1;

/// The smallest minority of so many runs that keeps the phases of the others from matching, of which `matching` match with it; none where
/// there is no such. Runs that agree least with the others are left out first, and none that agrees as much as one that stays.
pub fn runs(count: usize, sequences: &[Sequence], matching: usize) -> Vec<usize> {
    let distinct: BTreeSet<&[String]> = sequences.iter().map(|s| s.labels.deref()).collect();
    let longest = distinct.iter().map(|labels| labels.len()).max().unwrap_or(0);
    let comparisons = distinct.len().saturating_mul(count.max(distinct.len()));
    if count < 3 || comparisons.saturating_mul(longest.saturating_mul(longest)) > WORK {
        return Vec::new();
    }
    let agreement = agreement(count, sequences);
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&run| agreement[run]);
    for leave in 1..count.div_ceil(2) {
        let odd = &order[..leave];
        if agreement[order[leave - 1]] == agreement[order[leave]] {
            continue;
        }
        let others: BTreeSet<&[String]> =
            sequences.iter().filter(|s| !odd.contains(&s.run)).map(|s| s.labels.deref()).collect();
        let others: Vec<&[String]> = others.into_iter().collect();
        if common(&others).map_or(0, |labels| labels.len()) >= MORE * matching.max(1) {
            return odd.to_vec();
        }
    }
    Vec::new()
}

/// Of each run, how many phases one of its ranks has in common with a rank of another run: the mean, in [`PARTS`] of a phase.
fn agreement(count: usize, sequences: &[Sequence]) -> Vec<usize> {
    // Most ranks and runs have the same labels: they are compared once.
    let mut ranks: BTreeMap<&[String], Vec<usize>> = BTreeMap::new();
    for sequence in sequences {
        ranks.entry(&sequence.labels).or_insert_with(|| vec![0; count])[sequence.run] += 1;
    }
    let mut sums = vec![0; count];
    for (labels, of) in &ranks {
        for (others, of_others) in &ranks {
            let same = longest_common(labels, others).map_or(0, |labels| labels.len());
            let all: usize = of_others.iter().sum();
            for run in 0..count {
                sums[run] += of[run] * (all - of_others[run]) * same;
            }
        }
    }
    // Runs of many ranks do not agree more for that.
    let mut own = vec![0; count];
    sequences.iter().for_each(|sequence| own[sequence.run] += 1);
    let all = sequences.len();
    sums.iter().zip(own).map(|(sum, own)| PARTS * sum / (own * (all - own)).max(1)).collect()
}

/// Agreement is compared in parts of a phase.
const PARTS: usize = 1000;

/// Says which runs differ, without which so many phases match.
pub fn told(runs: &[&At], odd: &[usize], without: usize, with: usize) -> String {
    let names: Vec<&str> = odd.iter().map(|&run| runs[run].name.as_str()).collect();
    let (differ, them) = if odd.len() == 1 { ("differs", "it") } else { ("differ", "them") };
    format!(
        "{} {differ} from all other runs: without {them} {without} phases match, with {them} {with}. Leave {them} out, or look at {them} alone.",
        listed(&names)
    )
}

/// A sentence for each phase that in some runs is a part of the program far from what it is in the others.
pub fn shares(runs: &[&At], phases: &[String], sums: &[Vec<Sum>]) -> Vec<String> {
    let whole: Vec<f64> = runs.iter().map(|run| effort(run)).collect();
    let told = |phase: usize| {
        let share = |run: usize| sums[run][phase].totals.blocks as f64 / whole[run].max(1.0);
        let mut order: Vec<usize> = (0..runs.len()).collect();
        order.sort_by(|&a, &b| share(a).total_cmp(&share(b)));
        let shares: Vec<f64> = order.iter().map(|&run| share(run)).collect();
        let (low, high) = usual(&shares);
        let percent = |share: f64| format!("{} %", (1000.0 * share).round() / 10.0);
        let odd: Vec<String> = (0..low)
            .chain(high..order.len())
            .rev()
            .map(|at| format!("{} of {}", percent(shares[at]), runs[order[at]].name))
            .collect();
        let [least, most] = [shares.get(low)?, shares.get(high.checked_sub(1)?)?].map(|share| percent(*share));
        let bound = match (low, order.len() - high) {
            (0, 0) => return None,
            (0, _) => format!("{most} at most"),
            (_, 0) => format!("{least} at least"),
            _ => format!("{least} to {most}"),
        };
        Some(format!(
            "{} is {} and {bound} of the other runs: it may not be the same phase.",
            phases[phase],
            odd.join(", ")
        ))
    };
    (0..phases.len()).filter_map(told).collect()
}

/// Of ascending shares those that are not far from each other: from the first to behind the last. A minority far from all others is left
/// out, then one of what remains, until there is none: who leaves out all that are named is not told of others then.
fn usual(shares: &[f64]) -> (usize, usize) {
    let far = |small: f64, large: f64| large >= LEAST && large > TIMES * small;
    let (mut low, mut high) = (0, shares.len());
    while high - low >= 3 {
        let minority = 1..(high - low).div_ceil(2);
        let is_high = |&few: &usize| far(shares[high - few - 1], shares[high - few]);
        let is_low = |&few: &usize| far(shares[low + few - 1], shares[low + few]);
        match (minority.clone().find(is_high), minority.clone().find(is_low)) {
            (Some(few), None) => high -= few,
            (Some(few), Some(other)) if few <= other => high -= few,
            (_, Some(few)) => low += few,
            (None, None) => break,
        }
    }
    (low, high)
}

/// Blocks that the first thread of each rank executed from `main` on.
fn effort(run: &At) -> f64 {
    run.first_threads()
        .map(|t| {
            let binned: u64 = t.alike().1.iter().map(|bin| bin.totals.blocks).sum();
            binned.max(t.phases.iter().map(|phase| phase.totals.blocks).sum())
        })
        .sum::<u64>() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_far_from_those_of_most_runs_are_odd() {
        assert_eq!(usual(&[0.2, 0.3, 0.4]), (0, 3));
        // One, and two alike.
        assert_eq!(usual(&[0.02, 0.03, 0.9]), (0, 2));
        assert_eq!(usual(&[0.02, 0.03, 0.03, 0.8, 0.9]), (0, 3));
        assert_eq!(usual(&[0.0, 0.05, 0.6, 0.6, 0.7]), (2, 5));
        assert_eq!(usual(&[0.0, 0.02, 0.02, 0.02, 0.9]), (0, 4), "0.02 are too few to be told");
        assert_eq!(usual(&[0.0, 0.3, 0.4]), (1, 3));
        // As many on either side: nobody knows which are odd.
        assert_eq!(usual(&[0.02, 0.02, 0.9, 0.9]), (0, 4));
        assert_eq!(usual(&[0.001, 0.002, 0.09]), (0, 3), "next to nothing everywhere");
        assert_eq!((usual(&[]), usual(&[0.1, 0.9])), ((0, 0), (0, 2)));
    }
}
