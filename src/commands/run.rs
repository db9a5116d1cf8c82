//! `poise run`: a whole study, or one program once.

use std::path::{Path, PathBuf};

use crate::campaign;
use crate::cli::{ClockChoice, GlobalArgs, RunArgs};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::output;
use crate::progress::Progress;
use crate::run::{Measured, Outcome, Run};
use crate::study::{Clock, Point, Study, Value};

/// Runs a study, or the command after `--`.
pub fn run(arguments: &RunArgs, global: &GlobalArgs, progress: &Progress) -> Result<()> {
    match &arguments.study {
        Some(file) => run_study(file, arguments, global, progress),
        None => run_once(arguments, global),
    }
}

fn run_study(file: &Path, arguments: &RunArgs, global: &GlobalArgs, progress: &Progress) -> Result<()> {
    if arguments.clock.is_some() || !arguments.parameters.is_empty() {
        return Err(Error::Usage("A study names its clock and parameters itself; write them into the file.".into()));
    }
    let study = Study::read(file)?;
    if arguments.dry_run {
        let commands = study.points.iter().map(|point| study.command_at(point).join(" ") + "\n");
        return output::deliver(&commands.collect::<String>(), None);
    }
    let results = arguments.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.runs", study.name)));
    interrupt::watch();
    let summary = campaign::execute(&study, &results, progress)?;
    for (folder, reason) in &summary.failed {
        output::say(format!("{} failed. {reason}", folder.display()));
    }
    if !global.quiet && summary.complete > 0 {
        let earlier = if summary.found > 0 {
            format!(" ({} of them from an earlier call)", summary.found)
        } else {
            String::new()
        };
        let text =
            format!("{} runs are complete{earlier}. Next: poise model {}\n", summary.complete, results.display());
        output::deliver(&text, None)?;
    }
    match summary.failed.len() {
        0 => Ok(()),
        failed => Err(Error::Partial(format!("{failed} runs failed; the same command tries them again."))),
    }
}

fn run_once(arguments: &RunArgs, global: &GlobalArgs) -> Result<()> {
    if arguments.dry_run {
        return output::deliver(&(arguments.command.join(" ") + "\n"), None);
    }
    let value = |&(ref name, number): &(String, f64)| (name.clone(), Value { number, text: number.to_string() });
    let point: Point = arguments.parameters.iter().map(value).collect();
    let folder = arguments.output.clone().unwrap_or_else(|| PathBuf::from("poise-run"));
    let run = Run {
        command: &arguments.command,
        directory: Path::new(""),
        point: &point,
        repetition: 1,
        time_limit: None,
        clock: match arguments.clock {
            Some(ClockChoice::Cpu) => Clock::Cpu,
            Some(ClockChoice::Simulated) => Clock::Simulated,
            _ => Clock::Wall,
        },
        captured: false,
        measured: Measured::Preloaded,
        // As the environment has it, which the program gets.
        waiting: false,
        environment: &[],
    };
    interrupt::watch();
    match run.execute(&folder)? {
        Outcome::Complete => {
            if !global.quiet {
                output::say(format!("the profile is in {0}; poise export {0} --to csv shows it.", folder.display()));
            }
            Ok(())
        }
        Outcome::Failed { reason, status } => {
            output::say(format!("{reason} The record is in {}.", folder.display()));
            // The program's own status is the caller's to see; one that ended well without a profile did end well.
            if status == 0 { Ok(()) } else { Err(Error::Forwarded(status)) }
        }
    }
}
