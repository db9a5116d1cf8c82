//! Lines of JSON as programs write them, taken apart without a general parser: no escapes, only ASCII, the keys that have
//! a meaning, the parameters in one order. Whatever is different is left to the general parser, which knows what is
//! wrong with it if anything is.

use super::collect::EXACT;
use std::ops::Range;

/// A line taken apart; the texts are parts of the line.
#[derive(Default)]
pub(super) struct PlainLine<'a> {
    /// See `callpath` and `metric` of the format; both are ASCII.
    pub callpath: &'a [u8],
    pub metric: &'a [u8],
}

/// What a line gives beside its texts; reused from line to line.
#[derive(Default)]
pub(super) struct Numbers {
    /// One coordinate per parameter.
    pub coordinates: Vec<f64>,
    /// The repetitions.
    pub values: Vec<f64>,
    /// Where they are in the line, in its order.
    places: Vec<Range<usize>>,
    /// Whether the coordinates come first.
    coordinates_first: bool,
}

/// Coordinates in a line that is like the one before.
pub(super) struct Coordinates<'a> {
    /// As they stand in the line, from the first number to the last.
    pub written: &'a [u8],
    /// Whether they are those expected.
    pub are_expected: bool,
}

/// What lies between the numbers of the last line. Most lines differ from the one before in their numbers alone.
#[derive(Default)]
pub(super) struct Template {
    /// Back to back.
    texts: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
}

impl Template {
    /// Takes the texts of a line that [`parse`] took apart to these numbers.
    pub fn learn(&mut self, line: &[u8], numbers: &Numbers) {
        self.forget();
        if !numbers.coordinates_first {
            return;
        }
        let mut start = 0;
        for place in &numbers.places {
            self.push(&line[start..place.start]);
            start = place.end;
        }
        self.push(&line[start..]);
    }

    /// Fits no line from now on.
    pub fn forget(&mut self) {
        self.texts.clear();
        self.ends.clear();
    }

    fn push(&mut self, text: &[u8]) {
        self.texts.extend_from_slice(text);
        self.ends.push(self.texts.len());
    }

    /// The numbers of a line that is otherwise the one learned. `None` is no judgement. Where the coordinates are those `expected`, as
    /// an earlier line had them, they are not taken apart, and left out of the numbers.
    pub fn fit<'a>(
        &self,
        line: &'a [u8],
        parameters: usize,
        expected: &[u8],
        numbers: &mut Numbers,
    ) -> Option<Coordinates<'a>> {
        if self.ends.len() <= parameters || parameters == 0 {
            return None;
        }
        let text_of = |i: usize| &self.texts[self.ends[i - 1]..self.ends[i]];
        let mut at = Cursor { bytes: line, at: 0 };
        at.text(&self.texts[..self.ends[0]])?;
        let first = at.at;
        numbers.coordinates.clear();
        numbers.values.clear();
        let mut behind = Cursor { bytes: line, at: first + expected.len() };
        let is_here = !expected.is_empty() && line[first..].starts_with(expected);
        // The last number might go on.
        let are_expected = is_here && behind.text(text_of(parameters)).is_some();
        if are_expected {
            at.at = behind.at;
        } else {
            for i in 1..=parameters {
                numbers.coordinates.push(at.number()?);
                behind.at = at.at;
                at.text(text_of(i))?;
            }
        }
        let written = &line[first..if are_expected { first + expected.len() } else { behind.at }];
        for i in parameters + 1..self.ends.len() {
            numbers.values.push(at.number()?);
            at.text(text_of(i))?;
        }
        (at.at == line.len()).then_some(Coordinates { written, are_expected })
    }
}

/// Takes a line apart whose coordinates stand under `key` and are those of `names` in this order. `None` is no judgement.
pub(super) fn parse<'a>(line: &'a [u8], key: &str, names: &[String], numbers: &mut Numbers) -> Option<PlainLine<'a>> {
    let mut at = Cursor { bytes: line, at: 0 };
    let mut found = PlainLine::default();
    numbers.places.clear();
    let (mut has_point, mut has_callpath, mut has_metric, mut has_value) = (false, false, false, false);
    at.expect(b'{')?;
    loop {
        let name = at.string()?;
        at.expect(b':')?;
        let seen = match name {
            b"callpath" => {
                found.callpath = at.string()?;
                &mut has_callpath
            }
            b"metric" => {
                found.metric = at.string()?;
                &mut has_metric
            }
            b"value" => {
                at.values(numbers)?;
                &mut has_value
            }
            name if name == key.as_bytes() => {
                at.coordinates(names, numbers)?;
                &mut has_point
            }
            _ => return None,
        };
        if std::mem::replace(seen, true) {
            return None;
        }
        match at.separator()? {
            b',' => {}
            b'}' => break,
            _ => return None,
        }
    }
    let complete = has_point && has_callpath && has_metric && has_value && at.is_at_end();
    complete.then_some(found)
}

/// Any number of so many digits fits into 64 bits.
const MOST_DIGITS: usize = 19;
/// Powers of ten that doubles hold.
const POWERS_OF_TEN: [f64; MOST_DIGITS] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18];

/// The number that these are the digits of, if they all are digits: pairs, then fours, then all are put together side by side.
fn eight_digits(bytes: [u8; 8]) -> Option<u64> {
    let each = |byte: u8| u64::from(byte) * 0x0101_0101_0101_0101;
    let text = u64::from_le_bytes(bytes);
    let digits = text.wrapping_sub(each(b'0'));
    // The highest bit of a byte tells one above nine, or one below zero, from which was borrowed.
    if (text.wrapping_add(each(0x7f - b'9')) | digits) & each(0x80) != 0 {
        return None;
    }
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours * 10_000 + (fours >> 32)) & 0xffff_ffff)
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// The next byte that is no blank.
    fn separator(&mut self) -> Option<u8> {
        loop {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            if !matches!(byte, b' ' | b'\t') {
                return Some(byte);
            }
        }
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.separator()? == byte).then_some(())
    }

    fn is_at_end(&self) -> bool {
        // What JSON knows as blanks: no form feed, which Rust's notion of white space has.
        self.bytes[self.at..].iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
    }

    /// Steps over this text.
    fn text(&mut self, text: &[u8]) -> Option<()> {
        let is_here = self.bytes.get(self.at..)?.starts_with(text);
        self.at += text.len();
        is_here.then_some(())
    }

    /// A string without escapes, control characters and what is not ASCII.
    fn string(&mut self) -> Option<&'a [u8]> {
        self.expect(b'"')?;
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|&b| !matches!(b, b' '..=b'~') || b == b'"' || b == b'\\')?;
        if rest[length] != b'"' {
            return None;
        }
        self.at += length + 1;
        Some(&rest[..length])
    }

    /// A finite number in the grammar of JSON.
    fn number(&mut self) -> Option<f64> {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        let start = self.at;
        let negative = self.skip(b'-');
        let mut whole = 0_u64;
        let digits = self.digits(&mut whole);
        if digits == 0 || digits > 1 && self.bytes[start + usize::from(negative)] == b'0' {
            return None;
        }
        let (mut is_whole, mut is_plain, mut decimals) = (true, true, 0);
        if self.skip(b'.') {
            is_whole = false;
            decimals = self.digits(&mut whole);
            (decimals > 0).then_some(())?;
        }
        if self.skip(b'e') || self.skip(b'E') {
            (is_whole, is_plain) = (false, false);
            let _ = self.skip(b'+') || self.skip(b'-');
            (self.digits(&mut 0) > 0).then_some(())?;
        }
        // Up to fifteen digits a double is exact; beyond, somebody has to look whether it is.
        if is_whole && digits > 15 {
            return None;
        }
        // A quotient of two numbers that doubles hold exactly is rounded once, as the number that is meant has to be.
        if is_plain
            && digits + decimals <= MOST_DIGITS
            && whole <= EXACT
            && let Some(power) = POWERS_OF_TEN.get(decimals)
        {
            let number = whole as f64 / power;
            return Some(if negative { -number } else { number });
        }
        let text = std::str::from_utf8(&self.bytes[start..self.at]).ok()?;
        text.parse().ok().filter(|number: &f64| number.is_finite())
    }

    fn skip(&mut self, byte: u8) -> bool {
        let is_here = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(is_here);
        is_here
    }

    /// Steps over digits, which are put behind those of a number, modulo 2^64, and says how many there were.
    fn digits(&mut self, number: &mut u64) -> usize {
        let start = self.at;
        while let Some(eight) = self.bytes[self.at..].first_chunk().and_then(|bytes| eight_digits(*bytes)) {
            *number = number.wrapping_mul(100_000_000).wrapping_add(eight);
            self.at += 8;
        }
        while let Some(digit @ b'0'..=b'9') = self.bytes.get(self.at) {
            *number = number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        self.at - start
    }

    /// A number, or an array of at least one.
    fn values(&mut self, into: &mut Numbers) -> Option<()> {
        into.values.clear();
        let start = self.at;
        if self.separator()? != b'[' {
            self.at = start;
            into.values.push(self.placed(&mut into.places)?);
            return Some(());
        }
        loop {
            into.values.push(self.placed(&mut into.places)?);
            match self.separator()? {
                b',' => {}
                b']' => return Some(()),
                _ => return None,
            }
        }
    }

    /// A number, whose place is noted.
    fn placed(&mut self, places: &mut Vec<Range<usize>>) -> Option<f64> {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        let start = self.at;
        let number = self.number()?;
        places.push(start..self.at);
        Some(number)
    }

    fn coordinates(&mut self, names: &[String], into: &mut Numbers) -> Option<()> {
        into.coordinates.clear();
        into.coordinates_first = into.places.is_empty();
        self.expect(b'{')?;
        for (i, name) in names.iter().enumerate() {
            if i > 0 {
                self.expect(b',')?;
            }
            (self.string()? == name.as_bytes()).then_some(())?;
            self.expect(b':')?;
            into.coordinates.push(self.placed(&mut into.places)?);
        }
        self.expect(b'}')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    fn names() -> Vec<String> {
        vec!["p".into(), "n".into()]
    }

    #[test]
    fn lines_as_programs_write_them_are_taken_apart() {
        let line = br#"{"params":{"p":128,"n":-8e3}, "metric":"time" ,"callpath":"main->f","value":[0.5, 1E+2,-0.0]}"#;
        let mut numbers = Numbers::default();
        let found = parse(line, "params", &names(), &mut numbers).unwrap();
        assert_eq!((found.callpath, found.metric), (b"main->f".as_slice(), b"time".as_slice()));
        assert_eq!((numbers.coordinates, numbers.values), (vec![128.0, -8000.0], vec![0.5, 100.0, -0.0]));
    }

    #[test]
    fn numbers_are_those_of_the_standard_library_to_the_last_bit() {
        let rng = &mut StdRng::seed_from_u64(31);
        let mut texts: Vec<String> =
            ["0.0", "-0.0", "9007199254740992.0", "9007199254740993.0", "900719925474099.25", "0.1e3"]
                .map(str::to_owned)
                .to_vec();
        // The last digits that a double holds, and one more.
        texts.extend(["90071992547409.92", "90071992547409.93", "9.007199254740993"].map(str::to_owned));
        texts.extend(["0.00000000000000000000001", "0.30000000000000004", "123456789012345678.5"].map(str::to_owned));
        for _ in 0..20_000 {
            let number: f64 = rng.random_range(-1.0..1.0) * 10f64.powi(rng.random_range(-8..9));
            texts.push(format!("{number}"));
            texts.push(format!("{number:.*}", rng.random_range(1..20)));
        }
        for text in texts {
            let number = Cursor { bytes: text.as_bytes(), at: 0 }.number().unwrap();
            assert_eq!(number.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
        }
    }

    #[test]
    fn eight_digits_are_those_of_a_number_and_nothing_else_is() {
        let rng = &mut StdRng::seed_from_u64(32);
        for _ in 0..1000 {
            let number: u64 = rng.random_range(0..100_000_000);
            let text: [u8; 8] = format!("{number:08}").into_bytes().try_into().unwrap();
            assert_eq!(eight_digits(text), Some(number));
        }
        for byte in 0..=u8::MAX {
            for place in 0..8 {
                let mut text = *b"90817263";
                text[place] = byte;
                assert_eq!(eight_digits(text).is_some(), byte.is_ascii_digit(), "{byte} in place {place}");
            }
        }
    }

    #[test]
    fn lines_that_differ_in_numbers_alone_are_taken_apart_as_others_are() {
        let line = |p: &str, n: &str, value: &str| {
            format!(
                "{{\"params\":{{\"p\":{p},\"n\": {n}}},\"metric\":\"time\",\"callpath\":\"a\",\"value\":{value}}}\n"
            )
            .into_bytes()
        };
        let mut numbers = Numbers::default();
        let mut template = Template::default();
        assert!(template.fit(&line("1", "2", "3"), 2, b"", &mut numbers).is_none());
        let first = line("1", "2", "[3,4.5]");
        parse(&first, "params", &names(), &mut numbers).unwrap();
        template.learn(&first, &numbers);
        for (p, n, value) in [("128", "-7e2", "[0.25,1E-3]"), ("1", "2", "[3,4.5]")] {
            let line = line(p, n, value);
            let found = template.fit(&line, 2, b"", &mut numbers).unwrap();
            assert!(!found.are_expected);
            assert_eq!(found.written, format!("{p},\"n\": {n}").as_bytes());
            let quick = (numbers.coordinates.clone(), numbers.values.clone());
            parse(&line, "params", &names(), &mut numbers).unwrap();
            assert_eq!(quick, (numbers.coordinates.clone(), numbers.values.clone()));
        }
        // Coordinates that are expected are not taken apart; others are, those too that begin as they do.
        for (n, are_expected) in [("20", true), ("200", false), ("20.5", false), ("2", false), ("21", false)] {
            let line = line("8", n, "[0.25,7]");
            let found = template.fit(&line, 2, b"8,\"n\": 20", &mut numbers).unwrap();
            assert_eq!((found.are_expected, found.written), (are_expected, format!("8,\"n\": {n}").as_bytes()));
            assert_eq!(numbers.values, [0.25, 7.0]);
            let taken_apart = if are_expected { vec![] } else { vec![8.0, n.parse().unwrap()] };
            assert_eq!(numbers.coordinates, taken_apart);
        }
        let others = [line("1", "2", "3"), line("1", "2", "[3]"), line("1", "2", "[3,4,5]"), line("1", "2", "[3,04]")];
        for other in others.iter().chain([&first[..first.len() - 1].to_vec(), &[first.as_slice(), b" "].concat()]) {
            for expected in [b"".as_slice(), b"1,\"n\": 2"] {
                assert!(template.fit(other, 2, expected, &mut numbers).is_none(), "{}", String::from_utf8_lossy(other));
            }
        }
        template.forget();
        assert!(template.fit(&first, 2, b"", &mut numbers).is_none());
        // Values before coordinates are not learned.
        let swapped = br#"{"value":3,"params":{"p":1,"n":2},"metric":"time","callpath":"a"}"#;
        parse(swapped, "params", &names(), &mut numbers).unwrap();
        template.learn(swapped, &numbers);
        assert!(template.fit(swapped, 2, b"", &mut numbers).is_none());
    }

    #[test]
    fn whatever_is_unusual_is_left_to_the_general_parser() {
        let with = |point: &str, rest: &str| {
            format!(r#"{{"params":{{{point}}},"metric":"time","callpath":"a","value":{rest}"#).into_bytes()
        };
        let good = r#""p":1,"n":2"#;
        assert!(parse(&with(good, "3}\r\n"), "params", &names(), &mut Numbers::default()).is_some());
        for line in [
            with(r#""n":2,"p":1"#, "3}"),
            with(r#""p":1"#, "3}"),
            with(r#""p":1,"n":2,"m":3"#, "3}"),
            with(good, "03}"),
            with(good, "-}"),
            with(good, "1.}"),
            with(good, "1e}"),
            with(good, "+1}"),
            with(good, "9007199254740993}"),
            with(good, "1e999}"),
            with(good, "NaN}"),
            with(good, "[]}"),
            with(good, "[1,]}"),
            with(good, "3,}"),
            with(good, "3} x"),
            with(good, "3}\x0c\n"),
            with(good, "3"),
            with(good, "3,\"value\":3}"),
            with(good, "3,\"other\":3}"),
            with(good, "3,\"callpath\\n\":3}"),
            "{\"params\":{\"p\":1,\"n\":2},\"metric\":\"t\",\"callpath\":\"\u{e9}\",\"value\":1}".into(),
        ] {
            let text = String::from_utf8_lossy(&line).into_owned();
            assert!(parse(&line, "params", &names(), &mut Numbers::default()).is_none(), "{text}");
        }
    }
}
