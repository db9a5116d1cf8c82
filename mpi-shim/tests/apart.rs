//! Two MPI libraries in one process, each in a scope of its own, as plugins that were built with different ones bring them.

mod common;

use std::path::Path;
use std::process::Command;

use common::{BOTH, Mode, Mpi, compile_plainly, preload};
use poise_profile::Profile;

/// What a process says and leaves that opens the libraries in this order.
fn run(order: [Mpi; 2], how: &str, mode: Mode) -> (String, Vec<String>, Option<Profile>) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let (program, profile) = (folder.path().join("apart"), folder.path().join("run.poise"));
    compile_plainly(&mut Command::new("cc"), "apart", &program);
    let libraries = order.map(|mpi| mpi.compile_library("library", folder.path()));
    let mut command = Command::new("timeout");
    command.args(["60", "env"]).current_dir(folder.path());
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1").env_remove("POISE_PROFILE");
    if mode != Mode::Bare {
        command.arg(format!("LD_PRELOAD={}", preload()));
    }
    if mode == Mode::Measured {
        command.arg(format!("POISE_PROFILE={}", profile.display())).arg("POISE_STACK=off");
    }
    let output = command.arg(&program).arg(how).args(libraries).output().expect("timeout, from coreutils");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{order:?}, {how}, {mode:?}: {said}");
    let lines = said.lines().filter(|line| line.contains("poise:")).map(str::to_owned).collect();
    (String::from_utf8_lossy(&output.stdout).into_owned(), lines, read(&profile))
}

fn read(profile: &Path) -> Option<Profile> {
    profile.exists().then(|| Profile::read(profile).expect("a profile"))
}

const ORDERS: [[Mpi; 2]; 2] = [BOTH, [Mpi::Mpich, Mpi::OpenMpi]];

/// 42 is what the library's collective operation and message to itself come to.
const TOGETHER: &str = "1 begins: 0\n2 begins: 0\n1 computes: 42\n1 ends: 0\n2 computes: 42\n2 ends: 0\n";
const SUCCESSIVE: &str = "1 begins: 0\n1 computes: 42\n1 ends: 0\n2 begins: 0\n2 computes: 42\n2 ends: 0\n";

#[test]
fn calls_reach_the_library_of_their_caller() {
    for order in ORDERS {
        for mode in [Mode::Bare, Mode::Inert, Mode::Measured] {
            let (out, lines, profile) = run(order, "together", mode);
            assert_eq!(out, TOGETHER, "{order:?}, {mode:?}");
            assert!(profile.is_none());
            match (mode, &lines[..]) {
                (Mode::Measured, [line]) => assert!(line.contains("two MPI libraries are in this process"), "{line}"),
                (_, lines) => assert!(mode != Mode::Measured && lines.is_empty(), "{mode:?}: {lines:?}"),
            }
        }
    }
}

/// What the first did is whole when the second is loaded. In this order alone: of what is loaded after Open MPI has begun, that is the MPI.
#[test]
fn of_two_in_succession_the_first_is_measured() {
    let order = [Mpi::Mpich, Mpi::OpenMpi];
    for mode in [Mode::Bare, Mode::Inert] {
        assert_eq!(run(order, "successive", mode), (SUCCESSIVE.into(), vec![], None), "{mode:?}");
    }
    let (out, lines, profile) = run(order, "successive", Mode::Measured);
    assert_eq!(out, SUCCESSIVE);
    assert!(matches!(&lines[..], [line] if line.contains("a second MPI library begins")), "{lines:?}");
    let profile = profile.expect("the profile of the first");
    let sends = profile.regions.iter().filter(|region| region.name == "MPI_Sendrecv").count();
    let sent = profile.values.iter().filter(|((_, metric), _)| *metric == poise_profile::Metric::BytesSent);
    // The allreduce of two ints and the message of one.
    assert_eq!((sends, sent.map(|(_, value)| value.sum).sum::<u128>()), (1, 8 + 4));
}
