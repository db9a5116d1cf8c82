//! What repetitions tell: noise, shapes, and the undisturbed time.

use super::{RANKS, SIZES, experiment, grid};
use modeler::experiment::{ExperimentBuilder, Metric};
use modeler::model::Growth;
use modeler::{Options, fit};
use rand::{RngExt, SeedableRng, rngs::StdRng};

/// Repetitions tell the noise and are not what the undisturbed time is modelled as: neither are means and medians of disturbed ones.
#[test]
fn repeated_times_are_modelled_undisturbed_too() {
    let rng = &mut StdRng::seed_from_u64(7);
    let truth = |x: &[f64]| 1e-3 * x[0].sqrt() * x[1];
    for repetitions in [2, 5] {
        let mut measure = |x: &[f64]| truth(x) * rng.random_range(0.97..1.03) * rng.random_range(1.0..1.75);
        let measured = experiment(&grid(&[&RANKS, &SIZES]), &[repetitions], &mut measure);
        let model = &fit(&measured, &Options::default()).models[0];
        let off = model.at(&[64.0, 600.0]) / truth(&[64.0, 600.0]) - 1.0;
        assert!(off.abs() < 0.1, "{repetitions}: {off}, {}", model.expression(&measured.parameters));
    }
}

/// Half of the measurements are disturbed, by up to three quarters. The lower ends of five repetitions tell the shape, also of few values
/// of one parameter, where the middle ones tell of many functions another.
#[test]
fn shapes_of_few_repeated_times_are_those_of_their_lower_ends() {
    let rng = &mut StdRng::seed_from_u64(17);
    type Function = fn(f64) -> f64;
    let functions: [(Function, i32, i32); 5] = [
        (|_| 0.8, 0, 0),
        (|p| 0.1 * p, 1, 0),
        (|p| 0.3 * p.log2(), 0, 1),
        (|p| 0.02 * p * p, 2, 0),
        (|p| 0.5 + 0.05 * p, 1, 0),
    ];
    let (mut right, mut close) = (0, 0);
    for (seconds, power, logarithm) in functions.iter().cycle().take(50) {
        let mut measure = |x: &[f64]| {
            let disturbed = if rng.random::<bool>() { rng.random_range(1.0..1.75) } else { 1.0 };
            seconds(x[0]) * disturbed * rng.random_range(0.99..1.01)
        };
        let measured = experiment(&grid(&[&RANKS]), &[5], &mut measure);
        let model = &fit(&measured, &Options::default()).models[0];
        let growth = Growth { exponent: (*power).into(), log_exponent: *logarithm };
        right += usize::from(model.growth == [growth]);
        close += usize::from((model.at(&[128.0]) / seconds(128.0) - 1.0).abs() < 0.1);
    }
    assert!(right >= 38 && close >= 38, "{right} and {close} of 50");
}

/// Times that fall and then rise, as those of a solver do whose communication takes over, look like a constant to every product. Five
/// repetitions that scatter by 2 % tell that they are none.
#[test]
fn repetitions_tell_that_a_function_of_one_parameter_is_another() {
    let rng = &mut StdRng::seed_from_u64(19);
    let truth = |p: f64| 10.0 / p + p.log2();
    let doubling: Vec<f64> = (1..=6).map(|i| 2.0_f64.powi(i)).collect();
    let mut close = 0;
    for _ in 0..20 {
        let mut measure = |x: &[f64]| truth(x[0]) * rng.random_range(0.965..1.035);
        let measured = experiment(&grid(&[&doubling]), &[5], &mut measure);
        let model = &fit(&measured, &Options::default()).models[0];
        let expression = model.expression(&measured.parameters);
        assert_eq!(model.terms.len(), 2, "{expression}");
        close += usize::from((model.at(&[256.0]) / truth(256.0) - 1.0).abs() < 0.1);
    }
    assert!(close >= 15, "{close} of 20");
}

/// Repetitions tell how far noise moves values: no term is found in less than that.
#[test]
fn repetitions_tell_what_is_noise() {
    let rng = &mut StdRng::seed_from_u64(41);
    let doubling: Vec<f64> = (3..=10).map(|i| 2.0_f64.powi(i)).collect();
    let mut more = 0;
    for _ in 0..100 {
        let measured =
            experiment(&grid(&[&doubling]), &[3], &mut |x| (1.0 + 0.3 * x[0]) * rng.random_range(0.95..1.05));
        let model = &fit(&measured, &Options::default()).models[0];
        more += usize::from(model.terms.len() > 1);
    }
    assert!(more <= 5, "{more} of 100");
}

/// Nor is any product near a sum of two different ones of several parameters, as of work that is shared out beside a collective operation.
/// Five repetitions that scatter by 4 % tell that it is none.
#[test]
fn sums_of_two_products_come_back_from_repeated_times() {
    let rng = &mut StdRng::seed_from_u64(29);
    type Function = fn(&[f64]) -> f64;
    let functions: [(Function, [f64; 2]); 2] = [
        (|x| 1e-3 * x[1] * x[1].log2() / x[0] + 0.4 * x[0].log2(), [128.0, 1600.0]),
        (|x| 1e-4 * x[1] * x[1] + 0.01 * x[1] * x[0].log2(), [128.0, 6400.0]),
    ];
    for (truth, far) in functions {
        let mut close = 0;
        for _ in 0..10 {
            let mut measure = |x: &[f64]| truth(x) * rng.random_range(0.965..1.035);
            let measured = experiment(&grid(&[&RANKS, &[100.0, 200.0, 400.0, 800.0, 1600.0]]), &[5], &mut measure);
            let model = &fit(&measured, &Options::default()).models[0];
            close += usize::from((model.at(&far) / truth(&far) - 1.0).abs() < 0.1);
        }
        assert!(close >= 8, "{close} of 10 at {far:?}");
    }
}

/// Of three parameters there are more products beside which the right one is looked for, and sums that need a third one.
#[test]
fn sums_of_three_parameters_come_back_from_repeated_times() {
    let rng = &mut StdRng::seed_from_u64(17);
    let points = grid(&[&RANKS, &SIZES, &[1.0, 2.0, 3.0, 4.0, 5.0]]);
    let functions: [fn(f64, f64, f64) -> f64; 3] = [
        |p, n, m| 1.0 + 1e-3 * n * m * m + 0.01 * n * p.log2(),
        |p, n, m| 1.0 + 1e-7 * n.powi(3) / p + 0.2 * m * m + 0.3 * p.log2(),
        |p, n, m| 1.0 + 5e-3 * n * m + 0.02 * p * m + 1e-3 * n * p,
    ];
    let far = [64.0, 1000.0, 10.0];
    for truth in functions {
        let truth = |x: &[f64]| truth(x[0], x[1], x[2]);
        for _ in 0..3 {
            let measured = experiment(&points, &[3], &mut |x| truth(x) * rng.random_range(0.95..1.05));
            let model = &fit(&measured, &Options::default()).models[0];
            let there = model.predict(&far, 0.9);
            let off = there.value / truth(&far) - 1.0;
            assert!(off.abs() < 0.12, "{off}, {}", model.expression(&measured.parameters));
            assert!((there.lower..there.upper).contains(&truth(&far)), "{there:?} of {}", truth(&far));
        }
    }
}

/// A background between two of those that are tried is no one-sided noise, however many repetitions tell it exactly.
#[test]
fn symmetric_noise_is_not_taken_for_one_sided_noise() {
    let rng = &mut StdRng::seed_from_u64(23);
    let truth = |x: &[f64]| 1e-3 * x[0].sqrt() * x[1];
    for repetitions in [5, 40] {
        // The sum of twelve even variables is as good as normal; the deviation of one is the root of a twelfth.
        let mut normal = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        let mut measure = |x: &[f64]| truth(x) * (1.0 + 0.0285 * normal());
        let measured = experiment(&grid(&[&RANKS, &SIZES]), &[repetitions], &mut measure);
        let model = &fit(&measured, &Options::default()).models[0];
        let off = model.at(&[32.0, 500.0]) / truth(&[32.0, 500.0]) - 1.0;
        assert!(off.abs() < 0.012, "{repetitions}: {off}, {}", model.expression(&measured.parameters));
    }
}

/// Single points are off by a little that twenty repetitions tell from noise: such a function is still one of undisturbed times.
#[test]
fn repetitions_that_tell_a_small_misfit_do_not_hide_the_lower_edge() {
    let rng = &mut StdRng::seed_from_u64(11);
    let truth = |x: &[f64]| 1e-3 * x[0].sqrt() * x[1];
    let off: Vec<f64> = (0..25).map(|_| rng.random_range(0.94..1.06)).collect();
    let points = grid(&[&RANKS, &SIZES]);
    let mut measure = |x: &[f64]| {
        let point = points.iter().position(|p| p == x).unwrap();
        truth(x) * off[point] * rng.random_range(1.0..1.75)
    };
    let measured = experiment(&points, &[20], &mut measure);
    let model = &fit(&measured, &Options::default()).models[0];
    let off = model.at(&[32.0, 500.0]) / truth(&[32.0, 500.0]) - 1.0;
    assert!(off.abs() < 0.1, "{off}, {}", model.expression(&measured.parameters));
}

/// Counts that differ between repetitions are off either way.
#[test]
fn repeated_counts_are_modelled_through_their_middle() {
    let rng = &mut StdRng::seed_from_u64(13);
    let truth = |x: &[f64]| 40.0 * x[0] * x[1];
    let mut builder = ExperimentBuilder::new(["p", "n"]);
    let visits = builder.metric(Metric { name: "visits".into(), unit: String::new(), over_ranks: None });
    let callpath = builder.callpath(["main", "solve"]);
    for x in grid(&[&RANKS, &SIZES]) {
        let point = builder.point(&x);
        (0..5).for_each(|_| builder.add(callpath, visits, point, (truth(&x) * rng.random_range(1.0..1.75)).round()));
    }
    let measured = builder.finish();
    let model = &fit(&measured, &Options::default()).models[0];
    let ratio = model.at(&[32.0, 500.0]) / truth(&[32.0, 500.0]);
    assert!((1.3..1.45).contains(&ratio), "{ratio}, {}", model.expression(&measured.parameters));
}
