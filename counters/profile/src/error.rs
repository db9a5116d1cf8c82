//! What can be wrong with a profile, and what its user can do about it.

use std::path::PathBuf;

/// Why a profile could not be read, written or merged.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The bytes do not start as a profile does.
    #[error(
        "not a profile: it does not start with the bytes of one; give a file that `poise run` or POISE_PROFILE wrote"
    )]
    NotAProfile,
    /// A later release wrote it.
    #[error(
        "the profile has format version {found}, but this program knows versions up to {known}; use the release that wrote it or a newer one"
    )]
    NewerVersion {
        /// Version of the file.
        found: u32,
        /// Newest version this crate reads.
        known: u32,
    },
    /// The end is missing, or something follows it.
    #[error(
        "the profile should have {expected} bytes, but has {found}: it was cut off or damaged; copy it again or repeat the run"
    )]
    Truncated {
        /// Length that the header states, or the header's own length where even that is incomplete.
        expected: u64,
        /// Length found.
        found: u64,
    },
    /// A byte changed since it was written.
    #[error(
        "the profile's checksum is {found:016x} where {expected:016x} was expected: the file is damaged; copy it again or repeat the run"
    )]
    Checksum {
        /// Checksum of the bytes read.
        expected: u64,
        /// Checksum that the file ends with.
        found: u64,
    },
    /// The parts do not fit together.
    #[error(
        "the profile is inconsistent: {what}; repeat the run, and if that does not help report the file as a defect"
    )]
    Inconsistent {
        /// Which part does not fit.
        what: String,
    },
    /// There is a file already.
    #[error("{path}: there is a file already, which is kept; remove it or choose another path")]
    Exists {
        /// Path that was to be written.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("{path}: cannot {action}: {source}")]
    Io {
        /// File or folder concerned.
        path: PathBuf,
        /// What was tried, such as "read the profile".
        action: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file is not a readable profile.
    #[error("{path}: {source}")]
    InFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with its contents.
        source: Box<ProfileError>,
    },
}
