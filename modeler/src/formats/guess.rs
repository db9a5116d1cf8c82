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

/// The file by which a database of HPCToolkit from before version 4 is known.
pub(super) const OLD_DATABASE: &str = "experiment.xml";

/// Whether a file's first bytes are those of HDF5, as which gem5 can write its statistics.
pub(super) fn is_hdf5(head: &[u8]) -> bool {
    head.starts_with(b"\x89HDF\r\n\x1a\n")
}

/// What `head` begins, if that is a format that its own tools turn into one that is read: its name, and how.
pub(super) fn convertible(head: &[u8]) -> Option<(&'static str, &'static str)> {
    // Five words: none, then how many the header still has, the version, the microseconds between samples, and padding.
    let words = |size: usize| -> Vec<&[u8]> { head.chunks_exact(size).take(5).collect() };
    let is = |word: &[u8], value: u8| word[0] == value && word[1..].iter().all(|&b| b == 0);
    let is_cpu_profile = |size| {
        matches!(words(size)[..], [none, more, version, period, padding]
        if is(none, 0) && is(more, 3) && is(version, 0) && !is(period, 0) && is(padding, 0))
    };
    if is_cpu_profile(8) || is_cpu_profile(4) {
        return Some(("gperftools' CPU profile", "Convert it with pprof -proto PROGRAM FILE > FILE.pb.gz"));
    }
    if head.starts_with(b"PERFILE2") {
        return Some((
            "perf's recording",
            "Fold its stacks: perf script -i FILE | stackcollapse-perf.pl > FILE.folded",
        ));
    }
    if is_hdf5(head) {
        return Some(("HDF5", "If gem5 wrote it, let it write text instead, with --stats-file=stats.txt"));
    }
    let text = String::from_utf8_lossy(head);
    let is_old_database =
        ["<HPCToolkitExperiment ", "<!DOCTYPE hpc-experiment"].iter().any(|begin| text.contains(begin));
    if is_old_database || head.starts_with(b"HPCPROF-metricdb") {
        return Some((
            "a database of HPCToolkit from before version 4 (experiment.xml and *.metric-db)",
            "Make one of version 4 from the measurements, with the hpcprof of a release from 2023 or later, and give its folder",
        ));
    }
    let is_benchmarks = |line: &str| line.starts_with("name,iterations,real_time,cpu_time,time_unit,");
    text.lines().any(is_benchmarks).then_some((
        "Google Benchmark's CSV, in which arguments are parts of names",
        "Write JSON instead, with --benchmark_out=FILE --benchmark_out_format=json",
    ))
}

/// What an ending of a file's name promises.
fn promised(name: &str) -> Option<Format> {
    let ending =
        name.strip_suffix(".gz").unwrap_or(name).rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase())?;
    Some(match ending.as_str() {
        "cubex" => Format::Cubex,
        "extra-p" => Format::ExtraPArchive,
        "jsonl" => Format::ExtraPJsonLines,
        "cali" => Format::Cali,
        "mpip" => Format::MpiP,
        "csv" | "tsv" => Format::Csv,
        "pb" | "pprof" => Format::Pprof,
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
