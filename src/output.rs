//! Where results go: standard output, or a file that is written whole or not at all and never over another.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Read as _, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub use modeler::words::counted;

use crate::cli::ColorChoice;
use crate::error::{Error, Result};

/// Writes `text` to `destination`; none and `-` are standard output. A closed pipe, such as `| head` makes, is no error.
pub fn deliver(text: &str, destination: Option<&Path>) -> Result<()> {
    stream(destination, |out| Ok(out.write_all(text.as_bytes())?))
}

/// [`deliver`] to the file that `option` names, such as `--junit`.
pub fn deliver_by(option: &str, text: &str, path: &Path) -> Result<()> {
    stream_by(option, Some(path), |out| Ok(out.write_all(text.as_bytes())?))
}

/// Why something was not written to where it should go.
pub enum NotWritten {
    /// The destination refused.
    Io(io::Error),
    /// What was to be written could not be made.
    Other(Error),
}

impl From<io::Error> for NotWritten {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Writes what `content` gives to `destination`, as [`deliver`] does, without holding it in memory.
pub fn stream(
    destination: Option<&Path>,
    content: impl FnOnce(&mut dyn Write) -> Result<(), NotWritten>,
) -> Result<()> {
    stream_by("-o", destination, content)
}

fn stream_by(
    option: &str,
    destination: Option<&Path>,
    content: impl FnOnce(&mut dyn Write) -> Result<(), NotWritten>,
) -> Result<()> {
    if let Some(path) = destination.filter(|path| *path != Path::new("-")) {
        return write_new(path, option, content);
    }
    let mut out = BufWriter::with_capacity(BUFFER, io::stdout().lock());
    let written = match io::stdout().is_terminal() {
        true => {
            let mut shown = Vec::new();
            content(&mut shown)
                .and_then(|()| Ok(out.write_all(for_terminal(&String::from_utf8_lossy(&shown)).as_bytes())?))
        }
        false => content(&mut out),
    };
    match written.and_then(|()| Ok(out.flush()?)) {
        Err(NotWritten::Io(e)) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::cannot_write(Path::new("standard output"), &e))
        }
        Err(NotWritten::Other(error)) => Err(error),
        _ => Ok(()),
    }
}

/// Bytes gathered before they are handed to the operating system.
const BUFFER: usize = 1 << 18;

static COLOR: OnceLock<ColorChoice> = OnceLock::new();

/// Remembers what the command line says of colours.
pub fn set_color(choice: ColorChoice) {
    let _ = COLOR.set(choice);
}

/// Whether a stream is coloured: as the command line says, else on terminals where NO_COLOR is not set.
fn is_colored(stream: &impl IsTerminal) -> bool {
    match COLOR.get() {
        Some(ColorChoice::Always) => true,
        Some(ColorChoice::Never) => false,
        _ => stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
    }
}

fn is_stdout(destination: Option<&Path>) -> bool {
    destination.is_none_or(|path| path == Path::new("-"))
}

/// Whether what is written to `destination` is shown on a terminal.
pub fn is_terminal(destination: Option<&Path>) -> bool {
    is_stdout(destination) && io::stdout().is_terminal()
}

/// What makes a terminal write headings, and what follows them.
const BOLD: &str = "\u{1b}[1m";
const PLAIN: &str = "\u{1b}[0m";

/// A result as a terminal may show it: with headings, and with what else would move the cursor in names of inputs as numbers.
fn for_terminal(text: &str) -> String {
    let between = |part: &str| part.split(PLAIN).map(harmless).collect::<Vec<_>>().join(PLAIN);
    text.split(BOLD).map(between).collect::<Vec<_>>().join(BOLD)
}

/// A heading in a text for `destination`, as [`deliver`] takes it; files are never coloured.
pub fn heading(text: &str, destination: Option<&Path>) -> String {
    if is_stdout(destination) && is_colored(&io::stdout()) { format!("{BOLD}{text}{PLAIN}") } else { text.to_owned() }
}

static WIDTH: OnceLock<Option<u16>> = OnceLock::new();

/// Remembers how many columns the command line allows.
pub fn set_width(columns: Option<u16>) {
    let _ = WIDTH.set(columns);
}

/// How many columns a text for `destination` may have: as the command line says; on a terminal COLUMNS where that is set, or
/// else the terminal's; nothing in a pipe, even where COLUMNS is exported, and in files, which are kept.
pub fn width(destination: Option<&Path>) -> Option<usize> {
    if let Some(columns) = WIDTH.get().copied().flatten() {
        return Some(usize::from(columns));
    }
    let set = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|&columns: &usize| columns > 0);
    let of_terminal = || terminal_size::terminal_size().map(|(terminal_size::Width(columns), _)| usize::from(columns));
    is_terminal(destination).then(|| set().or_else(of_terminal).unwrap_or(USUAL_WIDTH))
}

/// Columns of a terminal that does not tell.
const USUAL_WIDTH: usize = 80;

/// Says something on standard error in a line of our own, in one write, so that it does not mix with what others say there. Where that is closed there is
/// nobody to tell.
pub fn say(message: impl std::fmt::Display) {
    let name = if is_colored(&io::stderr()) { "\u{1b}[1;33mpoise:\u{1b}[0m" } else { "poise:" };
    let _ = io::stderr().write_all(format!("{name} {}\n", harmless(&message.to_string())).as_bytes());
}

/// Shows what another program said, which ends its own lines.
pub fn pass_on(said: &str) {
    let _ = io::stderr().write_all(harmless(said).as_bytes());
}

/// A text of a program's or a user's with what would move a terminal's cursor, or worse, as numbers.
pub fn harmless(text: &str) -> Cow<'_, str> {
    let is_harmful = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| if is_harmful(c) { format!("\\u{{{:x}}}", u32::from(c)) } else { c.to_string() };
    Cow::Owned(text.chars().map(shown).collect())
}

/// A word as a shell would need it, for reading and pasting.
pub fn shown(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@%^".contains(c);
    let is_plain = !word.is_empty() && word.chars().all(plain);
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// A command as a shell would need it, for reading and pasting.
pub fn shown_command(words: &[String]) -> String {
    words.iter().map(|word| shown(word)).collect::<Vec<_>>().join(" ")
}

/// Writes a new file whole or not at all.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    write_new(path, "-o", |out| Ok(out.write_all(bytes)?))
}

/// Writes what `content` gives to a new file, which `option` names, whole or not at all.
fn write_new(path: &Path, option: &str, content: impl FnOnce(&mut dyn Write) -> Result<(), NotWritten>) -> Result<()> {
    // Devices and pipes, such as /dev/null, are written to, not replaced.
    let written = if path.metadata().is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        File::options().write(true).open(path).map_err(NotWritten::Io).and_then(|file| fill(file, content).map(|_| ()))
    } else {
        write_beside(path, content)
    };
    written.map_err(|error| match error {
        NotWritten::Io(e) if e.kind() == io::ErrorKind::AlreadyExists => exists(path, option),
        NotWritten::Io(e) => Error::cannot_write(path, &e),
        NotWritten::Other(error) => error,
    })
}

/// The error that there is a file at `path`, which `option` names, already.
fn exists(path: &Path, option: &str) -> Error {
    Error::Usage(format!("{} exists and is not overwritten. Choose another name with {option}.", path.display()))
}

/// Whether a new file can come to be at `path`, which `option` names; asked before work that takes long.
pub fn check_new(path: &Path, option: &str) -> Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path == Path::new("-") && option == "-o" || path.metadata().is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        Ok(())
    } else if path.symlink_metadata().is_ok() {
        Err(exists(path, option))
    } else {
        let is_folder = folder.metadata().and_then(|found| match found.is_dir() {
            true => Ok(()),
            false => Err(io::Error::from_raw_os_error(libc::ENOTDIR)),
        });
        is_folder.map_err(|e| Error::cannot_write(path, &e))
    }
}

/// Writes to a hidden file beside `path` and links it to that name when it is complete.
fn write_beside(path: &Path, content: impl FnOnce(&mut dyn Write) -> Result<(), NotWritten>) -> Result<(), NotWritten> {
    use std::os::unix::fs::PermissionsExt;
    // Hours of fitting should not end in this error.
    if path.symlink_metadata().is_ok() {
        return Err(io::Error::from(io::ErrorKind::AlreadyExists).into());
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let permissions = std::fs::Permissions::from_mode(0o644);
    let file = tempfile::Builder::new().prefix(".poise-").permissions(permissions).tempfile_in(folder)?;
    let file = fill(file, content)?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path).map_err(|e| e.error)?;
    Ok(())
}

/// Writes `content` to `file` and gives that back.
fn fill<W: Write>(file: W, content: impl FnOnce(&mut dyn Write) -> Result<(), NotWritten>) -> Result<W, NotWritten> {
    let mut out = BufWriter::with_capacity(BUFFER, file);
    content(&mut out)?;
    Ok(out.into_inner().map_err(io::IntoInnerError::into_error)?)
}

/// [`check_new`] of those files that are asked for, each with its option.
pub fn check_all_new<'a>(files: impl IntoIterator<Item = (&'a Option<PathBuf>, &'a str)>) -> Result<()> {
    let mut asked = files.into_iter().filter_map(|(file, option)| Some((file.as_deref()?, option)));
    asked.try_for_each(|(file, option)| check_new(file, option))
}

/// Whether a new folder can come to be at `path`; asked before work that takes long.
pub fn check_new_folder(path: &Path) -> Result<()> {
    match path.symlink_metadata() {
        Ok(_) => Err(Error::Usage(format!(
            "{} exists; results are never overwritten. Choose another folder, or remove it.",
            path.display()
        ))),
        Err(_) => Ok(()),
    }
}

/// Creates a folder that must not exist yet, its parents included.
pub fn new_folder(path: &Path) -> Result<()> {
    check_new_folder(path)?;
    std::fs::create_dir_all(path).map_err(|e| Error::cannot_write(path, &e))
}

/// The last 64 KiB of a file as text.
///
/// # Errors
/// It cannot be read.
pub fn end_of(path: &Path) -> io::Result<String> {
    const MOST: u64 = 1 << 16;
    let mut file = File::open(path)?;
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(MOST)))?;
    let mut text = Vec::new();
    file.take(MOST).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_move_the_cursor_is_shown_as_a_number() {
        assert_eq!(harmless("a\u{1b}]0;t\u{7}\tb\nc é"), "a\\u{1b}]0;t\\u{7}\tb\nc é");
    }

    #[test]
    fn headings_are_all_that_results_do_to_a_terminal() {
        let heading = format!("{BOLD}ti\u{1b}[31mme [s]{PLAIN}\nsk\u{1b}]0;t\u{7}ip é\n{BOLD}n{PLAIN}\n");
        let shown = "\u{1b}[1mti\\u{1b}[31mme [s]\u{1b}[0m\nsk\\u{1b}]0;t\\u{7}ip é\n\u{1b}[1mn\u{1b}[0m\n";
        assert_eq!(for_terminal(&heading), shown);
    }

    #[test]
    fn files_are_new_and_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.json");
        deliver("first", Some(&path)).unwrap();
        let second = deliver("second", Some(&path)).unwrap_err();
        assert!(second.to_string().contains("is not overwritten. Choose another name with -o."), "{second}");
        let other = deliver_by("--junit", "second", &path).unwrap_err();
        assert!(other.to_string().ends_with("Choose another name with --junit."), "{other}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "first");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
        deliver("gone", Some(Path::new("/dev/null"))).unwrap();
        assert!(deliver("x", Some(&folder.path().join("no/such/folder"))).is_err());
    }
}
