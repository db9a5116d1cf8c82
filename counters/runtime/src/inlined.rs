//! Source-level call paths: functions that were inlined are nodes below the function that they are in, though nothing is
//! entered or left for them. Instrumented code says what they counted, and where calls stand in them.

use std::ptr::null;

use crate::tree::{Node, Region};

/// A chain of inlined functions; `struct poise_inlined` of `poise_runtime.h`.
#[repr(C)]
pub struct Inlined {
    /// The function that this one was inlined into; null where that is the function that was entered.
    outer: *const Inlined,
    /// This function.
    region: *const Region,
}

/// Where in inlined functions the next call stands; null where it stands in the function that was entered.
#[repr(transparent)]
pub struct Site(*const Inlined);

impl Site {
    /// Forgets the call: it was made.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.0 = null();
    }

    /// Takes the call's chain; null where it has none.
    #[inline(always)]
    pub fn take(&mut self) -> *const Inlined {
        std::mem::replace(&mut self.0, null())
    }
}

/// The node of the inlined function `inlined` below `parent`, by `callee`, which gives a callee's node.
///
/// # Safety
/// `inlined` must be null or lead to constants of an instrumented program.
pub unsafe fn below(
    inlined: *const Inlined,
    parent: *mut Node,
    callee: &mut impl FnMut(*mut Node, *const Region) -> *mut Node,
) -> *mut Node {
    // SAFETY: the caller's promise.
    let Some(this) = (unsafe { inlined.as_ref() }) else { return parent };
    // SAFETY: as above; chains are as long as functions are nested in each other.
    let outer = unsafe { below(this.outer, parent, callee) };
    // Below a marked region that began in the function is still in the function.
    // SAFETY: the caller gives nodes of its tree.
    if unsafe { Node::is_within(outer, this.region) } { outer } else { callee(outer, this.region) }
}
