//! The library that instrumented programs call: call trees, block counts and time per thread.
//!
//! This file is its C interface, specified in `include/poise_runtime.h`; `thread` holds what the calls do on the fast
//! path, `tree` the call trees, `starts` and `openmp` what threads do when they start or join a team, `marks` regions marked by hand, `process` what exists
//! once per process, `checkpoint` what a crash leaves, `clock` the time. Nothing here may harm the
//! program it lives in: without POISE_PROFILE all is inert, nothing unwinds into the program, errors are one line on
//! standard error, and the exit status stays the program's own.

mod checkpoint;
mod clock;
mod demand;
mod inlined;
mod marks;
mod noise;
mod openmp;
mod phases;
mod process;
mod real;
mod sanitizers;
mod stack;
mod starts;
mod thread;
mod totals;
mod traffic;
mod tree;
mod waiting;
mod words;

use std::ffi::{c_char, c_int, c_void};
use std::panic::catch_unwind;
use std::ptr::null_mut;

use thread::calls;

pub use inlined::Inlined;
use inlined::Token;
pub use marks::{Mark, Marks};
use sanitizers::Unchecked;
pub use tree::Region;
pub use waiting::Stamp;

/// Runs `cold`, giving `default` should it panic, and leaves errno as it was. What calls the C library with memory of this library's does
/// it in here.
fn shielded<T>(default: T, cold: impl FnOnce() -> T + std::panic::UnwindSafe) -> T {
    // SAFETY: glibc's errno location is valid for the calling thread's life.
    let (errno, saved) = unsafe { (libc::__errno_location(), *libc::__errno_location()) };
    let unchecked = Unchecked::now();
    let result = catch_unwind(cold).unwrap_or(default);
    drop(unchecked);
    // SAFETY: as above; same thread.
    unsafe { *errno = saved };
    result
}

/// Enters `region` below the current call path; see `poise_runtime.h`.
///
/// # Safety
/// `region` and its strings must live as long as the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poise_enter(region: *const Region) -> *mut c_void {
    thread::enter(region).into_raw()
}

/// Leaves everything entered since `token` was given; see `poise_runtime.h`.
///
/// # Safety
/// `token` must come from [`poise_enter`] on the same thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poise_leave(token: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { thread::leave(Token::of_raw(token)) };
}

/// Makes the call path of an activation current again; see `poise_runtime.h`.
///
/// # Safety
/// `token` must come from [`poise_enter`] of `region` on the same thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poise_resume(token: *mut c_void, region: *const Region) {
    // SAFETY: the caller's promise.
    unsafe { thread::resume(Token::of_raw(token), region) };
}

/// A program or library whose marks are to be told if this process measures; see `poise.h`.
#[unsafe(no_mangle)]
pub extern "C" fn poise_marks_attach(marks: &'static Marks) {
    marks::attach(marks);
}

/// A region marked by hand begins; see `poise.h`.
///
/// # Safety
/// The mark's name must be NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poise_region_begin(mark: &Mark) {
    // SAFETY: the caller's promise.
    unsafe { marks::begin(mark) };
}

/// A region marked by hand ends; see `poise.h`.
///
/// # Safety
/// The mark's name must be NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poise_region_end(mark: &Mark) {
    // SAFETY: the caller's promise.
    unsafe { marks::end(mark) };
}

/// Counts blocks for an inlined function below the current call path; see `poise_runtime.h`.
///
/// # Safety
/// What `inlined` leads to must live as long as the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poise_inlined(inlined: *const Inlined, blocks: u64) {
    thread::inlined(inlined, blocks);
}

/// The current call path; see `poise_runtime.h`.
#[unsafe(no_mangle)]
pub extern "C" fn poise_here() -> *mut c_void {
    thread::current().cast()
}

/// Makes the call path current again that [`poise_here`] gave; see `poise_runtime.h`.
///
/// # Safety
/// `here` must come from [`poise_here`] on the same thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poise_return_to(here: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { thread::return_to(here.cast()) };
}

/// Adds what one MPI call moved to the current call path; see `poise_runtime.h`.
#[unsafe(no_mangle)]
pub extern "C" fn poise_mpi_moved(bytes_sent: u64, bytes_received: u64, comm_size: u32) {
    calls::moved(bytes_sent, bytes_received, comm_size);
}

/// One message of the current call path's operation; see `poise_runtime.h`.
#[unsafe(no_mangle)]
pub extern "C" fn poise_mpi_message(is_received: c_int, peer: u32, bytes: u64, comm_size: u32) {
    let direction = if is_received != 0 { traffic::Direction::Received } else { traffic::Direction::Sent };
    calls::message(direction, peer, bytes, comm_size);
}

/// The MPI operation just entered looks at its arguments; see `poise_runtime.h`.
#[unsafe(no_mangle)]
pub extern "C" fn poise_call_begins(is_test: c_int, stamp: &mut Stamp) {
    calls::call_begins(is_test != 0, stamp);
}

/// What the time since the last call of the runtime was spent on counts for nothing; see `poise_runtime.h`.
#[unsafe(no_mangle)]
pub extern "C" fn poise_call_proceeds() {
    calls::call_proceeds();
}

/// The MPI operation has returned; see `poise_runtime.h`.
#[unsafe(no_mangle)]
pub extern "C" fn poise_call_ends() {
    calls::call_ends();
}

/// Leaves an MPI operation whose end was told before; see `poise_runtime.h`.
///
/// # Safety
/// `token` must come from [`poise_enter`] on the same thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poise_call_leaves(token: *mut c_void, was_long: c_int) {
    // SAFETY: the caller's promise.
    unsafe { calls::call_leaves(Token::of_raw(token), was_long != 0) };
}

/// The MPI operation was a test without success; see `poise_runtime.h`.
#[unsafe(no_mangle)]
pub extern "C" fn poise_tested_in_vain(entry: &Stamp) {
    calls::tested_in_vain(entry);
}

/// The MPI operation depended on another thread; see `poise_runtime.h`.
#[unsafe(no_mangle)]
pub extern "C" fn poise_awaited(entry: &mut Stamp, other: &Stamp, cost: u64, is_message: c_int) {
    calls::awaited(entry, other, cost, is_message != 0);
}

/// One line for all ranks; see `poise_runtime.h`.
///
/// # Safety
/// `what` must be NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poise_fail(what: *const c_char, is_waiting: c_int) {
    shielded((), move || {
        // SAFETY: the caller's promise.
        let what = unsafe { std::ffi::CStr::from_ptr(what) }.to_string_lossy();
        if is_waiting != 0 { process::say_of_waiting(&what) } else { process::fail(&what) }
    });
}

/// The clock, in ticks; see `poise_runtime.h`.
#[unsafe(no_mangle)]
pub extern "C" fn poise_now() -> u64 {
    clock::now()
}

/// When this thread's last MPI operation ended; see `poise_runtime.h`.
#[unsafe(no_mangle)]
pub extern "C" fn poise_call_end() -> u64 {
    calls::last()
}

/// What waiting may be added to later; see `poise_runtime.h`.
#[unsafe(no_mangle)]
pub extern "C" fn poise_credit() -> *mut c_void {
    calls::credit().cast()
}

/// Adds it; see `poise_runtime.h`.
///
/// # Safety
/// `credit` must be null or come from [`poise_credit`], and not be used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poise_credit_late_receiver(credit: *mut c_void, ticks: u64, before: u64) {
    // SAFETY: the caller's promise.
    unsafe { calls::credit_late_receiver(credit.cast(), ticks, before) };
}

/// Waiting is measured and belongs into the profile; see `poise_runtime.h`.
#[unsafe(no_mangle)]
pub extern "C" fn poise_measure_waiting() {
    process::measure_waiting();
}

/// 1 when this process measures.
#[unsafe(no_mangle)]
pub extern "C" fn poise_active() -> c_int {
    c_int::from(process::is_active())
}

/// Leaves the writing of the profile to the caller; see `poise_runtime.h`.
#[unsafe(no_mangle)]
pub extern "C" fn poise_claim_output() {
    process::claim();
}

/// The encoded profile of this process as rank `rank`; see `poise_runtime.h`.
///
/// # Safety
/// `length` must point to writable memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poise_take_profile(rank: u32, length: *mut usize) -> *mut u8 {
    shielded(null_mut(), || {
        let Some(bytes) = process::take(rank) else { return null_mut() };
        let bytes = bytes.into_boxed_slice();
        // SAFETY: the caller's promise.
        unsafe { *length = bytes.len() };
        Box::into_raw(bytes).cast()
    })
}

/// What was taken is where it belongs; see `poise_runtime.h`.
#[unsafe(no_mangle)]
pub extern "C" fn poise_profile_is_written() {
    shielded((), process::is_written);
}

/// The profile of what runs on this thread alone; see `poise_runtime.h`.
///
/// # Safety
/// `length` must point to writable memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poise_take_coroutine(rank: u32, length: *mut usize) -> *mut u8 {
    shielded(null_mut(), || {
        let Some(bytes) = process::take_coroutine(rank) else { return null_mut() };
        let bytes = bytes.into_boxed_slice();
        // SAFETY: the caller's promise.
        unsafe { *length = bytes.len() };
        Box::into_raw(bytes).cast()
    })
}

/// Takes the call path off this thread; see `poise_runtime.h`.
///
/// # Safety
/// `suspended` must point to 64 writable bytes, aligned to 8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poise_suspend(suspended: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { suspended.cast::<thread::Suspended>().write(thread::suspend()) };
}

/// Puts a call path back on this thread; see `poise_runtime.h`.
///
/// # Safety
/// `suspended` must be what [`poise_suspend`] filled in on this thread, and be put back once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poise_proceed(suspended: *const c_void) {
    // SAFETY: the caller's promise.
    unsafe { thread::proceed(suspended.cast::<thread::Suspended>().read()) };
}

/// Frees what [`poise_take_profile`] gave.
///
/// # Safety
/// `bytes` and `length` must be a result of [`poise_take_profile`] (or null) that was not released before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poise_release(bytes: *mut u8, length: usize) {
    if !bytes.is_null() {
        // SAFETY: these are the parts of a boxed slice, by the caller's promise.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(bytes, length)) });
    }
}

/// POISE_PROFILE as it was when the process started, or null.
#[unsafe(no_mangle)]
pub extern "C" fn poise_output_path() -> *const c_char {
    process::output_path()
}

/// Runs when the library is loaded.
extern "C" fn start() {
    shielded((), process::start);
    if process::is_active() {
        shielded((), || process::prepare_to_die("the program was ended by its sanitizer"));
        // What a program that had come to its end has to lose is its profile; of one that had not there is none.
        sanitizers::at_death(|ends| shielded((), if ends { process::finish_at_once } else { process::die }));
    }
    marks::start();
}

/// Runs when the process ends by `exit` or by returning from `main`, after the program's own destructors.
extern "C" fn finish() {
    shielded((), process::finish);
}

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

#[used]
#[unsafe(link_section = ".fini_array")]
static FINISH: extern "C" fn() = finish;
