//! Who tells that ranks behind `poise preload` died: what a signal kills says nothing itself, and its launcher ends the others by signals.
//! So a process of ours stands beside each rank on rank 0's node until that has ended. It is no child of the program's, takes nothing of it, and says
//! one line to whom the launcher speaks, where the run has left no profile and nobody has said why. The rank that died is the first to
//! end, before the launcher knows of it.
//!
//! On other nodes nobody watches: the file system may show them a profile later than it is there.

use std::fs::{self, File, Metadata, TryLockError};
use std::io::{Error, ErrorKind, PipeReader, PipeWriter, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use super::misfortune::{end_in_words, may_be_launchers};
use super::pidfd::{self, PATIENCE_MS};
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
    let _ = poise_profile::is_first_to_say(profile, FAILED, line);
    output::say(line);
}

/// Watches over this process, which is about to become rank `rank` of the program whose profile is to be at `profile`. `None` where nobody does: on other
/// nodes than rank 0's, on Linux before 5.9, where the system lacks resources, and where the program would find one more child than it has started.
pub fn over_this_process(profile: &Path, rank: u32) -> Option<Watch> {
    for kind in [FAILED, CONFLICT, WAITING] {
        poise_profile::forget_earlier_runs(profile, kind);
    }
    if !processes::is_beside_rank_0(rank) || adopts_orphans() {
        return None;
    }
    // As the pipe, it is closed when this process becomes the program.
    let process = pidfd::open(std::process::id().cast_signed())?;
    let (calls, caller) = std::io::pipe().ok()?;
    let (stderr, launcher) = launcher_stderr::open()?;
    let before = Version::of(profile);
    // SAFETY: there is one thread (`main` sees to that), so that a copy of the process may go on as it likes. The one between ends at once, and is waited for, so that
    // the program has no child that it did not start.
    unsafe {
        match libc::fork() {
            0 => {
                if libc::fork() == 0
                    && stands_apart(&process, &calls, &stderr, launcher.as_ref())
                    && has_begun()
                    && has_ended(launcher.is_some())
                {
                    tell(profile, rank, before);
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

/// Where the watching process has what it waits for; of the launcher, where that is to be seen. Standard error, which is the launcher's, is its only other file.
const PROCESS: libc::c_int = libc::STDIN_FILENO;
const CALLS: libc::c_int = libc::STDOUT_FILENO;
const LAUNCHER: libc::c_int = libc::STDERR_FILENO + 1;

/// Leaves the launcher's session, refuses the signals that are for the program, and closes what launchers and shells may wait for to be closed: pipes,
/// sockets, files with locks. False where that cannot be done.
fn stands_apart(process: &OwnedFd, calls: &PipeReader, stderr: &OwnedFd, launcher: Option<&OwnedFd>) -> bool {
    // SAFETY: nobody else knows this process, which never uses what it closes here, and ends without dropping it.
    unsafe {
        libc::setsid();
        let mut signals = std::mem::zeroed();
        libc::sigfillset(&raw mut signals);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const signals, std::ptr::null_mut());
        libc::dup2(process.as_raw_fd(), PROCESS) >= 0
            && libc::dup2(calls.as_raw_fd(), CALLS) >= 0
            && libc::dup2(stderr.as_raw_fd(), libc::STDERR_FILENO) >= 0
            // The last, since what is copied may be where it goes.
            && launcher.is_none_or(|launcher| libc::dup2(launcher.as_raw_fd(), LAUNCHER) >= 0)
            && libc::syscall(libc::SYS_close_range, LAUNCHER + libc::c_int::from(launcher.is_some()), libc::c_uint::MAX, 0) == 0
    }
}

/// Returns when the watched process has become the program: whether it has, or has ended on the way.
fn has_begun() -> bool {
    let mut call = 0_u8;
    // SAFETY: there is room for a byte.
    unsafe { libc::read(CALLS, (&raw mut call).cast(), 1) == 0 }
}

/// Returns when it has ended: whether it has, as far as can be known. Who reads what a launcher that has ended said waits no longer for what outlives it: there is
/// nobody to speak to then.
fn has_ended(has_launcher: bool) -> bool {
    // Signals are blocked, so that nothing but an end interrupts it.
    let waits = |file, patience| pidfd::wait(&[PROCESS, file], patience).map(|ended| ended[0]);
    if !has_launcher {
        return waits(-1, -1) == Some(true);
    }
    match waits(LAUNCHER, -1) {
        Some(false) => {}
        ended => return ended == Some(true),
    }
    match waits(-1, PATIENCE_MS) {
        Some(false) => {}
        ended => return ended == Some(true),
    }
    // SAFETY: the path ends with a NUL; the files are this process's own.
    unsafe {
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY);
        libc::dup2(null, libc::STDERR_FILENO);
    }
    waits(-1, -1) == Some(true)
}

/// Whether it is certain that the rank ended so by itself, and that none did before.
fn is_certain(status: libc::c_int) -> bool {
    processes::are_all_here() && (!may_be_launchers(status) || processes::is_alone())
}

/// A file as it was at some moment: which one, and when it was written.
#[derive(PartialEq, Eq)]
struct Version(u64, u64, i64, i64);

impl Version {
    fn of(path: &Path) -> Option<Self> {
        let file = fs::metadata(path).ok()?;
        Some(Self(file.dev(), file.ino(), file.mtime(), file.mtime_nsec()))
    }
}

/// Whether there is a profile of this run, or another process's was kept. What was not there `before` is of this run, also where the
/// clock of a file server is behind.
fn is_profiled(profile: &Path, before: Option<&Version>) -> bool {
    let is_new = Version::of(profile).is_some_and(|now| before != Some(&now));
    is_new
        || poise_profile::is_of_this_run(profile)
        || profile.exists() && poise_profile::is_of_this_run(&poise_profile::said_beside(profile, CONFLICT))
}

/// Says that there is no profile of this run, if there is none and nobody said so.
fn tell(profile: &Path, rank: u32, before: Option<Version>) {
    poise_profile::forget_earlier_runs(profile, FAILED);
    if is_profiled(profile, before.as_ref()) {
        return;
    }
    // The word is left at once, since this process may be ended, too, and locked until it is said: one that knows more may take its place.
    let said = poise_profile::said_beside(profile, FAILED);
    let claim = match poise_profile::leave(profile, FAILED, &line(profile, rank, None), false) {
        Ok(claim) => Some(claim),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => None,
        // Where nothing can be written, whoever got to write the profile has said so, and could leave no word of it. What a signal killed has not.
        Err(_) => {
            let status = pidfd::status(PROCESS);
            if status.is_some_and(|status| libc::WIFSIGNALED(status) && is_certain(status)) {
                output::say(line(profile, rank, status));
            }
            return;
        }
    };
    let is_taken = || File::open(&said).is_ok_and(|file| file.try_lock_shared().is_ok());
    if claim.is_none() && is_taken() {
        return;
    }
    let status = pidfd::status(PROCESS);
    if !status.is_some_and(is_certain) {
        if claim.is_none() {
            return;
        }
        std::thread::sleep(Duration::from_millis(PATIENCE_MS.unsigned_abs().into()));
    }
    let _turn = turn(partial::folder(profile));
    let is_mine = claim.as_ref().is_some_and(|claim| {
        let inode = |file: std::io::Result<Metadata>| file.map(|file| (file.dev(), file.ino())).ok();
        inode(claim.metadata()) == inode(fs::metadata(&said))
    });
    if is_profiled(profile, before.as_ref()) {
        if is_mine {
            let _ = fs::remove_file(said);
        }
    } else if is_mine || claim.is_none() && !is_taken() {
        let line = line(profile, rank, status);
        drop(poise_profile::leave(profile, FAILED, &line, true));
        if launcher_stderr::is_as_left() {
            output::say(line);
        }
    }
}

/// While what is returned lives, no other says anything; unless somebody else has locked the folder, who may wait for this process in turn.
fn turn(folder: &Path) -> Option<File> {
    let folder = File::open(folder).ok()?;
    for _ in 0..PATIENCE_MS {
        if !matches!(folder.try_lock(), Err(TryLockError::WouldBlock)) {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Some(folder)
}

fn line(profile: &Path, rank: u32, status: Option<libc::c_int>) -> String {
    let earlier = match profile.exists() {
        true => format!("; {} is of an earlier run", profile.display()),
        false => String::new(),
    };
    let mut checkpoints = partial::checkpoints(profile);
    checkpoints.retain(|file| poise_profile::is_of_this_run(file));
    let saved = match checkpoints.len() {
        0 => "nothing was saved; POISE_CHECKPOINT keeps what there is until then".to_owned(),
        1 => format!("what was measured until the last checkpoint is in {}.checkpoint", profile.display()),
        many => format!(
            "what {many} ranks had measured until their last checkpoints is in {}.checkpoint.*",
            profile.display()
        ),
    };
    let other = match status {
        Some(status) if is_certain(status) => "",
        Some(status) if may_be_launchers(status) => ", or another of those that were killed,",
        _ => ", or one that ended before it,",
    };
    if status == Some(0) && checkpoints.is_empty() {
        return format!(
            "rank {rank}{other} ended with status 0 and wrote no profile{earlier}: it did not call MPI_Finalize, or its calls cannot be seen since MPI is linked into it \
             statically; this run has no profile."
        );
    }
    format!(
        "rank {rank}{other} {} before there was a profile, which programs write in MPI_Finalize (without MPI, if poise cc, c++ or fc \
         compiled them, in exit); this run has no profile{earlier}; {saved}.",
        status.map_or_else(|| "ended".to_owned(), end_in_words)
    )
}
