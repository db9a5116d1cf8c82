//! Which files the guest's memory comes from, by what Linux says of this process.

use std::collections::BTreeMap;

/// A part of a file in the guest's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Behind its last address.
    pub end: u64,
    /// Where in the file it begins.
    pub offset: u64,
    /// The file.
    pub path: String,
    /// Whether code of it was executed.
    used: bool,
}

/// Parts of files by the guest's address at which they begin.
#[derive(Default)]
pub struct Maps {
    known: BTreeMap<u64, Mapping>,
    /// Pages that are of no file.
    without: std::collections::HashSet<u64>,
}

impl Maps {
    /// Sees to it that the mapping of `address` is known, whose memory is `base` higher in this process.
    pub fn learn(&mut self, address: u64, base: u64) {
        if self.without.contains(&(address >> 12)) || self.mark(address) {
            return;
        }
        let text = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        for (start, mapping) in text.lines().filter_map(|line| parsed(line, base)) {
            self.known.entry(start).or_insert(mapping);
        }
        if !self.mark(address) {
            self.without.insert(address >> 12);
        }
    }

    /// Notes that code at `address` was executed; false where no file is known there.
    fn mark(&mut self, address: u64) -> bool {
        let found = self.known.range_mut(..=address).next_back().filter(|(_, mapping)| address < mapping.end);
        found.is_some_and(|(_, mapping)| {
            mapping.used = true;
            true
        })
    }

    /// A line for each mapping whose code was executed: first address, address behind the last, offset, path.
    pub fn lines(&self) -> String {
        let line = |(start, m): (&u64, &Mapping)| format!("{start:x} {:x} {:x} {}", m.end, m.offset, m.path);
        self.known.iter().filter(|(_, m)| m.used).map(line).collect::<Vec<_>>().join("\n")
    }
}

/// A line of `/proc/self/maps` that tells of a file: `start-end permissions offset device inode path`.
fn parsed(line: &str, base: u64) -> Option<(u64, Mapping)> {
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end) = (hexadecimal(start)?.checked_sub(base)?, hexadecimal(end)?.checked_sub(base)?);
    let offset = hexadecimal(fields.nth(1)?)?;
    let path = fields.nth(2)?.trim_start();
    path.starts_with('/').then(|| (start, Mapping { end, offset, path: path.to_owned(), used: false }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_files_are_read_and_others_left_out() {
        let line = "7f1000-7f3000 r-xp 00002000 08:01 1234                       /lib/a b.so";
        let mapping = Mapping { end: 0x7f2000, offset: 0x2000, path: "/lib/a b.so".into(), used: false };
        assert_eq!(parsed(line, 0x1000), Some((0x7f0000, mapping)));
        assert_eq!(parsed("7f1000-7f3000 rw-p 00000000 00:00 0 ", 0), None);
        assert_eq!(parsed("7f1000-7f3000 rw-p 00000000 00:00 0                [heap]", 0), None);
    }

    #[test]
    fn this_program_is_found_in_its_own_memory() {
        let mut maps = Maps::default();
        maps.learn(this_program_is_found_in_its_own_memory as *const () as u64, 0);
        let program = std::env::current_exe().unwrap();
        assert!(maps.lines().lines().any(|line| line.ends_with(program.to_str().unwrap())));
    }
}
