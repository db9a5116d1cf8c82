//! What instrumented programs demand of this library by name, so that the linker says what to do where it is missing: all else that they
//! refer to is declared weak (`counters/pass/src/demand.rs`).

use std::ffi::c_void;

use crate::tree::Region;
use crate::{Inlined, poise_enter, poise_inlined, poise_leave, poise_return_to};

/// What instrumented code calls. Weak references take nothing out of a static library; this strong one takes all of them.
struct Calls {
    _enter: unsafe extern "C" fn(*const Region) -> *mut c_void,
    _leave: unsafe extern "C" fn(*mut c_void),
    _inlined: unsafe extern "C" fn(*const Inlined, u64),
    _return_to: unsafe extern "C" fn(*mut c_void),
}

static CALLS: Calls =
    Calls { _enter: poise_enter, _leave: poise_leave, _inlined: poise_inlined, _return_to: poise_return_to };

/// Never called: its name is the message. Gives the address of what instrumented code calls.
#[unsafe(no_mangle)]
pub extern "C" fn poise_runtime_is_missing_link_with_poise_cc_or_lpoise_runtime() -> *const c_void {
    (&raw const CALLS).cast()
}
