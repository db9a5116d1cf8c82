//! The table of requests that something is to be known of until they are complete.
//!
//! Requests are made and completed all the time, so the table is made for that: a request has four places that it may be in, and
//! whoever marks one as busy has it to himself. There is no lock but where all four are taken, and none is held while MPI runs.
//!
//! One call completes what is not persistent, and has its entry alone while MPI runs. What is persistent other threads may start meanwhile, or free, if it was not
//! active when the call began: its entry stays, and is looked at again when the call has completed it.

use std::cell::UnsafeCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry as InMap;
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
/// With the bits of a request: somebody is just looking at its entry, or changing it. Addresses and MPICH's handles leave this bit alone.
const LOOKED_AT: Handle = 1 << 63;

#[repr(align(64))]
struct Set {
    requests: [AtomicUsize; WAYS],
    entries: [UnsafeCell<Entry>; WAYS],
}

// SAFETY: an entry is touched only by whoever has changed its place to BUSY or LOOKED_AT, until he leaves it.
unsafe impl Sync for Set {}

impl Set {
    const fn new() -> Self {
        Self {
            requests: [const { AtomicUsize::new(FREE) }; WAYS],
            // All zeros, so that the table takes no room in the file.
            entries: [const { UnsafeCell::new(Entry { peer: 0, ..Entry::NEW }) }; WAYS],
        }
    }

    /// Takes the place of `request` for this thread, to look at its entry; false where it holds something else by now. Waits for others who do.
    #[inline(always)]
    fn hold(&self, place: usize, request: Handle) -> bool {
        let held = request | LOOKED_AT;
        loop {
            // Acquire: what whoever left the place wrote there.
            match self.requests[place].compare_exchange(request, held, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(found) if found == held => std::thread::yield_now(),
                Err(_) => return false,
            }
        }
    }

    /// Gives it back, with `request` in it.
    fn leave(&self, place: usize, request: Handle) {
        self.requests[place].store(request, Ordering::Release);
    }

    /// The place of a request, held.
    #[inline(always)]
    fn find(&self, request: Handle) -> Option<usize> {
        let is_in = |place: usize| self.requests[place].load(Ordering::Relaxed) & !LOOKED_AT == request;
        (0..WAYS).find(|&place| is_in(place) && self.hold(place, request))
    }

    /// A place that is free, held.
    #[inline(always)]
    fn free(&self) -> Option<usize> {
        let take = |requests: &AtomicUsize| {
            // Acquire: whoever left the place no longer touches the entry.
            requests.compare_exchange(FREE, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        self.requests.iter().position(|requests| requests.load(Ordering::Relaxed) == FREE && take(requests))
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
    match set.find(request).or_else(|| if is_elsewhere { None } else { set.free() }) {
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

/// A request that a call may complete. Its entry is for this call alone: for others it is not in the table, unless they look at another request that MPI gives
/// the same handle meanwhile; it is gone when this is dropped, unless [`Held::keep`] was called. Only of what is persistent the entry stays in the table.
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
    /// It is persistent: what was known of it when the call began.
    Stays { receives: bool, question: Question },
}

impl Place {
    #[inline(always)]
    fn staying(entry: &Entry) -> Self {
        Self::Stays { receives: entry.receives, question: entry.question }
    }
}

impl Held {
    /// Whose entry it is.
    pub fn request(&self) -> Handle {
        self.request
    }

    /// Whether its completion brings bytes.
    #[inline(always)]
    pub fn receives(&self) -> bool {
        match self.place {
            Place::Stays { receives, .. } => receives,
            _ => self.own().is_some_and(|entry| entry.receives),
        }
    }

    /// The entry, where it is for this call alone: that of nothing persistent.
    #[inline(always)]
    pub fn own(&self) -> Option<&Entry> {
        match &self.place {
            // SAFETY: the place is held, until this is dropped.
            Place::In(set, place) => Some(unsafe { &*set.entries[*place].get() }),
            Place::Elsewhere(entry) => Some(entry),
            Place::Stays { .. } => None,
        }
    }

    /// The same, to be changed.
    #[inline(always)]
    pub fn own_mut(&mut self) -> Option<&mut Entry> {
        match &mut self.place {
            // SAFETY: the place is held, until this is dropped, and borrowed as this is.
            Place::In(set, place) => Some(unsafe { &mut *set.entries[*place].get() }),
            Place::Elsewhere(entry) => Some(entry),
            Place::Stays { .. } => None,
        }
    }

    /// It is to be known after this, if it is not persistent and so known in any case.
    pub fn keep(&mut self) {
        self.is_kept = true;
    }

    /// Takes out what its receiver was asked, now that the call has completed it. `is_certain` is false where MPI says that of requests, too, that were
    /// not active: a question that another thread's start asked since is not this call's then.
    #[inline(always)]
    pub fn take_question(&mut self, is_certain: bool) -> Question {
        match self.place {
            Place::Stays { receives: true, .. } => Question::NONE,
            Place::Stays { question: before, .. } => change(self.request, |entry| {
                let is_own = entry.persistent && (is_certain || entry.question == before);
                if is_own { std::mem::take(&mut entry.question) } else { Question::NONE }
            })
            .unwrap_or_default(),
            _ => self.own_mut().map(|entry| std::mem::take(&mut entry.question)).unwrap_or_default(),
        }
    }
}

impl Drop for Held {
    #[inline(always)]
    fn drop(&mut self) {
        match &self.place {
            Place::In(set, place) => set.leave(*place, if self.is_kept { self.request } else { FREE }),
            Place::Elsewhere(entry) if self.is_kept => insert(self.request, **entry),
            Place::Elsewhere(_) | Place::Stays { .. } => {}
        }
    }
}

/// Takes the entry of a request that a call may complete; of what is persistent it leaves it.
#[inline(always)]
pub fn take(request: Handle) -> Option<Held> {
    let set = set(request);
    let place = match set.find(request) {
        Some(place) => {
            // SAFETY: the place is held.
            let entry = unsafe { &*set.entries[place].get() };
            if entry.persistent {
                let stays = Place::staying(entry);
                set.leave(place, request);
                stays
            } else {
                set.requests[place].store(BUSY, Ordering::Relaxed);
                Place::In(set, place)
            }
        }
        None if OVERFLOWN.load(Ordering::Relaxed) == 0 => return None,
        None => take_elsewhere(request)?,
    };
    Some(Held { request, place, is_kept: false })
}

#[cold]
#[inline(never)]
fn take_elsewhere(request: Handle) -> Option<Place> {
    match overflow().as_mut()?.entry(request) {
        InMap::Vacant(_) => None,
        InMap::Occupied(entry) if entry.get().persistent => Some(Place::staying(entry.get())),
        InMap::Occupied(entry) => {
            OVERFLOWN.fetch_sub(1, Ordering::Relaxed);
            Some(Place::Elsewhere(Box::new(entry.remove())))
        }
    }
}

/// Changes what is known of a request, which stays.
pub fn change<T>(request: Handle, change: impl FnOnce(&mut Entry) -> T) -> Option<T> {
    let set = set(request);
    if let Some(place) = set.find(request) {
        // SAFETY: the place is held.
        let result = change(unsafe { &mut *set.entries[place].get() });
        set.leave(place, request);
        return Some(result);
    }
    if OVERFLOWN.load(Ordering::Relaxed) == 0 {
        return None;
    }
    overflow().as_mut()?.get_mut(&request).map(change)
}

/// What is known of a request, which stays.
pub fn look_up(request: Handle) -> Option<Entry> {
    change(request, |entry| *entry)
}

/// Takes it out in any case.
pub fn remove(request: Handle) -> Option<Entry> {
    let set = set(request);
    if let Some(place) = set.find(request) {
        // SAFETY: the place is held.
        let entry = unsafe { *set.entries[place].get() };
        set.leave(place, FREE);
        return Some(entry);
    }
    if OVERFLOWN.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let entry = overflow().as_mut()?.remove(&request)?;
    OVERFLOWN.fetch_sub(1, Ordering::Relaxed);
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
            assert_eq!(held.own().map(|entry| entry.sends), Some(1));
            held.own_mut().expect("it is not persistent").sends = 3;
            drop(held);
            assert_eq!(sends(request), Some(2));
            let mut held = take(request).expect("it was noted");
            held.keep();
            held.own_mut().expect("it is not persistent").sends = 4;
            drop(held);
            assert_eq!(sends(request), Some(4));
            drop(take(request));
            assert_eq!(sends(request), None);
            insert(request, entry(6, false));
        }
        for request in neighbours(0x1000) {
            assert_eq!(remove(request).map(|entry| entry.sends), Some(6));
        }
        assert_eq!(OVERFLOWN.load(Ordering::Relaxed), 0);
        what_is_persistent_stays_for_others();
        nobody_misses_an_entry_that_others_look_at();
    }

    fn what_is_persistent_stays_for_others() {
        let question = |number: u64| Question::from_number(number);
        for request in neighbours(0x1000) {
            insert(request, entry(1, true));
        }
        for request in neighbours(0x1000) {
            // Another thread's MPI_Start, while a call has it that began before.
            let mut held = take(request).expect("it was noted");
            assert_eq!(sends(request), Some(1));
            assert_eq!(change(request, |entry| entry.question = question(7)), Some(()));
            assert_eq!(held.take_question(false), Question::NONE);
            drop(held);
            assert_eq!(look_up(request).map(|entry| entry.question), Some(question(7)));
            // Calls that name what completed, and those that began later, take the question; once.
            let mut held = take(request).expect("it stays");
            assert_eq!((held.take_question(false), held.take_question(true)), (question(7), Question::NONE));
            change(request, |entry| entry.question = question(8));
            assert_eq!((held.take_question(false), held.take_question(true)), (Question::NONE, question(8)));
            // Another thread's MPI_Request_free: nothing is put back, nor is another request with the same handle asked.
            assert_eq!(remove(request).map(|entry| entry.sends), Some(1));
            insert(request, Entry { question: question(9), ..entry(2, false) });
            assert_eq!(held.take_question(true), Question::NONE);
            drop(held);
            assert_eq!(remove(request).map(|entry| entry.question), Some(question(9)));
        }
        assert_eq!(OVERFLOWN.load(Ordering::Relaxed), 0);
    }

    /// Two threads look at a persistent request at the same moment all the time, as one that tests it does and another that starts it.
    fn nobody_misses_an_entry_that_others_look_at() {
        let number = 200_000;
        insert(0x1000, entry(0, true));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..number {
                        assert!(take(0x1000).is_some());
                        assert!(change(0x1000, |entry| entry.sends += 1).is_some());
                    }
                });
            }
        });
        assert_eq!(remove(0x1000).map(|entry| entry.sends), Some(2 * number));
    }
}
