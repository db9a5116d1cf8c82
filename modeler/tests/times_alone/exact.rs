//! Times without noise: their functions come back as they are, from points of any arrangement.

use super::{RANKS, SIZES, experiment, formula, grid};
use modeler::{Options, fit};
use rand::{RngExt, SeedableRng, rngs::StdRng};

#[test]
fn grids_of_one_to_four_parameters() {
    assert_eq!(formula(&grid(&[&RANKS]), &|x| 3.0 + 2.0 * x[0].log2()), "3 + 2 * log2(a)");
    // 4 is left at the end, and 20 at -5.
    assert_eq!(formula(&grid(&[&RANKS]), &|x| 20.0 - 0.5 * x[0]), "20 - 0.5 * a");
    assert_eq!(formula(&grid(&[&[-5.0, 0.0, 5.0, 10.0, 15.0]]), &|x| 17.0 - 0.6 * x[0]), "17 - 0.6 * a");
    assert_eq!(formula(&grid(&[&RANKS, &SIZES]), &|x| 5.0 + x[0] * x[1].sqrt()), "5 + a * b^(1/2)");
    let three = grid(&[&RANKS, &SIZES, &RANKS]);
    assert_eq!(formula(&three, &|x| 7.0 + 2.0 * x[0] * x[1] * x[2].log2()), "7 + 2 * a * b * log2(c)");
    let few: &[f64] = &[2.0, 4.0, 8.0];
    let four = grid(&[few, few, few, few]);
    assert_eq!(formula(&four, &|x| 2.0 * x[0] * x[1] * x[2] * x[3]), "2 * a * b * c * d");
}

/// Below zero a parameter has no logarithm and no broken power, and whole powers all the same.
#[test]
fn values_below_zero_have_whole_powers() {
    let degrees: &[f64] = &[-4.0, -2.0, 2.0, 4.0, 8.0, 10.0];
    assert_eq!(formula(&grid(&[degrees]), &|x| 5.0 + x[0]), "5 + a");
    assert_eq!(formula(&grid(&[degrees]), &|x| 100.0 + 7.0 * x[0] + 2.0 * x[0] * x[0]), "100 + 7 * a + 2 * a^2");
    let with_zero: &[f64] = &[-4.0, 0.0, 2.0, 4.0, 8.0, 10.0];
    assert_eq!(formula(&grid(&[with_zero]), &|x| 100.0 + 3.0 * x[0] * x[0]), "100 + 3 * a^2");
    // Where a term is nowhere positive, where all ends at zero, and where there are two values.
    let frost: &[f64] = &[-10.0, -8.0, -6.0, -4.0, -2.0];
    assert_eq!(formula(&grid(&[frost]), &|x| 100.0 + 3.0 * x[0]), "100 + 3 * a");
    let to_zero: &[f64] = &[-8.0, -6.0, -4.0, -2.0, 0.0];
    assert_eq!(formula(&grid(&[to_zero]), &|x| 100.0 + 10.0 * x[0]), "100 + 10 * a");
    // It grows, though its term is nothing at the largest value.
    for values in [frost, to_zero] {
        let linear = fit(&experiment(&grid(&[values]), &[1], &mut |x| 100.0 + 3.0 * x[0]), &Options::default());
        assert_eq!(linear.models[0].growth, [modeler::model::Growth { exponent: 1.into(), log_exponent: 0 }]);
    }
    let two = grid(&[&[-4.0, 10.0], &[10.0, 20.0, 30.0, 40.0, 50.0]]);
    assert_eq!(formula(&two, &|x| 1000.0 + x[1] * x[0] * x[0]), "1000 + a^2 * b");
    // No negative power, which would have no end at zero.
    let around: &[f64] = &[-5.0, -3.0, -1.0, 1.0, 3.0, 5.0];
    let bump = experiment(&grid(&[around]), &[1], &mut |x| 20.0 + 80.0 * (-(x[0] / 2.0).powi(2)).exp());
    assert!((0.0..200.0).contains(&fit(&bump, &Options::default()).models[0].predict(&[0.0], 0.9).value));
    let both = grid(&[degrees, &RANKS]);
    assert_eq!(formula(&both, &|x| (6.0 + x[0]) * x[1].log2()), "a * log2(b) + 6 * log2(b)");
    let mut random = StdRng::seed_from_u64(5);
    let noisy = &mut |x: &[f64]| (300.0 * x[1] + 2.0 * x[0] * x[0]) * (1.0 + 0.02 * random.random::<f64>());
    let measured = experiment(&both, &[3], noisy);
    let model = &fit(&measured, &Options::default()).models[0];
    assert_eq!(model.terms.len(), 2, "{}", model.expression(&measured.parameters));
    for (point, seconds) in [([10.0, 64.0], 19400.0), ([-4.0, 4.0], 1232.0)] {
        let told = model.predict(&point, 0.9).value;
        assert!((told / seconds - 1.0).abs() < 0.03, "{told} at {point:?}");
    }
}

/// Times without noise, as simulators give them: sums of which no product is near alone, or of more products than the search of noisy
/// times looks at, come back exactly.
#[test]
fn sums_without_noise_come_back_from_full_grids() {
    let doubling: Vec<f64> = (0..10).map(|i| 4.0 * 2.0_f64.powi(i)).collect();
    for values in [5, 8, 9, 10] {
        let points = grid(&[&doubling[..values]]);
        assert_eq!(formula(&points, &|x| 10.0 / x[0] + 0.01 * x[0].log2()), "10 * a^(-1) + 0.01 * log2(a)", "{values}");
    }
    // Sums that bend, of which the first value or the last is far off a line: nothing of them went astray.
    let ranks: Vec<f64> = (0..9).map(|i| 2.0_f64.powi(i)).collect();
    let sizes: Vec<f64> = (1..=8).map(|i| 100.0 * f64::from(i)).collect();
    type Function = fn(f64) -> f64;
    let bent: [(&[f64], &str, Function); 5] = [
        (&ranks[1..], "3e-5 * log2(a) + 4e-6 * a", |p| 4e-6 * p + 3e-5 * p.log2()),
        (&ranks, "9e-6 * a + 2e-6 * a^2", |p| 2e-6 * p * p + 9e-6 * p),
        (&ranks, "3e-5 * a * log2(a) + 1e-6 * a^2", |p| 1e-6 * p * p + 3e-5 * p * p.log2()),
        (&ranks, "0.0001 * log2(a) + 4e-5 * a + 1e-6 * a^2", |p| 1e-6 * p * p + 4e-5 * p + 1e-4 * p.log2()),
        (&sizes, "0.09 * a^(-1) + 3e-6 * a", |n| 0.09 / n + 3e-6 * n),
    ];
    for (values, expected, seconds) in bent {
        let measured = experiment(&grid(&[values]), &[1], &mut |x| seconds(x[0]));
        let model = &fit(&measured, &Options::default()).models[0];
        assert_eq!(model.expression(&measured.parameters), expected);
        // What is measured next may be off by its last digits.
        let told = model.predict(&[64.0], 0.9);
        assert!(told.lower < told.value && told.value < told.upper && told.upper / told.lower < 1.0 + 1e-6);
        let left_out = |code: &str| model.warnings.iter().any(|warning| warning.code == code);
        assert!(!left_out("W018") && !left_out("W019"), "{expected}: {:?}", model.warnings);
    }
    let shared: &[f64] = &[100.0, 200.0, 400.0, 800.0, 1600.0];
    let two = grid(&[&RANKS, shared]);
    let work = |x: &[f64]| 0.01 * x[1] / x[0];
    assert_eq!(formula(&two, &|x| work(x) + 0.05 * x[0].log2()), "0.01 * a^(-1) * b + 0.05 * log2(a)");
    assert_eq!(formula(&two, &|x| work(x) + 0.002 * x[0]), "0.01 * a^(-1) * b + 0.002 * a");
    let terms = "0.01 * a^(-1) * b + 0.05 * log2(a) + 1e-6 * b^2";
    assert_eq!(formula(&two, &|x| work(x) + 0.05 * x[0].log2() + 1e-6 * x[1] * x[1]), terms);
    let three = grid(&[&RANKS[..4], &shared[..4], &[2.0, 4.0, 6.0, 8.0]]);
    let sum = |x: &[f64]| 0.01 * x[0] + 0.001 * x[1] + 0.1 * x[2];
    assert_eq!(formula(&three, &sum), "0.01 * a + 0.001 * b + 0.1 * c");
}

/// Where two parameters change together, as in weak scaling, either gives the times exactly: an interval holds what both say of a point
/// at which they do not.
#[test]
fn functions_that_the_points_do_not_tell_apart_are_in_the_interval() {
    let points: Vec<Vec<f64>> = (2..8).map(|i| vec![2.0_f64.powi(i), 100.0 * 2.0_f64.powi(i)]).collect();
    let measured = experiment(&points, &[1], &mut |x| 0.5 + 0.01 * x[0]);
    let model = &fit(&measured, &Options::default()).models[0];
    let at = model.predict(&[4096.0, 1000.0], 0.9);
    assert!(at.lower <= 0.5 + 1e-4 * 1000.0 && 0.5 + 0.01 * 4096.0 <= at.upper, "{at:?}");
    let inside = model.predict(&[64.0, 6400.0], 0.9);
    assert!((inside.lower / 1.14 - 1.0).abs() < 1e-6 && (inside.upper / 1.14 - 1.0).abs() < 1e-6, "{inside:?}");
}

/// A point that is missing, or all but those on lines, hides no function from times without noise; nor does a part that is taken off a larger
/// one, as the bytes that a rank keeps.
#[test]
fn sums_without_noise_come_back_from_other_points() {
    let three = grid(&[&RANKS, &SIZES, &RANKS]);
    type Function = fn(&[f64]) -> f64;
    let sums: [(&str, Function); 2] = [
        ("a + 0.5 * b + 2 * c", |x| x[0] + 0.5 * x[1] + 2.0 * x[2]),
        ("1 + 0.3 * b * log2(c) + a^(-1) * b^2", |x| 1.0 + x[1] * x[1] / x[0] + 0.3 * x[1] * x[2].log2()),
    ];
    for (expected, seconds) in sums {
        for missing in [0, 62, 124] {
            let mut points = three.clone();
            points.remove(missing);
            assert_eq!(formula(&points, &seconds), expected, "without {missing}");
        }
    }
    // A corner is missing, or most of a grid.
    let short = |values: &[f64]| grid(&[&RANKS[..4], &values[..4]]);
    let mut points = short(&SIZES);
    points.pop();
    let work = |x: &[f64]| 3e-6 * x[1] + 5e-5 * x[1] / x[0];
    assert_eq!(formula(&points, &work), "5e-5 * a^(-1) * b + 3e-6 * b");
    let few: Vec<Vec<f64>> = short(&SIZES).into_iter().filter(|x| x[0] * x[1] < 1700.0).collect();
    assert_eq!((few.len(), formula(&few, &work)), (11, "5e-5 * a^(-1) * b + 3e-6 * b".into()));
    let mut points = grid(&[&RANKS[..4], &SIZES[..4], &RANKS[..4]]);
    points.pop();
    let sum = |x: &[f64]| 3e-6 * x[1] + 5e-5 * x[0] + 7e-6 * x[2] * x[2];
    assert_eq!(formula(&points, &sum), "5e-5 * a + 3e-6 * b + 7e-6 * c^2");
    let gather = |x: &[f64]| 6.0 * x[0].log2() + 0.0033 * x[1] * (x[0] - 1.0);
    let points = grid(&[&[16.0, 32.0, 64.0, 128.0, 256.0], &[64.0, 128.0, 256.0, 512.0, 1024.0]]);
    assert_eq!(formula(&points, &gather), "6 * log2(a) + 0.0033 * a * b - 0.0033 * b");
    // With noise the part that is taken off is left to the others. Repetitions tell with more of it that a function is not theirs.
    let rng = &mut StdRng::seed_from_u64(37);
    for (repetitions, noise) in [(1, 0.005), (3, 0.015)] {
        for _ in 0..5 {
            let mut measure = |x: &[f64]| gather(x) * (1.0 + rng.random_range(-noise..noise));
            let measured = experiment(&points, &[repetitions], &mut measure);
            let model = &fit(&measured, &Options::default()).models[0];
            let far = [512.0, 2048.0];
            let off = (model.at(&far) / gather(&far) - 1.0).abs();
            assert!(off < 0.1, "{}", model.expression(&measured.parameters));
        }
    }
}

/// All of a time goes with a parameter that has two values, as with the threads of a core.
#[test]
fn what_two_values_of_a_parameter_divide_is_a_sum() {
    let points = grid(&[&[2.0, 4.0, 8.0, 16.0, 32.0, 64.0], &[1.0, 2.0]]);
    let seconds = |x: &[f64]| (10.0 + 2.0 * x[0]) / x[1];
    assert_eq!(formula(&points, &seconds), "10 * b^(-1) + 2 * a * b^(-1)");
    let rng = &mut StdRng::seed_from_u64(59);
    for _ in 0..5 {
        let measured = experiment(&points, &[3], &mut |x| seconds(x) * rng.random_range(0.98..1.02));
        let model = &fit(&measured, &Options::default()).models[0];
        let off = (model.at(&[128.0, 2.0]) / 133.0 - 1.0).abs();
        assert!(off < 0.03, "{}", model.expression(&measured.parameters));
    }
}

/// Along the longest line of a parameter another is one, and the logarithm of it nothing.
#[test]
fn functions_that_are_nothing_at_one_rank_are_told_by_other_lines() {
    let points = grid(&[&[1.0, 2.0, 4.0, 8.0], &[100.0, 200.0, 400.0, 800.0, 1600.0]]);
    let points: Vec<Vec<f64>> = points.into_iter().filter(|x| x[0] * x[1] <= 1600.0).collect();
    let seconds = |x: &[f64]| 3e-6 * x[1] + 5e-9 * x[1] * x[1] * x[0].log2() + 2e-4 * x[0];
    assert_eq!((points.len(), formula(&points, &seconds)), (14, "5e-9 * log2(a) * b^2 + 0.0002 * a + 3e-6 * b".into()));
}

/// What a sum gives exactly, but for noise that is hardly more than what it may be off, is given by others, too.
#[test]
fn noise_in_the_seventh_place_is_no_exact_function() {
    let rng = &mut StdRng::seed_from_u64(53);
    let ranks = [2.0, 4.0, 8.0, 16.0, 32.0];
    let mut terms = 0;
    for _ in 0..80 {
        let measured = experiment(&grid(&[&ranks]), &[1], &mut |_| 10.0 * (1.0 + 1e-7 * rng.random::<f64>()));
        let model = &fit(&measured, &Options::default()).models[0];
        terms += usize::from(!model.terms.is_empty());
    }
    assert!(terms <= 2, "{terms} of 80");
}

#[test]
fn crosses() {
    let mut points: Vec<Vec<f64>> = RANKS.iter().map(|&p| vec![p, 300.0, 8.0]).collect();
    points.extend(SIZES.iter().map(|&n| vec![8.0, n, 8.0]));
    points.extend(RANKS.iter().map(|&c| vec![8.0, 300.0, c]));
    assert_eq!(formula(&points, &|x| 2.0 * x[0] * x[1] * x[2].sqrt()), "2 * a * b * c^(1/2)");
}

#[test]
fn irregular_points_that_share_no_line() {
    let rng = &mut StdRng::seed_from_u64(8);
    let mut draw = |parameters: usize, count: usize| -> Vec<Vec<f64>> {
        (0..count).map(|_| (0..parameters).map(|_| rng.random_range(2.0..90.0)).collect()).collect()
    };
    assert_eq!(formula(&draw(2, 14), &|x| 4.0 + 3.0 * x[0] * x[1]), "4 + 3 * a * b");
    assert_eq!(formula(&draw(3, 25), &|x| 3.0 * x[0] * x[1].sqrt() * x[2]), "3 * a * b^(1/2) * c");
    assert_eq!(formula(&draw(2, 20), &|x| 6.0 * x[1] / x[0]), "6 * a^(-1) * b");
}

/// Times without noise in milliseconds, as a table gives them: what rounding leaves is no term, whose share would grow beyond the measured points.
#[test]
fn what_rounding_leaves_is_no_term() {
    let points = grid(&[&[1.0, 2.0, 4.0, 8.0, 16.0], &[10.0, 20.0, 30.0, 40.0, 50.0]]);
    let mut generator = StdRng::seed_from_u64(5);
    for case in 0..30 {
        let (constant, coefficient) = (generator.random_range(0.05..0.5), generator.random_range(0.002..0.02));
        let product = |x: &[f64]| [x[1] * x[1] / x[0], x[1] * x[1] / x[0].sqrt(), x[1] / x[0]][case % 3];
        let truth = |x: &[f64]| constant + coefficient * product(x);
        for repetitions in [1, 2] {
            let mut milliseconds = |x: &[f64]| (1000.0 * truth(x)).round() / 1000.0;
            let experiment = experiment(&points, &[repetitions], &mut milliseconds);
            let models = fit(&experiment, &Options::default());
            let said = models.models[0].expression(&experiment.parameters);
            assert_eq!(models.models[0].terms.len(), 1, "{case}: {said} for {constant} + {coefficient} f");
            let far = [64.0, 100.0];
            let off = models.models[0].at(&far) - truth(&far);
            assert!(off.abs() < 1e-3, "{case}: {said} is off by {off}");
        }
    }
    // What noise leaves is more than that.
    let mut noisy = |x: &[f64]| {
        let noise = 1.0 + 0.03 * generator.random_range(-1.0..1.0);
        (1e6 * noise * (0.2 + 0.01 * x[1] * x[1] / x[0])).round() / 1e6
    };
    let experiment = experiment(&points, &[1], &mut noisy);
    let noise = fit(&experiment, &Options::default()).models[0].quality.noise.unwrap();
    assert!((0.01..0.03).contains(&noise), "{noise}");
}
