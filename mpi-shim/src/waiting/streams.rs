//! Which stamp belongs to which receive: messages from one rank with one tag are matched in the order in which receives
//! are posted, and may be completed in another.
//!
//! A receive that names rank and tag has its place in the order from when it is posted. One with a wildcard takes the next
//! stamp when it completes: right unless receives with and without wildcards wait for the same messages. No more stamps are
//! ever asked for than messages have arrived, so that nobody waits here.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use smallvec::SmallVec;

use super::communicators::{Known, known};
use super::messages::{Wire, fetch, stream_key};
use super::replies;
use crate::library::{Handle, Int, Ptr, family};
use crate::runtime::Stamp;

/// Where the message of a receive comes from.
#[derive(Clone, Copy, Default)]
pub struct Source {
    /// The communicator; 0 where no stamps travel.
    pub comm: Handle,
    /// Rank, as the receive names it.
    pub rank: Int,
    /// Tag, as the receive names it.
    pub tag: Int,
    /// The receive's number, once it is posted; 0 for none.
    ticket: u64,
    /// When it was posted.
    since: u64,
}

type Key = (u64, Handle, Int, Int);

/// The receives of one rank's messages with one tag.
#[derive(Default)]
struct Stream {
    /// Whether somebody waits for a stamp. One that nobody does is as a new one, and stays where it is since the next receive is often of the same.
    is_open: bool,
    /// Posted receives: their tickets and places in the order.
    posted: SmallVec<[(u64, u64); 2]>,
    /// The place of the next receive.
    next: u64,
    /// Stamps fetched so far, and receives completed.
    fetched: u64,
    completed: u64,
    /// Stamps fetched for receives that are not complete, by their tickets.
    kept: SmallVec<[(u64, Wire); 2]>,
}

/// A few multiplications instead of a hash that attackers cannot foresee: whoever chooses tags is the program itself.
#[derive(Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_i32(&mut self, value: i32) {
        self.write_u64(value.cast_unsigned().into());
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(29) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 32;
    }
}

/// All streams that have receives.
#[derive(Default)]
struct Streams {
    table: HashMap<Key, Stream, BuildHasherDefault<Mixed>>,
    /// The ticket given last. No two receives have the same, so that those left over when their communicator was freed are
    /// not taken for others, on one that MPI gave the same handle.
    tickets: u64,
    /// How many streams are open.
    open: usize,
}

static STREAMS: Mutex<Option<Streams>> = Mutex::new(None);
/// Messages that were matched by a probe, by their handle.
static MATCHED: Mutex<Option<HashMap<(u64, Handle), Source>>> = Mutex::new(None);

/// Streams that stay at most, of those that nobody waits in.
const STAY: usize = 64;

/// [`Streams::open`], to be looked at without the lock: 0 in programs whose receives are all blocking.
static ACTIVE: AtomicUsize = AtomicUsize::new(0);

/// Does something with the streams. MPI does not run meanwhile.
fn with<T>(then: impl FnOnce(&mut Streams) -> T) -> T {
    let mut streams = STREAMS.lock().unwrap_or_else(PoisonError::into_inner);
    let streams = streams.get_or_insert_default();
    let result = then(streams);
    ACTIVE.store(streams.open, Ordering::Relaxed);
    result
}

impl Source {
    /// Of nothing.
    pub const NONE: Self = Self { comm: 0, rank: 0, tag: 0, ticket: 0, since: 0 };

    /// Of a receive that is not posted yet.
    pub fn new(comm: Handle, rank: Int, tag: Int) -> Self {
        Self { comm, rank, tag, ticket: 0, since: 0 }
    }

    fn has_wildcard(&self) -> bool {
        family().is_none_or(|family| self.rank == family.any_source || self.tag == family.any_tag)
    }

    /// The same receive, begun at this time.
    pub fn since(self, time: u64) -> Self {
        Self { since: time, ..self }
    }

    /// The same receive, posted at this time.
    pub fn posted(self, time: u64) -> Self {
        self.since(time).numbered()
    }

    fn numbered(self) -> Self {
        let Some(key) = stream_key(self.comm, self.rank, self.tag).filter(|_| self.comm != 0 && !self.has_wildcard())
        else {
            return self;
        };
        if family().and_then(|family| known(family, self.comm)).is_none() {
            return Self::default();
        }
        Self { ticket: with(|streams| streams.post(key)), ..self }
    }

    /// The stamp of the message that completed the receive; `from` and `tag` as the status has them.
    pub fn complete(self, from: Int, tag: Int) -> Option<Stamp> {
        let family = family()?;
        let sender = from;
        let (from, tag) = if self.ticket == 0 { (from, tag) } else { (self.rank, self.tag) };
        // The statuses of nobody's messages, and of persistent receives that are not active, name no rank.
        if self.comm == 0 || from < 0 {
            return None;
        }
        let of = known(family, self.comm)?;
        // Another thread's receives are no concern of this one's, whose own it has seen.
        if self.ticket == 0 && ACTIVE.load(Ordering::Relaxed) == 0 {
            return self.answered(fetch(&of, from, tag)?, &of, sender);
        }
        let key = stream_key(self.comm, from, tag)?;
        let others = match with(|streams| streams.complete(&key, self.ticket)) {
            Plan::Have(stamp) => return self.answered(stamp?, &of, sender),
            Plan::Fetch(others) => others,
        };
        if others.is_empty() {
            return self.answered(fetch(&of, from, tag)?, &of, sender);
        }
        let others: SmallVec<[(u64, Wire); 2]> =
            others.into_iter().filter_map(|ticket| Some((ticket, fetch(&of, from, tag)?))).collect();
        let own = fetch(&of, from, tag);
        with(|streams| streams.keep(&key, &others));
        self.answered(own?, &of, sender)
    }

    /// The stamp of the message that the receive got; its sender's question is answered.
    fn answered(self, wire: Wire, of: &Known, sender: Int) -> Option<Stamp> {
        if wire.question != 0 {
            replies::answer(family()?, of, sender, wire.question, self.since);
        }
        Some(wire.stamp)
    }

    /// The receive is blocking and names rank and tag: its place in the order is behind those posted before it.
    pub fn complete_now(self, from: Int, tag: Int) -> Option<Stamp> {
        if ACTIVE.load(Ordering::Relaxed) == 0 {
            return self.complete(from, tag);
        }
        let waits = |key: Key| with(|streams| streams.table.get(&key).is_some_and(|stream| stream.is_open));
        let late = !self.has_wildcard() && stream_key(self.comm, from, tag).is_some_and(waits);
        if late { self.numbered().complete(from, tag) } else { self.complete(from, tag) }
    }

    /// The receive was cancelled: no message was for it.
    pub fn cancelled(self) {
        self.leave(true);
    }

    /// The request was freed: a message may come, but nobody will know.
    pub fn abandoned(self) {
        self.leave(false);
    }

    fn leave(self, is_cancelled: bool) {
        if self.ticket != 0
            && let Some(key) = stream_key(self.comm, self.rank, self.tag)
        {
            with(|streams| streams.leave(&key, self.ticket, is_cancelled));
        }
    }
}

/// What is to be done for a receive that completed.
enum Plan {
    /// Its stamp was fetched before; or is with another thread.
    Have(Option<Wire>),
    /// Its stamp is to be fetched, after those of these receives, whose places are before its own; 0 for one whose request was freed.
    Fetch(SmallVec<[u64; 2]>),
}

impl Stream {
    fn complete(&mut self, ticket: u64) -> Plan {
        let index = self.posted.iter().position(|posted| ticket != 0 && posted.0 == ticket);
        if ticket != 0 && index.is_none() {
            return Plan::Have(None); // A persistent receive that is not active.
        }
        self.completed += 1;
        let place = match index {
            Some(index) => self.posted.remove(index).1,
            None if self.fetched < self.completed => self.insert(),
            None => return Plan::Have(self.kept.pop().map(|kept| kept.1)),
        };
        if place < self.fetched {
            return Plan::Have(self.take(ticket));
        }
        let first = std::mem::replace(&mut self.fetched, place + 1);
        let mut others = SmallVec::from_elem(0, (place - first) as usize);
        if !others.is_empty() {
            for posted in self.posted.iter().filter(|posted| (first..place).contains(&posted.1)) {
                others[(posted.1 - first) as usize] = posted.0;
            }
        }
        Plan::Fetch(others)
    }

    /// The stamp that was fetched for a receive.
    fn take(&mut self, ticket: u64) -> Option<Wire> {
        let index = self.kept.iter().position(|kept| kept.0 == ticket)?;
        Some(self.kept.remove(index).1)
    }

    /// Whether nobody waits for a stamp.
    fn is_over(&self) -> bool {
        self.posted.is_empty() && self.fetched >= self.next
    }

    /// Makes it as a new one.
    fn close(&mut self) {
        self.kept.clear();
        (self.is_open, self.next, self.fetched, self.completed) = (false, 0, 0, 0);
    }

    /// The next stamp is for a receive that had no place until now: those behind it move on.
    fn insert(&mut self) -> u64 {
        let place = self.fetched;
        self.posted.iter_mut().filter(|posted| posted.1 >= place).for_each(|posted| posted.1 += 1);
        self.next += 1;
        place
    }
}

impl Streams {
    /// A receive is posted; its ticket.
    fn post(&mut self, key: Key) -> u64 {
        let stream = match self.table.get_mut(&key) {
            Some(stream) => stream,
            None => self.table.entry(key).or_default(),
        };
        self.open += usize::from(!std::mem::replace(&mut stream.is_open, true));
        self.tickets += 1;
        stream.posted.push((self.tickets, stream.next));
        stream.next += 1;
        self.tickets
    }

    /// What is to be done for the receive with this ticket, 0 for one without.
    fn complete(&mut self, key: &Key, ticket: u64) -> Plan {
        let count = self.table.len();
        let Some(stream) = self.table.get_mut(key).filter(|stream| stream.is_open) else {
            return if ticket != 0 { Plan::Have(None) } else { Plan::Fetch(SmallVec::new()) };
        };
        let plan = stream.complete(ticket);
        if stream.is_over() {
            stream.close();
            self.closed(key, count);
        }
        plan
    }

    /// Keeps stamps that were fetched for others, by their tickets. Meanwhile another thread may have completed these, and the stream may have been closed
    /// and opened again by receives that have the same places and other tickets: such stamps are nobody's any more.
    fn keep(&mut self, key: &Key, others: &[(u64, Wire)]) {
        let Some(stream) = self.table.get_mut(key) else { return };
        let awaited = others.iter().filter(|other| stream.posted.iter().any(|posted| posted.0 == other.0));
        stream.kept.extend(awaited.copied());
    }

    /// The receive with this ticket will not complete. For a freed one, a message still comes or has come: its place stays taken, and the stream
    /// open until the next receive has passed over it.
    fn leave(&mut self, key: &Key, ticket: u64, is_cancelled: bool) {
        let count = self.table.len();
        let Some(stream) = self.table.get_mut(key) else { return };
        let Some(index) = stream.posted.iter().position(|posted| posted.0 == ticket) else { return };
        let (_, place) = stream.posted.remove(index);
        stream.take(ticket);
        if is_cancelled {
            stream.posted.iter_mut().filter(|posted| posted.1 > place).for_each(|posted| posted.1 -= 1);
            stream.next -= 1;
        }
        if stream.is_over() {
            stream.close();
            self.closed(key, count);
        }
    }

    /// An open stream of `count` was closed.
    fn closed(&mut self, key: &Key, count: usize) {
        self.open -= 1;
        if count > STAY {
            self.table.remove(key);
        }
    }
}

/// Forgets the streams of a communicator that the program frees: its stamps go with it.
pub fn forget(comm: (u64, Handle)) {
    with(|Streams { table, open, .. }| {
        table.retain(|&(owner, handle, ..), _| (owner, handle) != comm);
        *open = table.values().filter(|stream| stream.is_open).count();
    });
}

/// A probe matched a message, which `handle` stands for now: its place in the order is taken.
pub fn match_message(handle: Handle, comm: Handle, from: Int, tag: Int) {
    let Some(family) = family().filter(|_| from >= 0) else { return };
    let source = Source::new(comm, from, tag).numbered();
    if source.ticket != 0 {
        let key = (super::owner(family), family.handle(handle));
        let mut matched = MATCHED.lock().unwrap_or_else(PoisonError::into_inner);
        matched.get_or_insert_default().insert(key, source);
    }
}

/// Where the matched message comes from whose handle `message` leads to.
///
/// # Safety
/// The argument leads to a handle, or is NULL in a wrong program.
pub unsafe fn matched(message: Ptr) -> Source {
    let Some(family) = family().filter(|_| !message.is_null()) else { return Source::default() };
    // SAFETY: the caller's promise.
    let key = (super::owner(family), unsafe { family.read(message, 0) });
    let mut matched = MATCHED.lock().unwrap_or_else(PoisonError::into_inner);
    matched.as_mut().and_then(|matched| matched.remove(&key)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = (0, 1, 2, 3);

    fn stamp(clock: u64) -> Wire {
        Wire { stamp: Stamp { clock, time: 0 }, question: 0 }
    }

    /// The clocks that two receives are given of which the second completes first, and its thread has just fetched both stamps when
    /// `meanwhile` happens.
    fn fetched_ahead(streams: &mut Streams, first: u64, second: u64, meanwhile: impl FnOnce(&mut Streams)) {
        let Plan::Fetch(others) = streams.complete(&KEY, second) else { panic!("nobody has fetched it") };
        assert_eq!(others[..], [first]);
        meanwhile(streams);
        streams.keep(&KEY, &[(first, stamp(10))]);
    }

    fn have(plan: &Plan) -> Option<u64> {
        match plan {
            Plan::Have(wire) => wire.map(|wire| wire.stamp.clock),
            Plan::Fetch(_) => panic!("it was fetched before"),
        }
    }

    #[test]
    fn what_completes_later_has_the_stamp_that_was_fetched_for_it() {
        let mut streams = Streams::default();
        let (first, second) = (streams.post(KEY), streams.post(KEY));
        fetched_ahead(&mut streams, first, second, |_| ());
        assert_eq!((have(&streams.complete(&KEY, first)), streams.open), (Some(10), 0));
    }

    /// Under MPI_THREAD_MULTIPLE the first may be completed, and another one be posted in its place, before the thread that completed the second has
    /// kept what it fetched for the first.
    #[test]
    fn a_stamp_that_came_too_late_is_not_given_to_a_later_receive() {
        let mut streams = Streams::default();
        let (first, second) = (streams.post(KEY), streams.post(KEY));
        let mut later = (0, 0);
        fetched_ahead(&mut streams, first, second, |streams| {
            assert_eq!(have(&streams.complete(&KEY, first)), None);
            assert_eq!(streams.open, 0);
            later = (streams.post(KEY), streams.post(KEY));
        });
        let others = |plan| match plan {
            Plan::Fetch(others) => others.len(),
            Plan::Have(_) => panic!("that is another message's"),
        };
        assert_eq!(others(streams.complete(&KEY, later.0)), 0);
        assert_eq!(others(streams.complete(&KEY, later.1)), 0);
        assert_eq!(streams.open, 0);
    }

    #[test]
    fn a_stream_whose_receives_were_all_cancelled_is_closed() {
        let mut streams = Streams::default();
        let (first, second) = (streams.post(KEY), streams.post(KEY));
        streams.leave(&KEY, first, true);
        assert_eq!(streams.open, 1);
        streams.leave(&KEY, second, true);
        assert_eq!(streams.open, 0);
    }

    /// The stamp of a freed receive's message comes all the same, before that of the next.
    #[test]
    fn the_place_of_a_freed_receive_is_passed_over() {
        let mut streams = Streams::default();
        let freed = streams.post(KEY);
        streams.leave(&KEY, freed, false);
        assert_eq!(streams.open, 1);
        let next = streams.post(KEY);
        let Plan::Fetch(others) = streams.complete(&KEY, next) else { panic!("nobody has fetched it") };
        assert_eq!((&others[..], streams.open), (&[0][..], 0));
        streams.keep(&KEY, &[(0, stamp(10))]);
        assert!(streams.table[&KEY].kept.is_empty());
    }
}
