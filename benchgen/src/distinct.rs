//! Whether the training points tell how a count grows: loop bounds are integers, and where rounding changes a count by as
//! much as another exponent would, nobody can say from the counts which of the two it is.
//!
//! A count is fitted with its own terms' factors exchanged for others, all coefficients free. It is distinct if no such sum
//! that grows otherwise is nearly as close to it as its own function is.

use num_rational::Ratio;

use crate::complexity::{Exponent, Factor, Point, RoundedProduct, Term};
use crate::law::Sets;
use crate::spec::Parameter;

/// A parameter of fewer values tells nothing of growth, whatever the counts are, and is not asked.
const LEAST_VALUES: usize = 5;
/// How many times as far from the counts as rounding, as a root mean square, every other growth must be.
const FARTHER: f64 = 4.0;
/// Least share of the count at the largest training point of what makes its growth. A modeler counts terms from a hundredth
/// on; what an iteration of one loop costs differs from another's by a small factor.
const LEAST_SHARE: f64 = 0.04;
/// Share from which on a term of another sum may be its growth: the same factor below a hundredth.
const MATTERS: f64 = 0.0025;
/// Relative squares below this are rounding of double precision.
const FINEST: f64 = 1e-22;

/// Index among the candidates of each parameter; 0 is the constant one.
type Shape = Vec<usize>;

/// What may be one parameter's factor in a term, none first, and the value of each by point.
type Candidates = Vec<(Option<Factor>, Vec<f64>)>;

/// What is common to all counts over the same training points.
pub struct Distinction<'a> {
    parameters: &'a [Parameter],
    /// The training points.
    points: Vec<Point>,
    sets: &'a Sets,
}

impl<'a> Distinction<'a> {
    /// Over these training points.
    pub fn new(parameters: &'a [Parameter], points: Vec<Point>, sets: &'a Sets) -> Self {
        Self { parameters, points, sets }
    }

    /// Whether the growth of the sum of these products can be told from its exact values.
    pub fn holds(&self, count: &[RoundedProduct]) -> bool {
        // What cannot be evaluated is refused elsewhere.
        Fit::new(self, count).is_none_or(|fit| fit.is_distinct())
    }
}

/// A count with all candidates for its factors.
struct Fit<'a> {
    of: &'a Distinction<'a>,
    /// By parameter.
    candidates: Vec<Candidates>,
    /// The count's own terms but for the constant.
    own: Vec<Shape>,
    /// What its own terms are worth at the largest training point, the constant's share last.
    shares: Vec<f64>,
    y: Vec<f64>,
    /// Square sum of what rounding changes, relative.
    rounding: f64,
}

impl<'a> Fit<'a> {
    fn new(of: &'a Distinction<'a>, count: &[RoundedProduct]) -> Option<Self> {
        let smooth: Vec<Term> = count.iter().map(RoundedProduct::smooth).collect::<Option<Vec<_>>>()?.concat();
        let sum = |at: &Point| count.iter().try_fold(0.0, |sum, product| Some(sum + product.at(at).ok()? as f64));
        let value = |at: &Point| smooth.iter().try_fold(0.0, |sum, term| Some(sum + term.at(at).ok()?));
        let y: Vec<f64> = of.points.iter().map(sum).collect::<Option<_>>()?;
        let exact: Vec<f64> = of.points.iter().map(value).collect::<Option<_>>()?;
        // Of nothing there is no growth.
        if y.iter().any(|y| *y <= 0.0) {
            return None;
        }
        let rounding = y.iter().zip(&exact).map(|(y, exact)| ((y - exact) / y).powi(2)).sum::<f64>();
        let mut fit = Self {
            of,
            candidates: of.parameters.iter().map(|p| candidates(of, &p.name, &smooth)).collect(),
            own: Vec::new(),
            shares: Vec::new(),
            y,
            rounding: rounding.max(FINEST),
        };
        let (mut constant, largest) = (0.0, of.points.last()?);
        for term in &smooth {
            let (shape, value) = (fit.shape(term)?, term.at(largest).ok()?);
            match fit.own.iter().position(|known| *known == shape) {
                _ if shape.iter().all(|&k| k == 0) => constant += value,
                Some(known) => fit.shares[known] += value,
                None => {
                    fit.own.push(shape);
                    fit.shares.push(value);
                }
            }
        }
        fit.shares.push(constant);
        let whole: f64 = fit.shares.iter().sum();
        fit.shares.iter_mut().for_each(|share| *share /= whole);
        Some(fit)
    }

    fn shape(&self, term: &Term) -> Option<Shape> {
        let of_parameter = |(parameter, candidates): (&Parameter, &Candidates)| {
            let factor = term.factors.iter().find(|f| f.parameter == parameter.name);
            candidates.iter().position(|(known, _)| known.as_ref() == factor)
        };
        self.of.parameters.iter().zip(&self.candidates).map(of_parameter).collect()
    }

    fn is_distinct(&self) -> bool {
        let all = self.exponents(&self.own, &[], 0.0);
        if all != self.exponents(&self.own, &self.shares, LEAST_SHARE) {
            return false;
        }
        let asked = self.of.parameters.iter().enumerate().filter(|(_, p)| p.values.len() >= LEAST_VALUES);
        asked.into_iter().all(|(x, parameter)| {
            let mut factors: Vec<usize> = self.own.iter().map(|shape| shape[x]).filter(|&k| k != 0).collect();
            factors.sort_unstable();
            factors.dedup();
            // The constant and two values more than there are coefficients.
            factors.len() + 3 <= parameter.values.len()
                && self.exchanged(x, &factors).iter().all(|sum| self.is_far(sum, &all))
        })
    }

    /// The sums with other factors in parameter `x`: in one term, in all terms that have a factor, or for two factors at once.
    /// Beside each stands what is left of the terms without the factor, since it is a constant to that parameter.
    fn exchanged(&self, x: usize, factors: &[usize]) -> Vec<Vec<Shape>> {
        let all = self.candidates[x].len();
        let with = |exchange: &dyn Fn(usize, usize) -> usize| -> Vec<Shape> {
            let mut sum = self.own.clone();
            sum.iter_mut().enumerate().for_each(|(term, shape)| shape[x] = exchange(term, shape[x]));
            let mut without = sum.clone();
            without.iter_mut().for_each(|shape| shape[x] = 0);
            sum.extend(without.into_iter().filter(|shape| shape.iter().any(|&k| k != 0)));
            sum.sort_unstable();
            sum.dedup();
            sum
        };
        let mut sums = Vec::new();
        for k in 0..all {
            sums.extend((0..self.own.len()).map(|term| with(&|t, f| if t == term { k } else { f })));
            sums.extend(factors.iter().map(|&factor| with(&|_, f| if f == factor { k } else { f })));
        }
        for (i, &a) in factors.iter().enumerate() {
            for &b in &factors[i + 1..] {
                let pairs = (0..all).flat_map(|k| (0..all).map(move |l| (k, l)));
                sums.extend(pairs.map(|(k, l)| {
                    with(&|_, f| match f {
                        _ if f == a => k,
                        _ if f == b => l,
                        _ => f,
                    })
                }));
            }
        }
        sums
    }

    /// Whether a sum that grows otherwise is far from the count. What needs negative iterations is no count.
    fn is_far(&self, sum: &[Shape], growth: &[Exponent]) -> bool {
        let (coefficients, left) = self.fitted(sum);
        if left >= FARTHER * FARTHER * self.rounding || coefficients[1..].iter().any(|c| *c < 0.0) {
            return true;
        }
        let last = self.y.len() - 1;
        let mut shares: Vec<f64> = sum.iter().zip(&coefficients[1..]).map(|(s, c)| c * self.value(s, last)).collect();
        shares.push(coefficients[0]);
        shares.iter_mut().for_each(|share| *share /= self.y[last]);
        self.exponents(sum, &shares, MATTERS) == growth
    }

    /// Leading exponents of the terms with at least such shares; of all where no shares are given.
    fn exponents(&self, sum: &[Shape], shares: &[f64], least: f64) -> Vec<Exponent> {
        let zero = Ratio::from_integer(0);
        let of_parameter = |(x, candidates): (usize, &Candidates)| {
            let exponent = |shape: &Shape| candidates[shape[x]].0.as_ref().map_or(zero, |f| f.exponent);
            let matters = |i: usize| shares.get(i).is_none_or(|share| share.abs() >= least);
            let terms = sum.iter().enumerate().filter(|(i, _)| matters(*i)).map(|(_, shape)| exponent(shape));
            let constant = shares.last().is_some_and(|share| share.abs() >= least).then_some(zero);
            terms.chain(constant).max().unwrap_or(zero)
        };
        self.candidates.iter().enumerate().map(of_parameter).collect()
    }

    fn value(&self, shape: &Shape, point: usize) -> f64 {
        self.candidates.iter().zip(shape).map(|(candidates, &k)| candidates[k].1[point]).product()
    }

    /// Coefficients of a constant and these terms, and the square sum of what they leave, relative to the count.
    fn fitted(&self, sum: &[Shape]) -> (Vec<f64>, f64) {
        let weighed = |shape: &Shape| (0..self.y.len()).map(|i| self.value(shape, i) / self.y[i]).collect();
        let constant = self.y.iter().map(|y| 1.0 / y).collect();
        let columns: Vec<Vec<f64>> = std::iter::once(constant).chain(sum.iter().map(weighed)).collect();
        least_squares(columns, vec![1.0; self.y.len()])
    }
}

/// The factors of a parameter that another function may have: the sets', and what a message per rank makes of them where a
/// term is beyond those.
fn candidates(of: &Distinction, parameter: &str, terms: &[Term]) -> Candidates {
    let own: Vec<&Factor> = terms.iter().flat_map(|t| &t.factors).filter(|f| f.parameter == parameter).collect();
    let mut exponents = of.sets.exponents.clone();
    if own.iter().any(|f| !exponents.contains(&f.exponent)) {
        exponents.extend(of.sets.exponents.iter().map(|e| e + 1));
        exponents.extend(own.iter().map(|f| f.exponent));
        exponents.sort_unstable();
        exponents.dedup();
    }
    let value = |factor: &Factor| {
        let term = Term { coefficient: 1.0, factors: vec![factor.clone()] };
        of.points.iter().map(|at| term.at(at).unwrap_or(f64::NAN)).collect()
    };
    let mut logs = of.sets.log_exponents.clone();
    logs.extend(own.iter().map(|f| f.log_exponent));
    logs.sort_unstable();
    logs.dedup();
    let factors = exponents.iter().flat_map(|&exponent| {
        let factor = move |&log_exponent| Factor { parameter: parameter.to_owned(), exponent, log_exponent };
        logs.iter().map(factor)
    });
    let growing = factors.filter(|f| f.log_exponent > 0 || f.exponent != Ratio::from_integer(0));
    let one = (None, vec![1.0; of.points.len()]);
    std::iter::once(one).chain(growing.map(|f| (Some(f.clone()), value(&f)))).collect()
}

/// The coefficients that leave least of `y`, and the square sum of what is left: modified Gram-Schmidt, each step done
/// twice, since columns of neighbouring exponents are nearly the same. Columns that are sums of others get zero.
fn least_squares(columns: Vec<Vec<f64>>, mut y: Vec<f64>) -> (Vec<f64>, f64) {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let take = |from: &mut [f64], share: f64, of: &[f64]| from.iter_mut().zip(of).for_each(|(x, o)| *x -= share * o);
    // The basis, and each of its vectors as a sum of the columns.
    let mut basis: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
    let count = columns.len();
    for (k, mut column) in columns.into_iter().enumerate() {
        let mut sum = vec![0.0; count];
        sum[k] = 1.0;
        let before = dot(&column, &column).sqrt();
        for _ in 0..2 {
            for (unit, of_columns) in &basis {
                let share = dot(&column, unit);
                take(&mut column, share, unit);
                take(&mut sum, share, of_columns);
            }
        }
        let norm = dot(&column, &column).sqrt();
        if norm > 1e-9 * before {
            column.iter_mut().for_each(|x| *x /= norm);
            sum.iter_mut().for_each(|x| *x /= norm);
            basis.push((column, sum));
        }
    }
    let mut coefficients = vec![0.0; count];
    for (unit, of_columns) in &basis {
        let share = dot(&y, unit);
        take(&mut y, share, unit);
        take(&mut coefficients, -share, of_columns);
    }
    (coefficients, dot(&y, &y))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law;

    fn parameters() -> Vec<Parameter> {
        let parameter = |name: &str, values: [f64; 5]| Parameter { name: name.to_owned(), values: values.to_vec() };
        vec![
            parameter("p", [8.0, 16.0, 32.0, 64.0, 128.0]),
            parameter("n", [8000.0, 16000.0, 24000.0, 32000.0, 40000.0]),
        ]
    }

    /// Whether the sum of these products of rounded laws is distinct.
    fn distinct(products: &[&[&str]]) -> bool {
        let (parameters, sets) = (parameters(), Sets::default());
        let names: Vec<String> = parameters.iter().map(|p| p.name.clone()).collect();
        let points = parameters[0].values.iter().flat_map(|&p| {
            parameters[1].values.iter().map(move |&n| Point::from([("p".to_owned(), p), ("n".to_owned(), n)]))
        });
        let rounded = |laws: &&[&str]| {
            let laws = laws.iter().map(|text| law::parse(text, &names, &sets).expect("a law").0);
            RoundedProduct::new(1, laws.collect())
        };
        let count: Vec<RoundedProduct> = products.iter().map(rounded).collect();
        Distinction::new(&parameters, points.collect(), &sets).holds(&count)
    }

    #[test]
    fn what_rounding_hides_is_not_distinct() {
        // 2.6e-6 · 8000^(7/4) is 17.6: what rounding does is ten times what tells 7/4 from 5/3 with a logarithm.
        assert!(!distinct(&[&["2.6e-6 * n^(7/4)"]]));
        assert!(distinct(&[&["0.26 * n^(7/4)"]]));
        // 7.2 · log2(n) is 93 to 110, by which a quarter's power and as much for each rank are as near.
        assert!(!distinct(&[&["p", "7.2 * log2(n)"]]));
        assert!(distinct(&[&["p", "7200 * log2(n)"]]));
        // The outer loop of a nest runs 150 to 200 times, which is 1 % of all.
        assert!(!distinct(&[
            &["0.378 * n^(1/3) * log2(n)"],
            &["0.378 * n^(1/3) * log2(n)", "9.08 * p^(1/4) * log2(p)"]
        ]));
        // Whole numbers are exact however small they are.
        assert!(distinct(&[&["n"]]) && distinct(&[&["p * log2(p)"]]));
        // The inner loop runs 60 to 120 times.
        assert!(!distinct(&[&["log2(p)"], &["log2(p)", "0.6 * n^(1/2)"]]));
    }

    #[test]
    fn more_terms_than_values_tell_apart_are_not_distinct() {
        assert!(distinct(&[&["1e3 * n"], &["1e3 * n^2"]]));
        assert!(!distinct(&[&["1e3 * n"], &["1e3 * n^2"], &["n^3"]]));
    }

    #[test]
    fn what_is_hardly_there_is_not_distinct() {
        // 76800 of 1.677 million are 4.6 %, 38400 of 1.638 million 2.3 %.
        assert!(distinct(&[&["40 * n"], &["600 * p"]]));
        assert!(!distinct(&[&["40 * n"], &["300 * p"]]));
    }

    #[test]
    fn least_squares_by_hand() {
        let columns = vec![vec![1.0, 1.0, 1.0], vec![0.0, 1.0, 2.0], vec![1.0, 2.0, 3.0]];
        let (c, left) = least_squares(columns, vec![1.0, 3.0, 8.0]);
        // The line through (0, 1), (1, 3), (2, 8) that is closest: 1/2 + 7/2 x, off by 1/2, -1, 1/2.
        assert!((c[0] - 0.5).abs() < 1e-12 && (c[1] - 3.5).abs() < 1e-12 && c[2] == 0.0, "{c:?}");
        assert!((left - 1.5).abs() < 1e-12);
    }
}
