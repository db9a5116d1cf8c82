//! Sums of up to three products over equation 2's sets, exactly and rounded as a whole, are what counts of them give.

use super::metric;
use modeler::experiment::ExperimentBuilder;
use modeler::model::{Exponent, Factor};
use modeler::{ExponentSets, Options, fit};
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

#[test]
fn sums_of_products_of_three_parameters_come_back() {
    assert_eq!(recovered(&[&P, &N, &[10.0, 20.0, 40.0, 80.0]], 2, false, 9), 1.0);
    assert!(recovered(&[&P, &N, &[10.0, 20.0, 40.0, 80.0]], 2, true, 9) >= 0.95);
}
