//! Counts that a parameter with two values changes, as bytes of an exchange measured with 1, 8 and 27 ranks, of which one alone
//! has nobody to talk to.
//!
//! Two values do not tell how a count grows between and beyond them, but what the count is at each, as a function of the
//! other parameters, can be exact. Both have the same terms then, and each coefficient follows the simplest factor of the
//! parameter that comes near its two values; it is exact at the larger one, from which predictions go on.

use super::Fitter;
use super::counts::MUCH_CLOSER;
use crate::build::Pooled;
use crate::data::Data;
use crate::effort::{Found, Workspace};
use crate::library::{Rounding, Shape, factor_columns, simplicity};
use crate::linear::least_squares;
use crate::model::{Factor, Warning};
use crate::options::NegativeExponents;
use crate::warning::{self, warning};
use std::collections::{BTreeSet, HashMap};

/// Relative differences that are the rounding of double precision.
const EXACT: f64 = 1e-9;
/// Factors whose ratio is further from that of a coefficient, in logarithms, do not come near.
const NEAR: f64 = 0.1;
/// Ratios of factors that differ by less are told apart by simplicity alone.
const ALIKE: f64 = 0.02;

/// A sum whose terms are those of two lines of points: shapes, the constant's being empty, and coefficients on either line.
struct Lines {
    shapes: Vec<Shape>,
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl<'a> Fitter<'a> {
    /// The parameters that have two values at the points, between which the values differ.
    pub(super) fn parameters_of_two_values(&self, data: &Data) -> Vec<usize> {
        let has_two = |l: &usize| {
            let values: BTreeSet<u64> = data.points.iter().map(|x| x[*l].to_bits()).collect();
            let mut known: HashMap<Vec<u64>, f64> = HashMap::new();
            let others = |x: &[f64]| (0..x.len()).filter(|m| m != l).map(|m| x[m].to_bits()).collect();
            let mut at = data.points.iter().zip(&data.medians);
            values.len() == 2 && at.any(|(x, y)| *known.entry(others(x)).or_insert(*y) != *y)
        };
        (0..self.experiment.parameters.len()).filter(has_two).collect()
    }

    /// What W007 says of a count that changes between the two values of each of `parameters`.
    pub(super) fn two_values_warning(&self, parameters: &[usize]) -> Warning {
        let names: Vec<&str> = parameters.iter().map(|&l| self.experiment.parameters[l].as_str()).collect();
        let message = format!(
            "{} two values here, which do not tell how the count grows with {}: of the simple functions that pass near both \
             one was taken.",
            names.join(" and ") + if names.len() == 1 { " has" } else { " have" },
            if names.len() == 1 { "it" } else { "them" },
        );
        warning(warning::EFFORT_INEXACT, message)
    }

    /// The function of a count that parameters with two values change, which is far from the function `whole`: the one that is exact at
    /// either value, or else one that the search of times finds and that explains the count. The warning says what is not known of it.
    pub(super) fn count_of_two_values(
        &self,
        data: &Data<'a>,
        whole: Option<&Found>,
        workspace: &mut Workspace,
    ) -> Option<(Found, Warning)> {
        let two = self.parameters_of_two_values(data);
        let exact = match two[..] {
            [] => return None,
            [parameter] => self.exact_at_two_values(data, parameter, workspace),
            _ => None,
        };
        let whole = whole.map_or(f64::INFINITY, |found| found.residual);
        let searched =
            |workspace: &mut _| Found::of_model(&self.searched_count(data, Some(&Pooled::default()), workspace), data);
        let found = exact.filter(|found| found.residual < MUCH_CLOSER * whole);
        let found = found.or_else(|| Some(searched(workspace)).filter(Found::is_explained))?;
        Some((found, self.two_values_warning(&two)))
    }

    /// The function of a count that is an exact one of the other parameters at either of the two values of `parameter`.
    fn exact_at_two_values(&self, data: &Data<'a>, parameter: usize, workspace: &mut Workspace) -> Option<Found> {
        let values = data.points.iter().map(|x| x[parameter]);
        let ends = (values.clone().fold(f64::INFINITY, f64::min), values.fold(f64::NEG_INFINITY, f64::max));
        let [lower, upper] = [ends.0, ends.1].map(|v| data.restricted(|x| x[parameter] == v));
        let lines = self.same_terms(&lower, &upper, workspace).or_else(|| {
            let Lines { shapes, lower, upper } = self.same_terms(&upper, &lower, workspace)?;
            Some(Lines { shapes, lower: upper, upper: lower })
        })?;
        let factors = self.factors_of(parameter, ends);
        let mut found = Found { constant: 0.0, terms: Vec::new(), residual: 0.0, exact: false, score: 0.0 };
        for (shape, (lower, upper)) in lines.shapes.into_iter().zip(lines.lower.into_iter().zip(lines.upper)) {
            match factor_between(&factors, ends, lower, upper)? {
                Some(factor) => {
                    let at = shape.partition_point(|f| f.parameter < parameter);
                    let mut longer = shape;
                    longer.insert(at, factor);
                    found.terms.push((longer, upper / factor.at(ends.1)));
                }
                None if shape.is_empty() => found.constant = upper,
                None => found.terms.push((shape, upper)),
            }
        }
        found.residual = found.differs_by(&data.points, &data.medians);
        Some(found)
    }

    /// The exact function on one line of points, with the coefficients that its terms have on another, where they explain
    /// more values than there are terms.
    fn same_terms(&self, line: &Data<'a>, other: &Data<'a>, workspace: &mut Workspace) -> Option<Lines> {
        let found = self.functions_behind(line, workspace).into_iter().next().filter(|f| f.exact)?;
        let constant = (found.constant != 0.0).then_some((Shape::new(), found.constant));
        let (shapes, lower): (Vec<Shape>, Vec<f64>) = constant.into_iter().chain(found.terms).unzip();
        if shapes.len() >= other.points.len() {
            return None;
        }
        let value = |shape: &Shape, x: &[f64]| shape.iter().map(|f| f.at(x[f.parameter])).product();
        let column = |shape: &Shape| other.points.iter().map(|x| value(shape, x)).collect();
        let columns: Vec<Vec<f64>> = shapes.iter().map(column).collect();
        let mut upper = least_squares(&columns, &other.medians);
        // What a term adds to no value is rounding.
        for (c, column) in upper.iter_mut().zip(&columns) {
            if column.iter().zip(&other.medians).all(|(x, y)| (*c * x).abs() <= EXACT * y.abs()) {
                *c = 0.0;
            }
        }
        let at = |i: usize| columns.iter().zip(&upper).map(|(column, c)| c * column[i]).sum::<f64>();
        let explains = |(i, y): (usize, &f64)| (at(i) - y).abs() <= EXACT * y.abs();
        other.medians.iter().enumerate().all(explains).then_some(Lines { shapes, lower, upper })
    }

    /// The factors of `parameter`, rising and falling ones.
    fn factors_of(&self, parameter: usize, ends: (f64, f64)) -> Vec<Factor> {
        let mut point = vec![1.0; self.experiment.parameters.len()];
        let [lower, upper] = [ends.0, ends.1].map(|v| {
            point[parameter] = v;
            point.clone()
        });
        let negative = self.options.exponents.negative != NegativeExponents::Never;
        let columns = factor_columns(&[&lower, &upper], parameter, &self.options.exponents, negative, Rounding::None);
        columns.into_iter().filter_map(|column| column.factor).collect()
    }
}

/// The simplest of the factors whose ratio between the two values is near that of a coefficient; the constant one, which is
/// none, where the coefficients are the same. `None` where a coefficient changes its sign or is zero.
fn factor_between(factors: &[Factor], ends: (f64, f64), lower: f64, upper: f64) -> Option<Option<Factor>> {
    let ratio = upper / lower;
    if (ratio - 1.0).abs() <= EXACT {
        return Some(None);
    }
    if !(ratio > 0.0 && ratio.is_finite()) {
        return None;
    }
    let off = |f: &Factor| (f.at(ends.1) / f.at(ends.0) / ratio).ln().abs();
    // What rises from one value to the other goes on rising, and what falls goes on falling.
    let goes_on = |f: &Factor| match ratio > 1.0 {
        true => *f.exponent.numer() >= 0 && f.log_exponent >= 0,
        false => *f.exponent.numer() <= 0 && f.log_exponent <= 0,
    };
    let usable = || factors.iter().filter(|f| goes_on(f) && off(f).is_finite());
    let least = usable().map(off).fold(f64::INFINITY, f64::min);
    if least > NEAR {
        return None;
    }
    let near = usable().filter(|f| off(f) <= if least <= EXACT { EXACT } else { least + ALIKE });
    let order = |f: &&Factor| (simplicity(f), off(f));
    near.min_by(|a, b| order(a).partial_cmp(&order(b)).unwrap_or(std::cmp::Ordering::Equal)).map(|f| Some(*f))
}
