//! Writes experiments: our own JSON, Extra-P's formats, and comma-separated values.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::collect::join_path;
use super::{Format, csv, own_json, write_extra_p, write_json};
use crate::experiment::{CallPathId, Experiment, Metric, OverRanks, Series};
use crate::fit::Fits;
use crate::words::counted;

/// Why an experiment was not written.
///
/// ```
/// use modeler::formats::{Format, WriteError, write};
/// let experiment = modeler::ExperimentBuilder::new(["p"]).finish();
/// let error = write(&experiment, Format::Cubex, &mut Vec::new()).unwrap_err();
/// assert!(matches!(error, WriteError::CannotHold { format: Format::Cubex, .. })); // which is read alone
/// ```
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The destination refused.
    #[error("the experiment could not be written: {0}")]
    Io(#[from] io::Error),
    /// The format cannot hold it.
    #[error("the format `{format}` cannot hold this experiment: {reason} Choose another format")]
    CannotHold {
        /// The format asked for.
        format: Format,
        /// Why, in a full sentence.
        reason: String,
    },
}

/// Writes `experiment` in `format`, one of [`Format::WRITTEN`]. Only our own JSON keeps everything: the formats of
/// Extra-P know no units and no reductions over ranks, so there the maximum over ranks of `time` becomes the metric
/// `max_time`, as Score-P names it.
///
/// ```
/// use modeler::formats::{Format, read_bytes, write};
/// let text = "PARAMETER p\nPOINTS 2 4\nREGION solve\nMETRIC time\nDATA 1 1.5\nDATA 2\n";
/// let experiment = read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// let mut out = Vec::new();
/// write(&experiment, Format::Csv, &mut out)?;
/// let rows: Vec<String> = String::from_utf8_lossy(&out).lines().skip(1).map(str::to_owned).collect();
/// assert_eq!(rows.len(), 3); // one for each value
/// assert!(rows[1].starts_with("2,solve,time,") && rows[1].ends_with(",2,1.5")); // the second repetition
/// # Ok::<(), modeler::formats::WriteError>(())
/// ```
///
/// # Errors
/// `out` fails, or the format cannot hold the experiment.
pub fn write(experiment: &Experiment, format: Format, out: &mut impl Write) -> Result<(), WriteError> {
    match format {
        Format::Experiment => own_json::write(experiment, out)?,
        Format::Csv => csv::experiment(experiment, out)?,
        #[cfg(feature = "parquet")]
        Format::Parquet => super::parquet::experiment(experiment, out)?,
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => {
            let reason = "This program was built without it: build with cargo build --release --features parquet.";
            return Err(cannot(format, reason));
        }
        Format::ExtraPJsonLines => json_lines(experiment, out)?,
        Format::ExtraPJson => write_json::nested(experiment, out)?,
        Format::ExtraPJsonNumbered => write_json::numbered(experiment, out)?,
        Format::ExtraPArchive => write_extra_p(experiment, &Fits::default(), out)?,
        Format::Talpas => talpas(experiment, out)?,
        Format::ExtraPText => text(experiment, out)?,
        _ => return Err(cannot(format, format!("It is read and not written; {} are.", Format::WRITTEN.join(", ")))),
    }
    Ok(())
}

pub(super) fn cannot(format: Format, reason: impl Into<String>) -> WriteError {
    WriteError::CannotHold { format, reason: reason.into() }
}

/// Names for the metrics in formats that know nothing of ranks: different for different metrics.
pub(super) fn metric_names(metrics: &[Metric], format: Format) -> Result<Vec<String>, WriteError> {
    let prefixed = |m: &Metric| match m.over_ranks {
        None | Some(OverRanks::Mean) => m.name.clone(),
        Some(OverRanks::Maximum) => format!("max_{}", m.name),
        Some(OverRanks::Minimum) => format!("min_{}", m.name),
        Some(OverRanks::Sum) => format!("sum_{}", m.name),
    };
    // Score-P has metrics of its own that are named as the minimum and maximum of another. The mean keeps its name even
    // then: `time` is what people model.
    let suffixed = |m: &Metric| match m.over_ranks {
        None | Some(OverRanks::Mean) => m.name.clone(),
        Some(over) => format!("{}_{}", m.name, over.name()),
    };
    // A metric may be there both as it is and as a mean.
    let all_suffixed =
        |m: &Metric| m.over_ranks.map_or_else(|| m.name.clone(), |over| format!("{}_{}", m.name, over.name()));
    let ways: [&dyn Fn(&Metric) -> String; 3] = [&prefixed, &suffixed, &all_suffixed];
    for way in ways {
        let names: Vec<String> = metrics.iter().map(way).collect();
        let distinct: std::collections::BTreeSet<&String> = names.iter().collect();
        if distinct.len() == names.len() {
            return Ok(names);
        }
    }
    Err(cannot(format, "Two of its metrics would have one name."))
}

fn json_lines(experiment: &Experiment, out: &mut impl Write) -> Result<(), WriteError> {
    #[derive(Serialize)]
    struct Line<'a> {
        params: &'a Coordinates<'a>,
        callpath: Written<'a>,
        metric: &'a str,
        value: &'a [f64],
    }
    let metrics = metric_names(&experiment.metrics, Format::ExtraPJsonLines)?;
    let points: Vec<Coordinates> = experiment.points.iter().map(|c| Coordinates(&experiment.parameters, c)).collect();
    for series in &experiment.series {
        let names = experiment.path(series.callpath);
        let joined = join_path(&names);
        let layout = &experiment.layouts[series.layout as usize];
        for (&point, (_, value)) in layout.points.iter().zip(experiment.measurements(series)) {
            let callpath = joined.as_deref().map_or(Written::Names(&names), Written::Arrows);
            let metric = &metrics[series.metric as usize];
            let line = Line { params: &points[point as usize], callpath, metric, value };
            serde_json::to_writer(&mut *out, &line).map_err(io::Error::from)?;
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}

/// A call path: with arrows, as Extra-P wants it, or as names where an arrow in a name would be misread.
#[derive(Serialize)]
#[serde(untagged)]
enum Written<'a> {
    Arrows(&'a str),
    Names(&'a [&'a str]),
}

/// Coordinates by parameter, in the order of the parameters.
struct Coordinates<'a>(&'a [String], &'a [f64]);

impl Serialize for Coordinates<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().zip(self.1.iter().map(|&x| super::models::Number(x))))
    }
}

/// One value per line, members separated by `;`. Extra-P takes every `;` for a separator, also within names.
fn talpas(experiment: &Experiment, out: &mut impl Write) -> Result<(), WriteError> {
    let format = Format::Talpas;
    let metrics = metric_names(&experiment.metrics, format)?;
    let callpaths = regions(experiment, &metrics, format)?;
    let names = experiment.parameters.iter().chain(&metrics).chain(callpaths.values());
    if let Some(name) = names.clone().find(|n| n.contains(';')) {
        return Err(cannot(format, format!("The name {name:?} contains a semicolon.")));
    }
    for series in &experiment.series {
        let callpath = quoted(&callpaths[&series.callpath])?;
        let metric = quoted(&metrics[series.metric as usize])?;
        for (point, values) in experiment.measurements(series) {
            let coordinate = |(name, x): (&String, &f64)| Ok(format!("{}:{x}", quoted(name)?));
            let point: Vec<String> =
                experiment.parameters.iter().zip(point).map(coordinate).collect::<io::Result<_>>()?;
            let point = point.join(";");
            for value in values {
                let start = format_args!("{{\"parameters\":{{{point}}};\"callpath\":{callpath}");
                writeln!(out, "{start};\"metric\":{metric};\"value\":{value:?}}}")?;
            }
        }
    }
    Ok(())
}

fn quoted(text: &str) -> io::Result<String> {
    Ok(serde_json::to_string(text)?)
}

fn text(experiment: &Experiment, out: &mut impl Write) -> Result<(), WriteError> {
    let format = Format::ExtraPText;
    let metrics = metric_names(&experiment.metrics, format)?;
    let is_word = |name: &String| !name.is_empty() && !name.contains(char::is_whitespace);
    if !experiment.parameters.iter().all(is_word) {
        return Err(cannot(format, "A parameter's name contains blanks."));
    }
    let regions = regions(experiment, &metrics, format)?;
    if let Some((series, missing)) =
        experiment.series.iter().map(|s| (s, missing_points(experiment, s))).find(|m| m.1 > 0)
    {
        let reason =
            format!("`{}` lacks measurements at {}.", regions[&series.callpath], counted(missing, "point", "points"));
        return Err(cannot(format, reason + " Extra-P itself opens such an experiment as extra-p only."));
    }
    for parameter in &experiment.parameters {
        writeln!(out, "PARAMETER {parameter}")?;
    }
    writeln!(out)?;
    for point in &experiment.points {
        let coordinates: Vec<String> = point.iter().map(f64::to_string).collect();
        writeln!(out, "POINTS ( {} )", coordinates.join(" "))?;
    }
    let mut last: Option<CallPathId> = None;
    for series in &experiment.series {
        writeln!(out)?;
        if last.replace(series.callpath) != Some(series.callpath) {
            writeln!(out, "REGION {}", regions[&series.callpath])?;
        }
        writeln!(out, "METRIC {}", metrics[series.metric as usize])?;
        for (_, values) in experiment.measurements(series) {
            let values: Vec<String> = values.iter().map(f64::to_string).collect();
            writeln!(out, "DATA {}", values.join(" "))?;
        }
    }
    Ok(())
}

/// The call paths as Extra-P names them, each on a line, once it is sure that the metrics fit into a line too.
pub(super) fn regions(
    experiment: &Experiment,
    metrics: &[String],
    format: Format,
) -> Result<BTreeMap<CallPathId, String>, WriteError> {
    let fits_a_line = |text: &str| !text.contains(['\n', '\r']) && text.trim() == text;
    if let Some(metric) = metrics.iter().find(|m| !fits_a_line(m)) {
        return Err(cannot(format, format!("The metric {metric:?} does not fit into a line.")));
    }
    let mut regions = BTreeMap::new();
    for series in &experiment.series {
        let names = experiment.path(series.callpath);
        let region = join_path(&names).filter(|r| fits_a_line(r) && !r.is_empty());
        let region =
            region.ok_or_else(|| cannot(format, format!("The call path {names:?} cannot be written with arrows.")))?;
        regions.insert(series.callpath, region);
    }
    Ok(regions)
}

fn missing_points(experiment: &Experiment, series: &Series) -> usize {
    experiment.points.len() - experiment.layouts[series.layout as usize].points.len()
}
