//! The study file as it is written: its keys, and where a mistake in it is.

use std::path::PathBuf;

use serde::Deserialize;

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
        toml::from_str(text).map_err(|e| located(text, file, &e))
    }
}

/// `file:line:column: message`, with the message's first line only where it shows the text itself.
fn located(text: &str, file: &str, error: &toml::de::Error) -> String {
    let start = error.span().map_or(0, |s| s.start).min(text.len());
    let before = &text[..start];
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
    let message = in_words_of_toml(error.message().trim().trim_end_matches('.'));
    let end = meant(&message).unwrap_or_else(|| ".".to_owned());
    format!("{file}:{line}:{column}: {message}{end}")
}

/// The parser's message with the file format's words for types instead of the programming language's.
fn in_words_of_toml(message: &str) -> String {
    const WORDS: [(&str, &str); 8] = [
        // Of any word that begins with their first letters.
        ("invalid boolean, expected `true`", "expected `true`, or a text in quotes, such as \"a\""),
        ("invalid boolean, expected `false`", "expected `false`, or a text in quotes, such as \"a\""),
        ("expected a sequence", "expected a list in brackets, such as [\"a\", \"b\"]"),
        ("expected u64", "expected a whole number"),
        ("expected u32", "expected a whole number"),
        ("expected usize", "expected a whole number"),
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

/// `; did you mean …?` where one of `known` is close to `unknown`, and nothing where none is.
pub fn suggestion<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let similarity = |name: &str| strsim::jaro_winkler(&unknown.to_lowercase(), &name.to_lowercase());
    let best = known.into_iter().map(|name| (similarity(name), name)).max_by(|a, b| a.0.total_cmp(&b.0));
    match best {
        Some((similarity, name)) if similarity > 0.75 => format!("; did you mean `{name}`?"),
        _ => String::new(),
    }
}
