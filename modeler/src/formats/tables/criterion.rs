//! criterion's results: a folder, mostly `target/criterion`, with a folder `new` for each benchmark that holds
//! `benchmark.json` and `sample.json`.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Row, add};
use crate::formats::collect::Collector;
use crate::formats::error::{ErrorKind, Place, ReadError};
use crate::formats::json::Document;
use crate::formats::source::{Source, text};
use crate::formats::{Detection, Format, Reader};

/// Reads criterion's results.
pub(in crate::formats) struct Criterion;

#[derive(Deserialize)]
struct Benchmark {
    group_id: String,
    function_id: Option<String>,
    value_str: Option<String>,
}

/// Iterations and total nanoseconds of each sample.
#[derive(Deserialize)]
struct Sample {
    iters: Vec<f64>,
    times: Vec<f64>,
}

/// How deep `new` may lie: group, function and value.
const DEPTH: usize = 4;

impl Reader for Criterion {
    fn format(&self) -> Format {
        Format::Criterion
    }

    fn detect(&self, source: &Source) -> Detection {
        match (&source.path, source.head()) {
            (Some(folder), None) if !find(folder, DEPTH).is_empty() => Detection::Yes,
            _ => Detection::no("it is no folder with criterion's `new/benchmark.json` in it"),
        }
    }

    fn read(&self, source: Source, into: &mut Collector) -> Result<(), ReadError> {
        let mut rows = Vec::new();
        for folder in source.path.as_deref().map(|f| find(f, DEPTH)).unwrap_or_default() {
            let benchmark: Benchmark = parse(&folder.join("benchmark.json"))?;
            let path = folder.join("sample.json");
            let sample: Sample = parse(&path)?;
            let pairs = sample.times.iter().zip(&sample.iters);
            let values: Vec<f64> = pairs.map(|(time, iterations)| time / iterations * 1e-9).collect();
            if sample.times.len() != sample.iters.len() || values.iter().any(|v| !v.is_finite()) {
                let what = "its samples and iterations do not fit together";
                return Err(ReadError::malformed(Place::file(path.display().to_string()), what));
            }
            let value = benchmark.value_str.as_deref();
            let number = value.and_then(|v| v.trim().parse::<f64>().ok()).filter(|n| n.is_finite());
            let mut callpath = vec![benchmark.group_id];
            callpath.extend(benchmark.function_id);
            if number.is_none() {
                callpath.extend(benchmark.value_str);
            }
            let parameters = number.map(|n| ("n".to_owned(), n)).into_iter().collect();
            rows.push(Row { parameters, callpath, metric: "time".into(), unit: "s".into(), values, ..Row::default() });
        }
        add(rows, &source.name, into)
    }
}

/// The folders of results below `folder`, in the order of their names.
fn find(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let new = folder.join("new");
    if new.join("benchmark.json").is_file() && new.join("sample.json").is_file() {
        return vec![new];
    }
    let mut folders: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).filter(|p| p.is_dir()).collect();
    folders.sort();
    if depth == 0 { Vec::new() } else { folders.iter().flat_map(|f| find(f, depth - 1)).collect() }
}

fn parse<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, ReadError> {
    let name = path.display().to_string();
    let unreadable = |e| ReadError::new(ErrorKind::Unreadable, Place::file(&name), format!("cannot be read: {e}"));
    let text = text(&name, fs::read(path).map_err(unreadable)?)?;
    Document { name: &name, text: &text }.parse()
}
