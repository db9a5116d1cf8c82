//! `poise bench validate`: many functions of known complexity, measured, modelled in three ways and scored, with the
//! seed paper's Table II and figures 4 and 5 as the result and a gate at the end.

use std::fs;
use std::path::Path;

use benchgen::truth::Truth;
use modeler::fit;
use modeler::formats;

use super::exact::{self, Exactness};
use super::execute::{self, Launcher, Measurements};
use super::extrap;
use super::figures::Scorer;
use super::plan::{Executor, Plan};
use super::result::Outcome;
use super::score::Way;
use super::times::{self, Subject, Times};
use super::{page, text, write_program_into};
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
    let outcome = score(&plan, folder, &generated.truth, &measurements, exactness, extrap.as_deref(), progress)?;
    deliver(&outcome, arguments, global)?;
    outcome.gate()
}

/// Models and scores everything that was measured.
fn score<'a>(
    plan: &'a Plan,
    folder: &Path,
    truth: &'a Truth,
    measurements: &'a Measurements,
    exactness: Exactness,
    extrap: Option<&Path>,
    progress: &Progress,
) -> Result<Outcome<'a>> {
    let subjects = subjects(plan, truth, measurements)?;
    let scorer = Scorer { plan, trained: &measurements.trained, subjects: &subjects };
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
    Ok(Outcome::new(plan, measurements, exactness, &subjects, [Some(effort), Some(time), extrap], figures))
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
    let parameters = &measurements.trained.parameters;
    let is_simulated = plan.executor == Executor::Smpi;
    let subject = |truth: &'a benchgen::truth::CallPathTruth| {
        let lost = || Error::Partial(format!("{}: its times were not measured.", truth.callpath.join(" -> ")));
        let mut measured = times::measured(&measurements.trained, &truth.callpath).ok_or_else(lost)?;
        let unseen = times::measured(&measurements.unseen, &truth.callpath).ok_or_else(lost)?;
        let mut unseen = median(unseen.0.first().ok_or_else(lost)?);
        if is_simulated {
            if truth.iterations.is_some() {
                let at = |x: &Vec<f64>| vec![times::simulated(truth, plan.seed, parameters, x)];
                measured = Times(measurements.trained.points.iter().map(at).collect());
                unseen = times::simulated(truth, plan.seed, parameters, &plan.test());
            }
            let mut random = times::generator(plan.seed, &truth.callpath, "repetitions");
            let first = measured.clone();
            measured = first.with_exact_first(&measured.repeated(plan.repetitions, &mut random));
        }
        Ok(Subject { truth, times: measured, unseen })
    };
    truth.callpaths.iter().map(subject).collect()
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
    0.5 * (low + high)
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
