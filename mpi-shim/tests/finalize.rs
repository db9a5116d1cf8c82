//! The end of a run: what the program notices of it, and what happens where ranks are missing or are alone.

mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use poise_profile::Profile;

use common::{BOTH, Mode, Mpi, Run, preload};

/// A copied attribute would be deleted twice, which the C library answers with an abort.
#[test]
fn attributes_of_the_world_are_not_copied() {
    for mpi in BOTH {
        let bare = Run::of("attribute", mpi, 3, Mode::Bare);
        let run = Run::of("attribute", mpi, 3, Mode::Measured);
        assert_eq!((run.status, &run.stdout), (Some(0), &bare.stdout), "{mpi:?}: {}", run.stderr);
        assert_eq!(run.profile().ranks, 3);
    }
}

/// Rank `bare` of three runs without the library.
fn with_a_bare_rank(mpi: Mpi, bare: u32) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let profile = folder.path().join("run.poise");
    let program = mpi.compile("collectives", folder.path());
    let mut command = mpi.launcher(1);
    for rank in 0..3 {
        if rank > 0 {
            command.args([":", "-n", "1"]);
        }
        command.arg("env");
        if rank != bare {
            command.arg(format!("LD_PRELOAD={}", preload()));
            command.arg(format!("POISE_PROFILE={}", profile.display()));
        }
        command.arg("POISE_FINALIZE_SECONDS=2").arg(&program);
    }
    let start = Instant::now();
    let output = command.output().expect("timeout, from coreutils");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{mpi:?}, rank {bare}: {said}");
    assert!(start.elapsed() < Duration::from_secs(30));
    assert!(String::from_utf8_lossy(&output.stdout).contains("on 3 ranks"), "{said}");
    let lines: Vec<_> = said.lines().filter(|line| line.contains("poise:")).collect();
    assert_eq!(lines.len(), 1, "one line for all ranks: {said}");
    assert!(lines.iter().all(|line| line.contains("LD_PRELOAD and POISE_PROFILE must reach every rank")), "{said}");
    assert!(!profile.exists());
}

#[test]
fn a_rank_that_is_not_measured_ends_the_waiting() {
    for mpi in BOTH {
        with_a_bare_rank(mpi, 0);
        with_a_bare_rank(mpi, 1);
    }
}

/// Where some ranks measure waiting and others do not, the first wait for the others in MPI_Init, and all are in the profile.
#[test]
fn ranks_that_do_not_measure_waiting_are_measured_all_the_same() {
    for mpi in BOTH {
        for waiting in [[true, false, false], [false, true, true]] {
            let folder = tempfile::tempdir().expect("a folder for temporary files");
            let profile = folder.path().join("run.poise");
            let program = mpi.compile("left", folder.path());
            let mut command = mpi.one_by_one(3, (&program, &[]), &profile, |rank, command| {
                command.arg("POISE_FINALIZE_SECONDS=2");
                command.arg(format!("POISE_WAITING={}", u8::from(waiting[rank as usize])));
            });
            let output = command.output().expect("timeout, from coreutils");
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{mpi:?} {waiting:?}: {said}");
            assert!(said.contains("s in MPI_Init, so that waiting is not measured"), "{mpi:?} {waiting:?}: {said}");
            let read = Profile::decode(&std::fs::read(&profile).expect("a profile")).expect("a whole one");
            assert_eq!(read.ranks, 3, "{mpi:?} {waiting:?}: {said}");
        }
    }
}

/// A measured rank that comes later than the others wait: the run ends, and they agree that there is no profile. Then their
/// checkpoints stay.
#[test]
fn a_rank_that_comes_too_late_ends_as_well() {
    for mpi in BOTH {
        for (seconds, in_time) in [("1", false), ("20", true)] {
            let folder = tempfile::tempdir().expect("a folder for temporary files");
            let profile = folder.path().join("run.poise");
            let program = mpi.compile("late", folder.path());
            let mut command = mpi.launcher(3);
            command.arg("env").arg(format!("LD_PRELOAD={}", preload()));
            command.arg(format!("POISE_PROFILE={}", profile.display())).arg("POISE_CHECKPOINT=0.1");
            let output = command.arg(format!("POISE_FINALIZE_SECONDS={seconds}")).arg(program).output();
            let output = output.expect("timeout, from coreutils");
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{mpi:?}: {said}");
            assert_eq!(String::from_utf8_lossy(&output.stdout).matches("leaves").count(), 3, "{said}");
            assert_eq!((profile.exists(), !said.contains("poise:")), (in_time, in_time), "{mpi:?}: {said}");
            // What the ranks had measured stays, until it is in a profile.
            let checkpoints = (0..3).filter(|rank| folder.path().join(format!("run.poise.checkpoint.{rank}")).exists());
            assert_eq!(checkpoints.count(), if in_time { 0 } else { 3 }, "{mpi:?}: {said}");
        }
    }
}

/// Each of the ranks is alone, and the first says so.
#[test]
fn a_program_under_the_launcher_of_another_mpi_is_told_so() {
    for (launcher, program) in [(Mpi::OpenMpi, Mpi::Mpich), (Mpi::Mpich, Mpi::OpenMpi)] {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let profile = folder.path().join("run.poise");
        let program = program.compile("collectives", folder.path());
        let mut command = launcher.launcher(3);
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command.arg("env").arg(format!("LD_PRELOAD={}", preload()));
        command.arg(format!("POISE_PROFILE={}", profile.display()));
        let output = command.arg(program).output().expect("timeout, from coreutils");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{launcher:?}: {said}");
        let lines: Vec<_> = said.lines().filter(|line| line.contains("poise:")).collect();
        assert!(matches!(lines[..], [line] if line.contains("started 3 ranks")), "{launcher:?}: {said}");
        assert!(!profile.exists());
    }
}

/// A script that runs two MPI programs has a profile of the first, and a marker that says so.
#[test]
fn a_second_program_of_a_run_leaves_a_marker() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let profile = folder.path().join("run.poise");
    std::fs::write(&profile, "the first's").expect("writing a file");
    let marker = folder.path().join("run.poise.conflict");
    let run = Run::writing_to("collectives", Mpi::OpenMpi, 2, Mode::Measured, folder, profile.clone());
    assert_eq!(run.status, Some(0));
    let line = std::fs::read_to_string(marker).expect("the marker");
    assert!(run.stderr.contains(&format!("poise: {line}")), "{}", run.stderr);
    assert_eq!(std::fs::read(profile).expect("the first's"), b"the first's");
}

/// Runs a program that is to write its profile to where it cannot, from a folder with a file and a folder; what the library said, and what is in the folder then.
fn unwritable(program: &Path, mpi: Mpi, profile: &Path, folder: &Path) -> (Vec<String>, Vec<String>) {
    let mut command = mpi.launcher(2);
    command.arg("env").arg(format!("LD_PRELOAD={}", preload())).arg(format!("POISE_PROFILE={}", profile.display()));
    let output = command.arg(program).output().expect("timeout, from coreutils");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let lines = said.lines().filter(|line| line.contains("poise:")).map(str::to_owned).collect();
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let mut entries: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    entries.sort();
    (lines, entries)
}

/// That the profile cannot be written is told as MPI begins, in one line for the whole run, and nothing comes into being by the look.
#[test]
fn a_profile_that_cannot_be_written_is_told_at_the_beginning() {
    let programs = tempfile::tempdir().expect("a folder for temporary files");
    for mpi in BOTH {
        let [ends, unfinished] = ["attribute", "unfinished"].map(|name| mpi.compile(name, programs.path()));
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let [file, of_files] = ["file", "of files"].map(|name| folder.path().join(name));
        std::fs::write(&file, "the first's").expect("writing a file");
        std::fs::create_dir(&of_files).expect("a folder");
        let nowhere = folder.path().join("nowhere/run.poise");
        let cases = [
            (&*file, "there is a file already, which is kept; remove it or choose another path"),
            (&of_files, "there is a folder of this name; choose another path"),
            (&nowhere, "choose a path in a folder that is there and can be written to"),
            (Path::new("/proc/x"), "choose a path in a folder that is there and can be written to"),
        ];
        // A program that never comes to its end has no other occasion to say it.
        let (said, entries) = unwritable(&unfinished, mpi, &file, folder.path());
        assert_eq!(said.iter().filter(|line| line.contains(cases[0].1)).count(), 1, "{mpi:?}: {said:?}");
        assert_eq!(entries, ["file", "file.failed", "of files"], "{mpi:?}");
        // One that does says it once all the same, and leaves it for those who look for the profile.
        for (profile, words) in cases {
            let (said, _) = unwritable(&ends, mpi, profile, folder.path());
            assert!(matches!(&said[..], [line] if line.contains(words)), "{mpi:?}: {said:?}");
            let left = [("file", "file.conflict"), ("of files", "of files.failed")];
            if let Some((_, left)) = left.iter().find(|(name, _)| profile.ends_with(name)) {
                let left = std::fs::read_to_string(folder.path().join(left)).expect("the line");
                assert_eq!(said[0], format!("poise: {}", left.trim_end()));
            }
        }
        assert_eq!(std::fs::read(&file).expect("the first's"), b"the first's");
    }
}

/// Ranks that take turns on a thread have trees that go before it does: nothing may look at them afterwards, whatever the clock.
#[test]
fn ranks_on_one_thread_have_neither_bins_nor_checkpoints() {
    let environment = [("POISE_PHASES", "blocks"), ("POISE_CHECKPOINT", "0.001"), ("MALLOC_PERTURB_", "165")];
    let Some(run) = Run::simulated_with("parts", 6, &environment) else { return };
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let lines: Vec<_> = run.stderr.lines().filter(|line| line.contains("poise:")).collect();
    assert_eq!(lines.len(), 2, "{}", run.stderr);
    assert!(lines[0].contains("no bins are made") && lines[1].contains("no more checkpoints"), "{}", run.stderr);
    let profile = Profile::read(&run.profile_path).expect("a profile");
    assert_eq!(profile.ranks, 6);
    assert!(profile.phases.timelines.is_empty());
}
