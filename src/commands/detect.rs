//! `poise detect`: what of a program's machine code is likely to be slow on any processor, and variants of a program that move unlike
//! amounts of memory. The program runs in QEMU's user mode; loops are shown to llvm-mca.

mod simulate;

use std::path::{Path, PathBuf};

use clap::Args;
use modeler::detect::{self, Variant, noise};
use modeler::formats;
use modeler::machine;
use poise_profile::Profile;

use super::input;
use super::phases::{once, sound};
use crate::cli::{OutputFormat, RunsArgs, parse_share};
use crate::error::{Error, Result};
use crate::output;
use crate::run::{Bins, Cache, Measured, Run, emulated};

#[derive(Args, Debug)]
#[command(after_help = "\
Three detectors: loops that wait for their own results or keep a unit busy, loads from far away behind a branch that is hard to \
predict, and variants that move unlike amounts of memory. Programs need no special build; -g gives source lines.
Examples:
  poise detect -- ./app 1000                          loops and loads
  poise absorb --format json -o noise.json -- ./noisy 1000
  poise detect --absorption noise.json -- ./app 1000  the loops by both
  poise detect --keep runs/rows -- ./rows 1000        keep a variant's run
  poise detect runs/rows runs/columns                 compared in traffic
The program of the second is built with poise cc --noise.")]
pub struct DetectArgs {
    /// The caches of the model: size and lines of a set of two levels.
    #[arg(long, value_name = "SIZE:WAYS,SIZE:WAYS", default_value = "32K:8,1M:16", conflicts_with = "inputs")]
    pub cache: Cache,
    /// Width of the bins in which different lines of memory are counted: instructions.
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "inputs")]
    pub width: u64,
    /// Least part of the instructions, wrong predictions or fetched lines that makes a loop, a branch or a load matter.
    #[arg(long, value_name = "SHARE", default_value_t = 0.01, value_parser = parse_share, allow_negative_numbers = true)]
    pub share: f64,
    /// The processor whose model llvm-mca uses; this one's for its own instruction set, else neoverse-v2 or sifive-p670.
    #[arg(long, value_name = "NAME")]
    pub processor: Option<String>,
    /// What noise injection found, as poise absorb --format json writes it.
    #[arg(long, value_name = "FILE.json")]
    pub absorption: Option<PathBuf>,
    #[command(flatten)]
    pub runs: RunsArgs,
}

/// Measures or reads, looks, prints.
pub fn detect(arguments: &DetectArgs) -> Result<()> {
    arguments.runs.check(&[])?;
    let noise = arguments.absorption.as_deref().map_or(Ok(Vec::new()), absorption)?;
    let mut variants = match arguments.runs.inputs.is_empty() {
        true => {
            // Known before the program runs, which takes its time.
            check_processor(arguments, [emulated::instruction_set(&arguments.runs.command)?])?;
            vec![variant(arguments.runs.command.join(" ").as_str(), &measure(arguments)?, arguments.share)?]
        }
        false => {
            let variants = read(arguments)?;
            check_processor(arguments, variants.iter().map(|variant| variant.instruction_set.as_str()))?;
            variants
        }
    };
    for variant in &mut variants {
        simulate::loops(variant, arguments.processor.as_deref());
    }
    let detection = detect::detect(variants, &noise);
    let text = match arguments.runs.output.format {
        OutputFormat::Human => detection.human(),
        OutputFormat::Json => detection.json(),
        OutputFormat::Csv => detection.csv(),
    };
    output::deliver(&text, arguments.runs.output.output.as_deref())?;
    arguments
        .runs
        .page
        .as_deref()
        .map_or(Ok(()), |file| output::deliver_by("--page", &detection.page("Detectors"), file))
}

/// Refuses a processor of which llvm-mca has no model for any of these instruction sets.
fn check_processor<'a>(arguments: &DetectArgs, instruction_sets: impl IntoIterator<Item = &'a str>) -> Result<()> {
    let Some(processor) = &arguments.processor else { return Ok(()) };
    match simulate::refused(processor, instruction_sets) {
        Some(why) => Err(Error::Usage(format!("--processor {processor} cannot be simulated: {why}."))),
        None => Ok(()),
    }
}

fn absorption(file: &Path) -> Result<Vec<noise::Absorbed>> {
    let unreadable = |what: &str| Error::Input(format!("{}: {what}.", file.display()));
    let text = std::fs::read_to_string(file).map_err(|e| unreadable(&e.to_string()))?;
    noise::read(&text).map_err(|e| unreadable(&e))
}

fn variant(name: &str, profile: &Profile, share: f64) -> Result<Variant> {
    if machine::has_no_names(profile) {
        let what = "no function of it has a name, so that nothing was looked for. Use a program that is not stripped and not linked with -s";
        return Err(Error::NotModelable(format!("{name}: {what}.")));
    }
    detect::variant(name, profile, share).map_err(Error::Input)
}

/// One run of the program with models and bins.
fn measure(arguments: &DetectArgs) -> Result<Profile> {
    let bins = Bins { width: Some(arguments.width), is_time: false, lines: true, cache: Some(arguments.cache) };
    let run = Run {
        command: arguments.runs.command.clone(),
        repetition: 1,
        captured: true,
        measured: Measured::Emulated,
        phases: Some(bins),
        named_by: "--keep",
        ..Run::default()
    };
    once(&run, arguments.runs.keep.as_deref())
}

/// The runs that were kept.
fn read(arguments: &DetectArgs) -> Result<Vec<Variant>> {
    let mut found = Vec::new();
    for path in &arguments.runs.inputs {
        found.extend(formats::kept_runs(path).map_err(input::unreadable)?);
    }
    let mut variants = Vec::new();
    for run in sound(found)? {
        // A run is its folder.
        let name = run.name.strip_suffix("/run.json").unwrap_or(&run.name);
        variants.push(variant(name, &run.profile, arguments.share)?);
    }
    match variants.is_empty() {
        true => Err(Error::Input("There is no run. Make one with poise detect --keep.".into())),
        false => Ok(variants),
    }
}
