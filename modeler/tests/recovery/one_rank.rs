//! What one rank does, or too few values of a parameter show, hides nothing of what others do.

use super::{N, OfTwo, expression, metric, the_model};
use modeler::experiment::ExperimentBuilder;
use modeler::model::Method;
use modeler::{Options, fit};

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
