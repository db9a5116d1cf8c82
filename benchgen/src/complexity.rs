//! Complexities: products and sums of the seed paper's functions (equation 3), their text form, their values, and the
//! exact integer counts that a generated program makes of them. Nothing here knows what is counted.

use std::collections::BTreeMap;
use std::fmt;

use num_rational::Ratio;
use serde::{Deserialize, Serialize};

use crate::decomposition::Sweep;

/// An exact rational exponent.
pub type Exponent = Ratio<i32>;

/// Values of the execution parameters by name; `p` is the number of ranks.
pub type Point = BTreeMap<String, f64>;

/// A complexity was evaluated at a point that lacks one of its parameters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the point has no value for the parameter `{0}`")]
pub struct MissingParameter(pub String);

/// `x^exponent · log2(x)^log_exponent` of one parameter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    /// Name of the parameter x.
    pub parameter: String,
    /// Exponent of x; text such as `"2/3"` in JSON.
    #[serde(with = "rational")]
    pub exponent: Exponent,
    /// Exponent of the binary logarithm of x.
    pub log_exponent: u32,
}

/// `coefficient · Π factors`, at most one factor per parameter, none identically one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Term {
    /// Multiplier.
    pub coefficient: f64,
    /// Factors, in the order in which they are multiplied.
    pub factors: Vec<Factor>,
}

/// A sum of terms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Complexity {
    /// The summands; a term without factors is a constant.
    pub terms: Vec<Term>,
}

/// `multiplier · Π round(term)`: what a program does that runs through nested loops, each bound rounded on its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoundedProduct {
    /// Exact integer multiplier.
    pub multiplier: u64,
    /// Each is rounded to the nearest integer, halves away from zero, before it is multiplied.
    pub rounded: Vec<Term>,
    /// A count of a sweep over the ranks, which is another factor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Sweep>,
}

/// An integer count of which both the exact value and the growth are known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// The count without rounding.
    pub complexity: Complexity,
    /// Summands of the exact count, in the order of the complexity's terms; one with a sweep has two terms there.
    pub exact: Vec<RoundedProduct>,
}

/// Leading growth in one parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Growth {
    /// Exponent of the parameter; text such as `"2/3"` in JSON.
    #[serde(with = "rational")]
    pub exponent: Exponent,
    /// Exponent of its binary logarithm.
    pub log_exponent: u32,
}

impl Growth {
    /// No growth.
    pub const CONSTANT: Self = Self { exponent: Ratio::new_raw(0, 1), log_exponent: 0 };
}

impl Factor {
    /// The factor's value at `x`, multiplied onto `product` in the order in which generated programs multiply, so
    /// that both round alike.
    fn multiply(&self, product: f64, x: f64) -> f64 {
        let mut product = product;
        if self.exponent == Ratio::from_integer(1) {
            product *= x;
        } else if self.exponent != Ratio::from_integer(0) {
            product *= x.powf(f64::from(*self.exponent.numer()) / f64::from(*self.exponent.denom()));
        }
        (0..self.log_exponent).fold(product, |product, _| product * x.log2())
    }
}

impl Term {
    /// The constant `coefficient`.
    #[must_use]
    pub fn constant(coefficient: f64) -> Self {
        Self { coefficient, factors: Vec::new() }
    }

    /// The parameter itself.
    #[must_use]
    pub fn parameter(name: &str) -> Self {
        let factor = Factor { parameter: name.to_owned(), exponent: Ratio::from_integer(1), log_exponent: 0 };
        Self { coefficient: 1.0, factors: vec![factor] }
    }

    /// The term's value.
    ///
    /// # Errors
    /// If the point lacks a parameter of the term.
    pub fn at(&self, point: &Point) -> Result<f64, MissingParameter> {
        self.factors.iter().try_fold(self.coefficient, |product, factor| {
            let x = point.get(&factor.parameter).ok_or_else(|| MissingParameter(factor.parameter.clone()))?;
            Ok(factor.multiply(product, *x))
        })
    }

    /// The product of two terms; `None` if an exponent leaves the range of [`Exponent`].
    #[must_use]
    pub fn times(&self, other: &Self) -> Option<Self> {
        let mut product = Self { coefficient: self.coefficient * other.coefficient, factors: self.factors.clone() };
        for factor in &other.factors {
            product.push(factor.clone())?;
        }
        Some(product)
    }

    /// Multiplies a factor into the term; `None` if an exponent leaves the range of [`Exponent`].
    pub(crate) fn push(&mut self, factor: Factor) -> Option<()> {
        match self.factors.iter_mut().find(|f| f.parameter == factor.parameter) {
            Some(known) => {
                known.exponent = checked_sum(known.exponent, factor.exponent)?;
                known.log_exponent = known.log_exponent.checked_add(factor.log_exponent)?;
            }
            None => self.factors.push(factor),
        }
        self.factors.retain(|f| f.exponent != Ratio::from_integer(0) || f.log_exponent > 0);
        Some(())
    }

    /// Growth of this term in `parameter`.
    #[must_use]
    pub fn growth(&self, parameter: &str) -> Growth {
        let factor = self.factors.iter().find(|f| f.parameter == parameter);
        factor.map_or(Growth::CONSTANT, |f| Growth { exponent: f.exponent, log_exponent: f.log_exponent })
    }
}

/// The sum of two rationals whose parts are small enough, computed in 64 bits.
fn checked_sum(a: Exponent, b: Exponent) -> Option<Exponent> {
    let wide = |r: Exponent| Ratio::new(i64::from(*r.numer()), i64::from(*r.denom()));
    let sum = wide(a) + wide(b);
    Some(Ratio::new_raw(i32::try_from(*sum.numer()).ok()?, i32::try_from(*sum.denom()).ok()?))
}

impl Complexity {
    /// The sum's value.
    ///
    /// # Errors
    /// If the point lacks a parameter of a term.
    pub fn at(&self, point: &Point) -> Result<f64, MissingParameter> {
        self.terms.iter().try_fold(0.0, |sum, term| Ok(sum + term.at(point)?))
    }

    /// Leading growth in each of `parameters`: the largest exponent among the terms, then the largest logarithm's.
    #[must_use]
    pub fn growth<'a>(&self, parameters: impl IntoIterator<Item = &'a str>) -> BTreeMap<String, Growth> {
        let leading = |x: &str| self.terms.iter().map(|t| t.growth(x)).max().unwrap_or(Growth::CONSTANT);
        parameters.into_iter().map(|x| (x.to_owned(), leading(x))).collect()
    }
}

impl Complexity {
    /// [`Complexity::growth`] over the terms that are at least a hundredth of the whole at `at`: what is smaller at the
    /// largest scale of a study is nothing that a model of the study could or should name.
    ///
    /// # Errors
    /// If the point lacks a parameter of a term.
    pub fn growth_that_matters<'a>(
        &self,
        parameters: impl IntoIterator<Item = &'a str>,
        at: &Point,
    ) -> Result<BTreeMap<String, Growth>, MissingParameter> {
        let whole = self.at(at)?;
        let values = self.terms.iter().map(|term| term.at(at)).collect::<Result<Vec<f64>, _>>()?;
        let terms = self.terms.iter().zip(values).filter(|(_, value)| value / whole >= 0.01);
        Ok(Self { terms: terms.map(|(term, _)| term.clone()).collect() }.growth(parameters))
    }
}

impl RoundedProduct {
    /// The product without a sweep.
    #[must_use]
    pub fn new(multiplier: u64, rounded: Vec<Term>) -> Self {
        Self { multiplier, rounded, sweep: None }
    }

    /// The exact value; saturates at the largest integer.
    ///
    /// # Errors
    /// If the point lacks a parameter of a term.
    pub fn at(&self, point: &Point) -> Result<u128, MissingParameter> {
        let mut start = u128::from(self.multiplier);
        if let Some(sweep) = self.sweep {
            start = start.saturating_mul(u128::from(sweep.exact_at(Term::parameter("p").at(point)? as u64)));
        }
        self.rounded.iter().try_fold(start, |product, term| {
            // The cast saturates, and negative values, which no specification yields, become zero.
            Ok(product.saturating_mul(term.at(point)?.round() as u128))
        })
    }

    /// The same product without rounding; `None` if an exponent leaves the range of [`Exponent`].
    #[must_use]
    pub fn smooth(&self) -> Option<Vec<Term>> {
        let start = Term::constant(self.multiplier as f64);
        let product = self.rounded.iter().try_fold(start, |product, term| product.times(term))?;
        match self.sweep {
            None => Some(vec![product]),
            Some(sweep) => sweep.smooth().iter().map(|term| product.times(term)).collect(),
        }
    }
}

impl Count {
    /// The count with these exact summands; `None` if an exponent leaves the range of [`Exponent`].
    #[must_use]
    pub fn new(exact: Vec<RoundedProduct>) -> Option<Self> {
        let terms = exact.iter().map(RoundedProduct::smooth).collect::<Option<Vec<_>>>()?;
        Some(Self { complexity: Complexity { terms: terms.concat() }, exact })
    }

    /// Adds another count's summands.
    pub(crate) fn add(&mut self, other: Self) {
        self.complexity.terms.extend(other.complexity.terms);
        self.exact.extend(other.exact);
    }

    /// The count that a generated program makes at `point`.
    ///
    /// # Errors
    /// If the point lacks a parameter of a term.
    pub fn exact_at(&self, point: &Point) -> Result<u128, MissingParameter> {
        self.exact.iter().try_fold(0_u128, |sum, product| Ok(sum.saturating_add(product.at(point)?)))
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let power = |f: &mut fmt::Formatter<'_>, base: &str, e: Exponent| match (e.is_integer(), *e.numer()) {
            (true, 1) => write!(f, "{base}"),
            (true, n) if n >= 0 => write!(f, "{base}^{n}"),
            _ => write!(f, "{base}^({e})"),
        };
        if self.exponent != Ratio::from_integer(0) {
            power(f, &self.parameter, self.exponent)?;
            if self.log_exponent > 0 {
                write!(f, " * ")?;
            }
        }
        match self.log_exponent {
            0 => Ok(()),
            j => power(f, &format!("log2({})", self.parameter), Ratio::from_integer(j as i32)),
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = self.factors.iter().map(ToString::to_string).collect();
        if self.coefficient != 1.0 || parts.is_empty() {
            parts.insert(0, self.coefficient.to_string());
        }
        write!(f, "{}", parts.join(" * "))
    }
}

impl fmt::Display for Complexity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms: Vec<String> = self.terms.iter().map(ToString::to_string).collect();
        write!(f, "{}", if terms.is_empty() { "0".to_owned() } else { terms.join(" + ") })
    }
}

/// Rationals as text.
mod rational {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use super::Exponent;

    pub fn serialize<S: Serializer>(value: &Exponent, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Exponent, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| D::Error::custom(format!("`{text}` is no exponent; expected text such as \"2/3\"")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor(parameter: &str, numer: i32, denom: i32, log_exponent: u32) -> Factor {
        Factor { parameter: parameter.to_owned(), exponent: Ratio::new(numer, denom), log_exponent }
    }

    fn point(p: f64, n: f64) -> Point {
        Point::from([("p".to_owned(), p), ("n".to_owned(), n)])
    }

    #[test]
    fn values_by_hand() {
        let term = Term { coefficient: 3.0, factors: vec![factor("n", 2, 3, 0), factor("p", 1, 2, 2)] };
        // 3 · 27^(2/3) · 16^(1/2) · log2(16)^2 = 3 · 9 · 4 · 16.
        assert!((term.at(&point(16.0, 27.0)).unwrap() - 1728.0).abs() < 1e-9);
        assert_eq!(term.at(&Point::new()), Err(MissingParameter("n".to_owned())));
    }

    #[test]
    fn each_bound_of_a_product_is_rounded_on_its_own() {
        let half = |x| Term { coefficient: 0.5, factors: vec![factor(x, 1, 1, 0)] };
        let count =
            Count::new(vec![RoundedProduct::new(4, vec![half("n"), half("p")]), RoundedProduct::new(1, vec![])])
                .unwrap();
        // round(3.5) = 4, round(1.5) = 2: 4 · 4 · 2 + 1, where the product without rounding is 4 · 5.25 + 1.
        assert_eq!(count.exact_at(&point(3.0, 7.0)).unwrap(), 33);
        assert_eq!(count.complexity.at(&point(3.0, 7.0)).unwrap(), 22.0);
    }

    #[test]
    fn growth_is_the_largest_exponent_of_each_parameter() {
        let sum = Complexity {
            terms: vec![
                Term { coefficient: 1.0, factors: vec![factor("n", 1, 1, 1)] },
                Term { coefficient: 9.0, factors: vec![factor("n", 1, 1, 0), factor("p", 1, 4, 0)] },
                Term { coefficient: 9.0, factors: vec![factor("n", 3, 4, 2)] },
            ],
        };
        let growth = sum.growth(["n", "p", "m"]);
        assert_eq!(growth["n"], Growth { exponent: Ratio::from_integer(1), log_exponent: 1 });
        assert_eq!(growth["p"], Growth { exponent: Ratio::new(1, 4), log_exponent: 0 });
        assert_eq!(growth["m"], Growth::CONSTANT);
    }

    #[test]
    fn what_is_below_a_hundredth_is_no_growth() {
        let sum = Complexity {
            terms: vec![
                Term { coefficient: 1.0, factors: vec![factor("n", 1, 1, 0)] },
                Term { coefficient: 1.0, factors: vec![factor("p", 2, 1, 0)] },
            ],
        };
        // p² is 100 of 10000 + 100, then 121 of 10000 + 121.
        let growth = |p| sum.growth_that_matters(["n", "p"], &point(p, 10_000.0)).unwrap();
        assert_eq!(growth(10.0)["p"], Growth::CONSTANT);
        assert_eq!(growth(11.0)["p"].exponent, Ratio::from_integer(2));
        assert_eq!(growth(10.0)["n"].exponent, Ratio::from_integer(1));
        assert!(sum.growth_that_matters(["n"], &Point::new()).is_err());
    }

    #[test]
    fn products_add_exponents_and_drop_what_cancels() {
        let a = Term { coefficient: 2.0, factors: vec![factor("n", 1, 2, 1), factor("p", 1, 1, 0)] };
        let b = Term { coefficient: 3.0, factors: vec![factor("n", 1, 3, 1), factor("p", -1, 1, 0)] };
        assert_eq!(a.times(&b).unwrap(), Term { coefficient: 6.0, factors: vec![factor("n", 5, 6, 2)] });
        let huge = Term { coefficient: 1.0, factors: vec![factor("n", i32::MAX, 1, 0)] };
        assert_eq!(huge.times(&huge), None);
    }

    #[test]
    fn text_form() {
        let term = Term { coefficient: 2.5, factors: vec![factor("n", 2, 3, 2), factor("p", 0, 1, 1)] };
        assert_eq!(term.to_string(), "2.5 * n^(2/3) * log2(n)^2 * log2(p)");
        assert_eq!(Term::parameter("n").to_string(), "n");
        assert_eq!(Term::constant(1.0).to_string(), "1");
        let inverse = Term { coefficient: 1.0, factors: vec![factor("p", -1, 1, 0)] };
        assert_eq!(inverse.to_string(), "p^(-1)");
    }

    #[test]
    fn exponents_are_text_in_json() {
        let growth = Growth { exponent: Ratio::new(2, 3), log_exponent: 1 };
        let json = serde_json::to_string(&growth).unwrap();
        assert_eq!(json, r#"{"exponent":"2/3","log_exponent":1}"#);
        assert_eq!(serde_json::from_str::<Growth>(&json).unwrap(), growth);
        let error = serde_json::from_str::<Growth>(r#"{"exponent":"2/0","log_exponent":1}"#).unwrap_err();
        assert!(error.to_string().contains("`2/0` is no exponent"), "{error}");
    }
}
