//! `poise bench generate`: a program of known complexity, and its truth.

use crate::cli::{GenerateArgs, GlobalArgs};
use crate::error::Result;
use crate::output;
use crate::validation;

/// Writes the program into a new folder and says how to build it.
pub fn generate(arguments: &GenerateArgs, global: &GlobalArgs) -> Result<()> {
    let spec = validation::read_spec(arguments.spec.as_deref())?;
    let (generated, source) = validation::write_program(&spec, &arguments.output)?;
    if !global.quiet {
        let text = format!(
            "{} has {} functions, {} call paths are known in truth.json. Build it with\n  mpicxx -std=c++17 -O2 {} -o {}\n",
            source.display(),
            spec.functions.len(),
            generated.truth.callpaths.len(),
            source.display(),
            arguments.output.join(&spec.name).display()
        );
        output::deliver(&text, None)?;
    }
    Ok(())
}
