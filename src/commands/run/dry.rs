//! `poise run --dry-run`: every command that a study would start, what that costs, and which programs are not there.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;

use super::duration;
use crate::campaign::cost::{Costs, Source};
use crate::campaign::{Builds, Done, Made, tasks};
use crate::cli::OutputFormat;
use crate::error::{Error, Result};
use crate::executors::slurm::{self, Planned};
use crate::install::{find_program, is_program};
use crate::output::{self, counted, shown_command};
use crate::run::{Measured, Run, launcher};
use crate::study::{Build, FOLDER, Place, Study};

/// One line of the plan.
struct Line {
    name: String,
    command: Vec<String>,
    runs: usize,
    done: usize,
    seconds: f64,
    source: Source,
    core_hours: f64,
    /// Programs that it starts and that are not there.
    missing: Vec<String>,
}

/// Prints the plan of a study.
pub fn run(study: &Study, results: &Path, format: OutputFormat, quiet: bool) -> Result<()> {
    let builds = Builds::plan(study, results)?;
    // Runs of an earlier call teach what the others cost, unless the run itself would refuse them.
    let found = tasks::found(study, &builds.of_case, &Made::default(), results, true);
    let found = match found {
        Ok((found, _)) => found,
        Err(refusal) => {
            output::say(format!("the same command without --dry-run makes nothing: {refusal}"));
            vec![Vec::new(); study.cases.len()]
        }
    };
    let costs = Costs::of(study, &found);
    let is_spent = costs.is_spent(&found);
    let mut lines = Vec::new();
    for (case, done) in found.iter().enumerate() {
        lines.push(line(study, &builds, &costs, case, done, is_spent)?);
    }
    let runs = lines.iter().zip(&found).enumerate();
    let runs = runs.flat_map(|(case, (line, done))| tasks::missing(done, line.runs).map(move |r| (case, r)));
    let jobs = match &study.place {
        Place::Slurm(place) => slurm::plan(study, place, &runs.collect::<Vec<_>>()),
        Place::Local(_) | Place::Smpi(_) => Vec::new(),
    };
    let text = match format {
        OutputFormat::Human => for_people(study, &builds, &lines, &jobs, quiet),
        OutputFormat::Json => as_json(study, &builds, &lines, &jobs)?,
        OutputFormat::Csv => as_csv(&lines),
    };
    output::deliver(&text, None)
}

fn line(study: &Study, builds: &Builds, costs: &Costs, case: usize, done: &[Done], is_spent: bool) -> Result<Line> {
    let times: Vec<f64> = done.iter().map(|done| done.time).collect();
    let runs = study.judge(&study.cases[case], &times, is_spent).wanted;
    let (seconds, source) = costs.estimate(case);
    let run = tasks::run(study, &study.cases[case], 1, &builds.of_case[case])?;
    let (group, stem) = study.folder_of(&study.cases[case]);
    let name = if group.is_empty() { stem } else { format!("{group}/{stem}") };
    let core_hours = seconds * f64::from(costs.cores(case)) * runs as f64 / 3600.0;
    let missing = if runs > 0 { missing(study, &run) } else { Vec::new() };
    let command = run.command.iter().map(|word| word.replace(FOLDER, "RUN_FOLDER")).collect();
    let environment = run.environment.iter().map(|(name, value)| format!("{name}={value}"));
    let environment: Vec<String> = environment.map(|word| word.replace(FOLDER, "RUN_FOLDER")).collect();
    let command =
        if environment.is_empty() { command } else { [vec!["env".to_owned()], environment, command].concat() };
    Ok(Line {
        name: name.trim_end_matches('.').to_owned(),
        command,
        runs,
        done: done.len(),
        seconds,
        source,
        core_hours,
        missing,
    })
}

/// What a run starts first, a launcher or the program, and what a launcher starts, where there is no such program. What a build makes and what jobs
/// find on their nodes may still come, and programs by another PATH, in another folder or on another host may be there.
fn missing(study: &Study, run: &Run) -> Vec<String> {
    let is_here = matches!(study.place, Place::Local(_) | Place::Smpi(_)) && !study.own_folder;
    let has_path = study.environment.iter().any(|(name, _)| name == "PATH");
    if !is_here || has_path || !matches!(study.build, Build::Nothing) {
        return Vec::new();
    }
    let command = &run.command;
    let launched = match &study.place {
        // The simulator stands before it.
        Place::Smpi(_) => Some(1),
        _ if launcher::is_launcher(&command[0]) => launched(command),
        _ => None,
    };
    let launched = launched.map(|at| &command[at]).filter(|word| word.contains('/'));
    let is_missing = |word: &&String| match word.contains('/') {
        true => !is_program(&study.directory.join(word)),
        false => find_program(word).is_none(),
    };
    let words = [Some(&command[0]), launched].into_iter().flatten();
    words.filter(|word| !word.contains(FOLDER)).filter(is_missing).cloned().collect()
}

/// The place of the program that a launcher starts, where its options are known and none says where to look.
fn launched(command: &[String]) -> Option<usize> {
    let at = launcher::programs(command).into_iter().next().filter(|places| places.len() == 1)?[0];
    let says_where = |word: &String| ["dir", "wd", "path", "host"].iter().any(|part| word.contains(part));
    let mut options = command[1..at].iter().filter(|word| word.starts_with('-'));
    (!options.any(says_where)).then_some(at)
}

fn for_people(study: &Study, builds: &Builds, lines: &[Line], jobs: &[Planned], quiet: bool) -> String {
    let mut text = String::new();
    if let Some(note) = study.place.note().filter(|_| !quiet && study.measured == Measured::Linked) {
        let _ = writeln!(text, "{note}");
    }
    for command in builds.commands() {
        let _ = writeln!(text, "build: {}", shown_command(command));
    }
    for line in lines {
        let done = if line.done > 0 { format!(", {} done", line.done) } else { String::new() };
        let each = match line.source {
            Source::AtMost => format!("at most {}", duration(std::time::Duration::from_secs_f64(line.seconds))),
            _ => format!("about {:.3} s", line.seconds),
        };
        let _ = writeln!(text, "{}", shown_command(&line.command));
        if !quiet {
            let runs = counted(line.runs, "run", "runs");
            let _ = writeln!(text, "    {runs}{done}, {each} each, {:.4} core-hours", line.core_hours);
        }
    }
    for planned in jobs {
        let _ = writeln!(text, "job: sbatch {}", shown_command(&planned.options));
        if !quiet {
            let is_array = planned.options.iter().any(|option| option.starts_with("--array="));
            let (one, more) = if is_array { ("array job", "array jobs") } else { ("job", "jobs") };
            let points: Vec<&str> = planned.cases.iter().map(|&case| lines[case].name.as_str()).collect();
            let (jobs, runs) = (counted(planned.jobs, one, more), counted(planned.runs, "run", "runs"));
            let _ = writeln!(text, "    {jobs}, {runs}: {}", points.join(" "));
        }
    }
    for program in absent(lines) {
        let _ = writeln!(
            text,
            "{} is no program that can be started here: build or install it first.",
            output::shown(program)
        );
    }
    if quiet {
        return text;
    }
    let runs: usize = lines.iter().map(|line| line.runs).sum();
    let total: f64 = lines.iter().map(|line| line.core_hours).sum();
    let worst = lines.iter().map(|line| line.source).max_by_key(|source| *source as u8);
    let basis = match worst {
        Some(Source::Measured | Source::Learned) => "learned from the runs done",
        Some(Source::Extrapolated) => "learned from the runs done, and extrapolated from smaller ones",
        Some(Source::Expected) => "by `expected_seconds`",
        _ => "at most, by `time_limit`; `expected_seconds` or the first runs tell more",
    };
    let (are, points) = (counted(runs, "run is", "runs are"), counted(study.points(), "point", "points"));
    let _ = writeln!(text, "{are} to be made at {points}: {total:.4} core-hours, {basis}.");
    // Estimates end at the limit.
    let limit = study.time_limit.as_secs_f64();
    let is_ended = |line: &&Line| line.runs > 0 && line.source != Source::AtMost && line.seconds >= limit;
    let ended = lines.iter().filter(is_ended).count();
    if ended > 0 {
        let (at, limit) = (counted(ended, "point", "points"), duration(study.time_limit));
        let _ = writeln!(
            text,
            "At {at} a run is expected to take `time_limit`, {limit}, or longer, at which it would be ended."
        );
    }
    // What is settled, or has no budget left, asks for nothing.
    if runs > 0 && study.repetitions.policy.name() != "fixed" {
        let _ = writeln!(text, "The policy \"{}\" may ask for more.", study.repetitions.policy.name());
    }
    text
}

/// The missing programs of all lines.
fn absent(lines: &[Line]) -> BTreeSet<&String> {
    lines.iter().flat_map(|line| &line.missing).collect()
}

fn source_name(source: Source) -> &'static str {
    match source {
        Source::Measured => "measured",
        Source::Learned => "learned",
        Source::Extrapolated => "extrapolated",
        Source::Expected => "expected",
        Source::AtMost => "time limit",
    }
}

fn as_json(study: &Study, builds: &Builds, lines: &[Line], jobs: &[Planned]) -> Result<String> {
    let jobs = jobs.iter().map(|planned| {
        let points: Vec<&str> = planned.cases.iter().map(|&case| lines[case].name.as_str()).collect();
        json!({"sbatch": planned.options, "jobs": planned.jobs, "runs": planned.runs, "points": points})
    });
    let points: Vec<_> = lines
        .iter()
        .map(|line| {
            json!({
                "point": line.name, "command": line.command, "runs": line.runs, "done": line.done,
                "seconds": line.seconds, "seconds_from": source_name(line.source), "core_hours": line.core_hours,
            })
        })
        .collect();
    let plan = json!({
        "schema": "counterpoise/run-plan", "schema_version": 1, "study": study.name,
        "builds": builds.commands().collect::<Vec<_>>(), "points": points, "missing": absent(lines),
        "jobs": jobs.collect::<Vec<_>>(), "core_hours": lines.iter().map(|line| line.core_hours).sum::<f64>(),
    });
    serde_json::to_string_pretty(&plan).map(|text| text + "\n").map_err(|e| Error::Defect(e.to_string()))
}

fn as_csv(lines: &[Line]) -> String {
    let mut text = String::from("point,runs,done,seconds,seconds_from,core_hours,command\n");
    for line in lines {
        let quoted = |field: &str| format!("\"{}\"", field.replace('"', "\"\""));
        let (point, command) = (quoted(&line.name), quoted(&shown_command(&line.command)));
        let (source, hours) = (source_name(line.source), line.core_hours);
        let _ = writeln!(text, "{point},{},{},{},{source},{hours},{command}", line.runs, line.done, line.seconds);
    }
    text
}
