//! The program `poise`: parse the command line, call a library, render what it gives. No mathematics and no file
//! formats live here.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

mod campaign;
mod cli;
mod commands;
mod digest;
mod doctor;
mod error;
mod executors;
mod expectations;
mod install;
mod instructions;
mod interrupt;
mod junit;
mod machine;
mod output;
mod progress;
mod ranks;
mod run;
mod study;
mod validation;
mod wrapper;

use cli::{BenchCommand, Cli, Command, GlobalArgs};
use error::{Error, Result};
use install::Language;
use progress::Progress;
use ranks::Ranks;

/// A fit allocates 140 small pieces per call path, which costs less here than with the C library's allocator. This is the program's alone: what it
/// preloads into others, and the libraries, have the allocator of whoever uses them.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|what| output::say(what)));
    let defect = |_| Err(Error::Defect("The command ended in a panic.".into()));
    match std::panic::catch_unwind(run).unwrap_or_else(defect) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !matches!(error, Error::Forwarded(_) | Error::AnotherRankSpeaks) {
                output::say(&error);
            }
            error.exit_code()
        }
    }
}

fn run() -> Result<()> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if let Some((language, rest)) = compiler_call(&arguments) {
        return wrapper::exec(language, rest).map(|never| match never {});
    }
    let cli = Cli::parse_from(arguments);
    output::set_color(cli.global.color);
    output::set_width(cli.global.table_width);
    // What becomes the program is copied before, and so has no other threads.
    if !matches!(cli.command, Command::Preload(_)) {
        set_threads(cli.global.threads)?;
    }
    let progress = Progress::new(!cli.global.quiet && !cli.global.no_progress);
    match cli.command {
        Command::Demo(a) => validation::demo(&a, &cli.global, &progress),
        Command::Doctor(a) => doctor::doctor(&a),
        Command::Cc(a) => wrapper::exec(Language::C, &a.arguments).map(|never| match never {}),
        Command::Cxx(a) => wrapper::exec(Language::Cxx, &a.arguments).map(|never| match never {}),
        Command::Fc(a) => wrapper::exec(Language::Fortran, &a.arguments).map(|never| match never {}),
        Command::Preload(a) => run::exec_preloaded(&a.command).map(|never| match never {}),
        Command::Run(a) => commands::run::run(&a, &cli.global, &progress),
        Command::Task(a) => executors::slurm::work(&a.file, a.index, a.failed()),
        Command::Model(a) => on_ranks(cli.global, |ranks, global| commands::model::model(&a, global, ranks)),
        Command::Predict(a) => on_ranks(cli.global, |ranks, global| commands::predict::predict(&a, global, ranks)),
        Command::Compare(a) => commands::compare::compare(&a, &cli.global),
        Command::Check(a) => commands::check::check(&a, &cli.global),
        Command::Absorb(a) => commands::absorb::absorb(&a, &cli.global),
        Command::Phases(a) => commands::phases::phases(&a, &cli.global),
        Command::Messages(a) => commands::messages::messages(&a, &cli.global),
        Command::Detect(a) => commands::detect::detect(&a),
        Command::Advise(a) => commands::advise::advise(&a, &cli.global),
        Command::Analyze(a) => commands::analyze::analyze(&a, &cli.global, &progress),
        Command::Bench(BenchCommand::Generate(a)) => commands::generate::generate(&a, &cli.global),
        Command::Bench(BenchCommand::Instructions(a)) => {
            commands::instructions::instructions(&a, &cli.global, &progress)
        }
        Command::Bench(BenchCommand::Validate(a)) => validation::validate(&a, &cli.global, &progress),
        Command::Import(a) => commands::convert::import(&a, &cli.global),
        Command::Merge(a) => commands::merge::merge(&a),
        Command::Export(a) => commands::convert::export(&a, &cli.global),
        Command::Report(a) => on_ranks(cli.global, |ranks, global| commands::report::report(&a, global, ranks)),
        Command::Explain(a) => commands::explain::explain(&a),
        Command::Completions(a) => commands::manual::completions(&a),
        Command::Man(a) => commands::manual::man(&a),
    }
}

/// Runs a command on all ranks; what several of them would say, one says.
fn on_ranks(mut global: GlobalArgs, command: impl FnOnce(&Ranks, &GlobalArgs) -> Result<()>) -> Result<()> {
    let ranks = Ranks::start();
    global.quiet |= !ranks.speaks();
    command(&ranks, &global).map_err(|error| if ranks.speaks() { error } else { Error::AnotherRankSpeaks })
}

/// A compiler call, under the name `poise-c++` or as `poise c++`, goes past our own argument parser: a compiler's `-v`
/// and `--help` are not ours.
fn compiler_call(arguments: &[OsString]) -> Option<(Language, &[OsString])> {
    let language = |name: &OsStr| match name.to_str()? {
        "cc" => Some(Language::C),
        "c++" => Some(Language::Cxx),
        "fc" => Some(Language::Fortran),
        _ => None,
    };
    let program = Path::new(arguments.first()?).file_name()?.to_str()?;
    if let Some(found) = program.strip_prefix("poise-").and_then(|name| language(OsStr::new(name))) {
        return Some((found, &arguments[1..]));
    }
    let found = language(arguments.get(1)?)?;
    Some((found, &arguments[2..]))
}

fn set_threads(threads: usize) -> Result<()> {
    const MOST: usize = 1024;
    if threads > MOST {
        return Err(Error::Usage(format!("--threads {threads} is more than {MOST}; 0 takes one per core.")));
    }
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()
        .map_err(|e| Error::Usage(format!("Cannot start {}: {e}.", output::counted(threads, "thread", "threads"))))
}
