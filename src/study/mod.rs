//! A study: which program is measured, over which parameters, how values reach it, how often and where it runs. Read
//! from TOML and checked whole before anything is built or started.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

mod build;
mod expression;
mod file;
mod places;
mod policy;
mod read;
mod template;
mod values;

pub use values::{REPETITIONS, check_name};

pub use build::{Build, MpiChoice, Sources};
pub use expression::Expression;
pub use places::{Local, Overhead, SlurmPlace, SmpiPlace, Submit, Topology};
pub use policy::{Judgement, Policy, Repetitions};
pub use template::{FOLDER, Template};

use crate::run::Measured;

/// A study with a comment for every key, for `poise run --init`.
pub const SAMPLE: &str = include_str!("sample.toml");

/// A numeric parameter's value: its number, and its text as the program gets it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Value {
    /// The number, for models.
    pub number: f64,
    /// The number as text, for command lines and folder names; in plain decimal notation, however it was written.
    pub text: String,
}

impl Value {
    /// The value of a number.
    pub fn of(number: f64) -> Self {
        Self { number, text: number.to_string() }
    }
}

/// One value per numeric parameter, in the study's order.
pub type Point = Vec<(String, Value)>;

/// The value of a parameter that is no quantity: a text, or several that become as many arguments.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Factor(pub Vec<String>);

impl std::fmt::Display for Factor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

/// What is run one or more times: a point, and the values of parameters that are no coordinates of models.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Case {
    /// The coordinates.
    pub point: Point,
    /// Parameters with texts for values, in the study's order.
    pub factors: Vec<(String, Factor)>,
    /// What follows from them, as `[derived]` says.
    pub derived: Point,
    /// Whether noise is injected, to measure what loops absorb and not how long they take.
    pub absorbs: bool,
    /// Runs of this point, where `points` gives it a number of its own.
    pub repetitions: Option<u32>,
}

impl Case {
    /// A case that is a point alone.
    pub fn of(point: Point) -> Self {
        Self { point, ..Self::default() }
    }

    /// The words that a name stands for.
    pub fn words(&self, name: &str) -> Option<Vec<String>> {
        let numbers = self.point.iter().chain(&self.derived);
        let number = numbers.into_iter().find(|(known, _)| known == name).map(|(_, value)| vec![value.text.clone()]);
        number.or_else(|| self.factors.iter().find(|(known, _)| known == name).map(|(_, factor)| factor.0.clone()))
    }
}

/// What the clock of the measured program shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// Elapsed time: what a user waits for, where every rank has a core to itself.
    #[default]
    Wall,
    /// The clock of the SimGrid simulation that runs the program.
    Simulated,
    /// Processor time of the thread: right where ranks share cores, since elapsed time would measure the neighbours.
    Cpu,
    /// None: counts alone.
    None,
}

impl Clock {
    /// The value of `POISE_CLOCK`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wall => "wall",
            Self::Cpu => "cpu",
            Self::Simulated => "simulated",
            Self::None => "none",
        }
    }
}

/// In which order runs are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// One repetition of every point after the other, points in a drawn order.
    #[default]
    Interleaved,
    /// One point after the other, with all its repetitions.
    PointByPoint,
}

/// Where runs are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecutorKind {
    /// On this machine.
    Local,
    /// As jobs of a Slurm cluster.
    Slurm,
    /// On this machine, in SimGrid's simulation of another.
    Smpi,
}

/// Where runs are made, with what belongs to it.
#[derive(Clone, Debug)]
pub enum Place {
    /// On this machine.
    Local(Local),
    /// As jobs of a Slurm cluster.
    Slurm(SlurmPlace),
    /// In SimGrid's simulation.
    Smpi(SmpiPlace),
}

impl Place {
    /// What whoever reads times from there should know beforehand.
    pub fn note(&self) -> Option<&'static str> {
        matches!(self, Self::Smpi(_)).then_some(
            "SMPI simulates communication alone: computation takes no simulated time, and effort is counted as anywhere (docs/mpi.md).",
        )
    }
}

/// A study, checked and ready to run.
#[derive(Clone, Debug)]
pub struct Study {
    /// What it is called; names the default results folder.
    pub name: String,
    /// What is made before the first run.
    pub build: Build,
    /// After this long a build is ended.
    pub build_limit: Duration,
    /// What starts the ranks, the program and its arguments.
    pub command: Vec<Template>,
    /// Variables that the program gets beside those of this process.
    pub environment: Vec<(String, Template)>,
    /// Input files: name in the run's folder, and content.
    pub files: Vec<(String, Template)>,
    /// Where commands run.
    pub directory: PathBuf,
    /// Whether they run in the run's own folder instead.
    pub own_folder: bool,
    /// What is run.
    pub cases: Vec<Case>,
    /// How often.
    pub repetitions: Repetitions,
    /// In which order.
    pub order: Order,
    /// After this long a run is ended and recorded as failed.
    pub time_limit: Duration,
    /// Address space that a process may have, MiB.
    pub memory_limit: Option<u64>,
    /// How long a run probably takes, s.
    pub expected_seconds: Option<Expression>,
    /// What time means in this study.
    pub clock: Clock,
    /// How it is measured.
    pub measured: Measured,
    /// Whether waiting is measured too.
    pub waiting: bool,
    /// How many ranks a run has.
    pub ranks: Expression,
    /// How many cores each rank needs.
    pub threads: Expression,
    /// Where runs are made.
    pub place: Place,
}

impl Study {
    /// A study of one program on this machine: every point once, ten minutes at most.
    pub fn of(name: &str, command: &[String], directory: &Path, points: Vec<Point>) -> Self {
        let ranks = if points.iter().flatten().any(|(name, _)| name == "p") { "p" } else { "1" };
        let constant = |text: &str| Expression::parse(text).expect("a name or a number is an expression");
        Self {
            name: name.to_owned(),
            build: Build::Nothing,
            build_limit: build::LIMIT,
            command: command.iter().map(|word| Template::parse(word)).collect(),
            environment: Vec::new(),
            files: Vec::new(),
            directory: directory.to_owned(),
            own_folder: false,
            cases: points.into_iter().map(Case::of).collect(),
            repetitions: Repetitions::fixed(1),
            order: Order::Interleaved,
            time_limit: Duration::from_secs(600),
            memory_limit: None,
            expected_seconds: None,
            clock: Clock::Wall,
            measured: Measured::Preloaded,
            waiting: false,
            ranks: constant(ranks),
            threads: constant("1"),
            place: Place::Local(Local::default()),
        }
    }

    /// Ranks of a case, and cores that it needs.
    pub fn cores(&self, case: &Case) -> (u32, u32) {
        // Checked when the study was read.
        let whole = |e: &Expression| e.number(&|name| case.term(name)).map_or(1, |x| x.max(1.0) as u32);
        let ranks = whole(&self.ranks);
        (ranks, ranks.saturating_mul(whole(&self.threads)))
    }

    /// What a name stands for in templates of a case, as far as the study alone knows.
    pub fn words(&self, case: &Case, name: &str) -> Option<Vec<String>> {
        case.words(name).or_else(|| match name {
            "ranks" => Some(vec![self.cores(case).0.to_string()]),
            "threads" => self.cores(case).1.checked_div(self.cores(case).0).map(|threads| vec![threads.to_string()]),
            "folder" => Some(vec![FOLDER.to_owned()]),
            _ => self.files.iter().any(|(file, _)| file == name).then(|| vec![format!("{FOLDER}/{name}")]),
        })
    }

    /// The names that the templates of runs use.
    fn names_in_runs(&self) -> BTreeSet<&str> {
        let environment = self.environment.iter().map(|(_, template)| template);
        let files = self.files.iter().map(|(_, template)| template);
        self.command.iter().chain(environment).chain(files).flat_map(Template::names).collect()
    }

    /// What the runs of a case that are done say of it, by their times. One run with noise has bursts enough for its loops.
    pub fn judge(&self, case: &Case, times: &[f64], is_spent: bool) -> Judgement {
        let own = if case.absorbs { Some(1) } else { case.repetitions };
        own.map(Policy::Fixed).as_ref().unwrap_or(&self.repetitions.policy).judge(times, is_spent)
    }

    /// Number of points, each once, whether noise is injected there too or not.
    pub fn points(&self) -> usize {
        self.cases.iter().filter(|case| !case.absorbs).count()
    }

    /// Whether cases have parameters that are no coordinates, so that results lie in one folder for each combination.
    pub fn has_groups(&self) -> bool {
        self.cases.iter().any(|case| !case.factors.is_empty())
    }

    /// The folder of a case's group below the results, and the name that its runs begin with.
    pub fn folder_of(&self, case: &Case) -> (String, String) {
        let group: Vec<String> =
            case.factors.iter().map(|(name, factor)| format!("{name}={}", file_name(&factor.to_string()))).collect();
        let stem: String = case.point.iter().map(|(name, value)| format!("{name}{}.", value.text)).collect();
        (group.join(","), if case.absorbs { stem + "noise." } else { stem })
    }
}

/// A text as part of a file's name: what may surprise a shell or a file system becomes `_`, and a digest keeps such
/// texts apart.
pub fn file_name(text: &str) -> String {
    const LONGEST: usize = 60;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+');
    if !text.is_empty() && text.len() <= LONGEST && text.chars().all(is_plain) {
        return text.to_owned();
    }
    let safe: String = text.chars().take(LONGEST).map(|c| if is_plain(c) { c } else { '_' }).collect();
    format!("{safe}~{}", &crate::digest::of_bytes(text.as_bytes())[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_texts_make_plain_and_different_names() {
        assert_eq!(file_name("-O2"), "-O2");
        let (a, b) = (file_name("a/../b; c"), file_name("a/../b: c"));
        assert!(a.starts_with("a_.._b__c~") && a != b, "{a} {b}");
        assert!(file_name("").starts_with('~'));
        assert!(file_name(&"x".repeat(1000)).len() < 80);
    }
}
