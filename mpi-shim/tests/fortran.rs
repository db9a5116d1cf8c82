//! Fortran's bindings reach MPI by its MPI_ or its PMPI_ functions, as the implementation likes: each call must be
//! seen, and once.

mod common;

use common::{BOTH, Calls, Checked, FORTRAN, one};

#[test]
fn each_binding_is_seen_once() {
    for mpi in BOTH {
        for binding in FORTRAN {
            let run = Checked::new(binding, mpi, 3);
            run.expect(&["MPI_Init"], |_| one(0, 0, 0));
            run.expect(&["MPI_Bcast"], |r| one(if r == 0 { 60 } else { 0 }, 20, 3));
            run.expect(&["MPI_Allgather"], |_| one(16, 16, 3));
            run.expect(&["MPI_Sendrecv"], |_| one(12, 12, 3));
            run.expect(&["MPI_Irecv"], |_| Some(Calls { calls: 1, comm_size: 3, ..Calls::default() }));
            run.expect(&["MPI_Isend"], |r| one(4 * (r + 1), 0, 3));
            run.expect(&["MPI_Waitall"], |r| one(0, 4 * ((r + 2) % 3 + 1), 3));
        }
    }
}
