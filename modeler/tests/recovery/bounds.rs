//! Bounds of loops are rounded, and the shares of ranks with them; the functions before rounding come back.

use super::{OfTwo, blocks_of_n_and_p, expression, metric, the_model};
use modeler::experiment::ExperimentBuilder;
use modeler::{Options, fit};

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
