//! What a series says of itself before any hypothesis: its noise, its kinks, and how steeply it grows.
//!
//! Noise is what repetitions of a point differ by, or how far points are off the line between their neighbours. A
//! residual that is much larger is not noise: the hypothesis does not fit.

use crate::logarithm::logarithms;
use smallvec::SmallVec;

/// Median of the absolute value of a standard normal variable.
pub(crate) const MEDIAN_OF_NORMAL: f64 = 0.674_489_8;
/// Values that fall and then rise are so many times the least one at either end.
const BEND: f64 = 1.05;
/// On so many values at least, and if these are all that tell so many times: noise of a third lets one of twenty series bend as far.
const OF_BEND: usize = 5;
const BEND_OF_FEWEST: f64 = 1.5;

/// What points have to do with each other along their parameters, of which each has an entry: computed once for all
/// series with these points.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines(Vec<Line>);

/// The points along one parameter.
#[derive(Clone, Debug)]
struct Line {
    /// Groups of points that differ in it alone, each ascending in it.
    groups: Vec<Vec<usize>>,
    /// All neighbours in these.
    triples: Vec<Triple>,
    /// And all five in a row.
    fives: Vec<Five>,
    /// Of each group of at least three points the last ones.
    ends: Vec<End>,
    levels: Levels,
}

/// Five neighbours along a parameter.
#[derive(Clone, Debug)]
struct Five {
    points: [usize; 5],
    /// What the logarithms of their values are multiplied by, so that the sum is how far the middle one is off the cubic through the others,
    /// divided by what independent errors of deviation one would make it.
    weights: [f64; 5],
}

/// The last three points of a line.
#[derive(Clone, Debug)]
struct End {
    points: [usize; 3],
    /// What the logarithms of their values are multiplied by, so that the sum is the slope of the straight line fitted to these against that of
    /// the coordinate.
    weights: [f64; 3],
}

/// The values of a parameter, each once, and by point which of them it has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Levels {
    pub values: Vec<f64>,
    pub of_point: Vec<usize>,
}

/// Three neighbours along a parameter.
#[derive(Clone, Debug)]
struct Triple {
    points: [usize; 3],
    /// Coordinate of the middle one.
    coordinate: f64,
    /// How far that is from the first to the last one, on a logarithmic scale where all coordinates are above zero.
    share: f64,
    /// Deviation of how far the middle value is off the line between the others when each has one of one.
    deviation: f64,
}

impl Lines {
    pub fn of(points: &[&[f64]]) -> Self {
        Self((0..points.first().map_or(0, |x| x.len())).map(|l| Line::of(points, l)).collect())
    }

    /// How rough the values `y` are: the relative noise that they show beside the cubics through neighbours along a parameter, as the root
    /// of the mean square. `None` where no parameter has five values in a line.
    pub fn roughness(&self, y: &[f64]) -> Option<f64> {
        let logs = logs_of(y);
        let (sum, count) = self.0.iter().flat_map(|line| &line.fives).fold((0.0, 0_usize), |(sum, count), five| {
            let off = five.off_cubic(&logs);
            if off.is_finite() { (sum + off * off, count + 1) } else { (sum, count) }
        });
        (count > 0).then(|| (sum / count as f64).sqrt())
    }

    /// Where point `i` is at the end of lines along several parameters and within none: whether it is off those through the next two, on the
    /// same side of all of them, by more than `least`, or below the first of all so far that only a run that failed is.
    fn is_corner_off(&self, i: usize, logs: &[f64], least: f64) -> Option<bool> {
        let (mut off, mut is_last): (SmallVec<[f64; 4]>, bool) = (SmallVec::new(), false);
        for line in &self.0 {
            if line.triples.iter().any(|t| t.points[1] == i) {
                return None;
            }
            let Some(triple) = line.triples.iter().find(|t| t.points[0] == i || t.points[2] == i) else { continue };
            let [a, b, c] = triple.points.map(|point| logs[point]);
            let is_first = triple.points[0] == i;
            off.push(match is_first {
                true => a - (b - triple.share * c) / (1.0 - triple.share),
                false => c - (b - (1.0 - triple.share) * a) / triple.share,
            });
            is_last |= !is_first;
        }
        let below = if is_last { least } else { FAILED.ln() };
        (off.len() > 1).then(|| off.iter().all(|off| *off > least) || off.iter().all(|off| *off < -below))
    }

    /// Whether the values `y` fall and then rise along a parameter, without going back, on most lines along it that tell.
    pub fn fall_and_rise(&self, y: &[f64]) -> bool {
        let bends = |line: &[usize], least_bend: f64| {
            let least = (0..line.len()).min_by(|a, b| y[line[*a]].total_cmp(&y[line[*b]])).unwrap_or(0);
            let (falling, rising) = (&line[..=least], &line[least..]);
            [line[0], line[line.len() - 1]].iter().all(|&end| y[end] > least_bend * y[line[least]])
                && falling.is_sorted_by(|&a, &b| y[a] >= y[b])
                && rising.is_sorted_by(|&a, &b| y[a] <= y[b])
        };
        self.0.iter().any(|line| {
            let telling = || line.groups.iter().filter(|group| group.len() >= OF_BEND);
            let is_one_of_fewest = telling().count() == 1 && telling().all(|group| group.len() == OF_BEND);
            let least_bend = if is_one_of_fewest { BEND_OF_FEWEST } else { BEND };
            2 * telling().filter(|group| bends(group, least_bend)).count() > telling().count()
        })
    }

    /// The longest of the lines along parameter `l`, if one has three values.
    pub fn longest(&self, l: usize) -> Option<&[usize]> {
        let longest = self.0[l].groups.iter().rev().max_by_key(|group| group.len())?;
        (longest.len() >= 3).then_some(longest)
    }

    /// Groups of points that differ in parameter `l` alone, each ascending in it.
    pub fn along(&self, l: usize) -> &[Vec<usize>] {
        &self.0[l].groups
    }

    /// How many parameters have more than one value.
    pub fn varying(&self) -> usize {
        self.0.iter().filter(|line| line.levels.values.len() > 1).count()
    }

    /// The values of parameter `l`.
    pub fn levels(&self, l: usize) -> &Levels {
        &self.0[l].levels
    }
}

impl Five {
    /// Five points in a row, of which `logs` are the logarithms of the coordinate.
    fn of(points: [usize; 5], logs: &[f64]) -> Self {
        let middle = logs[points[2]];
        // Lagrange's weights.
        let of_point = |&i: &usize| -> f64 {
            let others = [0, 1, 3, 4].map(|j| points[j]).into_iter().filter(|j| *j != i);
            others.map(|j| (middle - logs[j]) / (logs[i] - logs[j])).product()
        };
        let [a, b, _, c, d] = points.each_ref().map(of_point);
        let deviation = (1.0 + [a, b, c, d].iter().map(|weight| weight * weight).sum::<f64>()).sqrt();
        Self { points, weights: [-a, -b, 1.0, -c, -d].map(|weight| weight / deviation) }
    }

    /// How far the middle one of values with these logarithms is off; not a number where a coordinate has no logarithm.
    fn off_cubic(&self, logs: &[f64]) -> f64 {
        self.points.iter().zip(&self.weights).map(|(&i, weight)| weight * logs[i]).sum()
    }
}

impl Line {
    fn of(points: &[&[f64]], l: usize) -> Self {
        let groups = lines(points, l);
        let is_positive = points.iter().all(|x| x[l] > 0.0);
        let at = |i: usize| if is_positive { points[i][l].ln() } else { points[i][l] };
        let triple = |line: &[usize]| {
            let [a, b, c] = [line[0], line[1], line[2]];
            let t = (at(b) - at(a)) / (at(c) - at(a));
            let deviation = (1.0 + t * t + (1.0 - t) * (1.0 - t)).sqrt();
            Triple { points: [a, b, c], coordinate: points[b][l], share: t, deviation }
        };
        let triples = groups.iter().flat_map(|line| line.windows(3)).map(triple).collect();
        let logs: Vec<f64> = points.iter().map(|x| x[l].ln()).collect();
        let fives = groups.iter().flat_map(|line| line.windows(5));
        let fives = fives.map(|five| Five::of(five.try_into().expect("windows of five"), &logs)).collect();
        let ends = groups.iter().filter_map(|line| End::of(line, &logs)).collect();
        Self { groups, triples, fives, ends, levels: Levels::of(points, l) }
    }
}

impl Levels {
    fn of(points: &[&[f64]], l: usize) -> Self {
        let mut values: Vec<f64> = points.iter().map(|x| x[l]).collect();
        values.sort_by(f64::total_cmp);
        values.dedup_by_key(|v| v.to_bits());
        let of_point = points.iter().map(|x| values.partition_point(|v| v.total_cmp(&x[l]).is_lt())).collect();
        Self { values, of_point }
    }
}

/// Relative deviation of the values at some points, one repetition after the other as `observations` has them; `None`
/// where nothing tells it. On a logarithmic scale smooth growth is nearly straight between three neighbours, so that
/// what remains of the middle one is noise, or an upper bound of it.
pub(crate) fn relative_noise(lines: &Lines, medians: &[f64], observations: &[(usize, f64)]) -> Option<f64> {
    of_repetitions(medians, observations).or_else(|| of_neighbours(lines, medians))
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
fn of_neighbours(lines: &Lines, y: &[f64]) -> Option<f64> {
    let logs = logs_of(y);
    let mut off = Vec::with_capacity(lines.0.iter().map(|line| line.triples.len()).sum());
    for line in &lines.0 {
        off.extend(line.triples.iter().map(|triple| triple.offset(&logs)));
    }
    (off.len() >= 3).then(|| median(&mut off) / MEDIAN_OF_NORMAL)
}

/// The median of some values, of which there must be one at least; their order is lost.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    let (half, is_even) = (values.len() / 2, values.len().is_multiple_of(2));
    let (below, middle, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    let before = if is_even { below.iter().copied().fold(f64::NEG_INFINITY, f64::max) } else { *middle };
    0.5 * (before + *middle)
}

/// At the first values of all parameters a time that is so many times less than its lines say is that of a run that failed.
const FAILED: f64 = 3.0;

/// Values below this share of the mean count as that, so that zeros have a logarithm.
const LEAST: f64 = 1e-3;

/// By point with two neighbours in parameter `l`: its coordinate, and how far the logarithm of its value is off the line
/// between theirs, divided by what independent errors of deviation one would make it.
pub(crate) fn offsets(lines: &Lines, y: &[f64], l: usize) -> Vec<(f64, f64)> {
    let logs = logs_of(y);
    lines.0[l].triples.iter().map(|triple| (triple.coordinate, triple.offset(&logs))).collect()
}

/// A point that is off its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Off {
    pub point: usize,
    /// Whether behaviour may change there, and not one run be off: it is the last of a line, and no line that goes on says that it is off.
    pub may_be_change: bool,
    /// Whether it is the first of a line and above it: something may not happen there that does everywhere else, so only a longer time is off.
    pub only_longer: bool,
}

/// The points that are off the line through their neighbours along a parameter by more than the share `least`, on logarithmic scales; the
/// first of a line above the one through the next two, but not below it, since nothing may happen there that does everywhere else, as
/// messages for one rank; the last either way. A corner of several parameters is one where all lines say so.
pub(crate) fn off_lines(lines: &Lines, y: &[f64], least: f64) -> Vec<Off> {
    let logs = logs_of(y);
    let least = least.ln_1p();
    let corners: Vec<Option<bool>> = (0..y.len()).map(|i| lines.is_corner_off(i, &logs, least)).collect();
    let groups = || lines.0.iter().flat_map(|line| &line.groups).filter(|group| group.len() >= 3);
    let is_first = |i: usize| groups().any(|group| group[0] == i);
    let is_last = |i: usize| groups().any(|group| group[group.len() - 1] == i);
    let mut off = Vec::new();
    for triple in lines.0.iter().flat_map(|line| &line.triples) {
        let ([a, b, c], [first, middle, last]) = (triple.points, triple.points.map(|i| logs[i]));
        let before = (middle - triple.share * last) / (1.0 - triple.share);
        let behind = (middle - (1.0 - triple.share) * first) / triple.share;
        if first - before > least && is_first(a) && corners[a].is_none() {
            off.push(Off { point: a, may_be_change: false, only_longer: true });
        }
        if (triple.off(&logs) * triple.deviation).abs() > least {
            off.push(Off { point: b, may_be_change: false, only_longer: false });
        }
        if (last - behind).abs() > least && is_last(c) && corners[c].is_none() {
            off.push(Off { point: c, may_be_change: true, only_longer: false });
        }
    }
    let of_corners = (0..y.len()).filter(|&i| corners[i] == Some(true));
    off.extend(of_corners.map(|point| Off { point, may_be_change: false, only_longer: false }));
    off.sort_unstable();
    // Of what several lines say of a point that counts which lets it be left out.
    off.dedup_by_key(|off| off.point);
    off
}

/// Those of [`off_lines`] about which lines between neighbours are off by more than so many deviations `most` of what these are usually off by,
/// the roughest first.
pub(crate) fn roughest(lines: &Lines, y: &[f64], least: f64, most: f64) -> Vec<Off> {
    let logs = logs_of(y);
    let mut off: Vec<f64> = lines.0.iter().flat_map(|line| &line.triples).map(|triple| triple.offset(&logs)).collect();
    if off.len() < 3 {
        return Vec::new();
    }
    let (mut sums, mut counts) = (vec![0.0; y.len()], vec![0_usize; y.len()]);
    for (triple, off) in lines.0.iter().flat_map(|line| &line.triples).zip(&off) {
        for i in triple.points {
            sums[i] += off;
            counts[i] += 1;
        }
    }
    let mean = |i: usize| if counts[i] > 0 { sums[i] / counts[i] as f64 } else { 0.0 };
    let limit = most * median(&mut off) / MEDIAN_OF_NORMAL;
    if (0..y.len()).all(|i| mean(i) <= limit) {
        return Vec::new();
    }
    let mut rough: Vec<Off> = off_lines(lines, y, least).into_iter().filter(|off| mean(off.point) > limit).collect();
    rough.sort_by(|a, b| mean(b.point).total_cmp(&mean(a.point)));
    rough
}

/// Logarithms of these values, or of the least that counts.
fn logs_of(y: &[f64]) -> Vec<f64> {
    let mean = y.iter().map(|v| v.abs()).sum::<f64>() / y.len().max(1) as f64;
    let mut logs: Vec<f64> = y.iter().map(|v| v.max(LEAST * mean).max(f64::MIN_POSITIVE)).collect();
    logarithms(&mut logs);
    logs
}

impl Triple {
    /// How far the middle one of values with these logarithms is off the line between the others, see [`offsets`].
    fn offset(&self, logs: &[f64]) -> f64 {
        self.off(logs).abs()
    }

    /// The same with its sign.
    fn off(&self, logs: &[f64]) -> f64 {
        let [a, b, c] = self.points.map(|i| logs[i]);
        let between = (1.0 - self.share) * a + self.share * c;
        (b - between) / self.deviation
    }
}

/// Bits of the parameters in which `y` grows faster than the power `most`: the middle slope, over all lines along the
/// parameter, of the logarithms of the last three values.
pub(crate) fn grows_beyond(lines: &Lines, y: &[f64], most: f64) -> usize {
    let mut logs = y.to_vec();
    logarithms(&mut logs);
    let is_steep = |line: &Line| {
        let slopes = line.ends.iter().map(|end| end.slope(&logs)).filter(|slope| slope.is_finite());
        let (count, steep) = slopes.fold((0, 0), |(count, steep), s| (count + 1, steep + usize::from(s > most)));
        count > 0 && 2 * steep >= count
    };
    lines.0.iter().take(usize::BITS as usize).enumerate().filter(|(_, line)| is_steep(line)).map(|(l, _)| 1 << l).sum()
}

impl End {
    /// The end of a line of at least three points, of which `logs` are the logarithms of the coordinate.
    fn of(line: &[usize], logs: &[f64]) -> Option<Self> {
        let points: [usize; 3] = *line.last_chunk()?;
        let logs = points.map(|i| logs[i]);
        let mean = logs.iter().sum::<f64>() / 3.0;
        let off = logs.map(|log| log - mean);
        let squares: f64 = off.iter().map(|off| off * off).sum();
        Some(Self { points, weights: off.map(|off| off / squares) })
    }

    /// The slope of values with these logarithms.
    fn slope(&self, logs: &[f64]) -> f64 {
        self.points.iter().zip(&self.weights).map(|(&i, weight)| weight * logs[i]).sum()
    }
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
        assert!(relative_noise(lines, &values(|_, p, n| p * n.powi(3)), &[]).unwrap() < 1e-12);
        // A chessboard of 5 % up and down: a middle is 10 % off its line, which errors of deviation one would make
        // at most the square root of two off, and the median of normal sizes is 0.67.
        let noisy = values(|i, p, n| p * n * if (i / 5 + i) % 2 == 0 { 1.05 } else { 0.95 });
        let noise = relative_noise(lines, &noisy, &[]).unwrap();
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
        let noise = relative_noise(lines, &medians, &repetitions).unwrap();
        assert!((noise - 0.02 * 2f64.sqrt()).abs() < 1e-12, "{noise}");
    }

    #[test]
    fn steepness_is_the_exponent() {
        let grid = grid();
        let points: Vec<&[f64]> = grid.iter().map(|x| x.as_slice()).collect();
        let lines = &Lines::of(&points);
        let fourth = values(|_, p, n| p * n.powi(4));
        assert_eq!([3.9, 4.1].map(|most| grows_beyond(lines, &fourth, most)), [0b10, 0]);
        // Along n two lines of four are steep, then one.
        let steep = |rows: usize| values(|i, _, n| if i / 5 < rows { n.powi(4) } else { n });
        assert_eq!([2, 1].map(|rows| grows_beyond(lines, &steep(rows), 3.0) & 0b10), [0b10, 0]);
    }

    /// Noise that comes again along a parameter has as low a rank as a sum of products, and is rougher.
    #[test]
    fn noise_that_comes_again_is_rougher_than_sums() {
        let points: Vec<[f64; 2]> =
            (0..5).flat_map(|i| (1..6).map(move |n| [2.0_f64.powi(i + 7), 8e3 * f64::from(n)])).collect();
        let lines = Lines::of(&points.iter().map(|x| x.as_slice()).collect::<Vec<_>>());
        let at = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|x| of(x[0], x[1])).collect::<Vec<f64>>();
        assert!(lines.roughness(&at(&|p, n| 0.01 * n / p + 0.05 * p.log2() + 1e-7 * n * n)).unwrap() < 0.01);
        let again = |p: f64, n: f64| 1.0 + 0.03 * ((p * 7.0 + n / 1e3) % 21.0 - 10.0) / 10.0;
        assert!(lines.roughness(&at(&|p, n| p.sqrt() * n * again(p, n))).unwrap() > 0.02);
        let few: Vec<[f64; 1]> = (1..5).map(|p| [f64::from(p)]).collect();
        assert_eq!(
            Lines::of(&few.iter().map(|x| x.as_slice()).collect::<Vec<_>>()).roughness(&[1.0, 2.0, 3.0, 4.0]),
            None
        );
    }
}
