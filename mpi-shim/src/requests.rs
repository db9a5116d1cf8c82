//! What is known of requests: how much a persistent send will send, and that a receive is to be credited where it
//! completes, with what arrived.
//!
//! MPI may give a freed request's handle to another thread before the call that freed it has returned. So a
//! completing call takes the entries of its requests out of the table first, and puts back those that did not
//! complete. No lock is held while MPI runs.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Mutex, MutexGuard};

use smallvec::{SmallVec, smallvec};

use crate::library::{Family, Handle, Int, Ptr, Wide, family};
use crate::rules::{ByArguments, Count, Group, Moved, Rule, natural, received, sent};
use crate::runtime::Stamp;
use crate::waiting::{self, Source, Wait};

/// What is to be known of a request until it is freed.
#[derive(Clone, Copy, Default)]
struct Entry {
    /// Bytes that it sends each time it starts.
    sends: u64,
    /// Bytes that are credited as received each time it starts.
    arrives: u64,
    /// Whether its completion brings bytes.
    receives: bool,
    /// Whether its status does not say how many: MPICH 4.0's of exchanges that do not wait.
    uncounted: bool,
    /// Whether it outlives its completion.
    persistent: bool,
    /// Ranks of its communicator; 0 where not known.
    comm_size: u32,
    /// Where the message comes from, or, of a persistent send, goes to; of a posted receive, with its place in the order.
    source: Source,
}

/// Spreads handles, which are addresses or small numbers, over the bits of a word (Fibonacci hashing).
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize((self.0 as usize).rotate_left(8) ^ usize::from(byte));
        }
    }

    fn write_usize(&mut self, value: usize) {
        let product = (value as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ (product >> 32);
    }
}

type Shard = HashMap<Handle, Entry, BuildHasherDefault<Spread>>;

const SHARDS: usize = 16;
static TABLE: [Mutex<Shard>; SHARDS] = [const { Mutex::new(HashMap::with_hasher(BuildHasherDefault::new())) }; SHARDS];

fn shard(request: Handle) -> MutexGuard<'static, Shard> {
    let mut spread = Spread::default();
    spread.write_usize(request);
    // Entries stay whole whatever happens to a thread that holds the lock.
    TABLE[(spread.0 >> 40) as usize % SHARDS].lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn insert(request: Handle, entry: Entry) {
    shard(request).insert(request, entry);
}

fn look_up(request: Handle) -> Option<Entry> {
    shard(request).get(&request).copied()
}

/// Takes the entry of a request out; a persistent one's stays, and a copy is returned.
fn take(request: Handle) -> Option<Entry> {
    let mut shard = shard(request);
    let entry = *shard.get(&request)?;
    if !entry.persistent {
        shard.remove(&request);
    }
    Some(entry)
}

/// Makes an entry for the request that an accepted call has just returned.
///
/// # Safety
/// `request` leads to that request; `comm`, if any, is the call's.
unsafe fn register(request: Ptr, comm: Option<Handle>, entry: Entry, wait: &mut Wait<'_>) {
    let Some(family) = family() else { return };
    // SAFETY: the caller's promise.
    let handle = unsafe { family.read(request, 0) };
    // SAFETY: the caller's promise.
    let comm_size = comm.map_or(entry.comm_size, |comm| unsafe { Group::of(comm) }.ranks());
    if entry.receives || entry.persistent {
        insert(handle, Entry { comm_size, ..entry });
    }
    wait.moved.comm_size = comm_size;
}

/// A receive that is posted now, if it is one.
fn posted(source: Source, receives: bool) -> Source {
    if receives && waiting::is_on() { source.posted() } else { Source::default() }
}

/// Nonblocking receives: credited where they complete. One from MPI_PROC_NULL has a request that MPI shares.
pub struct StartsReceive {
    pub source: Int,
    pub tag: Int,
    pub comm: Handle,
    pub request: Ptr,
}

impl Rule for StartsReceive {
    type Scratch = ();

    unsafe fn before(&mut self, (): &mut ()) {}

    unsafe fn after(&mut self, (): &mut (), accepted: bool, wait: &mut Wait<'_>) {
        if !accepted {
            return;
        }
        let receives = family().is_some_and(|family| self.source != family.proc_null);
        let source = posted(Source::new(self.comm, self.source, self.tag), receives);
        let entry = Entry { receives, source, ..Entry::default() };
        // SAFETY: MPI accepted the call.
        unsafe { register(self.request, Some(self.comm), entry, wait) }
    }
}

/// Nonblocking receives of a matched message.
pub struct StartsMatched {
    pub message: Ptr,
    pub request: Ptr,
}

impl Rule for StartsMatched {
    /// Whether there is a message to receive, and which; the call sets the handle to MPI_MESSAGE_NULL.
    type Scratch = (bool, Source);

    unsafe fn before(&mut self, (receives, source): &mut (bool, Source)) {
        *receives = family().is_some_and(|family| {
            // SAFETY: the argument leads to a handle, or is NULL in a wrong program.
            !self.message.is_null() && unsafe { family.read(self.message, 0) } != family.message_no_proc
        });
        if waiting::is_on() {
            // SAFETY: as above.
            *source = unsafe { waiting::matched(self.message) };
        }
    }

    unsafe fn after(&mut self, &mut (receives, source): &mut (bool, Source), accepted: bool, wait: &mut Wait<'_>) {
        if accepted {
            // SAFETY: MPI accepted the call.
            unsafe { register(self.request, None, Entry { receives, source, ..Entry::default() }, wait) }
        }
    }
}

/// Persistent sends: nothing moves until they start.
pub struct PreparesSend<C> {
    pub count: C,
    pub datatype: Handle,
    pub dest: Int,
    pub tag: Int,
    pub comm: Handle,
    pub request: Ptr,
}

impl<C: Count> Rule for PreparesSend<C> {
    type Scratch = ();

    unsafe fn before(&mut self, (): &mut ()) {}

    unsafe fn after(&mut self, (): &mut (), accepted: bool, wait: &mut Wait<'_>) {
        if !accepted {
            return;
        }
        let source = Source::new(self.comm, self.dest, self.tag);
        // SAFETY: MPI accepted the call.
        unsafe {
            let sends = sent(self.count, self.datatype, self.dest);
            register(
                self.request,
                Some(self.comm),
                Entry { sends, persistent: true, source, ..Entry::default() },
                wait,
            );
        }
    }
}

/// Persistent receives.
pub struct PreparesReceive {
    pub source: Int,
    pub tag: Int,
    pub comm: Handle,
    pub request: Ptr,
}

impl Rule for PreparesReceive {
    type Scratch = ();

    unsafe fn before(&mut self, (): &mut ()) {}

    unsafe fn after(&mut self, (): &mut (), accepted: bool, wait: &mut Wait<'_>) {
        if !accepted {
            return;
        }
        let receives = family().is_some_and(|family| self.source != family.proc_null);
        let source = Source::new(self.comm, self.source, self.tag);
        let entry = Entry { receives, persistent: true, source, ..Entry::default() };
        // SAFETY: MPI accepted the call.
        unsafe { register(self.request, Some(self.comm), entry, wait) }
    }
}

/// Exchanges of two messages that complete later: the send is credited here.
pub struct StartsExchange<C> {
    pub count: C,
    pub datatype: Handle,
    pub dest: Int,
    pub sendtag: Int,
    pub source: Int,
    pub recvtag: Int,
    pub comm: Handle,
    pub request: Ptr,
}

impl<C: Count> Rule for StartsExchange<C> {
    type Scratch = ();

    unsafe fn before(&mut self, (): &mut ()) {}

    unsafe fn depart(&mut self, (): &mut (), entry: &Stamp, _blocks: bool) {
        waiting::send(self.comm, self.dest, self.sendtag, self.count.into(), entry);
    }

    unsafe fn after(&mut self, (): &mut (), accepted: bool, wait: &mut Wait<'_>) {
        let &mut Self { source, recvtag: tag, comm, request, .. } = self;
        // SAFETY: the arguments are read only if MPI accepted the call.
        unsafe {
            if accepted {
                let receives = family().is_some_and(|family| source != family.proc_null);
                let source = posted(Source::new(comm, source, tag), receives);
                let entry = Entry { receives, source, uncounted: true, ..Entry::default() };
                register(request, Some(comm), entry, wait);
                wait.moved.sent = sent(self.count, self.datatype, self.dest);
            }
        }
    }
}

/// Persistent collective operations: credited where they start, by the arguments of the plain form.
pub struct PreparesCollective<R> {
    pub of: R,
    pub request: Ptr,
}

impl<R: ByArguments> Rule for PreparesCollective<R> {
    type Scratch = ();

    unsafe fn before(&mut self, (): &mut ()) {}

    unsafe fn after(&mut self, (): &mut (), accepted: bool, wait: &mut Wait<'_>) {
        if !accepted {
            return;
        }
        // SAFETY: MPI accepted the arguments, which are those of the plain form.
        unsafe {
            let moved = self.of.moved();
            let entry = Entry { sends: moved.sent, arrives: moved.received, persistent: true, ..Entry::default() };
            register(self.request, None, Entry { comm_size: moved.comm_size, ..entry }, wait);
            wait.moved.comm_size = moved.comm_size;
        }
    }
}

/// Partitioned messages: as much is sent and received in all as the arguments of either side say, credited at the start.
pub struct PreparesPartitioned {
    pub partitions: Int,
    pub count: Wide,
    pub datatype: Handle,
    pub peer: Int,
    pub comm: Handle,
    pub sends: bool,
    pub request: Ptr,
}

impl Rule for PreparesPartitioned {
    type Scratch = ();

    unsafe fn before(&mut self, (): &mut ()) {}

    unsafe fn after(&mut self, (): &mut (), accepted: bool, wait: &mut Wait<'_>) {
        if !accepted {
            return;
        }
        // SAFETY: MPI accepted the call.
        unsafe {
            let all = sent(self.count, self.datatype, self.peer).saturating_mul(natural(self.partitions));
            let (sends, arrives) = if self.sends { (all, 0) } else { (0, all) };
            let entry = Entry { sends, arrives, persistent: true, ..Entry::default() };
            register(self.request, Some(self.comm), entry, wait);
        }
    }
}

/// Starts of persistent requests: sends are credited here.
pub struct Starts {
    pub requests: Ptr,
    pub count: Int,
}

impl Starts {
    /// The requests with their entries.
    ///
    /// # Safety
    /// MPI demands `count` requests here.
    unsafe fn entries(&self) -> impl Iterator<Item = (Handle, Entry)> {
        let family = family().filter(|_| !self.requests.is_null());
        let count = family.map_or(0, |_| natural(self.count) as usize);
        (0..count).filter_map(move |index| {
            // SAFETY: the caller's promise.
            let request = unsafe { family?.read(self.requests, index) };
            Some((request, look_up(request)?))
        })
    }
}

impl Rule for Starts {
    type Scratch = ();

    unsafe fn before(&mut self, (): &mut ()) {}

    unsafe fn depart(&mut self, (): &mut (), entry: &Stamp, _blocks: bool) {
        // SAFETY: passed on.
        for (_, Entry { source, .. }) in unsafe { self.entries() }.filter(|(_, entry)| !entry.receives) {
            waiting::send(source.comm, source.rank, source.tag, 0, entry);
        }
    }

    unsafe fn after(&mut self, (): &mut (), accepted: bool, wait: &mut Wait<'_>) {
        if !accepted {
            return;
        }
        // SAFETY: MPI accepted the array.
        for (request, entry) in unsafe { self.entries() } {
            wait.moved.sent = wait.moved.sent.saturating_add(entry.sends);
            wait.moved.received = wait.moved.received.saturating_add(entry.arrives);
            wait.moved.comm_size = wait.moved.comm_size.max(entry.comm_size);
            if entry.receives && waiting::is_on() {
                insert(request, Entry { source: entry.source.posted(), ..entry });
            }
        }
    }
}

/// MPI_Request_get_status, MPI_Win_test: they ask and change nothing.
pub struct Asks {
    pub flag: Ptr,
}

impl ByArguments for Asks {
    unsafe fn moved(&self) -> Moved {
        Moved::default()
    }

    unsafe fn came_to_nothing(&self) -> bool {
        // SAFETY: MPI has set the flag.
        unsafe { *self.flag.cast::<Int>() == 0 }
    }
}

/// MPI_Request_free: what a receive brings after this is not known.
pub struct Frees {
    pub request: Ptr,
}

impl Rule for Frees {
    type Scratch = ();

    unsafe fn before(&mut self, (): &mut ()) {
        let Some(family) = family().filter(|_| !self.request.is_null()) else { return };
        // SAFETY: the argument leads to a request.
        let request = unsafe { family.read(self.request, 0) };
        let removed = shard(request).remove(&request);
        if let Some(entry) = removed.filter(|_| waiting::is_on()) {
            entry.source.abandoned();
        }
    }

    unsafe fn after(&mut self, (): &mut (), _accepted: bool, _: &mut Wait<'_>) {}
}

/// How a completing call says what completed.
#[derive(Clone, Copy)]
pub enum Outcome {
    /// By returning: all.
    All,
    /// All, if the flag is set.
    Flag(Ptr),
    /// The one at the index.
    Any(Ptr),
    /// The one at the index, if the flag is set: (index, flag).
    AnyFlag(Ptr, Ptr),
    /// Those at the indices: (number, indices).
    Some(Ptr, Ptr),
}

/// Waits and tests.
pub struct Completes {
    pub requests: Ptr,
    pub count: Int,
    pub statuses: *mut Ptr,
    pub outcome: Outcome,
}

/// A request with an entry in a completing call.
struct Taken {
    index: usize,
    request: Handle,
    entry: Entry,
    /// Where in the array of statuses its own is, once it completed.
    status: Option<usize>,
}

/// What [`Completes`] keeps during the call: entries in the order of their requests, and room for statuses that the
/// program ignores.
#[derive(Default)]
pub struct Pending {
    taken: SmallVec<[Taken; 4]>,
    statuses: SmallVec<[u64; 12]>,
}

impl Rule for Completes {
    type Scratch = Pending;

    const PREPARES: bool = true;

    unsafe fn before(&mut self, pending: &mut Pending) {
        let Some(family) = family().filter(|_| !self.requests.is_null()) else { return };
        let count = natural(self.count) as usize;
        for index in 0..count {
            // SAFETY: MPI demands `count` requests here.
            let request = unsafe { family.read(self.requests, index) };
            if let Some(entry) = take(request) {
                pending.taken.push(Taken { index, request, entry, status: None });
            }
        }
        // SAFETY: `statuses` leads to the argument.
        let statuses = unsafe { &mut *self.statuses };
        let receives = pending.taken.iter().any(|taken| taken.entry.receives);
        if receives && *statuses as usize == family.status_ignore {
            let room = if matches!(self.outcome, Outcome::Any(_) | Outcome::AnyFlag(..)) { 1 } else { count };
            pending.statuses = smallvec![0; (room * family.status_size).div_ceil(size_of::<u64>())];
            *statuses = pending.statuses.as_mut_ptr().cast();
        }
    }

    unsafe fn after(&mut self, pending: &mut Pending, accepted: bool, wait: &mut Wait<'_>) {
        let Some(family) = family().filter(|_| !pending.taken.is_empty()) else { return };
        if accepted {
            // SAFETY: MPI has just accepted the call and set its results.
            unsafe { self.outcome.mark(&mut pending.taken) };
        }
        for taken in &pending.taken {
            // SAFETY: MPI has just filled the statuses of what completed, and read all requests.
            unsafe { self.settle(family, taken, wait) };
        }
    }

    unsafe fn is_in_vain(&self) -> bool {
        // SAFETY: MPI sets these ints.
        let int = |pointer: Ptr| unsafe { *pointer.cast::<Int>() };
        match self.outcome {
            Outcome::All | Outcome::Any(_) => false,
            Outcome::Flag(number) | Outcome::AnyFlag(_, number) | Outcome::Some(number, _) => int(number) == 0,
        }
    }
}

impl Completes {
    /// Credits a request that completed, or puts its entry back.
    ///
    /// # Safety
    /// The call has just returned.
    unsafe fn settle(&self, family: &Family, taken: &Taken, wait: &mut Wait<'_>) {
        let Taken { index, request, entry, status } = *taken;
        match status {
            Some(position) if entry.receives => {
                // SAFETY: the array has a status there, and MPI filled it.
                let (bytes, (from, tag)) = unsafe {
                    let status = (*self.statuses).byte_add(position * family.status_size);
                    let bytes = received(family, status).map(|bytes| if entry.uncounted { 0 } else { bytes });
                    (bytes, family.source_and_tag(status))
                };
                wait.moved.received = wait.moved.received.saturating_add(bytes.unwrap_or(0));
                wait.moved.comm_size = wait.moved.comm_size.max(entry.comm_size);
                match bytes {
                    Some(bytes) if waiting::is_on() => wait.message(entry.source.complete(from, tag), bytes),
                    Some(_) => {}
                    None => entry.source.cancelled(),
                }
            }
            Some(_) => {}
            // After an error, a request that completed is gone from its place.
            // SAFETY: the requests are still the program's array.
            None if !entry.persistent && unsafe { family.read(self.requests, index) } == request => {
                insert(request, entry);
            }
            None => {}
        }
    }
}

impl Outcome {
    /// Notes for each entry whose request completed where its status is.
    ///
    /// # Safety
    /// The call has just succeeded, and the pointers are its arguments.
    unsafe fn mark(self, taken: &mut [Taken]) {
        // SAFETY: the caller's promise; MPI sets each of these ints.
        let int = |pointer: Ptr, index: usize| unsafe { *pointer.cast::<Int>().add(index) };
        let mut complete = |index: Int, position: usize| {
            // MPI_UNDEFINED is negative, so no request has it for an index.
            let found = taken.binary_search_by(|taken| (taken.index as i64).cmp(&i64::from(index)));
            if let Ok(found) = found {
                taken[found].status = Some(position);
            }
        };
        match self {
            Self::Any(index) => complete(int(index, 0), 0),
            Self::AnyFlag(index, flag) if int(flag, 0) != 0 => complete(int(index, 0), 0),
            Self::Some(number, indices) => {
                (0..natural(int(number, 0)) as usize).for_each(|position| complete(int(indices, position), position));
            }
            Self::All => taken.iter_mut().for_each(|taken| taken.status = Some(taken.index)),
            Self::Flag(flag) if int(flag, 0) != 0 => {
                taken.iter_mut().for_each(|taken| taken.status = Some(taken.index));
            }
            Self::AnyFlag(..) | Self::Flag(_) => {}
        }
    }
}
