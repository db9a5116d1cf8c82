//! The table's rows for collective communication.

macro_rules! collective {
    ($generate:ident) => {
        $generate! {
            // Blocking.
            Barrier(comm: Handle) => Synchronises { comm };
            Bcast(buffer: Ptr, count: Int, datatype: Handle, root: Int, comm: Handle)
                => Broadcast { count, datatype, root, comm };
            Gather(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcount: Int, recvtype: Handle,
                root: Int, comm: Handle)
                => Gather { sendbuf, sendcount, sendtype, recvcount, recvtype, root, comm };
            Gatherv(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcounts: Ints, displs: Ptr,
                recvtype: Handle, root: Int, comm: Handle)
                => Gatherv { sendbuf, sendcount, sendtype, recvcounts, recvtype, root, comm };
            Scatter(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcount: Int, recvtype: Handle,
                root: Int, comm: Handle)
                => Scatter { sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm };
            Scatterv(sendbuf: Ptr, sendcounts: Ints, displs: Ptr, sendtype: Handle, recvbuf: Ptr, recvcount: Int,
                recvtype: Handle, root: Int, comm: Handle)
                => Scatterv { sendcounts, sendtype, recvbuf, recvcount, recvtype, root, comm };
            Allgather(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcount: Int, recvtype:
                Handle, comm: Handle)
                => Allgather { sendbuf, sendcount, sendtype, recvcount, recvtype, comm };
            Allgatherv(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcounts: Ints, displs: Ptr,
                recvtype: Handle, comm: Handle)
                => Allgatherv { sendbuf, sendcount, sendtype, recvcounts, recvtype, comm };
            Alltoall(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcount: Int, recvtype: Handle,
                comm: Handle)
                => Alltoall { sendbuf, sendcount, sendtype, recvcount, recvtype, comm };
            Alltoallv(sendbuf: Ptr, sendcounts: Ints, sdispls: Ptr, sendtype: Handle, recvbuf: Ptr, recvcounts: Ints,
                rdispls: Ptr, recvtype: Handle, comm: Handle)
                => Alltoallv { sendbuf, sendcounts, sendtype, recvcounts, recvtype, comm };
            Alltoallw(sendbuf: Ptr, sendcounts: Ints, sdispls: Ptr, sendtypes: Ptr, recvbuf: Ptr, recvcounts: Ints,
                rdispls: Ptr, recvtypes: Ptr, comm: Handle)
                => Alltoallw { sendbuf, sendcounts, sendtypes, recvcounts, recvtypes, comm };
            Reduce(sendbuf: Ptr, recvbuf: Ptr, count: Int, datatype: Handle, op: Handle, root: Int, comm: Handle)
                => Reduce { sendbuf, count, datatype, root, comm };
            Allreduce(sendbuf: Ptr, recvbuf: Ptr, count: Int, datatype: Handle, op: Handle, comm: Handle)
                => Allreduce { count, datatype, comm };
            Reduce_scatter(sendbuf: Ptr, recvbuf: Ptr, recvcounts: Ints, datatype: Handle, op: Handle, comm: Handle)
                => ReduceScatter { recvcounts, datatype, comm };
            Reduce_scatter_block(sendbuf: Ptr, recvbuf: Ptr, recvcount: Int, datatype: Handle, op: Handle, comm:
                Handle)
                => ReduceScatterBlock { recvcount, datatype, comm };
            Scan(sendbuf: Ptr, recvbuf: Ptr, count: Int, datatype: Handle, op: Handle, comm: Handle)
                => Scan { count, datatype, comm };
            Exscan(sendbuf: Ptr, recvbuf: Ptr, count: Int, datatype: Handle, op: Handle, comm: Handle)
                => Exscan { count, datatype, comm };
            // Nonblocking: credited where they start, since their arguments say what they move.
            Ibarrier(comm: Handle, request: Ptr) => Synchronises { comm };
            Ibcast(buffer: Ptr, count: Int, datatype: Handle, root: Int, comm: Handle, request: Ptr)
                => Broadcast { count, datatype, root, comm };
            Igather(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcount: Int, recvtype: Handle,
                root: Int, comm: Handle, request: Ptr)
                => Gather { sendbuf, sendcount, sendtype, recvcount, recvtype, root, comm };
            Igatherv(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcounts: Ints, displs: Ptr,
                recvtype: Handle, root: Int, comm: Handle, request: Ptr)
                => Gatherv { sendbuf, sendcount, sendtype, recvcounts, recvtype, root, comm };
            Iscatter(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcount: Int, recvtype: Handle,
                root: Int, comm: Handle, request: Ptr)
                => Scatter { sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm };
            Iscatterv(sendbuf: Ptr, sendcounts: Ints, displs: Ptr, sendtype: Handle, recvbuf: Ptr, recvcount: Int,
                recvtype: Handle, root: Int, comm: Handle, request: Ptr)
                => Scatterv { sendcounts, sendtype, recvbuf, recvcount, recvtype, root, comm };
            Iallgather(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcount: Int, recvtype:
                Handle, comm: Handle, request: Ptr)
                => Allgather { sendbuf, sendcount, sendtype, recvcount, recvtype, comm };
            Iallgatherv(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcounts: Ints, displs: Ptr,
                recvtype: Handle, comm: Handle, request: Ptr)
                => Allgatherv { sendbuf, sendcount, sendtype, recvcounts, recvtype, comm };
            Ialltoall(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcount: Int, recvtype:
                Handle, comm: Handle, request: Ptr)
                => Alltoall { sendbuf, sendcount, sendtype, recvcount, recvtype, comm };
            Ialltoallv(sendbuf: Ptr, sendcounts: Ints, sdispls: Ptr, sendtype: Handle, recvbuf: Ptr, recvcounts: Ints,
                rdispls: Ptr, recvtype: Handle, comm: Handle, request: Ptr)
                => Alltoallv { sendbuf, sendcounts, sendtype, recvcounts, recvtype, comm };
            Ialltoallw(sendbuf: Ptr, sendcounts: Ints, sdispls: Ptr, sendtypes: Ptr, recvbuf: Ptr, recvcounts: Ints,
                rdispls: Ptr, recvtypes: Ptr, comm: Handle, request: Ptr)
                => Alltoallw { sendbuf, sendcounts, sendtypes, recvcounts, recvtypes, comm };
            Ireduce(sendbuf: Ptr, recvbuf: Ptr, count: Int, datatype: Handle, op: Handle, root: Int, comm: Handle,
                request: Ptr)
                => Reduce { sendbuf, count, datatype, root, comm };
            Iallreduce(sendbuf: Ptr, recvbuf: Ptr, count: Int, datatype: Handle, op: Handle, comm: Handle, request:
                Ptr)
                => Allreduce { count, datatype, comm };
            Ireduce_scatter(sendbuf: Ptr, recvbuf: Ptr, recvcounts: Ints, datatype: Handle, op: Handle, comm: Handle,
                request: Ptr)
                => ReduceScatter { recvcounts, datatype, comm };
            Ireduce_scatter_block(sendbuf: Ptr, recvbuf: Ptr, recvcount: Int, datatype: Handle, op: Handle, comm:
                Handle, request: Ptr)
                => ReduceScatterBlock { recvcount, datatype, comm };
            Iscan(sendbuf: Ptr, recvbuf: Ptr, count: Int, datatype: Handle, op: Handle, comm: Handle, request: Ptr)
                => Scan { count, datatype, comm };
            Iexscan(sendbuf: Ptr, recvbuf: Ptr, count: Int, datatype: Handle, op: Handle, comm: Handle, request:
                Ptr)
                => Exscan { count, datatype, comm };
            // Neighbourhood.
            Neighbor_allgather(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcount: Int,
                recvtype: Handle, comm: Handle)
                => NeighborAllgather { sendcount, sendtype, recvcount, recvtype, comm };
            Neighbor_allgatherv(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcounts: Ints,
                displs: Ptr, recvtype: Handle, comm: Handle)
                => NeighborAllgatherv { sendcount, sendtype, recvcounts, recvtype, comm };
            Neighbor_alltoall(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcount: Int,
                recvtype: Handle, comm: Handle)
                => NeighborAlltoall { sendcount, sendtype, recvcount, recvtype, comm };
            Neighbor_alltoallv(sendbuf: Ptr, sendcounts: Ints, sdispls: Ptr, sendtype: Handle, recvbuf: Ptr,
                recvcounts: Ints, rdispls: Ptr, recvtype: Handle, comm: Handle)
                => NeighborAlltoallv { sendcounts, sendtype, recvcounts, recvtype, comm };
            Neighbor_alltoallw(sendbuf: Ptr, sendcounts: Ints, sdispls: Ptr, sendtypes: Ptr, recvbuf: Ptr,
                recvcounts: Ints, rdispls: Ptr, recvtypes: Ptr, comm: Handle)
                => NeighborAlltoallw { sendcounts, sendtypes, recvcounts, recvtypes, comm };
            Ineighbor_allgather(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcount: Int,
                recvtype: Handle, comm: Handle, request: Ptr)
                => NeighborAllgather { sendcount, sendtype, recvcount, recvtype, comm };
            Ineighbor_allgatherv(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcounts: Ints,
                displs: Ptr, recvtype: Handle, comm: Handle, request: Ptr)
                => NeighborAllgatherv { sendcount, sendtype, recvcounts, recvtype, comm };
            Ineighbor_alltoall(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcount: Int,
                recvtype: Handle, comm: Handle, request: Ptr)
                => NeighborAlltoall { sendcount, sendtype, recvcount, recvtype, comm };
            Ineighbor_alltoallv(sendbuf: Ptr, sendcounts: Ints, sdispls: Ptr, sendtype: Handle, recvbuf: Ptr,
                recvcounts: Ints, rdispls: Ptr, recvtype: Handle, comm: Handle, request: Ptr)
                => NeighborAlltoallv { sendcounts, sendtype, recvcounts, recvtype, comm };
            Ineighbor_alltoallw(sendbuf: Ptr, sendcounts: Ints, sdispls: Ptr, sendtypes: Ptr, recvbuf: Ptr,
                recvcounts: Ints, rdispls: Ptr, recvtypes: Ptr, comm: Handle, request: Ptr)
                => NeighborAlltoallw { sendcounts, sendtypes, recvcounts, recvtypes, comm };
        }
    };
}
pub(crate) use collective;
