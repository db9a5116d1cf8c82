//! Stamps of messages in memory that the ranks of a communicator share: each rank has a box, into which all put the stamps of what they
//! send to it, each before its message. That takes no message of MPI's, and nobody's progress.
//!
//! A box is a ring of letters without locks between ranks (a bounded queue with a turn number in each place, as D. Vyukov describes it). Who
//! looks for a letter takes all out that lie before it, and keeps them for those whose they are. Where there is no room, the sender sends
//! this stamp and all later ones to that rank as messages, so that what comes through the box is always older.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::messages::Wire;
use crate::library::Int;
use crate::runtime::Stamp;

/// Letters of a box, a page. More are on their way to a rank only where it is sent that many while it receives none.
const ROOM: u64 = 64;

/// A letter's place. Its turn is 2 l where it is free for the l-th letter there, and 2 l + 1 as long as that lies there: a turn never comes
/// twice.
#[repr(C, align(64))]
struct Letter {
    turn: AtomicU64,
    envelope: AtomicU64,
    clock: AtomicU64,
    time: AtomicU64,
    question: AtomicU64,
}

/// The box of a rank, in shared memory. All zeros is an empty one.
#[repr(C, align(64))]
pub struct Mailbox {
    /// The place that the next letter gets.
    end: AtomicU64,
    letters: [Letter; ROOM as usize],
}

/// What a rank has taken out of its box.
#[derive(Default)]
struct Inbox {
    /// No letter lies in front of this place.
    begin: u64,
    /// Letters that nobody has asked for yet, by envelope, the oldest first.
    kept: HashMap<u64, VecDeque<Wire>>,
}

/// What a rank knows of its own box, and of the others'.
pub struct Desk {
    inbox: Mutex<Inbox>,
    /// By rank: whose box had no room once.
    is_full: Box<[AtomicBool]>,
}

/// A sender and a tag.
fn envelope(from: usize, tag: Int) -> u64 {
    (from as u64) << 32 | u64::from(tag.cast_unsigned())
}

impl Mailbox {
    fn letter(&self, place: u64) -> (&Letter, u64) {
        (&self.letters[(place % ROOM) as usize], 2 * (place / ROOM))
    }

    /// Puts a stamp in; `false` where there is no room.
    fn put(&self, envelope: u64, wire: &Wire) -> bool {
        let mut place = self.end.load(Ordering::Relaxed);
        let (letter, turn) = loop {
            let (letter, free) = self.letter(place);
            let end = if letter.turn.load(Ordering::Acquire) == free {
                // Release: who sees a later letter's place sees all that was put in before by who sends this one.
                match self.end.compare_exchange(place, place + 1, Ordering::Release, Ordering::Relaxed) {
                    Ok(_) => break (letter, free),
                    Err(end) => end,
                }
            } else {
                self.end.load(Ordering::Relaxed)
            };
            if end == place {
                return false;
            }
            place = end;
        };
        letter.write(envelope, wire);
        letter.turn.store(turn + 1, Ordering::Release);
        true
    }

    /// Empties the box until there is a letter with this envelope; those that come before it go to `inbox`. It was put in before this is called,
    /// if it was; what is put in meanwhile is left for later, or a sender's letters could be taken in another order where one that is about
    /// to be put in is passed over.
    fn take(&self, inbox: &mut Inbox, envelope: u64) -> Option<Wire> {
        let end = self.end.load(Ordering::Acquire);
        let mut are_all_taken = true;
        for place in inbox.begin..end {
            let (letter, free) = self.letter(place);
            let turn = letter.turn.load(Ordering::Acquire);
            are_all_taken &= turn > free;
            if are_all_taken {
                inbox.begin = place + 1;
            }
            if turn == free + 1 {
                let (of, wire) = letter.read();
                letter.turn.store(turn + 1, Ordering::Release);
                if of == envelope {
                    return Some(wire);
                }
                inbox.kept.entry(of).or_default().push_back(wire);
            }
        }
        None
    }
}

impl Letter {
    fn write(&self, envelope: u64, wire: &Wire) {
        self.envelope.store(envelope, Ordering::Relaxed);
        self.clock.store(wire.stamp.clock, Ordering::Relaxed);
        self.time.store(wire.stamp.time, Ordering::Relaxed);
        self.question.store(wire.question, Ordering::Relaxed);
    }

    fn read(&self) -> (u64, Wire) {
        let stamp = Stamp { clock: self.clock.load(Ordering::Relaxed), time: self.time.load(Ordering::Relaxed) };
        (self.envelope.load(Ordering::Relaxed), Wire { stamp, question: self.question.load(Ordering::Relaxed) })
    }
}

impl Desk {
    /// Of a rank in a communicator of so many.
    pub fn new(size: usize) -> Self {
        Self { inbox: Mutex::default(), is_full: (0..size).map(|_| AtomicBool::new(false)).collect() }
    }

    /// Puts the stamp of a message into the box of rank `dest`; `false` where it has to go as a message, as all later ones then.
    pub fn send(&self, to: &Mailbox, dest: usize, own: usize, tag: Int, wire: &Wire) -> bool {
        let Some(is_full) = self.is_full.get(dest) else { return false };
        // Of two threads' messages nobody says which is the earlier, unless they have agreed on it, and then they see this, too.
        let is_sent = !is_full.load(Ordering::Relaxed) && to.put(envelope(own, tag), wire);
        if !is_sent {
            is_full.store(true, Ordering::Relaxed);
        }
        is_sent
    }

    /// Takes the stamp of the message from rank `from` that has arrived out of this rank's own box; `None` where it came as a message.
    pub fn take(&self, own: &Mailbox, from: usize, tag: Int) -> Option<Wire> {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        let envelope = envelope(from, tag);
        if !inbox.kept.is_empty()
            && let Entry::Occupied(mut kept) = inbox.kept.entry(envelope)
        {
            let wire = kept.get_mut().pop_front();
            if kept.get().is_empty() {
                kept.remove();
            }
            return wire;
        }
        own.take(&mut inbox, envelope)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn wire(clock: u64) -> Wire {
        Wire { stamp: Stamp { clock, time: 3 * clock }, question: 7 * clock }
    }

    fn empty() -> Box<Mailbox> {
        // SAFETY: all zeros is an empty box, as in new shared memory.
        unsafe { Box::new_zeroed().assume_init() }
    }

    fn clocks(desk: &Desk, own: &Mailbox, from: usize, tag: Int) -> Vec<u64> {
        std::iter::from_fn(|| desk.take(own, from, tag)).map(|wire| wire.stamp.clock).collect()
    }

    #[test]
    fn letters_are_taken_by_sender_and_tag_in_the_order_of_sending() {
        let (own, there, here) = (empty(), Desk::new(4), Desk::new(4));
        for (from, tag, clock) in [(1, 5, 10), (2, 5, 20), (1, 6, 11), (1, 5, 12), (3, 0, 30)] {
            assert!(there.send(&own, 0, from, tag, &wire(clock)));
        }
        assert_eq!(here.take(&own, 1, 5), Some(wire(10)));
        assert_eq!(clocks(&here, &own, 3, 0), [30]);
        assert_eq!(clocks(&here, &own, 1, 5), [12]);
        assert_eq!(clocks(&here, &own, 1, 7), [0_u64; 0]);
        assert_eq!(clocks(&here, &own, 1, 6), [11]);
        assert_eq!(clocks(&here, &own, 2, 5), [20]);
        assert!(there.send(&own, 0, 0, 0, &wire(40)) && here.take(&own, 0, 0) == Some(wire(40)));
        let inbox = here.inbox.lock().unwrap();
        assert_eq!((inbox.begin, inbox.kept.len()), (6, 0));
    }

    #[test]
    fn a_box_has_room_again_as_often_as_it_is_emptied() {
        let (own, there, here) = (empty(), Desk::new(1), Desk::new(1));
        for clock in 0..10 * ROOM {
            assert!(there.send(&own, 0, 0, 1, &wire(clock)));
            assert_eq!(here.take(&own, 0, 1), Some(wire(clock)));
        }
    }

    #[test]
    fn letters_that_nobody_asks_for_take_no_room() {
        let (own, there, here) = (empty(), Desk::new(1), Desk::new(1));
        for clock in 0..10 * ROOM {
            assert!(there.send(&own, 0, 0, 0, &wire(clock)) && there.send(&own, 0, 0, 1, &wire(clock)));
            assert_eq!(here.take(&own, 0, 1), Some(wire(clock)));
        }
        assert_eq!(clocks(&here, &own, 0, 0), (0..10 * ROOM).collect::<Vec<_>>());
    }

    #[test]
    fn where_there_is_no_room_all_later_ones_go_another_way() {
        let (own, there, here) = (empty(), Desk::new(2), Desk::new(2));
        let sent: Vec<bool> = (0..ROOM + 2).map(|clock| there.send(&own, 1, 0, 1, &wire(clock))).collect();
        assert_eq!(sent.iter().filter(|&&sent| sent).count() as u64, ROOM);
        assert!(!sent[ROOM as usize] && !sent[ROOM as usize + 1]);
        assert_eq!(clocks(&here, &own, 0, 1), (0..ROOM).collect::<Vec<_>>());
        assert!(!there.send(&own, 1, 0, 1, &wire(0)), "or the receiver would take it for older than those");
        assert!(there.send(&own, 0, 1, 1, &wire(0)), "that is of one box only");
    }

    /// Messages of four threads to two that receive, as of ranks that share memory; what arrives is what was sent, in the order of each sender.
    #[test]
    fn many_send_and_many_receive_at_the_same_time() {
        const EACH: u64 = if cfg!(miri) { 100 } else { 50_000 };
        let (own, here) = (empty(), Desk::new(4));
        let (own, here) = (&*own, &here);
        std::thread::scope(|scope| {
            let arrivals: [_; 4] = std::array::from_fn(|from| {
                // A channel, as MPI's, that does not hold more than there is room for.
                let (sender, receiver) = mpsc::sync_channel(ROOM as usize / 8);
                scope.spawn(move || {
                    for clock in 0..EACH {
                        // Another thread that is stopped while it puts a letter in keeps its place.
                        while !own.put(envelope(from, clock as Int % 2), &wire(clock)) {
                            std::thread::yield_now();
                        }
                        sender.send(()).unwrap();
                    }
                });
                receiver
            });
            let [first, second, third, fourth] = arrivals;
            for (from, arrivals) in [(0, [first, second]), (2, [third, fourth])] {
                scope.spawn(move || {
                    for clock in 0..EACH {
                        for (from, arrival) in (from..).zip(&arrivals) {
                            arrival.recv().unwrap();
                            // As one does whose sender had found no room once.
                            assert_eq!(here.take(own, from, 2), None);
                            assert_eq!(here.take(own, from, clock as Int % 2), Some(wire(clock)));
                        }
                    }
                });
            }
        });
        assert_eq!(own.end.load(Ordering::Relaxed), 4 * EACH);
    }
}
