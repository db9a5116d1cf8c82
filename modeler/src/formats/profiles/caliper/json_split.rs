//! Caliper's `json-split`: a table of rows whose cells are values or indices of nodes, and the nodes.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use super::super::ProfileFormat;
use super::super::profile::Profile;
use super::Rows;
use crate::formats::error::ReadError;
use crate::formats::json::{Document, Step, first_object_keys, is_json_object};
use crate::formats::source::{Source, text};
use crate::formats::{Detection, Format, Values};
use crate::words::counted;

/// Reads `json-split`.
pub(in super::super) struct JsonSplit;

impl ProfileFormat for JsonSplit {
    fn format(&self) -> Format {
        Format::CaliperJson
    }

    fn detect(&self, _name: &str, head: &[u8], _complete: bool) -> Detection {
        if !is_json_object(head) {
            return Detection::no("it does not begin with `{`");
        }
        let keys = first_object_keys(head);
        // Rows come first, so that the other keys may lie beyond what is known.
        let starts_with_rows = keys.first().is_some_and(|k| k == "data") && {
            let plain: Vec<u8> = head.iter().copied().filter(|b| !b.is_ascii_whitespace()).take(10).collect();
            plain.starts_with(b"{\"data\":[[")
        };
        if starts_with_rows || keys.iter().any(|k| k == "column_metadata") {
            Detection::Yes
        } else {
            Detection::no("its first object has no key `column_metadata`")
        }
    }

    fn looks_far(&self) -> bool {
        true
    }

    fn read(&self, source: Source, _values: Values) -> Result<Profile, ReadError> {
        let name = source.name.clone();
        let text = text(&name, source.into_bytes()?)?;
        let document = Document { name: &name, text: &text };
        let table: Table = document.parse()?;
        table.rows(&document)
    }
}

#[derive(Deserialize)]
struct Table {
    data: Vec<Vec<Value>>,
    columns: Vec<String>,
    column_metadata: Vec<serde_json::Map<String, Value>>,
    nodes: Vec<Node>,
    #[serde(default)]
    globals: serde_json::Map<String, Value>,
    /// What holds for the whole run; newer files have it among the globals.
    #[serde(flatten)]
    others: serde_json::Map<String, Value>,
}

#[derive(Deserialize)]
struct Node {
    label: String,
    #[serde(default)]
    column: String,
    parent: Option<usize>,
}

impl Table {
    fn rows(&self, document: &Document) -> Result<Profile, ReadError> {
        let callpaths = self.callpaths();
        let mut rows = Rows::default();
        for (name, value) in self.globals.iter().chain(&self.others) {
            value.as_str().into_iter().for_each(|value| rows.global(name, value));
        }
        let is_value = |column: usize| {
            self.column_metadata.get(column).and_then(|m| m.get("is_value")).and_then(Value::as_bool) == Some(true)
        };
        for (column, metadata) in self.columns.iter().zip(&self.column_metadata) {
            if let Some(unit) = metadata.get("attribute.unit").and_then(Value::as_str) {
                rows.units.insert(column.clone(), unit.to_owned());
            }
        }
        let nodes = self.nodes(document, &mut rows)?;
        let mut tells_ranks = false;
        for (number, row) in self.data.iter().enumerate() {
            let place = [Step::Key("data"), Step::Index(number)];
            if row.len() != self.columns.len() {
                let what = format!(
                    "this row has {} for {}",
                    counted(row.len(), "cell", "cells"),
                    counted(self.columns.len(), "column", "columns")
                );
                return Err(document.error(&place, what));
            }
            let (mut node, mut rank) = (None, (0, 0));
            let mut values = Vec::new();
            for (column, cell) in row.iter().enumerate() {
                let number = cell.as_f64().or_else(|| cell.as_str().and_then(|s| s.parse().ok()));
                let Some(number) = number.filter(|n| n.is_finite()) else { continue };
                match self.columns[column].as_str() {
                    // What else a row belongs to, such as its module, makes no call paths; its values add up.
                    _ if !is_value(column) && Some(column) != callpaths => {}
                    _ if !is_value(column) => {
                        let index = if number >= 0.0 { number as usize } else { usize::MAX };
                        let found = nodes.get(index).copied();
                        let missing = || document.error(&place, format!("the node {number} does not exist"));
                        node = Some(found.ok_or_else(missing)?);
                    }
                    "mpi.rank" | "rank" => (rank.0, tells_ranks) = (number as u64, true),
                    "thread" | "omp.thread.id" => (rank.1, tells_ranks) = (number as u64, true),
                    name => values.push((name, number)),
                }
            }
            values.into_iter().for_each(|(name, value)| rows.add(node, rank, name, value));
        }
        Ok(rows.finish(tells_ranks))
    }

    /// The column of nodes that are call paths: `path`, which holds all nested regions, or else the one with most callees.
    fn callpaths(&self) -> Option<usize> {
        let is_node = |m: &serde_json::Map<String, Value>| m.get("is_value").and_then(Value::as_bool) != Some(true);
        let columns =
            (0..self.columns.len().min(self.column_metadata.len())).filter(|&c| is_node(&self.column_metadata[c]));
        let mut callees: HashMap<&str, usize> = HashMap::new();
        for node in self.nodes.iter().filter(|node| node.parent.is_some()) {
            *callees.entry(&node.column).or_default() += 1;
        }
        let of = |&column: &usize| {
            let name = self.columns[column].as_str();
            // Of equal ones the first.
            (name == "path", callees.get(name).copied().unwrap_or(0), std::cmp::Reverse(column))
        };
        columns.max_by_key(of)
    }

    /// The profile's node of each of the file's.
    fn nodes(&self, document: &Document, rows: &mut Rows) -> Result<Vec<u32>, ReadError> {
        let mut nodes: Vec<u32> = Vec::with_capacity(self.nodes.len());
        for (index, node) in self.nodes.iter().enumerate() {
            let parent = node.parent.map(|parent| nodes.get(parent).copied().ok_or(parent)).transpose();
            let parent = parent.map_err(|parent| {
                let what = format!("the parent {parent} does not stand before its node {index}");
                document.error(&[Step::Key("nodes"), Step::Index(index)], what)
            })?;
            nodes.push(rows.profile.node(parent, &node.label));
        }
        Ok(nodes)
    }
}
