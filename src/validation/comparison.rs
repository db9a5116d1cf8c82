//! Models beside the truth: exponent deviations and errors at the unseen point, as a table, JSON, CSV and a page.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use benchgen::score;
use benchgen::truth::{CallPathTruth, Kind, Truth};
use modeler::experiment::{CallPathId, MetricId, OverRanks};
use modeler::model::{Factor, Growth, Method, Model};
use modeler::report::terminal::table;
use modeler::report::{self, Extra, ReportOptions, Section, Table, quantity};
use modeler::{Experiment, Fits, Prediction};
use serde::Serialize;

use super::find;
use crate::error::{Error, Result};
use crate::output;

/// Nominal probability of the intervals shown.
const LEVEL: f64 = 0.9;

/// One way of modelling, scored.
struct Scored {
    model: Model,
    shape: String,
    /// Per parameter, in the experiment's order.
    deviations: Vec<f64>,
    prediction: Prediction,
    /// At the unseen point, in percent.
    relative_error: Option<f64>,
}

/// One call path.
struct Row {
    callpath: Vec<String>,
    id: CallPathId,
    kind: Kind,
    truth: String,
    measured: f64,
    effort: Scored,
    time: Scored,
}

/// All call paths whose truth is known.
pub struct Comparison {
    parameters: Vec<String>,
    at: Vec<f64>,
    time_metric: MetricId,
    rows: Vec<Row>,
}

impl Comparison {
    /// Scores the effort models and the time-only models of `trained` against truth and the unseen point.
    ///
    /// # Errors
    /// A call path of the truth was not measured, or its effort was not: part of the chain does not work.
    pub fn new(truth: &Truth, trained: &Experiment, effort: &Fits, time: &Fits, unseen: &Experiment) -> Result<Self> {
        let missing = || Error::Defect("The runs hold no times.".into());
        let time_metric = trained.metric("time", Some(OverRanks::Mean)).ok_or_else(missing)?;
        let at = unseen.points.first().ok_or_else(missing)?.clone();
        let mut comparison = Self { parameters: trained.parameters.clone(), at, time_metric, rows: Vec::new() };
        for callpath in &truth.callpaths {
            comparison.rows.push(comparison.row(callpath, trained, effort, time, unseen)?);
        }
        Ok(comparison)
    }

    fn row(
        &self,
        truth: &CallPathTruth,
        trained: &Experiment,
        effort: &Fits,
        time: &Fits,
        unseen: &Experiment,
    ) -> Result<Row> {
        let name = truth.callpath.join(" -> ");
        let lost = |what: &str| Error::Partial(format!("{name}: {what}. `poise doctor` tells what is missing."));
        let id = find(trained, &truth.callpath).ok_or_else(|| lost("this call path was not measured"))?;
        let model = |fits: &Fits| {
            let found = fits.models.iter().find(|m| (m.callpath, m.metric) == (id, self.time_metric));
            found.cloned().ok_or_else(|| lost("its time has no model"))
        };
        let (effort, time) = (model(effort)?, model(time)?);
        if effort.method != Method::Effort {
            return Err(lost("its effort was not measured"));
        }
        let measured = time_at_only_point(unseen, &truth.callpath)
            .ok_or_else(|| lost("this call path was not measured at the unseen point"))?;
        Ok(Row {
            callpath: truth.callpath.clone(),
            id,
            kind: truth.kind,
            truth: self.truth_shape(truth),
            measured,
            effort: self.scored(effort, truth, measured),
            time: self.scored(time, truth, measured),
        })
    }

    fn scored(&self, model: Model, truth: &CallPathTruth, measured: f64) -> Scored {
        let prediction = model.predict(&self.at, LEVEL);
        let deviation = |(name, growth): (&String, &Growth)| {
            let true_exponent = truth.growth.time.get(name).map_or_else(Default::default, |g| g.exponent);
            score::exponent_deviation(true_exponent, growth.exponent)
        };
        Scored {
            shape: self.shape(model.terms.iter().map(|t| t.factors.as_slice())),
            deviations: self.parameters.iter().zip(&model.growth).map(deviation).collect(),
            relative_error: score::relative_error(measured, prediction.value),
            prediction,
            model,
        }
    }

    /// Distinct summands without coefficients: `n + n * log2(p)`, or `constant`.
    fn shape<'a>(&self, terms: impl Iterator<Item = &'a [Factor]>) -> String {
        let mut summands: Vec<String> = Vec::new();
        for factors in terms {
            let text = report::growth(&self.parameters, &self.growth_of(factors));
            if !summands.contains(&text) {
                summands.push(text);
            }
        }
        summands.retain(|s| s != "constant");
        if summands.is_empty() { "constant".into() } else { summands.join(" + ") }
    }

    fn growth_of(&self, factors: &[Factor]) -> Vec<Growth> {
        let of = |parameter: usize| {
            let factor = factors.iter().find(|f| f.parameter == parameter);
            factor.map_or(Growth { exponent: 0.into(), log_exponent: 0 }, |f| Growth {
                exponent: f.exponent,
                log_exponent: f.log_exponent,
            })
        };
        (0..self.parameters.len()).map(of).collect()
    }

    fn truth_shape(&self, truth: &CallPathTruth) -> String {
        let factors = |term: &benchgen::truth::TimeTerm| -> Vec<Factor> {
            let factor = |f: &benchgen::complexity::Factor| {
                let parameter = self.parameters.iter().position(|p| *p == f.parameter)?;
                Some(Factor { parameter, exponent: f.exponent, log_exponent: f.log_exponent.cast_signed() })
            };
            term.factors.iter().filter_map(factor).collect()
        };
        let terms: Vec<Vec<Factor>> = truth.time.iter().map(factors).collect();
        self.shape(terms.iter().map(Vec::as_slice))
    }

    /// The terminal's table, with what its columns mean.
    pub fn for_people(&self) -> String {
        let mut text = output::heading("Models against the truth", None);
        text.push('\n');
        text.push_str(&self.introduction());
        text.push_str("\n\n");
        text.push_str(&table(&self.table()));
        text
    }

    fn introduction(&self) -> String {
        format!(
            "Each line is a call path whose true growth is known. The effort model takes its shape from counted basic \
             blocks or bytes, the time-only model from times. A deviation is the difference of the leading exponents \
             of {} from the truth; 0 is right. The error is that of the prediction at {}, which no model has seen.",
            self.parameters.join(" and "),
            self.at_text()
        )
    }

    fn at_text(&self) -> String {
        let pairs = self.parameters.iter().zip(&self.at).map(|(name, x)| format!("{name}={x}"));
        pairs.collect::<Vec<_>>().join(", ")
    }

    fn table(&self) -> Table {
        let header = [
            "call path",
            "truth",
            "effort model",
            "deviation",
            "time-only model",
            "deviation",
            "measured",
            "effort model",
            "error",
            "time-only",
            "error",
        ];
        let row = |row: &Row| {
            let deviations = |s: &Scored| s.deviations.iter().map(|d| rounded(*d)).collect::<Vec<_>>().join(", ");
            let error = |s: &Scored| s.relative_error.map_or_else(|| "n/a".into(), |e| format!("{e:.1} %"));
            vec![
                row.callpath[1..].join(" -> "),
                row.truth.clone(),
                row.effort.shape.clone(),
                deviations(&row.effort),
                row.time.shape.clone(),
                deviations(&row.time),
                quantity(row.measured, "s"),
                quantity(row.effort.prediction.value, "s"),
                error(&row.effort),
                quantity(row.time.prediction.value, "s"),
                error(&row.time),
            ]
        };
        Table { header: header.map(str::to_owned).to_vec(), rows: self.rows.iter().map(row).collect() }
    }

    /// The report of the experiment, with the comparison on top and the time-only models and unseen points in the plots.
    pub fn html(&self, title: &str, trained: &Experiment, effort: &Fits) -> String {
        let section =
            Section { title: "Models against the truth".into(), intro: self.introduction(), table: self.table() };
        let extra = |row: &Row| Extra {
            callpath: row.id,
            metric: self.time_metric,
            label: "time only".into(),
            model: Some(row.time.model.clone()),
            held_out: vec![(self.at.clone(), row.measured)],
        };
        let options = ReportOptions {
            title: format!("Generated benchmark {title}"),
            target: Some(self.at.clone()),
            level: LEVEL,
            sections: vec![section],
            extras: self.rows.iter().map(extra).collect(),
            ..ReportOptions::default()
        };
        report::html(trained, effort, &options)
    }

    /// Schema `counterpoise/validation`.
    pub fn json(&self) -> Result<String> {
        let file = File {
            schema: "counterpoise/validation",
            schema_version: 1,
            tool_version: env!("CARGO_PKG_VERSION"),
            at: self.parameters.iter().map(String::as_str).zip(self.at.iter().copied()).collect(),
            callpaths: self.rows.iter().map(|row| self.entry(row)).collect(),
        };
        serde_json::to_string_pretty(&file).map(|text| text + "\n").map_err(|e| Error::Defect(e.to_string()))
    }

    fn entry<'a>(&'a self, row: &'a Row) -> Entry<'a> {
        let side = |s: &'a Scored| Side {
            expression: s.model.expression(&self.parameters),
            shape: &s.shape,
            exponent_deviation: self.parameters.iter().map(String::as_str).zip(s.deviations.iter().copied()).collect(),
            predicted: s.prediction.value,
            lower: s.prediction.lower,
            upper: s.prediction.upper,
            relative_error_percent: s.relative_error,
            reason: s.relative_error.is_none().then_some("the measured time is zero"),
        };
        Entry {
            callpath: &row.callpath,
            kind: row.kind,
            truth: &row.truth,
            measured: row.measured,
            effort: side(&row.effort),
            time_only: side(&row.time),
        }
    }

    /// One line per call path.
    pub fn csv(&self) -> String {
        let names = |side: &str| self.parameters.iter().map(|p| format!(",{side}_deviation_{p}")).collect::<String>();
        let mut text = format!(
            "callpath,truth,measured,effort_predicted,effort_error_percent{},time_predicted,time_error_percent{}\n",
            names("effort"),
            names("time")
        );
        for row in &self.rows {
            let _ = write!(text, "{},{},{}", row.callpath.join("->"), row.truth, row.measured);
            for side in [&row.effort, &row.time] {
                let error = side.relative_error.map_or_else(String::new, |e| e.to_string());
                let _ = write!(text, ",{},{error}", side.prediction.value);
                for deviation in &side.deviations {
                    let _ = write!(text, ",{deviation}");
                }
            }
            text.push('\n');
        }
        text
    }

    /// Fails if the growth of any effort model is not the truth's.
    pub fn gate(&self) -> Result<()> {
        let wrong: Vec<String> = self
            .rows
            .iter()
            .filter(|row| row.effort.deviations.iter().any(|&d| d != 0.0))
            .map(|row| row.callpath.join(" -> "))
            .collect();
        match wrong.len() {
            0 => Ok(()),
            _ => Err(Error::Gate(format!(
                "The growth of these call paths deviates from the truth: {}.",
                wrong.join(", ")
            ))),
        }
    }
}

/// The mean time over ranks at the only point of `unseen`.
fn time_at_only_point(unseen: &Experiment, names: &[String]) -> Option<f64> {
    let metric = unseen.metric("time", Some(OverRanks::Mean))?;
    let series = unseen.series_of(find(unseen, names)?, metric)?;
    unseen.values_of(series).first().copied()
}

/// At most two decimals.
fn rounded(deviation: f64) -> String {
    let text = format!("{deviation:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[derive(Serialize)]
struct File<'a> {
    schema: &'static str,
    schema_version: u32,
    tool_version: &'static str,
    at: BTreeMap<&'a str, f64>,
    callpaths: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    callpath: &'a [String],
    kind: Kind,
    truth: &'a str,
    measured: f64,
    effort: Side<'a>,
    time_only: Side<'a>,
}

#[derive(Serialize)]
struct Side<'a> {
    expression: String,
    shape: &'a str,
    exponent_deviation: BTreeMap<&'a str, f64>,
    predicted: f64,
    lower: f64,
    upper: f64,
    relative_error_percent: Option<f64>,
    /// Why the error is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}
