//! Which factors explain a metric: rows are chosen, the metric becomes categories, a tree learns them from the factors,
//! and a forest says how much each factor matters. After Horro et al., MARTA, section II.B.
//!
//! [`read()`] makes a [`Table`] of a study's runs, an experiment or comma-separated values; [`analyze`] does the rest.

mod categories;
mod density;
mod filter;
mod findings;
mod forest;
mod output;
mod page;
mod plots;
mod ranks;
mod read;
mod table;
mod tree;

pub use categories::{Categories, Rule, Scale};
pub use density::{Bandwidth, Density};
pub use filter::{Filter, FilterError};
pub use findings::{IMPORTANCES, findings};
use forest::Forest;
pub use forest::{ForestResult, Importance};
pub use output::{analysis_csv, analysis_json};
pub use page::{Picture, page, pictures};
pub use plots::{PlotRequest, lines, question};
pub use read::{LeftOut, Selection, TableInput, read};
pub use table::{Column, Table, Values};
pub use tree::{Node, Question, Split, Tree, TreeLimits};

use std::collections::BTreeMap;

use rand::seq::SliceRandom;
use tree::{Feature, Training, features};

use crate::words::counted;

/// What to analyse and how.
///
/// ```
#[doc = include_str!("example.txt")]
/// assert_eq!(found.categories.labels.len(), 2); // as many bins as the plan asks for
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    /// The metric that is to be explained.
    pub metric: String,
    /// The factors, or `None` for every column that was chosen before the run.
    pub factors: Option<Vec<String>>,
    /// Rows to keep.
    pub filter: Option<Filter>,
    /// Whether numbers are normalised, and how.
    pub normalization: Option<Normalization>,
    /// How the metric becomes categories.
    pub rule: Rule,
    /// On which scale.
    pub scale: Scale,
    /// What the tree may be.
    pub limits: TreeLimits,
    /// Trees of the forest.
    pub trees: usize,
    /// Share of the rows that the tree is tested on.
    pub test_share: f64,
    /// Seed of the split and the forest.
    pub seed: u64,
}

/// How columns of numbers are brought to one range.
///
/// ```
#[doc = include_str!("example.txt")]
/// use modeler::analysis::{Normalization, Values};
/// let found = analyze(&table, &Plan { normalization: Some(Normalization::MinMax), ..plan }).expect("as before");
/// let Values::Numbers(times) = &found.shown().columns[1].values else { panic!("times are numbers") };
/// assert_eq!(times.iter().copied().fold(0.0, f64::max), 1.0); // the longest
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normalization {
    /// The lowest value becomes 0 and the highest 1.
    MinMax,
    /// The mean becomes 0 and the standard deviation, with n in the denominator, 1.
    ZScore,
}

/// Why nothing was found out.
///
/// ```
#[doc = include_str!("example.txt")]
/// use modeler::analysis::AnalysisError;
/// let unknown = analyze(&table, &Plan { metric: "energy".into(), ..plan }).unwrap_err();
/// assert!(matches!(unknown, AnalysisError::Usage(what) if what.contains("no column `energy`")));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnalysisError {
    /// What was asked for does not exist.
    #[error("{0}")]
    Usage(String),
    /// The data cannot answer.
    #[error("{0}")]
    Data(String),
}

/// What was found.
///
/// ```
#[doc = include_str!("example.txt")]
/// assert_eq!(found.categories.of.len(), 40); // a category for each run
/// ```
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The rows that took part.
    pub table: Table,
    /// The same normalised, where that was asked.
    pub normalized: Option<Table>,
    /// Index of the metric's column.
    pub metric: usize,
    /// Indices of the factors' columns.
    pub factors: Vec<usize>,
    /// By factor the indices of columns that say the same in all rows and are judged with it.
    pub same: Vec<Vec<usize>>,
    /// The metric's categories.
    pub categories: Categories,
    /// The tree, and how well it does.
    pub tree: TreeResult,
    /// The forest.
    pub forest: ForestResult,
    /// Rows and columns that were left out, in full sentences.
    pub notes: Vec<String>,
    /// The seed of the split and the forest.
    pub seed: u64,
    /// Runs whose measurement of the metric a study's selection drops.
    pub left_out: Vec<LeftOut>,
}

impl Analysis {
    /// The rows as plots and comma-separated values show them: normalised where that was asked.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(found.shown().rows(), found.table.rows());
    /// ```
    #[must_use]
    pub fn shown(&self) -> &Table {
        self.normalized.as_ref().unwrap_or(&self.table)
    }

    /// The same with the runs that the reader left out, which the notes then tell first.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// use modeler::analysis::LeftOut;
    /// let run = LeftOut { run: "run7".into(), reason: "an outlier".into() };
    /// assert!(found.without(vec![run], 40).notes[0].starts_with("1 of 41 runs is left out"));
    /// ```
    #[must_use]
    pub fn without(mut self, left_out: Vec<LeftOut>, rows: usize) -> Self {
        let metric = &self.table.columns[self.metric].name;
        self.notes.splice(0..0, told(&left_out, rows, metric));
        Self { left_out, ..self }
    }
}

/// How many runs were left out beside these `rows`, and why, in a sentence that names some of them.
///
/// ```
/// use modeler::analysis::{LeftOut, told};
/// let run = LeftOut { run: "run7".into(), reason: "an outlier".into() };
/// let expected = "1 of 41 runs is left out, because selection.json drops their time: run7 (an outlier).";
/// assert_eq!(told(&[run], 40, "time").as_deref(), Some(expected));
/// assert_eq!(told(&[], 40, "time"), None);
/// ```
#[must_use]
pub fn told(left_out: &[LeftOut], rows: usize, metric: &str) -> Option<String> {
    const MOST: usize = 3;
    let named: Vec<String> = left_out.iter().take(MOST).map(|l| format!("{} ({})", l.run, l.reason)).collect();
    let more = if left_out.len() > MOST { format!(", and {} more", left_out.len() - MOST) } else { String::new() };
    let (lost, are) = (left_out.len(), if left_out.len() == 1 { "is" } else { "are" });
    let of = counted(rows + lost, "run", "runs");
    let what = format!("{lost} of {of} {are} left out, because selection.json drops their {metric}: ");
    (lost > 0).then(|| what + &named.join(", ") + &more + ".")
}

/// A tree, learnt from some rows and tested on the others.
///
/// ```
#[doc = include_str!("example.txt")]
/// assert_eq!(found.tree.is_test.iter().filter(|&&is_test| is_test).count(), 10); // a quarter of forty
/// assert_eq!((found.tree.accuracy, found.tree.baseline), (1.0, 0.5));
/// ```
#[derive(Clone, Debug)]
pub struct TreeResult {
    /// The tree.
    pub tree: Tree,
    /// Mean decrease in impurity per factor.
    pub importance: Vec<f64>,
    /// The category that the tree names for every row.
    pub predicted: Vec<usize>,
    /// Whether a row was held back for the test.
    pub is_test: Vec<bool>,
    /// Rows of the test by true category, then by named one.
    pub confusion: Vec<Vec<usize>>,
    /// Share of the test's rows that the tree names right.
    pub accuracy: f64,
    /// The same if it always named the most frequent category of the training.
    pub baseline: f64,
}

/// Rows that are needed at least: a tree of fewer says nothing, and a fifth of them is no test.
///
/// ```
#[doc = include_str!("example.txt")]
/// assert!(found.table.rows() >= modeler::analysis::FEWEST_ROWS);
/// ```
pub const FEWEST_ROWS: usize = 10;

/// Finds out which factors explain the metric.
///
/// ```
#[doc = include_str!("example.txt")]
/// assert_eq!(found.categories.counts(), [20, 20]);
/// ```
///
/// # Errors
/// A name is unknown, or the rows do not suffice.
pub fn analyze(table: &Table, plan: &Plan) -> Result<Analysis, AnalysisError> {
    let mut notes = Vec::new();
    let metric = column(table, &plan.metric, "metric")?;
    let rows = match &plan.filter {
        Some(filter) => filter.rows(table).map_err(|e| AnalysisError::Usage(format!("In {e}.")))?,
        None => (0..table.rows()).collect(),
    };
    if rows.is_empty() && table.rows() > 0 {
        return Err(AnalysisError::Data("No row satisfies the condition.".into()));
    }
    let candidates = factors(table, metric, plan.factors.as_deref())?;
    notes.extend(std::iter::once(&metric).chain(&candidates).filter_map(|&c| table.columns[c].decimal_commas()));
    notes.extend(table.columns[metric].nearly_numbers().map(|what| format!("Of `{}` {what}", plan.metric)));
    let (rows, candidates) = complete(table, metric, rows, candidates, plan.factors.is_some(), &mut notes)?;
    let kept = table.select(&rows);
    let factors = varying(&kept, candidates, &mut notes)?;
    // Who names factors wants them all.
    let (factors, same) = match plan.factors.is_some() {
        true => (factors.clone(), vec![Vec::new(); factors.len()]),
        false => without_doubles(&kept, without_echoes(&kept, factors, &mut notes), &mut notes),
    };
    let categories = Categories::of(&kept.columns[metric], plan.rule, plan.scale).map_err(AnalysisError::Data)?;
    if categories.labels.len() < 2 {
        let what = format!("All rows are in one category of `{}`, so there is nothing to tell apart.", plan.metric);
        return Err(AnalysisError::Data(what));
    }
    notes.extend(categories.notes.iter().cloned());
    let columns: Vec<Column> = factors.iter().map(|&f| kept.columns[f].clone()).collect();
    let features = features(&columns);
    let count = categories.labels.len();
    let forest =
        Forest { features: &features, category: &categories.of, categories: count, trees: plan.trees, seed: plan.seed };
    let forest = forest.undeceived();
    let is_test = split(&categories.of, count, plan.test_share, plan.seed);
    if !is_test.contains(&true) {
        return Err(AnalysisError::Data(format!(
            "Each of the {} categories of `{}` has hardly more than one row, so that no row can be held back to test a tree. Give fewer \
             categories, or more rows.",
            categories.labels.len(),
            plan.metric
        )));
    }
    let tree = learn(&features, factors.len(), &categories, plan.limits, is_test);
    let normalized = plan.normalization.map(|how| normalized(kept.clone(), how));
    Ok(Analysis {
        table: kept,
        normalized,
        metric,
        factors,
        same,
        categories,
        tree,
        forest,
        notes,
        seed: plan.seed,
        left_out: Vec::new(),
    })
}

fn column(table: &Table, name: &str, role: &str) -> Result<usize, AnalysisError> {
    table
        .find(name)
        .ok_or_else(|| AnalysisError::Usage(format!("There is {}.", table.lacks(name, &format!(" to be a {role}")))))
}

/// The columns that may be factors.
fn factors(table: &Table, metric: usize, named: Option<&[String]>) -> Result<Vec<usize>, AnalysisError> {
    let Some(named) = named else {
        return Ok((0..table.columns.len()).filter(|&c| c != metric && table.columns[c].chosen).collect());
    };
    let mut found = Vec::new();
    for name in named {
        let index = column(table, name, "factor")?;
        if index == metric {
            return Err(AnalysisError::Usage(format!("`{name}` is the metric and cannot explain itself.")));
        }
        if !found.contains(&index) {
            found.push(index);
        }
    }
    Ok(found)
}

/// Leaves out columns that hold nothing, then rows that lack a value.
fn complete(
    table: &Table,
    metric: usize,
    rows: Vec<usize>,
    factors: Vec<usize>,
    named: bool,
    notes: &mut Vec<String>,
) -> Result<(Vec<usize>, Vec<usize>), AnalysisError> {
    let is_empty = |c: usize| rows.iter().all(|&row| table.columns[c].is_missing(row));
    let name = |c: usize| &table.columns[c].name;
    if is_empty(metric) {
        return Err(AnalysisError::Data(format!("The metric `{}` has no value in any row.", name(metric))));
    }
    let (empty, factors): (Vec<usize>, Vec<usize>) = factors.into_iter().partition(|&c| is_empty(c));
    if let Some(&c) = empty.first().filter(|_| named) {
        return Err(AnalysisError::Data(format!("The factor `{}` has no value in any row.", name(c))));
    }
    notes.extend(empty.iter().map(|&c| format!("The column `{}` has no value in any row and is left out.", name(c))));
    let lacking = |row: &usize| std::iter::once(&metric).chain(&factors).any(|&c| table.columns[c].is_missing(*row));
    let before = rows.len();
    let rows: Vec<usize> = rows.into_iter().filter(|row| !lacking(row)).collect();
    if rows.len() < before {
        let what = "the metric or a factor is empty or not a finite number there";
        let (lost, are) = (before - rows.len(), if before - rows.len() == 1 { "is" } else { "are" });
        notes.push(format!("{lost} of {} {are} left out, because {what}.", counted(before, "row", "rows")));
    }
    if rows.len() < FEWEST_ROWS {
        return Err(AnalysisError::Data(format!(
            "{} the metric and all factors; at least {FEWEST_ROWS} are needed. Measure more, or name fewer --factors.",
            counted(rows.len(), "row has", "rows have")
        )));
    }
    Ok((rows, factors))
}

/// The factors that can explain something: those that vary, and whose labels repeat.
fn varying(table: &Table, factors: Vec<usize>, notes: &mut Vec<String>) -> Result<Vec<usize>, AnalysisError> {
    let mut kept = Vec::new();
    let (constant, factors): (Vec<usize>, Vec<usize>) =
        factors.into_iter().partition(|&index| table.columns[index].is_constant());
    notes.extend(same_everywhere(table, &constant));
    for index in factors {
        let column = &table.columns[index];
        let (labels, rows) = (column.labels(), table.rows());
        if 2 * labels > rows {
            notes.push(format!("`{}` has {labels} different values in {rows} rows and is left out.", column.name));
        } else {
            kept.push(index);
        }
    }
    if kept.is_empty() {
        return Err(AnalysisError::Data(
            format!("No factor varies over the rows. {}", notes.join(" ")).trim_end().into(),
        ));
    }
    Ok(kept)
}

/// Leaves out variables of the environment that another factor determines, as it does those that a study fills in from its
/// parameters. Columns that say the same share what they explain, so that none of them seems to matter.
fn without_echoes(table: &Table, factors: Vec<usize>, notes: &mut Vec<String>) -> Vec<usize> {
    let name = |index: usize| table.columns[index].name.as_str();
    let is_variable = |&index: &usize| name(index).starts_with("environment.");
    let (variables, mut kept): (Vec<usize>, Vec<usize>) = factors.into_iter().partition(is_variable);
    let mut echoes: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for variable in variables {
        match kept.iter().find(|&&factor| determines(table, factor, variable)) {
            Some(&factor) => echoes.entry(factor).or_default().push(format!("`{}`", name(variable))),
            None => kept.push(variable),
        }
    }
    for (factor, variables) in echoes {
        let (are, list) = (if variables.len() == 1 { "is" } else { "are" }, findings::list(&variables));
        notes.push(format!("{list} {are} the same wherever `{}` is, and {are} left out.", name(factor)));
    }
    kept.sort_unstable();
    kept
}

/// One factor of each set that say the same in all rows, each of which would hide what the others explain, and by factor those that
/// were left out for it.
fn without_doubles(table: &Table, factors: Vec<usize>, notes: &mut Vec<String>) -> (Vec<usize>, Vec<Vec<usize>>) {
    let mut kept: Vec<usize> = Vec::new();
    let mut same: Vec<Vec<usize>> = Vec::new();
    for factor in factors {
        match kept.iter().position(|&one| is_double(table, one, factor)) {
            Some(at) => same[at].push(factor),
            None => {
                kept.push(factor);
                same.push(Vec::new());
            }
        }
    }
    let name = |index: &usize| format!("`{}`", table.columns[*index].name);
    for (one, others) in kept.iter().zip(&same).filter(|(_, others)| !others.is_empty()) {
        let (say, are) = if others.len() == 1 { ("says", "is") } else { ("say", "are") };
        let others: Vec<String> = others.iter().map(name).collect();
        notes.push(format!(
            "{} {say} the same as {} in all rows, and {are} judged with it.",
            findings::list(&others),
            name(one)
        ));
    }
    (kept, same)
}

/// Whether two columns tell the same rows apart. Of numbers that are different in most rows that says something where they also have
/// the same order or the opposite one.
fn is_double(table: &Table, one: usize, other: usize) -> bool {
    if let (Values::Numbers(one), Values::Numbers(other)) = (&table.columns[one].values, &table.columns[other].values) {
        let mut rows: Vec<usize> = (0..table.rows()).collect();
        rows.sort_by(|&a, &b| one[a].total_cmp(&one[b]));
        let steps = || {
            rows.windows(2)
                .map(|pair| (one[pair[0]].total_cmp(&one[pair[1]]), other[pair[0]].total_cmp(&other[pair[1]])))
        };
        if steps().all(|(one, other)| one == other) || steps().all(|(one, other)| one == other.reverse()) {
            return true;
        }
    }
    determines(table, one, other) && determines(table, other, one)
}

/// Whether rows that are alike in one column are alike in another, and there are such rows.
fn determines(table: &Table, one: usize, other: usize) -> bool {
    let (one, other) = (&table.columns[one], &table.columns[other]);
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    let is_alike = |row: usize| {
        let cell = other.cell(row);
        *known.entry(one.cell(row)).or_insert_with(|| cell.clone()) == cell
    };
    (0..table.rows()).all(is_alike) && 2 * known.len() <= table.rows()
}

/// One line for all columns that do not vary; those of the environment are counted, as there are many.
fn same_everywhere(table: &Table, constant: &[usize]) -> Option<String> {
    let columns: Vec<_> = constant.iter().map(|&index| &table.columns[index]).collect();
    if let [only] = columns[..] {
        return Some(format!("`{}` is {} in all rows and explains nothing.", only.name, only.cell(0)));
    }
    let mut names: Vec<String> = columns.iter().map(|c| format!("`{}`", c.name)).collect();
    names.retain(|name| !name.starts_with("`environment."));
    let variables = columns.len() - names.len();
    if variables > 0 {
        names.push(format!("{variables} {} of the environment", if variables == 1 { "variable" } else { "variables" }));
    }
    (!names.is_empty()).then(|| format!("{} are the same in all rows and explain nothing.", findings::list(&names)))
}

/// The table with every column of numbers that varies normalised; they lose their units.
fn normalized(mut table: Table, how: Normalization) -> Table {
    for column in &mut table.columns {
        let Values::Numbers(values) = &mut column.values else { continue };
        let finite = || values.iter().copied().filter(|v| v.is_finite());
        let n = finite().count() as f64;
        let (shift, size) = match how {
            Normalization::MinMax => {
                let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
                (low, high - low)
            }
            Normalization::ZScore => {
                let mean = finite().sum::<f64>() / n;
                (mean, (finite().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt())
            }
        };
        if size > 0.0 {
            values.iter_mut().for_each(|v| *v = (*v - shift) / size);
            column.unit.clear();
        }
    }
    table
}

/// Which rows are held back: of each category the same share, at least one row overall and in training.
fn split(category: &[usize], categories: usize, share: f64, seed: u64) -> Vec<bool> {
    let mut is_test = vec![false; category.len()];
    let mut random = forest::stream(seed, 0, 0);
    // What rounding takes from one category, the next gets.
    let mut owed = 0.0;
    for c in 0..categories {
        let mut rows: Vec<usize> = (0..category.len()).filter(|&row| category[row] == c).collect();
        rows.shuffle(&mut random);
        owed += share * rows.len() as f64;
        let take = (owed.round() as usize).min(rows.len().saturating_sub(1));
        owed -= take as f64;
        rows[..take].iter().for_each(|&row| is_test[row] = true);
    }
    is_test
}

/// Learns a tree from the rows that are not held back and tests it on the others.
fn learn(
    features: &[Feature],
    factors: usize,
    categories: &Categories,
    limits: TreeLimits,
    is_test: Vec<bool>,
) -> TreeResult {
    let (category, count) = (&categories.of, categories.labels.len());
    let training = Training { features, category, categories: count, limits, drawn: None };
    let rows: Vec<usize> = (0..category.len()).filter(|&row| !is_test[row]).collect();
    let tree = training.tree(rows, &mut forest::stream(0, 0, 0));
    let value = |row: usize| move |feature: usize| features[feature].values[row];
    let predicted: Vec<usize> = (0..category.len()).map(|row| tree.classify(value(row))).collect();
    let mut confusion = vec![vec![0; count]; count];
    let test: Vec<usize> = (0..category.len()).filter(|&row| is_test[row]).collect();
    test.iter().for_each(|&row| confusion[category[row]][predicted[row]] += 1);
    let share = |right: usize| right as f64 / test.len().max(1) as f64;
    let usual = tree.nodes[0].category();
    let accuracy = share((0..count).map(|c| confusion[c][c]).sum());
    let baseline = share(confusion[usual].iter().sum());
    let importance = tree.importance(factors);
    TreeResult { tree, importance, predicted, is_test, confusion, accuracy, baseline }
}

#[cfg(test)]
mod tests;
