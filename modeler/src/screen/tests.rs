//! What is ruled out in single precision is never among the best: screens against every product, one by one.

use super::*;
use crate::linear::{dot, least_squares, residual};
use rand::{RngExt, SeedableRng, rngs::StdRng};

/// Every product with what a least squares fit of the base's columns and it leaves, times its cost: those whose
/// coefficients are all positive, best first.
fn one_by_one(screen: Screen, columns: &[Vec<f64>], weights: &[f64], data: &[f64]) -> Vec<(f64, Product)> {
    let lanes = screen.lane().factors.len();
    let all = (0..screen.heads.factors.len()).flat_map(|head| (0..lanes).map(move |lane| (head as u32, lane as u32)));
    let mut found: Vec<(f64, Product)> = Vec::new();
    for (head, lane) in all {
        let product = Product { head, lane };
        let mut column = Vec::new();
        screen.column(product, &mut column);
        column.iter_mut().zip(weights).for_each(|(x, w)| *x *= w);
        let all: Vec<Vec<f64>> = columns.iter().cloned().chain([column]).collect();
        let c = least_squares(&all, data);
        let left = residual(&all, data, &c);
        if c.iter().all(|c| *c > 0.0) {
            let cost = COMPLEXITY_PRICE * screen.complexity(product) / data.len() as f64;
            found.push((dot(&left, &left) * cost.exp(), product));
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found
}

#[test]
fn the_best_are_those_found_one_by_one_whatever_the_units_and_the_noise() {
    let rng = &mut StdRng::seed_from_u64(12);
    let sets = ExponentSets::default();
    for (noise, unit, count) in [(0.03, 1.0, 12), (0.3, 1e-9, 6), (1e-3, 1e30, 12), (0.03, 1e-100, 6)] {
        let points: Vec<[f64; 2]> = [2.0, 4.0, 8.0, 16.0, 32.0]
            .iter()
            .flat_map(|&p| [100.0, 200.0, 400.0, 800.0].map(|n| [p, n]))
            .filter(|_| rng.random::<f64>() < 0.9)
            .collect();
        let points: Vec<&[f64]> = points.iter().map(|x| x.as_slice()).collect();
        let axes = [0, 1].map(|l| Axis::new(&points, l, &sets, false));
        let kept = [(0..axes[0].factors.len() as u16).collect::<Vec<u16>>()];
        let heads = Heads::new(points.len(), &[&axes[0]], &kept);
        let screen = Screen { axes: &[&axes[0], &axes[1]], heads: &heads };
        let truth = |x: &[f64]| unit * (3.0 + 0.02 * x[0] * x[1].log2() + 1e-3 * x[1].powf(1.5));
        let y: Vec<f64> = points.iter().map(|x| truth(x) * (1.0 + noise * rng.random_range(-1.0..1.0))).collect();
        let weights: Vec<f64> = y.iter().map(|y| 1.0 / y).collect();
        let mut buffers = Buffers::default();
        // Beside nothing, a constant, and a constant and a product.
        let mut columns: Vec<Vec<f64>> = Vec::new();
        for further in 0..3 {
            if further > 0 {
                let value = |x: &&[f64]| if further == 1 { unit } else { unit * x[0] * x[1] };
                columns.push(points.iter().zip(&weights).map(|(x, w)| value(x) * w).collect());
            }
            let data = vec![1.0; y.len()];
            let (mut basis, mut left) = (Orthonormal::default(), data.clone());
            basis.clear(y.len());
            columns.iter().for_each(|column| assert!(basis.push(column)));
            let coefficients = basis.project(&mut left);
            let base = Base {
                weights: &weights,
                columns: &basis,
                residual: &left,
                coefficients: &coefficients[..columns.len()],
                rss: dot(&left, &left),
            };
            let wanted = Screening { fresh: further == 0, count, limit: f64::INFINITY, worth: None };
            let best = screen.best(base, wanted, &mut buffers);
            let all = one_by_one(screen, &columns, &weights, &data);
            assert!(all.len() > count, "{} products have positive coefficients", all.len());
            assert_eq!(best.len(), count);
            for (ours, theirs) in best.iter().zip(&all) {
                assert!(
                    (ours.0 / theirs.0 - 1.0).abs() < 1e-6,
                    "noise {noise} in {unit} beside {further}: {ours:?} {theirs:?}"
                );
            }
            // A limit leaves those below it.
            let wanted = Screening { fresh: false, count, limit: 0.5 * (best[3].0 + best[4].0), worth: None };
            assert_eq!(screen.best(base, wanted, &mut buffers)[..], best[..4]);
        }
    }
}

/// The factor closest to a function is the one that least squares say, with a constant, whatever the function and the weights.
#[test]
fn the_closest_factor_is_that_of_least_squares() {
    let rng = &mut StdRng::seed_from_u64(31);
    let points: Vec<[f64; 1]> = [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| [p]).to_vec();
    let points: Vec<&[f64]> = points.iter().map(|x| x.as_slice()).collect();
    let axis = Axis::new(&points, 0, &ExponentSets::default(), true);
    let mut some = 0;
    for _ in 0..200 {
        let part: Vec<(f64, f64)> =
            (0..5).map(|_| (rng.random_range(-3.0..3.0), rng.random_range(0.1..10.0))).collect();
        let roots: Vec<f64> = part.iter().map(|p| p.1.sqrt()).collect();
        let data: Vec<f64> = part.iter().zip(&roots).map(|(p, root)| p.0 * root).collect();
        let left = |j: usize| {
            let factor: Vec<f64> = roots.iter().enumerate().map(|(i, root)| axis.at(i, j) * root).collect();
            let columns = [roots.clone(), factor];
            let c = least_squares(&columns, &data);
            let left = residual(&columns, &data, &c);
            (c[1] > 0.0).then(|| (dot(&left, &left) * axis.costs[j], j))
        };
        let expected = (1..axis.factors.len()).filter_map(left).min_by(|a, b| a.0.total_cmp(&b.0)).map(|found| found.1);
        assert_eq!(axis.closest(&part), expected, "{part:?}");
        some += usize::from(expected.is_some());
    }
    assert!(some > 150, "{some}");
}
