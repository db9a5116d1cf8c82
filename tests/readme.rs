//! The README's own commands, run in order as a reader would, in a copy of what they name.

mod common;

use std::path::Path;
use std::process::Command;

use common::{World, outcome};

/// The lines of all ```sh blocks, in order. Blocks of other languages show what is not to be run here.
fn commands(markdown: &str) -> Vec<String> {
    let mut inside = false;
    let mut commands = Vec::new();
    for line in markdown.lines() {
        match line.trim() {
            "```sh" => inside = true,
            "```" => inside = false,
            text if inside && !text.is_empty() => commands.push(text.to_owned()),
            _ => {}
        }
    }
    commands
}

#[test]
fn the_readmes_commands_work_in_order() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let commands = commands(&readme);
    assert!(commands.len() >= 10, "{commands:?}");

    let world = World::new();
    for folder in ["examples", "datasets", "benchgen"] {
        let copied = Command::new("cp").arg("-r").arg(root.join(folder)).arg(world.path(folder)).status().unwrap();
        assert!(copied.success());
    }
    for command in &commands {
        let ran = outcome(world.command("bash", ["-euo", "pipefail", "-c", command]).output().unwrap());
        assert_eq!(ran.status, Some(0), "{command}\nstdout:\n{}\nstderr:\n{}", ran.stdout, ran.stderr);
        assert!(!ran.stdout.is_empty() || command.contains(" -o "), "{command} said nothing");
    }
    for left in [
        "heat.html",
        "once/profile.poise",
        "plain.poise",
        "relearn.jsonl",
        "bench/demo.cpp",
        "validation/validation.html",
    ] {
        assert!(world.path(left).is_file(), "{left}");
    }
}

#[test]
fn what_the_readme_links_to_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|t| !t.contains("://")) {
            assert!(root.join(target).exists(), "{file} links to {target}");
        }
    }
}
