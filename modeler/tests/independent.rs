//! Real files of other tools, read by us and by programs that share no line with ours: hatchet and Caliper's own reader for
//! Python, and a few lines of Python for gem5. `reference.py` beside each set wrote what they say.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use modeler::experiment::OverRanks;
use modeler::formats::{self, ReadOptions};

fn dataset(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets").join(name)
}

/// Values of one profile by call path, metric and reduction over ranks.
fn read(path: &Path) -> HashMap<(String, String, &'static str), f64> {
    let input = formats::read(&[path.to_owned()], &ReadOptions::default()).unwrap();
    let e = &input.experiment;
    let over = |over: Option<OverRanks>| match over {
        None => "",
        Some(OverRanks::Mean) => "mean",
        Some(OverRanks::Maximum) => "maximum",
        Some(OverRanks::Minimum) => "minimum",
        Some(OverRanks::Sum) => "sum",
    };
    let entry = |s: &modeler::experiment::Series| {
        let metric = &e.metrics[s.metric as usize];
        ((e.path(s.callpath).join("->"), metric.name.clone(), over(metric.over_ranks)), e.values_of(s)[0])
    };
    e.series.iter().map(entry).collect()
}

/// Compares every row of a set's reference with what we read, and gives how many rows there were. `columns` are those of
/// call path, metric, reduction over ranks (if there is one) and value.
fn compare(set: &str) -> usize {
    let folder = dataset(set);
    let reference = std::fs::read_to_string(folder.join("reference.tsv")).unwrap();
    let mut known: HashMap<&str, HashMap<_, f64>> = HashMap::new();
    for row in reference.lines() {
        let cells: Vec<&str> = row.split('\t').collect();
        let (file, path, metric, value) = (cells[0], cells[1], cells[2], cells[cells.len() - 1]);
        let over = if cells.len() == 5 { cells[3] } else { "" };
        let ours = known.entry(file).or_insert_with(|| read(&folder.join(file)));
        let over = ["", "mean", "maximum", "minimum", "sum"].into_iter().find(|o| *o == over).unwrap();
        let key = (path.to_owned(), metric.to_owned(), over);
        let found = ours.get(&key).unwrap_or_else(|| panic!("{file}: nothing is read at {key:?}"));
        // Callees' times are taken off callers', which leaves rounding; and no time is below zero.
        let expected = value.parse::<f64>().unwrap().max(0.0);
        assert!((found - expected).abs() <= 1e-9 * expected.abs() + 1e-10, "{row}: {found}");
    }
    reference.lines().count()
}

#[test]
fn tau_and_caliper_are_read_as_hatchet_and_caliper_reader_read_them() {
    // Among them json-split, of which one file has several columns of nodes: functions, modules and source lines.
    assert_eq!(compare("hatchet"), 881);
}

/// hatchet adds the ranks up and follows MPI operations inside MPI; what is compared are their inclusive sums.
#[test]
fn a_database_of_hpctoolkit_is_read_as_hatchet_reads_it() {
    assert_eq!(compare("hpctoolkit"), 3);
    let ours = read(&dataset("hpctoolkit/ping-pong.p2"));
    let all: f64 = ours.iter().filter(|((_, _, over), _)| *over == "sum").map(|(_, seconds)| seconds).sum();
    // What hatchet says of `main`.
    assert!((all - 0.26207).abs() < 1e-9, "{all}");
}

#[test]
fn statistics_of_gem5_are_read_as_a_reader_of_its_own_reads_them() {
    assert_eq!(compare("gem5"), 781);
    // Of two dumps, what is no count is left out: rates and quotients.
    let ours = read(&dataset("gem5/netperf-alpha.p1.txt"));
    let rates = ours.keys().filter(|(_, metric, _)| metric.starts_with("bw_") || metric.ends_with("Bandwidth"));
    assert_eq!(rates.collect::<Vec<_>>(), Vec::<&(String, String, &str)>::new());
}
