//! What the places of points leave open: on lines along single parameters through one point, a cross, no measurement says whether what the
//! parameters add is a sum or a product; and of parameters that change together none says which of them does what.
//!
//! Let `F_l` be a function along the line of parameter `l`, and `v` its value at the centre, which all lines have. The values on the lines
//! are also those of `c + Π (F_l - c) / (v - c)^(d-1)` for d lines and any c below v: of the product of the lines for c of zero, of their
//! sum `Σ F_l - (d-1) v` as c falls without end, and of others in between or beyond. Three of them are functions of cost: sum, product,
//! and the product above the largest c for which no coefficient is below zero.

use crate::model::{Scale, Term, value_at};

/// What is left of a difference of like numbers below this share of them is their rounding.
const ROUNDING: f64 = 1e-9;

/// The place through which all lines go, where `points` are a cross of at least two; it need not be one of them.
pub(crate) fn centre(points: &[&[f64]]) -> Option<Vec<f64>> {
    let apart = |a: &[f64], b: &[f64]| a.iter().zip(b).filter(|(a, b)| a != b).count();
    let first = *points.first()?;
    let varies = |l: usize| points.iter().any(|point| point[l] != first[l]);
    if (0..first.len()).filter(|&l| varies(l)).count() < 2 {
        return None;
    }
    // A point on another line has the centre's coordinate of the first one's parameter.
    let places = match points.iter().find(|point| apart(point, first) > 1) {
        None => vec![first.to_vec()],
        Some(other) => {
            let with = |l: usize| first.iter().enumerate().map(|(m, x)| if m == l { other[l] } else { *x }).collect();
            (0..first.len()).filter(|&l| other[l] != first[l]).map(with).collect()
        }
    };
    places.into_iter().find(|centre| points.iter().all(|point| apart(point, centre) <= 1))
}

/// The least and the most at `x` of the functions that have the values of `constant` and `terms` on all lines through `centre`: these
/// themselves, and sum, product and product above a constant of the lines, as far as their coefficients are not below zero.
pub(crate) fn span(centre: &[f64], constant: f64, terms: &[Term], x: &[f64]) -> (f64, f64) {
    let at = |x: &[f64]| value_at(constant, terms, x);
    let (own, value) = (at(x), at(centre));
    if value <= 0.0 || terms.iter().any(|t| t.scale != Scale::One) {
        return (own, own);
    }
    let grows_along = |l: &usize| terms.iter().any(|t| t.factors.iter().any(|f| f.parameter == *l));
    let along: Vec<usize> = (0..centre.len()).filter(grows_along).collect();
    if along.len() < 2 {
        return (own, own);
    }
    let others = (along.len() - 1) as i32;
    let values: Vec<f64> = along.iter().map(|&l| at(&place_along(l, centre, x))).collect();
    let product =
        |above: f64| above + values.iter().map(|value| value - above).product::<f64>() / (value - above).powi(others);
    let constants: Vec<f64> = along.iter().map(|&l| constant_along(l, centre, constant, terms)).collect();
    let mut twins = vec![own, product(0.0)];
    let of_sum = constants.iter().sum::<f64>() - f64::from(others) * value;
    if of_sum >= -ROUNDING * value {
        twins.push(values.iter().sum::<f64>() - f64::from(others) * value);
    }
    let largest = constants.iter().copied().fold(f64::INFINITY, f64::min);
    if largest > 0.0 && largest < (1.0 - ROUNDING) * value {
        twins.push(product(largest));
    }
    let twins = twins.into_iter().filter(|twin| twin.is_finite());
    twins.fold((own, own), |(least, most), twin| (twin.min(least), twin.max(most)))
}

/// The place on the line of parameter `l` that has its coordinate of `x`.
fn place_along(l: usize, centre: &[f64], x: &[f64]) -> Vec<f64> {
    centre.iter().zip(x).enumerate().map(|(m, (centre, x))| if m == l { *x } else { *centre }).collect()
}

/// What does not depend on parameter `l` on its line.
fn constant_along(l: usize, centre: &[f64], constant: f64, terms: &[Term]) -> f64 {
    let others = terms.iter().filter(|t| t.factors.iter().all(|f| f.parameter != l));
    constant + others.map(|t| t.at(centre)).sum::<f64>()
}

/// The first parameters, two at least, of which each value goes with one of the others at all `points`: what each does alone is not measured.
pub(crate) fn together(points: &[&[f64]]) -> Option<Vec<usize>> {
    let parameters = points.first()?.len();
    let varying: Vec<usize> = (0..parameters).filter(|&l| points.iter().any(|x| x[l] != points[0][l])).collect();
    let goes_with = |l: usize, m: usize| {
        let mut pairs: Vec<(f64, f64)> = points.iter().map(|x| (x[l], x[m])).collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        pairs.dedup();
        let mut others: Vec<f64> = pairs.iter().map(|pair| pair.1).collect();
        others.sort_by(f64::total_cmp);
        others.dedup();
        // No value of either comes in two pairs.
        pairs.windows(2).all(|w| w[0].0 != w[1].0) && others.len() == pairs.len()
    };
    let group = |&l: &usize| varying.iter().copied().filter(|&m| m == l || goes_with(l, m)).collect::<Vec<_>>();
    varying.iter().map(group).find(|group| group.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Factor, Role};

    fn term(coefficient: f64, powers: &[(usize, i32)]) -> Term {
        let factor =
            |&(parameter, exponent): &(usize, i32)| Factor { parameter, exponent: exponent.into(), log_exponent: 0 };
        Term { coefficient, role: Role::Computation, scale: Scale::One, factors: powers.iter().map(factor).collect() }
    }

    const CROSS: [[f64; 2]; 5] = [[2.0, 10.0], [4.0, 10.0], [8.0, 10.0], [2.0, 20.0], [2.0, 30.0]];

    fn points() -> Vec<&'static [f64]> {
        CROSS.iter().map(|x| &x[..]).collect()
    }

    #[test]
    fn the_centre_is_the_place_that_all_lines_have() {
        assert_eq!(centre(&points()), Some(vec![2.0, 10.0]));
        let reversed: Vec<&[f64]> = points().into_iter().rev().collect();
        assert_eq!(centre(&reversed), Some(vec![2.0, 10.0]));
        assert_eq!(centre(&points()[1..]), Some(vec![2.0, 10.0]), "where it was not measured");
        assert_eq!(centre(&points()[..3]), None, "one line");
        let beside: Vec<&[f64]> = points().into_iter().chain([&[8.0, 30.0][..]]).collect();
        assert_eq!(centre(&beside), None);
        let of_three: [&[f64]; 4] = [&[1.0, 2.0, 9.0], &[1.0, 3.0, 5.0], &[1.0, 2.0, 5.0], &[4.0, 2.0, 5.0]];
        assert_eq!(centre(&of_three), Some(vec![1.0, 2.0, 5.0]));
    }

    #[test]
    fn what_is_alike_on_the_lines_is_apart_off_them() {
        // 5 + 3 p + n^2 / 10 is 21 at the centre, 15 + 3 p along p and 11 + n^2 / 10 along n.
        let terms = [term(3.0, &[(0, 1)]), term(0.1, &[(1, 2)])];
        for x in CROSS {
            let expected = 5.0 + 3.0 * x[0] + 0.1 * x[1] * x[1];
            let (least, most) = span(&[2.0, 10.0], 5.0, &terms, &x);
            assert!((least - expected).abs() < 1e-9 && (most - expected).abs() < 1e-9, "{x:?}: {least} {most}");
        }
        // At (8, 30): the sum 5 + 24 + 90, the product 39 101 / 21, above 11 the product 28 90 / 10.
        let (least, most) = span(&[2.0, 10.0], 5.0, &terms, &[8.0, 30.0]);
        assert!((least - 119.0).abs() < 1e-9 && (most - 263.0).abs() < 1e-9, "{least} {most}");
        let product = [term(7.0 / 21.0, &[(0, 1), (1, 2)])];
        assert!(span(&[2.0, 10.0], 5.0, &product, &[8.0, 30.0]).0 < 5.0 + 7.0 / 21.0 * 8.0 * 900.0);
    }

    #[test]
    fn a_single_product_is_alone_without_coefficients_below_zero() {
        let product = [term(0.5, &[(0, 1), (1, 1)])];
        assert_eq!(span(&[2.0, 10.0], 0.0, &product, &[8.0, 30.0]), (120.0, 120.0));
        assert_eq!(span(&[2.0, 10.0], 1.0, &[term(0.5, &[(0, 1)])], &[8.0, 30.0]), (5.0, 5.0), "of one parameter");
    }

    #[test]
    fn parameters_that_change_together_are_found() {
        let of = |points: &[[f64; 3]]| together(&points.iter().map(|x| &x[..]).collect::<Vec<_>>());
        let weak = [[2.0, 20.0, 1.0], [4.0, 40.0, 1.0], [8.0, 80.0, 1.0], [8.0, 80.0, 2.0]];
        assert_eq!(of(&weak), Some(vec![0, 1]));
        assert_eq!(of(&weak[..3]), Some(vec![0, 1]), "the third has one value");
        assert_eq!(of(&[[2.0, 20.0, 1.0], [4.0, 20.0, 1.0], [8.0, 80.0, 1.0]]), None);
        assert_eq!(of(&[[2.0, 20.0, 1.0], [2.0, 40.0, 1.0], [4.0, 80.0, 1.0]]), None);
    }
}
