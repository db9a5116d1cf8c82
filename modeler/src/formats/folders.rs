//! What a folder of profiles or runs holds beside them. Where it holds profiles of several formats nobody can tell which of
//! them is meant, so such a folder is refused; what else is a measurement is told; and a survey lists everything.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::collect::Collector;
use super::error::{ErrorKind, IGNORED, Place, ReadError};
use super::source::{self, Content, Source};
use super::{Detection, Format, READERS, ReadOptions, Reader, choose_any, profiles, run_folders, runs};

/// How much of a file mostly decides what it is, and else as much as of one that is given alone.
const HEAD: u64 = 4096;

/// What is in a folder, as deep as profiles are looked for.
#[derive(Debug, Default)]
struct Contents {
    /// Files and folders that a reader knows, in the order of their names.
    known: Vec<(PathBuf, Format)>,
    /// Files that none does.
    unknown: Vec<PathBuf>,
    /// Files that tell nothing, as they cannot be read, each with why.
    unread: Vec<(PathBuf, io::ErrorKind)>,
}

impl Contents {
    fn of(folder: &Path) -> Self {
        let mut contents = Self::default();
        contents.add(folder, folder, profiles::DEPTH);
        // What nobody may read beside measurements is one of them where its name ends as theirs do.
        let known: Vec<PathBuf> = contents.known.iter().map(|(path, _)| path.clone()).collect();
        let is_other = |(path, why): &mut (PathBuf, io::ErrorKind)| {
            !known.is_empty() && *why == io::ErrorKind::PermissionDenied && !profiles::ends_as(path, &known)
        };
        contents.unknown.extend(contents.unread.extract_if(.., is_other).map(|(path, _)| path));
        contents
    }

    /// Adds what is in a folder of `all`.
    fn add(&mut self, all: &Path, folder: &Path, depth: usize) {
        for path in profiles::entries(all, folder).unwrap_or_default() {
            if path.is_dir() {
                match folder_format(&path) {
                    Some(format) => self.known.push((path, format)),
                    None if depth > 1 => self.add(all, &path, depth - 1),
                    None => {}
                }
            } else {
                match file_format(&path) {
                    Ok(Some(format)) => self.known.push((path, format)),
                    Err(error) if profiles::hides(&error) => self.unread.push((path, error.kind())),
                    Ok(None) | Err(_) => self.unknown.push(path),
                }
            }
        }
    }

    /// How many there are of each format, most first, each with an example; of as many in the order of [`READERS`].
    fn counts(&self) -> Vec<(Format, usize, &Path)> {
        let of = |format: Format| {
            let mut these = self.known.iter().filter(|(_, own)| *own == format).map(|(path, _)| path.as_path());
            let first = these.next()?;
            Some((format, 1 + these.count(), first))
        };
        let mut counts: Vec<_> = READERS.iter().filter_map(|reader| of(reader.format())).collect();
        counts.sort_by_key(|(_, count, _)| std::cmp::Reverse(*count));
        counts
    }
}

/// The format of a folder that is one run.
fn folder_format(folder: &Path) -> Option<Format> {
    if folder.join(runs::RECORD).is_file() { Some(Format::Runs) } else { profiles::folder_format(folder) }
}

/// The format of a file: that of its extension, whatever is wrong in it, or what its beginning says.
fn file_format(path: &Path) -> io::Result<Option<Format>> {
    // A pipe would wait for a writer.
    if !path.is_file() {
        return Ok(None);
    }
    if let Some(format) = profiles::promised(path) {
        return Ok(Some(format));
    }
    for most in [HEAD, source::HEAD] {
        let content = Content::begin(Box::new(File::open(path)?), most)?;
        let source = Source { name: path.display().to_string(), path: Some(path.to_owned()), content };
        if let Some(reader) = READERS.iter().find(|reader| reader.detect(&source) == Detection::Yes) {
            return Ok(Some(reader.format()));
        }
        if let Some(error) = source.content.damage() {
            return Err(error);
        }
        if source.head().is_some_and(|(_, complete)| complete) {
            break;
        }
    }
    Ok(None)
}

/// Whether runs of this format lie in a folder that has no format of its own, so that others may lie beside them.
fn is_of_runs(format: Format) -> bool {
    format == Format::Runs || profiles::is_one(format)
}

/// The folder whose contents count, if `source` is one of several runs.
fn several(source: &Source, format: Format) -> Option<&Path> {
    let folder = source.path.as_deref().filter(|_| source.head().is_none())?;
    (is_of_runs(format) && folder_format(folder).is_none()).then_some(folder)
}

/// `12 of cubex (p4.r1/profile.cubex) and 3 of cali (a.cali)`.
fn listed(counts: &[(Format, usize, &Path)], folder: &Path) -> String {
    let one = |(format, count, example): &(Format, usize, &Path)| {
        let example = example.strip_prefix(folder).unwrap_or(example).display();
        format!("{count} of {format} ({}{example})", if *count > 1 { "such as " } else { "" })
    };
    counts.iter().map(one).collect::<Vec<_>>().join(" and ")
}

/// The reader for an input; a folder that holds profiles of several formats, or fewer profiles than other measurements, is
/// refused. Of other measurements in it, which are left out, `into` is warned.
pub(super) fn choose(source: &Source, into: &mut Collector) -> Result<&'static dyn Reader, ReadError> {
    let reader = choose_any(source)?;
    let Some(folder) = several(source, reader.format()) else { return Ok(reader) };
    let contents = Contents::of(folder);
    let counts = counts_with_runs(&contents, folder);
    let of_runs = counts.iter().filter(|(format, ..)| is_of_runs(*format)).count();
    let most = counts.first().map_or(reader.format(), |(format, ..)| *format);
    // What `poise run` left cannot be meant otherwise, however much was exported from it.
    if of_runs < 2 && (is_of_runs(most) || reader.format() == Format::Runs) {
        let others: Vec<_> = counts.into_iter().filter(|(other, ..)| *other != reader.format()).collect();
        if !others.is_empty() {
            let message = format!(
                "The folder's {} profiles were read and other measurements in it left out: {}. To read those, give the files themselves.",
                reader.format(),
                listed(&others, folder)
            );
            into.warn(IGNORED, source.place(), message);
        }
        return Ok(reader);
    }
    let what = format!("this folder holds several formats: {}", listed(&counts, folder));
    let chosen = if is_of_runs(most) { most } else { reader.format() };
    Err(ReadError::new(ErrorKind::NotRecognised, source.place(), what)
        .expected("runs of one format")
        .advice(format!("Choose one, as in --input-format {chosen}, or give the files themselves")))
}

/// Counts where runs in groups are counted, too.
fn counts_with_runs<'a>(contents: &'a Contents, folder: &Path) -> Vec<(Format, usize, &'a Path)> {
    let mut counts = contents.counts();
    let runs = run_folders(folder).len();
    counts.iter_mut().filter(|(format, ..)| *format == Format::Runs).for_each(|of| of.1 = of.1.max(runs));
    counts.sort_by_key(|(_, count, _)| std::cmp::Reverse(*count));
    counts
}

/// The reader for an input; of a folder that holds several formats, that which most of its profiles have.
pub(super) fn choose_most(source: &Source) -> Result<&'static dyn Reader, ReadError> {
    let reader = choose_any(source)?;
    let Some(folder) = several(source, reader.format()) else { return Ok(reader) };
    let contents = Contents::of(folder);
    let most = counts_with_runs(&contents, folder).into_iter().find(|(format, ..)| is_of_runs(*format));
    let most = most.and_then(|(format, ..)| READERS.iter().find(|reader| reader.format() == format));
    Ok(most.copied().unwrap_or(reader))
}

/// What was not read of a folder whose runs of `format` were.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// Measurements of other formats.
    pub odd: Vec<ReadError>,
    /// Names of files that are no measurements, and how often each occurs.
    pub unknown: BTreeMap<String, usize>,
}

impl LeftOut {
    fn name(&mut self, unknown: &[PathBuf]) {
        for path in unknown {
            let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            *self.unknown.entry(name).or_default() += 1;
        }
    }
}

/// What is in a folder of which nothing could be read: the measurements that are not told already, each with what is wrong
/// with it, and the rest.
pub(super) fn seen(path: &Path, options: &ReadOptions, is_told: impl Fn(&Path) -> bool) -> LeftOut {
    let mut seen = LeftOut::default();
    if !path.is_dir() || folder_format(path).is_some() {
        return seen;
    }
    let contents = Contents::of(path);
    for (path, format) in contents.known.iter().filter(|(path, _)| !is_told(path)) {
        let mut into = Collector::default();
        into.options = ReadOptions { format: Some(*format), pattern: None, columns: None, ..options.clone() };
        let reader = READERS.iter().find(|reader| reader.format() == *format);
        let read = |source| reader.map_or(Ok(()), |reader| reader.read(source, &mut into));
        seen.odd.extend(Source::open(path).and_then(read).err());
    }
    seen.odd.extend(
        contents.unread.iter().filter(|(path, _)| !is_told(path)).filter_map(|(path, _)| Source::open(path).err()),
    );
    seen.name(&contents.unknown);
    seen
}

/// What is not read of the input at `path`, if that is a folder of several runs.
pub(super) fn left_out(path: &Path, format: Format) -> LeftOut {
    let mut left = LeftOut::default();
    let Ok(source) = Source::open(path) else { return left };
    let Some(folder) = several(&source, format) else { return left };
    let contents = Contents::of(folder);
    for (path, own) in contents.known.iter().filter(|(_, own)| *own != format) {
        let what = format!("this is {own}, and of this folder {format} is read");
        let place = Place::file(path.display().to_string());
        let advice = format!("poise import {} reads it alone", path.display());
        left.odd.push(ReadError::new(ErrorKind::NotRecognised, place, what).advice(advice));
    }
    // Those that may have been profiles are told of already.
    if !profiles::is_one(format) {
        left.odd.extend(contents.unread.iter().filter_map(|(path, _)| Source::open(path).err()));
    }
    left.name(&contents.unknown);
    left
}
