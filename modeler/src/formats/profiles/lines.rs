//! Text formats line by line: a line is in memory at a time, and errors know their place.

use std::io::{BufRead, BufReader};

use super::profile::Profile;
use crate::formats::error::{Place, ReadError, UNENDED};
use crate::formats::source::{Source, not_utf8, unreadable};

/// A line of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    pub file: &'a str,
    /// Counted from 1.
    pub number: usize,
    /// Without its end and without blanks behind.
    pub text: &'a str,
    /// Whether it ends in a line feed, which only the last line of a file may lack.
    pub is_ended: bool,
}

impl<'a> Line<'a> {
    /// An error at `part`, which is a part of this line's text, or at its beginning where it is none.
    pub fn wrong(&self, part: &str, what: impl Into<String>) -> ReadError {
        let offset = (part.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize);
        let column = offset.filter(|&o| o <= self.text.len()).unwrap_or(0) + 1;
        ReadError::malformed(Place::at(self.file, self.number, column), what)
    }

    /// The same, with what to do where the file may have been cut off in this line.
    pub fn wrong_or_cut(&self, part: &str, what: impl Into<String>, expected: &str) -> ReadError {
        let error = self.wrong(part, what).expected(expected);
        if self.is_ended { error } else { error.cut_off() }
    }

    /// Warns where the count that ends this line may have lost digits, which is so where the line has no end.
    pub fn warn_unended(&self, profile: &mut Profile) {
        if !self.is_ended {
            let message = "The file's last line has no end: if the file was cut off there, its count may have lost digits and \
                           lines behind it are missing. Copy the file again, or end the line if it is whole.";
            profile.warn(UNENDED, Place::at(self.file, self.number, 1), message);
        }
    }

    /// `part`, which is a part of this line's text, as a finite number.
    pub fn finite(&self, part: &str) -> Result<f64, ReadError> {
        let number = part.trim().parse::<f64>().ok().filter(|n| n.is_finite());
        number.ok_or_else(|| self.wrong(part, format!("`{}` is no number", part.trim())).expected("a finite number"))
    }
}

/// Calls `with` for each line that is not empty. Bytes that are not UTF-8 are an error: replaced, different names would become one.
pub(super) fn each(source: Source, mut with: impl FnMut(Line) -> Result<(), ReadError>) -> Result<(), ReadError> {
    let file = source.name.clone();
    let mut stream = BufReader::with_capacity(1 << 16, source.into_stream());
    let (mut bytes, mut number) = (Vec::new(), 0);
    loop {
        bytes.clear();
        let read = stream.read_until(b'\n', &mut bytes).map_err(|e| unreadable(Place::at(&file, number + 1, 1), &e))?;
        if read == 0 {
            return Ok(());
        }
        number += 1;
        let text = std::str::from_utf8(&bytes).map_err(|e| not_utf8(Place::at(&file, number, e.valid_up_to() + 1)))?;
        let (is_ended, text) = (text.ends_with('\n'), text.trim_end());
        if !text.is_empty() {
            with(Line { file: &file, number, text, is_ended })?;
        }
    }
}

/// The whole lines of a file's beginning. If it is `complete`, its last line counts though it has no end.
pub(super) fn of_head(head: &[u8], complete: bool) -> Vec<String> {
    let text = String::from_utf8_lossy(head);
    let mut lines: Vec<String> = text.lines().map(|l| l.trim_end().to_owned()).collect();
    if !complete && !text.ends_with('\n') {
        lines.pop();
    }
    lines.retain(|l| !l.is_empty());
    lines
}
