//! `poise import` and `poise export`: measurements from one format into another.

use std::cmp::Ordering;
use std::fmt::Write as _;

use modeler::Experiment;
use modeler::formats::{self, Format, Input, RUN_LEFT_OUT, ReadWarning, RunFound, Values, WriteError};

use crate::cli::{ExportArgs, GlobalArgs, ImportArgs};
use crate::commands::input::{self, Left};
use crate::error::{Error, Result};
use crate::output::{self, NotWritten};

/// Reads anything and writes our own experiment JSON, or says what was found.
pub fn import(arguments: &ImportArgs, global: &GlobalArgs) -> Result<()> {
    output::check_all_new([(&arguments.output, "-o")])?;
    let destination = arguments.output.as_deref();
    if arguments.explain {
        let (input, mut left) = input::survey(&arguments.input, global)?;
        let input = match input {
            Ok(input) => input,
            Err(error) => {
                output::deliver(&not_read(&left), destination)?;
                return Err(error);
            }
        };
        output::deliver(&explain(&input, &left), destination)?;
        left.refused.take().map_or(Ok(()), Err)?;
        return complete(left.odd.len(), &input.warnings);
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
        1 => Err(Error::Partial("One input or run was left out, as told; the rest was written.".to_owned())),
        count => Err(Error::Partial(format!("{count} inputs or runs were left out, as told; the rest was written."))),
    }
}

/// Reads anything and writes another tool's format; into an archive of Extra-P with models.
pub fn export(arguments: &ExportArgs, global: &GlobalArgs) -> Result<()> {
    // The argument table has the names of formats that are written, and no others pass.
    let format: Format = arguments.to.parse().map_err(Error::Usage)?;
    if format == Format::Parquet && !cfg!(feature = "parquet") {
        let what = "This poise was built without Parquet. Build it with cargo build --release --features parquet, or choose another format, such as csv.";
        return Err(Error::Usage(what.to_owned()));
    }
    let destination = arguments.output.as_deref();
    if matches!(format, Format::ExtraPArchive | Format::Parquet) && output::is_terminal(destination) {
        let what =
            format!("{format} is no text that a terminal shows. Name a file with -o, or a program behind a pipe.");
        return Err(Error::Usage(what));
    }
    output::check_all_new([(&arguments.output, "-o")])?;
    let options = input::options(&arguments.fit)?;
    let Input { experiment, warnings, .. } = input::read(&arguments.input, global)?;
    if format != Format::ExtraPArchive {
        output::stream(destination, |mut out| formats::write(&experiment, format, &mut out).map_err(not_written))?;
        if !global.quiet && OF_EXTRA_P.contains(&format) && lacks_points(&experiment) {
            output::say(
                "Some call paths have no value at some points. Extra-P itself opens such an experiment as extra-p only.",
            );
        }
        return complete(0, &warnings);
    }
    let fits = modeler::fit(&experiment, &options);
    output::stream(destination, |mut out| formats::write_extra_p(&experiment, &fits, &mut out).map_err(not_written))?;
    input::partial(&warnings, &fits)
}

/// Formats of Extra-P's that it reads with a value of every call path at every point alone; text cannot hold anything else.
const OF_EXTRA_P: [Format; 4] =
    [Format::ExtraPJsonLines, Format::ExtraPJson, Format::ExtraPJsonNumbered, Format::Talpas];

fn lacks_points(experiment: &Experiment) -> bool {
    experiment.layouts.iter().any(|layout| layout.points.len() < experiment.points.len())
}

fn not_written(error: WriteError) -> NotWritten {
    match error {
        WriteError::Io(error) => NotWritten::Io(error),
        WriteError::CannotHold { .. } => NotWritten::Other(Error::Usage(error.to_string())),
    }
}

/// What was seen where nothing could be read.
fn not_read(left: &Left) -> String {
    left_out(left) + &passed_over(left)
}

/// A line about each measurement that was not read.
fn left_out(left: &Left) -> String {
    left.odd.iter().map(|error| format!("left out {error}\n")).collect()
}

fn explain(input: &Input, left: &Left) -> String {
    let experiment = &input.experiment;
    let mut text = match left.refused {
        None => format!("format {}\n", input.format),
        Some(_) => format!(
            "format {0}, if --input-format {0} chooses it: without that, this folder is refused\n",
            input.format
        ),
    };
    text.push_str(&left_out(left));
    for warning in input.warnings.iter().filter(|w| w.code == RUN_LEFT_OUT) {
        let _ = writeln!(text, "left out {warning}");
    }
    text.push_str(&passed_over(left));
    for run in in_order(input) {
        let mut said: Vec<String> = run.parameters.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        said.extend(run.repetition.map(|r| format!("repetition {r}")));
        let _ = writeln!(text, "run {}: {}", run.place, said.join(", "));
    }
    for (i, name) in experiment.parameters.iter().enumerate() {
        let mut values: Vec<f64> = experiment.points.iter().map(|p| p[i]).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let values: Vec<String> = values.iter().map(f64::to_string).collect();
        let _ = writeln!(text, "parameter {name}: {}", values.join(" "));
    }
    for (name, value) in input.runs.first().map_or(&[][..], |run| &run.constant) {
        let _ = writeln!(text, "parameter {name}: {value} everywhere, left out");
    }
    let repetitions = experiment.layouts.iter().flat_map(|l| &l.repetitions);
    let (least, most) = repetitions.fold((u32::MAX, 0), |(least, most), &r| (least.min(r), most.max(r)));
    let repetitions = match (least, most) {
        (1, 1) => "1 repetition of each".to_owned(),
        _ if least == most => format!("{most} repetitions of each"),
        _ => format!("{least} to {most} repetitions"),
    };
    let _ = writeln!(text, "points: {}, with {repetitions}", experiment.points.len());
    text.push_str(&metrics(experiment));
    let included = match experiment.included {
        Some(Values::Exclusive) => "without those of callees",
        Some(Values::Inclusive) => "with those of callees",
        None => "whether with those of callees is not told (--inclusive or --exclusive says it)",
    };
    let _ = writeln!(text, "values: {}, {included}", experiment.values.len());
    text
}

/// A line about each metric, however many of its values over ranks there are at as many call paths.
fn metrics(experiment: &Experiment) -> String {
    let mut lines: Vec<(&str, &str, usize, Vec<&str>)> = Vec::new();
    for (id, metric) in experiment.metrics.iter().enumerate() {
        let count = experiment.series.iter().filter(|s| s.metric as usize == id).count();
        let over: Vec<&str> = metric.over_ranks.iter().map(|over| over.name()).collect();
        match lines.iter_mut().find(|line| line.0 == metric.name && line.1 == metric.unit && line.2 == count) {
            Some(line) => line.3.extend(over),
            None => lines.push((&metric.name, &metric.unit, count, over)),
        }
    }
    let line = |(name, unit, count, over): (&str, &str, usize, Vec<&str>)| {
        let unit = if unit.is_empty() { String::new() } else { format!(" [{unit}]") };
        let over = match over.split_last() {
            None => String::new(),
            Some((one, [])) => format!(", {one} over ranks"),
            Some((last, others)) => format!(", {} and {last} over ranks", others.join(", ")),
        };
        format!("metric {name}{unit}{over}: {}\n", output::counted(count, "call path", "call paths"))
    };
    lines.into_iter().map(line).collect()
}

/// The runs by their parameters as numbers, in the order of the experiment's, then by repetition.
fn in_order(input: &Input) -> Vec<&RunFound> {
    let names = &input.experiment.parameters;
    let value = |run: &RunFound, name: &String| {
        run.parameters.iter().find(|(own, _)| own == name).map_or(f64::NAN, |(_, value)| *value)
    };
    let mut runs: Vec<&RunFound> = input.runs.iter().collect();
    runs.sort_by(|a, b| {
        let parameters = names.iter().map(|name| value(a, name).total_cmp(&value(b, name)));
        parameters.fold(Ordering::Equal, Ordering::then).then(a.repetition.cmp(&b.repetition))
    });
    runs
}

/// A line about files in folders that are no measurements; those with the commonest names are named.
fn passed_over(left: &Left) -> String {
    const NAMED: usize = 8;
    if left.unknown.is_empty() {
        return String::new();
    }
    let mut names: Vec<(&String, &usize)> = left.unknown.iter().collect();
    names.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let named = names.iter().take(NAMED).map(|(name, count)| match count {
        1 => (*name).clone(),
        count => format!("{name} ({count} times)"),
    });
    let mut named: Vec<String> = named.collect();
    if names.len() > NAMED {
        named.push(output::counted(names.len() - NAMED, "more name", "more names"));
    }
    let count: usize = left.unknown.values().sum();
    let files = output::counted(count, "file that holds", "files that hold");
    format!("passed over {files} no measurements: {}\n", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_nothing_are_told_by_their_names_the_commonest_first() {
        let left = |list: &[(&str, usize)]| Left {
            odd: Vec::new(),
            refused: None,
            unknown: list.iter().map(|&(name, count)| (name.to_owned(), count)).collect(),
        };
        assert_eq!(passed_over(&left(&[])), "");
        assert_eq!(passed_over(&left(&[("a.md", 1)])), "passed over 1 file that holds no measurements: a.md\n");
        let two = left(&[("a.md", 1), ("scorep.cfg", 25)]);
        assert_eq!(passed_over(&two), "passed over 26 files that hold no measurements: scorep.cfg (25 times), a.md\n");
        let many: Vec<String> = (0..11).map(|i| format!("n{i:02}")).collect();
        let many: Vec<(&str, usize)> = many.iter().map(|name| (name.as_str(), 1)).collect();
        assert!(passed_over(&left(&many)).ends_with("n06, n07, 3 more names\n"));
    }
}
