//! Profiles of other tools, against what independent programs read from the same files.

mod by_hand;
mod cube;
mod tools;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use modeler::experiment::OverRanks;
use modeler::formats::{self, Format, Input, ReadError, ReadOptions, Scaling, Values};

fn dataset(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets").join(path)
}

fn read_with(path: &Path, options: &ReadOptions) -> Input {
    formats::read(&[path.to_owned()], options).unwrap_or_else(|e| panic!("{e}"))
}

fn read(path: &str) -> Input {
    read_with(&dataset(path), &ReadOptions::default())
}

fn read_bytes(bytes: Vec<u8>) -> Result<Input, ReadError> {
    formats::read_bytes("input", bytes, &ReadOptions::default())
}

/// Values point by point of one metric at one call path.
fn values(input: &Input, path: &str, metric: &str, over: Option<OverRanks>) -> Vec<(Vec<f64>, Vec<f64>)> {
    let e = &input.experiment;
    let is_it = |m: &modeler::experiment::Metric| m.name == metric && m.over_ranks == over;
    let found = e.series.iter().find(|s| e.path(s.callpath).join("->") == path && is_it(&e.metrics[s.metric as usize]));
    let series = found.unwrap_or_else(|| panic!("no {metric} over {over:?} at {path}"));
    e.measurements(series).map(|(point, values)| (point.to_vec(), values.to_vec())).collect()
}

fn codes(input: &Input) -> Vec<&str> {
    input.warnings.iter().map(|w| w.code).collect()
}
