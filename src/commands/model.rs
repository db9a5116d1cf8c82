//! `poise model`: fit models and print them.

use std::fmt::Write as _;
use std::path::Path;

use modeler::experiment::MetricId;
use modeler::formats::{Input, ModelsWriter};
use modeler::model::{Method, Model};
use modeler::report::terminal::table;
use modeler::report::{Table, shape};
use modeler::{Experiment, Fits, Options};

use crate::cli::{GlobalArgs, ModelArgs, OutputFormat};
use crate::commands::input;
use crate::error::{Error, Result};
use crate::output::{self, NotWritten};
use crate::ranks::Ranks;

/// Reads, fits, prints.
pub fn model(arguments: &ModelArgs, global: &GlobalArgs, ranks: &Ranks) -> Result<()> {
    let Input { experiment, warnings, .. } = input::read(&arguments.fitted.input, global)?;
    let destination = arguments.fitted.output.output.as_deref();
    if arguments.fitted.output.format == OutputFormat::Human {
        let fits = input::fit(&experiment, &arguments.fitted.fit, ranks)?;
        let shown = Shown { noun: "call path", all_metrics: global.verbose, verbose: global.verbose };
        output::deliver(&for_people(&experiment, &fits, &shown, destination), destination)?;
        return input::partial(&warnings, &fits);
    }
    // Only people read of the runners-up.
    let options = Options { runners_up: 0, ..input::options(&arguments.fitted.fit) };
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
        ranks.fit_in_parts(&experiment, &options, |part| Ok(writer.add(&part)?))?;
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

/// The metric that people come for; the others are shown only where asked for, or where there is no time.
fn is_shown(experiment: &Experiment, metric: MetricId, all: bool) -> bool {
    let has_time = experiment.metrics.iter().any(|m| m.name == "time");
    all || !has_time || experiment.metrics[metric as usize].name == "time"
}

/// What people are shown of models.
pub struct Shown {
    /// What call paths are, in the singular.
    pub noun: &'static str,
    /// Whether all metrics are shown, and not time alone.
    pub all_metrics: bool,
    /// Whether noise and the hypotheses that lost are shown.
    pub verbose: bool,
}

/// The models as tables, with the notes on each.
pub fn for_people(experiment: &Experiment, fits: &Fits, shown: &Shown, destination: Option<&Path>) -> String {
    let &Shown { noun, all_metrics, verbose } = shown;
    let mut text = String::new();
    let mut hidden = 0;
    for (id, metric) in experiment.metrics.iter().enumerate() {
        let models: Vec<&Model> = fits.models.iter().filter(|m| m.metric as usize == id).collect();
        if models.is_empty() {
            continue;
        }
        if !is_shown(experiment, id as MetricId, all_metrics) {
            hidden += models.len();
            continue;
        }
        let unit = if metric.unit.is_empty() { String::new() } else { format!(" [{}]", metric.unit) };
        let _ = writeln!(text, "{}", output::heading(&format!("{}{unit}", metric.name), destination));
        text.push_str(&table(&models_table(experiment, &models, noun)));
        text.push_str(undefined(&models));
        if verbose {
            text.push_str(&noise_level(&models, noun));
        }
        for model in &models {
            notes(&mut text, experiment, model, verbose);
        }
        text.push('\n');
    }
    for (callpath, sentence) in modeler::absorption::scaling::sentences(experiment) {
        let _ = writeln!(text, "{}: {sentence}", experiment.path(callpath).join(" -> "));
    }
    if hidden > 0 {
        let _ = writeln!(text, "{hidden} models of effort metrics are not shown; -v or --format json has them.");
    }
    for skipped in &fits.skipped {
        let path = experiment.path(skipped.callpath).join(" -> ");
        let metric = &experiment.metrics[skipped.metric as usize].name;
        let _ = writeln!(text, "skipped {path}, {metric}: {} [{}]", skipped.reason, skipped.code);
    }
    text
}

fn models_table(experiment: &Experiment, models: &[&Model], noun: &str) -> Table {
    let header = [noun, "growth", "shape from", "model", "error", "noise"].map(str::to_owned).to_vec();
    let percent = |share: Option<f64>| match share {
        None => "n/a".to_owned(),
        Some(s) if s >= 10.0 => "> 1000 %".to_owned(),
        Some(s) => format!("{:.1} %", (1000.0 * s).round() / 10.0 + 0.0),
    };
    let row = |model: &&Model| {
        let source = match (model.method, model.effort_metric) {
            (Method::Effort, Some(id)) => experiment.metrics[id as usize].name.clone(),
            (Method::Effort, None) => "effort".to_owned(),
            (Method::Time, _) => experiment.metrics[model.metric as usize].name.clone(),
        };
        vec![
            experiment.path(model.callpath).join(" -> "),
            shape(&experiment.parameters, model),
            source,
            model.expression(&experiment.parameters),
            percent(model.quality.cross_validated_relative_error),
            percent(model.quality.noise),
        ]
    };
    Table { header, rows: models.iter().map(row).collect() }
}

/// What it means that a model has no error or no noise, where one has none.
fn undefined(models: &[&Model]) -> &'static str {
    let lacks_error = models.iter().any(|m| m.quality.cross_validated_relative_error.is_none());
    match (lacks_error, models.iter().any(|m| m.quality.noise.is_none())) {
        (true, _) => {
            "The error is how far points lie off the model of all others, in the mean; n/a where that is not defined, since points \
             are too few or all values are 0.\n"
        }
        (false, true) => "Noise is n/a where there are too few measurements to tell it from growth.\n",
        (false, false) => "",
    }
}

/// The noise estimated over all call paths, which are called `noun`, in one sentence; nothing where it is unknown everywhere.
fn noise_level(models: &[&Model], noun: &str) -> String {
    let mut noise: Vec<f64> = models.iter().filter_map(|m| m.quality.noise).map(|n| 100.0 * n.max(0.0) + 0.0).collect();
    noise.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (noise.first(), noise.last()) else { return String::new() };
    let middle = noise[noise.len() / 2];
    match noise.len() {
        1 => format!("Noise: {middle:.1} %.\n"),
        count => format!("Noise: {middle:.1} % at the middle one of {count} {noun}s, {least:.1} % to {most:.1} %.\n"),
    }
}

/// Warnings, and with `-v` the hypotheses that lost.
fn notes(text: &mut String, experiment: &Experiment, model: &Model, verbose: bool) {
    let path = experiment.path(model.callpath).join(" -> ");
    for warning in &model.warnings {
        let _ = writeln!(text, "  {path}: {} [{}]", warning.message, warning.code);
    }
    if verbose {
        if model.runners_up.is_empty() {
            let _ = writeln!(text, "  {path}: {}", unopposed(model));
        }
        for loser in &model.runners_up {
            let _ = writeln!(text, "  {path}: not {}: {}", loser.expression, loser.reason);
        }
    }
}

/// Why a model has no runner-up.
fn unopposed(model: &Model) -> &'static str {
    if model.terms.is_empty() {
        "all values are alike, so no growth competed"
    } else if model.quality.noise == Some(0.0) || model.quality.smape.is_some_and(|s| s < 1e-6) {
        "the function gives the values exactly, so no other competed"
    } else {
        "no other hypothesis came close"
    }
}
