//! Parameters in the names of files and folders: Extra-P's scheme `prefix.p4.n10.r1`, or a pattern that the user gives.

use std::collections::BTreeSet;
use std::path::Path;

use crate::formats::error::{ErrorKind, Place, ReadError};

/// What a name says about its run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Said {
    /// Parameters in the order in which they stand there.
    pub parameters: Vec<(String, f64)>,
    /// Which repetition of its point the run is.
    pub repetition: Option<u32>,
}

impl Said {
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
    let (body, repetition) = match name.rsplit_once(".r") {
        Some((body, digits)) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
            (body, digits.parse().ok())
        }
        _ => (name, None),
    };
    let told = match body.split_once('.').map(|(_, after)| Numbers::of(after, false)) {
        Some(told) if !told.parameters.is_empty() || told.run.is_some() => told,
        _ => Numbers::of(body, true),
    };
    let repetition = repetition.or(told.run).filter(|_| !told.parameters.is_empty());
    Said { parameters: told.parameters, repetition }
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

/// The numbers in a name.
#[derive(Default)]
struct Numbers {
    parameters: Vec<(String, f64)>,
    /// The number behind a word for a run.
    run: Option<u32>,
    /// See [`telling_apart`].
    apart: Option<String>,
}

impl Numbers {
    /// Words before the number of a run.
    const RUNS: [&str; 5] = ["run", "rep", "repetition", "repeat", "trial"];
    /// Words before numbers that say nothing of a run but which it is.
    const FILES: [&str; 9] = ["profile", "prof", "output", "result", "report", "trace", "job", "slurm", "pid"];

    /// Those in `body`, which may begin with a prefix.
    fn of(body: &str, is_prefixed: bool) -> Self {
        let mut numbers = Self::default();
        let mut rest = body;
        while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
            let name = rest[..start].trim_matches(|c: char| !c.is_alphanumeric());
            let number = &rest[start..];
            let end = number.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(number.len());
            if let Some(length) = cache_level(&rest[..start], &number[..end], &number[end..]) {
                rest = &number[end + length..];
                continue;
            }
            let text = number[..end].trim_end_matches(['.', ',']).replace(',', ".");
            // What stands apart from the number says nothing of it where a word behind it does.
            let is_apart = !rest[..start].ends_with(char::is_alphanumeric);
            let unit = counted(&number[end..]).filter(|_| is_apart);
            let name = unit.map_or(name, |(parameter, _)| parameter);
            let is_first = is_prefixed && rest.len() == body.len();
            numbers.add(if is_first { unprefixed(name) } else { name }, &text);
            rest = &number[end + unit.map_or(0, |(_, length)| length)..];
        }
        numbers
    }

    /// Adds the number `text` behind `name`.
    fn add(&mut self, name: &str, text: &str) {
        let last = name.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_ascii_lowercase();
        let is_run = Self::RUNS.contains(&last.as_str());
        if is_run || Self::FILES.contains(&last.as_str()) {
            self.run = self.run.or_else(|| text.parse().ok().filter(|_| is_run));
            self.apart.get_or_insert_with(|| format!("{last}{text}"));
            return;
        }
        match text.parse::<f64>() {
            Ok(value) if !name.is_empty() => self.parameters.push((name.to_owned(), value)),
            _ => {}
        }
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

/// The parameter that a word behind a number names, as in `app-125cores` and `app-125_cores`, and where the word ends.
fn counted(rest: &str) -> Option<(&'static str, usize)> {
    const WORDS: [(&str, &[&str]); 3] = [
        ("p", &["core", "cores", "rank", "ranks", "proc", "procs", "process", "processes", "task", "tasks"]),
        ("threads", &["thread", "threads"]),
        ("nodes", &["node", "nodes"]),
    ];
    let (end, word) = word(rest)?;
    let word = word.to_ascii_lowercase();
    WORDS.iter().find(|(_, words)| words.contains(&word.as_str())).map(|(parameter, _)| (*parameter, end))
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
    let start = usize::from(text.starts_with(['_', '-']));
    let letters = &text[start..];
    let length = letters.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(letters.len());
    let (word, behind) = letters.split_at(length);
    let is_parameter = behind.trim_start_matches(['=', '_', '-']).starts_with(|c: char| c.is_ascii_digit());
    (!word.is_empty() && !is_parameter).then_some((start + length, word))
}

/// A pattern such as `{name}.p{p}.n{n}.r{repetition}`: `{name}` and `*` stand for anything, `{repetition}` for a whole
/// number, any other `{parameter}` for a number, and everything else for itself.
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
    Parameter(String),
}

impl Pattern {
    /// Reads a pattern.
    pub fn new(text: &str) -> Result<Self, ReadError> {
        let wrong = |what: String| {
            ReadError::new(ErrorKind::Malformed, Place::file("--pattern"), what)
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
                    parameter => Part::Parameter(parameter.to_owned()),
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
        if let Self::Parameter(name) = self { Some(name) } else { None }
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
        Part::Parameter(parameter) => {
            let most = name.bytes().take_while(|b| b.is_ascii_digit() || b".,eE+-".contains(b)).count();
            for end in (1..=most).rev() {
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
        Said { parameters: list.iter().map(|&(n, v)| (n.to_owned(), v)).collect(), repetition }
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
            // Other words, in which such a one is.
            ("app.runs8", said(&[("runs", 8.0)], None)),
            ("crank12", said(&[("crank", 12.0)], None)),
        ];
        for (name, expected) in cases {
            assert_eq!(extrap(name), expected, "{name}");
        }
    }

    #[test]
    fn levels_of_caches_in_names_of_metrics_are_no_parameters() {
        let p4 = said(&[("p", 4.0)], None);
        for name in
            ["app.L2_DCM.p4", "app.p4.PAPI_L2_DCM", "app.p4_L3_TCM", "app.L1D_MISSES.p4", "app.p4.L1-dcache-loads"]
        {
            assert_eq!(extrap(name), p4, "{name}");
        }
        assert_eq!(extrap("app.L1_DCM.r1"), said(&[], None));
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
            assert_eq!(extrap(name), expected, "{name}");
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
