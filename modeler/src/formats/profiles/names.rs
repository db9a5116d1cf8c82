//! Parameters in the names of files and folders: Extra-P's scheme `prefix.p4.n10.r1`, or a pattern that the user gives.

use std::collections::BTreeSet;
use std::path::Path;

use crate::formats::error::{ErrorKind, Place, ReadError};
use crate::formats::tables::is_parameter;

/// What a name says about its run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Said {
    /// Parameters in the order in which they stand there.
    pub parameters: Vec<(String, f64)>,
    /// Which repetition of its point the run is.
    pub repetition: Option<u32>,
    /// Parameters whose numbers have a suffix such as K, which may stand for 1000 or for 1024: these are not in `parameters`.
    pub unclear: Vec<String>,
    /// The letters of what stands before the first parameter.
    pub prefix: String,
}

impl Said {
    /// The parameters in an order of their own.
    pub fn point(&self) -> Vec<(&str, u64)> {
        let mut point: Vec<(&str, u64)> = self.parameters.iter().map(|(n, v)| (n.as_str(), v.to_bits())).collect();
        point.sort_unstable();
        point
    }

    /// The parameters' names.
    pub fn names(&self) -> BTreeSet<String> {
        self.parameters.iter().map(|(name, _)| name.clone()).collect()
    }

    /// The first parameter that is said twice.
    pub fn twice(&self) -> Option<String> {
        let names: Vec<&String> = self.parameters.iter().map(|(name, _)| name).collect();
        names.iter().enumerate().find_map(|(i, name)| names[..i].contains(name).then(|| (*name).clone()))
    }
}

/// Extra-P's scheme: what follows the first dot, up to a last part `.r` with a number, is names and numbers in turn.
/// Decimal commas are allowed, so are separators between the parts. Without any name and number it says nothing.
/// Without a dot, what stands before a single letter and its number is the prefix, as in `app_p4_n10`.
/// A number behind `run` or the like is the repetition, and one that only tells files apart is nothing.
pub(crate) fn extrap(name: &str) -> Said {
    if is_drawn(name) {
        return Said::default();
    }
    if let Some((body, repetition)) = repeated(name, ".r") {
        return said_by(body, repetition).0;
    }
    // Behind other separators it may be a parameter, unless others are there for certain.
    let beside = |mark| {
        let (body, repetition) = repeated(name, mark)?;
        let (said, is_certain) = said_by(body, repetition);
        is_certain.then_some(said)
    };
    ["_r", "-r"].into_iter().find_map(beside).unwrap_or_else(|| said_by(name, None).0)
}

/// What stands before a last part of `mark` and a number, and that number, if it is one for repetitions.
fn repeated<'a>(name: &'a str, mark: &str) -> Option<(&'a str, Option<u32>)> {
    let (body, digits) = name.rsplit_once(mark)?;
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then(|| (body, digits.parse().ok()))
}

/// What a name without its repetition says, and whether that are parameters for certain.
fn said_by(body: &str, repetition: Option<u32>) -> (Said, bool) {
    let after = body.split_once('.').map(|(prefix, after)| (prefix, Numbers::of(after, false)));
    let (prefix, told) = match after {
        Some((prefix, told)) if told.says_some() => (prefix, told),
        after => {
            let whole = Numbers::of(body, true);
            match after {
                // Before the dot may stand a name with a number of its own, as in `lulesh2.run3`.
                Some((prefix, told)) if told.run.is_some() && !whole.is_certain() => (prefix, told),
                _ => (whole.prefix, whole),
            }
        }
    };
    let repetition = repetition.or(told.run).filter(|_| told.says_some());
    let prefix = prefix.chars().filter(|c| c.is_alphabetic()).collect();
    let is_certain = told.is_certain();
    (Said { parameters: told.parameters, repetition, unclear: told.unclear, prefix }, is_certain)
}

/// The error that nobody can tell which number `unclear` is, such as `n512K`.
pub(crate) fn unclear(place: Place, unclear: &str) -> ReadError {
    let pattern = pattern_of(&place.file, unclear);
    let what = format!("the suffix of `{unclear}` in its name may stand for powers of 1000 or of 1024");
    ReadError::new(ErrorKind::NotRecognised, place, what)
        .expected("numbers without a suffix, such as n512 or n5.12e5")
        .advice(format!("Change the names, or, where all have one suffix, describe them with --pattern '{pattern}'"))
}

/// The pattern that finds the number of `unclear`, such as `size16k`, in `path`, such as `runs/size-16k`.
fn pattern_of(path: &str, unclear: &str) -> String {
    let digits = unclear.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
    let (name, number) = unclear.split_at(digits);
    let suffix = number.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    // A suffix is one letter; what follows is a name behind the number, as in `4Kranks`.
    let (letter, behind) = suffix.split_at(suffix.chars().next().map_or(0, char::len_utf8));
    let parameter = [behind, name, "n"].into_iter().find(|s| !s.is_empty() && s.chars().all(char::is_alphabetic));
    let component = path.split('/').rev().find(|c| c.contains(number)).unwrap_or(unclear);
    let before = component.split_once(number).map_or("", |(before, _)| before);
    let is_name = |c: char| c.is_alphanumeric() || "-_".contains(c);
    let before = before.rsplit(|c: char| !is_name(c)).next().unwrap_or_default();
    format!(
        "*{}{{{}}}{letter}{behind}*",
        before.trim_start_matches(|c: char| c.is_ascii_digit()),
        parameter.unwrap_or("n")
    )
}

/// The single letter that a name ends in behind `_` or `-`, or else the name.
fn unprefixed(name: &str) -> &str {
    let last = name.rsplit(['_', '-']).next().unwrap_or(name);
    if last.len() == 1 && last.bytes().all(|b| b.is_ascii_alphabetic()) { last } else { name }
}

/// The first part of a name that tells runs or files apart and is no parameter, such as `run1`.
pub(crate) fn telling_apart(name: &str) -> Option<String> {
    Numbers::of(name, true).apart
}

/// Words before the number of a run.
const RUNS: [&str; 5] = ["run", "rep", "repetition", "repeat", "trial"];
/// Words before numbers that say nothing of a run but which it is.
const FILES: [&str; 9] = ["profile", "prof", "output", "result", "report", "trace", "job", "slurm", "pid"];

/// The numbers in a name.
#[derive(Default)]
struct Numbers<'a> {
    parameters: Vec<(String, f64)>,
    /// See [`Said::unclear`].
    unclear: Vec<String>,
    /// What stands before the first of them.
    prefix: &'a str,
    /// The number behind a word for a run.
    run: Option<u32>,
    /// See [`telling_apart`].
    apart: Option<String>,
}

impl<'a> Numbers<'a> {
    /// Those in `body`, which may begin with a prefix.
    fn of(body: &'a str, is_prefixed: bool) -> Self {
        let mut numbers = Self::default();
        let mut rest = body;
        while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
            let before = rest[..start].trim_matches(|c: char| !c.is_alphanumeric());
            let number = &rest[start..];
            let end = number.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(number.len());
            if let Some(length) = cache_level(&rest[..start], &number[..end], &number[end..]) {
                rest = &number[end + length..];
                continue;
            }
            let end = end + exponent(&number[..end], &number[end..]);
            let text = number[..end].trim_end_matches(['.', ',']).replace(',', ".");
            let after = &number[end..];
            // What stands apart from the number says nothing of it where a word behind it does, nor does a word for runs or files
            // where the other one touches the number.
            let is_apart = !rest[..start].ends_with(char::is_alphanumeric);
            let is_free = is_apart || tells_apart(&last_word(before)) && after.starts_with(char::is_alphabetic);
            let unit = counted(after).filter(|_| is_free);
            let is_first = is_prefixed && rest.len() == body.len();
            let name = match unit {
                Some((parameter, _)) => parameter,
                None if is_first => unprefixed(before),
                None => before,
            };
            if is_first {
                numbers.prefix = if unit.is_some() { before } else { before.strip_suffix(name).unwrap_or_default() };
            }
            let length = unit.map_or_else(|| suffix(after), |(_, length)| length);
            numbers.add(name, &text, if unit.is_some() { "" } else { &after[..length] });
            rest = &after[length..];
        }
        numbers
    }

    /// Adds the number `text` behind `name`, and with a suffix that may mean several numbers.
    fn add(&mut self, name: &str, text: &str, suffix: &str) {
        let last = last_word(name);
        if tells_apart(&last) {
            let is_run = RUNS.contains(&last.as_str());
            self.run = self.run.or_else(|| text.parse().ok().filter(|_| is_run));
            self.apart.get_or_insert_with(|| format!("{last}{text}"));
            return;
        }
        match text.parse::<f64>() {
            // A word for what is counted is name enough, as in `4Kranks`.
            Ok(value) if !suffix.is_empty() && value != 0.0 && !(name.is_empty() && unit(&suffix[1..]).is_none()) => {
                self.unclear.push(format!("{name}{text}{suffix}"));
            }
            Ok(value) if !name.is_empty() && value.is_finite() => self.parameters.push((name.to_owned(), value)),
            _ => {}
        }
    }

    fn says_some(&self) -> bool {
        !self.parameters.is_empty() || !self.unclear.is_empty()
    }

    /// Whether one of the parameters is called as parameters are: by a single letter, or by a word for parameters.
    fn is_certain(&self) -> bool {
        let is_one = |name: &str| name.len() == 1 || is_parameter(name);
        !self.unclear.is_empty() || self.parameters.iter().any(|(name, _)| is_one(&last_word(name)))
    }
}

/// The last word of a name, in small letters.
fn last_word(name: &str) -> String {
    name.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_ascii_lowercase()
}

/// Whether the number behind this word tells runs or files apart.
fn tells_apart(word: &str) -> bool {
    RUNS.contains(&word) || FILES.contains(&word)
}

/// How much of `after` is the exponent of the number `digits`, as in `1e3`; where more letters or decimals follow, `e` is a parameter.
fn exponent(digits: &str, after: &str) -> usize {
    let Some(power) = after.strip_prefix(['e', 'E']).filter(|_| digits.ends_with(|c: char| c.is_ascii_digit())) else {
        return 0;
    };
    let unsigned = power.strip_prefix(['+', '-']).unwrap_or(power);
    let behind = unsigned.trim_start_matches(|c: char| c.is_ascii_digit());
    let goes_on = behind.starts_with(char::is_alphanumeric)
        || behind.strip_prefix(['.', ',']).is_some_and(|b| b.starts_with(|c: char| c.is_ascii_digit()));
    if behind.len() == unsigned.len() || goes_on { 0 } else { after.len() - behind.len() }
}

/// How long the suffix is that `after`, which stands behind a number, begins with: `K`, `MB`, `GiB` or the like, which may mean several
/// numbers, also before the word or the name of the next parameter that it touches, as in `4Kranks` and `512Kp4`.
fn suffix(after: &str) -> usize {
    let length = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
    let (letters, behind) = after.split_at(length);
    let Some(rest) = letters.strip_prefix(['K', 'k', 'M', 'G', 'T']) else { return 0 };
    let is_name = behind.trim_start_matches('=').starts_with(|c: char| c.is_ascii_digit());
    // In small letters such a word is a name, as in `nx64ky32`.
    let is_next = is_name && !letters.starts_with('k') && matches!(rest, "p" | "n");
    let is_whole = !is_name && (matches!(rest, "" | "i" | "B" | "b" | "iB" | "ib") || unit(rest).is_some());
    match (is_whole, is_next) {
        (true, _) => length,
        (_, true) => 1,
        _ => 0,
    }
}

/// Whether Caliper chose the name: `230525-151723_1930647_FSY8b8cKSEEi`, which is date, time, process and twelve random letters and digits.
fn is_drawn(name: &str) -> bool {
    let digits = |part: &str, count| part.len() == count && part.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<&str> = name.splitn(3, ['-', '_']).collect();
    let [date, time, rest] = parts[..] else { return false };
    let Some((process, random)) = rest.split_once('_') else { return false };
    let is_random = random.len() == 12 && random.bytes().all(|b| b.is_ascii_alphanumeric());
    digits(date, 6) && digits(time, 6) && digits(process, process.len()) && is_random
}

/// The parameter that a word for what is counted names.
fn unit(word: &str) -> Option<&'static str> {
    const WORDS: [(&str, &[&str]); 4] = [
        ("p", &["p", "core", "cores", "rank", "ranks", "proc", "procs", "process", "processes", "task", "tasks"]),
        ("threads", &["thread", "threads"]),
        ("nodes", &["node", "nodes"]),
        ("n", &["n"]),
    ];
    let word = word.to_ascii_lowercase();
    WORDS.iter().find(|(_, words)| words.contains(&word.as_str())).map(|(parameter, _)| *parameter)
}

/// The parameter that a word behind a number names, as in `app-125cores` and `app-125_cores`, and where the word ends. A number may
/// follow that the word does not touch, as in `4procs_100n`; a single letter has to touch its number.
fn counted(rest: &str) -> Option<(&'static str, usize)> {
    let (end, word, behind) = letters(rest)?;
    let is_touching = word.len() == end;
    let is_free = !is_before_number(behind) || is_touching && behind.starts_with(['_', '-']);
    let parameter = unit(word).filter(|_| is_free && (is_touching || word.len() > 1))?;
    Some((parameter, end))
}

/// Whether `before`, `digits` and `after` are a metric of a cache's level, as in `PAPI_L2_DCM`, `L1D_MISSES` and `L3-misses`:
/// a number inside a word is no parameter's. The result is how much of `after` belongs to the word.
fn cache_level(before: &str, digits: &str, after: &str) -> Option<usize> {
    /// How names in small letters go on, as those of perf do.
    const EVENTS: [&str; 10] =
        ["cache", "dcache", "icache", "miss", "hit", "load", "store", "access", "prefetch", "bandwidth"];
    let is_level = matches!(digits, "1" | "2" | "3" | "4");
    let is_word = before.strip_suffix('L').is_some_and(|b| !b.ends_with(char::is_alphanumeric));
    let (first, event) = word(after)?;
    let is_event = event.bytes().all(|b| b.is_ascii_uppercase()) || EVENTS.iter().any(|name| event.starts_with(name));
    let mut length = first;
    while let Some((more, _)) = word(&after[length..]) {
        length += more;
    }
    (is_level && is_word && is_event).then_some(length)
}

/// The letters that `text` begins with, behind one separator at most, and where they end; none where a number follows
/// them, which makes them the name of a parameter.
fn word(text: &str) -> Option<(usize, &str)> {
    letters(text).filter(|(_, _, behind)| !is_before_number(behind)).map(|(end, word, _)| (end, word))
}

/// The letters that `text` begins with, behind one separator at most: where they end, they themselves, and what is behind them.
fn letters(text: &str) -> Option<(usize, &str, &str)> {
    let start = usize::from(text.starts_with(['_', '-']));
    let letters = &text[start..];
    let length = letters.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(letters.len());
    let (word, behind) = letters.split_at(length);
    (!word.is_empty()).then_some((start + length, word, behind))
}

/// Whether what is `behind` a name is its number.
fn is_before_number(behind: &str) -> bool {
    behind.trim_start_matches(['=', '_', '-']).starts_with(|c: char| c.is_ascii_digit())
}

/// A pattern such as `{name}.p{p}.n{n}.r{repetition}`: `{name}` and `*` stand for anything, `{repetition}` for a whole
/// number, any other `{parameter}` for a number, and everything else for itself. A number between dots, as in `{name}.{p}.*`, is
/// what stands between two dots, if the rest can match so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// The pattern as typed.
    text: String,
    /// Parts of each path component.
    components: Vec<Vec<Part>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    Anything,
    Repetition,
    /// Its name, and whether it stands between dots.
    Parameter(String, bool),
}

impl Pattern {
    /// Reads a pattern.
    pub fn new(text: &str) -> Result<Self, ReadError> {
        let wrong = |what: String| {
            ReadError::new(ErrorKind::BadOption, Place::file("--pattern"), what)
                .expected("a pattern such as {name}.p{p}.n{n}.r{repetition}")
        };
        let mut components = Vec::new();
        for component in text.split('/').filter(|c| !c.is_empty()) {
            let mut parts = Vec::new();
            let mut rest = component;
            while !rest.is_empty() {
                let end = rest.find(['{', '*', '}']).unwrap_or(rest.len());
                if end > 0 {
                    parts.push(Part::Literal(rest[..end].to_owned()));
                    rest = &rest[end..];
                    continue;
                }
                if let Some(after) = rest.strip_prefix('*') {
                    parts.push(Part::Anything);
                    rest = after;
                    continue;
                }
                let inner = rest.strip_prefix('{').and_then(|r| r.split_once('}'));
                let Some((name, after)) = inner else {
                    return Err(wrong(format!("`{text}` has a brace without its partner")));
                };
                parts.push(match name.trim() {
                    "" => return Err(wrong(format!("`{text}` has empty braces"))),
                    "name" => Part::Anything,
                    "repetition" => Part::Repetition,
                    parameter => {
                        let is_behind_dot = matches!(parts.last(), Some(Part::Literal(text)) if text.ends_with('.'));
                        Part::Parameter(parameter.to_owned(), is_behind_dot && after.starts_with('.'))
                    }
                });
                rest = after;
            }
            components.push(parts);
        }
        let names: Vec<&String> = components.iter().flatten().filter_map(Part::parameter).collect();
        if names.is_empty() {
            return Err(wrong(format!("`{text}` names no parameter")));
        }
        if let Some(twice) = names.iter().enumerate().find_map(|(i, n)| names[..i].contains(n).then_some(n)) {
            return Err(wrong(format!("`{text}` names `{twice}` twice")));
        }
        Ok(Self { text: text.to_owned(), components })
    }

    /// The error that it matches none of `count` names, the first of which gave `error`.
    pub fn matches_none(&self, count: usize, error: &ReadError) -> ReadError {
        let what = format!("no part of this name matches the pattern `{}`, nor of {} others", self.text, count - 1);
        ReadError::new(ErrorKind::NotRecognised, error.place.clone(), what)
            .advice("Change --pattern; * stands for anything")
    }

    /// What the innermost part of `path` that matches says.
    pub fn find(&self, path: &Path) -> Result<Said, ReadError> {
        let names: Vec<&str> = path.iter().filter_map(|c| c.to_str()).collect();
        let stems: Vec<&str> = names.iter().map(|n| stem(n)).collect();
        for end in (self.components.len()..=names.len()).rev() {
            for names in [&names, &stems] {
                let window = &names[end - self.components.len()..end];
                let mut said = Said::default();
                if window.iter().zip(&self.components).all(|(name, parts)| matches(name, parts, &mut said)) {
                    return Ok(said);
                }
            }
        }
        let what = format!("no part of this name matches the pattern `{}`", self.text);
        Err(ReadError::new(ErrorKind::NotRecognised, Place::file(path.display().to_string()), what)
            .advice("Change --pattern; * stands for anything"))
    }
}

impl Part {
    fn parameter(&self) -> Option<&String> {
        if let Self::Parameter(name, _) = self { Some(name) } else { None }
    }
}

/// A file's name without its extensions, unless what follows the last dot is a number.
pub(crate) fn stem(name: &str) -> &str {
    let mut stem = name;
    while let Some((before, extension)) = stem.rsplit_once('.') {
        let is_extension =
            !before.is_empty() && !extension.bytes().any(|b| b.is_ascii_digit()) && !extension.is_empty();
        if !is_extension {
            break;
        }
        stem = before;
    }
    stem
}

/// Whether `name` is `parts`, the shortest text for what is anything and the longest for numbers; fills `said`.
fn matches(name: &str, parts: &[Part], said: &mut Said) -> bool {
    let Some((part, rest)) = parts.split_first() else { return name.is_empty() };
    let mark = said.clone();
    match part {
        Part::Literal(text) => return name.strip_prefix(text.as_str()).is_some_and(|n| matches(n, rest, said)),
        Part::Anything => {
            for (at, _) in name.char_indices().chain([(name.len(), ' ')]) {
                if matches(&name[at..], rest, said) {
                    return true;
                }
                said.clone_from(&mark);
            }
        }
        Part::Repetition => {
            let digits = name.bytes().take_while(u8::is_ascii_digit).count();
            for end in (1..=digits).rev() {
                said.repetition = name[..end].parse().ok();
                if said.repetition.is_some() && matches(&name[end..], rest, said) {
                    return true;
                }
                said.clone_from(&mark);
            }
        }
        Part::Parameter(parameter, is_between_dots) => {
            let most = name.bytes().take_while(|b| b.is_ascii_digit() || b".,eE+-".contains(b)).count();
            let mut ends: Vec<usize> = (1..=most).rev().collect();
            // Stable: the longest first.
            ends.sort_by_key(|&end| *is_between_dots && name[..end].contains('.'));
            for end in ends {
                let text = name[..end].replace(',', ".");
                let Some(value) = text.parse::<f64>().ok().filter(|v| v.is_finite()) else { continue };
                said.parameters.push((parameter.clone(), value));
                if matches(&name[end..], rest, said) {
                    return true;
                }
                said.clone_from(&mark);
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(list: &[(&str, f64)], repetition: Option<u32>) -> Said {
        let parameters = list.iter().map(|&(n, v)| (n.to_owned(), v)).collect();
        Said { parameters, repetition, ..Said::default() }
    }

    /// What a name says, but for its prefix.
    fn told(name: &str) -> Said {
        Said { prefix: String::new(), ..extrap(name) }
    }

    /// The names are those of Extra-P's own examples, and one that Extra-P loses a parameter of.
    #[test]
    fn names_in_extra_ps_scheme_say_their_parameters() {
        let cases = [
            ("lulesh.p64.size25.r1", said(&[("p", 64.0), ("size", 25.0)], Some(1))),
            ("mm.x10y1z1.r1", said(&[("x", 10.0), ("y", 1.0), ("z", 1.0)], Some(1))),
            ("x10y1z1", said(&[("x", 10.0), ("y", 1.0), ("z", 1.0)], None)),
            ("mm.x1.1y1.1z1.1", said(&[("x", 1.1), ("y", 1.1), ("z", 1.1)], None)),
            ("mm.x20,5.y20,5.z1,5.r1", said(&[("x", 20.5), ("y", 20.5), ("z", 1.5)], Some(1))),
            ("mm.x21.5,y21,5,z1.15.r1", said(&[("x", 21.5), ("y", 21.5), ("z", 1.15)], Some(1))),
            ("mm.x22.5.y22.5.z1.25.r1", said(&[("x", 22.5), ("y", 22.5), ("z", 1.25)], Some(1))),
            ("app.ranks8.n10.r12", said(&[("ranks", 8.0), ("n", 10.0)], Some(12))),
            ("app.p=4.n=10", said(&[("p", 4.0), ("n", 10.0)], None)),
            ("lulesh2.0.p8.n10", said(&[("p", 8.0), ("n", 10.0)], None)),
            ("profile", said(&[], None)),
            ("lulesh-annotation-profile-125cores", said(&[("p", 125.0)], None)),
            ("app.125_cores.r1", said(&[("p", 125.0)], Some(1))),
            ("app_100-cores_8", said(&[("app", 100.0), ("cores", 8.0)], None)),
            ("230525-151723_1930647_FSY8b8cKSEEi", said(&[], None)),
            ("app_8Ranks_n100.r2", said(&[("p", 8.0), ("n", 100.0)], Some(2))),
            ("sort.16threads", said(&[("threads", 16.0)], None)),
            // Attached to its name, the number has it already; and a longer word is another word.
            ("app.p4cores", said(&[("p", 4.0)], None)),
            ("app-4corespeed", said(&[("app", 4.0)], None)),
            ("app.x4.y2.r1", said(&[("x", 4.0), ("y", 2.0)], Some(1))),
            ("x10.p8.n100", said(&[("p", 8.0), ("n", 100.0)], None)),
            // What numbers runs or files is no parameter of theirs; with Extra-P's own repetition it is nothing.
            ("run1", said(&[], None)),
            ("app.run2", said(&[], None)),
            ("lulesh2.run3", said(&[], None)),
            ("profile-7", said(&[], None)),
            ("app.p4.run2", said(&[("p", 4.0)], Some(2))),
            ("app_p4_n10_Rep3", said(&[("p", 4.0), ("n", 10.0)], Some(3))),
            ("my-app_n10.r1", said(&[("n", 10.0)], Some(1))),
            ("app_size10_block_n4", said(&[("app_size", 10.0), ("block_n", 4.0)], None)),
            ("app.block_n4", said(&[("block_n", 4.0)], None)),
            ("run7.p4.r2", said(&[("p", 4.0)], Some(2))),
            ("app.job1234.p4", said(&[("p", 4.0)], None)),
            ("app.p4.run1.r2", said(&[("p", 4.0)], Some(2))),
            // Before the only dot are parameters or a name, behind it is the number of a run.
            ("app_p4_n10.run2", said(&[("p", 4.0), ("n", 10.0)], Some(2))),
            ("app_size10.run2", said(&[("app_size", 10.0)], Some(2))),
            ("p4.run2", said(&[("p", 4.0)], Some(2))),
            // Repetitions with another separator, beside what is a parameter for certain.
            ("app_p4_n10_r2", said(&[("p", 4.0), ("n", 10.0)], Some(2))),
            ("app.ranks4-r2", said(&[("ranks", 4.0)], Some(2))),
            ("app_r2", said(&[("r", 2.0)], None)),
            ("heat2d_r100", said(&[("heat", 2.0), ("d_r", 100.0)], None)),
            // The word that touches the number counts, whatever number follows.
            ("app_4procs_100n", said(&[("p", 4.0), ("n", 100.0)], None)),
            ("app-4ranks-1", said(&[("p", 4.0)], None)),
            ("4ranks_1", said(&[("p", 4.0)], None)),
            ("run16ranks", said(&[("p", 16.0)], None)),
            ("trace4ranks", said(&[("p", 4.0)], None)),
            ("job1234_node", said(&[], None)),
            ("app_4_n", said(&[("app", 4.0)], None)),
            // Powers of ten, and a parameter `e`.
            ("app_n1e3_p4", said(&[("n", 1000.0), ("p", 4.0)], None)),
            ("app.n2.5e-1.r3", said(&[("n", 0.25)], Some(3))),
            ("mm.n1e3f2", said(&[("n", 1.0), ("e", 3.0), ("f", 2.0)], None)),
            // Letters behind numbers that begin the next name, and no suffix.
            ("mm.M512N64K256", said(&[("M", 512.0), ("N", 64.0), ("K", 256.0)], None)),
            ("app.n8Tasks4", said(&[("n", 8.0), ("Tasks", 4.0)], None)),
            ("app-4MPI", said(&[("app", 4.0)], None)),
            // Other words, in which such a one is.
            ("app.runs8", said(&[("runs", 8.0)], None)),
            ("crank12", said(&[("crank", 12.0)], None)),
        ];
        for (name, expected) in cases {
            assert_eq!(told(name), expected, "{name}");
        }
    }

    /// 512K may be 512000 or 524288, and is 512 in no case.
    #[test]
    fn the_pattern_that_is_advised_finds_the_number() {
        for (path, unclear, parameter, value) in [
            ("sch/size-16k/profile.cubex", "size16k", "size", 16.0),
            ("app_n512K.run1", "n512K", "n", 512.0),
            ("runs/app_4Kranks.cubex", "4Kranks", "ranks", 4.0),
            ("a/x2_n1.5M", "n1.5M", "n", 1.5),
        ] {
            let pattern = pattern_of(path, unclear);
            let found =
                Pattern::new(&pattern).unwrap().find(Path::new(path)).unwrap_or_else(|e| panic!("{pattern}: {e}"));
            assert_eq!(found.parameters, [(parameter.to_owned(), value)], "{pattern}");
        }
    }

    #[test]
    fn numbers_with_suffixes_are_unclear() {
        for (name, unclear) in [
            ("app_p4_n512K", "n512K"),
            ("app.p4.n1M", "n1M"),
            ("app_p4_n1.5k.run2", "n1.5k"),
            ("app_n512KiB_p4", "n512KiB"),
            ("app_n2MB_p4", "n2MB"),
            ("app_n512Kp4", "n512K"),
        ] {
            let told = extrap(name);
            assert_eq!(
                (&told.parameters[..], &told.unclear[..]),
                (&[("p".into(), 4.0)][..], &[unclear.to_owned()][..])
            );
        }
        let ranks = extrap("app_n100_4Kranks");
        assert_eq!((ranks.parameters, ranks.unclear), (vec![("n".into(), 100.0)], vec!["4Kranks".to_owned()]));
        let spectral = extrap("app_nx64ky32");
        assert_eq!((spectral.parameters.len(), spectral.unclear), (2, vec![]));
        assert_eq!(spectral.parameters[1], ("ky".to_owned(), 32.0));
        let ranks = extrap("app_4Kranks");
        assert_eq!((ranks.parameters, ranks.unclear), (vec![], vec!["app4Kranks".to_owned()]));
        assert_eq!(extrap("app_n512K.run1").unclear, ["n512K"]);
    }

    #[test]
    fn prefixes_are_what_stands_before_the_first_parameter() {
        for (name, prefix) in [
            ("weak_p4", "weak"),
            ("weak-scaling.p4.n10.r1", "weakscaling"),
            ("weak2.p4", "weak"),
            ("weak_8ranks", "weak"),
            ("x10y1", ""),
            ("size10", ""),
        ] {
            assert_eq!(extrap(name).prefix, prefix, "{name}");
        }
    }

    #[test]
    fn levels_of_caches_in_names_of_metrics_are_no_parameters() {
        let p4 = said(&[("p", 4.0)], None);
        for name in
            ["app.L2_DCM.p4", "app.p4.PAPI_L2_DCM", "app.p4_L3_TCM", "app.L1D_MISSES.p4", "app.p4.L1-dcache-loads"]
        {
            assert_eq!(told(name), p4, "{name}");
        }
        assert_eq!(told("app.L1_DCM.r1"), said(&[], None));
        // A parameter that happens to be called L.
        let cases = [
            ("app.L2.p4", said(&[("L", 2.0), ("p", 4.0)], None)),
            ("app.L2p4", said(&[("L", 2.0), ("p", 4.0)], None)),
            ("app.L2_N4.r3", said(&[("L", 2.0), ("N", 4.0)], Some(3))),
            ("app.L16_DCM", said(&[("L", 16.0)], None)),
            ("app.L2_final", said(&[("L", 2.0)], None)),
            ("app.XL2_DCM", said(&[("XL", 2.0)], None)),
        ];
        for (name, expected) in cases {
            assert_eq!(told(name), expected, "{name}");
        }
    }

    #[test]
    fn patterns_find_parameters_anywhere_in_a_path() {
        let find = |pattern: &str, path: &str| Pattern::new(pattern).unwrap().find(Path::new(path));
        let path = "set/lulesh-annotation-profile-125cores.json";
        assert_eq!(find("*-{p}core*", path).unwrap(), said(&[("p", 125.0)], None));
        assert_eq!(find("{name}.p{p}.n{n}.r{repetition}", "a/b.p4.n1.5.r2/x.cubex").unwrap(), {
            said(&[("p", 4.0), ("n", 1.5)], Some(2))
        });
        assert_eq!(find("{p}/run{repetition}/out", "s/16/run3/out.txt").unwrap(), said(&[("p", 16.0)], Some(3)));
        assert_eq!(find("n{n}", "a/n1e3.txt").unwrap(), said(&[("n", 1000.0)], None));
        // Between dots a number is a whole part of the name, unless the rest does not match so.
        let ranks = said(&[("p", 8.0)], None);
        assert_eq!(find("{name}.{p}.*.*", "set/driver.8.253.1.mpiP").unwrap(), ranks);
        assert_eq!(find("{name}.{n}.mpiP", "set/driver.1.5.mpiP").unwrap(), said(&[("n", 1.5)], None));
        assert_eq!(find("{name}.n{n}.*", "set/driver.n1.5.mpiP").unwrap(), said(&[("n", 1.5)], None));
        let error = find("p{p}", "a/b").unwrap_err();
        assert!(error.to_string().contains("`p{p}`"), "{error}");
        for wrong in ["abc", "{p", "p}", "{}", "{p}{p}"] {
            assert!(Pattern::new(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_parameter_said_twice_is_told() {
        assert_eq!(extrap("app.p4.n8.p16").twice(), Some("p".to_owned()));
        assert_eq!(extrap("app.p4.n8").twice(), None);
    }

    #[test]
    fn what_tells_files_apart_is_told() {
        assert_eq!(telling_apart("myapp_run12.p4"), Some("run12".to_owned()));
        assert_eq!(telling_apart("profile-7"), Some("profile7".to_owned()));
        assert_eq!(telling_apart("app.p4.n10"), None);
    }

    #[test]
    fn stems_lose_extensions_and_keep_numbers() {
        assert_eq!(stem("app.p4.n10.cali"), "app.p4.n10");
        assert_eq!(stem("app.n1.5.pb.gz"), "app.n1.5");
        assert_eq!(stem("stats"), "stats");
    }
}
