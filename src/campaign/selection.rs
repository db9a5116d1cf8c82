//! `selection.json`: which measurements of a folder of runs are not to be used, and why. Readers of experiments honour
//! it; `docs/formats.md` specifies it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::tasks::{Done, Task};
use crate::error::{Error, Result};
use crate::study::{Judgement, Study};

/// The file's name.
pub const SELECTION: &str = "selection.json";
/// What the file says that it is.
const SCHEMA: &str = "counterpoise/selection";

#[derive(Serialize)]
struct Selection<'a> {
    schema: &'static str,
    schema_version: u32,
    policy: &'static str,
    effort_once: bool,
    dropped: Vec<Dropped<'a>>,
    unsettled: Vec<Unsettled>,
}

#[derive(Serialize, Deserialize)]
struct Dropped<'a> {
    run: String,
    metrics: Cow<'a, str>,
    reason: Cow<'a, str>,
}

#[derive(Serialize, Deserialize)]
struct Unsettled {
    point: String,
    reason: String,
}

/// Whether this is such a file.
pub fn is_selection(path: &Path) -> bool {
    let says =
        |bytes: Vec<u8>| serde_json::from_slice::<serde_json::Value>(&bytes).is_ok_and(|file| file["schema"] == SCHEMA);
    path.ends_with(SELECTION) && fs::read(path).is_ok_and(says)
}

/// Writes the selection of every group's folder, where there is something to say or something was said before.
///
/// # Errors
/// A file cannot be written.
pub fn write(study: &Study, done: &[Vec<Done>], judgements: &[Judgement], results: &Path) -> Result<()> {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (i, case) in study.cases.iter().enumerate() {
        groups.entry(study.folder_of(case).0).or_default().push(i);
    }
    for (group, cases) in groups {
        let folder = results.join(group);
        let path = folder.join(SELECTION);
        let (mut dropped, mut unsettled) = said_of_others(study, &cases, &path);
        for i in cases {
            let run = |index: usize| {
                let task = Task::of(study, i, done[i][index].repetition, results);
                task.folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
            };
            let times = judgements[i].dropped.iter();
            dropped.extend(times.map(|(index, reason)| Dropped {
                run: run(*index),
                metrics: "time".into(),
                reason: reason.into(),
            }));
            if study.repetitions.effort_once {
                // A run with noise is one more than those that are timed.
                let first = usize::from(!study.cases[i].absorbs);
                let later = (first..done[i].len()).map(run);
                let reason = "effort is taken from the point's first run";
                dropped.extend(later.map(|run| Dropped { run, metrics: "effort".into(), reason: reason.into() }));
            }
            let point = study.folder_of(&study.cases[i]).1.trim_end_matches('.').to_owned();
            unsettled.extend(judgements[i].unsettled.clone().map(|reason| Unsettled { point, reason }));
        }
        if (dropped.is_empty() && unsettled.is_empty() && !path.exists()) || !folder.is_dir() {
            continue;
        }
        let file = Selection {
            schema: SCHEMA,
            schema_version: 1,
            policy: study.repetitions.policy.name(),
            effort_once: study.repetitions.effort_once,
            dropped,
            unsettled,
        };
        replace(&path, &file).map_err(|e| Error::cannot_write(&path, &e))?;
    }
    Ok(())
}

/// What the file says of runs that are still there whose points the study no longer has: they are read with the others.
fn said_of_others<'a>(study: &Study, cases: &[usize], file: &Path) -> (Vec<Dropped<'a>>, Vec<Unsettled>) {
    #[derive(Deserialize)]
    struct Said {
        #[serde(default)]
        dropped: Vec<Dropped<'static>>,
        #[serde(default)]
        unsettled: Vec<Unsettled>,
    }
    let said = fs::read(file).ok().and_then(|bytes| serde_json::from_slice::<Said>(&bytes).ok());
    let Some(Said { mut dropped, mut unsettled }) = said else { return Default::default() };
    let stems: Vec<String> = cases.iter().map(|&i| study.folder_of(&study.cases[i]).1).collect();
    let is_run_of = |stem: &String, run: &str| {
        let number = run.strip_prefix(stem).and_then(|rest| rest.strip_prefix('r'));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let is_there = |run: &str| file.parent().is_some_and(|folder| folder.join(run).is_dir());
    dropped.retain(|drop| is_there(&drop.run) && !stems.iter().any(|stem| is_run_of(stem, &drop.run)));
    let names = || fs::read_dir(file.parent().unwrap_or(Path::new("."))).into_iter().flatten().flatten();
    let has_runs = |point: &str| {
        let stem = format!("{point}.");
        names().any(|entry| is_run_of(&stem, &entry.file_name().to_string_lossy()))
    };
    unsettled
        .retain(|point| has_runs(&point.point) && !stems.iter().any(|stem| stem.trim_end_matches('.') == point.point));
    (dropped, unsettled)
}

/// Writes the file whole and puts it in the place of an earlier one.
fn replace(path: &Path, content: &Selection) -> std::io::Result<()> {
    let text = serde_json::to_string_pretty(content).map_err(std::io::Error::other)? + "\n";
    if fs::read_to_string(path).is_ok_and(|found| found == text) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    let mut file = tempfile::Builder::new().prefix(".selection-").permissions(permissions).tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    File::open(folder)?.sync_all()
}
