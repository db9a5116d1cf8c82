//! The machine's state around a run: what is known to disturb times, as the kernel tells it and as a probe of fixed work
//! measures it, and what that means in words.

use std::fs;
use std::path::Path;

use modeler::words;
use serde::{Deserialize, Serialize};

mod probe;
pub mod quiet;

use probe::Probe;

/// Where the kernel tells of processors.
const CPUS: &str = "/sys/devices/system/cpu";

/// The machine at one moment.
#[derive(Clone, Debug, Serialize)]
pub struct State {
    /// Cores that this process may use.
    cores: usize,
    /// Cores that the machine has switched on.
    cores_of_machine: usize,
    /// The frequency governor of all cores, or of each kind of core.
    governor: Option<String>,
    /// Whether the clock may rise above its nominal rate.
    boost: Option<bool>,
    /// Transparent huge pages: always, madvise or never.
    huge_pages: Option<String>,
    /// Processes that were running or ready to, this one aside.
    running: Option<u32>,
    /// The load average of the last minute.
    load: Option<f64>,
    /// How long fixed work takes.
    probe: Probe,
    #[serde(skip)]
    ticks: Ticks,
}

/// Processor time since the machine started, in the kernel's ticks.
#[derive(Clone, Copy, Debug, Default)]
struct Ticks {
    steal: u64,
    all: u64,
}

/// What is recorded of the machine with a run.
#[derive(Clone, Debug, Serialize)]
pub struct Conditions {
    before: State,
    after: State,
    /// Share of processor time that the hypervisor gave to others meanwhile.
    steal: Option<f64>,
    /// What makes the run's times untrustworthy, one sentence each.
    concerns: Vec<String>,
}

/// What is read back of it.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Concerns {
    /// What makes the run's times untrustworthy, one sentence each.
    #[serde(default)]
    pub concerns: Vec<String>,
}

impl State {
    /// The machine now. Takes some ten milliseconds, for the probe.
    pub fn now() -> Self {
        let read = |path: &str| fs::read_to_string(path).ok();
        let load = read("/proc/loadavg").unwrap_or_default();
        Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            cores_of_machine: read(&format!("{CPUS}/online")).and_then(|list| counted(&list)).unwrap_or(1),
            governor: governor(Path::new(CPUS)),
            boost: boost(Path::new(CPUS)),
            huge_pages: read("/sys/kernel/mm/transparent_hugepage/enabled").as_deref().and_then(chosen),
            running: load.split([' ', '/']).nth(3).and_then(|n| n.parse::<u32>().ok()).map(|n| n.saturating_sub(1)),
            load: load.split(' ').next().and_then(|n| n.parse().ok()),
            probe: Probe::measure(),
            ticks: ticks(&read("/proc/stat").unwrap_or_default()),
        }
    }

    /// The state around a run that began in this one and needed `cores` cores. `by_wall` says that its clock shows elapsed
    /// time, `was_stopped` that poise did not run all the time.
    pub fn until_now(self, cores: u32, by_wall: bool, was_stopped: bool) -> Conditions {
        let after = Self::now();
        let all = after.ticks.all.saturating_sub(self.ticks.all);
        let steal = (all > 0).then(|| after.ticks.steal.saturating_sub(self.ticks.steal) as f64 / all as f64);
        let mut concerns = concerns(&self, &after, steal, cores, by_wall);
        concerns.extend(was_stopped.then(|| STOPPED.to_owned()));
        Conditions { before: self, after, steal, concerns }
    }
}

/// What is said where poise was stopped, and the run with it or not.
const STOPPED: &str =
    "poise was stopped for a while as it ran, as by Ctrl-Z or in a suspended job, which elapsed time may include";
/// More noise than this share of fixed work's time is worth a word.
const NOISY: f64 = 0.1;
/// More difference than this between the probes before and after is worth a word.
const DRIFTED: f64 = 0.1;
/// More stolen processor time than this is worth a word.
const STOLEN: f64 = 0.01;

fn concerns(before: &State, after: &State, steal: Option<f64>, cores: u32, by_wall: bool) -> Vec<String> {
    let mut concerns = Vec::new();
    if let Some(governor) = before.governor.as_deref().filter(|governor| *governor != "performance") {
        concerns
            .push(format!("the frequency governor is \"{governor}\", which changes the clock's rate with the load"));
    }
    if before.boost == Some(true) {
        concerns.push("boost is on, so that the clock's rate depends on temperature and on the other cores".to_owned());
    }
    if before.huge_pages.as_deref() == Some("never") {
        concerns.push("huge pages are off, so that the cost of memory depends on where pages happen to lie".to_owned());
    }
    if by_wall && cores as usize > before.cores {
        concerns.push(format!(
            "{cores} ranks and threads share {}, so that elapsed time measures the neighbours; profiles with `clock = \"cpu\"` do not",
            words::counted(before.cores, "core", "cores")
        ));
    }
    if before.running.is_some_and(|running| running > 0) {
        concerns.push("other programs were running when it began".to_owned());
    }
    if steal.is_some_and(|steal| steal > STOLEN) {
        concerns.push("other virtual machines took processor time".to_owned());
    }
    let noise = before.probe.noise().max(after.probe.noise());
    if noise > NOISY {
        concerns.push("fixed work took very different times right before or after it".to_owned());
    }
    if (after.probe.fastest() / before.probe.fastest() - 1.0).abs() > DRIFTED {
        concerns.push("fixed work was faster or slower after it than before".to_owned());
    }
    concerns
}

/// How many cores `0-3,8` are.
fn counted(list: &str) -> Option<usize> {
    let ends = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(last.parse::<usize>().ok()?.checked_sub(first.parse().ok()?)? + 1)
    };
    list.trim().split(',').map(ends).sum()
}

/// The word in brackets.
fn chosen(text: &str) -> Option<String> {
    text.split(['[', ']']).nth(1).map(str::to_owned)
}

/// The governors of all cores, each named once.
fn governor(cpus: &Path) -> Option<String> {
    let mut governors: Vec<String> =
        quiet::governor_files(cpus).iter().filter_map(|file| fs::read_to_string(file).ok()).collect();
    governors.iter_mut().for_each(|governor| *governor = governor.trim().to_owned());
    governors.sort();
    governors.dedup();
    (!governors.is_empty()).then(|| governors.join(", "))
}

/// Whether boost is on, where the kernel says so in one of its two ways.
fn boost(cpus: &Path) -> Option<bool> {
    let read = |name: &str| fs::read_to_string(cpus.join(name)).ok();
    let on = read("cpufreq/boost").map(|text| text.trim() == "1");
    on.or_else(|| read("intel_pstate/no_turbo").map(|text| text.trim() == "0"))
}

/// From the first line of `/proc/stat`: `cpu user nice system idle iowait irq softirq steal …`.
fn ticks(stat: &str) -> Ticks {
    let first = stat.lines().next().and_then(|line| line.strip_prefix("cpu ")).unwrap_or_default();
    let numbers: Vec<u64> = first.split_whitespace().map_while(|word| word.parse().ok()).take(8).collect();
    Ticks { steal: numbers.get(7).copied().unwrap_or(0), all: numbers.iter().sum() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        State {
            cores: 4,
            cores_of_machine: 4,
            governor: Some("performance".into()),
            boost: Some(false),
            huge_pages: Some("madvise".into()),
            running: Some(0),
            load: Some(0.1),
            probe: Probe::of(vec![100.0, 101.0, 100.0]),
            ticks: Ticks::default(),
        }
    }

    #[test]
    fn the_kernels_lists_are_read() {
        assert_eq!(counted("0-3,8\n"), Some(5));
        assert_eq!(counted("x"), None);
        assert_eq!(chosen("always [madvise] never"), Some("madvise".into()));
        let read = ticks("cpu  10 0 10 70 0 0 0 10 5 5\ncpu0 1");
        assert_eq!((read.steal, read.all), (10, 100));
    }

    #[test]
    fn a_quiet_machine_gives_no_concern_and_each_disturbance_one() {
        let quiet = |before: &State, after: &State, steal, cores| concerns(before, after, steal, cores, true).len();
        assert_eq!(quiet(&state(), &state(), Some(0.0), 4), 0);
        assert_eq!(quiet(&state(), &state(), Some(0.02), 4), 1, "steal");
        assert_eq!(quiet(&state(), &state(), None, 5), 1, "shared cores");
        assert_eq!(concerns(&state(), &state(), None, 5, false).len(), 0, "which the other clock does not mind");
        let odd = [
            State { governor: Some("powersave".into()), ..state() },
            State { boost: Some(true), ..state() },
            State { huge_pages: Some("never".into()), ..state() },
            State { running: Some(2), ..state() },
            State { probe: Probe::of(vec![100.0, 100.0, 130.0]), ..state() },
            State { probe: Probe::of(vec![120.0, 120.0, 120.0]), ..state() },
        ];
        for before in &odd {
            assert_eq!(quiet(before, &state(), None, 4), 1, "{before:?}");
        }
    }

    #[test]
    fn this_machine_tells_what_it_has() {
        let state = State::now();
        assert!(state.cores >= 1 && state.cores_of_machine >= state.cores, "{state:?}");
        assert!(state.ticks.all > 0 && state.probe.fastest() > 0.0, "{state:?}");
    }
}
