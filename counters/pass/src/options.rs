//! What a compilation is asked for in its environment: POISE_WEIGHTS, POISE_SMALL, POISE_FILTER and POISE_INLINED.

use std::ffi::OsString;
use std::path::Path;
use std::sync::OnceLock;

use crate::filter::Filter;

/// What blocks add to the count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// Every block one.
    Blocks,
    /// Entries of functions and headers of loops one, all else nothing.
    Loops,
}

/// Which functions are small: no nodes of the call tree, unless a filter says something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Small {
    /// Those without a loop that call nothing but small functions.
    Leaves,
    /// Those of at most so many basic blocks.
    Blocks(usize),
}

/// What is asked for.
#[derive(Debug)]
pub struct Options {
    /// What blocks add.
    pub weights: Weights,
    /// The rule for small functions.
    pub small: Small,
    /// The rules for functions by name.
    pub filter: Filter,
    /// Whether inlined functions are nodes.
    pub inlined: bool,
}

impl Options {
    /// What this compilation is asked for. A wrong wish ends the compiler: a build that silently lacks what was asked for
    /// would mislead.
    pub fn get() -> &'static Self {
        static OPTIONS: OnceLock<Options> = OnceLock::new();
        OPTIONS.get_or_init(|| {
            Self::read(|name| std::env::var_os(name).filter(|value| !value.is_empty())).unwrap_or_else(|what| {
                eprintln!("poise: {what}.");
                std::process::exit(1);
            })
        })
    }

    /// Reads the options that `value` gives by name.
    fn read(value: impl Fn(&str) -> Option<OsString>) -> Result<Self, String> {
        let text = |name: &str| value(name).map(|value| value.to_string_lossy().into_owned());
        let choice = |name: &str, choices: [&str; 2], default: bool| match text(name) {
            None => Ok(default),
            Some(value) if value == choices[0] => Ok(false),
            Some(value) if value == choices[1] => Ok(true),
            Some(value) => Err(format!("{name}: \"{value}\" is neither {} nor {}", choices[0], choices[1])),
        };
        let has_loop_weights = choice("POISE_WEIGHTS", ["blocks", "loops"], false)?;
        let filter = match value("POISE_FILTER") {
            Some(file) => Filter::read(Path::new(&file)).map_err(|what| format!("POISE_FILTER: {what}"))?,
            None => Filter::default(),
        };
        Ok(Self {
            weights: if has_loop_weights { Weights::Loops } else { Weights::Blocks },
            small: small(text("POISE_SMALL").as_deref())?,
            filter,
            inlined: choice("POISE_INLINED", ["off", "on"], true)?,
        })
    }
}

fn small(text: Option<&str>) -> Result<Small, String> {
    let number = |text: &str| text.strip_prefix("blocks=")?.parse().ok();
    match text {
        None | Some("leaves") => Ok(Small::Leaves),
        Some(text) => number(text)
            .map(Small::Blocks)
            .ok_or_else(|| format!("POISE_SMALL: \"{text}\" is neither leaves nor blocks=N, as blocks=10")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[(&str, &str)]) -> Result<Options, String> {
        let values = values.to_vec();
        Options::read(move |asked| values.iter().find(|(name, _)| *name == asked).map(|(_, value)| value.into()))
    }

    #[test]
    fn what_is_not_asked_for_is_the_default() {
        let options = read(&[]).unwrap();
        assert_eq!((options.weights, options.small, options.inlined), (Weights::Blocks, Small::Leaves, true));
    }

    #[test]
    fn wishes_are_read() {
        let options =
            read(&[("POISE_WEIGHTS", "loops"), ("POISE_SMALL", "blocks=12"), ("POISE_INLINED", "off")]).unwrap();
        assert_eq!((options.weights, options.small, options.inlined), (Weights::Loops, Small::Blocks(12), false));
    }

    #[test]
    fn wrong_wishes_are_told() {
        for (name, value) in [
            ("POISE_WEIGHTS", "headers"),
            ("POISE_SMALL", "blocks"),
            ("POISE_SMALL", "blocks=-1"),
            ("POISE_INLINED", "yes"),
            ("POISE_FILTER", "/nowhere/filter"),
        ] {
            let what = read(&[(name, value)]).unwrap_err();
            assert!(what.starts_with(name) && what.contains(value), "{what}");
        }
    }
}
