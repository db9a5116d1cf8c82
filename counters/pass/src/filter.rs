//! Which functions are call paths, by a file in the format of Score-P's filters.
//!
//! `SCOREP_REGION_NAMES_BEGIN` … `SCOREP_REGION_NAMES_END` hold rules for functions' names, `SCOREP_FILE_NAMES_BEGIN` …
//! `SCOREP_FILE_NAMES_END` for their source files. A rule is EXCLUDE or INCLUDE and patterns behind it; the last rule
//! with a pattern that matches decides, and what none matches is left to the rule for small functions. Patterns are the
//! shell's: `*`, `?`, `[a-z]`, `[!a-z]`, and `\` before a character that stands for itself. Those behind MANGLED are
//! compared with the linker's names, others with the names that people read, with and without the list of arguments. A comment
//! goes from `#` to the end of its line.

use std::fmt;
use std::path::Path;

/// What a filter says of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A rule excludes it: its blocks count for its caller.
    Excluded,
    /// A rule includes it by name: it is a call path, however small.
    Included,
    /// No rule is about it.
    Open,
}

/// What is wrong in a filter file, and where.
#[derive(Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Line, from 1.
    line: usize,
    /// Column in characters, from 1.
    column: usize,
    what: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.what)
    }
}

/// A pattern of a rule.
#[derive(Debug)]
struct Rule {
    pattern: Vec<Part>,
    includes: bool,
    /// Whether it is for the linker's names.
    mangled: bool,
}

/// A filter file's rules.
#[derive(Debug, Default)]
pub struct Filter {
    names: Vec<Rule>,
    files: Vec<Rule>,
}

/// A part of a pattern.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    /// This character.
    One(char),
    /// Any character.
    Any,
    /// Any characters, or none.
    Some,
    /// A character of these ranges, or none of them.
    Of(Vec<(char, char)>, bool),
}

const NAMES: [&str; 2] = ["SCOREP_REGION_NAMES_BEGIN", "SCOREP_REGION_NAMES_END"];
const FILES: [&str; 2] = ["SCOREP_FILE_NAMES_BEGIN", "SCOREP_FILE_NAMES_END"];

/// A word of a filter file.
struct Word {
    text: String,
    line: usize,
    column: usize,
}

impl Word {
    fn mistake(&self, what: impl Into<String>) -> Mistake {
        Mistake { line: self.line, column: self.column, what: what.into() }
    }
}

impl Filter {
    /// Reads a filter file.
    ///
    /// # Errors
    /// The file cannot be read, or what is wrong in it: `file:line:column: what`.
    pub fn read(file: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        Self::parse(&text).map_err(|mistake| format!("{}:{mistake}", file.display()))
    }

    /// Reads a filter's text.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn parse(text: &str) -> Result<Self, Mistake> {
        let mut filter = Self::default();
        let mut words = words(text).into_iter();
        while let Some(begin) = words.next() {
            let (end, list) = match begin.text.as_str() {
                word if word == NAMES[0] => (NAMES[1], &mut filter.names),
                word if word == FILES[0] => (FILES[1], &mut filter.files),
                word => return Err(begin.mistake(format!("expected {} or {}, found \"{word}\"", NAMES[0], FILES[0]))),
            };
            block(&begin, end, &mut words, list)?;
        }
        Ok(filter)
    }

    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.files.is_empty()
    }

    /// What the rules say of a function with these names for people, its linker name and the names of its source file, if that is known.
    pub fn verdict(&self, names: &[String], linker_name: &str, files: &[String]) -> Verdict {
        let by_file = last(&self.files, |rule| files.iter().any(|file| matches(&rule.pattern, file)));
        if by_file == Some(false) {
            return Verdict::Excluded;
        }
        let by_name = last(&self.names, |rule| match rule.mangled {
            true => matches(&rule.pattern, linker_name),
            false => names.iter().any(|name| matches(&rule.pattern, name)),
        });
        match by_name {
            Some(true) => Verdict::Included,
            Some(false) => Verdict::Excluded,
            None => Verdict::Open,
        }
    }
}

/// Whether the last of the rules that apply includes; `None` where none does.
fn last(rules: &[Rule], applies: impl Fn(&Rule) -> bool) -> Option<bool> {
    rules.iter().rev().find(|rule| applies(rule)).map(|rule| rule.includes)
}

/// The rules of a block up to its `end`.
fn block(
    begin: &Word,
    end: &str,
    words: &mut impl Iterator<Item = Word>,
    rules: &mut Vec<Rule>,
) -> Result<(), Mistake> {
    // The word that began the current rule, whether it includes, and whether a pattern has followed.
    let mut current: Option<(Word, bool, bool)> = None;
    let mut mangled = false;
    let check = |current: &Option<(Word, bool, bool)>| match current {
        Some((word, _, false)) => Err(word.mistake(format!("expected a pattern behind {}", word.text))),
        _ => Ok(()),
    };
    for word in words {
        match word.text.as_str() {
            text if text == end => return check(&current),
            text @ ("EXCLUDE" | "INCLUDE") => {
                check(&current)?;
                let includes = text == "INCLUDE";
                (current, mangled) = (Some((word, includes, false)), false);
            }
            "MANGLED" if end == NAMES[1] && current.is_some() => mangled = true,
            text if NAMES.contains(&text) || FILES.contains(&text) => {
                return Err(word.mistake(format!("expected {end}, found {text}")));
            }
            _ => {
                let Some((_, includes, has_pattern)) = &mut current else {
                    return Err(word.mistake(format!("expected EXCLUDE, INCLUDE or {end}, found \"{}\"", word.text)));
                };
                *has_pattern = true;
                rules.push(Rule { pattern: pattern(&word)?, includes: *includes, mangled });
            }
        }
    }
    Err(begin.mistake(format!("{} has no {end}", begin.text)))
}

/// The words of a filter file, without comments. A backslash keeps what follows it in the word, blanks and `#` too.
fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    for (line, content) in text.lines().enumerate() {
        let mut is_open = false;
        let mut characters = content.chars().enumerate();
        while let Some((column, character)) = characters.next() {
            match character {
                '#' if !is_open => break,
                character if character.is_whitespace() => is_open = false,
                character => {
                    if !is_open {
                        words.push(Word { text: String::new(), line: line + 1, column: column + 1 });
                        is_open = true;
                    }
                    if let Some(word) = words.last_mut() {
                        word.text.push(character);
                        if character == '\\' {
                            word.text.extend(characters.next().map(|(_, character)| character));
                        }
                    }
                }
            }
        }
    }
    words
}

/// The pattern that a word is.
fn pattern(word: &Word) -> Result<Vec<Part>, Mistake> {
    let mut parts = Vec::new();
    let text: Vec<char> = word.text.chars().collect();
    let mistake = |at: usize, what: &str| Mistake { line: word.line, column: word.column + at, what: what.to_owned() };
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            '*' => parts.push(Part::Some),
            '?' => parts.push(Part::Any),
            '\\' => {
                at += 1;
                let kept = text.get(at).ok_or_else(|| mistake(at - 1, "expected a character behind \"\\\""))?;
                parts.push(Part::One(*kept));
            }
            '[' => {
                let (part, next) = set(&text, at + 1)
                    .ok_or_else(|| mistake(at, "\"[\" has no \"]\"; write \"\\[\" for the character itself"))?;
                parts.push(part);
                at = next;
            }
            character => parts.push(Part::One(character)),
        }
        at += 1;
    }
    Ok(parts)
}

/// The set of characters from `at`, behind its bracket, and where its closing bracket is.
fn set(text: &[char], mut at: usize) -> Option<(Part, usize)> {
    let is_not = matches!(text.get(at), Some('!' | '^'));
    at += usize::from(is_not);
    let mut ranges = Vec::new();
    loop {
        let from = *text.get(at)?;
        // A closing bracket that is the first of the set belongs to it.
        if from == ']' && !ranges.is_empty() {
            return Some((Part::Of(ranges, is_not), at));
        }
        let range = text.get(at + 1) == Some(&'-') && text.get(at + 2).is_some_and(|&to| to != ']');
        let to = if range { *text.get(at + 2)? } else { from };
        ranges.push((from, to));
        at += if range { 3 } else { 1 };
    }
}

/// Whether the pattern is all of `text`. Without recursion: where a part does not fit, the last `*` takes one character more.
fn matches(pattern: &[Part], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut part) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while at < text.len() || part < pattern.len() {
        match pattern.get(part) {
            Some(Part::Some) => {
                retry = Some((part, at));
                part += 1;
                continue;
            }
            Some(one) if text.get(at).is_some_and(|&character| fits(one, character)) => {
                (at, part) = (at + 1, part + 1);
                continue;
            }
            _ => {}
        }
        match retry {
            Some((star, from)) if from < text.len() => {
                retry = Some((star, from + 1));
                (at, part) = (from + 1, star + 1);
            }
            _ => return false,
        }
    }
    true
}

fn fits(part: &Part, character: char) -> bool {
    match part {
        Part::One(one) => *one == character,
        Part::Any => true,
        Part::Of(ranges, is_not) => ranges.iter().any(|(from, to)| (*from..=*to).contains(&character)) != *is_not,
        Part::Some => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(name: &str) -> Vec<String> {
        vec![name.to_owned()]
    }

    /// The verdict on a function of C.
    fn of(filter: &str, name: &str) -> Verdict {
        Filter::parse(filter).unwrap().verdict(&names(name), name, &[])
    }

    #[test]
    fn the_last_rule_that_matches_decides() {
        let filter = "# small ones\nSCOREP_REGION_NAMES_BEGIN\n  EXCLUDE *\n  INCLUDE solve_* # but not\n\tmain\nEXCLUDE solve_?\n\
            SCOREP_REGION_NAMES_END";
        let verdicts = ["f", "solve_all", "solve_x", "main", "solve_", "resolve_all"].map(|name| of(filter, name));
        use Verdict::{Excluded, Included};
        assert_eq!(verdicts, [Excluded, Included, Excluded, Included, Included, Excluded]);
        assert_eq!(of("SCOREP_REGION_NAMES_BEGIN EXCLUDE g SCOREP_REGION_NAMES_END", "f"), Verdict::Open);
        assert_eq!(of("", "f"), Verdict::Open);
    }

    #[test]
    fn patterns_are_those_of_the_shell() {
        let cases = [
            ("*", "", true),
            ("a*b*c", "abbbc", true),
            ("a*b*c", "abbb", false),
            ("*ab", "aab", true),
            ("a?c", "ac", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[^a-c]x", "dx", true),
            ("[]x]", "]", true),
            ("[a-]", "-", true),
            ("operator\\[\\]", "operator[]", true),
            ("a\\*", "ab", false),
            ("a\\ b", "a b", true),
            ("\\#1", "#1", true),
            ("f#1", "f#1", true),
            ("ä?", "äö", true),
            ("*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
        ];
        for (pattern, name, expected) in cases {
            let filter = format!("SCOREP_REGION_NAMES_BEGIN\nEXCLUDE {pattern}\nSCOREP_REGION_NAMES_END");
            assert_eq!(of(&filter, name) == Verdict::Excluded, expected, "{pattern} {name}");
        }
    }

    #[test]
    fn linker_names_and_files_have_rules_of_their_own() {
        let text = "SCOREP_FILE_NAMES_BEGIN EXCLUDE */vendor/* SCOREP_FILE_NAMES_END
            SCOREP_REGION_NAMES_BEGIN EXCLUDE MANGLED _ZN1a* INCLUDE a::keep* EXCLUDE grid::at SCOREP_REGION_NAMES_END";
        let filter = Filter::parse(text).unwrap();
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let verdict = |names: &[&str], linker: &str, file: Option<&str>| {
            filter.verdict(&owned(names), linker, &owned(file.as_slice()))
        };
        assert_eq!(verdict(&["a::f", "a::f(int)"], "_ZN1a1fEi", None), Verdict::Excluded);
        assert_eq!(verdict(&["a::keep", "a::keep(int)"], "_ZN1a4keepEi", Some("src/a.cc")), Verdict::Included);
        assert_eq!(verdict(&["a::keep"], "_ZN1a4keepEi", Some("x/vendor/a.cc")), Verdict::Excluded);
        assert_eq!(verdict(&["grid::at", "grid::at(int) const"], "_ZNK4grid2atEi", None), Verdict::Excluded);
        assert_eq!(verdict(&["_ZN1a"], "b", None), Verdict::Open);
    }

    #[test]
    fn mistakes_have_a_place_and_say_what_was_expected() {
        let cases = [
            ("EXCLUDE f", 1, 1, "expected SCOREP_REGION_NAMES_BEGIN or"),
            ("\n  SCOREP_REGION_NAMES_BEGIN\nEXCLUDE f\n", 2, 3, "has no SCOREP_REGION_NAMES_END"),
            ("SCOREP_REGION_NAMES_BEGIN\n f", 2, 2, "expected EXCLUDE, INCLUDE or SCOREP_REGION_NAMES_END"),
            (
                "SCOREP_REGION_NAMES_BEGIN EXCLUDE\nINCLUDE f SCOREP_REGION_NAMES_END",
                1,
                27,
                "expected a pattern behind EXCLUDE",
            ),
            ("SCOREP_REGION_NAMES_BEGIN\nEXCLUDE fä[ab SCOREP_REGION_NAMES_END", 2, 11, "has no \"]\""),
            ("SCOREP_REGION_NAMES_BEGIN\nSCOREP_FILE_NAMES_END", 2, 1, "expected SCOREP_REGION_NAMES_END"),
            ("SCOREP_REGION_NAMES_BEGIN MANGLED f SCOREP_REGION_NAMES_END", 1, 27, "expected EXCLUDE, INCLUDE"),
            ("SCOREP_REGION_NAMES_BEGIN EXCLUDE a\\", 1, 36, "expected a character behind"),
        ];
        for (text, line, column, what) in cases {
            let mistake = Filter::parse(text).unwrap_err();
            assert_eq!((mistake.line, mistake.column), (line, column), "{text}: {mistake}");
            assert!(mistake.to_string().contains(what), "{mistake}");
        }
    }
}
