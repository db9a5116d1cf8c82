//! Rules for collective calls among the neighbours of a process topology. Neighbours are listed in the order that the
//! standard gives counts in; where a grid ends, MPI_PROC_NULL stands in the list and nothing moves.

use super::{ByArguments, Count, Counts, Group, Moved, bytes, counts, natural, typed_blocks};
use crate::library::{self, Family, Handle, Int, Ptr, Wide, family};
use crate::runtime::Stamp;
use crate::waiting::{self, Needs};

/// Whom a rank receives from and sends to.
struct Neighbours {
    family: &'static Family,
    sources: Vec<Int>,
    destinations: Vec<Int>,
    comm_size: u32,
}

impl Neighbours {
    /// # Safety
    /// MPI has accepted `comm` for a neighbourhood call.
    unsafe fn of(comm: Handle) -> Option<Self> {
        let family = family()?;
        let mut kind = 0;
        // SAFETY: the caller's promise; each query is made only of the kind of topology that has it.
        unsafe {
            library::topo_test(comm, &mut kind);
            let group = Group::of(comm);
            let [cart, graph, _] = family.topologies;
            let (sources, destinations) = match kind {
                kind if kind == cart => grid(comm),
                kind if kind == graph => graph_of(comm, group.rank()),
                _ => distributed_graph(comm),
            };
            Some(Self { family, sources, destinations, comm_size: group.ranks() })
        }
    }

    fn real(&self, ranks: &[Int]) -> u64 {
        ranks.iter().filter(|&&rank| rank != self.family.proc_null).count() as u64
    }

    /// Bytes of one block per real neighbour.
    ///
    /// # Safety
    /// MPI has accepted the type.
    unsafe fn equal(&self, ranks: &[Int], count: impl Count, datatype: Handle) -> u64 {
        // SAFETY: the caller's promise.
        unsafe { bytes(count, datatype) }.saturating_mul(self.real(ranks))
    }

    /// Bytes of blocks with a count each.
    ///
    /// # Safety
    /// MPI has accepted the type and may read one count per neighbour.
    unsafe fn vector(&self, ranks: &[Int], vector: impl Counts, datatype: Handle) -> u64 {
        // SAFETY: the caller's promise.
        let vector = unsafe { counts(vector, ranks.len() as u64) };
        let real = ranks.iter().zip(&vector).filter(|&(&rank, _)| rank != self.family.proc_null);
        let total: Wide = real.map(|(_, &count)| count).sum();
        // SAFETY: the caller's promise.
        unsafe { bytes(total, datatype) }
    }

    /// Bytes of blocks with a count and a type each.
    ///
    /// # Safety
    /// MPI has accepted the types and may read one count and one type per neighbour.
    unsafe fn typed(&self, ranks: &[Int], vector: impl Counts, types: Ptr) -> u64 {
        let real = |index: usize| ranks[index] != self.family.proc_null;
        // SAFETY: the caller's promise.
        unsafe { typed_blocks(self.family, vector, types, ranks.len() as u64, real) }
    }
}

/// # Safety
/// `comm` has a Cartesian topology.
unsafe fn grid(comm: Handle) -> (Vec<Int>, Vec<Int>) {
    let mut dimensions = 0;
    // SAFETY: the caller's promise.
    unsafe { library::cartdim_get(comm, &mut dimensions) };
    let mut neighbours = Vec::new();
    for dimension in 0..dimensions {
        let (mut below, mut above) = (0, 0);
        // SAFETY: the dimension is one of the topology's.
        unsafe { library::cart_shift(comm, dimension, 1, &mut below, &mut above) };
        neighbours.extend([below, above]);
    }
    (neighbours.clone(), neighbours)
}

/// # Safety
/// `comm` has a graph topology.
unsafe fn graph_of(comm: Handle, rank: Int) -> (Vec<Int>, Vec<Int>) {
    let mut count = 0;
    // SAFETY: the caller's promise.
    unsafe { library::graph_neighbors_count(comm, rank, &mut count) };
    // Open MPI accepts graphs that give a rank less than none, and refuses the call that follows under its own name.
    if count <= 0 {
        return (Vec::new(), Vec::new());
    }
    let mut neighbours = vec![0; natural(count) as usize];
    // SAFETY: there is room for `count` ranks.
    unsafe { library::graph_neighbors(comm, rank, count, neighbours.as_mut_ptr()) };
    (neighbours.clone(), neighbours)
}

/// # Safety
/// `comm` has a distributed graph topology.
unsafe fn distributed_graph(comm: Handle) -> (Vec<Int>, Vec<Int>) {
    let (mut ins, mut outs, mut weighted) = (0, 0, 0);
    // SAFETY: the caller's promise.
    unsafe { library::dist_graph_neighbors_count(comm, &mut ins, &mut outs, &mut weighted) };
    let room = |count: Int| vec![0; natural(count) as usize];
    let (mut sources, mut destinations, mut in_weights, mut out_weights) =
        (room(ins), room(outs), room(ins), room(outs));
    // SAFETY: each array has room for the number of neighbours passed with it.
    unsafe {
        library::dist_graph_neighbors(
            comm,
            ins,
            sources.as_mut_ptr(),
            in_weights.as_mut_ptr(),
            outs,
            destinations.as_mut_ptr(),
            out_weights.as_mut_ptr(),
        );
    }
    (sources, destinations)
}

/// Sends the moment of entry to the neighbours that get data.
///
/// # Safety
/// The call follows, with a communicator that has a topology or is none that stamps travel on.
unsafe fn announce(comm: Handle, gets: impl Fn(usize) -> bool, entry: &Stamp) {
    if waiting::has_topology(comm) {
        // SAFETY: the caller's promise, and the topology was just seen.
        if let Some(neighbours) = unsafe { Neighbours::of(comm) } {
            let getting = neighbours.destinations.iter().enumerate().filter(|&(index, _)| gets(index));
            waiting::send_pairs(comm, getting.map(|(_, &rank)| rank), entry);
        }
    }
}

/// Tells `then` which neighbours data came from.
///
/// # Safety
/// MPI has accepted the call.
unsafe fn needs(comm: Handle, gives: impl Fn(usize) -> bool, then: &mut dyn FnMut(&Needs<'_>)) {
    // SAFETY: the caller's promise.
    let Some(neighbours) = (unsafe { Neighbours::of(comm) }) else { return then(&Needs::Nothing) };
    let giving = neighbours.sources.iter().enumerate().filter(|&(index, _)| gives(index));
    then(&Needs::Ranks(&giving.map(|(_, &rank)| rank).collect::<Vec<_>>()));
}

/// Whether a neighbour's count is not 0.
fn with_counts(vector: impl Counts) -> impl Fn(usize) -> bool {
    // SAFETY: MPI reads one count per neighbour, too.
    move |index| !vector.is_null() && unsafe { vector.at(index) } > 0
}

/// MPI_Neighbor_allgather.
pub struct NeighborAllgather<C> {
    pub sendcount: C,
    pub sendtype: Handle,
    pub recvcount: C,
    pub recvtype: Handle,
    pub comm: Handle,
}

impl<C: Count> ByArguments for NeighborAllgather<C> {
    unsafe fn moved(&self) -> Moved {
        // SAFETY: MPI accepted the call.
        unsafe {
            let Some(neighbours) = Neighbours::of(self.comm) else { return Moved::default() };
            Moved {
                sent: neighbours.equal(&neighbours.destinations, self.sendcount, self.sendtype),
                received: neighbours.equal(&neighbours.sources, self.recvcount, self.recvtype),
                comm_size: neighbours.comm_size,
            }
        }
    }

    fn collective(&self) -> Option<Handle> {
        Some(self.comm)
    }

    unsafe fn announce(&self, entry: &Stamp) {
        // SAFETY: passed on.
        unsafe { announce(self.comm, |_| natural(self.sendcount) > 0, entry) };
    }

    unsafe fn needs(&self, _: &Moved, then: &mut dyn FnMut(&Needs<'_>)) {
        // SAFETY: passed on.
        unsafe { needs(self.comm, |_| natural(self.recvcount) > 0, then) };
    }
}

/// MPI_Neighbor_alltoall: the same sizes, another block for each neighbour.
pub struct NeighborAlltoall<C> {
    pub sendcount: C,
    pub sendtype: Handle,
    pub recvcount: C,
    pub recvtype: Handle,
    pub comm: Handle,
}

impl<C: Count> ByArguments for NeighborAlltoall<C> {
    unsafe fn moved(&self) -> Moved {
        let &Self { sendcount, sendtype, recvcount, recvtype, comm } = self;
        // SAFETY: passed on.
        unsafe { NeighborAllgather { sendcount, sendtype, recvcount, recvtype, comm }.moved() }
    }

    fn collective(&self) -> Option<Handle> {
        Some(self.comm)
    }

    unsafe fn announce(&self, entry: &Stamp) {
        // SAFETY: passed on.
        unsafe { announce(self.comm, |_| natural(self.sendcount) > 0, entry) };
    }

    unsafe fn needs(&self, _: &Moved, then: &mut dyn FnMut(&Needs<'_>)) {
        // SAFETY: passed on.
        unsafe { needs(self.comm, |_| natural(self.recvcount) > 0, then) };
    }
}

/// MPI_Neighbor_allgatherv.
pub struct NeighborAllgatherv<C, V> {
    pub sendcount: C,
    pub sendtype: Handle,
    pub recvcounts: V,
    pub recvtype: Handle,
    pub comm: Handle,
}

impl<C: Count, V: Counts> ByArguments for NeighborAllgatherv<C, V> {
    unsafe fn moved(&self) -> Moved {
        // SAFETY: MPI accepted the call.
        unsafe {
            let Some(neighbours) = Neighbours::of(self.comm) else { return Moved::default() };
            Moved {
                sent: neighbours.equal(&neighbours.destinations, self.sendcount, self.sendtype),
                received: neighbours.vector(&neighbours.sources, self.recvcounts, self.recvtype),
                comm_size: neighbours.comm_size,
            }
        }
    }

    fn collective(&self) -> Option<Handle> {
        Some(self.comm)
    }

    unsafe fn announce(&self, entry: &Stamp) {
        // SAFETY: passed on; MPI is about to read the counts.
        unsafe { announce(self.comm, |_| natural(self.sendcount) > 0, entry) };
    }

    unsafe fn needs(&self, _: &Moved, then: &mut dyn FnMut(&Needs<'_>)) {
        // SAFETY: passed on; MPI has read the counts.
        unsafe { needs(self.comm, with_counts(self.recvcounts), then) };
    }
}

/// MPI_Neighbor_alltoallv.
pub struct NeighborAlltoallv<V> {
    pub sendcounts: V,
    pub sendtype: Handle,
    pub recvcounts: V,
    pub recvtype: Handle,
    pub comm: Handle,
}

impl<V: Counts> ByArguments for NeighborAlltoallv<V> {
    unsafe fn moved(&self) -> Moved {
        // SAFETY: MPI accepted the call.
        unsafe {
            let Some(neighbours) = Neighbours::of(self.comm) else { return Moved::default() };
            Moved {
                sent: neighbours.vector(&neighbours.destinations, self.sendcounts, self.sendtype),
                received: neighbours.vector(&neighbours.sources, self.recvcounts, self.recvtype),
                comm_size: neighbours.comm_size,
            }
        }
    }

    fn collective(&self) -> Option<Handle> {
        Some(self.comm)
    }

    unsafe fn announce(&self, entry: &Stamp) {
        // SAFETY: passed on; MPI is about to read the counts.
        unsafe { announce(self.comm, with_counts(self.sendcounts), entry) };
    }

    unsafe fn needs(&self, _: &Moved, then: &mut dyn FnMut(&Needs<'_>)) {
        // SAFETY: passed on; MPI has read the counts.
        unsafe { needs(self.comm, with_counts(self.recvcounts), then) };
    }
}

/// MPI_Neighbor_alltoallw.
pub struct NeighborAlltoallw<V> {
    pub sendcounts: V,
    pub sendtypes: Ptr,
    pub recvcounts: V,
    pub recvtypes: Ptr,
    pub comm: Handle,
}

impl<V: Counts> ByArguments for NeighborAlltoallw<V> {
    unsafe fn moved(&self) -> Moved {
        // SAFETY: MPI accepted the call.
        unsafe {
            let Some(neighbours) = Neighbours::of(self.comm) else { return Moved::default() };
            Moved {
                sent: neighbours.typed(&neighbours.destinations, self.sendcounts, self.sendtypes),
                received: neighbours.typed(&neighbours.sources, self.recvcounts, self.recvtypes),
                comm_size: neighbours.comm_size,
            }
        }
    }

    fn collective(&self) -> Option<Handle> {
        Some(self.comm)
    }

    unsafe fn announce(&self, entry: &Stamp) {
        // SAFETY: passed on; MPI is about to read the counts.
        unsafe { announce(self.comm, with_counts(self.sendcounts), entry) };
    }

    unsafe fn needs(&self, _: &Moved, then: &mut dyn FnMut(&Needs<'_>)) {
        // SAFETY: passed on; MPI has read the counts.
        unsafe { needs(self.comm, with_counts(self.recvcounts), then) };
    }
}
