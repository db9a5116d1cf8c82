//! mpiP's text reports: time, calls and bytes sent for each call site of an MPI operation and each rank, or over ranks where
//! the report is concise or leaves ranks out.
//!
//! Reports hold three significant digits; that is a floor under the noise of every time and size in them.

use std::collections::BTreeMap;
use std::path::Path;

use super::ProfileFormat;
use super::lines::{self, Line};
use super::profile::{Fold, Profile, Reduced};
use crate::experiment::OverRanks;
use crate::formats::error::{AVERAGED, Place, ROUNDED, ReadError};
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
    /// What the concise report has instead: statistics over ranks.
    TimeStatistics,
    CallSites,
    SiteTimes,
    SiteBytes,
    /// The same in the concise report: a line for each call site.
    ConciseTimes,
    ConciseBytes,
}

/// What a report says.
#[derive(Default)]
struct Report {
    /// How many ranks the header lists.
    tasks: u32,
    /// Time outside MPI of each rank, in seconds.
    application: BTreeMap<u32, f64>,
    /// The same of all ranks together, as the concise report has it.
    outside: Option<f64>,
    /// The concise report's means over ranks, of the time of the application and of that in MPI, and the sums.
    means: Vec<Printed>,
    sums: Vec<Printed>,
    /// The least number of ranks with the highest one that the concise report names.
    named: u32,
    /// Functions of each call site from the innermost outwards, and the operation.
    sites: BTreeMap<u32, (Vec<String>, String)>,
    /// The operation of each call site that has values.
    operations: BTreeMap<u32, String>,
    /// Calls and seconds.
    times: Table,
    /// Calls that sent something, and bytes.
    bytes: Table,
}

/// A number as it was printed: a value, and by how much rounding may have changed it.
#[derive(Clone, Copy)]
struct Printed {
    value: f64,
    error: f64,
}

/// What a report says of its call sites, calls and another metric.
#[derive(Default)]
struct Table {
    /// By call site and rank.
    ranks: BTreeMap<u32, BTreeMap<u32, (f64, f64)>>,
    /// The lines `*` of all ranks together, those without a line of their own included: mpiP leaves out ranks whose share of
    /// time is below a threshold.
    all: BTreeMap<u32, (f64, f64)>,
    /// Statistics of the concise report, which does not count calls.
    concise: BTreeMap<u32, Reduced>,
}

/// One metric at one call site.
enum Known {
    /// By rank.
    Ranks(Vec<(u32, f64)>),
    /// Over ranks.
    Statistics(Reduced),
    /// The sum over ranks alone.
    Sum(f64),
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
                (_, ["@", "MPI", "Task", "Assignment", ..]) => {
                    report.tasks += 1;
                    Ok(())
                }
                (_, [first, ..]) if first.starts_with('@') || first.starts_with("---") => Ok(()),
                (_, ["Task", ..] | ["ID", ..] | ["Name", ..]) => Ok(()),
                (Section::Times, fields) => report.application(&line, fields),
                (Section::TimeStatistics, fields) => report.application_of_all(&line, fields),
                (Section::CallSites, fields) => report.site(&line, fields),
                (Section::SiteTimes, fields) => report.time(&line, fields),
                (Section::SiteBytes, fields) => report.sent(&line, fields),
                (Section::ConciseTimes, fields) => report.concise(&line, fields, 1e-3, |report| &mut report.times),
                (Section::ConciseBytes, fields) => report.concise(&line, fields, 1.0, |report| &mut report.bytes),
                (Section::Other, _) => Ok(()),
            }
        })?;
        if !is_whole {
            let what = "the report does not come to its end";
            return Err(ReadError::malformed(Place::file(&name), what)
                .expected("a last heading `@--- End of Report`")
                .cut_off());
        }
        let mut profile = report.profile(&name);
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
    } else if heading.contains("Task Time Statistics (seconds)") {
        Section::TimeStatistics
    } else if heading.contains("Callsite Time statistics (all callsites, milliseconds)") {
        Section::ConciseTimes
    } else if heading.contains("Callsite Message Sent statistics (all callsites") {
        Section::ConciseBytes
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

    /// `Max`, `Mean`, `Min`, `Stddev` and `Aggregate` of `AppTime MPITime`, the first and third with the ranks that have these: what is
    /// largest and smallest of their difference does not follow from these.
    fn application_of_all(&mut self, line: &Line, fields: &[&str]) -> Result<(), ReadError> {
        let printed = |fields: &[&str]| match fields {
            [all, mpi, ..] => [all, mpi].into_iter().map(|field| Printed::of(line, field)).collect(),
            _ => Err(line.wrong(line.text, "a column is missing")),
        };
        match fields {
            ["Aggregate", rest @ ..] => {
                self.sums = printed(rest)?;
                self.outside = Some((self.sums[0].value - self.sums[1].value).max(0.0));
            }
            ["Mean", rest @ ..] => self.means = printed(rest)?,
            ["Max" | "Min", _, _, ranks @ ..] => {
                ranks.iter().for_each(|rank| self.name(rank));
            }
            _ => {}
        }
        Ok(())
    }

    /// Notes a rank that the concise report names.
    fn name(&mut self, rank: &str) {
        self.named = self.named.max(rank.parse().map_or(0, |rank: u32| rank.saturating_add(1)));
    }

    /// The number of ranks. Concise reports do not list them: there it is the only whole number that sums over ranks can be of means,
    /// or, where digits are too few for that, the one of these in the name that mpiP gives its files: `app.4.1234.1.mpiP`.
    fn ranks(&self, file: &str) -> Option<u32> {
        let listed = if self.application.is_empty() { self.tasks } else { self.application.len() as u32 };
        if listed > 0 {
            return Some(listed);
        }
        let (mut least, mut most) = (f64::from(self.named.max(1)), f64::INFINITY);
        for (mean, sum) in self.means.iter().zip(&self.sums) {
            least = least.max((sum.value - sum.error) / (mean.value + mean.error));
            if mean.value > mean.error {
                most = most.min((sum.value + sum.error) / (mean.value - mean.error));
            }
        }
        let (least, most) = (least.ceil(), most.floor());
        let is_possible = |ranks: &u32| (least..=most).contains(&f64::from(*ranks));
        // The only one, or else nothing: a conversion of more than there is ends at the largest.
        let only = Some(least as u32).filter(|ranks| least >= most && is_possible(ranks));
        only.or_else(|| told_by_name(file).filter(|_| !self.sums.is_empty()).filter(is_possible))
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

    /// `Name Site Rank Count Max Mean Min App% MPI%` in milliseconds, where the mean is over calls.
    fn time(&mut self, line: &Line, fields: &[&str]) -> Result<(), ReadError> {
        let [operation, site, rank, count, _, mean, ..] = fields else {
            return Err(line.wrong(line.text, "a column is missing"));
        };
        let count = line.finite(count)?;
        let site = self.called(whole(line, site)?, operation);
        self.times.add(line, site, rank, (count, count * line.finite(mean)? * 1e-3))
    }

    /// `Name Site Rank Count Max Mean Min Sum` in bytes.
    fn sent(&mut self, line: &Line, fields: &[&str]) -> Result<(), ReadError> {
        let [operation, site, rank, count, _, _, _, sum, ..] = fields else {
            return Err(line.wrong(line.text, "a column is missing"));
        };
        let site = self.called(whole(line, site)?, operation);
        self.bytes.add(line, site, rank, (line.finite(count)?, line.finite(sum)?))
    }

    /// `Name Site Tasks Max Mean Min MaxRnk MinRnk`: statistics over the ranks that were at the call site, each with the sum over
    /// its calls.
    fn concise(
        &mut self,
        line: &Line,
        fields: &[&str],
        unit: f64,
        table: fn(&mut Self) -> &mut Table,
    ) -> Result<(), ReadError> {
        let [operation, site, tasks, most, mean, least, ranks @ ..] = fields else {
            return Err(line.wrong(line.text, "a column is missing"));
        };
        self.named = self.named.max(whole(line, tasks)?);
        ranks.iter().for_each(|rank| self.name(rank));
        let site = self.called(whole(line, site)?, operation);
        let [most, mean, least] = [line.finite(most)?, line.finite(mean)?, line.finite(least)?].map(|v| unit * v);
        let known = Reduced::extremes(whole(line, tasks)?, mean, least, most);
        table(self).concise.insert(site, known);
        Ok(())
    }

    /// Notes the operation of a call site, which reports without a stack list nowhere else.
    fn called(&mut self, site: u32, operation: &str) -> u32 {
        self.operations.entry(site).or_insert_with(|| format!("MPI_{operation}"));
        site
    }

    fn profile(&self, name: &str) -> Profile {
        let mut profile = Profile::default();
        profile.ranks = self.ranks(name);
        // Of ranks of which nobody knows how many they are, a sum is not the mean that a plain name stands for.
        let over = profile.ranks.is_none().then_some(OverRanks::Sum);
        let columns = [("time", "s"), ("visits", ""), ("bytes_sent", "bytes")];
        let [time, visits, bytes] = columns.map(|(name, unit)| profile.column_over(name, unit, Fold::Sum, over));
        profile.rounded = [time, bytes].map(|column| (column, deviation(DIGITS))).to_vec();
        let root = profile.node(None, APPLICATION);
        let mut outside = Reduced::default();
        self.application.values().for_each(|&t| outside.rank(t));
        let alone = self.outside.filter(|_| self.application.is_empty());
        if alone.is_some() || !self.application.is_empty() {
            profile.add(root, time, alone.map_or(outside, Reduced::total));
        }
        // Call sites on different lines of one function are one call path: their ranks' values add up first.
        let mut values: BTreeMap<(u32, u32), Vec<Known>> = BTreeMap::new();
        let mut of_all: Vec<String> = alone.iter().map(|_| format!("`{APPLICATION}`")).collect();
        for (&id, operation) in &self.operations {
            let node = match self.sites.get(&id) {
                Some((functions, operation)) => {
                    let names = [APPLICATION].into_iter().chain(functions.iter().rev().map(String::as_str));
                    profile.path(names.chain([operation.as_str()])).unwrap_or(root)
                }
                None => profile.node(Some(root), operation),
            };
            let known = [
                (time, self.times.of(id, |(_, seconds)| seconds)),
                (visits, self.times.of(id, |(calls, _)| calls).filter(|known| !matches!(known, Known::Statistics(_)))),
                (bytes, self.bytes.of(id, |(_, bytes)| bytes)),
            ];
            if known.iter().any(|(_, known)| matches!(known, Some(Known::Sum(_)))) {
                of_all.push(format!("`{operation}` (call site {id})"));
            }
            for (column, known) in known {
                values.entry((node, column)).or_default().extend(known);
            }
        }
        let mut merged = 0;
        for ((node, column), sites) in values.into_iter().filter(|(_, sites)| !sites.is_empty()) {
            merged += usize::from(sites.len() > 1 && sites.iter().all(|site| matches!(site, Known::Statistics(_))));
            profile.add(node, column, together(&sites));
        }
        self.warn(&of_all, merged, name, &mut profile);
        profile
    }

    /// Tells which statistics are missing.
    fn warn(&self, of_all: &[String], merged: usize, name: &str, profile: &mut Profile) {
        /// So many call sites are named.
        const NAMED: usize = 5;
        if profile.ranks.is_none() {
            let message = "The report does not tell the number of ranks: sums over ranks were read, means, maxima and minima are missing. mpiP lists \
                           all ranks without the option -c.";
            profile.warn(AVERAGED, Place::file(name), message);
        } else if !of_all.is_empty() {
            let mut named = of_all[..of_all.len().min(NAMED)].join(", ");
            if of_all.len() > NAMED {
                named += &format!(" and {} more", of_all.len() - NAMED);
            }
            let message = format!(
                "The report does not tell what each rank has at {named}: mean and sum over ranks were read there, maximum and minimum are missing. \
                 mpiP lists all ranks without the options -t and -c."
            );
            profile.warn(AVERAGED, Place::file(name), message);
        }
        if !self.times.concise.is_empty() {
            let message = "The report is concise and does not count calls: `visits` is missing where it does not list ranks. mpiP counts \
                           them without the option -c.";
            profile.warn(AVERAGED, Place::file(name), message);
        }
        if merged > 0 && profile.ranks.is_some() {
            let message = format!(
                "Values of {merged} call paths are of several call sites, of which the concise report does not tell what each rank has: mean and \
                 sum over ranks were read there, maximum and minimum are missing."
            );
            profile.warn(AVERAGED, Place::file(name), message);
        }
    }
}

impl Printed {
    fn of(line: &Line, field: &str) -> Result<Self, ReadError> {
        let value = line.finite(field)?;
        let (digits, power) = field.split_once(['e', 'E']).unwrap_or((field, "0"));
        let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
        let power: i32 = power.parse().map_err(|_| line.wrong(field, format!("`{field}` is no number")))?;
        Ok(Self { value, error: 0.5 * 10_f64.powi(power.saturating_sub(decimals)) })
    }
}

impl Table {
    /// Adds what a line says of one rank, or of all.
    fn add(&mut self, line: &Line, site: u32, rank: &str, values: (f64, f64)) -> Result<(), ReadError> {
        if rank == "*" {
            self.all.insert(site, values);
        } else {
            self.ranks.entry(site).or_default().insert(whole(line, rank)?, values);
        }
        Ok(())
    }

    /// What is known of one of both metrics at a call site.
    fn of(&self, site: u32, metric: fn((f64, f64)) -> f64) -> Option<Known> {
        let ranks = self.ranks.get(&site);
        let calls: f64 = ranks.iter().flat_map(|ranks| ranks.values()).map(|(calls, _)| calls).sum();
        match (self.all.get(&site), ranks) {
            // Calls are whole numbers: if all ranks together have more of them, some have no line.
            (Some(&all), _) if all.0 > calls => Some(Known::Sum(metric(all))),
            (_, Some(ranks)) => Some(Known::Ranks(ranks.iter().map(|(&rank, &own)| (rank, metric(own))).collect())),
            (_, None) => self.concise.get(&site).map(|&known| Known::Statistics(known)),
        }
    }
}

/// What is known of several call sites together.
fn together(sites: &[Known]) -> Reduced {
    if let [Known::Statistics(known)] = sites {
        return *known;
    }
    let (mut by_rank, mut sum, mut is_by_rank) = (BTreeMap::<u32, f64>::new(), 0.0, true);
    for site in sites {
        match site {
            Known::Ranks(ranks) => ranks.iter().for_each(|&(rank, value)| *by_rank.entry(rank).or_insert(0.0) += value),
            Known::Statistics(known) => sum += known.whole(Fold::Sum),
            Known::Sum(value) => sum += value,
        }
        is_by_rank &= matches!(site, Known::Ranks(_));
    }
    if !is_by_rank {
        return Reduced::total(sum + by_rank.values().sum::<f64>());
    }
    let mut reduced = Reduced::default();
    by_rank.into_values().for_each(|value| reduced.rank(value));
    reduced
}

fn whole(line: &Line, field: &str) -> Result<u32, ReadError> {
    field.parse().map_err(|_| line.wrong(field, format!("`{field}` is no whole number")))
}

/// The number of ranks in the name that mpiP gives its reports: of program, ranks, process and which report of it this is.
fn told_by_name(file: &str) -> Option<u32> {
    let name = Path::new(file).file_name()?.to_str()?;
    let mut parts = name.strip_suffix(".gz").unwrap_or(name).strip_suffix(".mpiP")?.rsplitn(4, '.');
    let (_report, _process) = (parts.next()?.parse::<u32>().ok()?, parts.next()?.parse::<u32>().ok()?);
    let ranks = parts.next()?.parse().ok()?;
    parts.next().map(|_program| ranks)
}
