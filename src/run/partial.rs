//! What a run leaves that did not end well: the checkpoints of its ranks, as one profile that says it is partial.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use poise_profile::{Profile, ProfileError};

use super::misfortune::Outcome;
use super::{PROFILE, record};

/// The file name of what a failed run had measured until its last checkpoints.
pub const PARTIAL: &str = "partial.poise";

/// Whether a run's folder holds anything that was measured.
pub fn is_measured(folder: &Path) -> bool {
    !measured(folder).is_empty()
}

/// The names of all that was measured in a run's folder: profile, checkpoints, and what they were merged into.
fn measured(folder: &Path) -> Vec<OsString> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let is_measured = |name: &OsString| {
        let name = name.to_string_lossy();
        name == PARTIAL || name == PROFILE || name.starts_with(&format!("{PROFILE}.checkpoint"))
    };
    names.filter(is_measured).collect()
}

/// Copies what the failed run in `earlier` had measured into the folder of the next attempt, where that has failed with
/// nothing measured.
///
/// # Errors
/// A file cannot be copied.
pub fn hand_down(earlier: &Path, next: &Path) -> io::Result<()> {
    if is_measured(next) || record::read(next).is_some_and(|record| record.is_complete()) {
        return Ok(());
    }
    for name in measured(earlier) {
        let copy = next.join(&name);
        fs::copy(earlier.join(&name), &copy)?;
        fs::File::open(copy)?.sync_all()?;
    }
    fs::File::open(next)?.sync_all()
}

/// Takes the checkpoints in a run's folder: into [`PARTIAL`] where the run failed, away where it is complete. The outcome's
/// reason says so, and of a run that died before it had left anything that nothing was saved.
pub fn collect(outcome: Outcome, folder: &Path, was_to_be_measured: bool) -> Outcome {
    remove(&unfinished(folder));
    let Outcome::Failed { cause, reason, status } = outcome else {
        remove(&checkpoints(&folder.join(PROFILE)));
        return outcome;
    };
    let reason = match gather(folder) {
        Some(what) => format!("{reason} {what}"),
        // Ranks that die at once say nothing themselves.
        None if was_to_be_measured && cause.is_death() && !is_measured(folder) => format!("{reason} {NOTHING}"),
        None => reason,
    };
    Outcome::Failed { cause, reason, status }
}

const NOTHING: &str =
    "Nothing was saved; of a measured program POISE_CHECKPOINT keeps what there is from its first checkpoint on.";

/// Merges the checkpoints in the folder of a run that did not end well into [`PARTIAL`]; a sentence that says so, where there are any.
pub fn gather(folder: &Path) -> Option<String> {
    let files = checkpoints(&folder.join(PROFILE));
    if files.is_empty() {
        return None;
    }
    Some(match merge(&files).and_then(|profile| profile.write(folder.join(PARTIAL))) {
        Ok(()) => {
            remove(&files);
            let ranks = if files.len() == 1 { "process".to_owned() } else { format!("{} ranks", files.len()) };
            format!("What its {ranks} had measured until the last checkpoint is in {PARTIAL}.")
        }
        Err(error) => format!("Its checkpoints cannot be merged: {error}."),
    })
}

/// The profiles in `files` as one.
///
/// # Errors
/// One cannot be read, or does not merge.
pub fn merge(files: &[PathBuf]) -> Result<Profile, ProfileError> {
    let mut files = files.iter();
    let mut merged = files.next().map_or_else(|| Ok(Profile::default()), Profile::read)?.canonical()?;
    for file in files {
        merged.merge(Profile::read(file)?)?;
    }
    let ranks = merged.ranks.to_string();
    merged.metadata.insert("ranks".into(), ranks);
    Ok(merged)
}

/// The checkpoints beside a profile's place, by name; without what the runtime moved aside, which is of processes before the last.
pub fn checkpoints(profile: &Path) -> Vec<PathBuf> {
    let start = format!("{}.checkpoint", profile.file_name().unwrap_or_default().to_string_lossy());
    let entries = fs::read_dir(folder(profile)).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&start))
        .filter(|entry| !entry.file_name().to_string_lossy().contains(".old"))
        .map(|e| e.path())
        .collect();
    files.sort();
    files
}

/// The folder that a file is in.
pub fn folder(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// What processes were writing when they were killed: beside its name, to be renamed when it is whole.
fn unfinished(folder: &Path) -> Vec<PathBuf> {
    let starts = [format!(".{PROFILE}."), ".poise.".to_owned()];
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_unfinished = |name: &str| starts.iter().any(|start| name.starts_with(start)) && name.ends_with(".tmp");
    entries.filter(|entry| is_unfinished(&entry.file_name().to_string_lossy())).map(|entry| entry.path()).collect()
}

fn remove(files: &[PathBuf]) {
    for file in files {
        // What stays is a file more in the folder.
        let _ = fs::remove_file(file);
    }
}

#[cfg(test)]
mod tests {
    use super::super::misfortune::Cause;
    use super::*;

    /// A process may be killed in the middle of a checkpoint.
    #[test]
    fn what_was_being_written_goes_with_the_processes() {
        let folder = tempfile::tempdir().unwrap();
        let names = [
            ".profile.poise.checkpoint.1.4711.tmp",
            ".profile.poise.4711.tmp",
            ".poise.4711.tmp",
            ".mine.tmp",
            "stdout.txt",
        ];
        names.iter().for_each(|name| fs::write(folder.path().join(name), "half").unwrap());
        let failed = Outcome::Failed { cause: Cause::RankKilled, reason: "Rank 1 was killed.".into(), status: 137 };
        assert_eq!(collect(failed.clone(), folder.path(), false), failed);
        let Outcome::Failed { reason, .. } = collect(failed, folder.path(), true) else { panic!("it failed") };
        assert!(reason.starts_with("Rank 1 was killed. Nothing was saved; "), "{reason}");
        let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".mine.tmp", "stdout.txt"]);
    }

    #[test]
    fn what_a_failed_run_had_measured_stays_until_an_attempt_measures_more() {
        let folder = tempfile::tempdir().unwrap();
        let attempt = |name: &str, status: &str, files: &[&str]| {
            let path = folder.path().join(name);
            fs::create_dir(&path).unwrap();
            let record = serde_json::json!({ "schema": record::SCHEMA, "status": status });
            fs::write(path.join(super::super::RECORD), record.to_string()).unwrap();
            files.iter().for_each(|file| fs::write(path.join(file), name).unwrap());
            path
        };
        let of = |path: &Path, file: &str| fs::read_to_string(path.join(file)).ok();
        let unmerged = "profile.poise.checkpoint.3";
        let first = attempt("first", "failed", &[PARTIAL, unmerged, "stdout.txt"]);
        let second = attempt("second", "failed", &["stdout.txt"]);
        hand_down(&first, &second).unwrap();
        assert_eq!(of(&second, PARTIAL).as_deref(), Some("first"));
        assert_eq!(of(&second, unmerged).as_deref(), Some("first"));
        assert_eq!(of(&second, "stdout.txt").as_deref(), Some("second"), "nothing else is");
        let third = attempt("third", "failed", &[PARTIAL]);
        hand_down(&second, &third).unwrap();
        assert_eq!((of(&third, PARTIAL).as_deref(), of(&third, unmerged)), (Some("third"), None));
        let last = attempt("last", "complete", &[]);
        hand_down(&third, &last).unwrap();
        assert_eq!(measured(&last), Vec::<OsString>::new());
    }
}
