//! Makes the exported functions of the table's rows: `MPI_X`, and `PMPI_X`, which Open MPI's Fortran bindings and
//! MPICH's mpi_f08 call instead. A call that MPI makes while it serves one of the program's is not the program's:
//! a flag per thread lets it pass.

use std::cell::Cell;

use crate::coroutines::Others;
use crate::library::{Function, Handle, Int, Ptr, SUCCESS, Wide, family};
use crate::requests::{Completes, Frees, Outcome, PreparesReceive, PreparesSend, Starts, StartsMatched, StartsReceive};
use crate::rules::*;
use crate::runtime::{Region, Visit, active};
use crate::table::{collective, environment, one_sided, point_to_point};

thread_local! {
    pub static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Held while a measured call runs on this thread.
struct Inside;

impl Inside {
    /// `None` where the call is to be passed on and nothing else: this process does not measure, the call comes from
    /// within MPI, or the MPI library is of no known family.
    #[inline(always)]
    fn enter() -> Option<Self> {
        if !active() || INSIDE.get() || family().is_none() {
            return None;
        }
        INSIDE.set(true);
        Some(Self)
    }
}

impl Drop for Inside {
    #[inline(always)]
    fn drop(&mut self) {
        INSIDE.set(false);
    }
}

/// One exported pair of functions per row. The rule sees the arguments before the call, which it may redirect to a
/// status of its own, and after it; between the visit's two time stamps lies the call and, because MPI must see wrong
/// arguments first, the reading of what it moved. A C++ exception that the program's error handler throws passes.
macro_rules! wrappers {
    ($($name:ident($($argument:ident: $kind:ident),*) => $rule:ident $fields:tt;)*) => {$(
        const _: () = {
            static FUNCTION: Function = Function::new(concat!("PMPI_", stringify!($name), "\0"));
            static REGION: Region = Region::mpi(concat!("MPI_", stringify!($name), "\0"));

            #[unsafe(export_name = concat!("MPI_", stringify!($name)))]
            #[allow(unused_mut, reason = "only some rules redirect an argument")]
            unsafe extern "C-unwind" fn wrapper($(mut $argument: $kind),*) -> Int {
                type Signature = unsafe extern "C-unwind" fn($($kind),*) -> Int;
                // SAFETY: the MPI standard gives the function of this name this signature; a handle, whether int or
                // pointer, is passed in one register or stack slot, which a word leaves as it is.
                let call: Signature = unsafe { std::mem::transmute(FUNCTION.address()) };
                let Some(_inside) = Inside::enter() else {
                    // SAFETY: the arguments are the program's.
                    return unsafe { call($($argument),*) };
                };
                let mut rule = $rule $fields;
                let mut scratch = Default::default();
                // SAFETY: the rule is made of this call's arguments, just before the call.
                unsafe { rule.before(&mut scratch) };
                let visit = Visit::enter(&REGION);
                let others = Others::may_run();
                // SAFETY: the arguments are the program's, but for a status that was to be ignored.
                let result = unsafe { call($($argument),*) };
                drop(others);
                // SAFETY: the same rule, just after the call.
                let moved = unsafe { rule.after(&mut scratch, result == SUCCESS) };
                visit.leave(moved);
                result
            }

            #[unsafe(export_name = concat!("PMPI_", stringify!($name)))]
            unsafe extern "C-unwind" fn profiling_wrapper($($argument: $kind),*) -> Int {
                // SAFETY: the arguments are the program's.
                unsafe { wrapper($($argument),*) }
            }
        };
    )*};
}

point_to_point!(wrappers);
collective!(wrappers);
one_sided!(wrappers);
environment!(wrappers);
