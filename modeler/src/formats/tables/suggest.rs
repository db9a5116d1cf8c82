//! Roles that the columns of a table may have, guessed from their names and first cells: a proposal for the person who
//! typed no roles, and never more than that.

use std::borrow::Cow;
use std::collections::HashSet;

use super::columns::{DELIMITERS, entries, is_rule, unit_behind_number, unquoted};
use crate::formats::error::{ErrorKind, Place, ReadError};

/// Rows that are looked at.
const ROWS: usize = 50;
/// Columns of texts that are proposed as parts of the call path, at most.
const MOST_NAMES: usize = 2;

/// Names that parameters have.
const PARAMETERS: [&str; 24] = [
    "p",
    "ranks",
    "processes",
    "nprocs",
    "procs",
    "np",
    "mpi_ranks",
    "num_procs",
    "nranks",
    "ntasks",
    "num_tasks",
    "cores",
    "threads",
    "nodes",
    "tasks",
    "n",
    "size",
    "problem_size",
    "elements",
    "cells",
    "particles",
    "dim",
    "order",
    "length",
];
/// What the names of measured columns hold, the best first.
const METRICS: [&str; 10] =
    ["mean", "time", "runtime", "duration", "seconds", "elapsed", "wall", "median", "cycles", "value"];
/// How hyperfine begins the names of its parameters.
const NAMED_PARAMETER: &str = "parameter_";
/// Columns of tables with a row for each value: what the value is of, and the value.
const NAMES: [&str; 6] = ["metric", "measure", "measurement", "quantity", "event", "counter"];
/// See [`NAMES`].
const VALUES: [&str; 2] = ["value", "val"];
/// Columns beside which `n` is how many values a mean is of, and no size of a problem.
const STATISTICS: [&str; 6] = ["sd", "std", "stddev", "stdev", "variance", "stderr"];
/// What stands beside a mean and is no parameter: more of its distribution, and the parts of a time.
const BESIDE: [&str; 6] = ["min", "max", "user", "system", "sys", "iterations"];
/// Names of columns that say which repetition a row is.
const REPETITIONS: [&str; 6] = ["run", "rep", "repetition", "iteration", "trial", "repeat"];

/// Names of columns that say how a run ended or where it was made, which are no parameters and no names of what was measured.
const OF_RUNS: [&str; 14] = [
    "status",
    "state",
    "result",
    "ok",
    "success",
    "passed",
    "exit",
    "exit_code",
    "exitcode",
    "rc",
    "returncode",
    "return_code",
    "error",
    "errors",
];

/// Whether parameters are called so.
pub(in crate::formats) fn is_parameter(name: &str) -> bool {
    PARAMETERS.contains(&name.to_ascii_lowercase().as_str())
}

/// Whether a column of this name says which repetition a row is.
pub(super) fn is_repetition(name: &str) -> bool {
    REPETITIONS.contains(&name.to_ascii_lowercase().as_str())
}

/// The error that the roles of a table's columns are not known, with the list that they may have; nothing where `head`, with which
/// the input at `place` begins, is no table. The error's text begins with `said`.
pub(in crate::formats) fn without_roles(place: Place, head: &[u8], said: &str) -> Option<ReadError> {
    let error = |what: String| {
        ReadError::new(ErrorKind::NotRecognised, place.clone(), format!("{said}this is a table, and {what}"))
    };
    let Some(suggested) = suggested_roles(head) else {
        let is_table = !is_text_of_extra_p(head) && of_table(&with_commas(head), b',').is_some();
        return is_table.then(|| error("blanks part its columns".to_owned()).advice(parted_by_blanks(&place.file)));
    };
    Some(match suggested {
        Err(column) => error(format!("its header names the column `{column}` twice"))
            .advice("Rename one of them in the table, and give its columns roles with --columns"),
        Ok(roles) => error("the roles of its columns are not known".to_owned()).advice(format!(
            "Give those that matter, for example --columns '{roles}'; times in another unit than seconds need it: in the name, \
             as in time_ms and time [ms], in a column with the role unit, or as in wall=metric:time[ms]"
        )),
    })
}

/// Whether some line begins with a keyword of Extra-P's text format, as one does whose first keyword is misspelt.
fn is_text_of_extra_p(head: &[u8]) -> bool {
    let first_word = |line: &[u8]| line.split(u8::is_ascii_whitespace).next().map(<[u8]>::to_vec);
    let is_keyword = |word: Vec<u8>| [&b"POINTS"[..], b"REGION", b"METRIC", b"DATA"].contains(&word.as_slice());
    head.split(|&byte| byte == b'\n').filter_map(first_word).any(is_keyword)
}

/// What to do with the file of this `name`, in which blanks part columns.
pub(super) fn parted_by_blanks(name: &str) -> String {
    format!(
        "Blanks part no columns, since names may hold them: awk '{{$1=$1}}1' OFS=, {name} > table.csv makes commas of them"
    )
}

/// The text with a comma for what is blank between the words of a line.
fn with_commas(text: &[u8]) -> Vec<u8> {
    let lines = text.split(|&byte| byte == b'\n');
    let words =
        lines.map(|line| line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect::<Vec<_>>());
    words.map(|words| words.join(&b',')).collect::<Vec<_>>().join(&b'\n')
}

/// What a list for `--columns` may look like for the table that begins with `head`, such as
/// `Ranks=parameter:p,mean=metric,mpi=callpath`, or a column in it of whose name there is another; nothing where `head` does not
/// begin with a header and a row of as many cells, some of them numbers.
fn suggested_roles(head: &[u8]) -> Option<Result<String, String>> {
    DELIMITERS.into_iter().find_map(|delimiter| of_table(head, delimiter))
}

fn of_table(head: &[u8], delimiter: u8) -> Option<Result<String, String>> {
    let mut reader = csv::ReaderBuilder::new();
    reader.delimiter(delimiter).trim(csv::Trim::All).flexible(true).has_headers(false);
    let mut rows: Vec<Vec<String>> = Vec::new();
    for record in reader.from_reader(head).into_byte_records().take(ROWS + 1) {
        let Ok(record) = record else { break };
        let cells = record.iter().map(|c| String::from_utf8(c.to_vec()).ok()).collect::<Option<Vec<String>>>()?;
        if !is_rule(&cells) {
            rows.push(cells);
        }
    }
    // Bars may stand before the first column and behind the last one.
    if delimiter == b'|' && rows.iter().all(|row| row.len() > 2 && row[0].is_empty() && row[row.len() - 1].is_empty()) {
        rows.iter_mut().for_each(|row| *row = row[1..row.len() - 1].to_vec());
    }
    let (header, rows) = rows.split_first()?;
    let whole: Vec<&Vec<String>> = rows.iter().filter(|row| row.len() == header.len()).collect();
    let is_name = |cell: &String| !cell.is_empty() && cell.parse::<f64>().is_err();
    // The last line may be cut off.
    if header.len() < 2 || whole.is_empty() || whole.len() + 1 < rows.len() || !header.iter().all(is_name) {
        return None;
    }
    let columns: Vec<Column> = header
        .iter()
        .enumerate()
        .map(|(i, name)| Column {
            name: name.trim_start_matches('\u{feff}'),
            lower: name.trim_start_matches('\u{feff}').to_ascii_lowercase(),
            is_number: are_mostly(&whole, i, |cell| cell.parse::<f64>().is_ok() || has_decimal_comma(cell)),
            is_quantity: are_mostly(&whole, i, is_quantity),
            // One row tells nothing of that.
            varies: whole.len() < 2 || whole.iter().any(|row| row[i] != whole[0][i]),
            recurs: {
                let different: HashSet<&String> = whole.iter().map(|row| &row[i]).collect();
                different.len() > 1 && 2 * different.len() <= whole.len()
            },
        })
        .collect();
    let units = |c: &Column| {
        let unit = format!("{}_unit", c.lower.strip_suffix("_value")?);
        let at = columns.iter().position(|other| other.lower == unit)?;
        Some(whole[0][at].clone()).filter(|unit| !unit.is_empty())
    };
    let list = columns.iter().any(|c| c.is_number).then(|| roles(&columns, units))?;
    let proposed = || entries(&list).into_iter().filter_map(|entry| entry.rsplit_once('='));
    let is_proposed = |name: &str| proposed().any(|(column, _)| unquoted(column) == name);
    let is_second = |i: &usize| columns[..*i].iter().any(|c| c.name == columns[*i].name);
    let second = (0..columns.len()).filter(is_second).map(|i| columns[i].name).find(|name| is_proposed(name));
    Some(match second {
        Some(name) => Err(name.to_owned()),
        None => Ok(list),
    })
}

/// Whether most cells of column `i` are so, of those that are not empty: a measurement that failed may have left a text.
fn are_mostly(rows: &[&Vec<String>], i: usize, is_so: impl Fn(&str) -> bool) -> bool {
    let filled = || rows.iter().map(|row| row[i].as_str()).filter(|cell| !cell.is_empty());
    2 * filled().filter(|cell| is_so(cell)).count() > filled().count()
}

/// Whether columns of this name, in lower case, hold counts that poise knows or those of PAPI.
fn is_count(name: &str) -> bool {
    crate::fit::EFFORT.contains(&name) || name.starts_with("papi_")
}

/// Whether a number is written as in `1,5`, which is said when it is read: in other places the comma parts thousands.
pub(crate) fn has_decimal_comma(cell: &str) -> bool {
    cell.matches(',').count() == 1 && cell.replace(',', ".").parse::<f64>().is_ok()
}

/// Whether a cell holds a number, with a decimal comma, a unit behind it or as a time of day perhaps, which is said when it is read.
fn is_quantity(cell: &str) -> bool {
    cell.parse::<f64>().is_ok()
        || has_decimal_comma(cell)
        || unit_behind_number(cell).is_some()
        || seconds_of_clock(cell).is_some()
}

/// The seconds of a duration that is written as `1:02:03.5`, hours before minutes before seconds.
pub(super) fn seconds_of_clock(cell: &str) -> Option<f64> {
    let parts: Vec<&str> = cell.split(':').collect();
    let is_plain = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_digit()) && part.chars().all(|c| c.is_ascii_digit() || c == '.')
    };
    let numbers: Option<Vec<f64>> = parts.iter().map(|part| part.parse().ok().filter(|_| is_plain(part))).collect();
    let numbers = numbers.filter(|n| (2..=3).contains(&n.len()) && n[1..].iter().all(|part| *part < 60.0))?;
    Some(numbers.iter().fold(0.0, |sum, part| 60.0 * sum + part))
}

/// A column as far as its first cells tell.
struct Column<'a> {
    name: &'a str,
    lower: String,
    is_number: bool,
    /// Whether its cells hold quantities, see [`is_quantity`].
    is_quantity: bool,
    varies: bool,
    /// Whether its values come again and again, as those of a parameter do and those of a measurement do not.
    recurs: bool,
}

impl Column<'_> {
    /// How a list of roles names it.
    fn listed(&self) -> Cow<'_, str> {
        if self.name.contains(',') { format!("\"{}\"", self.name).into() } else { self.name.into() }
    }
}

/// The name of a column in lower case, without a number behind it.
fn stem<'c>(column: &'c Column) -> &'c str {
    column.lower.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(['_', '-', ' ', '.', '#'])
}

/// The list, where `unit_beside` tells the unit of a column from another one.
fn roles(columns: &[Column], unit_beside: impl Fn(&Column) -> Option<String>) -> String {
    let numbers = || columns.iter().filter(|c| c.is_number);
    let is_metric = |c: &Column| METRICS.iter().any(|word| c.lower.contains(word));
    let is_repetition = |c: &Column| is_repetition(c.name);
    let are_statistics = columns.iter().any(|c| STATISTICS.contains(&c.lower.as_str()));
    let counts_values = |c: &Column| are_statistics && c.lower == "n";
    let named = |names: &[&str]| columns.iter().find(|c| names.contains(&c.lower.as_str()));
    let name = named(&NAMES).filter(|c| !c.is_number && named(&VALUES).is_some_and(|value| value.is_number));
    let unit = named(&["unit", "units"]).filter(|c| !c.is_number);
    let metric = name.and_then(|_| named(&VALUES));
    let metric = metric.or_else(|| numbers().find(|c| unit_beside(c).is_some()));
    let metric = metric.or_else(|| METRICS.iter().find_map(|word| numbers().find(|c| c.lower.contains(word))));
    let quantities = || columns.iter().filter(|c| c.is_quantity);
    let metric = metric.or_else(|| METRICS.iter().find_map(|word| quantities().find(|c| c.lower.contains(word))));
    let metric = metric.or_else(|| numbers().next_back());
    let is_beside = |c: &Column| [&STATISTICS[..], &BESIDE].iter().any(|names| names.contains(&c.lower.as_str()));
    let is_of_run = |c: &Column| OF_RUNS.contains(&c.lower.as_str());
    let is_count = |c: &Column| c.is_number && is_count(&c.lower);
    let is_free = |c: &&Column| {
        let is_other = is_metric(c) || is_count(c) || is_of_run(c) || is_beside(c) || is_repetition(c);
        !is_other && metric.is_none_or(|m| m.name != c.name)
    };
    let is_known = |c: &Column| PARAMETERS.contains(&c.lower.as_str()) && c.varies;
    // hyperfine says which columns they are, and its commands hold them.
    let mut parameters: Vec<&Column> = numbers().filter(|c| c.lower.starts_with(NAMED_PARAMETER)).collect();
    let are_named = !parameters.is_empty();
    if !are_named {
        parameters.extend(numbers().filter(is_free).filter(|c| (is_known(c) || c.recurs) && !counts_values(c)));
    }
    if parameters.is_empty() {
        parameters.extend(numbers().find(is_free).or_else(|| numbers().find(|c| is_count(c))));
    }
    let mut list: Vec<String> = Vec::new();
    for column in &parameters {
        let is_ranks = crate::fit::RANKS.contains(&column.lower.as_str()) && column.lower != "p";
        let called = match column.name.get(NAMED_PARAMETER.len()..) {
            Some(name) if are_named => format!(":{name}"),
            _ if is_ranks => ":p".to_owned(),
            _ => String::new(),
        };
        list.push(format!("{}=parameter{called}", column.listed()));
    }
    let is_parameter = |c: &Column| parameters.iter().any(|p| p.name == c.name);
    // `run1`, `run2`, `run3` or `time_1`, `time_2` hold repetitions side by side.
    let numbered =
        metric.map_or(Vec::new(), |m| numbers().filter(|c| stem(c) == stem(m) && c.lower != stem(c)).collect());
    if numbered.len() > 1 && name.is_none() && !numbered.iter().any(|c| is_parameter(c)) {
        let stem = stem(numbered[0]);
        let called = if REPETITIONS.contains(&stem) || stem.is_empty() { "time" } else { stem };
        list.extend(numbered.iter().map(|c| format!("{}=metric:{called}", c.listed())));
    } else if let Some(metric) = metric.filter(|m| !is_parameter(m)) {
        // Only this name tells the unit that the metric `time` has.
        list.push(match (name, metric.lower.as_str()) {
            (Some(name), _) => format!("{}=name,{}=value", name.listed(), metric.listed()),
            (None, "seconds") => format!("{}=metric:time", metric.listed()),
            (None, name) => match (unit_beside(metric), name.strip_suffix("_value")) {
                (Some(unit), Some(name)) => format!("{}=metric:{name}[{unit}]", metric.listed()),
                _ => format!("{}=metric", metric.listed()),
            },
        });
        list.extend(unit.filter(|_| name.is_some()).map(|unit| format!("{}=unit", unit.listed())));
    }
    let is_listed = |c: &Column| metric.is_some_and(|m| m.name == c.name);
    list.extend(
        columns
            .iter()
            .filter(|c| is_count(c) && !is_listed(c) && !is_parameter(c))
            .map(|c| format!("{}=metric", c.listed())),
    );
    let is_told = |c: &Column| [name, unit].iter().flatten().any(|told| told.name == c.name);
    let holds_parameters = |c: &Column| are_named && c.lower == "command";
    let is_callpath =
        |c: &&Column| !c.is_number && !is_of_run(c) && !is_listed(c) && c.varies && !is_told(c) && !holds_parameters(c);
    let names = columns.iter().filter(is_callpath).take(MOST_NAMES);
    list.extend(names.map(|c| format!("{}=callpath", c.listed())));
    list.extend(numbers().find(|c| is_repetition(c)).map(|c| format!("{}=repetition", c.listed())));
    list.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_a_misspelt_keyword_is_no_table_of_blanks() {
        let place = || Place::at("x.txt", 1, 1);
        assert!(without_roles(place(), b"PARAMETR p\nPOINTS 2 4 8\nMETRIC time\nDATA 1\nDATA 2\n", "").is_none());
        assert!(without_roles(place(), b"p time\n2 5\n4 7\n", "").is_some());
    }

    #[test]
    fn roles_are_proposed_by_names_and_cells() {
        let of = |text: &str| suggested_roles(text.as_bytes()).and_then(Result::ok);
        let collectives = "mpi,variable,Ranks,N,mean,sd\nIntelMPI,MPI_Barrier,32,1600,13.2,19.4\nOpenMPI,MPI_Bcast,64,1998,16.5,41.8\n";
        assert_eq!(of(collectives).unwrap(), "Ranks=parameter:p,mean=metric,mpi=callpath,variable=callpath");
        assert_eq!(of("threads;run;time\n1;1;2.5\n2;1;1.5\n").unwrap(), "threads=parameter,time=metric,run=repetition");
        assert_eq!(of("density\tseconds\n0.1\t5\n0.2\t7\n").unwrap(), "density=parameter,seconds=metric:time");
        assert_eq!(of("p;time\n2;1,5\n4;2,5\n").unwrap(), "p=parameter,time=metric");
        // Levels of a design come again, times do not.
        let grid = |i: i32| format!("{},{},1,{},{}\n", i % 3, i / 3, 10 + i, 900 - i);
        let design = format!("density,cutoff,repeat,time,rate\n{}", (0..9).map(grid).collect::<String>());
        assert_eq!(of(&design).unwrap(), "density=parameter,cutoff=parameter,time=metric,repeat=repetition");
        // What is missing in the first row, or in most, is no text.
        let sparse = "p,region,bytes,time\n2,f,,8\n4,f,,9\n8,f,3,10\n16,g,4,12\n32,g,,14\n";
        assert_eq!(of(sparse).unwrap(), "p=parameter,time=metric,region=callpath");
        let runs = "p,run1,run2,run3\n2,1.1,1.2,1.0\n4,2.1,2.2,2.0\n";
        assert_eq!(of(runs).unwrap(), "p=parameter,run1=metric:time,run2=metric:time,run3=metric:time");
        assert_eq!(
            of("p,wall_1,wall_2\n2,1.1,1.2\n4,2.1,2.2\n").unwrap(),
            "p=parameter,wall_1=metric:wall,wall_2=metric:wall"
        );
        let hyperfine = "command,mean,stddev,median,user,system,min,max,parameter_n\nx 1,0.2,0.1,0.2,0.1,0.1,0.1,0.3,1\nx 2,0.4,0.1,0.4,0.3,0.1,0.3,0.5,2\n";
        assert_eq!(of(hyperfine).unwrap(), "parameter_n=parameter:n,mean=metric");
        let reframe =
            "job_completion_time|num_tasks|elapsed_value|elapsed_unit\n2026-01-01|2|1.5|s\n2026-01-02|4|2.5|s\n";
        assert_eq!(
            of(reframe).unwrap(),
            "num_tasks=parameter:p,elapsed_value=metric:elapsed[s],job_completion_time=callpath"
        );
        let jube = "| n | ntasks | wall_avg[s] |\n|---|--------|-------------|\n| 10 | 2 | 1.5 |\n| 20 | 4 | 2.5 |\n";
        assert_eq!(of(jube).unwrap(), "n=parameter,ntasks=parameter:p,wall_avg[s]=metric");
        let long = "p,metric,unit,value,region\n2,time,ms,20,solve\n2,visits,,2,solve\n4,time,ms,40,solve\n4,visits,,4,solve\n";
        assert_eq!(of(long).unwrap(), "p=parameter,metric=name,value=value,unit=unit");
        let long = long.replace("4,visits,,4,solve", "4,visits,,4,init");
        assert_eq!(of(&long).unwrap(), "p=parameter,metric=name,value=value,unit=unit,region=callpath");
        // Single cells that are no numbers make no column of texts.
        assert_eq!(
            of("p,n,time\n1,10,5\n2,10,failed\n4,10,8\n1,20,9\n").unwrap(),
            "p=parameter,n=parameter,time=metric"
        );
        // How a run ended is neither a call path nor a parameter; what cells hold beside a number is said when they are read.
        assert_eq!(
            of("p,status,exit,time\n2,ok,0,5\n2,FAILED,1,5\n4,ok,0,8\n4,ok,0,9\n").unwrap(),
            "p=parameter,time=metric"
        );
        assert_eq!(of("p;time\n2;306.8 ms\n4;412.1 ms\n").unwrap(), "p=parameter,time=metric");
        assert_eq!(of("p,elapsed\n2,00:05:00\n4,00:07:30\n").unwrap(), "p=parameter,elapsed=metric");
        assert_eq!(
            of("variant,size,p,time\n2d,4 KB,2,5\n3d,8 KB,4,6\n").unwrap(),
            "p=parameter,time=metric,variant=callpath,size=callpath"
        );
        // Counts come again where their call path does not depend on all parameters.
        assert_eq!(
            of("p,n,visits,time,bytes_sent\n2,10,1,5,80\n4,10,1,6,80\n2,20,1,7,160\n4,20,1,9,160\n").unwrap(),
            "p=parameter,n=parameter,time=metric,visits=metric,bytes_sent=metric"
        );
        assert_eq!(of("comm_size,time\n2,5\n4,6\n").unwrap(), "comm_size=parameter,time=metric");
        // A list that would be refused is none; a column that it leaves out may be there twice.
        assert_eq!(suggested_roles(b"p,p,time\n1,2,3\n2,3,4\n"), Some(Err("p".to_owned())));
        assert_eq!(of("p,note,note,time\n1,5,5,3\n2,5,5,4\n").unwrap(), "p=parameter,time=metric");
        assert_eq!(of("p,\"time, wall\"\n1,3\n2,4\n").unwrap(), "p=parameter,\"time, wall\"=metric");
        // No table: one column, a row of another width, no number, a header that is a number.
        for text in ["hello\n", "a,b\n1\n", "a,b\nx,y\n", "1,2\n3,4\n", "a,b\n", "{\"a\": 1, \"b\": 2}\n"] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
