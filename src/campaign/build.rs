//! What a study's build makes, once for each combination of the values that it depends on, in the results folder's
//! `.builds`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::digest;
use crate::error::{Error, Result};
use crate::executors::smpi::Smpi;
use crate::install;
use crate::output;
use crate::progress::Progress;
use crate::run::misfortune::{self, End};
use crate::run::{self, UNFINISHED};
use crate::study::{Build, Case, MpiChoice, Sources, Study};

/// Folder of builds below the results.
const BUILDS: &str = ".builds";
/// Folder of what builds say, which no build's own is called.
const SAID: &str = ".said";
/// So many letters of a line are quoted.
const LONGEST_LINE: usize = 200;
/// A program's name until it is in its place.
const PROGRAM: &str = ".program";

/// One build.
#[derive(Clone, Debug, Default)]
pub struct Built {
    /// Its folder.
    pub folder: PathBuf,
    /// The program, where sources were compiled.
    pub program: PathBuf,
}

/// A command to build with.
struct Step {
    words: Vec<String>,
    environment: Vec<(String, String)>,
    built: Built,
}

/// What each case's build makes, in the cases' order, and the commands that do it, each once.
pub struct Builds {
    /// By case.
    pub of_case: Vec<Built>,
    steps: Vec<Step>,
    /// Why builds failed, by their folders.
    failed: BTreeMap<PathBuf, String>,
}

impl Builds {
    /// Plans the builds of a study; nothing is made yet.
    ///
    /// # Errors
    /// A compiler that is needed is not there.
    pub fn plan(study: &Study, results: &Path) -> Result<Self> {
        let results = std::path::absolute(results).map_err(|e| Error::cannot_write(results, &e))?;
        let mut steps: BTreeMap<String, Step> = BTreeMap::new();
        let mut of_case = Vec::new();
        for case in &study.cases {
            let key = key(study, case);
            let folder = results.join(BUILDS).join(&key);
            let built = Built { program: folder.join("program"), folder };
            if let Entry::Vacant(vacant) = steps.entry(key)
                && let Some(step) = step(study, case, &built)?
            {
                vacant.insert(step);
            }
            of_case.push(built);
        }
        Ok(Self { of_case, steps: steps.into_values().collect(), failed: BTreeMap::new() })
    }

    /// The commands, for `--dry-run`.
    pub fn commands(&self) -> impl Iterator<Item = &[String]> {
        self.steps.iter().map(|step| step.words.as_slice())
    }

    /// Makes them all. Programs that were compiled are not in their places yet.
    ///
    /// # Errors
    /// One cannot be started, or all fail.
    pub fn make(&mut self, study: &Study, results: &Path, progress: &Progress) -> Result<Made> {
        let mut made = Made::default();
        for step in &self.steps {
            if let Some(reason) = make(study, step, results, progress)? {
                self.failed.insert(step.built.folder.clone(), reason);
            } else if matches!(study.build, Build::Sources(_)) {
                made.programs.push((step.built.folder.join(PROGRAM), step.built.program.clone()));
            }
        }
        match self.failed.values().next() {
            Some(reason) if self.failed.len() == self.steps.len() => Err(Error::Usage(reason.clone())),
            _ => Ok(made),
        }
    }

    /// Why a case has no program, if its build failed.
    pub fn failure(&self, case: usize) -> Option<&String> {
        self.failed.get(&self.of_case[case].folder)
    }
}

/// Programs that were compiled and wait to be put in their places: those that earlier runs were made with stay until it is
/// clear that the new ones are the same, or welcome.
#[derive(Debug, Default)]
pub struct Made {
    /// Where a program is, and its place.
    programs: Vec<(PathBuf, PathBuf)>,
}

impl Made {
    /// The digests that the programs' places are going to have.
    pub fn digests(&self) -> impl Iterator<Item = (String, Option<String>)> {
        self.programs.iter().map(|(new, place)| (place.display().to_string(), digest::of_file(new).ok()))
    }

    /// Puts the programs in their places.
    ///
    /// # Errors
    /// One cannot be renamed.
    pub fn settle(self) -> Result<()> {
        self.programs
            .iter()
            .try_for_each(|(new, place)| fs::rename(new, place).map_err(|e| Error::cannot_write(place, &e)))
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // What was not settled is not wanted.
        self.programs.iter().for_each(|(new, _)| drop(fs::remove_file(new)));
    }
}

/// A folder's name for the values that the build depends on.
fn key(study: &Study, case: &Case) -> String {
    let mut key: Vec<String> = Vec::new();
    for name in study.build.names() {
        if let Some(words) = case.words(name) {
            key.push(format!("{name}={}", crate::study::file_name(&words.join(" "))));
        }
    }
    if key.is_empty() { "only".to_owned() } else { key.join(",") }
}

/// What makes a case's program, as far as the study says it: the command and its variables, or flags, macros, sources and libraries. `{build}` stands for the build's
/// folder, so that the same study says the same wherever its results are. Empty where nothing is built.
pub fn described(study: &Study, case: &Case) -> Vec<String> {
    let words = |name: &str| match name {
        "build" => vec!["{build}".to_owned()],
        _ => study.words(case, name).unwrap_or_default(),
    };
    let filled = |list: &[crate::study::Template]| list.iter().flat_map(|t| t.arguments(&words)).collect::<Vec<_>>();
    let set = |prefix: &str, pairs: &[(String, crate::study::Template)]| {
        pairs.iter().map(|(name, value)| format!("{prefix}{name}={}", value.fill(&words))).collect::<Vec<_>>()
    };
    match &study.build {
        Build::Nothing => Vec::new(),
        Build::Command { command, environment } => [set("", environment), filled(command)].concat(),
        Build::Sources(sources) => {
            let files = sources.files.iter().map(|file| file.display().to_string()).collect();
            [
                vec![sources.mpi.name().to_owned()],
                filled(&sources.flags),
                set("-D", &sources.defines),
                files,
                filled(&sources.libraries),
            ]
            .concat()
        }
    }
}

fn step(study: &Study, case: &Case, built: &Built) -> Result<Option<Step>> {
    let words = |name: &str| match name {
        "build" => vec![built.folder.display().to_string()],
        _ => study.words(case, name).unwrap_or_default(),
    };
    Ok(match &study.build {
        Build::Nothing => None,
        Build::Command { command, environment } => Some(Step {
            words: command.iter().flat_map(|template| template.arguments(&words)).collect(),
            environment: environment.iter().map(|(name, template)| (name.clone(), template.fill(&words))).collect(),
            built: built.clone(),
        }),
        Build::Sources(sources) => Some(compilation(sources, &words, built)?),
    })
}

/// The command that compiles sources: MPI's own wrapper around ours, or ours alone.
fn compilation(sources: &Sources, words: &dyn Fn(&str) -> Vec<String>, built: &Built) -> Result<Step> {
    let poise = std::env::current_exe().map_err(|e| Error::Defect(format!("The program's own path: {e}.")))?;
    let (name, kind) = match sources.files[0].extension().and_then(|e| e.to_str()) {
        Some("c") => ("cc", "CC"),
        Some("f" | "for" | "f90" | "F90" | "f03" | "f08" | "F") => ("fc", "FC"),
        _ => ("c++", "CXX"),
    };
    let wrapper = format!("{} {name}", poise.display());
    let of_mpi = |mpi: install::Mpi| {
        let program = mpi.cxx.display().to_string();
        // The wrappers of one MPI lie side by side and differ in this part of their names.
        match name {
            "cc" => program.replace("mpicxx", "mpicc"),
            "fc" => program.replace("mpicxx", "mpifort"),
            _ => program,
        }
    };
    let ours = vec![poise.display().to_string(), name.to_owned()];
    let (mut command, environment) = match sources.mpi {
        MpiChoice::Not => (ours, Vec::new()),
        MpiChoice::OpenMpi => (vec![of_mpi(install::open_mpi()?)], vec![(format!("OMPI_{kind}"), wrapper)]),
        MpiChoice::Mpich => (vec![of_mpi(install::mpich()?)], vec![(format!("MPICH_{kind}"), wrapper)]),
        MpiChoice::Smpi => {
            let mut command = ours;
            command.extend(Smpi::find()?.flags(name)?);
            (command, Vec::new())
        }
    };
    let filled = |list: &[crate::study::Template]| list.iter().flat_map(|t| t.arguments(words)).collect::<Vec<_>>();
    command.extend(filled(&sources.flags));
    command.extend(sources.defines.iter().map(|(name, value)| format!("-D{name}={}", value.fill(words))));
    command.extend(sources.files.iter().map(|file| file.display().to_string()));
    command.extend(["-o".to_owned(), built.folder.join(PROGRAM).display().to_string()]);
    command.extend(filled(&sources.libraries));
    Ok(Step { words: command, environment, built: built.clone() })
}

/// Makes one; why it failed, if it did. It is started as runs are, with a folder whose name is found in its processes, so that no build of
/// a killed call goes on beside the next one's.
fn make(study: &Study, step: &Step, results: &Path, progress: &Progress) -> Result<Option<String>> {
    let shown = output::shown_command(&step.words);
    progress.step(&format!("build: {shown}"));
    let is_compiled = matches!(study.build, Build::Sources(_));
    if is_compiled || study.build.names().contains("build") {
        fs::create_dir_all(&step.built.folder).map_err(|e| Error::cannot_write(&step.built.folder, &e))?;
    }
    let mut command = Command::new(&step.words[0]);
    command.args(&step.words[1..]).current_dir(directory(study)).stdin(std::process::Stdio::null());
    if study.cases.iter().any(|case| case.absorbs) {
        command.env("POISE_NOISE", std::env::var_os("POISE_NOISE").unwrap_or_else(|| "on".into()));
    }
    command.envs(step.environment.iter().map(|(name, value)| (name, value)));
    let cannot_write = |e| Error::cannot_write(results, &e);
    let results = results.canonicalize().map_err(cannot_write)?;
    // All that it says is kept, and the end of it shown when it has ended.
    let logs = step.built.folder.with_file_name(SAID);
    let log = logs.join(step.built.folder.file_name().unwrap_or_default());
    fs::create_dir_all(&logs).and_then(|()| fs::write(&log, "")).map_err(cannot_write)?;
    // What opens it anew, as a shell does /dev/stderr, writes behind the rest as well.
    let file = File::options().append(true).open(&log).map_err(cannot_write)?;
    command.stdout(file.try_clone().map_err(cannot_write)?).stderr(file);
    let marker = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(results).map_err(cannot_write)?;
    let ended = run::supervise_unmeasured(&mut command, marker.path(), study.build_limit);
    let said = output::end_of(&log).unwrap_or_default();
    output::pass_on(&said);
    let last_words = || last_words(&said, &log);
    match ended?.how {
        End::Late { limit, .. } => {
            let seconds = limit.as_secs();
            Ok(Some(format!(
                "The study's build `{shown}` took longer than {seconds} s (build.time_limit) and was ended.{}",
                last_words()
            )))
        }
        End::NotStarted(why) => Err(Error::Usage(format!("Cannot start the study's build `{shown}`: {why}."))),
        End::Itself(status) if !status.success() => {
            let how = misfortune::end_in_words(status.into_raw());
            Ok(Some(format!("The study's build `{shown}` failed: {how}.{}", last_words())))
        }
        _ => Ok(None),
    }
}

/// The line of a build's output that tells most, and where all of it is, as a sentence after another.
fn last_words(said: &str, log: &Path) -> String {
    let lines = || said.lines().map(str::trim).filter(|line| line.chars().any(char::is_alphanumeric));
    // As compilers, linkers and make begin what they give up for.
    let is_reason =
        |line: &&str| ["error:", "fatal:", "Error:", "undefined reference"].iter().any(|word| line.contains(word));
    let line = lines().find(is_reason).or(lines().next_back());
    line.map_or_else(String::new, |line| {
        let start: String = line.chars().take(LONGEST_LINE).collect();
        format!(" It said: \"{start}\" (all of it is in {}).", log.display())
    })
}

fn directory(study: &Study) -> &Path {
    if study.directory.as_os_str().is_empty() { Path::new(".") } else { &study.directory }
}
