//! The curve of a loop's time over the noise quantity: flat, then linear (Delval et al., "Noise Injection for Performance
//! Bottleneck Analysis", section 2.2 and figure 2). Where it bends is the absorption.
//!
//! For a given interval between two quantities the best bend in it has a closed form, so trying all intervals gives the
//! global optimum; no iteration can end beside it.

/// The time at one noise quantity, relative to anything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct At {
    /// The noise quantity.
    pub k: f64,
    /// The time.
    pub y: f64,
    /// Its weight: one over its variance.
    pub weight: f64,
}

/// `y(k) = level + slope · max(0, k − knee)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hinge {
    /// The time without a slowdown.
    pub level: f64,
    /// The last quantity without a slowdown; the largest one where nothing slows down.
    pub knee: f64,
    /// Further time per further instruction; 0 where nothing slows down.
    pub slope: f64,
    /// Weighted sum of squared residuals.
    pub cost: f64,
}

impl Hinge {
    /// The curve's value.
    #[must_use]
    pub fn at(&self, k: f64) -> f64 {
        self.level + self.slope * (k - self.knee).max(0.0)
    }

    /// Slack: the share of the time without noise in which the resource that the noise uses was idle. The rising line
    /// continued back to no noise falls short of the level by that much: 0 where noise adds to the time from the first
    /// instruction on, 1 where only the noise itself takes time once it does.
    #[must_use]
    pub fn slack(&self) -> f64 {
        (self.knee * self.slope / self.level).clamp(0.0, 1.0)
    }
}

/// The bend may be a smooth one, from `start` to `end`: in between, the slope grows linearly from 0 to its last value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transition {
    /// The time without a slowdown.
    pub level: f64,
    /// k1: the end of the phase in which noise is absorbed.
    pub start: f64,
    /// k2: the beginning of the phase in which the noise's resource is saturated.
    pub end: f64,
    /// The slope beyond `end`.
    pub slope: f64,
    /// Weighted sum of squared residuals.
    pub cost: f64,
}

impl Transition {
    /// The curve's value.
    #[must_use]
    pub fn at(&self, k: f64) -> f64 {
        self.level + self.slope * blend(k, self.start, self.end)
    }
}

/// Sums for a weighted straight line.
#[derive(Clone, Copy, Default)]
struct Line {
    w: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Line {
    fn over(points: impl Iterator<Item = (f64, f64, f64)>) -> Self {
        points.fold(Self::default(), |s, (x, y, w)| Self {
            w: s.w + w,
            x: s.x + w * x,
            y: s.y + w * y,
            xx: s.xx + w * x * x,
            xy: s.xy + w * x * y,
            yy: s.yy + w * y * y,
        })
    }

    /// Mean of y, and the cost of taking it for all.
    fn mean(&self) -> (f64, f64) {
        let mean = self.y / self.w;
        (mean, (self.yy - mean * self.y).max(0.0))
    }

    /// Intercept, slope and cost of the best line; `None` where all x are one.
    fn fit(&self) -> Option<(f64, f64, f64)> {
        let spread = self.xx - self.x * self.x / self.w;
        if spread <= 1e-12 * self.xx.max(1e-300) {
            return None;
        }
        let slope = (self.xy - self.x * self.y / self.w) / spread;
        let intercept = (self.y - slope * self.x) / self.w;
        Some((intercept, slope, (self.yy - intercept * self.y - slope * self.xy).max(0.0)))
    }
}

/// The level, slope and cost of the best curve with this shape, whose slope must not be negative.
fn shaped(points: &[At], shape: impl Fn(f64) -> f64) -> Option<(f64, f64, f64)> {
    let line = Line::over(points.iter().map(|p| (shape(p.k), p.y, p.weight)));
    line.fit().filter(|&(_, slope, _)| slope > 0.0)
}

/// The constant.
fn flat(points: &[At]) -> Hinge {
    let (level, cost) = Line::over(points.iter().map(|p| (p.k, p.y, p.weight))).mean();
    Hinge { level, knee: points.last().map_or(0.0, |p| p.k), slope: 0.0, cost }
}

/// The best flat-then-linear curve through `points`, which are sorted by their quantity, each quantity once.
///
/// # Panics
/// If there is no point, which is a defect of the caller.
#[must_use]
pub fn fit(points: &[At]) -> Hinge {
    assert!(!points.is_empty(), "a curve has points");
    let mut best = flat(points);
    let mut consider = |candidate: Hinge| {
        if candidate.cost < best.cost {
            best = candidate;
        }
    };
    for j in 0..points.len() - 1 {
        let knee = points[j].k;
        if let Some((level, slope, cost)) = shaped(points, |k| (k - knee).max(0.0)) {
            consider(Hinge { level, knee, slope, cost });
        }
        if let Some(between) = bend_between(points, j) {
            consider(between);
        }
    }
    best
}

/// The best curve that bends strictly between `points[j]` and the next, if the best of all is there: then both of its
/// parts are what they would be alone.
fn bend_between(points: &[At], j: usize) -> Option<Hinge> {
    let (left, right) = points.split_at(j + 1);
    let sums = |part: &[At]| Line::over(part.iter().map(|p| (p.k, p.y, p.weight)));
    let (level, left_cost) = sums(left).mean();
    let (intercept, slope, right_cost) = sums(right).fit()?;
    let knee = (level - intercept) / slope;
    let inside = slope > 0.0 && knee > points[j].k && knee < points[j + 1].k;
    inside.then_some(Hinge { level, knee, slope, cost: left_cost + right_cost })
}

/// The shape of a curve whose slope grows linearly from 0 at `start` to 1 at `end`.
pub(crate) fn blend(k: f64, start: f64, end: f64) -> f64 {
    if k <= start {
        0.0
    } else if k >= end {
        k - 0.5 * (start + end)
    } else {
        (k - start).powi(2) / (2.0 * (end - start))
    }
}

/// The best curve with a smooth bend that starts before `hinge` bends and ends after it, both among the quantities, the
/// hinge's bend and the middles between them; `None` where the hinge does not bend.
#[must_use]
pub fn transition(points: &[At], hinge: &Hinge) -> Option<Transition> {
    if hinge.slope <= 0.0 {
        return None;
    }
    let mut places: Vec<f64> = points.iter().map(|p| p.k).collect();
    places.extend(points.windows(2).map(|pair| 0.5 * (pair[0].k + pair[1].k)));
    places.push(hinge.knee);
    places.sort_by(f64::total_cmp);
    let mut best: Option<Transition> = None;
    for &start in places.iter().filter(|&&k| k <= hinge.knee) {
        for &end in places.iter().filter(|&&k| k >= hinge.knee) {
            let Some((level, slope, cost)) = shaped(points, |k| blend(k, start, end)) else { continue };
            if best.is_none_or(|b| cost < b.cost) {
                best = Some(Transition { level, start, end, slope, cost });
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const QUANTITIES: [f64; 13] = [0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0];

    fn points(value: impl Fn(f64) -> f64) -> Vec<At> {
        QUANTITIES.iter().map(|&k| At { k, y: value(k), weight: 1.0 }).collect()
    }

    /// The cost of a hinge, and the best of all bends on a fine grid: least squares by the normal equations.
    fn naive(points: &[At]) -> f64 {
        let cost = |knee: f64| {
            let g = |k: f64| (k - knee).max(0.0);
            let sum = |f: &dyn Fn(&At) -> f64| points.iter().map(f).sum::<f64>();
            let (w, x, y) = (sum(&|p| p.weight), sum(&|p| p.weight * g(p.k)), sum(&|p| p.weight * p.y));
            let (xx, xy) = (sum(&|p| p.weight * g(p.k).powi(2)), sum(&|p| p.weight * g(p.k) * p.y));
            let slope = ((w * xy - x * y) / (w * xx - x * x)).max(0.0);
            let slope = if slope.is_finite() { slope } else { 0.0 };
            let level = (y - slope * x) / w;
            sum(&|p| p.weight * (p.y - level - slope * g(p.k)).powi(2))
        };
        (0..6400).map(|i| cost(f64::from(i) * 0.01)).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn a_bend_at_or_between_quantities_is_found_exactly() {
        for knee in [0.0, 0.4, 3.0, 13.7, 24.0, 47.9] {
            let hinge = fit(&points(|k| 2.0 + 0.3 * (k - knee).max(0.0)));
            assert!((hinge.knee - knee).abs() < 1e-9 && (hinge.slope - 0.3).abs() < 1e-9, "{knee}: {hinge:?}");
            assert!((hinge.level - 2.0).abs() < 1e-9 && (hinge.slack() - (0.15 * knee).min(1.0)).abs() < 1e-9);
        }
    }

    #[test]
    fn what_never_rises_is_flat() {
        for slope in [0.0, -0.01] {
            let hinge = fit(&points(|k| 5.0 + slope * k));
            assert_eq!((hinge.slope, hinge.knee), (0.0, 64.0));
        }
        assert_eq!(fit(&points(|_| 5.0)[..1]).level, 5.0);
    }

    #[test]
    fn a_smooth_bend_has_its_start_and_end() {
        let curve = points(|k| 1.0 + 0.1 * blend(k, 8.0, 24.0));
        let transition = transition(&curve, &fit(&curve)).unwrap();
        assert_eq!((transition.start, transition.end), (8.0, 24.0));
        assert!((transition.slope - 0.1).abs() < 1e-9 && transition.cost < 1e-12);
        let sharp = points(|k| 1.0 + 0.1 * (k - 12.0).max(0.0));
        let none = super::transition(&sharp, &fit(&sharp)).unwrap();
        assert_eq!((none.start, none.end), (12.0, 12.0));
    }

    proptest! {
        /// No bend on a fine grid is better than the one found.
        #[test]
        fn the_optimum_is_global(values in prop::collection::vec((0.5f64..3.0, 0.1f64..10.0), 3..13)) {
            let points: Vec<At> =
                QUANTITIES.iter().zip(&values).map(|(&k, &(y, weight))| At { k, y, weight }).collect();
            let hinge = fit(&points);
            let cost: f64 = points.iter().map(|p| p.weight * (p.y - hinge.at(p.k)).powi(2)).sum();
            prop_assert!((cost - hinge.cost).abs() < 1e-6 * cost.max(1e-6), "{} {}", cost, hinge.cost);
            prop_assert!(hinge.slope >= 0.0);
            let naive = naive(&points);
            prop_assert!(hinge.cost <= naive * (1.0 + 1e-9) + 1e-9, "{} {}", hinge.cost, naive);
        }

        /// Times in another unit, and quantities in another, bend at the same place.
        #[test]
        fn units_do_not_matter(values in prop::collection::vec(0.5f64..3.0, 13), unit in 0.01f64..100.0) {
            let points: Vec<At> =
                QUANTITIES.iter().zip(&values).map(|(&k, &y)| At { k, y, weight: 1.0 }).collect();
            let scaled: Vec<At> = points.iter().map(|p| At { k: 3.0 * p.k, y: unit * p.y, weight: 1.0 }).collect();
            let (a, b) = (fit(&points), fit(&scaled));
            prop_assert!((3.0 * a.knee - b.knee).abs() < 1e-6 * (1.0 + b.knee) || (a.cost * unit * unit - b.cost).abs() < 1e-9 * b.cost);
        }
    }
}
