//! The calling thread: its block in thread-local storage and what entering and leaving a region do to it. Every
//! instrumented call runs through here, so nothing but the cold functions allocates, locks or calls the system.

pub mod calls;

use std::arch::global_asm;
use std::ptr::{null, null_mut};

use crate::inlined::{self, Inlined, Place, Site, Token};
use crate::marks::Open;
use crate::phases::{Bins, Done};
use crate::starts::Start;
use crate::tree::{Node, Region, Tree};
use crate::waiting::Polls;
use crate::{clock, marks, noise, phases, process, shielded, stack, words};

// `poise_thread` must be an ELF thread-local symbol that instrumented code reaches without a call (initial-exec), which
// stable Rust cannot declare.
// What only the runtime looks at lies behind it, at a constant distance. Both assemblers take `%` here.
global_asm!(
    ".pushsection .tbss,\"awT\",%nobits",
    ".globl poise_thread",
    ".type poise_thread, %object",
    ".size poise_thread, 64",
    ".globl poise_site",
    ".type poise_site, %object",
    ".size poise_site, 8",
    ".globl poise_again",
    ".type poise_again, %object",
    ".size poise_again, 8",
    ".balign 64",
    "poise_thread:",
    ".zero 64",
    "poise_site:",
    ".zero 8",
    ".zero 40",
    "poise_again:",
    ".zero 8",
    ".zero 8",
    ".popsection",
);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("poise-runtime knows the thread-local storage of x86-64 and AArch64 only");

/// The contents of `poise_thread`, all zero in a new thread.
#[repr(C)]
pub struct Thread {
    /// Basic blocks executed by this thread; instrumented code adds to it.
    blocks: u64,
    /// The current call path's node; null in a thread that has entered nothing yet.
    current: *mut Node,
    /// `blocks` when it was last attributed.
    mark: u64,
    /// The clock when time was last attributed.
    last: u64,
    /// This thread's call tree; as long as `current` is null, null or what [`starts`] put there, with the lowest bit set.
    tree: *mut Tree,
    /// Nonzero while the tree changes: a signal handler that interrupts this must not touch the tree.
    busy: u64,
    /// How far the logical clock is ahead of `blocks`.
    ahead: u64,
    /// A box of [`Polls`], or null; its lowest bit is set while what happens may be polling.
    polls: usize,
}

/// `poise_site` of the calling thread, which lies behind its `poise_thread`.
#[inline(always)]
fn site(thread: *mut Thread) -> *mut Site {
    // SAFETY: both are one object in thread-local storage.
    unsafe { thread.add(1).cast() }
}

/// The bins of the calling thread, which lie behind its `poise_site`.
#[inline(always)]
fn bins_of(thread: *mut Thread) -> *mut Bins {
    // SAFETY: as in `site`.
    unsafe { site(thread).add(1).cast() }
}

/// The bins of the calling thread.
pub fn bins() -> *mut Bins {
    bins_of(here())
}

/// Visits by functions that called themselves without a hook.
#[repr(C)]
struct Again {
    /// `poise_again`: how many there were; instrumented code adds to it.
    visits: u64,
    /// `visits` when they were last attributed.
    mark: u64,
}

/// The visits without a hook of the calling thread, which lie behind its bins.
#[inline(always)]
fn again_of(thread: *mut Thread) -> *mut Again {
    // SAFETY: as in `site`.
    unsafe { bins_of(thread).add(1).cast() }
}

/// The lowest bit of an address, which is always free.
const ARMED: usize = 1;

/// The calling thread's block.
#[inline(always)]
fn here() -> *mut Thread {
    words::address!("poise_thread")
}

/// How much `count` has grown since it was put into `mark`, where it is put again: what is not attributed yet, which the caller attributes now. A
/// signal's handler may come in between anywhere: one that attributes has moved the mark, and what one only counts is attributed later.
/// Nothing but instrumented code writes a count, which may be about to store what it has loaded.
///
/// # Safety
/// Both words must be this thread's.
#[inline(always)]
unsafe fn since(mark: *mut u64, count: *const u64) -> u64 {
    loop {
        // SAFETY: the caller's promise. Volatile, since handlers change them, of which the compiler knows nothing.
        let (before, now) = unsafe { (mark.read_volatile(), count.read_volatile()) };
        // Between the hooks of one MPI call nothing is, as a rule.
        if before == now {
            return 0;
        }
        // SAFETY: as above.
        if unsafe { exchange(mark, before, now) } {
            return now.wrapping_sub(before);
        }
    }
}

/// Writes `new` into a word where `old` is in it, and says whether it was. No signal's handler of this thread can come in between; other threads do not
/// have the word, so that no bus is locked for it.
///
/// # Safety
/// The word must be this thread's, and aligned.
#[inline(always)]
unsafe fn exchange(word: *mut u64, old: u64, new: u64) -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let was: u64;
        // SAFETY: the instruction reads and writes the word alone, which is the caller's promise.
        unsafe {
            std::arch::asm!("cmpxchg qword ptr [{word}], {new}", word = in(reg) word, new = in(reg) new, inout("rax") old => was, options(nostack));
        }
        was == old
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
        // SAFETY: the caller's promise.
        let word = unsafe { AtomicU64::from_ptr(word) };
        word.compare_exchange(old, new, Relaxed, Relaxed).is_ok()
    }
}

impl Thread {
    /// Adds blocks and time since the last attribution to the current node, which must not be null.
    #[inline(always)]
    fn attribute(&mut self) {
        self.attribute_at(clock::now());
    }

    /// The same where it is `now`.
    #[inline(always)]
    fn attribute_at(&mut self, now: u64) {
        // SAFETY: nodes live as long as their thread, and `current` is one of them.
        let node = unsafe { &*self.current };
        // Clocks of different cores may disagree by a little after a migration.
        let (blocks, ticks) = (self.counted(), now.saturating_sub(self.last));
        node.blocks.add(blocks);
        node.ticks.add(ticks);
        let visits = self.again();
        if visits != 0 {
            node.visits.add(visits);
        }
        self.last = now;
        if self.polls & ARMED != 0 {
            let node = self.current;
            if let Some(polls) = self.polls() {
                polls.note(node, blocks, ticks);
            }
        } else {
            // Not while it may have been polling, which leaves no trace in the bins.
            // SAFETY: the bins are this thread's.
            let bins = unsafe { &mut *bins_of(self) };
            let done = Done { node: self.current, blocks, visits, timed: self.current, ticks };
            phases::advance(bins, done, self.blocks, now, &mut self.busy);
        }
    }

    /// Blocks that are not attributed yet, which the caller attributes now.
    #[inline(always)]
    fn counted(&mut self) -> u64 {
        // SAFETY: both words are this thread's.
        unsafe { since(&raw mut self.mark, &raw const self.blocks) }
    }

    /// Visits without a hook that are not attributed yet, which the caller attributes now. Seldom are there any: then nothing is written.
    #[inline(always)]
    fn again(&mut self) -> u64 {
        let again = again_of(self);
        // SAFETY: both words are this thread's.
        unsafe {
            let (mark, visits) = (&raw mut (*again).mark, &raw const (*again).visits);
            if mark.read_volatile() == visits.read_volatile() {
                return 0;
            }
            // A handler that came between the load and the store of an addition seems to have made fewer of them.
            u64::try_from(since(mark, visits) as i64).unwrap_or(0)
        }
    }

    /// Gives the current node, if there is one, its visits without a hook.
    fn settle_visits(&mut self) {
        let visits = self.again();
        // SAFETY: as in `attribute`.
        if let Some(node) = unsafe { self.current.as_ref() } {
            node.visits.add(visits);
        }
    }

    /// Blocks of an inlined function are about to be told: attributes what the current node has counted before, with its part of the time since
    /// then, and gives the time that is left for them. Both are of the current node.
    #[cold]
    #[inline(never)]
    fn attribute_before(&mut self, blocks: u64) -> u64 {
        let now = clock::now();
        let own = self.blocks.wrapping_sub(self.mark);
        let ticks = u128::from(now.saturating_sub(self.last));
        let part = ticks * u128::from(own) / u128::from(own.saturating_add(blocks).max(1));
        self.attribute_at(self.last.saturating_add(part as u64));
        self.prepare(self.current);
        self.attribute_time(now)
    }

    /// Adds the time since the last attribution to the current node, which must not be null, and gives it.
    fn attribute_time(&mut self, now: u64) -> u64 {
        let ticks = now.saturating_sub(self.last);
        // SAFETY: as in `attribute`.
        unsafe { (*self.current).ticks.add(ticks) };
        self.last = now;
        ticks
    }

    /// Makes `node` the current one, which always has its part in the current bin.
    #[inline(always)]
    fn go(&mut self, node: *mut Node) {
        self.current = node;
        self.prepare(node);
    }

    /// Sees to it that `node`, which is about to count something, has its part in the current bin.
    #[inline(always)]
    fn prepare(&mut self, node: *mut Node) {
        // SAFETY: the bins are this thread's.
        phases::prepare(unsafe { &*bins_of(self) }, node, &mut self.busy);
    }

    /// What may have been polling.
    fn polls(&mut self) -> Option<&mut Polls> {
        // SAFETY: the word is null or the address of a box, which only this thread knows, with the lowest bit as a flag.
        unsafe { ((self.polls & !ARMED) as *mut Polls).as_mut() }
    }

    /// The logical clock.
    #[inline(always)]
    fn clock(&self) -> u64 {
        self.blocks.wrapping_add(self.ahead)
    }

    /// The node of `region` below `parent`.
    #[inline(always)]
    fn callee(&mut self, parent: *mut Node, region: *const Region) -> *mut Node {
        // SAFETY: `parent` is a node of this thread's tree.
        let known = unsafe { Node::callee(parent, region) };
        if known.is_null() { self.grow(parent, region) } else { known }
    }

    /// The place in inlined functions from which the current node calls, which is then in none of them.
    #[inline(always)]
    fn token(&mut self) -> Token {
        // SAFETY: the word is this thread's.
        let site = unsafe { &mut *site(self) };
        let inlined = site.get();
        site.set(null());
        if inlined.is_null() { Token::of_node(self.current) } else { self.place(inlined) }
    }

    /// The place `inlined` of the current node.
    #[inline(always)]
    fn place(&mut self, inlined: *const Inlined) -> Token {
        // SAFETY: the current node is of this thread's tree.
        let known = unsafe { Place::find(self.current, inlined) };
        if known.is_null() { self.new_place(inlined) } else { Token::of_place(known) }
    }

    /// The same where it is new; the node itself in a signal handler that interrupted a change of the tree.
    #[cold]
    #[inline(never)]
    fn new_place(&mut self, inlined: *const Inlined) -> Token {
        let current = self.current;
        if self.busy != 0 {
            return Token::of_node(current);
        }
        // SAFETY: instrumented code gives its constants.
        let inside = unsafe { inlined::below(inlined, current, &mut |parent, region| self.callee(parent, region)) };
        // SAFETY: both nodes are of this thread's tree.
        let place = alone(&mut self.busy, null_mut(), move || unsafe { Place::add(current, inlined, inside) });
        if place.is_null() { Token::of_node(current) } else { Token::of_place(place) }
    }

    /// Goes back to where `token` was given.
    ///
    /// # Safety
    /// The token must be of this thread's tree.
    #[inline(always)]
    unsafe fn back(&mut self, token: Token) {
        // SAFETY: the caller's promise; the word is this thread's.
        unsafe {
            let (node, inlined) = token.back();
            self.go(node);
            (*site(self)).set(inlined);
        }
    }

    /// The node of the call path that the stack shows, where `operation` was called from code that is not instrumented.
    #[inline(never)]
    fn on_stack(&mut self, operation: *const Region) -> *mut Node {
        let tree = self.tree;
        let place = std::hint::black_box(&tree as *const _ as usize);
        // SAFETY: the tree is this thread's, which is not within a change of what it has seen.
        let known = (self.busy == 0).then(|| unsafe { (*(*tree).stacks()).known(operation, place) }).flatten();
        known.unwrap_or_else(|| self.walk(operation, place))
    }

    /// The same by a walk over the stack, whose time is nobody's.
    #[cold]
    #[inline(never)]
    fn walk(&mut self, operation: *const Region, place: usize) -> *mut Node {
        let tree = self.tree;
        // SAFETY: as in `on_stack`; `busy` keeps signal handlers out.
        let found =
            alone(&mut self.busy, null_mut(), move || unsafe { (*(*tree).stacks()).find(tree, operation, place) });
        self.last = clock::now();
        // SAFETY: the tree is this thread's.
        if found.is_null() { unsafe { (*tree).root() } } else { found }
    }

    /// Adds the node of `region` below `parent`; gives `parent` where that cannot be.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, parent: *mut Node, region: *const Region) -> *mut Node {
        let tree = self.tree;
        // SAFETY: the tree is this thread's and `parent` is in it; `busy` keeps signal handlers out.
        let node = alone(&mut self.busy, null_mut(), move || unsafe { (*tree).grow(parent, region) });
        if node.is_null() { parent } else { node }
    }
}

/// Runs `cold`, which may allocate, with the thread's word `busy` set; gives `default` instead in a signal handler that
/// interrupted such an action, since allocating is not for it.
pub fn alone<T>(busy: &mut u64, default: T, cold: impl FnOnce() -> T + std::panic::UnwindSafe) -> T {
    let busy = std::ptr::from_mut(busy);
    // SAFETY: the word is the caller's. Volatile, since a signal handler may read it meanwhile, of which the compiler knows
    // nothing.
    unsafe {
        if busy.read_volatile() != 0 {
            return default;
        }
        busy.write_volatile(1);
        let result = shielded(default, cold);
        busy.write_volatile(0);
        result
    }
}

/// See `poise_enter`.
#[inline(always)]
pub fn enter(region: *const Region) -> Token {
    // SAFETY: the block is this thread's; no other reference to it exists during this call.
    let thread = unsafe { &mut *here() };
    if thread.current.is_null() && !begin(thread) {
        return Token::NONE;
    }
    thread.attribute();
    let token = thread.token();
    // SAFETY: the token is of this thread's tree.
    let mut parent = unsafe { token.inside() };
    // SAFETY: `parent` is a node of this thread's tree, and the region is the caller's.
    if unsafe { (*parent).is_root() && (*region).is_mpi() } && stack::is_on() {
        parent = thread.on_stack(region);
    }
    let node = thread.callee(parent, region);
    thread.go(node);
    // SAFETY: `current` is a node of this thread's tree.
    unsafe { (*thread.current).visits.add(1) };
    token
}

/// See `poise_inlined`.
#[inline(always)]
pub fn inlined(inlined: *const Inlined, blocks: u64) {
    // SAFETY: as in `enter`.
    let thread = unsafe { &mut *here() };
    if thread.current.is_null() || blocks == 0 {
        return;
    }
    // SAFETY: the token is of this thread's tree.
    let node = if inlined.is_null() { thread.current } else { unsafe { thread.place(inlined).inside() } };
    // A function that calls itself has no hook for long, so that what it has counted itself may be much by now.
    let own = thread.blocks.wrapping_sub(thread.mark);
    // SAFETY: the bins are this thread's.
    let wants_time = thread.polls & ARMED == 0 && unsafe { (*bins_of(thread)).want_time_of(own, blocks) };
    let ticks = if wants_time { thread.attribute_before(blocks) } else { 0 };
    // What is counted here is no part of what will be attributed to the current node, and of all else it is.
    thread.blocks = thread.blocks.wrapping_add(blocks);
    thread.mark = thread.mark.wrapping_add(blocks);
    thread.prepare(node);
    // SAFETY: the node is one of this thread's tree.
    unsafe { (*node).blocks.add(blocks) };
    if thread.polls & ARMED != 0 {
        if let Some(polls) = thread.polls() {
            polls.note(node, blocks, 0);
        }
    } else {
        // SAFETY: the bins are this thread's.
        let bins = unsafe { &mut *bins_of(thread) };
        // What the current node has counted since it was attributed comes later.
        let done = Done { node, blocks, visits: 0, timed: thread.current, ticks };
        phases::advance(bins, done, thread.mark, thread.last, &mut thread.busy);
        thread.prepare(thread.current);
    }
}

/// See `poise_return_to`.
///
/// # Safety
/// `node` must be null or what [`current`] gave on this thread.
#[inline(always)]
pub unsafe fn return_to(node: *mut Node) {
    // SAFETY: as in `enter`.
    let thread = unsafe { &mut *here() };
    // SAFETY: the word is this thread's.
    unsafe { (*site(thread)).set(null()) };
    if !node.is_null() && !thread.current.is_null() {
        thread.attribute();
        thread.go(node);
    }
}

/// The current call path's node; null in a thread that has entered nothing.
pub fn current() -> *mut Node {
    // SAFETY: as in `enter`.
    unsafe { (*here()).current }
}

/// See `poise_leave`.
///
/// # Safety
/// `token` must come from [`enter`] on this thread.
#[inline(always)]
pub unsafe fn leave(token: Token) {
    if token == Token::NONE {
        return;
    }
    // SAFETY: as in `enter`.
    let thread = unsafe { &mut *here() };
    if !thread.current.is_null() {
        thread.attribute();
        // SAFETY: the caller's promise.
        unsafe { thread.back(token) };
    }
}

/// See `poise_resume`.
///
/// # Safety
/// `token` must come from [`enter`] of `region` on this thread.
#[inline(always)]
pub unsafe fn resume(token: Token, region: *const Region) {
    if token == Token::NONE {
        return;
    }
    // SAFETY: as in `enter`.
    let thread = unsafe { &mut *here() };
    if !thread.current.is_null() {
        thread.attribute();
        // SAFETY: the caller's promise.
        let node = thread.callee(unsafe { token.inside() }, region);
        thread.go(node);
    }
}

impl Thread {
    /// The call path from which this thread was started and that [`starts`] noted; once.
    fn started_from(&mut self) -> Vec<*const Region> {
        let noted = self.tree as usize;
        if !self.current.is_null() || noted & ARMED == 0 {
            return Vec::new();
        }
        self.tree = null_mut();
        // SAFETY: only `starts` sets the bit, with the address of a box that is forgotten here.
        unsafe { Box::from_raw((noted & !ARMED) as *mut Start) }.path
    }

    /// Frees what may have been polling.
    fn forget_polls(&mut self) {
        if self.polls != 0 {
            // SAFETY: the address came from a box and is forgotten here.
            drop(unsafe { Box::from_raw((self.polls & !ARMED) as *mut Polls) });
            self.polls = 0;
        }
    }
}

/// Notes how this thread was started, in a box that is the thread's from now on. It gets a tree when it enters something, or
/// when it ends if it has counted something by then: many threads do neither. Allocates and frees nothing, see [`Start`]: a box that
/// cannot be noted, for lack of memory, stays where it is.
pub fn starts(start: *mut Start) {
    // SAFETY: as in `enter`.
    let thread = unsafe { &mut *here() };
    if thread.current.is_null() && thread.tree.is_null() && process::watch(std::ptr::from_mut(thread) as usize) {
        thread.tree = (start as usize | ARMED) as *mut Tree;
    }
}

/// The node of the call path that this thread is on, inlined functions and all: what it starts goes below. Null in a thread that has
/// entered nothing.
pub fn origin() -> *mut Node {
    // SAFETY: as in `enter`.
    let thread = unsafe { &mut *here() };
    // SAFETY: the word is this thread's.
    let inlined = unsafe { (*site(thread)).get() };
    if thread.current.is_null() || inlined.is_null() {
        return thread.current;
    }
    // SAFETY: the token is of this thread's tree.
    unsafe { thread.place(inlined).inside() }
}

/// Puts this thread below the call path of `origin`, a node of another living tree; gives what to go back to by
/// [`leave`], [`Token::NONE`] if the thread is on that call path itself or nothing is measured.
pub fn adopt(origin: *mut Node) -> Token {
    if origin.is_null() || origin == self::origin() {
        return Token::NONE;
    }
    // SAFETY: as in `enter`.
    let thread = unsafe { &mut *here() };
    if thread.busy != 0 || thread.current.is_null() && !begin(thread) {
        return Token::NONE;
    }
    thread.attribute();
    let token = thread.token();
    thread.busy = 1;
    let tree = thread.tree;
    // SAFETY: the tree is this thread's; `busy` keeps signal handlers out; the caller's promise of the origin.
    let base = shielded(null_mut(), move || unsafe { (*tree).base_of(origin) });
    thread.busy = 0;
    if base.is_null() {
        // SAFETY: the token was just given.
        unsafe { thread.back(token) };
        return Token::NONE;
    }
    thread.go(base);
    token
}

/// Lets `change` change the list of this thread's open regions, given with the current node; not in a signal handler that
/// interrupted such a change. `change` gives the token to [`leave`] by afterwards, if any.
pub fn with_open(change: impl FnOnce(&mut Vec<Open>, *mut Node) -> Option<Token> + std::panic::UnwindSafe) {
    // SAFETY: as in `enter`.
    let thread = unsafe { &mut *here() };
    let current = thread.current;
    if current.is_null() {
        return;
    }
    // SAFETY: the tree is this thread's.
    let open = unsafe { (*thread.tree).open() };
    // SAFETY: `busy` keeps others from the list.
    if let Some(to) = alone(&mut thread.busy, None, move || change(unsafe { &mut *open }, current)) {
        // SAFETY: what is remembered came from `enter` on this thread.
        unsafe { leave(to) };
    }
}

/// Attributes what this thread has done so far, before its tree is read.
pub fn settle() {
    // SAFETY: as in `enter`.
    let thread = unsafe { &mut *here() };
    if !thread.current.is_null() {
        thread.attribute();
    }
}

/// Counts this thread's regions that were left without their end, before the profile is taken.
pub fn check_open() {
    with_open(|open, current| {
        marks::check(open, current);
        None
    });
}

/// A thread's block as it was when something else began to run on the thread: a coroutine with a call path of its own.
#[repr(C)]
pub struct Suspended([u64; 8]);

/// Takes the call path off this thread, which from now on has entered nothing.
pub fn suspend() -> Suspended {
    process::threads_are_shared();
    // Visits without a hook lie behind the block, and are the call path's that is taken off.
    // SAFETY: as in `enter`.
    unsafe { (*here()).settle_visits() };
    // SAFETY: as in `enter`; the block is eight words, whatever they hold.
    unsafe { here().cast::<Suspended>().replace(Suspended([0; 8])) }
}

/// Puts a call path back on this thread.
///
/// # Safety
/// `suspended` must come from [`suspend`] on this thread and be put back once.
pub unsafe fn proceed(suspended: Suspended) {
    // What else ran on the thread meanwhile has left its visits without a hook, as in `suspend`.
    // SAFETY: as in `enter`.
    unsafe { (*here()).settle_visits() };
    // SAFETY: as in `suspend`; the caller's promise.
    unsafe { here().cast::<Suspended>().write(suspended) };
}

/// Takes its tree, brought up to date, from this thread, which from now on has entered nothing. Null if it has none.
pub fn detach() -> *mut Tree {
    end(here() as usize)
}

/// Keeps this thread from beginning a tree anew, which frames that are still open would leave by tokens of the one it had.
pub fn close() {
    // SAFETY: as in `enter`.
    unsafe { (*here()).busy = 1 };
}

/// What a thread has done since its tree was last brought up to date.
pub struct Pending {
    /// Number of the current node.
    pub node: u32,
    /// Basic blocks.
    pub blocks: u64,
    /// Visits by functions that called themselves.
    pub visits: u64,
    /// Time in ticks; 0 where only the thread itself can read its clock.
    pub ticks: u64,
}

/// What the living thread whose block is at `address` has not attributed yet; `None` if it is in no region. Exact if the
/// thread sleeps; one that runs changes the numbers meanwhile.
pub fn pending(address: usize) -> Option<Pending> {
    let thread = address as *const Thread;
    let now = clock::now();
    // SAFETY: the block lives as long as its thread. The words are read whole, and nodes live as long as the thread.
    let (node, last, mark, blocks) = unsafe {
        let read = |word: *const u64| word.read_volatile();
        let node = (&raw const (*thread).current).read_volatile().as_ref()?;
        (node, read(&raw const (*thread).last), read(&raw const (*thread).mark), read(&raw const (*thread).blocks))
    };
    // SAFETY: as above.
    let (all, attributed) = unsafe {
        let again = again_of(thread.cast_mut());
        ((&raw const (*again).visits).read_volatile(), (&raw const (*again).mark).read_volatile())
    };
    // A thread that attributed between two of these reads seems to have gone backwards: then nothing is pending.
    let since = |later: u64, earlier: u64| u64::try_from(later.wrapping_sub(earlier) as i64).unwrap_or(0);
    let ticks = if !clock::is_shared() || node.is_untimed() { 0 } else { since(now, last) };
    Some(Pending { node: node.number(), blocks: since(blocks, mark), visits: since(all, attributed), ticks })
}

/// Gives this thread a tree; false where nothing is measured.
#[cold]
#[inline(never)]
fn begin(thread: &mut Thread) -> bool {
    if thread.busy != 0 || !process::is_active() {
        return false;
    }
    thread.busy = 1;
    let address = std::ptr::from_mut(thread) as usize;
    let path = thread.started_from();
    let tree = shielded(null_mut(), move || process::register(address));
    if !tree.is_null() {
        thread.tree = tree;
        // SAFETY: the tree was just made and is this thread's; regions live as long as the process.
        thread.current = shielded(unsafe { (*tree).root() }, move || unsafe { (*tree).base_of_regions(&path) });
        thread.last = clock::now();
        // What was entered while nothing was measured is no visit.
        thread.again();
        shielded((), noise::thread_begins);
        let (mark, node) = (thread.mark, thread.current);
        shielded((), move || phases::thread_begins(mark, node));
    }
    thread.busy = 0;
    !tree.is_null()
}

/// Takes the tree from the ending thread whose block is at `address`; it starts anew should it enter something again.
/// Null if it has none.
pub fn end(address: usize) -> *mut Tree {
    let thread = address as *mut Thread;
    // SAFETY: the caller is the thread itself, about to end.
    let thread = unsafe { &mut *thread };
    if thread.current.is_null() {
        let has_counted = thread.blocks != thread.mark && !thread.tree.is_null();
        if !has_counted || !begin(thread) {
            thread.started_from();
            return null_mut();
        }
    }
    thread.attribute();
    // Where a thread ends, it has left what it entered.
    // SAFETY: the tree is this thread's.
    let (root, open) = unsafe { ((*thread.tree).root(), (*thread.tree).open()) };
    // SAFETY: the list is this thread's, which ends.
    shielded((), move || marks::check(unsafe { &mut *open }, root));
    thread.forget_polls();
    thread.current = null_mut();
    noise::thread_ends();
    phases::thread_ends();
    std::mem::replace(&mut thread.tree, null_mut())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_allocate_is_not_begun_within_itself() {
        let mut word = 0_u64;
        let address = &raw mut word;
        // SAFETY: one thread looks at the word, as hooks and signal handlers do: the inner call is the handler's.
        let call = |cold: fn(*mut u64) -> [u64; 2]| alone(unsafe { &mut *address }, [7, 7], move || cold(address));
        // SAFETY: as above.
        let within = call(|address| unsafe { [*address, alone(&mut *address, 7, || 8)] });
        assert_eq!(within, [1, 7]);
        assert_eq!(call(|_| panic!("cold")), [7, 7]);
        assert_eq!(call(|_| [8, 9]), [8, 9]);
    }
}
