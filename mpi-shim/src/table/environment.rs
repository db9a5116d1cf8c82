//! The table's rows for starting and ending MPI, for communicators and processes, and for files.

macro_rules! environment {
    ($generate:ident) => {
        $generate! {
            // Environment.
            Init(argc: Ptr, argv: Ptr) => Initialises {};
            Init_thread(argc: Ptr, argv: Ptr, required: Int, provided: Ptr) => Initialises {};
            Finalize() => Finalises {};
            // Communicators.
            Comm_dup(comm: Handle, newcomm: Ptr)
                => Makes { comm, new: newcomm };
            Comm_dup_with_info(comm: Handle, info: Handle, newcomm: Ptr)
                => Makes { comm, new: newcomm };
            Comm_idup(comm: Handle, newcomm: Ptr, request: Ptr) => Takes { comm };
            Comm_create(comm: Handle, group: Handle, newcomm: Ptr)
                => Makes { comm, new: newcomm };
            Comm_create_group(comm: Handle, group: Handle, tag: Int, newcomm: Ptr)
                => MakesOfGroup { comm, new: newcomm };
            Comm_split(comm: Handle, color: Int, key: Int, newcomm: Ptr)
                => Makes { comm, new: newcomm };
            Comm_split_type(comm: Handle, split_type: Int, key: Int, info: Handle, newcomm: Ptr)
                => Makes { comm, new: newcomm };
            Intercomm_create(local_comm: Handle, local_leader: Int, peer_comm: Handle, remote_leader: Int, tag: Int,
                newintercomm: Ptr)
                => Takes { comm: local_comm };
            Intercomm_merge(intercomm: Handle, high: Int, newintracomm: Ptr) => Takes { comm: intercomm };
            Abort(comm: Handle, errorcode: Int) => Aborts { errorcode };
            Comm_free(comm: Ptr) => Unmakes { comm };
            Comm_disconnect(comm: Ptr) => Unmakes { comm };
            // Topologies.
            Cart_create(comm_old: Handle, ndims: Int, dims: Ptr, periods: Ptr, reorder: Int, comm_cart: Ptr)
                => Makes { comm: comm_old, new: comm_cart };
            Cart_sub(comm: Handle, remain_dims: Ptr, newcomm: Ptr) => Makes { comm, new: newcomm };
            Graph_create(comm_old: Handle, nnodes: Int, indx: Ptr, edges: Ptr, reorder: Int, comm_graph: Ptr)
                => Makes { comm: comm_old, new: comm_graph };
            Dist_graph_create(comm_old: Handle, n: Int, sources: Ptr, degrees: Ptr, destinations: Ptr, weights: Ptr,
                info: Handle, reorder: Int, comm_dist_graph: Ptr)
                => Makes { comm: comm_old, new: comm_dist_graph };
            Dist_graph_create_adjacent(comm_old: Handle, indegree: Int, sources: Ptr, sourceweights: Ptr, outdegree:
                Int, destinations: Ptr, destweights: Ptr, info: Handle, reorder: Int, comm_dist_graph: Ptr)
                => Makes { comm: comm_old, new: comm_dist_graph };
            // Processes.
            Comm_spawn(command: Ptr, argv: Ptr, maxprocs: Int, info: Handle, root: Int, comm: Handle, intercomm:
                Ptr, array_of_errcodes: Ptr)
                => Takes { comm };
            Comm_spawn_multiple(count: Int, array_of_commands: Ptr, array_of_argv: Ptr, array_of_maxprocs: Ptr,
                array_of_info: Ptr, root: Int, comm: Handle, intercomm: Ptr, array_of_errcodes: Ptr)
                => Takes { comm };
            Comm_accept(port_name: Ptr, info: Handle, root: Int, comm: Handle, newcomm: Ptr) => Takes { comm };
            Comm_connect(port_name: Ptr, info: Handle, root: Int, comm: Handle, newcomm: Ptr) => Takes { comm };
            Comm_join(fd: Int, intercomm: Ptr) => Visits {};
            // Files: what is written is sent, what is read is received.
            File_open(comm: Handle, filename: Ptr, amode: Int, info: Handle, fh: Ptr) => Takes { comm };
            File_close(fh: Ptr) => Visits {};
            File_delete(filename: Ptr, info: Handle) => Visits {};
            File_set_size(fh: Handle, size: Wide) => Visits {};
            File_preallocate(fh: Handle, size: Wide) => Visits {};
            File_get_size(fh: Handle, size: Ptr) => Visits {};
            File_set_info(fh: Handle, info: Handle) => Visits {};
            File_set_view(fh: Handle, disp: Wide, etype: Handle, filetype: Handle, datarep: Ptr, info: Handle)
                => Visits {};
            File_read_at(fh: Handle, offset: Wide, buf: Ptr, count: Int, datatype: Handle, status: Ptr)
                => ReadsFile { status: &raw mut status };
            File_read_at_all(fh: Handle, offset: Wide, buf: Ptr, count: Int, datatype: Handle, status: Ptr)
                => ReadsFile { status: &raw mut status };
            File_write_at(fh: Handle, offset: Wide, buf: Ptr, count: Int, datatype: Handle, status: Ptr)
                => WritesFile { count, datatype };
            File_write_at_all(fh: Handle, offset: Wide, buf: Ptr, count: Int, datatype: Handle, status: Ptr)
                => WritesFile { count, datatype };
            File_iread_at(fh: Handle, offset: Wide, buf: Ptr, count: Int, datatype: Handle, request: Ptr)
                => ReadsFileLater { count, datatype };
            File_iwrite_at(fh: Handle, offset: Wide, buf: Ptr, count: Int, datatype: Handle, request: Ptr)
                => WritesFile { count, datatype };
            File_iread_at_all(fh: Handle, offset: Wide, buf: Ptr, count: Int, datatype: Handle, request: Ptr)
                => ReadsFileLater { count, datatype };
            File_iwrite_at_all(fh: Handle, offset: Wide, buf: Ptr, count: Int, datatype: Handle, request: Ptr)
                => WritesFile { count, datatype };
            File_read(fh: Handle, buf: Ptr, count: Int, datatype: Handle, status: Ptr)
                => ReadsFile { status: &raw mut status };
            File_read_all(fh: Handle, buf: Ptr, count: Int, datatype: Handle, status: Ptr)
                => ReadsFile { status: &raw mut status };
            File_write(fh: Handle, buf: Ptr, count: Int, datatype: Handle, status: Ptr)
                => WritesFile { count, datatype };
            File_write_all(fh: Handle, buf: Ptr, count: Int, datatype: Handle, status: Ptr)
                => WritesFile { count, datatype };
            File_iread(fh: Handle, buf: Ptr, count: Int, datatype: Handle, request: Ptr)
                => ReadsFileLater { count, datatype };
            File_iwrite(fh: Handle, buf: Ptr, count: Int, datatype: Handle, request: Ptr)
                => WritesFile { count, datatype };
            File_iread_all(fh: Handle, buf: Ptr, count: Int, datatype: Handle, request: Ptr)
                => ReadsFileLater { count, datatype };
            File_iwrite_all(fh: Handle, buf: Ptr, count: Int, datatype: Handle, request: Ptr)
                => WritesFile { count, datatype };
            File_seek(fh: Handle, offset: Wide, whence: Int) => Visits {};
            File_read_shared(fh: Handle, buf: Ptr, count: Int, datatype: Handle, status: Ptr)
                => ReadsFile { status: &raw mut status };
            File_write_shared(fh: Handle, buf: Ptr, count: Int, datatype: Handle, status: Ptr)
                => WritesFile { count, datatype };
            File_iread_shared(fh: Handle, buf: Ptr, count: Int, datatype: Handle, request: Ptr)
                => ReadsFileLater { count, datatype };
            File_iwrite_shared(fh: Handle, buf: Ptr, count: Int, datatype: Handle, request: Ptr)
                => WritesFile { count, datatype };
            File_read_ordered(fh: Handle, buf: Ptr, count: Int, datatype: Handle, status: Ptr)
                => ReadsFile { status: &raw mut status };
            File_write_ordered(fh: Handle, buf: Ptr, count: Int, datatype: Handle, status: Ptr)
                => WritesFile { count, datatype };
            File_seek_shared(fh: Handle, offset: Wide, whence: Int) => Visits {};
            File_get_position_shared(fh: Handle, offset: Ptr) => Visits {};
            File_read_at_all_begin(fh: Handle, offset: Wide, buf: Ptr, count: Int, datatype: Handle) => Visits {};
            File_read_at_all_end(fh: Handle, buf: Ptr, status: Ptr) => ReadsFile { status: &raw mut status };
            File_write_at_all_begin(fh: Handle, offset: Wide, buf: Ptr, count: Int, datatype: Handle)
                => WritesFile { count, datatype };
            File_write_at_all_end(fh: Handle, buf: Ptr, status: Ptr) => Visits {};
            File_read_all_begin(fh: Handle, buf: Ptr, count: Int, datatype: Handle) => Visits {};
            File_read_all_end(fh: Handle, buf: Ptr, status: Ptr) => ReadsFile { status: &raw mut status };
            File_write_all_begin(fh: Handle, buf: Ptr, count: Int, datatype: Handle) => WritesFile { count, datatype };
            File_write_all_end(fh: Handle, buf: Ptr, status: Ptr) => Visits {};
            File_read_ordered_begin(fh: Handle, buf: Ptr, count: Int, datatype: Handle) => Visits {};
            File_read_ordered_end(fh: Handle, buf: Ptr, status: Ptr) => ReadsFile { status: &raw mut status };
            File_write_ordered_begin(fh: Handle, buf: Ptr, count: Int, datatype: Handle)
                => WritesFile { count, datatype };
            File_write_ordered_end(fh: Handle, buf: Ptr, status: Ptr) => Visits {};
            File_set_atomicity(fh: Handle, flag: Int) => Visits {};
            File_sync(fh: Handle) => Visits {};
        }
    };
}
pub(crate) use environment;
