//! What end-to-end tests share: a folder of their own, a scrubbed environment, the built program and its outcome.

// Each test file is a crate of its own and uses a part of this.
#![allow(dead_code)]

use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A test's own folder and the environment that its commands see.
pub struct World {
    folder: tempfile::TempDir,
    environment: Vec<(String, String)>,
}

/// What a command left.
pub struct Outcome {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl World {
    pub fn new() -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_poise"));
        let path = std::env::var("PATH").unwrap_or_default();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let environment = [
            ("PATH", format!("{}:{path}", program.parent().expect("a folder").display())),
            ("HOME", folder.path().display().to_string()),
            ("LANG", "C.UTF-8".to_owned()),
            // Containers run as root, which Open MPI refuses unless told that this is meant.
            ("OMPI_ALLOW_RUN_AS_ROOT", "1".to_owned()),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1".to_owned()),
        ];
        Self { folder, environment: environment.map(|(name, value)| (name.to_owned(), value)).to_vec() }
    }

    /// Sets a variable for all later commands.
    pub fn set(&mut self, name: &str, value: &str) {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).expect("the test's folder is writable");
        path
    }

    pub fn read(&self, name: &str) -> String {
        let path = self.path(name);
        std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    pub fn json(&self, name: &str) -> serde_json::Value {
        serde_json::from_str(&self.read(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Names in a folder, sorted; a missing folder has none.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(folder)).into_iter().flatten();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Any program, in the test's folder and environment, not started yet.
    pub fn command<S: AsRef<OsStr>>(&self, program: &str, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.folder.path()).env_clear();
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let heed = || {
            // SAFETY: the call takes a number and a constant, and may be made between fork and exec.
            unsafe { libc::signal(libc::SIGHUP, libc::SIG_DFL) };
            Ok(())
        };
        // SAFETY: the closure makes a system call alone. Tests that nohup starts would ignore the signal.
        unsafe { command.pre_exec(heed) };
        command
    }

    /// Runs `poise` to its end.
    pub fn poise<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Outcome {
        outcome(self.command(env!("CARGO_BIN_EXE_poise"), arguments).output().expect("poise starts"))
    }

    /// Compiles one of `tests/programs` with the given wrapper of ours, under an MPI compiler wrapper or alone.
    pub fn compile(&self, compiler: &str, source: &str, target: &str) {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
        let poise = env!("CARGO_BIN_EXE_poise");
        let mut command = self.command(compiler, [source.as_os_str(), OsStr::new("-o"), OsStr::new(target)]);
        command.env("OMPI_CC", format!("{poise} cc")).env("MPICH_CC", format!("{poise} cc")).arg("-O2");
        let built = outcome(command.output().unwrap_or_else(|e| panic!("{compiler}: {e}; `make setup` installs it")));
        assert_eq!(built.status, Some(0), "{}", built.stderr);
    }
}

/// A finished process as text.
pub fn outcome(output: Output) -> Outcome {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    Outcome { status: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

impl Outcome {
    /// Asserts the exit status, showing what was said instead.
    #[track_caller]
    pub fn status(self, expected: i32) -> Self {
        assert_eq!(self.status, Some(expected), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }
}

/// Whether SimGrid's SMPI is here; says so where it is not.
pub fn has_smpi() -> bool {
    let found = ["smpirun", "smpicc", "smpicxx"].iter().all(|name| Path::new("/usr/bin").join(name).is_file());
    if !found {
        eprintln!("skipped: SimGrid's SMPI is not installed (on Debian: apt install libsimgrid-dev)");
    }
    found
}

/// Whether this is Linux 6.15 or later.
pub fn kernel_tells_how_processes_ended() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split('.').map_while(|part| part.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(15))
}
