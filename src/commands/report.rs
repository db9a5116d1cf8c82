//! `poise report`: one self-contained HTML page.

use modeler::formats::Input;
use modeler::report::{ReportOptions, html};

use crate::cli::{GlobalArgs, ReportArgs};
use crate::commands::input;
use crate::error::Result;
use crate::output;
use crate::ranks::Ranks;

/// Reads, fits, renders.
pub fn report(arguments: &ReportArgs, global: &GlobalArgs, ranks: &Ranks) -> Result<()> {
    let Input { experiment, warnings, .. } = input::read(&arguments.input, global)?;
    let target = arguments.at.as_ref().map(|at| input::coordinates(&experiment, at)).transpose()?;
    let fits = input::fit(&experiment, &arguments.fit, ranks)?;
    let inputs: Vec<_> = arguments.input.inputs.iter().map(|path| path.display().to_string()).collect();
    let options = ReportOptions {
        title: inputs.join(", "),
        target,
        warnings: warnings.iter().map(ToString::to_string).collect(),
        ..ReportOptions::default()
    };
    output::deliver(&html(&experiment, &fits, &options), Some(&arguments.output))?;
    if !global.quiet {
        output::say(format!("the report is {}.", arguments.output.display()));
    }
    input::partial(&warnings, &fits)
}
