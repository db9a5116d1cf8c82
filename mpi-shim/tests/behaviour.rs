//! What programs notice of the library: nothing, unless it is asked to measure; and then nothing but a file.

mod common;

use common::{BOTH, Checked, Mode, Mpi, Run, one};

/// Standard output must be the same in all modes. It holds checksums of everything that MPI delivered.
#[test]
fn results_are_the_same_with_and_without() {
    for mpi in BOTH {
        for program in ["collectives", "messages"] {
            let bare = Run::of(program, mpi, 3, Mode::Bare);
            assert!(bare.stdout.contains("on 3 ranks"), "{}", bare.stderr);
            for mode in [Mode::Inert, Mode::Measured, Mode::Waiting] {
                let run = Run::of(program, mpi, 3, mode);
                assert_eq!((run.status, &run.stdout, &run.stderr), (bare.status, &bare.stdout, &bare.stderr));
            }
        }
    }
}

#[test]
fn without_poise_profile_there_is_no_file() {
    for mpi in BOTH {
        let run = Run::of("collectives", mpi, 2, Mode::Inert);
        assert_eq!(run.status, Some(0));
        let folder = run.profile_path.parent().expect("a folder");
        let names: Vec<_> =
            std::fs::read_dir(folder).expect("a folder").map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["collectives"], "only the program itself");
    }
}

#[test]
fn the_profile_says_where_it_is_from() {
    for (mpi, library) in [(Mpi::OpenMpi, "Open MPI v4"), (Mpi::Mpich, "MPICH Version")] {
        let run = Checked::new("collectives", mpi, 3);
        assert_eq!(run.profile.metadata["ranks"], "3");
        let text = &run.profile.metadata["mpi_library"];
        assert!(text.starts_with(library) && !text.contains('\n'), "{text:?}");
    }
}

#[test]
fn an_exception_through_mpi_leaves_the_call() {
    for mpi in BOTH {
        assert_eq!(Run::of("throwing", mpi, 2, Mode::Measured).stdout, "caught 7\n");
        let run = Checked::new("throwing", mpi, 2);
        run.expect(&["MPI_Send"], |_| one(0, 0, 0));
        run.expect(&["MPI_Bcast"], |r| one(if r == 0 { 8 } else { 0 }, 4, 2));
    }
}

/// MPI's file layer communicates by MPI's own functions; none of those calls is the program's.
#[test]
fn calls_within_mpi_are_not_counted() {
    for mpi in BOTH {
        let run = Checked::new("files", mpi, 3);
        let names: Vec<_> = run.profile.regions.iter().map(|region| region.name.as_str()).collect();
        let expected = ["open", "write_at_all", "sync", "read_at_all", "write_ordered", "close"];
        let mut expected: Vec<_> = expected.iter().map(|name| format!("MPI_File_{name}")).collect();
        expected.extend(["MPI_Init".to_string(), "files".to_string()]);
        expected.sort_unstable();
        assert_eq!(names, expected, "{mpi:?}");
    }
}

/// All but times are equal over runs.
#[test]
fn two_runs_count_the_same() {
    for mpi in BOTH {
        let counts = || {
            let mut profile = Checked::new("collectives", mpi, 5).profile;
            profile.values.retain(|&(_, metric), _| metric != poise_profile::Metric::Time);
            (profile.regions, profile.nodes, profile.values)
        };
        assert_eq!(counts(), counts());
    }
}

#[test]
fn a_profile_that_cannot_be_written_is_one_line_and_no_failure() {
    for mpi in BOTH {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let path = folder.path().join("missing").join("run.poise");
        let run = Run::writing_to("collectives", mpi, 3, Mode::Measured, folder, path);
        assert_eq!(run.status, Some(0));
        let lines: Vec<_> = run.stderr.lines().filter(|line| line.contains("poise:")).collect();
        assert!(matches!(lines[..], [line] if line.contains("missing")), "{:?}", run.stderr);
    }
}

/// Each rank that leaves so says it in one line.
#[test]
fn a_program_without_finalize_leaves_a_line_and_no_file() {
    for mpi in BOTH {
        let run = Run::of("unfinished", mpi, 1, Mode::Measured);
        assert!(run.stdout.contains("rank 0 leaves"), "{}", run.stderr);
        let lines = run.stderr.lines().filter(|line| line.contains("MPI_Finalize was never reached")).count();
        assert_eq!(lines, 1, "{}", run.stderr);
        assert!(!run.profile_path.exists());
    }
}
