//! The table's rows for what else MPI 4.0 added and MPICH 4.0 has: persistent collective operations, partitioned messages, exchanges
//! that do not wait, sessions. Open MPI 4.1 has the persistent collective operations of `int` counts as extensions, whose names begin with `MPIX_`.

macro_rules! persistent {
    ($generate:ident) => {
        $generate! {
            // Persistent collective operations: credited where they start.
            Allgather_init(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcount: Int, recvtype:
                Handle, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: Allgather { sendbuf, sendcount, sendtype, recvcount, recvtype, comm }, request };
            Allgather_init_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, recvbuf: Ptr, recvcount: Wide, recvtype:
                Handle, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: Allgather { sendbuf, sendcount, sendtype, recvcount, recvtype, comm }, request };
            Allgatherv_init(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcounts: Ints, displs:
                Ptr, recvtype: Handle, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: Allgatherv { sendbuf, sendcount, sendtype, recvcounts, recvtype, comm }, request };
            Allgatherv_init_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, recvbuf: Ptr, recvcounts: Wides,
                displs: Ptr, recvtype: Handle, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: Allgatherv { sendbuf, sendcount, sendtype, recvcounts, recvtype, comm }, request };
            Allreduce_init(sendbuf: Ptr, recvbuf: Ptr, count: Int, datatype: Handle, op: Handle, comm: Handle, info:
                Handle, request: Ptr)
                => PreparesCollective { of: Allreduce { count, datatype, comm }, request };
            Allreduce_init_c(sendbuf: Ptr, recvbuf: Ptr, count: Wide, datatype: Handle, op: Handle, comm: Handle,
                info: Handle, request: Ptr)
                => PreparesCollective { of: Allreduce { count, datatype, comm }, request };
            Alltoall_init(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcount: Int, recvtype:
                Handle, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: Alltoall { sendbuf, sendcount, sendtype, recvcount, recvtype, comm }, request };
            Alltoall_init_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, recvbuf: Ptr, recvcount: Wide, recvtype:
                Handle, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: Alltoall { sendbuf, sendcount, sendtype, recvcount, recvtype, comm }, request };
            Alltoallv_init(sendbuf: Ptr, sendcounts: Ints, sdispls: Ptr, sendtype: Handle, recvbuf: Ptr, recvcounts:
                Ints, rdispls: Ptr, recvtype: Handle, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: Alltoallv { sendbuf, sendcounts, sendtype, recvcounts, recvtype, comm }, request };
            Alltoallv_init_c(sendbuf: Ptr, sendcounts: Wides, sdispls: Ptr, sendtype: Handle, recvbuf: Ptr,
                recvcounts: Wides, rdispls: Ptr, recvtype: Handle, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: Alltoallv { sendbuf, sendcounts, sendtype, recvcounts, recvtype, comm }, request };
            Alltoallw_init(sendbuf: Ptr, sendcounts: Ints, sdispls: Ptr, sendtypes: Ptr, recvbuf: Ptr, recvcounts:
                Ints, rdispls: Ptr, recvtypes: Ptr, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: Alltoallw { sendbuf, sendcounts, sendtypes, recvcounts, recvtypes, comm }, request };
            Alltoallw_init_c(sendbuf: Ptr, sendcounts: Wides, sdispls: Ptr, sendtypes: Ptr, recvbuf: Ptr, recvcounts:
                Wides, rdispls: Ptr, recvtypes: Ptr, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: Alltoallw { sendbuf, sendcounts, sendtypes, recvcounts, recvtypes, comm }, request };
            Barrier_init(comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: Synchronises { comm }, request };
            Bcast_init(buffer: Ptr, count: Int, datatype: Handle, root: Int, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: Broadcast { count, datatype, root, comm }, request };
            Bcast_init_c(buffer: Ptr, count: Wide, datatype: Handle, root: Int, comm: Handle, info: Handle, request:
                Ptr)
                => PreparesCollective { of: Broadcast { count, datatype, root, comm }, request };
            Exscan_init(sendbuf: Ptr, recvbuf: Ptr, count: Int, datatype: Handle, op: Handle, comm: Handle, info:
                Handle, request: Ptr)
                => PreparesCollective { of: Exscan { count, datatype, comm }, request };
            Exscan_init_c(sendbuf: Ptr, recvbuf: Ptr, count: Wide, datatype: Handle, op: Handle, comm: Handle, info:
                Handle, request: Ptr)
                => PreparesCollective { of: Exscan { count, datatype, comm }, request };
            Gather_init(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcount: Int, recvtype:
                Handle, root: Int, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: Gather { sendbuf, sendcount, sendtype, recvcount, recvtype, root, comm }, request };
            Gather_init_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, recvbuf: Ptr, recvcount: Wide, recvtype:
                Handle, root: Int, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: Gather { sendbuf, sendcount, sendtype, recvcount, recvtype, root, comm }, request };
            Gatherv_init(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcounts: Ints, displs: Ptr,
                recvtype: Handle, root: Int, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: Gatherv { sendbuf, sendcount, sendtype, recvcounts, recvtype, root, comm }, request };
            Gatherv_init_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, recvbuf: Ptr, recvcounts: Wides, displs:
                Ptr, recvtype: Handle, root: Int, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: Gatherv { sendbuf, sendcount, sendtype, recvcounts, recvtype, root, comm }, request };
            Neighbor_allgather_init(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcount: Int,
                recvtype: Handle, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: NeighborAllgather { sendcount, sendtype, recvcount, recvtype, comm }, request };
            Neighbor_allgather_init_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, recvbuf: Ptr, recvcount: Wide,
                recvtype: Handle, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: NeighborAllgather { sendcount, sendtype, recvcount, recvtype, comm }, request };
            Neighbor_allgatherv_init(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcounts: Ints,
                displs: Ptr, recvtype: Handle, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: NeighborAllgatherv { sendcount, sendtype, recvcounts, recvtype, comm }, request };
            Neighbor_allgatherv_init_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, recvbuf: Ptr, recvcounts:
                Wides, displs: Ptr, recvtype: Handle, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: NeighborAllgatherv { sendcount, sendtype, recvcounts, recvtype, comm }, request };
            Neighbor_alltoall_init(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcount: Int,
                recvtype: Handle, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: NeighborAlltoall { sendcount, sendtype, recvcount, recvtype, comm }, request };
            Neighbor_alltoall_init_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, recvbuf: Ptr, recvcount: Wide,
                recvtype: Handle, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: NeighborAlltoall { sendcount, sendtype, recvcount, recvtype, comm }, request };
            Neighbor_alltoallv_init(sendbuf: Ptr, sendcounts: Ints, sdispls: Ptr, sendtype: Handle, recvbuf: Ptr,
                recvcounts: Ints, rdispls: Ptr, recvtype: Handle, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: NeighborAlltoallv { sendcounts, sendtype, recvcounts, recvtype, comm }, request };
            Neighbor_alltoallv_init_c(sendbuf: Ptr, sendcounts: Wides, sdispls: Ptr, sendtype: Handle, recvbuf: Ptr,
                recvcounts: Wides, rdispls: Ptr, recvtype: Handle, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: NeighborAlltoallv { sendcounts, sendtype, recvcounts, recvtype, comm }, request };
            Neighbor_alltoallw_init(sendbuf: Ptr, sendcounts: Ints, sdispls: Ptr, sendtypes: Ptr, recvbuf: Ptr,
                recvcounts: Ints, rdispls: Ptr, recvtypes: Ptr, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: NeighborAlltoallw { sendcounts, sendtypes, recvcounts, recvtypes, comm }, request };
            Neighbor_alltoallw_init_c(sendbuf: Ptr, sendcounts: Wides, sdispls: Ptr, sendtypes: Ptr, recvbuf: Ptr,
                recvcounts: Wides, rdispls: Ptr, recvtypes: Ptr, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: NeighborAlltoallw { sendcounts, sendtypes, recvcounts, recvtypes, comm }, request };
            Reduce_init(sendbuf: Ptr, recvbuf: Ptr, count: Int, datatype: Handle, op: Handle, root: Int, comm: Handle,
                info: Handle, request: Ptr)
                => PreparesCollective { of: Reduce { sendbuf, count, datatype, root, comm }, request };
            Reduce_init_c(sendbuf: Ptr, recvbuf: Ptr, count: Wide, datatype: Handle, op: Handle, root: Int, comm:
                Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: Reduce { sendbuf, count, datatype, root, comm }, request };
            Reduce_scatter_block_init(sendbuf: Ptr, recvbuf: Ptr, recvcount: Int, datatype: Handle, op: Handle, comm:
                Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: ReduceScatterBlock { recvcount, datatype, comm }, request };
            Reduce_scatter_block_init_c(sendbuf: Ptr, recvbuf: Ptr, recvcount: Wide, datatype: Handle, op: Handle,
                comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: ReduceScatterBlock { recvcount, datatype, comm }, request };
            Reduce_scatter_init(sendbuf: Ptr, recvbuf: Ptr, recvcounts: Ints, datatype: Handle, op: Handle, comm:
                Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: ReduceScatter { recvcounts, datatype, comm }, request };
            Reduce_scatter_init_c(sendbuf: Ptr, recvbuf: Ptr, recvcounts: Wides, datatype: Handle, op: Handle, comm:
                Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: ReduceScatter { recvcounts, datatype, comm }, request };
            Scan_init(sendbuf: Ptr, recvbuf: Ptr, count: Int, datatype: Handle, op: Handle, comm: Handle, info:
                Handle, request: Ptr)
                => PreparesCollective { of: Scan { count, datatype, comm }, request };
            Scan_init_c(sendbuf: Ptr, recvbuf: Ptr, count: Wide, datatype: Handle, op: Handle, comm: Handle, info:
                Handle, request: Ptr)
                => PreparesCollective { of: Scan { count, datatype, comm }, request };
            Scatter_init(sendbuf: Ptr, sendcount: Int, sendtype: Handle, recvbuf: Ptr, recvcount: Int, recvtype:
                Handle, root: Int, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: Scatter { sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm }, request };
            Scatter_init_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, recvbuf: Ptr, recvcount: Wide, recvtype:
                Handle, root: Int, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: Scatter { sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm }, request };
            Scatterv_init(sendbuf: Ptr, sendcounts: Ints, displs: Ptr, sendtype: Handle, recvbuf: Ptr, recvcount: Int,
                recvtype: Handle, root: Int, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: Scatterv { sendcounts, sendtype, recvbuf, recvcount, recvtype, root, comm }, request };
            Scatterv_init_c(sendbuf: Ptr, sendcounts: Wides, displs: Ptr, sendtype: Handle, recvbuf: Ptr, recvcount:
                Wide, recvtype: Handle, root: Int, comm: Handle, info: Handle, request: Ptr)
                => PreparesCollective { of: Scatterv { sendcounts, sendtype, recvbuf, recvcount, recvtype, root, comm }, request };
        }
    };
}
pub(crate) use persistent;

macro_rules! added {
    ($generate:ident) => {
        $generate! {
            // Messages.
            Isendrecv(sendbuf: Ptr, sendcount: Int, sendtype: Handle, dest: Int, sendtag: Int, recvbuf: Ptr,
                recvcount: Int, recvtype: Handle, source: Int, recvtag: Int, comm: Handle, request: Ptr)
                => StartsExchange { count: sendcount, datatype: sendtype, dest, sendtag, source, recvtag, comm, request };
            Isendrecv_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, dest: Int, sendtag: Int, recvbuf: Ptr,
                recvcount: Wide, recvtype: Handle, source: Int, recvtag: Int, comm: Handle, request: Ptr)
                => StartsExchange { count: sendcount, datatype: sendtype, dest, sendtag, source, recvtag, comm, request };
            Isendrecv_replace(buf: Ptr, count: Int, datatype: Handle, dest: Int, sendtag: Int, source: Int, recvtag:
                Int, comm: Handle, request: Ptr)
                => StartsExchange { count, datatype, dest, sendtag, source, recvtag, comm, request };
            Isendrecv_replace_c(buf: Ptr, count: Wide, datatype: Handle, dest: Int, sendtag: Int, source: Int,
                recvtag: Int, comm: Handle, request: Ptr)
                => StartsExchange { count, datatype, dest, sendtag, source, recvtag, comm, request };
            Psend_init(buf: Ptr, partitions: Int, count: Wide, datatype: Handle, dest: Int, tag: Int, comm: Handle,
                info: Handle, request: Ptr)
                => PreparesPartitioned { partitions, count, datatype, peer: dest, comm, sends: true, request };
            Precv_init(buf: Ptr, partitions: Int, count: Wide, datatype: Handle, source: Int, tag: Int, comm: Handle,
                info: Handle, request: Ptr)
                => PreparesPartitioned { partitions, count, datatype, peer: source, comm, sends: false, request };
            Pready(partition: Int, request: Handle) => Visits {};
            Pready_list(length: Int, array_of_partitions: Ptr, request: Handle) => Visits {};
            Pready_range(partition_low: Int, partition_high: Int, request: Handle) => Visits {};
            Parrived(request: Handle, partition: Int, flag: Ptr) => Asks { flag };
            Comm_idup_with_info(comm: Handle, info: Handle, newcomm: Ptr, request: Ptr) => Takes { comm };
            Comm_create_from_group(group: Handle, stringtag: Ptr, info: Handle, errhandler: Handle, newcomm: Ptr)
                => Visits {};
            Intercomm_create_from_groups(local_group: Handle, local_leader: Int, remote_group: Handle, remote_leader:
                Int, stringtag: Ptr, info: Handle, errhandler: Handle, newintercomm: Ptr)
                => Visits {};
            Session_init(info: Handle, errhandler: Handle, session: Ptr) => Visits {};
            Session_finalize(session: Ptr) => Visits {};
        }
    };
}
pub(crate) use added;
