//! `poise report`: what will cost most at scale, as a table or as one self-contained HTML page.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::PathBuf;

use modeler::experiment::MetricId;
use modeler::formats::Input;
use modeler::report::terminal::{Screen, ranking};
use modeler::report::{Phases, ReportOptions, html};
use modeler::{Experiment, Fits, Options, Skipped};

use crate::cli::{GlobalArgs, ReportArgs};
use crate::commands::input;
use crate::error::Result;
use crate::output;
use crate::ranks::Ranks;

/// Rows of the table on a terminal; `-v` and pipes have all.
const ROWS: usize = 20;

/// Reads, fits, renders.
pub fn report(arguments: &ReportArgs, global: &GlobalArgs, ranks: &Ranks) -> Result<()> {
    ranks.agree(|| output::check_all_new([(&arguments.output, "-o")]))?;
    let fit_options = Options { runners_up: Options::default().runners_up, ..input::options(&arguments.fit)? };
    let Input { experiment, warnings, machine, phased, .. } = input::read(&arguments.input, global)?;
    let target = arguments.at.as_ref().map(|at| input::coordinates(&experiment, at)).transpose()?;
    let asked = arguments.metric.as_deref();
    input::known_metric(&experiment, asked)?;
    let fits = input::fit(&experiment, &fit_options, ranks)?;
    target.as_ref().map_or(Ok(()), |target| input::within_reach(&experiment, &fits, target))?;
    let phases = || Phases::of(phased, &fit_options);
    let options = ReportOptions {
        title: title(&arguments.input.inputs),
        metric: asked.map(|name| of_name(&experiment, &fits, name)).transpose()?,
        target,
        warnings: warnings.iter().map(ToString::to_string).collect(),
        machine: by_concern(machine),
        phases: arguments.output.as_ref().and_then(|_| phases()),
        ..ReportOptions::default()
    };
    match &arguments.output {
        Some(path) => {
            output::deliver(&html(&experiment, &fits, &options), Some(path))?;
            if !global.quiet {
                output::say(format!("the report is {}.", path.display()));
            }
        }
        None => {
            let table = ranking(&experiment, &fits, &options, screen(global.verbose)).unwrap_or_default();
            output::deliver(&table, None)?;
        }
    }
    input::partial(&warnings, &fits)
}

/// The metric of this name that has models.
fn of_name(experiment: &Experiment, fits: &Fits, name: &str) -> Result<MetricId> {
    let has_name = |id: MetricId| experiment.metrics[id as usize].name == name;
    let found = fits.models.iter().map(|m| m.metric).find(|&id| has_name(id));
    found.ok_or_else(|| {
        let skipped: Vec<Skipped> = fits.skipped.iter().filter(|s| has_name(s.metric)).cloned().collect();
        input::nothing_modelled(&skipped)
    })
}

/// The names of the inputs, without the folders that they lie in, which are of no interest to others.
fn title(inputs: &[PathBuf]) -> String {
    /// More would be no heading.
    const MOST: usize = 3;
    // `.` and `..` have no name of their own.
    let name = |path: &PathBuf| {
        let whole = path.canonicalize().unwrap_or_else(|_| path.clone());
        whole.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
    };
    let name = |path: &PathBuf| if path.as_os_str() == "-" { "standard input".to_owned() } else { name(path) };
    let names: Vec<String> = inputs.iter().take(MOST).map(name).collect();
    let more = if inputs.len() > MOST { format!(" and {} more", inputs.len() - MOST) } else { String::new() };
    format!("{}{more}", names.join(", "))
}

/// Every distinct concern about machines once, with how many runs it is about and the first of them.
fn by_concern(machine: Vec<(String, String)>) -> Vec<String> {
    let mut runs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (run, concern) in machine {
        runs.entry(concern).or_default().push(run);
    }
    let told = |(concern, runs): (String, Vec<String>)| match &runs[..] {
        [only] => format!("{only}: {concern}."),
        all => format!("{} runs, the first of them {}: {concern}.", all.len(), all[0]),
    };
    runs.into_iter().map(told).collect()
}

/// How much fits onto standard output: as many columns as are known, and on a terminal rows that it shows.
fn screen(all_rows: bool) -> Screen {
    let is_terminal = std::io::stdout().is_terminal();
    let rows = (is_terminal && !all_rows).then_some(ROWS);
    Screen { width: output::width(None), rows, sparklines: is_terminal }
}
