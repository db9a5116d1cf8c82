//! The ways a command ends other than well, each with its exit code. The codes are a stable interface.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Exit codes; `poise --help` lists them.
pub mod exit {
    /// Done, but a gate failed.
    pub const GATE: u8 = 1;
    /// The command line, or a program or folder that it needs, cannot be used.
    pub const USAGE: u8 = 2;
    /// Input unreadable or not recognised.
    pub const INPUT: u8 = 3;
    /// Input valid but not modelable.
    pub const NOT_MODELABLE: u8 = 4;
    /// Some call paths or runs failed, the rest was written.
    pub const PARTIAL: u8 = 5;
    /// A defect of ours.
    pub const DEFECT: u8 = 70;
}

/// Why a command did not end well. Messages are whole sentences that say what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A gate failed; the result was written.
    #[error("{0}")]
    Gate(String),
    /// The command line, or a program or folder that it needs, cannot be used.
    #[error("{0}")]
    Usage(String),
    /// Something could not be read or was not recognised.
    #[error("{0}")]
    Input(String),
    /// Valid input from which nothing can be modelled.
    #[error("{0}")]
    NotModelable(String),
    /// Some call paths or runs failed; the rest was written.
    #[error("{0}")]
    Partial(String),
    /// The measured command or compiler failed and said so itself; its status is ours.
    #[error("the command ended with status {0}")]
    Forwarded(u8),
    /// Rank 0 of several has the result and says what is to be said.
    #[error("rank 0 speaks")]
    AnotherRankSpeaks,
    /// The user interrupted; everything half-written is gone.
    #[error("interrupted by signal {0}; of a study or a validation the runs that were complete are kept")]
    Interrupted(i32),
    /// A state that our own code should have made impossible.
    #[error("{0}\nThis is a defect of poise; please report it with the command line.")]
    Defect(String),
}

impl Error {
    /// A file or folder that cannot be written.
    pub fn cannot_write(path: &Path, source: &std::io::Error) -> Self {
        let path = if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.to_owned() };
        // The crate tempfile names its own file as well, which nobody asked for.
        let said = source.to_string();
        let why = said.split_once(" at path ").map_or(said.as_str(), |(why, _)| why);
        Self::Usage(format!("Cannot write {}: {why}. Choose another place.", path.display()))
    }

    /// A file or folder that cannot be read.
    pub fn cannot_read(path: &Path, source: &std::io::Error) -> Self {
        Self::Input(format!("Cannot read {}: {source}.", path.display()))
    }

    /// The exit code that the contract gives this outcome.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Gate(_) => exit::GATE,
            Self::Usage(_) => exit::USAGE,
            Self::Input(_) => exit::INPUT,
            Self::NotModelable(_) => exit::NOT_MODELABLE,
            Self::Partial(_) => exit::PARTIAL,
            Self::Forwarded(status) => *status,
            Self::AnotherRankSpeaks => 0,
            Self::Interrupted(signal) => 128 + u8::try_from(*signal).unwrap_or(0),
            Self::Defect(_) => exit::DEFECT,
        })
    }
}

/// What commands return.
pub type Result<T, E = Error> = std::result::Result<T, E>;
