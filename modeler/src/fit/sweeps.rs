//! The function behind the waiting of receives in a sweep over a grid of ranks, with what is known of the grid and its
//! messages taken out before anything is searched.
//!
//! A stage of a sweep takes what a rank works and what its message takes. On the logical clock the second is known: the bytes
//! were counted, and the clock says what they cost. So the work is searched for alone, with the rounding of its own loop
//! bounds, and the message's size alone, with that of its own. In their sum the two roundings would blur each
//! other, and neighbouring exponents would explain it as well.

use super::Fitter;
use crate::data::Data;
use crate::depth::{self, Waiting};
use crate::effort::{Found, Workspace};
use crate::experiment::OverRanks;
use crate::hypotheses::Hypotheses;
use crate::priors::{Bytes, Operation};
use crate::sweep::Sweeps;

impl<'a> Fitter<'a> {
    /// The functions of the logical waiting `data` of receives between the ranks of an open grid; `None` where
    /// they are no such receives, or where the work between them has no function.
    pub(super) fn sweep_function(&self, data: &Data<'a>, workspace: &mut Workspace) -> Option<Waiting> {
        let series = &data.series;
        // Of the largest rank another number of stages would be waited for.
        if self.experiment.metrics[series.metric as usize].over_ranks != Some(OverRanks::Mean) {
            return None;
        }
        let operation = Operation::named(&self.experiment.callpaths[series.callpath as usize].name)?;
        if !operation.is_between_two() || operation.bytes != Bytes::Received {
            return None;
        }
        let grid @ (ranks, dimensions) = self.open_grid(series.callpath, operation.bytes)?;
        let (bytes, inside) = self.bytes_of_inside(series.callpath, operation.bytes, grid)?;
        let [most, mean] = [OverRanks::Maximum, OverRanks::Mean].map(|over| {
            let series = self.effort_series(series.callpath, "visits", &[Some(over)]);
            series.map(|series| self.data(series))
        });
        let (most, mean) = (most?, mean?);
        if [&bytes, &most, &mean].iter().any(|other| other.points != data.points) {
            return None;
        }
        // Where every rank calls, those without a neighbour name MPI_PROC_NULL; where not, few ranks call less often.
        let all_call = most.medians == mean.medians;
        let sweeps = data.points.iter().zip(&most.medians).map(|(x, visits)| {
            let share = if all_call { 1.0 } else { depth::share_of_dimensions(x[ranks], dimensions).unwrap_or(1.0) };
            visits / (share * f64::from(dimensions))
        });
        let sweeps: Vec<f64> = sweeps.collect();
        if sweeps.iter().any(|s| *s < 1.0 || s.fract() != 0.0) {
            return None;
        }
        let messages: Vec<f64> =
            inside.iter().zip(&sweeps).map(|(bytes, sweeps)| bytes / (sweeps * f64::from(dimensions))).collect();
        let mut first = |values: &[f64], hypotheses: &Hypotheses| {
            let found = self.function_of_few(values, hypotheses, workspace).into_iter().next();
            found.filter(Found::is_explained)
        };
        // One rank alone gets no message, whatever their size is.
        let several = bytes.restricted(|x| x[ranks] > 1.0);
        let of_several = bytes.points.iter().zip(&messages).filter(|(x, _)| x[ranks] > 1.0);
        let sizes: Vec<f64> = of_several.map(|(_, message)| *message).collect();
        let message = first(&sizes, &self.hypotheses(&several))?;
        let number = first(&sweeps, &self.hypotheses(&most))?;
        let known = Sweeps { ranks, dimensions, number: (&sweeps, &number), message: (&messages, &message) };
        known.functions(&data.points, &data.medians, |points, work| {
            if points.len() == data.points.len() {
                return self.function_of_few(work, &self.hypotheses(data), workspace);
            }
            self.function_of_few(work, &Hypotheses::new(points, &self.options.exponents), workspace)
        })
    }
}
