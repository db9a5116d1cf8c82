//! Who tells that ranks behind `poise preload` died: what a signal kills says nothing itself, and its launcher ends the others by signals.
//! So a process of ours stands beside rank 0 until that has ended. It is no child of the program's, takes nothing of it but standard
//! error, and says one line where the run has left no profile and nobody has said why.

use std::io::{Error, ErrorKind};
use std::path::Path;

use super::partial;
use crate::output;

/// The kind of the line that the runtime leaves beside a profile that will not be.
const FAILED: &str = "failed";

/// Watches over this process, which is about to become the program whose profile is to be at `profile`.
pub fn over_this_process(profile: &Path) {
    // SAFETY: the process is our own.
    let process = unsafe { libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0) };
    // Older kernels have none, and then nobody watches.
    let Ok(process) = libc::c_int::try_from(process) else { return };
    if process < 0 {
        return;
    }
    // SAFETY: there is one thread (`main` sees to that), so that a copy of the process may go on as it likes. The one between ends at once, and is waited for, so that
    // the program has no child that it did not start.
    unsafe {
        match libc::fork() {
            0 => {
                // Signals to the launcher's group of processes are for the program.
                libc::setsid();
                if libc::fork() == 0 {
                    libc::close(libc::STDIN_FILENO);
                    libc::close(libc::STDOUT_FILENO);
                    wait_for(process);
                    tell(profile);
                }
                libc::_exit(0);
            }
            -1 => {}
            between => {
                libc::waitpid(between, std::ptr::null_mut(), 0);
            }
        }
        libc::close(process);
    }
}

/// Returns when the process has ended.
fn wait_for(process: libc::c_int) {
    let mut ended = libc::pollfd { fd: process, events: libc::POLLIN, revents: 0 };
    // SAFETY: there is one entry.
    while unsafe { libc::poll(&raw mut ended, 1, -1) } < 0 && Error::last_os_error().kind() == ErrorKind::Interrupted {}
}

/// Says that there is no profile, if there is none and nobody said so.
fn tell(profile: &Path) {
    if profile.exists() || poise_profile::said_beside(profile, FAILED).exists() {
        return;
    }
    let saved = match partial::checkpoints(profile).len() {
        0 => "nothing was saved; POISE_CHECKPOINT keeps what there is until then".to_owned(),
        1 => format!("what was measured until the last checkpoint is in {}.checkpoint", profile.display()),
        many => format!(
            "what {many} ranks had measured until their last checkpoints is in {}.checkpoint.*",
            profile.display()
        ),
    };
    let line = format!(
        "the ranks ended before MPI_Finalize had collected what they measured; this run has no profile; {saved}."
    );
    if poise_profile::is_first_to_say(profile, FAILED, &line) {
        output::say(line);
    }
}
