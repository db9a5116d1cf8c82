//! From an experiment to its models: which series is modelled how, over all call paths in parallel.

mod first_value;
mod pooling;
mod shape;
mod stray;
mod sums;
mod sweeps;
mod two_values;

use crate::absorption::scaling::{self, Binding};
use crate::build::{
    Pooled, candidate_basis, constant_model, count_model, deviation, misfit, prior_model, searched_model,
};
use crate::data::Data;
use crate::depth::{self, Waiting};
use crate::effort::{self, Count, Found, Workspace};
use crate::experiment::{CallPathId, Experiment, Layout, MetricId, Series};
use crate::extra_p_space::Designs;
use crate::hypotheses::Hypotheses;
use crate::model::{Kind, Model, Role, Term, Warning};
use crate::options::{self, ExponentSets, MethodChoice, Options};
use crate::priors::{self, Prior};
use crate::roughness::{self, Lines};
use crate::rounded;
use crate::segments::{self, Cut};
use crate::shape_search::{self, Extent};
use crate::share::{Share, fit_share};
use crate::warning::{self, Code, warning};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

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
/// A shape searched in the times replaces that of the effort where it leaves at most this share of the deviation.
const CONTRADICTED: f64 = 0.25;
/// The search of times replaces the function of a count where it leaves at most this share of the deviation.
const MUCH_CLOSER: f64 = 0.5;
/// Whole numbers from here on need not be whole.
const BEYOND_WHOLE: f64 = 9_007_199_254_740_992.0;
/// So many more of them than coefficients agree with no function by chance.
const SPARE: usize = 3;
/// Roughness that such numbers have at most where a function gives them.
const SMOOTH_COUNT: f64 = 0.03;
/// Root mean square of relative differences that rounding of loop bounds is not taken to make.
const BEYOND_ROUNDING: f64 = 0.2;
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

/// A series' counts and the function found behind them.
#[derive(Debug, Default)]
struct Effort {
    /// Candidates, best first.
    found: Vec<Found>,
    /// Of waiting, the stages that are waited for, where it is so many times what one costs.
    stages: Option<Found>,
    /// Whether the count repeats exactly.
    repeats: bool,
    /// The parameter, if there is one, at whose value one the count is not that of `found`, which gives all others exactly.
    apart_at_one: Option<usize>,
    /// Where no exact function was found and parameters with two values change the count: another one, and what is not known of it.
    of_two_values: Option<(Found, Warning)>,
    /// Where no function comes near the count: its model as that of a noisy measurement, if this comes much closer, and the function.
    like_noise: Option<(Model, Found)>,
}

impl Effort {
    /// The function that times may take their shape from: one that explains the counts, or else the best that cannot
    /// fall below zero away from the measured points.
    fn shape(&self) -> Option<&Found> {
        let cannot_fall = |f: &&Found| f.constant >= 0.0 && f.terms.iter().all(|t| t.1 >= 0.0);
        let best = self.found.first().filter(|f| f.is_explained());
        let of_two_values = self.of_two_values.iter().map(|(found, _)| found);
        let others = of_two_values.chain(self.like_noise.iter().map(|(_, found)| found)).chain(&self.found);
        best.or_else(|| others.into_iter().find(cannot_fall))
    }
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
        if matches!(name, "time" | "wait_time")
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
            "wait_time" | "late_sender" | "late_receiver" | "logical_wait" => Kind::Waiting,
            _ if metric.is_time() => {
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

    fn fit_count(&self, series: &Series, data: &Data<'a>, workspace: &mut Workspace) -> Model {
        let effort = self.effort_of(data, workspace);
        if effort.repeats {
            let whole = count_model(self.experiment, data, series.metric, &effort.found, self.options.runners_up);
            let split = self.count_in_segments(data, effort, workspace);
            return split.or_else(|| self.inexact_count(data, effort, &whole, workspace)).unwrap_or(whole);
        }
        let mut data = data.clone();
        let message = "The count differs between repetitions and is modelled like a noisy measurement.";
        data.warnings.push(warning(warning::EFFORT_VARIES, message));
        if data.medians.iter().all(|y| *y == 0.0) {
            return constant_model(&data, Kind::Other, 0.0);
        }
        self.searched_count(&data, None, workspace)
    }

    /// The model of what is measured in whole numbers and is no time, where a function gives all of them exactly: a count of which nothing
    /// says that it has no noise, as of messages or floating-point operations.
    fn fit_whole_numbers(&self, series: &Series, data: &Data<'a>, workspace: &mut Workspace) -> Option<Model> {
        let y = &data.medians;
        let are_whole = y.iter().all(|v| v.fract() == 0.0 && *v < BEYOND_WHOLE);
        if !are_whole || !data.repeats_exactly() || self.experiment.metrics[series.metric as usize].is_lengthened() {
            return None;
        }
        let hypotheses = self.hypotheses(data);
        let are_zeros_at_one =
            || data.points.iter().zip(y).all(|(x, v)| *v != 0.0 || x.contains(&1.0)) && y.contains(&0.0);
        let are_smooth = || data.lines.roughness(y).is_none_or(|roughness| roughness <= SMOOTH_COUNT);
        // Of noisy values no function would be found, after a long search.
        let are_plain = || match hypotheses.nonzero(y) {
            Some(nonzero) => nonzero.hypotheses.lines_are_plain(&nonzero.values(y)),
            None => hypotheses.lines_are_plain(y),
        };
        let functions = match (are_smooth() || are_zeros_at_one()) && are_plain() {
            true => self.function_of_few(y, &hypotheses, workspace),
            false => return None,
        };
        let is_it = |f: &Found| f.exact && !f.terms.is_empty() && f.coefficients() + SPARE <= y.len();
        let found = functions.into_iter().find(is_it)?;
        let model = count_model(self.experiment, data, series.metric, &[found], self.options.runners_up);
        Some(Model { kind: self.kind(series), ..model })
    }

    /// The shapes for the values of `data`, best first.
    fn shapes(&self, data: &Data<'a>, workspace: &mut Workspace) -> Vec<shape_search::Candidate> {
        let hypotheses = self.hypotheses(data);
        let power = data.weight_power();
        let mut found = shape_search::search(
            &hypotheses,
            data.levels(),
            power,
            (Extent::Usual, data.told_variance()),
            &mut workspace.searched,
        );
        if let Some(exact) = self.without_noise(data, &found, &hypotheses, workspace) {
            found.insert(0, exact);
        }
        let sums = found.first().map(|first| sums::beside(first, data, &hypotheses, workspace)).unwrap_or_default();
        if sums.is_empty() { found } else { sums }
    }

    /// The function that gives times without noise exactly, where the search of noisy ones did not find it: a sum of more products than that
    /// looks at, or one of which no product is near alone.
    fn without_noise(
        &self,
        data: &Data<'a>,
        found: &[shape_search::Candidate],
        hypotheses: &Hypotheses,
        workspace: &mut Workspace,
    ) -> Option<shape_search::Candidate> {
        let (first, y) = (found.first()?, &data.medians);
        if first.is_exact() || !data.repeats_exactly() {
            return None;
        }
        let of_grid = || hypotheses.may_be_exact(y, &data.lines).then(|| hypotheses.smooth_function(y));
        let functions = match hypotheses.exact_of_lines(y).map(Some).or_else(of_grid)? {
            Some((constant, terms)) => vec![effort::exact(constant, terms)],
            None if !hypotheses.is_worth_searching(y, &data.lines) => return None,
            None => {
                let steps = hypotheses.steps(y);
                let count = Count { points: &data.points, y, independent: y.len() as f64, steps: &steps };
                let propose = |weights: &[f64], floor, negative| hypotheses.proposals(y, weights, floor, negative);
                effort::search(count, hypotheses.smooth_libraries(y), self.options.maximum_terms, propose, workspace)
            }
        };
        let exact = functions.into_iter().find_map(|found| exact_time(data, found))?;
        let mut terms = priors::terms_of(&exact, Role::Computation);
        terms.retain(|term| !term.factors.is_empty());
        let (constant, fitted) = (exact.constant, y.clone());
        Some(shape_search::Candidate { constant, terms, fitted, left_out: 0.0, score: first.score })
    }

    /// The model of a count whose shape is searched as that of a time, with noise either way where there is no `pool`.
    fn searched_count(&self, data: &Data<'a>, pool: Option<&Pooled>, workspace: &mut Workspace) -> Model {
        let data = &*self.without_first_value(data, workspace);
        let candidates = self.shapes(data, workspace);
        searched_model(self.experiment, data, Kind::Other, candidates, pool, self.options.runners_up)
    }

    /// The model of a count that no function explains and another comes much closer to: the search of times, as to means over
    /// ranks of few points that are no whole numbers, or, where a parameter with two values changes the count, also functions
    /// that are exact at either.
    fn inexact_count(
        &self,
        data: &Data<'a>,
        effort: &Effort,
        whole: &Model,
        workspace: &mut Workspace,
    ) -> Option<Model> {
        if let Some((model, _)) = &effort.like_noise {
            let mut model = model.clone();
            let said = format!(
                "No function of counts comes closer to it than {:.1} %, so it is modelled like a noisy measurement.",
                100.0 * effort.found[0].residual
            );
            model.warnings.push(warning(warning::EFFORT_INEXACT, said));
            return Some(model);
        }
        let two = self.parameters_of_two_values(data);
        let is_inexact = effort.found.first().is_none_or(|found| found.residual > segments::ROUNDED);
        if two.is_empty() || !is_inexact {
            return None;
        }
        let data = &*self.without_first_value(data, workspace);
        if let Some((found, warning)) = effort.of_two_values.clone() {
            let mut model = count_model(self.experiment, data, data.series.metric, &[found], self.options.runners_up);
            model.warnings.retain(|w| w.code != warning::EFFORT_INEXACT);
            model.warnings.push(warning);
            return Some(model);
        }
        let mut model = self.noisy_count(data, workspace);
        model.warnings.push(self.two_values_warning(&two));
        (deviation(&model, data) < MUCH_CLOSER * deviation(whole, data)).then_some(model)
    }

    /// The model of a count near which none of the functions `found` comes, and its function, where the search of times comes much closer.
    fn count_like_noise(&self, data: &Data<'a>, found: &[Found], workspace: &mut Workspace) -> Option<(Model, Found)> {
        let best = found.first().filter(|best| best.residual > BEYOND_ROUNDING)?;
        if !self.parameters_of_two_values(data).is_empty() {
            return None;
        }
        let data = &*self.without_first_value(data, workspace);
        let whole = count_model(self.experiment, data, data.series.metric, found, 0);
        let model = self.noisy_count(data, workspace);
        let residual = deviation(&model, data);
        let terms = model.terms.iter().map(|term| (term.factors.clone(), term.coefficient)).collect();
        let function = Found { constant: model.constant, terms, residual, exact: false, score: best.score };
        (residual < MUCH_CLOSER * deviation(&whole, data)).then_some((model, function))
    }

    /// The model of a count as that of a time. Its noise is taken for that of a time: fitted through the middle, such a model would be
    /// preferred to the functions of rounded bounds that counts have.
    fn noisy_count(&self, data: &Data<'a>, workspace: &mut Workspace) -> Model {
        self.searched_count(data, Some(&Pooled::default()), workspace)
    }

    /// The model of a time whose shape is searched in the times.
    fn fit_search(&self, series: &Series, data: &Data<'a>, workspace: &mut Workspace) -> Model {
        let is_one_sided = self.experiment.metrics[series.metric as usize].is_lengthened();
        let pool = is_one_sided.then(|| self.pooled(series));
        // Of what a plain sum gives exactly nothing is off, however much it bends.
        let is_plain = self.is_plain(data);
        let data = &*if is_plain { Cow::Borrowed(data) } else { self.without_first_value(data, workspace) };
        let may_stray = is_one_sided && !is_plain;
        let data =
            &*if may_stray { stray::without_stray_repetitions(self.experiment, data) } else { Cow::Borrowed(data) };
        let data = &*if may_stray { data.with_lower_ends() } else { Cow::Borrowed(data) };
        let data = &*if may_stray { self.without_stray(data, workspace) } else { Cow::Borrowed(data) };
        let mut searched = |data: &Data<'a>| {
            if data.medians.iter().all(|y| *y == 0.0) {
                return constant_model(data, self.kind(series), 0.0);
            }
            let candidates = self.shapes(data, workspace);
            searched_model(self.experiment, data, self.kind(series), candidates, pool.as_ref(), self.options.runners_up)
        };
        let whole = searched(data);
        let cuts = segments::cuts(data).into_iter();
        let parts = cuts.map(|cut| (cut, searched(&cut.part(data, true)), searched(&cut.part(data, false)))).collect();
        segments::better(data, &whole, parts).unwrap_or(whole)
    }

    /// Whether sums of few factors along each parameter give the values exactly.
    fn is_plain(&self, data: &Data<'a>) -> bool {
        let found = || self.hypotheses(data).exact_of_lines(&data.medians);
        let exact = || found().and_then(|(constant, terms)| exact_time(data, effort::exact(constant, terms)));
        data.repeats_exactly() && exact().is_some()
    }

    /// The data without those at one rank that are far below all others, unless the function of all has the terms that the one of the others
    /// has and this is next to nothing there.
    fn without_first_value<'d>(&self, data: &'d Data<'a>, workspace: &mut Workspace) -> Cow<'d, Data<'a>> {
        let beyond = first_value::without_far_below(self.experiment, data, self.options.minimum_points);
        let Some(beyond) = beyond else { return self.without_told_first_value(data, workspace) };
        let is_beyond = |x: &&[f64]| beyond.points.contains(x);
        let is_nothing = |term: &Term| data.points.iter().filter(|x| !is_beyond(x)).all(|x| term.at(x) == 0.0);
        let mut first = |of: &Data<'a>| self.shapes(of, workspace).into_iter().next();
        let (Some(of_all), Some(own)) = (first(data), first(&beyond)) else { return Cow::Owned(beyond) };
        let factors = |of: &shape_search::Candidate| of.terms.iter().map(|t| t.factors.clone()).collect::<Vec<_>>();
        let is_nothing_at_one = !own.terms.is_empty()
            && own.terms.iter().all(is_nothing)
            && own.fitted.iter().all(|value| own.constant < first_value::APART * value);
        if is_nothing_at_one && factors(&of_all) == factors(&own) { Cow::Borrowed(data) } else { Cow::Owned(beyond) }
    }

    /// The data without those at one rank that are below all others, where repetitions tell that no function found is that of all, or only
    /// one that has two coefficients more than that of the others: with what is at one, the simpler explanation.
    fn without_told_first_value<'d>(&self, data: &'d Data<'a>, workspace: &mut Workspace) -> Cow<'d, Data<'a>> {
        // The coefficients of the function that explains the values, if one does.
        let mut explained = |of: &Data<'a>| {
            let basis = self.shapes(of, workspace).first().map(candidate_basis)?;
            (!of.tells_apart(&basis)).then_some(basis.len())
        };
        let least = self.options.minimum_points;
        let mut beyond = first_value::without_below_as_told(self.experiment, data, least).peekable();
        if !data.may_tell_apart() || beyond.peek().is_none() {
            return Cow::Borrowed(data);
        }
        let most = explained(data).unwrap_or(usize::MAX);
        let told = beyond.find(|beyond| explained(beyond).is_some_and(|own| own + 1 < most));
        told.map_or(Cow::Borrowed(data), Cow::Owned)
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

    /// The model of a computation whose times are off the shape of its effort by `left`, searched in the times, where that
    /// comes so much closer that the blocks cannot be what sets the time: much of the work is not counted, as in the
    /// functions of libraries.
    fn fit_contradicting(
        &self,
        series: &Series,
        data: &Data<'a>,
        left: f64,
        workspace: &mut Workspace,
    ) -> Option<Model> {
        if self.options.method != MethodChoice::Auto || self.kind(series) != Kind::Computation {
            return None;
        }
        let mut model = self.fit_search(series, data, workspace);
        let off = deviation(&model, data);
        let message = format!(
            "The times differ from the shape of the effort by {} and from this one, searched in the times, by {}.",
            off_by(left),
            off_by(off)
        );
        model.warnings.push(warning(warning::PRIOR_MISFIT, message));
        (off <= CONTRADICTED * left).then_some(model)
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

    /// The two functions that give a count exactly which no single one explains.
    fn count_in_segments(&self, data: &Data<'a>, effort: &Effort, workspace: &mut Workspace) -> Option<Model> {
        let (metric, runners_up) = (data.series.metric, self.options.runners_up);
        if let Some(l) = effort.apart_at_one {
            let cut = first_value::cut(data, l)?;
            let (at_one, beyond) = (cut.part(data, true), cut.part(data, false));
            let found = self.functions_behind(&at_one, workspace);
            let lower = count_model(self.experiment, &at_one, metric, &found, runners_up);
            let upper = count_model(self.experiment, &beyond, metric, &effort.found, runners_up);
            let inexact = lower.warnings.iter().find(|w| w.code == warning::EFFORT_INEXACT).cloned();
            let mut model = segments::joined(data, cut, lower, upper);
            let at_one =
                |w: Warning| warning(w.code, format!("At {} = 1: {}", self.experiment.parameters[l], w.message));
            model.warnings.extend(inexact.map(at_one));
            return Some(model);
        }
        if effort.found.first()?.residual <= segments::ROUNDED {
            return None;
        }
        segments::cuts(data).into_iter().find_map(|cut| {
            let mut side = |lower: bool| {
                let part = cut.part(data, lower);
                let found = self.functions_behind(&part, workspace);
                segments::is_sure(found.first()?, &part)
                    .then(|| count_model(self.experiment, &part, metric, &found, runners_up))
            };
            let (lower, upper) = (side(true)?, side(false)?);
            Some(segments::joined(data, cut, lower, upper))
        })
    }

    /// The function behind a count.
    fn effort_of(&self, data: &Data<'a>, workspace: &mut Workspace) -> &Effort {
        let key = (data.series.callpath, data.series.metric);
        let index = self.experiment.series.partition_point(|s| (s.callpath, s.metric) < key);
        self.efforts[index].get_or_init(|| {
            let (found, stages) = match self.waiting(data, workspace) {
                Some(Waiting { found, stages }) => (found, stages),
                None => (self.function_of_few(&data.medians, &self.hypotheses(data), workspace), None),
            };
            let (repeats, best) = (data.repeats_exactly(), found.first());
            if repeats
                && best.is_none_or(|best| !best.exact || best.coefficients() > 1)
                && let Some((parameter, found)) = self.function_beyond_one(data, best, workspace)
            {
                return Effort { found, repeats, apart_at_one: Some(parameter), ..Effort::default() };
            }
            let is_inexact = best.is_none_or(|best| best.residual > segments::ROUNDED);
            let of_two_values =
                (repeats && is_inexact).then(|| self.count_of_two_values(data, best, workspace)).flatten();
            let is_like_noise = repeats && is_inexact && of_two_values.is_none();
            let like_noise = is_like_noise.then(|| self.count_like_noise(data, &found, workspace)).flatten();
            Effort { found, stages, repeats, apart_at_one: None, of_two_values, like_noise }
        })
    }

    /// The functions that give a count exactly but where a parameter is one, as of messages, which one rank has nobody to send to; if that is
    /// simpler than `whole`, where this gives all values exactly.
    fn function_beyond_one(
        &self,
        data: &Data<'a>,
        whole: Option<&Found>,
        workspace: &mut Workspace,
    ) -> Option<(usize, Vec<Found>)> {
        let parameters = data.points.first().map_or(0, |x| x.len());
        (0..parameters).filter(|&l| first_value::is_off_power(data, l, BEYOND_ROUNDING)).find_map(|l| {
            let cut = first_value::cut(data, l)?;
            let (at_one, beyond) = (cut.part(data, true), cut.part(data, false));
            let found = self.functions_behind(&beyond, workspace);
            if !first_value::is_apart(&at_one, &beyond, found.first()?, BEYOND_ROUNDING) {
                return None;
            }
            let gives = |whole: &&Found| whole.exact && whole.residual <= BEYOND_ROUNDING;
            let most = whole.filter(gives).map_or(usize::MAX, Found::coefficients);
            let mut of_one = || self.functions_behind(&at_one, workspace).first().map_or(1, Found::coefficients);
            (most == usize::MAX || found[0].coefficients() + of_one() < most).then_some((l, found))
        })
    }

    /// The functions that explain a count, best first.
    fn functions_behind(&self, data: &Data<'a>, workspace: &mut Workspace) -> Vec<Found> {
        match self.waiting(data, workspace) {
            Some(waiting) => waiting.found,
            None => self.function_of_few(&data.medians, &self.hypotheses(data), workspace),
        }
    }

    /// The functions of logical waiting for the stages of a sweep; `None` where `data` are no such waiting.
    fn waiting(&self, data: &Data<'a>, workspace: &mut Workspace) -> Option<Waiting> {
        if self.experiment.metrics[data.series.metric as usize].name != "logical_wait" {
            return None;
        }
        self.sweep_function(data, workspace).or_else(|| self.depth_function(data, workspace))
    }

    /// The functions that explain the counts `y` in those parameters that they depend on, best first.
    fn function_of_few(&self, y: &[f64], hypotheses: &Hypotheses, workspace: &mut Workspace) -> Vec<Found> {
        match hypotheses.reduced(y) {
            Some(reduced) => self.function_of(&reduced.values(y), &reduced.hypotheses, workspace),
            None => self.function_of(y, hypotheses, workspace),
        }
    }

    /// The functions behind logical waiting, as the depth of a decomposition times a stage where it is that.
    fn depth_function(&self, data: &Data<'a>, workspace: &mut Workspace) -> Option<Waiting> {
        depth::functions(&data.points, &data.medians, self.ranks?, |points, stage| {
            if points.len() == data.points.len() {
                return self.function_of_few(stage, &self.hypotheses(data), workspace);
            }
            self.function_of_few(stage, &Hypotheses::new(points, &self.options.exponents), workspace)
        })
    }

    /// The functions that explain the counts `y`, best first.
    fn function_of(&self, y: &[f64], hypotheses: &Hypotheses, workspace: &mut Workspace) -> Vec<Found> {
        if let Some(found) = self.function_with_zeros(y, hypotheses, workspace) {
            return vec![found];
        }
        let exact = effort::constant_count(y).or_else(|| {
            let (constant, terms) = hypotheses.exact_function(y).or_else(|| hypotheses.exact_of_lines(y))?;
            let mut found = effort::exact(constant, terms);
            found.residual = found.differs_by(&hypotheses.points, y);
            Some(found)
        });
        if let Some(found) = exact {
            return vec![found];
        }
        let count = Count {
            points: &hypotheses.points,
            y,
            independent: hypotheses.independent(y),
            steps: &hypotheses.steps(y),
        };
        let propose = |weights: &[f64], floor, negative| hypotheses.proposals(y, weights, floor, negative);
        effort::search(count, hypotheses.for_count(y), self.options.maximum_terms, propose, workspace)
    }

    /// The function of counts `y` that are zero where a parameter is 1 and only there, as of messages, which one rank has nobody to send
    /// to: an exact one times what is zero there. Zeros say little to a search, and weigh much.
    fn function_with_zeros(&self, y: &[f64], hypotheses: &Hypotheses, workspace: &mut Workspace) -> Option<Found> {
        let nonzero = hypotheses.nonzero(y)?;
        let is_only = |l: &usize| hypotheses.points.iter().zip(y).all(|(x, v)| (x[*l] == 1.0) == (*v == 0.0));
        // One other value does not tell what is zero at 1 from anything else that is.
        let is_told = |l: &usize| nonzero.hypotheses.points.iter().any(|x| x[*l] != nonzero.hypotheses.points[0][*l]);
        let parameter = (0..hypotheses.points[0].len()).find(|l| is_only(l) && is_told(l))?;
        let values = nonzero.values(y);
        let with = |zero_at_one: Found| {
            let of_points = nonzero.hypotheses.points.iter().map(|x| zero_at_one.at(x));
            let divided: Vec<f64> = values.iter().zip(of_points).map(|(v, share)| v / share).collect();
            let found = self.function_of_few(&divided, &nonzero.hypotheses, workspace).into_iter().next()?;
            let few = found.exact && found.coefficients() <= MOST_BESIDE_ZEROS;
            let product = few.then(|| depth::times(&found, &zero_at_one))?;
            Some(effort::exact(product.constant, product.terms))
        };
        let mut found = depth::zero_at_one(parameter).into_iter().find_map(with)?;
        found.residual = found.differs_by(&hypotheses.points, y);
        Some(found)
    }
}

/// The function `found` where it gives the times of `data` exactly and is nowhere negative. Along one line nothing may be taken off: what grows
/// from nothing there is seldom told from what begins later.
fn exact_time(data: &Data, mut found: Found) -> Option<Found> {
    // What the arithmetic leaves of a constant is none.
    let least = data.medians.iter().copied().fold(f64::INFINITY, f64::min) * effort::EXPLAINS;
    if found.constant.abs() < least {
        found.constant = 0.0;
    }
    let adds = || found.constant >= 0.0 && found.terms.iter().all(|term| term.1 >= 0.0);
    let may_be = found.is_never_negative() && (data.lines.varying() > 1 || adds());
    (may_be && found.differs_by(&data.points, &data.medians) < effort::EXPLAINS).then_some(found)
}

/// Summands of a function beside what is zero at one rank.
const MOST_BESIDE_ZEROS: usize = 2;

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
