//! Writes `.extra-p` archives, measurements and our models in them, as Extra-P 4.2 does, so that its window opens them.
//!
//! Extra-P's functions are sums of products of powers and binary logarithms, which our terms are too but for the share
//! `(p-1)/p`; that is written as the difference `f - f * p^(-1)`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, ZipWriter};

use super::extra_p::{EXPERIMENT, INDEX_MAGIC, VALUES_MAGIC};
use super::extrap_json::mean;
use super::write::{WriteError, metric_names, regions};
use super::{Format, npy};
use crate::experiment::{Experiment, Series};
use crate::fit::Fits;
use crate::model::{Exponent, Factor, Model, Scale};
use crate::quality::{adjusted_r2, smape};

/// The release of Extra-P whose form this is; it tells its users where theirs is older.
const FORM: &str = "4.2.5";
/// The name of our models among other sets of models.
const MODELER: &str = "Counterpoise";
/// Extra-P holds a file of measurements in memory as a whole and begins another at this size.
const CHUNK: usize = 1 << 30;

/// Writes `experiment` and the models of `fits` as an `.extra-p` archive. Repetitions are kept. Units, what a value over
/// ranks means, intervals and roles of terms have no place there.
///
/// ```
/// use modeler::formats::{Format, read_bytes, write_extra_p};
/// # let of = |cost: fn(f64) -> f64| {
/// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
/// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
/// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// #     let fits = modeler::fit(&experiment, &Default::default());
/// #     (experiment, fits)
/// # };
/// let (experiment, fits) = of(|p| 4.0 * p);
/// let mut archive = Vec::new();
/// write_extra_p(&experiment, &fits, &mut archive)?;
/// let read = read_bytes("models.extra-p", archive, &Default::default()).unwrap();
/// assert_eq!((read.format, read.experiment.values), (Format::ExtraPArchive, experiment.values));
/// # Ok::<(), modeler::formats::WriteError>(())
/// ```
///
/// # Errors
/// `out` fails, or the experiment does not fit: a call path cannot be written with arrows, or two metrics would have one
/// name.
pub fn write_extra_p(experiment: &Experiment, fits: &Fits, out: &mut impl Write) -> Result<(), WriteError> {
    let metrics = metric_names(&experiment.metrics, Format::ExtraPArchive)?;
    let callpaths = regions(experiment, &metrics, Format::ExtraPArchive)?;
    let mut zip = ZipWriter::new_stream(out);
    write_values(experiment, &mut zip)?;
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    // The form for more than 4 GiB costs 20 bytes and saves knowing the size in advance.
    zip.start_file(EXPERIMENT, options.compression_level(Some(1)).large_file(true)).map_err(io::Error::from)?;
    let names = Names { callpaths: &callpaths, metrics: &metrics };
    let mut json = io::BufWriter::with_capacity(1 << 16, &mut zip);
    serde_json::to_writer(&mut json, &File { experiment, fits, names }).map_err(io::Error::from)?;
    json.flush()?;
    drop(json);
    zip.finish().map_err(io::Error::from)?;
    Ok(())
}

/// Call paths and metrics as the archive names them.
#[derive(Clone, Copy)]
struct Names<'a> {
    callpaths: &'a BTreeMap<u32, String>,
    metrics: &'a [String],
}

/// Which measurements have an array of their own: where there is one, it is the mean.
fn has_array(values: &[f64]) -> bool {
    values.len() > 1
}

/// Numbers the arrays in the order in which they are written: chunk, and index in it.
#[derive(Default)]
struct Places {
    chunk: u32,
    index: u32,
    bytes: usize,
}

impl Places {
    /// The place of the next array, which holds `values`.
    fn next(&mut self, values: &[f64]) -> (u32, u32) {
        let header = 128;
        if self.bytes > CHUNK {
            *self = Self { chunk: self.chunk + 1, ..Self::default() };
        }
        self.bytes += header + size_of_val(values);
        self.index += 1;
        (self.chunk, self.index - 1)
    }
}

fn write_values<W: Write>(experiment: &Experiment, zip: &mut ZipWriter<StreamWriter<W>>) -> io::Result<()> {
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
    let mut places = Places::default();
    let mut offsets: Vec<u64> = Vec::new();
    let (mut array, mut length) = (Vec::new(), 0);
    for values in experiment.series.iter().flat_map(|s| experiment.measurements(s)).map(|(_, v)| v) {
        if !has_array(values) {
            continue;
        }
        let (chunk, index) = places.next(values);
        if index == 0 {
            write_index(&mut offsets, chunk, zip)?;
            zip.start_file(format!("values/{chunk}.vals"), stored)?;
            zip.write_all(VALUES_MAGIC)?;
            length = VALUES_MAGIC.len() as u64;
        }
        array.clear();
        npy::write(values, &mut array);
        zip.write_all(&array)?;
        offsets.push(length);
        length += array.len() as u64;
    }
    write_index(&mut offsets, places.chunk + 1, zip)
}

/// Writes the offsets of the chunk before `next`, if there are any, and forgets them.
fn write_index<W: Write>(offsets: &mut Vec<u64>, next: u32, zip: &mut ZipWriter<StreamWriter<W>>) -> io::Result<()> {
    if offsets.is_empty() {
        return Ok(());
    }
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    zip.start_file(format!("values/{}.indx", next - 1), stored)?;
    let numbers = std::iter::once(offsets.len() as u64).chain(offsets.drain(..));
    let bytes: Vec<u8> = INDEX_MAGIC.iter().copied().chain(numbers.flat_map(u64::to_le_bytes)).collect();
    zip.write_all(&bytes)
}

/// `experiment.json`.
struct File<'a> {
    experiment: &'a Experiment,
    fits: &'a Fits,
    names: Names<'a>,
}

impl Serialize for File<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { experiment, fits, names } = *self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("Extra-P", FORM)?;
        map.serialize_entry("parameters", &experiment.parameters)?;
        map.serialize_entry("measurements", &Measurements { experiment, names })?;
        if !fits.models.is_empty() {
            map.serialize_entry("modelers", &[Modeler { experiment, fits, names }])?;
        }
        map.end()
    }
}

/// Measurements by call path and metric.
struct Measurements<'a> {
    experiment: &'a Experiment,
    names: Names<'a>,
}

impl Serialize for Measurements<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { experiment, names } = *self;
        let mut places = Places::default();
        let mut map = serializer.serialize_map(None)?;
        for of_callpath in experiment.series.chunk_by(|a, b| a.callpath == b.callpath) {
            let by_metric: BTreeMap<usize, (&str, Vec<Point>)> = of_callpath
                .iter()
                .enumerate()
                .map(|(i, s)| (i, (names.metrics[s.metric as usize].as_str(), points(experiment, s, &mut places))))
                .collect();
            map.serialize_entry(&names.callpaths[&of_callpath[0].callpath], &InOrder(by_metric.values()))?;
        }
        map.end()
    }
}

/// An object of these members.
struct InOrder<I>(I);

impl<'a, V: Serialize + 'a, I: Iterator<Item = &'a (&'a str, V)> + Clone> Serialize for InOrder<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.clone().map(|(name, value)| (name, value)))
    }
}

/// What Extra-P keeps of the repetitions at a point; `std` is that of the repetitions themselves, not an estimate.
#[derive(Serialize)]
struct Point<'a> {
    coordinate: &'a [f64],
    median: f64,
    mean: f64,
    minimum: f64,
    maximum: f64,
    std: f64,
    repetitions: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<(u32, u32)>,
}

fn points<'a>(experiment: &'a Experiment, series: &Series, places: &mut Places) -> Vec<Point<'a>> {
    let point = |(coordinate, values): (&'a [f64], &'a [f64])| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        let mean = mean(values).unwrap_or(f64::NAN);
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64;
        Point {
            coordinate,
            median: low + 0.5 * (high - low),
            mean,
            minimum: sorted[0],
            maximum: sorted[sorted.len() - 1],
            std: variance.sqrt(),
            repetitions: values.len(),
            values: has_array(values).then(|| places.next(values)),
        }
    };
    experiment.measurements(series).map(point).collect()
}

/// A set of models. `_EmptyModeler` is how Extra-P names a modeler that it cannot run again.
struct Modeler<'a> {
    experiment: &'a Experiment,
    fits: &'a Fits,
    names: Names<'a>,
}

impl Serialize for Modeler<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", MODELER)?;
        map.serialize_entry("modeler", &BTreeMap::from([("$type", "_EmptyModeler")]))?;
        map.serialize_entry("models", &Models(self))?;
        map.end()
    }
}

/// Models by call path and metric.
struct Models<'a>(&'a Modeler<'a>);

impl Serialize for Models<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Modeler { experiment, fits, names } = *self.0;
        let mut map = serializer.serialize_map(None)?;
        for of_callpath in fits.models.chunk_by(|a, b| a.callpath == b.callpath) {
            let by_metric: Vec<(&str, ModelEntry)> = of_callpath
                .iter()
                .map(|m| (names.metrics[m.metric as usize].as_str(), model_entry(experiment, m)))
                .collect();
            map.serialize_entry(&names.callpaths[&of_callpath[0].callpath], &InOrder(by_metric.iter()))?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct ModelEntry {
    hypothesis: Hypothesis,
    annotations: [(); 0],
}

/// A function and Extra-P's statistics of it, over the means at the points.
#[derive(Serialize)]
struct Hypothesis {
    function: Function,
    #[serde(rename = "RSS")]
    rss: Statistic,
    #[serde(rename = "rRSS")]
    relative_rss: Statistic,
    #[serde(rename = "nRSS")]
    normalised_rss: Statistic,
    #[serde(rename = "SMAPE")]
    smape: Statistic,
    #[serde(rename = "AR2")]
    adjusted_r2: Statistic,
    #[serde(rename = "RE")]
    relative_error: Statistic,
    #[serde(rename = "_use_median")]
    use_median: bool,
    #[serde(rename = "_use_measure")]
    use_measure: &'static str,
    #[serde(rename = "_costs_are_calculated")]
    costs_are_calculated: bool,
    #[serde(rename = "$type")]
    kind: &'static str,
}

/// A number, or the text by which Extra-P stores what is not defined.
struct Statistic(f64);

impl Serialize for Statistic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_finite() { serializer.serialize_f64(self.0) } else { serializer.serialize_str("nan") }
    }
}

#[derive(Serialize)]
struct Function {
    constant_coefficient: f64,
    compound_terms: Vec<Term>,
    #[serde(rename = "$type")]
    kind: &'static str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Term {
    OneParameter(CompoundTerm),
    SeveralParameters { coefficient: f64, parameter_term_pairs: BTreeMap<usize, CompoundTerm> },
}

#[derive(Serialize)]
struct CompoundTerm {
    coefficient: f64,
    simple_terms: Vec<SimpleTerm>,
}

#[derive(Serialize)]
struct SimpleTerm {
    term_type: &'static str,
    exponent: Power,
}

/// A whole exponent as a number, another as a fraction in a text.
#[derive(Serialize)]
#[serde(untagged)]
enum Power {
    Whole(i32),
    Fraction(String),
}

fn model_entry(experiment: &Experiment, model: &Model) -> ModelEntry {
    let function = function(model, experiment.parameters.len());
    let kind = match function.kind {
        "ConstantFunction" => "ConstantHypothesis",
        "SingleParameterFunction" => "SingleParameterHypothesis",
        _ => "MultiParameterHypothesis",
    };
    let series = experiment.series_of(model.callpath, model.metric);
    let means: Vec<(f64, f64)> = series
        .map(|s| experiment.measurements(s).filter_map(|(x, v)| Some((mean(v)?, model.at(x)))).collect())
        .unwrap_or_default();
    let (y, fitted): (Vec<f64>, Vec<f64>) = means.iter().copied().unzip();
    let squares = |scale: &dyn Fn(f64) -> f64| {
        let relative = means.iter().filter(|(y, _)| scale(*y) != 0.0);
        relative.map(|(y, f)| ((f - y) / scale(*y)).powi(2)).sum::<f64>()
    };
    let rss = squares(&|_| 1.0);
    let errors: Vec<f64> = means.iter().filter(|(y, _)| *y != 0.0).map(|(y, f)| ((f - y) / y).abs()).collect();
    let undefined = f64::NAN;
    ModelEntry {
        hypothesis: Hypothesis {
            rss: Statistic(rss),
            relative_rss: Statistic(squares(&|y| y)),
            normalised_rss: Statistic(rss.sqrt() / mean(&y).unwrap_or(undefined)),
            smape: Statistic(smape(&y, &fitted).unwrap_or(0.0)),
            adjusted_r2: Statistic(adjusted_r2(&y, &fitted, function.compound_terms.len()).unwrap_or(undefined)),
            relative_error: Statistic(mean(&errors).unwrap_or(0.0)),
            use_median: false,
            use_measure: "MEAN",
            costs_are_calculated: true,
            kind,
            function,
        },
        annotations: [],
    }
}

/// The model as a function of Extra-P: terms that are constant in its constant, terms of zero left out.
fn function(model: &Model, parameters: usize) -> Function {
    let mut constant_coefficient = model.constant;
    let mut products: Vec<(f64, Vec<Factor>)> = Vec::new();
    for term in model.terms.iter().filter(|t| t.coefficient != 0.0) {
        products.push((term.coefficient, term.factors.clone()));
        if let Scale::Remote(parameter) = term.scale {
            products.push((-term.coefficient, divided_by(&term.factors, parameter)));
        }
    }
    products.retain(|(coefficient, factors)| {
        let is_constant = factors.is_empty();
        constant_coefficient += if is_constant { *coefficient } else { 0.0 };
        !is_constant
    });
    let kind = match parameters {
        _ if products.is_empty() => "ConstantFunction",
        1 => "SingleParameterFunction",
        _ => "MultiParameterFunction",
    };
    let term = |(coefficient, factors): (f64, Vec<Factor>)| match parameters {
        1 => Term::OneParameter(CompoundTerm { coefficient, simple_terms: factors.iter().flat_map(simple).collect() }),
        _ => Term::SeveralParameters {
            coefficient,
            parameter_term_pairs: factors
                .iter()
                .map(|f| (f.parameter, CompoundTerm { coefficient: 1.0, simple_terms: simple(f) }))
                .collect(),
        },
    };
    Function { constant_coefficient, compound_terms: products.into_iter().map(term).collect(), kind }
}

/// `factors / x_parameter`.
fn divided_by(factors: &[Factor], parameter: usize) -> Vec<Factor> {
    let mut quotient = factors.to_vec();
    match quotient.iter_mut().find(|f| f.parameter == parameter) {
        Some(factor) => factor.exponent -= 1,
        None => quotient.push(Factor { parameter, exponent: Exponent::from_integer(-1), log_exponent: 0 }),
    }
    quotient.retain(|f| f.exponent != Exponent::from_integer(0) || f.log_exponent != 0);
    quotient
}

/// Power and logarithm, each only where its exponent is not zero.
fn simple(factor: &Factor) -> Vec<SimpleTerm> {
    let power = match factor.exponent {
        e if e == Exponent::from_integer(0) => None,
        e if e.is_integer() => Some(Power::Whole(e.to_integer())),
        e => Some(Power::Fraction(e.to_string())),
    };
    let logarithm = (factor.log_exponent != 0).then_some(Power::Whole(factor.log_exponent));
    let named = |term_type| move |exponent| SimpleTerm { term_type, exponent };
    power.map(named("polynomial")).into_iter().chain(logarithm.map(named("logarithm"))).collect()
}
