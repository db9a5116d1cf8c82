//! Stamps of messages: to the same rank with the same tag, sent before the message that they belong to, as messages or through memory
//! that both ranks share.

use super::communicators::{Known, known};
use super::replies::{self, Question};
use super::shared::Board;
use super::{board, key_of, offsets};
use crate::library::{self, Family, Handle, Int, SUCCESS, Wide, family};
use crate::own;
use crate::runtime::Stamp;

/// What is sent: a stamp, its time by the clock of all, and the number of a question to the receiver, or 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wire {
    /// The stamp.
    pub stamp: Stamp,
    /// See [`Question::number`].
    pub question: u64,
}

impl Wire {
    fn of(stamp: &Stamp, question: Question) -> Self {
        let stamp = Stamp { time: offsets::to_wire(stamp.time), ..*stamp };
        Self { stamp, question: question.number() }
    }

    /// With its time by this process's clock.
    fn here(mut self) -> Self {
        self.stamp.time = offsets::from_wire(self.stamp.time);
        self
    }
}

/// Bytes of it.
pub const LENGTH: Int = size_of::<Wire>() as Int;

/// A stamp under way. MPI has sent so small a message when the call returns, but does not promise it.
struct Slot {
    wire: Wire,
    request: Handle,
}

/// Stamps that a thread has sent, to be used again in turn; boxed, so that they stay where they are.
#[derive(Default)]
pub struct Slots {
    slots: Vec<&'static mut Slot>,
    next: usize,
}

/// Slots that a thread begins with.
const FIRST: usize = 8;
/// Slots that are looked at for one whose message is sent before there is one more.
const TRIES: usize = 4;

/// Announces a message of the program's. Of one that MPI will refuse, nothing is announced, or the stamp is left over. `asks` says
/// that the sender is to learn when the receive began, and whether it is a synchronous one.
pub fn send(comm: Handle, dest: Int, tag: Int, count: Wide, stamp: &Stamp, asks: Option<bool>) -> Question {
    let Some(family) = family().filter(|family| dest != family.proc_null && count >= 0) else { return Question::NONE };
    let Some(known) = known(family, comm) else { return Question::NONE };
    let is_rank = dest >= 0 && dest.unsigned_abs() < known.size;
    let asks = asks.filter(|_| is_rank && dest != known.rank);
    let question = asks.map_or(Question::NONE, |is_synchronous| replies::ask(family, &known, dest, is_synchronous));
    if known.shadow == 0 {
        board::send(&known, dest, tag, Wire { stamp: *stamp, question: question.number() });
        return question;
    }
    let stays_here = |board: &Board| is_rank && tag >= 0 && board.send(dest, tag, &Wire::of(stamp, question));
    if !known.board.is_some_and(stays_here) {
        post(family.byte, known.shadow, dest, tag, stamp, question);
    }
    question
}

/// Sends a stamp on a communicator of stamps.
pub fn post(byte: Handle, comm: Handle, dest: Int, tag: Int, stamp: &Stamp, question: Question) {
    own::with(|own| {
        let Slots { slots, next } = &mut *own.slots.borrow_mut();
        let slot = free_slot(slots, next);
        slot.wire = Wire::of(stamp, question);
        // SAFETY: the stamp stays where it is until the request is complete. Errors are returned.
        let sent =
            unsafe { library::isend((&raw const slot.wire).cast(), LENGTH, byte, dest, tag, comm, &mut slot.request) };
        if sent != SUCCESS {
            slot.request = 0;
        }
    });
}

/// A slot whose message is sent.
fn free_slot<'a>(slots: &'a mut Vec<&'static mut Slot>, next: &mut usize) -> &'a mut Slot {
    for _ in 0..TRIES {
        let index = *next;
        if index >= slots.len() {
            break;
        }
        // No division: this is on the way of every message.
        *next = if index + 1 < slots.len().max(FIRST) { index + 1 } else { 0 };
        if is_sent(slots[index]) {
            return slots[index];
        }
    }
    // Never freed: MPI may still read it when the thread has ended.
    slots.push(Box::leak(Box::new(Slot { wire: Wire::default(), request: 0 })));
    let last = slots.len() - 1;
    if *next == last {
        *next = slots.len() % FIRST.max(slots.len());
    }
    slots[last]
}

fn is_sent(slot: &mut Slot) -> bool {
    let mut done: Int = 1;
    if slot.request != 0 {
        let ignore = family().map_or(0, |family| family.status_ignore);
        // SAFETY: the request is under way or complete, and this thread's.
        let code = unsafe { library::test(&mut slot.request, &mut done, ignore) };
        if code != SUCCESS || done != 0 {
            slot.request = 0;
            done = 1;
        }
    }
    done != 0
}

/// The stamp of a message from `source` with `tag` on a communicator of stamps. The message itself has arrived and was sent
/// after it.
pub fn fetch(known: &Known, source: Int, tag: Int) -> Option<Wire> {
    if known.shadow == 0 {
        return board::take(known, source, tag);
    }
    let is_here = known.board.and_then(|board| board.take(source, tag));
    is_here.map(Wire::here).or_else(|| receive(known.shadow, source, tag))
}

/// MPI has refused a call of ours.
#[derive(Debug)]
pub struct Refused;

/// How often a stamp is looked for that need not be there: MPI may have to see first what has arrived, which it does a little at each call.
const LOOKS: usize = 100;

/// The next stamp of a message from `source` with `tag`, if it is there.
pub fn look(known: &Known, source: Int, tag: Int) -> Result<Option<Wire>, Refused> {
    if known.shadow == 0 {
        return Ok(board::take(known, source, tag));
    }
    for _ in 0..LOOKS {
        if let Some(wire) = known.board.and_then(|board| board.take(source, tag)) {
            return Ok(Some(wire.here()));
        }
        if let Some(wire) = receive_if_there(known.shadow, source, tag)? {
            return Ok(Some(wire));
        }
    }
    Ok(None)
}

/// Receives a stamp on a communicator of stamps if it is there; no other thread may take it once it is found.
fn receive_if_there(comm: Handle, source: Int, tag: Int) -> Result<Option<Wire>, Refused> {
    let family = family().ok_or(Refused)?;
    let (mut wire, mut is_there, mut message) = (Wire::default(), 0, 0);
    // SAFETY: the communicator is ours.
    let code = unsafe { library::improbe(source, tag, comm, &mut is_there, &mut message, family.status_ignore) };
    if code != SUCCESS || is_there == 0 {
        return if code == SUCCESS { Ok(None) } else { Err(Refused) };
    }
    let (to, ignore) = ((&raw mut wire).cast(), family.status_ignore as crate::library::Ptr);
    // SAFETY: there is room for a stamp, and nobody sends anything else.
    let code = unsafe { library::mrecv(to, LENGTH, family.byte, &mut message, ignore) };
    if code == SUCCESS { Ok(Some(wire.here())) } else { Err(Refused) }
}

/// Receives a stamp on a communicator of stamps.
pub fn receive(comm: Handle, source: Int, tag: Int) -> Option<Wire> {
    let family = family()?;
    let mut wire = Wire::default();
    let ignore = family.status_ignore as crate::library::Ptr;
    // SAFETY: there is room for a stamp, and nobody sends anything else.
    let received = unsafe { library::recv((&raw mut wire).cast(), LENGTH, family.byte, source, tag, comm, ignore) };
    (received == SUCCESS).then(|| wire.here())
}

/// Takes what is left over on a communicator of stamps, which some MPI libraries would complain of.
pub fn drain(family: &Family, comm: Handle) {
    let mut is_there: Int = 1;
    while is_there != 0 {
        is_there = 0;
        // SAFETY: the communicator is ours.
        unsafe { library::iprobe(family.any_source, family.any_tag, comm, &mut is_there, family.status_ignore) };
        if is_there != 0 && receive(comm, family.any_source, family.any_tag).is_none() {
            return;
        }
    }
}

/// What streams are told apart by.
pub fn stream_key(comm: Handle, source: Int, tag: Int) -> Option<(u64, Handle, Int, Int)> {
    let (owner, comm) = key_of(family()?, comm);
    Some((owner, comm, source, tag))
}
