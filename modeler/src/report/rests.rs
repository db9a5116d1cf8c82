//! Whether the growth of a model rests on the last values of a parameter alone, as where the run with the most ranks went astray.

use super::quantity::{coordinate, quantity};
use super::turn::first_of;
use crate::experiment::{Experiment, median};
use crate::linear::least_squares;
use crate::model::{Method, Model};

/// So many values of a parameter tell, without the last, what goes on.
const FEWEST: usize = 5;
/// So many more measurements than coefficients of a power must be left.
const SPARE: usize = 2;
/// By this factor what the other measurements say must miss the last ones, and the model must not.
const MISSED: f64 = 2.0;
/// A power comes much closer to the other measurements than the model where it leaves at most this share.
const MUCH_CLOSER: f64 = 0.5;
/// By more than this the model must miss the others, as a root mean square of relative differences.
const LEAST_OFF: f64 = 0.05;

/// Which of `models` are what they are because of the measurements at the largest value of a parameter in which `target` is beyond them, in a
/// sentence of the first; nothing where none is. Such a model misses all other measurements, to which a power of the parameters comes much
/// closer, and this power misses the last ones by more than a factor of two. It is asked of those whose shapes come from times alone.
///
/// ```
/// let text = "PARAMETER p\nPOINTS 2 4 8 16 32 64\nREGION solve\nMETRIC time\nDATA 1.1\nDATA 2\nDATA 4.3\nDATA 8.1\nDATA 16.4\nDATA 330\n";
/// let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?.experiment;
/// let fits = modeler::fit(&experiment, &modeler::Options::default());
/// let told = modeler::report::rests(&experiment, &fits.models, &[128.0]).unwrap();
/// assert!(told.starts_with("solve (time): What the model does along p rests on what was measured at p = 64"));
/// assert_eq!(modeler::report::rests(&experiment, &fits.models, &[64.0]), None); // where it was measured
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[must_use]
pub fn rests(experiment: &Experiment, models: &[Model], target: &[f64]) -> Option<String> {
    first_of(experiment, models, |model| rest(experiment, model, target))
}

/// That along a parameter in which `target` is beyond the measurements `model` rests on the last of these, in a sentence.
pub(super) fn rest(experiment: &Experiment, model: &Model, target: &[f64]) -> Option<String> {
    let factors = || model.terms.iter().flat_map(|term| &term.factors);
    let is_beyond = |l: &usize| target[*l] > model.uncertainty.range[*l].1 && factors().any(|f| f.parameter == *l);
    if model.method != Method::Time || !model.segments.is_empty() || !(0..target.len()).any(|l| is_beyond(&l)) {
        return None;
    }
    let series = experiment.series_of(model.callpath, model.metric)?;
    // What the fit has left out the model need not give.
    let is_kept = |point: &[f64], value: f64| {
        let mut left_out = model.uncertainty.left_out.iter();
        !left_out.any(|(x, left_out)| x == point && *left_out == value)
    };
    let kept = |(point, values): (&'_ [f64], &[f64])| -> Vec<f64> {
        values.iter().copied().filter(|value| is_kept(point, *value)).collect()
    };
    let measured = experiment.measurements(series).map(|(point, values)| (point, kept((point, values))));
    let (points, values): (Vec<&[f64]>, Vec<f64>) =
        measured.filter(|(_, values)| !values.is_empty()).map(|(point, values)| (point, median(&values))).unzip();
    if values.iter().any(|v| v.is_nan() || *v <= 0.0) {
        return None;
    }
    (0..target.len()).filter(is_beyond).find_map(|l| along(experiment, model, (&points, &values), l))
}

/// The same along parameter `l`.
fn along(experiment: &Experiment, model: &Model, (points, values): (&[&[f64]], &[f64]), l: usize) -> Option<String> {
    let mut levels: Vec<f64> = points.iter().map(|x| x[l]).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let largest = *levels.last()?;
    let (last, others): (Vec<usize>, Vec<usize>) = (0..points.len()).partition(|&i| points[i][l] == largest);
    let varies = |among: &[usize], m: usize| among.iter().any(|&i| points[i][m] != points[among[0]][m]);
    let varying: Vec<usize> = (0..points[0].len()).filter(|&m| varies(&others, m)).collect();
    // What changes at the last measurements alone the others say nothing of.
    let is_said = (0..points[0].len()).all(|m| varying.contains(&m) || points.iter().all(|x| x[m] == points[0][m]));
    let are_positive = varying.iter().all(|&m| points.iter().all(|x| x[m] > 0.0));
    if levels.len() < FEWEST || others.len() <= varying.len() + SPARE || !is_said || !are_positive {
        return None;
    }
    // A power is a plane over logarithms, in which relative differences are distances.
    let logarithms = |m: usize| -> Vec<f64> { points.iter().map(|x| x[m].ln()).collect() };
    let columns: Vec<Vec<f64>> =
        std::iter::once(vec![1.0; points.len()]).chain(varying.iter().map(|&m| logarithms(m))).collect();
    let at_others = |all: &[f64]| -> Vec<f64> { others.iter().map(|&i| all[i]).collect() };
    let of_values: Vec<f64> = values.iter().map(|v| v.ln()).collect();
    let exponents =
        least_squares(&columns.iter().map(|column| at_others(column)).collect::<Vec<_>>(), &at_others(&of_values));
    let by_others = |i: usize| columns.iter().zip(&exponents).map(|(column, e)| column[i] * e).sum::<f64>().exp();
    let by_model = |i: usize| model.at(points[i]);
    let off = |of: &dyn Fn(usize) -> f64| -> f64 {
        (others.iter().map(|&i| (of(i) / values[i] - 1.0).powi(2)).sum::<f64>() / others.len() as f64).sqrt()
    };
    let is_far = |value: f64, i: usize| value > MISSED * values[i] || value < values[i] / MISSED;
    let is_missed = |&i: &usize| is_far(by_others(i), i) && !is_far(by_model(i), i);
    let off_by = off(&by_model);
    if !last.iter().all(is_missed) || off_by < LEAST_OFF || off(&by_others) > MUCH_CLOSER * off_by {
        return None;
    }
    let i = *last.iter().max_by(|a, b| values[**a].total_cmp(&values[**b]))?;
    let name = &experiment.parameters[l];
    let unit = &experiment.metrics[model.metric as usize].unit;
    let [measured, expected] = [values[i], by_others(i)].map(|value| quantity(value, unit));
    Some(format!(
        "What the model does along {name} rests on what was measured at {name} = {} alone: a power that all other measurements follow more \
         closely gives {expected} where {measured} was measured. Another run there would say whether that one went astray.",
        coordinate(largest)
    ))
}

#[cfg(test)]
mod tests {
    use super::super::Doubts;
    use super::*;
    use crate::experiment::{ExperimentBuilder, Metric};

    /// What is doubted of times at these points at twice the largest values.
    fn doubted(points: &[&[f64]], seconds: impl Fn(&[f64]) -> f64) -> Option<String> {
        let names = ["p", "n"].into_iter().take(points[0].len());
        let mut builder = ExperimentBuilder::new(names);
        let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
        let solve = builder.callpath(["solve"]);
        for x in points {
            let point = builder.point(x);
            builder.add(solve, time, point, seconds(x));
        }
        let experiment = builder.finish();
        let fits = crate::fit(&experiment, &crate::Options::default());
        let target: Vec<f64> = points[points.len() - 1].iter().map(|x| 2.0 * x).collect();
        assert_eq!(
            Doubts::at(&experiment, &target).of(&fits.models[0]).is_some_and(|said| said.contains("rests on")),
            rest(&experiment, &fits.models[0], &target).is_some()
        );
        rest(&experiment, &fits.models[0], &target)
    }

    #[test]
    fn a_last_run_gone_astray_is_told_and_growth_is_not() {
        let line: [&[f64]; 6] = [&[2.0], &[4.0], &[8.0], &[16.0], &[32.0], &[64.0]];
        let noise = |p: f64| 1.0 + 0.03 * (7.0 * p).sin();
        for factor in [5.0, 10.0, 100.0] {
            let told = doubted(&line, |x| 0.5 * x[0] * noise(x[0]) * if x[0] == 64.0 { factor } else { 1.0 });
            let told = told.unwrap_or_else(|| panic!("{factor} times"));
            assert!(told.contains("p = 64 alone") && told.contains("Another run there"), "{told}");
        }
        let growing: [fn(f64) -> f64; 5] =
            [|p| 0.5 * p, |p| 3.0 + 0.01 * p * p, |p| 0.001 * p.powi(3), |p| 2.0 + p.log2(), |p| 60.0 / p + 0.2 * p];
        for function in growing {
            assert_eq!(doubted(&line, |x| function(x[0]) * noise(x[0])), None);
            assert_eq!(doubted(&line[1..], |x| function(x[0]) * noise(x[0])), None);
        }
        let of_five = doubted(&line[1..], |x| (1.0 + 0.3 * x[0]) * if x[0] == 64.0 { 4.0 } else { 1.0 });
        assert!(of_five.unwrap().contains("p = 64 alone"));
    }

    #[test]
    fn one_of_many_last_runs_decides_nothing() {
        let grid: Vec<[f64; 2]> =
            (1..=5).flat_map(|i| (0..5).map(move |j| [f64::from(1 << i), f64::from(10 << j)])).collect();
        let points: Vec<&[f64]> = grid.iter().map(|x| x.as_slice()).collect();
        let seconds = |x: &[f64]| 0.1 * x[0] * x[1] * (1.0 + 0.03 * (7.0 * x[0] + x[1]).sin());
        let astray = |x: &[f64]| seconds(x) * if x[0] == 32.0 && x[1] == 10.0 { 10.0 } else { 1.0 };
        assert_eq!(doubted(&points, astray), None);
        let all = |x: &[f64]| seconds(x) * if x[0] == 32.0 { 10.0 } else { 1.0 };
        assert!(doubted(&points, all).unwrap().contains("p = 32 alone"));
    }

    /// Of what the fit left out at one rank the model says nothing, and of what is measured at the last value alone the others say nothing.
    #[test]
    fn what_others_do_not_say_is_no_doubt() {
        let from_one: [&[f64]; 7] = [&[1.0], &[2.0], &[4.0], &[8.0], &[16.0], &[32.0], &[64.0]];
        assert_eq!(doubted(&from_one, |x| if x[0] == 1.0 { 0.01 } else { 0.9 + 0.1 * x[0].log2() }), None);
        let one_at_another_size: [&[f64]; 6] =
            [&[2.0, 10.0], &[4.0, 10.0], &[8.0, 10.0], &[16.0, 10.0], &[32.0, 10.0], &[64.0, 40.0]];
        assert_eq!(doubted(&one_at_another_size, |x| x[0] * x[1]), None);
    }
}
