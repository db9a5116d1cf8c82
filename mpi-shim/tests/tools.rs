//! Tools of MPI's profiling interface beside the library: in the program itself, in a library that the program is linked with, and in one that is preloaded
//! in front or behind. They see what they see alone, and what the program does is measured all the same.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{BOTH, Checked, Mode, Mpi, Run, compile_plainly, one, preload};
use poise_profile::Metric;

const RANKS: u32 = 3;
const SEEN: [&str; 3] =
    ["rank 0: 1 begins, 2 sends, 1 sums", "rank 1: 1 begins, 0 sends, 1 sums", "rank 2: 1 begins, 0 sends, 1 sums"];

/// Where the tool is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    InTheProgram,
    Linked,
    InFront,
    Behind,
}

impl Tool {
    fn run(self, mpi: Mpi, mode: Mode) -> Run {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let library = mpi.compile_library("tool", folder.path());
        let program = self.program(mpi, &library, folder.path());
        let program = program.to_str().expect("a path in UTF-8");
        let library = library.to_str().expect("a path in UTF-8");
        let libraries = match self {
            Self::InTheProgram | Self::Linked => return Run::compiled(Path::new(program), &[], mpi, RANKS, mode),
            _ if mode == Mode::Bare => vec![library],
            Self::InFront => vec![library, preload()],
            Self::Behind => vec![preload(), library],
        };
        let preloaded = format!("LD_PRELOAD={}", libraries.join(":"));
        Run::compiled(Path::new("env"), &[&preloaded, program], mpi, RANKS, mode)
    }

    fn program(self, mpi: Mpi, library: &Path, folder: &Path) -> PathBuf {
        let mut compiler = Command::new(mpi.compiler());
        match self {
            Self::InTheProgram => compiler.arg("-DOWN"),
            // The order in which the loader looks is that of these words.
            Self::Linked => compiler.args(["-Wl,--no-as-needed", &library.display().to_string()]),
            Self::InFront | Self::Behind => &mut compiler,
        };
        let program = folder.join("tooled");
        compile_plainly(&mut compiler, "tooled", &program);
        program
    }
}

#[test]
fn a_tool_sees_what_it_sees_alone_and_all_is_measured() {
    for mpi in BOTH {
        for tool in [Tool::InTheProgram, Tool::Linked, Tool::InFront, Tool::Behind] {
            for mode in [Mode::Bare, Mode::Inert, Mode::Measured] {
                let run = tool.run(mpi, mode);
                assert_eq!(run.status, Some(0), "{mpi:?}, {tool:?}, {mode:?}: {}", run.stderr);
                let mut seen: Vec<&str> = run.stdout.lines().collect();
                seen.sort_unstable();
                assert_eq!(seen, SEEN, "{mpi:?}, {tool:?}, {mode:?}: {}", run.stderr);
                if mode == Mode::Measured {
                    is_measured(tool, mpi, &run);
                }
            }
        }
    }
}

fn is_measured(tool: Tool, mpi: Mpi, run: &Run) {
    let checked = Checked::of(run, &format!("{tool:?}"), mpi, RANKS);
    let of = |rank, there: u64, calls| if rank == there { calls } else { None };
    let twice = |calls: Option<common::Calls>| calls.map(|one| common::Calls { calls: 2, ..one });
    checked.expect(&["MPI_Init"], |_| Some(common::Calls { calls: 1, sent: 0, received: 0, comm_size: 0 }));
    checked.expect(&["MPI_Send"], |rank| of(rank, 0, twice(one(32, 0, RANKS.into()))));
    checked.expect(&["MPI_Recv"], |rank| of(rank, 1, twice(one(0, 32, RANKS.into()))));
    checked.expect(&["MPI_Allreduce"], |_| one(4, 4, RANKS.into()));
    // The tool's own barrier is the program's where nothing tells them apart: where it calls before the library does.
    let barriers = if matches!(tool, Tool::Linked | Tool::Behind) { 1 } else { 2 };
    checked.expect(&["MPI_Barrier"], |_| one(0, 0, RANKS.into()).map(|one| common::Calls { calls: barriers, ..one }));
}

/// What such a tool gives for a name calls this library, which must not call it back.
#[test]
fn a_tool_that_rewrites_where_functions_are_does_not_get_a_call_twice() {
    for mpi in BOTH {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let library = mpi.compile_library("rewriting", folder.path());
        let program = mpi.compile("tooled", folder.path());
        let preloaded = format!("LD_PRELOAD={}:{}", preload(), library.display());
        for mode in [Mode::Inert, Mode::Measured] {
            let program = program.to_str().expect("a path in UTF-8");
            let run = Run::compiled(Path::new("env"), &[&preloaded, program], mpi, RANKS, mode);
            assert_eq!(run.status, Some(0), "{mpi:?}, {mode:?}: {}", run.stderr);
            if mode == Mode::Measured {
                let sends = Checked::of(&run, "rewriting", mpi, RANKS).value(&["MPI_Send"], Metric::Visits);
                assert_eq!(sends.map(|visits| visits.sum), Some(2), "{mpi:?}");
            }
        }
    }
}
