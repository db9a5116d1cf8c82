//! The smallest sum of a few products that gives values without noise exactly.

use crate::effort::{self, EXPLAINS, relative_weights};
use crate::library::{Shape, complexity};
use crate::line;
use crate::linear::{least_squares, residual};

/// Products that are summed at most.
const MOST: usize = 4;
/// So many values beyond their coefficients agree at least.
const SPARE: usize = 2;
/// Sums of a size that are tried at most.
const MOST_TRIED: usize = 5000;

/// The sum of fewest of these products that gives the values `y`, as constant and terms: of these one with fewest negative coefficients, that
/// is nowhere negative, with most whole coefficients, and the simplest. The products are of factors that were chosen from so many combinations by
/// values of this [`line::span`]; none where chance may do as much.
pub(crate) fn smallest(
    points: &[&[f64]],
    y: &[f64],
    (combinations, span, products): (f64, f64, &[Shape]),
) -> Option<(f64, Vec<(Shape, f64)>)> {
    let (columns, data) = relative_to(y, points, products);
    // How many coefficients are negative, whether the sum may be, how many coefficients are not whole, and how complicated it is.
    let exact = |chosen: Vec<usize>| {
        let columns: Vec<Vec<f64>> = chosen.iter().map(|&k| columns[k].clone()).collect();
        let c = given_by(&columns, &data)?;
        let negative = c.iter().filter(|c| **c < 0.0).count();
        let odd = c.iter().filter(|c| line::is_odd(c.abs())).count();
        let complexity: f64 = chosen.iter().map(|&k| complexity(&products[k])).sum();
        let (constant, terms): (Vec<_>, Vec<_>) =
            chosen.into_iter().map(|k| products[k].clone()).zip(c).partition(|(product, _)| product.is_empty());
        let sum = effort::exact(constant.iter().map(|(_, c)| c).sum(), terms);
        Some(((negative, !sum.is_never_negative(), odd), complexity, sum))
    };
    let most = MOST.min(y.len().saturating_sub(SPARE)).min(products.len());
    let tried = |size: usize| combinations * sets_of(products.len(), size) as f64;
    let sizes = (1..=most)
        .take_while(|size| sets_of(products.len(), *size) <= MOST_TRIED)
        .filter(|size| line::is_no_accident(y.len() - size, span, tried(*size)));
    let (.., sum) = sizes.map(|size| subsets(products.len(), size)).find_map(|sums| {
        let exact = sums.into_iter().filter_map(exact);
        exact.min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)))
    })?;
    Some((sum.constant, sum.terms))
}

/// The coefficients with which these products, of which the empty one is the constant, give the values `y` exactly; `None` if there are none.
pub(crate) fn coefficients(points: &[&[f64]], y: &[f64], products: &[Shape]) -> Option<Vec<f64>> {
    let (columns, data) = relative_to(y, points, products);
    given_by(&columns, &data)
}

/// The products and `y` itself at the points, divided by the values `y`.
fn relative_to(y: &[f64], points: &[&[f64]], products: &[Shape]) -> (Vec<Vec<f64>>, Vec<f64>) {
    let weights = relative_weights(y);
    let weighted = |value: &dyn Fn(usize) -> f64| -> Vec<f64> { (0..y.len()).map(|i| weights[i] * value(i)).collect() };
    let at = |product: &Shape, i: usize| -> f64 { product.iter().map(|f| f.at(points[i][f.parameter])).product() };
    (products.iter().map(|product| weighted(&|i| at(product, i))).collect(), weighted(&|i| y[i]))
}

/// The coefficients with which these columns give `data` exactly, where both are divided by the values; `None` if there are none.
pub(crate) fn given_by(columns: &[Vec<f64>], data: &[f64]) -> Option<Vec<f64>> {
    let c = least_squares(columns, data);
    residual(columns, data, &c).iter().all(|left| left.abs() < EXPLAINS).then_some(c)
}

/// How many sets of `size` of `count` numbers there are.
fn sets_of(count: usize, size: usize) -> usize {
    (0..size).fold(1, |sets, k| sets * (count - k) / (k + 1))
}

/// All sets of `size` of the first `count` numbers, in order.
fn subsets(count: usize, size: usize) -> Vec<Vec<usize>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let with_last = |last: usize| {
        subsets(last, size - 1).into_iter().map(move |mut set| {
            set.push(last);
            set
        })
    };
    (0..count).flat_map(with_last).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Factor;

    #[test]
    fn the_smallest_sum_that_adds_is_taken() {
        let factor = |parameter, exponent: i32| Factor { parameter, exponent: exponent.into(), log_exponent: 0 };
        let products = [vec![], vec![factor(0, -1)], vec![factor(1, 1)], vec![factor(0, -1), factor(1, 1)]];
        let along_p = [2.0, 4.0, 8.0, 16.0].map(|p| [p, 100.0]);
        let along_n = [200.0, 300.0, 400.0].map(|n| [2.0, n]);
        let points: Vec<&[f64]> = along_p.iter().chain(&along_n).map(|x| &x[..]).collect();
        let values = |f: fn(f64, f64) -> f64| -> Vec<f64> { points.iter().map(|x| f(x[0], x[1])).collect() };
        // On a cross `c + a/p + b n` gives these, too, with one coefficient more.
        let (constant, terms) =
            smallest(&points, &values(|p, n| 3.0 * n + 20.0 * n / p), (1e4, 18.0, &products)).unwrap();
        assert_eq!(constant, 0.0);
        assert_eq!(terms.iter().map(|t| &t.0).collect::<Vec<_>>(), [&products[3], &products[2]]);
        assert!((terms[0].1 - 20.0).abs() < 1e-9 && (terms[1].1 - 3.0).abs() < 1e-9);
        let (constant, terms) = smallest(&points, &values(|p, n| 7.0 + 101.0 / p + n), (1e4, 18.0, &products)).unwrap();
        assert!((constant - 7.0).abs() < 1e-9);
        assert_eq!(terms.iter().map(|t| &t.0).collect::<Vec<_>>(), [&products[1], &products[2]]);
        assert!(smallest(&points, &values(|p, n| n * p), (1e4, 18.0, &products)).is_none());
    }

    /// What falls below zero at smaller parameters is no count, be it as simple.
    #[test]
    fn a_product_that_stays_above_zero_is_taken_before_a_sum_that_does_not() {
        let factor = |parameter| Factor { parameter, exponent: 1.into(), log_exponent: 0 };
        let products = [vec![], vec![factor(0)], vec![factor(1)], vec![factor(0), factor(1)]];
        let along_p = [4.0, 8.0, 16.0, 32.0, 64.0].map(|p| [p, 1000.0]);
        let along_n = [2000.0, 3000.0, 4000.0, 5000.0].map(|n| [4.0, n]);
        let points: Vec<&[f64]> = along_p.iter().chain(&along_n).map(|x| &x[..]).collect();
        // On this cross `1008 p + 3 n - 4000`, too.
        let y: Vec<f64> = points.iter().map(|x| x[1] * (x[0] - 1.0) + 8.0 * x[0]).collect();
        let (constant, terms) = smallest(&points, &y, (1e4, line::span(&y), &products)).unwrap();
        assert_eq!(constant, 0.0);
        assert_eq!(terms.iter().map(|t| &t.0).collect::<Vec<_>>(), [&products[1], &products[3], &products[2]]);
        let whole = terms.iter().zip([8.0, 1.0, -1.0]);
        assert!(whole.into_iter().all(|(term, c)| (term.1 - c).abs() < 1e-9));
    }

    /// Counters with noise, of few different values: sums of four of the products give them, and mean nothing.
    #[test]
    fn what_chance_does_is_no_sum() {
        let factor =
            |parameter, exponent: i32, log_exponent| Factor { parameter, exponent: exponent.into(), log_exponent };
        let products = [
            vec![],
            vec![factor(0, 0, 1)],
            vec![factor(1, 3, 0)],
            vec![factor(1, -1, 0)],
            vec![factor(0, 0, 1), factor(1, -1, 0)],
        ];
        let points =
            [[2.0, 100.0], [4.0, 100.0], [8.0, 100.0], [16.0, 100.0], [2.0, 200.0], [2.0, 400.0], [2.0, 800.0]];
        let points: Vec<&[f64]> = points.iter().map(|x| &x[..]).collect();
        let misses = [98.0, 96.0, 94.0, 92.0, 104.0, 106.0, 99.0];
        assert!(smallest(&points, &misses, (1e4, line::span(&misses), &products)).is_none());
    }

    #[test]
    fn sets_are_all_there() {
        assert_eq!(subsets(4, 2), [[0, 1], [0, 2], [1, 2], [0, 3], [1, 3], [2, 3]]);
        assert_eq!((sets_of(4, 2), sets_of(81, 4)), (6, 1_663_740));
    }
}
