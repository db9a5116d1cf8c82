//! One run: one execution of the measured program at one point. Its folder holds the profile, the record `run.json`
//! and what the program printed; the folder is complete or absent.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Serialize, Serializer};

use crate::error::{Error, Result};
use crate::install;
use crate::interrupt;
use crate::study::{Clock, Point};

/// The profile's file name in a run's folder.
pub const PROFILE: &str = "profile.poise";
/// What a process leaves that would have written a profile where there is one already.
const CONFLICT: &str = "profile.poise.conflict";
/// The record's file name in a run's folder.
pub const RECORD: &str = "run.json";

/// What to run and where its folder goes.
pub struct Run<'a> {
    /// The program and its arguments.
    pub command: &'a [String],
    /// Where it runs.
    pub directory: &'a Path,
    /// Parameter values, for the record and the profile.
    pub point: &'a Point,
    /// Which repetition of the point this is, from 1.
    pub repetition: u32,
    /// After this long the run is ended.
    pub time_limit: Option<Duration>,
    /// What time means.
    pub clock: Clock,
    /// Where output goes: into the run's folder, or to the terminal as if poise were not there.
    pub captured: bool,
    /// How it is measured.
    pub measured: Measured,
    /// Whether waiting is measured too.
    pub waiting: bool,
    /// Further variables of ours.
    pub environment: &'a [(&'static str, String)],
}

/// How our libraries reach the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measured {
    /// They are preloaded.
    #[default]
    Preloaded,
    /// The program is linked with them.
    Linked,
    /// Not at all: only the run's cost is of interest, and it leaves no profile.
    Not,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It ended with status 0 and left its profile.
    Complete,
    /// It did not; why, in one sentence.
    Failed {
        /// Why.
        reason: String,
        /// The command's own status, or 128 + signal as shells have it; 0 where only the profile is missing.
        status: u8,
    },
}

/// The record beside every profile, schema `counterpoise/run`; `docs/formats.md` specifies it.
#[derive(Serialize)]
struct Record<'a> {
    schema: &'static str,
    schema_version: u32,
    tool_version: &'static str,
    #[serde(serialize_with = "in_order")]
    parameters: &'a Point,
    repetition: u32,
    status: &'static str,
    reason: Option<&'a str>,
    exit_status: u8,
    profile: Option<&'static str>,
    command: &'a [String],
    directory: String,
    environment: BTreeMap<String, String>,
    clock: &'static str,
    host: String,
    started_unix_seconds: u64,
    seconds: f64,
    processor_seconds: f64,
}

/// Parameters as an object in the study's order.
fn in_order<S: Serializer>(point: &&Point, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(point.iter().map(|(name, value)| (name, value.number)))
}

/// The environment in which a program is measured: our libraries preloaded, the profile's place named.
pub fn measuring_environment(
    profile: &Path,
    point: &Point,
    clock: Clock,
    measured: Measured,
) -> Result<Vec<(&'static str, OsString)>> {
    let parameters: Vec<String> = point.iter().map(|(name, value)| format!("{name}={}", value.text)).collect();
    let mut environment = vec![
        ("POISE_PROFILE", profile.into()),
        ("POISE_CLOCK", clock.name().into()),
        ("POISE_PARAMETERS", parameters.join(",").into()),
    ];
    if measured == Measured::Preloaded {
        environment.push(("LD_PRELOAD", preloaded()?));
    }
    Ok(environment)
}

/// The value of `LD_PRELOAD`: the runtime and the shim before what the user preloads already.
fn preloaded() -> Result<OsString> {
    let mut list = OsString::new();
    for library in [install::RUNTIME, install::SHIM] {
        let path = install::library(library)?;
        if path.as_os_str().as_encoded_bytes().iter().any(|b| b.is_ascii_whitespace() || *b == b':') {
            return Err(Error::Usage(format!(
                "{} cannot be preloaded: the loader ends names at blanks and colons. Install under a path without them.",
                path.display()
            )));
        }
        if !list.is_empty() {
            list.push(":");
        }
        list.push(path);
    }
    if let Some(users) = std::env::var_os("LD_PRELOAD").filter(|v| !v.is_empty()) {
        list.push(":");
        list.push(users);
    }
    Ok(list)
}

/// Replaces this process by `command`, measured if `POISE_PROFILE` asks for it; for use behind a launcher.
pub fn exec_preloaded(command: &[OsString]) -> Result<std::convert::Infallible> {
    let mut process = Command::new(&command[0]);
    process.args(&command[1..]).env("LD_PRELOAD", preloaded()?);
    let failure = process.exec();
    Err(Error::Usage(format!("Cannot start {}: {failure}.", command[0].to_string_lossy())))
}

impl Run<'_> {
    /// Runs the program and leaves the folder `destination`, which must not exist yet.
    ///
    /// # Errors
    /// The folder cannot be written, the program cannot be started, or the user interrupted: no folder is left then.
    /// A program that fails is an [`Outcome`], recorded in its folder.
    pub fn execute(&self, destination: &Path) -> Result<Outcome> {
        let parent = destination.parent().unwrap_or(Path::new("."));
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        if destination.symlink_metadata().is_ok() && !self.may_replace(destination) {
            return Err(Error::Usage(format!(
                "{} exists; results are never overwritten. Choose another folder with -o.",
                destination.display()
            )));
        }
        fs::create_dir_all(parent).map_err(|e| Error::cannot_write(parent, &e))?;
        // Absolute, because the program may run elsewhere; dropped, with all that is in it, unless kept at the end.
        let parent = parent.canonicalize().map_err(|e| Error::cannot_write(parent, &e))?;
        let folder = tempfile::Builder::new()
            .prefix(".run-")
            .permissions(fs::Permissions::from_mode(0o777)) // less the user's umask, as for any folder
            .tempdir_in(&parent)
            .map_err(|e| Error::cannot_write(&parent, &e))?;
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
        let (clock, processor) = (Instant::now(), children_seconds());
        let ended = self.supervise(folder.path())?;
        let cost = Cost { seconds: clock.elapsed().as_secs_f64(), processor_seconds: children_seconds() - processor };
        let outcome = self.judge(ended, folder.path());
        self.write_record(folder.path(), &outcome, started, &cost).map_err(|e| Error::cannot_write(&parent, &e))?;
        let name = destination.file_name().unwrap_or(OsStr::new("run"));
        keep(folder, &parent.join(name)).map_err(|e| Error::cannot_write(destination, &e))?;
        Ok(outcome)
    }

    /// Starts the program in a measuring environment and waits for its end.
    fn supervise(&self, folder: &Path) -> Result<Ended> {
        let unusable = |e: &io::Error| Error::Usage(format!("Cannot start {}: {e}.", self.command[0]));
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).current_dir(self.working_directory());
        if self.measured != Measured::Not {
            command.envs(measuring_environment(&folder.join(PROFILE), self.point, self.clock, self.measured)?);
            if self.waiting {
                command.env("POISE_WAITING", "1");
            }
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if self.captured {
            let file = |name: &str| File::create(folder.join(name)).map_err(|e| Error::cannot_write(folder, &e));
            command.stdin(Stdio::null()).stdout(file("stdout.txt")?).stderr(file("stderr.txt")?);
            // A group of its own, so that ending it ends whatever it has started.
            command.process_group(0);
        }
        let child = command.spawn().map_err(|e| unusable(&e))?;
        Supervised { child, has_group: self.captured }.wait(self.time_limit)
    }

    /// In a study, a failed run makes way for the next attempt once that has ended.
    fn may_replace(&self, destination: &Path) -> bool {
        self.captured && Record::status(destination).as_deref() == Some("failed")
    }

    fn working_directory(&self) -> &Path {
        if self.directory.as_os_str().is_empty() { Path::new(".") } else { self.directory }
    }

    fn judge(&self, ended: Ended, folder: &Path) -> Outcome {
        let (reason, status) = match ended {
            Ended::Late(limit) => (format!("It ran longer than {} s and was ended.", limit.as_secs()), 124),
            Ended::Itself(status) if status.success() => {
                let conflict = fs::read_to_string(folder.join(CONFLICT)).ok();
                match conflict {
                    Some(line) => {
                        (format!("Several of its processes would each write the profile: {}", line.trim()), 0)
                    }
                    None if self.measured == Measured::Not || folder.join(PROFILE).is_file() => {
                        return Outcome::Complete;
                    }
                    None => (NO_PROFILE.to_owned(), 0),
                }
            }
            Ended::Itself(status) => match (status.code(), status.signal()) {
                (Some(code), _) => (format!("It ended with status {code}."), code.try_into().unwrap_or(1)),
                (None, signal) => {
                    let signal = signal.unwrap_or(0);
                    (format!("It was killed by signal {signal}."), 128 + u8::try_from(signal).unwrap_or(0))
                }
            },
        };
        Outcome::Failed { reason, status }
    }

    fn write_record(&self, folder: &Path, outcome: &Outcome, started: u64, cost: &Cost) -> io::Result<()> {
        let (status, reason, exit_status) = match outcome {
            Outcome::Complete => ("complete", None, 0),
            Outcome::Failed { reason, status } => ("failed", Some(reason.as_str()), *status),
        };
        let kept = |(name, _): &(String, String)| {
            ["POISE_", "OMP_", "OMPI_", "MPICH_", "SLURM_"].iter().any(|prefix| name.starts_with(prefix))
        };
        let lossy = |text: &OsStr| text.to_string_lossy().into_owned();
        let record = Record {
            schema: "counterpoise/run",
            schema_version: 1,
            tool_version: env!("CARGO_PKG_VERSION"),
            parameters: self.point,
            repetition: self.repetition,
            status,
            reason,
            exit_status,
            profile: folder.join(PROFILE).is_file().then_some(PROFILE),
            command: self.command,
            directory: self.directory.display().to_string(),
            environment: std::env::vars_os().map(|(name, value)| (lossy(&name), lossy(&value))).filter(kept).collect(),
            clock: self.clock.name(),
            host: fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned(),
            started_unix_seconds: started,
            seconds: cost.seconds,
            processor_seconds: cost.processor_seconds,
        };
        let mut text = serde_json::to_string_pretty(&record).map_err(io::Error::other)?;
        text.push('\n');
        fs::write(folder.join(RECORD), text)
    }
}

const NO_PROFILE: &str = "It ended well but left no profile: it is neither an MPI program that reached MPI_Finalize \
                          nor a program compiled with poise cc, c++ or fc.";

/// What a run cost, launcher included.
struct Cost {
    /// Elapsed.
    seconds: f64,
    /// Of all processors together.
    processor_seconds: f64,
}

/// Processor time of all programs that have been started here and have ended, and of what they started and waited for.
fn children_seconds() -> f64 {
    // SAFETY: a rusage of zeros is one, and the call fills it in; it cannot fail for RUSAGE_CHILDREN.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + 1e-6 * time.tv_usec as f64;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

enum Ended {
    Itself(ExitStatus),
    Late(Duration),
}

/// A program that runs.
struct Supervised {
    child: Child,
    /// Whether it and what it starts are a process group of their own, which the terminal's Ctrl-C does not reach.
    has_group: bool,
}

impl Supervised {
    /// Waits for the program's end, its time limit, or the user's interruption.
    fn wait(mut self, limit: Option<Duration>) -> Result<Ended> {
        let start = Instant::now();
        loop {
            let state =
                self.child.try_wait().map_err(|e| Error::Defect(format!("Waiting for the program failed: {e}.")))?;
            if let Some(status) = state {
                return interrupt::check().map(|()| Ended::Itself(status));
            }
            if let Some(signal) = interrupt::received() {
                self.end(signal);
                return Err(Error::Interrupted(signal));
            }
            if let Some(limit) = limit.filter(|&l| start.elapsed() > l) {
                self.end(libc::SIGTERM);
                return Ok(Ended::Late(limit));
            }
            // Short against the start of any MPI program, long against the cost of looking.
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends `signal`, and after five seconds of patience the one that cannot be ignored.
    fn end(&mut self, signal: i32) {
        // The terminal has sent its own to programs in our group.
        if self.has_group || signal != libc::SIGINT {
            self.send(signal);
        }
        let asked = Instant::now();
        let mut lives = true;
        while lives && asked.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(20));
            lives = matches!(self.child.try_wait(), Ok(None));
        }
        // The group may outlive its first member.
        if lives || self.has_group {
            self.send(libc::SIGKILL);
        }
        let _ = self.child.wait();
    }

    fn send(&self, signal: i32) {
        let Ok(pid) = libc::pid_t::try_from(self.child.id()) else { return };
        // SAFETY: `kill` only takes numbers. A child that has not been waited for keeps its number, and the system
        // gives a group's number to no new process while the group has members; without any, nobody is signalled.
        unsafe { libc::kill(if self.has_group { -pid } else { pid }, signal) };
    }
}

/// Makes the finished folder the run's folder: contents on disk first, then the name. An earlier failed run goes when
/// this one is in its place.
fn keep(folder: tempfile::TempDir, destination: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder.path())? {
        File::open(entry?.path())?.sync_all()?;
    }
    File::open(folder.path())?.sync_all()?;
    if destination.exists() {
        let parent = destination.parent().unwrap_or(Path::new("."));
        let aside = tempfile::Builder::new().prefix(".failed-").tempdir_in(parent)?;
        fs::rename(destination, aside.path().join("run"))?;
    }
    let path: PathBuf = folder.keep();
    fs::rename(&path, destination).inspect_err(|_| {
        let _ = fs::remove_dir_all(&path);
    })
}

impl Record<'_> {
    /// The status that the record in a run's folder states.
    fn status(folder: &Path) -> Option<String> {
        let text = fs::read_to_string(folder.join(RECORD)).ok()?;
        let record: serde_json::Value = serde_json::from_str(&text).ok()?;
        record["status"].as_str().map(str::to_owned)
    }
}
