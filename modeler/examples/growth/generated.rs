//! What `benchgen` draws: sequential or nested loops and messages whose sizes are rounded multiples of products of
//! powers and logarithms of p and n. Its truth gives exact counts.

use crate::{Case, Group, N, P, TEST};
use benchgen::complexity::{Count, Growth};
use benchgen::{Point, Spec};
use modeler::model::Exponent;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::collections::BTreeMap;

fn at(x: &[f64]) -> Point {
    Point::from([("p".to_owned(), x[0]), ("n".to_owned(), x[1])])
}

fn exponents(growth: &BTreeMap<String, Growth>) -> [Exponent; 2] {
    ["p", "n"].map(|x| Exponent::new(*growth[x].exponent.numer(), *growth[x].exponent.denom()))
}

fn describe(count: &Count, constant: f64, blocks: &[f64]) -> String {
    let total: f64 = count.complexity.at(&at(&TEST)).unwrap_or(f64::NAN);
    let term = |(product, blocks): (&benchgen::complexity::RoundedProduct, &f64)| {
        let terms = product.smooth().unwrap_or_default();
        let share = terms.iter().filter_map(|t| t.at(&at(&TEST)).ok()).sum::<f64>() / total;
        let bounds: String = product.rounded.iter().map(|t| format!("[{t}]")).collect();
        format!("{blocks} {} {bounds} ({:.3} %)", product.multiplier, 100.0 * share)
    };
    format!("{constant} + {}", count.exact.iter().zip(blocks).map(term).collect::<Vec<_>>().join(" + "))
}

/// `constant + Σ blocks_k · product_k`.
fn case(count: Count, growth: &BTreeMap<String, Growth>, constant: f64, blocks: Vec<f64>) -> Case {
    let text = describe(&count, constant, &blocks);
    let value = move |x: &[f64]| {
        let x = at(x);
        let products = count.exact.iter().zip(&blocks).map(|(p, b)| b * p.at(&x).unwrap_or_default() as f64);
        constant + products.sum::<f64>()
    };
    Case { count: Box::new(value), growth: exponents(growth), text }
}

/// As many functions as asked for between these numbers of iterations, as `benchgen` draws them.
fn truth(functions: usize, seed: u64, iterations: &str) -> benchgen::Truth {
    let text = format!(
        "name = \"drawn\"\nmemory_limit = 1_000_000_000_000\n[parameters]\np = {:?}\nn = {:?}\n\
         [test]\np = {}\nn = {}\n[random]\nfunctions = {functions}\nseed = {seed}\niterations = {iterations}\n",
        P.map(|p| p as u32),
        N.map(|n| n as u32),
        TEST[0],
        TEST[1]
    );
    let spec = Spec::parse(&text, "drawn.toml").unwrap_or_else(|e| panic!("{e}"));
    benchgen::generate(&spec).truth
}

/// Iterations, blocks and bytes of drawn functions.
pub fn groups(functions: usize, seed: u64) -> Vec<Group> {
    let mut groups = Vec::new();
    for range in ["[5e3, 1e5]", "[1e5, 1e7]", "[1e3, 1e10]"] {
        let truth = truth(functions, seed, range);
        let rng = &mut StdRng::seed_from_u64(seed);
        let (mut iterations, mut blocks, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
        for callpath in truth.callpaths {
            let growth = &callpath.growth.effort;
            if let Some(count) = callpath.iterations {
                let ones = vec![1.0; count.exact.len()];
                let factors = ones.iter().map(|_| f64::from(rng.random_range(1..8))).collect();
                iterations.push(case(count.clone(), growth, 0.0, ones));
                blocks.push(case(count, growth, f64::from(rng.random_range(0..20)), factors));
            } else if let Some(moved) = callpath.bytes.filter(|b| !b.transferred.exact.is_empty()) {
                let ones = vec![1.0; moved.transferred.exact.len()];
                bytes.push(case(moved.transferred, growth, 0.0, ones));
            }
        }
        let group = |name: &str, callpath, metric, cases| Group {
            name: format!("benchgen {range}, {name}"),
            callpath,
            metric,
            cases,
        };
        groups.push(group("iterations", "solve", "basic_blocks", iterations));
        groups.push(group("blocks", "solve", "basic_blocks", blocks));
        groups.push(group("bytes", "MPI_Bcast", "bytes_received", bytes));
    }
    groups
}
