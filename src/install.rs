//! Where the parts that measured programs use are: the pass, the runtime and the shim, and the compilers and launchers
//! of this machine.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};

/// The LLVM major version that the pass in this installation is built for.
pub const LLVM_MAJOR: u32 = 19;

/// File name of the LLVM pass plugin.
pub const PASS: &str = "libpoise_pass.so";
/// File name of the runtime that instrumented programs link.
pub const RUNTIME: &str = "libpoise_runtime.so";
/// File name of the MPI interposition library.
pub const SHIM: &str = "libpoise_mpi.so";
/// File name of the plugin for QEMU's user mode.
pub const EMULATION: &str = "libpoise_qemu.so";

/// Folders that may hold our libraries, in the order they are tried: `POISE_LIBDIR`, beside the program (a build tree),
/// `../lib/counterpoise` (an installation).
fn library_folders() -> Vec<PathBuf> {
    let from_environment = env::var_os("POISE_LIBDIR").map(PathBuf::from);
    let program = env::current_exe().and_then(|p| p.canonicalize()).ok();
    let beside = program.as_deref().and_then(Path::parent).map(Path::to_owned);
    let installed = beside.as_deref().and_then(Path::parent).map(|prefix| prefix.join("lib/counterpoise"));
    from_environment.into_iter().chain(beside).chain(installed).collect()
}

/// The path of one of our libraries.
///
/// # Errors
/// Names every folder that was tried where none has it.
pub fn library(name: &str) -> Result<PathBuf> {
    let folders = library_folders();
    folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file()).ok_or_else(|| {
        let tried: Vec<_> = folders.iter().map(|f| f.display().to_string()).collect();
        Error::Usage(format!(
            "{name} was not found in {}. Build it with `make`, or set POISE_LIBDIR to the folder that has it.",
            tried.join(", ")
        ))
    })
}

/// The first executable file called `name` in the folders of PATH, or `name` itself where it is a path.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let is_program = |path: &Path| {
        use std::os::unix::fs::PermissionsExt;
        path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|p| is_program(p));
    }
    let path = env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
    env::split_paths(&path).map(|folder| folder.join(name)).find(|p| is_program(p))
}

/// A program's output to `arguments`, both streams, or `None` where it cannot be started.
pub fn output_of(program: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// The LLVM major version of a clang or flang, by its own word.
pub fn llvm_major(compiler: &Path) -> Option<u32> {
    let text = output_of(compiler, &["--version"])?;
    let (_, version) = text.split_once("version ")?;
    version.split('.').next()?.parse().ok()
}

/// A language that the wrappers compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cxx,
    /// Fortran.
    Fortran,
}

impl Language {
    /// The environment variable that names the compiler behind the wrapper.
    pub fn variable(self) -> &'static str {
        match self {
            Self::C => "POISE_CC",
            Self::Cxx => "POISE_CXX",
            Self::Fortran => "POISE_FC",
        }
    }

    /// Names to look for, most specific first.
    fn candidates(self) -> [String; 2] {
        let (versioned, plain) = match self {
            Self::C => ("clang", "clang"),
            Self::Cxx => ("clang++", "clang++"),
            Self::Fortran => ("flang-new", "flang-new"),
        };
        [format!("{versioned}-{LLVM_MAJOR}"), plain.to_owned()]
    }
}

/// The compiler behind the wrapper for `language`: the one that its variable names, else the one of the pass's LLVM.
///
/// # Errors
/// None is there, or its LLVM is not the pass's.
pub fn compiler(language: Language) -> Result<PathBuf> {
    any_compiler(language).and_then(check_major)
}

/// As [`compiler`], of whatever LLVM; for calls that do not need the pass.
///
/// # Errors
/// None is there.
pub fn any_compiler(language: Language) -> Result<PathBuf> {
    if let Some(name) = env::var_os(language.variable()) {
        let name = name.to_string_lossy().into_owned();
        return find_program(&name)
            .ok_or_else(|| Error::Usage(format!("{} names {name}, which is not there.", language.variable())));
    }
    let candidates = language.candidates();
    match candidates.iter().find_map(|name| find_program(name)) {
        Some(path) => Ok(path),
        None => Err(Error::Usage(format!(
            "No LLVM {LLVM_MAJOR} compiler: neither {} nor {} is on the PATH. Install it (on Debian: apt install {}), \
             or name one with {}.",
            candidates[0],
            candidates[1],
            if language == Language::Fortran { "flang-19" } else { "clang-19" },
            language.variable()
        ))),
    }
}

fn check_major(compiler: PathBuf) -> Result<PathBuf> {
    match llvm_major(&compiler) {
        Some(LLVM_MAJOR) => Ok(compiler),
        Some(other) => Err(Error::Usage(format!(
            "{} is LLVM {other}, and the pass was built for LLVM {LLVM_MAJOR}. Install clang-{LLVM_MAJOR}.",
            compiler.display()
        ))),
        None => Err(Error::Usage(format!(
            "{} does not say which LLVM it is; the pass needs LLVM {LLVM_MAJOR}.",
            compiler.display()
        ))),
    }
}

/// An MPI implementation's compiler wrapper and launcher for the same library.
#[derive(Clone, Debug)]
pub struct Mpi {
    /// `Open MPI` or `MPICH`.
    pub family: &'static str,
    /// What the launcher says of its version.
    pub version: String,
    /// C++ compiler wrapper.
    pub cxx: PathBuf,
    /// Launcher.
    pub launcher: PathBuf,
}

/// The Open MPI of this machine.
///
/// # Errors
/// Says what is missing.
pub fn open_mpi() -> Result<Mpi> {
    mpi("Open MPI", &["mpicxx.openmpi", "mpicxx"], &["mpirun.openmpi", "mpirun"], "Open MPI", "libopenmpi-dev")
}

/// The MPICH of this machine.
///
/// # Errors
/// Says what is missing.
pub fn mpich() -> Result<Mpi> {
    mpi("MPICH", &["mpicxx.mpich", "mpicxx"], &["mpiexec.mpich", "mpiexec"], "HYDRA", "libmpich-dev")
}

fn mpi(family: &'static str, cxx: &[&str], launchers: &[&str], mark: &str, package: &str) -> Result<Mpi> {
    let launcher = launchers.iter().filter_map(|name| find_program(name)).find_map(|path| {
        let said = output_of(&path, &["--version"])?;
        said.contains(mark).then(|| (path, first_version(&said)))
    });
    let cxx = cxx.iter().find_map(|name| find_program(name));
    match (launcher, cxx) {
        (Some((launcher, version)), Some(cxx)) => Ok(Mpi { family, version, cxx, launcher }),
        (launcher, _) => Err(Error::Usage(format!(
            "No {family}: its {} is not on the PATH. Install it (on Debian: apt install {package}).",
            if launcher.is_none() { "launcher (mpirun)" } else { "C++ compiler wrapper (mpicxx)" }
        ))),
    }
}

/// The first word that looks like a version number.
fn first_version(text: &str) -> String {
    let looks_right = |w: &&str| w.starts_with(|c: char| c.is_ascii_digit()) && w.contains('.');
    text.split_whitespace().find(looks_right).unwrap_or("of unknown version").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_real_banners() {
        assert_eq!(first_version("mpirun (Open MPI) 4.1.4\n\nReport bugs to http://x"), "4.1.4");
        assert_eq!(first_version("HYDRA build details:\n    Version:       4.0.2\n"), "4.0.2");
        assert_eq!(first_version("nothing here"), "of unknown version");
    }

    #[test]
    fn programs_are_found_on_the_path_and_by_path() {
        assert!(find_program("sh").is_some_and(|p| p.is_absolute()));
        assert_eq!(find_program("/bin/sh"), Some(PathBuf::from("/bin/sh")));
        assert_eq!(find_program("/etc/passwd"), None);
        assert_eq!(find_program("no-such-program-here"), None);
    }
}
