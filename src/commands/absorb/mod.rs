//! `poise absorb`: how many instructions of each kind every hot loop of a program takes without slowing down, and which
//! resource binds it. The program was built with `poise cc --noise`; one run measures everything.
//!
//! `inject` runs it and reads what its runtime measured; `rebuild` does the same the slow way, as a check; `wishes` says what was asked
//! for and does not exist.

mod rebuild;
mod wishes;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use modeler::absorption::code::Binary;
use modeler::absorption::{self, Options};
use poise_profile::{Loop, Metric, Profile};

use crate::cli::{GlobalArgs, LevelArgs, OutputArgs, OutputFormat, SeedArgs};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::output;
use crate::run::misfortune::{Cause, NO_PROFILE, Outcome};
use crate::run::{Measured, PROFILE, Run, record};
use crate::study::Clock;

#[derive(Args, Debug)]
#[command(after_help = "\
The program is built with poise cc, c++ or fc and --noise, which puts copies of its loops beside them that carry noise \
of every mode and quantity. Without this command the copies never run.
Examples:
  poise cc --noise -O3 -march=native app.c -o app
  poise absorb -- ./app 1000                every loop that runs long enough
  poise absorb --profile study.runs/p4.n100.r1 -- mpirun -n 4 ./app 1000
  poise absorb --mode fp_add64,l1_ld64 --loops solve.c:41 -- ./app
  poise absorb --method rebuild --build 'make -B CC=poise-cc' -- ./app
The third measures the hot loops of an earlier run only, the last is the slow way, as a check.")]
pub struct AbsorbArgs {
    /// Noise modes to measure; all that the program was built with unless given.
    #[arg(long, value_delimiter = ',', value_name = "MODE,…")]
    pub mode: Vec<String>,
    /// Noise quantities to measure.
    #[arg(long, value_delimiter = ',', value_name = "K,…")]
    pub k: Vec<u32>,
    /// Loops to measure: a function's name or file:line.
    #[arg(long, value_delimiter = ',', value_name = "PLACE,…")]
    pub loops: Vec<String>,
    /// Call paths to measure, such as main/solve; those below count too.
    #[arg(long, value_delimiter = ',', value_name = "PATH,…")]
    pub callpath: Vec<String>,
    /// Measure functions that take at least a hundredth of the time in this run, a profile or a run's folder, and those of `--loops`.
    #[arg(long, value_name = "FILE")]
    pub profile: Option<PathBuf>,
    /// Ranks that get noise, such as 0,4-7; all unless given.
    #[arg(long, value_delimiter = ',', value_name = "RANK,…")]
    pub ranks: Vec<String>,
    /// Threads of each process that get noise, by the order in which they start to work.
    #[arg(long, value_delimiter = ',', value_name = "THREAD,…")]
    pub noisy_threads: Vec<String>,
    /// Bursts of each mode and quantity; up to ten times as many where those leave its time uncertain.
    #[arg(long, default_value_t = 24, value_name = "N")]
    pub samples: u32,
    /// How long a burst without noise lasts, in microseconds.
    #[arg(long, default_value_t = 40, value_name = "MICROSECONDS")]
    pub burst: u32,
    /// All quantities in one build and one run, or a build and a run for each.
    #[arg(long, value_enum, default_value_t = Method::Inject)]
    pub method: Method,
    /// How to build the program anew with `--method rebuild`: a command for the shell that calls poise cc.
    #[arg(long, value_name = "COMMAND", required_if_eq("method", "rebuild"))]
    pub build: Option<String>,
    /// Runs of each build with `--method rebuild`.
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub repetitions: u32,
    /// Keep the run's folder, with the profile and what the program printed; must not exist.
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Also draw the curves into this file; it must not exist.
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    #[command(flatten)]
    pub level: LevelArgs,
    #[command(flatten)]
    pub seed: SeedArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// The program and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Method {
    /// One build with variants, one run that alternates them.
    Inject,
    /// A build and a run per mode and quantity.
    Rebuild,
}

/// A function is hot that takes this share of the time.
const HOT: f64 = 0.01;

const NOT_BUILT: &str = "The program ended well but left no profile. Build it with poise cc --noise (c++, fc likewise); it is measured if \
                         it ends by exit, by returning from main or, under MPI, after MPI_Finalize.";

/// Measures, analyses, prints.
pub fn absorb(arguments: &AbsorbArgs, global: &GlobalArgs) -> Result<()> {
    interrupt::watch();
    output::check_all_new([(&arguments.output.output, "-o"), (&arguments.plot, "--plot")])?;
    let loops = wanted(arguments)?;
    let (profile, concerns) = match arguments.method {
        Method::Inject => inject(arguments, &loops)?,
        // Of many runs, of processor time.
        Method::Rebuild => (rebuild::measure(arguments, global)?, Vec::new()),
    };
    let options = Options { level: arguments.level.level, seed: arguments.seed.seed, ..Options::default() };
    // What the variants' machine code really has, from whichever word of the command is the program.
    let binaries = Binary::among(&arguments.command);
    let code = |target: &_| binaries.iter().find_map(|binary| binary.code(target));
    let mut report = absorption::analyse(&profile, &code, &options);
    report.concerns = concerns;
    if profile.noise.loops.is_empty() {
        return Err(Error::Usage(
            "The program has no loop with noise, or none ran. Build it with poise cc --noise (c++, fc likewise), with optimisation or without; \
             if it was, the words behind --noise= chose no loop, or the compiler left none."
                .into(),
        ));
    }
    // Of loops that nobody asked about nothing is said.
    let is_asked = |target: &Loop| loops.is_empty() || loops.iter().any(|at| target.is_at(at));
    report.refused.retain(|refused| is_asked(&refused.target));
    let text = match arguments.output.format {
        OutputFormat::Human => report.human(),
        OutputFormat::Json => report.json(),
        OutputFormat::Csv => {
            // A row has numbers only.
            report.refused.iter().for_each(|refused| output::say(refused.line()));
            report.csv()
        }
    };
    output::deliver(&text, arguments.output.output.as_deref())?;
    if let Some(file) = &arguments.plot {
        output::deliver_by("--plot", &report.svg(), file)?;
    }
    match (report.loops.len(), report.refused.len()) {
        (0, 0) => Err(Error::NotModelable(
            "No loop with noise ran on the chosen ranks and threads at the chosen places.".into(),
        )),
        (0, _) => Err(Error::NotModelable("No loop was measured; the reasons are above.".into())),
        _ => Ok(()),
    }
}

/// The places of the loops to measure, those that are named and those of hot functions; none means all.
fn wanted(arguments: &AbsorbArgs) -> Result<Vec<String>> {
    let hot = arguments.profile.as_deref().map(hot).transpose()?;
    Ok([arguments.loops.clone(), hot.unwrap_or_default()].concat())
}

/// What a run measured, and what of the machine makes that untrustworthy.
type Ran = (Profile, Vec<String>);

/// One run of the program with all noise.
fn inject(arguments: &AbsorbArgs, loops: &[String]) -> Result<Ran> {
    wishes::check_words(arguments)?;
    let loops = loops.to_vec();
    let mut wish = vec![format!("samples={}", arguments.samples), format!("burst={}", arguments.burst)];
    let k: Vec<String> = arguments.k.iter().map(u32::to_string).collect();
    let parts = [
        ("modes", &arguments.mode),
        ("k", &k),
        ("loops", &loops),
        ("callpaths", &arguments.callpath),
        ("ranks", &arguments.ranks),
        ("threads", &arguments.noisy_threads),
    ];
    let given = parts.into_iter().filter(|(_, values)| !values.is_empty());
    wish.extend(given.map(|(name, values)| format!("{name}={}", values.join(","))));
    wish.push(format!("seed={}", arguments.seed.seed));
    let ran = run(arguments, Clock::Wall, &[("POISE_ABSORB", wish.join(";"))], arguments.keep.as_deref())?;
    wishes::check(arguments, &ran.0)?;
    Ok(ran)
}

/// The functions that take much of the time in an earlier run.
fn hot(file: &Path) -> Result<Vec<String>> {
    let file = if file.is_dir() { file.join(PROFILE) } else { file.to_owned() };
    let profile = Profile::read(&file).map_err(|e| Error::Input(e.to_string()))?;
    let mut times = std::collections::BTreeMap::new();
    for (&(node, _), value) in profile.values.iter().filter(|((_, metric), _)| *metric == Metric::Time) {
        let region = &profile.regions[profile.nodes[node as usize].region as usize];
        *times.entry(region.name.clone()).or_insert(0) += value.sum;
    }
    let all: u128 = times.values().sum();
    if all == 0 {
        let what = "has no times, so that no function is hot; make it with a clock";
        return Err(Error::Input(format!("--profile {}: the run {what}.", file.display())));
    }
    let is_hot = |(_, time): &(String, u128)| *time as f64 >= HOT * all as f64;
    let hot: Vec<String> = times.into_iter().filter(is_hot).map(|(name, _)| name).collect();
    if hot.is_empty() {
        let what = "has no function that takes a hundredth of the time; name loops with --loops";
        return Err(Error::Input(format!("--profile {}: the run {what}.", file.display())));
    }
    Ok(hot)
}

/// Runs the program once in this environment.
fn run(
    arguments: &AbsorbArgs,
    clock: Clock,
    environment: &[(&'static str, String)],
    keep: Option<&Path>,
) -> Result<Ran> {
    let scratch = tempfile::tempdir().map_err(|e| Error::cannot_write(&std::env::temp_dir(), &e))?;
    let folder = keep.map_or_else(|| scratch.path().join("run"), Path::to_owned);
    let run = Run {
        command: arguments.command.clone(),
        repetition: 1,
        clock,
        captured: true,
        named_by: "--keep",
        measured: Measured::Preloaded,
        environment: environment.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        ..Run::default()
    };
    match run.execute(&folder)? {
        Outcome::Complete => {
            let profile = Profile::read(folder.join(PROFILE));
            let machine = record::read(&folder).and_then(|record| record.machine).unwrap_or_default();
            Ok((profile.map_err(|e| Error::Defect(format!("The run's profile: {e}.")))?, machine.concerns))
        }
        Outcome::Failed { cause: Cause::CannotStart, reason, .. } => Err(Error::Usage(reason)),
        Outcome::Failed { reason, status, .. } => {
            let said = std::fs::read_to_string(folder.join("stderr.txt")).unwrap_or_default();
            let last: Vec<&str> = said.lines().rev().take(3).collect();
            last.iter().rev().for_each(output::say);
            match status {
                0 if reason == NO_PROFILE => Err(Error::Usage(NOT_BUILT.into())),
                0 => Err(Error::Usage(format!("{reason} Is the program built with poise cc --noise?"))),
                status => {
                    output::say(reason);
                    Err(Error::Forwarded(status))
                }
            }
        }
    }
}
