//! Tools of MPI's profiling interface beside the library: in the program itself, in a library that the program is linked with, and in one that is preloaded
//! in front. They see what they see alone, and what the program does is measured all the same.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{BOTH, Checked, Mode, Mpi, Run, compile_plainly, one, preload};

const RANKS: u32 = 3;
const SEEN: [&str; 3] = ["rank 0: 2 sends, 1 sums", "rank 1: 0 sends, 1 sums", "rank 2: 0 sends, 1 sums"];

/// Where the tool is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    InTheProgram,
    Linked,
    InFront,
}

impl Tool {
    fn run(self, mpi: Mpi, mode: Mode) -> Run {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let library = mpi.compile_library("tool", folder.path());
        let program = self.program(mpi, &library, folder.path());
        let program = program.to_str().expect("a path in UTF-8");
        if self != Self::InFront {
            return Run::compiled(Path::new(program), &[], mpi, RANKS, mode);
        }
        let behind = if mode == Mode::Bare { String::new() } else { format!(":{}", preload()) };
        let first = format!("LD_PRELOAD={}{behind}", library.display());
        Run::compiled(Path::new("env"), &[&first, program], mpi, RANKS, mode)
    }

    fn program(self, mpi: Mpi, library: &Path, folder: &Path) -> PathBuf {
        let mut compiler = Command::new(mpi.compiler());
        match self {
            Self::InTheProgram => compiler.arg("-DOWN"),
            // The order in which the loader looks is that of these words.
            Self::Linked => compiler.args(["-Wl,--no-as-needed", &library.display().to_string()]),
            Self::InFront => &mut compiler,
        };
        let program = folder.join("tooled");
        compile_plainly(&mut compiler, "tooled", &program);
        program
    }
}

#[test]
fn a_tool_sees_what_it_sees_alone_and_all_is_measured() {
    for mpi in BOTH {
        for tool in [Tool::InTheProgram, Tool::Linked, Tool::InFront] {
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
    checked.expect(&["MPI_Send"], |rank| of(rank, 0, twice(one(32, 0, RANKS.into()))));
    checked.expect(&["MPI_Recv"], |rank| of(rank, 1, twice(one(0, 32, RANKS.into()))));
    checked.expect(&["MPI_Allreduce"], |_| one(4, 4, RANKS.into()));
    // The tool's own barrier is the program's where nothing tells them apart: where it calls before the library does.
    let barriers = if tool == Tool::Linked { 1 } else { 2 };
    checked.expect(&["MPI_Barrier"], |_| one(0, 0, RANKS.into()).map(|one| common::Calls { calls: barriers, ..one }));
}
