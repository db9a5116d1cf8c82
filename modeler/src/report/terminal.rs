//! Plain text tables: aligned columns, numbers to the right, nothing that a pipe would have to strip; and the ranking
//! of call paths as such a table. Call paths are the last column, which is not padded: however deep the deepest is, lines of the
//! others stay short, and what stands before lines up.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::quantity::{interval, percent, quantity, shape};
use super::ranking::{Overtaking, Ranked, default_target, name_among, other_metrics, overtaking, rank, ranked_by};
use super::reach;
use super::view::View;
use super::{ReportOptions, Table};
use crate::experiment::{CallPathId, Experiment, median};
use crate::fit::Fits;

/// Spaces between columns.
const GAP: &str = "  ";
/// Longer cells push the rest of their own line to the right and leave the other lines as they are.
const MOST_PADDING: usize = 48;

/// The table as lines of text, each ended by a line feed. Text columns are aligned to the left and columns of numbers to
/// the right; wide and combining characters count with their width on a terminal. The last column is not padded, others at
/// most to 48 columns: nothing is cut.
///
/// ```
/// use modeler::report::{Table, terminal::table};
/// let cells = |row: [&str; 2]| row.map(str::to_owned).to_vec();
/// let rows = vec![cells(["solve", "1.5"]), cells(["io", "12.5"])];
/// let text = table(&Table { header: cells(["what", "s"]), rows });
/// assert_eq!(text, "what      s\n-----  ----\nsolve   1.5\nio     12.5\n");
/// ```
#[must_use]
pub fn table(table: &Table) -> String {
    lines(table, widths(table).into_iter().map(|width| width.min(MOST_PADDING)).collect())
}

fn lines(table: &Table, widths: Vec<usize>) -> String {
    let columns = widths.len();
    let rule: Vec<String>;
    let mut lines: Vec<&[String]> = Vec::new();
    if !table.header.is_empty() {
        rule = widths.iter().map(|&w| "-".repeat(w)).collect();
        lines.push(&table.header);
        lines.push(&rule);
    }
    lines.extend(table.rows.iter().map(Vec::as_slice));
    let right: Vec<bool> = (0..columns).map(|c| table.is_numeric(c)).collect();
    lines.iter().map(|cells| line(cells, &widths, &right)).collect()
}

/// The width of each column on a terminal.
fn widths(table: &Table) -> Vec<usize> {
    let columns = table.rows.iter().map(Vec::len).chain([table.header.len()]).max().unwrap_or(0);
    let widest = |c: usize| {
        let cells = table.rows.iter().chain([&table.header]).filter_map(|row| row.get(c));
        cells.map(|cell| shown(cell).width()).max().unwrap_or(0)
    };
    (0..columns).map(widest).collect()
}

fn line(cells: &[String], widths: &[usize], right: &[bool]) -> String {
    let mut text = String::new();
    for (column, cell) in cells.iter().enumerate() {
        let cell = shown(cell);
        let blanks = " ".repeat(widths[column].saturating_sub(cell.width()));
        if column > 0 {
            text.push_str(GAP);
        }
        let parts = if right[column] { [&*blanks, &*cell] } else { [&*cell, &*blanks] };
        text.extend(parts);
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// A cell on one line: control characters would move the cursor.
fn shown(cell: &str) -> String {
    cell.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Where a ranking is printed.
///
/// ```
/// use modeler::report::{ReportOptions, terminal::{Screen, ranking}};
/// # let of = |cost: fn(f64) -> f64| {
/// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
/// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
/// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// #     let fits = modeler::fit(&experiment, &Default::default());
/// #     (experiment, fits)
/// # };
/// let (experiment, fits) = of(|p| 4.0 * p);
/// let narrow = Screen { width: Some(60), ..Screen::default() };
/// let text = ranking(&experiment, &fits, &ReportOptions::default(), narrow).expect("there is a model");
/// assert!(text.lines().all(|line| line.chars().count() <= 60));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Screen {
    /// Columns of the terminal; nothing is shortened or left out where there is none.
    pub width: Option<usize>,
    /// Most rows.
    pub rows: Option<usize>,
    /// Whether measurements are drawn in a line of blocks.
    pub sparklines: bool,
}

/// Columns of the ranking that are left out first where the screen is narrow, by their heading.
const LEAST_NEEDED: [&str; 9] =
    ["along", "share today", "overtakes", "own then", "share then", "measured", "today", "growth", "interval"];
/// How the ranking fits a narrow screen: a prediction says nothing without its interval.
const NARROW_RANKING: Narrow = Narrow { least_needed: &LEAST_NEEDED, dear: &["growth", "interval"], broken: &[] };
/// Narrower than this, names of call paths tell little, and other columns go first.
const NAME_WIDTH: usize = 28;
/// The same where columns that are dear would go: a function's name mostly fits, but none of its callers.
const SHORT_NAME_WIDTH: usize = 24;
/// Formulas are not broken into narrower lines than this, or their part of it where several columns are broken.
const FORMULA_WIDTH: usize = 36;

/// What a table whose last column is call paths may do without where the screen is narrow.
///
/// ```
/// use modeler::report::{Table, terminal::{Narrow, fitted}};
/// let cells = |row: [&str; 3]| row.map(str::to_owned).to_vec();
/// let rows = vec![cells(["1.5", "a long remark that hardly matters", "main -> solve"])];
/// let all = Table { header: cells(["seconds", "note", "call path"]), rows };
/// let narrow = Narrow { least_needed: &["note"], ..Narrow::default() };
/// assert!(fitted(&all, Some(40), narrow).contains("left out: note"));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Narrow<'a> {
    /// Columns that are left out, first those that are needed least, by how their heading begins.
    pub least_needed: &'a [&'a str],
    /// Those of them for which names of call paths are shortened further before they are left out.
    pub dear: &'a [&'a str],
    /// The columns whose long cells are broken into several lines, at spaces.
    pub broken: &'a [&'a str],
}

/// [`table`] in at most `width` columns, where that is given: call paths, the last column, lose callers, and columns are left
/// out. A last line says what is missing.
///
/// ```
/// use modeler::report::{Table, terminal::{Narrow, fitted, table}};
/// let cells = |row: [&str; 2]| row.map(str::to_owned).to_vec();
/// let all = Table { header: cells(["seconds", "call path"]), rows: vec![cells(["1.5", "main -> solve"])] };
/// assert_eq!(fitted(&all, None, Narrow::default()), table(&all));
/// assert_eq!(fitted(&all, Some(80), Narrow::default()), table(&all)); // it fits
/// ```
#[must_use]
pub fn fitted(all: &Table, width: Option<usize>, narrow: Narrow) -> String {
    shown_and_text(all.clone(), width, narrow).1
}

/// The table as it is shown, and its text.
fn shown_and_text(mut shown: Table, width: Option<usize>, narrow: Narrow) -> (Table, String) {
    let Some(width) = width else {
        let text = table(&shown);
        return (shown, text);
    };
    let left_out = fit_to(&mut shown, width, narrow);
    let mut text = lines(&shown, widths(&shown));
    let mut missing: Vec<String> = Vec::new();
    if shown.rows.iter().any(|row| row.last().is_some_and(|path| path.contains('…'))) {
        missing.push("… stands for what was cut from names".into());
    }
    if !left_out.is_empty() {
        missing.push(format!("left out: {}", left_out.join(", ")));
    }
    if !missing.is_empty() {
        let missing = missing.join("; ");
        let said = format!("To fit {width} columns: {missing}. In a pipe or a file there is everything.\n");
        text.push_str(&wrapped(&said, Some(width)));
    }
    (shown, text)
}

/// Sentences that stand beside tables, in lines of at most `width` columns where that is given: broken at blanks, what goes on
/// indented as its line. Longer words stay whole.
///
/// ```
/// use modeler::report::terminal::wrapped;
/// assert_eq!(wrapped("one two three", Some(8)), "one two\nthree\n");
/// assert_eq!(wrapped("  one two three", Some(8)), "  one\n  two\n  three\n");
/// assert_eq!(wrapped("one two three", None), "one two three");
/// ```
#[must_use]
pub fn wrapped(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    let mut all = String::with_capacity(text.len());
    for line in text.lines() {
        let (words, indentation) = (line.trim_start(), line.len() - line.trim_start().len());
        let mut used = 0;
        for word in words.split(' ') {
            if used > 0 && used + 1 + word.width() > width {
                all.push('\n');
                used = 0;
            }
            let gap = if used == 0 { indentation } else { 1 };
            all.extend(std::iter::repeat_n(' ', gap));
            all.push_str(word);
            used += gap + word.width();
        }
        all.truncate(all.trim_end_matches(' ').len());
        all.push('\n');
    }
    all
}

/// The names of a call path, in at most `width` columns where that is given.
///
/// ```
/// use modeler::report::terminal::callpath;
/// assert_eq!(callpath(&["main", "solve"], None), "main -> solve");
/// assert!(callpath(&["main", "advance", "solve"], Some(12)).ends_with("solve")); // callers go first
/// ```
#[must_use]
pub fn callpath(names: &[&str], width: Option<usize>) -> String {
    let whole = names.join(" -> ");
    match width {
        Some(width) if whole.width() > width => {
            let short: Vec<String> = names.iter().map(|name| super::markup::shortened(name)).collect();
            shortened(&short.join(" -> "), width)
        }
        _ => whole,
    }
}

/// The ranking of call paths at the target of `options`, the most expensive first; nothing where there is no model.
///
/// ```
/// use modeler::report::{ReportOptions, terminal::{Screen, ranking}};
/// # let of = |cost: fn(f64) -> f64| {
/// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
/// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
/// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// #     let fits = modeler::fit(&experiment, &Default::default());
/// #     (experiment, fits)
/// # };
/// let (experiment, fits) = of(|p| 4.0 * p);
/// let text = ranking(&experiment, &fits, &ReportOptions::default(), Screen::default()).expect("there is a model");
/// assert!(text.starts_with("What will cost most at p = 64")); // twice the largest
/// assert!(text.contains("256") && text.contains("solve")); // 4 · 64
/// ```
#[must_use]
pub fn ranking(experiment: &Experiment, fits: &Fits, options: &ReportOptions, screen: Screen) -> Option<String> {
    let metric = ranked_by(experiment, fits, options)?;
    let asked = options.target.clone().filter(|t| t.len() == experiment.parameters.len());
    let target = asked.unwrap_or_else(|| default_target(experiment));
    let view = View::new(experiment, fits, options, metric, target);
    let ranked = rank(&view.costs);
    let count = ranked.len().min(screen.rows.unwrap_or(usize::MAX));
    let all = ranking_table(&view, &ranked, count, screen.sparklines);
    let at = |x: &[f64]| super::markup::at(&experiment.parameters, x).replace('\u{a0}', " ");
    let title = format!("What will cost most at {}: {}\n", at(&view.costs.target), view.metric_text(metric));
    let (shown, of_table) = shown_and_text(all, screen.width, NARROW_RANKING);
    let mut notes = String::new();
    if count < ranked.len() {
        notes.push_str(&format!("and {} more; -v shows all\n", ranked.len() - count));
    }
    notes.push_str(&format!(
        "Today is the largest measured value of every parameter, {}{}\n",
        at(&view.costs.today),
        columns_of_today(&shown)
    ));
    notes.extend(view.costs.callees.sentence(experiment).map(|sentence| sentence + "\n"));
    notes.extend(reach::left_out(view.costs.models.iter().flatten().copied()).map(|said| said + "\n"));
    notes.extend(reach::of_ranking(experiment, &view.costs).map(|doubt| doubt + "\n"));
    notes.extend(reach::of_places(&ranked, view.options.noun).map(|doubt| format!("(?): {doubt}\n")));
    let others = other_metrics(experiment, fits, metric);
    if !others.is_empty() {
        notes.push_str(&format!("Also modelled: {}; --metric NAME ranks by one of them.\n", others.join(", ")));
    }
    Some(wrapped(&title, screen.width) + &of_table + &wrapped(&notes, screen.width))
}

/// Which of the numbers of today are which, as far as the table has them.
fn columns_of_today(table: &Table) -> &'static str {
    let has = |name: &str| table.header.iter().any(|heading| heading == name);
    match (has("today"), has("measured")) {
        (true, true) => ": `today` is the model there, `measured` the median of the measurements.",
        (true, false) => "; `today` is the model there.",
        _ => ".",
    }
}

fn ranking_table(view: &View, ranked: &[Ranked], count: usize, sparklines: bool) -> Table {
    let along = along(view);
    let mut header: Vec<String> = [
        "#",
        "growth",
        "measured",
        "today",
        "predicted",
        "interval",
        "share today",
        "share then",
        "own then",
        "overtakes",
    ]
    .map(str::to_owned)
    .to_vec();
    if sparklines {
        header.push(format!("along {}", view.experiment.parameters[along]));
    }
    header.push(view.options.noun.to_owned());
    let (unit, is_inclusive) = (view.unit(), view.costs.is_inclusive());
    let row = |(place, r): (usize, &Ranked)| {
        let id = r.model.callpath;
        let found = overtaking(view.experiment, &view.costs, ranked, place, view.options.level);
        let mut cells = vec![
            (place + 1).to_string(),
            shape(&view.experiment.parameters, r.model) + if r.least.is_some() { " (?)" } else { "" },
            view.costs.measured(view.experiment, id).map_or_else(String::new, |value| quantity(value, unit)),
            quantity(view.costs.now[id as usize], unit),
            quantity(r.prediction.value, unit),
            interval(r.prediction.lower, r.prediction.upper, unit).replace('–', "to"),
            percent(view.costs.share_now(id)),
            percent(view.costs.share_then(id)),
            // Exclusive values are what a call path does itself: its share is its own.
            view.costs.own(id).filter(|_| is_inclusive).map_or_else(String::new, |own| percent(own.share_then)),
            found.map_or_else(String::new, |f| overtakes(view, &f)),
        ];
        if sparklines {
            cells.push(sparkline(view, r, along));
        }
        cells.push(view.experiment.path(id).join(" -> "));
        cells
    };
    let mut table = Table { header, rows: ranked.iter().take(count).enumerate().map(row).collect() };
    for heading in ["measured", "own then", "overtakes"] {
        if let Some(column) = table.header.iter().position(|h| h == heading)
            && table.rows.iter().all(|row| row[column].is_empty())
        {
            leave_out(&mut table, column);
        }
    }
    let total = total(view, ranked, &table.header);
    table.rows.push(total);
    table
}

/// The last row: the whole program, of which rows and call paths that are not shown are part too.
fn total(view: &View, ranked: &[Ranked], header: &[String]) -> Vec<String> {
    let (costs, unit) = (&view.costs, view.unit());
    let cell = |heading: &String| match heading.as_str() {
        name if name == view.options.noun => "total".to_owned(),
        "measured" => measured_total(view, ranked).map_or_else(String::new, |value| quantity(value, unit)),
        "today" => quantity(costs.total.0, unit),
        "predicted" => quantity(costs.total.1, unit),
        "interval" => interval(costs.total_interval.0, costs.total_interval.1, unit).replace('–', "to"),
        "share today" | "share then" => percent(1.0),
        _ => String::new(),
    };
    header.iter().map(cell).collect()
}

/// What was measured of the whole program today, where all of the call paths were that make it up.
pub(super) fn measured_total(view: &View, ranked: &[Ranked]) -> Option<f64> {
    let costs = &view.costs;
    let measured = |id: CallPathId| costs.measured(view.experiment, id);
    if !costs.is_inclusive() {
        return ranked.iter().map(|r| measured(r.model.callpath)).sum();
    }
    let parts = costs.callees.parts_by(view.experiment, |id| measured(id).unwrap_or(0.0));
    if parts.is_empty() { None } else { parts.into_iter().map(measured).sum() }
}

/// `sweep and 2 more from p = 61`, with a question mark where intervals leave a doubt.
fn overtakes(view: &View, found: &Overtaking) -> String {
    let name = name_among(view.experiment, found.other);
    let more = if found.more > 0 { format!(" and {} more", found.more) } else { String::new() };
    let changing = (0..found.at.len()).filter(|&l| view.costs.today[l] != view.costs.target[l]);
    let at: Vec<String> =
        changing.map(|l| format!("{} = {}", view.experiment.parameters[l], quantity(found.at[l], ""))).collect();
    let doubt = if found.is_certain { "" } else { " (?)" };
    format!("{name}{more} from {}{doubt}", at.join(", "))
}

/// The parameter with most values.
fn along(view: &View) -> usize {
    let levels = view.experiment.levels();
    (0..levels.len()).rev().max_by_key(|&l| levels[l].len()).unwrap_or(0)
}

/// The middle measurements along a parameter, from zero to the largest.
fn sparkline(view: &View, ranked: &Ranked, along: usize) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let model = ranked.model;
    let Some(series) = view.experiment.series_of(model.callpath, model.metric) else { return String::new() };
    let fixed = &view.slices[series.layout as usize][along].fixed;
    let on_line = |x: &[f64]| (0..fixed.len()).all(|l| l == along || x[l] == fixed[l]);
    let measured = view.experiment.measurements(series).filter(|(x, _)| on_line(x));
    let values: Vec<f64> = measured.map(|(_, values)| median(values)).collect();
    let most = values.iter().copied().fold(0.0, f64::max);
    let block = |v: &f64| if most > 0.0 { BLOCKS[((v / most * 8.0) as usize).min(7)] } else { BLOCKS[0] };
    values.iter().map(block).collect()
}

/// Leaves out columns, breaks lines and shortens the call paths until the table is at most `width` wide; the headings that
/// were left out.
fn fit_to(table: &mut Table, width: usize, narrow: Narrow) -> Vec<String> {
    let gaps = |columns: usize| GAP.len() * columns.saturating_sub(1);
    let all = widths(table);
    if all.is_empty() || all.iter().sum::<usize>() + gaps(all.len()) <= width {
        return Vec::new();
    }
    // Argument lists are what a reader misses least.
    without_arguments(table);
    let (left_out, name_width) = not_fitting(table, width, narrow);
    let headings = left_out.iter().map(|&column| table.header[column].clone()).collect();
    let mut from_the_right = left_out;
    from_the_right.sort_unstable_by_key(|&column| std::cmp::Reverse(column));
    from_the_right.into_iter().for_each(|column| leave_out(table, column));
    let widths = widths(table);
    let mut by_width = broken_columns(table, narrow);
    by_width.sort_by_key(|&column| widths[column]);
    let last = widths.len() - 1;
    let fixed: usize = (0..last).filter(|column| !by_width.contains(column)).map(|column| widths[column]).sum();
    let least = widths[last].min(name_width);
    // Columns that need less than their part leave it to the others.
    let mut room = width.saturating_sub(fixed + gaps(widths.len()) + least).max(FORMULA_WIDTH);
    let mut parts = Vec::new();
    for (i, &column) in by_width.iter().enumerate() {
        let part = widths[column].min(room / (by_width.len() - i));
        parts.push((column, part));
        room -= part;
    }
    break_cells(table, &parts);
    // Lines that were broken may be shorter than they had to be.
    let widths = self::widths(table);
    let room = width.saturating_sub(widths[..last].iter().sum::<usize>() + gaps(widths.len())).max(8);
    table.rows.iter_mut().for_each(|row| row[last] = shortened(&row[last], room));
    headings
}

/// The columns that must be left out for the others and short names to fit, in the order of [`Narrow::least_needed`]. One
/// that is wide may go late and leave room for some that went before it, which are not among them. Beside them the width that
/// names have at least.
fn not_fitting(table: &Table, width: usize, narrow: Narrow) -> (Vec<usize>, usize) {
    let (widths, broken) = (widths(table), broken_columns(table, narrow));
    let last = widths.len() - 1;
    let fits = |left_out: &[usize], name_width: usize| {
        let (formulas, others): (Vec<usize>, Vec<usize>) =
            (0..last).filter(|column| !left_out.contains(column)).partition(|column| broken.contains(column));
        let of = |columns: &[usize]| columns.iter().map(|&column| widths[column]).sum::<usize>();
        let gaps = GAP.len() * (formulas.len() + others.len());
        of(&others) + gaps + of(&formulas).min(FORMULA_WIDTH) + widths[last].min(name_width) <= width
    };
    let name_width = |heading: &str| if narrow.dear.contains(&heading) { SHORT_NAME_WIDTH } else { NAME_WIDTH };
    let column = |heading: &&str| table.header.iter().position(|own| own.starts_with(heading));
    let mut gone: Vec<(usize, usize)> = Vec::new();
    let columns = |gone: &[(usize, usize)]| gone.iter().map(|&(column, _)| column).collect::<Vec<usize>>();
    for heading in narrow.least_needed {
        if fits(&columns(&gone), name_width(heading)) {
            break;
        }
        gone.extend(column(heading).map(|column| (column, name_width(heading))));
    }
    for at in (0..gone.len()).rev() {
        let back = gone.remove(at);
        if !fits(&columns(&gone), back.1) {
            gone.insert(at, back);
        }
    }
    let left_out = columns(&gone);
    let name_width = if fits(&left_out, NAME_WIDTH) { NAME_WIDTH } else { SHORT_NAME_WIDTH };
    (left_out, name_width)
}

/// The columns whose cells may be broken.
fn broken_columns(table: &Table, narrow: Narrow) -> Vec<usize> {
    (0..table.header.len()).filter(|&column| narrow.broken.contains(&table.header[column].as_str())).collect()
}

/// Takes the arguments off the names of the last column.
fn without_arguments(table: &mut Table) {
    let names = |path: &str| path.split(" -> ").map(super::markup::shortened).collect::<Vec<_>>().join(" -> ");
    table.rows.iter_mut().filter_map(|row| row.last_mut()).for_each(|cell| *cell = names(cell));
}

/// Breaks cells of these columns that are wider than the width beside it into lines: rows in which the other columns are empty.
fn break_cells(table: &mut Table, columns: &[(usize, usize)]) {
    for mut row in std::mem::take(&mut table.rows) {
        let pieces: Vec<Vec<String>> = columns.iter().map(|&(column, width)| broken(&row[column], width)).collect();
        for (&(column, _), pieces) in columns.iter().zip(&pieces) {
            row[column] = pieces.first().cloned().unwrap_or_default();
        }
        let (count, cells) = (pieces.iter().map(Vec::len).max().unwrap_or(0), row.len());
        table.rows.push(row);
        for line in 1..count {
            let mut more = vec![String::new(); cells];
            for (&(column, _), pieces) in columns.iter().zip(&pieces) {
                more[column] = pieces.get(line).map_or_else(String::new, |piece| format!("  {piece}"));
            }
            table.rows.push(more);
        }
    }
}

/// Text in lines of at most `width` columns, broken before a plus where that is possible, or else at spaces; further lines
/// leave room for an indentation of two. Words that are longer stay whole.
fn broken(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (i, summand) in text.split(" + ").enumerate() {
        let summand = if i > 0 { format!("+ {summand}") } else { summand.to_owned() };
        let room = |lines: &[String]| if lines.len() > 1 { width.saturating_sub(2) } else { width };
        match lines.last_mut().map(|line| (line.width() + 1 + summand.width(), line)) {
            Some((together, line)) if together <= width.saturating_sub(2) => *line += &format!(" {summand}"),
            _ => {
                for (i, word) in summand.split(' ').enumerate() {
                    let most = room(&lines);
                    match lines.last_mut() {
                        Some(line) if i > 0 && line.width() + 1 + word.width() <= most => *line += &format!(" {word}"),
                        _ => lines.push(word.to_owned()),
                    }
                }
            }
        }
    }
    lines
}

fn leave_out(table: &mut Table, column: usize) {
    table.header.remove(column);
    table.rows.iter_mut().for_each(|row| drop(row.remove(column)));
}

/// A call path in at most `width` columns: callers go first, then the middle of the last name.
fn shortened(path: &str, width: usize) -> String {
    let path = shown(path);
    if path.width() <= width {
        return path;
    }
    let whole_names = path.match_indices(" -> ").map(|(at, _)| &path[at..]);
    if let Some(rest) = whole_names.into_iter().find(|rest| rest.width() < width) {
        return format!("…{rest}");
    }
    let last = path.rsplit(" -> ").next().unwrap_or(&path);
    if last.width() < width {
        return format!("…{last}");
    }
    let head = taken(last.chars(), width / 2);
    // What the head leaves, since characters of two columns do not always fill its half.
    let tail: String = taken(last.chars().rev(), width.saturating_sub(1 + head.width())).chars().rev().collect();
    format!("{head}…{tail}")
}

/// The first characters that fit into `width` columns.
fn taken(characters: impl Iterator<Item = char>, width: usize) -> String {
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= width
    };
    characters.take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(row: &[&str]) -> Vec<String> {
        row.iter().map(|&c| c.to_owned()).collect()
    }

    #[test]
    fn columns_line_up_by_terminal_width() {
        let rows = vec![cells(&["main", "1.5", "a"]), cells(&["計算->é", "12.25", "b\tc"]), cells(&["x", "n/a", ""])];
        let text = table(&Table { header: cells(&["call path", "time", "note"]), rows });
        // The two wide characters take two columns each.
        let expected = "call path   time  note\n---------  -----  ----\nmain         1.5  a\n計算->é    12.25  b c\nx            n/a\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn call_paths_lose_callers_first_and_then_their_middle() {
        assert_eq!(shortened("main -> solve", 20), "main -> solve");
        assert_eq!(shortened("main -> solve -> MPI_Allreduce", 28), "… -> solve -> MPI_Allreduce");
        assert_eq!(shortened("main -> solve -> MPI_Allreduce", 20), "… -> MPI_Allreduce");
        // No room for an arrow, and then none for the callers' mark.
        assert_eq!(shortened("main -> solve -> MPI_Allreduce", 14), "…MPI_Allreduce");
        assert_eq!(shortened("main -> solve -> MPI_Allreduce", 13), "MPI_Al…reduce");
        assert_eq!(shortened("main -> solve -> MPI_Allreduce", 9), "MPI_…duce");
        assert_eq!(shortened("計算計算計算", 7).width(), 7);
    }

    const NARROW: Narrow = NARROW_RANKING;

    #[test]
    fn a_narrow_screen_keeps_what_matters() {
        let header = cells(&["#", "growth", "today", "predicted", "interval", "call path"]);
        let row = cells(&["1", "p", "1 s", "2 s", "1.5 s to 3 s", "main -> a_caller -> a_longer_caller -> solve"]);
        let wide = Table { header, rows: vec![row] };
        for width in [120, 80, 60, 45] {
            let text = fitted(&wide, Some(width), NARROW);
            let (table, said) = text.split_once("To fit").unwrap_or((&text, ""));
            assert!(table.lines().all(|line| line.width() <= width), "{width}:\n{text}");
            assert!(table.contains("solve") && table.contains("predicted"), "{width}:\n{text}");
            for (heading, least) in [("growth", 60), ("interval", 60), ("today", 80)] {
                assert_eq!(table.contains(heading), width >= least, "{width} {heading}:\n{text}");
                assert_eq!(said.contains(heading), width < least, "what is left out is said at {width}:\n{text}");
            }
            assert_eq!(said.contains('…'), width < 120 && table.contains('…'), "{width}:\n{text}");
        }
        assert_eq!(fitted(&wide, Some(120), NARROW), table(&wide));
        assert_eq!(fitted(&wide, None, NARROW), table(&wide));
    }

    /// What went before a wide column that does not fit either is shown where that one leaves room for it.
    #[test]
    fn columns_come_back_where_a_wide_one_went_after_them() {
        let header = cells(&["#", "growth", "today", "predicted", "interval", "share then", "call path"]);
        let growth = "p * log2(p) + n^2 * log2(n) + p^(2/3) * n * log2(n)";
        let row = cells(&["1", growth, "1 s", "2 s", "1.5 s to 3 s", "100 %", "main -> a_caller -> solve"]);
        let wide = Table { header, rows: vec![row] };
        let text = fitted(&wide, Some(80), NARROW);
        let (table, said) = text.split_once("To fit").unwrap();
        // Without `growth` the columns are 1, 5, 9, 12, 10 and 25 wide, with five gaps of two: 72.
        assert!(table.lines().all(|line| line.width() == 72 || !line.starts_with('-')), "{text}");
        assert!(["today", "share then", "main -> a_caller -> solve"].iter().all(|kept| table.contains(kept)), "{text}");
        assert!(said.contains("left out: growth.") && !said.contains("today"), "{text}");
        // Of those that went before, the one that is needed most comes back first: `today`, with which they take all 60.
        let text = fitted(&wide, Some(60), NARROW);
        assert!(text.contains("today") && text.contains("left out: share then, growth"), "{text}");
    }

    /// Without a width nothing is cut, and one deep call path or long formula makes no other line long.
    #[test]
    fn long_cells_are_whole_and_lengthen_their_own_lines_alone() {
        let deep = ["a_name_of_a_function"; 300].join(" -> ");
        let long = ["1.25e-6 * n^2 * log2(p)"; 20].join(" + ");
        let rows = vec![cells(&["1 s", "n", "main"]), cells(&["2 s", &long, &deep]), cells(&["3 s", "p", "main -> b"])];
        let text = table(&Table { header: cells(&["time", "model", "call path"]), rows });
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[3].contains(&long) && lines[3].ends_with(&deep));
        let others = [0, 1, 2, 4].map(|i| lines[i].len());
        // The longest is the rule, of which each column has its padding.
        assert!(others.iter().all(|&length| length < 80 + MOST_PADDING), "{others:?}");
        assert_eq!(lines[2].find("main"), lines[4].find("main"), "what is not too long lines up");
    }

    #[test]
    fn formulas_are_broken_before_a_plus_and_nothing_of_them_is_lost() {
        let formula = "4.65e-5 + 1.1e-6 * n^2 * log2(p) + 2.5e-7 * n^(2/3) * log2(n)^2 + 1.75e-9 * p";
        let header = cells(&["growth", "model", "error", "call path"]);
        let rows = vec![cells(&["n^2 * log2(p)", formula, "3.1 %", "main -> caller -> other_caller -> solve"])];
        let narrow = Narrow { least_needed: &["growth"], dear: &[], broken: &["model"] };
        let text = fitted(&Table { header, rows }, Some(80), narrow);
        let (table, said) = text.split_once("To fit").unwrap();
        assert!(table.lines().all(|line| line.width() <= 80), "{text}");
        assert!(said.contains("left out: growth"), "{text}");
        let words: Vec<&str> = table.split_whitespace().collect();
        let found = formula.split(' ').filter(|word| words.contains(word)).count();
        assert_eq!(found, formula.split(' ').count(), "{text}");
        assert!(table.lines().skip(3).all(|line| line.trim_start().starts_with('+')), "{text}");
    }

    #[test]
    fn sentences_are_broken_at_blanks_and_lose_no_word() {
        let text = "A sentence of several words.\n  main -> solve: indented, and a_very_long_word_that_is_wider_than_that goes on.\n";
        assert_eq!(wrapped(text, None), text);
        let expected = "A sentence of several\nwords.\n  main -> solve:\n  indented, and\n  a_very_long_word_that_is_wider_than_that\n  goes on.\n";
        assert_eq!(wrapped(text, Some(22)), expected);
        assert_eq!(wrapped("", Some(20)), "");
    }

    #[test]
    fn an_empty_table_is_no_text() {
        assert_eq!(table(&Table::default()), "");
    }
}
