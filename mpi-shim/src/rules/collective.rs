//! Rules for collective calls, blocking and nonblocking alike.
//!
//! Where data are moved (broadcast, gather, scatter, allgather, alltoall), each block that the standard describes as
//! going from one rank to another is sent by the one and received by the other, a rank's block for itself included:
//! over all ranks as much is received as is sent. MPI_IN_PLACE says that a rank's own block stays where it is.
//! Where data are combined (reductions, scans), a rank sends its contribution once and receives the result it is given.

use smallvec::SmallVec;

use super::{ByArguments, Count, Counts, Group, Moved, bytes, counts, if_moved, natural};
use crate::library::{Family, Handle, Int, Ptr, Wide, family};
use crate::runtime::Stamp;
use crate::waiting::{self, Needs};

/// This process's part in a call with a root.
struct Part {
    /// It is the root.
    root: bool,
    /// It is on the side that is not the root's: always with one group, and in the root's other group.
    member: bool,
}

impl Part {
    fn of(root: Int, group: &Group, family: &Family) -> Self {
        if group.is_inter() {
            Self { root: root == family.root, member: root >= 0 }
        } else {
            Self { root: root == group.rank(), member: true }
        }
    }
}

/// What a communicator and a family make of a call's arguments.
///
/// # Safety
/// MPI has accepted `comm`.
unsafe fn context(comm: Handle) -> Option<(&'static Family, Group)> {
    // SAFETY: the caller's promise.
    family().map(|family| (family, unsafe { Group::of(comm) }))
}

/// Bytes of a vector of blocks of one type, without the block at `except`.
///
/// # Safety
/// MPI has accepted the type and may read `length` counts.
unsafe fn blocks(vector: impl Counts, length: u64, datatype: Handle, except: Option<Int>) -> u64 {
    // SAFETY: the caller's promise.
    let vector = unsafe { counts(vector, length) };
    let total: Wide = vector.iter().sum();
    let own = except.and_then(|rank| vector.get(rank as usize)).map_or(0, |&count| count);
    // SAFETY: the caller's promise.
    unsafe { bytes(total - own, datatype) }
}

/// The ranks with a count that is not 0, of a communicator with stamps; of any other none.
///
/// # Safety
/// MPI may read one count per rank.
unsafe fn ranks_with(vector: impl Counts, comm: Handle) -> SmallVec<[Int; 32]> {
    // SAFETY: the caller's promise.
    let counts = unsafe { counts(vector, waiting::size(comm)) };
    (0..).zip(counts).filter(|&(_, count)| count > 0).map(|(rank, _)| rank).collect()
}

/// MPI_Bcast: the root sends a copy to each rank, itself included.
pub struct Broadcast<C> {
    pub count: C,
    pub datatype: Handle,
    pub root: Int,
    pub comm: Handle,
}

impl<C: Count> ByArguments for Broadcast<C> {
    unsafe fn moved(&self) -> Moved {
        // SAFETY: MPI accepted the call.
        let Some((family, group)) = (unsafe { context(self.comm) }) else { return Moved::default() };
        let part = Part::of(self.root, &group, family);
        let mut moved = Moved { comm_size: group.ranks(), ..Moved::default() };
        if part.root || part.member {
            // SAFETY: the type has a meaning at the root and at those who receive.
            let block = unsafe { bytes(self.count, self.datatype) };
            moved.sent = if part.root { block.saturating_mul(group.peers()) } else { 0 };
            moved.received = if part.member { block } else { 0 };
        }
        moved
    }

    fn collective(&self) -> Option<Handle> {
        Some(self.comm)
    }

    unsafe fn needs(&self, moved: &Moved, then: &mut dyn FnMut(&Needs<'_>)) {
        then(&if_moved(moved, Needs::FromRoot(self.root)));
    }

    #[inline(always)]
    fn is_long(&self) -> bool {
        false
    }
}

/// MPI_Gather.
pub struct Gather<C> {
    pub sendbuf: Ptr,
    pub sendcount: C,
    pub sendtype: Handle,
    pub recvcount: C,
    pub recvtype: Handle,
    pub root: Int,
    pub comm: Handle,
}

impl<C: Count> ByArguments for Gather<C> {
    unsafe fn moved(&self) -> Moved {
        // SAFETY: MPI accepted the call.
        let Some((family, group)) = (unsafe { context(self.comm) }) else { return Moved::default() };
        let part = Part::of(self.root, &group, family);
        let in_place = part.root && !group.is_inter() && family.is_in_place(self.sendbuf);
        let mut moved = Moved { comm_size: group.ranks(), ..Moved::default() };
        if part.member && !in_place {
            // SAFETY: the sender's arguments have a meaning here.
            moved.sent = unsafe { bytes(self.sendcount, self.sendtype) };
        }
        if part.root {
            // SAFETY: the receiver's arguments have a meaning at the root.
            let block = unsafe { bytes(self.recvcount, self.recvtype) };
            moved.received = block.saturating_mul(group.peers().saturating_sub(u64::from(in_place)));
        }
        moved
    }

    fn collective(&self) -> Option<Handle> {
        Some(self.comm)
    }

    unsafe fn needs(&self, moved: &Moved, then: &mut dyn FnMut(&Needs<'_>)) {
        then(&if_moved(moved, Needs::AtRoot(self.root)));
    }
}

/// MPI_Gatherv.
pub struct Gatherv<C, V> {
    pub sendbuf: Ptr,
    pub sendcount: C,
    pub sendtype: Handle,
    pub recvcounts: V,
    pub recvtype: Handle,
    pub root: Int,
    pub comm: Handle,
}

impl<C: Count, V: Counts> ByArguments for Gatherv<C, V> {
    unsafe fn moved(&self) -> Moved {
        // SAFETY: MPI accepted the call.
        let Some((family, group)) = (unsafe { context(self.comm) }) else { return Moved::default() };
        let part = Part::of(self.root, &group, family);
        let in_place = part.root && !group.is_inter() && family.is_in_place(self.sendbuf);
        let mut moved = Moved { comm_size: group.ranks(), ..Moved::default() };
        if part.member && !in_place {
            // SAFETY: the sender's arguments have a meaning here.
            moved.sent = unsafe { bytes(self.sendcount, self.sendtype) };
        }
        if part.root {
            let except = in_place.then_some(self.root);
            // SAFETY: the receiver's arguments have a meaning at the root, with one count per peer.
            moved.received = unsafe { blocks(self.recvcounts, group.peers(), self.recvtype, except) };
        }
        moved
    }

    fn collective(&self) -> Option<Handle> {
        Some(self.comm)
    }

    unsafe fn announce(&self, entry: &Stamp) {
        waiting::send_pairs(self.comm, (natural(self.sendcount) > 0).then_some(self.root), entry);
    }

    unsafe fn needs(&self, _: &Moved, then: &mut dyn FnMut(&Needs<'_>)) {
        // SAFETY: MPI accepted the call.
        if unsafe { Group::of(self.comm) }.rank() != self.root {
            return then(&Needs::Nothing);
        }
        // SAFETY: at the root there is one count per rank.
        then(&Needs::Ranks(&unsafe { ranks_with(self.recvcounts, self.comm) }));
    }
}

/// MPI_Scatter.
pub struct Scatter<C> {
    pub sendcount: C,
    pub sendtype: Handle,
    pub recvbuf: Ptr,
    pub recvcount: C,
    pub recvtype: Handle,
    pub root: Int,
    pub comm: Handle,
}

impl<C: Count> ByArguments for Scatter<C> {
    unsafe fn moved(&self) -> Moved {
        // SAFETY: MPI accepted the call.
        let Some((family, group)) = (unsafe { context(self.comm) }) else { return Moved::default() };
        let part = Part::of(self.root, &group, family);
        let in_place = part.root && !group.is_inter() && family.is_in_place(self.recvbuf);
        let mut moved = Moved { comm_size: group.ranks(), ..Moved::default() };
        if part.root {
            // SAFETY: the sender's arguments have a meaning at the root.
            let block = unsafe { bytes(self.sendcount, self.sendtype) };
            moved.sent = block.saturating_mul(group.peers().saturating_sub(u64::from(in_place)));
        }
        if part.member && !in_place {
            // SAFETY: the receiver's arguments have a meaning here.
            moved.received = unsafe { bytes(self.recvcount, self.recvtype) };
        }
        moved
    }

    fn collective(&self) -> Option<Handle> {
        Some(self.comm)
    }

    unsafe fn needs(&self, moved: &Moved, then: &mut dyn FnMut(&Needs<'_>)) {
        then(&if_moved(moved, Needs::FromRoot(self.root)));
    }
}

/// MPI_Scatterv.
pub struct Scatterv<C, V> {
    pub sendcounts: V,
    pub sendtype: Handle,
    pub recvbuf: Ptr,
    pub recvcount: C,
    pub recvtype: Handle,
    pub root: Int,
    pub comm: Handle,
}

impl<C: Count, V: Counts> ByArguments for Scatterv<C, V> {
    unsafe fn moved(&self) -> Moved {
        // SAFETY: MPI accepted the call.
        let Some((family, group)) = (unsafe { context(self.comm) }) else { return Moved::default() };
        let part = Part::of(self.root, &group, family);
        let in_place = part.root && !group.is_inter() && family.is_in_place(self.recvbuf);
        let mut moved = Moved { comm_size: group.ranks(), ..Moved::default() };
        if part.root {
            let except = in_place.then_some(self.root);
            // SAFETY: the sender's arguments have a meaning at the root, with one count per peer.
            moved.sent = unsafe { blocks(self.sendcounts, group.peers(), self.sendtype, except) };
        }
        if part.member && !in_place {
            // SAFETY: the receiver's arguments have a meaning here.
            moved.received = unsafe { bytes(self.recvcount, self.recvtype) };
        }
        moved
    }

    fn collective(&self) -> Option<Handle> {
        Some(self.comm)
    }

    unsafe fn announce(&self, entry: &Stamp) {
        if waiting::rank(self.comm) == Some(self.root) {
            // SAFETY: at the root MPI is about to read one count per rank.
            let ranks = unsafe { ranks_with(self.sendcounts, self.comm) };
            waiting::send_pairs(self.comm, ranks, entry);
        }
    }

    unsafe fn needs(&self, _: &Moved, then: &mut dyn FnMut(&Needs<'_>)) {
        let root = [self.root];
        then(&if natural(self.recvcount) > 0 { Needs::Ranks(&root) } else { Needs::Nothing });
    }
}

/// MPI_Allgather.
pub struct Allgather<C> {
    pub sendbuf: Ptr,
    pub sendcount: C,
    pub sendtype: Handle,
    pub recvcount: C,
    pub recvtype: Handle,
    pub comm: Handle,
}

impl<C: Count> ByArguments for Allgather<C> {
    unsafe fn moved(&self) -> Moved {
        // SAFETY: MPI accepted the call; in place, only the receiver's arguments have a meaning.
        unsafe {
            let Some((family, group)) = context(self.comm) else { return Moved::default() };
            let received = bytes(self.recvcount, self.recvtype);
            let in_place = !group.is_inter() && family.is_in_place(self.sendbuf);
            let sent = if in_place { received } else { bytes(self.sendcount, self.sendtype) };
            let others = group.peers().saturating_sub(u64::from(in_place));
            Moved {
                sent: sent.saturating_mul(others),
                received: received.saturating_mul(others),
                comm_size: group.ranks(),
            }
        }
    }

    fn collective(&self) -> Option<Handle> {
        Some(self.comm)
    }

    fn is_for_all(&self) -> bool {
        natural(self.recvcount) > 0
    }

    unsafe fn needs(&self, moved: &Moved, then: &mut dyn FnMut(&Needs<'_>)) {
        then(&if_moved(moved, Needs::All));
    }
}

/// MPI_Allgatherv.
pub struct Allgatherv<C, V> {
    pub sendbuf: Ptr,
    pub sendcount: C,
    pub sendtype: Handle,
    pub recvcounts: V,
    pub recvtype: Handle,
    pub comm: Handle,
}

impl<C: Count, V: Counts> ByArguments for Allgatherv<C, V> {
    unsafe fn moved(&self) -> Moved {
        // SAFETY: MPI accepted the call; in place, only the receiver's arguments have a meaning.
        unsafe {
            let Some((family, group)) = context(self.comm) else { return Moved::default() };
            let all = blocks(self.recvcounts, group.peers(), self.recvtype, None);
            let comm_size = group.ranks();
            if group.is_inter() || !family.is_in_place(self.sendbuf) {
                let sent = bytes(self.sendcount, self.sendtype).saturating_mul(group.peers());
                return Moved { sent, received: all, comm_size };
            }
            let received = blocks(self.recvcounts, group.peers(), self.recvtype, Some(group.rank()));
            Moved {
                sent: all.saturating_sub(received).saturating_mul(group.peers().saturating_sub(1)),
                received,
                comm_size,
            }
        }
    }

    fn collective(&self) -> Option<Handle> {
        Some(self.comm)
    }

    unsafe fn needs(&self, moved: &Moved, then: &mut dyn FnMut(&Needs<'_>)) {
        // SAFETY: MPI accepted the call; there is one count per rank.
        let counts = unsafe { counts(self.recvcounts, waiting::size(self.comm)) };
        match counts.iter().all(|&count| count > 0) {
            true => then(&if_moved(moved, Needs::All)),
            false => then(&Needs::FromSome(&|rank| counts[rank] > 0)),
        }
    }
}

/// MPI_Alltoall: the same sizes as an allgather, another block for each rank.
pub struct Alltoall<C> {
    pub sendbuf: Ptr,
    pub sendcount: C,
    pub sendtype: Handle,
    pub recvcount: C,
    pub recvtype: Handle,
    pub comm: Handle,
}

impl<C: Count> ByArguments for Alltoall<C> {
    unsafe fn moved(&self) -> Moved {
        let &Self { sendbuf, sendcount, sendtype, recvcount, recvtype, comm } = self;
        // SAFETY: passed on.
        unsafe { Allgather { sendbuf, sendcount, sendtype, recvcount, recvtype, comm }.moved() }
    }

    fn collective(&self) -> Option<Handle> {
        Some(self.comm)
    }

    fn is_for_all(&self) -> bool {
        natural(self.recvcount) > 0
    }

    unsafe fn needs(&self, moved: &Moved, then: &mut dyn FnMut(&Needs<'_>)) {
        then(&if_moved(moved, Needs::All));
    }
}

/// MPI_Alltoallv.
pub struct Alltoallv<V> {
    pub sendbuf: Ptr,
    pub sendcounts: V,
    pub sendtype: Handle,
    pub recvcounts: V,
    pub recvtype: Handle,
    pub comm: Handle,
}

impl<V: Counts> ByArguments for Alltoallv<V> {
    unsafe fn moved(&self) -> Moved {
        // SAFETY: MPI accepted the call; in place, only the receiver's arguments have a meaning.
        unsafe {
            let Some((family, group)) = context(self.comm) else { return Moved::default() };
            let (peers, comm_size) = (group.peers(), group.ranks());
            if group.is_inter() || !family.is_in_place(self.sendbuf) {
                let sent = blocks(self.sendcounts, peers, self.sendtype, None);
                return Moved { sent, received: blocks(self.recvcounts, peers, self.recvtype, None), comm_size };
            }
            let others = blocks(self.recvcounts, peers, self.recvtype, Some(group.rank()));
            Moved { sent: others, received: others, comm_size }
        }
    }

    fn collective(&self) -> Option<Handle> {
        Some(self.comm)
    }

    unsafe fn announce(&self, entry: &Stamp) {
        let in_place = family().is_some_and(|family| family.is_in_place(self.sendbuf));
        let counts = if in_place { self.recvcounts } else { self.sendcounts };
        // SAFETY: MPI is about to read one count per rank.
        waiting::send_pairs(self.comm, unsafe { ranks_with(counts, self.comm) }, entry);
    }

    unsafe fn needs(&self, _: &Moved, then: &mut dyn FnMut(&Needs<'_>)) {
        // SAFETY: MPI accepted the call; there is one count per rank.
        then(&Needs::Ranks(&unsafe { ranks_with(self.recvcounts, self.comm) }));
    }
}

/// MPI_Alltoallw.
pub struct Alltoallw<V> {
    pub sendbuf: Ptr,
    pub sendcounts: V,
    pub sendtypes: Ptr,
    pub recvcounts: V,
    pub recvtypes: Ptr,
    pub comm: Handle,
}

impl<V: Counts> ByArguments for Alltoallw<V> {
    unsafe fn moved(&self) -> Moved {
        // SAFETY: MPI accepted the call; in place, only the receiver's arguments have a meaning.
        unsafe {
            let Some((family, group)) = context(self.comm) else { return Moved::default() };
            let (peers, comm_size) = (group.peers(), group.ranks());
            if group.is_inter() || !family.is_in_place(self.sendbuf) {
                let sent = typed_blocks(family, self.sendcounts, self.sendtypes, peers, |_| true);
                let received = typed_blocks(family, self.recvcounts, self.recvtypes, peers, |_| true);
                return Moved { sent, received, comm_size };
            }
            let own = group.rank() as usize;
            let others = typed_blocks(family, self.recvcounts, self.recvtypes, peers, |rank| rank != own);
            Moved { sent: others, received: others, comm_size }
        }
    }

    fn collective(&self) -> Option<Handle> {
        Some(self.comm)
    }

    unsafe fn announce(&self, entry: &Stamp) {
        let in_place = family().is_some_and(|family| family.is_in_place(self.sendbuf));
        let counts = if in_place { self.recvcounts } else { self.sendcounts };
        // SAFETY: MPI is about to read one count per rank.
        waiting::send_pairs(self.comm, unsafe { ranks_with(counts, self.comm) }, entry);
    }

    unsafe fn needs(&self, _: &Moved, then: &mut dyn FnMut(&Needs<'_>)) {
        // SAFETY: MPI accepted the call; there is one count per rank.
        then(&Needs::Ranks(&unsafe { ranks_with(self.recvcounts, self.comm) }));
    }
}

/// Bytes of the blocks that `wanted` picks, each of a type of its own. A type is asked only where its count is not 0.
///
/// # Safety
/// MPI has accepted the types and may read `length` counts and types.
pub unsafe fn typed_blocks(
    family: &Family,
    vector: impl Counts,
    types: Ptr,
    length: u64,
    wanted: impl Fn(usize) -> bool,
) -> u64 {
    // SAFETY: the caller's promise.
    let vector = unsafe { counts(vector, length) };
    let picked = vector.iter().enumerate().filter(|&(rank, &count)| count > 0 && wanted(rank));
    // SAFETY: the caller's promise.
    picked.map(|(rank, &count)| unsafe { bytes(count, family.read(types, rank)) }).fold(0, u64::saturating_add)
}

/// MPI_Reduce: the root receives the result; in place, it contributes without sending.
pub struct Reduce<C> {
    pub sendbuf: Ptr,
    pub count: C,
    pub datatype: Handle,
    pub root: Int,
    pub comm: Handle,
}

impl<C: Count> ByArguments for Reduce<C> {
    unsafe fn moved(&self) -> Moved {
        // SAFETY: MPI accepted the call.
        let Some((family, group)) = (unsafe { context(self.comm) }) else { return Moved::default() };
        let part = Part::of(self.root, &group, family);
        let in_place = part.root && !group.is_inter() && family.is_in_place(self.sendbuf);
        let mut moved = Moved { comm_size: group.ranks(), ..Moved::default() };
        if part.root || part.member {
            // SAFETY: the type has a meaning at the root and at those who contribute.
            let vector = unsafe { bytes(self.count, self.datatype) };
            moved.sent = if part.member && !in_place { vector } else { 0 };
            moved.received = if part.root { vector } else { 0 };
        }
        moved
    }

    fn collective(&self) -> Option<Handle> {
        Some(self.comm)
    }

    unsafe fn needs(&self, moved: &Moved, then: &mut dyn FnMut(&Needs<'_>)) {
        then(&if_moved(moved, Needs::AtRoot(self.root)));
    }

    #[inline(always)]
    fn is_long(&self) -> bool {
        false
    }
}

/// MPI_Allreduce: each rank contributes a vector and receives one. In place too, since the others need its vector.
pub struct Allreduce<C> {
    pub count: C,
    pub datatype: Handle,
    pub comm: Handle,
}

impl<C: Count> ByArguments for Allreduce<C> {
    unsafe fn moved(&self) -> Moved {
        // SAFETY: MPI accepted the call.
        unsafe {
            let vector = bytes(self.count, self.datatype);
            Moved { sent: vector, received: vector, comm_size: Group::of(self.comm).ranks() }
        }
    }

    fn collective(&self) -> Option<Handle> {
        Some(self.comm)
    }

    fn is_for_all(&self) -> bool {
        natural(self.count) > 0
    }

    unsafe fn needs(&self, moved: &Moved, then: &mut dyn FnMut(&Needs<'_>)) {
        then(&if_moved(moved, Needs::All));
    }

    #[inline(always)]
    fn is_long(&self) -> bool {
        false
    }
}

/// MPI_Reduce_scatter: each rank contributes all blocks and receives its own.
pub struct ReduceScatter<V> {
    pub recvcounts: V,
    pub datatype: Handle,
    pub comm: Handle,
}

impl<V: Counts> ByArguments for ReduceScatter<V> {
    unsafe fn moved(&self) -> Moved {
        // SAFETY: MPI accepted the call; there is one count per rank of the local group.
        unsafe {
            let group = Group::of(self.comm);
            let sent = blocks(self.recvcounts, group.local(), self.datatype, None);
            let others = blocks(self.recvcounts, group.local(), self.datatype, Some(group.rank()));
            Moved { sent, received: sent.saturating_sub(others), comm_size: group.ranks() }
        }
    }

    fn collective(&self) -> Option<Handle> {
        Some(self.comm)
    }

    unsafe fn needs(&self, _: &Moved, then: &mut dyn FnMut(&Needs<'_>)) {
        // SAFETY: MPI accepted the call; there is one count per rank. Ranks without a block need nobody's data.
        let everybody = unsafe { counts(self.recvcounts, waiting::size(self.comm)) }.iter().all(|&count| count > 0);
        then(&if everybody { Needs::All } else { Needs::Nothing });
    }
}

/// MPI_Reduce_scatter_block.
pub struct ReduceScatterBlock<C> {
    pub recvcount: C,
    pub datatype: Handle,
    pub comm: Handle,
}

impl<C: Count> ByArguments for ReduceScatterBlock<C> {
    unsafe fn moved(&self) -> Moved {
        // SAFETY: MPI accepted the call.
        unsafe {
            let group = Group::of(self.comm);
            let block = bytes(self.recvcount, self.datatype);
            Moved { sent: block.saturating_mul(group.local()), received: block, comm_size: group.ranks() }
        }
    }

    fn collective(&self) -> Option<Handle> {
        Some(self.comm)
    }

    fn is_for_all(&self) -> bool {
        natural(self.recvcount) > 0
    }

    unsafe fn needs(&self, moved: &Moved, then: &mut dyn FnMut(&Needs<'_>)) {
        then(&if_moved(moved, Needs::All));
    }
}

/// MPI_Scan: as an allreduce.
pub struct Scan<C> {
    pub count: C,
    pub datatype: Handle,
    pub comm: Handle,
}

impl<C: Count> ByArguments for Scan<C> {
    unsafe fn moved(&self) -> Moved {
        let &Self { count, datatype, comm } = self;
        // SAFETY: passed on.
        unsafe { Allreduce { count, datatype, comm }.moved() }
    }

    fn collective(&self) -> Option<Handle> {
        Some(self.comm)
    }

    unsafe fn needs(&self, moved: &Moved, then: &mut dyn FnMut(&Needs<'_>)) {
        then(&if_moved(moved, Needs::Below));
    }
}

/// MPI_Exscan: nobody needs the last rank's contribution, and the first rank is given nothing.
pub struct Exscan<C> {
    pub count: C,
    pub datatype: Handle,
    pub comm: Handle,
}

impl<C: Count> ByArguments for Exscan<C> {
    unsafe fn moved(&self) -> Moved {
        // SAFETY: MPI accepted the call.
        unsafe {
            let group = Group::of(self.comm);
            let vector = bytes(self.count, self.datatype);
            let rank = natural(group.rank());
            Moved {
                sent: if rank + 1 < group.local() { vector } else { 0 },
                received: if rank > 0 { vector } else { 0 },
                comm_size: group.ranks(),
            }
        }
    }

    fn collective(&self) -> Option<Handle> {
        Some(self.comm)
    }

    unsafe fn needs(&self, _: &Moved, then: &mut dyn FnMut(&Needs<'_>)) {
        // SAFETY: MPI accepted the type. The first and the last rank move nothing one way.
        then(&if unsafe { bytes(self.count, self.datatype) } > 0 { Needs::Before } else { Needs::Nothing });
    }
}
