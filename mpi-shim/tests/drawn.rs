//! Operations with drawn counts, types, roots, peers and communicators: what the profile has of each function is what the programs in `programs/drawn` have worked out from
//! the blocks that go from rank to rank, and to and from memory and files.

mod common;

use std::path::Path;

use common::{BOTH, Checked, FORTRAN, Mode, Mpi, Run};

/// Compares the profile of a program, which has run with so many drawn operations, with what it says; the seed is the number of ranks. Returns the number of functions.
fn compare(program: &Path, turns: &str, mpi: Mpi, ranks: u32) -> usize {
    let run = Run::compiled(program, &[&ranks.to_string(), turns], mpi, ranks, Mode::Measured);
    let checked = Checked::of(&run, "drawn", mpi, ranks);
    let functions = checked.expect_ledger(&run.stdout);
    // With MPI_Init, of which the program's ledger says nothing.
    let recorded = checked.profile.regions.iter().filter(|region| region.name.starts_with("MPI_")).count();
    assert_eq!(recorded, functions + 1, "{mpi:?} on {ranks} ranks: {}", run.stdout);
    functions
}

#[test]
fn drawn_operations_move_what_the_program_says() {
    for (mpi, functions) in [(Mpi::OpenMpi, 149), (Mpi::Mpich, 181)] {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let program = mpi.compile("drawn", folder.path());
        for ranks in 1..=9 {
            // A window of several ranks needs several, where Open MPI makes it in another way.
            assert_eq!(
                compare(&program, "800", mpi, ranks),
                functions - usize::from(ranks == 1),
                "{mpi:?} on {ranks} ranks"
            );
        }
    }
}

/// The functions with large counts, which Open MPI 4.1 does not have.
#[test]
fn they_do_with_large_counts() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let program = Mpi::Mpich.compile_with("drawn", &["-DLARGE"], folder.path());
    for ranks in 1..=9 {
        assert_eq!(compare(&program, "500", Mpi::Mpich, ranks), 181 - usize::from(ranks == 1), "{ranks} ranks");
    }
}

/// Each binding on three numbers of ranks.
#[test]
fn they_do_in_fortran() {
    let files = ["draws.F90", "drawn.F90", "draw.c", "plan.c"].map(|file| format!("drawn/{file}"));
    for mpi in BOTH {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        for (binding, name) in FORTRAN.iter().enumerate() {
            let program = folder.path().join(name);
            mpi.compile_fortran(&files.each_ref().map(String::as_str), binding, &program);
            for ranks in (1..=9).filter(|ranks| ranks % 3 == binding as u32) {
                // One rank has no window, and no types for neighbours.
                let left_out = if ranks == 1 { 10 } else { 0 };
                assert_eq!(
                    compare(&program, "160", mpi, ranks),
                    91 - left_out,
                    "{name} under {mpi:?} on {ranks} ranks"
                );
            }
        }
    }
}
