//! Tables as people see them: as wide as the terminal, COLUMNS there or --table-width allows, and in pipes whole, with nothing
//! padded to the deepest call path.

mod common;

use common::{World, outcome};
use serde_json::json;
use std::fmt::Write as _;

/// How deep the deepest call path is.
const DEPTH: usize = 120;

/// The deepest call path: more than 3,000 characters.
fn deep() -> String {
    (0..DEPTH).map(|i| format!("solver_level_number_{i}")).collect::<Vec<_>>().join("->")
}

/// Times of shallow call paths over p and n, and of a deep one, that grow like sums of several terms.
fn measurements() -> String {
    let mut text = String::new();
    for p in [2.0_f64, 4.0, 8.0, 16.0, 32.0] {
        for n in [100.0_f64, 200.0, 400.0, 800.0, 1600.0] {
            let mut line = |callpath: &str, value: f64| {
                let params = json!({"p": p, "n": n});
                let _ = writeln!(
                    text,
                    "{}",
                    json!({"params": params, "callpath": callpath, "metric": "time", "value": value})
                );
            };
            line("main->setup", 1e-3 * n);
            line("main->exchange", 2e-3 * p.log2());
            line(&deep(), 3.25e-2 + 1.75e-5 * n * n.log2() + 4.125e-4 * p * n.powf(0.5));
        }
    }
    text
}

fn world() -> World {
    let world = World::new();
    world.write("deep.jsonl", &measurements());
    world.write("expect.toml", "[[expect]]\ncallpath = \"*\"\nat_most = 1e9\n");
    world
}

/// Every command with a table of call paths.
const COMMANDS: [&[&str]; 5] = [
    &["report", "deep.jsonl"],
    &["model", "deep.jsonl"],
    &["predict", "deep.jsonl", "--at", "p=64,n=3200"],
    &["compare", "deep.jsonl", "deep.jsonl"],
    &["check", "deep.jsonl", "--expect", "expect.toml"],
];

/// The lines of the table: from its rule to the first line that is a sentence or empty.
fn rows(text: &str) -> Vec<&str> {
    let is_rule = |line: &&str| line.trim_start().starts_with('-') && line.chars().all(|c| c == '-' || c == ' ');
    let lines = text.lines().skip_while(|line| !is_rule(line)).skip(1);
    lines.take_while(|line| !line.is_empty() && !line.ends_with('.')).collect()
}

#[test]
fn in_a_pipe_every_call_path_is_a_whole_line_and_makes_no_other_line_long() {
    let mut world = world();
    for command in COMMANDS {
        let text = world.poise(command).status(0).stdout;
        // Shells that export it mean their terminal.
        world.set("COLUMNS", "70");
        assert_eq!(world.poise(command).status(0).stdout, text, "{command:?}");
        let rows = rows(&text);
        let whole = deep().replace("->", " -> ");
        let of_deep: Vec<&&str> = rows.iter().filter(|row| row.ends_with(&whole)).collect();
        assert_eq!(of_deep.len(), 1, "{command:?}:\n{text}");
        let others = rows.iter().filter(|row| !row.contains("solver_level"));
        let longest = others.map(|row| row.chars().count()).max().unwrap();
        assert!(longest < 200, "{command:?}, {longest}:\n{text}");
        assert!(!text.contains('…'), "nothing is cut: {text}");
    }
}

#[test]
fn tables_are_as_wide_as_the_option_says() {
    let world = world();
    for width in [60, 80, 120] {
        let option = ["--table-width".to_owned(), width.to_string()];
        for command in COMMANDS {
            let arguments = command.iter().map(|&word| word.to_owned()).chain(option.clone());
            let text = world.poise(arguments).status(0).stdout;
            for row in rows(&text) {
                assert!(row.chars().count() <= width, "{command:?} at {width}: {row}\n{text}");
            }
            // Sentences are broken at blanks, also those of the deep call path, whose name is as long as all the rest.
            for line in text.lines().filter(|line| !line.contains("solver_level")) {
                assert!(line.chars().count() <= width, "{command:?} at {width}: {line}\n{text}");
            }
            // What is said of columns is about those that are there.
            let header = text.lines().find(|line| line.contains("call path")).unwrap();
            let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(said.contains("`measured` the median"), header.contains("measured"), "{command:?}:\n{text}");
            assert_eq!(said.contains("Scatter: how far"), header.contains("scatter"), "{command:?}:\n{text}");
            assert!(
                command[0] != "report" || width < 80 || header.contains("interval"),
                "a prediction has its interval:\n{text}"
            );
            // The last name of the deep call path stays, or at least its end, and what is missing is said.
            let end = format!("solver_level_number_{}", DEPTH - 1);
            assert!(text.contains(if width < 80 { &end[end.len() - 4..] } else { &end }), "{command:?}:\n{text}");
            assert!(text.contains(&format!("To fit {width} columns: … stands for")), "{command:?}:\n{text}");
        }
    }
    // A file is kept and read elsewhere.
    world.poise(["model", "deep.jsonl", "-o", "models.txt"]).status(0);
    assert!(world.read("models.txt").contains(&deep().replace("->", " -> ")));
}

/// `script` of util-linux gives the command a pseudo-terminal.
#[test]
fn a_terminal_has_its_own_width() {
    let world = world();
    let seen_by = |command: &str| {
        let mut terminal =
            world.command("script", ["-qec", &format!("stty rows 40 columns 90; {command}"), "/dev/null"]);
        terminal.env("TERM", "xterm").stdin(std::process::Stdio::null());
        outcome(terminal.output().unwrap()).status(0).stdout.replace('\r', "")
    };
    assert!(seen_by("COLUMNS=70 poise model deep.jsonl").contains("To fit 70 columns:"));
    for command in ["poise report deep.jsonl", "poise model deep.jsonl"] {
        let seen = seen_by(command);
        let rows = rows(&seen);
        assert!(rows.len() >= 3 && rows.iter().all(|row| row.chars().count() <= 90), "{command}:\n{seen}");
        assert!(rows.iter().any(|row| row.chars().count() > 60), "the width is used: {seen}");
        assert!(seen.contains("To fit 90 columns:"), "{command}:\n{seen}");
    }
}
