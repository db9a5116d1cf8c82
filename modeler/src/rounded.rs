//! The least noise of values that a report or a table has rounded: however well a function fits them, and however alike their
//! repetitions are, what was measured lies anywhere within half a unit of the last digit.

use crate::experiment::{Experiment, Series};
use crate::model::Model;
use crate::noise::{Noise, PossibleNoise};
use crate::roughness::median;

/// Relative standard deviation of values with so many significant digits, at its largest: the error of 1.00 is even
/// between -0.005 and 0.005, whose deviation is that over √3.
pub(crate) fn deviation(digits: i32) -> f64 {
    0.5 * 10f64.powi(1 - digits) / 3f64.sqrt()
}

/// Times are looked at for whether they are multiples of 10^-k seconds for these k.
const DECIMALS: std::ops::RangeInclusive<i32> = -3..=6;

/// Relative standard deviation of what rounding did to the times of `series`, at their median: they were measured twice and more at each point,
/// and all are multiples of some 10^-k, as tables and coarse clocks make them. Repetitions that are alike then say nothing of their noise. So it is
/// where a clock shows zeros, see [`below_clock`]. Zero where neither is so; of times that are measured once functions that give them exactly are
/// what is meant.
pub(crate) fn deviation_of(experiment: &Experiment, series: &Series) -> f64 {
    let is_repeated = || experiment.layouts[series.layout as usize].repetitions.iter().all(|count| *count > 1);
    let is_time = experiment.metrics[series.metric as usize].is_lengthened();
    if !is_time || !is_repeated() && below_clock(experiment, series).is_none() {
        return 0.0;
    }
    let mut values: Vec<f64> =
        experiment.values_of(series).iter().copied().filter(|v| *v > 0.0 && v.is_finite()).collect();
    tick(&values).map_or(0.0, |tick| tick / (12f64.sqrt() * median(&mut values)))
}

/// How far multiples of a step are off whole numbers of them, beside the arithmetic's 1e-16 of a million steps.
const WHOLE: f64 = 1e-6;
/// Finer steps, as shares of the largest value, are not told from arithmetic.
const FINEST: f64 = 1e-6;

/// The largest 10^-k seconds of which all these are multiples, if there are any.
fn tick(values: &[f64]) -> Option<f64> {
    let is_multiple = |v: &f64, unit: f64| (v * unit - (v * unit).round()).abs() <= 1e-12 * v * unit;
    let unit = DECIMALS.map(|k| 10f64.powi(k)).find(|unit| values.iter().all(|v| is_multiple(v, *unit)))?;
    (!values.is_empty()).then_some(unit.recip())
}

/// The step in which values were rounded, in whatever unit: the greatest common divisor of their differences, where it is told.
pub(crate) fn step(values: &[f64]) -> Option<f64> {
    let largest = values.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
    // What arithmetic leaves of a multiple of a number that is so many times smaller.
    let nothing = |of: f64| 8.0 * f64::EPSILON * largest * (largest / of);
    let (mut step, mut farthest) = (0.0, 0.0_f64);
    for v in values {
        let (mut a, mut b) = (step, (v - values[0]).abs());
        farthest = farthest.max(b);
        while b > nothing(a) {
            (a, b) = (b, a % b);
        }
        // The more steps there are, the better one is known.
        step = if a > 0.0 { farthest / (farthest / a).round() } else { b };
        if step > 0.0 && step <= FINEST * largest {
            return None;
        }
    }
    let is_multiple = |v: &f64| ((v - values[0]) / step - ((v - values[0]) / step).round()).abs() < WHOLE;
    (step > 0.0 && values.iter().all(is_multiple)).then_some(step)
}

/// What a time of `series` is in the mean that its clock shows as zero, where it shows multiples of 10^-k seconds and rounds: a quarter of that,
/// the middle of what is less than half. `None` where the least time above zero is more than one tick or there is only one, so that nothing tells
/// a clock, where series are no times, and where all zeros are at zero or one of a parameter that has other values: a function may be nothing there, as logarithms are.
pub(crate) fn below_clock(experiment: &Experiment, series: &Series) -> Option<f64> {
    let values = experiment.values_of(series);
    if !values.contains(&0.0) || !experiment.metrics[series.metric as usize].is_lengthened() {
        return None;
    }
    let mut positive: Vec<f64> = values.iter().copied().filter(|v| *v > 0.0 && v.is_finite()).collect();
    positive.sort_by(f64::total_cmp);
    positive.dedup();
    let tick = tick(&positive)?;
    let points = || experiment.measurements(series);
    let may_be_nothing = |l: usize| {
        let is_nothing = |x: &[f64]| x[l] == 0.0 || x[l] == 1.0;
        points().any(|(x, _)| !is_nothing(x)) && points().all(|(x, values)| is_nothing(x) || !values.contains(&0.0))
    };
    let is_clock = positive.len() > 1 && positive[0] < 1.5 * tick;
    (is_clock && !(0..experiment.parameters.len()).any(may_be_nothing)).then_some(0.25 * tick)
}

/// `model` with no less noise than `deviation`: in its intervals, in the errors of its coefficients, and in what it says of
/// its noise. Estimates from residuals hold the rounding already where they are larger.
pub(crate) fn with_floor(mut model: Model, deviation: f64) -> Model {
    if deviation <= 0.0 {
        return model;
    }
    let uncertainty = &mut model.uncertainty;
    let known = uncertainty.noise_level();
    if known < deviation {
        if uncertainty.noises.is_empty() {
            uncertainty.noises.push(PossibleNoise::certain(Noise::background(deviation)));
        }
        uncertainty.noises.iter_mut().for_each(|n| n.noise.sigma = n.noise.sigma.max(deviation));
        if known > 0.0 {
            let factor = deviation / known;
            uncertainty.covariance.iter_mut().for_each(|c| *c *= factor * factor);
            uncertainty.coefficient_errors.iter_mut().for_each(|e| *e *= factor);
        }
        uncertainty.coefficient_errors.iter_mut().for_each(|e| *e = e.max(deviation));
    }
    model.quality.noise = Some(model.quality.noise.unwrap_or(0.0).max(deviation));
    for segment in &mut model.segments {
        segment.model = with_floor(segment.model.clone(), deviation);
    }
    model
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{ExperimentBuilder, Metric};

    fn deviation_of_times(times: &[&[f64]]) -> f64 {
        let mut builder = ExperimentBuilder::new(["p"]);
        let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
        let solve = builder.callpath(["solve"]);
        for (i, repetitions) in times.iter().enumerate() {
            let point = builder.point(&[2f64.powi(i as i32)]);
            repetitions.iter().for_each(|seconds| builder.add(solve, time, point, *seconds));
        }
        let experiment = builder.finish();
        deviation_of(&experiment, &experiment.series[0])
    }

    #[test]
    fn steps_are_told_in_any_unit_and_from_any_offset() {
        let thousandths = [0.416, 1.052, 2.111, 3.595, 5.502, 0.31, 0.628, 1.158, 1.899, 2.853, 0.257, 0.681];
        for unit in [1.0, 1.0 / 3.0, 1e-9, 1e12] {
            let of = |offset: f64| thousandths.map(|v| unit * (v + offset));
            for offset in [0.0, 2f64.sqrt()] {
                assert!((step(&of(offset)).unwrap() / unit - 1e-3).abs() < 1e-11, "{unit} {offset}");
            }
            // One value that is off tells that there is none.
            let mut other = of(0.0);
            other[7] += 0.000_37 * unit;
            assert!(step(&other).is_none_or(|step| step < 1.1e-5 * unit));
        }
        assert_eq!((step(&[1.0, 1.0, 1.0]), step(&[]), step(&[0.0, 0.0])), (None, None, None));
        assert_eq!(step(&[2f64.sqrt(), 3f64.sqrt(), 5f64.sqrt(), 7f64.sqrt()]), None);
        assert_eq!(step(&[5.0, 7.0, 5.0, 13.0]), Some(2.0));
    }

    /// The deviation of what is even between -0.05 and 0.05 is that over √3.
    #[test]
    fn repeated_times_of_few_digits_are_off_by_half_the_last_one() {
        let of_tenths = deviation_of_times(&[&[0.5, 0.5], &[1.1, 1.2], &[2.1, 2.1], &[4.3, 4.3], &[8.6, 8.7]]);
        assert!((of_tenths - 0.05 / 3f64.sqrt() / 2.1).abs() < 1e-12, "{of_tenths}");
        assert_eq!(deviation_of_times(&[&[0.5], &[1.1], &[2.1], &[4.3]]), 0.0, "measured once");
        let once = deviation_of_times(&[&[0.1], &[0.0], &[0.2], &[0.4], &[0.9]]);
        assert!((once - 0.05 / 3f64.sqrt() / 0.3).abs() < 1e-9, "{once}: the median is between 0.2 and 0.4");
        let of_a_clock = deviation_of_times(&[&[0.512_345_678, 0.5], &[1.1, 1.1], &[2.1, 2.1]]);
        assert_eq!(of_a_clock, 0.0);
    }
}
