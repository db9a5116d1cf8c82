//! What a program prints. It comes through pipes and is written to the run's files here: programs seldom look whether their
//! output could be written, and what a full disk has cut off would be taken for all that they said.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read as _};
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::interrupt;

/// How long a disk that does not answer is waited for when the user has interrupted.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often one looks whether the user has.
const LOOK: Duration = Duration::from_millis(20);

/// Output that is being written.
pub struct Printed {
    written: [Receiver<io::Result<()>>; 2],
    /// Closed when the program has ended.
    runs: PipeWriter,
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
        let (end, runs) = io::pipe()?;
        command.stdout(to_output).stderr(to_errors);
        let file = |name: &str| File::create(folder.join(name));
        let written = [copy(from_output, end.try_clone()?, file(output)?)?, copy(from_errors, end, file(errors)?)?];
        Ok(Self { written, runs })
    }

    /// Waits until all is written that the program, which has ended, has printed; however long the disk takes. Who still holds a
    /// pipe is none of the run's processes, and is not waited for.
    ///
    /// # Errors
    /// Not all of it could be written.
    pub fn settle(self) -> io::Result<()> {
        drop(self.runs);
        let begun = Instant::now();
        self.written.into_iter().try_for_each(|written| {
            loop {
                match written.recv_timeout(LOOK) {
                    Ok(result) => return result,
                    Err(RecvTimeoutError::Timeout) if interrupt::received().is_none() || begun.elapsed() < PATIENCE => {
                    }
                    Err(_) => return Err(io::Error::other("what the program has printed is not written yet")),
                }
            }
        })
    }
}

/// Copies what comes through a pipe until its end, or until the program's, in a thread. Where it cannot be written the program
/// may go on printing, and so may what the program has left behind.
fn copy(mut pipe: PipeReader, end: PipeReader, mut file: File) -> io::Result<Receiver<io::Result<()>>> {
    let (send, receive) = mpsc::channel();
    thread::Builder::new().spawn(move || {
        let copied = copy_until(&mut pipe, &end, &mut file);
        // Nobody hears it where the run was interrupted.
        let _ = send.send(copied);
        drop(file);
        let _ = io::copy(&mut pipe, &mut io::sink());
    })?;
    Ok(receive)
}

/// Copies from a pipe until it ends, or until `end` does and all is written that was in the pipe then.
fn copy_until(pipe: &mut PipeReader, end: &PipeReader, file: &mut File) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let entry = |reader: &PipeReader| libc::pollfd { fd: reader.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let mut either = [entry(pipe), entry(end)];
        // SAFETY: both entries live through the call.
        if unsafe { libc::poll(either.as_mut_ptr(), 2, -1) } < 0 {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            return Err(error);
        }
        if either[1].revents != 0 {
            let mut left = 0;
            // SAFETY: the number lives through the call, which writes one.
            if unsafe { libc::ioctl(pipe.as_raw_fd(), libc::FIONREAD, &raw mut left) } < 0 {
                return Err(io::Error::last_os_error());
            }
            return io::copy(&mut pipe.take(u64::try_from(left).unwrap_or(0)), file).map(drop);
        }
        match pipe.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => io::Write::write_all(file, &buffer[..count])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
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
    /// What a program leaves behind, which is none of the run's processes, may hold its output for ever, and print.
    #[test]
    fn who_holds_the_output_after_the_end_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        for others in ["sleep 60", "yes"] {
            let script = format!("seq 10000; {others} >&1 & echo $! >&2");
            let mut command = Command::new("sh");
            let printed = Printed::of(command.args(["-c", &script]), folder.path(), "output", "errors").unwrap();
            let mut child = command.spawn().unwrap();
            drop(command);
            child.wait().unwrap();
            let begun = Instant::now();
            printed.settle().unwrap();
            let elapsed = begun.elapsed();
            let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
            let left = read("errors").trim().parse().unwrap();
            // SAFETY: the call takes numbers alone; the process is the test's own and has not ended.
            unsafe { libc::kill(left, libc::SIGKILL) };
            assert!(elapsed < Duration::from_secs(2), "{elapsed:?}");
            let numbers: String = (1..=10_000).map(|n| format!("{n}\n")).collect();
            assert!(read("output").starts_with(&numbers), "all that the program printed itself");
        }
    }

    /// A named pipe that nobody reads takes as little as a disk that does not answer.
    #[test]
    fn a_disk_that_stalls_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let mut disk = File::options().read(true).write(true).open(&path).unwrap();
        let mut command = Command::new("sh");
        let printed =
            Printed::of(command.args(["-c", "head -c 100000 /dev/zero"]), folder.path(), "output", "errors").unwrap();
        let mut child = command.spawn().unwrap();
        drop(command);
        child.wait().unwrap();
        let begun = Instant::now();
        let reader = thread::spawn(move || {
            thread::sleep(Duration::from_secs(6));
            disk.read_exact(&mut vec![0; 100_000]).unwrap();
        });
        printed.settle().unwrap();
        assert!(begun.elapsed() >= Duration::from_secs(6), "{:?}", begun.elapsed());
        reader.join().unwrap();
    }
}
