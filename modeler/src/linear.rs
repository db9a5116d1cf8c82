//! Small dense least squares, with and without signs. nalgebra's decompositions are the tests' oracle.

use crate::wide::wide;

/// Minimises `|Σ_k c_k columns_k - data|` by Householder reflections; columns without a share of their own get zero.
///
/// `columns` are k vectors as long as `data`.
pub(crate) fn least_squares(columns: &[Vec<f64>], data: &[f64]) -> Vec<f64> {
    let (n, k) = (data.len(), columns.len());
    // The columns and the data, back to back.
    let mut a = Vec::with_capacity(n * (k + 1));
    columns.iter().for_each(|column| a.extend_from_slice(column));
    a.extend_from_slice(data);
    let mut v = Vec::with_capacity(n);
    let mut diagonal = vec![0.0; k];
    for j in 0..k.min(n) {
        let (column, others) = a[n * j..].split_at_mut(n);
        let total = column.iter().map(|v| v * v).sum::<f64>().sqrt();
        let norm = column[j..].iter().map(|v| v * v).sum::<f64>().sqrt();
        if norm <= 1e-13 * total || norm == 0.0 {
            continue;
        }
        let sign = if column[j] > 0.0 { -1.0 } else { 1.0 };
        diagonal[j] = sign * norm;
        v.clear();
        v.extend_from_slice(&column[j..]);
        v[0] -= sign * norm;
        let scale = 2.0 / v.iter().map(|x| x * x).sum::<f64>();
        others.chunks_exact_mut(n).for_each(|other| reflect(&v, scale, &mut other[j..]));
    }
    let (a, b) = a.split_at(n * k);
    let mut c = vec![0.0; k];
    for j in (0..k.min(n)).rev() {
        if diagonal[j] != 0.0 {
            let rest: f64 = (j + 1..k).map(|l| a[n * l + j] * c[l]).sum();
            c[j] = (b[j] - rest) / diagonal[j];
        }
    }
    c
}

/// `x - scale v (v·x)`.
fn reflect(v: &[f64], scale: f64, x: &mut [f64]) {
    let along = scale * v.iter().zip(x.iter()).map(|(a, b)| a * b).sum::<f64>();
    x.iter_mut().zip(v).for_each(|(x, v)| *x -= along * v);
}

/// Minimises the same under `c ≥ 0` by the active-set method of Lawson and Hanson (Solving Least Squares Problems,
/// 1974, chapter 23).
pub(crate) fn non_negative_least_squares(columns: &[Vec<f64>], data: &[f64]) -> Vec<f64> {
    let k = columns.len();
    let norms: Vec<f64> = columns.iter().map(|c| dot(c, c).sqrt()).collect();
    let tolerance = 1e-12 * dot(data, data).sqrt();
    let (mut c, mut passive) = (vec![0.0; k], vec![false; k]);
    for _ in 0..3 * k + 3 {
        let residual = residual(columns, data, &c);
        let gradient = |j: usize| if norms[j] > 0.0 { dot(&columns[j], &residual) / norms[j] } else { 0.0 };
        let next = (0..k).filter(|&j| !passive[j]).max_by(|&a, &b| gradient(a).total_cmp(&gradient(b)));
        let Some(next) = next.filter(|&j| gradient(j) > tolerance) else { break };
        passive[next] = true;
        step_to_feasible(columns, data, &mut c, &mut passive);
    }
    c
}

/// Moves `c` to the unconstrained optimum of the passive columns, dropping those that would become negative.
fn step_to_feasible(columns: &[Vec<f64>], data: &[f64], c: &mut [f64], passive: &mut [bool]) {
    loop {
        let chosen: Vec<usize> = (0..c.len()).filter(|&j| passive[j]).collect();
        let sub: Vec<Vec<f64>> = chosen.iter().map(|&j| columns[j].clone()).collect();
        let target = least_squares(&sub, data);
        if target.iter().all(|v| *v > 0.0) || chosen.is_empty() {
            c.fill(0.0);
            chosen.iter().zip(&target).for_each(|(&j, &v)| c[j] = v);
            return;
        }
        let blocking = chosen.iter().zip(&target).filter(|(_, v)| **v <= 0.0);
        let step = blocking.map(|(&j, &v)| c[j] / (c[j] - v).max(f64::MIN_POSITIVE)).fold(1.0_f64, f64::min);
        for (&j, &v) in chosen.iter().zip(&target) {
            c[j] += step * (v - c[j]);
            if v <= 0.0 && c[j] <= 1e-14 * v.abs().max(f64::MIN_POSITIVE) {
                c[j] = 0.0;
                passive[j] = false;
            }
        }
        // Rounding must not keep a blocked column for ever.
        if step == 0.0 || chosen.iter().all(|&j| passive[j]) {
            for (&j, &v) in chosen.iter().zip(&target) {
                if v <= 0.0 {
                    c[j] = 0.0;
                    passive[j] = false;
                }
            }
        }
    }
}

/// `data - Σ c_k columns_k`.
pub(crate) fn residual(columns: &[Vec<f64>], data: &[f64], c: &[f64]) -> Vec<f64> {
    let mut r = data.to_vec();
    for (column, c) in columns.iter().zip(c) {
        r.iter_mut().zip(column).for_each(|(r, x)| *r -= c * x);
    }
    r
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Sums side by side in which [`dot_of_many`] adds.
const SIDE_BY_SIDE: usize = 8;

/// The same in several sums side by side, as vectors of any width do it.
#[inline(always)]
fn dot_of_many(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<SIDE_BY_SIDE>(), b.as_chunks::<SIDE_BY_SIDE>());
    let mut sums = [0.0; SIDE_BY_SIDE];
    for (a, b) in a.iter().zip(b) {
        for j in 0..SIDE_BY_SIDE {
            sums[j] += a[j] * b[j];
        }
    }
    let mut rest = 0.0;
    for (a, b) in a_rest.iter().zip(b_rest) {
        rest += a * b;
    }
    ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7])) + rest
}

/// Takes the part out of `data` that it has in each of the orthonormal `columns`, which are as long as it and lie back to
/// back, one after the other; adds these parts to `parts`.
#[inline(always)]
fn take_out_each(columns: &[f64], data: &mut [f64], parts: &mut [f64; MOST_COLUMNS]) {
    for (part, q) in parts.iter_mut().zip(columns.chunks_exact(data.len().max(1))) {
        let along = dot_of_many(data, q);
        for (x, q) in data.iter_mut().zip(q) {
            *x -= along * q;
        }
        *part += along;
    }
}

wide! {
    fn take_out(columns: &[f64], data: &mut [f64], parts: &mut [f64; MOST_COLUMNS]) {
        take_out_each(columns, data, parts)
    }
}

wide! {
    /// Leaves of `new`, times the weights if there are any, what the orthonormal `columns` do not have, with a length of one; its
    /// parts in those are added to `parts`, and what its length was is given. `None` where the columns contain it. Parts are
    /// taken out again where much of it was lost.
    fn make_orthonormal(
        columns: &[f64],
        weights: Option<&[f64]>,
        new: &mut [f64],
        parts: &mut [f64; MOST_COLUMNS],
    ) -> Option<f64> {
        for (x, weight) in new.iter_mut().zip(weights.unwrap_or_default()) {
            *x *= weight;
        }
        let total = dot_of_many(new, new);
        let mut left = total;
        for _ in 0..if columns.is_empty() { 0 } else { 2 } {
            let before = left;
            take_out_each(columns, new, parts);
            left = dot_of_many(new, new);
            if left > 0.5 * before {
                break;
            }
        }
        let norm = left.sqrt();
        if norm.is_nan() || norm <= CONTAINED * total.sqrt() {
            return None;
        }
        let inverse = 1.0 / norm;
        for x in new {
            *x *= inverse;
        }
        Some(norm)
    }
}

/// Inverse of `AᵀA` for the given columns, row by row; `None` where it does not exist.
pub(crate) fn inverse_gram(columns: &[Vec<f64>]) -> Option<Vec<f64>> {
    let k = columns.len();
    let scales: Vec<f64> = columns.iter().map(|c| dot(c, c).sqrt()).collect();
    if scales.iter().any(|s| *s <= 0.0) {
        return None;
    }
    let gram = nalgebra::DMatrix::from_fn(k, k, |i, j| dot(&columns[i], &columns[j]) / (scales[i] * scales[j]));
    let inverse = gram.cholesky()?.inverse();
    Some((0..k * k).map(|at| inverse[(at / k, at % k)] / (scales[at / k] * scales[at % k])).collect())
}

/// A column of which less than this share of its length is left is contained in the others.
const CONTAINED: f64 = 1e-13;
/// So many columns an [`Orthonormal`] can hold.
pub(crate) const MOST_COLUMNS: usize = 4;

/// Orthonormal columns Q and the triangle R of A = Q R for the few columns of one hypothesis, without allocating anew.
#[derive(Clone, Debug, Default)]
pub(crate) struct Orthonormal {
    /// Back to back, so many.
    columns: Vec<f64>,
    count: usize,
    rows: usize,
    triangle: [[f64; MOST_COLUMNS]; MOST_COLUMNS],
}

impl Orthonormal {
    /// No columns of `rows` numbers.
    pub fn clear(&mut self, rows: usize) {
        self.columns.clear();
        self.count = 0;
        self.rows = rows;
    }

    /// How many columns there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// The orthonormal columns.
    pub fn columns(&self) -> impl Iterator<Item = &[f64]> {
        self.columns.chunks_exact(self.rows.max(1))
    }

    /// Adds a column, by Gram and Schmidt's method, done twice where much of the column was lost and so orthogonal to
    /// machine precision (Daniel, Gragg, Kaufman and Stewart, Mathematics of Computation 30, 1976); `false` if the
    /// others contain it or there are [`MOST_COLUMNS`], which leaves things as they were.
    pub fn push(&mut self, column: &[f64]) -> bool {
        self.add(column, None)
    }

    /// The same for the column times `weights`.
    pub fn push_weighted(&mut self, column: &[f64], weights: &[f64]) -> bool {
        self.add(column, Some(weights))
    }

    fn add(&mut self, column: &[f64], weights: Option<&[f64]>) -> bool {
        let (k, start) = (self.len(), self.columns.len());
        if k == MOST_COLUMNS {
            return false;
        }
        self.columns.extend_from_slice(column);
        let (before, new) = self.columns.split_at_mut(start);
        let mut along = [0.0; MOST_COLUMNS];
        let Some(norm) = make_orthonormal(before, weights, new, &mut along) else {
            self.columns.truncate(start);
            return false;
        };
        along[k] = norm;
        self.count += 1;
        for (row, v) in self.triangle.iter_mut().zip(along) {
            row[k] = v;
        }
        true
    }

    /// Takes the columns' part out of `data`, and gives their coefficients.
    pub fn project(&self, data: &mut [f64]) -> [f64; MOST_COLUMNS] {
        let mut parts = [0.0; MOST_COLUMNS];
        take_out(&self.columns, data, &mut parts);
        self.solve(parts)
    }

    /// `R⁻¹ b`.
    fn solve(&self, mut b: [f64; MOST_COLUMNS]) -> [f64; MOST_COLUMNS] {
        for k in (0..self.count).rev() {
            let known: f64 = (k + 1..self.count).map(|m| self.triangle[k][m] * b[m]).sum();
            b[k] = (b[k] - known) / self.triangle[k][k];
        }
        b
    }

    /// `R⁻¹`.
    pub fn inverse(&self) -> [[f64; MOST_COLUMNS]; MOST_COLUMNS] {
        let mut inverse = [[0.0; MOST_COLUMNS]; MOST_COLUMNS];
        for m in 0..self.len() {
            let mut unit = [0.0; MOST_COLUMNS];
            unit[m] = 1.0;
            let column = self.solve(unit);
            inverse.iter_mut().zip(column).for_each(|(row, v)| row[m] = v);
        }
        inverse
    }

    /// By observation: how much of its fitted value it makes itself, the diagonal of the hat matrix.
    pub fn leverages(&self, out: &mut Vec<f64>) {
        out.clear();
        out.resize(self.rows, 0.0);
        for q in self.columns() {
            out.iter_mut().zip(q).for_each(|(leverage, q)| *leverage += q * q);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::{DMatrix, DVector};
    use proptest::prelude::*;

    fn problem() -> impl Strategy<Value = (Vec<Vec<f64>>, Vec<f64>)> {
        (1usize..5, 6usize..12).prop_flat_map(|(k, n)| {
            let vector = proptest::collection::vec(-10.0..10.0f64, n);
            (proptest::collection::vec(vector.clone(), k), vector)
        })
    }

    fn square_sum(columns: &[Vec<f64>], data: &[f64], c: &[f64]) -> f64 {
        residual(columns, data, c).iter().map(|r| r * r).sum()
    }

    proptest! {
        #[test]
        fn least_squares_agrees_with_nalgebra((columns, data) in problem()) {
            let matrix = DMatrix::from_fn(data.len(), columns.len(), |i, j| columns[j][i]);
            let oracle = matrix.svd(true, true).solve(&DVector::from_column_slice(&data), 1e-12).unwrap();
            let ours = least_squares(&columns, &data);
            for (a, b) in ours.iter().zip(oracle.iter()) {
                prop_assert!((a - b).abs() < 1e-6 * (1.0 + b.abs()));
            }
        }

        #[test]
        fn no_subset_of_columns_beats_the_non_negative_solution((columns, data) in problem()) {
            let ours = non_negative_least_squares(&columns, &data);
            prop_assert!(ours.iter().all(|c| *c >= 0.0));
            let best = square_sum(&columns, &data, &ours);
            for mask in 0..1usize << columns.len() {
                let chosen: Vec<usize> = (0..columns.len()).filter(|j| mask >> j & 1 == 1).collect();
                let sub: Vec<_> = chosen.iter().map(|&j| columns[j].clone()).collect();
                let c = least_squares(&sub, &data);
                if c.iter().all(|v| *v >= 0.0) {
                    prop_assert!(best <= square_sum(&sub, &data, &c) * (1.0 + 1e-9) + 1e-12);
                }
            }
        }

        #[test]
        fn inverse_gram_times_gram_is_the_identity((columns, _) in problem()) {
            let Some(inverse) = inverse_gram(&columns) else { return Ok(()) };
            let k = columns.len();
            for i in 0..k {
                for j in 0..k {
                    let entry: f64 = (0..k).map(|l| inverse[i * k + l] * dot(&columns[l], &columns[j])).sum();
                    let wanted = if i == j { 1.0 } else { 0.0 };
                    prop_assert!((entry - wanted).abs() < 1e-5);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn orthonormal_columns_agree_with_nalgebra((columns, data) in problem()) {
            let mut q = Orthonormal::default();
            q.clear(data.len());
            for column in &columns {
                prop_assume!(q.push(column));
            }
            let matrix = DMatrix::from_fn(data.len(), columns.len(), |i, j| columns[j][i]);
            let svd = matrix.clone().svd(true, true);
            prop_assume!(svd.singular_values.min() > 1e-3);
            let oracle = svd.solve(&DVector::from_column_slice(&data), 1e-12).unwrap();
            let mut left = data.clone();
            let ours = q.project(&mut left);
            for (a, b) in ours.iter().zip(oracle.iter()) {
                prop_assert!((a - b).abs() < 1e-6 * (1.0 + b.abs()));
            }
            let wanted = residual(&columns, &data, oracle.as_slice());
            prop_assert!(left.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-6));
            let hat = &matrix * (matrix.transpose() * &matrix).try_inverse().unwrap() * matrix.transpose();
            let mut leverages = Vec::new();
            q.leverages(&mut leverages);
            for (i, leverage) in leverages.iter().enumerate() {
                prop_assert!((leverage - hat[(i, i)]).abs() < 1e-6);
            }
        }
    }
}
