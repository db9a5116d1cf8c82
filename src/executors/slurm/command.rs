//! Slurm's commands. Where its controller is away or busy they try again by themselves, for up to two minutes: the user is
//! told what is waited for, and an interruption does not wait for them.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::interrupt;

/// A controller that is there answers sooner.
const SOON: Duration = Duration::from_secs(5);
/// What an interrupted command has to end by itself: a job that was just taken is told with its number.
const LAST: Duration = Duration::from_millis(300);

/// How a command ended.
pub struct Ended {
    /// Its status.
    pub status: ExitStatus,
    /// What it printed.
    pub output: String,
    /// What it said on standard error.
    pub errors: String,
}

/// Hears, once, that a command takes long: its name, and what it has said last, if anything.
pub type Tell<'a> = &'a mut dyn FnMut(&str, &str) -> Result<()>;

/// Runs a command to its end.
///
/// # Errors
/// It cannot be started, or the user interrupted: it has been ended then.
pub fn run(program: &str, arguments: &[String], tell: Tell) -> Result<Ended> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // The terminal's Ctrl-C reaches this process alone, which sees to the command.
    command.process_group(0);
    let parent = std::process::id();
    let with_parent = move || {
        // SAFETY: these calls take numbers alone and may be made between fork and exec.
        unsafe {
            // No job comes into the queue after the process that would know of it.
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() as u32 != parent {
                libc::raise(libc::SIGKILL);
            }
        }
        Ok(())
    };
    // SAFETY: the closure makes system calls alone, and allocates nothing.
    unsafe { command.pre_exec(with_parent) };
    let mut child = command.spawn().map_err(|e| {
        Error::Usage(format!("Cannot start {program}: {e}. The executor \"slurm\" needs Slurm's commands on the PATH."))
    })?;
    let (mut output, errors) = (Vec::new(), Mutex::new(String::new()));
    let status = thread::scope(|scope| {
        // Both are read as they come, since a pipe holds little.
        let readers = [
            child.stdout.take().map(|mut pipe| {
                let output = &mut output;
                thread::Builder::new().spawn_scoped(scope, move || drop(pipe.read_to_end(output)))
            }),
            child.stderr.take().map(|pipe| {
                let errors = &errors;
                thread::Builder::new().spawn_scoped(scope, move || {
                    for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
                        let mut errors = errors.lock().unwrap_or_else(PoisonError::into_inner);
                        errors.push_str(&String::from_utf8_lossy(&line));
                        errors.push('\n');
                    }
                })
            }),
        ];
        let no_thread = |e| Error::Usage(format!("Cannot start a thread that reads what {program} says: {e}."));
        let begun = readers.into_iter().flatten().try_for_each(|reader| reader.map(drop).map_err(no_thread));
        let status = begun.and_then(|()| {
            wait(&mut child, &mut || {
                let last = errors.lock().unwrap_or_else(PoisonError::into_inner).lines().last().map(str::to_owned);
                tell(program, &last.unwrap_or_default())
            })
        });
        if status.is_err() {
            end(&mut child);
        }
        status
    })?;
    let errors = errors.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Ended { status, output: String::from_utf8_lossy(&output).into_owned(), errors })
}

/// Ends a command, and what it has started: what sbatch a script of the site's has started would submit, and keep the
/// pipes open.
fn end(child: &mut Child) {
    if let Ok(group) = libc::pid_t::try_from(child.id()) {
        // SAFETY: the call takes numbers alone. A child that has not been waited for keeps its number, which is its group's.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
    let _ = child.wait();
}

fn wait(child: &mut Child, tell: &mut dyn FnMut() -> Result<()>) -> Result<ExitStatus> {
    let begun = Instant::now();
    let mut interrupted: Option<Instant> = None;
    let mut is_told = false;
    loop {
        let state = child.try_wait();
        if let Some(status) = state.map_err(|e| Error::Defect(format!("Waiting for a command failed: {e}.")))? {
            return Ok(status);
        }
        if interrupt::received().is_some() && interrupted.get_or_insert_with(Instant::now).elapsed() > LAST {
            interrupt::check()?;
        }
        if !is_told && begun.elapsed() > SOON {
            is_told = true;
            tell()?;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_long_is_told_once_and_ended_whole_and_much_output_is_read() {
        let script = "echo first >&2; echo second >&2; sleep 6; seq 100000; echo third >&2; exit 3";
        let mut told = Vec::new();
        let ended = run("sh", &["-c".into(), script.into()], &mut |program, last| {
            told.push(format!("{program}: {last}"));
            Ok(())
        });
        let ended = ended.unwrap();
        assert_eq!(told, ["sh: second"]);
        assert_eq!(ended.status.code(), Some(3));
        assert_eq!(ended.errors, "first\nsecond\nthird\n");
        assert_eq!(ended.output.lines().count(), 100_000);
        let begun = Instant::now();
        let interrupted = run("sh", &["-c".into(), "sleep 30; true".into()], &mut |_, _| Err(Error::Interrupted(2)));
        assert!(matches!(interrupted, Err(Error::Interrupted(2))));
        assert!(begun.elapsed() < SOON * 3, "what it has started is ended, too: {:?}", begun.elapsed());
        let missing = run("no-such-command", &[], &mut |_, _| Ok(())).err().unwrap();
        assert!(missing.to_string().contains("Cannot start no-such-command"), "{missing}");
    }
}
