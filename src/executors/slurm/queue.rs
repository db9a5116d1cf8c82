//! What Slurm says of our jobs: which are in the queue (`squeue`), and how those that are not have ended (`sacct`, or
//! `scontrol` where the cluster keeps no accounts).

use std::collections::BTreeMap;
use std::process::Command;

use super::submission::Submission;
use crate::error::{Error, Result};
use crate::run::misfortune::{Cause, signal_name};

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
    let said = submission.said(index);
    let (cause, reason) = meaning(state.as_ref(), &said);
    let last = said.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let last = last.map_or_else(String::new, |line| format!(" Its job said last: \"{line}\"."));
    (cause, format!("{reason}{last}"))
}

/// A job's state and exit code as Slurm writes them, such as `FAILED` and `7:0`: the status and the signal.
#[derive(Debug, PartialEq)]
struct State {
    name: String,
    exit: String,
}

impl State {
    /// None while the job has not ended, as far as who is asked knows.
    fn ended(name: &str, exit: &str) -> Option<Self> {
        const OPEN: [&str; 9] = [
            "PENDING",
            "RUNNING",
            "COMPLETING",
            "CONFIGURING",
            "REQUEUED",
            "RESIZING",
            "SUSPENDED",
            "STOPPED",
            "SIGNALING",
        ];
        // `CANCELLED by 1000`.
        let name = name.split_whitespace().next().filter(|name| !OPEN.contains(name))?;
        Some(Self { name: name.to_owned(), exit: exit.to_owned() })
    }
}

/// What the accounts say, which outlive the controller's memory.
fn accounted(id: &str) -> Option<State> {
    let arguments = ["--noheader", "--allocations", "--parsable2", "--format=State,ExitCode", "--jobs", id];
    let said = ask("sacct", &arguments.map(str::to_owned)).ok()?;
    let (name, exit) = said.lines().next()?.split_once('|')?;
    State::ended(name, exit.trim())
}

/// What the controller still knows, where there are no accounts.
fn remembered(id: &str) -> Option<State> {
    let said = ask("scontrol", &["show".to_owned(), "--oneliner".into(), "job".into(), id.to_owned()]).ok()?;
    let value = |key: &str| said.split_whitespace().find_map(|word| word.strip_prefix(key));
    State::ended(value("JobState=")?, value("ExitCode=").unwrap_or_default())
}

/// A state of Slurm in our words. What the job's own output says counts where the state leaves it open.
fn meaning(state: Option<&State>, said: &str) -> (Cause, String) {
    const MEMORY: [&str; 4] = ["exceeded memory limit", "Exceeded job memory limit", "oom-kill", "oom_kill"];
    let says = |words: &str| said.contains(words);
    let told = match state.map_or("", |state| state.name.as_str()) {
        // Slurm that gathers what jobs use, instead of cgroups, kills with these words, and the state is no other.
        "FAILED" | "CANCELLED" | "" if MEMORY.iter().any(|words| says(words)) => "OUT_OF_MEMORY",
        "" if says("DUE TO TIME LIMIT") => "TIMEOUT",
        "" if says("DUE TO NODE FAILURE") => "NODE_FAIL",
        "" if says("DUE TO PREEMPTION") => "PREEMPTED",
        name => name,
    };
    let exit = state.map_or("", |state| state.exit.as_str());
    match told {
        "TIMEOUT" | "DEADLINE" => (Cause::TimeLimit, "Slurm ended its job at the time limit.".to_owned()),
        "OUT_OF_MEMORY" => (Cause::OutOfMemory, "Slurm ended its job for want of memory.".to_owned()),
        "NODE_FAIL" | "BOOT_FAIL" => (Cause::NodeFailed, "A node of its job failed.".to_owned()),
        "CANCELLED" | "PREEMPTED" => (Cause::KilledByLauncher, format!("Its job was {}.", told.to_lowercase())),
        "" => (Cause::KilledByLauncher, "Its job is gone, and Slurm no longer knows how it ended.".to_owned()),
        "COMPLETED" => (
            Cause::CannotStart,
            "Its job ended well (COMPLETED) and left no run: a line of the preamble ended it, or nodes do not share the \
             results folder's file system."
                .to_owned(),
        ),
        other => match exit.split_once(':').map(|(_, signal)| signal).filter(|&signal| signal != "0") {
            Some(signal) => (Cause::Signal, format!("Its job was killed by signal {} and left no run.", named(signal))),
            None => (Cause::CannotStart, format!("Its job ended ({other}{}) and left no run.", how(exit))),
        },
    }
}

/// A signal's number as Slurm writes it, with its name, and what sends it most.
fn named(signal: &str) -> String {
    match signal.parse() {
        // Where Slurm or the kernel ends what uses too much memory and no cgroup tells, this is all that is known.
        Ok(libc::SIGKILL) => format!("{}, perhaps for want of memory,", signal_name(libc::SIGKILL)),
        Ok(number) => signal_name(number),
        Err(_) => signal.to_owned(),
    }
}

/// The status of `7:0`, a status and a signal, in words.
fn how(exit: &str) -> String {
    match exit.split_once(':') {
        Some((status, "0")) => format!(", status {status}"),
        _ => String::new(),
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
        let of = |name: &str, exit: &str, said: &str| meaning(State::ended(name, exit).as_ref(), said);
        assert_eq!(of("CANCELLED by 0", "0:0", "").0, Cause::KilledByLauncher);
        assert_eq!(of("TIMEOUT", "0:0", "").0, Cause::TimeLimit);
        let failed = (Cause::CannotStart, "Its job ended (FAILED, status 7) and left no run.".to_owned());
        assert_eq!(of("FAILED", "7:0", "DUE TO TIME LIMIT"), failed, "a state that is known counts");
        let killed = "Its job was killed by signal 9 (SIGKILL), perhaps for want of memory, and left no run.";
        assert_eq!(of("FAILED", "0:9", ""), (Cause::Signal, killed.to_owned()));
        assert!(of("FAILED", "0:11", "").1.contains("signal 11 (SIGSEGV) and left no run"));
        // What slurmstepd 22.05 prints where memory is watched without cgroups.
        let memory = "slurmstepd-n1: error: StepId=1.batch exceeded memory limit (570585088 > 104857600), being killed";
        assert_eq!(of("FAILED", "0:9", memory).0, Cause::OutOfMemory);
        // Nothing is known, or the accounts have not heard of the end.
        let node =
            "slurmstepd-n1: error: *** JOB 3 ON n1 CANCELLED AT 2026-11-22T00:21:10 DUE TO NODE FAILURE, SEE ***";
        for open in ["", "RUNNING", "PENDING", "COMPLETING"] {
            assert_eq!(of(open, "0:0", "").0, Cause::KilledByLauncher);
            assert_eq!(of(open, "0:0", node).0, Cause::NodeFailed);
        }
    }
}
