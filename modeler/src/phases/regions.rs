//! Which code each bin belongs to, and from where to where: region detection and labelling after Falquez, Long, Ho, Suarez
//! and Pleiter, "Processor simulation as a tool for performance engineering", sections 3.1 and 3.2.
//!
//! Their algorithm 1, which makes ranges of the bins' labels, is printed as a picture that could not be read, so steps 3 to 6
//! are derived from its description ("merging and filtering of identified segments", "threshold lengths", "remove obvious
//! noise while preserving continuous segments") and from its parameters' names:
//!
//! 1. Of each bin, the M events that occur most often: F_i. Of equal ones those that occur earlier in the bin.
//! 2. Labels: each function l_j to which at least m_t of them belong, L_i. Where a bin has fewer than m_t different events,
//!    as in a loop of three instructions, it gets the label to which all of them belong.
//! 3. Runs of bins with the same label become one range across *gaps* of at most m_g bins in between.
//! 4. Ranges of fewer than m_f bins are *filtered* out.
//! 5. What then remains of the same label with at most m_j bins in between, none of another label's range, is *joined*.
//! 6. Labels whose ranges hold less than a share m_pc of all bins are dropped.

use std::collections::BTreeMap;
use std::ops::Range;

/// The parameters of detection; defaults are the paper's (section 3.2).
///
/// ```
#[doc = include_str!("example.txt")]
/// use modeler::phases::{analyse, regions::Thresholds};
/// let longer = Thresholds { filter: 11, ..Thresholds::default() };
/// assert!(analyse(&profile, &longer).timelines[0].phases.is_empty()); // they have ten bins each
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// M: how many of the most frequent events of a bin count.
    pub events: usize,
    /// m_t: how many of them must belong to a function for it to label the bin.
    pub label: usize,
    /// m_g: bins without the label within a range.
    pub gap: usize,
    /// m_f: bins that a range must have.
    pub filter: usize,
    /// m_j: bins between ranges that are joined.
    pub join: usize,
    /// m_pc: share of all bins that a label's ranges must have.
    pub share: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { events: 5, label: 5, gap: 3, filter: 5, join: 5, share: 0.01 }
    }
}

/// An event of a bin: how often, and to which function it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// The function, by any number.
    pub function: u32,
    /// Occurrences.
    pub count: u64,
}

/// Bins that belong to a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    /// The function.
    pub function: u32,
    /// The bins.
    pub bins: Range<usize>,
}

/// The labels of a bin, L_i: functions with the number of its M most frequent events that belong to them, in the order in
/// which they occur. `events` are in the order in which they first occur.
#[must_use]
pub(crate) fn labels(events: &[Event], thresholds: &Thresholds) -> Vec<u32> {
    let mut order: Vec<&Event> = events.iter().filter(|event| event.count > 0).collect();
    order.sort_by_key(|event| std::cmp::Reverse(event.count));
    order.truncate(thresholds.events);
    let least = thresholds.label.min(order.len()).max(1);
    let mut matching: Vec<(u32, usize)> = Vec::new();
    for event in &order {
        match matching.iter_mut().find(|(function, _)| *function == event.function) {
            Some((_, count)) => *count += 1,
            None => matching.push((event.function, 1)),
        }
    }
    matching.into_iter().filter(|&(_, count)| count >= least).map(|(function, _)| function).collect()
}

/// Ranges of bins by function, from the labels of each bin; by their first bin, then by function. Ranges of different
/// functions overlap where bins have several labels.
#[must_use]
pub(crate) fn regions(labels: &[Vec<u32>], thresholds: &Thresholds) -> Vec<Region> {
    let mut by_function: BTreeMap<u32, Vec<Range<usize>>> = BTreeMap::new();
    for (bin, functions) in labels.iter().enumerate() {
        for &function in functions {
            let ranges = by_function.entry(function).or_default();
            match ranges.last_mut().filter(|last| bin - last.end <= thresholds.gap) {
                Some(last) => last.end = bin + 1,
                None => ranges.push(bin..bin + 1),
            }
        }
    }
    let mut regions: Vec<Region> = by_function
        .into_iter()
        .flat_map(|(function, ranges)| ranges.into_iter().map(move |bins| Region { function, bins }))
        .filter(|region| region.bins.len() >= thresholds.filter)
        .collect();
    regions.sort_by_key(|region| (region.bins.start, region.function));
    join(&mut regions, thresholds.join);
    let mut sums: BTreeMap<u32, usize> = BTreeMap::new();
    regions.iter().for_each(|region| *sums.entry(region.function).or_default() += region.bins.len());
    let least = thresholds.share * labels.len() as f64;
    regions.retain(|region| sums[&region.function] as f64 >= least);
    regions
}

/// Joins ranges of the same function, in the order of their first bins, that are at most `most` bins apart and have no range of
/// another between them.
fn join(regions: &mut Vec<Region>, most: usize) {
    let mut joined: Vec<Region> = Vec::with_capacity(regions.len());
    for region in regions.drain(..) {
        match joined.last_mut() {
            Some(last)
                if last.function == region.function && region.bins.start.saturating_sub(last.bins.end) <= most =>
            {
                last.bins.end = last.bins.end.max(region.bins.end);
            }
            _ => joined.push(region),
        }
    }
    *regions = joined;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(pairs: &[(u32, u64)]) -> Vec<Event> {
        pairs.iter().map(|&(function, count)| Event { function, count }).collect()
    }

    #[test]
    fn labels_are_functions_of_the_most_frequent_events() {
        let defaults = Thresholds::default();
        // Five events of function 1 and a sixth of function 2, less often.
        let six = events(&[(1, 9), (1, 9), (2, 8), (1, 9), (1, 9), (1, 9)]);
        assert_eq!(labels(&six, &defaults), [1]);
        // As often as the others: the earlier count, and those are not all of one function.
        let tied = events(&[(1, 9), (1, 9), (2, 9), (1, 9), (1, 9), (1, 9)]);
        assert_eq!(labels(&tied, &defaults), [0u32; 0]);
        let later = events(&[(1, 9), (1, 9), (1, 9), (1, 9), (1, 9), (2, 9)]);
        assert_eq!(labels(&later, &defaults), [1]);
        assert_eq!(labels(&tied, &Thresholds { label: 1, ..defaults }), [1, 2]);
        assert_eq!(labels(&events(&[(3, 5), (3, 5), (3, 5)]), &defaults), [3], "a loop of three instructions");
        assert_eq!(labels(&events(&[(3, 5), (3, 5), (4, 5)]), &defaults), [0u32; 0]);
        assert_eq!(labels(&[], &defaults), [0u32; 0]);
    }

    /// A letter is a bin with this label, a dot one without.
    fn detected(text: &str, thresholds: &Thresholds) -> Vec<(char, Range<usize>)> {
        let labels: Vec<Vec<u32>> =
            text.chars().map(|c| if c == '.' { Vec::new() } else { vec![u32::from(c)] }).collect();
        let found = regions(&labels, thresholds);
        found.into_iter().map(|r| (char::from_u32(r.function).unwrap(), r.bins)).collect()
    }

    #[test]
    fn ranges_are_merged_filtered_and_joined() {
        let defaults = Thresholds::default();
        assert_eq!(detected("aaaaaabbbbbb", &defaults), [('a', 0..6), ('b', 6..12)]);
        // A gap of three bins is bridged, of four it is not, but joined, as none of another label is in it.
        assert_eq!(detected("aaaaa...aaaaa", &defaults), [('a', 0..13)]);
        let apart = Thresholds { join: 0, ..defaults };
        assert_eq!(detected("aaaaa....aaaaa", &apart), [('a', 0..5), ('a', 9..14)]);
        assert_eq!(detected("aaaaa....aaaaa", &defaults), [('a', 0..14)]);
        assert_eq!(detected("aaaaa......aaaaa", &defaults), [('a', 0..5), ('a', 11..16)]);
        // Four bins are too few, five are enough; what was filtered out does not keep others apart.
        assert_eq!(detected("aaaaabbbbaaaaa", &defaults), [('a', 0..14)]);
        assert_eq!(detected("aaaaabbbbbaaaaa", &defaults), [('a', 0..5), ('b', 5..10), ('a', 10..15)]);
    }

    #[test]
    fn rare_labels_are_dropped() {
        let text = format!("{}{}", "a".repeat(995), "b".repeat(5));
        assert_eq!(detected(&text, &Thresholds::default()), [('a', 0..995)]);
        let all = Thresholds { share: 0.005, ..Thresholds::default() };
        assert_eq!(detected(&text, &all), [('a', 0..995), ('b', 995..1000)]);
    }
}
