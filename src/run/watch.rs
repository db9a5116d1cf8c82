//! Who tells that ranks behind `poise preload` died: what a signal kills says nothing itself, and its launcher ends the others by signals.
//! So a process of ours stands beside rank 0 until that has ended. It is no child of the program's, takes nothing of it but standard
//! error, and says one line where the run has left no profile and nobody has said why.

use std::ffi::CString;
use std::io::{Error, ErrorKind, PipeReader, PipeWriter, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::partial;
use crate::output;

/// The kinds of lines that are left beside a profile that will not be, and beside one that was there before.
const FAILED: &str = "failed";
const CONFLICT: &str = "conflict";

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

/// Watches over this process, which is about to become the program whose profile is to be at `profile`. `None` where nobody does: on Linux before
/// 5.9, where the system lacks resources, and where the program would find one more child than it has started.
pub fn over_this_process(profile: &Path) -> Option<Watch> {
    if adopts_orphans() {
        return None;
    }
    // SAFETY: the process is our own.
    let process = unsafe { libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0) };
    let process = libc::c_int::try_from(process).ok().filter(|&process| process >= 0)?;
    // SAFETY: it was opened just now. As the pipe, it is closed when this process becomes the program.
    let process = unsafe { OwnedFd::from_raw_fd(process) };
    let (calls, caller) = std::io::pipe().ok()?;
    // What is there before the program begins is another run's. A profile stays; what an earlier run said of it is taken away, or this run's would not be told
    // from it. Ranks with MPI have said nothing yet, since rank 0 has not begun; of ranks without it one may have ended by now, and then its word goes, too.
    let was_there = profile.exists();
    poise_profile::forget_what_was_said(profile, CONFLICT);
    // SAFETY: there is one thread (`main` sees to that), so that a copy of the process may go on as it likes. The one between ends at once, and is waited for, so that
    // the program has no child that it did not start.
    unsafe {
        match libc::fork() {
            0 => {
                if libc::fork() == 0 && stands_apart(&process, &calls) && has_begun() && has_ended() {
                    tell(profile, was_there);
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

/// Where the watching process has what it waits for. Standard error is its only other file.
const PROCESS: libc::c_int = libc::STDIN_FILENO;
const CALLS: libc::c_int = libc::STDOUT_FILENO;

/// Leaves the launcher's session, refuses the signals that are for the program, and closes what launchers and shells may wait for to be closed: pipes,
/// sockets, files with locks. False where that cannot be done.
fn stands_apart(process: &OwnedFd, calls: &PipeReader) -> bool {
    // SAFETY: nobody else knows this process, which never uses what it closes here, and ends without dropping it.
    unsafe {
        libc::setsid();
        let mut signals = std::mem::zeroed();
        libc::sigfillset(&raw mut signals);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const signals, std::ptr::null_mut());
        libc::dup2(process.as_raw_fd(), PROCESS) >= 0
            && libc::dup2(calls.as_raw_fd(), CALLS) >= 0
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

/// Says that there is no profile of this run, if there is none and nobody said so.
fn tell(profile: &Path, was_there: bool) {
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
    let line = format!(
        "rank 0 ended without having written a profile, as programs do in MPI_Finalize (without MPI, if poise cc, c++ or fc compiled them, \
         in exit); this run has no profile{earlier}; {saved}."
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
