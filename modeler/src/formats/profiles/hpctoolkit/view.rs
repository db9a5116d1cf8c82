//! Checked access to the bytes of a database file: little-endian numbers, texts, and arrays whose stride the file tells.

use crate::formats::error::{Place, ReadError};

/// The content of one file.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    /// Name of the file, for messages.
    pub name: &'a str,
    bytes: &'a [u8],
}

impl<'a> View<'a> {
    /// The file `name`, which must be of the kind that `format` names, and of version 4.
    pub fn new(name: &'a str, bytes: &'a [u8], format: &str) -> Result<Self, ReadError> {
        let view = Self { name, bytes };
        let expected = format!("HPCTOOLKIT{format}");
        if !bytes.starts_with(expected.as_bytes()) {
            return Err(view
                .wrong(0, format!("it does not begin with {expected}"))
                .expected("a database of HPCToolkit"));
        }
        let major = view.u8(14)?;
        if major != 4 {
            return Err(view
                .wrong(14, format!("the database has version {major}"))
                .expected("version 4")
                .advice("Make it again from the measurements with the hpcprof of a release from 2023 or later"));
        }
        Ok(view)
    }

    /// The error that what stands at `at` is wrong.
    pub fn wrong(&self, at: u64, what: impl std::fmt::Display) -> ReadError {
        ReadError::malformed(Place::file(self.name), format!("at byte {at}: {what}"))
    }

    fn array<const N: usize>(&self, at: u64) -> Result<[u8; N], ReadError> {
        let start = usize::try_from(at).ok();
        let bytes = start.and_then(|start| self.bytes.get(start..start.checked_add(N)?));
        bytes.and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| {
            self.wrong(at, format!("the file has {} bytes, and this is not one of them", self.bytes.len()))
                .advice("Copy the database again; it was probably cut off")
        })
    }

    /// The byte at `at`.
    pub fn u8(&self, at: u64) -> Result<u8, ReadError> {
        self.array::<1>(at).map(|[byte]| byte)
    }

    /// The number of 16 bits at `at`.
    pub fn u16(&self, at: u64) -> Result<u16, ReadError> {
        self.array(at).map(u16::from_le_bytes)
    }

    /// The number of 32 bits at `at`.
    pub fn u32(&self, at: u64) -> Result<u32, ReadError> {
        self.array(at).map(u32::from_le_bytes)
    }

    /// The number of 64 bits at `at`.
    pub fn u64(&self, at: u64) -> Result<u64, ReadError> {
        self.array(at).map(u64::from_le_bytes)
    }

    /// The floating-point number at `at`.
    pub fn f64(&self, at: u64) -> Result<f64, ReadError> {
        self.array(at).map(f64::from_le_bytes)
    }

    /// The text that the pointer at `at` points to, which ends before a zero; no text where the pointer is zero.
    pub fn text(&self, at: u64) -> Result<String, ReadError> {
        let at = self.pointer(at)?;
        if at == 0 {
            return Ok(String::new());
        }
        let rest = usize::try_from(at).ok().and_then(|start| self.bytes.get(start..)).unwrap_or_default();
        let length = rest.iter().position(|&b| b == 0);
        let length = length.ok_or_else(|| self.wrong(at, "a text does not end before the file does"))?;
        Ok(String::from_utf8_lossy(&rest[..length]).into_owned())
    }

    /// The place that the pointer at `at` points to. It lies in the file, so that nothing near it overflows.
    pub fn pointer(&self, at: u64) -> Result<u64, ReadError> {
        let to = self.u64(at)?;
        if to > self.bytes.len() as u64 {
            let what = format!("this points to byte {to} of a file that has {}", self.bytes.len());
            return Err(self.wrong(at, what).advice("Copy the database again; it was probably cut off"));
        }
        Ok(to)
    }

    /// Where section `number` (from 0) of the file begins.
    pub fn section(&self, number: u64) -> Result<u64, ReadError> {
        self.pointer(0x18 + 0x10 * number)
    }

    /// Where `count` items of `stride` bytes end that begin at `start`; all of them lie in the file.
    pub fn end(&self, start: u64, count: u64, stride: u64) -> Result<u64, ReadError> {
        let end = count.checked_mul(stride).and_then(|length| length.checked_add(start));
        end.filter(|&end| end <= self.bytes.len() as u64).ok_or_else(|| {
            let what = format!("{count} items of {stride} bytes do not fit into the file's {}", self.bytes.len());
            self.wrong(start, what).advice("Copy the database again; it was probably cut off")
        })
    }

    /// Where each item of an array of `count` items begins, `stride` bytes apart; all of them lie in the file.
    pub fn items(&self, start: u64, count: u64, stride: u64) -> Result<impl Iterator<Item = u64> + use<>, ReadError> {
        if stride == 0 && count > 0 {
            return Err(self.wrong(start, "the items of this array have no size"));
        }
        self.end(start, count, stride)?;
        Ok((0..count).map(move |i| start + i * stride))
    }
}
