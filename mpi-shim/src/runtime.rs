//! The runtime's C interface as `counters/runtime/include/poise_runtime.h` declares it. The symbols stay undefined
//! until both libraries are in one process.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use crate::rules::Moved;

/// `struct poise_region`.
#[repr(C)]
pub struct Region {
    name: *const c_char,
    file: *const c_char,
    line: u32,
    kind: u16,
    flags: u16,
}

// SAFETY: the pointers lead to literals, which nobody writes to.
unsafe impl Sync for Region {}

impl Region {
    /// The region of the MPI operation `name`, which ends with a NUL.
    pub const fn mpi(name: &'static str) -> Self {
        const POISE_MPI: u16 = 1;
        assert!(name.as_bytes()[name.len() - 1] == 0);
        Self { name: name.as_ptr().cast(), file: std::ptr::null(), line: 0, kind: POISE_MPI, flags: 0 }
    }

    /// What takes the place of operations of which the program wants no record.
    pub const fn unrecorded() -> Self {
        const POISE_UNRECORDED: u16 = 4;
        Self { kind: POISE_UNRECORDED, ..Self::mpi("MPI\0") }
    }
}

unsafe extern "C" {
    safe fn poise_active() -> c_int;
    safe fn poise_enter(region: &'static Region) -> *mut c_void;
    fn poise_leave(token: *mut c_void);
    safe fn poise_call_begins(is_test: c_int, stamp: &mut Stamp);
    safe fn poise_call_proceeds();
    safe fn poise_call_ends();
    fn poise_call_leaves(token: *mut c_void, was_long: c_int);
    safe fn poise_tested_in_vain(entry: &Stamp);
    safe fn poise_awaited(entry: &mut Stamp, other: &Stamp, cost: u64, is_message: c_int);
    safe fn poise_measure_waiting();
    safe fn poise_now() -> u64;
    fn poise_fail(what: *const c_char, is_waiting: c_int);
    safe fn poise_call_end() -> u64;
    safe fn poise_credit() -> *mut c_void;
    fn poise_credit_late_receiver(credit: *mut c_void, ticks: u64, before: u64);
    safe fn poise_mpi_moved(bytes_sent: u64, bytes_received: u64, comm_size: u32);
    safe fn poise_mpi_message(is_received: c_int, peer: u32, bytes: u64, comm_size: u32);
    safe fn poise_claim_output();
    safe fn poise_take_profile(rank: u32, length: &mut usize) -> *mut u8;
    safe fn poise_profile_is_written();
    fn poise_release(bytes: *mut u8, length: usize);
    fn poise_suspend(suspended: *mut Suspended);
    fn poise_proceed(suspended: *const Suspended);
    safe fn poise_take_coroutine(rank: u32, length: &mut usize) -> *mut u8;
    safe fn poise_output_path() -> *const c_char;
}

/// Says `message` in one line on standard error, if there is one.
pub fn say(message: &str) {
    // In one write, so that what several ranks say does not mix.
    let _ = std::io::stderr().write_all(format!("poise: {message}\n").as_bytes());
}

/// Whether this process measures.
#[inline(always)]
pub fn active() -> bool {
    poise_active() != 0
}

/// `struct poise_stamp`: a moment of a thread.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// The logical clock.
    pub clock: u64,
    /// Time in the clock's ticks.
    pub time: u64,
}

impl Stamp {
    /// The later of both, by either clock.
    pub fn later(self, other: Self) -> Self {
        Self { clock: self.clock.max(other.clock), time: self.time.max(other.time) }
    }
}

/// An MPI operation that was entered; left when the value is dropped, also by an exception.
pub struct Visit {
    token: *mut c_void,
    /// The moment of entry, once it is noted by [`Visit::begin`].
    pub entry: Stamp,
}

impl Visit {
    /// Enters `region` below the thread's current call path.
    #[inline(always)]
    pub fn enter(region: &'static Region) -> Self {
        Self { token: poise_enter(region), entry: Stamp::default() }
    }

    /// Notes the moment, in place: a processor that has to put a copy together of words just written waits until they are in memory. `is_test` says that
    /// the operation asks without waiting.
    #[inline(always)]
    pub fn begin(&mut self, is_test: bool) {
        poise_call_begins(c_int::from(is_test), &mut self.entry);
    }

    /// The operation itself begins: what happened since it was entered is not its time.
    #[inline(always)]
    pub fn proceed(&self) {
        poise_call_proceeds();
    }

    /// The operation itself is over.
    #[inline(always)]
    pub fn end(&self) {
        poise_call_ends();
    }

    /// Adds what the call moved and leaves. What happened since the end counts for nobody if it `was_long`, and is the caller's if that would take as
    /// long as reading the clock.
    #[inline(always)]
    pub fn leave(self, moved: Moved, was_long: bool) {
        if moved != Moved::default() {
            self::moved(moved);
        }
        // SAFETY: the token came from poise_enter on this thread, and is not used again.
        unsafe { poise_call_leaves(self.token, c_int::from(was_long)) };
        std::mem::forget(self);
    }

    /// The operation was a test without success.
    #[cold]
    pub fn was_in_vain(&self) {
        poise_tested_in_vain(&self.entry);
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        // SAFETY: the token came from poise_enter on this thread, and a value is dropped once.
        unsafe { poise_leave(self.token) }
    }
}

/// What happened since the runtime was last called, within an operation but not while MPI served it, counts for nobody.
pub fn was_own() {
    poise_call_proceeds();
}

/// The current operation, which began at `entry`, needed what was ready at `other`, a message or not; it costs `cost` ticks.
pub fn awaited(entry: &mut Stamp, other: &Stamp, cost: u64, is_message: bool) {
    poise_awaited(entry, other, cost, c_int::from(is_message));
}

/// The current operation moved so much.
pub fn moved(moved: Moved) {
    poise_mpi_moved(moved.sent, moved.received, moved.comm_size);
}

/// The current operation sent a message to `peer`, a rank in MPI_COMM_WORLD or [`crate::groups::NOBODY`].
#[inline(always)]
pub fn sent(peer: u32, bytes: u64, comm_size: u32) {
    poise_mpi_message(0, peer, bytes, comm_size);
}

/// It received one from there.
#[inline(always)]
pub fn received(peer: u32, bytes: u64, comm_size: u32) {
    poise_mpi_message(1, peer, bytes, comm_size);
}

/// Says why there is no profile, once for all ranks.
pub fn fail(what: &str) {
    let what = CString::new(what).unwrap_or_default();
    // SAFETY: the text ends with a NUL.
    unsafe { poise_fail(what.as_ptr(), 0) };
}

/// Waits, at most a tenth of a second, until what was said has been read, where standard error is a pipe: a launcher that hears of
/// the end may read no more.
pub fn let_launcher_read() {
    for _ in 0..100 {
        let (mut left, mut kind): (c_int, _) = (0, std::mem::MaybeUninit::<libc::stat>::uninit());
        // SAFETY: there is room for both answers; the second is filled in where fstat returns 0.
        let is_unread = unsafe {
            libc::fstat(libc::STDERR_FILENO, kind.as_mut_ptr()) == 0
                && kind.assume_init().st_mode & libc::S_IFMT == libc::S_IFIFO
                && libc::ioctl(libc::STDERR_FILENO, libc::FIONREAD, &raw mut left) == 0
                && left > 0
        };
        if !is_unread {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Says in a whole line why waiting is not measured, once for all ranks.
pub fn say_of_waiting(line: &str) {
    let line = CString::new(line).unwrap_or_default();
    // SAFETY: as above.
    unsafe { poise_fail(line.as_ptr(), 1) };
}

/// The clock, in ticks.
pub fn now() -> u64 {
    poise_now()
}

/// When the current operation ended, in ticks.
pub fn call_end() -> u64 {
    poise_call_end()
}

/// The current operation's call path, to which waiting may be added later, by any thread.
pub struct Credit(*mut c_void);

// SAFETY: the runtime lets any thread add to it.
unsafe impl Send for Credit {}

impl Credit {
    /// Of the current operation.
    pub fn now() -> Self {
        Self(poise_credit())
    }

    /// So many ticks were waited for a receiver, until `before` ticks before the operation's end.
    pub fn late_receiver(self, ticks: u64, before: u64) {
        // SAFETY: it came from poise_credit, and is given back once.
        unsafe { poise_credit_late_receiver(self.0, ticks, before) };
        std::mem::forget(self);
    }
}

impl Drop for Credit {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { poise_credit_late_receiver(self.0, 0, 0) };
    }
}

/// The profile has waiting.
pub fn measure_waiting() {
    poise_measure_waiting();
}

/// Makes this library the one that writes the profile.
pub fn claim_output() {
    poise_claim_output();
}

/// A rank's place in the runtime while another one has it.
#[repr(C)]
pub struct Suspended([u64; 8]);

/// Takes the current rank's place on this thread away.
pub fn suspend() -> Suspended {
    let mut suspended = Suspended([0; 8]);
    // SAFETY: the value has the size and alignment that the header asks for.
    unsafe { poise_suspend(&mut suspended) };
    suspended
}

/// Gives it back.
pub fn proceed(suspended: Suspended) {
    // SAFETY: it came from `suspend`, on the one thread that all ranks share, and is consumed.
    unsafe { poise_proceed(&suspended) };
}

/// This process's encoded profile as rank `rank`; `None` when there is none.
pub fn take_profile(rank: u32) -> Option<Vec<u8>> {
    let mut length = 0;
    let bytes = poise_take_profile(rank, &mut length);
    released(bytes, length)
}

/// The run's profile is on disk: this process's checkpoint may go.
pub fn profile_is_written() {
    poise_profile_is_written();
}

/// As [`take_profile`], of the calling rank where several share the process.
pub fn take_coroutine(rank: u32) -> Option<Vec<u8>> {
    let mut length = 0;
    let bytes = poise_take_coroutine(rank, &mut length);
    released(bytes, length)
}

/// A copy of what the runtime gave, which is released.
fn released(bytes: *mut u8, length: usize) -> Option<Vec<u8>> {
    if bytes.is_null() {
        return None;
    }
    // SAFETY: the runtime returned `length` readable bytes, ours until they are released.
    let copy = unsafe { std::slice::from_raw_parts(bytes, length) }.to_vec();
    // SAFETY: exactly what the runtime returned, and not used after this.
    unsafe { poise_release(bytes, length) };
    Some(copy)
}

/// Where the profile goes.
pub fn output_path() -> Option<PathBuf> {
    let path = poise_output_path();
    if path.is_null() {
        return None;
    }
    // SAFETY: the runtime returns a NUL-terminated string that it keeps.
    let path = unsafe { CStr::from_ptr(path) };
    Some(PathBuf::from(OsStr::from_bytes(path.to_bytes())))
}
