//! The functions of other libraries that this one stands in front of: found when they are first called, and called
//! whether anything is measured or not.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A function of the same name in a library that comes after this one in the order of the search.
pub struct Real {
    name: &'static CStr,
    known: AtomicPtr<c_void>,
}

impl Real {
    /// The function `name`, not yet looked for.
    pub const fn new(name: &'static CStr) -> Self {
        Self { name, known: AtomicPtr::new(null_mut()) }
    }

    /// Its address; null where there is none.
    pub fn address(&self) -> *mut c_void {
        let known = self.known.load(Ordering::Relaxed);
        if !known.is_null() {
            return known;
        }
        // SAFETY: the name ends with a NUL.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.known.store(found, Ordering::Relaxed);
        found
    }

    /// Its address as the object sees it that holds `code`: for libraries that were loaded with a scope of their own,
    /// which may hold several functions of this name. Null where there is none.
    pub fn address_for(&self, code: *const c_void) -> *mut c_void {
        let found = self.address();
        if !found.is_null() {
            return found;
        }
        // SAFETY: the information is written before it is read, and its name is NUL-terminated; the handle is used while open.
        unsafe {
            let mut information: libc::Dl_info = std::mem::zeroed();
            if libc::dladdr(code, &mut information) == 0 || information.dli_fname.is_null() {
                return null_mut();
            }
            // By name, or linkers would warn of a static program that it needs shared libraries.
            let open = libc::dlsym(libc::RTLD_DEFAULT, c"dlopen".as_ptr());
            if open.is_null() {
                return null_mut();
            }
            let open: unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void = std::mem::transmute(open);
            let handle = open(information.dli_fname, libc::RTLD_NOLOAD | libc::RTLD_LAZY);
            if handle.is_null() {
                return null_mut();
            }
            let found = libc::dlsym(handle, self.name.as_ptr());
            libc::dlclose(handle);
            found
        }
    }

    /// Ends the program as the dynamic linker does where a function is missing, which it is.
    pub fn missing(&self) -> ! {
        let name = self.name.to_string_lossy();
        crate::process::say(&format!("symbol lookup error: undefined symbol: {name}: no library has it."));
        // SAFETY: this function does not return and needs nothing.
        unsafe { libc::_exit(127) }
    }
}
