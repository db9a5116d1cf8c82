//! HPCToolkit's databases of version 4, as `hpcprof` writes them: a folder in which `meta.db` describes metrics and
//! contexts and `profile.db` holds the values of each thread. `cct.db` holds the same values in another order, and
//! `trace.db` none; neither is read.
//!
//! The format is that of the file `FORMATS.md` in each database.

mod meta;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use super::ProfileFormat;
use super::profile::{Fold, Profile, Reduced};
use crate::formats::error::{ErrorKind, IGNORED, Place, ReadError};
use crate::formats::source::Source;
use crate::formats::{Detection, Format, Values};
use meta::{Meta, Metric};
use view::View;

/// Reads databases of HPCToolkit.
pub(super) struct HpcToolkit;

/// How `meta.db` begins.
const MAGIC: &[u8] = b"HPCTOOLKITmeta";

impl ProfileFormat for HpcToolkit {
    fn format(&self) -> Format {
        Format::HpcToolkit
    }

    fn detect(&self, _name: &str, head: &[u8], _complete: bool) -> Detection {
        if head.starts_with(MAGIC) { Detection::Yes } else { Detection::no("it does not begin with HPCTOOLKITmeta") }
    }

    fn is_profile(&self, folder: &Path) -> bool {
        let mut head = [0; MAGIC.len()];
        File::open(folder.join("meta.db")).is_ok_and(|mut file| file.read_exact(&mut head).is_ok() && head == MAGIC)
    }

    fn read(&self, source: Source, values: Values) -> Result<Profile, ReadError> {
        let folder = match (&source.path, source.head()) {
            (Some(folder), None) => folder.as_path(),
            (Some(file), Some(_)) => file.parent().unwrap_or(Path::new("")),
            (None, _) => {
                let what = "a database of HPCToolkit is a folder, not one file";
                return Err(ReadError::new(ErrorKind::NotRecognised, source.place(), what)
                    .advice("Give the folder with meta.db and profile.db"));
            }
        };
        database(folder, values)
    }
}

fn database(folder: &Path, which: Values) -> Result<Profile, ReadError> {
    let content = |name: &str| {
        let path = folder.join(name);
        let name = path.display().to_string();
        let bytes = fs::read(&path).map_err(|error| {
            let place = Place::file(&name);
            ReadError::new(ErrorKind::Unreadable, place, format!("cannot be read: {error}"))
        })?;
        Ok::<_, ReadError>((name, bytes))
    };
    let ((meta_name, meta), (name, bytes)) = (content("meta.db")?, content("profile.db")?);
    let mut profile = Profile::default();
    let meta = meta::read(&View::new(&meta_name, &meta, "meta")?, &mut profile)?;
    let wanted = wanted(&meta.metrics, which, &meta_name, &mut profile);
    let view = View::new(&name, &bytes, "prof")?;
    let (values, ranks) = (BTreeMap::new(), BTreeSet::new());
    let mut threads = Threads { view: &view, meta: &meta, wanted, values, ranks, lost: 0 };
    let count = threads.read()?;
    if count == 0 {
        return Err(ReadError::new(ErrorKind::NotModelable, Place::file(&name), "it holds no thread's measurements"));
    }
    profile.ranks = Some(count);
    profile.parameters = vec![("p".to_owned(), threads.ranks.len().max(1) as f64)];
    if threads.lost > 0 {
        let lost = match threads.lost {
            1 => "1 value is of a context that meta.db does not list; it was left out.".to_owned(),
            lost => format!("{lost} values are of contexts that meta.db does not list; they were left out."),
        };
        profile.warn(IGNORED, Place::file(&name), lost);
    }
    for ((node, column), value) in threads.values {
        profile.add(node, column, value);
    }
    Ok(profile)
}

/// A number under which values stand in `profile.db`.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    column: u32,
    kind: Kind,
}

/// What must be done to such values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// They are of one context alone: those of a call path add up.
    Alone,
    /// They hold those of all contexts below, and only that of the call path's first context counts.
    Inclusive,
    /// As before, and those of the callees are to be taken off.
    LessCallees,
}

/// The numbers that are read, with the columns that their values belong to.
fn wanted(metrics: &[Metric], which: Values, name: &str, profile: &mut Profile) -> BTreeMap<u16, Wanted> {
    let mut wanted = BTreeMap::new();
    let real_time = metrics.iter().any(|m| m.name.starts_with("REALTIME"));
    for metric in metrics {
        let chosen = match (which, metric.point, metric.execution) {
            (Values::Inclusive, _, Some(number)) => (number, Kind::Inclusive),
            // hpcprof leaves instructions out of meta.db that have values alone; those of the functions around them are
            // complete.
            (Values::Exclusive, _, Some(number)) => (number, Kind::LessCallees),
            (Values::Exclusive, Some(number), None) => (number, Kind::Alone),
            _ => {
                let message = format!("The metric `{}` has no values as measured; it is not read.", metric.name);
                profile.warn(IGNORED, Place::file(name), message);
                continue;
            }
        };
        let (name, unit) = naming(&metric.name, real_time);
        let column = profile.column(&name, unit, Fold::Sum);
        wanted.insert(chosen.0, Wanted { column, kind: chosen.1 });
    }
    wanted
}

/// The experiment's name and unit of a metric such as `CPUTIME (sec)`. Where elapsed time was measured, that is `time`.
fn naming(name: &str, real_time: bool) -> (String, &'static str) {
    let (plain, unit) = match name.rsplit_once(" (") {
        Some((plain, "sec)")) => (plain, "s"),
        Some((plain, "B)" | "bytes)")) => (plain, "bytes"),
        _ => (name, ""),
    };
    let ours = match (plain, unit) {
        ("REALTIME", "s") => "time",
        ("CPUTIME", "s") if real_time => "cpu_time",
        ("CPUTIME", "s") => "time",
        (other, _) => other,
    };
    (ours.to_owned(), unit)
}

/// The values of all threads.
struct Threads<'a> {
    view: &'a View<'a>,
    meta: &'a Meta,
    wanted: BTreeMap<u16, Wanted>,
    /// By node and column.
    values: BTreeMap<(u32, u32), Reduced>,
    /// The ranks that threads belong to.
    ranks: BTreeSet<u32>,
    /// How many values stand alone at contexts that are not in the tree.
    lost: u64,
}

impl Threads<'_> {
    /// Reads every thread's values and gives how many threads there are.
    fn read(&mut self) -> Result<u32, ReadError> {
        const IS_SUMMARY: u32 = 1;
        let view = self.view;
        let section = view.section(0)?;
        let (count, stride) = (view.u32(section + 8)?, view.u8(section + 12)?);
        let mut threads = 0;
        for at in view.items(view.pointer(section)?, count.into(), stride.into())? {
            if view.u32(at + 0x28)? & IS_SUMMARY == 0 {
                self.identify(view.pointer(at + 0x20)?)?;
                self.thread(at)?;
                threads += 1;
            }
        }
        Ok(threads)
    }

    /// Notes the rank in the identifiers at `at`.
    fn identify(&mut self, at: u64) -> Result<(), ReadError> {
        if at == 0 {
            return Ok(());
        }
        for id in self.view.items(at + 8, self.view.u16(at)?.into(), 16)? {
            if Some(self.view.u8(id)?) == self.meta.rank_kind {
                self.ranks.insert(self.view.u32(id + 4)?);
            }
        }
        Ok(())
    }

    /// Adds the values of the block whose header is at `at`.
    fn thread(&mut self, at: u64) -> Result<(), ReadError> {
        const VALUE: u64 = 10;
        const INDEX: u64 = 12;
        let view = self.view;
        let (values, start) = (view.u64(at)?, view.pointer(at + 8)?);
        let (contexts, indices) = (u64::from(view.u32(at + 0x10)?), view.pointer(at + 0x18)?);
        view.end(start, values, VALUE)?;
        let mut mine: BTreeMap<(u32, u32), Own> = BTreeMap::new();
        for (i, index) in view.items(indices, contexts, INDEX)?.enumerate() {
            let id = view.u32(index)?;
            let from = view.u64(index + 4)?;
            let last = i as u64 + 1 == contexts;
            let to = if last { values } else { view.u64(index + INDEX + 4)? };
            if from > to || to > values {
                return Err(view.wrong(index, format!("the values {from} to {to} of a context are not among {values}")));
            }
            // The context 0 stands for the whole run.
            if id == 0 {
                continue;
            }
            let context = self.meta.contexts.get(&id).copied();
            for number in from..to {
                let at = start + number * VALUE;
                let Some(&wanted) = self.wanted.get(&view.u16(at)?) else { continue };
                let value = view.f64(at + 2)?;
                if !value.is_finite() {
                    return Err(view.wrong(at, "this value is not finite"));
                }
                match context {
                    Some(context) => add(&mut mine, context, wanted, value),
                    None => self.lost += u64::from(wanted.kind == Kind::Alone),
                }
            }
        }
        for (key, own) in mine {
            self.values.entry(key).or_default().rank(own.value());
        }
        Ok(())
    }
}

/// The value of one call path in one thread while it is made.
#[derive(Clone, Copy, Debug, Default)]
struct Own {
    sum: f64,
    /// The largest number that took part in it.
    largest: f64,
}

impl Own {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.largest = self.largest.max(value.abs());
    }

    /// What rounding leaves of a difference is nothing.
    fn value(&self) -> f64 {
        if self.sum.abs() <= 1e-9 * self.largest { 0.0 } else { self.sum }
    }
}

/// Adds one value of a context to the call path that it belongs to.
fn add(values: &mut BTreeMap<(u32, u32), Own>, context: meta::Context, wanted: Wanted, value: f64) {
    let mut to = |node: u32, value: f64| values.entry((node, wanted.column)).or_default().add(value);
    match (wanted.kind, context.begins_below) {
        (Kind::Alone, _) | (Kind::Inclusive, Some(_)) => to(context.node, value),
        (Kind::LessCallees, Some(parent)) => {
            to(context.node, value);
            if let Some(parent) = parent {
                to(parent, -value);
            }
        }
        (Kind::Inclusive | Kind::LessCallees, None) => {}
    }
}
