//! `poise merge`: the profiles of several ranks, such as the checkpoints that a killed run leaves, as one.

use poise_profile::ProfileError;

use crate::cli::MergeArgs;
use crate::error::{Error, Result};
use crate::run::partial;

/// Merges the files and writes the result, which replaces nothing.
pub fn merge(arguments: &MergeArgs) -> Result<()> {
    let merged = partial::merge(&arguments.files).map_err(|error| Error::Input(told(&error)))?;
    merged.write(&arguments.output).map_err(|error| Error::Usage(told(&error)))
}

fn told(error: &ProfileError) -> String {
    format!("{error}.")
}
