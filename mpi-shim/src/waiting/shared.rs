//! Stamps in memory that the ranks of a communicator share, where all of them run on one machine: each has a row, in which it writes its
//! stamp before an operation and the others look after it. That is without messages, so that it can be done for operations that
//! complete later, too, and nobody's progress is needed.
//!
//! Of operations that no rank leaves before all have entered, two places in turn suffice: who enters the next but one knows that
//! all have left the first. Ranks may be further apart in nonblocking ones; where one is too far ahead, its stamp is gone, and
//! nothing was waited for it. The stamps of messages go into the receiver's [`Mailbox`].

use std::ffi::{CStr, CString};
use std::ptr::{null_mut, slice_from_raw_parts};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use std::time::{SystemTime, UNIX_EPOCH};

use super::mailbox::{Desk, Mailbox};
use super::messages::Wire;
use super::{Known, offsets};
use crate::calls;
use crate::library::{self, Family, Handle, Int, Ptr, SUCCESS};
use crate::runtime::Stamp;

/// Nonblocking operations that a rank may be ahead by.
const AHEAD: usize = 64;
/// Ranks that share memory at most: each looks at all rows.
const MOST: u32 = 512;
/// Bytes of an announcement: the host, and the name of the memory.
const LENGTH: usize = 72;

#[repr(C, align(32))]
struct Place {
    /// The operation's number; 0 while the stamp changes.
    number: AtomicU64,
    clock: AtomicU64,
    time: AtomicU64,
}

impl Place {
    fn write(&self, number: u64, stamp: &Stamp) {
        self.number.store(0, Ordering::Relaxed);
        fence(Ordering::Release);
        self.clock.store(stamp.clock, Ordering::Relaxed);
        self.time.store(stamp.time, Ordering::Relaxed);
        self.number.store(number, Ordering::Release);
    }

    fn read(&self, number: u64) -> Option<Stamp> {
        let before = self.number.load(Ordering::Acquire);
        let stamp = Stamp { clock: self.clock.load(Ordering::Relaxed), time: self.time.load(Ordering::Relaxed) };
        fence(Ordering::Acquire);
        (before == number && self.number.load(Ordering::Relaxed) == number).then_some(stamp)
    }
}

/// The places of one rank.
#[repr(C, align(64))]
struct Row {
    meetings: [Place; 2],
    later: [Place; AHEAD],
    messages: Mailbox,
}

/// The shared memory of a communicator, and where this rank is in it.
pub struct Board {
    rows: *const [Row],
    rank: usize,
    /// Operations that everybody meets in, and nonblocking ones, of this rank so far.
    meetings: AtomicU64,
    later: AtomicU64,
    /// Nonblocking ones that are not complete.
    open: AtomicUsize,
    desk: Desk,
}

// SAFETY: all that is shared is atomic, and lives as long as the value.
unsafe impl Send for Board {}
// SAFETY: as above.
unsafe impl Sync for Board {}

impl Board {
    fn rows(&self) -> &[Row] {
        // SAFETY: mapped until the value is dropped; zeros are places without an operation, and empty boxes.
        unsafe { &*self.rows }
    }

    /// Enters an operation that no rank leaves before all have entered; its number, which [`Board::met`] takes.
    pub fn meet(&self, stamp: &Stamp) -> u64 {
        let number = self.meetings.load(Ordering::Relaxed) + 1;
        self.rows()[self.rank].meetings[number as usize % 2].write(number, stamp);
        number
    }

    /// Leaves it. All ranks leave with this or none does.
    pub fn met(&self, number: u64) -> Option<Stamp> {
        self.meetings.store(number, Ordering::Relaxed);
        self.rows().iter().filter_map(|row| row.meetings[number as usize % 2].read(number)).reduce(Stamp::later)
    }

    /// Begins a nonblocking operation; its number.
    pub fn begin(&self, stamp: &Stamp) -> u64 {
        let number = self.later.fetch_add(1, Ordering::Relaxed) + 1;
        self.open.fetch_add(1, Ordering::Relaxed);
        self.rows()[self.rank].later[number as usize % AHEAD].write(number, stamp);
        number
    }

    /// It is complete: the latest stamp of those ranks in it.
    pub fn complete(&self, number: u64, is_needed: impl Fn(usize) -> bool) -> Option<Stamp> {
        self.open.fetch_sub(1, Ordering::Relaxed);
        let needed = self.rows().iter().enumerate().filter(|&(rank, _)| is_needed(rank));
        needed.filter_map(|(_, row)| row.later[number as usize % AHEAD].read(number)).reduce(Stamp::later)
    }

    /// Leaves the stamp of a message for rank `dest`; `false` where it has to go as a message.
    pub fn send(&self, dest: Int, tag: Int, wire: &Wire) -> bool {
        let dest = dest.unsigned_abs() as usize;
        self.rows().get(dest).is_some_and(|row| self.desk.send(&row.messages, dest, self.rank, tag, wire))
    }

    /// The stamp of a message from rank `from`, which has arrived; `None` where it came as a message.
    pub fn take(&self, from: Int, tag: Int) -> Option<Wire> {
        self.desk.take(&self.rows()[self.rank].messages, from.unsigned_abs() as usize, tag)
    }

    /// The board of a communicator whose ranks all make this call, or none for all of them.
    pub fn make(family: &Family, known: &Known) -> Option<&'static Self> {
        if known.size > MOST {
            return None;
        }
        let bytes = known.size as usize * size_of::<Row>();
        let made = if known.size == 1 { alone(bytes) } else { together(family, known, bytes) };
        let rows = slice_from_raw_parts(made?.cast::<Row>(), known.size as usize);
        let (meetings, later) = (AtomicU64::new(0), AtomicU64::new(0));
        let rank = known.rank.unsigned_abs() as usize;
        let desk = Desk::new(known.size as usize);
        let board = Box::new(Self { rows, rank, meetings, later, open: AtomicUsize::new(0), desk });
        Some(Box::leak(board))
    }

    /// The communicator goes. Where operations are under way the memory stays, and where other threads may call MPI: one of these may just complete
    /// a receive on it.
    ///
    /// # Safety
    /// Nobody begins anything on it any more.
    pub unsafe fn release(&'static self) {
        if self.open.load(Ordering::Relaxed) == 0 && !calls::may_overlap() {
            // SAFETY: it came from a box, and nobody has it any more.
            drop(unsafe { Box::from_raw(std::ptr::from_ref(self).cast_mut()) });
        }
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        // SAFETY: mapped with this length, and not used any more.
        unsafe { libc::munmap(self.rows.cast_mut().cast(), self.rows.len() * size_of::<Row>()) };
    }
}

/// Memory that all ranks of a communicator share, who all make this call; or none for all of them.
fn together(family: &Family, known: &Known, bytes: usize) -> Option<*mut libc::c_void> {
    let mut announced = [0_u8; LENGTH];
    let mut made = None;
    if known.rank == 0 {
        let name = name(known.shadow);
        made = map(&name, libc::O_CREAT | libc::O_EXCL | libc::O_RDWR, bytes);
        if made.is_some() {
            announced[..8].copy_from_slice(&offsets::host().to_ne_bytes());
            announced[8..8 + name.as_bytes().len()].copy_from_slice(name.as_bytes());
        }
    }
    let (length, byte) = (LENGTH as Int, family.byte);
    // SAFETY: every rank of the communicator, which is ours, makes the same call with as much room.
    let code = unsafe { library::bcast(announced.as_mut_ptr().cast(), length, byte, 0, known.shadow) };
    let is_here = code == SUCCESS && announced[..8] == offsets::host().to_ne_bytes();
    let name = CStr::from_bytes_until_nul(&announced[8..]).ok().filter(|_| is_here);
    if let Some(name) = name.filter(|_| known.rank != 0) {
        made = map(name, libc::O_RDWR, bytes);
    }
    let (fails, mut some_fail) = (u64::from(made.is_none()), 1_u64);
    let (from, to): (Ptr, Ptr) = ((&raw const fails).cast_mut().cast(), (&raw mut some_fail).cast());
    // SAFETY: as above.
    let code = unsafe { library::allreduce(from, to, 1, family.uint64, family.max, known.shadow) };
    if known.rank == 0
        && let Some(name) = name
    {
        // SAFETY: the name ends with a NUL. Whoever has the memory keeps it.
        unsafe { libc::shm_unlink(name.as_ptr()) };
    }
    if code == SUCCESS && some_fail == 0 {
        return made;
    }
    if let Some(memory) = made {
        // SAFETY: mapped with this length, and nobody has it.
        unsafe { libc::munmap(memory, bytes) };
    }
    None
}

/// Memory of a communicator of one rank.
fn alone(bytes: usize) -> Option<*mut libc::c_void> {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: the mapping is new.
    let memory = unsafe { libc::mmap(null_mut(), bytes, protection, flags, -1, 0) };
    (memory != libc::MAP_FAILED).then_some(memory)
}

/// A name that no other memory has.
fn name(comm: Handle) -> CString {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    CString::new(format!("/poise-{}-{:x}-{now:x}", std::process::id(), comm & 0xffff_ffff)).unwrap_or_default()
}

/// Maps shared memory. It is made with all its pages, so that a full file system is told here, and only where that leaves plenty to the program and
/// its MPI library.
fn map(name: &CStr, flags: Int, bytes: usize) -> Option<*mut libc::c_void> {
    // SAFETY: the name ends with a NUL; the descriptor is ours; the mapping is new.
    unsafe {
        let file = libc::shm_open(name.as_ptr(), flags, 0o600);
        if file < 0 {
            return None;
        }
        let has_pages = flags & libc::O_CREAT == 0
            || (is_little(file, bytes) && libc::posix_fallocate(file, 0, bytes as libc::off_t) == 0);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let memory = match has_pages {
            true => libc::mmap(null_mut(), bytes, protection, libc::MAP_SHARED, file, 0),
            false => libc::MAP_FAILED,
        };
        libc::close(file);
        if memory == libc::MAP_FAILED {
            if flags & libc::O_CREAT != 0 {
                libc::shm_unlink(name.as_ptr());
            }
            return None;
        }
        Some(memory)
    }
}

/// Whether so many bytes are at most a sixteenth of what is free in a file's file system.
fn is_little(file: Int, bytes: usize) -> bool {
    // SAFETY: all zeros is a value of it, and the descriptor is ours.
    unsafe {
        let mut system: libc::statvfs = std::mem::zeroed();
        // One without a limit says that it has no blocks.
        libc::fstatvfs(file, &mut system) == 0
            && (system.f_blocks == 0 || 16 * bytes as u64 <= system.f_bavail as u64 * system.f_frsize as u64)
    }
}
