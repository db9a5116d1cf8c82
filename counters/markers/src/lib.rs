//! Regions marked by hand in Rust programs: parts that are call paths of their own, by name.
//!
//! ```
//! fn step() {
//!     let _solve = poise_markers::region!("solve");
//!     // From here to the end of the block, whatever way it is left.
//! }
//! step();
//! ```
//!
//! Nothing needs to be linked: the runtime of Counterpoise is looked for in the process when the first mark is met (`poise run`
//! preloads it). Without it, or when it does not measure, a mark is one load and one branch that is never taken.

use std::ffi::{c_char, c_int, c_void};
use std::marker::PhantomData;
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// One place in the program: `struct poise_mark` of `poise.h`.
#[repr(C)]
pub struct Mark {
    name: *const c_char,
    region: AtomicPtr<c_void>,
}

// SAFETY: the name is constant, and the runtime reads and writes the other word atomically.
unsafe impl Sync for Mark {}

/// A region that has begun, and ends when this is dropped. It stays on its thread, whose call path it is part of.
#[must_use = "the region ends when this is dropped"]
pub struct Region {
    mark: Option<&'static Mark>,
    stays: PhantomData<*mut ()>,
}

type Tell = unsafe extern "C" fn(&Mark);

/// Nobody has looked for the runtime yet.
const UNKNOWN: usize = 0;
/// There is none that measures.
const OFF: usize = 1;

/// [`UNKNOWN`], [`OFF`], or the address of `poise_region_begin`.
static BEGIN: AtomicUsize = AtomicUsize::new(UNKNOWN);
/// The address of `poise_region_end`, stored before that of the other.
static END: AtomicUsize = AtomicUsize::new(OFF);

/// A region of this name, from here to the end of the block: `let _solve = region!("solve");`. The name is a literal.
#[macro_export]
macro_rules! region {
    ($name:literal) => {{
        static MARK: $crate::Mark = $crate::Mark::new(concat!($name, "\0"));
        MARK.begin()
    }};
}

impl Mark {
    /// The mark of the region `name`, which ends with a NUL.
    ///
    /// # Panics
    /// When it does not.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        let bytes = name.as_bytes();
        assert!(!bytes.is_empty() && bytes[bytes.len() - 1] == 0, "the name ends with a NUL");
        Self { name: name.as_ptr().cast(), region: AtomicPtr::new(null_mut()) }
    }

    /// Begins the region.
    #[inline]
    pub fn begin(&'static self) -> Region {
        let mut begin = BEGIN.load(Ordering::Acquire);
        if begin == UNKNOWN {
            begin = look();
        }
        if begin == OFF {
            return Region { mark: None, stays: PhantomData };
        }
        // SAFETY: the address is that of the runtime's function.
        unsafe { transmute::<usize, Tell>(begin)(self) };
        Region { mark: Some(self), stays: PhantomData }
    }
}

impl Drop for Region {
    #[inline]
    fn drop(&mut self) {
        if let Some(mark) = self.mark {
            // SAFETY: the address is that of the runtime's function, stored before the region could begin.
            unsafe { transmute::<usize, Tell>(END.load(Ordering::Relaxed))(mark) };
        }
    }
}

/// Looks for a runtime that measures. Threads that look at once find the same.
#[cold]
fn look() -> usize {
    unsafe extern "C" {
        fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    }
    // SAFETY: the names end with a NUL; null is RTLD_DEFAULT on Linux.
    let [active, begin, end] = [c"poise_active", c"poise_region_begin", c"poise_region_end"]
        .map(|name| unsafe { dlsym(null_mut(), name.as_ptr()) } as usize);
    // SAFETY: the address is that of the runtime's `int poise_active(void)`.
    let measures = active != 0 && unsafe { transmute::<usize, extern "C" fn() -> c_int>(active)() } != 0;
    let begin = if measures && begin != 0 && end != 0 { begin } else { OFF };
    END.store(end, Ordering::Relaxed);
    BEGIN.store(begin, Ordering::Release);
    begin
}
