//! Functions that are known come back exactly from their values: counts with rounded loop bounds, bytes, times
//! without noise.

use modeler::experiment::{ExperimentBuilder, Metric, OverRanks};
use modeler::model::{Exponent, Growth, Kind, Method};
use modeler::{Experiment, Fits, Model, Options, fit};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::cell::RefCell;

const P: [f64; 5] = [2.0, 4.0, 8.0, 16.0, 32.0];
const N: [f64; 5] = [200.0, 400.0, 600.0, 800.0, 1000.0];

fn metric(name: &str) -> Metric {
    let unit = match name {
        "time" => "s",
        n if n.starts_with("bytes") => "bytes",
        _ => "",
    };
    Metric { name: name.into(), unit: unit.into(), over_ranks: None }
}

/// One call path `main -> path` with these metrics over p.
fn over_p(path: &str, metrics: &[(&str, &dyn Fn(f64) -> f64)]) -> Experiment {
    let mut builder = ExperimentBuilder::new(["p"]);
    let callpath = builder.callpath(["main", path]);
    for (name, function) in metrics {
        let metric = builder.metric(metric(name));
        for p in P {
            let point = builder.point(&[p]);
            builder.add(callpath, metric, point, function(p));
        }
    }
    builder.finish()
}

/// A function of p and n.
type OfTwo<'a> = &'a dyn Fn(f64, f64) -> f64;

/// One call path `main -> path` with these metrics over p and n.
fn over_p_and_n(path: &str, metrics: &[(&str, OfTwo)]) -> Experiment {
    let mut builder = ExperimentBuilder::new(["p", "n"]);
    let callpath = builder.callpath(["main", path]);
    for (name, function) in metrics {
        let metric = builder.metric(metric(name));
        for p in P {
            for n in N {
                let point = builder.point(&[p, n]);
                builder.add(callpath, metric, point, function(p, n));
            }
        }
    }
    builder.finish()
}

fn the_model<'a>(fits: &'a Fits, experiment: &Experiment, name: &str) -> &'a Model {
    let is = |m: &&Model| experiment.metrics[m.metric as usize].name == name;
    fits.models.iter().find(is).unwrap_or_else(|| panic!("no model of {name}: {:?}", fits.skipped))
}

fn expression(experiment: &Experiment, name: &str) -> String {
    the_model(&fit(experiment, &Options::default()), experiment, name).expression(&experiment.parameters)
}

fn blocks_of_n_and_p(function: OfTwo) -> String {
    expression(&over_p_and_n("solve", &[("basic_blocks", function)]), "basic_blocks")
}

#[test]
fn sums_and_products_of_counts_come_back() {
    assert_eq!(blocks_of_n_and_p(&|p, n| 4.0 + 3.0 * n + 2.0 * n * p.log2().floor()), "4 + 2 * log2(p) * n + 3 * n");
    assert_eq!(blocks_of_n_and_p(&|p, n| 7.0 * p * n), "7 * p * n");
    assert_eq!(blocks_of_n_and_p(&|p, n| n * n + 5.0 * n + p), "p + 5 * n + n^2");
    assert_eq!(blocks_of_n_and_p(&|_, _| 12.0), "12");
    assert_eq!(blocks_of_n_and_p(&|p, n| 2.0 * n * (p - 1.0) + 3.0), "3 + 2 * p * n - 2 * n");
    assert_eq!(blocks_of_n_and_p(&|p, n| 10.0 * n + 3.0 * n / p), "3 * p^(-1) * n + 10 * n");
}

/// A counter of which nothing says that it is exact is where a function gives all of its whole numbers; others keep their noise.
#[test]
fn counters_of_other_names_are_counts_where_they_are_exact() {
    let drawn = RefCell::new(StdRng::seed_from_u64(6));
    let misses = |_: f64, n: f64| (n * drawn.borrow_mut().random_range(900.0..1100.0)).round();
    let of_two: [(&str, OfTwo); 3] =
        [("messages", &|p, _| p * (p - 1.0)), ("halo", &|p, n| 16.0 * n * (p - 1.0)), ("misses", &misses)];
    let measured = over_p_and_n("exchange", &of_two);
    assert_eq!(expression(&measured, "messages"), "-1 * p + p^2");
    assert_eq!(expression(&measured, "halo"), "16 * p * n - 16 * n");
    let fits = fit(&measured, &Options::default());
    assert!(the_model(&fits, &measured, "misses").quality.noise.is_some_and(|noise| noise > 0.03));
    // What is not whole is no count, and a time is never sure.
    let measured = over_p("exchange", &[("half", &|p| 0.3 * p * (p - 1.0)), ("time", &|p| p * (p - 1.0))]);
    let fits = fit(&measured, &Options::default());
    for name in ["half", "time"] {
        let model = the_model(&fits, &measured, name);
        assert!(model.terms.iter().all(|term| term.coefficient > 0.0), "{name}: {}", model.expression(&["p".into()]));
    }
}

/// With three values of p and no full grid, rounding a factor of p up or down gives nearly any three values.
/// Whatever an iteration costs. Half of it, twice, is a whole number, too, and the bounds of other functions, rounded, may add up to a few values of r.
#[test]
fn one_loop_comes_back_whatever_its_iteration_costs() {
    let functions: [fn(f64, f64) -> f64; 3] = [|k, r| k * r, |k, r| k * r * r, |k, r| 2.0 + k * r];
    let mut random = StdRng::seed_from_u64(3);
    let mut costs = vec![1_000_002.0, 1_000_010.0, 1_639_202.0, 1_999_998.0, 3_000_006.0, 2_147_483_646.0];
    costs.extend((0..60).map(|_| f64::from(random.random_range(1..20_000_000_u32))));
    for values in
        [&[2.0, 3.0, 4.0, 5.0, 6.0][..], &[1.0, 2.0, 3.0, 4.0, 5.0], &P, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]]
    {
        let mut builder = ExperimentBuilder::new(["r"]);
        let blocks = builder.metric(metric("basic_blocks"));
        for (number, function) in functions.iter().enumerate() {
            for k in &costs {
                let callpath = builder.callpath(["main", &format!("{number} {k}")]);
                for &r in values {
                    let point = builder.point(&[r]);
                    builder.add(callpath, blocks, point, function(*k, r));
                }
            }
        }
        let experiment = builder.finish();
        let fits = fit(&experiment, &Options::default());
        assert_eq!(fits.models.len(), functions.len() * costs.len());
        let all = functions.iter().flat_map(|function| costs.iter().map(move |k| function(*k, 100.0)));
        for (model, exact) in fits.models.iter().zip(all) {
            let told = model.expression(&experiment.parameters);
            assert!((model.at(&[100.0]) / exact - 1.0).abs() < 1e-9, "{values:?}: {told} is {exact} at 100");
        }
    }
}

#[test]
fn work_that_is_shared_out_comes_back_whatever_point_is_missing() {
    let functions: [(&str, OfTwo); 3] = [
        ("2 + 20000 * p^(-1) * n", &|p, n| 2.0 + 20_000.0 * n / p),
        ("2 + 20000 * p^(-1) * n + 12 * n", &|p, n| 2.0 + 20_000.0 * n / p + 12.0 * n),
        ("5 + 8 * p^(-1) * n^2", &|p, n| 5.0 + 8.0 * n * n / p),
    ];
    for (expected, function) in functions {
        for missing in 0..15 {
            let mut builder = ExperimentBuilder::new(["p", "n"]);
            let (callpath, metric) = (builder.callpath(["main", "solve"]), builder.metric(metric("basic_blocks")));
            for i in (0..15).filter(|&i| i != missing) {
                let (p, n) = ([1.0, 2.0, 4.0][i / 5], [20.0, 40.0, 60.0, 80.0, 100.0][i % 5]);
                let point = builder.point(&[p, n]);
                builder.add(callpath, metric, point, function(p, n));
            }
            assert_eq!(expression(&builder.finish(), "basic_blocks"), expected, "without point {missing}");
        }
    }
}

/// Stages that are left out are taken off, so that terms with rounded bounds may be negative.
#[test]
fn rounded_bounds_come_back_whatever_point_is_missing() {
    let stages = |p: f64| p.log2().ceil();
    let functions: [(&str, &[f64], OfTwo); 5] = [
        ("9 + 12 * log2(p) * n - 5 * n", &[3.0, 4.0, 8.0, 12.0, 16.0, 20.0], &|p, n| {
            9.0 + 12.0 * n * stages(p) - 5.0 * n
        }),
        ("9 + 40 * log2(p) * n - 3 * n", &[3.0, 4.0, 8.0, 12.0, 16.0, 20.0], &|p, n| {
            9.0 + 40.0 * n * stages(p) - 3.0 * n
        }),
        ("9 + 40 * log2(p) * n - 3 * n", &[4.0, 8.0, 12.0, 16.0, 24.0], &|p, n| 9.0 + 40.0 * n * stages(p) - 3.0 * n),
        ("9 + 4 * log2(p) * n - 4 * n", &[4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0], &|p, n| {
            9.0 + 4.0 * n * (stages(p) - 1.0)
        }),
        ("9 - 5 * p + 5 * p * n^(1/2)", &[3.0, 4.0, 8.0, 12.0, 16.0], &|p, n| 9.0 + 5.0 * p * (n.sqrt().floor() - 1.0)),
    ];
    for (expected, ranks, function) in functions {
        for missing in (0..ranks.len() * 6).step_by(5) {
            let mut builder = ExperimentBuilder::new(["p", "n"]);
            let (callpath, metric) = (builder.callpath(["main", "solve"]), builder.metric(metric("basic_blocks")));
            for i in (0..ranks.len() * 6).filter(|&i| i != missing) {
                let (p, n) = (ranks[i / 6], [20.0, 40.0, 60.0, 80.0, 100.0, 130.0][i % 6]);
                let point = builder.point(&[p, n]);
                builder.add(callpath, metric, point, function(p, n));
            }
            assert_eq!(expression(&builder.finish(), "basic_blocks"), expected, "{ranks:?} without point {missing}");
        }
    }
}

/// The design that advice begins with: a line along each parameter and three points beside.
#[test]
fn work_that_is_shared_out_comes_back_from_a_first_design() {
    let functions: [(&str, OfTwo); 3] = [
        ("4 + 4096 * p^(-1) * n^2", &|p, n| 4.0 + 4096.0 * n * n / p),
        ("5 + 64000 * p^(-1) * n + 3 * n", &|p, n| 5.0 + 64_000.0 * n / p + 3.0 * n),
        ("7 + 4096 * p^(-1) * n + 2 * log2(p)", &|p, n| 7.0 + 2.0 * p.log2() + 4096.0 * n / p),
    ];
    for (expected, function) in functions {
        let mut builder = ExperimentBuilder::new(["p", "n"]);
        let (callpath, metric) = (builder.callpath(["main", "solve"]), builder.metric(metric("basic_blocks")));
        let mut add = |p: f64, n: f64| {
            let point = builder.point(&[p, n]);
            builder.add(callpath, metric, point, function(p, n));
        };
        [64.0, 128.0, 192.0, 256.0, 320.0].into_iter().for_each(|n| add(1.0, n));
        [2.0, 4.0, 8.0, 16.0].into_iter().for_each(|p| add(p, 64.0));
        [(2.0, 192.0), (16.0, 128.0), (16.0, 320.0)].into_iter().for_each(|(p, n)| add(p, n));
        assert_eq!(expression(&builder.finish(), "basic_blocks"), expected);
    }
}

/// Shares of work are whole numbers, so that the last rank's is smaller: counts that differ a little from any function.
#[test]
fn shares_that_are_rounded_are_predicted() {
    let functions: [OfTwo; 4] = [
        &|p, n| 5.0 + 3.0 * n + 120.0 * (n / p).ceil(),
        &|p, n| 7.0 + 40.0 * n * n + 2.0 * (4096.0 * n * n.log2() / p).floor(),
        &|p, n| 4.0 + 1000.0 * n.powf(1.5).floor() + 250.0 * (4096.0 * n.sqrt() / p).floor(),
        &|p, n| 30.0 + 5.0 * (4096.0 * n.powf(1.5) / p).floor() + 3.0 * (p.log2() * n * n).floor(),
    ];
    for (i, function) in functions.into_iter().enumerate() {
        let mut builder = ExperimentBuilder::new(["p", "n"]);
        let (callpath, metric) = (builder.callpath(["main", "solve"]), builder.metric(metric("basic_blocks")));
        for p in [2.0, 3.0, 4.0, 8.0, 16.0, 24.0] {
            for n in [1000.0, 2000.0, 3000.0, 4000.0, 5000.0] {
                let point = builder.point(&[p, n]);
                builder.add(callpath, metric, point, function(p, n));
            }
        }
        let experiment = builder.finish();
        let fits = fit(&experiment, &Options::default());
        let model = the_model(&fits, &experiment, "basic_blocks");
        let (predicted, truth) = (model.at(&[64.0, 12_000.0]), function(64.0, 12_000.0));
        let expression = model.expression(&experiment.parameters);
        assert!((predicted / truth - 1.0).abs() < 5e-3, "{i}: {expression} says {predicted} for {truth}");
    }
}

/// What a rank's share adds may be a small part of a count, which then falls by little: on grids, crosses, single points of a grid and lines.
#[test]
fn counts_that_fall_by_little_are_predicted() {
    let ranks = [4.0, 8.0, 16.0, 32.0, 64.0, 128.0_f64];
    let sizes = [10_000.0, 20_000.0, 30_000.0, 40_000.0, 50_000.0_f64];
    let grid: Vec<(f64, f64)> = ranks.iter().flat_map(|&p| sizes.map(|n| (p, n))).collect();
    let cross: Vec<(f64, f64)> =
        ranks.iter().map(|&p| (p, sizes[0])).chain(sizes[1..].iter().map(|&n| (ranks[0], n))).collect();
    let some: Vec<(f64, f64)> =
        grid.iter().copied().enumerate().filter(|(i, _)| i * 7 % 15 < 7).map(|(_, x)| x).collect();
    let line: Vec<(f64, f64)> = ranks.iter().map(|&p| (p, 50_000.0)).collect();
    let functions: [OfTwo; 5] = [
        &|p, n| 3.0 * n + (n / p).floor(),
        &|p, n| 30.0 * n + 20.0 * n / p,
        &|p, n| 3.0 * n + 20.0 * n / p,
        &|p, n| 100.0 * n + 20.0 * n / p,
        &|p, n| 5.0 * (n / p).floor() + 5000.0 * p,
    ];
    for (i, function) in functions.into_iter().enumerate() {
        for points in [&grid, &cross, &some, &line] {
            // What falls and then rises needs a grid.
            if i == 4 && points.len() < grid.len() {
                continue;
            }
            let mut builder = ExperimentBuilder::new(["p", "n"]);
            let (callpath, metric) = (builder.callpath(["main", "solve"]), builder.metric(metric("basic_blocks")));
            for &(p, n) in points {
                let point = builder.point(&[p, n]);
                builder.add(callpath, metric, point, function(p, n).floor());
            }
            let experiment = builder.finish();
            let fits = fit(&experiment, &Options::default());
            let model = the_model(&fits, &experiment, "basic_blocks");
            let (predicted, truth) = (model.at(&[512.0, 50_000.0]), function(512.0, 50_000.0));
            let expression = model.expression(&experiment.parameters);
            assert!(
                (predicted / truth - 1.0).abs() < 1e-3,
                "{i}, {}: {expression}: {predicted}, {truth}",
                points.len()
            );
        }
    }
}

/// Bounds that hold both parameters and are rounded as a whole, on grids and on a line along each parameter with two points
/// beside. Local sizes are no products of rounded factors.
#[test]
fn bounds_of_several_parameters_come_back() {
    let share = |p: f64, n: f64| (n / p).floor();
    let functions: [(&str, OfTwo); 10] = [
        ("3 + 7 * p^(-1) * n", &|p, n| 3.0 + 7.0 * share(p, n)),
        ("3 + 7 * p^(-1) * n", &|p, n| 3.0 + 7.0 * (n / p).ceil()),
        ("3 + 7 * p^(-1) * n^2", &|p, n| 3.0 + 7.0 * n * share(p, n)),
        ("5 + 2 * p^(-2) * n^2", &|p, n| 5.0 + 2.0 * share(p, n).powi(2)),
        ("5 + 2 * p^(-1) * n + n", &|p, n| 5.0 + 2.0 * share(p, n) + n),
        ("5 + 20 * p^(-1) * log2(p) * n", &|p, n| 5.0 + 20.0 * share(p, n) * p.log2().floor()),
        ("5 + 200 * p^(-1/2) * n^(1/2)", &|p, n| 5.0 + 200.0 * (n / p).sqrt().floor()),
        ("5 + 20 * p^(-1) * n^2", &|p, n| 5.0 + 20.0 * (n / p.sqrt()).floor().powi(2)),
        ("5 + 200 * p^(1/2) * n^(1/2)", &|p, n| 5.0 + 200.0 * (n * p).sqrt().floor()),
        ("5 + 40 * log2(p) * n^(1/2)", &|p, n| 5.0 + 40.0 * (n.sqrt() * p.log2()).floor()),
    ];
    let (ranks, sizes) = ([3.0, 5.0, 7.0, 12.0, 24.0], [100.0, 170.0, 330.0, 520.0, 1000.0]);
    let beside = [(24.0, 1000.0), (7.0, 330.0)];
    for is_grid in [true, false] {
        for (expected, function) in functions {
            let mut builder = ExperimentBuilder::new(["p", "n"]);
            let (callpath, metric) = (builder.callpath(["main", "solve"]), builder.metric(metric("basic_blocks")));
            for p in ranks {
                for n in sizes {
                    if is_grid || p == ranks[0] || n == sizes[0] || beside.contains(&(p, n)) {
                        let point = builder.point(&[p, n]);
                        builder.add(callpath, metric, point, function(p, n));
                    }
                }
            }
            assert_eq!(expression(&builder.finish(), "basic_blocks"), expected, "full grid: {is_grid}");
        }
    }
}

/// Two values of a parameter fit any function of it, which is no growth that anybody has seen.
#[test]
fn two_values_of_a_parameter_are_no_growth() {
    for step in [6.0, 40.0] {
        let mut builder = ExperimentBuilder::new(["p", "n"]);
        let (callpath, metric) = (builder.callpath(["main", "solve"]), builder.metric(metric("basic_blocks")));
        for (p, more) in [(2.0, 0.0), (5.0, step)] {
            for n in (1..=8).map(|k| 100.0 * f64::from(k)).filter(|&n| (p, n) != (5.0, 300.0)) {
                let point = builder.point(&[p, n]);
                builder.add(callpath, metric, point, 50.0 + more + 2.0 * n.sqrt().floor());
            }
        }
        let experiment = builder.finish();
        let fits = fit(&experiment, &Options::default());
        for model in &fits.models {
            let expression = model.expression(&experiment.parameters);
            let alone = |t: &modeler::model::Term| t.factors.iter().all(|f| f.parameter == 0);
            assert!(!model.terms.iter().any(alone), "{step}: {expression}");
        }
    }
}

/// A count that two values of p tell is a time's shape as well: growth with n is not lost with that of p.
#[test]
fn times_follow_a_count_that_two_values_of_a_parameter_tell() {
    let mut builder = ExperimentBuilder::new(["p", "n"]);
    let callpath = builder.callpath(["main"]);
    let (blocks, time) = (builder.metric(metric("compiled_blocks")), builder.metric(metric("time")));
    let count = |p: f64, n: f64| 25.0 + (p * n).powi(2);
    for (i, (p, n)) in
        (0i32..).zip([(1.0, 500.0), (1.0, 1000.0), (1.0, 2000.0), (1.0, 4000.0), (2.0, 500.0), (2.0, 1000.0)])
    {
        let point = builder.point(&[p, n]);
        builder.add(callpath, blocks, point, count(p, n));
        builder.add(callpath, time, point, 1e-9 * count(p, n) * (1.0 + 0.01 * f64::from(i % 3 - 1)));
    }
    let experiment = builder.finish();
    let fits = fit(&experiment, &Options::default());
    let model = the_model(&fits, &experiment, "time");
    assert!(model.warnings.iter().any(|w| w.message.contains("p has two values here")), "{:?}", model.warnings);
    for (p, n) in [(1.0, 8000.0), (2.0, 8000.0)] {
        let (predicted, truth) = (model.predict(&[p, n], 0.9).value, 1e-9 * count(p, n));
        assert!((predicted / truth - 1.0).abs() < 0.03, "{predicted} at p = {p}, n = {n} instead of {truth}");
    }
}

#[test]
fn rounded_loop_bounds_do_not_hide_the_function() {
    assert_eq!(blocks_of_n_and_p(&|_, n| (n.powf(2.0 / 3.0)).ceil() * 5.0 + 7.0), "7 + 5 * n^(2/3)");
    assert_eq!(blocks_of_n_and_p(&|p, n| 9.0 * n.powf(0.75).floor() * p + 2.0), "2 + 9 * p * n^(3/4)");
    assert_eq!(blocks_of_n_and_p(&|p, n| p + n * n.log2().floor()), "p + n * log2(n)");
    assert_eq!(blocks_of_n_and_p(&|_, n| 3.0 * n.powf(1.5).floor()), "3 * n^(3/2)");
    assert_eq!(
        blocks_of_n_and_p(&|p, n| n.powf(0.25).floor() * 40.0 + n.powf(0.8).floor() * p),
        "p * n^(4/5) + 40 * n^(1/4)"
    );
}

#[test]
fn three_loops_of_one_parameter_come_back_from_five_values() {
    let (a, b) = (|n: f64| n.sqrt().floor(), |n: f64| n.powf(1.5).floor());
    let nest = |_: f64, n: f64| 5.0 + a(n) + 3.0 * a(n) * b(n) + 2.0 * n.powf(0.75).floor();
    assert_eq!(blocks_of_n_and_p(&nest), "5 + n^(1/2) + 2 * n^(3/4) + 3 * n^2");
    // A logarithm's third power is in no set of exponents, but three nested loops have it.
    assert_eq!(blocks_of_n_and_p(&|p, n| 2.0 + 3.0 * p.log2().powi(3) * n), "2 + 3 * log2(p)^3 * n");
}

#[test]
fn bytes_for_every_rank_have_exponents_that_the_ranks_raise() {
    let bytes = |p: f64, n: f64| 8.0 * (48_000.0 * p.powf(0.8)).round() * p * n;
    let experiment = over_p_and_n("MPI_Allgather", &[("bytes_received", &bytes)]);
    let fits = fit(&experiment, &Options::default());
    let growth = &the_model(&fits, &experiment, "bytes_received").growth;
    assert_eq!(growth[0], Growth { exponent: Exponent::new(9, 5), log_exponent: 0 });
    assert_eq!(growth[1], Growth { exponent: Exponent::from_integer(1), log_exponent: 0 });
}

#[test]
fn kripkes_groups_times_zones_come_back_with_three_parameters() {
    let mut builder = ExperimentBuilder::new(["p", "G", "Z"]);
    let sweep = builder.callpath(["main", "SweepSolver"]);
    let blocks = builder.metric(metric("basic_blocks"));
    for p in [512.0, 1000.0, 1728.0, 2744.0, 4096.0] {
        for g in [32.0, 64.0, 96.0, 128.0, 160.0] {
            for z in [64.0, 512.0, 1728.0, 4096.0, 8000.0] {
                let point = builder.point(&[p, g, z]);
                builder.add(sweep, blocks, point, 17.0 + 3.0 * g * z);
            }
        }
    }
    let experiment = builder.finish();
    assert_eq!(expression(&experiment, "basic_blocks"), "17 + 3 * G * Z");
}

/// Extra-P's default hypotheses of one term: the exponents and logarithms of which it tries 42 pairs.
fn single_terms() -> Vec<(i32, i32, i32)> {
    let mut terms = Vec::new();
    for (numerator, denominator, most_log) in [
        (0, 1, 2),
        (1, 4, 2),
        (1, 3, 2),
        (1, 2, 2),
        (2, 3, 2),
        (3, 4, 2),
        (4, 5, 1),
        (1, 1, 2),
        (5, 4, 2),
        (4, 3, 2),
        (3, 2, 2),
        (5, 3, 2),
        (7, 4, 2),
        (2, 1, 2),
        (9, 4, 2),
        (7, 3, 1),
        (5, 2, 2),
        (8, 3, 1),
        (11, 4, 1),
        (3, 1, 1),
    ] {
        terms.extend((0..=most_log).filter(|j| numerator != 0 || *j != 0).map(|j| (numerator, denominator, j)));
    }
    terms
}

#[test]
fn every_single_term_comes_back_from_five_points_without_noise() {
    for (numerator, denominator, log) in single_terms() {
        let power = f64::from(numerator) / f64::from(denominator);
        let function = move |p: f64| 10.0 + 5.0 * p.powf(power) * p.log2().powi(log);
        for name in ["time", "basic_blocks"] {
            let experiment = over_p("solve", &[(name, &function)]);
            let fits = fit(&experiment, &Options::default());
            let model = the_model(&fits, &experiment, name);
            let wanted = Growth { exponent: Exponent::new(numerator, denominator), log_exponent: log };
            assert_eq!(model.growth, [wanted], "{name}: {}", model.expression(&experiment.parameters));
            assert!((model.constant - 10.0).abs() < 1e-6 && (model.terms[0].coefficient - 5.0).abs() < 1e-6);
        }
    }
}

#[test]
fn extra_ps_two_parameter_example_comes_back() {
    let mut builder = ExperimentBuilder::new(["x", "y"]);
    let callpath = builder.callpath(["reg"]);
    let time = builder.metric(metric("time"));
    let truth = |x: f64, y: f64| 1.374 + 6.698 * y.log2() + 0.04384 * x.powf(1.5) * x.log2().powi(2) * y.log2();
    for x in [20.0, 30.0, 40.0, 50.0, 60.0] {
        for y in [1.0, 2.0, 3.0, 4.0, 5.0] {
            let point = builder.point(&[x, y]);
            builder.add(callpath, time, point, truth(x, y));
        }
    }
    let fits = fit(&builder.finish(), &Options::default());
    let prediction = fits.models[0].predict(&[90.0, 9.0], 0.9);
    assert!((prediction.value / truth(90.0, 9.0) - 1.0).abs() < 1e-6, "{prediction:?}");
}

/// What a rank that is alone does not send, and what all ranks of a chain send on average, at one rank and more.
#[test]
fn counts_that_are_zero_at_one_rank_come_back() {
    let design = |p: &[f64], n: &[f64]| {
        let line_n = n.iter().map(|n| (p[0], *n));
        let line_p = p[1..].iter().map(|p| (*p, n[0]));
        let pairs = (1..p.len().min(n.len())).map(|i| (p[i], n[i]));
        line_n.chain(line_p).chain(pairs).collect::<Vec<_>>()
    };
    let grid = |p: &[f64], n: &[f64]| p.iter().flat_map(|p| n.iter().map(|n| (*p, *n))).collect::<Vec<_>>();
    let n = [300.0, 600.0, 900.0, 1200.0, 1500.0];
    let functions: [(OfTwo, &str); 6] = [
        (&|p, n| 1600.0 * n * (p - 1.0) / p, "chain"),
        (&|p, n| 8.0 * n * p.log2(), "tree"),
        (&|p, n| 16.0 * n * (p - 1.0), "alltoall"),
        (&|p, _| 800.0 * (p - 1.0), "messages to all others"),
        (&|p, n| (800.0 + 8.0 * n) * (p - 1.0), "alltoall of a header and data"),
        (&|p, n| (800.0 + 8.0 * n) * (p - 1.0) / p, "chain of a header and data"),
    ];
    for p in [&[1.0, 2.0, 4.0][..], &[1.0, 2.0, 4.0, 8.0], &[1.0, 2.0, 4.0, 8.0, 16.0]] {
        // A design of three numbers of ranks has four values above zero, which are too few for what grows with n.
        let designs = [(grid(p, &n), "grid"), (design(p, &n), "design")];
        for (points, of) in designs.into_iter().take(if p.len() == 3 { 1 } else { 2 }) {
            // Nor do two say how what does not depend on n grows.
            for (function, name) in functions.into_iter().filter(|f| p.len() > 3 || f.1 != "messages to all others") {
                let mut builder = ExperimentBuilder::new(["p", "n"]);
                let (callpath, bytes) =
                    (builder.callpath(["main", "MPI_Sendrecv"]), builder.metric(metric("bytes_sent")));
                for (p, n) in &points {
                    let point = builder.point(&[*p, *n]);
                    builder.add(callpath, bytes, point, function(*p, *n));
                }
                let experiment = builder.finish();
                let fits = fit(&experiment, &Options::default());
                let model = the_model(&fits, &experiment, "bytes_sent");
                for at in [[256.0, 9000.0], [2.0, 300.0], [3.0, 5000.0]] {
                    let (found, truth) = (model.at(&at), function(at[0], at[1]));
                    let what = || format!("{name}, {of} of {}: {}", p.len(), expression(&experiment, "bytes_sent"));
                    assert!((found / truth - 1.0).abs() < 1e-9, "{} at {at:?}", what());
                }
            }
        }
    }
}

/// What one rank does that is alone is not what others do: an exchange with neighbours has no function that is zero at one rank as well.
#[test]
fn counts_of_more_ranks_than_one_come_back() {
    let functions: [(OfTwo, OfTwo); 3] = [
        (&|_, _| 0.0, &|_, n| 16.0 * n),
        (&|_, n| 3.0 * n, &|_, n| 80.0 + 16.0 * n),
        (&|_, _| 0.0, &|p, n| 64.0 * n * p),
    ];
    let ranks = [1.0, 2.0, 4.0, 8.0, 16.0];
    for (alone, with_others) in functions {
        let truth = |p: f64, n: f64| if p == 1.0 { alone(p, n) } else { with_others(p, n) };
        for sizes in [&[300.0][..], &[300.0, 600.0, 900.0, 1200.0, 1500.0]] {
            let mut builder = ExperimentBuilder::new(["p", "n"]);
            let exchange = builder.callpath(["main", "MPI_Sendrecv"]);
            let [bytes, visits, cached, time] =
                ["bytes_sent", "visits", "cached", "time"].map(|name| builder.metric(metric(name)));
            for (i, (p, n)) in ranks.iter().flat_map(|p| sizes.iter().map(|n| (*p, *n))).enumerate() {
                let point = builder.point(&[p, n]);
                let noise = [1.0, 1.01, 0.99][i % 3];
                builder.add(exchange, bytes, point, truth(p, n));
                builder.add(exchange, visits, point, 10.0);
                builder.add(exchange, cached, point, if p == 1.0 { 0.0 } else { noise * with_others(p, n) });
                let seconds = if p == 1.0 { 1e-6 } else { 1e-5 + 1e-8 * with_others(p, n) };
                builder.add(exchange, time, point, noise * seconds);
            }
            let experiment = builder.finish();
            let fits = fit(&experiment, &Options::default());
            let model = |name: &str| the_model(&fits, &experiment, name);
            // Nothing says how it grows with what has one value.
            let far = [256.0, if sizes.len() == 1 { 300.0 } else { 9000.0 }];
            let relative = |name: &str, truth: f64| model(name).at(&far) / truth - 1.0;
            let what = || format!("{} and {}", expression(&experiment, "bytes_sent"), expression(&experiment, "time"));
            for at in [far, [2.0, 300.0], [1.0, 300.0]] {
                let (found, truth) = (model("bytes_sent").at(&at), truth(at[0], at[1]));
                assert!((found - truth).abs() <= 1e-9 * truth, "{found}, not {truth} at {at:?}: {}", what());
            }
            for (name, truth) in
                [("cached", with_others(far[0], far[1])), ("time", 1e-5 + 1e-8 * with_others(far[0], far[1]))]
            {
                assert!(relative(name, truth).abs() < 0.05, "{name}: {}, {}", relative(name, truth), what());
                let codes: Vec<&str> = model(name).warnings.iter().map(|w| w.code).collect();
                assert!(codes.contains(&modeler::warning::FIRST_VALUE), "{name}: {codes:?}");
            }
            assert_eq!(model("time").method, Method::Effort, "{}", what());
            let doubt = |at: &[f64]| modeler::report::Doubts::at(&experiment, at).of(model("time"));
            assert!(doubt(&[1.0, 300.0]).is_some_and(|told| told.starts_with("The model is of larger p than 1")));
            assert_eq!(doubt(&[2.0, 300.0]), None);
        }
    }
}

/// A count on lines along single parameters is that of their sum or of their product: its interval holds both.
#[test]
fn counts_on_a_cross_may_be_those_of_a_sum_and_of_a_product() {
    let functions: [OfTwo; 2] = [&|p, n| 100.0 + 2.0 * p * n, &|p, n| 100.0 + 600.0 * p + 8.0 * n];
    for function in functions {
        let mut builder = ExperimentBuilder::new(["p", "n"]);
        let (callpath, blocks) = (builder.callpath(["solve"]), builder.metric(metric("basic_blocks")));
        let lines = P.map(|p| [p, N[0]]).into_iter().chain(N[1..].iter().map(|n| [P[0], *n]));
        for x in lines {
            let point = builder.point(&x);
            builder.add(callpath, blocks, point, function(x[0], x[1]));
        }
        let experiment = builder.finish();
        let model = &fit(&experiment, &Options::default()).models[0];
        let prediction = model.predict(&[64.0, 4000.0], 0.9);
        let (lower, upper) = (prediction.lower * (1.0 - 1e-9), prediction.upper * (1.0 + 1e-9));
        let truth = function(64.0, 4000.0);
        assert!(
            lower <= truth && truth <= upper,
            "{truth}: {prediction:?}, {}",
            expression(&experiment, "basic_blocks")
        );
        // On its line nothing is open.
        let on_line = model.predict(&[64.0, N[0]], 0.9);
        assert!(on_line.upper - on_line.lower <= 1e-9 * on_line.value, "{on_line:?}");
    }
}

/// A sum of functions of one parameter each is near no product, so that a search that only continues the best products misses it.
#[test]
fn times_that_add_up_come_back_without_effort() {
    let sums: [(OfTwo, &str); 4] = [
        (&|p, n| p * p + n, "n + p^2"),
        (&|p, n| 5.0 * p + 0.001 * n * n, "5 * p + 0.001 * n^2"),
        (&|p, n| 40.0 * p.log2() + n.sqrt(), "40 * log2(p) + n^(1/2)"),
        (&|p, n| 1000.0 + 300.0 * p.sqrt() + 2.0 * n, "1000 + 300 * p^(1/2) + 2 * n"),
    ];
    for (seconds, expected) in sums {
        let experiment = over_p_and_n("solve", &[("time", seconds)]);
        let fits = fit(&experiment, &Options::default());
        let model = the_model(&fits, &experiment, "time");
        let (found, truth) = (model.at(&[128.0, 4000.0]), seconds(128.0, 4000.0));
        let terms = if expected.starts_with("1000") { (2, 1000.0) } else { (2, 0.0) };
        assert_eq!(model.terms.len(), terms.0, "{expected}: {}", expression(&experiment, "time"));
        assert!((model.constant - terms.1).abs() < 1e-6 * truth, "{expected}: {}", expression(&experiment, "time"));
        assert!((found / truth - 1.0).abs() < 1e-9, "{expected}: {}", expression(&experiment, "time"));
    }
}

#[test]
fn time_takes_its_shape_from_the_blocks() {
    let blocks = |p: f64, n: f64| 4.0 + 3.0 * n + 2.0 * n * p.log2();
    let seconds = |p: f64, n: f64| 1e-9 * (4.0 + 3.0 * n + 2.0 * n * p.log2());
    let experiment = over_p_and_n("solve", &[("basic_blocks", &blocks), ("time", &seconds)]);
    let fits = fit(&experiment, &Options::default());
    let model = the_model(&fits, &experiment, "time");
    assert_eq!((model.method, model.kind), (Method::Effort, Kind::Computation));
    assert_eq!(model.effort_metric, experiment.metric("basic_blocks", None));
    let prediction = model.predict(&[64.0, 2000.0], 0.9);
    assert!((prediction.value / seconds(64.0, 2000.0) - 1.0).abs() < 1e-9);
    assert_eq!(model.growth[0], Growth { exponent: Exponent::from_integer(0), log_exponent: 1 });
    assert_eq!(model.growth[1], Growth { exponent: Exponent::from_integer(1), log_exponent: 0 });
}

#[test]
fn allreduce_splits_into_latency_and_bandwidth() {
    let experiment = over_p_and_n(
        "MPI_Allreduce",
        &[
            ("visits", &|_, _| 10.0),
            ("bytes_sent", &|_, n| 80.0 * n),
            ("bytes_received", &|_, n| 80.0 * n),
            ("comm_size", &|p, _| p),
            ("time", &|p, n| 3e-5 * p.log2() + 2e-9 * 80.0 * n),
        ],
    );
    let fits = fit(&experiment, &Options::default());
    let model = the_model(&fits, &experiment, "time");
    assert_eq!(model.kind, Kind::Communication);
    let roles: Vec<_> = model.terms.iter().map(|t| t.role).collect();
    use modeler::model::Role::{Bandwidth, Latency, Reduction};
    assert_eq!(roles, [Latency, Bandwidth, Reduction]);
    // The data hold no arithmetic, which stays visible with a coefficient of zero.
    assert_eq!(model.terms[2].coefficient, 0.0);
    assert!((model.terms[0].coefficient / 3e-5 - 1.0).abs() < 1e-6, "{:?}", model.terms);
    assert!((model.terms[1].coefficient / 1.6e-7 - 1.0).abs() < 1e-6, "{:?}", model.terms);
    assert_eq!(model.expression(&experiment.parameters).matches("log2(p)").count(), 1);
}

#[test]
fn growth_that_the_times_do_not_show_is_not_shown() {
    let experiment = over_p_and_n(
        "MPI_Waitall",
        &[
            ("visits", &|_, _| 10.0),
            ("bytes_sent", &|_, n| 80.0 * n),
            ("bytes_received", &|_, n| 80.0 * n),
            ("time", &|_, _| 4.8e-5),
        ],
    );
    let fits = fit(&experiment, &Options::default());
    let model = the_model(&fits, &experiment, "time");
    assert!(model.terms.iter().any(|t| t.coefficient == 0.0 && !t.factors.is_empty()), "{:?}", model.terms);
    assert!((model.at(&[32.0, 1e6]) / 4.8e-5 - 1.0).abs() < 1e-6, "{:?}", model.terms);
    assert_eq!(modeler::report::shape(&experiment.parameters, model), "constant");
    assert!(model.shown_growth().iter().all(|g| (g.exponent, g.log_exponent) == (Exponent::from_integer(0), 0)));
    // What the bytes say stays known.
    assert_eq!(model.growth[1].exponent, Exponent::from_integer(1));
}

#[test]
fn constant_effort_means_constant_time() {
    let noise = [1.0, 1.05, 0.98, 1.02, 1.01];
    let time = |p: f64| 0.5 * noise[p.log2() as usize - 1];
    let experiment = over_p("setup", &[("basic_blocks", &|_| 100.0), ("time", &time)]);
    let fits = fit(&experiment, &Options::default());
    let model = the_model(&fits, &experiment, "time");
    assert!(model.terms.is_empty());
    assert!((model.constant - 0.5).abs() < 0.02);
}

#[test]
fn only_the_value_over_ranks_that_was_asked_for_is_modelled() {
    let mut builder = ExperimentBuilder::new(["p"]);
    let callpath = builder.callpath(["main"]);
    for over in [OverRanks::Mean, OverRanks::Maximum] {
        let metric = builder.metric(Metric { over_ranks: Some(over), ..metric("time") });
        for p in P {
            let point = builder.point(&[p]);
            builder.add(callpath, metric, point, 2.0 * p);
        }
    }
    let experiment = builder.finish();
    let options = Options { over_ranks: OverRanks::Maximum, ..Options::default() };
    let fits = fit(&experiment, &options);
    let metrics: Vec<_> = fits.models.iter().map(|m| experiment.metrics[m.metric as usize].over_ranks).collect();
    assert_eq!(metrics, [Some(OverRanks::Maximum)]);
}

/// Times with up to 75 % of one-sided noise and 3 % of background.
fn noisy(rng: &mut StdRng, seconds: f64) -> f64 {
    seconds * (1.0 + 0.75 * rng.random::<f64>()) * (1.0 + 0.05 * (rng.random::<f64>() - 0.5))
}

#[test]
fn growth_is_the_efforts_whatever_noise_does_to_the_coefficients() {
    let grows = |exponent, log_exponent| Growth { exponent: Exponent::from_integer(exponent), log_exponent };
    for seed in 0..60 {
        let rng = RefCell::new(StdRng::seed_from_u64(seed));
        // At the largest point latency and bandwidth are 15 and 1 microseconds, or 1 and 8.
        for (alpha, beta) in [(3e-6, 1.25e-10), (2e-7, 1e-9)] {
            let time = |p: f64, n: f64| noisy(&mut rng.borrow_mut(), alpha * p.log2() + beta * 8.0 * n);
            let metrics: [(&str, OfTwo); 4] = [
                ("visits", &|_, _| 1.0),
                ("bytes_received", &|_, n| 8.0 * n),
                ("comm_size", &|p, _| p),
                ("time", &time),
            ];
            let experiment = over_p_and_n("MPI_Bcast", &metrics);
            let fits = fit(&experiment, &Options::default());
            let model = the_model(&fits, &experiment, "time");
            assert_eq!(model.growth, [grows(0, 1), grows(1, 0)], "{}", model.expression(&experiment.parameters));
            assert_eq!(model.terms.len(), 2, "{:?}", model.terms);
            let shown = model.terms.iter().filter(|t| t.coefficient != 0.0).count();
            let products = model.expression(&experiment.parameters).matches('*').count();
            assert_eq!(products, shown);
        }
    }
}

#[test]
fn times_that_speak_clearly_for_another_algorithm_are_believed() {
    // A root that sends to one after the other: 2 and 0.2 microseconds for each level of a tree and each other rank.
    let linear = |p: f64| 2e-6 * p.log2() + 2e-7 * (p - 1.0);
    // Bruck's algorithm, whose 8 n bytes go through log2(p) exchanges, of short blocks and of long ones.
    let bruck = |p: f64, n: f64| 1e-6 * p.log2() + 1e-9 * 8.0 * n * p.log2();
    let predicted = |name: &str, bytes: OfTwo, time: OfTwo, x: [f64; 2]| {
        let metrics: [(&str, OfTwo); 4] =
            [("visits", &|_, _| 1.0), ("bytes_sent", bytes), ("bytes_received", bytes), ("time", time)];
        let experiment = over_p_and_n(name, &metrics);
        let fits = fit(&experiment, &Options::default());
        the_model(&fits, &experiment, "time").at(&x)
    };
    let close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-6;
    let (few, many): (OfTwo, OfTwo) = (&|_, n| 8.0 * n, &|_, n| 8e3 * n);
    assert!(close(predicted("MPI_Scatter", few, &|p, _| linear(p), [512.0, 1000.0]), linear(512.0)));
    assert!(close(predicted("MPI_Alltoall", few, &bruck, [512.0, 2000.0]), bruck(512.0, 2000.0)));
    let of_long = |p: f64, n: f64| bruck(p, 1e3 * n);
    assert!(close(predicted("MPI_Alltoall", many, &of_long, [512.0, 2000.0]), of_long(512.0, 2000.0)));
    // Noise does not speak clearly.
    for seed in 0..20 {
        let rng = RefCell::new(StdRng::seed_from_u64(seed));
        let tree = |p: f64, _: f64| 2e-6 * p.log2() * rng.borrow_mut().random_range(0.9..1.1);
        let found = predicted("MPI_Scatter", few, &tree, [512.0, 1000.0]);
        assert!((found / (2e-6 * 9.0) - 1.0).abs() < 0.1, "{found}");
    }
}

#[test]
fn a_small_part_of_a_count_is_no_growth_of_its_time() {
    // n log2(p) is below 1 % of the count at the largest point, so the time grows with n^2 and not with p.
    let blocks = |p: f64, n: f64| n * n + n * p.log2();
    let rng = RefCell::new(StdRng::seed_from_u64(5));
    let time = |p: f64, n: f64| noisy(&mut rng.borrow_mut(), 1e-9 * blocks(p, n));
    let experiment = over_p_and_n("solve", &[("basic_blocks", &blocks), ("time", &time)]);
    let fits = fit(&experiment, &Options::default());
    let growth = &the_model(&fits, &experiment, "time").growth;
    assert_eq!(growth[0], Growth { exponent: Exponent::from_integer(0), log_exponent: 0 });
    assert_eq!(growth[1], Growth { exponent: Exponent::from_integer(2), log_exponent: 0 });
}

/// Means over ranks of what all ranks but one do, at few and small numbers of ranks, of which one alone may have nothing to do.
#[test]
fn the_share_of_all_ranks_but_one_is_found_at_few_numbers_of_ranks() {
    let counts = |times: f64, ranks: &[f64]| {
        let mut builder = ExperimentBuilder::new(["p", "n"]);
        let (callpath, visits) = (builder.callpath(["main", "MPI_Recv"]), builder.metric(metric("visits")));
        for &p in ranks {
            for n in N {
                let point = builder.point(&[p, n]);
                builder.add(callpath, visits, point, times * (p - 1.0) / p);
            }
        }
        builder.finish()
    };
    let cases: [(f64, &[f64], &str); 4] = [
        (5.0, &[2.0, 3.0, 4.0], "5 * (p-1)/p"),
        (6.0, &[2.0, 3.0, 4.0, 5.0], "6 * (p-1)/p"),
        // A third has no digits that end, and what is zero at one rank could be many functions.
        (4.0, &[1.0, 2.0, 3.0, 4.0], "4 * (p-1)/p"),
        (5.0, &[1.0, 2.0, 3.0, 4.0], "5 * (p-1)/p"),
    ];
    for (times, ranks, expected) in cases {
        assert_eq!(expression(&counts(times, ranks), "visits"), expected, "{ranks:?}");
    }
}

/// Times of repetitions that agree within 3 %, at points that a function of the blocks misses by a third either way.
#[test]
fn what_repetitions_share_is_no_noise() {
    const EITHER_WAY: u32 = 0b1_0110_0101_1100_1010_0011_0110;
    let mut builder = ExperimentBuilder::new(["p", "n"]);
    let callpath = builder.callpath(["main", "solve"]);
    let [blocks, time] = ["basic_blocks", "time"].map(|name| builder.metric(metric(name)));
    let rng = &mut StdRng::seed_from_u64(21);
    let (mut logs, mut k) = (0.0, 0);
    for p in P {
        for n in N {
            let point = builder.point(&[p, n]);
            builder.add(callpath, blocks, point, 1000.0 * n);
            let off: f64 = if EITHER_WAY >> k & 1 == 1 { 0.75 } else { 1.0 / 0.75 };
            (logs, k) = (logs + off.ln(), k + 1);
            for _ in 0..4 {
                builder.add(callpath, time, point, 1e-3 * n * off * (1.0 + 0.03 * rng.random::<f64>()));
            }
        }
    }
    let experiment = builder.finish();
    let fits = fit(&experiment, &Options::default());
    let model = the_model(&fits, &experiment, "time");
    // The geometric mean of all quotients, with half of the noise.
    let quotient = model.at(&[8.0, 600.0]) / (0.6 * (logs / f64::from(k)).exp() * 1.015);
    assert!((quotient - 1.0).abs() < 0.08, "{quotient}");
    // Either way is within the interval, and little beyond is.
    let prediction = model.predict(&[8.0, 600.0], 0.9);
    assert!(prediction.lower < 0.6 * 0.75 && prediction.upper > 0.6 / 0.75, "{prediction:?}");
    assert!(prediction.lower > 0.6 * 0.5 && prediction.upper < 0.6 / 0.5, "{prediction:?}");
}

/// One rank takes time, too; a function that is zero there misses all of it.
#[test]
fn a_time_at_one_rank_is_not_left_out_of_an_operations_cost() {
    let mut builder = ExperimentBuilder::new(["p", "n"]);
    let callpath = builder.callpath(["main", "MPI_Barrier"]);
    let [visits, time] = ["visits", "time"].map(|name| builder.metric(metric(name)));
    for p in [1.0_f64, 8.0, 27.0] {
        for n in N {
            let point = builder.point(&[p, n]);
            builder.add(callpath, visits, point, 1.0);
            for run in 0..3 {
                let noise = ((3.0 * p + 7.0 * (n / 200.0) + 5.0 * f64::from(run)) % 5.0) / 4.0;
                let seconds = if p == 1.0 { 0.3 * (1.0 + 6.0 * noise) } else { p.log2() * (1.0 + noise) };
                builder.add(callpath, time, point, seconds);
            }
        }
    }
    let experiment = builder.finish();
    let fits = fit(&experiment, &Options::default());
    let at_one = the_model(&fits, &experiment, "time").at(&[1.0, 600.0]);
    assert!((0.3..2.1).contains(&at_one), "measured from 0.3 to 2.1 s: {at_one}");
}

/// Three summands, of which the trips of one are no whole numbers.
#[test]
fn counts_of_three_summands_along_one_line_come_back() {
    let mut builder = ExperimentBuilder::new(["p"]);
    let blocks = builder.metric(metric("basic_blocks"));
    let callpath = builder.callpath(["main", "exchange"]);
    for p in (0..=8).map(|i| 2.0_f64.powi(i)) {
        let point = builder.point(&[p]);
        builder.add(callpath, blocks, point, 1_048_576.0 / p + 3.0 * p + 100.0 * p.log2());
    }
    let experiment = builder.finish();
    let fits = fit(&experiment, &Options::default());
    let found = the_model(&fits, &experiment, "basic_blocks").expression(&experiment.parameters);
    assert_eq!(found, "1048576 * p^(-1) + 100 * log2(p) + 3 * p");
}

/// Counts that vary by chance, as of iterations until something converges, have no function; times that follow them grow as they do.
#[test]
fn times_follow_counts_that_no_function_gives() {
    let line = |x: [f64; 2], metric: &str, value: f64| {
        let [p, n] = x;
        format!(r#"{{"params":{{"p":{p},"n":{n}}},"callpath":"f","metric":"{metric}","value":{value}}}"#) + "\n"
    };
    let models = |points: &[([f64; 2], f64)]| {
        let text: String = points
            .iter()
            .flat_map(|(x, count)| [line(*x, "basic_blocks", *count), line(*x, "time", 1e-3 * count)])
            .collect();
        let input = modeler::formats::read_bytes("lines.jsonl", text.into(), &Default::default()).unwrap();
        modeler::fit(&input.experiment, &modeler::Options::default()).models
    };
    // 100000/p, 2 % more or less.
    let falling = [(2.0, 51_000.0), (4.0, 24_500.0), (8.0, 12_750.0), (16.0, 6_125.0)].map(|(p, y)| ([p, 100.0], y));
    let [count, time] = &models(&falling)[..] else { panic!("two models") };
    for (model, scale) in [(count, 1.0), (time, 1e-3)] {
        assert_eq!(model.growth[0].exponent, (-1).into(), "{model:?}");
        assert!((model.at(&[32.0, 100.0]) / (scale * 3125.0) - 1.0).abs() < 0.05, "{model:?}");
        assert!(model.warnings.iter().any(|warning| warning.code == "W007"), "{:?}", model.warnings);
    }
    // Steps of 1 to 3.3 that no function follows.
    let counts = [(2.0, 1.0), (4.0, 3.3), (8.0, 4.4), (16.0, 13.0), (32.0, 16.0)];
    let steps: Vec<([f64; 2], f64)> =
        counts.iter().flat_map(|&(p, y)| [100.0, 200.0, 300.0, 400.0, 500.0].map(|n| ([p, n], 1e3 * n * y))).collect();
    let [_, time] = &models(&steps)[..] else { panic!("two models") };
    for (x, count) in &steps {
        let ratio = time.at(x) / (1e-3 * count);
        assert!((0.5..2.0).contains(&ratio), "{x:?}: {ratio}, {time:?}");
    }
}
