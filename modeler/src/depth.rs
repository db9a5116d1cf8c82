//! The function behind logical waiting where ranks wait for a sweep to reach them: so many stages as the decomposition is
//! deep, times what a stage costs.
//!
//! In a plane or cuboid of p ranks a sweep from corner to corner takes as many stages as the extents less one make
//! together. Divided by that number, exact for the p that were measured, waiting depends on the other parameters alone; few things do so by
//! chance. The function then has the depth of a perfect square or cube in its place, d·p^(1/d) - d.

use crate::effort::Found;
use crate::library::Shape;
use crate::model::{Exponent, Factor};

/// The least number of different p that tell a depth from chance.
const LEAST: usize = 3;
/// How far waiting per stage may differ between numbers of ranks, relatively: ranks at the edges do a little less.
const TOLERANCE: f64 = 1e-3;

/// Sum of the extents less one of the most even cuboid of so many ranks. `MPI_Dims_create` wants them "as close to each
/// other as possible".
fn depth(ranks: u64, dimensions: u32) -> u64 {
    if dimensions <= 1 {
        return ranks.saturating_sub(1);
    }
    let divisors = (1..=ranks).take_while(|x| x.checked_pow(dimensions).is_some_and(|x| x <= ranks));
    let depths = divisors.filter(|x| ranks.is_multiple_of(*x)).map(|x| x - 1 + depth(ranks / x, dimensions - 1));
    depths.min().unwrap_or(0)
}

/// Waiting per stage at each combination of the other parameters, if it is the same for all numbers of ranks.
fn per_stage<'a>(points: &[&'a [f64]], y: &[f64], ranks: usize, dimensions: u32) -> Option<Vec<(&'a [f64], f64)>> {
    let same_but_ranks = |a: &[f64], b: &[f64]| a.iter().zip(b).enumerate().all(|(l, (a, b))| l == ranks || a == b);
    let mut stages: Vec<(&[f64], f64)> = Vec::new();
    let mut different: Vec<f64> = Vec::new();
    for (point, &waited) in points.iter().zip(y) {
        let p = point[ranks];
        if p < 1.0 || p.fract() != 0.0 || p > 1e9 {
            return None;
        }
        let depth = depth(p as u64, dimensions) as f64;
        if depth == 0.0 {
            // One rank, or fewer than the dimensions ask for: nobody waits.
            if waited != 0.0 {
                return None;
            }
            continue;
        }
        if !different.contains(&p) {
            different.push(p);
        }
        let stage = waited / depth;
        match stages.iter().find(|known| same_but_ranks(known.0, point)) {
            Some(known) if (stage - known.1).abs() > TOLERANCE * known.1.abs() => return None,
            Some(_) => {}
            None => stages.push((point, stage)),
        }
    }
    (different.len() >= LEAST && stages.iter().all(|stage| stage.1 > 0.0)).then_some(stages)
}

/// The functions of the waiting `y`, best first: a depth in the parameter `ranks` times those that `find` finds for what
/// a stage costs. `None` where waiting is no such product, or what a stage costs is not found.
pub(crate) fn functions<'a>(
    points: &[&'a [f64]],
    y: &[f64],
    ranks: usize,
    find: impl FnOnce(Vec<&'a [f64]>, &[f64]) -> Vec<Found>,
) -> Option<Vec<Found>> {
    let (dimensions, stages) = (2..=3).chain([1]).find_map(|d| Some((d, per_stage(points, y, ranks, d)?)))?;
    let (points, values): (Vec<&[f64]>, Vec<f64>) = stages.into_iter().unzip();
    let found = find(points, &values);
    // With few values of the other parameters nothing may be known of a stage; all values together say more.
    found.first().filter(|stage| stage.exact || stage.residual < TOLERANCE)?;
    Some(found.iter().map(|stage| times_depth(stage, ranks, dimensions)).collect())
}

/// The function times d·p^(1/d) - d.
fn times_depth(stage: &Found, ranks: usize, dimensions: u32) -> Found {
    let d = f64::from(dimensions);
    let root = Factor { parameter: ranks, exponent: Exponent::new(1, dimensions.cast_signed()), log_exponent: 0 };
    let with_root = |shape: &Shape| {
        let mut factors: Vec<Factor> = shape.iter().copied().chain([root]).collect();
        factors.sort_by_key(|factor| factor.parameter);
        factors.into_iter().collect::<Shape>()
    };
    let constant = (Shape::default(), stage.constant);
    let mut terms: Vec<(Shape, f64)> = Vec::new();
    for (shape, c) in stage.terms.iter().chain(std::iter::once(&constant)).filter(|term| term.1 != 0.0) {
        terms.push((with_root(shape), d * c));
        if !shape.is_empty() {
            terms.push((shape.clone(), -d * c));
        }
    }
    // What lopsided cuboids differ by is the rounding of the depth.
    Found { constant: -d * stage.constant, terms, residual: stage.residual, exact: stage.exact, score: stage.score }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_by_hand() {
        assert_eq!([1, 2, 8, 12, 27, 64].map(|p| depth(p, 3)), [0, 1, 3, 4, 6, 9]);
        assert_eq!([1, 4, 6, 16, 64].map(|p| depth(p, 2)), [0, 2, 3, 6, 14]);
        assert_eq!(depth(7, 1), 6);
    }

    #[test]
    fn waiting_that_is_no_depth_is_refused() {
        let points: Vec<[f64; 1]> = [2.0, 4.0, 8.0, 16.0].map(|p| [p]).to_vec();
        let points: Vec<&[f64]> = points.iter().map(<[f64; 1]>::as_slice).collect();
        let find = |_: Vec<&[f64]>, _: &[f64]| unreachable!("a tree is no cuboid");
        // log2(p) stages, as in a tree.
        assert!(functions(&points, &[100.0, 200.0, 300.0, 400.0], 0, find).is_none());
    }
}
