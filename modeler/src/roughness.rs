//! What a series says of itself before any hypothesis: its noise, its kinks, and how steeply it grows.
//!
//! Noise is what repetitions of a point differ by, or how far points are off the line between their neighbours. A
//! residual that is much larger is not noise: the hypothesis does not fit.

/// Median of the absolute value of a standard normal variable.
const MEDIAN_OF_NORMAL: f64 = 0.674_489_8;

/// By parameter: groups of points that differ in it alone, each ascending in it; and by point its logarithm, or itself
/// where it is not above zero everywhere.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines(Vec<Vec<Vec<usize>>>, Vec<Vec<f64>>);

impl Lines {
    pub fn of(points: &[&[f64]]) -> Self {
        let parameters = points.first().map_or(0, |x| x.len());
        let along = |l: usize| -> Vec<f64> {
            let positive = points.iter().all(|x| x[l] > 0.0);
            points.iter().map(|x| if positive { x[l].ln() } else { x[l] }).collect()
        };
        Self((0..parameters).map(|l| lines(points, l)).collect(), (0..parameters).map(along).collect())
    }
}

/// Relative deviation of the values at `points`, one repetition after the other as `observations` has them; `None`
/// where nothing tells it. On a logarithmic scale smooth growth is nearly straight between three neighbours, so that
/// what remains of the middle one is noise, or an upper bound of it.
pub(crate) fn relative_noise(
    lines: &Lines,
    points: &[&[f64]],
    medians: &[f64],
    observations: &[(usize, f64)],
) -> Option<f64> {
    of_repetitions(medians, observations).or_else(|| of_neighbours(lines, points, medians))
}

/// From the repetitions, where at least half of the points have some.
fn of_repetitions(medians: &[f64], observations: &[(usize, f64)]) -> Option<f64> {
    let mut counts = vec![0usize; medians.len()];
    observations.iter().for_each(|o| counts[o.0] += 1);
    if 2 * counts.iter().filter(|c| **c > 1).count() < counts.len() {
        return None;
    }
    let mut sums = vec![0.0; medians.len()];
    observations.iter().for_each(|o| sums[o.0] += o.1);
    let mean = |i: usize| sums[i] / counts[i] as f64;
    let repeated = || observations.iter().filter(|o| counts[o.0] > 1 && mean(o.0) > 0.0);
    let squares: f64 = repeated().map(|o| (o.1 / mean(o.0) - 1.0).powi(2)).sum();
    let freedom = repeated().count() - counts.iter().enumerate().filter(|(i, c)| **c > 1 && mean(*i) > 0.0).count();
    (freedom > 0).then(|| (squares / freedom as f64).sqrt())
}

/// From triples of neighbours along each parameter; `None` with fewer than three triples.
fn of_neighbours(lines: &Lines, points: &[&[f64]], y: &[f64]) -> Option<f64> {
    let mut off: Vec<f64> = (0..lines.0.len()).flat_map(|l| offsets(lines, points, y, l)).map(|o| o.1).collect();
    if off.len() < 3 {
        return None;
    }
    off.sort_by(f64::total_cmp);
    Some((0.5 * (off[(off.len() - 1) / 2] + off[off.len() / 2])) / MEDIAN_OF_NORMAL)
}

/// Values below this share of the mean count as that, so that zeros have a logarithm.
const LEAST: f64 = 1e-3;

/// By point with two neighbours in parameter `l`: its coordinate, and how far the logarithm of its value is off the line
/// between theirs, divided by what independent errors of deviation one would make it.
pub(crate) fn offsets(lines: &Lines, points: &[&[f64]], y: &[f64], l: usize) -> Vec<(f64, f64)> {
    let mean = y.iter().map(|v| v.abs()).sum::<f64>() / y.len().max(1) as f64;
    let logs: Vec<f64> = y.iter().map(|v| v.max(LEAST * mean).max(f64::MIN_POSITIVE).ln()).collect();
    let at = |i: usize| lines.1[l][i];
    let mut off = Vec::with_capacity(points.len());
    for line in &lines.0[l] {
        for triple in line.windows(3) {
            let [a, b, c] = [triple[0], triple[1], triple[2]];
            let t = (at(b) - at(a)) / (at(c) - at(a));
            let between = (1.0 - t) * logs[a] + t * logs[c];
            off.push((points[b][l], (logs[b] - between).abs() / (1.0 + t * t + (1.0 - t) * (1.0 - t)).sqrt()));
        }
    }
    off
}

/// Bits of the parameters in which `y` grows faster than the power `most`: the middle slope, over all lines along the
/// parameter, of the logarithms of the last three values.
pub(crate) fn grows_beyond(lines: &Lines, points: &[&[f64]], y: &[f64], most: f64) -> usize {
    let parameters = lines.0.len().min(usize::BITS as usize);
    let is_steep = |l: &usize| {
        let l = *l;
        let mut slopes: Vec<f64> = lines.0[l].iter().filter_map(|line| last_slope(points, y, l, line)).collect();
        slopes.sort_by(f64::total_cmp);
        slopes.get(slopes.len() / 2).is_some_and(|slope| *slope > most)
    };
    (0..parameters).filter(is_steep).map(|l| 1 << l).sum()
}

fn last_slope(points: &[&[f64]], y: &[f64], l: usize, line: &[usize]) -> Option<f64> {
    let last = &line[line.len().checked_sub(3)?..];
    let logs: Vec<(f64, f64)> = last.iter().map(|&i| (points[i][l].ln(), y[i].ln())).collect();
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / 3.0;
    let (x, v) = (mean(&|p| p.0), mean(&|p| p.1));
    let slope =
        logs.iter().map(|p| (p.0 - x) * (p.1 - v)).sum::<f64>() / logs.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>();
    slope.is_finite().then_some(slope)
}

/// Groups of points that differ in parameter `l` alone, each ascending in it.
pub(crate) fn lines(points: &[&[f64]], l: usize) -> Vec<Vec<usize>> {
    let others = |i: usize| points[i].iter().enumerate().filter(move |(m, _)| *m != l).map(|(_, x)| *x);
    let compare = |a: &usize, b: &usize| {
        others(*a).zip(others(*b)).fold(std::cmp::Ordering::Equal, |o, (x, y)| o.then(x.total_cmp(&y)))
    };
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|a, b| compare(a, b).then(points[*a][l].total_cmp(&points[*b][l])));
    order.chunk_by(|a, b| compare(a, b).is_eq()).map(<[usize]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Vec<[f64; 2]> {
        [2.0, 4.0, 8.0, 16.0].iter().flat_map(|&p| [10.0, 20.0, 30.0, 40.0, 50.0].map(|n| [p, n])).collect()
    }

    fn values(of: impl Fn(usize, f64, f64) -> f64) -> Vec<f64> {
        grid().iter().enumerate().map(|(i, x)| of(i, x[0], x[1])).collect()
    }

    #[test]
    fn powers_are_straight_and_alternating_errors_are_seen() {
        let grid = grid();
        let points: Vec<&[f64]> = grid.iter().map(|x| x.as_slice()).collect();
        let lines = &Lines::of(&points);
        assert!(relative_noise(lines, &points, &values(|_, p, n| p * n.powi(3)), &[]).unwrap() < 1e-12);
        // A chessboard of 5 % up and down: a middle is 10 % off its line, which errors of deviation one would make
        // at most the square root of two off, and the median of normal sizes is 0.67.
        let noisy = values(|i, p, n| p * n * if (i / 5 + i) % 2 == 0 { 1.05 } else { 0.95 });
        let noise = relative_noise(lines, &points, &noisy, &[]).unwrap();
        assert!((0.09..0.14).contains(&noise), "{noise}");
    }

    #[test]
    fn repetitions_tell_the_noise_whatever_the_shape() {
        let grid = grid();
        let points: Vec<&[f64]> = grid.iter().map(|x| x.as_slice()).collect();
        let lines = &Lines::of(&points);
        let medians = values(|i, _, _| 1.0 + (i * 7 % 11) as f64);
        let repetitions: Vec<(usize, f64)> =
            (0..20).flat_map(|i| [(i, 0.98 * medians[i]), (i, 1.02 * medians[i])]).collect();
        // Two values 2 % from their mean have the deviation sqrt(2) times 2 %.
        let noise = relative_noise(lines, &points, &medians, &repetitions).unwrap();
        assert!((noise - 0.02 * 2f64.sqrt()).abs() < 1e-12, "{noise}");
    }

    #[test]
    fn steepness_is_the_exponent() {
        let grid = grid();
        let points: Vec<&[f64]> = grid.iter().map(|x| x.as_slice()).collect();
        let lines = &Lines::of(&points);
        let fourth = values(|_, p, n| p * n.powi(4));
        assert_eq!([3.9, 4.1].map(|most| grows_beyond(lines, &points, &fourth, most)), [0b10, 0]);
    }
}
