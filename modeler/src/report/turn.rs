//! Whether a model turns where measurements do not: it falls on beyond values that have begun to rise, or rises beyond values of which none
//! does.

use super::quantity::{coordinate, quantity};
use crate::experiment::{Experiment, median};
use crate::model::Model;
use crate::roughness::{self, Lines};

/// By this share values and models must rise or fall for it to be said of them.
const SHARE: f64 = 0.1;
/// So many times the noise of the measurements values must rise.
const BEYOND_NOISE: f64 = 3.0;
/// Values that are at most this share above the ones before them do not rise where there is so much noise.
const HARDLY: f64 = 0.05;
/// Values of a line that show where they go.
const FEWEST: usize = 4;

/// That along a parameter in which `target` is beyond the measurements `model` goes another way than the last of these, in a sentence.
pub(super) fn turn(experiment: &Experiment, model: &Model, target: &[f64]) -> Option<String> {
    let series = experiment.series_of(model.callpath, model.metric)?;
    let (points, values): (Vec<&[f64]>, Vec<f64>) =
        experiment.measurements(series).map(|(point, values)| (point, median(values))).unzip();
    (0..target.len()).find_map(|l| along(experiment, model, (&points, &values), (l, target[l])))
}

/// The same along parameter `l`, from the longest line along it to the coordinate `target` on it.
fn along(
    experiment: &Experiment,
    model: &Model,
    (points, values): (&[&[f64]], &[f64]),
    (l, target): (usize, f64),
) -> Option<String> {
    let lines = roughness::lines(points, l);
    let line = lines.iter().max_by_key(|line| line.len()).filter(|line| line.len() >= FEWEST)?;
    let y: Vec<f64> = line.iter().map(|&i| values[i]).collect();
    let last = points[line[line.len() - 1]];
    if target <= last[l] || y.iter().any(|v| *v <= 0.0) {
        return None;
    }
    let mut there = last.to_vec();
    there[l] = target;
    let (of_last, predicted) = (y[y.len() - 1], model.at(&there));
    let least = (0..y.len()).min_by(|&a, &b| y[a].total_cmp(&y[b]))?;
    // What a model misses is no noise.
    let noise = Lines::of(points).roughness(values).or(model.quality.noise).unwrap_or(0.0);
    let rise = of_last / y[least] - 1.0;
    let rises = rise > SHARE.max(BEYOND_NOISE * noise) && y[least..].is_sorted();
    let never_rises =
        y.windows(2).all(|pair| pair[1] <= (1.0 + noise.min(HARDLY)) * pair[0]) && y[0] > (1.0 + SHARE) * of_last;
    let name = &experiment.parameters[l];
    let unit = &experiment.metrics[model.metric as usize].unit;
    let [from, to, predicted_there] = [y[least], of_last, predicted].map(|value| quantity(value, unit));
    let at = |x: f64| format!("{name} = {}", coordinate(x));
    let goes_on = predicted > (1.0 + HARDLY) * model.at(last);
    if rises && !goes_on && predicted < of_last / (1.0 + HARDLY) {
        return Some(format!(
            "What was measured rises from {from} at {} to {to} at {}, and the model does not go on with that: it says {predicted_there} at {}. \
             Measurements of larger {name} would say what comes.",
            at(points[line[least]][l]),
            at(last[l]),
            at(target)
        ));
    }
    (never_rises && predicted > (1.0 + SHARE) * of_last).then(|| {
        format!(
            "No value that was measured rises along {name} beyond noise, and the model does: it says {predicted_there} at {} after {to} at {}. That it \
             rises there is not measured.",
            at(target),
            at(last[l])
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::Doubts;
    use crate::experiment::{ExperimentBuilder, Metric};

    /// What is doubted of times at these numbers of ranks at twice the last of them.
    fn doubted(times: &[(f64, f64)]) -> Option<String> {
        let mut builder = ExperimentBuilder::new(["p"]);
        let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
        let solve = builder.callpath(["solve"]);
        for (p, seconds) in times {
            let point = builder.point(&[*p]);
            builder.add(solve, time, point, *seconds);
        }
        let experiment = builder.finish();
        let fits = crate::fit(&experiment, &crate::Options::default());
        let target = [2.0 * times[times.len() - 1].0];
        Doubts::at(&experiment, &target).of(&fits.models[0])
    }

    #[test]
    fn a_model_that_goes_another_way_than_the_last_values_is_doubted() {
        let over =
            |ranks: &[f64], time: fn(f64) -> f64| -> Vec<(f64, f64)> { ranks.iter().map(|p| (*p, time(*p))).collect() };
        let few = [1.0, 2.0, 4.0, 8.0, 16.0];
        // Five values that bend so little are modelled as a constant.
        let said = doubted(&over(&few, |p| 100.0 / p + 6.25 * p + 125.0)).unwrap();
        assert!(
            said.starts_with("What was measured rises from 175 s at p = 4 to 231 s at p = 16, and the model does not"),
            "{said}"
        );
        let many = [4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];
        let said = doubted(&over(&many, |p| (30.0 / p).max(0.27))).unwrap();
        assert!(
            said.starts_with("No value that was measured rises along p beyond noise, and the model does: it says"),
            "{said}"
        );
        // What goes on as it was measured is not doubted.
        assert_eq!(doubted(&over(&many, |p| 3.0 + 60.0 / p + 0.2 * p)), None);
        assert_eq!(doubted(&over(&many, |p| 3.0 + 60.0 / p)), None);
        assert_eq!(doubted(&over(&many, |p| 3.0 + 0.5 * p.log2())), None);
    }
}
