//! How far a model is from the truth: the seed paper's exponent deviation (equation 4) and relative error (equation 5).
//! Plain functions over plain values; nothing here knows who made the model.

use std::collections::BTreeMap;

use crate::complexity::{Exponent, Growth};

/// Equation 4, `|n1 - n2|`: how far apart two exponents of leading terms are. Logarithms and constants count as
/// exponent 0, so that `x·log2(x)` and `x` are 0 apart.
#[must_use]
pub fn exponent_deviation(truth: Exponent, model: Exponent) -> f64 {
    let value = |e: Exponent| f64::from(*e.numer()) / f64::from(*e.denom());
    // Equal exponents are 0 apart exactly; others differ by at least 1/64².
    if truth == model { 0.0 } else { (value(truth) - value(model)).abs() }
}

/// The exponent deviation of every parameter that either side names; a parameter that one side lacks is constant there.
#[must_use]
pub fn exponent_deviations(
    truth: &BTreeMap<String, Growth>,
    model: &BTreeMap<String, Growth>,
) -> BTreeMap<String, f64> {
    let of = |growth: &BTreeMap<String, Growth>, name: &str| growth.get(name).unwrap_or(&Growth::CONSTANT).exponent;
    let names = truth.keys().chain(model.keys());
    names.map(|name| (name.clone(), exponent_deviation(of(truth, name), of(model, name)))).collect()
}

/// Whether the model grows like the truth in every parameter when logarithms are disregarded (soft-O).
#[must_use]
pub fn soft_o_right(truth: &BTreeMap<String, Growth>, model: &BTreeMap<String, Growth>) -> bool {
    exponent_deviations(truth, model).values().all(|&deviation| deviation == 0.0)
}

/// Whether the model grows like the truth in every parameter, logarithms included.
#[must_use]
pub fn growth_right(truth: &BTreeMap<String, Growth>, model: &BTreeMap<String, Growth>) -> bool {
    let of = |growth: &BTreeMap<String, Growth>, name: &str| *growth.get(name).unwrap_or(&Growth::CONSTANT);
    truth.keys().chain(model.keys()).all(|name| of(truth, name) == of(model, name))
}

/// Equation 5 in percent, `|y - f(x)| / y · 100`; `None` unless the measured value is positive and both are finite.
#[must_use]
pub fn relative_error(measured: f64, predicted: f64) -> Option<f64> {
    let defined = measured > 0.0 && measured.is_finite() && predicted.is_finite();
    defined.then(|| (measured - predicted).abs() / measured * 100.0)
}

/// The mean; `None` of nothing.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use num_rational::Ratio;

    use super::*;

    fn growths(list: &[(&str, i32, i32, u32)]) -> BTreeMap<String, Growth> {
        let growth = |&(name, n, d, j): &(&str, i32, i32, u32)| {
            (name.to_owned(), Growth { exponent: Ratio::new(n, d), log_exponent: j })
        };
        list.iter().map(growth).collect()
    }

    #[test]
    fn deviations_of_the_papers_table_4() {
        // Kripke, computation: truth G · Z; "classic" p · log2(p)^2 · G^(3/4) · log2(G) · Z^(4/5) is given as 1, 0.25, 0.20.
        let truth = growths(&[("G", 1, 1, 0), ("Z", 1, 1, 0)]);
        let classic = growths(&[("p", 1, 1, 2), ("G", 3, 4, 1), ("Z", 4, 5, 0)]);
        let deviations = exponent_deviations(&truth, &classic);
        assert_eq!(deviations["p"], 1.0);
        assert_eq!(deviations["G"], 0.25);
        assert!((deviations["Z"] - 0.2).abs() < 1e-12);
        assert!(!soft_o_right(&truth, &classic));
    }

    #[test]
    fn logarithms_count_as_zero_but_not_as_exact() {
        let truth = growths(&[("p", 0, 1, 1), ("n", 2, 3, 0)]);
        let model = growths(&[("p", 0, 1, 0), ("n", 2, 3, 2)]);
        assert!(soft_o_right(&truth, &model));
        assert!(!growth_right(&truth, &model));
        assert!(growth_right(&truth, &truth));
        assert!(growth_right(&growths(&[("p", 0, 1, 0)]), &growths(&[])));
    }

    #[test]
    fn relative_errors_by_hand() {
        assert_eq!(relative_error(4.0, 5.0), Some(25.0));
        assert_eq!(relative_error(4.0, 1.0), Some(75.0));
        assert_eq!(relative_error(4.0, 4.0), Some(0.0));
        for (measured, predicted) in [(0.0, 1.0), (-1.0, 1.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)] {
            assert_eq!(relative_error(measured, predicted), None);
        }
        assert_eq!(mean(&[1.0, 2.0, 6.0]), Some(3.0));
        assert_eq!(mean(&[]), None);
    }
}
