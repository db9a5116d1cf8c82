//! The simplex method of Nelder and Mead (A simplex method for function minimization, The Computer Journal 7, 1965) with
//! its usual steps: reflection by 1, expansion by 2, contraction and shrinking by a half.

/// A corner of the simplex and the cost there.
type Corner = (Vec<f64>, f64);

/// Where `cost` is least, as far as at most `steps` steps from the corners of `simplex` find it; they end where the sample
/// standard deviation of the corners' costs falls below `tolerance`. `simplex` has one corner more than dimensions.
pub(crate) fn minimise(
    simplex: Vec<Vec<f64>>,
    mut cost: impl FnMut(&[f64]) -> f64,
    tolerance: f64,
    steps: usize,
) -> Vec<f64> {
    let with_cost = |corner: Vec<f64>| {
        let cost = cost(&corner);
        (corner, cost)
    };
    let mut corners: Vec<Corner> = simplex.into_iter().map(with_cost).collect();
    let last = corners.len() - 1;
    let (mut centre, mut tried, mut farther) = (vec![0.0; last], vec![0.0; last], vec![0.0; last]);
    sort(&mut corners);
    for _ in 0..steps {
        if deviation(&corners) < tolerance {
            break;
        }
        centroid(&corners[..last], &mut centre);
        towards(&centre, &corners[last].0, -1.0, &mut tried);
        let reflected = cost(&tried);
        if reflected < corners[0].1 {
            towards(&centre, &tried, 2.0, &mut farther);
            let expanded = cost(&farther);
            let (at, least) = if expanded < reflected { (&farther, expanded) } else { (&tried, reflected) };
            replace(&mut corners[last], at, least);
        } else if reflected < corners[last - 1].1 {
            replace(&mut corners[last], &tried, reflected);
        } else {
            let is_outside = reflected < corners[last].1;
            towards(&centre, if is_outside { &tried } else { &corners[last].0 }, 0.5, &mut farther);
            let contracted = cost(&farther);
            if if is_outside { contracted <= reflected } else { contracted < corners[last].1 } {
                replace(&mut corners[last], &farther, contracted);
            } else {
                let (best, others) = corners.split_first_mut().expect("there is a corner");
                for (corner, at) in others {
                    corner.iter_mut().zip(&best.0).for_each(|(x, b)| *x = b + (*x - b) * 0.5);
                    *at = cost(corner);
                }
            }
        }
        sort(&mut corners);
    }
    corners.swap_remove(0).0
}

/// The best corner first.
fn sort(corners: &mut [Corner]) {
    corners.sort_by(|a, b| a.1.total_cmp(&b.1));
}

fn replace(corner: &mut Corner, at: &[f64], cost: f64) {
    corner.0.copy_from_slice(at);
    corner.1 = cost;
}

/// `out = from + share (to - from)`.
fn towards(from: &[f64], to: &[f64], share: f64, out: &mut [f64]) {
    out.iter_mut().zip(from).zip(to).for_each(|((out, from), to)| *out = from + (to - from) * share);
}

fn centroid(corners: &[Corner], centre: &mut [f64]) {
    centre.copy_from_slice(&corners[0].0);
    for corner in &corners[1..] {
        centre.iter_mut().zip(&corner.0).for_each(|(c, x)| *c += x);
    }
    let share = 1.0 / corners.len() as f64;
    centre.iter_mut().for_each(|c| *c *= share);
}

/// Sample standard deviation of the corners' costs.
fn deviation(corners: &[Corner]) -> f64 {
    let n = corners.len() as f64;
    let mean = corners.iter().map(|c| c.1).sum::<f64>() / n;
    (corners.iter().map(|c| (c.1 - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(start: &[f64]) -> Vec<Vec<f64>> {
        let mut simplex = vec![start.to_vec()];
        for k in 0..start.len() {
            let mut corner = start.to_vec();
            corner[k] += 0.2;
            simplex.push(corner);
        }
        simplex
    }

    #[test]
    fn a_curved_valley_ends_at_its_lowest_point() {
        // Rosenbrock's function, whose least value is at (1, 1).
        let valley = |x: &[f64]| (1.0 - x[0]).powi(2) + 100.0 * (x[1] - x[0] * x[0]).powi(2);
        let least = minimise(from(&[-1.2, 1.0]), valley, 1e-12, 1000);
        assert!(least.iter().all(|x| (x - 1.0).abs() < 1e-4), "{least:?}");
    }

    /// The steps are those of an implementation by others, to the last bit.
    #[test]
    fn steps_are_those_of_argmin() {
        use argmin::core::{CostFunction, Error, Executor};
        use argmin::solver::neldermead::NelderMead;

        /// Steep and flat by turns, with kinks, so that all kinds of steps are taken.
        fn rough(x: &[f64]) -> f64 {
            let of = |(k, x): (usize, &f64)| (k + 1) as f64 * (x - k as f64).abs() + (3.0 * x).sin().powi(2);
            x.iter().enumerate().map(of).sum()
        }
        struct Rough;
        impl CostFunction for Rough {
            type Param = Vec<f64>;
            type Output = f64;
            fn cost(&self, x: &Self::Param) -> Result<f64, Error> {
                Ok(rough(x))
            }
        }
        for start in [vec![0.7], vec![-1.2, 1.0], vec![5.0, -3.0, 0.1], vec![1.0, 1.0, 1.0, 9.0]] {
            for steps in [3, 20, 200] {
                let solver = NelderMead::new(from(&start)).with_sd_tolerance(1e-3).unwrap();
                let theirs = Executor::new(Rough, solver).configure(|s| s.max_iters(steps)).run().unwrap();
                let ours = minimise(from(&start), rough, 1e-3, steps as usize);
                assert_eq!(theirs.state.best_param.unwrap(), ours, "from {start:?} in {steps} steps");
            }
        }
    }
}
