//! One submission: the tasks of a job or an array job, written before it is submitted so that a killed call leaves
//! nothing unknown in the queue, and what a compute node does with them.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::command::{self, Tell};
use super::queue;
use crate::digest;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::output;
use crate::run::misfortune::{Cause, Outcome, has_no_room};
use crate::run::{Run, record};
use crate::study::{Case, SlurmPlace, Study};

/// How the names of unfinished folders begin that belong to jobs, which the call that submitted them leaves alone.
pub const WORKERS: &str = ".task-";
/// The tasks' file.
const TASKS: &str = "tasks.json";
/// The job's script.
const SCRIPT: &str = "job.sh";
/// So many lines stand before the preamble there.
const BEFORE_PREAMBLE: usize = 2;
/// The job's number, once it is known.
const JOB: &str = "job";
/// An empty file, where later jobs wait for the first of these.
const LEADS: &str = "leads";

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
    /// Whether its first task leads its repetition: others wait for it.
    pub leads: bool,
}

/// What a job asks the cluster for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    options: Vec<String>,
}

/// What a submission asks for beside its runs.
pub struct Request<'a> {
    /// The cluster.
    pub place: &'a SlurmPlace,
    /// The size of each of its runs.
    pub geometry: &'a Geometry,
    /// The study's.
    pub time_limit: Duration,
    /// What it waits for.
    pub after: After,
}

/// Numbers of jobs for which another one waits.
#[derive(Default)]
pub struct After {
    /// Until they have begun.
    pub begins: Vec<String>,
    /// Until they have ended.
    pub ends: Vec<String>,
}

impl After {
    /// What sbatch is told; nothing where there is nothing to wait for. A job that is cancelled has begun and ended for Slurm,
    /// and so has one that it no longer remembers, and an array of which all tasks are cancelled each. An array that is cancelled
    /// as a whole before it has begun has ended, and each of its tasks has begun, but the array has not until Slurm forgets it
    /// ([`queue::wait_no_longer`]).
    fn option(&self) -> Option<String> {
        let named = |kind: &str, jobs: &[String]| (!jobs.is_empty()).then(|| format!("{kind}:{}", jobs.join(":")));
        let kinds = [named("after", &self.begins), named("afterany", &self.ends)];
        let kinds: Vec<String> = kinds.into_iter().flatten().collect();
        (!kinds.is_empty()).then(|| format!("--dependency={}", kinds.join(",")))
    }
}

/// Why sbatch did not take a job.
pub struct Refusal {
    /// In its own words.
    pub reason: String,
    /// What it means for this job and others.
    pub kind: Kind,
}

/// What a refusal means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The cluster, or what this user may have of it, is too small for the job; others may fit.
    Size,
    /// There are too many jobs now.
    Crowded,
    /// An array with fewer tasks may be taken.
    Array,
    /// The job asks for more time than it may have.
    Time,
    /// Nobody knows whether it was taken.
    Unanswered,
    /// It would be refused at any time, and others with it.
    Other,
}

impl Kind {
    /// The kind of a refusal in the words of sbatch. Those of a policy name the limit, if the cluster says it, before a
    /// sentence that is the same for all limits.
    fn of(said: &str) -> Self {
        const UNANSWERED: [&str; 2] = ["Unable to contact slurm controller", "Socket timed out"];
        const CROWDED: [&str; 4] =
            ["MaxSubmitJob", "temporarily unable to accept job", "Slurm job queue full", "Job submit limit"];
        const TIME: [&str; 3] = ["Requested time limit is invalid", "MaxWallDuration", "TimeLimit"];
        const SIZE: [&str; 6] = [
            "MaxCpuPerJob",
            "MaxNodePerJob",
            "MaxTRESPerJob",
            "MaxMemoryPerJob",
            "Memory required by task is not available",
            "Memory specification can not be satisfied",
        ];
        let says = |words: &[&str]| words.iter().any(|words| said.contains(words));
        match () {
            () if says(&UNANSWERED) => Self::Unanswered,
            () if says(&CROWDED) => Self::Crowded,
            () if says(&["Invalid job array specification"]) => Self::Array,
            () if says(&TIME) => Self::Time,
            () if says(&SIZE) || has_no_room(said) => Self::Size,
            // No limit is named. The first of those in the sentence is the one that time cures, if any does.
            () if says(&["Job violates accounting/QOS policy (job submit limit"]) => Self::Crowded,
            () => Self::Other,
        }
    }
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

    /// The words that ask for an array of so many runs, or a plain job of one.
    pub fn request(&self, place: &SlurmPlace, time_limit: Duration, runs: usize) -> Vec<String> {
        let mut words = vec![format!("--time={}", minutes(time_limit))];
        if runs > 1 {
            let limit = place.at_once.map_or_else(String::new, |most| format!("%{most}"));
            words.push(format!("--array=0-{}{limit}", runs - 1));
        }
        words.extend(place.partition.iter().map(|name| format!("--partition={name}")));
        words.extend(place.account.iter().map(|name| format!("--account={name}")));
        words.extend(self.options.iter().cloned());
        words
    }

    /// What a job of it asks for, as a sentence after another.
    pub fn asked(&self, place: &SlurmPlace, time_limit: Duration) -> String {
        let words = self.request(place, time_limit, 1);
        let words = words.iter().map(|word| output::shown(word)).collect::<Vec<_>>().join(" ");
        format!(" It asked for `{words}`; `scontrol show partition` tells what there is.")
    }

    /// What time its jobs ask for, as a sentence after another; nothing where the study's own options may say it.
    pub fn time_asked(&self, time_limit: Duration) -> String {
        if self.options.iter().any(|option| option.starts_with("--time") || option.starts_with("-t")) {
            return String::new();
        }
        format!(
            " It asked for {} minutes: the study's time_limit of {} s, and 2 minutes in which the job starts and writes.",
            minutes(time_limit),
            time_limit.as_secs_f64()
        )
    }
}

/// A job's time limit. The run's own ends it first and says so; the job has time to start and to write.
fn minutes(time_limit: Duration) -> u64 {
    (time_limit.as_secs() + 120).div_ceil(60)
}

impl Submission {
    /// Writes what is going to be submitted.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(parent: &Path, items: Vec<Item>, leads: bool, place: &SlurmPlace) -> Result<Self> {
        let token = format!("{:012x}", digest::token() & 0xffff_ffff_ffff);
        let submission = Self { folder: parent.join(&token), name: format!("poise-{token}"), items, leads };
        let written = submission.write_files(place);
        written.map_err(|e| Error::cannot_write(&submission.folder, &e))?;
        Ok(submission)
    }

    fn write_files(&self, place: &SlurmPlace) -> std::io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let tasks = serde_json::to_vec(&self.items).map_err(std::io::Error::other)?;
        let poise = std::env::current_exe()?;
        // A plain job inherits the index of a task that submits it.
        let index = if self.is_array() { "\"$SLURM_ARRAY_TASK_ID\"" } else { "0" };
        let task = format!("{} task {} {index}", quoted(&poise), quoted(&self.folder.join(TASKS)));
        let script = script(&place.preamble, &task);
        let leads = self.leads.then(|| (LEADS, Vec::new()));
        for (name, bytes) in [(TASKS, tasks), (SCRIPT, script.into_bytes())].into_iter().chain(leads) {
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
            let leads = folder.join(LEADS).exists();
            Some((written, Self { folder, name, items, leads }))
        };
        let mut all: Vec<_> = entries.filter_map(|entry| read(entry.path())).collect();
        all.sort_by_key(|(written, submission)| (*written, submission.name.clone()));
        all.into_iter().map(|(_, submission)| submission).collect()
    }

    /// Whether Slurm knows its tasks as those of an array.
    pub fn is_array(&self) -> bool {
        self.items.len() > 1
    }

    /// What sbatch is told to submit it.
    fn arguments(&self, request: &Request) -> Vec<String> {
        let Request { place, geometry, time_limit, after } = request;
        let folder = self.folder.display().to_string().replace('%', "%%");
        let file = if self.is_array() { "%a.out" } else { "0.out" };
        let mut words = vec!["--parsable".to_owned(), format!("--job-name={}", self.name)];
        words.push(format!("--output={folder}/{file}"));
        words.extend(after.option());
        words.extend(geometry.request(place, *time_limit, self.items.len()));
        words.push(self.folder.join(SCRIPT).display().to_string());
        words
    }

    /// Submits it; none, or why sbatch refused.
    ///
    /// # Errors
    /// It cannot be started, or the user interrupted: the job may have been taken then.
    pub fn submit(&self, request: &Request, tell: Tell) -> Result<Option<Refusal>> {
        let ended = command::run("sbatch", &self.arguments(request), tell)?;
        if !ended.status.success() {
            // The user's Ctrl-C may have reached it.
            interrupt::check()?;
            let said = ended.errors.lines().map(|line| line.trim_start_matches("sbatch: error: ").trim());
            let said = said.collect::<Vec<_>>().join(" ");
            let kind = Kind::of(&said);
            let time_asked = || request.geometry.time_asked(request.time_limit);
            let asked = if kind == Kind::Time { time_asked() } else { String::new() };
            let what = if kind == Kind::Unanswered { "had no answer" } else { "refused the job" };
            let reason = format!("sbatch {what}: {}.{asked}", said.trim_end_matches('.'));
            return Ok(Some(Refusal { reason, kind }));
        }
        // `123` or `123;cluster`. Where it cannot be written, the job is found by its name.
        self.note_job(ended.output.trim().split(';').next().unwrap_or_default());
        Ok(None)
    }

    /// Remembers the job's number.
    pub fn note_job(&self, job: &str) {
        let _ = fs::write(self.folder.join(JOB), job);
    }

    /// The job's number, if it is known.
    pub fn job(&self) -> Option<String> {
        fs::read_to_string(self.folder.join(JOB)).ok().filter(|job| !job.is_empty())
    }

    /// What a task's job printed itself, beside what its program did.
    pub fn said(&self, index: usize) -> String {
        output::end_of(&self.output(index)).unwrap_or_default()
    }

    /// Whether Slurm has made the file for that, as it does when a task begins.
    pub fn has_output(&self, index: usize) -> bool {
        self.output(index).exists()
    }

    fn output(&self, index: usize) -> PathBuf {
        self.folder.join(format!("{index}.out"))
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

/// A job's script: the preamble, in one shell, and then the task. A command of the preamble that fails, where `set -e` would end
/// the shell, makes the task record that instead of running anything. What fails within a file that is read by `source` is its author's business; the file's own status counts. What fails in a subshell counts by the subshell's status, also under `set -E`.
fn script(preamble: &[String], task: &str) -> String {
    let failed = format!("exec {task} --failed-line \"$LINENO\" --failed-status \"$?\"").replace('\'', "'\\''");
    let trap = format!("trap 'case ${{#BASH_SOURCE[@]}}:$BASH_SUBSHELL in 1:0) {failed};; esac' ERR");
    let lines: String = preamble.iter().map(|line| format!("{line}\n")).collect();
    format!("#!/bin/bash\n{trap}\n{lines}exec {task}\n")
}

/// A command of the preamble that failed.
#[derive(Clone, Copy, Debug)]
pub struct FailedLine {
    /// Its line in the job's script, from 1.
    pub line: usize,
    /// Its status.
    pub status: u8,
}

impl FailedLine {
    /// What is said of it. `script` is the job's.
    fn reason(self, script: &str) -> String {
        let text = script.lines().nth(self.line.saturating_sub(1)).unwrap_or_default().trim();
        format!(
            "Line {} of the job's preamble, `{text}`, failed with status {}; end it with `|| true` if that does not matter.",
            self.line.saturating_sub(BEFORE_PREAMBLE),
            self.status
        )
    }
}

/// What `module` of Environment Modules before 4.0 says that could not load something, such as
/// `ModuleCmd_Load.c(213):ERROR:105: Unable to locate a modulefile for 'x'`: its status is 0 nevertheless. Later ones, and Lmod, have a
/// status.
fn module_error(said: &str) -> Option<&str> {
    let has_number = |rest: &str| rest.split_once(':').is_some_and(|(number, _)| number.parse::<u32>().is_ok());
    let is_error = |line: &&str| line.split_once(":ERROR:").is_some_and(|(_, rest)| has_number(rest));
    said.lines().map(str::trim).find(is_error)
}

/// What a compute node does: `poise task FILE INDEX`, or where a command of the preamble has failed.
///
/// # Errors
/// The task cannot be read, or nothing could be started or written.
pub fn work(file: &Path, index: usize, failed: Option<FailedLine>) -> Result<()> {
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
    if let Some(reason) = preamble_failed(file.parent().unwrap_or(Path::new(".")), index, failed) {
        output::say(&reason);
        return item.run.refuse(&item.destination, Cause::CannotStart, reason).map(|_| ());
    }
    interrupt::watch();
    item.run.execute_told(&item.destination, &with_accounts).map(|_| ()).inspect_err(|error| output::say(error))
}

/// Why there is nothing to run, if the preamble failed: a command by its status, or `module` by what it said.
fn preamble_failed(folder: &Path, index: usize, failed: Option<FailedLine>) -> Option<String> {
    /// What ends a job ends its shell a moment after what that waits for, whose status is no failure of the preamble then.
    const HINDSIGHT: Duration = Duration::from_secs(2);
    let said = fs::read(folder.join(format!("{index}.out"))).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let Some(failed) = failed else {
        let line = module_error(&said)?;
        return Some(format!(
            "A line of the job's preamble failed, although its status was 0; it said: \"{line}\". End it with `2> /dev/null` if that \
             does not matter."
        ));
    };
    if failed.status > 128 {
        std::thread::sleep(HINDSIGHT);
    }
    let script = fs::read_to_string(folder.join(SCRIPT)).unwrap_or_default();
    let last = said.lines().map(str::trim).rfind(|line| !line.is_empty());
    let last = last.map_or_else(String::new, |line| format!(" Its job said last: \"{line}\"."));
    Some(failed.reason(&script) + &last)
}

/// How a run ended, where launchers do not tell it and Slurm's accounts may: a rank that was killed on another node.
fn with_accounts(outcome: Outcome) -> Outcome {
    let Outcome::Failed { cause: cause @ (Cause::ExitStatus | Cause::RankKilled), reason, status } = outcome else {
        return outcome;
    };
    let told = std::env::var("SLURM_JOB_ID").ok().and_then(|job| queue::why_steps_ended(&job));
    match told {
        Some((told, why)) if told == Cause::OutOfMemory || cause == Cause::ExitStatus => {
            Outcome::Failed { cause: told, reason: format!("{reason} {why}"), status }
        }
        _ => Outcome::Failed { cause, reason, status },
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::campaign;

    /// What sbatch of Slurm 22.05 prints, the reason's own line where the cluster names it.
    #[test]
    fn refusals_are_told_apart() {
        const POLICY: &str = "Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)";
        let of = |reason: &str| Kind::of(&format!("{reason} {POLICY}"));
        for crowded in ["", "QOSMaxSubmitJobPerUserLimit", "AssocMaxSubmitJobLimit"] {
            assert_eq!(of(crowded), Kind::Crowded, "{crowded}");
        }
        for (limit, kind) in [
            ("QOSMaxWallDurationPerJobLimit", Kind::Time),
            ("AssocMaxWallDurationPerJobLimit", Kind::Time),
            ("QOSMaxCpuPerJobLimit", Kind::Size),
            ("AssocMaxNodePerJobLimit", Kind::Size),
        ] {
            assert_eq!(of(limit), kind, "{limit}");
        }
        let failed = |what: &str| Kind::of(&format!("Batch job submission failed: {what}"));
        assert_eq!(Kind::of("Slurm temporarily unable to accept job, sleeping and retrying."), Kind::Crowded);
        assert_eq!(failed("Requested time limit is invalid (missing or exceeds some limit)"), Kind::Time);
        assert_eq!(failed("Requested node configuration is not available"), Kind::Size);
        assert_eq!(failed("Invalid job array specification"), Kind::Array);
        assert_eq!(failed("Invalid account or account/partition combination specified"), Kind::Other);
        assert_eq!(Kind::of("invalid partition specified: nope"), Kind::Other);
    }

    #[test]
    fn a_refused_time_limit_is_told_with_its_margin() {
        let of = |options: &[&str]| Geometry { options: options.iter().map(|&option| option.to_owned()).collect() };
        let told = of(&["--ntasks=1"]).time_asked(Duration::from_secs(600));
        assert!(told.contains("12 minutes") && told.contains("time_limit of 600 s, and 2 minutes"), "{told}");
        assert_eq!(of(&["--ntasks=1", "--time=5"]).time_asked(Duration::from_secs(600)), "", "the study's own words");
    }

    /// As a compute node runs the script, with `echo` for poise.
    #[test]
    fn a_line_of_the_preamble_that_fails_is_told_and_nothing_is_run() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        // Of what is read by `source` the last status counts, as with `set -e` before it would not.
        write("well", "false\nA=\"b c\"\n");
        write("badly", "true\nfalse\n");
        let said = |preamble: &[&str]| {
            let preamble: Vec<String> = preamble.iter().map(|&line| line.to_owned()).collect();
            let text = script(&preamble, "echo 'it'\\''s' \"$A\"");
            write(SCRIPT, &text);
            let output = Command::new("bash").current_dir(folder.path()).arg(SCRIPT).output().unwrap();
            (String::from_utf8(output.stdout).unwrap(), text)
        };
        for good in [
            &[][..],
            &["source ./well", "false || true", "if false; then", "  false", "fi"],
            &["set -E", "B=$(false; echo x)"],
            &["[ -e nothing ] && false", "! true", "f() { false; true; }", "f", "(true)", "set -u; A="],
        ] {
            let a = if good.contains(&"source ./well") { "b c" } else { "" };
            let expected = format!("it's {a}\n");
            assert_eq!(said(&[&["A="], good].concat()).0, expected, "{good:?}");
        }
        for (bad, line, status) in [
            (&["true", "false", "true"][..], 2, 1),
            (&["module() { return 3; }", "if true; then", "  module load nothere", "fi"], 3, 3),
            (&["source ./badly"], 1, 1),
            (&["export B=1", "\n\nsource ./nothing"], 4, 1),
            (&["no_such_command 2> /dev/null"], 1, 127),
            (&["sh -c 'kill -9 $$'"], 1, 137),
            (&["set -E", "(false)"], 2, 1),
        ] {
            let (said, text) = said(bad);
            let failed = FailedLine { line: line + BEFORE_PREAMBLE, status };
            assert_eq!(said, format!("it's  --failed-line {} --failed-status {status}\n", failed.line), "{bad:?}");
            let all = bad.join("\n");
            let named = format!("Line {line} of the job's preamble, `{}`, ", all.lines().nth(line - 1).unwrap().trim());
            let reason = failed.reason(&text);
            assert!(reason.starts_with(&named) && reason.contains(&format!("status {status};")), "{reason}");
        }
    }

    #[test]
    fn what_module_says_is_heard_where_it_has_no_status() {
        let old = "ModuleCmd_Load.c(213):ERROR:105: Unable to locate a modulefile for 'nothere'";
        assert_eq!(module_error(&format!("hello\n{old}\nloaded\n")), Some(old));
        for other in ["", "build:ERROR: none", "0 errors", "Lmod is fine"] {
            assert_eq!(module_error(other), None, "{other}");
        }
    }

    /// What `poise task` records of it, and that it runs nothing.
    #[test]
    fn a_task_whose_preamble_failed_is_recorded() {
        let results = tempfile::tempdir().unwrap();
        let folder = results.path().join("job");
        std::fs::create_dir(&folder).unwrap();
        let study = "command = [\"touch\", \"made{n}\"]\ncollect = \"elapsed\"\n[parameters]\nn = [1, 2]\n";
        let study = Study::parse(study, "s.toml", results.path(), "s").unwrap();
        let builds = campaign::Builds::plan(&study, results.path()).unwrap();
        let item = |case: usize| {
            let run = campaign::tasks::run(&study, &study.cases[case], 1, &builds.of_case[case]).unwrap();
            let name = format!("n{}.r1", case + 1);
            Item { destination: results.path().join(&name), name, run, before: None }
        };
        let tasks = folder.join(TASKS);
        std::fs::write(&tasks, serde_json::to_vec(&[item(0), item(1)]).unwrap()).unwrap();
        std::fs::write(folder.join(SCRIPT), script(&["module load nothere".to_owned()], "true")).unwrap();
        std::fs::write(folder.join("0.out"), "nothere: unknown\n\n").unwrap();
        work(&tasks, 0, Some(FailedLine { line: 3, status: 1 })).unwrap();
        work(&tasks, 1, None).unwrap();
        let record = record::read(&results.path().join("n1.r1")).unwrap();
        let reason = "Line 1 of the job's preamble, `module load nothere`, failed with status 1; end it with `|| true` if that \
                      does not matter. Its job said last: \"nothere: unknown\".";
        assert_eq!((record.cause.as_deref(), record.reason.as_deref()), (Some("cannot-start"), Some(reason)));
        assert_eq!(record::read(&results.path().join("n2.r1")).unwrap().status, "complete");
        assert_eq!([1, 2].map(|n| results.path().join(format!("made{n}")).exists()), [false, true]);
    }

    #[test]
    fn paths_are_one_word() {
        assert_eq!(quoted(Path::new("/a b/it's; $(x)")), "'/a b/it'\\''s; $(x)'");
        let said = Command::new("sh").arg("-c").arg(format!("printf %s {}", quoted(Path::new("a'\n\"b")))).output();
        assert_eq!(said.unwrap().stdout, b"a'\n\"b");
    }
}
