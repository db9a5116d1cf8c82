//! Rules for files: what is written counts as sent, what is read as received.

use super::{ByArguments, Count, Moved, OwnStatus, Rule, bytes, received, want_status};
use crate::library::{Handle, Ptr, family};
use crate::waiting::Wait;

/// Writes, also those that only start here.
pub struct WritesFile<C> {
    pub count: C,
    pub datatype: Handle,
}

impl<C: Count> ByArguments for WritesFile<C> {
    unsafe fn moved(&self) -> Moved {
        // SAFETY: MPI accepted the type.
        Moved { sent: unsafe { bytes(self.count, self.datatype) }, ..Moved::default() }
    }
}

/// Reads that only start here: as much as they ask for.
pub struct ReadsFileLater<C> {
    pub count: C,
    pub datatype: Handle,
}

impl<C: Count> ByArguments for ReadsFileLater<C> {
    unsafe fn moved(&self) -> Moved {
        // SAFETY: MPI accepted the type.
        Moved { received: unsafe { bytes(self.count, self.datatype) }, ..Moved::default() }
    }
}

/// Reads that are complete when the call returns: what was there.
pub struct ReadsFile {
    pub status: *mut Ptr,
}

impl Rule for ReadsFile {
    type Scratch = OwnStatus;

    unsafe fn before(&mut self, own: &mut OwnStatus) {
        // SAFETY: passed on.
        unsafe { want_status(self.status, own) };
    }

    unsafe fn after(&mut self, _: &mut OwnStatus, accepted: bool, wait: &mut Wait<'_>) {
        if let Some(family) = family().filter(|_| accepted) {
            // SAFETY: MPI has filled the status, the program's or ours.
            wait.moved.received = unsafe { received(family, *self.status) };
        }
    }
}
