//! The launcher's own standard error: where a line is heard when a rank has died. The pipe between rank and launcher is no place for it:
//! launchers stop listening there when they end the other ranks, and MPICH's takes the signal by which it ends them for the program's
//! own end as long as anybody holds such a pipe.

use std::fs::{self, File, OpenOptions};
use std::io::Seek as _;
use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};

use poise_profile::HYDRA;

use super::pidfd;
use super::processes::{self, Process};

/// For a process beside this one that is to say something after this one's end: the launcher's standard error; this process's
/// own, where that of the launcher cannot be had. Under MPICH's launcher nobody hears what is said then. With it a file that tells the launcher's end, where it is to be seen.
pub fn open() -> Option<(OwnedFd, Option<OwnedFd>)> {
    let ancestors = processes::ancestors(std::process::id().cast_signed());
    let launchers = ancestors.iter().skip_while(|process| !starts_ranks(process));
    let launchers: Vec<&Process> = launchers.take_while(|process| starts_ranks(process)).collect();
    let ends = launchers.last().and_then(|launcher| ends(launcher));
    let heard = launchers.last().zip(ends.as_ref());
    let heard = heard.and_then(|(launcher, ends)| shared(ends).or_else(|| opened_anew(launcher)));
    if let Some(heard) = heard.filter(|heard| !is_null(heard)) {
        return Some((heard, ends));
    }
    let heard = match launchers.iter().any(|launcher| launcher.name.starts_with(HYDRA)) {
        true => OpenOptions::new().write(true).open("/dev/null").ok()?.into(),
        false => std::io::stderr().as_fd().try_clone_to_owned().ok()?,
    };
    Some((heard, ends))
}

fn starts_ranks(process: &Process) -> bool {
    poise_profile::starts_ranks(&process.name)
}

/// A file that tells the launcher's end.
fn ends(launcher: &Process) -> Option<OwnedFd> {
    let file = pidfd::open(launcher.id)?;
    // Another process may have its number by now.
    let above = processes::ancestors(std::process::id().cast_signed());
    above.iter().any(|process| process.id == launcher.id && process.name == launcher.name).then_some(file)
}

/// The very file, with the place in it that the launcher writes at. The kernel may allow it to debuggers alone.
fn shared(launcher: &OwnedFd) -> Option<OwnedFd> {
    // SAFETY: the call takes numbers alone.
    let file = unsafe { libc::syscall(libc::SYS_pidfd_getfd, launcher.as_raw_fd(), libc::STDERR_FILENO, 0) };
    let file = libc::c_int::try_from(file).ok().filter(|&file| file >= 0)?;
    // SAFETY: it was opened just now.
    Some(unsafe { OwnedFd::from_raw_fd(file) })
}

/// The same terminal, pipe or log, opened once more. A file in which the launcher has a place of its own is not: it would overwrite what is appended.
fn opened_anew(launcher: &Process) -> Option<OwnedFd> {
    let [path, flags] =
        ["fd", "fdinfo"].map(|folder| format!("/proc/{}/{folder}/{}", launcher.id, libc::STDERR_FILENO));
    let flags = fs::read_to_string(flags).ok()?;
    let flags = flags.lines().find_map(|line| i32::from_str_radix(line.strip_prefix("flags:")?.trim(), 8).ok())?;
    if flags & libc::O_APPEND == 0 && fs::metadata(&path).ok()?.is_file() {
        return None;
    }
    // A pipe that nobody reads any more would otherwise be waited for; a terminal would become ours.
    let options = libc::O_NOCTTY | libc::O_NONBLOCK;
    let file = OpenOptions::new().append(true).custom_flags(options).open(path).ok()?;
    // SAFETY: the file is open, and the call takes numbers alone.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, libc::O_APPEND) };
    Some(file.into())
}

/// Whether this process's standard error, which is a launcher's that may have ended, is still where that left it: a log that somebody has emptied or written to since is
/// another run's.
pub fn is_as_left() -> bool {
    let file = std::io::stderr().as_fd().try_clone_to_owned().map(File::from);
    let Ok((mut file, about)) = file.and_then(|file| file.metadata().map(|about| (file, about))) else { return false };
    // SAFETY: the call takes numbers alone.
    let appends = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) } & libc::O_APPEND != 0;
    !about.is_file() || appends || file.stream_position().is_ok_and(|place| place == about.len())
}

/// Whether nobody reads what is written there, as of a launcher that runs in the background on another node.
fn is_null(file: &OwnedFd) -> bool {
    let null = fs::metadata("/dev/null").map(|null| null.rdev());
    let there = file.try_clone().and_then(|file| File::from(file).metadata());
    there.is_ok_and(|there| there.file_type().is_char_device() && null.is_ok_and(|null| null == there.rdev()))
}
