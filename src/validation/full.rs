//! `poise bench validate`: many functions of known complexity, measured, modelled in three ways and scored, with the
//! seed paper's Table II and figures 4 and 5 as the result and a gate at the end.

use std::fs;
use std::path::Path;

use benchgen::truth::Truth;
use modeler::fit;
use modeler::formats;

use super::advised;
use super::exact::{self, Exactness};
use super::execute::{self, Launcher, Measurements};
use super::extrap;
use super::figures::Scorer;
use super::plan::{Executor, Plan};
use super::result::Outcome;
use super::score::Way;
use super::times::{self, Subject};
use super::{median, page, text, write_program_into};
use crate::cli::{GlobalArgs, OutputFormat, ValidateArgs};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::output;
use crate::progress::Progress;

/// Runs whatever of the validation is missing, and shows its result.
pub fn validate(arguments: &ValidateArgs, global: &GlobalArgs, progress: &Progress) -> Result<()> {
    let folder = &arguments.output;
    let plan = Plan::new(arguments)?;
    let launcher = Launcher::find(plan.executor)?;
    let extrap = extrap::find(arguments.extrap.as_deref())?;
    interrupt::watch();
    plan.claim(folder)?;
    progress.step(&format!("generate {} functions into {}", plan.spec.functions.len(), folder.display()));
    let generated = write_program_into(&plan.spec, folder, benchgen::Language::Cpp)?;
    let measurements = execute::measure(&plan, &launcher, folder, progress)?;
    progress.step("compare the counts with the truth");
    let exactness = exact::check(&generated.truth, &measurements.all)?;
    let subjects = subjects(&plan, &generated.truth, &measurements)?;
    let mut outcome = score(&plan, folder, &subjects, &measurements, exactness, extrap.as_deref(), progress)?;
    if let Some(draws) = arguments.advised {
        let trained = &measurements.trained;
        outcome.advised = Some(advised::compare(&plan, &launcher, folder, trained, &subjects, draws, progress)?);
        outcome.advised_least = advised::least(&plan, trained, &subjects)?;
    }
    deliver(&outcome, arguments, global)?;
    outcome.gate()
}

/// Models and scores everything that was measured.
fn score<'a>(
    plan: &'a Plan,
    folder: &Path,
    subjects: &[Subject],
    measurements: &'a Measurements,
    exactness: Exactness,
    extrap: Option<&Path>,
    progress: &Progress,
) -> Result<Outcome<'a>> {
    let scorer = Scorer { plan, trained: &measurements.trained, subjects };
    progress.step("model");
    let effort = scorer.models(Way::Effort, |s| s.times.chosen(&[0]));
    let time = scorer.models(Way::Time, |s| s.times.clone());
    interrupt::check()?;
    let extrap = match extrap {
        None => None,
        Some(program) => {
            progress.step("run Extra-P");
            Some(extrap::scores(program, folder, &scorer)?)
        }
    };
    write_models(plan, folder, measurements)?;
    let figures = scorer.figures(&folder.join("scores"), progress)?;
    Ok(Outcome::new(plan, measurements, exactness, subjects, [Some(effort), Some(time), extrap], figures))
}

/// The models as `poise model --format json` prints them, for whoever wants to look closer.
fn write_models(plan: &Plan, folder: &Path, measurements: &Measurements) -> Result<()> {
    let path = folder.join("models.json");
    if path.is_file() {
        return Ok(());
    }
    let fits = fit(&measurements.trained, &super::options(&plan.spec, plan.seed));
    let text = formats::models_json(&measurements.trained, &fits, env!("CARGO_PKG_VERSION"), plan.seed);
    output::write_file(&path, text.as_bytes())
}

/// Every call path of the truth with its times.
fn subjects<'a>(plan: &Plan, truth: &'a Truth, measurements: &Measurements) -> Result<Vec<Subject<'a>>> {
    let subject = |truth: &'a benchgen::truth::CallPathTruth| {
        let mut times = times::undisturbed(plan, truth, &measurements.trained)?;
        let unseen = times::undisturbed(plan, truth, &measurements.unseen)?;
        if plan.executor == Executor::Smpi {
            let mut random = times::generator(plan.seed, &truth.callpath, "repetitions");
            times = times.with_exact_first(&times.repeated(plan.repetitions, &mut random));
        }
        Ok(Subject { truth, times, unseen: median(unseen.0.first().map_or(&[], Vec::as_slice)) })
    };
    truth.callpaths.iter().map(subject).collect()
}

/// Writes the result's files anew, and prints it.
fn deliver(outcome: &Outcome, arguments: &ValidateArgs, global: &GlobalArgs) -> Result<()> {
    let folder = &arguments.output;
    let json = outcome.json()?;
    let report = folder.join("validation.html");
    for (path, text) in [(folder.join("validation.json"), &json), (report.clone(), &page::html(outcome))] {
        // What is derived from the runs is made anew each time.
        match fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(Error::cannot_write(&path, &e)),
            _ => output::write_file(&path, text.as_bytes())?,
        }
    }
    let text = match arguments.format {
        OutputFormat::Human => text::for_people(outcome),
        OutputFormat::Json => json,
        OutputFormat::Csv => text::csv(outcome),
    };
    output::deliver(&text, None)?;
    if !global.quiet {
        output::say(format!("the page with the plots is {}.", report.display()));
    }
    Ok(())
}
