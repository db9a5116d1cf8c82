//! Checkpoints: where POISE_CHECKPOINT asks for them, a thread of the runtime's own writes the profile so far beside where it
//! is going to be, again and again, so that a crash or a kill leaves what the last one had.
//!
//! A thread, because a program that hangs or waits calls no hook, and because the others need not be interrupted: trees are made
//! to be read while their threads change them (`tree.rs`), counter by counter. A checkpoint therefore holds each counter as it was
//! at some moment of the reading. The thread takes no signals, and forked children do not have it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError, TryLockError};
use std::time::{Duration, Instant, SystemTime};

use poise_profile::Profile;

use crate::process::say;

/// How long the end of the process waits for a checkpoint that is being written.
const PATIENCE: Duration = Duration::from_secs(10);

static WRITER: OnceLock<Writer> = OnceLock::new();

struct Writer {
    path: PathBuf,
    /// Where who started the program puts the checkpoints of all ranks when it has ended.
    gathered: Option<PathBuf>,
    rank: u32,
    interval: Duration,
    start: Instant,
    /// Whether the thread that writes was asked for.
    has_begun: AtomicBool,
    /// Whether checkpoints go on; held while one is written.
    goes_on: Mutex<bool>,
    ended: Condvar,
    /// Whether the file is ours.
    has_written: AtomicBool,
}

/// Reads the wish for checkpoints of the profile at `path` every `wish` seconds; empty for none. They are written from
/// [`begin`] on.
///
/// # Errors
/// The wish is no positive number.
pub fn start(wish: &str, path: &Path) -> Result<(), String> {
    if wish.is_empty() {
        return Ok(());
    }
    let seconds = wish.parse().ok().filter(|seconds| *seconds > 0.0);
    let interval = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let interval = interval.ok_or_else(|| format!("\"{wish}\" is no positive number of seconds"))?;
    let rank = poise_profile::own_rank();
    let mut file = OsString::from(path);
    file.push(".checkpoint");
    if let Some(rank) = rank {
        file.push(format!(".{rank}"));
    }
    WRITER.get_or_init(|| Writer {
        path: file.into(),
        gathered: std::env::var_os("POISE_GATHERED").filter(|path| !path.is_empty()).map(PathBuf::from),
        rank: rank.unwrap_or(0),
        interval,
        start: Instant::now(),
        has_begun: AtomicBool::new(false),
        goes_on: Mutex::new(true),
        ended: Condvar::new(),
        has_written: AtomicBool::new(false),
    });
    Ok(())
}

/// A thread gets a call tree: from the first on, checkpoints are written where they are asked for. Not before, since launchers
/// and shells are preloaded too, and some of what they do needs a process of one thread.
///
/// # Errors
/// There can be no thread.
pub fn begin() -> Result<(), String> {
    let Some(writer) = WRITER.get().filter(|writer| !writer.has_begun.swap(true, Ordering::Relaxed)) else {
        return Ok(());
    };
    without_signals(|| std::thread::Builder::new().name("poise".into()).spawn(move || writer.run()))
        .map(drop)
        .map_err(|error| format!("there can be no thread for checkpoints: {error}"))
}

/// Calls `make` with all signals blocked, so that the thread it makes takes none.
fn without_signals<T>(make: impl FnOnce() -> T) -> T {
    // SAFETY: the sets are written before they are read.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let made = make();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        made
    }
}

impl Writer {
    fn run(&self) {
        let mut goes_on = self.goes_on.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let waited = self.ended.wait_timeout_while(goes_on, self.interval, |goes_on| *goes_on);
            goes_on = waited.unwrap_or_else(PoisonError::into_inner).0;
            if !*goes_on {
                return;
            }
            // Ends when there is nothing more to write to, with one line.
            if let Some(profile) = self.profile()
                && let Err(line) = self.write(&profile)
            {
                say(&line);
                return;
            }
        }
    }

    /// What there is so far; `None` in a process that has entered nothing, as a shell that starts the program.
    fn profile(&self) -> Option<Profile> {
        let mut profile = crate::process::snapshot(self.rank).filter(|profile| !profile.nodes.is_empty())?;
        let seconds = self.start.elapsed().as_secs_f64();
        profile.metadata.insert("partial".into(), "checkpoint of a process that had not ended".into());
        profile.metadata.insert("checkpoint_seconds".into(), format!("{seconds:.3}"));
        Some(profile)
    }

    fn write(&self, profile: &Profile) -> Result<(), String> {
        let no_more = |error: poise_profile::ProfileError| format!("{error}; there are no more checkpoints.");
        if self.has_written.load(Ordering::Relaxed) {
            return profile.replace(&self.path).map_err(no_more);
        }
        self.move_aside();
        profile.write(&self.path).map_err(no_more)?;
        self.has_written.store(true, Ordering::Relaxed);
        Ok(())
    }
}

impl Writer {
    /// Says where the ranks' checkpoints are.
    fn whereabouts(&self) -> String {
        if let Some(gathered) = &self.gathered {
            return format!("what its ranks had will be in {}", gathered.display());
        }
        let path = if poise_profile::own_rank().is_some() { self.path.with_extension("*") } else { self.path.clone() };
        format!("what its ranks had is in {}", path.display())
    }

    /// Gives what an earlier process left, as a job that was killed and started again, another name. What is younger than this
    /// process is of one that lives and stays, as does all that cannot be moved.
    fn move_aside(&self) {
        let changed = std::fs::symlink_metadata(&self.path).and_then(|file| file.modified());
        let started = SystemTime::now().checked_sub(self.start.elapsed());
        if changed.is_ok_and(|changed| started.is_some_and(|started| changed < started)) {
            let name = |number: u32| {
                let mut name = OsString::from(&self.path);
                name.push(if number == 1 { ".old".into() } else { format!(".old{number}") });
                PathBuf::from(name)
            };
            let free = (1..=999).map(name).find(|name| name.symlink_metadata().is_err());
            // What cannot be moved is told when it is in the way.
            let _ = free.map(|free| std::fs::rename(&self.path, free));
        }
    }
}

/// The profile is about to be taken: no more checkpoints, and none that reads the trees meanwhile. Whether there would have
/// been some.
pub fn stop() -> bool {
    let Some(writer) = WRITER.get() else { return false };
    let until = Instant::now() + PATIENCE;
    loop {
        match writer.goes_on.try_lock() {
            Ok(mut goes_on) => *goes_on = false,
            Err(TryLockError::Poisoned(poisoned)) => *poisoned.into_inner() = false,
            Err(TryLockError::WouldBlock) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            Err(TryLockError::WouldBlock) => return true,
        }
        writer.ended.notify_all();
        return true;
    }
}

/// The process is about to end without a profile: writes what there is once more. Says where it and the checkpoints of the other ranks
/// are, `None` where there are none.
pub fn last() -> Option<String> {
    let writer = WRITER.get().filter(|writer| writer.has_begun.load(Ordering::Relaxed))?;
    // A checkpoint that is being written now will do, too.
    if let Ok(goes_on) = writer.goes_on.try_lock()
        && *goes_on
        && let Some(profile) = writer.profile()
        && let Err(line) = writer.write(&profile)
    {
        say(&line);
    }
    writer.has_written.load(Ordering::Relaxed).then(|| writer.whereabouts())
}

/// Whether there is a checkpoint of this process.
pub fn has_written() -> bool {
    WRITER.get().is_some_and(|writer| writer.has_written.load(Ordering::Relaxed))
}

/// Says where the ranks' checkpoints are, if there are any.
pub fn whereabouts() -> Option<String> {
    WRITER.get().map(Writer::whereabouts)
}

/// The profile is where it belongs: the last checkpoint goes.
pub fn remove() {
    if let Some(writer) = WRITER.get().filter(|writer| writer.has_written.load(Ordering::Relaxed)) {
        let _ = std::fs::remove_file(&writer.path);
    }
}
