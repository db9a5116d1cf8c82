//! The table's rows for point-to-point communication.

macro_rules! point_to_point {
    ($generate:ident) => {
        $generate! {
            // Messages.
            Send(buf: Ptr, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle)
                => Sends { count, datatype, dest, tag, comm, is_synchronous: false, request: None };
            Bsend(buf: Ptr, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle)
                => Sends { count, datatype, dest, tag, comm, is_synchronous: false, request: None };
            Ssend(buf: Ptr, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle)
                => Sends { count, datatype, dest, tag, comm, is_synchronous: true, request: None };
            Rsend(buf: Ptr, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle)
                => Sends { count, datatype, dest, tag, comm, is_synchronous: false, request: None };
            Isend(buf: Ptr, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
                => Sends { count, datatype, dest, tag, comm, is_synchronous: false, request: Some(request) };
            Ibsend(buf: Ptr, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
                => Sends { count, datatype, dest, tag, comm, is_synchronous: false, request: Some(request) };
            Issend(buf: Ptr, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
                => Sends { count, datatype, dest, tag, comm, is_synchronous: true, request: Some(request) };
            Irsend(buf: Ptr, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
                => Sends { count, datatype, dest, tag, comm, is_synchronous: false, request: Some(request) };
            Recv(buf: Ptr, count: Int, datatype: Handle, source: Int, tag: Int, comm: Handle, status: Ptr)
                => Receives { source, tag, comm, status: &raw mut status };
            Mrecv(buf: Ptr, count: Int, datatype: Handle, message: Ptr, status: Ptr)
                => ReceivesMatched { message, status: &raw mut status };
            Irecv(buf: Ptr, count: Int, datatype: Handle, source: Int, tag: Int, comm: Handle, request: Ptr)
                => StartsReceive { source, tag, comm, request };
            Imrecv(buf: Ptr, count: Int, datatype: Handle, message: Ptr, request: Ptr)
                => StartsMatched { message, request };
            Sendrecv(sendbuf: Ptr, sendcount: Int, sendtype: Handle, dest: Int, sendtag: Int, recvbuf: Ptr,
                recvcount: Int, recvtype: Handle, source: Int, recvtag: Int, comm: Handle, status: Ptr)
                => Exchanges { count: sendcount, datatype: sendtype, dest, sendtag, source, recvtag, comm, status: &raw mut status };
            Sendrecv_replace(buf: Ptr, count: Int, datatype: Handle, dest: Int, sendtag: Int, source: Int, recvtag:
                Int, comm: Handle, status: Ptr)
                => Exchanges { count, datatype, dest, sendtag, source, recvtag, comm, status: &raw mut status };
            // Probes.
            Probe(source: Int, tag: Int, comm: Handle, status: Ptr) => Awaits { comm, status: &raw mut status };
            Iprobe(source: Int, tag: Int, comm: Handle, flag: Ptr, status: Ptr) => Probes { comm, flag };
            Mprobe(source: Int, tag: Int, comm: Handle, message: Ptr, status: Ptr)
                => Matches { comm, flag: None, message, status: &raw mut status };
            Improbe(source: Int, tag: Int, comm: Handle, flag: Ptr, message: Ptr, status: Ptr)
                => Matches { comm, flag: Some(flag), message, status: &raw mut status };
            // Persistent requests.
            Send_init(buf: Ptr, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
                => PreparesSend { count, datatype, dest, tag, comm, is_synchronous: false, request };
            Bsend_init(buf: Ptr, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
                => PreparesSend { count, datatype, dest, tag, comm, is_synchronous: false, request };
            Ssend_init(buf: Ptr, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
                => PreparesSend { count, datatype, dest, tag, comm, is_synchronous: true, request };
            Rsend_init(buf: Ptr, count: Int, datatype: Handle, dest: Int, tag: Int, comm: Handle, request: Ptr)
                => PreparesSend { count, datatype, dest, tag, comm, is_synchronous: false, request };
            Recv_init(buf: Ptr, count: Int, datatype: Handle, source: Int, tag: Int, comm: Handle, request: Ptr)
                => PreparesReceive { source, tag, comm, request };
            Start(request: Ptr) => Starts { requests: request, count: 1 };
            Startall(count: Int, array_of_requests: Ptr) => Starts { requests: array_of_requests, count };
            // Completion.
            Wait(request: Ptr, status: Ptr)
                => Completes { requests: request, count: 1, statuses: &raw mut status, outcome: Outcome::All };
            Test(request: Ptr, flag: Ptr, status: Ptr)
                => Completes { requests: request, count: 1, statuses: &raw mut status, outcome: Outcome::Flag(flag) };
            Waitall(count: Int, array_of_requests: Ptr, array_of_statuses: Ptr)
                => Completes { requests: array_of_requests, count, statuses: &raw mut array_of_statuses, outcome: Outcome::All };
            Testall(count: Int, array_of_requests: Ptr, flag: Ptr, array_of_statuses: Ptr)
                => Completes { requests: array_of_requests, count, statuses: &raw mut array_of_statuses, outcome: Outcome::Flag(flag) };
            Waitany(count: Int, array_of_requests: Ptr, indx: Ptr, status: Ptr)
                => Completes { requests: array_of_requests, count, statuses: &raw mut status, outcome: Outcome::Any(indx) };
            Testany(count: Int, array_of_requests: Ptr, indx: Ptr, flag: Ptr, status: Ptr)
                => Completes { requests: array_of_requests, count, statuses: &raw mut status, outcome: Outcome::AnyFlag(indx, flag) };
            Waitsome(incount: Int, array_of_requests: Ptr, outcount: Ptr, array_of_indices: Ptr, array_of_statuses:
                Ptr)
                => Completes { requests: array_of_requests, count: incount, statuses: &raw mut array_of_statuses, outcome: Outcome::Some(outcount, array_of_indices) };
            Testsome(incount: Int, array_of_requests: Ptr, outcount: Ptr, array_of_indices: Ptr, array_of_statuses:
                Ptr)
                => Completes { requests: array_of_requests, count: incount, statuses: &raw mut array_of_statuses, outcome: Outcome::Some(outcount, array_of_indices) };
            Request_get_status(request: Handle, flag: Ptr, status: Ptr) => Asks { flag };
            Cancel(request: Ptr) => Visits {};
            Request_free(request: Ptr) => Frees { request };
            // Waits until what lies in the buffer is sent.
            Buffer_detach(buffer_addr: Ptr, size: Ptr) => Visits {};
        }
    };
}
pub(crate) use point_to_point;
