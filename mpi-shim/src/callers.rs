//! Who calls. For every caller the loader finds this library first, also for those that were loaded into a scope of their own with an
//! MPI library of their own. Where there are two such, a call goes on to the one that its caller would have found without this library,
//! and none is measured.

use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::finalize;
use crate::library::{self, Ptr};
use crate::runtime::{active, say};

/// Whether two MPI libraries are loaded that not every caller sees.
static SEVERAL: AtomicBool = AtomicBool::new(false);

/// Whether it depends on who calls where a call goes.
#[inline(always)]
pub fn have_several() -> bool {
    // Relaxed: set in a call of MPI_Init, before anybody calls the second library otherwise.
    SEVERAL.load(Ordering::Relaxed)
}

/// Whether the MPI function of this name is one by which a program or library begins.
pub const fn begins(name: &str) -> bool {
    matches!(name.as_bytes(), b"Init" | b"Init_thread" | b"Session_init")
}

/// Somebody begins: looks what MPI libraries there are by now. Also where nothing is measured, since calls must reach the right one.
#[cold]
pub fn look() {
    if have_several() || !library::are_apart() {
        return;
    }
    SEVERAL.store(true, Ordering::Relaxed);
    match active() {
        true if finalize::is_over() => {
            say("a second MPI library begins in this process after the first has ended; its calls are not measured.");
        }
        true => library::fail_for_two(),
        false => {}
    }
}

/// The function `name`, which ends with a NUL, as the innermost caller that sees one finds it among the libraries that it was linked with.
pub fn symbol(name: &str) -> Ptr {
    let own = object(symbol as fn(&str) -> Ptr as *const c_void).map_or(ptr::null_mut(), |object| object.dli_fbase);
    let mut search = Search { name, own, last: own, found: ptr::null_mut() };
    // SAFETY: the function has the unwinder's signature and does not unwind; the search outlives the call.
    unsafe { _Unwind_Backtrace(see, (&raw mut search).cast()) };
    search.found
}

/// A way along the callers.
struct Search<'a> {
    name: &'a str,
    /// Where this library begins in memory, and the object of the frame before.
    own: *mut c_void,
    last: *mut c_void,
    found: Ptr,
}

impl Search<'_> {
    /// The function as the object in the file `path` finds it; null where that sees none, or this library's own.
    fn within(&self, path: *const c_char) -> Ptr {
        // SAFETY: the loader gave the path; RTLD_NOLOAD loads nothing.
        let handle = unsafe { libc::dlopen(path, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if handle.is_null() {
            return handle;
        }
        let found = library::symbol_in(handle, self.name);
        // SAFETY: gives back what was just opened once more.
        unsafe { libc::dlclose(handle) };
        let is_own = object(found).is_some_and(|object| object.dli_fbase == self.own);
        if is_own { ptr::null_mut() } else { found }
    }
}

/// Looks at one frame of the stack.
extern "C" fn see(context: *mut c_void, search: *mut c_void) -> c_int {
    const GO_ON: c_int = 0;
    const STOP: c_int = 4;
    // SAFETY: the unwinder gives what `symbol` gave it.
    let search = unsafe { &mut *search.cast::<Search<'_>>() };
    // SAFETY: the context is the unwinder's.
    let address = unsafe { _Unwind_GetIP(context) };
    // The address to return to may lie behind the end of what called.
    let Some(object) = object(address.wrapping_sub(1) as *const c_void) else { return GO_ON };
    if object.dli_fbase != search.last && object.dli_fbase != search.own {
        search.last = object.dli_fbase;
        search.found = search.within(object.dli_fname);
    }
    if search.found.is_null() { GO_ON } else { STOP }
}

/// The program or library that holds an address.
pub fn object(address: *const c_void) -> Option<libc::Dl_info> {
    let mut info = MaybeUninit::uninit();
    // SAFETY: dladdr looks at the address alone, and has filled the room unless it returns 0.
    unsafe { (libc::dladdr(address, info.as_mut_ptr()) != 0).then(|| info.assume_init()) }
}

unsafe extern "C" {
    fn _Unwind_Backtrace(see: extern "C" fn(*mut c_void, *mut c_void) -> c_int, to: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}
