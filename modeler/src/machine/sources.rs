//! Source lines of single instructions, from the files that the code of a run came from.

use std::path::Path;

use poise_profile::Profile;

use super::Finder;
use super::symbols::Image;

/// The metadata that tells which files a resolved profile's code came from.
pub const FILES: &str = "files";

/// Finds source lines by address. Files that are no longer there are no error: their lines are unknown.
pub struct Sources(Finder);

impl Sources {
    /// Of the code that `profile` tells of.
    #[must_use]
    pub fn of(profile: &Profile) -> Self {
        Self(Finder::new(profile.metadata.get(FILES).map_or("", String::as_str)))
    }

    /// `file.c:41` of the instruction at an address, with the file's name alone.
    pub fn line(&mut self, address: u64) -> Option<String> {
        let (start, mapping) = self.0.mappings.range(..=address).next_back().filter(|(_, m)| address < m.end)?;
        let (offset, path) = (address - start + mapping.offset, mapping.path.clone());
        let image = self.0.images.entry(path).or_insert_with_key(|path| Image::open(Path::new(path)));
        let image = image.as_ref()?;
        let (file, line) = image.line(image.address(offset)?)?;
        let name = file.rsplit('/').next().unwrap_or_default();
        Some(format!("{name}:{line}"))
    }
}
