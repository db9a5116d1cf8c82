//! `poise phases`: effort over time, which code it belongs to, and how each phase scales.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use modeler::experiment::OverRanks;
use modeler::formats::{self, MeasuredRun};
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
use crate::cli::{GlobalArgs, OutputFormat, RunsArgs, parse_assignment, parse_share};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::output;
use crate::run::misfortune::{Cause, Outcome};
use crate::run::{Bins, Measured, PROFILE, Run};
use crate::study::{Point, Value};

#[derive(Args, Debug)]
#[command(after_help = "\
Without --width, bins start at 4096 basic blocks or instructions (100 us with --by time) and double whenever there are 4096 of \
them, or 16384 where wider bins would hide phases. Runs of a study have phases if its [environment] has POISE_PHASES = \"blocks\".
Examples:
  poise phases -- ./app 1000                    compiled with poise cc
  poise phases --engine qemu -- ./app 1000      any program, also for AArch64
  poise phases --page app.html -- ./app         a timeline, with the code
  poise phases --keep runs/n100.r1 --param n=100 -- ./app 100
  poise phases runs                             models of what kept runs share
  poise phases m5out/stats.txt --program ./app  gem5's periodic dumps")]
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
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub events: usize,
    /// m_t: how many of these must belong to a function; by default all with addresses, most of them without.
    #[arg(long, value_name = "N")]
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
    #[arg(long, value_name = "SHARE", default_value_t = 0.01, value_parser = parse_share)]
    pub share: f64,
    /// Smooth the curves of pictures by a median over as many bins; data never are.
    #[arg(long, value_name = "BINS", default_value_t = 1)]
    pub smooth: usize,
    /// A parameter's value at this run, such as n=1000; may be given several times.
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parse_assignment, conflicts_with = "inputs")]
    pub parameters: Vec<(String, f64)>,
    /// The program that gem5 simulated, whose symbols name the addresses of its bins.
    #[arg(long, value_name = "FILE", requires = "inputs")]
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
    if arguments.runs.inputs.is_empty() {
        let profile = measure(arguments)?;
        let analysis = phases::analyse(&profile, &thresholds(&profile, arguments));
        return show(&analysis, arguments, global, &arguments.runs.command.join(" "));
    }
    if let Some(analysis) = simulated(arguments)? {
        return show(&analysis, arguments, global, &arguments.runs.inputs[0].display().to_string());
    }
    if arguments.program.is_some() {
        let what = "--program names the addresses of gem5's bins, and no input is gem5's: profiles have their functions' names.";
        return Err(Error::Usage(what.into()));
    }
    let runs = read(arguments)?;
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
            Ok(profile)
        }
        Outcome::Failed { cause: Cause::NoProfile | Cause::PrintsNothing, .. }
            if run.measured != Measured::Emulated =>
        {
            Err(Error::Usage(NO_BINS.into()))
        }
        Outcome::Failed { reason, status, .. } => {
            let said = std::fs::read_to_string(folder.join("stderr.txt")).unwrap_or_default();
            let last: Vec<&str> = said.lines().rev().take(3).collect();
            last.iter().rev().for_each(output::say);
            output::say(&reason);
            Err(if status == 0 { Error::Input(reason) } else { Error::Forwarded(status) })
        }
    }
}

const NO_BINS: &str = "The program left no bins: it is not compiled with poise cc, c++ or fc of this version. \
                       --engine qemu counts any program.";

/// The bins of gem5's statistics, if that is what the input is.
fn simulated(arguments: &PhasesArgs) -> Result<Option<Analysis>> {
    for file in arguments.runs.inputs.iter().filter(|path| path.is_file()) {
        let unreadable = |what: &dyn std::fmt::Display| Error::Input(format!("{}: {what}.", file.display()));
        let mut head = Vec::new();
        let opened = std::fs::File::open(file).map_err(|e| unreadable(&e))?;
        opened.take(1 << 12).read_to_end(&mut head).map_err(|e| unreadable(&e))?;
        if gem5::is_hdf5(&head) {
            let what = "it is HDF5, which is not read. Let gem5 write text (--stats-file=stats.txt), or convert it";
            return Err(unreadable(&what));
        }
        if gem5::is_statistics(&head) {
            if arguments.runs.inputs.len() > 1 {
                return Err(Error::Usage("gem5's statistics are looked at one file at a time.".into()));
            }
            let text = std::fs::read_to_string(file).map_err(|e| unreadable(&e))?;
            let label = arguments.label.unwrap_or(arguments.events);
            let thresholds = Thresholds { label, ..chosen(arguments) };
            let analysis =
                gem5::analyse(&text, arguments.program.as_deref(), &thresholds).map_err(|e| unreadable(&e))?;
            if analysis.functions.is_empty() {
                output::say(
                    "No bin has a list of its addresses, so that there are no phases: only a gem5 with time-binned statistics writes such.",
                );
            }
            return Ok(Some(analysis));
        }
    }
    Ok(None)
}

/// The inputs' runs that have bins.
fn read(arguments: &PhasesArgs) -> Result<Vec<At>> {
    let mut found = Vec::new();
    for path in &arguments.runs.inputs {
        found.extend(formats::measured_runs(path).map_err(input::unreadable)?);
    }
    found.retain(|run| !run.profile.phases.is_empty());
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

/// Prints one run, and draws it where asked to.
fn show(analysis: &Analysis, arguments: &PhasesArgs, global: &GlobalArgs, title: &str) -> Result<()> {
    let text = match arguments.runs.output.format {
        OutputFormat::Human => analysis.human(global.verbose),
        OutputFormat::Json => analysis.json(),
        OutputFormat::Csv => analysis.csv(),
    };
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
        matched.unmatched.iter().for_each(output::say);
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
            model::for_people(&matched.experiment, &fits, &shown, destination)
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
            warnings: matched.unmatched,
            pictures: picture.into_iter().collect(),
            ..ReportOptions::default()
        };
        output::deliver_by("--page", &report::html(&matched.experiment, &fits, &options), file)?;
    }
    Ok(())
}
