//! Which times tell each other their noise: those of one metric at one kind of call paths.

use std::collections::{BTreeMap, HashMap};

use rayon::prelude::*;

use super::{Fitter, stray};
use crate::build::{Pooled, misfit, prior_residuals, searched_residuals};
use crate::effort::Workspace;
use crate::experiment::{CallPath, CallPathId, MetricId, Series};
use crate::mixed::mixed;
use crate::model::Kind;
use crate::noise_pool::NoisePool;
use crate::options::MethodChoice;

/// Most call paths of a kind whose residuals are pooled.
const MOST_POOLED: usize = 160;

/// The noise of one metric of times at one kind of call paths.
#[derive(Debug, Default)]
pub(super) struct KindNoise {
    pool: NoisePool,
    /// The call paths that were pooled, and each one's index in the pool.
    pooled: HashMap<CallPathId, usize>,
}

impl Fitter<'_> {
    /// What the call paths of its kind say about the noise of `series`; nothing unless it is a time.
    pub(super) fn pooled(&self, series: &Series) -> Pooled<'_> {
        match self.noise.get().and_then(|noise| noise.get(&self.pool_of(series))) {
            Some(noise) => Pooled { pool: Some(&noise.pool), index: noise.pooled.get(&series.callpath).copied() },
            None => Pooled::default(),
        }
    }

    /// Which series share a pool: those of one metric, since several, such as times with and without a disturbance,
    /// need not be equally noisy, and of computations or MPI operations.
    fn pool_of(&self, series: &Series) -> (MetricId, bool) {
        (series.metric, self.kind(series) == Kind::Communication)
    }

    fn is_pooled_time(&self, series: &Series) -> bool {
        self.is_modelled(series.metric) && self.experiment.metrics[series.metric as usize].name == self.time
    }

    /// The noise of all times.
    pub(super) fn pools(&self) -> BTreeMap<(MetricId, bool), KindNoise> {
        let mut like: BTreeMap<_, Vec<&Series>> = BTreeMap::new();
        for series in self.experiment.series.iter().filter(|s| self.is_pooled_time(s)) {
            like.entry(self.pool_of(series)).or_default().push(series);
        }
        let digests = digests(&self.experiment.callpaths);
        like.into_par_iter().map(|(key, series)| (key, self.pool(series, &digests))).collect()
    }

    /// Pools the noise of call paths of a kind, `like`. Which ones, and in which order, their `digests` say: the same
    /// ones in whatever order the call paths stand, and whatever share of them is modelled here.
    fn pool(&self, mut like: Vec<&Series>, digests: &[u64]) -> KindNoise {
        like.sort_unstable_by_key(|series| digests[series.callpath as usize]);
        let chosen = &like[..like.len().min(MOST_POOLED)];
        if chosen.len() < 2 {
            return KindNoise::default();
        }
        let residuals =
            chosen.par_iter().map_init(Workspace::default, |w, s| Some((self.residuals(s, w)?, s.callpath)));
        let (logs, callpaths): (Vec<_>, Vec<_>) = residuals.collect::<Vec<_>>().into_iter().flatten().unzip();
        KindNoise { pool: NoisePool::new(&logs), pooled: callpaths.into_iter().zip(0..).collect() }
    }

    /// What a fit of the time `series` leaves, for an estimate of its noise.
    fn residuals(&self, series: &Series, workspace: &mut Workspace) -> Option<Vec<f64>> {
        let data = self.data(series);
        if data.medians.len() < self.options.minimum_points || data.medians.iter().all(|y| *y == 0.0) {
            return None;
        }
        let prior = if self.options.method == MethodChoice::Time { None } else { self.prior(series, workspace) };
        match prior {
            // What the effort does not explain is no noise, nor is what a fit leaves out.
            Some((prior, ..)) => {
                let data = self.beyond_one(&data, &prior).unwrap_or(data);
                let data = stray::without_strays_of(self.experiment, &data, &prior).unwrap_or(data);
                misfit(&data, &prior).is_none().then(|| prior_residuals(&data, &prior)).flatten()
            }
            None if self.options.method == MethodChoice::Effort => None,
            None => {
                let data = self.without_first_value(&data, workspace);
                let data = stray::without_stray_repetitions(self.experiment, &data);
                let data = self.without_stray(&data, workspace);
                data.tells_noise().then(|| self.shapes(&data, workspace)).and_then(|s| searched_residuals(&data, s))
            }
        }
    }
}

/// By call path a number that its names alone decide and that is spread evenly over all numbers.
fn digests(callpaths: &[CallPath]) -> Vec<u64> {
    let mut digests: Vec<u64> = Vec::with_capacity(callpaths.len());
    for callpath in callpaths {
        // Callers stand before callees.
        let caller = callpath.parent.map_or(0, |parent| digests[parent as usize]);
        let with_length = mixed(caller ^ callpath.name.len() as u64);
        let word = |bytes: &[u8]| bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        digests.push(callpath.name.as_bytes().chunks(8).fold(with_length, |digest, bytes| mixed(digest ^ word(bytes))));
    }
    digests
}
