//! gem5's own statistics as a timeline: periodic dumps of `stats.txt` are bins, and lists of the addresses that were executed
//! most in each bin, where a gem5 writes such (the paper's does, upstream does not), label them.
//!
//! A list is a statistic whose value is `| address,count;address,count; | …`, one bar for each bin. Addresses are hexadecimal
//! with `0x`, else decimal. Dumps that are not reset are taken apart.

use std::collections::BTreeMap;
use std::path::Path;

use poise_profile::{BinUnit, Profile, Region, RegionKind};

use super::regions::{self, Event, Thresholds};
use super::{Analysis, Bin, Part, Totals, timeline_of};
use crate::formats::Names;
use crate::machine::classes::{Class, Classes};
use crate::machine::symbols::Image;

const BEGIN: &str = "Begin Simulation Statistics";
const END: &str = "End Simulation Statistics";

/// Whether a file's first bytes are those of gem5's statistics.
#[must_use]
pub fn is_statistics(head: &[u8]) -> bool {
    String::from_utf8_lossy(head).lines().find(|line| !line.trim().is_empty()).is_some_and(|line| line.contains(BEGIN))
}

/// Whether a file's first bytes are those of HDF5, as which gem5 can write statistics, too.
#[must_use]
pub fn is_hdf5(head: &[u8]) -> bool {
    head.starts_with(b"\x89HDF\r\n\x1a\n")
}

/// What one dump says.
#[derive(Default)]
struct Dump {
    numbers: BTreeMap<String, f64>,
    /// Addresses and counts of each bin, by the statistic that holds them: processors have one each.
    lists: BTreeMap<String, Vec<Counts>>,
}

/// Addresses and how often each was executed.
type Counts = Vec<(u64, u64)>;

impl Dump {
    /// The counts of each bin, of all statistics together: what they count happened at the same time.
    fn bins(&self) -> Vec<Counts> {
        let mut bins: Vec<Counts> = Vec::new();
        for lists in self.lists.values() {
            bins.resize(bins.len().max(lists.len()), Vec::new());
            for (bin, list) in bins.iter_mut().zip(lists) {
                for &(address, count) in list {
                    match bin.iter_mut().find(|(known, _)| *known == address) {
                        Some((_, sum)) => *sum += count,
                        None => bin.push((address, count)),
                    }
                }
            }
        }
        bins
    }
}

/// Analyses gem5's statistics; `program` is the executable that it simulated, whose symbols name functions.
///
/// # Errors
/// In a sentence: there is no dump, or the program cannot be read.
pub fn analyse(text: &str, program: Option<&Path>, thresholds: &Thresholds) -> Result<Analysis, String> {
    let mut dumps = dumps(text);
    if dumps.is_empty() {
        return Err("there is no complete dump of statistics in it".into());
    }
    take_apart(&mut dumps);
    let image = match program {
        Some(path) => {
            Some(Image::open(path).ok_or_else(|| format!("{} is no program that can be read", path.display()))?)
        }
        None => None,
    };
    let mut functions = Functions { image, known: BTreeMap::new(), list: Vec::new() };
    let has_lists = dumps.iter().any(|dump| !dump.lists.is_empty());
    let bins: Vec<Bin> = dumps.iter().flat_map(|dump| bins_of(dump, has_lists, &mut functions, thresholds)).collect();
    let all: u64 = bins.iter().map(|bin| bin.totals.time).sum();
    let mut timeline = timeline_of((0, 0), bins, thresholds);
    for phase in &mut timeline.phases {
        // Lists hold the most frequent addresses alone, so that functions have no sums of their own: whole bins count.
        phase.totals = Totals::default();
        timeline.bins[phase.bins.clone()].iter().for_each(|bin| phase.totals.add(&bin.totals));
    }
    Ok(Analysis {
        engine: "gem5".into(),
        unit: BinUnit::Time,
        width: (all / timeline.bins.len().max(1) as u64).max(1),
        thresholds: *thresholds,
        functions: functions.named(),
        timelines: vec![timeline],
    })
}

/// The complete dumps.
fn dumps(text: &str) -> Vec<Dump> {
    let (mut dumps, mut current) = (Vec::new(), None);
    for line in text.lines() {
        if line.contains(BEGIN) {
            current = Some(Dump::default());
        } else if line.contains(END) {
            dumps.extend(current.take());
        } else if let Some(dump) = &mut current {
            let line = line.split('#').next().unwrap_or_default();
            let is_list = |(_, list): &(&str, &str)| list.contains(',') || list.contains(';');
            if let Some((name, list)) = line.split_once('|').filter(is_list) {
                dump.lists.entry(name.trim().to_owned()).or_default().extend(bars(list));
                continue;
            }
            let mut fields = line.split_whitespace();
            if let (Some(name), Some(value)) = (fields.next(), fields.next().and_then(|v| v.parse::<f64>().ok())) {
                dump.numbers.insert(name.to_owned(), value);
            }
        }
    }
    dumps
}

/// The bins of a list: what stands before each bar but the first, which was taken off.
fn bars(list: &str) -> Vec<Counts> {
    let mut bars: Vec<&str> = list.split('|').collect();
    if bars.last().is_some_and(|last| last.trim().is_empty()) {
        bars.pop();
    }
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let pair = |text: &str| {
        let (address, count) = text.split_once(',')?;
        Some((number(address.trim())?, number(count.trim())?))
    };
    bars.into_iter().map(|bar| bar.split(';').filter_map(pair).collect()).collect()
}

/// Makes dumps that count from the beginning of the simulation dumps of what happened since the one before: the ticks simulated
/// in the last are then all of them.
fn take_apart(dumps: &mut [Dump]) {
    let of = |dump: &Dump, names: [&str; 2]| names.iter().find_map(|name| dump.numbers.get(*name).copied());
    let Some(last) = dumps.last().filter(|_| dumps.len() > 1) else { return };
    let is_cumulative = match (of(last, ["simTicks", "sim_ticks"]), of(last, ["finalTick", "final_tick"])) {
        (Some(simulated), Some(end)) => simulated >= end,
        _ => false,
    };
    if is_cumulative {
        for at in (1..dumps.len()).rev() {
            let (before, after) = dumps.split_at_mut(at);
            for (name, value) in &mut after[0].numbers {
                *value -= before[at - 1].numbers.get(name).copied().unwrap_or(0.0);
            }
        }
    }
}

/// Functions by the addresses of lists.
struct Functions {
    image: Option<Image>,
    known: BTreeMap<Region, u32>,
    list: Vec<Region>,
}

impl Functions {
    fn at(&mut self, address: u64) -> u32 {
        let found = self.image.as_ref().and_then(|image| {
            let function = image.function(address)?;
            let (file, line) = image.line(function.start).unwrap_or_default();
            Some((function.name.clone(), file, line))
        });
        // Without a program each address stands for itself.
        let (name, file, line) = found.unwrap_or_else(|| (format!("{address:#x}"), String::new(), 0));
        let function = Region { name, file, line, kind: RegionKind::Function };
        let next = self.list.len() as u32;
        *self.known.entry(function.clone()).or_insert_with(|| {
            self.list.push(function);
            next
        })
    }

    /// Names for people, files and lines.
    fn named(self) -> Vec<(String, String, u32)> {
        let profile = Profile { regions: self.list, ..Profile::default() };
        let names = Names::of([&profile]);
        profile.regions.iter().map(|region| (names.show(region), region.file.clone(), region.line)).collect()
    }
}

/// The bins of a dump: as many as its lists have, or one. Of a dump with several nobody knows to which of them its instructions and
/// their classes belong: bins then have the instructions of their lists, no classes, and equal parts of the time.
fn bins_of(dump: &Dump, has_lists: bool, functions: &mut Functions, thresholds: &Thresholds) -> Vec<Bin> {
    let whole = totals(dump);
    if !has_lists {
        return vec![Bin { totals: whole, parts: Vec::new(), labels: Vec::new() }];
    }
    let mut lists = dump.bins();
    lists.resize(lists.len().max(1), Counts::new());
    let count = lists.len() as u64;
    let bin = |list: &Counts| {
        let mut events = Vec::new();
        let mut parts: Vec<Part> = Vec::new();
        for &(address, count) in list {
            let function = functions.at(address);
            events.push(Event { function, count });
            let totals = Totals { instructions: count, ..Totals::default() };
            match parts.iter_mut().find(|part| part.function == function) {
                Some(part) => part.totals.add(&totals),
                None => parts.push(Part { function, totals }),
            }
        }
        let mut totals = match count {
            1 => whole,
            _ => Totals { time: whole.time / count, ..Totals::default() },
        };
        if totals.instructions == 0 {
            totals.instructions = parts.iter().map(|part| part.totals.instructions).sum();
        }
        Bin { totals, parts, labels: regions::labels(&events, thresholds) }
    };
    lists.iter().map(bin).collect()
}

/// Instructions, time and classes of a dump, over all processors.
fn totals(dump: &Dump) -> Totals {
    let of = |names: [&str; 2]| names.iter().find_map(|name| dump.numbers.get(*name)).map_or(0.0, |v| v.max(0.0));
    let mut classes = Classes::default();
    for (name, value) in &dump.numbers {
        let Some((statistic, kind)) = name.split_once("::") else { continue };
        if statistic.contains("committedInstType") && kind != "total" {
            classes[class(kind) as usize] += value.max(0.0) as u64;
        }
    }
    Totals {
        instructions: of(["simInsts", "sim_insts"]) as u64,
        time: (of(["simSeconds", "sim_seconds"]) * 1e9).round() as u64,
        classes: (classes != Classes::default()).then_some(classes),
        ..Totals::default()
    }
}

/// The class of gem5's `OpClass` of this name. gem5 counts branches with integer arithmetic.
fn class(name: &str) -> Class {
    let is_load = name.ends_with("Load") || name.ends_with("MemRead");
    match name {
        "MemRead" | "FloatMemRead" => Class::ScalarLoad,
        "MemWrite" | "FloatMemWrite" => Class::ScalarStore,
        _ if name.starts_with("Simd") && is_load => Class::VectorLoad,
        _ if name.starts_with("Simd") && name.ends_with("Store") => Class::VectorStore,
        _ if name.starts_with("SimdFloat") => Class::SimdFp,
        _ if name.starts_with("Simd") => Class::SimdInt,
        _ if name.starts_with("Float") => Class::Fp,
        _ if name.starts_with("Int") => Class::Int,
        _ => Class::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dump(ticks: u64, end: u64, body: &str) -> String {
        format!(
            "\n---------- Begin Simulation Statistics ----------\n\
             simSeconds {} # Number of seconds simulated (Second)\nsimTicks {ticks} # ticks\nfinalTick {end} # ticks\n{body}\
             ---------- End Simulation Statistics   ----------\n",
            ticks as f64 * 1e-12
        )
    }

    fn analysed(text: &str) -> Analysis {
        analyse(text, None, &Thresholds { label: 1, events: 1, ..Thresholds::default() }).unwrap()
    }

    #[test]
    fn each_dump_is_a_bin() {
        let body = |n: u64| {
            format!(
                "simInsts {n} # instructions\nsystem.cpu.commit.committedInstType_0::SimdFloatAdd {} # a\n\
                 system.cpu.commit.committedInstType_0::MemRead 7 # b\nsystem.cpu.commit.committedInstType_0::total 9 # c\n",
                2 * n
            )
        };
        let text = dump(5_000_000, 5_000_000, &body(10)) + &dump(5_000_000, 10_000_000, &body(30));
        assert!(is_statistics(text.as_bytes()) && !is_statistics(b"x\n") && is_hdf5(b"\x89HDF\r\n\x1a\n\0"));
        let analysis = analysed(&text);
        assert_eq!((analysis.width, analysis.unit, analysis.engine.as_str()), (5000, BinUnit::Time, "gem5"));
        let bins = &analysis.timelines[0].bins;
        let found: Vec<(u64, u64)> = bins.iter().map(|b| (b.totals.instructions, b.totals.time)).collect();
        assert_eq!(found, [(10, 5000), (30, 5000)]);
        let classes = bins[1].totals.classes.unwrap();
        assert_eq!((classes[Class::SimdFp as usize], classes[Class::ScalarLoad as usize]), (60, 7));
        assert_eq!(classes.iter().sum::<u64>(), 67, "without the total");
    }

    #[test]
    fn dumps_that_are_not_reset_are_taken_apart() {
        let text = dump(5_000_000, 5_000_000, "simInsts 10 # i\n") + &dump(9_000_000, 9_000_000, "simInsts 30 # i\n");
        let bins: Vec<u64> = analysed(&text).timelines[0].bins.iter().map(|b| b.totals.instructions).collect();
        assert_eq!(bins, [10, 20]);
    }

    #[test]
    fn lists_of_addresses_label_their_bins() {
        let bars = |address: &str| format!("{address},50;4096,3; |").repeat(6);
        let text =
            dump(12_000_000, 12_000_000, &format!("system.cpu.selected | {}{}\n", bars("0x2000"), bars("0x3000")));
        let analysis = analysed(&text);
        let timeline = &analysis.timelines[0];
        let found: Vec<_> = timeline.phases.iter().map(|p| (analysis.name(p.function), p.bins.clone())).collect();
        assert_eq!(found, [("0x2000", 0..6), ("0x3000", 6..12)]);
        assert_eq!((timeline.bins[0].totals.instructions, analysis.width), (53, 1000));
        assert_eq!(timeline.bins[0].parts[1].totals.instructions, 3);
        assert_eq!((timeline.phases[0].totals.instructions, timeline.phases[0].totals.time), (6 * 53, 6000));
    }

    #[test]
    fn lists_of_several_processors_are_of_the_same_time() {
        let list = |cpu: u32, bars: &str| format!("system.cpu{cpu}.selected | {bars}\n");
        let body = list(0, "0x2000,50; | 0x2000,40; |") + &list(1, "0x2000,5;0x3000,7; | 0x4000,1; | 0x2000,2; |");
        let totals = "simInsts 1000 # i\nsystem.cpu0.committedInstType::IntAlu 9 # c\n";
        let analysis = analysed(&dump(9_000_000, 9_000_000, &(body + totals)));
        let bins = &analysis.timelines[0].bins;
        let sums: Vec<(u64, u64)> = bins.iter().map(|b| (b.totals.instructions, b.totals.time)).collect();
        assert_eq!(sums, [(62, 3000), (41, 3000), (2, 3000)]);
        assert_eq!(bins[0].parts[0].totals.instructions, 55, "one address is one event");
        // What is known of the dump alone is no bin's.
        assert!(bins.iter().all(|bin| bin.totals.classes.is_none()));
    }

    #[test]
    fn functions_have_the_names_of_the_program() {
        let here = functions_have_the_names_of_the_program as *const () as usize;
        let program = std::env::current_exe().unwrap();
        // Where the linker put it, which is not where it runs.
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let base = maps.lines().find(|l| l.ends_with(program.to_str().unwrap())).unwrap();
        let base = usize::from_str_radix(base.split('-').next().unwrap(), 16).unwrap();
        let text = dump(5, 5, &format!("cpu.selected | {:#x},9; |\n", here - base));
        let analysis = analyse(&text, Some(&program), &Thresholds::default()).unwrap();
        assert!(analysis.name(0).contains("functions_have_the_names_of_the_program"), "{}", analysis.name(0));
        assert!(analyse("", None, &Thresholds::default()).unwrap_err().contains("no complete dump"));
        assert!(analyse(&text, Some(Path::new("/none")), &Thresholds::default()).unwrap_err().contains("/none"));
    }
}
