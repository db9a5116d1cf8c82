//! The matrices against fits done one at a time, and choices against those of Extra-P itself.

use super::*;
use crate::linear::least_squares;
use rand::{RngExt, SeedableRng, rngs::StdRng};

/// Symmetric error of two values, halved.
fn off(y: f64, fitted: f64) -> f64 {
    if y == 0.0 && fitted == 0.0 { 0.0 } else { (y - fitted).abs() / (y.abs() + fitted.abs()) }
}

/// The term of one parameter by one fit per value left out.
fn naive_line(x: &[f64], y: &[f64]) -> Option<usize> {
    let mean = y.iter().sum::<f64>() / y.len() as f64;
    let (mut best, mut chosen) = (y.iter().map(|v| off(*v, mean)).sum::<f64>(), None);
    for (term, factor) in factors(0, x.iter().copied()).iter().enumerate() {
        let column: Vec<f64> = x.iter().map(|v| factor.at(*v)).collect();
        let mut error = 0.0;
        for left_out in 0..x.len() {
            let keep = |c: &[f64]| (0..c.len()).filter(|i| *i != left_out).map(|i| c[i]).collect::<Vec<_>>();
            let (x, y_kept) = (keep(&column), keep(y));
            let c = least_squares(&[vec![1.0; x.len()], x], &y_kept);
            let least = y_kept.iter().copied().fold(f64::INFINITY, f64::min);
            let constant = if (c[0] / least).abs() < 0.0005 { 0.0 } else { c[0] };
            error += off(y[left_out], constant + c[1] * column[left_out]);
        }
        if error < best {
            (best, chosen) = (error, Some(term));
        }
    }
    chosen
}

fn grid(values: &[&[f64]]) -> Vec<Vec<f64>> {
    let longer = |points: Vec<Vec<f64>>, of: &&[f64]| {
        points.iter().flat_map(|x| of.iter().map(|&v| x.iter().copied().chain([v]).collect())).collect()
    };
    values.iter().fold(vec![Vec::new()], longer)
}

const P: [f64; 5] = [128.0, 256.0, 512.0, 1024.0, 2048.0];
const N: [f64; 5] = [8000.0, 16000.0, 24000.0, 32000.0, 40000.0];

fn design(points: &[Vec<f64>]) -> Design {
    Design::new(&points.iter().map(|x| x.as_slice()).collect::<Vec<_>>())
}

/// Noisy values of a product of random terms of the space, and a constant.
fn values(points: &[Vec<f64>], rng: &mut StdRng) -> Vec<f64> {
    let mut factor = |l: usize| (l, TERMS[rng.random_range(0..TERMS.len())]);
    let factors: Vec<(usize, (i32, i32, i32))> = (0..points[0].len()).map(&mut factor).collect();
    let at = |x: &[f64]| -> f64 {
        let of = |&(l, (n, d, j)): &(usize, (i32, i32, i32))| {
            Factor { parameter: l, exponent: Exponent::new(n, d), log_exponent: j }.at(x[l])
        };
        factors.iter().map(of).product()
    };
    let (first, share) = (at(&points[0]), rng.random_range(0.0..20.0));
    points.iter().map(|x| (share + at(x) / first) * (1.0 + rng.random_range(-0.05..0.05))).collect()
}

#[test]
fn one_parameter_is_chosen_as_by_fits_one_at_a_time() {
    let rng = &mut StdRng::seed_from_u64(1);
    for p in [&P[..], &[0.5, 1.0, 2.0, 4.0, 8.0, 16.0], &[2.0, 3.0, 5.0]] {
        let points = grid(&[p]);
        let (design, mut workspace) = (design(&points), Workspace::default());
        for _ in 0..100 {
            let y = values(&points, rng);
            let chosen = design.search(0, &y, &mut workspace);
            let term = naive_line(p, &y);
            assert_eq!(chosen.joint.factors.first().copied(), term.map(|t| factors(0, p.iter().copied())[t]), "{y:?}");
            let columns: Vec<Vec<f64>> = std::iter::once(vec![1.0; p.len()])
                .chain(chosen.joint.factors.iter().map(|f| p.iter().map(|v| f.at(*v)).collect()))
                .collect();
            for (a, b) in chosen.coefficients.iter().zip(least_squares(&columns, &y)) {
                assert!((a - b).abs() <= 1e-7 * (1.0 + b.abs()), "{a} {b}");
            }
        }
    }
}

#[test]
fn two_parameters_are_chosen_as_by_fits_one_at_a_time() {
    let rng = &mut StdRng::seed_from_u64(2);
    let points = grid(&[&P, &N]);
    let (design, mut workspace, mut both) = (design(&points), Workspace::default(), 0);
    for _ in 0..200 {
        let y = values(&points, rng);
        let along = |l: usize, values: &[f64]| {
            let mean = |v: &f64| {
                let of: Vec<f64> = points.iter().zip(&y).filter(|(x, _)| x[l] == *v).map(|(_, y)| *y).collect();
                of.iter().sum::<f64>() / of.len() as f64
            };
            naive_line(values, &values.iter().map(mean).collect::<Vec<_>>())
        };
        let (Some(a), Some(b)) = (along(0, &P), along(1, &N)) else { continue };
        let chosen = design.search(0, &y, &mut workspace);
        let expected = [factors(0, P.into_iter())[a], factors(1, N.into_iter())[b]];
        assert_eq!(chosen.joint.factors, expected);
        let column = |mask: usize| -> Vec<f64> {
            let of =
                |x: &Vec<f64>| (0..2).filter(|l| mask >> l & 1 == 1).map(|l| expected[l].at(x[l])).product::<f64>();
            points.iter().map(of).collect()
        };
        let mut best: Option<(f64, Vec<f64>)> = None;
        for terms in [&[3][..], &[1, 2], &[1, 3], &[2, 3]] {
            let columns: Vec<Vec<f64>> = std::iter::once(0).chain(terms.iter().copied()).map(column).collect();
            let c = least_squares(&columns, &y);
            let fitted: Vec<f64> = (0..y.len()).map(|i| columns.iter().zip(&c).map(|(x, c)| c * x[i]).sum()).collect();
            let error = y.iter().zip(&fitted).map(|(y, f)| off(*y, *f)).sum::<f64>();
            let share = |k: usize| (0..y.len()).map(|i| (c[k] * columns[k][i] / y[i]).abs()).fold(0.0, f64::max);
            let counts = (1..c.len()).all(|k| share(k) >= 0.0005);
            if best.as_ref().is_none_or(|(least, _)| counts && error < *least) {
                best = Some((error, fitted));
            }
        }
        let (_, fitted) = best.unwrap();
        for (a, b) in chosen.fitted.iter().zip(&fitted) {
            assert!((a - b).abs() <= 1e-7 * b.abs().max(1.0), "{a} {b}");
        }
        both += 1;
    }
    assert!(both > 100, "{both}");
}

#[test]
fn lines_are_the_longest_ones() {
    // A cross: five values of p at n = 10, three values of n at p = 2, and a stray point.
    let mut points: Vec<Vec<f64>> = [1.0, 2.0, 4.0, 8.0, 16.0].map(|p| vec![p, 10.0]).to_vec();
    points.extend([vec![2.0, 20.0], vec![2.0, 40.0], vec![4.0, 40.0]]);
    points.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let design = design(&points);
    let along = |l: usize| -> Vec<Vec<f64>> {
        let groups = design.lines[l].groups();
        groups.iter().map(|g| g.iter().map(|&i| points[i as usize][1 - l]).collect()).collect()
    };
    assert_eq!(along(0), vec![vec![10.0]; 5]);
    assert_eq!(along(1), vec![vec![2.0]; 3]);
}

#[test]
fn values_without_change_are_constant_and_zeros_are_allowed() {
    let points = grid(&[&P, &N]);
    let (design, mut workspace) = (design(&points), Workspace::default());
    for value in [0.0, 7.0] {
        let chosen = design.search(0, &[value; 25], &mut workspace);
        assert_eq!((chosen.coefficients, chosen.joint.factors.len()), (&[value][..], 0));
    }
}
