//! Rules for messages between two ranks that are complete, or counted, when the call returns. What completes later
//! is in [`crate::requests`].

use std::ptr::from_mut;

use super::{Count, Group, Rule, bytes, natural};
use crate::groups::{self, Ranks};
use crate::library::{self, Family, Handle, Int, Ptr, Wide, family};
use crate::own;
use crate::requests;
use crate::runtime::{self, Stamp};
use crate::waiting::{self, Question, Source, Wait};

/// The receiver's account: bytes that `status` says arrived. Counting in MPI_BYTE gives bytes whatever type received.
///
/// # Safety
/// MPI has just filled `status` for a receive or a read.
pub unsafe fn received(family: &Family, status: Ptr) -> u64 {
    let mut count: Wide = 0;
    // SAFETY: the caller's promise.
    unsafe { library::bytes_of(family, status, &mut count) };
    natural(count)
}

/// Whether the request that `status` is of was cancelled. Only statuses of requests say so: what returns when it is done cannot be
/// cancelled, and MPI may leave that part of the program's status as it was.
///
/// # Safety
/// MPI has just filled `status` for a request of a receive.
pub unsafe fn is_cancelled(family: &Family, status: Ptr) -> bool {
    // SAFETY: the caller's promise.
    unsafe { library::is_cancelled(family, status) }
}

/// Bytes that a call sends by its count, type and destination.
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
    /// Whether it cannot end before its receive begins.
    pub is_synchronous: bool,
    /// Where a nonblocking one's request is.
    pub request: Option<Ptr>,
}

impl<C: Count> Rule for Sends<C> {
    type Scratch = Question;

    #[inline(always)]
    unsafe fn before(&mut self, _: &mut Question) {}

    #[inline(always)]
    fn departs(&self) -> bool {
        true
    }

    unsafe fn depart(&mut self, question: &mut Question, entry: &Stamp, _: Option<Ptr>) {
        let count = self.count.into();
        let asks = (self.is_synchronous || waiting::may_be_large(self.datatype, count)).then_some(self.is_synchronous);
        *question = waiting::send(self.comm, self.dest, self.tag, count, entry, asks);
    }

    unsafe fn after(&mut self, question: &mut Question, accepted: bool, wait: &mut Wait<'_>) {
        let mut bytes = 0;
        if accepted {
            // SAFETY: MPI accepted the call.
            bytes = unsafe { send(self.count, self.datatype, self.dest, self.comm, wait) };
        }
        if question.is_some() {
            match self.request {
                _ if !accepted => waiting::forget_question(*question),
                _ if !self.is_synchronous && !waiting::may_wait(bytes) => waiting::has_not_waited(*question),
                // SAFETY: MPI accepted the call, and made the request.
                Some(request) => unsafe { requests::note_question(request, *question) },
                None => wait.asked([*question]),
            }
        }
    }

    #[inline(always)]
    fn concludes(&self) -> bool {
        false
    }
}

/// Accounts for a message that is sent, by the arguments of the call that sends it, and gives its bytes.
///
/// # Safety
/// MPI has accepted the arguments.
pub unsafe fn send(count: impl Count, datatype: Handle, dest: Int, comm: Handle, wait: &mut Wait<'_>) -> u64 {
    // SAFETY: the caller's promise.
    let group = unsafe { Group::of(comm) };
    match family() {
        Some(family) if dest != family.proc_null => {
            // SAFETY: the caller's promise.
            let bytes = unsafe { bytes(count, datatype) };
            runtime::sent(group.world.of(dest), bytes, group.ranks());
            if waiting::is_on() {
                own::with(|own| own.sizes.note(datatype, natural(count), bytes));
            }
            bytes
        }
        _ => {
            wait.moved.comm_size = group.ranks();
            0
        }
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
    // SAFETY: the caller's promise; MPI accepted the communicator.
    let (bytes, (from, tag), group) =
        unsafe { (received(family, *status), family.source_and_tag(*status), Group::of(source.comm)) };
    // Nobody's messages have no rank.
    if from >= 0 {
        runtime::received(group.world.of(from), bytes, group.ranks());
    } else {
        wait.moved.comm_size = group.ranks();
    }
    if waiting::is_on() {
        let stamp = source.since(wait.entry.time).complete_now(from, tag);
        wait.message(stamp, bytes);
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
        unsafe { receive(Source::new(self.comm, self.source, self.tag), self.status, wait) }
    }

    #[inline(always)]
    fn concludes(&self) -> bool {
        false
    }
}

/// The ranks of the communicator that a matched message is on.
///
/// # Safety
/// The argument leads to a handle, or is NULL in a wrong program.
pub unsafe fn ranks_of(message: Ptr) -> Ranks {
    match family() {
        // SAFETY: the caller's promise.
        Some(family) if !message.is_null() => unsafe {
            groups::take_matched(waiting::key_of(family, family.read(message, 0)))
        },
        _ => Ranks::Unknown,
    }
}

/// Receives of a message that a probe matched.
pub struct ReceivesMatched {
    pub message: Ptr,
    pub status: *mut Ptr,
}

impl Rule for ReceivesMatched {
    type Scratch = (Source, Ranks, OwnStatus);

    unsafe fn before(&mut self, (source, ranks, own): &mut (Source, Ranks, OwnStatus)) {
        // SAFETY: the argument leads to a handle, or is NULL in a wrong program.
        (*source, *ranks) = unsafe { (waiting::matched(self.message), ranks_of(self.message)) };
        // SAFETY: passed on.
        unsafe { want_status(self.status, own) };
    }

    unsafe fn after(
        &mut self,
        (source, ranks, _): &mut (Source, Ranks, OwnStatus),
        accepted: bool,
        wait: &mut Wait<'_>,
    ) {
        let Some(family) = family().filter(|_| accepted) else { return };
        // SAFETY: MPI accepted the call and filled the status, the program's or ours.
        let (bytes, (from, tag)) = unsafe { (received(family, *self.status), family.source_and_tag(*self.status)) };
        if from >= 0 {
            runtime::received(ranks.of(from), bytes, 0);
        }
        if waiting::is_on() {
            let stamp = source.since(wait.entry.time).complete(from, tag);
            wait.message(stamp, bytes);
        }
    }
}

/// MPI_Probe.
pub struct Awaits {
    pub comm: Handle,
    pub status: *mut Ptr,
}

impl Rule for Awaits {
    type Scratch = OwnStatus;

    unsafe fn before(&mut self, own: &mut OwnStatus) {
        // SAFETY: passed on.
        unsafe { want_status(self.status, own) };
    }

    unsafe fn after(&mut self, _: &mut OwnStatus, accepted: bool, wait: &mut Wait<'_>) {
        let Some(family) = family().filter(|_| accepted) else { return };
        // SAFETY: MPI accepted the communicator.
        wait.moved.comm_size = unsafe { Group::of(self.comm) }.ranks();
        if waiting::is_on() {
            // SAFETY: MPI has filled in the status, the program's or ours.
            let (from, tag) = unsafe { family.source_and_tag(*self.status) };
            wait.announced(Source::new(self.comm, from, tag).probed());
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
            let group = Group::of(self.comm);
            wait.moved.comm_size = group.ranks();
            if self.is_in_vain() {
                return;
            }
            let (message, (from, tag)) = (family.read(self.message, 0), family.source_and_tag(*self.status));
            if from >= 0 {
                groups::matched(waiting::key_of(family, message), group.world);
            }
            if waiting::is_on() {
                let source = waiting::match_message(message, self.comm, from, tag);
                if self.flag.is_none() {
                    wait.announced(source.probed());
                }
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
    type Scratch = (OwnStatus, Question);

    unsafe fn before(&mut self, (own, _): &mut (OwnStatus, Question)) {
        // SAFETY: passed on.
        unsafe { want_status(self.status, own) };
    }

    #[inline(always)]
    fn departs(&self) -> bool {
        true
    }

    unsafe fn depart(&mut self, (_, question): &mut (OwnStatus, Question), entry: &Stamp, _: Option<Ptr>) {
        let count = self.count.into();
        let asks = waiting::may_be_large(self.datatype, count).then_some(false);
        *question = waiting::send(self.comm, self.dest, self.sendtag, count, entry, asks);
    }

    unsafe fn after(&mut self, (own, question): &mut (OwnStatus, Question), accepted: bool, wait: &mut Wait<'_>) {
        let &mut Self { source, recvtag: tag, comm, status, .. } = self;
        let mut bytes = 0;
        // SAFETY: passed on; the arguments of the send are read only if MPI accepted the call.
        unsafe {
            Receives { source, tag, comm, status }.after(own, accepted, wait);
            if accepted {
                bytes = send(self.count, self.datatype, self.dest, self.comm, wait);
            }
        }
        match accepted {
            _ if !question.is_some() => {}
            false => waiting::forget_question(*question),
            true if waiting::may_wait(bytes) => wait.asked([*question]),
            true => waiting::has_not_waited(*question),
        }
    }
}
