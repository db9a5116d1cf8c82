//! Micro-benchmarks of single instructions: a list of assembly instructions in, their throughput out.
//!
//! Instructions are written many times into a loop of a small program, which is assembled with the compiler found on
//! this machine and run as a child process, so that an instruction that the processor does not have ends the child and
//! not us. Times become core cycles by a chain of multiplications measured beside each sample.

mod program;
mod registers;

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Output};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::run;
use crate::run::misfortune::End;

pub use registers::independent;

/// What is timed: instructions that are executed one after the other, in Intel's or AT&T's syntax.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// The instructions.
    pub instructions: Vec<String>,
}

/// The syntax of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// The destination first, as in manuals.
    Intel,
    /// The destination last, names with percent signs.
    Att,
}

/// What one body took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// Core cycles per instruction: median, and first and third quartile over the samples.
    pub cycles: [f64; 3],
    /// Nanoseconds per instruction, the median.
    pub nanoseconds: f64,
}

/// Compilers that can assemble, in the order in which they are tried.
const COMPILERS: [&str; 4] = ["clang-19", "clang", "cc", "gcc"];
/// Quartiles further apart than this share of the median are those of a disturbed measurement.
const DISTURBED: f64 = 0.1;
/// How often what was disturbed is timed again.
const AGAIN: usize = 3;
/// So long the timing of some bodies may take, and of each of them: many times a tenth of a second, which it takes.
const LIMITS: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(2));
/// Signals of a child that met an instruction that does not exist, or an address that does not.
const SIGILL: i32 = 4;
const SIGSEGV: i32 = 11;
const SIGFPE: i32 = 8;

impl Timing {
    /// The distance of the quartiles as a share of the median.
    fn spread(&self) -> f64 {
        let [middle, low, high] = self.cycles;
        (high - low) / middle
    }

    /// Whether the samples agree well enough to be compared with others.
    pub fn is_steady(&self) -> bool {
        self.spread() <= DISTURBED
    }
}

/// Times each of `bodies` hot; those that something disturbed again, a few times, and the steadiest time counts.
///
/// # Errors
/// As those of [`once`].
pub fn time(bodies: &[Body], syntax: Syntax) -> Result<Vec<Timing>> {
    let mut timings = once(bodies, syntax)?;
    for _ in 0..AGAIN {
        let disturbed: Vec<usize> = (0..bodies.len()).filter(|&i| !timings[i].is_steady()).collect();
        if disturbed.is_empty() {
            break;
        }
        let those: Vec<Body> = disturbed.iter().map(|&i| bodies[i].clone()).collect();
        for (i, timing) in disturbed.into_iter().zip(once(&those, syntax)?) {
            if timing.spread() < timings[i].spread() {
                timings[i] = timing;
            }
        }
    }
    Ok(timings)
}

/// For each of `bodies` whether the processor has its instructions.
///
/// # Errors
/// As those of [`time`], but for instructions that the processor does not have.
pub fn are_there(bodies: &[Body], syntax: Syntax) -> Result<Vec<bool>> {
    bodies.iter().map(|body| attempt(std::slice::from_ref(body), syntax).map(|ran| ran.is_ok())).collect()
}

/// Times each of `bodies` hot, one after the other.
///
/// # Errors
/// This is no x86-64, there is no compiler, the assembler refuses an instruction, or the processor does not have it.
fn once(bodies: &[Body], syntax: Syntax) -> Result<Vec<Timing>> {
    attempt(bodies, syntax)?.map_err(|Missing(named)| {
        Error::Usage(format!(
            "This processor does not have the instruction `{named}`, or one after it. The flags in /proc/cpuinfo say what it has."
        ))
    })
}

/// The first instruction of a body that the processor cannot execute.
struct Missing(String);

/// As [`once`], with what the processor does not have told apart from all else that may go wrong.
fn attempt(bodies: &[Body], syntax: Syntax) -> Result<Result<Vec<Timing>, Missing>> {
    if !cfg!(target_arch = "x86_64") {
        return Err(Error::Usage("Instructions can be timed on x86-64 only.".into()));
    }
    if let Some(bad) = bodies.iter().flat_map(|b| &b.instructions).find_map(|i| registers::refusal(i)) {
        return Err(Error::Usage(bad));
    }
    let folder = tempfile::tempdir().map_err(|e| Error::cannot_write(Path::new("a temporary folder"), &e))?;
    let (source, binary) = (folder.path().join("bench.c"), folder.path().join("bench"));
    std::fs::write(&source, program::source(bodies, syntax, has_avx()))
        .map_err(|e| Error::cannot_write(&source, &e))?;
    let built = compile(&source, &binary)?;
    if !built.status.success() {
        return Err(refused(bodies, &String::from_utf8_lossy(&built.stderr)));
    }
    let limit = LIMITS.0 + LIMITS.1 * bodies.len() as u32;
    let printed = folder.path().join("printed");
    let output = File::create(&printed).map_err(|e| Error::cannot_write(&printed, &e))?;
    let ended = run::supervise_unmeasured(Command::new(&binary).stdout(output), folder.path(), limit)?;
    let printed = std::fs::read_to_string(&printed).map_err(|e| Error::cannot_read(&printed, &e))?;
    match ended.how {
        End::Itself(status) if status.success() => parse(&printed, bodies.len()).map(Ok),
        End::Itself(status) => died(bodies, &printed, status).map(Err),
        End::NotStarted(why) => Err(Error::Usage(format!("Cannot start {}: {why}.", binary.display()))),
        _ => Err(Error::Usage(format!(
            "`{}`, or one after it, had not ended after {} s.",
            at(bodies, &printed),
            limit.as_secs()
        ))),
    }
}

/// The first instruction of the body at which the program was that has `printed` so much.
fn at<'a>(bodies: &'a [Body], printed: &str) -> &'a str {
    let body = bodies.get(printed.lines().count()).and_then(|body| body.instructions.first());
    body.map_or("", |instruction| instruction.as_str())
}

fn has_avx() -> bool {
    #[cfg(target_arch = "x86_64")]
    let has = std::arch::is_x86_feature_detected!("avx");
    #[cfg(not(target_arch = "x86_64"))]
    let has = false;
    has
}

/// Assembles with the first compiler that can be started.
fn compile(source: &Path, binary: &Path) -> Result<Output> {
    for compiler in COMPILERS {
        let mut command = Command::new(compiler);
        command.args(["-O1", "-w", "-o"]).arg(binary).arg(source).env("LC_ALL", "C");
        match command.output() {
            Ok(output) => return Ok(output),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(Error::Usage(format!("Cannot start {compiler}: {e}."))),
        }
    }
    Err(Error::Usage(format!("No compiler was found to assemble with; install one of {}.", COMPILERS.join(", "))))
}

/// The assembler's complaint with the instruction that it is about: the source marks each with a line of its own.
fn refused(bodies: &[Body], complaint: &str) -> Error {
    let all: Vec<&String> = bodies.iter().flat_map(|b| &b.instructions).collect();
    let mnemonic = |i: &&&String| i.split_whitespace().next().is_some_and(|name| complaint.contains(name));
    let about = all.iter().find(|i| complaint.contains(i.as_str())).or(all.iter().find(mnemonic)).or(all.first());
    let line = complaint.lines().find(|l| l.to_lowercase().contains("error")).unwrap_or("no reason was given");
    let reason = line.rsplit("rror:").next().unwrap_or(line).trim();
    let named = about.map_or("", |i| i.as_str());
    Error::Usage(format!(
        "The assembler refuses `{named}`: {reason}. Intel's syntax is expected unless --syntax att is given."
    ))
}

/// Why the child ended early, with the body that it was at.
fn died(bodies: &[Body], printed: &str, status: ExitStatus) -> Result<Missing> {
    let named = at(bodies, printed);
    match status.signal() {
        Some(SIGILL) => Ok(Missing(named.to_owned())),
        Some(SIGSEGV) => Err(Error::Usage(format!(
            "`{named}`, or one after it, reads or writes memory that is not there; rsi and rdi point to 64 KiB that are."
        ))),
        Some(SIGFPE) => Err(Error::Usage(format!(
            "`{named}`, or one after it, divides by zero, or its quotient does not fit; registers other than rsi and rdi begin as zero."
        ))),
        Some(signal) => Err(Error::Usage(format!("`{named}`, or one after it, was ended by signal {signal}."))),
        None => Err(Error::Usage(format!("The program that times `{named}` ended with {status}."))),
    }
}

/// One line per body: three quartiles of cycles and the nanoseconds, per instruction.
fn parse(text: &str, bodies: usize) -> Result<Vec<Timing>> {
    let line = |line: &str| {
        let numbers: Vec<f64> = line.split_whitespace().filter_map(|n| n.parse().ok()).collect();
        let [low, middle, high, nanoseconds] = numbers[..] else { return None };
        Some(Timing { cycles: [middle, low, high], nanoseconds })
    };
    let timings: Vec<Timing> = text.lines().filter_map(line).collect();
    if timings.len() == bodies {
        Ok(timings)
    } else {
        Err(Error::Defect(format!("The timing program printed {text:?}.")))
    }
}

/// The rows that were not disturbed, or all where those are fewer than two: one disturbed row that looks fast must not
/// stand for what the processor can do.
pub fn undisturbed(rows: &[(usize, Timing)]) -> Vec<(usize, f64)> {
    let speed = |(count, timing): &(usize, Timing)| (*count, 1.0 / timing.cycles[0]);
    let steady: Vec<(usize, f64)> = rows.iter().filter(|(_, timing)| timing.is_steady()).map(speed).collect();
    if steady.len() < 2 { rows.iter().map(speed).collect() } else { steady }
}

/// How many of `counts` independent instructions saturate: the first whose instructions per cycle are within 3 % of the
/// most. `None` where the last is still the only one, so that more might give more.
pub fn saturation(counts: &[(usize, f64)]) -> Option<usize> {
    let most = counts.iter().map(|c| c.1).fold(0.0, f64::max);
    let first = counts.iter().find(|c| c.1 >= 0.97 * most)?;
    (first.0 < counts.last()?.0).then_some(first.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saturation_is_where_more_gives_no_more() {
        let counts = |list: &[f64]| list.iter().enumerate().map(|(i, v)| (i + 1, *v)).collect::<Vec<_>>();
        assert_eq!(saturation(&counts(&[0.25, 0.5, 0.75, 0.99, 1.0, 1.0])), Some(4));
        assert_eq!(saturation(&counts(&[0.25, 0.5, 0.75])), None);
        assert_eq!(saturation(&[]), None);
    }

    #[test]
    fn a_disturbed_row_does_not_say_what_saturates() {
        let row = |count: usize, cycles: [f64; 3]| (count, Timing { cycles, nanoseconds: 1.0 });
        let mut rows = vec![row(1, [4.0, 4.0, 4.1]), row(8, [0.5, 0.499, 0.502]), row(9, [0.5, 0.498, 0.501])];
        rows.push(row(12, [0.429, 0.354, 0.801]));
        assert_eq!(undisturbed(&rows), [(1, 0.25), (8, 2.0), (9, 2.0)]);
        assert_eq!(saturation(&undisturbed(&rows)), Some(8));
        // Where hardly anything is steady, all rows count.
        assert_eq!(undisturbed(&rows[2..]).len(), 2);
    }

    #[test]
    fn what_the_timing_program_prints_is_read() {
        let timings = parse("3.9 4.0 4.1 1.5\n0.5 0.5 0.6 0.2\n", 2).unwrap();
        assert_eq!(timings[0], Timing { cycles: [4.0, 3.9, 4.1], nanoseconds: 1.5 });
        assert!(parse("3.9 4.0\n", 1).is_err());
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn instructions_are_timed_and_bad_ones_are_errors_that_name_them() {
        let body = |list: &[&str]| Body { instructions: list.iter().map(|i| (*i).to_owned()).collect() };
        let chains = [body(&["imul r8, r8"]), body(&["imul r8, r8", "imul r9, r9"])];
        for timing in time(&chains, Syntax::Intel).unwrap() {
            let [middle, low, high] = timing.cycles;
            assert!(0.0 < low && low <= middle && middle <= high && timing.nanoseconds > 0.0, "{timing:?}");
        }
        assert!(time(&[body(&["imul %r8, %r8"])], Syntax::Att).is_ok());
        let error = |instruction: &str| time(&[body(&[instruction])], Syntax::Intel).unwrap_err().to_string();
        assert!(error("vfmadd999pd ymm0, ymm1").contains("refuses `vfmadd999pd ymm0, ymm1`"));
        assert!(error("ud2").contains("does not have the instruction `ud2`"));
        assert!(error("mov rax, [r8]").contains("memory that is not there"));
        assert!(error("pop rax").contains("stack"));
    }
}
