//! `poise import` and `poise export`: measurements from one format into another.

use std::fmt::Write as _;

use modeler::formats::{self, Format, Input, RUN_LEFT_OUT, ReadError, ReadWarning, WriteError};

use crate::cli::{ExportArgs, GlobalArgs, ImportArgs};
use crate::commands::input;
use crate::error::{Error, Result};
use crate::output::{self, NotWritten};

/// Reads anything and writes our own experiment JSON, or says what was found.
pub fn import(arguments: &ImportArgs, global: &GlobalArgs) -> Result<()> {
    let destination = arguments.output.as_deref();
    if arguments.explain {
        let (input, odd) = input::survey(&arguments.input, global)?;
        output::deliver(&explain(&input, &odd), destination)?;
        return complete(odd.len(), &input.warnings);
    }
    let input = input::read(&arguments.input, global)?;
    output::stream(destination, |mut out| {
        formats::write(&input.experiment, Format::Experiment, &mut out).map_err(not_written)
    })?;
    complete(0, &input.warnings)
}

/// The error that runs or whole inputs are not in what was written, if so.
fn complete(odd: usize, warnings: &[ReadWarning]) -> Result<()> {
    match odd + warnings.iter().filter(|w| w.code == RUN_LEFT_OUT).count() {
        0 => Ok(()),
        count => Err(Error::Partial(format!("{count} inputs or runs were left out, as told; the rest was written."))),
    }
}

/// Reads anything and writes another tool's format; into an archive of Extra-P with models.
pub fn export(arguments: &ExportArgs, global: &GlobalArgs) -> Result<()> {
    // The argument table has the names of formats that are written, and no others pass.
    let format: Format = arguments.to.parse().map_err(Error::Usage)?;
    let Input { experiment, warnings, .. } = input::read(&arguments.input, global)?;
    let destination = arguments.output.as_deref();
    if format != Format::ExtraPArchive {
        output::stream(destination, |mut out| formats::write(&experiment, format, &mut out).map_err(not_written))?;
        return complete(0, &warnings);
    }
    let fits = modeler::fit(&experiment, &input::options(&arguments.fit));
    output::stream(destination, |mut out| formats::write_extra_p(&experiment, &fits, &mut out).map_err(not_written))?;
    input::partial(&warnings, &fits)
}

fn not_written(error: WriteError) -> NotWritten {
    match error {
        WriteError::Io(error) => NotWritten::Io(error),
        WriteError::CannotHold { .. } => NotWritten::Other(Error::Usage(error.to_string())),
    }
}

fn explain(input: &Input, odd: &[ReadError]) -> String {
    let experiment = &input.experiment;
    let mut text = format!("format {}\n", input.format);
    for error in odd {
        let _ = writeln!(text, "left out {error}");
    }
    for warning in input.warnings.iter().filter(|w| w.code == RUN_LEFT_OUT) {
        let _ = writeln!(text, "left out {warning}");
    }
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
