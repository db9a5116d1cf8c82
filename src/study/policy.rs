//! Repetition policies: from the times that a point has given so far, how many more runs it needs and which of its times
//! are not to be used, with the reason.

use modeler::report::quantity;

use super::file::{RepetitionsFile, RepetitionsTable};
use modeler::words::suggestion;

/// How often a point is measured, and which measurements count.
#[derive(Clone, Debug, PartialEq)]
pub struct Repetitions {
    /// When the times of a point are enough.
    pub policy: Policy,
    /// Whether effort is taken from a point's first run alone.
    pub effort_once: bool,
}

/// When the times of a point are enough.
#[derive(Clone, Debug, PartialEq)]
pub enum Policy {
    /// So many runs.
    Fixed(u32),
    /// So many runs, of which the smallest and the largest are dropped; all are repeated if one of them deviates from
    /// the mean of the rest by more than `deviation` (a share). After `attempts` the steadiest attempt counts.
    Marta {
        /// Runs of an attempt.
        runs: u32,
        /// The largest deviation from the mean, as a share of it.
        deviation: f64,
        /// Attempts before the point is given up as unsteady.
        attempts: u32,
    },
    /// Until the interval of the median is no wider than `width` (a share of the median).
    Interval {
        /// The widest interval that is narrow enough, as a share of the median.
        width: f64,
        /// Probability with which the interval holds the median.
        level: f64,
        /// Runs before the first look.
        at_least: u32,
        /// Runs after which the point is left as it is.
        at_most: u32,
        /// Of all runs of the study together; with it spent, no further repetition is started.
        core_hours: Option<f64>,
    },
}

/// What a policy says of a point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// Further runs to make before the next judgement; 0 where the point is done.
    pub wanted: usize,
    /// Which times do not count, by index, and why.
    pub dropped: Vec<(usize, String)>,
    /// Why the point is done although its times are not as steady as asked.
    pub unsettled: Option<String>,
}

const NAMES: [&str; 4] = ["fixed", "marta", "interval", "effort-once"];

impl Repetitions {
    /// So many runs at each point, everything measured in each.
    pub fn fixed(runs: u32) -> Self {
        Self { policy: Policy::Fixed(runs), effort_once: false }
    }

    /// Checks what the study says.
    pub fn read(file: Option<RepetitionsFile>) -> Result<Self, String> {
        let table = match file {
            None => return Ok(Self::fixed(1)),
            Some(RepetitionsFile::Count(0)) => return Err("`repetitions` is 0; give at least 1".into()),
            Some(RepetitionsFile::Count(runs)) => return Ok(Self::fixed(runs)),
            Some(RepetitionsFile::Named(policy)) => RepetitionsTable { policy, ..Default::default() },
            Some(RepetitionsFile::Table(table)) => table,
        };
        let effort_once = table.policy == "effort-once";
        let name = if effort_once { table.time.as_deref().unwrap_or("fixed") } else { table.policy.as_str() };
        if effort_once && name == "effort-once" {
            return Err(
                "`repetitions.time` is \"effort-once\" itself; name the policy for times: fixed, marta or interval"
                    .into(),
            );
        }
        if !effort_once && table.time.is_some() {
            return Err("`repetitions.time` goes with the policy \"effort-once\"".into());
        }
        let policy = Policy::named(name, &table)?;
        Ok(Self { policy, effort_once })
    }
}

impl Policy {
    fn named(name: &str, table: &RepetitionsTable) -> Result<Self, String> {
        let given = [
            ("runs", table.runs.is_some()),
            ("deviation", table.deviation.is_some()),
            ("attempts", table.attempts.is_some()),
            ("width", table.width.is_some()),
            ("level", table.level.is_some()),
            ("at_least", table.at_least.is_some()),
            ("at_most", table.at_most.is_some()),
            ("core_hours", table.core_hours.is_some()),
        ];
        let only = |keys: &[&str]| match given.iter().find(|(key, is_given)| *is_given && !keys.contains(key)) {
            Some((key, _)) => Err(format!("`repetitions.{key}` has no meaning for the policy \"{name}\"")),
            None => Ok(()),
        };
        match name {
            "fixed" => {
                only(&["runs"])?;
                Ok(Self::Fixed(at_least("runs", table.runs.unwrap_or(5), 1)?))
            }
            "marta" => {
                only(&["runs", "deviation", "attempts"])?;
                let deviation = share("deviation", table.deviation.unwrap_or(0.02))?;
                // Of three without their ends one is left, which cannot deviate from the mean.
                let runs = at_least("runs", table.runs.unwrap_or(5), 4)?;
                Ok(Self::Marta { runs, deviation, attempts: at_least("attempts", table.attempts.unwrap_or(5), 1)? })
            }
            "interval" => {
                only(&["width", "level", "at_least", "at_most", "core_hours"])?;
                let level = share("level", table.level.unwrap_or(0.9))?;
                let least = at_least("at_least", table.at_least.unwrap_or(5), 2)?;
                let most = at_least("at_most", table.at_most.unwrap_or(50.max(least)), least)?;
                if table.core_hours.is_some_and(|hours| hours.is_nan() || hours <= 0.0) {
                    return Err("`repetitions.core_hours` is not positive".into());
                }
                // The widest interval is from the smallest to the largest time, with the probability 1 - 2^(1-n).
                let needed = (2..=u32::from(u16::MAX)).find(|&n| 1.0 - 0.5_f64.powf(f64::from(n - 1)) >= level);
                if let Some(needed) = needed.filter(|&needed| needed > most) {
                    return Err(format!(
                        "`repetitions.at_most` is {most}, and no fewer than {needed} times have an interval of their median with the level \
                         {level}; give at least {needed}, or a lower `level`"
                    ));
                }
                let width = share("width", table.width.unwrap_or(0.05))?;
                Ok(Self::Interval { width, level, at_least: least, at_most: most, core_hours: table.core_hours })
            }
            other => Err(format!(
                "`repetitions` names the policy \"{other}\", which is none of {}{}",
                NAMES.join(", "),
                suggestion(other, NAMES)
            )),
        }
    }

    /// Its name, as a study writes it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Fixed(_) => "fixed",
            Self::Marta { .. } => "marta",
            Self::Interval { .. } => "interval",
        }
    }

    /// Judges the times of a point's complete runs, in the order of their repetitions. `is_spent` says that the
    /// study's budget allows no further repetition.
    pub fn judge(&self, times: &[f64], is_spent: bool) -> Judgement {
        match *self {
            Self::Fixed(runs) => {
                Judgement { wanted: (runs as usize).saturating_sub(times.len()), ..Judgement::default() }
            }
            Self::Marta { runs, deviation, attempts } => marta(times, runs as usize, deviation, attempts as usize),
            Self::Interval { width, level, at_least, at_most, .. } => {
                // A point with no run at all is of no use, whatever it costs.
                if times.len() < at_least as usize && (times.is_empty() || !is_spent) {
                    return Judgement { wanted: at_least as usize - times.len(), ..Judgement::default() };
                }
                let found = median_interval(times, level).map(|(low, median, high)| {
                    // Where nothing is left to be known the median may be 0, as in simulated time.
                    if low == high { 0.0 } else { (high - low) / median }
                });
                let narrow = found.is_some_and(|found| found <= width);
                let spent = times.len() >= at_most as usize || is_spent;
                let unsettled = (!narrow && spent).then(|| {
                    let state = found.map_or("has no interval yet".to_owned(), |w| {
                        format!("has an interval of {} % of itself", quantity(100.0 * w, ""))
                    });
                    let why = if is_spent { "the budget is spent" } else { "no more runs are allowed" };
                    let asked = quantity(100.0 * width, "");
                    format!("the median of {} times {state}, asked for was {asked} %; {why}", times.len())
                });
                Judgement { wanted: usize::from(!narrow && !spent), dropped: Vec::new(), unsettled }
            }
        }
    }
}

fn at_least(key: &str, value: u32, least: u32) -> Result<u32, String> {
    if value >= least { Ok(value) } else { Err(format!("`repetitions.{key}` is {value}; give at least {least}")) }
}

fn share(key: &str, value: f64) -> Result<f64, String> {
    let is_share = value > 0.0 && value < 1.0;
    if is_share { Ok(value) } else { Err(format!("`repetitions.{key}` is {value}; give a share between 0 and 1")) }
}

/// The policy of the MARTA paper, section III-B ("Repeating Runs"): run X times, remove the largest and the smallest,
/// take the mean of the rest, and repeat all if one sample exceeds the threshold T.
fn marta(times: &[f64], runs: usize, deviation: f64, attempts: usize) -> Judgement {
    let whole = times.len() / runs;
    let tried: Vec<Attempt> =
        (0..whole.min(attempts)).map(|i| Attempt::of(&times[i * runs..(i + 1) * runs], i * runs)).collect();
    let good = tried.iter().position(|attempt| attempt.worst.1 <= deviation);
    let mut judgement = Judgement::default();
    if good.is_none() && tried.len() < attempts {
        judgement.wanted = runs * (tried.len() + 1) - times.len();
    }
    let steadiest = || (0..tried.len()).min_by(|&a, &b| tried[a].worst.1.total_cmp(&tried[b].worst.1));
    let chosen = if judgement.wanted > 0 { None } else { good.or_else(steadiest) };
    for (i, attempt) in tried.iter().enumerate() {
        let (index, off) = attempt.worst;
        if Some(i) == chosen {
            judgement.dropped.extend(attempt.ends(times, runs));
        } else {
            // Nothing follows the last one.
            let became = match chosen.filter(|_| i + 1 == tried.len()) {
                Some(chosen) => format!("is less steady than attempt {}", chosen + 1),
                None => "was repeated".to_owned(),
            };
            let why = format!(
                "attempt {} {became}: run {} deviates from the mean {} by {:.1} %",
                i + 1,
                index + 1,
                seconds(attempt.mean),
                100.0 * off
            );
            judgement.dropped.extend((i * runs..(i + 1) * runs).map(|run| (run, why.clone())));
        }
    }
    if let (None, Some(chosen)) = (good, chosen) {
        judgement.unsettled = Some(format!(
            "no attempt of {attempts} was steady to {:.2} %; attempt {} is the steadiest, with {:.2} %",
            100.0 * deviation,
            chosen + 1,
            100.0 * tried[chosen].worst.1
        ));
    }
    judgement.dropped.extend(
        (runs * tried.len()..times.len())
            .filter(|_| chosen.is_some())
            .map(|run| (run, "the point was decided before this run".to_owned())),
    );
    judgement
}

/// The runs of one attempt.
struct Attempt {
    smallest: usize,
    largest: usize,
    mean: f64,
    /// Of the rest, the one furthest from the mean, and how far as a share of it.
    worst: (usize, f64),
}

impl Attempt {
    fn of(times: &[f64], first: usize) -> Self {
        let mut order: Vec<usize> = (0..times.len()).collect();
        order.sort_by(|&a, &b| times[a].total_cmp(&times[b]));
        let (smallest, largest) = (order[0], order[order.len() - 1]);
        let rest = &order[1..order.len() - 1];
        let mean = rest.iter().map(|&i| times[i]).sum::<f64>() / rest.len() as f64;
        // Times of 0, of a clock too coarse, deviate from their mean 0 by nothing.
        let off = |i: usize| if times[i] == mean { 0.0 } else { ((times[i] - mean) / mean).abs() };
        let worst = rest.iter().map(|&i| (i, off(i))).max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((smallest, 0.0));
        Self { smallest: first + smallest, largest: first + largest, mean, worst: (first + worst.0, worst.1) }
    }

    fn ends(&self, times: &[f64], runs: usize) -> [(usize, String); 2] {
        let why = |which: &str, i: usize| (i, format!("the {which} of {runs} times, {}", seconds(times[i])));
        [why("smallest", self.smallest), why("largest", self.largest)]
    }
}

/// With five digits.
fn seconds(time: f64) -> String {
    let before = if time > 0.0 { time.log10().floor() } else { 0.0 };
    if (-4.0..5.0).contains(&before) {
        format!("{time:.*} s", (4.0 - before) as usize)
    } else {
        format!("{time:.4e} s")
    }
}

/// The interval of the median that holds it with at least the probability `level` whatever the distribution, between two
/// order statistics (David and Nagaraja, Order Statistics, 3rd edition, section 7.1): lower end, median, upper end. None
/// where so few values have none.
pub fn median_interval(values: &[f64], level: f64) -> Option<(f64, f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    // P(X_(k) <= median <= X_(n+1-k)) = 1 - 2 P(Bin(n, 1/2) <= k - 1); the largest k that has the level.
    let mut probability = 0.5_f64.powi(i32::try_from(n).ok()?);
    let mut below = 0.0;
    let mut k = 0;
    while k < n / 2 {
        below += probability;
        if 1.0 - 2.0 * below < level {
            break;
        }
        probability *= (n - k) as f64 / (k + 1) as f64;
        k += 1;
    }
    let median =
        if n % 2 == 1 { sorted[n / 2] } else { 0.5 * (sorted.get(n / 2)? + sorted.get((n / 2).checked_sub(1)?)?) };
    (k > 0).then(|| (sorted[k - 1], median, sorted[n - k]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Repetitions, String> {
        #[derive(serde::Deserialize)]
        struct File {
            repetitions: RepetitionsFile,
        }
        Repetitions::read(Some(toml::from_str::<File>(text).map_err(|e| e.to_string())?.repetitions))
    }

    #[test]
    fn policies_have_names_and_defaults() {
        assert_eq!(read("repetitions = 3"), Ok(Repetitions::fixed(3)));
        let marta = Policy::Marta { runs: 5, deviation: 0.02, attempts: 5 };
        assert_eq!(read("repetitions = \"marta\"").unwrap().policy, marta, "the paper's numbers");
        let itself = read("repetitions = { policy = \"effort-once\", time = \"effort-once\" }").unwrap_err();
        assert!(itself.contains("fixed, marta or interval") && !itself.contains("none of"), "{itself}");
        let once = read("repetitions = { policy = \"effort-once\", time = \"marta\" }").unwrap();
        assert_eq!(once, Repetitions { policy: marta, effort_once: true });
        assert!(read("repetitions = 0").unwrap_err().contains("at least 1"));
        assert!(read("repetitions = \"martha\"").unwrap_err().contains("did you mean `marta`?"));
        assert!(read("repetitions = { policy = \"marta\", width = 0.1 }").unwrap_err().contains("no meaning"));
        assert!(read("repetitions = { policy = \"interval\", width = 5 }").unwrap_err().contains("between 0 and 1"));
        let least = read("repetitions = { policy = \"marta\", runs = 3 }").unwrap_err();
        assert!(least.contains("`repetitions.runs` is 3; give at least 4"), "{least}");
        assert!(read("repetitions = { policy = \"marta\", runs = 4 }").is_ok());
        assert!(read("repetitions = { polcy = \"marta\" }").unwrap_err().contains("polcy"));
    }

    #[test]
    fn fixed_counts() {
        assert_eq!(Policy::Fixed(3).judge(&[1.0], false).wanted, 2);
        assert_eq!(Policy::Fixed(3).judge(&[1.0; 4], false), Judgement::default());
    }

    #[test]
    fn marta_drops_the_ends_and_says_why() {
        let policy = Policy::Marta { runs: 5, deviation: 0.02, attempts: 3 };
        assert_eq!(policy.judge(&[1.0, 1.0], false).wanted, 3);
        // Mean of 1.00, 1.01 and 0.99 is 1; they are off by 1 %. The ends 0.5 and 9 do not matter.
        let steady = policy.judge(&[9.0, 1.0, 1.01, 0.5, 0.99], false);
        assert_eq!((steady.wanted, steady.unsettled), (0, None));
        assert_eq!(steady.dropped.iter().map(|d| d.0).collect::<Vec<_>>(), [3, 0]);
        assert_eq!(steady.dropped[0].1, "the smallest of 5 times, 0.50000 s");
    }

    #[test]
    fn marta_repeats_all_if_one_deviates() {
        let policy = Policy::Marta { runs: 5, deviation: 0.02, attempts: 3 };
        // Mean of 1.00, 1.05 and 0.95 is 1; they are off by 5 %.
        let mut times = vec![9.0, 1.0, 1.05, 0.5, 0.95];
        let first = policy.judge(&times, false);
        assert_eq!((first.wanted, first.dropped.len()), (5, 5));
        assert!(first.dropped[0].1.contains("attempt 1 was repeated: run") && first.dropped[0].1.contains("by 5.0 %"));
        times.extend([1.0, 1.0, 1.0, 1.0, 1.0]);
        let second = policy.judge(&times, false);
        assert_eq!((second.wanted, second.unsettled, second.dropped.len()), (0, None, 7));

        times.truncate(5);
        times.extend([1.0, 1.1, 0.9, 0.5, 2.0, 1.0, 1.03, 0.97, 0.5, 2.0]);
        let unsteady = policy.judge(&times, false);
        assert_eq!(unsteady.wanted, 0);
        assert!(unsteady.unsettled.unwrap().contains("attempt 3 is the steadiest, with 3.00 %"));
        assert_eq!(unsteady.dropped.len(), 12, "ten of the first two attempts and the ends of the third");

        // The last attempt is off by 10 %, the one before it by 3 %.
        times = [[1.0, 1.03, 0.97, 0.5, 2.0], [1.0, 1.1, 0.9, 0.5, 2.0]].concat();
        let lost = Policy::Marta { runs: 5, deviation: 0.02, attempts: 2 }.judge(&times, false).dropped;
        let why = "attempt 2 is less steady than attempt 1: run 7 deviates from the mean 1.0000 s by 10.0 %";
        assert_eq!(lost.iter().filter(|(_, reason)| reason == why).count(), 5, "{lost:?}");
        assert_eq!([0.0, 12345.6, 1.0e-7].map(seconds), ["0.0000 s", "12346 s", "1.0000e-7 s"]);
    }

    /// Whether the interval between order statistics holds the median, counted over all 2^n equally likely patterns of
    /// values below and above it.
    #[test]
    fn the_medians_interval_has_its_level_and_is_the_narrowest() {
        let coverage = |n: u32, k: usize| {
            let covers = |pattern: &u32| {
                let below = pattern.count_ones() as usize;
                below >= k && (n as usize - below) >= k
            };
            (0..1_u32 << n).filter(covers).count() as f64 / f64::from(1_u32 << n)
        };
        for n in 2..=16_u32 {
            let values: Vec<f64> = (1..=n).rev().map(f64::from).collect();
            match median_interval(&values, 0.9) {
                None => assert!(coverage(n, 1) < 0.9, "{n}"),
                Some((low, median, high)) => {
                    let k = low as usize;
                    assert_eq!(high as usize, n as usize + 1 - k);
                    assert_eq!(median, f64::from(n + 1) / 2.0);
                    assert!(coverage(n, k) >= 0.9 && coverage(n, k + 1) < 0.9, "{n} {k}");
                }
            }
        }
        assert_eq!(median_interval(&[], 0.9), None);
        assert_eq!(median_interval(&[1.0], 0.9), None);
    }

    #[test]
    fn an_interval_that_no_number_of_runs_can_have_is_refused() {
        let of = |level: f64, most: u32| {
            read(&format!("repetitions = {{ policy = \"interval\", level = {level}, at_least = 2, at_most = {most} }}"))
        };
        let never = of(0.999, 6).unwrap_err();
        assert!(never.contains("`repetitions.at_most` is 6, and no fewer than 11 times"), "{never}");
        for (level, most) in [(0.5, 2), (0.9, 4), (0.9, 5), (0.95, 6), (0.999, 10), (0.999, 11)] {
            let times: Vec<f64> = (0..most).map(f64::from).collect();
            assert_eq!(of(level, most).is_ok(), median_interval(&times, level).is_some(), "{level} of {most}");
        }
    }

    #[test]
    fn the_interval_policy_stops_when_narrow_or_spent() {
        let policy = Policy::Interval { width: 0.05, level: 0.9, at_least: 5, at_most: 8, core_hours: None };
        assert_eq!(policy.judge(&[1.0; 3], false).wanted, 2);
        assert_eq!(policy.judge(&[1.0, 1.01, 1.02, 1.03, 1.04], false), Judgement::default());
        assert_eq!(policy.judge(&[0.0; 5], false), Judgement::default(), "nothing is left to be known");
        let wide = [1.0, 1.1, 1.2, 1.3, 1.4];
        assert_eq!(policy.judge(&wide, false).wanted, 1);
        assert_eq!(policy.judge(&[], true).wanted, 5);
        let spent = policy.judge(&[1.0], true);
        assert!(spent.wanted == 0 && spent.unsettled.unwrap().contains("has no interval yet"));
        assert!(policy.judge(&wide, true).unsettled.unwrap().contains("interval of 33.3 %"), "0.4 of the median 1.2");
        let eight = [1.0, 1.1, 1.2, 1.3, 1.4, 1.0, 1.2, 1.4];
        assert!(policy.judge(&eight, false).unsettled.unwrap().contains("no more runs are allowed"));
    }
}
