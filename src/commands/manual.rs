//! `poise completions` and `poise man`: completions for shells and manual pages, both made of the argument table.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::error::{Error, Result};
use crate::output;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  source <(poise completions bash)
  poise completions zsh -o ~/.zfunc/_poise
  poise completions fish -o ~/.config/fish/completions/poise.fish")]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: Shell,
    /// Write to this file instead of standard output (`-`); an existing file is not overwritten.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  poise man | man -l -
  poise man ~/.local/share/man/man1")]
pub struct ManArgs {
    /// Folder for one page for each command, which replace those of an earlier version; without it, the page of poise
    /// itself goes to standard output.
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

/// Writes what completes `poise` in a shell.
pub fn completions(arguments: &CompletionsArgs) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut offered(), "poise", &mut script);
    output::stream(arguments.output.as_deref(), |out| Ok(out.write_all(&script)?))
}

/// The commands that people call: completions offer all that they are given, those hidden from help too.
fn offered() -> clap::Command {
    let all = Cli::command();
    let shown = all.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    clap::Command::new("poise").version(env!("CARGO_PKG_VERSION")).args(all.get_arguments().cloned()).subcommands(shown)
}

/// Writes manual pages.
pub fn man(arguments: &ManArgs) -> Result<()> {
    let mut poise = Cli::command().disable_help_subcommand(true);
    // Names of the commands inside become `poise-model`, as their pages are called.
    poise.build();
    let Some(folder) = &arguments.folder else {
        return output::deliver(&page(poise)?, None);
    };
    fs::create_dir_all(folder).map_err(|e| Error::cannot_write(folder, &e))?;
    pages(poise, folder)
}

/// Writes the page of `command` and those of the commands inside that people call.
fn pages(command: clap::Command, folder: &Path) -> Result<()> {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        pages(inner.clone(), folder)?;
    }
    let path = folder.join(format!("{}.1", page_name(&command)));
    fs::write(&path, page(command)?).map_err(|e| Error::cannot_write(&path, &e))
}

fn page_name(command: &clap::Command) -> String {
    command.get_display_name().unwrap_or(command.get_name()).to_owned()
}

fn page(command: clap::Command) -> Result<String> {
    let mut text = Vec::new();
    render(command, &mut text).map_err(|e| Error::Defect(format!("A manual page cannot be made: {e}.")))?;
    String::from_utf8(text).map_err(|e| Error::Defect(format!("A manual page is no text: {e}.")))
}

fn render(command: clap::Command, text: &mut Vec<u8>) -> std::io::Result<()> {
    let (name, more) = (page_name(&command), command.get_after_help().map(ToString::to_string));
    let (has_commands, synopsis) = (command.has_subcommands(), synopsis(&command));
    let version = concat!("Counterpoise ", env!("CARGO_PKG_VERSION"));
    let page = clap_mangen::Man::new(command).title(name).source(version).manual("Counterpoise");
    page.render_title(text)?;
    page.render_name_section(text)?;
    text.extend(synopsis.bytes());
    page.render_description_section(text)?;
    page.render_options_section(text)?;
    if has_commands {
        page.render_subcommands_section(text)?;
    }
    if let Some(more) = more {
        text.extend(as_typed(&more).bytes());
    }
    Ok(())
}

/// How the command is called: options in brackets with the names of their values, as those of the page's options section.
fn synopsis(command: &clap::Command) -> String {
    let escaped = |text: &str| text.replace('\\', "\\e").replace('-', "\\-");
    let values = |argument: &clap::Arg| -> Vec<String> {
        if !argument.get_action().takes_values() {
            return Vec::new();
        }
        let own = argument.get_value_names().unwrap_or_default();
        own.iter().map(|name| format!("\\fI{}\\fR", escaped(name))).collect()
    };
    let shown = || command.get_arguments().filter(|argument| !argument.is_hide_set());
    let option = |argument: &clap::Arg| {
        let long = argument.get_long().map(|name| format!("\\-\\-{}", escaped(name)));
        let short = argument.get_short().map(|letter| format!("\\-{letter}"));
        let names: Vec<String> = [short, long].into_iter().flatten().map(|name| format!("\\fB{name}\\fR")).collect();
        let words: Vec<String> = [names.join("|")].into_iter().chain(values(argument)).collect();
        let whole = words.join(" ");
        if argument.is_required_set() { whole } else { format!("[{whole}]") }
    };
    let positional = |argument: &clap::Arg| {
        let many = argument.get_num_args().is_some_and(|range| range.max_values() > 1);
        let whole = values(argument).join(" ") + if many { "..." } else { "" };
        if argument.is_required_set() { whole } else { format!("[{whole}]") }
    };
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let words = [format!("\\fB{}\\fR", escaped(name))]
        .into_iter()
        .chain(shown().filter(|a| !a.is_positional()).map(option))
        .chain(shown().filter(|a| a.is_positional()).map(positional))
        .chain(command.has_subcommands().then(|| "\\fICOMMAND\\fR".to_owned()));
    format!(".SH SYNOPSIS\n{}\n", words.collect::<Vec<_>>().join(" "))
}

/// Examples, which are indented, keep their lines; sentences are filled.
fn as_typed(text: &str) -> String {
    let escaped = |line: &str| line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    let line = |line: &str| match line.starts_with(' ') {
        true => format!(".nf\n\\&{}\n.fi\n", escaped(line)),
        false => format!(".PP\n\\&{}\n", escaped(line)),
    };
    let lines: String = text.lines().map(line).collect();
    format!(".SH EXAMPLES AND NOTES\n{}", lines.replace(".fi\n.nf\n", ""))
}
