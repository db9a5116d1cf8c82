//! `poise bench instructions`: throughput of assembly instructions on this processor.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use modeler::analysis::lines;
use modeler::report::Table;
use modeler::report::terminal::table;
use serde_json::json;

use crate::cli::{GlobalArgs, OutputArgs, OutputFormat};
use crate::error::{Error, Result};
use crate::instructions::{Body, Syntax, Timing, are_there, independent, saturation, time, undisturbed};
use crate::interrupt;
use crate::output;
use crate::progress::Progress;

#[derive(Args, Debug)]
#[command(after_help = "\
The instructions are one body, executed over and over, all data in registers or cache. rsi and rdi point to 64 KiB of \
zeros, all other registers but the stack pointer hold zero. With --independent each instruction is a series of its own.
Examples:
  poise bench instructions 'vfmadd213pd ymm0, ymm14, ymm15'
  poise bench instructions 'vfmadd213pd ymm0, ymm14, ymm15' --independent 12
  poise bench instructions 'mov rax, [rsi]' 'add rax, rbx' 'imul rcx, rax'
  poise bench instructions --syntax att 'addq %rbx, %rax'")]
pub struct InstructionsArgs {
    /// Assembly instructions, each an argument of its own.
    #[arg(value_name = "INSTRUCTION", required = true)]
    pub instructions: Vec<String>,
    /// How they are written: the destination first, or last.
    #[arg(long, value_enum, default_value_t = SyntaxChoice::Intel)]
    pub syntax: SyntaxChoice,
    /// Time 1 to N copies of each instruction that differ in their destination, and find how many saturate.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=32))]
    pub independent: Option<u8>,
    /// With --independent: draw instructions per cycle over the number in flight into this SVG file.
    #[arg(long, value_name = "FILE.svg", requires = "independent")]
    pub plot: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SyntaxChoice {
    /// `add rax, rbx` adds to rax.
    Intel,
    /// `addq %rbx, %rax` adds to rax.
    Att,
}

/// What was timed: an index into the arguments, how many were in flight, what it took.
struct Row {
    series: usize,
    count: usize,
    timing: Timing,
}

/// Times, prints, draws.
pub fn instructions(arguments: &InstructionsArgs, global: &GlobalArgs, progress: &Progress) -> Result<()> {
    output::check_all_new([(&arguments.output.output, "-o"), (&arguments.plot, "--plot")])?;
    interrupt::watch();
    let mut bodies = bodies(arguments)?;
    progress.step(&format!("timing {}, each a tenth of a second", output::counted(bodies.len(), "body", "bodies")));
    let syntax = if arguments.syntax == SyntaxChoice::Att { Syntax::Att } else { Syntax::Intel };
    leave_out_missing(&mut bodies, syntax)?;
    let list: Vec<Body> = bodies.iter().map(|(_, body)| body.clone()).collect();
    let rows: Vec<Row> = bodies
        .iter()
        .zip(time(&list, syntax)?)
        .map(|((series, body), timing)| Row { series: *series, count: body.instructions.len(), timing })
        .collect();
    let text = match arguments.output.format {
        OutputFormat::Human => for_people(arguments, &rows),
        OutputFormat::Json => as_json(arguments, &rows),
        OutputFormat::Csv => as_csv(arguments, &rows),
    };
    output::deliver(&text, arguments.output.output.as_deref())?;
    if let Some(path) = &arguments.plot {
        let curves: Vec<(String, Vec<(f64, f64)>)> = series(arguments, &rows, true)
            .map(|(i, name)| (name.clone(), per_cycle(&rows, i).into_iter().map(|(n, y)| (n as f64, y)).collect()))
            .collect();
        let picture = lines("independent instructions in flight", "per cycle", &curves);
        output::deliver_by("--plot", &picture.unwrap_or_default(), path)?;
        if !global.quiet {
            output::say(format!("the plot is {}.", path.display()));
        }
    }
    let missing: Vec<String> = series(arguments, &rows, false).map(|(_, name)| format!("`{name}`")).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::Partial(format!(
        "This processor does not have {}; the flags in /proc/cpuinfo say what it has. The others were timed.",
        missing.join(" and ")
    )))
}

/// Leaves out series of instructions that the processor does not have, unless there are no others.
fn leave_out_missing(bodies: &mut Vec<(usize, Body)>, syntax: Syntax) -> Result<()> {
    // Each series begins with one of its instruction.
    let ones = bodies.iter().filter(|(_, body)| body.instructions.len() == 1);
    let ones: Vec<Body> = ones.map(|(_, body)| body.clone()).collect();
    if ones.len() > 1 {
        let are_there = are_there(&ones, syntax)?;
        bodies.retain(|(series, _)| are_there[*series] || !are_there.contains(&true));
    }
    Ok(())
}

/// The series of which something was timed, or nothing was; none where all instructions are one body.
fn series<'a>(
    arguments: &'a InstructionsArgs,
    rows: &'a [Row],
    are_timed: bool,
) -> impl Iterator<Item = (usize, &'a String)> {
    let is_one = move |series: usize| rows.iter().any(|row| row.series == series) == are_timed;
    let all = arguments.instructions.iter().enumerate().filter(|_| arguments.independent.is_some());
    all.filter(move |(series, _)| is_one(*series))
}

/// The bodies and which argument each belongs to.
fn bodies(arguments: &InstructionsArgs) -> Result<Vec<(usize, Body)>> {
    let Some(most) = arguments.independent else {
        return Ok(vec![(0, Body { instructions: arguments.instructions.clone() })]);
    };
    if arguments.syntax == SyntaxChoice::Att {
        return Err(Error::Usage("--independent renumbers the first operand, so it wants Intel's syntax.".into()));
    }
    let mut bodies = Vec::new();
    for (series, instruction) in arguments.instructions.iter().enumerate() {
        let copies = independent(instruction, most.into()).map_err(|what| Error::Usage(what + "."))?;
        bodies.extend((1..=copies.len()).map(|n| (series, Body { instructions: copies[..n].to_vec() })));
    }
    Ok(bodies)
}

/// Instructions per cycle of one series by the number in flight.
fn per_cycle(rows: &[Row], series: usize) -> Vec<(usize, f64)> {
    rows.iter().filter(|r| r.series == series).map(|r| (r.count, 1.0 / r.timing.cycles[0])).collect()
}

/// As [`per_cycle`], the rows that saturation is judged by.
fn judged(rows: &[Row], series: usize) -> Vec<(usize, f64)> {
    let of_series: Vec<_> = rows.iter().filter(|r| r.series == series).map(|r| (r.count, r.timing)).collect();
    undisturbed(&of_series)
}

fn name(arguments: &InstructionsArgs, row: &Row) -> String {
    if arguments.independent.is_some() {
        arguments.instructions[row.series].clone()
    } else {
        arguments.instructions.join("; ")
    }
}

fn for_people(arguments: &InstructionsArgs, rows: &[Row]) -> String {
    let header =
        ["instruction", "in flight", "per cycle", "cycles each", "quartiles", "ns each"].map(str::to_owned).to_vec();
    let row = |r: &Row| {
        let [middle, low, high] = r.timing.cycles;
        let numbers = [
            format!("{:.2}", 1.0 / middle),
            format!("{middle:.3}"),
            format!("{low:.3} to {high:.3}"),
            format!("{:.3}", r.timing.nanoseconds),
        ];
        [name(arguments, r), r.count.to_string()].into_iter().chain(numbers).collect()
    };
    let mut text = table(&Table { header, rows: rows.iter().map(row).collect() });
    for (number, instruction) in series(arguments, rows, true) {
        let counts = judged(rows, number);
        let most = counts.iter().map(|c| c.1).fold(0.0, f64::max);
        text.push_str(&match saturation(&counts) {
            Some(count) => format!("\n{instruction}: {most:.2} per cycle, reached with {count} in flight.\n"),
            None => format!("\n{instruction}: {most:.2} per cycle, and more in flight may give more.\n"),
        });
        let left_out = rows.iter().filter(|r| r.series == number).count() - counts.len();
        if left_out > 0 {
            text.push_str(&format!("Left out of this: {left_out} whose quartiles are more than 10 % apart, since something disturbed them.\n"));
        }
    }
    text
}

fn as_json(arguments: &InstructionsArgs, rows: &[Row]) -> String {
    let entry = |r: &Row| {
        let [middle, low, high] = r.timing.cycles;
        json!({
            "instruction": name(arguments, r), "in_flight": r.count, "cycles": middle, "cycles_first_quartile": low,
            "cycles_third_quartile": high, "nanoseconds": r.timing.nanoseconds, "per_cycle": 1.0 / middle,
        })
    };
    let saturated =
        |(i, text): (usize, &String)| json!({"instruction": text, "in_flight": saturation(&judged(rows, i))});
    let found: Vec<_> = series(arguments, rows, true).map(saturated).collect();
    let file = json!({
        "schema": "counterpoise/instructions", "schema_version": 1,
        "timings": rows.iter().map(entry).collect::<Vec<_>>(), "saturation": found,
        "missing": series(arguments, rows, false).map(|(_, name)| name).collect::<Vec<_>>(),
    });
    serde_json::to_string_pretty(&file).unwrap_or_default() + "\n"
}

fn as_csv(arguments: &InstructionsArgs, rows: &[Row]) -> String {
    let mut text = String::from("instruction,in_flight,per_cycle,cycles,nanoseconds\n");
    for r in rows {
        let quoted = name(arguments, r).replace('"', "\"\"");
        let cycles = r.timing.cycles[0];
        text.push_str(&format!("\"{quoted}\",{},{},{cycles},{}\n", r.count, 1.0 / cycles, r.timing.nanoseconds));
    }
    text
}
