//! The archive around a Cube profile: a ustar file, of which some versions of CubeWriter wrote wrong checksums. Reading
//! goes on there, which archive libraries refuse.

use std::collections::HashMap;
use std::ops::Range;

use crate::formats::error::{Place, ReadError};

const BLOCK: usize = 512;

/// Where the members of an archive lie.
#[derive(Debug, Default)]
pub(super) struct Archive {
    members: HashMap<String, Range<usize>>,
    /// Offset of the first header whose checksum is wrong.
    pub wrong_checksum: Option<usize>,
}

impl Archive {
    /// Reads the headers of `bytes`, the content of the file `name`.
    pub fn new(name: &str, bytes: &[u8]) -> Result<Self, ReadError> {
        let mut archive = Self::default();
        let mut at = 0;
        while let Some(header) = bytes.get(at..at + BLOCK) {
            if header.iter().all(|&b| b == 0) {
                break;
            }
            let wrong = |what: String| ReadError::malformed(Place::file(name), format!("at byte {at}: {what}"));
            let size = number(&header[124..136])
                .and_then(|size| usize::try_from(size).ok())
                .ok_or_else(|| wrong("the size in this archive header is no number".into()))?;
            let start = at + BLOCK;
            let member = text(&header[..100]);
            let end = start.checked_add(size).filter(|&end| end <= bytes.len()).ok_or_else(|| {
                wrong(format!("the archive ends inside its member `{member}`"))
                    .expected(format!("{size} bytes after the header"))
                    .cut_off()
            })?;
            if number(&header[148..156]) != Some(checksum(header)) {
                archive.wrong_checksum.get_or_insert(at);
            }
            archive.members.insert(member, start..end);
            at = end.div_ceil(BLOCK) * BLOCK;
        }
        Ok(archive)
    }

    /// The content of a member.
    pub fn get<'a>(&self, bytes: &'a [u8], member: &str) -> Option<&'a [u8]> {
        self.members.get(member).map(|range| &bytes[range.clone()])
    }
}

/// Whether a file begins as a ustar archive.
pub(super) fn is_archive(head: &[u8]) -> bool {
    head.get(257..262) == Some(b"ustar")
}

fn text(field: &[u8]) -> String {
    let length = field.iter().position(|&b| b == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..length]).into_owned()
}

/// A number in octal digits, or in binary where the first bit is set.
fn number(field: &[u8]) -> Option<u64> {
    if field.first()? & 0x80 != 0 {
        let digits = field[1..].iter();
        return digits.skip_while(|&&b| b == 0).try_fold(0_u64, |n, &b| n.checked_mul(256)?.checked_add(b.into()));
    }
    let digits = text(field);
    u64::from_str_radix(digits.trim(), 8).ok()
}

/// The sum of a header's bytes, those of the checksum taken as blanks.
fn checksum(header: &[u8]) -> u64 {
    let byte = |(i, &b): (usize, &u8)| if (148..156).contains(&i) { u64::from(b' ') } else { u64::from(b) };
    header.iter().enumerate().map(byte).sum()
}
