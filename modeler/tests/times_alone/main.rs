//! Shapes of times without effort come back from points of any arrangement: grids, crosses, irregular and sparse ones,
//! one to four parameters, repetitions.

mod exact;
mod left_out;
mod noisy;
mod repeated;

use modeler::experiment::{ExperimentBuilder, Metric};
use modeler::{Experiment, Options, fit};

/// One call path with `seconds` at `points`, each measured as often as `repetitions` says.
fn experiment(points: &[Vec<f64>], repetitions: &[usize], seconds: &mut dyn FnMut(&[f64]) -> f64) -> Experiment {
    let names = ["a", "b", "c", "d"];
    let mut builder = ExperimentBuilder::new(names[..points[0].len()].iter().copied());
    let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
    let callpath = builder.callpath(["main", "solve"]);
    for (x, &times) in points.iter().zip(repetitions.iter().cycle()) {
        let point = builder.point(x);
        (0..times).for_each(|_| builder.add(callpath, time, point, seconds(x)));
    }
    builder.finish()
}

/// The formula found for exact times.
fn formula(points: &[Vec<f64>], seconds: &dyn Fn(&[f64]) -> f64) -> String {
    let experiment = experiment(points, &[1], &mut |x| seconds(x));
    fit(&experiment, &Options::default()).models[0].expression(&experiment.parameters)
}

/// All combinations of these values.
fn grid(values: &[&[f64]]) -> Vec<Vec<f64>> {
    let longer = |points: Vec<Vec<f64>>, of: &&[f64]| -> Vec<Vec<f64>> {
        points.iter().flat_map(|x| of.iter().map(|v| x.iter().copied().chain([*v]).collect())).collect()
    };
    values.iter().fold(vec![Vec::new()], longer)
}

const RANKS: [f64; 5] = [2.0, 4.0, 8.0, 16.0, 32.0];
const SIZES: [f64; 5] = [100.0, 200.0, 300.0, 400.0, 500.0];

/// One call path with these values of one metric in one parameter.
fn series(metric: &str, values: &[(f64, f64)]) -> Experiment {
    let mut builder = ExperimentBuilder::new(["s"]);
    let metric = builder.metric(Metric { name: metric.into(), unit: String::new(), over_ranks: None });
    let callpath = builder.callpath(["main", "solve"]);
    for (s, value) in values {
        let point = builder.point(&[*s]);
        builder.add(callpath, metric, point, *value);
    }
    builder.finish()
}
