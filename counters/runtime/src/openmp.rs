//! OpenMP's threads join under the call path of the parallel region they work for. They are pooled, so that the call path
//! which started them says nothing; what counts is the region, each time anew.
//!
//! LLVM's runtime (libomp, and others with the OpenMP standard's tools interface) tells when a thread joins a region:
//! section 19 of the OpenMP 5.2 specification, "OMPT". GNU's runtime (libgomp) has no such interface: there this library stands in front of
//! the functions that compilers call for parallel regions, and hands the threads its own function first.

use std::arch::global_asm;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;

use crate::inlined::Token;
use crate::process;
use crate::real::Real;
use crate::tree::Node;
use crate::{thread, words};

/// A word that the runtime keeps for us per task, region or tool: `ompt_data_t`.
type Data = *mut c_void;
/// Looks functions of the interface up by name: `ompt_function_lookup_t`.
type Lookup = unsafe extern "C" fn(*const c_char) -> *mut c_void;
/// `ompt_set_callback_t`.
type SetCallback = unsafe extern "C" fn(c_int, *const c_void) -> c_int;

// Members of enumerations of the specification: ompt_callbacks_t, ompt_scope_endpoint_t, ompt_task_flag_t.
const PARALLEL_BEGIN: c_int = 3;
const IMPLICIT_TASK: c_int = 7;
const SYNC_REGION: c_int = 23;
const SCOPE_BEGIN: c_int = 1;
const TASK_INITIAL: c_int = 1;

/// `ompt_start_tool_result_t`.
#[repr(C)]
pub struct Tool {
    initialize: unsafe extern "C" fn(Lookup, c_int, *mut Data) -> c_int,
    finalize: extern "C" fn(*mut Data),
    data: Data,
}

// SAFETY: the runtime alone uses the word, which we never read.
unsafe impl Sync for Tool {}

static TOOL: Tool = Tool { initialize, finalize, data: null_mut() };

/// The OpenMP runtime asks whether somebody wants to be told. A tool that the user names goes before.
#[unsafe(no_mangle)]
pub extern "C" fn ompt_start_tool(_version: c_uint, _runtime: *const c_char) -> *const Tool {
    let is_users = crate::shielded(true, || std::env::var_os("OMP_TOOL_LIBRARIES").is_some_and(|v| !v.is_empty()));
    if process::is_active() && !is_users { &TOOL } else { std::ptr::null() }
}

unsafe extern "C" fn initialize(lookup: Lookup, _device: c_int, _data: *mut Data) -> c_int {
    // SAFETY: the runtime gives its own functions, of the specification's types.
    unsafe {
        let set = lookup(c"ompt_set_callback".as_ptr());
        if set.is_null() {
            return 0;
        }
        let set: SetCallback = std::mem::transmute(set);
        set(PARALLEL_BEGIN, parallel_begins as *const c_void);
        set(IMPLICIT_TASK, implicit_task as *const c_void);
        set(SYNC_REGION, synchronises as *const c_void);
    }
    1
}

extern "C" fn finalize(_data: *mut Data) {}

/// `ompt_callback_parallel_begin_t`: the region belongs to the call path that its thread is on.
unsafe extern "C" fn parallel_begins(
    _task: *mut Data,
    _frame: *const c_void,
    region: *mut Data,
    _threads: c_uint,
    _flags: c_int,
    _code: *const c_void,
) {
    // SAFETY: the word is the region's, writable and read by its threads later.
    unsafe { *region = thread::origin().cast() };
}

/// `ompt_callback_implicit_task_t`: a thread begins or ends to work for a region. The region's own thread waits in it for
/// all to arrive, so that its call path lives meanwhile.
unsafe extern "C" fn implicit_task(
    endpoint: c_int,
    region: *mut Data,
    task: *mut Data,
    _threads: c_uint,
    _index: c_uint,
    flags: c_int,
) {
    if flags & TASK_INITIAL != 0 || task.is_null() {
        return;
    }
    // SAFETY: the words are the region's and the task's; what they hold is what is put there here.
    unsafe {
        if endpoint == SCOPE_BEGIN {
            *task = if region.is_null() { null_mut() } else { thread::adopt((*region).cast()).into_raw() };
        } else {
            thread::leave(Token::of_raw(*task));
            *task = null_mut();
        }
    }
}

/// `ompt_callback_sync_region_t`: what the thread has counted is in its tree before any thread can pass the barrier, so that
/// the profile is whole if one of them ends the process.
extern "C" fn synchronises(_kind: c_int, _endpoint: c_int, _region: *mut Data, _task: *mut Data, _code: *const c_void) {
    thread::settle();
}

/// What libgomp runs in each thread of a region.
type Body = unsafe extern "C-unwind" fn(*mut c_void);
/// The functions that begin a region have up to eight arguments, all of them words.
type Begin = unsafe extern "C-unwind" fn(Body, *mut c_void, usize, usize, usize, usize, usize, usize) -> usize;

/// A region of GNU's runtime.
struct Team {
    body: Body,
    argument: *mut c_void,
    origin: *mut Node,
}

/// Declares the functions of libgomp that begin parallel regions, in front of which this library stands. Their code notes
/// who called which of them, and goes on in [`poise_gomp_region`] with the arguments as they are.
macro_rules! regions {
    ($($number:literal $name:literal,)*) => {
        static REGIONS: [Real; 11] = [$(Real::new(unsafe {
            // SAFETY: the text ends with the one NUL that is put there.
            std::ffi::CStr::from_bytes_with_nul_unchecked(concat!($name, "\0").as_bytes())
        })),*];

        $(
            #[cfg(target_arch = "x86_64")]
            global_asm!(
                concat!(".globl __wrap_", $name), concat!(".type __wrap_", $name, ", @function"),
                concat!("__wrap_", $name, ":"),
                "mov rax, qword ptr [rsp]",
                "mov r10, qword ptr [rip + poise_called@GOTTPOFF]",
                "mov qword ptr fs:[r10], rax",
                concat!("mov qword ptr fs:[r10 + 8], ", $number),
                "jmp {region}",
                concat!(".size __wrap_", $name, ", . - __wrap_", $name),
                region = sym poise_gomp_region,
            );
            #[cfg(target_arch = "aarch64")]
            global_asm!(
                concat!(".globl __wrap_", $name), concat!(".type __wrap_", $name, ", %function"),
                concat!("__wrap_", $name, ":"),
                "mrs x9, tpidr_el0",
                "adrp x10, :gottprel:poise_called",
                "ldr x10, [x10, :gottprel_lo12:poise_called]",
                "add x9, x9, x10",
                concat!("mov x10, #", $number),
                "stp x30, x10, [x9]",
                "b {region}",
                concat!(".size __wrap_", $name, ", . - __wrap_", $name),
                region = sym poise_gomp_region,
            );
        )*
    };
}

// The names are in `build.rs` as well, which exports them.
regions! {
    0 "GOMP_parallel",
    1 "GOMP_parallel_reductions",
    2 "GOMP_parallel_sections",
    3 "GOMP_parallel_loop_static",
    4 "GOMP_parallel_loop_dynamic",
    5 "GOMP_parallel_loop_guided",
    6 "GOMP_parallel_loop_runtime",
    7 "GOMP_parallel_loop_nonmonotonic_dynamic",
    8 "GOMP_parallel_loop_nonmonotonic_guided",
    9 "GOMP_parallel_loop_nonmonotonic_runtime",
    10 "GOMP_parallel_loop_maybe_nonmonotonic_runtime",
}

words::define!("poise_called", 16);

/// The contents of `poise_called`.
#[repr(C)]
struct Called {
    /// Where the call returns to.
    caller: *const c_void,
    /// Which function of [`REGIONS`] it was.
    number: usize,
}

/// What the calling thread called last.
fn called() -> Called {
    let called: *const Called = words::address!("poise_called");
    // SAFETY: these words are the thread's own, and the code that called this function wrote them.
    unsafe { called.read_volatile() }
}

/// A parallel region of GNU's runtime begins; what there are arguments more than the function has is passed on unseen.
unsafe extern "C-unwind" fn poise_gomp_region(
    body: Body,
    argument: *mut c_void,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> usize {
    let Called { caller, number } = called();
    let real = &REGIONS[number];
    let begin = real.address_for(caller);
    if begin.is_null() {
        real.missing();
    }
    let mut team = Team { body, argument, origin: thread::origin() };
    // SAFETY: the address is of a function of this kind. The team lives until the region has ended, when it returns.
    unsafe {
        let begin: Begin = std::mem::transmute(begin);
        if team.origin.is_null() {
            return begin(body, argument, a, b, c, d, e, f);
        }
        begin(member, (&raw mut team).cast(), a, b, c, d, e, f)
    }
}

/// One thread's part of a region.
unsafe extern "C-unwind" fn member(team: *mut c_void) {
    // SAFETY: the pointer is what the region began with, and its thread waits for this one.
    unsafe {
        let Team { body, argument, origin } = team.cast::<Team>().read();
        let before = thread::adopt(origin);
        body(argument);
        // Brought up to date before any thread can pass the barrier that follows.
        if before == Token::NONE { thread::settle() } else { thread::leave(before) }
    }
}
