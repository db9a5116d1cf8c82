//! MPI that comes late, with a library that a program opens which is not linked with MPI itself.

mod common;

use std::path::Path;
use std::process::Command;

use common::{BOTH, Mode, Mpi, compile_plainly, preload};
use poise_profile::{Metric, Profile};

const RANKS: u32 = 3;

/// What the ranks print, and what is said on standard error by this product.
fn run(mpi: Mpi, how: &str, mode: Mode, profile: &Path) -> (Vec<String>, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let program = folder.path().join("opened");
    compile_plainly(Command::new("cc").arg("-pthread"), "opened", &program);
    let library = mpi.compile_library("library", folder.path());
    let mut command = mpi.launcher(RANKS);
    command.current_dir(folder.path()).env_remove("POISE_PROFILE").arg("env");
    if mode != Mode::Bare {
        command.arg(format!("LD_PRELOAD={}", preload())).arg(format!("POISE_PROFILE={}", profile.display()));
    }
    let output = command.arg(&program).arg(&library).arg(how).output().expect("timeout, from coreutils");
    let [printed, said] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{mpi:?}, {how}, {mode:?}: {printed}{said}");
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    (lines(&printed), lines(&said).into_iter().filter(|line| line.contains("poise:")).collect())
}

/// The path to an operation, with its visits and what it has sent.
fn at(profile: &Profile, operation: &str) -> (Vec<String>, u128, u128) {
    let path = |node: u32| -> Vec<String> {
        profile.path(node).expect("a path for each node").iter().map(|region| region.name.clone()).collect()
    };
    let nodes = 0..profile.nodes.len() as u32;
    let node = nodes.into_iter().find(|&node| path(node).last().is_some_and(|name| name == operation));
    let node = node.unwrap_or_else(|| panic!("{operation} is not in the profile"));
    let sum = |metric| profile.values.get(&(node, metric)).map_or(0, |value| value.sum);
    (path(node), sum(Metric::Visits), sum(Metric::BytesSent))
}

#[test]
fn a_library_that_is_opened_late_may_begin_mpi() {
    for mpi in BOTH {
        for how in ["local", "global", "thread", "closed", "destructor"] {
            let folder = tempfile::tempdir().expect("a folder for temporary files");
            let path = folder.path().join("run.poise");
            let (printed, _) = run(mpi, how, Mode::Bare, &path);
            // Of three ranks: twice the sum of 20 and once that of 1, and their number.
            let line = format!("begins: 0, computes: 126, ends: 0, closed: {}", u8::from(how == "closed"));
            assert_eq!(printed, [&line[..]; RANKS as usize], "{mpi:?}, {how}");
            let measured = run(mpi, how, Mode::Measured, &path);
            assert_eq!(measured, (printed, vec![]), "{mpi:?}, {how}");
            let names =
                std::fs::read_dir(folder.path()).expect("a folder").map(|entry| entry.expect("an entry").file_name());
            assert_eq!(names.collect::<Vec<_>>(), ["run.poise"], "{mpi:?}, {how}");
            let profile = Profile::read(&path).expect("a profile");
            assert_eq!(profile.ranks, RANKS);
            let (callers, calls, sent) = at(&profile, "MPI_Allreduce");
            let thread = ["use", "call", "use_compute", "MPI_Allreduce"];
            assert_eq!(callers[usize::from(how != "thread")..], thread, "{mpi:?}, {how}");
            assert_eq!((calls, sent), (RANKS.into(), (8 * RANKS).into()), "{mpi:?}, {how}");
            assert_eq!(at(&profile, "MPI_Init").1, RANKS.into(), "{mpi:?}, {how}");
        }
    }
}
