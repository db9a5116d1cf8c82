//! Which formats an input that no reader knows is nearest to: what people are told first, out of more than twenty reasons.

use super::Format;
use super::source::Source;

/// So many formats are told of; the others only when asked for.
pub(super) const TOLD: usize = 3;

/// What a file is made of, as far as its first bytes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Matter {
    Folder,
    Json,
    Text,
    Bytes,
}

impl Matter {
    fn of(source: &Source) -> Self {
        let Some((head, _)) = source.head() else { return Self::Folder };
        let is_text = !head.contains(&0) && head.iter().filter(|b| **b >= 0x80).count() * 4 <= head.len();
        match head.iter().find(|b| !b.is_ascii_whitespace()) {
            Some(b'{' | b'[') => Self::Json,
            _ if is_text => Self::Text,
            _ => Self::Bytes,
        }
    }

    /// The formats of this matter, those that most people have first.
    fn formats(self) -> &'static [Format] {
        match self {
            Self::Folder => &[Format::Runs, Format::Cubex, Format::Criterion, Format::HpcToolkit, Format::Tau],
            Self::Json => &[Format::ExtraPJsonLines, Format::ExtraPJson, Format::Experiment, Format::CaliperJson],
            Self::Text => &[Format::ExtraPText, Format::Csv, Format::Folded],
            Self::Bytes => &[Format::Cubex, Format::ExtraPArchive, Format::Runs, Format::Pprof],
        }
    }
}

/// What an ending of a file's name promises.
fn promised(name: &str) -> Option<Format> {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase())?;
    Some(match ending.as_str() {
        "cubex" => Format::Cubex,
        "extra-p" => Format::ExtraPArchive,
        "jsonl" => Format::ExtraPJsonLines,
        "cali" => Format::Cali,
        "mpip" => Format::MpiP,
        "csv" | "tsv" => Format::Csv,
        "pb" | "pprof" | "gz" => Format::Pprof,
        "folded" | "collapsed" => Format::Folded,
        "bb" => Format::SimPoint,
        "poise" => Format::Runs,
        _ => return None,
    })
}

/// The formats that `source` is nearest to, the nearest first.
pub(super) fn nearest(source: &Source) -> Vec<Format> {
    let mut nearest: Vec<Format> = promised(&source.name).into_iter().collect();
    for &format in Matter::of(source).formats() {
        if !nearest.contains(&format) {
            nearest.push(format);
        }
    }
    nearest.truncate(TOLD);
    nearest
}
