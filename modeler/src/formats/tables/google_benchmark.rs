//! Google Benchmark's JSON: `--benchmark_out=FILE --benchmark_out_format=json`.

use serde_json::{Map, Value};

use super::{Row, add_listed};
use crate::formats::collect::Collector;
use crate::formats::error::{Place, ReadError};
use crate::formats::json::{first_object_keys, is_json_object};
use crate::formats::source::Source;
use crate::formats::{Detection, Format, Reader, units};

/// Reads Google Benchmark's results.
pub(in crate::formats) struct GoogleBenchmark;

/// Members of a benchmark that are not counters of the user's.
const OWN: [&str; 8] = [
    "family_index",
    "per_family_instance_index",
    "repetitions",
    "repetition_index",
    "threads",
    "iterations",
    "real_time",
    "cpu_time",
];

impl Reader for GoogleBenchmark {
    fn format(&self) -> Format {
        Format::GoogleBenchmark
    }

    fn detect(&self, source: &Source) -> Detection {
        let Some((head, _)) = source.head() else { return Detection::no("it is a folder") };
        let keys = if is_json_object(head) { first_object_keys(head) } else { Vec::new() };
        match &keys[..] {
            [first, second, ..] if first == "context" && second == "benchmarks" => Detection::Yes,
            _ => Detection::no("its first object does not have the keys `context` and `benchmarks`"),
        }
    }

    fn read(&self, source: Source, into: &mut Collector) -> Result<(), ReadError> {
        add_listed(source, "benchmarks", into, rows)
    }
}

/// A metric of a benchmark is a row; aggregates follow from the repetitions, and what failed measured nothing.
fn rows(
    benchmark: Map<String, Value>,
    place: &dyn Fn() -> Place,
    _into: &mut Collector,
) -> Result<Vec<Row>, ReadError> {
    let wrong = |what: String| ReadError::malformed(place(), what);
    let string = |key: &str| benchmark.get(key).and_then(Value::as_str);
    let failed = benchmark.get("error_occurred").and_then(Value::as_bool) == Some(true);
    if string("run_type") == Some("aggregate") || failed {
        return Ok(Vec::new());
    }
    let full = string("run_name").or(string("name"));
    let full = full.ok_or_else(|| wrong("this benchmark has no `name`".into()))?;
    let unit = string("time_unit").unwrap_or("ns");
    let scale = units::base(unit)
        .filter(|(kind, _)| *kind == units::Kind::Time)
        .map(|(_, factor)| factor)
        .ok_or_else(|| wrong(format!("the time unit `{unit}` is unknown")))?;
    let (callpath, parameters) = split(full);
    let mut rows = Vec::new();
    for (key, value) in &benchmark {
        let (metric, scale) = match key.as_str() {
            "real_time" => ("time", scale),
            "cpu_time" => ("cpu_time", scale),
            own if OWN.contains(&own) => continue,
            counter => (counter, 1.0),
        };
        let Some(value) = value.as_f64().filter(|v| v.is_finite()) else { continue };
        rows.push(Row {
            parameters: parameters.clone(),
            callpath: vec![callpath.clone()],
            metric: metric.to_owned(),
            unit: if metric.ends_with("time") { "s".into() } else { String::new() },
            values: vec![value * scale],
            ..Row::default()
        });
    }
    Ok(rows)
}

/// The name and the arguments of `BM_sort/1024/threads:4/real_time`. One argument without a name is `n`, several are
/// `n1`, `n2` and so on.
fn split(full: &str) -> (String, Vec<(String, f64)>) {
    let mut parts = full.split('/');
    let mut name = parts.next().unwrap_or_default().to_owned();
    let (mut parameters, mut unnamed) = (Vec::new(), 0);
    for part in parts {
        let (key, value) = part.split_once(':').map_or(("", part), |(key, value)| (key, value));
        let modifiers = ["repeats", "min_time", "min_warmup_time", "iterations"];
        if modifiers.contains(&key) || ["real_time", "process_time", "manual_time"].contains(&part) {
            continue;
        }
        match value.parse::<f64>() {
            Ok(number) if number.is_finite() && key.is_empty() => {
                unnamed += 1;
                parameters.push((format!("n{unnamed}"), number));
            }
            Ok(number) if number.is_finite() => parameters.push((key.to_owned(), number)),
            _ => name = format!("{name}/{part}"),
        }
    }
    if unnamed == 1
        && let Some(only) = parameters.iter_mut().find(|(name, _)| name == "n1")
    {
        only.0 = "n".into();
    }
    (name, parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_arguments() {
        let of = |full: &str| split(full);
        assert_eq!(of("BM_sort/1024"), ("BM_sort".into(), vec![("n".into(), 1024.0)]));
        assert_eq!(of("BM_x<int>/8/64/real_time").1, [("n1".into(), 8.0), ("n2".into(), 64.0)]);
        assert_eq!(of("BM_x/rows:8/threads:4/min_time:2.000").1, [("rows".into(), 8.0), ("threads".into(), 4.0)]);
        assert_eq!(of("Suite/Case/8"), ("Suite/Case".into(), vec![("n".into(), 8.0)]));
    }
}
