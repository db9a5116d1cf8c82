//! The table against what it stands for: the prototypes in each installed mpi.h, and the rules in `docs/mpi.md`.

mod common;
#[path = "../src/table/mod.rs"]
mod table;

use std::collections::{BTreeMap, BTreeSet};

use common::{BOTH, Mpi, reasons};
use table::{added, collective, environment, large_counts, one_sided, persistent, point_to_point};

/// A row: name with prefix, kinds of the arguments, rule.
struct Row {
    name: String,
    kinds: Vec<&'static str>,
    rule: &'static str,
}

macro_rules! rows {
    ($($name:ident($($argument:ident: $kind:ident),*) => $rule:ident $fields:tt;)*) => {
        vec![$(Row {
            name: concat!("MPI_", stringify!($name)).to_string(),
            kinds: vec![$(stringify!($kind)),*],
            rule: stringify!($rule),
        }),*]
    };
}

fn all_rows() -> Vec<Row> {
    let mut all = shared_rows();
    let added: [Vec<Row>; 3] = [large_counts!(rows), persistent!(rows), added!(rows)];
    all.extend(added.into_iter().flatten());
    all
}

/// The rows of functions that both libraries have.
fn shared_rows() -> Vec<Row> {
    let chapters: [Vec<Row>; 4] = [point_to_point!(rows), collective!(rows), one_sided!(rows), environment!(rows)];
    chapters.into_iter().flatten().collect()
}

/// The kind that an argument's declaration is of.
fn kind(declaration: &str) -> &'static str {
    if declaration.contains(['*', '[']) {
        return "Ptr";
    }
    let words: Vec<_> = declaration.split_whitespace().filter(|&word| word != "const").collect();
    match words[0] {
        "int" => "Int",
        "MPI_Aint" | "MPI_Offset" | "MPI_Count" => "Wide",
        handle if handle.starts_with("MPI_") => "Handle",
        other => panic!("an argument of type {other}: {declaration}"),
    }
}

/// Whether a kind is that of an array of counts.
fn is_counts(kind: &str) -> bool {
    matches!(kind, "Ints" | "Wides")
}

/// Arrays of counts are of ints or, in functions whose names end with `_c`, of MPI_Counts.
#[test]
fn counts_are_as_wide_as_the_name_says() {
    for row in all_rows() {
        let wrong = if row.name.ends_with("_c") { "Ints" } else { "Wides" };
        assert!(!row.kinds.contains(&wrong), "{}", row.name);
    }
}

/// The functions that are not wrapped, each with the reason.
fn untouched() -> BTreeMap<String, String> {
    reasons(include_str!("untouched.txt"))
}

/// Names of all functions that a preprocessed header declares, whatever their arguments.
fn declared(header: &str) -> BTreeSet<String> {
    let ends = header.match_indices('(').map(|(end, _)| header[..end].trim_end());
    let last_words =
        ends.map(|text| text.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default());
    last_words.filter(|name| name.starts_with("MPI_")).map(str::to_owned).collect()
}

#[test]
fn every_function_is_wrapped_or_listed_with_a_reason() {
    let (rows, untouched) = (all_rows(), untouched());
    let wrapped: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    let mut seen = BTreeSet::new();
    for mpi in BOTH {
        let names = declared(&mpi.header());
        assert!(names.len() > 390, "{} functions found for {mpi:?}", names.len());
        for name in &names {
            let listed = untouched.contains_key(name);
            assert!(wrapped.contains(name.as_str()) != listed, "{name} of {mpi:?}: listed {listed}, and so wrapped");
        }
        seen.extend(names);
    }
    for name in untouched.keys() {
        assert!(seen.contains(name), "{name} is in no mpi.h");
    }
}

/// Prototypes of a preprocessed header by name, but for those with an unnamed kind of argument.
fn prototypes(header: &str) -> BTreeMap<String, Vec<&'static str>> {
    let header = header.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut found = BTreeMap::new();
    for declaration in header.split("int MPI_").skip(1) {
        let Some((name, rest)) = declaration.split_once('(') else { continue };
        let Some((arguments, _)) = rest.split_once(')') else { continue };
        if arguments.contains(['(', '.']) || arguments.contains("function") {
            continue;
        }
        let kinds = match arguments.trim() {
            "void" => Vec::new(),
            list => list.split(',').map(kind).collect(),
        };
        found.insert(format!("MPI_{}", name.trim()), kinds);
    }
    found
}

#[test]
fn every_row_is_as_the_installed_headers_declare_it() {
    for mpi in BOTH {
        let prototypes = prototypes(&mpi.header());
        assert!(prototypes.len() > 250, "{} prototypes found for {mpi:?}", prototypes.len());
        // What MPI 4.0 added is in MPICH alone.
        let rows = if mpi == Mpi::Mpich { all_rows() } else { shared_rows() };
        for row in rows {
            let declared = prototypes.get(&row.name).unwrap_or_else(|| panic!("{mpi:?} has no {}", row.name));
            let kinds: Vec<&str> = row.kinds.iter().map(|kind| if is_counts(kind) { "Ptr" } else { kind }).collect();
            assert_eq!(*declared, kinds, "{} of {mpi:?}", row.name);
        }
    }
}

/// Open MPI's extensions, but for a question about its build.
#[test]
fn extensions_are_rows_as_the_header_declares_them() {
    let header = Mpi::OpenMpi.preprocessed("#include <mpi.h>\n#include <mpi-ext.h>\n").replace("int MPIX_", "int MPI_");
    let (declared, core) = (prototypes(&header), prototypes(&Mpi::OpenMpi.header()));
    let rows: BTreeMap<String, Vec<&str>> = persistent!(rows)
        .into_iter()
        .map(|row: Row| (row.name, row.kinds.iter().map(|kind| if is_counts(kind) { "Ptr" } else { kind }).collect()))
        .collect();
    let extensions = declared.iter().filter(|(name, _)| !core.contains_key(*name) && !name.contains("Query_cuda"));
    assert_eq!(extensions.map(|(name, kinds)| assert_eq!(rows.get(name), Some(kinds), "{name}")).count(), 22);
}

#[test]
fn no_function_has_two_rows() {
    let names: Vec<_> = all_rows().into_iter().map(|row| row.name).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
}

/// The nonblocking form of a collective operation has the rule of the blocking one.
#[test]
fn nonblocking_forms_share_the_rule() {
    let rules: BTreeMap<_, _> = collective!(rows).into_iter().map(|row: Row| (row.name, row.rule)).collect();
    for (name, rule) in &rules {
        let (first, rest) = name["MPI_".len()..].split_at(1);
        let nonblocking = format!("MPI_I{}{rest}", first.to_lowercase());
        if !name.starts_with("MPI_I") {
            assert_eq!(rules.get(&nonblocking), Some(rule), "{nonblocking}");
        }
    }
}

/// Rows of the document's table: `| Rule | functions | sent | received |`.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/mpi.md");
    let text = std::fs::read_to_string(path).expect("docs/mpi.md");
    let mut rules = BTreeMap::new();
    let table = text.lines().skip_while(|line| !line.starts_with("| Rule |")).skip(2);
    for line in table.take_while(|line| line.starts_with('|')) {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let functions = cells[2].split_whitespace().map(|name| format!("MPI_{name}")).collect();
        assert!(
            cells.len() == 6 && rules.insert(cells[1].trim_matches('`').to_string(), functions).is_none(),
            "{line}"
        );
    }
    rules
}

#[test]
fn the_document_has_every_rule_with_its_functions() {
    let mut rules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in all_rows() {
        rules.entry(row.rule.to_string()).or_default().insert(row.name);
    }
    let documented = documented();
    for (rule, functions) in &rules {
        assert_eq!(documented.get(rule), Some(functions), "the rule {rule}");
    }
    assert_eq!(documented.len(), rules.len());
}
