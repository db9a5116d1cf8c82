//! Models and predictions as JSON, schemas `counterpoise/models` and `counterpoise/predictions` version 1, and what writes
//! models part by part.

use std::collections::BTreeMap;
use std::io::{self, Write};

use rayon::prelude::*;
use serde::{Serialize, Serializer};

use super::csv;
use crate::experiment::{CallPathId, Experiment, Metric, MetricId, OverRanks};
use crate::fit::{Fits, Skipped};
use crate::model::{Exponent, Factor, Growth, Kind, Method, Model, Prediction, Quality, Role, Scale, Segment, Term};

/// A number as JSON has it: without a fraction where it is whole. The serializer itself writes `null` for what is not
/// finite.
pub(super) struct Number(pub f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// Up to here doubles hold every whole number.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        match self.0 {
            x if x.fract() == 0.0 && x.abs() < EXACT => serializer.serialize_i64(x as i64),
            x => serializer.serialize_f64(x),
        }
    }
}

/// Members in the order of the parameters.
pub(super) struct ByParameter<'a, T>(pub &'a [String], pub Vec<T>);

impl<T: Serialize> Serialize for ByParameter<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().zip(&self.1))
    }
}

#[derive(Serialize)]
struct ModelEntry<'a> {
    callpath: Vec<&'a str>,
    metric: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    over_ranks: Option<&'static str>,
    unit: &'a str,
    kind: &'static str,
    method: &'static str,
    effort_metric: Option<&'a str>,
    constant: Number,
    terms: Vec<TermEntry<'a>>,
    expression: String,
    growth: ByParameter<'a, GrowthEntry>,
    quality: QualityEntry,
    warnings: Vec<WarningEntry<'a>>,
    /// Only where functions differ between ranges of a parameter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    segments: Vec<SegmentEntry<'a>>,
}

#[derive(Serialize)]
struct SegmentEntry<'a> {
    parameter: &'a str,
    /// Smallest and largest measured value, null at an open end.
    from: Option<Number>,
    to: Option<Number>,
    constant: Number,
    terms: Vec<TermEntry<'a>>,
    expression: String,
    growth: ByParameter<'a, GrowthEntry>,
}

#[derive(Serialize)]
struct TermEntry<'a> {
    coefficient: Number,
    role: &'static str,
    scale: String,
    factors: Vec<FactorEntry<'a>>,
}

#[derive(Serialize)]
struct FactorEntry<'a> {
    parameter: &'a str,
    exponent: String,
    log_exponent: i32,
}

#[derive(Serialize)]
struct GrowthEntry {
    exponent: String,
    log_exponent: i32,
}

#[derive(Serialize)]
struct QualityEntry {
    points: usize,
    repetitions: usize,
    smape: Number,
    adjusted_r2: Number,
    noise: Number,
    cross_validated_relative_error: Number,
    /// Why a statistic is null.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    undefined: BTreeMap<&'static str, &'static str>,
}

#[derive(Serialize)]
struct WarningEntry<'a> {
    code: &'a str,
    message: &'a str,
}

#[derive(Serialize)]
struct SkippedEntry<'a> {
    callpath: Vec<&'a str>,
    metric: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    over_ranks: Option<&'static str>,
    reason: &'a str,
    code: &'a str,
}

/// The models of `fits` as JSON text that ends in a line break. Members and models have a fixed order.
///
/// ```
/// use modeler::formats::models_json;
/// # let of = |cost: fn(f64) -> f64| {
/// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
/// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
/// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// #     let fits = modeler::fit(&experiment, &Default::default());
/// #     (experiment, fits)
/// # };
/// let (experiment, fits) = of(|p| 4.0 * p);
/// let json: serde_json::Value = serde_json::from_str(&models_json(&experiment, &fits, "1.0.0", 0)).unwrap();
/// assert_eq!(json["models"][0]["terms"][0]["coefficient"], 4);
/// assert_eq!(json["models"][0]["expression"], "4 * p");
/// ```
#[must_use]
pub fn models_json(experiment: &Experiment, fits: &Fits, tool_version: &str, seed: u64) -> String {
    let mut text = Vec::new();
    let mut writer = ModelsWriter::json(experiment, tool_version, seed, &mut text);
    writer.add(fits).and_then(|()| writer.finish()).expect("memory takes everything");
    String::from_utf8(text).expect("JSON is text")
}

/// The models of `fits` as comma-separated values: one row per model; the terms are in the expression and the growth of
/// each parameter in a column of its own.
///
/// ```
/// use modeler::formats::models_csv;
/// # let of = |cost: fn(f64) -> f64| {
/// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
/// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
/// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// #     let fits = modeler::fit(&experiment, &Default::default());
/// #     (experiment, fits)
/// # };
/// let (experiment, fits) = of(|p| 4.0 * p);
/// let text = models_csv(&experiment, &fits);
/// assert_eq!(text.lines().count(), 1 + 1); // the header, and a row
/// assert!(text.lines().nth(1).unwrap().contains("4 * p"));
/// ```
#[must_use]
pub fn models_csv(experiment: &Experiment, fits: &Fits) -> String {
    let mut text = Vec::new();
    let mut writer = ModelsWriter::csv(experiment, &mut text);
    writer.add(fits).and_then(|()| writer.finish()).expect("memory takes everything");
    String::from_utf8(text).expect("rows are text")
}

/// Writes models part by part, so that not all have to be in memory at once. Every model has a line of its own.
///
/// ```
/// use modeler::experiment::{ExperimentBuilder, Metric};
/// use modeler::formats::ModelsWriter;
/// use modeler::{Options, Share, fit_in_parts};
///
/// let mut builder = ExperimentBuilder::new(["p"]);
/// let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
/// let main = builder.callpath(["main"]);
/// for p in [2.0, 4.0, 8.0, 16.0, 32.0] {
///     let point = builder.point(&[p]);
///     builder.add(main, time, point, 3.0 * p);
/// }
/// let (experiment, options) = (builder.finish(), Options::default());
/// let mut out = Vec::new();
/// let mut writer = ModelsWriter::json(&experiment, "1.0.0", 0, &mut out);
/// for part in fit_in_parts(&experiment, &options, Share { index: 0, of: 1 }, 1000) {
///     writer.add(&part)?;
/// }
/// writer.finish()?;
/// assert!(String::from_utf8_lossy(&out).contains("\"expression\":\"3 * p\""));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct ModelsWriter<'a, W: Write> {
    experiment: &'a Experiment,
    /// Version and seed, in JSON.
    json: Option<(&'a str, u64)>,
    models: usize,
    skipped: Vec<Skipped>,
    out: W,
}

impl<'a, W: Write> ModelsWriter<'a, W> {
    /// Writes schema `counterpoise/models`.
    ///
    /// ```
    /// use modeler::formats::{ModelsWriter, models_json};
    /// # let of = |cost: fn(f64) -> f64| {
    /// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
    /// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
    /// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
    /// #     let fits = modeler::fit(&experiment, &Default::default());
    /// #     (experiment, fits)
    /// # };
    /// let (experiment, fits) = of(|p| 4.0 * p);
    /// let mut out = Vec::new();
    /// let mut writer = ModelsWriter::json(&experiment, "1.0.0", 7, &mut out);
    /// writer.add(&fits)?;
    /// writer.finish()?;
    /// assert_eq!(String::from_utf8(out).unwrap(), models_json(&experiment, &fits, "1.0.0", 7));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn json(experiment: &'a Experiment, tool_version: &'a str, seed: u64, out: W) -> Self {
        Self { experiment, json: Some((tool_version, seed)), models: 0, skipped: Vec::new(), out }
    }

    /// Writes rows of comma-separated values.
    ///
    /// ```
    /// use modeler::formats::{ModelsWriter, models_csv};
    /// # let of = |cost: fn(f64) -> f64| {
    /// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
    /// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
    /// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
    /// #     let fits = modeler::fit(&experiment, &Default::default());
    /// #     (experiment, fits)
    /// # };
    /// let (experiment, fits) = of(|p| 4.0 * p);
    /// let mut out = Vec::new();
    /// let mut writer = ModelsWriter::csv(&experiment, &mut out);
    /// writer.add(&fits)?;
    /// writer.finish()?;
    /// assert_eq!(String::from_utf8(out).unwrap(), models_csv(&experiment, &fits));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn csv(experiment: &'a Experiment, out: W) -> Self {
        Self { experiment, json: None, models: 0, skipped: Vec::new(), out }
    }

    /// How many models were written, and the series without one so far.
    ///
    /// ```
    /// use modeler::formats::ModelsWriter;
    /// # let of = |cost: fn(f64) -> f64| {
    /// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
    /// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
    /// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
    /// #     let fits = modeler::fit(&experiment, &Default::default());
    /// #     (experiment, fits)
    /// # };
    /// let (experiment, fits) = of(|p| 4.0 * p);
    /// let mut writer = ModelsWriter::csv(&experiment, std::io::sink());
    /// writer.add(&fits)?;
    /// assert_eq!((writer.written().0, writer.written().1.len()), (1, 0));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn written(&self) -> (usize, &[Skipped]) {
        (self.models, &self.skipped)
    }

    /// Writes the models of the next part. Nothing is written before there is a model.
    ///
    /// ```
    /// use modeler::formats::ModelsWriter;
    /// # let of = |cost: fn(f64) -> f64| {
    /// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
    /// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
    /// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
    /// #     let fits = modeler::fit(&experiment, &Default::default());
    /// #     (experiment, fits)
    /// # };
    /// let (experiment, fits) = of(|p| 4.0 * p);
    /// let mut writer = ModelsWriter::json(&experiment, "1.0.0", 0, std::io::sink());
    /// writer.add(&modeler::Fits::default())?;
    /// assert_eq!(writer.written().0, 0);
    /// writer.add(&fits)?;
    /// assert_eq!(writer.written().0, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// The destination fails.
    pub fn add(&mut self, fits: &Fits) -> io::Result<()> {
        /// Models that one thread turns into text at a time.
        const BATCH: usize = 256;
        self.skipped.extend_from_slice(&fits.skipped);
        if fits.models.is_empty() {
            return Ok(());
        }
        if self.models == 0 {
            self.begin()?;
        }
        let (experiment, json) = (self.experiment, self.json.is_some());
        let is_first = self.models == 0;
        let batch = |(number, models): (usize, &[Model])| {
            let mut text = Vec::new();
            for (i, model) in models.iter().enumerate() {
                if json {
                    text.extend_from_slice(if is_first && number == 0 && i == 0 { b"\n" } else { b",\n" });
                    append_json(&mut text, &model_entry(experiment, model));
                } else {
                    text.extend_from_slice(csv::model(experiment, model).as_bytes());
                }
            }
            text
        };
        // As many batches at a time as keep all threads busy, so that the text of all models is never in memory.
        for models in fits.models.chunks(64 * BATCH) {
            let texts: Vec<Vec<u8>> = models.par_chunks(BATCH).enumerate().map(batch).collect();
            for text in texts {
                self.out.write_all(&text)?;
            }
        }
        self.models += fits.models.len();
        Ok(())
    }

    fn begin(&mut self) -> io::Result<()> {
        let Some((tool_version, seed)) = self.json else {
            return self.out.write_all(csv::models_header(self.experiment).as_bytes());
        };
        let mut head = b"{\"schema\":\"counterpoise/models\",\"schema_version\":1,\"tool_version\":".to_vec();
        append_json(&mut head, tool_version);
        head.extend_from_slice(format!(",\"seed\":{seed},\"parameters\":").as_bytes());
        append_json(&mut head, &self.experiment.parameters);
        head.extend_from_slice(b",\n\"models\":[");
        self.out.write_all(&head)
    }

    /// Writes what follows the models.
    ///
    /// ```
    /// use modeler::formats::ModelsWriter;
    /// let experiment = modeler::ExperimentBuilder::new(["p"]).finish();
    /// let mut out = Vec::new();
    /// ModelsWriter::json(&experiment, "1.0.0", 0, &mut out).finish()?; // without any model
    /// let json: serde_json::Value = serde_json::from_slice(&out)?;
    /// assert_eq!((&json["models"], &json["skipped"]), (&serde_json::json!([]), &serde_json::json!([])));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// The destination fails.
    pub fn finish(mut self) -> io::Result<()> {
        if self.models == 0 {
            self.begin()?;
        }
        if self.json.is_some() {
            self.out.write_all(b"\n],\n\"skipped\":[")?;
            let mut text = Vec::new();
            for (i, skipped) in self.skipped.iter().enumerate() {
                text.clear();
                text.extend_from_slice(if i == 0 { b"\n" } else { b",\n" });
                append_json(&mut text, &skipped_entry(self.experiment, skipped));
                self.out.write_all(&text)?;
            }
            self.out.write_all(b"\n]}\n")?;
        }
        self.out.flush()
    }
}

fn append_json(text: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    serde_json::to_writer(text, value).expect("these types have only members that JSON can hold");
}

pub(super) fn json(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("these types have only members that JSON can hold");
    text.push('\n');
    text
}

fn model_entry<'a>(experiment: &'a Experiment, model: &'a Model) -> ModelEntry<'a> {
    let metric = &experiment.metrics[model.metric as usize];
    ModelEntry {
        callpath: experiment.path(model.callpath),
        metric: &metric.name,
        over_ranks: over_ranks(metric),
        unit: &metric.unit,
        kind: kind(model.kind),
        method: method(model.method),
        effort_metric: model.effort_metric.map(|m| experiment.metrics[m as usize].name.as_str()),
        constant: Number(model.constant),
        terms: model.terms.iter().map(|t| term_entry(&experiment.parameters, t)).collect(),
        expression: model.expression(&experiment.parameters),
        growth: growth(&experiment.parameters, model),
        quality: quality_entry(&model.quality),
        warnings: model.warnings.iter().map(|w| WarningEntry { code: w.code, message: &w.message }).collect(),
        segments: model.segments.iter().map(|s| segment_entry(&experiment.parameters, s)).collect(),
    }
}

fn growth<'a>(parameters: &'a [String], model: &Model) -> ByParameter<'a, GrowthEntry> {
    let entry = |g: &Growth| GrowthEntry { exponent: written(g.exponent), log_exponent: g.log_exponent };
    ByParameter(parameters, model.growth.iter().map(entry).collect())
}

fn segment_entry<'a>(parameters: &'a [String], segment: &Segment) -> SegmentEntry<'a> {
    SegmentEntry {
        parameter: &parameters[segment.parameter],
        from: segment.from.map(Number),
        to: segment.to.map(Number),
        constant: Number(segment.model.constant),
        terms: segment.model.terms.iter().map(|t| term_entry(parameters, t)).collect(),
        expression: segment.model.expression(parameters),
        growth: growth(parameters, &segment.model),
    }
}

fn term_entry<'a>(parameters: &'a [String], term: &Term) -> TermEntry<'a> {
    let factor = |f: &Factor| FactorEntry {
        parameter: &parameters[f.parameter],
        exponent: written(f.exponent),
        log_exponent: f.log_exponent,
    };
    TermEntry {
        coefficient: Number(term.coefficient),
        role: role(term.role),
        scale: scale(parameters, term.scale),
        factors: term.factors.iter().map(factor).collect(),
    }
}

fn quality_entry(quality: &Quality) -> QualityEntry {
    let statistics = [
        ("smape", quality.smape, "no measured value differs from zero"),
        (
            "adjusted_r2",
            quality.adjusted_r2,
            "too few points for the model's coefficients, or all measured values are equal",
        ),
        ("noise", quality.noise, "too few measurements to tell noise from growth"),
        ("cross_validated_relative_error", quality.cross_validated_relative_error, "too few points to leave one out"),
    ];
    let defined = |value: Option<f64>| value.filter(|v| v.is_finite());
    let undefined = statistics.iter().filter(|(_, value, _)| defined(*value).is_none());
    let number = |i: usize| Number(defined(statistics[i].1).unwrap_or(f64::NAN));
    QualityEntry {
        points: quality.points,
        repetitions: quality.repetitions,
        smape: number(0),
        adjusted_r2: number(1),
        noise: number(2),
        cross_validated_relative_error: number(3),
        undefined: undefined.map(|&(name, _, reason)| (name, reason)).collect(),
    }
}

fn skipped_entry<'a>(experiment: &'a Experiment, skipped: &'a Skipped) -> SkippedEntry<'a> {
    let metric = &experiment.metrics[skipped.metric as usize];
    SkippedEntry {
        callpath: experiment.path(skipped.callpath),
        metric: &metric.name,
        over_ranks: over_ranks(metric),
        reason: &skipped.reason,
        code: skipped.code,
    }
}

/// A model's value at a point, for [`predictions_json`].
///
/// ```
/// use modeler::formats::PredictionAt;
/// # let of = |cost: fn(f64) -> f64| {
/// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
/// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
/// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// #     let fits = modeler::fit(&experiment, &Default::default());
/// #     (experiment, fits)
/// # };
/// let (_, fits) = of(|p| 4.0 * p);
/// let model = &fits.models[0];
/// let at = |x: f64| PredictionAt {
///     callpath: model.callpath,
///     metric: model.metric,
///     at: vec![x],
///     prediction: model.predict(&[x], 0.9),
///     doubt: None,
/// };
/// assert_eq!([64.0, 128.0].map(|x| at(x).prediction.value), [256.0, 512.0]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PredictionAt {
    /// Whose model.
    pub callpath: CallPathId,
    /// Of which metric.
    pub metric: MetricId,
    /// Where, one coordinate per parameter of the experiment.
    pub at: Vec<f64>,
    /// What it gives there, in the metric's unit.
    pub prediction: Prediction,
    /// Why it may be off by more than the interval says, as [`crate::report::Doubts`] tell it.
    pub doubt: Option<String>,
}

#[derive(Serialize)]
struct PredictionsFile<'a> {
    schema: &'static str,
    schema_version: u32,
    level: f64,
    predictions: Vec<PredictionEntry<'a>>,
}

#[derive(Serialize)]
struct PredictionEntry<'a> {
    callpath: Vec<&'a str>,
    metric: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    over_ranks: Option<&'static str>,
    at: ByParameter<'a, Number>,
    value: Number,
    lower: Number,
    upper: Number,
    /// Why a number is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    doubt: Option<&'a str>,
}

/// Predictions at the nominal probability `level` as JSON text that ends in a line break.
///
/// ```
/// use modeler::formats::{PredictionAt, predictions_json};
/// # let of = |cost: fn(f64) -> f64| {
/// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
/// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
/// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// #     let fits = modeler::fit(&experiment, &Default::default());
/// #     (experiment, fits)
/// # };
/// let (experiment, fits) = of(|p| 4.0 * p);
/// let prediction = fits.models[0].predict(&[64.0], 0.9);
/// let predictions = [PredictionAt { callpath: 0, metric: 0, at: vec![64.0], prediction, doubt: None }];
/// let json: serde_json::Value = serde_json::from_str(&predictions_json(&experiment, &predictions, 0.9)).unwrap();
/// assert_eq!((&json["predictions"][0]["value"], &json["predictions"][0]["at"]["p"]), (&256.into(), &64.into()));
/// ```
#[must_use]
pub fn predictions_json(experiment: &Experiment, predictions: &[PredictionAt], level: f64) -> String {
    json(&PredictionsFile {
        schema: "counterpoise/predictions",
        schema_version: 1,
        level,
        predictions: predictions.iter().map(|p| prediction_entry(experiment, p)).collect(),
    })
}

fn prediction_entry<'a>(experiment: &'a Experiment, prediction: &'a PredictionAt) -> PredictionEntry<'a> {
    let metric = &experiment.metrics[prediction.metric as usize];
    let Prediction { value, lower, upper, .. } = prediction.prediction;
    let finite = [value, lower, upper].iter().all(|v| v.is_finite());
    PredictionEntry {
        callpath: experiment.path(prediction.callpath),
        metric: &metric.name,
        over_ranks: over_ranks(metric),
        at: ByParameter(&experiment.parameters, prediction.at.iter().map(|&x| Number(x)).collect()),
        value: Number(value),
        lower: Number(lower),
        upper: Number(upper),
        reason: (!finite).then_some("the model is not finite at this point"),
        doubt: prediction.doubt.as_deref(),
    }
}

pub(super) fn over_ranks(metric: &Metric) -> Option<&'static str> {
    metric.over_ranks.map(OverRanks::name)
}

pub(super) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Computation => "computation",
        Kind::Communication => "communication",
        Kind::Waiting => "waiting",
        Kind::Other => "other",
    }
}

pub(super) fn method(method: Method) -> &'static str {
    match method {
        Method::Effort => "effort",
        Method::Time => "time",
    }
}

/// `2/3`, as the number writes itself, at a fraction of the cost.
fn written(exponent: Exponent) -> String {
    match exponent.denom() {
        1 => exponent.numer().to_string(),
        below => format!("{}/{below}", exponent.numer()),
    }
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Computation => "computation",
        Role::Latency => "latency",
        Role::Bandwidth => "bandwidth",
        Role::Reduction => "reduction",
        Role::Waiting => "waiting",
    }
}

fn scale(parameters: &[String], scale: Scale) -> String {
    match scale {
        Scale::One => "1".to_owned(),
        Scale::Remote(parameter) => format!("({0}-1)/{0}", parameters[parameter]),
    }
}

/// `p^(2/3) * log2(p)^2` as a growth is shown to people; `1` where there is none.
pub(crate) fn growth_text(parameter: &str, exponent: Exponent, log_exponent: i32) -> String {
    let power = match exponent {
        e if e == Exponent::from_integer(0) => None,
        e if e == Exponent::from_integer(1) => Some(parameter.to_owned()),
        e if e.is_integer() => Some(format!("{parameter}^{e}")),
        e => Some(format!("{parameter}^({e})")),
    };
    let logarithm = match log_exponent {
        0 => None,
        1 => Some(format!("log2({parameter})")),
        j => Some(format!("log2({parameter})^{j}")),
    };
    let parts: Vec<String> = power.into_iter().chain(logarithm).collect();
    if parts.is_empty() { "1".to_owned() } else { parts.join(" * ") }
}
