"""Builds the Counterpoise of the checkout that this recipe lies in.

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

    @property
    def install_targets(self):
        return ["install", "SETUP=:", f"PREFIX={self.prefix}"]

    def setup_build_environment(self, env):
        env.set("POISE_LLVM_CONFIG", self.spec["llvm"].prefix.bin.join("llvm-config"))
        env.set("CARGO_HOME", join_path(self.stage.path, "cargo"))

    def setup_run_environment(self, env):
        binaries = self.spec["llvm"].prefix.bin
        env.set("POISE_CC", binaries.clang)
        env.set("POISE_CXX", binaries.join("clang++"))
        if self.spec.satisfies("+fortran"):
            env.set("POISE_FC", binaries.join("flang-new"))

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(self.prefix.bin.poise)("--version")
