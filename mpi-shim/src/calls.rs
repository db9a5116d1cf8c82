//! Whether a process is within an MPI call, and whether that is still the same one, for whoever reads its memory: MPI
//! libraries wait without sleeping, so that ranks which wait for each other for ever look as if they computed.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::library::{self, Int, SUCCESS};

/// Stands before the number, so that nobody takes another word for it.
const MARK: [u8; 8] = *b"mpicalls";
/// Set where the number says nothing: several threads may be within calls at the same time, or processes that were not
/// started with this one may end its waiting.
const SILENT: u64 = 1 << 63;
/// `MPI_THREAD_MULTIPLE`, in Open MPI as in MPICH.
const MULTIPLE: Int = 3;

/// What `poise run` finds by its name.
#[repr(C)]
pub struct Calls {
    mark: [u8; 8],
    /// How many calls have begun, and how many have ended: odd within one.
    number: AtomicU64,
}

#[unsafe(export_name = "poise_mpi_calls")]
static CALLS: Calls = Calls { mark: MARK, number: AtomicU64::new(0) };

/// What a call that lasts means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// The rank waits for others.
    Waits,
    /// It may as well read or write files, or set up what there is to communicate with.
    Works,
    /// As [`Meaning::Waits`]; from then on the number says nothing.
    Silences,
}

impl Meaning {
    /// Of the MPI function of this name.
    pub const fn of(name: &str) -> Self {
        match name.as_bytes() {
            [b'F', b'i', b'l', b'e', b'_', ..] | b"Init" | b"Init_thread" => Self::Works,
            b"Comm_spawn" | b"Comm_spawn_multiple" | b"Comm_accept" | b"Comm_connect" | b"Comm_join" => Self::Silences,
            // Each session has a level of threads of its own.
            b"Session_init" => Self::Silences,
            _ => Self::Waits,
        }
    }

    /// A call begins.
    #[inline(always)]
    pub fn begin(self) {
        if self == Self::Silences {
            CALLS.number.fetch_or(SILENT, Relaxed);
        }
        self.turn();
    }

    /// It ends.
    #[inline(always)]
    pub fn end(self) {
        self.turn();
    }

    /// Threads that may not call at the same time need no more than a load and a store.
    #[inline(always)]
    fn turn(self) {
        if self != Self::Works {
            CALLS.number.store(CALLS.number.load(Relaxed).wrapping_add(1), Relaxed);
        }
    }
}

/// Whether several threads may call MPI at the same time.
pub fn may_overlap() -> bool {
    CALLS.number.load(Relaxed) & SILENT != 0
}

/// MPI has begun. What level of threads it has may come from its own settings, whatever the program asked for.
pub fn initialised() {
    let mut level = 0;
    // SAFETY: MPI is initialised, and the level goes to a place of ours.
    let said = unsafe { library::query_thread(&mut level) };
    if said != SUCCESS || level >= MULTIPLE {
        CALLS.number.fetch_or(SILENT, Relaxed);
    }
}
