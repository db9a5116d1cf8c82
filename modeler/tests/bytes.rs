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
