//! Basic-block vectors of SimPoint, as valgrind's exp-bbv and others write them: a line for each interval of the
//! execution, `T:id:count :id:count …`, where a count is of the instructions executed in that block.

use std::collections::BTreeMap;

use super::ProfileFormat;
use super::lines;
use super::profile::{Fold, Profile, Reduced};
use crate::formats::collect::NO_CALLPATH;
use crate::formats::error::ReadError;
use crate::formats::source::Source;
use crate::formats::{Detection, Format, Values};

/// Reads basic-block vectors; intervals add up.
pub(super) struct SimPoint;

impl ProfileFormat for SimPoint {
    fn format(&self) -> Format {
        Format::SimPoint
    }

    fn detect(&self, _name: &str, head: &[u8], _complete: bool) -> Detection {
        let text = String::from_utf8_lossy(head);
        let first = text.lines().map(str::trim).find(|l| !l.is_empty() && !l.starts_with('#'));
        let is_vector = |l: &str| {
            let mut parts = l.strip_prefix("T:")?.split([':', ' ']);
            parts.next()?.parse::<u64>().ok().and(parts.next()?.parse::<u64>().ok())
        };
        if first.is_some_and(|l| is_vector(l).is_some()) {
            Detection::Yes
        } else {
            Detection::no("its first line does not begin as T:1:10")
        }
    }

    fn read(&self, source: Source, _values: Values) -> Result<Profile, ReadError> {
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        let mut intervals = 0_u32;
        let mut profile = Profile::default();
        lines::each(source, |line| {
            // Comments, such as those at the end of exp-bbv's files.
            let Some(entries) = line.text.strip_prefix('T') else {
                return match line.text.starts_with('#') {
                    true => Ok(()),
                    false => {
                        Err(line.wrong(line.text, "this line is no vector").expected("a line such as T:1:10 :2:5"))
                    }
                };
            };
            intervals += 1;
            if entries.trim().is_empty() {
                return Err(line.wrong_or_cut(line.text, "this vector has no block", "a line such as T:1:10 :2:5"));
            }
            for entry in entries.split_whitespace() {
                let pair = entry.strip_prefix(':').and_then(|e| e.split_once(':'));
                let numbers = pair.and_then(|(id, count)| Some((id.parse().ok()?, count.parse::<u64>().ok()?)));
                let (id, count) = numbers.ok_or_else(|| {
                    let what = format!("`{entry}` is no block with its count");
                    line.wrong_or_cut(entry, what, "an entry such as :2:5")
                })?;
                let sum = counts.entry(id).or_insert(0);
                *sum = sum.saturating_add(count);
            }
            line.warn_unended(&mut profile);
            Ok(())
        })?;
        let column = profile.column("intervals", "", Fold::Sum);
        let root = profile.node(None, NO_CALLPATH);
        profile.add(root, column, Reduced::one(intervals.into()));
        let column = profile.column("instructions", "", Fold::Sum);
        for (id, count) in counts {
            let node = profile.node(None, &format!("block {id}"));
            profile.add(node, column, Reduced::one(count as f64));
        }
        Ok(profile)
    }
}
