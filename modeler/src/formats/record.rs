//! One measurement as a JSON object on a line, shared by JSON Lines and TaLPas. Buffers are reused from line to line, so
//! that a line costs no allocation once the names in it are known; plain lines do without the general parser.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::collect::{Collector, EXACT, Order, Quantity};
use super::error::{IGNORED, Place, ReadError};
use super::json::{self, Step};
use super::plain_line::{self, Numbers, PlainLine, Template};
use super::source::{self, RawLine, Source};
use crate::experiment::{CallPathId, PointId};

/// How a format of one object per line names and separates things.
pub(crate) struct Dialect {
    /// Key of the object of coordinates.
    pub parameters: &'static str,
    /// Whether `;` separates members as `,` does.
    pub semicolons: bool,
}

/// No line that holds a value is shorter.
const SHORTEST: usize = r#"{"params":{"p":1},"value":1}"#.len();

/// Reads all lines of `source`.
pub(crate) fn read(source: Source, dialect: &Dialect, into: &mut Collector) -> Result<(), ReadError> {
    let name = source.name.clone();
    let length = source.path.as_ref().and_then(|path| path.metadata().ok()).map_or(0, |file| file.len());
    let mut lines = Lines {
        file: &name,
        dialect,
        into,
        order: None,
        points: Points::default(),
        last: Last::default(),
        callpaths: HashMap::new(),
        metrics: HashMap::new(),
        numbers: Numbers::default(),
    };
    let mut record = Record::default();
    let mut all = source::Lines::new(source);
    while let Some(line) = all.next()? {
        let (is_first, size) = (line.number == 1, line.bytes.len().max(SHORTEST));
        lines.line(line, &mut record)?;
        if is_first {
            // Most lines are about as long.
            lines.into.expect(length / size as u64);
        }
    }
    Ok(())
}

/// What the lines seen so far have made known.
struct Lines<'a> {
    file: &'a str,
    dialect: &'a Dialect,
    into: &'a mut Collector,
    order: Option<Order>,
    points: Points,
    last: Last,
    callpaths: HashMap<String, CallPathId>,
    metrics: HashMap<String, Quantity>,
    numbers: Numbers,
}

/// The points in the order of the file. Each call path mostly has the same ones in the same order.
#[derive(Default)]
struct Points {
    coordinates: Vec<f64>,
    ids: Vec<PointId>,
    /// As the coordinates stood in a line that was like the one before it, once there was one.
    written: Vec<Vec<u8>>,
    next: usize,
}

impl Points {
    /// The point with these coordinates, if it is the one expected here.
    fn expected(&mut self, coordinates: &[f64]) -> Option<PointId> {
        let start = self.next * coordinates.len();
        let expected = self.coordinates.get(start..start + coordinates.len())?;
        if expected != coordinates {
            return None;
        }
        Some(self.step())
    }

    /// The point expected here.
    fn step(&mut self) -> PointId {
        let id = self.ids[self.next];
        self.next = if self.next + 1 == self.ids.len() { 0 } else { self.next + 1 };
        id
    }

    /// How the coordinates of the point expected here are written, if that is known.
    fn written(&self) -> &[u8] {
        self.written.get(self.next).map_or(&[], |written| written)
    }

    /// Remembers how the coordinates of the point before the one expected here are written.
    fn remember(&mut self, written: &[u8]) {
        /// Nobody writes coordinates with so many digits.
        const LONGEST: usize = 256;
        if written.len() <= LONGEST {
            let last = if self.next == 0 { self.ids.len() } else { self.next } - 1;
            self.written.resize(self.ids.len(), Vec::new());
            written.clone_into(&mut self.written[last]);
        }
    }

    /// Remembers where in the order the point `id` stands.
    fn met(&mut self, coordinates: &[f64], id: PointId) {
        /// Among more points looking for one would cost more than it saves.
        const MOST: usize = 256;
        match self.ids.iter().position(|&known| known == id) {
            Some(place) => self.next = (place + 1) % self.ids.len(),
            None if self.ids.len() < MOST => {
                self.ids.push(id);
                self.coordinates.extend_from_slice(coordinates);
                self.next = 0;
            }
            None => {}
        }
    }
}

/// Call path and metric of the last plain line.
#[derive(Default)]
struct Last {
    callpath: Vec<u8>,
    metric: Vec<u8>,
    ids: Option<(CallPathId, Quantity)>,
    /// What it had beside its numbers.
    template: Template,
}

impl Lines<'_> {
    /// Adds what a line holds.
    fn line(&mut self, line: RawLine, record: &mut Record) -> Result<(), ReadError> {
        let RawLine { number, skipped, bytes: line } = line;
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        if self.dialect.semicolons {
            semicolons_to_commas(line);
        }
        if self.plain_line(line, (number, skipped), record).is_some() {
            return Ok(());
        }
        let mut json = serde_json::Deserializer::from_slice(line);
        RecordSeed { record, parameters: self.dialect.parameters }
            .deserialize(&mut json)
            .and_then(|()| json.end())
            .map_err(|error| {
                let told = json_error(self.file, number, skipped, &line[..], &error);
                let advice = "Write each object on one line; if this is the last line, copy the file again: it was probably cut off";
                if error.is_eof() { told.advice(advice) } else { told }
            })?;
        self.add(record, line, (number, skipped))
    }

    /// Adds what a line holds that can be taken apart in the quick way.
    fn plain_line(&mut self, line: &[u8], (number, skipped): (usize, usize), record: &Record) -> Option<()> {
        let order = self.order.as_ref()?;
        let alike = self.last.template.fit(line, record.names.len(), self.points.written(), &mut self.numbers);
        let found = match alike {
            Some(_) => None,
            None => Some(plain_line::parse(line, self.dialect.parameters, &record.names, &mut self.numbers)?),
        };
        let Numbers { coordinates, values, .. } = &self.numbers;
        let point = match &alike {
            Some(alike) if alike.are_expected => self.points.step(),
            _ => match self.points.expected(coordinates) {
                Some(point) => {
                    alike.iter().for_each(|alike| self.points.remember(alike.written));
                    point
                }
                None => {
                    let point = self.into.point(order, coordinates);
                    self.points.met(coordinates, point);
                    point
                }
            },
        };
        let is_last = |found: &PlainLine| self.last.callpath == found.callpath && self.last.metric == found.metric;
        let known = self.last.ids.filter(|_| found.as_ref().is_none_or(is_last));
        let found = found.unwrap_or_default();
        let (callpath, metric) = known.unwrap_or_else(|| {
            let written = |name| String::from_utf8_lossy(name);
            let callpath = written(found.callpath);
            let callpath = self.callpaths.get(&*callpath).copied().unwrap_or_else(|| {
                let id = self.into.callpath(&callpath);
                self.callpaths.insert(callpath.into_owned(), id);
                id
            });
            let metric = match self.last.ids {
                Some((_, metric)) if self.last.metric == found.metric => metric,
                _ => self.into.metric_named(&written(found.metric)),
            };
            found.callpath.clone_into(&mut self.last.callpath);
            found.metric.clone_into(&mut self.last.metric);
            (callpath, metric)
        });
        self.last.ids = Some((callpath, metric));
        if alike.is_none() {
            self.last.template.learn(line, &self.numbers);
        }
        for (i, &value) in values.iter().enumerate() {
            let place = || Place::at(self.file, number, skipped + column_of_value(line, i));
            self.into.add_from((callpath, metric, point), value, place);
        }
        Some(())
    }

    /// Adds the record that `line` holds.
    fn add(&mut self, record: &mut Record, line: &[u8], (number, skipped): (usize, usize)) -> Result<(), ReadError> {
        let place = &Place::at(self.file, number, 1);
        if let Some(key) = record.unknown.take() {
            self.into.warn(
                IGNORED,
                place.clone(),
                format!("The key `{key}` is unknown and was ignored, here and below."),
            );
        }
        if record.coordinates.iter().chain(&record.values).any(|number| number.abs() >= EXACT as f64) {
            for offset in [self.dialect.parameters, "value"].iter().flat_map(|member| json::lost_digits(line, member)) {
                self.into.warn_of_lost_digits(&Place::at(self.file, number, skipped + offset + 1));
            }
        }
        let order = match &self.order {
            Some(order) => order,
            None => self.order.insert(self.into.parameters(&record.names, place)?),
        };
        let point = self.into.point(order, &record.coordinates);
        let callpath = match self.callpaths.get(&record.callpath) {
            Some(&known) if record.path.is_empty() => known,
            _ if !record.path.is_empty() => self.into.callpath_of(&record.path),
            _ => *self.callpaths.entry(record.callpath.clone()).or_insert(self.into.callpath(&record.callpath)),
        };
        let metric = match self.metrics.get(&record.metric) {
            Some(&known) => known,
            None => *self.metrics.entry(record.metric.clone()).or_insert(self.into.metric_named(&record.metric)),
        };
        for (i, &value) in record.values.iter().enumerate() {
            let place = || Place::at(self.file, number, skipped + column_of_value(line, i));
            self.into.add_from((callpath, metric, point), value, place);
        }
        Ok(())
    }
}

/// The column, from one on, of the repetition with this index in a line that holds an object.
fn column_of_value(line: &[u8], index: usize) -> usize {
    json::offset(line, &[Step::Key("value"), Step::Index(index)]) + 1
}

/// Replaces every `;` outside strings.
fn semicolons_to_commas(line: &mut [u8]) {
    let (mut in_string, mut escaped) = (false, false);
    for byte in line {
        match *byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b';' if !in_string => *byte = b',',
            _ => {}
        }
    }
}

/// A parser's error at its place, where the parser was given `json`, which follows `line - 1` lines and `column` bytes.
pub(crate) fn json_error(file: &str, line: usize, column: usize, json: &[u8], error: &serde_json::Error) -> ReadError {
    let text = error.to_string();
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    let (below, along) = (error.line().max(1) - 1, error.column().max(1));
    let before = if below == 0 { column } else { 0 };
    let place = Place::at(file, line + below, before + along);
    // Python's `json` writes so what JSON has no numbers for.
    let is_written = matches!(what, "expected value" | "expected ident" | "invalid number");
    let word = word_at(json, below, along - 1).filter(|(_, word)| is_written && word.parse::<f64>().is_ok());
    if let Some((start, word)) = word {
        return ReadError::malformed(
            Place { column: Some(before + start + 1), ..place },
            format!("`{word}` is not a finite number"),
        )
        .expected("a number such as 4.25 or 1e-3")
        .advice("Leave measurements out that failed");
    }
    if what == "invalid unicode code point" {
        return source::not_utf8(place);
    }
    if what == "number out of range" {
        return ReadError::malformed(place, "this number is beyond any that is understood")
            .expected("a number such as 4.25 or 1e-3")
            .advice("Leave measurements out that failed");
    }
    if let Some(value) = what.strip_prefix("EOF while parsing ") {
        // Where it ends, whatever blank lines follow.
        let written = json.trim_ascii_end();
        let below = written.iter().filter(|&&byte| byte == b'\n').count();
        let along = written.iter().rev().take_while(|&&byte| byte != b'\n').count();
        let before = if below == 0 { column } else { 0 };
        let place = Place::at(file, line + below, (before + along).max(1));
        return ReadError::malformed(place, format!("it ends within {value}"));
    }
    // The parser counts the line feed as the beginning of the next line.
    if what.starts_with("control character") && error.column() == 0 {
        let ended = json.split(|&byte| byte == b'\n').nth(below.saturating_sub(1)).map_or(0, <[u8]>::len);
        let before = if below <= 1 { column } else { 0 };
        let place = Place::at(file, line + below.saturating_sub(1), (before + ended).max(1));
        return ReadError::malformed(place, "the line ends within a string")
            .advice("If this is the last line, copy the file again: it was probably cut off; a line feed in a string is written \\n");
    }
    if what == "trailing characters" && below == 0 {
        let before_it = &json[..(along - 1).min(json.len())];
        if let Some(at) =
            before_it.iter().rposition(|byte| !matches!(byte, b' ' | b'\t')).filter(|&at| json[at] == b'\r')
        {
            return within_line(Place { column: Some(column + at + 1), ..place });
        }
    }
    match what.rsplit_once(", expected ") {
        Some((what, expected)) => ReadError::malformed(place, what).expected(kind_of_value(expected)),
        None => not_json(place, what),
    }
}

/// What the parser calls a kind of value, as JSON does.
fn kind_of_value(expected: &str) -> &str {
    match expected {
        "f64" => "a number",
        "i64" => "a whole number",
        "u32" | "u64" | "usize" => "a whole number that is not negative",
        "a sequence" => "an array",
        "a map" => "an object",
        other => other.strip_prefix("struct ").map_or(other, |_| "an object"),
    }
}

/// The error of what is no JSON, which the parser says in few words.
fn not_json(place: Place, what: &str) -> ReadError {
    const VALUE: &str = "a string, a number, true, false, null, an array or an object";
    let (told, expected) = match what {
        "expected value" => ("no value begins here", VALUE),
        "expected ident" => ("this is no word of JSON", "true, false or null"),
        "invalid number" => ("this is no number of JSON", "one such as 4.25 or 1e-3"),
        "invalid escape" => {
            ("a backslash in a string stands before what it cannot stand before", "\\\\ for a backslash")
        }
        "key must be a string" => ("a name is not in double quotes", "a name such as \"values\""),
        "trailing comma" => ("a comma stands before the end of an array or object", "a further value, or no comma"),
        "trailing characters" => (
            "trailing characters: something follows the value that ends before",
            "one value, or one to a line in JSON Lines",
        ),
        _ => match what.strip_prefix("expected ") {
            Some(expected) => ("this does not fit here", expected),
            None => return ReadError::malformed(place, what),
        },
    };
    ReadError::malformed(place, told).expected(expected)
}

/// That lines end as on systems of long ago.
pub(crate) fn within_line(place: Place) -> ReadError {
    ReadError::malformed(place, "a carriage return stands within the line")
        .expected("lines that end with a line feed")
        .advice("Convert the file, for example with tr '\\r' '\\n'")
}

/// The letters around this byte of a line of `json`, and where in the line they begin, with a sign.
fn word_at(json: &[u8], line: usize, byte: usize) -> Option<(usize, &str)> {
    let line = json.split(|&byte| byte == b'\n').nth(line)?;
    let length = line.get(byte..)?.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let before = line[..byte].iter().rev().take_while(|byte| byte.is_ascii_alphabetic() || **byte == b'-').count();
    let word = std::str::from_utf8(&line[byte - before..byte + length]).ok()?;
    (length > 0).then_some((byte - before, word))
}

/// The content of one line.
#[derive(Default)]
struct Record {
    /// Parameters as the first line names them.
    names: Vec<String>,
    /// One coordinate per name; NaN until this line has given it.
    coordinates: Vec<f64>,
    callpath: String,
    /// The call path where it is written as an array of names.
    path: Vec<String>,
    metric: String,
    values: Vec<f64>,
    /// Keys met that have no meaning, and the one of them that was not warned about yet.
    ignored: Vec<String>,
    unknown: Option<String>,
}

struct RecordSeed<'a> {
    record: &'a mut Record,
    parameters: &'static str,
}

impl<'de> DeserializeSeed<'de> for RecordSeed<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RecordSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "an object with the keys `{}` and `value`", self.parameters)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let record = self.record;
        record.callpath.clear();
        record.path.clear();
        record.metric.clear();
        record.values.clear();
        record.coordinates.fill(f64::NAN);
        let (mut parameters, mut callpath, mut metric, mut value) = (false, false, false, false);
        while let Some(Text(key)) = map.next_key_seed(TextSeed)? {
            let seen = match &*key {
                key if key == self.parameters => {
                    map.next_value_seed(Coordinates(record))?;
                    &mut parameters
                }
                "callpath" => {
                    map.next_value_seed(Path(record))?;
                    &mut callpath
                }
                "metric" => {
                    record.metric.push_str(&map.next_value_seed(TextSeed)?.0);
                    &mut metric
                }
                "value" => {
                    map.next_value_seed(Values(record))?;
                    &mut value
                }
                other => {
                    note_unknown(record, other);
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            if std::mem::replace(seen, true) {
                return Err(A::Error::custom(format!("the key `{key}` stands here twice")));
            }
        }
        if !parameters {
            return Err(A::Error::custom(format!("the key `{}` is missing", self.parameters)));
        }
        if !value {
            return Err(A::Error::custom("the key `value` is missing"));
        }
        Ok(())
    }
}

fn note_unknown(record: &mut Record, key: &str) {
    if !record.ignored.iter().any(|k| k == key) {
        record.ignored.push(key.to_owned());
        record.unknown = Some(key.to_owned());
    }
}

/// A string, borrowed where it has no escapes.
struct Text<'de>(Cow<'de, str>);
struct TextSeed;

impl<'de> DeserializeSeed<'de> for TextSeed {
    type Value = Text<'de>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Text<'de>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for TextSeed {
    type Value = Text<'de>;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a string")
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Borrowed(text)))
    }
    fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }
}

/// The object of coordinates. The first line of a file names the parameters.
struct Coordinates<'a>(&'a mut Record);

impl<'de> DeserializeSeed<'de> for Coordinates<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Coordinates<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object with a number for each parameter")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Record { names, coordinates, .. } = self.0;
        let first_line = names.is_empty();
        let mut given = 0;
        while let Some(Text(name)) = map.next_key_seed(TextSeed)? {
            let value = map.next_value_seed(Coordinate)?;
            if first_line {
                if names.iter().any(|n| *n == name) {
                    return Err(A::Error::custom(format!("the parameter `{name}` stands here twice")));
                }
                names.push(name.into_owned());
                coordinates.push(value);
                given += 1;
                continue;
            }
            // Lines mostly name the parameters in the same order.
            let index = if names.get(given).is_some_and(|n| *n == name) {
                given
            } else {
                names.iter().position(|n| *n == name).ok_or_else(|| {
                    A::Error::custom(format!(
                        "the parameter `{name}` is not one of {}, expected the same parameters on each line",
                        names.join(", ")
                    ))
                })?
            };
            if !coordinates[index].is_nan() {
                return Err(A::Error::custom(format!("the parameter `{name}` stands here twice")));
            }
            coordinates[index] = value;
            given += 1;
        }
        match coordinates.iter().position(|c| c.is_nan()) {
            _ if names.is_empty() => Err(A::Error::custom("there is no parameter, expected at least one")),
            Some(missing) => Err(A::Error::custom(format!(
                "the parameter `{}` is missing, expected the same parameters on each line",
                names[missing]
            ))),
            None => Ok(()),
        }
    }
}

/// A coordinate.
struct Coordinate;

impl<'de> DeserializeSeed<'de> for Coordinate {
    type Value = f64;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<f64, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for Coordinate {
    type Value = f64;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a number")
    }
    fn visit_f64<E>(self, value: f64) -> Result<f64, E> {
        Ok(value)
    }
    fn visit_u64<E>(self, value: u64) -> Result<f64, E> {
        Ok(value as f64)
    }
    fn visit_i64<E>(self, value: i64) -> Result<f64, E> {
        Ok(value as f64)
    }
}

/// A call path, written `a->b->c` or as an array of names.
struct Path<'a>(&'a mut Record);

impl<'de> DeserializeSeed<'de> for Path<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Path<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a call path, a string such as \"main->solve\" or an array of names")
    }
    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.callpath.push_str(text);
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<(), A::Error> {
        while let Some(Text(name)) = names.next_element_seed(TextSeed)? {
            self.0.path.push(name.into_owned());
        }
        Ok(())
    }
}

/// One number or an array of repetitions.
struct Values<'a>(&'a mut Record);

impl<'de> DeserializeSeed<'de> for Values<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Values<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a number or an array of numbers")
    }
    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.0.values.push(value);
        Ok(())
    }
    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.0.values.push(value as f64);
        Ok(())
    }
    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.0.values.push(value as f64);
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<(), A::Error> {
        while numbers.next_element_seed(Values(&mut *self.0))?.is_some() {}
        if self.0.values.is_empty() {
            return Err(A::Error::custom("the array of values is empty, expected at least one number"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt as _, SeedableRng as _};

    use crate::formats::{Format, ReadOptions, read_bytes};

    /// What is read of JSON lines, or the line of the error.
    fn read(text: Vec<u8>) -> Result<String, Option<usize>> {
        let options = ReadOptions { format: Some(Format::ExtraPJsonLines), ..ReadOptions::default() };
        let read = read_bytes("lines.jsonl", text, &options).map_err(|error| error.place.line)?;
        let warnings: Vec<(&str, Option<usize>)> = read.warnings.iter().map(|w| (w.code, w.place.line)).collect();
        Ok(format!("{:?} {warnings:?}", read.experiment))
    }

    /// The same lines with a name that only the general parser reads.
    fn for_the_general_parser(text: &[u8]) -> Vec<u8> {
        let mut all = Vec::new();
        let mut rest = text;
        let name = b"\"callpath\":\"c";
        while let Some(at) = rest.windows(name.len()).position(|window| window == name) {
            all.extend_from_slice(&rest[..at + name.len() - 1]);
            all.extend_from_slice(br"\u0063");
            rest = &rest[at + name.len()..];
        }
        all.extend_from_slice(rest);
        all
    }

    /// Call paths with the same points in the same or another order, written in one way or another; with a byte changed, taken out or put in.
    #[test]
    fn plain_lines_mean_what_the_general_parser_says() {
        let random = &mut StdRng::seed_from_u64(11);
        let (mut good, mut bad) = (0, 0);
        for _ in 0..1500 {
            let count = if random.random_range(0..40) == 0 { 300 } else { random.random_range(1..8) };
            let points: Vec<(u32, u32)> = (0..count).map(|i| (1 + i % 17, 1 + i / 17)).collect();
            let mut text = Vec::new();
            for callpath in 0..random.random_range(1..4) {
                let shift = if random.random_range(0..3) == 0 { random.random_range(0..points.len()) } else { 0 };
                for i in 0..points.len() {
                    let (p, n) = points[(i + shift) % points.len()];
                    let mut written = |number: u32| match random.random_range(0..12) {
                        0 => format!("{number}.0"),
                        1 => format!("{number}e0"),
                        2 => format!("{number}0.00e-1"),
                        3 => format!("{number}{}", " ".repeat(300)),
                        _ => number.to_string(),
                    };
                    let (p, n) = (written(p), written(n));
                    let value = match random.random_range(0..6) {
                        0 => "9007199254740993".to_owned(),
                        1 => format!("{:e}", random.random::<f64>()),
                        _ => random.random_range(0..1000).to_string(),
                    };
                    let line = format!(
                        r#"{{"params":{{"p":{p},"n":{n}}},"callpath":"c{callpath}","metric":"time","value":{value}}}"#
                    );
                    text.extend(line.bytes());
                    text.push(b'\n');
                }
            }
            if random.random_range(0..2) == 0 {
                let at = random.random_range(0..text.len());
                let bytes = b"0123456789eE+-.,:{}[]\" \t\r\n\x0c\0x\xff";
                let byte = bytes[random.random_range(0..bytes.len())];
                match random.random_range(0..3) {
                    0 => text[at] = byte,
                    1 => text.insert(at, byte),
                    _ => drop(text.remove(at)),
                }
            }
            let general = for_the_general_parser(&text);
            let shown = String::from_utf8_lossy(&text).into_owned();
            let ours = read(text);
            assert_eq!(ours, read(general), "{shown}");
            *if ours.is_ok() { &mut good } else { &mut bad } += 1;
        }
        assert!(good > 500 && bad > 300, "{good} {bad}");
    }

    #[test]
    fn coordinates_that_lose_digits_are_told() {
        let line = |p: &str| format!(r#"{{"params":{{"p":{p}}},"callpath":"a","metric":"time","value":1}}"#);
        let warned = |p: &str| read(line(p).into_bytes()).unwrap().contains("(\"W");
        assert!(warned("9007199254740993") && warned("-9007199254740993"));
        assert!(!warned("9007199254740992") && !warned("1e300"));
    }
}
