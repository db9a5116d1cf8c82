//! Plain text tables: aligned columns, numbers to the right, nothing that a pipe would have to strip; and the ranking
//! of call paths as such a table.

use std::collections::HashSet;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::quantity::{interval, percent, quantity, shape};
use super::ranking::{Overtaking, Ranked, default_target, name_among, overtaking, rank, ranked_metric};
use super::reach;
use super::view::View;
use super::{ReportOptions, Table};
use crate::experiment::{CallPathId, Experiment, median};
use crate::fit::Fits;

/// Spaces between columns.
const GAP: &str = "  ";

/// The table as lines of text, each ended by a line feed. Text columns are aligned to the left and columns of numbers to
/// the right; wide and combining characters count with their width on a terminal. The last column is not padded.
#[must_use]
pub fn table(table: &Table) -> String {
    let widths = widths(table);
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
        let blanks = " ".repeat(widths[column] - cell.width());
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
#[derive(Clone, Copy, Debug, Default)]
pub struct Screen {
    /// Columns of the terminal; nothing is shortened or left out where there is none.
    pub width: Option<usize>,
    /// Most rows.
    pub rows: Option<usize>,
    /// Whether measurements are drawn in a line of blocks.
    pub sparklines: bool,
}

/// Columns that are left out first where the screen is narrow, by their heading.
const LEAST_NEEDED: [&str; 9] =
    ["along", "share today", "overtakes", "own then", "share then", "measured", "today", "interval", "growth"];
/// Narrower than this, names of call paths tell little, and other columns go first.
const NAME_WIDTH: usize = 28;

/// The ranking of call paths at the target of `options`, the most expensive first; nothing where there is no model.
#[must_use]
pub fn ranking(experiment: &Experiment, fits: &Fits, options: &ReportOptions, screen: Screen) -> Option<String> {
    let metric = ranked_metric(experiment, fits)?;
    let asked = options.target.clone().filter(|t| t.len() == experiment.parameters.len());
    let target = asked.unwrap_or_else(|| default_target(experiment));
    let view = View::new(experiment, fits, options, metric, target);
    let ranked = rank(&view.costs);
    let count = ranked.len().min(screen.rows.unwrap_or(usize::MAX));
    let mut all = ranking_table(&view, &ranked, count, screen.sparklines);
    if let Some(width) = screen.width {
        fit_to(&mut all, width);
    }
    let at = |x: &[f64]| super::markup::at(&experiment.parameters, x).replace('\u{a0}', " ");
    let mut text = format!("What will cost most at {}: {}\n", at(&view.costs.target), view.metric_text(metric));
    text.push_str(&table(&all));
    if count < ranked.len() {
        text.push_str(&format!("and {} more\n", ranked.len() - count));
    }
    text.push_str(&format!(
        "Today is the largest measured scale, {}{}\n",
        at(&view.costs.today),
        columns_of_today(&all)
    ));
    text.extend(view.costs.callees.sentence(experiment).map(|sentence| sentence + "\n"));
    text.extend(reach::of_ranking(experiment, &view.costs).map(|doubt| doubt + "\n"));
    Some(text)
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
        "call path",
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
    let (unit, is_inclusive) = (view.unit(), view.costs.is_inclusive());
    let row = |(place, r): (usize, &Ranked)| {
        let id = r.model.callpath;
        let found = overtaking(view.experiment, &view.costs, ranked, place, view.options.level);
        let mut cells = vec![
            (place + 1).to_string(),
            view.experiment.path(id).join(" -> "),
            shape(&view.experiment.parameters, r.model),
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
        "call path" => "total".to_owned(),
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
    let parts: HashSet<CallPathId> = view.costs.callees.parts(view.experiment, view.costs.metric).into_iter().collect();
    let counted = ranked.iter().filter(|r| parts.contains(&r.model.callpath));
    counted.map(|r| view.costs.measured(view.experiment, r.model.callpath)).sum()
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
    let levels = super::view::levels(view.experiment);
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

/// Leaves out columns and shortens the call paths until the table is at most `width` wide.
fn fit_to(table: &mut Table, width: usize) {
    let mut least_needed = LEAST_NEEDED.iter();
    let mut is_without_arguments = false;
    loop {
        let widths = widths(table);
        let path = widths[1];
        let others: usize = widths.iter().sum::<usize>() - path + GAP.len() * (widths.len() - 1);
        let room = width.saturating_sub(others);
        if room >= path {
            return;
        }
        // Argument lists are what a reader misses least.
        if !std::mem::replace(&mut is_without_arguments, true) {
            let names = |path: &str| path.split(" -> ").map(super::markup::shortened).collect::<Vec<_>>().join(" -> ");
            table.rows.iter_mut().for_each(|row| row[1] = names(&row[1]));
            continue;
        }
        let next = if room >= NAME_WIDTH { None } else { least_needed.next() };
        let Some(heading) = next else {
            table.rows.iter_mut().for_each(|row| row[1] = shortened(&row[1], room.max(8)));
            return;
        };
        if let Some(column) = table.header.iter().position(|h| h.starts_with(heading)) {
            leave_out(table, column);
        }
    }
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
        assert_eq!(shortened("main -> solve -> MPI_Allreduce", 9), "MPI_…duce");
        assert_eq!(shortened("計算計算計算", 7).width(), 7);
    }

    #[test]
    fn a_narrow_screen_keeps_what_matters() {
        let header = cells(&["#", "call path", "growth", "today", "predicted", "interval"]);
        let row = cells(&["1", "main -> a_long_caller -> a_longer_caller -> solve", "p", "1 s", "2 s", "1.5 s to 3 s"]);
        let wide = Table { header, rows: vec![row] };
        for width in [120, 80, 60, 45] {
            let mut narrow = wide.clone();
            fit_to(&mut narrow, width);
            let text = super::table(&narrow);
            assert!(text.lines().all(|line| line.width() <= width), "{width}:\n{text}");
            assert!(text.contains("solve") && text.contains("predicted"), "{width}:\n{text}");
            assert_eq!(text.contains("growth"), width >= 60, "{width}:\n{text}");
            assert_eq!(text.contains("interval"), width >= 80, "{width}:\n{text}");
        }
        let mut same = wide.clone();
        fit_to(&mut same, 120);
        assert_eq!(same, wide);
    }

    #[test]
    fn an_empty_table_is_no_text() {
        assert_eq!(table(&Table::default()), "");
    }
}
