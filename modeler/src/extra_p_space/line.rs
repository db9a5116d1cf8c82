//! One parameter: which of the terms, if any, predicts points left out best.

use super::{LEAST_SHARE, factors, half_share};
use crate::linear::Orthonormal;
use crate::model::Factor;
use crate::wide::wide;
use std::collections::BTreeMap;

/// Terms are padded to a multiple of this, so that whole vectors are computed.
const PAD: usize = 8;
/// A constant below this share of the smallest value counts as zero.
const CONSTANT: f64 = 0.0005;
/// With fewer values of a parameter nothing is left to leave out.
const LEAST_VALUES: usize = 3;

/// The choice along one parameter, with the least-squares fit of the values there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    /// Index of the term.
    pub term: usize,
    /// The constant.
    pub constant: f64,
    /// The term's coefficient.
    pub slope: f64,
}

/// A term of one parameter with its values.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// The term.
    pub factor: Factor,
    /// By point.
    pub values: Vec<f64>,
    /// At the largest value of the parameter.
    pub corner: f64,
}

/// The values along one parameter, and the matrices of the hypotheses in it.
#[derive(Debug)]
pub(super) struct Line {
    parameter: usize,
    factors: Vec<Column>,
    /// Number of factors, padded.
    width: usize,
    /// By value of the parameter: the points whose mean stands for it.
    groups: Vec<Vec<u32>>,
    /// By value, then factor.
    terms: Vec<f64>,
    /// By value left out, then value, then factor: what makes the prediction of the one left out, and the constant.
    predictions: Vec<f64>,
    constants: Vec<f64>,
    /// By value, then factor: what makes the coefficient of the factor.
    slopes: Vec<f64>,
}

impl Line {
    pub fn new(points: &[&[f64]], parameter: usize) -> Self {
        let (values, groups) = groups(points, parameter);
        let factors = if values.len() < LEAST_VALUES { Vec::new() } else { factors(parameter, values.iter().copied()) };
        let largest = points.iter().map(|x| x[parameter]).fold(f64::NEG_INFINITY, f64::max);
        let column = |factor: Factor| Column {
            factor,
            values: points.iter().map(|x| factor.at(x[parameter])).collect(),
            corner: factor.at(largest),
        };
        let factors: Vec<Column> = factors.into_iter().map(column).collect();
        let (n, width) = (values.len(), factors.len().next_multiple_of(PAD));
        let mut line = Self {
            parameter,
            width,
            groups,
            terms: vec![0.0; n * width],
            predictions: vec![0.0; n * n * width],
            constants: vec![0.0; n * n * width],
            slopes: vec![0.0; n * width],
            factors,
        };
        for j in 0..line.factors.len() {
            line.fill(j, &values);
        }
        line
    }

    /// The matrices of factor `j`.
    fn fill(&mut self, j: usize, values: &[f64]) {
        let (n, width) = (values.len(), self.width);
        let column: Vec<f64> = values.iter().map(|&v| self.factors[j].factor.at(v)).collect();
        let [_, slopes] = rows(&column, None);
        for i in 0..n {
            self.terms[i * width + j] = column[i];
            self.slopes[i * width + j] = slopes[i];
            let [constants, slopes] = rows(&column, Some(i));
            for of in 0..n {
                let at = (i * n + of) * width + j;
                self.constants[at] = constants[of];
                self.predictions[at] = constants[of] + slopes[of] * column[i];
            }
        }
    }

    pub fn parameter(&self) -> usize {
        self.parameter
    }

    #[cfg(test)]
    pub fn groups(&self) -> &[Vec<u32>] {
        &self.groups
    }

    pub fn column(&self, term: usize) -> &Column {
        &self.factors[term]
    }

    /// The term that predicts values left out better than a constant fits them, and better than all before it.
    pub fn search(&self, y: &[f64], line: &mut Vec<f64>, least: &mut Vec<f64>, sums: &mut Vec<f64>) -> Option<Choice> {
        if self.factors.is_empty() {
            return None;
        }
        let mean = |group: &Vec<u32>| group.iter().map(|&i| y[i as usize]).sum::<f64>() / group.len() as f64;
        line.clear();
        line.extend(self.groups.iter().map(mean));
        let constant = line.iter().sum::<f64>() / line.len() as f64;
        if line.iter().all(|v| (v - constant).powi(2) == 0.0) {
            return None;
        }
        least.clear();
        least.extend((0..line.len()).map(|i| cleaned_below(line, i)));
        sums.clear();
        sums.resize(self.width, 0.0);
        left_out(self.width, line, least, &self.predictions, &self.constants, sums);
        let mut best = line.iter().map(|v| half_share(*v, constant)).sum::<f64>();
        let mut choice = None;
        for (term, &sum) in sums[..self.factors.len()].iter().enumerate() {
            if sum < best
                && let Some(slope) = self.slope(term, line)
            {
                (best, choice) = (sum, Some((term, slope)));
            }
        }
        let (term, slope) = choice?;
        let middle = (0..line.len()).map(|i| self.terms[i * self.width + term]).sum::<f64>() / line.len() as f64;
        Some(Choice { term, slope, constant: constant - slope * middle })
    }

    /// The coefficient of a term that makes a share of some value.
    fn slope(&self, term: usize, line: &[f64]) -> Option<f64> {
        let slope: f64 = line.iter().enumerate().map(|(i, y)| self.slopes[i * self.width + term] * y).sum();
        let counts = |(i, y): (usize, &f64)| slope * self.terms[i * self.width + term] >= LEAST_SHARE * y.abs();
        let falls = |(i, y): (usize, &f64)| -slope * self.terms[i * self.width + term] >= LEAST_SHARE * y.abs();
        let mut values = line.iter().enumerate();
        (slope != 0.0 && slope.is_finite() && values.any(|v| counts(v) || falls(v))).then_some(slope)
    }
}

/// The constant of a fit without value `i` counts as zero below this.
fn cleaned_below(line: &[f64], i: usize) -> f64 {
    let others = line.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, v)| *v);
    let least = others.fold(f64::INFINITY, f64::min);
    if least == 0.0 { CONSTANT } else { CONSTANT * least.abs() }
}

wide! {
    /// Adds to `sums`, by factor, half of the symmetric relative errors of the values left out.
    fn left_out(width: usize, line: &[f64], least: &[f64], predictions: &[f64], constants: &[f64], sums: &mut [f64]) {
        let n = line.len();
        for (block, sums) in sums.as_chunks_mut::<PAD>().0.iter_mut().enumerate() {
            for i in 0..n {
                let (mut predicted, mut constant) = ([0.0; PAD], [0.0; PAD]);
                for (j, y) in line.iter().enumerate() {
                    let at = ((i * n + j) * width) / PAD + block;
                    let (of_value, of_constant) = (predictions.as_chunks::<PAD>().0[at], constants.as_chunks::<PAD>().0[at]);
                    for k in 0..PAD {
                        predicted[k] += y * of_value[k];
                        constant[k] += y * of_constant[k];
                    }
                }
                for k in 0..PAD {
                    let cleaned = if constant[k].abs() < least[i] { predicted[k] - constant[k] } else { predicted[k] };
                    sums[k] += half_share(line[i], cleaned);
                }
            }
        }
    }
}

/// What the values are multiplied by to give the constant and the coefficient of a least-squares fit of a constant and
/// `column`, perhaps without one value.
fn rows(column: &[f64], without: Option<usize>) -> [Vec<f64>; 2] {
    let kept = |i: usize| if Some(i) == without { 0.0 } else { 1.0 };
    let scale = column.iter().fold(f64::MIN_POSITIVE, |m, v| m.max(v.abs()));
    let mut basis = Orthonormal::default();
    basis.clear(column.len());
    basis.push(&(0..column.len()).map(kept).collect::<Vec<f64>>());
    let of_column: Vec<f64> = column.iter().enumerate().map(|(i, v)| kept(i) * v / scale).collect();
    let is_own = basis.push(&of_column);
    let mut rows = [vec![0.0; column.len()], vec![0.0; column.len()]];
    let inverse = basis.inverse();
    for (k, q) in basis.columns().enumerate() {
        for (row, inverse) in rows.iter_mut().zip(&inverse) {
            row.iter_mut().zip(q).for_each(|(r, q)| *r += inverse[k] * q);
        }
    }
    if is_own {
        rows[1].iter_mut().for_each(|v| *v /= scale);
    }
    rows
}

/// The values of a parameter in order of their first points, and for each the points on the longest lines along it: those
/// that differ from each other in this parameter alone. Where the longest lines have different values, those of the first
/// value decide.
fn groups(points: &[&[f64]], l: usize) -> (Vec<f64>, Vec<Vec<u32>>) {
    let others = |i: usize| -> Vec<u64> {
        points[i].iter().enumerate().filter(|(m, _)| *m != l).map(|(_, x)| x.to_bits()).collect()
    };
    let mut lines: BTreeMap<Vec<u64>, Vec<u32>> = BTreeMap::new();
    (0..points.len()).for_each(|i| lines.entry(others(i)).or_default().push(i as u32));
    let longest = lines.values().map(Vec::len).max().unwrap_or(0);
    let mut values: Vec<f64> = Vec::new();
    let mut groups: Vec<Vec<u32>> = Vec::new();
    let mut chosen: Vec<&Vec<u32>> = lines.values().filter(|line| line.len() == longest).collect();
    chosen.sort();
    for &i in chosen.into_iter().flatten() {
        let value = points[i as usize][l];
        match values.iter().position(|v| *v == value) {
            Some(at) => groups[at].push(i),
            None => {
                values.push(value);
                groups.push(vec![i]);
            }
        }
    }
    let common: Vec<Vec<u64>> = groups.first().into_iter().flatten().map(|&i| others(i as usize)).collect();
    groups.iter_mut().for_each(|group| group.retain(|&i| common.contains(&others(i as usize))));
    let (values, groups) = values.into_iter().zip(groups).filter(|(_, group)| !group.is_empty()).unzip();
    (values, groups)
}
