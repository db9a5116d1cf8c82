//! The least value of a function of a few variables, by the simplex of Nelder and Mead (The Computer Journal 7, 1965): a corner
//! more than variables, of which the worst is reflected, moved further, or drawn in. argmin's solver is the tests'
//! oracle; its bookkeeping costs more than the function that is minimised here.

/// How far the worst corner is moved, from itself through the centre of the others, as multiples of their distance.
const REFLECTED: f64 = -1.0;
/// The reflected corner is moved to so many times its distance where that made it the best.
const FURTHER: f64 = 2.0;
/// Share of its distance that is left of a corner drawn in, to the centre or, where nothing else helps, to the best corner.
const DRAWN_IN: f64 = 0.5;

/// A corner, and the function there.
type Corner = (Vec<f64>, f64);

/// Where `cost` is least, as far as a simplex comes in so many `rounds`, or until the deviation of its values at the
/// corners is below `tolerance`. It begins at `start` and `edge` beside it along each variable.
pub(crate) fn minimum(
    start: &[f64],
    edge: f64,
    (rounds, tolerance): (usize, f64),
    mut cost: impl FnMut(&[f64]) -> f64,
) -> Vec<f64> {
    let k = start.len();
    let mut corners: Vec<Corner> = Vec::with_capacity(k + 1);
    for moved in 0..=k {
        let mut corner = start.to_vec();
        if moved > 0 {
            corner[moved - 1] += edge;
        }
        let value = cost(&corner);
        corners.push((corner, value));
    }
    sort(&mut corners);
    let (mut centre, mut reflected, mut tried) = (vec![0.0; k], vec![0.0; k], vec![0.0; k]);
    for _ in 0..rounds {
        if k == 0 || deviation(&corners) < tolerance {
            break;
        }
        let (best, second_worst, worst) = (corners[0].1, corners[k - 1].1, corners[k].1);
        for (l, centre) in centre.iter_mut().enumerate() {
            *centre = corners[..k].iter().map(|corner| corner.0[l]).sum::<f64>() * (1.0 / k as f64);
        }
        from_centre(&centre, &corners[k].0, REFLECTED, &mut reflected);
        let of_reflected = cost(&reflected);
        if of_reflected < best {
            from_centre(&centre, &reflected, FURTHER, &mut tried);
            let of_tried = cost(&tried);
            match of_tried < of_reflected {
                true => replace(&mut corners[k], &mut tried, of_tried),
                false => replace(&mut corners[k], &mut reflected, of_reflected),
            }
        } else if of_reflected < second_worst {
            replace(&mut corners[k], &mut reflected, of_reflected);
        } else {
            let is_outside = of_reflected < worst;
            from_centre(&centre, if is_outside { &reflected } else { &corners[k].0 }, DRAWN_IN, &mut tried);
            let of_tried = cost(&tried);
            if if is_outside { of_tried <= of_reflected } else { of_tried < worst } {
                replace(&mut corners[k], &mut tried, of_tried);
            } else {
                draw_in_all(&mut corners, &mut cost);
            }
        }
        sort(&mut corners);
    }
    corners.swap_remove(0).0
}

/// The best first; of equal ones the older.
fn sort(corners: &mut [Corner]) {
    corners.sort_by(|a, b| a.1.partial_cmp(&b.1).unwrap_or(std::cmp::Ordering::Equal));
}

/// `centre + share (corner - centre)`.
fn from_centre(centre: &[f64], corner: &[f64], share: f64, out: &mut [f64]) {
    for ((out, centre), x) in out.iter_mut().zip(centre).zip(corner) {
        *out = centre + (x - centre) * share;
    }
}

/// Makes a corner the one with these coordinates, which are lost.
fn replace(corner: &mut Corner, by: &mut Vec<f64>, value: f64) {
    std::mem::swap(&mut corner.0, by);
    corner.1 = value;
}

/// Draws all corners in to the best one.
fn draw_in_all(corners: &mut [Corner], mut cost: impl FnMut(&[f64]) -> f64) {
    let (best, others) = corners.split_first_mut().expect("a simplex has corners");
    for (corner, value) in others {
        for (x, best) in corner.iter_mut().zip(&best.0) {
            *x = best + (*x - best) * DRAWN_IN;
        }
        *value = cost(corner);
    }
}

/// Standard deviation of the values at the corners.
fn deviation(corners: &[Corner]) -> f64 {
    let n = corners.len() as f64;
    let mean = corners.iter().map(|corner| corner.1).sum::<f64>() / n;
    (1.0 / (n - 1.0) * corners.iter().map(|corner| (corner.1 - mean).powi(2)).sum::<f64>()).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use argmin::core::{CostFunction, Error, Executor};
    use argmin::solver::neldermead::NelderMead;

    type Function<'a> = &'a dyn Fn(&[f64]) -> f64;

    struct Cost<'a>(Function<'a>);

    impl CostFunction for Cost<'_> {
        type Param = Vec<f64>;
        type Output = f64;

        fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
            Ok((self.0)(x))
        }
    }

    fn of_argmin(
        start: &[f64],
        edge: f64,
        (rounds, tolerance): (usize, f64),
        cost: &dyn Fn(&[f64]) -> f64,
    ) -> Vec<f64> {
        let mut simplex = vec![start.to_vec()];
        for k in 0..start.len() {
            let mut corner = start.to_vec();
            corner[k] += edge;
            simplex.push(corner);
        }
        let solver = NelderMead::new(simplex).with_sd_tolerance(tolerance).unwrap();
        let run = Executor::new(Cost(cost), solver).configure(|s| s.max_iters(rounds as u64)).run();
        run.unwrap().state.best_param.unwrap()
    }

    #[test]
    fn every_step_is_that_of_argmin() {
        let rosenbrock =
            |x: &[f64]| x.windows(2).map(|x| (1.0 - x[0]).powi(2) + 100.0 * (x[1] - x[0] * x[0]).powi(2)).sum::<f64>();
        // Plains, walls and kinks, where corners are drawn in.
        let steps = |x: &[f64]| x.iter().map(|x| (3.0 * (x - 0.3).abs()).floor()).sum::<f64>();
        let walled = |x: &[f64]| if x[0] < 0.2 { 1e12 } else { x.iter().map(|x| (x - 0.1).abs()).sum::<f64>() };
        let costs: [Function; 3] = [&rosenbrock, &steps, &walled];
        for cost in costs {
            for start in [vec![-1.2, 1.0], vec![0.7, 0.6, 0.9], vec![2.0, -0.5, 0.25, 1.0]] {
                for rounds in 0..150 {
                    let limits = (rounds, 1e-9);
                    assert_eq!(
                        minimum(&start, 0.2, limits, cost),
                        of_argmin(&start, 0.2, limits, cost),
                        "{rounds} {start:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_minimum_of_a_valley_is_found() {
        let found =
            minimum(&[-1.2, 1.0], 0.2, (400, 1e-12), |x| (1.0 - x[0]).powi(2) + 100.0 * (x[1] - x[0] * x[0]).powi(2));
        assert!((found[0] - 1.0).abs() < 1e-4 && (found[1] - 1.0).abs() < 1e-4, "{found:?}");
    }
}
