//! Reads inputs as tables: a study's runs with what their records say, any experiment, or comma-separated values as they
//! are.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::table::{Column, Table, Values};
use crate::experiment::{CallPathId, Experiment, OverRanks};
use crate::formats::{
    self, Dropped, ErrorKind, Place, ReadError, ReadOptions, ReadWarning, RunSelection, engines, run_folders,
};
use crate::words::counted;

/// What of an experiment becomes metrics.
///
/// ```
/// use modeler::{analysis::{Selection, read}, experiment::OverRanks};
/// # let folder = tempfile::tempdir()?;
/// let file = folder.path().join("runs.txt");
/// std::fs::write(&file, "PARAMETER p\nPOINTS 2 4\nMETRIC time\nREGION main->solve\nDATA 1\nDATA 2\n")?;
/// let mut time = Selection { callpath: Some("solve".into()), over_ranks: OverRanks::Mean, metric: "time".into() };
/// assert_eq!(read(&[file.clone()], &Default::default(), &time)?.table.rows(), 2); // a row for each point
/// time.callpath = Some("sort".into());
/// assert!(read(&[file], &Default::default(), &time).is_err()); // no call path ends so
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Selection {
    /// The call path, `main -> solve` or its last name; `None` for the sum over all call paths.
    pub callpath: Option<String>,
    /// Which rank's value.
    pub over_ranks: OverRanks,
    /// The column that is to be explained: rows of runs whose measurement of it a study's selection drops are left out.
    pub metric: String,
}

/// A run whose row is left out.
///
/// ```
/// use modeler::analysis::LeftOut;
/// let run = LeftOut { run: "study.runs/p4/7".into(), reason: "an outlier".into() };
/// assert_eq!(modeler::analysis::told(&[run], 0, "time").map(|told| told.contains("(an outlier)")), Some(true));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its folder.
    pub run: String,
    /// Why, as `selection.json` has it.
    pub reason: String,
}

/// A table and what the readers noticed.
///
/// ```
/// # use modeler::{analysis::{Selection, read}, experiment::OverRanks};
/// # let folder = tempfile::tempdir()?;
/// let file = folder.path().join("runs.csv");
/// std::fs::write(&file, "threads,time\n1,8.0\n8,1.0\n")?;
/// # let selection = Selection { callpath: None, over_ranks: OverRanks::Mean, metric: "time".into() };
/// let input = read(&[file], &Default::default(), &selection)?;
/// assert!(input.warnings.is_empty() && input.left_out.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TableInput {
    /// The rows of all inputs.
    pub table: Table,
    /// What the readers noticed.
    pub warnings: Vec<ReadWarning>,
    /// Runs whose measurement of the metric a study's selection drops.
    pub left_out: Vec<LeftOut>,
}

/// Reads `inputs` as one table; `-` is standard input. With several inputs a column `input` tells them apart.
///
/// ```
/// use modeler::{analysis::{Selection, read}, experiment::OverRanks};
/// # let folder = tempfile::tempdir()?;
/// let file = folder.path().join("runs.csv");
/// std::fs::write(&file, "threads,time\n1,8.0\n8,1.0\n")?;
/// let selection = Selection { callpath: None, over_ranks: OverRanks::Mean, metric: "time".into() };
/// assert_eq!(read(&[file], &Default::default(), &selection)?.table.rows(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// An input cannot be read or is no table, inputs differ in their columns, or the call path is in none of them.
pub fn read(inputs: &[PathBuf], options: &ReadOptions, selection: &Selection) -> Result<TableInput, ReadError> {
    of_one_engine(inputs)?;
    let (mut warnings, mut left_out) = (Vec::new(), Vec::new());
    let mut tables = Vec::new();
    for input in inputs {
        tables.push(one(input, options, selection, &mut warnings, &mut left_out)?);
    }
    let names: Vec<String> = inputs.iter().map(|path| path.display().to_string()).collect();
    let place = Place::file(names.first().map_or("poise", String::as_str));
    let table = Table::stack(tables, &names)
        .map_err(|what| ReadError::new(ErrorKind::Malformed, place.clone(), what.trim_end_matches('.').to_owned()))?;
    if table.rows() == 0 {
        return Err(ReadError::new(ErrorKind::NotModelable, place, "there is not one row"));
    }
    Ok(TableInput { table, warnings, left_out })
}

/// Refuses runs of several engines, whose basic blocks are not the same, so that the engine would explain what parameters seem to.
fn of_one_engine(inputs: &[PathBuf]) -> Result<(), ReadError> {
    let profiles = |input: &PathBuf| match input.is_dir() {
        true => run_folders(input),
        false => input.extension().filter(|e| *e == "poise").map(|_| input.clone()).into_iter().collect(),
    };
    // What cannot be read is told when its row is.
    let read = |path: PathBuf| formats::measured_runs(&path).unwrap_or_default();
    let engine = |run: formats::MeasuredRun| (run.name, engines::engine(&run.profile).to_owned());
    let found: Vec<(String, String)> = inputs.iter().flat_map(profiles).flat_map(read).map(engine).collect();
    match engines::several(found.iter().map(|(name, engine)| (name.as_str(), engine.as_str()))) {
        Some(what) => Err(ReadError::new(ErrorKind::Malformed, Place::file(&found[0].0), what)
            .expected("runs of one engine")
            .advice("Give those of one engine alone")),
        None => Ok(()),
    }
}

fn one(
    input: &Path,
    options: &ReadOptions,
    selection: &Selection,
    warnings: &mut Vec<ReadWarning>,
    left_out: &mut Vec<LeftOut>,
) -> Result<Table, ReadError> {
    let is_plain = options.format.is_none() && options.columns.is_none();
    let folders = if is_plain && input.is_dir() { run_folders(input) } else { Vec::new() };
    if !folders.is_empty() {
        return runs(input, &folders, options, selection, warnings, left_out);
    }
    let name = if input == Path::new("-") { "<standard input>".to_owned() } else { input.display().to_string() };
    let is_file = input == Path::new("-") || input.is_file();
    if !is_file {
        return experiment(formats::read(&[input.to_owned()], options)?, &name, selection, warnings);
    }
    let mut bytes = Vec::new();
    let unreadable =
        |e: std::io::Error| ReadError::new(ErrorKind::Unreadable, Place::file(&name), format!("cannot be read: {e}"));
    match input == Path::new("-") {
        true => std::io::stdin().lock().read_to_end(&mut bytes).map(|_| ()).map_err(unreadable)?,
        false => bytes = fs::read(input).map_err(unreadable)?,
    }
    let read = match input == Path::new("-") {
        true => formats::read_bytes(&name, bytes.clone(), options),
        false => formats::read(&[input.to_owned()], options),
    };
    match read {
        Ok(found) => experiment(found, &name, selection, warnings),
        Err(error) if is_plain && error.kind == ErrorKind::NotRecognised => {
            let table = separated(&name, &bytes, error)?;
            match &selection.callpath {
                Some(wanted) => Err(ReadError::new(
                    ErrorKind::NotModelable,
                    Place::file(&name),
                    format!("a table of rows has no call path `{wanted}`"),
                )
                .advice("Choose rows by --where")),
                None => Ok(table),
            }
        }
        Err(error) => Err(error),
    }
}

fn experiment(
    found: formats::Input,
    name: &str,
    selection: &Selection,
    warnings: &mut Vec<ReadWarning>,
) -> Result<Table, ReadError> {
    warnings.extend(found.warnings);
    let callpath = match &selection.callpath {
        Some(wanted) => Some(callpath(&found.experiment, wanted).ok_or_else(|| no_callpath(name, wanted))?),
        None => None,
    };
    Ok(Table::of_experiment(&found.experiment, callpath, selection.over_ranks))
}

fn no_callpath(name: &str, wanted: &str) -> ReadError {
    ReadError::new(ErrorKind::NotModelable, Place::file(name), format!("no call path is `{wanted}`"))
        .expected("names from the root, such as `main -> solve`, or one name that only one call path ends in")
        .advice("List them with poise import --explain")
}

/// The call path that is written so, or the only one that ends in this name.
fn callpath(experiment: &Experiment, wanted: &str) -> Option<CallPathId> {
    let parts: Vec<&str> = wanted.split("->").map(str::trim).collect();
    let ids = || 0..experiment.callpaths.len() as CallPathId;
    if let Some(id) = ids().find(|&id| experiment.path(id) == parts) {
        return Some(id);
    }
    let mut ending = ids().filter(|&id| parts == [experiment.callpaths[id as usize].name.as_str()]);
    ending.next().filter(|_| ending.next().is_none())
}

/// A cell of a run: column, text, unit, whether it was chosen before the run.
type Cell = (String, String, String, bool);

/// One row per run: what its record says and what was measured.
fn runs(
    input: &Path,
    folders: &[PathBuf],
    options: &ReadOptions,
    selection: &Selection,
    warnings: &mut Vec<ReadWarning>,
    left_out: &mut Vec<LeftOut>,
) -> Result<Table, ReadError> {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    let mut has_callpath = selection.callpath.is_none();
    let mut policies: HashMap<&Path, RunSelection> = HashMap::new();
    for folder in folders {
        // A run that is named itself counts whole.
        let dropped = match folder.parent().filter(|_| folder != input) {
            Some(group) => match policies.entry(group) {
                Entry::Occupied(known) => known.into_mut().of(folder),
                Entry::Vacant(place) => place.insert(RunSelection::read(group)?).of(folder),
            },
            None => Dropped::default(),
        };
        if let Some(reason) = why_dropped(&dropped, &selection.metric) {
            left_out.push(LeftOut { run: folder.display().to_string(), reason: reason.to_owned() });
            continue;
        }
        let found = match formats::read(std::slice::from_ref(folder), options) {
            Ok(found) => found,
            // The reader's reason why a run was left out is the error where it is the only one.
            Err(error) => {
                let message = format!("The run was left out because {}.", error.what);
                warnings.push(ReadWarning { code: formats::RUN_LEFT_OUT, place: error.place, message });
                continue;
            }
        };
        warnings.extend(found.warnings);
        let mut cells = recorded(&folder.join("run.json"))?;
        let id = selection.callpath.as_ref().map(|wanted| callpath(&found.experiment, wanted));
        has_callpath |= id.flatten().is_some();
        if id != Some(None) {
            let measured = Table::of_experiment(&found.experiment, id.flatten(), selection.over_ranks);
            let metrics: Vec<Column> = measured.columns.into_iter().filter(|c| !c.chosen).collect();
            cells.retain(|cell| cell.3 || why_dropped(&dropped, &cell.0).is_none());
            // A metric keeps its name, by which it is asked for.
            for cell in cells.iter_mut().filter(|cell| metrics.iter().any(|metric| metric.name == cell.0)) {
                cell.0 = format!("{}.{}", if cell.3 { PARAMETERS } else { "run" }, cell.0);
            }
            let used = metrics.iter().filter(|metric| why_dropped(&dropped, &metric.name).is_none());
            cells.extend(used.map(|c| (c.name.clone(), c.cell(0), c.unit.clone(), false)));
        }
        rows.push(cells);
    }
    if let Some(wanted) = selection.callpath.as_ref().filter(|_| !has_callpath && !rows.is_empty()) {
        return Err(no_callpath(&input.display().to_string(), wanted));
    }
    if rows.is_empty() {
        let what =
            if left_out.is_empty() { "no run is complete" } else { "selection.json drops the metric of all runs" };
        return Err(ReadError::new(ErrorKind::NotModelable, Place::file(input.display().to_string()), what));
    }
    Ok(of_rows(&rows))
}

/// Columns in the order in which they first appear; what a row lacks is missing.
fn of_rows(rows: &[Vec<Cell>]) -> Table {
    let mut met: HashSet<&str> = HashSet::new();
    let heads: Vec<&Cell> = rows.iter().flatten().filter(|cell| met.insert(cell.0.as_str())).collect();
    let column = |head: &&Cell| {
        let text = |row: &Vec<Cell>| row.iter().find(|c| c.0 == head.0).map_or(String::new(), |c| c.1.clone());
        Column { unit: head.2.clone(), ..Column::of_cells(&head.0, rows.iter().map(text).collect(), head.3) }
    };
    Table { columns: heads.iter().map(column).collect() }
}

/// Why a study's selection drops this column of a run, if it does: the metrics of its profile, and how long the command
/// took by its record.
fn why_dropped<'a>(dropped: &'a Dropped, column: &str) -> Option<&'a str> {
    const RECORDED_TIMES: [&str; 3] = ["seconds", "processor_seconds", "time_seconds"];
    if RECORDED_TIMES.contains(&column) { dropped.time.as_deref() } else { dropped.of_metric(column) }
}

/// Stands before the name of a parameter that is called as a metric is.
pub(super) const PARAMETERS: &str = "parameters";

/// Keys of the record that are the same in every complete run, or a path, a digest, an array of words or the time of day.
const NOT_COLUMNS: [&str; 10] = [
    "schema",
    "schema_version",
    "status",
    "reason",
    "exit_status",
    "profile",
    "command",
    "directory",
    "configuration",
    "started_unix_seconds",
];

/// What the record says of its run: parameters, repetition and texts were chosen, other numbers measured.
fn recorded(path: &Path) -> Result<Vec<Cell>, ReadError> {
    let place = || Place::file(path.display().to_string());
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        // A profile without a record.
        Err(_) => return Ok(Vec::new()),
    };
    let record: Value = serde_json::from_str(&text).map_err(|e| ReadError::malformed(place(), e.to_string()))?;
    let mut cells = Vec::new();
    if let Some(parameters) = record.get("parameters").and_then(Value::as_object) {
        for (name, value) in parameters {
            flatten(name, value, true, &mut cells);
        }
    }
    for (name, value) in record.as_object().into_iter().flatten() {
        if name != "parameters" && !NOT_COLUMNS.contains(&name.as_str()) {
            flatten(name, value, name == "repetition", &mut cells);
        }
    }
    Ok(cells)
}

/// Scalars by their dotted names; arrays are no columns, and our own variables describe how a run was measured. Slurm's
/// describe its job, by what was asked for and by number: nobody chose them.
fn flatten(name: &str, value: &Value, chosen: bool, cells: &mut Vec<Cell>) {
    let mut push = |text: String, chosen: bool| cells.push((name.to_owned(), text, String::new(), chosen));
    match value {
        Value::Object(members) => {
            for (key, value) in members.iter().filter(|(key, _)| !key.starts_with("POISE_")) {
                let (name, is_environment) = (format!("{name}.{key}"), name == "environment");
                let from = cells.len();
                flatten(&name, value, chosen || is_environment, cells);
                if is_environment && key.starts_with("SLURM_") {
                    cells[from..].iter_mut().for_each(|cell| cell.3 = false);
                }
            }
        }
        // An empty text was chosen, too, as no flag among flags, and is not missing.
        Value::String(text) if text.is_empty() => push("\"\"".to_owned(), true),
        Value::String(text) => push(text.clone(), true),
        Value::Bool(truth) => push(truth.to_string(), true),
        Value::Number(number) => push(number.to_string(), chosen),
        Value::Null | Value::Array(_) => {}
    }
}

/// Comma-, semicolon-, tab- or bar-separated values with a line of headings. `otherwise` is the error where they are none.
fn separated(name: &str, bytes: &[u8], otherwise: ReadError) -> Result<Table, ReadError> {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let heading = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let count = |delimiter: &u8| heading.iter().filter(|b| *b == delimiter).count();
    // The first of equals is the comma.
    let Some(delimiter) = [b'|', b'\t', b';', b','].into_iter().max_by_key(count).filter(|d| count(d) > 0) else {
        return Err(otherwise);
    };
    if std::str::from_utf8(bytes).is_err() {
        // What is no text at all has other characters than these in its first line.
        let is_text = heading.iter().all(|&byte| byte >= b' ' || matches!(byte, b'\t' | b'\r'));
        return Err(if is_text { formats::text(name, bytes.to_vec()).err().unwrap_or(otherwise) } else { otherwise });
    }
    let mut reader = csv::ReaderBuilder::new();
    let mut reader = reader.delimiter(delimiter).trim(csv::Trim::All).from_reader(bytes);
    let wrong = |e: csv::Error| {
        let line = e.position().map_or(1, |p| p.line() as usize);
        let what = match e.kind() {
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                format!("the row has {}, and the first line has {expected_len}", counted(*len, "cell", "cells"))
            }
            _ => format!("this is no table: {e}"),
        };
        ReadError::malformed(Place::at(name, line, 1), what).expected("as many cells in each row as in the first")
    };
    let headings: Vec<String> = reader.headers().map_err(wrong)?.iter().map(str::to_owned).collect();
    for (i, heading) in headings.iter().enumerate() {
        let what = match heading.as_str() {
            "" => format!("column {} has no name", i + 1),
            _ if headings[..i].contains(heading) => format!("two columns are named `{heading}`"),
            _ => continue,
        };
        return Err(ReadError::malformed(Place::at(name, 1, 1), what).expected("a name of its own for each column"));
    }
    let mut cells: Vec<Vec<String>> = vec![Vec::new(); headings.len()];
    for record in reader.records() {
        record.map_err(wrong)?.iter().zip(&mut cells).for_each(|(cell, column)| column.push(cell.to_owned()));
    }
    let columns: Vec<Column> =
        headings.iter().zip(cells).map(|(name, cells)| Column::of_cells(name, cells, true)).collect();
    debug_assert!(columns.iter().all(|c| matches!(c.values, Values::Numbers(_) | Values::Texts(_))));
    Ok(Table { columns })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(text: &str) -> Result<Table, String> {
        let otherwise = ReadError::new(ErrorKind::NotRecognised, Place::file("x.csv"), "not recognised");
        separated("x.csv", text.as_bytes(), otherwise).map_err(|e| e.to_string())
    }

    #[test]
    fn tables_in_another_encoding_say_where() {
        let error = |bytes: &[u8]| {
            let otherwise = ReadError::new(ErrorKind::NotRecognised, Place::file("x.csv"), "not recognised");
            separated("x.csv", bytes, otherwise).unwrap_err().to_string()
        };
        let latin = error(b"p,time,node\n1,2,a\n2,3,Ger\xe4t\n");
        assert!(latin.starts_with("x.csv:3:8: this byte is not valid UTF-8") && latin.contains("iconv"), "{latin}");
        assert!(error(b"Ger\xe4t,time\n1,2\n").starts_with("x.csv:1:4: "));
        assert!(error(b"\x7fELF\x00,\xff\n").contains("not recognised"));
    }

    #[test]
    fn separated_values_are_read_with_any_of_four_separators() {
        for separator in [",", ";", "\t", "|"] {
            let text = "p,host,time\n2,\"a\",1.5\n4,b,\n".replace(',', separator);
            let table = table(&text).unwrap();
            let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
            assert_eq!(names, ["p", "host", "time"]);
            assert_eq!(table.columns[0].values, Values::Numbers(vec![2.0, 4.0]));
            assert_eq!(table.columns[1].levels(), ["a", "b"]);
            assert!(table.columns[2].is_missing(1));
        }
    }

    #[test]
    fn errors_of_tables_say_where() {
        assert!(table("p,time\n1,2\n3\n").unwrap_err().starts_with("x.csv:3:1: the row has 1 cell"));
        assert!(table("p,p\n1,2\n").unwrap_err().contains("two columns are named `p`"));
        assert!(table("p,\n1,2\n").unwrap_err().contains("column 2 has no name"));
        assert!(table("no table at all\n").unwrap_err().contains("not recognised"));
    }

    #[test]
    fn a_record_gives_parameters_texts_and_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        let text = r#"{"schema": "x", "parameters": {"p": 4, "flag": "-O2"}, "repetition": 2, "host": "node1",
            "environment": {"OMP_NUM_THREADS": "2", "POISE_CLOCK": "wall", "SLURM_NTASKS": "4"}, "machine": {"load": 0.5, "governor": "performance"},
            "command": ["a"], "configuration": "9f2c", "started_unix_seconds": 1700000000, "seconds": 1.5}"#;
        fs::write(&path, text).unwrap();
        let cells: Vec<(String, String, bool)> =
            recorded(&path).unwrap().into_iter().map(|c| (c.0, c.1, c.3)).collect();
        let mut expected = vec![("p", "4", true), ("flag", "-O2", true), ("environment.OMP_NUM_THREADS", "2", true)];
        expected.extend([
            ("host", "node1", true),
            ("machine.governor", "performance", true),
            ("machine.load", "0.5", false),
            ("environment.SLURM_NTASKS", "4", false),
        ]);
        expected.extend([("repetition", "2", true), ("seconds", "1.5", false)]);
        let mut cells = cells;
        cells.sort();
        expected.sort();
        let expected: Vec<_> = expected.into_iter().map(|(a, b, c)| (a.to_owned(), b.to_owned(), c)).collect();
        assert_eq!(cells, expected);
    }

    /// A group of runs whose commands took 1 to 4 s, of which the selection drops the time of the first and last and the
    /// effort of all but the first.
    fn group() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for run in 1..=4 {
            let path = folder.path().join(format!("p2.r{run}"));
            fs::create_dir(&path).unwrap();
            let record = format!(
                r#"{{"schema": "counterpoise/run", "schema_version": 1, "parameters": {{"p": 2}}, "repetition": {run},
                    "status": "complete", "seconds": {run}.0, "processor_seconds": 0.5, "host": "node{run}"}}"#
            );
            fs::write(path.join("run.json"), record).unwrap();
        }
        let time =
            |run: u8, which: &str| format!(r#"{{"run": "p2.r{run}", "metrics": "time", "reason": "the {which}"}}"#);
        let effort = |run: u8| format!(r#"{{"run": "p2.r{run}", "metrics": "effort", "reason": "once"}}"#);
        let dropped = [time(1, "smallest"), time(4, "largest"), effort(2), effort(3), effort(4)].join(",");
        let file = format!(r#"{{"schema": "counterpoise/selection", "schema_version": 1, "dropped": [{dropped}]}}"#);
        fs::write(folder.path().join("selection.json"), file).unwrap();
        folder
    }

    #[test]
    fn measurements_that_a_study_drops_are_no_rows() {
        let folder = group();
        let of = |input: PathBuf, metric: &str| {
            let selection = Selection { callpath: None, over_ranks: OverRanks::Mean, metric: metric.into() };
            read(&[input], &ReadOptions::default(), &selection).unwrap()
        };
        let all = || folder.path().to_owned();
        for metric in ["time", "seconds"] {
            let found = of(all(), metric);
            assert_eq!(found.table.columns[found.table.find(metric).unwrap()].values, Values::Numbers(vec![2.0, 3.0]));
            let names: Vec<_> =
                found.left_out.iter().map(|l| (l.run.rsplit('/').next().unwrap(), &*l.reason)).collect();
            assert_eq!(names, [("p2.r1", "the smallest"), ("p2.r4", "the largest")]);
            let experiment = formats::read(&[all()], &ReadOptions::default()).unwrap().experiment;
            // Each time is there as mean, maximum, minimum and sum over ranks.
            assert_eq!(experiment.values.len() / 4, found.table.rows(), "as many as the reader of experiments uses");
        }
        // What was not dropped of them stays: these rows are not of times, and have none where theirs are dropped.
        let hosts = of(all(), "host");
        assert_eq!((hosts.table.rows(), hosts.left_out.len()), (4, 0));
        let time = &hosts.table.columns[hosts.table.find("time").unwrap()];
        assert_eq!([0, 1, 2, 3].map(|row| time.is_missing(row)), [true, false, false, true]);
        let efforts = of(all(), "visits").left_out;
        assert_eq!(efforts.len(), 3, "{efforts:?}");
        let alone = of(folder.path().join("p2.r1"), "time");
        assert_eq!((alone.table.rows(), alone.left_out.len()), (1, 0), "a run that is named itself");
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(text in "[a,;|\"\n\t01.-]{0,60}|\\PC{0,30}") {
            let _ = table(&text);
        }
    }

    #[test]
    fn an_empty_text_that_was_chosen_is_a_value() {
        let mut cells = Vec::new();
        flatten("factors", &serde_json::json!({"flag": "", "kind": "a", "none": null}), true, &mut cells);
        let cell = |name: &str, text: &str| (name.to_owned(), text.to_owned(), String::new(), true);
        assert_eq!(cells, [cell("factors.flag", "\"\""), cell("factors.kind", "a")]);
    }
}
