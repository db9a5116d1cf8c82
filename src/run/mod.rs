//! One run: one execution of the measured program at one point. Its folder holds the profile, the record `run.json`
//! and what the program printed; the folder is complete or absent.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

mod bins;
mod elf;
pub mod emulated;
mod ends;
pub mod launcher;
mod launcher_stderr;
pub mod left;
pub mod misfortune;
pub mod partial;
mod pidfd;
mod printed;
pub mod processes;
pub mod record;
mod spinning;
mod supervise;
mod watch;

use crate::error::{Error, Result};
use crate::install;
use crate::interrupt;
use crate::machine::{Conditions, State};
use crate::output;
use crate::study::{Clock, FOLDER, Point};
pub use bins::{Bins, Cache};
use misfortune::{Cause, Ended, Outcome};
use printed::Printed;
use record::Record;
use supervise::Supervised;

/// The profile's file name in a run's folder.
pub const PROFILE: &str = "profile.poise";
/// What a process leaves that would have written a profile where there is one already.
pub const CONFLICT: &str = "profile.poise.conflict";
/// The record's file name in a run's folder.
pub const RECORD: &str = "run.json";
/// What the program printed, in the folder of a study's run.
pub const STDOUT: &str = "stdout.txt";
/// What it said on standard error.
pub const STDERR: &str = "stderr.txt";
/// All files in the folder of a single run, with those whose names begin with [`OWN_STARTS`].
const OWN: [&str; 3] = [RECORD, STDOUT, STDERR];
/// How names begin of files that each rank may have, or that stand under a hidden name while they are written.
const OWN_STARTS: [&str; 3] = [PROFILE, partial::PARTIAL, emulated::RAW];
/// The variables that poise sets in every run that is measured, whatever a study says of them.
pub const SET: [&str; 5] = ["POISE_PROFILE", "POISE_CLOCK", "POISE_PARAMETERS", "POISE_GATHERED", RUN];
/// The variable that names a run's folder to everything that the run starts.
pub const RUN: &str = "POISE_RUN";
/// What a failed run is called, within an unfinished folder, while the next attempt takes its place.
const EARLIER: &str = "run";
/// How the name of a folder begins whose run has not ended.
pub const UNFINISHED: &str = ".run-";

/// How the name of a single run's folder begins until it has ended. It is not as a study's, which ends and removes what it
/// finds unfinished among its runs.
pub const ONCE: &str = ".once-";

/// What to run, whole: a compute node needs nothing else.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Run {
    /// The program and its arguments, with [`FOLDER`] for the run's own folder.
    pub command: Vec<String>,
    /// Variables beside those of this process.
    pub environment: Vec<(String, String)>,
    /// Files in the run's folder: name and content.
    pub files: Vec<(String, String)>,
    /// Where it runs.
    pub directory: PathBuf,
    /// Whether it runs in its own folder instead.
    pub own_folder: bool,
    /// What made its program, for the record; empty where nothing did.
    pub build: Vec<String>,
    /// Parameter values, for the record and the profile.
    pub point: Point,
    /// Values of parameters that are no coordinates, for the record.
    pub factors: Vec<(String, String)>,
    /// Which repetition of the point this is, from 1.
    pub repetition: u32,
    /// Cores that it needs: ranks times threads.
    pub cores: u32,
    /// After this long the run is ended.
    pub time_limit: Option<Duration>,
    /// Address space that each process may have, MiB.
    pub memory_limit: Option<u64>,
    /// What time means.
    pub clock: Clock,
    /// Where output goes: into the run's folder, or to the terminal as if poise were not there.
    pub captured: bool,
    /// How it is measured.
    pub measured: Measured,
    /// Whether waiting is measured too.
    pub waiting: bool,
    /// How effort is binned over time, if it is.
    pub phases: Option<Bins>,
    /// Cores that it is pinned to; empty where it may use all.
    pub pinned: Vec<usize>,
    /// How the name of its folder begins until it has ended; [`UNFINISHED`] where this is empty.
    pub unfinished: String,
    /// The digest of all that a study says of this run; empty where there is no study.
    pub configuration: String,
    /// The option with which the user named the folder; `-o` where this is empty.
    #[serde(skip)]
    pub named_by: &'static str,
}

/// How our libraries reach the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Measured {
    /// They are preloaded.
    #[default]
    Preloaded,
    /// The program is linked with them.
    Linked,
    /// It runs in QEMU's user mode, where our plugin counts machine code.
    Emulated,
    /// Not at all: only the run's cost is of interest, and it leaves no profile.
    Not,
}

/// The environment in which a program is measured: our libraries preloaded before what `preloads` names, the profile's place named.
pub fn measuring_environment(
    profile: &Path,
    point: &Point,
    clock: Clock,
    measured: Measured,
    preloads: Option<OsString>,
) -> Result<Vec<(&'static str, OsString)>> {
    let parameters: Vec<String> = point.iter().map(|(name, value)| format!("{name}={}", value.text)).collect();
    let mut environment = vec![
        ("POISE_PROFILE", profile.into()),
        ("POISE_CLOCK", clock.name().into()),
        ("POISE_PARAMETERS", parameters.join(",").into()),
    ];
    if measured == Measured::Preloaded {
        environment.push(("LD_PRELOAD", preloaded(preloads)?));
    }
    Ok(environment)
}

/// The value of `LD_PRELOAD`: the runtime and the shim before what `users` names, or this process's variable where nothing
/// says what.
fn preloaded(users: Option<OsString>) -> Result<OsString> {
    let mut list = OsString::new();
    for library in [install::RUNTIME, install::SHIM] {
        let path = install::preloadable(library)?;
        if !list.is_empty() {
            list.push(":");
        }
        list.push(path);
    }
    let users = users.or_else(|| std::env::var_os("LD_PRELOAD"));
    if let Some(users) = users.filter(|v| !v.is_empty()) {
        list.push(":");
        list.push(users);
    }
    Ok(list)
}

/// Replaces this process by `command`, measured if `POISE_PROFILE` asks for it; for use behind a launcher.
pub fn exec_preloaded(command: &[OsString]) -> Result<Infallible> {
    let mut process = Command::new(&command[0]);
    process.args(&command[1..]).env("LD_PRELOAD", preloaded(None)?);
    let profile = std::env::var_os("POISE_PROFILE").filter(|path| !path.is_empty());
    // Where the run begins, wherever a script or the program goes from there.
    let profile = profile.map(|path| std::path::absolute(&path).unwrap_or(path.into()));
    if let Some(profile) = &profile {
        process.env("POISE_PROFILE", profile).env(poise_profile::BEGAN, poise_profile::began());
    }
    let program = install::find_program(&command[0].to_string_lossy());
    let rank = poise_profile::own_rank();
    if std::env::var_os("POISE_PROFILE").is_none() && rank.unwrap_or(0) == 0 {
        output::say(
            "POISE_PROFILE is not set, so that nothing is measured; set it to the file that is to be the profile, or to nothing to measure nothing.",
        );
    }
    let mut watch = None;
    if let (Some(profile), Some(program)) = (profile, program) {
        if elf::is_out_of_reach(&program) {
            // Rank 0 says so for all. Where it runs another program than they, it misses them in MPI_Finalize and says that.
            if rank.unwrap_or(0) == 0 {
                watch::refuse(
                    &profile,
                    &format!(
                        "{} is linked statically, so that nothing can be preloaded into it; this run has no profile. Link it dynamically or with \
                         poise cc, or count it by poise run --engine qemu.",
                        command[0].to_string_lossy()
                    ),
                );
            }
        } else if let Some(rank) = rank.filter(|_| std::env::var_os(RUN).is_none()) {
            // Of its own runs poise run tells more.
            watch = watch::over_this_process(&profile, rank);
        }
    }
    let failure = process.exec();
    if let Some(watch) = watch {
        watch.call_off();
    }
    Err(Error::Usage(format!("Cannot start {}: {failure}.", command[0].to_string_lossy())))
}

/// Runs a command that is not measured, such as a build, to its end, with the name of `folder` by which all that it starts is found: in
/// this call, which ends what is left, and should that be killed, in the next.
///
/// # Errors
/// The user interrupted.
pub fn supervise_unmeasured(command: &mut Command, folder: &Path, limit: Duration) -> Result<Ended> {
    command.env(RUN, folder);
    supervise::prepare(command, true, None, &[]);
    let (oom_kills, begun) = (processes::oom_kills(), Instant::now());
    match command.spawn() {
        Ok(child) => Supervised::new(child, Some(folder.to_owned()), oom_kills, begun).wait(Some(limit)),
        Err(error) => Ok(Ended::not_started(error.to_string())),
    }
}

impl Run {
    /// Runs the program and leaves the folder `destination`, which must not exist yet.
    ///
    /// # Errors
    /// The folder cannot be written, the program cannot be started, or the user interrupted: no folder is left then. Something
    /// has come into being at `destination` meanwhile: a single run is then beside it, under a name that is told. A program that fails is an [`Outcome`], recorded in its folder.
    pub fn execute(&self, destination: &Path) -> Result<Outcome> {
        self.execute_told(destination, &|outcome| outcome)
    }

    /// The same where `tell` knows more of how the program ended, before that is recorded.
    ///
    /// # Errors
    /// As [`Run::execute`].
    pub fn execute_told(&self, destination: &Path, tell: &dyn Fn(Outcome) -> Outcome) -> Result<Outcome> {
        let parent = destination.parent().unwrap_or(Path::new("."));
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        if let Some(why) = self.obstacle(destination) {
            return Err(Error::Usage(format!(
                "{} {why}; results are never overwritten. Choose another folder with {}.",
                destination.display(),
                self.option()
            )));
        }
        fs::create_dir_all(parent).map_err(|e| Error::cannot_write(parent, &e))?;
        // Absolute, because the program may run elsewhere; dropped, with all that is in it, unless kept.
        let parent = parent.canonicalize().map_err(|e| Error::cannot_write(parent, &e))?;
        let folder = tempfile::Builder::new()
            .prefix(self.prefix())
            .permissions(fs::Permissions::from_mode(0o777)) // less the user's umask, as for any folder
            .tempdir_in(&parent)
            .map_err(|e| Error::cannot_write(&parent, &e))?;
        let place = parent.join(destination.file_name().unwrap_or(OsStr::new("run")));
        match self.make(folder.path(), &place, tell) {
            Ok(outcome) => self.settle(folder, &place, outcome),
            Err(error) => {
                self.abandon(folder, &parent, &error);
                Err(error)
            }
        }
    }

    /// Whether poise cc, c++ or fc compiled the program, as far as its file tells: one without a profile did not write it, then.
    pub fn is_instrumented(&self) -> bool {
        emulated::program(&self.command).is_some_and(|program| elf::is_instrumented(&program))
    }

    /// Fills the unfinished folder of a run whose place is going to be `place`: runs the program and records how it ended.
    fn make(&self, folder: &Path, place: &Path, tell: &dyn Fn(Outcome) -> Outcome) -> Result<Outcome> {
        let cannot_write = |e: io::Error| Error::cannot_write(place.parent().unwrap_or(place), &e);
        self.write_files(folder, place).map_err(cannot_write)?;
        let record = Record::begin(self, place);
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
        // What is simulated does not depend on the machine.
        let machine = (self.captured && self.clock != Clock::Simulated).then(State::now);
        let ended = self.supervise(folder, place)?;
        let is_gone = !folder.is_dir();
        if is_gone {
            fs::create_dir(folder).map_err(cannot_write)?;
        }
        let collected = match self.measured {
            Measured::Emulated => emulated::collect(folder, &self.point),
            _ => Ok(()),
        };
        let was_stopped = !ended.stopped.is_zero();
        let machine = machine.map(|before| before.until_now(self.cores, self.clock == Clock::Wall, was_stopped));
        let cost = Cost {
            is_started: true,
            started_unix_seconds: started,
            seconds: ended.seconds,
            processor_seconds: ended.processor_seconds,
            machine,
        };
        let outcome = match (misfortune::judge(self, &ended, folder), collected) {
            (Outcome::Failed { cause: Cause::NoProfile | Cause::PrintsNothing, status, .. }, Err(reason)) => {
                Outcome::Failed { cause: Cause::NoProfile, reason, status }
            }
            (Outcome::Complete, _) | (Outcome::Failed { cause: Cause::NoProfile | Cause::PrintsNothing, .. }, _)
                if is_gone =>
            {
                let reason = "It removed its run's own folder, with all that was printed and measured.".to_owned();
                Outcome::Failed { cause: Cause::NoProfile, reason, status: 0 }
            }
            (outcome, _) => outcome,
        };
        // What processes say names the folder as it was called while they ran.
        let outcome = tell(outcome.moved(folder, place));
        if matches!(outcome, Outcome::Failed { .. }) {
            // What ended the run may be ending this process, too: who is asked how it ended takes a while.
            interrupt::check()?;
        }
        let outcome = partial::collect(outcome, folder, self.measured != Measured::Not);
        record.end(self, folder, &outcome, &cost).map_err(cannot_write)?;
        Ok(outcome)
    }

    /// Drops the folder of a run that `error` ended, unless it holds something measured that nobody measures again: what an
    /// interrupted run had, and all of a single run. That of a job is left for the campaign to find and tell.
    fn abandon(&self, folder: tempfile::TempDir, parent: &Path, error: &Error) {
        let is_last = self.is_single() || matches!(error, Error::Interrupted(_));
        if !is_last || !partial::is_measured(folder.path()) {
            return;
        }
        let folder = folder.keep();
        let is_jobs = self.captured && !self.unfinished.is_empty();
        if let Some(kept) = (!is_jobs).then(|| left::keep_measured(&folder, parent)).flatten() {
            output::say(kept);
        }
    }

    /// Puts the finished folder in its place, unless what has come there meanwhile stays. A study makes the run again
    /// then; a single run, which nothing makes again, is kept beside its place.
    fn settle(&self, folder: tempfile::TempDir, place: &Path, outcome: Outcome) -> Result<Outcome> {
        let is_placed = self.keep(folder.path(), place);
        if let Ok(true) = is_placed {
            let _ = folder.keep();
            return Ok(outcome);
        }
        if self.is_single() {
            output::say(format!("this run is kept in {}.", beside(folder.keep(), place).display()));
        }
        is_placed.map_err(|e| Error::cannot_write(place, &e))?;
        self.complete_in(place).filter(|_| !self.is_single()).ok_or_else(|| {
            Error::Usage(format!(
                "{} has come into being meanwhile; results are never overwritten. Choose another folder with {}.",
                place.display(),
                self.option()
            ))
        })
    }

    /// Makes the finished folder the run's folder: contents on disk first, then the name. An earlier failed run goes. What
    /// else is there stays; the answer is then false.
    fn keep(&self, folder: &Path, place: &Path) -> io::Result<bool> {
        sync(folder)?;
        if self.obstacle(place).is_some() {
            return Ok(false);
        }
        let parent = place.parent().unwrap_or(Path::new("."));
        if place.exists() {
            let mut aside = tempfile::Builder::new().prefix(self.prefix()).tempdir_in(parent)?;
            let earlier = aside.path().join(EARLIER);
            fs::rename(place, &earlier)?;
            // It may have become complete since it was looked at.
            if self.obstacle(&earlier).is_some() {
                aside.disable_cleanup(true);
                fs::rename(&earlier, place)?;
                aside.disable_cleanup(false);
                return Ok(false);
            }
            let replaced = partial::hand_down(&earlier, folder).and_then(|()| fs::rename(folder, place));
            if let Err(error) = replaced {
                // It may hold what was measured; where it cannot be put back it stays, and the next call finds it.
                aside.disable_cleanup(true);
                if fs::rename(&earlier, place).is_ok() {
                    aside.disable_cleanup(false);
                    return Err(error);
                }
                return if self.obstacle(place).is_some() { Ok(false) } else { Err(error) };
            }
        } else if let Err(error) = fs::rename(folder, place) {
            // A network file system may not have shown before what is there.
            return if self.obstacle(place).is_some() { Ok(false) } else { Err(error) };
        }
        File::open(parent)?.sync_all()?;
        Ok(true)
    }

    /// What a complete run in a folder means for this one, if there is one: it is this one, or another study's that
    /// bars it.
    pub fn complete_in(&self, folder: &Path) -> Option<Outcome> {
        let record = record::read(folder).filter(record::Read::is_complete)?;
        if record.configuration.is_none_or(|configuration| configuration == self.configuration) {
            return Some(Outcome::Complete);
        }
        let reason = "A complete run of another study is in its place. Choose another folder with -o.".to_owned();
        Some(Outcome::Failed { cause: Cause::CannotStart, reason, status: 0 })
    }

    /// Records that the run could not be made, where nothing was started. A complete run that is there stays, and is the
    /// outcome.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn refuse(&self, destination: &Path, cause: Cause, reason: String) -> Result<Outcome> {
        if let Some(outcome) = self.complete_in(destination) {
            return Ok(outcome);
        }
        let parent = destination.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(|e| Error::cannot_write(parent, &e))?;
        let folder = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .permissions(fs::Permissions::from_mode(0o777))
            .tempdir_in(parent)
            .map_err(|e| Error::cannot_write(parent, &e))?;
        let outcome = Outcome::Failed { cause, reason, status: 0 };
        let started_unix_seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
        let cost =
            Cost { is_started: false, started_unix_seconds, seconds: 0.0, processor_seconds: 0.0, machine: None };
        let written = Record::begin(self, destination).end(self, folder.path(), &outcome, &cost);
        written.map_err(|e| Error::cannot_write(destination, &e))?;
        self.settle(folder, destination, outcome)
    }

    /// The command with `folder` where it names the run's own.
    pub fn command_in(&self, folder: &Path) -> Vec<String> {
        self.command.iter().map(|word| in_folder(word, folder)).collect()
    }

    /// Input files, whose contents may name the folder that the run is going to have.
    fn write_files(&self, folder: &Path, place: &Path) -> io::Result<()> {
        self.files.iter().try_for_each(|(name, text)| fs::write(folder.join(name), in_folder(text, place)))
    }

    /// How our libraries reach the program: those of SimGrid's SMPI are linked with them (docs/mpi.md).
    fn reached(&self) -> Measured {
        match self.measured {
            Measured::Preloaded if launcher::is_simulator(&self.command[0]) => Measured::Linked,
            measured => measured,
        }
    }

    /// Starts the program in a measuring environment and waits for its end. Its folder is going to be `place`.
    fn supervise(&self, folder: &Path, place: &Path) -> Result<Ended> {
        let mut words = self.command_in(folder);
        if self.measured == Measured::Emulated {
            words = emulated::command(&words, folder, self.phases)?;
        }
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(self.working_directory(folder));
        let environment = self.environment.iter().map(|(name, value)| (name, in_folder(value, folder)));
        command.envs(environment.clone());
        if matches!(self.measured, Measured::Preloaded | Measured::Linked) {
            let preloads = environment.rev().find(|(name, _)| *name == "LD_PRELOAD").map(|(_, value)| value.into());
            let profile = folder.join(PROFILE);
            command.envs(measuring_environment(&profile, &self.point, self.clock, self.reached(), preloads)?);
            command.env("POISE_GATHERED", place.join(partial::PARTIAL));
            if self.waiting {
                command.env("POISE_WAITING", "1");
            }
            command.envs(self.phases.map(|bins| ("POISE_PHASES", bins.wish())));
        }
        let cannot_write = |e: io::Error| Error::cannot_write(folder, &e);
        let mut printed = None;
        if self.captured {
            command.stdin(Stdio::null()).env(RUN, folder);
            printed = Some(Printed::of(&mut command, folder, STDOUT, STDERR).map_err(cannot_write)?);
        }
        supervise::prepare(&mut command, self.captured, self.memory_limit, &self.pinned);
        let oom_kills = processes::oom_kills();
        let begun = Instant::now();
        let started = command.spawn();
        // With it go this process's ends of the pipes.
        drop(command);
        match started {
            Ok(child) => {
                let marker = self.captured.then(|| folder.to_owned());
                let ended = Supervised::new(child, marker, oom_kills, begun).wait(self.time_limit);
                // What an interrupted program has printed is kept as well.
                let written = printed.map_or(Ok(()), Printed::settle).map_err(cannot_write);
                let ended = ended.inspect_err(|_| {
                    if !self.captured {
                        processes::end_measured_into(folder);
                    }
                })?;
                // Where the user has not waited for the disk, that is why.
                written.or_else(|error| interrupt::check().and(Err(error)))?;
                Ok(ended)
            }
            // In a study, a command that only this point has is this point's failure.
            Err(e) if self.captured => {
                let is_beside = self.own_folder && words[0].contains('/') && !words[0].starts_with('/');
                let looked = if is_beside { " With own_folder it is looked for in the run's own folder." } else { "" };
                Ok(Ended::not_started(format!("Cannot start {}: {e}.{looked}", words[0])))
            }
            Err(e) => Err(Error::Usage(format!("Cannot start {}: {e}.", words[0]))),
        }
    }

    /// Why what is at a place stays there; none where there is nothing, or a failed run, which makes way for the next
    /// attempt. That of a single command does not where it holds what was measured until it failed, or anything that is not poise's.
    fn obstacle(&self, place: &Path) -> Option<String> {
        place.symlink_metadata().ok()?;
        let has_failed = record::read(place).is_some_and(|record| record.status == "failed");
        if !has_failed || self.is_single() && partial::is_measured(place) {
            return Some("exists".to_owned());
        }
        let foreign = self.is_single().then(|| foreign_in(place)).flatten()?;
        Some(format!("holds {}, which is not poise's", foreign.to_string_lossy()))
    }

    /// The option that names the folder.
    fn option(&self) -> &str {
        if self.named_by.is_empty() { "-o" } else { self.named_by }
    }

    /// Whether it is no study's.
    fn is_single(&self) -> bool {
        self.configuration.is_empty()
    }

    /// How the names of folders begin that are not in their place.
    fn prefix(&self) -> &str {
        if self.unfinished.is_empty() { UNFINISHED } else { &self.unfinished }
    }

    fn working_directory<'a>(&'a self, folder: &'a Path) -> &'a Path {
        match (self.own_folder, self.directory.as_os_str().is_empty()) {
            (true, _) => folder,
            (false, true) => Path::new("."),
            (false, false) => &self.directory,
        }
    }
}

fn in_folder(text: &str, folder: &Path) -> String {
    text.replace(FOLDER, &folder.to_string_lossy())
}

/// What a run cost, launcher included.
pub struct Cost {
    /// Whether anything was started, which then has a status.
    pub is_started: bool,
    /// When it began.
    pub started_unix_seconds: u64,
    /// Elapsed.
    pub seconds: f64,
    /// Of all processors together.
    pub processor_seconds: f64,
    /// The machine meanwhile.
    pub machine: Option<Conditions>,
}

/// Gives a folder the first free name beside `place`, which is `place` with a number behind; what it is called then. Its own
/// name where there is no other.
pub fn beside(folder: PathBuf, place: &Path) -> PathBuf {
    let numbered = |number: u32| {
        let mut name = place.as_os_str().to_owned();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    };
    // To make the name is to take it; a folder may be moved over an empty one.
    let free = (1..=9999).map(numbered).find(|name| fs::create_dir(name).is_ok());
    free.filter(|name| fs::rename(&folder, name).is_ok()).unwrap_or(folder)
}

/// Whether poise or its runtime writes files of this name into a run's folder.
pub fn is_ours(name: &str) -> bool {
    OWN.contains(&name) || OWN_STARTS.iter().any(|start| name.starts_with(start))
}

/// A file in a run's folder that neither poise nor its runtime writes, if there is one: the first by name.
fn foreign_in(folder: &Path) -> Option<OsString> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let is_foreign = |name: &OsString| {
        let name = name.to_string_lossy();
        let name = name.strip_prefix('.').filter(|name| name.ends_with(".tmp")).unwrap_or(&name);
        !is_ours(name)
    };
    names.filter(is_foreign).min()
}

/// Brings a folder with all that is in it onto the disk, but for what the program left unreadable there.
fn sync(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        // What else the program left there, such as a socket, need not be openable.
        let synced = if kind.is_dir() {
            sync(&entry.path())
        } else if kind.is_file() {
            File::open(entry.path()).and_then(|file| file.sync_all())
        } else {
            Ok(())
        };
        synced.or_else(|e| if e.kind() == io::ErrorKind::PermissionDenied { Ok(()) } else { Err(e) })?;
    }
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(folder: &Path, status: &str, configuration: &str) {
        fs::create_dir_all(folder).unwrap();
        let record = serde_json::json!({ "schema": record::SCHEMA, "status": status, "configuration": configuration });
        fs::write(folder.join(RECORD), record.to_string()).unwrap();
    }

    #[test]
    fn a_complete_run_is_never_replaced() {
        let results = tempfile::tempdir().unwrap();
        let place = results.path().join("n1.r1");
        let run = Run { command: vec!["true".into()], configuration: "a".into(), captured: true, ..Run::default() };
        let refused = || run.refuse(&place, Cause::NodeFailed, "gone".into()).unwrap();
        ended(&place, "failed", "a");
        assert!(matches!(refused(), Outcome::Failed { cause: Cause::NodeFailed, .. }));
        assert_eq!(record::read(&place).unwrap().cause.as_deref(), Some("node-failed"), "a failed run is replaced");

        ended(&place, "complete", "a");
        let before = fs::read(place.join(RECORD)).unwrap();
        assert!(matches!(refused(), Outcome::Complete));
        let other = tempfile::tempdir_in(results.path()).unwrap();
        ended(other.path(), "failed", "a");
        assert!(!run.keep(other.path(), &place).unwrap());
        drop(other);
        assert_eq!(fs::read(place.join(RECORD)).unwrap(), before);

        ended(&place, "complete", "b");
        assert!(matches!(refused(), Outcome::Failed { cause: Cause::CannotStart, .. }), "another study's is not ours");
        assert_eq!(record::read(&place).unwrap().configuration.as_deref(), Some("b"));
        assert_eq!(fs::read_dir(results.path()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn only_failed_runs_of_ours_make_way_also_at_the_end() {
        let results = tempfile::tempdir().unwrap();
        let place = results.path().join("out");
        let single = Run { command: vec!["true".into()], ..Run::default() };
        let studys = Run { configuration: "a".into(), ..single.clone() };
        let is_kept = |run: &Run| {
            let made = tempfile::tempdir_in(results.path()).unwrap();
            fs::write(made.path().join("new"), "").unwrap();
            let is_placed = run.keep(made.path(), &place).unwrap();
            assert_eq!(is_placed, place.join("new").exists());
            assert_eq!(is_placed, !made.path().exists());
            !is_placed
        };
        let with = |schema: &str, file: &str| {
            let _ = fs::remove_dir_all(&place);
            fs::create_dir(&place).unwrap();
            fs::write(place.join(RECORD), serde_json::json!({ "schema": schema, "status": "failed" }).to_string())
                .unwrap();
            fs::write(place.join(file), "").unwrap();
        };
        for (schema, file, stays_for_single, stays_for_study) in [
            (record::SCHEMA, "stdout.txt", false, false),
            (record::SCHEMA, CONFLICT, false, false),
            (record::SCHEMA, "machine.poise.0", false, false),
            (record::SCHEMA, ".machine.poise.0.4711.tmp", false, false),
            (record::SCHEMA, PROFILE, true, false),
            (record::SCHEMA, partial::PARTIAL, true, false),
            (record::SCHEMA, "profile.poise.checkpoint.3", true, false),
            (record::SCHEMA, "cat.png", true, false),
            ("another/run", "stdout.txt", true, true),
        ] {
            with(schema, file);
            assert_eq!(is_kept(&single), stays_for_single, "{schema} {file}");
            with(schema, file);
            assert_eq!(is_kept(&studys), stays_for_study, "{schema} {file}");
        }
        with(record::SCHEMA, "cat.png");
        assert_eq!(single.obstacle(&place).unwrap(), "holds cat.png, which is not poise's");
    }

    #[test]
    fn a_single_run_that_cannot_be_placed_is_kept_beside() {
        let results = tempfile::tempdir().unwrap();
        let single = Run { command: vec!["true".into()], ..Run::default() };
        fs::write(results.path().join("out.1"), "a file's name is taken too").unwrap();
        // Nothing can be renamed to a name that a dangling link has, although nothing seems to be there.
        let place = results.path().join("out");
        std::os::unix::fs::symlink("nowhere", &place).unwrap();
        let made = tempfile::tempdir_in(results.path()).unwrap();
        fs::write(made.path().join(PROFILE), "measured").unwrap();
        let told = single.settle(made, &place, Outcome::Complete).unwrap_err();
        assert!(told.to_string().contains("out"), "{told}");
        assert_eq!(fs::read_to_string(results.path().join("out.2").join(PROFILE)).unwrap(), "measured");
        // A folder that cannot be reached any more, as after an error of the disk, is neither placed nor removed.
        let made = tempfile::tempdir_in(results.path()).unwrap();
        fs::write(made.path().join(PROFILE), "measured").unwrap();
        let gone = results.path().join("gone/out");
        let path = made.path().to_owned();
        single.settle(made, &gone, Outcome::Complete).unwrap_err();
        assert_eq!(fs::read_to_string(path.join(PROFILE)).unwrap(), "measured");
    }
}
