//! Experiments, models and predictions as comma-separated values (RFC 4180, with line feeds).

use std::io::{self, Write};

use super::comparison::smaller;
use super::models::{PredictionAt, growth_text, kind, method, over_ranks};
use crate::compare::{Comparison, Crossover};
use crate::experiment::{Experiment, Metric};
use crate::model::Model;

/// One row of fields.
#[derive(Default)]
struct Row(String);

impl Row {
    fn text(mut self, field: &str) -> Self {
        if !self.0.is_empty() {
            self.0.push(',');
        }
        // A row that begins with an empty field needs its quotes, or the next field would take its place.
        if self.0.is_empty() && field.is_empty() || field.contains([',', '"', '\n', '\r']) {
            self.0.push('"');
            self.0.push_str(&field.replace('"', "\"\""));
            self.0.push('"');
        } else {
            self.0.push_str(field);
        }
        self
    }

    /// A number; what is not finite is left empty, and zero, as the sum of nothing is, has no sign.
    fn number(self, field: f64) -> Self {
        if field.is_finite() { self.text(&(field + 0.0).to_string()) } else { self.text("") }
    }

    fn numbers(self, fields: &[f64]) -> Self {
        fields.iter().fold(self, |row, &x| row.number(x))
    }

    fn texts<S: AsRef<str>>(self, fields: &[S]) -> Self {
        fields.iter().fold(self, |row, x| row.text(x.as_ref()))
    }

    /// Call path, metric, reduction over ranks and unit.
    fn what(self, experiment: &Experiment, callpath: u32, metric: &Metric) -> Self {
        let path = experiment.path(callpath).join("->");
        self.text(&path).text(&metric.name).text(over_ranks(metric).unwrap_or("")).text(&metric.unit)
    }

    fn end(mut self) -> String {
        self.0.push('\n');
        self.0
    }
}

const WHAT: [&str; 4] = ["callpath", "metric", "over_ranks", "unit"];

/// Writes one row per measurement: coordinates, call path, metric, repetition from 1, value.
pub(super) fn experiment(experiment: &Experiment, out: &mut impl Write) -> io::Result<()> {
    let header = Row::default().texts(&experiment.parameters).texts(&WHAT).texts(&["repetition", "value"]);
    out.write_all(header.end().as_bytes())?;
    for series in &experiment.series {
        let metric = &experiment.metrics[series.metric as usize];
        for (coordinates, values) in experiment.measurements(series) {
            for (repetition, &value) in values.iter().enumerate() {
                let row = Row::default().numbers(coordinates).what(experiment, series.callpath, metric);
                out.write_all(row.text(&(repetition + 1).to_string()).number(value).end().as_bytes())?;
            }
        }
    }
    Ok(())
}

/// The names of the fields of [`model`].
pub(super) fn models_header(experiment: &Experiment) -> String {
    let growth: Vec<String> = experiment.parameters.iter().map(|p| format!("growth_{p}")).collect();
    let quality = ["points", "repetitions", "smape", "adjusted_r2", "noise", "cross_validated_relative_error"];
    let header = Row::default().texts(&WHAT).texts(&["kind", "method", "expression"]).texts(&growth);
    header.texts(&quality).text("warnings").end()
}

/// The row of a model; the terms are in the expression and the growth of each parameter in a column of its own.
pub(super) fn model(experiment: &Experiment, model: &Model) -> String {
    let metric = &experiment.metrics[model.metric as usize];
    let expression = model.expression(&experiment.parameters);
    let growth = experiment.parameters.iter().zip(&model.growth);
    let growth: Vec<String> = growth.map(|(p, g)| growth_text(p, g.exponent, g.log_exponent)).collect();
    let row = Row::default().what(experiment, model.callpath, metric);
    let row = row.texts(&[kind(model.kind), method(model.method), expression.as_str()]).texts(&growth);
    let q = &model.quality;
    let statistics = [q.smape, q.adjusted_r2, q.noise, q.cross_validated_relative_error];
    let row = row.texts(&[q.points.to_string(), q.repetitions.to_string()]);
    let row = row.numbers(&statistics.map(|s| s.unwrap_or(f64::NAN)));
    let codes: Vec<&str> = model.warnings.iter().map(|w| w.code).collect();
    row.text(&codes.join(" ")).end()
}

/// One row per prediction.
/// Columns: the parameters, `callpath`, `metric`, `over_ranks`, `unit`, `value`, `lower`, `upper`, `level`, `doubt`.
///
/// ```
/// use modeler::formats::{PredictionAt, predictions_csv};
/// # let of = |cost: fn(f64) -> f64| {
/// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
/// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
/// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// #     let fits = modeler::fit(&experiment, &Default::default());
/// #     (experiment, fits)
/// # };
/// let (experiment, fits) = of(|p| 4.0 * p);
/// let prediction = fits.models[0].predict(&[64.0], 0.9);
/// let at = PredictionAt { callpath: 0, metric: 0, at: vec![64.0], prediction, doubt: None };
/// let text = predictions_csv(&experiment, &[at]);
/// assert_eq!(text.lines().nth(1), Some("64,solve,visits,,,256,256,256,0.9,"));
/// ```
#[must_use]
pub fn predictions_csv(experiment: &Experiment, predictions: &[PredictionAt]) -> String {
    let header = Row::default().texts(&experiment.parameters).texts(&WHAT);
    let mut text = header.texts(&["value", "lower", "upper", "level", "doubt"]).end();
    for p in predictions {
        let metric = &experiment.metrics[p.metric as usize];
        let row = Row::default().numbers(&p.at).what(experiment, p.callpath, metric);
        let n = &p.prediction;
        let row = row.numbers(&[n.value, n.lower, n.upper, n.level]);
        text.push_str(&row.text(p.doubt.as_deref().unwrap_or_default()).end());
    }
    text
}

/// One row per series that both experiments have models of. Columns of crossovers are empty where there is none; where there are
/// several, each has as many values, separated by semicolons.
///
/// ```
/// use modeler::{compare::{Side, compare}, formats::comparison_csv};
/// # let of = |cost: fn(f64) -> f64| {
/// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
/// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
/// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// #     let fits = modeler::fit(&experiment, &Default::default());
/// #     (experiment, fits)
/// # };
/// let (before, after) = (of(|p| 4.0 * p), of(|p| 5.0 * p));
/// let [first, second] = [&before, &after].map(|(experiment, fits)| Side { experiment, fits });
/// let text = comparison_csv(&compare(first, second, &[64.0], 0.9)?);
/// assert!(text.lines().nth(1).unwrap().starts_with("64,solve,visits,,256,256,256,320,320,320,1.25,"));
/// # Ok::<(), String>(())
/// ```
#[must_use]
pub fn comparison_csv(comparison: &Comparison) -> String {
    let numbers = ["first", "first_lower", "first_upper", "second", "second_lower", "second_upper"];
    let header = Row::default().texts(comparison.parameters).texts(&["callpath", "metric", "unit"]);
    let header = header.texts(&numbers).texts(&["ratio", "ratio_lower", "ratio_upper"]);
    let of_crossovers = ["crossover_parameter", "crossover", "certain_until", "certain_from", "smaller_beyond"];
    let mut text = header.texts(&of_crossovers).texts(&["certain_since", "certain_to"]).end();
    for pair in &comparison.pairs {
        let row = Row::default().numbers(&comparison.target).text(&pair.callpath.join("->"));
        let (a, b, r) = (pair.first.1, pair.second.1, pair.ratio);
        let row =
            row.text(pair.metric).text(pair.unit).numbers(&[a.value, a.lower, a.upper, b.value, b.lower, b.upper]);
        let row = row.numbers(&[r.value, r.lower, r.upper]);
        let each = |of: &dyn Fn(&Crossover) -> String| pair.crossovers.iter().map(of).collect::<Vec<_>>().join(";");
        let end = |value: Option<f64>| value.filter(|x| x.is_finite()).map_or_else(String::new, |x| x.to_string());
        let crossovers = [
            each(&|c| comparison.parameters[c.parameter].clone()),
            each(&|c| end(Some(c.at))),
            each(&|c| end(c.lower)),
            each(&|c| end(c.upper)),
            each(&|c| smaller(c.then).to_owned()),
            each(&|c| end(c.since)),
            each(&|c| end(c.to)),
        ];
        text.push_str(&row.texts(&crossovers).end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_they_are_and_zero_without_a_sign() {
        let nothing: f64 = [0.0; 0].iter().sum();
        assert_eq!(Row::default().numbers(&[-1.5, nothing, -0.0, f64::NAN, 0.25]).end(), "-1.5,0,0,,0.25\n");
    }
}
