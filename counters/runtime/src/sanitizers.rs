//! Programs compiled with a sanitizer, whose library stands in front of functions of the C library that this one calls.
//!
//! MemorySanitizer knows nothing of what this library writes, which the compiler did not prepare for it, and so takes the memory that
//! is compared or written to a file here for uninitialised; its checks are off while this library works. LeakSanitizer and ThreadSanitizer end the process
//! in the middle of `exit` if they have found something, before libraries are finished.

use std::arch::global_asm;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

type Call = unsafe extern "C" fn();
type SetDeathCallback = unsafe extern "C" fn(extern "C" fn());

// Functions of the sanitizers' interface (sanitizer/msan_interface.h, common_interface_defs.h); null without such a library. Stable
// Rust has no weak symbols.
#[cfg(target_pointer_width = "64")]
global_asm!(
    ".weak __msan_scoped_disable_interceptor_checks",
    ".weak __msan_scoped_enable_interceptor_checks",
    ".weak __sanitizer_set_death_callback",
    ".pushsection .data.rel.ro.poise_sanitizers,\"aw\"",
    ".globl poise_checks_off",
    ".hidden poise_checks_off",
    ".globl poise_checks_on",
    ".hidden poise_checks_on",
    ".globl poise_at_death",
    ".hidden poise_at_death",
    ".balign 8",
    "poise_checks_off:",
    ".quad __msan_scoped_disable_interceptor_checks",
    "poise_checks_on:",
    ".quad __msan_scoped_enable_interceptor_checks",
    "poise_at_death:",
    ".quad __sanitizer_set_death_callback",
    ".popsection",
);

unsafe extern "C" {
    static poise_checks_off: Option<Call>;
    static poise_checks_on: Option<Call>;
    static poise_at_death: Option<SetDeathCallback>;
}

/// While it lives, MemorySanitizer does not check what this thread passes to the C library.
pub struct Unchecked(Option<Call>);

impl Unchecked {
    /// From now on.
    pub fn now() -> Self {
        // SAFETY: the words are constant once this library is loaded; the functions take nothing and may be called at any time, in pairs.
        unsafe {
            let (Some(off), Some(on)) = (poise_checks_off, poise_checks_on) else { return Self(None) };
            off();
            Self(Some(on))
        }
    }
}

impl Drop for Unchecked {
    fn drop(&mut self) {
        if let Some(on) = self.0 {
            // SAFETY: as above.
            unsafe { on() };
        }
    }
}

/// Whether the program has begun to end.
static ENDS: AtomicBool = AtomicBool::new(false);

/// Has `finish` called should a sanitizer's library end the process: it is told whether that is after the program itself has begun to
/// end. A callback that the program sets takes its place.
pub fn at_death(finish: fn(bool)) {
    static FINISH: OnceLock<fn(bool)> = OnceLock::new();
    extern "C" fn dies() {
        if let Some(finish) = FINISH.get() {
            finish(ENDS.load(Ordering::Relaxed));
        }
    }
    // SAFETY: the word is constant once this library is loaded; the callback is of the type that is asked for.
    unsafe {
        if let Some(at_death) = poise_at_death {
            FINISH.get_or_init(|| finish);
            at_death(dies);
        }
    }
}

/// The program has begun, so that handlers that are registered now run at its end before libraries are finished.
pub fn begin() {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    extern "C" fn ends() {
        ENDS.store(true, Ordering::Relaxed);
    }
    // SAFETY: as above.
    unsafe {
        if poise_at_death.is_some() && !BEGUN.swap(true, Ordering::Relaxed) {
            // Without memory for the handler the end is taken for a failure.
            libc::atexit(ends);
        }
    }
}
