//! What each thread has to itself here, reached without a call: a library's ordinary thread-local storage costs a call of the loader's at
//! each use, of which an MPI call with waiting made some thirty.

use std::arch::global_asm;
use std::cell::{Cell, RefCell};

use crate::groups::Remembered;
use crate::waiting::{LastKnown, Sizes, Slots};

// Words of the initial-exec model, which stable Rust cannot declare: at a constant distance from the thread pointer, and zero in a new thread.
// Both assemblers take `%` here.
global_asm!(
    ".pushsection .tbss,\"awT\",%nobits",
    ".globl poise_mpi_words",
    ".hidden poise_mpi_words",
    ".type poise_mpi_words, %object",
    ".size poise_mpi_words, 16",
    ".balign 16",
    "poise_mpi_words:",
    ".zero 16",
    ".popsection",
);

#[repr(C)]
struct Words {
    /// Whether a measured call runs on this thread.
    inside: Cell<bool>,
    /// Whether the function that begins was called by its name of the profiling interface.
    profiling: Cell<bool>,
    /// A box, or null as long as the thread has not needed it.
    own: Cell<*const Own>,
}

/// What a thread remembers.
#[derive(Default)]
pub struct Own {
    /// Ranks of communicators.
    pub groups: Remembered,
    /// The communicator with stamps that was used last.
    pub known: LastKnown,
    /// Sizes of datatypes.
    pub sizes: Sizes,
    /// Stamps under way.
    pub slots: RefCell<Slots>,
}

/// The calling thread's words.
#[inline(always)]
fn words() -> &'static Words {
    let address: *const Words;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads the thread pointer and the symbol's offset from it, both constant in a thread.
    unsafe {
        std::arch::asm!(
            "mov {0}, qword ptr fs:[0]",
            "add {0}, qword ptr [rip + poise_mpi_words@GOTTPOFF]",
            out(reg) address,
            options(pure, nomem, nostack)
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!(
            "mrs {0}, tpidr_el0",
            "adrp {1}, :gottprel:poise_mpi_words",
            "ldr {1}, [{1}, :gottprel_lo12:poise_mpi_words]",
            "add {0}, {0}, {1}",
            out(reg) address,
            out(reg) _,
            options(pure, nomem, nostack)
        );
    }
    // SAFETY: the words are this thread's as long as it lives, and all zeros are values of theirs; a reference does not leave
    // the functions below.
    unsafe { &*address }
}

/// Whether a measured call runs on this thread.
#[inline(always)]
pub fn is_inside() -> bool {
    words().inside.get()
}

/// One begins or ends; whether one ran before.
#[inline(always)]
pub fn set_inside(inside: bool) -> bool {
    words().inside.replace(inside)
}

/// A function is called by its name of the profiling interface, `PMPI_X`; nothing comes between this and [`take_profiling`].
#[inline(always)]
pub fn set_profiling() {
    words().profiling.set(true);
}

/// Whether the function that begins was called so.
#[inline(always)]
pub fn take_profiling() -> bool {
    words().profiling.replace(false)
}

/// Uses what the calling thread remembers.
#[inline(always)]
pub fn with<T>(then: impl FnOnce(&Own) -> T) -> T {
    let own = words().own.get();
    let own = if own.is_null() { begin() } else { own };
    // SAFETY: the box lives until the thread ends, and nothing borrowed of it leaves `then`.
    then(unsafe { &*own })
}

/// Frees a thread's box when it ends.
struct End(*mut Own);

impl Drop for End {
    fn drop(&mut self) {
        words().own.set(std::ptr::null());
        // SAFETY: the box is this thread's, and nobody finds it any more.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

thread_local! {
    static END: Cell<Option<End>> = const { Cell::new(None) };
}

#[cold]
#[inline(never)]
fn begin() -> *const Own {
    let own = Box::into_raw(Box::<Own>::default());
    words().own.set(own);
    // Where the thread's storage is gone already, since its end calls MPI, the box stays.
    let _ = END.try_with(|end| end.set(Some(End(own))));
    own
}
