//! How far models are from the truth, call path by call path and on average: the seed paper's exponent deviation
//! (equation 4) and relative error (equation 5).

use benchgen::score;
use benchgen::truth::{CallPathTruth, Kind};
use modeler::model::{Exponent, Growth};
use serde::{Deserialize, Serialize};

/// The score of one model.
#[derive(Clone, Debug, Serialize)]
pub struct Score {
    /// Per parameter, in the experiment's order.
    pub deviations: Vec<f64>,
    /// At the unseen point, in percent; none where the measured time is zero.
    pub relative_error_percent: Option<f64>,
    /// The model as a formula.
    pub expression: String,
}

impl Score {
    /// Scores a model of this growth that predicted `predicted` where `measured` was measured.
    pub fn new(
        truth: &CallPathTruth,
        parameters: &[String],
        exponents: &[Exponent],
        (measured, predicted): (f64, f64),
        expression: String,
    ) -> Self {
        let deviation = |(name, exponent): (&String, &Exponent)| {
            let of_truth = truth.growth.time.get(name).map_or_else(Default::default, |g| g.exponent);
            score::exponent_deviation(of_truth, *exponent)
        };
        Self {
            deviations: parameters.iter().zip(exponents).map(deviation).collect(),
            relative_error_percent: score::relative_error(measured, predicted),
            expression,
        }
    }

    /// Whether all exponents are the truth's.
    pub fn is_right(&self) -> bool {
        self.deviations.iter().all(|&d| d == 0.0)
    }
}

/// The exponents of a model's growth.
pub fn exponents(growth: &[Growth]) -> Vec<Exponent> {
    growth.iter().map(|g| g.exponent).collect()
}

/// Scores of many models, summed up.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Number of models.
    pub models: u64,
    /// Those whose exponents are all the truth's.
    pub right: u64,
    /// Sum of the deviations, per parameter.
    pub deviations: Vec<f64>,
    /// Number of defined relative errors.
    pub errors: u64,
    /// Their sum, in percent.
    pub error_sum: f64,
    /// The largest, in percent.
    pub error_most: f64,
}

impl Tally {
    /// Adds one score.
    pub fn add(&mut self, score: &Score) {
        self.models += 1;
        self.right += u64::from(score.is_right());
        self.deviations.resize(score.deviations.len(), 0.0);
        self.deviations.iter_mut().zip(&score.deviations).for_each(|(sum, d)| *sum += d);
        if let Some(error) = score.relative_error_percent {
            self.errors += 1;
            self.error_sum += error;
            self.error_most = self.error_most.max(error);
        }
    }

    /// Adds another tally.
    pub fn merge(&mut self, other: &Self) {
        self.models += other.models;
        self.right += other.right;
        self.deviations.resize(self.deviations.len().max(other.deviations.len()), 0.0);
        self.deviations.iter_mut().zip(&other.deviations).for_each(|(sum, d)| *sum += d);
        self.errors += other.errors;
        self.error_sum += other.error_sum;
        self.error_most = self.error_most.max(other.error_most);
    }

    /// Share of models whose exponents are all right, from 0 to 1; 1 of no models.
    pub fn share_right(&self) -> f64 {
        if self.models == 0 { 1.0 } else { self.right as f64 / self.models as f64 }
    }

    /// Mean exponent deviation per parameter.
    pub fn mean_deviations(&self) -> Vec<f64> {
        self.deviations.iter().map(|sum| sum / self.models.max(1) as f64).collect()
    }

    /// Mean over the parameters, too.
    pub fn mean_deviation(&self) -> f64 {
        let means = self.mean_deviations();
        means.iter().sum::<f64>() / means.len().max(1) as f64
    }

    /// Mean relative error in percent, if any is defined.
    pub fn mean_error(&self) -> Option<f64> {
        (self.errors > 0).then(|| self.error_sum / self.errors as f64)
    }
}

/// A way of modelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// Effort gives the shape, one measurement per point the coefficients.
    Effort,
    /// The shape is searched in the median of all repetitions' times.
    Time,
    /// Extra-P, from the same times.
    ExtraP,
}

impl Way {
    /// For tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Effort => "effort priors",
            Self::Time => "times alone",
            Self::ExtraP => "Extra-P",
        }
    }
}

/// The two kinds of call path, in an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// Loops.
    Computation,
    /// MPI operations.
    Communication,
}

impl Group {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Computation, Self::Communication];

    /// That of a call path.
    pub fn of(kind: Kind) -> Self {
        match kind {
            Kind::Computation => Self::Computation,
            Kind::Communication => Self::Communication,
        }
    }

    /// For tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Computation => "computation",
            Self::Communication => "communication",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(deviations: [f64; 2], error: Option<f64>) -> Score {
        Score { deviations: deviations.to_vec(), relative_error_percent: error, expression: String::new() }
    }

    #[test]
    fn tallies_by_hand() {
        let mut tally = Tally::default();
        tally.add(&score([0.0, 0.0], Some(10.0)));
        tally.add(&score([0.5, 1.0], None));
        let mut other = Tally::default();
        other.add(&score([0.0, 0.5], Some(40.0)));
        tally.merge(&other);
        assert_eq!((tally.models, tally.right), (3, 1));
        assert_eq!(tally.mean_deviations(), [0.5 / 3.0, 0.5]);
        assert_eq!(tally.mean_error(), Some(25.0));
        assert_eq!(tally.error_most, 40.0);
        assert_eq!(Tally::default().mean_error(), None);
    }
}
