//! `poise advise`: which points to measure next, what each costs and what it is worth; or a first design.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use modeler::Experiment;
use modeler::advise::{Advice, AdviseOptions, End, Step, advise as plan, first_design};
use modeler::experiment::Layout;
use modeler::formats::Input;
use modeler::model::Prediction;
use modeler::report::terminal::{table, wrapped};
use modeler::report::{Table, coordinate, default_target, doubt, quantity, whole_program};
use modeler::warning::PRIOR_MISFIT;
use serde_json::{Map, Value, json};

use crate::cli::{
    Assignments, FitArgs, GlobalArgs, OutputArgs, OutputFormat, ReadArgs, parse_assignments, parse_level,
};
use crate::commands::input;
use crate::error::{Error, Result};
use crate::output;
use crate::run::record;
use crate::study::{REPETITIONS, check_name};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  poise advise --design p=2,4,8,16 --design n=100,200,400,800   where to begin
  poise advise study.runs --at p=4096,n=48000                what to add
  poise advise study.runs --at p=4096,n=48000 --budget 20    with 20 core-hours
  poise advise study.runs --at p=4096,n=48000 --each         for every call path
  poise advise study.runs --at p=4096,n=48000 --down-to p=2  smaller runs, too
A run's cost is its predicted time, that of the whole program, times its ranks.")]
pub struct AdviseArgs {
    /// Files or folders: our runs, profiles of other tools, Extra-P's formats. `-` is standard input.
    #[arg(value_name = "INPUT", required_unless_present = "design")]
    pub inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub read: ReadArgs,
    /// A parameter and the values that it may take; once per parameter. Prints the smallest first design over them; no
    /// input is read.
    #[arg(long, value_name = "p=2,4,8,16,32", value_parser = parse_axis, conflicts_with_all = ["inputs", "at", "budget", "each", "down_to"])]
    pub design: Vec<Axis>,
    /// Where the prediction matters; by default twice the largest measured value of each parameter.
    #[arg(long, value_name = "p=4096,n=48000", value_parser = parse_assignments)]
    pub at: Option<Assignments>,
    /// Core-hours that may be spent; by default as many as help.
    #[arg(long, value_name = "CORE-HOURS", value_parser = parse_positive, allow_negative_numbers = true)]
    pub budget: Option<f64>,
    /// Enough is when the interval at the target, without the scatter of a single run, is this narrow on each side, relative
    /// to the prediction.
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, value_parser = parse_tolerance, allow_negative_numbers = true)]
    pub tolerance: f64,
    /// The parameter that is the number of ranks of a run.
    #[arg(long, value_name = "NAME", default_value = "p")]
    pub ranks: String,
    /// Runs may also be smaller than all measured ones, down to these values; by default none is, since smaller runs may be unlike the
    /// others, as where they leave a node half empty.
    #[arg(long, value_name = "p=2,n=100", value_parser = parse_assignments)]
    pub down_to: Option<Assignments>,
    /// Narrow the predictions of call paths, each alike, instead of that of the whole program. Those that take less than a
    /// thousandth of the time at the target do not count.
    #[arg(long)]
    pub each: bool,
    /// Runs to list, at most.
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub steps: u32,
    /// Nominal probability of the interval.
    #[arg(long, value_name = "P", default_value_t = 0.9, value_parser = parse_level, allow_negative_numbers = true)]
    pub level: f64,
    #[command(flatten)]
    pub fit: FitArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// A parameter and the values that it may take, ascending.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    name: String,
    values: Vec<f64>,
}

/// Points that a model needs along each parameter.
const FEWEST: usize = 4;
/// Parameters of a design, at most.
const MOST_PARAMETERS: usize = 8;

fn parse_axis(text: &str) -> Result<Axis, String> {
    let (name, list) = text.split_once('=').ok_or("give a parameter and its values, such as p=2,4,8,16,32")?;
    if name.trim().is_empty() {
        return Err("the parameter's name is missing before `=`".into());
    }
    check_name(name.trim())?;
    let mut values: Vec<f64> = list.split(',').map(|v| parse_positive(v.trim())).collect::<Result<_, _>>()?;
    values.sort_by(f64::total_cmp);
    values.dedup();
    if values.len() < FEWEST {
        return Err(format!(
            "{} has {} {}, and a model needs {FEWEST} at least",
            name.trim(),
            values.len(),
            if values.len() == 1 { "value" } else { "different values" }
        ));
    }
    Ok(Axis { name: name.trim().to_owned(), values })
}

fn parse_positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok(value),
        _ => Err(format!("`{text}` is no positive number")),
    }
}

fn parse_tolerance(text: &str) -> Result<f64, String> {
    let share = parse_positive(text)?;
    if share < 1.0 { Ok(share) } else { Err("give a share of the prediction below 1, such as 0.05 for 5 %".into()) }
}

/// Prints a design, or reads, fits and advises.
pub fn advise(arguments: &AdviseArgs, global: &GlobalArgs) -> Result<()> {
    arguments.output.check()?;
    if !arguments.design.is_empty() {
        return design(arguments);
    }
    let Input { experiment, warnings, .. } = input::read_paths(&arguments.inputs, &arguments.read, global)?;
    let target = match &arguments.at {
        Some(at) => input::coordinates(&experiment, at)?,
        None => default_target(&experiment),
    };
    let ranks = experiment.parameters.iter().position(|name| *name == arguments.ranks);
    if ranks.is_none() && !global.quiet {
        output::say(format!(
            "no parameter is called {}, so a run costs its time on one core; --ranks names the parameter that is the number of ranks.",
            arguments.ranks
        ));
    }
    let down_to = match &arguments.down_to {
        Some(down_to) => smaller(&experiment, input::of_parameters(&experiment, "--down-to", down_to)?)?,
        None => Vec::new(),
    };
    let fits = input::fit_here(&experiment, &input::options(&arguments.fit)?)?;
    input::within_reach(&experiment, &fits, &target)?;
    let options = AdviseOptions {
        target: target.clone(),
        ranks,
        budget: arguments.budget,
        level: arguments.level,
        tolerance: arguments.tolerance,
        steps: arguments.steps as usize,
        each: arguments.each,
        down_to,
    };
    let unpriced = || {
        Error::NotModelable("No time of this input could be modelled, so no run can be priced. See poise model.".into())
    };
    let advice = plan(&experiment, &fits, &options).ok_or_else(unpriced)?;
    let whole = whole_program(&experiment, &fits, &target, arguments.level).ok_or_else(unpriced)?;
    let names = &experiment.parameters;
    let doubt = doubt(&experiment, &fits, &target, arguments.level);
    let misses_effort = fits.models.iter().flat_map(|m| &m.warnings).any(|w| w.code == PRIOR_MISFIT);
    let missed = advice.missed.map(|(callpath, by)| (experiment.path(callpath).join(" -> "), by));
    let totals = totals(&experiment, &advice.steps);
    let known = Known { whole, doubt: doubt.as_deref(), missed, misses_effort, totals: &totals };
    let text = match arguments.output.format {
        OutputFormat::Human => for_people(&advice, names, &target, &known, arguments),
        OutputFormat::Json => as_json(&advice, names, &target, &known, arguments),
        OutputFormat::Csv => as_csv(&advice, names),
    };
    output::deliver(&text, arguments.output.output.as_deref())?;
    input::partial(&warnings, &fits)
}

/// The least values that are given, infinite where none is.
///
/// # Errors
/// One is not below what was measured.
fn smaller(experiment: &Experiment, given: Vec<Option<f64>>) -> Result<Vec<f64>> {
    let both = experiment.parameters.iter().zip(given).enumerate().map(|(l, (name, given))| {
        let measured = experiment.points.iter().map(|point| point[l]).fold(f64::INFINITY, f64::min);
        match given {
            Some(given) if given >= measured => Err(Error::Usage(format!(
                "--down-to gives {name} the value {given}, and {measured} was measured; give a smaller one."
            ))),
            _ => Ok(given.unwrap_or(f64::INFINITY)),
        }
    });
    both.collect()
}

fn design(arguments: &AdviseArgs) -> Result<()> {
    let axes = &arguments.design;
    if let Some(twice) = axes.iter().enumerate().find(|(i, a)| axes[..*i].iter().any(|b| b.name == a.name)) {
        return Err(Error::Usage(format!("--design gives {} twice.", twice.1.name)));
    }
    if axes.len() > MOST_PARAMETERS {
        return Err(Error::Usage(format!("--design gives {} parameters; {MOST_PARAMETERS} are the most.", axes.len())));
    }
    let names: Vec<String> = axes.iter().map(|a| a.name.clone()).collect();
    let values: Vec<Vec<f64>> = axes.iter().map(|a| a.values.clone()).collect();
    let points = first_design(&values);
    let all: f64 = values.iter().map(|v| v.len() as f64).product();
    let rows: Vec<Vec<String>> = points.iter().map(|p| p.iter().map(f64::to_string).collect()).collect();
    let text = match arguments.output.format {
        OutputFormat::Human => {
            let said = format!(
                "{} of {all} points: a line along each parameter, and for each pair points in which both grow. With effort \
                 measured they carry the shape; repeat them where times are noisy, then ask poise advise what to add. In a study these \
                 lines stand above its tables, and take the place of [parameters].\n",
                points.len()
            );
            // Comments, so that the whole may be the beginning of a study.
            let width = output::width(arguments.output.output.as_deref()).map(|width| width.saturating_sub(2));
            let comment = |line: &str| format!("# {line}\n");
            wrapped(&said, width).lines().map(comment).collect::<String>() + &as_study(&names, &points)
        }
        OutputFormat::Json => {
            let points: Vec<Value> = points.iter().map(|p| point(&names, p)).collect();
            pretty(
                &json!({"schema": "counterpoise/design", "schema_version": 1, "parameters": names, "all": all, "points": points}),
            )
        }
        OutputFormat::Csv => std::iter::once(&names).chain(&rows).map(|row| row.join(",") + "\n").collect(),
    };
    output::deliver(&text, arguments.output.output.as_deref())
}

/// Points as a study lists them.
fn as_study(names: &[String], points: &[Vec<f64>]) -> String {
    format!(
        "points = [\n{}]\n",
        points.iter().map(|at| study_line(names, &BTreeMap::new(), at, None)).collect::<String>()
    )
}

/// A point in the list of a study's points, with the number of its runs where that is given.
fn study_line(names: &[String], factors: &BTreeMap<String, String>, at: &[f64], runs: Option<u32>) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let key = |name: &str| if name.chars().all(is_bare) { name.to_owned() } else { json!(name).to_string() };
    let value = |name: &String| format!("{} = {}", key(name), point(names, at)[name]);
    let runs = runs.map(|runs| format!("{REPETITIONS} = {runs}"));
    let texts = factors.iter().map(|(name, text)| format!("{} = {}", key(name), json!(text)));
    let values: Vec<String> = names.iter().map(value).chain(texts).chain(runs).collect();
    format!("    {{ {} }},\n", values.join(", "))
}

/// The points of the runs to add, in the order in which they come first, and how many runs each has with those.
fn totals(experiment: &Experiment, steps: &[Step]) -> Vec<(Vec<f64>, u32)> {
    let measured = |at: &Vec<f64>| {
        let id = experiment.points.iter().position(|point| point == at)? as u32;
        let of = |layout: &Layout| layout.points.iter().position(|p| *p == id).map(|i| layout.repetitions[i]);
        experiment.layouts.iter().filter_map(of).max()
    };
    let mut totals: Vec<(Vec<f64>, u32)> = Vec::new();
    for step in steps {
        match totals.iter_mut().find(|(at, _)| *at == step.at) {
            Some((_, runs)) => *runs += 1,
            None => totals.push((step.at.clone(), measured(&step.at).unwrap_or(0) + 1)),
        }
    }
    totals
}

/// A point as an object in the parameters' order.
fn point(names: &[String], at: &[f64]) -> Value {
    let number = |x: f64| if x.fract() == 0.0 && x.abs() < 1e15 { json!(x as i64) } else { json!(x) };
    Value::Object(names.iter().zip(at).map(|(name, &x)| (name.clone(), number(x))).collect::<Map<_, _>>())
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

fn end_name(end: End) -> &'static str {
    match end {
        End::Enough => "enough",
        End::NothingHelps => "nothing-helps",
        End::Budget => "budget",
        End::Steps => "steps",
        End::Unmeasured => "unmeasured",
    }
}

fn as_json(advice: &Advice, names: &[String], target: &[f64], known: &Known, arguments: &AdviseArgs) -> String {
    let step = |s: &Step| {
        json!({
            "at": point(names, &s.at), "repetition": s.is_repetition, "seconds": s.seconds, "core_hours": s.core_hours,
            "relative_half_width_after": s.after, "gain_per_core_hour": s.gain_per_core_hour,
        })
    };
    pretty(&json!({
        "schema": "counterpoise/advice", "schema_version": 1, "level": arguments.level, "tolerance": arguments.tolerance,
        "each": arguments.each, "at": point(names, target), "seconds": advice.seconds,
        "lower": known.whole.lower, "upper": known.whole.upper, "core_hours_at_target": advice.target_core_hours,
        "relative_half_width": advice.before, "relative_misfit": advice.misfit,
        "missed": known.missed.as_ref().map(|(callpath, by)| json!({"callpath": callpath, "relative_misfit": by})),
        "relative_noise": advice.noise, "end": end_name(advice.end),
        "first": advice.first.iter().map(|at| point(names, at)).collect::<Vec<_>>(),
        "steps": advice.steps.iter().map(step).collect::<Vec<_>>(),
        "points": known.totals.iter().map(|(at, runs)| json!({"at": point(names, at), "runs": runs})).collect::<Vec<_>>(),
        "doubt": known.doubt,
        "too_expensive": advice.too_expensive.as_ref().map(step),
    }))
}

fn as_csv(advice: &Advice, names: &[String]) -> String {
    let mut text = names.join(",") + ",repetition,seconds,core_hours,relative_half_width_after,gain_per_core_hour\n";
    for at in &advice.first {
        let at: Vec<String> = at.iter().map(f64::to_string).collect();
        let _ = writeln!(text, "{},false,,,,", at.join(","));
    }
    for s in &advice.steps {
        let at: Vec<String> = s.at.iter().map(f64::to_string).collect();
        let _ = writeln!(
            text,
            "{},{},{},{},{},{}",
            at.join(","),
            s.is_repetition,
            s.seconds,
            s.core_hours,
            s.after,
            s.gain_per_core_hour
        );
    }
    text
}

/// What is known of the prediction beside the advice.
struct Known<'a> {
    /// The time of the whole program at the target, with the report's interval.
    whole: Prediction,
    /// Why more is uncertain than the interval says.
    doubt: Option<&'a str>,
    /// The call path with the largest part of what models miss, and by how much its model does.
    missed: Option<(String, f64)>,
    /// Whether there are times that do not follow their effort.
    misses_effort: bool,
    /// The points of the runs to add, with how many runs each has with those.
    totals: &'a [(Vec<f64>, u32)],
}

fn for_people(advice: &Advice, names: &[String], target: &[f64], known: &Known, arguments: &AdviseArgs) -> String {
    let place = |at: &[f64]| {
        names.iter().zip(at).map(|(n, x)| format!("{n} = {}", coordinate(*x))).collect::<Vec<_>>().join(", ")
    };
    let width = output::width(arguments.output.output.as_deref());
    let [seconds, low, high] = [known.whole.value, known.whole.lower, known.whole.upper].map(|x| quantity(x, "s"));
    let mut said = format!(
        "At {} the program is predicted to take {seconds}, a run there {low} to {high} ({} % interval, which adds up those of all call \
         paths), for {} core-hours.\n",
        place(target),
        quantity(100.0 * arguments.level, ""),
        hours(advice.target_core_hours)
    );
    if let Some(doubt) = known.doubt {
        let remedy = match advice.end {
            End::Unmeasured => "",
            _ => " Measure nearer to the target, or effort, before trusting the interval.",
        };
        let _ = writeln!(said, "{doubt}{remedy}");
    }
    let mut text = wrapped(&said, width);
    if !advice.first.is_empty() {
        let title = heading("Points to measure first", arguments);
        let row = |at: &Vec<f64>| at.iter().map(|x| coordinate(*x)).collect();
        let points = Table { header: names.to_vec(), rows: advice.first.iter().map(row).collect() };
        let _ = write!(text, "\n{title}\n{}", table(&points));
    }
    if !advice.steps.is_empty() {
        let left = format!(
            "The error is that {}, {}: {} now. After a run it is as told if the run takes what is predicted for it.\n",
            said_of(arguments),
            judged(arguments),
            percent(advice.before)
        );
        let title = heading("Runs to add, in this order", arguments);
        let _ = write!(text, "\n{title}\n{}\n{}", wrapped(&left, width), table(&steps(advice, names)));
    }
    // What lies in a file was not measured by a study that could have such lines, and of runs of several groups each has its own.
    let mut groups = arguments.inputs.iter().filter_map(|input| factors_of(input));
    let group = groups.next().filter(|first| groups.all(|other| other == *first));
    let steps = advice.first.iter().map(|at| (at, None)).chain(known.totals.iter().map(|(at, runs)| (at, Some(*runs))));
    // A parameter that is called so leaves a line no word for how often its point runs.
    if let Some(factors) = group.filter(|_| names.iter().all(|name| name != REPETITIONS)) {
        let lines: String = steps.map(|(at, runs)| study_line(names, &factors, at, runs)).collect();
        let is_open = |text: &String| text.is_empty() || text.contains(char::is_whitespace);
        let open: Vec<_> =
            factors.iter().filter(|(_, text)| is_open(text)).map(|(name, _)| format!("`{name}`")).collect();
        let said = match open.is_empty() {
            true => "Among the `points` of the study these lines ask for them, each with all the runs of its point; poise run makes \
                     those that are missing:\n"
                .to_owned(),
            false => format!(
                "Lines for a study's `points` are not given, since the runs do not record how many words the value of {} is.\n",
                open.join(" and ")
            ),
        };
        if !lines.is_empty() {
            let lines = if open.is_empty() { lines } else { String::new() };
            let _ = write!(text, "\n{}\n{lines}", wrapped(&said, width));
        }
    }
    text.push('\n');
    text + &wrapped(&ending(advice, arguments, known, place), width)
}

/// The values of a study's parameters with texts, which all runs in a folder share; none where no run is there.
fn factors_of(input: &Path) -> Option<BTreeMap<String, String>> {
    let entries = std::fs::read_dir(input).ok()?.flatten();
    entries.into_iter().find_map(|entry| record::read(&entry.path())).map(|record| record.factors)
}

/// Of which error runs take off a part. It is smaller than the interval, and must not be read for it.
fn judged(arguments: &AdviseArgs) -> &'static str {
    if arguments.each {
        "without the noise of a single run, in the mean over call paths"
    } else {
        "without the noise of a single run, if call paths err independently of each other"
    }
}

/// The error of what.
fn said_of(arguments: &AdviseArgs) -> &'static str {
    if arguments.each { "of the predictions of call paths" } else { "of the prediction" }
}

fn heading(title: &str, arguments: &AdviseArgs) -> String {
    output::heading(title, arguments.output.output.as_deref().map(Path::new))
}

/// A row for each point, or for each time that the order comes back to it.
fn steps(advice: &Advice, names: &[String]) -> Table {
    let fixed = ["", "runs", "time of each", "core-hours", "in all", "error then"].map(str::to_owned);
    let mut spent = 0.0;
    let row = |alike: &[Step]| {
        let (first, last) = (&alike[0], &alike[alike.len() - 1]);
        let cost = alike.iter().map(|step| step.core_hours).sum::<f64>();
        spent += cost;
        let kind = if first.is_repetition { "again" } else { "new" };
        let (runs, each) = (alike.len().to_string(), quantity(first.seconds, "s"));
        let cells = [kind.to_owned(), runs, each, hours(cost), hours(spent), percent(last.after)];
        first.at.iter().map(|x| coordinate(*x)).chain(cells).collect()
    };
    let alike = advice.steps.chunk_by(|a, b| a.at == b.at);
    Table { header: names.iter().cloned().chain(fixed).collect(), rows: alike.map(row).collect() }
}

/// Part of the interval from which on a plan is worth its runs.
const WORTHWHILE: f64 = 0.05;

/// What is said of a plan that as a whole narrows the interval hardly.
fn hardly(advice: &Advice) -> Option<String> {
    let last = advice.steps.last()?.after;
    let is_little = last > (1.0 - WORTHWHILE) * advice.before;
    is_little.then(|| {
        format!(
            "All of these together leave {} of the error: many more at such points would be needed; a quieter machine does \
             more.\n",
            percent(last / advice.before)
        )
    })
}

/// What the plan's end means.
fn ending(advice: &Advice, arguments: &AdviseArgs, known: &Known, place: impl Fn(&[f64]) -> String) -> String {
    let within = format!("{} the prediction is known to {} or better", judged(arguments), percent(arguments.tolerance));
    match (advice.end, &advice.too_expensive) {
        (End::Enough, _) if known.doubt.is_some() && advice.steps.is_empty() => {
            format!("Enough: {within} already, if functions go on as they are, which is in doubt as said above.\n")
        }
        (End::Enough, _) if advice.steps.is_empty() => {
            format!("Enough: {within} already, and more runs would hardly change it.\n")
        }
        (End::Enough, _) => format!("Then it is enough: {within}.\n"),
        (End::NothingHelps, _) if advice.misfit > 0.5 * advice.before => format!(
            "The error {} is {} of it, with {} asked for. Most of that, {} of it, is how far models miss the points that were measured, \
             beyond their noise{}. Runs at such points do not lessen that{}. What may: another parameter that times depend on, or only the \
             profiles of larger points where small ones behave otherwise; poise model -v shows what else was tried for each call path.\n",
            said_of(arguments),
            percent(advice.before),
            percent(arguments.tolerance),
            percent(advice.misfit / advice.before),
            known.missed.as_ref().map_or(String::new(), |(callpath, by)| format!(
                ", the largest part that of {callpath}, whose function misses them by {}",
                percent(*by)
            )),
            if known.misses_effort { "; poise explain W008 tells why times may not follow their effort" } else { "" }
        ),
        (End::NothingHelps, _) => {
            format!(
                "The error {} is {} of it, with {} asked for, and no {}run among the candidates, which reach up to the target, would lessen it \
                 noticeably; a quieter machine would.\n",
                said_of(arguments),
                percent(advice.steps.last().map_or(advice.before, |last| last.after)),
                percent(arguments.tolerance),
                if advice.steps.is_empty() { "" } else { "further " }
            )
        }
        (End::Budget, Some(next)) => {
            format!(
                "The budget ends here. The cheapest run that would help is {}, for {} core-hours.\n",
                place(&next.at),
                hours(next.core_hours)
            )
        }
        (End::Unmeasured, _) => "Ask again with these measured; what other runs are worth follows from them.\n".into(),
        (End::Budget | End::Steps, _) => {
            hardly(advice).unwrap_or_default() + "The list ends here; ask again with these runs measured.\n"
        }
    }
}

fn percent(share: f64) -> String {
    format!("{} %", quantity(100.0 * share, ""))
}

fn hours(core_hours: f64) -> String {
    quantity(core_hours, "")
}
