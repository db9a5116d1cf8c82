//! `anchor.xml` of a Cube profile: its metrics, regions, call tree and number of locations.

use std::collections::HashMap;
use std::io::{BufRead, Read};

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use crate::formats::error::{Place, ReadError};
use crate::formats::source::unpacked;

/// A metric as the file declares it.
#[derive(Clone, Debug, Default)]
pub(super) struct MetricDeclaration {
    pub id: u32,
    pub name: String,
    pub data_type: String,
    pub unit: String,
    /// How it is stored: inclusive, exclusive, or derived, which is not stored.
    pub kind: String,
}

/// A node of the call tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallNode {
    pub parent: Option<u32>,
    pub region: u32,
}

/// The content of an anchor.
#[derive(Debug, Default)]
pub(super) struct Anchor {
    pub metrics: Vec<MetricDeclaration>,
    /// Names by the region's number.
    pub regions: HashMap<u32, String>,
    /// The call tree in the order of the file, which is depth first.
    pub nodes: Vec<CallNode>,
    /// Callees of each node.
    pub callees: Vec<Vec<u32>>,
    pub locations: u32,
    /// Groups of locations that are processes; 0 where the file tells of no kinds.
    pub processes: u32,
}

/// Reads an anchor, which may be compressed with gzip.
pub(super) fn read(place: &str, bytes: &[u8]) -> Result<Anchor, ReadError> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let text = unpacked(flate2::read::MultiGzDecoder::new(bytes), bytes.len() as u64);
        let text = text.map_err(|what| ReadError::malformed(Place::file(place), format!("it {what}")))?;
        return parse(place, &text[..]);
    }
    parse(place, bytes)
}

/// Where in the anchor the parser is.
#[derive(Default)]
struct State {
    anchor: Anchor,
    /// Names of the elements that are open.
    open: Vec<String>,
    /// Metrics that are open, as indices.
    metrics: Vec<usize>,
    region: Option<(u32, String)>,
    /// Call-tree nodes that are open.
    nodes: Vec<u32>,
    /// The kind of the group of locations that is open.
    group: String,
}

fn parse(place: &str, from: impl BufRead) -> Result<Anchor, ReadError> {
    let mut xml = Reader::from_reader(Counted { inner: from, line: 1 });
    let mut state = State::default();
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        let event = xml.read_event_into(&mut buffer);
        let line = xml.get_ref().line;
        let wrong = |what: String| {
            let place = Place { file: place.to_owned(), line: Some(line), column: None };
            ReadError::malformed(place, what).advice("The profile is damaged; copy or measure it again")
        };
        match event.map_err(|error| wrong(format!("this is no valid XML: {error}")))? {
            Event::Start(element) => state.start(&element).map_err(wrong)?,
            Event::Empty(element) => {
                state.start(&element).map_err(wrong)?;
                state.end();
            }
            Event::Text(text) => state.text(&text),
            Event::CData(text) => state.text(&text),
            Event::GeneralRef(reference) => {
                let character = reference.resolve_char_ref().ok().flatten().map(String::from);
                let known = || quick_xml::escape::resolve_predefined_entity(&reference).map(str::to_owned);
                let text = character.or_else(known);
                state.text(&text.ok_or_else(|| wrong(format!("the entity `{}` is unknown", &*reference)))?);
            }
            Event::End(_) => state.end(),
            Event::Eof if state.open.is_empty() => break,
            Event::Eof => return Err(wrong("the file ends inside an element".into())),
            Event::Comment(_) | Event::PI(_) | Event::Decl(_) | Event::DocType(_) => {}
        }
    }
    if state.anchor.nodes.is_empty() || state.anchor.locations == 0 {
        return Err(ReadError::malformed(Place::file(place), "it holds no call tree, or no locations")
            .expected("a Cube 4 profile"));
    }
    Ok(state.anchor)
}

impl State {
    fn start(&mut self, element: &BytesStart) -> Result<(), String> {
        let name = element.name().as_ref().to_owned();
        match name.as_str() {
            "metric" => {
                let metric = MetricDeclaration {
                    id: number(element, "id")?,
                    kind: attribute(element, "type").unwrap_or_default(),
                    ..MetricDeclaration::default()
                };
                self.metrics.push(self.anchor.metrics.len());
                self.anchor.metrics.push(metric);
            }
            "region" => self.region = Some((number(element, "id")?, String::new())),
            "cnode" => {
                let id = self.anchor.nodes.len() as u32;
                let parent = self.nodes.last().copied();
                self.anchor.nodes.push(CallNode { parent, region: number(element, "calleeId")? });
                self.anchor.callees.push(Vec::new());
                if let Some(parent) = parent {
                    self.anchor.callees[parent as usize].push(id);
                }
                self.nodes.push(id);
            }
            "location" => self.anchor.locations += 1,
            _ => {}
        }
        self.open.push(name);
        Ok(())
    }

    fn text(&mut self, text: &str) {
        let [.., parent, element] = &self.open[..] else { return };
        let field = match (parent.as_str(), element.as_str()) {
            ("metric", field) => {
                let Some(&metric) = self.metrics.last() else { return };
                let metric = &mut self.anchor.metrics[metric];
                match field {
                    "uniq_name" => &mut metric.name,
                    "dtype" => &mut metric.data_type,
                    "uom" => &mut metric.unit,
                    _ => return,
                }
            }
            ("locationgroup", "type") => &mut self.group,
            ("region", "name") => match &mut self.region {
                Some((_, name)) => name,
                None => return,
            },
            _ => return,
        };
        field.push_str(text);
    }

    fn end(&mut self) {
        match self.open.pop().as_deref() {
            Some("metric") => {
                self.metrics.pop();
            }
            Some("region") => {
                if let Some((id, name)) = self.region.take() {
                    self.anchor.regions.insert(id, name.trim().to_owned());
                }
            }
            Some("cnode") => {
                self.nodes.pop();
            }
            Some("locationgroup") => {
                self.anchor.processes += u32::from(std::mem::take(&mut self.group).trim() == "process");
            }
            _ => {}
        }
    }
}

fn attribute(element: &BytesStart, key: &str) -> Option<String> {
    let found = element.try_get_attribute(key).ok()??;
    found.normalized_value(XmlVersion::Implicit1_0).ok().map(|value| value.into_owned())
}

fn number(element: &BytesStart, key: &str) -> Result<u32, String> {
    let value = attribute(element, key);
    value.as_deref().and_then(|v| v.trim().parse().ok()).ok_or_else(|| {
        let name = element.name().as_ref().to_owned();
        format!("the attribute `{key}` of `{name}` is {}", value.map_or("missing".into(), |v| format!("`{v}`")))
    })
}

/// Counts the lines that were read.
struct Counted<R> {
    inner: R,
    line: usize,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(into)?;
        self.line += into[..read].iter().filter(|&&b| b == b'\n').count();
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        if let Ok(buffer) = self.inner.fill_buf() {
            self.line += buffer[..amount.min(buffer.len())].iter().filter(|&&b| b == b'\n').count();
        }
        self.inner.consume(amount);
    }
}
