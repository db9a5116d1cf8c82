//! The hypotheses of Extra-P 4.2 and its way of choosing among them, at the speed of a few inner products per hypothesis.
//!
//! One parameter: a constant, or a constant and one of 42 terms; the smallest symmetric mean absolute percentage error
//! (SMAPE) at points left out one at a time wins, the constant's being that of the fit. Several: each parameter's term
//! is chosen so on the means over the longest lines along it, and of the sums and products of these terms the smallest
//! SMAPE of the fit wins (Calotoiu et al., Fast multi-parameter performance modeling, CLUSTER 2016, for products and sums of
//! the best terms of each parameter; the details were read off what the program does).
//!
//! All fits are least squares of the means over repetitions, so that everything is a matrix that depends on the points
//! alone times the measured values. Series that share their points share the matrices.

mod joint;
mod line;
mod models;

use crate::data::Data;
use crate::experiment::{Experiment, Series};
use crate::fit::{Skipped, few_points, one_value};
use crate::model::{Exponent, Factor, Kind, Model};
use crate::roughness::Lines;
use crate::warning;
use joint::Joint;
use line::Line;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// A term counts only if it makes this share of some value.
const LEAST_SHARE: f64 = 0.0005;

/// The terms as numerator and denominator of the exponent and exponent of the logarithm, in the order in which they compete.
const TERMS: [(i32, i32, i32); 42] = [
    (0, 1, 1),
    (0, 1, 2),
    (1, 4, 0),
    (1, 3, 0),
    (1, 4, 1),
    (1, 3, 1),
    (1, 4, 2),
    (1, 3, 2),
    (1, 2, 0),
    (1, 2, 1),
    (1, 2, 2),
    (2, 3, 0),
    (3, 4, 0),
    (2, 3, 1),
    (3, 4, 1),
    (4, 5, 0),
    (2, 3, 2),
    (3, 4, 2),
    (1, 1, 0),
    (1, 1, 1),
    (1, 1, 2),
    (5, 4, 0),
    (5, 4, 1),
    (4, 3, 0),
    (4, 3, 1),
    (3, 2, 0),
    (3, 2, 1),
    (3, 2, 2),
    (5, 3, 0),
    (7, 4, 0),
    (2, 1, 0),
    (2, 1, 1),
    (2, 1, 2),
    (9, 4, 0),
    (7, 3, 0),
    (5, 2, 0),
    (5, 2, 1),
    (5, 2, 2),
    (8, 3, 0),
    (11, 4, 0),
    (3, 1, 0),
    (3, 1, 1),
];

/// The factors that compete in parameter `l`: without logarithms where a value is below one.
fn factors(l: usize, mut values: impl Iterator<Item = f64>) -> Vec<Factor> {
    let logarithms = values.all(|v| v >= 1.0);
    let of =
        |&(n, d, log_exponent): &(i32, i32, i32)| Factor { parameter: l, exponent: Exponent::new(n, d), log_exponent };
    TERMS.iter().filter(|t| logarithms || t.2 == 0).map(of).collect()
}

/// The matrices of an experiment's layouts, made when first needed.
#[derive(Debug)]
pub(crate) struct Designs {
    by_layout: Vec<OnceLock<Design>>,
}

impl Designs {
    pub fn new(experiment: &Experiment) -> Self {
        Self { by_layout: experiment.layouts.iter().map(|_| OnceLock::new()).collect() }
    }

    /// The model that Extra-P's modeler chooses for a series of at least `least` points.
    pub fn fit(
        &self,
        experiment: &Experiment,
        series: &Series,
        kind: Kind,
        least: usize,
        workspace: &mut Workspace,
    ) -> Result<Model, Skipped> {
        let layout = &experiment.layouts[series.layout as usize];
        let is_plain = |v: &f64| *v > 0.0 && *v <= LARGEST_PLAIN;
        if layout.points.len() < least.max(PLAIN_POINTS) || !experiment.values_of(series).iter().all(is_plain) {
            return special(experiment, series, kind, least);
        }
        let points = || layout.points.iter().map(|&i| experiment.points[i as usize].as_slice());
        let design = self.by_layout[series.layout as usize].get_or_init(|| Design::new(&points().collect::<Vec<_>>()));
        if design.points.iter().flatten().any(|x| !x.is_finite()) {
            return special(experiment, series, kind, least);
        }
        let mut means = std::mem::take(&mut workspace.means);
        means.clear();
        // In ascending order, so that the order of repetitions changes no digit.
        let mean = |values: &[f64]| {
            let mut sorted = SmallVec::<[f64; 16]>::from_slice(values);
            sorted.sort_unstable_by(f64::total_cmp);
            sorted.iter().sum::<f64>() / values.len() as f64
        };
        means.extend(experiment.measurements(series).map(|(_, values)| mean(values)));
        let repetitions = layout.repetitions.iter().copied().min().unwrap_or(0) as usize;
        let warnings = one_value(experiment, design.fixed()).into_iter().collect();
        let model = models::model(design, series.layout, (series, kind), (&means, repetitions), warnings, workspace);
        workspace.means = means;
        Ok(model)
    }
}

/// Values up to this, and above zero, have no warnings: larger counts are no longer exact.
const LARGEST_PLAIN: f64 = 9_007_199_254_740_992.0;
/// As many points have none either.
const PLAIN_POINTS: usize = 5;

/// The model of a series some of whose values are unusable or have warnings.
fn special(experiment: &Experiment, series: &Series, kind: Kind, least: usize) -> Result<Model, Skipped> {
    let mut data = Data::new(experiment, series, &Arc::new(Lines::default()));
    let points = data.points.len();
    if let Some(reason) = data.too_few(least) {
        let (callpath, metric) = (series.callpath, series.metric);
        return Err(Skipped { callpath, metric, reason, code: warning::TOO_FEW_POINTS });
    }
    let design = Design::new(&data.points);
    let mut warnings: Vec<_> = std::mem::take(&mut data.warnings);
    warnings.extend(one_value(experiment, design.fixed()));
    warnings.extend(few_points(points));
    let (means, repetitions) = data.means();
    Ok(models::model(&design, 0, (series, kind), (&means, repetitions), warnings, &mut Workspace::default()))
}

/// Everything that depends on the points alone.
#[derive(Debug)]
struct Design {
    /// Coordinates of the points.
    points: Vec<Vec<f64>>,
    /// Smallest and largest coordinate of each parameter.
    range: Vec<(f64, f64)>,
    /// By parameter.
    lines: Vec<Line>,
}

impl Design {
    /// The matrices of these points.
    fn new(points: &[&[f64]]) -> Self {
        let parameters = points.first().map_or(0, |x| x.len());
        let of = |l: usize| points.iter().map(move |x| x[l]);
        let ends = |l| (of(l).fold(f64::INFINITY, f64::min), of(l).fold(f64::NEG_INFINITY, f64::max));
        Self {
            points: points.iter().map(|x| x.to_vec()).collect(),
            range: (0..parameters).map(ends).collect(),
            lines: (0..parameters).map(|l| Line::new(points, l)).collect(),
        }
    }

    /// Parameters with one value at all points.
    fn fixed(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.range.len()).filter(|&l| self.range[l].0 == self.range[l].1)
    }

    /// The function that Extra-P's modeler chooses for the values `y`, one per point, and its fit. Designs that share
    /// a workspace differ in `id`.
    fn search<'w>(&self, id: u32, y: &[f64], workspace: &'w mut Workspace) -> Chosen<'w> {
        let Workspace { joints, shares, sums, values, fitted, best, kept, coefficients, .. } = workspace;
        kept.clear();
        kept.push((id, 0));
        let mut alone = None;
        for line in &self.lines {
            if let Some(choice) = line.search(y, values, shares, sums) {
                kept.push((line.parameter() as u32, choice.term as u32));
                alone = Some(choice);
            }
        }
        if !joints.contains_key(kept) {
            if joints.len() >= MOST_JOINTS {
                joints.clear();
            }
            let column = |&(l, term): &(u32, u32)| self.lines[l as usize].column(term as usize);
            let columns: Vec<_> = kept[1..].iter().map(column).collect();
            joints.insert(kept.clone(), Joint::new(self.points.len(), &columns, self.lines.len()));
        }
        let joint = &joints[kept];
        let hypothesis = joint.search(y, alone.filter(|_| kept.len() == 2), coefficients, fitted, best);
        Chosen { joint, hypothesis, coefficients, fitted: best }
    }
}

/// So many sets of terms are remembered at most.
const MOST_JOINTS: usize = 4096;

/// What was chosen for some values.
struct Chosen<'w> {
    /// The hypotheses over the terms of all parameters.
    joint: &'w Joint,
    /// Which of them.
    hypothesis: usize,
    /// Of the constant and of each term.
    coefficients: &'w [f64],
    /// The function's values at the points.
    fitted: &'w [f64],
}

/// Matrices and buffers of the searches of one thread.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    /// By design and terms: parameter and index of each.
    joints: HashMap<Vec<(u32, u32)>, Joint>,
    means: Vec<f64>,
    shares: Vec<f64>,
    sums: Vec<f64>,
    values: Vec<f64>,
    fitted: Vec<f64>,
    best: Vec<f64>,
    kept: Vec<(u32, u32)>,
    coefficients: Vec<f64>,
}

/// Half of a term of the symmetric mean absolute percentage error; pairs of zeros are equal.
#[inline(always)]
fn half_share(y: f64, fitted: f64) -> f64 {
    let size = y.abs() + fitted.abs();
    if size == 0.0 { 0.0 } else { (fitted - y).abs() / size }
}

#[cfg(test)]
mod tests;
