//! Numbers, units and growth as people read them.

use crate::formats::growth_text;
use crate::model::{Factor, Growth, Model, Term};

/// `value` with its unit at three significant digits: `1.23 ms`, `4.50 MB`, `1.20e7`. Undefined values are `n/a`.
///
/// ```
/// use modeler::report::quantity;
/// assert_eq!(quantity(0.001_234_56, "s"), "1.23 ms");
/// assert_eq!([(4.5e6, "bytes"), (12_345_678.0, ""), (f64::NAN, "s")].map(|(x, unit)| quantity(x, unit)), ["4.50 MB", "1.23e7", "n/a"]);
/// ```
#[must_use]
pub fn quantity(value: f64, unit: &str) -> String {
    if !value.is_finite() {
        return "n/a".into();
    }
    let steps: &[(f64, &str)] = match unit {
        "s" => &[(1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s")],
        "bytes" => &[(1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")],
        _ => &[],
    };
    // Rounding decides the step: 999.9 µs is 1.00 ms.
    let step = steps.iter().rev().find(|(size, _)| value.abs() >= size * 0.9995).or(steps.first());
    match step {
        Some((size, name)) if value != 0.0 => format!("{} {name}", number(value / size)),
        Some(_) => format!("0 {unit}"),
        None if unit.is_empty() => number(value),
        None => format!("{} {unit}", number(value)),
    }
}

/// A coordinate as somebody would type it: `0.1`, `343`, `1.7` without what arithmetic left in the last digits.
///
/// ```
/// use modeler::report::coordinate;
/// assert_eq!([0.1, 343.0, 0.9 + 0.8, 1e6, 0.125].map(coordinate), ["0.1", "343", "1.7", "1000000", "0.125"]);
/// assert_eq!([1e-7, 4_294_967_296.0, 1e18].map(coordinate), ["1.00e-7", "4294967296", "1.00e18"]);
/// ```
#[must_use]
pub fn coordinate(value: f64) -> String {
    // Beyond that not every whole number has a value of its own.
    const WHOLE: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= WHOLE {
        return format!("{value:.0}");
    }
    let is_typed = (1e-4..1e9).contains(&value.abs());
    // Twelve digits, as in the page's script.
    let short = format!("{value:.11e}").parse::<f64>().ok().filter(|_| is_typed);
    short.map_or_else(|| quantity(value, ""), |short| short.to_string())
}

/// `value` at three significant digits; whole numbers below a million as they are.
pub(crate) fn number(value: f64) -> String {
    let magnitude = value.abs();
    if value == 0.0 || (value.fract() == 0.0 && magnitude < 1e6) {
        return format!("{value:.0}");
    }
    match magnitude {
        m if !(1e-3..999_500.0).contains(&m) => format!("{value:.2e}"),
        m if m >= 99.95 => format!("{value:.0}"),
        m if m >= 9.995 => format!("{value:.1}"),
        m if m >= 0.9995 => format!("{value:.2}"),
        m => format!("{value:.*}", (2 - m.log10().floor() as i32) as usize),
    }
}

/// `3.80 – 10.9 s`; the unit stands once where both ends have the same.
pub(crate) fn interval(lower: f64, upper: f64, unit: &str) -> String {
    let (lower, upper) = (quantity(lower, unit), quantity(upper, unit));
    match (lower.split_once(' '), upper.split_once(' ')) {
        _ if lower == upper => lower,
        (Some((digits, low)), Some((_, high))) if low == high => format!("{digits} – {upper}"),
        _ => format!("{lower} – {upper}"),
    }
}

/// A share as percent: `12 %`, `3.4 %`, `< 0.1 %`, `> 1000 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        // Rounded to zero, which has no sign.
        p if p.abs() < 0.05 && p <= 0.0 => "0.0 %".into(),
        p if p > 0.0 && p < 0.1 => "< 0.1 %".into(),
        p if p < 9.95 => format!("{p:.1} %"),
        p if p >= 1000.0 => "> 1000 %".into(),
        p => format!("{p:.0} %"),
    }
}

/// The leading growth in all parameters, `n^2 * log2(p)`, or `constant`.
///
/// ```
/// use modeler::{model::Growth, report::growth};
/// let parameters = ["p".to_owned(), "n".to_owned()];
/// let [none, log, square] = [(0, 0), (0, 1), (2, 0)].map(|(e, log_exponent): (i32, i32)| Growth { exponent: e.into(), log_exponent });
/// assert_eq!(growth(&parameters, &[log, square]), "log2(p) * n^2");
/// assert_eq!(growth(&parameters, &[none, none]), "constant");
/// ```
#[must_use]
pub fn growth(parameters: &[String], growth: &[Growth]) -> String {
    let factors: Vec<String> = parameters
        .iter()
        .zip(growth)
        .map(|(p, g)| growth_text(p, g.exponent, g.log_exponent))
        .filter(|text| text != "1")
        .collect();
    if factors.is_empty() { "constant".into() } else { factors.join(" * ") }
}

/// The leading summands of a model without their coefficients, `p * n^(1/2) + n`, or `constant`: those that have the
/// leading growth in some parameter and grow no slower than another in all. Terms that the formula does not show have none.
///
/// ```
/// use modeler::report::shape;
/// # let of = |cost: fn(f64) -> f64| {
/// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
/// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
/// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// #     let fits = modeler::fit(&experiment, &Default::default());
/// #     (experiment, fits)
/// # };
/// let (experiment, fits) = of(|p| 4.0 * p * p + 3.0);
/// assert_eq!(shape(&experiment.parameters, &fits.models[0]), "p^2");
/// ```
#[must_use]
pub fn shape(parameters: &[String], model: &Model) -> String {
    let still = Growth { exponent: 0.into(), log_exponent: 0 };
    let of = |term: &Term| -> Vec<Growth> {
        let factor = |l: usize| term.factors.iter().find(|f| f.parameter == l);
        let one = |f: &Factor| Growth { exponent: f.exponent, log_exponent: f.log_exponent };
        (0..parameters.len()).map(|l| factor(l).map_or(still, one)).collect()
    };
    let key = |g: &Growth| (g.exponent, g.log_exponent);
    let shown = model.shown_growth();
    let leads = |g: &Vec<Growth>| g.iter().zip(&shown).any(|(g, most)| *most != still && g == most);
    // A coefficient that was fitted to zero leaves nothing of its term.
    let terms = model.terms.iter().filter(|term| term.coefficient != 0.0);
    let mut leading: Vec<Vec<Growth>> = terms.map(of).filter(leads).collect();
    leading.dedup();
    let slower = |a: &Vec<Growth>, b: &Vec<Growth>| a != b && a.iter().zip(b).all(|(a, b)| key(a) <= key(b));
    let summands = leading.iter().filter(|a| !leading.iter().any(|b| slower(a, b)));
    let mut texts: Vec<String> = Vec::new();
    for text in summands.map(|g| growth(parameters, g)) {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    if texts.is_empty() { growth(parameters, &shown) } else { texts.join(" + ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Exponent, Role, Scale};

    #[test]
    fn quantities_have_three_significant_digits_and_a_fitting_unit() {
        assert_eq!(quantity(0.001_234_56, "s"), "1.23 ms");
        assert_eq!(quantity(9.999e-4, "s"), "1.00 ms");
        assert_eq!(quantity(73.46, "s"), "73.5 s");
        assert_eq!(quantity(5e-10, "s"), "0.500 ns");
        assert_eq!(quantity(4096.0, "bytes"), "4.10 kB");
        assert_eq!(quantity(0.0, "s"), "0 s");
        assert_eq!(quantity(1024.0, ""), "1024");
        assert_eq!(quantity(12_345_678.0, ""), "1.23e7");
        assert_eq!(quantity(8.0, "ranks"), "8 ranks");
        assert_eq!(quantity(f64::NAN, "s"), "n/a");
        assert_eq!(number(0.012_34), "0.0123");
    }

    #[test]
    fn growth_names_the_parameters_that_matter() {
        let parameters = ["p".to_owned(), "n".to_owned()];
        let none = Growth { exponent: Exponent::from_integer(0), log_exponent: 0 };
        let both = Growth { exponent: Exponent::new(2, 3), log_exponent: 2 };
        assert_eq!(growth(&parameters, &[none, both]), "n^(2/3) * log2(n)^2");
        assert_eq!(growth(&parameters, &[none, none]), "constant");
    }

    #[test]
    fn terms_that_were_fitted_to_zero_are_no_growth() {
        let term = |parameter, coefficient| Term {
            coefficient,
            role: Role::Computation,
            scale: Scale::One,
            factors: vec![Factor { parameter, exponent: Exponent::from_integer(1), log_exponent: 0 }],
        };
        let rises = Growth { exponent: Exponent::from_integer(1), log_exponent: 0 };
        let mut model = crate::expression::tests::model(4.8e-5, vec![term(0, 0.0), term(1, 1.0)]);
        model.growth = vec![rises, rises];
        let parameters = ["n".to_owned(), "p".to_owned()];
        assert_eq!(shape(&parameters, &model), "p");
        model.terms[0].coefficient = 1e-9;
        assert_eq!(shape(&parameters, &model), "n + p");
    }
}
