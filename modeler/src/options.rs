//! What a user may choose about a fit, with defaults that suit most experiments.

use crate::experiment::OverRanks;
use crate::model::Exponent;
use std::sync::LazyLock;

/// Which data give the shape of a time model.
///
/// ```
/// use modeler::{MethodChoice, Options};
/// let text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC time\nDATA 2\nDATA 4\nDATA 8\nDATA 16\nDATA 32\n";
/// let input = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?;
/// let options = Options { method: MethodChoice::Effort, ..Options::default() };
/// let fits = modeler::fit(&input.experiment, &options);
/// assert_eq!(fits.skipped[0].code, modeler::warning::NO_EFFORT); // no effort was measured
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MethodChoice {
    /// Effort where it was measured, the times themselves elsewhere.
    #[default]
    Auto,
    /// Effort only: call paths without it are skipped.
    Effort,
    /// The times themselves, even where effort was measured.
    Time,
    /// As the default modeler of Extra-P 4.2 does, for comparisons with it: its hypotheses, its choice among them, and
    /// least squares of the means over repetitions, for every metric. Coefficients and predictions may be negative, and
    /// neither effort nor the noise of other call paths is used; [`Options::exponents`] and the options after
    /// [`Options::minimum_points`] do not matter.
    ///
    /// ```
    /// use modeler::experiment::{ExperimentBuilder, Metric};
    /// use modeler::{MethodChoice, Options};
    ///
    /// let mut builder = ExperimentBuilder::new(["p"]);
    /// let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
    /// let main = builder.callpath(["main"]);
    /// for (p, seconds) in [(2.0, 9.9), (4.0, 19.9), (8.0, 40.1), (16.0, 79.9), (32.0, 160.1)] {
    ///     let point = builder.point(&[p]);
    ///     builder.add(main, time, point, seconds);
    /// }
    /// let options = Options { method: MethodChoice::ExtraP, ..Options::default() };
    /// let model = &modeler::fit(&builder.finish(), &options).models[0];
    /// assert_eq!(model.growth[0].exponent, 1.into());
    /// assert!((model.terms[0].coefficient - 5.0).abs() < 0.01);
    /// ```
    ExtraP,
}

/// Whether exponents below zero are tried.
///
/// ```
/// use modeler::{ExponentSets, NegativeExponents, Options};
/// // 64 / p: a count that falls.
/// let text = "PARAMETER p\nPOINTS 1 2 4 8 16 32\nREGION solve\nMETRIC visits\nDATA 64\nDATA 32\nDATA 16\nDATA 8\nDATA 4\nDATA 2\n";
/// let input = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?;
/// let of = |negative| {
///     let exponents = ExponentSets { negative, ..ExponentSets::default() };
///     modeler::fit(&input.experiment, &Options { exponents, ..Options::default() }).models[0].at(&[64.0])
/// };
/// assert_eq!(of(NegativeExponents::Always), 1.0);
/// assert!(of(NegativeExponents::Never) != 1.0);
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NegativeExponents {
    /// In parameters in which the data fall, or when nothing else explains a count exactly.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The exponents that hypotheses draw from: the sets I and J of the seed paper's equation 2.
///
/// ```
/// use modeler::ExponentSets;
/// let sets = ExponentSets::default();
/// assert_eq!((sets.exponents.len(), sets.log_exponents), (20, vec![0, 1, 2])); // equations 2a and 2b
/// assert_eq!(sets.exponents.last(), Some(&3.into()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExponentSets {
    /// Exponents of a parameter, I; zero is always among the hypotheses.
    pub exponents: Vec<Exponent>,
    /// Exponents of a parameter's binary logarithm, J; zero is always among the hypotheses.
    pub log_exponents: Vec<i32>,
    /// Whether the mirror images of `exponents` are hypotheses too.
    pub negative: NegativeExponents,
}

/// Equation 2a of the seed paper as numerators and denominators.
const EQUATION_2A: [(i32, i32); 20] = [
    (0, 1),
    (1, 4),
    (1, 3),
    (1, 2),
    (2, 3),
    (3, 4),
    (4, 5),
    (1, 1),
    (5, 4),
    (4, 3),
    (3, 2),
    (5, 3),
    (7, 4),
    (2, 1),
    (9, 4),
    (7, 3),
    (5, 2),
    (8, 3),
    (11, 4),
    (3, 1),
];

impl ExponentSets {
    /// The same with negative exponents, if any are hypotheses.
    pub(crate) fn falling(&self) -> Self {
        let negative = match self.negative {
            NegativeExponents::Never => NegativeExponents::Never,
            NegativeExponents::Auto | NegativeExponents::Always => NegativeExponents::Always,
        };
        Self { negative, ..self.clone() }
    }

    /// The same and what the number of ranks makes of each exponent: a collective moves a message per rank, so its bytes
    /// grow with `x^(i + 1)`.
    pub(crate) fn times_ranks(&self) -> Self {
        let one = Exponent::from_integer(1);
        let mut exponents = self.exponents.clone();
        exponents.extend(self.exponents.iter().map(|e| e + one));
        exponents.sort_unstable();
        exponents.dedup();
        Self { exponents, ..self.clone() }
    }
}

impl Default for ExponentSets {
    /// Equation 2 of the seed paper.
    fn default() -> Self {
        Self {
            exponents: EQUATION_2A.iter().map(|&(n, d)| Exponent::new(n, d)).collect(),
            log_exponents: vec![0, 1, 2],
            negative: NegativeExponents::Auto,
        }
    }
}

/// The default set reaches so far; what grows faster gets [`STEEPER`] exponents too.
pub(crate) const STEEPEST: f64 = 3.3;
/// Exponents beyond equation 2 as numerators and denominators, for series that grow faster than its largest.
const STEEPER: [(i32, i32); 8] = [(10, 3), (7, 2), (11, 3), (4, 1), (9, 2), (5, 1), (11, 2), (6, 1)];

/// The default sets and what lies beyond them.
pub(crate) static STEEP_SETS: LazyLock<ExponentSets> = LazyLock::new(|| {
    let mut sets = ExponentSets::default();
    sets.exponents.extend(STEEPER.iter().map(|&(n, d)| Exponent::new(n, d)));
    sets
});

/// How models are fitted.
///
/// ```
/// use modeler::{ExponentSets, Options};
/// // p^4 is beyond the seed paper's exponents, and among one's own.
/// let text = "PARAMETER p\nPOINTS 1 2 3 4 5\nREGION solve\nMETRIC visits\nDATA 2\nDATA 32\nDATA 162\nDATA 512\nDATA 1250\n";
/// let input = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?;
/// let exponents = ExponentSets { exponents: vec![1.into(), 4.into()], ..ExponentSets::default() };
/// let fits = modeler::fit(&input.experiment, &Options { exponents, minimum_points: 5, ..Options::default() });
/// assert_eq!(fits.models[0].at(&[10.0]), 20_000.0); // 2 p^4
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Which data give the shape.
    pub method: MethodChoice,
    /// The hypotheses' exponents. With the default sets a series that grows faster than their largest exponent is
    /// offered exponents up to 6; sets that a user chose stay as they are.
    pub exponents: ExponentSets,
    /// Which of the values over ranks is modelled where the experiment has several.
    pub over_ranks: OverRanks,
    /// Seed of everything random.
    pub seed: u64,
    /// Series with fewer distinct points than this are skipped; a model of fewer than five says so.
    pub minimum_points: usize,
    /// Most summands beside the constant in a model of effort.
    pub maximum_terms: usize,
    /// How many of the hypotheses that lost each model names; none are named faster.
    pub runners_up: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            method: MethodChoice::Auto,
            exponents: ExponentSets::default(),
            over_ranks: OverRanks::Mean,
            seed: 0,
            minimum_points: 4,
            maximum_terms: 4,
            runners_up: 3,
        }
    }
}
