//! What a fit gives: the model of one metric at one call path, and how it is evaluated.
//!
//! The form is the performance model normal form (PMNF), seed paper "Denoising Application Performance Models with
//! Noise-Resilient Priors", equation 1: `f(x) = Σ_k c_k Π_l x_l^i_kl log2(x_l)^j_kl`.

pub use crate::segments::Segment;
use crate::warning::Code;
use num_rational::Ratio;
use serde::{Deserialize, Serialize};

/// An exact rational exponent.
pub type Exponent = Ratio<i32>;

/// `x^exponent · log2(x)^log_exponent` of one parameter.
///
/// ```
/// use modeler::model::Factor;
/// let factor = Factor { parameter: 0, exponent: (3, 2).into(), log_exponent: 0 };
/// assert_eq!(factor.at(4.0), 8.0); // 4^(3/2)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Factor {
    /// Index of the parameter in [`crate::Experiment::parameters`].
    pub parameter: usize,
    /// Exponent of the parameter.
    pub exponent: Exponent,
    /// Exponent of its binary logarithm.
    pub log_exponent: i32,
}

impl Factor {
    /// The factor's value at `x`.
    ///
    /// ```
    /// use modeler::model::Factor;
    /// let factor = Factor { parameter: 0, exponent: (1, 2).into(), log_exponent: 1 };
    /// assert_eq!(factor.at(16.0), 4.0 * 4.0); // √16 · log2(16)
    /// ```
    #[must_use]
    pub fn at(&self, x: f64) -> f64 {
        x.powf(f64::from(*self.exponent.numer()) / f64::from(*self.exponent.denom())) * x.log2().powi(self.log_exponent)
    }
}

/// What a term stands for in the cost of a call path.
/// Latency, bandwidth and reduction are α, β and γ of the seed paper's Table I.
///
/// ```
/// use modeler::model::{Role, Scale, Term};
/// // A start-up cost of 2 µs, whatever the parameters are.
/// let start_up = Term { coefficient: 2e-6, role: Role::Latency, scale: Scale::One, factors: vec![] };
/// assert_eq!(start_up.at(&[64.0]), 2e-6);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Executed instructions.
    Computation,
    /// Start-up cost of messages: α in the seed paper's Table I.
    Latency,
    /// Cost per byte: β.
    Bandwidth,
    /// Arithmetic of reductions: γ.
    Reduction,
    /// Waiting for other ranks.
    Waiting,
}

/// A multiplier of a term that is no PMNF factor.
///
/// ```
/// use modeler::model::{Role, Scale, Term};
/// let share = Term { coefficient: 1.0, role: Role::Bandwidth, scale: Scale::Remote(0), factors: vec![] };
/// assert_eq!(share.at(&[4.0]), 0.75); // three of four ranks are elsewhere
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scale {
    /// No further multiplier.
    One,
    /// `(p-1)/p` of the communicator's size, whose parameter index this is: Table I's share that crosses the network.
    Remote(usize),
}

/// One term `coefficient · scale · Π factors`.
/// A summand of the seed paper's equation 1.
///
/// ```
/// use modeler::model::{Factor, Role, Scale, Term};
/// let log = Factor { parameter: 0, exponent: 0.into(), log_exponent: 1 };
/// let linear = Factor { parameter: 1, exponent: 1.into(), log_exponent: 0 };
/// let term = Term { coefficient: 0.5, role: Role::Computation, scale: Scale::One, factors: vec![log, linear] };
/// assert_eq!(term.at(&[8.0, 100.0]), 150.0); // 0.5 · log2(8) · 100
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// Multiplier in the metric's unit.
    pub coefficient: f64,
    /// What the term stands for.
    pub role: Role,
    /// Multiplier beyond the PMNF.
    pub scale: Scale,
    /// Factors, at most one per parameter, none being identically one.
    pub factors: Vec<Factor>,
}

/// What a call path's cost consists of.
///
/// ```
/// # use modeler::model::Kind;
/// let text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION main->MPI_Bcast\nMETRIC time\nDATA 1\nDATA 2\nDATA 3\nDATA 4\nDATA 5\n";
/// let input = modeler::formats::read_bytes("bcast.txt", text.into(), &Default::default())?;
/// let fits = modeler::fit(&input.experiment, &modeler::Options::default());
/// assert_eq!(fits.models[0].kind, Kind::Communication); // its name begins with MPI_
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Executes the program's own code.
    Computation,
    /// An MPI operation.
    Communication,
    /// Waits for other ranks.
    Waiting,
    /// A metric that is neither, such as a count.
    Other,
}

/// How the shape of a model was found.
///
/// ```
/// # use modeler::model::Method;
/// let text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC time\nDATA 2\nDATA 4\nDATA 8\nDATA 16\nDATA 32\n";
/// let input = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?;
/// let fits = modeler::fit(&input.experiment, &modeler::Options::default());
/// assert_eq!(fits.models[0].method, Method::Time); // nothing but times was measured
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Method {
    /// A noise-free effort metric gave the shape, the measurements only the coefficients.
    Effort,
    /// The shape was searched in the modelled metric itself.
    Time,
}

/// How well a model fits what was measured. Undefined statistics are `None`.
///
/// ```
/// let text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\nDATA 3 3\nDATA 5 5\nDATA 9 9\nDATA 17 17\nDATA 33 33\n";
/// let input = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?;
/// let fits = modeler::fit(&input.experiment, &modeler::Options::default());
/// let quality = &fits.models[0].quality; // of 1 + p, which is exact
/// assert_eq!((quality.points, quality.repetitions, quality.smape), (5, 2, Some(0.0)));
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// Number of points.
    pub points: usize,
    /// Smallest number of repetitions at a point.
    pub repetitions: usize,
    /// Symmetric mean absolute percentage error, in percent: `100/N Σ 2|y - f| / (|y| + |f|)`.
    pub smape: Option<f64>,
    /// Adjusted coefficient of determination.
    pub adjusted_r2: Option<f64>,
    /// Estimated relative noise of the measurements, 0.05 being 5 %.
    pub noise: Option<f64>,
    /// Mean relative error of points left out of the fit one at a time.
    pub cross_validated_relative_error: Option<f64>,
}

/// Leading growth in one parameter over the terms that matter at the largest measured scale.
///
/// ```
/// # use modeler::model::Growth;
/// // 1 + p log2(p) at p = 2, 4, 8, 16, 32.
/// let text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\nDATA 3\nDATA 9\nDATA 25\nDATA 65\nDATA 161\n";
/// let input = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?;
/// let fits = modeler::fit(&input.experiment, &modeler::Options::default());
/// assert_eq!(fits.models[0].growth, [Growth { exponent: 1.into(), log_exponent: 1 }]);
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Growth {
    /// Exponent of the parameter.
    pub exponent: Exponent,
    /// Exponent of its binary logarithm.
    pub log_exponent: i32,
}

/// A diagnostic with a stable code that `poise explain` knows.
///
/// ```
/// let text = "PARAMETER p\nPOINTS 2 4 8 16\nREGION solve\nMETRIC time\nDATA 2\nDATA 4\nDATA 8\nDATA 16\n";
/// let input = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?;
/// let fits = modeler::fit(&input.experiment, &modeler::Options::default());
/// let codes: Vec<&str> = fits.models[0].warnings.iter().map(|warning| warning.code).collect();
/// assert!(codes.contains(&modeler::warning::TOO_FEW_POINTS)); // four, and five should be measured
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Such as `W004`.
    #[serde(deserialize_with = "crate::warning::known_code")]
    pub code: Code,
    /// One sentence.
    pub message: String,
}

/// The model of one metric at one call path.
/// The function is that of the seed paper's equation 1 with a constant; its parameters are the experiment's, in their order.
///
/// ```
/// // 1 + 2 p at p = 2, 4, 8, 16, 32.
/// let text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\nDATA 5\nDATA 9\nDATA 17\nDATA 33\nDATA 65\n";
/// let input = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?;
/// let fits = modeler::fit(&input.experiment, &modeler::Options::default());
/// let model = &fits.models[0];
/// assert_eq!((model.constant, model.terms[0].coefficient), (1.0, 2.0));
/// assert_eq!(model.at(&[100.0]), 201.0);
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// Call path, an index into the experiment's.
    pub callpath: crate::experiment::CallPathId,
    /// Metric, an index into the experiment's.
    pub metric: crate::experiment::MetricId,
    /// What the call path's cost consists of.
    pub kind: Kind,
    /// How the shape was found.
    pub method: Method,
    /// The metric that gave the shape, for [`Method::Effort`].
    pub effort_metric: Option<crate::experiment::MetricId>,
    /// Constant summand in the metric's unit.
    pub constant: f64,
    /// Summands that grow or shrink. For a time that effort shaped, those of effort's terms that the times do not show
    /// stay, with a coefficient of zero; the formula leaves them out.
    pub terms: Vec<Term>,
    /// Leading growth, one entry per parameter: over the terms of at least 1 % of the model at the largest scale, or,
    /// for [`Method::Effort`], over effort's terms of at least 1 % of their own part of the cost, whatever coefficients
    /// noise leaves to them.
    pub growth: Vec<Growth>,
    /// How well it fits.
    pub quality: Quality,
    /// What the reader should know before trusting it.
    pub warnings: Vec<Warning>,
    /// The hypotheses that came closest, at most three, best first.
    pub runners_up: Vec<RunnerUp>,
    /// The two ranges of one parameter in which different functions hold, in ascending order; empty where one function
    /// holds everywhere. `constant`, `terms` and `growth` are those of the last.
    pub segments: Vec<Segment>,
    /// What the fit knows about its own errors; without it predictions have no width.
    pub(crate) uncertainty: Uncertainty,
}

/// A hypothesis that was not chosen.
///
/// ```
/// let text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC time\nDATA 2.1\nDATA 3.9\nDATA 8.2\nDATA 15.9\nDATA 32.4\n";
/// let input = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?;
/// let options = modeler::Options { runners_up: 2, ..Default::default() };
/// let lost = &modeler::fit(&input.experiment, &options).models[0].runners_up;
/// assert!(!lost.is_empty() && lost.len() <= 2);
/// assert!(lost.iter().all(|other| !other.reason.is_empty() && other.score > 0.0));
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunnerUp {
    /// The function with its fitted coefficients, as [`Model::expression`] prints it.
    pub expression: String,
    /// How far it misses the measurements: [`Quality::cross_validated_relative_error`] of it; in the fit where that is
    /// undefined, and for counts, root mean square.
    pub score: f64,
    /// Why it lost, in one clause.
    pub reason: String,
}

/// What a fit knows about its own errors, all relative to the modelled value. Ranks send it to each other in a format that has no names, so
/// that none of its members may be left out where it is empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Uncertainty {
    /// What the noise of a measurement may be; nothing where there is none.
    pub noises: Vec<crate::noise::PossibleNoise>,
    /// The fitted basis: one entry per free coefficient, each a list of terms with coefficients at scale one.
    pub basis: Vec<Vec<Term>>,
    /// Where effort gave the shape, every summand that may have a coefficient, also those that the fit left out or took together.
    #[serde(skip)]
    pub open: Vec<Vec<Term>>,
    /// Covariance of the free coefficients, row by row.
    pub covariance: Vec<f64>,
    /// Degrees of freedom left after the fit.
    pub freedom: f64,
    /// Other functions that explain the data nearly as well, with their weights relative to the model's own 1.
    pub rivals: Vec<(f64, f64, Vec<Term>)>,
    /// Where the points are a cross: its centre, see [`crate::cross`].
    pub centre: Option<Vec<f64>>,
    /// Ranges of the measured coordinates.
    pub range: Vec<(f64, f64)>,
    /// Measured values that the fit left out since they are of runs that failed or went astray, each with its point.
    pub left_out: Vec<(Vec<f64>, f64)>,
    /// By how much the function misses the measured points beyond noise, relative, root mean square.
    pub misfit: f64,
    /// Relative standard errors of the constant and then of each term's coefficient.
    pub coefficient_errors: Vec<f64>,
}

/// Where a range of a parameter is farthest from zero: where its terms are largest.
pub(crate) fn far_end((low, high): (f64, f64)) -> f64 {
    if low.abs() > high.abs() { low } else { high }
}

impl Uncertainty {
    /// The far end of each parameter, where growth is judged.
    pub fn corner(&self) -> Vec<f64> {
        self.range.iter().copied().map(far_end).collect()
    }

    /// Standard deviation of a measurement relative to the undisturbed value.
    pub fn noise_level(&self) -> f64 {
        self.noises.iter().map(|n| n.weight * n.noise.deviation().powi(2)).sum::<f64>().sqrt()
    }

    /// What one measurement of many tells the undisturbed value to, relative to it: less than [`Self::noise_level`] where noise is one-sided.
    pub fn resolution(&self) -> f64 {
        self.noises.iter().map(|n| n.weight * n.noise.resolution().powi(2)).sum::<f64>().sqrt()
    }

    /// Mean of a measurement relative to the model's value.
    pub fn mean_level(&self) -> f64 {
        let mean = |n: &crate::noise::PossibleNoise| n.weight * n.shift.exp() * (1.0 + n.noise.mean());
        if self.noises.is_empty() { 1.0 } else { self.noises.iter().map(mean).sum() }
    }
}

impl Model {
    /// The model's value at `x`, one coordinate per parameter.
    ///
    /// ```
    /// # use modeler::experiment::{ExperimentBuilder, Metric};
    /// # let mut builder = ExperimentBuilder::new(["p"]);
    /// # let blocks = builder.metric(Metric { name: "basic_blocks".into(), unit: String::new(), over_ranks: None });
    /// # let solve = builder.callpath(["main", "solve"]);
    /// # for p in [2.0_f64, 4.0, 8.0, 16.0, 32.0] {
    /// #     let point = builder.point(&[p]);
    /// #     builder.add(solve, blocks, point, 7.0 + 3.0 * p * p.log2());
    /// # }
    /// # let fits = modeler::fit(&builder.finish(), &modeler::Options::default());
    /// let model = &fits.models[0]; // of 7 + 3 p log2(p)
    /// assert_eq!(model.at(&[64.0]), 7.0 + 3.0 * 64.0 * 6.0);
    /// ```
    #[must_use]
    pub fn at(&self, x: &[f64]) -> f64 {
        if let Some(segment) = self.segment_at(x) {
            return segment.at(x);
        }
        value_at(self.constant, &self.terms, x)
    }

    /// The values at `points`, as [`Self::at`] gives them, each factor computed once for each value of its parameter.
    pub(crate) fn at_each<'x>(&self, points: impl Iterator<Item = &'x [f64]>) -> Vec<f64> {
        /// So many values of a parameter are remembered: among more, looking takes longer than computing.
        const MOST: usize = 16;
        if !self.segments.is_empty() {
            return points.map(|x| self.at(x)).collect();
        }
        let factors = self.terms.iter().flat_map(|t| &t.factors);
        let mut known: Vec<Vec<(f64, f64)>> = factors.map(|_| Vec::new()).collect();
        let value = |x: &[f64]| {
            let mut known = known.iter_mut();
            let mut of_factor = |factor: &Factor| {
                let (x, known) = (x[factor.parameter], known.next().expect("one for each factor"));
                if let Some((_, value)) = known.iter().find(|(at, _)| *at == x) {
                    return *value;
                }
                let value = factor.at(x);
                if known.len() < MOST {
                    known.push((x, value));
                }
                value
            };
            let mut term =
                |t: &Term| t.factors.iter().fold(t.scaled_coefficient(x), |product, f| product * of_factor(f));
            self.constant + self.terms.iter().map(&mut term).sum::<f64>()
        };
        points.map(value).collect()
    }
}

impl Term {
    /// The term's value at `x`, one coordinate per parameter.
    ///
    /// ```
    /// use modeler::model::{Factor, Role, Scale, Term};
    /// let factors = vec![Factor { parameter: 1, exponent: 2.into(), log_exponent: 0 }];
    /// let remote = Term { coefficient: 4.0, role: Role::Bandwidth, scale: Scale::Remote(0), factors };
    /// assert_eq!(remote.at(&[8.0, 10.0]), 4.0 * 7.0 / 8.0 * 100.0); // 4 (p-1)/p n²
    /// ```
    #[must_use]
    pub fn at(&self, x: &[f64]) -> f64 {
        self.factors.iter().fold(self.scaled_coefficient(x), |product, f| product * f.at(x[f.parameter]))
    }

    /// The term at `x` without its factors.
    pub(crate) fn scaled_coefficient(&self, x: &[f64]) -> f64 {
        match self.scale {
            Scale::One => self.coefficient,
            Scale::Remote(parameter) => self.coefficient * ((x[parameter] - 1.0) / x[parameter]),
        }
    }
}

/// The term that a constant is.
pub(crate) fn term_of_one() -> Term {
    Term { coefficient: 1.0, role: Role::Computation, scale: Scale::One, factors: Vec::new() }
}

/// The value at `x` of a constant and terms.
pub(crate) fn value_at(constant: f64, terms: &[Term], x: &[f64]) -> f64 {
    constant + terms.iter().map(|t| t.at(x)).sum::<f64>()
}

/// A model's value at a point, with the interval that holds a new measurement with probability [`Prediction::level`].
///
/// ```
/// let text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC time\nDATA 2.1\nDATA 3.9\nDATA 8.2\nDATA 15.9\nDATA 32.4\n";
/// let input = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?;
/// let fits = modeler::fit(&input.experiment, &modeler::Options::default());
/// let prediction = fits.models[0].predict(&[64.0], 0.9);
/// assert!(prediction.lower < prediction.value && prediction.value < prediction.upper);
/// assert!((prediction.value / 64.0 - 1.0).abs() < 0.05, "about p seconds: {prediction:?}");
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// The model's value.
    pub value: f64,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
    /// Nominal probability.
    pub level: f64,
}
