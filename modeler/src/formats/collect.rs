//! What all readers fill: one experiment over one set of parameters, however many inputs it comes from.

use std::collections::{BTreeSet, HashMap};

use super::error::{
    ASSUMED, ErrorKind, IGNORED, LOST_DIGITS, NOT_POSITIVE, OF_RANKS, Place, ReadError, ReadWarning, readable,
};
use super::profiles::Measured;
use super::runs::{MeasuredRun, Run};
use super::{ReadOptions, RunFound, Values, units};
use crate::data::LARGEST;
use crate::experiment::{CallPathId, Experiment, ExperimentBuilder, Layout, Metric, MetricId, PointId};
use crate::mixed::mixed;
use crate::warning::{UNUSABLE_VALUE, ZERO_TIME};

/// The call path of a measurement that names none, and the metric of one that names none, as Extra-P prints them.
pub(crate) const NO_CALLPATH: &str = "<root>";
/// See [`NO_CALLPATH`].
pub(crate) const NO_METRIC: &str = "<default>";

/// So many values of a parameter are named in a warning.
const SHOWN_VALUES: usize = 4;

/// Collects measurements and warnings of all inputs.
#[derive(Default)]
pub(crate) struct Collector {
    parameters: Option<Vec<String>>,
    builder: ExperimentBuilder,
    /// See [`Collector::include`].
    included: Option<Values>,
    inputs: Vec<Begun>,
    values: usize,
    lost_digits: usize,
    first_lost: Option<Place>,
    /// Values that are negative, larger than models take, and times of zero: how many, and where the first is.
    negative: Option<(usize, Place)>,
    huge: Option<(usize, Place)>,
    zero_times: Option<(usize, Place)>,
    /// A value that is beyond any number once it is added up or converted.
    too_large: Option<f64>,
    /// Warnings in the order in which they were noticed.
    pub warnings: Vec<ReadWarning>,
    /// Runs of all inputs, which are added together because how a region is named depends on all of them.
    pub runs: Vec<Run>,
    /// Profiles of other tools, which are added together because the parameters depend on all of them.
    pub profiles: Vec<Measured>,
    /// How inputs are read.
    pub options: ReadOptions,
    /// Runs whose point was found in a name.
    pub found: Vec<RunFound>,
    /// Runs whose profiles hold effort over time.
    pub phased: Vec<MeasuredRun>,
    /// Runs, and what was noticed about the machine while they went on.
    pub machine: Vec<(String, String)>,
}

/// An input that was begun.
struct Begun {
    place: Place,
    /// Whether it says what its values include.
    is_told: bool,
    /// How many values that stand in it were read, and the sum of the digests of these with what they are of: the same in inputs of the
    /// same measurements in any order.
    values: (usize, u64),
    /// How many of them are times that no clock of hundredths of a second shows, which are alike in two runs by chance only.
    telling: usize,
}

/// A metric as an input has it: which of the experiment it is, and the factor from the input's unit to the experiment's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quantity {
    id: MetricId,
    factor: f64,
    is_time: bool,
}

/// Which of an input's coordinates belongs to each parameter of the experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order(Vec<usize>);

impl Collector {
    /// Declares the parameters of the input at `place`. The first input decides their order; later ones may name the
    /// same parameters in another.
    pub fn parameters(&mut self, names: &[String], place: &Place) -> Result<Order, ReadError> {
        check_names(names, place)?;
        let Some(known) = &self.parameters else {
            self.parameters = Some(names.to_vec());
            self.builder = ExperimentBuilder::new(names.iter().cloned());
            return Ok(Order((0..names.len()).collect()));
        };
        let order: Option<Vec<usize>> = known.iter().map(|k| names.iter().position(|n| n == k)).collect();
        match order {
            Some(order) if names.len() == known.len() => Ok(Order(order)),
            _ => Err(ReadError::malformed(
                place.clone(),
                format!("the parameters are {}, while those of what was read before are {}", list(names), list(known)),
            )
            .expected("the same parameters throughout")
            .advice("Model inputs that have different parameters one by one")),
        }
    }

    /// The point with these coordinates, which are in the order of the input.
    pub fn point(&mut self, order: &Order, coordinates: &[f64]) -> PointId {
        if order.0.iter().enumerate().all(|(i, &j)| i == j) {
            return self.builder.point(coordinates);
        }
        let ordered: Vec<f64> = order.0.iter().map(|&i| coordinates[i]).collect();
        self.builder.point(&ordered)
    }

    /// The call path written `a->b->c`, or [`NO_CALLPATH`] where it is empty.
    pub fn callpath(&mut self, written: &str) -> CallPathId {
        if written.trim().is_empty() {
            return self.builder.callpath([NO_CALLPATH]);
        }
        self.builder.callpath(split_path(written))
    }

    /// The call path with these names from the root, of which there is at least one.
    pub fn callpath_of<S: AsRef<str>>(&mut self, names: &[S]) -> CallPathId {
        if names.is_empty() {
            return self.builder.callpath([NO_CALLPATH]);
        }
        self.builder.callpath(names)
    }

    /// The call path `name` below `parent`.
    pub fn callee(&mut self, parent: Option<CallPathId>, name: &str) -> CallPathId {
        self.builder.callee(parent, name)
    }

    /// The metric that an imported file calls `name`; it tells neither unit nor reduction over ranks.
    pub fn metric_named(&mut self, name: &str) -> Quantity {
        let name = if name.is_empty() { NO_METRIC } else { name };
        self.metric(Metric { name: name.into(), unit: default_unit(name).into(), over_ranks: None })
    }

    /// This metric, whose values are in its unit; where that is a time or a size, they become seconds or bytes.
    pub fn metric(&mut self, metric: Metric) -> Quantity {
        let (unit, factor) = match units::base(&metric.unit) {
            Some((kind, factor)) => (kind.base().to_owned(), factor),
            None => (metric.unit, 1.0),
        };
        let is_time = unit == "s";
        Quantity { id: self.builder.metric(Metric { unit, ..metric }), factor, is_time }
    }

    /// Says that the values of `metric` were rounded; see [`Experiment::rounded`].
    pub fn rounded(&mut self, metric: Quantity, deviation: f64) {
        self.builder.rounded(metric.id, deviation);
    }

    /// Adds one measured value in the input's unit.
    pub fn add(&mut self, callpath: CallPathId, metric: Quantity, point: PointId, value: f64) {
        let converted = value * metric.factor;
        // Sums that readers made may be no numbers any more.
        if !converted.is_finite() {
            self.too_large.get_or_insert(value);
            return;
        }
        self.values += 1;
        self.builder.add(callpath, metric.id, point, converted);
    }

    /// As [`Self::add`] of a value that stands at `place`, which is told where models cannot take the value as it is.
    pub fn add_from(
        &mut self,
        (callpath, metric, point): (CallPathId, Quantity, PointId),
        value: f64,
        place: impl FnOnce() -> Place,
    ) {
        if value < 0.0 {
            self.negative.get_or_insert_with(|| (0, place())).0 += 1;
        } else if value * metric.factor > LARGEST {
            self.huge.get_or_insert_with(|| (0, place())).0 += 1;
        } else if value == 0.0 && metric.is_time {
            self.zero_times.get_or_insert_with(|| (0, place())).0 += 1;
        }
        if let Some(input) = self.inputs.last_mut() {
            let of = [u64::from(callpath) << 32 | u64::from(point), u64::from(metric.id), value.to_bits()];
            input.values.0 += 1;
            input.values.1 = input.values.1.wrapping_add(of.into_iter().fold(0, |digest, part| mixed(digest ^ part)));
            let hundredths = 1e2 * value * metric.factor;
            input.telling += usize::from(metric.is_time && (hundredths - hundredths.round()).abs() > 1e-6);
        }
        self.add(callpath, metric, point, value);
    }

    /// Makes room for about so many values, so that they need not be moved again and again.
    pub fn expect(&mut self, values: u64) {
        self.builder.expect(values as usize);
    }

    /// The next input, and whether the user or its format says what its values include. Where neither does, the input may.
    pub fn begin(&mut self, place: Place, is_told: bool) {
        self.inputs.push(Begun { place, is_told, values: (0, 0), telling: 0 });
    }

    /// Says what the values of the input at `place` include. All inputs must agree, and agree with what the user says.
    pub fn include(&mut self, values: Values, place: &Place) -> Result<(), ReadError> {
        match self.included {
            Some(known) if known != values => {
                let what = format!(
                    "the values of call paths {} those of callees here, and {} them by what was read before or by the command line",
                    included(values),
                    included(known)
                );
                Err(ReadError::malformed(place.clone(), what)
                    .expected("values of one kind")
                    .advice("Leave --inclusive and --exclusive out, or read the inputs one by one"))
            }
            _ => {
                self.included = Some(values);
                self.inputs.last_mut().into_iter().for_each(|input| input.is_told = true);
                Ok(())
            }
        }
    }

    /// Notes that the whole number at `place` cannot be held exactly; of all such places the first is told.
    pub fn warn_of_lost_digits(&mut self, place: &Place) {
        self.lost_digits += 1;
        self.first_lost.get_or_insert_with(|| place.clone());
    }

    /// Notes a warning.
    pub fn warn(&mut self, code: &'static str, place: Place, message: impl Into<String>) {
        self.warnings.push(ReadWarning { code, place, message: readable(message.into()) });
    }

    /// The experiment, unless there is nothing in it; `place` is for the message.
    pub fn finish(mut self, place: Place) -> Result<(Experiment, Vec<ReadWarning>), ReadError> {
        if let Some(first) = self.first_lost.take() {
            let message = match self.lost_digits {
                1 => "A whole number beyond 2^53 has lost its last digits.".to_owned(),
                count => format!("{count} whole numbers beyond 2^53 have lost their last digits; this is the first."),
            };
            self.warn(LOST_DIGITS, first, message);
        }
        if let Some((count, first)) = self.negative.take() {
            let message = match count {
                1 => "A value is negative and takes part in no model.".to_owned(),
                count => format!("{count} values are negative and take part in no model; this is the first."),
            };
            self.warn(UNUSABLE_VALUE, first, message);
        }
        if let Some((count, first)) = self.huge.take() {
            let message = match count {
                1 => format!("A value is beyond {LARGEST:e} and takes part in no model."),
                count => format!("{count} values are beyond {LARGEST:e} and take part in no model; this is the first."),
            };
            self.warn(UNUSABLE_VALUE, first, message);
        }
        if let Some((count, first)) = self.zero_times.take() {
            let message = match count {
                1 => "A time is exactly zero.".to_owned(),
                count => format!("{count} times are exactly zero; this is the first."),
            };
            self.warn(ZERO_TIME, first, message);
        }
        if let Some(value) = self.too_large {
            let what = match value.is_finite() {
                true => format!("{value:e} in its unit is beyond any number in seconds or bytes"),
                false => "values of ranks or samples add up to more than any number".to_owned(),
            };
            return Err(ReadError::malformed(place, what)
                .expected("times, counts and sizes that can be added up and converted"));
        }
        if self.values == 0 {
            let mut error = ReadError::new(ErrorKind::NotModelable, place, "there is not one measurement");
            if let Some(warning) = self.warnings.first() {
                error = error.advice(format!("The first reason found: {}", warning.to_string().trim_end_matches('.')));
            }
            return Err(error);
        }
        for (place, message) in repeated(&self.inputs) {
            self.warn(ASSUMED, place, message);
        }
        match self.inputs.iter().find(|input| !input.is_told).map(|input| input.place.clone()) {
            Some(silent) if self.included.is_some() => {
                let message = "It does not tell whether values of call paths hold those of callees, and others of the inputs do, so it is \
                               judged by the values of all. --inclusive or --exclusive says it.";
                self.warn(IGNORED, silent, message);
            }
            _ => self.included.into_iter().for_each(|values| self.builder.include(values)),
        }
        let experiment = std::mem::take(&mut self.builder).finish();
        if let Some((parameter, most)) = counted_by(&experiment) {
            let message = format!(
                "Every point has as many values as `{parameter}` says, up to {most}, so they seem to be those of ranks or threads and \
                 no repetitions: how these differ counts as noise."
            );
            self.warn(OF_RANKS, place.clone(), message);
        }
        for message in not_positive(&experiment) {
            self.warn(NOT_POSITIVE, place.clone(), message);
        }
        Ok((experiment, self.warnings))
    }
}

/// Of each input that has the measurements of one before, all of them and no others, that it has, and where it is. Counts are alike in any
/// runs, and times by a clock that ticks coarsely.
fn repeated<'a>(inputs: &'a [Begun]) -> Vec<(Place, String)> {
    const LEAST: usize = 3;
    let mut known: HashMap<(usize, u64), &Place> = HashMap::new();
    let second = |input: &'a Begun| {
        let first = *known.entry(input.values).or_insert(&input.place);
        let message = || format!("It has the measurements of {first} once more: they are taken for repetitions.");
        (*first != input.place).then(|| (input.place.clone(), message()))
    };
    inputs.iter().filter(|input| input.telling >= LEAST).filter_map(second).collect()
}

/// The parameter that says of each point how many values some call path has there, and the most of them. Few numbers of repetitions
/// may be those of a parameter by chance.
fn counted_by(experiment: &Experiment) -> Option<(&str, u32)> {
    /// Fewer different numbers, or none this large, may be chance.
    const LEAST: (usize, u32) = (3, 8);
    let of_layout = |layout: &Layout, l: usize| {
        let values = |point: PointId| experiment.points[point as usize][l];
        let mut told = layout.points.iter().map(|&point| values(point)).zip(layout.repetitions.iter().copied());
        let different = layout.repetitions.iter().collect::<BTreeSet<_>>().len();
        let most = layout.repetitions.iter().copied().max().unwrap_or(0);
        let is_so = different >= LEAST.0 && most >= LEAST.1 && told.all(|(value, count)| value == f64::from(count));
        is_so.then_some(most)
    };
    let found = |(l, name)| Some((name, experiment.layouts.iter().filter_map(|layout| of_layout(layout, l)).max()?));
    experiment.parameters.iter().map(String::as_str).enumerate().find_map(found)
}

/// Of each parameter that varies and has values of zero or below, that it has, and what it cannot be in there.
fn not_positive(experiment: &Experiment) -> Vec<String> {
    let told = |(parameter, values): (&String, Vec<f64>)| {
        let below: Vec<f64> = values.iter().copied().filter(|value| *value <= 0.0).collect();
        let least = *below.first().filter(|_| values.len() > 1)?;
        let shown: Vec<String> = below.iter().take(SHOWN_VALUES).map(f64::to_string).collect();
        let more = if below.len() > SHOWN_VALUES { " and others" } else { "" };
        let power = if least < 0.0 { "broken" } else { "negative" };
        Some(format!(
            "`{parameter}` is {}{more}, where it has no logarithm and no {power} power: factors with these are not tried.",
            shown.join(", ")
        ))
    };
    experiment.parameters.iter().zip(experiment.levels()).filter_map(told).collect()
}

fn included(values: Values) -> &'static str {
    match values {
        Values::Exclusive => "exclude",
        Values::Inclusive => "include",
    }
}

/// The unit of the public interface's metric of this name, which it has in every format; empty for others.
pub(crate) fn default_unit(metric: &str) -> &'static str {
    match (units::kind_of(metric), metric) {
        (Some(kind), _) => kind.base(),
        (None, "comm_size" | "peers") => "ranks",
        _ => "",
    }
}

/// 2^53, below which doubles hold every whole number.
pub(crate) const EXACT: u64 = 1 << 53;

/// Whether no double stands for this number: none has its value, nor these digits as its shortest form.
fn loses_digits(whole: u64) -> bool {
    whole > EXACT
        && format!("{whole}.0") != format!("{:.1}", whole as f64)
        && whole.to_string() != (whole as f64).to_string()
}

/// The same of a number as it is written, of any length.
pub(crate) fn written_loses_digits(number: &str) -> bool {
    let digits = number.trim_start_matches(['+', '-']).trim_start_matches('0');
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    match digits.parse() {
        Ok(whole) => loses_digits(whole),
        // Beyond 2^64: the digits are all of the double's, or the shortest that give it and zeros.
        Err(_) => {
            let held = digits.parse::<f64>().unwrap_or(f64::INFINITY);
            format!("{held:.0}") != digits && held.to_string() != digits
        }
    }
}

/// Refuses no parameters, empty names and names that occur twice.
fn check_names(names: &[String], place: &Place) -> Result<(), ReadError> {
    if names.is_empty() {
        return Err(ReadError::malformed(place.clone(), "there is no parameter").expected("at least one parameter"));
    }
    for (i, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(ReadError::malformed(place.clone(), "a parameter's name is empty"));
        }
        if names[..i].contains(name) {
            return Err(ReadError::malformed(place.clone(), format!("the parameter `{name}` is named twice"))
                .expected("each parameter once"));
        }
    }
    Ok(())
}

fn list(names: &[String]) -> String {
    names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}

/// The names in a call path written `a->b->c`, blanks around them left out. The arrow of the C++ names `operator->` and
/// `operator->*` belongs to the name.
pub(crate) fn split_path(written: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let (mut start, mut from) = (0, 0);
    while let Some(found) = written[from..].find("->") {
        let arrow = from + found;
        from = arrow + 2;
        if !written[start..arrow].ends_with("operator") {
            names.push(written[start..arrow].trim());
            start = from;
        }
    }
    names.push(written[start..].trim());
    names
}

/// Names joined with arrows, or nothing where reading the result would not give `names` again.
pub(crate) fn join_path(names: &[&str]) -> Option<String> {
    let joined = names.join("->");
    (split_path(&joined) == names).then_some(joined)
}
