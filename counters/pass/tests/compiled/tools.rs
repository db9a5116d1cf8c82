//! Compiles and runs programs, instrumented by the pass or by LLVM's SanitizerCoverage.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use poise_profile::{Metric, Profile};

/// Counts calls that SanitizerCoverage puts into every basic block, in all threads, and tells their number at the end.
const COVERAGE: &str = r#"
#include <stdatomic.h>
#include <stdio.h>
static atomic_ulong blocks;
void __sanitizer_cov_trace_pc(void) { atomic_fetch_add_explicit(&blocks, 1, memory_order_relaxed); }
__attribute__((destructor)) static void tell(void) { fprintf(stderr, "%lu\n", (unsigned long)blocks); }
"#;

/// Folder for one test's files.
pub struct Bench {
    folder: tempfile::TempDir,
    llvm: u32,
}

/// The LLVM versions that everything must work with; the first is the default.
pub const LLVMS: [u32; 2] = [19, 16];

/// A program's source.
pub struct Source<'a> {
    pub text: &'a str,
    /// `c` or `cpp`.
    pub language: &'a str,
}

/// What a run gave.
pub struct Run {
    pub output: Output,
    pub profile: Option<Profile>,
}

impl Run {
    pub fn profile(&self) -> &Profile {
        let errors = String::from_utf8_lossy(&self.output.stderr);
        self.profile.as_ref().unwrap_or_else(|| panic!("the run wrote no profile: {errors}"))
    }
}

/// The folder with the libraries that cargo built for this test.
pub fn libraries() -> PathBuf {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    for library in ["libpoise_pass.so", "libpoise_runtime.so"] {
        assert!(folder.join(library).exists(), "cargo builds {library} into {}", folder.display());
    }
    folder
}

/// Runs `command`, which must succeed.
pub fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; is that LLVM installed?"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The sum of all block counts.
pub fn total(profile: &Profile) -> u128 {
    profile.values.iter().filter(|((_, metric), _)| *metric == Metric::BasicBlocks).map(|(_, v)| v.sum).sum()
}

/// The value of `metric` at the call path with these names.
pub fn at(profile: &Profile, path: &[&str], metric: Metric) -> Option<u128> {
    let node = (0..profile.nodes.len() as u32)
        .find(|&node| profile.path(node).unwrap().iter().map(|region| region.name.as_str()).eq(path.iter().copied()))?;
    profile.values.get(&(node, metric)).map(|value| value.sum)
}

impl Bench {
    pub fn new() -> Self {
        Self::of(LLVMS[0])
    }

    /// A bench whose compiler is that of one LLVM version.
    pub fn of(llvm: u32) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), llvm }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn compiler(&self, language: &str) -> Command {
        Command::new(format!("{}-{}", if language == "c" { "clang" } else { "clang++" }, self.llvm))
    }

    /// The source file, and the compiler to give it to.
    pub fn compile(&self, source: &Source<'_>, flags: &[&str]) -> Command {
        let mut command = self.compiler(source.language);
        command.args(flags).arg(self.file(source));
        command
    }

    fn file(&self, source: &Source<'_>) -> PathBuf {
        let file = self.path(&format!("program.{}", source.language));
        std::fs::write(&file, source.text).unwrap();
        file
    }

    /// The command that compiles the program instrumented by the pass, but for its output.
    pub fn counting(&self, source: &Source<'_>, flags: &[&str]) -> Command {
        let libraries = libraries();
        let folder = libraries.display();
        let mut command = self.compiler(source.language);
        // The runtime comes before the libraries in front of which it stands.
        command.arg(format!("-L{folder}")).arg("-lpoise_runtime").arg(format!("-Wl,-rpath,{folder}"));
        command.args(flags).arg(self.file(source));
        command.arg(format!("-fpass-plugin={folder}/libpoise_pass.so"));
        if !flags.contains(&"-g0") {
            command.arg("-gline-tables-only");
        }
        command
    }

    /// The program instrumented by the pass.
    pub fn counted(&self, source: &Source<'_>, flags: &[&str]) -> PathBuf {
        let program = self.path("counted");
        succeed(self.counting(source, flags).arg("-o").arg(&program));
        program
    }

    /// The program as it is without us.
    pub fn native(&self, source: &Source<'_>, flags: &[&str]) -> PathBuf {
        let program = self.path("native");
        succeed(self.compile(source, flags).arg("-o").arg(&program));
        program
    }

    /// The program with a call in every block by SanitizerCoverage, of the function in the C text `called`.
    pub fn traced(&self, source: &Source<'_>, flags: &[&str], called: &str) -> PathBuf {
        let (counter, object) = (self.path("coverage.c"), self.path("coverage.o"));
        std::fs::write(&counter, called).unwrap();
        succeed(self.compiler("c").arg("-O1").arg("-c").arg(counter).arg("-o").arg(&object));
        let mut command = self.compile(source, flags);
        command.arg("-fsanitize-coverage=bb,no-prune,trace-pc").args(["-mllvm", "-sanitizer-early-opt-ep=1"]);
        // By the driver's -c and link apart, so that the counter itself is not instrumented.
        let (program, compiled) = (self.path("covered"), self.path("covered.o"));
        succeed(command.arg("-c").arg("-o").arg(&compiled));
        succeed(self.compiler(source.language).args(flags).args([&compiled, &object]).arg("-o").arg(&program));
        program
    }

    /// The number of blocks that a run executes by SanitizerCoverage's count.
    pub fn covered(&self, source: &Source<'_>, flags: &[&str], arguments: &[&str]) -> u128 {
        let output = Command::new(self.traced(source, flags, COVERAGE)).args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stderr).lines().last().unwrap().parse().unwrap()
    }

    /// Runs `program` measured, with a profile of its own.
    pub fn measure(&self, program: &Path, arguments: &[&str]) -> Run {
        let path = self.path("profile.poise");
        let _ = std::fs::remove_file(&path);
        let output = Command::new(program).args(arguments).env("POISE_PROFILE", &path).output().unwrap();
        Run { output, profile: path.exists().then(|| Profile::read(&path).unwrap()) }
    }
}
