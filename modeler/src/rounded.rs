//! The least noise of values that a report has rounded: however well a function fits them, and however alike their
//! repetitions are, what was measured lies anywhere within half a unit of the last digit.

use crate::model::Model;
use crate::noise::{Noise, PossibleNoise};

/// Relative standard deviation of values with so many significant digits, at its largest: the error of 1.00 is even
/// between -0.005 and 0.005, whose deviation is that over √3.
pub(crate) fn deviation(digits: i32) -> f64 {
    0.5 * 10f64.powi(1 - digits) / 3f64.sqrt()
}

/// `model` with no less noise than `deviation`: in its intervals, in the errors of its coefficients, and in what it says of
/// its noise. Estimates from residuals hold the rounding already where they are larger.
pub(crate) fn with_floor(mut model: Model, deviation: f64) -> Model {
    if deviation <= 0.0 {
        return model;
    }
    let uncertainty = &mut model.uncertainty;
    let known = uncertainty.noise_level();
    if known < deviation {
        if uncertainty.noises.is_empty() {
            uncertainty.noises.push(PossibleNoise::certain(Noise::background(deviation)));
        }
        uncertainty.noises.iter_mut().for_each(|n| n.noise.sigma = n.noise.sigma.max(deviation));
        if known > 0.0 {
            let factor = deviation / known;
            uncertainty.covariance.iter_mut().for_each(|c| *c *= factor * factor);
            uncertainty.coefficient_errors.iter_mut().for_each(|e| *e *= factor);
        }
        uncertainty.coefficient_errors.iter_mut().for_each(|e| *e = e.max(deviation));
    }
    model.quality.noise = Some(model.quality.noise.unwrap_or(0.0).max(deviation));
    for segment in &mut model.segments {
        segment.model = with_floor(segment.model.clone(), deviation);
    }
    model
}
