//! An analysis as numbers: JSON, comma-separated values, and tables for people.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::names::PhaseNames;
use super::resolution::{Unresolved, percent};
use super::{Analysis, Bin, Phase, Timeline, Totals, by_class};
use crate::report::Table;
use crate::report::terminal::table;
use crate::words;

/// Timelines shown to people; the others are counted.
const SHOWN: usize = 4;
/// Phases of a thread that are shown one by one; of more than these, sums by function.
const ONE_BY_ONE: usize = 100;
/// Part of a thread's time from which on whose it is outside of all phases is told, of so many functions at most.
const MATTERS: f64 = 0.05;
const NAMED: usize = 3;
/// What compilers call the functions that they make of OpenMP's parallel regions: clang, gcc.
const OUTLINED: [&str; 2] = [".omp_outlined", "._omp_fn"];
/// Characters of names in tables, where templates of C++ would have hundreds.
const WIDEST: usize = 60;

impl Totals {
    /// The numbers that were measured, by their public names; zeros of what was not are left out.
    fn numbers(&self) -> Vec<(&'static str, u64)> {
        let always = [("basic_blocks", self.blocks), ("visits", self.visits)];
        let sometimes = [
            ("instructions", self.instructions),
            ("bytes_sent", self.bytes_sent),
            ("bytes_received", self.bytes_received),
            ("time_ns", self.time),
            ("wait_time_ns", self.wait_time),
            ("lines", self.lines.unwrap_or(0)),
            ("turns", self.turns),
            ("squashed", self.squashed),
        ];
        always.into_iter().chain(sometimes.into_iter().filter(|(_, number)| *number > 0)).collect()
    }

    fn json(&self) -> Map<String, Value> {
        let mut object: Map<String, Value> =
            self.numbers().into_iter().map(|(k, v)| (k.to_owned(), v.into())).collect();
        if let Some(classes) = &self.classes {
            let classes: Map<String, Value> = by_class(classes).map(|(k, v)| (k.to_owned(), v.into())).collect();
            object.insert("classes".into(), classes.into());
        }
        object
    }
}

impl Analysis {
    /// The whole analysis as one JSON object with a line feed at its end.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let json: serde_json::Value = serde_json::from_str(&analysis.json())?;
    /// assert_eq!(json["timelines"][0]["phases"][1]["bins"], serde_json::json!([10, 20]));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn json(&self) -> String {
        let t = &self.thresholds;
        let functions: Vec<Value> =
            self.functions.iter().map(|(name, file, line)| json!({"name": name, "file": file, "line": line})).collect();
        let document = json!({
            "schema": "counterpoise/phases",
            "schema_version": 1,
            "tool_version": env!("CARGO_PKG_VERSION"),
            "engine": self.engine,
            "unit": self.unit.name(),
            "width": self.width,
            "thresholds": {"events": t.events, "label": t.label, "gap": t.gap, "filter": t.filter, "join": t.join, "share": t.share},
            "functions": functions,
            "timelines": self.timelines.iter().map(|timeline| self.timeline_json(timeline)).collect::<Vec<_>>(),
        });
        document.to_string() + "\n"
    }

    fn timeline_json(&self, timeline: &Timeline) -> Value {
        let bin = |bin: &Bin| {
            let mut object = bin.totals.json();
            let part =
                |p: &super::Part| json!([p.function, p.totals.blocks.max(p.totals.instructions), p.totals.visits]);
            object.insert("labels".into(), json!(bin.labels));
            object.insert("functions".into(), bin.parts.iter().map(part).collect());
            Value::Object(object)
        };
        let names = PhaseNames::new(self, timeline, WIDEST);
        let phase = |phase: &Phase| {
            let mut object = phase.totals.json();
            object.insert("name".into(), names.full(phase).into());
            object.insert("function".into(), phase.function.into());
            object.insert("occurrence".into(), phase.occurrence.into());
            object.insert("bins".into(), json!([phase.bins.start, phase.bins.end]));
            object.insert("shared_with".into(), json!(phase.shared_with.map(|other| self.name(other))));
            Value::Object(object)
        };
        json!({
            "rank": timeline.rank,
            "thread": timeline.thread,
            "first_width": self.first_width(timeline),
            "phases": timeline.phases.iter().map(phase).collect::<Vec<_>>(),
            "outside": timeline.all_and_outside().1.json(),
            "outside_functions": outside(timeline, |totals| (totals.effort(), 0)).into_iter().map(|found| self.outside_json(found)).collect::<Vec<_>>(),
            "unresolved": self.unresolved(timeline).iter().map(|found| self.unresolved_json(timeline, found)).collect::<Vec<_>>(),
            "bins": timeline.bins.iter().map(bin).collect::<Vec<_>>(),
        })
    }

    fn outside_json(&self, (function, totals): (u32, &Totals)) -> Value {
        let mut object = totals.json();
        object.insert("name".into(), self.name(function).into());
        object.insert("function".into(), function.into());
        Value::Object(object)
    }

    fn unresolved_json(&self, timeline: &Timeline, found: &Unresolved) -> Value {
        let part = |effort: u64| effort as f64 / found.done.effort.max(1) as f64;
        json!({
            "name": self.name(found.function),
            "function": found.function,
            "share": found.share,
            "in_own_phases": part(found.done.within),
            "in_shared_phases": part(found.done.shared),
            "told": self.told(timeline, found),
        })
    }

    /// What [`Self::human`] says below its tables of functions whose phases do not stand for them, for output that is not read by people.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(analysis.warnings().is_empty()); // each function has a phase with all of its blocks
    /// ```
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let of = |timeline: &Timeline| {
            let of = match self.timelines.len() {
                1 => String::new(),
                _ => format!("rank {}, thread {}: ", timeline.rank, timeline.thread),
            };
            self.told_of(timeline).into_iter().map(|told| of.clone() + &told).collect::<Vec<_>>()
        };
        self.timelines.iter().take(SHOWN).flat_map(of).collect()
    }

    /// A sentence for each function whose phases do not stand for it, but for those that cover the same bins as others', of which another
    /// warning tells.
    fn told_of(&self, timeline: &Timeline) -> Vec<String> {
        let unresolved = self.unresolved(timeline);
        unresolved.iter().filter(|found| !found.done.is_shared()).map(|found| self.told(timeline, found)).collect()
    }

    /// A line for each bin of each thread: what was counted, the classes, the labels.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(analysis.csv().lines().count(), 1 + 20); // a header, and the bins
    /// ```
    #[must_use]
    pub fn csv(&self) -> String {
        let mut out =
            "rank,thread,bin,basic_blocks,instructions,visits,bytes_sent,bytes_received,time_ns,wait_time_ns,lines"
                .to_owned();
        let has_classes = self.has_classes();
        if has_classes {
            by_class(&Default::default()).for_each(|(name, _)| out.push_str(&format!(",{name}")));
        }
        out.push_str(",labels,turns,squashed\n");
        for timeline in &self.timelines {
            for (number, bin) in timeline.bins.iter().enumerate() {
                let t = &bin.totals;
                let _ = write!(
                    out,
                    "{},{},{number},{},{},{}",
                    timeline.rank, timeline.thread, t.blocks, t.instructions, t.visits
                );
                let lines = t.lines.map(|lines| lines.to_string()).unwrap_or_default();
                let _ = write!(out, ",{},{},{},{},{lines}", t.bytes_sent, t.bytes_received, t.time, t.wait_time);
                if has_classes {
                    by_class(&t.classes.unwrap_or_default()).for_each(|(_, count)| out.push_str(&format!(",{count}")));
                }
                let labels: Vec<&str> = bin.labels.iter().map(|&label| self.name(label)).collect();
                let labels = labels.join("; ").replace('"', "\"\"");
                let _ = writeln!(out, ",\"{labels}\",{},{}", t.turns, t.squashed);
            }
        }
        out
    }

    /// The phases of the first threads as tables; of a thread with very many of them the sums by function, or all of them where
    /// `every` one is asked for.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(analysis.human(false).starts_with("Bins of 1000 basic blocks, counted by counters."));
    /// ```
    #[must_use]
    pub fn human(&self, every: bool) -> String {
        let mut out = match self.width_text() {
            None => "The whole run is one bin.\n".to_owned(),
            Some(width) => format!("Bins of {width}, counted by {}.\n", self.engine),
        };
        for timeline in self.timelines.iter().take(SHOWN) {
            let _ =
                writeln!(out, "\nrank {}, thread {}: {}", timeline.rank, timeline.thread, counted(timeline.bins.len()));
            if let Some(width) = self.first_width(timeline).filter(|_| self.width > 0) {
                let _ = writeln!(out, "Bin 0 is what ran before main, {width} {}.", self.unit_name());
            }
            match timeline.phases.is_empty() {
                true => out.push_str("No phase was found: no function has enough bins of its own in a row.\n"),
                false if every || timeline.phases.len() <= ONE_BY_ONE => {
                    out.push_str(&table(&self.phases_table(timeline)));
                }
                false => {
                    let count = timeline.phases.len();
                    let _ = writeln!(out, "{count} phases, added up by function; -v shows each, as JSON does.");
                    out.push_str(&table(&self.functions_table(timeline)));
                }
            }
            // Phases may overlap; a bin counts once.
            let labelled: BTreeSet<usize> = timeline.phases.iter().flat_map(|phase| phase.bins.clone()).collect();
            let belong = if labelled.len() == 1 { "belongs" } else { "belong" };
            let _ = writeln!(out, "{} of {} {belong} to a phase.", labelled.len(), counted(timeline.bins.len()));
            if let Some(outside) = self.outside(timeline) {
                out.push_str(&(outside + "\n"));
            }
            self.told_of(timeline).iter().for_each(|told| out.push_str(&format!("{told}\n")));
        }
        let more = self.timelines.len().saturating_sub(SHOWN);
        if more > 0 {
            let _ = writeln!(out, "\n{} in --format json.", words::counted(more, "more thread is", "more threads are"));
        }
        out
    }

    /// A sentence about what of a thread is in no phase, where it has phases.
    pub(crate) fn outside(&self, timeline: &Timeline) -> Option<String> {
        let (all, outside) = timeline.all_and_outside();
        let parts = all.parts(&outside).filter(|_| !timeline.phases.is_empty())?;
        Some(format!("Outside of all phases: {parts}.{}", self.time_outside(timeline, all.time)))
    }

    /// Whose the time is that is in no phase, as a sentence with a blank before it; nothing where nobody has much of it.
    fn time_outside(&self, timeline: &Timeline, all: u64) -> String {
        let functions = outside(timeline, |totals| (totals.time, totals.effort()))
            .into_iter()
            .map(|(function, totals)| (function, totals.time as f64 / all.max(1) as f64));
        let functions: Vec<(u32, f64)> = functions.filter(|&(_, part)| part >= MATTERS).take(NAMED).collect();
        let told: Vec<String> =
            functions.iter().map(|&(function, part)| format!("{} {}", self.name(function), percent(part))).collect();
        if told.is_empty() {
            return String::new();
        }
        let waits = match functions.iter().any(|&(function, _)| self.has_parallel_region(function)) {
            true => ", with what is waited there for threads of parallel regions",
            false => "",
        };
        format!(" Of the time: {}{waits}.", told.join(", "))
    }

    /// Whether a compiler made functions of its own of the function's OpenMP regions.
    fn has_parallel_region(&self, function: u32) -> bool {
        let plain = |name: &str| name.split(['(', ' ']).next().unwrap_or_default().to_owned();
        let name = plain(self.name(function));
        let is_its = |other: &str, mark: &str| other.contains(mark) && plain(other).split(mark).next() == Some(&name);
        self.functions.iter().any(|(other, ..)| OUTLINED.iter().any(|mark| is_its(other, mark)))
    }

    /// The width of the first bin, where it has one of its own.
    fn first_width(&self, timeline: &Timeline) -> Option<u64> {
        let first = timeline.bins.first().filter(|_| timeline.first_apart)?;
        Some(first.totals.of(self.unit))
    }

    /// How wide bins are, in words; nothing where the whole run is one.
    pub(crate) fn width_text(&self) -> Option<String> {
        let mean = if self.engine == "gem5" { " in the mean" } else { "" };
        (self.width > 0).then(|| format!("{} {}{mean}", self.width, self.unit_name()))
    }

    fn unit_name(&self) -> &'static str {
        match self.unit {
            poise_profile::BinUnit::Blocks => "basic blocks",
            poise_profile::BinUnit::Instructions => "instructions",
            poise_profile::BinUnit::Time => "ns",
        }
    }

    fn phases_table(&self, timeline: &Timeline) -> Table {
        let columns = columns(timeline);
        let names = PhaseNames::new(self, timeline, WIDEST);
        let row = |phase: &Phase| {
            let mut row = vec![names.short(phase), phase.bins.start.to_string(), (phase.bins.end - 1).to_string()];
            row.extend(columns.iter().map(|(_, of, shown)| shown(of(&phase.totals))));
            row
        };
        let header = ["phase", "first bin", "last bin"].into_iter().chain(columns.iter().map(|(name, ..)| *name));
        Table { header: header.map(str::to_owned).collect(), rows: timeline.phases.iter().map(row).collect() }
    }

    /// The sums over each function's phases, the function with the first one first.
    fn functions_table(&self, timeline: &Timeline) -> Table {
        let mut sums: Vec<(u32, usize, usize, Totals)> = Vec::new();
        for phase in &timeline.phases {
            let known = sums.iter().position(|(function, ..)| *function == phase.function);
            let at = known.unwrap_or_else(|| {
                sums.push((phase.function, 0, 0, Totals::default()));
                sums.len() - 1
            });
            let (_, phases, bins, totals) = &mut sums[at];
            (*phases, *bins) = (*phases + 1, *bins + phase.bins.len());
            totals.add(&phase.totals);
        }
        let columns = columns(timeline);
        let names = PhaseNames::new(self, timeline, WIDEST);
        let row = |(function, phases, bins, totals): &(u32, usize, usize, Totals)| {
            let mut row = vec![names.function(*function).to_owned(), phases.to_string(), bins.to_string()];
            row.extend(columns.iter().map(|(_, of, shown)| shown(of(totals))));
            row
        };
        let header = ["function", "phases", "bins"].into_iter().chain(columns.iter().map(|(name, ..)| *name));
        Table { header: header.map(str::to_owned).collect(), rows: sums.iter().map(row).collect() }
    }
}

/// What functions did that is in no phase, what has `most` first.
fn outside(timeline: &Timeline, most: impl Fn(&Totals) -> (u64, u64)) -> Vec<(u32, &Totals)> {
    let mut all: Vec<(u32, &Totals)> = timeline.outside.iter().map(|(&function, totals)| (function, totals)).collect();
    all.sort_by_key(|(_, totals)| std::cmp::Reverse(most(totals)));
    all
}

/// `1 bin`, `2 bins`.
fn counted(bins: usize) -> String {
    words::counted(bins, "bin", "bins")
}

/// A column of numbers: its header, the number, and how it is written.
type Column = (&'static str, fn(&Totals) -> u64, fn(u64) -> String);

const LINES: &str = "lines of memory";

/// The columns in which some phase has a number; of lines of memory, all of them, since some may not be known.
fn columns(timeline: &Timeline) -> Vec<Column> {
    let count = |count: u64| count.to_string();
    let milliseconds = |nanoseconds: u64| format!("{:.3}", nanoseconds as f64 / 1e6);
    let columns: [Column; 8] = [
        ("basic blocks", |t| t.blocks, count),
        ("instructions", |t| t.instructions, count),
        ("calls", |t| t.visits, count),
        ("bytes sent", |t| t.bytes_sent, count),
        ("bytes received", |t| t.bytes_received, count),
        ("time [ms]", |t| t.time, milliseconds),
        ("waiting [ms]", |t| t.wait_time, milliseconds),
        (LINES, |t| t.lines.unwrap_or(0), count),
    ];
    let all = || timeline.phases.iter().map(|phase| &phase.totals);
    let has_lines = all().all(|totals| totals.lines.is_some());
    let is_shown = |&(name, of, _): &Column| all().any(|t| of(t) > 0) && (name != LINES || has_lines);
    columns.into_iter().filter(is_shown).collect()
}

#[cfg(test)]
mod tests {
    use crate::phases::regions::Thresholds;
    use crate::phases::{Analysis, Bin, Part, Totals, timeline_of};

    /// Two functions that take turns, five bins of each; a bin has 10 blocks, a call and 3 lines.
    fn analysis(turns: usize) -> Analysis {
        let bin = |function: u32| {
            let totals = Totals { blocks: 10, visits: 1, ..Totals::default() };
            Bin {
                totals: Totals { lines: Some(3), ..totals },
                parts: vec![Part { function, totals }],
                labels: vec![function],
            }
        };
        let bins = (0..2 * turns).flat_map(|turn| vec![bin(turn as u32 % 2); 5]);
        let thresholds = Thresholds { gap: 0, join: 0, ..Thresholds::default() };
        Analysis {
            engine: "qemu".into(),
            unit: poise_profile::BinUnit::Blocks,
            width: 10,
            thresholds,
            functions: ["product", "dot"].map(|name| (name.to_owned(), String::new(), 0)).into(),
            timelines: vec![timeline_of((0, 0), bins.collect(), &thresholds)],
        }
    }

    #[test]
    fn a_few_phases_are_shown_one_by_one() {
        let told = analysis(2).human(false);
        let rows: Vec<Vec<&str>> = told.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(rows.contains(&vec!["dot", "#2", "15", "19", "50", "5", "15"]), "{told}");
        assert!(told.contains("lines of memory"), "{told}");
    }

    /// Twenty bins of product, ten of dot, and ten of both that are in no phase: of each of these product has 6 blocks and dot 4, which
    /// alone takes time.
    #[test]
    fn what_is_in_no_phase_is_told() {
        let part = |function, blocks, time| {
            let totals = Totals { blocks, time, bytes_sent: if function == 1 { 8 } else { 0 }, ..Totals::default() };
            Part { function, totals }
        };
        let bin = |parts: &[Part], labels: &[u32]| {
            let mut totals = Totals::default();
            parts.iter().for_each(|part| totals.add(&part.totals));
            Bin { totals, parts: parts.to_vec(), labels: labels.to_vec() }
        };
        let product = vec![bin(&[part(0, 10, 0)], &[0]); 20];
        let dot = vec![bin(&[part(1, 10, 3)], &[1]); 10];
        let neither = vec![bin(&[part(0, 6, 0), part(1, 4, 7)], &[]); 10];
        let mut analysis = analysis(1);
        let bins = [product, neither, dot].concat();
        analysis.timelines = vec![timeline_of((0, 0), bins, &analysis.thresholds)];
        // The bins next to a phase count for its function: product's 6 blocks of the first, dot's 4 blocks, 7 ns and 8 bytes of
        // the last. So 90 of 400 blocks, 63 of 100 ns and 72 of 160 bytes are outside.
        let json: serde_json::Value = serde_json::from_str(&analysis.json()).unwrap();
        let outside = &json["timelines"][0]["outside"];
        assert_eq!(*outside, serde_json::json!({"basic_blocks": 90, "visits": 0, "time_ns": 63, "bytes_sent": 72}));
        let told = analysis.human(false);
        let expected = "Outside of all phases: 22 % of the basic blocks, 63 % of the time and 45 % of the bytes. Of the time: dot 63 %.\n";
        assert!(told.contains(expected), "{told}");
        // Product's 6 blocks of nine bins, dot's 4 blocks, 7 ns and 8 bytes.
        let by_function = serde_json::json!([
            {"name": "product", "function": 0, "basic_blocks": 54, "visits": 0},
            {"name": "dot", "function": 1, "basic_blocks": 36, "visits": 0, "time_ns": 63, "bytes_sent": 72},
        ]);
        assert_eq!(json["timelines"][0]["outside_functions"], by_function);
        // What a compiler made of a region is a function of its own; the one that has the region waits at its end.
        for outlined in ["dot.omp_outlined_debug__", "dot(int) [clone ._omp_fn.0]"] {
            analysis.functions[0].0 = outlined.to_owned();
            let told = analysis.human(false);
            assert!(told.contains("dot 63 %, with what is waited there for threads of parallel regions.\n"), "{told}");
        }
    }

    /// Twenty bins of product and ten of dot, twice; then forty of product with four tenths of dot each: 1000 blocks, of which dot has 200 in
    /// its phases (and 8 next to them) and 160 without.
    #[test]
    fn functions_that_are_not_resolved_are_in_all_formats() {
        let part = |function, blocks| Part { function, totals: Totals { blocks, visits: 1, ..Totals::default() } };
        let bin = |parts: &[Part]| Bin {
            totals: Totals { blocks: 10, ..Totals::default() },
            parts: parts.to_vec(),
            labels: vec![parts[0].function],
        };
        let turn = || [vec![bin(&[part(0, 10)]); 20], vec![bin(&[part(1, 10)]); 10]].concat();
        let bins = [turn(), turn(), vec![bin(&[part(0, 6), part(1, 4)]); 40]].concat();
        let mut analysis = analysis(1);
        analysis.timelines = vec![timeline_of((0, 0), bins, &analysis.thresholds)];
        let json: serde_json::Value = serde_json::from_str(&analysis.json()).unwrap();
        let unresolved = json["timelines"][0]["unresolved"].as_array().unwrap();
        assert_eq!(unresolved.len(), 1);
        let found = &unresolved[0];
        assert_eq!((&found["name"], &found["function"]), (&"dot".into(), &1.into()));
        assert_eq!((found["share"].as_f64(), found["in_shared_phases"].as_f64()), (Some(0.36), Some(0.0)));
        // The bin next to its last phase has four blocks of it.
        assert_eq!(found["in_own_phases"].as_f64(), Some(204.0 / 360.0));
        let told = found["told"].as_str().unwrap();
        assert!(told.starts_with("dot has 36 % of the effort, 57 % of it in phases of its own"), "{told}");
        assert_eq!(analysis.warnings(), [told]);
        assert!(analysis.human(false).contains(told));
        // Forty bins with a call of each; two of dot are at the phase's ends.
        let last = analysis.timelines[0].phases.last().unwrap();
        assert_eq!((last.function, last.calls, last.totals.visits), (0, 40, 78));
    }

    /// Function 0 is called before `main`, whose bin lies next to its phase; the same run without what was done before `main` says the same.
    #[test]
    fn what_ran_before_main_is_neither_in_phases_nor_outside() {
        use crate::phases::{owners::without_calls, timeline_by_calls};
        let bin = |function: u32, label: u32, blocks: u64| {
            let totals = Totals { blocks, ..Totals::default() };
            Bin { totals, parts: vec![Part { function, totals }], labels: vec![label] }
        };
        let bins = |before: u64| [vec![bin(0, 2, before)], vec![bin(0, 0, 10); 10], vec![bin(1, 1, 10); 10]].concat();
        for before in [7, 1_000_000] {
            let thresholds = Thresholds { filter: 9, gap: 0, ..Thresholds::default() };
            let timeline = timeline_by_calls((0, 0), (bins(before), true), &thresholds, &[], &without_calls);
            let phases: Vec<_> =
                timeline.phases.iter().map(|phase| (phase.bins.clone(), phase.totals.blocks)).collect();
            assert_eq!(phases, [(1..11, 100), (11..21, 100)]);
            let timeline = timeline_by_calls(
                (0, 0),
                (bins(before), true),
                &Thresholds { share: 0.6, ..thresholds },
                &[],
                &without_calls,
            );
            let (all, outside) = timeline.all_and_outside();
            assert_eq!((timeline.phases.len(), all.blocks, outside.blocks), (0, 200, 200));
        }
    }

    #[test]
    fn very_many_are_added_up_by_function_unless_each_is_asked_for() {
        let analysis = analysis(60);
        let told = analysis.human(false);
        let rows: Vec<Vec<&str>> = told.lines().map(|line| line.split_whitespace().collect()).collect();
        for function in ["product", "dot"] {
            assert!(rows.contains(&vec![function, "60", "300", "3000", "300", "900"]), "{told}");
        }
        assert!(told.contains("120 phases, added up by function") && told.lines().count() < 12, "{told}");
        let each = analysis.human(true);
        assert!(each.lines().filter(|line| line.starts_with("dot #")).count() == 60, "{each}");
    }
}
