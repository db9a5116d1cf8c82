//! Bins of effort over time, and the caches that may be modelled beside them, as the command line names them.

use serde::{Deserialize, Serialize};

/// Bins of effort over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bins {
    /// How wide they are: basic blocks, in QEMU instructions, nanoseconds where `is_time`; `None` where they widen as needed.
    pub width: Option<u64>,
    /// Whether they are of equal time instead of equal effort.
    pub is_time: bool,
    /// Whether accessed lines of memory are counted, which QEMU alone can do.
    pub lines: bool,
    /// Which caches are modelled, and with them a branch predictor, if any; likewise.
    pub cache: Option<Cache>,
}

/// Two levels of caches: bytes and lines of a set of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache(pub [(u64, u64); 2]);

impl std::str::FromStr for Cache {
    type Err = String;

    /// Reads `32K:8,1M:16`.
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let level = |text: &str| {
            let (size, ways) = text.split_once(':')?;
            let (number, unit) = match size.strip_suffix(['K', 'k']) {
                Some(number) => (number, 10),
                None => size.strip_suffix(['M', 'm']).map_or((size, 0), |number| (number, 20)),
            };
            let (bytes, ways) = (number.parse::<u64>().ok()?.checked_mul(1 << unit)?, ways.parse::<u64>().ok()?);
            let sets = (bytes / 64).checked_div(ways)?;
            (sets.is_power_of_two() && sets * ways * 64 == bytes && bytes <= 1 << 30).then_some((bytes, ways))
        };
        let both = text.split_once(',').and_then(|(first, second)| Some([level(first)?, level(second)?]));
        both.map(Cache).ok_or_else(|| {
            "two levels are wanted, such as 32K:8,1M:16: size and lines of 64 bytes in a set, a power of two of sets".into()
        })
    }
}

impl Bins {
    /// What the runtime is asked for by `POISE_PHASES`.
    pub fn wish(self) -> String {
        let unit = if self.is_time { "time" } else { "blocks" };
        self.width.map_or_else(|| unit.to_owned(), |width| format!("{unit}={width}"))
    }
}
