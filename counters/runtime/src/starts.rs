//! Threads join under the call path that started them: this library stands in front of the functions that start threads,
//! and the new thread's first functions hang below what its starter was doing. The starter may end before the new
//! thread runs, so the call path is handed over as a copy.
//!
//! `pthread_create` is found by name: the shared library comes before the C library, whether it is linked or preloaded
//! (`build.rs` gives the functions here the names in front of which they stand). In a static program the linker's option
//! `--wrap=pthread_create` does the same.

use std::arch::global_asm;
use std::ffi::{c_int, c_void};

use crate::real::Real;
use crate::shielded;
use crate::thread;
use crate::tree::{Node, Region};

/// What threads run. Unwinding passes: pthread_exit and cancellation leave a thread that way.
type Routine = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;
/// What `thrd_create` starts.
type Thrd = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;
type Create = unsafe extern "C-unwind" fn(*mut c_void, *const c_void, Routine, *mut c_void) -> c_int;
type ThrdCreate = unsafe extern "C-unwind" fn(*mut c_void, Thrd, *mut c_void) -> c_int;

static CREATE: Real = Real::new(c"pthread_create");
static THRD_CREATE: Real = Real::new(c"thrd_create");

// What `--wrap` calls the function in front of which ours stands; null without it. Stable Rust has no weak symbols.
#[cfg(target_pointer_width = "64")]
global_asm!(
    ".weak __real_pthread_create",
    ".pushsection .data.rel.ro.poise_create,\"aw\"",
    ".globl poise_wrapped_create",
    ".hidden poise_wrapped_create",
    ".balign 8",
    "poise_wrapped_create:",
    ".quad __real_pthread_create",
    ".popsection",
);

unsafe extern "C" {
    static poise_wrapped_create: Option<Create>;
}

/// What a new thread is to do, and for whom.
struct Start<F> {
    routine: F,
    argument: *mut c_void,
    path: Vec<*const Region>,
}

/// The start of a thread that belongs to the current call path; null where there is none, or no memory.
fn start<F: Copy + std::panic::UnwindSafe>(routine: F, argument: *mut c_void) -> *mut Start<F> {
    let node = thread::origin();
    if node.is_null() {
        return std::ptr::null_mut();
    }
    shielded(std::ptr::null_mut(), move || {
        // SAFETY: the node is of this thread's tree.
        let path = unsafe { Node::regions(node) };
        Box::into_raw(Box::new(Start { routine, argument, path }))
    })
}

/// Puts the new thread below the call path that started it; gives what it is to run.
///
/// # Safety
/// `start` must come from [`start`] and be used once.
unsafe fn begin<F: Copy>(start: *mut Start<F>) -> (F, *mut c_void) {
    // SAFETY: the caller's promise.
    let start = unsafe { Box::from_raw(start) };
    let Start { routine, argument, path } = *start;
    // A panic, which only a lack of memory could cause, must not unwind into the program.
    shielded((), move || thread::starts(path));
    (routine, argument)
}

unsafe extern "C-unwind" fn pthread_begins(start: *mut c_void) -> *mut c_void {
    // SAFETY: the pointer is what the function below gave the thread. Nothing is left to drop here when it unwinds.
    unsafe {
        let (routine, argument) = begin::<Routine>(start.cast());
        routine(argument)
    }
}

unsafe extern "C-unwind" fn thrd_begins(start: *mut c_void) -> c_int {
    // SAFETY: as above.
    unsafe {
        let (routine, argument) = begin::<Thrd>(start.cast());
        routine(argument)
    }
}

/// Stands in front of `pthread_create`.
///
/// # Safety
/// As of `pthread_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __wrap_pthread_create(
    thread: *mut c_void,
    attributes: *const c_void,
    routine: Routine,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the word is constant; the address is of a function of this type; the rest is the caller's promise.
    unsafe {
        let create = match poise_wrapped_create {
            Some(create) => create,
            None => match CREATE.address() {
                address if address.is_null() => CREATE.missing(),
                address => std::mem::transmute::<*mut c_void, Create>(address),
            },
        };
        let start = start(routine, argument);
        if start.is_null() {
            return create(thread, attributes, routine, argument);
        }
        let result = create(thread, attributes, pthread_begins, start.cast());
        if result != 0 {
            drop(Box::from_raw(start));
        }
        result
    }
}

/// Stands in front of C11's `thrd_create`, which does not call `pthread_create` by name.
///
/// # Safety
/// As of `thrd_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __wrap_thrd_create(thread: *mut c_void, routine: Thrd, argument: *mut c_void) -> c_int {
    // SAFETY: as above; 0 is thrd_success.
    unsafe {
        let create = match THRD_CREATE.address() {
            address if address.is_null() => THRD_CREATE.missing(),
            address => std::mem::transmute::<*mut c_void, ThrdCreate>(address),
        };
        let start = start(routine, argument);
        if start.is_null() {
            return create(thread, routine, argument);
        }
        let result = create(thread, thrd_begins, start.cast());
        if result != 0 {
            drop(Box::from_raw(start));
        }
        result
    }
}
