//! The table's rows for the large-count forms of MPI 4.0, which MPICH 4.0 has and Open MPI 4.1 has not: the rules are
//! those of the forms with ints.

macro_rules! large_counts {
    ($generate:ident) => {
        $generate! {
            Accumulate_c(origin_addr: Ptr, origin_count: Wide, origin_datatype: Handle, target_rank: Int, target_disp:
                Wide, target_count: Wide, target_datatype: Handle, op: Handle, win: Handle)
                => Puts { count: origin_count, datatype: origin_datatype, target_rank };
            Allgather_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, recvbuf: Ptr, recvcount: Wide, recvtype:
                Handle, comm: Handle)
                => Allgather { sendbuf, sendcount, sendtype, recvcount, recvtype, comm };
            Allgatherv_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, recvbuf: Ptr, recvcounts: Wides, displs:
                Ptr, recvtype: Handle, comm: Handle)
                => Allgatherv { sendbuf, sendcount, sendtype, recvcounts, recvtype, comm };
            Allreduce_c(sendbuf: Ptr, recvbuf: Ptr, count: Wide, datatype: Handle, op: Handle, comm: Handle)
                => Allreduce { count, datatype, comm };
            Alltoall_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, recvbuf: Ptr, recvcount: Wide, recvtype:
                Handle, comm: Handle)
                => Alltoall { sendbuf, sendcount, sendtype, recvcount, recvtype, comm };
            Alltoallv_c(sendbuf: Ptr, sendcounts: Wides, sdispls: Ptr, sendtype: Handle, recvbuf: Ptr, recvcounts:
                Wides, rdispls: Ptr, recvtype: Handle, comm: Handle)
                => Alltoallv { sendbuf, sendcounts, sendtype, recvcounts, recvtype, comm };
            Alltoallw_c(sendbuf: Ptr, sendcounts: Wides, sdispls: Ptr, sendtypes: Ptr, recvbuf: Ptr, recvcounts:
                Wides, rdispls: Ptr, recvtypes: Ptr, comm: Handle)
                => Alltoallw { sendbuf, sendcounts, sendtypes, recvcounts, recvtypes, comm };
            Bcast_c(buffer: Ptr, count: Wide, datatype: Handle, root: Int, comm: Handle)
                => Broadcast { count, datatype, root, comm };
            Bsend_c(buf: Ptr, count: Wide, datatype: Handle, dest: Int, tag: Int, comm: Handle)
                => Sends { count, datatype, dest, tag, comm, is_synchronous: false, request: None };
            Bsend_init_c(buf: Ptr, count: Wide, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
                => PreparesSend { count, datatype, dest, tag, comm, is_synchronous: false, request };
            Buffer_detach_c(buffer_addr: Ptr, size: Ptr) => Visits {};
            Exscan_c(sendbuf: Ptr, recvbuf: Ptr, count: Wide, datatype: Handle, op: Handle, comm: Handle)
                => Exscan { count, datatype, comm };
            File_iread_all_c(fh: Handle, buf: Ptr, count: Wide, datatype: Handle, request: Ptr)
                => ReadsFileLater { count, datatype };
            File_iread_at_all_c(fh: Handle, offset: Wide, buf: Ptr, count: Wide, datatype: Handle, request: Ptr)
                => ReadsFileLater { count, datatype };
            File_iread_at_c(fh: Handle, offset: Wide, buf: Ptr, count: Wide, datatype: Handle, request: Ptr)
                => ReadsFileLater { count, datatype };
            File_iread_c(fh: Handle, buf: Ptr, count: Wide, datatype: Handle, request: Ptr)
                => ReadsFileLater { count, datatype };
            File_iread_shared_c(fh: Handle, buf: Ptr, count: Wide, datatype: Handle, request: Ptr)
                => ReadsFileLater { count, datatype };
            File_iwrite_all_c(fh: Handle, buf: Ptr, count: Wide, datatype: Handle, request: Ptr)
                => WritesFile { count, datatype };
            File_iwrite_at_all_c(fh: Handle, offset: Wide, buf: Ptr, count: Wide, datatype: Handle, request: Ptr)
                => WritesFile { count, datatype };
            File_iwrite_at_c(fh: Handle, offset: Wide, buf: Ptr, count: Wide, datatype: Handle, request: Ptr)
                => WritesFile { count, datatype };
            File_iwrite_c(fh: Handle, buf: Ptr, count: Wide, datatype: Handle, request: Ptr)
                => WritesFile { count, datatype };
            File_iwrite_shared_c(fh: Handle, buf: Ptr, count: Wide, datatype: Handle, request: Ptr)
                => WritesFile { count, datatype };
            File_read_all_begin_c(fh: Handle, buf: Ptr, count: Wide, datatype: Handle) => Visits {};
            File_read_all_c(fh: Handle, buf: Ptr, count: Wide, datatype: Handle, status: Ptr)
                => ReadsFile { status: &raw mut status };
            File_read_at_all_begin_c(fh: Handle, offset: Wide, buf: Ptr, count: Wide, datatype: Handle) => Visits {};
            File_read_at_all_c(fh: Handle, offset: Wide, buf: Ptr, count: Wide, datatype: Handle, status: Ptr)
                => ReadsFile { status: &raw mut status };
            File_read_at_c(fh: Handle, offset: Wide, buf: Ptr, count: Wide, datatype: Handle, status: Ptr)
                => ReadsFile { status: &raw mut status };
            File_read_c(fh: Handle, buf: Ptr, count: Wide, datatype: Handle, status: Ptr)
                => ReadsFile { status: &raw mut status };
            File_read_ordered_begin_c(fh: Handle, buf: Ptr, count: Wide, datatype: Handle) => Visits {};
            File_read_ordered_c(fh: Handle, buf: Ptr, count: Wide, datatype: Handle, status: Ptr)
                => ReadsFile { status: &raw mut status };
            File_read_shared_c(fh: Handle, buf: Ptr, count: Wide, datatype: Handle, status: Ptr)
                => ReadsFile { status: &raw mut status };
            File_write_all_begin_c(fh: Handle, buf: Ptr, count: Wide, datatype: Handle)
                => WritesFile { count, datatype };
            File_write_all_c(fh: Handle, buf: Ptr, count: Wide, datatype: Handle, status: Ptr)
                => WritesFile { count, datatype };
            File_write_at_all_begin_c(fh: Handle, offset: Wide, buf: Ptr, count: Wide, datatype: Handle)
                => WritesFile { count, datatype };
            File_write_at_all_c(fh: Handle, offset: Wide, buf: Ptr, count: Wide, datatype: Handle, status: Ptr)
                => WritesFile { count, datatype };
            File_write_at_c(fh: Handle, offset: Wide, buf: Ptr, count: Wide, datatype: Handle, status: Ptr)
                => WritesFile { count, datatype };
            File_write_c(fh: Handle, buf: Ptr, count: Wide, datatype: Handle, status: Ptr)
                => WritesFile { count, datatype };
            File_write_ordered_begin_c(fh: Handle, buf: Ptr, count: Wide, datatype: Handle)
                => WritesFile { count, datatype };
            File_write_ordered_c(fh: Handle, buf: Ptr, count: Wide, datatype: Handle, status: Ptr)
                => WritesFile { count, datatype };
            File_write_shared_c(fh: Handle, buf: Ptr, count: Wide, datatype: Handle, status: Ptr)
                => WritesFile { count, datatype };
            Gather_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, recvbuf: Ptr, recvcount: Wide, recvtype: Handle,
                root: Int, comm: Handle)
                => Gather { sendbuf, sendcount, sendtype, recvcount, recvtype, root, comm };
            Gatherv_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, recvbuf: Ptr, recvcounts: Wides, displs: Ptr,
                recvtype: Handle, root: Int, comm: Handle)
                => Gatherv { sendbuf, sendcount, sendtype, recvcounts, recvtype, root, comm };
            Get_accumulate_c(origin_addr: Ptr, origin_count: Wide, origin_datatype: Handle, result_addr: Ptr,
                result_count: Wide, result_datatype: Handle, target_rank: Int, target_disp: Wide, target_count: Wide,
                target_datatype: Handle, op: Handle, win: Handle)
                => GetAccumulates { origin_count, origin_datatype, result_count, result_datatype, target_rank, op };
            Get_c(origin_addr: Ptr, origin_count: Wide, origin_datatype: Handle, target_rank: Int, target_disp: Wide,
                target_count: Wide, target_datatype: Handle, win: Handle)
                => Gets { count: origin_count, datatype: origin_datatype, target_rank };
            Iallgather_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, recvbuf: Ptr, recvcount: Wide, recvtype:
                Handle, comm: Handle, request: Ptr)
                => Allgather { sendbuf, sendcount, sendtype, recvcount, recvtype, comm };
            Iallgatherv_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, recvbuf: Ptr, recvcounts: Wides, displs:
                Ptr, recvtype: Handle, comm: Handle, request: Ptr)
                => Allgatherv { sendbuf, sendcount, sendtype, recvcounts, recvtype, comm };
            Iallreduce_c(sendbuf: Ptr, recvbuf: Ptr, count: Wide, datatype: Handle, op: Handle, comm: Handle, request:
                Ptr)
                => Allreduce { count, datatype, comm };
            Ialltoall_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, recvbuf: Ptr, recvcount: Wide, recvtype:
                Handle, comm: Handle, request: Ptr)
                => Alltoall { sendbuf, sendcount, sendtype, recvcount, recvtype, comm };
            Ialltoallv_c(sendbuf: Ptr, sendcounts: Wides, sdispls: Ptr, sendtype: Handle, recvbuf: Ptr, recvcounts:
                Wides, rdispls: Ptr, recvtype: Handle, comm: Handle, request: Ptr)
                => Alltoallv { sendbuf, sendcounts, sendtype, recvcounts, recvtype, comm };
            Ialltoallw_c(sendbuf: Ptr, sendcounts: Wides, sdispls: Ptr, sendtypes: Ptr, recvbuf: Ptr, recvcounts:
                Wides, rdispls: Ptr, recvtypes: Ptr, comm: Handle, request: Ptr)
                => Alltoallw { sendbuf, sendcounts, sendtypes, recvcounts, recvtypes, comm };
            Ibcast_c(buffer: Ptr, count: Wide, datatype: Handle, root: Int, comm: Handle, request: Ptr)
                => Broadcast { count, datatype, root, comm };
            Ibsend_c(buf: Ptr, count: Wide, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
                => Sends { count, datatype, dest, tag, comm, is_synchronous: false, request: Some(request) };
            Iexscan_c(sendbuf: Ptr, recvbuf: Ptr, count: Wide, datatype: Handle, op: Handle, comm: Handle, request:
                Ptr)
                => Exscan { count, datatype, comm };
            Igather_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, recvbuf: Ptr, recvcount: Wide, recvtype:
                Handle, root: Int, comm: Handle, request: Ptr)
                => Gather { sendbuf, sendcount, sendtype, recvcount, recvtype, root, comm };
            Igatherv_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, recvbuf: Ptr, recvcounts: Wides, displs: Ptr,
                recvtype: Handle, root: Int, comm: Handle, request: Ptr)
                => Gatherv { sendbuf, sendcount, sendtype, recvcounts, recvtype, root, comm };
            Imrecv_c(buf: Ptr, count: Wide, datatype: Handle, message: Ptr, request: Ptr)
                => StartsMatched { message, request };
            Ineighbor_allgather_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, recvbuf: Ptr, recvcount: Wide,
                recvtype: Handle, comm: Handle, request: Ptr)
                => NeighborAllgather { sendcount, sendtype, recvcount, recvtype, comm };
            Ineighbor_allgatherv_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, recvbuf: Ptr, recvcounts: Wides,
                displs: Ptr, recvtype: Handle, comm: Handle, request: Ptr)
                => NeighborAllgatherv { sendcount, sendtype, recvcounts, recvtype, comm };
            Ineighbor_alltoall_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, recvbuf: Ptr, recvcount: Wide,
                recvtype: Handle, comm: Handle, request: Ptr)
                => NeighborAlltoall { sendcount, sendtype, recvcount, recvtype, comm };
            Ineighbor_alltoallv_c(sendbuf: Ptr, sendcounts: Wides, sdispls: Ptr, sendtype: Handle, recvbuf: Ptr,
                recvcounts: Wides, rdispls: Ptr, recvtype: Handle, comm: Handle, request: Ptr)
                => NeighborAlltoallv { sendcounts, sendtype, recvcounts, recvtype, comm };
            Ineighbor_alltoallw_c(sendbuf: Ptr, sendcounts: Wides, sdispls: Ptr, sendtypes: Ptr, recvbuf: Ptr,
                recvcounts: Wides, rdispls: Ptr, recvtypes: Ptr, comm: Handle, request: Ptr)
                => NeighborAlltoallw { sendcounts, sendtypes, recvcounts, recvtypes, comm };
            Irecv_c(buf: Ptr, count: Wide, datatype: Handle, source: Int, tag: Int, comm: Handle, request: Ptr)
                => StartsReceive { source, tag, comm, request };
            Ireduce_c(sendbuf: Ptr, recvbuf: Ptr, count: Wide, datatype: Handle, op: Handle, root: Int, comm: Handle,
                request: Ptr)
                => Reduce { sendbuf, count, datatype, root, comm };
            Ireduce_scatter_block_c(sendbuf: Ptr, recvbuf: Ptr, recvcount: Wide, datatype: Handle, op: Handle, comm:
                Handle, request: Ptr)
                => ReduceScatterBlock { recvcount, datatype, comm };
            Ireduce_scatter_c(sendbuf: Ptr, recvbuf: Ptr, recvcounts: Wides, datatype: Handle, op: Handle, comm:
                Handle, request: Ptr)
                => ReduceScatter { recvcounts, datatype, comm };
            Irsend_c(buf: Ptr, count: Wide, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
                => Sends { count, datatype, dest, tag, comm, is_synchronous: false, request: Some(request) };
            Iscan_c(sendbuf: Ptr, recvbuf: Ptr, count: Wide, datatype: Handle, op: Handle, comm: Handle, request: Ptr)
                => Scan { count, datatype, comm };
            Iscatter_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, recvbuf: Ptr, recvcount: Wide, recvtype:
                Handle, root: Int, comm: Handle, request: Ptr)
                => Scatter { sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm };
            Iscatterv_c(sendbuf: Ptr, sendcounts: Wides, displs: Ptr, sendtype: Handle, recvbuf: Ptr, recvcount: Wide,
                recvtype: Handle, root: Int, comm: Handle, request: Ptr)
                => Scatterv { sendcounts, sendtype, recvbuf, recvcount, recvtype, root, comm };
            Isend_c(buf: Ptr, count: Wide, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
                => Sends { count, datatype, dest, tag, comm, is_synchronous: false, request: Some(request) };
            Issend_c(buf: Ptr, count: Wide, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
                => Sends { count, datatype, dest, tag, comm, is_synchronous: true, request: Some(request) };
            Mrecv_c(buf: Ptr, count: Wide, datatype: Handle, message: Ptr, status: Ptr)
                => ReceivesMatched { message, status: &raw mut status };
            Neighbor_allgather_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, recvbuf: Ptr, recvcount: Wide,
                recvtype: Handle, comm: Handle)
                => NeighborAllgather { sendcount, sendtype, recvcount, recvtype, comm };
            Neighbor_allgatherv_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, recvbuf: Ptr, recvcounts: Wides,
                displs: Ptr, recvtype: Handle, comm: Handle)
                => NeighborAllgatherv { sendcount, sendtype, recvcounts, recvtype, comm };
            Neighbor_alltoall_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, recvbuf: Ptr, recvcount: Wide,
                recvtype: Handle, comm: Handle)
                => NeighborAlltoall { sendcount, sendtype, recvcount, recvtype, comm };
            Neighbor_alltoallv_c(sendbuf: Ptr, sendcounts: Wides, sdispls: Ptr, sendtype: Handle, recvbuf: Ptr,
                recvcounts: Wides, rdispls: Ptr, recvtype: Handle, comm: Handle)
                => NeighborAlltoallv { sendcounts, sendtype, recvcounts, recvtype, comm };
            Neighbor_alltoallw_c(sendbuf: Ptr, sendcounts: Wides, sdispls: Ptr, sendtypes: Ptr, recvbuf: Ptr,
                recvcounts: Wides, rdispls: Ptr, recvtypes: Ptr, comm: Handle)
                => NeighborAlltoallw { sendcounts, sendtypes, recvcounts, recvtypes, comm };
            Put_c(origin_addr: Ptr, origin_count: Wide, origin_datatype: Handle, target_rank: Int, target_disp: Wide,
                target_count: Wide, target_datatype: Handle, win: Handle)
                => Puts { count: origin_count, datatype: origin_datatype, target_rank };
            Raccumulate_c(origin_addr: Ptr, origin_count: Wide, origin_datatype: Handle, target_rank: Int,
                target_disp: Wide, target_count: Wide, target_datatype: Handle, op: Handle, win: Handle, request: Ptr)
                => Puts { count: origin_count, datatype: origin_datatype, target_rank };
            Recv_c(buf: Ptr, count: Wide, datatype: Handle, source: Int, tag: Int, comm: Handle, status: Ptr)
                => Receives { source, tag, comm, status: &raw mut status };
            Recv_init_c(buf: Ptr, count: Wide, datatype: Handle, source: Int, tag: Int, comm: Handle, request: Ptr)
                => PreparesReceive { source, tag, comm, request };
            Reduce_c(sendbuf: Ptr, recvbuf: Ptr, count: Wide, datatype: Handle, op: Handle, root: Int, comm: Handle)
                => Reduce { sendbuf, count, datatype, root, comm };
            Reduce_scatter_block_c(sendbuf: Ptr, recvbuf: Ptr, recvcount: Wide, datatype: Handle, op: Handle, comm:
                Handle)
                => ReduceScatterBlock { recvcount, datatype, comm };
            Reduce_scatter_c(sendbuf: Ptr, recvbuf: Ptr, recvcounts: Wides, datatype: Handle, op: Handle, comm:
                Handle)
                => ReduceScatter { recvcounts, datatype, comm };
            Rget_accumulate_c(origin_addr: Ptr, origin_count: Wide, origin_datatype: Handle, result_addr: Ptr,
                result_count: Wide, result_datatype: Handle, target_rank: Int, target_disp: Wide, target_count: Wide,
                target_datatype: Handle, op: Handle, win: Handle, request: Ptr)
                => GetAccumulates { origin_count, origin_datatype, result_count, result_datatype, target_rank, op };
            Rget_c(origin_addr: Ptr, origin_count: Wide, origin_datatype: Handle, target_rank: Int, target_disp: Wide,
                target_count: Wide, target_datatype: Handle, win: Handle, request: Ptr)
                => Gets { count: origin_count, datatype: origin_datatype, target_rank };
            Rput_c(origin_addr: Ptr, origin_count: Wide, origin_datatype: Handle, target_rank: Int, target_disp: Wide,
                target_count: Wide, target_datatype: Handle, win: Handle, request: Ptr)
                => Puts { count: origin_count, datatype: origin_datatype, target_rank };
            Rsend_c(buf: Ptr, count: Wide, datatype: Handle, dest: Int, tag: Int, comm: Handle)
                => Sends { count, datatype, dest, tag, comm, is_synchronous: false, request: None };
            Rsend_init_c(buf: Ptr, count: Wide, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
                => PreparesSend { count, datatype, dest, tag, comm, is_synchronous: false, request };
            Scan_c(sendbuf: Ptr, recvbuf: Ptr, count: Wide, datatype: Handle, op: Handle, comm: Handle)
                => Scan { count, datatype, comm };
            Scatter_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, recvbuf: Ptr, recvcount: Wide, recvtype:
                Handle, root: Int, comm: Handle)
                => Scatter { sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm };
            Scatterv_c(sendbuf: Ptr, sendcounts: Wides, displs: Ptr, sendtype: Handle, recvbuf: Ptr, recvcount: Wide,
                recvtype: Handle, root: Int, comm: Handle)
                => Scatterv { sendcounts, sendtype, recvbuf, recvcount, recvtype, root, comm };
            Send_c(buf: Ptr, count: Wide, datatype: Handle, dest: Int, tag: Int, comm: Handle)
                => Sends { count, datatype, dest, tag, comm, is_synchronous: false, request: None };
            Send_init_c(buf: Ptr, count: Wide, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
                => PreparesSend { count, datatype, dest, tag, comm, is_synchronous: false, request };
            Sendrecv_c(sendbuf: Ptr, sendcount: Wide, sendtype: Handle, dest: Int, sendtag: Int, recvbuf: Ptr,
                recvcount: Wide, recvtype: Handle, source: Int, recvtag: Int, comm: Handle, status: Ptr)
                => Exchanges { count: sendcount, datatype: sendtype, dest, sendtag, source, recvtag, comm, status: &raw mut status };
            Sendrecv_replace_c(buf: Ptr, count: Wide, datatype: Handle, dest: Int, sendtag: Int, source: Int, recvtag:
                Int, comm: Handle, status: Ptr)
                => Exchanges { count, datatype, dest, sendtag, source, recvtag, comm, status: &raw mut status };
            Ssend_c(buf: Ptr, count: Wide, datatype: Handle, dest: Int, tag: Int, comm: Handle)
                => Sends { count, datatype, dest, tag, comm, is_synchronous: true, request: None };
            Ssend_init_c(buf: Ptr, count: Wide, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
                => PreparesSend { count, datatype, dest, tag, comm, is_synchronous: true, request };
            Win_allocate_c(size: Wide, disp_unit: Wide, info: Handle, comm: Handle, baseptr: Ptr, win: Ptr)
                => Takes { comm };
            Win_allocate_shared_c(size: Wide, disp_unit: Wide, info: Handle, comm: Handle, baseptr: Ptr, win: Ptr)
                => Takes { comm };
            Win_create_c(base: Ptr, size: Wide, disp_unit: Wide, info: Handle, comm: Handle, win: Ptr)
                => Takes { comm };
        }
    };
}
pub(crate) use large_counts;
