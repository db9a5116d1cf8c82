//! The MPI library of this process: where its functions are, which family it is of, and the calls that the rules
//! make to it. Handles are words: pointers in Open MPI and SMPI, ints in MPICH, whose upper half is not looked
//! at.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::callers;
use crate::coroutines::Others;
use crate::runtime::{fail, say};

/// `int`.
pub type Int = c_int;
/// `MPI_Aint`, `MPI_Offset` or `MPI_Count`.
pub type Wide = i64;
/// Any pointer or array.
pub type Ptr = *mut c_void;
/// An array of ints that are counts.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Ints(pub *const Int);
/// An array of MPI_Counts.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Wides(pub *const Wide);
/// An MPI handle by value.
pub type Handle = usize;

/// `MPI_SUCCESS`.
pub const SUCCESS: Int = 0;

/// A function of the MPI library, found at its first use.
pub struct Function {
    name: &'static str,
    address: AtomicPtr<c_void>,
}

impl Function {
    /// The function `name`, which ends with a NUL.
    pub const fn new(name: &'static str) -> Self {
        assert!(name.as_bytes()[name.len() - 1] == 0);
        Self { name, address: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Its address, never NULL.
    #[inline(always)]
    pub fn address(&self) -> Ptr {
        // Relaxed: what the address leads to was there before this library could look for it.
        let address = self.address.load(Ordering::Relaxed);
        if address.is_null() || callers::have_several() { self.find() } else { address }
    }

    #[cold]
    fn find(&self) -> Ptr {
        let found = match self.name.starts_with("MPI_") {
            true => next_of(self.name),
            false => lookup(self.name),
        };
        let Some(address) = found else {
            let name = self.name.trim_end_matches('\0');
            say(&format!("{name} is called, but no MPI library is loaded that defines it; link the program with one."));
            std::process::abort();
        };
        self.address.store(address, Ordering::Relaxed);
        address
    }
}

/// Where a call of `name`, `MPI_X`, goes on: to a tool that stands between this library and MPI's own, or to the function `PMPI_X`. Tools that
/// rewrite the tables by which libraries find functions, that of `dlsym` among them (GOTCHA), see each call before this library does, and must not get it
/// once more: what they give for the name is not what a library defines under it. Nor must tools in programs of the simulator, where what they call
/// while they serve a call would be the program's.
fn next_of(name: &str) -> Option<Ptr> {
    let own = lookup(&format!("P{name}"));
    if is_simulated() {
        return own;
    }
    let object = |address: Ptr| callers::object(address);
    let of_mpi = own.and_then(object).map(|object| object.dli_fbase);
    let is_a_tools =
        |found: &Ptr| object(*found).is_some_and(|object| Some(object.dli_fbase) != of_mpi && is_called(&object, name));
    lookup(name).filter(is_a_tools).or(own)
}

/// Whether the symbol that was found is of this name, which ends with a NUL, or of that as an extension.
fn is_called(object: &libc::Dl_info, name: &str) -> bool {
    if object.dli_sname.is_null() {
        return false;
    }
    // SAFETY: the loader gave the symbol's name, which ends with a NUL and lives as long as its library.
    let found = unsafe { CStr::from_ptr(object.dli_sname) }.to_bytes_with_nul();
    [name.as_bytes(), extension(name).as_bytes()].contains(&found)
}

/// Whether the ranks are SMPI's. Without looking for the family, which is known only in processes that measure.
fn is_simulated() -> bool {
    !symbol(libc::RTLD_DEFAULT, "smpi_MPI_BYTE\0").is_null()
}

/// What the standard has by now older libraries have as extensions.
fn extension(name: &str) -> String {
    name.replacen("MPI_", "MPIX_", 1)
}

/// The next function of this name, which ends with a NUL.
fn lookup(name: &str) -> Option<Ptr> {
    let extension = extension(name);
    let names = [name, extension.as_str()];
    let first = |look: &dyn Fn(&str) -> Ptr| names.iter().map(|name| look(name)).find(|found| !found.is_null());
    // Where the loader itself would have found it, without this library in front: what all see comes before what the caller alone does.
    // Of several libraries that was once none, but Open MPI makes its own one of those that all see.
    let of_all = |name: &str| symbol_in(libc::RTLD_NEXT, name);
    let [one, other]: [&dyn Fn(&str) -> Ptr; 2] =
        if callers::have_several() { [&callers::symbol, &of_all] } else { [&of_all, &callers::symbol] };
    first(one).or_else(|| first(other)).or_else(|| first(&symbol_of_its_own_scope))
}

/// Looks `name` up in `scope`, then in MPI libraries that were loaded into a scope of their own, as Python's
/// extension modules load them.
fn symbol(scope: *mut c_void, name: &str) -> Ptr {
    let found = symbol_in(scope, name);
    if found.is_null() { symbol_of_its_own_scope(name) } else { found }
}

/// Looks `name`, which ends with a NUL, up in `scope` alone.
pub fn symbol_in(scope: *mut c_void, name: &str) -> Ptr {
    assert!(name.ends_with('\0'));
    // SAFETY: the name ends with a NUL; dlsym takes any scope it defines, and callers pass those or libraries that are loaded.
    unsafe { libc::dlsym(scope, name.as_ptr().cast::<c_char>()) }
}

/// Looks `name` up in the MPI libraries that are loaded, whoever may see them.
fn symbol_of_its_own_scope(name: &str) -> Ptr {
    let found = loaded().map(|library| symbol_in(library, name)).find(|found| !found.is_null());
    found.unwrap_or(ptr::null_mut())
}

/// The MPI libraries that are loaded; one that has two of the names is there twice.
fn loaded() -> impl Iterator<Item = *mut c_void> {
    const LIBRARIES: [&CStr; 3] = [c"libmpi.so.40", c"libmpich.so.12", c"libmpi.so.12"];
    // SAFETY: RTLD_NOLOAD loads nothing; it returns a library that is loaded already or NULL.
    let handle = |library: &CStr| unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    LIBRARIES.into_iter().map(handle).filter(|handle| !handle.is_null())
}

/// Whether two MPI libraries are loaded, each into a scope that not everybody sees.
pub fn are_apart() -> bool {
    let mut libraries: Vec<_> = loaded().collect();
    libraries.sort_unstable();
    libraries.dedup();
    libraries.len() > 1 && symbol_in(libc::RTLD_NEXT, "PMPI_Init\0").is_null()
}

/// Says that there is no telling which of two MPI libraries is the program's.
pub fn fail_for_two() {
    fail(
        "two MPI libraries are in this process, Open MPI and MPICH, of which only one can be the program's \
         (see ldd, and what the libraries that it is linked with were built with), so that its MPI calls are not measured",
    );
}

/// What differs between the families of MPI libraries.
pub struct Family {
    /// `MPI_COMM_WORLD`.
    pub world: Handle,
    /// `MPI_COMM_SELF`; unknown in SMPI, where each rank has its own.
    pub itself: Handle,
    /// `MPI_COMM_NULL`.
    pub comm_null: Handle,
    /// `MPI_BYTE`.
    pub byte: Handle,
    /// `MPI_UINT64_T`.
    pub uint64: Handle,
    /// `MPI_MAX`.
    pub max: Handle,
    /// `MPI_ERRORS_RETURN`.
    pub errors_return: Handle,
    /// `MPI_MESSAGE_NO_PROC`.
    pub message_no_proc: Handle,
    /// `MPI_NO_OP`.
    pub no_op: Handle,
    /// `MPI_IN_PLACE`.
    pub in_place: usize,
    /// `MPI_STATUS_IGNORE`, and `MPI_STATUSES_IGNORE`, which is the same in both.
    pub status_ignore: usize,
    /// sizeof(MPI_Status) in bytes.
    pub status_size: usize,
    /// Where `MPI_SOURCE` is in a status, in bytes; `MPI_TAG` follows it.
    pub status_source: usize,
    /// Size of a handle in memory, in bytes.
    pub handle_size: usize,
    /// `MPI_PROC_NULL`.
    pub proc_null: Int,
    /// `MPI_ANY_SOURCE`.
    pub any_source: Int,
    /// `MPI_ANY_TAG`.
    pub any_tag: Int,
    /// `MPI_ROOT`.
    pub root: Int,
    /// `MPI_CART`, `MPI_GRAPH`, `MPI_DIST_GRAPH`.
    pub topologies: [Int; 3],
    /// Whether the ranks are coroutines of one thread, any of which may run whenever one calls MPI.
    pub has_coroutines: bool,
    /// Bytes from which on a send that is not synchronous may wait for its receiver, at least.
    pub may_wait_from: u64,
}

/// The family of this process's MPI library; `None`, said once on standard error, if it is none that is known.
/// It is asked for only in processes that measure.
#[inline(always)]
pub fn family() -> Option<&'static Family> {
    static FAMILY: OnceLock<Option<Family>> = OnceLock::new();
    FAMILY.get_or_init(recognise).as_ref()
}

#[cold]
fn recognise() -> Option<Family> {
    if !symbol(libc::RTLD_DEFAULT, "ompi_mpi_comm_world\0").is_null()
        && !symbol(libc::RTLD_DEFAULT, "MPII_Comm_get_attr\0").is_null()
    {
        fail_for_two();
        return None;
    }
    // The executable has its own copies of data symbols, so they are looked up from there on.
    let data = |name: &str| symbol(libc::RTLD_DEFAULT, name) as usize;
    let world = data("ompi_mpi_comm_world\0");
    if world != 0 {
        return Some(Family {
            world,
            itself: data("ompi_mpi_comm_self\0"),
            comm_null: data("ompi_mpi_comm_null\0"),
            byte: data("ompi_mpi_byte\0"),
            uint64: data("ompi_mpi_uint64_t\0"),
            max: data("ompi_mpi_op_max\0"),
            errors_return: data("ompi_mpi_errors_return\0"),
            message_no_proc: data("ompi_message_no_proc\0"),
            no_op: data("ompi_mpi_op_no_op\0"),
            ..OPEN_MPI
        });
    }
    let byte = data("smpi_MPI_BYTE\0");
    if byte != 0 {
        // A preloaded library stands before SimGrid's own functions, which then call it, and not before those of the program's copies.
        if std::env::var("LD_PRELOAD").is_ok_and(|list| list.contains("libpoise_mpi")) {
            fail(
                "programs of SimGrid's SMPI are not measured by preloading; compile them with poise cc or c++ (docs/mpi.md) and run them without",
            );
            return None;
        }
        let world = data("MPI_COMM_WORLD\0") as *const Handle;
        // SAFETY: SMPI's MPI_COMM_WORLD is a variable that it never changes.
        let world = if world.is_null() { 0 } else { unsafe { *world } };
        let (errors_return, no_op) = (data("smpi_MPI_ERRORS_RETURN\0"), data("smpi_MPI_NO_OP\0"));
        return Some(Family { world, byte, errors_return, no_op, ..SMPI });
    }
    if symbol(libc::RTLD_DEFAULT, "PMPI_Abi_get_version\0").is_null() {
        return Some(MPICH);
    }
    fail("an MPI library with the functions of the MPI 5 ABI is not supported (use Open MPI 4 or MPICH 4)");
    None
}

/// Open MPI's values, from the mpi.h of 4.1. Its handles are addresses of data, filled in where they are known.
const OPEN_MPI: Family = Family {
    world: 0,
    itself: 0,
    comm_null: 0,
    byte: 0,
    uint64: 0,
    max: 0,
    errors_return: 0,
    message_no_proc: 0,
    no_op: 0,
    in_place: 1,
    status_ignore: 0,
    status_size: 24,
    status_source: 0,
    handle_size: 8,
    proc_null: -2,
    any_source: -1,
    any_tag: -1,
    root: -4,
    topologies: [1, 2, 3],
    has_coroutines: false,
    // What is longer than `btl_vader_max_inline_send` ends when the receiver has returned the memory that it lay in.
    may_wait_from: 257,
};

/// MPICH's values, from the mpi.h of 4.0; MPICH's ABI agreement fixes them for its descendants.
const MPICH: Family = Family {
    world: 0x4400_0000,
    itself: 0x4400_0001,
    comm_null: 0x0400_0000,
    byte: 0x4c00_010d,
    uint64: 0x4c00_083e,
    max: 0x5800_0001,
    errors_return: 0x5400_0001,
    message_no_proc: 0x6c00_0000,
    no_op: 0x5800_000e,
    in_place: usize::MAX,
    status_ignore: 1,
    status_size: 20,
    status_source: 8,
    handle_size: 4,
    proc_null: -1,
    any_source: -2,
    any_tag: -1,
    root: -3,
    topologies: [2, 1, 3],
    has_coroutines: false,
    may_wait_from: 4096,
};

/// The values of SimGrid's SMPI, from the smpi.h of 3.32. Its handles are addresses, filled in where they are known.
const SMPI: Family = Family {
    world: 0,
    itself: 0,
    comm_null: 0,
    byte: 0,
    uint64: 0,
    max: 0,
    errors_return: 0,
    message_no_proc: 0,
    no_op: 0,
    in_place: -222_isize as usize,
    status_ignore: 0,
    status_size: 20,
    status_source: 0,
    handle_size: 8,
    proc_null: -666,
    any_source: -555,
    any_tag: -444,
    // Its MPI_ROOT is 0, which is a rank too; it has no collective operations on intercommunicators.
    root: Int::MIN,
    topologies: [2, 1, 3],
    has_coroutines: true,
    may_wait_from: 4096,
};

impl Family {
    /// A handle as it is compared: without what the caller left in the upper half of the register.
    pub fn handle(&self, handle: Handle) -> Handle {
        if self.handle_size == 4 { handle & 0xffff_ffff } else { handle }
    }

    /// The handle at `index` of an array.
    ///
    /// # Safety
    /// `array` must be readable there, as MPI demands of the argument.
    pub unsafe fn read(&self, array: Ptr, index: usize) -> Handle {
        // SAFETY: the caller's promise; both families align their handles to their size.
        unsafe {
            match self.handle_size {
                4 => *array.cast::<u32>().add(index) as Handle,
                _ => *array.cast::<usize>().add(index),
            }
        }
    }

    /// The rank and tag of the message that `status` is of.
    ///
    /// # Safety
    /// MPI has filled in the status.
    pub unsafe fn source_and_tag(&self, status: Ptr) -> (Int, Int) {
        // SAFETY: the caller's promise; both ints lie side by side in every family.
        unsafe {
            let source = status.byte_add(self.status_source).cast::<Int>();
            (*source, *source.add(1))
        }
    }

    /// Whether `buffer` is `MPI_IN_PLACE`.
    pub fn is_in_place(&self, buffer: Ptr) -> bool {
        buffer as usize == self.in_place
    }
}

/// Whether statuses hold what [`read_status`] reads.
static IS_READ: AtomicBool = AtomicBool::new(false);

/// Bytes that a status counts and whether it is of a cancelled request, where Open MPI 4 and 5 and MPICH's ABI have them.
///
/// # Safety
/// There must be a status of the family's size.
#[inline(always)]
unsafe fn read_status(family: &Family, status: Ptr) -> (Wide, bool) {
    // SAFETY: the caller's promise; statuses are aligned to ints, those of Fortran programs to no more.
    unsafe {
        if family.handle_size == 4 {
            let words = status.cast::<u32>();
            let (low, high) = (*words, *words.add(1));
            return (Wide::from(low) | Wide::from(high >> 1) << 32, high & 1 != 0);
        }
        (status.byte_add(16).cast::<Wide>().read_unaligned(), *status.byte_add(12).cast::<Int>() != 0)
    }
}

/// MPI runs: sees whether its statuses are what [`read_status`] takes them for. A receive is spared two calls of MPI then.
pub fn look_at_statuses() {
    let Some(family) = family().filter(|family| !family.has_coroutines) else { return };
    let reads = |bytes: Wide, cancelled: Int| {
        let mut status = [0_u64; 4];
        let there: Ptr = status.as_mut_ptr().cast();
        // SAFETY: MPI runs, and there is room for a status of any family.
        unsafe {
            status_set_elements_x(there, family.byte, bytes) == SUCCESS
                && status_set_cancelled(there, cancelled) == SUCCESS
                && read_status(family, there) == (bytes, cancelled != 0)
        }
    };
    IS_READ.store(reads(0x1_2345_6789, 0) && reads(7, 1), Ordering::Relaxed);
}

/// Whether what a status stands for was cancelled.
///
/// # Safety
/// As [`bytes_of`].
pub unsafe fn is_cancelled(family: &Family, status: Ptr) -> bool {
    if IS_READ.load(Ordering::Relaxed) {
        // SAFETY: the caller's promise.
        return unsafe { read_status(family, status) }.1;
    }
    let mut cancelled: Int = 0;
    // SAFETY: the caller's promise.
    unsafe { test_cancelled(status, &mut cancelled) };
    cancelled != 0
}

/// Bytes that a status counts.
///
/// # Safety
/// MPI runs, and MPI has filled in the status.
pub unsafe fn bytes_of(family: &Family, status: Ptr, bytes: &mut Wide) {
    // SAFETY: the caller's promise.
    unsafe {
        if IS_READ.load(Ordering::Relaxed) {
            *bytes = read_status(family, status).0;
            return;
        }
        if !family.has_coroutines {
            get_elements_x(status, family.byte, bytes);
            return;
        }
        // SMPI has no MPI_Get_elements_x and ends programs that call it; its statuses hold an int.
        let mut count: Int = 0;
        get_count(status, family.byte, &mut count);
        *bytes = Wide::from(count);
    }
}

/// Declares functions of the MPI library that the rules call.
macro_rules! calls {
    ($($(#[$doc:meta])* fn $name:ident = $symbol:literal ($($argument:ident: $type:ty),*);)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// MPI is initialised and not finalised, and the arguments are what the function demands.
        #[allow(clippy::too_many_arguments, reason = "MPI's functions have as many")]
        #[inline(always)]
        pub unsafe fn $name($($argument: $type),*) -> Int {
            static FUNCTION: Function = Function::new(concat!("PMPI_", $symbol, "\0"));
            type Signature = unsafe extern "C" fn($($type),*) -> Int;
            // SAFETY: the MPI standard gives the function of this name this signature.
            let function: Signature = unsafe { std::mem::transmute(FUNCTION.address()) };
            let _others = Others::may_run();
            // SAFETY: the caller's promise.
            unsafe { function($($argument),*) }
        }
    )*};
}

calls! {
    /// Size of a datatype.
    fn type_size_x = "Type_size_x" (datatype: Handle, size: &mut Wide);
    /// Ranks of a communicator, of the local group in an intercommunicator.
    fn comm_size = "Comm_size" (comm: Handle, size: &mut Int);
    /// This process's rank in it.
    fn comm_rank = "Comm_rank" (comm: Handle, rank: &mut Int);
    /// A communicator's ranks, of the local group in an intercommunicator: a handle that is to be freed.
    fn comm_group = "Comm_group" (comm: Handle, group: &mut Handle);
    /// The ranks of an intercommunicator's other group: a handle that is to be freed.
    fn comm_remote_group = "Comm_remote_group" (comm: Handle, group: &mut Handle);
    /// Frees that.
    fn group_free = "Group_free" (group: &mut Handle);
    /// What ranks of a group are in another.
    fn group_translate_ranks = "Group_translate_ranks" (group: Handle, count: Int, ranks: *const Int, other: Handle,
        there: *mut Int);
    /// Whether it is an intercommunicator.
    fn comm_test_inter = "Comm_test_inter" (comm: Handle, flag: &mut Int);
    /// Ranks of an intercommunicator's other group.
    fn comm_remote_size = "Comm_remote_size" (comm: Handle, size: &mut Int);
    /// A communicator of its own for the ranks of each colour, without the attributes of the old one.
    fn comm_split = "Comm_split" (comm: Handle, colour: Int, key: Int, new: &mut Handle);
    /// What happens at errors on it: a handle that is to be freed.
    fn comm_get_errhandler = "Comm_get_errhandler" (comm: Handle, handler: &mut Handle);
    /// Frees that.
    fn errhandler_free = "Errhandler_free" (handler: &mut Handle);
    /// Combines everybody's data for everybody.
    fn allreduce = "Allreduce" (from: Ptr, to: Ptr, count: Int, datatype: Handle, op: Handle, comm: Handle);
    /// Combines everybody's data for the root.
    fn reduce = "Reduce" (from: Ptr, to: Ptr, count: Int, datatype: Handle, op: Handle, root: Int, comm: Handle);
    /// Gives the root's data to everybody.
    fn bcast = "Bcast" (buffer: Ptr, count: Int, datatype: Handle, root: Int, comm: Handle);
    /// Combines the data of the ranks up to this one.
    fn scan = "Scan" (from: Ptr, to: Ptr, count: Int, datatype: Handle, op: Handle, comm: Handle);
    /// Combines the data of the ranks before this one.
    fn exscan = "Exscan" (from: Ptr, to: Ptr, count: Int, datatype: Handle, op: Handle, comm: Handle);
    /// Gives everybody's data, of different lengths, to everybody.
    fn allgatherv = "Allgatherv" (from: Ptr, count: Int, datatype: Handle, to: Ptr, counts: Ptr, places: Ptr,
        received: Handle, comm: Handle);
    /// What happens at errors on it.
    fn comm_set_errhandler = "Comm_set_errhandler" (comm: Handle, handler: Handle);
    /// Frees a communicator.
    fn comm_free = "Comm_free" (comm: &mut Handle);
    /// Starts to wait for the communicator's other ranks.
    fn ibarrier = "Ibarrier" (comm: Handle, request: &mut Handle);
    /// Whether a request is done, which frees it.
    fn test = "Test" (request: &mut Handle, flag: &mut Int, status: usize);
    /// Elements that a status counts.
    fn get_elements_x = "Get_elements_x" (status: Ptr, datatype: Handle, count: &mut Wide);
    /// Elements of a basic datatype that a status counts.
    fn get_count = "Get_count" (status: Ptr, datatype: Handle, count: &mut Int);
    /// Has a status count elements.
    fn status_set_elements_x = "Status_set_elements_x" (status: Ptr, datatype: Handle, count: Wide);
    /// Has it say whether its request was cancelled.
    fn status_set_cancelled = "Status_set_cancelled" (status: Ptr, flag: Int);
    /// Whether what a status stands for was cancelled.
    fn test_cancelled = "Test_cancelled" (status: Ptr, flag: &mut Int);
    /// Whether a message is there.
    fn iprobe = "Iprobe" (source: Int, tag: Int, comm: Handle, flag: &mut Int, status: usize);
    /// Whether a message is there, which no other call receives then.
    fn improbe = "Improbe" (source: Int, tag: Int, comm: Handle, flag: &mut Int, message: &mut Handle, status: usize);
    /// Receives that.
    fn mrecv = "Mrecv" (buffer: *mut u8, count: Int, datatype: Handle, message: &mut Handle, status: Ptr);
    /// Sends.
    fn send = "Send" (buffer: *const u8, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle);
    /// Starts to send.
    fn isend = "Isend" (buffer: *const u8, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle,
        request: &mut Handle);
    /// Starts to receive.
    fn irecv = "Irecv" (buffer: *mut u8, count: Int, datatype: Handle, source: Int, tag: Int, comm: Handle,
        request: &mut Handle);
    /// Has a request end without its message, if that has not come.
    fn cancel = "Cancel" (request: &mut Handle);
    /// Waits until a request is done, which frees it.
    fn wait = "Wait" (request: &mut Handle, status: Ptr);
    /// Receives.
    fn recv = "Recv" (buffer: *mut u8, count: Int, datatype: Handle, source: Int, tag: Int, comm: Handle, status: Ptr);
    /// Waits for a message.
    fn probe = "Probe" (source: Int, tag: Int, comm: Handle, status: Ptr);
    /// The library's own description.
    fn get_library_version = "Get_library_version" (text: *mut u8, length: &mut Int);
    /// What threads may call MPI.
    fn query_thread = "Query_thread" (level: &mut Int);
    /// Whether MPI was initialised.
    fn initialized = "Initialized" (flag: &mut Int);
    /// Whether it was finalised.
    fn finalized = "Finalized" (flag: &mut Int);
    /// Kind of a communicator's topology.
    fn topo_test = "Topo_test" (comm: Handle, kind: &mut Int);
    /// Dimensions of a Cartesian topology.
    fn cartdim_get = "Cartdim_get" (comm: Handle, dimensions: &mut Int);
    /// Neighbours along a dimension.
    fn cart_shift = "Cart_shift" (comm: Handle, dimension: Int, step: Int, source: &mut Int, dest: &mut Int);
    /// Number of a rank's neighbours in a graph.
    fn graph_neighbors_count = "Graph_neighbors_count" (comm: Handle, rank: Int, count: &mut Int);
    /// A rank's neighbours in a graph.
    fn graph_neighbors = "Graph_neighbors" (comm: Handle, rank: Int, count: Int, neighbours: *mut Int);
    /// Numbers of neighbours in a distributed graph.
    fn dist_graph_neighbors_count =
        "Dist_graph_neighbors_count"(comm: Handle, sources: &mut Int, destinations: &mut Int, weighted: &mut Int);
    /// Neighbours in a distributed graph.
    fn dist_graph_neighbors = "Dist_graph_neighbors" (comm: Handle, in_count: Int, sources: *mut Int,
        in_weights: *mut Int, out_count: Int, destinations: *mut Int, out_weights: *mut Int);
}
