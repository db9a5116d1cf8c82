//! What the shape of a plane or cuboid of ranks does to counts. Where ranks wait for a sweep to reach them, the function
//! behind logical waiting is known: so many stages as the decomposition is
//! deep, times what a stage costs.
//!
//! In a plane or cuboid of p ranks a sweep from corner to corner takes as many stages as the extents less one make
//! together. Divided by that number, exact for the p that were measured, waiting is what a stage costs: the same for all numbers of
//! ranks, or, where each rank's work or message depends on them, a function of them that has no steps of a
//! decomposition. The function then has the depth of a perfect square or cube in its place, d·p^(1/d) - d.

use crate::effort::Found;
use crate::library::Shape;
use crate::model::{Exponent, Factor};
use crate::priors::multiply;

/// The least number of different p that tell a depth from chance.
const LEAST: usize = 3;
/// How far waiting per stage may differ between numbers of ranks, relatively: ranks at the edges do a little less.
pub(crate) const TOLERANCE: f64 = 1e-3;
/// The least number of different p where what a stage costs depends on them.
const LEAST_OF_STAGES: usize = 5;
/// Where a stage depends on p and its function is longer than that of the waiting itself without any depth, it must leave at
/// most this share of what the other does.
const CLOSER: f64 = 0.25;

/// The extents of the most even cuboid of so many ranks, that with the smallest sum. `MPI_Dims_create` wants them "as close to
/// each other as possible".
fn extents(ranks: u64, dimensions: u32) -> Vec<u64> {
    if dimensions <= 1 {
        return vec![ranks];
    }
    let divisors = (1..=ranks).take_while(|x| x.checked_pow(dimensions).is_some_and(|x| x <= ranks));
    let with = |x: u64| [vec![x], extents(ranks / x, dimensions - 1)].concat();
    let all = divisors.filter(|x| ranks.is_multiple_of(*x)).map(with);
    all.min_by_key(|extents| extents.iter().sum::<u64>()).unwrap_or_default()
}

/// Sum of the extents less one.
pub(crate) fn depth(ranks: u64, dimensions: u32) -> u64 {
    extents(ranks, dimensions).iter().map(|x| x - 1).sum()
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

/// What a stage costs at each point if ranks wait for a sweep over so many dimensions; `None` where that cannot be.
fn divided<'a>(points: &[&'a [f64]], y: &[f64], ranks: usize, dimensions: u32) -> Option<(Vec<&'a [f64]>, Vec<f64>)> {
    let mut stages = (Vec::new(), Vec::new());
    for (point, &waited) in points.iter().zip(y) {
        let depth = depth(point[ranks] as u64, dimensions) as f64;
        if waited <= 0.0 && depth > 0.0 || waited != 0.0 && depth == 0.0 {
            return None;
        }
        if depth > 0.0 {
            stages.0.push(*point);
            stages.1.push(waited / depth);
        }
    }
    Some(stages)
}

/// What waiting is a function of.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    /// The functions of all of it, best first.
    pub found: Vec<Found>,
    /// That of the stages that are waited for, where it is so many times what one costs.
    pub stages: Option<Found>,
}

impl Waiting {
    /// That for `stages`, of which each costs what `costs` say, best first.
    pub fn of_stages(costs: &[Found], stages: &Found) -> Self {
        Self { found: costs.iter().map(|cost| times(cost, stages)).collect(), stages: Some(stages.clone()) }
    }
}

/// The functions of the waiting `y`: a depth in the parameter `ranks` times those that `find` finds for what
/// a stage costs, or those that it finds without a depth. `None` where nothing is known of what a stage costs.
pub(crate) fn functions<'a>(
    points: &[&'a [f64]],
    y: &[f64],
    ranks: usize,
    mut find: impl FnMut(Vec<&'a [f64]>, &[f64]) -> Vec<Found>,
) -> Option<Waiting> {
    let is_found = |found: &[Found]| found.first().is_some_and(|stage| stage.exact || stage.residual < TOLERANCE);
    if let Some((dimensions, stages)) = (2..=3).chain([1]).find_map(|d| Some((d, per_stage(points, y, ranks, d)?))) {
        let (points, values): (Vec<&[f64]>, Vec<f64>) = stages.into_iter().unzip();
        let found = find(points, &values);
        // With few values of the other parameters nothing may be known of a stage; all values together say more.
        return is_found(&found).then(|| Waiting::of_stages(&found, &stages_of(ranks, dimensions)));
    }
    let mut different: Vec<f64> = points.iter().map(|x| x[ranks]).collect();
    different.sort_by(f64::total_cmp);
    different.dedup();
    let are_ranks = different.iter().all(|p| *p >= 1.0 && p.fract() == 0.0 && *p <= 1e9);
    if !are_ranks || different.len() < LEAST_OF_STAGES {
        return None;
    }
    // Waiting that needs no depth to be explained, such as that for the levels of a tree, has none.
    let direct = find(points.to_vec(), y);
    if direct.first().is_some_and(|f| f.exact) {
        return Some(Waiting { found: direct, stages: None });
    }
    let swept = (2..=3).filter_map(|dimensions| {
        let (points, stages) = divided(points, y, ranks, dimensions)?;
        let found = find(points, &stages);
        is_found(&found).then_some((dimensions, found))
    });
    let closest = swept.min_by(|a, b| a.1[0].residual.total_cmp(&b.1[0].residual));
    let is_better = |stage: &Found| {
        let better = |direct: &Found| {
            let is_simpler = stage.terms.len() <= direct.terms.len() && stage.residual < direct.residual;
            is_simpler || stage.residual < CLOSER * direct.residual
        };
        direct.first().is_none_or(better)
    };
    Some(match closest.filter(|(_, stages)| is_better(&stages[0])) {
        Some((dimensions, found)) => Waiting::of_stages(&found, &stages_of(ranks, dimensions)),
        None => Waiting { found: direct, stages: None },
    })
}

/// The dimensions of an open grid of ranks in which each sends as much to its next neighbour in every dimension and those at the
/// end of one have none: there the mean over ranks is less than the most by the share of the neighbours that exist, exactly
/// that of the most even cuboid. `None` where the two differ otherwise, or not at all.
pub(crate) fn open_grid(points: &[&[f64]], most: &[f64], mean: &[f64], ranks: usize) -> Option<u32> {
    let mut different: Vec<f64> = points.iter().map(|x| x[ranks]).filter(|p| *p > 1.0).collect();
    different.sort_by(f64::total_cmp);
    different.dedup();
    let are_ranks = points.iter().all(|x| x[ranks] >= 1.0 && x[ranks].fract() == 0.0 && x[ranks] <= 1e9);
    if !are_ranks || different.len() < LEAST || most == mean || most.len() != mean.len() {
        return None;
    }
    let has = |dimensions: u32| {
        points.iter().zip(most).zip(mean).all(|((x, most), mean)| {
            let extents = extents(x[ranks] as u64, dimensions);
            let (existing, possible): (f64, f64) = extents
                .iter()
                .filter(|extent| **extent > 1)
                .fold((0.0, 0.0), |(share, count), &extent| (share + 1.0 - 1.0 / extent as f64, count + 1.0));
            (mean * possible - most * existing).abs() <= 1e-9 * most * possible
        })
    };
    (2..=3).chain([1]).find(|&dimensions| has(dimensions))
}

/// In which share of its dimensions the most even grid of so many ranks has more than one; `None` where it has in none.
pub(crate) fn share_of_dimensions(ranks: f64, dimensions: u32) -> Option<f64> {
    let longer = extents(ranks as u64, dimensions).iter().filter(|extent| **extent > 1).count();
    (longer > 0).then(|| longer as f64 / f64::from(dimensions))
}

/// The function times the number of ranks.
pub(crate) fn times_ranks(found: &Found, ranks: usize) -> Found {
    let rank = Factor { parameter: ranks, exponent: Exponent::from_integer(1), log_exponent: 0 };
    let constant = (found.constant != 0.0).then(|| (Shape::default(), found.constant));
    let all = found.terms.iter().cloned().chain(constant);
    Found { constant: 0.0, terms: all.map(|(shape, c)| (multiply(&shape, &[rank]), c)).collect(), ..found.clone() }
}

/// The function times 1 - p^(-1/d), the share of neighbours that exist in an open grid.
pub(crate) fn of_existing(found: &Found, ranks: usize, dimensions: u32) -> Found {
    let missing = Factor { parameter: ranks, exponent: Exponent::new(-1, dimensions.cast_signed()), log_exponent: 0 };
    let constant = (found.constant != 0.0).then(|| (Shape::default(), found.constant));
    let without = found.terms.iter().cloned().chain(constant).map(|(shape, c)| (multiply(&shape, &[missing]), -c));
    let mut all = found.clone();
    all.terms.extend(without);
    all
}

/// What is zero at one rank: the share of ranks, and of neighbours in open grids of two and three dimensions, that there are
/// (1 - p^(-1/d)), the rounds of a tree (log2 p), and the other ranks (p - 1).
pub(crate) fn zero_at_one(ranks: usize) -> Vec<Found> {
    let factor = |exponent, log_exponent| vec![Factor { parameter: ranks, exponent, log_exponent }];
    let function = |constant, shape, coefficient| Found {
        constant,
        terms: vec![(shape, coefficient)],
        residual: 0.0,
        exact: true,
        score: 0.0,
    };
    let share = |dimensions: i32| function(1.0, factor(Exponent::new(-1, dimensions), 0), -1.0);
    let tree = function(0.0, factor(Exponent::from_integer(0), 1), 1.0);
    let others = function(-1.0, factor(Exponent::from_integer(1), 0), 1.0);
    vec![share(1), tree, others, share(2), share(3)]
}

/// d·p^(1/d) - d, the depth of a grid.
pub(crate) fn stages_of(ranks: usize, dimensions: u32) -> Found {
    let d = f64::from(dimensions);
    let root = Factor { parameter: ranks, exponent: Exponent::new(1, dimensions.cast_signed()), log_exponent: 0 };
    // What lopsided cuboids differ by is the rounding of the depth.
    Found { constant: -d, terms: vec![(vec![root], d)], residual: 0.0, exact: true, score: 0.0 }
}

/// The function times another; how close it comes to what it is of stays.
pub(crate) fn times(found: &Found, other: &Found) -> Found {
    let all = |found: &Found| -> Vec<(Shape, f64)> {
        let constant = (Shape::default(), found.constant);
        found.terms.iter().cloned().chain(std::iter::once(constant)).filter(|term| term.1 != 0.0).collect()
    };
    let mut product = Found { constant: 0.0, terms: Vec::new(), ..found.clone() };
    for (shape, c) in all(found) {
        for (factor, more) in all(other) {
            add(&mut product, multiply(&shape, &factor), c * more);
        }
    }
    product
}

/// Adds a term to a function, to that of its shape where there is one.
pub(crate) fn add(found: &mut Found, shape: Shape, coefficient: f64) {
    if shape.is_empty() {
        found.constant += coefficient;
    } else if let Some(same) = found.terms.iter_mut().find(|term| term.0 == shape) {
        same.1 += coefficient;
    } else {
        found.terms.push((shape, coefficient));
    }
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
    fn neighbours_that_exist_are_counted() {
        let points: Vec<[f64; 1]> = [4.0, 8.0, 16.0].map(|p| [p]).to_vec();
        let points: Vec<&[f64]> = points.iter().map(<[f64; 1]>::as_slice).collect();
        // In planes of 2 x 2, 4 x 2 and 4 x 4 ranks, 4, 10 and 24 links lead on; most ranks have two.
        let mean = [4.0 / 4.0, 10.0 / 8.0, 24.0 / 16.0].map(|links| 100.0 * links);
        assert_eq!(open_grid(&points, &[200.0; 3], &mean, 0), Some(2));
        assert_eq!(open_grid(&points, &[200.0; 3], &[100.0, 125.0, 151.0], 0), None);
        assert_eq!(open_grid(&points, &[200.0; 3], &[200.0; 3], 0), None, "a ring");
        assert_eq!(open_grid(&points, &[200.0; 3], &[150.0, 175.0, 187.5], 0), Some(1), "a chain");
        let bytes = Found { constant: 200.0, terms: Vec::new(), residual: 0.0, exact: true, score: 0.0 };
        assert!((of_existing(&bytes, 0, 2).at(&[16.0]) - 150.0).abs() < 1e-9);
        // 2 x 1 ranks have one of two dimensions, and one rank has none.
        assert_eq!([1.0, 2.0, 4.0].map(|p| share_of_dimensions(p, 2)), [None, Some(0.5), Some(1.0)]);
        assert!((times_ranks(&bytes, 0).at(&[16.0]) - 3200.0).abs() < 1e-9);
    }

    #[test]
    fn waiting_that_is_no_depth_is_refused() {
        let points: Vec<[f64; 1]> = [2.0, 4.0, 8.0, 16.0].map(|p| [p]).to_vec();
        let points: Vec<&[f64]> = points.iter().map(<[f64; 1]>::as_slice).collect();
        let find = |_: Vec<&[f64]>, _: &[f64]| unreachable!("a tree is no cuboid");
        // log2(p) stages, as in a tree.
        assert!(functions(&points, &[100.0, 200.0, 300.0, 400.0], 0, find).is_none());
    }

    /// The functions of a sweep's waiting with this number of ranks, searched as counts are.
    fn searched(stages: impl Fn(u64) -> f64, ranks: [f64; 6]) -> Option<Vec<Found>> {
        let sets = crate::options::ExponentSets::default();
        let points: Vec<[f64; 1]> = ranks.map(|p| [p]).to_vec();
        let points: Vec<&[f64]> = points.iter().map(<[f64; 1]>::as_slice).collect();
        let y: Vec<f64> = ranks.iter().map(|p| stages(*p as u64)).collect();
        let find = |points: Vec<&[f64]>, y: &[f64]| -> Vec<Found> {
            let hypotheses = crate::hypotheses::Hypotheses::new(points, &sets);
            let exact =
                hypotheses.exact_function(y).map(|(constant, terms)| crate::effort::exact_count(constant, terms));
            exact.into_iter().collect()
        };
        functions(&points, &y, 0, find).map(|waiting| waiting.found)
    }

    #[test]
    fn stages_may_depend_on_the_ranks() {
        let ranks = [8.0, 16.0, 32.0, 64.0, 128.0, 256.0];
        let factor = |exponent| Factor { parameter: 0, exponent, log_exponent: 0 };
        let shapes = |found: &[Found]| found[0].terms.clone();
        // Each stage takes 10 + 3p; a plane of p ranks is depth(p, 2) deep, whose function is 2·p^(1/2) - 2.
        let found = searched(|p| (10.0 + 3.0 * p as f64) * depth(p, 2) as f64, ranks).expect("a sweep over a plane");
        let [root, one, both] = [(1, 2), (1, 1), (3, 2)].map(|(n, d)| vec![factor(Exponent::new(n, d))]);
        assert_eq!(shapes(&found), [(both, 6.0), (one, -6.0), (root, 20.0)]);
        assert_eq!(found[0].constant, -20.0);
        // The levels of a tree, with such stages, are found without any depth.
        let tree = searched(|p| 5.0 * (p as f64) * (p as f64).log2(), ranks).expect("a tree");
        assert_eq!(shapes(&tree), [(vec![Factor { log_exponent: 1, ..factor(1.into()) }], 5.0)]);
    }
}
