//! TAU's profiles: a folder with a file `profile.NODE.CONTEXT.THREAD` for each thread, or one folder for each metric,
//! `MULTI__TIME` and the like, with such files.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::ProfileFormat;
use super::lines::{self, Line};
use super::profile::{Fold, Profile, Reduced};
use crate::formats::collect::NO_CALLPATH;
use crate::formats::error::{ErrorKind, Place, ReadError};
use crate::formats::source::Source;
use crate::formats::{Detection, Format, Values};

/// Reads TAU's profiles.
pub(super) struct Tau;

impl ProfileFormat for Tau {
    fn format(&self) -> Format {
        Format::Tau
    }

    fn detect(&self, _name: &str, head: &[u8], complete: bool) -> Detection {
        let lines = lines::of_head(head, complete);
        let first: Vec<&str> = lines.first().map(|l| l.split_whitespace().collect()).unwrap_or_default();
        match first[..] {
            [count, what] if count.parse::<u64>().is_ok() && what.starts_with("templated_functions") => Detection::Yes,
            _ => Detection::no("its first line does not announce `templated_functions`"),
        }
    }

    fn is_profile(&self, folder: &Path) -> bool {
        files(folder).is_some_and(|files| !files.is_empty())
    }

    fn read(&self, source: Source, _values: Values) -> Result<Profile, ReadError> {
        let mut thread = Threads::default();
        match (&source.path, source.head()) {
            (Some(folder), None) => {
                let unreadable =
                    || ReadError::new(ErrorKind::Unreadable, source.place(), "the folder cannot be listed");
                for path in files(folder).ok_or_else(unreadable)? {
                    thread.read(Source::open(&path)?)?;
                }
            }
            _ => thread.read(source)?,
        }
        Ok(thread.profile())
    }
}

/// The files of a profile.
fn files(folder: &Path) -> Option<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).ok()?.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let Some(name) = name.to_str() else { continue };
        if is_thread(name) && path.is_file() {
            found.push(path);
        } else if name.starts_with("MULTI__") && path.is_dir() {
            for inner in fs::read_dir(&path).ok()?.flatten() {
                if inner.file_name().to_str().is_some_and(is_thread) {
                    found.push(inner.path());
                }
            }
        }
    }
    found.sort();
    Some(found)
}

/// Whether a file is named as those of TAU's threads are.
fn is_thread(name: &str) -> bool {
    let numbers: Option<Vec<&str>> = name.strip_prefix("profile.").map(|n| n.split('.').collect());
    numbers.is_some_and(|n| n.len() == 3 && n.iter().all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit())))
}

/// The values of all threads. A thread's file is read for each metric, and calls stand in all of them.
#[derive(Default)]
struct Threads {
    /// By call path and metric, in the order of the threads.
    values: BTreeMap<(Vec<String>, String), Reduced>,
    threads: HashSet<String>,
    visits_of: HashSet<String>,
}

/// What part of a file the lines belong to.
enum Part {
    Functions(usize),
    Other,
    Events(usize),
}

impl Part {
    /// The error that lines are missing which the part's heading announced.
    fn is_whole(&self, file: &str) -> Result<(), ReadError> {
        let (left, what) = match *self {
            Self::Functions(left) => (left, "templated_functions"),
            Self::Events(left) => (left, "userevents"),
            Self::Other => (0, ""),
        };
        if left == 0 {
            return Ok(());
        }
        let what = format!("of the `{what}` that it announces {left} are missing");
        Err(ReadError::malformed(Place::file(file), what).cut_off())
    }
}

/// One file.
struct Thread<'a> {
    metric: String,
    functions: Vec<(Vec<String>, f64, f64)>,
    events: Vec<(Vec<String>, String, f64)>,
    all: &'a mut Threads,
}

impl Threads {
    fn read(&mut self, source: Source) -> Result<(), ReadError> {
        let name = source.name.clone();
        let thread = Path::new(&name).file_name().map_or(String::new(), |n| n.to_string_lossy().into_owned());
        let mut file = Thread { metric: String::new(), functions: Vec::new(), events: Vec::new(), all: self };
        let mut part = Part::Other;
        lines::each(source, |line| {
            if line.text.starts_with('#') {
                return Ok(());
            }
            if let Some((count, what)) = line.text.split_once(' ')
                && let Ok(count) = count.parse::<usize>()
            {
                part.is_whole(&name)?;
                if let Some(metric) = what.strip_prefix("templated_functions") {
                    metric.trim_start_matches("_MULTI_").clone_into(&mut file.metric);
                    part = Part::Functions(count);
                    return Ok(());
                }
                part = if what == "userevents" { Part::Events(count) } else { Part::Other };
                return Ok(());
            }
            match &mut part {
                Part::Functions(left) if *left > 0 => {
                    *left -= 1;
                    file.function(&line)
                }
                Part::Events(left) if *left > 0 => {
                    *left -= 1;
                    file.event(&line)
                }
                _ => Ok(()),
            }
        })?;
        part.is_whole(&name)?;
        file.finish(&thread);
        Ok(())
    }

    fn profile(self) -> Profile {
        let mut profile = Profile::default();
        profile.ranks = Some(self.threads.len() as u32);
        for ((path, metric), values) in self.values {
            let unit = match metric.as_str() {
                "time" => "s",
                "bytes_sent" | "bytes_received" => "bytes",
                _ => "",
            };
            let column = profile.column(&metric, unit, Fold::Sum);
            if let Some(node) = profile.path(&path) {
                profile.add(node, column, values);
            }
        }
        profile
    }
}

impl Thread<'_> {
    /// `"main => solve" CALLS SUBROUTINES EXCLUSIVE INCLUSIVE PROFILECALLS GROUP="…"`.
    fn function(&mut self, line: &Line) -> Result<(), ReadError> {
        let (name, rest) = quoted(line)?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let [calls, _, exclusive, ..] = fields[..] else {
            return Err(line.wrong(rest, "a column is missing").expected("calls, subroutines and exclusive value"));
        };
        self.functions.push((path(name), line.finite(calls)?, line.finite(exclusive)?));
        Ok(())
    }

    /// `"name : main => solve" NUMBER MAXIMUM MINIMUM MEAN SUM_OF_SQUARES`.
    fn event(&mut self, line: &Line) -> Result<(), ReadError> {
        let (name, rest) = quoted(line)?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let [number, _, _, mean, ..] = fields[..] else {
            return Err(line.wrong(rest, "a column is missing").expected("number, maximum, minimum and mean"));
        };
        let sum = line.finite(number)? * line.finite(mean)?;
        let (event, at) = match name.split_once(" : ") {
            Some((event, at)) => (event, path(at)),
            None => (name, vec![NO_CALLPATH.to_owned()]),
        };
        let metric = match event.trim() {
            "Message size sent to all nodes" => "bytes_sent",
            "Message size received from all nodes" => "bytes_received",
            other => other,
        };
        self.events.push((at, metric.to_owned(), sum));
        Ok(())
    }

    /// Adds what the file holds. A function that occurs behind others on some call path stands there too, and its own
    /// line is the sum of them.
    fn finish(self, thread: &str) {
        let behind: HashSet<String> =
            self.functions.iter().filter(|(p, ..)| p.len() > 1).filter_map(|(p, ..)| p.last().cloned()).collect();
        // Times are in microseconds.
        let (metric, scale) = match self.metric.as_str() {
            "" | "TIME" | "LINUX_TIMERS" | "GET_TIME_OF_DAY" => ("time".to_owned(), 1e-6),
            other => (other.to_owned(), 1.0),
        };
        let is_first = self.all.visits_of.insert(thread.to_owned());
        let mut mine: BTreeMap<(Vec<String>, String), f64> = BTreeMap::new();
        for (path, calls, exclusive) in self.functions {
            if path.len() > 1 || !behind.contains(&path[0]) {
                *mine.entry((path.clone(), metric.clone())).or_insert(0.0) += exclusive * scale;
                if is_first {
                    *mine.entry((path, "visits".to_owned())).or_insert(0.0) += calls;
                }
            }
        }
        if is_first {
            for (path, event, sum) in self.events {
                *mine.entry((path, event)).or_insert(0.0) += sum;
            }
        }
        for (key, value) in mine {
            self.all.values.entry(key).or_default().rank(value);
        }
        self.all.threads.insert(thread.to_owned());
    }
}

/// The name in quotes at the beginning of a line, and what follows.
fn quoted<'a>(line: &Line<'a>) -> Result<(&'a str, &'a str), ReadError> {
    let inner = line.text.strip_prefix('"').and_then(|rest| rest.rsplit_once("\" ").or(rest.split_once("\" ")));
    // A group at the end of the line has quotes as well.
    let name_end = line.text.strip_prefix('"').and_then(|rest| rest.find("\" "));
    match (inner, name_end) {
        (Some(_), Some(end)) => Ok((&line.text[1..=end], &line.text[end + 2..])),
        _ => Err(line.wrong(line.text, "this line has no name in quotes")),
    }
}

/// The functions of `main => solve`; MPI operations lose their parentheses, so that they are named as in MPI.
fn path(name: &str) -> Vec<String> {
    let function = |name: &str| {
        let name = name.trim();
        let is_mpi = name.starts_with("MPI_") && name.ends_with("()");
        if is_mpi { name[..name.len() - 2].to_owned() } else { name.to_owned() }
    };
    name.split(" => ").map(function).collect()
}
