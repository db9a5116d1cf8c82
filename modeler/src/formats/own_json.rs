//! Our own experiment JSON, schema `counterpoise/experiment` version 1: an experiment's columns as they are.

use std::collections::HashSet;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::collect::{Collector, Quantity, default_unit};
use super::error::{Place, ReadError};
use super::json::{Document, Step, first_object_string, is_json_object};
use super::source::Source;
use super::{Detection, Format, Reader, Values};
use crate::experiment::{Experiment, Metric, MetricId, OverRanks, PointId};
use crate::words::counted;

/// Reads our own experiment JSON.
pub(crate) struct OwnJson;

const SCHEMA: &str = "counterpoise/experiment";
const VERSION: u32 = 1;

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: String,
    schema_version: u32,
    parameters: Vec<String>,
    /// Whether values of call paths hold those of their callees, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    callees: Option<FileCallees>,
    /// Coordinates, one array per point.
    points: Vec<Vec<f64>>,
    metrics: Vec<FileMetric>,
    /// Callers before callees; a missing parent is a root.
    callpaths: Vec<FileCallPath>,
    layouts: Vec<FileLayout>,
    series: FileSeries,
    /// Values of all series, back to back.
    values: Vec<f64>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct FileMetric {
    name: String,
    #[serde(default)]
    unit: String,
    #[serde(default)]
    over_ranks: Option<FileOverRanks>,
    /// Relative standard deviation of what rounding did to the values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rounding: Option<f64>,
}

#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum FileCallees {
    Included,
    Excluded,
}

#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum FileOverRanks {
    Mean,
    Maximum,
    Minimum,
    Sum,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct FileCallPath {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<u32>,
    name: String,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct FileLayout {
    points: Vec<u32>,
    repetitions: Vec<u32>,
}

/// One entry per series in each column.
#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct FileSeries {
    callpath: Vec<u32>,
    metric: Vec<u32>,
    layout: Vec<u32>,
}

impl From<OverRanks> for FileOverRanks {
    fn from(over_ranks: OverRanks) -> Self {
        match over_ranks {
            OverRanks::Mean => Self::Mean,
            OverRanks::Maximum => Self::Maximum,
            OverRanks::Minimum => Self::Minimum,
            OverRanks::Sum => Self::Sum,
        }
    }
}

impl From<FileOverRanks> for OverRanks {
    fn from(over_ranks: FileOverRanks) -> Self {
        match over_ranks {
            FileOverRanks::Mean => Self::Mean,
            FileOverRanks::Maximum => Self::Maximum,
            FileOverRanks::Minimum => Self::Minimum,
            FileOverRanks::Sum => Self::Sum,
        }
    }
}

/// Writes `experiment`.
pub(super) fn write(experiment: &Experiment, out: &mut impl Write) -> io::Result<()> {
    let mut series = FileSeries::default();
    for s in &experiment.series {
        series.callpath.push(s.callpath);
        series.metric.push(s.metric);
        series.layout.push(s.layout);
    }
    let metric = |(id, m): (usize, &Metric)| FileMetric {
        name: m.name.clone(),
        unit: m.unit.clone(),
        over_ranks: m.over_ranks.map(FileOverRanks::from),
        rounding: Some(experiment.rounding(id as MetricId)).filter(|deviation| *deviation > 0.0),
    };
    let layouts = experiment.layouts.iter();
    let file = File {
        schema: SCHEMA.into(),
        schema_version: VERSION,
        parameters: experiment.parameters.clone(),
        callees: experiment.included.map(|values| match values {
            Values::Inclusive => FileCallees::Included,
            Values::Exclusive => FileCallees::Excluded,
        }),
        points: experiment.points.clone(),
        metrics: experiment.metrics.iter().enumerate().map(metric).collect(),
        callpaths: experiment
            .callpaths
            .iter()
            .map(|c| FileCallPath { parent: c.parent, name: c.name.clone() })
            .collect(),
        layouts: layouts.map(|l| FileLayout { points: l.points.clone(), repetitions: l.repetitions.clone() }).collect(),
        series,
        values: experiment.values.clone(),
    };
    serde_json::to_writer(&mut *out, &file)?;
    writeln!(out)
}

impl Reader for OwnJson {
    fn format(&self) -> Format {
        Format::Experiment
    }

    fn detect(&self, source: &Source) -> Detection {
        let Some((head, _)) = source.head() else { return Detection::no("it is a folder") };
        if !is_json_object(head) {
            return Detection::no("it does not begin with `{`");
        }
        match first_object_string(head, "schema") {
            Some(schema) if schema == SCHEMA => Detection::Yes,
            Some(schema) => Detection::no(&format!("its schema is `{schema}`, not `{SCHEMA}`")),
            None => Detection::no("its object has no key `schema`"),
        }
    }

    fn read(&self, source: Source, into: &mut Collector) -> Result<(), ReadError> {
        let name = source.name.clone();
        let text = source.into_text()?;
        let document = Document { name: &name, text: &text };
        // What another version holds need not be what this one does.
        let file = document.parse::<File>().map_err(|error| other_version(&document).unwrap_or(error))?;
        let is_this = file.schema == SCHEMA && file.schema_version == VERSION;
        if let Some(error) = (!is_this).then(|| other_version(&document)).flatten() {
            return Err(error);
        }
        document.warn_of_lost_digits(&["points", "values"], into);
        add(&file, &document, into)
    }
}

/// The error that the document says to be of another version, if it does.
fn other_version(document: &Document) -> Option<ReadError> {
    #[derive(Deserialize)]
    struct Header {
        schema: String,
        schema_version: u32,
    }
    let Header { schema, schema_version } = document.parse().ok()?;
    let what = format!("this is `{schema}` version {schema_version}");
    let error = document
        .error(&[Step::Key("schema_version")], what)
        .expected(format!("`{SCHEMA}` version {VERSION}"))
        .advice("Use the release of poise that wrote the file, or a newer one");
    ((&*schema, schema_version) != (SCHEMA, VERSION)).then_some(error)
}

/// What the indices of a file stand for in the experiment.
struct Ids {
    points: Vec<PointId>,
    metrics: Vec<Quantity>,
    callpaths: Vec<u32>,
}

fn add(file: &File, document: &Document, into: &mut Collector) -> Result<(), ReadError> {
    let ids = declare(file, document, into)?;
    let included = |callees| match callees {
        FileCallees::Included => Values::Inclusive,
        FileCallees::Excluded => Values::Exclusive,
    };
    file.callees.map_or(Ok(()), |callees| into.include(included(callees), &Place::file(document.name)))?;
    for column in ["metric", "layout"] {
        let length = if column == "metric" { file.series.metric.len() } else { file.series.layout.len() };
        if length != file.series.callpath.len() {
            let steps = [Step::Key("series"), Step::Key(column)];
            let what = format!("this column has {length} entries, `callpath` has {}", file.series.callpath.len());
            return Err(document.error(&steps, what).expected("columns of equal length"));
        }
    }
    let mut rest = file.values.as_slice();
    for index in 0..file.series.callpath.len() {
        let entry = |column: &'static str, entries: &[u32], limit: usize| {
            let id = entries[index] as usize;
            let steps = [Step::Key("series"), Step::Key(column), Step::Index(index)];
            if id < limit { Ok(id) } else { Err(out_of_range(document, &steps, id, limit)) }
        };
        let callpath = ids.callpaths[entry("callpath", &file.series.callpath, ids.callpaths.len())?];
        let metric = ids.metrics[entry("metric", &file.series.metric, ids.metrics.len())?];
        let layout = &file.layouts[entry("layout", &file.series.layout, file.layouts.len())?];
        for (&point, &repetitions) in layout.points.iter().zip(&layout.repetitions) {
            let Some((these, others)) = rest.split_at_checked(repetitions as usize) else {
                let values = counted(file.values.len(), "value that is here", "values that are here");
                let what = format!("the layouts need more than the {values}");
                return Err(document.error(&[Step::Key("values")], what));
            };
            let first = file.values.len() - rest.len();
            rest = others;
            for (index, &value) in (first..).zip(these) {
                let place = || document.place(&[Step::Key("values"), Step::Index(index)]);
                into.add_from((callpath, metric, ids.points[point as usize]), value, place);
            }
        }
    }
    if rest.is_empty() {
        return Ok(());
    }
    let what = format!("{} left over that no layout needs", counted(rest.len(), "value is", "values are"));
    Err(document.error(&[Step::Key("values"), Step::Index(file.values.len() - rest.len())], what))
}

/// Declares points, metrics and call paths, and checks what refers to them.
fn declare(file: &File, document: &Document, into: &mut Collector) -> Result<Ids, ReadError> {
    let order = into.parameters(&file.parameters, &document.place(&[Step::Key("parameters")]))?;
    let mut ids = Ids { points: Vec::new(), metrics: Vec::new(), callpaths: Vec::new() };
    let mut distinct = HashSet::new();
    for (index, coordinates) in file.points.iter().enumerate() {
        if coordinates.len() != file.parameters.len() {
            let what = format!("this point has {}", counted(coordinates.len(), "coordinate", "coordinates"));
            let expected = format!("one for each parameter, {} in all", file.parameters.len());
            return Err(document.error(&[Step::Key("points"), Step::Index(index)], what).expected(expected));
        }
        let point = into.point(&order, coordinates);
        if !distinct.insert(point) {
            let error = document.error(&[Step::Key("points"), Step::Index(index)], "this point stands here twice");
            return Err(error.expected("each point once, with as many `repetitions` as it has values"));
        }
        ids.points.push(point);
    }
    for (index, m) in file.metrics.iter().enumerate() {
        if let Some(rounding) = m.rounding.filter(|deviation| *deviation < 0.0) {
            let steps = [Step::Key("metrics"), Step::Index(index), Step::Key("rounding")];
            let error = document.error(&steps, format!("the rounding is {rounding}"));
            return Err(error.expected("a relative standard deviation, which is not negative"));
        }
        let over_ranks = m.over_ranks.map(OverRanks::from);
        let unit = if m.unit.is_empty() { default_unit(&m.name) } else { &m.unit };
        let id = into.metric(Metric { name: m.name.clone(), unit: unit.to_owned(), over_ranks });
        m.rounding.filter(|deviation| *deviation > 0.0).iter().for_each(|deviation| into.rounded(id, *deviation));
        ids.metrics.push(id);
    }
    for (index, callpath) in file.callpaths.iter().enumerate() {
        let parent = match callpath.parent {
            Some(parent) if parent as usize >= index => {
                let steps = [Step::Key("callpaths"), Step::Index(index), Step::Key("parent")];
                return Err(document.error(&steps, "the caller does not stand before its callee"));
            }
            parent => parent.map(|p| ids.callpaths[p as usize]),
        };
        ids.callpaths.push(into.callee(parent, &callpath.name));
    }
    for (index, layout) in file.layouts.iter().enumerate() {
        let steps = [Step::Key("layouts"), Step::Index(index)];
        if layout.points.len() != layout.repetitions.len() {
            return Err(document.error(&steps, "`points` and `repetitions` differ in length"));
        }
        if let Some(&point) = layout.points.iter().find(|&&p| p as usize >= file.points.len()) {
            return Err(out_of_range(document, &steps, point as usize, file.points.len()));
        }
    }
    Ok(ids)
}

fn out_of_range(document: &Document, steps: &[Step], index: usize, limit: usize) -> ReadError {
    document.error(steps, format!("the index {index} is out of range")).expected(format!("an index below {limit}"))
}
