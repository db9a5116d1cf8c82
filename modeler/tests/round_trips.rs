//! What is written is read again, and no input makes a reader panic.

use std::path::Path;

use modeler::experiment::{Metric, OverRanks};
use modeler::formats::{self, Format, ReadOptions};
use modeler::{Experiment, ExperimentBuilder};
use proptest::prelude::*;

/// An experiment with all that the columns can hold: a call tree, metrics over ranks, ragged series, repetitions.
fn experiments(names: &'static str) -> impl Strategy<Value = Experiment> {
    let coordinate = prop_oneof![1.0..1e6f64, (1u32..5000).prop_map(f64::from), Just(0.1)];
    let points = prop::collection::vec(prop::collection::vec(coordinate, 2), 1..6);
    let value = prop_oneof![any::<f64>().prop_filter("finite", |x| x.is_finite()), Just(0.0), 0.0..1e12f64];
    let record = (0..5usize, 0..4usize, 0..6usize, prop::collection::vec(value, 1..4));
    let callpaths = prop::collection::vec((any::<prop::sample::Index>(), any::<bool>(), names), 5);
    (points, callpaths, prop::collection::vec(record, 1..40)).prop_map(|(points, callpaths, records)| {
        let mut builder = ExperimentBuilder::new(["p", "n"]);
        let mut ids = Vec::new();
        for (parent, is_root, name) in &callpaths {
            let parent = if ids.is_empty() || *is_root { None } else { Some(ids[parent.index(ids.len())]) };
            ids.push(builder.callee(parent, name));
        }
        let over_ranks = [None, Some(OverRanks::Mean), Some(OverRanks::Maximum), Some(OverRanks::Sum)];
        let names = [("visits", ""), ("time", "s"), ("time", "s"), ("bytes_sent", "bytes")];
        let metrics: Vec<u32> = (0..4)
            .map(|i| {
                let (name, unit) = names[i];
                builder.metric(Metric { name: name.into(), unit: unit.into(), over_ranks: over_ranks[i] })
            })
            .collect();
        for (callpath, metric, point, values) in records {
            let point = builder.point(&points[point % points.len()]);
            for value in values {
                builder.add(ids[callpath], metrics[metric], point, value);
            }
        }
        builder.finish()
    })
}

fn write(experiment: &Experiment, format: Format) -> Vec<u8> {
    let mut bytes = Vec::new();
    formats::write(experiment, format, &mut bytes).unwrap();
    bytes
}

fn read(bytes: Vec<u8>) -> Experiment {
    let input = formats::read_bytes("written", bytes, &ReadOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    let codes: Vec<&str> = input.warnings.iter().map(|warning| warning.code).collect();
    assert_eq!(codes, odd_values(&input.experiment), "{:?}", input.warnings);
    input.experiment
}

/// What is told of an experiment's values: that some are negative, that some are too large, and that times are zero.
fn odd_values(e: &Experiment) -> Vec<&'static str> {
    let values = |series| e.measurements(series).flat_map(|(_, values)| values).copied().collect::<Vec<f64>>();
    let is_time = |metric: u32| e.metrics[metric as usize].unit == "s";
    let negative = e.series.iter().any(|series| values(series).iter().any(|&value| value < 0.0));
    let zero = e.series.iter().any(|series| is_time(series.metric) && values(series).contains(&0.0));
    let huge = e.series.iter().any(|series| values(series).iter().any(|&value| value > 1e150));
    [negative.then_some("W001"), huge.then_some("W001"), zero.then_some("W002")].into_iter().flatten().collect()
}

/// Call path, metric, and the bits of coordinates and values.
type Row = (Vec<String>, String, Vec<u64>, Vec<u64>);

/// All measurements by names alone, sorted: what must survive in formats without units and reductions.
fn content(e: &Experiment, metric_name: impl Fn(&Metric) -> String) -> Vec<Row> {
    let bits = |numbers: &[f64]| numbers.iter().map(|x| (x + 0.0).to_bits()).collect::<Vec<_>>();
    let mut rows = Vec::new();
    for series in &e.series {
        let path: Vec<String> = e.path(series.callpath).into_iter().map(str::to_owned).collect();
        let metric = metric_name(&e.metrics[series.metric as usize]);
        for (point, values) in e.measurements(series) {
            rows.push((path.clone(), metric.clone(), bits(point), bits(values)));
        }
    }
    rows.sort();
    rows
}

/// The documented names in formats that know no ranks.
fn exported(metric: &Metric) -> String {
    match metric.over_ranks {
        Some(OverRanks::Maximum) => format!("max_{}", metric.name),
        Some(OverRanks::Sum) => format!("sum_{}", metric.name),
        _ => metric.name.clone(),
    }
}

proptest! {
    #[test]
    fn our_own_json_keeps_everything(e in experiments("[ -~é→\\n]{0,12}")) {
        let again = read(write(&e, Format::Experiment));
        prop_assert_eq!(&again.parameters, &e.parameters);
        prop_assert_eq!(&again.points, &e.points);
        prop_assert_eq!(&again.callpaths, &e.callpaths);
        prop_assert_eq!(&again.metrics, &e.metrics);
        prop_assert_eq!(&again.layouts, &e.layouts);
        prop_assert_eq!(&again.series, &e.series);
        let bits = |e: &Experiment| e.values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&again), bits(&e));
    }

    /// Names here may contain arrows and quotes.
    #[test]
    fn json_lines_keep_names_points_and_values(e in experiments("([ -~é→\\n]|->|operator->){1,8}")) {
        let again = read(write(&e, Format::ExtraPJsonLines));
        prop_assert_eq!(content(&again, |m| m.name.clone()), content(&e, exported));
    }

    #[test]
    fn text_keeps_what_it_accepts_and_refuses_what_it_cannot_hold(e in experiments("[ -~é]{1,8}")) {
        let mut bytes = Vec::new();
        let complete = e.series.iter().all(|s| e.layouts[s.layout as usize].points.len() == e.points.len());
        match formats::write(&e, Format::ExtraPText, &mut bytes) {
            Ok(()) => {
                prop_assert!(complete);
                prop_assert_eq!(content(&read(bytes), |m| m.name.clone()), content(&e, exported));
            }
            Err(error) => prop_assert!(bytes.is_empty() && error.to_string().contains("extrap"), "{}", error),
        }
    }

    #[test]
    fn every_format_of_extra_p_keeps_all_measurements(e in experiments("[a-z][a-z0-9 \\t\"\u{e9}()]{0,6}[a-z]")) {
        for format in [Format::ExtraPJson, Format::ExtraPJsonNumbered, Format::Talpas, Format::ExtraPArchive] {
            let names = |m: &Metric| exported(m);
            let written = read(write(&e, format));
            prop_assert_eq!(content(&written, |m| m.name.clone()), content(&e, names), "{}", format);
        }
    }

    #[test]
    fn csv_has_a_row_for_each_value(e in experiments("[a-z,\"]{1,6}")) {
        let text = String::from_utf8(write(&e, Format::Csv)).unwrap();
        let rows: Vec<Vec<String>> = text.lines().map(fields).collect();
        prop_assert_eq!(&rows[0].join(" "), "p n callpath metric over_ranks unit repetition value");
        prop_assert_eq!(rows.len() - 1, e.values.len());
        for (row, value) in rows[1..].iter().zip(&e.values) {
            prop_assert_eq!(row.len(), 8, "{:?}", row);
            prop_assert_eq!(row[7].parse::<f64>().unwrap(), *value);
        }
    }

    #[test]
    fn random_bytes_never_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), format in 0..Format::ALL.len()) {
        let forced = ReadOptions { format: Some(Format::ALL[format].0), ..ReadOptions::default() };
        let _ = formats::read_bytes("random", bytes.clone(), &forced);
        let _ = formats::read_bytes("random", bytes, &ReadOptions::default());
    }

    /// Real files with a few bytes changed, removed or doubled get much deeper than random bytes.
    #[test]
    fn damaged_files_never_make_a_reader_panic(
        file in 0..FILES.len() + 2,
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..4u8, any::<u8>()), 1..6),
    ) {
        let mut bytes = sample(file);
        for (place, action, byte) in changes {
            let at = place.index(bytes.len().max(1)).min(bytes.len().saturating_sub(1));
            match action {
                _ if bytes.is_empty() => break,
                0 => bytes[at] = byte,
                1 => { bytes.remove(at); }
                2 => bytes.insert(at, b"\"{}[]:,;-> 0e"[byte as usize % 13]),
                _ => bytes.truncate(at),
            }
        }
        if let Err(error) = formats::read_bytes("damaged", bytes, &ReadOptions::default()) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}

/// Files whose bytes are damaged on purpose.
const FILES: [&str; 14] = [
    "relearn2p/relearn_data.txt",
    "mpi_collectives/mpi_collectives.jsonl",
    "extrap_formats/numbered.json",
    "extrap_formats/nested.json",
    "extrap_formats/talpas.txt",
    "extrap_formats/statistics.extra-p",
    "cube/threads/example.f3/cube-example3.cubex",
    "tools/spin.n200000.folded",
    "tools/spin.n200000.pb.gz",
    "tools/simpoint/work.n24.bb",
    "tools/mpip/ring.p4.n2000.r1/ring.mpiP",
    "tools/google_benchmark.json",
    "tools/hyperfine.json",
    "cube/matrix/mm.x1y1z1.r1/profile.cubex",
];

/// The beginning of a shipped file, so that mutation hits what matters; archives and columns whole.
fn sample(index: usize) -> Vec<u8> {
    let file =
        |name: &str| std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets").join(name)).unwrap();
    match FILES.get(index) {
        Some(name) if name.ends_with("txt") || name.ends_with("jsonl") => file(name).into_iter().take(1500).collect(),
        Some(name) => file(name),
        None if index == FILES.len() => write(&read(file("relearn2p/relearn_data.txt")), Format::Experiment),
        None => write(&read(file("extrap_formats/nested.json")), Format::Experiment),
    }
}

/// The fields of a line of comma-separated values, by RFC 4180.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => field.extend(characters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    fields.push(field);
    fields
}

#[test]
fn a_format_that_is_only_read_is_not_written() {
    let error = formats::write(&Experiment::default(), Format::Runs, &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("extrap-jsonl"), "{error}");
}
