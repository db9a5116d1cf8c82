//! Models of series whose behaviour changes within the measured range: a switch of algorithm or message protocol, a
//! cache that no longer holds the data.
//!
//! One parameter may have one change point, with at least [`LEAST_VALUES`] of its values on either side, or, of a count, with one rank
//! alone below. A count is split where no single function gives it and two give it exactly; other values only where two functions leave so much
//! less than one that noise cannot be the reason, and where the values themselves have a kink or a step there.

use crate::absorption::scaling::Change;
use crate::build::combined;
use crate::coefficients::{combine, weighted_fit};
use crate::data::Data;
use crate::effort::Found;
use crate::model::{Method, Model, Prediction};
use crate::roughness;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// How many values of the parameter a segment has at least.
const LEAST_VALUES: usize = 4;
/// How many places for a change are tried per parameter.
const TRIED: usize = 3;
/// How many times as large as the median a kink must be to be one.
const KINK: f64 = 4.0;
/// Relative size below which nothing is a kink.
const LEAST_KINK: f64 = 0.01;
/// What two functions must be better by than one, in units of twice a log likelihood, beside what their coefficients
/// and the choice of the place cost.
const PRICE: f64 = 10.0;
/// What one more shape costs where shapes are searched: twice the logarithm of some hundreds of hypotheses.
const SHAPE_PRICE: f64 = 12.0;
/// Relative deviations below this are all the same.
const FINEST: f64 = 1e-7;

/// Residual up to which rounding of loop bounds explains a count, so that one function does.
pub(crate) const ROUNDED: f64 = 3e-3;
/// A count in one segment has so many points per term at least: with four, a constant and a coefficient leave two to
/// agree.
const POINTS_PER_TERM: usize = 4;

/// A range of one parameter with the model that holds in it.
///
/// ```
/// let mut text = "PARAMETER n\nPOINTS 1 2 3 4 5 6 7 8\nREGION solve\nMETRIC visits\n".to_owned();
/// // 3 n up to n = 4, and 100 n from n = 5 on.
/// (1..=8).for_each(|n| text += &format!("DATA {}\n", if n <= 4 { 3 * n } else { 100 * n }));
/// let input = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?;
/// let fits = modeler::fit(&input.experiment, &modeler::Options::default());
/// let [lower, upper] = fits.models[0].segments.as_slice() else { panic!("two ranges") };
/// assert_eq!((lower.to, upper.from), (Some(4.0), Some(5.0)));
/// assert_eq!((lower.model.at(&[2.0]), upper.model.at(&[10.0])), (6.0, 1000.0));
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// Index of the parameter in [`crate::Experiment::parameters`].
    pub parameter: usize,
    /// The smallest measured value of the parameter in the segment; `None` in the first, which has no lower end.
    pub from: Option<f64>,
    /// The largest measured value of the parameter in the segment; `None` in the last, which has no upper end.
    pub to: Option<f64>,
    /// The model of the points in the segment, itself without segments.
    pub model: Model,
}

/// Where a series may be split.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cut {
    /// Index of the parameter.
    pub parameter: usize,
    /// Its largest value below the change.
    pub below: f64,
    /// Its smallest value above.
    pub above: f64,
}

impl Cut {
    /// The cut where the resource that binds the call path changes, if both sides have enough values.
    pub fn at(data: &Data, change: &Change) -> Option<Self> {
        let Change { parameter, below, above, .. } = *change;
        let cut = Self { parameter, below, above };
        let enough = |lower: bool| {
            let side = data.points.iter().filter(|x| cut.is_below(x) == lower);
            side.map(|x| (x[parameter] + 0.0).to_bits()).collect::<BTreeSet<u64>>().len() >= LEAST_VALUES
        };
        (enough(true) && enough(false)).then_some(cut)
    }

    /// Whether a point belongs to the lower part. Between the values measured the change is taken to be halfway, on a
    /// logarithmic scale where there is one. Up to zero only the lower part has a function for sure.
    fn is_below(&self, x: &[f64]) -> bool {
        let middle = if self.below > 0.0 {
            (self.below * self.above).sqrt()
        } else if self.below < 0.0 && self.above > 0.0 {
            self.above
        } else {
            0.5 * (self.below + self.above)
        };
        x[self.parameter] < middle
    }

    /// The data on one side.
    pub fn part<'a>(&self, data: &Data<'a>, lower: bool) -> Data<'a> {
        data.restricted(|x| self.is_below(x) == lower)
    }
}

/// Whether the points of `part` are enough to say that the function that gives their counts is behind them.
pub(crate) fn is_sure(found: &Found, part: &Data) -> bool {
    found.exact && found.terms.len() * POINTS_PER_TERM <= part.points.len()
}

/// The same where nothing else tells of a change than one value: all coefficients count.
pub(crate) fn is_determined(found: &Found, part: &Data) -> bool {
    found.exact && found.coefficients() * POINTS_PER_TERM <= part.points.len()
}

impl Model {
    /// The change between this model's two segments.
    fn change(&self) -> Option<Cut> {
        let [lower, upper] = self.segments.as_slice() else { return None };
        Some(Cut { parameter: lower.parameter, below: lower.to?, above: upper.from? })
    }

    /// The model of the segment that holds at `x`, if the model has segments.
    pub(crate) fn segment_at(&self, x: &[f64]) -> Option<&Model> {
        let change = self.change()?;
        Some(&self.segments[usize::from(!change.is_below(x))].model)
    }

    /// The prediction of the segment that holds at `x`. Between the last measured value of one and the first of the
    /// next nobody knows which holds, so there the interval holds both intervals.
    pub(crate) fn predict_in_segments(&self, x: &[f64], level: f64) -> Option<Prediction> {
        let change = self.change()?;
        let mut prediction = self.segment_at(x)?.predict(x, level);
        if x[change.parameter] > change.below && x[change.parameter] < change.above {
            for segment in &self.segments {
                let other = segment.model.predict(x, level);
                prediction.lower = prediction.lower.min(other.lower);
                prediction.upper = prediction.upper.max(other.upper);
            }
        }
        Some(prediction)
    }

    /// The segments' formulas with their ranges.
    pub(crate) fn segments_expression(&self, parameters: &[String]) -> Option<String> {
        let change = self.change()?;
        let name = &parameters[change.parameter];
        let [lower, upper] = [0, 1].map(|i| self.segments[i].model.expression(parameters));
        Some(format!("{lower} for {name} <= {}; {upper} for {name} >= {}", change.below, change.above))
    }
}

/// Where the values of `data` may change their behaviour, the sharpest kink of each parameter first; none where the
/// points are too few or the values smooth.
pub(crate) fn cuts(data: &Data) -> Vec<Cut> {
    let parameters = data.points.first().map_or(0, |x| x.len());
    (0..parameters).flat_map(|l| cuts_of(data, l)).collect()
}

/// Where `data` have enough values of `parameter` on both sides, in ascending order.
pub(crate) fn places(data: &Data, parameter: usize) -> Vec<Cut> {
    places_of(&data.lines.levels(parameter).values, parameter).collect()
}

fn places_of(values: &[f64], parameter: usize) -> impl Iterator<Item = Cut> + '_ {
    let ends = LEAST_VALUES..(values.len() + 1).saturating_sub(LEAST_VALUES);
    ends.map(move |k| Cut { parameter, below: values[k - 1], above: values[k] })
}

fn cuts_of(data: &Data, parameter: usize) -> Vec<Cut> {
    let values = &data.lines.levels(parameter).values;
    if values.len() < 2 * LEAST_VALUES {
        return Vec::new();
    }
    let offsets = roughness::offsets(&data.lines, &data.medians, parameter);
    let at = |value: f64| {
        let here: Vec<f64> = offsets.iter().filter(|o| o.0 == value).map(|o| o.1).collect();
        here.iter().sum::<f64>() / here.len().max(1) as f64
    };
    let sharpness: Vec<f64> = values.iter().map(|&v| at(v)).collect();
    let mut sorted = sharpness[1..sharpness.len() - 1].to_vec();
    sorted.sort_by(f64::total_cmp);
    let limit = (KINK * sorted[sorted.len() / 2]).max(LEAST_KINK);
    let mut kinks: Vec<(f64, Cut)> = (LEAST_VALUES..)
        .zip(places_of(values, parameter))
        .map(|(k, cut)| (sharpness[k - 1].max(sharpness[k]) + 0.1 * sharpness[k - 1].min(sharpness[k]), cut))
        .filter(|(kink, _)| *kink >= limit)
        .collect();
    kinks.sort_by(|a, b| b.0.total_cmp(&a.0));
    kinks.into_iter().take(TRIED).map(|(_, cut)| cut).collect()
}

/// The model of two segments, where it explains `data` better than `whole` by more than noise can.
pub(crate) fn better(data: &Data, whole: &Model, parts: Vec<(Cut, Model, Model)>) -> Option<Model> {
    if parts.is_empty() {
        return None;
    }
    let single = criterion(data, &[(whole, None)]);
    let judged = parts.into_iter().map(|(cut, lower, upper)| {
        let both = criterion(data, &[(&lower, Some((cut, true))), (&upper, Some((cut, false)))]);
        (both, cut, lower, upper)
    });
    let (both, cut, lower, upper) = judged.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let shape = if whole.method == Method::Time { SHAPE_PRICE } else { 0.0 };
    (both + shape + PRICE + 2.0 * (TRIED as f64).ln() < single).then(|| joined(data, cut, lower, upper))
}

/// The model of two segments at a change that something else than the times tells, where it explains `data` better than
/// `whole`: nothing has to be paid for looking in many places.
pub(crate) fn expected(data: &Data, whole: &Model, (cut, lower, upper): (Cut, Model, Model)) -> Option<Model> {
    // Segments within segments are not what the change tells.
    if !lower.segments.is_empty() || !upper.segments.is_empty() {
        return None;
    }
    let both = criterion(data, &[(&lower, Some((cut, true))), (&upper, Some((cut, false)))]);
    // Where the times alone tell the same change, it remains to say what each side's shape comes from.
    let is_better = whole.change() == Some(cut) || both < criterion(data, &[(whole, None)]);
    is_better.then(|| joined(data, cut, lower, upper))
}

/// The description length of the point's values: their relative residuals from least squares in the models' terms, and
/// the coefficients, corrected for few points (Hurvich and Tsai, Regression and time series model selection in small
/// samples, Biometrika 76, 1989). The place of the change is one more coefficient.
fn criterion(data: &Data, models: &[(&Model, Option<(Cut, bool)>)]) -> f64 {
    let n = data.points.len() as f64;
    let (mut squares, mut k) = (0.0, models.len() as f64 - 1.0);
    for (model, side) in models {
        let part;
        let data = match side {
            Some((cut, lower)) => {
                part = cut.part(data, *lower);
                &part
            }
            None => data,
        };
        let columns = columns(model, data);
        k += columns.len() as f64;
        let fitted = combine(&columns, &weighted_fit(&columns, &data.medians));
        // What holds at all points with the model's own coefficients is not made worse by fitting anew.
        let own: Vec<f64> = data.points.iter().map(|x| model.at(x)).collect();
        squares += relative_squares(&data.medians, &fitted).min(relative_squares(&data.medians, &own));
    }
    let few_points = 2.0 * (k + 1.0) * (k + 2.0) / (n - k - 2.0).max(0.5);
    n * (squares / n + FINEST * FINEST).ln() + 2.0 * k + few_points
}

fn relative_squares(y: &[f64], fitted: &[f64]) -> f64 {
    let relative = |(y, f): (&f64, &f64)| {
        if y == f {
            0.0
        } else if *f > 0.0 {
            (y / f - 1.0).powi(2)
        } else {
            1.0
        }
    };
    y.iter().zip(fitted).map(relative).sum()
}

/// The values of the constant, if there is one, and of each term at the points.
fn columns(model: &Model, data: &Data) -> Vec<Vec<f64>> {
    let of = |value: &dyn Fn(&[f64]) -> f64| data.points.iter().map(|x| value(x)).collect::<Vec<f64>>();
    let mut columns = Vec::new();
    if model.constant != 0.0 || model.terms.is_empty() {
        columns.push(vec![1.0; data.points.len()]);
    }
    let shown = model.terms.iter().filter(|t| t.coefficient != 0.0);
    columns.extend(shown.map(|t| of(&|x| t.at(x) * t.coefficient.signum())));
    columns
}

/// One model of the two: what stands outside its segments is that of the upper one, which holds at the largest scale.
pub(crate) fn joined(data: &Data, cut: Cut, lower: Model, upper: Model) -> Model {
    let mut model = upper.clone();
    model.segments = vec![
        Segment { parameter: cut.parameter, from: None, to: Some(cut.below), model: lower },
        Segment { parameter: cut.parameter, from: Some(cut.above), to: None, model: upper },
    ];
    combined(&mut model, data);
    model
}
