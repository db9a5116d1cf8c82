//! Results for people: one self-contained HTML page, and tables for the terminal.

mod article;
mod axis;
mod costs;
mod data;
mod effort;
mod heat;
pub(crate) mod markup;
mod notes;
mod origin;
mod page;
mod phases;
mod plot;
mod points;
mod quantity;
mod ranking;
mod reach;
mod rests;
pub mod terminal;
mod tree;
mod turn;
mod view;

pub(crate) use axis::Axis;
pub use costs::whole_program;
pub use origin::origin;
pub(crate) use page::{head, plain};
pub use phases::Phases;
pub use quantity::{coordinate, growth, quantity, shape};
pub use ranking::{default_target, largest, may_be_chance};
pub(crate) use reach::off_line_points;
pub use reach::{Doubts, below_zero, beyond_times, doubt, left_open, left_out, off_the_lines, unmeasured};
pub use rests::rests;
pub use turn::turns;

use crate::experiment::{CallPathId, Experiment, MetricId};
use crate::fit::Fits;
use crate::model::Model;

/// What a report shows beyond the models.
///
/// ```
/// use modeler::report::{ReportOptions, html};
/// # let of = |cost: fn(f64) -> f64| {
/// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
/// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
/// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// #     let fits = modeler::fit(&experiment, &Default::default());
/// #     (experiment, fits)
/// # };
/// let (experiment, fits) = of(|p| 4.0 * p);
/// let options = ReportOptions { title: "Weak scaling of solve".into(), target: Some(vec![64.0]), ..ReportOptions::default() };
/// assert!(html(&experiment, &fits, &options).contains("Weak scaling of solve"));
/// ```
#[derive(Clone, Debug)]
pub struct ReportOptions {
    /// Heading of the page.
    pub title: String,
    /// What the experiment's call paths are, in the singular: `call path`, or `phase`.
    pub noun: &'static str,
    /// The metric that call paths are ranked by; time, or what stands for it, where nothing is given or it has no model.
    pub metric: Option<MetricId>,
    /// The point that call paths are ranked at, one coordinate per parameter; twice the largest measured value of each
    /// parameter where nothing is given.
    pub target: Option<Vec<f64>>,
    /// Nominal probability of the intervals.
    pub level: f64,
    /// How many call paths, from the most expensive, are drawn in the page; its script draws the others when asked.
    pub plots: usize,
    /// Tables of the caller, at the top of the page.
    pub sections: Vec<Section>,
    /// Pictures of the caller below them: heading and SVG.
    pub pictures: Vec<(String, String)>,
    /// The phases of the experiment's runs, where they have any.
    pub phases: Option<Phases>,
    /// What the plots show beside the experiment and its models.
    pub extras: Vec<Extra>,
    /// Warnings of the caller, such as those of the readers, in full sentences.
    pub warnings: Vec<String>,
    /// What was noticed about the machines that measured, in full sentences.
    pub machine: Vec<String>,
}

impl ReportOptions {
    /// Whether callers and callees are shown, which phases do not have.
    pub(crate) fn has_callers(&self) -> bool {
        self.noun == "call path"
    }

    /// The command that gives the same models to programs.
    pub(crate) fn json_command(&self) -> &'static str {
        if self.has_callers() { "poise model --format json" } else { "poise phases --format json" }
    }

    /// Heading of the section that lists all of them.
    pub(crate) fn all(&self) -> &'static str {
        if self.has_callers() { "Call tree" } else { "All phases" }
    }

    /// Heading of the section about each of them.
    pub(crate) fn each(&self) -> &'static str {
        if self.has_callers() { "Call paths" } else { "Each phase" }
    }

    /// What they are together.
    pub(crate) fn together(&self) -> &'static str {
        if self.has_callers() { "the whole program" } else { "all phases" }
    }
}

impl Default for ReportOptions {
    fn default() -> Self {
        Self {
            title: "Scaling models".into(),
            noun: "call path",
            metric: None,
            target: None,
            level: 0.9,
            plots: 40,
            sections: Vec::new(),
            pictures: Vec::new(),
            phases: None,
            extras: Vec::new(),
            warnings: Vec::new(),
            machine: Vec::new(),
        }
    }
}

/// A table with a heading and an introduction.
///
/// ```
/// use modeler::report::{ReportOptions, Section, Table, html};
/// # let of = |cost: fn(f64) -> f64| {
/// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
/// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
/// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// #     let fits = modeler::fit(&experiment, &Default::default());
/// #     (experiment, fits)
/// # };
/// let (experiment, fits) = of(|p| 4.0 * p);
/// let table = Table { header: vec!["host".into()], rows: vec![vec!["node17".into()]] };
/// let section = Section { title: "Machine".into(), intro: "What measured.".into(), table };
/// let page = html(&experiment, &fits, &ReportOptions { sections: vec![section], ..ReportOptions::default() });
/// assert!(page.contains("What measured.") && page.contains("node17"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// Heading.
    pub title: String,
    /// What the table shows, in full sentences.
    pub intro: String,
    /// The table.
    pub table: Table,
}

/// Cells as text. A column whose cells all begin like numbers is aligned to the right.
///
/// ```
/// use modeler::report::{Table, terminal::table};
/// let rows = [["a", "9"], ["b", "10"]].map(|row| row.map(str::to_owned).to_vec()).to_vec();
/// let text = table(&Table { header: vec![], rows });
/// assert_eq!(text, "a   9\nb  10\n"); // numbers to the right
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// One heading per column.
    pub header: Vec<String>,
    /// Rows of as many cells.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Whether the column holds numbers: each cell begins with a digit, a sign or a relation, or says that there is
    /// nothing, and one of them has a digit.
    pub(crate) fn is_numeric(&self, column: usize) -> bool {
        let cells = || self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.trim());
        let number = |cell: &str| {
            let digits = cell.trim_start_matches(['+', '-', '−', '±', '<', '>', '≤', '≥', '~', '≈', ' ', '×', '.']);
            // A formula is text that begins like a number.
            digits.starts_with(|c: char| c.is_ascii_digit()) && !cell.contains('*')
        };
        cells().any(number) && cells().all(|c| number(c) || matches!(c, "" | "-" | "–" | "n/a" | "null"))
    }
}

/// A second model or held-out measurements of one series.
///
/// ```
/// use modeler::report::{Extra, ReportOptions, html};
/// # let of = |cost: fn(f64) -> f64| {
/// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
/// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
/// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// #     let fits = modeler::fit(&experiment, &Default::default());
/// #     (experiment, fits)
/// # };
/// let (experiment, fits) = of(|p| 4.0 * p);
/// let extra = Extra { callpath: 0, metric: 0, label: "held out".into(), model: None, held_out: vec![(vec![64.0], 250.0)] };
/// let with = html(&experiment, &fits, &ReportOptions { extras: vec![extra], ..ReportOptions::default() });
/// assert_ne!(with, html(&experiment, &fits, &ReportOptions::default()));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Extra {
    /// Whose series.
    pub callpath: CallPathId,
    /// Of which metric.
    pub metric: MetricId,
    /// What the second model is, such as `time only`.
    pub label: String,
    /// The second model, if there is one.
    pub model: Option<Model>,
    /// Measurements that no model has seen: coordinates and value.
    pub held_out: Vec<(Vec<f64>, f64)>,
}

/// The report as one HTML page that needs no network. Its tables and the plots of the most expensive call paths need no
/// script; a script in it filters the call tree, draws the other call paths and saves numbers and plots as files. The
/// same input gives the same bytes.
///
/// ```
/// use modeler::report::{ReportOptions, html};
/// # let of = |cost: fn(f64) -> f64| {
/// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
/// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
/// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// #     let fits = modeler::fit(&experiment, &Default::default());
/// #     (experiment, fits)
/// # };
/// let (experiment, fits) = of(|p| 4.0 * p);
/// let page = html(&experiment, &fits, &ReportOptions::default());
/// assert!(page.starts_with("<!DOCTYPE html>") && page.contains("solve"));
/// assert_eq!(page, html(&experiment, &fits, &ReportOptions::default()));
/// ```
#[must_use]
pub fn html(experiment: &Experiment, fits: &Fits, options: &ReportOptions) -> String {
    page::page(experiment, fits, options).into_string()
}
