//! Inputs gone through to the end, past those that cannot be read: what `poise import --explain` shows. Nothing is modelled
//! from a survey, so it may leave out what [`super::read`] refuses.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::collect::Collector;
use super::error::{ErrorKind, RUN_LEFT_OUT, ReadError, ReadWarning};
use super::source::Source;
use super::{Format, Gathered, Input, ReadOptions, asked, folders, profiles, runs};

/// What is in a number of inputs.
///
/// ```
/// let found = modeler::formats::survey(&["no/such/file".into()], &Default::default());
/// assert!(found.input.is_err() && found.unknown.is_empty() && found.refused.is_none());
/// ```
#[derive(Debug)]
pub struct Survey {
    /// What those that go together hold, or why not even they can be read.
    pub input: Result<Input, ReadError>,
    /// The others, each with its reason, in the order of the inputs.
    pub odd: Vec<ReadError>,
    /// Names of files in folders that are no measurements, each with how many there are.
    pub unknown: BTreeMap<String, usize>,
    /// Why [`super::read`] refuses a folder of which this shows what one format in it holds, if there is one.
    pub refused: Option<ReadError>,
}

/// Reads `inputs` as [`super::read`] does, but leaves out those that cannot be read, have another format than most, or have
/// other parameters. Standard input can be read only once, so with it the first error is the only one.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let files = ["a.txt", "b.txt", "c.txt"].map(|name| folder.path().join(name));
/// for file in &files[..2] {
///     std::fs::write(file, "PARAMETER p\nPOINTS 2\nREGION solve\nMETRIC time\nDATA 1\n")?;
/// }
/// std::fs::write(&files[2], "no measurements\n")?;
/// let found = modeler::formats::survey(&files, &Default::default());
/// assert_eq!(found.odd.len(), 1); // c.txt
/// assert_eq!(found.input?.experiment.values, [1.0, 1.0]); // of the others
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn survey(inputs: &[PathBuf], options: &ReadOptions) -> Survey {
    if inputs.iter().any(|path| path == Path::new("-")) {
        return Survey {
            input: super::read(inputs, options),
            odd: Vec::new(),
            unknown: BTreeMap::new(),
            refused: None,
        };
    }
    let asked = |path: &PathBuf| asked(options, &Source::open(path).ok()?);
    let format = inputs.iter().find_map(asked).or_else(|| most_common(inputs));
    // So the first input does not decide what the others should be.
    let (mut wanted, others): (Vec<&PathBuf>, Vec<&PathBuf>) =
        inputs.iter().partition(|path| format.is_none() || detected(path) == format || asked(path).is_some());
    let mut odd: Vec<(usize, ReadError)> = Vec::new();
    let place_of = |path: &PathBuf| inputs.iter().position(|p| p == path).unwrap_or(usize::MAX);
    for path in others {
        let error =
            match Source::open(path).and_then(|source| Ok((source.place(), folders::choose_most(&source)?.format()))) {
                Err(error) => error,
                Ok((place, own)) => {
                    let what = format!("this is {own}, while most inputs are {}", format.map_or("", Format::name));
                    ReadError::new(ErrorKind::NotRecognised, place, what).expected("inputs of one format")
                }
            };
        odd.push((place_of(path), error));
    }
    let input = loop {
        let mut gathered = Gathered { is_survey: true, ..Gathered::new(options) };
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for &path in &wanted {
            match Source::open(path).and_then(|source| gathered.add(source)) {
                Ok(()) => good.push(path),
                Err(error) => bad.push((place_of(path), error)),
            }
        }
        if bad.is_empty() {
            let last = |error| (usize::MAX, error);
            odd.extend(runs::odd(&mut gathered.collector.runs).into_iter().map(last));
            odd.extend(profiles::odd(&mut gathered.collector.profiles, options).into_iter().map(last));
            let warnings = std::mem::take(&mut gathered.collector.warnings);
            let unread: Vec<ReadError> = warnings.iter().filter(|w| w.code == RUN_LEFT_OUT).map(unread).collect();
            gathered.collector.warnings = warnings;
            break gathered
                .finish()
                .map_err(|nothing| match odd.first() {
                    Some((_, error)) if nothing.kind == ErrorKind::NotModelable => error.clone(),
                    // That no run could be read is what is wrong with the input.
                    None if !unread.is_empty() => ReadError { kind: ErrorKind::Unreadable, ..nothing },
                    _ => nothing,
                })
                .inspect_err(|_| odd.extend(unread.into_iter().map(last)));
        }
        // What a failed input may have added goes with everything else: the good ones are read again.
        odd.append(&mut bad);
        wanted = good;
        if wanted.is_empty() {
            break Err(odd[0].1.clone());
        }
    };
    let mut unknown = BTreeMap::new();
    if input.is_err() {
        for path in inputs {
            // A place may be inside of an archive or a folder, but `run1` is not inside of `run10`.
            let is_name = |c: char| c.is_alphanumeric() || "._-".contains(c);
            let is_inside = |file: &str, path: &Path| {
                file.strip_prefix(&*path.to_string_lossy()).is_some_and(|rest| !rest.starts_with(is_name))
            };
            let is_told = |path: &Path| odd.iter().any(|(_, known)| is_inside(&known.place.file, path));
            let seen = folders::seen(path, options, is_told);
            odd.extend(seen.odd.into_iter().map(|error| (place_of(path), error)));
            seen.unknown.into_iter().for_each(|(name, count)| *unknown.entry(name).or_default() += count);
        }
    }
    let refused = |path: &&PathBuf| folders::choose(&Source::open(path).ok()?, &mut Collector::default()).err();
    let refused = wanted.iter().filter(|path| asked(path).is_none()).find_map(refused);
    for path in wanted {
        let Ok(Input { format, .. }) = &input else { break };
        let left = folders::left_out(path, *format);
        odd.extend(left.odd.into_iter().map(|error| (place_of(path), error)));
        left.unknown.into_iter().for_each(|(name, count)| *unknown.entry(name).or_default() += count);
    }
    odd.sort_by_key(|(place, _)| *place);
    Survey { input, odd: odd.into_iter().map(|(_, error)| error).collect(), unknown, refused }
}

/// A run that a reader left out, where nothing else was read.
fn unread(warning: &ReadWarning) -> ReadError {
    let message = warning.message.trim_start_matches("The run was left out because ").trim_end_matches('.');
    ReadError::new(ErrorKind::Unreadable, warning.place.clone(), message)
}

fn detected(path: &Path) -> Option<Format> {
    let source = Source::open(path).ok()?;
    Some(folders::choose_most(&source).ok()?.format())
}

/// The format of most inputs, of several the one that comes first.
fn most_common(inputs: &[PathBuf]) -> Option<Format> {
    let found: Vec<Format> = inputs.iter().filter_map(|path| detected(path)).collect();
    let count = |format: &Format| found.iter().filter(|f| *f == format).count();
    found.iter().rev().max_by_key(|format| count(format)).copied()
}

/// The names that most of `sets` consist of, of several sets the first in their order; none where all are empty.
pub(super) fn most_named(sets: &[BTreeSet<String>]) -> BTreeSet<String> {
    let mut users: BTreeMap<&BTreeSet<String>, usize> = BTreeMap::new();
    sets.iter().filter(|set| !set.is_empty()).for_each(|set| *users.entry(set).or_default() += 1);
    let most = users.into_iter().max_by_key(|(names, count)| (*count, std::cmp::Reverse(*names)));
    most.map_or_else(BTreeSet::new, |(names, _)| names.clone())
}

/// `the parameters (n, p)`, or `no parameter`.
pub(super) fn listed(names: &BTreeSet<String>) -> String {
    match names.iter().map(String::as_str).collect::<Vec<_>>() {
        names if names.is_empty() => "no parameter".to_owned(),
        names => format!("the parameters ({})", names.join(", ")),
    }
}
