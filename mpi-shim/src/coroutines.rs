//! Ranks that share a thread. SimGrid's SMPI runs all ranks of a program in one process, as coroutines that change places
//! only inside MPI functions. So whatever belongs to the rank that calls, the runtime's block in thread-local storage
//! and our own flag, is laid aside on the rank's own stack while MPI runs, and put back when the function returns.

use std::sync::{Mutex, PoisonError};

use poise_profile::Profile;

use crate::library::family;
use crate::runtime::{self, Suspended};
use crate::wrapper::INSIDE;

/// Held while an MPI function runs in which another rank may take this one's place on the thread.
pub struct Others {
    suspended: Option<(Suspended, bool)>,
}

impl Others {
    /// From here until the value is dropped, other ranks may run on this thread.
    #[inline(always)]
    pub fn may_run() -> Self {
        let shared = family().is_some_and(|family| family.has_coroutines);
        Self { suspended: shared.then(|| (runtime::suspend(), INSIDE.replace(false))) }
    }
}

impl Drop for Others {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some((suspended, inside)) = self.suspended.take() {
            runtime::proceed(suspended);
            INSIDE.set(inside);
        }
    }
}

/// The profiles of the ranks that have reached MPI_Finalize, merged.
static COLLECTED: Mutex<Option<Profile>> = Mutex::new(None);

/// Adds this rank's profile to those of the others, all of which are in this process; the last gets them all.
pub fn collect(
    profile: Option<Profile>,
    ranks: u32,
    merge: fn(Option<Profile>, Option<Profile>) -> Option<Profile>,
) -> Option<Profile> {
    let mut collected = COLLECTED.lock().unwrap_or_else(PoisonError::into_inner);
    *collected = merge(collected.take(), profile);
    collected.take_if(|all| all.ranks == ranks)
}
