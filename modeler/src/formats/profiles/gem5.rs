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

/// What a dump says of a statistic: its value, and whether its unit says that it counts something.
type Dump = BTreeMap<String, (f64, bool)>;

/// A statistic over the dumps.
#[derive(Default)]
struct Statistic {
    /// What was counted until it was last reset.
    before: f64,
    /// What the last dump said.
    last: f64,
    /// The highest that any said.
    highest: f64,
    is_count: bool,
    /// Whether it fell where others were reset, so that it was reset with them; and whether it rose there.
    falls: bool,
    rises: bool,
}

/// All dumps of a file.
#[derive(Default)]
struct Dumps {
    statistics: BTreeMap<String, Statistic>,
    /// Where the simulation's clock was when the last one began to count.
    begin: Option<f64>,
    count: u32,
    /// How often counting began.
    resets: u32,
}

impl Dumps {
    /// Takes in the next dump. One that began to count at the same tick as the one before holds what that held: it takes its place. The
    /// clock does not begin at 0 where a checkpoint was restored.
    fn take(&mut self, dump: Dump) {
        let of = |names: [&str; 2]| names.iter().find_map(|name| dump.get(*name)).map(|(value, _)| *value);
        let begin = of(["finalTick", "final_tick"]).zip(of(["simTicks", "sim_ticks"])).map(|(end, ticks)| end - ticks);
        if begin.is_none() || begin != self.begin {
            self.resets += 1;
            for (name, known) in &mut self.statistics {
                let value = dump.get(name).map_or(known.highest, |(value, _)| *value);
                known.falls |= value < known.highest;
                known.rises |= value > known.highest;
                known.before += std::mem::take(&mut known.last);
            }
        }
        (self.begin, self.count) = (begin, self.count + 1);
        for (name, (value, is_count)) in dump {
            let known = self.statistics.entry(name).or_default();
            (known.last, known.highest, known.is_count) = (value, known.highest.max(value), is_count);
        }
    }

    /// What a statistic is over all dumps: the sum of a count, or what the last one says of anything else; nothing where that has
    /// been counted anew, so that the last one says nothing of the others.
    fn value(&self, name: &str, statistic: &Statistic) -> Option<f64> {
        if self.resets == 1 {
            return Some(statistic.last);
        }
        if GOES_ON.contains(&name) && !self.resets_instructions().unwrap_or(statistic.falls || !statistic.rises) {
            return Some(statistic.highest);
        }
        statistic.is_count.then_some(statistic.before + statistic.last)
    }
}

impl Dumps {
    /// Whether the simulated instructions began anew where all else did, as the instructions of the processors tell, which always
    /// do: a last dump of as many as these have in it, and not of all that they ever had. `None` where no processor counts them.
    fn resets_instructions(&self) -> Option<bool> {
        let simulated = ["simInsts", "sim_insts"].iter().find_map(|name| self.statistics.get(*name))?.last;
        let of = |counted: &dyn Fn(&str) -> bool| {
            let counts = self.statistics.iter().filter(|(name, _)| counted(name));
            let (last, all) = counts.fold((0.0, 0.0), |(last, all), (_, s)| (last + s.last, all + s.before + s.last));
            (all > last && last > 0.0).then_some((last, all))
        };
        // By version; several of these count the same.
        let is_committed = |name: &str| name.ends_with(".numInsts") && name.contains(".commitStats");
        let (last, all) = of(&is_committed).or_else(|| of(&|name| name.ends_with(".committedInsts")))?;
        Some((simulated - last).abs() < (simulated - all).abs())
    }
}

/// What gem5 before version 24.1 did not reset with all else (its issue 1443).
const GOES_ON: [&str; 4] = ["simInsts", "simOps", "sim_insts", "sim_ops"];

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
        let (mut dumps, mut current) = (Dumps::default(), None);
        lines::each(source, |line| {
            if line.text.contains(BEGIN) {
                current.replace(Dump::new()).into_iter().for_each(|cut| dumps.take(cut));
            } else if line.text.contains(END) {
                current.take().into_iter().for_each(|whole| dumps.take(whole));
            } else if let Some(dump) = &mut current {
                let (fields, comment) = line.text.split_once('#').unwrap_or((line.text, ""));
                let mut fields = fields.split_whitespace();
                if let (Some(statistic), Some(text)) = (fields.next(), fields.next()) {
                    // Quotients of nothing are `nan`, and some statistics are not numbers.
                    let Some(value) = text.parse::<f64>().ok().filter(|v| v.is_finite()) else { return Ok(()) };
                    dump.insert(statistic.to_owned(), (value, is_count(statistic, text, comment)));
                }
            }
            Ok(())
        })?;
        let mut profile = Profile::default();
        if let Some(cut) = current {
            let message = "The last dump is not complete; what it holds was read.".to_owned();
            profile.warn(IGNORED, Place::file(&name), message);
            dumps.take(cut);
        }
        let mut left_out = BTreeSet::new();
        for (name, statistic) in &dumps.statistics {
            match dumps.value(name, statistic) {
                Some(value) => add(&mut profile, name, value),
                None => drop(left_out.insert(name)),
            }
        }
        if let Some(first) = left_out.first() {
            let statistics = match left_out.len() {
                1 => format!("The statistic `{first}` is no count, so its values"),
                count => format!("{count} statistics, such as `{first}`, are no counts, so their values"),
            };
            let message = format!("{statistics} in {} dumps do not add up; they were left out.", dumps.count);
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
