//! Runs as jobs of a Slurm cluster. `poise run` writes what is to be run into files, submits jobs that do nothing but
//! call `poise task` on a compute node, and waits for the runs' folders to appear. No value of a parameter is ever in a
//! script, so no shell can misread it. Jobs outlive the call that submitted them: the next one finds them by name.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

mod command;
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
use crate::study::{Order, SlurmPlace, Study, Submit};
use submission::{After, Geometry, Item, Kind, Request, Submission};
pub use submission::{FailedLine, WORKERS, work};

/// Folder of submissions below the results.
pub const FOLDER: &str = ".slurm";
/// Jobs of one geometry that a study would submit.
pub struct Planned {
    /// The options of sbatch, those of the largest array where there are several.
    pub options: Vec<String>,
    /// How many jobs, or arrays of them.
    pub jobs: usize,
    /// How many runs they are.
    pub runs: usize,
    /// The study's cases that they measure.
    pub cases: Vec<usize>,
}

/// What a study would submit for runs, each of a case and a repetition.
pub fn plan(study: &Study, place: &SlurmPlace, runs: &[(usize, u32)]) -> Vec<Planned> {
    let longest = if place.submit == Submit::Array { queue::longest_array() } else { 1 };
    let mut groups: Vec<(Geometry, Vec<Vec<usize>>)> = Vec::new();
    for (geometry, members) in together(study, place, longest, runs) {
        match groups.iter_mut().find(|(known, _)| *known == geometry) {
            Some((_, jobs)) => jobs.push(members),
            None => groups.push((geometry, vec![members])),
        }
    }
    let planned = |(geometry, jobs): (Geometry, Vec<Vec<usize>>)| {
        let largest = jobs.iter().map(Vec::len).max().unwrap_or(1);
        let options = geometry.request(place, study.time_limit, largest);
        let cases: BTreeSet<usize> = jobs.iter().flatten().map(|&i| runs[i].0).collect();
        let runs = jobs.iter().map(Vec::len).sum();
        Planned { options, jobs: jobs.len(), runs, cases: cases.into_iter().collect() }
    };
    groups.into_iter().map(planned).collect()
}

/// What is said of Slurm's controller, once, while it is away or slow.
const AWAY: &str = "Slurm's controller does not answer; waiting.";
const SLOW: &str = "Slurm's controller has not answered for 5 s; waiting.";
/// How long the file system may take to show what a finished job has written.
const PATIENCE: Duration = Duration::from_secs(15);
/// One looks for finished runs this often, or less often where looking takes more than a tenth of the time, as for thousands
/// of runs on a busy file system.
const LOOK: Duration = Duration::from_millis(500);
/// So long after sbatch had no answer Slurm is asked whether it took the job.
const UNANSWERED: Duration = Duration::from_secs(5);
/// After so many submissions without an answer there is none to be expected.
const MOST_UNANSWERED: usize = 5;
/// For so many jobs one job waits itself; for more than that another one waits before it.
const MOST_AWAITED: usize = 1000;
/// So many tasks are named where something is said of them.
const MOST_NAMED: usize = 8;

/// One task that is in the queue.
struct Waiting<'a> {
    task: &'a Task,
    run: &'a Run,
    submission: usize,
    index: usize,
    /// Whether it has been seen to run.
    has_begun: bool,
    /// Whether that has been told.
    is_told: bool,
    /// Since when the queue no longer has it.
    gone: Option<Instant>,
}

/// Of so many jobs of a repetition all jobs of the next one wait themselves, and of more than that one leads those.
const FEW_AWAITED: usize = 8;

/// The repetition of which jobs are being submitted, in interleaved order. All of them wait until all jobs of the repetition
/// before have begun. Where those are few, as arrays are, each waits for them itself, so that whatever is cancelled changes nothing
/// for others. Where they are many, one of them, the leader, waits for those, and the others wait for the leader: as many
/// dependencies as jobs, and not as many as pairs. For Slurm a job that is cancelled has begun, and so has each task of an array: with
/// a leader the others begin too early then.
#[derive(Default)]
struct Turn {
    repetition: u32,
    /// Submissions of the repetition before; where they are many, those for which no job waits yet.
    before: Vec<usize>,
    is_led: bool,
    /// The submission that was taken first, or the last that waits for jobs of the repetition before where these are many.
    leader: Option<usize>,
}

impl Turn {
    fn of(repetition: u32, before: Vec<usize>) -> Self {
        Self { repetition, is_led: before.len() > FEW_AWAITED, before, leader: None }
    }

    /// The submissions for which the next one waits, of the repetition before.
    fn awaited(&self) -> &[usize] {
        &self.before[..self.before.len().min(MOST_AWAITED)]
    }

    /// The submission for whose first task the next one waits.
    fn led_by(&self) -> Option<usize> {
        self.leader.filter(|_| self.is_led)
    }

    /// Whether the next submission's first task stays in the queue whatever becomes of its point, so that what waits for it, in
    /// this repetition or the next one, does not begin too early.
    fn is_to_lead(&self) -> bool {
        !self.before.is_empty() && (self.is_led || self.leader.is_none())
    }

    /// Slurm has taken a submission that leads.
    fn was_taken(&mut self, submission: usize) {
        if self.is_led {
            self.before.drain(..self.awaited().len());
        }
        self.leader = Some(submission);
    }
}

/// A task that waits for a reason that time alone may not cure. In their order those of one reason follow each other, the first
/// repetition first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Stuck {
    reason: String,
    repetition: u32,
    submission: usize,
    index: usize,
}

/// The jobs of one round.
struct Jobs<'a> {
    study: &'a Study,
    place: &'a SlurmPlace,
    tasks: &'a [Task],
    runs: &'a [Run],
    results: PathBuf,
    submissions: Vec<Submission>,
    waiting: Vec<Waiting<'a>>,
    /// What is to be submitted: each entry a job or an array of them.
    held: VecDeque<(Geometry, Vec<usize>)>,
    turn: Turn,
    /// Cases that have failed and would again.
    failed: BTreeSet<usize>,
    /// Arrays that were cancelled with tasks that had not begun, for which others may wait in vain.
    cancelled: BTreeSet<usize>,
    /// Which tasks waited for what time alone may not cure when it was last looked, and of which that has been told.
    stuck: BTreeSet<Stuck>,
    told_stuck: BTreeSet<Stuck>,
    /// Whether the cluster takes no more jobs until some have ended.
    is_crowded: bool,
    /// Whether the controller did not answer, or not soon, when it was last asked, which has been told then.
    is_silent: bool,
    /// How many submissions one after the other had no answer and were not taken.
    unanswered: usize,
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
    let submissions = Submission::read_all(&folder);
    let mut is_silent = false;
    let alive = queue::look(&submissions, &mut |_, _| {
        let is_told = std::mem::replace(&mut is_silent, true);
        if is_told { Ok(()) } else { tell(Step::Note(SLOW)).map(|_| ()) }
    })?;
    let mut jobs = Jobs {
        study,
        place,
        tasks,
        runs,
        results,
        submissions,
        waiting: Vec::new(),
        held: VecDeque::new(),
        turn: Turn::default(),
        failed: BTreeSet::new(),
        cancelled: BTreeSet::new(),
        stuck: BTreeSet::new(),
        told_stuck: BTreeSet::new(),
        is_crowded: false,
        is_silent,
        unanswered: 0,
    };
    let made = jobs.take_up(&alive, tell).and_then(|()| jobs.make(tell));
    match made {
        Ok(()) => tidy(&jobs.results, &jobs.submissions),
        Err(_) => jobs.say_what_stays(),
    }
    made
}

impl Jobs<'_> {
    /// Finds what is in the queue already, and what is to be submitted.
    fn take_up(&mut self, alive: &queue::Queue, tell: &mut dyn FnMut(Step) -> Result<bool>) -> Result<()> {
        self.submissions.retain(|submission| is_known(submission, alive));
        let mut fresh: Vec<usize> = Vec::new();
        for (i, (task, run)) in self.tasks.iter().zip(self.runs).enumerate() {
            if !tell(Step::Queues(task))? {
                continue;
            }
            // It may have become complete since the campaign looked.
            if let Some(outcome) = run.complete_in(&task.folder) {
                tell(Step::Ended(task, outcome))?;
                continue;
            }
            match queued(&self.submissions, alive, task, run) {
                Some((submission, index)) => self.waiting.push(Waiting::of(task, run, submission, index)),
                None => fresh.push(i),
            }
        }
        let was_cancelled = |&s: &usize| never_began(&self.submissions[s], alive);
        self.cancelled = (0..self.submissions.len()).filter(was_cancelled).collect();
        let longest = match self.place.submit {
            Submit::Array if fresh.len() > 1 => queue::longest_array(),
            Submit::Array | Submit::Jobs => 1,
        };
        let runs: Vec<(usize, u32)> = fresh.iter().map(|&i| (self.tasks[i].case, self.tasks[i].repetition)).collect();
        let together = together(self.study, self.place, longest, &runs);
        let held =
            |(geometry, members): (Geometry, Vec<usize>)| (geometry, members.iter().map(|&i| fresh[i]).collect());
        self.held.extend(together.into_iter().map(held));
        Ok(())
    }

    /// Submits what is to be submitted and waits until every task has ended.
    fn make(&mut self, tell: &mut dyn FnMut(Step) -> Result<bool>) -> Result<()> {
        self.submit(true, tell)?;
        let poll = Duration::from_secs(self.place.poll_seconds);
        let mut looked: Option<Instant> = None;
        while !self.waiting.is_empty() || !self.held.is_empty() {
            let is_due = looked.is_none_or(|at| at.elapsed() >= poll);
            let mut queue = None;
            if is_due {
                queue = self.look(tell)?;
                tell(Step::Waits)?;
                looked = Some(Instant::now());
            }
            let (before, begun) = (self.waiting.len(), Instant::now());
            self.settle(queue.as_ref(), tell)?;
            let took = begun.elapsed();
            if let Some(queue) = &queue {
                self.give_up(queue)?;
                self.let_others_begin()?;
            }
            if self.waiting.len() < before || self.waiting.is_empty() && is_due {
                // A job whose run has ended may still count for a moment.
                let has_own = !self.waiting.is_empty() || queue.as_ref().is_none_or(queue::Queue::has_any);
                self.submit(has_own, tell)?;
            }
            pause(LOOK.max(poll.min(9 * took)), self.waiting.is_empty() && self.held.is_empty())?;
        }
        Ok(())
    }

    /// The queue, if Slurm can be asked. Tells how many runs have not begun, and why.
    fn look(&mut self, tell: &mut dyn FnMut(Step) -> Result<bool>) -> Result<Option<queue::Queue>> {
        let used: BTreeSet<usize> = self.waiting.iter().map(|w| w.submission).collect();
        // What holds the rest back may be any of ours.
        let is_used = |s: &usize| !self.held.is_empty() || used.contains(s);
        let asked = (0..self.submissions.len()).filter(is_used).map(|s| &self.submissions[s]);
        let is_silent = &mut self.is_silent;
        let mut away = |what| if std::mem::replace(is_silent, true) { Ok(true) } else { tell(Step::Note(what)) };
        let mut is_slow = false;
        let queue = queue::look(asked, &mut |_, _| {
            is_slow = true;
            away(SLOW).map(|_| ())
        });
        let Ok(queue) = queue else {
            interrupt::check()?;
            away(AWAY)?;
            return Ok(None);
        };
        self.is_silent = is_slow;
        let mut reasons = BTreeSet::new();
        let mut stuck = BTreeSet::new();
        let mut pending: usize = self.held.iter().map(|(_, chunk)| chunk.len()).sum();
        if pending > 0 {
            reasons.insert("submit limit");
        }
        for task in &self.waiting {
            let submission = &self.submissions[task.submission];
            let Some(reason) = queue.pending(submission, task.index) else { continue };
            pending += 1;
            reasons.insert(reason);
            if queue::may_last(reason) {
                // Behind a comma are the nodes, which come and go.
                let reason = reason.split(',').next().unwrap_or(reason).to_owned();
                let repetition = task.task.repetition;
                stuck.insert(Stuck { reason, repetition, submission: task.submission, index: task.index });
            }
        }
        let reasons: Vec<&str> = reasons.into_iter().collect();
        tell(Step::Pending(pending, reasons.join(", ")))?;
        self.tell_stuck(stuck, tell)?;
        Ok(Some(queue))
    }

    /// Says, once for each task and reason that lasts from one look to the next, which wait for what time alone may not cure, and
    /// what the user can do.
    fn tell_stuck(&mut self, stuck: BTreeSet<Stuck>, tell: &mut dyn FnMut(Step) -> Result<bool>) -> Result<()> {
        let open = self.waiting.iter().map(|waiting| waiting.task.repetition);
        let last = open.max().filter(|_| self.study.order == Order::Interleaved);
        let untold: Vec<&Stuck> =
            stuck.intersection(&self.stuck).filter(|task| !self.told_stuck.contains(task)).collect();
        for tasks in untold.chunk_by(|one, other| one.reason == other.reason) {
            let reason = &tasks[0].reason;
            let is_awaited = last > Some(tasks[0].repetition);
            let with_them = if is_awaited { " Later repetitions of all points wait with them." } else { "" };
            let id = |task: &&Stuck| queue::task_id(&self.submissions[task.submission], task.index);
            let named = tasks.iter().take(MOST_NAMED).filter_map(id).collect::<Vec<_>>().join(" ");
            let more = if tasks.len() > MOST_NAMED { " and others" } else { "" };
            let release = match queue::is_held(reason) {
                true => format!("`scontrol release {named}` lets them begin, "),
                false => String::new(),
            };
            tell(Step::Note(&format!(
                "Slurm does not begin jobs ({named}{more}), perhaps for long: {reason}.{with_them} {release}`scancel {named}` gives \
                 their runs up."
            )))?;
        }
        self.told_stuck.extend(untold.into_iter().cloned());
        self.stuck = stuck;
        Ok(())
    }

    /// Submits until nothing is left or the cluster takes no more for now. Where it takes none and none of ours is there
    /// whose end could change that, this is an error.
    fn submit(&mut self, has_own: bool, tell: &mut dyn FnMut(Step) -> Result<bool>) -> Result<()> {
        while let Some((geometry, mut chunk)) = self.held.pop_front() {
            interrupt::check()?;
            chunk.retain(|&i| !self.failed.contains(&self.tasks[i].case));
            if chunk.is_empty() {
                continue;
            }
            let items = chunk.iter().map(|&i| item(&self.results, &self.tasks[i], &self.runs[i])).collect();
            let after = self.jobs_before(&geometry, self.tasks[chunk[0]].repetition);
            let leads = self.turn.is_to_lead();
            let submission = Submission::write(&self.results.join(FOLDER), items, leads, self.place)?;
            let request = Request { place: self.place, geometry: &geometry, time_limit: self.study.time_limit, after };
            let is_silent = &mut self.is_silent;
            let mut is_slow = false;
            let submitted = submission.submit(&request, &mut |program, said| {
                is_slow = true;
                let said = said.trim_start_matches("sbatch: error: ");
                let said = if said.is_empty() { String::new() } else { format!(" It says: \"{said}\".") };
                // Told already where the queue could not be looked at.
                if !std::mem::replace(is_silent, true) {
                    tell(Step::Note(&format!("{program} has not submitted the job for 5 s; waiting.{said}")))?;
                }
                Ok(())
            });
            let submitted = submitted.inspect_err(|error| match error {
                Error::Interrupted(_) => output::say(format!(
                    "sbatch was interrupted; if Slurm has taken its job, the same command takes up the results, and \
                     `scancel --name={}` ends it.",
                    submission.name
                )),
                _ => submission.forget(),
            });
            let refusal = match submitted? {
                Some(refusal) if refusal.kind == Kind::Unanswered => {
                    if !self.was_taken_after_all(&submission, &refusal.reason, tell)? {
                        submission.forget();
                        self.unanswered += 1;
                        if self.unanswered == MOST_UNANSWERED {
                            return Err(Error::Usage(refusal.reason));
                        }
                        self.held.push_front((geometry, chunk));
                        continue;
                    }
                    None
                }
                answered => answered,
            };
            self.unanswered = 0;
            let Some(refusal) = refusal else {
                self.is_silent = is_slow;
                let number = self.submissions.len();
                let (tasks, runs) = (self.tasks, self.runs);
                let waiting = |(index, &i): (usize, &usize)| Waiting::of(&tasks[i], &runs[i], number, index);
                self.waiting.extend(chunk.iter().enumerate().map(waiting));
                self.submissions.push(submission);
                self.was_taken(number);
                continue;
            };
            submission.forget();
            let may_wait = refusal.kind == Kind::Crowded && (!self.waiting.is_empty() || has_own && self.is_crowded);
            match refusal.kind {
                Kind::Size => {
                    for &i in &chunk {
                        self.failed.insert(self.tasks[i].case);
                        let reason = refusal.reason.clone();
                        let outcome = self.runs[i].refuse(&self.tasks[i].folder, Cause::TooManyRanks, reason)?;
                        tell(Step::Ended(&self.tasks[i], outcome))?;
                    }
                }
                Kind::Crowded if may_wait => {
                    if !self.is_crowded {
                        let reason = refusal.reason;
                        tell(Step::Note(&format!(
                            "{reason} The other runs are submitted when some of this study's jobs have ended."
                        )))?;
                    }
                    self.is_crowded = true;
                    self.held.push_front((geometry, chunk));
                    return Ok(());
                }
                // Each task of an array counts, and a smaller array may still fit.
                Kind::Crowded | Kind::Array if chunk.len() > 1 => {
                    let (one, other) = chunk.split_at(chunk.len() / 2);
                    self.held.push_front((geometry.clone(), other.to_vec()));
                    self.held.push_front((geometry, one.to_vec()));
                }
                _ => return Err(Error::Usage(refusal.reason)),
            }
        }
        Ok(())
    }

    /// Whether Slurm has taken a job although sbatch had no answer, for the `reason` that it gives; asked until there is one.
    fn was_taken_after_all(
        &mut self,
        submission: &Submission,
        reason: &str,
        tell: &mut dyn FnMut(Step) -> Result<bool>,
    ) -> Result<bool> {
        if !std::mem::replace(&mut self.is_silent, true) {
            tell(Step::Note(&format!(
                "{reason} Waiting for an answer whether Slurm has taken it; else it is submitted again."
            )))?;
        }
        loop {
            // The controller may still be about to take it.
            pause(UNANSWERED, false)?;
            match queue::look([submission], &mut |_, _| Ok(())) {
                Ok(queue) => {
                    let job = queue.job(submission);
                    job.inspect(|job| submission.note_job(job));
                    // It may have ended already.
                    let has_begun =
                        |(index, item): (usize, &Item)| submission.has_output(index) || item.result().is_some();
                    return Ok(job.is_some() || submission.items.iter().enumerate().any(has_begun));
                }
                Err(_) => interrupt::check()?,
            }
        }
    }

    /// What another job or array waits for: in interleaved order until the jobs of the repetition before have begun, whatever
    /// priorities the cluster gives them; and where `at_once` is given, until arrays of the same size have ended, so that it
    /// holds for them together.
    fn jobs_before(&mut self, geometry: &Geometry, repetition: u32) -> After {
        let mut after = After::default();
        if self.study.order == Order::Interleaved {
            if self.turn.repetition != repetition {
                let before = self.repetition_before(repetition, self.submissions.len()).into_iter().collect();
                self.turn = Turn::of(repetition, before);
            }
            let awaited: BTreeSet<usize> = self.turn.awaited().iter().copied().collect();
            after.begins = self.jobs(&|task| !task.has_begun && awaited.contains(&task.submission));
            let leads = |task: &&Waiting| Some(task.submission) == self.turn.led_by() && task.index == 0;
            let leader = self.waiting.iter().find(leads).filter(|task| !task.has_begun);
            after.begins.extend(leader.and_then(|task| queue::task_id(&self.submissions[task.submission], 0)));
        }
        if self.place.at_once.is_some() && self.place.submit == Submit::Array {
            let of = |task: &Task| Geometry::of(self.study, self.place, &self.study.cases[task.case]);
            after.ends = self.jobs(&|waiting| of(waiting.task) == *geometry);
        }
        after
    }

    /// Slurm has taken a submission that waits for what [`Jobs::jobs_before`] says.
    fn was_taken(&mut self, submission: usize) {
        if self.submissions[submission].leads {
            self.turn.was_taken(submission);
        }
    }

    /// The jobs of some of those that wait.
    fn jobs(&self, are: &dyn Fn(&Waiting) -> bool) -> Vec<String> {
        let of = self.waiting.iter().filter(|waiting| are(waiting));
        let submissions: BTreeSet<usize> = of.map(|waiting| waiting.submission).collect();
        submissions.into_iter().filter_map(|s| self.submissions[s].job()).collect()
    }

    /// Takes runs out of the queue whose point has failed, but for leaders: those that wait for one would begin too early.
    fn give_up(&mut self, queue: &queue::Queue) -> Result<()> {
        if self.failed.is_empty() {
            return Ok(());
        }
        let mut unwanted = Vec::new();
        let (submissions, failed) = (&self.submissions, &self.failed);
        self.waiting.retain(|task| {
            let submission = &submissions[task.submission];
            let reason = queue.pending(submission, task.index);
            let leads = task.index == 0 && submission.leads;
            let is_unwanted = failed.contains(&task.task.case) && !task.has_begun && !leads && reason.is_some();
            if is_unwanted {
                unwanted.push((task.submission, task.index));
            }
            !is_unwanted
        });
        queue::cancel_all(unwanted.iter().map(|&(s, index)| (&self.submissions[s], index)));
        interrupt::check()
    }

    /// Has nothing wait until arrays begin that were cancelled before all of their tasks had begun, of which Slurm would not say so
    /// for long: whoever cancels an array gives its runs up, and no others. What waited for one waits for what that waited for,
    /// so that no repetition begins before the one that was to be before the cancelled one.
    fn let_others_begin(&mut self) -> Result<()> {
        let open: BTreeSet<usize> =
            self.waiting.iter().filter(|task| !task.has_begun).map(|task| task.submission).collect();
        let over: BTreeSet<usize> = self.cancelled.difference(&open).copied().collect();
        if over.is_empty() {
            return Ok(());
        }
        let instead = |&s: &usize| Some((self.submissions[s].job()?, self.jobs_before_array(s)));
        let jobs: BTreeMap<String, Vec<String>> = over.iter().filter_map(instead).collect();
        // Where Slurm cannot be asked now, or refuses, it is asked when one looks again.
        if let Ok(false) = queue::wait_no_longer(open.iter().map(|&s| &self.submissions[s]), &jobs) {
            self.cancelled.retain(|s| !over.contains(s));
        }
        interrupt::check()
    }

    /// The jobs that have not begun of the repetition before that of an array, which has runs of one where others wait until it
    /// begins. They are older than the array, so that no two jobs ever wait for each other.
    fn jobs_before_array(&self, array: usize) -> Vec<String> {
        let items = &self.submissions[array].items;
        let task = self.tasks.iter().find(|task| items.iter().any(|item| item.name == task.name));
        let before = task.map(|task| self.repetition_before(task.repetition, array)).unwrap_or_default();
        before.into_iter().filter_map(|s| self.submissions[s].job()).collect()
    }

    /// Of the first so many submissions those with tasks that have not begun, of the last repetition before this one that has any.
    fn repetition_before(&self, repetition: u32, submissions: usize) -> BTreeSet<usize> {
        let is_before = |task: &&Waiting| task.task.repetition < repetition && task.submission < submissions;
        let open = || self.waiting.iter().filter(|task| !task.has_begun).filter(is_before);
        let last = open().map(|task| task.task.repetition).max();
        open().filter(|task| Some(task.task.repetition) == last).map(|task| task.submission).collect()
    }

    /// Takes from the waiting tasks those that have ended, and tells which have begun.
    fn settle(&mut self, queue: Option<&queue::Queue>, tell: &mut dyn FnMut(Step) -> Result<bool>) -> Result<()> {
        // Looked at before the ends and told after them: what could begin only when another had ended is not told as if both
        // had run at the same time.
        for task in self.waiting.iter_mut().filter(|task| !task.has_begun) {
            let submission = &self.submissions[task.submission];
            let runs = |queue: &queue::Queue| {
                queue.has(submission, task.index) && queue.pending(submission, task.index).is_none()
            };
            task.has_begun = queue.is_some_and(runs) || submission.has_output(task.index);
        }
        let mut at = 0;
        while at < self.waiting.len() {
            match self.outcome(at, queue)? {
                None => at += 1,
                Some((outcome, is_of_run)) => {
                    let ended = self.waiting.remove(at);
                    // It may have been too short to be seen in the queue.
                    if (is_of_run || ended.has_begun) && !ended.is_told {
                        tell(Step::Starts(ended.task))?;
                    }
                    if !is_of_run && !ended.has_begun && self.submissions[ended.submission].is_array() {
                        self.cancelled.insert(ended.submission);
                    }
                    if matches!(&outcome, Outcome::Failed { cause, .. } if !is_of_cluster(*cause)) {
                        self.failed.insert(ended.task.case);
                    }
                    tell(Step::Ended(ended.task, outcome))?;
                }
            }
        }
        for task in self.waiting.iter_mut().filter(|task| task.has_begun && !task.is_told) {
            task.is_told = true;
            tell(Step::Starts(task.task))?;
        }
        Ok(())
    }

    /// How a waiting task ended, if it has, and whether its run says so, which then has begun.
    fn outcome(&mut self, at: usize, queue: Option<&queue::Queue>) -> Result<Option<(Outcome, bool)>> {
        let task = &mut self.waiting[at];
        let submission = &self.submissions[task.submission];
        if let Some(outcome) = submission.items[task.index].result() {
            return Ok(Some((outcome, true)));
        }
        let refused = |outcome: Outcome| Some((outcome, false));
        if let Some(queue) = queue {
            if let Some((cause, reason)) = queue.never_starts(submission, task.index) {
                queue::cancel(submission, task.index);
                // What an interruption ended tells nothing of the run.
                interrupt::check()?;
                let geometry = Geometry::of(self.study, self.place, &self.study.cases[task.task.case]);
                let (limit, is_time) = (self.study.time_limit, reason.contains("TimeLimit"));
                let time = if is_time { geometry.time_asked(limit) } else { String::new() };
                let reason = reason + &geometry.asked(self.place, limit) + &time;
                return task.run.refuse(&task.task.folder, cause, reason).map(refused);
            }
            task.gone = if queue.has(submission, task.index) { None } else { task.gone.or(Some(Instant::now())) };
        }
        if task.gone.is_some_and(|since| since.elapsed() > PATIENCE) {
            let (cause, reason) = queue::last_state(submission, task.index);
            interrupt::check()?;
            return task.run.refuse(&task.task.folder, cause, reason).map(refused);
        }
        Ok(None)
    }

    /// Says which jobs stay in the queue where the call ends before them.
    fn say_what_stays(&self) {
        let used: BTreeSet<usize> = self.waiting.iter().map(|w| w.submission).collect();
        say_they_stay(used.into_iter().filter_map(|s| self.submissions[s].job()));
    }
}

impl<'a> Waiting<'a> {
    /// A task that has just been found or put in the queue.
    fn of(task: &'a Task, run: &'a Run, submission: usize, index: usize) -> Self {
        Self { task, run, submission, index, has_begun: false, is_told: false, gone: None }
    }
}

/// Whether a submission is an array that is gone, and some of its tasks never began: it was cancelled since an earlier call.
fn never_began(submission: &Submission, alive: &queue::Queue) -> bool {
    let never = |(index, item): (usize, &Item)| !submission.has_output(index) && item.result().is_none();
    submission.is_array() && alive.job(submission).is_none() && submission.items.iter().enumerate().any(never)
}

/// Whether a run failed by what happened to its job or its node, so that others of its point need not.
fn is_of_cluster(cause: Cause) -> bool {
    matches!(cause, Cause::NodeFailed | Cause::KilledByLauncher)
}

fn say_they_stay(jobs: impl Iterator<Item = String>) {
    let jobs: Vec<String> = jobs.collect();
    if !jobs.is_empty() {
        output::say(format!(
            "jobs stay in the queue; the same command takes up their results, and `scancel {}` ends them.",
            jobs.join(" ")
        ));
    }
}

/// Whether a submission is one whose job is known, or was taken by Slurm although its sbatch did not come to say so. Any
/// other was never submitted, and is forgotten.
fn is_known(submission: &Submission, alive: &queue::Queue) -> bool {
    match alive.job(submission) {
        _ if submission.job().is_some() => true,
        Some(job) => {
            submission.note_job(job);
            true
        }
        None => {
            submission.forget();
            false
        }
    }
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
    let Ok(queue) = queue::look(submissions, &mut |_, _| Ok(())) else { return };
    let is_needed = |submission: &&Submission| {
        let mut items = submission.items.iter().enumerate();
        items.any(|(index, item)| queue.has(submission, index) && item.result().is_none())
    };
    let (needed, over): (Vec<&Submission>, Vec<&Submission>) = submissions.iter().partition(is_needed);
    say_they_stay(needed.iter().filter_map(|submission| submission.job()));
    // A job that Slurm has put back into the queue although its run has ended.
    for submission in submissions {
        let ended = submission.items.iter().enumerate().filter(|(_, item)| item.result().is_some());
        let requeued = ended.filter(|(index, _)| queue.pending(submission, *index).is_some());
        requeued.for_each(|(index, _)| queue::cancel(submission, index));
    }
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

/// What is submitted together: runs, each of a case and a repetition, as arrays of at most so many that ask the cluster for
/// the same. They follow each other as they are to begin: in interleaved order no array has runs of two repetitions, and of
/// each after the first the smallest comes first, since the others wait for it.
fn together(study: &Study, place: &SlurmPlace, longest: usize, runs: &[(usize, u32)]) -> Vec<(Geometry, Vec<usize>)> {
    let geometry = |i: usize| Geometry::of(study, place, &study.cases[runs[i].0]);
    let mut turns: BTreeMap<u32, Vec<(Geometry, Vec<usize>)>> = BTreeMap::new();
    for (i, &(_, repetition)) in runs.iter().enumerate() {
        let turn = turns.entry(if study.order == Order::Interleaved { repetition } else { 0 }).or_default();
        let own = geometry(i);
        match turn.iter_mut().rfind(|(known, _)| *known == own).filter(|(_, members)| members.len() < longest) {
            Some((_, members)) => members.push(i),
            None => turn.push((own, vec![i])),
        }
    }
    let cores = |(_, members): &(Geometry, Vec<usize>)| study.cores(&study.cases[runs[members[0]].0]).1;
    for (_, turn) in turns.iter_mut().filter(|(repetition, _)| **repetition > 1) {
        let smallest = (0..turn.len()).min_by_key(|&i| cores(&turn[i]));
        turn[..=smallest.unwrap_or(0)].rotate_right(1);
    }
    turns.into_values().flatten().collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What each submission of a repetition waits for, and whether it leads, when that before has so many.
    fn turn(before: usize, own: usize) -> Vec<(usize, Option<usize>, bool)> {
        let mut turn = Turn::of(2, (0..before).collect());
        let mut one = |i: usize| {
            let waits = (turn.awaited().len(), turn.led_by(), turn.is_to_lead());
            if waits.2 {
                turn.was_taken(before + i);
            }
            waits
        };
        (0..own).map(&mut one).collect()
    }

    #[test]
    fn a_repetition_waits_for_few_jobs_itself_and_for_many_by_a_leader() {
        assert_eq!(turn(0, 2), [(0, None, false); 2]);
        assert_eq!(turn(2, 3), [(2, None, true), (2, None, false), (2, None, false)]);
        assert_eq!(turn(8, 2), [(8, None, true), (8, None, false)]);
        assert_eq!(turn(9, 3), [(9, None, true), (0, Some(9), false), (0, Some(9), false)]);
        // The second leads, too, and waits for the first.
        assert_eq!(turn(1500, 3), [(1000, None, true), (500, Some(1500), true), (0, Some(1501), false)]);
    }
}
