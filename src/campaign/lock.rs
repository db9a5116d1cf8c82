//! One `poise run` at a time works on a results folder. The lock is a file of its own for each contender: first one's
//! own file is made, then one looks whether others have theirs. Nothing here needs a file system's locks, which network
//! file systems may lack, and what a killed process left does not bar the next.
//!
//! Whether a file's owner lives is known at once where it ran on this machine, since its last start: by its process's
//! number and starting time. Elsewhere the owner's heart must be seen to beat: it rewrites its file every few seconds.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::digest;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::output;
use crate::run::processes::{boot, namespace, started};
use crate::run::record::host;

/// How the names of lock files begin.
const PREFIX: &str = ".lock-";
/// Between two beats of an owner's heart.
const BEAT: Duration = Duration::from_secs(5);
/// A heart that has not been seen to beat for so long, over network file systems' caches, has stopped.
const STOPPED: Duration = Duration::from_secs(90);

/// The lock, held until dropped.
pub struct Lock {
    path: PathBuf,
    ends: Arc<AtomicBool>,
    heart: Option<std::thread::JoinHandle<()>>,
}

/// What a lock file says.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
struct Owner {
    host: String,
    process: u32,
    /// The machine's start and the process's: together with the number they name one process for ever.
    boot: String,
    namespace: String,
    started: String,
    /// Whether it has seen that it is alone.
    holds: bool,
    beat: u64,
}

impl Owner {
    fn this() -> Self {
        let process = std::process::id();
        Self {
            host: host(),
            process,
            boot: boot(),
            namespace: namespace(),
            started: started(process).unwrap_or_default(),
            holds: false,
            beat: 0,
        }
    }

    /// Whether the owner lives, where this machine can tell.
    fn lives(&self) -> Option<bool> {
        let here = Self::this();
        let is_near = !self.boot.is_empty() && self.boot == here.boot && self.namespace == here.namespace;
        is_near.then(|| started(self.process).is_some_and(|started| started == self.started))
    }
}

impl Lock {
    /// Takes the lock of a folder that exists.
    ///
    /// # Errors
    /// Another process has it, or nothing can be written there.
    pub fn acquire(folder: &Path) -> Result<Self> {
        let path = folder.join(format!("{PREFIX}{:016x}", digest::token()));
        let mut owner = Owner::this();
        for _ in 0..200 {
            write(&path, &owner).map_err(|e| Error::cannot_write(&path, &e))?;
            let others = living(folder, &path).inspect_err(|_| remove(&path))?;
            let Some(other) = others.first() else {
                owner.holds = true;
                write(&path, &owner).inspect_err(|_| remove(&path)).map_err(|e| Error::cannot_write(&path, &e))?;
                remove_unfinished(folder, &path);
                return Ok(Self::held(path, owner));
            };
            remove(&path);
            if other.holds {
                return Err(Error::Usage(format!(
                    "Another poise (process {} on {}) is running the study in {}. Wait until it has ended, or choose \
                     another folder with -o.",
                    other.process,
                    other.host,
                    folder.display()
                )));
            }
            // Two that begin at a time both see each other; the waits that follow differ.
            std::thread::sleep(Duration::from_millis(20 + digest::token() % 180));
            interrupt::check()?;
        }
        Err(Error::Usage(format!("Others keep trying to run the study in {}; try again.", folder.display())))
    }

    fn held(path: PathBuf, mut owner: Owner) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let (file, stop) = (path.clone(), Arc::clone(&ends));
        let heart = std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                std::thread::park_timeout(BEAT);
                // Where another has taken the file for a dead process's, it is not made again.
                if !stop.load(Ordering::Relaxed) && file.try_exists().unwrap_or(true) {
                    owner.beat += 1;
                    let _ = write(&file, &owner);
                }
            }
        });
        Self { path, ends, heart: Some(heart) }
    }

    /// An error where another has taken this process for dead and the lock for its own, as after a long sleep.
    pub fn check(&self) -> Result<()> {
        if self.path.try_exists().unwrap_or(true) {
            return Ok(());
        }
        let folder = self.path.parent().unwrap_or(Path::new("."));
        Err(Error::Usage(format!(
            "Another poise has taken over {}, since this one seemed to be dead.",
            folder.display()
        )))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(heart) = self.heart.take() {
            heart.thread().unpark();
            let _ = heart.join();
        }
        remove(&self.path);
    }
}

fn remove(path: &Path) {
    let _ = fs::remove_file(path);
}

/// Writes a lock file whole: beside it, then under its name.
fn write(path: &Path, owner: &Owner) -> std::io::Result<()> {
    let text = serde_json::to_string(owner).map_err(std::io::Error::other)?;
    let beside = path.with_extension("new");
    let written = File::create(&beside).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&beside, path)).inspect_err(|_| remove(&beside))
}

/// The owners of other lock files that live. Files of dead ones are removed.
fn living(folder: &Path, own: &Path) -> Result<Vec<Owner>> {
    let mut living = Vec::new();
    for path in lock_files(folder, own)? {
        let Some(owner) = read(&path).map_err(|e| Error::cannot_read(&path, &e))? else { continue };
        match owner.lives() {
            Some(true) => living.push(owner),
            Some(false) => remove(&path),
            None if beats(&path, &owner, STOPPED)? => living.push(owner),
            None => remove(&path),
        }
    }
    living.sort_by_key(|owner| !owner.holds);
    Ok(living)
}

/// Removes what others have left that were killed while they wrote. What a living one writes has its name a moment later.
fn remove_unfinished(folder: &Path, own: &Path) {
    let written = |path: &Path| path.metadata().and_then(|m| m.modified()).ok();
    // By the file system's clock, which need not be this machine's.
    let age = |path: &Path| written(own)?.duration_since(written(path)?).ok();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_unfinished = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.starts_with(PREFIX) && name.ends_with(".new")
    };
    for path in entries.filter(is_unfinished) {
        let is_dead = read(&path).ok().flatten().and_then(|owner| owner.lives()) == Some(false);
        if is_dead || age(&path).is_some_and(|age| age > STOPPED) {
            remove(&path);
        }
    }
}

fn lock_files(folder: &Path, own: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|e| Error::cannot_read(folder, &e))?;
    let paths = entries.flatten().map(|entry| entry.path());
    let is_lock = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.starts_with(PREFIX) && !name.ends_with(".new") && path != own
    };
    Ok(paths.filter(is_lock).collect())
}

/// What a lock file says; none where it is gone. What cannot be read may be a living owner's.
fn read(path: &Path) -> std::io::Result<Option<Owner>> {
    match fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text).map(Some).map_err(std::io::Error::from),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Watches a lock file of another machine until its heart beats, it is gone, or it has not beaten for so long.
fn beats(path: &Path, owner: &Owner, patience: Duration) -> Result<bool> {
    output::say(format!("waiting to see whether the poise on {} that was running this study is alive", owner.host));
    let begun = Instant::now();
    let mut is_unknown = false;
    while begun.elapsed() < patience {
        interrupt::check()?;
        std::thread::sleep(Duration::from_millis(200));
        let now = read(path);
        is_unknown = now.is_err();
        match now {
            Ok(Some(now)) if now != *owner => return Ok(true),
            Ok(None) => return Ok(false),
            Ok(Some(_)) | Err(_) => {}
        }
    }
    Ok(is_unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn one_has_it_and_it_ends_with_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::acquire(folder.path()).unwrap();
        let refused = Lock::acquire(folder.path()).err().unwrap().to_string();
        assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
        assert_eq!(files(folder.path()), 1, "who is refused leaves nothing");
        drop(first);
        assert_eq!(files(folder.path()), 0);
        Lock::acquire(folder.path()).unwrap();
    }

    #[test]
    fn a_dead_processs_file_is_no_lock() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let started = started(child.id()).unwrap();
        let owner = Owner { process: child.id(), started: started.clone(), holds: true, ..Owner::this() };
        write(&folder.path().join(".lock-other"), &owner).unwrap();
        assert!(Lock::acquire(folder.path()).is_err(), "it lives");
        child.kill().unwrap();
        child.wait().unwrap();
        drop(Lock::acquire(folder.path()).unwrap());
        // The number is in use again, by a process that started at another time.
        let reused =
            Owner { process: std::process::id(), started: format!("{started}0"), holds: true, ..Owner::this() };
        write(&folder.path().join(".lock-other"), &reused).unwrap();
        Lock::acquire(folder.path()).unwrap();
    }

    #[test]
    fn what_was_being_written_by_killed_processes_goes() {
        let folder = tempfile::tempdir().unwrap();
        let beside = |name: &str| folder.path().join(name);
        let text = |owner: &Owner| serde_json::to_string(owner).unwrap();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let dead = Owner { process: child.id(), started: "0".into(), ..Owner::this() };
        child.wait().unwrap();
        fs::write(beside(".lock-dead.new"), text(&dead)).unwrap();
        fs::write(beside(".lock-alive.new"), text(&Owner::this())).unwrap();
        fs::write(beside(".lock-young.new"), "{").unwrap();
        fs::write(beside(".lock-old.new"), "{").unwrap();
        let old = std::time::SystemTime::now() - STOPPED * 2;
        File::options().write(true).open(beside(".lock-old.new")).unwrap().set_modified(old).unwrap();
        drop(Lock::acquire(folder.path()).unwrap());
        let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".lock-alive.new", ".lock-young.new"]);
    }

    #[test]
    fn another_machines_heart_is_seen_to_beat() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".lock-far");
        let mut owner = Owner { boot: "another".into(), holds: true, ..Owner::this() };
        write(&path, &owner).unwrap();
        let (theirs, far) = (path.clone(), owner.clone());
        let heart = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(500));
            owner.beat = far.beat + 1;
            write(&theirs, &owner).unwrap();
        });
        assert!(Lock::acquire(folder.path()).is_err());
        heart.join().unwrap();
        // And where it is removed while one waits, its owner has ended.
        let remover = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(500));
            fs::remove_file(path).unwrap();
        });
        Lock::acquire(folder.path()).unwrap();
        remover.join().unwrap();
    }

    #[test]
    fn a_dead_machines_lock_is_taken_over_and_its_owner_told_should_it_wake() {
        let folder = tempfile::tempdir().unwrap();
        let sleeper = Lock::acquire(folder.path()).unwrap();
        sleeper.check().unwrap();
        // As another machine sees it while this one sleeps: a heart that does not beat.
        let far = Owner { boot: "another".into(), holds: true, ..Owner::this() };
        let path = folder.path().join(".lock-far");
        write(&path, &far).unwrap();
        assert!(!beats(&path, &far, Duration::from_millis(500)).unwrap());
        remove(&sleeper.path);
        let told = sleeper.check().unwrap_err().to_string();
        assert!(told.contains("has taken over") && told.contains(&folder.path().display().to_string()), "{told}");
        drop(sleeper);
        assert_eq!(lock_files(folder.path(), Path::new("")).unwrap(), [path], "it does not come back");
    }

    #[test]
    fn of_many_that_begin_at_once_never_two_have_it() {
        let folder = tempfile::tempdir().unwrap();
        let inside = std::sync::atomic::AtomicUsize::new(0);
        let entered = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    while let Err(_busy) = Lock::acquire(folder.path()).map(|lock| {
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two at a time");
                        std::thread::sleep(Duration::from_millis(5));
                        inside.fetch_sub(1, Ordering::SeqCst);
                        entered.fetch_add(1, Ordering::SeqCst);
                        drop(lock);
                    }) {}
                });
            }
        });
        assert_eq!(entered.into_inner(), 8);
    }
}
