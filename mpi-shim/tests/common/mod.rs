//! What the tests of the library share: building it and the C programs, running those under each MPI, and comparing
//! profiles with what every rank should have moved.
#![allow(dead_code, reason = "each test file uses a part")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use poise_profile::{Metric, OverRanks, Profile};

/// An MPI implementation; the tests need both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mpi {
    OpenMpi,
    Mpich,
}

/// MPI's Fortran bindings, by the number that `programs/fortran.F90` has for them less one.
pub const FORTRAN: [&str; 3] = ["mpif.h", "mpi", "mpi_f08"];

pub const BOTH: [Mpi; 2] = [Mpi::OpenMpi, Mpi::Mpich];

impl Mpi {
    pub fn compiler(self) -> &'static str {
        match self {
            Self::OpenMpi => "mpicc.openmpi",
            Self::Mpich => "mpicc.mpich",
        }
    }

    /// The launcher for `ranks` ranks. A rank that spins instead of yielding stops others on a machine with few cores,
    /// and a run that does not end is ended after a minute.
    pub fn launcher(self, ranks: u32) -> Command {
        let mut command = Command::new("timeout");
        match self {
            Self::OpenMpi => {
                command.args(["60", "mpirun.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]);
                command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
            }
            Self::Mpich => {
                command.args(["60", "mpiexec.mpich"]);
            }
        }
        command.args(["-n", &ranks.to_string()]);
        command
    }

    /// The launcher for `ranks` ranks of `program` behind the library, started one by one: `given` adds the environment and what else stands before the
    /// program for one of them.
    pub fn one_by_one(
        self,
        ranks: u32,
        (program, arguments): (&Path, &[&str]),
        profile: &Path,
        given: impl Fn(u32, &mut Command),
    ) -> Command {
        let mut command = self.launcher(1);
        for rank in 0..ranks {
            if rank > 0 {
                command.args([":", "-n", "1"]);
            }
            command.arg("env").arg(format!("LD_PRELOAD={}", preload()));
            command.arg(format!("POISE_PROFILE={}", profile.display()));
            given(rank, &mut command);
            command.arg(program).args(arguments);
        }
        command
    }

    /// Text of the header with the prototypes.
    pub fn header(self) -> String {
        self.preprocessed("#include <mpi.h>\n")
    }

    /// What the preprocessor makes of a C source.
    pub fn preprocessed(self, source: &str) -> String {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let path = folder.path().join("mpi.c");
        std::fs::write(&path, source).expect("writing a file");
        let output = run(Command::new(self.compiler()).args(["-E", "-P"]).arg(&path));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Compiles `tests/programs/NAME.c` or `.cpp`, or the C files in the folder `NAME`, into `folder`; for the names in [`FORTRAN`], `fortran.F90` with that binding.
    pub fn compile(self, name: &str, folder: &Path) -> PathBuf {
        self.compile_with(name, &[], folder)
    }

    /// The same, with options for the C compiler.
    pub fn compile_with(self, name: &str, options: &[&str], folder: &Path) -> PathBuf {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        let program = folder.join(name);
        if let Some(binding) = FORTRAN.iter().position(|&binding| binding == name) {
            self.compile_fortran(&["fortran.F90"], binding, &[], &program);
            return program;
        }
        let (compiler, files) = match [sources.join(format!("{name}.cpp")), sources.join(name)] {
            [source, _] if source.exists() => (self.compiler().replace("mpicc", "mpicxx"), vec![source]),
            [_, several] if several.is_dir() => (self.compiler().into(), c_files(&several)),
            _ => (self.compiler().into(), vec![sources.join(format!("{name}.c"))]),
        };
        run(Command::new(compiler)
            .args(["-O1", "-fPIC", "-Wall", "-Wno-stringop-overflow", "-Wno-stringop-overread"])
            .args(options)
            .arg("-o")
            .arg(&program)
            .args(files)
            .args(self.yielding())
            .arg("-pthread"));
        program
    }

    /// Compiles files of `tests/programs`, in Fortran and in C, with a binding by its place in [`FORTRAN`] and with options.
    pub fn compile_fortran(self, files: &[&str], binding: usize, options: &[&str], program: &Path) {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        // gfortran minds that mpif.h's routines are called with buffers of several types. MPICH's wrapper optimises, and
        // `main` would be the program's main unit then.
        run(Command::new(self.compiler().replace("mpicc", "mpifort"))
            .args([
                &format!("-DBINDING={}", binding + 1),
                "-O0",
                "-fallow-argument-mismatch",
                "-ffree-line-length-none",
                "-w",
            ])
            .args((self == Self::OpenMpi).then_some("-DOPEN_MPI"))
            .args(options)
            .arg("-J")
            .arg(program.parent().expect("a folder"))
            .arg("-o")
            .arg(program)
            .args(files.iter().map(|file| sources.join(file)))
            .args(self.yielding()));
    }

    /// What lets a waiting rank's core go to others, where the launcher cannot be told to.
    fn yielding(self) -> Option<PathBuf> {
        let source = || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/yielding.c");
        (self == Self::Mpich).then(source)
    }

    /// Compiles `tests/programs/NAME.c` as a shared library that is linked with this MPI.
    pub fn compile_library(self, name: &str, folder: &Path) -> PathBuf {
        let library = folder.join(format!("lib{name}-{self:?}.so"));
        compile_plainly(Command::new(self.compiler()).args(["-shared", "-fPIC"]), name, &library);
        library
    }
}

fn c_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of sources").map(|entry| entry.expect("an entry").path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "c")).collect()
}

/// Compiles `tests/programs/NAME.c` with the compiler that `command` is to `file`.
pub fn compile_plainly(command: &mut Command, name: &str, file: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/programs/{name}.c"));
    run(command.args(["-O1", "-Wall", "-o"]).arg(file).arg(source));
}

/// Runs a command that must succeed.
fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| {
        panic!("{command:?}: {error}; these tests need Open MPI and MPICH: install libopenmpi-dev, libmpich-dev and gfortran")
    });
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Functions of a list of lines `reason:` and, indented, names after `MPI_`, with the reason of each.
pub fn reasons(text: &str) -> BTreeMap<String, String> {
    let mut reasons = BTreeMap::new();
    let mut reason = "";
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix("  ") {
            None => reason = line.strip_suffix(':').expect("a reason ends with a colon"),
            Some(names) => {
                for name in names.split_whitespace() {
                    let known = reasons.insert(format!("MPI_{name}"), reason.to_owned());
                    assert_eq!(known, None, "MPI_{name} is there twice");
                }
            }
        }
    }
    reasons
}

/// LD_PRELOAD's value: the runtime and the library under test, built by the cargo that runs the tests.
pub fn preload() -> &'static str {
    static PRELOAD: OnceLock<String> = OnceLock::new();
    PRELOAD.get_or_init(|| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .args(["build", "--quiet", "-p", "poise-runtime", "-p", "poise-mpi"])
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        if !cfg!(debug_assertions) {
            cargo.arg("--release");
        }
        run(&mut cargo);
        // The test's own program is in the profile's folder `deps`.
        let test = std::env::current_exe().expect("the path of the test program");
        let folder = test.parent().and_then(Path::parent).expect("the folder of the build");
        let library = |name: &str| folder.join(name).display().to_string();
        format!("{}:{}", library("libpoise_runtime.so"), library("libpoise_mpi.so"))
    })
}

/// How a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Without the library.
    Bare,
    /// With it, asked for nothing.
    Inert,
    /// With it, measuring.
    Measured,
    /// With it, measuring waiting too.
    Waiting,
    /// With it, measuring, and with the call paths that the stack shows.
    OnStacks,
    /// With it, measuring, and keeping what each rank had.
    EachRank,
}

/// A finished run.
pub struct Run {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub profile_path: PathBuf,
    _folder: tempfile::TempDir,
}

impl Run {
    /// Compiles and runs a program.
    pub fn of(name: &str, mpi: Mpi, ranks: u32, mode: Mode) -> Self {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let path = folder.path().join("run.poise");
        Self::writing_to(name, mpi, ranks, mode, folder, path)
    }

    /// The same, with arguments.
    pub fn with(name: &str, arguments: &[&str], mpi: Mpi, ranks: u32, mode: Mode) -> Self {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let path = folder.path().join("run.poise");
        Self::launched((&mpi.compile(name, folder.path()), arguments), mpi, ranks, mode, folder, path)
    }

    /// The same of a program that is compiled already, which many runs share.
    pub fn compiled(program: &Path, arguments: &[&str], mpi: Mpi, ranks: u32, mode: Mode) -> Self {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let path = folder.path().join("run.poise");
        Self::launched((program, arguments), mpi, ranks, mode, folder, path)
    }

    /// The same, with the profile going to `path`.
    pub fn writing_to(
        name: &str,
        mpi: Mpi,
        ranks: u32,
        mode: Mode,
        folder: tempfile::TempDir,
        profile_path: PathBuf,
    ) -> Self {
        Self::launched((&mpi.compile(name, folder.path()), &[]), mpi, ranks, mode, folder, profile_path)
    }

    fn launched(
        (program, arguments): (&Path, &[&str]),
        mpi: Mpi,
        ranks: u32,
        mode: Mode,
        folder: tempfile::TempDir,
        profile_path: PathBuf,
    ) -> Self {
        let mut command = mpi.launcher(ranks);
        command.env_remove("POISE_PROFILE").current_dir(folder.path());
        // The launcher itself runs without the library.
        command.arg("env");
        if mode != Mode::Bare {
            command.arg(format!("LD_PRELOAD={}", preload()));
        }
        if !matches!(mode, Mode::Bare | Mode::Inert) {
            command.arg(format!("POISE_PROFILE={}", profile_path.display()));
        }
        if mode != Mode::OnStacks {
            command.arg("POISE_STACK=off");
        }
        if mode == Mode::Waiting {
            command.arg("POISE_WAITING=1");
        }
        if mode == Mode::EachRank {
            command.arg("POISE_RANKS=1");
        }
        let output = command.arg(program).args(arguments).output().expect("timeout, from coreutils");
        Self {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            profile_path,
            _folder: folder,
        }
    }

    /// Runs a program under SimGrid's SMPI, measuring waiting too. `None`, and said, where that is not installed.
    pub fn simulated(name: &str, ranks: u32) -> Option<Self> {
        Self::simulated_with(name, ranks, &[])
    }

    /// The same, with more in its environment.
    pub fn simulated_with(name: &str, ranks: u32, environment: &[(&str, &str)]) -> Option<Self> {
        if !["smpicc", "smpirun"].iter().all(|name| Path::new("/usr/bin").join(name).is_file()) {
            eprintln!("skipped: SimGrid's SMPI is not installed (on Debian: apt install libsimgrid-dev)");
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let [profile_path, program, platform] =
            ["run.poise", name, "platform.xml"].map(|name| folder.path().join(name));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/programs/{name}.c"));
        // As `poise cc` links them: the library comes before SimGrid's.
        let (runtime, shim) = preload().split_once(':').expect("two libraries");
        let libraries = Path::new(shim).parent().expect("the folder of the build").display().to_string();
        run(Command::new("/usr/bin/smpicc").args(["-O1", "-fPIC", "-o"]).arg(&program).arg(source).args([
            "-Wl,--no-as-needed",
            shim,
            runtime,
            &format!("-Wl,--disable-new-dtags,-rpath,{libraries}"),
        ]));
        let nodes = format!(
            "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
             <platform version=\"4.1\"><cluster id=\"machine\" prefix=\"n\" suffix=\"\" radical=\"0-{}\" \
             speed=\"1Gf\" bw=\"1e9Bps\" lat=\"1e-6s\"/></platform>\n",
            ranks - 1
        );
        std::fs::write(&platform, nodes).expect("writing a file");
        let mut command = Command::new("timeout");
        command.args(["60", "/usr/bin/smpirun", "-np", &ranks.to_string(), "-platform"]).arg(&platform);
        command.args(["--log=root.thres:critical", "--cfg=smpi/simulate-computation:no"]);
        command.arg(program).current_dir(folder.path());
        command.env("POISE_PROFILE", &profile_path).env("POISE_WAITING", "1");
        command.envs(environment.iter().copied());
        let output = command.output().expect("timeout, from coreutils");
        Some(Self {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            profile_path,
            _folder: folder,
        })
    }

    /// Its profile, which must be there.
    pub fn profile(&self) -> Profile {
        assert_eq!(self.status, Some(0), "{}", self.stderr);
        assert!(!self.stderr.contains("poise:"), "{}", self.stderr);
        Profile::read(&self.profile_path).expect("a profile")
    }
}

/// What one rank's calls at one call path should come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    pub calls: u64,
    pub sent: u64,
    pub received: u64,
    pub comm_size: u64,
}

/// A field of them.
type Field = fn(&Calls) -> u64;

/// One call that moved this much, on a communicator of `comm_size` ranks.
pub fn one(sent: u64, received: u64, comm_size: u64) -> Option<Calls> {
    Some(Calls { calls: 1, sent, received, comm_size })
}

/// A profile and its checks.
pub struct Checked {
    pub profile: Profile,
    pub ranks: u64,
    what: String,
}

impl Checked {
    /// Compares calls and bytes of each function with the ledger that the program's ranks have printed, each in lines of a name and three numbers: their
    /// sums, and the least and the most of a rank; how many functions those are.
    pub fn expect_ledger(&self, printed: &str) -> usize {
        let mut ledger: BTreeMap<&str, Vec<[u64; 3]>> = BTreeMap::new();
        for line in printed.lines() {
            let (name, numbers) = line.split_once(' ').expect("a function and its numbers");
            let numbers: Vec<u64> = numbers.split(' ').map(|number| number.parse().expect("a number")).collect();
            let of_rank: [u64; 3] = numbers.try_into().expect("three numbers");
            ledger.entry(name).or_default().extend((of_rank[0] > 0).then_some(of_rank));
        }
        // Which rank had least or most a line does not say.
        let numbers = |value: OverRanks| (value.ranks, value.sum, value.minimum.0, value.maximum.0);
        for (name, ranks) in &ledger {
            for (place, metric) in [Metric::Visits, Metric::BytesSent, Metric::BytesReceived].into_iter().enumerate() {
                let expected = over_ranks(ranks.iter().map(|of_rank| Some(of_rank[place])));
                let recorded = self.value(&[name], metric);
                assert_eq!(recorded.map(numbers), expected.map(numbers), "{metric:?} of {name} of {}", self.what);
            }
        }
        ledger.len()
    }

    pub fn new(name: &str, mpi: Mpi, ranks: u32) -> Self {
        Self::of(&Run::of(name, mpi, ranks, Mode::Measured), name, mpi, ranks)
    }

    /// The profile of a finished run.
    pub fn of(run: &Run, name: &str, mpi: Mpi, ranks: u32) -> Self {
        let profile = run.profile();
        assert_eq!(profile.ranks, ranks);
        Self { profile, ranks: ranks.into(), what: format!("{name} under {mpi:?} on {ranks} ranks") }
    }

    fn node(&self, path: &[&str]) -> Option<u32> {
        (0..self.profile.nodes.len() as u32).find(|&node| {
            let regions = self.profile.path(node).expect("a path for each node");
            regions.iter().map(|region| region.name.as_str()).eq(path.iter().copied())
        })
    }

    /// One metric over ranks as the profile has it.
    pub fn value(&self, path: &[&str], metric: Metric) -> Option<OverRanks> {
        self.profile.values.get(&(self.node(path)?, metric)).copied()
    }

    /// Compares the call path with what `expected` says of each rank; `None` for a rank that was never there.
    pub fn expect(&self, path: &[&str], expected: impl Fn(u64) -> Option<Calls>) {
        let metrics: [(Metric, Field); 4] = [
            (Metric::Visits, |calls| calls.calls),
            (Metric::BytesSent, |calls| calls.sent),
            (Metric::BytesReceived, |calls| calls.received),
            (Metric::CommSize, |calls| calls.comm_size),
        ];
        for (metric, value) in metrics {
            let expected = over_ranks((0..self.ranks).map(|rank| expected(rank).as_ref().map(value)));
            assert_eq!(self.value(path, metric), expected, "{metric:?} at {path:?} of {}", self.what);
        }
    }

    /// The same but for the number of calls, which depends on how often the program had to ask.
    pub fn expect_moved(&self, path: &[&str], sent: impl Fn(u64) -> u64, received: impl Fn(u64) -> u64) {
        let expected = over_ranks((0..self.ranks).map(|rank| Some(sent(rank))));
        assert_eq!(self.value(path, Metric::BytesSent), expected, "bytes sent at {path:?} of {}", self.what);
        let expected = over_ranks((0..self.ranks).map(|rank| Some(received(rank))));
        assert_eq!(self.value(path, Metric::BytesReceived), expected, "bytes received at {path:?} of {}", self.what);
    }
}

/// Sum, minimum and maximum with the lowest rank each, of the ranks that have a value.
pub fn over_ranks(values: impl Iterator<Item = Option<u64>>) -> Option<OverRanks> {
    let values: Vec<(u64, u32)> = values.enumerate().filter_map(|(rank, value)| Some((value?, rank as u32))).collect();
    let most = values.iter().map(|&(value, _)| value).max()?;
    Some(OverRanks {
        ranks: values.len() as u32,
        sum: values.iter().map(|&(value, _)| u128::from(value)).sum(),
        minimum: values.iter().copied().min()?,
        maximum: values.iter().copied().find(|&(value, _)| value == most)?,
    })
}
