//! Shapes of times without effort come back from points of any arrangement: grids, crosses, irregular and sparse ones,
//! one to four parameters, repetitions.

use modeler::experiment::{ExperimentBuilder, Metric};
use modeler::{Experiment, Options, fit};
use rand::{RngExt, SeedableRng, rngs::StdRng};

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

#[test]
fn grids_of_one_to_four_parameters() {
    assert_eq!(formula(&grid(&[&RANKS]), &|x| 3.0 + 2.0 * x[0].log2()), "3 + 2 * log2(a)");
    assert_eq!(formula(&grid(&[&RANKS, &SIZES]), &|x| 5.0 + x[0] * x[1].sqrt()), "5 + a * b^(1/2)");
    let three = grid(&[&RANKS, &SIZES, &RANKS]);
    assert_eq!(formula(&three, &|x| 7.0 + 2.0 * x[0] * x[1] * x[2].log2()), "7 + 2 * a * b * log2(c)");
    let few: &[f64] = &[2.0, 4.0, 8.0];
    let four = grid(&[few, few, few, few]);
    assert_eq!(formula(&four, &|x| 2.0 * x[0] * x[1] * x[2] * x[3]), "2 * a * b * c * d");
}

#[test]
fn crosses() {
    let mut points: Vec<Vec<f64>> = RANKS.iter().map(|&p| vec![p, 300.0, 8.0]).collect();
    points.extend(SIZES.iter().map(|&n| vec![8.0, n, 8.0]));
    points.extend(RANKS.iter().map(|&c| vec![8.0, 300.0, c]));
    assert_eq!(formula(&points, &|x| 2.0 * x[0] * x[1] * x[2].sqrt()), "2 * a * b * c^(1/2)");
}

#[test]
fn irregular_points_that_share_no_line() {
    let rng = &mut StdRng::seed_from_u64(8);
    let mut draw = |parameters: usize, count: usize| -> Vec<Vec<f64>> {
        (0..count).map(|_| (0..parameters).map(|_| rng.random_range(2.0..90.0)).collect()).collect()
    };
    assert_eq!(formula(&draw(2, 14), &|x| 4.0 + 3.0 * x[0] * x[1]), "4 + 3 * a * b");
    assert_eq!(formula(&draw(3, 25), &|x| 3.0 * x[0] * x[1].sqrt() * x[2]), "3 * a * b^(1/2) * c");
    assert_eq!(formula(&draw(2, 20), &|x| 6.0 * x[1] / x[0]), "6 * a^(-1) * b");
}

#[test]
fn a_time_that_falls_in_one_parameter_is_followed_and_never_negative() {
    let rng = &mut StdRng::seed_from_u64(4);
    let truth = |x: &[f64]| 0.01 + 2.0 * x[1] / x[0];
    let experiment =
        experiment(&grid(&[&RANKS, &SIZES]), &[1, 3, 2], &mut |x| truth(x) * (1.0 + 0.05 * rng.random::<f64>()));
    let model = &fit(&experiment, &Options::default()).models[0];
    for x in [[64.0, 1000.0], [1024.0, 1000.0], [1.0, 10.0]] {
        let prediction = model.predict(&x, 0.9);
        assert!(prediction.lower >= 0.0 && (prediction.value / truth(&x) - 1.0).abs() < 0.2, "{x:?}: {prediction:?}");
    }
}
