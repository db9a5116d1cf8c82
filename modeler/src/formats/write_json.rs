//! Writes both dialects of Extra-P JSON.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::Format;
use super::write::{WriteError, metric_names, regions};
use crate::experiment::{CallPathId, Experiment};

/// An experiment with the names that its parts have in Extra-P.
struct Named<'a> {
    experiment: &'a Experiment,
    metrics: Vec<String>,
    callpaths: BTreeMap<CallPathId, String>,
}

impl<'a> Named<'a> {
    fn new(experiment: &'a Experiment, format: Format) -> Result<Self, WriteError> {
        let metrics = metric_names(&experiment.metrics, format)?;
        let callpaths = regions(experiment, &metrics, format)?;
        Ok(Self { experiment, metrics, callpaths })
    }
}

/// The newer dialect: measurements by call path and metric.
pub(super) fn nested(experiment: &Experiment, out: &mut impl Write) -> Result<(), WriteError> {
    let named = Named::new(experiment, Format::ExtraPJson)?;
    serde_json::to_writer(&mut *out, &Nested(&named)).map_err(io::Error::from)?;
    Ok(writeln!(out)?)
}

struct Nested<'a>(&'a Named<'a>);

impl Serialize for Nested<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("parameters", &self.0.experiment.parameters)?;
        map.serialize_entry("measurements", &ByCallPath(self.0))?;
        map.end()
    }
}

struct ByCallPath<'a>(&'a Named<'a>);

impl Serialize for ByCallPath<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Named { experiment, metrics, callpaths } = self.0;
        let mut map = serializer.serialize_map(None)?;
        for of_callpath in experiment.series.chunk_by(|a, b| a.callpath == b.callpath) {
            let points = |s| experiment.measurements(s).map(|(point, values)| Point { point, values }).collect();
            let by_metric: BTreeMap<&String, Vec<Point>> =
                of_callpath.iter().map(|s| (&metrics[s.metric as usize], points(s))).collect();
            map.serialize_entry(&callpaths[&of_callpath[0].callpath], &by_metric)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct Point<'a> {
    point: &'a [f64],
    values: &'a [f64],
}

/// The older dialect: parts are numbered from 1 and each value names the numbers of its own.
pub(super) fn numbered(experiment: &Experiment, out: &mut impl Write) -> Result<(), WriteError> {
    let named = Named::new(experiment, Format::ExtraPJsonNumbered)?;
    serde_json::to_writer(&mut *out, &Numbered(&named)).map_err(io::Error::from)?;
    Ok(writeln!(out)?)
}

struct Numbered<'a>(&'a Named<'a>);

#[derive(Serialize)]
struct Part<'a> {
    id: usize,
    name: &'a str,
}

#[derive(Serialize)]
struct Coordinates {
    id: usize,
    parameter_value_pairs: Vec<Coordinate>,
}

#[derive(Serialize)]
struct Coordinate {
    parameter_id: usize,
    parameter_value: f64,
}

impl Serialize for Numbered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Named { experiment, metrics, callpaths } = self.0;
        fn parts<'a>(names: impl Iterator<Item = &'a String>) -> Vec<Part<'a>> {
            names.enumerate().map(|(i, name)| Part { id: i + 1, name }).collect()
        }
        let point = |(i, point): (usize, &Vec<f64>)| {
            let pair = |(l, &x): (usize, &f64)| Coordinate { parameter_id: l + 1, parameter_value: x };
            Coordinates { id: i + 1, parameter_value_pairs: point.iter().enumerate().map(pair).collect() }
        };
        let points: Vec<Coordinates> = experiment.points.iter().enumerate().map(point).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("parameters", &parts(experiment.parameters.iter()))?;
        map.serialize_entry("coordinates", &points)?;
        map.serialize_entry("callpaths", &parts(callpaths.values()))?;
        map.serialize_entry("metrics", &parts(metrics.iter()))?;
        map.serialize_entry("measurements", &Values(self.0))?;
        map.end()
    }
}

struct Values<'a>(&'a Named<'a>);

#[derive(Serialize)]
struct Value {
    callpath_id: usize,
    metric_id: u32,
    coordinate_id: u32,
    value: f64,
}

impl Serialize for Values<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Named { experiment, callpaths, .. } = self.0;
        let numbers: BTreeMap<CallPathId, usize> = callpaths.keys().enumerate().map(|(i, &id)| (id, i + 1)).collect();
        let mut values = serializer.serialize_seq(None)?;
        for series in &experiment.series {
            let points = &experiment.layouts[series.layout as usize].points;
            for (&point, (_, of_point)) in points.iter().zip(experiment.measurements(series)) {
                for &value in of_point {
                    let callpath_id = numbers[&series.callpath];
                    let (metric_id, coordinate_id) = (series.metric + 1, point + 1);
                    values.serialize_element(&Value { callpath_id, metric_id, coordinate_id, value })?;
                }
            }
        }
        values.end()
    }
}
