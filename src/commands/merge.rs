//! `poise merge`: the profiles of several ranks, such as the checkpoints that a killed run leaves, as one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use poise_profile::{Profile, ProfileError};

use crate::cli::MergeArgs;
use crate::error::{Error, Result};
use crate::run::partial;

/// Merges the files and writes the result, which replaces nothing.
pub fn merge(arguments: &MergeArgs) -> Result<()> {
    check(&arguments.files)?;
    let merged = partial::merge(&arguments.files).map_err(|error| Error::Input(told(&error)))?;
    merged.write(&arguments.output).map_err(|error| Error::Usage(told(&error)))
}

/// Refuses what is not of other ranks of one run: a rank that is in two files, and parameters that differ.
fn check(files: &[PathBuf]) -> Result<()> {
    let mut by_rank: BTreeMap<u32, &Path> = BTreeMap::new();
    let mut first: Option<(Vec<String>, &Path)> = None;
    for file in files {
        let profile = Profile::read(file).map_err(|error| Error::Input(told(&error)))?;
        let here = file.display();
        for rank in ranks(&profile) {
            if let Some(there) = by_rank.insert(rank, file) {
                let there = there.display();
                return Err(Error::Input(format!(
                    "Rank {rank} is in {there} and in {here}; give each rank of one run once."
                )));
            }
        }
        let parameters = parameters(&profile);
        let (expected, there) = first.get_or_insert((parameters.clone(), file));
        if parameters != *expected {
            let there = there.display();
            let [expected, found] = [&*expected, &parameters].map(|parameters| parameters.join(", "));
            return Err(Error::Input(format!(
                "{there} is of a run with \"{expected}\", {here} of one with \"{found}\"; give files of one run."
            )));
        }
    }
    Ok(())
}

/// Ranks that a profile is certain to hold: all, if it holds one or two.
fn ranks(profile: &Profile) -> BTreeSet<u32> {
    profile.values.values().flat_map(|value| [value.minimum.1, value.maximum.1]).collect()
}

/// The parameters' values, as `n=1000`.
fn parameters(profile: &Profile) -> Vec<String> {
    let parameter = |(name, value): (&String, &String)| Some(format!("{}={value}", name.strip_prefix("parameter.")?));
    profile.metadata.iter().filter_map(parameter).collect()
}

fn told(error: &ProfileError) -> String {
    format!("{error}.")
}
