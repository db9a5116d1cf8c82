//! Extra-P JSON Lines and its relative TaLPas: one measurement per line.
//!
//! `{"params":{"p":4,"n":100},"callpath":"main->solve","metric":"time","value":1.5}`; `callpath` and `metric` may be
//! left out, `value` may be an array of repetitions. TaLPas names the coordinates `parameters` and separates members
//! with `;`.

use super::collect::Collector;
use super::error::ReadError;
use super::json::{first_object_keys, is_json_object};
use super::record::{self, Dialect};
use super::source::Source;
use super::{Detection, Format, Reader};

/// Reads Extra-P JSON Lines.
pub(crate) struct JsonLines;

/// Reads TaLPas.
pub(crate) struct Talpas;

impl Reader for JsonLines {
    fn format(&self) -> Format {
        Format::ExtraPJsonLines
    }

    fn detect(&self, source: &Source) -> Detection {
        detect(source, "params")
    }

    fn read(&self, source: Source, into: &mut Collector) -> Result<(), ReadError> {
        record::read(source, &Dialect { parameters: "params", semicolons: false }, into)
    }
}

impl Reader for Talpas {
    fn format(&self) -> Format {
        Format::Talpas
    }

    fn detect(&self, source: &Source) -> Detection {
        match source.head() {
            // The newer Extra-P JSON has `parameters` as well.
            Some((head, _)) if first_object_keys(head).iter().any(|k| k == "measurements") => {
                Detection::no("its first object has the key `measurements`")
            }
            _ => detect(source, "parameters"),
        }
    }

    fn read(&self, source: Source, into: &mut Collector) -> Result<(), ReadError> {
        record::read(source, &Dialect { parameters: "parameters", semicolons: true }, into)
    }
}

/// Yes where the first object has the key `parameters` and `value`.
fn detect(source: &Source, parameters: &str) -> Detection {
    let Some((head, complete)) = source.head() else { return Detection::no("it is a folder") };
    if !is_json_object(head) {
        return Detection::no("it does not begin with `{`");
    }
    let keys = first_object_keys(head);
    let has = |key: &str| keys.iter().any(|k| k == key);
    if !has(parameters) {
        Detection::no(&format!("its first object has no key `{parameters}`"))
    } else if has("value") || parameters == "params" {
        Detection::Yes
    } else if complete {
        Detection::no("its first object has no key `value`")
    } else {
        Detection::CannotTell("its first object is very long".into())
    }
}
