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
use crate::tree::{Node, Region};
use crate::{process, shielded, thread};

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

/// What a new thread is to do, and for whom: made by the starter, and freed when the thread first needs its call path or ends. Until the
/// program's function runs, nothing is allocated or freed on the new thread: where another library's memory functions stand in
/// front of the C library's, that library may not know the thread yet (ThreadSanitizer's ends the program then).
pub struct Start {
    /// The program's function, of either type.
    routine: *const c_void,
    argument: *mut c_void,
    /// The regions of the starter's call path, outermost first.
    pub path: Vec<*const Region>,
}

/// The start of a thread that belongs to the current call path; null where there is none, or no memory.
fn start(routine: *const c_void, argument: *mut c_void) -> *mut Start {
    let node = thread::origin();
    // A forked child has call paths, too, of which nobody will ask.
    if node.is_null() || !process::is_active() {
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
unsafe fn begin(start: *mut Start) -> (*const c_void, *mut c_void) {
    // SAFETY: the caller's promise; nobody else has it yet.
    let (routine, argument) = unsafe { ((*start).routine, (*start).argument) };
    thread::starts(start);
    (routine, argument)
}

unsafe extern "C-unwind" fn pthread_begins(start: *mut c_void) -> *mut c_void {
    // SAFETY: the pointer is what the function below gave the thread, with a function of this type. Nothing is left to drop here when
    // it unwinds.
    unsafe {
        let (routine, argument) = begin(start.cast());
        std::mem::transmute::<*const c_void, Routine>(routine)(argument)
    }
}

unsafe extern "C-unwind" fn thrd_begins(start: *mut c_void) -> c_int {
    // SAFETY: as above.
    unsafe {
        let (routine, argument) = begin(start.cast());
        std::mem::transmute::<*const c_void, Thrd>(routine)(argument)
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
        let start = start(routine as *const c_void, argument);
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
        let start = start(routine as *const c_void, argument);
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
