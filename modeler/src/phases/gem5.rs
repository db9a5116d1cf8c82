//! gem5's own statistics as a timeline: periodic dumps of `stats.txt` are bins, and lists of the addresses that were executed
//! most in each bin, where a gem5 writes such (the paper's does, upstream does not), label them.
//!
//! A list is a statistic whose value is `| address,count;address,count; | …`, one bar for each bin. Addresses are hexadecimal
//! with `0x`, else decimal. Dumps that are not reset are taken apart.

use std::collections::BTreeMap;
use std::path::Path;

use poise_profile::{BinUnit, Profile, Region, RegionKind};

use super::owners::{self, Owners};
use super::regions::{self, Event, Thresholds};
use super::{Analysis, Bin, Part, Totals, timeline_of};
use crate::formats::Names;
use crate::machine::classes::{Class, Classes};
use crate::machine::symbols::Image;

const BEGIN: &str = "Begin Simulation Statistics";
const END: &str = "End Simulation Statistics";

/// What one dump says.
#[derive(Default)]
struct Dump {
    /// What the simulator says of itself: its clock, and instructions.
    simulation: BTreeMap<&'static str, f64>,
    /// Instructions and their classes by processor, and by the statistic that says so: some are said twice.
    instructions: BTreeMap<Said, f64>,
    classes: BTreeMap<Said, [f64; Class::ALL.len()]>,
    /// Instructions that were begun and thrown away, since a branch went another way.
    squashed: f64,
    /// Addresses and counts of each bin, by the statistic that holds them: processors have one each.
    lists: BTreeMap<String, Vec<Counts>>,
}

/// A processor, and which of its statistics it is, without the numbers of threads.
type Said = (String, String);

/// Addresses and how often each was executed.
type Counts = Vec<(u64, u64)>;

/// Old and new names of what the simulator says of itself.
const SIMULATION: [[&str; 2]; 5] = [
    ["simInsts", "sim_insts"],
    ["simTicks", "sim_ticks"],
    ["finalTick", "final_tick"],
    ["simFreq", "sim_freq"],
    ["simSeconds", "sim_seconds"],
];
/// Parts of a processor that tell what it committed; the numbers of threads follow.
const COMMITS: [&str; 4] = ["commit", "commitStats", "thread_", "exec_context"];
/// Instructions that a processor's commit found squashed: gem5's `commit.cc`, of its out-of-order processor only.
const SQUASHED: &str = "commitSquashedInsts";
/// Numbers of instructions by class.
const CLASSES: [&str; 3] = ["committedInstType", "statExecutedInstType", "op_class"];

impl Dump {
    /// Takes in a statistic that is of interest here.
    fn take(&mut self, name: &str, value: f64) {
        if let Some([known, _]) = SIMULATION.iter().find(|names| names.contains(&name)) {
            self.simulation.insert(known, value);
            return;
        }
        let (name, kind) = name.split_once("::").unwrap_or((name, "total"));
        let Some((group, last)) = name.rsplit_once('.') else { return };
        let processor = processor(group);
        let said = || (processor.to_owned(), without_digits(&name[processor.len()..]));
        let is_committed = last == "committedInsts" || last == "numInsts" && processor != group;
        if last == SQUASHED && kind == "total" {
            self.squashed += value;
        } else if is_committed && kind == "total" {
            *self.instructions.entry(said()).or_default() += value;
        } else if CLASSES.iter().any(|known| last.starts_with(known)) && kind != "total" {
            self.classes.entry(said()).or_default()[class(kind) as usize] += value;
        }
    }

    /// Where the simulation's clock was when counting began.
    fn begin(&self) -> Option<f64> {
        Some(self.simulation.get("finalTick")? - self.simulation.get("simTicks")?)
    }

    /// Leaves what happened since `before`, which has counted from the same moment on.
    fn subtract(&mut self, before: &Self) {
        let is_reset = |name: &str| !["simFreq", "finalTick", "simInsts"].contains(&name);
        for (name, value) in self.simulation.iter_mut().filter(|(name, _)| is_reset(name)) {
            *value -= before.simulation.get(name).unwrap_or(&0.0);
        }
        self.squashed -= before.squashed;
        self.instructions.iter_mut().for_each(|(said, value)| *value -= before.instructions.get(said).unwrap_or(&0.0));
        for (said, values) in &mut self.classes {
            let before = before.classes.get(said).copied().unwrap_or_default();
            values.iter_mut().zip(before).for_each(|(value, before)| *value -= before);
        }
    }

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
/// ```
/// use modeler::phases::gem5::analyse;
/// let text = std::fs::read_to_string("../datasets/gem5/netperf-alpha.p1.txt")?;
/// let analysis = analyse(&text, None, &Default::default())?;
/// assert_eq!((analysis.engine.as_str(), analysis.timelines[0].bins.len()), ("gem5", 2)); // a bin for each dump
/// assert!(analyse("no statistics", None, &Default::default()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// In a sentence: there is no dump, or the program cannot be read.
pub fn analyse(text: &str, program: Option<&Path>, thresholds: &Thresholds) -> Result<Analysis, String> {
    let mut dumps = dumps(text);
    if dumps.is_empty() {
        return Err("there is no complete dump of statistics in it".into());
    }
    take_instructions_apart(&mut dumps);
    take_apart(&mut dumps);
    choose_lists(&mut dumps);
    if dumps.iter().any(|dump| !dump.instructions.is_empty()) {
        // Where processors say it, one that says nothing has executed nothing.
        for dump in &mut dumps {
            dump.simulation.remove("simInsts");
        }
    }
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
    // Lists hold the most frequent addresses alone, so that functions have no sums of their own: whole bins count.
    timeline.phases.iter_mut().for_each(|phase| phase.totals = Totals::default());
    let regions = owners::regions(&timeline.phases);
    let owners = Owners::new(&regions, &[], 0..timeline.bins.len());
    for (at, bin) in timeline.bins.iter().enumerate() {
        if let Some(phase) = owners.of_bin(at, &bin.labels) {
            timeline.phases[phase].totals.add(&bin.totals);
        }
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
            // Bars are in histograms, too, pairs of numbers in sparse ones.
            let is_list = |(name, list): &(&str, &str)| list.contains(';') || name.trim_end().ends_with("selected");
            if let Some((name, list)) = line.split_once('|').filter(is_list) {
                dump.lists.entry(name.trim().to_owned()).or_default().extend(bars(list));
                continue;
            }
            let mut fields = line.split_whitespace();
            if let (Some(name), Some(value)) = (fields.next(), fields.next().and_then(|v| v.parse::<f64>().ok())) {
                dump.take(name, value);
            }
        }
    }
    dumps
}

/// The processor that a group of statistics belongs to.
fn processor(mut group: &str) -> &str {
    while let Some((outer, last)) = group.rsplit_once('.')
        && COMMITS.contains(&last.trim_end_matches(|c: char| c.is_ascii_digit()))
    {
        group = outer;
    }
    group
}

fn without_digits(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
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

/// Makes dumps that count from the same moment as the one before dumps of what happened since that. The clock tells: it does not
/// begin at 0 where a checkpoint was restored.
fn take_apart(dumps: &mut [Dump]) {
    for at in (1..dumps.len()).rev() {
        let (before, after) = dumps.split_at_mut(at);
        if before[at - 1].begin().is_some() && before[at - 1].begin() == after[0].begin() {
            after[0].subtract(&before[at - 1]);
        }
    }
}

/// Makes the simulator's own numbers of instructions those of each dump. Before version 24.1 gem5 does not reset them with all else
/// (its issue 1443): where they rise and never fall, they were not reset.
fn take_instructions_apart(dumps: &mut [Dump]) {
    let all: Vec<Option<f64>> = dumps.iter().map(|dump| dump.simulation.get("simInsts").copied()).collect();
    let begins: Vec<Option<f64>> = dumps.iter().map(Dump::begin).collect();
    let known: Vec<f64> = all.iter().flatten().copied().collect();
    let only_rises = known.is_sorted() && known.first() < known.last();
    for (at, dump) in dumps.iter_mut().enumerate().skip(1) {
        let goes_on = only_rises || begins[at].is_some() && begins[at] == begins[at - 1];
        if let (Some(value), Some(before), true) = (dump.simulation.get_mut("simInsts"), all[at - 1], goes_on) {
            *value -= before;
        }
    }
}

/// Leaves lists of one kind, that which counts most: what is executed is executed more often than anything that happens to it.
fn choose_lists(dumps: &mut [Dump]) {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for (name, lists) in dumps.iter().flat_map(|dump| &dump.lists) {
        let sum: u64 = lists.iter().flatten().map(|(_, count)| count).sum();
        *sums.entry(without_digits(name)).or_default() += sum;
    }
    if let Some((most, _)) = sums.into_iter().rev().max_by_key(|(_, sum)| *sum) {
        dumps.iter_mut().for_each(|dump| dump.lists.retain(|name, _| without_digits(name) == most));
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
            _ => Totals { time: whole.time / count, squashed: whole.squashed / count, ..Totals::default() },
        };
        if totals.instructions == 0 {
            totals.instructions = parts.iter().map(|part| part.totals.instructions).sum();
        }
        Bin { totals, parts, labels: regions::labels(&events, thresholds) }
    };
    lists.iter().map(bin).collect()
}

/// Instructions, time and classes of a dump, over all processors. What the simulator says of all instructions may hold what was
/// executed before the first dump, and it rounds seconds to microseconds; so both are taken only where there is nothing else.
fn totals(dump: &Dump) -> Totals {
    let of = |name| dump.simulation.get(name).copied();
    let seconds = match (of("simTicks"), of("simFreq")) {
        (Some(ticks), Some(frequency)) if frequency > 0.0 => ticks / frequency,
        _ => of("simSeconds").unwrap_or(0.0),
    };
    let instructions: Vec<f64> = once(&dump.instructions, |value| *value);
    let mut classes = Classes::default();
    for counts in once(&dump.classes, |counts| counts.iter().sum()) {
        classes.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count.max(0.0) as u64);
    }
    Totals {
        instructions: if instructions.is_empty() { of("simInsts").unwrap_or(0.0) } else { instructions.iter().sum() }
            as u64,
        squashed: dump.squashed as u64,
        time: (seconds * 1e9).round() as u64,
        classes: (classes != Classes::default()).then_some(classes),
        ..Totals::default()
    }
}

/// What is said of each processor, once: of several statistics that which says most, as others may say nothing.
fn once<V: Copy>(all: &BTreeMap<Said, V>, size: impl Fn(&V) -> f64) -> Vec<V> {
    let mut most: BTreeMap<&str, V> = BTreeMap::new();
    for ((processor, _), value) in all {
        let known = most.entry(processor).or_insert(*value);
        if size(value) > size(known) {
            *known = *value;
        }
    }
    most.into_values().collect()
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
        let analysis = analysed(&text);
        assert_eq!((analysis.width, analysis.unit, analysis.engine.as_str()), (5000, BinUnit::Time, "gem5"));
        let bins = &analysis.timelines[0].bins;
        let found: Vec<(u64, u64)> = bins.iter().map(|b| (b.totals.instructions, b.totals.time)).collect();
        assert_eq!(found, [(10, 5000), (20, 5000)], "instructions go on");
        let classes = bins[1].totals.classes.unwrap();
        assert_eq!((classes[Class::SimdFp as usize], classes[Class::ScalarLoad as usize]), (60, 7));
        assert_eq!(classes.iter().sum::<u64>(), 67, "without the total");
    }

    #[test]
    fn dumps_that_are_not_reset_are_taken_apart() {
        let body = |insts: u64, squashed: u64| {
            format!("simInsts {insts} # i\nsystem.cpu.commit.commitSquashedInsts {squashed} # s\n")
        };
        let text = dump(5_000_000, 5_000_000, &body(10, 4)) + &dump(9_000_000, 9_000_000, &body(30, 7));
        let analysis = analysed(&text);
        let bins = analysis.timelines[0].bins.iter().map(|b| (b.totals.instructions, b.totals.squashed));
        assert_eq!(bins.collect::<Vec<_>>(), [(10, 4), (20, 3)]);
        let rows: Vec<String> =
            analysis.csv().lines().skip(1).map(|line| line.rsplit(',').next().unwrap().into()).collect();
        assert_eq!(rows, ["4", "3"], "the last column");
        assert!(analysis.svg(&analysis.timelines[0], 1).contains("squashed instructions per instruction"));
    }

    /// Where the simulator alone says how many there were: before version 24.1 it does not reset them, from then on it does.
    #[test]
    fn instructions_that_go_on_behind_a_reset_are_taken_apart() {
        let found = |dumps: &[(u64, u64, u64)]| {
            let text = dumps.iter().map(|&(ticks, end, n)| dump(ticks, end, &format!("simInsts {n} # i\n")));
            let bins = analysed(&text.collect::<String>()).timelines.remove(0).bins;
            bins.iter().map(|bin| bin.totals.instructions).collect::<Vec<_>>()
        };
        assert_eq!(found(&[(9, 9, 10), (9, 18, 30), (9, 27, 75)]), [10, 20, 45]);
        assert_eq!(found(&[(9, 9, 10), (9, 18, 7), (9, 27, 75)]), [10, 7, 75]);
        assert_eq!(found(&[(9, 9, 10), (9, 18, 10)]), [10, 10], "a dump after so many instructions each");
        assert_eq!(found(&[(9, 9, 10), (9, 18, 7), (18, 27, 17)]), [10, 7, 10], "the last was not reset");
        // The real ones, whose processors say the same as the difference.
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../datasets/gem5/netperf-alpha.p1.txt");
        let text = std::fs::read_to_string(path).unwrap();
        let alone: String =
            text.lines().filter(|l| l.starts_with("sim_") || l.contains('-')).map(|l| format!("{l}\n")).collect();
        let bins = analysed(&alone).timelines.remove(0).bins;
        assert_eq!(bins[1].totals.instructions, analysed(&text).timelines[0].bins[1].totals.instructions);
    }

    /// A checkpoint was restored, so that the clock does not begin at 0; between the second and the third dump statistics were reset.
    #[test]
    fn the_clock_tells_which_dumps_were_reset() {
        let insts = |n: u64| format!("system.cpu.committedInsts {n} # i\nsimFreq 1000000000000 # f\n");
        let text = dump(5_000_000, 105_000_000, &insts(10))
            + &dump(9_000_000, 109_000_000, &insts(30))
            + &dump(2_000_000, 111_000_000, &insts(7))
            + &dump(6_000_000, 115_000_000, &insts(8));
        let analysis = analysed(&text);
        let bins = analysis.timelines[0].bins.iter().map(|b| (b.totals.instructions, b.totals.time));
        assert_eq!(bins.collect::<Vec<_>>(), [(10, 5000), (20, 4000), (7, 2000), (1, 4000)]);
    }

    /// The names are those of gem5 24.0, whose out-of-order processors say by two statistics what they committed; one processor is
    /// simple, and one is switched off. `simInsts` goes on when statistics are reset, `simSeconds` has six digits.
    #[test]
    fn what_a_processor_says_twice_counts_once() {
        let body = |all: u64| {
            let class = |place: &str| {
                format!(
                    "{place}::IntAlu 4 80.00% 80.00% # c\n{place}::FloatAdd 1 20.00% 100.00% # c\n{place}::total 5 # c\n"
                )
            };
            let fast = "board.processor.cores0.core";
            format!("simFreq 1000000000000 # f\nsimInsts {all} # i\n{fast}.executeStats0.numInsts 9 # i\n")
                + &class(&format!("{fast}.commit.committedInstType_0"))
                + &class(&format!("{fast}.commitStats0.committedInstType"))
                + &class(&format!("{fast}.statIssuedInstType_0"))
                + &format!("{fast}.commitStats0.numInsts 3 # i\n{fast}.thread_0.numInsts 3 # i\n")
                + &format!(
                    "{fast}.commit.commitSquashedInsts 4 # s\nboard.processor.cores2.core.commit.commitSquashedInsts 3 # s\n"
                )
                + &class("board.processor.cores1.core.exec_context.thread_0.statExecutedInstType")
                + "board.processor.cores1.core.exec_context.thread_0.numInsts 2 # i\n"
                + "board.processor.cores1.core.thread_0.numInsts 0 # i\n"
        };
        let text = dump(72_927, 72_927, &body(5)) + &dump(2_927, 75_854, &body(10));
        let rounded = |line: &str| {
            if line.starts_with("simSeconds") { "simSeconds 0.000000 # s\n".into() } else { format!("{line}\n") }
        };
        let analysis = analysed(&text.lines().map(rounded).collect::<String>());
        for (bin, time) in analysis.timelines[0].bins.iter().zip([73, 3]) {
            assert_eq!((bin.totals.instructions, bin.totals.squashed, bin.totals.time), (5, 7, time));
            let classes = bin.totals.classes.unwrap();
            assert_eq!((classes[Class::Int as usize], classes[Class::Fp as usize]), (8, 2));
        }
    }

    /// Statistics of two machines that gem5's own tests hold. `sim_insts` is not reset: its difference is what the processors did.
    #[test]
    fn real_statistics_have_what_their_processors_executed() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../datasets/gem5/netperf-alpha.p1.txt");
        let analysis = analysed(&std::fs::read_to_string(path).unwrap());
        let bins: Vec<Totals> = analysis.timelines[0].bins.iter().map(|bin| bin.totals).collect();
        let found: Vec<(u64, u64)> = bins.iter().map(|b| (b.instructions, b.time)).collect();
        assert_eq!(found, [(19_050_784 + 20_257_044, 200_409_271), (523_853_183 - 523_780_905, 407_342)]);
        let operations: Vec<u64> = bins.iter().map(|b| b.classes.unwrap().iter().sum()).collect();
        assert_eq!(operations, [19_051_393 + 20_261_020, 36_152 + 36_126], "the totals that it says itself");
    }

    #[test]
    fn lists_of_what_happened_to_instructions_are_not_those_of_what_was_executed() {
        let body = "system.cpu.squashed::selected | 0x9000,40; | 0x9000,7; |\nsystem.cpu.latency::values | 3,900 | 5,90 |\n\
                    system.cpu.committed::selected | 0x2000,50; | 0x3000,60; |\n";
        let analysis = analysed(&dump(2_000_000, 2_000_000, body));
        let names: Vec<&str> = analysis.functions.iter().map(|function| function.0.as_str()).collect();
        assert_eq!(names, ["0x2000", "0x3000"]);
        assert_eq!(analysis.timelines[0].bins.len(), 2);
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
