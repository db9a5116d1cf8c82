//! Call paths of MPI operations in programs that nobody instrumented: the functions on the stack, from `main` to the one
//! that calls MPI.
//!
//! A stack is walked by the unwinder, which takes some microseconds. What a walk found is kept with the places on the stack
//! where it found the return addresses: where these hold the same addresses again, the call path is the same.

mod functions;

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::null;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::tree::{Node, Region, Tree};

/// Whether stacks are looked at.
static ON: AtomicBool = AtomicBool::new(false);
/// Call paths that a thread keeps: sets by a hash of where they were found, of so many each.
const SETS: usize = 64;
const KEPT: usize = 4;
/// Operations whose frames' sizes a thread keeps.
const OPERATIONS: usize = 64;
/// Frames that are looked at; beyond them call paths begin anew.
const DEEPEST: usize = 1 << 20;
/// Deeper stacks are walked each time.
const DEEPEST_KEPT: usize = 512;
/// A wrapper's frame and those of this library are at most so large.
const LARGEST_OFFSET: usize = 16 << 10;

/// Begins to look at stacks.
pub fn start() {
    ON.store(true, Ordering::Relaxed);
}

/// Whether stacks are looked at.
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// A frame of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Frame {
    /// Where its function goes on.
    address: usize,
    /// Where on the stack that is written.
    slot: usize,
}

/// A call path and where it was found.
struct Kept {
    /// A place in the stack, below all frames.
    place: usize,
    /// The frames of the call path and what is between them, innermost first.
    frames: Vec<Frame>,
    node: *mut Node,
}

/// What a thread has seen on its stack.
pub struct Stacks {
    /// By a hash of where it was found.
    kept: Vec<Vec<Kept>>,
    /// By a hash of the operation: how far above the place it is written where the operation returns to the program.
    offsets: [(*const Region, usize); OPERATIONS],
    /// By address.
    places: HashMap<usize, functions::Place>,
    /// How many libraries had gone when all this was found.
    gone: u64,
}

impl Default for Stacks {
    fn default() -> Self {
        Self { kept: Vec::new(), offsets: [(null(), 0); OPERATIONS], places: HashMap::new(), gone: 0 }
    }
}

impl Stacks {
    /// Where an operation's offset is kept.
    fn offset(operation: *const Region) -> usize {
        operation as usize / size_of::<Region>() % OPERATIONS
    }

    /// In which set the call path is kept that leads to `operation` from `place` and returns to `address`.
    fn set(operation: *const Region, place: usize, address: usize) -> usize {
        // Fibonacci hashing.
        let mixed =
            (operation as usize ^ place.rotate_left(20) ^ address.rotate_left(40)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed >> (usize::BITS - SETS.trailing_zeros())
    }

    /// The node of the call path that the stack shows, if it was seen before.
    ///
    /// # Safety
    /// `place` must be on the calling thread's stack and in use.
    pub unsafe fn known(&self, operation: *const Region, place: usize) -> Option<*mut Node> {
        let (of, offset) = self.offsets[Self::offset(operation)];
        if !std::ptr::eq(of, operation) {
            return None;
        }
        // SAFETY: the stack goes on from the place to the frame that called the wrapper, which is as far in each of its calls but
        // for the entry by the other of its two names; and beyond that to what started the thread, which is larger than the
        // difference. Above a place, what is kept was on the same stack.
        let read = |slot: usize| unsafe { (slot as *const usize).read_volatile() };
        let address = read(place + offset);
        let is_same = |kept: &&Kept| kept.place == place && kept.frames.iter().all(|f| read(f.slot) == f.address);
        let kept = self.kept.get(Self::set(operation, place, address))?;
        kept.iter().find(is_same).map(|kept| kept.node)
    }

    /// Walks the stack and gives the node of its call path in `tree`.
    ///
    /// # Safety
    /// As [`Stacks::known`]; the tree must be the calling thread's.
    pub unsafe fn find(&mut self, tree: *mut Tree, operation: *const Region, place: usize) -> *mut Node {
        let gone = functions::gone();
        if self.gone != gone {
            *self = Self { gone, ..Self::default() };
        }
        let frames = walk();
        let functions::Part { first, regions, last } = functions::path(&frames, operation, &mut self.places);
        // SAFETY: the caller's promise; regions of functions live as long as the process.
        let node = unsafe {
            (*tree).note_stack();
            (*tree).path(&regions)
        };
        let used = &frames[first..last];
        // SAFETY: these are places on the calling thread's stack.
        let can_be_kept = used.iter().all(|f| f.slot > place && unsafe { *(f.slot as *const usize) } == f.address);
        if let Some(outside) = used.first().filter(|f| can_be_kept && f.slot - place < LARGEST_OFFSET)
            && used.len() <= DEEPEST_KEPT
        {
            self.offsets[Self::offset(operation)] = (operation, outside.slot - place);
            self.kept.resize_with(SETS, Vec::new);
            let set = &mut self.kept[Self::set(operation, place, outside.address)];
            // The newest are looked at first, and the oldest goes.
            set.truncate(KEPT - 1);
            set.insert(0, Kept { place, frames: used.to_vec(), node });
        }
        node
    }
}

unsafe extern "C" {
    fn _Unwind_Backtrace(see: extern "C" fn(*mut c_void, *mut c_void) -> i32, to: *mut c_void) -> i32;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
}

/// The frames of the calling thread's stack, innermost first.
#[inline(never)]
fn walk() -> Vec<Frame> {
    extern "C" fn see(context: *mut c_void, frames: *mut c_void) -> i32 {
        const GO_ON: i32 = 0;
        const STOP: i32 = 4;
        // SAFETY: the unwinder gives what `walk` gave it.
        let frames = unsafe { &mut *frames.cast::<Vec<Frame>>() };
        // SAFETY: the context is the unwinder's.
        let (address, inner) = unsafe { (_Unwind_GetIP(context), _Unwind_GetCFA(context)) };
        if address == 0 || frames.len() == DEEPEST {
            return STOP;
        }
        // On x86-64 a call leaves its return address below the caller's part of the stack. Elsewhere a function keeps it
        // where it likes, so that no call path is kept.
        frames.push(Frame { address, slot: if cfg!(target_arch = "x86_64") { inner.wrapping_sub(8) } else { 0 } });
        GO_ON
    }
    let mut frames: Vec<Frame> = Vec::with_capacity(DEEPEST_KEPT);
    // SAFETY: the function has the unwinder's signature and does not unwind; the list outlives the call.
    unsafe { _Unwind_Backtrace(see, (&raw mut frames).cast()) };
    frames
}
