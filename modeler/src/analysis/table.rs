//! Tables of rows and columns, whatever they were read from: a study's runs, an experiment, or comma-separated values.

use std::collections::{BTreeSet, HashSet};

use super::read::PARAMETERS;
use crate::callees::Callees;
use crate::experiment::{CallPathId, Experiment, MetricId, OverRanks};
use crate::formats::has_decimal_comma;
use crate::words::{beginning, suggestion};

/// The values of a column, one per row.
///
/// ```
/// use modeler::analysis::{Column, Values};
/// let column = |cells: [&str; 2]| Column::of_cells("x", cells.map(str::to_owned).to_vec(), true).values;
/// assert_eq!(column(["1", "2.5"]), Values::Numbers(vec![1.0, 2.5]));
/// assert_eq!(column(["1", "two"]), Values::Texts(vec!["1".into(), "two".into()]));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Numbers; NaN where a row has none.
    Numbers(Vec<f64>),
    /// Texts; empty where a row has none.
    Texts(Vec<String>),
}

/// Whether the comma in a number may part thousands, as in `-1,500`, unlike those in `0,125` and `1,5e2`.
fn may_part_thousands(text: &str) -> bool {
    let Some((head, tail)) = text.trim_start_matches(['-', '+']).split_once(',') else { return false };
    let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    matches!(head.len(), 1..=3) && tail.len() == 3 && are_digits(head) && are_digits(tail) && !head.starts_with('0')
}

/// Whether a cell says that there is no value.
fn is_missing(cell: &str) -> bool {
    matches!(cell, "" | "NA" | "n/a" | "null")
}

/// One column.
///
/// ```
/// use modeler::analysis::{Column, Values};
/// let column = Column { name: "n".into(), unit: String::new(), chosen: true, values: Values::Numbers(vec![1.0, 2.0]) };
/// assert_eq!(column, Column::of_cells("n", vec!["1".into(), "2".into()], true));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// Unit of numbers; empty where none is known.
    pub unit: String,
    /// Whether it was chosen before the run, as parameters and flags are, and not measured; such columns are factors
    /// unless others are named.
    pub chosen: bool,
    /// Its values.
    pub values: Values,
}

impl Column {
    /// Numbers where every cell that is not empty is one, texts otherwise.
    ///
    /// ```
    /// use modeler::analysis::{Column, Values};
    /// let column = Column::of_cells("time", vec!["1.5".into(), "NA".into()], false);
    /// assert!(matches!(&column.values, Values::Numbers(values) if values[0] == 1.5 && values[1].is_nan()));
    /// ```
    #[must_use]
    pub fn of_cells(name: &str, cells: Vec<String>, chosen: bool) -> Self {
        let number = |cell: &String| match cell.trim() {
            cell if is_missing(cell) => Some(f64::NAN),
            // What is not finite is a number that is missing, not a text.
            cell => cell.parse::<f64>().ok().map(|v| if v.is_finite() { v } else { f64::NAN }),
        };
        let has_some = cells.iter().any(|cell| !is_missing(cell.trim()));
        let numbers: Option<Vec<f64>> = cells.iter().map(number).collect();
        let values = match numbers {
            Some(numbers) if has_some => Values::Numbers(numbers),
            _ => Values::Texts(cells.iter().map(|c| on_one_line(c.trim())).collect()),
        };
        Self { name: name.to_owned(), unit: String::new(), chosen, values }
    }

    /// Whether the row has no value.
    #[must_use]
    pub(crate) fn is_missing(&self, row: usize) -> bool {
        match &self.values {
            Values::Numbers(values) => !values[row].is_finite(),
            Values::Texts(texts) => texts[row].is_empty(),
        }
    }

    /// Whether all rows have the same value.
    #[must_use]
    pub(crate) fn is_constant(&self) -> bool {
        match &self.values {
            Values::Numbers(values) => values.windows(2).all(|w| w[0] == w[1]),
            Values::Texts(texts) => texts.windows(2).all(|w| w[0] == w[1]),
        }
    }

    /// How many different labels it has: texts, and the numbers of the environment's variables, such as a job's. Other
    /// numbers are no labels.
    #[must_use]
    pub(crate) fn labels(&self) -> usize {
        match &self.values {
            Values::Numbers(values) if self.name.starts_with("environment.") => {
                values.iter().map(|value| value.to_bits()).collect::<BTreeSet<_>>().len()
            }
            Values::Numbers(_) => 0,
            Values::Texts(_) => self.levels().len(),
        }
    }

    /// What there is to say where all values could be numbers with decimal commas, and are names here. Variables of the environment
    /// are lists, such as `4,2` threads of two levels.
    pub(super) fn decimal_commas(&self) -> Option<String> {
        let Values::Texts(texts) = &self.values else { return None };
        let is_number = |text: &String| is_missing(text) || text.parse::<f64>().is_ok() || has_decimal_comma(text);
        let first = texts.iter().find(|text| has_decimal_comma(text)).filter(|_| texts.iter().all(is_number))?;
        if self.name.starts_with("environment.") || self.is_constant() {
            return None;
        }
        let thousands = if texts.iter().filter(|text| text.contains(',')).all(|text| may_part_thousands(text)) {
            format!(", or `{}` if the comma parts thousands", first.replace(',', ""))
        } else {
            String::new()
        };
        let (name, point) = (&self.name, first.replace(',', "."));
        Some(format!(
            "The values of `{name}`, such as `{first}`, are taken for names. As a number write `{point}`{thousands}."
        ))
    }

    /// What there is to say where most values are numbers, and others make names of all of them.
    pub(super) fn nearly_numbers(&self) -> Option<String> {
        let Values::Texts(texts) = &self.values else { return None };
        let there: Vec<&String> = texts.iter().filter(|text| !is_missing(text)).collect();
        let is_number = |text: &&&String| text.parse::<f64>().is_ok();
        let other = beginning(there.iter().find(|text| !is_number(text))?);
        let count = there.iter().filter(is_number).count();
        (2 * count > there.len()).then(|| {
            format!(
                "{count} of its {} values are numbers, but not `{other}`, so that all are taken for names; leave a cell empty where \
                 its value is missing.",
                there.len()
            )
        })
    }

    /// The different texts in ascending order; numbers have none.
    ///
    /// ```
    /// use modeler::analysis::Column;
    /// let hosts = ["b", "a", "b"].map(str::to_owned).to_vec();
    /// assert_eq!(Column::of_cells("host", hosts, true).levels(), ["a", "b"]);
    /// ```
    #[must_use]
    pub fn levels(&self) -> Vec<String> {
        match &self.values {
            Values::Numbers(_) => Vec::new(),
            Values::Texts(texts) => texts.iter().collect::<BTreeSet<_>>().into_iter().cloned().collect(),
        }
    }

    /// The cell as text: numbers with as many digits as they need.
    #[must_use]
    pub(crate) fn cell(&self, row: usize) -> String {
        match &self.values {
            Values::Numbers(values) if values[row].is_finite() => values[row].to_string(),
            Values::Numbers(_) => String::new(),
            Values::Texts(texts) => texts[row].clone(),
        }
    }

    /// The same column with only `rows`.
    #[must_use]
    pub(crate) fn select(&self, rows: &[usize]) -> Self {
        let values = match &self.values {
            Values::Numbers(values) => Values::Numbers(rows.iter().map(|&r| values[r]).collect()),
            Values::Texts(texts) => Values::Texts(rows.iter().map(|&r| texts[r].clone()).collect()),
        };
        Self { values, ..self.clone() }
    }
}

/// Columns of equal length.
///
/// ```
/// use modeler::analysis::{Column, Table};
/// let columns = vec![Column::of_cells("host", vec!["a".into(), "b".into()], true)];
/// assert_eq!(Table { columns }.rows(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The columns.
    pub columns: Vec<Column>,
}

impl Table {
    /// Number of rows.
    ///
    /// ```
    /// assert_eq!(modeler::analysis::Table::default().rows(), 0);
    /// ```
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |c| match &c.values {
            Values::Numbers(values) => values.len(),
            Values::Texts(texts) => texts.len(),
        })
    }

    /// Index of the column of this name; where there is none that of the text parameter `factors.NAME` of a study.
    #[must_use]
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        let of = |name: &str| self.columns.iter().position(|c| c.name == name);
        of(name).or_else(|| of(&format!("factors.{name}")))
    }

    /// That it has no column `name` for `purpose`, and which it has.
    #[must_use]
    pub(crate) fn lacks(&self, name: &str, purpose: &str) -> String {
        let names: Vec<&str> = self.columns.iter().map(|c| c.name.as_str()).collect();
        let meant = suggestion(name, names.iter().copied());
        let others = if meant.is_empty() { "; the".to_owned() } else { meant + " The" };
        format!("no column `{name}`{purpose}{others} columns are {}", names.join(", "))
    }

    /// The same table with only `rows`.
    #[must_use]
    pub(crate) fn select(&self, rows: &[usize]) -> Self {
        Self { columns: self.columns.iter().map(|c| c.select(rows)).collect() }
    }

    /// The rows of several tables under each other; `names` tells them apart in a column `input`.
    ///
    /// # Errors
    /// A column is not in all tables.
    pub(crate) fn stack(tables: Vec<Self>, names: &[String]) -> Result<Self, String> {
        let mut tables = tables.into_iter();
        let (Some(mut all), Some(first)) = (tables.next(), names.first()) else { return Ok(Self::default()) };
        if names.len() == 1 {
            return Ok(all);
        }
        let mut inputs = vec![first.clone(); all.rows()];
        for (table, name) in tables.zip(&names[1..]) {
            inputs.extend(std::iter::repeat_n(name.clone(), table.rows()));
            all = all.under(table).map_err(|column| {
                format!("The column `{column}` is not in all inputs; {first} and {name} must have the same columns.")
            })?;
        }
        let values = Values::Texts(inputs);
        all.columns.push(Column { name: "input".into(), unit: String::new(), chosen: true, values });
        Ok(all)
    }

    fn under(self, other: Self) -> Result<Self, String> {
        if let Some(extra) = other.columns.iter().find(|c| self.find(&c.name).is_none()) {
            return Err(extra.name.clone());
        }
        let mut columns = Vec::new();
        for column in self.columns {
            let Some(below) = other.find(&column.name) else { return Err(column.name) };
            let below = &other.columns[below];
            let values = match (&column.values, &below.values) {
                (Values::Numbers(a), Values::Numbers(b)) => Values::Numbers([a.as_slice(), b].concat()),
                _ => {
                    let cells = |c: &Column| (0..c.len()).map(|row| c.cell(row)).collect::<Vec<_>>();
                    Values::Texts([cells(&column), cells(below)].concat())
                }
            };
            columns.push(Column { values, ..column });
        }
        Ok(Self { columns })
    }

    /// An experiment's measurements as rows: one per point and repetition, parameters and repetition as factors, metrics as
    /// measured. Each metric is of the call path `callpath`, or of the whole program.
    ///
    /// ```
    /// use modeler::{analysis::Table, experiment::OverRanks};
    /// let text = "PARAMETER p\nPOINTS 2 4\nREGION solve\nMETRIC time\nDATA 1 1.5\nDATA 2\n";
    /// let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?.experiment;
    /// let table = Table::of_experiment(&experiment, None, OverRanks::Mean);
    /// assert_eq!(table.rows(), 3); // two repetitions at p = 2, and one at 4
    /// assert_eq!(table.columns[0].name, "p");
    /// # Ok::<(), modeler::formats::ReadError>(())
    /// ```
    #[must_use]
    pub fn of_experiment(experiment: &Experiment, callpath: Option<CallPathId>, over_ranks: OverRanks) -> Self {
        let metrics: Vec<(MetricId, Vec<Vec<f64>>)> = (0..experiment.metrics.len() as MetricId)
            .filter(|&m| experiment.metrics[m as usize].over_ranks.is_none_or(|o| o == over_ranks))
            .map(|m| (m, by_point(experiment, m, callpath)))
            .collect();
        let repetitions = |point: usize| metrics.iter().map(|(_, values)| values[point].len()).max().unwrap_or(0);
        let rows: Vec<(usize, usize)> =
            (0..experiment.points.len()).flat_map(|p| (0..repetitions(p)).map(move |r| (p, r))).collect();
        let number = |name: &str, unit: &str, chosen: bool, values: Vec<f64>| Column {
            name: name.to_owned(),
            unit: unit.to_owned(),
            chosen,
            values: Values::Numbers(values),
        };
        let mut columns: Vec<Column> = Vec::new();
        for (l, name) in experiment.parameters.iter().enumerate() {
            let is_metrics = experiment.metrics.iter().any(|metric| metric.name == *name);
            let name = if is_metrics { format!("{PARAMETERS}.{name}") } else { name.clone() };
            columns.push(number(&name, "", true, rows.iter().map(|&(p, _)| experiment.points[p][l]).collect()));
        }
        columns.push(number("repetition", "", true, rows.iter().map(|&(_, r)| (r + 1) as f64).collect()));
        for (m, values) in &metrics {
            let metric = &experiment.metrics[*m as usize];
            let value = |&(p, r): &(usize, usize)| values[p].get(r).copied().unwrap_or(f64::NAN);
            columns.push(number(&metric.name, &metric.unit, false, rows.iter().map(value).collect()));
        }
        Self { columns }
    }
}

impl Column {
    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        match &self.values {
            Values::Numbers(values) => values.len(),
            Values::Texts(texts) => texts.len(),
        }
    }
}

/// The values of one metric at each point, repetition by repetition: of one call path, or of the whole program.
fn by_point(experiment: &Experiment, metric: MetricId, callpath: Option<CallPathId>) -> Vec<Vec<f64>> {
    let mut values: Vec<Vec<f64>> = vec![Vec::new(); experiment.points.len()];
    let parts: HashSet<CallPathId> = match callpath {
        Some(one) => HashSet::from([one]),
        None => Callees::of(experiment, metric).parts(experiment, metric).into_iter().collect(),
    };
    let wanted = |s: &&crate::experiment::Series| s.metric == metric && parts.contains(&s.callpath);
    for series in experiment.series.iter().filter(wanted) {
        let points = &experiment.layouts[series.layout as usize].points;
        for (&point, (_, measured)) in points.iter().zip(experiment.measurements(series)) {
            let sum = &mut values[point as usize];
            for (r, &value) in measured.iter().enumerate() {
                if r < sum.len() { sum[r] += value } else { sum.push(value) }
            }
        }
    }
    values
}

/// The text with line ends, tabs and other control characters as programs write them, so that each value stays on its line.
fn on_one_line(text: &str) -> String {
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(list: &[&str]) -> Column {
        Column::of_cells("x", list.iter().map(|&c| c.to_owned()).collect(), true)
    }

    #[test]
    fn a_column_is_numeric_where_every_cell_that_is_there_is_a_number() {
        let Values::Numbers(values) = cells(&["1", " 2.5", "", "NaN", "1e3"]).values else { panic!("numbers") };
        assert_eq!((values[0], values[1], values[4]), (1.0, 2.5, 1000.0));
        assert!(values[2].is_nan() && values[3].is_nan());
        assert_eq!(cells(&["1", "two"]).levels(), ["1", "two"]);
        assert!(cells(&["", ""]).is_missing(0));
        assert_eq!(cells(&["a\nb\t", "c"]).levels(), ["a\\nb", "c"], "on one line");
    }

    #[test]
    fn stacked_tables_say_where_a_row_came_from() {
        let table = |v: &str| Table { columns: vec![cells(&[v])] };
        let all = Table::stack(vec![table("1"), table("2")], &["a".into(), "b".into()]).unwrap();
        assert_eq!(all.columns[0].values, Values::Numbers(vec![1.0, 2.0]));
        assert_eq!(all.columns[1].levels(), ["a", "b"]);
        let other = Table { columns: vec![Column { name: "y".into(), ..cells(&["1"]) }] };
        assert!(Table::stack(vec![table("1"), other], &["a".into(), "b".into()]).unwrap_err().contains('y'));
    }
}
