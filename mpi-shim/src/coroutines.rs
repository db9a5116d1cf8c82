//! Ranks that share a thread. SimGrid's SMPI runs all ranks of a program in one process, as coroutines that change places
//! only inside MPI functions, and in some that let simulated time pass. So whatever belongs to the rank that calls, the runtime's block in thread-local storage
//! and our own flag, is laid aside on the rank's own stack while MPI runs, and put back when the function returns.

use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use poise_profile::Profile;

use crate::library::{Function, family};
use crate::own;
use crate::runtime::{self, Suspended};

/// Held while an MPI function runs in which another rank may take this one's place on the thread.
pub struct Others {
    suspended: Option<(Suspended, bool)>,
}

impl Others {
    /// From here until the value is dropped, other ranks may run on this thread.
    #[inline(always)]
    pub fn may_run() -> Self {
        let shared = family().is_some_and(|family| family.has_coroutines);
        Self { suspended: shared.then(|| (runtime::suspend(), own::set_inside(false))) }
    }
}

impl Drop for Others {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some((suspended, inside)) = self.suspended.take() {
            runtime::proceed(suspended);
            own::set_inside(inside);
        }
    }
}

/// Functions in which SMPI lets other ranks run although they are not in the table: those that let simulated time pass, or ask for it.
macro_rules! time_passes {
    ($($name:ident $symbol:literal ($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        /// # Safety
        /// As the function of this name.
        #[unsafe(export_name = $symbol)]
        unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            static FUNCTION: Function = Function::new(concat!($symbol, "\0"));
            type Signature = unsafe extern "C" fn($($type),*) -> $result;
            // SAFETY: SimGrid's headers, and the MPI standard, give the function of this name this signature.
            let function: Signature = unsafe { std::mem::transmute(FUNCTION.address()) };
            let _others = runtime::active().then(Others::may_run);
            // SAFETY: the arguments are the program's.
            unsafe { function($($argument),*) }
        }
    )*};
}

time_passes! {
    wtime "MPI_Wtime" () -> f64;
    profiled_wtime "PMPI_Wtime" () -> f64;
    sleep "smpi_sleep" (seconds: libc::c_uint) -> libc::c_uint;
    usleep "smpi_usleep" (microseconds: libc::c_uint) -> libc::c_int;
    nanosleep "smpi_nanosleep" (time: *const libc::timespec, left: *mut libc::timespec) -> libc::c_int;
    gettimeofday "smpi_gettimeofday" (time: *mut libc::timeval, zone: *mut c_void) -> libc::c_int;
    clock_gettime "smpi_clock_gettime" (clock: libc::clockid_t, time: *mut libc::timespec) -> libc::c_int;
    execute "smpi_execute" (seconds: f64) -> ();
    execute_benched "smpi_execute_benched" (seconds: f64) -> ();
    execute_flops "smpi_execute_flops" (operations: f64) -> ();
    execute_flops_benched "smpi_execute_flops_benched" (operations: f64) -> ();
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
