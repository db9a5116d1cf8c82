//! Tables of comma-separated (or tab-, semicolon-, bar-separated) values whose columns the user gives roles, and our own.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::{Cursor, Read};

use super::suggest::{has_decimal_comma, is_repetition, parted_by_blanks, seconds_of_clock, without_roles};
use super::{Row, add};
use crate::experiment::OverRanks;
use crate::formats::collect::{Collector, default_unit, split_path, written_loses_digits};
use crate::formats::error::{ASSUMED, ErrorKind, IGNORED, Place, ReadError};
use crate::formats::source::{Source, not_utf8, wide};
use crate::formats::{Detection, Format, Reader, units};
use crate::mixed::mixed;
use crate::words::counted;

/// Reads tables.
pub(in crate::formats) struct Columns;

/// What a column is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Role {
    /// A parameter, and its name in the experiment.
    Parameter(String),
    /// A metric: its name in the experiment and the unit of the cells.
    Metric(String, String),
    /// A part of the call path.
    CallPath,
    /// In tables with a row for each value: the metric's name, its unit, its reduction over ranks, the value.
    Name,
    Unit,
    OverRanks,
    Value,
    /// Which repetition a row is; rows of one point are repetitions in any case.
    Repetition,
}

/// The end of the header that `poise export --to csv` writes.
const OWN: [&str; 6] = ["callpath", "metric", "over_ranks", "unit", "repetition", "value"];
/// What separates columns.
pub(super) const DELIMITERS: [u8; 4] = [b',', b'\t', b';', b'|'];

impl Reader for Columns {
    fn format(&self) -> Format {
        Format::Csv
    }

    fn detect(&self, source: &Source) -> Detection {
        let Some((head, _)) = source.head() else { return Detection::no("it is a folder") };
        let text = String::from_utf8_lossy(head);
        let header: Vec<&str> = text.lines().next().unwrap_or("").split(',').map(str::trim).collect();
        if header.ends_with(&OWN) && header.len() > OWN.len() {
            Detection::Yes
        } else {
            Detection::no(
                "its first line is not the header of `poise export --to csv`, and no --columns say the roles of others",
            )
        }
    }

    fn read(&self, source: Source, into: &mut Collector) -> Result<(), ReadError> {
        if let Some(error) = wide(&source) {
            return Err(error);
        }
        let name = source.name.clone();
        let wanted = into.options.columns.clone().map(|text| roles(&text)).transpose()?;
        let mut head = source.head().map(|(head, _)| head.to_vec()).unwrap_or_default();
        let boxed = is_boxed(&head);
        if boxed {
            head = unboxed(&String::from_utf8_lossy(&head)).into_bytes();
        }
        let Header { cells: header, line, delimiter, records: before } = header(&name, &head, wanted.as_ref())?;
        let roles = match wanted {
            Some(wanted) => assign(&name, line, &header, &wanted)?,
            None if header.ends_with(&OWN.map(str::to_owned)) => own_roles(&header),
            None => {
                return Err(without_roles(source.place(), &head, "").unwrap_or_else(|| {
                    ReadError::malformed(source.place(), "this is no table whose columns are known")
                        .expected("what `poise export --to csv` writes, or the roles of the columns (--columns)")
                }));
            }
        };
        let mut unnamed = Unnamed::of(&header, &roles);
        let last = roles.iter().rposition(Option::is_some).unwrap_or(0);
        let (mut ragged, mut long): (Vec<usize>, Vec<(Place, usize)>) = (Vec::new(), Vec::new());
        let mut table = Table {
            name: &name,
            header: &header,
            numbered: Numbered::of(&header, &roles),
            roles,
            units: HashMap::new(),
            rows: Vec::new(),
            lost_digits: Vec::new(),
            empty: Vec::new(),
        };
        let mut reader = csv::ReaderBuilder::new();
        reader.delimiter(delimiter).trim(csv::Trim::All).flexible(true).has_headers(false);
        let stream: Box<dyn Read> =
            if boxed { Box::new(Cursor::new(unboxed(&source.into_text()?))) } else { source.into_stream() };
        let mut read = |number: usize, line: usize, record: &csv::ByteRecord| -> Result<(), ReadError> {
            let is_read = |column: usize| table.roles.get(column).is_some_and(Option::is_some);
            let cell = |(column, bytes): (usize, &[u8])| match String::from_utf8(bytes.to_vec()) {
                // Two names would be one if what is no UTF-8 were replaced.
                Err(_) if is_read(column) => Err(not_utf8(Place::at(&name, line, column + 1))),
                _ => Ok(String::from_utf8_lossy(bytes).into_owned()),
            };
            let cells: Vec<String> = record.iter().enumerate().map(cell).collect::<Result<_, _>>()?;
            if number < before || is_rule(&cells) {
                return Ok(());
            }
            if let Some(further) = (header.len()..cells.len()).find(|&c| !cells[c].is_empty()) {
                return Err(one_too_many(Place::at(&name, line, further + 1), header.len()));
            }
            let mut of_lines = (0..cells.len()).filter(|&column| cells[column].contains('\n'));
            let holds_rows = |column: usize| {
                let separators = |line: &str| line.bytes().filter(|byte| *byte == delimiter).count();
                cells[column].lines().any(|line| separators(line) + 1 >= header.len())
            };
            if let Some(column) = of_lines.clone().find(|&column| is_read(column) || holds_rows(column)) {
                return Err(over_lines(Place::at(&name, line, column + 1), &cells[column]));
            }
            if let Some(column) = of_lines.next() {
                long.push((Place::at(&name, line, column + 1), cells[column].matches('\n').count()));
            }
            if cells.len() <= last {
                ragged.push(line);
            }
            table.row(line, &cells)?;
            unnamed.row(&cells);
            Ok(())
        };
        let mut refused: Option<(ReadError, Further)> = None;
        for (number, record) in reader.from_reader(stream).into_byte_records().enumerate() {
            let record = match record {
                Ok(record) => record,
                Err(_) if refused.is_some() => break,
                Err(e) => return Err(ReadError::malformed(Place::file(&name), format!("this is no table: {e}"))),
            };
            let line = record.position().map_or(0, |p| p.line() as usize);
            match (read(number, line, &record), &mut refused) {
                (Ok(()), _) => {}
                (Err(error), None) => refused = Some((error, Further::default())),
                (Err(_), Some((_, further))) => further.add(line),
            }
        }
        if let Some((error, further)) = refused {
            return Err(with_further(error, &further));
        }
        if let Some(first) = ragged.first() {
            let (count, rows) = (ragged.len(), if ragged.len() == 1 { "row has" } else { "rows have" });
            let message = format!(
                "{count} {rows} fewer cells than the header, which names {}; cells that are missing count as not measured: is the table whole?",
                header.len()
            );
            into.warn(IGNORED, Place { file: name.clone(), line: Some(*first), column: None }, message);
        }
        if let Some((first, _)) = long.first() {
            let (count, lines) = (long.len(), long.iter().map(|(_, lines)| lines).sum::<usize>());
            let message = format!(
                "{} more: if these are rows, a quote above them is not closed.",
                match count {
                    1 => format!("1 cell in a column without a role holds {}", counted(lines, "line", "lines")),
                    _ => format!("{count} cells in columns without a role hold {}", counted(lines, "line", "lines")),
                }
            );
            into.warn(IGNORED, first.clone(), message);
        }
        if let Some((count, line, column)) = table.lacking() {
            let message = match count {
                1 => "This cell is empty and counts as not measured.".to_owned(),
                count => format!("{count} cells are empty and count as not measured; this is the first."),
            };
            into.warn(IGNORED, Place::at(&name, line, column), message);
        }
        let unnamed = unnamed.warnings(&header);
        // Where other columns tell rows apart that count as repetitions, these are said to.
        if let (Some((again, (line, column))), true) = (table.numbered.again, unnamed.is_empty()) {
            let more = match again {
                1 => String::new(),
                2 => ", as another does".to_owned(),
                again => format!(", as {} others do", again - 1),
            };
            let message = format!("This repetition stands here again{more}: each is taken for one more.");
            into.warn(ASSUMED, Place::at(&name, line, column), message);
        }
        for message in unnamed {
            into.warn(IGNORED, Place::file(&name), message);
        }
        for (line, column) in table.lost_digits {
            into.warn_of_lost_digits(&Place::at(&name, line, column));
        }
        add(table.rows, &name, into)
    }
}

/// That a row has a cell which the header has no column for, after which nobody knows which is which.
fn one_too_many(place: Place, columns: usize) -> ReadError {
    ReadError::malformed(place, format!("this cell has no column: the header names {columns}"))
        .expected("as many cells as columns")
        .advice(
            "Write decimal points and no commas in numbers, and quotes around texts that hold what separates columns",
        )
}

/// That a cell with a line break is no name and no number.
fn over_lines(place: Place, cell: &str) -> ReadError {
    let begin: String = cell.lines().next().unwrap_or("").chars().take(40).collect();
    ReadError::malformed(place, format!("the cell that begins with `{begin}` goes on over further lines"))
        .expected("a closing quote on the same line")
        .advice("Close the quote, or take it away")
}

/// Whether a table is drawn with lines, as ReFrame prints its reports.
fn is_boxed(head: &[u8]) -> bool {
    head.windows(3).any(|w| w == "│".as_bytes())
}

/// The same table drawn with bars and dashes.
fn unboxed(text: &str) -> String {
    let plain = |c: char| match c {
        '│' | '┃' => '|',
        '\u{2500}'..='\u{257f}' => '-',
        other => other,
    };
    text.chars().map(plain).collect()
}

/// Reads `p=parameter,time=metric,t_ms=metric:time[ms],region=callpath`.
fn roles(text: &str) -> Result<Vec<(String, Role)>, ReadError> {
    let wrong = |what: String| {
        ReadError::new(ErrorKind::BadOption, Place::file("--columns"), what)
            .expected("a list such as p=parameter,time=metric,wall=metric:time[ms],region=callpath,run=repetition")
    };
    let mut found: Vec<(String, Role)> = Vec::new();
    let mut by_unit: Vec<&str> = Vec::new();
    for entry in entries(text).into_iter().map(str::trim).filter(|e| !e.is_empty()) {
        let (column, role) = entry.rsplit_once('=').ok_or_else(|| wrong(format!("`{entry}` gives no role")))?;
        let column = unquoted(column);
        let (role, name) = role.split_once(':').map_or((role, None), |(role, name)| (role, Some(name)));
        let (is_metric, is_renamed) = (role.trim() == "metric", name.is_some());
        let of_column = name_and_unit(column, is_metric);
        // A name that somebody chose is that, whatever it ends in.
        let (name, unit) = match name.map(|name| name_and_unit(name, false)) {
            // The name is another, the values are those of the column.
            Some((name, "")) => (name, of_column.1),
            Some(told) => told,
            None => of_column,
        };
        let is_named = |(_, role): &(String, Role)| matches!(role, Role::Metric(known, _) if known == name);
        let is_implied = is_metric && !is_renamed && units::in_name(column).is_some();
        if is_metric && by_unit.contains(&name) || is_implied && found.iter().any(is_named) {
            return Err(wrong(format!("`{column}` and another column are both the metric `{name}` in a unit"))
                .advice(format!("Name one of them otherwise, as in {column}=metric:other")));
        }
        by_unit.extend(Some(name).filter(|_| is_implied));
        let role = match role.trim() {
            "metric" if !fits(name, unit) => return Err(wrong(no_such_unit(name, unit))),
            "parameter" => Role::Parameter(name.to_owned()),
            "metric" => Role::Metric(name.to_owned(), unit.to_owned()),
            "callpath" => Role::CallPath,
            "name" => Role::Name,
            "unit" => Role::Unit,
            "over_ranks" => Role::OverRanks,
            "value" => Role::Value,
            "repetition" => Role::Repetition,
            other => return Err(wrong(format!("`{other}` is no role"))),
        };
        if found.iter().any(|(c, _)| c == column) {
            return Err(wrong(format!("the column `{column}` has two roles")));
        }
        if let Some((other, _)) = found.iter().find(|(_, known)| matches!(known, Role::Parameter(_)) && *known == role)
        {
            return Err(wrong(format!("`{other}` and `{column}` are both the parameter `{name}`"))
                .advice(format!("Name one of them otherwise, as in {column}=parameter:other")));
        }
        found.push((column.to_owned(), role));
    }
    let has = |role: fn(&Role) -> bool| found.iter().any(|(_, r)| role(r));
    if !has(|r| matches!(r, Role::Metric(..) | Role::Value)) {
        return Err(wrong("no column is a metric".into()));
    }
    if let Some((column, _)) = found.iter().find(|(_, r)| *r == Role::Value).filter(|_| !has(|r| *r == Role::Name)) {
        return Err(wrong(format!("`{column}` is a value and no column is the name of what it is of"))
            .advice(format!("Write {column}=metric, or give the column with the names of metrics the role name")));
    }
    Ok(found)
}

/// What commas outside quotes separate, as the names of columns may hold some.
pub(super) fn entries(text: &str) -> Vec<&str> {
    // A quote within a name is a part of it.
    let (mut in_quotes, mut is_begin) = (false, true);
    let is_end = |c: char| {
        in_quotes = if in_quotes { c != '"' } else { is_begin && c == '"' };
        let is_end = c == ',' && !in_quotes;
        is_begin = is_end || is_begin && c == ' ';
        is_end
    };
    text.split(is_end).collect()
}

/// The name of a column that may stand in quotes.
pub(super) fn unquoted(column: &str) -> &str {
    let column = column.trim();
    column.strip_prefix('"').and_then(|column| column.strip_suffix('"')).map_or(column, str::trim)
}

/// `wall [ms]` and, where that is a unit, `wall (ms)` and for a metric `wall_ms`: the name and the unit, which is empty where
/// none is told.
fn name_and_unit(text: &str, is_metric: bool) -> (&str, &str) {
    if let Some((name, unit)) = text.split_once('[') {
        return (name.trim(), unit.trim_end_matches(']').trim());
    }
    let in_parentheses = text.trim_end().strip_suffix(')').and_then(|text| text.rsplit_once('('));
    match in_parentheses.filter(|(_, unit)| units::base(unit.trim()).is_some()) {
        Some((name, unit)) => (name.trim(), unit.trim()),
        None => units::in_name(text.trim()).filter(|_| is_metric).unwrap_or((text.trim(), "")),
    }
}

fn own_roles(header: &[String]) -> Vec<Option<Role>> {
    let fixed = [Role::CallPath, Role::Name, Role::OverRanks, Role::Unit, Role::Repetition, Role::Value];
    let parameters = header.len().saturating_sub(fixed.len());
    let own = header[..parameters].iter().map(|name| Role::Parameter(name.clone()));
    own.chain(fixed).map(Some).collect()
}

/// The header of a table.
struct Header {
    /// The names of the columns.
    cells: Vec<String>,
    /// Where it stands.
    line: usize,
    delimiter: u8,
    /// How many records there are before the first row of values: titles, rules and the header itself.
    records: usize,
}

/// A line between rows.
pub(super) fn is_rule(cells: &[String]) -> bool {
    cells.iter().all(|c| c.chars().all(|c| "-+:=".contains(c)))
}

/// Rows that cannot be read, beside the first one: how many, and the lines of the first few.
#[derive(Default)]
struct Further {
    rows: usize,
    lines: Vec<usize>,
}

impl Further {
    /// Lines that are named.
    const NAMED: usize = 8;

    fn add(&mut self, line: usize) {
        self.rows += 1;
        if self.lines.len() < Self::NAMED {
            self.lines.push(line);
        }
    }
}

/// The error of the first row that cannot be read, where others cannot either.
fn with_further(mut error: ReadError, further: &Further) -> ReadError {
    let named: Vec<String> = further.lines.iter().map(usize::to_string).collect();
    let said = match (further.rows, further.rows - named.len()) {
        (0, _) => return error,
        (1, _) => format!("The row at line {} cannot be read either", named[0]),
        (_, 0) => format!("The rows at lines {} cannot be read either", named.join(", ")),
        (_, more) => format!("The rows at lines {} and {more} more cannot be read either", named.join(", ")),
    };
    let advice = error.advice.as_deref().map_or(String::new(), |advice| format!("{advice}. "));
    error.advice = Some((advice + &said).into());
    error
}

/// How many lines a table may have above its header.
const TITLES: usize = 20;

/// Among the first lines the first that has the most columns that were asked for, with what separates them; of a table
/// without roles the first.
fn header(name: &str, head: &[u8], wanted: Option<&Vec<(String, Role)>>) -> Result<Header, ReadError> {
    let found = |cells: &[String]| wanted.map_or(1, |w| w.iter().filter(|(c, _)| cells.contains(c)).count());
    let mut best: Option<(usize, Header)> = None;
    for delimiter in DELIMITERS {
        let mut reader = csv::ReaderBuilder::new();
        reader.delimiter(delimiter).trim(csv::Trim::All).flexible(true).has_headers(false);
        for (number, record) in reader.from_reader(head).into_byte_records().take(TITLES).enumerate() {
            let Ok(record) = record else { break };
            let mut cells: Vec<String> = record.iter().map(|c| String::from_utf8_lossy(c).into_owned()).collect();
            if let (0, Some(first)) = (number, cells.first_mut()) {
                *first = first.trim_start_matches('\u{feff}').to_owned();
            }
            let score = found(&cells);
            if !is_rule(&cells) && best.as_ref().is_none_or(|(most, _)| score > *most) {
                let line = record.position().map_or(1, |position| position.line() as usize);
                best = Some((score, Header { cells, line, delimiter, records: number + 1 }));
            }
        }
    }
    best.map(|(_, header)| header).ok_or_else(|| {
        ReadError::malformed(Place::at(name, 1, 1), "there is no header")
            .expected("a first line with the columns' names")
    })
}

fn assign(
    name: &str,
    line: usize,
    header: &[String],
    wanted: &[(String, Role)],
) -> Result<Vec<Option<Role>>, ReadError> {
    if let Some(column) = header.iter().position(|cell| cell.contains('\n')) {
        return Err(over_lines(Place::at(name, line, column + 1), &header[column]));
    }
    if let Some((missing, _)) = wanted.iter().find(|(column, _)| !header.contains(column)) {
        let known = header.iter().filter(|h| !h.is_empty()).map(|h| format!("`{h}`")).collect::<Vec<_>>().join(", ");
        let what = format!("there is no column `{missing}`");
        let error = ReadError::malformed(Place::at(name, 1, 1), what).expected(format!("one of {known}"));
        let is_parted = header.len() == 1 && header[0].split_whitespace().any(|word| word == missing);
        return Err(if is_parted { error.advice(parted_by_blanks(name)) } else { error });
    }
    let is_wanted = |column: &String| wanted.iter().any(|(c, _)| c == column);
    let is_second = |&i: &usize| is_wanted(&header[i]) && header[..i].contains(&header[i]);
    if let Some(second) = (0..header.len()).find(is_second) {
        let column = &header[second];
        let place = Place { file: name.into(), line: Some(line), column: Some(second + 1) };
        return Err(ReadError::malformed(place, format!("the header names the column `{column}` twice"))
            .expected("one column of each name that --columns gives a role")
            .advice("Rename one of them in the table"));
    }
    let role = |column: &String| wanted.iter().find(|(c, _)| c == column).map(|(_, role)| role.clone());
    Ok(header.iter().map(role).collect())
}

/// Columns without a role whose values may tell apart what becomes repetitions.
struct Unnamed {
    /// Columns that say where a row belongs.
    keys: Vec<usize>,
    columns: Vec<UnnamedColumn>,
    /// How many rows there were.
    rows: usize,
}

struct UnnamedColumn {
    column: usize,
    /// Its values, of which more than a few are those of a measurement.
    values: BTreeSet<String>,
    /// Its first value by where a row belongs.
    first: HashMap<Vec<String>, String>,
    /// Whether rows of one place have different values.
    differs: bool,
}

impl Unnamed {
    /// No parameter of a study has so many values.
    const MOST: usize = 1000;

    fn of(header: &[String], roles: &[Option<Role>]) -> Self {
        let says_where = |role: &Role| matches!(role, Role::Parameter(_) | Role::CallPath | Role::Name);
        let is_candidate = |c: &usize| roles[*c].is_none() && !header[*c].is_empty() && !is_repetition(&header[*c]);
        let of_column =
            |column| UnnamedColumn { column, values: BTreeSet::new(), first: HashMap::new(), differs: false };
        Self {
            keys: (0..roles.len()).filter(|&c| roles[c].as_ref().is_some_and(says_where)).collect(),
            columns: (0..roles.len()).filter(is_candidate).map(of_column).collect(),
            rows: 0,
        }
    }

    fn row(&mut self, cells: &[String]) {
        let key: Vec<String> = self.keys.iter().filter_map(|&c| cells.get(c).cloned()).collect();
        self.rows += 1;
        for own in self.columns.iter_mut().filter(|own| own.values.len() <= Self::MOST) {
            let Some(cell) = cells.get(own.column).filter(|cell| !cell.is_empty()) else { continue };
            own.differs |= own.first.entry(key.clone()).or_insert_with(|| cell.clone()) != cell;
            own.values.insert(cell.clone());
        }
    }

    /// What there is to say of columns whose values come again and again, as those of a measurement do not.
    fn warnings(&self, header: &[String]) -> Vec<String> {
        let recurs =
            |own: &&UnnamedColumn| own.differs && own.values.len() <= Self::MOST && 2 * own.values.len() <= self.rows;
        let message = |own: &UnnamedColumn| {
            let name = &header[own.column];
            let is_number = own.values.iter().all(|value| value.parse::<f64>().is_ok());
            let role = if is_number { "parameter" } else { "callpath" };
            format!(
                "The column `{name}` has no role and {} values: rows that differ in it count as repetitions. Add {name}={role}, or {name}=repetition if that is what they are.",
                own.values.len()
            )
        };
        self.columns.iter().filter(recurs).map(message).collect()
    }
}

struct Table<'a> {
    name: &'a str,
    header: &'a [String],
    roles: Vec<Option<Role>>,
    /// The unit that a metric's first value had.
    units: HashMap<String, String>,
    rows: Vec<Row>,
    /// Line and column of the whole numbers that no double stands for.
    lost_digits: Vec<(usize, usize)>,
    /// Line and column of the cells of measurements that are empty, and of what there is no value.
    empty: Vec<(usize, usize, Row)>,
    numbered: Numbered,
}

/// Which repetitions there were, of tables that number them.
#[derive(Default)]
struct Numbered {
    /// The column with the numbers; none where further columns may number the repetitions, too.
    column: Option<usize>,
    /// Digests of what tells values apart: their cells of every role but values and units, and their column.
    known: HashSet<u128>,
    /// How many values are of a repetition that was there before, and line and column of the first.
    again: Option<(usize, (usize, usize))>,
}

impl Numbered {
    fn of(header: &[String], roles: &[Option<Role>]) -> Self {
        let is_further = |c: usize| roles[c].is_none() && is_repetition(&header[c]);
        let column = roles.iter().position(|role| *role == Some(Role::Repetition));
        Self { column: column.filter(|_| !(0..roles.len()).any(is_further)), ..Self::default() }
    }

    /// What tells a row from others, where its repetition has a number.
    fn row(&self, cells: &[String], roles: &[Option<Role>]) -> Option<[u64; 2]> {
        self.column.and_then(|column| cells.get(column)).filter(|cell| !cell.is_empty())?;
        let tells = |role: &Option<Role>| !matches!(role, None | Some(Role::Metric(..) | Role::Value | Role::Unit));
        let mut digests = [0, 1];
        for cell in cells.iter().zip(roles).filter(|(_, role)| tells(role)).map(|(cell, _)| cell) {
            let words =
                cell.as_bytes().chunks(8).map(|bytes| bytes.iter().fold(0, |word, b| word << 8 | u64::from(*b)));
            for word in std::iter::once(cell.len() as u64).chain(words) {
                digests = digests.map(|digest| mixed(digest ^ word));
            }
        }
        Some(digests)
    }

    /// Notes the value in this column of the row.
    fn value(&mut self, line: usize, column: usize, row: [u64; 2]) {
        let [high, low] = row.map(|digest| mixed(digest ^ column as u64));
        if !self.known.insert(u128::from(high) << 64 | u128::from(low)) {
            self.again.get_or_insert((0, (line, column + 1))).0 += 1;
        }
    }
}

impl Table<'_> {
    /// How many cells are empty where a value may have been lost, and line and column of the first. A call path may have no value of some
    /// metric anywhere, and rows may tell one metric each.
    fn lacking(&self) -> Option<(usize, usize, usize)> {
        if self.empty.is_empty() {
            return None;
        }
        let series = |row: &Row| (row.callpath.clone(), row.metric.clone(), row.over_ranks);
        let point = |row: &Row| row.parameters.iter().map(|(_, x)| x.to_bits()).collect::<Vec<_>>();
        let known: HashSet<_> = self.rows.iter().map(series).collect();
        let lacks: HashSet<_> = self.empty.iter().map(|(_, _, of)| (series(of), point(of))).collect();
        let given: HashSet<_> =
            self.rows.iter().map(|row| (series(row), point(row))).filter(|at| lacks.contains(at)).collect();
        let is_lost = |of: &Row| known.contains(&series(of)) && !given.contains(&(series(of), point(of)));
        let mut lost = self.empty.iter().filter(|(_, _, of)| is_lost(of));
        let (line, column, _) = lost.next()?;
        Some((1 + lost.count(), *line, *column))
    }

    /// What to do about a `cell` that is no number.
    fn advice(&self, cell: &str, column: usize) -> String {
        if let (Some(Role::Metric(metric, _)), Some(unit)) = (&self.roles[column], unit_behind_number(cell)) {
            let name = &self.header[column];
            return format!("Write the number alone, and its unit in --columns, as in {name}=metric:{metric}[{unit}]");
        }
        let is_value = matches!(self.roles[column], Some(Role::Metric(..) | Role::Value));
        if let (true, Some(seconds)) = (is_value, seconds_of_clock(cell)) {
            let parts =
                if cell.matches(':').count() == 2 { "hours, minutes and seconds" } else { "minutes and seconds" };
            return format!("Write seconds: {seconds} if these are {parts}");
        }
        let is_text = cell.parse::<f64>().is_err() && !is_nothing(cell);
        // Below numbers it is a measurement that failed.
        let is_first = self.rows.is_empty();
        let advice = match (is_value, is_text) {
            _ if cell == self.header[column] => "This row is the header once more: take it out",
            _ if has_decimal_comma(cell) => "Write decimal points: a comma may part thousands as well, as in 1,500",
            (_, true) if is_first => "Give a column of texts the role callpath",
            (false, true) => "Take the row out, or give the column the role callpath if it is one of texts",
            (true, _) => "Leave the cell empty where nothing was measured, or take the row out",
            (false, false) => "Take the row out",
        };
        advice.to_owned()
    }

    fn row(&mut self, line: usize, cells: &[String]) -> Result<(), ReadError> {
        let number = |column: usize| -> Result<f64, ReadError> {
            let cell = &cells[column];
            cell.parse::<f64>().ok().filter(|n| n.is_finite()).ok_or_else(|| {
                let what = format!("`{cell}` in the column `{}` is no number", self.header[column]);
                let error = ReadError::malformed(
                    Place { file: self.name.into(), line: Some(line), column: Some(column + 1) },
                    what,
                );
                error.expected("a finite number").advice(self.advice(cell, column))
            })
        };
        let is_number = |role: &Role| matches!(role, Role::Parameter(_) | Role::Metric(..) | Role::Value);
        let loses = |c: &usize| {
            self.roles[*c].as_ref().is_some_and(is_number)
                && cells.get(*c).is_some_and(|cell| written_loses_digits(cell))
        };
        let lost: Vec<usize> = (0..self.roles.len()).filter(loses).collect();
        let (mut row, mut values, mut empty) = (Row::default(), Vec::new(), Vec::new());
        for (column, role) in self.roles.iter().enumerate().filter(|(c, _)| *c < cells.len()) {
            let cell = &cells[column];
            match role {
                None | Some(Role::Repetition) => {}
                // A missing value is no measurement.
                Some(Role::Metric(name, _)) if cell.is_empty() => empty.push((column, name.clone())),
                Some(Role::Value) if cell.is_empty() => empty.push((column, String::new())),
                Some(Role::Parameter(name)) => row.parameters.push((name.clone(), number(column)?)),
                Some(Role::Metric(name, unit)) => values.push((name.clone(), unit.clone(), number(column)?, column)),
                Some(Role::Value) => values.push((String::new(), String::new(), number(column)?, column)),
                Some(Role::CallPath) => row.callpath.extend(split_path(cell).into_iter().map(str::to_owned)),
                Some(Role::Name) => row.metric.clone_from(cell),
                Some(Role::Unit) => row.unit.clone_from(cell),
                Some(Role::OverRanks) => row.over_ranks = over_ranks(cell),
            }
        }
        let named = |metric: String| if metric.is_empty() { row.metric.clone() } else { metric };
        for (column, metric) in empty {
            let (parameters, callpath) = (row.parameters.clone(), row.callpath.clone());
            let of = Row { parameters, callpath, metric: named(metric), over_ranks: row.over_ranks, ..Row::default() };
            self.empty.push((line, column + 1, of));
        }
        let digest = self.numbered.row(cells, &self.roles);
        for (metric, unit, value, column) in values {
            let metric = named(metric);
            let unit = if unit.is_empty() { row.unit.clone() } else { unit };
            let unit = self.unit(line, &metric, unit)?;
            let (parameters, callpath) = (row.parameters.clone(), row.callpath.clone());
            let (values, at) = (vec![value], Some((line, column + 1)));
            digest.into_iter().for_each(|row| self.numbered.value(line, column, row));
            self.rows.push(Row { parameters, callpath, metric, unit, over_ranks: row.over_ranks, values, at });
        }
        self.lost_digits.extend(lost.into_iter().map(|column| (line, column + 1)));
        Ok(())
    }

    /// The unit of a value: as told, which must be of the kind of the one above, or that one. An empty cell below one with a
    /// unit has that: nobody leaves out `s` below `ms`.
    fn unit(&mut self, line: usize, metric: &str, told: String) -> Result<String, ReadError> {
        let place = || Place { file: self.name.into(), line: Some(line), column: None };
        if !fits(metric, &told) {
            return Err(ReadError::malformed(place(), no_such_unit(metric, &told)));
        }
        let Some(above) = self.units.get(metric) else {
            let first = if told.is_empty() { default_unit(metric).to_owned() } else { told };
            self.units.insert(metric.to_owned(), first.clone());
            return Ok(first);
        };
        if told.is_empty() {
            return Ok(above.clone());
        }
        let kind = |unit: &str| units::base(unit).map(|(kind, _)| kind);
        if told != *above && (kind(&told).is_none() || kind(&told) != kind(above)) {
            let what = format!("`{metric}` is in `{told}` here and in `{above}` above");
            return Err(ReadError::malformed(place(), what)
                .expected("one unit, or units of one kind")
                .advice("Give metrics that are not alike different names"));
        }
        self.units.insert(metric.to_owned(), told.clone());
        Ok(told)
    }
}

/// Whether values of this metric may be in this unit: times in one of time, bytes in one of data, others in any.
fn fits(metric: &str, unit: &str) -> bool {
    let kind = units::base(unit).map(|(kind, _)| kind);
    unit.is_empty() || units::kind_of(metric).is_none_or(|wanted| kind == Some(wanted))
}

/// The clause that a unit does not [`fit`](fits) its metric.
fn no_such_unit(metric: &str, unit: &str) -> String {
    let known = units::kind_of(metric).map_or("", units::Kind::known);
    format!("`{unit}` is no unit of `{metric}`, which may be in {known}")
}

/// Whether a cell says that there is no value.
fn is_nothing(cell: &str) -> bool {
    ["", "-", "na", "n/a", "none", "null", "nan"].contains(&cell.to_ascii_lowercase().as_str())
}

/// The unit of time or data that follows the number in a cell such as `10.6 s`.
pub(super) fn unit_behind_number(cell: &str) -> Option<&str> {
    let begin = cell.find(|c: char| c.is_alphabetic() && !matches!(c, 'e' | 'E'))?;
    let (number, unit) = cell.split_at(begin);
    (number.trim_end().parse::<f64>().is_ok() && units::base(unit).is_some()).then_some(unit)
}

fn over_ranks(cell: &str) -> Option<OverRanks> {
    Some(match cell {
        "mean" => OverRanks::Mean,
        "maximum" => OverRanks::Maximum,
        "minimum" => OverRanks::Minimum,
        "sum" => OverRanks::Sum,
        _ => return None,
    })
}
