//! The files that a study's runs execute, as the file system describes them: one that is replaced while a call of `poise run`
//! goes on is noticed without reading it before every run.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use crate::run::{Run, record};

/// What differs as soon as a file was written or another has its name: device, number, size, and the times, in seconds and
/// nanoseconds, at which its content and its entry changed.
type Stamp = [i128; 7];

fn stamp(file: &Metadata) -> Stamp {
    let (device, number, size) = (file.dev().into(), file.ino().into(), file.size().into());
    let times = [file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec()].map(i128::from);
    let [written, written_ns, changed, changed_ns] = times;
    [device, number, size, written, written_ns, changed, changed_ns]
}

/// Programs by path; without a stamp those that are not there.
#[derive(Debug, Default, PartialEq)]
pub struct Programs(BTreeMap<PathBuf, Option<Stamp>>);

impl Programs {
    /// Those of these runs, as they are now.
    pub fn of<'a>(runs: impl Iterator<Item = &'a Run>) -> Self {
        Self::looked_at(runs.flat_map(record::program_files))
    }

    /// The same files as they are now.
    pub fn now(&self) -> Self {
        Self::looked_at(self.0.keys().cloned())
    }

    fn looked_at(paths: impl Iterator<Item = PathBuf>) -> Self {
        let entry = |path: PathBuf| {
            let stamp = path.metadata().ok().as_ref().map(stamp);
            (path, stamp)
        };
        Self(paths.map(entry).collect())
    }
}
