//! Prints models as formulas, each number with as many digits as the data support.

use crate::model::{Exponent, Factor, Model, Role, Scale, Term};

/// Digits of a coefficient whose error is unknown.
const DEFAULT_DIGITS: usize = 3;
/// Digits of a coefficient that is exact, as those of counts are.
const MOST_DIGITS: usize = 12;

impl Model {
    /// The model as a formula over the parameters' names, such as `1.1e-5 * log2(p) + 4.0e-10 * n^(2/3)`.
    ///
    /// Coefficients have the digits that their standard errors support: at least two, and only those that are not
    /// zero where a count gave the coefficient exactly. Terms with a coefficient of zero are left out. Where two functions
    /// hold in two ranges of a parameter the formula says so: `3 * n for n <= 64; 5 * n for n >= 128`.
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
    /// assert_eq!(model.expression(&["p".into()]), "7 + 3 * p * log2(p)");
    /// ```
    #[must_use]
    pub fn expression(&self, parameters: &[String]) -> String {
        if let Some(segments) = self.segments_expression(parameters) {
            return segments;
        }
        let errors = &self.uncertainty.coefficient_errors;
        let digits = |i: usize| errors.get(i).map_or(DEFAULT_DIGITS, |&e| supported_digits(e));
        // The constant is the term that no parameter is a factor of.
        let constant =
            Term { coefficient: self.constant, role: Role::Computation, scale: Scale::One, factors: Vec::new() };
        let all: Vec<&Term> = std::iter::once(&constant).chain(&self.terms).collect();
        let shares = shares(&all);
        let is_shown = |i: usize| all[i].coefficient != 0.0 && shares.iter().all(|s| s.without != i);
        let mut summands = Vec::new();
        for (i, term) in all.iter().enumerate().filter(|(i, _)| is_shown(*i)) {
            summands.push(match shares.iter().find(|s| s.whole == i) {
                Some(share) => {
                    let of_others = Term { scale: Scale::Remote(share.parameter), ..(*term).clone() };
                    format_term(&of_others, digits(i), parameters)
                }
                None => format_term(term, digits(i), parameters),
            });
        }
        if summands.is_empty() {
            summands.push("0".to_owned());
        }
        summands.join(" + ").replace("+ -", "- ")
    }
}

/// Two terms `c f` and `-c f / p`, which are `c (p-1)/p f`: what all ranks but one do, shared out over all. Costs of MPI
/// operations have that factor, and the same thing should look the same wherever it stands.
struct Share {
    /// Index of the term that is the whole.
    whole: usize,
    /// Index of the term that is taken off.
    without: usize,
    parameter: usize,
}

fn shares(terms: &[&Term]) -> Vec<Share> {
    let mut found: Vec<Share> = Vec::new();
    for (whole, term) in terms.iter().enumerate() {
        let rest = terms.iter().enumerate().find_map(|(i, other)| Some((i, remote_share(term, other)?)));
        if let Some((without, parameter)) = rest {
            found.push(Share { whole, without, parameter });
        }
    }
    found
}

/// The parameter p where `other` is `-term / p`, and nothing else of `term` depends on p.
fn remote_share(term: &Term, other: &Term) -> Option<usize> {
    let is_opposite = (term.coefficient + other.coefficient).abs() <= 1e-9 * term.coefficient.abs();
    if term.coefficient == 0.0 || !is_opposite || term.scale != Scale::One || other.scale != Scale::One {
        return None;
    }
    let is_inverse = |f: &&Factor| f.exponent == Exponent::from_integer(-1) && f.log_exponent == 0;
    let inverse =
        other.factors.iter().find(|f| is_inverse(f) && term.factors.iter().all(|t| t.parameter != f.parameter))?;
    let is_same = other.factors.iter().filter(|f| f.parameter != inverse.parameter).eq(term.factors.iter());
    is_same.then_some(inverse.parameter)
}

/// How many significant digits a number with this relative standard error deserves.
fn supported_digits(relative_error: f64) -> usize {
    if !relative_error.is_finite() {
        return 2;
    }
    let digits = 1.0 - relative_error.max(1e-15).log10().floor();
    (digits as usize).clamp(2, MOST_DIGITS)
}

/// `coefficient * factors`, the coefficient left out where it is exactly one.
fn format_term(term: &Term, digits: usize, parameters: &[String]) -> String {
    let mut parts: Vec<String> = term.factors.iter().flat_map(|f| format_factor(f, parameters)).collect();
    if let Scale::Remote(parameter) = term.scale {
        let name = &parameters[parameter];
        parts.insert(0, format!("({name}-1)/{name}"));
    }
    let coefficient = number(term.coefficient, digits);
    if coefficient != "1" || parts.is_empty() {
        parts.insert(0, coefficient);
    }
    parts.join(" * ")
}

/// A term without its coefficient: `(p-1)/p * n^(2/3)`; `1` where it does not grow.
pub(crate) fn format_shape(term: &Term, parameters: &[String]) -> String {
    format_term(&Term { coefficient: 1.0, ..term.clone() }, DEFAULT_DIGITS, parameters)
}

/// `n^(2/3)` and `log2(n)^2`, each only where its exponent is not zero.
pub(crate) fn format_factor(factor: &Factor, parameters: &[String]) -> Vec<String> {
    let name = &parameters[factor.parameter];
    let mut parts = Vec::new();
    if factor.exponent != Exponent::from_integer(0) {
        parts.push(format!("{name}{}", format_exponent(factor.exponent)));
    }
    match factor.log_exponent {
        0 => {}
        1 => parts.push(format!("log2({name})")),
        j => parts.push(format!("log2({name})^{j}")),
    }
    parts
}

/// Nothing for one, `^2` for a positive integer, `^(2/3)` or `^(-1)` otherwise.
fn format_exponent(exponent: Exponent) -> String {
    if exponent == Exponent::from_integer(1) {
        String::new()
    } else if exponent.is_integer() && exponent > Exponent::from_integer(0) {
        format!("^{exponent}")
    } else {
        format!("^({exponent})")
    }
}

/// A number with at most so many significant digits; zeros at the end of an exact number are left out.
fn number(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let value = without_rounding(value, digits);
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let mantissa = if digits > 6 { trim_zeros(mantissa) } else { mantissa };
    if !(-4..6.max(digits as i32)).contains(&exponent) {
        return format!("{mantissa}e{exponent}");
    }
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    let rounded: f64 = scientific.parse().unwrap_or(value);
    let plain = format!("{rounded:.decimals$}");
    if digits > 6 { trim_zeros(&plain).to_owned() } else { plain }
}

/// A number that is not whole and within 5e-11 of one with a few digits is that one: fits of exact data leave the rounding of
/// their arithmetic, and nobody means 9.99999999999e-5.
fn without_rounding(value: f64, digits: usize) -> f64 {
    const CLOSE: usize = 11;
    const FEW: usize = 6;
    if digits < CLOSE || value.fract() == 0.0 {
        return value;
    }
    let near: f64 = format!("{value:.*e}", FEW - 1).parse().unwrap_or(value);
    if (near - value).abs() <= 5e-11 * value.abs() { near } else { value }
}

/// `2.500` becomes `2.5`, `3.000` becomes `3`.
fn trim_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::model::{Kind, Method, Quality, Uncertainty};

    #[test]
    fn numbers_have_the_digits_that_the_error_supports() {
        assert_eq!(number(1.098e-5, supported_digits(0.02)), "1.10e-5");
        assert_eq!(number(1.098e-5, supported_digits(0.5)), "1.1e-5");
        assert_eq!(number(1234.5678, supported_digits(0.001)), "1235");
        assert_eq!(number(3.0, supported_digits(0.0)), "3");
        assert_eq!(number(0.25, supported_digits(0.0)), "0.25");
        assert_eq!(number(-8_589_934_592.0, supported_digits(0.0)), "-8589934592");
        assert_eq!(number(0.0, 3), "0");
        // The rounding of arithmetic is no digit of a number; whole ones are counts.
        assert_eq!(number(9.999_999_999_99e-5, supported_digits(0.0)), "0.0001");
        assert_eq!(number(9.999_999_999_99e-7, supported_digits(1e-14)), "1e-6");
        assert_eq!(number(2.500_000_000_01, supported_digits(0.0)), "2.5");
        assert_eq!(number(1.234_567_890_12, supported_digits(0.0)), "1.23456789012");
        assert_eq!(number(100_000_000_001.0, supported_digits(0.0)), "100000000001");
    }

    #[test]
    fn factors_print_as_in_the_contract() {
        let names = ["p".to_owned(), "n".to_owned()];
        let factor =
            |n, d, j| format_factor(&Factor { parameter: 1, exponent: Exponent::new(n, d), log_exponent: j }, &names);
        assert_eq!(factor(2, 3, 0), ["n^(2/3)"]);
        assert_eq!(factor(1, 1, 1), ["n", "log2(n)"]);
        assert_eq!(factor(2, 1, 2), ["n^2", "log2(n)^2"]);
        assert_eq!(factor(-1, 1, 0), ["n^(-1)"]);
    }

    /// A model with these terms, and nothing else known of it.
    pub(crate) fn model(constant: f64, terms: Vec<Term>) -> Model {
        Model {
            callpath: 0,
            metric: 0,
            kind: Kind::Communication,
            method: Method::Effort,
            effort_metric: None,
            constant,
            terms,
            growth: Vec::new(),
            quality: Quality {
                points: 0,
                repetitions: 0,
                smape: None,
                adjusted_r2: None,
                noise: None,
                cross_validated_relative_error: None,
            },
            warnings: Vec::new(),
            runners_up: Vec::new(),
            segments: Vec::new(),
            uncertainty: Uncertainty::default(),
        }
    }

    #[test]
    fn what_all_ranks_but_one_do_looks_the_same_everywhere() {
        let names = ["p".to_owned(), "n".to_owned()];
        let factor = |parameter, exponent: i32| Factor { parameter, exponent: exponent.into(), log_exponent: 0 };
        let term = |coefficient: f64, factors: &[Factor]| Term {
            coefficient,
            role: Role::Bandwidth,
            scale: Scale::One,
            factors: factors.to_vec(),
        };
        let printed = |constant: f64, terms: &[Term]| model(constant, terms.to_vec()).expression(&names);
        let (n, over_p) = (factor(1, 1), factor(0, -1));
        assert_eq!(printed(0.0, &[term(-8.0, &[over_p, n]), term(8.0, &[n])]), "8.00 * (p-1)/p * n");
        assert_eq!(printed(3.0, &[term(-3.0, &[over_p])]), "3.00 * (p-1)/p");
        // Other coefficients, and a whole that depends on p itself, stay two terms.
        assert_eq!(printed(0.0, &[term(-7.0, &[over_p, n]), term(8.0, &[n])]), "-7.00 * p^(-1) * n + 8.00 * n");
        let both = [term(2.0, &[factor(0, 1)]), term(-2.0, &[over_p])];
        assert_eq!(printed(0.0, &both), "2.00 * p - 2.00 * p^(-1)");
    }
}
