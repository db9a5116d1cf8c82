//! `make install`: everything works from the prefix, and after the prefix has been moved, without the source tree.

mod common;

use std::path::Path;

use common::{World, outcome};

/// Installs what was built into `prefix` below the test's folder. Make takes `build` for done: the test's program is.
fn install(world: &World, prefix: &Path) {
    let build = Path::new(env!("CARGO_BIN_EXE_poise")).parent().unwrap();
    let (build, prefix) = (format!("BUILD={}", build.display()), format!("PREFIX={}", prefix.display()));
    let mut make =
        world.command("make", ["-s", "-C", env!("CARGO_MANIFEST_DIR"), "-o", "build", "install", &build, &prefix]);
    outcome(make.env_remove("MAKEFLAGS").output().unwrap()).status(0);
}

/// Names of all files below `folder`, relative to it.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.push(path.strip_prefix(folder).unwrap().display().to_string());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn everything_works_from_the_prefix_and_after_moving_it() {
    let mut world = World::new();
    let (first, second) = (world.path("first"), world.path("second"));
    install(&world, &first);
    let installed = files(&first);
    // A newer version goes over an older one.
    install(&world, &first);
    assert_eq!(files(&first), installed);
    for file in [
        "bin/poise",
        "bin/poise-c++",
        "bin/poise-cc",
        "bin/poise-fc",
        "lib/counterpoise/libpoise_mpi.so",
        "lib/counterpoise/libpoise_qemu.so",
        "lib/counterpoise/libpoise_pass.so",
        "lib/counterpoise/libpoise_runtime.a",
        "lib/counterpoise/libpoise_runtime.so",
        "share/bash-completion/completions/poise",
        "include/poise.h",
        "share/counterpoise/poise-markers/Cargo.toml",
        "share/counterpoise/poise-markers/src/lib.rs",
        "share/counterpoise/poise.f90",
        "share/fish/vendor_completions.d/poise.fish",
        "share/man/man1/poise-model.1",
        "share/zsh/site-functions/_poise",
    ] {
        assert!(installed.contains(&file.to_owned()), "{file} is missing: {installed:?}");
    }

    // Only the prefix and the system's own programs.
    world.set("PATH", &format!("{}:/usr/local/bin:/usr/bin:/bin", first.join("bin").display()));
    compile(&world, "before");
    std::fs::rename(&first, &second).unwrap();
    world.set("PATH", &format!("{}:/usr/local/bin:/usr/bin:/bin", second.join("bin").display()));
    compile(&world, "after");
    the_moved_program_writes_what_was_installed(&world, &second);
    let loaded = outcome(world.command("ldd", ["./after"]).output().unwrap()).status(0).stdout;
    let runtime = second.join("lib/counterpoise/libpoise_runtime.so");
    assert!(loaded.contains(&runtime.display().to_string()), "{loaded}");

    // A program that was compiled before the move finds its runtime through poise.
    for program in ["after", "before"] {
        let results = format!("{program}.runs");
        let run = ["run", "-o", &results, "--param", "n=20", "--", "mpirun.openmpi", "--oversubscribe", "-n", "2"];
        let program = format!("./{program}");
        let mut poise = world.command("poise", run.into_iter().chain([program.as_str(), "20"]));
        outcome(poise.output().unwrap()).status(0);
        let table = world.command("poise", ["export", &results, "--to", "csv"]).output().unwrap();
        let table = outcome(table).status(0).stdout;
        let counted = |metric: &str| table.lines().any(|l| l.contains("main") && l.contains(metric));
        assert!(counted("basic_blocks") && counted("bytes_sent"), "{table}");
    }
}

/// Manual pages and completions of the program in the moved prefix are those that lie there, and it finds its own parts.
fn the_moved_program_writes_what_was_installed(world: &World, prefix: &Path) {
    let poise = |arguments: &[&str]| outcome(world.command("poise", arguments).output().unwrap()).status(0).stdout;
    poise(&["man", "pages"]);
    let pages = files(&world.path("pages"));
    assert_eq!(pages, files(&prefix.join("share/man/man1")));
    for page in pages {
        let installed = std::fs::read_to_string(prefix.join("share/man/man1").join(&page)).unwrap();
        assert!(world.read(&format!("pages/{page}")) == installed, "{page}");
        assert!(!installed.contains(world.path("first").to_str().unwrap()), "{page} names the prefix");
    }
    let completions = std::fs::read_to_string(prefix.join("share/bash-completion/completions/poise")).unwrap();
    assert!(poise(&["completions", "bash"]) == completions, "completions differ");
    let found = poise(&["doctor"]);
    for part in ["libpoise_pass.so", "libpoise_runtime.so", "libpoise_mpi.so", "libpoise_qemu.so"] {
        let place = prefix.join("lib/counterpoise").join(part);
        assert!(found.contains(place.to_str().unwrap()), "{part}: {found}");
    }
}

/// What cannot work is told before anything is run.
#[test]
fn a_prefix_that_the_loader_cannot_name_is_refused() {
    let mut world = World::new();
    let prefix = world.path("a place");
    install(&world, &world.path("first"));
    std::fs::rename(world.path("first"), &prefix).unwrap();
    world.set("PATH", &format!("{}:/usr/bin:/bin", prefix.join("bin").display()));
    let ran = outcome(world.command("poise", ["run", "-o", "once", "--", "/bin/true"]).output().unwrap()).status(2);
    assert!(ran.stderr.contains("the loader ends names at blanks"), "{}", ran.stderr);
    assert!(!world.path("once").exists());
    let found = outcome(world.command("poise", ["doctor"]).output().unwrap()).stdout;
    for part in ["runtime", "MPI shim"] {
        let line = found.lines().find(|line| line.contains(&format!(" {part} "))).unwrap_or_else(|| panic!("{found}"));
        assert!(line.contains("the loader ends names at blanks"), "{line}");
    }
}

fn compile(world: &World, target: &str) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/sums.c");
    let mut command = world.command("mpicc.openmpi", ["-O2", "-o", target]);
    outcome(command.arg(source).env("OMPI_CC", "poise-cc").output().unwrap()).status(0);
}
