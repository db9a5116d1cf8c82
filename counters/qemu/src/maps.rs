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
    /// Its device and inode, as Linux writes them: another file may get the name of one.
    identity: String,
    /// Whether code of it was executed.
    used: bool,
}

/// Bits of an address that belong to the guest; those above tell apart what was there at different times.
const TAG: u32 = 48;

/// Parts of files by the guest's address at which they begin. Where another file comes to an address at which there was one (a
/// library that was unloaded), its addresses get a tag above the bits that programs use.
#[derive(Default)]
pub struct Maps {
    /// All that there were, by tagged address.
    known: BTreeMap<u64, Mapping>,
    /// What is there now: the end and the tag, by address.
    current: BTreeMap<u64, (u64, u64)>,
    /// Pages that are of no file.
    without: std::collections::HashSet<u64>,
    /// The last tag that was given.
    tags: u64,
}

impl Maps {
    /// Something was mapped or unmapped: what is at an address has to be looked at again.
    pub fn forget(&mut self) {
        self.current.clear();
        self.without.clear();
    }

    /// Sees to it that the mapping of `address` is known, whose memory is `base` higher in this process; gives the tag of what is
    /// there now.
    pub fn learn(&mut self, address: u64, base: u64) -> u64 {
        if self.without.contains(&(address >> 12)) {
            return 0;
        }
        if let Some(tag) = self.mark(address) {
            return tag;
        }
        let text = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        for (start, mapping) in text.lines().filter_map(|line| parsed(line, base)) {
            self.see(start, mapping);
        }
        self.mark(address).unwrap_or_else(|| {
            self.without.insert(address >> 12);
            0
        })
    }

    /// A mapping is there: the one that is known, or a new one with a tag of its own where another was before.
    fn see(&mut self, start: u64, mapping: Mapping) {
        // Parts of one file that lie as in the file are one, however they were mapped.
        let is_same = |at: u64, known: &Mapping, tag: u64| {
            let is_same_file = (&known.path, &known.identity) == (&mapping.path, &mapping.identity);
            is_same_file && (at - tag).wrapping_sub(known.offset) == start.wrapping_sub(mapping.offset)
        };
        let fits = |&tag: &u64| {
            let below = self.known.range(tag..mapping.end + tag);
            below.filter(|(_, known)| known.end > start + tag).all(|(&at, known)| is_same(at, known, tag))
        };
        let tag = (0..=self.tags).map(|tag| tag << TAG).find(fits).unwrap_or_else(|| {
            self.tags += 1;
            self.tags << TAG
        });
        self.current.insert(start, (mapping.end, tag));
        let (start, end) = (start + tag, mapping.end + tag);
        let kept = self.known.entry(start).or_insert(Mapping { end, ..mapping });
        kept.end = kept.end.max(end);
    }

    /// Notes that code at `address` was executed; gives its tag, or nothing where no file is known there.
    fn mark(&mut self, address: u64) -> Option<u64> {
        let (start, &(_, tag)) = self.current.range(..=address).next_back().filter(|(_, (end, _))| address < *end)?;
        self.known.get_mut(&(start + tag))?.used = true;
        Some(tag)
    }

    /// Which file is at a tagged address, and where in it that is.
    pub fn file(&self, address: u64) -> Option<(&str, u64)> {
        let (start, mapping) = self.known.range(..=address).next_back().filter(|(_, m)| address < m.end)?;
        Some((&mapping.path, address - start + mapping.offset))
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
    let identity = format!("{} {}", fields.next()?, fields.next()?);
    let path = fields.next()?.trim_start();
    path.starts_with('/').then(|| (start, Mapping { end, offset, path: path.to_owned(), identity, used: false }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_files_are_read_and_others_left_out() {
        let line = "7f1000-7f3000 r-xp 00002000 08:01 1234                       /lib/a b.so";
        let mapping = Mapping {
            end: 0x7f2000,
            offset: 0x2000,
            path: "/lib/a b.so".into(),
            identity: "08:01 1234".into(),
            used: false,
        };
        assert_eq!(parsed(line, 0x1000), Some((0x7f0000, mapping)));
        assert_eq!(parsed("7f1000-7f3000 rw-p 00000000 00:00 0 ", 0), None);
        assert_eq!(parsed("7f1000-7f3000 rw-p 00000000 00:00 0                [heap]", 0), None);
    }

    #[test]
    fn what_comes_where_something_else_was_is_told_apart() {
        let mapping = |path: &str| {
            let (path, identity) = path.split_once(' ').unwrap_or((path, "08:01 1"));
            Mapping { end: 0x3000, offset: 0, path: path.into(), identity: identity.into(), used: false }
        };
        let mut maps = Maps::default();
        let mut at = |path: &str| {
            maps.forget();
            maps.see(0x1000, mapping(path));
            maps.mark(0x1234)
        };
        assert_eq!(
            [at("/a.so"), at("/b.so"), at("/a.so"), at("/c.so")],
            [Some(0), Some(1 << TAG), Some(0), Some(2 << TAG)]
        );
        // A file that has taken the name of the first, and one of another device.
        assert_eq!([at("/a.so 08:01 2"), at("/a.so 08:02 1"), at("/a.so")], [Some(3 << TAG), Some(4 << TAG), Some(0)]);
        // A part of the first, mapped anew.
        maps.forget();
        maps.see(0x2000, Mapping { offset: 0x1000, ..mapping("/a.so") });
        assert_eq!(maps.mark(0x2345), Some(0));
        assert_eq!(maps.file((1 << TAG) + 0x1800), Some(("/b.so", 0x800)));
        assert_eq!(maps.file(0x800), None);
        let lines = maps.lines();
        let expected = [
            "1000 3000 0 /a.so",
            "2000 3000 1000 /a.so",
            "1000000001000 1000000003000 0 /b.so",
            "2000000001000 2000000003000 0 /c.so",
            "3000000001000 3000000003000 0 /a.so",
            "4000000001000 4000000003000 0 /a.so",
        ];
        assert_eq!(lines.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn this_program_is_found_in_its_own_memory() {
        let mut maps = Maps::default();
        maps.learn(this_program_is_found_in_its_own_memory as *const () as u64, 0);
        let program = std::env::current_exe().unwrap();
        assert!(maps.lines().lines().any(|line| line.ends_with(program.to_str().unwrap())));
    }
}
