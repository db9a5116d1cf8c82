//! Caliper's profiles: `.cali` streams and the JSON that `cali-query` and Caliper's `json-split` format write.
//!
//! Both become rows of the same kind: a path of regions, the rank, and named values; what they mean is decided here.

mod cali;
mod json_split;

use std::collections::{BTreeMap, BTreeSet};

use super::profile::{Fold, Profile, Reduced};
use crate::experiment::OverRanks;
use crate::formats::collect::NO_CALLPATH;

pub(super) use cali::Cali;
pub(super) use json_split::JsonSplit;

/// Values by rank and thread.
type ByRank = BTreeMap<(u64, u64), f64>;

/// The rows of a profile.
#[derive(Default)]
struct Rows {
    profile: Profile,
    /// Values of one metric at one node (`None` outside all regions) by rank and thread.
    values: BTreeMap<(Option<u32>, String), ByRank>,
    /// Ranks and threads met.
    ranks: BTreeSet<(u64, u64)>,
    /// Units by metric, where the file tells them.
    units: BTreeMap<String, String>,
    /// Caliper's version, where the file tells it.
    version: Option<String>,
}

/// How the names of numbers end that nobody chooses: when and as what a run ran, how long it took, what follows from the number of ranks.
const NOT_CHOSEN: [&str; 7] = ["date", "day", "id", "numhosts", "seed", "time", "version"];
/// The number of ranks, as Caliper's MPI service and adiak call it.
const RANKS: [&str; 2] = ["mpi.world.size", "jobsize"];

/// A metric's name, and how ranks became one where the attribute says so.
type Named = (String, Option<OverRanks>);

/// What an attribute's value means.
enum Meaning {
    /// A metric of this name, as stored.
    Exclusive(Named),
    /// A metric of this name that holds the callees' as well.
    Inclusive(Named),
    /// A number that Caliper keeps for itself, or one that follows from others.
    Nothing,
}

/// The meaning of an attribute such as `sum#time.duration` or `avg#inclusive#sum#time.duration`.
fn meaning(attribute: &str) -> Meaning {
    let parts: Vec<&str> = attribute.split('#').collect();
    let Some((base, prefixes)) = parts.split_last() else { return Meaning::Nothing };
    let hidden = |p: &&str| {
        matches!(
            *p,
            "avg.sum"
                | "avg.count"
                | "scount"
                | "iscount"
                | "ratio"
                | "iratio"
                | "percent_total"
                | "inclusive_percent_total"
        )
    };
    if prefixes.iter().any(hidden)
        || base.contains("aggregate.slot")
        || base.contains("offset")
        || base.contains("timestamp")
    {
        return Meaning::Nothing;
    }
    let inclusive =
        prefixes.contains(&"inclusive") || *base == "time.inclusive.duration" || *base == "time.inclusive.duration.ns";
    let name = match *base {
        "time.duration" | "time.duration.ns" | "time.inclusive.duration" | "time.inclusive.duration.ns" => "time",
        "count" | "aggregate.count" | "rc.count" | "region.count" => "visits",
        "mpi.bytes.sent" | "total.send.size" => "bytes_sent",
        "mpi.bytes.recv" | "total.recv.size" => "bytes_received",
        other => other,
    };
    let named = statistic(prefixes, name, inclusive);
    if inclusive { Meaning::Inclusive(named) } else { Meaning::Exclusive(named) }
}

/// What a statistic of `name` is called. One of another statistic, as the average of sums in `avg#inclusive#sum`, is over ranks;
/// what is least and most of values that hold the callees' cannot lose them, and has a name of its own as statistics of
/// single records do.
fn statistic(prefixes: &[&str], name: &str, inclusive: bool) -> Named {
    let statistics: Vec<&str> =
        prefixes.iter().copied().filter(|p| matches!(*p, "min" | "max" | "avg" | "sum")).collect();
    match (&statistics[..], inclusive) {
        (["avg", _, ..], _) => (name.to_owned(), Some(OverRanks::Mean)),
        (["sum", _, ..], _) => (name.to_owned(), Some(OverRanks::Sum)),
        (["min", "sum", ..], false) => (name.to_owned(), Some(OverRanks::Minimum)),
        (["max", "sum", ..], false) => (name.to_owned(), Some(OverRanks::Maximum)),
        ([first @ ("min" | "max" | "avg"), ..], _) => (format!("{first}_{name}"), None),
        _ => (name.to_owned(), None),
    }
}

impl Rows {
    /// Takes what the file says of the whole run, such as its number of ranks. Fractions are results, as a figure of merit is.
    fn global(&mut self, name: &str, value: &str) {
        if name == "cali.caliper.version" {
            self.version = Some(value.to_owned());
        }
        let Some(number) = value.parse::<u64>().ok().map(|number| number as f64) else { return };
        let (profile, plain) = (&mut self.profile, name.to_ascii_lowercase());
        if RANKS.contains(&name) || crate::fit::RANKS.contains(&plain.as_str()) {
            if profile.parameters.is_empty() {
                profile.parameters.push(("p".to_owned(), number));
            }
        } else if !NOT_CHOSEN.iter().any(|end| plain.ends_with(end))
            && !profile.settings.iter().any(|(known, _)| known == name)
        {
            profile.settings.push((name.to_owned(), number));
        }
    }

    /// The factor that turns a time into seconds. Files that do not tell a unit come from versions whose clock counted
    /// microseconds, but for those from 2.2 on, which count seconds.
    fn scale(&self, attribute: &str) -> f64 {
        if attribute.ends_with(".ns") {
            return 1e-9;
        }
        match self.units.get(attribute).map(String::as_str) {
            Some("sec" | "s" | "seconds") => return 1.0,
            Some("msec" | "ms") => return 1e-3,
            Some("usec" | "us") => return 1e-6,
            Some("nsec" | "ns") => return 1e-9,
            _ => {}
        }
        let number = |part: Option<&str>| part.and_then(|p| p.parse::<u32>().ok()).unwrap_or(0);
        let mut parts = self.version.as_deref().unwrap_or("").split(['.', '-']);
        if (number(parts.next()), number(parts.next())) >= (2, 2) { 1.0 } else { 1e-6 }
    }

    /// Adds a value; repeated rows of one path, rank and attribute add up.
    fn add(&mut self, node: Option<u32>, rank: (u64, u64), attribute: &str, value: f64) {
        self.ranks.insert(rank);
        let of_node = self.values.entry((node, attribute.to_owned())).or_default();
        *of_node.entry(rank).or_insert(0.0) += value;
    }

    /// The profile, once all rows are known. Inclusive values lose their callees', unless exclusive ones are there.
    fn finish(mut self, tells_ranks: bool) -> Profile {
        let attributes: BTreeSet<String> = self.values.keys().map(|(_, attribute)| attribute.clone()).collect();
        let mut done: BTreeSet<Named> = BTreeSet::new();
        for exclusive in [true, false] {
            for attribute in &attributes {
                let named = match (meaning(attribute), exclusive) {
                    (Meaning::Exclusive(named), true) | (Meaning::Inclusive(named), false) => named,
                    _ => continue,
                };
                // Several attributes may mean the same; the first is taken.
                if done.insert(named.clone()) {
                    self.metric(attribute, &named, exclusive);
                }
            }
        }
        let mut profile = self.profile;
        profile.ranks = tells_ranks.then_some(self.ranks.len() as u32);
        profile
    }

    fn metric(&mut self, attribute: &str, (name, over_ranks): &Named, exclusive: bool) {
        let name = name.as_str();
        let fold = match name {
            n if n.starts_with("min_") => Fold::Minimum,
            n if n.starts_with("max_") => Fold::Maximum,
            _ => Fold::Sum,
        };
        let is_time = name.ends_with("time") && !name.contains('.');
        let unit = match name {
            "bytes_sent" | "bytes_received" => "bytes",
            _ if is_time => "s",
            _ => "",
        };
        let scale = if is_time { self.scale(attribute) } else { 1.0 };
        let mut values: BTreeMap<Option<u32>, ByRank> = BTreeMap::new();
        for ((node, other), by_rank) in &self.values {
            if other == attribute {
                values.insert(*node, by_rank.clone());
            }
        }
        if !exclusive && fold == Fold::Sum {
            let stored = values.clone();
            for (node, by_rank) in &stored {
                let Some(parent) = node.map(|n| self.profile.nodes[n as usize].parent) else { continue };
                let Some(of_parent) = parent.and_then(|p| values.get_mut(&Some(p))) else { continue };
                for (rank, value) in by_rank {
                    if let Some(rest) = of_parent.get_mut(rank) {
                        *rest -= value;
                    }
                }
            }
            // What rounding leaves below zero is nothing: files hold six decimals.
            values.values_mut().flat_map(BTreeMap::values_mut).for_each(|v| *v = v.max(0.0));
        }
        let column = self.profile.column_over(name, unit, fold, *over_ranks);
        for (node, by_rank) in values {
            let node = node.unwrap_or_else(|| self.profile.node(None, NO_CALLPATH));
            let mut reduced = Reduced::default();
            by_rank.values().for_each(|v| reduced.rank(v * scale));
            self.profile.add(node, column, reduced);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_say_metric_and_whether_callees_are_in_it() {
        let over = |over: Option<OverRanks>| over.map_or(String::new(), |over| format!(", {over:?} over ranks"));
        let of = |a: &str| match meaning(a) {
            Meaning::Exclusive(named) => format!("exclusive {}{}", named.0, over(named.1)),
            Meaning::Inclusive(named) => format!("inclusive {}{}", named.0, over(named.1)),
            Meaning::Nothing => "nothing".into(),
        };
        assert_eq!(of("sum#time.duration"), "exclusive time");
        assert_eq!(of("inclusive#sum#time.duration"), "inclusive time");
        assert_eq!(of("max#inclusive#sum#time.duration"), "inclusive max_time");
        assert_eq!(of("avg#inclusive#sum#time.duration"), "inclusive time, Mean over ranks");
        assert_eq!(of("sum#inclusive#sum#time.duration"), "inclusive time, Sum over ranks");
        assert_eq!(of("max#sum#time.duration"), "exclusive time, Maximum over ranks");
        assert_eq!(of("avg#time.duration"), "exclusive avg_time");
        assert_eq!(of("avg.sum#inclusive#sum#time.duration"), "nothing");
        assert_eq!(of("count"), "exclusive visits");
        assert_eq!(of("sum#papi.TOT_INS"), "exclusive papi.TOT_INS");
    }

    #[test]
    fn numbers_that_hold_for_a_run_are_its_settings() {
        let mut rows = Rows::default();
        for (name, value) in [
            ("mpi.world.size", "8"),
            ("jobsize", "8"),
            ("problem_size", "30"),
            ("launchdate", "1685052650"),
            ("figure_of_merit", "219.5"),
            ("cluster", "quartz"),
            ("problem_size", "30"),
        ] {
            rows.global(name, value);
        }
        assert_eq!(rows.profile.parameters, [("p".to_owned(), 8.0)]);
        assert_eq!(rows.profile.settings, [("problem_size".to_owned(), 30.0)]);
    }

    #[test]
    fn inclusive_values_lose_those_of_direct_callees() {
        let mut rows = Rows::default();
        let main = rows.profile.node(None, "main");
        let solve = rows.profile.node(Some(main), "solve");
        for (node, value) in [(main, 10e6), (solve, 4e6)] {
            rows.add(Some(node), (0, 0), "inclusive#sum#time.duration", value);
        }
        let profile = rows.finish(false);
        let values: Vec<f64> = profile.values.iter().map(|(_, _, r)| r.whole(Fold::Sum)).collect();
        assert_eq!(values, [6.0, 4.0]);
    }
}
