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

/// What kind of quantity the public interface's metric of this name is, where it is one of these kinds.
pub(crate) fn kind_of(metric: &str) -> Option<Kind> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
