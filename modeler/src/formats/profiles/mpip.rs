//! mpiP's text reports: time, calls and bytes sent for each call site of an MPI operation and each rank.
//!
//! Reports hold three significant digits; that is a floor under the noise of every time and size in them.

use std::collections::{BTreeMap, HashMap};

use super::ProfileFormat;
use super::lines::{self, Line};
use super::profile::{Fold, Profile, Reduced};
use crate::formats::error::{Place, ROUNDED, ReadError};
use crate::formats::source::Source;
use crate::formats::{Detection, Format, Values};
use crate::rounded::deviation;

/// Reads mpiP's reports.
pub(super) struct MpiP;

/// Significant digits of what a report says.
const DIGITS: i32 = 3;
/// The call path of what is no MPI operation.
const APPLICATION: &str = "application";

#[derive(Clone, Copy, PartialEq)]
enum Section {
    Other,
    Times,
    CallSites,
    SiteTimes,
    SiteBytes,
}

/// What a report says.
#[derive(Default)]
struct Report {
    /// Time outside MPI of each rank, in seconds.
    application: BTreeMap<u32, f64>,
    /// Functions of each call site from the innermost outwards, and the operation.
    sites: BTreeMap<u32, (Vec<String>, String)>,
    /// By call site and rank: calls, seconds.
    times: BTreeMap<(u32, u32), (f64, f64)>,
    /// By call site and rank: bytes sent.
    bytes: BTreeMap<(u32, u32), f64>,
}

impl ProfileFormat for MpiP {
    fn format(&self) -> Format {
        Format::MpiP
    }

    fn extension(&self) -> Option<&'static str> {
        Some("mpiP")
    }

    fn detect(&self, _name: &str, head: &[u8], _complete: bool) -> Detection {
        if head.starts_with(b"@ mpiP") { Detection::Yes } else { Detection::no("it does not begin with `@ mpiP`") }
    }

    fn read(&self, source: Source, _values: Values) -> Result<Profile, ReadError> {
        let name = source.name.clone();
        let (mut report, mut section, mut is_whole) = (Report::default(), Section::Other, false);
        lines::each(source, |line| {
            if line.text.starts_with("@---") {
                section = section_of(line.text);
                is_whole |= line.text.contains("End of Report");
            }
            let fields: Vec<&str> = line.text.split_whitespace().collect();
            match (section, &fields[..]) {
                (_, [first, ..]) if first.starts_with('@') || first.starts_with("---") => Ok(()),
                (_, ["Task", ..] | ["ID", ..] | ["Name", ..]) => Ok(()),
                (Section::Times, fields) => report.application(&line, fields),
                (Section::CallSites, fields) => report.site(&line, fields),
                (Section::SiteTimes, fields) => report.time(&line, fields),
                (Section::SiteBytes, fields) => report.sent(&line, fields),
                _ => Ok(()),
            }
        })?;
        if !is_whole {
            let what = "the report does not come to its end";
            return Err(ReadError::malformed(Place::file(&name), what)
                .expected("a last heading `@--- End of Report`")
                .cut_off());
        }
        let mut profile = report.profile();
        let message = "The report holds three significant digits: times and sizes are uncertain by up to 0.5 %, \
                       however quiet the machine was."
            .to_owned();
        profile.warn(ROUNDED, Place::file(&name), message);
        Ok(profile)
    }
}

fn section_of(heading: &str) -> Section {
    if heading.contains("MPI Time (seconds)") {
        Section::Times
    } else if heading.contains("Callsites:") {
        Section::CallSites
    } else if heading.contains("Callsite Time statistics") && heading.contains("milliseconds") {
        Section::SiteTimes
    } else if heading.contains("Callsite Message Sent statistics") {
        Section::SiteBytes
    } else {
        Section::Other
    }
}

impl Report {
    /// `Task AppTime MPITime MPI%`; the last line is of all tasks.
    fn application(&mut self, line: &Line, fields: &[&str]) -> Result<(), ReadError> {
        let [task, all, mpi, ..] = fields else { return Err(line.wrong(line.text, "a column is missing")) };
        if *task != "*" {
            self.application.insert(whole(line, task)?, (line.finite(all)? - line.finite(mpi)?).max(0.0));
        }
        Ok(())
    }

    /// `ID Lev File/Address Line Parent_Funct MPI_Call`; only the innermost level names the operation.
    fn site(&mut self, line: &Line, fields: &[&str]) -> Result<(), ReadError> {
        let [id, level, rest @ ..] = fields else { return Err(line.wrong(line.text, "a column is missing")) };
        let (id, level) = (whole(line, id)?, whole(line, level)?);
        let site = self.sites.entry(id).or_default();
        // Without debugging information an address stands for file and line.
        let (function, operation) = match (level, rest) {
            (0, [.., function, operation]) => (*function, Some(*operation)),
            (0, _) => return Err(line.wrong(line.text, "a column is missing")),
            (_, [.., function]) => (*function, None),
            (_, []) => return Err(line.wrong(line.text, "a column is missing")),
        };
        if let Some(operation) = operation {
            site.1 = format!("MPI_{operation}");
        }
        site.0.push(function.to_owned());
        Ok(())
    }

    /// `Name Site Rank Count Max Mean Min App% MPI%` in milliseconds.
    fn time(&mut self, line: &Line, fields: &[&str]) -> Result<(), ReadError> {
        let [_, site, rank, count, _, mean, ..] = fields else {
            return Err(line.wrong(line.text, "a column is missing"));
        };
        if *rank != "*" {
            let count = line.finite(count)?;
            let key = (whole(line, site)?, whole(line, rank)?);
            self.times.insert(key, (count, count * line.finite(mean)? * 1e-3));
        }
        Ok(())
    }

    /// `Name Site Rank Count Max Mean Min Sum` in bytes.
    fn sent(&mut self, line: &Line, fields: &[&str]) -> Result<(), ReadError> {
        let [_, site, rank, _, _, _, _, sum, ..] = fields else {
            return Err(line.wrong(line.text, "a column is missing"));
        };
        if *rank != "*" {
            self.bytes.insert((whole(line, site)?, whole(line, rank)?), line.finite(sum)?);
        }
        Ok(())
    }

    fn profile(self) -> Profile {
        let mut profile = Profile::default();
        profile.ranks = Some(self.application.len() as u32);
        let columns = [("time", "s"), ("visits", ""), ("bytes_sent", "bytes")];
        let [time, visits, bytes] = columns.map(|(name, unit)| profile.column(name, unit, Fold::Sum));
        profile.rounded = [time, bytes].map(|column| (column, deviation(DIGITS))).to_vec();
        let root = profile.node(None, APPLICATION);
        let mut outside = Reduced::default();
        self.application.values().for_each(|&t| outside.rank(t));
        profile.add(root, time, outside);
        // Call sites on different lines of one function are one call path: their ranks' values add up first.
        let mut values: BTreeMap<(u32, u32), HashMap<u32, f64>> = BTreeMap::new();
        let mut node_of = HashMap::new();
        for (id, (functions, operation)) in &self.sites {
            let names = [APPLICATION].into_iter().chain(functions.iter().rev().map(String::as_str));
            node_of.insert(*id, profile.path(names.chain([operation.as_str()])).unwrap_or(root));
        }
        let sites = self.times.iter().flat_map(|(&key, &(n, t))| [(key, visits, n), (key, time, t)]);
        for ((site, rank), column, value) in sites.chain(self.bytes.iter().map(|(&key, &b)| (key, bytes, b))) {
            if let Some(&node) = node_of.get(&site) {
                *values.entry((node, column)).or_default().entry(rank).or_insert(0.0) += value;
            }
        }
        for ((node, column), by_rank) in values {
            let mut ranks: Vec<(u32, f64)> = by_rank.into_iter().collect();
            ranks.sort_by_key(|&(rank, _)| rank);
            let mut reduced = Reduced::default();
            ranks.into_iter().for_each(|(_, value)| reduced.rank(value));
            profile.add(node, column, reduced);
        }
        profile
    }
}

fn whole(line: &Line, field: &str) -> Result<u32, ReadError> {
    field.parse().map_err(|_| line.wrong(field, format!("`{field}` is no whole number")))
}
