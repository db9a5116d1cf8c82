//! Makes the exported functions of the table's rows: `MPI_X`, and `PMPI_X`, which Open MPI's Fortran bindings,
//! MPICH's mpi_f08 and what stands in front of this library call instead. Each goes on to the next of its name, so that a tool
//! behind this library has the calls that it has without. A call that MPI, or such a tool, makes while it serves one of the
//! program's is not the program's: a flag per thread lets it pass.

use crate::callers;
use crate::calls::Meaning;
use crate::control;
use crate::coroutines::Others;
use crate::groups;
use crate::library::{Function, Handle, Int, Ints, Ptr, SUCCESS, Wide, Wides, family};
use crate::own;
use crate::requests::{
    Asks, Completes, Frees, Outcome, PreparesCollective, PreparesPartitioned, PreparesReceive, PreparesSend, Starts,
    StartsExchange, StartsMatched, StartsReceive,
};
use crate::rules::*;
use crate::runtime::{Region, Visit, active};
use crate::table::{added, collective, environment, large_counts, one_sided, persistent, point_to_point};
use crate::waiting::{self, Wait};

/// Held while a measured call runs on this thread.
struct Inside(Meaning);

impl Inside {
    /// `None` where the call is to be passed on and nothing else: this process does not measure, the call comes from
    /// within MPI, or the MPI library is of no known family or one of several.
    #[inline(always)]
    fn enter(meaning: Meaning) -> Option<Self> {
        if !active() || own::is_inside() || callers::have_several() || family().is_none() {
            return None;
        }
        own::set_inside(true);
        meaning.begin();
        Some(Self(meaning))
    }
}

impl Drop for Inside {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.end();
        own::set_inside(false);
    }
}

/// Whether the MPI function of this name asks and does not wait. Some that do neither are among them.
const fn is_test(name: &str) -> bool {
    let name = name.as_bytes();
    matches!(
        name,
        [b'T', b'e', b's', b't', ..] | b"Iprobe" | b"Improbe" | b"Request_get_status" | b"Win_test" | b"Parrived"
    )
}

/// An argument as a word.
trait Word: Copy {
    fn word(self) -> usize;
}

impl Word for Int {
    fn word(self) -> usize {
        self as usize
    }
}

impl Word for Wide {
    fn word(self) -> usize {
        self as usize
    }
}

impl Word for Handle {
    fn word(self) -> usize {
        self
    }
}

impl Word for Ptr {
    fn word(self) -> usize {
        self as usize
    }
}

impl Word for Ints {
    fn word(self) -> usize {
        self.0 as usize
    }
}

impl Word for Wides {
    fn word(self) -> usize {
        self.0 as usize
    }
}

/// Where a nonblocking function puts its request.
#[inline(always)]
fn request_among(name: &str, arguments: &[(&str, usize)]) -> Option<Ptr> {
    let is_request = |argument: &&(&str, usize)| name.starts_with('I') && argument.0 == "request";
    arguments.iter().find(is_request).map(|argument| argument.1 as Ptr)
}

/// Whether the MPI function of this name frees a communicator, which it may do while MPI serves another call.
const fn frees_communicator(name: &str) -> bool {
    matches!(name.as_bytes(), b"Comm_free" | b"Comm_disconnect")
}

/// One function per row, and a pair of exported ones that lead to it: what these names lead to elsewhere in the process may be the program's
/// own function, which calls the other of the pair. The rule sees the arguments before the call, which it may redirect to a
/// status of its own, and after it; between the visit's two time stamps lies the call alone. A C++ exception that the
/// program's error handler throws passes.
macro_rules! wrappers {
    ($($name:ident($($argument:ident: $kind:ident),*) => $rule:ident $fields:tt;)*) => {$(
        #[allow(non_snake_case, reason = "MPI's names")]
        #[allow(unused_mut, reason = "only some rules redirect an argument")]
        #[allow(clippy::too_many_arguments, reason = "MPI's functions have as many")]
        #[inline(never)]
        unsafe extern "C-unwind" fn $name($(mut $argument: $kind),*) -> Int {
            static FUNCTION: Function = Function::new(concat!("MPI_", stringify!($name), "\0"));
            static PROFILING: Function = Function::new(concat!("PMPI_", stringify!($name), "\0"));
            static REGION: Region = Region::mpi(concat!("MPI_", stringify!($name), "\0"));
            type Signature = unsafe extern "C-unwind" fn($($kind),*) -> Int;
            let function = if own::take_profiling() { &PROFILING } else { &FUNCTION };
            if const { callers::begins(stringify!($name)) } {
                callers::look();
            }
            // SAFETY: the MPI standard gives the functions of these names this signature; a handle, whether int or
            // pointer, is passed in one register or stack slot, which a word leaves as it is.
            let call: Signature = unsafe { std::mem::transmute(function.address()) };
            let Some(_inside) = Inside::enter(const { Meaning::of(stringify!($name)) }) else {
                if frees_communicator(stringify!($name)) && active() {
                    groups::forget();
                }
                // SAFETY: the arguments are the program's.
                return unsafe { call($($argument),*) };
            };
            const IS_TEST: bool = is_test(stringify!($name));
            let mut rule = $rule $fields;
            let mut scratch = Default::default();
            // SAFETY: the rule is made of this call's arguments, just before the call.
            unsafe { rule.first() };
            let mut visit = Visit::enter(control::region(&REGION));
            visit.begin(IS_TEST);
            // SAFETY: as above.
            unsafe { rule.before(&mut scratch) };
            let mut request = None;
            if waiting::is_on() {
                request = request_among(stringify!($name), &[$((stringify!($argument), $argument.word())),*]);
                // SAFETY: as above.
                unsafe { rule.depart(&mut scratch, &visit.entry, request) };
            }
            if rule.prepares() || (waiting::is_on() && rule.departs()) {
                visit.proceed();
            }
            let others = Others::may_run();
            // SAFETY: the arguments are the program's, but for a status that was to be ignored.
            let result = unsafe { call($($argument),*) };
            drop(others);
            visit.end();
            let accepted = result == SUCCESS;
            // SAFETY: the same rule, just after the call.
            let in_vain = IS_TEST && accepted && unsafe { rule.is_in_vain() };
            let mut wait = Wait { entry: &mut visit.entry, moved: Moved::default() };
            // SAFETY: as above.
            unsafe { rule.after(&mut scratch, accepted, &mut wait) };
            if waiting::is_on() {
                // SAFETY: as above.
                unsafe { rule.arrive(&mut scratch, accepted, request, &mut wait) };
            }
            let moved = wait.moved;
            if in_vain {
                visit.was_in_vain();
            }
            visit.leave(moved, waiting::is_on() || rule.concludes());
            result
        }

        const _: () = {
            #[unsafe(export_name = concat!("MPI_", stringify!($name)))]
            unsafe extern "C-unwind" fn wrapper($($argument: $kind),*) -> Int {
                // SAFETY: the arguments are the program's.
                unsafe { $name($($argument),*) }
            }

            #[unsafe(export_name = concat!("PMPI_", stringify!($name)))]
            unsafe extern "C-unwind" fn profiling_wrapper($($argument: $kind),*) -> Int {
                own::set_profiling();
                // SAFETY: as above.
                unsafe { $name($($argument),*) }
            }
        };
    )*};
}

/// The same functions under the names that they have as extensions.
macro_rules! extensions {
    ($($name:ident($($argument:ident: $kind:ident),*) => $rule:ident $fields:tt;)*) => {$(
        const _: () = {
            #[unsafe(export_name = concat!("MPIX_", stringify!($name)))]
            unsafe extern "C-unwind" fn extension($($argument: $kind),*) -> Int {
                // SAFETY: the arguments are the program's, and the function is the one of this name.
                unsafe { $name($($argument),*) }
            }

            #[unsafe(export_name = concat!("PMPIX_", stringify!($name)))]
            unsafe extern "C-unwind" fn profiling_extension($($argument: $kind),*) -> Int {
                own::set_profiling();
                // SAFETY: as above.
                unsafe { $name($($argument),*) }
            }
        };
    )*};
}

point_to_point!(wrappers);
collective!(wrappers);
one_sided!(wrappers);
environment!(wrappers);
large_counts!(wrappers);
persistent!(wrappers);
added!(wrappers);
persistent!(extensions);
