//! The absorption of a run as `poise absorb` shows it: for people, as JSON (schema `counterpoise/absorption`, version 1)
//! and as CSV. `docs/formats.md` describes the members.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{LoopReport, Mode, Refused, Report, State, place};
use crate::report::Table;
use crate::report::terminal::table;
use crate::words::counted;

/// `value` with four significant digits, for what no measurement gives more of; `null` where it is not finite.
fn rounded(value: f64) -> Value {
    if !value.is_finite() {
        return Value::Null;
    }
    // Through text, so that no digits of the binary fraction come back.
    let short: f64 = format!("{value:.3e}").parse().unwrap_or(value);
    if short.fract() == 0.0 && short.abs() < 1e15 { json!(short as i64) } else { json!(short) }
}

fn maybe(value: Option<f64>) -> Value {
    value.map_or(Value::Null, rounded)
}

/// The same as text; empty where it is not known.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A mode's numbers by their names, in the order of the contract; the CSV's columns are the same.
fn members(mode: &Mode) -> Vec<(&'static str, Value)> {
    let injected = |of: fn(&super::Injected) -> u32| mode.injected.as_ref().map_or(Value::Null, |i| json!(of(i)));
    vec![
        ("raw", rounded(mode.raw)),
        ("lower", rounded(mode.lower)),
        ("upper", maybe(mode.upper)),
        ("relative", maybe(mode.relative)),
        ("state", json!(mode.state.name())),
        ("slope_ns", maybe(mode.slope_ns)),
        ("slack_ns", maybe(mode.slack_ns())),
        ("slack", rounded(mode.slack[1])),
        ("slack_lower", rounded(mode.slack[0])),
        ("slack_upper", rounded(mode.slack[2])),
        ("k1", rounded(mode.k1)),
        ("k2", maybe(mode.k2)),
        ("payload", injected(|i| i.payload)),
        ("overhead", injected(|i| i.overhead)),
        ("spills", injected(|i| i.spills)),
    ]
}

fn mode_json(mode: &Mode) -> Value {
    let mut object: Map<String, Value> = members(mode).into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
    if !mode.reason.is_empty() {
        object.insert("reason".into(), json!(mode.reason));
    }
    let point = |p: &super::Point| {
        let (ratio, lower, upper) = (rounded(p.ratio), rounded(p.lower), rounded(p.upper));
        json!({"k": p.k, "ratio": ratio, "lower": lower, "upper": upper, "bursts": p.bursts, "unused": p.unused})
    };
    object.insert("points".into(), mode.points.iter().map(point).collect());
    Value::Object(object)
}

/// A loop as JSON has it.
#[derive(Serialize)]
struct Entry<'a> {
    callpath: &'a [String],
    #[serde(rename = "loop")]
    place: String,
    function: &'a str,
    class: &'static str,
    reason: &'a str,
    concerns: &'a [String],
    executions: u64,
    /// Bursts that did not fit into memory, and rounds of executions too brief for the clock.
    left_out: u64,
    /// Only where executions fall into several classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<Value>,
    per: &'static str,
    ns: Value,
    instructions: Option<u32>,
    accesses: Option<u32>,
    /// Iterations of the source that one iteration of the machine code does; null where that is not known.
    width: Option<u32>,
    modes: Map<String, Value>,
}

impl<'a> Entry<'a> {
    fn of(report: &'a LoopReport, concerns: &'a [String]) -> Self {
        let (index, of) = report.part;
        Self {
            callpath: &report.callpath,
            place: report.place(),
            function: &report.target.function,
            class: report.class.name(),
            reason: &report.reason,
            concerns,
            executions: report.executions,
            left_out: report.left_out,
            part: (of > 1).then(|| json!({"index": index, "of": of, "share": rounded(report.share)})),
            per: report.unit(),
            ns: rounded(report.nanoseconds),
            instructions: report.code.map(|c| c.0),
            accesses: report.code.map(|c| c.1),
            width: Some(report.target.width).filter(|&width| width > 0),
            modes: report.modes.iter().map(|mode| (mode.name.clone(), mode_json(mode))).collect(),
        }
    }
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    schema_version: u32,
    tool_version: &'static str,
    level: f64,
    loops: Vec<Entry<'a>>,
    refused: Vec<Value>,
}

impl Report {
    /// The report as one JSON object with a line feed at its end.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let json: serde_json::Value = serde_json::from_str(&report.json())?;
    /// assert_eq!(json["loops"][0]["loop"], "solve.c:41");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn json(&self) -> String {
        let refused = |r: &Refused| {
            let callpath = (!r.callpath.is_empty()).then_some(&r.callpath);
            json!({"callpath": callpath, "loop": place(&r.target), "function": r.target.function, "reason": r.reason})
        };
        let document = Document {
            schema: "counterpoise/absorption",
            schema_version: 1,
            tool_version: env!("CARGO_PKG_VERSION"),
            level: self.level,
            loops: self.loops.iter().map(|report| Entry::of(report, &self.concerns)).collect(),
            refused: self.refused.iter().map(refused).collect(),
        };
        // Maps with text keys and finite numbers always have a JSON form.
        serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
    }

    /// One row per loop and mode, with a header row (RFC 4180, line feeds); what is not known is empty.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(report.csv().lines().count(), 2); // a header, and one mode of one loop
    /// ```
    #[must_use]
    pub fn csv(&self) -> String {
        let mut writer = csv::WriterBuilder::new().from_writer(Vec::new());
        let first = ["callpath", "loop", "class", "part", "executions", "per", "ns", "instructions", "mode"];
        let rest = self.loops.iter().flat_map(|l| &l.modes).map(members).next().unwrap_or_default();
        let header = first.into_iter().chain(rest.iter().map(|m| m.0));
        // Writing into memory cannot fail.
        let _ = writer.write_record(header);
        for report in &self.loops {
            for mode in &report.modes {
                let mut row = vec![
                    report.callpath.join("->"),
                    report.place(),
                    report.class.name().to_owned(),
                    report.part.0.to_string(),
                    report.executions.to_string(),
                    report.unit().to_owned(),
                    text(&rounded(report.nanoseconds)),
                    report.code.map_or(String::new(), |c| c.0.to_string()),
                    mode.name.clone(),
                ];
                row.extend(members(mode).iter().map(|m| text(&m.1)));
                let _ = writer.write_record(row);
            }
        }
        String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
    }

    /// The report for people: each loop with its class and a table of its modes, then what could not be measured and why.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(report.human().starts_with("main -> solve  solve.c:41\n"));
    /// ```
    #[must_use]
    pub fn human(&self) -> String {
        let mut out = String::new();
        for report in &self.loops {
            let _ = writeln!(out, "{}", heading(report));
            let _ = writeln!(out, "  {}", facts(report));
            let _ = writeln!(out, "  {}", report.sentence());
            for concern in &self.concerns {
                let _ = writeln!(out, "  To be doubted: {concern}.");
            }
            let rows = report.modes.iter().map(row).collect();
            let header = ["mode", "absorbed", "interval", "per instruction", "slope", "idle", "code", "note"];
            let header = header.map(str::to_owned).to_vec();
            for line in table(&Table { header, rows }).lines() {
                let _ = writeln!(out, "    {line}");
            }
            out.push('\n');
        }
        if self.loops.is_empty() {
            out.push_str("No loop was measured.\n");
        }
        for refused in &self.refused {
            let _ = writeln!(out, "{}", refused.line());
        }
        out
    }
}

fn heading(report: &LoopReport) -> String {
    let part = match report.part {
        (_, 1) => String::new(),
        (index, of) => {
            format!(", executions of kind {} of {of} ({:.0} % of the bursts)", index + 1, 100.0 * report.share)
        }
    };
    format!("{}  {}{part}", report.callpath.join(" -> "), report.place())
}

fn facts(report: &LoopReport) -> String {
    let code = report.code.map_or(String::new(), |(instructions, accesses)| {
        format!(
            ", {} with {}",
            counted(instructions, "instruction", "instructions"),
            counted(accesses, "memory access", "memory accesses")
        )
    });
    let executions = counted(report.executions, "execution", "executions");
    format!("{} ns per {}{code}, {executions}", text(&rounded(report.nanoseconds)), report.unit())
}

fn row(mode: &Mode) -> Vec<String> {
    let number = |value: f64| if value.is_finite() { format!("{value:.1}") } else { "n/a".to_owned() };
    let absorbed = match mode.state {
        State::Measured => number(mode.raw),
        State::AtLeast => format!("{:.0} or more", mode.raw),
        State::Undecided => "undecided".to_owned(),
    };
    let interval = match (mode.state, mode.upper) {
        (State::AtLeast, _) => String::new(),
        (_, Some(upper)) => format!("{:.1} to {upper:.1}", mode.lower),
        (_, None) => format!("{:.1} or more", mode.lower),
    };
    let code = mode.injected.map_or(String::new(), |i| {
        format!(
            "{} + {}{}",
            i.payload,
            i.overhead,
            if i.spills > 0 { format!(", {}", counted(i.spills, "spill", "spills")) } else { String::new() }
        )
    });
    vec![
        mode.name.clone(),
        absorbed,
        interval,
        mode.relative.filter(|r| r.is_finite()).map_or(String::new(), |r| format!("{r:.2}")),
        mode.slope_ns.map_or(String::new(), |slope| format!("{slope:.3} ns")),
        if mode.slack[1].is_finite() { format!("{:.0} %", 100.0 * mode.slack[1]) } else { String::new() },
        code,
        note(mode),
    ]
}

/// Why a mode is undecided, or which quantities were not used because of their code.
fn note(mode: &Mode) -> String {
    if !mode.reason.is_empty() {
        return mode.reason.clone();
    }
    let beside = |p: &&super::Point| p.unused.as_deref().is_some_and(|why| why.contains("beside"));
    let left_out: Vec<String> = mode.points.iter().filter(beside).map(|p| p.k.to_string()).collect();
    if left_out.is_empty() {
        String::new()
    } else {
        format!("not used, too much beside the noise: {}", left_out.join(", "))
    }
}
