//! Whether a model turns where measurements do not: it falls on beyond values that have begun to rise, or rises beyond values of which none
//! does.

use super::markup::counted;
use super::quantity::{coordinate, quantity};
use crate::experiment::{Experiment, median};
use crate::model::{Method, Model};
use crate::roughness::{self, Lines};

/// By this share values and models must rise or fall for it to be said of them.
const SHARE: f64 = 0.1;
/// So many times the noise of the measurements values must rise.
const BEYOND_NOISE: f64 = 3.0;
/// Values that are at most this share above the ones before them do not rise where there is so much noise.
const HARDLY: f64 = 0.05;
/// Values of a line that show where they go.
const FEWEST: usize = 4;

/// Which of `models` go another way than the last measurements along a parameter in which `target` is beyond them, one coordinate per parameter,
/// in a sentence of the first; nothing where none does. It is asked of those whose shapes come from times alone.
///
/// ```
/// let text = "PARAMETER p\nPOINTS 1 2 4 8 16\nREGION solve\nMETRIC time\nDATA 231\nDATA 187\nDATA 175\nDATA 187\nDATA 231\n";
/// let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?.experiment;
/// let fits = modeler::fit(&experiment, &modeler::Options::default()); // a constant
/// let told = modeler::report::turns(&experiment, &fits.models, &[32.0]).unwrap();
/// assert!(told.starts_with("solve (time): What was measured rises from 175 s at p = 4 to 231 s at p = 16"));
/// assert_eq!(modeler::report::turns(&experiment, &fits.models, &[16.0]), None); // where it was measured
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[must_use]
pub fn turns(experiment: &Experiment, models: &[Model], target: &[f64]) -> Option<String> {
    first_of(experiment, models, |model| turn(experiment, model, target))
}

/// What is told of the first of `models` of which something is, and of how many others there is the like.
pub(super) fn first_of(
    experiment: &Experiment,
    models: &[Model],
    told: impl Fn(&Model) -> Option<String>,
) -> Option<String> {
    let mut all = models.iter().filter_map(|model| Some((model, told(model)?)));
    let (model, told) = all.next()?;
    let (path, metric) =
        (experiment.path(model.callpath).join(" -> "), &experiment.metrics[model.metric as usize].name);
    let others = all.count();
    let and = match others {
        0 => String::new(),
        _ => format!(" So it is with {}.", counted(others, "other model")),
    };
    Some(format!("{path} ({metric}): {told}{and}"))
}

/// That along a parameter in which `target` is beyond the measurements `model` goes another way than the last of these, in a sentence.
pub(super) fn turn(experiment: &Experiment, model: &Model, target: &[f64]) -> Option<String> {
    if model.method != Method::Time {
        return None;
    }
    let series = experiment.series_of(model.callpath, model.metric)?;
    let (points, values): (Vec<&[f64]>, Vec<f64>) =
        experiment.measurements(series).map(|(point, values)| (point, median(values))).unzip();
    (0..target.len()).find_map(|l| along(experiment, model, (&points, &values), (l, target)))
}

/// The same along parameter `l`, from the line along it that is nearest to the target.
fn along(
    experiment: &Experiment,
    model: &Model,
    (points, values): (&[&[f64]], &[f64]),
    (l, target): (usize, &[f64]),
) -> Option<String> {
    let mut lines = roughness::lines(points, l);
    lines.retain(|line| line.len() >= FEWEST);
    let others = |line: &[usize]| -> f64 {
        let of = |(x, there): (&f64, &f64)| (x / there).ln().abs();
        let pairs = points[line[0]].iter().zip(target).enumerate().filter(|(m, (x, there))| *m != l && x != there);
        pairs.map(|(_, pair)| of(pair)).sum()
    };
    let line = lines.iter().min_by(|a, b| others(a).total_cmp(&others(b)))?;
    let of_line = |line: &[usize]| -> Vec<f64> { line.iter().map(|&i| values[i]).collect() };
    let y = of_line(line);
    let last = points[line[line.len() - 1]];
    if target[l] <= last[l] || values.iter().any(|v| *v <= 0.0) {
        return None;
    }
    let mut there = last.to_vec();
    there[l] = target[l];
    let (of_last, predicted) = (y[y.len() - 1], model.at(&there));
    let least = (0..y.len()).min_by(|&a, &b| y[a].total_cmp(&y[b]))?;
    // What a model misses is no noise.
    let noise = || Lines::of(points).roughness(values).or(model.quality.noise).unwrap_or(0.0);
    let stays = predicted <= (1.0 + HARDLY) * model.at(last) && predicted < of_last / (1.0 + HARDLY);
    let rise = of_last / y[least] - 1.0;
    let rises = || rise > SHARE && y[least..].is_sorted() && rise > BEYOND_NOISE * noise();
    let name = &experiment.parameters[l];
    let unit = &experiment.metrics[model.metric as usize].unit;
    let [from, to, predicted_there] = [y[least], of_last, predicted].map(|value| quantity(value, unit));
    let at = |x: f64| format!("{name} = {}", coordinate(x));
    let varies = |m: &usize| *m != l && points.iter().any(|x| x[*m] != last[*m]);
    let fixed: Vec<String> = (0..last.len())
        .filter(varies)
        .map(|m| format!("{} = {}", experiment.parameters[m], coordinate(last[m])))
        .collect();
    let of_others = if fixed.is_empty() { String::new() } else { format!(" ({})", fixed.join(", ")) };
    if stays && rises() {
        return Some(format!(
            "What was measured rises from {from} at {} to {to} at {}{of_others}, and the model does not go on with that: it says \
             {predicted_there} at {}. Measurements of larger {name} would say what comes.",
            at(points[line[least]][l]),
            at(last[l]),
            at(target[l])
        ));
    }
    let none_rises = || {
        let most = 1.0 + noise().min(HARDLY);
        lines.iter().all(|line| of_line(line).windows(2).all(|pair| pair[1] <= most * pair[0]))
    };
    let turns_up = predicted > (1.0 + SHARE) * of_last && y[0] > (1.0 + SHARE) * of_last;
    (turns_up && none_rises()).then(|| {
        format!(
            "No value that was measured rises along {name} beyond noise, and yet the model says {predicted_there} at {} after {to} at {}\
             {of_others}. That it rises there is not measured.",
            at(target[l]),
            at(last[l])
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::Doubts;
    use crate::experiment::{Experiment, ExperimentBuilder, Metric};

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
            said.starts_with("No value that was measured rises along p beyond noise, and yet the model says"),
            "{said}"
        );
        // What goes on as it was measured is not doubted.
        assert_eq!(doubted(&over(&many, |p| 3.0 + 60.0 / p + 0.2 * p)), None);
        assert_eq!(doubted(&over(&many, |p| 3.0 + 60.0 / p)), None);
        assert_eq!(doubted(&over(&many, |p| 3.0 + 0.5 * p.log2())), None);
    }

    /// Times at five numbers of ranks of three sizes.
    fn of_sizes(seconds: fn(f64, f64) -> f64) -> Experiment {
        let mut builder = ExperimentBuilder::new(["p", "n"]);
        let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
        let solve = builder.callpath(["solve"]);
        for p in [1.0, 2.0, 4.0, 8.0, 16.0] {
            for n in [1.0, 2.0, 4.0] {
                let point = builder.point(&[p, n]);
                builder.add(solve, time, point, seconds(p, n));
            }
        }
        builder.finish()
    }

    /// Of two parameters the line that is nearest to the target is told, and nothing is said of all values that holds along one line alone.
    #[test]
    fn lines_that_differ_are_not_told_as_one() {
        let model_of = |experiment: &Experiment| crate::fit(experiment, &crate::Options::default()).models.remove(0);
        let constant = model_of(&of_sizes(|_, n| 200.0 * n));
        let bent = of_sizes(|p, n| n * (100.0 / p + 6.25 * p + 125.0));
        for n in [1.0, 4.0] {
            let said = super::turn(&bent, &constant, &[32.0, n]).unwrap();
            assert!(said.contains(&format!("at p = 16 (n = {n}), and the model does not go on")), "{said}");
        }
        let rising = model_of(&of_sizes(|p, n| n * (2.0 + p)));
        let falling = of_sizes(|p, n| n * (1.0 + 10.0 / p));
        let said = super::turn(&falling, &rising, &[32.0, 2.0]).unwrap();
        assert!(said.starts_with("No value that was measured rises along p") && said.contains("(n = 2)"), "{said}");
        // One that rises elsewhere is a value that does.
        let mixed = of_sizes(|p, n| if n < 4.0 { n * (1.0 + 10.0 / p) } else { 1.0 + p });
        assert_eq!(super::turn(&mixed, &rising, &[32.0, 2.0]), None);
    }
}
