//! Compiles the generated program twice, with the counters and without, and runs both. What is there already is not done
//! again, so that an interrupted validation continues where it was.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use modeler::Experiment;
use modeler::formats::{self, ReadOptions};
use serde::Serialize;

use super::plan::{Executor, Plan};
use super::{points_of, test_point};
use crate::campaign;
use crate::error::{Error, Result};
use crate::executors::smpi::{self, PLATFORM, Smpi};
use crate::install::{self, Language, Mpi};
use crate::interrupt;
use crate::output;
use crate::progress::Progress;
use crate::run::{Measured, RECORD};
use crate::study::{Case, Clock, Overhead, Repetitions, SmpiPlace, Study, Template, Value};

/// What starts the ranks.
pub enum Launcher {
    /// Open MPI.
    OpenMpi(Mpi),
    /// SimGrid's SMPI.
    Smpi(Smpi),
}

impl Launcher {
    /// Looks for all that the plan needs, before anything is written.
    ///
    /// # Errors
    /// Says what is missing and how to get it.
    pub fn find(executor: Executor) -> Result<Self> {
        install::compiler(Language::Cxx)?;
        for library in [install::PASS, install::RUNTIME, install::SHIM] {
            install::library(library)?;
        }
        match executor {
            Executor::OpenMpi => install::open_mpi().map(Self::OpenMpi),
            Executor::Smpi => Smpi::find().map(Self::Smpi),
        }
    }
}

/// What one campaign of runs cost on this machine.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Cost {
    /// Number of runs.
    pub runs: usize,
    /// Processor time of all their processes.
    pub core_seconds: f64,
    /// Elapsed time, summed over runs.
    pub elapsed_seconds: f64,
}

/// What was measured.
pub struct Measurements {
    /// The training points, with all repetitions.
    pub trained: Experiment,
    /// The unseen point.
    pub unseen: Experiment,
    /// Training and unseen points, for exact comparison.
    pub all: Experiment,
    /// The training runs with the counters.
    pub instrumented: Cost,
    /// As many of the same program without them.
    pub plain: Cost,
}

/// Compiles and runs whatever is missing in `folder`, where the generated program is.
pub fn measure(plan: &Plan, launcher: &Launcher, folder: &Path, progress: &Progress) -> Result<Measurements> {
    let name = &plan.spec.name;
    let plain = format!("{name}-plain");
    for (target, instrumented) in [(name, true), (&plain, false)] {
        if !folder.join(target).is_file() {
            progress.step(&format!("compile {target}"));
            compile(launcher, folder, &format!("{name}.cpp"), target, instrumented)?;
        }
    }
    // What is simulated takes the same time in every run.
    let repetitions = if plan.executor == Executor::Smpi { 1 } else { plan.repetitions };
    let (runs, test, uncounted) = (folder.join("runs"), folder.join("test"), folder.join("runs-plain"));
    let study = study(plan, launcher, folder, name)?;
    let repeated = Study { repetitions: Repetitions::fixed(repetitions), ..study.clone() };
    run(&repeated, &runs, progress)?;
    run(&Study { cases: vec![Case::of(test_point(&plan.spec)?)], ..repeated }, &test, progress)?;
    let command = command(plan, launcher, &plain);
    let command = command.iter().map(|word| Template::parse(word)).collect();
    let without = Study { measured: Measured::Not, command, waiting: false, ..study };
    run(&without, &uncounted, progress)?;
    Ok(Measurements {
        trained: read(&[&runs])?,
        unseen: read(&[&test])?,
        all: read(&[&runs, &test])?,
        instrumented: cost(&runs, 1)?,
        plain: cost(&uncounted, 1)?,
    })
}

/// What is measured beside the plan's points lies in this folder.
const MORE: &str = "advised";

/// Runs whatever is missing of further points, each as often as it says, beside those of the plan; all that was measured so.
pub fn more(
    plan: &Plan,
    launcher: &Launcher,
    folder: &Path,
    points: &[(Vec<f64>, u32)],
    progress: &Progress,
) -> Result<Experiment> {
    let results = folder.join(MORE);
    let study = study(plan, launcher, folder, &plan.spec.name)?;
    let most = points.iter().map(|(_, repetitions)| *repetitions).max().unwrap_or(0);
    for repetitions in 1..=most {
        let mut cases: Vec<Case> = Vec::new();
        for (at, _) in points.iter().filter(|(_, wanted)| *wanted == repetitions) {
            let names = plan.spec.parameters.iter().map(|p| p.name.clone());
            let case = Case::of(names.zip(at.iter().map(|&x| Value::of(x))).collect());
            if !cases.contains(&case) {
                cases.push(case);
            }
        }
        if !cases.is_empty() {
            run(&Study { cases, repetitions: Repetitions::fixed(repetitions), ..study.clone() }, &results, progress)?;
        }
    }
    read(&[&results])
}

/// Compiles to a temporary name first: a program under its own name is complete.
fn compile(launcher: &Launcher, folder: &Path, source: &str, target: &str, instrumented: bool) -> Result<()> {
    let poise = std::env::current_exe().map_err(|e| Error::Defect(format!("The program's own path: {e}.")))?;
    let unfinished = format!(".{target}");
    let (mut command, compiler) = match launcher {
        Launcher::OpenMpi(mpi) => {
            let wrapper = format!("{} c++", poise.display());
            let mut command = Command::new(&mpi.cxx);
            command.env("OMPI_CXX", &wrapper).env("MPICH_CXX", &wrapper);
            (command, mpi.cxx.display().to_string())
        }
        Launcher::Smpi(smpi) => {
            let mut command = Command::new(&poise);
            command.arg("c++").args(smpi.flags("c++")?);
            (command, "poise c++ with the flags of smpicxx".to_owned())
        }
    };
    command.args(["-std=c++17", "-O2", source, "-o", &unfinished]).current_dir(folder);
    if !instrumented {
        command.env("POISE_WRAPPER", "off");
    }
    let output = command.output().map_err(|e| Error::Usage(format!("Cannot start {compiler}: {e}.")))?;
    interrupt::check()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::Usage(format!("{compiler} could not compile {source}:\n{}", said.trim_end())));
    }
    fs::rename(folder.join(&unfinished), folder.join(target)).map_err(|e| Error::cannot_write(folder, &e))
}

fn study(plan: &Plan, launcher: &Launcher, folder: &Path, program: &str) -> Result<Study> {
    let (clock, measured) = match launcher {
        // Ranks share cores, and elapsed time would measure the neighbours.
        Launcher::OpenMpi(_) => (Clock::Cpu, Measured::Preloaded),
        Launcher::Smpi(_) => {
            write_platform(folder, plan)?;
            (Clock::Simulated, Measured::Linked)
        }
    };
    let command = command(plan, launcher, program);
    let study = Study::of(&plan.spec.name, &command, folder, points_of(&plan.spec));
    Ok(Study { time_limit: Duration::from_secs(3600), clock, measured, waiting: super::waits(&plan.spec), ..study })
}

/// The simulated machine: the default network, and for the sender 1 µs per message and 0.1 ns per byte.
fn machine() -> SmpiPlace {
    SmpiPlace { overhead: Overhead { message: 1e-6, byte: 1e-10 }, ..SmpiPlace::default() }
}

/// Writes the simulated machine, a node per rank of the largest point.
fn write_platform(folder: &Path, plan: &Plan) -> Result<()> {
    let path = folder.join(PLATFORM);
    if path.is_file() {
        return Ok(());
    }
    let ranks = plan.spec.largest_point().get("p").copied().unwrap_or(1.0);
    output::write_file(&path, smpi::platform(&machine(), ranks as u64).as_bytes())
}

fn command(plan: &Plan, launcher: &Launcher, program: &str) -> Vec<String> {
    let mut command = match launcher {
        Launcher::OpenMpi(mpi) => super::mpirun(mpi),
        Launcher::Smpi(smpi) => smpi.command(&machine(), PLATFORM, "{p}"),
    };
    command.push(format!("./{program}"));
    let others = plan.spec.parameters.iter().filter(|p| p.name != "p");
    command.extend(others.map(|p| format!("{0}={{{0}}}", p.name)));
    command
}

/// Runs what is missing of a study.
fn run(study: &Study, results: &Path, progress: &Progress) -> Result<()> {
    let summary = campaign::execute(study, results, progress)?;
    match summary.failed.first() {
        None => Ok(()),
        Some((folder, reason)) => Err(Error::Partial(format!(
            "{} of {} runs failed; the same command tries them again. {}: {reason}",
            summary.failed.len(),
            summary.failed.len() + summary.complete,
            folder.display()
        ))),
    }
}

fn read(folders: &[&PathBuf]) -> Result<Experiment> {
    let inputs: Vec<PathBuf> = folders.iter().map(|&f| f.clone()).collect();
    let input = formats::read(&inputs, &ReadOptions::default());
    input.map(|i| i.experiment).map_err(|e| Error::Partial(e.to_string()))
}

/// What the runs of one repetition cost, by their records.
fn cost(results: &Path, repetition: u64) -> Result<Cost> {
    let unreadable = |e: &std::io::Error| Error::cannot_read(results, e);
    let mut cost = Cost::default();
    for entry in fs::read_dir(results).map_err(|e| unreadable(&e))? {
        let path = entry.map_err(|e| unreadable(&e))?.path().join(RECORD);
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let record: serde_json::Value =
            serde_json::from_str(&text).map_err(|e| Error::Input(format!("{}: {e}.", path.display())))?;
        if record["repetition"].as_u64() == Some(repetition) {
            cost.runs += 1;
            cost.core_seconds += record["processor_seconds"].as_f64().unwrap_or(0.0);
            cost.elapsed_seconds += record["seconds"].as_f64().unwrap_or(0.0);
        }
    }
    Ok(cost)
}
