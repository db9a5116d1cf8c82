//! Prints models as formulas, each number with as many digits as the data support.

use std::fmt::Write as _;

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
        let mut text = String::new();
        for (i, term) in all.iter().enumerate().filter(|(i, _)| is_shown(*i)) {
            let from = text.len();
            match shares.iter().find(|s| s.whole == i) {
                Some(share) => {
                    let of_others = Term { scale: Scale::Remote(share.parameter), ..(*term).clone() };
                    write_term(&mut text, &of_others, digits(i), parameters);
                }
                None => write_term(&mut text, term, digits(i), parameters),
            }
            match text[from..].starts_with('-') {
                _ if from == 0 => {}
                true => text.replace_range(from..=from, " - "),
                false => text.insert_str(from, " + "),
            }
        }
        if text.is_empty() { "0".to_owned() } else { text }
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

/// Writes `coefficient * factors`, the coefficient left out where it is exactly one.
fn write_term(text: &mut String, term: &Term, digits: usize, parameters: &[String]) {
    let from = text.len();
    write_number(text, term.coefficient, digits);
    if let Scale::Remote(parameter) = term.scale {
        let name = &parameters[parameter];
        let _ = write!(text, " * ({name}-1)/{name}");
    }
    for factor in &term.factors {
        let name = &parameters[factor.parameter];
        if factor.exponent != Exponent::from_integer(0) {
            let _ = write!(text, " * {name}");
            write_exponent(text, factor.exponent);
        }
        match factor.log_exponent {
            0 => {}
            1 => text.extend([" * log2(", name, ")"]),
            j => {
                let _ = write!(text, " * log2({name})^{j}");
            }
        }
    }
    if text[from..].starts_with("1 * ") {
        text.replace_range(from..from + "1 * ".len(), "");
    }
}

/// A term without its coefficient: `(p-1)/p * n^(2/3)`; `1` where it does not grow.
pub(crate) fn format_shape(term: &Term, parameters: &[String]) -> String {
    let mut text = String::new();
    write_term(&mut text, &Term { coefficient: 1.0, ..term.clone() }, MOST_DIGITS, parameters);
    text
}

/// Nothing for one, `^2` for a positive integer, `^(2/3)` or `^(-1)` otherwise.
fn write_exponent(text: &mut String, exponent: Exponent) {
    if exponent == Exponent::from_integer(1) {
        return;
    }
    if exponent.is_integer() && exponent > Exponent::from_integer(0) {
        let _ = write!(text, "^{exponent}");
    } else {
        let _ = write!(text, "^({exponent})");
    }
}

/// Writes a number with at most so many significant digits; zeros at the end of an exact number are left out.
fn write_number(text: &mut String, value: f64, digits: usize) {
    if value == 0.0 || !value.is_finite() {
        let _ = write!(text, "{value}");
        return;
    }
    // The digits with a point behind the first, and the power of ten.
    let scientific = format!("{:.*e}", digits - 1, without_rounding(value, digits));
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let from = text.len();
    if !(-4..6.max(digits as i32)).contains(&exponent) {
        text.push_str(mantissa);
        trim_zeros(text, from, digits);
        let _ = write!(text, "e{exponent}");
        return;
    }
    if mantissa.starts_with('-') {
        text.push('-');
    }
    let places = mantissa.bytes().filter(u8::is_ascii_digit).map(char::from);
    if exponent < 0 {
        text.push_str("0.");
        text.extend(std::iter::repeat_n('0', (-exponent - 1) as usize));
        text.extend(places);
    } else {
        let whole = exponent as usize + 1;
        text.extend(places.clone().chain(std::iter::repeat('0')).take(whole));
        if digits > whole {
            text.push('.');
            text.extend(places.skip(whole));
        }
    }
    trim_zeros(text, from, digits);
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

/// Where so many digits are those of an exact number, `2.500` from there on becomes `2.5`, and `3.000` becomes `3`.
fn trim_zeros(text: &mut String, from: usize, digits: usize) {
    if digits > 6 && text[from..].contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::model::{Kind, Method, Quality, Uncertainty};
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    fn number(value: f64, digits: usize) -> String {
        let mut text = String::new();
        write_number(&mut text, value, digits);
        text
    }

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
        let shape = |n, d, j| {
            let factors = vec![Factor { parameter: 1, exponent: Exponent::new(n, d), log_exponent: j }];
            format_shape(&Term { coefficient: 7.0, role: Role::Computation, scale: Scale::One, factors }, &names)
        };
        assert_eq!(shape(2, 3, 0), "n^(2/3)");
        assert_eq!(shape(1, 1, 1), "n * log2(n)");
        assert_eq!(shape(2, 1, 2), "n^2 * log2(n)^2");
        assert_eq!(shape(-1, 1, 0), "n^(-1)");
        assert_eq!(shape(0, 1, 0), "1");
        let terms = [(-2.0, Scale::One, 0), (3.0, Scale::Remote(0), 1), (-1.0, Scale::One, 2)].map(
            |(coefficient, scale, n)| {
                let factors = vec![Factor { parameter: 1, exponent: n.into(), log_exponent: 0 }];
                Term { coefficient, role: Role::Computation, scale, factors }
            },
        );
        let mut model = model(0.0, terms.into());
        assert_eq!(model.expression(&names), "-2.00 + 3.00 * (p-1)/p * n - 1.00 * n^2");
        model.uncertainty.coefficient_errors = vec![0.0; 4];
        assert_eq!(model.expression(&names), "-2 + 3 * (p-1)/p * n - 1 * n^2");
    }

    /// What people read is the nearest number of so many digits.
    #[test]
    fn numbers_are_the_nearest_of_so_many_digits() {
        let rng = &mut StdRng::seed_from_u64(1);
        for _ in 0..20_000 {
            let value = rng.random_range(-10.0..10.0_f64) * 10.0_f64.powi(rng.random_range(-9..12));
            let digits = rng.random_range(2..=10);
            let (text, nearest) = (number(value, digits), format!("{value:.*e}", digits - 1));
            assert_eq!(text.parse::<f64>(), nearest.parse(), "{value} to {digits} digits: {text}");
            let is_plain = !text.contains('e');
            assert_eq!(
                is_plain,
                (1e-4..10.0_f64.powi(6.max(digits as i32))).contains(&nearest.parse::<f64>().unwrap().abs()),
                "{text}"
            );
        }
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
