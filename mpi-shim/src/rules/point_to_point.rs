//! Rules for messages between two ranks that are complete, or counted, when the call returns. What completes later
//! is in [`crate::requests`].

use std::ptr::from_mut;

use super::{ByArguments, Group, Moved, Rule, bytes, natural};
use crate::library::{self, Family, Handle, Int, Ptr, Wide, family};

/// The receiver's account: bytes that `status` says arrived. Counting in MPI_BYTE gives bytes whatever type received.
///
/// # Safety
/// MPI has just filled `status` for a receive.
pub unsafe fn received(family: &Family, status: Ptr) -> u64 {
    let (mut cancelled, mut count): (Int, Wide) = (0, 0);
    // SAFETY: the caller's promise.
    unsafe {
        library::test_cancelled(status, &mut cancelled);
        if cancelled == 0 {
            library::bytes_of(family, status, &mut count);
        }
    }
    natural(count)
}

/// What a call sends by its count, type and destination.
///
/// # Safety
/// MPI has accepted the arguments.
pub unsafe fn sent(count: Int, datatype: Handle, dest: Int) -> u64 {
    match family() {
        // SAFETY: the caller's promise.
        Some(family) if dest != family.proc_null => unsafe { bytes(count, datatype) },
        _ => 0,
    }
}

/// Sends, in every mode; the nonblocking ones where they start.
pub struct Sends {
    pub count: Int,
    pub datatype: Handle,
    pub dest: Int,
    pub comm: Handle,
}

impl ByArguments for Sends {
    unsafe fn moved(&self) -> Moved {
        // SAFETY: MPI accepted the call.
        unsafe {
            let comm_size = Group::of(self.comm).ranks();
            Moved { sent: sent(self.count, self.datatype, self.dest), received: 0, comm_size }
        }
    }
}

/// Room for one status of either family.
type OwnStatus = [u64; 3];

/// Receives that are complete when the call returns.
pub struct Receives {
    /// `None` where a message stands for the communicator.
    pub comm: Option<Handle>,
    pub status: *mut Ptr,
}

impl Rule for Receives {
    type Scratch = OwnStatus;

    unsafe fn before(&mut self, scratch: &mut OwnStatus) {
        // SAFETY: `status` leads to the argument.
        let status = unsafe { &mut *self.status };
        if family().is_some_and(|family| *status as usize == family.status_ignore) {
            *status = from_mut(scratch).cast();
        }
    }

    unsafe fn after(&mut self, _: &mut OwnStatus, accepted: bool) -> Moved {
        let Some(family) = family().filter(|_| accepted) else { return Moved::default() };
        // SAFETY: MPI accepted the call and filled the status, the program's or ours.
        unsafe {
            let comm_size = self.comm.map_or(0, |comm| Group::of(comm).ranks());
            Moved { sent: 0, received: received(family, *self.status), comm_size }
        }
    }
}

/// Sends and receives in one call.
pub struct Exchanges {
    pub count: Int,
    pub datatype: Handle,
    pub dest: Int,
    pub comm: Handle,
    pub status: *mut Ptr,
}

impl Rule for Exchanges {
    type Scratch = OwnStatus;

    unsafe fn before(&mut self, scratch: &mut OwnStatus) {
        // SAFETY: passed on.
        unsafe { Receives { comm: None, status: self.status }.before(scratch) }
    }

    unsafe fn after(&mut self, scratch: &mut OwnStatus, accepted: bool) -> Moved {
        // SAFETY: passed on; the arguments of the send are read only if MPI accepted the call.
        unsafe {
            let moved = Receives { comm: Some(self.comm), status: self.status }.after(scratch, accepted);
            let sent = if accepted { sent(self.count, self.datatype, self.dest) } else { 0 };
            Moved { sent, ..moved }
        }
    }
}
