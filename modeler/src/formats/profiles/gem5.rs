//! gem5's `stats.txt`: one or more dumps of all statistics, between lines that say so.
//!
//! Statistics belong to components, `system.cpu.numCycles`; the component is the call path and the rest the metric.

use std::collections::{BTreeMap, BTreeSet};

use super::ProfileFormat;
use super::lines;
use super::profile::{Fold, Profile, Reduced};
use crate::formats::collect::NO_CALLPATH;
use crate::formats::error::{IGNORED, Place, ReadError};
use crate::formats::source::Source;
use crate::formats::{Detection, Format, Values};

/// Reads gem5's statistics.
pub(super) struct Gem5;

const BEGIN: &str = "Begin Simulation Statistics";
const END: &str = "End Simulation Statistics";

/// A statistic over the dumps.
#[derive(Default)]
struct Statistic {
    sum: f64,
    last: f64,
    dumps: u32,
    /// Whether its unit says that it counts something.
    is_count: bool,
}

impl ProfileFormat for Gem5 {
    fn format(&self) -> Format {
        Format::Gem5
    }

    fn detect(&self, _name: &str, head: &[u8], complete: bool) -> Detection {
        let lines = lines::of_head(head, complete);
        if lines.first().is_some_and(|l| l.contains(BEGIN)) {
            Detection::Yes
        } else {
            Detection::no("it does not begin with `Begin Simulation Statistics`")
        }
    }

    fn read(&self, source: Source, _values: Values) -> Result<Profile, ReadError> {
        let name = source.name.clone();
        let mut statistics: BTreeMap<String, Statistic> = BTreeMap::new();
        let (mut dumps, mut inside) = (0_u32, false);
        lines::each(source, |line| {
            if line.text.contains(BEGIN) {
                (dumps, inside) = (dumps + 1, true);
            } else if line.text.contains(END) {
                inside = false;
            } else if inside {
                let (fields, comment) = line.text.split_once('#').unwrap_or((line.text, ""));
                let mut fields = fields.split_whitespace();
                if let (Some(statistic), Some(value)) = (fields.next(), fields.next()) {
                    // Quotients of nothing are `nan`, and some statistics are not numbers.
                    let text = value;
                    let Some(value) = value.parse::<f64>().ok().filter(|v| v.is_finite()) else { return Ok(()) };
                    let known = statistics.entry(statistic.to_owned()).or_default();
                    known.sum += value;
                    known.last = value;
                    known.dumps += 1;
                    known.is_count = is_count(statistic, text, comment);
                }
            }
            Ok(())
        })?;
        let mut profile = Profile::default();
        if inside {
            let message = "The last dump is not complete; what it holds was read.".to_owned();
            profile.warn(IGNORED, Place::file(&name), message);
        }
        let cumulative = is_cumulative(&statistics);
        let mut left_out = BTreeSet::new();
        for (statistic, values) in &statistics {
            if dumps > 1 && !cumulative && !values.is_count {
                left_out.insert(statistic);
                continue;
            }
            add(&mut profile, statistic, if cumulative { values.last } else { values.sum });
        }
        if let Some(first) = left_out.first() {
            let message = format!(
                "{} statistics, such as `{first}`, are no counts, so their values in {dumps} dumps do not add up; \
                 they were left out.",
                left_out.len()
            );
            profile.warn(IGNORED, Place::file(&name), message);
        }
        Ok(profile)
    }
}

/// Whether a statistic adds up from dump to dump: its description ends in the unit of such things, or, in versions
/// without units, it is written as a whole number. Rates, clocks, sizes and what is never reset do not.
fn is_count(statistic: &str, value: &str, comment: &str) -> bool {
    const NOT: [&str; 7] =
        ["finalTick", "final_tick", "simFreq", "sim_freq", "hostMemory", "host_mem_usage", "clk_domain.clock"];
    if NOT.iter().any(|name| statistic.ends_with(name)) {
        return false;
    }
    let unit = comment.trim_end().strip_suffix(')').and_then(|c| c.rsplit_once('(')).map(|(_, unit)| unit.trim());
    match unit {
        Some("Count" | "Tick" | "Second" | "Cycle" | "Byte" | "Bit" | "Joule") => true,
        // Rates, such as `(Count/Cycle)` and `(bytes/s)`, and states.
        Some(unit) if unit.contains('/') || ["Ratio", "Watt", "Volt", "Celsius", "Unspecified"].contains(&unit) => {
            false
        }
        // In versions without units a remark may stand in their place, such as `(bytes)` or `(log2)`.
        _ => value.bytes().all(|b| b.is_ascii_digit()) || statistic == "sim_seconds",
    }
}

/// Whether dumps hold what happened since the simulation began, and not since the dump before: the ticks simulated in
/// the last dump are then all of them.
fn is_cumulative(statistics: &BTreeMap<String, Statistic>) -> bool {
    let of = |names: [&str; 2]| names.iter().find_map(|n| statistics.get(*n));
    match (of(["simTicks", "sim_ticks"]), of(["finalTick", "final_tick"])) {
        (Some(simulated), Some(end)) => simulated.dumps > 1 && simulated.last >= end.last,
        _ => false,
    }
}

fn add(profile: &mut Profile, statistic: &str, value: f64) {
    if statistic == "simSeconds" || statistic == "sim_seconds" {
        let (node, column) = (profile.node(None, NO_CALLPATH), profile.column("time", "s", Fold::Sum));
        return profile.add(node, column, Reduced::one(value));
    }
    // The dots behind `::` belong to the name of a vector's part.
    let plain = statistic.find("::").unwrap_or(statistic.len());
    let (component, metric) = match statistic[..plain].rfind('.') {
        Some(dot) => (&statistic[..dot], &statistic[dot + 1..]),
        None => (NO_CALLPATH, statistic),
    };
    let column = profile.column(metric, "", Fold::Sum);
    if let Some(node) = profile.path(component.split('.')) {
        profile.add(node, column, Reduced::one(value));
    }
}
