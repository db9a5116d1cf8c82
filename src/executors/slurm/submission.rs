//! One submission: the tasks of a job or an array job, written before it is submitted so that a killed call leaves
//! nothing unknown in the queue, and what a compute node does with them.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::digest;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::output;
use crate::run::misfortune::has_no_room;
use crate::run::{Run, record};
use crate::study::{Case, SlurmPlace, Study, Submit};

/// How the names of unfinished folders begin that belong to jobs, which the call that submitted them leaves alone.
pub const WORKERS: &str = ".task-";
/// The tasks' file.
const TASKS: &str = "tasks.json";
/// The job's number, once it is known.
const JOB: &str = "job";

/// One run of a submission.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Item {
    /// The run's name below the results.
    pub name: String,
    /// Its folder, absolute.
    pub destination: PathBuf,
    /// What to run.
    pub run: Run,
    /// Digest of the record of an earlier attempt that is still there.
    pub before: Option<String>,
}

/// Tasks that were submitted together.
#[derive(Clone, Debug)]
pub struct Submission {
    folder: PathBuf,
    /// The job's name, by which it is found again.
    pub name: String,
    /// What is run, by index in the array.
    pub items: Vec<Item>,
}

/// What a job asks the cluster for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    options: Vec<String>,
}

/// Why sbatch did not take a job.
pub struct Refusal {
    /// In its own words.
    pub reason: String,
    /// Whether the cluster is too small for it; others may fit.
    pub is_for_size: bool,
}

impl Geometry {
    /// The options of sbatch that depend on the case.
    pub fn of(study: &Study, place: &SlurmPlace, case: &Case) -> Self {
        let (ranks, cores) = study.cores(case);
        let mut options = vec![format!("--ntasks={ranks}"), format!("--cpus-per-task={}", cores / ranks.max(1))];
        // Whole numbers, checked when the study was read.
        let number = |e: &crate::study::Expression| e.number(&|name| case.term(name)).unwrap_or(1.0) as u64;
        options.extend(place.nodes.as_ref().map(|e| format!("--nodes={}", number(e))));
        options.extend(place.tasks_per_node.as_ref().map(|e| format!("--ntasks-per-node={}", number(e))));
        let words = |name: &str| study.words(case, name).unwrap_or_default();
        options.extend(place.options.iter().flat_map(|option| option.arguments(&words)));
        Self { options }
    }
}

impl Submission {
    /// Writes what is going to be submitted.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(parent: &Path, items: Vec<Item>, place: &SlurmPlace) -> Result<Self> {
        let token = format!("{:012x}", digest::token() & 0xffff_ffff_ffff);
        let submission = Self { folder: parent.join(&token), name: format!("poise-{token}"), items };
        let written = submission.write_files(place);
        written.map_err(|e| Error::cannot_write(&submission.folder, &e))?;
        Ok(submission)
    }

    fn write_files(&self, place: &SlurmPlace) -> std::io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let tasks = serde_json::to_vec(&self.items).map_err(std::io::Error::other)?;
        let poise = std::env::current_exe()?;
        let mut script = String::from("#!/bin/bash\n");
        place.preamble.iter().for_each(|line| script.push_str(&format!("{line}\n")));
        let words = [quoted(&poise), "task".to_owned(), quoted(&self.folder.join(TASKS))];
        script.push_str(&format!("exec {} \"${{SLURM_ARRAY_TASK_ID:-0}}\"\n", words.join(" ")));
        for (name, bytes) in [(TASKS, tasks), ("job.sh", script.into_bytes())] {
            let mut file = File::create(self.folder.join(name))?;
            file.write_all(&bytes)?;
            file.sync_all()?;
        }
        File::open(&self.folder)?.sync_all()
    }

    /// All submissions below a folder, the oldest first.
    pub fn read_all(parent: &Path) -> Vec<Self> {
        let entries = fs::read_dir(parent).into_iter().flatten().flatten();
        let read = |folder: PathBuf| {
            let items = serde_json::from_slice(&fs::read(folder.join(TASKS)).ok()?).ok()?;
            let name = format!("poise-{}", folder.file_name()?.to_str()?);
            let written = folder.join(TASKS).metadata().and_then(|m| m.modified()).ok();
            Some((written, Self { folder, name, items }))
        };
        let mut all: Vec<_> = entries.filter_map(|entry| read(entry.path())).collect();
        all.sort_by_key(|(written, submission)| (*written, submission.name.clone()));
        all.into_iter().map(|(_, submission)| submission).collect()
    }

    /// The words that submit it.
    pub fn sbatch(&self, place: &SlurmPlace, geometry: &Geometry, time_limit: Duration) -> Vec<String> {
        // The run's own limit ends it first and says so; the job has time to start and to write.
        let minutes = (time_limit.as_secs() + 120).div_ceil(60);
        let folder = self.folder.display().to_string().replace('%', "%%");
        let mut words = vec!["sbatch".to_owned(), "--parsable".into(), format!("--job-name={}", self.name)];
        words.push(format!("--time={minutes}"));
        if place.submit == Submit::Array {
            let limit = place.at_once.map_or_else(String::new, |most| format!("%{most}"));
            words.push(format!("--array=0-{}{limit}", self.items.len() - 1));
            words.push(format!("--output={folder}/%a.out"));
        } else {
            words.push(format!("--output={folder}/0.out"));
        }
        words.extend(place.partition.iter().map(|name| format!("--partition={name}")));
        words.extend(place.account.iter().map(|name| format!("--account={name}")));
        words.extend(geometry.options.iter().cloned());
        words.push(self.folder.join("job.sh").display().to_string());
        words
    }

    /// Submits it.
    ///
    /// # Errors
    /// Slurm's own words.
    pub fn submit(&self, place: &SlurmPlace, geometry: &Geometry, time_limit: Duration) -> Result<(), Refusal> {
        let words = self.sbatch(place, geometry, time_limit);
        let refusal = |reason: String| Refusal { is_for_size: has_no_room(&reason), reason };
        let output = Command::new(&words[0]).args(&words[1..]).output().map_err(|e| {
            refusal(format!("Cannot start sbatch: {e}. The executor \"slurm\" needs Slurm's commands on the PATH."))
        })?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().map(|line| line.trim_start_matches("sbatch: error: ").trim()).collect::<Vec<_>>();
            return Err(refusal(format!("sbatch refused the job: {}.", said.join(" ").trim_end_matches('.'))));
        }
        // `123` or `123;cluster`. Where it cannot be written, the job is found by its name.
        let said = String::from_utf8_lossy(&output.stdout);
        let job = said.trim().split(';').next().unwrap_or_default().to_owned();
        let _ = fs::write(self.folder.join(JOB), job);
        Ok(())
    }

    /// The job's number, if it is known.
    pub fn job(&self) -> Option<String> {
        fs::read_to_string(self.folder.join(JOB)).ok().filter(|job| !job.is_empty())
    }

    /// What a task's job printed itself, beside what its program did.
    pub fn said(&self, index: usize) -> String {
        let text = fs::read(self.folder.join(format!("{index}.out"))).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Removes its files.
    pub fn forget(&self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A path as one word of a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

/// What a compute node does: `poise task FILE INDEX`.
///
/// # Errors
/// The task cannot be read, or nothing could be started or written.
pub fn work(file: &Path, index: usize) -> Result<()> {
    let bytes = fs::read(file).map_err(|e| Error::cannot_read(file, &e))?;
    let items: Vec<Item> =
        serde_json::from_slice(&bytes).map_err(|e| Error::Input(format!("{}: {e}.", file.display())))?;
    let count = items.len();
    let item = items.into_iter().nth(index);
    let item = item.ok_or_else(|| Error::Usage(format!("{} has {count} tasks, and none {index}.", file.display())))?;
    // A job that was requeued after its run had ended has nothing left to do.
    if record::read(&item.destination).is_some_and(|record| record.status == "complete") {
        return Ok(());
    }
    interrupt::watch();
    item.run.execute(&item.destination).map(|_| ()).inspect_err(|error| output::say(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_one_word() {
        assert_eq!(quoted(Path::new("/a b/it's; $(x)")), "'/a b/it'\\''s; $(x)'");
        let said = Command::new("sh").arg("-c").arg(format!("printf %s {}", quoted(Path::new("a'\n\"b")))).output();
        assert_eq!(said.unwrap().stdout, b"a'\n\"b");
    }
}
