//! Waiting for other ranks, on request (`POISE_WAITING=1`): every message and every blocking collective operation is
//! accompanied by a stamp of where it comes from, the logical clock and the time there. The receiver's clock takes the later of
//! both; what it is set ahead by is waiting.
//!
//! Stamps travel on communicators of the library's own, one beside each of the program's, so that no request, status or
//! probe of the program's ever meets one. They follow the program's own dependences: a stamp goes where data go, and nobody
//! waits for one whose sender has not already sent what was waited for. Where all ranks of a communicator are on one machine
//! they go through memory that these share instead; under SMPI, where all ranks are in one process, they lie in that
//! one's, which takes no simulated time.

mod board;
mod collectives;
mod communicators;
mod mailbox;
mod messages;
mod offsets;
mod replies;
mod shared;
mod sizes;
mod streams;

use std::sync::atomic::{AtomicBool, Ordering};

pub use collectives::{
    Joined, Needs, arrive, begin_later, complete_later, depart, has_topology, joined, latest, latest_of_new, rank,
    send_pairs, size,
};
pub use communicators::{Known, LastKnown, forget, made, release};
pub use messages::{Slots, send};
pub use offsets::drift;
pub use replies::{Question, forget as forget_question, has_not_waited, may_be_large, may_wait};
pub use sizes::Sizes;
pub use streams::{Source, match_message, matched};

use crate::library::{Family, Handle, family};
use crate::meeting;
use crate::rules::Moved;
use crate::runtime::{self, Stamp};

static ON: AtomicBool = AtomicBool::new(false);

/// Whether waiting is measured: either on all ranks or on none.
#[inline(always)]
pub fn is_on() -> bool {
    // Set while MPI_Init runs, before the program can have a second thread in MPI.
    ON.load(Ordering::Relaxed)
}

/// What starting a message costs, in ticks of the logical clock: basic blocks that take about as long.
const STARTUP: u64 = 1000;
/// Bytes that are moved in a tick.
const BYTES_PER_TICK: u64 = 8;

/// What a message of so many bytes costs, in ticks.
fn message_cost(bytes: u64) -> u64 {
    STARTUP + bytes / BYTES_PER_TICK
}

/// What a collective operation costs, in ticks: start-ups along a tree, and the bytes that this rank receives; where it
/// receives none, those that it sends.
pub fn collective_cost(moved: &Moved) -> u64 {
    let levels = u64::from(moved.comm_size.max(1).next_power_of_two().trailing_zeros());
    let bytes = if moved.received > 0 { moved.received } else { moved.sent };
    STARTUP * levels + bytes / BYTES_PER_TICK
}

/// A call that may have waited.
pub struct Wait<'a> {
    /// This thread's moment at the call's beginning.
    pub entry: &'a mut Stamp,
    /// What the call moved.
    pub moved: Moved,
}

impl Wait<'_> {
    /// The call completed the receive of a message of so many bytes.
    pub fn message(&mut self, sent: Option<Stamp>, bytes: u64) {
        if let Some(sent) = sent {
            let there = Stamp { clock: sent.clock + message_cost(bytes), ..sent };
            runtime::awaited(self.entry, &there, 0, true);
        }
    }

    /// The call waited for the sending of a message that another will receive. That one's clock takes the message's, and pays for it.
    pub fn announced(&mut self, sent: Option<Stamp>) {
        self.in_time(sent, true);
    }

    /// The call, which is no collective operation with data, needed everything that `latest` is the latest moment of: a time, and no clock.
    pub fn met(&mut self, latest: Option<Stamp>) {
        self.in_time(latest, false);
    }

    fn in_time(&mut self, until: Option<Stamp>, is_message: bool) {
        if let Some(until) = until {
            runtime::awaited(self.entry, &Stamp { clock: 0, ..until }, 0, is_message);
        }
    }

    /// The call completed sends, of which some asked when their receives began: what the call has not waited for otherwise it may have waited
    /// for those. To be said once, after all else that it waited for.
    pub fn asked(&mut self, questions: impl IntoIterator<Item = Question>) {
        replies::waited(questions.into_iter(), self.entry, runtime::call_end());
    }

    /// The call completed a nonblocking collective operation.
    pub fn completed(&mut self, joined: &Joined) {
        if let Some(latest) = joined.latest() {
            runtime::awaited(self.entry, &latest, joined.cost, false);
        }
    }

    /// The call needed everything that `latest` is the latest moment of.
    pub fn collective(&mut self, latest: Stamp) {
        let cost = collective_cost(&self.moved);
        runtime::awaited(self.entry, &latest, cost, false);
    }
}

/// MPI has just been initialised: begins to measure waiting, if it is asked for and all ranks can.
pub fn begin() {
    let Some(family) = family().filter(|_| is_asked_for()) else { return };
    if is_on() {
        runtime::measure_waiting();
        return; // Another rank of this process was first.
    }
    if family.has_coroutines || (everybody_is_here(family) && communicators::begin(family)) {
        if let Some(world) = nodes(family) {
            world.begin(family);
        }
        runtime::measure_waiting();
        ON.store(true, Ordering::Relaxed);
    }
}

fn is_asked_for() -> bool {
    match std::env::var("POISE_WAITING").as_deref() {
        Ok("1") => true,
        Ok("0" | "") | Err(_) => false,
        Ok(other) => {
            runtime::say_of_waiting(&format!("POISE_WAITING={other} is neither 0 nor 1; waiting is not measured."));
            false
        }
    }
}

fn everybody_is_here(family: &Family) -> bool {
    let here = meeting::everybody_is_here(family);
    if let Err(seconds) = here {
        runtime::say_of_waiting(&format!(
            "no answer from some ranks for {seconds:.0} s in MPI_Init, so that waiting is not measured: LD_PRELOAD, \
             POISE_PROFILE and POISE_WAITING must reach every rank."
        ));
    }
    here.is_ok()
}

/// MPI ends, and all ranks are here.
pub fn end(family: &Family) {
    if is_on() && !family.has_coroutines {
        replies::end(family);
        if let Some(world) = nodes(family) {
            world.end(family);
        }
        communicators::end(family);
    }
}

/// The ranks whose clocks are compared; `None` where all ranks share one.
fn nodes(family: &Family) -> Option<offsets::World> {
    let known = communicators::known(family, family.world).filter(|known| known.shadow != 0)?;
    Some(offsets::World { comm: known.pairs, rank: known.rank, size: known.size.cast_signed() })
}

/// Whose state it is: this process's, or the calling rank's where several share the process.
fn owner(family: &Family) -> u64 {
    if !family.has_coroutines {
        return 0;
    }
    let mut rank = 0;
    // SAFETY: MPI runs.
    unsafe { crate::library::comm_rank(family.world, &mut rank) };
    u64::from(rank.unsigned_abs())
}

/// A communicator as tables know it: whose it is, and its handle.
pub fn key_of(family: &Family, comm: Handle) -> (u64, Handle) {
    (owner(family), family.handle(comm))
}
