//! The messages of one MPI operation at one call path of one thread: numbers by size, and by the rank at the other end. As with
//! the [tree](crate::tree), the thread alone changes them, and another may read them meanwhile.

use std::collections::BTreeMap;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use poise_profile::{Histogram, Messages};

use crate::tree::Counter;

/// Buckets of [`Histogram`]; the last also has what is larger.
const BUCKETS: usize = 48;
/// Ranks that a first table has room for; always a power of two.
const FIRST: usize = 16;
/// Room in the largest table; half of it is used.
const LARGEST: usize = 2048;

/// Memory that all values of a process may take together, in bytes.
const MOST: usize = 64 << 20;
/// What they take.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// Takes memory into the account; false where there would be too much.
fn afford(bytes: usize) -> bool {
    let fits = TAKEN.fetch_add(bytes, Ordering::Relaxed) + bytes <= MOST;
    if !fits {
        TAKEN.fetch_sub(bytes, Ordering::Relaxed);
    }
    fits
}

/// Whether a message left or came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It was sent.
    Sent,
    /// It was received.
    Received,
}

/// Messages with one other rank.
#[derive(Default)]
struct Peer {
    /// The rank and one; 0 while the place is free.
    rank: AtomicU32,
    /// Messages and bytes, sent and received.
    counts: [Counter; 4],
}

impl Peer {
    #[inline(always)]
    fn add(&self, direction: Direction, bytes: u64) {
        let first = if direction == Direction::Sent { 0 } else { 2 };
        self.counts[first].add(1);
        self.counts[first + 1].add(bytes);
    }

    fn traffic(&self) -> poise_profile::Traffic {
        let [sent, sent_bytes, received, received_bytes] = self.counts.each_ref().map(Counter::get);
        poise_profile::Traffic { sent: (sent, sent_bytes), received: (received, received_bytes) }
    }
}

/// Ranks by [`place`], open to the next free one.
struct Table {
    places: Box<[Peer]>,
    used: Counter,
    /// The smaller table before it, which a reader may still look at.
    before: *mut Table,
}

/// Where to begin to look for a rank (Fibonacci hashing).
#[inline(always)]
fn place(rank: u32, room: usize) -> usize {
    (rank.wrapping_mul(0x9e37_79b9) >> 16) as usize & (room - 1)
}

impl Table {
    /// A table of `room` places with what `before` holds.
    fn after(before: *mut Self, room: usize) -> *mut Self {
        let table = Self { places: (0..room).map(|_| Peer::default()).collect(), used: Counter::default(), before };
        // SAFETY: callers pass null or the operation's table, which its thread alone changes.
        let old = unsafe { before.as_ref() }.map_or(&[][..], |before| &before.places);
        for peer in old.iter().filter(|peer| peer.rank.load(Ordering::Relaxed) != 0) {
            let rank = peer.rank.load(Ordering::Relaxed);
            let place = table.find(rank - 1);
            for (new, old) in table.places[place].counts.iter().zip(&peer.counts) {
                new.set(old.get());
            }
            table.places[place].rank.store(rank, Ordering::Relaxed);
            table.used.add(1);
        }
        Box::into_raw(Box::new(table))
    }

    /// The place of a rank, or the free one that it gets.
    #[inline(always)]
    fn find(&self, rank: u32) -> usize {
        let mut index = place(rank, self.places.len());
        loop {
            let there = self.places[index].rank.load(Ordering::Relaxed);
            if there == 0 || there == rank + 1 {
                return index;
            }
            index = (index + 1) & (self.places.len() - 1);
        }
    }
}

/// The messages of one call path.
pub struct Traffic {
    sizes: [[Counter; BUCKETS]; 2],
    /// Null until there is one.
    table: AtomicPtr<Table>,
    /// Messages with ranks that there is no room for, or that have no number in MPI_COMM_WORLD.
    others: Peer,
    /// Waiting for messages that were sent after their receives had begun, in ticks.
    pub late_sender: Counter,
    /// Waiting of sends for their receives to begin, in ticks. Any thread may add to it.
    pub late_receiver: AtomicU64,
}

impl Traffic {
    /// Without messages; null where these values take too much memory already.
    ///
    /// It is counted: by the node that it belongs to, and by each credit that is given out.
    pub fn new() -> *mut Self {
        if !afford(size_of::<Self>()) {
            return null_mut();
        }
        Arc::into_raw(Arc::new(Self {
            sizes: std::array::from_fn(|_| std::array::from_fn(|_| Counter::default())),
            table: AtomicPtr::new(null_mut()),
            others: Peer::default(),
            late_sender: Counter::default(),
            late_receiver: AtomicU64::new(0),
        }))
        .cast_mut()
    }

    /// Lets waiting be added later, whatever becomes of the node.
    pub fn hold(&self) -> *const Self {
        // SAFETY: all values come from `new`, and this one lives.
        unsafe { Arc::increment_strong_count(self) };
        self
    }

    /// Nothing more is added.
    ///
    /// # Safety
    /// `held` is null or from [`Traffic::hold`], and not used again.
    pub unsafe fn let_go(held: *const Self) {
        if !held.is_null() {
            // SAFETY: the caller's promise.
            drop(unsafe { Arc::from_raw(held) });
        }
    }

    /// The node that it belongs to goes.
    ///
    /// # Safety
    /// `own` is null or from [`Traffic::new`], and not used again by the node.
    pub unsafe fn release(own: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe { Self::let_go(own) };
    }

    /// A call that sent or received so much, or one message.
    #[inline(always)]
    pub fn size(&self, direction: Direction, bytes: u64) {
        let bucket = usize::from(Histogram::bucket(bytes)).min(BUCKETS - 1);
        self.sizes[direction as usize][bucket].add(1);
    }

    /// Its message's other end; false where [`Traffic::grow`] must make room first.
    #[inline(always)]
    pub fn peer(&self, direction: Direction, rank: Option<u32>, bytes: u64) -> bool {
        let table = self.table.load(Ordering::Relaxed);
        let Some(rank) = rank.filter(|&rank| rank != u32::MAX) else {
            self.others.add(direction, bytes);
            return true;
        };
        // SAFETY: null or this value's table, which lives as long as it.
        let Some(table) = (unsafe { table.as_ref() }) else { return false };
        let peer = &table.places[table.find(rank)];
        if peer.rank.load(Ordering::Relaxed) == 0 {
            return false;
        }
        peer.add(direction, bytes);
        true
    }

    /// Makes a place for a new rank and counts its message; among the others where the largest table is full.
    pub fn grow(&self, direction: Direction, rank: u32, bytes: u64) {
        let mut table = self.table.load(Ordering::Relaxed);
        // SAFETY: null or this value's table.
        let (used, room) =
            unsafe { table.as_ref() }.map_or((0, 0), |table| (table.used.get() as usize, table.places.len()));
        if used * 2 >= room {
            let larger = (room * 2).max(FIRST);
            if room >= LARGEST || !afford(larger * size_of::<Peer>()) {
                return self.others.add(direction, bytes);
            }
            table = Table::after(table, larger);
            self.table.store(table, Ordering::Release);
        }
        // SAFETY: null or this value's table.
        if let Some(table) = unsafe { table.as_ref() } {
            let peer = &table.places[table.find(rank)];
            peer.add(direction, bytes);
            peer.rank.store(rank + 1, Ordering::Release);
            table.used.add(1);
        }
    }

    /// Adds what there is to `messages` and `peers`.
    pub fn read(&self, messages: &mut Messages, peers: &mut Peers) {
        for (sizes, histogram) in self.sizes.iter().zip([&mut messages.sent, &mut messages.received]) {
            sizes.iter().zip(0..).for_each(|(count, bucket)| histogram.add(bucket, count.get()));
        }
        let others = self.others.traffic();
        if others.messages() > 0 {
            peers.entry(None).or_default().merge(&others);
        }
        // SAFETY: null or a whole table, which is freed with this value alone.
        let Some(table) = (unsafe { self.table.load(Ordering::Acquire).as_ref() }) else { return };
        for peer in &table.places {
            let rank = peer.rank.load(Ordering::Acquire);
            if rank != 0 {
                peers.entry(Some(rank - 1)).or_default().merge(&peer.traffic());
            }
        }
    }
}

/// Messages by the rank at the other end, `None` for those without a number of their own.
pub type Peers = BTreeMap<Option<u32>, poise_profile::Traffic>;

impl Drop for Traffic {
    fn drop(&mut self) {
        TAKEN.fetch_sub(size_of::<Self>(), Ordering::Relaxed);
        let mut table = self.table.load(Ordering::Relaxed).cast_const();
        while !table.is_null() {
            // SAFETY: each table came from a box and is freed once.
            let owned = unsafe { Box::from_raw(table.cast_mut()) };
            TAKEN.fetch_sub(owned.places.len() * size_of::<Peer>(), Ordering::Relaxed);
            table = owned.before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(traffic: &Traffic, direction: Direction, rank: u32, bytes: u64) {
        traffic.size(direction, bytes);
        if !traffic.peer(direction, Some(rank), bytes) {
            traffic.grow(direction, rank, bytes);
        }
    }

    /// As a plain map has it, through all sizes of the table and beyond the largest.
    #[test]
    fn peers_are_told_apart_as_long_as_there_is_room() {
        // SAFETY: fresh, and of nobody else.
        let traffic = unsafe { Arc::from_raw(Traffic::new()) };
        let mut expected: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        let mut state = 1_u32;
        for step in 0..20_000_u32 {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            let rank = (state >> 16) % (1 + step / 12);
            note(&traffic, Direction::Received, rank * 4096, u64::from(step));
            let (messages, bytes) = expected.entry(rank * 4096).or_default();
            (*messages, *bytes) = (*messages + 1, *bytes + u64::from(step));
        }
        let (mut messages, mut peers) = (Messages::default(), Peers::new());
        traffic.read(&mut messages, &mut peers);
        let others = peers.remove(&None).expect("more ranks than there is room for");
        assert_eq!(peers.len(), LARGEST / 2);
        let mut left = others.received.0;
        for (rank, traffic) in &peers {
            // Those that came first are whole: nobody loses a place.
            assert_eq!(traffic.received, expected[&rank.unwrap()], "{rank:?}");
            left += traffic.received.0;
        }
        assert_eq!((left, messages.received.total()), (20_000, 20_000));
        assert_eq!(messages.received.counts[&14], 8192, "8192 to 16383 bytes");
        assert!(messages.sent.is_empty());
    }
}
