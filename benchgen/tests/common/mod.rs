//! Compiles generated programs with the real MPI and runs them. A missing tool fails the test with what to install.

// Each test binary uses a part of this.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use benchgen::{Generated, Point, Spec};

/// The C++ compilers that generated programs must suit.
pub const COMPILERS: [&str; 2] = ["g++", "clang++-19"];

/// A specification with every operation, element type, arrangement and MPI operation.
pub const EVERYTHING: &str = include_str!("../specs/everything.toml");

/// A program in a folder of its own.
pub struct Program {
    pub folder: tempfile::TempDir,
    pub binary: PathBuf,
}

/// Runs a command and gives its output; panics where it cannot be started.
pub fn output(command: &mut Command) -> Output {
    let run = command.output();
    run.unwrap_or_else(|error| {
        panic!("{:?}: {error}; install libopenmpi-dev, openmpi-bin, g++ and clang-19", command.get_program())
    })
}

/// Compiles C++ sources with Open MPI's wrapper around `compiler`, warnings being errors.
pub fn compile(sources: &[(&str, &str)], compiler: &str, flags: &[&str]) -> Program {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in sources {
        std::fs::write(folder.path().join(name), text).expect("the folder is writable");
    }
    let mut command = Command::new("mpicxx.openmpi");
    command.current_dir(folder.path()).env("OMPI_CXX", compiler);
    command.args(["-std=c++17", "-Wall", "-Wextra", "-Werror"]).args(flags).args(["-o", "program"]);
    command.args(sources.iter().map(|(name, _)| *name));
    let compiled = output(&mut command);
    assert!(compiled.status.success(), "{compiler}: {}", String::from_utf8_lossy(&compiled.stderr));
    Program { binary: folder.path().join("program"), folder }
}

/// Runs a program on `ranks` ranks.
pub fn run(program: &Program, ranks: u32, arguments: &[&str]) -> Output {
    run_with(program, ranks, arguments, &[])
}

/// The same with more variables in its environment.
pub fn run_with(program: &Program, ranks: u32, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new("mpirun.openmpi");
    command
        .envs(environment.iter().copied())
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.current_dir(program.folder.path()).args(["--oversubscribe", "-n", &ranks.to_string()]);
    // A program that hangs is a failure too.
    command.args(["--timeout", "120"]);
    output(command.arg(&program.binary).args(arguments))
}

/// Asserts that a run ended well and gives its standard output.
pub fn standard_output(run: Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{}\n{out}\n{err}", run.status);
    out.into_owned()
}

/// The specification and its program.
pub fn generated(text: &str) -> (Spec, Generated) {
    let spec = Spec::parse(text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    let generated = benchgen::generate(&spec);
    (spec, generated)
}

/// p and n as a point.
pub fn point(p: u32, n: u32) -> Point {
    Point::from([("p".to_owned(), f64::from(p)), ("n".to_owned(), f64::from(n))])
}

/// The text of a file in a program's folder.
pub fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}
