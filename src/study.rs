//! A study: which program is measured, over which parameters, how its command line is made and how often it runs.
//! Read from TOML; unknown keys are errors with a suggestion.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::run::Measured;

/// A parameter's value: its number, and its text as the program gets it.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// The number, for models.
    pub number: f64,
    /// The number as text, for command lines and folder names; in plain decimal notation, however it was written.
    pub text: String,
}

/// One value per parameter, in the study's order.
pub type Point = Vec<(String, Value)>;

/// What the clock of the measured program shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// Elapsed time: what a user waits for, where every rank has a core to itself.
    #[default]
    Wall,
    /// The clock of the SimGrid simulation that runs the program.
    Simulated,
    /// Processor time of the thread: right where ranks share cores, since elapsed time would measure the neighbours.
    Cpu,
}

impl Clock {
    /// The value of `POISE_CLOCK`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wall => "wall",
            Self::Cpu => "cpu",
            Self::Simulated => "simulated",
        }
    }
}

/// A study, checked and ready to run.
#[derive(Clone, Debug)]
pub struct Study {
    /// What it is called; names the default results folder.
    pub name: String,
    /// Built once before the first run; empty where nothing is to be built.
    pub build: Vec<String>,
    /// The command, one template per argument: `{p}` stands for parameter p.
    pub command: Vec<String>,
    /// Where commands run.
    pub directory: PathBuf,
    /// All points, every combination of the parameters' values.
    pub points: Vec<Point>,
    /// Runs per point.
    pub repetitions: u32,
    /// After this long a run is ended and recorded as failed.
    pub time_limit: Duration,
    /// What time means in this study.
    pub clock: Clock,
    /// How it is measured.
    pub measured: Measured,
    /// Whether waiting is measured too.
    pub waiting: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StudyFile {
    name: Option<String>,
    #[serde(default)]
    build: Vec<String>,
    command: Vec<String>,
    directory: Option<PathBuf>,
    #[serde(default = "one")]
    repetitions: u32,
    #[serde(default = "ten_minutes")]
    time_limit: u64,
    #[serde(default)]
    clock: Clock,
    #[serde(default)]
    linked: bool,
    #[serde(default)]
    waiting: bool,
    parameters: toml::Table,
}

fn one() -> u32 {
    1
}

fn ten_minutes() -> u64 {
    600
}

impl Study {
    /// Reads and checks a study file. Relative paths in it are relative to the file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::cannot_read(path, &e))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let stem = path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
        Self::parse(&text, &path.display().to_string(), folder, &stem)
    }

    /// Checks the text of a study file; `file` is for messages, `folder` for relative paths, `stem` the default name.
    pub fn parse(text: &str, file: &str, folder: &Path, stem: &str) -> Result<Self> {
        let raw: StudyFile = toml::from_str(text).map_err(|e| Error::Input(located(text, file, &e)))?;
        let fail = |what: String| Error::Input(format!("{file}: {what}"));
        if raw.command.is_empty() {
            return Err(fail("`command` is empty; give the program and its arguments, one string each.".into()));
        }
        if raw.repetitions == 0 {
            return Err(fail("`repetitions` is 0; give at least 1.".into()));
        }
        let mut values = Vec::new();
        for (name, list) in &raw.parameters {
            values.push((name.clone(), parameter_values(name, list).map_err(fail)?));
        }
        if values.is_empty() {
            return Err(fail("[parameters] is empty; name at least one parameter and its values.".into()));
        }
        for template in &raw.command {
            check_template(template, &values).map_err(fail)?;
        }
        if let Some((name, _)) =
            values.iter().find(|(name, _)| !raw.command.iter().any(|t| t.contains(&format!("{{{name}}}"))))
        {
            return Err(fail(format!(
                "`command` does not use the parameter `{name}`; put {{{name}}} where it belongs."
            )));
        }
        let name = raw.name.unwrap_or_else(|| stem.to_owned());
        if name.is_empty() || name.contains('/') {
            return Err(fail(format!("`name` is \"{name}\"; it names the results folder and holds no `/`.")));
        }
        let directory = folder.join(raw.directory.unwrap_or_default());
        if !directory.as_os_str().is_empty() && !directory.is_dir() {
            return Err(fail(format!("`directory` is {}, which is no folder.", directory.display())));
        }
        Ok(Self {
            name,
            build: raw.build,
            command: raw.command,
            directory,
            points: combinations(&values),
            repetitions: raw.repetitions,
            time_limit: Duration::from_secs(raw.time_limit),
            clock: raw.clock,
            measured: if raw.linked { Measured::Linked } else { Measured::Preloaded },
            waiting: raw.waiting,
        })
    }

    /// The command at `point`, ready to start; values are put in as they are and never see a shell.
    pub fn command_at(&self, point: &Point) -> Vec<String> {
        let filled = |template: &String| {
            point.iter().fold(template.clone(), |text, (name, value)| text.replace(&format!("{{{name}}}"), &value.text))
        };
        self.command.iter().map(filled).collect()
    }
}

/// `file:line:column: message`, with the message's first line only where it shows the text itself.
fn located(text: &str, file: &str, error: &toml::de::Error) -> String {
    let start = error.span().map_or(0, |s| s.start).min(text.len());
    let before = &text[..start];
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
    format!("{file}:{line}:{column}: {}.", error.message().trim_end_matches('.'))
}

fn parameter_values(name: &str, list: &toml::Value) -> Result<Vec<Value>, String> {
    let list =
        list.as_array().ok_or_else(|| format!("parameter `{name}` is no list; write its values in [brackets]."))?;
    if list.is_empty() {
        return Err(format!("parameter `{name}` has no values; give at least one."));
    }
    let value = |v: &toml::Value| match v {
        toml::Value::Integer(i) => Ok(Value { number: *i as f64, text: i.to_string() }),
        toml::Value::Float(x) if x.is_finite() => Ok(Value { number: *x, text: x.to_string() }),
        other => Err(format!("parameter `{name}` has the value {other}, which is no finite number.")),
    };
    let values: Vec<Value> = list.iter().map(value).collect::<Result<_, _>>()?;
    for (i, value) in values.iter().enumerate() {
        if value.number <= 0.0 {
            return Err(format!("parameter `{name}` has the value {}; parameters are positive.", value.text));
        }
        if values[..i].iter().any(|earlier| earlier.number == value.number) {
            return Err(format!(
                "parameter `{name}` has the value {} twice; `repetitions` measures again.",
                value.text
            ));
        }
    }
    Ok(values)
}

/// Every `{name}` in a template must be a parameter, so that a typo does not reach the program.
fn check_template(template: &str, values: &[(String, Vec<Value>)]) -> Result<(), String> {
    for piece in template.split('{').skip(1) {
        let Some((name, _)) = piece.split_once('}') else { continue };
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        if is_name && !values.iter().any(|(known, _)| known == name) {
            let known: Vec<_> = values.iter().map(|(n, _)| n.as_str()).collect();
            return Err(format!(
                "`command` uses {{{name}}}, which is no parameter; the parameters are {}.",
                known.join(", ")
            ));
        }
    }
    Ok(())
}

fn combinations(values: &[(String, Vec<Value>)]) -> Vec<Point> {
    values.iter().fold(vec![Point::new()], |points, (name, list)| {
        let extended = |point: &Point| {
            list.iter().map(|v| point.iter().cloned().chain([(name.clone(), v.clone())]).collect()).collect::<Vec<_>>()
        };
        points.iter().flat_map(extended).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY: &str = r#"
command = ["mpirun", "-n", "{p}", "./app", "--size={n}", "{literal brace}"]
time_limit = 5
[parameters]
p = [2, 4]
n = [10, 20, 0.5]
"#;

    fn parse(text: &str) -> Result<Study> {
        Study::parse(text, "s.toml", Path::new("/usr"), "s")
    }

    #[test]
    fn every_combination_is_a_point_and_values_reach_the_command_as_written() {
        let study = parse(STUDY).unwrap();
        assert_eq!(study.points.len(), 6);
        let commands: Vec<String> = study.points.iter().map(|p| study.command_at(p).join(" ")).collect();
        assert!(commands.contains(&"mpirun -n 4 ./app --size=0.5 {literal brace}".to_owned()), "{commands:?}");
        assert_eq!(study.points[1][0].0, "p", "parameters keep the file's order");
        assert_eq!(study.name, "s");
        assert_eq!(study.directory, Path::new("/usr"));
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let message = |text: &str| parse(text).unwrap_err().to_string();
        assert!(message("comand = []\n[parameters]\n").starts_with("s.toml:1:1: unknown field `comand`"));
        assert!(message(&STUDY.replace("{p}", "{q}")).contains("{q}, which is no parameter"));
        assert!(message(&STUDY.replace("[2, 4]", "2")).contains("`p` is no list"));
        assert!(message(&STUDY.replace("[2, 4]", "[]")).contains("`p` has no values"));
        assert!(message(&STUDY.replace("[2, 4]", "[nan]")).contains("no finite number"));
        assert!(message(&STUDY.replace("[2, 4]", "[2, 0]")).contains("positive"));
        assert!(message(&STUDY.replace("[2, 4]", "[2, 4, 2]")).contains("2 twice"));
        assert!(message(&STUDY.replace("{n}", "n")).contains("does not use the parameter `n`"));
        assert!(message(&format!("name = \"../x\"\n{STUDY}")).contains("holds no `/`"));
        assert!(message(&format!("directory = \"no-such\"\n{STUDY}")).contains("which is no folder"));
        assert!(message(&STUDY.replace("time_limit = 5", "time_limit = \"x\"")).starts_with("s.toml:3:14:"));
    }
}
