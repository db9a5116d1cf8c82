//! What the commands that read measurements share: reading inputs, fitting them, finding a point's coordinates.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use modeler::experiment::{CallPathId, MetricId, OverRanks};
use modeler::formats::{
    self, ErrorKind, Format, Input, RUN_LEFT_OUT, ReadError, ReadOptions, ReadWarning, Scaling, Values,
};
use modeler::report::coordinate;
use modeler::words::suggestion;
use modeler::{Experiment, ExponentSets, Fits, MethodChoice, Options, Skipped};

use crate::cli::ScalingChoice;
use crate::cli::{
    Assignments, FitArgs, GlobalArgs, InputArgs, MethodChoice as MethodArgument, OverRanksChoice, ReadArgs,
};
use crate::error::{Error, Result};
use crate::output;
use crate::ranks::Ranks;

/// Reads the inputs into one experiment; warnings go to standard error.
pub fn read(arguments: &InputArgs, global: &GlobalArgs) -> Result<Input> {
    let input = read_paths(&arguments.inputs, &arguments.read, global)?;
    unused_columns(&[&input], &arguments.read, global);
    Ok(input)
}

/// Tells that columns were given roles where none of `inputs` is a table.
pub fn unused_columns(inputs: &[&Input], how: &ReadArgs, global: &GlobalArgs) {
    if how.columns.is_some() && !global.quiet && inputs.iter().all(|input| input.format != Format::Csv) {
        let formats: BTreeSet<&str> = inputs.iter().map(|input| input.format.name()).collect();
        let formats = formats.into_iter().collect::<Vec<_>>().join(" and ");
        output::say(format!(
            "--columns gives roles to the columns of tables and was not used: the input is {formats}. Leave it out."
        ));
    }
}

/// [`read`] of these paths.
pub fn read_paths(inputs: &[PathBuf], how: &ReadArgs, global: &GlobalArgs) -> Result<Input> {
    each_once(inputs)?;
    let input = formats::read(inputs, &read_options(how)?).map_err(|e| told(e, global.verbose))?;
    noted(&input, how, global)?;
    not_of_the_last_run(inputs, global);
    Ok(input)
}

/// That no input is given twice: its measurements would count as repetitions.
fn each_once(inputs: &[PathBuf]) -> Result<()> {
    let mut seen = BTreeSet::new();
    let second = inputs.iter().find(|input| input.canonicalize().is_ok_and(|path| !seen.insert(path)));
    second.map_or(Ok(()), |input| {
        let what = "is given twice, and its measurements would count as repetitions. Name it once.";
        Err(Error::Usage(format!("{} {what}", input.display())))
    })
}

/// Reads a baseline, which may be of another format than the inputs: it is detected, and a table that cannot be has the
/// columns of the inputs. Its names and values mean what those of the inputs do.
pub fn read_baseline(path: &Path, how: &ReadArgs, global: &GlobalArgs) -> Result<Input> {
    let all = read_options(how)?;
    let detected = ReadOptions { format: None, columns: None, ..all.clone() };
    let inputs = [path.to_owned()];
    let input = match (formats::read(&inputs, &detected), &how.columns) {
        (Err(error), Some(_)) if error.kind == ErrorKind::NotRecognised => formats::read(&inputs, &all),
        (input, _) => input,
    };
    let input = input.map_err(|e| told(e, global.verbose))?;
    noted(&input, &ReadArgs::default(), global)?;
    not_of_the_last_run(&inputs, global);
    Ok(input)
}

/// The error that two experiments cannot be set side by side because values hold those of callees in only one of them.
pub fn check_included(first: &Experiment, second: &Experiment) -> Result<()> {
    match (first.included, second.included) {
        (Some(a), Some(b)) if a != b => {
            let (with, without) = if a == Values::Inclusive { ("first", "second") } else { ("second", "first") };
            Err(Error::NotModelable(format!(
                "Values of call paths hold those of callees in the {with} experiment and not in the {without}, so they cannot be compared. Read \
                 both with --inclusive or both with --exclusive."
            )))
        }
        _ => Ok(()),
    }
}

/// What a survey did not read.
pub struct Left {
    /// Measurements, each with its reason.
    pub odd: Vec<ReadError>,
    /// Names of files that are none, each with how many there are.
    pub unknown: BTreeMap<String, usize>,
    /// Why other commands refuse the inputs as they are.
    pub refused: Option<Error>,
}

/// Goes through all inputs, past those that cannot be read, which come beside what the others hold, or beside the error that
/// there is nothing else.
///
/// # Errors
/// What was asked for makes no sense.
pub fn survey(arguments: &InputArgs, global: &GlobalArgs) -> Result<(Result<Input>, Left)> {
    each_once(&arguments.inputs)?;
    let formats::Survey { input, mut odd, unknown, refused } =
        formats::survey(&arguments.inputs, &read_options(&arguments.read)?);
    let input = input.map_err(|error| {
        // The command's own error is told by itself.
        odd.retain(|other| *other != error);
        told(error, global.verbose)
    });
    if let Ok(input) = &input {
        noted(input, &arguments.read, global)?;
        not_of_the_last_run(&arguments.inputs, global);
        unused_columns(&[input], &arguments.read, global);
    }
    Ok((input, Left { odd, unknown, refused: refused.map(unreadable) }))
}

/// Tells what readers noticed.
fn noted(input: &Input, arguments: &ReadArgs, global: &GlobalArgs) -> Result<()> {
    let is_json = matches!(input.format, Format::ExtraPJson | Format::ExtraPJsonLines | Format::Experiment);
    if arguments.json && !is_json {
        return Err(Error::Input(format!("--json was given and the input is {}. Leave the flag out.", input.format)));
    }
    if !global.quiet {
        for warning in &input.warnings {
            output::say(warning);
        }
    }
    Ok(())
}

/// Tells of profiles that were there already when a later process was to write theirs, or failed to: what that one left beside them. Of folders the
/// files in them are looked at.
pub fn not_of_the_last_run(inputs: &[PathBuf], global: &GlobalArgs) {
    let beside = |input: &PathBuf| match input.is_dir() {
        true => std::fs::read_dir(input).into_iter().flatten().flatten().map(|entry| entry.path()).collect(),
        false => SAID.map(|kind| poise_profile::said_beside(input, kind)).to_vec(),
    };
    let is_said = |file: &PathBuf| SAID.iter().any(|kind| file.extension().is_some_and(|ending| ending == *kind));
    let mut said: Vec<PathBuf> = inputs.iter().filter(|_| !global.quiet).flat_map(beside).filter(is_said).collect();
    said.sort();
    for file in said {
        let profile = file.with_extension("");
        if let (true, Ok(line)) = (profile.is_file(), std::fs::read_to_string(&file)) {
            let (name, line) = (profile.display(), line.trim());
            output::say(format!("{name} is not of the last process that was to write it: {line}"));
        }
    }
}

/// What a process says beside a profile that is not its own.
const SAID: [&str; 2] = ["conflict", "failed"];

/// A reader's error with its exit code, and with every reader's reason where all are wanted.
fn told(mut error: ReadError, all: bool) -> Error {
    match error.reasons.take().filter(|_| all) {
        Some(reasons) => Error::Input(format!("{}: no reader knows the format:\n{reasons}", error.place)),
        None => unreadable(error),
    }
}

/// A reader's error with its exit code; for a profile that is not there, why, where a process of its run has said so.
pub fn unreadable(mut error: ReadError) -> Error {
    let profile = Path::new(&error.place.file);
    if error.kind == ErrorKind::Unreadable
        && !profile.exists()
        && let Ok(line) = std::fs::read_to_string(poise_profile::said_beside(profile, "failed"))
    {
        error.what = format!("there is no such profile: {}", line.trim().trim_end_matches('.')).into();
    }
    match error.exit_code() {
        crate::error::exit::USAGE => Error::Usage(error.to_string()),
        crate::error::exit::NOT_MODELABLE => Error::NotModelable(error.to_string()),
        _ => Error::Input(error.to_string()),
    }
}

/// How inputs are read, as typed.
pub fn read_options(arguments: &ReadArgs) -> Result<ReadOptions> {
    Ok(ReadOptions {
        format: format(arguments)?,
        pattern: arguments.pattern.clone(),
        columns: arguments.columns.clone(),
        scaling: match arguments.scaling {
            ScalingChoice::Weak => Scaling::Weak,
            ScalingChoice::WeakThreaded => Scaling::WeakThreaded,
            ScalingChoice::Strong => Scaling::Strong,
        },
        values: match (arguments.inclusive, arguments.exclusive) {
            (true, _) => Some(Values::Inclusive),
            (false, true) => Some(Values::Exclusive),
            (false, false) => None,
        },
    })
}

/// The format that the command line names, if it does. Extra-P's `--json` means any of its JSON files, which are told
/// apart by what is in them.
fn format(arguments: &ReadArgs) -> Result<Option<Format>> {
    let aliases = [
        (arguments.text, Format::ExtraPText),
        (arguments.talpas, Format::Talpas),
        (arguments.experiment, Format::ExtraPArchive),
        (arguments.cube, Format::Cubex),
    ];
    if let Some((_, format)) = aliases.into_iter().find(|(given, _)| *given) {
        return Ok(Some(format));
    }
    arguments.input_format.as_deref().map(|name| name.parse().map_err(Error::Usage)).transpose()
}

/// The fit's options as typed, without runners-up.
pub fn options(arguments: &FitArgs) -> Result<Options> {
    let chosen = (!arguments.exponents.is_empty(), !arguments.log_exponents.is_empty());
    if chosen != (false, false) && arguments.method == MethodArgument::ExtraP {
        let message = "--method extra-p has the exponents that Extra-P has: leave out --exponents and --log-exponents.";
        return Err(Error::Usage(message.into()));
    }
    let mut exponents = ExponentSets::default();
    if chosen.0 {
        exponents.exponents.clone_from(&arguments.exponents);
    }
    if chosen.1 {
        exponents.log_exponents.clone_from(&arguments.log_exponents);
    }
    Ok(Options {
        method: match arguments.method {
            MethodArgument::Auto => MethodChoice::Auto,
            MethodArgument::Effort => MethodChoice::Effort,
            MethodArgument::Time => MethodChoice::Time,
            MethodArgument::ExtraP => MethodChoice::ExtraP,
        },
        exponents,
        over_ranks: over_ranks(arguments.over_ranks),
        seed: arguments.seed.seed,
        runners_up: 0,
        ..Options::default()
    })
}

/// Which rank's value, as typed.
pub fn over_ranks(choice: OverRanksChoice) -> OverRanks {
    match choice {
        OverRanksChoice::Mean => OverRanks::Mean,
        OverRanksChoice::Max => OverRanks::Maximum,
        OverRanksChoice::Min => OverRanks::Minimum,
        OverRanksChoice::Sum => OverRanks::Sum,
    }
}

/// Fits every series, shared out over `ranks`.
///
/// # Errors
/// Nothing at all could be modelled, or another rank has the models and speaks.
pub fn fit(experiment: &Experiment, options: &Options, ranks: &Ranks) -> Result<Fits> {
    modelled(ranks.fit(experiment, options).ok_or(Error::AnotherRankSpeaks)?)
}

/// Fits every series in this process, for commands that fit several experiments.
///
/// # Errors
/// Nothing at all could be modelled.
pub fn fit_here(experiment: &Experiment, options: &Options) -> Result<Fits> {
    modelled(modeler::fit(experiment, options))
}

/// Fits the series of `callpaths` in this process, as they are fitted among all.
///
/// # Errors
/// None of them could be modelled.
pub fn fit_callpaths(experiment: &Experiment, arguments: &FitArgs, callpaths: &[CallPathId]) -> Result<Fits> {
    let fits = modeler::fit_callpaths(experiment, &options(arguments)?, callpaths);
    if fits.is_empty() { Ok(fits) } else { modelled(fits) }
}

fn modelled(fits: Fits) -> Result<Fits> {
    if fits.models.is_empty() {
        return Err(nothing_modelled(&fits.skipped));
    }
    Ok(fits)
}

/// The error that there is not one model.
pub fn nothing_modelled(skipped: &[Skipped]) -> Error {
    let reason = skipped.first().map_or("it holds no measurements", |s| &s.reason);
    Error::NotModelable(format!("No call path of this input can be modelled: {reason}."))
}

/// Refuses a name that `--metric` gives and no measured metric has. Asked before fitting, which may take long.
pub fn known_metric(experiment: &Experiment, asked: Option<&str>) -> Result<()> {
    let mut known: Vec<&str> = Vec::new();
    for metric in &experiment.metrics {
        if !known.contains(&metric.name.as_str()) {
            known.push(&metric.name);
        }
    }
    match asked.filter(|name| !known.contains(name)) {
        None => Ok(()),
        Some(name) => {
            let meant = suggestion(name, known.iter().copied());
            let (end, known) = (if meant.is_empty() { "." } else { "" }, known.join(", "));
            let what = format!("--metric names `{name}`, which was not measured{meant}{end} The metrics are {known}.");
            Err(Error::Usage(what))
        }
    }
}

/// What belongs to the metric of this name; everything where none was asked for.
pub fn of_metric(experiment: &Experiment, mut fits: Fits, asked: Option<&str>) -> Fits {
    let is_asked = |metric: MetricId| asked.is_none_or(|name| experiment.metrics[metric as usize].name == name);
    fits.models.retain(|model| is_asked(model.metric));
    fits.skipped.retain(|skipped| is_asked(skipped.metric));
    fits
}

/// What a partly successful command ends with: an error of its own exit code where runs were left out or call paths
/// skipped.
pub fn partial(warnings: &[ReadWarning], fits: &Fits) -> Result<()> {
    partial_of(warnings, fits.models.len(), fits.skipped.len())
}

/// [`partial`] for so many models and so many series without one.
pub fn partial_of(warnings: &[ReadWarning], models: usize, skipped: usize) -> Result<()> {
    let runs = warnings.iter().filter(|w| w.code == RUN_LEFT_OUT).count();
    match (skipped, runs) {
        (0, 0) => Ok(()),
        (0, _) => Err(Error::Partial(format!(
            "{} left out; the models are of the others.",
            output::counted(runs, "run was", "runs were")
        ))),
        (count, _) => Err(Error::Partial(format!(
            "{count} of {} series could not be modelled; poise model --format json lists them with the reason.",
            count + models
        ))),
    }
}

/// One coordinate per parameter of the experiment.
///
/// # Errors
/// A parameter is missing, unknown or given twice.
pub fn coordinates(experiment: &Experiment, at: &Assignments) -> Result<Vec<f64>> {
    let known = experiment.parameters.join(", ");
    let lacking = |parameter: &String| Error::Usage(format!("--at lacks {parameter}; give every parameter: {known}."));
    let both = experiment.parameters.iter().zip(of_parameters(experiment, "--at", at)?);
    both.map(|(parameter, value)| value.ok_or_else(|| lacking(parameter))).collect()
}

/// What `option` gives for each parameter, where it gives any.
///
/// # Errors
/// It names what is no parameter, or one twice, or gives a value that is not positive and below all that was measured.
pub fn of_parameters(experiment: &Experiment, option: &str, given: &Assignments) -> Result<Vec<Option<f64>>> {
    for (i, (name, _)) in given.0.iter().enumerate() {
        if !experiment.parameters.contains(name) {
            let known = experiment.parameters.join(", ");
            return Err(Error::Usage(format!(
                "{option} names {name}, which is no parameter; the parameters are {known}."
            )));
        }
        if given.0[..i].iter().any(|(earlier, _)| earlier == name) {
            return Err(Error::Usage(format!("{option} gives {name} twice.")));
        }
    }
    let least = |name: &String| {
        let of = experiment.parameters.iter().position(|parameter| parameter == name);
        of.map_or(0.0, |l| experiment.points.iter().map(|x| x[l]).fold(f64::INFINITY, f64::min))
    };
    // What was measured there can be predicted there.
    if let Some((name, value)) = given.0.iter().find(|(name, value)| *value <= 0.0 && *value < least(name)) {
        let or_measured = match least(name) {
            least if least < 0.0 => format!(", or no less than the least that was measured, {least}"),
            _ => String::new(),
        };
        let what = format!("{option} gives {name} the value {value}; parameters are positive{or_measured}.");
        return Err(Error::Usage(what));
    }
    let value = |parameter: &String| given.0.iter().find(|(name, _)| name == parameter).map(|&(_, value)| value);
    Ok(experiment.parameters.iter().map(value).collect())
}

/// That all models are finite at `target`, so that nothing that adds them up leaves one out.
///
/// # Errors
/// A model is larger there than any number, with its call path.
pub fn within_reach(experiment: &Experiment, fits: &Fits, target: &[f64]) -> Result<()> {
    let Some(model) = fits.models.iter().find(|model| !model.at(target).is_finite()) else { return Ok(()) };
    let place: Vec<String> =
        experiment.parameters.iter().zip(target).map(|(name, x)| format!("{name}={}", coordinate(*x))).collect();
    Err(Error::Usage(format!(
        "At {} the model of {} at {} is larger than any number; give --at a nearer point.",
        place.join(","),
        experiment.metrics[model.metric as usize].name,
        experiment.path(model.callpath).join(" -> ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_that_was_not_measured_is_refused_with_the_nearest() {
        let mut builder = modeler::ExperimentBuilder::new(["p"]);
        for (name, over_ranks) in
            [("time", Some(OverRanks::Mean)), ("time", Some(OverRanks::Sum)), ("bytes_sent", None)]
        {
            builder.metric(modeler::experiment::Metric { name: name.into(), unit: String::new(), over_ranks });
        }
        let experiment = builder.finish();
        assert!(known_metric(&experiment, None).is_ok() && known_metric(&experiment, Some("bytes_sent")).is_ok());
        let told = known_metric(&experiment, Some("byte_sent")).unwrap_err().to_string();
        let expected = "--metric names `byte_sent`, which was not measured; did you mean `bytes_sent`? The metrics are time, bytes_sent.";
        assert_eq!(told, expected);
        let far = known_metric(&experiment, Some("xyz")).unwrap_err().to_string();
        assert!(far.contains("was not measured. The metrics are"), "{far}");
    }

    #[test]
    fn every_parameter_is_given_exactly_once() {
        let experiment = modeler::ExperimentBuilder::new(["p", "n"]).finish();
        let at = |list: &[(&str, f64)]| {
            coordinates(&experiment, &Assignments(list.iter().map(|&(n, v)| (n.to_owned(), v)).collect()))
        };
        assert_eq!(at(&[("n", 2.0), ("p", 1.0)]).unwrap(), [1.0, 2.0]);
        assert!(at(&[("p", 1.0)]).unwrap_err().to_string().contains("lacks n"));
        assert!(at(&[("p", 1.0), ("n", 1.0), ("p", 2.0)]).unwrap_err().to_string().contains("twice"));
        assert!(at(&[("p", 0.0), ("n", 1.0)]).unwrap_err().to_string().contains("positive"));
        assert!(at(&[("q", 1.0)]).unwrap_err().to_string().contains("the parameters are p, n"));
    }
}
