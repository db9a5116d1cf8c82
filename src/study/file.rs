//! The study file as it is written: its keys, and where a mistake in it is.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use modeler::words::suggestion;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::values::REPETITIONS;
use super::{Clock, ExecutorKind, Order};

/// Everything that a study file may hold.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyFile {
    pub name: Option<String>,
    #[serde(default)]
    pub build: Option<BuildFile>,
    pub command: Vec<String>,
    pub launcher: Option<Launcher>,
    pub directory: Option<PathBuf>,
    #[serde(default)]
    pub own_folder: bool,
    #[serde(default)]
    pub environment: toml::Table,
    #[serde(default)]
    pub files: toml::Table,
    #[serde(default)]
    pub repetitions: Option<RepetitionsFile>,
    #[serde(default)]
    pub order: Order,
    #[serde(default = "ten_minutes")]
    pub time_limit: u64,
    pub memory_limit: Option<u64>,
    pub expected_seconds: Option<toml::Value>,
    #[serde(default)]
    pub clock: Option<Clock>,
    #[serde(default)]
    pub linked: bool,
    #[serde(default)]
    pub waiting: bool,
    #[serde(default)]
    pub absorption: bool,
    #[serde(default)]
    pub collect: Collect,
    pub ranks: Option<toml::Value>,
    pub threads: Option<toml::Value>,
    pub executor: Option<ExecutorKind>,
    #[serde(default)]
    pub local: LocalFile,
    pub slurm: Option<SlurmFile>,
    pub smpi: Option<SmpiFile>,
    #[serde(default)]
    pub parameters: toml::Table,
    #[serde(default)]
    pub derived: toml::Table,
    #[serde(rename = "where")]
    pub conditions: Option<OneOrMore>,
    #[serde(default)]
    pub points: Vec<toml::Table>,
}

/// The keys of a study above its tables, with their names in the file.
pub const KEYS: [&str; 26] = [
    "name",
    "build",
    "command",
    "launcher",
    "directory",
    "own_folder",
    "environment",
    "files",
    "repetitions",
    "order",
    "time_limit",
    "memory_limit",
    "expected_seconds",
    "clock",
    "linked",
    "waiting",
    "absorption",
    "collect",
    "ranks",
    "threads",
    "executor",
    "local",
    "slurm",
    "smpi",
    "where",
    "points",
];

/// A sentence after another where `name` below `[parameters]` may be meant as a key of the study.
pub fn meant_above(name: &str) -> String {
    match KEYS.contains(&name) {
        true => format!(". As a key of the study, `{name}` belongs above the first table, such as [parameters]"),
        false => String::new(),
    }
}

fn ten_minutes() -> u64 {
    600
}

/// A text or a list of texts.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    pub fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::More(list) => list,
        }
    }
}

/// What is measured in every run.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Collect {
    /// Effort and time of every call path.
    #[default]
    Profile,
    /// Nothing but how long the whole run takes.
    Elapsed,
}

/// What starts the ranks: a known launcher by name, or the words of a command.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum Launcher {
    Named(String),
    Words(Vec<String>),
}

/// `build = ["make"]`, or a table.
pub enum BuildFile {
    Command(Vec<String>),
    Table(Box<BuildTable>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuildTable {
    #[serde(default)]
    pub command: Vec<String>,
    #[serde(default)]
    pub sources: Vec<String>,
    #[serde(default)]
    pub flags: Vec<String>,
    #[serde(default)]
    pub libraries: Vec<String>,
    #[serde(default)]
    pub defines: toml::Table,
    #[serde(default)]
    pub environment: toml::Table,
    pub mpi: Option<String>,
    pub time_limit: Option<u64>,
}

/// `repetitions = 5`, `repetitions = "marta"`, or a table.
pub enum RepetitionsFile {
    Count(u32),
    Named(String),
    Table(RepetitionsTable),
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepetitionsTable {
    pub policy: String,
    pub time: Option<String>,
    pub runs: Option<u32>,
    pub deviation: Option<f64>,
    pub attempts: Option<u32>,
    pub width: Option<f64>,
    pub level: Option<f64>,
    pub at_least: Option<u32>,
    pub at_most: Option<u32>,
    pub core_hours: Option<f64>,
}

// Written out, since derived untagged enums lose the message about a table's unknown key.
impl<'de> Deserialize<'de> for BuildFile {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        match toml::Value::deserialize(deserializer)? {
            table @ toml::Value::Table(_) => table.try_into().map(Self::Table).map_err(D::Error::custom),
            list => list.try_into().map(Self::Command).map_err(D::Error::custom),
        }
    }
}

impl<'de> Deserialize<'de> for RepetitionsFile {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        match toml::Value::deserialize(deserializer)? {
            table @ toml::Value::Table(_) => table.try_into().map(Self::Table).map_err(D::Error::custom),
            toml::Value::String(name) => Ok(Self::Named(name)),
            number => number.try_into().map(Self::Count).map_err(D::Error::custom),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalFile {
    pub cores: Option<usize>,
    #[serde(default)]
    pub side_by_side: bool,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlurmFile {
    pub submit: Option<String>,
    pub partition: Option<String>,
    pub account: Option<String>,
    pub nodes: Option<toml::Value>,
    pub tasks_per_node: Option<toml::Value>,
    #[serde(default)]
    pub options: Vec<String>,
    #[serde(default)]
    pub preamble: Vec<String>,
    pub poll_seconds: Option<u64>,
    pub at_once: Option<u32>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmpiFile {
    pub topology: Option<String>,
    pub latency: Option<String>,
    pub bandwidth: Option<String>,
    pub overhead: Option<String>,
    pub platform: Option<PathBuf>,
    #[serde(default)]
    pub options: Vec<String>,
}

impl StudyFile {
    /// Reads the text of a study file.
    ///
    /// # Errors
    /// `file:line:column: what`, with the key that was probably meant.
    pub fn parse(text: &str, file: &str) -> Result<Self, String> {
        let read = toml::from_str(text).map_err(|e| located(text, file, &e))?;
        let located = |(at, what)| format!("{file}:{}: {what}", place(text, at));
        check_kinds(text).map_err(located)?;
        check_points(text).map_err(located)?;
        Ok(read)
    }
}

/// `file:line:column: message`, with the message's first line only where it shows the text itself.
fn located(text: &str, file: &str, error: &toml::de::Error) -> String {
    let start = error.span().map_or(0, |s| s.start);
    let message = in_words_of_toml(error.message().trim().trim_end_matches('.'));
    let end = meant(&message).unwrap_or_else(|| ".".to_owned());
    format!("{file}:{}: {message}{end}", place(text, start))
}

/// `line:column` of a byte of a text.
fn place(text: &str, at: usize) -> String {
    let before = &text[..at.min(text.len())];
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
    format!("{line}:{column}")
}

/// `:line:column` of the first key of a study that a message names, such as `slurm.nodes` or parameter `p`; nothing where it names none.
pub fn place_of_key(text: &str, message: &str) -> String {
    let Ok(table) = DeTable::parse(text) else { return String::new() };
    let words: Vec<&str> = message.split('`').collect();
    let named = words.windows(2).step_by(2).find_map(|pair| {
        let [before, name] = pair else { return None };
        let at = |path: &str| position(table.get_ref(), path);
        let of_parameter = || at(&format!("parameters.{name}"));
        if before.ends_with("parameter ") { of_parameter() } else { at(name).or_else(of_parameter) }
    });
    named.map_or_else(String::new, |at| format!(":{}", place(text, at)))
}

/// Where the key of a dotted path begins; a key may have dots in it.
fn position(table: &DeTable, path: &str) -> Option<usize> {
    if let Some((key, _)) = table.iter().find(|(key, _)| key.get_ref().as_ref() == path) {
        return Some(key.span().start);
    }
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let (key, value) = table.iter().find(|(key, _)| key.get_ref().as_ref() == first)?;
    match rest {
        None => Some(key.span().start),
        Some(rest) => position(value.get_ref().as_table()?, rest),
    }
}

/// A parameter's values are numbers, of which models are made, or names. One that is a number in quotes beside others that are
/// numbers would make names of all, which nobody means; so would one without quotes beside numbers in quotes. Of what is wrong the place
/// and what to do.
fn check_kinds(text: &str) -> Result<(), (usize, String)> {
    // What cannot be parsed has been said before.
    let Ok(table) = DeTable::parse(text) else { return Ok(()) };
    let get = |key: &str| table.get_ref().get(key).map(Spanned::get_ref);
    let parameters = get("parameters").and_then(DeValue::as_table);
    let points: Vec<_> = get("points").and_then(DeValue::as_array).into_iter().flatten().collect();
    let points: Vec<_> = points.into_iter().filter_map(|point| point.get_ref().as_table()).collect();
    let names = parameters.into_iter().chain(points.first().copied()).flat_map(|table| table.keys());
    // How often a point runs is judged with the point.
    let is_value = |name: &&str| *name != REPETITIONS || !is_count(parameters);
    names.map(|name| name.get_ref().as_ref()).filter(is_value).try_for_each(|name: &str| {
        let of_parameter = parameters.and_then(|parameters| parameters.get(name)).map(Spanned::get_ref);
        let listed = of_parameter.and_then(DeValue::as_array).into_iter().flatten();
        let values: Vec<_> = listed.chain(points.iter().filter_map(|point| point.get(name))).collect();
        // A range, and what others give, are numbers.
        let is_range = of_parameter.is_some_and(|value| value.as_table().is_some());
        check_kind(name, &values, is_range)
    })
}

/// Whether `repetitions` of a point says how often it runs, and is no parameter.
fn is_count(parameters: Option<&DeTable>) -> bool {
    parameters.is_none_or(|parameters| parameters.get(REPETITIONS).is_none())
}

/// A point that `points` lists again, without saying how often it runs, would be measured as it is, which whoever wrote it there
/// may not expect.
fn check_points(text: &str) -> Result<(), (usize, String)> {
    let Ok(table) = DeTable::parse(text) else { return Ok(()) };
    let listed = table.get_ref().get("points").and_then(|points| points.get_ref().as_array());
    let parameters = table.get_ref().get("parameters").and_then(|parameters| parameters.get_ref().as_table());
    let counts = is_count(parameters);
    let mut known: HashMap<BTreeMap<&str, String>, usize> = HashMap::new();
    for point in listed.into_iter().flatten() {
        let Some(values) = point.get_ref().as_table() else { continue };
        // 4 and 4.0 are one value.
        let value = |value: &Spanned<DeValue>| {
            let written = &text[value.span()];
            written.replace('_', "").parse::<f64>().map_or_else(|_| written.to_owned(), |number| number.to_string())
        };
        let mut values: BTreeMap<&str, String> =
            values.iter().map(|(name, v)| (name.get_ref().as_ref(), value(v))).collect();
        let counted = counts.then(|| values.remove(REPETITIONS)).flatten();
        let start = point.span().start;
        if let (Some(first), None) = (known.insert(values, start), counted) {
            let line = text[..first].matches('\n').count() + 1;
            return Err((
                start,
                format!(
                    "this point is in line {line} already; leave it out, or say how often it runs by `repetitions = 2` within its braces."
                ),
            ));
        }
    }
    Ok(())
}

/// The same for one parameter; with `is_range` the others are numbers whatever the values are.
fn check_kind(name: &str, values: &[&Spanned<DeValue>], is_range: bool) -> Result<(), (usize, String)> {
    let is_number = |value: &&&Spanned<DeValue>| matches!(value.get_ref(), DeValue::Integer(_) | DeValue::Float(_));
    let quoted = |value: &Spanned<DeValue>| {
        let text = value.get_ref().as_str()?.trim();
        text.parse::<f64>().is_ok_and(f64::is_finite).then(|| text.to_owned())
    };
    let (numbers, others): (Vec<&&Spanned<DeValue>>, Vec<_>) = values.iter().partition(is_number);
    let texts: Vec<(usize, String)> = others.iter().filter_map(|v| Some((v.span().start, quoted(v)?))).collect();
    // Names beside which a number stands are names, such as `unroll = [1, 2, "auto"]`.
    let (Some((at, text)), true) = (texts.first(), texts.len() == others.len()) else { return Ok(()) };
    match numbers.first() {
        Some(number) if numbers.len() < texts.len() && !is_range => Err((
            number.span().start,
            format!(
                "parameter `{name}` has a number here, where its other values are texts in quotes; put it in quotes too if they are \
                 names, or take the quotes from the others if they are quantities, of which models are made."
            ),
        )),
        None if !is_range => Ok(()),
        _ => Err((
            *at,
            format!(
                "parameter `{name}` has the text \"{text}\" here, where its other values are numbers, of which models are made; write \
                 {text} without quotes, or all of its values in quotes if they are names and no quantities."
            ),
        )),
    }
}

/// The parser's message with the file format's words for types instead of the programming language's.
fn in_words_of_toml(message: &str) -> String {
    const WORDS: [(&str, &str); 8] = [
        // Of any word that begins with their first letters.
        ("invalid boolean, expected `true`", "expected `true`, or a text in quotes, such as \"a\""),
        ("invalid boolean, expected `false`", "expected `false`, or a text in quotes, such as \"a\""),
        ("expected a sequence", "expected a list in brackets, such as [\"a\", \"b\"]"),
        ("expected u64", "expected a whole number that is not negative"),
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected usize", "expected a whole number that is not negative"),
        ("expected f64", "expected a number"),
        ("expected a map", "expected a table"),
    ];
    WORDS.iter().fold(message.to_owned(), |message, (word, meant)| message.replace(word, meant))
}

/// The suggestion for ``unknown field `x`, expected one of `a`, `b` ``.
fn meant(message: &str) -> Option<String> {
    let (_, rest) = message.split_once("unknown field `").or_else(|| message.split_once("unknown variant `"))?;
    let (unknown, known) = rest.split_once('`')?;
    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    Some(suggestion(unknown, known)).filter(|s| !s.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_another_kind_is_named_with_its_place() {
        let said =
            |rest: &str| StudyFile::parse(&format!("command = [\"a\"]\n{rest}\n"), "s.toml").err().unwrap_or_default();
        let points = said("points = [{ n = 100 }, { n = \"400\" }]");
        assert!(points.starts_with("s.toml:2:30: parameter `n` has the text \"400\" here"), "{points}");
        assert!(points.contains("write 400 without quotes"), "{points}");
        let first = said("points = [{ n = \"100\" }, { n = 200 }, { n = 400 }]");
        assert!(first.starts_with("s.toml:2:17: parameter `n` has the text \"100\""), "{first}");
        let number = said("[[points]]\nn = \"1\"\n[[points]]\nn = 2\n[[points]]\nn = \"3\"");
        assert!(number.starts_with("s.toml:5:5: parameter `n` has a number here"), "{number}");
        assert!(said("[parameters]\np = [1, 2, \"4\"]").starts_with("s.toml:3:12: parameter `p` has the text \"4\""));
        let beside = "[parameters]\np = { from = 1, to = 8, factor = 2 }";
        assert!(said(&format!("points = [{{ p = \"16\" }}]\n{beside}")).starts_with("s.toml:2:17: "));
        for good in [
            "points = [{ n = 100 }, { n = 400.5 }]",
            "points = [{ n = \"100\" }, { n = \"400\" }]",
            "[parameters]\nunroll = [1, 2, \"auto\"]\ncpu = [\"4\", \"x\", true]\nargs = [[\"1\", \"2\"], \"3\"]",
            beside,
        ] {
            assert_eq!(said(good), "", "{good}");
        }
    }
}
