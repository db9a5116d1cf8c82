//! One measured run as another tool's profile tells it: a call tree, and at its nodes each metric reduced over ranks.

use std::collections::HashMap;

use crate::experiment::OverRanks;
use crate::formats::error::{Place, ReadWarning};

/// How values of several ranks, threads or nodes of one call path become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fold {
    /// They add up.
    #[default]
    Sum,
    /// The smallest counts, as for the shortest visit.
    Minimum,
    /// The largest counts.
    Maximum,
}

/// A metric of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    /// The experiment's name.
    pub name: String,
    /// The experiment's unit.
    pub unit: &'static str,
    /// How its values combine.
    pub fold: Fold,
    /// How ranks became one, where the format does not tell them apart but has the statistics over them.
    pub over_ranks: Option<OverRanks>,
}

/// One metric at one call path, over the ranks (or threads) that the profile tells apart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Reduced {
    sum: f64,
    minimum: f64,
    maximum: f64,
    /// How many gave a value, and how many of them one that is not zero.
    reached: u32,
    nonzero: u32,
    /// The smallest value that is not zero.
    least_nonzero: f64,
    /// How much the profile tells of it.
    told: Told,
}

/// What a profile tells of the values that ranks have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Told {
    /// Each of them.
    #[default]
    Each,
    /// Their sum, the largest and the smallest, but not how many are zero.
    Extremes,
    /// Their sum alone.
    Sum,
}

impl Reduced {
    /// Of ranks of which nothing but their sum is told.
    pub fn total(sum: f64) -> Self {
        Self { sum, told: Told::Sum, ..Self::default() }
    }

    /// Of `reached` ranks of which mean, smallest and largest value are told.
    pub fn extremes(reached: u32, mean: f64, minimum: f64, maximum: f64) -> Self {
        let sum = f64::from(reached) * mean;
        // Where the smallest is not zero, none is.
        let (nonzero, told) = if minimum > 0.0 { (reached, Told::Each) } else { (0, Told::Extremes) };
        Self { sum, minimum, maximum, reached, nonzero, least_nonzero: minimum, told }
    }

    /// Whether [`Self::over`] can tell this.
    pub fn knows(&self, over: OverRanks, threaded: bool) -> bool {
        match over {
            OverRanks::Sum => true,
            OverRanks::Mean => !threaded || self.told == Told::Each,
            OverRanks::Maximum => self.told != Told::Sum,
            OverRanks::Minimum => self.told == Told::Each || !threaded && self.told == Told::Extremes,
        }
    }

    /// Of one rank alone.
    pub fn one(value: f64) -> Self {
        let mut reduced = Self::default();
        reduced.rank(value);
        reduced
    }

    /// Adds the value of another rank.
    pub fn rank(&mut self, value: f64) {
        let first = self.reached == 0;
        self.minimum = if first { value } else { self.minimum.min(value) };
        self.maximum = if first { value } else { self.maximum.max(value) };
        self.sum += value;
        self.reached += 1;
        if value != 0.0 {
            self.least_nonzero = if self.nonzero == 0 { value } else { self.least_nonzero.min(value) };
            self.nonzero += 1;
        }
    }

    /// The value of all ranks together.
    pub fn whole(&self, fold: Fold) -> f64 {
        match fold {
            Fold::Sum => self.sum,
            Fold::Minimum => self.minimum,
            Fold::Maximum => self.maximum,
        }
    }

    /// The one number for all of `ranks`. Those that gave no value count as zero; with `threaded`, and unless all are,
    /// those with the value zero do not count.
    pub fn over(&self, over: OverRanks, ranks: u32, threaded: bool) -> f64 {
        let threaded = threaded && self.nonzero > 0;
        let count = if threaded { self.nonzero } else { ranks.max(self.reached).max(1) };
        match over {
            OverRanks::Sum => self.sum,
            OverRanks::Mean => self.sum / f64::from(count),
            OverRanks::Maximum if self.reached < ranks => self.maximum.max(0.0),
            OverRanks::Maximum => self.maximum,
            OverRanks::Minimum if threaded => self.least_nonzero,
            OverRanks::Minimum if self.reached < ranks => self.minimum.min(0.0),
            OverRanks::Minimum => self.minimum,
        }
    }
}

/// A node of a profile's call tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// Index of the caller, smaller than this node's.
    pub parent: Option<u32>,
    /// Name for people.
    pub name: String,
}

/// One measured run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Profile {
    /// The call tree, callers before callees; siblings have different names.
    pub nodes: Vec<Node>,
    /// Finds a node by its caller and name.
    index: HashMap<(Option<u32>, String), u32>,
    /// What was measured.
    pub columns: Vec<Column>,
    /// Finds a column by its name.
    named: HashMap<String, Vec<u32>>,
    /// Values over ranks, by node and column.
    pub values: Vec<(u32, u32, Reduced)>,
    /// Ranks (or threads) that the values are of, where the format tells them apart.
    pub ranks: Option<u32>,
    /// How many processes they are of, where the format tells these from threads.
    pub processes: Option<u32>,
    /// Columns whose values the report has rounded, and the relative standard deviation of that.
    pub rounded: Vec<(u32, f64)>,
    /// Parameters that the profile itself names.
    pub parameters: Vec<(String, f64)>,
    /// Other numbers that it tells of its run, which are parameters where they vary over the runs.
    pub settings: Vec<(String, f64)>,
    /// What was noticed.
    pub warnings: Vec<ReadWarning>,
}

impl Profile {
    /// The node `name` below `parent`, added where it is new.
    pub fn node(&mut self, parent: Option<u32>, name: &str) -> u32 {
        if let Some(&known) = self.index.get(&(parent, name.to_owned())) {
            return known;
        }
        let id = self.nodes.len() as u32;
        self.nodes.push(Node { parent, name: name.to_owned() });
        self.index.insert((parent, name.to_owned()), id);
        id
    }

    /// The node with these names from the root; `None` where there is no name.
    pub fn path<S: AsRef<str>>(&mut self, names: impl IntoIterator<Item = S>) -> Option<u32> {
        let mut node = None;
        for name in names {
            node = Some(self.node(node, name.as_ref()));
        }
        node
    }

    /// The index of this metric, added where it is new.
    pub fn column(&mut self, name: &str, unit: &'static str, fold: Fold) -> u32 {
        self.column_over(name, unit, fold, None)
    }

    /// The index of this metric as a statistic over ranks.
    pub fn column_over(&mut self, name: &str, unit: &'static str, fold: Fold, over_ranks: Option<OverRanks>) -> u32 {
        let column = Column { name: name.to_owned(), unit, fold, over_ranks };
        let named = self.named.entry(name.to_owned()).or_default();
        if let Some(&known) = named.iter().find(|&&id| self.columns[id as usize] == column) {
            return known;
        }
        let id = self.columns.len() as u32;
        named.push(id);
        self.columns.push(column);
        id
    }

    /// Adds the value of one metric at one node.
    pub fn add(&mut self, node: u32, column: u32, value: Reduced) {
        self.values.push((node, column, value));
    }

    /// Notes a warning.
    pub fn warn(&mut self, code: &'static str, place: Place, message: impl Into<String>) {
        self.warnings.push(ReadWarning { code, place, message: message.into() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_without_a_value_count_as_zero_and_idle_threads_do_not_count_if_asked() {
        let mut reduced = Reduced::default();
        [3.0, 0.0, 5.0].into_iter().for_each(|v| reduced.rank(v));
        assert_eq!(reduced.over(OverRanks::Mean, 4, false), 2.0);
        assert_eq!(reduced.over(OverRanks::Mean, 4, true), 4.0);
        assert_eq!(reduced.over(OverRanks::Minimum, 3, true), 3.0);
        assert_eq!(reduced.over(OverRanks::Minimum, 3, false), 0.0);
        assert_eq!(reduced.over(OverRanks::Maximum, 4, false), 5.0);
        assert_eq!(reduced.over(OverRanks::Sum, 4, true), 8.0);
        assert_eq!(Reduced::one(7.0).over(OverRanks::Minimum, 2, false), 0.0);
    }

    #[test]
    fn what_is_not_told_of_ranks_is_not_known() {
        use OverRanks::{Maximum, Mean, Minimum, Sum};
        let known = |of: Reduced, threaded| [Mean, Maximum, Minimum, Sum].map(|over| of.knows(over, threaded));
        let total = Reduced::total(12.0);
        assert_eq!(
            (known(total, false), known(total, true)),
            ([true, false, false, true], [false, false, false, true])
        );
        assert_eq!((total.over(Mean, 4, false), total.over(Sum, 4, false), total.whole(Fold::Sum)), (3.0, 12.0, 12.0));
        let extremes = Reduced::extremes(3, 4.0, 1.0, 9.0);
        assert_eq!((known(extremes, false), known(extremes, true)), ([true; 4], [true; 4]));
        let of = |threaded| [Mean, Maximum, Minimum, Sum].map(|over| extremes.over(over, 6, threaded));
        assert_eq!((of(false), of(true)), ([2.0, 9.0, 0.0, 12.0], [4.0, 9.0, 1.0, 12.0]));
        let some_are_zero = Reduced::extremes(3, 4.0, 0.0, 9.0);
        assert_eq!(known(some_are_zero, true), [false, true, false, true]);
    }
}
