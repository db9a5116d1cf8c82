//! Bytes of every collective operation, worked out by hand from `programs/collectives.c`: p ranks, ints of 4 bytes,
//! the last rank as root.

mod common;

use common::{BOTH, Calls, Checked, one};

/// Bytes of `count` ints.
fn ints(count: u64) -> u64 {
    4 * count
}

/// 1 + 2 + … + n.
fn triangle(n: u64) -> u64 {
    n * (n + 1) / 2
}

fn on_all_numbers_of_ranks(check: impl Fn(&Checked, u64)) {
    for mpi in BOTH {
        for ranks in [1, 2, 3, 5] {
            let checked = Checked::new("collectives", mpi, ranks);
            check(&checked, u64::from(ranks));
        }
    }
}

#[test]
fn collective_calls_move_what_their_arguments_say() {
    on_all_numbers_of_ranks(|run, p| {
        data_with_a_root(run, p);
        data_without_a_root(run, p);
        combined(run, p);
        nonblocking_and_derived(run, p);
        communicators(run, p);
        neighbours(run, p);
        one_sided(run, p);
    });
}

fn data_with_a_root(run: &Checked, p: u64) {
    let root = p - 1;
    let at_root = |rank, value| if rank == root { value } else { 0 };
    let elsewhere = |rank, value| if rank == root { 0 } else { value };
    run.expect(&["bcast", "MPI_Bcast"], |r| one(at_root(r, p * ints(5)), ints(5), p));
    run.expect(&["gather", "MPI_Gather"], |r| one(ints(3), at_root(r, p * ints(3)), p));
    run.expect(&["gather_in_place", "MPI_Gather"], |r| one(elsewhere(r, ints(3)), at_root(r, (p - 1) * ints(3)), p));
    run.expect(&["gatherv", "MPI_Gatherv"], |r| one(ints(r + 1), at_root(r, ints(triangle(p))), p));
    run.expect(&["gatherv_in_place", "MPI_Gatherv"], |r| {
        one(elsewhere(r, ints(r + 1)), at_root(r, ints(triangle(p - 1))), p)
    });
    run.expect(&["scatter", "MPI_Scatter"], |r| one(at_root(r, p * ints(2)), ints(2), p));
    run.expect(&["scatter_in_place", "MPI_Scatter"], |r| one(at_root(r, (p - 1) * ints(2)), elsewhere(r, ints(2)), p));
    run.expect(&["scatterv", "MPI_Scatterv"], |r| one(at_root(r, ints(triangle(p))), ints(r + 1), p));
}

fn data_without_a_root(run: &Checked, p: u64) {
    run.expect(&["allgather", "MPI_Allgather"], |_| one(p * ints(2), p * ints(2), p));
    run.expect(&["allgather_in_place", "MPI_Allgather"], |_| one((p - 1) * ints(2), (p - 1) * ints(2), p));
    run.expect(&["allgatherv", "MPI_Allgatherv"], |r| one(p * ints(r + 1), ints(triangle(p)), p));
    run.expect(&["allgatherv_in_place", "MPI_Allgatherv"], |r| {
        one((p - 1) * ints(r + 1), ints(triangle(p) - (r + 1)), p)
    });
    run.expect(&["alltoall", "MPI_Alltoall"], |_| one(p * ints(4), p * ints(4), p));
    run.expect(&["alltoall_in_place", "MPI_Alltoall"], |_| one((p - 1) * ints(4), (p - 1) * ints(4), p));
    run.expect(&["alltoallv", "MPI_Alltoallv"], |r| one(ints(triangle(p)), p * ints(r + 1), p));
    // Half of the ranks, rounded down, are odd; each of them is sent one element by everybody.
    run.expect(&["alltoallw", "MPI_Alltoallw"], |r| one(ints(p / 2), p * ints(r % 2), p));
}

fn combined(run: &Checked, p: u64) {
    let root = p - 1;
    let result = |rank| if rank == root { ints(6) } else { 0 };
    run.expect(&["reduce", "MPI_Reduce"], |r| one(ints(6), result(r), p));
    run.expect(&["reduce_in_place", "MPI_Reduce"], |r| one(ints(6) - result(r), result(r), p));
    run.expect(&["allreduce", "MPI_Allreduce"], |_| one(ints(6), ints(6), p));
    run.expect(&["allreduce_in_place", "MPI_Allreduce"], |_| one(ints(6), ints(6), p));
    run.expect(&["reduce_scatter", "MPI_Reduce_scatter"], |r| one(ints(triangle(p)), ints(r + 1), p));
    run.expect(&["reduce_scatter_block", "MPI_Reduce_scatter_block"], |_| one(p * ints(2), ints(2), p));
    run.expect(&["scan", "MPI_Scan"], |_| one(ints(3), ints(3), p));
    let unless = |is_end: bool| if is_end { 0 } else { ints(3) };
    run.expect(&["exscan", "MPI_Exscan"], |r| one(unless(r == p - 1), unless(r == 0), p));
    run.expect(&["barrier", "MPI_Barrier"], |_| one(0, 0, p));
}

fn nonblocking_and_derived(run: &Checked, p: u64) {
    let root = p - 1;
    run.expect(&["nonblocking", "MPI_Ibcast"], |r| one(if r == root { p * ints(5) } else { 0 }, ints(5), p));
    run.expect(&["nonblocking", "MPI_Iallreduce"], |_| one(ints(6), ints(6), p));
    run.expect(&["nonblocking", "MPI_Ialltoall"], |_| one(p * ints(1), p * ints(1), p));
    run.expect(&["nonblocking", "MPI_Ibarrier"], |_| one(0, 0, p));
    run.expect(&["nonblocking", "MPI_Waitall"], |_| one(0, 0, 0));
    // Two elements of a type with 6 ints in 40 bytes.
    run.expect(&["derived", "MPI_Bcast"], |r| one(if r == 0 { p * 2 * ints(6) } else { 0 }, 2 * ints(6), p));
    run.expect(&["nothing", "MPI_Bcast"], |_| one(0, 0, p));
}

fn communicators(run: &Checked, p: u64) {
    run.expect(&["split", "MPI_Comm_split"], |_| one(0, 0, p));
    // Ranks 0 … p - 2 by parity; the first of each part is rank 0 or 1.
    let part = |r: u64| (p - 1).saturating_sub(r % 2).div_ceil(2);
    run.expect(&["part", "MPI_Bcast"], |r| {
        if r == p - 1 { None } else { one(if r < 2 { 8 * part(r) } else { 0 }, 8, part(r)) }
    });
    run.expect(&["part", "MPI_Allreduce"], |r| if r == p - 1 { None } else { one(4, 4, part(r)) });
    if p < 2 {
        return;
    }
    // Rank 0 against the p - 1 others; all p ranks take part.
    let first = |rank, there, elsewhere| if rank == 0 { there } else { elsewhere };
    run.expect(&["inter_bcast", "MPI_Bcast"], |r| one(first(r, (p - 1) * ints(2), 0), first(r, 0, ints(2)), p));
    run.expect(&["inter_gather", "MPI_Gather"], |r| one(first(r, 0, ints(2)), first(r, (p - 1) * ints(2), 0), p));
    run.expect(&["inter_reduce", "MPI_Reduce"], |r| one(first(r, 0, ints(2)), first(r, ints(2), 0), p));
    run.expect(&["inter_bystanders", "MPI_Bcast"], |r| match r {
        0 => one(0, ints(2), p),
        1 => one(ints(2), 0, p),
        _ => one(0, 0, p),
    });
    run.expect(&["inter_allgather", "MPI_Allgather"], |r| {
        let others = first(r, p - 1, 1);
        one(ints(others), ints(others), p)
    });
}

fn neighbours(run: &Checked, p: u64) {
    let below = |r: u64| u64::from(r > 0);
    let above = |r: u64| u64::from(r + 1 < p);
    let both = |r: u64| below(r) + above(r);
    run.expect(&["line", "MPI_Neighbor_allgather"], |r| one(both(r) * ints(3), both(r) * ints(3), p));
    run.expect(&["line", "MPI_Neighbor_alltoall"], |r| one(both(r) * ints(2), both(r) * ints(2), p));
    run.expect(&["line", "MPI_Neighbor_alltoallv"], |r| {
        one(ints(below(r) + 2 * above(r)), ints(2 * below(r) + above(r)), p)
    });
    run.expect(&["ring", "MPI_Neighbor_allgather"], |_| one(ints(3), ints(3), p));
}

fn one_sided(run: &Checked, p: u64) {
    if p < 2 {
        return;
    }
    let next = |r: u64, count| if r + 1 < p { ints(count) } else { 0 };
    run.expect(&["one_sided", "MPI_Put"], |r| one(next(r, 3), 0, 0));
    run.expect(&["one_sided", "MPI_Accumulate"], |r| one(next(r, 2), 0, 0));
    run.expect(&["one_sided", "MPI_Get"], |r| one(0, next(r, 5), 0));
    run.expect(&["one_sided", "MPI_Win_fence"], |_| Some(Calls { calls: 3, ..Calls::default() }));
}
