//! Operations with drawn counts, types, roots, peers and communicators: what the profile has of each function is what the programs in `programs/drawn` have worked out from
//! the blocks that go from rank to rank, and to and from memory and files.

mod common;
#[path = "../src/table/mod.rs"]
mod table;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use common::{Checked, FORTRAN, Mode, Mpi, Run, reasons};
use table::{added, collective, environment, large_counts, one_sided, persistent, point_to_point};

/// Functions by name.
type Functions = BTreeSet<String>;

/// Compares the profile of a program, which has run with so many drawn operations, with what its ranks have written; the seed is the number of ranks. Returns the functions.
fn compare(program: &Path, turns: &str, mpi: Mpi, ranks: u32) -> Functions {
    let run = Run::compiled(program, &[&ranks.to_string(), turns], mpi, ranks, Mode::Measured);
    let checked = Checked::of(&run, "drawn", mpi, ranks);
    let ledgers = ledgers(&run);
    assert_eq!(ledgers.len(), ranks as usize, "{}", run.stderr);
    let compared = checked.expect_ledger(&ledgers.concat());
    let names = checked.profile.regions.iter().map(|region| region.name.as_str());
    // A program's ledger says nothing of MPI_Init, before which it has none.
    let recorded: Functions =
        names.filter(|&name| name.starts_with("MPI_") && name != "MPI_Init").map(str::to_owned).collect();
    assert_eq!(recorded.len(), compared, "{mpi:?} on {ranks} ranks: {ledgers:?}");
    recorded
}

/// What each rank has written in the run's folder.
fn ledgers(run: &Run) -> Vec<String> {
    let folder = run.profile_path.parent().expect("the run's folder");
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let is_ledger = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ledger-"));
    entries.filter(is_ledger).map(|path| std::fs::read_to_string(path).expect("a ledger")).collect()
}

/// Runs the program in C on 1 to 9 ranks, with as many functions on each number of them but a single rank. Returns the functions.
fn compare_in_c(mpi: Mpi, options: &[&str], turns: &str, [functions, alone]: [usize; 2]) -> Functions {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let program = mpi.compile_with("drawn", options, folder.path());
    let mut all = Functions::new();
    for ranks in 1..=9 {
        let recorded = compare(&program, turns, mpi, ranks);
        let expected = if ranks == 1 { alone } else { functions };
        assert_eq!(recorded.len(), expected, "{mpi:?} on {ranks} ranks");
        all.extend(recorded);
    }
    all
}

#[test]
fn drawn_operations_move_what_the_program_says() {
    expect_all(Mpi::OpenMpi, "C", &compare_in_c(Mpi::OpenMpi, &[], "1000", [173, 168]));
    let mut functions = compare_in_c(Mpi::Mpich, &[], "1000", [210, 204]);
    // Large counts Open MPI 4.1 does not have.
    functions.extend(compare_in_c(Mpi::Mpich, &["-DLARGE"], "750", [210, 204]));
    assert_eq!(functions.len(), 334, "{functions:?}");
    expect_all(Mpi::Mpich, "C", &functions);
}

/// Files of the program in Fortran; a module stands before those that use it.
const IN_FORTRAN: [&str; 11] = [
    "drawn/draws.F90",
    "drawn/shared.F90",
    "drawn/messages.F90",
    "drawn/collectives.F90",
    "drawn/windows.F90",
    "drawn/files.F90",
    "drawn/neighbourhoods.F90",
    "drawn/communicators.F90",
    "drawn/main.F90",
    "drawn/draw.c",
    "drawn/plan.c",
];

/// Runs the program in Fortran, with one of the bindings, on three numbers of ranks, with as many functions on each of them but a single rank. Returns the functions.
fn compare_in_fortran(mpi: Mpi, binding: usize, options: &[&str], [functions, alone]: [usize; 2]) -> Functions {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let program = folder.path().join("drawn");
    mpi.compile_fortran(&IN_FORTRAN, binding, options, &program);
    let mut all = Functions::new();
    for ranks in (1..=9).filter(|ranks| ranks % 3 == binding as u32) {
        let recorded = compare(&program, "280", mpi, ranks);
        let expected = if ranks == 1 { alone } else { functions };
        assert_eq!(recorded.len(), expected, "{} under {mpi:?} on {ranks} ranks", FORTRAN[binding]);
        all.extend(recorded);
    }
    all
}

macro_rules! names {
    ($($name:ident($($argument:ident: $kind:ident),*) => $rule:ident $fields:tt;)*) => {
        vec![$(concat!("MPI_", stringify!($name))),*]
    };
}

/// All that the library wraps and this MPI has is called in this language, or listed with a reason.
fn expect_all(mpi: Mpi, language: &str, called: &Functions) {
    let both = [point_to_point!(names), collective!(names), one_sided!(names), environment!(names)];
    let later = [large_counts!(names), persistent!(names), added!(names)];
    let later = later.into_iter().filter(|_| mpi == Mpi::Mpich);
    let wrapped = both.into_iter().chain(later).flatten().map(str::to_owned).collect::<Functions>();
    let reasons = reasons(include_str!("undrawn.txt"));
    let here = format!("{mpi:?}");
    let is_of_other = |reason: &str| {
        let of = reason.split(": ").next().unwrap_or_default().split(", ");
        of.filter(|of| ["OpenMpi", "Mpich", "C", "Fortran"].contains(of)).any(|of| ![&*here, language].contains(&of))
    };
    let listed = reasons.into_iter().filter(|(_, reason)| !is_of_other(reason)).map(|(name, _)| name).collect();
    let uncalled: Functions = wrapped.difference(called).cloned().collect();
    assert_eq!(uncalled, listed, "not called under {mpi:?} in {language}, and listed with a reason");
}

/// Of a single rank there are no two groups, and under Open MPI no windows of the program's own memory and no types for neighbours.
#[test]
fn they_do_in_fortran() {
    for (mpi, functions) in [(Mpi::OpenMpi, [171, 166]), (Mpi::Mpich, [210, 207])] {
        let mut called = Functions::new();
        for binding in 0..FORTRAN.len() {
            called.extend(compare_in_fortran(mpi, binding, &[], functions));
        }
        if mpi == Mpi::Mpich {
            // mpi_f08 alone has large counts.
            called.extend(compare_in_fortran(mpi, 2, &["-DLARGE"], functions));
            assert_eq!(called.len(), 306, "{called:?}");
        }
        expect_all(mpi, "Fortran", &called);
    }
}
