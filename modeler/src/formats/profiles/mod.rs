//! Profiles of other tools: one file or folder is one run, and the names of files and folders say at which point.
//!
//! Each format reads one run into a [`Profile`]. What all of them share is here: finding the profiles of a set,
//! deciding the parameters once all are known, and adding them to the experiment.

mod caliper;
mod cubex;
mod folded;
mod gem5;
mod hpctoolkit;
mod lines;
mod mpip;
pub(super) mod names;
mod pprof;
mod profile;
mod simpoint;
mod tau;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::collect::Collector;
use super::error::{ASSUMED, ErrorKind, IGNORED, Place, RUN_LEFT_OUT, ReadError};
use super::source::{self, Content, Source};
use super::survey::{listed, most_named};
use super::tables::is_parameter;
use super::{Detection, Format, ReadOptions, Reader, RunFound, Scaling, Values, guess, not_read};
use crate::experiment::{CallPathId, Metric, OverRanks};
use names::{Pattern, Said};
use profile::{Column, Fold, Profile};

/// Cube's profiles.
pub(super) const CUBEX: Set = Set(&cubex::Cubex);
/// Caliper's streams.
pub(super) const CALI: Set = Set(&caliper::Cali);
/// Caliper's `json-split`.
pub(super) const CALIPERJSON: Set = Set(&caliper::JsonSplit);
/// HPCToolkit's databases.
pub(super) const HPCTOOLKIT: Set = Set(&hpctoolkit::HpcToolkit);
/// TAU's profiles.
pub(super) const TAU: Set = Set(&tau::Tau);
/// mpiP's reports.
pub(super) const MPIP: Set = Set(&mpip::MpiP);
/// gem5's statistics.
pub(super) const GEM5: Set = Set(&gem5::Gem5);
/// Basic-block vectors.
pub(super) const SIMPOINT: Set = Set(&simpoint::SimPoint);
/// pprof's profiles.
pub(super) const PPROF: Set = Set(&pprof::Pprof);
/// Folded stacks.
pub(super) const FOLDED: Set = Set(&folded::Folded);

/// All of them.
const ALL: [&Set; 10] = [&CUBEX, &CALI, &CALIPERJSON, &HPCTOOLKIT, &TAU, &MPIP, &GEM5, &SIMPOINT, &PPROF, &FOLDED];

/// Whether this is a format of profiles.
pub(super) fn is_one(format: Format) -> bool {
    ALL.iter().any(|set| set.0.format() == format)
}

/// The format of which `folder` as a whole is one profile.
pub(super) fn folder_format(folder: &Path) -> Option<Format> {
    ALL.iter().find(|set| set.0.is_profile(folder)).map(|set| set.0.format())
}

/// The format whose own extension `path` has.
pub(super) fn promised(path: &Path) -> Option<Format> {
    ALL.iter().find(|set| set.is_named_so(path)).map(|set| set.0.format())
}

/// Reads one format of which a file or folder is one run.
pub(super) trait ProfileFormat: Sync {
    /// Which.
    fn format(&self) -> Format;
    /// Whether a file that begins with `head` (which is all of it if `complete`) has this format.
    fn detect(&self, name: &str, head: &[u8], complete: bool) -> Detection;
    /// Whether what tells the format may lie far behind a file's beginning.
    fn looks_far(&self) -> bool {
        false
    }
    /// The extension that no files but its own have, if there is one.
    fn extension(&self) -> Option<&'static str> {
        None
    }
    /// Whether `folder` as a whole is one profile.
    fn is_profile(&self, folder: &Path) -> bool {
        let _ = folder;
        false
    }
    /// Reads one run. Only the formats of [`Format::INCLUSIVE`] are asked for inclusive values.
    fn read(&self, source: Source, values: Values) -> Result<Profile, ReadError>;
}

/// One profile, or a folder of them.
pub(super) struct Set(&'static dyn ProfileFormat);

/// How deep in a folder profiles are looked for.
pub(super) const DEPTH: usize = 6;
/// How much of a file in a folder decides whether it is a profile, unless its format looks far: then it is as much as of one alone.
const HEAD: u64 = 4096;

impl Reader for Set {
    fn format(&self) -> Format {
        self.0.format()
    }

    fn detect(&self, source: &Source) -> Detection {
        match (&source.path, source.head()) {
            (_, Some((head, complete))) => self.0.detect(&source.name, head, complete),
            (Some(folder), None) if self.0.is_profile(folder) || self.holds(folder) => Detection::Yes,
            _ => Detection::no(&format!("no file in it, down to {DEPTH} folders deep, has this format")),
        }
    }

    fn read(&self, source: Source, into: &mut Collector) -> Result<(), ReadError> {
        let place = source.place();
        let (Some(folder), None) = (&source.path, source.head()) else {
            let path = source.path.clone().unwrap_or_default();
            into.profiles.push(Measured {
                path,
                depth: 0,
                profile: self.0.read(source, into.options.values.unwrap_or_default())?,
            });
            return Ok(());
        };
        if self.0.is_profile(folder) {
            into.profiles.push(Measured {
                path: folder.clone(),
                depth: 0,
                profile: self.0.read(source, into.options.values.unwrap_or_default())?,
            });
            return Ok(());
        }
        let mut passed_by = Vec::new();
        for path in self.find(folder, DEPTH, &mut |why, path| passed_by.push((why, path.to_owned())), false) {
            let depth = path.components().count() - folder.components().count();
            match Source::open(&path).and_then(|source| self.0.read(source, into.options.values.unwrap_or_default())) {
                Ok(profile) => into.profiles.push(Measured { path, depth, profile }),
                Err(error) => into.warn(RUN_LEFT_OUT, error.place.clone(), super::runs::left_out(&error)),
            }
        }
        for (why, path) in passed_by {
            let what = match why {
                PassedBy::TooDeep => format!(
                    "The profiles in folders of this one were left out because they lie more than {DEPTH} levels below {place}. Name a folder nearer to them."
                ),
                PassedBy::Unlisted if path == *folder => return Err(unlisted(&path)),
                PassedBy::Unlisted => "What is in this folder was left out because it cannot be listed.".to_owned(),
            };
            into.warn(RUN_LEFT_OUT, Place::file(path.display().to_string()), what);
        }
        Ok(())
    }
}

/// Why a search passed a folder by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PassedBy {
    /// Folders in it hold profiles that are too deep.
    TooDeep,
    /// Nothing tells what is in it.
    Unlisted,
}

/// The error that nothing tells what is in `folder`.
fn unlisted(folder: &Path) -> ReadError {
    let place = Place::file(folder.display().to_string());
    ReadError::new(ErrorKind::Unreadable, place, "the folder cannot be listed")
}

impl Set {
    /// The profiles of this format in `folder`, in the order of their names; one is enough if only `any` is asked for.
    /// `passed_by` is told of folders that were.
    fn find(&self, folder: &Path, depth: usize, passed_by: &mut dyn FnMut(PassedBy, &Path), any: bool) -> Vec<PathBuf> {
        let mut denied = Vec::new();
        let mut found = self.find_within(folder, folder, depth, passed_by, any, &mut denied);
        denied.retain(|path| ends_as(path, &found));
        if !denied.is_empty() {
            found.append(&mut denied);
            found.sort();
        }
        found
    }

    /// The same in a folder of `all`; `denied` is told of files that nobody may read.
    fn find_within(
        &self,
        all: &Path,
        folder: &Path,
        depth: usize,
        passed_by: &mut dyn FnMut(PassedBy, &Path),
        any: bool,
        denied: &mut Vec<PathBuf>,
    ) -> Vec<PathBuf> {
        let Ok(entries) = entries(all, folder) else {
            passed_by(PassedBy::Unlisted, folder);
            return Vec::new();
        };
        let (mut found, mut too_deep) = (Vec::new(), false);
        for path in entries {
            if any && !found.is_empty() {
                break;
            }
            if path.is_dir() {
                if self.0.is_profile(&path) {
                    found.push(path);
                } else if depth > 1 {
                    found.extend(self.find_within(all, &path, depth - 1, passed_by, any, denied));
                } else if !any && !too_deep && self.holds(&path) {
                    too_deep = true;
                    passed_by(PassedBy::TooDeep, folder);
                }
            } else {
                match self.is_mine(&path) {
                    Ok(true) => found.push(path),
                    _ if any => {}
                    _ if self.is_named_so(&path) => found.push(path),
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied => denied.push(path),
                    Err(error) if hides(&error) => found.push(path),
                    Ok(false) | Err(_) => {}
                }
            }
        }
        found
    }

    /// Whether there is a profile of this format in `folder`, not too deep.
    fn holds(&self, folder: &Path) -> bool {
        !self.find(folder, DEPTH, &mut |_, _| {}, true).is_empty()
    }

    /// Whether a file has the format's own extension, packed or not: whatever is wrong in it, it was meant to be read.
    fn is_named_so(&self, path: &Path) -> bool {
        let is = |path: &Path, own| path.extension().is_some_and(|extension| extension == own);
        self.0.extension().is_some_and(|own| is(path, own) || is(path, "gz") && is(&path.with_extension(""), own))
    }

    fn is_mine(&self, path: &Path) -> io::Result<bool> {
        for most in [HEAD, source::HEAD] {
            let content = Content::begin(Box::new(File::open(path)?), most)?;
            let damage = content.damage();
            let Content::Bytes { head, complete, .. } = content else { break };
            if self.0.detect(&path.display().to_string(), &head, complete) == Detection::Yes {
                return Ok(true);
            }
            if let Some(error) = damage {
                return Err(error);
            }
            if complete || !self.0.looks_far() {
                break;
            }
        }
        Ok(false)
    }
}

/// Whether a file that gave this error may have been any profile, as one that is packed and damaged at its beginning.
pub(super) fn hides(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::PermissionDenied)
}

/// Whether the name of a file has the extension of one of `others`.
pub(super) fn ends_as(path: &Path, others: &[PathBuf]) -> bool {
    others.iter().any(|other| other.extension() == path.extension())
}

/// What lies in a folder of `all`, in the order of the names: without what is hidden, as Extra-P leaves it out, and without
/// links that lead back.
pub(super) fn entries(all: &Path, folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    let is_hidden = |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    entries.retain(|path| !is_hidden(path) && !leads_back(path, all));
    entries.sort();
    Ok(entries)
}

/// Whether this is a link to a folder that is inside of `all` too, where it is found by its own name, or around that or the link itself.
fn leads_back(folder: &Path, all: &Path) -> bool {
    if !folder.is_symlink() || !folder.is_dir() {
        return false;
    }
    let around = folder.parent().map_or_else(|| all.to_owned(), Path::to_owned);
    match (folder.canonicalize(), all.canonicalize(), around.canonicalize()) {
        (Ok(target), Ok(all), Ok(around)) => {
            target.starts_with(&all) || all.starts_with(&target) || around.starts_with(&target)
        }
        _ => true,
    }
}

/// A profile and where it was.
pub(super) struct Measured {
    /// The file or folder.
    path: PathBuf,
    /// How many names of `path` lie inside the folder that the user named.
    depth: usize,
    profile: Profile,
}

impl Measured {
    fn place(&self) -> Place {
        match self.path.as_os_str().is_empty() {
            true => Place::file("<standard input>"),
            false => Place::file(self.path.display().to_string()),
        }
    }

    /// What the name of the folder that it lies in says.
    fn said_by_folder(&self) -> Said {
        names::extrap(self.path.parent().map_or("", name_of))
    }

    /// What its own name says.
    fn said_by_file(&self) -> Said {
        names::extrap(names::stem(name_of(&self.path)))
    }
}

/// A file, and the parameters of its point.
type AtPoint = (PathBuf, Vec<(String, f64)>);

/// The files of gem5's statistics among `inputs` and in folders of them, each with its parameters; a single one needs none.
///
/// ```
/// use modeler::formats::statistics_of_gem5;
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("stats.txt");
/// std::fs::write(&file, "\n---------- Begin Simulation Statistics ----------\nsimTicks 5 # Ticks\n")?;
/// let found = statistics_of_gem5(&[file.clone()])?;
/// assert_eq!(found.iter().map(|(path, _)| path).collect::<Vec<_>>(), [&file]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// One cannot be read, or there are several whose names do not say at which points they are.
pub fn statistics_of_gem5(inputs: &[PathBuf]) -> Result<Vec<AtPoint>, ReadError> {
    let mut found: Vec<(usize, PathBuf)> = Vec::new();
    for input in inputs {
        let mut unknown = None;
        let mut passed_by = |why, path: &Path| {
            if why == PassedBy::Unlisted {
                unknown.get_or_insert_with(|| path.to_owned());
            }
        };
        let files: Vec<PathBuf> = match input.is_dir() {
            true => GEM5.find(input, DEPTH, &mut passed_by, false),
            false => vec![input.clone()].into_iter().filter(|file| GEM5.is_mine(file).unwrap_or(false)).collect(),
        };
        // Where `poise run` left runs and gem5 nothing else, a file of that name is somebody's own.
        let is_of_gem5 = !files.is_empty() || super::run_folders(input).is_empty();
        if let Some(error) = as_hdf5(input, input, DEPTH, &files).filter(|_| is_of_gem5) {
            return Err(error);
        }
        if let Some(folder) = unknown {
            return Err(unlisted(&folder));
        }
        let depth = |path: &PathBuf| path.components().count() - input.components().count();
        found.extend(files.into_iter().map(|path| (depth(&path), path)));
    }
    if let [(_, only)] = &found[..] {
        return Ok(vec![(only.clone(), Vec::new())]);
    }
    let read = |(depth, path): (usize, PathBuf)| {
        let profile = GEM5.0.read(Source::open(&path)?, Values::default())?;
        Ok(Measured { path, depth, profile })
    };
    let runs = found.into_iter().map(read).collect::<Result<Vec<Measured>, ReadError>>()?;
    if runs.is_empty() {
        return Ok(Vec::new());
    }
    let mut said = parameters(&runs, None)?;
    let constant = constants(&said);
    said.iter_mut().for_each(|said| said.parameters.retain(|(name, _)| !constant.contains(name)));
    Ok(runs.into_iter().zip(said).map(|(run, said)| (run.path, said.parameters)).collect())
}

/// What gem5 calls its statistics where it writes them as HDF5.
const STATISTICS_AS_HDF5: &str = "stats.h5";

/// The error that `path`, or what gem5 left in that folder of `all` without the statistics that `text` names, is HDF5. A run of ours may have
/// any files in its folder.
fn as_hdf5(all: &Path, path: &Path, depth: usize, text: &[PathBuf]) -> Option<ReadError> {
    if path.is_file() {
        let source = Source::open(path).ok()?;
        let Some((head, _)) = source.head().filter(|(head, _)| guess::is_hdf5(head)) else {
            // A gem5 that died leaves it so.
            let what = "this is what gem5 calls its statistics as HDF5, and it is empty or damaged";
            let error = ReadError::new(ErrorKind::NotRecognised, source.place(), what);
            return path.ends_with(STATISTICS_AS_HDF5).then(|| error.advice("Run gem5 with --stats-file=stats.txt"));
        };
        return guess::convertible(head).map(|found| not_read(source.place(), found));
    }
    if path.join(super::runs::RECORD).is_file() {
        return None;
    }
    let own = path.join(STATISTICS_AS_HDF5);
    let is_told = text.iter().any(|file| file.parent() == Some(path));
    if !is_told
        && own.is_file()
        && let Some(error) = as_hdf5(all, &own, depth, text)
    {
        return Some(error);
    }
    if depth <= 1 {
        return None;
    }
    let inner = entries(all, path).ok()?;
    inner.iter().filter(|inner| inner.is_dir()).find_map(|folder| as_hdf5(all, folder, depth - 1, text))
}

/// That a pattern without repetitions makes runs repetitions of each other, whatever else their names say.
fn pooled(pattern: &str, said: &[Said]) -> Option<String> {
    let mut runs: BTreeMap<Vec<(&str, u64)>, usize> = BTreeMap::new();
    for said in said.iter().filter(|said| said.repetition.is_none()) {
        let point = said.parameters.iter().map(|(name, value)| (name.as_str(), value.to_bits()));
        *runs.entry(point.collect()).or_default() += 1;
    }
    let most = runs.into_values().max().filter(|most| *most > 1)?;
    Some(format!(
        "the pattern `{pattern}` has no {{repetition}}, and up to {most} names say the same by it: these runs count as repetitions of each other, \
         whatever else their names say"
    ))
}

/// Adds the profiles of all inputs: the parameters depend on all of them.
pub(super) fn add(profiles: Vec<Measured>, options: &ReadOptions, into: &mut Collector) -> Result<(), ReadError> {
    if profiles.is_empty() {
        return Ok(());
    }
    let said = parameters(&profiles, options.pattern.as_deref())?;
    for message in unused_settings(&profiles, &said).into_iter().chain(mixed(&said)) {
        into.warn(IGNORED, profiles[0].place(), message);
    }
    if let Some(message) = options.pattern.as_deref().and_then(|pattern| pooled(pattern, &said)) {
        into.warn(ASSUMED, profiles[0].place(), message);
    }
    if let Some(message) = perhaps_results(&profiles, &said) {
        into.warn(ASSUMED, profiles[0].place(), message);
    }
    let constant = constants(&said);
    let mut runs: Vec<(Measured, Said)> = profiles.into_iter().zip(said).collect();
    // Stable: runs of one repetition stay in the order of their names.
    runs.sort_by_key(|(_, said)| said.repetition);
    for (run, said) in &mut runs {
        let place = run.place();
        into.warnings.append(&mut run.profile.warnings);
        let (dropped, kept) = said.parameters.iter().cloned().partition(|(name, _)| constant.contains(name));
        let found = RunFound { place: place.clone(), parameters: kept, constant: dropped, repetition: said.repetition };
        let names: Vec<String> = found.parameters.iter().map(|(name, _)| name.clone()).collect();
        let coordinates: Vec<f64> = found.parameters.iter().map(|&(_, value)| value).collect();
        let order = into.parameters(&names, &place)?;
        let point = into.point(&order, &coordinates);
        values(&run.profile, point, options.scaling, into);
        into.found.push(found);
    }
    Ok(())
}

/// Adds the values of one run.
fn values(profile: &Profile, point: u32, scaling: Scaling, into: &mut Collector) {
    let mut nodes: Vec<CallPathId> = Vec::with_capacity(profile.nodes.len());
    for node in &profile.nodes {
        nodes.push(into.callee(node.parent.map(|p| nodes[p as usize]), &node.name));
    }
    let threaded = scaling == Scaling::WeakThreaded;
    for &(node, column, reduced) in &profile.values {
        let Column { name, unit, fold, over_ranks } = &profile.columns[column as usize];
        let rounding = profile.rounded.iter().find(|(of, _)| *of == column).map(|(_, deviation)| *deviation);
        let declare = |over_ranks, into: &mut Collector| {
            let metric = into.metric(Metric { name: name.clone(), unit: (*unit).to_owned(), over_ranks });
            rounding.iter().for_each(|deviation| into.rounded(metric, *deviation));
            metric
        };
        let ranks = match profile.ranks {
            Some(ranks) if scaling != Scaling::Strong => ranks,
            _ => {
                let metric = declare(*over_ranks, into);
                into.add(nodes[node as usize], metric, point, reduced.whole(*fold));
                continue;
            }
        };
        for over in [OverRanks::Mean, OverRanks::Maximum, OverRanks::Minimum, OverRanks::Sum] {
            // A sum of shortest times means nothing.
            if (over != OverRanks::Sum || *fold == Fold::Sum) && reduced.knows(over, threaded) {
                let metric = declare(Some(over), into);
                into.add(nodes[node as usize], metric, point, reduced.over(over, ranks, threaded));
            }
        }
    }
}

/// What the names of all runs say, or the profiles themselves where names say nothing.
fn parameters(runs: &[Measured], pattern: Option<&str>) -> Result<Vec<Said>, ReadError> {
    if let Some(pattern) = pattern {
        let pattern = Pattern::new(pattern)?;
        return runs.iter().map(|run| pattern.find(&run.path)).collect();
    }
    let by_folder: Vec<Said> = runs.iter().map(Measured::said_by_folder).collect();
    let by_file: Vec<Said> = runs.iter().map(Measured::said_by_file).collect();
    // Extra-P takes the folder's name wherever profiles lie in folders of their own. Other folders have names for other
    // reasons, and count only where the files' names say less, or say no repetition where the folders' do.
    let in_scheme = |said: &[Said]| said.iter().all(|s| s.repetition.is_some());
    let own_folders = runs.iter().all(|run| run.depth > 1) || (in_scheme(&by_folder) && !in_scheme(&by_file));
    let (counts, told) = match (score(&by_folder), score(&by_file)) {
        (None, None) => {
            [&by_folder, &by_file].into_iter().try_for_each(|said| contradiction(runs, said))?;
            (false, [by_file, by_folder])
        }
        (Some(folder), Some(file)) if folder > file || (folder == file && own_folders) => (true, [by_folder, by_file]),
        (Some(_), None) => (true, [by_folder, by_file]),
        _ => (true, [by_file, by_folder]),
    };
    // A suffix in a name that counts hides a parameter; in one that does not, where runs would be repetitions of each other.
    let [first, second] = &told;
    let unclear = unclear(runs, first, None).or_else(|| unclear(runs, second, counts.then_some(first)));
    let best = told.into_iter().next().filter(|_| counts);
    let own = own_parameters(runs);
    let ranks = |run: &Measured| run.profile.processes.or(run.profile.ranks);
    let inside = || {
        let p = |run: &Measured| Some(vec![("p".to_owned(), f64::from(ranks(run)?))]);
        let by_ranks = || runs.iter().map(|r| Some(Said { parameters: p(r)?, ..Said::default() })).collect();
        if score(&own).is_some() { Some(own.clone()) } else { by_ranks() }
    };
    // Numbers in names that do not vary, such as a version or that of a folder, say less than what profiles tell of
    // themselves, and less than their ranks, which do.
    let ranks_vary =
        runs.iter().all(|run| ranks(run).is_some()) && runs.iter().any(|run| ranks(run) != ranks(&runs[0]));
    let best = best.filter(|said| score(said) > Some(0) || score(&own).is_none() && !ranks_vary);
    if let Some(error) = unclear.filter(|_| best.is_some() || score(&own).is_none() && !ranks_vary) {
        return Err(error);
    }
    best.or_else(inside).ok_or_else(|| {
        let twice = runs.iter().find_map(|run| Some((run, run.said_by_file().twice()?)));
        let silent = runs.iter().find(|run| run.said_by_file().parameters.is_empty());
        if let Some((run, text)) = silent.and_then(|run| Some((run, run.said_by_file().unclear.into_iter().next()?))) {
            return names::unclear(run.place(), &text);
        }
        let (run, what) = match twice {
            Some((run, name)) => (run, format!("its name says the parameter `{name}` twice")),
            None => {
                let run = silent.unwrap_or(&runs[0]);
                let apart = names::telling_apart(names::stem(name_of(&run.path)));
                let why = apart.map_or_else(String::new, |part| format!(": `{part}` only tells runs apart"));
                (run, format!("its name says no parameter{why}"))
            }
        };
        malnamed(run.place(), what).advice("Describe the names with --pattern, for example --pattern '*_{p}ranks'")
    })
}

/// The error that names differ in a number with a suffix: without that parameter, different runs would be repetitions.
/// Only runs that `points` puts at one point count, where they are given.
fn unclear(runs: &[Measured], said: &[Said], points: Option<&[Said]>) -> Option<ReadError> {
    let mut known: HashMap<Vec<(&str, u64)>, usize> = HashMap::new();
    let point = |at: usize| points.map_or_else(Vec::new, |points| points[at].point());
    let (first, other) = (0..said.len()).find_map(|at| {
        let first = *known.entry(point(at)).or_insert(at);
        (said[first].unclear != said[at].unclear).then_some((first, at))
    })?;
    let differing = |here: usize, there: usize| {
        let text = said[here].unclear.iter().find(|text| !said[there].unclear.contains(text))?;
        Some(names::unclear(runs[here].place(), text))
    };
    differing(first, other).or_else(|| differing(other, first))
}

/// That names of runs at one point begin differently, as those of two programs or of two kinds of scaling do.
fn mixed(said: &[Said]) -> Option<String> {
    let mut known: HashMap<Vec<(&str, u64)>, &str> = HashMap::new();
    let (first, other) = said.iter().find_map(|said| {
        let first = *known.entry(said.point()).or_insert(&said.prefix);
        (first != said.prefix).then_some((first, said.prefix.as_str()))
    })?;
    let called = |prefix: &str| if prefix.is_empty() { "without a prefix".to_owned() } else { format!("`{prefix}`") };
    Some(format!(
        "Names of runs at one point begin differently ({} and {}), and these count as repetitions. If they are of several programs or \
         series, give the files of each alone.",
        called(first),
        called(other)
    ))
}

/// What the profiles tell of themselves: their parameters, and those of their settings that vary and do not follow from the parameters
/// before. Those with the fewest values come first, since they are what people choose; but one that follows from a single other setting
/// with more values, as the levels of a tree from its size, cannot be told from that. What has another value in every run, where others tell
/// points apart and it has no name for parameters, is a result of the runs, as their memory is.
fn own_parameters(runs: &[Measured]) -> Vec<Said> {
    let own = |run: &Measured| Said { parameters: run.profile.parameters.clone(), ..Said::default() };
    let mut said: Vec<Said> = runs.iter().map(own).collect();
    let mut chosen: Vec<(String, Vec<f64>)> = Vec::new();
    for (name, values) in varying_settings(runs) {
        if !follows(&values, &said) && !is_result(&name, &values, &said) {
            let each = said.iter_mut().zip(&values);
            each.for_each(|(said, &value)| said.parameters.push((name.clone(), value)));
            chosen.push((name, values));
        }
    }
    while let Some((name, values)) = chosen.pop() {
        // As many values as its own would make each follow from the other, and then the later one was not chosen.
        let alone = |value: &f64| Said { parameters: vec![(name.clone(), *value)], ..Said::default() };
        let points: Vec<Said> = values.iter().map(alone).collect();
        // What has a name for parameters is none of another's results.
        let may_follow = |coarser: &str| is_parameter(&name) || !is_parameter(coarser);
        let follow = |(coarser, values): &&(String, Vec<f64>)| may_follow(coarser) && follows(values, &points);
        for (coarser, _) in chosen.iter().filter(follow) {
            said.iter_mut().for_each(|said| said.parameters.retain(|(own, _)| own != coarser));
        }
    }
    said
}

/// The settings that all runs tell, that vary and that are no parameters of theirs, each with its values; those with the fewest first,
/// and of as many those that have a name for parameters.
fn varying_settings(runs: &[Measured]) -> Vec<(String, Vec<f64>)> {
    let setting = |run: &Measured, name: &str| run.profile.settings.iter().find(|s| s.0 == name).map(|s| s.1);
    let is_told = |name: &str| runs.iter().any(|run| run.profile.parameters.iter().any(|(own, _)| own == name));
    let first = runs.first().map_or(&[][..], |run| &run.profile.settings);
    let told = first.iter().filter(|(name, _)| !is_told(name)).filter_map(|(name, _)| {
        Some((name.clone(), runs.iter().map(|run| setting(run, name)).collect::<Option<Vec<f64>>>()?))
    });
    let mut varying: Vec<(String, Vec<f64>)> = told.filter(|(_, values)| different(values) > 1).collect();
    varying.sort_by_key(|(name, values)| (different(values), !is_parameter(name)));
    varying
}

fn different(values: &[f64]) -> usize {
    values.iter().map(|value| value.to_bits()).collect::<HashSet<u64>>().len()
}

/// Whether a setting is what came out of runs and not what was put in: each has its own value, and others tell several points apart.
fn is_result(name: &str, values: &[f64], points: &[Said]) -> bool {
    let is_varying = points.iter().any(|said| said.parameters != points[0].parameters);
    !is_parameter(name) && is_varying && different(values) == values.len()
}

/// That settings beside other parameters were taken for parameters although most runs have their own value, if some were: results that
/// are the same in two runs by chance look like that, and so do parameters that were varied one at a time.
fn perhaps_results(runs: &[Measured], said: &[Said]) -> Option<String> {
    let names = said.first().map(Said::names).unwrap_or_default();
    if names.len() < 2 || said != own_parameters(runs) {
        return None;
    }
    let is_doubtful = |(name, values): &(String, Vec<f64>)| {
        names.contains(name) && !is_parameter(name) && 2 * different(values) > values.len()
    };
    let doubtful = varying_settings(runs).into_iter().filter(is_doubtful);
    let told: Vec<String> = doubtful
        .map(|(name, values)| format!("`{name}`, of which {} runs have {} values", values.len(), different(&values)))
        .collect();
    (!told.is_empty()).then(|| {
        format!(
            "This was taken for a parameter: {}. If it is a result of the runs, say their parameters in the names of files or folders, as in \
             app.p4.n10.r1.",
            told.join(", ")
        )
    })
}

/// Whether runs at one point have one value each of `values`.
fn follows(values: &[f64], points: &[Said]) -> bool {
    let mut known: HashMap<Vec<u64>, f64> = HashMap::new();
    points.iter().zip(values).all(|(said, &value)| {
        let point = said.parameters.iter().map(|(_, coordinate)| coordinate.to_bits()).collect();
        *known.entry(point).or_insert(value) == value
    })
}

/// What became of settings that vary and are no parameters, where people may think that they are.
fn unused_settings(runs: &[Measured], said: &[Said]) -> Vec<String> {
    let names = said.first().map(Said::names).unwrap_or_default();
    let unused = varying_settings(runs).into_iter().filter(|(name, _)| !names.contains(name));
    let (following, others): (Vec<_>, Vec<_>) = unused.partition(|(_, values)| follows(values, said));
    let listed =
        |these: &[(String, Vec<f64>)]| these.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let example = |these: &[(String, Vec<f64>)]| {
        these.first().map_or_else(String::new, |(name, values)| format!("app.{name}{}.r1", values[0]))
    };
    let mut told = Vec::new();
    let is_own = said == own_parameters(runs);
    if !others.is_empty() && is_own {
        told.push(format!(
            "What has another value in every run is a result of it and no parameter: {}. To model over it instead, say it in the names of \
             files or folders, as in {}.",
            listed(&others),
            example(&others)
        ));
    } else if !others.is_empty() {
        told.push(format!(
            "Names of files and folders say the parameters, and runs that they say to be at one point differ in {}: these count as repetitions. \
             If it is a parameter, say it in the names, as in {}, or take all parameters out of them.",
            listed(&others),
            example(&others)
        ));
    }
    // Names that say all there is to say need no word about the rest.
    if !following.is_empty() && is_own {
        let parameters = names.into_iter().collect::<Vec<_>>().join(" and ");
        told.push(format!(
            "What follows from {parameters} is no parameter of its own: {}. To model over it instead, say it in the names of files or folders, as in {}.",
            listed(&following),
            example(&following)
        ));
    }
    told
}

/// The error that two runs do not name the same parameters, where names are in Extra-P's scheme up to the repetition and
/// say none twice: such names are no accident, and falling back to the number of ranks would lose what they say.
fn contradiction(runs: &[Measured], said: &[Said]) -> Result<(), ReadError> {
    let Some(first) = said.iter().position(|s| s.repetition.is_some() && s.twice().is_none()) else { return Ok(()) };
    let Some(other) = said.iter().position(|s| s.names() != said[first].names() && s.twice().is_none()) else {
        return Ok(());
    };
    let (here, there) = (listed(&said[other].names()), listed(&said[first].names()));
    let what = format!("the name says {here}, and that of {} says {there}", runs[first].place());
    Err(ReadError::new(ErrorKind::NotRecognised, runs[other].place(), what)
        .expected("names of runs that all say the same parameters")
        .advice("Give the runs of one program alone, or describe the names with --pattern"))
}

/// Takes out the profiles whose names do not say the parameters that those of most do, with the reason for each.
pub(super) fn odd(profiles: &mut Vec<Measured>, options: &ReadOptions) -> Vec<ReadError> {
    let said: Vec<Result<Said, ReadError>> = match (parameters(profiles, options.pattern.as_deref()), &options.pattern)
    {
        (Ok(said), _) => said.into_iter().map(Ok).collect(),
        (Err(error), Some(pattern)) => match Pattern::new(pattern) {
            // A pattern that is wrong for all is one mistake.
            Ok(pattern) if profiles.iter().all(|run| pattern.find(&run.path).is_err()) => {
                let runs = std::mem::take(profiles);
                // The mistake first, then each name that was seen.
                let each = runs.iter().filter_map(|run| pattern.find(&run.path).err());
                return if runs.len() > 1 {
                    [pattern.matches_none(runs.len(), &error)].into_iter().chain(each).collect()
                } else {
                    vec![error]
                };
            }
            Ok(pattern) => profiles.iter().map(|run| pattern.find(&run.path)).collect(),
            Err(_) => return vec![error],
        },
        (Err(_), None) => {
            let in_folder: Vec<Said> = profiles.iter().map(Measured::said_by_folder).collect();
            let in_file: Vec<Said> = profiles.iter().map(Measured::said_by_file).collect();
            // Whichever says the same of more runs is what they were named by.
            let agreeing = |said: &[Said]| {
                let sets: Vec<BTreeSet<String>> = said.iter().map(Said::names).collect();
                let most = most_named(&sets);
                if most.is_empty() { 0 } else { sets.iter().filter(|set| **set == most).count() }
            };
            let by_folder = agreeing(&in_folder) > agreeing(&in_file);
            (if by_folder { in_folder } else { in_file }).into_iter().map(Ok).collect()
        }
    };
    let names = |said: &Result<Said, ReadError>| said.as_ref().map_or_else(|_| BTreeSet::new(), Said::names);
    let most = most_named(&said.iter().map(names).collect::<Vec<_>>());
    let (mut kept, mut odd) = (Vec::new(), Vec::new());
    for (run, said) in std::mem::take(profiles).into_iter().zip(said) {
        let what = match (said, run.place()) {
            (Err(error), _) => error,
            (Ok(said), place) => match said.twice() {
                Some(name) => malnamed(place, format!("its name says the parameter `{name}` twice")),
                None if said.names() == most => {
                    kept.push(run);
                    continue;
                }
                None => {
                    let (own, most) = (listed(&said.names()), listed(&most));
                    malnamed(place, format!("its name says {own}, and most names say {most}"))
                }
            },
        };
        odd.push(what);
    }
    *profiles = kept;
    odd
}

fn malnamed(place: Place, what: String) -> ReadError {
    ReadError::new(ErrorKind::NotRecognised, place, what).expected("a file or folder named as app.p4.n10.r1")
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|n| n.to_str()).unwrap_or_default()
}

/// How many parameters vary, if all runs say some, and none of them one twice.
fn score(said: &[Said]) -> Option<usize> {
    let first = said.first()?;
    let silent = said.iter().any(|s| s.parameters.is_empty() || s.twice().is_some());
    (!silent).then(|| first.parameters.len() - unvarying(said).len())
}

/// Parameters that are left out because they have one value in all runs; none where no other would be left.
fn constants(said: &[Said]) -> BTreeSet<String> {
    let constant = unvarying(said);
    if said.first().is_some_and(|first| constant.len() == first.parameters.len()) { BTreeSet::new() } else { constant }
}

/// Parameters that have one value in all runs.
fn unvarying(said: &[Said]) -> BTreeSet<String> {
    let first = said.first().map_or(&[][..], |s| &s.parameters);
    let everywhere = |p: &&(String, f64)| said.iter().all(|s| s.parameters.contains(p));
    first.iter().filter(everywhere).map(|(name, _)| name.clone()).collect()
}
