//! Classification trees: CART with Gini's impurity (Breiman, Friedman, Olshen, Stone, Classification and regression
//! trees, 1984), and their random variant for forests.
//!
//! Of the trees in crates, linfa-trees breaks ties in the order of a hash map, so that equal inputs give different
//! trees, and smartcore's cannot be looked into.

use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::table::{Column, Values};

/// What a split asks of a row.
///
/// ```
#[doc = include_str!("example.txt")]
/// use modeler::analysis::Question;
/// let split = found.tree.tree.nodes[0].split.as_ref().expect("threads part the runs");
/// assert_eq!(split.question, Question::AtMost(4.5)); // halfway between 1 and 8
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// Whether the number is at most this.
    AtMost(f64),
    /// Whether the text is this one.
    Is(String),
}

/// One column of numbers that splits are searched in: a number as it is, or 1 where a text is a certain one.
#[derive(Clone, Debug)]
pub(crate) struct Feature {
    /// Index of the factor that it was made from.
    pub factor: usize,
    /// The text that it stands for.
    pub text: Option<String>,
    /// One number per row.
    pub values: Vec<f64>,
    /// The different ones, ascending.
    distinct: Vec<f64>,
    /// Of each row's number, where it stands there.
    ranks: Vec<u32>,
}

impl Feature {
    fn new(factor: usize, text: Option<String>, values: Vec<f64>) -> Self {
        let mut distinct = values.clone();
        distinct.sort_by(f64::total_cmp);
        // Both zeros are one number.
        distinct.dedup_by(|next, value| *next <= *value);
        let rank = |value: &f64| distinct.partition_point(|other| other < value) as u32;
        let ranks = values.iter().map(rank).collect();
        Self { factor, text, values, distinct, ranks }
    }
}

/// The features of `factors`: one per number, one per different text of a text.
pub(crate) fn features(factors: &[Column]) -> Vec<Feature> {
    let of = |(factor, column): (usize, &Column)| match &column.values {
        Values::Numbers(values) => vec![Feature::new(factor, None, values.clone())],
        Values::Texts(texts) => column
            .levels()
            .into_iter()
            .map(|level| {
                let values = texts.iter().map(|t| f64::from(u8::from(*t == level))).collect();
                Feature::new(factor, Some(level), values)
            })
            .collect(),
    };
    factors.iter().enumerate().flat_map(of).collect()
}

/// What a tree may be.
///
/// ```
#[doc = include_str!("example.txt")]
/// let leaf_alone = Plan { limits: TreeLimits { depth: 0, leaf: 1 }, ..plan };
/// assert_eq!(analyze(&table, &leaf_alone).expect("as before").tree.tree.nodes.len(), 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeLimits {
    /// Questions on the way to a leaf, at most.
    pub depth: usize,
    /// Rows of a leaf, at least.
    pub leaf: usize,
}

/// A node of a tree.
///
/// ```
#[doc = include_str!("example.txt")]
/// let root = &found.tree.tree.nodes[0];
/// assert_eq!((root.counts.as_slice(), root.impurity), ([15, 15].as_slice(), 0.5)); // 10 of 40 are kept for the test
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Rows of each category that reached it in training.
    pub counts: Vec<usize>,
    /// Gini's impurity of these.
    pub impurity: f64,
    /// Where rows go from here, or `None` at a leaf.
    pub split: Option<Split>,
}

/// A question and where its answers lead.
///
/// ```
#[doc = include_str!("example.txt")]
/// let nodes = &found.tree.tree.nodes;
/// let split = nodes[0].split.as_ref().expect("threads part the runs");
/// assert_eq!((split.factor, nodes[split.yes].counts[0]), (0, 0)); // with one thread no run is fast
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// Index of the factor that is asked for.
    pub factor: usize,
    /// What is asked.
    pub question: Question,
    /// Index of the node for yes.
    pub yes: usize,
    /// Index of the node for no.
    pub no: usize,
    feature: usize,
    threshold: f64,
    /// How many of the feature's different numbers are up to the threshold, of all rows, also of those that did not reach the node.
    up_to: u32,
    /// Whether yes means above the threshold, as for texts.
    yes_above: bool,
}

impl Node {
    /// Rows that reached it in training.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(found.tree.tree.nodes[0].rows(), 30); // 10 of 40 are kept for the test
    /// ```
    #[must_use]
    pub fn rows(&self) -> usize {
        self.counts.iter().sum()
    }

    /// The most frequent category, the first of equals.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let nodes = &found.tree.tree.nodes;
    /// let split = nodes[0].split.as_ref().expect("threads part the runs");
    /// assert_eq!([nodes[split.yes].category(), nodes[split.no].category()], [1, 0]); // one thread is slow
    /// ```
    #[must_use]
    pub fn category(&self) -> usize {
        (0..self.counts.len()).rev().max_by_key(|&c| self.counts[c]).unwrap_or(0)
    }
}

/// A classification tree; node 0 is the root.
///
/// ```
#[doc = include_str!("example.txt")]
/// let root = &found.tree.tree.nodes[0];
/// assert!(root.split.is_some() && root.counts.len() == 2);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// Nodes in preorder, the branch for yes first.
    pub nodes: Vec<Node>,
}

/// What a tree learns from.
pub(crate) struct Training<'a> {
    pub features: &'a [Feature],
    /// The category of each row.
    pub category: &'a [usize],
    /// How many categories there are.
    pub categories: usize,
    pub limits: TreeLimits,
    /// Features that are looked at for each split: all, or so many that vary, drawn at random.
    pub drawn: Option<usize>,
}

/// The best split of a node so far.
struct Best {
    feature: usize,
    threshold: f64,
    /// Rows times impurity of both sides.
    impurity: f64,
}

/// Gini's impurity, 1 - Σ share².
fn gini(counts: &[usize], rows: usize) -> f64 {
    1.0 - counts.iter().map(|&c| (c as f64 / rows as f64).powi(2)).sum::<f64>()
}

impl Training<'_> {
    /// The tree of `rows`, of which some may be there several times. `random` draws features where that is asked.
    pub fn tree(&self, rows: Vec<usize>, random: &mut StdRng) -> Tree {
        let mut tree = Tree { nodes: Vec::new() };
        self.grow(&mut tree, rows, 0, random);
        tree
    }

    fn grow(&self, tree: &mut Tree, rows: Vec<usize>, depth: usize, random: &mut StdRng) -> usize {
        let mut counts = vec![0; self.categories];
        rows.iter().for_each(|&row| counts[self.category[row]] += 1);
        let impurity = gini(&counts, rows.len());
        let index = tree.nodes.len();
        tree.nodes.push(Node { counts, impurity, split: None });
        if depth >= self.limits.depth || impurity <= 0.0 || rows.len() < 2 * self.limits.leaf {
            return index;
        }
        let Some(best) = self.best(&rows, &tree.nodes[index].counts, random) else { return index };
        let feature = &self.features[best.feature];
        let (below, above): (Vec<usize>, Vec<usize>) =
            rows.into_iter().partition(|&row| feature.values[row] <= best.threshold);
        let yes_above = feature.text.is_some();
        let (first, second) = if yes_above { (above, below) } else { (below, above) };
        let yes = self.grow(tree, first, depth + 1, random);
        let no = self.grow(tree, second, depth + 1, random);
        let question = feature.text.clone().map_or(Question::AtMost(best.threshold), Question::Is);
        let (factor, threshold) = (feature.factor, best.threshold);
        let up_to = feature.distinct.partition_point(|value| *value <= threshold) as u32;
        tree.nodes[index].split =
            Some(Split { factor, question, yes, no, feature: best.feature, threshold, up_to, yes_above });
        index
    }

    /// The split that leaves least impurity; of equals the first feature's lowest threshold.
    fn best(&self, rows: &[usize], counts: &[usize], random: &mut StdRng) -> Option<Best> {
        let mut order: Vec<usize> = (0..self.features.len()).collect();
        if self.drawn.is_some() {
            order.shuffle(random);
        }
        let (mut best, mut looked_at) = (None, 0);
        for feature in order {
            looked_at += usize::from(self.improve(&mut best, feature, rows, counts));
            if self.drawn.is_some_and(|drawn| looked_at >= drawn) {
                break;
            }
        }
        // The sum over both sides never exceeds the node's; what does not lower it separates nothing.
        let whole = rows.len() as f64 * gini(counts, rows.len());
        best.filter(|b: &Best| b.impurity < whole - 1e-12 * rows.len() as f64)
    }

    /// Looks for a better split in one feature; whether it varies at all over `rows`.
    fn improve(&self, best: &mut Option<Best>, feature: usize, rows: &[usize], counts: &[usize]) -> bool {
        let Feature { ranks, distinct, .. } = &self.features[feature];
        let n = rows.len();
        let (mut below, mut above) = (vec![0usize; counts.len()], counts.to_vec());
        // How many rows are below, and the last one's rank.
        let (mut i, mut last) = (0, None);
        let mut take = |rank: u32, category: usize, count: usize| {
            if let Some(last) =
                last.replace(rank).filter(|&last| last < rank && i >= self.limits.leaf && n - i >= self.limits.leaf)
            {
                let impurity = i as f64 * gini(&below, i) + (n - i) as f64 * gini(&above, n - i);
                // Sums in another order differ in their last digits; that must not decide.
                if best.as_ref().is_none_or(|b| impurity < b.impurity - 1e-12 * n as f64) {
                    let (low, high) = (distinct[last as usize], distinct[rank as usize]);
                    let middle = low.midpoint(high);
                    // Between neighbours in double precision there is no middle.
                    let threshold = if middle < high { middle } else { low };
                    *best = Some(Best { feature, threshold, impurity });
                }
            }
            below[category] += count;
            above[category] -= count;
            i += count;
        };
        // Where there are few numbers, rows are counted by number and category, else sorted by them.
        let place = |row: usize| ranks[row] as usize * counts.len() + self.category[row];
        let (first, end) = if distinct.len() * counts.len() <= 2 * n {
            let mut tally = vec![0; distinct.len() * counts.len()];
            rows.iter().for_each(|&row| tally[place(row)] += 1);
            let present = || (0..tally.len()).filter(|&place| tally[place] > 0);
            present().for_each(|place| take((place / counts.len()) as u32, place % counts.len(), tally[place]));
            (present().next(), present().next_back())
        } else {
            let mut places: Vec<usize> = rows.iter().map(|&row| place(row)).collect();
            places.sort_unstable();
            places.iter().for_each(|&place| take((place / counts.len()) as u32, place % counts.len(), 1));
            (places.first().copied(), places.last().copied())
        };
        first.map(|place| place / counts.len()) < end.map(|place| place / counts.len())
    }
}

/// The features' numbers of all rows by their ranks, those of a row one after the other in memory.
#[derive(Clone)]
pub(crate) struct Ranks {
    of_rows: Vec<u32>,
    features: usize,
}

impl Ranks {
    pub fn of(features: &[Feature], rows: usize) -> Self {
        let of_rows = (0..rows).flat_map(|row| features.iter().map(move |feature| feature.ranks[row]));
        Self { of_rows: of_rows.collect(), features: features.len() }
    }

    /// The same where each row has one factor's numbers of another row.
    pub fn shuffled(&self, features: &[Feature], factor: usize, from: &[usize]) -> Self {
        let mut shuffled = self.clone();
        for (index, feature) in features.iter().enumerate().filter(|(_, feature)| feature.factor == factor) {
            for (row, &from) in shuffled.of_rows.chunks_exact_mut(self.features).zip(from) {
                row[index] = feature.ranks[from];
            }
        }
        shuffled
    }
}

/// A tree as rows go through it: what each node asks for and where answers lead, one after the other in memory.
pub(crate) struct Paths {
    steps: Vec<Step>,
    /// Of each node.
    category: Vec<usize>,
}

/// A leaf leads to itself.
struct Step {
    feature: u32,
    /// Ranks below this lead to the first of the next.
    threshold: u32,
    next: [u32; 2],
}

/// Rows that go through a tree side by side, so that the processor need not wait for one's next node before it looks for another's.
const ABREAST: usize = 8;

impl Paths {
    pub fn of(tree: &Tree) -> Self {
        let step = |(index, node): (usize, &Node)| match &node.split {
            Some(split) => {
                let next = if split.yes_above { [split.no, split.yes] } else { [split.yes, split.no] };
                Step { feature: split.feature as u32, threshold: split.up_to, next: next.map(|node| node as u32) }
            }
            None => Step { feature: 0, threshold: 0, next: [index as u32; 2] },
        };
        let steps = tree.nodes.iter().enumerate().map(step).collect();
        Self { steps, category: tree.nodes.iter().map(Node::category).collect() }
    }

    /// Tells the category that the tree names of each of `rows`.
    pub fn classify(&self, ranks: &Ranks, rows: &[usize], mut tell: impl FnMut(usize, usize)) {
        for rows in rows.chunks(ABREAST) {
            let mut at = [0; ABREAST];
            loop {
                let mut has_moved = false;
                for (at, &row) in at.iter_mut().zip(rows) {
                    let step = &self.steps[*at as usize];
                    let rank = ranks.of_rows[row * ranks.features + step.feature as usize];
                    let next = step.next[usize::from(rank >= step.threshold)];
                    has_moved |= next != *at;
                    *at = next;
                }
                if !has_moved {
                    break;
                }
            }
            rows.iter().zip(at).for_each(|(&row, at)| tell(row, self.category[at as usize]));
        }
    }
}

impl Tree {
    /// The leaf that a row reaches whose features are `value(feature)`.
    pub(crate) fn leaf(&self, value: impl Fn(usize) -> f64) -> usize {
        let mut at = 0;
        while let Some(split) = &self.nodes[at].split {
            let above = value(split.feature) > split.threshold;
            at = if above == split.yes_above { split.yes } else { split.no };
        }
        at
    }

    /// The split of a node, unless it decides nothing: all leaves below name one category.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let split = found.tree.tree.deciding(0).expect("threads part the runs");
    /// assert_eq!(split.factor, 0);
    /// ```
    #[must_use]
    pub fn deciding(&self, node: usize) -> Option<&Split> {
        let split = self.nodes[node].split.as_ref()?;
        // If they name one, it is the most frequent here, too.
        let category = self.nodes[node].category();
        let (mut left, mut is_deciding) = (vec![split.yes, split.no], false);
        while let Some(below) = left.pop() {
            match &self.nodes[below].split {
                Some(split) => left.extend([split.yes, split.no]),
                None => is_deciding |= self.nodes[below].category() != category,
            }
        }
        is_deciding.then_some(split)
    }

    /// The category of a row whose features are `value(feature)`.
    pub(crate) fn classify(&self, value: impl Fn(usize) -> f64) -> usize {
        self.nodes[self.leaf(value)].category()
    }

    /// Mean decrease in impurity per factor, as shares of one: what the splits on it take off the impurity, weighted with
    /// their rows. All zero where there is no split.
    pub(crate) fn importance(&self, factors: usize) -> Vec<f64> {
        let weighted = |node: &Node| node.rows() as f64 * node.impurity;
        let mut decrease = vec![0.0; factors];
        for node in &self.nodes {
            if let Some(split) = &node.split {
                let left = weighted(&self.nodes[split.yes]) + weighted(&self.nodes[split.no]);
                decrease[split.factor] += weighted(node) - left;
            }
        }
        let sum: f64 = decrease.iter().sum();
        if sum > 0.0 { decrease.into_iter().map(|d| d / sum).collect() } else { decrease }
    }

    /// The node above each node and whether its answer was yes; `None` at the root.
    pub(crate) fn parents(&self) -> Vec<Option<(usize, bool)>> {
        let mut parents = vec![None; self.nodes.len()];
        for (i, split) in self.nodes.iter().enumerate().filter_map(|(i, n)| Some((i, n.split.as_ref()?))) {
            parents[split.yes] = Some((i, true));
            parents[split.no] = Some((i, false));
        }
        parents
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng as _;

    use super::*;

    /// The preorder of a tree that looks at every threshold of every feature and counts anew for each: features, thresholds and rows.
    fn plainly(training: &Training<'_>, rows: &[usize], depth: usize, told: &mut Vec<(Option<(usize, u64)>, usize)>) {
        let Training { features, category, categories, limits, .. } = *training;
        let impurity = |rows: &[usize]| {
            let mut counts = vec![0; categories];
            rows.iter().for_each(|&row| counts[category[row]] += 1);
            gini(&counts, rows.len())
        };
        let (n, whole) = (rows.len(), impurity(rows));
        let mut best: Option<(usize, f64, f64)> = None;
        if depth < limits.depth && whole > 0.0 && n >= 2 * limits.leaf {
            for (index, feature) in features.iter().enumerate() {
                let mut values: Vec<f64> = rows.iter().map(|&row| feature.values[row]).collect();
                values.sort_by(f64::total_cmp);
                for pair in values.windows(2).filter(|pair| pair[0] < pair[1]) {
                    let (below, above): (Vec<usize>, Vec<usize>) =
                        rows.iter().partition(|&&row| feature.values[row] <= pair[0]);
                    if below.len() < limits.leaf || above.len() < limits.leaf {
                        continue;
                    }
                    let left = below.len() as f64 * impurity(&below) + above.len() as f64 * impurity(&above);
                    if best.is_none_or(|(.., least)| left < least - 1e-12 * n as f64) {
                        let middle = 0.5 * (pair[0] + pair[1]);
                        best = Some((index, if middle < pair[1] { middle } else { pair[0] }, left));
                    }
                }
            }
        }
        let best = best.filter(|(.., left)| *left < n as f64 * whole - 1e-12 * n as f64);
        told.push((best.map(|(index, threshold, _)| (index, (threshold + 0.0).to_bits())), n));
        if let Some((index, threshold, _)) = best {
            let (below, above): (Vec<usize>, Vec<usize>) =
                rows.iter().partition(|&&row| features[index].values[row] <= threshold);
            plainly(training, &below, depth + 1, told);
            plainly(training, &above, depth + 1, told);
        }
    }

    /// Numbers of which many are the same, as both zeros, and others next to each other.
    fn number() -> impl Strategy<Value = f64> {
        prop_oneof![(-3..4).prop_map(|whole| f64::from(whole) * 0.5), Just(-0.0), Just(1.0_f64.next_up()), -1e3..1e3,]
    }

    proptest! {
        /// Few numbers are counted and many are sorted; both are as if each threshold had been looked at by itself, and rows take the same ways.
        #[test]
        fn trees_are_those_of_a_plain_search(
            columns in prop::collection::vec(prop::collection::vec(number(), 60), 1..4),
            category in prop::collection::vec(0..3_usize, 60),
            leaf in 1..4_usize,
            rows in prop::collection::vec(0..60_usize, 1..90),
        ) {
            let features: Vec<Feature> =
                columns.into_iter().enumerate().map(|(factor, values)| Feature::new(factor, None, values)).collect();
            let limits = TreeLimits { depth: 6, leaf };
            let training = Training { features: &features, category: &category, categories: 3, limits, drawn: None };
            let tree = training.tree(rows.clone(), &mut StdRng::seed_from_u64(1));
            let mut expected = Vec::new();
            plainly(&training, &rows, 0, &mut expected);
            let split = |node: &Node| node.split.as_ref().map(|split| (split.feature, (split.threshold + 0.0).to_bits()));
            let found: Vec<_> = tree.nodes.iter().map(|node| (split(node), node.rows())).collect();
            prop_assert_eq!(found, expected);
            let (paths, ranks, all) = (Paths::of(&tree), Ranks::of(&features, 60), (0..60).collect::<Vec<_>>());
            paths.classify(&ranks, &all, |row, named| assert_eq!(named, tree.classify(|feature| features[feature].values[row])));
        }
    }

    #[test]
    fn huge_numbers_are_parted_between_them() {
        let features = [Feature::new(0, None, vec![-1.7e308, -1.5e308, -1.7e308, -1.5e308])];
        let limits = TreeLimits { depth: 3, leaf: 1 };
        let training = Training { features: &features, category: &[0, 1, 0, 1], categories: 2, limits, drawn: None };
        let tree = training.tree((0..4).collect(), &mut StdRng::seed_from_u64(1));
        assert_eq!(tree.nodes[0].split.as_ref().unwrap().question, Question::AtMost(-1.6e308));
        assert_eq!(tree.nodes.iter().map(Node::rows).collect::<Vec<_>>(), [4, 2, 2]);
    }
}
