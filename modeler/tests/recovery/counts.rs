//! Counts of loops, of messages and of bytes are given exactly by sums of few products.

use super::{N, OfTwo, P, blocks_of_n_and_p, expression, metric, over_p, over_p_and_n, the_model};
use modeler::experiment::ExperimentBuilder;
use modeler::model::{Exponent, Growth};
use modeler::{Experiment, Options, fit};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::cell::RefCell;

#[test]
fn sums_and_products_of_counts_come_back() {
    assert_eq!(blocks_of_n_and_p(&|p, n| 4.0 + 3.0 * n + 2.0 * n * p.log2().floor()), "4 + 2 * log2(p) * n + 3 * n");
    assert_eq!(blocks_of_n_and_p(&|p, n| 7.0 * p * n), "7 * p * n");
    assert_eq!(blocks_of_n_and_p(&|p, n| n * n + 5.0 * n + p), "p + 5 * n + n^2");
    assert_eq!(blocks_of_n_and_p(&|_, _| 12.0), "12");
    assert_eq!(blocks_of_n_and_p(&|p, n| 2.0 * n * (p - 1.0) + 3.0), "3 + 2 * p * n - 2 * n");
    assert_eq!(blocks_of_n_and_p(&|p, n| 10.0 * n + 3.0 * n / p), "3 * p^(-1) * n + 10 * n");
}

/// The faces of domains that ranks share out shrink with p as what goes over all ranks grows: no line falls.
#[test]
fn what_falls_beside_something_that_grows_as_much_is_found() {
    let bytes = |of: OfTwo| {
        let mut builder = ExperimentBuilder::new(["p", "n"]);
        let (path, bytes) = (builder.callpath(["main", "MPI_Send"]), builder.metric(metric("bytes_sent")));
        for p in (0..5).map(|k| 128.0 * f64::from(1 << k)) {
            for n in (1..=5).map(|k| 8000.0 * f64::from(k)) {
                let point = builder.point(&[p, n]);
                builder.add(path, bytes, point, of(p, n).round());
            }
        }
        let measured = builder.finish();
        let fits = fit(&measured, &Options::default());
        fits.models[0].at(&[65536.0, 1e6])
    };
    let sums: [OfTwo; 3] = [
        &|p, n| 640.0 * (n / p).powf(2.0 / 3.0) + 1024.0 * p,
        &|p, n| 304.0 * p.log2() * n.sqrt() + 3886.0 * (n / p).powf(2.0 / 3.0),
        &|p, n| 304.0 * p.log2() * n.sqrt() + 3000.0 * (n / p).powf(0.75),
    ];
    for (i, of) in sums.into_iter().enumerate() {
        let off = bytes(of) / of(65536.0, 1e6) - 1.0;
        assert!(off.abs() < 1e-4, "{i}: {off}");
    }
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

/// With three values of p and no full grid, rounding a factor of p up or down gives nearly any three values.
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

/// Two products of p and n.
type Products = fn(f64, f64) -> [f64; 2];

/// Sums of products with any coefficients, rounded as a whole: those with whole coefficients come back exactly, others to within what rounding
/// leaves.
#[test]
fn functions_that_are_rounded_as_a_whole_come_back() {
    let of = |c: [f64; 2], f: Products| {
        let experiment = on_large_grid(|p, n| {
            let [a, b] = f(p, n);
            (c[0] * a + c[1] * b).round()
        });
        let fits = fit(&experiment, &Options::default());
        let model = the_model(&fits, &experiment, "bytes_sent").clone();
        let [a, b] = f(4096.0, 48000.0);
        (model.expression(&experiment.parameters), model.at(&[4096.0, 48000.0]) / (c[0] * a + c[1] * b) - 1.0)
    };
    let whole: [([f64; 2], Products, &str); 5] = [
        ([880.0, 0.0], |p, n| [n / p.sqrt(), 0.0], "880 * p^(-1/2) * n"),
        ([368.0, 0.0], |p, n| [p.log2() * n / p, 0.0], "368 * p^(-1) * log2(p) * n"),
        ([720.0, 0.0], |p, n| [(n / p).powf(2.0 / 3.0), 0.0], "720 * p^(-2/3) * n^(2/3)"),
        ([80.0, 592.0], |p, n| [p.log2() * n.sqrt(), p.log2() * n], "80 * log2(p) * n^(1/2) + 592 * log2(p) * n"),
        (
            [336.0, 1024.0],
            |p, n| [(n / p).powf(2.0 / 3.0), p.log2().powi(2) * n],
            "336 * p^(-2/3) * n^(2/3) + 1024 * log2(p)^2 * n",
        ),
    ];
    for (c, f, expected) in whole {
        let (expression, off) = of(c, f);
        assert!(expression == expected && off.abs() < 1e-15, "{expression} is off by {off}");
    }
    let broken: [([f64; 2], Products); 3] = [
        ([1418.0224327, 0.0], |_, n| [n.powf(0.75), 0.0]),
        ([2489.8517304, 688.0], |p, n| [n, p * p * n]),
        ([0.0006, 31.7], |p, n| [n.powf(1.5), p.powf(0.75)]),
    ];
    for (c, f) in broken {
        let (expression, off) = of(c, f);
        assert!(off.abs() < 1e-4, "{c:?}: {expression} is off by {off}");
    }
}

/// Bytes on 5 x 5 points of large parameters.
fn on_large_grid(of: impl Fn(f64, f64) -> f64) -> Experiment {
    let mut builder = ExperimentBuilder::new(["p", "n"]);
    let callpath = builder.callpath(["main", "MPI_Send"]);
    let bytes = builder.metric(metric("bytes_sent"));
    for p in [128.0, 256.0, 512.0, 1024.0, 2048.0] {
        for n in [8000.0, 16000.0, 24000.0, 32000.0, 40000.0] {
            let point = builder.point(&[p, n]);
            builder.add(callpath, bytes, point, of(p, n));
        }
    }
    builder.finish()
}

/// `20 + y` at 10 to 50 is ten times the rounded root, too, and `1 + y` at odd values twice the rounded half.
#[test]
fn whole_powers_are_taken_before_bounds_that_are_rounded_to_the_same() {
    let along = |values: [f64; 5], of: fn(f64) -> f64| {
        let mut builder = ExperimentBuilder::new(["y"]);
        let callpath = builder.callpath(["main", "loop"]);
        let visits = builder.metric(metric("visits"));
        for y in values {
            let point = builder.point(&[y]);
            builder.add(callpath, visits, point, of(y));
        }
        let experiment = builder.finish();
        let fits = fit(&experiment, &Options::default());
        the_model(&fits, &experiment, "visits").expression(&experiment.parameters)
    };
    let tens = [10.0, 20.0, 30.0, 40.0, 50.0];
    assert_eq!(along(tens, |y| 20.0 + y), "20 + y");
    assert_eq!(along(tens, |y| 30.0 + y), "30 + y");
    assert_eq!(along([25.0, 30.0, 35.0, 40.0, 45.0], |y| 15.0 + 2.0 * y), "15 + 2 * y");
    assert_eq!(along([3.0, 5.0, 7.0, 9.0, 11.0], |y| 1.0 + y), "1 + y");
    assert_eq!(along([3.0, 5.0, 7.0, 9.0, 11.0], |y| y * y + y), "y + y^2");
}

/// Of factors that two values do not tell apart the simplest and then the power, also where a logarithm is zero at one of them.
#[test]
fn of_two_values_the_simplest_factor_is_taken() {
    let of = |name: &str, values: [f64; 2], f: fn(f64, f64) -> f64| {
        let mut builder = ExperimentBuilder::new(["p", "n"]);
        let callpath = builder.callpath(["main", "loop"]);
        let metric = builder.metric(metric(name));
        for p in values {
            for n in N {
                let point = builder.point(&[p, n]);
                builder.add(callpath, metric, point, f(p, n));
            }
        }
        let experiment = builder.finish();
        let fits = fit(&experiment, &Options::default());
        the_model(&fits, &experiment, name).expression(&experiment.parameters)
    };
    for name in ["time", "basic_blocks"] {
        assert_eq!(of(name, [2.0, 4.0], |p, n| 7.0 * p * n), "7 * p * n", "{name}");
    }
    assert_eq!(of("time", [1.0, 9.0], |p, n| 0.5 * p.sqrt() * n), "0.5 * p^(1/2) * n");
    assert_eq!(of("time", [1.0, 8.0], |p, n| 0.5 * p.cbrt() * n), "0.5 * p^(1/3) * n");
    assert_eq!(of("time", [1.0, 4.0], |p, n| 0.5 * p.powf(1.5) * n), "0.5 * p^(3/2) * n");
}
