//! Kernel density estimates with Gaussian kernels: two rules for the bandwidth, and the valleys of the estimate.

use std::f64::consts::PI;

/// Rules for the bandwidth of a kernel density estimate.
///
/// ```
#[doc = include_str!("example.txt")]
/// use modeler::analysis::Bandwidth;
/// let rule = Rule::Peaks(Bandwidth::ImprovedSheatherJones);
/// let found = analyze(&table, &Plan { rule, ..plan }).expect("there are two peaks");
/// assert_eq!(found.categories.peaks.len(), 2); // near 1 s and 8 s
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bandwidth {
    /// Silverman's rule of thumb, `(4/(3n))^(1/5) · min(σ, IQR/1.349)`: Silverman, Density estimation for statistics and
    /// data analysis, 1986, equations 3.28 and 3.30. Right for one normal distribution, too wide for several.
    Silverman,
    /// The Improved Sheather-Jones algorithm: Botev, Grotowski, Kroese, Kernel density estimation via diffusion, Annals of
    /// Statistics 38, 2010, section 5. Assumes no distribution.
    ImprovedSheatherJones,
}

/// A kernel density estimate.
///
/// ```
#[doc = include_str!("example.txt")]
/// use modeler::analysis::Bandwidth;
/// assert!(found.categories.density.is_none()); // bins of equal width need none
/// let rule = Rule::Peaks(Bandwidth::ImprovedSheatherJones);
/// let found = analyze(&table, &Plan { rule, ..plan }).expect("there are two peaks");
/// assert!(found.categories.density.expect("peaks are those of one").bandwidth < 1.0); // in seconds
/// ```
#[derive(Clone, Debug)]
pub struct Density {
    /// Standard deviation of the kernel, in the values' unit.
    pub bandwidth: f64,
    /// The values, ascending.
    sorted: Vec<f64>,
}

/// Points of the grid on which Botev's algorithm works, as many as kde-diffusion and KDEpy have. The paper's program has 2^14 by default, on which bandwidths much
/// narrower than the values' range come out some percent narrower still.
const GRID: usize = 1 << 10;
/// Kernels are cut off at this many bandwidths, where double precision does not tell them from zero.
const REACH: f64 = 38.6;

impl Density {
    /// The estimate of `values` with the bandwidth of `rule`; `None` where the rule finds none: fewer than two different
    /// values, or no solution of the fixed-point equation.
    #[must_use]
    pub(crate) fn of(values: &[f64], rule: Bandwidth) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let bandwidth = match rule {
            Bandwidth::Silverman => silverman(&sorted),
            Bandwidth::ImprovedSheatherJones => improved_sheather_jones(&sorted),
        }?;
        Some(Self { bandwidth, sorted })
    }

    /// The density at `x`, in one over the values' unit.
    #[must_use]
    pub(crate) fn at(&self, x: f64) -> f64 {
        let reach = REACH * self.bandwidth;
        let first = self.sorted.partition_point(|&v| v < x - reach);
        let last = self.sorted.partition_point(|&v| v <= x + reach);
        let kernel = |v: &f64| (-0.5 * ((x - v) / self.bandwidth).powi(2)).exp();
        let sum: f64 = self.sorted[first..last].iter().map(kernel).sum();
        sum / (self.sorted.len() as f64 * self.bandwidth * (2.0 * PI).sqrt())
    }

    /// The density at `count` equidistant places over the range of the values and `beyond` bandwidths on each side.
    #[must_use]
    pub(crate) fn curve(&self, count: usize, beyond: f64) -> Vec<(f64, f64)> {
        let (low, high) = (self.sorted[0], self.sorted[self.sorted.len() - 1]);
        let (low, high) = (low - beyond * self.bandwidth, high + beyond * self.bandwidth);
        let step = (high - low) / (count - 1) as f64;
        (0..count).map(|i| low + i as f64 * step).map(|x| (x, self.at(x))).collect()
    }

    /// Places of the local maxima and, between each two neighbours, of the local minima; both ascending.
    #[must_use]
    pub(crate) fn peaks_and_valleys(&self) -> (Vec<f64>, Vec<f64>) {
        // Four places per bandwidth miss no extremum of a sum of Gaussian kernels that one could see.
        let range = self.sorted[self.sorted.len() - 1] - self.sorted[0] + 2.0 * self.bandwidth;
        let count = ((4.0 * range / self.bandwidth).ceil() as usize).clamp(512, 1 << 16);
        let curve = self.curve(count, 1.0);
        let (mut peaks, mut valleys): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
        // Since the last extremum the density rises or falls; the place of its end so far, where that is flat up to `flat`.
        let (mut rising, mut extremum, mut flat) = (true, curve[0], curve[0].0);
        for &(x, y) in &curve[1..] {
            if y == extremum.1 {
                flat = x;
            } else if (y > extremum.1) == rising {
                (extremum, flat) = ((x, y), x);
            } else {
                // In a gap where the density is zero the middle is as good as any place.
                let is_flat = flat > extremum.0;
                let middle = 0.5 * (extremum.0 + flat);
                let exact = if is_flat { middle } else { self.refine(middle, range / count as f64, rising) };
                if rising {
                    peaks.push(exact)
                } else {
                    valleys.push(exact)
                }
                (rising, extremum, flat) = (!rising, (x, y), x);
            }
        }
        if rising {
            peaks.push(extremum.0);
        }
        valleys.truncate(peaks.len().saturating_sub(1));
        (peaks, valleys)
    }

    /// The extremum within `step` of `near`, by golden section.
    fn refine(&self, near: f64, step: f64, maximum: bool) -> f64 {
        let ratio = 0.5 * (5f64.sqrt() - 1.0);
        let height = |x: f64| if maximum { self.at(x) } else { -self.at(x) };
        let (mut low, mut high) = (near - 2.0 * step, near + 2.0 * step);
        for _ in 0..40 {
            let (a, b) = (high - ratio * (high - low), low + ratio * (high - low));
            if height(a) >= height(b) { high = b } else { low = a }
        }
        0.5 * (low + high)
    }
}

/// Standard deviation with n - 1 in the denominator.
pub(crate) fn deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt()
}

/// The quantile of ascending values, between neighbours linearly.
pub(crate) fn quantile(sorted: &[f64], q: f64) -> f64 {
    let place = q * (sorted.len() - 1) as f64;
    let (below, part) = (place.floor() as usize, place.fract());
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + part * (sorted[above] - sorted[below])
}

fn silverman(sorted: &[f64]) -> Option<f64> {
    if sorted.len() < 2 || sorted[0] == sorted[sorted.len() - 1] {
        return None;
    }
    // The range between the quartiles of a normal distribution is 1.349 standard deviations.
    let quartiles = (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / 1.348_979_500_392_163_4;
    let sigma = deviation(sorted);
    // Where half of the values are the same the quartiles say nothing.
    let spread = if quartiles > 0.0 { sigma.min(quartiles) } else { sigma };
    Some(spread * (4.0 / (3.0 * sorted.len() as f64)).powf(0.2))
}

/// Botev's section 5: the smallest root of t = ξ γ^[5](t), in units of the squared length of the grid.
fn improved_sheather_jones(sorted: &[f64]) -> Option<f64> {
    let (low, high) = (*sorted.first()?, *sorted.last()?);
    if high <= low {
        return None;
    }
    // Half a range on each side, so that what the cosine transform mirrors does not reach the values.
    let length = 2.0 * (high - low);
    let start = low - 0.25 * length;
    let mut shares = vec![0.0; GRID];
    for v in sorted {
        let bin = ((v - start) / length * GRID as f64) as usize;
        shares[bin.min(GRID - 1)] += 1.0 / sorted.len() as f64;
    }
    let squares: Vec<f64> = cosine_transform(&shares).into_iter().map(|a| a * a).collect();
    let n = sorted.len() as f64;
    let excess = |t: f64| t - stages(t, n, &squares);
    let time = smallest_root(excess)?;
    Some(time.sqrt() * length)
}

/// Σ x_m cos(πk(m + 1/2)/N) for k from 1: a discrete cosine transform of the second kind without its constant.
///
/// Directly, since one transform of this size takes a millisecond.
fn cosine_transform(x: &[f64]) -> Vec<f64> {
    let n = x.len();
    let table: Vec<f64> = (0..4 * n).map(|i| (PI * i as f64 / (2 * n) as f64).cos()).collect();
    let filled: Vec<(usize, f64)> = x.iter().copied().enumerate().filter(|&(_, share)| share != 0.0).collect();
    (1..n).map(|k| filled.iter().map(|&(m, share)| share * table[k * (2 * m + 1) % (4 * n)]).sum()).collect()
}

/// ξ γ^[5](t): from the seventh derivative's norm down to the second's, each giving the diffusion time of the next.
fn stages(t: f64, n: f64, squares: &[f64]) -> f64 {
    // The squared norm of the s-th derivative after diffusion over `time`, by Parseval's theorem.
    let norm = |s: i32, time: f64| {
        let term = |(i, a2): (usize, &f64)| {
            let k2 = ((i + 1) * (i + 1)) as f64;
            k2.powi(s) * a2 * (-k2 * PI * PI * time).exp()
        };
        2.0 * PI.powi(2 * s) * squares.iter().enumerate().map(term).sum::<f64>()
    };
    let mut f = norm(7, t);
    for s in (2..7).rev() {
        let odd: f64 = (1..=s).map(|i| f64::from(2 * i - 1)).product();
        let k0 = odd / (2.0 * PI).sqrt();
        let c = (1.0 + 0.5f64.powf(f64::from(s) + 0.5)) / 3.0;
        let time = (2.0 * c * k0 / (n * f)).powf(2.0 / (3.0 + 2.0 * f64::from(s)));
        f = norm(s, time);
    }
    (2.0 * n * PI.sqrt() * f).powf(-0.4)
}

/// The smallest sign change of `excess` between 0 and 0.1, as the paper's program searches, by steps and bisection.
fn smallest_root(excess: impl Fn(f64) -> f64) -> Option<f64> {
    const STEPS: i32 = 60;
    // Equal factors from 1e-12, below which a kernel is narrower than a thousandth of a grid cell.
    let place = |i: i32| 1e-12 * 10f64.powf(11.0 * f64::from(i) / f64::from(STEPS));
    let mut low = 0.0;
    for i in 0..=STEPS {
        let high = place(i);
        if excess(high) > 0.0 {
            return (i > 0).then(|| bisect(&excess, low, high));
        }
        low = high;
    }
    None
}

fn bisect(excess: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if excess(middle) > 0.0 { high = middle } else { low = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_and_deviation_are_the_textbook_ones() {
        let values = [1.0, 2.0, 4.0, 8.0];
        assert_eq!(quantile(&values, 0.25), 1.75);
        assert_eq!(quantile(&values, 1.0), 8.0);
        // Mean 3.75, squares 7.5625 + 3.0625 + 0.0625 + 18.0625 = 28.75.
        assert!((deviation(&values) - (28.75f64 / 3.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn a_density_holds_all_probability() {
        for rule in [Bandwidth::Silverman, Bandwidth::ImprovedSheatherJones] {
            let values: Vec<f64> = (0..100).map(|i| f64::from(i % 10) + 0.03 * f64::from(i)).collect();
            let density = Density::of(&values, rule).unwrap();
            let curve = density.curve(4001, 9.0);
            let sum: f64 = curve.windows(2).map(|w| 0.5 * (w[0].1 + w[1].1) * (w[1].0 - w[0].0)).sum();
            assert!((sum - 1.0).abs() < 1e-6, "{rule:?}: {sum}");
        }
    }

    #[test]
    fn the_cosine_transform_of_one_cosine_is_one_number() {
        let n = 16;
        let x: Vec<f64> = (0..n).map(|m| (PI * 3.0 * (f64::from(m) + 0.5) / 16.0).cos()).collect();
        for (i, a) in cosine_transform(&x).into_iter().enumerate() {
            assert!((a - if i + 1 == 3 { 8.0 } else { 0.0 }).abs() < 1e-12, "{i}: {a}");
        }
    }

    #[test]
    fn a_gap_without_any_density_is_split_in_its_middle() {
        let values: Vec<f64> = (0..20).map(|i| f64::from(i % 10) * 0.01 + if i < 10 { 0.0 } else { 1000.0 }).collect();
        let density = Density { bandwidth: 0.1, sorted: values };
        let (peaks, valleys) = density.peaks_and_valleys();
        assert_eq!((peaks.len(), valleys.len()), (2, 1));
        assert!((valleys[0] - 500.0).abs() < 1.0 && (peaks[0] - 0.045).abs() < 1e-3, "{valleys:?} {peaks:?}");
    }

    #[test]
    fn what_never_varies_has_no_density() {
        assert!(Density::of(&[3.0; 9], Bandwidth::ImprovedSheatherJones).is_none());
        assert!(Density::of(&[3.0], Bandwidth::Silverman).is_none());
        assert!(Density::of(&[], Bandwidth::Silverman).is_none());
    }
}
