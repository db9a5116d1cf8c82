//! Runs that `poise run` measured: a folder of run folders, one run folder, or profiles alone.
//!
//! A run folder holds the record `run.json` and the profile that it names. `docs/formats.md` specifies both.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use poise_profile::{Metric as Counted, Node, OverRanks as Counts, Profile, Region, RegionKind};
use serde::Deserialize;

use super::collect::Collector;
use super::engines;
use super::error::{CONTRADICTION, ErrorKind, Place, RUN_LEFT_OUT, ReadError};
use super::extrap_json::Pairs;
use super::json::Document;
use super::regions::Names;
use super::source::{Source, text};
use super::survey::{listed, most_named};
use super::{Detection, Format, Reader};
use crate::absorption::scaling;
use crate::experiment::{CallPathId, Metric, OverRanks};
use crate::words::counted;

/// Reads runs.
pub(crate) struct Runs;

/// The record's file name.
pub(super) const RECORD: &str = "run.json";
/// The file that says which measurements are not to be used.
const SELECTION: &str = "selection.json";
/// How every profile begins.
const MAGIC: &[u8] = b"\x8fPOISE\r\n";

impl Reader for Runs {
    fn format(&self) -> Format {
        Format::Runs
    }

    fn detect(&self, source: &Source) -> Detection {
        match (&source.path, source.head()) {
            (_, Some((head, _))) if head.starts_with(MAGIC) => Detection::Yes,
            (_, Some(_)) => Detection::no("it does not begin as a profile does"),
            (Some(folder), None) => match find(folder) {
                Ok(found) if found.is_empty() && groups(folder).is_ok_and(|groups| !groups.is_empty()) => {
                    Detection::Yes
                }
                Ok(found) if found.is_empty() => {
                    Detection::no("neither it nor a folder in it holds run.json, and it holds no .poise file")
                }
                Ok(_) => Detection::Yes,
                Err(error) => Detection::no(&format!("it cannot be listed: {error}")),
            },
            (None, None) => Detection::no("it has no content"),
        }
    }

    fn read(&self, source: Source, into: &mut Collector) -> Result<(), ReadError> {
        let place = source.place();
        if let (Some(folder), None) = (&source.path, source.head()) {
            let listed = |e: std::io::Error| {
                ReadError::new(ErrorKind::Unreadable, place.clone(), format!("cannot be listed: {e}"))
            };
            let folder = &the_only_group(folder).map_err(listed)??;
            let selection = Selection::read(folder)?;
            for item in find(folder).map_err(listed)? {
                let run = match &item {
                    Found::Run(folder) => recorded(folder, into),
                    Found::Profile(path) => bare(&path.display().to_string(), fs::read(path)),
                };
                match run {
                    Ok(Some(mut run)) => {
                        let (Found::Run(path) | Found::Profile(path)) = &item;
                        run.dropped = selection.of(path);
                        into.runs.push(run);
                    }
                    Ok(None) => {}
                    Err(error) => into.warn(RUN_LEFT_OUT, error.place.clone(), left_out(&error)),
                }
            }
        } else {
            let name = source.name.clone();
            into.runs.extend(bare(&name, Ok(source.into_bytes()?))?);
        }
        Ok(())
    }
}

/// A run with its whole profile.
///
/// ```
/// use modeler::formats::measured_runs;
/// # use poise_profile::{Metric, RankBuilder, Region, RegionKind};
/// # let mut builder = RankBuilder::new();
/// # let main = builder.node(None, Region { name: "main".into(), file: String::new(), line: 0, kind: RegionKind::Function });
/// # builder.add(main, Metric::BasicBlocks, 42);
/// # let profile = builder.finish(0);
/// # let folder = tempfile::tempdir()?;
/// let file = folder.path().join("profile.poise");
/// profile.write(&file)?;
/// let run = &measured_runs(&file)?[0];
/// assert_eq!((run.parameters.as_slice(), run.failure.as_deref()), (&[("p".to_owned(), 1.0)][..], None)); // one rank
/// assert_eq!(run.profile.values, profile.values);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct MeasuredRun {
    /// Its folder's or file's name.
    pub name: String,
    /// Parameters and their values.
    pub parameters: Vec<(String, f64)>,
    /// What it measured.
    pub profile: Profile,
    /// Why it failed, in a sentence, if it did; it may have ended early then.
    pub failure: Option<String>,
}

/// The complete runs at `path`: a profile, a run's folder, or a folder of either; in the order of their names.
///
/// ```
/// use modeler::formats::measured_runs;
/// # use poise_profile::{Metric, RankBuilder, Region, RegionKind};
/// # let mut builder = RankBuilder::new();
/// # let main = builder.node(None, Region { name: "main".into(), file: String::new(), line: 0, kind: RegionKind::Function });
/// # builder.add(main, Metric::BasicBlocks, 42);
/// # let profile = builder.finish(0);
/// # let folder = tempfile::tempdir()?;
/// for name in ["b.poise", "a.poise"] {
///     profile.write(folder.path().join(name))?;
/// }
/// let runs = measured_runs(folder.path())?;
/// assert_eq!(runs.len(), 2);
/// assert!(runs[0].name.ends_with("a.poise") && runs[1].name.ends_with("b.poise"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Something cannot be read, or is no run.
pub fn measured_runs(path: &Path) -> Result<Vec<MeasuredRun>, ReadError> {
    let mut runs = kept_runs(path)?;
    runs.retain(|run| run.failure.is_none());
    Ok(runs)
}

/// These, and the failed ones that left a profile.
///
/// ```
/// use modeler::formats::{kept_runs, measured_runs};
/// # use poise_profile::{Metric, RankBuilder, Region, RegionKind};
/// # let mut builder = RankBuilder::new();
/// # let main = builder.node(None, Region { name: "main".into(), file: String::new(), line: 0, kind: RegionKind::Function });
/// # builder.add(main, Metric::BasicBlocks, 42);
/// # let profile = builder.finish(0);
/// # let folder = tempfile::tempdir()?;
/// let run = folder.path().join("run");
/// std::fs::create_dir(&run)?;
/// profile.write(run.join("profile.poise"))?;
/// let record = r#"{"schema": "counterpoise/run", "schema_version": 1, "parameters": {"p": 1},
///                  "status": "failed", "reason": "It crashed."}"#;
/// std::fs::write(run.join("run.json"), record)?;
/// assert_eq!(kept_runs(folder.path())?[0].failure.as_deref(), Some("It crashed."));
/// assert!(measured_runs(folder.path())?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Something cannot be read, or is no run.
pub fn kept_runs(path: &Path) -> Result<Vec<MeasuredRun>, ReadError> {
    let name = path.display().to_string();
    let mut ignored = Collector::default();
    let mut runs = Vec::new();
    let found = match path.is_dir() {
        true => find(path).map_err(|e| unreadable(&name, &e))?,
        false => vec![Found::Profile(path.to_owned())],
    };
    for item in found {
        let (run, failure) = match &item {
            Found::Run(folder) => {
                let record = record_of(folder)?;
                let failure = record.failure();
                let run = of_record(folder, record, &mut ignored);
                // One that failed need not have left anything.
                (if failure.is_some() { run.ok() } else { Some(run?) }, failure)
            }
            Found::Profile(file) => (bare(&file.display().to_string(), fs::read(file))?, None),
        };
        runs.extend(run.map(|run| run.measured(failure)));
    }
    Ok(runs)
}

/// What a folder holds.
enum Found {
    /// A folder with a record.
    Run(PathBuf),
    /// A profile without one.
    Profile(PathBuf),
}

/// The runs in `folder`, which is a run itself, holds runs, or holds profiles; in the order of their names.
fn find(folder: &Path) -> std::io::Result<Vec<Found>> {
    if folder.join(RECORD).is_file() {
        return Ok(vec![Found::Run(folder.to_owned())]);
    }
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // Names that begin with a dot are runs that have not ended.
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            paths.push(entry.path());
        }
    }
    paths.sort();
    let is_profile = |path: &Path| path.extension().is_some_and(|e| e == "poise") && path.is_file();
    Ok(paths
        .into_iter()
        .filter_map(|path| match path.join(RECORD).is_file() {
            true => Some(Found::Run(path)),
            false => is_profile(&path).then_some(Found::Profile(path)),
        })
        .collect())
}

/// The folders with a record in `folder`, or itself, or in its groups; in the order of their names. None where it cannot
/// be listed.
pub(crate) fn run_folders(folder: &Path) -> Vec<PathBuf> {
    let mut found = find(folder).unwrap_or_default();
    if found.is_empty() {
        found = groups(folder).unwrap_or_default().iter().flat_map(|group| find(group).unwrap_or_default()).collect();
    }
    let is_run = |found| match found {
        Found::Run(path) => Some(path),
        Found::Profile(_) => None,
    };
    found.into_iter().filter_map(is_run).collect()
}

/// The folders in `folder` that hold runs: a study leaves one for each combination of its parameters that are texts.
fn groups(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut groups = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if !is_hidden && entry.path().is_dir() && !find(&entry.path())?.is_empty() {
            groups.push(entry.path());
        }
    }
    groups.sort();
    Ok(groups)
}

/// `folder`, or the only group in it.
fn the_only_group(folder: &Path) -> std::io::Result<Result<PathBuf, ReadError>> {
    if !find(folder)?.is_empty() {
        return Ok(Ok(folder.to_owned()));
    }
    let mut groups = groups(folder)?;
    Ok(match groups.len() {
        0 => Ok(folder.to_owned()),
        1 => Ok(groups.remove(0)),
        _ => {
            let names: Vec<String> = groups.iter().map(|group| group.display().to_string()).collect();
            let what = format!("it holds {} groups of runs, which differ in more than numbers", names.len());
            Err(ReadError::new(ErrorKind::Malformed, Place::file(folder.display().to_string()), what)
                .expected("one group")
                .advice(format!("name one of {}", names.join(", "))))
        }
    })
}

/// Which measurements of a folder of runs are not to be used, by run.
#[derive(Default)]
pub(crate) struct Selection(HashMap<String, Dropped>);

/// What of a run is not used, and why.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dropped {
    /// Why its times are not, if they are not.
    pub(crate) time: Option<String>,
    /// Why its other metrics are not.
    pub(crate) effort: Option<String>,
}

impl Dropped {
    /// Why the metric of this name, one of a profile's, is not used.
    pub(crate) fn of_metric(&self, name: &str) -> Option<&str> {
        let counted = Counted::ALL.into_iter().find(|counted| counted.name() == name)?;
        if is_time(counted) { self.time.as_deref() } else { self.effort.as_deref() }
    }
}

impl Selection {
    /// Reads the folder's selection, if it has one.
    pub(crate) fn read(folder: &Path) -> Result<Self, ReadError> {
        #[derive(Deserialize)]
        struct File {
            schema: String,
            schema_version: u32,
            dropped: Vec<Entry>,
        }
        #[derive(Deserialize)]
        struct Entry {
            run: String,
            metrics: String,
            #[serde(default)]
            reason: String,
        }
        let path = folder.join(SELECTION);
        let name = path.display().to_string();
        let text = match fs::read(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            bytes => text(&name, bytes.map_err(|e| unreadable(&name, &e))?)?,
        };
        let file: File = Document { name: &name, text: &text }.parse()?;
        if file.schema != "counterpoise/selection" || file.schema_version != 1 {
            let what = format!("the selection is `{}` version {}", file.schema, file.schema_version);
            return Err(ReadError::malformed(Place::file(&name), what).expected("`counterpoise/selection` version 1"));
        }
        let mut selection = Self::default();
        for entry in file.dropped {
            let dropped = selection.0.entry(entry.run).or_default();
            match entry.metrics.as_str() {
                "time" => dropped.time = Some(entry.reason),
                "effort" => dropped.effort = Some(entry.reason),
                other => {
                    let what = format!("`metrics` is `{other}`");
                    return Err(ReadError::malformed(Place::file(&name), what).expected("`time` or `effort`"));
                }
            }
        }
        Ok(selection)
    }

    /// What it says of a run's folder or file.
    pub(crate) fn of(&self, path: &Path) -> Dropped {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        self.0.get(&name).cloned().unwrap_or_default()
    }
}

/// One complete run.
pub(super) struct Run {
    dropped: Dropped,
    name: String,
    parameters: Vec<(String, f64)>,
    repetition: u32,
    profile: Profile,
}

impl Run {
    fn measured(self, failure: Option<String>) -> MeasuredRun {
        MeasuredRun { name: self.name, parameters: self.parameters, profile: self.profile, failure }
    }
}

/// The record; keys beyond these are for people.
#[derive(Deserialize)]
struct Record {
    schema: String,
    schema_version: u32,
    parameters: Pairs<f64>,
    #[serde(default = "first")]
    repetition: u32,
    status: String,
    reason: Option<String>,
    profile: Option<String>,
    /// Elapsed time of the command, s.
    seconds: Option<f64>,
    machine: Option<Machine>,
}

impl Record {
    /// What a run without a profile is known to have taken, if it never had one.
    fn elapsed(&self, profile: &Path) -> Option<f64> {
        self.seconds.filter(|seconds| self.profile.is_none() && !profile.exists() && seconds.is_finite())
    }

    /// Why the run failed, if it did.
    fn failure(&self) -> Option<String> {
        let reason = || self.reason.clone().unwrap_or_else(|| format!("Its status is `{}`.", self.status));
        (self.status != "complete").then(reason)
    }

    /// Where its profile is, or would be.
    fn profile_in(&self, folder: &Path) -> PathBuf {
        folder.join(self.profile.as_deref().unwrap_or("profile.poise"))
    }
}

/// The call path of a run of which nothing but its elapsed time is known.
const WHOLE_RUN: &str = "(whole run)";

/// A run as the profile that says how long the command took, and nothing else.
fn of_elapsed(seconds: f64) -> Profile {
    let region = Region { name: WHOLE_RUN.into(), file: String::new(), line: 0, kind: RegionKind::Function };
    let nanoseconds = Counts::of_rank(0, (seconds.max(0.0) * 1e9).round() as u64);
    Profile {
        ranks: 1,
        regions: vec![region],
        nodes: vec![Node { parent: None, region: 0 }],
        values: [((0, Counted::Time), nanoseconds)].into(),
        ..Profile::default()
    }
}

/// What was noticed about the machine while the run went on.
#[derive(Deserialize)]
struct Machine {
    /// What makes the run's times untrustworthy.
    #[serde(default)]
    concerns: Vec<String>,
}

fn first() -> u32 {
    1
}

/// The run in `folder`, or nothing, with a warning, where it failed.
fn recorded(folder: &Path, into: &mut Collector) -> Result<Option<Run>, ReadError> {
    let record = record_of(folder)?;
    if let Some(reason) = record.failure() {
        let place = Place::file(folder.join(RECORD).display().to_string());
        into.warn(RUN_LEFT_OUT, place, format!("The run was left out because it failed. {reason}"));
        return Ok(None);
    }
    of_record(folder, record, into).map(Some)
}

/// The record in a run's folder.
fn record_of(folder: &Path) -> Result<Record, ReadError> {
    let path = folder.join(RECORD);
    let name = path.display().to_string();
    let text = text(&name, fs::read(&path).map_err(|e| unreadable(&name, &e))?)?;
    let document = Document { name: &name, text: &text };
    let record: Record = document.parse()?;
    if record.schema != "counterpoise/run" || record.schema_version != 1 {
        let what = format!("the record is `{}` version {}", record.schema, record.schema_version);
        return Err(ReadError::malformed(Place::file(&name), what).expected("`counterpoise/run` version 1"));
    }
    Ok(record)
}

/// The run of a record, failed or not.
fn of_record(folder: &Path, record: Record, into: &mut Collector) -> Result<Run, ReadError> {
    let name = folder.join(RECORD).display().to_string();
    let run = folder.file_name().map_or_else(|| name.clone(), |n| n.to_string_lossy().into_owned());
    let profile_path = record.profile_in(folder);
    let profile_name = profile_path.display().to_string();
    let elapsed = record.elapsed(&profile_path);
    into.machine.extend(record.machine.into_iter().flat_map(|m| m.concerns).map(|concern| (run.clone(), concern)));
    let profile = match elapsed {
        Some(seconds) => of_elapsed(seconds),
        None => decode(&profile_name, &fs::read(&profile_path).map_err(|e| unreadable(&profile_name, &e))?)?,
    };
    let parameters =
        if record.parameters.0.is_empty() { own_parameters(&profile_name, &profile)? } else { record.parameters.0 };
    for (parameter, value) in &parameters {
        if !value.is_finite() {
            return Err(ReadError::malformed(Place::file(&name), format!("the parameter `{parameter}` is not finite")));
        }
        if elapsed.is_none() && parameter == "p" && *value != f64::from(profile.ranks) {
            let ranks = counted(profile.ranks, "rank", "ranks");
            let message = format!("The record says p = {value}, and the profile holds {ranks}.");
            into.warn(CONTRADICTION, Place::file(&name), message);
        }
    }
    Ok(Run { dropped: Dropped::default(), name, parameters, repetition: record.repetition, profile })
}

/// A profile without a record.
fn bare(name: &str, bytes: std::io::Result<Vec<u8>>) -> Result<Option<Run>, ReadError> {
    let profile = decode(name, &bytes.map_err(|e| unreadable(name, &e))?)?;
    let parameters = own_parameters(name, &profile)?;
    Ok(Some(Run { dropped: Dropped::default(), name: name.to_owned(), parameters, repetition: 1, profile }))
}

fn decode(name: &str, bytes: &[u8]) -> Result<Profile, ReadError> {
    Profile::decode(bytes).map_err(|error| ReadError::malformed(Place::file(name), error.to_string()))
}

fn unreadable(name: &str, error: &std::io::Error) -> ReadError {
    ReadError::new(ErrorKind::Unreadable, Place::file(name), format!("cannot be read: {error}"))
}

/// The parameters that a profile's metadata names, or the number of ranks as p where it names none.
fn own_parameters(name: &str, profile: &Profile) -> Result<Vec<(String, f64)>, ReadError> {
    let mut parameters = Vec::new();
    for (key, value) in &profile.metadata {
        let Some(parameter) = key.strip_prefix("parameter.") else { continue };
        match value.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => parameters.push((parameter.to_owned(), number)),
            _ => {
                let what = format!("the parameter `{parameter}` is `{value}`");
                return Err(ReadError::malformed(Place::file(name), what).expected("a finite number"));
            }
        }
    }
    if parameters.is_empty() {
        parameters.push(("p".to_owned(), f64::from(profile.ranks)));
    }
    Ok(parameters)
}

pub(super) fn left_out(error: &ReadError) -> String {
    let expected = error.expected.as_ref().map_or(String::new(), |e| format!("; expected {e}"));
    let advice = error.advice.as_ref().map_or(String::new(), |advice| format!(" {advice}."));
    let it = if error.what.starts_with("cannot ") { "it " } else { "" };
    format!("The run was left out because {it}{}{expected}.{advice}", error.what)
}

/// Takes out the runs that have other parameters than most, or another engine, with the reason for each.
pub(super) fn odd(runs: &mut Vec<Run>) -> Vec<ReadError> {
    let mut errors = with_other_parameters(runs);
    let named = |run: &Run| BTreeSet::from([engines::engine(&run.profile).to_owned()]);
    let most = most_named(&runs.iter().map(named).collect::<Vec<_>>());
    let (kept, others): (Vec<Run>, Vec<Run>) = std::mem::take(runs).into_iter().partition(|run| named(run) == most);
    *runs = kept;
    // Of two and two no engine counted most.
    let word = if runs.len() > others.len() { "most" } else { "others" };
    let error = |run: Run| {
        let most = most.first().map_or("", String::as_str);
        let what = format!("the run is counted by {}, and {word} by {most}", engines::engine(&run.profile));
        ReadError::malformed(Place::file(&run.name), what).expected("the same engine throughout")
    };
    errors.extend(others.into_iter().map(error));
    errors
}

/// Takes out the runs that have other parameters than most.
fn with_other_parameters(runs: &mut Vec<Run>) -> Vec<ReadError> {
    let set = |run: &Run| run.parameters.iter().map(|(name, _)| name.clone()).collect::<BTreeSet<String>>();
    let most = most_named(&runs.iter().map(set).collect::<Vec<_>>());
    let (kept, others): (Vec<Run>, Vec<Run>) = std::mem::take(runs).into_iter().partition(|run| set(run) == most);
    *runs = kept;
    let error = |run: Run| {
        let what = format!("the run has {}, and most have {}", listed(&set(&run)), listed(&most));
        ReadError::malformed(Place::file(&run.name), what).expected("the same parameters throughout")
    };
    others.into_iter().map(error).collect()
}

/// Adds complete runs, sorted by repetition so that repetitions keep their order.
pub(super) fn add(mut runs: Vec<Run>, into: &mut Collector) -> Result<(), ReadError> {
    if let Some(what) = engines::several(runs.iter().map(|run| (run.name.as_str(), engines::engine(&run.profile)))) {
        let place = runs.first().map_or_else(|| Place::file("runs"), |run| Place::file(&run.name));
        return Err(ReadError::malformed(place, what)
            .expected("runs of one engine")
            .advice("Give those of one engine alone"));
    }
    runs.sort_by_key(|run| run.repetition);
    let names = Names::of(runs.iter().map(|run| &run.profile));
    for run in &runs {
        let parameters: Vec<String> = run.parameters.iter().map(|(name, _)| name.clone()).collect();
        let coordinates: Vec<f64> = run.parameters.iter().map(|&(_, value)| value).collect();
        let order = into.parameters(&parameters, &Place::file(&run.name))?;
        let point = into.point(&order, &coordinates);
        let callpaths = callpaths(run, &names, into)?;
        let absorbed = scaling::of_run(&run.profile);
        // Where noise was injected times hold the noise, too.
        let noisy = run.profile.noise.is_injected();
        for added in absorbed {
            for (metric, value) in added.values {
                let metric = into.metric(metric);
                into.add(callpaths[added.node as usize], metric, point, value);
            }
        }
        for (&(node, counted), counts) in run.profile.values.iter().filter(|((_, c), _)| !noisy || !is_time(*c)) {
            if if is_time(counted) { run.dropped.time.is_some() } else { run.dropped.effort.is_some() } {
                continue;
            }
            for over_ranks in [OverRanks::Mean, OverRanks::Maximum, OverRanks::Minimum, OverRanks::Sum] {
                let metric = into.metric(metric(counted, over_ranks));
                let value = reduce(counts, run.profile.ranks, over_ranks) * scale(counted);
                into.add(callpaths[node as usize], metric, point, value);
            }
        }
    }
    let is_phased =
        |run: &Run| !run.profile.phases.is_empty() && run.dropped.time.is_none() && run.dropped.effort.is_none();
    into.phased = runs.into_iter().filter(is_phased).map(|run| run.measured(None)).collect();
    Ok(())
}

/// The experiment's call path of each node of a run.
fn callpaths(run: &Run, names: &Names, into: &mut Collector) -> Result<Vec<CallPathId>, ReadError> {
    let mut ids: Vec<CallPathId> = Vec::with_capacity(run.profile.nodes.len());
    let mut met = HashSet::new();
    for node in &run.profile.nodes {
        let parent = node.parent.map(|parent| ids[parent as usize]);
        let name = names.show(&run.profile.regions[node.region as usize]);
        let id = into.callee(parent, &name);
        if !met.insert(id) {
            let what = format!("the call path that ends in `{name}` has two nodes");
            return Err(ReadError::malformed(Place::file(&run.name), what).expected("one node for each call path"));
        }
        ids.push(id);
    }
    Ok(ids)
}

/// The metric of an experiment that `counted` becomes.
fn metric(counted: Counted, over_ranks: OverRanks) -> Metric {
    let unit = match counted {
        Counted::Time | Counted::WaitTime | Counted::LateSender | Counted::LateReceiver => "s",
        Counted::BytesSent | Counted::BytesReceived => "bytes",
        Counted::CommSize | Counted::Peers => "ranks",
        Counted::LogicalWait => "ticks",
        Counted::Visits
        | Counted::BasicBlocks
        | Counted::PollingBlocks
        | Counted::Instructions
        | Counted::CompiledBlocks => "",
    };
    Metric { name: counted.name().into(), unit: unit.into(), over_ranks: Some(over_ranks) }
}

/// Whether a metric is measured by a clock.
fn is_time(counted: Counted) -> bool {
    matches!(counted, Counted::Time | Counted::WaitTime | Counted::LateSender | Counted::LateReceiver)
}

/// Factor from the profile's unit to the experiment's: nanoseconds to seconds.
fn scale(counted: Counted) -> f64 {
    if is_time(counted) { 1e-9 } else { 1.0 }
}

/// One number for all `ranks` ranks of the run; those that did not reach the call path count as zero.
fn reduce(counts: &Counts, ranks: u32, over_ranks: OverRanks) -> f64 {
    match over_ranks {
        OverRanks::Mean => counts.sum as f64 / f64::from(ranks.max(1)),
        OverRanks::Maximum => counts.maximum.0 as f64,
        OverRanks::Minimum if counts.ranks < ranks => 0.0,
        OverRanks::Minimum => counts.minimum.0 as f64,
        OverRanks::Sum => counts.sum as f64,
    }
}
