//! pprof's profiles: protocol buffers, mostly compressed with gzip, as Go, gperftools, Rust's pprof and others write
//! them. The schema is `profile.proto` of google/pprof.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use super::ProfileFormat;
use super::profile::{Fold, Profile, Reduced};
use crate::formats::error::{Place, ReadError};
use crate::formats::source::Source;
use crate::formats::{Detection, Format, Values};

/// Reads pprof's profiles.
pub(super) struct Pprof;

impl ProfileFormat for Pprof {
    fn format(&self) -> Format {
        Format::Pprof
    }

    fn detect(&self, _name: &str, head: &[u8], _complete: bool) -> Detection {
        if looks_right(head) {
            Detection::Yes
        } else {
            Detection::no("it does not begin with fields of pprof's profiles")
        }
    }

    fn looks_far(&self) -> bool {
        true
    }

    fn read(&self, source: Source, _values: Values) -> Result<Profile, ReadError> {
        let name = source.name.clone();
        let bytes = source.into_bytes()?;
        // What others refer to comes last: names.
        let cut_off = |what: String| ReadError::malformed(Place::file(&name), what).cut_off();
        Content::read(&bytes).map_err(cut_off)?.profile().map_err(cut_off)
    }
}

/// Whether the fields are those of a profile up to the first that is a message, and that is right, too. Writers put them in any
/// order: Go's begin with the time.
fn looks_right(head: &[u8]) -> bool {
    for field in (Fields { bytes: head, at: 0 }) {
        match field {
            Ok((key @ (1..=5 | 11), Value::Bytes(inner))) => return is_part(key, inner),
            Ok((6 | 13, Value::Bytes(_)) | (7..=10 | 12..=15, Value::Number(_))) => {}
            _ => return false,
        }
    }
    false
}

/// Whether a message in a profile's field `key` has the fields that the schema gives it.
fn is_part(key: u64, bytes: &[u8]) -> bool {
    let is_right = |(inner, value): &(u64, Value)| match (key, value) {
        // Lists of numbers may be packed.
        (2, Value::Bytes(_)) => (1..=3).contains(inner),
        (2, Value::Number(_)) | (1 | 11, Value::Number(_)) => (1..=2).contains(inner),
        (3, Value::Number(_)) => (1..=10).contains(inner),
        (4, Value::Bytes(_)) => *inner == 4,
        (4 | 5, Value::Number(_)) => (1..=5).contains(inner),
        _ => false,
    };
    !bytes.is_empty() && (Fields { bytes, at: 0 }).all(|field| field.is_ok_and(|field| is_right(&field)))
}

/// The value of a field.
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// A type that the schema does not use.
    Fixed,
}

/// The fields of a message: number and value.
struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    fn number(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn skip(&mut self, length: u64) -> Option<&'a [u8]> {
        let end = self.at.checked_add(usize::try_from(length).ok()?)?;
        let inner = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(inner)
    }

    fn field(&mut self) -> Option<(u64, Value<'a>)> {
        let tag = self.number()?;
        let value = match tag & 7 {
            0 => Value::Number(self.number()?),
            1 => self.skip(8).map(|_| Value::Fixed)?,
            2 => {
                let length = self.number()?;
                Value::Bytes(self.skip(length)?)
            }
            5 => self.skip(4).map(|_| Value::Fixed)?,
            _ => return None,
        };
        Some((tag >> 3, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let start = self.at;
        let field = self.field();
        if field.is_none() {
            self.at = self.bytes.len();
        }
        Some(field.ok_or_else(|| format!("at byte {start} of a message: this is no field of a protocol buffer")))
    }
}

/// The numbers of a repeated field, which may be packed.
fn numbers(value: &Value, into: &mut Vec<u64>) -> Result<(), String> {
    match value {
        Value::Number(number) => into.push(*number),
        Value::Bytes(bytes) => {
            let mut packed = Fields { bytes, at: 0 };
            while packed.at < bytes.len() {
                into.push(packed.number().ok_or("a packed list of numbers is cut off")?);
            }
        }
        Value::Fixed => return Err("a list holds numbers of another type".into()),
    }
    Ok(())
}

/// Field numbers of a message with whole numbers alone, such as `ValueType`.
fn simple(bytes: &[u8]) -> Result<HashMap<u64, u64>, String> {
    let mut found = HashMap::new();
    for field in (Fields { bytes, at: 0 }) {
        if let (key, Value::Number(number)) = field? {
            found.insert(key, number);
        }
    }
    Ok(found)
}

#[derive(Default)]
struct Content<'a> {
    /// Indices of type and unit in the table of strings.
    types: Vec<(u64, u64)>,
    /// Locations from the innermost outwards, and a value of each type.
    samples: Vec<(Vec<u64>, Vec<u64>)>,
    /// Functions of a location from the innermost outwards, and its address.
    locations: HashMap<u64, (Vec<u64>, u64)>,
    /// Index of a function's name.
    functions: HashMap<u64, u64>,
    strings: Vec<Cow<'a, str>>,
}

impl<'a> Content<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, String> {
        let mut content = Self::default();
        for field in (Fields { bytes, at: 0 }) {
            match field? {
                (1, Value::Bytes(inner)) => {
                    let fields = simple(inner)?;
                    let get = |key| fields.get(&key).copied().unwrap_or(0);
                    content.types.push((get(1), get(2)));
                }
                (2, Value::Bytes(inner)) => content.sample(inner)?,
                (4, Value::Bytes(inner)) => content.location(inner)?,
                (5, Value::Bytes(inner)) => {
                    let fields = simple(inner)?;
                    let get = |key| fields.get(&key).copied().unwrap_or(0);
                    content.functions.insert(get(1), if get(2) == 0 { get(3) } else { get(2) });
                }
                (6, Value::Bytes(inner)) => content.strings.push(String::from_utf8_lossy(inner)),
                _ => {}
            }
        }
        Ok(content)
    }

    fn sample(&mut self, bytes: &[u8]) -> Result<(), String> {
        let (mut locations, mut values) = (Vec::new(), Vec::new());
        for field in (Fields { bytes, at: 0 }) {
            match field? {
                (1, value) => numbers(&value, &mut locations)?,
                (2, value) => numbers(&value, &mut values)?,
                _ => {}
            }
        }
        self.samples.push((locations, values));
        Ok(())
    }

    fn location(&mut self, bytes: &[u8]) -> Result<(), String> {
        let (mut id, mut address, mut functions) = (0, 0, Vec::new());
        for field in (Fields { bytes, at: 0 }) {
            match field? {
                (1, Value::Number(number)) => id = number,
                (3, Value::Number(number)) => address = number,
                (4, Value::Bytes(line)) => functions.extend(simple(line)?.get(&1)),
                _ => {}
            }
        }
        self.locations.insert(id, (functions, address));
        Ok(())
    }

    fn string(&self, index: u64) -> Result<&str, String> {
        let found = usize::try_from(index).ok().and_then(|i| self.strings.get(i));
        found
            .map(|s| &**s)
            .ok_or_else(|| format!("the string {index} does not exist; there are {}", self.strings.len()))
    }

    /// Names from the outermost function to the innermost.
    fn stack(&self, locations: &[u64]) -> Result<Vec<String>, String> {
        let mut names = Vec::new();
        for id in locations.iter().rev() {
            let (functions, address) = self
                .locations
                .get(id)
                .ok_or_else(|| format!("a sample refers to the location {id}, which is missing"))?;
            for function in functions.iter().rev() {
                let name = self.functions.get(function);
                let name =
                    name.ok_or_else(|| format!("a location refers to the function {function}, which is missing"))?;
                names.push(self.string(*name)?.to_owned());
            }
            if functions.is_empty() {
                names.push(format!("{address:#x}"));
            }
        }
        Ok(names)
    }

    fn profile(&self) -> Result<Profile, String> {
        let mut profile = Profile::default();
        let mut columns = Vec::new();
        for &(what, unit) in &self.types {
            let (name, unit, scale) = naming(self.string(what)?, self.string(unit)?);
            columns.push((profile.column(name, unit, Fold::Sum), scale));
        }
        let mut sums: BTreeMap<(u32, u32), f64> = BTreeMap::new();
        for (locations, values) in &self.samples {
            if values.len() != columns.len() {
                return Err(format!("a sample has {} values for {} types", values.len(), columns.len()));
            }
            let Some(node) = profile.path(self.stack(locations)?) else { continue };
            for (&value, &(column, scale)) in values.iter().zip(&columns) {
                *sums.entry((node, column)).or_insert(0.0) += (value as i64) as f64 * scale;
            }
        }
        sums.into_iter().for_each(|((node, column), sum)| profile.add(node, column, Reduced::one(sum)));
        Ok(profile)
    }
}

/// The experiment's name and unit of a type of values, and the factor from the file's unit.
fn naming<'a>(name: &'a str, unit: &str) -> (&'a str, &'static str, f64) {
    let (unit, scale) = match unit {
        "nanoseconds" | "ns" => ("s", 1e-9),
        "microseconds" | "us" => ("s", 1e-6),
        "milliseconds" | "ms" => ("s", 1e-3),
        "seconds" | "s" => ("s", 1.0),
        "bytes" => ("bytes", 1.0),
        _ => ("", 1.0),
    };
    (if name == "cpu" && unit == "s" { "time" } else { name }, unit, scale)
}
