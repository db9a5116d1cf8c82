//! Makes models of what was chosen.

use super::{Chosen, Design, Workspace};
use crate::experiment::Series;
use crate::model::{Exponent, Factor, Growth, Kind, Method, Model, Quality, Role, Scale, Term, Uncertainty, Warning};
use crate::noise::{Noise, PossibleNoise};
use crate::quality::adjusted_r2;
use crate::warning::{self, warning};

/// Terms below this share of the model at the largest scale do not count as its growth.
const MATTERS: f64 = 0.01;

/// The model that Extra-P's modeler chooses for the mean values `y` at the points of `design`, each the mean of
/// `repetitions` at least. Its statistics are those of the means. Designs that share a workspace differ in `id`.
pub(super) fn model(
    design: &Design,
    id: u32,
    (series, kind): (&Series, Kind),
    (y, repetitions): (&[f64], usize),
    warnings: Vec<Warning>,
    workspace: &mut Workspace,
) -> Model {
    let chosen = design.search(id, y, workspace);
    let terms = terms(&chosen);
    let mut model = Model {
        callpath: series.callpath,
        metric: series.metric,
        kind,
        method: Method::Time,
        effort_metric: None,
        constant: chosen.coefficients[0],
        growth: growth(&chosen, &terms, design.range.len()),
        quality: quality(&chosen, y, repetitions),
        terms,
        warnings,
        runners_up: Vec::new(),
        segments: Vec::new(),
        uncertainty: uncertainty(&chosen, y, design.range.clone()),
    };
    if y.len() > chosen.coefficients.len() {
        model.quality.noise = Some(model.uncertainty.noise_level());
    }
    if model.terms.is_empty() {
        model.warnings.push(warning(warning::CONSTANT, "No growth was found."));
    }
    model
}

/// The factors of a product.
fn product(chosen: &Chosen, mask: usize) -> Vec<Factor> {
    let factors = &chosen.joint.factors;
    (0..factors.len()).filter(|k| mask >> k & 1 == 1).map(|k| factors[k]).collect()
}

fn term(chosen: &Chosen, mask: usize, coefficient: f64) -> Term {
    Term { coefficient, role: Role::Computation, scale: Scale::One, factors: product(chosen, mask) }
}

fn masks<'a>(chosen: &'a Chosen) -> &'a [usize] {
    &chosen.joint.hypotheses[chosen.hypothesis].terms
}

fn terms(chosen: &Chosen) -> Vec<Term> {
    masks(chosen).iter().zip(&chosen.coefficients[1..]).map(|(&mask, &c)| term(chosen, mask, c)).collect()
}

/// Leading growth per parameter over the summands that matter at the corner.
fn growth(chosen: &Chosen, terms: &[Term], parameters: usize) -> Vec<Growth> {
    let mut growth = vec![Growth { exponent: Exponent::from_integer(0), log_exponent: 0 }; parameters];
    let values = || masks(chosen).iter().zip(terms).map(|(&mask, term)| term.coefficient * chosen.joint.corner[mask]);
    let total = chosen.coefficients[0] + values().sum::<f64>();
    for (term, value) in terms.iter().zip(values()) {
        if value.abs() < MATTERS * total.abs() || value == 0.0 {
            continue;
        }
        for f in &term.factors {
            let of = &mut growth[f.parameter];
            if (f.exponent, f.log_exponent) > (of.exponent, of.log_exponent) {
                *of = Growth { exponent: f.exponent, log_exponent: f.log_exponent };
            }
        }
    }
    growth
}

fn quality(chosen: &Chosen, y: &[f64], repetitions: usize) -> Quality {
    let shares: f64 = y.iter().zip(chosen.fitted).map(|(y, f)| super::half_share(*y, *f)).sum();
    let left_out = || -> Option<f64> {
        let leverage = &chosen.joint.hypotheses[chosen.hypothesis].leverage;
        let mut sum = 0.0;
        for ((y, f), h) in y.iter().zip(chosen.fitted).zip(leverage) {
            if *f <= 0.0 || *h > 1.0 - 1e-9 {
                return None;
            }
            sum += ((y / f - 1.0) / (1.0 - h)).abs();
        }
        Some(sum / y.len() as f64)
    };
    Quality {
        points: y.len(),
        repetitions,
        smape: (!y.is_empty()).then(|| 200.0 * shares / y.len() as f64),
        adjusted_r2: adjusted_r2(y, chosen.fitted, chosen.coefficients.len() - 1),
        noise: None,
        cross_validated_relative_error: left_out(),
    }
}

/// Two-sided noise as large as the relative residuals, and the covariance of least squares.
fn uncertainty(chosen: &Chosen, y: &[f64], range: Vec<(f64, f64)>) -> Uncertainty {
    let k = chosen.coefficients.len();
    let freedom = y.len().saturating_sub(k) as f64;
    let pairs = || y.iter().zip(chosen.fitted);
    let relative: f64 =
        pairs().map(|(y, f)| if *f == 0.0 { f64::from(*y != 0.0) } else { (y / f - 1.0).powi(2) }).sum();
    let absolute: f64 = pairs().map(|(y, f)| (y - f).powi(2)).sum();
    let per_degree = |squares: f64| squares / freedom.max(1.0);
    let covariance: Vec<f64> =
        chosen.joint.hypotheses[chosen.hypothesis].covariance.iter().map(|c| c * per_degree(absolute)).collect();
    let error = |i: usize| match chosen.coefficients[i] {
        0.0 => 0.0,
        c => covariance[i * k + i].sqrt() / c.abs(),
    };
    let one = Term { coefficient: 1.0, role: Role::Computation, scale: Scale::One, factors: Vec::new() };
    let products = masks(chosen).iter().map(|&mask| vec![term(chosen, mask, 1.0)]);
    Uncertainty {
        noises: vec![PossibleNoise::certain(Noise::background(per_degree(relative).sqrt()))],
        basis: std::iter::once(vec![one]).chain(products).collect(),
        coefficient_errors: (0..k).map(error).collect(),
        covariance,
        freedom,
        rivals: Vec::new(),
        centre: None,
        left_out: Vec::new(),
        open: Vec::new(),
        misfit: 0.0,
        range,
    }
}
