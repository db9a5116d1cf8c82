//! Whether the growth of a model rests on the last values of a parameter alone, as where the run with the most ranks went astray.

use super::quantity::{coordinate, quantity};
use super::turn::first_of;
use crate::experiment::{Experiment, median};
use crate::linear::least_squares;
use crate::model::{Method, Model};

/// So many values of a parameter tell, without the last, what goes on.
const FEWEST: usize = 5;
/// So many more measurements than exponents must be left.
const SPARE: usize = 3;
/// By this factor what the other measurements say must miss the last ones.
const MISSED: f64 = 2.0;
/// A power comes much closer to the other measurements than the model where it leaves at most this share.
const MUCH_CLOSER: f64 = 0.5;

/// Which of `models` grow as they do because of what was measured at the largest value of a parameter in which `target` is beyond the
/// measurements, in a sentence of the first; nothing where none does. The model of such values misses all others, to which a power of the
/// parameters comes much closer, and that misses the last ones by more than a factor of two. It is asked of those whose shapes come from times
/// alone.
///
/// ```
/// let text = "PARAMETER p\nPOINTS 2 4 8 16 32 64\nREGION solve\nMETRIC time\nDATA 1.1\nDATA 2\nDATA 4.3\nDATA 8.1\nDATA 16.4\nDATA 330\n";
/// let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?.experiment;
/// let fits = modeler::fit(&experiment, &modeler::Options::default());
/// let told = modeler::report::rests(&experiment, &fits.models, &[128.0]).unwrap();
/// assert!(told.starts_with("solve (time): The growth along p rests on what was measured at p = 64"));
/// assert_eq!(modeler::report::rests(&experiment, &fits.models, &[64.0]), None); // where it was measured
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[must_use]
pub fn rests(experiment: &Experiment, models: &[Model], target: &[f64]) -> Option<String> {
    first_of(experiment, models, |model| rest(experiment, model, target))
}

/// That along a parameter in which `target` is beyond the measurements `model` rests on the last of these, in a sentence.
pub(super) fn rest(experiment: &Experiment, model: &Model, target: &[f64]) -> Option<String> {
    if model.method != Method::Time || !model.segments.is_empty() || model.terms.is_empty() {
        return None;
    }
    let series = experiment.series_of(model.callpath, model.metric)?;
    let (points, values): (Vec<&[f64]>, Vec<f64>) =
        experiment.measurements(series).map(|(point, values)| (point, median(values))).unzip();
    if values.iter().any(|v| v.is_nan() || *v <= 0.0) {
        return None;
    }
    (0..target.len()).find_map(|l| along(experiment, model, (&points, &values), (l, target[l])))
}

/// The same along parameter `l`.
fn along(
    experiment: &Experiment,
    model: &Model,
    (points, values): (&[&[f64]], &[f64]),
    (l, target): (usize, f64),
) -> Option<String> {
    let mut levels: Vec<f64> = points.iter().map(|x| x[l]).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let largest = *levels.last()?;
    let (last, others): (Vec<usize>, Vec<usize>) = (0..points.len()).partition(|&i| points[i][l] == largest);
    let varying: Vec<usize> = (0..points[0].len()).filter(|&m| points.iter().any(|x| x[m] != points[0][m])).collect();
    let is_told = levels.len() >= FEWEST && others.len() > varying.len() + SPARE;
    if target <= largest || !is_told || varying.iter().any(|&m| points.iter().any(|x| x[m] <= 0.0)) {
        return None;
    }
    // A power is a plane over logarithms, in which relative differences are distances.
    let row = |i: usize| std::iter::once(1.0).chain(varying.iter().map(move |&m| points[i][m].ln()));
    let columns: Vec<Vec<f64>> =
        (0..=varying.len()).map(|k| others.iter().filter_map(|&i| row(i).nth(k)).collect()).collect();
    let logarithms: Vec<f64> = others.iter().map(|&i| values[i].ln()).collect();
    let exponents = least_squares(&columns, &logarithms);
    let by_others = |i: usize| row(i).zip(&exponents).map(|(x, exponent)| x * exponent).sum::<f64>().exp();
    let by_model = |i: usize| model.at(points[i]);
    let off = |of: &dyn Fn(usize) -> f64| -> f64 { others.iter().map(|&i| (of(i) / values[i] - 1.0).powi(2)).sum() };
    let is_far = |value: f64, i: usize| value > MISSED * values[i] || value < values[i] / MISSED;
    let is_missed = |&i: &usize| is_far(by_others(i), i) && !is_far(by_model(i), i);
    if !last.iter().all(is_missed) || off(&by_others) > MUCH_CLOSER.powi(2) * off(&by_model) {
        return None;
    }
    let i = *last.iter().max_by(|a, b| values[**a].total_cmp(&values[**b]))?;
    let name = &experiment.parameters[l];
    let unit = &experiment.metrics[model.metric as usize].unit;
    let [measured, expected] = [values[i], by_others(i)].map(|value| quantity(value, unit));
    Some(format!(
        "The growth along {name} rests on what was measured at {name} = {} alone: a power that all others follow more closely gives {expected} \
         where {measured} was measured. Another run there would say whether that one went astray.",
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
        }
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
}
