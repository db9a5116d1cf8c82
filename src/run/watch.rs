//! Who tells that ranks behind `poise preload` died: what a signal kills says nothing itself, and its launcher ends the others by signals.
//! So a process of ours stands beside each rank on rank 0's node until that has ended. It is no child of the program's, takes nothing of it, and says
//! one line to whom the launcher speaks, where the run has left no profile and nobody has said why. The rank that died is the first to
//! end, before the launcher knows of it.
//!
//! On other nodes nobody watches: the file system may show them a profile later than it is there.

use std::ffi::CString;
use std::io::{Error, ErrorKind, PipeReader, PipeWriter, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use super::misfortune::signal_name;
use super::{launcher_stderr, partial, processes};
use crate::output;

/// The kinds of lines that are left beside a profile that will not be, beside one that was there before, and beside one without waiting.
const FAILED: &str = "failed";
const CONFLICT: &str = "conflict";
const WAITING: &str = "waiting";

/// A process that waits for the end of this one: a pipe to it, of which this process loses both ends when it becomes the program.
pub struct Watch {
    caller: PipeWriter,
    /// So that the pipe always has a reader, and writing is no signal.
    _calls: PipeReader,
}

impl Watch {
    /// Lets it end without a word: this process does not become the program, and says why.
    pub fn call_off(mut self) {
        // An empty pipe has room for a byte.
        let _ = self.caller.write_all(&[0]);
    }
}

/// Says for all ranks why the profile `profile` will not be, before there is anybody to watch over.
pub fn refuse(profile: &Path, line: &str) {
    poise_profile::forget_what_was_said(profile, FAILED);
    let _ = poise_profile::is_first_to_say(profile, FAILED, line);
    output::say(line);
}

/// Watches over this process, which is about to become rank `rank` of the program whose profile is to be at `profile`. `None` where nobody does: on other
/// nodes than rank 0's, on Linux before 5.9, where the system lacks resources, and where the program would find one more child than it has started.
pub fn over_this_process(profile: &Path, rank: u32) -> Option<Watch> {
    if !processes::is_beside_rank_0(rank) || adopts_orphans() {
        return None;
    }
    // SAFETY: the process is our own.
    let process = unsafe { libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0) };
    let process = libc::c_int::try_from(process).ok().filter(|&process| process >= 0)?;
    // SAFETY: it was opened just now. As the pipe, it is closed when this process becomes the program.
    let process = unsafe { OwnedFd::from_raw_fd(process) };
    let (calls, caller) = std::io::pipe().ok()?;
    let stderr = launcher_stderr::open()?;
    // What is there before the program begins is another run's. A profile stays; what an earlier run said of it is taken away, or this run's would not be told
    // from it. Ranks with MPI have said nothing yet, since rank 0 has not begun; of ranks without it one may have ended by now, and then its word goes, too.
    let was_there = profile.exists();
    if rank == 0 {
        for kind in [FAILED, CONFLICT, WAITING] {
            poise_profile::forget_what_was_said(profile, kind);
        }
    }
    // SAFETY: there is one thread (`main` sees to that), so that a copy of the process may go on as it likes. The one between ends at once, and is waited for, so that
    // the program has no child that it did not start.
    unsafe {
        match libc::fork() {
            0 => {
                if libc::fork() == 0 && stands_apart(&process, &calls, &stderr) && has_begun() && has_ended() {
                    tell(profile, rank, was_there);
                }
                libc::_exit(0);
            }
            -1 => return None,
            between => while libc::waitpid(between, std::ptr::null_mut(), 0) < 0 && is_interrupted() {},
        }
    }
    Some(Watch { caller, _calls: calls })
}

/// Whether this process becomes the parent of its children's children when those end.
fn adopts_orphans() -> bool {
    let mut adopts: libc::c_int = 0;
    // SAFETY: the call writes an int.
    unsafe { libc::prctl(libc::PR_GET_CHILD_SUBREAPER, &raw mut adopts) };
    // SAFETY: it cannot fail.
    adopts != 0 || unsafe { libc::getpid() } == 1
}

fn is_interrupted() -> bool {
    Error::last_os_error().kind() == ErrorKind::Interrupted
}

/// Where the watching process has what it waits for. Standard error, which is the launcher's, is its only other file.
const PROCESS: libc::c_int = libc::STDIN_FILENO;
const CALLS: libc::c_int = libc::STDOUT_FILENO;

/// Leaves the launcher's session, refuses the signals that are for the program, and closes what launchers and shells may wait for to be closed: pipes,
/// sockets, files with locks. False where that cannot be done.
fn stands_apart(process: &OwnedFd, calls: &PipeReader, stderr: &OwnedFd) -> bool {
    // SAFETY: nobody else knows this process, which never uses what it closes here, and ends without dropping it.
    unsafe {
        libc::setsid();
        let mut signals = std::mem::zeroed();
        libc::sigfillset(&raw mut signals);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const signals, std::ptr::null_mut());
        libc::dup2(process.as_raw_fd(), PROCESS) >= 0
            && libc::dup2(calls.as_raw_fd(), CALLS) >= 0
            && libc::dup2(stderr.as_raw_fd(), libc::STDERR_FILENO) >= 0
            && libc::syscall(libc::SYS_close_range, libc::STDERR_FILENO + 1, libc::c_uint::MAX, 0) == 0
    }
}

/// Returns when the watched process has become the program: whether it has, or has ended on the way.
fn has_begun() -> bool {
    let mut call = 0_u8;
    // SAFETY: there is room for a byte.
    unsafe { libc::read(CALLS, (&raw mut call).cast(), 1) == 0 }
}

/// Returns when it has ended: whether it has, as far as can be known.
fn has_ended() -> bool {
    let mut process = libc::pollfd { fd: PROCESS, events: libc::POLLIN, revents: 0 };
    // SAFETY: there is one entry. Signals are blocked, so that nothing but the end interrupts it.
    unsafe { libc::poll(&raw mut process, 1, -1) == 1 }
}

/// `struct pidfd_info` of Linux 6.15.
#[repr(C)]
#[derive(Default)]
struct Info {
    mask: u64,
    cgroup: u64,
    numbers: [u32; 11],
    status: libc::c_int,
}

/// The status that it ended with, as its parent has it; known from Linux 6.15 on, when the parent has asked.
fn status() -> Option<libc::c_int> {
    const PIDFD_GET_INFO: libc::c_ulong = 0xc040_ff0b;
    const PIDFD_INFO_EXIT: u64 = 1 << 3;
    let mut process = libc::pollfd { fd: PROCESS, events: 0, revents: 0 };
    // SAFETY: there is one entry. It is over when the parent has asked.
    unsafe { libc::poll(&raw mut process, 1, PATIENCE_MS) };
    let mut info = Info { mask: PIDFD_INFO_EXIT, ..Info::default() };
    // SAFETY: the number of the call says how large the structure is that it fills in.
    let is_told = unsafe { libc::ioctl(PROCESS, PIDFD_GET_INFO, &raw mut info) } == 0;
    (is_told && info.mask & PIDFD_INFO_EXIT != 0).then_some(info.status)
}

/// How long, in milliseconds, the launcher is waited for, which asks how its ranks ended; and for others, who may know better why.
const PATIENCE_MS: libc::c_int = 100;

/// Whether it may have been the launcher that ended it, because of another rank.
fn may_be_launchers(status: libc::c_int) -> bool {
    libc::WIFSIGNALED(status) && matches!(libc::WTERMSIG(status), libc::SIGKILL | libc::SIGTERM)
}

fn in_words(status: Option<libc::c_int>) -> String {
    match status {
        Some(status) if libc::WIFSIGNALED(status) => {
            format!("was killed by signal {}", signal_name(libc::WTERMSIG(status)))
        }
        Some(status) => format!("ended with status {}", libc::WEXITSTATUS(status)),
        None => "ended".to_owned(),
    }
}

/// Says that there is no profile of this run, if there is none and nobody said so.
fn tell(profile: &Path, rank: u32, was_there: bool) {
    let status = status();
    if status.is_some_and(may_be_launchers) {
        std::thread::sleep(Duration::from_millis(PATIENCE_MS.unsigned_abs().into()));
    }
    let is_told = |kind| poise_profile::said_beside(profile, kind).exists();
    if is_told(FAILED) || profile.exists() && (!was_there || is_told(CONFLICT)) {
        return;
    }
    // Where nothing can be written, whoever got to write the profile has said so, and could leave no word of it.
    if !is_writable(partial::folder(profile)) {
        return;
    }
    let earlier = match was_there {
        true => format!("; {} is of an earlier run", profile.display()),
        false => String::new(),
    };
    let saved = match partial::checkpoints(profile).len() {
        0 => "nothing was saved; POISE_CHECKPOINT keeps what there is until then".to_owned(),
        1 => format!("what was measured until the last checkpoint is in {}.checkpoint", profile.display()),
        many => format!(
            "what {many} ranks had measured until their last checkpoints is in {}.checkpoint.*",
            profile.display()
        ),
    };
    // Where the kernel does not say how it ended, it may have been ended because of another rank.
    let other = if status.is_some() && processes::are_all_here() { "" } else { ", or one before it," };
    let line = format!(
        "rank {rank}{other} {} before there was a profile, which programs write in MPI_Finalize (without MPI, if poise cc, c++ or fc \
         compiled them, in exit); this run has no profile{earlier}; {saved}.",
        in_words(status)
    );
    if poise_profile::is_first_to_say(profile, FAILED, &line) {
        output::say(line);
    }
}

fn is_writable(folder: &Path) -> bool {
    let folder = CString::new(folder.as_os_str().as_bytes());
    // SAFETY: the path ends with a NUL.
    folder.is_ok_and(|folder| unsafe { libc::access(folder.as_ptr(), libc::W_OK | libc::X_OK) == 0 })
}
