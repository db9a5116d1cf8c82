//! What is known of times, each as a function, and what one more run would do to that.
//!
//! Where effort gave the shape, every summand that it allows is open, also those that the fit left out or took together because
//! the runs so far do not tell them apart: at the target they may.

use std::collections::{HashMap, HashSet};

use super::time_of;
use crate::callees::Callees;
use crate::data::is_usable;
use crate::experiment::{CallPathId, Experiment};
use crate::fit::Fits;
use crate::model::{Method, Model, Term};

/// What a summand's part of the time at the target may be off by, before any run: standard deviation, relative to the whole. On
/// simulated programs 0.1 and 0.3 advise runs of which models are equally accurate, and 1 such of which they are less.
const UNKNOWN: f64 = 0.2;
/// No run is taken to tell a time more exactly than to this, whatever the fit says.
const LEAST_NOISE: f64 = 0.005;

/// Terms that share a coefficient, and what they are multiplied by to be in its unit.
type Summand<'a> = (&'a [Term], f64);

/// What is known of one call path, and how more measurements change it.
#[derive(Clone)]
pub(super) struct Knowledge<'a> {
    pub(super) model: &'a Model,
    /// The model of the effort that gave the shape.
    effort: Option<&'a Model>,
    summands: Vec<Summand<'a>>,
    /// Of the summands' coefficients, row by row.
    covariance: Vec<f64>,
    /// Weights of the rivals of the model, where its summands are not open, and of its effort's model.
    weights: [Vec<f64>; 2],
    /// Standard deviation of a run's time.
    noise: f64,
    /// What one run of many tells the undisturbed time to.
    resolution: f64,
    /// Whether its time is one of those that add up to the whole program's.
    is_part: bool,
}

impl<'a> Knowledge<'a> {
    pub(super) fn of(model: &'a Model, fits: &'a Fits, experiment: &Experiment, target: &[f64], is_part: bool) -> Self {
        let is_effort = |m: &&Model| m.callpath == model.callpath && Some(m.metric) == model.effort_metric;
        let effort = fits.models.iter().find(is_effort).filter(|_| model.method == Method::Effort);
        let weights =
            [Some(model), effort].map(|m| m.map_or(Vec::new(), |m| m.uncertainty.rivals.iter().map(|r| r.0).collect()));
        let [noise, resolution] =
            [model.uncertainty.noise_level(), model.uncertainty.resolution()].map(|level| level.max(LEAST_NOISE));
        let summands = model.uncertainty.basis.iter().map(|terms| (terms.as_slice(), 1.0)).collect();
        let covariance = model.uncertainty.covariance.clone();
        let fitted = Self { model, effort, summands, covariance, weights, noise, resolution, is_part };
        fitted.left_open(experiment, target).unwrap_or(fitted)
    }

    /// The same with the summands as the fit took them together.
    pub(super) fn as_fitted(&self) -> Self {
        let summands = self.model.uncertainty.basis.iter().map(|terms| (terms.as_slice(), 1.0)).collect();
        Self { summands, covariance: self.model.uncertainty.covariance.clone(), ..self.clone() }
    }

    /// The same with every summand open: what is believed of each before any run, and then of the measurements. `None` where effort
    /// gave no shape, and where behaviour changes, since the shape is that of one side then.
    fn left_open(&self, experiment: &Experiment, target: &[f64]) -> Option<Self> {
        let in_parts = |terms: &'a Vec<Term>| (terms.as_slice(), self.model.at(target) / sum(terms, target));
        let summands = self.model.uncertainty.open.iter().map(in_parts);
        let summands: Vec<Summand> = summands.filter(|(_, scale)| scale.is_finite() && *scale > 0.0).collect();
        let series = experiment
            .series_of(self.model.callpath, self.model.metric)
            .filter(|_| !summands.is_empty() && self.model.segments.is_empty())?;
        let k = summands.len();
        let covariance = (0..k * k).map(|i| if i % (k + 1) == 0 { UNKNOWN * UNKNOWN } else { 0.0 }).collect();
        let weights = [Vec::new(), self.weights[1].clone()];
        let mut known = Self { summands, covariance, weights, ..self.clone() };
        for (x, runs) in experiment.measurements(series) {
            known = known.after(x, runs.iter().filter(|seconds| is_usable(seconds)).count() as f64);
        }
        // The effort's rivals are weighed by these measurements already.
        known.weights[1].clone_from(&self.weights[1]);
        // With much noise the beliefs say more than the measurements; no more is known for that than the fit knows.
        let lacks = self.variance(target) - known.variance(target);
        let of_coefficients = known.of_coefficients(target);
        if lacks > 0.0 && of_coefficients > 0.0 {
            known.covariance.iter_mut().for_each(|c| *c *= 1.0 + lacks / of_coefficients);
        }
        Some(known)
    }

    /// How the coefficients enter at `x`, relative to the value there.
    pub(super) fn gradient(&self, x: &[f64]) -> Vec<f64> {
        let value = self.model.at(x);
        let of = |(terms, scale): &Summand| scale * sum(terms, x) / value;
        if value > 0.0 { self.summands.iter().map(of).collect() } else { Vec::new() }
    }

    /// The covariance times `g`.
    fn times(&self, g: &[f64]) -> Vec<f64> {
        let k = g.len();
        (0..k).map(|i| (0..k).map(|j| self.covariance[i * k + j] * g[j]).sum()).collect()
    }

    /// Relative variance of the undisturbed value at `x`, from coefficients, shapes and what no shape describes.
    fn variance(&self, x: &[f64]) -> f64 {
        let shapes: f64 = self.rivals().map(|(model, weights)| disagreement(model, weights, x)).sum();
        self.of_coefficients(x) + shapes + self.model.uncertainty.misfit.powi(2)
    }

    /// The part of it that comes from coefficients.
    fn of_coefficients(&self, x: &[f64]) -> f64 {
        let g = self.gradient(x);
        let sum: f64 = g.iter().zip(self.times(&g)).map(|(a, b)| a * b).sum();
        sum.max(0.0)
    }

    /// The model and its effort's, with the weights of their rivals.
    fn rivals(&self) -> impl Iterator<Item = (&'a Model, &Vec<f64>)> {
        [Some(self.model), self.effort].into_iter().zip(&self.weights).filter_map(|(m, w)| Some((m?, w)))
    }

    /// The same after so many more measurements at `x`.
    pub(super) fn after(&self, x: &[f64], runs: f64) -> Self {
        let mut next = self.clone();
        let g = self.gradient(x);
        let cg = self.times(&g);
        let known = self.resolution.powi(2) / runs + g.iter().zip(&cg).map(|(a, b)| a * b).sum::<f64>();
        for (i, a) in cg.iter().enumerate() {
            for (j, b) in cg.iter().enumerate() {
                next.covariance[i * cg.len() + j] -= a * b / known;
            }
        }
        for ((model, _), (which, weights)) in self.rivals().zip(next.weights.iter_mut().enumerate()) {
            // Effort has no noise beyond that of counting.
            let noise = if which == 0 { self.resolution } else { LEAST_NOISE };
            for (weight, d) in weights.iter_mut().zip(deviations(model, x)) {
                *weight *= (-0.5 * runs * (d / noise).powi(2)).exp();
            }
        }
        next
    }
}

/// The value of the terms at `x`.
fn sum(terms: &[Term], x: &[f64]) -> f64 {
    terms.iter().map(|t| t.at(x)).sum()
}

/// By how much each rival is off the model at `x`, relative to the model.
fn deviations(model: &Model, x: &[f64]) -> Vec<f64> {
    let value = model.at(x);
    let off = |(_, constant, terms): &(f64, f64, Vec<Term>)| {
        let rival = constant + sum(terms, x);
        if value > 0.0 { (rival / value - 1.0).clamp(-10.0, 10.0) } else { 0.0 }
    };
    model.uncertainty.rivals.iter().map(off).collect()
}

/// Relative variance of the value at `x` over the shapes, the model itself with a weight of one.
fn disagreement(model: &Model, weights: &[f64], x: &[f64]) -> f64 {
    let sum: f64 = deviations(model, x).iter().zip(weights).map(|(d, w)| w * d * d).sum();
    sum / (1.0 + weights.iter().sum::<f64>())
}

/// Part of the time at the target from which on a call path counts by itself, or a tenth of the mean part if that is less.
const LEAST_SHARE: f64 = 0.001;

/// What is known of the whole program: the sum of the times of its parts.
#[derive(Clone)]
pub(super) struct Program<'a> {
    pub(super) paths: Vec<Knowledge<'a>>,
    /// Whether call paths count each by itself.
    pub(super) each: bool,
}

impl<'a> Program<'a> {
    /// What the fits know of the call paths that count; `None` where no time was modelled.
    pub(super) fn of(experiment: &Experiment, fits: &'a Fits, target: &[f64], each: bool) -> Option<Self> {
        let time = time_of(experiment, fits)?;
        let timed = || fits.models.iter().filter(|m| m.metric == time);
        let at_target: HashMap<CallPathId, f64> = timed().map(|m| (m.callpath, m.at(target).max(0.0))).collect();
        let value = |id: CallPathId| at_target.get(&id).copied().unwrap_or(0.0);
        let parts: HashSet<CallPathId> =
            Callees::of(experiment, time).parts_by(experiment, value).into_iter().collect();
        // What lies in another call path's time is of interest only where each counts by itself.
        let of = |m: &'a Model| Knowledge::of(m, fits, experiment, target, parts.contains(&m.callpath));
        Some(Self { paths: timed().filter(|m| each || parts.contains(&m.callpath)).map(of).collect(), each })
    }

    pub(super) fn seconds(&self, x: &[f64]) -> f64 {
        self.paths.iter().filter(|k| k.is_part).map(|k| k.model.at(x).max(0.0)).sum()
    }

    /// What a run at `x` costs: its seconds times its cores, one unless a parameter is their number.
    pub(super) fn core_seconds(&self, x: &[f64], ranks: Option<usize>) -> f64 {
        self.seconds(x) * ranks.map_or(1.0, |parameter| x[parameter])
    }

    /// Of relative variances of call paths at `x`: the standard error of their sum over the sum, or where each counts by itself the
    /// mean of their relative standard errors.
    fn combined(&self, x: &[f64], variance: impl Fn(&Knowledge) -> f64) -> f64 {
        let counted = self.counted(x).into_iter().map(|(k, weight)| (variance(k), weight));
        // An empty sum of floating-point numbers is -0, of which the square root is none that people expect to read.
        match self.each {
            true => counted.fold(0.0, |sum, (variance, weight)| sum + weight * variance.sqrt()),
            false => counted.fold(0.0, |sum, (variance, weight)| sum + weight * variance).sqrt(),
        }
    }

    /// The call paths that count at `x`, and how much: in the variance of their sum the squares of their shares, since they err independently of
    /// each other, or in the mean where each counts by itself.
    pub(super) fn counted(&self, x: &[f64]) -> Vec<(&Knowledge<'a>, f64)> {
        let total = self.seconds(x);
        if total <= 0.0 {
            return Vec::new();
        }
        let shared = self.paths.iter().map(|k| (k, k.model.at(x).max(0.0) / total));
        if !self.each {
            return shared.filter(|(k, _)| k.is_part).map(|(k, share)| (k, share.powi(2))).collect();
        }
        // Of very many call paths none may have such a share; then they count that have a typical one.
        let least = LEAST_SHARE.min(0.1 / self.paths.len() as f64);
        let counted: Vec<&Knowledge> = shared.filter(|(_, share)| *share >= least).map(|(k, _)| k).collect();
        let weight = 1.0 / counted.len().max(1) as f64;
        counted.into_iter().map(|k| (k, weight)).collect()
    }

    /// The models of the parts of the program.
    pub(super) fn parts(&self) -> impl Iterator<Item = &'a Model> {
        self.paths.iter().filter(|k| k.is_part).map(|k| k.model)
    }

    /// Relative standard error at `x`.
    pub(super) fn error(&self, x: &[f64]) -> f64 {
        self.combined(x, |k| k.variance(x))
    }

    /// The part of [`Self::error`] that comes of models that miss what was measured.
    pub(super) fn misfit(&self, x: &[f64]) -> f64 {
        self.combined(x, |k| k.model.uncertainty.misfit.powi(2))
    }

    /// The call path that has the largest part of that at `x`, and by how much its model misses.
    pub(super) fn missed(&self, x: &[f64]) -> Option<(CallPathId, f64)> {
        let misfit = |k: &Knowledge| k.model.uncertainty.misfit;
        let part = |k: &Knowledge| if self.each { misfit(k) } else { misfit(k) * k.model.at(x).max(0.0) };
        let most = self.paths.iter().max_by(|a, b| part(a).total_cmp(&part(b)))?;
        (part(most) > 0.0).then(|| (most.model.callpath, misfit(most)))
    }

    /// What [`Self::error`] would be without that: the part that more runs lessen.
    pub(super) fn uncertainty(&self, x: &[f64]) -> f64 {
        self.combined(x, |k| k.variance(x) - k.model.uncertainty.misfit.powi(2))
    }

    pub(super) fn after(&self, x: &[f64], runs: f64) -> Self {
        Self { paths: self.paths.iter().map(|k| k.after(x, runs)).collect(), each: self.each }
    }

    pub(super) fn noise(&self, x: &[f64]) -> f64 {
        self.combined(x, |k| k.noise.powi(2))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{measured, with_noise};
    use super::*;
    use crate::experiment::{ExperimentBuilder, Metric};
    use crate::{MethodChoice, Options, fit};

    const SMALL: [f64; 5] = [2.0, 4.0, 8.0, 16.0, 32.0];
    const LARGE: [f64; 5] = [1000.0, 2000.0, 3000.0, 4000.0, 5000.0];

    fn of_time<'f>(experiment: &Experiment, fits: &'f Fits) -> &'f Model {
        fits.models.iter().find(|m| experiment.metrics[m.metric as usize].name == "time").unwrap()
    }

    #[test]
    fn an_update_is_the_covariance_of_the_larger_least_squares() {
        // By hand: two coefficients with gradients (1, x), covariance the inverse of XᵀX/σ².
        let experiment = with_noise(0.1);
        let fits = fit(&experiment, &Options { method: MethodChoice::Time, ..Options::default() });
        let known = Knowledge::of(&fits.models[0], &fits, &experiment, &[256.0, 1000.0], true);
        let x = [64.0, 500.0];
        let after = known.after(&x, 3.0);
        let g = nalgebra::DVector::from_vec(known.gradient(&x));
        let k = g.len();
        let matrix = |c: &[f64]| nalgebra::DMatrix::from_row_slice(k, k, c);
        let information =
            matrix(&known.covariance).try_inverse().unwrap() + &g * g.transpose() * 3.0 / known.resolution.powi(2);
        let expected = information.try_inverse().unwrap();
        assert!((matrix(&after.covariance) - &expected).norm() < 1e-6 * expected.norm());
    }

    #[test]
    fn summands_that_were_fitted_together_are_open() {
        // Blocks n + p^2, measured where p is small, and times of one coefficient.
        let blocks = |p: f64, n: f64| n + p * p;
        let of = |p, n, drawn| (1e-3 * blocks(p, n) * (1.0 + 0.05 * drawn), Some(blocks(p, n)));
        let experiment = measured(&SMALL, &LARGE, of);
        let fits = fit(&experiment, &Options::default());
        let model = of_time(&experiment, &fits);
        assert_eq!(model.uncertainty.basis.len(), 1, "one coefficient is enough for what was measured");
        let target = [256.0, 5000.0];
        let known = Knowledge::of(model, &fits, &experiment, &target, true);
        // The constant, p^2 and n, each in parts of the time at the target; by hand the inverse of what is known before and of XᵀX/σ².
        assert_eq!(known.gradient(&target), [1.0; 3]);
        let mut information = nalgebra::DMatrix::identity(3, 3) / UNKNOWN.powi(2);
        let value = |x: &[f64]| (x[1] + x[0] * x[0]) / (target[1] + target[0] * target[0]);
        for x in &experiment.points {
            let parts = [1.0, (x[0] / target[0]).powi(2), x[1] / target[1]];
            let g = nalgebra::DVector::from_iterator(3, parts.map(|part| part / value(x)));
            information += &g * g.transpose() / known.resolution.powi(2);
        }
        let expected = information.try_inverse().unwrap();
        let found = nalgebra::DMatrix::from_row_slice(3, 3, &known.covariance);
        assert!((&found - &expected).norm() < 1e-6 * expected.norm(), "{found} {expected}");
        // As one function the time at the target is known far better than that.
        let [coefficient] = model.uncertainty.covariance[..] else { unreachable!("one coefficient") };
        let together = coefficient.sqrt() * sum(&model.uncertainty.basis[0], &target) / model.at(&target);
        assert!(known.variance(&target).sqrt() > 3.0 * together, "{} {together}", known.variance(&target));
    }

    #[test]
    fn no_more_is_known_of_open_summands_than_the_fit_knows() {
        // Counts that are off by a thousandth have rivals; times with twice their size of noise say little.
        let of = |p: f64, n: f64, drawn: f64| {
            let count = n * p.sqrt() * (1.0 + 1e-3 * drawn);
            (1e-3 * count * (1.0 + 0.9 * drawn), Some(count.round()))
        };
        let experiment = measured(&SMALL, &LARGE, of);
        let fits = fit(&experiment, &Options::default());
        let model = of_time(&experiment, &fits);
        let effort = fits.models.iter().find(|m| Some(m.metric) == model.effort_metric).unwrap();
        let target = [256.0, 5000.0];
        let known = Knowledge::of(model, &fits, &experiment, &target, true);
        let weights: Vec<f64> = effort.uncertainty.rivals.iter().map(|rival| rival.0).collect();
        assert!(!weights.is_empty() && known.weights == [Vec::new(), weights], "{:?}", known.weights);
        let summands = model.uncertainty.basis.iter().map(|terms| (terms.as_slice(), 1.0)).collect();
        let weights = [model, effort].map(|m| m.uncertainty.rivals.iter().map(|r| r.0).collect());
        let covariance = model.uncertainty.covariance.clone();
        let fitted = Knowledge { summands, covariance, weights, ..known.clone() };
        assert!(known.variance(&target) >= (1.0 - 1e-9) * fitted.variance(&target));
    }

    #[test]
    fn where_behaviour_changes_the_fit_alone_plans() {
        // Messages of more than 8192 bytes have a latency and a bandwidth of their own.
        let seconds = |n: f64| if n <= 8192.0 { 1e-6 + 0.2e-9 * n } else { 2e-5 + 0.4e-9 * n };
        let mut builder = ExperimentBuilder::new(["n"]);
        let send = builder.callpath(["main", "MPI_Send"]);
        for n in (10..20).map(|i| 2.0_f64.powi(i)) {
            let point = builder.point(&[n]);
            for (name, unit, value) in
                [("visits", "", 1.0), ("bytes_sent", "bytes", n), ("comm_size", "", 2.0), ("time", "s", seconds(n))]
            {
                let metric = builder.metric(Metric { name: name.into(), unit: unit.into(), over_ranks: None });
                builder.add(send, metric, point, value);
            }
        }
        let experiment = builder.finish();
        let fits = fit(&experiment, &Options::default());
        let model = of_time(&experiment, &fits);
        assert_eq!(model.segments.len(), 2, "{}", model.expression(&experiment.parameters));
        assert!(!model.uncertainty.open.is_empty());
        let known = Knowledge::of(model, &fits, &experiment, &[2048.0], true);
        assert_eq!(known.covariance, model.uncertainty.covariance);
    }
}
