//! Studies: their language, builds, policies, and what fails.

mod builds;
#[path = "../common/mod.rs"]
mod common;
mod language;
mod misfortunes;
mod policies;

use common::World;

/// A world with tests/programs/echo.c compiled as `echo`.
fn with_echo() -> World {
    let world = World::new();
    compile(&world, "echo");
    world
}

/// Compiles one of tests/programs that needs no MPI.
fn compile(world: &World, name: &str) {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/programs/{name}.c"));
    world.poise(["cc", "-O1", source.to_str().unwrap(), "-o", name]).status(0);
}

/// The runs below a results folder, group by group.
fn runs(world: &World, results: &str) -> Vec<String> {
    let mut runs = Vec::new();
    for name in world.names(results).into_iter().filter(|name| !name.starts_with('.')) {
        let path = format!("{results}/{name}");
        if world.path(&path).join("run.json").is_file() {
            runs.push(path);
        } else if world.path(&path).is_dir() {
            runs.extend(
                world.names(&path).into_iter().filter(|run| !run.contains("json")).map(|run| format!("{path}/{run}")),
            );
        }
    }
    runs
}

fn toml_text(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}
