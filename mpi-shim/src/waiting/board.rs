//! Stamps in memory, where all ranks are coroutines of one process: queues for messages, and for each collective
//! operation a board on which every rank writes its stamp when it enters.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use super::communicators::Known;
use super::messages::Wire;
use crate::library::Int;
use crate::runtime::Stamp;

/// A message's communicator, sender, receiver and tag.
type Envelope = (u64, Int, Int, Int);

/// One collective operation.
struct Board {
    /// By rank.
    stamps: Vec<Option<Stamp>>,
    /// The latest so far.
    latest: Stamp,
    /// Ranks that have read.
    read: u32,
}

#[derive(Default)]
struct Boards {
    queues: HashMap<Envelope, VecDeque<Wire>>,
    /// By communicator and rank: the operations that it has entered.
    entered: HashMap<(u64, Int), u64>,
    /// By communicator and number of the operation.
    boards: HashMap<(u64, u64), Board>,
}

static BOARDS: Mutex<Option<Boards>> = Mutex::new(None);

fn with<T>(then: impl FnOnce(&mut Boards) -> T) -> T {
    then(BOARDS.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

/// Puts the stamp of a message into its queue.
pub fn send(known: &Known, dest: Int, tag: Int, wire: Wire) {
    with(|boards| boards.queues.entry((known.number, known.rank, dest, tag)).or_default().push_back(wire));
}

/// Takes the next stamp of a message from `source`.
pub fn take(known: &Known, source: Int, tag: Int) -> Option<Wire> {
    let key = (known.number, source, known.rank, tag);
    with(|boards| {
        let queue = boards.queues.get_mut(&key)?;
        let wire = queue.pop_front();
        if queue.is_empty() {
            boards.queues.remove(&key);
        }
        wire
    })
}

/// This rank enters a collective operation; returns the operation's number.
pub fn enter(known: &Known, stamp: Stamp) -> u64 {
    with(|boards| {
        let number = boards.entered.entry((known.number, known.rank)).or_default();
        *number += 1;
        let new = || Board { stamps: vec![None; known.size as usize], latest: Stamp::default(), read: 0 };
        let board = boards.boards.entry((known.number, *number)).or_insert_with(new);
        if let Some(place) = board.stamps.get_mut(known.rank.unsigned_abs() as usize) {
            *place = Some(stamp);
        }
        board.latest = board.latest.later(stamp);
        *number
    })
}

/// Which ranks' stamps are asked for.
pub enum Of<'a> {
    /// All that have entered.
    Everybody,
    /// Those that this says.
    Those(&'a dyn Fn(usize) -> bool),
    /// Nobody's.
    Nobody,
}

/// The latest stamp of those ranks in the operation of this number, which this rank leaves.
pub fn leave(known: &Known, number: u64, of: &Of<'_>) -> Option<Stamp> {
    with(|boards| {
        let board = boards.boards.get_mut(&(known.number, number))?;
        board.read += 1;
        let latest = match of {
            Of::Everybody => Some(board.latest),
            Of::Those(is_asked) => {
                let asked = board.stamps.iter().enumerate().filter(|&(rank, _)| is_asked(rank));
                asked.filter_map(|(_, &stamp)| stamp).reduce(Stamp::later)
            }
            Of::Nobody => None,
        };
        if board.read == known.size {
            boards.boards.remove(&(known.number, number));
        }
        latest
    })
}
