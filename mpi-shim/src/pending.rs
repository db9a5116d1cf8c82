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

/// Notes a request, in place of what was known of the handle before. In line, so that an entry is written once.
#[inline(always)]
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

/// The entry of a request, for one call alone: for others it is not in the table, unless they look at another request that MPI gives the same handle meanwhile.
/// Entries of what is persistent are back when this is dropped, others only if [`Held::keep`] says so.
pub struct Held {
    request: Handle,
    place: Place,
    is_kept: bool,
}

enum Place {
    /// Held in this set, where nobody copies it.
    In(&'static Set, usize),
    /// Copied out of [`OVERFLOW`].
    Elsewhere(Box<Entry>),
}

impl Held {
    /// Whose entry it is.
    pub fn request(&self) -> Handle {
        self.request
    }

    /// What is known of it.
    #[inline(always)]
    pub fn entry(&self) -> &Entry {
        match &self.place {
            // SAFETY: the place is held, until this is dropped.
            Place::In(set, place) => unsafe { &*set.entries[*place].get() },
            Place::Elsewhere(entry) => entry,
        }
    }

    /// To be changed.
    pub fn entry_mut(&mut self) -> &mut Entry {
        match &mut self.place {
            // SAFETY: the place is held, until this is dropped, and borrowed as this is.
            Place::In(set, place) => unsafe { &mut *set.entries[*place].get() },
            Place::Elsewhere(entry) => entry,
        }
    }

    /// It is to be known after this.
    pub fn keep(&mut self) {
        self.is_kept = true;
    }
}

impl Drop for Held {
    #[inline(always)]
    fn drop(&mut self) {
        let keeps = self.is_kept || self.entry().persistent;
        match &self.place {
            Place::In(set, place) => set.leave(*place, if keeps { self.request } else { FREE }),
            Place::Elsewhere(entry) if keeps => insert(self.request, **entry),
            Place::Elsewhere(_) => {}
        }
    }
}

/// Takes the entry of a request.
#[inline(always)]
pub fn take(request: Handle) -> Option<Held> {
    let set = set(request);
    let place = match set.find(request) {
        Some(place) => Place::In(set, place),
        None if OVERFLOWN.load(Ordering::Relaxed) == 0 => return None,
        None => Place::Elsewhere(take_elsewhere(request)?),
    };
    Some(Held { request, place, is_kept: false })
}

#[cold]
#[inline(never)]
fn take_elsewhere(request: Handle) -> Option<Box<Entry>> {
    let entry = overflow().as_mut()?.remove(&request)?;
    OVERFLOWN.fetch_sub(1, Ordering::Relaxed);
    Some(Box::new(entry))
}

/// What is known of a request, which stays.
pub fn look_up(request: Handle) -> Option<Entry> {
    let mut held = take(request)?;
    held.keep();
    Some(*held.entry())
}

/// Takes it out in any case.
pub fn remove(request: Handle) -> Option<Entry> {
    let mut held = take(request)?;
    let entry = *held.entry();
    held.entry_mut().persistent = false;
    Some(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(sends: u64, persistent: bool) -> Entry {
        Entry { sends, persistent, ..Entry::default() }
    }

    fn sends(request: Handle) -> Option<u64> {
        look_up(request).map(|entry| entry.sends)
    }

    /// Handles of the same set: one more than there are places, so that the last is elsewhere.
    fn neighbours(first: Handle) -> [Handle; WAYS + 1] {
        let is_there = |&request: &Handle| std::ptr::eq(set(request), set(first));
        let mut found = (first..).filter(is_there);
        std::array::from_fn(|_| found.next().expect("there are many"))
    }

    /// In one test, since the table is one.
    #[test]
    fn an_entry_is_for_one_call_alone_until_it_is_kept_or_gone() {
        for request in neighbours(0x1000) {
            insert(request, entry(1, false));
        }
        for request in neighbours(0x1000) {
            let mut held = take(request).expect("it was noted");
            assert!(take(request).is_none());
            // MPI gives the handle to another request before the call returns that completed this one.
            insert(request, entry(2, false));
            assert_eq!(held.entry().sends, 1);
            held.entry_mut().sends = 3;
            drop(held);
            assert_eq!(sends(request), Some(2));
            let mut held = take(request).expect("it was noted");
            held.keep();
            held.entry_mut().sends = 4;
            drop(held);
            assert_eq!(sends(request), Some(4));
            drop(take(request));
            assert_eq!(sends(request), None);
            // What is persistent is kept by itself, until it is freed.
            insert(request, entry(5, true));
            drop(take(request));
            assert_eq!(remove(request).map(|entry| entry.sends), Some(5));
            assert_eq!(sends(request), None);
            insert(request, entry(6, false));
        }
        for request in neighbours(0x1000) {
            assert_eq!(remove(request).map(|entry| entry.sends), Some(6));
        }
        assert_eq!(OVERFLOWN.load(Ordering::Relaxed), 0);
    }
}
