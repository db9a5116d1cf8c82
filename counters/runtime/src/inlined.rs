//! Source-level call paths: functions that were inlined are nodes below the function that they are in, though nothing is
//! entered or left for them. Instrumented code says what they counted, and where calls stand in them.

use std::ptr::{null, null_mut};

use crate::tree::{Node, Region};

/// A chain of inlined functions; `struct poise_inlined` of `poise_runtime.h`.
#[repr(C)]
pub struct Inlined {
    /// The inlined function that this one was inlined into; null where that is the function that was entered.
    outer: *const Inlined,
    /// This function.
    region: *const Region,
}

/// Where in inlined functions the next call stands; null where it stands in the function that was entered.
#[repr(transparent)]
pub struct Site(*const Inlined);

impl Site {
    /// The call's chain; null where it has none.
    #[inline(always)]
    pub fn get(&self) -> *const Inlined {
        self.0
    }

    /// Makes `inlined` the chain of the next call.
    #[inline(always)]
    pub fn set(&mut self, inlined: *const Inlined) {
        self.0 = inlined;
    }
}

/// A place in functions inlined into a node's, from which it calls others. Nodes hold theirs in a ring.
pub struct Place {
    /// The node of the function that was entered.
    node: *mut Node,
    inlined: *const Inlined,
    /// The node of the innermost function, which what is called goes below.
    inside: *mut Node,
    next: *mut Place,
}

impl Place {
    /// The place `inlined` of `node`; null where it is new.
    ///
    /// # Safety
    /// `node` must be of the calling thread's tree.
    #[inline(always)]
    pub unsafe fn find(node: *mut Node, inlined: *const Inlined) -> *mut Self {
        // SAFETY: the caller's promise; places live as long as their nodes.
        unsafe {
            let last = *Node::places(node);
            if last.is_null() || std::ptr::eq((*last).inlined, inlined) {
                return last;
            }
            let mut place = (*last).next;
            while place != last {
                if std::ptr::eq((*place).inlined, inlined) {
                    *Node::places(node) = place;
                    return place;
                }
                place = (*place).next;
            }
        }
        null_mut()
    }

    /// Adds the place `inlined` to those of `node`.
    ///
    /// # Safety
    /// Both nodes must be of the calling thread's tree, and the place new.
    pub unsafe fn add(node: *mut Node, inlined: *const Inlined, inside: *mut Node) -> *mut Self {
        let place = Box::into_raw(Box::new(Self { node, inlined, inside, next: null_mut() }));
        // SAFETY: the caller's promise; the new place is seen when its own link is set.
        unsafe {
            let last = *Node::places(node);
            if last.is_null() {
                (*place).next = place;
            } else {
                (*place).next = (*last).next;
                (*last).next = place;
            }
            *Node::places(node) = place;
        }
        place
    }

    /// Frees a ring of places.
    ///
    /// # Safety
    /// `first` must be null or of a node that is about to go.
    pub unsafe fn free(first: *mut Self) {
        let mut place = first;
        while !place.is_null() {
            // SAFETY: places came from boxes, and each is freed once, since the walk ends at the first.
            let next = unsafe { Box::from_raw(place).next };
            place = if next == first { null_mut() } else { next };
        }
    }
}

/// Set in a [`Token`] that is a place.
const PLACE: usize = 1;

/// What entering gives for leaving: the node to go back to, or the place in its inlined functions from which the call went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Token(usize);

impl Token {
    /// Nothing was entered.
    pub const NONE: Self = Self(0);

    /// That of a call out of the function itself.
    #[inline(always)]
    pub fn of_node(node: *mut Node) -> Self {
        Self(node as usize)
    }

    /// That of a call out of an inlined function.
    #[inline(always)]
    pub fn of_place(place: *mut Place) -> Self {
        Self(place as usize | PLACE)
    }

    /// The token that C code was given.
    #[inline(always)]
    pub fn of_raw(raw: *mut std::ffi::c_void) -> Self {
        Self(raw as usize)
    }

    /// The token as C code holds it.
    #[inline(always)]
    pub fn into_raw(self) -> *mut std::ffi::c_void {
        self.0 as *mut _
    }

    #[inline(always)]
    fn place(self) -> Option<*mut Place> {
        (self.0 & PLACE != 0).then_some((self.0 & !PLACE) as *mut Place)
    }

    /// The node to go back to, and where in its inlined functions the call stood; null where it stood in none.
    ///
    /// # Safety
    /// The token must be of the calling thread's tree, which lives.
    #[inline(always)]
    pub unsafe fn back(self) -> (*mut Node, *const Inlined) {
        match self.place() {
            None => (self.0 as *mut Node, null()),
            // SAFETY: the caller's promise.
            Some(place) => unsafe { ((*place).node, (*place).inlined) },
        }
    }

    /// The node that what was called is below.
    ///
    /// # Safety
    /// As of [`Token::back`].
    #[inline(always)]
    pub unsafe fn inside(self) -> *mut Node {
        match self.place() {
            None => self.0 as *mut Node,
            // SAFETY: the caller's promise.
            Some(place) => unsafe { (*place).inside },
        }
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
