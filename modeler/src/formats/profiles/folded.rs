//! Folded stacks, as flame-graph tools write them: `main;solve;exchange 42` is 42 samples of one stack.

use super::ProfileFormat;
use super::lines;
use super::profile::{Fold, Profile, Reduced};
use crate::formats::collect::NO_CALLPATH;
use crate::formats::error::ReadError;
use crate::formats::source::Source;
use crate::formats::{Detection, Format, Values};

/// Reads folded stacks.
pub(super) struct Folded;

/// The stack and the count of a line.
fn split(line: &str) -> Option<(&str, &str)> {
    let (stack, count) = line.rsplit_once(' ')?;
    let is_number = !count.is_empty() && count.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    // Samples outside all functions have an empty stack.
    is_number.then_some((stack.trim(), count))
}

impl ProfileFormat for Folded {
    fn format(&self) -> Format {
        Format::Folded
    }

    fn detect(&self, _name: &str, head: &[u8], complete: bool) -> Detection {
        // A last line that was cut off is an error of a file of stacks, unless it is all there is.
        let mut lines = lines::of_head(head, false);
        if lines.is_empty() {
            lines = lines::of_head(head, complete);
        }
        match lines.iter().find(|l| split(l).is_none()) {
            Some(other) => {
                let start: String = other.chars().take(20).collect();
                Detection::No(format!("the line `{start}` is no stack with a count"))
            }
            None if lines.iter().any(|l| l.contains(';')) => Detection::Yes,
            None => Detection::no("no line holds frames separated by semicolons"),
        }
    }

    fn looks_far(&self) -> bool {
        true
    }

    fn read(&self, source: Source, _values: Values) -> Result<Profile, ReadError> {
        let mut profile = Profile::default();
        let samples = profile.column("samples", "", Fold::Sum);
        // The same stack may be there more than once.
        let mut counts: Vec<f64> = Vec::new();
        lines::each(source, |line| {
            let (stack, count) = split(line.text).ok_or_else(|| {
                let expected = "frames separated by semicolons, a blank and a count";
                line.wrong_or_cut(line.text, "this is no stack with a count", expected)
            })?;
            let count = line.finite(count)?;
            line.warn_unended(&mut profile);
            let frames = if stack.is_empty() { NO_CALLPATH } else { stack };
            let Some(node) = profile.path(frames.split(';').map(str::trim)) else { return Ok(()) };
            counts.resize(profile.nodes.len(), 0.0);
            counts[node as usize] += count;
            Ok(())
        })?;
        for (node, &count) in counts.iter().enumerate().filter(|(_, c)| **c != 0.0) {
            profile.add(node as u32, samples, Reduced::one(count));
        }
        Ok(profile)
    }
}
