//! What a run leaves that did not end well: the checkpoints of its ranks, as one profile that says it is partial.

use std::fs;
use std::path::{Path, PathBuf};

use poise_profile::{Profile, ProfileError};

use super::misfortune::Outcome;
use super::{CONFLICT, PROFILE};

/// The file name of what a failed run had measured until its last checkpoints.
pub const PARTIAL: &str = "partial.poise";

/// Whether a run's folder holds anything that was measured.
pub fn is_measured(folder: &Path) -> bool {
    let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names
        .map(|name| name.to_string_lossy().into_owned())
        .any(|name| name == PARTIAL || name.starts_with(PROFILE) && name != CONFLICT)
}

/// Takes the checkpoints in a run's folder: into [`PARTIAL`] where the run failed, away where it is complete. The outcome's
/// reason says so.
pub fn collect(outcome: Outcome, folder: &Path) -> Outcome {
    let Outcome::Failed { cause, reason, status } = outcome else {
        remove(&checkpoints(folder));
        return outcome;
    };
    let reason = gather(folder).map_or_else(|| reason.clone(), |what| format!("{reason} {what}"));
    Outcome::Failed { cause, reason, status }
}

/// Merges the checkpoints in the folder of a run that did not end well into [`PARTIAL`]; a sentence that says so, where there are any.
pub fn gather(folder: &Path) -> Option<String> {
    let files = checkpoints(folder);
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

/// The checkpoints in a run's folder, by name; without what the runtime moved aside, which is of processes before the last.
fn checkpoints(folder: &Path) -> Vec<PathBuf> {
    let start = format!("{PROFILE}.checkpoint");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&start))
        .filter(|entry| !entry.file_name().to_string_lossy().contains(".old"))
        .map(|e| e.path())
        .collect();
    files.sort();
    files
}

fn remove(files: &[PathBuf]) {
    for file in files {
        // What stays is a file more in the folder.
        let _ = fs::remove_file(file);
    }
}
