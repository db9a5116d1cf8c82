//! Shares the call paths of an experiment out over processes, whose results join to what one process gives.

use rayon::prelude::*;

use crate::experiment::{CallPathId, Experiment};
use crate::fit::{Fits, Fitter};
use crate::options::Options;

/// One of several shares of an experiment's call paths.
///
/// ```
/// use modeler::{Fits, Options, Share, fit_share};
/// let text = "PARAMETER p\nPOINTS 2 4 8 16\nREGION a\nMETRIC visits\nDATA 2\nDATA 4\nDATA 8\nDATA 16\n\
///             REGION b\nMETRIC visits\nDATA 1\nDATA 1\nDATA 1\nDATA 1\n";
/// let experiment = modeler::formats::read_bytes("both.txt", text.into(), &Default::default())?.experiment;
/// let callpaths = [0, 1].map(|index| {
///     let fits = fit_share(&experiment, &Options::default(), Share { index, of: 2 });
///     fits.models.iter().map(|model| model.callpath).collect::<Vec<_>>()
/// });
/// assert_eq!(callpaths, [[0], [1]]);
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Which, from 0.
    pub index: usize,
    /// How many there are.
    pub of: usize,
}

impl Share {
    /// Whether the call path is in this share. All metrics of a call path are, since effort gives the shape of time;
    /// neighbours in the call tree, which tend to cost alike, are spread evenly.
    pub(crate) fn holds(self, callpath: CallPathId) -> bool {
        callpath as usize % self.of.max(1) == self.index
    }
}

/// Fits the series of one share of the call paths, as [`crate::fit()`] fits all. The shares' results, joined by
/// [`Fits::join`], are what `fit` gives.
///
/// ```
/// use modeler::experiment::{ExperimentBuilder, Metric};
/// use modeler::{Fits, Options, Share, fit, fit_share};
///
/// let mut builder = ExperimentBuilder::new(["p"]);
/// let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
/// for name in ["a", "b", "c"] {
///     let callpath = builder.callpath([name]);
///     for p in [2.0, 4.0, 8.0, 16.0, 32.0] {
///         let point = builder.point(&[p]);
///         builder.add(callpath, time, point, 1.0 + p);
///     }
/// }
/// let (experiment, options) = (builder.finish(), Options::default());
/// let shares = (0..2).map(|index| fit_share(&experiment, &options, Share { index, of: 2 }));
/// assert_eq!(Fits::join(shares), fit(&experiment, &options));
/// ```
#[must_use]
pub fn fit_share(experiment: &Experiment, options: &Options, share: Share) -> Fits {
    Fitter::new(experiment, options).run(share, &(0..CallPathId::MAX))
}

/// Fits the series of `callpaths` alone, to the models that [`crate::fit()`] gives them among all others: the noise of the
/// experiment is learned from the same ones.
///
/// ```
/// use modeler::experiment::{ExperimentBuilder, Metric};
/// use modeler::{Options, fit, fit_callpaths};
///
/// let mut builder = ExperimentBuilder::new(["p"]);
/// let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
/// let callpaths = ["a", "b", "c"].map(|name| builder.callpath([name]));
/// for callpath in callpaths {
///     for p in [2.0, 4.0, 8.0, 16.0, 32.0] {
///         let point = builder.point(&[p]);
///         builder.add(callpath, time, point, f64::from(callpath) + p);
///     }
/// }
/// let (experiment, options) = (builder.finish(), Options::default());
/// let all = fit(&experiment, &options);
/// assert_eq!(fit_callpaths(&experiment, &options, &callpaths[1..]).models, all.models[1..]);
/// ```
#[must_use]
pub fn fit_callpaths(experiment: &Experiment, options: &Options, callpaths: &[CallPathId]) -> Fits {
    let mut sorted = callpaths.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let fitter = Fitter::new(experiment, options);
    let all = Share { index: 0, of: 1 };
    // What all share is learned before threads need it: one that waited for it could take up work that needs it, too.
    let nothing = fitter.run(all, &(0..0));
    let parts =
        sorted.par_chunk_by(|a, b| a + 1 == *b).map(|part| fitter.run(all, &(part[0]..part[part.len() - 1] + 1)));
    Fits::join(parts.collect::<Vec<Fits>>().into_iter().chain([nothing]))
}

/// Fits the series of one share of the call paths part by part, so that not all models have to be in memory at once. Each
/// part is what the share has of the next `callpaths` call paths of the experiment; all parts, joined by [`Fits::join`],
/// are what [`fit_share`] gives.
///
/// ```
/// use modeler::experiment::{ExperimentBuilder, Metric};
/// use modeler::{Fits, Options, Share, fit, fit_in_parts};
///
/// let mut builder = ExperimentBuilder::new(["p"]);
/// let visits = builder.metric(Metric { name: "visits".into(), unit: String::new(), over_ranks: None });
/// for name in ["a", "b", "c"] {
///     let callpath = builder.callpath([name]);
///     for p in [2.0, 4.0, 8.0, 16.0, 32.0] {
///         let point = builder.point(&[p]);
///         builder.add(callpath, visits, point, 1.0 + p);
///     }
/// }
/// let (experiment, options) = (builder.finish(), Options::default());
/// let parts: Vec<Fits> = fit_in_parts(&experiment, &options, Share { index: 0, of: 1 }, 2).collect();
/// assert_eq!(parts.iter().map(|p| p.models.len()).collect::<Vec<_>>(), [2, 1]);
/// assert_eq!(Fits::join(parts), fit(&experiment, &options));
/// ```
///
/// # Panics
/// If `callpaths` is 0, which is a defect of the caller.
pub fn fit_in_parts<'a>(
    experiment: &'a Experiment,
    options: &'a Options,
    share: Share,
    callpaths: u32,
) -> impl Iterator<Item = Fits> + 'a {
    assert!(callpaths > 0, "parts hold something");
    let mut fitter = Fitter::new(experiment, options);
    let all = experiment.callpaths.len() as CallPathId;
    (0..all).step_by(callpaths as usize).map(move |start| {
        let part = start..start.saturating_add(callpaths).min(all);
        let fits = fitter.run(share, &part);
        fitter.forget(&part);
        fits
    })
}

impl Fits {
    /// One result of several, in the order of the experiment's series whatever the order of `parts`.
    ///
    /// ```
    /// use modeler::{Fits, Skipped, warning::TOO_FEW_POINTS};
    /// let skipped = |callpath| Skipped { callpath, metric: 0, reason: "two points".into(), code: TOO_FEW_POINTS };
    /// let part = |callpaths: &[u32]| Fits { models: vec![], skipped: callpaths.iter().copied().map(skipped).collect() };
    /// assert_eq!(Fits::join([part(&[1, 3]), part(&[0, 2])]), part(&[0, 1, 2, 3]));
    /// ```
    #[must_use]
    pub fn join(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Self::default();
        for part in parts {
            all.models.extend(part.models);
            all.skipped.extend(part.skipped);
        }
        all.models.sort_by_key(|m| (m.callpath, m.metric));
        all.skipped.sort_by_key(|s| (s.callpath, s.metric));
        all
    }

    /// Parts of at most `size` models each and as many series without one, which [`Fits::join`] puts together again.
    ///
    /// ```
    /// use modeler::{Fits, Skipped, warning::TOO_FEW_POINTS};
    /// let skipped = |callpath| Skipped { callpath, metric: 0, reason: "two points".into(), code: TOO_FEW_POINTS };
    /// let whole = Fits { models: vec![], skipped: (0..7).map(skipped).collect() };
    /// let sizes: Vec<usize> = whole.split(3).map(|part| part.skipped.len()).collect();
    /// assert_eq!(sizes, [3, 3, 1]);
    /// ```
    ///
    /// # Panics
    /// If `size` is 0, which is a defect of the caller.
    pub fn split(mut self, size: usize) -> impl Iterator<Item = Self> {
        assert!(size > 0, "parts hold something");
        std::iter::from_fn(move || {
            let cut = |length: usize| length.saturating_sub(size);
            let models = self.models.split_off(cut(self.models.len()));
            let skipped = self.skipped.split_off(cut(self.skipped.len()));
            Some(Self { models, skipped }).filter(|part| !part.is_empty())
        })
    }

    /// Whether there is neither a model nor a series without one.
    ///
    /// ```
    /// assert!(modeler::Fits::default().is_empty());
    /// let builder = modeler::ExperimentBuilder::new(["p"]);
    /// assert!(modeler::fit(&builder.finish(), &modeler::Options::default()).is_empty()); // nothing was measured
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.models.is_empty() && self.skipped.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::Skipped;

    #[test]
    fn parts_are_small_and_join_to_the_whole() {
        let skipped =
            |callpath| Skipped { callpath, metric: 0, reason: "few".into(), code: crate::warning::TOO_FEW_POINTS };
        let whole = Fits { models: Vec::new(), skipped: (0..7).map(skipped).collect() };
        let parts: Vec<Fits> = whole.clone().split(3).collect();
        assert_eq!(parts.iter().map(|p| p.skipped.len()).collect::<Vec<_>>(), [3, 3, 1]);
        assert_eq!(Fits::join(parts), whole);
    }
}
