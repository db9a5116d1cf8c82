//! `poise compare`: the models of two experiments side by side.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use modeler::compare::{
    Comparison, Crossover, Pair, SeriesName, Side, Smaller, compare as compare_models, parameter_order,
};
use modeler::formats::{self, Input};
use modeler::report::terminal::{Narrow, fitted, wrapped};
use modeler::report::{Table, coordinate, default_target, quantity};

use crate::cli::{CompareArgs, GlobalArgs, OutputFormat};
use crate::commands::input;
use crate::error::{Error, Result};
use crate::output;

/// Reads and fits both, compares, prints.
pub fn compare(arguments: &CompareArgs, global: &GlobalArgs) -> Result<()> {
    arguments.output.check()?;
    let options = input::options(&arguments.fit)?;
    let read = |path: &PathBuf| input::read_paths(std::slice::from_ref(path), &arguments.read, global);
    let fit = |input: Input| {
        let fits = input::fit_here(&input.experiment, &options)?;
        Ok::<(Input, modeler::Fits), Error>((input, fits))
    };
    let (first, second) = (read(&arguments.first)?, read(&arguments.second)?);
    input::unused_columns(&[&first, &second], &arguments.read, global);
    let experiment = &first.experiment;
    // Fitting may take long: what cannot be compared is told before.
    parameter_order(experiment, &second.experiment).map_err(Error::NotModelable)?;
    input::check_included(experiment, &second.experiment)?;
    let target = match &arguments.at {
        Some(at) => input::coordinates(experiment, at)?,
        None => default_target(experiment),
    };
    let (first, second) = (fit(first)?, fit(second)?);
    let [a, b] = [&first, &second].map(|(input, fits)| Side { experiment: &input.experiment, fits });
    let found = compare_models(a, b, &target, arguments.level.level).map_err(Error::NotModelable)?;
    let other_units: Vec<String> = found.other_units.iter().map(ToString::to_string).collect();
    if found.pairs.is_empty() {
        let why = if other_units.is_empty() { no_pair(a, b) } else { other_units.join("; ") };
        return Err(Error::NotModelable(format!("Nothing can be compared: {why}.")));
    }
    if !global.quiet {
        found.assumed.iter().for_each(|taken| output::say(format!("taken for the same: {taken}.")));
    }
    let text = match arguments.output.format {
        OutputFormat::Human => for_people(&found, arguments, global.verbose),
        OutputFormat::Json => formats::comparison_json(&found, &second.0.experiment.parameters, arguments.level.level),
        OutputFormat::Csv => formats::comparison_csv(&found),
    };
    output::deliver(&text, arguments.output.output.as_deref())?;
    if !other_units.is_empty() {
        return Err(Error::Partial(format!("Not compared: {}.", other_units.join("; "))));
    }
    input::partial(&first.0.warnings, &first.1)?;
    input::partial(&second.0.warnings, &second.1)
}

/// That no series is in both, and what each has.
fn no_pair(a: Side, b: Side) -> String {
    format!("no call path has a model of the same metric in both. A has {}; B has {}", contents(a), contents(b))
}

/// Such as `time (mean over ranks), visits at main, main -> solve and 10 more call paths`.
fn contents(of: Side) -> String {
    const NAMED: usize = 3;
    let (mut metrics, mut paths): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for model in &of.fits.models {
        let metric = &of.experiment.metrics[model.metric as usize];
        let over = metric.over_ranks.map_or_else(String::new, |over| format!(" ({} over ranks)", over.name()));
        let names = [
            (format!("{}{over}", metric.name), &mut metrics),
            (of.experiment.path(model.callpath).join(" -> "), &mut paths),
        ];
        names.into_iter().filter(|(name, all)| !all.contains(name)).for_each(|(name, all)| all.push(name));
    }
    let more = paths.len().saturating_sub(NAMED);
    let more = match more {
        0 => String::new(),
        more => format!(" and {}", output::counted(more, "more call path", "more call paths")),
    };
    paths.truncate(NAMED);
    format!("{} at {}{more}", metrics.join(", "), paths.join(", "))
}

fn for_people(found: &Comparison, arguments: &CompareArgs, verbose: bool) -> String {
    let at: Vec<String> =
        found.parameters.iter().zip(&found.target).map(|(p, x)| format!("{p} = {}", coordinate(*x))).collect();
    let (first, second) = (arguments.first.display(), arguments.second.display());
    let title = format!("A is {first}, B is {second}; at {}:\n", at.join(", "));
    let has_time = found.pairs.iter().any(|p| p.metric == "time");
    let shown = |p: &&Pair| verbose || !has_time || p.metric == "time";
    let mut pairs: Vec<&Pair> = found.pairs.iter().filter(shown).collect();
    let hidden = found.pairs.len() - pairs.len();
    // What costs most in either comes first.
    let cost = |p: &Pair| p.first.1.value.max(p.second.1.value);
    pairs.sort_by(|a, b| cost(b).total_cmp(&cost(a)).then_with(|| a.callpath.cmp(&b.callpath)));
    let narrow = Narrow { least_needed: &["metric", "interval"], dear: &["interval"], broken: &["crossover"] };
    let width = output::width(arguments.output.output.as_deref());
    let table = fitted(&pairs_table(&pairs, found.parameters), width, narrow);
    let mut notes = String::new();
    if hidden > 0 {
        let pairs = output::counted(hidden, "pair of effort metrics is", "pairs of effort metrics are");
        let _ = writeln!(notes, "{pairs} not shown; -v or --format json has what is left out.");
    }
    only(&mut notes, found, (&found.only_first, &found.only_second), "A");
    only(&mut notes, found, (&found.only_second, &found.only_first), "B");
    wrapped(&title, width) + &table + &wrapped(&notes, width)
}

/// What only the experiment `name` has: metrics that the other has nowhere in one line, and others by call path.
fn only(text: &mut String, found: &Comparison, (list, other): (&[SeriesName], &[SeriesName]), name: &str) {
    let theirs: BTreeSet<&str> =
        found.pairs.iter().map(|pair| pair.metric).chain(other.iter().map(|(_, metric)| *metric)).collect();
    let nowhere: BTreeSet<&str> = list.iter().map(|(_, metric)| *metric).filter(|m| !theirs.contains(m)).collect();
    if !nowhere.is_empty() {
        let _ =
            writeln!(text, "only {name} has the metrics {}", nowhere.iter().copied().collect::<Vec<_>>().join(", "));
    }
    for of_path in list.chunk_by(|a, b| a.0 == b.0) {
        let metrics: Vec<&str> = of_path.iter().map(|(_, m)| *m).filter(|m| !nowhere.contains(m)).collect();
        if !metrics.is_empty() {
            let _ = writeln!(text, "only {name} has {}: {}", of_path[0].0.join(" -> "), metrics.join(", "));
        }
    }
}

fn pairs_table(pairs: &[&Pair], parameters: &[String]) -> Table {
    let header = ["A", "B", "B / A", "interval", "metric", "crossover", "call path"].map(str::to_owned).to_vec();
    let row = |p: &&Pair| {
        let crossovers: Vec<String> = p.crossovers.iter().map(|c| crossover(c, parameters)).collect();
        vec![
            quantity(p.first.1.value, p.unit),
            quantity(p.second.1.value, p.unit),
            if is_nothing(p) { "both 0".to_owned() } else { quantity(p.ratio.value, "") },
            if is_nothing(p) { String::new() } else { interval(p) },
            p.metric.to_owned(),
            if crossovers.is_empty() { "none".to_owned() } else { crossovers.join("; ") },
            p.callpath.join(" -> "),
        ]
    };
    Table { header, rows: pairs.iter().map(row).collect() }
}

/// Whether both models give 0, which have no ratio.
fn is_nothing(p: &Pair) -> bool {
    p.first.1.value == 0.0 && p.second.1.value == 0.0
}

fn interval(p: &Pair) -> String {
    format!("{} to {}", quantity(p.ratio.lower, ""), quantity(p.ratio.upper, ""))
}

/// Such as `from p = 120 on B is smaller (certain up to 90 and from 160 on)`.
fn crossover(c: &Crossover, parameters: &[String]) -> String {
    let name = match c.then {
        Smaller::First => "A",
        Smaller::Second => "B",
    };
    let certain = match (c.lower, c.upper) {
        (None, None) => "uncertain".to_owned(),
        (lower, upper) => {
            let ends = [
                lower.map(|x| match c.since {
                    Some(since) => format!("from {} to {}", quantity(since, ""), quantity(x, "")),
                    None => format!("up to {}", quantity(x, "")),
                }),
                upper.map(|x| match c.to {
                    Some(to) => format!("from {} to {}", quantity(x, ""), quantity(to, "")),
                    None => format!("from {} on", quantity(x, "")),
                }),
            ];
            format!("certain {}", ends.into_iter().flatten().collect::<Vec<_>>().join(" and "))
        }
    };
    format!("from {} = {} on {name} is smaller ({certain})", parameters[c.parameter], quantity(c.at, ""))
}
