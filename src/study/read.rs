//! From the study file to a checked study: every mistake that can be found before a run is found here.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use modeler::report::coordinate;

use super::build::{Build, MpiChoice, pairs};
use super::expression::Expression;
use super::file::{Collect, Launcher, OneOrMore, StudyFile, meant_above, place_of_key};
use super::places::{Local, SlurmPlace, SmpiPlace};
use super::policy::Repetitions;
use super::template::{Template, is_reference};
use super::values::{Parameter, cases, expression};
use super::{Case, Clock, ExecutorKind, Place, Study};
use crate::error::{Error, Result};
use crate::executors::smpi;
use crate::install;
use crate::run::{self, Measured};
use modeler::words::suggestion;

/// Names that templates give a meaning of their own.
const RESERVED: [&str; 3] = ["program", "build", "folder"];

impl Study {
    /// Reads and checks a study file. Relative paths in it are relative to the file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|e| match e.kind() {
            ErrorKind::InvalidData => Error::Input(format!(
                "{0} is no study, since it is no text. To measure a program once: poise run -o FOLDER -- {0}",
                path.display()
            )),
            _ => Error::cannot_read(path, &e),
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let stem = path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
        Self::parse(&text, &path.display().to_string(), folder, &stem)
    }

    /// Checks the text of a study file; `file` is for messages, `folder` for relative paths, `stem` the default name.
    pub fn parse(text: &str, file: &str, folder: &Path, stem: &str) -> Result<Self> {
        let raw = StudyFile::parse(text, file).map_err(Error::Input)?;
        checked(raw, folder, stem).map_err(|what| {
            let what = what.trim_end_matches('.');
            let place = place_of_key(text, what);
            Error::Input(format!("{file}{place}: {what}{}", if what.ends_with('?') { "" } else { "." }))
        })
    }
}

fn checked(raw: StudyFile, folder: &Path, stem: &str) -> Result<Study, String> {
    if raw.command.is_empty() {
        return Err("`command` is empty; give the program and its arguments, one string each".into());
    }
    let parameters: Vec<Parameter> = if raw.parameters.is_empty() {
        Parameter::of_points(&raw.points)?
    } else {
        raw.parameters.iter().map(|(name, value)| Parameter::read(name, value)).collect::<Result<_, _>>()?
    };
    if parameters.is_empty() {
        return Err("[parameters] is empty; name at least one parameter and its values, or list `points`".into());
    }
    if raw.parameters.is_empty() && raw.conditions.is_some() {
        return Err(
            "`where` leaves out combinations of [parameters], and there are `points` alone; leave it out".into()
        );
    }
    let derived = derived(&raw.derived, &parameters)?;
    let conditions: Vec<Expression> = raw
        .conditions
        .map_or_else(Vec::new, OneOrMore::into_vec)
        .iter()
        .map(|text| Expression::parse(text).map_err(|what| format!("`where` has {what}")))
        .collect::<Result<_, _>>()?;
    let mut cases = cases(&parameters, &derived, &conditions, &raw.points)?;
    if cases.is_empty() {
        return Err("`where` leaves no point".into());
    }
    let executor = executor(raw.executor, raw.slurm.is_some(), raw.smpi.is_some())?;
    if raw.absorption {
        if raw.collect != Collect::Profile || executor == ExecutorKind::Smpi {
            return Err(
                "`absorption` compares times of loops, which neither a simulation nor collect = \"elapsed\" has".into(),
            );
        }
        if raw.environment.contains_key("POISE_ABSORB") {
            return Err("`absorption` sets POISE_ABSORB in the runs with noise; leave it out of [environment]".into());
        }
        let noisy: Vec<Case> = cases.iter().map(|case| Case { absorbs: true, ..case.clone() }).collect();
        cases.extend(noisy);
    }
    if raw.collect == Collect::Elapsed && raw.clock.is_some_and(|clock| clock != Clock::Wall) {
        return Err(
            "`clock` says what profiles measure, and collect = \"elapsed\" makes none; leave one of them out".into()
        );
    }
    let (is_smpi, name) = (executor == ExecutorKind::Smpi, raw.name.unwrap_or_else(|| stem.to_owned()));
    if name.is_empty() || name.contains('/') || name.starts_with('.') {
        return Err(format!("`name` is \"{name}\"; it names the results folder and holds no `/`"));
    }
    let default_mpi = if is_smpi { MpiChoice::Smpi } else { MpiChoice::OpenMpi };
    let build_limit = Build::limit(raw.build.as_ref())?;
    let build = Build::read(raw.build, default_mpi)?;
    if let Build::Sources(sources) = &build
        && is_smpi
        && sources.mpi != MpiChoice::Smpi
    {
        let mpi = sources.mpi.name();
        return Err(format!(
            "`build.mpi` is \"{mpi}\", and executor = \"smpi\" simulates programs that are compiled for \"smpi\""
        ));
    }
    let study = Study {
        name,
        build_limit,
        build,
        command: command(raw.launcher, &raw.command, is_smpi)?,
        environment: environment(&raw.environment, raw.collect)?,
        files: files(&raw.files, folder, is_smpi)?,
        directory: directory(folder, raw.directory)?,
        own_folder: raw.own_folder,
        repetitions: Repetitions::read(raw.repetitions)?,
        order: raw.order,
        time_limit: Duration::from_secs(raw.time_limit),
        memory_limit: match raw.memory_limit {
            Some(0) => return Err("`memory_limit` is 0 MiB, with which no program starts".into()),
            limit => limit,
        },
        expected_seconds: raw.expected_seconds.as_ref().map(expression).transpose()?,
        // Elapsed time is the command's own, which is a simulator's too.
        clock: raw.clock.unwrap_or(match (is_smpi, raw.collect) {
            (true, Collect::Profile) => Clock::Simulated,
            _ => Clock::Wall,
        }),
        measured: match (raw.collect, raw.linked || is_smpi) {
            (Collect::Elapsed, _) => Measured::Not,
            (Collect::Profile, true) => Measured::Linked,
            (Collect::Profile, false) => Measured::Preloaded,
        },
        waiting: raw.waiting,
        ranks: count(raw.ranks, "ranks", &["p", "ranks"], &parameters)?,
        threads: count(raw.threads, "threads", &["threads"], &parameters)?,
        place: match executor {
            ExecutorKind::Local => Place::Local(Local::read(raw.local)?),
            ExecutorKind::Slurm => Place::Slurm(SlurmPlace::read(raw.slurm.unwrap_or_default())?),
            ExecutorKind::Smpi => Place::Smpi(SmpiPlace::read(raw.smpi.unwrap_or_default())?),
        },
        cases,
    };
    if study.time_limit.is_zero() {
        return Err("`time_limit` is 0; give seconds".into());
    }
    check_names(&study, &parameters, &derived)?;
    check_numbers(&study, raw.command.len())?;
    Ok(study)
}

/// Where runs are made. A table of another place than this machine says that one is meant, and a study of a cluster is not for
/// the machine from which jobs are submitted.
fn executor(named: Option<ExecutorKind>, has_slurm: bool, has_smpi: bool) -> Result<ExecutorKind, String> {
    let table = match (has_slurm, has_smpi) {
        (true, _) => "slurm",
        (false, true) => "smpi",
        (false, false) => return Ok(named.unwrap_or(ExecutorKind::Local)),
    };
    named.ok_or_else(|| {
        format!(
            "[{table}] is given and `executor` is not; add executor = \"{table}\" before the first table, or \"local\" for runs on this \
             machine"
        )
    })
}

/// `[derived]`: each may use parameters and what stands before it.
fn derived(table: &toml::Table, parameters: &[Parameter]) -> Result<Vec<(String, Expression)>, String> {
    let mut known: Vec<&str> = parameters.iter().map(Parameter::name).collect();
    if let Some(name) = known.iter().find(|name| RESERVED.contains(name)) {
        return Err(format!(
            "parameter `{name}`: {{{name}}} has a meaning of its own in templates; choose another name"
        ));
    }
    let mut derived = Vec::new();
    for (name, value) in table {
        if known.contains(&name.as_str()) || RESERVED.contains(&name.as_str()) {
            return Err(format!("`derived.{name}` is a name that is taken"));
        }
        let expression = expression(value).map_err(|what| format!("`derived.{name}`: {what}"))?;
        if let Some(unknown) = expression.names().into_iter().find(|used| !known.contains(used)) {
            let meant = suggestion(unknown, known.iter().copied());
            return Err(format!(
                "`derived.{name}` uses `{unknown}`, which is neither a parameter nor stands before it{meant}"
            ));
        }
        known.push(name);
        derived.push((name.clone(), expression));
    }
    Ok(derived)
}

/// The launcher's words and the program's.
fn command(launcher: Option<Launcher>, words: &[String], is_smpi: bool) -> Result<Vec<Template>, String> {
    const NAMES: [&str; 4] = ["openmpi", "mpich", "srun", "none"];
    let first = |names: &[&str]| {
        let found = names.iter().find(|name| install::find_program(name).is_some());
        found.or(names.last()).map_or_else(String::new, |name| (*name).to_owned())
    };
    let launcher = match launcher {
        Some(_) if is_smpi => {
            return Err("`launcher` has no meaning for the executor \"smpi\", which starts ranks itself".into());
        }
        None => Vec::new(),
        Some(Launcher::Words(words)) => words,
        Some(Launcher::Named(name)) => match name.as_str() {
            "openmpi" => {
                vec![first(&["mpirun.openmpi", "mpirun"]), "--oversubscribe".into(), "-n".into(), "{ranks}".into()]
            }
            "mpich" => vec![first(&["mpiexec.mpich", "mpiexec"]), "-n".into(), "{ranks}".into()],
            // Without it srun waits for the other ranks of one that died, up to the whole time limit.
            "srun" => vec!["srun".into(), "--kill-on-bad-exit=1".into(), "-n".into(), "{ranks}".into()],
            "none" => Vec::new(),
            other => {
                let meant = suggestion(other, NAMES);
                return Err(format!(
                    "`launcher` is \"{other}\", none of {}{meant}; or give its words in a list",
                    NAMES.join(", ")
                ));
            }
        },
    };
    if let Some(word) = launcher.iter().chain(words).find(|word| word.contains('\0')) {
        return Err(format!("`command` has a zero byte in {word:?}, which no program can be given"));
    }
    Ok(launcher.iter().chain(words).map(|word| Template::parse(word)).collect())
}

/// `[environment]`: names and templates of their values, without the variables that are set in every such run.
fn environment(table: &toml::Table, collect: Collect) -> Result<Vec<(String, Template)>, String> {
    let is_set = |name: &&String| match collect {
        Collect::Profile => run::SET.contains(&name.as_str()),
        Collect::Elapsed => *name == run::RUN,
    };
    if let Some(name) = table.keys().find(is_set) {
        return Err(format!("`environment.{name}` is set by poise in every run; leave it out"));
    }
    pairs("environment", table)
}

/// `[files]`: the name in the run's folder, and the template beside the study file.
fn files(table: &toml::Table, folder: &Path, is_smpi: bool) -> Result<Vec<(String, Template)>, String> {
    let file = |(name, value): (&String, &toml::Value)| {
        if !is_reference(name) || run::is_ours(name) || is_smpi && name == smpi::PLATFORM {
            return Err(format!(
                "`files` has the name \"{name}\"; give letters, digits, `_`, `-` and `.`, and no name of ours"
            ));
        }
        let path = value.as_str().ok_or_else(|| format!("`files.{name}` is no file name"))?;
        let path = folder.join(path);
        let text = std::fs::read_to_string(&path)
            .map_err(|e| format!("`files.{name}` is {}, which cannot be read: {e}", path.display()))?;
        if text.contains('\0') {
            return Err(format!("`files.{name}` is {}, which has a zero byte and so is no text", path.display()));
        }
        Ok((name.clone(), Template::parse(&text)))
    };
    table.iter().map(file).collect()
}

fn directory(folder: &Path, named: Option<PathBuf>) -> Result<PathBuf, String> {
    let directory = folder.join(named.unwrap_or_default());
    if !directory.as_os_str().is_empty() && !directory.is_dir() {
        return Err(format!("`directory` is {}, which is no folder", directory.display()));
    }
    Ok(directory)
}

/// An expression for a count: what the study says, else the parameter of one of `names`, else 1.
fn count(
    value: Option<toml::Value>,
    key: &str,
    names: &[&str],
    parameters: &[Parameter],
) -> Result<Expression, String> {
    if let Some(value) = value {
        return expression(&value).map_err(|what| format!("`{key}`: {what}"));
    }
    let is_parameter = |name: &&&str| parameters.iter().any(|p| p.name() == **name && p.is_numeric());
    Expression::parse(names.iter().find(is_parameter).unwrap_or(&"1"))
}

/// Every name in a template has a meaning, and every parameter reaches the program: a typo does neither.
fn check_names(study: &Study, parameters: &[Parameter], derived: &[(String, Expression)]) -> Result<(), String> {
    let known: BTreeSet<&str> =
        parameters.iter().map(Parameter::name).chain(derived.iter().map(|(name, _)| name.as_str())).collect();
    let in_runs = study.names_in_runs();
    let in_build = study.build.names();
    let special = |name: &str, is_run: bool| match name {
        "program" => is_run && matches!(study.build, Build::Sources(_)),
        "build" => matches!(study.build, Build::Command { .. }),
        "ranks" | "threads" | "folder" => is_run,
        other => is_run && study.files.iter().any(|(file, _)| file == other),
    };
    for (names, is_run, place) in
        [(&in_runs, true, "`command`, `environment` or a file"), (&in_build, false, "`build`")]
    {
        if let Some(unknown) = names.iter().find(|name| !known.contains(*name) && !special(name, is_run)) {
            let meant = suggestion(unknown, known.iter().copied());
            return Err(format!(
                "{place} uses {{{unknown}}}, which is no parameter{meant}; the parameters are {}. Write {{{{{unknown}}}}} for \
                 the text itself",
                Vec::from_iter(known).join(", ")
            ));
        }
    }
    let mut used: BTreeSet<&str> = in_runs.union(&in_build).copied().collect();
    if used.contains("ranks") || matches!(study.place, Place::Smpi(_)) {
        used.extend(study.ranks.names());
    }
    if used.contains("threads") {
        used.extend(study.threads.names());
    }
    if let Place::Slurm(place) = &study.place {
        used.extend(study.ranks.names());
        used.extend(study.threads.names());
        used.extend([&place.nodes, &place.tasks_per_node].into_iter().flatten().flat_map(Expression::names));
        used.extend(place.options.iter().flat_map(Template::names));
    }
    for (name, expression) in derived.iter().rev() {
        if used.contains(name.as_str()) {
            used.extend(expression.names());
        }
    }
    // A formula may use what is a formula itself, in any order: no chain of them is longer than the list.
    for _ in parameters {
        let needed: Vec<&str> =
            parameters.iter().filter(|p| used.contains(p.name())).flat_map(Parameter::needs).collect();
        used.extend(needed);
    }
    if let Some(unused) = parameters.iter().map(Parameter::name).find(|name| !used.contains(name)) {
        let counts = [("ranks", &study.ranks), ("threads", &study.threads)];
        let of_count = counts.into_iter().find(|(_, count)| count.names().contains(&unused));
        let but = of_count.map_or_else(String::new, |(key, _)| {
            format!(" `{key}` uses it, and no word of the launcher or of `command` is {{{key}}}.")
        });
        return Err(format!(
            "no run depends on the parameter `{unused}`, since neither `command`, `environment`, a file nor `build` uses it.{but} Put \
             {{{unused}}} where it belongs{}",
            meant_above(unused)
        ));
    }
    check_builds(study, &in_build)
}

/// Builds that differ must not overwrite one another.
fn check_builds(study: &Study, names: &BTreeSet<&str>) -> Result<(), String> {
    let varies = names.iter().find(|name| **name != "build");
    match (&study.build, varies) {
        (Build::Command { .. }, Some(parameter)) if !names.contains("build") => Err(format!(
            "`build` depends on {{{parameter}}}, so there are several builds; put what each makes into the folder {{build}}, \
             and start it from there"
        )),
        (Build::Sources(_), _) if !study.names_in_runs().contains("program") => {
            Err("`command` does not use {program}, which is what `build.sources` become".into())
        }
        _ => Ok(()),
    }
}

/// The expressions give whole numbers of ranks and threads at every point, and what is started begins with a program, before whose
/// `own_words` the launcher's may stand.
fn check_numbers(study: &Study, own_words: usize) -> Result<(), String> {
    let whole = |e: &Expression, key: &str, case: &Case| {
        let number = e.number(&|name| case.term(name)).map_err(|what| format!("`{key}`{}: {what}", case.place()))?;
        if number.fract() != 0.0 || !(1.0..=1e8).contains(&number) {
            return Err(format!("`{key}` is {}{}; it is a whole number, at least 1", coordinate(number), case.place()));
        }
        Ok(())
    };
    for case in &study.cases {
        let has_words = |templates: &[Template]| {
            let words = |name: &str| study.words(case, name).unwrap_or_else(|| vec![String::new()]);
            templates.iter().any(|template| !template.arguments(&words).is_empty())
        };
        let build: &[Template] = if let Build::Command { command, .. } = &study.build { command } else { &[] };
        let own = &study.command[study.command.len() - own_words..];
        for (templates, key) in [(own, "command"), (build, "build")] {
            if !templates.is_empty() && !has_words(templates) {
                return Err(format!("`{key}` has no word{}; it begins with the program", case.place()));
            }
        }
        whole(&study.ranks, "ranks", case)?;
        whole(&study.threads, "threads", case)?;
        if let Some(expected) = &study.expected_seconds {
            let seconds = expected
                .number(&|name| case.term(name))
                .map_err(|what| format!("`expected_seconds`{}: {what}", case.place()))?;
            if seconds < 0.0 {
                let (seconds, place) = (coordinate(seconds), case.place());
                return Err(format!("`expected_seconds` is {seconds}{place}; it is a time in seconds, at least 0"));
            }
        }
        if let Place::Slurm(place) = &study.place {
            for (e, key) in [(&place.nodes, "slurm.nodes"), (&place.tasks_per_node, "slurm.tasks_per_node")] {
                e.as_ref().map_or(Ok(()), |e| whole(e, key, case))?;
            }
        }
    }
    let mut names: Vec<_> = study.cases.iter().map(|case| study.folder_of(case)).collect();
    // Beside the number of the repetition, within what file systems take.
    const LONGEST: usize = 240;
    let too_long = |(name, case): (&(String, String), &Case)| {
        let length = name.0.len().max(name.1.len());
        (length > LONGEST).then(|| {
            format!(
                "the folder of runs{} would have a name of {length} letters, and {LONGEST} are the most; \
            take fewer or shorter values",
                case.place()
            )
        })
    };
    if let Some(what) = names.iter().zip(&study.cases).find_map(too_long) {
        return Err(what);
    }
    names.sort();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("two points would both leave their runs in {}{}", pair[0].0, pair[0].1)),
        None => Ok(()),
    }
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

    fn commands(study: &Study) -> Vec<String> {
        let words = |case: &Case, name: &str| study.words(case, name).unwrap();
        let line =
            |case: &Case| study.command.iter().flat_map(|t| t.arguments(&|name| words(case, name))).collect::<Vec<_>>();
        study.cases.iter().map(|case| line(case).join("|")).collect()
    }

    #[test]
    fn every_combination_is_a_point_and_values_reach_the_command_as_written() {
        let study = parse(STUDY).unwrap();
        let commands = commands(&study);
        assert_eq!(commands.len(), 6);
        assert!(commands.contains(&"mpirun|-n|4|./app|--size=0.5|{literal brace}".to_owned()), "{commands:?}");
        assert_eq!(study.cases[1].point[0].0, "p", "parameters keep the file's order");
        assert_eq!(study.name, "s");
        assert_eq!(study.directory, Path::new("/usr"));
        assert_eq!(study.cores(&study.cases[5]), (4, 4));
    }

    #[test]
    fn texts_are_factors_and_several_words_several_arguments() {
        let study = parse(
            "command = [\"app\", \"{opt}\", \"{n}\"]\n[parameters]\nn = [1]\nopt = [\"a;b c\", [\"-x\", \"-y z\"], []]\n",
        )
        .unwrap();
        assert_eq!(commands(&study), ["app|a;b c|1", "app|-x|-y z|1", "app|1"]);
        assert!(study.has_groups());
        assert!(study.folder_of(&study.cases[0]).0.starts_with("opt=a_b_c~"));
    }

    #[test]
    fn a_launcher_has_a_name_and_ranks_an_expression() {
        let text = "launcher = \"srun\"\nranks = \"a * b\"\ncommand = [\"app\"]\n[parameters]\na = [2]\nb = [3]\n";
        let study = parse(text).unwrap();
        assert_eq!(commands(&study), ["srun|--kill-on-bad-exit=1|-n|6|app"]);
        assert!(parse(&text.replace("a * b", "a / b")).unwrap_err().to_string().contains("whole number"));
        let alone = parse(&text.replace("srun", "none")).unwrap_err().to_string();
        assert!(alone.contains("no run depends on the parameter `a`") && alone.contains("is {ranks}."), "{alone}");
        assert!(parse(&text.replace("srun", "none").replace("app", "{ranks}")).is_ok());
        assert!(parse(&text.replace("srun", "srunn")).unwrap_err().to_string().contains("did you mean `srun`?"));
    }

    #[test]
    fn a_parameter_reaches_runs_by_the_formula_of_another() {
        let weak = |command: &str| {
            parse(&format!(
                "launcher = \"openmpi\"\ncommand = [{command}]\n[derived]\nside = \"sqrt(n)\"\n\
                 [parameters]\np = [1, 2]\nn = {{ equals = \"rows * p\" }}\nrows = {{ equals = \"m * m\" }}\nm = [10, 20]\n"
            ))
        };
        for word in ["{n}", "{side}"] {
            let study = weak(&format!("\"app\", \"{word}\"")).unwrap_or_else(|e| panic!("{word}: {e}"));
            assert_eq!(study.cases.len(), 4, "{word}");
        }
        let unused = weak("\"app\", \"{rows}\"").unwrap_err().to_string();
        assert!(unused.contains("no run depends on the parameter `n`"), "{unused}");
    }

    #[test]
    fn the_sample_is_a_study() {
        let folder = tempfile::tempdir().unwrap();
        let study = Study::parse(super::super::SAMPLE, "sample.toml", folder.path(), "sample");
        study.unwrap_or_else(|e| panic!("{e}"));
    }

    /// Whether a key is where it would be read once the `#` before it is removed. Those of a build are within its one line.
    fn is_in_sample(table: &str, key: &str) -> bool {
        let lines = || super::super::SAMPLE.lines().map(|line| line.trim_start_matches("# "));
        let is_header = |line: &str| line.starts_with('[');
        if table == "[build]\n" {
            return lines().any(|line| line.starts_with("build = {") && line.contains(&format!(" {key} = ")));
        }
        let of_table = match table.trim_end() {
            "" => lines().take_while(|line| !is_header(line)).collect::<Vec<_>>(),
            header => lines().skip_while(|line| *line != header).skip(1).take_while(|line| !is_header(line)).collect(),
        };
        let is_table = |line: &str| table.is_empty() && (line == format!("[{key}]") || line == format!("[[{key}]]"));
        of_table.iter().any(|line| line.starts_with(&format!("{key} = "))) || lines().any(is_table)
    }

    /// The parser lists the keys where it meets one that it does not know.
    #[test]
    fn the_sample_names_every_key() {
        for table in ["", "[local]\n", "[slurm]\n", "[smpi]\n", "[build]\n"] {
            let message = parse(&format!("{table}\"\" = 1\n")).unwrap_err().to_string();
            let (_, keys) =
                message.split_once("expected one of ").unwrap_or_else(|| message.split_once("expected ").unwrap());
            let keys: Vec<&str> = keys.split('`').skip(1).step_by(2).collect();
            assert!(keys.len() > 1, "{message}");
            for key in keys {
                assert!(is_in_sample(table, key), "{table}{key}");
            }
        }
    }

    #[test]
    fn keys_below_the_parameters_are_told_where_they_belong() {
        let message = parse("\"\" = 1\n").unwrap_err().to_string();
        let (_, keys) = message.split_once("expected one of ").unwrap();
        let mut known: Vec<&str> = keys.split('`').skip(1).step_by(2).collect();
        known.retain(|key| !["parameters", "derived"].contains(key));
        assert_eq!(known, super::super::file::KEYS);
        for line in ["clock = \"cpu\"", "expected_seconds = 3", "repetitions = 5", "where = [\"n > 1\"]", "smpi = {}"] {
            let (key, _) = line.split_once(' ').unwrap();
            let told = parse(&format!("{STUDY}{line}\n")).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(told.contains(&format!("`{key}` belongs above the first table")), "{line}: {told}");
        }
    }

    #[test]
    fn what_poise_sets_itself_and_commands_without_words_are_refused() {
        let message = |text: &str| parse(text).unwrap_err().to_string();
        for name in run::SET {
            let told = message(&format!("{STUDY}[environment]\n{name} = \"x\"\n"));
            assert!(told.contains(&format!("`environment.{name}` is set by poise")), "{told}");
        }
        let empty = |key: &str| message(&format!("{key}\n[parameters]\no = [[], \"true\"]\nn = [1]\n"));
        let told = empty("command = [\"{o}\"]\nenvironment = { N = \"{n}\" }");
        assert!(told.contains("`command` has no word") && told.contains("it begins with the program"), "{told}");
        let launched = "launcher = [\"env\"]\ncommand = [\"{o}\"]\nenvironment = { N = \"{n}\" }";
        assert!(empty(launched).contains("`command` has no word"));
        let told = empty("build = [\"{o}\"]\ncommand = [\"{build}/app\", \"{n}\"]");
        assert!(told.contains("`build`"), "{told}");
    }

    #[test]
    fn files_of_a_run_have_neither_names_of_ours_nor_zero_bytes() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("in"), "{n}").unwrap();
        std::fs::write(folder.path().join("zero"), "a\0b").unwrap();
        let with = |name: &str, file: &str| {
            let text = format!(
                "command = [\"app\", \"{{n}}\"]\nfiles = {{ \"{name}\" = \"{file}\" }}\n[parameters]\nn = [1]\n"
            );
            Study::parse(&text, "s.toml", folder.path(), "s").map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(with("input", "in"), Ok(()));
        for ours in ["run.json", "stderr.txt", "profile.poise.conflict", "partial.poise", "machine.poise.0"] {
            assert!(with(ours, "in").unwrap_err().contains("no name of ours"), "{ours}");
        }
        assert_eq!(with("platform.xml", "in"), Ok(()), "without a simulator it is nobody's");
        assert!(with("input", "zero").unwrap_err().contains("zero byte"));
        let missing = with("input.nml", "nowhere").unwrap_err();
        assert!(missing.starts_with("s.toml:2:11: `files.input.nml` is"), "{missing}");
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let message = |text: &str| parse(text).unwrap_err().to_string();
        let typo = message("comand = []\n[parameters]\n");
        assert!(
            typo.starts_with("s.toml:1:1: unknown field `comand`") && typo.contains("did you mean `command`?"),
            "{typo}"
        );
        let build = message(&format!("build = {{ surces = [\"a.c\"] }}\n{STUDY}"));
        assert!(build.starts_with("s.toml:1:") && build.contains("did you mean `sources`?"), "{build}");
        assert!(message(&STUDY.replace("{p}", "{q}")).contains("{q}, which is no parameter"));
        assert!(message(&STUDY.replace("{n}", "{N}")).contains("did you mean `n`?"));
        let unknown = message(&format!("where = \"n + q > 2\"\n{STUDY}"));
        assert!(unknown.starts_with("s.toml:1:1: `where` has `n + q > 2`"), "{unknown}");
        assert!(message(&format!("repetitions = -1\n{STUDY}")).starts_with("s.toml:1:"));
        let late = message(&format!("expected_seconds = \"2 - n\"\n{STUDY}"));
        assert!(late.starts_with("s.toml:1:1: `expected_seconds` is -"), "{late}");
        let of_parameter = message(&STUDY.replace("[2, 4]", "[]"));
        let line = STUDY.lines().position(|line| line.starts_with("p = ")).unwrap() + 1;
        assert!(of_parameter.starts_with(&format!("s.toml:{line}:1: parameter `p` has no values")), "{of_parameter}");
        assert!(message(&STUDY.replace("[2, 4]", "2")).contains("`p` is no list"));
        assert!(message(&STUDY.replace("[2, 4]", "[]")).contains("`p` has no values"));
        assert!(message(&STUDY.replace("[2, 4]", "[nan]")).contains("no finite number"));
        assert!(message(&STUDY.replace("[2, 4]", "[2, 0]")).contains("positive"));
        assert!(message(&STUDY.replace("[2, 4]", "[2, 4, 2]")).contains("2 twice"));
        assert!(message(&STUDY.replace("{n}", "n")).contains("no run depends on the parameter `n`"));
        assert!(message(&format!("name = \"../x\"\n{STUDY}")).contains("holds no `/`"));
        assert!(message(&format!("directory = \"no-such\"\n{STUDY}")).contains("which is no folder"));
        assert!(message(&STUDY.replace("time_limit = 5", "time_limit = \"x\"")).starts_with("s.toml:3:14:"));
        assert!(
            message(&format!("build = [\"make\", \"N={{n}}\"]\n{STUDY}"))
                .contains("put what each makes into the folder {build}")
        );
        assert!(message(&format!("build = {{ sources = [\"a.c\"] }}\n{STUDY}")).contains("does not use {program}"));
        assert!(message(&format!("where = \"p > 9\"\n{STUDY}")).contains("leaves no point"));
        assert!(message(&format!("derived = {{ m = \"q\" }}\n{STUDY}")).contains("`derived.m` uses `q`"));
        assert!(message(&format!("repetitions = \"martha\"\n{STUDY}")).ends_with("did you mean `marta`?"));
        for (condition, operator) in [("n = 2", "=="), ("n > 0 and p > 1", "&&"), ("n > 0 or p > 1", "||")] {
            let said = message(&format!("where = \"{condition}\"\n{STUDY}"));
            assert!(said.ends_with(&format!("did you mean `{operator}`?")), "{said}");
        }
        let at_once = |rest: &str| message(&format!("executor = \"slurm\"\n{STUDY}\n[slurm]\nat_once = {rest}\n"));
        assert!(at_once("0").contains("give at least 1"), "{}", at_once("0"));
        assert!(at_once("2\nsubmit = \"jobs\"").contains("for the runs of an array"));
        assert!(message(&format!("executor = \"slrm\"\n{STUDY}")).contains("did you mean `slurm`?"));
        let place = message(&format!("{STUDY}\n[slurm]\npartition = \"long\"\n"));
        assert!(place.contains("[slurm] is given and `executor` is not; add executor = \"slurm\""), "{place}");
        assert!(message(&format!("{STUDY}\n[smpi]\n")).contains("add executor = \"smpi\""));
        for told in ["local", "slurm"] {
            let study = parse(&format!("executor = \"{told}\"\n{STUDY}\n[slurm]\npartition = \"long\"\n")).unwrap();
            assert_eq!(matches!(study.place, Place::Slurm(_)), told == "slurm");
        }
        let unquoted = message(&STUDY.replace("time_limit = 5", "launcher = time"));
        assert!(unquoted.contains("s.toml:3:12: expected `true`, or a text in quotes"), "{unquoted}");
    }
}
