//! `poise explain`: what a warning means and what to do.

use modeler::formats::EXPLANATIONS;
use modeler::warning::{ALL, Explanation};

use crate::cli::ExplainArgs;
use crate::error::{Error, Result};
use crate::output;

/// Prints one explanation, or the list of codes.
pub fn explain(arguments: &ExplainArgs) -> Result<()> {
    let explained = |code: &String| {
        let found = all().find(|e| e.code == code.to_uppercase());
        let found = found
            .ok_or_else(|| Error::Usage(format!("There is no warning {code}; `poise explain` lists them all.")))?;
        Ok(format!("{}: {}\n\n{}\n", found.code, found.title, found.text))
    };
    let text = if arguments.codes.is_empty() {
        all().map(|e| format!("{}  {}\n", e.code, e.title)).collect()
    } else {
        arguments.codes.iter().map(explained).collect::<Result<Vec<String>>>()?.join("\n")
    };
    output::deliver(&text, None)
}

fn all() -> impl Iterator<Item = &'static Explanation> {
    ALL.iter().chain(EXPLANATIONS)
}
