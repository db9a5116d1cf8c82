//! Scaling models for parallel programs that noise cannot mislead.
//!
//! The library takes an [`Experiment`] (what was measured, as columns) and gives [`Model`]s: for every call path a
//! function of the execution parameters. Where a noise-free effort metric was measured beside the time, effort
//! decides the shape of the model and time only its coefficients.

pub mod absorption;
pub mod advise;
pub mod analysis;
mod axis;
mod bounds;
mod build;
pub mod callees;
mod coefficients;
pub mod compare;
mod coplanar;
mod cross;
mod data;
mod decompose;
mod depth;
pub mod detect;
mod effort;
mod evidence;
mod exact_sum;
pub mod experiment;
mod expression;
mod extra_p_space;
mod fit;
pub mod formats;
mod hypotheses;
mod lack_of_fit;
mod library;
mod line;
mod linear;
mod logarithm;
mod lower_end;
pub mod machine;
pub mod messages;
mod mixed;
pub mod model;
mod multiples;
mod noise;
mod noise_bounds;
mod noise_estimate;
mod noise_pool;
pub mod options;
pub mod phases;
mod plain_sums;
mod predict;
mod priors;
mod quality;
pub mod report;
mod robust;
mod roughness;
mod rounded;
mod rows;
pub mod run_cost;
mod runner_up;
pub mod scatter;
mod screen;
mod segments;
mod separable;
mod shape_search;
mod share;
mod simplex;
mod subspace;
mod sweep;
pub mod verdict;
pub mod warning;
mod wide;
pub mod words;

pub use experiment::{Experiment, ExperimentBuilder};
pub use fit::{Fits, Skipped, fit};
pub use model::{Model, Prediction};
pub use options::{ExponentSets, MethodChoice, NegativeExponents, Options};
pub use share::{Share, fit_callpaths, fit_in_parts, fit_share};
