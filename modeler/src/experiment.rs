//! An experiment: what was measured, as columns. Parameters × call tree × metrics × points × repetitions.
//!
//! Readers of every format fill an [`ExperimentBuilder`]; the modeler reads the finished [`Experiment`]. Nothing here
//! knows a file format or a model.

use std::collections::{BTreeMap, HashMap};

use crate::formats::units::names_time;

/// Which rank's value a number is, where a profile gave several: the contract's sum, mean, minimum and maximum.
///
/// ```
/// use modeler::experiment::{ExperimentBuilder, Metric, OverRanks};
/// // Two ranks that took 1 s and 3 s: the mean and the maximum are two metrics.
/// let mut builder = ExperimentBuilder::new(["p"]);
/// let [mean, maximum] = [OverRanks::Mean, OverRanks::Maximum]
///     .map(|over| builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: Some(over) }));
/// let (solve, point) = (builder.callpath(["solve"]), builder.point(&[2.0]));
/// builder.add(solve, mean, point, 2.0);
/// builder.add(solve, maximum, point, 3.0);
/// let experiment = builder.finish();
/// assert_eq!(experiment.metric("time", Some(OverRanks::Maximum)), Some(maximum));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OverRanks {
    /// The arithmetic mean over all ranks, those without the call path counting as zero.
    Mean,
    /// The largest value of any rank.
    Maximum,
    /// The smallest value of any rank.
    Minimum,
    /// The sum over all ranks.
    Sum,
}

impl OverRanks {
    /// `mean`, `maximum`, `minimum` or `sum`.
    ///
    /// ```
    /// use modeler::experiment::OverRanks;
    /// assert_eq!(OverRanks::Maximum.name(), "maximum");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Maximum => "maximum",
            Self::Minimum => "minimum",
            Self::Sum => "sum",
        }
    }
}

/// A measured quantity.
///
/// ```
/// use modeler::experiment::{ExperimentBuilder, Metric};
/// let bytes = Metric { name: "bytes_sent".into(), unit: "bytes".into(), over_ranks: None };
/// let mut builder = ExperimentBuilder::new(["p"]);
/// let first = builder.metric(bytes.clone());
/// // Another unit makes another metric.
/// let second = builder.metric(Metric { unit: "MB".into(), ..bytes.clone() });
/// assert_eq!((first, second, builder.metric(bytes)), (0, 1, 0));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Metric {
    /// The contract's name, such as `time`, `visits`, `basic_blocks`, `bytes_sent`; or what an imported file says.
    pub name: String,
    /// Unit, such as `s`, `bytes`; empty for pure counts and where an imported file names none.
    pub unit: String,
    /// How the ranks' values became one, or `None` where an imported file does not tell.
    pub over_ranks: Option<OverRanks>,
}

/// Times that are waited.
pub(crate) const WAITING: [&str; 3] = ["wait_time", "late_sender", "late_receiver"];

impl Metric {
    /// Whether its values are times; what has no name is taken for one.
    pub(crate) fn is_time(&self) -> bool {
        self.name == "time" || self.name.is_empty() || self.unit == "s"
    }

    /// Whether other programs only make its values larger: times, also those whose unit a file does not tell. What else is measured,
    /// as cache misses, they move either way.
    pub(crate) fn is_lengthened(&self) -> bool {
        self.is_time() || self.unit.is_empty() && names_time(&self.name)
    }
}

/// What the value of a call path includes.
///
/// ```
/// use modeler::experiment::{ExperimentBuilder, Values};
/// let mut builder = ExperimentBuilder::new(["p"]);
/// assert_eq!(Values::default(), Values::Exclusive);
/// builder.include(Values::Inclusive);
/// assert_eq!(builder.finish().included, Some(Values::Inclusive));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Values {
    /// What the call path does itself.
    #[default]
    Exclusive,
    /// Also what its callees do.
    Inclusive,
}

/// Index of a call path in [`Experiment::callpaths`].
pub type CallPathId = u32;
/// Index of a measurement point in [`Experiment::points`].
pub type PointId = u32;
/// Index of a metric in [`Experiment::metrics`].
pub type MetricId = u32;

/// One node of the call tree; its path is the chain of names from the root.
///
/// ```
/// use modeler::experiment::ExperimentBuilder;
/// let mut builder = ExperimentBuilder::new(["p"]);
/// builder.callpath(["main", "solve"]);
/// let tree = builder.finish().callpaths;
/// assert_eq!((tree[0].name.as_str(), tree[0].parent), ("main", None));
/// assert_eq!((tree[1].name.as_str(), tree[1].parent), ("solve", Some(0)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallPath {
    /// The caller, or `None` at a root.
    pub parent: Option<CallPathId>,
    /// Name of the function, region or MPI operation.
    pub name: String,
}

/// Which points a series has values at and how many at each. Series that share a layout share all linear algebra.
///
/// ```
/// use modeler::experiment::{ExperimentBuilder, Layout, Metric};
/// let mut builder = ExperimentBuilder::new(["p"]);
/// let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
/// let solve = builder.callpath(["solve"]);
/// for (p, seconds) in [(4.0, 2.0), (2.0, 1.0), (2.0, 1.1)] {
///     let point = builder.point(&[p]);
///     builder.add(solve, time, point, seconds);
/// }
/// // Point 0 is p = 2, measured twice; point 1 is p = 4.
/// assert_eq!(builder.finish().layouts, [Layout { points: vec![0, 1], repetitions: vec![2, 1] }]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// The points, in ascending order of their index.
    pub points: Vec<PointId>,
    /// Number of repetitions at each of `points`.
    pub repetitions: Vec<u32>,
}

impl Layout {
    /// Number of values of a series of this layout.
    ///
    /// ```
    /// use modeler::experiment::Layout;
    /// let layout = Layout { points: vec![0, 1, 4], repetitions: vec![2, 1, 3] };
    /// assert_eq!(layout.len(), 2 + 1 + 3);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.repetitions.iter().map(|&r| r as usize).sum()
    }

    /// Whether the layout has no value at all.
    ///
    /// ```
    /// use modeler::experiment::Layout;
    /// assert!(Layout { points: vec![], repetitions: vec![] }.is_empty());
    /// assert!(!Layout { points: vec![3], repetitions: vec![1] }.is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }
}

/// The measurements of one metric at one call path.
///
/// ```
/// use modeler::experiment::{ExperimentBuilder, Metric};
/// let mut builder = ExperimentBuilder::new(["p"]);
/// let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
/// let (solve, point) = (builder.callpath(["main", "solve"]), builder.point(&[2.0]));
/// builder.add(solve, time, point, 1.5);
/// let experiment = builder.finish();
/// let series = &experiment.series[0]; // `main` was not measured, so it has none
/// assert_eq!((series.callpath, series.metric, series.layout), (1, 0, 0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Series {
    /// Whose measurements these are.
    pub callpath: CallPathId,
    /// What was measured.
    pub metric: MetricId,
    /// Index into [`Experiment::layouts`].
    pub layout: u32,
    /// Where the values start in [`Experiment::values`].
    start: usize,
}

/// What was measured, complete and sorted: points by coordinates, call paths as first seen with callers before
/// callees, series by call path, then metric.
///
/// ```
/// let text = "PARAMETER p\nPOINTS 2 4\nREGION main->solve\nMETRIC time\nDATA 1.0 1.1\nDATA 2.0 2.2\n";
/// let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?.experiment;
/// assert_eq!((experiment.parameters, experiment.points), (vec!["p".into()], vec![vec![2.0], vec![4.0]]));
/// assert_eq!(experiment.callpaths.len(), 2); // `main` and `solve`
/// assert_eq!(experiment.values, [1.0, 1.1, 2.0, 2.2]);
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Experiment {
    /// Names of the execution parameters.
    pub parameters: Vec<String>,
    /// Coordinates of the points, `parameters.len()` numbers each, in lexicographic order.
    pub points: Vec<Vec<f64>>,
    /// The call tree, callers before callees.
    pub callpaths: Vec<CallPath>,
    /// The measured quantities.
    pub metrics: Vec<Metric>,
    /// The distinct layouts of the series.
    pub layouts: Vec<Layout>,
    /// One entry per call path and metric that has values.
    pub series: Vec<Series>,
    /// Metrics whose values a report has rounded, and the relative standard deviation of that, ascending.
    pub rounded: Vec<(MetricId, f64)>,
    /// What the values of call paths include, where the input, its reader or the user says; [`crate::callees`] judges the
    /// others.
    pub included: Option<Values>,
    /// The values of all series, back to back; per series point by point, repetitions of a point next to each other
    /// in the order they were added.
    pub values: Vec<f64>,
}

impl Experiment {
    /// The values of `series`, point by point as its layout says.
    ///
    /// ```
    /// use modeler::experiment::{ExperimentBuilder, Metric};
    ///
    /// let mut builder = ExperimentBuilder::new(["p"]);
    /// let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
    /// let solve = builder.callpath(["main", "solve"]);
    /// for (p, seconds) in [(2.0, 1.0), (2.0, 1.1), (4.0, 2.0)] {
    ///     let point = builder.point(&[p]);
    ///     builder.add(solve, time, point, seconds);
    /// }
    /// let experiment = builder.finish();
    /// assert_eq!(experiment.values_of(&experiment.series[0]), [1.0, 1.1, 2.0]);
    /// ```
    #[must_use]
    pub fn values_of(&self, series: &Series) -> &[f64] {
        let length = self.layouts[series.layout as usize].len();
        &self.values[series.start..series.start + length]
    }

    /// The values of `series` with their points: one `(coordinates, repetitions)` pair per point.
    ///
    /// ```
    /// use modeler::experiment::{ExperimentBuilder, Metric};
    ///
    /// let mut builder = ExperimentBuilder::new(["p"]);
    /// let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
    /// let solve = builder.callpath(["main", "solve"]);
    /// for (p, seconds) in [(2.0, 1.0), (2.0, 1.1), (4.0, 2.0)] {
    ///     let point = builder.point(&[p]);
    ///     builder.add(solve, time, point, seconds);
    /// }
    /// let experiment = builder.finish();
    /// let measured: Vec<(&[f64], &[f64])> = experiment.measurements(&experiment.series[0]).collect();
    /// assert_eq!(measured, [(&[2.0][..], &[1.0, 1.1][..]), (&[4.0], &[2.0])]);
    /// ```
    pub fn measurements<'a>(&'a self, series: &Series) -> impl Iterator<Item = (&'a [f64], &'a [f64])> {
        let layout = &self.layouts[series.layout as usize];
        let mut rest = self.values_of(series);
        layout.points.iter().zip(&layout.repetitions).map(move |(&point, &repetitions)| {
            let (these, others) = rest.split_at(repetitions as usize);
            rest = others;
            (self.points[point as usize].as_slice(), these)
        })
    }

    /// The series of `metric` at `callpath`, if measured.
    ///
    /// ```
    /// use modeler::experiment::{ExperimentBuilder, Metric};
    ///
    /// let mut builder = ExperimentBuilder::new(["p"]);
    /// let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
    /// let solve = builder.callpath(["main", "solve"]);
    /// for (p, seconds) in [(2.0, 1.0), (2.0, 1.1), (4.0, 2.0)] {
    ///     let point = builder.point(&[p]);
    ///     builder.add(solve, time, point, seconds);
    /// }
    /// let experiment = builder.finish();
    /// assert_eq!(experiment.series_of(solve, time).map(|s| s.callpath), Some(solve));
    /// assert_eq!(experiment.series_of(0, time), None); // `main` itself was not measured
    /// ```
    #[must_use]
    pub fn series_of(&self, callpath: CallPathId, metric: MetricId) -> Option<&Series> {
        self.series.binary_search_by_key(&(callpath, metric), |s| (s.callpath, s.metric)).ok().map(|i| &self.series[i])
    }

    /// The metric with this name and reduction over ranks.
    ///
    /// ```
    /// use modeler::experiment::{ExperimentBuilder, Metric};
    ///
    /// let mut builder = ExperimentBuilder::new(["p"]);
    /// let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
    /// let solve = builder.callpath(["main", "solve"]);
    /// for (p, seconds) in [(2.0, 1.0), (2.0, 1.1), (4.0, 2.0)] {
    ///     let point = builder.point(&[p]);
    ///     builder.add(solve, time, point, seconds);
    /// }
    /// let experiment = builder.finish();
    /// assert_eq!(experiment.metric("time", None), Some(time));
    /// assert_eq!(experiment.metric("visits", None), None);
    /// ```
    #[must_use]
    pub fn metric(&self, name: &str, over_ranks: Option<OverRanks>) -> Option<MetricId> {
        self.metrics.iter().position(|m| m.name == name && m.over_ranks == over_ranks).map(|i| i as MetricId)
    }

    /// The relative standard deviation of what rounding has done to the values of `metric`; zero where it was not rounded.
    ///
    /// ```
    /// use modeler::experiment::{ExperimentBuilder, Metric};
    ///
    /// let mut builder = ExperimentBuilder::new(["p"]);
    /// let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
    /// builder.rounded(time, 0.0029); // a report of two digits
    /// assert_eq!(builder.finish().rounding(time), 0.0029);
    /// ```
    #[must_use]
    pub fn rounding(&self, metric: MetricId) -> f64 {
        self.rounded.iter().find(|(id, _)| *id == metric).map_or(0.0, |(_, deviation)| *deviation)
    }

    /// How far repetitions of `series` scatter: their standard deviation relative to the mean of their point, pooled over the
    /// points by degrees of freedom. `None` where no point with a positive mean was repeated.
    ///
    /// ```
    /// use modeler::experiment::{ExperimentBuilder, Metric};
    ///
    /// let mut builder = ExperimentBuilder::new(["p"]);
    /// let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
    /// let solve = builder.callpath(["main", "solve"]);
    /// for (p, seconds) in [(2.0, 0.9), (2.0, 1.1), (4.0, 2.0)] {
    ///     let point = builder.point(&[p]);
    ///     builder.add(solve, time, point, seconds);
    /// }
    /// let experiment = builder.finish();
    /// let scatter = experiment.scatter_of_repetitions(&experiment.series[0]).unwrap();
    /// assert!((scatter - 0.02_f64.sqrt()).abs() < 1e-12); // 0.1² + 0.1², over one degree of freedom
    /// ```
    #[must_use]
    pub fn scatter_of_repetitions(&self, series: &Series) -> Option<f64> {
        let (mut squares, mut freedom) = (0.0, 0);
        for (_, values) in self.measurements(series) {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            if values.len() > 1 && mean > 0.0 && mean.is_finite() {
                squares += values.iter().map(|v| (v / mean - 1.0).powi(2)).sum::<f64>();
                freedom += values.len() - 1;
            }
        }
        (freedom > 0).then(|| (squares / freedom as f64).sqrt())
    }

    /// What the metric is called that is the time of the call paths, whose shape effort gives: `time`, or, where none is called so, the
    /// only other one that is a time and no waiting.
    ///
    /// ```
    /// use modeler::experiment::{ExperimentBuilder, Metric};
    ///
    /// let of = |names: &[&str]| {
    ///     let mut builder = ExperimentBuilder::new(["p"]);
    ///     for name in names {
    ///         builder.metric(Metric { name: name.to_string(), unit: String::new(), over_ranks: None });
    ///     }
    ///     builder.finish()
    /// };
    /// assert_eq!(of(&["basic_blocks", "runtime", "wait_time"]).name_of_time(), "runtime");
    /// assert_eq!(of(&["runtime", "time"]).name_of_time(), "time");
    /// assert_eq!(of(&["user_time", "system_time"]).name_of_time(), "time"); // which no metric is called here
    /// ```
    #[must_use]
    pub fn name_of_time(&self) -> &str {
        let is_called = |metric: &Metric| metric.name == "time";
        let mut others = self.metrics.iter().filter(|m| m.is_lengthened() && !WAITING.contains(&m.name.as_str()));
        let one = others.next().filter(|one| others.all(|other| other.name == one.name));
        match one {
            Some(one) if !self.metrics.iter().any(is_called) => &one.name,
            _ => "time",
        }
    }

    /// Distinct values of each parameter over all points, ascending.
    pub(crate) fn levels(&self) -> Vec<Vec<f64>> {
        let of = |l: usize| {
            // Zeros of either sign are one value.
            let mut values: Vec<f64> = self.points.iter().map(|point| point[l] + 0.0).collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            values
        };
        (0..self.parameters.len()).map(of).collect()
    }

    /// Names from the root to `callpath`.
    ///
    /// ```
    /// use modeler::experiment::{ExperimentBuilder, Metric};
    ///
    /// let mut builder = ExperimentBuilder::new(["p"]);
    /// let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
    /// let solve = builder.callpath(["main", "solve"]);
    /// for (p, seconds) in [(2.0, 1.0), (2.0, 1.1), (4.0, 2.0)] {
    ///     let point = builder.point(&[p]);
    ///     builder.add(solve, time, point, seconds);
    /// }
    /// let experiment = builder.finish();
    /// assert_eq!(experiment.path(solve), ["main", "solve"]);
    /// ```
    #[must_use]
    pub fn path(&self, callpath: CallPathId) -> Vec<&str> {
        let mut names = Vec::new();
        let mut next = Some(callpath);
        while let Some(id) = next {
            let node = &self.callpaths[id as usize];
            names.push(node.name.as_str());
            next = node.parent;
        }
        names.reverse();
        names
    }
}

/// Collects measurements in any order and gives the sorted [`Experiment`].
///
/// ```
/// use modeler::experiment::{ExperimentBuilder, Metric};
///
/// let mut builder = ExperimentBuilder::new(["p"]);
/// let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
/// let solve = builder.callpath(["main", "solve"]);
/// for (p, seconds) in [(8.0, 4.1), (2.0, 1.0), (4.0, 2.0)] {
///     let point = builder.point(&[p]);
///     builder.add(solve, time, point, seconds);
/// }
/// let experiment = builder.finish();
/// assert_eq!(experiment.points, [[2.0], [4.0], [8.0]]);
/// assert_eq!(experiment.values_of(&experiment.series[0]), [1.0, 2.0, 4.1]);
/// ```
#[derive(Debug, Default)]
pub struct ExperimentBuilder {
    parameters: Vec<String>,
    points: Vec<Vec<f64>>,
    point_ids: HashMap<Vec<u64>, PointId>,
    callpaths: Vec<CallPath>,
    callpath_ids: HashMap<(Option<CallPathId>, String), CallPathId>,
    /// The call paths from a root to the last one that was asked for, as callers are often the same as before.
    last: Vec<CallPathId>,
    metrics: Vec<Metric>,
    /// See [`Experiment::rounded`].
    rounded: BTreeMap<MetricId, f64>,
    /// See [`Experiment::included`].
    included: Option<Values>,
    /// `(callpath, metric, point, value)` in the order they were added.
    records: Vec<(CallPathId, MetricId, PointId, f64)>,
}

impl ExperimentBuilder {
    /// An experiment over these execution parameters.
    ///
    /// ```
    /// use modeler::experiment::ExperimentBuilder;
    /// let experiment = ExperimentBuilder::new(["p", "n"]).finish();
    /// assert_eq!(experiment.parameters, ["p", "n"]);
    /// assert!(experiment.points.is_empty() && experiment.series.is_empty());
    /// ```
    pub fn new<S: Into<String>>(parameters: impl IntoIterator<Item = S>) -> Self {
        Self { parameters: parameters.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// The point with these coordinates; the same coordinates give the same point.
    ///
    /// ```
    /// use modeler::experiment::ExperimentBuilder;
    /// let mut builder = ExperimentBuilder::new(["p", "n"]);
    /// let first = builder.point(&[4.0, 100.0]);
    /// assert_ne!(builder.point(&[2.0, 100.0]), first);
    /// assert_eq!(builder.point(&[4.0, 100.0]), first);
    /// assert_eq!(builder.finish().points, [[2.0, 100.0], [4.0, 100.0]]); // sorted
    /// ```
    ///
    /// # Panics
    /// If there are not as many coordinates as parameters, which is a defect of the caller.
    pub fn point(&mut self, coordinates: &[f64]) -> PointId {
        assert_eq!(coordinates.len(), self.parameters.len(), "one coordinate per parameter");
        // Adding zero makes -0.0 and 0.0 one value, of coordinates as of points.
        let coordinates: Vec<f64> = coordinates.iter().map(|x| x + 0.0).collect();
        let key = coordinates.iter().map(|x| x.to_bits()).collect();
        *self.point_ids.entry(key).or_insert_with(|| {
            self.points.push(coordinates);
            (self.points.len() - 1) as PointId
        })
    }

    /// The call path with these names from the root; callers are added as needed.
    ///
    /// ```
    /// use modeler::experiment::ExperimentBuilder;
    /// let mut builder = ExperimentBuilder::new(["p"]);
    /// let solve = builder.callpath(["main", "solve"]);
    /// let main = builder.callpath(["main"]);
    /// assert_eq!((main, solve), (0, 1)); // the caller came first
    /// ```
    ///
    /// # Panics
    /// If `names` is empty, which is a defect of the caller.
    pub fn callpath<S: AsRef<str>>(&mut self, names: impl IntoIterator<Item = S>) -> CallPathId {
        let mut parent = None;
        for (depth, name) in names.into_iter().enumerate() {
            let is_last = |id: &&CallPathId| {
                let last = &self.callpaths[**id as usize];
                last.parent == parent && last.name == name.as_ref()
            };
            let known = self.last.get(depth).filter(is_last).copied();
            let id = known.unwrap_or_else(|| {
                let id = self.callee(parent, name.as_ref());
                self.last.truncate(depth);
                self.last.push(id);
                id
            });
            parent = Some(id);
        }
        parent.expect("a call path has at least one name")
    }

    /// The call path `name` below `parent`, or a root where `parent` is `None`.
    ///
    /// ```
    /// use modeler::experiment::ExperimentBuilder;
    /// let mut builder = ExperimentBuilder::new(["p"]);
    /// let main = builder.callee(None, "main");
    /// let solve = builder.callee(Some(main), "solve");
    /// assert_eq!(builder.callpath(["main", "solve"]), solve);
    /// ```
    pub fn callee(&mut self, parent: Option<CallPathId>, name: &str) -> CallPathId {
        *self.callpath_ids.entry((parent, name.to_owned())).or_insert_with(|| {
            self.callpaths.push(CallPath { parent, name: name.to_owned() });
            (self.callpaths.len() - 1) as CallPathId
        })
    }

    /// The index of this metric.
    ///
    /// ```
    /// use modeler::experiment::{ExperimentBuilder, Metric};
    /// let mut builder = ExperimentBuilder::new(["p"]);
    /// let metric = |name: &str| Metric { name: name.into(), unit: String::new(), over_ranks: None };
    /// assert_eq!(["visits", "basic_blocks", "visits"].map(|name| builder.metric(metric(name))), [0, 1, 0]);
    /// ```
    pub fn metric(&mut self, metric: Metric) -> MetricId {
        let known = self.metrics.iter().position(|m| *m == metric);
        known.unwrap_or_else(|| {
            self.metrics.push(metric);
            self.metrics.len() - 1
        }) as MetricId
    }

    /// Says that the values of `metric` were rounded, which moved them by this relative standard deviation.
    /// Of several for one metric the largest counts.
    ///
    /// ```
    /// use modeler::experiment::{ExperimentBuilder, Metric};
    /// let mut builder = ExperimentBuilder::new(["p"]);
    /// let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
    /// builder.rounded(time, 0.001);
    /// builder.rounded(time, 0.003);
    /// builder.rounded(time, 0.002);
    /// assert_eq!(builder.finish().rounded, [(time, 0.003)]);
    /// ```
    pub fn rounded(&mut self, metric: MetricId, deviation: f64) {
        let known = self.rounded.entry(metric).or_default();
        *known = known.max(deviation);
    }

    /// Says what the values of call paths include.
    ///
    /// ```
    /// use modeler::experiment::{ExperimentBuilder, Values};
    /// let mut builder = ExperimentBuilder::new(["p"]);
    /// builder.include(Values::Inclusive);
    /// assert_eq!(builder.finish().included, Some(Values::Inclusive));
    /// ```
    pub fn include(&mut self, values: Values) {
        self.included = Some(values);
    }

    /// Adds one measured value; several at one point are its repetitions.
    /// The value is in the metric's unit; the three indices are those that this builder gave.
    ///
    /// ```
    /// use modeler::experiment::{ExperimentBuilder, Metric};
    /// let mut builder = ExperimentBuilder::new(["p"]);
    /// let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
    /// let (solve, point) = (builder.callpath(["solve"]), builder.point(&[2.0]));
    /// builder.add(solve, time, point, 1.5);
    /// builder.add(solve, time, point, 1.25);
    /// assert_eq!(builder.finish().values, [1.5, 1.25]);
    /// ```
    pub fn add(&mut self, callpath: CallPathId, metric: MetricId, point: PointId, value: f64) {
        self.records.push((callpath, metric, point, value));
    }

    /// Makes room for so many more values, unless there is too little memory.
    pub(crate) fn expect(&mut self, values: usize) {
        // Without room now, there may still be enough for fewer.
        let _ = self.records.try_reserve_exact(values);
    }

    /// Sorts everything into columns.
    /// Indices of points that the builder gave do not hold in the experiment, whose points are sorted; those of call paths and
    /// metrics do.
    ///
    /// ```
    /// use modeler::experiment::{ExperimentBuilder, Metric};
    /// let mut builder = ExperimentBuilder::new(["p"]);
    /// let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
    /// let solve = builder.callpath(["solve"]);
    /// let points = [8.0, 2.0].map(|p| builder.point(&[p]));
    /// builder.add(solve, time, points[0], 4.0);
    /// builder.add(solve, time, points[1], 1.0);
    /// let experiment = builder.finish();
    /// assert_eq!(experiment.points, [[2.0], [8.0]]);
    /// assert_eq!(experiment.values, [1.0, 4.0]);
    /// ```
    #[must_use]
    pub fn finish(self) -> Experiment {
        let Self { parameters, points, callpaths, metrics, rounded, included, mut records, .. } = self;
        let mut order: Vec<usize> = (0..points.len()).collect();
        order.sort_by(|&a, &b| {
            points[a].iter().zip(&points[b]).fold(std::cmp::Ordering::Equal, |o, (x, y)| o.then(x.total_cmp(y)))
        });
        let mut rank = vec![0 as PointId; points.len()];
        for (new, &old) in order.iter().enumerate() {
            rank[old] = new as PointId;
        }
        for record in &mut records {
            record.2 = rank[record.2 as usize];
        }
        // Stable, so that repetitions of a point keep the order in which they were added.
        records.sort_by_key(|&(callpath, metric, point, _)| (callpath, metric, point));

        let mut experiment = Experiment {
            parameters,
            points: order.into_iter().map(|i| points[i].clone()).collect(),
            callpaths,
            metrics,
            rounded: rounded.into_iter().collect(),
            included,
            values: records.iter().map(|r| r.3).collect(),
            ..Experiment::default()
        };
        let mut layout_ids: HashMap<Layout, u32> = HashMap::new();
        let (mut start, mut layout) = (0, Layout { points: Vec::new(), repetitions: Vec::new() });
        for group in records.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            layout.points.clear();
            layout.repetitions.clear();
            for repetitions in group.chunk_by(|a, b| a.2 == b.2) {
                layout.points.push(repetitions[0].2);
                layout.repetitions.push(repetitions.len() as u32);
            }
            let next = layout_ids.len() as u32;
            // Most series have the layout of the one before.
            let last = experiment.series.last().map(|series| series.layout);
            let known = last.filter(|&last| experiment.layouts[last as usize] == layout);
            let known = known.or_else(|| layout_ids.get(&layout).copied());
            let layout = known.unwrap_or_else(|| {
                experiment.layouts.push(layout.clone());
                layout_ids.insert(layout.clone(), next);
                next
            });
            experiment.series.push(Series { callpath: group[0].0, metric: group[0].1, layout, start });
            start += group.len();
        }
        experiment
    }
}
/// The middle value of repetitions; the mean of the two middle ones of an even number.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]),
    }
}
