//! Plain text tables: aligned columns, numbers to the right, nothing that a pipe would have to strip.

use unicode_width::UnicodeWidthStr;

use super::Table;

/// Spaces between columns.
const GAP: &str = "  ";

/// The table as lines of text, each ended by a line feed. Text columns are aligned to the left and columns of numbers to
/// the right; wide and combining characters count with their width on a terminal. The last column is not padded.
#[must_use]
pub fn table(table: &Table) -> String {
    let columns = table.rows.iter().map(Vec::len).chain([table.header.len()]).max().unwrap_or(0);
    let rule: Vec<String>;
    let mut lines: Vec<&[String]> = Vec::new();
    let widths: Vec<usize> = (0..columns)
        .map(|c| {
            let cells = table.rows.iter().chain([&table.header]).filter_map(|row| row.get(c));
            cells.map(|cell| shown(cell).width()).max().unwrap_or(0)
        })
        .collect();
    if !table.header.is_empty() {
        rule = widths.iter().map(|&w| "-".repeat(w)).collect();
        lines.push(&table.header);
        lines.push(&rule);
    }
    lines.extend(table.rows.iter().map(Vec::as_slice));
    let right: Vec<bool> = (0..columns).map(|c| table.is_numeric(c)).collect();
    lines.iter().map(|cells| line(cells, &widths, &right)).collect()
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
    fn an_empty_table_is_no_text() {
        assert_eq!(table(&Table::default()), "");
    }
}
