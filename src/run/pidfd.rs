//! Files that stand for processes: one becomes readable when its process ends, and tells how it ended.

use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};

/// How long, in milliseconds, a parent is waited for that asks how a process has ended.
pub const PATIENCE_MS: libc::c_int = 100;

/// The file of a process; none on Linux before 5.3, and where it has been asked how it ended.
pub fn open(process: libc::pid_t) -> Option<OwnedFd> {
    // SAFETY: the call takes numbers alone.
    let file = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
    let file = libc::c_int::try_from(file).ok().filter(|&file| file >= 0)?;
    // SAFETY: it was opened just now.
    Some(unsafe { OwnedFd::from_raw_fd(file) })
}

/// Which of these processes have ended, as of which `patience_ms` pass or one ends, whichever is first; -1 has no end.
pub fn wait(processes: &[RawFd], patience_ms: libc::c_int) -> Option<Vec<bool>> {
    let file = |&fd: &RawFd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut files: Vec<_> = processes.iter().map(file).collect();
    // SAFETY: there are so many entries; negative ones count for nothing.
    let any = unsafe { libc::poll(files.as_mut_ptr(), files.len() as libc::nfds_t, patience_ms) };
    (any >= 0).then(|| files.iter().map(|file| file.revents != 0).collect())
}

/// `struct pidfd_info` of Linux 6.15.
#[repr(C)]
#[derive(Default)]
struct Info {
    mask: u64,
    cgroup: u64,
    numbers: [u32; 11],
    status: libc::c_int,
}

/// The status that the process ended with, as its parent has it; known from Linux 6.15 on, when the parent has asked.
pub fn status(process: RawFd) -> Option<libc::c_int> {
    const PIDFD_GET_INFO: libc::c_ulong = 0xc040_ff0b;
    const PIDFD_INFO_EXIT: u64 = 1 << 3;
    let mut end = libc::pollfd { fd: process, events: 0, revents: 0 };
    // SAFETY: there is one entry. It is over when the parent has asked.
    unsafe { libc::poll(&raw mut end, 1, PATIENCE_MS) };
    let mut info = Info { mask: PIDFD_INFO_EXIT, ..Info::default() };
    // SAFETY: the number of the call says how large the structure is that it fills in.
    let is_told = unsafe { libc::ioctl(process, PIDFD_GET_INFO, &raw mut info) } == 0;
    (is_told && info.mask & PIDFD_INFO_EXIT != 0).then_some(info.status)
}
