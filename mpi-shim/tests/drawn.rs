//! Operations with drawn counts, types, roots, peers and communicators: what the profile has of each function is what the programs in `programs/drawn` have worked out from
//! the blocks that go from rank to rank, and to and from memory and files.

mod common;

use std::collections::BTreeSet;
use std::path::Path;

use common::{Checked, FORTRAN, Mode, Mpi, Run};

/// Functions by name, after `MPI_`.
type Functions = BTreeSet<String>;

/// Compares the profile of a program, which has run with so many drawn operations, with what it says; the seed is the number of ranks. Returns the functions.
fn compare(program: &Path, turns: &str, mpi: Mpi, ranks: u32) -> Functions {
    let run = Run::compiled(program, &[&ranks.to_string(), turns], mpi, ranks, Mode::Measured);
    let checked = Checked::of(&run, "drawn", mpi, ranks);
    let compared = checked.expect_ledger(&run.stdout);
    let regions = checked.profile.regions.iter().filter_map(|region| region.name.strip_prefix("MPI_"));
    // The program's ledger says nothing of how MPI began.
    let recorded: Functions = regions.filter(|name| !name.starts_with("Init")).map(str::to_owned).collect();
    assert_eq!(recorded.len(), compared, "{mpi:?} on {ranks} ranks: {}", run.stdout);
    recorded
}

/// Runs the program in C on 1 to 9 ranks, with as many functions on each number of them. Returns the functions.
fn compare_in_c(mpi: Mpi, options: &[&str], turns: &str, functions: usize) -> Functions {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let program = mpi.compile_with("drawn", options, folder.path());
    let mut all = Functions::new();
    for ranks in 1..=9 {
        let recorded = compare(&program, turns, mpi, ranks);
        // A window of several ranks needs several, where Open MPI makes it in another way.
        assert_eq!(recorded.len(), functions - usize::from(ranks == 1), "{mpi:?} on {ranks} ranks");
        all.extend(recorded);
    }
    all
}

#[test]
fn drawn_operations_move_what_the_program_says() {
    compare_in_c(Mpi::OpenMpi, &[], "800", 149);
    let mut functions = compare_in_c(Mpi::Mpich, &[], "800", 181);
    // Large counts Open MPI 4.1 does not have.
    functions.extend(compare_in_c(Mpi::Mpich, &["-DLARGE"], "500", 181));
    assert_eq!(functions.len(), 304, "{functions:?}");
}

/// Each binding on three numbers of ranks.
#[test]
fn they_do_in_fortran() {
    let files = ["draws.F90", "drawn.F90", "draw.c", "plan.c"].map(|file| format!("drawn/{file}"));
    for (mpi, functions, of_several_ranks) in [(Mpi::OpenMpi, 133, 17), (Mpi::Mpich, 137, 16)] {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        for (binding, name) in FORTRAN.iter().enumerate() {
            let program = folder.path().join(name);
            mpi.compile_fortran(&files.each_ref().map(String::as_str), binding, &program);
            for ranks in (1..=9).filter(|ranks| ranks % 3 == binding as u32) {
                // One rank has no window, and, under Open MPI, no types for neighbours.
                let expected = functions - if ranks == 1 { of_several_ranks } else { 0 };
                assert_eq!(
                    compare(&program, "400", mpi, ranks).len(),
                    expected,
                    "{name} under {mpi:?} on {ranks} ranks"
                );
            }
        }
    }
}
