//! A program that runs: started in a group of its own, watched until its end, its time limit or the user's
//! interruption, and ended with all that it has started.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use super::ends::Ends;
use super::misfortune::{self, End, Ended};
use super::{pidfd, processes, spinning};
use crate::error::{Error, Result};
use crate::interrupt;

/// How long what a program leaves running may take to end by itself.
const PATIENCE: Duration = Duration::from_secs(2);
/// A signal that is sent to several processes has reached all of them after so long.
const HINDSIGHT: Duration = Duration::from_millis(250);
/// Variables that batch systems set in their jobs.
const JOBS: [&str; 3] = ["SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"];
/// How often one looks whether the user has interrupted or the time limit has come.
const LOOK: Duration = Duration::from_millis(20);
/// The last part of the time limit, in which a program that computes uses processor time.
const LAST_PART: f64 = 0.25;
/// Collective operations of many ranks that share cores take up to a second; who is within one call for so long waits.
const WAITS: Duration = Duration::from_secs(3);
/// What part of the last part has to be between two looks that are to tell what was done in it; of those at calls, all of it,
/// so that the first is by as much earlier.
const ENOUGH: f64 = 0.9;
/// Who does not come to look for longer than this was stopped, as by Ctrl-Z or with all of its job, and has not watched.
const STOPPED: Duration = Duration::from_secs(1);

/// Sets up what the program's process does before it becomes the program.
pub fn prepare(command: &mut Command, has_group: bool, memory_limit: Option<u64>, pinned: &[usize]) {
    if has_group {
        // A group of its own, so that ending it ends whatever it has started.
        command.process_group(0);
    }
    let parent = std::process::id();
    let limit = |mebibytes: u64| mebibytes.saturating_mul(1 << 20);
    let cores = core_set(pinned);
    let before = move || {
        if let Some(cores) = &cores {
            // SAFETY: the set lives through the call, which may be made between fork and exec.
            if unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), cores) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        // SAFETY: these calls take numbers alone and may be made between fork and exec.
        unsafe {
            // Where this process is killed, the program does not run on unwatched.
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            if libc::getppid() as u32 != parent {
                libc::raise(libc::SIGTERM);
            }
        }
        if let Some(bytes) = memory_limit.map(limit) {
            let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
            // SAFETY: the structure lives through the call, which may be made between fork and exec.
            if unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: the closure makes system calls alone, and allocates nothing.
    unsafe { command.pre_exec(before) };
}

/// The set of these cores; none where there are none.
fn core_set(cores: &[usize]) -> Option<libc::cpu_set_t> {
    if cores.is_empty() {
        return None;
    }
    // SAFETY: a set of zeros is one, and the macro's function checks that the core is within it.
    Some(unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        cores.iter().for_each(|&core| libc::CPU_SET(core, &mut set));
        set
    })
}

/// Whether a program ended by a signal that asks to end, or as shells and launchers do when what they wait for did.
fn may_be_cancelled(status: ExitStatus) -> bool {
    let signal = status.signal().or_else(|| status.code().map(|code| code - 128));
    matches!(signal, Some(libc::SIGTERM | libc::SIGINT | libc::SIGHUP))
}

/// A program that runs.
pub struct Supervised {
    child: Child,
    /// The run's folder by which its processes are found. There is one where it and what it starts are a process group of
    /// their own, which the terminal's Ctrl-C does not reach.
    folder: Option<PathBuf>,
    /// How often the kernel had killed for want of memory when it started.
    oom_kills: u64,
    /// Becomes readable when it ends; none where the system has no such thing.
    end: Option<OwnedFd>,
    /// How its ranks end; none where this process is one of a rank's.
    ranks: Option<Ends>,
    begun: Instant,
    /// For how long this process did not come to look.
    stopped: Duration,
    /// How it ended, when it has.
    finished: Option<Finished>,
}

/// The end of a program, and what it cost.
#[derive(Clone, Copy)]
struct Finished {
    status: ExitStatus,
    /// From its start to its end, without what it left running.
    seconds: f64,
    processor_seconds: f64,
}

/// What was seen of a run's processes at a moment.
struct Look<T> {
    /// How long the run had been watched.
    watched: Duration,
    seen: T,
}

/// What is seen before a time limit, to be compared with what is seen at it.
#[derive(Default)]
struct Before {
    /// The processes, before the last part.
    processes: Option<Look<Vec<processes::Process>>>,
    /// See [`spinning::within_calls`]; before the last part, or earlier where that is short.
    within_calls: Option<Look<Option<spinning::Calls>>>,
}

impl Before {
    /// Looks at the processes in `folder` as soon as it is time, where the run has been watched for so long.
    fn look(&mut self, folder: &Path, limit: Duration, watched: Duration) {
        if self.within_calls.is_none() && watched > limit.saturating_sub(waits(limit).div_f64(ENOUGH)) {
            self.within_calls = Some(Look { watched, seen: spinning::within_calls(folder) });
        }
        if self.processes.is_none() && watched > limit.mul_f64(1.0 - LAST_PART) {
            self.processes = Some(Look { watched, seen: processes::of_run(folder) });
        }
    }
}

/// Who is within one call for so long before a time limit waits.
fn waits(limit: Duration) -> Duration {
    limit.mul_f64(LAST_PART).max(WAITS)
}

/// Processor time that processes have used.
fn ticks(processes: &[processes::Process]) -> u64 {
    processes.iter().map(|process| process.ticks).sum()
}

impl Supervised {
    /// A program that was started at `begun`.
    pub fn new(child: Child, folder: Option<PathBuf>, oom_kills: u64, begun: Instant) -> Self {
        let id = child.id().cast_signed();
        let ranks = (!processes::is_a_ranks()).then(|| Ends::of(id));
        Self { child, folder, oom_kills, end: pidfd::open(id), ranks, begun, stopped: Duration::ZERO, finished: None }
    }

    /// Waits for the program's end, its time limit, in which it is watched, or the user's interruption.
    pub fn wait(mut self, limit: Option<Duration>) -> Result<Ended> {
        let start = self.begun;
        let mut before = Before::default();
        let (mut watched, mut last) = (Duration::ZERO, Instant::now());
        loop {
            // Time in which this process was stopped, as with all of its job, is not the run's.
            watched += Some(last.elapsed()).filter(|&time| time <= STOPPED).unwrap_or(LOOK);
            last = Instant::now();
            if let Some(ranks) = &mut self.ranks {
                ranks.look(start.elapsed());
            }
            let state = self.poll().map_err(|e| Error::Defect(format!("Waiting for the program failed: {e}.")))?;
            if let Some(status) = state {
                // What ended the program, as a batch system that cancels a job, may be about to end this process too. A
                // shell may have ended well before that, since what it waited for was ended.
                if may_be_cancelled(status) || JOBS.iter().any(|name| std::env::var_os(name).is_some()) {
                    std::thread::sleep(HINDSIGHT);
                }
                interrupt::check().inspect_err(|_| self.end(libc::SIGTERM))?;
                return Ok(self.ended(End::Itself(status)));
            }
            if let Some(signal) = interrupt::received() {
                self.end(signal);
                return Err(Error::Interrupted(signal));
            }
            if let (Some(limit), Some(folder)) = (limit, &self.folder) {
                before.look(folder, limit, watched);
            }
            if let Some(limit) = limit.filter(|&l| watched > l) {
                let how = self.late(limit, &before, watched);
                self.end(libc::SIGTERM);
                return Ok(self.ended(how));
            }
            let paused = Instant::now();
            self.pause();
            self.stopped += Some(paused.elapsed()).filter(|&time| time > STOPPED).unwrap_or_default();
        }
    }

    /// Why it has not ended by its time limit, until which it has been watched for so long. Asked before it is ended, of which ranks die, too.
    fn late(&self, limit: Duration, before: &Before, watched: Duration) -> End {
        let first = self.ranks.as_ref().and_then(Ends::first);
        let died = || misfortune::rank_died(self.folder.as_deref()?, first.as_ref());
        match self.doing(limit, before, watched) {
            kept @ End::KeptWaiting { .. } => kept,
            other => died().map_or(other, |told| End::RankDied { limit, told }),
        }
    }

    /// What it was doing before its time limit. Where it was watched for little time since the looks `before` they tell
    /// nothing.
    fn doing(&self, limit: Duration, before: &Before, watched: Duration) -> End {
        let root = libc::pid_t::try_from(self.child.id()).ok();
        let (Some(folder), Some(root)) = (&self.folder, root) else { return End::Late { limit, idle: None } };
        let last_part = limit.mul_f64(LAST_PART);
        let has_watched = |since: Duration, time: Duration| watched.saturating_sub(since) >= time;
        let processes = before.processes.as_ref().filter(|look| has_watched(look.watched, last_part.mul_f64(ENOUGH)));
        if let Some(processes) = processes {
            let by = processes::left_by_ranks(folder, root, &processes.seen);
            if !by.is_empty() {
                return End::KeptWaiting { limit, by };
            }
            // Launchers take seconds to end once a rank has died, and do nothing meanwhile.
            let is_ending = self.ranks.as_ref().is_some_and(Ends::are_over);
            if !is_ending && ticks(&processes::of_run(folder)) <= ticks(&processes.seen) {
                return End::Late { limit, idle: Some(last_part) };
            }
        }
        let within = waits(limit);
        let calls = before.within_calls.as_ref().filter(|look| has_watched(look.watched, within));
        let are_same = |now: &Vec<_>| calls.is_some_and(|calls| calls.seen.as_ref() == Some(now));
        match spinning::within_calls(folder).filter(are_same) {
            Some(ranks) => End::Spinning { limit, ranks: ranks.len(), within },
            None => End::Late { limit, idle: None },
        }
    }

    /// Waits until it has ended, or for a moment.
    fn pause(&self) {
        let Some(end) = &self.end else {
            // Short against the start of any MPI program, long against the cost of looking.
            return std::thread::sleep(Duration::from_millis(5));
        };
        let ranks = self.ranks.as_ref().map(Ends::running).unwrap_or_default();
        // What it answers does not matter: the caller looks.
        pidfd::wait(&[&[end.as_raw_fd()], &ranks[..]].concat(), LOOK.as_millis() as i32);
    }

    /// How it ended, with what it left running, which is ended.
    fn ended(&self, how: End) -> Ended {
        let left = self
            .folder
            .as_deref()
            .map(|folder| processes::end_left(folder, self.group(), PATIENCE))
            .unwrap_or_default();
        let left = if matches!(how, End::Itself(_)) { left } else { Vec::new() };
        let (seconds, processor_seconds) =
            self.finished.map_or((self.begun.elapsed().as_secs_f64(), 0.0), |f| (f.seconds, f.processor_seconds));
        let out_of_memory = processes::oom_kills() > self.oom_kills;
        let first = self.ranks.as_ref().and_then(Ends::first);
        Ended { how, left, out_of_memory, seconds, processor_seconds, stopped: self.stopped, first }
    }

    /// Whether it has ended, and how. The call that tells how also tells what it cost, apart from what runs beside it.
    fn poll(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.finished.is_none() {
            let Ok(pid) = libc::pid_t::try_from(self.child.id()) else { return Ok(None) };
            let mut status = 0;
            // SAFETY: a rusage of zeros is one, and both places live through the call.
            let (ended, usage) = unsafe {
                let mut usage: libc::rusage = std::mem::zeroed();
                (libc::wait4(pid, &raw mut status, libc::WNOHANG, &raw mut usage), usage)
            };
            if ended < 0 {
                let error = io::Error::last_os_error();
                return if error.kind() == io::ErrorKind::Interrupted { Ok(None) } else { Err(error) };
            }
            if ended == pid {
                let seconds = |time: libc::timeval| time.tv_sec as f64 + 1e-6 * time.tv_usec as f64;
                self.finished = Some(Finished {
                    status: ExitStatus::from_raw(status),
                    seconds: self.begun.elapsed().as_secs_f64(),
                    processor_seconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
                });
            }
        }
        Ok(self.finished.map(|finished| finished.status))
    }

    /// Sends `signal`, and after five seconds of patience the one that cannot be ignored.
    fn end(&mut self, signal: i32) {
        // The terminal has sent its own to programs in our group.
        if self.folder.is_some() || signal != libc::SIGINT {
            self.send(signal);
        }
        let asked = Instant::now();
        let mut lives = true;
        while lives && asked.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(20));
            lives = matches!(self.poll(), Ok(None));
        }
        // The group may outlive its first member.
        if lives || self.folder.is_some() {
            self.send(libc::SIGKILL);
        }
        while matches!(self.poll(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(5));
        }
        if let Some(folder) = &self.folder {
            processes::end_left(folder, self.group(), Duration::ZERO);
        }
    }

    /// The process group of what has a folder.
    fn group(&self) -> Option<i32> {
        self.folder.as_ref().and_then(|_| i32::try_from(self.child.id()).ok())
    }

    fn send(&self, signal: i32) {
        if self.finished.is_some() && self.folder.is_none() {
            return;
        }
        let Ok(pid) = libc::pid_t::try_from(self.child.id()) else { return };
        // SAFETY: `kill` only takes numbers. A child that has not been waited for keeps its number, and the system
        // gives a group's number to no new process while the group has members; without any, nobody is signalled.
        unsafe { libc::kill(if self.folder.is_some() { -pid } else { pid }, signal) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a process that does nothing, and of looks that lie as far apart as poise was not stopped.
    #[test]
    fn looks_tell_nothing_where_they_are_close_to_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let (limit, begun) = (Duration::from_secs(16), Instant::now());
        let child = Command::new("sleep").arg("4719").env(super::super::RUN, folder.path()).spawn().unwrap();
        let mut run = Supervised::new(child, Some(folder.path().to_owned()), 0, begun);
        while processes::of_run(folder.path()).iter().all(|process| process.name != "sleep") {
            assert!(begun.elapsed() < Duration::from_secs(20));
        }
        let seen = processes::of_run(folder.path());
        let processes = Some(Look { watched: Duration::from_secs(12), seen });
        let before = Before { processes, within_calls: None };
        let idle_after = |watched: f64| match run.late(limit, &before, Duration::from_secs_f64(watched)) {
            End::Late { idle, .. } => idle,
            _ => panic!("it neither waits for what was left nor calls MPI"),
        };
        assert_eq!([12.0, 15.5, 15.7].map(idle_after), [None, None, Some(Duration::from_secs(4))]);
        run.child.kill().unwrap();
        run.child.wait().unwrap();
    }

    /// Open MPI's launcher takes two seconds to end after a rank has died.
    #[test]
    fn a_launcher_that_ends_slowly_does_not_make_its_ranks_hang() {
        let folder = tempfile::tempdir().unwrap();
        let late = |rank: &str| {
            // No process but the rank has a rank's number.
            let script = format!("env OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 sh -c '{rank}'; exec sleep 4721");
            let mut command = Command::new("sh");
            command.args(["-c", &script]).env(super::super::RUN, folder.path()).stderr(std::process::Stdio::null());
            prepare(&mut command, true, None, &[]);
            let run = Supervised::new(command.spawn().unwrap(), Some(folder.path().to_owned()), 0, Instant::now());
            run.wait(Some(Duration::from_millis(1400))).unwrap()
        };
        let is_idle = |ended: &Ended| matches!(ended.how, End::Late { idle: Some(_), .. });
        let died = late("sleep 0.6; kill -SEGV $$");
        assert!(!is_idle(&died), "the launcher is");
        // Linux tells it from 6.15 on.
        let told = died.first.map(|first| first.told);
        assert!(
            told.as_ref().is_none_or(|told| told == "First, rank 0 was killed by signal 11 (SIGSEGV)."),
            "{told:?}"
        );
        assert!(!is_idle(&late("sleep 0.6; exit 0")), "no rank runs");
        assert!(is_idle(&late("exec sleep 4721")));
    }

    /// What is said of ranks that we have ended tells nothing of the time before.
    #[test]
    fn ranks_that_die_of_being_ended_had_not_died() {
        let how = |before: &str, at_end: &str| {
            let folder = tempfile::tempdir().unwrap();
            let say = |what: &str| format!("echo '[vm:7] Signal: {what}' >&2");
            let script = format!("trap \"{}; exit 1\" TERM; {before}; while :; do sleep 0.05; done", say(at_end));
            let mut command = Command::new("sh");
            let words = std::fs::File::create(folder.path().join("stderr.txt")).unwrap();
            command.args(["-c", &script.replace("SAY", &say("Aborted (6)"))]).env(super::super::RUN, folder.path());
            prepare(command.stderr(words), true, None, &[]);
            let run = Supervised::new(command.spawn().unwrap(), Some(folder.path().to_owned()), 0, Instant::now());
            let ended = run.wait(Some(Duration::from_millis(400))).unwrap();
            let said = std::fs::read_to_string(folder.path().join("stderr.txt")).unwrap();
            assert!(said.contains(at_end), "it has said its last words: {said}");
            ended.how
        };
        assert!(matches!(how(":", "Terminated (15)"), End::Late { .. }));
        let told = "Open MPI said: \"Signal: Aborted (6)\".";
        assert!(matches!(how("SAY", "Terminated (15)"), End::RankDied { told: found, .. } if found == told));
    }

    #[test]
    fn who_is_cancelled_may_end_before_poise_hears_of_it() {
        let ended = |script: &str| may_be_cancelled(Command::new("sh").args(["-c", script]).status().unwrap());
        for cancelled in ["kill -TERM $$", "exit 129", "sh -c 'kill -TERM $$'; exit $?", "exit 130"] {
            assert!(ended(cancelled), "{cancelled}");
        }
        for other in ["exit 0", "exit 15", "kill -KILL $$", "exit 137", "exit 1"] {
            assert!(!ended(other), "{other}");
        }
    }
}
