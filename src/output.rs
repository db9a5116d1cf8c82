//! Where results go: standard output, or a file that is written whole or not at all and never over another.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::OnceLock;

use crate::cli::ColorChoice;
use crate::error::{Error, Result};

/// Writes `text` to `destination`; none and `-` are standard output. A closed pipe, such as `| head` makes, is no error.
pub fn deliver(text: &str, destination: Option<&Path>) -> Result<()> {
    match destination {
        Some(path) if path != Path::new("-") => write_file(path, text.as_bytes()),
        _ => match io::stdout().lock().write_all(text.as_bytes()) {
            Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
                Err(Error::cannot_write(Path::new("standard output"), &e))
            }
            _ => Ok(()),
        },
    }
}

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

/// A heading in a text for `destination`, as [`deliver`] takes it; files are never coloured.
pub fn heading(text: &str, destination: Option<&Path>) -> String {
    let is_stdout = destination.is_none_or(|path| path == Path::new("-"));
    if is_stdout && is_colored(&io::stdout()) { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
}

/// Says something on standard error in a line of our own. Where that is closed there is nobody to tell.
pub fn say(message: impl std::fmt::Display) {
    let name = if is_colored(&io::stderr()) { "\u{1b}[1;33mpoise:\u{1b}[0m" } else { "poise:" };
    let _ = writeln!(io::stderr(), "{name} {message}");
}

/// Writes a new file whole or not at all.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let fail = |e: &io::Error| match e.kind() {
        io::ErrorKind::AlreadyExists => {
            Error::Usage(format!("{} exists and is not overwritten. Choose another name with -o.", path.display()))
        }
        _ => Error::cannot_write(path, e),
    };
    // Devices and pipes, such as /dev/null, are written to, not replaced.
    if path.metadata().is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        return File::options().write(true).open(path).and_then(|mut f| f.write_all(bytes)).map_err(|e| fail(&e));
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let permissions = std::fs::Permissions::from_mode(0o644);
        let mut file = tempfile::Builder::new().prefix(".poise-").permissions(permissions).tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist_noclobber(path).map_err(|e| e.error)?;
        Ok(())
    };
    write().map_err(|e| fail(&e))
}

/// Creates a folder that must not exist yet, its parents included.
pub fn new_folder(path: &Path) -> Result<()> {
    if path.symlink_metadata().is_ok() {
        return Err(Error::Usage(format!(
            "{} exists; results are never overwritten. Choose another folder, or remove it.",
            path.display()
        )));
    }
    std::fs::create_dir_all(path).map_err(|e| Error::cannot_write(path, &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_new_and_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.json");
        deliver("first", Some(&path)).unwrap();
        let second = deliver("second", Some(&path)).unwrap_err();
        assert!(second.to_string().contains("is not overwritten"), "{second}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "first");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
        deliver("gone", Some(Path::new("/dev/null"))).unwrap();
        assert!(deliver("x", Some(&folder.path().join("no/such/folder"))).is_err());
    }
}
