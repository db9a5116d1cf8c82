//! A program that runs: started in a group of its own, watched until its end, its time limit or the user's
//! interruption, and ended with all that it has started.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use super::misfortune::{End, Ended};
use super::processes;
use crate::error::{Error, Result};
use crate::interrupt;

/// How long what a program leaves running may take to end by itself.
const PATIENCE: Duration = Duration::from_secs(2);
/// A signal that is sent to several processes has reached all of them after so long.
const HINDSIGHT: Duration = Duration::from_millis(100);
/// How often one looks whether the user has interrupted or the time limit has come.
const LOOK: Duration = Duration::from_millis(20);
/// The last part of the time limit, in which a program that computes uses processor time.
const LAST_PART: f64 = 0.25;

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

/// What becomes readable when a process ends; none on kernels before Linux 5.3.
fn end_of(child: &Child) -> Option<OwnedFd> {
    // SAFETY: the call takes numbers alone.
    let number = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id(), 0) };
    let number = i32::try_from(number).ok().filter(|&number| number >= 0)?;
    // SAFETY: the descriptor has just been made, and nothing else owns it.
    Some(unsafe { OwnedFd::from_raw_fd(number) })
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
    begun: Instant,
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

impl Supervised {
    /// A program that was started at `begun`.
    pub fn new(child: Child, folder: Option<PathBuf>, oom_kills: u64, begun: Instant) -> Self {
        let end = end_of(&child);
        Self { child, folder, oom_kills, end, begun, finished: None }
    }

    /// Waits for the program's end, its time limit, or the user's interruption.
    pub fn wait(mut self, limit: Option<Duration>) -> Result<Ended> {
        let start = self.begun;
        let mut ticks_before = None;
        loop {
            let state = self.poll().map_err(|e| Error::Defect(format!("Waiting for the program failed: {e}.")))?;
            if let Some(status) = state {
                if matches!(status.signal(), Some(libc::SIGTERM | libc::SIGINT | libc::SIGHUP)) {
                    // What ended the program, as a batch system that cancels a job, may be about to end this process too.
                    std::thread::sleep(HINDSIGHT);
                }
                interrupt::check().inspect_err(|_| self.end(libc::SIGTERM))?;
                return Ok(self.ended(End::Itself(status)));
            }
            if let Some(signal) = interrupt::received() {
                self.end(signal);
                return Err(Error::Interrupted(signal));
            }
            if let (Some(limit), Some(folder), None) = (limit, &self.folder, ticks_before)
                && start.elapsed() > limit.mul_f64(1.0 - LAST_PART)
            {
                ticks_before = Some(processes::ticks(folder));
            }
            if let Some(limit) = limit.filter(|&l| start.elapsed() > l) {
                let used = self.folder.as_deref().map(processes::ticks).zip(ticks_before);
                let is_idle = used.is_some_and(|(now, before)| now <= before);
                let idle = is_idle.then(|| limit.mul_f64(LAST_PART));
                self.end(libc::SIGTERM);
                return Ok(self.ended(End::Late { limit, idle }));
            }
            self.pause();
        }
    }

    /// Waits until it has ended, or for a moment.
    fn pause(&self) {
        let Some(end) = &self.end else {
            // Short against the start of any MPI program, long against the cost of looking.
            return std::thread::sleep(Duration::from_millis(5));
        };
        let mut end = libc::pollfd { fd: end.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: the one entry lives through the call. What it answers does not matter: the caller looks.
        unsafe { libc::poll(&raw mut end, 1, LOOK.as_millis() as i32) };
    }

    /// How it ended, with what it left running, which is ended.
    fn ended(&self, how: End) -> Ended {
        let left = self.folder.as_deref().map(|folder| processes::end_left(folder, PATIENCE)).unwrap_or_default();
        let left = if matches!(how, End::Itself(_)) { left } else { Vec::new() };
        let (seconds, processor_seconds) =
            self.finished.map_or((self.begun.elapsed().as_secs_f64(), 0.0), |f| (f.seconds, f.processor_seconds));
        let out_of_memory = processes::oom_kills() > self.oom_kills;
        Ended { how, left, out_of_memory, seconds, processor_seconds }
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
            processes::end_left(folder, Duration::ZERO);
        }
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
