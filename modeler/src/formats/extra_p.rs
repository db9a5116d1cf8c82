//! Extra-P's own `.extra-p` archives: a ZIP file with `experiment.json` and, where Extra-P was asked to keep them, the
//! measurements in `values/N.vals`, found through the offsets in `values/N.indx`.

use std::collections::HashMap;
use std::io::Cursor;

use zip::ZipArchive;

use super::collect::Collector;
use super::error::{Place, ReadError};
use super::extrap_json::{Numbers, Repetitions, read_nested};
use super::json::Document;
use super::source::{Source, text, unpacked};
use super::{Detection, Format, Reader, npy};

/// Reads `.extra-p`.
pub(crate) struct ExtraPArchive;

/// What a file of measurements begins with.
pub(super) const VALUES_MAGIC: &[u8; 16] = b"Extra-P VALUES\0\0";
/// What a file of offsets begins with; their number and the offsets follow as 64-bit numbers.
pub(super) const INDEX_MAGIC: &[u8; 16] = b"Extra-P INDEX\0\0\0";
/// The member that describes the experiment.
pub(super) const EXPERIMENT: &str = "experiment.json";

impl Reader for ExtraPArchive {
    fn format(&self) -> Format {
        Format::ExtraPArchive
    }

    fn detect(&self, source: &Source) -> Detection {
        let Some((head, _)) = source.head() else { return Detection::no("it is a folder") };
        if head.windows(17).take(64).any(|w| w == b"EXTRAP_EXPERIMENT") {
            return Detection::no("it is a binary experiment of Extra-P 3; open it in Extra-P 4 and save it again");
        }
        if head.starts_with(b"PK\x05\x06") {
            return Detection::no("it is a ZIP archive without any file in it");
        }
        if !head.starts_with(b"PK\x03\x04") {
            return Detection::no("it is no ZIP archive");
        }
        // Extra-P writes it first; other programs may have packed the archive anew.
        match head.windows(EXPERIMENT.len()).any(|w| w == EXPERIMENT.as_bytes()) {
            true => Detection::Yes,
            false => Detection::CannotTell(format!("no {EXPERIMENT} is among its first members")),
        }
    }

    fn read(&self, source: Source, into: &mut Collector) -> Result<(), ReadError> {
        let mut archive = Archive::open(source)?;
        let name = format!("{}/{EXPERIMENT}", archive.place.file);
        let content = archive.member(EXPERIMENT).map_err(|what| archive.damaged(what))?;
        let text = text(&name, content)?;
        let mut chunks = HashMap::new();
        let mut unpack = |numbers: Numbers| archive.repetitions(numbers, &mut chunks);
        read_nested(&Document { name: &name, text: &text }, into, &mut unpack)
    }
}

/// A ZIP archive whose members are unpacked as they are needed.
struct Archive {
    zip: ZipArchive<Cursor<Vec<u8>>>,
    place: Place,
}

/// A file of measurements and where in it each array begins.
struct Chunk {
    values: Vec<u8>,
    offsets: Vec<u64>,
}

impl Archive {
    fn open(source: Source) -> Result<Self, ReadError> {
        let place = source.place();
        let zip = ZipArchive::new(Cursor::new(source.into_bytes()?));
        let zip = zip.map_err(|e| {
            ReadError::malformed(place.clone(), format!("this ZIP archive is cut off or damaged: {e}"))
                .expected("an intact .extra-p archive")
                .advice("Copy or save it again")
        })?;
        Ok(Self { zip, place })
    }

    fn damaged(&self, what: String) -> ReadError {
        ReadError::malformed(self.place.clone(), what).expected("an intact .extra-p archive")
    }

    /// The unpacked content of a member.
    fn member(&mut self, name: &str) -> Result<Vec<u8>, String> {
        let member = self.zip.by_name(name).map_err(|e| format!("the archive has no readable {name}: {e}"))?;
        let length = member.compressed_size();
        unpacked(member, length).map_err(|what| format!("{name} {what}"))
    }

    /// The measurements that `[chunk, index]` stands for.
    fn repetitions(&mut self, numbers: Numbers, chunks: &mut HashMap<u32, Chunk>) -> Result<Repetitions, String> {
        let (chunk, index) = reference(numbers).ok_or("`values` does not say which chunk and which array of it")?;
        if let std::collections::hash_map::Entry::Vacant(entry) = chunks.entry(chunk) {
            entry.insert(self.chunk(chunk)?);
        }
        let Chunk { values, offsets } = &chunks[&chunk];
        let offset = offsets.get(index as usize).and_then(|&o| usize::try_from(o).ok());
        let array = offset.and_then(|o| values.get(o..));
        let array = array.ok_or_else(|| format!("values/{chunk}.vals has no array {index}"))?;
        npy::repetitions(array).map_err(|what| format!("array {index} of values/{chunk}.vals: {what}"))
    }

    fn chunk(&mut self, chunk: u32) -> Result<Chunk, String> {
        let index = self.member(&format!("values/{chunk}.indx"))?;
        let values = self.member(&format!("values/{chunk}.vals"))?;
        if !values.starts_with(VALUES_MAGIC) {
            return Err(format!("values/{chunk}.vals does not begin as a file of values"));
        }
        let numbers = index.strip_prefix(INDEX_MAGIC).ok_or_else(|| format!("values/{chunk}.indx is no index"))?;
        let mut numbers = numbers.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().expect("eight bytes")));
        let count = numbers.next().and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        Ok(Chunk { values, offsets: numbers.take(count).collect() })
    }
}

/// Chunk and index, both whole numbers.
fn reference(numbers: Numbers) -> Option<(u32, u32)> {
    let Numbers::Many(pair) = numbers else { return None };
    let [chunk, index] = pair.as_slice() else { return None };
    let whole = |x: f64| (x.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&x)).then_some(x as u32);
    Some((whole(*chunk)?, whole(*index)?))
}
