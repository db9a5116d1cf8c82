//! The data in the page: what the script draws from and what its downloads hold, compressed because thousands of call
//! paths have millions of digits.

use std::collections::HashMap;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use rayon::prelude::*;
use serde::Serialize;

use super::view::{CallPathView, Slice, View};
use crate::experiment::Experiment;

/// The whole document, schema `counterpoise/report`; `docs/report.md` specifies it.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    schema_version: u32,
    parameters: &'a [String],
    metric: String,
    unit: &'a str,
    level: f64,
    today: &'a [f64],
    target: &'a [f64],
    points: &'a [Vec<f64>],
    names: Vec<&'a str>,
    /// Caller, or -1, and name of each call path.
    callpaths: Vec<(i64, usize)>,
    layouts: Vec<LayoutView<'a>>,
    models: Vec<CallPathView<'a>>,
}

/// The points of series, how many repetitions each has, and the lines of their plots.
#[derive(Serialize)]
struct LayoutView<'a> {
    points: &'a [u32],
    repetitions: &'a [u32],
    slices: &'a [Slice],
}

/// The document as text.
pub(crate) fn json(view: &View) -> String {
    let experiment = view.experiment;
    let (names, callpaths) = tree(experiment);
    let models: Vec<_> = view.costs.models.iter().flatten().copied().collect();
    let layouts = experiment.layouts.iter().zip(&view.slices);
    let document = Document {
        schema: "counterpoise/report",
        schema_version: 1,
        parameters: &experiment.parameters,
        metric: view.metric_text(view.costs.metric),
        unit: view.unit(),
        level: view.options.level,
        today: &view.costs.today,
        target: &view.costs.target,
        points: &experiment.points,
        names,
        callpaths,
        layouts: layouts
            .map(|(l, slices)| LayoutView { points: &l.points, repetitions: &l.repetitions, slices })
            .collect(),
        models: models.par_iter().map(|model| view.callpath(model)).collect(),
    };
    // Numbers that are not finite become null; nothing else can fail.
    serde_json::to_string(&document).unwrap_or_default()
}

/// The distinct names, and the call tree over them.
fn tree(experiment: &Experiment) -> (Vec<&str>, Vec<(i64, usize)>) {
    let mut names: Vec<&str> = Vec::new();
    let mut ids: HashMap<&str, usize> = HashMap::new();
    let callpaths = experiment.callpaths.iter().map(|callpath| {
        let id = *ids.entry(&callpath.name).or_insert_with(|| {
            names.push(&callpath.name);
            names.len() - 1
        });
        (callpath.parent.map_or(-1, i64::from), id)
    });
    let callpaths = callpaths.collect();
    (names, callpaths)
}

/// `text` deflated, in letters that need no escaping in HTML.
pub(crate) fn packed(text: &str) -> String {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    let bytes = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish()).unwrap_or_default();
    base64(&bytes)
}

/// Base64 of RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for letter in 0..4 {
            let index = (bits >> (18 - 6 * letter)) & 63;
            text.push(if letter <= chunk.len() { LETTERS[index as usize] as char } else { '=' });
        }
    }
    text
}

/// A link's address that holds `text` as a file, for people who have no scripts.
pub(crate) fn address(kind: &str, text: &str) -> String {
    let mut address = format!("data:{kind};charset=utf-8,");
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => address.push(byte as char),
            b',' | b'.' | b'-' | b'_' | b'*' | b'/' | b'(' | b')' => address.push(byte as char),
            _ => {
                use std::fmt::Write as _;
                let _ = write!(address, "%{byte:02X}");
            }
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        // RFC 4648, section 10.
        let vectors =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")];
        for (plain, encoded) in vectors {
            assert_eq!(base64(plain.as_bytes()), encoded);
        }
        assert_eq!(base64(&[0xfb, 0xff]), "+/8=");
    }

    #[test]
    fn addresses_hold_what_could_end_them() {
        assert_eq!(address("text/csv", "a,\"b\"\n#%é"), "data:text/csv;charset=utf-8,a,%22b%22%0A%23%25%C3%A9");
    }
}
