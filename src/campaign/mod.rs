//! All runs of a study, each in its own folder; what is there already is not run again. The results folder is the whole
//! state: a campaign that is killed anywhere goes on from it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rand::seq::SliceRandom;
use rand::{SeedableRng, rngs::StdRng};

mod build;
pub mod cost;
pub mod events;
mod lock;
mod programs;
mod selection;
pub mod tasks;

use crate::error::{Error, Result};
use crate::executors;
use crate::machine::quiet::{self, Quiet};
use crate::output;
use crate::progress::Progress;
use crate::run::misfortune::{Cause, Outcome};
use crate::run::{ONCE, RECORD, Run, STDERR, STDOUT, UNFINISHED, left, processes, record};
use crate::study::{Case, Judgement, Order, Place, Study};
pub use build::{Builds, Made};
use cost::Costs;
use events::Events;
use lock::Lock;
use programs::Programs;
pub use tasks::{Done, Task};

/// What became of a study's runs.
#[derive(Debug, Default)]
pub struct Summary {
    /// Runs that are complete, earlier ones included.
    pub complete: usize,
    /// Runs that an earlier call had left.
    pub found: usize,
    /// The first case that has a complete run.
    pub first_complete: Option<usize>,
    /// Failed runs: folder and reason.
    pub failed: Vec<(PathBuf, String)>,
    /// Points whose times are not as steady as the policy asks, and why.
    pub unsettled: Vec<(String, String)>,
    /// What makes times untrustworthy.
    pub warnings: Vec<String>,
}

/// Said once, at the end.
const UNINSTRUMENTED: &str = "no basic blocks were counted: the program was not built with poise cc, poise c++ or poise fc; \
    its own work is one call path, (outside MPI), whose model comes from times alone.";

const WITHOUT_NOISE: &str = "no loop had noise injected: `absorption` needs a program built with poise cc --noise (or with POISE_NOISE=on \
    in the environment of the build), and loops that run for some milliseconds.";

/// How a campaign is made, beside what its study says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Whether runs of a program that has changed since are taken for the same.
    pub accepts_changes: bool,
    /// Whether the machine is made as quiet as it may be.
    pub quiets: bool,
    /// Whether progress is told as events on standard output.
    pub tells_events: bool,
}

/// Builds and runs whatever of `study` is missing under `results`.
///
/// # Errors
/// Nothing could be started or written, `results` holds something else, or the user interrupted; complete runs stay. A
/// failed run is no error here.
pub fn execute(study: &Study, results: &Path, progress: &Progress) -> Result<Summary> {
    execute_with(study, results, progress, Options::default())
}

/// As [`execute`], with options.
pub fn execute_with(study: &Study, results: &Path, progress: &Progress, options: Options) -> Result<Summary> {
    refuse_foreign_folder(results)?;
    std::fs::create_dir_all(results).map_err(|e| Error::cannot_write(results, &e))?;
    let lock = Lock::acquire(results)?;
    clear_unfinished(results);
    quiet::restore_noted(results);
    if options.quiets && matches!(study.place, Place::Slurm(_)) {
        return Err(Error::Usage(
            "--quiet-machine is for this machine; on a cluster, ask for whole nodes (--exclusive).".into(),
        ));
    }
    let mut builds = Builds::plan(study, results)?;
    let made = builds.make(study, results, progress)?;
    let (done, other_environment) = tasks::found(study, &builds.of_case, &made, results, options.accepts_changes)?;
    made.settle()?;
    let programs = if options.accepts_changes { Programs::default() } else { programs_of(study, &builds)? };
    let quiet = options.quiets.then(|| Quiet::begin(results)).transpose()?;
    let mut campaign = Campaign {
        pins: options.quiets && !matches!(&study.place, Place::Local(local) if local.side_by_side),
        study,
        results,
        builds,
        programs,
        costs: Costs::of(study, &done),
        concerns: BTreeMap::new(),
        other_environment,
        rests: vec![false; study.cases.len()],
        last: None,
        under_way: BTreeSet::new(),
        most_at_once: 0,
        summary: Summary { found: done.iter().map(Vec::len).sum(), ..Summary::default() },
        done,
        lock,
        events: Events::start(progress, options.tells_events),
    };
    let ran = campaign.run();
    drop(quiet);
    ran.map(|()| campaign.finish())
}

/// A study that is being run.
struct Campaign<'a> {
    study: &'a Study,
    results: &'a Path,
    builds: Builds,
    /// What this call's runs execute, as it was when all complete runs were last seen to be of it.
    programs: Programs,
    /// Whether runs are pinned to cores.
    pins: bool,
    /// What disturbed runs, and how many.
    concerns: BTreeMap<String, usize>,
    /// What is to be said where a run that was there had another environment.
    other_environment: Option<String>,
    costs: Costs<'a>,
    done: Vec<Vec<Done>>,
    /// Cases that have failed and are not tried again by this call.
    rests: Vec<bool>,
    /// The case of the run that was made last.
    last: Option<usize>,
    /// The runs that are under way, and how many have been at most at a time.
    under_way: BTreeSet<String>,
    most_at_once: usize,
    summary: Summary,
    lock: Lock,
    events: Events,
}

impl Campaign<'_> {
    /// Round after round, until no point needs another run.
    fn run(&mut self) -> Result<()> {
        self.events.begin(self.summary.found, self.left());
        self.refuse_unbuilt()?;
        for round in 0.. {
            let batch = self.batch(round);
            if batch.is_empty() {
                break;
            }
            self.make(&batch)?;
            selection::write(self.study, &self.done, &self.judgements(), self.results)?;
        }
        selection::write(self.study, &self.done, &self.judgements(), self.results)
    }

    /// The runs of the next round. Repetitions of a point are not run back to back, and points not in their order, so that
    /// drift of the machine is not taken for scaling; unless the study asks for it.
    fn batch(&self, round: u64) -> Vec<Task> {
        let judgements = self.judgements();
        let is_cluster = matches!(self.study.place, Place::Slurm(_));
        let all_at_once = is_cluster || self.study.order == Order::PointByPoint;
        let mut batch = Vec::new();
        for (case, judgement) in judgements.iter().enumerate().filter(|(case, _)| !self.rests[*case]) {
            let most = if all_at_once { judgement.wanted } else { judgement.wanted.min(1) };
            let missing = tasks::missing(&self.done[case], most);
            batch.extend(missing.map(|repetition| Task::of(self.study, case, repetition, self.results)));
        }
        if self.study.order == Order::Interleaved {
            batch.shuffle(&mut StdRng::seed_from_u64(round));
            batch.sort_by_key(|task| task.repetition);
            // The point that ended the round before does not begin this one, if there is another.
            let point = |case: usize| (&self.study.cases[case].point, &self.study.cases[case].factors);
            let is_other = |task: &Task| self.last.is_none_or(|last| point(task.case) != point(last));
            let other = batch.iter().position(is_other);
            if let Some(other) = other {
                batch.swap(0, other);
            }
        }
        batch
    }

    fn judgements(&self) -> Vec<Judgement> {
        let is_spent = self.costs.is_spent(&self.done);
        let judge = |(case, done): (&Case, &Vec<Done>)| {
            let times: Vec<f64> = done.iter().map(|done| done.time).collect();
            self.study.judge(case, &times, is_spent)
        };
        self.study.cases.iter().zip(&self.done).map(judge).collect()
    }

    /// Whether the budget was spent since the round began, so that a case that it pays for gets no further times if it has some.
    fn is_beyond_budget(&self, case: usize) -> bool {
        self.costs.is_budgeted(case) && !self.done[case].is_empty() && self.costs.is_spent(&self.done)
    }

    /// How many runs are still to be made, and how long that probably takes, s.
    fn left(&self) -> (usize, Option<f64>) {
        let judgements = self.judgements();
        let open = judgements.iter().enumerate().filter(|(case, judgement)| judgement.wanted > 0 && !self.rests[*case]);
        let open: Vec<(usize, Option<f64>)> = open.map(|(case, j)| (j.wanted, self.costs.seconds(case))).collect();
        // How many runs a cluster makes at a time is seen when it does.
        let at_once = match self.study.place {
            Place::Slurm(_) => self.most_at_once,
            Place::Local(_) | Place::Smpi(_) => self.most_at_once.max(1),
        };
        (open.iter().map(|(runs, _)| runs).sum(), cost::time_left(&open, at_once))
    }

    fn make(&mut self, batch: &[Task]) -> Result<()> {
        let study = self.study;
        let mut runs: Vec<Run> = batch
            .iter()
            .map(|task| tasks::run(study, &study.cases[task.case], task.repetition, &self.builds.of_case[task.case]))
            .collect::<Result<_>>()?;
        if self.pins {
            runs.iter_mut().for_each(|run| run.pinned = quiet::cores_for(run.cores));
        }
        executors::execute(study, batch, &runs, self.results, &mut |step| {
            match step {
                executors::Step::Begins(task) => {
                    if !self.may_begin(task)? {
                        return Ok(false);
                    }
                    self.check_programs()?;
                    self.begins(task);
                }
                executors::Step::Queues(task) => return self.may_begin(task),
                executors::Step::Starts(task) => self.begins(task),
                executors::Step::Pending(runs, reason) => self.events.pending(runs, &reason),
                executors::Step::Note(text) => self.events.note(text),
                executors::Step::Ended(task, outcome) => {
                    self.ended(task, &outcome);
                    self.check_programs()?;
                }
                executors::Step::Waits => self.lock.check()?,
            }
            Ok(true)
        })
    }

    /// Records of points whose build failed that they cannot run; that costs the others nothing.
    fn refuse_unbuilt(&mut self) -> Result<()> {
        for (case, judgement) in self.judgements().into_iter().enumerate() {
            let Some(reason) = self.builds.failure(case).cloned() else { continue };
            let missing = tasks::missing(&self.done[case], judgement.wanted.min(1)).collect::<Vec<_>>();
            if missing.is_empty() {
                self.events.note(&format!("{reason} Its runs had been made before."));
            }
            for repetition in missing {
                let task = Task::of(self.study, case, repetition, self.results);
                let run = tasks::run(self.study, &self.study.cases[case], repetition, &self.builds.of_case[case])?;
                self.begins(&task);
                let outcome = run.refuse(&task.folder, Cause::Build, reason.clone())?;
                self.ended(&task, &outcome);
            }
        }
        Ok(())
    }

    /// Ends the call where a program has been replaced meanwhile and is another than that of complete runs, which all stay: with what
    /// the next call would say.
    fn check_programs(&mut self) -> Result<()> {
        let now = self.programs.now();
        if now == self.programs {
            return Ok(());
        }
        tasks::found(self.study, &self.builds.of_case, &Made::default(), self.results, false)?;
        // What still runs may be of the program before.
        if self.under_way.is_empty() {
            self.programs = now;
        }
        Ok(())
    }

    fn may_begin(&self, task: &Task) -> Result<bool> {
        self.lock.check()?;
        // A point that cannot run costs its other repetitions nothing.
        Ok(!self.rests[task.case] && !self.is_beyond_budget(task.case))
    }

    fn begins(&mut self, task: &Task) {
        self.under_way.insert(task.name.clone());
        self.most_at_once = self.most_at_once.max(self.under_way.len());
        self.events.begins(&task.name);
    }

    fn ended(&mut self, task: &Task, outcome: &Outcome) {
        self.last = Some(task.case);
        self.under_way.remove(&task.name);
        let record = record::read(&task.folder);
        let seconds = record.as_ref().map_or(0.0, |record| record.seconds);
        let machine = record.as_ref().and_then(|record| record.machine.clone()).unwrap_or_default();
        let was_there = !matches!(outcome, Outcome::Failed { cause, .. } if cause.is_before_start());
        machine
            .concerns
            .into_iter()
            .filter(|_| was_there)
            .for_each(|concern| *self.concerns.entry(concern).or_default() += 1);
        match outcome {
            Outcome::Complete => {
                let time = record.map_or(seconds, |record| record.time());
                let list = &mut self.done[task.case];
                list.push(Done { repetition: task.repetition, time, seconds });
                list.sort_by_key(|done| done.repetition);
                self.costs.learn(task.case, seconds);
            }
            Outcome::Failed { reason, .. } => {
                self.rests[task.case] = true;
                self.costs.lose(task.case, seconds);
                let reason = with_last_words(reason, &task.folder);
                self.summary.failed.push((task.folder.clone(), reason));
            }
        }
        let complete = self.done.iter().map(Vec::len).sum();
        self.events.ended(&task.name, outcome, seconds, complete, self.summary.failed.len(), self.left());
    }

    fn finish(mut self) -> Summary {
        self.summary.complete = self.done.iter().map(Vec::len).sum();
        self.summary.first_complete = self.done.iter().position(|done| !done.is_empty());
        for (case, judgement) in self.judgements().into_iter().enumerate() {
            if let Some(reason) = judgement.unsettled {
                let (group, stem) = self.study.folder_of(&self.study.cases[case]);
                let name = [group.as_str(), stem.trim_end_matches('.')].join(if group.is_empty() { "" } else { "/" });
                self.summary.unsettled.push((name, reason));
            }
        }
        let made = self.summary.complete - self.summary.found + self.summary.failed.len();
        let told = self
            .concerns
            .iter()
            .map(|(concern, runs)| format!("{runs} of {}: {concern}.", output::counted(made, "run", "runs")));
        let told = told.chain(self.uninstrumented()).chain(self.without_noise());
        // Where nothing was made all runs are of the environments that they were of.
        let other_environment = self.other_environment.take().filter(|_| made > 0);
        self.summary.warnings = other_environment.into_iter().chain(told).collect();
        self.events.end(&self.summary);
        self.summary
    }

    /// What is to be said where profiles hold no effort at all.
    fn uninstrumented(&self) -> Option<String> {
        self.lack(record::counts_blocks, |_| true).then(|| UNINSTRUMENTED.to_owned())
    }

    /// What is to be said where noise was asked for, and no loop had any.
    fn without_noise(&self) -> Option<String> {
        self.lack(record::has_noise, |case| case.absorbs).then(|| WITHOUT_NOISE.to_owned())
    }

    /// Whether no run of such cases holds something; one of each is looked at until one does.
    fn lack(&self, holds: impl Fn(&Path) -> Option<bool>, of: impl Fn(&Case) -> bool) -> bool {
        let cases = self.study.cases.iter().zip(&self.done).enumerate().filter(|(_, (case, _))| of(case));
        let first = |(i, (_, done)): (usize, (&Case, &Vec<Done>))| {
            holds(&Task::of(self.study, i, done.first()?.repetition, self.results).folder)
        };
        let mut found = cases.filter_map(first).peekable();
        found.peek().is_some() && !found.any(|holds| holds)
    }
}

/// What the runs of a study on this machine execute; nothing for jobs, which may have ended long before one hears of it.
fn programs_of(study: &Study, builds: &Builds) -> Result<Programs> {
    if matches!(study.place, Place::Slurm(_)) {
        return Ok(Programs::default());
    }
    let runs = study.cases.iter().zip(&builds.of_case).map(|(case, built)| tasks::run(study, case, 1, built));
    Ok(Programs::of(runs.collect::<Result<Vec<Run>>>()?.iter()))
}

/// What a killed call has left: what still runs is ended, and folders of runs that have not ended are removed, but for what
/// was measured in them.
fn clear_unfinished(results: &Path) {
    let folders = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter(|entry| entry.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path()).collect::<Vec<_>>()
    };
    let below = folders(results).into_iter().filter(|path| !path.join(RECORD).is_file());
    let groups: Vec<PathBuf> = std::iter::once(results.to_owned()).chain(below).collect();
    for (group, path) in groups.iter().flat_map(|group| folders(group).into_iter().map(move |path| (group, path))) {
        if name_of(&path).starts_with(UNFINISHED) {
            if let Ok(path) = path.canonicalize() {
                let left = processes::end_left(&path, None, Duration::ZERO);
                if !left.is_empty() {
                    let processes = output::counted(left.len(), "process", "processes");
                    output::say(format!("ended {processes} of a run or a build that an earlier call had left."));
                }
            }
            match left::keep_measured(&path, group) {
                Some(kept) => output::say(kept),
                None => drop(std::fs::remove_dir_all(&path)),
            }
        }
    }
}

/// Runs go into a new or empty folder, or to their like; never among other people's files.
fn refuse_foreign_folder(results: &Path) -> Result<()> {
    let list = |folder: &Path| std::fs::read_dir(folder).map(|entries| entries.flatten().map(|e| e.path()).collect());
    let is_left = |path: &PathBuf| {
        let name = name_of(path);
        let is_name = [".lock-", UNFINISHED].iter().any(|start| name.starts_with(start));
        // Single runs leave such folders anywhere, in which there is no output of theirs.
        let is_killed = name.starts_with(left::KILLED) && path.join(STDOUT).is_file();
        is_name || is_killed || name == ".builds" || name == ".slurm" || selection::is_selection(path)
    };
    // In a group, `solver=cg`, no run may have ended yet: it holds nothing then, or what an earlier call has left.
    let is_group = |path: &PathBuf| {
        let entries = || list(path).unwrap_or_else(|_| vec![path.clone()]);
        name_of(path).contains('=') && (entries().iter().any(|path| is_run(path)) || entries().iter().all(is_left))
    };
    let Ok(entries): std::io::Result<Vec<PathBuf>> = list(results) else { return Ok(()) };
    let is_single = |path: &PathBuf| name_of(path).starts_with(ONCE);
    if entries.iter().all(is_single) || entries.iter().any(|path| is_left(path) || is_run(path) || is_group(path)) {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "{} holds something else than runs of a study. Choose another folder with -o.",
        results.display()
    )))
}

/// Whether a folder is a run of a study, such as `p4.n100.r1`.
fn is_run(path: &Path) -> bool {
    let name = name_of(path);
    let repetition = name.rsplit('.').next().and_then(|last| last.strip_prefix('r'));
    repetition.is_some_and(|number| number.parse::<u32>().is_ok()) && path.join(RECORD).is_file()
}

/// A path's last part.
fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The lines that the program and its libraries wrote: without Open MPI's blocks of explanation, which stand between lines of
/// dashes and end with advice about its own options, without what follows whatever went wrong, and without what the reason
/// says of a missing `MPI_Finalize`. All lines where there are no others, but for what Open MPI says of a signal, which the
/// reason does, too.
fn programs_own(text: &str) -> Vec<&str> {
    let is_rule = |line: &str| line.len() > 40 && line.bytes().all(|b| b == b'-');
    let lines = || text.lines().map(str::trim).filter(|line| !is_of_signal(line) && !is_of_stack(line));
    let mut is_within = false;
    let own = lines().filter(|line| {
        is_within ^= is_rule(line);
        !is_within && !line.starts_with("poise: MPI_Finalize was never reached") && !is_of_end(line)
    });
    let own: Vec<&str> = own.filter(|line| line.chars().any(char::is_alphanumeric)).collect();
    if own.is_empty() { lines().collect() } else { own }
}

/// Whether Open MPI, srun, its daemon or SimGrid wrote this when they ended the ranks, for a reason that stands before it.
fn is_of_end(line: &str) -> bool {
    const SAID: [&str; 6] = [
        "[ker_engine/CRITICAL] Oops! Deadlock detected",
        "*** on a NULL communicator",
        "*** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort",
        "***    and potentially your MPI job)",
        "Local abort before MPI_INIT completed",
        ": Exited with exit code ",
    ];
    const BEGUN: [&str; 6] = [
        "srun: Job step aborted",
        "srun: Terminating Job",
        "srun: launch/slurm: _step_signal: Terminating StepId=",
        "slurmstepd: error: *** STEP ",
        "You can avoid this message by specifying -quiet on the mpi",
        "==== backtrace (tid:",
    ];
    SAID.iter().any(|words| line.contains(words)) || BEGUN.iter().any(|start| line.starts_with(start))
}

/// Whether Open MPI wrote this as a rank died: `[host:4711] *** Process received signal ***`, the signal and the stack.
fn is_of_signal(line: &str) -> bool {
    const SAID: [&str; 7] = [
        "*** Process received signal ***",
        "*** End of error message ***",
        "Signal: ",
        "Signal code: ",
        "Associated errno: ",
        "Failing at address: ",
        "[",
    ];
    let said = || {
        let (place, said) = line.strip_prefix('[')?.split_once("] ")?;
        place.rsplit_once(':')?.1.parse::<u32>().ok()?;
        Some(SAID.iter().any(|start| said.starts_with(start)))
    };
    said().unwrap_or(false)
}

/// Whether this is a place in a stack, or the end of one that another rank's words have cut off, as glibc writes it:
/// `libc.so.6(abort+0x12b)[0x7f0123456789]`.
fn is_of_stack(line: &str) -> bool {
    let address = || line.strip_suffix(']')?.rsplit_once("[0x").map(|(_, digits)| digits);
    address().is_some_and(|digits| !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_hexdigit()))
}

/// The reason, and the last line that the program wrote to standard error.
fn with_last_words(reason: &str, folder: &Path) -> String {
    let path = folder.join(STDERR);
    // Megabytes of it need not be read.
    let text = output::end_of(&path).unwrap_or_default();
    match programs_own(&text).into_iter().rev().find(|line| line.chars().any(char::is_alphanumeric)) {
        Some(line) if !reason.contains(line.trim_end_matches('.')) => {
            format!("{reason} It said last: \"{line}\" (all of it is in {}).", path.display())
        }
        _ => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Open MPI 4.1 writes.
    #[test]
    fn what_a_dying_rank_said_is_the_programs_own() {
        let signal = "[vm:14452] *** Process received signal ***\n[vm:14452] Signal: Segmentation fault (11)\n\
                      [vm:14452] Signal code: Address not mapped (1)\n[vm:14452] Failing at address: 0x5636fda28560\n\
                      [vm:14452] [ 0] /lib/x86_64-linux-gnu/libc.so.6(+0x3c050)[0x7fdbccb7a050]\n\
                      [vm:14452] [11] /lib/libc.so.6(__libc_start_main+0x85)[0x7fdbccb65305]\n\
                      [vm:14452] *** End of error message ***\n";
        assert_eq!(programs_own(&format!("step 3: residual is nan\n{signal}")), ["step 3: residual is nan"]);
        assert_eq!(programs_own(signal), [""; 0]);
        // Of two ranks, whose lines Open MPI cuts off anywhere.
        let torn = "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n\
                    [vm:15] [ 1] /lib/x86_64-linux-gnu/\nlibstdc++.so.6(+0xa8e1a)[0x7f1c2a3b4e1a]\n./app[0x40113a]\n";
        assert_eq!(programs_own(torn).last().map(|line| line.trim()), Some("what():  std::bad_alloc"));
        assert_eq!(programs_own("x[0x1] = y[0x]\n"), ["x[0x1] = y[0x]"]);
        let errors = "[vm:15] *** An error occurred in MPI_Recv\n[vm:15] *** MPI_ERR_TRUNCATE: message truncated";
        assert_eq!(programs_own(errors).len(), 2, "what is not of a signal stays");
        let end = "[vm:15] *** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,\n\
                   [vm:15] ***    and potentially your MPI job)\nsrun: error: n1: tasks 0-1: Exited with exit code 15\n\
                   slurmstepd: error: *** STEP 4.0 ON n1 CANCELLED AT 2026-11-23T07:00:00 ***\n";
        assert_eq!(
            programs_own(&format!("{errors}\n{end}")),
            programs_own(errors),
            "what ends all ranks tells no reason"
        );
    }
}
