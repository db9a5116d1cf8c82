//! `poise cc`, `poise c++` and `poise fc` where build systems and MPI's compiler wrappers expect a compiler: make, CMake with its
//! compiler checks, autoconf, mpicc, mpicxx and mpifort; with sanitizers and link-time optimisation.

mod common;

use common::{World, outcome};
use poise_profile::{Metric, Profile};

const MAIN: &str = "#include <stdio.h>\nint twice(int);\nint main(void) { printf(\"%d\\n\", twice(21)); return 0; }\n";
const TWICE: &str = "__attribute__((noinline)) int twice(int x) { int sum = 0; for (volatile int i = 0; i < 2; i = i + 1) sum += x; return sum; }\n";
const FORTRAN: &str = "program app\n integer :: i\n real :: s\n s = 0\n do i = 1, 64\n call add(s, i)\n end do\n
    if (s == 7.5) stop 1\n print '(i0)', 42\nend program\nsubroutine add(s, i)\n real, intent(inout) :: s\n integer, intent(in) :: i\n
    integer :: k\n do k = 1, i\n s = s * 0.5 + k\n end do\nend subroutine\n";

/// A world with the wrappers under the names by which they are compilers.
fn with_wrappers() -> World {
    let mut world = World::new();
    std::fs::create_dir(world.path("bin")).unwrap();
    for name in ["poise-cc", "poise-c++", "poise-fc"] {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_poise"), world.path("bin").join(name)).unwrap();
    }
    let path = format!("{}:{}", world.path("bin").display(), std::env::var("PATH").unwrap());
    world.set("PATH", &path);
    world.write("main.c", MAIN);
    world.write("twice.c", TWICE);
    world.write("app.f90", FORTRAN);
    world
}

fn succeeds(world: &World, program: &str, line: &str) {
    let command = world.command(program, line.split_whitespace()).output();
    outcome(command.unwrap_or_else(|e| panic!("{program}: {e}; `make setup` installs it"))).status(0);
}

/// Of `twice`: entry, two iterations, end.
const BLOCKS: (u128, u128) = (1, 4);

/// Runs a program, which prints 42; its profile's visits and blocks by the innermost function's name.
fn measured(world: &World, program: &str, launcher: &[&str]) -> impl Fn(&str) -> (u128, u128) + use<> {
    let path = world.path("measured.poise");
    let _ = std::fs::remove_file(&path);
    let program = world.path(program).display().to_string();
    let words: Vec<&str> = launcher.iter().copied().chain([program.as_str()]).collect();
    let mut command = world.command(words[0], &words[1..]);
    let ran = outcome(command.env("POISE_PROFILE", &path).output().unwrap()).status(0);
    assert!(ran.stdout.trim_start().starts_with("42"), "{}{}", ran.stdout, ran.stderr);
    let profile = Profile::read(&path).unwrap_or_else(|e| panic!("{e}: {}", ran.stderr));
    move |name| {
        let is_meant = |&node: &u32| profile.path(node).unwrap().last().unwrap().name == name;
        let nodes: Vec<u32> = (0..profile.nodes.len() as u32).filter(is_meant).collect();
        let of = |node, metric| profile.values.get(&(node, metric)).map_or(0, |value| value.sum);
        let sum = |metric| nodes.iter().map(|&node| of(node, metric)).sum();
        (sum(Metric::Visits), sum(Metric::BasicBlocks))
    }
}

#[test]
fn make_builds_with_the_implicit_rules() {
    let world = with_wrappers();
    world.write("Makefile", "main: main.o twice.o\n");
    succeeds(&world, "make", "-s main CC=poise-cc CFLAGS=-O1");
    assert_eq!(measured(&world, "main", &[])("twice"), BLOCKS);
}

/// The compiler checks of all three languages, `find_package` of threads and OpenMP, static and shared libraries, Ninja's absence.
#[test]
fn cmake_checks_the_compilers_and_builds_libraries() {
    let world = with_wrappers();
    let lists = "cmake_minimum_required(VERSION 3.13)\nproject(app C CXX Fortran)\nset(CMAKE_BUILD_TYPE Release)
        find_package(Threads REQUIRED)\nfind_package(OpenMP REQUIRED COMPONENTS C)\ninclude(CheckCSourceRuns)
        check_c_source_runs(\"int main(void) { return 0; }\" RUNS)\nif(NOT RUNS)\nmessage(FATAL_ERROR \"does not run\")\nendif()
        add_library(shared_twice SHARED twice.c)\nadd_library(static_twice STATIC twice.c)
        add_executable(shared main.c)\ntarget_link_libraries(shared shared_twice Threads::Threads OpenMP::OpenMP_C)
        add_executable(static main.c)\ntarget_link_libraries(static static_twice)\nadd_executable(app app.f90)\n";
    world.write("CMakeLists.txt", lists);
    let compilers = "-DCMAKE_C_COMPILER=poise-cc -DCMAKE_CXX_COMPILER=poise-c++ -DCMAKE_Fortran_COMPILER=poise-fc";
    succeeds(&world, "cmake", &format!("-S . -B build {compilers}"));
    succeeds(&world, "cmake", "--build build");
    for program in ["build/shared", "build/static"] {
        assert_eq!(measured(&world, program, &[])("twice"), BLOCKS, "{program}");
    }
    assert!(measured(&world, "build/app", &[])("_QQmain").1 > 64);
}

#[test]
fn autoconf_accepts_the_compilers() {
    let world = with_wrappers();
    let configure = "AC_INIT([app], [1])\nAC_CONFIG_SRCDIR([main.c])\nAC_PROG_CC\nAC_PROG_CXX\nAC_C_INLINE\nAC_CHECK_HEADERS([stdio.h])
AC_CHECK_FUNCS([printf])\nAC_CHECK_SIZEOF([long])\nAC_SEARCH_LIBS([sin], [m])\nAC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n";
    world.write("configure.ac", configure);
    world.write(
        "Makefile.in",
        "CC = @CC@\nCFLAGS = @CFLAGS@\nmain: main.o twice.o\n\t$(CC) $(CFLAGS) -o $@ main.o twice.o @LIBS@\n",
    );
    succeeds(&world, "autoconf", "");
    succeeds(&world, "./configure", "CC=poise-cc CXX=poise-c++ CFLAGS=-O1");
    succeeds(&world, "make", "-s");
    assert_eq!(measured(&world, "main", &[])("twice"), BLOCKS);
}

/// C, C++ and Fortran with the compiler wrappers of both MPIs; each rank counts, and MPI is not disturbed.
#[test]
fn the_compiler_wrappers_of_both_mpis_take_ours() {
    let mut world = with_wrappers();
    for (variable, ours) in [("CC", "poise-cc"), ("CXX", "poise-c++"), ("FC", "poise-fc")] {
        world.set(&format!("OMPI_{variable}"), ours);
        world.set(&format!("MPICH_{variable}"), ours);
    }
    let text = "#include <mpi.h>\n#include <stdio.h>
        int main(int argc, char **argv) { int rank, sum = 0; MPI_Init(&argc, &argv); MPI_Comm_rank(MPI_COMM_WORLD, &rank);
            for (volatile int i = 0; i < 9; i = i + 1) sum++;
            if (!rank) printf(\"42\\n\"); MPI_Finalize(); return sum != 9; }\n";
    world.write("ranks.c", text);
    world.write("ranks.cpp", text);
    let fortran = "program ranks\n include 'mpif.h'\n integer :: ierr, rank, i\n real :: s\n call MPI_Init(ierr)\n
        call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)\n s = 0\n do i = 1, 9\n call add(s, i)\n end do\n
        if (s == 7.5) stop 1\n if (rank == 0) print '(i0)', 42\n call MPI_Finalize(ierr)\nend program\n";
    world.write("ranks.f90", &format!("{fortran}{}", &FORTRAN[FORTRAN.find("subroutine add").unwrap()..]));
    let library =
        |name: &str| std::path::Path::new(env!("CARGO_BIN_EXE_poise")).with_file_name(name).display().to_string();
    let preloaded = format!("{}:{}", library("libpoise_runtime.so"), library("libpoise_mpi.so"));
    for (mpi, launcher) in
        [("openmpi", &["mpirun.openmpi", "--oversubscribe", "-n", "2"][..]), ("mpich", &["mpiexec.mpich", "-n", "2"])]
    {
        for (wrapper, source) in [("mpicc", "ranks.c"), ("mpicxx", "ranks.cpp"), ("mpifort", "ranks.f90")] {
            world.set("LD_PRELOAD", "");
            succeeds(&world, &format!("{wrapper}.{mpi}"), &format!("-O1 {source} -o ranks"));
            world.set("LD_PRELOAD", &preloaded);
            let (visits, blocks) = measured(&world, "ranks", launcher)("main");
            assert_eq!(visits, 2, "{wrapper}.{mpi}");
            // Nine iterations on two ranks; in Fortran they are the program's, which `main` calls.
            let least = if wrapper == "mpifort" { 2 } else { 18 };
            assert!(blocks >= least, "{wrapper}.{mpi}: {blocks}");
        }
    }
}

/// Compiled and linked apart and together, with link-time optimisation and with the sanitizers.
#[test]
fn link_time_optimisation_and_sanitizers_go_together_with_the_counters() {
    let world = with_wrappers();
    succeeds(&world, "poise-cc", "-O1 main.c twice.c -o main");
    let counted = measured(&world, "main", &[])("twice");
    assert_eq!(counted, BLOCKS);
    for flags in [
        "-flto -fuse-ld=lld",
        "-flto=thin -fuse-ld=lld",
        "-fsanitize=address",
        "-fsanitize=undefined",
        "-fsanitize=thread",
    ] {
        succeeds(&world, "poise-cc", &format!("-O1 {flags} -c main.c"));
        succeeds(&world, "poise-cc", &format!("-O1 {flags} -c twice.c"));
        succeeds(&world, "poise-cc", &format!("-O1 {flags} main.o twice.o -o main"));
        let (visits, blocks) = measured(&world, "main", &[])("twice");
        // Sanitizers check before the counters are put in, which makes blocks of their own.
        assert!(visits == 1 && blocks >= 4, "{flags}: {blocks}");
        assert!(!flags.contains("lto") || blocks == 4, "{flags}: {blocks}");
    }
}

#[test]
fn fortran_counts_in_one_step_and_apart() {
    let world = with_wrappers();
    for line in ["-O1 app.f90 -o app", "-O1 -c app.f90", "app.o -o app"] {
        succeeds(&world, "poise-fc", line);
        if line.ends_with("app") {
            let of = measured(&world, "app", &[]);
            // The program is inlined into C's main, and the subroutine, entered 64 times for 1 to 64 iterations, into it.
            assert_eq!((of("main").0, of("add_").1), (1, 64 + 64 * 65 / 2), "{line}");
            assert!(of("_QQmain").1 > 64, "{line}: {}", of("_QQmain").1);
        }
    }
}
