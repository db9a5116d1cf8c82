//! Several parameters: which sum of products of their terms fits all points best.

use super::line::{Choice, Column};
use super::{LEAST_SHARE, half_share};
use crate::linear::{MOST_COLUMNS, Orthonormal, least_squares};
use crate::model::Factor;
use crate::wide::wide;

/// The hypotheses over one term of each of some parameters.
#[derive(Debug)]
pub(super) struct Joint {
    /// The terms, in order of their parameters.
    pub factors: Vec<Factor>,
    /// By mask of the factors that are multiplied: the product at the points.
    columns: Vec<Vec<f64>>,
    /// By mask: the product at the largest coordinates.
    pub corner: Vec<f64>,
    /// In the order in which they compete.
    pub hypotheses: Vec<Hypothesis>,
    /// Whether the experiment has one parameter, whose choice is final.
    single: bool,
}

/// A constant and some products.
#[derive(Debug)]
pub(super) struct Hypothesis {
    /// Masks of the factors of each product.
    pub terms: Vec<usize>,
    /// By coefficient, the constant's first, then point: what the values are multiplied by to give it.
    pub inverse: Vec<Vec<f64>>,
    /// By point: how much of the fitted value its own measurement makes.
    pub leverage: Vec<f64>,
    /// Covariance of the coefficients for values of variance one, row by row.
    pub covariance: Vec<f64>,
}

/// The hypotheses in three terms beyond the product and the sum of all, as masks.
const OF_THREE: [&[usize]; 21] = [
    &[7, 1],
    &[7, 2],
    &[7, 4],
    &[7, 3],
    &[7, 6],
    &[7, 5],
    &[7, 3, 4],
    &[7, 6, 1],
    &[7, 5, 2],
    &[7, 1, 2],
    &[7, 1, 4],
    &[7, 2, 4],
    &[3, 4],
    &[3, 4, 2],
    &[3, 4, 1],
    &[5, 2],
    &[5, 2, 1],
    &[5, 2, 4],
    &[6, 1],
    &[6, 1, 2],
    &[6, 1, 4],
];

/// The hypotheses over `m` terms, as the masks of their products.
fn hypotheses(m: usize) -> Vec<Vec<usize>> {
    let all = (1usize << m) - 1;
    let each: Vec<usize> = (0..m).map(|k| 1 << k).collect();
    let mut list = match m {
        0 => vec![Vec::new()],
        1 => vec![each],
        _ => vec![vec![all], each],
    };
    match m {
        2 => list.extend([vec![1, 3], vec![2, 3]]),
        3 => list.extend(OF_THREE.iter().map(|terms| terms.to_vec())),
        _ => {}
    }
    list
}

impl Joint {
    /// Over these terms at `points` points.
    pub fn new(points: usize, terms: &[&Column], parameters: usize) -> Self {
        let of = |mask: usize| terms.iter().enumerate().filter(move |(k, _)| mask >> k & 1 == 1).map(|(_, term)| *term);
        let column = |mask: usize| -> Vec<f64> {
            let mut product = vec![1.0; points];
            of(mask).for_each(|term| product.iter_mut().zip(&term.values).for_each(|(p, v)| *p *= v));
            product
        };
        let factors: Vec<Factor> = terms.iter().map(|term| term.factor).collect();
        let list = hypotheses(factors.len());
        let mut columns = vec![Vec::new(); 1 << factors.len()];
        list.iter().flatten().chain([&0]).for_each(|&mask| columns[mask] = column(mask));
        let hypotheses = list.into_iter().map(|terms| Hypothesis::new(&columns, terms)).collect();
        let corner = (0..columns.len()).map(|mask| of(mask).map(|term| term.corner).product()).collect();
        Self { factors, columns, corner, hypotheses, single: parameters == 1 }
    }

    /// The best hypothesis for the values `y`: its index; `coefficients` become its coefficients and `best` its values. A
    /// choice along the only parameter that matters competes with its own coefficients.
    pub fn search(
        &self,
        y: &[f64],
        alone: Option<Choice>,
        coefficients: &mut Vec<f64>,
        fitted: &mut Vec<f64>,
        best: &mut Vec<f64>,
    ) -> usize {
        let mut own = [0.0; MOST_COLUMNS];
        let (mut chosen, mut least) = (0, f64::INFINITY);
        if let Some(choice) = alone {
            coefficients.clear();
            coefficients.extend([choice.constant, choice.slope]);
            least = error(&self.columns, &self.hypotheses[0].terms, coefficients, y, best);
            if self.single {
                return 0;
            }
        }
        for (index, hypothesis) in self.hypotheses.iter().enumerate() {
            let count = hypothesis.inverse.len();
            let mut many = Vec::new();
            let trial = if count <= MOST_COLUMNS {
                &mut own[..count]
            } else {
                many.resize(count, 0.0);
                &mut many[..]
            };
            trial.iter_mut().zip(&hypothesis.inverse).for_each(|(c, row)| *c = dot(row, y));
            let error = error(&self.columns, &hypothesis.terms, trial, y, fitted);
            let first = index == 0 && alone.is_none();
            if first || error < least && (self.factors.len() < 2 || self.all_count(hypothesis, trial, y)) {
                (chosen, least) = (index, error);
                coefficients.clear();
                coefficients.extend_from_slice(trial);
                std::mem::swap(best, fitted);
            }
        }
        chosen
    }

    /// Whether each term makes a share of some value.
    fn all_count(&self, hypothesis: &Hypothesis, coefficients: &[f64], y: &[f64]) -> bool {
        let counts = |(&mask, c): (&usize, &f64)| {
            let share = |(x, y): (&f64, &f64)| (c * x).abs() >= LEAST_SHARE * y.abs();
            *c != 0.0 && self.columns[mask].iter().zip(y).any(share)
        };
        hypothesis.terms.iter().zip(&coefficients[1..]).all(counts)
    }
}

impl Hypothesis {
    fn new(columns: &[Vec<f64>], terms: Vec<usize>) -> Self {
        let used: Vec<&Vec<f64>> = std::iter::once(&0).chain(&terms).map(|&mask| &columns[mask]).collect();
        let scales: Vec<f64> = used.iter().map(|c| c.iter().fold(f64::MIN_POSITIVE, |m, v| m.max(v.abs()))).collect();
        let scaled: Vec<Vec<f64>> = used.iter().zip(&scales).map(|(c, s)| c.iter().map(|v| v / s).collect()).collect();
        let mut inverse = pseudo_inverse(&scaled);
        inverse.iter_mut().zip(&scales).for_each(|(row, scale)| row.iter_mut().for_each(|v| *v /= scale));
        let leverage = |i: usize| used.iter().zip(&inverse).map(|(column, row)| column[i] * row[i]).sum();
        let leverage = (0..used[0].len()).map(leverage).collect();
        let covariance = inverse.iter().flat_map(|a| inverse.iter().map(move |b| dot(a, b))).collect();
        Self { terms, inverse, leverage, covariance }
    }
}

/// By column, what data are multiplied by to give its coefficient in a least-squares fit.
fn pseudo_inverse(columns: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let n = columns[0].len();
    let mut rows = vec![vec![0.0; n]; columns.len()];
    let mut basis = Orthonormal::default();
    basis.clear(n);
    if columns.len() <= MOST_COLUMNS && columns.iter().all(|c| basis.push(c)) {
        let inverse = basis.inverse();
        for (k, q) in basis.columns().enumerate() {
            for (row, inverse) in rows.iter_mut().zip(&inverse) {
                row.iter_mut().zip(q).for_each(|(r, q)| *r += inverse[k] * q);
            }
        }
        return rows;
    }
    for i in 0..n {
        let mut unit = vec![0.0; n];
        unit[i] = 1.0;
        rows.iter_mut().zip(least_squares(columns, &unit)).for_each(|(row, c)| row[i] = c);
    }
    rows
}

wide! {
    /// The values of a constant and `terms`, masks of products, with these coefficients become `fitted`; half of their symmetric relative errors,
    /// in eight sums that vectors do at once.
    fn error(columns: &[Vec<f64>], terms: &[usize], coefficients: &[f64], y: &[f64], fitted: &mut Vec<f64>) -> f64 {
        fitted.clear();
        fitted.resize(y.len(), coefficients[0]);
        for (&mask, c) in terms.iter().zip(&coefficients[1..]) {
            for (value, x) in fitted.iter_mut().zip(&columns[mask]) {
                *value += c * x;
            }
        }
        let ((y, y_rest), (fitted, fitted_rest)) = (y.as_chunks::<8>(), fitted.as_chunks::<8>());
        let mut sums = [0.0; 8];
        for (y, fitted) in y.iter().zip(fitted) {
            for k in 0..8 {
                sums[k] += half_share(y[k], fitted[k]);
            }
        }
        let mut rest = 0.0;
        for (y, fitted) in y_rest.iter().zip(fitted_rest) {
            rest += half_share(*y, *fitted);
        }
        sums.iter().sum::<f64>() + rest
    }
}

/// The inner product, in eight sums that vectors do at once.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        for k in 0..8 {
            sums[k] += a[k] * b[k];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}
