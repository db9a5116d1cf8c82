//! `poise bench generate`: a program of known complexity, and its truth.

use benchgen::Language;

use crate::cli::{GenerateArgs, GlobalArgs, ProgramLanguage};
use crate::error::Result;
use crate::output;
use crate::validation;

/// Writes the program into a new folder and says how to build it.
pub fn generate(arguments: &GenerateArgs, global: &GlobalArgs) -> Result<()> {
    let spec = validation::read_spec(arguments.spec.as_deref())?;
    let language = match arguments.language {
        ProgramLanguage::Cpp => Language::Cpp,
        ProgramLanguage::C => Language::C,
        ProgramLanguage::Fortran => Language::Fortran,
    };
    let (generated, source) = validation::write_program(&spec, &arguments.output, language)?;
    if !global.quiet {
        let text = format!(
            "{} has {} functions, {} call paths are known in truth.json. Build it with\n  cd {} && {}\n",
            source.display(),
            spec.functions.len(),
            generated.truth.callpaths.len(),
            arguments.output.display(),
            language.compile_command(&spec.name)
        );
        output::deliver(&text, None)?;
    }
    Ok(())
}
