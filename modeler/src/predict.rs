//! Evaluates models away from the measurements, with intervals.
//!
//! A new measurement is the undisturbed time, known up to the errors of its coefficients and of its shape, with the
//! noise of `noise.rs`, whose distribution function has a closed form.

use crate::cross;
use crate::model::{Method, Model, Prediction, Term, Uncertainty, value_at};
use crate::noise::{Distribution, Noise, PossibleNoise};

impl Model {
    /// The model's value at `x`, one coordinate per parameter, with the interval that holds a new measurement there
    /// with probability `level`, in the metric's unit. Neither end is ever negative.
    ///
    /// The value is the undisturbed one. Noise that only adds puts measurements above it, so the interval begins where
    /// measurements without such noise would with probability `(1 - level)/2` be lower, and ends where all
    /// measurements would with that probability be higher. It covers the noise of one measurement, the coefficients'
    /// errors, where the shape was searched in noisy data the disagreement of the shapes that explain them nearly as
    /// well, and what the function misses at the measured points beyond noise. Where all points lie on lines along single parameters it spans
    /// what the sum and the product of what the parameters add would be.
    ///
    /// ```
    /// # use modeler::experiment::{ExperimentBuilder, Metric};
    /// # let mut builder = ExperimentBuilder::new(["p"]);
    /// # let blocks = builder.metric(Metric { name: "basic_blocks".into(), unit: String::new(), over_ranks: None });
    /// # let solve = builder.callpath(["main", "solve"]);
    /// # for p in [2.0_f64, 4.0, 8.0, 16.0, 32.0] {
    /// #     let point = builder.point(&[p]);
    /// #     builder.add(solve, blocks, point, 7.0 + 3.0 * p * p.log2());
    /// # }
    /// # let fits = modeler::fit(&builder.finish(), &modeler::Options::default());
    /// let model = &fits.models[0]; // of 7 + 3 p log2(p)
    /// let prediction = model.predict(&[64.0], 0.9);
    /// assert_eq!(prediction.value, 7.0 + 3.0 * 64.0 * 6.0);
    /// assert_eq!((prediction.lower, prediction.upper), (prediction.value, prediction.value)); // counts have no noise
    /// ```
    #[must_use]
    pub fn predict(&self, x: &[f64], level: f64) -> Prediction {
        if let Some(prediction) = self.predict_in_segments(x, level) {
            return prediction;
        }
        let value = self.at(x).max(0.0);
        let level = if level > 0.0 && level < 1.0 { level } else { 0.9 };
        let u = &self.uncertainty;
        // Functions between which no measurement can choose are all as probable.
        let (least, most) = if value > 0.0 { self.span_at(x) } else { (value, value) };
        let at_level = |level: f64, spread: f64| match level < 0.5 {
            true => u.undisturbed_quantile(level, spread),
            // Noise that only adds leaves little below the lower end. What that saves is not taken off the upper one, beyond which nearly
            // all measurements outside the interval were found.
            false => u.quantile(level, spread),
        };
        let known = if value > 0.0 { self.relative_error_at(x, value) } else { 0.0 };
        let end = |level: f64, shapes: Shapes| {
            let all = at_level(level, known.hypot(shapes.variance.exp_m1().sqrt()));
            if shapes.variance == 0.0 {
                return all;
            }
            let furthest = at_level(level, known).abs() + BEYOND_RIVALS * shapes.furthest;
            all.max(-furthest).min(furthest)
        };
        let (below, above) = if value > 0.0 { self.shapes_at(x, least, most) } else { Default::default() };
        let (lower, upper) = (end((1.0 - level) / 2.0, below), end((1.0 + level) / 2.0, above));
        // Beside the metric's noise a value in double precision has its own rounding.
        let (lower, upper) = ((least * lower.exp()).min(value), (most * upper.exp()).max(value));
        let upper = self.end_of_fall(x).map_or(upper, |end| upper.max(self.predict(&end, level).upper));
        Prediction { value, lower, upper, level }
    }

    /// The last place before `x` that was measured, where times fall to zero: that they fall further beyond it no measurement says, and they may
    /// stay as they are there.
    fn end_of_fall(&self, x: &[f64]) -> Option<Vec<f64>> {
        let falls = self.method == Method::Time && self.terms.iter().any(|t| t.coefficient < 0.0);
        let end = || x.iter().zip(&self.uncertainty.range).map(|(x, range)| x.min(range.1)).collect::<Vec<f64>>();
        falls.then(end).filter(|end| end != x)
    }

    /// The least and the most, not below zero, at `x` of the functions that no measurement tells from this one.
    pub(crate) fn span_at(&self, x: &[f64]) -> (f64, f64) {
        self.span_of(self.constant, &self.terms, x)
    }

    /// The same of another function of the same points.
    fn span_of(&self, constant: f64, terms: &[Term], x: &[f64]) -> (f64, f64) {
        let alone = || (value_at(constant, terms, x), value_at(constant, terms, x));
        let centre = self.uncertainty.centre.as_ref();
        let (least, most) = centre.map_or_else(alone, |centre| cross::span(centre, constant, terms, x));
        (least.max(0.0), most.max(0.0))
    }

    /// Relative standard error of the undisturbed value at `x` from coefficients and what no shape describes.
    fn relative_error_at(&self, x: &[f64], value: f64) -> f64 {
        let u = &self.uncertainty;
        let basis: Vec<f64> = u.basis.iter().map(|group| group.iter().map(|t| t.at(x)).sum::<f64>() / value).collect();
        let k = basis.len();
        let mut variance = 0.0;
        for i in 0..k {
            for j in 0..k {
                variance += basis[i] * u.covariance[i * k + j] * basis[j];
            }
        }
        (variance.max(0.0) + u.misfit.powi(2)).sqrt()
    }

    /// What the shapes that explain the data nearly as well say at `x` below `least`, and above `most`.
    fn shapes_at(&self, x: &[f64], least: f64, most: f64) -> (Shapes, Shapes) {
        let (mut below, mut above, mut weights) = (Shapes::default(), Shapes::default(), 1.0);
        for (weight, constant, terms) in &self.uncertainty.rivals {
            let (its_least, its_most) = self.span_of(*constant, terms, x);
            below.add(*weight, least, its_least);
            above.add(*weight, its_most, most);
            weights += weight;
        }
        below.variance *= OF_ONE_SIDE / weights;
        above.variance *= OF_ONE_SIDE / weights;
        (below, above)
    }
}

/// Shapes that explain the data nearly as well, beyond one end of what the value may be, in logarithms.
#[derive(Clone, Copy, Debug, Default)]
struct Shapes {
    variance: f64,
    furthest: f64,
}

impl Shapes {
    /// Adds one of this weight, where its `large` is more than `small`.
    fn add(&mut self, weight: f64, large: f64, small: f64) {
        if large > small {
            let off = (large / small).min(FURTHEST_OF_ALL).ln();
            self.variance += weight * off.min(FURTHEST.ln()).powi(2);
            self.furthest = self.furthest.max(off);
        }
    }
}

/// Rival shapes count in the variance as at most so many times as large or small, and intervals go to no shape farther away.
const FURTHEST: f64 = 11.0;
const FURTHEST_OF_ALL: f64 = 1e6;
/// What rivals on one side of the value count for in the variance there. Two, since a variable that varies as far to either side has half of
/// its variance from each; and twice that, since the few rivals that are kept are not all shapes: with 1, 2, 3 and 4 in turn, intervals of
/// 90 % held 69 to 90, 74 to 92, 77 to 92 and 79 to 92 % of new measurements of what was measured along one line or on a grid, before the
/// furthest shape limited them (`--example coverage`, docs/accuracy.md).
const OF_ONE_SIDE: f64 = 4.0;
/// So many times as far as the furthest of them, in logarithms, shapes are not taken to go.
const BEYOND_RIVALS: f64 = 1.5;

impl Uncertainty {
    /// The quantile of the logarithm of a measurement over the model's value, when the undisturbed time has a relative error of `spread`.
    fn quantile(&self, q: f64, spread: f64) -> f64 {
        self.quantile_of(q, spread, |noise| noise)
    }

    /// The same of a measurement that nothing but the background disturbs.
    fn undisturbed_quantile(&self, q: f64, spread: f64) -> f64 {
        self.quantile_of(q, spread, |noise| Noise::background(noise.sigma))
    }

    fn quantile_of(&self, q: f64, spread: f64, counts: impl Fn(Noise) -> Noise) -> f64 {
        let of = |n: &PossibleNoise| (n.weight, n.shift, counts(self.apart(n.noise)).beside(spread));
        let parts: Vec<(f64, f64, Distribution)> = match self.noises.is_empty() {
            true => vec![(1.0, 0.0, Noise::background(0.0).beside(spread))],
            false => self.noises.iter().map(of).collect(),
        };
        let widen = small_sample_factor(self.freedom);
        quantile(q, |t| parts.iter().map(|(weight, shift, part)| weight * part.below(t / widen - shift)).sum())
    }

    /// `noise` without the misfit, which a fit takes for background and which is an error of the value.
    fn apart(&self, noise: Noise) -> Noise {
        Noise { sigma: (noise.sigma.powi(2) - self.misfit.powi(2)).max(0.0).sqrt(), ..noise }
    }
}

/// Widens normal quantiles when the deviation itself is estimated from few degrees of freedom.
///
/// The 95 % quantile of Student's t over that of the normal distribution is within 3 % of `1 + 1.1/ν + 1.5/ν²` from
/// ν = 2 on.
fn small_sample_factor(freedom: f64) -> f64 {
    let nu = freedom.max(2.0);
    1.0 + 1.0 / nu + 1.5 / (nu * nu)
}

/// Where the distribution function reaches `q`, within e^±20: by inverse quadratic interpolation where its last values allow that, and
/// by halves elsewhere (Chandrupatla, "A new hybrid quadratic/bisection algorithm for finding the zero of a nonlinear function without
/// using derivatives", Advances in Engineering Software 28(3), 1997). It asks some 16 times where the function is smooth, and up to about 70 times where it has steps.
pub(crate) fn quantile(q: f64, distribution: impl Fn(f64) -> f64) -> f64 {
    let asked = |t: f64| (t, distribution(t) - q);
    let (mut last, mut other) = (asked(-1.0), asked(1.0));
    while last.1 > 0.0 && last.0 > -20.0 {
        last = asked(2.0 * last.0);
    }
    while other.1 < 0.0 && other.0 < 20.0 {
        other = asked(2.0 * other.0);
    }
    // What is never reached is at the end of the range; what is no number is nowhere.
    if last.1 >= 0.0 || last.1.is_nan() {
        return last.0;
    }
    if other.1 <= 0.0 || other.1.is_nan() {
        return other.0;
    }
    let mut share = 0.5;
    loop {
        let new = asked(last.0 + share * (other.0 - last.0));
        let before = if (new.1 < 0.0) == (last.1 < 0.0) { last } else { std::mem::replace(&mut other, last) };
        last = new;
        let nearest = if last.1.abs() < other.1.abs() { last } else { other };
        let width = (other.0 - last.0).abs();
        let least = PRECISION.max(2.0 * f64::EPSILON * nearest.0.abs()) / width;
        if last.1.abs() <= PRECISE || least > 0.5 {
            // A step at zero, the distribution without noise, is met exactly.
            return if nearest.0.abs() < 1e-15 { 0.0 } else { nearest.0 };
        }
        share = interpolated(last, other, before).unwrap_or(0.5).clamp(least, 1.0 - least);
    }
}

/// How near quantiles are found, in their own values and in those of the distribution function.
const PRECISION: f64 = 1e-18;
const PRECISE: f64 = 1e-15;

/// The share of the way from `a` to `b` at which the parabola through these and `c` is zero, which as a function of the values is between
/// `a` and `b` where it rises or falls throughout.
fn interpolated(a: (f64, f64), b: (f64, f64), c: (f64, f64)) -> Option<f64> {
    let (xi, phi) = ((a.0 - b.0) / (c.0 - b.0), (a.1 - b.1) / (c.1 - b.1));
    (phi * phi < xi && (1.0 - phi).powi(2) < 1.0 - xi).then(|| {
        let far = (c.0 - a.0) / (b.0 - a.0);
        a.1 / (b.1 - a.1) * c.1 / (b.1 - c.1) + far * a.1 / (c.1 - a.1) * b.1 / (c.1 - b.1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Experiment, ExperimentBuilder, Metric};
    use crate::model::Growth;
    use crate::{Options, fit};

    /// Basic blocks and times of one call path over `t`, with two repetitions 1 % apart.
    fn measured(blocks: impl Fn(f64) -> f64, seconds: impl Fn(f64) -> f64) -> Experiment {
        let mut builder = ExperimentBuilder::new(["t"]);
        let of = |name: &str, unit: &str| Metric { name: name.into(), unit: unit.into(), over_ranks: None };
        let (time, effort) = (builder.metric(of("time", "s")), builder.metric(of("basic_blocks", "")));
        let callpath = builder.callpath(["main", "solve"]);
        for t in [1.0_f64, 2.0, 4.0, 6.0, 8.0] {
            let point = builder.point(&[t]);
            builder.add(callpath, effort, point, blocks(t));
            builder.add(callpath, time, point, 0.995 * seconds(t));
            builder.add(callpath, time, point, 1.005 * seconds(t));
        }
        builder.finish()
    }

    fn model_of_time(experiment: &Experiment) -> Model {
        let time = experiment.metrics.iter().position(|m| m.name == "time").unwrap() as u32;
        let fits = fit(experiment, &Options::default());
        fits.models.into_iter().find(|m| m.metric == time).unwrap()
    }

    #[test]
    fn intervals_hold_the_points_that_the_function_misses_on_either_side() {
        // Blocks do not grow, the times go up and down by 20 %: a constant misses them by far more than their noise.
        let seconds = |t: f64| if t == 2.0 || t == 6.0 { 0.8 } else { 1.2 };
        let experiment = measured(|_| 1000.0, seconds);
        let model = model_of_time(&experiment);
        assert_eq!(model.terms, []);
        for t in [1.0, 2.0, 4.0, 6.0, 8.0] {
            let prediction = model.predict(&[t], 0.9);
            assert!((prediction.lower..prediction.upper).contains(&seconds(t)), "{t}: {prediction:?}");
        }
    }

    /// A rival above the value says nothing of what is below it, and the interval goes not much farther than it.
    #[test]
    fn rivals_widen_the_interval_on_their_own_side() {
        let mut model = model_of_time(&measured(|_| 1000.0, |_| 2.0));
        let alone = model.predict(&[16.0], 0.9);
        let with = |model: &mut Model, rival: f64| {
            model.uncertainty.rivals = vec![(1.0, rival, Vec::new())];
            model.predict(&[16.0], 0.9)
        };
        let above = with(&mut model, 6.0);
        assert_eq!((above.value, above.lower), (alone.value, alone.lower));
        let furthest = 3_f64.powf(1.5) * alone.upper;
        assert!(above.upper > 6.0 && above.upper < 1.01 * furthest, "{above:?}, {furthest}");
        let below = with(&mut model, 1.0);
        assert_eq!(below.upper, alone.upper);
        assert!(below.lower < 1.0 && below.lower > 0.99 * alone.lower / 2_f64.powf(1.5), "{below:?}");
    }

    #[test]
    fn however_large_the_deviation_the_upper_end_is_above_the_value() {
        // A log-normal variable of mean 1 and this deviation: its logarithm's variance is ln(1 + d²), its mean half that
        // below zero, and 1.645 deviations above lies its 95 % quantile.
        for d in [0.5_f64, 2.0, 3.75] {
            let s = (d * d).ln_1p().sqrt();
            let found = quantile(0.95, |t| Noise::background(d).beside(0.0).below(t));
            assert!((found - (1.644_854 * s - 0.5 * s * s)).abs() < 1e-4, "{d}: {found}");
            assert!(found > 0.0);
            // Measurements that lie over decades have an interval over decades, and not one that ends at the value.
            let further = quantile(0.95, |t| Noise::background(400.0 * d).beside(0.0).below(t));
            assert!(further > found, "{d}: {further}");
            // An error of the value has no side: its median is the value.
            assert!(quantile(0.5, |t| Noise::background(0.0).beside(d).below(t)).abs() < 1e-6);
        }
    }

    #[test]
    fn growth_that_is_next_to_none_of_the_effort_takes_up_no_time() {
        // The growing term is 0.0014 % of the blocks at t = 8. The times grow by 4 % beside them.
        let experiment = measured(|t| 20_030_000.0 + 35.0 * t, |t| 0.01 * (1.0 + 0.005 * t));
        let model = model_of_time(&experiment);
        let still = Growth { exponent: 0.into(), log_exponent: 0 };
        assert_eq!(model.growth, [still]);
        let far = model.at(&[800.0]) / model.at(&[8.0]);
        assert!((far - 1.0).abs() < 0.002, "called constant, yet {far} times as much at a hundred times t");
    }

    #[test]
    fn times_that_grow_where_their_effort_does_not_are_not_called_constant() {
        let experiment = measured(|t| 20_030_000.0 + 35.0 * t, |t| 0.0072 + 0.0023 * t);
        let model = model_of_time(&experiment);
        assert_eq!(model.growth, [Growth { exponent: 1.into(), log_exponent: 0 }], "{:?}", model.terms);
        assert!(model.warnings.iter().any(|w| w.code == crate::warning::PRIOR_MISFIT), "{:?}", model.warnings);
    }

    #[test]
    fn quantiles_of_pure_noises_are_the_textbook_ones() {
        let background = |t: f64| Noise::background(0.2).beside(0.0).below(t);
        // The logarithm's variance is ln(1 + 0.2²) = 0.039221, and its mean is lower by half of that.
        assert!((quantile(0.95, background) + 0.019_610 - 0.198_042 * 1.644_854).abs() < 1e-4);
        assert_eq!(quantile(0.3, |t| Noise::background(0.0).beside(0.0).below(t)), 0.0);
    }

    /// Where a function that tells how often it was asked reaches `q`, and how often that was.
    fn asked(q: f64, distribution: impl Fn(f64) -> f64) -> (f64, usize) {
        let asked = std::cell::Cell::new(0);
        let found = quantile(q, |t| {
            asked.set(asked.get() + 1);
            distribution(t)
        });
        (found, asked.get())
    }

    #[test]
    fn quantiles_are_found_in_few_steps() {
        // The logistic distribution has quantiles of a closed form.
        for (q, wide) in [(0.05, 0.01), (0.5, 0.01), (0.95, 0.01), (0.95, 0.3), (0.999, 2.0)] {
            let (found, times) = asked(q, |t| 1.0 / (1.0 + (-t / wide).exp()));
            assert!((found - wide * (q / (1.0 - q)).ln()).abs() < 1e-12, "{q}, {wide}: {found}");
            assert!(times <= 16, "{q}, {wide}: {times}");
        }
        for step in [0.3, -0.7, 1.7] {
            let (found, times) = asked(0.4, |t| if t < step { 0.1 } else { 0.8 });
            assert!((found - step).abs() < 1e-15 && times <= 66, "{step}: {found}, {times}");
        }
        // What is never reached is the end of the range, also where a line through its ends would reach it elsewhere.
        assert_eq!([asked(0.9, |_| 0.5).0, asked(0.1, |_| 0.5).0], [32.0, -32.0]);
        assert_eq!(asked(0.05, |t| 1.0 / (1.0 + (-(t + 4.979_566_990_781_27) / 9.965_260_981_981_118).exp())).0, -32.0);
        assert!(asked(0.5, |_| f64::NAN).1 <= 16);
    }

    #[test]
    fn small_sample_factor_follows_students_table() {
        // 95 % quantiles of Student's t over 1.645: 2.920, 2.015, 1.812, 1.725 at 2, 5, 10, 20 degrees of freedom.
        for (nu, t) in [(2.0, 2.920), (5.0, 2.015), (10.0, 1.812), (20.0, 1.725)] {
            assert!((small_sample_factor(nu) / (t / 1.644_85) - 1.0).abs() < 0.06, "{nu}");
        }
    }
}
