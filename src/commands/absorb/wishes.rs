//! What is asked of `poise absorb` against what there is: nothing that was asked for is passed over. Words are checked before the
//! program runs; which modes, quantities, loops, call paths and ranks it has only the run tells.

use std::collections::{BTreeMap, BTreeSet};

use poise_profile::{Loop, Profile, VARIANTS};

use super::AbsorbArgs;
use crate::error::{Error, Result};

/// How many of what exists an error names.
const NAMED: usize = 12;

/// Before the run: numbers of ranks and threads are numbers, and some quantity is not 0.
pub fn check_words(arguments: &AbsorbArgs) -> Result<()> {
    let lists = [("--ranks", &arguments.ranks), ("--noisy-threads", &arguments.noisy_threads)];
    for (option, words) in lists {
        if let Some(word) = words.iter().find(|word| range(word).is_none()) {
            return Err(Error::Usage(format!("{option} {word}: expected a number such as 4, or a range such as 4-7.")));
        }
    }
    if !arguments.k.is_empty() && arguments.k.iter().all(|&k| k == 0) {
        return Err(Error::Usage(
            "--k 0: expected a quantity of noise above 0, too; no noise is measured beside each.".into(),
        ));
    }
    Ok(())
}

/// `4` or `4-7`.
fn range(word: &str) -> Option<(u32, u32)> {
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (first <= last).then_some((first, last))
}

/// After the run: all that was asked for exists in this profile. Of a program without loops for noise something else is said.
pub fn check(arguments: &AbsorbArgs, profile: &Profile) -> Result<()> {
    let loops = &profile.noise.loops;
    let built = built(profile);
    if built.is_empty() {
        return Ok(());
    }
    if let Some(mode) = arguments.mode.iter().find(|mode| !built.contains_key(mode.as_str())) {
        let there = named(built.keys());
        return wrong(format!(
            "--mode {mode}: no loop has such noise; expected {there}. Others are built by poise cc --noise=modes=…."
        ));
    }
    let is_chosen = |mode: &str| arguments.mode.is_empty() || arguments.mode.iter().any(|chosen| chosen == mode);
    let quantities: BTreeSet<u32> =
        built.iter().filter(|(mode, _)| is_chosen(mode)).flat_map(|(_, k)| k).copied().collect();
    if let Some(k) = arguments.k.iter().find(|&&k| k > 0 && !quantities.contains(&k)) {
        let there = named(&quantities);
        return wrong(format!(
            "--k {k}: no loop has so much noise; expected {there}. Others are built by poise cc --noise=k=…."
        ));
    }
    if let Some(place) = arguments.loops.iter().find(|place| !loops.iter().any(|known| known.is_at(place))) {
        let there = named(loops.iter().map(described).collect::<BTreeSet<_>>());
        return wrong(format!("--loops {place}: the program has no such loop; expected {there}."));
    }
    let names = |node| {
        let path = profile.path(node).unwrap_or_default();
        path.iter().map(|region| region.name.as_str()).collect::<Vec<_>>().join("/")
    };
    let paths: BTreeSet<String> = (0..profile.nodes.len() as u32).map(names).collect();
    let is_in = |wanted: &str| {
        let wanted = format!("/{}/", wanted.trim_matches('/'));
        paths.iter().any(|path| format!("/{path}/").contains(&wanted))
    };
    if let Some(wanted) = arguments.callpath.iter().find(|wanted| !is_in(wanted)) {
        return wrong(format!("--callpath {wanted}: the run has no such call path; expected {}.", named(&paths)));
    }
    let is_there = |word: &&String| range(word).is_some_and(|(first, _)| first < profile.ranks);
    if let Some(word) = arguments.ranks.iter().find(|word| !is_there(word)) {
        return wrong(format!("--ranks {word}: the run has no such rank; expected {}.", named(0..profile.ranks)));
    }
    if !arguments.noisy_threads.is_empty() && profile.noise.series.is_empty() {
        let threads = arguments.noisy_threads.join(",");
        return wrong(format!(
            "--noisy-threads {threads}: none of these threads ran a loop long enough; they count from 0 in the order in which they start to work."
        ));
    }
    Ok(())
}

fn wrong(what: String) -> Result<()> {
    Err(Error::Usage(what))
}

/// The modes that any loop has, with their quantities.
fn built(profile: &Profile) -> BTreeMap<&str, BTreeSet<u32>> {
    let mut built: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    let text = profile.metadata.get(VARIANTS).map_or("", String::as_str);
    for (mode, quantities) in text.lines().filter_map(|line| line.split_once(':')) {
        built.entry(mode).or_default().extend(quantities.split(',').filter_map(|k| k.parse::<u32>().ok()));
    }
    built
}

/// `dot (loops.c:14)`, which are the words that `--loops` takes.
fn described(known: &Loop) -> String {
    match known.file.rsplit('/').next() {
        Some(file) if !file.is_empty() => format!("{} ({file}:{})", known.function, known.line),
        _ => known.function.clone(),
    }
}

/// The first of what exists.
fn named<T: ToString>(all: impl IntoIterator<Item = T>) -> String {
    let mut names: Vec<String> = all.into_iter().map(|item| item.to_string()).collect();
    let others = names.len().saturating_sub(NAMED);
    if others > 1 {
        names.truncate(NAMED);
        names.push(format!("{others} others"));
    }
    format!("{}{}", if names.len() > 1 { "one of " } else { "" }, names.join(", "))
}
