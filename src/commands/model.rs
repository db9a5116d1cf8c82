//! `poise model`: fit models and print them.

use std::fmt::Write as _;
use std::path::Path;

use modeler::experiment::MetricId;
use modeler::formats::{Input, ModelsWriter};
use modeler::model::{Method, Model};
use modeler::report::terminal::{Narrow, callpath, fitted, wrapped};
use modeler::report::{Table, left_open, may_be_chance, origin, shape};
use modeler::scatter::Scatter;
use modeler::verdict::Together;
use modeler::{Experiment, Fits, Options};

use crate::cli::{GlobalArgs, ModelArgs, OutputFormat};
use crate::commands::input;
use crate::error::{Error, Result};
use crate::output::{self, NotWritten};
use crate::ranks::Ranks;

/// Reads, fits, prints.
pub fn model(arguments: &ModelArgs, global: &GlobalArgs, ranks: &Ranks) -> Result<()> {
    ranks.agree(|| arguments.fitted.output.check())?;
    let mut options = input::options(&arguments.fitted.fit)?;
    let Input { experiment, warnings, .. } = input::read(&arguments.fitted.input, global)?;
    let destination = arguments.fitted.output.output.as_deref();
    let asked = arguments.metric.as_deref();
    input::known_metric(&experiment, asked)?;
    // Only people who ask for more read of the runners-up.
    let is_for_people = arguments.fitted.output.format == OutputFormat::Human;
    if is_for_people && global.verbose {
        options.runners_up = Options::default().runners_up;
    }
    if is_for_people {
        let fits = input::of_metric(&experiment, input::fit(&experiment, &options, ranks)?, asked);
        if fits.models.is_empty() {
            return Err(input::nothing_modelled(&fits.skipped));
        }
        let metrics = if asked.is_some() || global.verbose { Metrics::All } else { Metrics::Time };
        let shown = Shown { noun: "call path", metrics, verbose: global.verbose };
        output::deliver(&for_people(&experiment, &fits, &shown, destination), destination)?;
        return input::partial(&warnings, &fits);
    }
    if !ranks.speaks() {
        if ranks.go_on(true) {
            let _ = ranks.fit_in_parts(&experiment, &options, |_| Ok(()));
        }
        return Err(Error::AnotherRankSpeaks);
    }
    let (mut started, mut models, mut skipped) = (false, 0, 0);
    let written = output::stream(destination, |out| {
        started = ranks.go_on(true);
        let mut writer = match arguments.fitted.output.format {
            OutputFormat::Csv => ModelsWriter::csv(&experiment, out),
            _ => ModelsWriter::json(&experiment, env!("CARGO_PKG_VERSION"), options.seed, out),
        };
        ranks.fit_in_parts(&experiment, &options, |part| {
            Ok(writer.add(&input::of_metric(&experiment, part, asked))?)
        })?;
        (models, skipped) = (writer.written().0, writer.written().1.len());
        if models == 0 {
            return Err(NotWritten::Other(input::nothing_modelled(writer.written().1)));
        }
        Ok(writer.finish()?)
    });
    if !started {
        ranks.go_on(false);
    }
    written?;
    input::partial_of(&warnings, models, skipped)
}

/// Which metrics people are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metrics {
    /// Time, which they come for; all where it was not measured.
    Time,
    /// All.
    All,
}

fn is_shown(experiment: &Experiment, metric: MetricId, metrics: Metrics) -> bool {
    let time = experiment.name_of_time();
    let has_time = experiment.metrics.iter().any(|m| m.name == time);
    metrics == Metrics::All || !has_time || experiment.metrics[metric as usize].name == time
}

/// What people are shown of models.
pub struct Shown {
    /// What call paths are, in the singular.
    pub noun: &'static str,
    /// The metrics that are shown.
    pub metrics: Metrics,
    /// Whether the scatter and the hypotheses that lost are shown.
    pub verbose: bool,
}

/// The models as tables, with the notes on each.
pub fn for_people(experiment: &Experiment, fits: &Fits, shown: &Shown, destination: Option<&Path>) -> String {
    let &Shown { noun, metrics, verbose } = shown;
    let width = output::width(destination);
    let mut text = String::new();
    let mut hidden: Vec<&str> = Vec::new();
    let mut explained = Vec::new();
    for (id, metric) in experiment.metrics.iter().enumerate() {
        let models: Vec<&Model> = fits.models.iter().filter(|m| m.metric as usize == id).collect();
        if models.is_empty() {
            continue;
        }
        if !is_shown(experiment, id as MetricId, metrics) {
            hidden.push(&metric.name);
            continue;
        }
        let unit = if metric.unit.is_empty() { String::new() } else { format!(" [{}]", metric.unit) };
        let _ = writeln!(text, "{}", output::heading(&format!("{}{unit}", metric.name), destination));
        let narrow = Narrow { least_needed: &["scatter", "shape from", "growth"], dear: &[], broken: &["model"] };
        let scatter: Vec<Option<Scatter>> = models.iter().map(|model| Scatter::of(experiment, model)).collect();
        let with_doubts =
            |column: &str| fitted(&models_table(experiment, &models, &scatter, noun, column), width, narrow);
        let mut table = with_doubts("growth");
        // On a narrow screen that column may be left out, and what is to be doubted must not be.
        if !columns(&table).any(|column| column == "growth") {
            table = with_doubts("model");
        }
        let mut said = meanings(&table, &mut explained) + &remarks(experiment, &models, &scatter);
        text.push_str(&table);
        let names = width.map(|columns| columns / 2);
        if verbose {
            said.push_str(&scatter_of_all(experiment, &models, &scatter, noun, names));
        }
        for model in &models {
            notes(&mut said, experiment, model, verbose, names);
        }
        text.push_str(&wrapped(&said, width));
        text.push('\n');
    }
    let mut said = left_open(experiment, &fits.models).map_or(String::new(), |told| told + "\n");
    for (callpath, sentence) in modeler::absorption::scaling::sentences(experiment) {
        let _ = writeln!(said, "{}: {sentence}", experiment.path(callpath).join(" -> "));
    }
    if !hidden.is_empty() {
        let _ = writeln!(said, "Also modelled: {}; --metric NAME shows one of them, -v all.", hidden.join(", "));
    }
    for skipped in &fits.skipped {
        let path = callpath(&experiment.path(skipped.callpath), width.map(|columns| columns / 2));
        let metric = &experiment.metrics[skipped.metric as usize].name;
        let _ = writeln!(said, "skipped {path}, {metric}: {} [{}]", skipped.reason, skipped.code);
    }
    text + &wrapped(&said, width)
}

/// The words of a table's heading.
fn columns(table: &str) -> impl Iterator<Item = &str> {
    table.lines().next().unwrap_or_default().split_whitespace()
}

/// `scatter` is that of each model; growth that may be chance is marked in the column `with_doubts`.
fn models_table(
    experiment: &Experiment,
    models: &[&Model],
    scatter: &[Option<Scatter>],
    noun: &str,
    with_doubts: &str,
) -> Table {
    let header = ["growth", "shape from", "error", "scatter", "model", noun].map(str::to_owned).to_vec();
    let percent = |share: Option<f64>| match share {
        None => "n/a".to_owned(),
        Some(s) if s >= 10.0 => "> 1000 %".to_owned(),
        Some(s) => format!("{:.1} %", (1000.0 * s).round() / 10.0 + 0.0),
    };
    let of = Together(models.len());
    let row = |(model, scatter): (&&Model, &Option<Scatter>)| {
        let doubt = |column: &str| if column == with_doubts && may_be_chance(model, of) { " (?)" } else { "" };
        vec![
            shape(&experiment.parameters, model) + doubt("growth"),
            origin(experiment, model),
            percent(model.quality.cross_validated_relative_error),
            percent(scatter.map(|scatter| scatter.usual)),
            model.expression(&experiment.parameters) + doubt("model"),
            experiment.path(model.callpath).join(" -> "),
        ]
    };
    Table { header, rows: models.iter().zip(scatter).map(row).collect() }
}

/// What the columns that the table has on this screen mean, in a line each, of those that are not `explained` yet.
fn meanings(table: &str, explained: &mut Vec<&str>) -> String {
    const MEANINGS: [(&str, &str); 2] = [
        (
            "error",
            "Error: how far the function misses a measurement when it is fitted to all the others, on average over the points left out.\n",
        ),
        (
            "scatter",
            "Scatter: how far measurements lie off the function, relative to it, as the root of the mean square: by noise or because it misses something.\n",
        ),
    ];
    let mut text = String::new();
    for (column, meaning) in MEANINGS {
        if columns(table).any(|word| word == column) && !explained.contains(&column) {
            explained.push(column);
            text.push_str(meaning);
        }
    }
    text
}

/// Why cells of the table hold what they hold.
fn remarks(experiment: &Experiment, models: &[&Model], scatter: &[Option<Scatter>]) -> String {
    let mut text = String::new();
    let lacks_error = models.iter().any(|m| m.quality.cross_validated_relative_error.is_none());
    match (lacks_error, scatter.iter().any(Option::is_none)) {
        (true, _) => text.push_str(
            "It is n/a where points are too few, all values are 0, or the function is 0 at a measured point.\n",
        ),
        (false, true) => text.push_str("Scatter is n/a where there are too few measurements to tell it from growth.\n"),
        (false, false) => {}
    }
    let of = Together(models.len());
    if models.iter().any(|model| may_be_chance(model, of)) {
        text.push_str(
            "(?): the growth may be chance, since another function that explains the times nearly as well predicts less than half as much at twice the largest values.\n",
        );
    }
    if models.iter().any(|m| origin(experiment, m).ends_with("cost model")) {
        text.push_str(
            "Cost model: how calls and bytes of an MPI operation become time over its ranks, such as log2(p) for a tree (docs/priors.md).\n",
        );
    }
    text
}

/// How the scatter of the models is distributed over call paths, which are called `noun`, and which has most, in one sentence;
/// nothing where it is unknown everywhere. Names have at most so many columns as `width` says.
fn scatter_of_all(
    experiment: &Experiment,
    models: &[&Model],
    scatter: &[Option<Scatter>],
    noun: &str,
    width: Option<usize>,
) -> String {
    let known = models.iter().zip(scatter).filter_map(|(model, scatter)| Some((scatter.as_ref()?.usual, model)));
    let mut known: Vec<(f64, &&Model)> = known.collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let percent = |(scatter, _): &(f64, &&Model)| format!("{:.1} %", 100.0 * scatter);
    match &known[..] {
        [] => String::new(),
        [only] => format!("Scatter: {}.\n", percent(only)),
        [least, most] => {
            let path = callpath(&experiment.path(most.1.callpath), width);
            format!("Scatter: {} and {} ({path}).\n", percent(least), percent(most))
        }
        [least, .., most] => format!(
            "Scatter: {} at the middle one of {} {noun}s, from {} to {} ({}).\n",
            percent(&known[known.len() / 2]),
            known.len(),
            percent(least),
            percent(most),
            callpath(&experiment.path(most.1.callpath), width)
        ),
    }
}

/// Warnings, and with `-v` the hypotheses that lost.
fn notes(text: &mut String, experiment: &Experiment, model: &Model, verbose: bool, width: Option<usize>) {
    let path = callpath(&experiment.path(model.callpath), width);
    for warning in &model.warnings {
        let _ = writeln!(text, "  {path}: {} [{}]", warning.message, warning.code);
    }
    if verbose {
        if model.runners_up.is_empty() {
            let _ = writeln!(text, "  {path}: {}", unopposed(experiment, model));
        }
        for loser in &model.runners_up {
            let _ = writeln!(text, "  {path}: runner-up {}; why it lost: {}", loser.expression, loser.reason);
        }
    }
}

/// Why a model has no runner-up.
fn unopposed(experiment: &Experiment, model: &Model) -> String {
    let other = model.effort_metric.filter(|metric| *metric != model.metric);
    let effort = other.map(|metric| &experiment.metrics[metric as usize].name);
    let is_exact = model.quality.noise == Some(0.0) || model.quality.smape.is_some_and(|s| s < 1e-6);
    match (model.method, effort) {
        // What effort says is not asked of the times, which may well grow.
        (Method::Effort, Some(name)) => format!("the shape is that of {name}; what lost stands with its model"),
        _ if model.terms.is_empty() && is_exact => "all values are alike, so no growth competed".to_owned(),
        _ if is_exact => "the function gives the values exactly, so no other competed".to_owned(),
        _ => "no other hypothesis came close".to_owned(),
    }
}
