//! Points that may be measured next, and the first ones.

use crate::experiment::Experiment;

/// So many combinations are looked at one by one; each step of a plan weighs all of them for every call path.
const MOST_CANDIDATES: f64 = 1500.0;

/// Points that could be measured, ascending, and whether they were: all combinations of the measured values and of
/// those that continue each parameter's values, up to the target's and down to those of `down_to`. Where these are too many, as
/// of four parameters, the measured points and those of a first design, of the values above and of all.
pub(super) fn candidates(experiment: &Experiment, target: &[f64], down_to: &[f64]) -> Vec<(Vec<f64>, bool)> {
    let levels = experiment.levels();
    let least = |l: usize| down_to.get(l).copied().unwrap_or(f64::INFINITY);
    let below: Vec<Vec<f64>> = levels.iter().enumerate().map(|(l, values)| downwards(values, least(l))).collect();
    let above: Vec<Vec<f64>> = levels.into_iter().zip(target).map(|(values, target)| axis(values, *target)).collect();
    let axes: Vec<Vec<f64>> = below.iter().zip(&above).map(|(below, above)| [&below[..], above].concat()).collect();
    let mut points = experiment.points.clone();
    for axes in [above, axes] {
        let combinations: f64 = axes.iter().map(|axis| axis.len() as f64).product();
        points.extend(if combinations <= MOST_CANDIDATES { product(&axes) } else { first_design(&axes) });
    }
    points.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    points.dedup();
    let is_measured = |at: &Vec<f64>| experiment.points.contains(at);
    let others = points.into_iter().filter(|at| at.as_slice() != target);
    others.map(|at| (is_measured(&at), at)).map(|(m, at)| (at, m)).collect()
}

/// Points along each parameter that has one value in all points and another at the target, the other parameters at their smallest
/// values.
pub(super) fn unmeasured(experiment: &Experiment, target: &[f64]) -> Vec<Vec<f64>> {
    let values = experiment.levels();
    if values.iter().any(Vec::is_empty) {
        return Vec::new();
    }
    let smallest: Vec<f64> = values.iter().map(|values| values[0]).collect();
    let along = |l: usize| towards(smallest[l], target[l]).into_iter().map(|x| with(&smallest, &[(l, x)])).collect();
    let is_unmeasured = |l: &usize| values[*l].len() == 1 && values[*l][0] != target[*l];
    (0..target.len()).filter(is_unmeasured).flat_map(|l| -> Vec<_> { along(l) }).collect()
}

/// Up to four values from `value` towards `target`, each twice or half the one before, the last being `target` if it is not further.
fn towards(value: f64, target: f64) -> Vec<f64> {
    let is_up = target > value;
    let is_whole = value.fract() == 0.0 && target.fract() == 0.0;
    let next = |x: &f64| {
        Some(if is_up {
            2.0 * x
        } else if is_whole {
            (0.5 * x).floor()
        } else {
            0.5 * x
        })
    };
    let is_before = |x: &f64| if is_up { *x < target } else { *x > target };
    let mut values: Vec<f64> =
        std::iter::successors(next(&value), next).take_while(is_before).take(MOST_FIRST).collect();
    if values.len() < MOST_FIRST {
        values.push(target);
    }
    values
}

/// With the value that was measured these make the five that a function of one parameter needs.
const MOST_FIRST: usize = 4;

/// So many values of a parameter continue the measured ones, up or down.
const MOST_BEYOND: usize = 4;

/// The measured `values` of a parameter, and those that go on as they do while they stay below the target.
fn axis(mut values: Vec<f64>, target: f64) -> Vec<f64> {
    let measured = values.len();
    let family = Family::of(&values);
    while let [.., a, b] = values[..] {
        let next = family.next(a, b);
        if !(next <= target && values.len() < measured + MOST_BEYOND) {
            break;
        }
        values.push(next);
    }
    values
}

/// Up to four values that come before the measured `values` of a parameter as these go on, none below `least`.
fn downwards(values: &[f64], least: f64) -> Vec<f64> {
    let &[first, second, ..] = values else { return Vec::new() };
    let family = Family::of(values);
    let is_whole = values.iter().all(|x| x.fract() == 0.0);
    let mut below = Vec::new();
    let (mut a, mut b) = (first, second);
    while below.len() < MOST_BEYOND {
        (a, b) = (family.next(b, a), a);
        if a <= 0.0 || a < least || is_whole && a.fract() != 0.0 {
            break;
        }
        below.insert(0, a);
    }
    below
}

/// What the values of a parameter have in common, which those to measure next should share: a program may run on cubes alone.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Family {
    /// A constant factor.
    Geometric,
    /// Powers of two to so many, some of them left out: 64 and 4096 are squares and cubes, and what follows is both, too.
    PowersOfTwo(i32),
    /// Cubes or squares of whole numbers.
    Powers(i32),
    /// Anything else: the last step goes on.
    Steps,
}

impl Family {
    /// The family of `values`, which ascend and are different.
    fn of(values: &[f64]) -> Self {
        let factor = |pair: &[f64]| pair[1] / pair[0];
        let all = |is_one: &dyn Fn(f64) -> bool| values.iter().all(|&x| x >= 1.0 && is_one(x));
        if values.len() < 3 {
            return Self::Steps;
        }
        if values.windows(2).all(|pair| (factor(pair) / factor(values) - 1.0).abs() < 1e-9) {
            return Self::Geometric;
        }
        if all(&|x| x.log2().fract() == 0.0) {
            let is_step = |step: &i32| values.iter().all(|x| x.log2() % f64::from(*step) == 0.0);
            return Self::PowersOfTwo([6, 3, 2].into_iter().find(is_step).unwrap_or(1));
        }
        let is_power = |power: i32| move |x: f64| root(x, power).powi(power) == x;
        [3, 2].into_iter().find(|&power| all(&is_power(power))).map_or(Self::Steps, Self::Powers)
    }

    /// What comes after `a` and `b`, the last two on the way up or down; zero where nothing does.
    fn next(self, a: f64, b: f64) -> f64 {
        let next = match self {
            Self::Geometric => b * b / a,
            Self::PowersOfTwo(step) if b > a => b * 2.0_f64.powi(step),
            Self::PowersOfTwo(step) => b * 0.5_f64.powi(step),
            Self::Powers(power) => (2.0 * root(b, power) - root(a, power)).max(0.0).powi(power),
            Self::Steps => b + (b - a),
        };
        // Steps of 0.1 do not add up to tenths; whole numbers are exact.
        if next.fract() == 0.0 { next } else { format!("{next:.11e}").parse().unwrap_or(next) }
    }
}

/// The whole number nearest to this root of `x`.
fn root(x: f64, power: i32) -> f64 {
    x.powf(1.0 / f64::from(power)).round()
}

/// All combinations, the last parameter varying fastest.
fn product(axes: &[Vec<f64>]) -> Vec<Vec<f64>> {
    axes.iter().fold(vec![Vec::new()], |points, axis| {
        points.iter().flat_map(|p| axis.iter().map(move |&x| [p.as_slice(), &[x]].concat())).collect()
    })
}

/// A first set of points for `axes`, the ascending values that each parameter may take: a line along each parameter, with
/// the others at their smallest values, and for each pair of parameters a few points in which both grow.
///
/// With effort beside the times this is enough for the shape: the lines tell each parameter's growth, and the pairs
/// whether growths add or multiply. It has far fewer points than all combinations, and none of the expensive ones.
///
/// ```
/// let points = modeler::advise::first_design(&[vec![2.0, 4.0, 8.0], vec![10.0, 20.0, 40.0]]);
/// for on_a_line in [[2.0, 10.0], [4.0, 10.0], [8.0, 10.0], [2.0, 20.0], [2.0, 40.0]] {
///     assert!(points.contains(&on_a_line.to_vec()));
/// }
/// assert!(points.len() < 9 && points.iter().any(|x| x[0] > 2.0 && x[1] > 10.0));
/// ```
#[must_use]
pub fn first_design(axes: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let smallest: Vec<f64> = axes.iter().map(|axis| axis[0]).collect();
    let mut points = vec![smallest.clone()];
    for (l, axis) in axes.iter().enumerate() {
        points.extend(axis[1..].iter().map(|&x| with(&smallest, &[(l, x)])));
    }
    for a in 0..axes.len() {
        for b in a + 1..axes.len() {
            let steps = axes[a].len().min(axes[b].len());
            points.extend((1..steps.min(PAIRED + 1)).map(|i| with(&smallest, &[(a, axes[a][i]), (b, axes[b][i])])));
        }
    }
    points.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    points.dedup();
    points
}

/// Points in which a pair of parameters grows.
const PAIRED: usize = 3;

fn with(point: &[f64], changes: &[(usize, f64)]) -> Vec<f64> {
    let mut changed = point.to_vec();
    changes.iter().for_each(|&(l, x)| changed[l] = x);
    changed
}

#[cfg(test)]
mod tests {
    use super::super::tests::{N, P, measured};
    use super::*;
    use crate::experiment::ExperimentBuilder;

    #[test]
    fn candidates_go_on_as_the_measured_values_do_and_stay_below_the_target() {
        let experiment = measured(&P[..3], &N[..3], |p, n, _| (p * n, None));
        let [p, n] = <[_; 2]>::try_from(experiment.levels()).unwrap();
        assert_eq!(axis(p, 256.0), [4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0]);
        assert_eq!(axis(n, 450.0), [100.0, 200.0, 300.0, 400.0]);
        let all = candidates(&experiment, &[16.0, 300.0], &[]);
        assert_eq!(all.len(), 8, "the target itself is not a candidate: {all:?}");
        assert!(all.iter().all(|(_, was_measured)| *was_measured));
        let all = candidates(&experiment, &[16.0, 300.0], &[2.0]);
        let below: Vec<_> = all.iter().filter(|(_, was_measured)| !was_measured).map(|(at, _)| &at[..]).collect();
        assert_eq!(below, [[2.0, 100.0], [2.0, 200.0], [2.0, 300.0]], "and nothing is above it: {all:?}");
    }

    #[test]
    fn values_go_on_downwards_as_far_as_is_asked_for() {
        assert_eq!(downwards(&[8.0, 16.0, 32.0], 2.0), [2.0, 4.0]);
        assert_eq!(downwards(&[8.0, 16.0, 32.0], 3.0), [4.0]);
        assert!(downwards(&[8.0, 16.0, 32.0], f64::INFINITY).is_empty());
        assert_eq!(downwards(&[256.0, 512.0, 1024.0], 1.0), [16.0, 32.0, 64.0, 128.0]);
        assert_eq!(downwards(&[2.0, 4.0, 8.0], 0.1), [1.0], "what was whole stays whole");
        assert_eq!(downwards(&[1.5, 3.0, 6.0], 0.3), [0.375, 0.75]);
        assert!(downwards(&[8000.0, 16000.0, 24000.0], 0.1).is_empty(), "nothing is zero");
        assert_eq!(downwards(&[3000.0, 4000.0, 5000.0], 1500.0), [2000.0]);
        assert_eq!(downwards(&[64.0, 125.0, 216.0], 8.0), [8.0, 27.0]);
        assert!(downwards(&[4.0, 16.0, 36.0], 0.1).is_empty(), "no edge is negative");
        assert_eq!(downwards(&[64.0, 128.0, 512.0], 16.0), [16.0, 32.0]);
        assert!(downwards(&[64.0], 2.0).is_empty());
    }

    #[test]
    fn values_towards_a_target_are_twice_or_half_the_one_before() {
        assert_eq!(towards(2.0, 4096.0), [4.0, 8.0, 16.0, 32.0]);
        assert_eq!(towards(2.0, 4.0), [4.0]);
        assert_eq!(towards(3.0, 20.0), [6.0, 12.0, 20.0]);
        assert_eq!(towards(64.0, 4.0), [32.0, 16.0, 8.0, 4.0]);
        assert_eq!(towards(7.0, 2.0), [3.0, 2.0], "ranks are whole numbers");
        assert_eq!(towards(1.0, 0.3), [0.5, 0.3]);
    }

    #[test]
    fn four_parameters_have_no_more_candidates_than_can_be_weighed() {
        let mut builder = ExperimentBuilder::new(["a", "b", "c", "d"]);
        for value in [1.0, 2.0, 4.0, 8.0, 16.0] {
            builder.point(&[value; 4]);
        }
        let experiment = builder.finish();
        let found = candidates(&experiment, &[64.0; 4], &[]);
        // The measured diagonal, lines of seven values and three points for each pair.
        let distinct = (5 + 4 * 6 + 6 * 3) as usize;
        assert!(found.len() <= distinct && found.len() >= distinct - 2, "{}", found.len());
        assert_eq!(found.iter().filter(|(_, was_measured)| *was_measured).count(), 5);
        assert!(found.iter().any(|(at, _)| at == &[64.0, 1.0, 1.0, 1.0]), "they go on towards the target");
        // Two values more along each, and lines from the smallest.
        let mut builder = ExperimentBuilder::new(["a", "b", "c", "d"]);
        for value in [4.0, 8.0, 16.0, 32.0, 64.0] {
            builder.point(&[value; 4]);
        }
        let more = candidates(&builder.finish(), &[256.0; 4], &[1.0; 4]);
        assert!(more.len() < 3 * distinct, "{}", more.len());
        let from = |least: f64| more.iter().any(|(at, _)| at == &[least, least, least, 2.0 * least]);
        assert!(from(4.0) && from(1.0), "{more:?}");
    }

    #[test]
    fn values_to_measure_next_are_of_the_family_of_those_before() {
        let next = |values: &[f64], target: f64| axis(values.to_vec(), target)[values.len()..].to_vec();
        assert_eq!(next(&[27.0, 64.0, 125.0, 216.0, 343.0], 2000.0), [512.0, 729.0, 1000.0, 1331.0]);
        assert_eq!(next(&[8.0, 64.0, 216.0], 600.0), [512.0], "even edges stay even");
        assert_eq!(next(&[4.0, 16.0, 36.0, 64.0], 200.0), [100.0, 144.0, 196.0]);
        assert_eq!(next(&[1.0, 2.0, 8.0, 32.0], 200.0), [64.0, 128.0]);
        assert_eq!(next(&[1.0, 8.0, 64.0], 600.0), [512.0], "a constant factor comes first");
        assert_eq!(next(&[32.0, 64.0, 128.0, 256.0], 1024.0), [512.0, 1024.0]);
        assert_eq!(next(&[10.0, 20.0, 40.0, 50.0], 70.0), [60.0, 70.0]);
        let tenths: Vec<f64> = (1..=9).map(|i| f64::from(i) * 0.1).collect();
        assert_eq!(next(&tenths, 1.35), [1.0, 1.1, 1.2, 1.3], "and no 1.3000000000000003");
    }

    #[test]
    fn a_first_design_is_far_smaller_than_all_combinations() {
        let axis = vec![1.0, 2.0, 4.0, 8.0, 16.0];
        // 4 m + 1 on the lines, 3 for each pair.
        for (m, expected) in [(1, 5), (2, 12), (3, 22), (4, 35)] {
            let points = first_design(&vec![axis.clone(); m]);
            assert_eq!(points.len(), expected);
            for l in 0..m {
                let mut values: Vec<f64> = points.iter().map(|p| p[l]).collect();
                values.sort_by(f64::total_cmp);
                values.dedup();
                assert_eq!(values, axis, "every value of every parameter is measured");
            }
        }
    }
}
