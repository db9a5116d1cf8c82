//! What counted a run. Basic blocks of compiled counters are LLVM's, those of QEMU are machine code's, and each counts what the other
//! does not see, so that numbers of both are never put together.

use std::collections::BTreeMap;

use poise_profile::Profile;

/// Runs of an engine that are named one by one; of more the first is.
const NAMED: usize = 8;

/// What counted a profile: `counters`, those that `poise cc` puts into programs, or `qemu`.
pub(crate) fn engine(profile: &Profile) -> &str {
    profile.metadata.get("engine").map_or("counters", String::as_str)
}

/// Says which runs, each with its name and engine, are of which engine, where that is not the same one.
pub(crate) fn several<'a>(runs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Option<String> {
    let mut by_engine: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    runs.into_iter().for_each(|(name, engine)| by_engine.entry(engine).or_default().push(name));
    let one = |(engine, names): (&&str, &Vec<&str>)| match names.len() {
        ..=NAMED => format!("{engine} counted {}", names.join(", ")),
        count => format!("{engine} counted {count} runs, such as {}", names[0]),
    };
    let said: Vec<String> = by_engine.iter().map(one).collect();
    (said.len() > 1)
        .then(|| format!("the runs are of several engines, which do not count the same: {}", said.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_several_engines_are_named() {
        assert_eq!(several([("a", "qemu"), ("b", "qemu")]), None);
        assert_eq!(
            several([("a", "counters"), ("b", "qemu"), ("c", "counters")]).unwrap(),
            "the runs are of several engines, which do not count the same: counters counted a, c; qemu counted b"
        );
        let many = several([("a", "counters"), ("b", "qemu")].into_iter().chain([("c", "counters"); 8])).unwrap();
        assert!(many.ends_with("counters counted 9 runs, such as a; qemu counted b"), "{many}");
    }
}
