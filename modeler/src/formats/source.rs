//! One input as a reader sees it: a folder, or bytes whose beginning is known before a reader is chosen.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::error::{ErrorKind, Place, ReadError};

/// How much of a file detection may look at.
pub(super) const HEAD: u64 = 64 * 1024;

/// One input.
pub(crate) struct Source {
    /// The name in messages.
    pub name: String,
    /// Where it is, unless it is standard input.
    pub path: Option<PathBuf>,
    /// What it is.
    pub content: Content,
}

/// What an input is.
pub(crate) enum Content {
    /// A folder.
    Folder,
    /// Bytes, of which `head` has been read and `rest` not yet.
    Bytes {
        /// The first bytes.
        head: Vec<u8>,
        /// Whether `head` is everything.
        complete: bool,
        /// Whether the bytes were packed with gzip.
        is_packed: bool,
        /// Why they cannot be unpacked any further than `head`, if so.
        damage: Option<String>,
        /// What follows `head`.
        rest: Box<dyn Read>,
    },
}

impl Content {
    /// The content of a file, whose first `most` bytes are read.
    pub fn begin(mut file: Box<dyn Read>, most: u64) -> io::Result<Self> {
        let mut head = Vec::new();
        (&mut file).take(MAGIC.len() as u64).read_to_end(&mut head)?;
        let is_packed = head == MAGIC;
        let mut rest: Box<dyn Read> = Box::new(io::Cursor::new(std::mem::take(&mut head)).chain(file));
        if is_packed {
            rest = Box::new(Unpacked::new(rest));
        }
        let read = (&mut rest).take(most).read_to_end(&mut head);
        match read {
            // What a damaged file begins with tells its format all the same, if there is any; its reader meets the damage.
            Err(error) if is_packed && !head.is_empty() => {
                let rest = Box::new(Damaged(error.kind(), error.to_string()));
                Ok(Self::Bytes { head, complete: false, is_packed, damage: Some(error.to_string()), rest })
            }
            read => Ok(Self::Bytes { head, complete: (read? as u64) < most, is_packed, damage: None, rest }),
        }
    }

    /// The error of what cannot be unpacked any further than its head.
    pub fn damage(&self) -> Option<io::Error> {
        let Self::Bytes { damage: Some(what), .. } = self else { return None };
        Some(io::Error::new(io::ErrorKind::InvalidData, what.clone()))
    }
}

/// How files begin that are packed with gzip.
const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The content of a stream that is packed with gzip, as long as it is not made to fill a memory.
struct Unpacked {
    packed: flate2::read::MultiGzDecoder<Counted>,
    length: u64,
}

/// A stream, and how much of it was read.
struct Counted(Box<dyn Read>, u64);

impl Unpacked {
    fn new(packed: Box<dyn Read>) -> Self {
        Self { packed: flate2::read::MultiGzDecoder::new(Counted(packed, 0)), length: 0 }
    }
}

impl Read for Unpacked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let damaged = |error: io::Error| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("it is packed with gzip and damaged or cut off: {error}"),
            )
        };
        let read = self.packed.read(into).map_err(damaged)?;
        self.length += read as u64;
        let limit = limit(self.packed.get_ref().1);
        if self.length > limit { Err(io::Error::other(format!("it {}", too_much(limit)))) } else { Ok(read) }
    }
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(into)?;
        self.1 += read as u64;
        Ok(read)
    }
}

/// What follows where a stream cannot be unpacked any further: the reason.
struct Damaged(io::ErrorKind, String);

impl Read for Damaged {
    fn read(&mut self, _into: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::new(self.0, self.1.clone()))
    }
}

/// The error that reading failed at `place`.
pub(crate) fn unreadable(place: Place, error: &io::Error) -> ReadError {
    let what = ReadError::new(ErrorKind::Unreadable, place, format!("cannot be read: {error}"));
    if error.kind() == io::ErrorKind::InvalidData { what.advice("Copy the file again if it was cut off") } else { what }
}

impl Source {
    /// Opens `input`; `-` is standard input.
    pub fn open(input: &Path) -> Result<Self, ReadError> {
        if input == Path::new("-") {
            return Self::bytes("<standard input>".into(), None, Box::new(io::stdin()));
        }
        let name = input.display().to_string();
        let unreadable = |error: &io::Error| {
            ReadError::new(ErrorKind::Unreadable, Place::file(&name), format!("cannot be read: {error}"))
        };
        let metadata = std::fs::metadata(input).map_err(|e| unreadable(&e))?;
        if metadata.is_dir() {
            return Ok(Self { name, path: Some(input.to_owned()), content: Content::Folder });
        }
        let file = File::open(input).map_err(|e| unreadable(&e))?;
        Self::bytes(name, Some(input.to_owned()), Box::new(file))
    }

    /// Bytes from anywhere, unpacked where they are packed with gzip.
    pub fn bytes(name: String, path: Option<PathBuf>, from: Box<dyn Read>) -> Result<Self, ReadError> {
        let content = Content::begin(from, HEAD).map_err(|e| unreadable(Place::file(&name), &e))?;
        Ok(Self { name, path, content })
    }

    /// The first bytes, and whether they are everything; nothing for a folder.
    pub fn head(&self) -> Option<(&[u8], bool)> {
        match &self.content {
            Content::Folder => None,
            Content::Bytes { head, complete, .. } => Some((head, *complete)),
        }
    }

    /// Whether it has the ending of files that are packed with gzip, and is none.
    pub fn is_misnamed_gzip(&self) -> bool {
        matches!(self.content, Content::Bytes { is_packed: false, .. }) && self.name.ends_with(".gz")
    }

    /// The error that it is packed with gzip and cannot be unpacked to its end, as far as nothing else is told of it: a damaged file
    /// may unpack to other bytes, which only its last ones tell.
    pub fn damaged(&self) -> Option<ReadError> {
        let reread = || {
            let again = Self::open(self.packed_file()?).ok()?;
            io::copy(&mut again.into_stream(), &mut io::sink()).err()
        };
        let error = self.content.damage().or_else(reread)?;
        Some(unreadable(self.place(), &error))
    }

    /// Where it is, if that is a file that is packed with gzip.
    pub fn packed_file(&self) -> Option<&Path> {
        let is_packed = matches!(self.content, Content::Bytes { is_packed: true, .. });
        self.path.as_deref().filter(|path| is_packed && path.is_file())
    }

    /// This input as a whole.
    pub fn place(&self) -> Place {
        Place::file(&self.name)
    }

    /// The content as a stream; empty for a folder.
    pub fn into_stream(self) -> Box<dyn Read> {
        match self.content {
            Content::Folder => Box::new(io::empty()),
            Content::Bytes { head, rest, .. } => Box::new(io::Cursor::new(head).chain(rest)),
        }
    }

    /// The whole content.
    pub fn into_bytes(self) -> Result<Vec<u8>, ReadError> {
        let place = self.place();
        let mut all = Vec::new();
        self.into_stream().read_to_end(&mut all).map_err(|e| unreadable(place, &e))?;
        Ok(all)
    }

    /// The whole content as text, without a byte order mark.
    pub fn into_text(self) -> Result<String, ReadError> {
        let name = self.name.clone();
        text(&name, self.into_bytes()?)
    }
}

/// The error that there is a byte at `place` that is not valid UTF-8.
pub(crate) fn not_utf8(place: Place) -> ReadError {
    ReadError::malformed(place, "this byte is not valid UTF-8")
        .expected("text encoded as UTF-8")
        .advice("Convert the file, for example with iconv -f latin1 -t utf-8")
}

/// The error that a file is encoded as UTF-16 or UTF-32, if it begins so: with a mark, or with characters between single zeros.
pub(crate) fn wide(source: &Source) -> Option<ReadError> {
    let (head, _) = source.head()?;
    let is_text = |byte: u8| matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n');
    let bits = match *head {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => 32,
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => 16,
        [0, a, 0, b, ..] | [a, 0, b, 0, ..] if is_text(a) && is_text(b) => 16,
        _ => return None,
    };
    let error = ReadError::malformed(Place::at(&source.name, 1, 1), format!("the text is encoded as UTF-{bits}"));
    let advice = format!("Convert the file, for example with iconv -f utf-{bits} -t utf-8");
    Some(error.expected("UTF-8").advice(advice))
}

/// A line as it stands in a source.
pub(crate) struct RawLine<'a> {
    /// From 1.
    pub number: usize,
    /// How many bytes of it stand before `bytes`.
    pub skipped: usize,
    /// Its bytes with the line break.
    pub bytes: &'a mut [u8],
}

/// No line that tools write is nearly as long; what is longer has no lines, as a file of zeros.
const LONGEST_LINE: usize = 1 << 28;

/// The lines of a source, one at a time in one buffer, without a byte order mark.
pub(crate) struct Lines {
    file: String,
    stream: Box<dyn Read>,
    /// What was read, of which lines are parts; grows to the longest line.
    buffer: Vec<u8>,
    /// Where in it the next line begins, and where ends what was read.
    start: usize,
    end: usize,
    number: usize,
}

impl Lines {
    pub fn new(source: Source) -> Self {
        let file = source.name.clone();
        Self::of(file, source.into_stream(), 1 << 18)
    }

    /// Lines of `stream`, called `file` in messages, with room for `capacity` bytes at first.
    fn of(file: String, stream: Box<dyn Read>, capacity: usize) -> Self {
        Self { file, stream, buffer: vec![0; capacity], start: 0, end: 0, number: 0 }
    }

    /// The number of the last line, from 1.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The next line.
    pub fn next(&mut self) -> Result<Option<RawLine<'_>>, ReadError> {
        let mut searched = self.start;
        let end = loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[searched..self.end]) {
                break searched + at + 1;
            }
            searched = self.end - self.start;
            match self.fill() {
                Ok(0) => break self.end,
                Ok(_) => {}
                Err(e) => return Err(unreadable(Place::at(&self.file, self.number + 1, 1), &e)),
            }
        };
        if end == self.start {
            return Ok(None);
        }
        self.number += 1;
        let line = &mut self.buffer[self.start..end];
        self.start = end;
        let skipped = if self.number == 1 && line.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 };
        Ok(Some(RawLine { number: self.number, skipped, bytes: &mut line[skipped..] }))
    }

    /// Reads more behind the part of a line that is there, which then begins the buffer; how many bytes.
    fn fill(&mut self) -> io::Result<usize> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
        }
        (self.start, self.end) = (0, self.end - self.start);
        if self.end == self.buffer.len() {
            if self.end >= LONGEST_LINE {
                return Err(io::Error::other(format!("this line is longer than {} MiB", LONGEST_LINE >> 20)));
            }
            self.buffer.resize(2 * self.end, 0);
        }
        loop {
            match self.stream.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => {
                    self.end += *read.as_ref().unwrap_or(&0);
                    return read;
                }
            }
        }
    }
}

/// JSON of an experiment shrinks to a tenth, exceptionally to a fiftieth; only what was made to fill a memory shrinks to less than
/// this part.
const MOST_PACKED: u64 = 200;

/// How much `length` bytes may unpack to; below 16 MiB there is nothing to fear.
fn limit(length: u64) -> u64 {
    length.saturating_mul(MOST_PACKED).saturating_add(16 << 20)
}

fn too_much(limit: u64) -> String {
    format!("unpacks to more than {} MiB, over {MOST_PACKED} times its size", limit >> 20)
}

/// Everything that `packed` unpacks to, which has `length` bytes itself. What is refused says which limit it is over.
pub(crate) fn unpacked(packed: impl Read, length: u64) -> Result<Vec<u8>, String> {
    let limit = limit(length);
    let mut content = Vec::new();
    let read = packed.take(limit + 1).read_to_end(&mut content);
    read.map_err(|e| format!("cannot be unpacked: {e}"))?;
    if content.len() as u64 > limit {
        return Err(too_much(limit));
    }
    Ok(content)
}

/// `bytes` as UTF-8 without a byte order mark; `name` is for the message.
pub(crate) fn text(name: &str, bytes: Vec<u8>) -> Result<String, ReadError> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let (line, column) = position(&error.as_bytes()[..valid], valid);
        not_utf8(Place::at(name, line, column))
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

/// Line and column, counted from 1, of the byte at `offset`.
pub(crate) fn position(bytes: &[u8], offset: usize) -> (usize, usize) {
    let before = &bytes[..offset.min(bytes.len())];
    let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|&&b| b != b'\n').count() + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};

    use rand::rngs::StdRng;
    use rand::{RngExt as _, SeedableRng as _};

    use super::*;

    /// Gives a few bytes at a time, is interrupted now and then, and breaks off after `broken` bytes, if at all.
    struct Halting {
        bytes: Vec<u8>,
        given: usize,
        most: usize,
        broken: Option<usize>,
        random: StdRng,
    }

    impl Read for Halting {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            assert!(!into.is_empty(), "there is room to read into");
            if self.random.random_range(0..5) == 0 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            if self.broken.is_some_and(|at| self.given >= at) {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let left = self.broken.unwrap_or(self.bytes.len()) - self.given;
            let count = self.random.random_range(1..=self.most).min(into.len()).min(left);
            into[..count].copy_from_slice(&self.bytes[self.given..self.given + count]);
            self.given += count;
            Ok(count)
        }
    }

    /// Lines about as long as the room for them, against the standard library's.
    #[test]
    fn lines_are_those_of_the_standard_library_however_they_arrive() {
        let random = &mut StdRng::seed_from_u64(7);
        for _ in 0..3000 {
            let capacity = [8, 16, 64][random.random_range(0..3)];
            let mut bytes = Vec::new();
            if random.random_range(0..3) == 0 {
                bytes.extend("\u{feff}".bytes());
            }
            for _ in 0..random.random_range(0..20) {
                let length = [0, 1, 5, capacity - 1, capacity, capacity + 1, 2 * capacity, 5 * capacity];
                let length = length[random.random_range(0..length.len())];
                bytes.extend((0..length).map(|_| random.random_range(b'\x0b'..=0xff)));
                bytes.extend((random.random_range(0..8) != 0).then_some(b'\n'));
            }
            let broken =
                (random.random_range(0..5) == 0 && !bytes.is_empty()).then(|| random.random_range(0..bytes.len()));
            let most = [1, 3, capacity, 4 * capacity][random.random_range(0..4)];
            let mut stream = || {
                let random = StdRng::seed_from_u64(random.random());
                Box::new(Halting { bytes: bytes.clone(), given: 0, most, broken, random })
            };
            let mut ours = Lines::of("lines".into(), stream(), capacity);
            let mut theirs = BufReader::with_capacity(capacity, stream());
            for number in 1.. {
                let mut expected = Vec::new();
                let read = theirs.read_until(b'\n', &mut expected);
                let skipped = if number == 1 && expected.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 };
                match (ours.next(), read) {
                    (Ok(None), Ok(0)) => break,
                    (Err(error), Err(_)) => {
                        assert_eq!(error.place.line, Some(number));
                        break;
                    }
                    (Ok(Some(line)), Ok(_)) => {
                        assert_eq!((line.number, line.skipped), (number, skipped));
                        assert_eq!(&line.bytes[..], &expected[skipped..]);
                        // Readers write into it.
                        line.bytes.fill(b'\n');
                    }
                    (ours, theirs) => panic!("{} {theirs:?}", if ours.is_ok() { "read" } else { "not read" }),
                }
            }
        }
    }
}
