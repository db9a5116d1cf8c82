//! Rules for messages between two ranks that are complete, or counted, when the call returns. What completes later
//! is in [`crate::requests`].

use std::ptr::from_mut;

use super::{ByArguments, Count, Group, Moved, Rule, bytes, natural};
use crate::library::{self, Family, Handle, Int, Ptr, Wide, family};
use crate::runtime::Stamp;
use crate::waiting::{self, Source, Wait};

/// The receiver's account: bytes that `status` says arrived; `None` if the receive was cancelled. Counting in MPI_BYTE
/// gives bytes whatever type received.
///
/// # Safety
/// MPI has just filled `status` for a receive.
pub unsafe fn received(family: &Family, status: Ptr) -> Option<u64> {
    let (mut cancelled, mut count): (Int, Wide) = (0, 0);
    // SAFETY: the caller's promise.
    unsafe {
        library::test_cancelled(status, &mut cancelled);
        if cancelled == 0 {
            library::bytes_of(family, status, &mut count);
        }
    }
    (cancelled == 0).then(|| natural(count))
}

/// What a call sends by its count, type and destination.
///
/// # Safety
/// MPI has accepted the arguments.
pub unsafe fn sent(count: impl Count, datatype: Handle, dest: Int) -> u64 {
    match family() {
        // SAFETY: the caller's promise.
        Some(family) if dest != family.proc_null => unsafe { bytes(count, datatype) },
        _ => 0,
    }
}

/// Sends, in every mode; the nonblocking ones where they start.
pub struct Sends<C> {
    pub count: C,
    pub datatype: Handle,
    pub dest: Int,
    pub tag: Int,
    pub comm: Handle,
}

impl<C: Count> ByArguments for Sends<C> {
    unsafe fn moved(&self) -> Moved {
        // SAFETY: MPI accepted the call.
        unsafe {
            let comm_size = Group::of(self.comm).ranks();
            Moved { sent: sent(self.count, self.datatype, self.dest), received: 0, comm_size }
        }
    }

    unsafe fn announce(&self, entry: &Stamp) {
        waiting::send(self.comm, self.dest, self.tag, self.count.into(), entry);
    }
}

/// Room for one status of either family.
pub type OwnStatus = [u64; 3];

/// Has MPI fill a status of the library's own where the program wants none.
///
/// # Safety
/// `status` leads to the argument.
pub unsafe fn want_status(status: *mut Ptr, own: &mut OwnStatus) {
    // SAFETY: the caller's promise.
    let status = unsafe { &mut *status };
    if family().is_some_and(|family| *status as usize == family.status_ignore) {
        *status = from_mut(own).cast();
    }
}

/// Accounts for a receive that is complete.
///
/// # Safety
/// MPI has just filled the status that `status` leads to.
unsafe fn receive(source: Source, status: *mut Ptr, wait: &mut Wait<'_>) {
    let Some(family) = family() else { return };
    // SAFETY: the caller's promise.
    let (bytes, (from, tag)) = unsafe { (received(family, *status), family.source_and_tag(*status)) };
    wait.moved.received = bytes.unwrap_or(0);
    if waiting::is_on() && source.comm != 0 {
        let stamp = source.complete_now(from, tag);
        wait.message(stamp, wait.moved.received);
    }
}

/// Receives that are complete when the call returns.
pub struct Receives {
    pub source: Int,
    pub tag: Int,
    pub comm: Handle,
    pub status: *mut Ptr,
}

impl Rule for Receives {
    type Scratch = OwnStatus;

    unsafe fn before(&mut self, own: &mut OwnStatus) {
        // SAFETY: passed on.
        unsafe { want_status(self.status, own) };
    }

    unsafe fn after(&mut self, _: &mut OwnStatus, accepted: bool, wait: &mut Wait<'_>) {
        if !accepted {
            return;
        }
        // SAFETY: MPI accepted the call and filled the status, the program's or ours.
        unsafe {
            wait.moved.comm_size = Group::of(self.comm).ranks();
            receive(Source::new(self.comm, self.source, self.tag), self.status, wait);
        }
    }
}

/// Receives of a message that a probe matched.
pub struct ReceivesMatched {
    pub message: Ptr,
    pub status: *mut Ptr,
}

impl Rule for ReceivesMatched {
    type Scratch = (Source, OwnStatus);

    unsafe fn before(&mut self, (source, own): &mut (Source, OwnStatus)) {
        // SAFETY: the argument leads to a handle, or is NULL in a wrong program.
        *source = unsafe { waiting::matched(self.message) };
        // SAFETY: passed on.
        unsafe { want_status(self.status, own) };
    }

    unsafe fn after(&mut self, (source, _): &mut (Source, OwnStatus), accepted: bool, wait: &mut Wait<'_>) {
        let Some(family) = family().filter(|_| accepted) else { return };
        // SAFETY: MPI accepted the call and filled the status, the program's or ours.
        let (bytes, (from, tag)) = unsafe { (received(family, *self.status), family.source_and_tag(*self.status)) };
        wait.moved.received = bytes.unwrap_or(0);
        if waiting::is_on() {
            let stamp = source.complete(from, tag);
            wait.message(stamp, wait.moved.received);
        }
    }
}

/// Probes that take the message that they find, so that no other receive gets it.
pub struct Matches {
    pub comm: Handle,
    /// Where the call says whether it found one; `None` if it waits.
    pub flag: Option<Ptr>,
    pub message: Ptr,
    pub status: *mut Ptr,
}

impl Rule for Matches {
    type Scratch = OwnStatus;

    unsafe fn before(&mut self, own: &mut OwnStatus) {
        // SAFETY: passed on.
        unsafe { want_status(self.status, own) };
    }

    unsafe fn after(&mut self, _: &mut OwnStatus, accepted: bool, wait: &mut Wait<'_>) {
        let Some(family) = family().filter(|_| accepted) else { return };
        // SAFETY: MPI accepted the call, and filled handle and status if it found a message.
        unsafe {
            wait.moved.comm_size = Group::of(self.comm).ranks();
            if waiting::is_on() && !self.is_in_vain() {
                let (from, tag) = family.source_and_tag(*self.status);
                waiting::match_message(family.read(self.message, 0), self.comm, from, tag);
            }
        }
    }

    unsafe fn is_in_vain(&self) -> bool {
        // SAFETY: MPI has set the flag.
        self.flag.is_some_and(|flag| unsafe { *flag.cast::<Int>() == 0 })
    }
}

/// Sends and receives in one call.
pub struct Exchanges<C> {
    pub count: C,
    pub datatype: Handle,
    pub dest: Int,
    pub sendtag: Int,
    pub source: Int,
    pub recvtag: Int,
    pub comm: Handle,
    pub status: *mut Ptr,
}

impl<C: Count> Rule for Exchanges<C> {
    type Scratch = OwnStatus;

    unsafe fn before(&mut self, own: &mut OwnStatus) {
        // SAFETY: passed on.
        unsafe { want_status(self.status, own) };
    }

    unsafe fn depart(&mut self, _: &mut OwnStatus, entry: &Stamp, _blocks: bool) {
        waiting::send(self.comm, self.dest, self.sendtag, self.count.into(), entry);
    }

    unsafe fn after(&mut self, own: &mut OwnStatus, accepted: bool, wait: &mut Wait<'_>) {
        let &mut Self { source, recvtag: tag, comm, status, .. } = self;
        // SAFETY: passed on; the arguments of the send are read only if MPI accepted the call.
        unsafe {
            Receives { source, tag, comm, status }.after(own, accepted, wait);
            if accepted {
                wait.moved.sent = sent(self.count, self.datatype, self.dest);
            }
        }
    }
}
