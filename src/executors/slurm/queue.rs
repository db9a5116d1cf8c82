//! What Slurm says of our jobs: which are in the queue (`squeue`), and how those that are not have ended (`sacct`, or
//! `scontrol` where the cluster keeps no accounts).

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::command::{self, Tell};
use super::submission::Submission;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::run::misfortune::{Cause, signal_name};

/// Jobs in the queue: by the job's name and the array's index, why they wait.
pub struct Queue {
    entries: BTreeMap<(String, usize), Entry>,
}

/// Names in one question: one argument of a program has 128 KiB on Linux, and a name 19 bytes.
const NAMES: usize = 4000;

struct Entry {
    /// The job's number, which an array's tasks share.
    job: String,
    state: String,
    reason: String,
}

/// Looks for the submissions' jobs in the queue.
///
/// # Errors
/// Slurm cannot be asked, or the user interrupted.
pub fn look<'a>(submissions: impl IntoIterator<Item = &'a Submission>, tell: Tell) -> Result<Queue> {
    let names: Vec<&str> = submissions.into_iter().map(|submission| submission.name.as_str()).collect();
    let mut entries = BTreeMap::new();
    for some in names.chunks(NAMES) {
        let arguments = ["--noheader", "--array", "--format=%j|%K|%T|%r|%F", "--name"].map(str::to_owned);
        let said = ask_told("squeue", &[arguments.as_slice(), &[some.join(",")]].concat(), tell)?;
        entries.extend(said.lines().filter_map(entry));
    }
    Ok(Queue { entries })
}

/// How many tasks an array may have. Its indices must be below the cluster's `MaxArraySize`; 1001 is Slurm's own default.
pub fn longest_array() -> usize {
    const MOST: usize = 1000;
    let said = ask("scontrol", &["show".to_owned(), "config".into()]).ok();
    said.and_then(|said| array_size(&said)).map_or(MOST, |size| size.clamp(1, MOST))
}

fn array_size(configuration: &str) -> Option<usize> {
    let value =
        |line: &str| line.trim().strip_prefix("MaxArraySize")?.trim_start().strip_prefix('=')?.trim().parse().ok();
    configuration.lines().find_map(value)
}

/// `name|index|state|reason|job`; the index of a job that is no array is `N/A`.
fn entry(line: &str) -> Option<((String, usize), Entry)> {
    let fields: Vec<&str> = line.trim().split('|').collect();
    let [name, index, state, reason, job] = fields.as_slice() else { return None };
    let entry = Entry { job: (*job).to_owned(), state: (*state).to_owned(), reason: (*reason).to_owned() };
    Some((((*name).to_owned(), index.parse().unwrap_or(0)), entry))
}

fn ask(program: &str, arguments: &[String]) -> Result<String> {
    ask_told(program, arguments, &mut |_, _| Ok(()))
}

fn ask_told(program: &str, arguments: &[String], tell: Tell) -> Result<String> {
    let ended = command::run(program, arguments, tell)?;
    if !ended.status.success() {
        return Err(Error::Usage(format!("{program} failed: {}", ended.errors.trim())));
    }
    Ok(ended.output)
}

impl Queue {
    /// Whether a task waits or runs.
    pub fn has(&self, submission: &Submission, index: usize) -> bool {
        self.entries.contains_key(&(submission.name.clone(), index))
    }

    /// Why a task that is in the queue has not begun; none where it has.
    pub fn pending(&self, submission: &Submission, index: usize) -> Option<&str> {
        let entry = self.entries.get(&(submission.name.clone(), index)).filter(|entry| entry.state == "PENDING");
        entry.map(|entry| entry.reason.trim_matches(['(', ')']))
    }

    /// The number of a submission's job, if it is there.
    pub fn job(&self, submission: &Submission) -> Option<&str> {
        let first = self.entries.range((submission.name.clone(), 0)..).next();
        first.filter(|((name, _), _)| *name == submission.name).map(|(_, entry)| entry.job.as_str())
    }

    /// Whether any job of those that were asked for is there.
    pub fn has_any(&self) -> bool {
        !self.entries.is_empty()
    }

    /// Why a task waits for ever, if it does: the cluster is too small for it, a limit per job is too low, or it is not allowed at all.
    pub fn never_starts(&self, submission: &Submission, index: usize) -> Option<(Cause, String)> {
        let reason = self.pending(submission, index)?;
        never(reason).map(|cause| (cause, format!("Slurm would never start it: {reason}.")))
    }
}

/// What a run's failure is called whose job waits for ever, if this reason says that it does.
fn never(reason: &str) -> Option<Cause> {
    const TOO_LARGE: [&str; 4] = ["PartitionNodeLimit", "PartitionConfig", "BadConstraints", "PerJob"];
    const REFUSED: [&str; 4] = ["PartitionTimeLimit", "InvalidQOS", "InvalidAccount", "DependencyNeverSatisfied"];
    let is = |words: &[&str]| words.iter().any(|word| reason.contains(word));
    match () {
        () if is(&REFUSED) => Some(Cause::CannotStart),
        () if is(&TOO_LARGE) => Some(Cause::TooManyRanks),
        () => None,
    }
}

/// Whether a job that waits for this reason may wait until somebody acts: it is held, its nodes are gone, its partition is
/// closed, or the account has no time left.
pub fn may_last(reason: &str) -> bool {
    const GONE: [&str; 5] =
        ["PartitionDown", "PartitionInactive", "NodeDown", "ReservationDeleted", "Reservation_Deleted"];
    // Slurm's own plans for other jobs pass.
    let is_gone = reason.starts_with("ReqNodeNotAvail") && !reason.contains("May be reserved");
    let is_spent = reason.contains("Minutes") && !reason.contains("RunMinutes");
    never(reason).is_none()
        && (is_held(reason) || is_gone || is_spent || GONE.iter().any(|words| reason.contains(words)))
}

/// Whether this reason is that somebody, or Slurm after failures of its own, holds a job.
pub fn is_held(reason: &str) -> bool {
    // `JobHeldUser`, `launch failed requeued held`.
    reason.to_lowercase().contains("held")
}

/// The name by which Slurm knows a task. What waits for an array begins when all of its tasks are cancelled each by its name.
pub fn task_id(submission: &Submission, index: usize) -> Option<String> {
    let job = submission.job()?;
    Some(if submission.is_array() { format!("{job}_{index}") } else { job })
}

/// Takes a task out of the queue.
pub fn cancel(submission: &Submission, index: usize) {
    if let Some(id) = task_id(submission, index) {
        let _ = ask("scancel", &[id]);
    }
}

/// Takes tasks out of the queue, many with one question.
pub fn cancel_all<'a>(tasks: impl Iterator<Item = (&'a Submission, usize)>) {
    const AT_ONCE: usize = 500;
    let ids: Vec<String> = tasks.filter_map(|(submission, index)| task_id(submission, index)).collect();
    for some in ids.chunks(AT_ONCE) {
        let _ = ask("scancel", some);
    }
}

/// Has jobs that wait in the queue until others begin wait no longer for some of those, which will not begin any more, but until the
/// jobs begin that stand for each. An array that somebody cancels before it has begun has not begun for Slurm until that forgets it,
/// 5 minutes or hours later. Gives whether any waited for one, and does still where Slurm has refused the change.
///
/// # Errors
/// Slurm cannot be asked.
pub fn wait_no_longer<'a>(
    jobs: impl Iterator<Item = &'a Submission>,
    over: &BTreeMap<String, Vec<String>>,
) -> Result<bool> {
    let names: Vec<&str> = jobs.map(|submission| submission.name.as_str()).collect();
    let mut has_any = false;
    for some in names.chunks(NAMES) {
        let said = ask("squeue", &["--noheader".to_owned(), "--format=%F|%E".into(), "--name".into(), some.join(",")])?;
        // An array of which tasks have begun has several lines.
        let waiting: BTreeSet<(&str, &str)> = said.lines().filter_map(|line| line.trim().split_once('|')).collect();
        for (job, dependency) in waiting {
            if let Some(rest) = without(dependency, over) {
                has_any = true;
                let _ = ask("scontrol", &["update".to_owned(), format!("JobId={job}"), format!("Dependency={rest}")]);
            }
        }
    }
    Ok(has_any)
}

/// A dependency, such as `after:19_*(unfulfilled),afterany:21(unfulfilled)`, that no longer waits until those jobs begin, but until
/// those begin that stand for them; none where it names none of them so. That it waits until one has ended stays: tasks of an
/// array may run still when others were cancelled, and one without such tasks has ended for Slurm, too.
fn without(dependency: &str, over: &BTreeMap<String, Vec<String>>) -> Option<String> {
    let instead = |one: &str| over.get(one.strip_prefix("after:")?.split(['_', '+']).next()?);
    let all = dependency.split(',').map(|one| one.split('(').next().unwrap_or(one));
    let (named, rest): (Vec<&str>, Vec<&str>) = all.partition(|one| instead(one).is_some());
    let stand: BTreeSet<&String> = named.iter().filter_map(|one| instead(one)).flatten().collect();
    let rest = rest.into_iter().map(str::to_owned).chain(stand.into_iter().map(|job| format!("after:{job}")));
    (!named.is_empty()).then(|| rest.collect::<Vec<_>>().join(","))
}

/// How a task ended that left no folder.
pub fn last_state(submission: &Submission, index: usize) -> (Cause, String) {
    let state = task_id(submission, index).and_then(|id| accounted(&id).or_else(|| remembered(&id)));
    let said = submission.said(index);
    let (cause, reason) = meaning(state.as_ref(), &said);
    // What poise says of the signal that ended the job is not the program's.
    let is_others = |line: &&str| !line.is_empty() && !line.starts_with("poise: interrupted by signal");
    let last = said.lines().rev().map(str::trim).find(is_others);
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
    let asked = |jobs: &str| {
        let arguments = ["--noheader", "--allocations", "--parsable2", "--format=State,ExitCode,JobID", "--jobs", jobs];
        ask("sacct", &arguments.map(str::to_owned)).ok()
    };
    let own = asked(id).and_then(|said| said.lines().next().map(str::to_owned));
    // Tasks that ended before they began have one line together, which is the array's.
    let of_array = || {
        let said = asked(id.split_once('_')?.0)?;
        said.lines().find(|line| line.rsplit('|').next().is_some_and(|jobs| names(jobs.trim(), id))).map(str::to_owned)
    };
    let line = own.or_else(of_array)?;
    let mut fields = line.split('|');
    State::ended(fields.next()?, fields.next()?)
}

/// Whether `jobs`, such as `40_1` or `40_[0-1,3-9:2%2]`, names the task `id`.
fn names(jobs: &str, id: &str) -> bool {
    if jobs == id {
        return true;
    }
    let (Some((job, tasks)), Some((own, index))) = (jobs.split_once("_["), id.split_once('_')) else { return false };
    let tasks = tasks.trim_end_matches(']').split('%').next().unwrap_or_default();
    let number = |text: &str| text.parse::<usize>().ok();
    let holds = |part: &str, index: usize| {
        let (range, step) = part.split_once(':').map_or((part, Some(1)), |(range, step)| (range, number(step)));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let ends = number(first).zip(number(last)).zip(step);
        ends.is_some_and(|((first, last), step)| {
            (first..=last).contains(&index) && (index - first).is_multiple_of(step.max(1))
        })
    };
    job == own && number(index).is_some_and(|index| tasks.split(',').any(|part| holds(part, index)))
}

/// A job's steps, which launchers make with srun, as its accounts tell them: the first line is the job's.
pub fn why_steps_ended(job: &str) -> Option<(Cause, String)> {
    // The controller tells them when it has time, and what they used in the end later than how they ended.
    const PATIENCE: Duration = Duration::from_secs(5);
    let fields = "--format=JobIDRaw,State,ExitCode,MaxRSS,ReqMem,NNodes";
    let arguments = ["--noheader", "--parsable2", fields, "--jobs", job].map(str::to_owned);
    let begun = Instant::now();
    loop {
        let said = of_job(job, &ask("sacct", &arguments).ok()?);
        let told = meaning_of_steps(&said);
        let is_guess = told.as_ref().is_some_and(|(cause, _)| *cause != Cause::OutOfMemory);
        let is_open = is_guess || steps(&said).any(|step| State::ended(step[1], step[2]).is_none());
        if !is_open || begun.elapsed() > PATIENCE || interrupt::received().is_some() {
            return told;
        }
        std::thread::sleep(Duration::from_millis(250));
    }
}

/// The lines of one job: one task of each array has the array's number, for which Slurm tells of all.
fn of_job(job: &str, said: &str) -> String {
    let is_own = |line: &&str| {
        let id = line.split('|').next().and_then(|id| id.strip_prefix(job));
        id.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    said.lines().filter(is_own).map(|line| format!("{line}\n")).collect()
}

/// The lines of those steps that are not the job's script or its surroundings.
fn steps(said: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = said.lines().map(|line| line.split('|').collect::<Vec<_>>()).filter(|fields| fields.len() >= 6);
    let is_step = |name: &str| name.split_once('.').is_some_and(|(_, step)| step.parse::<u32>().is_ok());
    lines.filter(move |fields| is_step(fields[0]))
}

/// Why a step ended, where it was for want of memory or perhaps was.
fn meaning_of_steps(said: &str) -> Option<(Cause, String)> {
    // A little below the limit: what was used is asked for every few seconds.
    const NEAR: f64 = 0.9;
    if let Some(step) = steps(said).find(|step| step[1].starts_with("OUT_OF_ME")) {
        return Some((Cause::OutOfMemory, format!("Slurm ended its step {} for want of memory.", step[0])));
    }
    let step = steps(said).find(|step| step[2].trim() == "0:9" && !step[1].starts_with("COMPLETED"))?;
    let job: Vec<&str> = said.lines().next()?.split('|').collect();
    let nodes = job.get(5).and_then(|nodes| nodes.trim().parse::<f64>().ok()).unwrap_or(1.0).max(1.0);
    // Of all nodes together; earlier than Slurm 21.08 of each node with an `n`, or of each core with a `c`.
    let asked = job.get(4).map_or("", |asked| asked.trim());
    let limit = match asked.strip_suffix('n') {
        Some(of_node) => mebibytes(of_node),
        None => mebibytes(asked).map(|all| all / nodes),
    };
    let killed = format!("Slurm or the kernel killed its step {} (signal 9)", step[0]);
    match (mebibytes(step[3].trim()), limit.filter(|&limit| limit > 0.0)) {
        (Some(used), Some(limit)) if used >= NEAR * limit => Some((
            Cause::OutOfMemory,
            format!("{killed}, of which a process used {used:.0} MiB where its job had {limit:.0} MiB on each node."),
        )),
        _ => Some((Cause::ExitStatus, format!("{killed}, perhaps for want of memory."))),
    }
}

/// `590764K`, `200M`, `1.50G`.
fn mebibytes(text: &str) -> Option<f64> {
    let unit = text.chars().last()?;
    let factor = match unit {
        'K' => 1.0 / 1024.0,
        'M' => 1.0,
        'G' => 1024.0,
        'T' => 1024.0 * 1024.0,
        _ => return None,
    };
    Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * factor)
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
        let ((name, index), found) = entry("poise-1a|3|PENDING|(Resources)|17").unwrap();
        assert_eq!((name.as_str(), index, found.state.as_str()), ("poise-1a", 3, "PENDING"));
        assert_eq!((found.reason.as_str(), found.job.as_str()), ("(Resources)", "17"));
        assert_eq!(entry("poise-1a|N/A|RUNNING|None|17").unwrap().0.1, 0);
        assert!(entry("slurm is down").is_none());
    }

    #[test]
    fn reasons_to_wait_are_told_apart() {
        let cases = [
            ("PartitionNodeLimit", Some(Cause::TooManyRanks), false, false),
            ("QOSMaxCpuPerJobLimit", Some(Cause::TooManyRanks), false, false),
            ("AssocMaxCpuMinutesPerJobLimit", Some(Cause::TooManyRanks), false, false),
            ("PartitionTimeLimit", Some(Cause::CannotStart), false, false),
            ("DependencyNeverSatisfied", Some(Cause::CannotStart), false, false),
            ("JobHeldUser", None, true, true),
            ("JobHeldAdmin", None, true, true),
            ("launch failed requeued held", None, true, true),
            ("ReqNodeNotAvail, UnavailableNodes:n[1-4]", None, true, false),
            ("ReqNodeNotAvail, May be reserved for other job", None, false, false),
            ("PartitionDown", None, true, false),
            ("AssocGrpCPUMinutesLimit", None, true, false),
            ("AssocGrpCPURunMinutesLimit", None, false, false),
            ("Resources", None, false, false),
            ("Priority", None, false, false),
            ("Dependency", None, false, false),
        ];
        for (reason, cause, lasts, is_known_held) in cases {
            assert_eq!((never(reason), may_last(reason), is_held(reason)), (cause, lasts, is_known_held), "{reason}");
        }
    }

    /// What squeue of Slurm 22.05 prints.
    #[test]
    fn jobs_that_are_over_leave_a_dependency() {
        let over: [(&str, &[&str]); 4] = [("19", &[]), ("4", &[]), ("50", &["7", "8"]), ("51", &["8", "9"])];
        let owned = |jobs: &[&str]| jobs.iter().map(|&job| job.to_owned()).collect::<Vec<String>>();
        let over = BTreeMap::from(over.map(|(job, jobs)| (job.to_owned(), owned(jobs))));
        let of = |dependency: &str| without(dependency, &over);
        let both = "after:19_*(unfulfilled),after:20_*(unfulfilled),after:21(unfulfilled),afterany:20_*(unfulfilled)";
        assert_eq!(of(both).as_deref(), Some("after:20_*,after:21,afterany:20_*"));
        assert_eq!(of("after:4_0(unfulfilled)").as_deref(), Some(""));
        let running = "after:19_*(unfulfilled),afterany:19_*(unfulfilled)";
        assert_eq!(of(running).as_deref(), Some("afterany:19_*"), "others of its tasks may run");
        let overtaking = "after:50_*(unfulfilled),after:20_*(unfulfilled),after:51_*(unfulfilled)";
        assert_eq!(of(overtaking).as_deref(), Some("after:20_*,after:7,after:8,after:9"), "what they waited for");
        let ends = "afterany:19_*(unfulfilled),afterany:50_*(unfulfilled)";
        for other in
            ["(null)", "", "after:40_*(unfulfilled)", "after:190(unfulfilled),afterok:20_19(unfulfilled)", ends]
        {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn the_longest_array_is_the_clusters() {
        let said = "Configuration data as of 2026-11-22\nMailProg                = /bin/mail\nMaxArraySize            = 4\nMaxBatchRequeue         = 5\n";
        assert_eq!((array_size(said), array_size("slurm_load_ctl_conf error")), (Some(4), None));
    }

    #[test]
    fn tasks_are_found_in_lists() {
        let found = |jobs: &str| (0..8).filter(|index| names(jobs, &format!("40_{index}"))).collect::<Vec<usize>>();
        assert_eq!(found("40_[0-1,3%2]"), [0, 1, 3]);
        assert_eq!(found("40_[0-6:2,7]"), [0, 2, 4, 6, 7]);
        assert_eq!(found("40_5"), [5]);
        assert_eq!((found("41_[0-7]"), found("40"), found("40_[")), (vec![], vec![], vec![]));
        assert!(names("40", "40"), "a job that is no array");
    }

    /// What sacct of Slurm 22.05 prints; the second and third as with cgroups, and as when somebody kills a step.
    #[test]
    fn a_step_that_was_killed_for_memory_is_found() {
        let of = |step: &str| {
            meaning_of_steps(&format!(
                "4|RUNNING|0:0||200M|2\n4.batch|RUNNING|0:0|||1\n4.extern|RUNNING|0:0|||2\n{step}\n"
            ))
        };
        let (cause, why) = of("4.0|CANCELLED by 0|0:9|590764K||1").unwrap();
        assert_eq!(cause, Cause::OutOfMemory);
        assert!(why.contains("used 577 MiB where its job had 100 MiB on each node"), "{why}");
        let (cause, why) = of("4.0|OUT_OF_MEMORY|0:125|95000K||1").unwrap();
        assert_eq!((cause, why.as_str()), (Cause::OutOfMemory, "Slurm ended its step 4.0 for want of memory."));
        for killed in ["4.0|FAILED|0:9|1024K||1", "4.0|FAILED|0:9|||1"] {
            let (cause, why) = of(killed).unwrap();
            assert!(cause == Cause::ExitStatus && why.ends_with("perhaps for want of memory."), "{why}");
        }
        for other in ["4.0|FAILED|3:0|1024K||1", "4.0|COMPLETED|0:0|590764K||1", ""] {
            assert_eq!(of(other), None, "{other}");
        }
        let of_each_core = "4|RUNNING|0:0||100Mc|2\n4.0|FAILED|0:9|590764K||1\n";
        assert_eq!(meaning_of_steps(of_each_core).unwrap().0, Cause::ExitStatus, "of how many cores is not known");
    }

    /// What sacct prints of the array 101 when it is asked for job 101, which is its last task.
    #[test]
    fn the_last_task_of_an_array_is_not_taken_for_the_array() {
        let said = "103|COMPLETED|0:0||200M|2\n103.0|CANCELLED by 0|0:9|590764K||1\n1011|RUNNING|0:0||200M|2\n\
                    101|RUNNING|0:0||100M|1\n101.batch|RUNNING|0:0|||1\n101.0|FAILED|3:0|1024K||1\n";
        assert_eq!(of_job("101", said), said.split_once("200M|2\n101|").map(|(_, own)| format!("101|{own}")).unwrap());
        assert_eq!(meaning_of_steps(&of_job("101", said)), None, "another task was killed");
        assert_eq!(meaning_of_steps(&of_job("103", said)).unwrap().0, Cause::OutOfMemory);
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
