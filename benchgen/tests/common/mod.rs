//! Compiles generated programs with the real MPI and runs them. A missing tool fails the test with what to install.

// Each test binary uses a part of this.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use benchgen::{Generated, Language, Point, Spec};

/// The compilers that generated programs must suit.
pub const COMPILERS: [(Language, &str); 6] = [
    (Language::Cpp, "g++"),
    (Language::Cpp, "clang++-19"),
    (Language::C, "gcc"),
    (Language::C, "clang-19"),
    (Language::Fortran, "gfortran"),
    (Language::Fortran, "flang-new-19"),
];

/// The compiler of GCC for a language.
pub fn gcc(language: Language) -> &'static str {
    COMPILERS.iter().find(|(l, _)| *l == language).expect("every language has compilers").1
}

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
        panic!("{:?}: {error}; install the packages that `scripts/setup test` names", command.get_program())
    })
}

/// Compiles a program, warnings being errors, with Open MPI's wrapper around `compiler`. `interposer` is C that is linked
/// in before MPI.
pub fn compile_with(
    source: &str,
    (language, compiler): (Language, &str),
    flags: &[&str],
    interposer: Option<&str>,
) -> Program {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write =
        |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("the folder is writable");
    let build = |command: &mut Command| {
        let compiled = output(command.current_dir(folder.path()));
        assert!(compiled.status.success(), "{compiler}: {}", String::from_utf8_lossy(&compiled.stderr));
        let said = String::from_utf8_lossy(&compiled.stderr).into_owned();
        assert!(!said.contains("warning:"), "{compiler}: {said}");
    };
    let name = format!("program.{}", language.extension());
    write(&name, source);
    let (wrapper, variable, own) = match language {
        Language::Cpp => ("mpicxx.openmpi", "OMPI_CXX", &["-std=c++17", "-Wextra"][..]),
        Language::C => ("mpicc.openmpi", "OMPI_CC", &["-std=c11", "-Wextra"][..]),
        Language::Fortran if compiler.starts_with("flang") => ("mpifort.openmpi", "OMPI_FC", &[][..]),
        Language::Fortran => ("mpifort.openmpi", "OMPI_FC", &["-std=f2008", "-Wextra"][..]),
    };
    let mut command = Command::new(wrapper);
    command.env(variable, compiler).args(own).args(["-Wall", "-Werror"]).args(flags).args(["-o", "program", &name]);
    if let Some(text) = interposer {
        write("interposer.c", text);
        build(Command::new("mpicc.openmpi").args(["-O1", "-c", "interposer.c"]));
        command.arg("interposer.o");
    }
    build(command.arg("-lm"));
    Program { binary: folder.path().join("program"), folder }
}

/// The same without an interposer.
pub fn compile(source: &str, compiler: (Language, &str), flags: &[&str]) -> Program {
    compile_with(source, compiler, flags, None)
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

/// The specification and its program in C++.
pub fn generated(text: &str) -> (Spec, Generated) {
    generated_in(text, Language::Cpp)
}

/// The specification and its program.
pub fn generated_in(text: &str, language: Language) -> (Spec, Generated) {
    let spec = Spec::parse(text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    let generated = benchgen::generate_in(&spec, language);
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
