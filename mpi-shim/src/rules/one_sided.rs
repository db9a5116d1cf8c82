//! Rules for one-sided transfers: the origin is credited with all of it, where the call starts, because the target
//! makes no call. Windows do not name their communicator, so none is recorded.

use super::{ByArguments, Count, Moved, bytes};
use crate::library::{Handle, Int, family};

fn is_nobody(rank: Int) -> bool {
    family().is_none_or(|family| rank == family.proc_null)
}

/// Put and accumulate, also with requests.
pub struct Puts<C> {
    pub count: C,
    pub datatype: Handle,
    pub target_rank: Int,
}

impl<C: Count> ByArguments for Puts<C> {
    unsafe fn moved(&self) -> Moved {
        if is_nobody(self.target_rank) {
            return Moved::default();
        }
        // SAFETY: MPI accepted the type.
        Moved { sent: unsafe { bytes(self.count, self.datatype) }, ..Moved::default() }
    }
}

/// Get, also with a request.
pub struct Gets<C> {
    pub count: C,
    pub datatype: Handle,
    pub target_rank: Int,
}

impl<C: Count> ByArguments for Gets<C> {
    unsafe fn moved(&self) -> Moved {
        if is_nobody(self.target_rank) {
            return Moved::default();
        }
        // SAFETY: MPI accepted the type.
        Moved { received: unsafe { bytes(self.count, self.datatype) }, ..Moved::default() }
    }
}

/// Get-accumulate, also with a request. With MPI_NO_OP the origin's arguments have no meaning.
pub struct GetAccumulates<C> {
    pub origin_count: C,
    pub origin_datatype: Handle,
    pub result_count: C,
    pub result_datatype: Handle,
    pub target_rank: Int,
    pub op: Handle,
}

impl<C: Count> ByArguments for GetAccumulates<C> {
    unsafe fn moved(&self) -> Moved {
        if is_nobody(self.target_rank) {
            return Moved::default();
        }
        let ignores_origin = family().is_some_and(|family| family.handle(self.op) == family.no_op);
        let sent = if ignores_origin {
            0
        } else {
            // SAFETY: MPI accepted the type.
            unsafe { bytes(self.origin_count, self.origin_datatype) }
        };
        // SAFETY: MPI accepted the type.
        let received = unsafe { bytes(self.result_count, self.result_datatype) };
        Moved { sent, received, comm_size: 0 }
    }
}

/// Fetch-and-op: one element each way; with MPI_NO_OP none there.
pub struct FetchesAndOperates {
    pub datatype: Handle,
    pub target_rank: Int,
    pub op: Handle,
}

impl ByArguments for FetchesAndOperates {
    unsafe fn moved(&self) -> Moved {
        if is_nobody(self.target_rank) {
            return Moved::default();
        }
        // SAFETY: MPI accepted the type.
        let element = unsafe { bytes(1, self.datatype) };
        let ignores_origin = family().is_some_and(|family| family.handle(self.op) == family.no_op);
        Moved { sent: if ignores_origin { 0 } else { element }, received: element, comm_size: 0 }
    }
}

/// Compare-and-swap: the new value and the one compared with there, the old one back.
pub struct ComparesAndSwaps {
    pub datatype: Handle,
    pub target_rank: Int,
}

impl ByArguments for ComparesAndSwaps {
    unsafe fn moved(&self) -> Moved {
        if is_nobody(self.target_rank) {
            return Moved::default();
        }
        // SAFETY: MPI accepted the type.
        let element = unsafe { bytes(1, self.datatype) };
        Moved { sent: 2 * element, received: element, comm_size: 0 }
    }
}
