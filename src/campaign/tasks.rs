//! From a study's cases to the runs that are to be made: what each run is, where its folder goes, and which are there.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use poise_profile::Profile;

use super::build::{self, Built, Made};
use crate::digest;
use crate::error::{Error, Result};
use crate::executors::slurm::WORKERS;
use crate::executors::smpi;
use crate::run::record::{self, Program};
use crate::run::{Measured, PROFILE, RECORD, Run};
use crate::study::{Case, Place, Study};

/// One run that is to be made.
#[derive(Clone, Debug)]
pub struct Task {
    /// Which of the study's cases.
    pub case: usize,
    /// Which repetition, from 1.
    pub repetition: u32,
    /// Its folder's name below the results.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
}

/// A complete run.
#[derive(Clone, Debug)]
pub struct Done {
    /// Which repetition, from 1.
    pub repetition: u32,
    /// What policies judge, s.
    pub time: f64,
    /// Elapsed, s.
    pub seconds: f64,
}

impl Task {
    /// The run of a case.
    pub fn of(study: &Study, case: usize, repetition: u32, results: &Path) -> Self {
        let (group, stem) = study.folder_of(&study.cases[case]);
        let name = format!("{stem}r{repetition}");
        let name = if group.is_empty() { name } else { format!("{group}/{name}") };
        Self { case, repetition, folder: results.join(&name), name }
    }
}

/// The first so many repetitions of a case that are not done.
pub fn missing(done: &[Done], most: usize) -> impl Iterator<Item = u32> {
    (1..).filter(|repetition| !done.iter().any(|done| done.repetition == *repetition)).take(most)
}

/// What to start for a case.
///
/// # Errors
/// The simulator that is to run it is not there.
pub fn run(study: &Study, case: &Case, repetition: u32, built: &Built) -> Result<Run> {
    let place = |name: &str| match name {
        "program" => Some(vec![built.program.display().to_string()]),
        "build" => Some(vec![built.folder.display().to_string()]),
        _ => None,
    };
    let any_place = |name: &str| place(name).map(|_| vec![format!("\0{name}")]);
    let configuration = described(study, case, repetition, &any_place, Some(smpi::Here::anywhere()))?;
    let mut configuration = serde_json::json!([
        configuration.command,
        configuration.environment,
        configuration.files,
        study.own_folder,
        study.clock,
        study.measured == Measured::Not,
        study.memory_limit,
        study.waiting,
    ]);
    let here = matches!(study.place, Place::Smpi(_)).then(smpi::Here::find).transpose()?;
    let mut run = described(study, case, repetition, &place, here)?;
    run.build = build::described(study, case);
    // A study that builds nothing has the digest that it always had.
    if let Some(list) = configuration.as_array_mut().filter(|_| !run.build.is_empty()) {
        list.push(run.build.clone().into());
    }
    run.configuration = digest::of_bytes(configuration.to_string().as_bytes());
    Ok(run)
}

fn described(
    study: &Study,
    case: &Case,
    repetition: u32,
    place: &dyn Fn(&str) -> Option<Vec<String>>,
    here: Option<smpi::Here>,
) -> Result<Run> {
    let words = |name: &str| place(name).or_else(|| study.words(case, name)).unwrap_or_default();
    let filled = |pairs: &[(String, crate::study::Template)]| {
        pairs.iter().map(|(name, template)| (name.clone(), template.fill(&words))).collect::<Vec<_>>()
    };
    let mut run = Run {
        command: study.command.iter().flat_map(|template| template.arguments(&words)).collect(),
        environment: filled(&study.environment),
        files: filled(&study.files),
        directory: study.directory.clone(),
        own_folder: study.own_folder,
        build: Vec::new(),
        point: case.point.clone(),
        factors: case.factors.iter().map(|(name, factor)| (name.clone(), factor.to_string())).collect(),
        repetition,
        cores: study.cores(case).1,
        time_limit: Some(study.time_limit),
        memory_limit: study.memory_limit,
        clock: study.clock,
        captured: true,
        measured: study.measured,
        waiting: study.waiting,
        phases: None,
        pinned: Vec::new(),
        unfinished: if matches!(study.place, Place::Slurm(_)) { WORKERS.to_owned() } else { String::new() },
        configuration: String::new(),
        named_by: "",
    };
    if case.absorbs {
        run.environment.push(("POISE_ABSORB".to_owned(), "on".to_owned()));
    }
    if let (Place::Smpi(place), Some(here)) = (&study.place, here) {
        smpi::extend(&mut run, place, here, study.cores(case).0, &words)?;
    }
    Ok(run)
}

/// The complete runs of each case, by repetition, and a sentence where one inherited another environment.
///
/// # Errors
/// A run was measured by another study, or with a program that has changed since, unless that is accepted; or something else
/// has a run's name.
pub fn found(
    study: &Study,
    builds: &[Built],
    made: &Made,
    results: &Path,
    accepts_changes: bool,
) -> Result<(Vec<Vec<Done>>, Option<String>)> {
    let mut programs: HashMap<String, Option<String>> = made.digests().collect();
    let mut found = Vec::new();
    let mut warning = None;
    for (i, case) in study.cases.iter().enumerate() {
        let run = run(study, case, 1, &builds[i])?;
        let mut done = Vec::new();
        for repetition in repetitions_in(study, case, results) {
            let folder = Task::of(study, i, repetition, results).folder;
            let Some(record) = record::read(&folder) else {
                refuse_what_is_no_run(&folder)?;
                continue;
            };
            if record.status != "complete" {
                continue;
            }
            check_study(&run, &record, &folder)?;
            if study.measured != Measured::Not {
                check_profile(&folder)?;
            }
            // Jobs of a batch system have what their preamble and the system set, and not this process's variables.
            if warning.is_none() && !matches!(study.place, Place::Slurm(_)) {
                warning = record::changed_variable(&run, &record).map(|changed| other_environment(changed, &folder));
            }
            if !accepts_changes {
                check_programs(&record.programs, &folder, &mut programs)?;
            }
            done.push(Done { repetition, time: record.time(), seconds: record.seconds });
        }
        found.push(done);
    }
    Ok((found, warning))
}

fn other_environment((name, then, now): (String, Option<String>, Option<String>), folder: &Path) -> String {
    let shown = |value: Option<String>| value.map_or("not set".to_owned(), |value| format!("`{value}`"));
    format!(
        "{name} was {} when {} was measured and is {} now; the runs are not alike unless the program ignores it. Give it in the \
         study's [environment].",
        shown(then),
        folder.display(),
        shown(now)
    )
}

/// The repetitions of a case that have a folder, in order.
fn repetitions_in(study: &Study, case: &Case, results: &Path) -> Vec<u32> {
    let (group, stem) = study.folder_of(case);
    let entries = std::fs::read_dir(results.join(group)).into_iter().flatten().flatten();
    let number = |name: &str| name.strip_prefix(&stem)?.strip_prefix('r')?.parse::<u32>().ok();
    let mut found: Vec<u32> = entries.filter_map(|entry| number(entry.file_name().to_str()?)).collect();
    found.sort_unstable();
    found
}

/// What has a run's name and is none stays where it is, and would end the call when that run is to be made, perhaps after hours.
fn refuse_what_is_no_run(folder: &Path) -> Result<()> {
    // A job of an earlier call may just have put its run in the place of a failed one.
    if folder.symlink_metadata().is_err() || record::read(folder).is_some() {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "{} has the name of a run and is none: it holds no {RECORD} that can be read. Remove or rename it; the same command then \
         makes the run.",
        folder.display()
    )))
}

/// A complete run whose profile was removed or damaged since is none, and nothing of ours removes it.
fn check_profile(folder: &Path) -> Result<()> {
    let path = folder.join(PROFILE);
    let problem = Profile::read(&path).err();
    problem.map_or(Ok(()), |problem| {
        let problem = problem.to_string();
        Err(Error::Usage(format!(
            "{} is the record of a complete run, whose profile cannot be read: {}. Remove the folder; the same command then makes the run again.",
            folder.join(RECORD).display(),
            problem.trim_end_matches('.')
        )))
    })
}

/// Results of two studies are not one.
fn check_study(run: &Run, record: &record::Read, folder: &Path) -> Result<()> {
    let is_same = match &record.configuration {
        Some(configuration) => *configuration == run.configuration,
        None => record.command == run.command_in(folder) && record.clock == run.clock.name(),
    };
    if is_same {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "{} was measured by another study, with `{}` and the clock {}; its command, build, environment, input files or limits are \
         not this one's. Choose another folder with -o, or remove this one.",
        folder.display(),
        record.command.join(" "),
        record.clock
    )))
}

/// Results of two versions of a program are not one. Each file that is not `known` is looked at once.
fn check_programs(programs: &[Program], folder: &Path, known: &mut HashMap<String, Option<String>>) -> Result<()> {
    for program in programs {
        let now = known.entry(program.path.clone()).or_insert_with(|| digest::of_file(Path::new(&program.path)).ok());
        if let Some(now) = now.as_ref().filter(|now| **now != program.sha256) {
            return Err(Error::Usage(format!(
                "{} has changed since {} was measured: its SHA-256 was {}… and is {}…. Choose a new folder with -o, or \
                 continue with the changed program with --accept-changed.",
                program.path,
                folder.display(),
                &program.sha256[..program.sha256.len().min(12)],
                &now[..12]
            )));
        }
    }
    Ok(())
}
