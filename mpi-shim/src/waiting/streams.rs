//! Which stamp belongs to which receive: messages from one rank with one tag are matched in the order in which receives
//! are posted, and may be completed in another.
//!
//! A receive that names rank and tag has its place in the order from when it is posted. One with a wildcard takes the next
//! stamp when it completes: right unless receives with and without wildcards wait for the same messages. No more stamps are
//! ever asked for than messages have arrived, so that nobody waits here.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

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
    /// Stamps fetched for receives that are not complete, by place.
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
}

static STREAMS: Mutex<Option<Streams>> = Mutex::new(None);
/// Messages that were matched by a probe, by their handle.
static MATCHED: Mutex<Option<HashMap<(u64, Handle), Source>>> = Mutex::new(None);

/// Streams that stay at most, of those that nobody waits in.
const STAY: usize = 64;

/// In how many streams somebody waits: none in programs whose receives are all blocking.
static ACTIVE: AtomicUsize = AtomicUsize::new(0);

fn streams() -> MutexGuard<'static, Option<Streams>> {
    STREAMS.lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut streams = streams();
        let Streams { table, tickets } = streams.get_or_insert_default();
        let stream = match table.get_mut(&key) {
            Some(stream) => stream,
            None => table.entry(key).or_default(),
        };
        if !std::mem::replace(&mut stream.is_open, true) {
            ACTIVE.fetch_add(1, Ordering::Relaxed);
        }
        *tickets += 1;
        let ticket = *tickets;
        stream.posted.push((ticket, stream.next));
        stream.next += 1;
        Self { ticket, ..self }
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
        let (first, place) = match plan(&key, self.ticket) {
            Plan::Have(stamp) => return self.answered(stamp?, &of, sender),
            Plan::Fetch { first, place } => (first, place),
        };
        if first == place {
            return self.answered(fetch(&of, from, tag)?, &of, sender);
        }
        let others: SmallVec<[(u64, Wire); 2]> =
            (first..place).filter_map(|place| Some((place, fetch(&of, from, tag)?))).collect();
        let own = fetch(&of, from, tag);
        keep(&key, &others);
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
        let is_open = |stream: &Stream| stream.is_open;
        let waits = |key: Key| streams().as_ref().is_some_and(|streams| streams.table.get(&key).is_some_and(is_open));
        let late = !self.has_wildcard() && stream_key(self.comm, from, tag).is_some_and(waits);
        if late { self.numbered().complete(from, tag) } else { self.complete(from, tag) }
    }

    /// The receive was cancelled: no message was for it.
    pub fn cancelled(self) {
        self.leave(|stream, place| {
            stream.posted.iter_mut().filter(|posted| posted.1 > place).for_each(|posted| posted.1 -= 1);
            stream.next -= 1;
        });
    }

    /// The request was freed: a message may come, but nobody will know.
    pub fn abandoned(self) {
        self.leave(|_, _| {});
    }

    fn leave(self, then: impl FnOnce(&mut Stream, u64)) {
        if self.ticket == 0 {
            return;
        }
        let Some(key) = stream_key(self.comm, self.rank, self.tag) else { return };
        if let Some(stream) = streams().as_mut().and_then(|streams| streams.table.get_mut(&key))
            && let Some(index) = stream.posted.iter().position(|posted| posted.0 == self.ticket)
        {
            let (_, place) = stream.posted.remove(index);
            then(stream, place);
        }
    }
}

/// What is to be done for a receive that completed.
enum Plan {
    /// Its stamp was fetched before; or is with another thread.
    Have(Option<Wire>),
    /// Stamps are to be fetched from the first of these places to the last, which is its own.
    Fetch { first: u64, place: u64 },
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
            let index = self.kept.iter().position(|kept| kept.0 == place);
            return Plan::Have(index.map(|index| self.kept.remove(index).1));
        }
        let first = std::mem::replace(&mut self.fetched, place + 1);
        Plan::Fetch { first, place }
    }

    /// Whether nobody waits for a stamp.
    fn is_over(&self) -> bool {
        self.posted.is_empty() && self.fetched >= self.next
    }

    /// Makes it as a new one.
    fn close(&mut self) {
        self.kept.clear();
        (self.is_open, self.next, self.fetched, self.completed) = (false, 0, 0, 0);
        ACTIVE.fetch_sub(1, Ordering::Relaxed);
    }

    /// The next stamp is for a receive that had no place until now: those behind it move on.
    fn insert(&mut self) -> u64 {
        let place = self.fetched;
        self.posted.iter_mut().filter(|posted| posted.1 >= place).for_each(|posted| posted.1 += 1);
        self.next += 1;
        place
    }
}

/// What is to be done for the receive with this ticket. Closes the stream where nobody else waits for any, unless stamps of others
/// are to be fetched first: a new one would count its places from the start, and [`keep`] would take theirs for these.
fn plan(key: &Key, ticket: u64) -> Plan {
    let mut streams = streams();
    let table = streams.as_mut().map(|streams| &mut streams.table);
    let Some((count, stream)) =
        table.and_then(|table| Some((table.len(), table.get_mut(key)?))).filter(|(_, stream)| stream.is_open)
    else {
        return if ticket != 0 { Plan::Have(None) } else { Plan::Fetch { first: 0, place: 0 } };
    };
    let plan = stream.complete(ticket);
    let has_others = matches!(plan, Plan::Fetch { first, place } if first < place);
    if !has_others && stream.is_over() {
        stream.close();
        if count > STAY
            && let Some(streams) = streams.as_mut()
        {
            streams.table.remove(key);
        }
    }
    plan
}

/// Keeps stamps that were fetched for others, and closes the stream where nobody waits for any.
fn keep(key: &Key, others: &[(u64, Wire)]) {
    let mut streams = streams();
    let Some(table) = streams.as_mut().map(|streams| &mut streams.table) else { return };
    let count = table.len();
    let Some(stream) = table.get_mut(key).filter(|stream| stream.is_open) else { return };
    // A place that nobody has is that of a request that was freed.
    let awaited = others.iter().filter(|other| stream.posted.iter().any(|posted| posted.1 == other.0));
    stream.kept.extend(awaited.copied());
    if stream.is_over() {
        stream.close();
        if count > STAY {
            table.remove(key);
        }
    }
}

/// Forgets the streams of a communicator that the program frees: its stamps go with it.
pub fn forget(comm: (u64, Handle)) {
    if let Some(Streams { table, .. }) = streams().as_mut() {
        table.retain(|&(owner, handle, ..), _| (owner, handle) != comm);
        ACTIVE.store(table.values().filter(|stream| stream.is_open).count(), Ordering::Relaxed);
    }
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
