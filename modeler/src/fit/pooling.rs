//! Which times tell each other their noise: those of one metric at one kind of call paths.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::Fitter;
use crate::build::{Pooled, misfit, prior_residuals, searched_residuals};
use crate::effort::Workspace;
use crate::experiment::{CallPathId, MetricId, Series};
use crate::model::Kind;
use crate::noise_pool::NoisePool;
use crate::options::MethodChoice;

/// Most call paths of a kind whose residuals are pooled.
const MOST_POOLED: usize = 160;

/// The noise of one metric of times at one kind of call paths.
#[derive(Debug, Default)]
pub(super) struct KindNoise {
    pool: NoisePool,
    /// The call paths that were pooled, in rising order.
    callpaths: Vec<CallPathId>,
}

impl Fitter<'_> {
    /// What the call paths of its kind say about the noise of `series`; nothing unless it is a time.
    pub(super) fn pooled(&self, series: &Series) -> Pooled<'_> {
        match self.noise.get().and_then(|noise| noise.get(&self.pool_of(series))) {
            Some(noise) => {
                Pooled { pool: Some(&noise.pool), index: noise.callpaths.binary_search(&series.callpath).ok() }
            }
            None => Pooled::default(),
        }
    }

    /// Which series share a pool: those of one metric, since several, such as times with and without a disturbance,
    /// need not be equally noisy, and of computations or MPI operations.
    fn pool_of(&self, series: &Series) -> (MetricId, bool) {
        (series.metric, self.kind(series) == Kind::Communication)
    }

    fn is_time(&self, series: &Series) -> bool {
        self.is_modelled(series.metric) && self.experiment.metrics[series.metric as usize].name == "time"
    }

    /// The noise of all times.
    pub(super) fn pools(&self) -> BTreeMap<(MetricId, bool), KindNoise> {
        let mut like: BTreeMap<_, Vec<&Series>> = BTreeMap::new();
        for series in self.experiment.series.iter().filter(|s| self.is_time(s)) {
            like.entry(self.pool_of(series)).or_default().push(series);
        }
        like.into_par_iter().map(|(key, series)| (key, self.pool(&series))).collect()
    }

    /// Pools the noise of call paths spread evenly over those of a kind: the same ones whatever share of the call
    /// paths is modelled here.
    fn pool(&self, like: &[&Series]) -> KindNoise {
        let chosen: Vec<&Series> = like.iter().step_by(like.len().div_ceil(MOST_POOLED).max(1)).copied().collect();
        if chosen.len() < 2 {
            return KindNoise::default();
        }
        let residuals =
            chosen.par_iter().map_init(Workspace::default, |w, s| Some((self.residuals(s, w)?, s.callpath)));
        let (logs, callpaths): (Vec<_>, Vec<_>) = residuals.collect::<Vec<_>>().into_iter().flatten().unzip();
        KindNoise { pool: NoisePool::new(&logs), callpaths }
    }

    /// What a fit of the time `series` leaves, for an estimate of its noise.
    fn residuals(&self, series: &Series, workspace: &mut Workspace) -> Option<Vec<f64>> {
        let data = self.data(series);
        if data.medians.len() < self.options.minimum_points || data.medians.iter().all(|y| *y == 0.0) {
            return None;
        }
        let prior = if self.options.method == MethodChoice::Time { None } else { self.prior(series, workspace) };
        match prior {
            // What the effort does not explain is no noise.
            Some((prior, ..)) if misfit(&data, &prior).is_some() => None,
            Some((prior, ..)) => prior_residuals(&data, &prior),
            None if self.options.method == MethodChoice::Effort => None,
            None if data.weight_power() != 1.0 => None,
            None => searched_residuals(&data, self.shapes(&data, workspace)),
        }
    }
}
