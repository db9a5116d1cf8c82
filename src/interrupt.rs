//! The user's interruption: remembered when it arrives, acted upon where nothing is half-written.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, Result};

static RECEIVED: OnceLock<Arc<AtomicUsize>> = OnceLock::new();

/// Remembers SIGINT, SIGTERM and SIGHUP from now on instead of dying at once. Commands that run programs call this. A SIGHUP
/// that was ignored when this process began, as nohup has it, stays so; shells ignore SIGINT for what they start in the background, of which
/// nobody asks that.
pub fn watch() {
    let flag = RECEIVED.get_or_init(Arc::default);
    let hang_up = (!is_ignored(libc::SIGHUP)).then_some(libc::SIGHUP);
    for signal in [libc::SIGINT, libc::SIGTERM].into_iter().chain(hang_up) {
        let number = usize::try_from(signal).unwrap_or(0);
        // Fails only for signals that cannot be caught, which these are not.
        let _ = signal_hook::flag::register_usize(signal, Arc::clone(flag), number);
    }
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: a structure of zeros is one, and the call only fills it in.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut now) == 0 && now.sa_sigaction == libc::SIG_IGN
    }
}

/// An error if a signal has arrived.
pub fn check() -> Result<()> {
    received().map_or(Ok(()), |signal| Err(Error::Interrupted(signal)))
}

/// The signal that arrived, if any.
pub fn received() -> Option<i32> {
    let signal = RECEIVED.get()?.load(Ordering::Relaxed);
    i32::try_from(signal).ok().filter(|&s| s != 0)
}
