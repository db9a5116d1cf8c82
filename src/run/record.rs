//! The record beside every profile, schema `counterpoise/run`; `docs/formats.md` specifies it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use poise_profile::{Metric, Profile};
use serde::{Deserialize, Serialize, Serializer};

use super::elf;
use super::launcher::{is_launcher, is_simulator};
use super::misfortune::Outcome;
use super::{Cost, Measured, PROFILE, RECORD, Run};
use crate::digest;
use crate::install;
use crate::machine::{Concerns, Conditions};
use crate::study::Point;

/// What says of a record that it is one.
pub const SCHEMA: &str = "counterpoise/run";

/// A record in the making: what is known before the program starts.
pub struct Record {
    command: Vec<String>,
    environment: BTreeMap<String, String>,
    programs: Vec<Program>,
    versions: BTreeMap<&'static str, String>,
}

/// A file that was executed, so that a changed one is noticed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Its path, as the command finds it.
    pub path: String,
    /// Its content's digest.
    pub sha256: String,
}

#[derive(Serialize)]
struct Written<'a> {
    schema: &'static str,
    schema_version: u32,
    tool_version: &'static str,
    #[serde(serialize_with = "in_order")]
    parameters: &'a Point,
    #[serde(serialize_with = "texts_in_order")]
    factors: &'a Vec<(String, String)>,
    repetition: u32,
    status: &'static str,
    cause: Option<&'static str>,
    reason: Option<&'a str>,
    exit_status: Option<u8>,
    profile: Option<&'static str>,
    command: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    build: &'a [String],
    directory: String,
    environment: &'a BTreeMap<String, String>,
    configuration: &'a str,
    programs: &'a [Program],
    versions: &'a BTreeMap<&'static str, String>,
    clock: &'static str,
    host: String,
    cores: u32,
    started_unix_seconds: u64,
    seconds: f64,
    processor_seconds: f64,
    time_seconds: Option<f64>,
    pinned: &'a [usize],
    machine: Option<&'a Conditions>,
}

/// Parameters as an object in the study's order.
fn in_order<S: Serializer>(point: &&Point, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(point.iter().map(|(name, value)| (name, value.number)))
}

fn texts_in_order<S: Serializer>(texts: &&Vec<(String, String)>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(texts.iter().map(|(name, value)| (name, value)))
}

/// What of a record later calls look at.
#[derive(Clone, Debug, Deserialize)]
pub struct Read {
    schema: String,
    /// `complete` or `failed`.
    pub status: String,
    /// Why it failed, by name.
    pub cause: Option<String>,
    /// Why it failed.
    pub reason: Option<String>,
    /// The command as it was started.
    #[serde(default)]
    pub command: Vec<String>,
    /// The recorded variables of its environment.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// What time meant.
    #[serde(default)]
    pub clock: String,
    /// The digest of all that the study said of this run.
    pub configuration: Option<String>,
    /// What was executed.
    #[serde(default)]
    pub programs: Vec<Program>,
    /// Elapsed.
    #[serde(default)]
    pub seconds: f64,
    /// What repetition policies judge.
    pub time_seconds: Option<f64>,
    /// Values of the study's parameters with texts.
    #[serde(default)]
    pub factors: BTreeMap<String, String>,
    /// What disturbed it.
    pub machine: Option<Concerns>,
}

impl Read {
    /// Whether the run is complete.
    pub fn is_complete(&self) -> bool {
        self.status == "complete"
    }

    /// What repetition policies judge: the mean over ranks of the time in all call paths, or the elapsed time of a run
    /// without a profile.
    pub fn time(&self) -> f64 {
        self.time_seconds.unwrap_or(self.seconds)
    }
}

/// The record in a run's folder, if it has one.
pub fn read(folder: &Path) -> Option<Read> {
    let read: Read = serde_json::from_str(&fs::read_to_string(folder.join(RECORD)).ok()?).ok()?;
    Some(read).filter(|read| read.schema == SCHEMA)
}

impl Record {
    /// What is known before the program starts; `place` is the folder that the run is going to have.
    pub fn begin(run: &Run, place: &Path) -> Self {
        let mut environment = inherited();
        environment.extend(run.environment.iter().map(|(name, value)| (name.clone(), super::in_folder(value, place))));
        Self { command: run.command_in(place), environment, programs: programs(run), versions: versions(run) }
    }

    /// Writes the record into the run's unfinished folder.
    pub fn end(&self, run: &Run, folder: &Path, outcome: &Outcome, cost: &Cost) -> io::Result<()> {
        let (status, cause, reason, exit_status) = match outcome {
            Outcome::Complete => ("complete", None, None, 0),
            Outcome::Failed { cause, reason, status } => ("failed", Some(cause.name()), Some(reason.as_str()), *status),
        };
        let record = Written {
            schema: SCHEMA,
            schema_version: 1,
            tool_version: env!("CARGO_PKG_VERSION"),
            parameters: &run.point,
            factors: &run.factors,
            repetition: run.repetition,
            status,
            cause,
            reason,
            exit_status: cost.is_started.then_some(exit_status),
            profile: folder.join(PROFILE).is_file().then_some(PROFILE),
            command: &self.command,
            build: &run.build,
            directory: run.directory.display().to_string(),
            environment: &self.environment,
            configuration: &run.configuration,
            programs: &self.programs,
            versions: &self.versions,
            // In an emulator no time is measured.
            clock: if run.measured == Measured::Emulated { "none" } else { run.clock.name() },
            host: host(),
            cores: run.cores.max(1),
            started_unix_seconds: cost.started_unix_seconds,
            seconds: cost.seconds,
            processor_seconds: cost.processor_seconds,
            time_seconds: time_of(folder),
            pinned: &run.pinned,
            machine: cost.machine.as_ref(),
        };
        let mut text = serde_json::to_string_pretty(&record).map_err(io::Error::other)?;
        text.push('\n');
        fs::write(folder.join(RECORD), text)
    }
}

/// This machine's name.
pub fn host() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

/// How the names of variables begin that change how threads, memory or messages work.
const TUNING: &str = "OMP_ GOMP_ KMP_ TBB_ KOKKOS_ OPENBLAS_ GOTO_ BLIS_ MKL_ NUMEXPR_ JULIA_NUM_THREADS MALLOC_ GLIBC_ CUDA_ OMPI_MCA_ MPICH_ I_MPI_ \
                      UCX_";
/// And of others that are recorded: ours, of MPI and its launchers, of networks, Slurm, accelerators and simulators.
const SURROUNDINGS: &str = "POISE_ OMPI_ OPAL_ PRTE_ PMIX_ HYDRA_ MV2_ MVP_ FI_ PSM_ PSM2_ PSM3_ HWLOC_ SLURM_ \
                            ROCR_ HIP_ NCCL_ ACC_ SIMGRID_ SMPI_";

/// What the names of variables have in them that let their reader in somewhere, such as SLURM_JWT.
const SECRETS: &str = "JWT TOKEN COOKIE SECRET PASSWORD";

fn is_family(prefixes: &str, name: &str) -> bool {
    prefixes.split_ascii_whitespace().any(|prefix| name.starts_with(prefix))
}

/// The variables of this process that runs inherit and that are recorded.
fn inherited() -> BTreeMap<String, String> {
    let lossy = |text: &OsStr| text.to_string_lossy().into_owned();
    let all = std::env::vars_os().map(|(name, value)| (lossy(&name), lossy(&value)));
    all.filter(|(name, _)| is_recorded(name)).collect()
}

/// A variable that changes how threads, memory or messages work and that a run inherited with another value than it would
/// now, with both values.
pub fn changed_variable(run: &Run, record: &Read) -> Option<(String, Option<String>, Option<String>)> {
    let is_of_interest = |name: &&String| {
        let is_set = run.environment.iter().any(|(set, _)| set == *name);
        !is_set && is_family(TUNING, name)
    };
    let (then, now) = (&record.environment, inherited());
    let names: BTreeSet<&String> = then.keys().chain(now.keys()).filter(is_of_interest).collect();
    let changed = names.into_iter().find(|name| then.get(*name) != now.get(*name))?;
    Some((changed.clone(), then.get(changed).cloned(), now.get(changed).cloned()))
}

/// Variables that change what is measured. The whole environment is not recorded, since it may hold passwords.
fn is_recorded(name: &str) -> bool {
    const NAMES: &str = "PATH LD_LIBRARY_PATH LD_PRELOAD LD_BIND_NOW LOADEDMODULES LANG LC_ALL";
    let is_named = NAMES.split_ascii_whitespace().any(|recorded| recorded == name);
    let is_secret = SECRETS.split_ascii_whitespace().any(|word| name.contains(word));
    !is_secret && (is_named || is_family(TUNING, name) || is_family(SURROUNDINGS, name))
}

/// The files that the command executes: its first word, and later words that are executable files, such as the program
/// behind a launcher.
pub fn programs(run: &Run) -> Vec<Program> {
    let program = |path: PathBuf| {
        let sha256 = digest::of_file(&path).ok()?;
        Some(Program { path: path.display().to_string(), sha256 })
    };
    program_files(run).into_iter().filter_map(program).collect()
}

/// Their paths.
pub fn program_files(run: &Run) -> Vec<PathBuf> {
    // The system looks for the first word where the run's own PATH says, if it has one.
    let path = run.environment.iter().rev().find(|(name, _)| name == "PATH").map(|(_, path)| OsStr::new(path));
    // What is in a run's own folder the study says.
    let is_elsewhere = |word: &str| word.contains('/') && (!run.own_folder || word.starts_with('/'));
    let file = |(i, word): (usize, &String)| match i == 0 && !word.contains('/') {
        true => install::find_program_in(path, word),
        false if is_elsewhere(word) => install::find_program(&run.directory.join(word).to_string_lossy()),
        false => None,
    };
    run.command.iter().enumerate().filter_map(file).collect()
}

fn versions(run: &Run) -> BTreeMap<&'static str, String> {
    let mut versions = BTreeMap::from([("poise", env!("CARGO_PKG_VERSION").to_owned())]);
    if let Ok(kernel) = fs::read_to_string("/proc/sys/kernel/osrelease") {
        versions.insert("kernel", kernel.trim().to_owned());
    }
    if let Some(name) = launcher(run)
        && let Some(said) = launcher_version(&run.command[0])
    {
        versions.insert("launcher", format!("{name}: {said}"));
    }
    // What is started last is the program, whatever starts it.
    if let Some(compilers) = program_files(run).iter().rev().find_map(|program| elf::compilers(program)) {
        versions.insert("compilers", compilers);
    }
    versions
}

/// The name of the launcher with which a run's command begins, if it does.
pub fn launcher(run: &Run) -> Option<String> {
    let word = run.command.first()?;
    let starts = is_launcher(word) || is_simulator(word);
    starts.then(|| Path::new(word).file_name().unwrap_or_default().to_string_lossy().into_owned())
}

/// What a launcher says of its version, asked once.
fn launcher_version(program: &str) -> Option<String> {
    use std::sync::Mutex;
    static ASKED: Mutex<BTreeMap<String, Option<String>>> = Mutex::new(BTreeMap::new());
    let mut asked = ASKED.lock().ok()?;
    // SimGrid's program does not know the option, and the script that starts it does.
    let program = if is_simulator(program) { "smpirun" } else { program };
    let ask = || {
        let said = install::output_of(&install::find_program(program)?, &["--version"])?;
        let lines: Vec<&str> =
            said.lines().map(str::trim).filter(|l| l.contains(|c: char| c.is_ascii_digit())).collect();
        lines.first().map(|line| (*line).to_owned())
    };
    asked.entry(program.to_owned()).or_insert_with(ask).clone()
}

/// The mean over ranks of the time in all call paths of a run's profile.
fn time_of(folder: &Path) -> Option<f64> {
    let profile = Profile::read(folder.join(PROFILE)).ok()?;
    let times = profile.values.iter().filter(|((_, metric), _)| *metric == Metric::Time);
    let sum: u128 = times.map(|(_, over_ranks)| over_ranks.sum).sum();
    Some(sum as f64 * 1e-9 / f64::from(profile.ranks.max(1)))
}

/// Whether a run's profile counts basic blocks; `None` where it has no profile.
pub fn counts_blocks(folder: &Path) -> Option<bool> {
    let profile = Profile::read(folder.join(PROFILE)).ok()?;
    Some(profile.values.iter().any(|((_, metric), over_ranks)| *metric == Metric::BasicBlocks && over_ranks.sum > 0))
}

/// Whether noise was injected into any loop of the run in this folder; none where it left no profile.
pub fn has_noise(folder: &Path) -> Option<bool> {
    let profile = Profile::read(folder.join(PROFILE)).ok()?;
    Some(profile.noise.is_injected())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_measurements_is_recorded_and_secrets_are_not() {
        for name in [
            "PATH",
            "OMP_NUM_THREADS",
            "OPENBLAS_NUM_THREADS",
            "JULIA_NUM_THREADS",
            "MKL_DYNAMIC",
            "SLURM_JOB_ID",
            "POISE_CLOCK",
        ] {
            assert!(is_recorded(name), "{name}");
        }
        for name in ["HOME", "AWS_SECRET_ACCESS_KEY", "SLURM_JWT", "PMIX_SERVER_TOKEN", "MY_PATH", "PATHS"] {
            assert!(!is_recorded(name), "{name}");
        }
    }
}
