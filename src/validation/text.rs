//! The result of a validation as tables for the terminal and as CSV.

use std::fmt::Write as _;

use modeler::advise::LeastUncertainty;
use modeler::report::Table;
use modeler::report::terminal::table;

use super::advised;
use super::figures::Cell;
use super::plan::Executor;
use super::result::Outcome;
use super::score::{Group, Tally, Way};
use super::times::{LEVELS, Pattern};
use crate::output;

/// Everything, table by table.
pub fn for_people(outcome: &Outcome) -> String {
    let mut text = String::new();
    let mut section = |title: &str, intro: String, tables: &[Table]| {
        let _ = write!(text, "{}\n{intro}\n", output::heading(title, None));
        tables.iter().for_each(|t| text.push_str(&table(t)));
        text.push('\n');
    };
    for (title, intro, tables) in sections(outcome) {
        section(title, intro, &tables);
    }
    text
}

/// Title, explanation and tables, for the terminal and for the page.
pub fn sections<'a>(outcome: &Outcome) -> Vec<(&'a str, String, Vec<Table>)> {
    let mut sections = vec![
        ("Deviations from the truth (Table II)", about_table(outcome), vec![deviations(outcome)]),
        ("Artificial noise (figure 4)", about_noise(outcome), Group::ALL.map(|g| noise(outcome, g)).to_vec()),
        ("Fewer repetitions (figure 5)", about_repetitions(outcome), vec![repetitions(outcome)]),
        ("What the measurements cost", about_cost(outcome), vec![cost(outcome)]),
    ];
    if let Some(lines) = &outcome.advised {
        sections.push(("Advised points beside the full grid", about_advised(outcome), vec![advised(lines)]));
        let differing = differing(lines);
        if !differing.rows.is_empty() {
            sections.push(("Call paths in which they differ", about_differing(), vec![differing]));
        }
    }
    sections.push(("Counts against the truth", about_counts(outcome), Vec::new()));
    sections.push(("What must hold", about_gate(outcome), Vec::new()));
    sections
}

fn about_table(outcome: &Outcome) -> String {
    let times = match outcome.executor {
        Executor::OpenMpi => {
            "The ranks ran under Open MPI, more of them than cores; times are processor times, and those of MPI \
             operations are mostly noise of the oversubscribed machine."
        }
        Executor::Smpi => {
            "The ranks ran under SimGrid's SMPI, which counted and moved everything for real. Times are those of a \
             simulated machine: of MPI operations SMPI's clock, of loops their true trip counts times 0.5 to 2 ns."
        }
    };
    format!(
        "{} functions with {} call paths at {} points. Exponents are compared with the truth's; 0 is right. Errors are \
         those of the prediction at {}, which no model has seen. {times}",
        outcome.functions,
        outcome.callpaths.len(),
        outcome.points,
        outcome.at_text(&outcome.test)
    )
}

fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "n/a".into(), |v| format!("{v:.1} %"))
}

fn table_of(header: &[&str], rows: Vec<Vec<String>>) -> Table {
    Table { header: header.iter().map(|&h| h.to_owned()).collect(), rows }
}

fn deviations(outcome: &Outcome) -> Table {
    let mut header = vec!["call paths".to_owned(), "shape from".to_owned(), "right".to_owned()];
    header.extend(outcome.parameters.iter().map(|p| format!("deviation in {p}")));
    header.extend(["mean error".to_owned(), "median".to_owned()]);
    let row = |line: &super::result::Line| {
        let tally = &line.tally;
        let mut row = vec![
            format!("{} {}", tally.models, line.kind.name()),
            line.way.name().to_owned(),
            format!("{:.1} %", 100.0 * tally.share_right()),
        ];
        row.extend(tally.mean_deviations().iter().map(|d| format!("{d:.3}")));
        row.extend([percent(tally.mean_error()), percent(line.median_error_percent)]);
        row
    };
    Table { header, rows: outcome.table.iter().map(row).collect() }
}

fn about_noise(outcome: &Outcome) -> String {
    format!(
        "Half of the training times get noise of up to so many percent, {} draws for effort priors (one measurement per \
         point), {} for times alone ({} repetitions). Mean deviation of all exponents, and mean error; in drawings, thin lines are single patterns \
         of noise.",
        outcome.draws[0], outcome.draws[1], outcome.repetitions
    )
}

/// The tally of a cell.
pub fn tally<'a, K: PartialEq>(cells: &'a [Cell<K>], group: Group, way: Way, at: &K) -> Option<&'a Tally> {
    cells.iter().find(|c| (c.group, c.way) == (group, way) && c.at == *at).map(|c| &c.tally)
}

fn noise(outcome: &Outcome, group: Group) -> Table {
    let mut cells = vec![(Pattern::None, 0)];
    cells.extend(Pattern::ALL.into_iter().skip(1).flat_map(|p| LEVELS.map(|level| (p, level))));
    let row = |at: &(Pattern, u32)| {
        let mut row = vec![group.name().to_owned(), at.0.name().to_owned(), format!("{} %", at.1)];
        for way in [Way::Effort, Way::Time] {
            let tally = tally(&outcome.noise, group, way, at);
            row.push(tally.map_or_else(|| "n/a".into(), |t| format!("{:.3}", t.mean_deviation())));
            row.push(percent(tally.and_then(Tally::mean_error)));
        }
        row
    };
    let header = ["call paths", "noise", "level", "effort: deviation", "error", "times alone: deviation", "error"];
    table_of(&header, cells.iter().map(row).collect())
}

fn about_repetitions(outcome: &Outcome) -> String {
    let source = match outcome.executor {
        Executor::OpenMpi => "Each repetition was measured.",
        Executor::Smpi => {
            "Simulated times do not change between runs; to half of the repetitions' times uniform noise of up to 10 % was \
             added, except to the first."
        }
    };
    let repetitions = match outcome.repetitions {
        1 => "One repetition.".to_owned(),
        most => format!("All combinations of 1 to {most} repetitions."),
    };
    format!("{repetitions} {source}")
}

fn repetitions(outcome: &Outcome) -> Table {
    let mut rows = Vec::new();
    for group in Group::ALL {
        for count in 1..=outcome.repetitions as usize {
            let mut row = vec![group.name().to_owned(), count.to_string()];
            for way in [Way::Effort, Way::Time] {
                let tally = tally(&outcome.fewer_repetitions, group, way, &count);
                row.push(tally.map_or_else(|| "n/a".into(), |t| format!("{:.3}", t.mean_deviation())));
                row.push(percent(tally.and_then(Tally::mean_error)));
            }
            rows.push(row);
        }
    }
    let header = ["call paths", "repetitions", "effort: deviation", "error", "times alone: deviation", "error"];
    table_of(&header, rows)
}

fn about_cost(outcome: &Outcome) -> String {
    let (points, repetitions) = (outcome.points, outcome.repetitions);
    format!(
        "Effort priors need {points} runs, one per point, which count and time at once; the median of {repetitions} needs \
         {} runs without counters. Core-seconds are processor time on this machine{}.",
        points * repetitions as usize,
        if outcome.executor == Executor::Smpi { ", most of it the simulator's" } else { "" }
    )
}

fn cost(outcome: &Outcome) -> Table {
    let (with, without) = (&outcome.cost["with_counters"], &outcome.cost["without"]);
    let times = f64::from(outcome.repetitions);
    let row = |name: &str, runs: usize, core_seconds: f64, elapsed: f64| {
        vec![name.to_owned(), runs.to_string(), format!("{core_seconds:.1} s"), format!("{elapsed:.1} s")]
    };
    let rows = vec![
        row("effort priors: one repetition with counters", with.runs, with.core_seconds, with.elapsed_seconds),
        row("one repetition without", without.runs, without.core_seconds, without.elapsed_seconds),
        row(
            &format!("times alone: {} repetitions without", outcome.repetitions),
            without.runs * outcome.repetitions as usize,
            times * without.core_seconds,
            times * without.elapsed_seconds,
        ),
    ];
    table_of(&["measurements", "runs", "core-seconds", "elapsed"], rows)
}

fn about_advised(outcome: &Outcome) -> String {
    let source = match outcome.executor {
        Executor::OpenMpi => "All runs are measured ones; artificial noise comes on top.",
        Executor::Smpi => "Counts are of simulated runs; their times vary by 3 %, and artificial noise comes on top.",
    };
    format!(
        "The full grid has one run of each point. The advised way measures the first design, then what poise advise --each{} adds, \
         {} runs at a time, until that says enough or half of the full grid's core-hours are spent. Errors are those of \
         predictions at {}; core-hours are the program's time times its ranks. By how much errors exceed the full grid's is the mean over draws, in \
         points, with its standard error where there are several. {source}{}",
        outcome.fewest_ranks.map_or(String::new(), |ranks| format!(" --down-to p={ranks}")),
        advised::STEPS,
        outcome.at_text(&outcome.test),
        outcome.advised_least.map_or(String::new(), at_least)
    )
}

fn at_least(least: LeastUncertainty) -> String {
    format!(
        " The best choice of runs at points that advice may name, for half of the core-hours and by one who knew each function but its \
         coefficients, would leave predictions {:.2} times the standard deviation that the full grid leaves for the whole program, and \
         {:.2} times for call paths.",
        least.whole_program, least.call_paths
    )
}

fn advised(lines: &[advised::Line]) -> Table {
    let header = [
        "noise",
        "points",
        "draws",
        "runs",
        "core-hours",
        "whole program: mean",
        "median",
        "than the grid's",
        "call paths: mean",
        "median",
        "than the grid's",
    ];
    let row = |line: &advised::Line| {
        let mut row = vec![
            advised::named(line.noise),
            line.choice.name().to_owned(),
            line.draws.to_string(),
            format!("{:.0}", line.runs),
            format!("{:.0} %", line.core_hours_percent),
        ];
        for (errors, excess) in
            [(line.whole_program, line.whole_program_excess), (line.call_paths, line.call_paths_excess)]
        {
            row.extend([errors.mean, errors.median].map(|error| format!("{error:.2} %")));
            row.push(match (line.choice, excess.standard_error) {
                (advised::Choice::FullGrid, _) => String::new(),
                (_, None) => format!("{:+.2}", excess.mean),
                (_, Some(error)) => format!("{:+.2} ± {error:.2}", excess.mean),
            });
        }
        row
    };
    table_of(&header, lines.iter().map(row).collect())
}

fn about_differing() -> String {
    "Call paths whose errors with advised points differ from the full grid's by more than two standard errors, as by chance one in ten does with six draws, and more with fewer. Where the error \
     with its sign is nearly as large, every draw is off to the same side: the function itself is wrong there, \
     whatever points are measured."
        .into()
}

fn differing(lines: &[advised::Line]) -> Table {
    let header = ["noise", "call path", "full grid", "with sign", "advised", "with sign", "than the grid's"];
    let advised = lines.iter().filter(|line| line.choice == advised::Choice::Advised);
    let rows = advised.flat_map(|line| {
        let is_grid = |l: &&advised::Line| l.noise == line.noise && l.choice == advised::Choice::FullGrid;
        let grid = lines.iter().find(is_grid).map_or(&[][..], |l| &l.each);
        line.each.iter().zip(grid).filter(|(here, _)| here.excess.is_clear()).map(|(here, there)| {
            let mut row = vec![advised::named(line.noise), here.callpath.join(" -> ")];
            for of in [there, here] {
                row.extend([format!("{:.1} %", of.error), format!("{:+.1} %", of.bias)]);
            }
            let error = here.excess.standard_error.unwrap_or_default();
            row.push(format!("{:+.1} ± {error:.1}", here.excess.mean));
            row
        })
    });
    table_of(&header, rows.collect())
}

fn about_counts(outcome: &Outcome) -> String {
    format!(
        "{} counts of visits, bytes and basic blocks were compared; {} differ.",
        outcome.exactness.checked,
        outcome.exactness.wrong.len()
    )
}

fn about_gate(outcome: &Outcome) -> String {
    if outcome.failures.is_empty() {
        return "Everything that must hold does.".into();
    }
    outcome.failures.join("\n")
}

/// One line per call path and way of modelling.
pub fn csv(outcome: &Outcome) -> String {
    let names: String = outcome.parameters.iter().map(|p| format!(",deviation_{p}")).collect();
    let mut text = format!("callpath,kind,way,measured{names},error_percent\n");
    for row in &outcome.callpaths {
        for (way, score) in &row.scores {
            let (path, kind) = (row.callpath.join("->"), row.kind.name());
            let _ = write!(text, "{path},{kind},{},{}", way.name(), row.measured);
            let empty = vec![f64::NAN; outcome.parameters.len()];
            for deviation in score.as_ref().map_or(&empty, |s| &s.deviations) {
                let _ = if deviation.is_nan() { write!(text, ",") } else { write!(text, ",{deviation}") };
            }
            let error = score.as_ref().and_then(|s| s.relative_error_percent);
            let _ = writeln!(text, ",{}", error.map_or_else(String::new, |e| e.to_string()));
        }
    }
    text
}
