//! Completions and manual pages: made of the argument table, and understood by the shell and the formatter that use them.

mod common;

use common::{World, outcome};

/// Every command that `--help` lists has a page of its own, in which all of its flags stand.
#[test]
fn every_command_has_a_manual_page_with_all_its_flags() {
    let world = World::new();
    world.poise(["man", "pages"]).status(0);
    let help = world.poise(["--help"]).status(0).stdout;
    let commands = help.lines().skip_while(|l| *l != "Commands:").skip(1).take_while(|l| !l.is_empty());
    // Descriptions that do not fit go on in lines that begin further right.
    let commands = commands.filter_map(|l| l.strip_prefix("  ").filter(|l| !l.starts_with(' ')));
    let commands: Vec<&str> = commands.filter_map(|l| l.split(' ').next()).filter(|c| *c != "help").collect();
    assert!(commands.contains(&"model") && commands.contains(&"c++"), "{commands:?}");
    for command in commands {
        let page = world.read(&format!("pages/poise-{command}.1")).replace("\\-", "-");
        // What the wrappers take belongs to the compiler.
        if !["cc", "c++", "fc"].contains(&command) {
            let help = world.poise([command, "--help"]).status(0).stdout;
            let flags = help.split_whitespace().filter(|w| w.starts_with("--") && w.len() > 2);
            for flag in flags.map(|f| f.trim_end_matches([',', '.', ')', '`', ';', ':'])) {
                assert!(page.contains(flag), "{command} {flag}");
            }
        }
        assert!(page.contains(".SH DESCRIPTION"), "{command}");
    }
    for inner in ["poise-bench-generate.1", "poise-bench-validate.1", "poise.1"] {
        assert!(world.names("pages").contains(&inner.to_owned()), "{inner}");
    }
    assert!(
        !world.names("pages").iter().any(|n| n.contains("help") || n.contains("task")),
        "commands that no person calls"
    );
    // What a command is called with, and the names of the values of its options.
    let synopsis = |page: &str| {
        let text = world.read(page).replace("\\-", "-").replace("\\fB", "").replace("\\fI", "").replace("\\fR", "");
        text.split(".SH ").find(|part| part.starts_with("SYNOPSIS")).unwrap().lines().nth(1).unwrap().to_owned()
    };
    let of_check = synopsis("pages/poise-check.1");
    assert!(of_check.starts_with("poise check --expect FILE.toml [--junit FILE.xml] [--level LEVEL] "), "{of_check}");
    assert!(of_check.contains(" [-o|--output FILE]") && of_check.ends_with(" INPUT..."), "{of_check}");
    assert!(synopsis("pages/poise-bench.1").ends_with(" COMMAND"));
    // A second time, over pages of an earlier version.
    world.poise(["man", "pages"]).status(0);
    let one = world.poise(["man"]).status(0).stdout;
    assert_eq!(one, world.read("pages/poise.1"));
}

/// On a terminal of any usual width examples keep their lines, and no command's help is wider than it.
#[test]
fn help_fits_the_terminal() {
    let mut world = World::new();
    world.poise(["man", "pages"]).status(0);
    let commands = [
        "doctor", "run", "model", "predict", "compare", "check", "advise", "analyze", "absorb", "phases", "detect",
        "import", "export", "report",
    ];
    for width in [80, 120] {
        world.set("COLUMNS", &width.to_string());
        let examples = |text: &str| {
            let lines = text.lines().filter(|line| line.starts_with("  poise ")).map(str::to_owned).collect::<Vec<_>>();
            (lines, text.lines().map(|line| line.chars().count()).max().unwrap_or(0))
        };
        for arguments in [vec!["--help"]].into_iter().chain(commands.iter().map(|c| vec![*c, "--help"])) {
            let help = world.poise(&arguments).status(0).stdout;
            let (lines, widest) = examples(&help);
            assert!(widest <= width, "{arguments:?} at {width}: {help}");
            // The manual page has them as they were written.
            let name = if arguments.len() == 1 { "poise".to_owned() } else { format!("poise-{}", arguments[0]) };
            let written =
                world.read(&format!("pages/{name}.1")).replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\");
            for line in &lines {
                assert!(written.contains(&format!("\\&{line}\n")), "{arguments:?}: {line}");
            }
        }
    }
}

/// Bash itself completes with them.
#[test]
fn bash_completes_commands_flags_and_values() {
    let world = World::new();
    world.poise(["completions", "bash", "-o", "poise.bash"]).status(0);
    let complete = |words: &[&str]| {
        let (last, before) = (words[words.len() - 1], words[words.len() - 2]);
        let script = format!(
            "source ./poise.bash; COMP_WORDS=({}); COMP_CWORD={}; _poise poise '{last}' '{before}'; echo \"${{COMPREPLY[@]}}\"",
            words.iter().map(|w| format!("'{w}'")).collect::<Vec<_>>().join(" "),
            words.len() - 1
        );
        let shell = world.command("bash", ["--norc", "-c", &script]).output().unwrap();
        outcome(shell).status(0).stdout.trim().to_owned()
    };
    assert_eq!(complete(&["poise", "imp"]), "import");
    assert_eq!(complete(&["poise", "model", "--input-f"]), "--input-format");
    assert_eq!(complete(&["poise", "predict", "--method", ""]), "auto effort time extra-p");
    assert_eq!(complete(&["poise", "report", "--input-format", "cal"]), "cali caliper-json");
    assert_eq!(complete(&["poise", "bench", "validate", "--qui"]), "--quick --quiet");
    // What the shell offers is what is written, and help lists it.
    let formats = complete(&["poise", "export", "--to", ""]);
    let help = world.poise(["export", "--help"]).status(0).stdout;
    world.write(
        "one.txt",
        "PARAMETER p\nPOINTS 1 2 4 8 16\nREGION main\nMETRIC time\nDATA 1\nDATA 2\nDATA 4\nDATA 8\nDATA 16\n",
    );
    for format in formats.split(' ') {
        assert!(help.contains(format), "{format}");
        let written = world.poise(["export", "one.txt", "--to", format, "-o", &format!("one.{format}")]);
        // Parquet is a feature of the build, which is said where it lacks.
        let is_named = format == "parquet" && written.stderr.contains("cargo build --release --features parquet");
        assert!(written.status == Some(0) || is_named, "{format}: {}", written.stderr);
    }
    assert!(formats.contains("extrap-jsonl") && formats.contains("csv"), "{formats}");
    let unknown = world.poise(["export", "one.txt", "--to", "extrap-jsonlines"]).status(2).stderr;
    assert!(unknown.contains("a similar value exists: 'extrap-jsonl'"), "{unknown}");
    // What only the jobs of a study call is offered in no shell.
    assert_eq!(complete(&["poise", "ta"]), "");
    for (shell, mark) in [("bash", "_poise"), ("zsh", "#compdef poise"), ("fish", "complete -c poise")] {
        let script = world.poise(["completions", shell]).status(0).stdout;
        assert!(script.contains(mark) && !script.contains("as a job's task"), "{shell}");
    }
    assert!(world.poise(["completions", "cmd"]).status(2).stderr.contains("zsh"));
}
