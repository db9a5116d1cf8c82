//! The calling-context tree of one thread. The thread alone changes it; another thread may read it meanwhile, which
//! is why nodes never move, counters are atomics (read and written relaxed, so they cost what plain ones do) and
//! readers walk the nodes in the order of their creation instead of following lists that change.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use crate::inlined::Place;
use crate::marks::Open;
use crate::stack::Stacks;
use crate::traffic::Traffic;

/// A function or MPI operation; `struct poise_region` of `poise_runtime.h`.
#[derive(Debug)]
#[repr(C)]
pub struct Region {
    /// Name as the linker knows it.
    pub name: *const c_char,
    /// Source file, or null.
    pub file: *const c_char,
    /// Source line, or 0.
    pub line: u32,
    /// 0 function, 1 MPI operation, 2 marked by hand, 3 inlined function, 4 MPI operations of which no record is wanted.
    pub kind: u16,
    /// `LOOPS`, `PARTS`, both or none.
    pub flags: u16,
}

/// Of a function's blocks, its entry and the headers of its loops alone count.
pub const LOOPS: u16 = 1;
/// Functions inlined into it count for themselves.
pub const PARTS: u16 = 2;

impl Region {
    /// Whether it is an MPI operation.
    #[inline(always)]
    pub fn is_mpi(&self) -> bool {
        self.kind == 1
    }

    /// Whether it stands for MPI operations of which the program wants no record.
    pub fn is_unrecorded(&self) -> bool {
        self.kind == 4
    }

    /// The region as profiles hold it.
    ///
    /// # Safety
    /// The strings must be null or NUL-terminated and live.
    pub unsafe fn to_profile(&self) -> poise_profile::Region {
        let text = |text: *const c_char| match text.is_null() {
            true => String::new(),
            // SAFETY: the caller's promise.
            false => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
        };
        let kind = match self.kind {
            1 => poise_profile::RegionKind::Mpi,
            2 => poise_profile::RegionKind::User,
            3 => poise_profile::RegionKind::Inlined,
            _ => poise_profile::RegionKind::Function,
        };
        poise_profile::Region { name: text(self.name), file: text(self.file), line: self.line, kind }
    }
}

/// A number that one thread changes and others may read.
#[derive(Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds; only the owning thread may.
    #[inline(always)]
    pub fn add(&self, value: u64) {
        self.0.store(self.get().wrapping_add(value), Ordering::Relaxed);
    }

    /// Puts `value` in place of what was there; only the owning thread may.
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// Takes away what was added before; only the owning thread may.
    pub fn take(&self, value: u64) {
        self.add(value.wrapping_neg());
    }

    /// Keeps the larger value; only the owning thread may.
    pub fn raise(&self, value: u64) {
        self.0.store(self.get().max(value), Ordering::Relaxed);
    }

    /// The value.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// One call path, or a link to one: where a region is entered that is on the path already, a link below the current
/// node leads back to that region's node.
///
/// Or a *base*: where a thread stands that works for a call path which another thread is on. Below it hangs what the
/// thread enters, its own blocks are those of the call path above it, and its time is nobody's.
pub struct Node {
    /// The node's region; null at the root and at bases.
    region: *const Region,
    /// The caller; null at the root.
    parent: *mut Node,
    /// This node itself, or where this link leads.
    target: *mut Node,
    /// The callee entered last; null if there is none yet.
    last: *mut Node,
    /// The next of the caller's callees, which form a ring in the order in which they were first entered.
    next: *mut Node,
    /// The place in inlined functions from which the node called last; null if it has not yet.
    places: *mut Place,
    /// This node's number in order of creation.
    number: u32,
    /// Times entered.
    pub visits: Counter,
    /// Exclusive basic blocks.
    pub blocks: Counter,
    /// Exclusive time in ticks of [`crate::clock`].
    pub ticks: Counter,
    /// Bytes sent by MPI.
    pub bytes_sent: Counter,
    /// Bytes received by MPI.
    pub bytes_received: Counter,
    /// Ranks of the largest communicator used.
    pub comm_size: Counter,
    /// Waiting by the logical clock.
    pub logical_wait: Counter,
    /// Waiting in ticks of [`crate::clock`].
    pub wait_ticks: Counter,
    /// Blocks that only polled.
    pub polling_blocks: Counter,
    /// The last bin of [`crate::phases`] that the node was reached in.
    pub bin: Counter,
    /// The messages of an MPI operation; null while there are none.
    pub traffic: AtomicPtr<Traffic>,
}

impl Node {
    /// The node's number, as in [`View::number`].
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The same for any thread.
    ///
    /// # Safety
    /// `node` must live.
    pub unsafe fn number_of(node: *const Self) -> u32 {
        // SAFETY: the caller's promise; as in `origin`.
        unsafe { (*node).number }
    }

    /// Where the node's ring of places begins; the owning thread's alone.
    ///
    /// # Safety
    /// `node` must live.
    #[inline(always)]
    pub unsafe fn places(node: *mut Self) -> *mut *mut Place {
        // SAFETY: the caller's promise.
        unsafe { &raw mut (*node).places }
    }

    /// Whether the node is the root, where what is outside all regions is counted.
    #[inline(always)]
    pub fn is_root(&self) -> bool {
        self.parent.is_null()
    }

    /// Whether the node is a base: where a thread works for another's call path.
    pub fn is_base(&self) -> bool {
        self.region.is_null() && !self.parent.is_null()
    }

    /// Whether its time is nobody's.
    pub fn is_untimed(&self) -> bool {
        // SAFETY: null, at the root and at bases, or a region, which lives as long as the process.
        self.is_base() || unsafe { self.region.as_ref() }.is_some_and(Region::is_unrecorded)
    }

    /// The caller, null at the root, and the region, null there and at bases: what never changes, so that any thread may ask.
    ///
    /// # Safety
    /// `node` must live.
    pub unsafe fn origin(node: *const Self) -> (*mut Self, *const Region) {
        // SAFETY: the caller's promise; no reference to the whole, whose thread may change its links meanwhile.
        unsafe { ((*node).parent, (*node).region) }
    }

    /// The regions of the node's call path, outermost first.
    ///
    /// # Safety
    /// `node` must be a node of the calling thread's tree.
    pub unsafe fn regions(mut node: *mut Self) -> Vec<*const Region> {
        let mut regions = Vec::new();
        // SAFETY: as in `callee`.
        unsafe {
            while !node.is_null() {
                if !(*node).region.is_null() {
                    regions.push((*node).region);
                }
                node = (*node).parent;
            }
        }
        regions.reverse();
        regions
    }

    /// The node of `region` when it is entered from `parent`; null if it must be made.
    ///
    /// # Safety
    /// `parent` must be a node of the calling thread's tree.
    #[inline(always)]
    pub unsafe fn callee(parent: *mut Self, region: *const Region) -> *mut Self {
        // SAFETY: all pointers between nodes are null or lead to nodes of the same tree, which never move.
        unsafe {
            if std::ptr::eq((*parent).region, region) {
                return parent;
            }
            let last = (*parent).last;
            if last.is_null() {
                return null_mut();
            }
            if std::ptr::eq((*last).region, region) {
                return (*last).target;
            }
            // Programs repeat themselves: what followed before is likely to follow again.
            let mut node = (*last).next;
            while node != last {
                if std::ptr::eq((*node).region, region) {
                    (*parent).last = node;
                    return (*node).target;
                }
                node = (*node).next;
            }
        }
        null_mut()
    }

    /// Whether `wanted` is `node` or one of its callers.
    ///
    /// # Safety
    /// `node` must be null or a node of the calling thread's tree.
    pub unsafe fn is_on_path(mut node: *mut Self, wanted: *mut Self) -> bool {
        // SAFETY: as in `callee`.
        unsafe {
            while !node.is_null() && node != wanted {
                node = (*node).parent;
            }
        }
        !node.is_null()
    }

    /// Whether the inlined function `region` is around `node` already, within the function that was entered: a marked region
    /// began in it.
    ///
    /// # Safety
    /// `node` must be null or a node of the calling thread's tree.
    #[inline(always)]
    pub unsafe fn is_within(mut node: *mut Self, region: *const Region) -> bool {
        // SAFETY: as in `callee`; regions live, and only the root has none.
        unsafe {
            while !node.is_null() && !(*node).region.is_null() {
                if std::ptr::eq((*node).region, region) {
                    return true;
                }
                if !matches!((*(*node).region).kind, 2 | 3) {
                    return false;
                }
                node = (*node).parent;
            }
        }
        false
    }

    /// The node of `region` among `node` and its callers; null if there is none.
    ///
    /// # Safety
    /// `node` must be null or a node of the calling thread's tree.
    unsafe fn on_path(mut node: *mut Self, region: *const Region) -> *mut Self {
        // SAFETY: as in `callee`.
        unsafe {
            while !node.is_null() && !std::ptr::eq((*node).region, region) {
                node = (*node).parent;
            }
        }
        node
    }
}

/// What a reader learns of a node.
pub struct View {
    /// The node's number; callers have smaller ones.
    pub number: u32,
    /// The caller's number; `None` at the root.
    pub parent: Option<u32>,
    /// The region; null at the root and at bases.
    pub region: *const Region,
    /// The node, for its counters. No reference, since its thread may change its links meanwhile.
    pub node: *const Node,
}

/// Nodes per allocation.
const CHUNK: usize = 32;
/// Nodes that one thread may have: a bound for programs whose recursion makes ever new call paths.
const MAXIMUM: u32 = 4_000_000;

/// Some nodes next to each other in memory.
struct Chunk {
    /// How many of `nodes` are in use; stored after their contents.
    used: AtomicUsize,
    next: AtomicPtr<Chunk>,
    nodes: [std::mem::MaybeUninit<Node>; CHUNK],
}

impl Chunk {
    fn allocate() -> *mut Self {
        Box::into_raw(Box::new(Self {
            used: AtomicUsize::new(0),
            next: AtomicPtr::new(null_mut()),
            nodes: [const { std::mem::MaybeUninit::uninit() }; CHUNK],
        }))
    }
}

/// The call tree of one thread.
pub struct Tree {
    /// Address of the thread's block in thread-local storage.
    thread: usize,
    head: *mut Chunk,
    tail: *mut Chunk,
    count: u32,
    /// Whether [`MAXIMUM`] was reached.
    full: AtomicUsize,
    /// Whether call paths came from the stack, which makes the root's time the program's.
    from_stack: AtomicBool,
    /// Whether there was no memory for some messages.
    lacks_messages: AtomicBool,
    /// Regions marked by hand that have begun; the owning thread's alone.
    open: UnsafeCell<Vec<Open>>,
    /// What was seen on the stack; the owning thread's alone.
    stacks: UnsafeCell<Stacks>,
}

// What a panic could leave behind in the list of open regions is still a list of open regions.
impl std::panic::RefUnwindSafe for Tree {}

impl Tree {
    /// A tree for the thread whose block is at `thread`, with nothing but its root: what is executed outside any region.
    pub fn new(thread: usize) -> Self {
        let head = Chunk::allocate();
        let mut tree = Self {
            thread,
            head,
            tail: head,
            count: 0,
            full: AtomicUsize::new(0),
            from_stack: AtomicBool::new(false),
            lacks_messages: AtomicBool::new(false),
            open: UnsafeCell::default(),
            stacks: UnsafeCell::default(),
        };
        tree.push(null_mut(), null());
        tree
    }

    /// Address of the thread's block in thread-local storage.
    pub fn thread(&self) -> usize {
        self.thread
    }

    /// Regions marked by hand that have begun. Only the owning thread may look at them.
    pub fn open(&self) -> *mut Vec<Open> {
        self.open.get()
    }

    /// What was seen on the thread's stack. Only the owning thread may look at it.
    pub fn stacks(&self) -> *mut Stacks {
        self.stacks.get()
    }

    /// The root.
    pub fn root(&self) -> *mut Node {
        // SAFETY: the first chunk always holds the root first.
        unsafe { (&raw mut (*self.head).nodes).cast() }
    }

    /// Adds the node of `region` below `parent`, or a link to the one on the path already; gives what the node or
    /// link leads to, null if the tree is full.
    ///
    /// # Safety
    /// `parent` must be a node of this tree without a callee `region`.
    pub unsafe fn grow(&mut self, parent: *mut Node, region: *const Region) -> *mut Node {
        if self.count >= MAXIMUM {
            self.full.store(1, Ordering::Relaxed);
            return null_mut();
        }
        // SAFETY: by the caller's promise, and because nodes lead to nodes.
        unsafe {
            // The root, which has no region either, is on every path, but no base leads there.
            let known = if region.is_null() { null_mut() } else { Node::on_path(parent, region) };
            let node = self.push(parent, region);
            if !known.is_null() {
                (*node).target = known;
            }
            let last = (*parent).last;
            if !last.is_null() {
                (*node).next = (*last).next;
                (*last).next = node;
            }
            (*parent).last = node;
            self.publish();
            (*node).target
        }
    }

    /// The node of the call path with these regions, outermost first; where the tree is full, the nearest one above.
    ///
    /// # Safety
    /// The regions must live as long as the process.
    pub unsafe fn path(&mut self, regions: &[*const Region]) -> *mut Node {
        // SAFETY: the caller's promise; nodes are this tree's.
        regions.iter().fold(self.root(), |node, &region| unsafe { self.child(node, region) })
    }

    /// The base of what this tree's thread does for the call path with these regions, outermost first; the root for no
    /// region. Where the tree is full, it is the nearest call path above.
    ///
    /// # Safety
    /// The regions must live as long as the process.
    pub unsafe fn base_of_regions(&mut self, regions: &[*const Region]) -> *mut Node {
        // SAFETY: the caller's promise; nodes are this tree's.
        unsafe {
            let node = self.path(regions);
            self.base(node)
        }
    }

    /// The base of what this tree's thread does for the call path of `origin`, which may be of another tree.
    ///
    /// # Safety
    /// `origin` must be a node of a tree that lives during the call, seen through what synchronises the two threads.
    pub unsafe fn base_of(&mut self, origin: *const Node) -> *mut Node {
        // SAFETY: the caller's promise; `reach` gives nodes of this tree.
        unsafe {
            let node = self.reach(origin);
            self.base(node)
        }
    }

    /// This tree's node with the call path of `origin`; what a node's region and caller are never changes, so that any
    /// thread may read them. As deep as the call path, which has each function once.
    unsafe fn reach(&mut self, origin: *const Node) -> *mut Node {
        // SAFETY: as in `base_of`.
        unsafe {
            if (*origin).parent.is_null() {
                return self.root();
            }
            let parent = self.reach((*origin).parent);
            if (*origin).region.is_null() { parent } else { self.child(parent, (*origin).region) }
        }
    }

    /// The base below `node` of this tree.
    unsafe fn base(&mut self, node: *mut Node) -> *mut Node {
        // SAFETY: the caller's promise. The root has no region either, and is its own base.
        unsafe { self.child(node, null()) }
    }

    /// The callee `region` of `parent`, made where it is new; `parent` itself in a full tree.
    unsafe fn child(&mut self, parent: *mut Node, region: *const Region) -> *mut Node {
        // SAFETY: the callers' promise.
        unsafe {
            let known = Node::callee(parent, region);
            let child = if known.is_null() { self.grow(parent, region) } else { known };
            if child.is_null() { parent } else { child }
        }
    }

    /// Notes that there was no memory for the messages of an operation.
    pub fn note_messages_left_out(&self) {
        self.lacks_messages.store(true, Ordering::Relaxed);
    }

    /// Whether there was no memory for some messages.
    pub fn lacks_messages(&self) -> bool {
        self.lacks_messages.load(Ordering::Relaxed)
    }

    /// Notes that a call path came from the stack.
    pub fn note_stack(&self) {
        self.from_stack.store(true, Ordering::Relaxed);
    }

    /// Whether call paths came from the stack.
    pub fn is_from_stack(&self) -> bool {
        self.from_stack.load(Ordering::Relaxed)
    }

    /// Whether call paths were left out because the tree was full.
    pub fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed) != 0
    }

    /// Writes a new node into memory that readers do not look at until [`Tree::publish`].
    fn push(&mut self, parent: *mut Node, region: *const Region) -> *mut Node {
        // SAFETY: `tail` is this tree's last chunk, and only this thread adds to it.
        unsafe {
            if (*self.tail).used.load(Ordering::Relaxed) == CHUNK {
                let chunk = Chunk::allocate();
                (*self.tail).next.store(chunk, Ordering::Release);
                self.tail = chunk;
            }
            let used = (*self.tail).used.load(Ordering::Relaxed);
            let node: *mut Node = (&raw mut (*self.tail).nodes).cast::<Node>().add(used);
            node.write(Node {
                region,
                parent,
                target: node,
                last: null_mut(),
                next: node,
                places: null_mut(),
                number: self.count,
                visits: Counter::default(),
                blocks: Counter::default(),
                ticks: Counter::default(),
                bytes_sent: Counter::default(),
                bytes_received: Counter::default(),
                comm_size: Counter::default(),
                logical_wait: Counter::default(),
                wait_ticks: Counter::default(),
                polling_blocks: Counter::default(),
                bin: Counter::default(),
                traffic: AtomicPtr::new(null_mut()),
            });
            self.count += 1;
            if parent.is_null() {
                self.publish();
            }
            node
        }
    }

    /// Lets readers see the node pushed last.
    fn publish(&self) {
        // SAFETY: as in `push`.
        unsafe {
            let used = (*self.tail).used.load(Ordering::Relaxed);
            (*self.tail).used.store(used + 1, Ordering::Release);
        }
    }

    /// Shows `visit` every node that is no link, callers before callees. Any thread may call it while the tree lives.
    ///
    /// # Safety
    /// `tree` must live during the call.
    pub unsafe fn read(tree: *const Self, mut visit: impl FnMut(View)) {
        // SAFETY: chunks live as long as the tree; what `used` covers was written before, and `region`, `parent`,
        // `target` and `number` never change after.
        unsafe {
            let mut chunk = (*tree).head;
            while !chunk.is_null() {
                let nodes: *mut Node = (&raw mut (*chunk).nodes).cast();
                for index in 0..(*chunk).used.load(Ordering::Acquire) {
                    let node = nodes.add(index);
                    if (*node).target == node {
                        let parent = (*node).parent;
                        let parent = (!parent.is_null()).then(|| (*parent).number);
                        visit(View { number: (*node).number, parent, region: (*node).region, node });
                    }
                }
                chunk = (*chunk).next.load(Ordering::Acquire);
            }
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let mut chunk = self.head;
        while !chunk.is_null() {
            // SAFETY: each chunk came from a box and is freed once.
            let owned = unsafe { Box::from_raw(chunk) };
            for node in &owned.nodes[..owned.used.load(Ordering::Relaxed)] {
                // SAFETY: nodes that are in use were written; places and traffic are null or this node's, which goes now.
                unsafe {
                    let node = node.assume_init_ref();
                    Place::free(node.places);
                    Traffic::release(node.traffic.load(Ordering::Relaxed));
                }
            }
            chunk = owned.next.load(Ordering::Relaxed);
        }
    }
}
