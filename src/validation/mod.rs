//! `poise demo` and `poise bench validate`: the whole chain over a program of known complexity. Generate, compile,
//! measure, model, measure a larger point that no model has seen, and compare with the truth. The demo shows it on five
//! functions, call path by call path; the validation ([`full`]) scores hundreds.

mod advised;
mod comparison;
mod exact;
mod execute;
mod extrap;
mod figures;
mod full;
mod page;
mod plan;
mod result;
mod room;
mod score;
mod text;
mod times;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use benchgen::{Generated, Spec};
use modeler::experiment::CallPathId;
use modeler::formats::{self, ReadOptions};
use modeler::{Experiment, ExponentSets, MethodChoice, Options};

use crate::campaign;
use crate::cli::{DemoArgs, GlobalArgs, OutputFormat};
use crate::error::{Error, Result};
use crate::install::{self, Language, Mpi};
use crate::interrupt;
use crate::output;
use crate::progress::Progress;
use crate::study::{Case, Clock, Point, Study, Value};
use comparison::Comparison;

/// The whole pipeline on the built-in specification.
pub fn demo(arguments: &DemoArgs, global: &GlobalArgs, progress: &Progress) -> Result<()> {
    let folder = arguments.out.clone().unwrap_or_else(|| free_name("poise-demo"));
    let spec = read_spec(None)?;
    validate_spec(&spec, &folder, arguments.format, arguments.seed.seed, global, progress)
}

pub use full::validate;

/// A specification from a file, or the built-in one.
pub fn read_spec(file: Option<&Path>) -> Result<Spec> {
    let (text, name) = match file {
        None => (benchgen::DEMO_SPEC.to_owned(), "demo.toml".to_owned()),
        Some(path) => {
            let text = fs::read_to_string(path).map_err(|e| Error::cannot_read(path, &e))?;
            (text, path.display().to_string())
        }
    };
    Spec::parse(&text, &name).map_err(|e| Error::Input(e.to_string()))
}

/// Writes the generated program, its CMake file and its truth into a new folder; returns the program's path.
pub fn write_program(spec: &Spec, folder: &Path, language: benchgen::Language) -> Result<(Generated, PathBuf)> {
    output::new_folder(folder)?;
    let generated = write_program_into(spec, folder, language)?;
    let source = folder.join(&generated.file);
    Ok((generated, source))
}

/// Writes whatever of the program's files is missing in `folder`.
fn write_program_into(spec: &Spec, folder: &Path, language: benchgen::Language) -> Result<Generated> {
    let generated = benchgen::generate_in(spec, language);
    let truth = generated.truth.to_json();
    for (name, text) in
        [(&*generated.file, &generated.source), ("CMakeLists.txt", &generated.cmake), ("truth.json", &truth)]
    {
        let path = folder.join(name);
        match fs::read_to_string(&path) {
            // Another version of the generator draws other functions; its runs say nothing of these.
            Ok(found) if name == "truth.json" && found != *text => {
                return Err(Error::Usage(format!(
                    "{} is not what this version of poise generates. Choose another folder with -o.",
                    path.display()
                )));
            }
            Ok(_) => {}
            Err(_) => output::write_file(&path, text.as_bytes())?,
        }
    }
    Ok(generated)
}

fn free_name(name: &str) -> PathBuf {
    let numbered = (2..).map(|i| PathBuf::from(format!("{name}-{i}")));
    std::iter::once(PathBuf::from(name)).chain(numbered).find(|p| p.symlink_metadata().is_err()).unwrap_or_default()
}

fn validate_spec(
    spec: &Spec,
    folder: &Path,
    format: OutputFormat,
    seed: u64,
    global: &GlobalArgs,
    progress: &Progress,
) -> Result<()> {
    let test = test_point(spec)?;
    // Looked for before anything is written, so that a missing tool leaves nothing behind.
    let mpi = install::open_mpi()?;
    install::compiler(Language::Cxx)?;
    for library in [install::PASS, install::RUNTIME, install::SHIM] {
        install::library(library)?;
    }
    interrupt::watch();
    progress.step(&format!(
        "generate {} into {}",
        output::counted(spec.functions.len(), "function", "functions"),
        folder.display()
    ));
    let (generated, source) = write_program(spec, folder, benchgen::Language::Cpp)?;
    progress.step("compile with poise c++ under mpicxx");
    compile(&mpi, folder, &source, &spec.name)?;

    let study = study(spec, &mpi, folder);
    let trained = measure(&study, &folder.join("runs"), progress)?;
    progress.step("model");
    let options = options(spec, seed);
    let fits = |method| modeler::fit(&trained, &Options { method, ..options.clone() });
    let (effort, time) = (fits(MethodChoice::Auto), fits(MethodChoice::Time));
    output::write_file(
        &folder.join("models.json"),
        formats::models_json(&trained, &effort, env!("CARGO_PKG_VERSION"), seed).as_bytes(),
    )?;

    progress.step(&format!("measure the unseen point {}", point_text(&test)));
    let unseen = measure(&Study { cases: vec![Case::of(test.clone())], ..study }, &folder.join("test"), progress)?;

    interrupt::check()?;
    let comparison = Comparison::new(&generated.truth, &trained, &effort, &time, &unseen)?;
    let report = folder.join("report.html");
    output::write_file(&report, comparison.html(&spec.name, &trained, &effort).as_bytes())?;
    let text = match format {
        OutputFormat::Human => comparison.for_people(),
        OutputFormat::Json => comparison.json()?,
        OutputFormat::Csv => comparison.csv(),
    };
    output::deliver(&text, None)?;
    if !global.quiet {
        output::say(format!("the report with a plot per call path is {}.", report.display()));
    }
    comparison.gate()
}

/// The held-out point as the study has points.
fn test_point(spec: &Spec) -> Result<Point> {
    let test = spec.test.as_ref().ok_or_else(|| {
        Error::Input("The specification names no test point; give one larger than all others, [test].".into())
    })?;
    Ok(spec.parameters.iter().filter_map(|p| Some((p.name.clone(), Value::of(*test.get(&p.name)?)))).collect())
}

fn point_text(point: &Point) -> String {
    point.iter().map(|(name, value)| format!("{name}={}", value.text)).collect::<Vec<_>>().join(", ")
}

/// Compiles the program as a user would: MPI's own wrapper around ours.
fn compile(mpi: &Mpi, folder: &Path, source: &Path, name: &str) -> Result<()> {
    let poise = std::env::current_exe().map_err(|e| Error::Defect(format!("The program's own path: {e}.")))?;
    let wrapper = format!("{} c++", poise.display());
    let mut command = Command::new(&mpi.cxx);
    command.args(["-std=c++17", "-O2"]).arg(source).arg("-o").arg(folder.join(name));
    command.env("OMPI_CXX", &wrapper).env("MPICH_CXX", &wrapper);
    let output = command.output().map_err(|e| Error::Usage(format!("Cannot start {}: {e}.", mpi.cxx.display())))?;
    interrupt::check()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Error::Usage(format!("{} could not compile {}:\n{}", mpi.cxx.display(), source.display(), said.trim_end())))
}

fn study(spec: &Spec, mpi: &Mpi, folder: &Path) -> Study {
    let mut command = mpirun(mpi);
    command.push(format!("./{}", spec.name));
    let others = spec.parameters.iter().filter(|p| p.name != "p");
    command.extend(others.map(|p| format!("{0}={{{0}}}", p.name)));
    // Ranks share cores, and elapsed time would measure the neighbours.
    let study = Study::of(&spec.name, &command, folder, points_of(spec));
    Study { time_limit: Duration::from_secs(300), clock: Clock::Cpu, waiting: waits(spec), ..study }
}

/// How everything is modelled: with the exponents that the specification's laws may have.
fn options(spec: &Spec, seed: u64) -> Options {
    let sets = &spec.sets;
    let exponents = ExponentSets {
        exponents: sets.exponents.clone(),
        log_exponents: sets.log_exponents.iter().map(|j| j.cast_signed()).collect(),
        ..ExponentSets::default()
    };
    Options { seed, exponents, ..Options::default() }
}

/// Whether the program has operations whose time is mostly that of waiting.
fn waits(spec: &Spec) -> bool {
    spec.functions.iter().flat_map(|f| &f.messages).any(|m| m.operation.dimensions().is_some())
}

/// The training points as studies have points.
fn points_of(spec: &Spec) -> Vec<Point> {
    spec.parameters.iter().fold(vec![Point::new()], |points, parameter| {
        let with = |point: &Point, number: f64| {
            point.iter().cloned().chain([(parameter.name.clone(), Value::of(number))]).collect::<Point>()
        };
        points.iter().flat_map(|point| parameter.values.iter().map(|&v| with(point, v)).collect::<Vec<_>>()).collect()
    })
}

/// How a run under Open MPI begins, up to the program.
fn mpirun(mpi: &Mpi) -> Vec<String> {
    let as_root: &[&str] = if is_root() { &["--allow-run-as-root"] } else { &[] };
    let words = as_root.iter().chain(&["--oversubscribe", "-n", "{p}"]).map(|&a| a.to_owned());
    std::iter::once(mpi.launcher.display().to_string()).chain(words).collect()
}

/// The call path of these names.
fn find(experiment: &Experiment, names: &[String]) -> Option<CallPathId> {
    let named = |id: CallPathId, name: &String| experiment.callpaths[id as usize].name == *name;
    let last = names.last()?;
    let is_it =
        |&id: &CallPathId| named(id, last) && experiment.path(id).iter().copied().eq(names.iter().map(String::as_str));
    (0..experiment.callpaths.len() as CallPathId).find(is_it)
}

/// The median; of nothing, not a number.
fn median(values: &[f64]) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
    0.5 * (low + high)
}

/// Open MPI refuses to start as root unless told that this is meant; what we start here is our own program.
fn is_root() -> bool {
    // SAFETY: `geteuid` takes nothing and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Runs the study and reads what it left.
fn measure(study: &Study, results: &Path, progress: &Progress) -> Result<Experiment> {
    let summary = campaign::execute(study, results, progress)?;
    if let Some((folder, reason)) = summary.failed.first() {
        return Err(Error::Partial(format!(
            "{} of {} runs failed. {}: {reason}",
            summary.failed.len(),
            summary.failed.len() + summary.complete,
            folder.display()
        )));
    }
    let input = formats::read(&[results.to_owned()], &ReadOptions::default());
    input.map(|i| i.experiment).map_err(|e| Error::Defect(e.to_string()))
}
