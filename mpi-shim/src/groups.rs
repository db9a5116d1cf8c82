//! The ranks of communicators: how many, which of them this is, and what each is in MPI_COMM_WORLD. Threads remember what they asked
//! MPI for last, since the answer takes longer than all else that is recorded of a call. It stays right until a
//! communicator is freed, after which MPI may give its handle to another.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::library::{self, Family, Handle, Int, SUCCESS, family};
use crate::own;
use crate::runtime;

/// What the ranks of a communicator are in MPI_COMM_WORLD.
#[derive(Clone, Copy, Debug, Default)]
pub enum Ranks {
    /// The same.
    Same,
    /// These; negative for ranks of other worlds.
    Others(&'static [Int]),
    /// Not known.
    #[default]
    Unknown,
}

/// In place of a rank in MPI_COMM_WORLD that is not known.
pub const NOBODY: u32 = u32::MAX;

impl Ranks {
    /// What `rank`, which is no special value of MPI's, is in MPI_COMM_WORLD; or [`NOBODY`].
    #[inline(always)]
    pub fn of(self, rank: Int) -> u32 {
        match self {
            Self::Same => u32::try_from(rank).unwrap_or(NOBODY),
            Self::Others(ranks) => {
                let there = usize::try_from(rank).ok().and_then(|rank| ranks.get(rank));
                there.and_then(|&rank| u32::try_from(rank).ok()).unwrap_or(NOBODY)
            }
            Self::Unknown => NOBODY,
        }
    }
}

/// The ranks of a communicator.
#[derive(Clone, Copy)]
pub struct Group {
    local: u32,
    remote: Option<u32>,
    rank: Int,
    /// Of those that messages go to: the other group's in an intercommunicator.
    pub world: Ranks,
}

/// Changes where a communicator is freed.
static VERSION: AtomicU64 = AtomicU64::new(1);

/// Communicators that a thread remembers.
const REMEMBERED: usize = 4;

/// What a thread remembers, by [`place`]: the version then, the communicator, and its ranks.
pub type Remembered = [Cell<(u64, Handle, Option<Group>)>; REMEMBERED];

/// Where a thread remembers a communicator.
#[inline(always)]
fn place(comm: Handle) -> usize {
    (comm ^ (comm >> 4) ^ (comm >> 8)) % REMEMBERED
}

/// A communicator was freed, or is about to be: by the program, or by a function of its own that MPI calls.
pub fn forget() {
    VERSION.fetch_add(1, Ordering::Release);
}

impl Group {
    /// # Safety
    /// MPI has accepted `comm`.
    #[inline(always)]
    pub unsafe fn of(comm: Handle) -> Self {
        let version = VERSION.load(Ordering::Acquire);
        own::with(|own| match own.groups[place(comm)].get() {
            (then, handle, Some(group)) if (then, handle) == (version, comm) => group,
            // SAFETY: the caller's promise.
            _ => unsafe { Self::ask(comm, version) },
        })
    }

    /// # Safety
    /// As [`Group::of`].
    #[cold]
    #[inline(never)]
    unsafe fn ask(comm: Handle, version: u64) -> Self {
        let (mut local, mut inter, mut remote, mut rank) = (0, 0, 0, 0);
        // SAFETY: the caller's promise; a remote size exists where the communicator says that it is one between groups.
        unsafe {
            library::comm_size(comm, &mut local);
            library::comm_rank(comm, &mut rank);
            library::comm_test_inter(comm, &mut inter);
            if inter != 0 {
                library::comm_remote_size(comm, &mut remote);
            }
        }
        let natural = |size: Int| u32::try_from(size).unwrap_or(0);
        let remote = (inter != 0).then(|| natural(remote));
        let Some(family) = family() else { return Self { local: 0, remote, rank, world: Ranks::Unknown } };
        let world = match family.handle(comm) == family.world {
            true => Ranks::Same,
            // SAFETY: the caller's promise.
            false => unsafe { in_world(family, comm, inter != 0, remote.unwrap_or(natural(local))) },
        };
        let group = Self { local: natural(local), remote, rank, world };
        // Where ranks share a thread, each is another one.
        if !family.has_coroutines {
            own::with(|own| own.groups[place(comm)].set((version, comm, Some(group))));
        }
        runtime::was_own();
        group
    }

    /// All ranks: of both groups in an intercommunicator.
    #[inline(always)]
    pub fn ranks(&self) -> u32 {
        self.local.saturating_add(self.remote.unwrap_or(0))
    }

    /// The ranks that a collective call exchanges data with, this one included where there is one group only.
    #[inline(always)]
    pub fn peers(&self) -> u64 {
        self.remote.unwrap_or(self.local).into()
    }

    /// Ranks of this process's group.
    pub fn local(&self) -> u64 {
        self.local.into()
    }

    /// Whether there are two groups; MPI_IN_PLACE has no meaning then.
    #[inline(always)]
    pub fn is_inter(&self) -> bool {
        self.remote.is_some()
    }

    /// This process's rank.
    pub fn rank(&self) -> Int {
        self.rank
    }
}

/// Numbers of ranks that are kept at most, of all communicators together; some programs make ever new groups.
const MOST: usize = 16 << 20;

/// Lists of ranks, each once, since many communicators have the same; never freed, since threads and requests hold them.
struct Lists {
    lists: HashSet<&'static [Int]>,
    numbers: usize,
}

static LISTS: Mutex<Option<Lists>> = Mutex::new(None);

/// What `size` ranks of a communicator, of the other group in an intercommunicator, are in MPI_COMM_WORLD.
///
/// # Safety
/// MPI has accepted `comm`.
unsafe fn in_world(family: &Family, comm: Handle, is_inter: bool, size: u32) -> Ranks {
    // SAFETY: the caller's promise.
    let Some(ranks) = (unsafe { translated(family, comm, is_inter, size) }) else { return Ranks::Unknown };
    if (0..).zip(&ranks).all(|(here, &there)| here == there) {
        return Ranks::Same;
    }
    let mut lists = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
    let Lists { lists, numbers } = lists.get_or_insert_with(|| Lists { lists: HashSet::new(), numbers: 0 });
    if let Some(known) = lists.get(&ranks[..]) {
        return Ranks::Others(known);
    }
    if *numbers + ranks.len() > MOST {
        return Ranks::Unknown;
    }
    *numbers += ranks.len();
    let list: &'static [Int] = ranks.leak();
    lists.insert(list);
    Ranks::Others(list)
}

/// The same as a list; `None` where MPI gives none.
///
/// # Safety
/// As [`in_world`].
pub unsafe fn translated(family: &Family, comm: Handle, is_inter: bool, size: u32) -> Option<Vec<Int>> {
    let (mut group, mut world): (Handle, Handle) = (0, 0);
    let here: Vec<Int> = (0..size).map(u32::cast_signed).collect();
    let mut there = vec![0; here.len()];
    // SAFETY: MPI made both communicators, and there is room for all ranks.
    let code = unsafe {
        let made = match is_inter {
            true => library::comm_remote_group(comm, &mut group),
            false => library::comm_group(comm, &mut group),
        };
        if made != SUCCESS {
            return None;
        }
        let mut code = library::comm_group(family.world, &mut world);
        if code == SUCCESS {
            code = library::group_translate_ranks(group, size.cast_signed(), here.as_ptr(), world, there.as_mut_ptr());
            library::group_free(&mut world);
        }
        library::group_free(&mut group);
        code
    };
    (code == SUCCESS).then_some(there)
}

/// The ranks of messages that a probe has matched, by their handles and whose these are.
static MATCHED: Mutex<Option<HashMap<(u64, Handle), Ranks>>> = Mutex::new(None);

/// A probe has matched a message on a communicator of these ranks.
pub fn matched(message: (u64, Handle), ranks: Ranks) {
    MATCHED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().insert(message, ranks);
}

/// It is received.
pub fn take_matched(message: (u64, Handle)) -> Ranks {
    let mut matched = MATCHED.lock().unwrap_or_else(PoisonError::into_inner);
    matched.as_mut().and_then(|matched| matched.remove(&message)).unwrap_or_default()
}
