//! Profiles as files: read with the path in every error, written whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::run::is_first_to_say;
use crate::{Profile, ProfileError};

impl Profile {
    /// Reads the profile in the file `path`.
    ///
    /// # Errors
    /// [`ProfileError::Io`] or, for its contents, [`ProfileError::InFile`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ProfileError> {
        let path = path.as_ref();
        let io = |source| ProfileError::Io { path: path.to_owned(), action: "read the profile", source };
        let bytes = fs::read(path).map_err(io)?;
        Self::decode(&bytes).map_err(|source| ProfileError::InFile { path: path.to_owned(), source: Box::new(source) })
    }

    /// Writes the profile to `path`, whole or not at all: it goes to a new file in the same folder, which is synced to
    /// disk before it gets its name.
    ///
    /// # Errors
    /// [`ProfileError::Exists`] if there is a file `path` already, which is kept; [`ProfileError::Io`] otherwise.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), ProfileError> {
        write_encoded(path, || self.encode())
    }

    /// As [`Profile::write`], but in the place of a file that is there: a checkpoint of the same process. A reader finds the
    /// old or the new one, whole.
    ///
    /// # Errors
    /// [`ProfileError::Io`]; the old file then stays.
    pub fn replace(&self, path: impl AsRef<Path>) -> Result<(), ProfileError> {
        let path = path.as_ref();
        let temporary = temporary(path);
        let replaced = write_new(&temporary, &self.encode()).and_then(|()| fs::rename(&temporary, path));
        replaced.map_err(|source| {
            let _ = fs::remove_file(&temporary);
            ProfileError::Io { path: path.to_owned(), action: "replace the checkpoint", source }
        })
    }
}

/// As [`Profile::write`], of the profile that `encode` gives the bytes of; it is asked for them where the file may be written.
///
/// # Errors
/// As [`Profile::write`].
pub fn write_encoded(path: impl AsRef<Path>, encode: impl FnOnce() -> Vec<u8>) -> Result<(), ProfileError> {
    let path = path.as_ref();
    // Told early for the user's sake; the naming below is what guarantees it.
    is_free(path)?;
    let temporary = temporary(path);
    let written = write_new(&temporary, &encode()).map_err(|source| refused(path, &source));
    let named = written.and_then(|()| name(&temporary, path));
    // After success the file has its other name; after failure nothing must stay.
    let _ = fs::remove_file(&temporary);
    named?;
    // The name itself reaches the disk only with the folder. Some file systems cannot sync folders, and the
    // profile is complete by now, so this is no error.
    let _ = File::open(folder(path)).and_then(|folder| folder.sync_all());
    Ok(())
}

/// Whether [`Profile::write`] could write to `path` if it were called now, for those who write at the end of a long run. The file that is made to find out, beside
/// `path` as when writing, is removed at once.
///
/// # Errors
/// As [`Profile::write`].
pub fn can_be_written(path: impl AsRef<Path>) -> Result<(), ProfileError> {
    let path = path.as_ref();
    is_free(path)?;
    let temporary = temporary(path);
    File::create_new(&temporary).and_then(|_| fs::remove_file(&temporary)).map_err(|source| refused(path, &source))
}

fn is_free(path: &Path) -> Result<(), ProfileError> {
    match path.symlink_metadata() {
        Ok(there) if there.is_dir() => {
            let why = "there is a folder of this name; choose another path";
            Err(unwritable(path, io::Error::new(io::ErrorKind::IsADirectory, why)))
        }
        Ok(_) => Err(ProfileError::Exists { path: path.to_owned() }),
        Err(_) => Ok(()),
    }
}

/// The system made no file beside `path`.
fn refused(path: &Path, source: &io::Error) -> ProfileError {
    let why = format!("{source}; choose a path in a folder that is there and can be written to");
    unwritable(path, io::Error::new(source.kind(), why))
}

fn unwritable(path: &Path, source: io::Error) -> ProfileError {
    ProfileError::Io { path: path.to_owned(), action: "write the profile", source }
}

impl ProfileError {
    /// For a process whose profile `profile` could not be written: leaves `line` beside it for others, in the file `PATH.conflict` where the profile's file was
    /// taken, perhaps by another process of the same run, so that who reads the profile can know that it is not the whole run's, and in `PATH.failed` otherwise.
    /// The first such process does. Failures are ignored, since the process has said `line` on standard error as well.
    pub fn leave_word(&self, profile: &Path, line: &str) {
        let kind = if matches!(self, Self::Exists { .. }) { "conflict" } else { "failed" };
        let _ = is_first_to_say(profile, kind, line);
    }
}

/// The folder that holds `path`.
pub fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A hidden name beside `path` that no other process has used, on this machine or on another, nor one that was killed while it wrote and
/// had the same number.
fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    folder(path).join(format!(".{name}.{}.{now}.tmp", std::process::id()))
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Gives `temporary` the name `path` unless that exists. A hard link, unlike renaming, cannot replace a file.
fn name(temporary: &Path, path: &Path) -> Result<(), ProfileError> {
    let exists = || ProfileError::Exists { path: path.to_owned() };
    match fs::hard_link(temporary, path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(exists()),
        // Some file systems have no hard links.
        Err(_) if path.symlink_metadata().is_ok() => Err(exists()),
        Err(_) => fs::rename(temporary, path).map_err(|source| ProfileError::Io {
            path: path.to_owned(),
            action: "name the profile",
            source,
        }),
    }
}
