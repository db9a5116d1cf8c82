//! `poise bench generate`: a program of known complexity, and its truth.

use benchgen::{Language, Spec};

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
            "{} has {} functions, {} call paths are known in truth.json.\n{}Build it with\n  cd {} && {}\n",
            source.display(),
            spec.functions.len(),
            generated.truth.callpaths.len(),
            needs(&spec),
            arguments.output.display(),
            language.compile_command(&spec.name)
        );
        output::deliver(&text, None)?;
    }
    Ok(())
}

/// What the program will allocate where it allocates most, for people to know before they run it.
fn needs(spec: &Spec) -> String {
    let points = spec.points().into_iter().chain(spec.test.clone());
    let needed = points.filter_map(|point| Some((benchgen::memory_at(spec, &point).ok()?, point)));
    let Some((memory, point)) = needed.max_by_key(|(memory, _)| memory.all_ranks) else { return String::new() };
    let at = point.iter().map(|(name, x)| format!("{name}={x}")).collect::<Vec<_>>().join(", ");
    format!("At {at} it allocates {} bytes on one rank, {} on all.\n", memory.per_rank, memory.all_ranks)
}
