//! What a program prints. It comes through pipes and is written to the run's files here: programs seldom look whether their
//! output could be written, and what a full disk has cut off would be taken for all that they said.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// How long what a program that has ended left in a pipe may take; who still holds it then is none of the run's processes.
const PATIENCE: Duration = Duration::from_secs(5);

/// Output that is being written.
pub struct Printed {
    written: [Receiver<io::Result<()>>; 2],
}

impl Printed {
    /// Lets a command that is going to be started write into these files of a folder. It holds the ends of the pipes until
    /// it is dropped.
    ///
    /// # Errors
    /// A file cannot be made, or there are no pipes or threads left.
    pub fn of(command: &mut Command, folder: &Path, output: &str, errors: &str) -> io::Result<Self> {
        let (from_output, to_output) = io::pipe()?;
        let (from_errors, to_errors) = io::pipe()?;
        command.stdout(to_output).stderr(to_errors);
        let file = |name: &str| File::create(folder.join(name));
        Ok(Self { written: [copy(from_output, file(output)?)?, copy(from_errors, file(errors)?)?] })
    }

    /// Waits until all is written that the program, which has ended, has printed.
    ///
    /// # Errors
    /// Not all of it could be written.
    pub fn settle(self) -> io::Result<()> {
        let end = Instant::now() + PATIENCE;
        let left = || end.saturating_duration_since(Instant::now());
        self.written.into_iter().try_for_each(|written| written.recv_timeout(left()).unwrap_or(Ok(())))
    }
}

/// Copies what comes through a pipe to its end, in a thread. Where it cannot be written the program may go on printing.
fn copy(mut pipe: io::PipeReader, mut file: File) -> io::Result<Receiver<io::Result<()>>> {
    let (send, receive) = mpsc::channel();
    thread::Builder::new().spawn(move || {
        let copied = io::copy(&mut pipe, &mut file);
        let has_failed = copied.is_err();
        // Nobody hears it where the run was interrupted.
        let _ = send.send(copied.map(drop));
        if has_failed {
            let _ = io::copy(&mut pipe, &mut io::sink());
        }
    })?;
    Ok(receive)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_written_in_its_file_and_what_cannot_be_written_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let run = |script: &str, output: &str| {
            let mut command = Command::new("sh");
            let printed = Printed::of(command.args(["-c", script]), folder.path(), output, "errors").unwrap();
            let mut child = command.spawn().unwrap();
            drop(command);
            let status = child.wait().unwrap();
            (status.code(), printed.settle().map_err(|error| error.raw_os_error()))
        };
        assert_eq!(run("seq 100000; echo no >&2; exit 3", "output"), (Some(3), Ok(())));
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(read("output"), (1..=100_000).map(|n| format!("{n}\n")).collect::<String>());
        assert_eq!(read("errors"), "no\n");
        // More than a pipe holds, and the program does not look.
        assert_eq!(run("seq 100000; exit 0", "/dev/full"), (Some(0), Err(Some(libc::ENOSPC))));
    }
}
