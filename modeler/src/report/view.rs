//! What the page knows about each call path: computed once, drawn by the program for the most expensive call paths and
//! by the page's script for the others.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;

use super::ReportOptions;
use super::article::signed_percent;
use super::costs::Costs;
use super::effort::effort;
use super::markup::{at, counted};
use super::origin::{parts, phrase};
use super::quantity::{percent, quantity, shape};
use super::reach::Doubts;
use crate::absorption::scaling::{ABSORPTION, AT_LEAST};
use crate::experiment::median;
use crate::experiment::{CallPathId, Experiment, Layout, MetricId, OverRanks};
use crate::fit::Fits;
use crate::model::{Kind, Model, Scale, Term};
use crate::scatter::Scatter;

/// The experiment with everything that all parts of the page need.
pub(crate) struct View<'a> {
    /// What was measured.
    pub experiment: &'a Experiment,
    /// Its models.
    pub fits: &'a Fits,
    /// What the caller wants.
    pub options: &'a ReportOptions,
    /// What call paths cost.
    pub costs: Costs<'a>,
    /// By layout and parameter, the line along which plots show that parameter.
    pub slices: Vec<Vec<Slice>>,
    /// What single predictions are in doubt for.
    doubts: Doubts<'a>,
}

/// A line through the points along one parameter.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Slice {
    /// Coordinates of the line; that of its own parameter is the largest measured.
    pub fixed: Vec<f64>,
    /// The smallest and largest value of the parameter that was measured on the line.
    pub measured: (f64, f64),
    /// Where the plot ends.
    pub until: f64,
    /// Places along the parameter at which intervals are known.
    pub places: Vec<f64>,
}

/// One call path in the ranked metric.
#[derive(Serialize)]
pub(crate) struct CallPathView<'a> {
    /// Index of the call path.
    pub id: CallPathId,
    /// Computation, communication, waiting, other.
    pub kind: &'static str,
    /// Where the shape of the model came from.
    pub shape: String,
    /// Where each part of an MPI operation's shape came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<String>,
    /// Leading growth.
    pub growth: String,
    /// The model as a formula.
    pub expression: String,
    /// The model for evaluation.
    pub function: Function,
    /// Index of the measured points' layout.
    pub layout: u32,
    /// Measured values, point by point.
    pub values: Vec<f64>,
    /// By parameter, the ends of the interval relative to the model at the slice's places.
    pub bands: Vec<Vec<(f64, f64)>>,
    /// The model today.
    pub now: f64,
    /// The middle measurement today, where there is one.
    pub measured: Option<f64>,
    /// Prediction at the target: value, lower and upper end.
    pub then: [f64; 3],
    /// Shares of the program's cost today, at the target, and at the target with all callees.
    pub shares: [f64; 3],
    /// Without callees: cost at the target, shares today and at the target; only where values hold those of callees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own: Option<[f64; 3]>,
    /// The effort beside the time.
    pub effort: Option<EffortView<'a>>,
    /// Absorption by mode.
    pub absorption: Vec<Absorption<'a>>,
    /// How well the model fits, in a line.
    pub quality: String,
    /// Why more is uncertain at the target than the interval says, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// The hypothesis that came closest, and why it lost.
    pub runner_up: Option<(&'a str, &'a str)>,
    /// Codes and sentences.
    pub warnings: Vec<(&'static str, &'a str)>,
    /// Other metrics and their models.
    pub others: Vec<(String, String)>,
}

/// A model's formula for evaluation: a constant, terms, and below a change another function.
#[derive(Serialize)]
pub(crate) struct Function {
    constant: f64,
    terms: Vec<TermView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<Box<Change>>,
}

/// The coefficient, the parameter of a factor `(p-1)/p` or -1, and factors of parameter, exponent and logarithm's exponent.
type TermView = (f64, i64, Vec<(usize, f64, i32)>);

/// Where another function holds.
#[derive(Serialize)]
pub(crate) struct Change {
    parameter: usize,
    /// The largest measured value below the change.
    pub below: f64,
    /// The smallest measured value above.
    pub above: f64,
    lower: Function,
}

/// Effort and what it says about time.
#[derive(Serialize)]
pub(crate) struct EffortView<'a> {
    /// The counted metric.
    pub metric: &'a str,
    /// One count per point of the layout.
    pub counts: Vec<f64>,
    /// The comparison, in full sentences.
    pub verdict: String,
    /// Whether time does not follow effort.
    pub disagrees: bool,
}

/// How many instructions of a mode a call path takes up without becoming slower.
#[derive(Serialize)]
pub(crate) struct Absorption<'a> {
    /// The kind of instruction.
    pub mode: &'a str,
    /// The middle measurement as text, at each point where any mode has one, the same for all; empty where this mode has none.
    pub at: Vec<(u32, String)>,
}

impl<'a> View<'a> {
    /// What all parts of the page need for a report in `metric`, ranked at `target`.
    pub fn new(
        experiment: &'a Experiment,
        fits: &'a Fits,
        options: &'a ReportOptions,
        metric: MetricId,
        target: Vec<f64>,
    ) -> Self {
        let costs = Costs::new(experiment, fits, metric, target, options.level);
        let slices = experiment.layouts.iter().map(|layout| slices(experiment, layout, &costs)).collect();
        let doubts = Doubts::at(experiment, &costs.target);
        Self { experiment, fits, options, costs, slices, doubts }
    }

    /// The unit of the ranked metric.
    pub fn unit(&self) -> &'a str {
        &self.experiment.metrics[self.costs.metric as usize].unit
    }

    /// `time, mean over ranks`.
    pub fn metric_text(&self, metric: MetricId) -> String {
        let metric = &self.experiment.metrics[metric as usize];
        let over = match metric.over_ranks {
            None => "",
            Some(OverRanks::Mean) => ", mean over ranks",
            Some(OverRanks::Maximum) => ", maximum over ranks",
            Some(OverRanks::Minimum) => ", minimum over ranks",
            Some(OverRanks::Sum) => ", sum over ranks",
        };
        format!("{}{over}", metric.name)
    }

    /// The page's knowledge of a modelled call path.
    pub fn callpath(&self, model: &'a Model) -> CallPathView<'a> {
        let id = model.callpath;
        let series = self.experiment.series_of(id, model.metric);
        let layout = series.map_or(0, |s| s.layout);
        let then = self.costs.then[id as usize];
        let costs = &self.costs;
        CallPathView {
            id,
            kind: kind(model.kind),
            shape: phrase(self.experiment, model),
            parts: parts(self.experiment, self.fits, model),
            growth: shape(&self.experiment.parameters, model),
            expression: model.expression(&self.experiment.parameters),
            function: function(model),
            layout,
            values: series.map_or(Vec::new(), |s| self.experiment.values_of(s).iter().map(|&v| rounded(v)).collect()),
            bands: self.slices[layout as usize].iter().enumerate().map(|(l, s)| self.band(model, l, s)).collect(),
            now: rounded(costs.now[id as usize]),
            measured: costs.measured(self.experiment, id).map(rounded),
            then: then.map_or([f64::NAN; 3], |p| [p.value, p.lower, p.upper].map(rounded)),
            shares: [costs.share_now(id), costs.share_then(id), costs.share_with_callees(id)].map(rounded),
            own: costs
                .own(id)
                .filter(|_| costs.is_inclusive())
                .map(|own| [own.then, own.share_now, own.share_then].map(rounded)),
            effort: effort(self.experiment, model).map(|e| EffortView {
                metric: &self.experiment.metrics[e.metric as usize].name,
                counts: e.counts.into_iter().map(rounded).collect(),
                verdict: e.verdict,
                disagrees: e.disagrees,
            }),
            absorption: self.absorption(id),
            quality: quality_text(self.experiment, model),
            doubt: self.doubts.of(model),
            runner_up: model.runners_up.first().map(|r| (r.expression.as_str(), r.reason.as_str())),
            warnings: model.warnings.iter().map(|w| (w.code, w.message.as_str())).collect(),
            others: self.others(model),
        }
    }

    /// The ends of the interval at the slice's places, relative to the model.
    fn band(&self, model: &Model, parameter: usize, slice: &Slice) -> Vec<(f64, f64)> {
        let at = |&place: &f64| {
            let mut x = slice.fixed.clone();
            x[parameter] = place;
            let p = model.predict(&x, self.options.level);
            if p.value > 0.0 { (rounded(p.lower / p.value), rounded(p.upper / p.value)) } else { (1.0, 1.0) }
        };
        slice.places.iter().map(at).collect()
    }

    fn absorption(&self, callpath: CallPathId) -> Vec<Absorption<'a>> {
        let over_ranks = self.experiment.metrics[self.costs.metric as usize].over_ranks;
        let metrics = self.experiment.metrics.iter().enumerate();
        let metrics = metrics.filter(|(_, m)| m.over_ranks.is_none() || m.over_ranks == over_ranks);
        let mut modes: BTreeMap<&'a str, BTreeMap<u32, String>> = BTreeMap::new();
        // Where one run measured what another only bounds, it is measured.
        for (kind, sign) in [(ABSORPTION, ""), (AT_LEAST, "≥ ")] {
            for (id, metric) in metrics.clone() {
                let Some(mode) = metric.name.strip_prefix(kind) else { continue };
                let Some(series) = self.experiment.series_of(callpath, id as MetricId) else { continue };
                let points = &self.experiment.layouts[series.layout as usize].points;
                for (&point, (_, values)) in points.iter().zip(self.experiment.measurements(series)) {
                    let text = || format!("{sign}{}", quantity(rounded(median(values)), ""));
                    modes.entry(mode).or_default().entry(point).or_insert_with(text);
                }
            }
        }
        let points: BTreeSet<u32> = modes.values().flat_map(|of_mode| of_mode.keys().copied()).collect();
        let at = |of_mode: &BTreeMap<u32, String>| -> Vec<(u32, String)> {
            points.iter().map(|point| (*point, of_mode.get(point).cloned().unwrap_or_default())).collect()
        };
        modes.iter().map(|(&mode, of_mode)| Absorption { mode, at: at(of_mode) }).collect()
    }

    /// The models of the other metrics at the same call path.
    fn others(&self, shown: &Model) -> Vec<(String, String)> {
        let models = &self.fits.models;
        let first = models.partition_point(|m| m.callpath < shown.callpath);
        let of_callpath = models[first..].iter().take_while(|m| m.callpath == shown.callpath);
        let others = of_callpath.filter(|m| m.metric != shown.metric);
        others.map(|m| (self.metric_text(m.metric), m.expression(&self.experiment.parameters))).collect()
    }
}

/// Six significant digits: more than measurements have, and short.
pub(crate) fn rounded(value: f64) -> f64 {
    if value.is_finite() { format!("{value:.5e}").parse().unwrap_or(value) } else { f64::NAN }
}

/// What a call path's cost consists of, in a word.
pub(crate) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Computation => "computation",
        Kind::Communication => "communication",
        Kind::Waiting => "waiting",
        Kind::Other => "other",
    }
}

fn function(model: &Model) -> Function {
    let [lower, upper] = model.segments.as_slice() else { return whole(model) };
    let (Some(below), Some(above)) = (lower.to, upper.from) else { return whole(model) };
    let change = Change { parameter: lower.parameter, below, above, lower: whole(&lower.model) };
    Function { change: Some(Box::new(change)), ..whole(&upper.model) }
}

fn whole(model: &Model) -> Function {
    let term = |t: &Term| {
        let remote = match t.scale {
            Scale::One => -1,
            Scale::Remote(parameter) => parameter as i64,
        };
        let exponent = |e: crate::model::Exponent| f64::from(*e.numer()) / f64::from(*e.denom());
        let factors = t.factors.iter().map(|f| (f.parameter, exponent(f.exponent), f.log_exponent));
        (t.coefficient, remote, factors.collect())
    };
    let shown = model.terms.iter().filter(|t| t.coefficient != 0.0);
    Function { constant: model.constant, terms: shown.map(term).collect(), change: None }
}

impl Function {
    /// Where the function changes, with the index of the parameter.
    pub fn change(&self) -> Option<(usize, &Change)> {
        self.change.as_deref().map(|c| (c.parameter, c))
    }
}

fn slices(experiment: &Experiment, layout: &Layout, costs: &Costs) -> Vec<Slice> {
    (0..experiment.parameters.len()).map(|l| slice(experiment, layout, costs, l)).collect()
}

/// The line with most points of the layout along `parameter`; of several the one with the largest other coordinates.
fn slice(experiment: &Experiment, layout: &Layout, costs: &Costs, parameter: usize) -> Slice {
    let mut lines: HashMap<Vec<u64>, (usize, Vec<f64>)> = HashMap::new();
    for &id in &layout.points {
        let mut others = experiment.points[id as usize].clone();
        others[parameter] = 0.0;
        let key = others.iter().map(|x| x.to_bits()).collect();
        lines.entry(key).or_insert((0, others)).0 += 1;
    }
    let best = lines.into_values().max_by(|a, b| a.0.cmp(&b.0).then_with(|| by_coordinates(&a.1, &b.1)));
    let mut fixed = best.map_or_else(|| costs.today.clone(), |(_, others)| others);
    let on_line = |point: &&Vec<f64>| (0..fixed.len()).all(|l| l == parameter || point[l] == fixed[l]);
    let points = layout.points.iter().map(|&id| &experiment.points[id as usize]).filter(on_line);
    let (low, high) = points.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), point| {
        (low.min(point[parameter]), high.max(point[parameter]))
    });
    fixed[parameter] = costs.today[parameter];
    let until = costs.target[parameter].max(costs.today[parameter]);
    Slice { fixed, measured: (low, high), until, places: places(low, high, until) }
}

fn by_coordinates(a: &[f64], b: &[f64]) -> std::cmp::Ordering {
    a.iter().zip(b).fold(std::cmp::Ordering::Equal, |order, (x, y)| order.then(x.total_cmp(y)))
}

/// Where intervals are computed: they change slowly between the measured values and faster beyond.
fn places(low: f64, high: f64, until: f64) -> Vec<f64> {
    if !(low.is_finite() && high.is_finite()) {
        return Vec::new();
    }
    let between = |a: f64, b: f64, t: f64| if a > 0.0 { a * (b / a).powf(t) } else { a + t * (b - a) };
    let inside = [0.0, 0.5, 1.0].map(|t| between(low, high, t));
    let beyond = [1.0 / 3.0, 2.0 / 3.0, 1.0].map(|t| between(high, until, t));
    let mut all: Vec<f64> = inside.into_iter().chain(beyond).map(rounded).filter(|x| x.is_finite()).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}

/// How far repetitions of what `model` is of scatter; see [`Experiment::scatter_of_repetitions`].
pub(crate) fn scatter_of_repetitions(experiment: &Experiment, model: &Model) -> Option<f64> {
    experiment.scatter_of_repetitions(experiment.series_of(model.callpath, model.metric)?)
}

/// How well a model fits, in a line.
fn quality_text(experiment: &Experiment, model: &Model) -> String {
    let q = &model.quality;
    let mut parts = vec![counted(q.points, "point")];
    parts.push(if q.repetitions == 1 {
        "one repetition".into()
    } else {
        format!("at least {}", counted(q.repetitions, "repetition"))
    });
    if let Some(error) = q.cross_validated_relative_error {
        parts.push(format!("mean error at points left out {}", percent(error)));
    }
    if let Some(smape) = q.smape {
        parts.push(format!("mean error of the fit (SMAPE) {}", percent(smape / 100.0)));
    }
    if let Some(r2) = q.adjusted_r2 {
        parts.push(format!("adjusted R² {r2:.3}"));
    }
    if let Some(scatter) = Scatter::of(experiment, model) {
        let (usual, most) = (percent(scatter.usual), signed_percent(scatter.most));
        let place = at(&experiment.parameters, &experiment.points[scatter.point as usize]);
        parts.push(format!("measurements scatter by {usual} about the model, the furthest is {most} off at {place}"));
    }
    if let Some(scatter) = scatter_of_repetitions(experiment, model) {
        parts.push(format!("repetitions by {} about their mean", percent(scatter)));
    }
    format!("{}.", parts.join(" · "))
}
