//! Runs as jobs of a Slurm cluster. `poise run` writes what is to be run into files, submits jobs that do nothing but
//! call `poise task` on a compute node, and waits for the runs' folders to appear. No value of a parameter is ever in a
//! script, so no shell can misread it. Jobs outlive the call that submitted them: the next one finds them by name.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

mod queue;
mod submission;

use super::Step;
use crate::campaign::Task;
use crate::digest;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::output;
use crate::run::misfortune::{Cause, Outcome};
use crate::run::{RECORD, Run, left, record};
use crate::study::{SlurmPlace, Study, Submit};
use submission::{Geometry, Item, Submission};
pub use submission::{WORKERS, work};

/// Folder of submissions below the results.
pub const FOLDER: &str = ".slurm";
/// How long the file system may take to show what a finished job has written.
const PATIENCE: Duration = Duration::from_secs(15);
/// Tasks of an array; Slurm's own default limit is 1001.
const LONGEST_ARRAY: usize = 1000;

/// One task that is in the queue.
struct Waiting<'a> {
    task: &'a Task,
    run: &'a Run,
    submission: usize,
    index: usize,
    /// Since when the queue no longer has it.
    gone: Option<Instant>,
}

/// Makes runs as jobs.
///
/// # Errors
/// Slurm cannot be reached or refuses all jobs, nothing can be written, or the user interrupted; jobs stay in the queue.
pub fn execute(
    study: &Study,
    place: &SlurmPlace,
    tasks: &[Task],
    runs: &[Run],
    results: &Path,
    tell: &mut dyn FnMut(Step) -> Result<bool>,
) -> Result<()> {
    let results = results.canonicalize().map_err(|e| Error::cannot_write(results, &e))?;
    let folder = results.join(FOLDER);
    fs::create_dir_all(&folder).map_err(|e| Error::cannot_write(&folder, &e))?;
    let mut submissions = Submission::read_all(&folder);
    let alive = queue::look(&submissions)?;
    let mut waiting: Vec<Waiting> = Vec::new();
    let mut fresh: Vec<usize> = Vec::new();
    for (i, task) in tasks.iter().enumerate() {
        if !tell(Step::Begins(task))? {
            continue;
        }
        // It may have become complete since the campaign looked.
        if let Some(outcome) = runs[i].complete_in(&task.folder) {
            tell(Step::Ended(task, outcome))?;
            continue;
        }
        let before = queued(&submissions, &alive, task, &runs[i]);
        match before {
            Some((submission, index)) => waiting.push(Waiting { task, run: &runs[i], submission, index, gone: None }),
            None => fresh.push(i),
        }
    }
    for (geometry, members) in by_geometry(study, place, tasks, &fresh) {
        let longest = if place.submit == Submit::Array { LONGEST_ARRAY } else { 1 };
        for chunk in members.chunks(longest) {
            let items = chunk.iter().map(|&i| item(&results, &tasks[i], &runs[i])).collect();
            let submission = Submission::write(&folder, items, place)?;
            match submission.submit(place, &geometry, study.time_limit) {
                Ok(()) => {
                    let number = submissions.len();
                    waiting.extend(chunk.iter().enumerate().map(|(index, &i)| Waiting {
                        task: &tasks[i],
                        run: &runs[i],
                        submission: number,
                        index,
                        gone: None,
                    }));
                    submissions.push(submission);
                }
                Err(refusal) if refusal.is_for_size => {
                    submission.forget();
                    for &i in chunk {
                        let outcome = runs[i].refuse(&tasks[i].folder, Cause::TooManyRanks, refusal.reason.clone())?;
                        tell(Step::Ended(&tasks[i], outcome))?;
                    }
                }
                Err(refusal) => {
                    submission.forget();
                    return Err(Error::Usage(refusal.reason));
                }
            }
        }
    }
    wait(place, &submissions, waiting, tell)?;
    tidy(&results, &submissions);
    Ok(())
}

/// The job in the queue that is this very run, by submission and index. Those that an earlier state of the study has
/// submitted under its name are cancelled.
fn queued(submissions: &[Submission], alive: &queue::Queue, task: &Task, run: &Run) -> Option<(usize, usize)> {
    let mut found = None;
    for (s, submission) in submissions.iter().enumerate() {
        let index = submission.items.iter().position(|item| item.name == task.name);
        let Some(index) = index.filter(|&index| alive.has(submission, index)) else { continue };
        if submission.items[index].run.configuration == run.configuration {
            found = Some((s, index));
        } else {
            queue::cancel(submission, index);
        }
    }
    found
}

/// Removes submissions that no job needs any more, and what killed jobs have left once there is no job at all. A job
/// whose run has its record only exits, although the queue may still have it.
fn tidy(results: &Path, submissions: &[Submission]) {
    let Ok(queue) = queue::look(submissions) else { return };
    let is_needed = |submission: &&Submission| {
        let mut items = submission.items.iter().enumerate();
        items.any(|(index, item)| queue.has(submission, index) && item.result().is_none())
    };
    let (needed, over): (Vec<&Submission>, Vec<&Submission>) = submissions.iter().partition(is_needed);
    if needed.is_empty() {
        clear(results);
    }
    over.into_iter().for_each(Submission::forget);
}

fn item(results: &Path, task: &Task, run: &Run) -> Item {
    let destination = results.join(&task.name);
    let before = fs::read(destination.join(RECORD)).ok().map(|bytes| digest::of_bytes(&bytes));
    Item { name: task.name.clone(), destination, run: run.clone(), before }
}

/// Tasks that can be of one array: those that ask the cluster for the same.
fn by_geometry(study: &Study, place: &SlurmPlace, tasks: &[Task], fresh: &[usize]) -> Vec<(Geometry, Vec<usize>)> {
    let mut groups: Vec<(Geometry, Vec<usize>)> = Vec::new();
    for &i in fresh {
        let geometry = Geometry::of(study, place, &study.cases[tasks[i].case]);
        match groups.iter_mut().find(|(known, _)| *known == geometry) {
            Some((_, members)) => members.push(i),
            None => groups.push((geometry, vec![i])),
        }
    }
    groups
}

/// Waits until every task has ended.
fn wait(
    place: &SlurmPlace,
    submissions: &[Submission],
    mut waiting: Vec<Waiting>,
    tell: &mut dyn FnMut(Step) -> Result<bool>,
) -> Result<()> {
    let poll = Duration::from_secs(place.poll_seconds);
    let mut looked: Option<Instant> = None;
    while !waiting.is_empty() {
        let mut still = Vec::new();
        let is_due = looked.is_none_or(|at| at.elapsed() >= poll);
        let used: BTreeSet<usize> = waiting.iter().map(|w| w.submission).collect();
        let queue = if is_due { queue::look(used.into_iter().map(|s| &submissions[s])).ok() } else { None };
        if is_due {
            tell(Step::Waits)?;
        }
        looked = if is_due { Some(Instant::now()) } else { looked };
        for mut task in waiting {
            let submission = &submissions[task.submission];
            if let Some(outcome) = submission.items[task.index].result() {
                tell(Step::Ended(task.task, outcome))?;
                continue;
            }
            if let Some(queue) = &queue {
                if let Some(reason) = queue.never_starts(submission, task.index) {
                    queue::cancel(submission, task.index);
                    let outcome = task.run.refuse(&task.task.folder, Cause::TooManyRanks, reason)?;
                    tell(Step::Ended(task.task, outcome))?;
                    continue;
                }
                task.gone = if queue.has(submission, task.index) { None } else { task.gone.or(Some(Instant::now())) };
            }
            if task.gone.is_some_and(|at| at.elapsed() > PATIENCE) {
                let (cause, reason) = queue::last_state(submission, task.index);
                let outcome = task.run.refuse(&task.task.folder, cause, reason)?;
                tell(Step::Ended(task.task, outcome))?;
                continue;
            }
            still.push(task);
        }
        waiting = still;
        if let Err(error) = pause(Duration::from_millis(500), waiting.is_empty()) {
            let jobs: BTreeSet<String> = waiting.iter().filter_map(|w| submissions[w.submission].job()).collect();
            let jobs: Vec<String> = jobs.into_iter().collect();
            output::say(format!(
                "jobs stay in the queue; the same command takes up their results, and `scancel {}` ends them.",
                jobs.join(" ")
            ));
            return Err(error);
        }
    }
    Ok(())
}

fn pause(time: Duration, is_over: bool) -> Result<()> {
    let begun = Instant::now();
    while !is_over && begun.elapsed() < time {
        interrupt::check()?;
        std::thread::sleep(Duration::from_millis(20));
    }
    interrupt::check()
}

/// Removes the unfinished folders of tasks that were killed on their nodes, but for what was measured in them.
fn clear(results: &Path) {
    let folders = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|path| path.is_dir()).collect::<Vec<PathBuf>>()
    };
    let groups = std::iter::once(results.to_owned()).chain(folders(results));
    for (group, path) in groups.flat_map(|group| folders(&group).into_iter().map(move |path| (group.clone(), path))) {
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(WORKERS)) {
            match left::keep_measured(&path, &group) {
                Some(kept) => output::say(kept),
                None => drop(fs::remove_dir_all(path)),
            }
        }
    }
}

impl Item {
    /// What became of it, once its folder is there and is not that of an earlier attempt.
    fn result(&self) -> Option<Outcome> {
        if let Some(outcome) = self.run.complete_in(&self.destination) {
            return Some(outcome);
        }
        let bytes = fs::read(self.destination.join(RECORD)).ok()?;
        if self.before.as_ref() == Some(&digest::of_bytes(&bytes)) {
            return None;
        }
        let record = record::read(&self.destination)?;
        let cause = record.cause.as_deref().and_then(Cause::named).unwrap_or(Cause::ExitStatus);
        Some(Outcome::Failed { cause, reason: record.reason.unwrap_or_default(), status: 0 })
    }
}
