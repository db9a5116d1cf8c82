//! One to four parameters, every design of points, gaps and repetitions: what is read from JSON Lines comes back as the
//! function that is written out in each test, and predictions away from the points agree with it.

use modeler::formats::{ReadOptions, read_bytes};
use modeler::model::{Exponent, Growth};
use modeler::{Experiment, Fits, Model, Options, fit};

/// Measurements of one metric at one call path as JSON Lines.
fn lines(names: &[&str], callpath: &str, metric: &str, points: &[Vec<f64>], of: impl Fn(&[f64]) -> f64) -> String {
    let line = |x: &Vec<f64>| {
        // Parameters have the order in which they stand.
        let params: Vec<String> = names.iter().zip(x).map(|(n, v)| format!("\"{n}\": {v}")).collect();
        let value = of(x);
        format!(
            "{{\"params\": {{{}}}, \"callpath\": \"{callpath}\", \"metric\": \"{metric}\", \"value\": {value:e}}}\n",
            params.join(", ")
        )
    };
    points.iter().map(line).collect()
}

fn fitted(text: &str) -> (Experiment, Fits) {
    let input = read_bytes("test.jsonl", text.as_bytes().to_vec(), &ReadOptions::default()).expect("it is JSON Lines");
    let fits = fit(&input.experiment, &Options::default());
    (input.experiment, fits)
}

fn only(text: &str) -> (Model, String) {
    let (experiment, fits) = fitted(text);
    assert!(fits.skipped.is_empty(), "{:?}", fits.skipped);
    let expression = fits.models[0].expression(&experiment.parameters);
    (fits.models[0].clone(), expression)
}

/// All combinations of these values.
fn grid(axes: &[&[f64]]) -> Vec<Vec<f64>> {
    axes.iter().fold(vec![Vec::new()], |points, axis| {
        points.iter().flat_map(|p| axis.iter().map(|v| [p.as_slice(), &[*v]].concat())).collect()
    })
}

/// One line along each parameter through the smallest point, and these further points.
fn cross(axes: &[&[f64]], further: &[&[f64]]) -> Vec<Vec<f64>> {
    let base: Vec<f64> = axes.iter().map(|a| a[0]).collect();
    let mut points = vec![base.clone()];
    for (l, axis) in axes.iter().enumerate() {
        for v in &axis[1..] {
            let mut x = base.clone();
            x[l] = *v;
            points.push(x);
        }
    }
    points.extend(further.iter().map(|x| x.to_vec()));
    points
}

const P: &[f64] = &[4.0, 8.0, 16.0, 32.0, 64.0];
const N: &[f64] = &[100.0, 200.0, 300.0, 400.0, 500.0];
const M: &[f64] = &[10.0, 20.0, 40.0, 80.0, 160.0];
const K: &[f64] = &[3.0, 5.0, 7.0, 9.0, 11.0];

/// The model's largest relative error at these points.
fn error(model: &Model, points: &[Vec<f64>], of: impl Fn(&[f64]) -> f64) -> f64 {
    points.iter().map(|x| (model.predict(x, 0.9).value / of(x) - 1.0).abs()).fold(0.0, f64::max)
}

#[test]
fn three_parameters_on_a_grid() {
    let count = |x: &[f64]| 12.0 + 3.0 * x[1] * x[2] + 5.0 * x[0];
    let points = grid(&[P, N, M]);
    let (_, expression) = only(&lines(&["p", "n", "m"], "solve", "basic_blocks", &points, count));
    assert_eq!(expression, "12 + 5 * p + 3 * n * m");
    let seconds = |x: &[f64]| 1e-3 + 2e-7 * x[1] * x[2] * x[0].log2();
    let (model, expression) = only(&lines(&["p", "n", "m"], "solve", "time", &points, seconds));
    assert!(error(&model, &[vec![256.0, 2000.0, 400.0]], seconds) < 1e-6, "{expression}");
}

#[test]
fn four_parameters_on_a_grid() {
    let points = grid(&[&P[..4], &N[..4], &M[..4], &K[..4]]);
    let count = |x: &[f64]| 3.0 * x[1] * x[2] + 2.0 * x[0] * x[3] + 7.0;
    let (model, expression) = only(&lines(&["p", "n", "m", "k"], "solve", "basic_blocks", &points, count));
    assert!(error(&model, &[vec![256.0, 2000.0, 400.0, 30.0]], count) < 1e-6, "{expression}");
    let seconds = |x: &[f64]| 2e-9 * x[1] * x[2] * x[3] / x[0];
    let (model, expression) = only(&lines(&["p", "n", "m", "k"], "solve", "time", &points, seconds));
    assert!(error(&model, &[vec![256.0, 2000.0, 400.0, 30.0]], seconds) < 1e-6, "{expression}");
}

#[test]
fn three_parameters_on_a_cross_of_lines() {
    // Lines alone cannot tell a sum from a product; one point off the lines can.
    let points = cross(&[P, N, M], &[&[64.0, 500.0, 160.0]]);
    let sum = |x: &[f64]| 40.0 + 2.0 * x[0] + 3.0 * x[1] + 5.0 * x[2];
    let product = |x: &[f64]| 2.0 * x[0] * x[1] * x[2];
    for metric in ["basic_blocks", "time"] {
        let (model, expression) = only(&lines(&["p", "n", "m"], "solve", metric, &points, product));
        assert!(error(&model, &[vec![256.0, 2000.0, 640.0]], product) < 1e-6, "{metric}: {expression}");
    }
    let (model, expression) = only(&lines(&["p", "n", "m"], "solve", "basic_blocks", &points, sum));
    assert!(error(&model, &[vec![256.0, 2000.0, 640.0]], sum) < 1e-6, "{expression}");
}

#[test]
fn four_parameters_on_a_cross_of_lines() {
    let points = cross(&[P, N, M, K], &[&[64.0, 500.0, 160.0, 11.0], &[16.0, 300.0, 40.0, 7.0]]);
    let product = |x: &[f64]| 3.0 * x[0].log2() * x[1] * x[2] * x[3].sqrt();
    let (model, expression) = only(&lines(&["p", "n", "m", "k"], "solve", "time", &points, product));
    assert!(error(&model, &[vec![256.0, 2000.0, 640.0, 25.0]], product) < 1e-6, "{expression}");
    let count = |x: &[f64]| 6.0 * x[1] * x[2] * x[3];
    let (model, expression) = only(&lines(&["p", "n", "m", "k"], "solve", "basic_blocks", &points, count));
    assert!(error(&model, &[vec![256.0, 2000.0, 640.0, 25.0]], count) < 1e-6, "{expression}");
}

#[test]
fn points_anywhere() {
    // Thirty points without any line among them: a golden-ratio sequence in both parameters.
    let at = |i: i32| {
        let share = |step: f64| (f64::from(i) * step).fract();
        vec![4.0 + (60.0 * share(0.618_034)).floor(), 100.0 + (900.0 * share(0.754_878)).floor()]
    };
    let points: Vec<Vec<f64>> = (1..=30).map(at).collect();
    let count = |x: &[f64]| 9.0 + 4.0 * x[0] * x[1] + 2.0 * x[1];
    let (_, expression) = only(&lines(&["p", "n"], "solve", "basic_blocks", &points, count));
    assert_eq!(expression, "9 + 4 * p * n + 2 * n");
    let seconds = |x: &[f64]| 0.5 + 1e-4 * x[0].log2() * x[1];
    let (model, expression) = only(&lines(&["p", "n"], "solve", "time", &points, seconds));
    assert!(error(&model, &[vec![256.0, 4000.0]], seconds) < 1e-6, "{expression}");
}

#[test]
fn repetitions_may_differ_and_call_paths_be_missing() {
    let seconds = |x: &[f64]| 0.1 + 2e-3 * x[0];
    let points = grid(&[&[2.0, 4.0, 8.0, 16.0, 32.0, 64.0]]);
    let mut text = lines(&["p"], "main", "time", &points, seconds);
    // A second and third repetition at two points, 1 % off either way.
    text += &lines(&["p"], "main", "time", &points[1..3], |x| 1.01 * seconds(x));
    text += &lines(&["p"], "main", "time", &points[1..3], |x| 0.99 * seconds(x));
    // Only with more than one node, and only at one point.
    text += &lines(&["p"], "main->exchange", "time", &points[1..], |x| 3e-3 * x[0].log2());
    text += &lines(&["p"], "main->retry", "time", &points[5..], |_| 1.0);
    let (experiment, fits) = fitted(&text);
    let paths: Vec<_> = fits.models.iter().map(|m| experiment.path(m.callpath).join(" ")).collect();
    assert_eq!(paths, ["main", "main exchange"]);
    assert_eq!((fits.models[0].quality.points, fits.models[0].quality.repetitions), (6, 1));
    assert!(error(&fits.models[0], &[vec![512.0]], seconds) < 0.01);
    assert!(error(&fits.models[1], &[vec![512.0]], |x| 3e-3 * x[0].log2()) < 1e-6);
    assert_eq!(fits.skipped.len(), 1);
    assert_eq!(fits.skipped[0].code, modeler::warning::TOO_FEW_POINTS);
}

#[test]
fn sums_and_products_in_one_parameter() {
    let points = grid(&[&[2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]]);
    for (of, expected) in [
        (&(|x: &[f64]| 3.0 * x[0] * x[0] + 50.0 * x[0] + 9.0) as &dyn Fn(&[f64]) -> f64, "9 + 50 * n + 3 * n^2"),
        (&|x: &[f64]| 4.0 * x[0] * x[0].log2() + 7.0 * x[0].log2() + 1.0, "1 + 7 * log2(n) + 4 * n * log2(n)"),
        (&|x: &[f64]| x[0].powi(3) + 2.0 * x[0], "2 * n + n^3"),
        (&|x: &[f64]| 5.0 * x[0].powi(4) + 3.0, "3 + 5 * n^4"),
    ] {
        let (_, expression) = only(&lines(&["n"], "solve", "basic_blocks", &points, of));
        assert_eq!(expression, expected);
    }
}

#[test]
fn a_count_shared_out_over_ranks_is_exact_at_corner_and_shell() {
    // The form c n + d n/p at points of a strong-scaling study, the largest held out.
    let count = |x: &[f64]| 1200.0 * x[1] + 73000.0 * x[1] / x[0];
    let inner = grid(&[&[2.0, 4.0, 8.0, 16.0], &N[..4]]);
    let (model, expression) = only(&lines(&["p", "n"], "solve", "basic_blocks", &inner, count));
    let shell: Vec<Vec<f64>> =
        grid(&[&[2.0, 4.0, 8.0, 16.0, 32.0], N]).into_iter().filter(|x| !inner.contains(x)).collect();
    assert!(error(&model, &shell, count) < 1e-3, "{expression}");
    let all_but_corner: Vec<Vec<f64>> =
        grid(&[&[2.0, 4.0, 8.0, 16.0, 32.0], N]).into_iter().filter(|x| x[..] != [32.0, 500.0]).collect();
    let (model, expression) = only(&lines(&["p", "n"], "solve", "basic_blocks", &all_but_corner, count));
    assert!(error(&model, &[vec![32.0, 500.0]], count) < 1e-3, "{expression}");
}

#[test]
fn a_time_that_falls_is_never_negative() {
    // Computation that is shared out and an exchange that is not, with 2 % up and down in turn.
    let truth = |x: &[f64]| 8e-3 * x[1] / x[0] + 1e-5 * x[1];
    let measured = |x: &[f64]| truth(x) * if (x[0].log2() + x[1] / 100.0) % 2.0 < 1.0 { 1.02 } else { 0.98 };
    let points = grid(&[&[1.0, 2.0, 4.0, 8.0, 16.0], N]);
    let (model, expression) = only(&lines(&["p", "n"], "solve", "time", &points, measured));
    for x in grid(&[&[1.0, 64.0, 1024.0, 1e6], &[10.0, 500.0, 1e5]]) {
        let prediction = model.predict(&x, 0.9);
        assert!(prediction.value >= 0.0 && prediction.lower >= 0.0, "{expression} at {x:?}: {prediction:?}");
    }
    assert!(error(&model, &[vec![32.0, 600.0]], truth) < 0.06, "{expression}");
    assert_eq!(model.growth[1], Growth { exponent: Exponent::from_integer(1), log_exponent: 0 }, "{expression}");
}

#[test]
fn parameters_below_one() {
    let points = grid(&[&[0.1, 0.2, 0.4, 0.6, 0.9], N]);
    let seconds = |x: &[f64]| 0.2 + 3e-3 * x[0] * x[0] * x[1];
    let (model, expression) = only(&lines(&["density", "n"], "solve", "time", &points, seconds));
    assert!(error(&model, &[vec![1.5, 900.0]], seconds) < 1e-6, "{expression}");
    assert_eq!(expression, "0.2 + 0.003 * density^2 * n");
}

#[test]
fn growth_beyond_the_third_power_is_followed() {
    let points = grid(&[&[27.0, 64.0, 125.0, 216.0], &[25.0, 30.0, 35.0, 40.0]]);
    let seconds = |x: &[f64]| 1e-5 * x[0].cbrt() * x[1].powi(4) * if x[0] as i32 % 2 == 0 { 1.01 } else { 0.99 };
    let (model, expression) = only(&lines(&["p", "size"], "main", "time", &points, seconds));
    assert!(error(&model, &[vec![343.0, 45.0]], |x| 1e-5 * x[0].cbrt() * x[1].powi(4)) < 0.05, "{expression}");
}

#[test]
fn four_points_are_enough_for_growth_and_get_a_warning() {
    // MPI_Alltoall's median times as one would read them off a plot: nearly 4 p microseconds, 2 % up and down.
    let points = grid(&[&[32.0, 64.0, 128.0, 256.0]]);
    let seconds = |x: &[f64]| 4e-6 * x[0] * if x[0].log2() % 2.0 == 0.0 { 1.02 } else { 0.98 };
    let (model, expression) = only(&lines(&["p"], "MPI_Alltoall", "time", &points, seconds));
    assert!(error(&model, &[vec![512.0]], |x| 4e-6 * x[0]) < 0.1, "{expression}");
    assert!(model.warnings.iter().any(|w| w.code == modeler::warning::TOO_FEW_POINTS));
}
