//! What an MPI operation does to the thread that calls it: messages, waiting, and polling told apart from work.

use std::panic::AssertUnwindSafe;
use std::ptr::null_mut;
use std::sync::atomic::Ordering;

use super::{ARMED, Thread, alone, bins_of, here};
use crate::inlined::Token;
use crate::traffic::{Direction, Traffic};
use crate::tree::Node;
use crate::waiting::{Polls, Stamp};
use crate::{clock, phases, shielded};

/// See `poise_mpi_moved`.
pub fn moved(bytes_sent: u64, bytes_received: u64, comm_size: u32) {
    // SAFETY: as in `enter`; `current` is null or a node of this thread's tree.
    let thread = unsafe { &mut *here() };
    // SAFETY: as above.
    if let Some(node) = unsafe { thread.current.as_ref() } {
        node.comm_size.raise(u64::from(comm_size));
        for (direction, bytes) in [(Direction::Sent, bytes_sent), (Direction::Received, bytes_received)] {
            if bytes > 0 {
                count(node, direction, bytes);
                if let Some(traffic) = thread.traffic(node) {
                    traffic.size(direction, bytes);
                }
            }
        }
    }
}

/// See `poise_mpi_message`.
pub fn message(direction: Direction, peer: u32, bytes: u64, comm_size: u32) {
    // SAFETY: as in `enter`; `current` is null or a node of this thread's tree.
    let thread = unsafe { &mut *here() };
    // SAFETY: as above.
    if let Some(node) = unsafe { thread.current.as_ref() } {
        node.comm_size.raise(u64::from(comm_size));
        count(node, direction, bytes);
        if let Some(traffic) = thread.traffic(node) {
            traffic.size(direction, bytes);
            let peer = (peer != u32::MAX).then_some(peer);
            if !traffic.peer(direction, peer, bytes) {
                let peer = peer.unwrap_or_default();
                alone(&mut thread.busy, (), AssertUnwindSafe(move || traffic.grow(direction, peer, bytes)));
            }
        }
    }
}

/// When time was last attributed.
pub fn last() -> u64 {
    // SAFETY: as in `enter`.
    unsafe { (*here()).last }
}

/// What an operation waited may be added to later: its messages, held until [`Traffic::let_go`], and where in the bins it ended.
pub struct Credit {
    traffic: *const Traffic,
    moment: Option<Box<phases::Moment>>,
}

/// See `poise_credit`.
pub fn credit() -> *mut Credit {
    // SAFETY: as in `enter`; `current` is null or a node of this thread's tree.
    let thread = unsafe { &mut *here() };
    // SAFETY: as above.
    let Some(node) = (unsafe { thread.current.as_ref() }) else { return null_mut() };
    let Some(traffic) = thread.traffic(node) else { return null_mut() };
    // SAFETY: the bins are this thread's.
    let (bins, current, last) = (unsafe { &*bins_of(thread) }, thread.current, thread.last);
    alone(&mut thread.busy, null_mut(), move || {
        let moment = phases::moment(bins, current, last);
        Box::into_raw(Box::new(Credit { traffic: traffic.hold(), moment }))
    })
}

/// See `poise_credit_late_receiver`.
///
/// # Safety
/// `credit` is null or from [`credit`], and not used again.
pub unsafe fn credit_late_receiver(credit: *mut Credit, ticks: u64, before: u64) {
    if credit.is_null() {
        return;
    }
    // SAFETY: the caller's promise; what is held lives as long as the credit.
    let (traffic, moment) = unsafe { (&*(*credit).traffic, (*credit).moment.take_if(|_| ticks > 0)) };
    traffic.late_receiver.fetch_add(ticks, Ordering::Relaxed);
    if let Some(moment) = moment {
        moment.waited(ticks, before);
    }
    // SAFETY: as in `enter`.
    let busy = unsafe { &mut (*here()).busy };
    // A signal handler that interrupted an allocation frees nothing: the credit stays where it is.
    alone(busy, (), move || {
        // SAFETY: the caller's promise; what is held is let go once.
        unsafe { Traffic::let_go(Box::from_raw(credit).traffic) };
    });
}

/// Adds to the bytes that a node's operation moved.
#[inline(always)]
fn count(node: &Node, direction: Direction, bytes: u64) {
    match direction {
        Direction::Sent => node.bytes_sent.add(bytes),
        Direction::Received => node.bytes_received.add(bytes),
    }
}

/// See `poise_call_begins`.
#[inline(always)]
pub fn call_begins(is_test: bool, stamp: &mut Stamp) {
    // SAFETY: as in `enter`.
    let thread = unsafe { &mut *here() };
    if thread.polls & ARMED != 0 {
        thread.end_polling(is_test);
    }
    *stamp = Stamp { clock: thread.clock(), time: thread.last };
}

/// See `poise_call_proceeds`.
#[inline(always)]
pub fn call_proceeds() {
    // SAFETY: as in `enter`.
    unsafe { (*here()).last = clock::now() };
}

/// See `poise_call_ends`.
#[inline(always)]
pub fn call_ends() {
    // SAFETY: as in `enter`.
    let thread = unsafe { &mut *here() };
    if !thread.current.is_null() {
        thread.attribute();
    }
}

/// See `poise_call_leaves`.
///
/// # Safety
/// `token` must come from [`enter`] on this thread.
#[inline(always)]
pub unsafe fn call_leaves(token: Token, was_long: bool) {
    // SAFETY: as in `enter`.
    let thread = unsafe { &mut *here() };
    if token != Token::NONE && !thread.current.is_null() {
        let polls = thread.polls & ARMED != 0;
        if was_long || polls {
            let now = clock::now();
            if polls {
                thread.end_test(now);
            }
            thread.last = now;
        }
        // SAFETY: the caller's promise.
        unsafe { thread.back(token) };
    }
}

/// See `poise_tested_in_vain`.
pub fn tested_in_vain(entry: &Stamp) {
    // SAFETY: as in `enter`.
    let thread = unsafe { &mut *here() };
    if thread.current.is_null() || thread.busy != 0 {
        return;
    }
    if thread.polls == 0 {
        thread.busy = 1;
        thread.polls = shielded(0, || Box::into_raw(Box::new(Polls::new())) as usize);
        thread.busy = 0;
    }
    if let Some(polls) = thread.polls() {
        polls.clear();
        thread.polls |= ARMED;
    }
    // SAFETY: `current` is a node of this thread's tree.
    unsafe { (*thread.current).wait_ticks.add(thread.last.saturating_sub(entry.time)) };
}

/// See `poise_awaited`.
pub fn awaited(entry: &mut Stamp, other: &Stamp, cost: u64, is_message: bool) {
    // SAFETY: as in `enter`.
    let thread = unsafe { &mut *here() };
    // SAFETY: `current` is null or a node of this thread's tree.
    let Some(node) = (unsafe { thread.current.as_ref() }) else { return };
    let waited = other.clock.saturating_sub(thread.clock());
    node.logical_wait.add(waited);
    thread.ahead = thread.ahead.wrapping_add(waited).wrapping_add(cost);
    // Threads' clocks of their own cannot be compared.
    if clock::is_shared() {
        let until = other.time.clamp(entry.time, thread.last.max(entry.time));
        let waited = until - entry.time;
        node.wait_ticks.add(waited);
        // SAFETY: the bins are this thread's.
        let bins = unsafe { &*bins_of(thread) };
        phases::waited(bins, thread.current, (waited, until), thread.last, &mut thread.busy);
        entry.time = until;
        if is_message
            && waited > 0
            && let Some(traffic) = thread.traffic(node)
        {
            traffic.late_sender.add(waited);
        }
    }
}

impl Thread {
    /// The messages of a node of this thread's tree.
    #[inline(always)]
    fn traffic<'a>(&mut self, node: &'a Node) -> Option<&'a Traffic> {
        let known = node.traffic.load(Ordering::Relaxed);
        let traffic = if known.is_null() { self.begin_traffic(node) } else { known };
        // SAFETY: null or from a box that lives as long as the node.
        unsafe { traffic.as_ref() }
    }

    #[cold]
    #[inline(never)]
    fn begin_traffic(&mut self, node: &Node) -> *mut Traffic {
        let traffic = alone(&mut self.busy, null_mut(), Traffic::new);
        if traffic.is_null() {
            // SAFETY: a thread with a node has a tree.
            unsafe { (*self.tree).note_messages_left_out() };
        }
        node.traffic.store(traffic, Ordering::Release);
        traffic
    }

    /// A test without success ends: what the shim did since is nobody's, unless the thread polls. Then it is waiting as the test is, which would else have been
    /// repeated sooner.
    #[cold]
    fn end_test(&mut self, now: u64) {
        let (node, ticks) = (self.current, now.saturating_sub(self.last));
        if let Some(polls) = self.polls() {
            polls.note_own(node, ticks);
        }
    }

    /// The MPI operation after a test without success: another test shows that the thread polled.
    #[cold]
    fn end_polling(&mut self, is_test: bool) {
        self.polls &= !ARMED;
        // SAFETY: the nodes noted are of this thread's tree.
        let blocks = self.polls().map_or(0, |polls| if is_test { unsafe { polls.settle() } } else { 0 });
        // SAFETY: the bins are this thread's.
        phases::polled(unsafe { &mut *bins_of(self) }, blocks);
        self.ahead = self.ahead.wrapping_sub(blocks);
    }
}
