//! Random forests (Breiman, Random forests, Machine Learning 45, 2001) for one purpose: which factors matter.

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

use super::tree::{Feature, Paths, Ranks, Training, Tree, TreeLimits};

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
    /// Standard error of that over the rows: by how much it would differ had other rows like these been measured.
    pub error: f64,
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
    /// By how many standard deviations that is more than always naming the most frequent category would give: McNemar's statistic,
    /// Psychometrika 12, 1947.
    pub certainty: f64,
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
            (found.accuracy, found.certainty) = (next.accuracy, next.certainty);
            for factor in kept.iter().map(|feature| feature.factor) {
                found.importance[factor] =
                    Importance { impurity: found.importance[factor].impurity, ..next.importance[factor] };
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
            let paths = Paths::of(&tree);
            Grown { tree, paths, unseen: (0..n).filter(|&row| is_unseen[row]).collect() }
        };
        let grown: Vec<Grown> = (0..trees).into_par_iter().map(grow).collect();
        let ranks = Ranks::of(features, category.len());
        let judge = Judge { forest: *self, grown: &grown, ranks };
        let whole = judge.named_right(&judge.ranks);
        let impurity = mean_importance(&grown, factors);
        let importance =
            (0..factors).map(|factor| Importance { impurity: impurity[factor], ..judge.permutation(factor, &whole) });
        ForestResult {
            importance: importance.collect(),
            accuracy: share(&whole),
            certainty: certainty(&whole, category, categories),
            trees,
        }
    }
}

/// Whether a factor does harm beyond what chance does to the shuffles: more than one row would be named right without it.
fn misleads(importance: &Importance, rows: usize) -> bool {
    importance.permutation < -1.0 / rows as f64 && importance.permutation < -2.0 * importance.deviation
}

/// Share of the judged rows that are named right.
fn share(right: &[Option<bool>]) -> f64 {
    let judged = right.iter().flatten();
    judged.clone().filter(|&&right| right).count() as f64 / judged.count().max(1) as f64
}

/// By how many standard deviations more rows are named right than if the most frequent category were always named: of the rows
/// that one of both names wrong and the other right each would be either's by chance.
fn certainty(right: &[Option<bool>], category: &[usize], categories: usize) -> f64 {
    let rows_of = |c: usize| category.iter().filter(|&&of| of == c).count();
    let usual = (0..categories).rev().max_by_key(|&c| rows_of(c));
    let judged = right
        .iter()
        .zip(category)
        .filter_map(|(right, &c)| Some((*right == Some(true), Some(c) == usual)).filter(|_| right.is_some()));
    let (gained, lost) = judged.fold((0.0, 0.0), |(gained, lost), row| match row {
        (true, false) => (gained + 1.0, lost),
        (false, true) => (gained, lost + 1.0),
        _ => (gained, lost),
    });
    if gained + lost > 0.0 { (gained - lost) / f64::sqrt(gained + lost) } else { 0.0 }
}

struct Grown {
    tree: Tree,
    paths: Paths,
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
    /// As the rows are.
    ranks: Ranks,
}

impl Judge<'_> {
    /// By row: whether those trees name it right by majority that have not seen it, `None` where all have.
    fn named_right(&self, ranks: &Ranks) -> Vec<Option<bool>> {
        let Forest { category, categories, .. } = self.forest;
        let mut votes = vec![0u32; category.len() * categories];
        for Grown { paths, unseen, .. } in self.grown {
            paths.classify(ranks, unseen, |row, named| votes[row * categories + named] += 1);
        }
        let is_right = |(votes, &category): (&[u32], &usize)| {
            let said = (0..votes.len()).rev().max_by_key(|&c| votes[c])?;
            (votes[said] > 0).then_some(said == category)
        };
        votes.chunks(categories).zip(category).map(is_right).collect()
    }

    /// By how much the accuracy falls when `factor` is shuffled; `whole` is what is named right when it is not. Impurity is left out.
    fn permutation(&self, factor: usize, whole: &[Option<bool>]) -> Importance {
        let shuffled = |shuffle: usize| {
            let mut random = stream(self.forest.seed, 2 + factor as u64, shuffle as u64);
            let mut order: Vec<usize> = (0..self.forest.category.len()).collect();
            order.shuffle(&mut random);
            self.named_right(&self.ranks.shuffled(self.forest.features, factor, &order))
        };
        let shuffled: Vec<Vec<Option<bool>>> = (0..SHUFFLES).into_par_iter().map(shuffled).collect();
        let decreases: Vec<f64> = shuffled.iter().map(|right| share(whole) - share(right)).collect();
        let of_row = |row: usize| {
            let is_right = |right: &[Option<bool>]| f64::from(u8::from(right[row] == Some(true)));
            let after = shuffled.iter().map(|right| is_right(right)).sum::<f64>() / SHUFFLES as f64;
            whole[row].map(|_| is_right(whole) - after)
        };
        let of_rows: Vec<f64> = (0..whole.len()).filter_map(of_row).collect();
        let deviation = super::density::deviation;
        Importance {
            impurity: 0.0,
            permutation: decreases.iter().sum::<f64>() / SHUFFLES as f64,
            deviation: deviation(&decreases),
            error: deviation(&of_rows) / (of_rows.len() as f64).sqrt(),
        }
    }
}
