//! Noise the slow way: a build with one mode and quantity in the loops themselves, a run of it, the next build. Times are
//! those of the functions that hold the loops, from their profiles.

use std::collections::BTreeSet;
use std::process::Command;

use modeler::absorption::{LEAST_BURSTS, LEAST_POINTS};
use poise_profile::{Burst, Loop, Metric, Noise, Profile, Series};

use super::{AbsorbArgs, HOT, run};
use crate::cli::GlobalArgs;
use crate::error::{Error, Result};
use crate::output;
use crate::study::Clock;

/// Modes and quantities unless others are asked for; the pass's own.
const MODES: [&str; 7] = ["fp_add64", "fp_mul64", "fma64", "int64_add", "l1_ld64", "memory_ld64", "nop"];
const QUANTITIES: [u32; 12] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];

/// What builds of all modes and quantities took, as if it were one run's noise: a round is one run of each build of a mode.
pub fn measure(arguments: &AbsorbArgs, global: &GlobalArgs) -> Result<Profile> {
    let modes = match &arguments.mode[..] {
        [] => MODES.map(str::to_owned).to_vec(),
        given => given.to_vec(),
    };
    let quantities = if arguments.k.is_empty() { QUANTITIES.to_vec() } else { arguments.k.clone() };
    // Each build without which nothing can be decided takes long, so that is said before the first.
    if (arguments.repetitions as usize) < LEAST_BURSTS {
        return Err(Error::Usage(format!("--repetitions {}: expected {LEAST_BURSTS} or more.", arguments.repetitions)));
    }
    let noisy = quantities.iter().filter(|&&k| k > 0).collect::<BTreeSet<_>>().len();
    if noisy + 1 < LEAST_POINTS {
        return Err(Error::Usage(format!("--k: expected {} quantities or more beside 0.", LEAST_POINTS - 1)));
    }
    let mut base = None;
    let mut bursts: Vec<Vec<Burst>> = Vec::new();
    let plain = build_and_run(arguments, "off")?;
    for (index, mode) in modes.iter().enumerate() {
        let mut builds = vec![(0, plain.clone())];
        for &k in quantities.iter().filter(|&&k| k > 0) {
            if !global.quiet {
                output::say(format!("building and running with {mode} {k}."));
            }
            builds.push((k, build_and_run(arguments, &format!("fixed={mode}:{k}"))?));
        }
        for (k, runs) in &builds {
            for (repetition, profile) in runs.iter().enumerate() {
                let base = base.get_or_insert_with(|| Base::of(profile));
                bursts.resize_with(base.nodes.len(), Vec::new);
                let round = index * runs.len() + repetition;
                base.add(profile, &mut bursts, round as u32, index as u32, *k);
            }
        }
    }
    let base = base.ok_or_else(|| Error::Usage("--mode: expected at least one mode.".into()))?;
    Ok(base.joined(modes, bursts))
}

/// Builds with this noise, and runs as often as asked for. A whole run's elapsed time would hold what other programs took from
/// it, which a burst's hardly does: so it is processor time.
fn build_and_run(arguments: &AbsorbArgs, noise: &str) -> Result<Vec<Profile>> {
    let build = arguments.build.as_deref().unwrap_or_default();
    let wish = match &arguments.loops[..] {
        [] => noise.to_owned(),
        loops => format!("{noise};loops={}", loops.join(",")),
    };
    let wish = if noise == "off" { "off" } else { &wish };
    let built = Command::new("sh").args(["-c", build]).env("POISE_NOISE", wish).output();
    let built = built.map_err(|e| Error::Usage(format!("Cannot start sh: {e}.")))?;
    if !built.status.success() {
        let said = String::from_utf8_lossy(&built.stderr).into_owned();
        return Err(Error::Usage(format!("{said}\"{build}\" failed with {}.", built.status)));
    }
    (0..arguments.repetitions).map(|_| run(arguments, Clock::Cpu, &[], None).map(|ran| ran.0)).collect()
}

/// The first run, which says what the call paths are.
struct Base {
    profile: Profile,
    /// Call paths whose own time is worth looking at.
    nodes: Vec<u32>,
}

impl Base {
    fn of(profile: &Profile) -> Self {
        let times = profile.values.iter().filter(|((_, metric), _)| *metric == Metric::Time);
        let all: u128 = times.clone().map(|(_, value)| value.sum).sum();
        let hot = times.filter(|(_, value)| value.sum as f64 >= HOT * all as f64);
        Self { profile: profile.clone(), nodes: hot.map(|(&(node, _), _)| node).collect() }
    }

    /// Adds a run's times to the bursts of the call paths.
    fn add(&self, profile: &Profile, bursts: &mut [Vec<Burst>], round: u32, mode: u32, k: u32) {
        for (&node, bursts) in self.nodes.iter().zip(bursts) {
            let path = self.profile.path(node);
            let same = (0..profile.nodes.len() as u32).find(|&other| profile.path(other) == path);
            let value = |metric| same.and_then(|node| profile.values.get(&(node, metric))).map_or(0, |v| v.sum);
            let (entries, nanoseconds) = (value(Metric::Visits) as u64, value(Metric::Time) as u64);
            if entries > 0 {
                bursts.push(Burst { round, mode, k, entries, iterations: None, nanoseconds });
            }
        }
    }

    fn joined(self, modes: Vec<String>, bursts: Vec<Vec<Burst>>) -> Profile {
        let mut noise = Noise { modes, ..Noise::default() };
        for (&node, mut bursts) in self.nodes.iter().zip(bursts) {
            let region = &self.profile.regions[self.profile.nodes[node as usize].region as usize];
            let (function, file) = (region.name.clone(), region.file.clone());
            noise.loops.push(Loop { function, file, line: region.line, id: 0, width: 0, refusal: String::new() });
            bursts.sort_by_key(|burst| burst.round);
            let executions = bursts.iter().map(|burst| burst.entries).sum();
            let target = noise.loops.len() as u32 - 1;
            noise.series.push(Series { node, target, rank: 0, thread: 0, executions, left_out: 0, bursts });
        }
        Profile { noise, ..self.profile }
    }
}
