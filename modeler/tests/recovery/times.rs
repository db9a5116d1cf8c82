//! Times take their shape from counts, and noise changes coefficients only.

use super::{N, OfTwo, P, expression, metric, over_p, over_p_and_n, the_model};
use modeler::experiment::{ExperimentBuilder, Metric, OverRanks};
use modeler::model::{Exponent, Growth, Kind, Method};
use modeler::{Options, fit};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::cell::RefCell;

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
