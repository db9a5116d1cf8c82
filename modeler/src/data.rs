//! The usable values of a series, and what they say of themselves before any function: medians, lower ends of repetitions, noise.

use crate::coefficients;
use crate::effort::Found;
use crate::experiment::{Experiment, Series};
use crate::lack_of_fit::LackOfFit;
use crate::lower_end;
use crate::model::{Model, Term, Warning};
use crate::priors::Group;
use crate::roughness::{self, Lines};
use crate::rounded;
use crate::warning::{self, warning};
use crate::words::counted;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// So many values of one parameter, each measured once, never tell noise from a function that is only approximate; up to so many do where
/// they show more than [`LITTLE_NOISE`].
pub(crate) const FEW: (usize, usize) = (5, 8);
const LITTLE_NOISE: f64 = 0.1;
/// The power that then weighs residuals; of 1, 3/4, 1/2, 1/4 and 0 it predicted held-out points of measured programs
/// best (docs/accuracy.md).
const TRUSTING_LARGE: f64 = 0.5;

/// The usable values of a series.
#[derive(Clone, Debug)]
pub(crate) struct Data<'a> {
    pub series: Series,
    /// Index of the series' layout.
    pub layout: usize,
    /// How many points the series has, usable or not.
    pub offered: usize,
    /// Coordinates of the points with usable values.
    pub points: Vec<&'a [f64]>,
    /// One value per point.
    pub medians: Vec<f64>,
    /// See [`Self::with_lower_ends`].
    lower_ends: Option<Vec<f64>>,
    /// Every usable value with its point.
    pub observations: Vec<(usize, f64)>,
    /// The points' neighbours.
    pub lines: Arc<Lines>,
    pub warnings: Vec<Warning>,
    /// Values that are of runs that failed or went astray, each with its point.
    pub left_out: Vec<(&'a [f64], f64)>,
    /// See [`Self::relative_noise`].
    noise: OnceLock<Option<f64>>,
    /// See [`Self::plain_function`].
    plain: OnceLock<Option<Found>>,
}

/// Larger values cannot be modelled: their squares add up to more than any number.
pub(crate) const LARGEST: f64 = 1e150;

/// Of so many repetitions of a time one that is so many times below their middle one is of a run that failed: interference only adds. A zero
/// is where the clock tells so small times, however few repetitions there are.
const SIBLINGS: usize = 3;
const FAR_BELOW: f64 = 50.0;
const ONE_ZERO_OF: usize = 20;

/// Whether a fit uses this value.
pub(crate) fn is_usable(value: &f64) -> bool {
    (0.0..=LARGEST).contains(value)
}

/// The smallest difference between two values of `series`, which no clock that measured them ticks more coarsely than; infinite where all are
/// alike, or where more than one and more than one of so many are zero, as of what is not reached in each run.
fn tick_unless_zeros_are_usual(experiment: &Experiment, series: &Series) -> f64 {
    let mut values: Vec<f64> = experiment.values_of(series).iter().copied().filter(is_usable).collect();
    values.sort_by(f64::total_cmp);
    let zeros = values.partition_point(|value| *value == 0.0);
    if zeros > 1 && zeros * ONE_ZERO_OF > values.len() {
        return f64::INFINITY;
    }
    values[zeros..].windows(2).map(|w| w[1] - w[0]).filter(|d| *d > 0.0).fold(f64::INFINITY, f64::min)
}

impl<'a> Data<'a> {
    /// `lines` are those of all points of the series' layout.
    pub fn new(experiment: &'a Experiment, series: &Series, lines: &Arc<Lines>) -> Self {
        let offered = experiment.layouts[series.layout as usize].points.len();
        let mut data = Self {
            series: *series,
            layout: series.layout as usize,
            offered: 0,
            points: Vec::with_capacity(offered),
            medians: Vec::with_capacity(offered),
            lower_ends: None,
            observations: Vec::with_capacity(offered),
            lines: Arc::clone(lines),
            warnings: Vec::new(),
            left_out: Vec::new(),
            noise: OnceLock::new(),
            plain: OnceLock::new(),
        };
        let is_lengthened = experiment.metrics[series.metric as usize].is_lengthened();
        let (mut unusable, mut usable, mut tick) = (0, Vec::new(), None);
        let below_clock = rounded::below_clock(experiment, series);
        let seen = |value: f64| match below_clock {
            Some(least) if value == 0.0 => least,
            _ => value,
        };
        for (point, values) in experiment.measurements(series) {
            data.offered += 1;
            let is_somewhere = point.iter().all(|x| x.is_finite());
            // Most experiments have one repetition.
            if let [value] = values
                && is_usable(value)
                && is_somewhere
            {
                let value = seen(*value);
                data.observations.push((data.points.len(), value));
                data.points.push(point);
                data.medians.push(value);
                continue;
            }
            usable.clear();
            usable.extend(values.iter().copied().filter(is_usable));
            unusable += values.len() - usable.len();
            if usable.is_empty() || !is_somewhere {
                continue;
            }
            // In this order whatever the order of the measurements was: sums of them are then the same to the last digit.
            usable.sort_by(f64::total_cmp);
            if is_lengthened {
                let least = usable[usable.len() / 2] / FAR_BELOW;
                // A zero is less than any share of its siblings, unless the clock does not tell so small times.
                let drops_zeros = usable[0] == 0.0
                    && *tick.get_or_insert_with(|| tick_unless_zeros_are_usual(experiment, series)) <= least;
                let enough = usable.len() >= SIBLINGS;
                let is_far_below = |value: f64| if value == 0.0 { drops_zeros } else { enough && value < least };
                let of_failed = usable.iter().filter(|value| is_far_below(**value));
                data.left_out.extend(of_failed.map(|value| (point, *value)));
                usable.retain(|value| !is_far_below(*value));
            }
            usable.iter_mut().for_each(|value| *value = seen(*value));
            data.observations.extend(usable.iter().map(|v| (data.points.len(), *v)));
            data.points.push(point);
            let (low, high) = (usable[(usable.len() - 1) / 2], usable[usable.len() / 2]);
            data.medians.push(low + 0.5 * (high - low));
        }
        if data.points.len() != offered {
            data.lines = Arc::new(Lines::of(&data.points));
        }
        data.warn(unusable, below_clock, &experiment.metrics[series.metric as usize].unit);
        data
    }

    /// Of times that noise only lengthens: the data with the lower ends of their repetitions, where these are known better than the
    /// middle; see [`lower_end`].
    pub fn with_lower_ends(&self) -> Cow<'_, Self> {
        match lower_end::of(&self.observations) {
            Some(ends) => Cow::Owned(Self { lower_ends: Some(ends), ..self.clone() }),
            None => Cow::Borrowed(self),
        }
    }

    /// One value per point for the search of a shape: the lower ends of repetitions where they are known, else the medians.
    pub fn levels(&self) -> &[f64] {
        self.lower_ends.as_deref().unwrap_or(&self.medians)
    }

    /// Whether repetitions may tell that a function is not that of the values.
    pub fn may_tell_apart(&self) -> bool {
        LackOfFit::can_be_told(&self.observations, self.points.len()) && !self.repeats_exactly()
    }

    /// Whether repetitions tell that no function with this basis is that of the values, see [`LackOfFit`].
    pub fn tells_apart(&self, basis: &[Group]) -> bool {
        if !self.may_tell_apart() {
            return false;
        }
        // The test is about least squares of the logarithms' means.
        let mean = |values: &[(usize, f64)]| (values.iter().map(|o| o.1.ln()).sum::<f64>() / values.len() as f64).exp();
        let means: Vec<f64> = self.observations.chunk_by(|a, b| a.0 == b.0).map(mean).collect();
        let at = |group: &Group| self.points.iter().map(|x| group.at(x)).collect();
        let columns: Vec<Vec<f64>> = basis.iter().map(at).collect();
        let fitted = coefficients::combine(&columns, &coefficients::weighted_fit(&columns, &means));
        LackOfFit::of(&self.observations, &fitted, columns.len()).is_some()
    }

    /// The relative variance of a point's value, as its repetitions tell it.
    pub fn variance_of_points(&self) -> f64 {
        let noise = self.relative_noise().unwrap_or(0.0);
        noise * noise * self.points.len() as f64 / self.observations.len().max(1) as f64
    }

    /// The same where repetitions tell functions apart, and zero elsewhere.
    pub fn told_variance(&self) -> f64 {
        if self.may_tell_apart() { self.variance_of_points() } else { 0.0 }
    }

    /// The data at the points that `keep`.
    pub fn restricted(&self, keep: impl Fn(&[f64]) -> bool) -> Self {
        self.at_points_that(|i| keep(self.points[i]))
    }

    /// The same by the points' indices.
    fn at_points_that(&self, keep: impl Fn(usize) -> bool) -> Self {
        let kept: Vec<usize> = (0..self.points.len()).filter(|&i| keep(i)).collect();
        let mut new_index = vec![None; self.points.len()];
        kept.iter().enumerate().for_each(|(new, &old)| new_index[old] = Some(new));
        let points: Vec<&[f64]> = kept.iter().map(|&i| self.points[i]).collect();
        Self {
            offered: kept.len(),
            lines: Arc::new(Lines::of(&points)),
            points,
            medians: kept.iter().map(|&i| self.medians[i]).collect(),
            lower_ends: self.lower_ends.as_ref().map(|ends| kept.iter().map(|&i| ends[i]).collect()),
            observations: self.observations.iter().filter_map(|o| Some((new_index[o.0]?, o.1))).collect(),
            noise: OnceLock::new(),
            plain: OnceLock::new(),
            ..self.clone()
        }
    }

    /// The data without the observations that are `astray`, and without the points of which none is left.
    pub fn without_observations(&self, astray: impl Fn(&(usize, f64)) -> bool) -> Self {
        let (left_out, observations): (Vec<_>, Vec<_>) = self.observations.iter().copied().partition(astray);
        // They are in order at each point.
        let median = |of_point: &[(usize, f64)]| {
            let (low, high) = (of_point[(of_point.len() - 1) / 2].1, of_point[of_point.len() / 2].1);
            (of_point[0].0, low + 0.5 * (high - low))
        };
        let mut medians = self.medians.clone();
        let mut is_left = vec![false; self.points.len()];
        for (i, median) in observations.chunk_by(|a, b| a.0 == b.0).map(median) {
            (medians[i], is_left[i]) = (median, true);
        }
        let mut rest = Self {
            observations,
            medians,
            lower_ends: None,
            noise: OnceLock::new(),
            plain: OnceLock::new(),
            ..self.clone()
        };
        rest.left_out.extend(left_out.into_iter().map(|(i, value)| (self.points[i], value)));
        if is_left.contains(&false) { rest.at_points_that(|i| is_left[i]) } else { rest }
    }

    /// Why these data have no model, if they need at least so many points.
    pub fn too_few(&self, least: usize) -> Option<String> {
        let points = self.points.len();
        if points >= least {
            return None;
        }
        let usable = if points == self.offered { "" } else { "usable " };
        let unusable = self.warnings.iter().find(|warning| warning.code == warning::UNUSABLE_VALUE);
        let why = unusable.map_or(String::new(), |warning| format!(" ({})", warning.message.trim_end_matches('.')));
        let what = counted(points, &format!("{usable}point"), &format!("{usable}points"));
        Some(format!("{what}; a model needs at least {least}{why}"))
    }

    fn warn(&mut self, unusable: usize, below_clock: Option<f64>, unit: &str) {
        let far_below = self.left_out.len();
        if far_below > 0 {
            let message = format!(
                "{} less than a fiftieth of the median of the repetitions and {} left out: did {} fail?",
                counted(far_below, "value is", "values are"),
                if far_below == 1 { "was" } else { "were" },
                if far_below == 1 { "that run" } else { "those runs" }
            );
            self.warnings.push(warning(warning::UNUSABLE_VALUE, message));
        }
        if unusable > 0 {
            let message = match unusable {
                1 => format!("1 value is negative, not finite or beyond {LARGEST:e} and was left out."),
                _ => format!("{unusable} values are negative, not finite or beyond {LARGEST:e} and were left out."),
            };
            self.warnings.push(warning(warning::UNUSABLE_VALUE, message));
        }
        let zeros = self.observations.iter().filter(|o| o.1 == 0.0).count();
        let of_clock = self.observations.iter().filter(|o| Some(o.1) == below_clock).count();
        if unit == "s" && zeros > 0 || of_clock > 0 {
            let taken_for = |least: f64| {
                // Without the digits that dividing by the tick's inverse leaves.
                let short: f64 = format!("{least:.2e}").parse().unwrap_or(least);
                format!(" and taken for {short} s, a quarter of what the clock tells apart")
            };
            let taken_for = below_clock.filter(|_| of_clock > 0).map_or(String::new(), taken_for);
            let message = format!("{} exactly zero{taken_for}.", counted(zeros + of_clock, "time is", "times are"));
            self.warnings.push(warning(warning::ZERO_TIME, message));
        }
        if unit != "s" && self.observations.iter().any(|o| o.1 > 9_007_199_254_740_992.0) {
            self.warnings.push(warning(warning::BEYOND_EXACT, "Counts exceed 2^53 and are no longer exact."));
        }
    }

    /// The power of the values with whose inverse residuals are weighed when the shape is searched in them: one, as noise
    /// is relative, but less where so few values of one parameter do not show whether the residuals are noise, or show
    /// little noise. What is off there is the function, which is then to be right where it goes on.
    pub fn weight_power(&self) -> f64 {
        let n = self.points.len();
        if self.lines.varying() != 1 || n > FEW.1 {
            return 1.0;
        }
        if n <= FEW.0 || self.relative_noise().is_none_or(|noise| noise < LITTLE_NOISE) { TRUSTING_LARGE } else { 1.0 }
    }

    /// Whether noise can be told from what a function misses: of few values of one parameter only repetitions do.
    pub fn tells_noise(&self) -> bool {
        self.weight_power() == 1.0 || LackOfFit::can_be_told(&self.observations, self.points.len())
    }

    /// What the values themselves show of their noise; see [`roughness::relative_noise`].
    pub fn relative_noise(&self) -> Option<f64> {
        let noise = || roughness::relative_noise(&self.lines, &self.medians, &self.observations);
        *self.noise.get_or_init(noise)
    }

    /// The sum of few functions of each parameter that gives the medians exactly, which `find` looks for once.
    pub fn plain_function(&self, find: impl FnOnce() -> Option<Found>) -> Option<&Found> {
        self.plain.get_or_init(find).as_ref()
    }

    /// Whether all repetitions of a point agree.
    pub fn repeats_exactly(&self) -> bool {
        self.observations.iter().all(|&(i, v)| (v - self.medians[i]).abs() <= 1e-9 * self.medians[i].abs())
    }

    /// Every usable value.
    pub fn values(&self) -> Vec<f64> {
        self.observations.iter().map(|o| o.1).collect()
    }

    /// The mean over repetitions at each point, and the smallest number of repetitions at one.
    pub fn means(&self) -> (Vec<f64>, usize) {
        let (mut sums, mut counts) = (vec![0.0; self.points.len()], vec![0usize; self.points.len()]);
        for &(i, v) in &self.observations {
            sums[i] += v;
            counts[i] += 1;
        }
        let means = sums.iter().zip(&counts).map(|(sum, count)| sum / *count as f64).collect();
        (means, counts.into_iter().min().unwrap_or(0))
    }

    /// Smallest number of repetitions at a point.
    pub fn repetitions(&self) -> usize {
        let mut counts = vec![0; self.points.len()];
        self.observations.iter().for_each(|o| counts[o.0] += 1);
        counts.into_iter().min().unwrap_or(0)
    }

    pub fn range(&self) -> Vec<(f64, f64)> {
        let parameters = self.points.first().map_or(0, |x| x.len());
        let of = |l: usize| self.points.iter().map(move |x| x[l]);
        let ends = |l| (of(l).fold(f64::INFINITY, f64::min), of(l).fold(f64::NEG_INFINITY, f64::max));
        (0..parameters).map(ends).collect()
    }

    /// The values of a sum of terms at the points: what [`Term::at`] gives, each factor computed once per coordinate.
    pub fn sums<'t>(&self, terms: impl IntoIterator<Item = &'t Term>) -> Vec<f64> {
        let mut sums = vec![0.0; self.points.len()];
        let (mut values, mut of_factor) = (Vec::with_capacity(self.points.len()), Vec::new());
        for term in terms {
            values.clear();
            values.extend(self.points.iter().map(|x| term.scaled_coefficient(x)));
            for factor in &term.factors {
                let levels = self.lines.levels(factor.parameter);
                of_factor.clear();
                of_factor.extend(levels.values.iter().map(|x| factor.at(*x)));
                values.iter_mut().zip(&levels.of_point).for_each(|(value, &level)| *value *= of_factor[level]);
            }
            sums.iter_mut().zip(&values).for_each(|(sum, value)| *sum += value);
        }
        sums
    }

    /// The values of each group of a basis at every observation.
    pub fn columns(&self, basis: &[Group]) -> Vec<Vec<f64>> {
        let of = |group: &Group| {
            let sums = self.sums(&group.terms);
            self.observations.iter().map(|o| sums[o.0]).collect()
        };
        basis.iter().map(of).collect()
    }

    /// The model's values at the points.
    pub fn at_points(&self, model: &Model) -> Vec<f64> {
        if !model.segments.is_empty() {
            return self.points.iter().map(|x| model.at(x)).collect();
        }
        self.sums(&model.terms).iter().map(|sum| model.constant + sum).collect()
    }

    /// The model's value at every observation.
    pub fn fitted(&self, model: &Model) -> Vec<f64> {
        let by_point = self.at_points(model);
        self.observations.iter().map(|o| by_point[o.0]).collect()
    }

    /// `function` at the point of every observation.
    pub fn column(&self, function: impl Fn(&[f64]) -> f64) -> Vec<f64> {
        let by_point: Vec<f64> = self.points.iter().map(|x| function(x)).collect();
        self.observations.iter().map(|o| by_point[o.0]).collect()
    }
}
