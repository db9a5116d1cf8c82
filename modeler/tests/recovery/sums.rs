//! Sums of up to three products over equation 2's sets, exactly and rounded as a whole, are what counts of them give.

use super::{OfTwo, expression, metric};
use modeler::experiment::ExperimentBuilder;
use modeler::model::{Exponent, Factor};
use modeler::{Experiment, ExponentSets, Options, fit};
use rand::{RngExt, SeedableRng, rngs::StdRng};

/// A coefficient with the exponent and the logarithm's exponent of each parameter.
type Product = (f64, Vec<(Exponent, i32)>);

fn value(constant: f64, products: &[Product], x: &[f64]) -> f64 {
    let of = |(x, (exponent, log)): (&f64, &(Exponent, i32))| {
        x.powf(f64::from(*exponent.numer()) / f64::from(*exponent.denom())) * x.log2().powi(*log)
    };
    constant + products.iter().map(|(c, factors)| c * x.iter().zip(factors).map(of).product::<f64>()).sum::<f64>()
}

/// Products of factors of every parameter, whose terms are about as large in the middle of the range.
fn drawn(generator: &mut StdRng, middle: &[f64], count: usize) -> Vec<Product> {
    let sets = ExponentSets::default();
    let mut products: Vec<Product> = Vec::new();
    while products.len() < count {
        let mut factor = || {
            let exponent = sets.exponents[generator.random_range(1..sets.exponents.len())];
            (exponent, sets.log_exponents[generator.random_range(0..sets.log_exponents.len())])
        };
        let factors: Vec<(Exponent, i32)> = middle.iter().map(|_| factor()).collect();
        if products.iter().all(|known| known.1 != factors) {
            let size = value(0.0, &[(1.0, factors.clone())], middle);
            products.push((10_f64.powf(generator.random_range(5.0..7.0)) / size, factors));
        }
    }
    products
}

/// The share of drawn sums of so many products on a grid of these values of which exactly the products come back.
fn recovered(values: &[&[f64]], products: usize, round: bool, seed: u64) -> f64 {
    const NUMBER: usize = 60;
    let names = ["a", "b", "c"];
    let mut generator = StdRng::seed_from_u64(seed);
    let mut builder = ExperimentBuilder::new(names.into_iter().take(values.len()));
    let blocks = builder.metric(metric("basic_blocks"));
    let middle: Vec<f64> = values.iter().map(|of| of[of.len() / 2]).collect();
    let mut sums = Vec::new();
    for i in 0..NUMBER {
        let path = builder.callpath(["main", &format!("loop{i}")]);
        let of = drawn(&mut generator, &middle, products);
        let constant = generator.random_range(0..2) as f64 * 12_345.5;
        for at in 0..values.iter().map(|of| of.len()).product() {
            let mut rest = at;
            let mut coordinate = |of: &&[f64]| {
                let x = of[rest % of.len()];
                rest /= of.len();
                x
            };
            let x: Vec<f64> = values.iter().map(&mut coordinate).collect();
            let point = builder.point(&x);
            let y = value(constant, &of, &x);
            builder.add(path, blocks, point, if round { y.round() } else { y });
        }
        sums.push(of);
    }
    let fits = fit(&builder.finish(), &Options::default());
    let is_right = |(model, truth): (&modeler::Model, &Vec<Product>)| {
        let is_in = |(_, factors): &&Product| {
            let wanted: Vec<Factor> = factors
                .iter()
                .enumerate()
                .map(|(parameter, (exponent, log_exponent))| Factor {
                    parameter,
                    exponent: *exponent,
                    log_exponent: *log_exponent,
                })
                .collect();
            model.terms.iter().any(|term| term.factors[..] == wanted[..])
        };
        model.terms.len() == truth.len() && truth.iter().filter(is_in).count() == truth.len()
    };
    fits.models.iter().zip(&sums).filter(|pair| is_right(*pair)).count() as f64 / NUMBER as f64
}

const P: [f64; 5] = [128.0, 256.0, 512.0, 1024.0, 2048.0];
const N: [f64; 5] = [8000.0, 16_000.0, 24_000.0, 32_000.0, 40_000.0];

#[test]
fn sums_of_up_to_three_products_come_back() {
    for products in 1..=3 {
        assert_eq!(recovered(&[&P, &N], products, false, 7), 1.0, "{products} products");
    }
}

/// Rounding hides what tells factors apart that are much alike over a fivefold range.
#[test]
fn sums_of_up_to_three_products_that_were_rounded_come_back() {
    for (products, least) in [(1, 1.0), (2, 0.98), (3, 0.9)] {
        let right = recovered(&[&P, &N], products, true, 8);
        assert!(right >= least, "{products} products: {right}");
    }
}

/// A search that adds one product after the other takes three or four others with a growth of n^2, 0.7 and 1.4 % off within the range.
#[test]
fn rounded_sums_that_others_resemble_are_themselves() {
    let log = f64::log2;
    let of_three: [OfTwo; 2] = [
        &|p, n| {
            let mixed = 1.05e-5 * p.cbrt() * log(p) * n.powf(1.5) * log(n).powi(2);
            40_059.0
                + 6.5e-10 * p.powf(2.5) * n.powf(5.0 / 3.0) * log(n).powi(2)
                + mixed
                + 0.0765 * p * p * log(p) * log(n)
        },
        &|p, n| {
            let mixed = 1.03e-5 * p.powf(0.8) * log(p) * n.powf(1.5) * log(n);
            28_258.0
                + mixed
                + 0.00494 * p.powf(0.25) * n.powf(5.0 / 3.0) * log(n)
                + 117.0 * log(p) * n.powf(0.25) * log(n).powi(2)
        },
    ];
    for (i, of) in of_three.into_iter().enumerate() {
        let fits = fit(&grid(&P, Some(&N), |p, n| of(p, n).round()), &Options::default());
        // Sixteen times as many ranks and points, where the others' growth shows.
        let (p, n) = (32_768.0, 640_000.0);
        let off = fits.models[0].at(&[p, n]) / of(p, n) - 1.0;
        assert!(off.abs() < 1e-4, "{i}: {off}");
    }
}

#[test]
fn sums_of_products_of_three_parameters_come_back() {
    assert_eq!(recovered(&[&P, &N, &[10.0, 20.0, 40.0, 80.0]], 2, false, 9), 1.0);
    assert!(recovered(&[&P, &N, &[10.0, 20.0, 40.0, 80.0]], 2, true, 9) >= 0.95);
}

/// Counts of one call path on the grid of these values of p and n, or of p alone.
fn grid(p: &[f64], n: Option<&[f64]>, of: impl Fn(f64, f64) -> f64) -> Experiment {
    let names = if n.is_some() { &["p", "n"][..] } else { &["p"] };
    let mut builder = ExperimentBuilder::new(names.iter().copied());
    let (path, blocks) = (builder.callpath(["main"]), builder.metric(metric("basic_blocks")));
    for &p in p {
        for &n in n.unwrap_or(&[0.0]) {
            let x = [p, n];
            let point = builder.point(&x[..names.len()]);
            builder.add(path, blocks, point, of(p, n));
        }
    }
    builder.finish()
}

/// The function behind them.
fn on_grid(p: &[f64], n: Option<&[f64]>, of: impl Fn(f64, f64) -> f64) -> String {
    expression(&grid(p, n, of), "basic_blocks")
}

/// Few values with rounded bounds are near some smooth function.
#[test]
fn rounded_bounds_are_not_taken_for_smooth_functions() {
    let seven = |first: f64, step: f64| (0..7).map(|i| first + step * f64::from(i)).collect::<Vec<f64>>();
    assert_eq!(on_grid(&seven(1000.0, 17.0), None, |p, _| 10.0 + 7.0 * p), "10 + 7 * p");
    assert_eq!(on_grid(&seven(1000.0, 1000.0), None, |p, _| 10.0 + p.powf(0.8).floor()), "10 + p^(4/5)");
    let of_three = |p: f64, _: f64| 3.0 + (p.cbrt() * p.log2()).round() + p + p * p;
    assert_eq!(on_grid(&seven(1000.0, 17.0)[..5], None, of_three), "3 + p^(1/3) * log2(p) + p + p^2");
    let (hundreds, twos) = (seven(100.0, 100.0), [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]);
    let beside = |p: f64, n: f64| (p.powf(2.0 / 3.0) * p.log2()).ceil() + n;
    assert_eq!(on_grid(&hundreds, Some(&twos), beside), "p^(2/3) * log2(p) + n");
    let (ps, qs) = ([128.0, 256.0, 512.0, 1024.0], [4.0, 8.0, 16.0, 32.0]);
    assert_eq!(on_grid(&ps, Some(&qs), |p, q| 1.0 + 100.0 * p * p * q.cbrt().ceil()), "1 + 100 * p^2 * n^(1/3)");
}

/// The smallest numbers there are have weights whose products are none.
#[test]
fn searches_of_the_smallest_numbers_end() {
    let (ps, qs) = ([1.0, 2.0, 4.0, 8.0], [10.0, 20.0, 30.0, 40.0]);
    for unit in [3e-310, 1e-306, 1e300] {
        let fits = fit(&grid(&ps, Some(&qs), |p, q| unit * p * q), &Options::default());
        assert_eq!(fits.models.len() + fits.skipped.len(), 1, "{unit}");
    }
}
