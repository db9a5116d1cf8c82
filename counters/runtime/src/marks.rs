//! Regions marked by hand: the names they have in common, and the marks of each thread that are open. The interface is
//! `counters/markers/poise.h`.
//!
//! A region is left by its own mark, by the end of a region around it, or with the function in which it began. The call
//! tree alone cannot tell these apart, since recursion folds; so each thread keeps what it has begun.

use std::ffi::{CStr, CString, c_char};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, Ordering};

use crate::inlined::Token;
use crate::process;
use crate::shielded;
use crate::thread;
use crate::tree::{Node, Region};

/// `struct poise_mark`.
#[repr(C)]
pub struct Mark {
    name: *const c_char,
    region: AtomicPtr<Region>,
}

/// `struct poise_marks`: whether a program or library is to tell its marks.
#[repr(C)]
pub struct Marks {
    on: AtomicI32,
    next: AtomicPtr<Marks>,
}

/// A region of this name, which lives as long as the process.
struct Named {
    region: Region,
    next: *mut Named,
    /// What the region's name points to.
    name: CString,
}

/// Marked regions by a hash of their names; what is in a list stays there.
static NAMED: [AtomicPtr<Named>; 256] = [const { AtomicPtr::new(null_mut()) }; 256];
/// Programs and libraries that were loaded before this library was ready, which happens in static programs.
static EARLY: AtomicPtr<Marks> = AtomicPtr::new(null_mut());
static READY: AtomicBool = AtomicBool::new(false);

/// Open regions that a thread remembers; of more it forgets the older half.
const MOST: usize = 1 << 20;

/// A region that began and has not ended yet.
#[derive(Clone, Copy)]
pub struct Open {
    region: *const Region,
    /// What entering it gave.
    before: Token,
    /// The region's node.
    inside: *mut Node,
    /// Whether another function has ended it: the one in which it began leads back into it, and is led out by its next mark.
    has_ended: bool,
}

/// What did not match, and the first region for which it did not.
struct Mismatch {
    ends_alone: AtomicU64,
    begins_alone: AtomicU64,
    elsewhere: AtomicU64,
    first: AtomicPtr<Region>,
}

static MISMATCH: Mismatch = Mismatch {
    ends_alone: AtomicU64::new(0),
    begins_alone: AtomicU64::new(0),
    elsewhere: AtomicU64::new(0),
    first: AtomicPtr::new(null_mut()),
};

impl Mismatch {
    #[cold]
    fn count(&self, kind: &AtomicU64, region: *const Region) {
        kind.fetch_add(1, Ordering::Relaxed);
        let _ = self.first.compare_exchange(null_mut(), region.cast_mut(), Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// See `poise_marks_attach`.
pub fn attach(marks: &'static Marks) {
    if READY.load(Ordering::Acquire) {
        marks.on.store(i32::from(process::is_active()), Ordering::Relaxed);
        return;
    }
    let is_first = marks.next.swap(EARLY.load(Ordering::Relaxed), Ordering::Relaxed).is_null();
    if is_first {
        EARLY.store(std::ptr::from_ref(marks).cast_mut(), Ordering::Relaxed);
    }
}

/// The environment has been read; before the program's own code runs.
pub fn start() {
    READY.store(true, Ordering::Release);
    let mut marks = EARLY.swap(null_mut(), Ordering::Relaxed);
    // SAFETY: the list holds objects of the program, which nothing unloads this early.
    while let Some(early) = unsafe { marks.as_ref() } {
        early.on.store(i32::from(process::is_active()), Ordering::Relaxed);
        let next = early.next.load(Ordering::Relaxed);
        marks = if next == marks { null_mut() } else { next };
    }
}

/// The region that `mark` names; null where memory is missing.
///
/// # Safety
/// The mark's name must be NUL-terminated.
unsafe fn region(mark: &Mark) -> *const Region {
    let known = mark.region.load(Ordering::Acquire);
    if !known.is_null() {
        return known;
    }
    let name = mark.name;
    // SAFETY: the caller's promise.
    let region = shielded(std::ptr::null(), move || find(unsafe { CStr::from_ptr(name) }));
    mark.region.store(region.cast_mut(), Ordering::Release);
    region
}

/// The region called `name`, made where it is new.
fn find(name: &CStr) -> *const Region {
    let hash = name.to_bytes().iter().fold(5381_usize, |hash, &byte| hash.wrapping_mul(33) ^ usize::from(byte));
    let list = &NAMED[hash % NAMED.len()];
    let mut made: *mut Named = null_mut();
    loop {
        let first = list.load(Ordering::Acquire);
        let mut next = first;
        // SAFETY: what is in a list stays there and does not change.
        while let Some(named) = unsafe { next.as_ref() } {
            if named.name.as_c_str() == name {
                if !made.is_null() {
                    // SAFETY: it came from a box below, and nobody has seen it.
                    drop(unsafe { Box::from_raw(made) });
                }
                return &raw const named.region;
            }
            next = named.next;
        }
        if made.is_null() {
            let name = name.to_owned();
            let region = Region { name: name.as_ptr(), file: std::ptr::null(), line: 0, kind: 2, flags: 0 };
            made = Box::into_raw(Box::new(Named { region, next: null_mut(), name }));
        }
        // SAFETY: only this thread knows it yet.
        unsafe { (*made).next = first };
        if list.compare_exchange(first, made, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            // SAFETY: it stays in the list.
            return unsafe { &raw const (*made).region };
        }
    }
}

/// See `poise_region_begin`.
///
/// # Safety
/// The mark's name must be NUL-terminated.
pub unsafe fn begin(mark: &Mark) {
    // SAFETY: the caller's promise.
    let region = unsafe { region(mark) };
    if region.is_null() {
        return;
    }
    thread::with_open(|open, current| Some(leave_ended(open, current)).filter(|&to| to != current).map(Token::of_node));
    let before = thread::enter(region);
    let inside = thread::current();
    thread::with_open(move |open, _| {
        if open.len() >= MOST {
            open.drain(..MOST / 2).for_each(|lost| MISMATCH.count(&MISMATCH.begins_alone, lost.region));
        }
        open.push(Open { region, before, inside, has_ended: false });
        None
    });
}

/// See `poise_region_end`.
///
/// # Safety
/// As of [`begin`].
pub unsafe fn end(mark: &Mark) {
    // SAFETY: the caller's promise.
    let region = unsafe { region(mark) };
    if region.is_null() {
        return;
    }
    thread::with_open(move |open, at| {
        let current = leave_ended(open, at);
        let moved = Some(current).filter(|&current| current != at).map(Token::of_node);
        let Some(index) = open.iter().rposition(|open| std::ptr::eq(open.region, region) && !open.has_ended) else {
            MISMATCH.count(&MISMATCH.ends_alone, region);
            return moved;
        };
        let is_last = index + 1 == open.len();
        let inner = open.drain(index + 1..).filter(|inner| !inner.has_ended);
        inner.for_each(|inner| MISMATCH.count(&MISMATCH.begins_alone, inner.region));
        let Open { before, inside, .. } = open[index];
        // SAFETY: nodes are of this thread's tree.
        let is_inside = unsafe { Node::is_on_path(current, inside) };
        if is_inside && current != inside && is_last {
            MISMATCH.count(&MISMATCH.elsewhere, region);
            open[index].has_ended = true;
            return moved;
        }
        open.truncate(index);
        if is_inside {
            return Some(before);
        }
        // SAFETY: tokens are of this thread's tree.
        if current != unsafe { before.back() }.0 {
            // An exception or a jump out of the region leads back to `before`; here the function has returned.
            MISMATCH.count(&MISMATCH.begins_alone, region);
        }
        moved
    });
}

/// Leaves the regions that another function ended, where the function in which they began has the thread again: gives the
/// node to go to.
fn leave_ended(open: &mut Vec<Open>, mut current: *mut Node) -> *mut Node {
    while let Some(last) = open.last().filter(|last| last.has_ended) {
        if current == last.inside {
            // SAFETY: tokens are of this thread's tree.
            current = unsafe { last.before.back() }.0;
        // SAFETY: nodes are of this thread's tree.
        } else if unsafe { Node::is_on_path(current, last.inside) } {
            break;
        }
        open.pop();
    }
    current
}

/// Counts those of `open` that were left without their end, when the thread is at `current` for the last time.
pub fn check(open: &mut Vec<Open>, current: *mut Node) {
    for Open { region, inside, .. } in open.drain(..).filter(|open| !open.has_ended) {
        // A program may end inside a region.
        // SAFETY: nodes are of this thread's tree.
        if !unsafe { Node::is_on_path(current, inside) } {
            MISMATCH.count(&MISMATCH.begins_alone, region);
        }
    }
}

/// What did not match in this process, in a sentence; `None` where all did.
pub fn mismatch() -> Option<String> {
    // SAFETY: the region is one of `find`'s, which live as long as the process.
    let first = unsafe { MISMATCH.first.load(Ordering::Acquire).as_ref() }?;
    // SAFETY: as above.
    let name = unsafe { CStr::from_ptr(first.name) }.to_string_lossy().into_owned();
    let kinds = [
        (&MISMATCH.ends_alone, "ended without having begun"),
        (&MISMATCH.begins_alone, "left without its end"),
        (&MISMATCH.elsewhere, "ended in another function than it began in"),
    ];
    let kinds = kinds.map(|(count, what)| (count.load(Ordering::Relaxed), what));
    let kinds: Vec<_> = kinds.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{what} {n} times")).collect();
    Some(format!("regions marked by hand do not match: {}; the first is \"{name}\".", kinds.join(", ")))
}
