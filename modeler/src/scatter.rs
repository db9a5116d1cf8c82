//! How far measurements lie off a model, which is what people are shown as scatter: what they find themselves when they compare
//! the two. The noise that a fit takes measurements to have ([`crate::model::Quality::noise`]) is another number: it is learned from
//! all call paths together, and leaves out what went astray and what a function misses.

use crate::data::is_usable;
use crate::experiment::{Experiment, PointId};
use crate::model::Model;

/// How far the measurements of a call path lie off its model, relative to the model.
///
/// ```
/// use modeler::scatter::Scatter;
/// let text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC time\nDATA 2.1\nDATA 3.9\nDATA 8.2\nDATA 15.9\nDATA 20\n";
/// let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?.experiment;
/// let model = &modeler::fit(&experiment, &modeler::Options::default()).models[0];
/// let found = Scatter::of(&experiment, model).unwrap();
/// let off = |x: f64, seconds: f64| seconds / model.at(&[x]) - 1.0;
/// let measured = [(2.0, 2.1), (4.0, 3.9), (8.0, 8.2), (16.0, 15.9), (32.0, 20.0)];
/// let squares: f64 = measured.iter().map(|&(x, seconds)| off(x, seconds).powi(2)).sum();
/// assert!((found.usual - (squares / 5.0).sqrt()).abs() < 1e-12);
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scatter {
    /// Root of the mean square over all measurements, but those that the fit left out with a warning.
    pub usual: f64,
    /// That of the measurement that is furthest off, negative where it is below the model.
    pub most: f64,
    /// The point of that measurement.
    pub point: PointId,
}

impl Scatter {
    /// That of what `model` is of; `None` where there are too few measurements to be off a function, or the model gives 0.
    ///
    /// ```
    /// use modeler::experiment::{ExperimentBuilder, Metric};
    /// use modeler::scatter::Scatter;
    ///
    /// let mut builder = ExperimentBuilder::new(["p"]);
    /// let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
    /// let solve = builder.callpath(["main", "solve"]);
    /// for (p, seconds) in [(2.0, 2.1), (4.0, 3.9), (8.0, 8.3), (16.0, 15.8), (32.0, 20.0)] {
    ///     let point = builder.point(&[p]);
    ///     builder.add(solve, time, point, seconds);
    /// }
    /// let experiment = builder.finish();
    /// let model = &modeler::fit(&experiment, &modeler::Options::default()).models[0];
    /// let found = Scatter::of(&experiment, model).unwrap();
    /// assert!(found.most.abs() >= found.usual);
    /// ```
    #[must_use]
    pub fn of(experiment: &Experiment, model: &Model) -> Option<Self> {
        // A function with as many coefficients as there are measurements goes through all of them.
        model.quality.noise?;
        let series = experiment.series_of(model.callpath, model.metric)?;
        let points = &experiment.layouts[series.layout as usize].points;
        let (mut squares, mut count) = (0.0, 0_usize);
        let (mut most, mut furthest) = (0.0_f64, *points.first()?);
        let fitted = model.at_each(experiment.measurements(series).map(|(x, _)| x));
        let left_out = &model.uncertainty.left_out;
        for ((&point, (x, values)), fitted) in points.iter().zip(experiment.measurements(series)).zip(fitted) {
            let is_left_out = |value: f64| left_out.iter().any(|(at, left)| at == x && *left == value);
            let used = values.iter().filter(|value| is_usable(value) && !is_left_out(**value));
            for off in used.map(|value| (value - fitted) / fitted.abs()).filter(|off| off.is_finite()) {
                (squares, count) = (squares + off * off, count + 1);
                if off.abs() > most.abs() {
                    (most, furthest) = (off, point);
                }
            }
        }
        (count > 0).then(|| Self { usual: (squares / count as f64).sqrt(), most, point: furthest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{ExperimentBuilder, Metric};
    use crate::expression::tests::model;
    use crate::model::{Factor, Role, Scale, Term};

    /// More values than are kept, several factors in a term, and a share of all ranks but one.
    #[test]
    fn values_at_many_points_are_those_at_each() {
        let factor = |parameter, power: i32, log_exponent| Factor { parameter, exponent: power.into(), log_exponent };
        let term = |scale, factors| Term { coefficient: 0.3, role: Role::Computation, scale, factors };
        let terms = vec![
            term(Scale::One, vec![factor(0, 1, 2), factor(1, 2, 0)]),
            term(Scale::Remote(0), vec![factor(1, 1, 1)]),
            term(Scale::One, Vec::new()),
        ];
        let model = model(7.0, terms);
        let points: Vec<[f64; 2]> = (0..200).map(|i| [2.0 + f64::from(i % 23), 1.5 + f64::from(i % 31)]).collect();
        let each: Vec<f64> = points.iter().map(|x| model.at(x)).collect();
        assert_eq!(model.at_each(points.iter().map(|x| &x[..])), each);
    }

    #[test]
    fn one_point_far_off_is_told_and_counts() {
        let mut builder = ExperimentBuilder::new(["p"]);
        let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
        let solve = builder.callpath(["solve"]);
        for (p, seconds) in [(1.0, 9.0), (1.0, 11.0), (2.0, 10.0), (4.0, 5.0)] {
            let point = builder.point(&[p]);
            builder.add(solve, time, point, seconds);
        }
        let experiment = builder.finish();
        // 10 s everywhere, of noise that the fit takes to be small.
        let mut of_ten = model(10.0, Vec::new());
        assert_eq!(Scatter::of(&experiment, &of_ten), None, "too few measurements");
        of_ten.quality.noise = Some(0.055);
        let found = Scatter::of(&experiment, &of_ten).unwrap();
        // By hand: 10 % below, 10 % above, none, 50 % below.
        assert!((found.usual - (0.27_f64 / 4.0).sqrt()).abs() < 1e-12, "{found:?}");
        assert_eq!(found.most, -0.5);
        assert_eq!(experiment.points[found.point as usize], [4.0]);
        let mut with_negative = ExperimentBuilder::new(["p"]);
        let time = with_negative.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
        let solve = with_negative.callpath(["solve"]);
        for (p, seconds) in [(1.0, 9.0), (2.0, 10.0), (4.0, -5.0)] {
            let point = with_negative.point(&[p]);
            with_negative.add(solve, time, point, seconds);
        }
        assert_eq!(Scatter::of(&with_negative.finish(), &of_ten).unwrap().most, -0.1);
        // What the fit left out is told with its warning.
        let mut of_some = of_ten.clone();
        of_some.uncertainty.left_out = vec![(vec![4.0], 5.0)];
        let of_others = Scatter::of(&experiment, &of_some).unwrap();
        assert!((of_others.usual - (0.02_f64 / 3.0).sqrt()).abs() < 1e-12, "{of_others:?}");
        // Nothing is so many times nothing.
        let mut of_nothing = model(0.0, Vec::new());
        of_nothing.quality.noise = Some(0.0);
        assert_eq!(Scatter::of(&experiment, &of_nothing), None);
    }
}
