//! Where the parts that measured programs use are: the pass, the runtime and the shim, and the compilers and launchers
//! of this machine.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};

/// What stands before the versions of LLVM in the pass plugin's file, which end with a semicolon.
const VERSIONS_MARK: &[u8] = b"poise-llvm-versions:";

/// File name of the LLVM pass plugin.
pub const PASS: &str = "libpoise_pass.so";
/// File name of the runtime that instrumented programs link.
pub const RUNTIME: &str = "libpoise_runtime.so";
/// File name of the runtime for static programs.
pub const STATIC_RUNTIME: &str = "libpoise_runtime.a";
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

/// The path of one of our libraries, which the loader is to load into a program.
///
/// # Errors
/// None is found, or the loader would take its path for several.
pub fn preloadable(name: &str) -> Result<PathBuf> {
    let path = library(name)?;
    if path.as_os_str().as_encoded_bytes().iter().any(|b| b.is_ascii_whitespace() || *b == b':') {
        return Err(Error::Usage(format!(
            "{} cannot be preloaded: the loader ends names at blanks and colons. Install under a path without them.",
            path.display()
        )));
    }
    Ok(path)
}

/// Whether there is an executable file.
pub fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// The first executable file called `name` in the folders of PATH, or `name` itself where it is a path.
pub fn find_program(name: &str) -> Option<PathBuf> {
    find_program_in(None, name)
}

/// The same where `path` is the list of folders, if there is one.
pub fn find_program_in(path: Option<&OsStr>, name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|p| is_program(p));
    }
    let path = path.map(OsStr::to_owned).or_else(|| env::var_os("PATH"));
    let path = path.unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
    env::split_paths(&path).map(|folder| folder.join(name)).find(|p| is_program(p))
}

/// The newest of LLVM's tools of this name.
pub fn llvm_tool(name: &str) -> Option<PathBuf> {
    let versions = (16..=25).rev().map(|version| format!("{name}-{version}"));
    versions.chain([name.to_owned()]).find_map(|name| find_program(&name))
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

    /// The compilers of this language by name, those of the LLVMs that the pass serves first, the newest before.
    fn candidates(self, served: &[String]) -> Vec<String> {
        let names: &[&str] = match self {
            Self::C => &["clang"],
            Self::Cxx => &["clang++"],
            Self::Fortran => &["flang-new", "flang"],
        };
        let majors = served.iter().map(|version| major(version));
        let versioned = majors.flat_map(|major| names.iter().map(move |name| format!("{name}-{major}")));
        versioned.chain(names.iter().map(|&name| name.to_owned())).collect()
    }

    /// The Debian package of this language's compiler of an LLVM.
    fn package(self, version: &str) -> String {
        format!("{}-{}", if self == Self::Fortran { "flang" } else { "clang" }, major(version))
    }
}

/// The first number of a version.
fn major(version: &str) -> &str {
    version.split('.').next().unwrap_or(version)
}

/// The versions of LLVM whose compilers the pass works in, newest first, by the pass's own word.
///
/// # Errors
/// The pass is not there, cannot be read, or does not say.
pub fn llvms() -> Result<Vec<String>> {
    let pass = library(PASS)?;
    let bytes = std::fs::read(&pass).map_err(|error| Error::Usage(format!("{}: {error}.", pass.display())))?;
    let start = bytes.windows(VERSIONS_MARK.len()).position(|window| window == VERSIONS_MARK);
    let text =
        start.map(|start| &bytes[start + VERSIONS_MARK.len()..]).and_then(|rest| rest.split(|&b| b == b';').next());
    match text.map(|text| String::from_utf8_lossy(text).split_whitespace().map(str::to_owned).collect::<Vec<_>>()) {
        Some(versions) if !versions.is_empty() => Ok(versions),
        _ => Err(Error::Usage(format!(
            "{} does not say which LLVMs it is for. Build it again with `make`.",
            pass.display()
        ))),
    }
}

/// The compiler behind the wrapper for `language`: the one that its variable names, else the newest of an LLVM that the
/// pass serves.
///
/// # Errors
/// None is there, or the pass does not serve its LLVM.
pub fn compiler(language: Language) -> Result<PathBuf> {
    let served = llvms()?;
    if env::var_os(language.variable()).is_some() {
        return any_compiler(language).and_then(|compiler| check(language, compiler, &served));
    }
    let found: Vec<PathBuf> = language.candidates(&served).iter().filter_map(|name| find_program(name)).collect();
    match found.iter().find(|compiler| serves(&served, llvm_major(compiler))) {
        Some(compiler) => Ok(compiler.clone()),
        None => check(language, found.into_iter().next().ok_or_else(|| none(language, &served))?, &served),
    }
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
    let served = llvms().unwrap_or_default();
    language.candidates(&served).iter().find_map(|name| find_program(name)).ok_or_else(|| none(language, &served))
}

fn none(language: Language, served: &[String]) -> Error {
    let advice =
        served.first().map_or_else(String::new, |v| format!(" (on Debian: apt install {})", language.package(v)));
    Error::Usage(format!(
        "No LLVM compiler: none of {} is on the PATH. Install one{advice}, or name one with {}.",
        language.candidates(served).join(", "),
        language.variable()
    ))
}

fn serves(served: &[String], llvm: Option<u32>) -> bool {
    llvm.is_some_and(|llvm| served.iter().any(|version| major(version) == llvm.to_string()))
}

/// Gives `compiler` back where the pass serves its LLVM.
fn check(language: Language, compiler: PathBuf, served: &[String]) -> Result<PathBuf> {
    let llvm = llvm_major(&compiler);
    if serves(served, llvm) {
        return Ok(compiler);
    }
    let what = llvm.map_or("does not say which LLVM it is".to_owned(), |llvm| format!("is LLVM {llvm}"));
    let packages: Vec<String> = served.iter().map(|version| language.package(version)).collect();
    let rebuild = llvm.filter(|&llvm| llvm > 15).map_or_else(String::new, |llvm| {
        format!(", or install llvm-{llvm}-dev and build Counterpoise again (`cargo clean -p poise-pass`, `make`)")
    });
    Err(Error::Usage(format!(
        "{} {what}, and the pass was built for LLVM {}. Name one of these with {} (on Debian: apt install {}){rebuild}.",
        compiler.display(),
        served.join(", "),
        language.variable(),
        packages.join(" or "),
    )))
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
