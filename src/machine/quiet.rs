//! `--quiet-machine`: makes the machine as quiet as it may, and puts everything back, also after an interruption. What
//! was before is written down before anything changes, so that even a call that is killed is made good by the next one.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::CPUS;
use crate::error::{Error, Result};
use crate::output;
use crate::run::processes::boot;
use crate::run::record::host;

/// How the names of notes of what was before begin, in the results folder; the machine's name follows.
const NOTE: &str = ".quiet-";
/// How much earlier than others a measured program gets its turn, as `nice` counts.
const PRIORITY: i32 = -10;

/// A machine made quiet, until dropped.
pub struct Quiet {
    note: PathBuf,
    before: BTreeMap<PathBuf, String>,
    priority: Option<i32>,
}

/// What was before, and where: a results folder may be on several machines.
#[derive(Serialize, Deserialize)]
struct Note {
    host: String,
    /// The machine's start, which sets everything back as well.
    boot: String,
    before: BTreeMap<PathBuf, String>,
}

impl Note {
    fn of(before: &BTreeMap<PathBuf, String>) -> Self {
        Self { host: host(), boot: boot(), before: before.clone() }
    }

    /// Whether it is of this machine since its last start.
    fn is_ours(&self) -> bool {
        let here = Self::of(&BTreeMap::new());
        !here.boot.is_empty() && (&self.host, &self.boot) == (&here.host, &here.boot)
    }

    fn path(results: &Path) -> PathBuf {
        results.join(format!("{NOTE}{}.json", host()))
    }
}

/// The files that are changed, and what they are to hold.
fn wanted(cpus: &Path) -> Vec<(PathBuf, &'static str)> {
    let mut wanted: Vec<_> = governor_files(cpus).into_iter().map(|file| (file, "performance")).collect();
    wanted.push((cpus.join("cpufreq/boost"), "0"));
    wanted.push((cpus.join("intel_pstate/no_turbo"), "1"));
    wanted
}

/// The governor's file of each core.
pub fn governor_files(cpus: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(cpus).into_iter().flatten().flatten();
    let is_core =
        |name: &str| name.strip_prefix("cpu").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    let cores = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_core));
    let mut files: Vec<PathBuf> = cores.map(|entry| entry.path().join("cpufreq/scaling_governor")).collect();
    files.retain(|file| file.is_file());
    files.sort();
    files
}

impl Quiet {
    /// Makes this machine quiet: the governor `performance`, boost off, and a high priority, as far as the user may.
    ///
    /// # Errors
    /// What is to be put back cannot be written down.
    pub fn begin(results: &Path) -> Result<Self> {
        let mut quiet = Self::set(Path::new(CPUS), results)?;
        if wanted(Path::new(CPUS)).iter().all(|(file, _)| !file.exists()) {
            output::say(
                "the machine has no frequency governor and no boost that could be set, as virtual ones have none.",
            );
        }
        quiet.priority = raise_priority();
        if quiet.priority.is_none() {
            output::say("the priority stays as it is; only root may raise it.");
        }
        Ok(quiet)
    }

    fn set(cpus: &Path, results: &Path) -> Result<Self> {
        restore_noted_below(cpus, results);
        let wanted = wanted(cpus);
        let mut before = BTreeMap::new();
        for (file, value) in &wanted {
            if let Some(now) = fs::read_to_string(file).ok().filter(|now| now.trim() != *value) {
                before.insert(file.clone(), now.trim().to_owned());
            }
        }
        let note = Note::path(results);
        if before.is_empty() {
            return Ok(Self { note, before, priority: None });
        }
        let text = serde_json::to_string(&Note::of(&before)).map_err(|e| Error::Defect(e.to_string()))?;
        output::write_file(&note, text.as_bytes())?;
        for (file, value) in wanted.iter().filter(|(file, _)| before.contains_key(file)) {
            if let Err(e) = fs::write(file, value) {
                output::say(format!("{} stays as it is: {e}.", file.display()));
            }
        }
        Ok(Self { note, before, priority: None })
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        restore(&self.before);
        let _ = fs::remove_file(&self.note);
        if let Some(priority) = self.priority {
            set_priority(priority);
        }
    }
}

/// Puts back what a killed call has left in a results folder.
pub fn restore_noted(results: &Path) {
    restore_noted_below(Path::new(CPUS), results);
}

/// As [`restore_noted`]. A note is only believed for files that are ever changed: whoever may write into the folder could
/// otherwise have any file written to.
fn restore_noted_below(cpus: &Path, results: &Path) {
    let path = Note::path(results);
    let note = fs::read_to_string(&path).ok().and_then(|text| serde_json::from_str::<Note>(&text).ok());
    let Some(mut note) = note else { return };
    if !note.is_ours() {
        // Since this machine was started anew nothing is left of what it says.
        if note.host == host() {
            let _ = fs::remove_file(&path);
        }
        return;
    }
    let known = wanted(cpus);
    note.before.retain(|file, _| known.iter().any(|(known, _)| known == file));
    restore(&note.before);
    output::say("put the frequency governor back, which an earlier call had set and was killed.");
    let _ = fs::remove_file(&path);
}

fn restore(before: &BTreeMap<PathBuf, String>) {
    for (file, value) in before {
        let is_other = fs::read_to_string(file).is_ok_and(|now| now.trim() != value);
        if is_other && let Err(e) = fs::write(file, value) {
            output::say(format!("Cannot put {} back to {value}: {e}.", file.display()));
        }
    }
}

/// Raises the priority of this process, which what it starts inherits; what it was before, if it may be raised.
fn raise_priority() -> Option<i32> {
    // SAFETY: these calls take numbers alone. -1 may be a priority as well, so the error is told by errno.
    let before = unsafe {
        *libc::__errno_location() = 0;
        libc::getpriority(libc::PRIO_PROCESS, 0)
    };
    if before == -1 && io::Error::last_os_error().raw_os_error() != Some(0) {
        return None;
    }
    set_priority(before.min(PRIORITY)).then_some(before)
}

fn set_priority(priority: i32) -> bool {
    // SAFETY: the call takes numbers alone.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, priority) == 0 }
}

/// Cores for a run that needs `needed` of them: the last ones that this process may use, since the system's own work is
/// done on the first. Empty where there are no more than it needs; nothing is gained by naming all.
pub fn cores_for(needed: u32) -> Vec<usize> {
    let allowed = allowed_cores();
    let needed = needed as usize;
    if needed >= allowed.len() { Vec::new() } else { allowed[allowed.len() - needed..].to_vec() }
}

fn allowed_cores() -> Vec<usize> {
    // SAFETY: a set of zeros is one; the call fills it in, and the macro's function reads within it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) != 0 {
            return Vec::new();
        }
        (0..libc::CPU_SETSIZE as usize).filter(|&core| libc::CPU_ISSET(core, &set)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of files as the kernel's, with two cores.
    fn tree() -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        for name in ["cpu0/cpufreq", "cpu1/cpufreq", "cpufreq", "cpuidle"] {
            fs::create_dir_all(tree.path().join(name)).unwrap();
        }
        for (name, value) in [
            ("cpu0/cpufreq/scaling_governor", "powersave\n"),
            ("cpu1/cpufreq/scaling_governor", "schedutil\n"),
            ("cpufreq/boost", "1\n"),
        ] {
            fs::write(tree.path().join(name), value).unwrap();
        }
        tree
    }

    fn values(tree: &Path) -> Vec<String> {
        ["cpu0/cpufreq/scaling_governor", "cpu1/cpufreq/scaling_governor", "cpufreq/boost"]
            .map(|name| fs::read_to_string(tree.join(name)).unwrap().trim().to_owned())
            .to_vec()
    }

    #[test]
    fn the_governor_is_set_and_put_back() {
        let (tree, results) = (tree(), tempfile::tempdir().unwrap());
        let quiet = Quiet::set(tree.path(), results.path()).unwrap();
        assert_eq!(values(tree.path()), ["performance", "performance", "0"]);
        drop(quiet);
        assert_eq!(values(tree.path()), ["powersave", "schedutil", "1"]);
        assert_eq!(fs::read_dir(results.path()).unwrap().count(), 0, "the note is gone");
    }

    #[test]
    fn a_killed_call_is_made_good_by_the_next() {
        let (tree, results) = (tree(), tempfile::tempdir().unwrap());
        // What is forgotten is not dropped, as in a process that is killed.
        std::mem::forget(Quiet::set(tree.path(), results.path()).unwrap());
        assert_eq!(values(tree.path())[0], "performance");
        restore_noted_below(tree.path(), results.path());
        assert_eq!(values(tree.path()), ["powersave", "schedutil", "1"]);
        // Or by the next that wants it quiet itself.
        std::mem::forget(Quiet::set(tree.path(), results.path()).unwrap());
        drop(Quiet::set(tree.path(), results.path()).unwrap());
        assert_eq!(values(tree.path()), ["powersave", "schedutil", "1"]);
    }

    #[test]
    fn foreign_notes_and_files_are_left_alone() {
        let (tree, results) = (tree(), tempfile::tempdir().unwrap());
        let (theirs, boost) = (results.path().join("theirs"), tree.path().join("cpufreq/boost"));
        fs::write(&theirs, "as it was").unwrap();
        let before = BTreeMap::from([(theirs.clone(), "spoilt".to_owned()), (boost.clone(), "0".to_owned())]);
        let path = Note::path(results.path());
        let foreign = Note { host: "another".into(), ..Note::of(&before) };
        let restored = |note: &Note| {
            fs::write(&path, serde_json::to_string(note).unwrap()).unwrap();
            restore_noted_below(tree.path(), results.path());
            assert_eq!(values(tree.path())[2], "1");
            path.is_file()
        };
        assert!(restored(&foreign), "it is not ours");
        assert!(!restored(&Note { boot: "another".into(), ..Note::of(&before) }), "the machine was started anew");
        // And the next call that wants it quiet can say what was before.
        fs::write(&path, serde_json::to_string(&Note { boot: "another".into(), ..Note::of(&before) }).unwrap())
            .unwrap();
        drop(Quiet::set(tree.path(), results.path()).unwrap());
        assert!(!path.exists());
        assert_eq!(values(tree.path())[2], "1");
        fs::write(&path, serde_json::to_string(&Note::of(&before)).unwrap()).unwrap();
        restore_noted_below(tree.path(), results.path());
        assert_eq!(values(tree.path())[2], "0");
        assert_eq!(fs::read_to_string(theirs).unwrap(), "as it was");
        assert!(!path.exists());
    }

    #[test]
    fn runs_get_the_last_cores() {
        let allowed = allowed_cores();
        assert!(!allowed.is_empty());
        assert_eq!(cores_for(allowed.len() as u32), Vec::<usize>::new());
        if allowed.len() > 1 {
            assert_eq!(cores_for(1), [allowed[allowed.len() - 1]]);
        }
    }
}
