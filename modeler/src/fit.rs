//! From an experiment to its models: which series is modelled how, over all call paths in parallel.

mod counts;
mod first_value;
mod pooling;
mod rounded_times;
mod searched;
mod shape;
mod smooth_counts;
mod stray;
mod sums;
mod sweeps;
mod two_values;

use crate::absorption::scaling::{self, Binding};
use crate::build::{constant_model, misfit, prior_model};
use crate::data::Data;
use crate::effort::Workspace;
use crate::experiment::{CallPathId, Experiment, Layout, MetricId, Series, WAITING};
use crate::extra_p_space::Designs;
use crate::hypotheses::Hypotheses;
use crate::model::{Kind, Model, Role, Warning};
use crate::options::{self, ExponentSets, MethodChoice, Options};
use crate::priors::{self, Prior};
use crate::roughness::{self, Lines};
use crate::rounded;
use crate::segments::{self, Cut};
use crate::share::{Share, fit_share};
use crate::warning::{self, Code, warning};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use counts::Effort;
use pooling::KindNoise;

/// A series that has no model, and why.
///
/// ```
/// let text = "PARAMETER p\nPOINTS 2 4\nREGION solve\nMETRIC time\nDATA 1\nDATA 2\n";
/// let input = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?;
/// let fits = modeler::fit(&input.experiment, &modeler::Options::default());
/// assert_eq!((fits.skipped[0].callpath, fits.skipped[0].metric), (0, 0));
/// assert_eq!(fits.skipped[0].code, modeler::warning::TOO_FEW_POINTS);
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Call path, an index into the experiment's.
    pub callpath: CallPathId,
    /// Metric, an index into the experiment's.
    pub metric: MetricId,
    /// Why, in one sentence.
    pub reason: String,
    /// Stable code that [`crate::warning::ALL`] explains.
    #[serde(deserialize_with = "crate::warning::known_code")]
    pub code: Code,
}

/// The models of an experiment.
///
/// ```
/// use modeler::experiment::{ExperimentBuilder, Metric};
/// let mut builder = ExperimentBuilder::new(["p"]);
/// let visits = builder.metric(Metric { name: "visits".into(), unit: String::new(), over_ranks: None });
/// for (name, points) in [("a", &[2.0, 4.0, 8.0, 16.0][..]), ("b", &[2.0, 4.0])] {
///     let callpath = builder.callpath([name]);
///     for p in points {
///         let point = builder.point(&[*p]);
///         builder.add(callpath, visits, point, *p);
///     }
/// }
/// let fits = modeler::fit(&builder.finish(), &modeler::Options::default());
/// assert_eq!((fits.models.len(), fits.skipped.len()), (1, 1)); // two points are too few
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fits {
    /// The models, in the order of the experiment's series.
    pub models: Vec<Model>,
    /// The series without one, in the same order.
    pub skipped: Vec<Skipped>,
}

/// Metrics that count and therefore have no noise.
pub(crate) const EFFORT: [&str; 10] = [
    "visits",
    "basic_blocks",
    "bytes_sent",
    "bytes_received",
    "comm_size",
    "logical_wait",
    "polling_blocks",
    "instructions",
    "compiled_blocks",
    "peers",
];
/// Models of fewer points have a warning.
const FEW_POINTS: usize = 5;
/// Names that users give the parameter that is the number of ranks.
pub(crate) const RANKS: [&str; 11] =
    ["p", "ranks", "processes", "nprocs", "procs", "np", "mpi_ranks", "num_procs", "nranks", "ntasks", "num_tasks"];

/// Fits a model to every series of `experiment` whose value over ranks is the one asked for, or is unknown.
///
/// Times become functions of the parameters in the metric's unit. Where a call path's effort was measured it gives
/// the shape; a call path whose last name begins with `MPI_` is communication and follows the cost of its operation.
/// Counts become the functions that explain them to their own precision. A series that cannot be modelled is
/// skipped with its reason; nothing here fails or panics.
///
/// The same experiment and options give the same models at any number of threads.
///
/// ```
/// use modeler::experiment::{ExperimentBuilder, Metric};
///
/// let mut builder = ExperimentBuilder::new(["p"]);
/// let blocks = builder.metric(Metric { name: "basic_blocks".into(), unit: String::new(), over_ranks: None });
/// let solve = builder.callpath(["main", "solve"]);
/// for p in [2.0_f64, 4.0, 8.0, 16.0, 32.0] {
///     let point = builder.point(&[p]);
///     builder.add(solve, blocks, point, 7.0 + 3.0 * p * p.log2());
/// }
/// let fits = modeler::fit(&builder.finish(), &modeler::Options::default());
/// assert_eq!(fits.models[0].expression(&["p".into()]), "7 + 3 * p * log2(p)");
/// ```
#[must_use]
pub fn fit(experiment: &Experiment, options: &Options) -> Fits {
    fit_share(experiment, options, Share { index: 0, of: 1 })
}

/// What is shared by all series of an experiment.
pub(crate) struct Fitter<'a> {
    experiment: &'a Experiment,
    options: &'a Options,
    /// By layout: which points are neighbours.
    lines: Vec<Arc<Lines>>,
    /// By layout.
    hypotheses: Vec<Arc<Hypotheses<'a>>>,
    /// The same for bytes, which have more exponents.
    byte_hypotheses: Vec<Arc<Hypotheses<'a>>>,
    /// By layout, bits of parameters and whether for bytes: the hypotheses of series that grow faster in those
    /// parameters than the largest exponent.
    steep_hypotheses: Mutex<HashMap<(usize, usize, bool), Arc<Hypotheses<'a>>>>,
    /// Where models are to be those of Extra-P's modeler: its hypotheses.
    extra_p: Option<Designs>,
    /// Whether the exponent sets are the default ones.
    is_default: bool,
    /// Metric ids by name.
    metrics: HashMap<&'a str, Vec<MetricId>>,
    ranks: Option<usize>,
    /// What the time is called.
    time: &'a str,
    /// By series: the functions behind counts, found when first needed, as models or as priors of others.
    efforts: Vec<OnceLock<Effort>>,
    /// By metric that is a time, and whether for MPI operations: its noise, and which series were pooled for it.
    noise: OnceLock<BTreeMap<(MetricId, bool), KindNoise>>,
}

impl<'a> Fitter<'a> {
    pub(crate) fn new(experiment: &'a Experiment, options: &'a Options) -> Self {
        let points = |ids: &[u32]| ids.iter().map(|&i| experiment.points[i as usize].as_slice()).collect::<Vec<_>>();
        let lines = experiment.layouts.iter().map(|l| Arc::new(Lines::of(&points(&l.points)))).collect();
        let with = |sets: &ExponentSets| {
            let plain = Arc::default();
            let of = |l: &Layout| Arc::new(Hypotheses::sharing(points(&l.points), sets, &plain));
            experiment.layouts.iter().map(of).collect()
        };
        let (hypotheses, byte_hypotheses) = (with(&options.exponents), with(&options.exponents.times_ranks()));
        let mut metrics: HashMap<&str, Vec<MetricId>> = HashMap::new();
        for (id, metric) in experiment.metrics.iter().enumerate() {
            metrics.entry(metric.name.as_str()).or_default().push(id as MetricId);
        }
        let is_ranks = |name: &String| RANKS.contains(&name.to_ascii_lowercase().as_str());
        let ranks = experiment.parameters.iter().position(is_ranks);
        let efforts = experiment.series.iter().map(|_| OnceLock::new()).collect();
        let steep_hypotheses = Mutex::new(HashMap::new());
        let is_default = options.exponents == options::ExponentSets::default();
        Self {
            experiment,
            options,
            lines,
            hypotheses,
            byte_hypotheses,
            steep_hypotheses,
            extra_p: (options.method == MethodChoice::ExtraP).then(|| Designs::new(experiment)),
            is_default,
            metrics,
            ranks,
            time: experiment.name_of_time(),
            efforts,
            noise: OnceLock::new(),
        }
    }

    /// Fits the series of those of `callpaths` that `share` holds.
    pub(crate) fn run(&self, share: Share, callpaths: &Range<CallPathId>) -> Fits {
        let is_modelled = |s: &&Series| share.holds(s.callpath) && self.is_modelled(s.metric);
        if self.extra_p.is_none() {
            self.noise.get_or_init(|| self.pools());
        }
        let modelled: Vec<&Series> =
            self.experiment.series[self.series_of(callpaths)].iter().filter(is_modelled).collect();
        let floor = |s: &Series| self.experiment.rounding(s.metric).max(rounded::deviation_of(self.experiment, s));
        let fit = |w: &mut _, s: &&Series| self.fit_series(s, w).map(|m| rounded::with_floor(m, floor(s)));
        let results: Vec<Result<Model, Skipped>> = modelled.par_iter().map_init(Workspace::default, fit).collect();
        let mut fits = Fits::default();
        for result in results {
            match result {
                Ok(model) => fits.models.push(model),
                Err(skipped) => fits.skipped.push(skipped),
            }
        }
        fits
    }

    /// Forgets the functions behind the counts at `callpaths`; they would be found again where they were needed.
    pub(crate) fn forget(&mut self, callpaths: &Range<CallPathId>) {
        let series = self.series_of(callpaths);
        self.efforts[series].fill_with(OnceLock::new);
    }

    /// The series of `callpaths`, which lie side by side.
    fn series_of(&self, callpaths: &Range<CallPathId>) -> Range<usize> {
        let before = |id: CallPathId| self.experiment.series.partition_point(|s| s.callpath < id);
        before(callpaths.start)..before(callpaths.end)
    }

    fn is_modelled(&self, metric: MetricId) -> bool {
        let metric = &self.experiment.metrics[metric as usize];
        let over = metric.over_ranks;
        !scaling::is_no_quantity(&metric.name) && (over.is_none() || over == Some(self.options.over_ranks))
    }

    fn fit_series(&self, series: &Series, workspace: &mut Workspace) -> Result<Model, Skipped> {
        let skipped = |reason: String, code| Skipped { callpath: series.callpath, metric: series.metric, reason, code };
        if let Some(designs) = &self.extra_p {
            let (kind, least) = (self.kind(series), self.options.minimum_points);
            return designs.fit(self.experiment, series, kind, least, &mut workspace.extra_p);
        }
        let name = self.experiment.metrics[series.metric as usize].name.as_str();
        let mut data = self.data(series);
        self.warn_of_fixed_parameters(&mut data);
        let points = data.medians.len();
        if let Some(reason) = data.too_few(self.options.minimum_points) {
            return Err(skipped(reason, warning::TOO_FEW_POINTS));
        }
        data.warnings.extend(few_points(points));
        if EFFORT.contains(&name) {
            return Ok(Model { kind: self.kind(series), ..self.fit_count(series, &data, workspace) });
        }
        if data.medians.iter().all(|y| *y == 0.0) {
            return Ok(constant_model(&data, self.kind(series), 0.0));
        }
        if (name == self.time || name == "wait_time")
            && self.options.method != MethodChoice::Time
            && let Some((prior, effort_metric, warnings)) = self.prior(series, workspace)
        {
            data = self.beyond_one(&data, &prior).unwrap_or(data);
            if let Some(binding) = self.leaves_the_core(series) {
                return Ok(self.fit_bound(series, &data, &binding, (&prior, effort_metric, warnings), workspace));
            }
            if let Some(rest) = stray::without_strays_of(self.experiment, &data, &prior) {
                data = rest;
            }
            if let Some(left) = misfit(&data, &prior) {
                if let Some(model) = self.fit_contradicting(series, &data, left, workspace) {
                    return Ok(model);
                }
                let message = format!("The times differ from the shape of the effort by {}.", off_by(left));
                data.warnings.push(warning(warning::PRIOR_MISFIT, message));
            }
            data.warnings.extend(warnings);
            return Ok(self.fit_prior(series, &data, &prior, effort_metric, workspace));
        }
        if let Some(model) = self.fit_whole_numbers(series, &data, workspace) {
            return Ok(model);
        }
        if self.options.method == MethodChoice::Effort {
            return Err(skipped("no effort was measured at this call path".into(), warning::NO_EFFORT));
        }
        Ok(self.fit_search(series, &data, workspace))
    }

    /// The data without times at one rank, if the effort there is not what `prior` says.
    fn beyond_one(&self, data: &Data<'a>, prior: &Prior) -> Option<Data<'a>> {
        let why = "the effort is not what its function at larger values gives";
        first_value::without(self.experiment, data, prior.apart_at_one?, self.options.minimum_points, why)
    }

    /// The usable values of a series.
    fn data(&self, series: &Series) -> Data<'a> {
        Data::new(self.experiment, series, &self.lines[series.layout as usize])
    }

    /// The hypotheses on the points that have usable values: the layout's own where those are all.
    fn hypotheses(&self, data: &Data<'a>) -> Arc<Hypotheses<'a>> {
        let is_bytes = self.experiment.metrics[data.series.metric as usize].name.starts_with("bytes");
        let shared = if is_bytes { &self.byte_hypotheses[data.layout] } else { &self.hypotheses[data.layout] };
        let beyond = || roughness::grows_beyond(&data.lines, &data.medians, options::STEEPEST);
        let steep = if self.is_default { beyond() } else { 0 };
        let build = |points| Arc::new(shared.at(points, steep));
        if data.points.len() != shared.points.len() {
            return build(data.points.clone());
        }
        if steep != 0 {
            let mut known = self.steep_hypotheses.lock().unwrap_or_else(PoisonError::into_inner);
            let key = (data.layout, steep, is_bytes);
            return Arc::clone(known.entry(key).or_insert_with(|| build(shared.points.clone())));
        }
        Arc::clone(shared)
    }

    fn warn_of_fixed_parameters(&self, data: &mut Data) {
        let hypotheses = &self.hypotheses[data.layout];
        data.warnings.extend(one_value(self.experiment, hypotheses.fixed()));
    }

    fn kind(&self, series: &Series) -> Kind {
        let metric = &self.experiment.metrics[series.metric as usize];
        let is_mpi = self.experiment.callpaths[series.callpath as usize].name.starts_with("MPI_");
        match metric.name.as_str() {
            name if WAITING.contains(&name) || name == "logical_wait" => Kind::Waiting,
            name if metric.is_time() || name == self.time => {
                if is_mpi {
                    Kind::Communication
                } else {
                    Kind::Computation
                }
            }
            _ if is_mpi => Kind::Communication,
            _ => Kind::Other,
        }
    }

    /// The model of a time whose shape `prior` gives. Where it changes its behaviour and one function explains the
    /// effort, other coefficients hold beyond; where two do, each segment has its own shape.
    fn fit_prior(
        &self,
        series: &Series,
        data: &Data<'a>,
        prior: &Prior,
        metric: MetricId,
        workspace: &mut Workspace,
    ) -> Model {
        let pool = self.pooled(series);
        let fit = |data: &Data<'a>, prior: &Prior| {
            if data.medians.iter().all(|y| *y == 0.0) {
                return constant_model(data, self.kind(series), 0.0);
            }
            prior_model(self.experiment, data, self.kind(series), prior, metric, &pool, self.options.runners_up)
        };
        let whole = fit(data, prior);
        let parts = segments::cuts(data).into_iter().map(|cut| {
            let of_side = |lower: bool, workspace: &mut Workspace| {
                let own = self.prior_of_part(series.callpath, metric, cut, lower, workspace);
                fit(&cut.part(data, lower), own.as_ref().unwrap_or(prior))
            };
            (cut, of_side(true, workspace), of_side(false, workspace))
        });
        segments::better(data, &whole, parts.collect()).unwrap_or(whole)
    }

    /// What binds a computation whose time its basic blocks do not set everywhere.
    fn leaves_the_core(&self, series: &Series) -> Option<Binding> {
        let is_computation = self.kind(series) == Kind::Computation;
        let binding = is_computation.then(|| scaling::binding(self.experiment, series.callpath)).flatten()?;
        binding.leaves_the_core(self.experiment).then_some(binding)
    }

    /// The model of a time whose blocks set it only where the core binds the call path: `prior` gives the shape there, the
    /// times beyond, and where the class changes a segment may begin.
    fn fit_bound(
        &self,
        series: &Series,
        data: &Data<'a>,
        binding: &Binding,
        (prior, metric, warnings): (&Prior, MetricId, Vec<Warning>),
        workspace: &mut Workspace,
    ) -> Model {
        let mut data = self.without_first_value(data, workspace).into_owned();
        let what = binding.sentence(self.experiment).unwrap_or_default();
        let forced = self.options.method == MethodChoice::Effort;
        let message = match forced {
            true => format!("{what} Basic blocks do not set the time of what memory binds, but the shape is theirs."),
            false => format!("{what} Basic blocks do not set the time of what memory binds; the times give the shape."),
        };
        data.warnings.push(warning(warning::BOUND_BY_MEMORY, message));
        if forced {
            data.warnings.extend(warnings);
            return self.fit_prior(series, &data, prior, metric, workspace);
        }
        let whole = self.fit_search(series, &data, workspace);
        let Some((cut, change)) = binding.change(self.experiment).and_then(|c| Some((Cut::at(&data, &c)?, c))) else {
            return whole;
        };
        let mut side = |lower: bool| {
            let part = cut.part(&data, lower);
            match if lower { change.before } else { change.after }.is_in_the_core() {
                true => self.fit_prior(series, &part, prior, metric, workspace),
                false => self.fit_search(series, &part, workspace),
            }
        };
        let (lower, upper) = (side(true), side(false));
        segments::expected(&data, &whole, (cut, lower, upper)).unwrap_or(whole)
    }

    /// The prior of a computation on one side of a change, where no single function explains its blocks.
    fn prior_of_part(
        &self,
        callpath: CallPathId,
        metric: MetricId,
        cut: Cut,
        lower: bool,
        workspace: &mut Workspace,
    ) -> Option<Prior> {
        let series = self.experiment.series_of(callpath, metric)?;
        if self.experiment.metrics[metric as usize].name != "basic_blocks" {
            return None;
        }
        let data = self.data(series);
        if self.effort_of(&data, workspace).found.first()?.residual <= segments::ROUNDED {
            return None;
        }
        let found = self.functions_behind(&cut.part(&data, lower), workspace).into_iter().next()?;
        found.exact.then(|| priors::counted(&found, Role::Computation, |_| true))
    }
}

/// A relative deviation in words; one of more than ten times is a factor.
fn off_by(deviation: f64) -> String {
    if deviation < 10.0 { format!("{:.0} %", 100.0 * deviation) } else { format!("a factor of {:.0}", 1.0 + deviation) }
}

/// The warning that a model of so many points has, if any.
pub(crate) fn few_points(points: usize) -> Option<Warning> {
    let message = || format!("{points} points leave little to choose a function by.");
    (points < FEW_POINTS).then(|| warning(warning::TOO_FEW_POINTS, message()))
}

/// The warning of a model where these parameters have one value each, if there are any.
pub(crate) fn one_value(experiment: &Experiment, fixed: impl Iterator<Item = usize>) -> Option<Warning> {
    let fixed: Vec<&str> = fixed.map(|l| experiment.parameters[l].as_str()).collect();
    let message = || format!("{} has one value in all points, so the model cannot depend on it.", fixed.join(", "));
    (!fixed.is_empty()).then(|| warning(warning::ONE_VALUE, message()))
}
