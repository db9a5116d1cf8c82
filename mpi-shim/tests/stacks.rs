//! Call paths of MPI operations in programs that were compiled by others.

mod common;

use common::{BOTH, Calls, Checked, Mode, Run, one};
use poise_profile::Metric;

/// What was found on the stack before must not be taken for what is there now: each loop comes to the operation by six
/// ways, and the program says how often.
#[test]
fn operations_stand_below_the_functions_that_call_them() {
    for mpi in BOTH {
        let run = Run::of("stacks", mpi, 2, Mode::OnStacks);
        let run = Checked::of(&run, "stacks", mpi, 2);
        let sums = |calls: u64| move |_| Some(Calls { calls, sent: 4 * calls, received: 4 * calls, comm_size: 2 });
        run.expect(&["main", "add", "MPI_Allreduce"], sums(150));
        run.expect(&["main", "shifted", "add", "MPI_Allreduce"], sums(50));
        run.expect(&["main", "recurse", "add", "MPI_Allreduce"], sums(200 + 1501));
        run.expect(&["main", "compare", "add", "MPI_Allreduce"], sums(50));
        run.expect(&["main", "MPI_Barrier"], |_| Some(Calls { calls: 51, comm_size: 2, ..Calls::default() }));
        run.expect(&["main", "MPI_Init"], |_| one(0, 0, 0));
        for of_nobody in [&["main"][..], &["main", "add"], &["main", "recurse", "add"]] {
            run.expect(of_nobody, |_| None);
        }
        let names: Vec<_> = run.profile.regions.iter().map(|region| region.name.as_str()).collect();
        let outside = run.value(&["(outside MPI)"], Metric::Time).expect("the program slept outside MPI");
        assert!(outside.minimum.0 >= 300_000_000 && outside.ranks == 2, "{outside:?}");
        assert_eq!(names.len(), 9, "{names:?}");
    }
}

/// MPI's Fortran functions are between the program's and those of C.
#[test]
fn fortran_programs_have_call_paths_too() {
    for mpi in BOTH {
        for binding in common::FORTRAN {
            let run = Checked::of(&Run::of(binding, mpi, 3, Mode::OnStacks), binding, mpi, 3);
            run.expect(&["main", "MAIN__", "MPI_Allgather"], |_| one(16, 16, 3));
        }
    }
}
