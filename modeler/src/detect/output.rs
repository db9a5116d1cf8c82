//! What the detectors say, for people, as JSON, as comma-separated values, and as a page.

use std::fmt::Write as _;

use maud::html;
use serde_json::{Value, json};

use super::loads::{Branch, Conditioned};
use super::loops::{Bound, Loop};
use super::mca::Schedule;
use super::traffic::Traffic;
use super::{Detection, Finding, Place, Variant, percent};
use crate::report::terminal::table;
use crate::report::{Table, plain};
use crate::words::counted;

/// Rows of the tables for people.
const SHOWN: usize = 10;

impl Detection {
    /// Findings with their evidence and doubt, and tables of what was looked at.
    ///
    /// ```
    /// # use modeler::detect::{Loop, Place, Variant, detect, mca::Schedule};
    /// # let place = Place { function: "sum".into(), line: "sum.c:7".into(), address: 0x1000 };
    /// # let schedule = Schedule { cycles: 4.0, units: 1.0, front_end: 0.5, chain: Some(4.0), ..Schedule::default() };
    /// # let sum = Loop { place, iterations: 1000, share: 0.9, schedule: Some(Ok(schedule)), ..Loop::default() };
    /// # let found = detect(vec![Variant { name: "plain".into(), loops: vec![sum], ..Variant::default() }], &[]);
    /// // A loop whose additions wait for each other.
    /// assert!(found.human().starts_with("1. The loop in sum (sum.c:7) waits for its own results."));
    /// ```
    #[must_use]
    pub fn human(&self) -> String {
        let mut out = String::new();
        for (number, finding) in self.findings.iter().enumerate() {
            let _ = writeln!(out, "{}. {}", number + 1, finding.what);
            finding.evidence.iter().for_each(|line| out.push_str(&format!("   evidence: {line}\n")));
            finding.doubt.iter().for_each(|line| out.push_str(&format!("   doubt:    {line}\n")));
            out.push('\n');
        }
        if self.findings.is_empty() {
            out.push_str(match self.notes.is_empty() {
                true => "Nothing was found.\n\n",
                false => "Nothing was found; what could not be looked at or is not clear stands at the end.\n\n",
            });
        }
        for (title, table_) in self.tables() {
            let _ = writeln!(out, "{title}\n{}", table(&table_));
        }
        self.notes.iter().for_each(|note| out.push_str(&format!("{note}\n")));
        out
    }

    /// One JSON object with a line feed at its end.
    ///
    /// ```
    /// # use modeler::detect::{Loop, Place, Variant, detect, mca::Schedule};
    /// # let place = Place { function: "sum".into(), line: "sum.c:7".into(), address: 0x1000 };
    /// # let schedule = Schedule { cycles: 4.0, units: 1.0, front_end: 0.5, chain: Some(4.0), ..Schedule::default() };
    /// # let sum = Loop { place, iterations: 1000, share: 0.9, schedule: Some(Ok(schedule)), ..Loop::default() };
    /// # let found = detect(vec![Variant { name: "plain".into(), loops: vec![sum], ..Variant::default() }], &[]);
    /// // A loop whose additions wait for each other.
    /// let json: serde_json::Value = serde_json::from_str(&found.json())?;
    /// assert_eq!(json["findings"][0]["detector"], "dependencies");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn json(&self) -> String {
        let document = json!({
            "schema": "counterpoise/detections",
            "schema_version": 1,
            "tool_version": env!("CARGO_PKG_VERSION"),
            "findings": self.findings.iter().map(finding_json).collect::<Vec<_>>(),
            "notes": self.notes,
            "variants": self.variants.iter().map(variant_json).collect::<Vec<_>>(),
        });
        document.to_string() + "\n"
    }

    /// A line for each piece of evidence and of doubt.
    ///
    /// ```
    /// # use modeler::detect::{Loop, Place, Variant, detect, mca::Schedule};
    /// # let place = Place { function: "sum".into(), line: "sum.c:7".into(), address: 0x1000 };
    /// # let schedule = Schedule { cycles: 4.0, units: 1.0, front_end: 0.5, chain: Some(4.0), ..Schedule::default() };
    /// # let sum = Loop { place, iterations: 1000, share: 0.9, schedule: Some(Ok(schedule)), ..Loop::default() };
    /// # let found = detect(vec![Variant { name: "plain".into(), loops: vec![sum], ..Variant::default() }], &[]);
    /// // A loop whose additions wait for each other.
    /// assert!(found.csv().starts_with("finding,detector,kind,text\n1,dependencies,what,"));
    /// ```
    #[must_use]
    pub fn csv(&self) -> String {
        let mut out = "finding,detector,kind,text\n".to_owned();
        for (number, finding) in self.findings.iter().enumerate() {
            let what = [("what", &finding.what)];
            let evidence = finding.evidence.iter().map(|text| ("evidence", text));
            let doubt = finding.doubt.iter().map(|text| ("doubt", text));
            for (kind, text) in what.into_iter().chain(evidence).chain(doubt) {
                let text = text.replace('"', "\"\"");
                let _ = writeln!(out, "{},{},{kind},\"{text}\"", number + 1, finding.detector);
            }
        }
        out
    }

    /// A page that needs no network and no script.
    ///
    /// ```
    /// # use modeler::detect::{Loop, Place, Variant, detect, mca::Schedule};
    /// # let place = Place { function: "sum".into(), line: "sum.c:7".into(), address: 0x1000 };
    /// # let schedule = Schedule { cycles: 4.0, units: 1.0, front_end: 0.5, chain: Some(4.0), ..Schedule::default() };
    /// # let sum = Loop { place, iterations: 1000, share: 0.9, schedule: Some(Ok(schedule)), ..Loop::default() };
    /// # let found = detect(vec![Variant { name: "plain".into(), loops: vec![sum], ..Variant::default() }], &[]);
    /// // A loop whose additions wait for each other.
    /// assert!(found.page("Detectors").contains("waits for its own results"));
    /// ```
    #[must_use]
    pub fn page(&self, title: &str) -> String {
        let main = html! {
            @for finding in &self.findings {
                section {
                    h2 { (finding.what) }
                    h3 { "Evidence" }
                    ul { @for line in &finding.evidence { li { (line) } } }
                    h3 { "Doubt" }
                    ul { @for line in &finding.doubt { li { (line) } } }
                }
            }
            @for (title, table) in self.tables() {
                section {
                    h2 { (title) }
                    div.scroll {
                        table {
                            thead { tr { @for cell in &table.header { th { (cell) } } } }
                            tbody { @for row in &table.rows { tr { @for cell in row { td { (cell) } } } } }
                        }
                    }
                }
            }
            @for note in &self.notes { p { (note) } }
        };
        let findings = counted(self.findings.len(), "finding", "findings");
        plain(title, &format!("{findings}, each with its evidence and its doubt."), &main)
    }

    /// Loops, branches and memory of each run.
    fn tables(&self) -> Vec<(String, Table)> {
        let of = |variant: &Variant| {
            let title = |what: &str| match self.variants.len() {
                1 => format!("{what}:"),
                _ => format!("{what}, {}:", variant.name),
            };
            let loops = rows(LOOPS, variant.loops.iter().take(SHOWN).map(loop_row));
            let branches = variant.branches.iter().filter(|b| b.outcomes.mispredicted > 0);
            let branches = rows(BRANCHES, branches.take(SHOWN).map(branch_row));
            let traffic = rows(TRAFFIC, variant.traffic.iter().take(SHOWN).map(traffic_row));
            let names = ["Loops", "Branches, by wrong predictions", "Memory"];
            names.map(title).into_iter().zip([loops, branches, traffic]).filter(|(_, t)| !t.rows.is_empty())
        };
        self.variants.iter().flat_map(of).collect()
    }
}

const LOOPS: &[&str] = &["loop", "share", "iterations", "cycles", "chain", "units", "front end", "bound by"];
const BRANCHES: &[&str] = &["branch", "executions", "jumps", "entropy", "entropy rate", "wrong"];
const TRAFFIC: &[&str] =
    &["function", "accesses", "lines into level 1", "into level 2", "per 1000 accesses", "lines in a bin"];

fn rows(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Table {
    Table { header: header.iter().map(|&name| name.to_owned()).collect(), rows: rows.collect() }
}

fn loop_row(looked_at: &Loop) -> Vec<String> {
    let schedule = looked_at.schedule.as_ref().and_then(|schedule| schedule.as_ref().ok());
    let of = |value: fn(&Schedule) -> Option<f64>| {
        schedule.and_then(value).map_or_else(|| "-".to_owned(), |cycles| format!("{cycles:.1}"))
    };
    vec![
        looked_at.place.to_string(),
        format!("{:.1} %", 100.0 * looked_at.share),
        looked_at.iterations.to_string(),
        of(|s| Some(s.cycles)),
        of(|s| s.chain),
        of(|s| Some(s.units)),
        of(|s| Some(s.front_end)),
        looked_at.bound().map_or("-", Bound::name).to_owned(),
    ]
}

fn branch_row(Branch { place, outcomes }: &Branch) -> Vec<String> {
    vec![
        place.to_string(),
        outcomes.executions.to_string(),
        percent(outcomes.jumps, outcomes.executions),
        format!("{:.3}", outcomes.entropy()),
        format!("{:.3}", outcomes.entropy_rate()),
        percent(outcomes.mispredicted, outcomes.executions),
    ]
}

fn traffic_row(traffic: &Traffic) -> Vec<String> {
    vec![
        traffic.function.clone(),
        traffic.accesses.to_string(),
        traffic.fills[0].to_string(),
        traffic.fills[1].to_string(),
        format!("{:.1}", traffic.fetched()),
        traffic.lines.map_or_else(|| "-".to_owned(), |lines| format!("{lines:.0}")),
    ]
}

fn finding_json(finding: &Finding) -> Value {
    json!({"detector": finding.detector, "what": finding.what, "share": finding.share, "evidence": finding.evidence, "doubt": finding.doubt})
}

fn place_json(place: &Place) -> Value {
    json!({"function": place.function, "line": place.line, "address": format!("{:#x}", place.address)})
}

fn variant_json(variant: &Variant) -> Value {
    json!({
        "name": variant.name,
        "instruction_set": variant.instruction_set,
        "cache": variant.cache,
        "predictor": variant.predictor,
        "instructions": variant.instructions,
        "loops": variant.loops.iter().map(loop_json).collect::<Vec<_>>(),
        "branches": variant.branches.iter().map(branch_json).collect::<Vec<_>>(),
        "loads": variant.loads.iter().map(load_json).collect::<Vec<_>>(),
        "traffic": variant.traffic.iter().map(traffic_json).collect::<Vec<_>>(),
    })
}

fn loop_json(looked_at: &Loop) -> Value {
    let (schedule, reason) = match &looked_at.schedule {
        Some(Ok(s)) => (
            json!({
                "processor": s.processor, "cycles": s.cycles, "units": s.units, "unit": s.unit, "front_end": s.front_end,
                "chain": s.chain, "chain_code": s.chain_code, "chain_by_move": s.chain_by_move, "chain_by_memory": s.chain_by_memory, "aliased": s.aliased, "waiting": s.waiting, "stalled": s.stalled
            }),
            String::new(),
        ),
        Some(Err(why)) => (Value::Null, why.clone()),
        None => (Value::Null, looked_at.refusal.clone()),
    };
    json!({
        "place": place_json(&looked_at.place),
        "iterations": looked_at.iterations,
        "share": looked_at.share,
        "instructions": looked_at.code.len(),
        "left_out": looked_at.rare,
        "fills": looked_at.fills,
        "bound": looked_at.bound().map(Bound::name),
        "measured": looked_at.measured.as_ref().map(|measured| &measured.class),
        "simulated": looked_at.simulated().ok().map(Bound::name),
        "schedule": schedule,
        "reason": reason,
    })
}

fn branch_json(Branch { place, outcomes }: &Branch) -> Value {
    json!({
        "place": place_json(place),
        "executions": outcomes.executions,
        "jumps": outcomes.jumps,
        "turns": outcomes.turns,
        "entropy": outcomes.entropy(),
        "entropy_rate": outcomes.entropy_rate(),
        "mispredicted": outcomes.mispredicted,
    })
}

fn load_json(load: &Conditioned) -> Value {
    json!({
        "place": place_json(&load.place),
        "executions": load.executions,
        "fills": load.fills,
        "branch": branch_json(&load.branch),
    })
}

fn traffic_json(traffic: &Traffic) -> Value {
    json!({
        "function": traffic.function,
        "accesses": traffic.accesses,
        "fills": traffic.fills,
        "lines_in_a_bin": traffic.lines,
        "bin_width": traffic.width,
    })
}
