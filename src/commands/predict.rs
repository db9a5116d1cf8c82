//! `poise predict`: evaluate models at other points, with intervals.

use std::collections::BTreeSet;

use modeler::formats::{self, Input, PredictionAt};
use modeler::report::terminal::{Narrow, fitted};
use modeler::report::{
    Doubts, Table, below_zero, beyond_times, coordinate, left_out, off_the_lines, quantity, rests, turns, unmeasured,
};
use modeler::{Experiment, Fits};

use crate::cli::{GlobalArgs, OutputFormat, PredictArgs};
use crate::commands::input;
use crate::error::Result;
use crate::output;
use crate::ranks::Ranks;

/// Reads, fits, evaluates, prints.
pub fn predict(arguments: &PredictArgs, global: &GlobalArgs, ranks: &Ranks) -> Result<()> {
    ranks.agree(|| arguments.fitted.output.check())?;
    let options = input::options(&arguments.fitted.fit)?;
    let Input { experiment, warnings, .. } = input::read(&arguments.fitted.input, global)?;
    let points = arguments.at.iter().map(|at| input::coordinates(&experiment, at)).collect::<Result<Vec<_>>>()?;
    let asked = arguments.metric.as_deref();
    input::known_metric(&experiment, asked)?;
    let fits = input::of_metric(&experiment, input::fit(&experiment, &options, ranks)?, asked);
    if fits.models.is_empty() {
        return Err(input::nothing_modelled(&fits.skipped));
    }
    if !global.quiet {
        points
            .iter()
            .filter_map(|at| unmeasured(&experiment, at))
            .collect::<BTreeSet<_>>()
            .into_iter()
            .for_each(output::say);
        left_out(&fits.models).into_iter().for_each(output::say);
        points.iter().filter_map(|at| below_zero(&experiment, &fits.models, at)).for_each(output::say);
        // What `(?)` behind an interval is about.
        let marked = |told: String| output::say(format!("(?): {told}"));
        let rests = points.iter().filter_map(|at| rests(&experiment, &fits.models, at));
        rests.collect::<BTreeSet<_>>().into_iter().for_each(marked);
        points.iter().filter_map(|at| turns(&experiment, &fits.models, at)).for_each(marked);
        points.iter().filter_map(|at| beyond_times(&experiment, &fits.models, at)).for_each(marked);
        let off_the_lines = points.iter().filter_map(|at| off_the_lines(&experiment, &fits.models, at));
        off_the_lines.collect::<BTreeSet<_>>().into_iter().for_each(marked);
    }
    let predictions = evaluate(&experiment, &fits, &points, arguments.level.level);
    let destination = arguments.fitted.output.output.as_deref();
    let text = match arguments.fitted.output.format {
        OutputFormat::Human => {
            let table = for_people(&experiment, &predictions, arguments.level.level);
            fitted(&table, output::width(destination), Narrow::default())
        }
        OutputFormat::Json => formats::predictions_json(&experiment, &predictions, arguments.level.level),
        OutputFormat::Csv => formats::predictions_csv(&experiment, &predictions),
    };
    output::deliver(&text, destination)?;
    input::partial(&warnings, &fits)
}

/// Every model at every point: by point, then in the order of the models.
fn evaluate(experiment: &Experiment, fits: &Fits, points: &[Vec<f64>], level: f64) -> Vec<PredictionAt> {
    let at = |at: &Vec<f64>| {
        let doubts = Doubts::at(experiment, at);
        let one = |model: &modeler::Model| PredictionAt {
            callpath: model.callpath,
            metric: model.metric,
            at: at.clone(),
            prediction: model.predict(at, level),
            doubt: doubts.of(model),
        };
        fits.models.iter().map(one).collect::<Vec<_>>()
    };
    points.iter().flat_map(at).collect()
}

fn for_people(experiment: &Experiment, predictions: &[PredictionAt], level: f64) -> Table {
    let interval = format!("{} % interval", 100.0 * level);
    let fixed = ["prediction".to_owned(), interval, "metric".to_owned(), "call path".to_owned()];
    let header = experiment.parameters.iter().cloned().chain(fixed).collect();
    let row = |p: &PredictionAt| {
        let metric = &experiment.metrics[p.metric as usize];
        let shown = |value: f64| quantity(value, &metric.unit);
        let doubt = if p.doubt.is_some() { " (?)" } else { "" };
        let cells = [
            shown(p.prediction.value),
            format!("{} to {}{doubt}", shown(p.prediction.lower), shown(p.prediction.upper)),
            metric.name.clone(),
            experiment.path(p.callpath).join(" -> "),
        ];
        p.at.iter().map(|x| coordinate(*x)).chain(cells).collect()
    };
    Table { header, rows: predictions.iter().map(row).collect() }
}
