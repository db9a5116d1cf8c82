//! How a run ended, and why: every way a program can go wrong has a name of its own, by what the system and the
//! launcher say of it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use super::processes::Process;
use super::{CONFLICT, Measured, PROFILE, Run, elf, launcher, record};
use crate::install;
use crate::output;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It ended with status 0 and left its profile.
    Complete,
    /// It did not.
    Failed {
        /// Why, by name.
        cause: Cause,
        /// Why, in one sentence.
        reason: String,
        /// The command's own status, or 128 + signal as shells have it; 0 where only the profile is missing.
        status: u8,
    },
}

impl Outcome {
    /// The same where what was said of `folder` is of `place`, which the folder becomes.
    pub fn moved(self, folder: &Path, place: &Path) -> Self {
        let [folder, place] = [folder, place].map(|path| path.display().to_string());
        match self {
            Self::Complete => Self::Complete,
            Self::Failed { cause, reason, status } => {
                Self::Failed { cause, reason: reason.replace(&folder, &place), status }
            }
        }
    }
}

/// Why a run failed. Names are a stable interface: `cause` in `run.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The study's build of its program failed.
    Build,
    /// The program could not be started.
    CannotStart,
    /// It ended with a status other than 0, and nothing tells more.
    ExitStatus,
    /// It was killed by a signal.
    Signal,
    /// A rank died or was killed, and the launcher ended the others.
    RankKilled,
    /// The program called `MPI_Abort`.
    Aborted,
    /// The launcher or the batch system ended it for a reason of its own.
    KilledByLauncher,
    /// There was not enough memory.
    OutOfMemory,
    /// There is not enough room for so many ranks.
    TooManyRanks,
    /// It was still computing at its time limit.
    TimeLimit,
    /// It did nothing any more when its time limit came, or none of its ranks came back from MPI.
    Hangs,
    /// It or its ranks ended, but processes that they had started ran on.
    LeftChildren,
    /// It ended well, printed nothing and left no profile.
    PrintsNothing,
    /// It ended well and left no profile.
    NoProfile,
    /// Several of its processes would each have written the profile.
    SeveralProfiles,
    /// The node that it ran on failed.
    NodeFailed,
}

/// Every cause.
const CAUSES: [Cause; 16] = [
    Cause::Build,
    Cause::CannotStart,
    Cause::ExitStatus,
    Cause::Signal,
    Cause::RankKilled,
    Cause::Aborted,
    Cause::KilledByLauncher,
    Cause::OutOfMemory,
    Cause::TooManyRanks,
    Cause::TimeLimit,
    Cause::Hangs,
    Cause::LeftChildren,
    Cause::PrintsNothing,
    Cause::NoProfile,
    Cause::SeveralProfiles,
    Cause::NodeFailed,
];

impl Cause {
    /// Whether processes that were running came to an end before they could write what they had measured.
    pub fn is_death(self) -> bool {
        matches!(
            self,
            Self::ExitStatus
                | Self::Signal
                | Self::RankKilled
                | Self::KilledByLauncher
                | Self::OutOfMemory
                | Self::NodeFailed
        )
    }

    /// Whether no rank of it ever ran, so that it says nothing of the machine either.
    pub fn is_before_start(self) -> bool {
        matches!(self, Self::Build | Self::CannotStart | Self::TooManyRanks)
    }

    /// The cause of a name.
    pub fn named(name: &str) -> Option<Self> {
        CAUSES.into_iter().find(|cause| cause.name() == name)
    }

    /// The name in records and events.
    pub fn name(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::CannotStart => "cannot-start",
            Self::ExitStatus => "exit-status",
            Self::Signal => "signal",
            Self::RankKilled => "rank-killed",
            Self::Aborted => "aborted",
            Self::KilledByLauncher => "killed-by-launcher",
            Self::OutOfMemory => "out-of-memory",
            Self::TooManyRanks => "too-many-ranks",
            Self::TimeLimit => "time-limit",
            Self::Hangs => "hangs",
            Self::LeftChildren => "left-children",
            Self::PrintsNothing => "prints-nothing",
            Self::NoProfile => "no-profile",
            Self::SeveralProfiles => "several-profiles",
            Self::NodeFailed => "node-failed",
        }
    }
}

/// What the system says of a program's end.
pub struct Ended {
    /// How.
    pub how: End,
    /// Processes that it left running; they have been ended.
    pub left: Vec<Process>,
    /// Whether the kernel killed something for want of memory meanwhile.
    pub out_of_memory: bool,
    /// Elapsed until its end, without waiting for what it left running.
    pub seconds: f64,
    /// Processor time of the program and of all that it has started and waited for.
    pub processor_seconds: f64,
    /// For how long poise was stopped meanwhile, as by Ctrl-Z, or as a batch system suspends jobs.
    pub stopped: Duration,
    /// Which rank ended first, where there were ranks.
    pub first: Option<First>,
}

/// The rank that ended first, before the launcher ended others.
pub struct First {
    /// Which, and how, in a sentence.
    pub told: String,
    /// Whether a signal killed it.
    pub is_killed: bool,
}

/// How a program ended.
pub enum End {
    /// It could not be started.
    NotStarted(String),
    /// By itself, or by somebody else's signal.
    Itself(ExitStatus),
    /// We ended it.
    Late {
        /// At this limit.
        limit: Duration,
        /// For so long it had used no processor time, if it had not.
        idle: Option<Duration>,
    },
    /// We ended it at this limit, when so many ranks, which were all, had each been within one MPI call for so long.
    Spinning {
        /// The limit.
        limit: Duration,
        /// How many ranks.
        ranks: usize,
        /// For how long at least.
        within: Duration,
    },
    /// We ended it at this limit, after a rank had died: its launcher waited for the others, or was not at its end yet.
    RankDied {
        /// The limit.
        limit: Duration,
        /// Who says it of which rank.
        told: String,
    },
    /// We ended it, since the launcher waited at this limit for processes that its ranks, which had ended, had left.
    KeptWaiting {
        /// The limit.
        limit: Duration,
        /// For whom it waited.
        by: Vec<Process>,
    },
}

impl Ended {
    /// It could not be started.
    pub fn not_started(why: String) -> Self {
        let (how, left) = (End::NotStarted(why), Vec::new());
        Self {
            how,
            left,
            out_of_memory: false,
            seconds: 0.0,
            processor_seconds: 0.0,
            stopped: Duration::ZERO,
            first: None,
        }
    }
}

/// What became of `run`, whose unfinished folder is `folder`.
pub fn judge(run: &Run, ended: &Ended, folder: &Path) -> Outcome {
    let failed = |cause, reason: String, status| Outcome::Failed { cause, reason, status };
    match &ended.how {
        End::NotStarted(why) => failed(Cause::CannotStart, why.clone(), 127),
        End::Late { limit, idle: None } => {
            failed(Cause::TimeLimit, format!("It ran longer than {} s and was ended.", seconds(*limit)), 124)
        }
        End::Late { limit, idle: Some(idle) } => {
            let idle = seconds(*idle);
            let limit = seconds(*limit);
            failed(
                Cause::Hangs,
                format!("It ran longer than {limit} s and was ended; it had done nothing for {idle} s."),
                124,
            )
        }
        End::Spinning { limit, ranks, within } => {
            let (limit, within) = (seconds(*limit), seconds(*within));
            let what = if *ranks == 1 { "its one rank".into() } else { format!("each of its {ranks} ranks") };
            let reason = format!(
                "It ran longer than {limit} s and was ended; {what} had been within one MPI call for {within} s."
            );
            failed(Cause::Hangs, reason, 124)
        }
        End::RankDied { limit, told } => {
            let limit = seconds(*limit);
            let reason = format!("It ran longer than {limit} s and was ended, after a rank had died. {told}");
            failed(Cause::RankKilled, reason, 124)
        }
        End::KeptWaiting { limit, by } => {
            let (limit, count, names) = (seconds(*limit), by.len(), names(by));
            let reason = format!(
                "Its ranks ended, but {count} of the processes that they had started ran on and kept the launcher waiting; all were \
                 ended after {limit} s: {names}."
            );
            failed(Cause::LeftChildren, reason, 124)
        }
        End::Itself(status) if status.success() => ended_well(run, ended, folder),
        End::Itself(status) => {
            let (cause, reason, number) =
                ended_badly(*status, ended.out_of_memory, &last_words(folder), ended.first.as_ref());
            let is_untold = matches!(cause, Cause::Signal | Cause::ExitStatus) && status.signal().is_none();
            if let Some(program) = is_untold.then(|| missing_program(run, folder)).flatten() {
                return failed(Cause::CannotStart, not_found(&program), number);
            }
            // Launchers end with the status of a rank, and do not always say so when it dies as they start it.
            let is_ranks = cause == Cause::Signal && status.signal().is_none() && record::launcher(run).is_some();
            let cause = if is_ranks { Cause::RankKilled } else { cause };
            let hint = run.memory_limit.filter(|_| may_be_want_of_memory(cause, &reason, folder)).map(memory_limit);
            failed(cause, reason + &hint.unwrap_or_default(), number)
        }
    }
}

/// Whether a program may have ended so because it got no memory: by a signal of its own doing, or without a word.
fn may_be_want_of_memory(cause: Cause, reason: &str, folder: &Path) -> bool {
    const SIGNALS: [&str; 9] = [
        "SIGSEGV",
        "SIGABRT",
        "SIGBUS",
        "signal 11",
        "signal 6",
        "signal 7",
        "Segmentation fault",
        "Aborted",
        "Bus error",
    ];
    let is_silent = || folder.join("stderr.txt").metadata().is_ok_and(|file| file.len() == 0);
    match cause {
        Cause::Signal | Cause::RankKilled => SIGNALS.iter().any(|signal| reason.contains(signal)),
        Cause::ExitStatus => is_silent(),
        _ => false,
    }
}

fn memory_limit(mebibytes: u64) -> String {
    format!(
        " Perhaps it wanted more than the study's memory_limit of {mebibytes} MiB lets a process have, libraries and what they reserve included."
    )
}

/// The program behind a launcher that does not exist, where what the launcher says of it was not kept: the first word
/// that can only be a path and names nothing, unless an executable file stands before it.
fn missing_program(run: &Run, folder: &Path) -> Option<String> {
    record::launcher(run)?;
    let directory = run.working_directory(folder);
    let is_executable = |path: &Path| path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    for word in run.command_in(folder).into_iter().skip(1).filter(|w| !w.starts_with('-') && !w.contains('=')) {
        let path = directory.join(&word);
        let is_program = if word.contains('/') { is_executable(&path) } else { install::find_program(&word).is_some() };
        if is_program {
            return None;
        }
        if word.contains('/') && path.symlink_metadata().is_err() {
            return Some(word);
        }
    }
    None
}

/// The names of processes, each once.
fn names(processes: &[Process]) -> String {
    let mut names: Vec<&str> = processes.iter().map(|process| process.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

fn not_found(program: &str) -> String {
    format!("The launcher found no program `{program}` that it can execute.")
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

fn ended_well(run: &Run, ended: &Ended, folder: &Path) -> Outcome {
    let failed = |cause, reason: String| Outcome::Failed { cause, reason, status: 0 };
    if !ended.left.is_empty() {
        let (count, names) = (ended.left.len(), names(&ended.left));
        let reason =
            format!("It ended, but {count} of the processes that it had started ran on and were ended: {names}.");
        return failed(Cause::LeftChildren, reason);
    }
    if let Ok(line) = fs::read_to_string(folder.join(CONFLICT)) {
        return failed(Cause::SeveralProfiles, several(run, line.trim()));
    }
    let said = last_words(folder);
    // SMPI ends the rank that called it, and finds that the others wait for that one.
    if let Some(line) = said.lines().find(|line| line.contains(ABORTED_BY_OURS)) {
        return failed(Cause::Aborted, aborted(line));
    }
    // SimGrid's words; its launcher may end well then.
    if said.contains("Oops! Deadlock detected") {
        return failed(Cause::Hangs, "Its ranks wait for each other for ever: the simulator found a deadlock.".into());
    }
    if run.measured == Measured::Not || folder.join(PROFILE).is_file() {
        return Outcome::Complete;
    }
    // What a process said for all.
    if let Ok(line) = fs::read_to_string(poise_profile::said_beside(&folder.join(PROFILE), "failed")) {
        return failed(Cause::NoProfile, format!("It ended well but left no profile: {}", line.trim()));
    }
    if is_unfinalized(&said) {
        return failed(Cause::NoProfile, format!("It ended well but left no profile. {UNFINALIZED}"));
    }
    if run.measured != Measured::Emulated && run.is_instrumented() {
        return failed(Cause::NoProfile, format!("It ended well but left no profile. {UNWRITTEN}"));
    }
    // QEMU leaves a profile of whatever ends while it executes it.
    if run.measured == Measured::Emulated {
        return failed(Cause::NoProfile, NOT_COUNTED.into());
    }
    // What a simulator runs is a library.
    let is_simulated = run.command.first().is_some_and(|word| launcher::is_simulator(word));
    let programs = record::program_files(run);
    if let Some(program) = programs.iter().find(|program| !is_simulated && elf::is_out_of_reach(program)) {
        let reason = format!(
            "It ended well but was not measured: {} is linked statically, so that nothing can be preloaded into it. Link it dynamically or with the libraries \
             (docs/mpi.md), or run it with --engine qemu.",
            program.display()
        );
        return failed(Cause::NoProfile, reason);
    }
    if is_simulated {
        return failed(Cause::NoProfile, NOT_LINKED.into());
    }
    let is_empty = |name: &str| folder.join(name).metadata().is_ok_and(|file| file.len() == 0);
    if is_empty("stdout.txt") && is_empty("stderr.txt") {
        let reason = "It ended well, printed nothing and left no profile: perhaps the command does nothing at all.";
        return failed(Cause::PrintsNothing, reason.into());
    }
    failed(Cause::NoProfile, NO_PROFILE.into())
}

/// Why several processes of a run would each write its profile, of which one has `said` so. What that says to do is for a run without a study.
fn several(run: &Run, said: &str) -> String {
    let starts = |is: &dyn Fn(&str) -> bool| run.command.first().is_some_and(|word| is(word));
    let why = match () {
        () if !run.captured => format!(": {said}"),
        () if !starts(&launcher::is_launcher) => {
            ", as where a script starts several measured programs. Make each a study's own command.".to_owned()
        }
        () if starts(&|word| Path::new(word).ends_with("srun")) => {
            ", as ranks do that do not find each other: under srun MPICH's do by --mpi=pmi2 or pmix, and Open MPI's by --mpi=pmix, where \
             `srun --mpi=list` names it."
                .to_owned()
        }
        () => ", as ranks do that do not find each other: each MPI has a launcher of its own, as mpirun.openmpi and mpiexec.mpich, and what is \
               no MPI program has none."
            .to_owned(),
    };
    format!("Several of its processes would each write the profile{why}")
}

const NOT_COUNTED: &str = "It ended well, but QEMU's plugin left no profile. Where the plugin says nothing of the reason above, the program has probably \
                           executed another in its place (exec), which QEMU does not follow: give that one as the command.";

/// Why a program left no profile of which nothing more is known.
pub const NO_PROFILE: &str = "It ended well but was not measured, since it left no profile: it is neither an MPI program that reached MPI_Finalize \
                          nor a program compiled with poise cc, c++ or fc that ended by exit or by \
                          returning from main. A program that cannot be compiled anew runs \
                          with --engine qemu.";

/// Why a program of SMPI left none, most often.
const NOT_LINKED: &str = "It ended well but was not measured: SimGrid's SMPI runs programs into which nothing can be preloaded. Compile it with poise cc or \
                          c++ and the words of smpicc -show or smpicxx -show (docs/mpi.md).";

/// Why a program that was compiled for it left no profile, and what to do.
pub const UNWRITTEN: &str = "It is compiled with poise cc, c++ or fc, but such a program writes its profile in MPI_Finalize, or where it ends by exit or by returning \
                             from main, and not by _exit, quick_exit or a signal. POISE_CHECKPOINT=SECONDS in the environment keeps \
                             what was counted until then.";

const NO_PMI: &str =
    "Open MPI's ranks did not find each other: it wants `srun --mpi=pmix`, where `srun --mpi=list` names that.";

const UNFINALIZED: &str = "A rank ended without MPI_Finalize.";

/// Whether our shim or Open MPI says that a rank ended without `MPI_Finalize`.
fn is_unfinalized(said: &str) -> bool {
    said.contains("poise: MPI_Finalize was never reached")
        || said.contains("exiting improperly") && said.contains("exited without calling \"finalize\"")
}

/// Why, in words, and the status as shells have it. The text is what it said last on standard error; `first` tells which rank ended first.
fn ended_badly(status: ExitStatus, out_of_memory: bool, said: &str, first: Option<&First>) -> (Cause, String, u8) {
    let code = status.code().map(|code| u8::try_from(code).unwrap_or(1));
    let own_signal = status.signal();
    let number = code.unwrap_or(128 + own_signal.and_then(|s| u8::try_from(s).ok()).unwrap_or(0));
    let how = match (code, own_signal) {
        (Some(code @ 129..=192), _) => {
            format!("ended with status {code}, as after signal {}", signal_name(i32::from(code) - 128))
        }
        (Some(code), _) => format!("ended with status {code}"),
        (None, signal) => format!("was killed by signal {}", signal_name(signal.unwrap_or(0))),
    };
    // Who kills the launcher ends the ranks.
    let first = first.filter(|_| own_signal.is_none());
    // The launcher's own status says nothing of it: Open MPI's is the number of processes that did not start, and 130.
    if let Some(program) = program_not_found(said) {
        return (Cause::CannotStart, not_found(&program), number);
    }
    // Open MPI's launcher knows better which of several that were killed was the first.
    let by_us = first.filter(|first| first.is_killed).map(|first| first.told.clone());
    let by_launcher = || rank_killed(said).filter(|why| first.is_none() || by_us.is_some() && why.starts_with("Rank "));
    let killed = || by_launcher().or(by_us.clone());
    if let Some((cause, why)) = told_by_launcher(said).or_else(|| Some((Cause::RankKilled, killed()?))) {
        let is_killed = cause == Cause::RankKilled && (why.contains("signal 9") || why.contains(": Killed"));
        let (cause, memory) = match (is_killed, out_of_memory) {
            (true, true) => (Cause::OutOfMemory, " The kernel was out of memory at the time."),
            // The kernel of another node may have been.
            (true, false) => (cause, " Perhaps there was not enough memory."),
            (false, _) => (cause, ""),
        };
        return (cause, format!("It {how}. {why}{memory}"), number);
    }
    let was_killed = own_signal == Some(libc::SIGKILL) || code == Some(137);
    if was_killed && out_of_memory {
        return (Cause::OutOfMemory, format!("It {how}; the kernel was out of memory at the time."), number);
    }
    let first = first.map(|first| format!(" {}", first.told)).unwrap_or_default();
    if own_signal.is_some() || code.is_some_and(|c| (129..=192).contains(&c)) {
        return (Cause::Signal, format!("It {how}.{first}"), number);
    }
    let why = if is_unfinalized(said) { format!(" {UNFINALIZED}") } else { String::new() };
    (Cause::ExitStatus, format!("It {how}.{why}{first}"), number)
}

/// The program that a launcher could not start because it does not exist or is not executable, in the words of Open MPI,
/// MPICH and srun.
fn program_not_found(said: &str) -> Option<String> {
    let after = |line: &str, words: &str| line.split_once(words).map(|(_, rest)| rest.trim().to_owned());
    let is_open_mpi = ["unable to launch the specified application", "unable to find the specified executable file"]
        .iter()
        .any(|words| said.contains(words));
    if is_open_mpi {
        return said.lines().find_map(|line| after(line, "Executable:"));
    }
    let before_colon = |text: String| text.split(" (").next().and_then(|t| t.split(": ").next()).map(str::to_owned);
    let mpich = said.lines().find_map(|line| after(line, "execvp error on file "));
    let srun = || said.lines().filter(|l| l.contains("error: execve(): ")).find_map(|l| after(l, "execve(): "));
    mpich.or_else(srun).and_then(before_colon)
}

/// How a process ended, of its status as its parent has it: what stands behind its name.
pub fn end_in_words(status: libc::c_int) -> String {
    match libc::WIFSIGNALED(status) {
        true => format!("was killed by signal {}", signal_name(libc::WTERMSIG(status))),
        false => format!("ended with status {}", libc::WEXITSTATUS(status)),
    }
}

/// Whether it may have been the launcher that ended a rank with this status, because of another one.
pub fn may_be_launchers(status: libc::c_int) -> bool {
    libc::WIFSIGNALED(status) && matches!(libc::WTERMSIG(status), libc::SIGKILL | libc::SIGTERM)
}

/// `9 (SIGKILL)`.
pub fn signal_name(signal: i32) -> String {
    signal_hook::low_level::signal_name(signal).map_or_else(|| signal.to_string(), |name| format!("{signal} ({name})"))
}

/// What the launcher, the batch system or the program itself says of the reason, if one of them does.
fn told_by_launcher(said: &str) -> Option<(Cause, String)> {
    const NO_MEMORY: [&str; 10] = [
        "std::bad_alloc",
        "Cannot allocate memory",
        "cannot allocate memory",
        "Out Of Memory",
        "out of memory",
        "Out of memory",
        "oom-kill",
        "MemoryError",
        // Slurm, where it gathers what jobs use instead of asking cgroups.
        "exceeded memory limit",
        "Exceeded job memory limit",
    ];
    const LAUNCHERS_OWN: [&str; 4] = [
        "DUE TO TIME LIMIT",
        "DUE TO PREEMPTION",
        "The user-provided time limit for job execution has been",
        "STEPD TERMINATED",
    ];
    let line_with =
        |patterns: &[&str]| said.lines().map(str::trim).find(|line| patterns.iter().any(|p| line.contains(p)));
    let quoted = |line: &str| line.trim_end_matches('.').to_owned();
    if said.contains("appears to have been direct launched using \"srun\"") {
        return Some((Cause::CannotStart, NO_PMI.into()));
    }
    if has_no_room(said) {
        return Some((Cause::TooManyRanks, "The launcher has no room for so many ranks.".into()));
    }
    if let Some(line) = line_with(&NO_MEMORY) {
        return Some((Cause::OutOfMemory, format!("There was not enough memory: \"{}\".", quoted(line))));
    }
    if line_with(&["DUE TO NODE FAILURE", "Node failure"]).is_some() {
        return Some((Cause::NodeFailed, "A node that it ran on failed.".into()));
    }
    if let Some(line) = line_with(&LAUNCHERS_OWN) {
        return Some((Cause::KilledByLauncher, format!("The launcher ended it: \"{}\".", quoted(line))));
    }
    // Launchers sometimes fail to say it, and our shim does.
    const ABORTED: [&str; 3] = ["MPI_ABORT was invoked on rank", "application called MPI_Abort(", ABORTED_BY_OURS];
    if let Some(line) = line_with(&ABORTED) {
        return Some((Cause::Aborted, aborted(line)));
    }
    None
}

/// What our shim says where the program calls `MPI_Abort`.
const ABORTED_BY_OURS: &str = "poise: the program called MPI_Abort with";

fn aborted(line: &str) -> String {
    format!("The program ended all ranks itself: \"{}\".", line.trim().trim_end_matches('.'))
}

/// Whether a launcher or a batch system says that there is no room for so many ranks.
pub fn has_no_room(said: &str) -> bool {
    const NO_ROOM: [&str; 7] = [
        "There are not enough slots available in the system",
        "All nodes which are allocated for this job are already filled",
        "More processors requested than permitted",
        "Requested node configuration is not available",
        "Node count specification invalid",
        "CPU count per node can not be satisfied",
        "Requested partition configuration not available now",
    ];
    NO_ROOM.iter().any(|words| said.contains(words))
}

/// The rank or task that died, in the words of Open MPI, MPICH and srun.
fn rank_killed(said: &str) -> Option<String> {
    let between = |line: &str, before: &str, after: &str| {
        let (_, rest) = line.split_once(before)?;
        rest.split(after).next().map(|found| found.trim().to_owned())
    };
    // Open MPI breaks the line anywhere.
    let joined = said.split_whitespace().collect::<Vec<_>>().join(" ");
    if let (Some(rank), Some(signal)) =
        (between(&joined, "noticed that process rank ", " "), between(&joined, "exited on signal ", " "))
    {
        let signal = signal.trim_end_matches('.');
        return Some(format!("Rank {rank} was killed by signal {signal}, and the launcher ended the others."));
    }
    if let Some(what) = between(said, "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: ", "\n") {
        let signal = between(&what, "(signal ", ")").unwrap_or(what);
        return Some(format!("A rank was killed by signal {signal}, and the launcher ended the others."));
    }
    let srun = said.lines().find(|line| is_of_task(line));
    let srun = srun
        .filter(|line| ["Killed", "Segmentation fault", "Aborted", "Bus error"].iter().any(|what| line.contains(what)));
    srun.map(|line| format!("srun ended it: \"{}\".", of_srun(line)))
}

/// The rank that a signal has killed while its launcher runs: as the kernel tells it, or srun, or Open MPI in the rank.
pub fn rank_died(folder: &Path, first: Option<&First>) -> Option<String> {
    const SIGNALS: [&str; 6] =
        ["Killed", "Segmentation fault", "Aborted", "Bus error", "Floating point exception", "Illegal instruction"];
    let said = last_words(folder);
    let names_signal = |line: &&str| SIGNALS.iter().any(|signal| line.contains(signal));
    let by_kernel = first.filter(|first| first.is_killed).map(|first| first.told.clone());
    let srun = || said.lines().filter(|line| is_of_task(line)).find(names_signal).map(of_srun);
    let open_mpi = || {
        let (_, signal) =
            said.lines().filter(|line| line.starts_with('[')).find_map(|line| line.split_once("] Signal: "))?;
        Some(format!("Open MPI said: \"Signal: {}\".", signal.trim()))
    };
    by_kernel.or_else(|| Some(format!("srun said: \"{}\".", srun()?))).or_else(open_mpi)
}

/// Whether srun tells the end of tasks: `srun: error: n1: task 0: Killed`.
fn is_of_task(line: &str) -> bool {
    line.starts_with("srun: error: ") && line.contains(" task")
}

/// What it tells.
fn of_srun(line: &str) -> &str {
    line.trim_start_matches("srun: error: ").trim()
}

/// The end of what the program and its launcher wrote to standard error, and what MPICH's launcher writes to standard output
/// where a rank was killed.
fn last_words(folder: &Path) -> String {
    const MPICH: &str = "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES";
    let end_of = |name: &str| output::end_of(&folder.join(name)).unwrap_or_default();
    let printed = end_of("stdout.txt");
    let of_mpich = printed.rfind(MPICH).map_or("", |at| &printed[at..]);
    end_of("stderr.txt") + of_mpich
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(raw: i32, out_of_memory: bool, said: &str) -> (Cause, String, u8) {
        ended_badly(ExitStatus::from_raw(raw), out_of_memory, said, None)
    }

    /// What the kernel tells of ranks comes before what launchers do, of which MPICH's takes one that it ended itself for the first.
    #[test]
    fn the_first_rank_that_ended_is_told() {
        let mpich = "=   BAD TERMINATION\nYOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\n";
        let of = |raw: i32, said: &str, told: &str, is_killed| {
            let first = First { told: format!("First, rank 3 {told}."), is_killed };
            let (cause, reason, _) = ended_badly(ExitStatus::from_raw(raw), false, said, Some(&first));
            (cause, reason)
        };
        let (cause, reason) = of(9 << 8, mpich, "ended with status 4", false);
        assert_eq!(cause, Cause::ExitStatus);
        assert_eq!(reason, "It ended with status 9. First, rank 3 ended with status 4.");
        let (cause, reason) = of(9 << 8, mpich, "was killed by signal 9 (SIGKILL)", true);
        assert_eq!(cause, Cause::RankKilled);
        let perhaps = "Perhaps there was not enough memory.";
        assert_eq!(
            reason,
            format!("It ended with status 9. First, rank 3 was killed by signal 9 (SIGKILL). {perhaps}")
        );
        let (cause, reason) = of(1 << 8, "There are not enough slots available in the system", "ended", false);
        assert!(cause == Cause::TooManyRanks && !reason.contains("rank 3"), "{reason}");
        let (_, reason) = of(libc::SIGTERM, "", "was killed by signal 15 (SIGTERM)", true);
        assert_eq!(reason, "It was killed by signal 15 (SIGTERM).", "who kills the launcher ends the ranks");
    }

    #[test]
    fn what_the_system_says_is_told_apart() {
        let (status, signal) = (|code: i32| code << 8, |number: i32| number);
        assert_eq!(cause(status(3), false, ""), (Cause::ExitStatus, "It ended with status 3.".into(), 3));
        let aborted = "It ended with status 134, as after signal 6 (SIGABRT).";
        assert_eq!(cause(status(134), false, ""), (Cause::Signal, aborted.into(), 134));
        assert_eq!(cause(signal(11), false, ""), (Cause::Signal, "It was killed by signal 11 (SIGSEGV).".into(), 139));
        assert_eq!(cause(signal(9), true, "").0, Cause::OutOfMemory);
        assert_eq!(cause(signal(9), false, "").0, Cause::Signal);
        assert_eq!(cause(signal(11), true, "").0, Cause::Signal, "somebody else's memory");
    }

    /// What Open MPI 4.1.4, MPICH 4.0.2 and Slurm 22.05 print.
    #[test]
    fn a_program_that_launchers_do_not_find_is_told_and_not_their_status() {
        let cannot = "mpirun was unable to launch the specified application as it could not access\nor execute an executable:\n\n\
                      Executable: ./no app\nNode: vm\n\nwhile attempting to start process rank 0.\n";
        let cannot_find = "mpirun was unable to find the specified executable file, and therefore\ndid not launch the job.\n\n\
                           NOTE: A common cause for this error is misspelling a mpirun command\n\nNode:       vm\nExecutable: noapp\n";
        let mpich = "[proxy:0:0@vm] HYDU_create_process (utils/launch/launch.c:73): execvp error on file ./noapp (No such file or directory)\n";
        let srun = "slurmstepd: error: execve(): ./noapp: No such file or directory\nsrun: error: n1: task 0: Exited with exit code 2\n";
        for (code, said, name) in
            [(132, cannot, "./no app"), (134, cannot_find, "noapp"), (255, mpich, "./noapp"), (2, srun, "./noapp")]
        {
            let reason = format!("The launcher found no program `{name}` that it can execute.");
            assert_eq!(cause(code << 8, false, said), (Cause::CannotStart, reason, code as u8));
        }
    }

    #[test]
    fn a_program_that_does_not_exist_is_told_although_the_launcher_was_not_heard() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("hosts"), "").unwrap();
        let app = folder.path().join("app");
        fs::write(&app, "").unwrap();
        fs::set_permissions(&app, fs::Permissions::from_mode(0o755)).unwrap();
        let ended = Ended { how: End::Itself(ExitStatus::from_raw(132 << 8)), ..Ended::not_started(String::new()) };
        let of = |command: &str| {
            let command = command.split(' ').map(str::to_owned).collect();
            let run = Run { command, directory: folder.path().to_owned(), ..Run::default() };
            match judge(&run, &ended, folder.path()) {
                Outcome::Failed { cause, reason, status } => (cause, reason.contains("no program `./missing`"), status),
                Outcome::Complete => panic!("status 132 is no success"),
            }
        };
        let missing = (Cause::CannotStart, true, 132);
        assert_eq!(of("mpirun -n 2 ./missing ./in"), missing);
        assert_eq!(of("mpirun --hostfile ./hosts -x A=./b -n 2 ./missing"), missing);
        // What stands behind the program may come into being only by it.
        assert_eq!(of("mpirun -n 2 ./app ./missing"), (Cause::RankKilled, false, 132));
        assert_eq!(of("mpirun -n 2 sh ./missing"), (Cause::RankKilled, false, 132));
        assert_eq!(of("./app ./missing"), (Cause::Signal, false, 132));
    }

    #[test]
    fn a_launchers_status_is_a_ranks_where_it_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let ended = Ended { how: End::Itself(ExitStatus::from_raw(137 << 8)), ..Ended::not_started(String::new()) };
        let of = |command: &str| match judge(
            &Run { command: vec![command.into()], ..Run::default() },
            &ended,
            folder.path(),
        ) {
            Outcome::Failed { cause, .. } => cause,
            Outcome::Complete => panic!("status 137 is no success"),
        };
        assert_eq!((of("/usr/bin/mpirun.openmpi"), of("./script")), (Cause::RankKilled, Cause::Signal));
    }

    /// What MPICH 4.0.2 prints to standard output, Open MPI 4.1.4 and SimGrid 3.32 to standard error.
    #[test]
    fn a_rank_that_was_killed_never_finalized_or_waits_for_ever_is_told_wherever_it_is_said() {
        let of = |status: i32, stdout: &str, stderr: &str| {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("stdout.txt"), stdout).unwrap();
            fs::write(folder.path().join("stderr.txt"), stderr).unwrap();
            let ended =
                Ended { how: End::Itself(ExitStatus::from_raw(status << 8)), ..Ended::not_started(String::new()) };
            match judge(&Run { command: vec!["mpirun.mpich".into()], ..Run::default() }, &ended, folder.path()) {
                Outcome::Failed { cause, reason, .. } => (cause, reason),
                Outcome::Complete => panic!("it has no profile"),
            }
        };
        let mpich = "n = 4\n\n====\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   EXIT CODE: 9\n====\n\
                     YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\nThis typically refers to\n";
        let (cause, reason) = of(9, mpich, "");
        assert_eq!(cause, Cause::RankKilled);
        assert!(reason.contains("by signal 9") && reason.ends_with("Perhaps there was not enough memory."), "{reason}");
        let open_mpi = "mpirun has exited due to process rank 0 with PID 0 on\nnode vm exiting improperly. There are three\n\
                        2. this process called \"init\", but exited without calling \"finalize\".\n";
        let unfinalized = of(1, "", open_mpi);
        assert_eq!(
            unfinalized,
            (Cause::ExitStatus, "It ended with status 1. A rank ended without MPI_Finalize.".into())
        );
        let ours =
            "poise: MPI_Finalize was never reached; this run has no profile; POISE_CHECKPOINT would have saved\n";
        let (cause, reason) = of(0, "x", ours);
        assert_eq!((cause, reason.contains("without MPI_Finalize")), (Cause::NoProfile, true), "{reason}");
        let deadlock =
            format!("[0.00] [ker_engine/CRITICAL] Oops! Deadlock detected, some activities are still\n{ours}");
        assert_eq!(of(0, "", &deadlock).0, Cause::Hangs);
        let of_smpi = "poise: the program called MPI_Abort with 3; this run has no profile.\n\
                       [0.04] [ker_engine/CRITICAL] Oops! Deadlock detected, some activities are still around\n";
        let (cause, reason) = of(0, "", of_smpi);
        assert!(cause == Cause::Aborted && reason.contains("called MPI_Abort with 3; this run"), "{reason}");
        let aborted =
            "poise: the program called MPI_Abort with 3; this run has no profile\n[vm] ORTE_ERROR_LOG: Out of resource";
        assert_eq!(of(3, "", aborted).0, Cause::Aborted);
    }

    /// What Open MPI 4.1.4 and Slurm 22.05 print of a rank that died and for which nobody ended the others.
    #[test]
    fn a_rank_that_died_before_the_time_limit_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let of = |said: &str, first: Option<First>| {
            fs::write(folder.path().join("stderr.txt"), said).unwrap();
            rank_died(folder.path(), first.as_ref())
        };
        let srun = "srun: error: n2: task 1: Segmentation fault\n";
        assert_eq!(of(srun, None).unwrap(), "srun said: \"n2: task 1: Segmentation fault\".");
        let open_mpi = "[vm:18216] *** Process received signal ***\n[vm:18216] Signal: Segmentation fault (11)\n";
        assert_eq!(of(open_mpi, None).unwrap(), "Open MPI said: \"Signal: Segmentation fault (11)\".");
        let first = |is_killed| Some(First { told: "First, rank 1 ended.".into(), is_killed });
        assert_eq!(of(open_mpi, first(true)).unwrap(), "First, rank 1 ended.", "the kernel knows best");
        for said in ["", "Signal: x\n", "srun: error: n1: task 0: Exited with exit code 1\n"] {
            assert_eq!(of(said, first(false)), None);
        }
        let how = End::RankDied { limit: Duration::from_secs(6), told: of(srun, None).unwrap() };
        let ended = Ended { how, ..Ended::not_started(String::new()) };
        let reason = "It ran longer than 6 s and was ended, after a rank had died. srun said: \"n2: task 1: Segmentation fault\".";
        let expected = Outcome::Failed { cause: Cause::RankKilled, reason: reason.into(), status: 124 };
        assert_eq!(judge(&Run { command: vec!["srun".into()], ..Run::default() }, &ended, folder.path()), expected);
    }

    #[test]
    fn what_launchers_say_is_understood() {
        let of = |said: &str| cause(9 << 8, false, said);
        let open_mpi = "mpirun noticed that process rank 1 with PID 0 on node host exited on\nsignal 9 (Killed).\n";
        let killed = of(open_mpi);
        assert_eq!(killed.0, Cause::RankKilled);
        assert!(killed.1.contains("Rank 1 was killed by signal 9"), "{}", killed.1);
        assert_eq!(cause(137 << 8, true, open_mpi).0, Cause::OutOfMemory);
        let mpich =
            "=   BAD TERMINATION\nYOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\nThis typically";
        assert!(of(mpich).1.contains("by signal 9, and the launcher"), "{}", of(mpich).1);
        assert!(killed.1.ends_with("Perhaps there was not enough memory."), "{}", killed.1);
        for (said, is_perhaps_memory) in [("task 1: Segmentation fault", false), ("task 0: Killed", true)] {
            let (cause, why, _) = of(&format!("srun: error: n1: {said}"));
            assert!(cause == Cause::RankKilled && why.contains("not enough memory") == is_perhaps_memory, "{why}");
        }
        // What slurmstepd 22.05 prints without cgroups.
        let step = "slurmstepd-n1: error: StepId=1.0 exceeded memory limit (570585088 > 104857600), being killed";
        assert_eq!(of(&format!("{step}\nsrun: error: n1: task 0: Killed")).0, Cause::OutOfMemory);
        assert_eq!(
            of("slurmstepd: error: *** STEP 4.0 ON n1 CANCELLED AT 2024-01-01T00:00:00 DUE TO TIME LIMIT ***").0,
            Cause::KilledByLauncher
        );
        assert_eq!(of("MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD").0, Cause::Aborted);
        assert_eq!(of("There are not enough slots available in the system to satisfy the 99").0, Cause::TooManyRanks);
        assert_eq!(of("terminate called after throwing an instance of 'std::bad_alloc'").0, Cause::OutOfMemory);
        // What Open MPI 4.1.4 prints under srun without --mpi=pmix.
        let alone = "The application appears to have been direct launched using \"srun\",\nbut OMPI was not built with SLURM's PMI support";
        let (cause, why, _) = of(alone);
        assert!(cause == Cause::CannotStart && why.contains("`srun --mpi=pmix`"), "{why}");
        assert_eq!(of("some words of its own").0, Cause::ExitStatus);
    }
}
