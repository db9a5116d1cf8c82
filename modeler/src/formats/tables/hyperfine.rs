//! hyperfine's JSON: `--export-json FILE`, with parameters of `--parameter-scan` and `--parameter-list`.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;

use super::{Row, add_listed_in};
use crate::formats::collect::Collector;
use crate::formats::error::{Place, ReadError, STATISTICS_ONLY};
use crate::formats::json::{Document, first_object_keys, is_json_object};
use crate::formats::source::Source;
use crate::formats::{Detection, Format, Reader};

/// Reads hyperfine's results.
pub(in crate::formats) struct Hyperfine;

#[derive(Deserialize)]
struct Command {
    command: String,
    mean: f64,
    user: Option<f64>,
    system: Option<f64>,
    #[serde(default)]
    times: Vec<f64>,
    #[serde(default)]
    parameters: BTreeMap<String, String>,
}

impl Reader for Hyperfine {
    fn format(&self) -> Format {
        Format::Hyperfine
    }

    fn detect(&self, source: &Source) -> Detection {
        let Some((head, _)) = source.head() else { return Detection::no("it is a folder") };
        let keys = if is_json_object(head) { first_object_keys(head) } else { Vec::new() };
        let text = String::from_utf8_lossy(head);
        if keys.first().is_some_and(|k| k == "results") && text.contains("\"command\"") && text.contains("\"mean\"") {
            Detection::Yes
        } else {
            Detection::no("its first object has no key `results` with commands and means")
        }
    }

    fn read(&self, source: Source, into: &mut Collector) -> Result<(), ReadError> {
        let name = source.name.clone();
        let text = source.into_text()?;
        // Which part of a command was a parameter's value is told by the other commands; what is wrong with one is told below.
        let all: Named = serde_json::from_str(&text).unwrap_or_default();
        let rows = |command: Command, place: &dyn Fn() -> Place, into: &mut Collector| {
            let callpath = all.template(&command.command, &command.parameters);
            command.rows(callpath, place, into)
        };
        add_listed_in(&Document { name: &name, text: &text }, "results", into, rows)
    }
}

/// What commands are called with.
#[derive(Default, Deserialize)]
struct Named {
    results: Vec<Call>,
}

#[derive(Deserialize)]
struct Call {
    command: String,
    #[serde(default)]
    parameters: BTreeMap<String, String>,
}

impl Command {
    fn rows(self, callpath: String, place: &dyn Fn() -> Place, into: &mut Collector) -> Result<Vec<Row>, ReadError> {
        let number = |value: &String| value.trim().parse::<f64>().ok().filter(|n| n.is_finite());
        let named = self.parameters.iter().filter_map(|(name, value)| Some((name.clone(), number(value)?)));
        let parameters: Vec<(String, f64)> = named.collect();
        let times = if self.times.is_empty() {
            let message = "Only the mean of the repetitions was kept; it counts as one repetition.";
            into.warn(STATISTICS_ONLY, place(), message);
            vec![self.mean]
        } else {
            self.times
        };
        let columns =
            [("time", times), ("user_time", Vec::from_iter(self.user)), ("system_time", Vec::from_iter(self.system))];
        let mut rows = Vec::new();
        for (metric, values) in columns {
            if values.iter().any(|v| !v.is_finite()) {
                return Err(ReadError::malformed(place(), "a time is not finite"));
            }
            let (parameters, callpath) = (parameters.clone(), vec![callpath.clone()]);
            rows.push(Row { parameters, callpath, metric: metric.into(), unit: "s".into(), values, ..Row::default() });
        }
        Ok(rows)
    }
}

impl Named {
    /// `command` with `{name}` for each number that a parameter stood for, so that points of one command have one name.
    fn template(&self, command: &str, parameters: &BTreeMap<String, String>) -> String {
        let is_number = |value: &str| value.trim().parse::<f64>().is_ok_and(f64::is_finite);
        let mut spans: Vec<(usize, &str, &str)> = Vec::new();
        for (name, value) in parameters.iter().filter(|(_, value)| is_number(value)) {
            let is_other = |other: &&Call| other.parameters.get(name).is_some_and(|v| v != value);
            let differs = |other: &Call, name: &String| other.parameters.get(name) != parameters.get(name);
            // Best one that differs in nothing else.
            let only =
                |other: &&Call| parameters.keys().all(|other_name| other_name == name || !differs(other, other_name));
            let others = self.results.iter().filter(is_other);
            let found = others.clone().filter(only).chain(others).take(MOST_COMPARED).find_map(|other| {
                let changed = |(name, value): (&'_ String, &'_ String)| {
                    let theirs = other.parameters.get(name).filter(|_| differs(other, name) && is_number(value))?;
                    Some(Changed { name: name.clone(), own: value.clone(), theirs: theirs.clone() })
                };
                aligned(command, &other.command, &parameters.iter().filter_map(changed).collect::<Vec<_>>())
            });
            let here = match found {
                Some(all) => all.into_iter().filter(|(_, own)| own == name).map(|(at, _)| at).collect(),
                // The only one of its kind.
                None => alone(command, value),
            };
            spans.extend(here.into_iter().map(|at| (at, name.as_str(), value.as_str())));
        }
        spans.sort_unstable();
        let (mut text, mut end) = (String::new(), 0);
        for (at, name, value) in spans.into_iter() {
            // Two parameters of one value may claim the same place.
            if at >= end {
                text += &format!("{}{{{name}}}", &command[end..at]);
                end = at + value.len();
            }
        }
        text + &command[end..]
    }
}

/// How many other commands are compared with one to find where a parameter stood.
const MOST_COMPARED: usize = 64;

/// How many dead ends are followed for each character of two commands before they are taken for commands that differ in more than
/// parameters: the places in both are as many as the product of their lengths.
const MOST_DEAD_ENDS: usize = 16;

/// A parameter that has other values in two commands.
struct Changed {
    name: String,
    own: String,
    theirs: String,
}

/// Where in `command` which parameters' values stand, in whose place `other` has its own, if that is all that the two differ in.
fn aligned(command: &str, other: &str, pairs: &[Changed]) -> Option<Vec<(usize, String)>> {
    let mut dead = HashSet::new();
    // Places in both, with how the way there came: the step before, and what was replaced by it.
    let mut way: Vec<(usize, usize, Option<usize>)> = vec![(0, 0, None)];
    let mut next: Vec<usize> = vec![0];
    loop {
        let (a, b, _) = *way.last()?;
        if (a, b) == (command.len(), other.len()) {
            let replaced = way.windows(2).filter_map(|step| Some((step[0].0, pairs[step[1].2?].name.clone())));
            return Some(replaced.collect());
        }
        let choice = next.last_mut()?;
        let (rest, rest_of_other) = (&command[a..], &other[b..]);
        let step = loop {
            let tried = *choice;
            *choice += 1;
            if let Some(Changed { own, theirs, .. }) = pairs.get(tried) {
                let fits =
                    !own.is_empty() && rest.starts_with(own.as_str()) && rest_of_other.starts_with(theirs.as_str());
                let to = (a + own.len(), b + theirs.len(), Some(tried));
                if fits && !dead.contains(&(to.0, to.1)) {
                    break Some(to);
                }
            } else if tried == pairs.len() {
                let same = rest.chars().next().filter(|&c| rest_of_other.starts_with(c));
                let to = same.map(|c| (a + c.len_utf8(), b + c.len_utf8(), None));
                if let Some(to) = to.filter(|to| !dead.contains(&(to.0, to.1))) {
                    break Some(to);
                }
            } else {
                break None;
            }
        };
        match step {
            Some(step) => {
                way.push(step);
                next.push(0);
            }
            None => {
                dead.insert((a, b));
                if dead.len() > MOST_DEAD_ENDS * (command.len() + other.len()) {
                    return None;
                }
                way.pop();
                next.pop();
            }
        }
    }
}

/// Where `value` stands alone in `command`.
fn alone(command: &str, value: &str) -> Vec<usize> {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '.');
    let stands_alone = |at: &usize| {
        !is_part(command[..*at].chars().next_back()) && !is_part(command[at + value.len()..].chars().next())
    };
    command.match_indices(value).map(|(at, _)| at).filter(|at| !value.is_empty() && stands_alone(at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The templates of commands, each with the values of its parameters.
    fn templates(commands: &[(&str, &[(&str, &str)])]) -> Vec<String> {
        let call = |(command, parameters): &(&str, &[(&str, &str)])| Call {
            command: (*command).to_owned(),
            parameters: parameters.iter().map(|&(n, v)| (n.to_owned(), v.to_owned())).collect(),
        };
        let all = Named { results: commands.iter().map(call).collect() };
        all.results.iter().map(|call| all.template(&call.command, &call.parameters)).collect()
    }

    #[test]
    fn values_of_parameters_give_way_to_their_names() {
        assert_eq!(templates(&[("sort -n 10 file10 10", &[("n", "10")])]), ["sort -n {n} file10 {n}"]);
        assert_eq!(templates(&[("sleep 0.1", &[("t", "0.1")])]), ["sleep {t}"]);
        assert_eq!(templates(&[("sleep 0.1", &[])]), ["sleep 0.1"]);
    }

    /// Commands of many like letters may be parted in as many ways as the product of their lengths; short ones are still compared.
    #[test]
    fn commands_with_too_many_ways_are_not_compared_to_the_end() {
        let aligned = |length: usize| {
            let like = "1".repeat(length);
            let changed = [Changed { name: "n".into(), own: "1".into(), theirs: "11".into() }];
            // Only the last is a value: in all other ways the long words end at different places.
            super::aligned(&format!("{like}-1"), &format!("{like}-11"), &changed)
        };
        assert_eq!(aligned(20), Some(vec![(21, "n".to_owned())]));
        assert_eq!(aligned(400), None);
    }

    #[test]
    fn other_commands_tell_which_part_of_a_word_was_a_value() {
        let one = |n: &'static str, command: &'static str| (command, n);
        for (template, all) in [
            ("make -j{n}", [one("1", "make -j1"), one("2", "make -j2"), one("16", "make -j16")]),
            ("sleep 0.0{n}", [one("1", "sleep 0.01"), one("2", "sleep 0.02"), one("10", "sleep 0.010")]),
            (
                "cp 10.bin f{n}.10 {n}",
                [one("1", "cp 10.bin f1.10 1"), one("10", "cp 10.bin f10.10 10"), one("2", "cp 10.bin f2.10 2")],
            ),
        ] {
            let parameters = all.map(|(command, n)| (command, [("n", n)]));
            let list: Vec<(&str, &[(&str, &str)])> = parameters.iter().map(|(c, p)| (*c, &p[..])).collect();
            assert_eq!(templates(&list), vec![template; 3]);
        }
        // Two parameters, of which some commands have one value in both.
        let grid = templates(&[
            ("app -j2 -n2", &[("j", "2"), ("n", "2")]),
            ("app -j4 -n2", &[("j", "4"), ("n", "2")]),
            ("app -j2 -n4", &[("j", "2"), ("n", "4")]),
            ("app -j4 -n4", &[("j", "4"), ("n", "4")]),
        ]);
        assert_eq!(grid, vec!["app -j{j} -n{n}"; 4]);
        // Text is no number, so it stays a part of the name.
        let of_text = templates(&[("zip -a", &[("how", "a")]), ("zip -b", &[("how", "b")])]);
        assert_eq!(of_text, ["zip -a", "zip -b"]);
    }
}
