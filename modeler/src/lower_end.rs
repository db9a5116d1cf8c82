//! Undisturbed times from repetitions: where noise only adds, the lower end of a point's repetitions is known better than their middle.

use crate::roughness::median;

/// The smallest relative deviation of repetitions from which on it matters where between them the undisturbed time lies.
const LITTLE: f64 = 0.02;
/// Points with fewer repetitions say nothing of their lower end, and so great a share of the points must have as many.
const FEWEST: usize = 3;
const MOST_POINTS: f64 = 0.75;

/// By point the lower end of its repetitions, where noise that piles up there lets it be known better than their middle; `None` where
/// repetitions look alike from both sides, scatter by less than [`LITTLE`], or are too few. `observations` are the
/// measurements with the indices of their points, each point's together and ascending.
///
/// The least of `r` values of an exponential variable of mean `s` above an edge lies `s/r` above it on average, and the next one
/// `s/(r - 1)` above that (Rényi, Acta Mathematica Hungarica 4, 1953): so `s` follows from the gaps between the two of all points, relative
/// to the least, by their median, and the ends from `s`. Neither changes for a straggler among the larger values, and a least value of less
/// than half the next one is one itself: the next counts.
///
/// The least value is worth more than the middle one if the gap above it is small. Of evenly spread values its mean square is
/// `24/((r + 1)(r + 2))` of their variance; of normal variables it is more from `r = 4` on, and the least of them is worth less. Each
/// point counts by the quotient of the two, in which a straggler makes the variance of its own point alone larger.
pub(crate) fn of(observations: &[(usize, f64)]) -> Option<Vec<f64>> {
    // Most experiments have one repetition.
    if !observations.windows(FEWEST).any(|few| few[0].0 == few[FEWEST - 1].0) {
        return None;
    }
    let points: Vec<&[(usize, f64)]> = observations.chunk_by(|a, b| a.0 == b.0).collect();
    let repeated = || points.iter().filter(|values| values.len() >= FEWEST);
    let n = repeated().count() as f64;
    if n < MOST_POINTS * points.len() as f64 || points.iter().any(|values| values[0].1 <= 0.0) {
        return None;
    }
    let (mut quotients, mut variances, mut scales) = (0.0, Vec::new(), Vec::new());
    for values in repeated() {
        let (r, least, gap) = (values.len() as f64, values[0].1, values[1].1 - values[0].1);
        let mean = values.iter().map(|v| v.1).sum::<f64>() / r;
        let variance = values.iter().map(|v| (v.1 - mean).powi(2)).sum::<f64>() / (r - 1.0);
        let of_even = 24.0 / ((r + 1.0) * (r + 2.0));
        quotients += if variance > 0.0 { gap * gap / variance / of_even } else { 0.0 };
        variances.push(variance / (mean * mean));
        scales.push(gap * (r - 1.0) / least);
    }
    if median(&mut variances) < LITTLE * LITTLE || quotients / n >= 1.0 {
        return None;
    }
    let scale = median(&mut scales);
    let end = |values: &&[(usize, f64)]| {
        let least = match values {
            [least, next, _, ..] if least.1 < 0.5 * next.1 => next.1,
            _ => values[0].1,
        };
        least / (1.0 + scale / values.len() as f64)
    };
    Some(points.iter().map(end).collect())
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
            assert!(count >= 180 && (end - 1.0).abs() < 0.04, "{repetitions}: {count} {end}");
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
        // Too many points without repetitions.
        let all = drawn(&mut StdRng::seed_from_u64(1), 5, |rng| 1.0 + 0.3 * rng.random::<f64>().powi(4));
        let but_first_of = |few: usize| -> Vec<(usize, f64)> {
            let kept = all.iter().enumerate().filter(|(k, o)| o.0 >= few || k % 5 == 0);
            kept.map(|(_, o)| *o).collect()
        };
        let ends = of(&but_first_of(6)).unwrap();
        assert!(ends.len() == 25 && (0.8..1.3).contains(&ends[0]), "{ends:?}");
        assert_eq!(of(&but_first_of(7)), None);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(0, 1.0), (0, 1.0), (0, 1.0)]), None);
        assert_eq!(of(&[(0, 0.0), (0, 1.0), (0, 1.5)]), None);
    }

    /// One run that took fifty times as long changes neither the decision nor any end.
    #[test]
    fn a_straggler_changes_no_end() {
        let rng = &mut StdRng::seed_from_u64(3);
        let all = drawn(rng, 5, |rng| 1.0 + 0.3 * Distribution::<f64>::sample(&Exp1, rng));
        let mut with_straggler = all.clone();
        with_straggler[5 * 24 + 4].1 *= 50.0;
        assert_eq!(of(&with_straggler), of(&all));
        let symmetric: Vec<f64> = (0..5).map(|i| 0.98 + 0.01 * f64::from(i)).collect();
        let mut symmetric: Vec<(usize, f64)> = (0..25).flat_map(|i| symmetric.iter().map(move |v| (i, *v))).collect();
        symmetric[124].1 = 50.0;
        assert_eq!(of(&symmetric), None);
    }
}
