//! `.cali` streams: records of nodes, contexts and globals, a line each. A node is an attribute with a value and a
//! parent; a context refers to nodes and holds values of its own.

use std::collections::HashMap;

use super::super::ProfileFormat;
use super::super::lines::{self, Line};
use super::super::profile::Profile;
use super::Rows;
use crate::formats::error::ReadError;
use crate::formats::source::Source;
use crate::formats::{Detection, Format, Values};

/// Reads `.cali`.
pub(in super::super) struct Cali;

/// Nodes that every stream knows: the attributes of attributes.
const NAME: u64 = 8;
const PROPERTIES: u64 = 10;
/// The property of attributes whose nodes are regions inside each other.
const NESTED: u64 = 256;

impl ProfileFormat for Cali {
    fn format(&self) -> Format {
        Format::Cali
    }

    fn extension(&self) -> Option<&'static str> {
        Some("cali")
    }

    fn detect(&self, _name: &str, head: &[u8], _complete: bool) -> Detection {
        if head.starts_with(b"__rec=") { Detection::Yes } else { Detection::no("it does not begin with `__rec=`") }
    }

    fn read(&self, source: Source, _values: Values) -> Result<Profile, ReadError> {
        let (place, mut stream) = (source.place(), Stream::default());
        // A number that was cut is a number still, so the last record must have its end.
        lines::each(source, |line| match (stream.line(&line), line.is_ended) {
            (read, true) => read,
            (Err(error), false) => Err(error.cut_off()),
            (Ok(()), false) => Err(line.wrong(line.text, "this last record has no line end").cut_off()),
        })?;
        if stream.nodes.is_empty() {
            return Err(ReadError::malformed(place, "the stream has no nodes").cut_off());
        }
        Ok(stream.rows.finish(stream.tells_ranks))
    }
}

struct Node {
    attribute: u64,
    value: String,
    parent: Option<u64>,
}

#[derive(Default)]
struct Stream {
    nodes: HashMap<u64, Node>,
    rows: Rows,
    tells_ranks: bool,
}

/// How far a chain of nodes is followed; damaged files may hold circles.
const DEPTH: usize = 100_000;

impl Stream {
    fn line(&mut self, line: &Line) -> Result<(), ReadError> {
        let mut fields: HashMap<&str, Vec<String>> = HashMap::new();
        for (key, values) in record(line.text) {
            fields.insert(key, values);
        }
        let kind = fields.get("__rec").and_then(|v| v.first()).map(String::as_str);
        match kind {
            Some("node") => self.node(line, &fields),
            Some("ctx") => self.context(line, &fields),
            Some("globals") => self.globals(line, &fields),
            Some(_) => Ok(()),
            None => Err(line.wrong(line.text, "this line is no record").expected("a line that begins with __rec=")),
        }
    }

    fn node(&mut self, line: &Line, fields: &HashMap<&str, Vec<String>>) -> Result<(), ReadError> {
        let one = |key: &str| -> Result<Option<u64>, ReadError> { Ok(ids(line, fields.get(key))?.first().copied()) };
        let missing = |key: &str| line.wrong(line.text, format!("this node has no `{key}`"));
        let id = one("id")?.ok_or_else(|| missing("id"))?;
        let attribute = one("attr")?.ok_or_else(|| missing("attr"))?;
        let value = fields.get("data").and_then(|v| v.first()).cloned().unwrap_or_default();
        self.nodes.insert(id, Node { attribute, value, parent: one("parent")? });
        // Streams of versions that know no globals tell it this way.
        if let Some(node) = self.nodes.get(&id)
            && self.name(node.attribute) == Some("cali.caliper.version")
        {
            self.rows.version = Some(node.value.clone());
        }
        Ok(())
    }

    /// What holds for the whole run: nodes with those above them, and values.
    fn globals(&mut self, line: &Line, fields: &HashMap<&str, Vec<String>>) -> Result<(), ReadError> {
        let mut said: Vec<(String, String)> = Vec::new();
        let named = |node: &Node| Some((self.name(node.attribute)?.to_owned(), node.value.clone()));
        for id in ids(line, fields.get("ref"))? {
            said.extend(self.chain(id).filter_map(named));
        }
        let data = fields.get("data").map_or(&[][..], Vec::as_slice);
        for (attribute, value) in ids(line, fields.get("attr"))?.into_iter().zip(data) {
            said.extend(self.name(attribute).map(|name| (name.to_owned(), value.clone())));
        }
        said.iter().for_each(|(name, value)| self.rows.global(name, value));
        Ok(())
    }

    /// The name of an attribute.
    fn name(&self, attribute: u64) -> Option<&str> {
        self.nodes.get(&attribute).filter(|n| n.attribute == NAME).map(|n| n.value.as_str())
    }

    /// The chain of nodes from `id` upwards.
    fn chain(&self, id: u64) -> impl Iterator<Item = &Node> {
        let mut next = self.nodes.get(&id);
        std::iter::from_fn(move || {
            let node = next?;
            next = node.parent.and_then(|p| self.nodes.get(&p));
            Some(node)
        })
        .take(DEPTH)
    }

    fn is_nested(&self, attribute: u64) -> bool {
        let properties = self.chain(attribute).find(|n| n.attribute == PROPERTIES);
        properties.and_then(|n| n.value.parse::<u64>().ok()).is_some_and(|p| p & NESTED != 0)
    }

    /// The unit that an attribute's own nodes tell.
    fn unit(&self, attribute: u64) -> Option<String> {
        let is_unit = |n: &&Node| self.name(n.attribute) == Some("attribute.unit");
        self.chain(attribute).find(is_unit).map(|n| n.value.clone())
    }

    fn context(&mut self, line: &Line, fields: &HashMap<&str, Vec<String>>) -> Result<(), ReadError> {
        let (mut path, mut rank, mut tells_ranks) = (Vec::new(), (0, 0), false);
        for id in ids(line, fields.get("ref"))? {
            let mut here = Vec::new();
            for node in self.chain(id) {
                if self.is_nested(node.attribute) {
                    here.push(node.value.clone());
                } else {
                    tells_ranks |= place(self.name(node.attribute), &node.value, &mut rank);
                }
            }
            path.extend(here.into_iter().rev());
        }
        let attributes = ids(line, fields.get("attr"))?;
        let data = fields.get("data").map_or(&[][..], Vec::as_slice);
        if attributes.len() != data.len() {
            let what =
                format!("attributes and values are {} and {}, and should be as many", attributes.len(), data.len());
            return Err(line.wrong(line.text, what).advice("The stream is damaged; write it again"));
        }
        let mut values = Vec::new();
        for (attribute, value) in attributes.into_iter().zip(data) {
            let Some(name) = self.name(attribute).map(str::to_owned) else {
                return Err(line.wrong(line.text, format!("the attribute {attribute} was not announced")));
            };
            if place(Some(&name), value, &mut rank) {
                tells_ranks = true;
            } else if let Some(number) = value.parse::<f64>().ok().filter(|v| v.is_finite()) {
                if let Some(unit) = self.unit(attribute) {
                    self.rows.units.insert(name.clone(), unit);
                }
                values.push((name, number));
            }
        }
        self.tells_ranks |= tells_ranks;
        let node = self.rows.profile.path(&path);
        values.into_iter().for_each(|(name, value)| self.rows.add(node, rank, &name, value));
        Ok(())
    }
}

/// Takes a rank or thread; says whether that is what it was.
fn place(attribute: Option<&str>, value: &str, rank: &mut (u64, u64)) -> bool {
    let (Some(attribute), Ok(number)) = (attribute, value.parse::<u64>()) else { return false };
    match attribute {
        "mpi.rank" | "rank" => rank.0 = number,
        "thread" | "omp.thread.id" | "thread.id" => rank.1 = number,
        _ => return false,
    }
    true
}

/// The numbers of a list.
fn ids(line: &Line, list: Option<&Vec<String>>) -> Result<Vec<u64>, ReadError> {
    let one = |text: &String| {
        text.parse::<u64>().map_err(|_| line.wrong(line.text, format!("`{text}` is no number of a node or attribute")))
    };
    list.map_or(&[][..], Vec::as_slice).iter().map(one).collect()
}

/// The keys of a record with their lists: `key=value=value,key=…`, where a backslash makes the next character plain.
fn record(text: &str) -> Vec<(&str, Vec<String>)> {
    let mut fields = Vec::new();
    let (mut start, mut escaped) = (0, false);
    let mut parts = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    for part in parts {
        let Some((key, mut rest)) = part.split_once('=') else { continue };
        let mut values = vec![String::new()];
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            let last = values.len() - 1;
            match c {
                '=' => values.push(String::new()),
                '\\' => {
                    let Some(c) = rest.chars().next() else { break };
                    rest = &rest[c.len_utf8()..];
                    values[last].push(if c == 'n' { '\n' } else { c });
                }
                c => values[last].push(c),
            }
        }
        fields.push((key, values));
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_lists_with_escapes() {
        let fields = record(r"__rec=ctx,ref=1=2,data=a\,b\=c=d\\");
        let expected = [("__rec", vec!["ctx"]), ("ref", vec!["1", "2"]), ("data", vec!["a,b=c", "d\\"])];
        for ((key, values), (expected_key, expected_values)) in fields.iter().zip(expected) {
            assert_eq!((*key, values.iter().map(String::as_str).collect::<Vec<_>>()), (expected_key, expected_values));
        }
    }
}
