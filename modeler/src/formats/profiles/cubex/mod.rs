//! Cube 4 profiles, as Score-P and Scalasca write them: an archive of `anchor.xml` and two files for each metric.
//!
//! Values are made exclusive as Extra-P does: where a metric is stored with its callees', theirs are subtracted. If they
//! are to be inclusive, it is the other way round.

mod anchor;
mod data;
mod tar;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::ProfileFormat;
use super::profile::{Fold, Profile, Reduced};
use crate::formats::error::{ASSUMED, CHECKSUM, IGNORED, IMPOSSIBLE, Place, ReadError};
use crate::formats::source::Source;
use crate::formats::{Detection, Format, Values};
use crate::words::counted;
use anchor::{Anchor, MetricDeclaration};
use data::{Component, Number, Order, Type};

/// Reads Cube profiles.
pub(super) struct Cubex;

impl ProfileFormat for Cubex {
    fn format(&self) -> Format {
        Format::Cubex
    }

    fn extension(&self) -> Option<&'static str> {
        Some("cubex")
    }

    fn detect(&self, name: &str, head: &[u8], _complete: bool) -> Detection {
        if !tar::is_archive(head) {
            return Detection::no("it does not begin as a ustar archive");
        }
        // Members come in any order; these are the names that the first one may have.
        let length = head.iter().position(|&b| b == 0).unwrap_or(0);
        let first = &head[..length.min(100)];
        let is_cube =
            [b"anchor.xml".as_slice(), b".index", b".data", b"remapping.spec"].iter().any(|n| first.ends_with(n));
        if is_cube || name.ends_with(".cubex") {
            Detection::Yes
        } else {
            Detection::no("the archive does not begin as those of Cube do")
        }
    }

    fn read(&self, source: Source, values: Values) -> Result<Profile, ReadError> {
        let name = source.name.clone();
        let bytes = source.into_bytes()?;
        let archive = tar::Archive::new(&name, &bytes)?;
        let mut profile = Profile::default();
        if let Some(at) = archive.wrong_checksum {
            let message = format!(
                "The header at byte {at} has a wrong checksum, as CubeWriter 4.8 wrote it; the archive was read all the same."
            );
            profile.warn(CHECKSUM, Place::file(&name), message);
        }
        let xml = archive.get(&bytes, "anchor.xml").ok_or_else(|| {
            ReadError::malformed(Place::file(&name), "the archive has no member `anchor.xml`")
                .expected("a Cube 4 profile")
                .advice("Copy the file again if it was cut off")
        })?;
        let anchor = anchor::read(&format!("{name}/anchor.xml"), xml)?;
        profile.ranks = Some(anchor.locations);
        profile.processes = Some(anchor.processes).filter(|&count| count > 0);
        let nodes = nodes(&name, &anchor, &mut profile)?;
        let mut reading =
            Reading { name: &name, anchor: &anchor, nodes: &nodes, profile, orders: HashMap::new(), wanted: values };
        for metric in &anchor.metrics {
            let member = |extension: &str| archive.get(&bytes, &format!("{}.{extension}", metric.id));
            // Score-P declares metrics of which it measured nothing.
            if let (Some(index), Some(data)) = (member("index"), member("data")) {
                reading.metric(metric, index, data)?;
            }
        }
        Ok(reading.profile)
    }
}

/// The profile's node of each node of the file. Nodes that have the same names, such as those of one region with
/// different values of a Score-P parameter, are one.
fn nodes(name: &str, anchor: &Anchor, profile: &mut Profile) -> Result<Vec<u32>, ReadError> {
    let mut nodes: Vec<u32> = Vec::with_capacity(anchor.nodes.len());
    for node in &anchor.nodes {
        let region = anchor.regions.get(&node.region).ok_or_else(|| {
            let what = format!("a call-tree node refers to the region {}, which does not exist", node.region);
            ReadError::malformed(Place::file(format!("{name}/anchor.xml")), what)
        })?;
        let parent = node.parent.map(|p| nodes[p as usize]);
        nodes.push(profile.node(parent, region));
    }
    Ok(nodes)
}

/// What is needed to read the metrics of one file.
struct Reading<'a> {
    name: &'a str,
    anchor: &'a Anchor,
    /// The profile's node by the file's.
    nodes: &'a [u32],
    profile: Profile,
    /// The enumeration of nodes by whether it is that of inclusive metrics.
    orders: HashMap<bool, Vec<u32>>,
    /// Whether values are to include those of the callees.
    wanted: Values,
}

/// What is done about the values of callees.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Callees {
    Leave,
    Subtract,
    Add,
}

/// The rows of one metric.
struct Rows<'a> {
    raw: &'a [u8],
    width: usize,
    locations: usize,
    order: Order,
    /// The row of each node of the file.
    row: HashMap<u32, usize>,
}

impl Rows<'_> {
    fn get(&self, node: u32, location: usize, component: &Component) -> Option<Number> {
        let row = self.row.get(&node)?;
        let start = (row * self.locations + location) * self.width + component.offset;
        Some(data::number(&self.raw[start..], component.scalar, self.order))
    }
}

impl Reading<'_> {
    fn metric(&mut self, metric: &MetricDeclaration, index: &[u8], raw: &[u8]) -> Result<(), ReadError> {
        let inclusive = match metric.kind.as_str() {
            "INCLUSIVE" => true,
            "EXCLUSIVE" | "SIMPLE" => false,
            // Derived metrics are formulas over the others.
            _ => return Ok(()),
        };
        let Some(data_type) = Type::new(&metric.data_type) else {
            let message = format!("The metric `{}` has the type {}, which is not read.", metric.name, metric.data_type);
            self.profile.warn(IGNORED, Place::file(self.name), message);
            return Ok(());
        };
        let id = metric.id;
        let wrong =
            |extension: &str, what| ReadError::malformed(Place::file(format!("{}/{id}.{extension}", self.name)), what);
        let index = data::index(index).map_err(|what| wrong("index", what))?;
        let anchor = self.anchor;
        let enumeration = self.orders.entry(inclusive).or_insert_with(|| enumeration(anchor, inclusive));
        let of_rows: Vec<u32> = match &index.rows {
            Some(rows) => {
                let node = |&row: &u32| enumeration.get(row as usize).copied();
                let all: Option<Vec<u32>> = rows.iter().map(node).collect();
                all.ok_or_else(|| wrong("index", "the index names a node that does not exist".to_owned()))?
            }
            None => enumeration.clone(),
        };
        let locations = anchor.locations as usize;
        let length = of_rows.len().saturating_mul(locations).saturating_mul(data_type.width);
        let raw = data::values(raw, index.order, length).map_err(|what| wrong("data", what))?;
        let row = of_rows.iter().enumerate().map(|(row, &node)| (node, row)).collect();
        let rows = Rows { raw: &raw, width: data_type.width, locations, order: index.order, row };
        for component in &data_type.components {
            let callees = match (self.wanted, inclusive) {
                (Values::Exclusive, true) if component.fold == Fold::Sum => Callees::Subtract,
                (Values::Inclusive, false) => Callees::Add,
                _ => Callees::Leave,
            };
            self.component(metric, component, &rows, &of_rows, callees);
        }
        Ok(())
    }

    fn component(
        &mut self,
        metric: &MetricDeclaration,
        component: &Component,
        rows: &Rows,
        of_rows: &[u32],
        with_callees: Callees,
    ) {
        let (name, unit) = naming(metric);
        let column = self.profile.column(&format!("{name}{}", component.suffix), unit, component.fold);
        let mut wrapped = 0_u64;
        // Nodes of the file that are one node of the profile add up location by location.
        let mut values: Vec<(u32, Vec<f64>)> = Vec::with_capacity(of_rows.len());
        let mut known: HashMap<u32, usize> = HashMap::new();
        for &node in of_rows {
            let callees =
                if with_callees == Callees::Subtract { self.anchor.callees[node as usize].as_slice() } else { &[] };
            let own = (0..rows.locations).map(|location| {
                let own = rows.get(node, location, component);
                let theirs = callees.iter().filter_map(|&c| rows.get(c, location, component));
                exclusive(own, theirs, component, &mut wrapped)
            });
            let target = self.nodes[node as usize];
            match known.get(&target) {
                Some(&at) => values[at].1.iter_mut().zip(own).for_each(|(sum, v)| *sum = fold(*sum, v, component.fold)),
                None => {
                    known.insert(target, values.len());
                    values.push((target, own.collect()));
                }
            }
        }
        let (processes, mut of_fewer) = (f64::from(self.anchor.processes), BTreeSet::new());
        for (node, values) in &mut values {
            let operation = &self.profile.nodes[*node as usize].name;
            if component.suffix.is_empty() && is_sent_to_all(operation, name) && processes > 0.0 {
                if !operation.to_ascii_lowercase().ends_with("scan")
                    && values.iter().any(|&v| is_of_fewer(v, processes))
                {
                    of_fewer.insert(operation.clone());
                }
                values.iter_mut().for_each(|v| *v /= processes);
            }
        }
        if !of_fewer.is_empty() {
            let message = format!(
                "`{}` of {} is no multiple of the {processes} processes: some communicators are smaller, or some calls are in place; it was \
                 divided by all processes.",
                metric.name,
                Vec::from_iter(of_fewer).join(", ")
            );
            self.profile.warn(ASSUMED, Place::file(self.name), message);
        }
        if with_callees == Callees::Add {
            add_callees(&mut values, &self.profile, component.fold);
        }
        for (node, values) in values {
            let mut reduced = Reduced::default();
            values.into_iter().filter(|v| v.is_finite()).for_each(|v| reduced.rank(v));
            if reduced != Reduced::default() {
                self.profile.add(node, column, reduced);
            }
        }
        if wrapped > 0 {
            let message = format!(
                "Of the metric `{}` {} negative and wrapped around; zero was taken instead.",
                metric.name,
                counted(wrapped, "count is", "counts are")
            );
            self.profile.warn(IMPOSSIBLE, Place::file(self.name), message);
        }
    }
}

/// Whether Score-P counts the bytes of an operation's argument once for each member of the communicator, though it is one operand of a
/// reduction and no message to each: so its bytes grow with the ranks where nothing else does. Of scans it counts the members that get it, all
/// of them at the first rank or the last. (Score-P's functions `scorep_mpi_coll_bytes_…`.)
fn is_sent_to_all(operation: &str, metric: &str) -> bool {
    const SENT: [&str; 3] = ["allreduce", "scan", "exscan"];
    const RECEIVED: [&str; 6] = ["reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"];
    let operation = operation.to_ascii_lowercase();
    let Some(plain) = operation.strip_prefix("mpi_") else { return false };
    let is_one_of =
        |these: &[&str]| these.contains(&plain) || plain.strip_prefix('i').is_some_and(|p| these.contains(&p));
    match metric {
        "bytes_sent" => is_one_of(&SENT),
        "bytes_received" => is_one_of(&RECEIVED),
        _ => false,
    }
}

/// Whether the bytes that Score-P states of reductions cannot be those of a communicator of all processes: these are as many operands, or one
/// fewer where the operation is in place.
fn is_of_fewer(bytes: f64, processes: f64) -> bool {
    bytes.is_finite() && [processes, processes - 1.0].iter().all(|&operands| operands > 0.0 && bytes % operands != 0.0)
}

/// Adds the values of callees to those of their callers, which are added where they have none.
fn add_callees(values: &mut Vec<(u32, Vec<f64>)>, profile: &Profile, kind: Fold) {
    let mut by_node: BTreeMap<u32, Vec<f64>> = values.drain(..).collect();
    // Callers have smaller numbers than their callees, so that each callee is complete when its turn comes.
    for node in (0..profile.nodes.len() as u32).rev() {
        let Some(own) = by_node.get(&node).cloned() else { continue };
        let Some(parent) = profile.nodes[node as usize].parent else { continue };
        match by_node.entry(parent) {
            Entry::Vacant(entry) => {
                entry.insert(own);
            }
            Entry::Occupied(mut entry) => {
                entry.get_mut().iter_mut().zip(own).for_each(|(sum, v)| *sum = fold(*sum, v, kind));
            }
        }
    }
    values.extend(by_node);
}

/// A value without those of its callees. Unsigned counts from the upper half of 64 bits were below zero.
fn exclusive(
    own: Option<Number>,
    callees: impl Iterator<Item = Number>,
    component: &Component,
    wrapped: &mut u64,
) -> f64 {
    const NEGATIVE: i128 = 1 << 63;
    let is_unsigned = matches!(component.scalar, data::Scalar::Unsigned(_));
    let mut whole = |n: i128| {
        if is_unsigned && n >= NEGATIVE {
            *wrapped += 1;
            return 0;
        }
        n
    };
    match own {
        None => 0.0,
        Some(Number::Real(own)) => {
            let rest = callees.fold(own, |rest, c| if let Number::Real(c) = c { rest - c } else { rest });
            // What rounding leaves below zero is nothing.
            if rest < 0.0 && rest > -1e-9 * own.abs() { 0.0 } else { rest }
        }
        Some(Number::Whole(own)) => {
            let own = whole(own);
            let rest = callees.fold(own, |rest, c| if let Number::Whole(c) = c { rest - whole(c) } else { rest });
            if is_unsigned { rest.max(0) as f64 } else { rest as f64 }
        }
    }
}

fn fold(a: f64, b: f64, fold: Fold) -> f64 {
    match fold {
        Fold::Sum => a + b,
        Fold::Minimum => a.min(b),
        Fold::Maximum => a.max(b),
    }
}

/// The order in which an index numbers the nodes: depth first where values are exclusive; where they are inclusive the
/// callees of a node follow each other, and nodes hand out these numbers depth first.
fn enumeration(anchor: &Anchor, inclusive: bool) -> Vec<u32> {
    let depth_first = 0..anchor.nodes.len() as u32;
    if !inclusive {
        return depth_first.collect();
    }
    let mut order = Vec::with_capacity(anchor.nodes.len());
    for node in depth_first {
        if anchor.nodes[node as usize].parent.is_none() {
            order.push(node);
        }
        order.extend(&anchor.callees[node as usize]);
    }
    order
}

/// The experiment's name and unit of a metric.
fn naming(metric: &MetricDeclaration) -> (&str, &'static str) {
    let unit = match metric.unit.trim() {
        "sec" | "s" => "s",
        "bytes" | "Bytes" | "B" => "bytes",
        _ => "",
    };
    let plain: String = metric.name.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
    let name = match plain.as_str() {
        "basicblocks" | "basicblock" | "basicblockcount" | "bbcount" | "bbs" => "basic_blocks",
        _ => metric.name.as_str(),
    };
    (name, unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three calls on one double each.
    #[test]
    fn bytes_of_smaller_communicators_are_told_where_they_can_be() {
        let of = |members: f64| 3.0 * 8.0 * members;
        for (members, processes, told) in [
            (27.0, 27.0, false),
            // In place.
            (26.0, 27.0, false),
            (5.0, 27.0, true),
            (10.0, 27.0, true),
            // As many bytes as one call of all on other operands has.
            (9.0, 27.0, false),
            (1.0, 1.0, false),
            (1.0, 2.0, false),
        ] {
            assert_eq!(is_of_fewer(of(members), processes), told, "{members} of {processes}");
        }
    }
}
