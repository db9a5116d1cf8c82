//! hyperfine's JSON: `--export-json FILE`, with parameters of `--parameter-scan` and `--parameter-list`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Row, add_listed};
use crate::formats::collect::Collector;
use crate::formats::error::{Place, ReadError, STATISTICS_ONLY};
use crate::formats::json::{first_object_keys, is_json_object};
use crate::formats::source::Source;
use crate::formats::{Detection, Format, Reader};

/// Reads hyperfine's results.
pub(in crate::formats) struct Hyperfine;

#[derive(Deserialize)]
struct Command {
    command: String,
    mean: f64,
    user: Option<f64>,
    system: Option<f64>,
    #[serde(default)]
    times: Vec<f64>,
    #[serde(default)]
    parameters: BTreeMap<String, String>,
}

impl Reader for Hyperfine {
    fn format(&self) -> Format {
        Format::Hyperfine
    }

    fn detect(&self, source: &Source) -> Detection {
        let Some((head, _)) = source.head() else { return Detection::no("it is a folder") };
        let keys = if is_json_object(head) { first_object_keys(head) } else { Vec::new() };
        let text = String::from_utf8_lossy(head);
        if keys.first().is_some_and(|k| k == "results") && text.contains("\"command\"") && text.contains("\"mean\"") {
            Detection::Yes
        } else {
            Detection::no("its first object has no key `results` with commands and means")
        }
    }

    fn read(&self, source: Source, into: &mut Collector) -> Result<(), ReadError> {
        add_listed(source, "results", into, Command::rows)
    }
}

impl Command {
    fn rows(self, place: &dyn Fn() -> Place, into: &mut Collector) -> Result<Vec<Row>, ReadError> {
        let (mut parameters, mut callpath) = (Vec::new(), self.command.clone());
        for (name, value) in &self.parameters {
            if let Some(number) = value.trim().parse::<f64>().ok().filter(|n| n.is_finite()) {
                parameters.push((name.clone(), number));
                callpath = without(&callpath, value, name);
            }
        }
        let times = if self.times.is_empty() {
            let message = "Only the mean of the repetitions was kept; it counts as one repetition.";
            into.warn(STATISTICS_ONLY, place(), message);
            vec![self.mean]
        } else {
            self.times
        };
        let columns =
            [("time", times), ("user_time", Vec::from_iter(self.user)), ("system_time", Vec::from_iter(self.system))];
        let mut rows = Vec::new();
        for (metric, values) in columns {
            if values.iter().any(|v| !v.is_finite()) {
                return Err(ReadError::malformed(place(), "a time is not finite"));
            }
            let (parameters, callpath) = (parameters.clone(), vec![callpath.clone()]);
            rows.push(Row { parameters, callpath, metric: metric.into(), unit: "s".into(), values, ..Row::default() });
        }
        Ok(rows)
    }
}

/// `command` with `{name}` for each `value` that stands alone, so that points of one command have one name.
fn without(command: &str, value: &str, name: &str) -> String {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '.');
    let (mut text, mut rest) = (String::new(), command);
    while let Some(at) = if value.is_empty() { None } else { rest.find(value) } {
        let end = at + value.len();
        let before = rest[..at].chars().next_back().or(text.chars().next_back());
        let alone = !is_part(before) && !is_part(rest[end..].chars().next());
        text.push_str(&rest[..at]);
        text.push_str(&if alone { format!("{{{name}}}") } else { value.to_owned() });
        rest = &rest[end..];
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_parameters_give_way_to_their_names() {
        assert_eq!(without("sort -n 10 file10 10", "10", "n"), "sort -n {n} file10 {n}");
        assert_eq!(without("sleep 0.1", "0.1", "t"), "sleep {t}");
    }
}
