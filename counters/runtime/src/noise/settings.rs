//! What POISE_ABSORB asks for: `on`, or parts separated by semicolons.

use poise_profile::Loop;

/// Settings of noise injection; empty lists mean everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Names of modes.
    pub modes: Vec<String>,
    /// Noise quantities.
    pub quantities: Vec<u32>,
    /// Places of loops: a function's name or file:line.
    pub loops: Vec<String>,
    /// A call path's functions, outermost first, separated by `/`; those below count too.
    pub callpaths: Vec<String>,
    /// Ranks that are to have noise.
    pub ranks: Vec<(u32, u32)>,
    /// Threads that are to have noise, by the order in which they first ran a loop.
    pub threads: Vec<(u32, u32)>,
    /// Bursts per mode and quantity after which a loop is done if they say well enough what it takes; up to ten times as many else.
    pub samples: u32,
    /// How long a burst without noise lasts, in nanoseconds.
    pub burst: u64,
    /// One mode and quantity for the whole run, which measures nothing then.
    pub forced: Option<(String, u32)>,
    /// Seed of the order of bursts.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            modes: vec![],
            quantities: vec![],
            loops: vec![],
            callpaths: vec![],
            ranks: vec![],
            threads: vec![],
            samples: 24,
            burst: 40_000,
            forced: None,
            seed: 0,
        }
    }
}

impl Settings {
    /// Reads the variable's value; `None` where it asks for nothing.
    pub fn parse(text: &str) -> Result<Option<Self>, String> {
        if matches!(text, "" | "0" | "off") {
            return Ok(None);
        }
        let mut settings = Self::default();
        for part in text.split(';').map(str::trim).filter(|part| !matches!(*part, "" | "1" | "on")) {
            let (name, value) =
                part.split_once('=').ok_or_else(|| format!("\"{part}\" is not of the form name=value"))?;
            settings.set(name.trim(), value.trim())?;
        }
        Ok(Some(settings))
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "modes" => self.modes = list(value, |item| Ok(item.to_owned()))?,
            "k" => self.quantities = list(value, number)?,
            "loops" => self.loops = list(value, |item| Ok(item.to_owned()))?,
            "callpaths" => self.callpaths = list(value, |item| Ok(item.to_owned()))?,
            "ranks" => self.ranks = list(value, range)?,
            "threads" => self.threads = list(value, range)?,
            "samples" => self.samples = number(value)?.max(1),
            "burst" => self.burst = u64::from(number(value)?.clamp(1, 1_000_000)) * 1_000,
            "seed" => self.seed = number(value)?.into(),
            "force" => {
                let (mode, k) = value.split_once(':').ok_or_else(|| format!("\"{value}\" is not mode:k"))?;
                self.forced = Some((mode.to_owned(), number(k)?));
            }
            _ => return Err(format!("\"{name}\" is not known")),
        }
        Ok(())
    }

    /// Whether `number` is in `ranges`, of which none means all.
    pub fn has(ranges: &[(u32, u32)], number: u32) -> bool {
        ranges.is_empty() || ranges.iter().any(|&(first, last)| (first..=last).contains(&number))
    }

    /// Whether this loop is wanted.
    pub fn wants(&self, known: &Loop) -> bool {
        self.loops.is_empty() || self.loops.iter().any(|place| known.is_at(place))
    }
}

fn list<T>(text: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(read).collect()
}

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("\"{text}\" is no number"))
}

fn range(text: &str) -> Result<(u32, u32), String> {
    match text.split_once('-') {
        Some((first, last)) => Ok((number(first)?, number(last)?)),
        None => number(text).map(|only| (only, only)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_and_wrong_ones_named() {
        assert_eq!(Settings::parse("off"), Ok(None));
        assert_eq!(Settings::parse("on"), Ok(Some(Settings::default())));
        let text = "modes=nop,fp_add64; k=0,4; ranks=0,2-3; threads=1; force=nop:8; burst=100";
        let settings = Settings::parse(text).unwrap().unwrap();
        assert_eq!(settings.modes, ["nop", "fp_add64"]);
        assert_eq!(settings.forced, Some(("nop".to_owned(), 8)));
        assert_eq!(settings.burst, 100_000);
        let ranks: Vec<u32> = (0..5).filter(|&rank| Settings::has(&settings.ranks, rank)).collect();
        assert_eq!(ranks, [0, 2, 3]);
        for wrong in ["modes", "k=x", "ranks=1-", "force=nop", "speed=1"] {
            assert!(Settings::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn loops_are_wanted_by_function_or_place() {
        let settings = Settings::parse("loops=solve.c:41,main").unwrap().unwrap();
        let known = |function: &str, file: &str, line| Loop {
            function: function.into(),
            file: file.into(),
            line,
            id: 0,
            width: 0,
            refusal: String::new(),
        };
        assert!(settings.wants(&known("f", "src/solve.c", 41)) && settings.wants(&known("main", "", 0)));
        assert!(!settings.wants(&known("f", "src/solve.c", 4)) && !settings.wants(&known("f", "resolve.c", 41)));
        assert!(Settings::default().wants(&known("f", "a.c", 1)));
    }
}
