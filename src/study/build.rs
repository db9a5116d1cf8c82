//! What a study builds before it runs: nothing, a command of the user's, or sources that go through our wrappers. Where
//! its templates name parameters, there is one build for each combination of their values.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use super::file::{BuildFile, BuildTable};
use super::template::{Template, is_name};
use modeler::words::suggestion;

/// A build is ended after this long, unless the study says otherwise.
pub const LIMIT: Duration = Duration::from_secs(3600);

/// What is made before the first run.
#[derive(Clone, Debug)]
pub enum Build {
    /// Nothing.
    Nothing,
    /// What a command makes.
    Command {
        /// The command.
        command: Vec<Template>,
        /// Variables that it gets.
        environment: Vec<(String, Template)>,
    },
    /// A program from sources.
    Sources(Box<Sources>),
}

/// A program from sources.
#[derive(Clone, Debug)]
pub struct Sources {
    /// The files, absolute or relative to where the study runs; the first one's ending names the language.
    pub files: Vec<PathBuf>,
    /// Arguments before the files.
    pub flags: Vec<Template>,
    /// Arguments after the files.
    pub libraries: Vec<Template>,
    /// Macros: each becomes one argument, `-DNAME=VALUE`.
    pub defines: Vec<(String, Template)>,
    /// The MPI implementation to compile for.
    pub mpi: MpiChoice,
}

/// The MPI implementation that a program is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MpiChoice {
    /// None.
    Not,
    /// Open MPI.
    OpenMpi,
    /// MPICH.
    Mpich,
    /// SimGrid's.
    Smpi,
}

impl MpiChoice {
    /// As a study names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Not => "none",
            Self::OpenMpi => "openmpi",
            Self::Mpich => "mpich",
            Self::Smpi => "smpi",
        }
    }
}

impl Build {
    /// Checks what the study says; `default_mpi` where it does not say for which MPI.
    pub fn read(file: Option<BuildFile>, default_mpi: MpiChoice) -> Result<Self, String> {
        let table = match file {
            None => return Ok(Self::Nothing),
            Some(BuildFile::Command(words)) if words.is_empty() => return Ok(Self::Nothing),
            Some(BuildFile::Command(command)) => {
                let command = command.iter().map(|word| Template::parse(word)).collect();
                return Ok(Self::Command { command, environment: Vec::new() });
            }
            Some(BuildFile::Table(table)) => *table,
        };
        let templates = |words: &[String]| words.iter().map(|word| Template::parse(word)).collect::<Vec<_>>();
        match (table.command.is_empty(), table.sources.is_empty()) {
            (false, true) => {
                let unused = !table.flags.is_empty() || !table.libraries.is_empty() || !table.defines.is_empty();
                if unused || table.mpi.is_some() {
                    return Err(
                        "`build` has a command, to which `flags`, `libraries`, `defines` and `mpi` mean nothing; \
                                they go with `sources`"
                            .into(),
                    );
                }
                Ok(Self::Command {
                    command: templates(&table.command),
                    environment: pairs("build.environment", &table.environment)?,
                })
            }
            (true, false) => sources(&table, templates(&table.flags), templates(&table.libraries), default_mpi),
            _ => Err("`build` names either a `command` or `sources`".into()),
        }
    }

    /// How long a build may take.
    pub fn limit(file: Option<&BuildFile>) -> Result<Duration, String> {
        match file {
            Some(BuildFile::Table(table)) if table.time_limit == Some(0) => {
                Err("`build.time_limit` is 0 seconds".into())
            }
            Some(BuildFile::Table(table)) => Ok(table.time_limit.map_or(LIMIT, Duration::from_secs)),
            _ => Ok(LIMIT),
        }
    }

    /// The names that its templates use.
    pub fn names(&self) -> BTreeSet<&str> {
        match self {
            Self::Nothing => BTreeSet::new(),
            Self::Command { command, environment } => {
                command.iter().chain(environment.iter().map(|(_, t)| t)).flat_map(Template::names).collect()
            }
            Self::Sources(s) => {
                let defines = s.defines.iter().map(|(_, t)| t);
                s.flags.iter().chain(&s.libraries).chain(defines).flat_map(Template::names).collect()
            }
        }
    }
}

fn sources(
    table: &BuildTable,
    flags: Vec<Template>,
    libraries: Vec<Template>,
    default_mpi: MpiChoice,
) -> Result<Build, String> {
    const MPIS: [&str; 4] = ["openmpi", "mpich", "smpi", "none"];
    if !table.environment.is_empty() {
        return Err("`build.environment` goes with `build.command`".into());
    }
    let mpi = match table.mpi.as_deref() {
        None => default_mpi,
        Some("openmpi") => MpiChoice::OpenMpi,
        Some("mpich") => MpiChoice::Mpich,
        Some("smpi") => MpiChoice::Smpi,
        Some("none") => MpiChoice::Not,
        Some(other) => {
            return Err(format!("`build.mpi` is \"{other}\", none of {}{}", MPIS.join(", "), suggestion(other, MPIS)));
        }
    };
    Ok(Build::Sources(Box::new(Sources {
        files: table.sources.iter().map(PathBuf::from).collect(),
        flags,
        libraries,
        defines: pairs("build.defines", &table.defines)?,
        mpi,
    })))
}

/// A table of texts and numbers as templates by name.
pub fn pairs(place: &str, table: &toml::Table) -> Result<Vec<(String, Template)>, String> {
    let pair = |(name, value): (&String, &toml::Value)| {
        if !is_name(name) {
            return Err(format!("`{place}` has the name `{name}`; names have letters, digits and `_`"));
        }
        let text = match value {
            toml::Value::String(text) if text.contains('\0') => Err(format!("`{place}.{name}` has a zero byte")),
            toml::Value::String(text) => Ok(text.clone()),
            toml::Value::Integer(_) | toml::Value::Float(_) | toml::Value::Boolean(_) => Ok(value.to_string()),
            other => Err(format!("`{place}.{name}` is {other}, which is neither a text nor a number")),
        };
        text.map(|text| (name.clone(), Template::parse(&text)))
    };
    table.iter().map(pair).collect()
}
