//! Pictures of an analysis as SVG: scatter, line, density, tree and importance.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::findings::by_importance;
use super::tree::{Question, Tree};
use super::{Analysis, Column, Values};
use crate::report::{Axis, quantity};

/// A picture that was asked for.
///
/// ```
/// use modeler::analysis::PlotRequest;
/// assert_eq!("line:p:host".parse(), Ok(PlotRequest::Line("p".into(), Some("host".into()))));
/// assert!("pie".parse::<PlotRequest>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlotRequest {
    /// The metric's density, with the categories' borders.
    Density,
    /// The tree.
    Tree,
    /// How much each factor matters.
    Importance,
    /// The metric of every row over a column.
    Scatter(String),
    /// The metric's median over a column, a line for each value of another.
    Line(String, Option<String>),
}

impl std::str::FromStr for PlotRequest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':').map(|part| part.trim().to_owned());
        let (kind, x, by) = (parts.next(), parts.next().filter(|x| !x.is_empty()), parts.next());
        match (kind.as_deref(), x, by, parts.next()) {
            (Some("density"), None, None, None) => Ok(Self::Density),
            (Some("tree"), None, None, None) => Ok(Self::Tree),
            (Some("importance"), None, None, None) => Ok(Self::Importance),
            (Some("scatter"), Some(x), None, None) => Ok(Self::Scatter(x)),
            (Some("line"), Some(x), by, None) => Ok(Self::Line(x, by)),
            _ => Err(format!(
                "`{text}` is no plot; give density, tree, importance, scatter:COLUMN, line:COLUMN or line:COLUMN:COLUMN"
            )),
        }
    }
}

const WIDTH: f64 = 620.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 44.0;
/// Lines of one plot and texts along an axis, at most; more cannot be told apart.
const MOST: usize = 12;

/// The colour of one of `count` ordered things, from blue to red.
pub(crate) fn color(index: usize, count: usize) -> String {
    let hue = 215.0 - 205.0 * index as f64 / (count.max(2) - 1) as f64;
    format!("hsl({hue:.0} 62% 47%)")
}

/// Where a column's values lie along the horizontal axis.
enum Across {
    Numbers(Axis),
    Texts(Vec<String>),
}

impl Across {
    fn of(column: &Column) -> Option<Self> {
        match &column.values {
            Values::Numbers(values) => Axis::over(values.iter().copied(), false).map(|a| Self::Numbers(a.padded(0.05))),
            Values::Texts(_) => Some(Self::Texts(column.levels())),
        }
    }

    /// A share of the width for each row; texts lie in the middle of their part.
    fn place(&self, column: &Column, row: usize) -> f64 {
        match (self, &column.values) {
            (Self::Numbers(axis), Values::Numbers(values)) => axis.place(values[row]),
            (Self::Texts(levels), Values::Texts(texts)) => {
                let index = levels.iter().position(|l| *l == texts[row]).unwrap_or(0);
                (index as f64 + 0.5) / levels.len() as f64
            }
            _ => 0.0,
        }
    }

    fn ticks(&self, column: &Column) -> Vec<(f64, String)> {
        match self {
            Self::Numbers(axis) => {
                // Values that were chosen are the better ticks where there are few.
                let Values::Numbers(values) = &column.values else { return Vec::new() };
                let mut different = values.clone();
                different.sort_by(f64::total_cmp);
                different.dedup();
                let ticks = if different.len() <= 8 { different } else { axis.ticks() };
                let mut kept: Vec<(f64, String)> = Vec::new();
                for tick in ticks {
                    let place = axis.place(tick);
                    if kept.last().is_none_or(|(last, text)| place - last > 0.013 * text.len() as f64 + 0.02) {
                        kept.push((place, quantity(tick, &column.unit)));
                    }
                }
                kept
            }
            Self::Texts(levels) => {
                let every = levels.len().div_ceil(MOST);
                let label = |(i, text): (usize, &String)| ((i as f64 + 0.5) / levels.len() as f64, short(text, 12));
                levels.iter().enumerate().step_by(every).map(label).collect()
            }
        }
    }
}

/// The text, or its beginning and an ellipsis.
fn short(text: &str, most: usize) -> String {
    if text.chars().count() <= most { text.to_owned() } else { text.chars().take(most - 1).chain(['…']).collect() }
}

fn at(x: f64, y: f64) -> (f64, f64) {
    (LEFT + x * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - y * (HEIGHT - TOP - BOTTOM))
}

/// Axes with their ticks: places and labels along both, and what they mean; `room` is left on the right.
fn frame(x: (&str, Vec<(f64, String)>), y: (&str, Vec<(f64, String)>), room: f64, inner: Markup) -> Markup {
    let bottom = HEIGHT - BOTTOM;
    html! {
        svg.plot xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {} {HEIGHT}", WIDTH + room)) role="img" aria-label=(format!("{} over {}", y.0, x.0)) {
            @for (place, label) in &y.1 {
                @let (_, y) = at(0.0, *place);
                line.grid x1=(LEFT) x2=(WIDTH - RIGHT) y1=(format!("{y:.1}")) y2=(format!("{y:.1}")) {}
                text x=(LEFT - 7.0) y=(format!("{:.1}", y + 3.8)) text-anchor="end" { (label) }
            }
            @for (place, label) in &x.1 {
                @let (x, _) = at(*place, 0.0);
                line.tick x1=(format!("{x:.1}")) x2=(format!("{x:.1}")) y1=(bottom) y2=(bottom + 4.0) {}
                text x=(format!("{x:.1}")) y=(bottom + 17.0) text-anchor="middle" { (label) }
            }
            line.axis x1=(LEFT) x2=(WIDTH - RIGHT) y1=(bottom) y2=(bottom) {}
            text.name x=(format!("{:.1}", (LEFT + WIDTH - RIGHT) / 2.0)) y=(HEIGHT - 8.0) text-anchor="middle" { (x.0) }
            (inner)
        }
    }
}

/// The vertical axis of a metric of numbers.
fn up(column: &Column) -> Option<(Axis, Vec<(f64, String)>)> {
    let Values::Numbers(values) = &column.values else { return None };
    let axis = Axis::over(values.iter().copied(), true)?.padded(0.06);
    let ticks = axis.ticks().into_iter().map(|t| (axis.place(t), quantity(t, &column.unit))).collect();
    Some((axis, ticks))
}

/// The metric of every row over `column`, coloured by category.
pub(crate) fn scatter(analysis: &Analysis, column: usize) -> Option<Markup> {
    let (x, y) = (&analysis.shown().columns[column], &analysis.shown().columns[analysis.metric]);
    let (across, (axis, ticks)) = (Across::of(x)?, up(y)?);
    let Values::Numbers(values) = &y.values else { return None };
    let count = analysis.categories.labels.len();
    let dots = html! {
        @for (row, &value) in values.iter().enumerate() {
            // Rows at the same place are spread a little, each by its own fixed amount.
            @let shift = ((row * 7919 % 101) as f64 / 101.0 - 0.5) * 0.02;
            @let (cx, cy) = at(across.place(x, row) + shift, axis.place(value));
            circle cx=(format!("{cx:.1}")) cy=(format!("{cy:.1}")) r="3" fill=(color(analysis.categories.of[row], count)) fill-opacity="0.6" {}
        }
    };
    Some(frame((&x.name, across.ticks(x)), (&y.name, ticks), 0.0, dots))
}

/// The metric's median over `column`, a line per value of `by`.
pub(crate) fn line(analysis: &Analysis, column: usize, by: Option<usize>) -> Option<Markup> {
    let (x, y) = (&analysis.shown().columns[column], &analysis.shown().columns[analysis.metric]);
    let (across, (axis, ticks)) = (Across::of(x)?, up(y)?);
    let Values::Numbers(values) = &y.values else { return None };
    let groups = groups(analysis, by);
    let count = groups.len();
    let lines = html! {
        @for (i, (label, rows)) in groups.iter().enumerate().take(MOST) {
            @let medians = medians(rows, |row| across.place(x, row), values);
            path fill="none" stroke=(color(i, count.min(MOST))) stroke-width="2" d=(path(medians.iter().map(|&(x, v)| (x, axis.place(v))))) {}
            @for &(x, v) in &medians {
                @let (cx, cy) = at(x, axis.place(v));
                circle cx=(format!("{cx:.1}")) cy=(format!("{cy:.1}")) r="2.6" fill=(color(i, count.min(MOST))) {}
            }
            @if !label.is_empty() {
                text x=(WIDTH - RIGHT + 8.0) y=(TOP + 12.0 + 14.0 * i as f64) style=(format!("fill:{}", color(i, count.min(MOST)))) { (label) }
            }
        }
    };
    Some(frame((&x.name, across.ticks(x)), (&y.name, ticks), if by.is_some() { 110.0 } else { 0.0 }, lines))
}

/// Lines through points on linear axes from zero, each with its label, as an SVG file. `None` where nothing is finite.
///
/// ```
/// use modeler::analysis::lines;
/// let line = ("8 threads".to_owned(), vec![(1.0, 2.0), (2.0, 4.0)]);
/// assert!(lines("n", "seconds", &[line]).is_some_and(|svg| svg.contains("8 threads")));
/// assert_eq!(lines("n", "seconds", &[]), None);
/// ```
#[must_use]
pub fn lines(x: &str, y: &str, lines: &[(String, Vec<(f64, f64)>)]) -> Option<String> {
    let points = || lines.iter().flat_map(|(_, points)| points);
    let largest = |of: fn(&(f64, f64)) -> f64| points().map(of).filter(|v| v.is_finite()).fold(0.0, f64::max);
    let (right, top) = (largest(|p| p.0) * 1.04, largest(|p| p.1) * 1.08);
    let ends = |most: f64| Axis::over([0.0, most].into_iter(), true).filter(|_| most > 0.0);
    let (across, up) = (ends(right)?, ends(top)?);
    let ticks = |axis: &Axis| axis.ticks().into_iter().map(|t| (axis.place(t), quantity(t, ""))).collect();
    let place = |&(x, y): &(f64, f64)| (across.place(x), up.place(y));
    let inner = html! {
        @for (i, (label, points)) in lines.iter().enumerate() {
            path fill="none" stroke=(color(i, lines.len())) stroke-width="2" d=(path(points.iter().map(place))) {}
            @for point in points {
                @let (cx, cy) = at(place(point).0, place(point).1);
                circle cx=(format!("{cx:.1}")) cy=(format!("{cy:.1}")) r="2.8" fill=(color(i, lines.len())) {}
            }
            text x=(LEFT + 12.0) y=(TOP + 12.0 + 15.0 * i as f64) style=(format!("fill:{}", color(i, lines.len()))) { (label) }
        }
        text.name x=(LEFT - 7.0) y=(TOP - 3.0) text-anchor="end" { (y) }
    };
    Some(super::page::standing_alone(&frame((x, ticks(&across)), (y, ticks(&up)), 0.0, inner)))
}

/// Rows by the value of a column; all together without one.
fn groups(analysis: &Analysis, by: Option<usize>) -> Vec<(String, Vec<usize>)> {
    let Some(by) = by else { return vec![(String::new(), (0..analysis.table.rows()).collect())] };
    let column = &analysis.table.columns[by];
    let mut rows: Vec<usize> = (0..analysis.table.rows()).collect();
    let order = |a: usize, b: usize| match &column.values {
        Values::Numbers(values) => values[a].total_cmp(&values[b]),
        Values::Texts(texts) => texts[a].cmp(&texts[b]),
    };
    rows.sort_by(|&a, &b| order(a, b));
    let same = |a: &usize, b: &usize| order(*a, *b).is_eq();
    rows.chunk_by(same)
        .map(|rows| (format!("{} = {}", column.name, short(&column.cell(rows[0]), 20)), rows.to_vec()))
        .collect()
}

/// The median of `values` at each place, ascending.
fn medians(rows: &[usize], place: impl Fn(usize) -> f64, values: &[f64]) -> Vec<(f64, f64)> {
    let mut pairs: Vec<(f64, f64)> = rows.iter().map(|&row| (place(row), values[row])).collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let middle = |group: &[(f64, f64)]| {
        let sorted: Vec<f64> = group.iter().map(|p| p.1).collect();
        (group[0].0, super::density::quantile(&sorted, 0.5))
    };
    pairs.chunk_by(|a, b| a.0 == b.0).map(middle).collect()
}

fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    for (x, y) in points {
        let (x, y) = at(x, y);
        let _ = write!(path, "{}{x:.1} {y:.1}", if path.is_empty() { 'M' } else { 'L' });
    }
    path
}

/// The density with the borders between categories; each category's part in its colour.
pub(crate) fn density(analysis: &Analysis) -> Option<Markup> {
    const STEPS: usize = 400;
    let (found, metric) = (&analysis.categories, &analysis.table.columns[analysis.metric]);
    let density = found.density.as_ref()?;
    let scale = |x: f64| if found.is_logarithmic { x.log10() } else { x };
    let unscale = |x: f64| if found.is_logarithmic { 10f64.powf(x) } else { x };
    let curve = density.curve(STEPS, 3.0);
    let (low, high) = (curve[0].0, curve[STEPS - 1].0);
    let highest = curve.iter().map(|c| c.1).fold(0.0, f64::max) * 1.06;
    let across = |x: f64| (x - low) / (high - low);
    let borders: Vec<f64> = found.borders.iter().map(|&b| scale(b)).collect();
    let axis = Axis::over([unscale(low), unscale(high)].into_iter(), false)?;
    let ticks = axis.ticks().into_iter().map(|t| (across(scale(t)), quantity(t, &metric.unit))).collect();
    let part = |category: usize| {
        let from = if category == 0 { low } else { borders[category - 1] };
        let to = borders.get(category).copied().unwrap_or(high);
        let inner = curve.iter().copied().filter(|&(x, _)| from < x && x < to);
        let ends = |x: f64| (x, density.at(x));
        let points: Vec<(f64, f64)> = std::iter::once(ends(from)).chain(inner).chain([ends(to)]).collect();
        let outline = [vec![(from, 0.0)], points, vec![(to, 0.0)]].concat();
        path(outline.into_iter().map(|(x, y)| (across(x), y / highest)))
    };
    let inner = html! {
        @for category in 0..found.labels.len() {
            path d=(part(category)) fill=(color(category, found.labels.len())) fill-opacity="0.55" {}
        }
        @for &border in &borders {
            @let ((x, bottom), (_, top)) = (at(across(border), 0.0), at(0.0, 1.0));
            line stroke="currentColor" stroke-dasharray="4 3" x1=(format!("{x:.1}")) x2=(format!("{x:.1}")) y1=(bottom) y2=(top) {}
        }
        @for &peak in &found.peaks {
            @let (x, y) = at(across(scale(peak)), density.at(scale(peak)) / highest);
            circle cx=(format!("{x:.1}")) cy=(format!("{y:.1}")) r="3.4" fill="currentColor" {}
        }
    };
    Some(frame((&metric.name, ticks), ("density", Vec::new()), 0.0, inner))
}

/// Bars of both importances, the factor that matters most first.
pub(crate) fn importance(analysis: &Analysis) -> Markup {
    const ROW: f64 = 34.0;
    const NAME: f64 = 150.0;
    let order = by_importance(analysis);
    let of = |f: usize| &analysis.forest.importance[f];
    let most = order.iter().flat_map(|&f| [of(f).permutation, of(f).impurity]).fold(1e-9, f64::max);
    let height = ROW * order.len() as f64 + 8.0;
    let room = WIDTH - NAME - 60.0;
    html! {
        svg.plot xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-label="importance of the factors" {
            @for (i, &f) in order.iter().enumerate() {
                @let y = 4.0 + ROW * i as f64;
                text.name x=(NAME - 8.0) y=(y + 19.0) text-anchor="end" { (short(&analysis.table.columns[analysis.factors[f]].name, 20)) }
                @for (k, (value, fill)) in [(of(f).permutation, color(0, 2)), (of(f).impurity, "hsl(215 20% 68%)".to_owned())].into_iter().enumerate() {
                    @let (top, width) = (y + 3.0 + 13.0 * k as f64, (value.max(0.0) / most * room).max(1.0));
                    rect x=(NAME) y=(top) width=(format!("{width:.1}")) height="11" fill=(fill) {}
                    text x=(format!("{:.1}", NAME + width + 6.0)) y=(top + 9.5) { (format!("{value:.3}")) }
                }
            }
        }
    }
}

const BOX: (f64, f64) = (172.0, 62.0);
const STEP: (f64, f64) = (184.0, 100.0);

/// The tree: a box per node with its question or category, and a bar of the categories of its rows. Questions whose answers
/// change no category are not asked.
pub(crate) fn tree(analysis: &Analysis) -> Markup {
    let tree = &analysis.tree.tree;
    let mut places = vec![None; tree.nodes.len()];
    let mut next = 0.0;
    lay_out(tree, 0, 0, &mut next, &mut places);
    let shown: Vec<(usize, (f64, usize))> = places.iter().enumerate().filter_map(|(i, p)| Some((i, (*p)?))).collect();
    let depth = shown.iter().map(|(_, p)| p.1).max().unwrap_or(0);
    let (width, height) = (next * STEP.0 + 8.0, (depth + 1) as f64 * STEP.1 - 30.0);
    let corner = |i: usize| {
        let (x, depth) = places[i].unwrap_or_default();
        (x * STEP.0 + 10.0, depth as f64 * STEP.1 + 4.0)
    };
    html! {
        svg.plot xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {width} {height}")) style=(format!("min-width:{:.0}px;max-width:{width:.0}px", width.min(1400.0) * 0.8)) role="img" aria-label="decision tree" {
            @for &(i, _) in &shown {
                @if let Some(split) = tree.deciding(i) {
                    @for (child, label) in [(split.yes, "yes"), (split.no, "no")] {
                        @let ((x, y), (cx, cy)) = (corner(i), corner(child));
                        @let (x, cx, y) = (x + BOX.0 / 2.0, cx + BOX.0 / 2.0, y + BOX.1);
                        line.axis x1=(x) y1=(y) x2=(cx) y2=(cy) {}
                        text x=((x + 2.0 * cx) / 3.0) y=(y + 26.0) text-anchor="middle" { (label) }
                    }
                }
            }
            @for &(i, _) in &shown { (node_box(analysis, i, corner(i))) }
        }
    }
}

/// Leaves side by side, nodes in the middle above their branches.
fn lay_out(tree: &Tree, node: usize, depth: usize, next: &mut f64, places: &mut [Option<(f64, usize)>]) -> f64 {
    let x = match tree.deciding(node) {
        Some(split) => {
            let yes = lay_out(tree, split.yes, depth + 1, next, places);
            0.5 * (yes + lay_out(tree, split.no, depth + 1, next, places))
        }
        None => {
            *next += 1.0;
            *next - 1.0
        }
    };
    places[node] = Some((x, depth));
    x
}

fn node_box(analysis: &Analysis, index: usize, (x, y): (f64, f64)) -> Markup {
    let (node, split) = (&analysis.tree.tree.nodes[index], analysis.tree.tree.deciding(index));
    let (count, category) = (analysis.categories.labels.len(), node.category());
    let title = match split {
        Some(split) => question(analysis, split.factor, &split.question),
        None => analysis.categories.labels[category].clone(),
    };
    let frame = if split.is_some() { "var(--rule)".to_owned() } else { color(category, count) };
    let width = |rows: usize| (BOX.0 - 16.0) * rows as f64 / node.rows().max(1) as f64;
    let mut bars = Vec::new();
    let mut left = x + 8.0;
    for (c, &rows) in node.counts.iter().enumerate().filter(|(_, rows)| **rows > 0) {
        bars.push((left, width(rows), color(c, count)));
        left += width(rows);
    }
    html! {
        rect x=(x) y=(y) width=(BOX.0) height=(BOX.1) rx="5" fill="var(--paper)" stroke=(frame) stroke-width="1.8" {}
        text.name x=(x + BOX.0 / 2.0) y=(y + 18.0) text-anchor="middle" { (short(&title, 24)) title { (title) } }
        text x=(x + BOX.0 / 2.0) y=(y + 34.0) text-anchor="middle" { (node.rows()) " rows" }
        @for (left, width, fill) in bars {
            rect x=(format!("{left:.1}")) y=(y + 43.0) width=(format!("{width:.1}")) height="10" fill=(fill) {}
        }
    }
}

/// `p ≤ 8?`, `host is node3?`.
///
/// ```
#[doc = include_str!("example.txt")]
/// use modeler::analysis::{Question, question};
/// assert_eq!(question(&found, 0, &Question::AtMost(4.5)), "threads ≤ 4.50?");
/// ```
#[must_use]
pub fn question(analysis: &Analysis, factor: usize, question: &Question) -> String {
    let column = &analysis.table.columns[analysis.factors[factor]];
    match question {
        Question::AtMost(x) => format!("{} ≤ {}?", column.name, quantity(*x, &column.unit)),
        Question::Is(text) => format!("{} is {text}?", column.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_typed() {
        assert_eq!("scatter:p".parse(), Ok(PlotRequest::Scatter("p".into())));
        assert_eq!("line:p:host".parse(), Ok(PlotRequest::Line("p".into(), Some("host".into()))));
        for wrong in ["scatter", "scatter:", "density:p", "pie", "line:a:b:c", ""] {
            assert!(wrong.parse::<PlotRequest>().unwrap_err().contains("is no plot"), "{wrong}");
        }
    }

    #[test]
    fn medians_are_taken_at_each_place() {
        let places = [1.0, 1.0, 1.0, 2.0, 2.0];
        assert_eq!(medians(&[0, 1, 2, 3, 4], |r| places[r], &[9.0, 1.0, 2.0, 4.0, 6.0]), [(1.0, 2.0), (2.0, 5.0)]);
    }
}
