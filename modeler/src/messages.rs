//! The MPI operations of measured runs: calls, bytes, waiting, how large their messages were and with whom they were exchanged; over
//! ranks, and by rank where the run kept that. For people, as JSON and as comma-separated values.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use poise_profile::{Histogram, Messages, Metric, OfRank, OverRanks, Profile, RegionKind};
use serde_json::{Map, Value, json};

use crate::formats::{MeasuredRun, Names};
use crate::report::terminal::{Narrow, fitted};
use crate::report::{Table, quantity};
use crate::words::counted;

/// Buckets that a cell for people holds; the fullest are shown.
const SHOWN: usize = 4;

/// Metrics as they are called here: times keep their nanoseconds and say so.
fn name(metric: Metric) -> String {
    match metric {
        Metric::Time | Metric::WaitTime | Metric::LateSender | Metric::LateReceiver => format!("{}_ns", metric.name()),
        _ => metric.name().into(),
    }
}

/// The operations of some runs. `by_rank` adds what each rank had.
///
/// ```
/// use modeler::messages::Operations;
/// # use poise_profile::{Metric, RankBuilder, Region, RegionKind};
/// # let region = |name: &str, kind| Region { name: name.into(), file: String::new(), line: 0, kind };
/// # let mut builder = RankBuilder::new();
/// # let main = builder.node(None, region("main", RegionKind::Function));
/// # let bcast = builder.node(Some(main), region("MPI_Bcast", RegionKind::Mpi));
/// // A rank that called MPI_Bcast three times and sent 800 bytes there.
/// # builder.add(bcast, Metric::Visits, 3);
/// # builder.add(bcast, Metric::BytesSent, 800);
/// # let profile = builder.finish(0);
/// # let run = modeler::formats::MeasuredRun { name: "bcast".into(), parameters: vec![], profile, failure: None };
/// # let runs = [run];
/// let operations = Operations { runs: &runs, by_rank: false };
/// assert!(operations.human(None).contains("MPI_Bcast"));
/// ```
pub struct Operations<'a> {
    /// The runs.
    pub runs: &'a [MeasuredRun],
    /// Whether single ranks are to be told.
    pub by_rank: bool,
}

/// One call path with what is known of it.
struct Row<'a> {
    path: Vec<String>,
    values: BTreeMap<Metric, OverRanks>,
    messages: Option<&'a Messages>,
}

/// The call paths of a profile by node.
fn paths(profile: &Profile) -> Vec<Vec<String>> {
    let names = Names::of([profile]);
    let path = |node| profile.path(node).unwrap_or_default().into_iter().map(|region| names.show(region)).collect();
    (0..profile.nodes.len() as u32).map(path).collect()
}

fn rows(profile: &Profile) -> Vec<Row<'_>> {
    let is_mpi = |node: u32| {
        let region = profile.nodes.get(node as usize).and_then(|node| profile.regions.get(node.region as usize));
        region.is_some_and(|region| region.kind == RegionKind::Mpi)
    };
    let row = |(node, path): (u32, Vec<String>)| {
        let values = profile.values.range((node, Metric::Visits)..).take_while(|((n, _), _)| *n == node);
        let values: BTreeMap<_, _> = values.map(|(&(_, metric), &value)| (metric, value)).collect();
        Row { path, values, messages: profile.messages.get(&node) }
    };
    (0..).zip(paths(profile)).filter(|(node, _)| is_mpi(*node)).map(row).collect()
}

impl Operations<'_> {
    /// One JSON object with a line feed at its end.
    /// Times are in nanoseconds, traffic in bytes; docs/formats.md has the members.
    ///
    /// ```
    /// use modeler::messages::Operations;
    /// # use poise_profile::{Metric, RankBuilder, Region, RegionKind};
    /// # let region = |name: &str, kind| Region { name: name.into(), file: String::new(), line: 0, kind };
    /// # let mut builder = RankBuilder::new();
    /// # let main = builder.node(None, region("main", RegionKind::Function));
    /// # let bcast = builder.node(Some(main), region("MPI_Bcast", RegionKind::Mpi));
    /// // A rank that called MPI_Bcast three times and sent 800 bytes there.
    /// # builder.add(bcast, Metric::Visits, 3);
    /// # builder.add(bcast, Metric::BytesSent, 800);
    /// # let profile = builder.finish(0);
    /// # let run = modeler::formats::MeasuredRun { name: "bcast".into(), parameters: vec![], profile, failure: None };
    /// # let runs = [run];
    /// let text = Operations { runs: &runs, by_rank: false }.json();
    /// let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    /// let operation = &json["runs"][0]["operations"][0];
    /// assert_eq!(operation["callpath"], serde_json::json!(["main", "MPI_Bcast"]));
    /// assert_eq!(operation["values"]["bytes_sent"]["sum"], 800);
    /// ```
    #[must_use]
    pub fn json(&self) -> String {
        let document = json!({
            "schema": "counterpoise/messages",
            "schema_version": 1,
            "tool_version": env!("CARGO_PKG_VERSION"),
            "runs": self.runs.iter().map(|run| self.run_json(run)).collect::<Vec<_>>(),
        });
        document.to_string() + "\n"
    }

    fn run_json(&self, run: &MeasuredRun) -> Value {
        let operation = |row: Row<'_>| {
            let values: Map<String, Value> = row.values.iter().map(|(&m, v)| (name(m), over_ranks_json(v))).collect();
            let mut object = json!({"callpath": row.path, "values": values});
            add_messages(&mut object, row.messages.unwrap_or(&Messages::default()));
            object
        };
        let parameters: Map<String, Value> = run.parameters.iter().map(|(n, v)| (n.clone(), json!(v))).collect();
        let mut object = json!({
            "run": run.name,
            "parameters": parameters,
            "ranks": run.profile.ranks,
            "operations": rows(&run.profile).into_iter().map(operation).collect::<Vec<_>>(),
        });
        if self.by_rank {
            let paths = paths(&run.profile);
            let of_rank = |(&(node, rank), of): (&(u32, u32), &OfRank)| {
                let values: Map<String, Value> = of.values.iter().map(|(&m, &v)| (name(m), v.into())).collect();
                let mut object = json!({"callpath": paths[node as usize], "rank": rank, "values": values});
                add_messages(&mut object, &of.messages);
                let peer = |(peer, t): (&Option<u32>, &poise_profile::Traffic)| {
                    json!({"rank": peer, "messages_sent": t.sent.0, "bytes_sent": t.sent.1,
                           "messages_received": t.received.0, "bytes_received": t.received.1})
                };
                object["peers"] = of.peers.iter().map(peer).collect();
                object
            };
            object["by_rank"] = run.profile.by_rank.iter().map(of_rank).collect();
        }
        object
    }

    /// A line for each number. `from` and `to` bound bytes of a size, or the difference of ranks of a distance.
    ///
    /// ```
    /// use modeler::messages::Operations;
    /// # use poise_profile::{Metric, RankBuilder, Region, RegionKind};
    /// # let region = |name: &str, kind| Region { name: name.into(), file: String::new(), line: 0, kind };
    /// # let mut builder = RankBuilder::new();
    /// # let main = builder.node(None, region("main", RegionKind::Function));
    /// # let bcast = builder.node(Some(main), region("MPI_Bcast", RegionKind::Mpi));
    /// // A rank that called MPI_Bcast three times and sent 800 bytes there.
    /// # builder.add(bcast, Metric::Visits, 3);
    /// # builder.add(bcast, Metric::BytesSent, 800);
    /// # let profile = builder.finish(0);
    /// # let run = modeler::formats::MeasuredRun { name: "bcast".into(), parameters: vec![], profile, failure: None };
    /// # let runs = [run];
    /// let text = Operations { runs: &runs, by_rank: false }.csv();
    /// assert!(text.contains("\"bcast\",\"main->MPI_Bcast\",,visits,,,3\n"));
    /// assert!(text.contains("\"bcast\",\"main->MPI_Bcast\",,bytes_sent,,,800\n"));
    /// ```
    #[must_use]
    pub fn csv(&self) -> String {
        let mut out = "run,callpath,rank,what,from,to,value\n".to_owned();
        for run in self.runs {
            let mut line = |path: &[String], rank: &str, what: &str, [from, to]: [String; 2], value: u128| {
                let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
                let (run, path) = (quoted(&run.name), quoted(&path.join("->")));
                let _ = writeln!(out, "{run},{path},{rank},{what},{from},{to},{value}");
            };
            let none = || [String::new(), String::new()];
            for row in rows(&run.profile) {
                row.values.iter().for_each(|(&m, v)| line(&row.path, "", &name(m), none(), of_all(m, v)));
                each_bucket(row.messages, |what, bounds, count| line(&row.path, "", what, bounds, count.into()));
            }
            if self.by_rank {
                let paths = paths(&run.profile);
                for (&(node, rank), of) in &run.profile.by_rank {
                    let (path, rank) = (&paths[node as usize], rank.to_string());
                    of.values.iter().for_each(|(&m, &v)| line(path, &rank, &name(m), none(), v.into()));
                    each_bucket(Some(&of.messages), |what, bounds, count| {
                        line(path, &rank, what, bounds, count.into())
                    });
                    for (peer, t) in &of.peers {
                        let peer = peer.map_or_else(|| "others".into(), |peer| peer.to_string());
                        let numbers = [t.sent.0, t.sent.1, t.received.0, t.received.1];
                        for (what, number) in PEER.into_iter().zip(numbers) {
                            line(path, &rank, what, [peer.clone(), String::new()], number.into());
                        }
                    }
                }
            }
        }
        out
    }

    /// Tables, in at most `width` columns where that is given: columns are left out then, which a last line says.
    ///
    /// ```
    /// use modeler::messages::Operations;
    /// # use poise_profile::{Metric, RankBuilder, Region, RegionKind};
    /// # let region = |name: &str, kind| Region { name: name.into(), file: String::new(), line: 0, kind };
    /// # let mut builder = RankBuilder::new();
    /// # let main = builder.node(None, region("main", RegionKind::Function));
    /// # let bcast = builder.node(Some(main), region("MPI_Bcast", RegionKind::Mpi));
    /// // A rank that called MPI_Bcast three times and sent 800 bytes there.
    /// # builder.add(bcast, Metric::Visits, 3);
    /// # builder.add(bcast, Metric::BytesSent, 800);
    /// # let profile = builder.finish(0);
    /// # let run = modeler::formats::MeasuredRun { name: "bcast".into(), parameters: vec![], profile, failure: None };
    /// # let runs = [run];
    /// let text = Operations { runs: &runs, by_rank: false }.human(None);
    /// assert!(text.starts_with("bcast, 1 rank:\n"));
    /// ```
    #[must_use]
    pub fn human(&self, width: Option<usize>) -> String {
        let mut out = String::new();
        for run in self.runs {
            let _ = writeln!(out, "{}, {}:", run.name, counted(run.profile.ranks, "rank", "ranks"));
            let operations = over_ranks_table(&run.profile);
            if operations.rows.is_empty() {
                out.push_str("no MPI operation was recorded.\n");
            }
            out.push_str(&fitted(&operations, width, NARROW));
            if self.by_rank {
                let _ = writeln!(out, "\nBy rank:");
                out.push_str(&fitted(&by_rank_table(&run.profile), width, NARROW));
            }
            out.push('\n');
        }
        out
    }
}

/// What the tables do without on a narrow screen, first what is needed least.
const NARROW: Narrow<'_> = Narrow {
    least_needed: &[
        "distances",
        "sizes received",
        "sizes sent",
        "logical waiting",
        "peers",
        "waiting",
        "ranks",
        "received",
    ],
    dear: &[],
    broken: &["waiting"],
};

/// One number for all ranks: the sum, and of communicators, which have no sum, the largest.
fn of_all(metric: Metric, value: &OverRanks) -> u128 {
    if metric == Metric::CommSize { value.maximum.0.into() } else { value.sum }
}

/// What the lines of a peer are called.
const PEER: [&str; 4] = ["messages_sent_to", "bytes_sent_to", "messages_received_from", "bytes_received_from"];

/// Names of the histograms.
fn histograms(messages: &Messages) -> [(&'static str, &Histogram); 3] {
    [("sent", &messages.sent), ("received", &messages.received), ("distances", &messages.distances)]
}

fn add_messages(object: &mut Value, messages: &Messages) {
    for (name, histogram) in histograms(messages) {
        let bucket = |(&bucket, &count): (&u8, &u64)| {
            let (from, to) = Histogram::range(bucket);
            json!({"from": from, "to": to, "messages": count})
        };
        object[name] = histogram.counts.iter().map(bucket).collect();
    }
}

fn each_bucket(messages: Option<&Messages>, mut then: impl FnMut(&str, [String; 2], u64)) {
    for (name, histogram) in messages.into_iter().flat_map(histograms) {
        for (&bucket, &count) in &histogram.counts {
            let (from, to) = Histogram::range(bucket);
            then(name, [from.to_string(), to.to_string()], count);
        }
    }
}

fn over_ranks_json(value: &OverRanks) -> Value {
    // Sums may exceed 64 bits; as numbers they would not be read back.
    let sum = u64::try_from(value.sum).map_or_else(|_| json!(value.sum.to_string()), |sum| json!(sum));
    json!({"ranks": value.ranks, "sum": sum, "minimum": value.minimum.0, "minimum_rank": value.minimum.1,
           "maximum": value.maximum.0, "maximum_rank": value.maximum.1})
}

/// Call paths, which may be long, come last, where nothing has to be aligned behind them.
const OPERATIONS: [&str; 12] = [
    "calls",
    "time",
    "ranks",
    "sent",
    "received",
    "peers",
    "sizes sent",
    "sizes received",
    "distances",
    "waiting",
    "logical waiting [ticks]",
    "call path",
];

fn over_ranks_table(profile: &Profile) -> Table {
    let row = |row: Row<'_>| {
        let value = |metric| row.values.get(&metric);
        let sum = |metric| value(metric).map_or_else(|| "-".into(), |v| v.sum.to_string());
        let peers = value(Metric::Peers).map_or_else(
            || "-".into(),
            |v| {
                if v.minimum.0 == v.maximum.0 {
                    v.minimum.0.to_string()
                } else {
                    format!("{} to {}", v.minimum.0, v.maximum.0)
                }
            },
        );
        let sizes = |of: fn(&Messages) -> &Histogram| row.messages.map_or_else(|| "-".into(), |m| short(of(m), true));
        let distances = row.messages.map_or_else(|| "-".into(), |m| short(&m.distances, false));
        let time = value(Metric::Time).map_or_else(|| "-".into(), |v| time(v.sum));
        let ranks = value(Metric::CommSize).filter(|v| v.maximum.0 > 0);
        let ranks = ranks.map_or_else(|| "-".into(), |v| v.maximum.0.to_string());
        let cells = [sum(Metric::Visits), time, ranks, sum(Metric::BytesSent), sum(Metric::BytesReceived), peers];
        let waiting = [waiting(&row.values), sum(Metric::LogicalWait)];
        let rest = [sizes(|m| &m.sent), sizes(|m| &m.received), distances].into_iter().chain(waiting);
        cells.into_iter().chain(rest).chain([row.path.join(" -> ")]).collect()
    };
    let rows = rows(profile).into_iter().map(row).collect();
    without_empty_columns(Table { header: OPERATIONS.map(str::to_owned).to_vec(), rows })
}

/// The table without columns of which no row has anything, as waiting that was not measured.
fn without_empty_columns(table: Table) -> Table {
    let is_kept: Vec<bool> =
        (0..table.header.len()).map(|column| table.rows.iter().any(|row| row[column] != "-")).collect();
    let kept = |cells: Vec<String>| {
        cells.into_iter().zip(&is_kept).filter(|(_, is_kept)| **is_kept).map(|(cell, _)| cell).collect()
    };
    Table { header: kept(table.header), rows: table.rows.into_iter().map(kept).collect() }
}

/// Time as people read it, of nanoseconds.
fn time(nanoseconds: u128) -> String {
    quantity(nanoseconds as f64 * 1e-9, "s")
}

/// Waiting over all ranks, and whom for.
fn waiting(values: &BTreeMap<Metric, OverRanks>) -> String {
    let sum = |metric| values.get(&metric).map(|v| time(v.sum));
    let Some(all) = sum(Metric::WaitTime) else { return "-".into() };
    let parts = [("late sender", Metric::LateSender), ("late receiver", Metric::LateReceiver)];
    let parts: Vec<String> = parts.into_iter().filter_map(|(what, m)| Some(format!("{what} {}", sum(m)?))).collect();
    match parts.is_empty() {
        true => all,
        false => format!("{all} ({})", parts.join(", ")),
    }
}

fn by_rank_table(profile: &Profile) -> Table {
    let paths = paths(profile);
    let header =
        ["rank", "calls", "sent", "received", "time", "waiting", "logical waiting [ticks]", "peers", "call path"];
    let row = |(&(node, rank), of): (&(u32, u32), &OfRank)| {
        let value = |metric| of.values.get(&metric).map_or_else(|| "-".into(), u64::to_string);
        let time = |metric| of.values.get(&metric).map_or_else(|| "-".into(), |&v| time(v.into()));
        let peer = |(peer, t): (&Option<u32>, &poise_profile::Traffic)| {
            let peer = peer.map_or_else(|| "others".into(), |peer| peer.to_string());
            format!("{peer}: {}", t.messages())
        };
        let shown: Vec<String> = of.peers.iter().take(SHOWN).map(peer).collect();
        let more = of.peers.len().saturating_sub(SHOWN);
        let peers = if more > 0 { format!("{}, {more} more", shown.join(", ")) } else { shown.join(", ") };
        vec![
            rank.to_string(),
            value(Metric::Visits),
            value(Metric::BytesSent),
            value(Metric::BytesReceived),
            time(Metric::Time),
            time(Metric::WaitTime),
            value(Metric::LogicalWait),
            if peers.is_empty() { "-".into() } else { peers },
            paths[node as usize].join(" -> "),
        ]
    };
    Table { header: header.map(str::to_owned).to_vec(), rows: profile.by_rank.iter().map(row).collect() }
}

/// The fullest buckets in their order.
fn short(histogram: &Histogram, is_bytes: bool) -> String {
    if histogram.is_empty() {
        return "-".into();
    }
    let mut fullest: Vec<(u8, u64)> = histogram.counts.iter().map(|(&bucket, &count)| (bucket, count)).collect();
    fullest.sort_by_key(|&(bucket, count)| (std::cmp::Reverse(count), bucket));
    let more = fullest.len().saturating_sub(SHOWN);
    fullest.truncate(SHOWN);
    fullest.sort_unstable();
    let cell = |(bucket, count)| format!("{}: {count}", range(bucket, is_bytes));
    let cells: Vec<String> = fullest.into_iter().map(cell).collect();
    if more > 0 { format!("{}, {more} more", cells.join(", ")) } else { cells.join(", ") }
}

/// A bucket for people: ranks, or bytes with their unit.
fn range(bucket: u8, is_bytes: bool) -> String {
    let (from, to) = Histogram::range(bucket);
    if !is_bytes || bucket <= 10 {
        let unit = if is_bytes { " B" } else { "" };
        return if from == to { format!("{from}{unit}") } else { format!("{from}-{to}{unit}") };
    }
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let (power, unit) = ((bucket - 1) % 10, units[usize::from((bucket - 1) / 10)]);
    format!("{}-{} {unit}", 1 << power, 2 << power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_as_people_say_them() {
        let bytes = |bucket| range(bucket, true);
        assert_eq!([bytes(0), bytes(1), bytes(4)], ["0 B", "1 B", "8-15 B"]);
        assert_eq!([bytes(10), bytes(11), bytes(21)], ["512-1023 B", "1-2 KiB", "1-2 MiB"]);
        assert_eq!([range(1, false), range(6, false)], ["1", "32-63"]);
    }
}
