//! All runs of a study, each in its own folder; what is there already is not run again.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::interrupt;
use crate::progress::Progress;
use crate::run::{Outcome, RECORD, Run};
use crate::study::{Point, Study};

/// What became of a study's runs.
#[derive(Debug, Default)]
pub struct Summary {
    /// Runs that are complete, earlier ones included.
    pub complete: usize,
    /// Runs that an earlier call had left.
    pub found: usize,
    /// Failed runs: folder and reason.
    pub failed: Vec<(PathBuf, String)>,
}

/// Builds and runs whatever of `study` is missing under `results`.
///
/// # Errors
/// Nothing could be started or written, `results` holds something else, or the user interrupted; complete runs stay. A
/// failed run is no error here.
pub fn execute(study: &Study, results: &Path, progress: &Progress) -> Result<Summary> {
    refuse_foreign_folder(results)?;
    build(study, progress)?;
    let total = study.points.len() * study.repetitions as usize;
    let bar = progress.bar("measure", total as u64);
    let mut summary = Summary::default();
    // Repetitions of a point are not run back to back, so that drift of the machine is not taken for scaling.
    for repetition in 1..=study.repetitions {
        for point in &study.points {
            let name = folder_name(point, repetition);
            bar.message(&name);
            let folder = results.join(&name);
            if is_complete(study, &folder, point)? {
                summary.complete += 1;
                summary.found += 1;
            } else {
                run_one(study, point, repetition, &folder, &mut summary)?;
            }
            bar.advance();
        }
    }
    Ok(summary)
}

fn run_one(study: &Study, point: &Point, repetition: u32, folder: &Path, summary: &mut Summary) -> Result<()> {
    let command = study.command_at(point);
    let run = Run {
        command: &command,
        directory: &study.directory,
        point,
        repetition,
        time_limit: Some(study.time_limit),
        clock: study.clock,
        captured: true,
        measured: study.measured,
        waiting: study.waiting,
        environment: &[],
    };
    match run.execute(folder)? {
        Outcome::Complete => summary.complete += 1,
        Outcome::Failed { reason, .. } => summary.failed.push((folder.to_owned(), with_last_words(&reason, folder))),
    }
    Ok(())
}

fn build(study: &Study, progress: &Progress) -> Result<()> {
    let Some((program, arguments)) = study.build.split_first() else { return Ok(()) };
    progress.step(&format!("build: {}", study.build.join(" ")));
    let status = Command::new(program).args(arguments).current_dir(directory(study)).status();
    interrupt::check()?;
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Error::Usage(format!("The study's build `{}` failed: {status}.", study.build.join(" ")))),
        Err(e) => Err(Error::Usage(format!("Cannot start the study's build `{program}`: {e}."))),
    }
}

fn directory(study: &Study) -> &Path {
    if study.directory.as_os_str().is_empty() { Path::new(".") } else { &study.directory }
}

/// `p4.n100.r1`, as Extra-P names its folders.
fn folder_name(point: &Point, repetition: u32) -> String {
    let mut name: String = point.iter().map(|(parameter, value)| format!("{parameter}{}.", value.text)).collect();
    name.push_str(&format!("r{repetition}"));
    name
}

/// Whether the folder holds the complete run of the study at this point.
///
/// # Errors
/// It holds the run of another command or clock: results of two studies are not one.
fn is_complete(study: &Study, folder: &Path, point: &Point) -> Result<bool> {
    let record = std::fs::read_to_string(folder.join(RECORD)).ok();
    let record: Option<serde_json::Value> = record.and_then(|text| serde_json::from_str(&text).ok());
    let Some(record) = record.filter(|r| r["status"] == "complete") else { return Ok(false) };
    let earlier: Vec<&str> = record["command"].as_array().into_iter().flatten().filter_map(|a| a.as_str()).collect();
    if earlier == study.command_at(point) && record["clock"] == study.clock.name() {
        return Ok(true);
    }
    Err(Error::Usage(format!(
        "{} was measured by another study, with `{}` and the clock {}. Choose another folder with -o, or remove this one.",
        folder.display(),
        earlier.join(" "),
        record["clock"].as_str().unwrap_or("unknown")
    )))
}

/// Runs go into a new or empty folder, or to their like; never among other people's files.
fn refuse_foreign_folder(results: &Path) -> Result<()> {
    let Ok(entries) = std::fs::read_dir(results) else { return Ok(()) };
    let mut entries = entries.flatten().map(|e| e.path()).peekable();
    if entries.peek().is_none() || entries.any(|path| path.join(RECORD).is_file()) {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "{} holds something else than runs of a study. Choose another folder with -o.",
        results.display()
    )))
}

/// The reason, and the last line that the program wrote to standard error.
fn with_last_words(reason: &str, folder: &Path) -> String {
    let path = folder.join("stderr.txt");
    let text = std::fs::read(&path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    match text.lines().rev().map(str::trim).find(|line| line.chars().any(char::is_alphanumeric)) {
        Some(line) => format!("{reason} It said last: \"{line}\" (all of it is in {}).", path.display()),
        None => reason.to_owned(),
    }
}
