//! What is known of requests: how much a persistent send will send, and that a receive is to be credited where it
//! completes, with what arrived.
//!
//! MPI may give a freed request's handle to another thread before the call that freed it has returned. So a
//! completing call takes the entries of its requests first, which then are not in the table for others, and gives back those that did not
//! complete. Persistent requests keep their handles, and others may start them while a call is there that does not complete them: their entries stay, and the call
//! looks at them once it has completed them. No lock is held while MPI runs.

use smallvec::{SmallVec, smallvec};

use crate::groups::{NOBODY, Ranks};
use crate::library::{Family, Handle, Int, Ptr, Wide, family};
use crate::pending::{Entry, Held, change, drop_joined, insert, look_up, remove, take};
use crate::rules::{ByArguments, Count, Group, Moved, Rule, is_cancelled, natural, ranks_of, received, send, sent};
use crate::runtime::{self, Stamp};
use crate::waiting::{self, Needs, Question, Source, Wait};

/// Makes an entry for the request that an accepted call has just returned.
///
/// # Safety
/// `request` leads to that request; `comm`, if any, is the call's.
#[inline(always)]
unsafe fn register(request: Ptr, comm: Option<Handle>, entry: Entry, wait: &mut Wait<'_>) {
    let Some(family) = family() else { return };
    // SAFETY: the caller's promise.
    let handle = unsafe { family.read(request, 0) };
    // SAFETY: the caller's promise.
    let group = comm.map(|comm| unsafe { Group::of(comm) });
    let comm_size = group.map_or(entry.comm_size, |group| group.ranks());
    if entry.receives || entry.persistent {
        insert(handle, Entry { comm_size, ranks: group.map_or(entry.ranks, |group| group.world), ..entry });
    }
    wait.moved.comm_size = comm_size;
}

/// A receive that is posted in this call, if it is one.
fn posted(source: Source, receives: bool, wait: &Wait<'_>) -> Source {
    if receives && waiting::is_on() { source.posted(wait.entry.time) } else { Source::default() }
}

/// The request that an accepted call has just returned is of a send that asked its receiver something.
///
/// # Safety
/// `request` leads to that request.
pub unsafe fn note_question(request: Ptr, question: Question) {
    let Some(family) = family() else { return };
    // SAFETY: the caller's promise.
    insert(unsafe { family.read(request, 0) }, Entry { question, ..Entry::default() });
}

/// The request that an accepted call has just returned is of a collective operation that needs this.
///
/// # Safety
/// `request` leads to that request.
pub unsafe fn note_collective(request: Ptr, comm: Handle, number: u64, needs: &Needs<'_>, moved: &Moved) {
    let Some(family) = family() else { return };
    if let Some(joined) = waiting::joined(comm, number, needs, waiting::collective_cost(moved)) {
        // SAFETY: the caller's promise.
        insert(
            unsafe { family.read(request, 0) },
            Entry { joined: Some(Box::leak(Box::new(joined))), ..Entry::default() },
        );
    }
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
        let source = posted(Source::new(self.comm, self.source, self.tag), receives, wait);
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
    type Scratch = (bool, Source, Ranks);

    unsafe fn before(&mut self, (receives, source, ranks): &mut (bool, Source, Ranks)) {
        // SAFETY: the argument leads to a handle, or is NULL in a wrong program.
        *ranks = unsafe { ranks_of(self.message) };
        *receives = family().is_some_and(|family| {
            // SAFETY: the argument leads to a handle, or is NULL in a wrong program.
            !self.message.is_null() && unsafe { family.read(self.message, 0) } != family.message_no_proc
        });
        if waiting::is_on() {
            // SAFETY: as above.
            *source = unsafe { waiting::matched(self.message) };
        }
    }

    unsafe fn after(
        &mut self,
        &mut (receives, source, ranks): &mut (bool, Source, Ranks),
        accepted: bool,
        wait: &mut Wait<'_>,
    ) {
        if accepted {
            let source = source.since(wait.entry.time);
            // SAFETY: MPI accepted the call.
            unsafe { register(self.request, None, Entry { receives, source, ranks, ..Entry::default() }, wait) }
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
    /// Whether it cannot end before its receive begins.
    pub is_synchronous: bool,
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
            let is_message = family().is_some_and(|family| self.dest != family.proc_null);
            let peer = if is_message { Group::of(self.comm).world.of(self.dest) } else { NOBODY };
            let is_synchronous = self.is_synchronous;
            let entry = Entry { sends, persistent: true, is_message, peer, is_synchronous, source, ..Entry::default() };
            register(self.request, Some(self.comm), entry, wait);
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

    #[inline(always)]
    fn departs(&self) -> bool {
        true
    }

    unsafe fn depart(&mut self, (): &mut (), entry: &Stamp, _: Option<Ptr>) {
        waiting::send(self.comm, self.dest, self.sendtag, self.count.into(), entry, None);
    }

    unsafe fn after(&mut self, (): &mut (), accepted: bool, wait: &mut Wait<'_>) {
        let &mut Self { source, recvtag: tag, comm, request, .. } = self;
        // SAFETY: the arguments are read only if MPI accepted the call.
        unsafe {
            if accepted {
                let receives = family().is_some_and(|family| source != family.proc_null);
                let source = posted(Source::new(comm, source, tag), receives, wait);
                let entry = Entry { receives, source, uncounted: true, ..Entry::default() };
                register(request, Some(comm), entry, wait);
                let _ = send(self.count, self.datatype, self.dest, comm, wait);
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
            let is_message = all > 0 && self.peer >= 0;
            let peer = if is_message { Group::of(self.comm).world.of(self.peer) } else { NOBODY };
            let entry = Entry { sends, arrives, persistent: true, is_message, peer, ..Entry::default() };
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
    /// Where receives came from before this.
    type Scratch = SmallVec<[(Handle, Source); 2]>;

    unsafe fn before(&mut self, _: &mut Self::Scratch) {}

    #[inline(always)]
    fn departs(&self) -> bool {
        true
    }

    /// Before the call, since another thread may complete the request before this one is back.
    unsafe fn depart(&mut self, before: &mut Self::Scratch, entry: &Stamp, _: Option<Ptr>) {
        // SAFETY: passed on.
        for (request, known) in unsafe { self.entries() } {
            let Entry { source, is_synchronous, sends, receives, .. } = known;
            if receives {
                before.push((request, source));
                change(request, |known| known.source = source.posted(entry.time));
                continue;
            }
            let asks = (is_synchronous || waiting::may_wait(sends)).then_some(is_synchronous);
            let question =
                waiting::send(source.comm, source.rank, source.tag, 0, entry, asks.filter(|_| known.is_message));
            if question.is_some() {
                change(request, |known| known.question = question);
            }
        }
    }

    unsafe fn after(&mut self, before: &mut Self::Scratch, accepted: bool, _: &mut Wait<'_>) {
        if !accepted {
            for (request, source) in before.drain(..) {
                if let Some(posted) = change(request, |known| std::mem::replace(&mut known.source, source)) {
                    posted.cancelled();
                }
            }
            return;
        }
        // SAFETY: MPI accepted the array.
        for (_, entry) in unsafe { self.entries() } {
            let Entry { sends, arrives, comm_size, peer, .. } = entry;
            match entry.is_message {
                true if arrives > 0 => runtime::received(peer, arrives, comm_size),
                true => runtime::sent(peer, sends, comm_size),
                false => runtime::moved(Moved { sent: sends, received: arrives, comm_size }),
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
        let removed = remove(request);
        if let Some(entry) = removed.filter(|_| waiting::is_on()) {
            entry.source.abandoned();
            waiting::has_not_waited(entry.question);
            if let Some(joined) = entry.joined {
                let _ = joined.latest();
                // SAFETY: the entry is out of the table.
                unsafe { drop_joined(joined) };
            }
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
    held: Held,
    /// Where in the array of statuses its own is, once it completed.
    status: Option<usize>,
}

/// What [`Completes`] keeps during the call: entries in the order of their requests, and room for statuses that the
/// program ignores.
#[derive(Default)]
pub struct Pending {
    taken: SmallVec<[Taken; 4]>,
    statuses: SmallVec<[u64; INLINE]>,
}

/// Words of statuses that need no allocation.
const INLINE: usize = 12;

/// Requests whose entries are taken in less time than one more reading of the clock takes, which would keep it out of the operation's.
const FEW: Int = 2;

impl Rule for Completes {
    type Scratch = Pending;

    #[inline(always)]
    fn prepares(&self) -> bool {
        self.count > FEW
    }

    unsafe fn before(&mut self, pending: &mut Pending) {
        let Some(family) = family().filter(|_| !self.requests.is_null()) else { return };
        let count = natural(self.count) as usize;
        for index in 0..count {
            // SAFETY: MPI demands `count` requests here.
            let request = unsafe { family.read(self.requests, index) };
            if let Some(held) = take(request) {
                pending.taken.push(Taken { index, held, status: None });
            }
        }
        // SAFETY: `statuses` leads to the argument.
        let statuses = unsafe { &mut *self.statuses };
        let receives = pending.taken.iter().any(|taken| taken.held.receives());
        if receives && *statuses as usize == family.status_ignore {
            let room = if matches!(self.outcome, Outcome::Any(_) | Outcome::AnyFlag(..)) { 1 } else { count };
            let words = (room * family.status_size).div_ceil(size_of::<u64>());
            pending.statuses = match words {
                0..=INLINE => SmallVec::from_buf_and_len([0; INLINE], words),
                _ => smallvec![0; words],
            };
            *statuses = pending.statuses.as_mut_ptr().cast();
        }
    }

    unsafe fn after(&mut self, pending: &mut Pending, accepted: bool, wait: &mut Wait<'_>) {
        let Some(family) = family().filter(|_| !pending.taken.is_empty()) else { return };
        if accepted {
            // SAFETY: MPI has just accepted the call and set its results.
            unsafe { self.outcome.mark(&mut pending.taken) };
        }
        for taken in &mut pending.taken {
            // SAFETY: MPI has just filled the statuses of what completed, and read all requests.
            unsafe { self.settle(family, taken, wait) };
        }
        if !waiting::is_on() {
            return;
        }
        let complete = |taken: &&mut Taken| taken.status.is_some();
        for taken in pending.taken.iter_mut().filter(complete) {
            if let Some(joined) = taken.held.own_mut().and_then(|entry| entry.joined.take()) {
                wait.completed(joined);
                // SAFETY: the request is complete, and its entry, which nobody else has, no longer leads there.
                unsafe { drop_joined(joined) };
            }
        }
        // What the call waited for messages and others' data it did not wait for receivers.
        let questions = pending.taken.iter_mut().filter(complete);
        let is_certain = !matches!(self.outcome, Outcome::All | Outcome::Flag(_));
        wait.asked(questions.map(|taken| taken.held.take_question(is_certain)));
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
    #[inline(always)]
    unsafe fn settle(&self, family: &Family, taken: &mut Taken, wait: &mut Wait<'_>) {
        let Taken { index, ref mut held, status } = *taken;
        match status {
            Some(position) if held.receives() => {
                let started;
                let entry = match held.own() {
                    Some(entry) => entry,
                    // Another thread may have started it since the call began, or freed it.
                    None => match look_up(held.request()).filter(|entry| entry.persistent) {
                        Some(entry) => {
                            started = entry;
                            &started
                        }
                        None => return,
                    },
                };
                // SAFETY: the array has a status there, and MPI filled it.
                let (bytes, (from, tag)) = unsafe {
                    let status = (*self.statuses).byte_add(position * family.status_size);
                    let bytes = (!is_cancelled(family, status))
                        .then(|| if entry.uncounted { 0 } else { received(family, status) });
                    (bytes, family.source_and_tag(status))
                };
                match bytes {
                    // The statuses of nobody's messages, and of persistent receives that are not active, name no rank.
                    Some(bytes) if from >= 0 && !entry.uncounted => {
                        runtime::received(entry.ranks.of(from), bytes, entry.comm_size);
                    }
                    _ => wait.moved.comm_size = wait.moved.comm_size.max(entry.comm_size),
                }
                match bytes {
                    Some(bytes) if waiting::is_on() => wait.message(entry.source.complete(from, tag), bytes),
                    Some(_) => {}
                    None => entry.source.cancelled(),
                }
            }
            Some(_) => {}
            // After an error, a request that completed is gone from its place.
            // SAFETY: the requests are still the program's array.
            None if unsafe { family.read(self.requests, index) } == held.request() => held.keep(),
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
