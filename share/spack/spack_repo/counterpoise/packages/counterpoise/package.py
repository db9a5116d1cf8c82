"""Builds the Counterpoise of the checkout that this recipe lies in; docs/spack.md says what Spack has to be told before.

    spack repo add share/spack/spack_repo/counterpoise
    spack install counterpoise
"""

from pathlib import Path

from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *

# share/spack/spack_repo/counterpoise/packages/counterpoise/package.py
CHECKOUT = Path(__file__).resolve().parents[6]


class Counterpoise(MakefilePackage):
    """Scaling models for parallel programs that noise cannot mislead: effort, which has no noise, decides the shape of
    each model, and time only its coefficients."""

    git = CHECKOUT.as_uri()

    license("Apache-2.0 OR MIT", checked_by="counterpoise")

    version("main", branch="main")

    variant("fortran", default=False, description="Compile Fortran with counters, by flang")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("rust@1.90:", type="build")
    # The pass is loaded into clang and finds LLVM there.
    depends_on("llvm@19+clang+llvm_dylib+link_llvm_dylib", type=("build", "run"))
    depends_on("llvm+flang", when="+fortran", type=("build", "run"))
    # One binary serves Open MPI and MPICH, which are found when a program runs.
    depends_on("mpi", type="run")

    # scripts/setup would ask the distribution's package manager for what Spack brings.
    build_targets = ["build", "SETUP=:"]
    # Nor is `make test` for Spack: it asks for a second MPI, Slurm, a browser and more, and `--test` would run it.
    build_time_test_callbacks = []

    sanity_check_is_file = ["bin/poise", "lib/counterpoise/libpoise_pass.so", "share/man/man1/poise.1"]

    @property
    def install_targets(self):
        return ["install", "SETUP=:", f"PREFIX={self.prefix}"]

    def llvm_program(self, *names):
        """The first of these programs that LLVM has; Debian's in /usr/bin have the version behind their names."""
        llvm = self.spec["llvm"]
        places = [llvm.prefix.bin.join(name + end) for name in names for end in (f"-{llvm.version.up_to(1)}", "")]
        return next((place for place in places if Path(place).exists()), places[-1])

    def setup_build_environment(self, env):
        env.set("POISE_LLVM_CONFIG", self.llvm_program("llvm-config"))
        env.set("CARGO_HOME", join_path(self.stage.path, "cargo"))
        # Make hands its job server to other makes alone, and cargo would take all cores.
        env.set("CARGO_BUILD_JOBS", str(make_jobs))

    def setup_run_environment(self, env):
        programs = {"CC": self.llvm_program("clang"), "CXX": self.llvm_program("clang++")}
        if self.spec["llvm"].satisfies("+flang"):
            programs["FC"] = programs["F77"] = self.llvm_program("flang-new", "flang")
        for variable, program in programs.items():
            # LLVM's own recipe sets these, too, to names that Debian's LLVM does not have.
            env.set(variable, program)
            if variable != "F77":
                env.set(f"POISE_{variable}", program)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(self.prefix.bin.poise)("--version")

    def test_effort(self):
        """compile a program with counters and measure it"""
        Path("loop.c").write_text("int main(void) { for (volatile int i = 0; i < 1000; i++) {} return 0; }\n")
        Executable(self.prefix.bin.join("poise-cc"))("-O1", "loop.c", "-o", "loop")
        poise = Executable(self.prefix.bin.poise)
        poise("run", "-o", "once", "--", "./loop")
        table = poise("export", "once", "--to", "csv", output=str)
        efforts = [line for line in table.splitlines() if ",main,basic_blocks,sum," in line]
        # 1000 iterations, each a comparison and a body at most.
        assert len(efforts) == 1 and 1000 <= int(efforts[0].split(",")[-1]) <= 2010, table
