//! What programs notice of the library: nothing, unless it is asked to measure; and then nothing but a file.

mod common;

use std::collections::BTreeSet;

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
        let of_files =
            ["seek", "seek_shared", "set_size"].into_iter().chain(READS.map(|(name, ..)| name)).chain(expected);
        let expected: BTreeSet<_> = of_files.map(|name| format!("MPI_File_{name}")).collect();
        let others = ["MPI_Init", "files", "reads", "short"].map(str::to_owned);
        assert_eq!(names, Vec::from_iter(expected.into_iter().chain(others).collect::<BTreeSet<_>>()), "{mpi:?}");
    }
}

/// What reads in `programs/files.c`, and how many ints.
const READS: [(&str, u64); 10] = [
    ("read_at", 11),
    ("read_at_all", 12),
    ("read_at_all_begin", 0),
    ("read_at_all_end", 13),
    ("read", 14),
    ("read_all", 15),
    ("read_all_begin", 0),
    ("read_all_end", 16),
    ("read_ordered", 17),
    ("read_shared", 19),
];

/// MPI's file layer leaves a part of the program's status as it was.
#[test]
fn reads_count_what_was_read_into_any_status() {
    for mpi in BOTH {
        for mode in [Mode::Measured, Mode::Waiting] {
            let run = Checked::of(&Run::of("files", mpi, 3, mode), "files", mpi, 3);
            for (name, ints) in READS {
                run.expect(&["files", "reads", &format!("MPI_File_{name}")], |_| one(0, 4 * ints, 0));
            }
            run.expect(&["files", "short", "MPI_File_read_at"], |_| one(0, 40 - 12, 0));
        }
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

/// What `poise run` tells ranks that wait for each other for ever by. A call's begin and end count one each.
#[test]
fn a_process_says_whether_it_is_within_a_call() {
    let told = "before: outside 0\nlevel: less\nafter: outside 0\nsend: within 1\nbarrier: outside 4\nfile: outside 4\nend: outside 6\n";
    let silent =
        "before: outside 0\nlevel: multiple\nafter: silent\nsend: silent\nbarrier: silent\nfile: silent\nend: silent\n";
    for mpi in BOTH {
        for (argument, expected) in [("single", told), ("serialized", told), ("multiple", silent)] {
            let run = Run::with("calls", &[argument], mpi, 1, Mode::Measured);
            assert_eq!(run.stdout, expected, "{mpi:?}, {argument}: {}", run.stderr);
        }
    }
    let session = Run::with("calls", &["session"], Mpi::Mpich, 1, Mode::Measured);
    assert_eq!(session.stdout, "before: outside 0\nsession: silent\n", "{}", session.stderr);
}

/// A user may have MPI begin with another level than the program asks for.
#[test]
fn threads_that_mpis_own_settings_allow_are_known() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let program = Mpi::OpenMpi.compile("calls", folder.path());
    let mut command = Mpi::OpenMpi.launcher(1);
    command.arg("env").arg(format!("LD_PRELOAD={}", common::preload())).arg("OMPI_MPI_THREAD_LEVEL=3");
    command.arg(format!("POISE_PROFILE={}", folder.path().join("run.poise").display())).arg(program);
    let said = String::from_utf8(command.output().expect("timeout, from coreutils").stdout).expect("text");
    assert!(said.contains("level: multiple\nafter: silent\n"), "{said}");
}
