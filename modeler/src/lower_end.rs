//! Undisturbed times from repetitions: where noise only adds, the lower end of a point's repetitions is known better than their middle.

/// The smallest relative deviation of repetitions from which on it matters where between them the undisturbed time lies.
const LITTLE: f64 = 0.02;

/// By point the lower end of its repetitions, where noise that piles up there lets it be known better than their middle; `None` where
/// repetitions look the same from both sides, scatter by less than [`LITTLE`], or a point has fewer than three. `observations` are the
/// measurements with the indices of their points, each point's together and ascending.
///
/// The least of `r` values of an exponential variable of mean `s` above an edge lies `s/r` above it on average, and the next one
/// `s/(r - 1)` above that (Rényi, Acta Mathematica Hungarica 4, 1953): so far below the least one the edge is looked for, by the gaps of
/// all points together. This is the jackknife's estimate of an end too (Quenouille, Biometrika 43, 1956; Robson and Whitlock, Biometrika
/// 51, 1964), and of values that are spread evenly it is off by `1/(r (r + 1))` of their range.
///
/// The least value is worth more than the middle one if the gap above it is small. Evenly spread values have a mean squared gap of
/// `24/((r + 1)(r + 2))` of their variance; those of normal variables are larger from `r = 4` on, and the least of them is worth less.
pub(crate) fn of(observations: &[(usize, f64)]) -> Option<Vec<f64>> {
    if observations.len() < 3 || observations[0].0 != observations[2].0 {
        return None;
    }
    let (mut ends, mut gaps) = (Vec::new(), Vec::new());
    let (mut squares, mut freedom) = (0.0, 0.0);
    for repetitions in observations.chunk_by(|a, b| a.0 == b.0) {
        let r = repetitions.len() as f64;
        let mean = repetitions.iter().map(|o| o.1).sum::<f64>() / r;
        let [(_, least), (_, next), _, ..] = repetitions else { return None };
        if *least <= 0.0 {
            return None;
        }
        ends.push((*least, mean));
        gaps.push((r, (next - least) / mean));
        squares += repetitions.iter().map(|o| (o.1 / mean - 1.0).powi(2)).sum::<f64>();
        freedom += r - 1.0;
    }
    let (n, variance) = (ends.len() as f64, squares / freedom);
    let of_even = |r: f64| 24.0 / ((r + 1.0) * (r + 2.0));
    // One on average where values are spread evenly.
    let gap = gaps.iter().map(|(r, gap)| gap * gap / variance / of_even(*r)).sum::<f64>() / n;
    if variance < LITTLE * LITTLE || gap.is_nan() || gap >= 1.0 {
        return None;
    }
    let below = gaps.iter().map(|(r, gap)| gap * (r - 1.0) / r).sum::<f64>() / n;
    // What is far from all others may have a gap of its own.
    Some(ends.iter().map(|(least, mean)| (least - below * mean).max(0.5 * least)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, RngExt, SeedableRng, rngs::StdRng};
    use rand_distr::{Distribution, Exp1, StandardNormal};

    /// Repetitions of 25 points, of which the undisturbed times are 1 to 25, by what one is multiplied with.
    fn drawn(rng: &mut StdRng, repetitions: usize, noise: impl Fn(&mut StdRng) -> f64) -> Vec<(usize, f64)> {
        let mut all = Vec::new();
        for i in 0..25 {
            let mut values: Vec<f64> = (0..repetitions).map(|_| (i + 1) as f64 * noise(rng)).collect();
            values.sort_by(f64::total_cmp);
            all.extend(values.into_iter().map(|v| (i, v)));
        }
        all
    }

    /// How often ends were found, and the mean of them over the undisturbed times.
    fn found(repetitions: usize, noise: impl Fn(&mut StdRng) -> f64) -> (usize, f64) {
        let rng = &mut StdRng::seed_from_u64(7);
        let all: Vec<Vec<f64>> = (0..200).filter_map(|_| of(&drawn(rng, repetitions, &noise))).collect();
        let ratios = all.iter().flat_map(|ends| ends.iter().enumerate().map(|(i, end)| end / (i + 1) as f64));
        (all.len(), ratios.sum::<f64>() / (25 * all.len().max(1)) as f64)
    }

    fn normal(rng: &mut impl Rng) -> f64 {
        StandardNormal.sample(rng)
    }

    #[test]
    fn ends_of_noise_that_piles_up_there_are_found() {
        for repetitions in [3, 5, 10] {
            let exponential = |rng: &mut StdRng| 1.0 + 0.3 * Distribution::<f64>::sample(&Exp1, rng);
            let (count, end) = found(repetitions, exponential);
            assert!(count >= 190 && (end - 1.0).abs() < 0.02, "{repetitions}: {count} {end}");
            let of_half = |rng: &mut StdRng| 1.0 + if rng.random::<bool>() { 0.7 * rng.random::<f64>() } else { 0.0 };
            let (count, end) = found(repetitions, |rng| of_half(rng) * (1.0 + 0.01 * normal(rng)));
            assert!(count >= 190 && (end - 1.0).abs() < 0.06, "{repetitions}: {count} {end}");
        }
    }

    #[test]
    fn the_middle_stays_where_noise_goes_either_way_or_is_small() {
        let either_way = |rng: &mut StdRng| 1.0 + 0.05 * normal(rng);
        // Of few repetitions chance decides now and then.
        for (repetitions, most) in [(5, 60), (10, 10)] {
            let (count, _) = found(repetitions, either_way);
            assert!(count <= most, "{repetitions}: {count} of 200");
        }
        assert_eq!(found(5, |rng| 1.0 + 0.01 * Distribution::<f64>::sample(&Exp1, rng)).0, 0);
        assert_eq!(found(2, |rng| 1.0 + 0.3 * Distribution::<f64>::sample(&Exp1, rng)).0, 0);
        // One point without repetitions.
        let mut all = drawn(&mut StdRng::seed_from_u64(1), 5, |rng| 1.0 + 0.3 * rng.random::<f64>().powi(4));
        assert!(of(&all).is_some());
        all.truncate(24 * 5 + 1);
        assert_eq!(of(&all), None);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(0, 1.0), (0, 1.0), (0, 1.0)]), None);
    }
}
