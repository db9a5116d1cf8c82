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
    clap_complete::generate(arguments.shell, &mut Cli::command(), "poise", &mut script);
    output::stream(arguments.output.as_deref(), |out| Ok(out.write_all(&script)?))
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
    let has_commands = command.has_subcommands();
    let version = concat!("Counterpoise ", env!("CARGO_PKG_VERSION"));
    let page = clap_mangen::Man::new(command).title(name).source(version).manual("Counterpoise");
    page.render_title(text)?;
    page.render_name_section(text)?;
    page.render_synopsis_section(text)?;
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
