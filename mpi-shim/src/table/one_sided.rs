//! The table's rows for one-sided communication.

macro_rules! one_sided {
    ($generate:ident) => {
        $generate! {
            // Transfers.
            Put(origin_addr: Ptr, origin_count: Int, origin_datatype: Handle, target_rank: Int, target_disp: Wide,
                target_count: Int, target_datatype: Handle, win: Handle)
                => Puts { count: origin_count, datatype: origin_datatype, target_rank };
            Rput(origin_addr: Ptr, origin_count: Int, origin_datatype: Handle, target_rank: Int, target_disp: Wide,
                target_count: Int, target_datatype: Handle, win: Handle, request: Ptr)
                => Puts { count: origin_count, datatype: origin_datatype, target_rank };
            Accumulate(origin_addr: Ptr, origin_count: Int, origin_datatype: Handle, target_rank: Int, target_disp:
                Wide, target_count: Int, target_datatype: Handle, op: Handle, win: Handle)
                => Puts { count: origin_count, datatype: origin_datatype, target_rank };
            Raccumulate(origin_addr: Ptr, origin_count: Int, origin_datatype: Handle, target_rank: Int, target_disp:
                Wide, target_count: Int, target_datatype: Handle, op: Handle, win: Handle, request: Ptr)
                => Puts { count: origin_count, datatype: origin_datatype, target_rank };
            Get(origin_addr: Ptr, origin_count: Int, origin_datatype: Handle, target_rank: Int, target_disp: Wide,
                target_count: Int, target_datatype: Handle, win: Handle)
                => Gets { count: origin_count, datatype: origin_datatype, target_rank };
            Rget(origin_addr: Ptr, origin_count: Int, origin_datatype: Handle, target_rank: Int, target_disp: Wide,
                target_count: Int, target_datatype: Handle, win: Handle, request: Ptr)
                => Gets { count: origin_count, datatype: origin_datatype, target_rank };
            Get_accumulate(origin_addr: Ptr, origin_count: Int, origin_datatype: Handle, result_addr: Ptr,
                result_count: Int, result_datatype: Handle, target_rank: Int, target_disp: Wide, target_count: Int,
                target_datatype: Handle, op: Handle, win: Handle)
                => GetAccumulates { origin_count, origin_datatype, result_count, result_datatype, target_rank, op };
            Rget_accumulate(origin_addr: Ptr, origin_count: Int, origin_datatype: Handle, result_addr: Ptr,
                result_count: Int, result_datatype: Handle, target_rank: Int, target_disp: Wide, target_count: Int,
                target_datatype: Handle, op: Handle, win: Handle, request: Ptr)
                => GetAccumulates { origin_count, origin_datatype, result_count, result_datatype, target_rank, op };
            Fetch_and_op(origin_addr: Ptr, result_addr: Ptr, datatype: Handle, target_rank: Int, target_disp: Wide,
                op: Handle, win: Handle)
                => FetchesAndOperates { datatype, target_rank, op };
            Compare_and_swap(origin_addr: Ptr, compare_addr: Ptr, result_addr: Ptr, datatype: Handle, target_rank:
                Int, target_disp: Wide, win: Handle)
                => ComparesAndSwaps { datatype, target_rank };
            // Windows.
            Win_create(base: Ptr, size: Wide, disp_unit: Int, info: Handle, comm: Handle, win: Ptr) => Takes { comm };
            Win_create_dynamic(info: Handle, comm: Handle, win: Ptr) => Takes { comm };
            Win_allocate(size: Wide, disp_unit: Int, info: Handle, comm: Handle, baseptr: Ptr, win: Ptr)
                => Takes { comm };
            Win_allocate_shared(size: Wide, disp_unit: Int, info: Handle, comm: Handle, baseptr: Ptr, win: Ptr)
                => Takes { comm };
            Win_free(win: Ptr) => Visits {};
            // Synchronisation.
            Win_fence(assert: Int, win: Handle) => Visits {};
            Win_post(group: Handle, assert: Int, win: Handle) => Visits {};
            Win_start(group: Handle, assert: Int, win: Handle) => Visits {};
            Win_complete(win: Handle) => Visits {};
            Win_wait(win: Handle) => Visits {};
            Win_test(win: Handle, flag: Ptr) => Asks { flag };
            Win_lock(lock_type: Int, rank: Int, assert: Int, win: Handle) => Visits {};
            Win_lock_all(assert: Int, win: Handle) => Visits {};
            Win_unlock(rank: Int, win: Handle) => Visits {};
            Win_unlock_all(win: Handle) => Visits {};
            Win_flush(rank: Int, win: Handle) => Visits {};
            Win_flush_all(win: Handle) => Visits {};
            Win_flush_local(rank: Int, win: Handle) => Visits {};
            Win_flush_local_all(win: Handle) => Visits {};
            Win_sync(win: Handle) => Visits {};
        }
    };
}
pub(crate) use one_sided;
