//! A plot's axes: from values to places, and where ticks go.

/// Values that differ by less than this, relatively, are the same.
const SAME: f64 = 1e-9;

/// Maps values to places between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl Axis {
    /// An axis over `values`, logarithmic where they are positive and span a factor of two, or of four where a linear
    /// one would begin at zero, as `from_zero` asks: then heights can be compared. `None` where no value is finite.
    pub fn over(values: impl Iterator<Item = f64> + Clone, from_zero: bool) -> Option<Self> {
        let finite = values.filter(|v| v.is_finite());
        let low = finite.clone().fold(f64::INFINITY, f64::min);
        let high = finite.fold(f64::NEG_INFINITY, f64::max);
        if low > high {
            return None;
        }
        if low > 0.0 && high / low >= if from_zero { 4.0 } else { 2.0 } {
            return Some(Self { low, high, logarithmic: true });
        }
        let low = if from_zero { low.min(0.0) } else { low };
        // What is the same everywhere, but for rounding, still gets an axis with some length.
        let is_same = high - low <= SAME * high.abs().max(low.abs());
        let high = match is_same {
            false => high,
            true if low > 0.0 => 2.0 * low,
            true => low + 1.0,
        };
        Some(Self { low, high, logarithmic: false })
    }

    /// The same axis with a share of its length added at both ends; a linear one that begins at zero keeps that.
    pub fn padded(self, share: f64) -> Self {
        if self.logarithmic {
            let factor = (self.high / self.low).powf(share);
            return Self { low: self.low / factor, high: self.high * factor, ..self };
        }
        let length = self.high - self.low;
        let low = if self.low == 0.0 { 0.0 } else { self.low - share * length };
        Self { low, high: self.high + share * length, ..self }
    }

    /// Where `value` lies: 0 at the low end, 1 at the high end, beyond them outside.
    pub fn place(&self, value: f64) -> f64 {
        if self.logarithmic {
            return (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln();
        }
        (value - self.low) / (self.high - self.low)
    }

    /// The value at `place`.
    pub fn value(&self, place: f64) -> f64 {
        if self.logarithmic {
            self.low * (self.high / self.low).powf(place)
        } else {
            self.low + place * (self.high - self.low)
        }
    }

    /// Round values along the axis, about five of them.
    pub fn ticks(&self) -> Vec<f64> {
        let candidates: Vec<Vec<f64>> = if self.logarithmic {
            let mantissas: [&[f64]; 4] = [&[1.0], &[1.0, 3.0], &[1.0, 2.0, 5.0], &[1.0, 2.0, 3.0, 4.0, 6.0, 8.0]];
            [6, 3, 2]
                .map(|step| self.decades(&[1.0], step))
                .into_iter()
                .chain(mantissas.map(|m| self.decades(m, 1)))
                .collect()
        } else {
            let unit = 10f64.powf((self.high - self.low).log10().floor());
            [2.0, 1.0, 0.5, 0.2, 0.1].map(|step| self.multiples(unit * step)).to_vec()
        };
        candidates.into_iter().min_by_key(|ticks| ticks.len().abs_diff(5)).unwrap_or_default()
    }

    fn decades(&self, mantissas: &[f64], step: i32) -> Vec<f64> {
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().ceil() as i32;
        let decades = (first..=last).filter(|decade| decade % step == 0);
        let values = decades.flat_map(|decade| mantissas.iter().map(move |m| m * 10f64.powi(decade)));
        values.filter(|v| (self.low..=self.high).contains(v)).collect()
    }

    fn multiples(&self, step: f64) -> Vec<f64> {
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        (first..=last).map(|i| i as f64 * step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_positive_ranges_are_logarithmic_and_place_equal_factors_equally_far() {
        let axis = Axis::over([2.0, 32.0].into_iter(), true).unwrap();
        assert!((axis.place(8.0) - 0.5).abs() < 1e-12);
        assert!((axis.value(0.5) - 8.0).abs() < 1e-12);
    }

    #[test]
    fn narrow_ranges_are_linear_from_zero() {
        let axis = Axis::over([9.0, 10.0].into_iter(), true).unwrap();
        assert_eq!((axis.place(0.0), axis.place(10.0)), (0.0, 1.0));
        assert_eq!(axis.ticks(), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
    }

    #[test]
    fn ticks_are_few_and_round() {
        for (low, high) in [(1e-6, 3e-5), (0.02, 0.09), (1e-9, 1e9), (5.0, 21.0), (0.0, 0.7)] {
            let ticks = Axis::over([low, high].into_iter(), true).unwrap().ticks();
            assert!((2..=9).contains(&ticks.len()), "{low}..{high}: {ticks:?}");
            assert!(ticks.iter().all(|t| (low.min(0.0)..=high).contains(t)), "{low}..{high}: {ticks:?}");
        }
        assert_eq!(Axis::over([f64::NAN].into_iter(), true), None);
        // One value but for rounding is no range: ticks between two neighbouring numbers would be without end.
        for value in [5e-6_f64, 0.0, 3.0] {
            let ticks =
                Axis::over([value, value.next_up().min(value * 1.000_000_1)].into_iter(), false).unwrap().ticks();
            assert!((2..=9).contains(&ticks.len()), "{value}: {ticks:?}");
        }
    }
}
