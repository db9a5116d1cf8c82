//! Points on lines along single parameters through one of them, a cross: no measurement there says whether what the parameters add is a
//! sum or a product. (Parameters that change together leave open which of them does what; see [`together`].)
//!
//! Let `F_l` be a function along the line of parameter `l`, and `v` its value at the centre, which all lines have. The values on the lines
//! are also those of `c + Π (F_l - c) / (v - c)^(d-1)` for d lines and any c below v: of the product of the lines for c of zero, of their
//! sum `Σ F_l - (d-1) v` as c falls without end, and in between or beyond of others. Three of them are functions of cost: sum, product,
//! and the product above the largest c for which no coefficient is below zero.

use crate::model::{Factor, Role, Scale, Term};

/// The point through which all lines go, where `points` are a cross of at least two.
pub(crate) fn centre<'p>(points: &[&'p [f64]]) -> Option<&'p [f64]> {
    let apart = |a: &[f64], b: &[f64]| a.iter().zip(b).filter(|(a, b)| a != b).count();
    let centre = points.iter().find(|centre| points.iter().all(|point| apart(point, centre) <= 1))?;
    let varies = |l: &usize| points.iter().any(|point| point[*l] != centre[*l]);
    ((0..centre.len()).filter(varies).count() > 1).then_some(centre)
}

/// What is left of a difference of like numbers below this share of them is their rounding.
const ROUNDING: f64 = 1e-9;

/// A coefficient with its factors; with none it is a constant.
type Product = (f64, Vec<Factor>);

/// A function along one line: its constant, and what varies.
type Line = (f64, Vec<Product>);

/// The first parameters, two at least, of which each value goes with one of the others at all `points`: what each does alone is not measured.
pub(crate) fn together(points: &[&[f64]]) -> Option<Vec<usize>> {
    let parameters = points.first()?.len();
    let varying: Vec<usize> = (0..parameters).filter(|&l| points.iter().any(|x| x[l] != points[0][l])).collect();
    // Sorted by one, both change where either does, and no value of the other comes twice.
    let goes_with = |l: usize, m: usize| {
        let mut pairs: Vec<(f64, f64)> = points.iter().map(|x| (x[l], x[m])).collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        pairs.dedup();
        let mut others: Vec<f64> = pairs.iter().map(|pair| pair.1).collect();
        others.sort_by(f64::total_cmp);
        others.dedup();
        pairs.windows(2).all(|w| w[0].0 != w[1].0) && others.len() == pairs.len()
    };
    let group = |&l: &usize| varying.iter().copied().filter(|&m| m == l || goes_with(l, m)).collect::<Vec<_>>();
    varying.iter().map(group).find(|group| group.len() > 1)
}

/// Where `points` are a cross, the functions that have the values of `constant` and `terms` at all of them: the sum, the product and the
/// product above a constant, as far as their coefficients are not below zero, as constants and terms. One of them may be the function itself.
pub(crate) fn twins(points: &[&[f64]], constant: f64, terms: &[Term]) -> Vec<(f64, Vec<Term>)> {
    let Some(centre) = centre(points) else { return Vec::new() };
    let value = constant + terms.iter().map(|t| t.at(centre)).sum::<f64>();
    let lines: Vec<Line> = (0..centre.len()).map(|l| along(l, centre, constant, terms)).collect();
    let lines: Vec<Line> = lines.into_iter().filter(|line| !line.1.is_empty()).collect();
    if lines.len() < 2 || value <= 0.0 {
        return Vec::new();
    }
    let largest = lines.iter().map(|line| line.0).fold(f64::INFINITY, f64::min);
    let mut found = vec![sum(&lines, value), product(&lines, value, 0.0)];
    if largest > 0.0 && largest < value {
        found.push(product(&lines, value, largest));
    }
    found.retain(|(constant, terms)| {
        constant.is_finite() && *constant >= 0.0 && terms.iter().all(|t| t.coefficient >= 0.0)
    });
    found
}

/// The function along the line of parameter `l` through `centre`.
fn along(l: usize, centre: &[f64], constant: f64, terms: &[Term]) -> Line {
    let mut line = (constant, Vec::new());
    for term in terms {
        let (own, others): (Vec<Factor>, Vec<Factor>) = term.factors.iter().copied().partition(|f| f.parameter == l);
        let coefficient = Term { factors: others, ..term.clone() }.at(centre);
        if own.is_empty() {
            line.0 += coefficient;
        } else {
            line.1.push((coefficient, own));
        }
    }
    line
}

fn sum(lines: &[Line], value: f64) -> (f64, Vec<Term>) {
    let others = (lines.len() - 1) as f64 * value;
    let constant = lines.iter().map(|line| line.0).sum::<f64>() - others;
    let constant = unless_rounding(constant, others);
    let terms: Vec<Term> = lines.iter().flat_map(|line| &line.1).cloned().map(term).collect();
    (constant, terms)
}

/// `c + Π (F_l - c) / (v - c)^(d-1)`, where `above` is c and `value` is v.
fn product(lines: &[Line], value: f64, above: f64) -> (f64, Vec<Term>) {
    let mut products: Vec<Product> = vec![(value - above, Vec::new())];
    for (constant, varying) in lines {
        let rest = unless_rounding(constant - above, value);
        let parts: Vec<Product> = varying.iter().cloned().chain((rest != 0.0).then(|| (rest, Vec::new()))).collect();
        let times = |(a, left): &Product| -> Vec<Product> {
            let both = |right: &[Factor]| left.iter().chain(right).copied().collect();
            parts.iter().map(|(b, right)| (a * b / (value - above), both(right))).collect()
        };
        products = products.iter().flat_map(times).collect();
    }
    let (constants, products): (Vec<Product>, Vec<Product>) =
        products.into_iter().partition(|(_, factors)| factors.is_empty());
    let constant = above + constants.iter().map(|(c, _)| c).sum::<f64>();
    (constant, products.into_iter().map(term).collect())
}

fn unless_rounding(difference: f64, of: f64) -> f64 {
    if difference.abs() <= ROUNDING * of { 0.0 } else { difference }
}

fn term((coefficient, factors): Product) -> Term {
    Term { coefficient, role: Role::Computation, scale: Scale::One, factors }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn power(parameter: usize, exponent: i32) -> Factor {
        Factor { parameter, exponent: exponent.into(), log_exponent: 0 }
    }

    fn at((constant, terms): &(f64, Vec<Term>), x: &[f64]) -> f64 {
        constant + terms.iter().map(|t| t.at(x)).sum::<f64>()
    }

    const CROSS: [[f64; 2]; 5] = [[2.0, 10.0], [4.0, 10.0], [8.0, 10.0], [2.0, 20.0], [2.0, 30.0]];

    fn points() -> Vec<&'static [f64]> {
        CROSS.iter().map(|x| &x[..]).collect()
    }

    #[test]
    fn the_centre_is_the_point_that_all_lines_have() {
        assert_eq!(centre(&points()), Some(&[2.0, 10.0][..]));
        assert_eq!(centre(&points()[..3]), None); // one line
        let beside: Vec<&[f64]> = points().into_iter().chain([&[8.0, 30.0][..]]).collect();
        assert_eq!(centre(&beside), None);
    }

    #[test]
    fn twins_are_alike_on_the_lines_and_apart_off_them() {
        // 5 + 3 p + n^2 / 10 is 21 at the centre, 15 + 3 p along p and 11 + n^2 / 10 along n.
        let terms = [term((3.0, vec![power(0, 1)])), term((0.1, vec![power(1, 2)]))];
        let twins = twins(&points(), 5.0, &terms);
        for x in CROSS {
            let expected = 5.0 + 3.0 * x[0] + 0.1 * x[1] * x[1];
            twins.iter().for_each(|twin| assert!((at(twin, &x) - expected).abs() < 1e-12, "{twin:?} at {x:?}"));
        }
        // At (8, 30): the sum 5 + 24 + 90, the product 39 101 / 21, above 11 the product 28 90 / 10.
        let there: Vec<f64> = twins.iter().map(|twin| at(twin, &[8.0, 30.0])).collect();
        let by_hand = [119.0, 39.0 * 101.0 / 21.0, 11.0 + 28.0 * 90.0 / 10.0];
        assert!(there.iter().zip(by_hand).all(|(a, b)| (a - b).abs() < 1e-9), "{there:?}");
    }

    #[test]
    fn parameters_that_change_together_are_found() {
        let of = |points: &[[f64; 3]]| together(&points.iter().map(|x| &x[..]).collect::<Vec<_>>());
        let weak = [[2.0, 20.0, 1.0], [4.0, 40.0, 1.0], [8.0, 80.0, 1.0], [8.0, 80.0, 2.0]];
        assert_eq!(of(&weak), Some(vec![0, 1]));
        assert_eq!(of(&weak[..3]), Some(vec![0, 1])); // the third has one value
        assert_eq!(of(&[[2.0, 20.0, 1.0], [4.0, 20.0, 1.0], [8.0, 80.0, 1.0]]), None);
        assert_eq!(of(&[[2.0, 20.0, 1.0], [2.0, 40.0, 1.0], [4.0, 80.0, 1.0]]), None);
    }

    #[test]
    fn a_single_product_has_no_twin_without_coefficients_below_zero() {
        let product = term((0.5, vec![power(0, 1), power(1, 1)]));
        let twins = twins(&points(), 0.0, &[product]);
        assert_eq!(twins.iter().map(|twin| at(twin, &[8.0, 30.0])).collect::<Vec<_>>(), [120.0]);
    }
}
