//! The analysis as one HTML page without network or scripts, and its pictures as files.

use maud::{DOCTYPE, Markup, html};

use super::findings::{IMPORTANCES, by_importance, matters};
use super::plots::{self, PlotRequest};
use super::{Analysis, AnalysisError, findings};
use crate::report::head;

/// One picture.
///
/// ```
#[doc = include_str!("example.txt")]
/// let pictures = modeler::analysis::pictures(&found, &["tree".parse().expect("a kind of plot")])?;
/// assert_eq!((pictures[0].name.as_str(), pictures[0].title.as_str()), ("tree", "Decision tree"));
/// # Ok::<(), modeler::analysis::AnalysisError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Picture {
    /// For a file's name, without an ending.
    pub name: String,
    /// Heading.
    pub title: String,
    /// What it shows, in whole sentences.
    pub caption: String,
    svg: Markup,
}

const STYLE: &str = include_str!("../report/style.css");
/// Pictures here stand alone: never so wide that their text outgrows the page's, nor so narrow that it cannot be read.
const WIDTHS: &str = ".scroll > svg.plot { display: block; width: 100%; min-width: 32rem; max-width: 46rem; } \
    figcaption { padding-left: 0; max-width: 46rem; margin-top: .3rem; }";

impl Picture {
    /// The picture as a file of its own.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let pictures = modeler::analysis::pictures(&found, &["scatter:threads".parse().expect("a kind of plot")])?;
    /// assert!(pictures[0].file().starts_with("<svg "));
    /// # Ok::<(), modeler::analysis::AnalysisError>(())
    /// ```
    #[must_use]
    pub fn file(&self) -> String {
        standing_alone(&self.svg)
    }
}

/// A picture with the style that a page would give it.
pub(crate) fn standing_alone(svg: &Markup) -> String {
    let style = format!("<style>svg {{ background: var(--paper); color: var(--ink); }}\n{STYLE}</style>");
    match svg.0.find('>') {
        Some(end) => format!("{}{style}{}\n", &svg.0[..=end], &svg.0[end + 1..]),
        None => svg.0.clone(),
    }
}

/// The pictures that were asked for; without any: importance, density, tree, scatter plots of what matters, and a line
/// plot of the factor that matters most.
///
/// ```
#[doc = include_str!("example.txt")]
/// use modeler::analysis::{PlotRequest, pictures};
/// let names: Vec<String> = pictures(&found, &[])?.into_iter().map(|picture| picture.name).collect();
/// assert_eq!(names, ["importance", "tree", "line-threads", "scatter-threads"]); // bins have no density
/// assert!(pictures(&found, &[PlotRequest::Density]).is_err());
/// # Ok::<(), modeler::analysis::AnalysisError>(())
/// ```
///
/// # Errors
/// A column is unknown, or something cannot be drawn.
pub fn pictures(analysis: &Analysis, requests: &[PlotRequest]) -> Result<Vec<Picture>, AnalysisError> {
    let is_default = requests.is_empty();
    let requests = if is_default { default_requests(analysis) } else { requests.to_vec() };
    let mut drawn = Vec::new();
    for request in &requests {
        match picture(analysis, request)? {
            Some(picture) => drawn.push(picture),
            None if is_default => {}
            None => {
                let what = format!("{request:?} cannot be drawn: the metric is a text, or no density was estimated.");
                return Err(AnalysisError::Usage(what));
            }
        }
    }
    Ok(drawn)
}

fn default_requests(analysis: &Analysis) -> Vec<PlotRequest> {
    let name = |f: usize| analysis.table.columns[analysis.factors[f]].name.clone();
    let matter: Vec<usize> = by_importance(analysis).into_iter().filter(|&f| matters(analysis, f)).collect();
    let mut requests = vec![PlotRequest::Importance, PlotRequest::Density, PlotRequest::Tree];
    if let Some(&first) = matter.first() {
        requests.push(PlotRequest::Line(name(first), matter.get(1).map(|&f| name(f))));
    }
    requests.extend(matter.into_iter().take(4).map(|f| PlotRequest::Scatter(name(f))));
    requests
}

fn picture(analysis: &Analysis, request: &PlotRequest) -> Result<Option<Picture>, AnalysisError> {
    let find = |name: &String| {
        let what = || format!("There is {}.", analysis.table.lacks(name, " to plot"));
        analysis.table.find(name).ok_or_else(|| AnalysisError::Usage(what()))
    };
    let metric = &analysis.table.columns[analysis.metric].name;
    let (name, title, caption, svg) = match request {
        PlotRequest::Importance => (
            "importance".to_owned(),
            "Importance of the factors".to_owned(),
            format!("Blue: permutation importance. Grey: impurity importance. {IMPORTANCES}"),
            Some(plots::importance(analysis)),
        ),
        PlotRequest::Density => (
            "density".to_owned(),
            format!("Density of {metric}"),
            format!("Kernel density estimate ({}); dots are peaks, dashed lines the borders between categories.", analysis.categories.rule),
            plots::density(analysis),
        ),
        PlotRequest::Tree => (
            "tree".to_owned(),
            "Decision tree".to_owned(),
            "Of the rows that the tree was learnt from, each box has the number of those that arrive there, and a bar with their categories.".to_owned(),
            Some(plots::tree(analysis)),
        ),
        PlotRequest::Scatter(x) => (
            format!("scatter-{}", file_name(x)),
            format!("{metric} over {x}"),
            "One dot per row, coloured by category.".to_owned(),
            plots::scatter(analysis, find(x)?),
        ),
        PlotRequest::Line(x, by) => (
            std::iter::once(x).chain(by).fold("line".to_owned(), |name, part| format!("{name}-{}", file_name(part))),
            by.as_ref().map_or(format!("Median of {metric} over {x}"), |by| format!("Median of {metric} over {x}, by {by}")),
            "Each dot is the median of the rows there.".to_owned(),
            plots::line(analysis, find(x)?, by.as_ref().map(find).transpose()?),
        ),
    };
    Ok(svg.map(|svg| Picture { name, title, caption, svg }))
}

/// A column's name as part of a file's name.
fn file_name(column: &str) -> String {
    column.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '.') { c } else { '-' }).collect()
}

/// The page. The same input gives the same bytes.
///
/// ```
#[doc = include_str!("example.txt")]
/// let page = modeler::analysis::page(&found, "Threads", &[], &[]);
/// assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<h1>Threads</h1>"));
/// ```
#[must_use]
pub fn page(analysis: &Analysis, title: &str, pictures: &[Picture], warnings: &[String]) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            (head(title, WIDTHS))
            body {
                header {
                    h1 { (title) }
                    @for sentence in findings(analysis) { p { (sentence) } }
                }
                main {
                    (legend(analysis))
                    @for picture in pictures {
                        section { h2 { (picture.title) } figure { div.scroll { (picture.svg) } figcaption { (picture.caption) } } }
                    }
                    (confusion(analysis))
                    @if !(analysis.notes.is_empty() && warnings.is_empty()) {
                        section { h2 { "Left out" } ul { @for note in analysis.notes.iter().chain(warnings) { li { (note) } } } }
                    }
                }
                footer { "Made by Counterpoise. The page is complete in itself; numbers for machines come from " code { "poise analyze --format json" } "." }
            }
        }
    };
    markup.into_string()
}

fn legend(analysis: &Analysis) -> Markup {
    let (labels, counts) = (&analysis.categories.labels, analysis.categories.counts());
    html! {
        ul.legend {
            @for (i, label) in labels.iter().enumerate() {
                li {
                    svg.key.plot viewBox="0 0 30 14" aria-hidden="true" { rect x="1" y="1" width="28" height="12" fill=(plots::color(i, labels.len())) {} }
                    (label) " (" (counts[i]) " rows)"
                }
            }
        }
    }
}

fn confusion(analysis: &Analysis) -> Markup {
    let labels = &analysis.categories.labels;
    html! {
        section {
            h2 { "Confusion matrix" }
            p { "Rows that the tree had not seen: their category, and the one that the tree named." }
            div.scroll {
                table {
                    thead { tr { th scope="col" { "category" } @for label in labels { th.number scope="col" { "named " (label.split(':').next().unwrap_or(label)) } } } }
                    tbody {
                        @for (label, row) in labels.iter().zip(&analysis.tree.confusion) {
                            tr { td { (label) } @for count in row { td.number { (count) } } }
                        }
                    }
                }
            }
        }
    }
}
