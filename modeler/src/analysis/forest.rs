//! Random forests (Breiman, Random forests, Machine Learning 45, 2001) for one purpose: which factors matter.

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

use super::tree::{Feature, Training, Tree, TreeLimits};

/// How much one factor matters.
///
/// ```
#[doc = include_str!("example.txt")]
/// let threads = found.forest.importance[0];
/// assert_eq!(threads.impurity, 1.0); // there is no other factor
/// assert!(threads.permutation > 0.3); // shuffled threads are right for half of the runs
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Importance {
    /// Mean decrease in impurity, a share of one over all factors; Breiman et al. 1984. Favours factors with many values.
    pub impurity: f64,
    /// By how much the accuracy on rows that a tree has not seen falls when the factor is shuffled over all rows; Breiman
    /// 2001, section 10.
    pub permutation: f64,
    /// Standard deviation of that over the shuffles.
    pub deviation: f64,
}

/// What a forest says of factors.
///
/// ```
#[doc = include_str!("example.txt")]
/// assert_eq!((found.forest.trees, found.forest.accuracy), (20, 1.0));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ForestResult {
    /// One per factor.
    pub importance: Vec<Importance>,
    /// Share of the rows whose category the trees that have not seen them name by majority.
    pub accuracy: f64,
    /// Trees.
    pub trees: usize,
}

/// Shuffles of each factor.
const SHUFFLES: usize = 20;

/// Independent streams of random numbers from one seed.
pub(crate) fn stream(seed: u64, kind: u64, index: u64) -> StdRng {
    // The odd constants of SplitMix64 spread neighbouring indices over all bits.
    let mixed = seed ^ kind.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ index.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    StdRng::seed_from_u64(mixed)
}

/// A forest that is to be grown: the rows, and how.
#[derive(Clone, Copy)]
pub(crate) struct Forest<'a> {
    pub features: &'a [Feature],
    /// The category of each row, below `categories`.
    pub category: &'a [usize],
    pub categories: usize,
    pub trees: usize,
    /// Of the random numbers.
    pub seed: u64,
}

impl Forest<'_> {
    /// [`Forest::result`] where no factor hides the others. A factor that misleads, since asking for it leads to other rows than the
    /// one to be named, makes a forest so bad that shuffling the factor that explains everything can do no more harm. So the forest is
    /// grown again without those that mislead, until none does, and judges the others; those that mislead keep what was found of them,
    /// and impurity importance, of which all factors have their share, is the first forest's.
    pub fn undeceived(&self) -> ForestResult {
        let mut found = self.result();
        let mut kept = self.features.to_vec();
        loop {
            let before = kept.len();
            kept.retain(|feature| !misleads(&found.importance[feature.factor], self.category.len()));
            if kept.is_empty() || kept.len() == before {
                return found;
            }
            let next = Forest { features: &kept, ..*self }.result();
            found.accuracy = next.accuracy;
            for factor in kept.iter().map(|feature| feature.factor) {
                let Importance { permutation, deviation, .. } = next.importance[factor];
                found.importance[factor] = Importance { permutation, deviation, ..found.importance[factor] };
            }
        }
    }

    /// Grows the trees, unpruned, on rows drawn with replacement, looking at the square root of the number of features for
    /// each split, and measures each factor's importance. The result does not depend on the number of threads.
    pub fn result(&self) -> ForestResult {
        let &Self { features, category, categories, trees, seed } = self;
        let factors = features.iter().map(|f| f.factor + 1).max().unwrap_or(0);
        let drawn = ((features.len() as f64).sqrt() as usize).max(1);
        let limits = TreeLimits { depth: 64, leaf: 1 };
        let training = Training { features, category, categories, limits, drawn: Some(drawn) };
        let grow = |index: usize| {
            let mut random = stream(seed, 1, index as u64);
            let n = category.len();
            let rows: Vec<usize> = (0..n).map(|_| random.random_range(0..n)).collect();
            let mut is_unseen = vec![true; n];
            rows.iter().for_each(|&row| is_unseen[row] = false);
            let tree = training.tree(rows, &mut random);
            Grown { tree, unseen: (0..n).filter(|&row| is_unseen[row]).collect() }
        };
        let grown: Vec<Grown> = (0..trees).into_par_iter().map(grow).collect();
        let judge = Judge { forest: *self, grown: &grown };
        let accuracy = judge.accuracy(None);
        let impurity = mean_importance(&grown, factors);
        let importance = (0..factors).map(|factor| {
            let (permutation, deviation) = judge.permutation(factor, accuracy);
            Importance { impurity: impurity[factor], permutation, deviation }
        });
        ForestResult { importance: importance.collect(), accuracy, trees }
    }
}

/// Whether a factor does harm beyond what chance does to the shuffles: more than one row would be named right without it.
fn misleads(importance: &Importance, rows: usize) -> bool {
    importance.permutation < -1.0 / rows as f64 && importance.permutation < -2.0 * importance.deviation
}

struct Grown {
    tree: Tree,
    /// Rows that were not drawn.
    unseen: Vec<usize>,
}

/// The mean over all trees, those without any split left out, as shares of one.
fn mean_importance(grown: &[Grown], factors: usize) -> Vec<f64> {
    let mut sum = vec![0.0; factors];
    for tree in grown {
        tree.tree.importance(factors).into_iter().zip(&mut sum).for_each(|(value, sum)| *sum += value);
    }
    let total: f64 = sum.iter().sum();
    if total > 0.0 { sum.into_iter().map(|s| s / total).collect() } else { sum }
}

struct Judge<'a> {
    forest: Forest<'a>,
    grown: &'a [Grown],
}

impl Judge<'_> {
    /// Share of the rows that those trees name right by majority that have not seen them; with `shuffled`, the values of
    /// one factor are taken from other rows.
    fn accuracy(&self, shuffled: Option<(usize, &[usize])>) -> f64 {
        let Forest { features, category, categories, .. } = self.forest;
        let mut votes = vec![0u32; category.len() * categories];
        for Grown { tree, unseen } in self.grown {
            for &row in unseen {
                let value = |feature: usize| {
                    let feature = &features[feature];
                    let from = shuffled.filter(|&(factor, _)| factor == feature.factor).map_or(row, |(_, to)| to[row]);
                    feature.values[from]
                };
                votes[row * categories + tree.classify(value)] += 1;
            }
        }
        let (mut right, mut judged) = (0usize, 0usize);
        for (votes, &category) in votes.chunks(categories).zip(category) {
            if votes.iter().any(|&v| v > 0) {
                let said = (0..votes.len()).rev().max_by_key(|&c| votes[c]).unwrap_or(0);
                right += usize::from(said == category);
                judged += 1;
            }
        }
        right as f64 / judged.max(1) as f64
    }

    /// Mean and standard deviation of the accuracy's decrease when `factor` is shuffled.
    fn permutation(&self, factor: usize, whole: f64) -> (f64, f64) {
        let decrease = |shuffle: usize| {
            let mut random = stream(self.forest.seed, 2 + factor as u64, shuffle as u64);
            let mut order: Vec<usize> = (0..self.forest.category.len()).collect();
            order.shuffle(&mut random);
            whole - self.accuracy(Some((factor, &order)))
        };
        let decreases: Vec<f64> = (0..SHUFFLES).into_par_iter().map(decrease).collect();
        (decreases.iter().sum::<f64>() / SHUFFLES as f64, super::density::deviation(&decreases))
    }
}
