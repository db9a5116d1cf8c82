//! The communicators that stamps travel on: one beside each of the program's that was made from one with stamps, made where
//! the program makes its own, which is collective over the same ranks.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::shared::Board;
use super::{key_of, messages, streams};
use crate::groups;
use crate::library::{self, Family, Handle, Int, Ptr, SUCCESS, family};
use crate::own;
use crate::runtime;

/// What is known of a communicator with stamps.
#[derive(Clone, Copy)]
pub struct Known {
    /// Where its messages' and collective operations' stamps go; 0 under SMPI.
    pub shadow: Handle,
    /// Where stamps between the ranks that need each other's data in a collective operation go.
    pub pairs: Handle,
    /// Memory that its ranks share, where they can.
    pub board: Option<&'static Board>,
    /// The same number on all its ranks, for stamps that lie in memory.
    pub number: u64,
    /// This rank.
    pub rank: Int,
    /// Number of ranks.
    pub size: u32,
}

/// And how many communicators of the same ranks were made from it, by [`mixed`] of those ranks; on this rank.
struct Entry {
    known: Known,
    children: HashMap<u64, u64>,
}

static TABLE: Mutex<Option<HashMap<(u64, Handle), Entry>>> = Mutex::new(None);
/// Changes with the table, so that threads know when what they remember is old.
static VERSION: AtomicU64 = AtomicU64::new(1);

/// The communicator that a thread used last, and the version of the table then.
pub type LastKnown = Cell<(u64, Handle, Option<Known>)>;

fn table() -> MutexGuard<'static, Option<HashMap<(u64, Handle), Entry>>> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn insert(key: (u64, Handle), known: Known) {
    table().get_or_insert_default().insert(key, Entry { known, children: HashMap::new() });
    VERSION.fetch_add(1, Ordering::Release);
}

/// What is known of `comm`; `None` where no stamps travel.
#[inline]
pub fn known(family: &Family, comm: Handle) -> Option<Known> {
    if family.has_coroutines {
        return look_up(family, comm);
    }
    let version = VERSION.load(Ordering::Acquire);
    own::with(|own| {
        let (then, handle, known) = own.known.get();
        if (then, handle) == (version, comm) {
            return known;
        }
        let known = look_up(family, comm);
        own.known.set((version, comm, known));
        known
    })
}

fn look_up(family: &Family, comm: Handle) -> Option<Known> {
    let key = key_of(family, comm);
    if let Some(entry) = table().as_ref().and_then(|table| table.get(&key)) {
        return Some(entry.known);
    }
    // Where stamps lie in memory, each rank meets the world when it first uses it.
    (family.has_coroutines && key.1 == family.world).then(|| {
        let known = in_memory(comm, 0);
        insert(key, known);
        known
    })
}

/// This rank's place in `comm`.
fn in_memory(comm: Handle, number: u64) -> Known {
    let (mut rank, mut size) = (0, 0);
    // SAFETY: MPI made or accepted the communicator.
    unsafe {
        library::comm_rank(comm, &mut rank);
        library::comm_size(comm, &mut size);
    }
    Known { shadow: 0, pairs: 0, board: None, number, rank, size: size.unsigned_abs() }
}

/// Makes the world's. `false`, said on standard error, where that fails, and then on all ranks.
pub fn begin(family: &Family) -> bool {
    for comm in [family.world, family.itself] {
        let Some(known) = accompany(family, comm) else {
            runtime::say_of_waiting("MPI_Comm_split of MPI_COMM_WORLD failed, so that waiting is not measured.");
            return false;
        };
        insert(key_of(family, comm), known);
    }
    true
}

/// Frees the world's.
pub fn end(family: &Family) {
    for comm in [family.itself, family.world] {
        let removed = table().as_mut().and_then(|table| table.remove(&key_of(family, comm)));
        VERSION.fetch_add(1, Ordering::Release);
        if let Some(entry) = removed {
            free(&entry.known);
        }
    }
}

fn free(known: &Known) {
    if let Some(board) = known.board {
        // SAFETY: the communicator is out of the table, and the program uses it no more.
        unsafe { board.release() };
    }
    for mut shadow in [known.shadow, known.pairs] {
        if let Some(family) = family().filter(|_| shadow != 0) {
            messages::drain(family, shadow);
            // SAFETY: the communicator is ours; its other ranks free it too.
            unsafe { library::comm_free(&mut shadow) };
        }
    }
}

/// A communicator of the same ranks. Not a duplicate: that would copy the program's attributes by its own functions.
/// Errors are returned meanwhile, since MPI's limit of communicators is the program's.
fn split(family: &Family, comm: Handle, rank: Int) -> Option<Handle> {
    let (mut shadow, mut handler): (Handle, Handle) = (0, 0);
    // SAFETY: all ranks of the communicator are here, where they make it or begin.
    unsafe {
        if library::comm_get_errhandler(comm, &mut handler) != SUCCESS {
            return None;
        }
        library::comm_set_errhandler(comm, family.errors_return);
        let made = library::comm_split(comm, 0, rank, &mut shadow) == SUCCESS;
        library::comm_set_errhandler(comm, handler);
        library::errhandler_free(&mut handler);
        if made {
            library::comm_set_errhandler(shadow, family.errors_return);
        }
        made.then_some(shadow)
    }
}

/// Communicators of the program's that may be accompanied at a time. MPICH has room for 2,048 in all, of which each of these takes three.
const MOST: u64 = 256;

/// Whether there is room for companions on all ranks of `comm`, which the program has just made.
fn has_room(family: &Family, comm: Handle) -> bool {
    let (own, mut most) = (table().as_ref().map_or(0, HashMap::len) as u64, u64::MAX);
    let (from, to) = ((&raw const own).cast_mut().cast(), (&raw mut most).cast());
    // SAFETY: all ranks of the communicator are here, and both buffers have room for the word.
    let code = unsafe { library::allreduce(from, to, 1, family.uint64, family.max, comm) };
    if code == SUCCESS && most >= MOST {
        runtime::say_of_waiting(&format!(
            "more than {MOST} communicators at once: on further ones waiting is not measured, since MPI's room for communicators is the program's."
        ));
    }
    code == SUCCESS && most < MOST
}

fn accompany(family: &Family, comm: Handle) -> Option<Known> {
    let known = in_memory(comm, 0);
    let shadow = split(family, comm, known.rank)?;
    let Some(pairs) = split(family, comm, known.rank) else {
        free(&Known { shadow, ..known });
        return None;
    };
    let known = Known { shadow, pairs, ..known };
    Some(Known { board: Board::make(family, &known), ..known })
}

/// The program has made a communicator from `parent`; `new` leads to its handle.
///
/// # Safety
/// MPI has just accepted the call with these arguments.
pub unsafe fn made(parent: Handle, new: Ptr) {
    let Some(family) = family() else { return };
    // SAFETY: the caller's promise.
    let comm = unsafe { family.read(new, 0) };
    let Some(of) = known(family, parent) else { return };
    if family.handle(comm) == family.comm_null {
        return;
    }
    let known = if family.has_coroutines {
        numbered(family, parent, &of, comm)
    } else {
        has_room(family, comm).then(|| accompany(family, comm)).flatten()
    };
    if let Some(known) = known {
        insert(key_of(family, comm), known);
    }
}

/// A mixture of numbers that differs for the communicators of one program (FNV).
fn mixed(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers
        .into_iter()
        .fold(0xcbf2_9ce4_8422_2325, |mixed, number| (mixed ^ number).wrapping_mul(0x0000_0100_0000_01b3))
}

/// What is known of `comm`, just made from `parent`. Its number is the same on all its ranks, and another on those that
/// the same call put elsewhere: of the parent's number, the ranks, and how many such were made before. All of these
/// ranks have counted that, since each of them took part, also where others of the parent's did not.
fn numbered(family: &Family, parent: Handle, of: &Known, comm: Handle) -> Option<Known> {
    let known = in_memory(comm, 0);
    // SAFETY: MPI made the communicator.
    let there = unsafe { groups::translated(family, comm, false, known.size) }?;
    let ranks = mixed(there.iter().map(|&rank| u64::from(rank.cast_unsigned())));
    let mut table = table();
    let count = table.as_mut()?.get_mut(&key_of(family, parent))?.children.entry(ranks).or_default();
    *count += 1;
    Some(Known { number: mixed([of.number, ranks, *count]), ..known })
}

/// Takes the communicator out of the table, which `comm` leads to and the program is about to free.
///
/// # Safety
/// The argument leads to a handle, or is NULL in a wrong program.
pub unsafe fn forget(comm: Ptr) -> Option<Known> {
    let family = family().filter(|_| !comm.is_null())?;
    // SAFETY: the caller's promise.
    let key = key_of(family, unsafe { family.read(comm, 0) });
    let removed = table().as_mut()?.remove(&key)?;
    VERSION.fetch_add(1, Ordering::Release);
    streams::forget(key);
    Some(removed.known)
}

/// Frees what accompanied a communicator that the program has freed.
pub fn release(known: &Known) {
    free(known);
}
