//! `poise import` and `poise export`: measurements from one format into another.

use std::fmt::Write as _;

use modeler::formats::{self, Format, Input, WriteError};

use crate::cli::{ExportArgs, GlobalArgs, ImportArgs};
use crate::commands::input;
use crate::error::{Error, Result};
use crate::output::{self, NotWritten};

/// Reads anything and writes our own experiment JSON, or says what was found.
pub fn import(arguments: &ImportArgs, global: &GlobalArgs) -> Result<()> {
    let input = input::read(&arguments.input, global)?;
    let destination = arguments.output.as_deref();
    if arguments.explain {
        return output::deliver(&explain(&input), destination);
    }
    output::stream(destination, |mut out| {
        formats::write(&input.experiment, Format::Experiment, &mut out).map_err(not_written)
    })
}

/// Reads anything and writes another tool's format; into an archive of Extra-P with models.
pub fn export(arguments: &ExportArgs, global: &GlobalArgs) -> Result<()> {
    let format = written(&arguments.to)?;
    let Input { experiment, warnings, .. } = input::read(&arguments.input, global)?;
    let destination = arguments.output.as_deref();
    if format != Format::ExtraPArchive {
        return output::stream(destination, |mut out| {
            formats::write(&experiment, format, &mut out).map_err(not_written)
        });
    }
    let fits = modeler::fit(&experiment, &input::options(&arguments.fit));
    output::stream(destination, |mut out| formats::write_extra_p(&experiment, &fits, &mut out).map_err(not_written))?;
    input::partial(&warnings, &fits)
}

/// The format of this name, if it is one that is written.
fn written(name: &str) -> Result<Format> {
    let known = name.parse().ok().filter(|_| Format::WRITTEN.contains(&name));
    let all = Format::WRITTEN.join(", ");
    known.ok_or_else(|| Error::Usage(format!("--to names `{name}`, which is not written; what is written is {all}.")))
}

fn not_written(error: WriteError) -> NotWritten {
    match error {
        WriteError::Io(error) => NotWritten::Io(error),
        WriteError::CannotHold { .. } => NotWritten::Other(Error::Usage(error.to_string())),
    }
}

fn explain(input: &Input) -> String {
    let experiment = &input.experiment;
    let mut text = format!("format {}\n", input.format);
    for run in &input.runs {
        let list = |values: &[(String, f64)]| values.iter().map(|(n, v)| format!("{n} = {v}")).collect::<Vec<_>>();
        let mut said = list(&run.parameters);
        said.extend(run.repetition.map(|r| format!("repetition {r}")));
        said.extend(list(&run.constant).into_iter().map(|c| format!("{c} everywhere, left out")));
        let _ = writeln!(text, "run {}: {}", run.place, said.join(", "));
    }
    for (i, name) in experiment.parameters.iter().enumerate() {
        let mut values: Vec<f64> = experiment.points.iter().map(|p| p[i]).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let values: Vec<String> = values.iter().map(f64::to_string).collect();
        let _ = writeln!(text, "parameter {name}: {}", values.join(" "));
    }
    let repetitions = experiment.layouts.iter().flat_map(|l| &l.repetitions);
    let (least, most) = repetitions.fold((u32::MAX, 0), |(least, most), &r| (least.min(r), most.max(r)));
    let _ = writeln!(text, "points: {}, with {least} to {most} repetitions", experiment.points.len());
    for (id, metric) in experiment.metrics.iter().enumerate() {
        let count = experiment.series.iter().filter(|s| s.metric as usize == id).count();
        let unit = if metric.unit.is_empty() { String::new() } else { format!(" [{}]", metric.unit) };
        let over = metric.over_ranks.map_or_else(String::new, |o| format!(", {o:?} over ranks").to_lowercase());
        let _ = writeln!(text, "metric {}{unit}{over}: {count} call paths", metric.name);
    }
    let _ = writeln!(text, "values: {}", experiment.values.len());
    text
}
