//! `poise run`: a whole study, or one program once.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use modeler::analysis::FEWEST_ROWS;

use crate::campaign::{self, Options, Summary, events};
use crate::cli::{ClockChoice, GlobalArgs, OutputFormat, parse_assignment};
use crate::error::{Error, Result};
use crate::executors::slurm::FailedLine;
use crate::interrupt;
use crate::output::{self, counted};
use crate::progress::Progress;
use crate::run::misfortune::Outcome;
use crate::run::{Measured, ONCE, PROFILE, Run, left, partial, processes};
use crate::study::{Clock, Point, SAMPLE, Study, Value, check_name};

mod dry;

#[derive(Args, Debug)]
#[command(after_help = "\
A study is called again after an interruption: it runs what is missing and nothing twice. docs/studies.md describes the \
study file. Ends with status 5 if runs failed; the others are kept. One command behind `--` ends with that command's own \
status, 0 also where it ended well and left no profile: that is said on standard error, and `status` in the folder's \
run.json is then `failed`. The next run takes the place of one that failed with nothing measured; others are never overwritten: \
what comes into being while the program runs stays, and the run is kept beside it (FOLDER.1).
Examples:
  poise run --init                      write study.toml, every key explained
  poise run --init -o other.toml        write it under another name
  poise run study.toml --dry-run        print every command and what runs cost
  poise run study.toml                  all points of a study, into study.runs
  poise run study.toml --format json    tell progress, an object per line
  poise run -o once --param n=1000 -- mpirun -n 4 ./app 1000
  poise run --engine qemu -- ./app      count a program that is compiled already")]
pub struct RunArgs {
    /// A study file.
    #[arg(value_name = "STUDY.toml", required_unless_present_any = ["command", "init"], conflicts_with = "command")]
    pub study: Option<PathBuf>,
    /// Results folder; by default the study's name with .runs, or poise-run for one command. With --init, the study file.
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Write a commented study to STUDY.toml, or to what -o names (study.toml), and run nothing.
    #[arg(long, conflicts_with_all = ["command", "dry_run"])]
    pub init: bool,
    /// Print the commands of a study and what they probably cost, and run none.
    #[arg(long)]
    pub dry_run: bool,
    /// Continue a study although its program is not the one that was measured before.
    #[arg(long)]
    pub accept_changed: bool,
    /// Make the machine quiet while runs are made, as far as allowed, and put it back: pinning, priority, and as root the
    /// frequency governor and boost.
    #[arg(long)]
    pub quiet_machine: bool,
    /// For people, or one event per line for programs; with --dry-run, a table.
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
    /// A parameter's value at this run, such as n=1000; may be given several times.
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parse_assignment)]
    pub parameters: Vec<(String, f64)>,
    /// What time means: elapsed, or processor time where ranks share cores. A study says it itself.
    #[arg(long, value_enum, value_name = "CLOCK")]
    pub clock: Option<ClockChoice>,
    /// How the program is counted: compiled with poise cc, or as machine code in QEMU's user mode, which needs no
    /// compiling and measures no time.
    #[arg(long, value_enum, value_name = "ENGINE", default_value_t)]
    pub engine: Engine,
    /// The program to measure once, and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// What counts a program's effort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Engine {
    /// The counters that poise cc, c++ and fc compile into it.
    #[default]
    Counters,
    /// QEMU's user mode with our plugin: any program for x86-64, AArch64 or RISC-V, machine code, no time.
    Qemu,
}

impl Engine {
    /// How a run is measured with it.
    pub fn measured(self) -> Measured {
        match self {
            Self::Counters => Measured::Preloaded,
            Self::Qemu => Measured::Emulated,
        }
    }
}

#[derive(Args, Debug)]
pub struct TaskArgs {
    /// The file of tasks.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Which of them, from 0.
    #[arg(value_name = "INDEX")]
    pub index: usize,
    /// The line of the job's script that failed before; nothing is run then.
    #[arg(long, value_name = "LINE", requires = "failed_status")]
    pub failed_line: Option<usize>,
    /// The status of that.
    #[arg(long, value_name = "STATUS", requires = "failed_line")]
    pub failed_status: Option<u8>,
}

impl TaskArgs {
    /// What failed before the task began.
    pub fn failed(&self) -> Option<FailedLine> {
        let (line, status) = self.failed_line.zip(self.failed_status)?;
        Some(FailedLine { line, status })
    }
}

/// Runs a study, or the command after `--`.
pub fn run(arguments: &RunArgs, global: &GlobalArgs, progress: &Progress) -> Result<()> {
    if arguments.init {
        return init(arguments, global);
    }
    match &arguments.study {
        Some(file) => run_study(file, arguments, global, progress),
        None => run_once(arguments, global),
    }
}

fn init(arguments: &RunArgs, global: &GlobalArgs) -> Result<()> {
    if arguments.study.is_some() && arguments.output.is_some() {
        return Err(Error::Usage("--init writes one file; name it with -o or without, not both.".into()));
    }
    let named = arguments.output.as_ref().or(arguments.study.as_ref());
    let path = named.cloned().unwrap_or_else(|| PathBuf::from("study.toml"));
    output::write_file(&path, SAMPLE.as_bytes())?;
    if !global.quiet {
        let path = path.display();
        output::say(format!(
            "{path} is a study with a comment for every key; poise run {path} --dry-run shows its commands."
        ));
    }
    Ok(())
}

fn run_study(file: &Path, arguments: &RunArgs, global: &GlobalArgs, progress: &Progress) -> Result<()> {
    if arguments.clock.is_some() || !arguments.parameters.is_empty() {
        return Err(Error::Usage("A study names its clock and parameters itself; write them into the file.".into()));
    }
    if arguments.engine != Engine::Counters {
        return Err(Error::Usage(
            "--engine goes with one command behind `--`; a study's programs are compiled.".into(),
        ));
    }
    let study = Study::read(file)?;
    let results = arguments.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.runs", study.name)));
    if arguments.dry_run {
        return dry::run(&study, &results, arguments.format, global.quiet);
    }
    if arguments.format == OutputFormat::Csv {
        return Err(Error::Usage("poise run tells events as --format json; csv goes with --dry-run.".into()));
    }
    if let Some(note) = study.place.note().filter(|_| !global.quiet && study.measured == Measured::Linked) {
        output::say(note);
    }
    interrupt::watch();
    let tells_events = arguments.format == OutputFormat::Json;
    let options = Options { accepts_changes: arguments.accept_changed, quiets: arguments.quiet_machine, tells_events };
    let summary = campaign::execute_with(&study, &results, progress, options)?;
    if !tells_events {
        report(&study, &summary, &results, global)?;
    }
    match summary.failed.len() {
        0 => Ok(()),
        failed => {
            let runs = counted(failed, "run", "runs");
            Err(Error::Partial(format!("{runs} failed; the same command tries again.")))
        }
    }
}

fn report(study: &Study, summary: &Summary, results: &Path, global: &GlobalArgs) -> Result<()> {
    for (at, (folder, reason)) in summary.failed.iter().enumerate() {
        // What is wrong with all points is said once.
        let without_place = |(folder, reason): &(PathBuf, String)| reason.replace(&folder.display().to_string(), "");
        let alike = without_place(&(folder.clone(), reason.clone()));
        if summary.failed[..at].iter().any(|other| without_place(other) == alike) {
            continue;
        }
        let others = summary.failed[at + 1..].iter().filter(|other| without_place(other) == alike);
        let name = |(other, _): &(PathBuf, String)| other.strip_prefix(results).unwrap_or(other).display().to_string();
        let others: Vec<String> = others.map(name).collect();
        output::say(format!("{} failed. {reason}", folder.display()));
        if !others.is_empty() {
            output::say(format!("So did {}: {}.", counted(others.len(), "other run", "other runs"), others.join(", ")));
        }
    }
    for (point, reason) in &summary.unsettled {
        output::say(format!("{point} is not as steady as asked: {reason}."));
    }
    for warning in summary.warnings.iter().filter(|_| !global.quiet) {
        output::say(warning);
    }
    if global.quiet || summary.complete == 0 {
        return Ok(());
    }
    let complete = counted(summary.complete, "run is", "runs are");
    let earlier =
        if summary.found > 0 { format!(" ({} of them from an earlier call)", summary.found) } else { String::new() };
    let next = match summary.first_complete.filter(|_| study.has_groups()) {
        Some(case) => format!("{}/{}", results.display(), study.folder_of(&study.cases[case]).0),
        None => results.display().to_string(),
    };
    let next = output::shown(&next);
    let command = match study.cases.iter().all(|case| case.point.is_empty()) {
        // There is nothing that a model could depend on.
        true => {
            let needs = format!(" (it needs {FEWEST_ROWS} runs at least; repetitions count)");
            let needs = if summary.complete < FEWEST_ROWS { needs.as_str() } else { "" };
            format!("analyze {}{needs}", output::shown(&results.display().to_string()))
        }
        false => format!("model {next}{}", too_few_points(study).unwrap_or_default()),
    };
    output::deliver(&format!("{complete} complete{earlier}. Next: poise {command}\n"), None)
}

/// That a model needs more points than the study has, where it does.
fn too_few_points(study: &Study) -> Option<String> {
    let least = modeler::Options::default().minimum_points;
    let mut points: Vec<&Point> = Vec::new();
    for case in &study.cases {
        if !points.contains(&&case.point) {
            points.push(&case.point);
        }
        if points.len() >= least {
            return None;
        }
    }
    let points = points.len();
    Some(format!(
        " (it needs {least} points at least, and this study has {points}; poise advise --design lists the first to measure)"
    ))
}

fn run_once(arguments: &RunArgs, global: &GlobalArgs) -> Result<()> {
    if arguments.dry_run {
        return output::deliver(&(output::shown_command(&arguments.command) + "\n"), None);
    }
    for (i, (name, number)) in arguments.parameters.iter().enumerate() {
        check_name(name).map_err(Error::Usage)?;
        if *number <= 0.0 {
            return Err(Error::Usage(format!("--param has {name} = {number}; parameters are positive.")));
        }
        if arguments.parameters[..i].iter().any(|(earlier, _)| earlier == name) {
            return Err(Error::Usage(format!("--param gives `{name}` twice; a run is at one point.")));
        }
    }
    let value = |&(ref name, number): &(String, f64)| (name.clone(), Value::of(number));
    let point: Point = arguments.parameters.iter().map(value).collect();
    let folder = arguments.output.clone().unwrap_or_else(|| PathBuf::from("poise-run"));
    let run = Run {
        command: arguments.command.clone(),
        point,
        repetition: 1,
        clock: match arguments.clock {
            Some(ClockChoice::Cpu) => Clock::Cpu,
            Some(ClockChoice::Simulated) => Clock::Simulated,
            Some(ClockChoice::None) => Clock::None,
            Some(ClockChoice::Wall) | None => Clock::Wall,
        },
        captured: false,
        measured: arguments.engine.measured(),
        unfinished: processes::own_prefix(ONCE),
        ..Run::default()
    };
    interrupt::watch();
    clear_dead(folder.parent().filter(|p| *p != Path::new("")).unwrap_or(Path::new(".")));
    match run.execute(&folder)? {
        Outcome::Complete => {
            if !global.quiet {
                output::say(format!("the profile is in {0}; poise export {0} --to csv shows it.", folder.display()));
            }
            Ok(())
        }
        Outcome::Failed { reason, status, .. } => {
            let next = if partial::is_measured(&folder) { "" } else { NEXT };
            let profile = folder.join(PROFILE);
            let whole = match profile.is_file() {
                true => format!(" Its profile is whole: poise messages, model and export read {}.", profile.display()),
                false => String::new(),
            };
            output::say(format!("{reason} The record of this failed run is in {}{next}.{whole}", folder.display()));
            // The program's own status is the caller's to see; one that ended well without a profile did end well.
            if status == 0 { Ok(()) } else { Err(Error::Forwarded(status)) }
        }
    }
}

/// Of the folder of a run of which nothing was measured.
const NEXT: &str = "; the next run there takes its place";

/// Takes up what single runs have left in a folder whose poise was killed: what was measured gets a name that is seen, the
/// rest goes. Where the program still runs, all stays.
fn clear_dead(parent: &Path) {
    let has_ended = |folder: &PathBuf| folder.canonicalize().is_ok_and(|folder| !processes::is_measured_into(&folder));
    for folder in processes::of_dead(parent, ONCE).into_iter().filter(has_ended) {
        if let Some(kept) = left::keep_measured(&folder, parent) {
            output::say(kept);
        } else if std::fs::remove_dir_all(&folder).is_ok() {
            output::say(format!("removed {}, which a poise that was killed had left.", folder.display()));
        }
    }
}

/// `40 s`, `3 min`, `2.5 h`.
fn duration(time: Duration) -> String {
    events::duration(time.as_secs_f64())
}
