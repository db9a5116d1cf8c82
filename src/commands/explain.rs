//! `poise explain`: what a warning means and what to do.

use std::fmt::Write as _;

use modeler::formats::EXPLANATIONS;
use modeler::warning::{ALL, Explanation};

use crate::cli::ExplainArgs;
use crate::error::{Error, Result};
use crate::output;

/// Prints one explanation, or the list of codes.
pub fn explain(arguments: &ExplainArgs) -> Result<()> {
    let text = match &arguments.code {
        None => all().fold(String::new(), |mut text, e| {
            let _ = writeln!(text, "{}  {}", e.code, e.title);
            text
        }),
        Some(code) => {
            let wanted = code.to_uppercase();
            let found = all()
                .find(|e| e.code == wanted)
                .ok_or_else(|| Error::Usage(format!("There is no warning {code}; `poise explain` lists them all.")))?;
            format!("{}: {}\n\n{}\n", found.code, found.title, found.text)
        }
    };
    output::deliver(&text, None)
}

fn all() -> impl Iterator<Item = &'static Explanation> {
    ALL.iter().chain(EXPLANATIONS)
}
