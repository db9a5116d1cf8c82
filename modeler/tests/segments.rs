//! Functions that change within the measured range come back with the place of the change, and plain functions stay
//! whole whatever noise does to them. The truth is written out by hand in each test.

use modeler::experiment::{ExperimentBuilder, Metric};
use modeler::formats::models_json;
use modeler::model::{Exponent, Growth};
use modeler::{Experiment, Model, Options, fit};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use rand_distr::{Distribution, StandardNormal};

/// Ten sizes, each twice the one before.
fn sizes() -> Vec<f64> {
    (0..10).map(|i| 1024.0 * f64::from(1 << i)).collect()
}

fn experiment(path: &[&str], points: &[Vec<f64>], names: &[&str], metrics: &[(&str, &[f64])]) -> Experiment {
    let mut builder = ExperimentBuilder::new(names.iter().copied());
    let callpath = builder.callpath(path);
    for (name, values) in metrics {
        let unit = if *name == "time" { "s" } else { "" };
        let metric = builder.metric(Metric { name: (*name).into(), unit: unit.into(), over_ranks: None });
        for (point, value) in points.iter().zip(*values) {
            let point = builder.point(point);
            builder.add(callpath, metric, point, *value);
        }
    }
    builder.finish()
}

fn over_n(path: &[&str], metrics: &[(&str, &dyn Fn(f64) -> f64)]) -> Experiment {
    let points: Vec<Vec<f64>> = sizes().into_iter().map(|n| vec![n]).collect();
    let values: Vec<(&str, Vec<f64>)> =
        metrics.iter().map(|(name, f)| (*name, sizes().into_iter().map(f).collect())).collect();
    let views: Vec<(&str, &[f64])> = values.iter().map(|(name, v)| (*name, v.as_slice())).collect();
    experiment(path, &points, &["n"], &views)
}

fn model_of(experiment: &Experiment, name: &str) -> Model {
    let fits = fit(experiment, &Options::default());
    let is = |m: &&Model| experiment.metrics[m.metric as usize].name == name;
    fits.models.iter().find(is).unwrap_or_else(|| panic!("{:?}", fits.skipped)).clone()
}

fn grows(exponent: i32, log_exponent: i32) -> Growth {
    Growth { exponent: Exponent::from_integer(exponent), log_exponent }
}

/// A change of slope alone is no kink beside the others' curvature, and none that a function shows which is right where counts are large.
#[test]
fn counts_that_two_functions_give_exactly_are_split_wherever_that_is() {
    let points: Vec<Vec<f64>> = (1..=12).map(|k| vec![f64::from(1 << k)]).collect();
    type Function = fn(f64) -> f64;
    let cases: [(usize, Function, &str); 8] = [
        (
            10,
            |p| if p <= 16.0 { 1000.0 * p } else { 100.0 * p + 20000.0 },
            "1000 * p for p <= 16; 20000 + 100 * p for p >= 32",
        ),
        (
            12,
            |p| if p <= 16.0 { 1000.0 * p } else { 150.0 * p * p.log2() },
            "1000 * p for p <= 16; 150 * p * log2(p) for p >= 32",
        ),
        (
            12,
            |p| p * p.log2() * if p <= 64.0 { 4937.0 } else { 6171.0 },
            "4937 * p * log2(p) for p <= 64; 6171 * p * log2(p) for p >= 128",
        ),
        // A function that was rounded as a whole is told as one.
        (
            12,
            |p| if p <= 32.0 { (2878.0 * p.sqrt()).round() } else { 254.0 * p },
            "2878 * p^(1/2) for p <= 32; 254 * p for p >= 64",
        ),
        (12, |p| 7.0 + 3.0 * p + 50.0 * p.log2(), "7 + 50 * log2(p) + 3 * p"),
        // A rounded function that gives them all by chance is none.
        (
            8,
            |p| if p <= 16.0 { 3.0 * p.log2() } else { 100.0 * p.log2() },
            "3 * log2(p) for p <= 16; 100 * log2(p) for p >= 32",
        ),
        // One rounded function is one function.
        (12, |p| 1000.0 * p.sqrt().floor(), "1000 * p^(1/2)"),
        (12, |p| 1000.0 * (1.5 * p).log2().floor(), "1000 * log2(p)"),
    ];
    for (count, blocks, expected) in cases {
        let points = &points[..count];
        let values: Vec<f64> = points.iter().map(|x| blocks(x[0])).collect();
        let measured = experiment(&["main"], points, &["p"], &[("basic_blocks", &values)]);
        assert_eq!(model_of(&measured, "basic_blocks").expression(&measured.parameters), expected);
    }
    // Of a nest of rounded bounds, which is not exact, it is said that another function may hold below.
    let nest = |p: f64| (7.3 * p.sqrt()).floor() * (31.1 * p.powf(0.25)).floor();
    let values: Vec<f64> = points.iter().map(|x| if x[0] <= 32.0 { nest(x[0]) } else { 254.0 * x[0] }).collect();
    let measured = experiment(&["main"], &points, &["p"], &[("basic_blocks", &values)]);
    let warnings = model_of(&measured, "basic_blocks").warnings;
    assert!(
        warnings
            .iter()
            .any(|w| w.code == "W007" && w.message.contains("it may be another one where the count is small")),
        "{warnings:?}"
    );
}

#[test]
fn a_count_that_switches_its_algorithm_is_two_exact_functions() {
    // Insertion sort up to 16384 elements, a logarithmic one beyond.
    let blocks = |n: f64| if n <= 16384.0 { 3.0 * n * n + 5.0 } else { 40.0 * n * n.log2() + 100.0 };
    let experiment = over_n(&["main", "sort"], &[("basic_blocks", &blocks)]);
    let model = model_of(&experiment, "basic_blocks");
    assert_eq!(
        model.expression(&experiment.parameters),
        "5 + 3 * n^2 for n <= 16384; 100 + 40 * n * log2(n) for n >= 32768"
    );
    assert_eq!((model.segments[0].from, model.segments[0].to), (None, Some(16384.0)));
    assert_eq!((model.segments[1].from, model.segments[1].to), (Some(32768.0), None));
    // Outside of its segments the model is the one that holds at the largest scale.
    assert_eq!((model.constant, model.growth.as_slice()), (100.0, [grows(1, 1)].as_slice()));
    assert_eq!(model.terms[0].coefficient, 40.0);
    for n in [10.0, 3000.0, 16384.0, 32768.0, 1e7] {
        assert!((model.at(&[n]) / blocks(n) - 1.0).abs() < 1e-9);
        assert!((model.predict(&[n], 0.9).value / blocks(n) - 1.0).abs() < 1e-9);
    }
    assert_eq!(model.quality.points, 10);
    assert!(model.quality.smape.unwrap() < 1e-9, "{:?}", model.quality);
    assert!(model.warnings.iter().any(|w| w.code == modeler::warning::CHANGE));
}

/// Up to zero the lower function holds: the upper one may have an end there, as a negative power has.
#[test]
fn a_change_across_zero_leaves_the_upper_function_above() {
    let degrees = [-8.0, -6.0, -4.0, -3.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0_f64];
    let seconds = degrees.map(|t| if t < 0.0 { 50.0 + 2.0 * t } else { 20.0 + 300.0 / t });
    let points: Vec<Vec<f64>> = degrees.iter().map(|&t| vec![t]).collect();
    let model = model_of(&experiment(&["main"], &points, &["t"], &[("time", &seconds)]), "time");
    assert_eq!(model.segments.len(), 2);
    for (t, expected) in [(-2.0, 46.0), (-0.5, 49.0), (0.0, 50.0), (0.5, 51.0), (1.0, 320.0), (3.0, 120.0)] {
        let told = model.predict(&[t], 0.9);
        assert!((told.value / expected - 1.0).abs() < 0.02, "{t}: {told:?}");
    }
}

#[test]
fn where_nobody_measured_the_interval_holds_both_functions() {
    let blocks = |n: f64| if n <= 16384.0 { 3.0 * n * n + 5.0 } else { 40.0 * n * n.log2() + 100.0 };
    let model = model_of(&over_n(&["main", "sort"], &[("basic_blocks", &blocks)]), "basic_blocks");
    let between = model.predict(&[20000.0], 0.9);
    let (square, logarithmic) = (3.0 * 4e8 + 5.0, 40.0 * 2e4 * 2e4_f64.log2() + 100.0);
    assert!(between.lower <= logarithmic && square <= between.upper, "{between:?}");
    let outside = model.predict(&[40000.0], 0.9);
    assert!(outside.upper / outside.lower < 1.001, "{outside:?}");
}

#[test]
fn a_change_in_one_of_two_parameters_is_found_at_all_values_of_the_other() {
    let blocks = |p: f64, n: f64| if n <= 400.0 { 7.0 * n * p } else { 2.0 * n * n + 11.0 * p };
    let points: Vec<Vec<f64>> =
        [2.0, 4.0, 8.0, 16.0, 32.0].iter().flat_map(|&p| (1..=8).map(move |i| vec![p, 100.0 * f64::from(i)])).collect();
    let values: Vec<f64> = points.iter().map(|x| blocks(x[0], x[1])).collect();
    let experiment = experiment(&["solve"], &points, &["p", "n"], &[("basic_blocks", &values)]);
    let model = model_of(&experiment, "basic_blocks");
    // Two terms of two parameters have ten coefficients' worth of points to agree.
    for x in &points {
        assert!((model.at(x) / blocks(x[0], x[1]) - 1.0).abs() < 1e-9, "{}", model.expression(&experiment.parameters));
    }
    assert_eq!(model.segments.len(), 2, "{}", model.expression(&experiment.parameters));
    assert_eq!((model.segments[0].to, model.segments[1].from), (Some(400.0), Some(500.0)));
}

#[test]
fn extra_ps_segmented_times_change_where_they_do() {
    // Extra-P's test input one_parameter_segmented_1: p^2 up to 6, 30 + p from there on.
    let points: Vec<Vec<f64>> = (1..=10).map(|p| vec![f64::from(p)]).collect();
    let time = |p: f64| if p <= 6.0 { p * p } else { 30.0 + p };
    let values: Vec<f64> = points.iter().map(|x| time(x[0])).collect();
    let experiment = experiment(&["main"], &points, &["p"], &[("time", &values)]);
    let model = model_of(&experiment, "time");
    assert_eq!(model.segments.len(), 2, "{}", model.expression(&experiment.parameters));
    // The point 6 lies on both functions.
    assert!(matches!(model.segments[0].to, Some(5.0 | 6.0)), "{}", model.expression(&experiment.parameters));
    assert_eq!(model.growth, [grows(1, 0)]);
    assert!((model.predict(&[20.0], 0.9).value / 50.0 - 1.0).abs() < 1e-6);
}

#[test]
fn a_time_that_leaves_the_cache_has_another_coefficient_beyond() {
    let mut rng = StdRng::seed_from_u64(3);
    let mut noise = move || 1.0 + 0.02 * <StandardNormal as Distribution<f64>>::sample(&StandardNormal, &mut rng);
    let noise: Vec<f64> = (0..10).map(|_| noise()).collect();
    let seconds = |n: f64| n * if n <= 16384.0 { 1e-9 } else { 4e-9 };
    let time = |n: f64| seconds(n) * noise[(n / 1024.0).log2() as usize];
    let experiment = over_n(&["main", "copy"], &[("basic_blocks", &|n| 5.0 * n), ("time", &time)]);
    let model = model_of(&experiment, "time");
    assert_eq!(model.segments.len(), 2, "{}", model.expression(&experiment.parameters));
    assert_eq!(model.segments[0].to, Some(16384.0));
    for n in [2048.0, 1e6] {
        let error = model.predict(&[n], 0.9).value / seconds(n) - 1.0;
        assert!(error.abs() < 0.05, "{error} at {n}");
    }
    assert_eq!(model.growth, [grows(1, 0)]);
}

#[test]
fn eager_and_rendezvous_messages_have_their_own_latency_and_bandwidth() {
    let seconds = |n: f64| if n <= 8192.0 { 1e-6 + 0.2e-9 * n } else { 2e-5 + 0.4e-9 * n };
    let experiment = over_n(
        &["main", "MPI_Send"],
        &[("visits", &|_| 1.0), ("bytes_sent", &|n| n), ("comm_size", &|_| 2.0), ("time", &seconds)],
    );
    let model = model_of(&experiment, "time");
    assert_eq!(model.segments.len(), 2, "{}", model.expression(&experiment.parameters));
    assert_eq!(model.segments[0].to, Some(8192.0));
    for n in [2000.0, 2e6] {
        assert!((model.predict(&[n], 0.9).value / seconds(n) - 1.0).abs() < 1e-6);
    }
}

#[test]
fn segments_are_in_the_json_and_plain_models_have_none() {
    let blocks = |n: f64| if n <= 16384.0 { 3.0 * n * n } else { 40.0 * n };
    let experiment = over_n(&["main"], &[("basic_blocks", &blocks), ("visits", &|n| n)]);
    let fits = fit(&experiment, &Options::default());
    let json: serde_json::Value = serde_json::from_str(&models_json(&experiment, &fits, "0", 0)).unwrap();
    let of = |metric: &str| json["models"].as_array().unwrap().iter().find(|m| m["metric"] == metric).unwrap().clone();
    let model = of("basic_blocks");
    assert_eq!(model["terms"][0]["coefficient"], 40);
    assert_eq!(model["segments"][0]["to"], 16384);
    assert!(model["segments"][0]["from"].is_null() && model["segments"][1]["to"].is_null());
    assert_eq!(model["segments"][0]["terms"][0]["factors"][0]["exponent"], "2");
    assert_eq!(model["segments"][1]["growth"]["n"]["exponent"], "1");
    assert!(of("visits").get("segments").is_none());
}

/// Shares of plain functions with this much one-sided noise that are taken for two, with and without effort.
fn split_share(level: f64, functions: u64) -> [f64; 2] {
    let mut split = [0.0; 2];
    for seed in 0..functions {
        let mut rng = StdRng::seed_from_u64(1000 + seed);
        let power = [0.5, 1.0, 1.5, 2.0][rng.random_range(0..4)];
        let logarithm = rng.random_range(0..2);
        let constant = [0.0, 1e4][rng.random_range(0..2)];
        let blocks = |n: f64| constant + 3.0 * n.powf(power).floor() * n.log2().powi(logarithm).floor();
        let time: Vec<f64> = sizes()
            .into_iter()
            .map(|n| {
                let background: f64 = StandardNormal.sample(&mut rng);
                1e-9 * blocks(n) * (1.0 + level * rng.random::<f64>()) * (1.0 + 0.03 * background).max(0.1)
            })
            .collect();
        let counts: Vec<f64> = sizes().into_iter().map(blocks).collect();
        let points: Vec<Vec<f64>> = sizes().into_iter().map(|n| vec![n]).collect();
        let with: &[(&str, &[f64])] = &[("basic_blocks", &counts), ("time", &time)];
        for (share, metrics) in split.iter_mut().zip([with, &with[1..]]) {
            let experiment = experiment(&["main"], &points, &["n"], metrics);
            let fits = fit(&experiment, &Options::default());
            *share += f64::from(u8::from(fits.models.iter().any(|m| !m.segments.is_empty()))) / functions as f64;
        }
    }
    split
}

/// The rates that `docs/models.md` names are printed by `FUNCTIONS=1000 cargo test --release -p modeler --test segments
/// noise_is_no_change -- --nocapture`.
#[test]
fn noise_is_no_change() {
    let functions = std::env::var("FUNCTIONS").map_or(60, |n| n.parse().expect("a number of functions"));
    for level in [0.0, 0.1, 0.75] {
        let [effort, alone] = split_share(level, functions);
        println!("noise {level}: with effort {:.1} %, time alone {:.1} %", 100.0 * effort, 100.0 * alone);
        assert!(effort <= 0.02 && alone <= 0.02, "{level}: {effort} {alone}");
    }
}
