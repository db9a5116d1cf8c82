//! What the readers of JSON share: looking at the beginning of a document, and finding the place of a value that a
//! parsed document no longer knows.

use super::collect::{Collector, written_loses_digits};
use super::error::{Place, ReadError};
use super::record::json_error;
use super::source::position;

/// Whether the first character that is no blank opens an object.
pub(crate) fn is_json_object(head: &[u8]) -> bool {
    let head = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head);
    head.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{')
}

/// Keys of the outermost object of `head`, as far as it goes. `;` counts as a separator, for TaLPas.
pub(crate) fn first_object_keys(head: &[u8]) -> Vec<String> {
    let mut scanner = Scanner { bytes: head, at: head.iter().position(|&b| b == b'{').map_or(head.len(), |i| i + 1) };
    let mut keys = Vec::new();
    while let Some(key) = scanner.key() {
        keys.push(key);
        if scanner.skip_value().is_none() {
            break;
        }
    }
    keys
}

/// The text of the string that `key` has in the outermost object, if it is a string without escapes within `head`.
pub(crate) fn first_object_string(head: &[u8], key: &str) -> Option<String> {
    let mut scanner = Scanner { bytes: head, at: head.iter().position(|&b| b == b'{')? + 1 };
    while let Some(found) = scanner.key() {
        scanner.skip_blanks();
        if found == key {
            return scanner.string();
        }
        scanner.skip_value()?;
    }
    None
}

/// A step into a document.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'a> {
    /// The member of an object.
    Key(&'a str),
    /// The element of an array.
    Index(usize),
    /// The member of an object by its place, where keys may stand twice or hold escapes.
    Member(usize),
}

/// A document whose values can be found again.
pub(crate) struct Document<'a> {
    /// Its name in messages.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
}

impl Document<'_> {
    /// Line and column of the value that `steps` lead to, or of the last one on the way that exists.
    pub fn place(&self, steps: &[Step]) -> Place {
        let (line, column) = position(self.text.as_bytes(), offset(self.text.as_bytes(), steps));
        Place::at(self.name, line, column)
    }

    /// The error `what` at the value that `steps` lead to.
    pub fn error(&self, steps: &[Step], what: impl Into<String>) -> ReadError {
        ReadError::malformed(self.place(steps), what)
    }

    /// Tells `into` of whole numbers in these members of the outermost object that no double stands for.
    pub fn warn_of_lost_digits(&self, members: &[&str], into: &mut Collector) {
        let text = self.text.as_bytes();
        let mut first = None;
        for offset in members.iter().flat_map(|member| lost_digits(text, member)) {
            let (line, column) = *first.get_or_insert_with(|| position(text, offset));
            into.warn_of_lost_digits(&Place::at(self.name, line, column));
        }
    }

    /// The document as a `T`.
    pub fn parse<'de, T: serde::Deserialize<'de>>(&'de self) -> Result<T, ReadError> {
        serde_json::from_str(self.text).map_err(|e| {
            let error = json_error(self.name, 1, 0, self.text.as_bytes(), &e);
            if e.is_eof() { error.cut_off() } else { error }
        })
    }
}

/// Where in this member of the outermost object of JSON text whole numbers begin that no double stands for.
pub(crate) fn lost_digits<'a>(text: &'a [u8], member: &str) -> impl Iterator<Item = usize> + use<'a> {
    let mut scanner = Scanner { bytes: text, at: 0 };
    scanner.skip_blanks();
    let found = scanner.enter(Step::Key(member));
    let start = scanner.at;
    let _ = found.and_then(|()| scanner.skip_value());
    let text = &text[..if found.is_some() { scanner.at } else { start }];
    let mut scanner = Scanner { bytes: text, at: start };
    std::iter::from_fn(move || {
        loop {
            match scanner.peek()? {
                b'"' => drop(scanner.string()?),
                b'0'..=b'9' | b'-' => {
                    let start = scanner.at;
                    let is_number = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                    scanner.at += text[start..].iter().take_while(is_number).count();
                    let number = std::str::from_utf8(&text[start..scanner.at]).unwrap_or_default();
                    // 2^53 has 16 digits.
                    if number.len() >= 16 && written_loses_digits(number) {
                        return Some(start);
                    }
                }
                _ => scanner.at += 1,
            }
        }
    })
}

/// Where in a document the value begins that `steps` lead to, or the last one on the way that exists.
pub(crate) fn offset(text: &[u8], steps: &[Step]) -> usize {
    let mut scanner = Scanner { bytes: text, at: 0 };
    scanner.skip_blanks();
    let mut offset = scanner.at;
    for step in steps {
        if scanner.enter(*step).is_none() {
            break;
        }
        offset = scanner.at;
    }
    offset
}

/// Walks through JSON text without understanding numbers. Nothing is returned where the text ends or makes no sense.
struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// Skips blanks and separators.
    fn skip_separators(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace() || matches!(b, b',' | b';')) {
            self.at += 1;
        }
    }

    /// The raw text of a string, and steps behind it.
    fn string(&mut self) -> Option<String> {
        if self.peek()? != b'"' {
            return None;
        }
        let start = self.at + 1;
        let mut end = start;
        while *self.bytes.get(end)? != b'"' {
            end += if self.bytes[end] == b'\\' { 2 } else { 1 };
        }
        self.at = end + 1;
        Some(String::from_utf8_lossy(&self.bytes[start..end]).into_owned())
    }

    /// The next key of an object, and steps behind its colon.
    fn key(&mut self) -> Option<String> {
        self.skip_separators();
        let key = self.string()?;
        self.skip_blanks();
        (self.peek()? == b':').then(|| self.at += 1)?;
        Some(key)
    }

    /// Steps behind the value here, whatever it is.
    fn skip_value(&mut self) -> Option<()> {
        self.skip_blanks();
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'"' => {
                    self.string()?;
                }
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' if depth == 0 => return Some(()),
                b'}' | b']' => {
                    depth -= 1;
                    self.at += 1;
                }
                b',' | b';' if depth == 0 => return Some(()),
                _ => {
                    self.at += 1;
                    continue;
                }
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    /// Steps from the beginning of a container to the beginning of one of its values.
    fn enter(&mut self, step: Step) -> Option<()> {
        let open = match step {
            Step::Key(_) | Step::Member(_) => b'{',
            Step::Index(_) => b'[',
        };
        (self.peek()? == open).then(|| self.at += 1)?;
        match step {
            Step::Key(wanted) => {
                while self.key()? != wanted {
                    self.skip_value()?;
                }
            }
            Step::Member(index) => {
                for _ in 0..index {
                    self.key()?;
                    self.skip_value()?;
                }
                self.key()?;
            }
            Step::Index(index) => {
                for _ in 0..index {
                    self.skip_separators();
                    self.skip_value()?;
                }
                self.skip_separators();
            }
        }
        self.skip_blanks();
        (!matches!(self.peek(), None | Some(b']' | b'}'))).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_no_double_stands_for_are_found_outside_of_strings() {
        let text = br#"{"9007199254740993": [9007199254740992, -9007199254740993, 9007199254740993.0, "9007199254740993", 18446744073709551617], "job": 9007199254740995}"#;
        let found: Vec<usize> = lost_digits(text, "9007199254740993").collect();
        let at = |number: &str| text.windows(number.len()).position(|w| w == number.as_bytes()).unwrap();
        assert_eq!(found, [at("-9007199254740993"), at("18446744073709551617")]);
        assert_eq!(lost_digits(text, "jo").count(), 0);
        assert_eq!(lost_digits(b"{\"a\": [1, \"9007199254740993", "a").count(), 0);
    }

    #[test]
    fn places_are_found_through_strings_that_look_like_structure() {
        let text = "{\n  \"a\": \"}],{\\\"\",\n  \"list\": [1, [2, 3],\n    {\"x\": true}]\n}";
        let document = Document { name: "d", text };
        let place = document.place(&[Step::Key("list"), Step::Index(2), Step::Key("x")]);
        assert_eq!(place.to_string(), "d:4:11");
        // What does not exist is where the way ends.
        assert_eq!(document.place(&[Step::Key("list"), Step::Index(9)]).to_string(), "d:3:11");
        assert_eq!(document.place(&[Step::Member(1), Step::Index(1)]).to_string(), "d:3:15");
        assert_eq!(document.place(&[Step::Member(2)]).to_string(), "d:1:1");
    }

    #[test]
    fn keys_are_those_of_the_outermost_object_even_when_it_is_cut_off() {
        let head = br#" {"parameters": {"x": 1}; "metric":"t;{"; "value": [1, 2"#;
        assert_eq!(first_object_keys(head), ["parameters", "metric", "value"]);
        assert_eq!(first_object_string(br#"{"a": [1], "schema": "s/t", "z": 0}"#, "schema").as_deref(), Some("s/t"));
    }
}
