//! `poise phases`: effort over time, which code it belongs to, and how each phase scales.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use modeler::experiment::OverRanks;
use modeler::formats::{self, MeasuredRun};
use modeler::machine;
use modeler::phases::gem5;
use modeler::phases::matching::{self, At};
use modeler::phases::regions::Thresholds;
use modeler::phases::{self, Analysis};
use modeler::report::ReportOptions;
use modeler::{Fits, Options, report};
use poise_profile::Profile;

use super::input;
use super::model;
use super::run::Engine;
use crate::cli::{GlobalArgs, OutputFormat, RunsArgs, parse_assignment, parse_count, parse_share};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::output;
use crate::run::misfortune::{Cause, Outcome, UNWRITTEN};
use crate::run::{Bins, Measured, PROFILE, Run, emulated};
use crate::study::{Point, Value};

#[derive(Args, Debug)]
#[command(after_help = "\
Without --width, bins start at 4096 basic blocks or instructions (100 us with --by time) and double whenever there are 4096 of \
them, or 16384 where wider bins would hide phases, so that runs may have bins of different widths: the output says which. With \
--width they double beyond 1048576 of them. Runs of a study have phases if its [environment] has POISE_PHASES = \"blocks\".
Examples:
  poise phases -- ./app 1000                    compiled with poise cc
  poise phases --engine qemu -- ./app 1000      any program, also for AArch64
  poise phases --page app.html -- ./app         a timeline, with the code
  poise phases --keep runs/n100.r1 --param n=100 -- ./app 100
  poise phases runs                             models of what kept runs share
  poise phases m5out --program ./app            gem5's periodic dumps
  poise phases n10 n20 n40 n80 n160 --program ./app   models of its runs")]
pub struct PhasesArgs {
    /// What counts: the counters that poise cc puts into the program, or QEMU's user mode.
    #[arg(long, value_enum, value_name = "ENGINE", default_value_t, conflicts_with = "inputs")]
    pub engine: Engine,
    /// Whether bins are of equal effort or of equal time.
    #[arg(long, value_enum, default_value_t, value_name = "WHAT", conflicts_with = "inputs")]
    pub by: By,
    /// Width of the bins: basic blocks (with QEMU instructions), or nanoseconds with --by time.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "inputs")]
    pub width: Option<u64>,
    /// Also count the lines of memory that each bin accesses; with --engine qemu and --width.
    #[arg(long, conflicts_with = "inputs")]
    pub lines: bool,
    /// M: the most frequent addresses (or shares of functions) of a bin that its label is taken from.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = parse_count)]
    pub events: usize,
    /// m_t: how many of these must belong to a function [default: 5, all of them, with addresses; 3, most of them, without].
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub label: Option<usize>,
    /// m_g: bins of something else within a region.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub gap: usize,
    /// m_f: bins that a region must have.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub filter: usize,
    /// m_j: bins between two regions of one function that are joined.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub join: usize,
    /// m_pc: share of the bins that a function's regions must have.
    #[arg(long, value_name = "SHARE", default_value_t = 0.01, value_parser = parse_share, allow_negative_numbers = true)]
    pub share: f64,
    /// Smooth the curves of pictures by a median over as many bins; data never are.
    #[arg(long, value_name = "BINS", default_value_t = 1, value_parser = parse_count)]
    pub smooth: usize,
    /// A parameter's value at this run, such as n=1000; may be given several times.
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parse_assignment, conflicts_with = "inputs")]
    pub parameters: Vec<(String, f64)>,
    /// The program that gem5 simulated, whose symbols name the addresses of its bins.
    #[arg(long, value_name = "FILE", requires = "inputs", conflicts_with = "command")]
    pub program: Option<PathBuf>,
    /// Also draw the first thread's timeline into this file; must not exist.
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    #[command(flatten)]
    pub runs: RunsArgs,
}

/// What bins have the same of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Basic blocks, in QEMU instructions.
    #[default]
    Effort,
    /// Time.
    Time,
}

/// Measures or reads, analyses, prints.
pub fn phases(arguments: &PhasesArgs, global: &GlobalArgs) -> Result<()> {
    arguments.runs.check(&[(&arguments.plot, "--plot")])?;
    if let Some(label) = arguments.label.filter(|label| *label > arguments.events) {
        let what = format!(
            "--label {label} is more than the --events {} of a bin, to which it is compared.",
            arguments.events
        );
        return Err(Error::Usage(what));
    }
    if arguments.runs.inputs.is_empty() {
        let profile = measure(arguments)?;
        let analysis = phases::analyse(&profile, &thresholds(&profile, arguments));
        if let Some(width) = arguments.width.filter(|&width| width < analysis.width && !global.quiet) {
            output::say(format!(
                "Bins are {} wide: --width {width} would have made more than 1048576 of them, the most that a thread may have.",
                analysis.width
            ));
        }
        return show(&analysis, arguments, global, &arguments.runs.command.join(" "));
    }
    let mut runs = simulated(arguments)?;
    if runs.is_empty() {
        if arguments.program.is_some() {
            let what = "--program names the addresses of gem5's bins, and no input is gem5's: profiles have their functions' names.";
            return Err(Error::Usage(what.into()));
        }
        runs = read(arguments)?;
    }
    match &runs[..] {
        [only] => show(&only.analysis, arguments, global, &only.name),
        _ => scale(&runs, arguments, global),
    }
}

/// The thresholds that the user chose, or that fit what was counted.
fn thresholds(profile: &Profile, arguments: &PhasesArgs) -> Thresholds {
    let label = arguments.label.unwrap_or_else(|| {
        let defaults = phases::default_thresholds(profile);
        if defaults.label < defaults.events { arguments.events / 2 + 1 } else { arguments.events }
    });
    Thresholds { label, ..chosen(arguments) }
}

/// The thresholds that the user chose, but for labels.
fn chosen(arguments: &PhasesArgs) -> Thresholds {
    Thresholds {
        events: arguments.events,
        label: arguments.events,
        gap: arguments.gap,
        filter: arguments.filter,
        join: arguments.join,
        share: arguments.share,
    }
}

/// One run of the program with bins.
fn measure(arguments: &PhasesArgs) -> Result<Profile> {
    if arguments.engine == Engine::Qemu && arguments.by == By::Time {
        return Err(Error::Usage("In QEMU time means nothing; its bins are of equal effort.".into()));
    }
    if arguments.engine == Engine::Counters && arguments.lines {
        return Err(Error::Usage("--lines needs --engine qemu: compiled counters see no addresses.".into()));
    }
    if arguments.lines && arguments.width.is_none() {
        let what = "--lines needs --width, such as --width 1000000: how many lines bins that become one have in common is not known.";
        return Err(Error::Usage(what.into()));
    }
    let value = |&(ref name, number): &(String, f64)| (name.clone(), Value::of(number));
    let point: Point = arguments.parameters.iter().map(value).collect();
    let bins = Bins { width: arguments.width, is_time: arguments.by == By::Time, lines: arguments.lines, cache: None };
    let run = Run {
        command: arguments.runs.command.clone(),
        point,
        repetition: 1,
        captured: true,
        measured: arguments.engine.measured(),
        waiting: true,
        phases: Some(bins),
        named_by: "--keep",
        ..Run::default()
    };
    once(&run, arguments.runs.keep.as_deref())
}

/// Makes the run, in `keep` if that is given, and reads its profile, which must have bins.
pub fn once(run: &Run, keep: Option<&Path>) -> Result<Profile> {
    interrupt::watch();
    let scratch = tempfile::tempdir().map_err(|e| Error::cannot_write(&std::env::temp_dir(), &e))?;
    let folder = keep.map_or_else(|| scratch.path().join("run"), Path::to_owned);
    match run.execute(&folder)? {
        Outcome::Complete => {
            let profile = Profile::read(folder.join(PROFILE)).map_err(|e| Error::Input(e.to_string()))?;
            if profile.phases.is_empty() {
                return Err(Error::Input(NO_BINS.into()));
            }
            // The detectors refuse it, and say why.
            let is_for_detectors = run.phases.as_ref().is_some_and(|bins| bins.cache.is_some());
            if machine::has_no_names(&profile) && !is_for_detectors {
                output::say(NO_NAMES);
            }
            Ok(profile)
        }
        Outcome::Failed { cause: Cause::NoProfile | Cause::PrintsNothing, reason, .. }
            if run.measured != Measured::Emulated =>
        {
            // The reason says why a program that could have counted did not.
            Err(Error::Usage(if run.is_instrumented() { format!("{reason} {NO_CHECKPOINTS}") } else { NO_BINS.into() }))
        }
        Outcome::Failed { reason, status, .. } => {
            let said = std::fs::read_to_string(folder.join("stderr.txt")).unwrap_or_default();
            let last: Vec<&str> = said.lines().rev().take(3).collect();
            last.iter().rev().for_each(output::say);
            let advice = what_to_do(run, &folder, keep, status);
            if status == 0 {
                return Err(Error::Input(format!("{reason} {advice}")));
            }
            output::say(&reason);
            output::say(advice);
            Err(Error::Forwarded(status))
        }
    }
}

/// What to do about a run that failed, of which nothing is shown.
fn what_to_do(run: &Run, folder: &Path, keep: Option<&Path>, status: u8) -> String {
    let instruction_set = emulated::instruction_set(&run.command).ok();
    if let Some(other) =
        instruction_set.filter(|set| run.measured != Measured::Emulated && *set != std::env::consts::ARCH)
    {
        return format!("The program is for {other}, which this machine is not. --engine qemu runs it.");
    }
    let unmeasured = run.measured != Measured::Emulated && !folder.join(PROFILE).exists();
    let counts = match unmeasured {
        // Of one that failed QEMU's counts are not shown at once, either.
        true if run.is_instrumented() => format!("It left no counts, either. {UNWRITTEN} Checkpoints have no bins. "),
        true => {
            let what = "if it is not compiled with poise cc, c++ or fc, --engine qemu counts it";
            format!("It left no counts, either: {what}. ")
        }
        false => String::new(),
    };
    let has_bins = Profile::read(folder.join(PROFILE)).is_ok_and(|profile| !profile.phases.is_empty());
    let rest = match keep {
        Some(folder) if has_bins => format!(
            "All that it printed is in {0}. What it counted is, too, and is shown where {0} is given instead of the command.",
            folder.display()
        ),
        Some(folder) => format!("All that it printed is in {}.", folder.display()),
        None => "--keep FOLDER keeps all that it prints.".to_owned(),
    };
    let refusal = match status {
        0 => "",
        _ => "Only a program that ends with status 0 is shown, since another may have ended early. ",
    };
    format!("{counts}{refusal}{rest}")
}

const NO_BINS: &str = "The program left no bins: it is not compiled with poise cc, c++ or fc of this version. \
                       --engine qemu counts any program.";

/// What helps a program that does not write its profile.
const NO_CHECKPOINTS: &str =
    "Checkpoints have no bins; --engine qemu counts them also in a program that ends by _exit.";

const NO_NAMES: &str = "The program has no symbols, so that all of its code is (outside main). Use one that is not stripped and not linked \
                        with -s; compiled with -g its functions have source lines, too.";

/// The bins of gem5's statistics, where the inputs are such.
fn simulated(arguments: &PhasesArgs) -> Result<Vec<At>> {
    let inputs = &arguments.runs.inputs;
    let found = formats::statistics_of_gem5(inputs).map_err(input::unreadable)?;
    let holds = |input: &PathBuf| found.iter().any(|(file, _)| file.starts_with(input));
    if let Some(other) = inputs.iter().find(|input| !found.is_empty() && !holds(input)) {
        let what = format!("{} holds no statistics of gem5, which the other inputs are.", other.display());
        return Err(Error::Usage(what));
    }
    let thresholds = Thresholds { label: arguments.label.unwrap_or(arguments.events), ..chosen(arguments) };
    let run = |(file, parameters): (PathBuf, Vec<(String, f64)>)| {
        let text = formats::text_of(&file).map_err(input::unreadable)?;
        let analysis =
            gem5::analyse(&text, arguments.program.as_deref(), &thresholds).map_err(|e| unreadable(&file, &e))?;
        Ok(At { name: file.display().to_string(), parameters, analysis })
    };
    let runs = found.into_iter().map(run).collect::<Result<Vec<At>>>()?;
    if !runs.is_empty() && runs.iter().all(|run| run.analysis.functions.is_empty()) {
        output::say(
            "No bin has a list of its addresses, so that there are no phases: only a gem5 with time-binned statistics writes such.",
        );
    }
    Ok(runs)
}

fn unreadable(file: &Path, what: &dyn std::fmt::Display) -> Error {
    Error::Input(format!("{}: {what}.", file.display()))
}

/// The inputs' runs that have bins.
fn read(arguments: &PhasesArgs) -> Result<Vec<At>> {
    let mut found = Vec::new();
    for path in &arguments.runs.inputs {
        found.extend(formats::kept_runs(path).map_err(input::unreadable)?);
    }
    found.retain(|run| !run.profile.phases.is_empty());
    let found = sound(found)?;
    if let [first, others @ ..] = &found[..]
        && !others.is_empty()
        && others.iter().all(|other| other.parameters == first.parameters)
    {
        let point: Vec<String> = first.parameters.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        output::say(format!(
            "All of these runs are at one point, {}, of which no growth can be told: make each with --param NAME=VALUE, such as --param n=1000, \
             for what differs between them.",
            point.join(", ")
        ));
    }
    if found.iter().any(|run| machine::has_no_names(&run.profile)) {
        output::say(NO_NAMES);
    }
    let chosen: Vec<_> = found.iter().map(|run| (&run.profile, thresholds(&run.profile, arguments))).collect();
    let analyses = phases::analyse_all(&chosen);
    let at = |(MeasuredRun { name, parameters, .. }, analysis)| At { name, parameters, analysis };
    let runs: Vec<At> = found.into_iter().zip(analyses).map(at).collect();
    match runs.is_empty() {
        true => Err(Error::Input(
            "None of the runs has bins. Make them with poise phases --keep, or with POISE_PHASES in a study's [environment]."
                .into(),
        )),
        false => Ok(runs),
    }
}

/// The runs without those that failed, of which a line tells; one that is alone is kept, since nothing is compared with it.
pub fn sound(mut runs: Vec<MeasuredRun>) -> Result<Vec<MeasuredRun>> {
    let count = runs.len();
    runs.retain(|run| {
        let Some(reason) = &run.failure else { return true };
        let name = run.name.strip_suffix("/run.json").unwrap_or(&run.name);
        output::say(match count {
            1 => format!("{name} failed, and may have ended early. {reason}"),
            _ => format!("{name} is left out, since it failed and may have ended early. {reason}"),
        });
        count == 1
    });
    match runs.is_empty() && count > 0 {
        true => Err(Error::Input("All of these runs failed. Each is shown where it is given alone.".into())),
        false => Ok(runs),
    }
}

/// Prints one run, and draws it where asked to.
fn show(analysis: &Analysis, arguments: &PhasesArgs, global: &GlobalArgs, title: &str) -> Result<()> {
    let text = match arguments.runs.output.format {
        OutputFormat::Human => analysis.human(global.verbose),
        OutputFormat::Json => analysis.json(),
        OutputFormat::Csv => analysis.csv(),
    };
    if !global.quiet {
        analysis.shared().iter().for_each(output::say);
        if arguments.runs.output.format != OutputFormat::Human {
            analysis.warnings().iter().for_each(output::say);
        }
    }
    output::deliver(&text, arguments.runs.output.output.as_deref())?;
    if let (Some(file), Some(first)) = (&arguments.plot, analysis.timelines.first()) {
        output::deliver_by("--plot", &analysis.svg(first, arguments.smooth), file)?;
    }
    if let Some(file) = &arguments.runs.page {
        output::deliver_by("--page", &analysis.page(title, arguments.smooth), file)?;
    }
    Ok(())
}

/// Matches the phases of several runs, models them, prints the models.
fn scale(runs: &[At], arguments: &PhasesArgs, global: &GlobalArgs) -> Result<()> {
    let matched = matching::matched(runs).map_err(Error::Input)?;
    if !global.quiet {
        // Tables have it below them.
        let widths = matched.widths.iter().filter(|_| arguments.runs.output.format != OutputFormat::Human);
        matched.unmatched.iter().chain(widths).for_each(output::say);
    }
    if matched.phases.is_empty() {
        return Err(Error::NotModelable("No phase that all of the runs have can be modelled.".into()));
    }
    let options = Options { over_ranks: OverRanks::Mean, ..Options::default() };
    let fits: Fits = modeler::fit(&matched.experiment, &options);
    let destination = arguments.runs.output.output.as_deref();
    let text = match arguments.runs.output.format {
        OutputFormat::Human => {
            let shown = model::Shown { noun: "phase", metrics: model::Metrics::All, verbose: global.verbose };
            let text = model::for_people(&matched.experiment, &fits, &shown, destination);
            let notes = matched.outside.iter().chain(&matched.widths);
            text + &notes.map(|note| format!("{note}\n")).collect::<String>()
        }
        OutputFormat::Json => formats::models_json(&matched.experiment, &fits, env!("CARGO_PKG_VERSION"), 0),
        OutputFormat::Csv => formats::models_csv(&matched.experiment, &fits),
    };
    output::deliver(&text, destination)?;
    if let Some(file) = &arguments.runs.page {
        let picture = matching::largest(runs).and_then(|run| {
            let first = run.analysis.timelines.first()?;
            Some((run.name.clone(), run.analysis.svg(first, arguments.smooth)))
        });
        let options = ReportOptions {
            title: "Phases".into(),
            noun: "phase",
            warnings: matched.unmatched.into_iter().chain(matched.outside).chain(matched.widths).collect(),
            pictures: picture.into_iter().collect(),
            ..ReportOptions::default()
        };
        output::deliver_by("--page", &report::html(&matched.experiment, &fits, &options), file)?;
    }
    Ok(())
}
