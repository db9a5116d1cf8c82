//! The table of requests that something is to be known of until they are complete.
//!
//! Requests are made and completed all the time, so the table is made for that: a request has four places that it may be in, and
//! whoever marks one as busy has it to himself. There is no lock but where all four are taken, and none is held while MPI runs.

use std::cell::UnsafeCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::groups::{NOBODY, Ranks};
use crate::library::Handle;
use crate::waiting::{Joined, Question, Source};

/// What is to be known of a request until it is freed.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Bytes that it sends each time it starts.
    pub sends: u64,
    /// Bytes that are credited as received each time it starts.
    pub arrives: u64,
    /// Whether its completion brings bytes.
    pub receives: bool,
    /// Whether its status does not say how many: MPICH 4.0's of exchanges that do not wait.
    pub uncounted: bool,
    /// Whether it outlives its completion.
    pub persistent: bool,
    /// Whether it is of messages between two ranks.
    pub is_message: bool,
    /// Ranks of its communicator; 0 where not known.
    pub comm_size: u32,
    /// The rank in MPI_COMM_WORLD that it sends to.
    pub peer: u32,
    /// The ranks that it may receive from.
    pub ranks: Ranks,
    /// What was asked of the receiver of what it sends.
    pub question: Question,
    /// The collective operation that it is of, where stamps of that travel.
    pub joined: Option<&'static Joined>,
    /// Whether what it sends cannot end before its receive begins.
    pub is_synchronous: bool,
    /// Where the message comes from, or, of a persistent send, goes to; of a posted receive, with its place in the order.
    pub source: Source,
}

impl Entry {
    const NEW: Self = Self {
        sends: 0,
        arrives: 0,
        receives: false,
        uncounted: false,
        persistent: false,
        is_message: false,
        comm_size: 0,
        peer: NOBODY,
        ranks: Ranks::Unknown,
        question: Question::NONE,
        joined: None,
        is_synchronous: false,
        source: Source::NONE,
    };
}

impl Default for Entry {
    fn default() -> Self {
        Self::NEW
    }
}

/// Ends what is known of a collective operation, whose entry was taken out.
///
/// # Safety
/// `joined` came from a box, and nobody uses it any more.
pub unsafe fn drop_joined(joined: &'static Joined) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(std::ptr::from_ref(joined).cast_mut()) });
}

/// Places that a request may be in.
const WAYS: usize = 4;
/// Groups of such places: a power of two.
const SETS: usize = 512;

/// No request has these handles: NULL pointers and odd addresses are none, and MPICH's have bits for their kind.
const FREE: Handle = 0;
const BUSY: Handle = 1;

#[repr(align(64))]
struct Set {
    requests: [AtomicUsize; WAYS],
    entries: [UnsafeCell<Entry>; WAYS],
}

// SAFETY: an entry is touched only by whoever has changed its place to BUSY, until the place has another value.
unsafe impl Sync for Set {}

impl Set {
    const fn new() -> Self {
        Self {
            requests: [const { AtomicUsize::new(FREE) }; WAYS],
            // All zeros, so that the table takes no room in the file.
            entries: [const { UnsafeCell::new(Entry { peer: 0, ..Entry::NEW }) }; WAYS],
        }
    }

    /// Takes the place of `held` for this thread; false where it holds something else by now.
    fn hold(&self, place: usize, held: Handle) -> bool {
        // Acquire: what whoever left the place wrote there.
        self.requests[place].compare_exchange(held, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Gives it back, with `request` in it.
    fn leave(&self, place: usize, request: Handle) {
        self.requests[place].store(request, Ordering::Release);
    }

    /// The place of a request.
    fn find(&self, request: Handle) -> Option<usize> {
        (0..WAYS).find(|&place| self.requests[place].load(Ordering::Relaxed) == request && self.hold(place, request))
    }
}

static SETS_OF_ALL: [Set; SETS] = [const { Set::new() }; SETS];

/// Requests that found all their places taken; and how many there are.
static OVERFLOW: Mutex<Option<HashMap<Handle, Entry>>> = Mutex::new(None);
static OVERFLOWN: AtomicUsize = AtomicUsize::new(0);

fn overflow() -> MutexGuard<'static, Option<HashMap<Handle, Entry>>> {
    OVERFLOW.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The places of a request, whose handle is an address or a small number (Fibonacci hashing).
fn set(request: Handle) -> &'static Set {
    let product = (request as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    &SETS_OF_ALL[(product >> 32) as usize % SETS]
}

/// Notes a request, in place of what was known of the handle before.
pub fn insert(request: Handle, entry: Entry) {
    let set = set(request);
    let is_elsewhere =
        OVERFLOWN.load(Ordering::Relaxed) > 0 && overflow().as_ref().is_some_and(|o| o.contains_key(&request));
    let free = || (0..WAYS).find(|&place| set.requests[place].load(Ordering::Relaxed) == FREE && set.hold(place, FREE));
    match set.find(request).or_else(|| if is_elsewhere { None } else { free() }) {
        Some(place) => {
            // SAFETY: the place is held.
            unsafe { *set.entries[place].get() = entry };
            set.leave(place, request);
        }
        None => {
            if overflow().get_or_insert_default().insert(request, entry).is_none() {
                OVERFLOWN.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// What is known of a request; `keeps` says whether it is to be known after this. In line, so that entries are copied once.
#[inline(always)]
fn get(request: Handle, keeps: impl Fn(&Entry) -> bool) -> Option<Entry> {
    let set = set(request);
    if let Some(place) = set.find(request) {
        // SAFETY: the place is held.
        let entry = unsafe { *set.entries[place].get() };
        set.leave(place, if keeps(&entry) { request } else { FREE });
        return Some(entry);
    }
    if OVERFLOWN.load(Ordering::Relaxed) == 0 { None } else { get_elsewhere(request, &keeps) }
}

#[cold]
#[inline(never)]
fn get_elsewhere(request: Handle, keeps: &dyn Fn(&Entry) -> bool) -> Option<Entry> {
    let mut overflow = overflow();
    let table = overflow.as_mut()?;
    let entry = *table.get(&request)?;
    if !keeps(&entry) {
        table.remove(&request);
        OVERFLOWN.fetch_sub(1, Ordering::Relaxed);
    }
    Some(entry)
}

/// What is known of a request.
pub fn look_up(request: Handle) -> Option<Entry> {
    get(request, |_| true)
}

/// Takes the entry of a request out; a persistent one's stays, and a copy is returned.
pub fn take(request: Handle) -> Option<Entry> {
    get(request, |entry| entry.persistent)
}

/// Takes it out in any case.
pub fn remove(request: Handle) -> Option<Entry> {
    get(request, |_| false)
}
