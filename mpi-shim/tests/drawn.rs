//! Operations with drawn counts, types, roots, peers and communicators: what the profile has of each function is what the programs in `programs/drawn` have worked out from
//! the blocks that go from rank to rank, and to and from memory and files.

mod common;

use common::{BOTH, Checked, Mode, Mpi, Run};

#[test]
fn drawn_operations_move_what_the_program_says() {
    for mpi in BOTH {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let program = mpi.compile("drawn", folder.path());
        for ranks in 1..=9 {
            let run = Run::compiled(&program, &[&ranks.to_string(), "400"], mpi, ranks, Mode::Measured);
            let checked = Checked::of(&run, "drawn", mpi, ranks);
            let functions = checked.expect_ledger(&run.stdout);
            // A window of several ranks needs several, and one way to read is left out under Open MPI.
            let left_out = usize::from(ranks == 1) + if mpi == Mpi::OpenMpi { 2 } else { 0 };
            assert_eq!(functions, 145 - left_out, "{}", run.stdout);
            // With MPI_Init, of which the program's ledger says nothing.
            let recorded = checked.profile.regions.iter().filter(|region| region.name.starts_with("MPI_")).count();
            assert_eq!(recorded, functions + 1, "{mpi:?} on {ranks} ranks");
        }
    }
}
