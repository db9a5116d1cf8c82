//! Input that is wrong or odd: each gives an error or a warning that says what and where, nothing is lost silently, and no
//! mutation of a real file makes a reader panic.

use std::io::Write;
use std::path::Path;

use modeler::formats::{self, Input, ReadError, ReadOptions};
use modeler::{Options, fit};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

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
    let with_mark = [b"\xef\xbb\xbf".as_slice(), TEXT.as_bytes()].concat();
    assert_eq!(read(with_mark).unwrap().experiment.values, read(TEXT).unwrap().experiment.values);

    // An e with an accent in Latin-1, in the fourth line and in the second record.
    let latin = [b"PARAMETER p\nPOINTS 2\nMETRIC t\nREGION caf\xe9\nDATA 1\n".to_vec(), Vec::new()].concat();
    let lines =
        b"{\"params\":{\"p\":1},\"value\":1}\n{\"params\":{\"p\":2},\"metric\":\"\xe9\",\"value\":1}\n".to_vec();
    for (bytes, place) in [(latin, "input:4:11"), (lines, "input:2:")] {
        let error = error(bytes);
        assert!(error.place.to_string().starts_with(place), "{error}");
        assert!(error.what.contains("not valid UTF-8") && error.to_string().contains("iconv -f latin1"), "{error}");
    }
    let with_mark = b"\xef\xbb\xbf{\"params\":{\"p\":NaN},\"value\":1}".to_vec();
    assert_eq!(error(with_mark).place.to_string(), "input:1:19", "the mark counts as three bytes");
}

#[test]
fn nothing_but_blanks_is_no_input() {
    for nothing in ["", " ", "\n\n", "\u{feff}"] {
        error(nothing);
    }
}

#[test]
fn whole_numbers_that_are_rounded_are_told_with_the_first_place() {
    let exact = "{\"params\":{\"p\":1},\"value\":9007199254740992}\n";
    assert_eq!(read(exact).unwrap().warnings, []);
    let lines = format!("{exact}{{\"params\":{{\"p\":2}},\"value\":[1,9007199254740993]}}\n");
    let text = TEXT.replace("DATA 2\n", "DATA 2 9007199254740993\n");
    for (bytes, place) in [(lines.as_str(), "input:2:1"), (&text, "input:6:8")] {
        let input = read(bytes).unwrap();
        let warnings: Vec<String> = input.warnings.iter().map(ToString::to_string).collect();
        let expected = format!("{place}: A whole number beyond 2^53 has lost its last digits. [W110]");
        assert_eq!(warnings, [expected]);
        assert!(input.experiment.values.contains(&9_007_199_254_740_992.0));
    }
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

fn mutate(bytes: &mut Vec<u8>, random: &mut StdRng) {
    const PIECES: [&[u8]; 14] = [
        b"\"",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b";",
        b"->",
        b"1e999",
        b"-",
        b"NaN",
        b"18446744073709551616",
        b"\\u0000",
        b"\xff\xfe",
    ];
    let at = random.random_range(0..=bytes.len());
    let until = (at + random.random_range(0..40)).min(bytes.len());
    match random.random_range(0..6) {
        0 if at < bytes.len() => bytes[at] = random.random(),
        1 => drop(bytes.drain(at..until)),
        2 => bytes.truncate(at),
        3 => {
            let piece = bytes[at..until].to_vec();
            bytes.splice(at..at, piece);
        }
        4 if at < bytes.len() => bytes[at] ^= 1 << random.random_range(0..8),
        _ => drop(bytes.splice(at..at, PIECES[random.random_range(0..PIECES.len())].iter().copied())),
    }
}

/// The members of an archive changed and packed again, since a change of its bytes only breaks a checksum.
fn repacked(archive: &[u8], random: &mut StdRng) -> Vec<u8> {
    let mut from = zip::ZipArchive::new(std::io::Cursor::new(archive)).unwrap();
    let mut to = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let changed = random.random_range(0..from.len());
    for index in 0..from.len() {
        let mut member = from.by_index(index).unwrap();
        let (name, mut content) = (member.name().to_owned(), Vec::new());
        std::io::copy(&mut member, &mut content).unwrap();
        if index == changed {
            (0..random.random_range(1..4)).for_each(|_| mutate(&mut content, random));
        }
        to.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        to.write_all(&content).unwrap();
    }
    to.finish().unwrap().into_inner()
}

/// `POISE_MUTATIONS` asks for more than the few thousand of an ordinary run.
#[test]
fn no_mutation_of_a_real_file_makes_a_reader_panic() {
    let count: u64 = std::env::var("POISE_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    const FILES: [&str; 9] = [
        "relearn2p/relearn_data.txt",
        "mpi_collectives/mpi_collectives.jsonl",
        "extrap_formats/call_tree.txt",
        "extrap_formats/two_parameters.txt",
        "extrap_formats/numbered.json",
        "extrap_formats/nested.json",
        "extrap_formats/talpas.txt",
        "extrap_formats/statistics.extra-p",
        "extrap_formats/values.extra-p",
    ];
    let (mut refused, mut accepted) = (0, 0);
    for (number, file) in FILES.iter().enumerate() {
        let original = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets").join(file)).unwrap();
        // The end of a long file is like its beginning.
        let original = if file.contains("extra-p") { original } else { original[..original.len().min(4000)].to_vec() };
        let mut random = StdRng::seed_from_u64(number as u64);
        for _ in 0..count {
            let bytes = if file.ends_with("extra-p") && random.random() {
                repacked(&original, &mut random)
            } else {
                let mut bytes = original.clone();
                (0..random.random_range(1..5)).for_each(|_| mutate(&mut bytes, &mut random));
                bytes
            };
            match read(bytes) {
                Ok(input) => {
                    assert!(input.experiment.values.iter().all(|v| v.is_finite()), "{file}");
                    accepted += 1;
                }
                Err(error) => {
                    assert!(error.to_string().starts_with("input"), "{file}: {error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > accepted / 10 && accepted > refused / 100, "{refused} refused, {accepted} accepted");
}
