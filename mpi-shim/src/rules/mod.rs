//! What a call moved, by rule. `docs/mpi.md` says each rule in words; a test compares its table with ours. Arguments
//! are read only after a call that MPI accepted: where they are wrong, the error is MPI's own.

mod collective;
mod files;
mod neighbourhood;
mod one_sided;
mod point_to_point;

pub use collective::*;
pub use files::*;
pub use neighbourhood::*;
pub use one_sided::*;
pub use point_to_point::*;

use smallvec::SmallVec;

use crate::groups;
pub use crate::groups::Group;
use crate::library::{self, Handle, Int, Ints, Ptr, Wide, Wides};
use crate::requests;
use crate::runtime::Stamp;
use crate::waiting::{self, Known, Needs, Wait};

/// What one call moved, but for messages between two ranks, which are told one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Bytes.
    pub sent: u64,
    /// Bytes.
    pub received: u64,
    /// Ranks of the communicator; 0 where the call names none.
    pub comm_size: u32,
}

/// A rule for calls; made of the arguments of one.
pub trait Rule {
    /// What the rule keeps from before the call until after it, at a fixed address.
    type Scratch: Default;

    /// Before anything of the call is recorded.
    ///
    /// # Safety
    /// As [`Rule::before`].
    #[inline(always)]
    unsafe fn first(&mut self) {}

    /// Looks at the arguments before the call; may redirect those it holds a pointer to.
    ///
    /// # Safety
    /// The rule's fields are the arguments of the call that follows.
    unsafe fn before(&mut self, scratch: &mut Self::Scratch);

    /// Whether [`Rule::before`] takes time worth speaking of, which is then kept out of the operation's.
    #[inline(always)]
    fn prepares(&self) -> bool {
        false
    }

    /// Whether [`Rule::depart`] does anything, whose time is then kept out of the operation's.
    #[inline(always)]
    fn departs(&self) -> bool {
        false
    }

    /// Where waiting is measured: sends on this thread's moment, if others may depend on the call. `request` is
    /// where a nonblocking call puts its request.
    ///
    /// # Safety
    /// As [`Rule::before`].
    #[inline(always)]
    unsafe fn depart(&mut self, scratch: &mut Self::Scratch, entry: &Stamp, request: Option<Ptr>) {
        let _ = (scratch, entry, request);
    }

    /// Says in `wait` what the call moved; `accepted` if it returned MPI_SUCCESS. Calls that complete receives may say
    /// there for what they waited, too.
    ///
    /// # Safety
    /// The call whose arguments the rule holds has just returned.
    unsafe fn after(&mut self, scratch: &mut Self::Scratch, accepted: bool, wait: &mut Wait<'_>);

    /// Whether [`Rule::after`] may take longer than reading the clock, and is then kept out of the caller's time.
    #[inline(always)]
    fn concludes(&self) -> bool {
        true
    }

    /// Where waiting is measured: says in `wait` for what the call waited.
    ///
    /// # Safety
    /// As [`Rule::after`], which came before.
    #[inline(always)]
    unsafe fn arrive(
        &mut self,
        scratch: &mut Self::Scratch,
        accepted: bool,
        request: Option<Ptr>,
        wait: &mut Wait<'_>,
    ) {
        let _ = (scratch, accepted, request, wait);
    }

    /// Whether the call asked for something that was not there.
    ///
    /// # Safety
    /// MPI has just accepted the call.
    #[inline(always)]
    unsafe fn is_in_vain(&self) -> bool {
        false
    }
}

/// A rule that needs nothing but the arguments of an accepted call.
pub trait ByArguments {
    /// What the call moved.
    ///
    /// # Safety
    /// MPI has just accepted a call with these arguments.
    unsafe fn moved(&self) -> Moved;

    /// As [`Rule::concludes`].
    #[inline(always)]
    fn is_long(&self) -> bool {
        true
    }

    /// The communicator of a collective operation whose stamps travel.
    #[inline(always)]
    fn collective(&self) -> Option<Handle> {
        None
    }

    /// Whether each rank needs everybody's data in a collective operation, as far as counts say, which are the same on all ranks.
    #[inline(always)]
    fn is_for_all(&self) -> bool {
        false
    }

    /// Where waiting is measured: sends stamps before the call.
    ///
    /// # Safety
    /// The call with these arguments follows.
    #[inline(always)]
    unsafe fn announce(&self, entry: &Stamp) {
        let _ = entry;
    }

    /// Tells `then` whose data this rank needed in a collective operation that moved so much.
    ///
    /// # Safety
    /// MPI has just accepted a call with these arguments.
    #[inline(always)]
    unsafe fn needs(&self, moved: &Moved, then: &mut dyn FnMut(&Needs<'_>)) {
        let _ = moved;
        then(&Needs::Nothing);
    }

    /// As [`Rule::is_in_vain`].
    ///
    /// # Safety
    /// MPI has just accepted a call with these arguments.
    #[inline(always)]
    unsafe fn came_to_nothing(&self) -> bool {
        false
    }
}

impl<R: ByArguments> Rule for R {
    /// The number of a collective operation.
    type Scratch = u64;

    #[inline(always)]
    unsafe fn before(&mut self, _: &mut u64) {}

    #[inline(always)]
    fn departs(&self) -> bool {
        self.collective().is_some()
    }

    #[inline(always)]
    unsafe fn depart(&mut self, number: &mut u64, entry: &Stamp, request: Option<Ptr>) {
        if let Some(comm) = self.collective() {
            if request.is_some() {
                *number = waiting::begin_later(comm, entry);
                return;
            }
            *number = waiting::depart(comm, entry, self.is_for_all());
        }
        // SAFETY: the caller's promise.
        unsafe { self.announce(entry) };
    }

    #[inline(always)]
    unsafe fn after(&mut self, _: &mut u64, accepted: bool, wait: &mut Wait<'_>) {
        if accepted {
            // SAFETY: the caller's promise, and MPI accepted the call.
            wait.moved = unsafe { self.moved() };
        }
    }

    #[inline(always)]
    fn concludes(&self) -> bool {
        self.is_long()
    }

    #[inline(always)]
    unsafe fn arrive(&mut self, number: &mut u64, accepted: bool, request: Option<Ptr>, wait: &mut Wait<'_>) {
        let Some(comm) = self.collective() else { return };
        let moved = wait.moved;
        if let Some(request) = request {
            // SAFETY: the caller's promise; an accepted call has made its request.
            let mut note =
                |needs: &Needs<'_>| unsafe { requests::note_collective(request, comm, *number, needs, &moved) };
            return match accepted {
                // SAFETY: the caller's promise.
                true => unsafe { self.needs(&moved, &mut note) },
                false => waiting::complete_later(comm, *number, &Needs::Nothing),
            };
        }
        if !accepted {
            return waiting::arrive(comm, *number, &Needs::Nothing, wait);
        }
        // SAFETY: the caller's promise, and MPI accepted the call.
        unsafe { self.needs(&moved, &mut |needs| waiting::arrive(comm, *number, needs, wait)) };
    }

    #[inline(always)]
    unsafe fn is_in_vain(&self) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.came_to_nothing() }
    }
}

/// `needs` if anything moved.
pub fn if_moved(moved: &Moved, needs: Needs<'static>) -> Needs<'static> {
    if moved.sent > 0 || moved.received > 0 { needs } else { Needs::Nothing }
}

/// Calls that move nothing and name no communicator: counted and timed.
pub struct Visits {}

impl ByArguments for Visits {
    unsafe fn moved(&self) -> Moved {
        Moved::default()
    }

    #[inline(always)]
    fn is_long(&self) -> bool {
        false
    }
}

/// Calls that move nothing by their arguments, on a communicator.
pub struct Takes {
    pub comm: Handle,
}

impl ByArguments for Takes {
    unsafe fn moved(&self) -> Moved {
        // SAFETY: MPI accepted the communicator.
        Moved { comm_size: unsafe { Group::of(self.comm) }.ranks(), ..Moved::default() }
    }

    #[inline(always)]
    fn is_long(&self) -> bool {
        false
    }
}

/// Calls on a communicator that ask whether something is there.
pub struct Probes {
    pub comm: Handle,
    pub flag: Ptr,
}

impl ByArguments for Probes {
    unsafe fn moved(&self) -> Moved {
        // SAFETY: passed on.
        unsafe { Takes { comm: self.comm }.moved() }
    }

    unsafe fn came_to_nothing(&self) -> bool {
        // SAFETY: MPI has set the flag.
        unsafe { *self.flag.cast::<Int>() == 0 }
    }

    #[inline(always)]
    fn is_long(&self) -> bool {
        false
    }
}

/// MPI_Barrier.
pub struct Synchronises {
    pub comm: Handle,
}

impl ByArguments for Synchronises {
    unsafe fn moved(&self) -> Moved {
        // SAFETY: passed on.
        unsafe { Takes { comm: self.comm }.moved() }
    }

    fn collective(&self) -> Option<Handle> {
        Some(self.comm)
    }

    fn is_for_all(&self) -> bool {
        true
    }

    unsafe fn needs(&self, _: &Moved, then: &mut dyn FnMut(&Needs<'_>)) {
        then(&Needs::All);
    }

    #[inline(always)]
    fn is_long(&self) -> bool {
        false
    }
}

/// Calls that make communicators of ranks of another one, all of whose ranks make them together, and return when they are made.
pub struct Makes {
    pub comm: Handle,
    pub new: Ptr,
}

impl Rule for Makes {
    /// The number of the collective operation.
    type Scratch = u64;

    unsafe fn before(&mut self, _: &mut u64) {}

    fn departs(&self) -> bool {
        true
    }

    unsafe fn depart(&mut self, number: &mut u64, entry: &Stamp, _: Option<Ptr>) {
        *number = waiting::depart(self.comm, entry, true);
    }

    unsafe fn after(&mut self, _: &mut u64, accepted: bool, wait: &mut Wait<'_>) {
        if accepted {
            // SAFETY: passed on.
            wait.moved = unsafe { made(self.comm, self.new) };
        }
    }

    unsafe fn arrive(&mut self, number: &mut u64, accepted: bool, _: Option<Ptr>, wait: &mut Wait<'_>) {
        let needs = if accepted { Needs::All } else { Needs::Nothing };
        wait.met(waiting::latest(self.comm, *number, &needs, wait.entry));
    }
}

/// MPI_Comm_create_group, which those ranks alone call that are in the new communicator. So it is there that each learns who was last.
pub struct MakesOfGroup {
    pub comm: Handle,
    pub new: Ptr,
}

impl Rule for MakesOfGroup {
    type Scratch = ();

    unsafe fn before(&mut self, (): &mut ()) {}

    unsafe fn after(&mut self, (): &mut (), accepted: bool, wait: &mut Wait<'_>) {
        if accepted {
            // SAFETY: passed on.
            wait.moved = unsafe { made(self.comm, self.new) };
        }
    }

    unsafe fn arrive(&mut self, (): &mut (), accepted: bool, _: Option<Ptr>, wait: &mut Wait<'_>) {
        if accepted {
            // SAFETY: MPI accepted the call.
            wait.met(unsafe { waiting::latest_of_new(self.new, wait.entry) });
        }
    }
}

/// A communicator was made of ranks of `parent`; `new` leads to its handle.
///
/// # Safety
/// MPI has just accepted the call with these arguments.
unsafe fn made(parent: Handle, new: Ptr) -> Moved {
    if waiting::is_on() {
        // SAFETY: passed on.
        unsafe { waiting::made(parent, new) };
    }
    // SAFETY: passed on.
    unsafe { Takes { comm: parent }.moved() }
}

/// MPI_Comm_free, MPI_Comm_disconnect.
pub struct Unmakes {
    pub comm: Ptr,
}

impl Rule for Unmakes {
    type Scratch = Option<Known>;

    unsafe fn before(&mut self, known: &mut Option<Known>) {
        groups::forget();
        if waiting::is_on() {
            // SAFETY: the argument leads to a handle.
            *known = unsafe { waiting::forget(self.comm) };
        }
    }

    unsafe fn after(&mut self, known: &mut Option<Known>, _accepted: bool, _: &mut Wait<'_>) {
        if let Some(known) = known {
            waiting::release(known);
        }
    }
}

/// MPI_Init, MPI_Init_thread.
pub struct Initialises {}

impl ByArguments for Initialises {
    unsafe fn moved(&self) -> Moved {
        crate::calls::initialised();
        library::look_at_statuses();
        crate::meeting::begin();
        crate::runtime::claim_output();
        let Some(family) = library::family().filter(|family| !crate::launch::is_alone_by_mistake(family)) else {
            return Moved::default();
        };
        crate::finalize::look_ahead(family);
        waiting::begin();
        Moved::default()
    }
}

/// MPI_Abort, which does not return.
pub struct Aborts {
    pub errorcode: Int,
}

impl Rule for Aborts {
    type Scratch = ();

    unsafe fn first(&mut self) {
        let rank = poise_profile::on_rank();
        crate::runtime::fail(&format!("the program called MPI_Abort with {}{rank}", self.errorcode));
        crate::runtime::let_launcher_read();
    }

    unsafe fn before(&mut self, (): &mut ()) {}

    unsafe fn after(&mut self, (): &mut (), _accepted: bool, _: &mut Wait<'_>) {}
}

/// MPI_Finalize.
pub struct Finalises {}

impl Rule for Finalises {
    type Scratch = ();

    unsafe fn first(&mut self) {
        crate::finalize::write_profile();
    }

    unsafe fn before(&mut self, (): &mut ()) {}

    unsafe fn after(&mut self, (): &mut (), _accepted: bool, _: &mut Wait<'_>) {}
}

/// A count or size as a natural number. MPI's special values are negative.
pub fn natural(value: impl Into<Wide>) -> u64 {
    u64::try_from(value.into()).unwrap_or(0)
}

/// Bytes of `count` elements of a type.
///
/// # Safety
/// MPI has accepted `datatype`.
pub unsafe fn bytes(count: impl Into<Wide>, datatype: Handle) -> u64 {
    let count = natural(count);
    if count == 0 {
        return 0; // The type may then be MPI_DATATYPE_NULL.
    }
    let mut size = 0;
    // SAFETY: the caller's promise.
    unsafe { library::type_size_x(datatype, &mut size) };
    count.saturating_mul(natural(size))
}

/// A count: an int, or an MPI_Count where the function's name ends with `_c`.
pub trait Count: Copy + Into<Wide> {}

impl Count for Int {}
impl Count for Wide {}

/// An array of counts of either kind.
pub trait Counts: Copy {
    /// Whether there is none.
    fn is_null(self) -> bool;

    /// The count at `index`.
    ///
    /// # Safety
    /// MPI reads it, too.
    unsafe fn at(self, index: usize) -> Wide;
}

impl Counts for Ints {
    fn is_null(self) -> bool {
        self.0.is_null()
    }

    unsafe fn at(self, index: usize) -> Wide {
        // SAFETY: the caller's promise.
        Wide::from(unsafe { *self.0.add(index) })
    }
}

impl Counts for Wides {
    fn is_null(self) -> bool {
        self.0.is_null()
    }

    unsafe fn at(self, index: usize) -> Wide {
        // SAFETY: the caller's promise.
        unsafe { *self.0.add(index) }
    }
}

/// An array of counts.
///
/// # Safety
/// MPI has just read, or may now read, `length` of them.
pub unsafe fn counts(counts: impl Counts, length: u64) -> SmallVec<[Wide; 16]> {
    let length = if counts.is_null() { 0 } else { length as usize };
    // SAFETY: the caller's promise.
    (0..length).map(|index| unsafe { counts.at(index) }).collect()
}
