//! What `poise check` expects of models: read from TOML; unknown keys are errors, and every error has its place.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use modeler::model::{Exponent, Growth};
use serde::Deserialize;
use toml::{Spanned, Value};

use crate::error::{Error, Result};

/// One thing that is expected of every call path that matches.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// Names joined by ` -> `; `*` stands for any text.
    pub callpath: String,
    /// Which metric.
    pub metric: String,
    /// What is expected.
    pub requirement: Requirement,
    /// Where it is evaluated, by parameter; `None` where the file does not say.
    pub at: Option<Vec<(String, f64)>>,
    /// Line of the file at which it begins.
    pub line: usize,
    /// Lines that say the call path, what is expected, and where it is evaluated (or else `line`), for messages.
    pub lines: Lines,
}

/// Lines of a file of expectations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lines {
    /// Where the call path is named.
    pub callpath: usize,
    /// Where the growth, the limit or the baseline is.
    pub requirement: usize,
    /// Where the point is.
    pub at: usize,
}

/// What is expected of a model.
#[derive(Clone, Debug, PartialEq)]
pub enum Requirement {
    /// It grows at most so in the named parameters; where there are none, in no parameter.
    Growth(Vec<(String, Growth)>),
    /// Its value is at most this, in the metric's unit.
    AtMost(f64),
    /// It is no worse than the same call path's model of other measurements.
    Baseline {
        /// The other measurements.
        path: PathBuf,
        /// How much worse it may be: 0.05 is 5 %.
        tolerance: f64,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    at: Option<Spanned<BTreeMap<String, f64>>>,
    #[serde(default)]
    expect: Vec<Spanned<Entry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    callpath: Spanned<String>,
    metric: Option<String>,
    // Any values, so that what is wrong with them is told in our words.
    growth: Option<Spanned<Value>>,
    at_most: Option<Spanned<Value>>,
    baseline: Option<Spanned<PathBuf>>,
    tolerance: Option<Spanned<Value>>,
    at: Option<Spanned<BTreeMap<String, f64>>>,
}

/// How much worse than its baseline a model may be where the file does not say.
const TOLERANCE: f64 = 0.05;

/// Reads and checks a file of expectations. Baselines in it are relative to the file.
pub fn read(path: &Path) -> Result<Vec<Expectation>> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::cannot_read(path, &e))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    parse(&text, &path.display().to_string(), folder)
}

fn parse(text: &str, file: &str, folder: &Path) -> Result<Vec<Expectation>> {
    let source = Source { text, file };
    let raw: File = toml::from_str(text).map_err(|e| source.error(e.span().unwrap_or(0..0), e.message()))?;
    if raw.expect.is_empty() {
        return Err(source.error(0..0, "nothing is expected; add an [[expect]] with a callpath"));
    }
    let mut all = Vec::new();
    for entry in &raw.expect {
        let line = source.place(entry.span().start).0;
        let callpath = &entry.get_ref().callpath;
        let at = entry.get_ref().at.as_ref().or(raw.at.as_ref());
        let place = |span: Range<usize>| source.place(span.start).0;
        let at_line = at.map_or(line, |at| place(at.span()));
        let at = at.map(|at| at.get_ref().clone().into_iter().collect());
        for (requirement, span) in requirements(&source, entry, folder)? {
            all.push(Expectation {
                callpath: callpath.get_ref().clone(),
                metric: entry.get_ref().metric.clone().unwrap_or_else(|| "time".to_owned()),
                requirement,
                at: at.clone(),
                line,
                lines: Lines { callpath: place(callpath.span()), requirement: place(span), at: at_line },
            });
        }
    }
    Ok(all)
}

/// What an entry expects, and where in the file.
fn requirements(source: &Source, entry: &Spanned<Entry>, folder: &Path) -> Result<Vec<(Requirement, Range<usize>)>> {
    let e = entry.get_ref();
    let mut found = Vec::new();
    if let Some(value) = &e.growth {
        let bound = match value.get_ref() {
            Value::String(text) => growth(text),
            Value::Integer(1) => Ok(Vec::new()),
            other => Err(format!("`growth` is {other}; give it as text, such as \"p * log2(p)\", or \"1\" for none")),
        };
        found.push((Requirement::Growth(bound.map_err(|what| source.error(value.span(), what))?), value.span()));
    }
    if let Some(limit) = &e.at_most {
        let example = "a number that is not negative, in the metric's unit, such as `at_most = 1.2` for 1.2 s";
        found.push((Requirement::AtMost(source.positive(limit, "at_most", example)?), limit.span()));
    }
    if let Some(path) = &e.baseline {
        let tolerance = e.tolerance.as_ref().map_or(Ok(TOLERANCE), |t| {
            source.positive(t, "tolerance", "a number that is not negative, such as `tolerance = 0.05` for 5 %")
        })?;
        found.push((Requirement::Baseline { path: folder.join(path.get_ref()), tolerance }, path.span()));
    } else if let Some(tolerance) = &e.tolerance {
        return Err(source.error(tolerance.span(), "a tolerance belongs to a `baseline`, and there is none"));
    }
    if found.is_empty() {
        let what = "nothing is expected of this call path; add `growth`, `at_most` or `baseline`";
        return Err(source.error(entry.span(), what));
    }
    Ok(found)
}

/// The file being read.
struct Source<'a> {
    text: &'a str,
    file: &'a str,
}

impl Source<'_> {
    /// Line and column of a byte, from 1.
    fn place(&self, byte: usize) -> (usize, usize) {
        let before = &self.text[..byte.min(self.text.len())];
        (before.matches('\n').count() + 1, before.chars().rev().take_while(|&c| c != '\n').count() + 1)
    }

    fn error(&self, at: Range<usize>, what: impl std::fmt::Display) -> Error {
        let (line, column) = self.place(at.start);
        Error::Input(format!("{}:{line}:{column}: {}.", self.file, what.to_string().trim_end_matches('.')))
    }

    /// A finite number that is not negative; `example` is of what is expected.
    fn positive(&self, value: &Spanned<Value>, name: &str, example: &str) -> Result<f64> {
        let number = match value.get_ref() {
            Value::Float(number) => Some(*number),
            Value::Integer(number) => Some(*number as f64),
            _ => None,
        };
        let number = number.filter(|n| n.is_finite() && *n >= 0.0);
        number.ok_or_else(|| {
            let what = format!("`{name}` is {}; give {example}", value.get_ref());
            self.error(value.span(), what)
        })
    }
}

/// Reads a bound such as `p * log2(p)` or `O(n^(3/2) * log2(p)^2)`: one growth per parameter that it names; none for `1`.
fn growth(text: &str) -> Result<Vec<(String, Growth)>, String> {
    let trimmed = text.trim();
    let product = trimmed.strip_prefix("O(").and_then(|inner| inner.strip_suffix(')')).unwrap_or(trimmed);
    let mut bound: Vec<(String, Growth)> = Vec::new();
    if matches!(product.trim(), "1" | "constant") {
        return Ok(bound);
    }
    for factor in product.split('*') {
        let (name, exponent, log_exponent) = self::factor(factor.trim())?;
        match bound.iter_mut().find(|(known, _)| *known == name) {
            Some((_, growth)) => {
                growth.exponent += exponent;
                growth.log_exponent += log_exponent;
            }
            None => bound.push((name, Growth { exponent, log_exponent })),
        }
    }
    Ok(bound)
}

/// `p`, `p^2`, `p^(3/2)`, `p^0`, `sqrt(p)`, `log2(p)` or `log2(p)^2`: name, exponent and exponent of the logarithm.
fn factor(text: &str) -> Result<(String, Exponent, i32), String> {
    let wrong = || format!("`{text}` is no factor; expected such as p, p^(3/2), sqrt(p), log2(p)^2, or p^0 for none");
    let (base, power) = match text.rsplit_once('^') {
        Some((base, power)) => (base.trim(), exponent(power).ok_or_else(wrong)?),
        None => (text, Exponent::from_integer(1)),
    };
    let inside =
        |function: &str| base.strip_prefix(function)?.trim().strip_prefix('(')?.strip_suffix(')').map(str::trim);
    let (name, exponent, log_exponent) = if let Some(name) = inside("log2").or_else(|| inside("log")) {
        let whole = power.is_integer().then(|| *power.numer()).ok_or_else(wrong)?;
        (name, Exponent::from_integer(0), whole)
    } else if let Some(name) = inside("sqrt") {
        (name, power / 2, 0)
    } else {
        (base, power, 0)
    };
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(is_name) {
        return Err(wrong());
    }
    Ok((name.to_owned(), exponent, log_exponent))
}

/// `2`, `-1`, `(3/2)` with numbers that arithmetic can hold.
fn exponent(text: &str) -> Option<Exponent> {
    let text = text.trim();
    let bare = text.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')).unwrap_or(text).replace(' ', "");
    let exponent: Exponent = bare.parse().ok()?;
    (exponent.numer().unsigned_abs() <= 64 && exponent.denom().unsigned_abs() <= 64).then_some(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_read_as_written() {
        let read = |text: &str| {
            let one = |(name, g): (String, Growth)| format!("{name}:{}:{}", g.exponent, g.log_exponent);
            growth(text).map(|all| all.into_iter().map(one).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(read("p * log2(p)").unwrap(), "p:1:1");
        assert_eq!(read("O(n^(3/2) * log(p)^2)").unwrap(), "n:3/2:0 p:0:2");
        assert_eq!(read("sqrt( p )*p").unwrap(), "p:3/2:0");
        assert_eq!(read("p^0").unwrap(), "p:0:0");
        for constant in ["1", "O(1)", " O( 1 ) ", "constant"] {
            assert_eq!(read(constant).unwrap(), "", "{constant}");
        }
        for wrong in ["", "p +n", "2 * p", "p^x", "log2(p", "p^(1/0)", "log2(p)^(1/2)", "p^99"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn errors_have_their_place_and_say_what_to_do() {
        let message = |text: &str| parse(text, "e.toml", Path::new("")).unwrap_err().to_string();
        assert!(message("[[expect]]\ncallpath = \"*\"\n").starts_with("e.toml:1:1: nothing is expected of this"));
        assert!(
            message("[[expect]]\ncallpath = \"*\"\ngrowth = \"p+\"\n").starts_with("e.toml:3:10: `p+` is no factor")
        );
        assert!(message("[[expect]]\ncallpath = \"*\"\nat_most = -1.0\n").starts_with("e.toml:3:11: `at_most` is -1"));
        let text = message("[[expect]]\ncallpath = \"*\"\nat_most = \"1.2 s\"\n");
        let expected =
            "e.toml:3:11: `at_most` is \"1.2 s\"; give a number that is not negative, in the metric's unit, such as";
        assert!(text.starts_with(expected), "{text}");
        let text = message("[[expect]]\ncallpath = \"*\"\nbaseline = \"b\"\ntolerance = \"5 %\"\n");
        assert!(
            text.starts_with("e.toml:4:13: `tolerance` is \"5 %\"; give a number") && text.contains("0.05"),
            "{text}"
        );
        let text = message("[[expect]]\ncallpath = \"*\"\ngrowth = 2\n");
        assert!(text.starts_with("e.toml:3:10: `growth` is 2; give it as text"), "{text}");
        assert!(message("[[expect]]\ncalpath = \"*\"\n").starts_with("e.toml:2:1: unknown field `calpath`"));
        for nothing in ["expect = []\n", "", "at = { p = 64 }\n"] {
            assert!(message(nothing).starts_with("e.toml:1:1: nothing is expected; add an [[expect]]"), "{nothing}");
        }
        let later = "# why\n\n[[expect]]\ncallpath = \"a\"\nat_most = 1\n\n[[expect]]\ncallpath = \"b\"\n";
        assert!(message(later).starts_with("e.toml:7:1: nothing is expected of this call path"));
        assert!(message("[[expect]]\ncallpath = \"*\"\nat_most = 1.0\ntolerance = 0.1\n").contains("belongs to"));
    }

    #[test]
    fn every_requirement_of_an_entry_is_one_expectation() {
        let text =
            "at = { p = 64 }\n[[expect]]\ncallpath = \"main\"\ngrowth = \"p\"\nat_most = 1.5\nbaseline = \"b.json\"\n";
        let all = parse(text, "e.toml", Path::new("dir")).unwrap();
        assert_eq!(all.len(), 3);
        assert!(
            all.iter().all(|e| (e.line, e.lines.at) == (2, 1)
                && e.metric == "time"
                && e.at == Some(vec![("p".into(), 64.0)]))
        );
        assert_eq!(
            all.iter().map(|e| (e.lines.callpath, e.lines.requirement)).collect::<Vec<_>>(),
            [(3, 4), (3, 5), (3, 6)]
        );
        assert_eq!(all[1].requirement, Requirement::AtMost(1.5));
        assert_eq!(all[2].requirement, Requirement::Baseline { path: "dir/b.json".into(), tolerance: 0.05 });
    }
}
