//! One input as a reader sees it: a folder, or bytes whose beginning is known before a reader is chosen.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::error::{ErrorKind, Place, ReadError};

/// How much of a file detection may look at.
const HEAD: u64 = 64 * 1024;

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
        /// What follows `head`.
        rest: Box<dyn Read>,
    },
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

    /// Bytes from anywhere.
    pub fn bytes(name: String, path: Option<PathBuf>, mut from: Box<dyn Read>) -> Result<Self, ReadError> {
        let mut head = Vec::new();
        let read = (&mut from).take(HEAD).read_to_end(&mut head);
        let length = read
            .map_err(|e| ReadError::new(ErrorKind::Unreadable, Place::file(&name), format!("cannot be read: {e}")))?;
        let complete = (length as u64) < HEAD;
        Ok(Self { name, path, content: Content::Bytes { head, complete, rest: from } })
    }

    /// The first bytes, and whether they are everything; nothing for a folder.
    pub fn head(&self) -> Option<(&[u8], bool)> {
        match &self.content {
            Content::Folder => None,
            Content::Bytes { head, complete, .. } => Some((head, *complete)),
        }
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
        self.into_stream()
            .read_to_end(&mut all)
            .map_err(|e| ReadError::new(ErrorKind::Unreadable, place, format!("cannot be read: {e}")))?;
        Ok(all)
    }

    /// The whole content as text, without a byte order mark.
    pub fn into_text(self) -> Result<String, ReadError> {
        let name = self.name.clone();
        text(&name, self.into_bytes()?)
    }
}

/// `bytes` as UTF-8 without a byte order mark; `name` is for the message.
pub(crate) fn text(name: &str, bytes: Vec<u8>) -> Result<String, ReadError> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let (line, column) = position(&error.as_bytes()[..valid], valid);
        ReadError::malformed(Place::at(name, line, column), "this byte is not valid UTF-8")
            .expected("text encoded as UTF-8")
            .advice("Convert the file, for example with iconv -t utf-8")
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
