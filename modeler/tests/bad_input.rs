//! Input that is wrong or odd: each gives an error or a warning that says what and where, and nothing is lost silently.

use modeler::formats::{self, Format, Input, ReadError, ReadOptions};
use modeler::{Options, fit};

fn read(bytes: impl Into<Vec<u8>>) -> Result<Input, ReadError> {
    formats::read_bytes("input", bytes.into(), &ReadOptions::default())
}

fn error(bytes: impl Into<Vec<u8>>) -> ReadError {
    let error = read(bytes).map(|_| ()).unwrap_err();
    assert_eq!(error.exit_code(), 3, "{error}");
    error
}

const TEXT: &str =
    "PARAMETER p\nPOINTS 2 4 8 16 32\nMETRIC time\nREGION main\nDATA 1\nDATA 2\nDATA 4\nDATA 8\nDATA 16\n";

fn utf16(text: &str, mark: bool, little: bool) -> Vec<u8> {
    let units = mark.then_some(0xfeff).into_iter().chain(text.encode_utf16());
    units.flat_map(|u| if little { u.to_le_bytes() } else { u.to_be_bytes() }).collect()
}

#[test]
fn encodings_other_than_utf_8_are_named() {
    for (mark, little) in [(true, true), (true, false), (false, true), (false, false)] {
        let error = error(utf16(TEXT, mark, little));
        let text = error.to_string();
        assert!(text.starts_with("input:1:1: the text is encoded as UTF-16; expected UTF-8. Convert"), "{text}");
    }
    let units = |bytes: fn(u32) -> [u8; 4]| {
        ["\u{feff}", TEXT].concat().chars().flat_map(|c| bytes(c.into())).collect::<Vec<u8>>()
    };
    for wide in [units(u32::to_le_bytes), units(u32::to_be_bytes)] {
        let text = error(wide).to_string();
        assert!(text.starts_with("input:1:1: the text is encoded as UTF-32; expected UTF-8. Convert"), "{text}");
    }
    let with_mark = [b"\xef\xbb\xbf".as_slice(), TEXT.as_bytes()].concat();
    assert_eq!(read(with_mark).unwrap().experiment.values, read(TEXT).unwrap().experiment.values);

    // An e with an accent in Latin-1, in the fourth line and in the second record.
    let latin = [b"PARAMETER p\nPOINTS 2\nMETRIC t\nREGION caf\xe9\nDATA 1\n".to_vec(), Vec::new()].concat();
    let lines =
        b"{\"params\":{\"p\":1},\"value\":1}\n{\"params\":{\"p\":2},\"metric\":\"\xe9\",\"value\":1}\n".to_vec();
    // Two names that would be the same one if what is no UTF-8 were replaced.
    let stacks = b"main;a\xe9 10\nmain;a\xe8 5\n".to_vec();
    for (bytes, place) in [(latin, "input:4:11"), (lines, "input:2:"), (stacks, "input:1:7")] {
        let error = error(bytes);
        assert!(error.place.to_string().starts_with(place), "{error}");
        assert!(error.what.contains("not valid UTF-8") && error.to_string().contains("iconv -f latin1"), "{error}");
    }
    let with_mark = b"\xef\xbb\xbf{\"params\":{\"p\":NaN},\"value\":1}".to_vec();
    assert_eq!(error(with_mark).place.to_string(), "input:1:19", "the mark counts as three bytes");
}

#[test]
fn numbers_that_cannot_be_modelled_and_lines_that_end_early_are_told_with_their_places() {
    let line = |p: i32, value: &str| format!("{{\"params\":{{\"p\":{p}}},\"value\":{value}}}\n");
    let lines =
        |last: &str| (0..5).map(|i| line(1 << i, &format!("{}e149", 1 << i))).collect::<String>() + &line(32, last);
    for (bytes, told) in [
        (lines("1e400"), "input:6:32: this number is beyond any that is understood; expected a number"),
        (
            lines("1").trim_end_matches("}\n").to_owned() + "\n\n",
            "input:6:28: it ends within an object. Write each object on one line; if this is the last line, copy",
        ),
    ] {
        let text = error(bytes).to_string();
        assert!(text.starts_with(told), "{text}");
    }
    // The last of 1, 2, 4, 8 and 16 times 1e149, and what stands behind it, are too large: four points are left.
    let input = read(lines("1e200")).unwrap();
    let said: Vec<String> = input.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(said, ["input:5:28: 2 values are beyond 1e150 and take part in no model; this is the first. [W001]"]);
    let model = &fit(&input.experiment, &Options::default()).models[0];
    assert_eq!((model.quality.points, model.warnings[0].code), (4, "W001"), "{model:?}");
    let smaller = lines("32e149").replace("e149", "e148");
    let input = read(smaller).unwrap();
    let model = &fit(&input.experiment, &Options::default()).models[0];
    assert_eq!((model.terms.len(), (model.at(&[64.0]) / 64e148 - 1.0).abs() < 1e-9), (1, true), "{model:?}");
}

/// A cell that failed does not make a column of times one of texts, and no table is read as our own that is none.
#[test]
fn tables_whose_columns_are_not_known_are_told_with_the_roles_they_may_have() {
    let table = "p,n,time\n1,10,1.5\n2,10,failed\n4,10,4.5\n1,20,3.5\n";
    let forced = ReadOptions { format: Some(formats::Format::Csv), ..ReadOptions::default() };
    for options in [ReadOptions::default(), forced] {
        let text = formats::read_bytes("input", table.into(), &options).map(|_| ()).unwrap_err().to_string();
        assert!(text.contains("--columns 'p=parameter,n=parameter,time=metric'"), "{text}");
    }
}

/// What an option says to be an archive, and is not, was not cut off: it is told what it is not, and what it is.
#[test]
fn what_is_not_of_the_format_that_an_option_names_is_told_so() {
    let told = |format: Format, bytes: &[u8]| {
        let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
        let error = formats::read_bytes("input", bytes.into(), &options).map(|_| ()).unwrap_err();
        assert_eq!(error.exit_code(), 3, "{error}");
        error.to_string()
    };
    for format in [Format::Cubex, Format::ExtraPArchive] {
        assert_eq!(told(format, b""), "input: the input is empty.");
        for bytes in [[0_u8; 100].as_slice(), b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"] {
            let text = told(format, bytes);
            let start = format!("input: this is not of the format {format} that it is said to have: it ");
            assert!(text.starts_with(&start) && !text.contains("cut off"), "{text}");
            assert!(text.ends_with("is recognised if it is one of those that are read."), "{text}");
        }
    }
    assert!(told(Format::ExtraPArchive, b"PK\x03\x04").contains("cut off"));
    // Of these some find no measurement, others nothing at the first line, and others the file's name without parameters when all is read.
    for format in [
        Format::Cubex,
        Format::ExtraPArchive,
        Format::Tau,
        Format::Gem5,
        Format::Pprof,
        Format::HpcToolkit,
        Format::Experiment,
    ] {
        let expected = format!("input: this is of the format extrap and not {format}, as it is said to be: it");
        let text = told(format, TEXT.as_bytes());
        assert!(text.starts_with(&expected) && text.ends_with("names the format, and it is recognised."), "{text}");
    }
    for format in [Format::Tau, Format::Gem5, Format::Pprof, Format::HpcToolkit] {
        let text = told(format, b"a,b\n1,2\n");
        assert!(
            text.starts_with(&format!("input: this is not of the format {format} that it is said to have: it")),
            "{text}"
        );
    }
    // Where a line is wrong it is told, as of a format that nothing tells at the beginning.
    assert!(told(Format::Folded, b"main 1\nmain;solve one\n").starts_with("input:2:1: "));
    let empty = error(b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".as_slice()).to_string();
    assert!(empty.contains("extra-p: it is a ZIP archive without any file in it"), "{empty}");
}

/// Two names in Latin-1 that would be the same one if what is no UTF-8 were replaced, and what was saved as UTF-16.
#[test]
fn tables_in_other_encodings_are_refused() {
    let columns = Some("p=parameter,region=callpath,time=metric".to_owned());
    let options = ReadOptions { columns, ..ReadOptions::default() };
    let read = |bytes: Vec<u8>| formats::read_bytes("input", bytes, &options).map(|_| ()).map_err(|e| e.to_string());
    let table = b"p,region,time,note\n1,solve_a,1,\xe9\n2,solve_\xe8,20,\n";
    assert!(read(table.to_vec()).unwrap_err().starts_with("input:3:2: this byte is not valid UTF-8"));
    let line = table.iter().position(|&byte| byte == b'2').unwrap();
    assert_eq!(read(table[..line].to_vec()), Ok(()), "a column without a role may hold what it wants");
    let wide = utf16("p,region,time\n1,a,2\n", true, true);
    assert!(read(wide).unwrap_err().starts_with("input:1:1: the text is encoded as UTF-16"));
}

#[test]
fn nothing_but_blanks_is_no_input() {
    for nothing in ["", " ", "\n\n", "\u{feff}"] {
        error(nothing);
    }
}

/// One more than doubles hold exactly.
const WHOLE: &str = "9007199254740993";

#[test]
fn whole_numbers_that_are_rounded_are_told_with_the_first_place() {
    let exact = "{\"params\":{\"p\":1},\"value\":9007199254740992}\n";
    assert_eq!(read(exact).unwrap().warnings, []);
    let lines = format!("{exact}{{\"params\":{{\"p\":2}},\"value\":[1,9007199254740993]}}\n");
    // Beyond 2^64, too.
    let beyond = "{\"params\":{\"p\":1},\"value\":18446744073709551617}\n".to_owned();
    let text = TEXT.replace("DATA 2\n", "DATA 2 9007199254740993\n");
    let json = format!(
        "{{\"parameters\":[\"p\"],\"measurements\":{{\"main\":{{\"time\":[\n{{\"point\":[1],\"values\":[{WHOLE}]}}]}}}}}}"
    );
    let mut own = Vec::new();
    formats::write(&read(TEXT).unwrap().experiment, Format::Experiment, &mut own).unwrap();
    let own = String::from_utf8(own).unwrap().replace("\"values\":[1.0,", &format!("\"values\":[{WHOLE},"));
    let own_place = format!("input:1:{}", own.find(WHOLE).unwrap() + 1);
    let places = [
        (lines.as_str(), "input:2:30"),
        (&beyond, "input:1:27"),
        (&text, "input:6:8"),
        (&json, "input:2:24"),
        (&own, &own_place),
    ];
    for (bytes, place) in places {
        let input = read(bytes).unwrap();
        let warnings: Vec<String> = input.warnings.iter().map(ToString::to_string).collect();
        let expected = format!("{place}: A whole number beyond 2^53 has lost its last digits. [W110]");
        assert_eq!(warnings, [expected]);
        let held = if bytes == beyond { 18_446_744_073_709_551_616.0 } else { 9_007_199_254_740_992.0 };
        assert!(input.experiment.values.contains(&held));
    }
    let ignored = format!("{{\"params\":{{\"p\":1}},\"value\":20000000000000000,\"job\":{WHOLE}}}\n");
    assert!(read(ignored).unwrap().warnings.iter().all(|warning| warning.code != "W110"));
    let columns = Some("p=parameter,time=metric".to_owned());
    let options = ReadOptions { columns, ..ReadOptions::default() };
    let table = format!("p,note,time\n1,{WHOLE},1\n2,a,{WHOLE}\n");
    let warnings = formats::read_bytes("input", table.into(), &options).unwrap().warnings;
    assert_eq!(warnings[0].to_string(), "input:3:3: A whole number beyond 2^53 has lost its last digits. [W110]");
}

/// Whole numbers of any length in text, where digits that a double gives back are no loss.
#[test]
fn whole_numbers_beyond_64_bits_are_told_where_they_are_rounded() {
    let warned = |number: &str| {
        let warnings = read(TEXT.replace("DATA 4\n", &format!("DATA {number}\n"))).unwrap().warnings;
        warnings.iter().any(|warning| warning.to_string().starts_with("input:7:6: A whole number beyond 2^53"))
    };
    for rounded in ["123456789012345678901234567890", "36893488147419103233", "+9007199254740993", "009007199254740993"]
    {
        assert!(warned(rounded), "{rounded}");
    }
    // 2^65 is a double, 10^30 the shortest that gives one, and what has an exponent or a point is not meant to the last digit.
    for held in
        ["36893488147419103232", "1000000000000000000000000000000", "1.2345678901234567890e29", "9007199254740993.0"]
    {
        assert!(!warned(held), "{held}");
    }
}

/// Values that models leave out or take for something else are told with the place of the first, in every format that has one.
#[test]
fn negative_values_and_times_of_zero_are_told_with_their_place() {
    let line = |p: u32, value: &str| {
        format!("{{\"params\":{{\"p\":{p}}},\"callpath\":\"main\",\"metric\":\"time\",\"value\":{value}}}\n")
    };
    let lines = |values: [&str; 3]| (1..).zip(values).map(|(p, value)| line(p, value)).collect::<String>();
    let point = |p: u32, value: &str| format!("{{\"point\":[{p}],\"values\":[{value}]}}");
    let nested = |values: [&str; 3]| {
        let points: Vec<String> = (1..).zip(values).map(|(p, value)| point(p, value)).collect();
        format!("{{\"parameters\":[\"p\"],\"measurements\":{{\"main\":{{\"time\":[\n{}]}}}}}}", points.join(",\n"))
    };
    let text = |values: [&str; 3]| {
        let data: String = values.map(|value| format!("DATA {value}\n")).concat();
        format!("PARAMETER p\nPOINTS 1 2 3\nMETRIC time\nREGION main\n{data}")
    };
    let told = |input: String| read(input).unwrap().warnings.iter().map(ToString::to_string).collect::<Vec<_>>();
    let (odd, none) = (["1", "-2", "-0.5"], ["1", "2", "0.5"]);
    let negative =
        |place: &str| [format!("{place}: 2 values are negative and take part in no model; this is the first. [W001]")];
    for (input, place) in [(text(odd), "input:6:6"), (lines(odd), "input:2:61"), (nested(odd), "input:3:1")] {
        assert_eq!(told(input), negative(place));
    }
    let zero = |place: &str| [format!("{place}: A time is exactly zero. [W002]")];
    let odd = ["1", "2", "0"];
    for (input, place) in [(text(odd), "input:7:6"), (lines(odd), "input:3:61"), (nested(odd), "input:4:1")] {
        assert_eq!(told(input.replace("time", "visits")), [""; 0], "no visits are as good as any");
        assert_eq!(told(input), zero(place));
    }
    for input in [text(none), lines(none), nested(none)] {
        assert_eq!(told(input), [""; 0]);
    }
    // Of a list of repetitions the one, and of a line with escapes, which the general parser reads.
    let list = r#"{"params":{"p":2},"metric":"value","value": [1, -3]}"#;
    let escaped = r#"{"params":{"p":2},"metric":"\"value\":","value":[-3,1]}"#;
    // A parameter may have the name, too.
    let named = r#"{"params":{"value":2},"value":-3}"#;
    for (input, place) in [(list, "input:1:49"), (escaped, "input:1:50"), (named, "input:1:31")] {
        let told = told(input.to_owned());
        assert!(told[0].starts_with(&format!("{place}: A value is negative")), "{told:?}");
    }
}

#[test]
fn points_that_a_text_names_twice_are_told() {
    let twice = TEXT.replace("POINTS 2 4 8", "POINTS 2 4 4");
    let warnings: Vec<String> = read(twice).unwrap().warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        ["input:2:12: This point stands here again: values of one point are taken for repetitions. [W113]"]
    );
}

/// A copy that was pasted twice looks as repetitions do.
#[test]
fn blocks_of_a_text_and_points_of_json_that_stand_twice_are_told() {
    let told = |text: String| -> Vec<String> {
        let input = read(text).unwrap();
        assert_eq!(input.experiment.values.len(), 10);
        input.warnings.iter().map(ToString::to_string).collect()
    };
    let block = &TEXT[TEXT.find("METRIC").unwrap()..];
    assert_eq!(
        told(format!("{TEXT}{block}")),
        ["input:12:1: This region and metric stand here again: what stands here is taken for repetitions. [W113]"]
    );
    let other = block.replace("main", "solve");
    assert_eq!(told(format!("{TEXT}{other}")), [""; 0]);
    let twice = read(format!("{TEXT}{other}{block}{other}")).unwrap().warnings;
    assert!(twice.len() == 1 && twice[0].message.contains("stand here again, and others do, 2 in all"), "{twice:?}");
    let points = |copies: usize| {
        let one = (1..=5).map(|i| format!("{{\"point\":[{i}],\"values\":[{i}]}}")).collect::<Vec<_>>().join(",");
        let all = vec![one; copies].join(",\n");
        format!("{{\"parameters\":[\"p\"],\"measurements\":{{\"main\":{{\"time\":[\n{all}],\"bytes\":[]}}}}}}")
    };
    let message = "input:3:1: This point stands here again, and others do, 5 in all: values of one point are taken for repetitions. [W113]";
    assert_eq!(told(points(2)), [message]);
    assert!(read(points(1)).unwrap().warnings.is_empty());
    // The same under a key that stands twice, of a metric or of a call path.
    let [first, second] = ["\"time\":[", "\"main\":{"].map(|key| {
        let once = points(1);
        let (at, end) = (once.find(key).unwrap(), once.find(",\"bytes\"").unwrap());
        let list = format!("{}{}", &once[at..end], if key.contains("main") { "}" } else { "" });
        let behind = if key.contains("main") { once.len() - 2 } else { end };
        told(format!("{},{list}{}", &once[..behind], &once[behind..]))
    });
    // At its own place: the first of its points is in the line behind the first list.
    assert_eq!([first, second], [[message], [message]]);
}

#[test]
fn cells_without_a_value_and_repetitions_that_stand_twice_are_told() {
    let told = |text: &str, columns: &str| {
        let options = ReadOptions { columns: Some(columns.into()), ..ReadOptions::default() };
        let input = formats::read_bytes("t.csv", text.into(), &options).unwrap();
        input.warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let empty = "p,time,bytes\n2,1.5,8\n4,,16\n8,2.5,\n16,3,64\n";
    let two = "t.csv:3:2: 2 cells are empty and count as not measured; this is the first. [W103]";
    assert_eq!(told(empty, "p=parameter,time=metric,bytes=metric"), [two]);
    let one = "t.csv:3:2: This cell is empty and counts as not measured. [W103]";
    assert_eq!(told(empty, "p=parameter,time=metric"), [one]);
    // The same number at another point, of another call path or another metric is another repetition.
    let numbered = "p,run,region,time,bytes\n2,1,f,1.5,8\n2,2,f,1.6,8\n2,1,g,1.5,8\n4,1,f,2,16\n";
    let columns = "p=parameter,run=repetition,region=callpath,time=metric,bytes=metric";
    assert_eq!(told(numbered, columns), [""; 0]);
    let again = |row: &str, message: &str| assert_eq!(told(&format!("{numbered}{row}\n"), columns), [message]);
    again(
        "2,2,f,1.6,8",
        "t.csv:6:4: This repetition stands here again, as another does: each is taken for one more. [W113]",
    );
    assert_eq!(told(&format!("{numbered}2,2,f,1.6,8\n"), &columns.replace("run=repetition,", "")), [""; 0]);
    // Without a number a row is a repetition, and another column may number it, too.
    assert_eq!(told("p,run,time\n2,,1.5\n2,,1.6\n4,1,2\n", "p=parameter,run=repetition,time=metric"), [""; 0]);
    let two = "p,run,iteration,time\n2,1,1,1.5\n2,1,2,1.6\n4,1,1,2\n";
    assert_eq!(told(two, "p=parameter,run=repetition,time=metric"), [""; 0]);
    // Nothing is lost of a metric that a call path never has, nor where each row tells one.
    let sparse = "p,region,time,bytes\n2,f,1.5,\n2,f,,8\n4,f,2,\n4,f,,16\n2,g,1,\n4,g,2,\n";
    assert_eq!(told(sparse, "p=parameter,region=callpath,time=metric,bytes=metric"), [""; 0]);
}

#[test]
fn inputs_that_hold_the_times_of_another_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let told = |texts: [&str; 3]| {
        let files = ["a.txt", "b.txt", "c.txt"].map(|name| folder.path().join(name));
        files.iter().zip(texts).for_each(|(file, text)| std::fs::write(file, text).unwrap());
        let input = formats::read(&files, &ReadOptions::default()).unwrap();
        let name = |place: &str| std::path::Path::new(place).file_name().unwrap().to_string_lossy().into_owned();
        input.warnings.iter().map(|w| (name(&w.place.file), w.code, w.message.clone())).collect::<Vec<_>>()
    };
    let times = "PARAMETER p\nPOINTS 2 4 8\nREGION solve\nMETRIC time\nDATA 1.512\nDATA 2.253\nDATA 4.125\n";
    // In another order, too.
    let turned = "PARAMETER p\nPOINTS 8 2 4\nREGION solve\nMETRIC time\nDATA 4.125\nDATA 1.512\nDATA 2.253\n";
    let others = times.replace("2.253", "2.254");
    let warnings = told([times, &others, turned]);
    assert_eq!(warnings.iter().map(|(file, code, _)| (file.as_str(), *code)).collect::<Vec<_>>(), [("c.txt", "W113")]);
    assert!(warnings[0].2.contains("a.txt once more"), "{warnings:?}");
    // Counts are the same in every run.
    let means = times.replace("METRIC time", "METRIC visits");
    assert_eq!(told([&means, &means, &means]), []);
    // Clocks that tick coarsely show the same, and a part of the values may be alike.
    let coarse = times.replace("1.512", "1.51").replace("2.253", "2.25").replace("4.125", "4.12");
    assert_eq!(told([&coarse, &coarse, &coarse]), []);
    let more = times.replace("POINTS 2 4 8", "POINTS 2 4 8 16") + "DATA 7\n";
    assert_eq!(told([times, &more, &others]), []);
}

#[test]
fn cells_that_belong_to_no_column_are_errors() {
    let read = |text: &str, columns: &str| {
        let options = ReadOptions { columns: Some(columns.into()), ..ReadOptions::default() };
        formats::read_bytes("t.csv", text.into(), &options).map_err(|error| (error.exit_code(), error.to_string()))
    };
    let refused = |text: &str, columns: &str| read(text, columns).unwrap_err();
    let (code, error) = refused("p,time\n2,1\n4,2,5\n8,4\n", "p=parameter,time=metric");
    assert!(code == 3 && error.starts_with("t.csv:3:3: this cell has no column"), "{error}");
    // A quote that is not closed would swallow the rows below it.
    let open = "p,region,time\n2,\"solve,1\n4,solve,2\n8,solve,4\n";
    let (code, error) = refused(open, "p=parameter,time=metric,region=callpath");
    assert!(code == 3 && error.starts_with("t.csv:2:2: the cell that begins with `solve,1` goes on"), "{error}");
    let long = read("p,time,note\n2,1,\n4,2,\"a\nb\"\n8,4,\n16,8,\n", "p=parameter,time=metric").unwrap();
    let warnings: Vec<String> = long.warnings.iter().map(ToString::to_string).collect();
    assert!(
        warnings.len() == 1
            && warnings[0].starts_with("t.csv:3:3: 1 cell in a column without a role holds 1 line more"),
        "{warnings:?}"
    );
    let (code, error) = refused("p,time,note\n2,1,\"a\n4,2,b\n8,4,c\n", "p=parameter,time=metric");
    assert!(code == 3 && error.starts_with("t.csv:2:3: the cell that begins with `a` goes on"), "{error}");
    // What comes behind the last column but is empty is nothing.
    assert_eq!(read("p,time\n2,1,\n4,2,\n", "p=parameter,time=metric").unwrap().warnings, []);
    // The names of columns may hold commas; what cannot be understood is the command's mistake.
    let named = read("p,\"time, wall\"\n2,1.5\n4,2\n", "p=parameter,\"time, wall\"=metric:wall[s]").unwrap();
    assert_eq!(named.experiment.metrics[0].name, "wall");
    assert_eq!(refused("p,time\n2,1\n", "p=parameter,time=metrik").0, 2);
}

#[test]
fn what_to_do_about_a_cell_is_said_of_that_cell() {
    let error = |text: &str, columns: Option<&str>| {
        let options = ReadOptions { columns: columns.map(str::to_owned), ..ReadOptions::default() };
        formats::read_bytes("t.csv", text.into(), &options).unwrap_err().to_string()
    };
    let columns = Some("p=parameter,wall=metric:time");
    for (row, place, advice) in [
        ("4,10.6 s", "3:2", "its unit in --columns, as in wall=metric:time[s]"),
        ("4,12ms", "3:2", "as in wall=metric:time[ms]"),
        ("4,FAILED", "3:2", "Leave the cell empty where nothing was measured"),
        ("p,wall", "3:1", "This row is the header once more: take it out"),
        ("four,2", "3:1", "Take the row out, or give the column the role callpath"),
        ("\"4,5\",2", "3:1", "Write decimal points"),
    ] {
        let told = error(&format!("p,wall\n2,1\n{row}\n8,4\n"), columns);
        assert!(told.starts_with(&format!("t.csv:{place}: ")) && told.contains(advice), "{row}: {told}");
    }
    assert!(error("p,wall\ntwo,1\n", columns).contains("Give a column of texts the role callpath"));
    // Columns that blanks part.
    let aligned = "   p  wall\n   2   1.0\n   4   2.5\n  16   4\n";
    let advice = "awk '{$1=$1}1' OFS=, t.csv > table.csv";
    assert!(error(aligned, None).contains("blanks part its columns") && error(aligned, None).contains(advice));
    let told = error(aligned, columns);
    assert!(told.contains("there is no column `p`") && told.contains(advice), "{told}");
    // A column that is missing is not there.
    assert!(!error("q,wall\n2,1\n", columns).contains("awk"));
}

#[test]
fn lines_that_end_within_a_string_are_told_with_their_end() {
    let whole = r#"{"params":{"p":2},"callpath":"a","metric":"time","value":1}"#;
    let told = error(format!("{whole}\n{{\"params\":{{\"p\":4}},\"callpath\":\"a\n")).to_string();
    assert!(told.starts_with("input:2:31: the line ends within a string") && told.contains("cut off"), "{told}");
    let told = error("PARAMETER p\nPARAMETER n\nPOINTS (4,250) (8,250)\nMETRIC time\nDATA 1\nDATA 2\n").to_string();
    assert!(told.starts_with("input:3:9: `4,250` is not") && told.contains("as in 4 250"), "{told}");
}

#[test]
fn parameters_that_are_not_positive_are_told() {
    let told = |points: &str| {
        let input = read(TEXT.replace("POINTS 2 4 8", points)).unwrap();
        input.warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let sentence = |power: &str| {
        format!("where it has no logarithm and no {power} power: factors with these are not tried. [W114]")
    };
    assert_eq!(told("POINTS 0 4 8"), [format!("input: `p` is 0, {}", sentence("negative"))]);
    assert_eq!(told("POINTS -2.5 0 8"), [format!("input: `p` is -2.5, 0, {}", sentence("broken"))]);
    assert_eq!(told("POINTS 0.25 4 8"), [""; 0]);
}

/// What Python's `json` writes for numbers that are not finite.
#[test]
fn numbers_that_json_does_not_have_are_named() {
    for word in ["NaN", "Infinity", "-Infinity", "nan", "-inf"] {
        let lines = format!("{{\"params\":{{\"p\":1}},\"value\":1}}\n{{\"params\":{{\"p\":2}},\"value\":{word}}}\n");
        let whole = format!(
            "{{\"parameters\":[\"p\"],\"measurements\":{{\"main\":{{\"time\":[\n{{\"point\":[1],\"values\":[{word}]}}]}}}}}}"
        );
        for (bytes, place) in [(lines, "input:2:27"), (whole, "input:2:24")] {
            let expected = format!(
                "{place}: `{word}` is not a finite number; expected a number such as 4.25 or 1e-3. Leave measurements out that failed."
            );
            assert_eq!(error(bytes).to_string(), expected);
        }
    }
}

#[test]
fn lines_that_end_with_a_carriage_return_alone_are_told() {
    assert_eq!(read(TEXT.replace('\n', "\r\n")).unwrap().experiment.values, read(TEXT).unwrap().experiment.values);
    let text = error(TEXT.replace('\n', "\r")).to_string();
    assert!(
        text.starts_with("input:1:12: a carriage return stands within the line; expected lines that end"),
        "{text}"
    );
    let lines = error("{\"params\":{\"p\":1},\"value\":1}\r{\"params\":{\"p\":2},\"value\":2}\r").to_string();
    assert!(lines.starts_with("input:1:29: a carriage return stands within the line; expected lines"), "{lines}");
}

/// A file of zeros behind a good beginning: neither the memory nor the message grow with it.
#[test]
fn lines_without_an_end_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zeros.txt");
    std::fs::write(&path, TEXT).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(3 << 30).unwrap();
    let error = formats::read(&[path], &ReadOptions::default()).map(|_| ()).unwrap_err();
    assert_eq!((error.exit_code(), error.place.line), (3, Some(10)));
    assert!(error.what.contains("this line is longer than 256 MiB"), "{error}");
    // A long line that is read is not quoted as a whole.
    let long = self::error(format!("{TEXT}{}\n", "é".repeat(1 << 20))).to_string();
    assert!(long.len() < 5000 && long.contains(" … ") && long.contains("is no keyword of Extra-P text"), "{long}");
}

/// What the readers let through because it may be meant is said by the fit, call path by call path.
#[test]
fn values_that_are_odd_and_not_wrong_become_warnings_of_the_model() {
    let cases = [
        (TEXT.replace("DATA 4", "DATA 0"), "W002"),
        (TEXT.replace("DATA 4", "DATA -4 4"), "W001"),
        (TEXT.replace("METRIC time", "METRIC visits").replace("DATA 16", "DATA 18014398509481984"), "W003"),
        (
            TEXT.replace("PARAMETER p", "PARAMETER p n").replace("2 4 8 16 32", "(2 1) (4 1) (8 1) (16 1) (32 1)"),
            "W005",
        ),
    ];
    for (text, code) in cases {
        let input = read(text.as_str()).unwrap();
        let fits = fit(&input.experiment, &Options::default());
        assert!(fits.models[0].warnings.iter().any(|w| w.code == code), "{code}: {text}\n{fits:?}");
    }
    let few = TEXT.replace("2 4 8 16 32", "2 4 8").replace("DATA 8\nDATA 16\n", "");
    let fits = fit(&read(few).unwrap().experiment, &Options::default());
    assert_eq!((fits.models.len(), fits.skipped[0].code), (0, "W004"));
}

/// Samples that add up to more than any number, where each is one.
#[test]
fn values_that_add_up_to_no_number_are_refused() {
    let of = |last: &str| {
        let stacks = format!("main;a {0}\nmain;a {last}\n", "9".repeat(308));
        formats::read_bytes("app.p4", stacks.into_bytes(), &ReadOptions::default())
    };
    let error = of(&"9".repeat(308)).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("values of ranks or samples add up to more than any number"), "{error}");
    assert!(of("1").is_ok());
}

/// Formats that are not read and that their own tools convert are named.
#[test]
fn formats_that_can_be_converted_are_named() {
    // The header of gperftools' profiles, five words of the machine's size, and a sample.
    let words: [u64; 8] = [0, 3, 0, 10_000, 0, 1, 1, 0x40_1000];
    let wide: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let narrow: Vec<u8> = words.iter().flat_map(|w| (*w as u32).to_le_bytes()).collect();
    let benchmarks = b"name,iterations,real_time,cpu_time,time_unit,bytes_per_second,items_per_second,label,error_occurred,error_message\n\
        \"BM_sort/8\",100,5,5,ns,,,,,\n\"BM_sort/16\",100,9,9,ns,,,,,\n";
    let cases: [(&[u8], &str); 5] = [
        (b"\x89HDF\r\n\x1a\n\0\0", "let it write text instead, with --stats-file=stats.txt"),
        (&wide, "pprof -proto"),
        (&narrow, "pprof -proto"),
        (b"PERFILE2\x68\0\0\0\0\0\0\0", "perf script"),
        (benchmarks, "--benchmark_out_format=json"),
    ];
    for (bytes, how) in cases {
        let error = error(bytes).to_string();
        assert!(error.starts_with("input: this is ") && error.contains(how), "{error}");
    }
}

/// A comma may be that of a decimal or part thousands: which of them it is nobody guesses.
#[test]
fn decimal_commas_are_told() {
    let options = ReadOptions { columns: Some("p=parameter,time=metric".into()), ..ReadOptions::default() };
    let text = "p;time\n2;1,5\n4;2,5\n";
    let error = formats::read_bytes("input", text.into(), &options).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("input:2:2: `1,5`") && error.contains("Write decimal points"), "{error}");
    // Without roles they are proposed as for numbers.
    let error = self::error(text).to_string();
    assert!(error.contains("--columns 'p=parameter,time=metric'"), "{error}");
}

/// Values that take part in no model are told with their cell, whatever is done with the table.
#[test]
fn values_of_tables_that_models_cannot_take_are_told_with_their_cell() {
    let text = "p,time,flops\n2,2,1\n4,-4,1\n8,0,1\n16,1e200,1\n32,32,1\n64,64,-1\n128,128,-1\n";
    let columns = Some("p=parameter,time=metric,flops=metric".to_owned());
    let options = ReadOptions { columns, ..ReadOptions::default() };
    let input = formats::read_bytes("t.csv", text.into(), &options).unwrap();
    let told: Vec<String> = input.warnings.iter().map(ToString::to_string).collect();
    let expected = [
        "t.csv:3:2: 3 values are negative and take part in no model; this is the first. [W001]",
        "t.csv:5:2: A value is beyond 1e150 and takes part in no model. [W001]",
        "t.csv:4:2: A time is exactly zero. [W002]",
    ];
    assert_eq!(told.len(), expected.len(), "{told:?}");
    told.iter().zip(expected).for_each(|(told, expected)| assert!(told.starts_with(expected), "{told}"));
}
