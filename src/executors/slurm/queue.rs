//! What Slurm says of our jobs: which are in the queue (`squeue`), and how those that are not have ended (`sacct`, or
//! `scontrol` where the cluster keeps no accounts).

use std::collections::BTreeMap;
use std::process::Command;

use super::submission::Submission;
use crate::error::{Error, Result};
use crate::run::misfortune::Cause;

/// Jobs in the queue: by the job's name and the array's index, why they wait.
pub struct Queue {
    entries: BTreeMap<(String, usize), Entry>,
}

/// Names in one question: one argument of a program has 128 KiB on Linux, and a name 19 bytes.
const NAMES: usize = 4000;

struct Entry {
    state: String,
    reason: String,
}

/// Looks for the submissions' jobs in the queue.
///
/// # Errors
/// Slurm cannot be asked.
pub fn look<'a>(submissions: impl IntoIterator<Item = &'a Submission>) -> Result<Queue> {
    let names: Vec<&str> = submissions.into_iter().map(|submission| submission.name.as_str()).collect();
    let mut entries = BTreeMap::new();
    for some in names.chunks(NAMES) {
        let arguments = ["--noheader", "--array", "--format=%j|%K|%T|%r", "--name"].map(str::to_owned);
        let said = ask("squeue", &[arguments.as_slice(), &[some.join(",")]].concat())?;
        entries.extend(said.lines().filter_map(entry));
    }
    Ok(Queue { entries })
}

/// `name|index|state|reason`; the index of a job that is no array is `N/A`.
fn entry(line: &str) -> Option<((String, usize), Entry)> {
    let fields: Vec<&str> = line.trim().split('|').collect();
    let [name, index, state, reason] = fields.as_slice() else { return None };
    let entry = Entry { state: (*state).to_owned(), reason: (*reason).to_owned() };
    Some((((*name).to_owned(), index.parse().unwrap_or(0)), entry))
}

fn ask(program: &str, arguments: &[String]) -> Result<String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|e| Error::Usage(format!("Cannot start {program}: {e}.")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::Usage(format!("{program} failed: {}", said.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

impl Queue {
    /// Whether a task waits or runs.
    pub fn has(&self, submission: &Submission, index: usize) -> bool {
        self.entries.contains_key(&(submission.name.clone(), index))
    }

    /// Why a task waits for ever, if it does: the cluster is too small for it.
    pub fn never_starts(&self, submission: &Submission, index: usize) -> Option<String> {
        const NEVER: [&str; 4] = ["PartitionNodeLimit", "PartitionTimeLimit", "BadConstraints", "PartitionConfig"];
        let entry = self.entries.get(&(submission.name.clone(), index))?;
        let never = entry.state == "PENDING" && NEVER.iter().any(|reason| entry.reason.contains(reason));
        never.then(|| format!("Slurm would never start it: {}.", entry.reason))
    }
}

/// The name by which Slurm knows a task.
fn task_id(submission: &Submission, index: usize) -> Option<String> {
    let job = submission.job()?;
    Some(if submission.items.len() > 1 { format!("{job}_{index}") } else { job })
}

/// Takes a task out of the queue.
pub fn cancel(submission: &Submission, index: usize) {
    if let Some(id) = task_id(submission, index) {
        let _ = ask("scancel", &[id]);
    }
}

/// How a task ended that left no folder.
pub fn last_state(submission: &Submission, index: usize) -> (Cause, String) {
    let state = task_id(submission, index).and_then(|id| accounted(&id).or_else(|| remembered(&id)));
    let said = submission.last_words(index).map_or_else(String::new, |line| format!(" Its job said last: \"{line}\"."));
    let (cause, reason) = meaning(state.as_deref());
    (cause, format!("{reason}{said}"))
}

fn accounted(id: &str) -> Option<String> {
    let arguments = ["--noheader", "--allocations", "--parsable2", "--format=State", "--jobs", id].map(str::to_owned);
    let said = ask("sacct", &arguments).ok()?;
    said.lines().next().map(|line| line.trim().to_owned()).filter(|state| !state.is_empty())
}

fn remembered(id: &str) -> Option<String> {
    let said = ask("scontrol", &["show".to_owned(), "--oneliner".into(), "job".into(), id.to_owned()]).ok()?;
    let state = said.split_whitespace().find_map(|word| word.strip_prefix("JobState="));
    state.map(str::to_owned)
}

/// A state of Slurm in our words.
fn meaning(state: Option<&str>) -> (Cause, String) {
    let first = state.and_then(|state| state.split_whitespace().next()).unwrap_or("unknown");
    match first {
        "TIMEOUT" | "DEADLINE" => (Cause::TimeLimit, "Slurm ended its job at the time limit.".to_owned()),
        "OUT_OF_MEMORY" => (Cause::OutOfMemory, "Slurm ended its job for want of memory.".to_owned()),
        "NODE_FAIL" | "BOOT_FAIL" => (Cause::NodeFailed, "A node of its job failed.".to_owned()),
        "CANCELLED" | "PREEMPTED" => (Cause::KilledByLauncher, format!("Its job was {}.", first.to_lowercase())),
        "unknown" => (Cause::KilledByLauncher, "Its job is gone, and Slurm no longer knows how it ended.".to_owned()),
        other => (Cause::CannotStart, format!("Its job ended ({other}) and left no run.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_read_as_slurm_writes_it() {
        let ((name, index), found) = entry("poise-1a|3|PENDING|(Resources)").unwrap();
        assert_eq!((name.as_str(), index, found.state.as_str()), ("poise-1a", 3, "PENDING"));
        assert_eq!(entry("poise-1a|N/A|RUNNING|None").unwrap().0.1, 0);
        assert!(entry("slurm is down").is_none());
    }

    #[test]
    fn states_are_causes() {
        assert_eq!(meaning(Some("CANCELLED by 0")).0, Cause::KilledByLauncher);
        assert_eq!(meaning(Some("TIMEOUT")).0, Cause::TimeLimit);
        assert_eq!(meaning(Some("FAILED")).0, Cause::CannotStart);
        assert_eq!(meaning(None).0, Cause::KilledByLauncher);
    }
}
