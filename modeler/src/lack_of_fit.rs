//! What a function misses at points whose repetitions agree: lack of fit, told from noise by the repetitions' own scatter.
//!
//! The test is that of lack of fit against pure error (Draper and Smith, Applied Regression Analysis, third edition, section 2.1) on
//! logarithms of measured over fitted values: noise alone scatters the means of points as much as repetitions say.

/// What the residuals of repeated measurements say of their function.
#[derive(Clone, Debug)]
pub(crate) struct LackOfFit {
    /// Relative deviation of the points' undisturbed values from the function.
    pub deviation: f64,
    /// By point: how far the mean of its logarithms lies above that of all.
    offsets: Vec<f64>,
    /// Of these, the part that noise explains.
    by_noise: f64,
}

/// Standard normal deviation that chance exceeds with a probability of one in a hundred.
const BEYOND_CHANCE: f64 = 2.326;

impl LackOfFit {
    /// Whether as many of the points have repetitions as [`Self::of`] needs, whose observations stand side by side: half of them.
    pub fn can_be_told(observations: &[(usize, f64)], points: usize) -> bool {
        let repeated = || observations.chunk_by(|a, b| a.0 == b.0).filter(|of_point| of_point.len() > 1).count();
        2 * observations.len() >= 3 * points && 2 * repeated() >= points
    }

    /// That of a function with `coefficients` coefficients whose values at the points are `fitted`; `observations` are measurements,
    /// each with the index of its point. `None` where noise explains it, at least half of the points have no repetitions, or values
    /// are zero.
    pub fn of(observations: &[(usize, f64)], fitted: &[f64], coefficients: usize) -> Option<Self> {
        if !Self::can_be_told(observations, fitted.len()) {
            return None;
        }
        let mut means = vec![0.0; fitted.len()];
        let mut counts = vec![0.0; fitted.len()];
        let logs: Vec<f64> = observations.iter().map(|&(i, y)| (y / fitted[i]).ln()).collect();
        for (&(i, _), log) in observations.iter().zip(&logs) {
            means[i] += log;
            counts[i] += 1.0;
        }
        means.iter_mut().zip(&counts).for_each(|(mean, count)| *mean /= count);
        let (n, points) = (logs.len() as f64, means.len() as f64);
        let freedom = [points - coefficients as f64, n - points];
        if freedom.iter().any(|f| *f < 1.0) || !logs.iter().all(|log| log.is_finite()) {
            return None;
        }
        let all = logs.iter().sum::<f64>() / n;
        let offsets: Vec<f64> = means.iter().map(|mean| mean - all).collect();
        let between = offsets.iter().zip(&counts).map(|(o, r)| r * o * o).sum::<f64>() / freedom[0];
        let within =
            observations.iter().zip(&logs).map(|(o, log)| (log - means[o.0]).powi(2)).sum::<f64>() / freedom[1];
        if !is_beyond_chance(between / within, freedom) {
            return None;
        }
        let usual_count = (n - counts.iter().map(|r| r * r).sum::<f64>() / n) / (points - 1.0);
        let deviation = ((between - within) / usual_count).sqrt();
        Some(Self { deviation, offsets, by_noise: (within / between).sqrt() })
    }

    /// The measurements as they would be if the function missed nothing: the means of points lie as far off it as noise explains.
    pub fn removed_from(&self, observations: &[(usize, f64)]) -> Vec<f64> {
        let missed = |i: usize| (1.0 - self.by_noise) * self.offsets[i];
        observations.iter().map(|&(i, y)| y * (-missed(i)).exp()).collect()
    }
}

/// Whether a quotient of variances of so many degrees of freedom is larger than chance makes it, by the normal approximation of its cube
/// root (Paulson, Annals of Mathematical Statistics 13, 1942).
fn is_beyond_chance(quotient: f64, freedom: [f64; 2]) -> bool {
    let [a, b] = freedom.map(|f| 2.0 / (9.0 * f));
    // Where all repetitions are equal, the limit for a quotient without end.
    let normal = if quotient.is_finite() {
        let root = quotient.cbrt();
        ((1.0 - b) * root - (1.0 - a)) / (b * root * root + a).sqrt()
    } else {
        (1.0 - b) / b.sqrt()
    };
    quotient > 1.0 && normal > BEYOND_CHANCE
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng, rngs::StdRng};
    use rand_distr::{Distribution, StandardNormal};

    /// Of `points` points `repetitions` measurements each about 10, with a deviation of `missed` between points and of `noise` within.
    fn drawn(rng: &mut StdRng, [points, repetitions]: [usize; 2], missed: f64, noise: f64) -> Vec<(usize, f64)> {
        let mut normal = || -> f64 { StandardNormal.sample(rng) };
        let mut all = Vec::new();
        for i in 0..points {
            let mean = 10.0 * (missed * normal()).exp();
            all.extend((0..repetitions).map(|_| (i, mean * (noise * normal()).exp())));
        }
        all
    }

    #[test]
    fn quotients_of_variances_are_beyond_chance_from_where_tables_say() {
        // The 99 % points of F that tables give.
        for (freedom, quotient) in [([5.0, 10.0], 5.636), ([10.0, 20.0], 3.368), ([24.0, 60.0], 2.115)] {
            assert!(is_beyond_chance(1.03 * quotient, freedom) && !is_beyond_chance(0.97 * quotient, freedom));
        }
        assert!(is_beyond_chance(f64::INFINITY, [4.0, 5.0]) && !is_beyond_chance(f64::NAN, [4.0, 5.0]));
    }

    #[test]
    fn noise_alone_is_no_lack_of_fit() {
        let rng = &mut StdRng::seed_from_u64(3);
        let found = (0..2000).filter(|_| LackOfFit::of(&drawn(rng, [12, 3], 0.0, 0.1), &[10.0; 12], 1).is_some());
        // One in a hundred, with a deviation of 4.5 of 20.
        let found = found.count();
        assert!((7..=33).contains(&found), "{found}");
        // One-sided noise as uneven as that of an exponential variable.
        let uneven = |rng: &mut StdRng| -> Vec<(usize, f64)> {
            (0..36).map(|k| (k / 3, 10.0 * (1.0 - 0.5 * rng.random::<f64>().max(1e-6).ln()))).collect()
        };
        let found = (0..2000).filter(|_| LackOfFit::of(&uneven(rng), &[10.0; 12], 1).is_some()).count();
        assert!(found <= 40, "{found}");
    }

    #[test]
    fn what_points_differ_by_is_found_and_removed() {
        let rng = &mut StdRng::seed_from_u64(4);
        let measured = drawn(rng, [400, 4], 0.2, 0.1);
        let found = LackOfFit::of(&measured, &[10.0; 400], 1).unwrap();
        assert!((found.deviation - 0.2).abs() < 0.02, "{}", found.deviation);
        let removed = found.removed_from(&measured);
        let left: Vec<(usize, f64)> = measured.iter().zip(&removed).map(|(o, y)| (o.0, *y)).collect();
        assert!(LackOfFit::of(&left, &[10.0; 400], 1).is_none());
        // Repetitions keep their quotients.
        for (before, after) in measured.chunks(4).zip(removed.chunks(4)) {
            assert!((before[1].1 / before[0].1 - after[1] / after[0]).abs() < 1e-12);
        }
    }

    #[test]
    fn without_repetitions_nothing_is_told() {
        let rng = &mut StdRng::seed_from_u64(5);
        assert!(LackOfFit::of(&drawn(rng, [25, 1], 0.5, 0.1), &[10.0; 25], 1).is_none());
        assert!(
            LackOfFit::of(&drawn(rng, [4, 3], 0.5, 0.1), &[10.0; 4], 4).is_none(),
            "as many coefficients as points"
        );
    }
}
