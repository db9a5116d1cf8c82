//! Bytes at their edges. In a halo exchange over a line of ranks the ends have one neighbour and the others two, so the
//! largest number of bytes is a step in the number of ranks, while the mean is a function of it.

use modeler::experiment::{ExperimentBuilder, Metric, OverRanks};
use modeler::{Options, fit};

const RANKS: [f64; 5] = [2.0, 4.0, 8.0, 16.0, 32.0];
const SIZES: [f64; 5] = [100.0, 200.0, 300.0, 400.0, 500.0];

#[test]
fn the_bytes_that_are_a_function_of_the_ranks_give_the_shape() {
    let mut builder = ExperimentBuilder::new(["p", "n"]);
    let mut metric =
        |name: &str, over| builder.metric(Metric { name: name.into(), unit: String::new(), over_ranks: Some(over) });
    let time = metric("time", OverRanks::Mean);
    let [mean, largest] = [OverRanks::Mean, OverRanks::Maximum].map(|over| metric("bytes_received", over));
    let visits = metric("visits", OverRanks::Mean);
    let callpath = builder.callpath(["main", "MPI_Sendrecv"]);
    for p in RANKS {
        for n in SIZES {
            let point = builder.point(&[p, n]);
            // 20 steps of two messages of n doubles, but for the outer sides of the first and the last rank.
            let by_rank = |r: f64| 160.0 * n * (if r > 0.0 { 1.0 } else { 0.0 } + if r < p - 1.0 { 1.0 } else { 0.0 });
            let bytes: Vec<f64> = (0..p as u32).map(|r| by_rank(f64::from(r))).collect();
            let average = bytes.iter().sum::<f64>() / p;
            builder.add(callpath, mean, point, average);
            builder.add(callpath, largest, point, bytes.iter().fold(0.0, |a: f64, b| a.max(*b)));
            builder.add(callpath, visits, point, 40.0);
            builder.add(callpath, time, point, 1e-6 + 5e-9 * average);
        }
    }
    let experiment = builder.finish();
    let fits = fit(&experiment, &Options::default());
    let model = fits.models.iter().find(|m| m.metric == time).unwrap();
    assert_eq!(model.effort_metric, Some(mean));
    // At 1024 ranks a rank receives 320 n (1 - 1/p) bytes on average.
    let expected = 1e-6 + 5e-9 * 320.0 * 1000.0 * (1.0 - 1.0 / 1024.0);
    assert!(
        (model.at(&[1024.0, 1000.0]) / expected - 1.0).abs() < 1e-3,
        "{}",
        model.expression(&experiment.parameters)
    );
}

#[test]
fn a_count_that_is_zero_everywhere_has_no_noise() {
    let mut builder = ExperimentBuilder::new(["p"]);
    let bytes = builder.metric(Metric { name: "bytes_sent".into(), unit: "bytes".into(), over_ranks: None });
    let callpath = builder.callpath(["main", "MPI_Init"]);
    for p in RANKS {
        let point = builder.point(&[p]);
        builder.add(callpath, bytes, point, 0.0);
    }
    let fits = fit(&builder.finish(), &Options::default());
    assert_eq!(fits.models[0].quality.noise, Some(0.0));
    assert!(fits.models[0].warnings.iter().all(|w| w.code != "W010"));
}

/// LULESH's ranks form a cube, and one rank alone has no neighbours, so that messages are counted at two numbers of ranks.
#[test]
fn bytes_at_two_numbers_of_ranks_grow_with_them() {
    // Faces, edges and corners of a cube of n^3 elements that have a neighbour, on average over the ranks of a cube of side s, each of
    // its three dimensions for itself: (s - 1)/s of the ranks have one on either side.
    let bytes = |p: f64, n: f64| {
        let inside = 1.0 - 1.0 / p.cbrt();
        10.0 * 3.0 * 8.0 * (6.0 * inside * (n + 1.0).powi(2) + 12.0 * inside.powi(2) * (n + 1.0) + 8.0 * inside.powi(3))
    };
    let mut builder = ExperimentBuilder::new(["p", "n"]);
    let metric = |name: &str| Metric { name: name.into(), unit: String::new(), over_ranks: Some(OverRanks::Mean) };
    let [sent, visits] = ["bytes_sent", "visits"].map(|name| builder.metric(metric(name)));
    let callpath = builder.callpath(["main", "MPI_Isend"]);
    for (p, calls) in [(8.0, 700.0), (27.0, 1_188.0)] {
        for n in [4.0, 6.0, 8.0, 10.0, 12.0].into_iter().filter(|&n| (p, n) != (27.0, 12.0)) {
            let point = builder.point(&[p, n]);
            builder.add(callpath, sent, point, bytes(p, n));
            builder.add(callpath, visits, point, calls);
        }
    }
    let fits = fit(&builder.finish(), &Options::default());
    let of = |metric| fits.models.iter().find(|m| m.metric == metric).unwrap();
    // Exact with 27 ranks, whose 4, 6, 8 and 10 determine the three terms that those of 8 ranks have; near them there.
    for (model, p, n, value, limit) in [
        (of(sent), 27.0, 12.0, bytes(27.0, 12.0), 1e-9),
        (of(sent), 8.0, 12.0, bytes(8.0, 12.0), 0.05),
        (of(visits), 27.0, 12.0, 1_188.0, 1e-9),
        (of(visits), 8.0, 12.0, 700.0, 0.08),
    ] {
        let off = model.at(&[p, n]) / value - 1.0;
        assert!(off.abs() < limit, "{p}, {n}: {off}");
    }
    for model in [of(sent), of(visits)] {
        assert!(model.at(&[4096.0, 12.0]) > model.at(&[64.0, 12.0]), "what rose goes on rising");
        let told = model.warnings.iter().find(|w| w.code == "W007").expect("two values are told");
        assert!(told.message.starts_with("p has two values here"), "{}", told.message);
    }
}

/// With 8 ranks a function of n, with 27 another that has a term more: no simple factor of the ranks makes one of the other.
#[test]
fn different_functions_at_two_numbers_of_ranks_are_not_joined() {
    let mut builder = ExperimentBuilder::new(["p", "n"]);
    let blocks = builder.metric(Metric { name: "basic_blocks".into(), unit: String::new(), over_ranks: None });
    let callpath = builder.callpath(["main", "solve"]);
    for n in SIZES {
        for (p, more) in [(8.0, 0.0), (27.0, n * n)] {
            let point = builder.point(&[p, n]);
            builder.add(callpath, blocks, point, 10.0 + 5.0 * n + more);
        }
    }
    let fits = fit(&builder.finish(), &Options::default());
    // Twice the largest values; the steepest factor would say 10^5 times as much as there is.
    let (at, largest) = (fits.models[0].at(&[54.0, 1000.0]), 10.0 + 5.0 * 1000.0 + 1000.0 * 1000.0);
    assert!(at < 20.0 * largest, "{at}");
}
