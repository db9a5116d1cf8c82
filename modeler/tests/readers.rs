//! The readers against the shipped data sets, hand-made inputs that are wrong, and runs written here.

use std::path::{Path, PathBuf};

use modeler::experiment::OverRanks;
use modeler::formats::{self, ErrorKind, Format, Input, ReadError, ReadOptions};

fn dataset(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets").join(path)
}

fn read_file(path: &Path) -> Input {
    formats::read(&[path.to_owned()], &ReadOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn read_text(text: &str) -> Result<Input, ReadError> {
    formats::read_bytes("input", text.as_bytes().to_vec(), &ReadOptions::default())
}

fn error(text: &str) -> ReadError {
    read_text(text).map(|i| i.experiment).expect_err(text)
}

/// Values of the only metric `metric` at the call path `path`, point by point.
fn values(input: &Input, path: &str, metric: &str) -> Vec<(Vec<f64>, Vec<f64>)> {
    let e = &input.experiment;
    let found =
        e.series.iter().find(|s| e.path(s.callpath).join("->") == path && e.metrics[s.metric as usize].name == metric);
    let series = found.unwrap_or_else(|| panic!("no {metric} at {path}"));
    e.measurements(series).map(|(point, values)| (point.to_vec(), values.to_vec())).collect()
}

/// Each line of the summaries that an independent program computed.
#[test]
fn data_sets_read_as_an_independent_parser_reads_them() {
    let mut checked = 0;
    for folder in ["relearn2p", "mpi_collectives", "ls1_mardyn", "extrap_formats"] {
        let summary = std::fs::read_to_string(dataset(folder).join("summary.tsv")).unwrap();
        for line in summary.lines().skip(1) {
            let fields: Vec<&str> = line.split('\t').collect();
            let [file, callpath, metric, rest @ ..] = fields.as_slice() else { panic!("{line}") };
            let numbers: Vec<f64> = rest.iter().map(|n| n.parse().unwrap()).collect();
            let input = read_file(&dataset(folder).join(file));
            let read = values(&input, callpath, metric);
            let all: Vec<f64> = read.iter().flat_map(|(_, v)| v.iter().copied()).collect();
            let sum: f64 = all.iter().sum();
            assert_eq!((read.len() as f64, all.len() as f64), (numbers[0], numbers[1]), "{folder}/{line}");
            assert!((sum - numbers[2]).abs() <= 1e-12 * numbers[2].abs(), "{folder}/{line}: {sum}");
            assert_eq!(all.iter().copied().fold(f64::INFINITY, f64::min), numbers[3], "{folder}/{line}");
            assert_eq!(all.iter().copied().fold(f64::NEG_INFINITY, f64::max), numbers[4], "{folder}/{line}");
            checked += 1;
        }
    }
    assert_eq!(checked, 14 + 28 + 1 + 27);
}

#[test]
fn formats_are_told_apart_by_content() {
    let expected = [
        ("relearn2p/relearn_data.txt", Format::ExtraPText),
        ("mpi_collectives/mpi_collectives.jsonl", Format::ExtraPJsonLines),
        ("extrap_formats/numbered.json", Format::ExtraPJson),
        ("extrap_formats/nested.json", Format::ExtraPJson),
        ("extrap_formats/talpas.txt", Format::Talpas),
        ("extrap_formats/statistics.extra-p", Format::ExtraPArchive),
    ];
    for (path, format) in expected {
        assert_eq!(read_file(&dataset(path)).format, format, "{path}");
    }
}

/// The numbers here were copied from the files by hand.
#[test]
fn values_are_where_they_belong() {
    let relearn = read_file(&dataset("relearn2p/relearn_data.txt"));
    assert_eq!(relearn.experiment.parameters, ["p", "n"]);
    let main = values(&relearn, "main()", "time");
    assert_eq!(main[0], (vec![32.0, 5000.0], vec![406.498, 405.58]));
    assert_eq!(main[5], (vec![64.0, 5000.0], vec![574.5, 574.589]));

    let numbered = read_file(&dataset("extrap_formats/numbered.json"));
    // The file lists y before x, and the first point's y before its x.
    assert_eq!(numbered.experiment.parameters, ["x", "y"]);
    assert_eq!(numbered.experiment.points[0], [4.0, 10.0]);

    let archive = read_file(&dataset("extrap_formats/statistics.extra-p"));
    assert_eq!(values(&archive, "merge", "time")[0], (vec![20.0, 1.0], vec![0.998632604831951]));
    assert_eq!(archive.warnings.iter().map(|w| w.code).collect::<Vec<_>>(), ["W102", "W103"]);

    let tree = read_file(&dataset("extrap_formats/call_tree.txt"));
    let e = &tree.experiment;
    let leaf = e.callpaths.iter().position(|c| c.name == "comp1").unwrap();
    assert_eq!(e.path(leaf as u32), ["main", "merge", "comp1"]);
}

/// The published CSV says what the conversion must hold.
#[test]
fn the_conversion_of_ls1_holds_the_published_times() {
    let input = read_file(&dataset("ls1_mardyn/ls1.jsonl"));
    let csv = std::fs::read_to_string(dataset("ls1_mardyn/ls1-bench1.csv")).unwrap();
    let mut rows = 0;
    for row in csv.lines().skip(1).filter(|row| !row.trim().is_empty()) {
        let field = |i: usize| row.split(',').nth(i).unwrap().parse::<f64>().unwrap();
        let point = vec![field(1), field(2)];
        let at = values(&input, "ls1", "time").into_iter().find(|(p, _)| *p == point).unwrap();
        assert_eq!(at.1[field(3) as usize - 1], field(4), "{row}");
        rows += 1;
    }
    assert_eq!(rows, 125);
}

/// The example of `docs/formats.md` is what the reader reads.
#[test]
fn the_specifications_example_of_an_experiment_is_valid() {
    let specification = include_str!("../../docs/formats.md");
    let start = specification.find("{\"schema\": \"counterpoise/experiment\"").unwrap();
    let length = specification[start..].find("```").unwrap();
    let input = read_text(&specification[start..start + length]).unwrap();
    let expected = [(vec![2.0, 100.0], vec![1.5, 1.6]), (vec![4.0, 100.0], vec![2.9])];
    assert_eq!(values(&input, "main->solve", "time"), expected);
    assert_eq!(input.experiment.metrics[0].over_ranks, Some(OverRanks::Mean));
}

/// One change to an experiment's columns at a time.
#[test]
fn columns_that_do_not_fit_together_are_refused_at_their_place() {
    let good = r#"{"schema":"counterpoise/experiment","schema_version":1,"parameters":["p"],"points":[[1],[2]],
"metrics":[{"name":"time"}],"callpaths":[{"name":"a"},{"parent":0,"name":"b"}],
"layouts":[{"points":[0,1],"repetitions":[1,1]}],
"series":{"callpath":[1],"metric":[0],"layout":[0]},
"values":[1,2]}"#;
    assert!(read_text(good).is_ok());
    let cases = [
        ("[[1],[2]]", "[[1],[2,3]]", "input:1:89", "this point has 2 coordinates"),
        ("\"parent\":0", "\"parent\":1", "input:2:65", "the caller does not stand before its callee"),
        ("\"points\":[0,1]", "\"points\":[0,2]", "input:3:12", "the index 2 is out of range"),
        ("\"repetitions\":[1,1]", "\"repetitions\":[1]", "input:3:12", "differ in length"),
        ("\"metric\":[0]", "\"metric\":[1]", "input:4:36", "the index 1 is out of range"),
        ("\"layout\":[0]", "\"layout\":[0,0]", "input:4:48", "this column has 2 entries"),
        ("[1,2]}", "[1,2,3]}", "input:5:15", "1 value is left over"),
        ("[1,2]}", "[1]}", "input:5:10", "need more than the 1 value that is here"),
        ("\"schema_version\":1", "\"schema_version\":2", "input:1:54", "version 2"),
        ("[[1],[2]]", "[[1],[1]]", "input:1:89", "this point stands here twice; expected each point once"),
        ("\"parent\":0", "\"parnet\":0", "input:2:63", "unknown field `parnet`"),
        ("\"name\":\"time\"", "\"name\":\"time\",\"rounding\":-0.1", "input:2:38", "the rounding is -0.1; expected"),
        ("\"callpath\":[1]", "\"callpath\":[-1]", "input:4:24", "expected a whole number that is not negative"),
        ("[1,2]}", "[1,\"2\"]}", "input:5:15", "expected a number"),
        ("[1,2]}", "3}", "input:5:10", "expected an array"),
    ];
    for (old, new, place, what) in cases {
        let error = error(&good.replacen(old, new, 1));
        assert!(error.to_string().contains(what), "{new}: {error}");
        assert_eq!(error.place.to_string(), place, "{new}: {error}");
    }
    // Of another version nothing else is told.
    let newer = good.replacen("\"schema_version\":1", "\"schema_version\":2,\"regions\":[]", 1);
    assert!(error(&newer).what.contains("version 2"), "{}", error(&newer));
}

#[test]
fn names_and_metrics_that_are_missing_get_extra_ps_placeholders() {
    let input = read_text("{\"params\":{\"x\":1},\"value\":2}\n{\"params\":{\"x\":2},\"value\":[3,4]}\n").unwrap();
    assert_eq!(values(&input, "<root>", "<default>"), [(vec![1.0], vec![2.0]), (vec![2.0], vec![3.0, 4.0])]);
}

#[test]
fn points_that_stand_twice_are_repetitions_and_their_order_is_kept() {
    let text = "PARAMETER p\nPOINTS 4 2 4\nMETRIC time\nREGION main\nDATA 1\nDATA 2\nDATA 3\n";
    assert_eq!(
        values(&read_text(text).unwrap(), "main", "time"),
        [(vec![2.0], vec![2.0]), (vec![4.0], vec![1.0, 3.0])]
    );
}

/// How ranks differ is no noise, so who gives their values as repetitions is told.
#[test]
fn as_many_values_as_ranks_are_told() {
    let codes = |counts: [usize; 4]| -> Vec<&str> {
        let line = |(p, count): (usize, usize)| {
            let values: Vec<String> = (1..=count).map(|rank| format!("{}.5", p * rank)).collect();
            format!(
                "{{\"params\":{{\"n\":9,\"p\":{p}}},\"callpath\":\"main\",\"metric\":\"time\",\"value\":[{}]}}\n",
                values.join(",")
            )
        };
        let text: String = [1, 4, 8, 27].into_iter().zip(counts).map(line).collect();
        read_text(&text).unwrap().warnings.iter().map(|warning| warning.code).collect()
    };
    assert_eq!(codes([1, 4, 8, 27]), ["W112"]);
    assert_eq!(codes([1, 4, 8, 26]), [""; 0]);
    assert_eq!(codes([5, 5, 5, 5]), [""; 0]);
}

#[test]
fn parameters_may_come_in_another_order_on_another_line() {
    let text = "{\"params\":{\"p\":1,\"n\":9},\"value\":1}\n{\"params\":{\"n\":8,\"p\":2},\"value\":5}\n";
    assert_eq!(values(&read_text(text).unwrap(), "<root>", "<default>")[1], (vec![2.0, 8.0], vec![5.0]));
}

#[test]
fn an_arrow_operator_is_part_of_a_name() {
    let text = "{\"params\":{\"p\":1},\"callpath\":\"main->It::operator->->get\",\"value\":1}\n\
                {\"params\":{\"p\":1},\"callpath\":[\"main\",\"f()->int\"],\"value\":1}\n";
    let e = read_text(text).unwrap().experiment;
    assert_eq!(e.path(e.series[0].callpath), ["main", "It::operator->", "get"]);
    assert_eq!(e.path(e.series[1].callpath), ["main", "f()->int"]);
}

/// What is wrong, where it is wrong, and the exit code.
#[test]
fn errors_name_the_place() {
    let text = |data: &str| format!("PARAMETER p\nPOINTS 1 2\nREGION r\n{data}\n");
    let cases = [
        (text("DATA 1.5 nan\nDATA 2"), "input:4:10", "`nan` is not a finite number"),
        (text("DATA 1,5\nDATA 2"), "input:4:6", "`1,5` is not a finite number"),
        (text("DATA 1\nDATA 1e999"), "input:5:6", "`1e999` is not a finite number"),
        (text("DATA 1"), "input:4:1", "the region `r` ends here with 1 DATA line for 2 points"),
        (text("DATA 1\nDATA 2\nDATA 3"), "input:6:1", "this is DATA line 3 of the region"),
        (text("VALUE 1"), "input:4:1", "`VALUE` is no keyword"),
        ("PARAMETER p q\nPOINTS ( 1 2 ) ( 3 )".into(), "input:2:16", "this point has 1 coordinate"),
        ("PARAMETER p q\nPOINTS ( 1 2".into(), "input:2:13", "a point is not closed"),
        ("PARAMETER p p\nPOINTS ( 1 2 )\nDATA 1".into(), "input:1:13", "the parameter `p` is named twice"),
        ("PARAMETER p\nPARAMETER q p".into(), "input:2:13", "the parameter `p` is named twice"),
        ("PARAMETER p q\nPOINTS ( 1 ( 2".into(), "input:2:12", "opens before the one before it was closed"),
        ("PARAMETER p\nPOINTS 1 ) 2".into(), "input:2:10", "closes a point that was not opened"),
        ("POINTS 1 2".into(), "input:1:1", "no PARAMETER line stands before POINTS"),
        ("{\"params\":{\"x\":1},\"value\":NaN}".into(), "input:1:27", ""),
        ("{\"params\":{\"x\":1},\"value\":\"7\"}".into(), "input:1:29", "invalid type: string"),
        (
            "{\"params\":{\"x\":1},\"value\":1}\n\n{\"params\":{\"y\":1},\"value\":1}".into(),
            "input:3:17",
            "`y` is not one of x",
        ),
        ("{\"params\":{\"x\":1},\"value\":1}\n{\"params\":{},\"value\":1}".into(), "input:2:12", "`x` is missing"),
        ("{\"params\":{\"x\":1,\"x\":2},\"value\":1}".into(), "input:1:23", "`x` stands here twice"),
        (
            "{\"params\":{\"x\":1},\"metric\":\"t\",\"metric\":\"u\",\"value\":1}".into(),
            "input:1:43",
            "stands here twice",
        ),
        ("{\"params\":{\"x\":1},\"value\":[]}".into(), "input:1:28", "the array of values is empty"),
        ("{\"params\":{\"x\":1},\"value\":1} x".into(), "input:1:30", "trailing characters"),
        ("{\"params\":{\"x\":1},\"value\":}".into(), "input:1:27", "no value begins here"),
        ("{\"params\":{\"x\":1},\"value\":nul}".into(), "input:1:30", "this is no word of JSON"),
        ("{\"params\":{\"x\":1} \"value\":1}".into(), "input:1:19", "this does not fit here"),
        ("{\"params\":{\"x\":1},\"value\":1,}".into(), "input:1:29", "a comma stands before the end"),
        ("{\"params\":{\"x\":1},value:1}".into(), "input:1:19", "a name is not in double quotes"),
        (
            "{\"parameters\":[\"x\"],\"measurements\":{\"a\":{\"t\":[\n{\"point\":[1],\"values\":[\"16\"]}]}}}".into(),
            "input:2:27",
            "invalid type: string \"16\"",
        ),
        (
            "{\"parameters\":[\"x\"],\"measurements\":{\"a\":{\"t\":[\n{\"point\":[[1]],\"values\":[16]}]}}}".into(),
            "input:2:1",
            "an array stands among the coordinates",
        ),
        (
            "{\"parameters\":[\"x\"],\"measurements\":{\"a\":{\"t\":[\n{\"point\":[1,2],\"values\":[1]}]}}}".into(),
            "input:2:1",
            "this point has 2 coordinates",
        ),
    ];
    for (text, place, what) in cases {
        let error = error(&text);
        assert_eq!(error.place.to_string(), place, "{text}\n{error}");
        assert!(error.what.contains(what), "{text}\n{error}");
        assert_eq!((error.kind, error.exit_code()), (ErrorKind::Malformed, 3), "{text}");
        // Not the words of a parser.
        assert!(!error.what.starts_with("expected"), "{text}\n{error}");
    }
}

/// A repetition is a number, or the mean of the numbers in an array, however deep they are; an empty one is none.
#[test]
fn values_in_arrays_of_any_depth_are_repetitions() {
    let of = |values: &str| {
        let text = format!(
            "{{\"parameters\":[\"x\"],\"measurements\":{{\"a\":{{\"t\":[{{\"point\":1,\"values\":{values}}}]}}}}}}"
        );
        formats::read_bytes("input", text.into(), &ReadOptions::default()).unwrap()
    };
    let cases: [(&str, &[f64], bool); 5] = [
        ("3", &[3.0], false),
        ("[1,2,-0.0]", &[1.0, 2.0, 0.0], false),
        ("[[1],[2]]", &[1.0, 2.0], false),
        ("[1,[2,4],[],[[6],[8,10]]]", &[1.0, 3.0, 8.0], true),
        ("[[[18446744073709551616]],5]", &[18446744073709551616.0, 5.0], false),
    ];
    for (written, values, are_means) in cases {
        let input = of(written);
        assert_eq!(input.experiment.values, values, "{written}");
        assert_eq!(input.warnings.iter().any(|warning| warning.code == "W105"), are_means, "{written}");
    }
}

#[test]
fn numbers_that_refer_to_nothing_are_named_with_their_place() {
    let text = std::fs::read_to_string(dataset("extrap_formats/numbered.json")).unwrap();
    let measurement = text.find("\"metric_id\": 1").unwrap();
    let broken = format!("{}\"metric_id\": 9{}", &text[..measurement], &text[measurement + 14..]);
    let line = text[..measurement].lines().count();
    let error = error(&broken);
    assert_eq!(error.place.line, Some(line), "{error}");
    assert!(error.what.contains("the number 9"), "{error}");
}

#[test]
fn what_no_reader_knows_is_refused_with_the_nearest_readers_reasons_and_all_are_kept() {
    assert_eq!(error("").kind, ErrorKind::NotRecognised);
    let table = error("p,n,time\n1,2,3\n");
    assert_eq!((table.kind, table.exit_code()), (ErrorKind::NotRecognised, 3));
    let reasons = &table.reasons.as_ref().unwrap().0;
    for (format, name) in Format::ALL {
        let is_read = ![Format::ExtraPJsonNumbered, Format::Parquet].contains(&format);
        assert_eq!(reasons.iter().any(|(of, _)| *of == format), is_read, "{name}: {table}");
    }
    // A table needs roles, and they are proposed; nobody wants to hear of archives and databases.
    let text = table.to_string();
    assert!(text.contains("--columns 'p=parameter,n=parameter,time=metric'") && text.lines().count() == 1, "{text}");
    let other = error("hello\n").to_string();
    assert!(other.lines().count() <= 5 && !other.contains("hpctoolkit"), "{other}");
    let first = |text: &str| error(text).to_string().lines().nth(1).unwrap().trim().to_owned();
    assert!(first("{\"a\": 1}").starts_with("extrap-jsonl: "));
    assert!(first("hello\n").starts_with("extrap: "));
    assert!(first("\0\u{1}\u{2}").starts_with("cubex: "));
}

#[test]
fn a_binary_experiment_of_extra_p_3_is_named_as_such() {
    let bytes = b"\x01\x00\x11\x00\x00\x00EXTRAP_EXPERIMENT\x03\x00\x00\x001.0".to_vec();
    let error = formats::read_bytes("old", bytes, &ReadOptions::default()).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("open it in Extra-P 4"), "{error}");
}

#[test]
fn a_valid_file_without_a_measurement_cannot_be_modelled() {
    let error = error("PARAMETER p\nPOINTS 1 2\n");
    assert_eq!((error.kind, error.exit_code()), (ErrorKind::NotModelable, 4), "{error}");
}

#[test]
fn unknown_keys_are_mentioned_once() {
    let line = "{\"params\":{\"x\":1},\"values\":[1],\"value\":2}\n";
    let input = read_text(&line.repeat(3)).unwrap();
    let warnings: Vec<String> = input.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with("input:1:1: The key `values` is unknown"), "{warnings:?}");
}

#[test]
fn several_inputs_become_one_experiment_if_they_fit() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let a = file("a", "{\"params\":{\"p\":1,\"n\":2},\"value\":1}");
    let b = file("b", "{\"params\":{\"n\":3,\"p\":4},\"value\":5}");
    let c = file("c", "{\"params\":{\"n\":3},\"value\":5}");
    let d = file("d", "PARAMETER p n\nPOINTS ( 1 2 )\nDATA 1");
    let both = formats::read(&[a.clone(), b], &ReadOptions::default()).unwrap();
    assert_eq!(both.experiment.points, [[1.0, 2.0], [4.0, 3.0]]);
    for other in [c, d] {
        let error = formats::read(&[a.clone(), other], &ReadOptions::default()).map(|_| ()).unwrap_err();
        assert_eq!(error.exit_code(), 3, "{error}");
    }
}

mod runs {
    use super::*;
    use poise_profile::{Metric, Node, OverRanks as Counts, Profile, Region, RegionKind};

    /// A run of `ranks` ranks: `main` took 1000 ns on rank 0 and 3000 ns on the last; only one rank called Allreduce.
    fn profile(ranks: u32, time: u64) -> Profile {
        let region = |name: &str, kind| Region { name: name.into(), file: "a.cc".into(), line: 1, kind };
        let counts = |ranks, sum: u64, low, high| Counts {
            ranks,
            sum: u128::from(sum),
            minimum: (low, 0),
            maximum: (high, ranks - 1),
        };
        Profile {
            metadata: [("parameter.n".to_owned(), "100".to_owned())].into(),
            ranks,
            regions: vec![
                region("main", RegionKind::Function),
                region("_ZN4grid5solveEi", RegionKind::Function),
                region("MPI_Allreduce", RegionKind::Mpi),
            ],
            nodes: vec![
                Node { parent: None, region: 0 },
                Node { parent: Some(0), region: 1 },
                Node { parent: Some(1), region: 2 },
            ],
            values: [
                ((0, Metric::Time), counts(2, 4 * time, time, 3 * time)),
                ((2, Metric::BytesSent), counts(1, 64, 64, 64)),
            ]
            .into(),
            ..Profile::default()
        }
    }

    fn record(status: &str, p: u32, n: u32, repetition: u32) -> String {
        format!(
            "{{\"schema\":\"counterpoise/run\",\"schema_version\":1,\"tool_version\":\"0.1.0\",\
             \"parameters\":{{\"p\":{p},\"n\":{n}}},\"repetition\":{repetition},\"status\":\"{status}\",\
             \"reason\":\"It was killed by signal 9.\",\"profile\":\"profile.poise\",\"host\":\"a\"}}"
        )
    }

    fn run(folder: &Path, name: &str, record: &str, profile: &Profile) {
        let folder = folder.join(name);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("run.json"), record).unwrap();
        std::fs::write(folder.join("profile.poise"), profile.encode()).unwrap();
    }

    fn of(input: &Input, path: &[&str], metric: &str, over: OverRanks) -> Vec<Vec<f64>> {
        let e = &input.experiment;
        let metric = e.metric(metric, Some(over)).unwrap();
        let series = e.series.iter().find(|s| e.path(s.callpath) == path && s.metric == metric).unwrap();
        e.measurements(series).map(|(_, values)| values.to_vec()).collect()
    }

    #[test]
    fn a_folder_of_runs_becomes_an_experiment() {
        let folder = tempfile::tempdir().unwrap();
        // Named so that the second repetition is met first.
        run(folder.path(), "a", &record("complete", 2, 10, 2), &profile(2, 2000));
        let noticed = record("complete", 2, 10, 1)
            .replace("\"host\"", "\"machine\":{\"concerns\":[\"it was loaded\"],\"load\":3},\"host\"");
        run(folder.path(), "b", &noticed, &profile(2, 1000));
        run(folder.path(), "c", &record("complete", 4, 10, 1), &profile(4, 1000));
        run(folder.path(), "d", &record("failed", 8, 10, 1), &profile(8, 1000));
        std::fs::create_dir(folder.path().join(".run-unfinished")).unwrap();
        let input = read_file(folder.path());
        assert_eq!(input.format, Format::Runs);
        assert_eq!(input.experiment.parameters, ["p", "n"]);
        assert_eq!(input.experiment.points, [[2.0, 10.0], [4.0, 10.0]]);
        // Sum 4000 ns over two ranks; at p = 4 the two ranks without the call path count as zero.
        let close = |read: Vec<Vec<f64>>, expected: &[&[f64]]| {
            assert_eq!(read.len(), expected.len());
            for (read, expected) in read.iter().zip(expected) {
                assert_eq!(read.len(), expected.len(), "{read:?}");
                assert!(
                    read.iter().zip(*expected).all(|(a, b)| (a - b).abs() <= 1e-15 * b.abs()),
                    "{read:?} {expected:?}"
                );
            }
        };
        close(of(&input, &["main"], "time", OverRanks::Mean), &[&[2e-6, 4e-6], &[1e-6]]);
        close(of(&input, &["main"], "time", OverRanks::Minimum), &[&[1e-6, 2e-6], &[0.0]]);
        close(of(&input, &["main"], "time", OverRanks::Maximum), &[&[3e-6, 6e-6], &[3e-6]]);
        close(of(&input, &["main"], "time", OverRanks::Sum), &[&[4e-6, 8e-6], &[4e-6]]);
        let allreduce = ["main", "grid::solve", "MPI_Allreduce"];
        close(of(&input, &allreduce, "bytes_sent", OverRanks::Mean), &[&[32.0, 32.0], &[16.0]]);
        let warnings: Vec<String> = input.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains("d/run.json") && warnings[0].contains("signal 9"), "{warnings:?}");
        assert_eq!(input.machine, [("b".to_owned(), "it was loaded".to_owned())]);
        // However much was exported into the folder, the runs are meant; the rest is told.
        let measured = values(&input, "main", "time");
        for i in 0..6 {
            let mut text = Vec::new();
            formats::write(&input.experiment, Format::Experiment, &mut text).unwrap();
            std::fs::write(folder.path().join(format!("export{i}.json")), text).unwrap();
        }
        let again = read_file(folder.path());
        assert_eq!((again.format, values(&again, "main", "time")), (Format::Runs, measured));
        let told = again.warnings.iter().find(|w| w.code == "W103").expect("what is left out is told").to_string();
        assert!(told.contains("left out: 6 of json (such as export0.json)"), "{told}");
    }

    #[test]
    fn a_selection_leaves_out_what_it_names() {
        let folder = tempfile::tempdir().unwrap();
        for (name, repetition, time) in [("a", 1, 1000), ("b", 2, 2000), ("c", 3, 3000)] {
            run(folder.path(), name, &record("complete", 2, 10, repetition), &profile(2, time));
        }
        let selection = |dropped: &str| {
            let text =
                format!("{{\"schema\":\"counterpoise/selection\",\"schema_version\":1,\"dropped\":[{dropped}]}}");
            std::fs::write(folder.path().join("selection.json"), text).unwrap();
        };
        selection(
            "{\"run\":\"c\",\"metrics\":\"time\",\"reason\":\"the largest\"},{\"run\":\"b\",\"metrics\":\"effort\"}",
        );
        let input = read_file(folder.path());
        assert_eq!(of(&input, &["main"], "time", OverRanks::Sum)[0].len(), 2, "the times of a and b");
        let allreduce = ["main", "grid::solve", "MPI_Allreduce"];
        assert_eq!(of(&input, &allreduce, "bytes_sent", OverRanks::Sum)[0].len(), 2, "the bytes of a and c");
        selection("{\"run\":\"c\",\"metrics\":\"tiem\"}");
        let options = ReadOptions::default();
        let refused =
            modeler::formats::read(&[folder.path().to_owned()], &options).map(|_| ()).unwrap_err().to_string();
        assert!(refused.contains("selection.json") && refused.contains("tiem"), "{refused}");
    }

    #[test]
    fn of_several_groups_of_runs_one_must_be_named() {
        let folder = tempfile::tempdir().unwrap();
        let group = |name: &str| {
            std::fs::create_dir(folder.path().join(name)).unwrap();
            run(&folder.path().join(name), "a", &record("complete", 2, 10, 1), &profile(2, 1000));
        };
        group("opt=-O2");
        assert_eq!(read_file(folder.path()).experiment.points, [[2.0, 10.0]], "the only one");
        group("opt=-O3");
        let options = ReadOptions::default();
        let refused =
            modeler::formats::read(&[folder.path().to_owned()], &options).map(|_| ()).unwrap_err().to_string();
        assert!(refused.contains("2 groups") && refused.contains("opt=-O3"), "{refused}");
        assert_eq!(read_file(&folder.path().join("opt=-O3")).experiment.points, [[2.0, 10.0]]);
    }

    #[test]
    fn one_run_and_bare_profiles_are_read_too() {
        let folder = tempfile::tempdir().unwrap();
        run(folder.path(), "only", &record("complete", 2, 10, 1), &profile(2, 1000));
        assert_eq!(read_file(&folder.path().join("only")).experiment.points, [[2.0, 10.0]]);
        // Without a record the profile's own metadata count.
        let bare = folder.path().join("x.poise");
        std::fs::write(&bare, profile(2, 1000).encode()).unwrap();
        let input = read_file(&bare);
        assert_eq!((input.experiment.parameters, input.experiment.points), (vec!["n".into()], vec![vec![100.0]]));
        let mut nameless = profile(3, 1000);
        nameless.metadata.clear();
        std::fs::write(&bare, nameless.encode()).unwrap();
        let input = read_file(&bare);
        assert_eq!((input.experiment.parameters, input.experiment.points), (vec!["p".into()], vec![vec![3.0]]));
    }

    /// Overloads are told apart in all runs, even in one that has only one of them.
    #[test]
    fn a_region_has_one_name_in_all_inputs() {
        let folder = tempfile::tempdir().unwrap();
        let mut overloaded = profile(2, 1000);
        overloaded.regions[2].name = "_ZN4grid5solveEd".into();
        overloaded.regions[2].kind = RegionKind::Function;
        let inputs = [("a.poise", profile(2, 1000)), ("b.poise", overloaded)].map(|(name, profile)| {
            let path = folder.path().join(name);
            std::fs::write(&path, profile.encode()).unwrap();
            path
        });
        let e = formats::read(&inputs, &ReadOptions::default()).unwrap().experiment;
        let names: Vec<&str> = e.callpaths.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["main", "grid::solve(int)", "MPI_Allreduce", "grid::solve(double)"]);
    }

    #[test]
    fn a_damaged_run_is_left_out_and_one_that_contradicts_itself_is_mentioned() {
        let folder = tempfile::tempdir().unwrap();
        run(folder.path(), "a", &record("complete", 2, 10, 1), &profile(2, 1000));
        run(folder.path(), "b", &record("complete", 4, 10, 1), &profile(4, 1000));
        let damaged = folder.path().join("b/profile.poise");
        let mut bytes = std::fs::read(&damaged).unwrap();
        bytes.truncate(bytes.len() - 3);
        std::fs::write(&damaged, bytes).unwrap();
        run(folder.path(), "c", &record("complete", 16, 10, 1), &profile(8, 1000));
        let input = read_file(folder.path());
        let codes: Vec<&str> = input.warnings.iter().map(|w| w.code).collect();
        assert_eq!(codes, ["W101", "W104"], "{:?}", input.warnings);
        assert!(input.warnings[0].place.file.ends_with("b/profile.poise"));
        assert_eq!(input.experiment.points, [[2.0, 10.0], [16.0, 10.0]]);
    }

    #[test]
    fn a_folder_of_failed_runs_cannot_be_modelled() {
        let folder = tempfile::tempdir().unwrap();
        run(folder.path(), "a", &record("failed", 2, 10, 1), &profile(2, 1000));
        let error = formats::read(&[folder.path().to_owned()], &ReadOptions::default()).map(|_| ()).unwrap_err();
        assert_eq!(error.exit_code(), 4);
        assert!(error.to_string().contains("signal 9"), "{error}");
    }
}
