//! Tables of results: benchmark harnesses and comma-separated values, whose rows say parameters, what was measured and
//! repetitions themselves.

mod columns;
mod criterion;
mod google_benchmark;
mod hyperfine;
mod suggest;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::collect::Collector;
use super::error::{IGNORED, Place, ReadError};
use super::json::{Document, Step};
use super::profiles::names::{self, Pattern};
use super::source::Source;
use crate::experiment::{Metric, OverRanks};

pub(super) use columns::Columns;
pub(super) use criterion::Criterion;
pub(super) use google_benchmark::GoogleBenchmark;
pub(super) use hyperfine::Hyperfine;
pub(crate) use suggest::has_decimal_comma;
pub(super) use suggest::{is_parameter, without_roles};

/// One row: where, at which point, of what, and its repetitions.
#[derive(Debug, Default)]
struct Row {
    parameters: Vec<(String, f64)>,
    callpath: Vec<String>,
    metric: String,
    unit: String,
    over_ranks: Option<OverRanks>,
    values: Vec<f64>,
    /// Line and column of the values, where they are of one cell.
    at: Option<(usize, usize)>,
}

/// Reads a JSON object whose member `key` is a list of `T`s, each of which gives rows; it is told its own place.
fn add_listed<T: DeserializeOwned>(
    source: Source,
    key: &str,
    into: &mut Collector,
    rows_of: impl Fn(T, &dyn Fn() -> Place, &mut Collector) -> Result<Vec<Row>, ReadError>,
) -> Result<(), ReadError> {
    let name = source.name.clone();
    let text = source.into_text()?;
    add_listed_in(&Document { name: &name, text: &text }, key, into, rows_of)
}

/// [`add_listed`] of a document that was read.
fn add_listed_in<T: DeserializeOwned>(
    document: &Document,
    key: &str,
    into: &mut Collector,
    rows_of: impl Fn(T, &dyn Fn() -> Place, &mut Collector) -> Result<Vec<Row>, ReadError>,
) -> Result<(), ReadError> {
    let mut members: serde_json::Map<String, Value> = document.parse()?;
    let Some(Value::Array(list)) = members.remove(key) else {
        return Err(document.error(&[Step::Key(key)], format!("`{key}` is no list")));
    };
    let mut rows = Vec::new();
    for (index, item) in list.into_iter().enumerate() {
        let place = || document.place(&[Step::Key(key), Step::Index(index)]);
        let item = T::deserialize(item).map_err(|e| ReadError::malformed(place(), e.to_string()))?;
        rows.extend(rows_of(item, &place, into)?);
    }
    add(rows, document.name, into)
}

/// Adds rows. Those with other parameters than most are left out, since an experiment has one set of them; rows without
/// any take those in the file's name.
fn add(rows: Vec<Row>, file: &str, into: &mut Collector) -> Result<(), ReadError> {
    let place = Place::file(file);
    let said = match &into.options.pattern {
        Some(pattern) => Pattern::new(pattern)?.find(Path::new(file))?.parameters,
        None if rows.iter().all(|row| row.parameters.is_empty()) => {
            let name = Path::new(file).file_name().map_or(String::new(), |n| n.to_string_lossy().into_owned());
            let said = names::extrap(names::stem(&name));
            if let Some(text) = said.unclear.first() {
                return Err(names::unclear(place, text));
            }
            said.parameters
        }
        None => Vec::new(),
    };
    let names_of = |row: &Row| {
        let mut names: Vec<String> = said.iter().chain(&row.parameters).map(|(name, _)| name.clone()).collect();
        names.sort();
        names
    };
    let mut users: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    rows.iter().for_each(|row| *users.entry(names_of(row)).or_default() += 1);
    // Of sets with as many rows the first in the order of their names.
    let most = users.iter().max_by_key(|(names, count)| (**count, std::cmp::Reverse((*names).clone())));
    let Some(chosen) = most.map(|(names, _)| names.clone()) else { return Ok(()) };
    if chosen.is_empty() {
        let error = ReadError::malformed(place, "neither its rows nor its name say a parameter");
        return Err(match &into.options.columns {
            Some(_) => error
                .expected("a column with the role parameter, or a file named as app.p4.n10")
                .advice("Add it to --columns, as in p=parameter, or describe the name with --pattern"),
            None => error
                .expected("benchmarks with arguments, or a file named as app.p4.n10")
                .advice("Describe the name with --pattern"),
        });
    }
    let (mut left_out, mut metrics) = (BTreeMap::new(), HashMap::new());
    for row in rows {
        if names_of(&row) != chosen {
            left_out.entry(row.callpath.join("->")).or_insert(row.parameters);
            continue;
        }
        let all: Vec<(String, f64)> = said.iter().cloned().chain(row.parameters).collect();
        let names: Vec<String> = all.iter().map(|(name, _)| name.clone()).collect();
        let coordinates: Vec<f64> = all.iter().map(|&(_, value)| value).collect();
        let order = into.parameters(&names, &place)?;
        let point = into.point(&order, &coordinates);
        let callpath = into.callpath_of(&row.callpath);
        let metric = Metric { name: row.metric, unit: row.unit, over_ranks: row.over_ranks };
        let metric = *metrics.entry(metric).or_insert_with_key(|metric| into.metric(metric.clone()));
        let place = || row.at.map_or_else(|| place.clone(), |(line, column)| Place::at(file, line, column));
        row.values.into_iter().for_each(|value| into.add_from((callpath, metric, point), value, place));
    }
    for (callpath, parameters) in left_out {
        let list: Vec<&str> = parameters.iter().map(|(name, _)| name.as_str()).collect();
        let message = format!(
            "`{callpath}` has the parameters ({}) where most have ({}); it was left out. Model it alone.",
            list.join(", "),
            chosen.join(", ")
        );
        into.warn(IGNORED, place.clone(), message);
    }
    Ok(())
}
