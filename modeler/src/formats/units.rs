//! Units of one kind become one: times are read in seconds and sizes in bytes, whatever an input has them in.

/// What a metric measures, as far as its unit tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A time; read in seconds.
    Time,
    /// A size of data; read in bytes.
    Data,
}

impl Kind {
    /// The unit that values of this kind are read in.
    pub fn base(self) -> &'static str {
        match self {
            Self::Time => "s",
            Self::Data => "bytes",
        }
    }

    /// Units of this kind, for messages.
    pub fn known(self) -> &'static str {
        match self {
            Self::Time => "ns, us, ms, s, min, h or d",
            Self::Data => "bytes, KB, MB, GB, TB, KiB, MiB, GiB or TiB",
        }
    }
}

/// What kind of quantity the public interface's metric of this name is, or the least, most or sum of one over ranks or calls as
/// Score-P and our own exports name it (`max_time`, `time_minimum`), where it is one of these kinds.
pub(crate) fn kind_of(metric: &str) -> Option<Kind> {
    let prefixed = ["min_", "max_", "sum_"].iter().find_map(|prefix| metric.strip_prefix(prefix));
    let suffixed = || ["_minimum", "_maximum", "_sum"].iter().find_map(|suffix| metric.strip_suffix(suffix));
    if let Some(plain) = prefixed.or_else(suffixed) {
        return kind_of(plain);
    }
    match metric {
        "time" | "wait_time" | "late_sender" | "late_receiver" => Some(Kind::Time),
        "bytes_sent" | "bytes_received" => Some(Kind::Data),
        _ => None,
    }
}

/// The kind of a unit and the factor from it to the base unit; `None` where it is of neither kind. Prefixes of bytes are
/// powers of 1000, with an `i` powers of 1024 (IEC 80000-13).
pub(crate) fn base(unit: &str) -> Option<(Kind, f64)> {
    // Symbols are told apart by case (`Ms` is no millisecond), words are not.
    let symbol = match unit {
        "ns" => Some((Kind::Time, 1e-9)),
        "us" | "\u{b5}s" | "\u{3bc}s" => Some((Kind::Time, 1e-6)),
        "ms" => Some((Kind::Time, 1e-3)),
        "s" => Some((Kind::Time, 1.0)),
        "h" => Some((Kind::Time, 3600.0)),
        "d" => Some((Kind::Time, 86_400.0)),
        "B" => Some((Kind::Data, 1.0)),
        "kB" | "KB" => Some((Kind::Data, 1e3)),
        "MB" => Some((Kind::Data, 1e6)),
        "GB" => Some((Kind::Data, 1e9)),
        "TB" => Some((Kind::Data, 1e12)),
        "KiB" => Some((Kind::Data, 1024.0)),
        "MiB" => Some((Kind::Data, 1_048_576.0)),
        "GiB" => Some((Kind::Data, 1_073_741_824.0)),
        "TiB" => Some((Kind::Data, 1_099_511_627_776.0)),
        _ => None,
    };
    symbol.or_else(|| {
        Some(match unit.to_ascii_lowercase().as_str() {
            "nsec" | "nsecs" | "nanosecond" | "nanoseconds" => (Kind::Time, 1e-9),
            "usec" | "usecs" | "microsecond" | "microseconds" => (Kind::Time, 1e-6),
            "msec" | "msecs" | "millisecond" | "milliseconds" => (Kind::Time, 1e-3),
            "sec" | "secs" | "second" | "seconds" => (Kind::Time, 1.0),
            "min" | "mins" | "minute" | "minutes" => (Kind::Time, 60.0),
            "hr" | "hrs" | "hour" | "hours" => (Kind::Time, 3600.0),
            "day" | "days" => (Kind::Time, 86_400.0),
            "byte" | "bytes" => (Kind::Data, 1.0),
            "kilobyte" | "kilobytes" => (Kind::Data, 1e3),
            "megabyte" | "megabytes" => (Kind::Data, 1e6),
            "gigabyte" | "gigabytes" => (Kind::Data, 1e9),
            _ => return None,
        })
    })
}

/// Endings of names that are a unit of time. Others, such as `_min` and `_d`, mean something else more often.
const ENDINGS: [&str; 14] = [
    "ns",
    "us",
    "\u{b5}s",
    "\u{3bc}s",
    "ms",
    "s",
    "nsec",
    "usec",
    "msec",
    "sec",
    "secs",
    "seconds",
    "milliseconds",
    "microseconds",
];
/// Ends of names behind which `_sec` is part of a rate, as in `flop_sec`, `MB_sec` and `bytes_per_sec`.
const RATES: [&str; 7] = ["per", "flop", "ops", "rate", "bandwidth", "throughput", "byte"];
/// Sizes as names have them, in whatever case.
const SIZES: [&str; 13] = ["kb", "mb", "gb", "tb", "kib", "mib", "gib", "tib", "bit", "bits", "kbit", "mbit", "gbit"];
/// Ends of names behind which `_s` is seconds; behind others, as in `cells_s`, it is a rate as often.
const TIMES: [&str; 13] =
    ["time", "wall", "elapsed", "duration", "latency", "wait", "waiting", "cpu", "user", "sys", "real", "t", "clock"];

/// Whether a word of the name of a metric says that it is a time, as in `runtime`, `wall_clock` and `time_mean`.
pub(crate) fn names_time(name: &str) -> bool {
    name.to_ascii_lowercase().split('_').any(is_word_of_time)
}

fn is_word_of_time(word: &str) -> bool {
    TIMES.iter().any(|time| word == *time || time.len() > 3 && word.ends_with(time))
}

/// The name and the unit of a metric such as `time_ms` or `wall_usec`: times whose name ends in their unit.
pub(crate) fn in_name(name: &str) -> Option<(&str, &str)> {
    let (rest, unit) = name.rsplit_once('_')?;
    let last = rest.rsplit('_').next()?.to_ascii_lowercase();
    let is_size = SIZES.contains(&last.as_str()) || base(&last).is_some() || base(rest).is_some();
    let is_rate = is_size || RATES.iter().any(|rate| last.ends_with(rate));
    let known =
        ENDINGS.iter().find(|ending| unit == **ending || unit.len() > 2 && unit.eq_ignore_ascii_case(ending))?;
    let is_time = *known != "s" || is_word_of_time(&last);
    (!rest.is_empty() && !is_rate && is_time).then_some((rest, *known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_times() {
        for (name, is_time) in [("runtime", true), ("Wall_Clock", true), ("time_mean", true), ("PAPI_L2_TCM", false)] {
            assert_eq!(names_time(name), is_time, "{name}");
        }
        assert!(!names_time("bytes_sent") && !names_time("metr"));
    }

    #[test]
    fn names_of_times_end_in_their_unit() {
        for (name, expected) in [
            ("time_ms", ("time", "ms")),
            ("wall_usec", ("wall", "usec")),
            ("solve_time_s", ("solve_time", "s")),
            ("Time_SEC", ("Time", "sec")),
            ("t_ns", ("t", "ns")),
        ] {
            assert_eq!(in_name(name), Some(expected));
            assert_eq!(base(expected.1).unwrap().0, Kind::Time);
        }
        // Rates, a minimum, a size, a name that is no more than a unit.
        for name in ["bytes_per_s", "flops_s", "GB_s", "bytes_s", "time_min", "time_MS", "size_kb", "_ms", "ms", "time"]
        {
            assert_eq!(in_name(name), None, "{name}");
        }
        for name in
            ["read_MiB_s", "bw_GB_s", "mb_s", "Mbit_s", "cells_s", "tokens_s", "n_s", "mib_sec", "updates_per_sec"]
        {
            assert_eq!(in_name(name), None, "{name}");
        }
        assert_eq!(in_name("job_ms"), Some(("job", "ms")));
        for name in ["wall_s", "runtime_s", "solve_walltime_s", "elapsed_s"] {
            assert_eq!(in_name(name).map(|(_, unit)| unit), Some("s"), "{name}");
        }
    }

    #[test]
    fn statistics_of_a_time_are_times() {
        for name in ["time", "max_time", "min_time_minimum", "sum_wait_time", "min_min_time"] {
            assert_eq!(kind_of(name), Some(Kind::Time), "{name}");
        }
        assert_eq!(kind_of("max_bytes_sent"), Some(Kind::Data));
        for name in ["max_visits", "time_max", "runtime_sum", "min_"] {
            assert_eq!(kind_of(name), None, "{name}");
        }
    }

    #[test]
    fn one_hour_is_the_same_in_every_unit() {
        let hour = [(3.6e12, "ns"), (3.6e9, "usec"), (3.6e6, "msec"), (3.6e6, "Milliseconds"), (3600.0, "sec")];
        for (value, unit) in hour.into_iter().chain([(60.0, "minutes"), (1.0, "h"), (1.0 / 24.0, "days")]) {
            let (kind, factor) = base(unit).unwrap();
            assert_eq!(kind, Kind::Time, "{unit}");
            assert!((value * factor / 3600.0 - 1.0).abs() < 1e-15, "{unit}");
        }
        assert_eq!(base("MiB"), Some((Kind::Data, 1024.0 * 1024.0)));
        // Neither of these is a time or a size: a megasecond, a month or a metre, a rate, a count, nothing.
        for unit in ["Ms", "m", "GB/s", "cycles", "ticks", ""] {
            assert_eq!(base(unit), None, "{unit}");
        }
    }
}
