//! Runs that are unlike all others: whose phases keep those of the others from matching, or of which a phase is a part far larger
//! or smaller than of the others.

use std::collections::BTreeSet;
use std::ops::Deref;

use super::{At, Sequence, Sum, common};

/// Work that looking for an odd run may be: comparisons of labels.
const WORK: usize = 1 << 28;
/// So many times as many phases match without a run that is odd.
const MORE: usize = 2;
/// A phase's share of an odd run is so many times that of any other run, or of any other so many times its.
const TIMES: f64 = 10.0;
/// Shares of the program below this are not told: what is next to nothing everywhere misleads nobody.
const LEAST: f64 = 0.1;

/// Says which one run keeps the phases of all others from matching, of which `matching` match with it, if one does.
pub fn run(runs: &[At], sequences: &[Sequence], matching: usize) -> Option<String> {
    let distinct: BTreeSet<&[String]> = sequences.iter().map(|s| s.labels.deref()).collect();
    let longest = distinct.iter().map(|labels| labels.len()).max()?;
    let work = distinct.len().saturating_mul(runs.len()).saturating_mul(longest.saturating_mul(longest));
    if runs.len() < 3 || work > WORK {
        return None;
    }
    let without = |run: usize| {
        let others: BTreeSet<&[String]> = sequences.iter().filter(|s| s.run != run).map(|s| s.labels.deref()).collect();
        let others: Vec<&[String]> = others.into_iter().collect();
        common(&others).map_or(0, |labels| labels.len())
    };
    let counts: Vec<usize> = (0..runs.len()).map(without).collect();
    let &most = counts.iter().max()?;
    let mut best = (0..runs.len()).filter(|&run| counts[run] == most);
    let (odd, None) = (best.next()?, best.next()) else { return None };
    (most >= MORE * matching.max(1)).then(|| {
        let name = &runs[odd].name;
        format!("{name} differs from all other runs: without it {most} phases match, with it {matching}. Leave it out, or look at it alone.")
    })
}

/// A sentence for each phase that in one run is a part of the program far from what it is in the others.
pub fn shares(runs: &[At], phases: &[String], sums: &[Vec<Sum>]) -> Vec<String> {
    if runs.len() < 3 {
        return Vec::new();
    }
    let whole: Vec<f64> = runs.iter().map(effort).collect();
    let told = |phase: usize| {
        let share = |run: usize| sums[run][phase].totals.blocks as f64 / whole[run].max(1.0);
        let mut order: Vec<usize> = (0..runs.len()).collect();
        order.sort_by(|&a, &b| share(a).total_cmp(&share(b)));
        let (low, next, before, high) = (order[0], order[1], order[order.len() - 2], order[order.len() - 1]);
        let far = |small: f64, large: f64| large >= LEAST && large > TIMES * small;
        let percent = |share: f64| format!("{} %", (1000.0 * share).round() / 10.0);
        let (odd, bound) = match (far(share(before), share(high)), far(share(low), share(next))) {
            (true, _) => (high, format!("{} at most", percent(share(before)))),
            (_, true) => (low, format!("{} at least", percent(share(next)))),
            _ => return None,
        };
        let (name, odd, of_odd) = (&phases[phase], &runs[odd].name, percent(share(odd)));
        Some(format!("{name} is {of_odd} of {odd} and {bound} of the other runs: it may not be the same phase."))
    };
    (0..phases.len()).filter_map(told).collect()
}

/// Blocks that the first thread of each rank executed.
fn effort(run: &At) -> f64 {
    let mut ranks = BTreeSet::new();
    let first = run.analysis.timelines.iter().filter(|t| ranks.insert(t.rank));
    first
        .map(|t| {
            let binned: u64 = t.bins.iter().map(|bin| bin.totals.blocks).sum();
            binned.max(t.phases.iter().map(|phase| phase.totals.blocks).sum())
        })
        .sum::<u64>() as f64
}
