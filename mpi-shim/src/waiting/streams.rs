//! Which stamp belongs to which receive: messages from one rank with one tag are matched in the order in which receives
//! are posted, and may be completed in another.
//!
//! A receive that names rank and tag has its place in the order from when it is posted. One with a wildcard takes the next
//! stamp when it completes: right unless receives with and without wildcards wait for the same messages.
//!
//! A place is a guess: the receives before a completed one may have been cancelled, or freed after that, and of two threads' receives nobody
//! knows which MPI has posted first. So only as many stamps are awaited as receives of the stream have completed; each of their messages has
//! brought one. All others are taken only if they are there, and where they are not, who completed has the last that is. No
//! stamp is forgotten: what was taken for a receive that got no message is the next one's, and what was dropped is counted, since
//! it may have been that of a receive which completes later and must not wait for it.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use smallvec::SmallVec;

use super::communicators::{Known, known};
use super::messages::{Wire, fetch, look, stream_key};
use super::replies;
use crate::calls;
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
    /// Whether somebody waits for a stamp, or a stamp for somebody. One that is not open is as a new one, and stays where it is since the next
    /// receive is often of the same.
    is_open: bool,
    posted: Posted,
    /// Stamps taken for the first of the posted receives, in their order, and for those that come after these.
    kept: VecDeque<Wire>,
    /// Stamps that were dropped with receives that were freed: if no messages came for these, so many receives have none.
    lost: u64,
    /// How many of the posted receives were freed.
    freed: usize,
}

/// A posted receive.
struct Receive {
    ticket: u64,
    is_freed: bool,
}

/// Posted receives in the order of their tickets. It costs little to take out the first or the last.
#[derive(Default)]
struct Posted {
    receives: SmallVec<[Receive; 2]>,
    /// How many of these are out already.
    out: usize,
}

impl Posted {
    fn all(&self) -> &[Receive] {
        &self.receives[self.out..]
    }

    /// Where the receive with this ticket is.
    #[inline(always)]
    fn find(&self, ticket: u64) -> Option<usize> {
        let all = self.all();
        if all.first()?.ticket == ticket {
            return Some(0);
        }
        all.binary_search_by_key(&ticket, |receive| receive.ticket).ok()
    }

    fn remove(&mut self, index: usize) {
        if index > 0 {
            self.receives.remove(self.out + index);
            return;
        }
        self.out += 1;
        let left = self.receives.len() - self.out;
        if left == 0 {
            self.receives.clear();
            self.out = 0;
        } else if self.out >= left {
            self.receives.drain(..self.out);
            self.out = 0;
        }
    }
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
        let awaits = || await_stamp(&of, self.comm, from, tag);
        // Another thread's receives are no concern of this one's, whose own it has seen.
        if self.ticket == 0 && ACTIVE.load(Ordering::Relaxed) == 0 {
            return self.answered(awaits()?, &of, sender);
        }
        let key = stream_key(self.comm, from, tag)?;
        let wire = match with(|streams| streams.complete(&key, self.ticket)) {
            Plan::Have(wire) => wire,
            Plan::Fetch(Wanted { count: 1, is_sure: true }) => awaits(),
            Plan::Fetch(wanted) => {
                let fetched = wanted.fetch(awaits, || look(&of, from, tag).ok()?);
                with(|streams| streams.share(key, self.ticket, &wanted, &fetched))
            }
        };
        self.answered(wire?, &of, sender)
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

    /// The stamp of the message that a probe has found, of which this names rank and tag as the status does. It is kept for the receive that gets the
    /// message.
    pub fn probed(self) -> Option<Stamp> {
        let of = family().and_then(|family| known(family, self.comm)).filter(|_| self.comm != 0 && self.rank >= 0)?;
        let key = stream_key(self.comm, self.rank, self.tag)?;
        let wanted = match with(|streams| streams.probe(&key, self.ticket)) {
            Plan::Have(wire) => return Some(wire?.stamp),
            Plan::Fetch(wanted) => wanted,
        };
        let look = || look(&of, self.rank, self.tag).ok()?;
        // Another thread may have received the message meanwhile, and taken its stamp.
        let is_sure = wanted.is_sure && !calls::may_overlap();
        let fetched = Wanted { is_sure, ..wanted }.fetch(|| fetch(&of, self.rank, self.tag), look);
        with(|streams| streams.keep(key, self.ticket, &fetched)).map(|wire| wire.stamp)
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

/// The stamp of a message that has arrived, where each stamp that was taken is one of a receive that completed. A thread that takes more, of those that
/// are there, may have taken it meanwhile: then it is kept, or counted.
fn await_stamp(of: &Known, comm: Handle, from: Int, tag: Int) -> Option<Wire> {
    if of.shadow == 0 || !calls::may_overlap() {
        return fetch(of, from, tag);
    }
    loop {
        if let Some(wire) = look(of, from, tag).ok()? {
            return Some(wire);
        }
        let key = stream_key(comm, from, tag)?;
        if let Some(owed) = with(|streams| streams.owed(&key)) {
            return owed;
        }
        std::thread::yield_now();
    }
}

/// What is to be done for a receive that completed.
enum Plan {
    /// Its stamp was taken before, or it has none.
    Have(Option<Wire>),
    /// Stamps are to be taken, and [`Streams::share`]d unless it is one that is sure.
    Fetch(Wanted),
}

/// Stamps for a receive that completed.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    /// How many: its own is the last, if all are there.
    count: usize,
    /// Whether the first was certainly sent.
    is_sure: bool,
}

impl Wanted {
    fn fetch(&self, awaits: impl FnOnce() -> Option<Wire>, looks: impl FnMut() -> Option<Wire>) -> SmallVec<[Wire; 2]> {
        let sure = if self.is_sure { awaits() } else { None };
        let count = self.count - usize::from(sure.is_some());
        sure.into_iter().chain(std::iter::from_fn(looks).take(count)).collect()
    }
}

impl Stream {
    fn complete(&mut self, ticket: u64) -> Plan {
        let index = if ticket == 0 {
            self.posted.all().len().min(self.kept.len())
        } else {
            let Some(index) = self.posted.find(ticket) else {
                return Plan::Have(None); // A persistent receive that is not active.
            };
            self.posted.remove(index);
            index
        };
        if let Some(missing) = index.checked_sub(self.kept.len()) {
            // As many stamps were taken before as receives had completed: there is one for this.
            return Plan::Fetch(Wanted { count: missing + 1, is_sure: self.kept.is_empty() && self.lost == 0 });
        }
        let own = self.kept.remove(index);
        self.pass(ticket, 0);
        Plan::Have(own)
    }

    /// The place of the receive with this ticket; with 0 that of one which is to be posted.
    fn place(&self, ticket: u64) -> Option<usize> {
        if ticket == 0 { Some(self.posted.all().len()) } else { self.posted.find(ticket) }
    }

    /// What is to be done to know the stamp of a receive that has not completed.
    fn probe(&self, ticket: u64) -> Plan {
        let Some(index) = self.place(ticket) else { return Plan::Have(None) };
        match (index + 1).checked_sub(self.kept.len()) {
            None | Some(0) => Plan::Have(self.kept.get(index).copied()),
            Some(count) => Plan::Fetch(Wanted { count, is_sure: self.kept.is_empty() && self.lost == 0 }),
        }
    }

    /// Of the stamps that a completed receive wanted these were there: its own.
    fn share(&mut self, ticket: u64, wanted: &Wanted, fetched: &[Wire]) -> Option<Wire> {
        self.kept.extend(fetched);
        let own = self.kept.pop_back();
        if own.is_none() && !wanted.is_sure {
            self.lost = self.lost.saturating_sub(1);
        }
        self.pass(ticket, wanted.count - fetched.len());
        own
    }

    /// A receive has completed, so that those before it which were freed have had their messages. Only so many did not, if any, as stamps are
    /// missing: those had been cancelled.
    fn pass(&mut self, ticket: u64, mut missing: usize) {
        let mut index = 0;
        while self.freed > 0
            && let Some(receive) = self.posted.all().get(index).filter(|receive| receive.ticket < ticket)
        {
            if !receive.is_freed {
                index += 1;
                continue;
            }
            self.posted.remove(index);
            self.freed -= 1;
            if missing > 0 {
                missing -= 1;
            } else if self.kept.remove(index).is_some() {
                self.lost += 1;
            }
        }
    }

    /// What a receive has whose stamp another thread has taken.
    fn owed(&mut self) -> Option<Option<Wire>> {
        let own = self.kept.pop_front();
        if own.is_none() {
            self.lost = self.lost.checked_sub(1)?;
        }
        Some(own)
    }

    /// Whether nobody waits for a stamp, and no stamp for anybody.
    fn is_over(&self) -> bool {
        self.posted.all().is_empty() && self.kept.is_empty() && self.lost == 0
    }
}

impl Streams {
    /// Does something with a stream that is open from now on.
    #[inline(always)]
    fn open<T>(&mut self, key: Key, then: impl FnOnce(&mut Stream) -> T) -> T {
        let stream = match self.table.get_mut(&key) {
            Some(stream) => stream,
            None => self.table.entry(key).or_default(),
        };
        self.open += usize::from(!std::mem::replace(&mut stream.is_open, true));
        then(stream)
    }

    /// A receive is posted; its ticket.
    fn post(&mut self, key: Key) -> u64 {
        self.tickets += 1;
        let ticket = self.tickets;
        self.open(key, |stream| stream.posted.receives.push(Receive { ticket, is_freed: false }));
        ticket
    }

    /// What is to be done for the receive with this ticket, 0 for one without.
    fn complete(&mut self, key: &Key, ticket: u64) -> Plan {
        self.change(key, |stream| stream.complete(ticket)).unwrap_or(match ticket {
            0 => Plan::Fetch(Wanted { count: 1, is_sure: true }),
            _ => Plan::Have(None),
        })
    }

    /// See [`Stream::probe`].
    fn probe(&self, key: &Key, ticket: u64) -> Plan {
        let stream = self.table.get(key).filter(|stream| stream.is_open);
        stream.map_or(Plan::Fetch(Wanted { count: 1, is_sure: true }), |stream| stream.probe(ticket))
    }

    /// These stamps were there for receives up to that with this ticket, as for [`Stream::place`]: its own.
    fn keep(&mut self, key: Key, ticket: u64, fetched: &[Wire]) -> Option<Wire> {
        self.open(key, |stream| stream.kept.extend(fetched));
        self.change(&key, |stream| stream.place(ticket).and_then(|index| stream.kept.get(index).copied()))?
    }

    /// See [`Stream::share`]. Meanwhile another thread may have completed those before it, and the stream may have been closed.
    fn share(&mut self, key: Key, ticket: u64, wanted: &Wanted, fetched: &[Wire]) -> Option<Wire> {
        self.open(key, |_| ());
        self.change(&key, |stream| stream.share(ticket, wanted, fetched))?
    }

    /// See [`Stream::owed`]; `None` where nothing is.
    fn owed(&mut self, key: &Key) -> Option<Option<Wire>> {
        self.change(key, Stream::owed)?
    }

    /// The receive with this ticket will not complete. One that was cancelled has no message, and its stamp is that of the next. One that was freed
    /// has or gets one, unless it had been cancelled before: it stays until a later one has completed.
    fn leave(&mut self, key: &Key, ticket: u64, is_cancelled: bool) {
        self.change(key, |stream| {
            let Some(index) = stream.posted.find(ticket) else { return };
            if is_cancelled {
                stream.posted.remove(index);
            } else {
                let place = stream.posted.out + index;
                stream.posted.receives[place].is_freed = true;
                stream.freed += 1;
            }
        });
    }

    /// Does something with an open stream, which is closed if it is over then.
    #[inline(always)]
    fn change<T>(&mut self, key: &Key, change: impl FnOnce(&mut Stream) -> T) -> Option<T> {
        let count = self.table.len();
        let stream = self.table.get_mut(key).filter(|stream| stream.is_open)?;
        let result = change(stream);
        if stream.is_over() {
            stream.is_open = false;
            self.closed(key, count);
        }
        Some(result)
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
pub fn match_message(handle: Handle, comm: Handle, from: Int, tag: Int) -> Source {
    let Some(family) = family().filter(|_| from >= 0) else { return Source::NONE };
    let source = Source::new(comm, from, tag).numbered();
    if source.ticket != 0 {
        let key = (super::owner(family), family.handle(handle));
        let mut matched = MATCHED.lock().unwrap_or_else(PoisonError::into_inner);
        matched.get_or_insert_default().insert(key, source);
    }
    source
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

    fn clock(wire: Option<Wire>) -> Option<u64> {
        wire.map(|wire| wire.stamp.clock)
    }

    fn wanted(plan: Plan) -> Wanted {
        match plan {
            Plan::Have(_) => panic!("nobody has taken it"),
            Plan::Fetch(wanted) => wanted,
        }
    }

    /// Completes a receive as [`Source::complete`] does, where these stamps are there. To wait for one that was not sent is a hang.
    fn complete(streams: &mut Streams, ticket: u64, there: &mut VecDeque<u64>) -> Option<u64> {
        let there = std::cell::RefCell::new(there);
        let next = || there.borrow_mut().pop_front().map(stamp);
        let awaits = || Some(next().expect("nobody would ever send it"));
        match streams.complete(&KEY, ticket) {
            Plan::Have(wire) => clock(wire),
            Plan::Fetch(Wanted { count: 1, is_sure: true }) => clock(awaits()),
            Plan::Fetch(wanted) => {
                let fetched = wanted.fetch(awaits, next);
                clock(streams.share(KEY, ticket, &wanted, &fetched))
            }
        }
    }

    /// Probes for a message as [`Source::probed`] does.
    fn probe(streams: &mut Streams, ticket: u64, there: &mut VecDeque<u64>) -> Option<u64> {
        let there = std::cell::RefCell::new(there);
        let next = || there.borrow_mut().pop_front().map(stamp);
        match streams.probe(&KEY, ticket) {
            Plan::Have(wire) => clock(wire),
            Plan::Fetch(wanted) => {
                let fetched = wanted.fetch(|| Some(next().expect("nobody would ever send it")), next);
                clock(streams.keep(KEY, ticket, &fetched))
            }
        }
    }

    /// A probe sees the stamp of the message behind those of all receives, as often as it looks, and what it took is there for the one that gets the message.
    #[test]
    fn what_a_probe_has_seen_stays_for_the_receive() {
        let mut streams = Streams::default();
        let (first, second) = (streams.post(KEY), streams.post(KEY));
        let mut there = (10..15).collect();
        for _ in 0..2 {
            assert_eq!(probe(&mut streams, 0, &mut there), Some(12));
        }
        let matched = streams.post(KEY);
        assert_eq!(probe(&mut streams, matched, &mut there), Some(12));
        assert_eq!(probe(&mut streams, 0, &mut there), Some(13));
        for (ticket, expected) in [(matched, 12), (second, 11), (first, 10), (0, 13)] {
            assert_eq!(complete(&mut streams, ticket, &mut there), Some(expected));
        }
        assert_eq!((streams.open, &there), (0, &VecDeque::from([14])));
        // One that another thread has received meanwhile, with its stamp, leaves nothing open.
        assert_eq!(clock(streams.keep(KEY, 0, &[])), None);
        assert_eq!(streams.open, 0);
    }

    #[test]
    fn what_completes_later_has_the_stamp_that_was_fetched_for_it() {
        let mut streams = Streams::default();
        let tickets: Vec<u64> = (0..100).map(|_| streams.post(KEY)).collect();
        let mut there = (0..100).collect();
        let shuffled = (0..100).map(|number| number * 37 % 100);
        for number in shuffled {
            assert_eq!(complete(&mut streams, tickets[number], &mut there), Some(number as u64));
        }
        assert_eq!(streams.open, 0);
    }

    /// One more is posted whenever the oldest has completed, so that the stream never closes.
    #[test]
    fn receives_that_complete_in_order_are_not_kept() {
        let mut streams = Streams::default();
        let mut tickets: VecDeque<u64> = (0..5).map(|_| streams.post(KEY)).collect();
        for number in 0..1000 {
            tickets.push_back(streams.post(KEY));
            let oldest = tickets.pop_front().unwrap();
            assert_eq!(complete(&mut streams, oldest, &mut VecDeque::from([number])), Some(number));
            assert!(streams.table[&KEY].posted.receives.len() <= 12);
        }
    }

    /// Under MPI_THREAD_MULTIPLE the first may be completed, and others be posted, before the thread that completed the second has kept what it took
    /// for the first, whose stamp that thread finds then.
    #[test]
    fn a_stamp_that_another_thread_took_is_found() {
        let mut streams = Streams::default();
        let (first, second) = (streams.post(KEY), streams.post(KEY));
        let both = wanted(streams.complete(&KEY, second));
        assert_eq!(both, Wanted { count: 2, is_sure: true });
        assert_eq!(wanted(streams.complete(&KEY, first)), Wanted { count: 1, is_sure: true });
        assert_eq!((streams.open, streams.owed(&KEY).is_none()), (0, true));
        let later = streams.post(KEY);
        assert!(streams.owed(&KEY).is_none());
        assert_eq!(clock(streams.share(KEY, second, &both, &[stamp(10), stamp(11)])), Some(11));
        assert_eq!(streams.owed(&KEY).map(clock), Some(Some(10)));
        assert_eq!(complete(&mut streams, later, &mut VecDeque::from([12])), Some(12));
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

    /// That the first is cancelled is seen after the second, which was posted later, has its message; a third one's stamp is there or not.
    #[test]
    fn the_stamp_that_was_taken_for_a_cancelled_receive_is_the_next_ones() {
        for is_early in [false, true] {
            let mut streams = Streams::default();
            let (cancelled, next) = (streams.post(KEY), streams.post(KEY));
            let mut there = if is_early { VecDeque::from([10, 11]) } else { VecDeque::from([10]) };
            let own = complete(&mut streams, next, &mut there);
            streams.leave(&KEY, cancelled, true);
            let later = streams.post(KEY);
            there.extend((!is_early).then_some(11));
            let mut both = [own, complete(&mut streams, later, &mut there)];
            both.sort();
            assert_eq!((both, streams.open), ([Some(10), Some(11)], 0));
        }
    }

    /// The stamp of a freed receive's message comes all the same, before that of the next; if it had been cancelled before, none comes.
    #[test]
    fn a_freed_receive_is_passed_over() {
        for (stamps, expected) in [(vec![10, 11], 11), (vec![11], 11)] {
            let mut streams = Streams::default();
            let freed = streams.post(KEY);
            streams.leave(&KEY, freed, false);
            assert_eq!(streams.open, 1);
            let next = streams.post(KEY);
            assert_eq!(complete(&mut streams, next, &mut stamps.into()), Some(expected));
            for number in 20..30 {
                let later = streams.post(KEY);
                assert_eq!(complete(&mut streams, later, &mut VecDeque::from([number])), Some(number));
                assert!(streams.table[&KEY].kept.is_empty() && streams.table[&KEY].posted.all().is_empty());
            }
        }
    }

    /// The stamp that was dropped with it was another's, who does not wait for it; the next has its own.
    #[test]
    fn a_freed_receive_that_had_been_cancelled_costs_one_stamp() {
        let mut streams = Streams::default();
        let freed = streams.post(KEY);
        streams.leave(&KEY, freed, false);
        let next = streams.post(KEY);
        let mut there = VecDeque::from([10, 11]);
        assert_eq!(complete(&mut streams, next, &mut there), Some(11));
        for (number, expected) in [(None, None), (Some(12), Some(12)), (Some(13), Some(13))] {
            there.extend(number);
            let later = streams.post(KEY);
            assert_eq!(complete(&mut streams, later, &mut there), expected);
        }
        assert_eq!(streams.open, 0);
    }

    /// Another thread's receive was posted before and noted later: the first message is for that, the second comes after it.
    #[test]
    fn a_receive_that_was_noted_too_late_does_not_wait_for_two() {
        let mut streams = Streams::default();
        let other = streams.post(KEY);
        let late = streams.post(KEY);
        let mut there = VecDeque::from([10]);
        assert_eq!(complete(&mut streams, late, &mut there), Some(10));
        there.push_back(11);
        assert_eq!((complete(&mut streams, other, &mut there), streams.open), (Some(11), 0));
    }

    /// Random receives and messages, as MPI matches them: a stamp is sent before its message, which the receive posted first gets. Receives are
    /// cancelled, freed, or both, have wildcards, and are noted in another order than they were posted in. Nobody waits for what was not sent ([`complete`]),
    /// and when all is done the later receives have stamps.
    #[test]
    fn whatever_the_order_nobody_waits_for_a_stamp_that_was_not_sent() {
        let mut state = 1_u64;
        let mut draw = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for round in 0..2000 {
            let mut streams = Streams::default();
            // Stamps that were sent, messages behind them that nobody has received, receives without a message, and those that have one.
            let (mut there, mut messages, mut waiting, mut matched) =
                (VecDeque::new(), 0_usize, Vec::<u64>::new(), Vec::<u64>::new());
            let (mut sent, mut cancelled) = (0, Vec::<u64>::new());
            let is_odd = round % 2 == 1;
            for _ in 0..60 {
                match draw(8) {
                    0..3 => {
                        let ticket = if is_odd && draw(6) == 0 { 0 } else { streams.post(KEY) };
                        let place = if is_odd && draw(4) == 0 {
                            draw(waiting.len() as u64 + 1) as usize
                        } else {
                            waiting.len()
                        };
                        waiting.insert(place, ticket);
                    }
                    3..5 => {
                        there.push_back(sent);
                        sent += 1;
                        messages += 1;
                    }
                    5 if is_odd && !waiting.is_empty() => {
                        let ticket = waiting.remove(draw(waiting.len() as u64) as usize);
                        match draw(2) {
                            _ if ticket == 0 => {}
                            0 => streams.leave(&KEY, ticket, false),
                            _ => cancelled.push(ticket),
                        }
                    }
                    6 if !cancelled.is_empty() => streams.leave(&KEY, cancelled.remove(0), true),
                    6 if is_odd && draw(3) == 0 && !matched.is_empty() => {
                        // Freed with its message.
                        let ticket = matched.remove(draw(matched.len() as u64) as usize);
                        if ticket == 0 { matched.push(0) } else { streams.leave(&KEY, ticket, false) }
                    }
                    _ if !matched.is_empty() => {
                        let ticket = matched.remove(draw(matched.len() as u64) as usize);
                        let own = complete(&mut streams, ticket, &mut there);
                        assert!(is_odd || own == Some(ticket - 1), "{own:?} for receive {ticket}");
                    }
                    _ => {}
                }
                while messages > 0 && !waiting.is_empty() {
                    messages -= 1;
                    matched.push(waiting.remove(0));
                }
                if messages > 0 && draw(4) == 0 {
                    let seen = probe(&mut streams, 0, &mut there);
                    assert!(is_odd || seen == Some(sent - messages as u64), "{seen:?} of {messages} before {sent}");
                }
            }
            // What is left comes to its end, and then there are twenty usual ones.
            cancelled
                .drain(..)
                .chain(waiting.drain(..).filter(|&ticket| ticket != 0))
                .for_each(|ticket| streams.leave(&KEY, ticket, true));
            matched.drain(..).for_each(|ticket| _ = complete(&mut streams, ticket, &mut there));
            for _ in 0..messages {
                let ticket = streams.post(KEY);
                complete(&mut streams, ticket, &mut there);
            }
            for number in 0..20 {
                there.push_back(1000 + number);
                let ticket = streams.post(KEY);
                assert!(complete(&mut streams, ticket, &mut there).is_some(), "round {round}");
            }
            assert!(is_odd || streams.open == 0, "round {round}");
        }
    }
}
