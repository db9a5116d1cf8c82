//! The three detectors of Falquez, Long, Ho, Suarez and Pleiter, "Processor simulation as a tool for performance engineering",
//! section 4, by means that exist without a simulator: loops that wait for their own results (4.1), variants of a program
//! that move unlike amounts of memory (4.2), loads that fetch from far away behind a condition that is hard to predict (4.3).
//!
//! What they look at is a run in QEMU's user mode with models of caches and of a branch predictor (`listing`); loops also at what
//! llvm-mca ([`mca`]) and noise injection ([`noise`]) say of them. Each finding names its evidence and its doubt.

mod chains;
mod listing;
mod loads;
mod loops;
pub mod mca;
mod memory;
pub mod noise;
mod output;
pub(crate) mod registers;
mod traffic;

use poise_profile::Profile;

use crate::formats::Names;
use crate::machine::OUTSIDE;
use crate::machine::sources::Sources;
pub use listing::Outcomes;
use listing::{Line, listings};
pub use loads::{Branch, Conditioned};
pub use loops::Loop;
pub use traffic::Traffic;

/// Where something is.
///
/// ```
/// use modeler::detect::Place;
/// let place = Place { function: "solve".into(), line: "solve.c:41".into(), address: 0x1000 };
/// assert!(place.to_string().contains("solve.c:41"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The function.
    pub function: String,
    /// `file.c:41`; empty where there is no debug information.
    pub line: String,
    /// The address of the instruction while the program ran.
    pub address: u64,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line.is_empty() {
            true => write!(f, "{} at {:#x}", self.function, self.address),
            false => write!(f, "{} ({})", self.function, self.line),
        }
    }
}

/// Something found.
///
/// ```
/// # use modeler::detect::{Loop, Place, Variant, detect, mca::Schedule};
/// # let place = Place { function: "sum".into(), line: "sum.c:7".into(), address: 0x1000 };
/// # let schedule = Schedule { cycles: 4.0, units: 1.0, front_end: 0.5, chain: Some(4.0), ..Schedule::default() };
/// # let sum = Loop { place, iterations: 1000, share: 0.9, schedule: Some(Ok(schedule)), ..Loop::default() };
/// # let found = detect(vec![Variant { name: "plain".into(), loops: vec![sum], ..Variant::default() }], &[]);
/// // A loop whose additions wait for each other.
/// let finding = &found.findings[0];
/// assert_eq!((finding.detector, finding.share), ("dependencies", 0.9));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Which detector found it: `dependencies`, `traffic` or `conditioned-loads`.
    pub detector: &'static str,
    /// What was found, in a sentence.
    pub what: String,
    /// The part of the run's instructions that it is, or that what it costs stands for; 0 between runs.
    pub share: f64,
    /// Which numbers say so.
    pub evidence: Vec<String>,
    /// What would make it wrong.
    pub doubt: Vec<String>,
}

/// One run, looked at.
///
/// ```
/// use modeler::detect::{Variant, detect};
/// let nothing = Variant { name: "plain".into(), instructions: 1000, ..Variant::default() };
/// assert!(detect(vec![nothing], &[]).findings.is_empty());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// Its instruction set, as QEMU names it.
    pub instruction_set: String,
    /// The modelled caches, such as `32768x8+1048576x16`.
    pub cache: String,
    /// The modelled predictor.
    pub predictor: String,
    /// Executed instructions, without those outside `main`.
    pub instructions: u64,
    /// The innermost loops that matter, the one of the most instructions first.
    pub loops: Vec<Loop>,
    /// Conditional branches, the one of the most wrong predictions first.
    pub branches: Vec<Branch>,
    /// Loads behind conditions, the dearest first.
    pub loads: Vec<Conditioned>,
    /// Memory by function, the whole program first.
    pub traffic: Vec<Traffic>,
}

/// What the detectors say of one or more runs.
///
/// ```
/// # use modeler::detect::{Loop, Place, Variant, detect, mca::Schedule};
/// # let place = Place { function: "sum".into(), line: "sum.c:7".into(), address: 0x1000 };
/// # let schedule = Schedule { cycles: 4.0, units: 1.0, front_end: 0.5, chain: Some(4.0), ..Schedule::default() };
/// # let sum = Loop { place, iterations: 1000, share: 0.9, schedule: Some(Ok(schedule)), ..Loop::default() };
/// # let found = detect(vec![Variant { name: "plain".into(), loops: vec![sum], ..Variant::default() }], &[]);
/// // A loop whose additions wait for each other.
/// assert_eq!((found.variants.len(), found.findings.len(), found.notes.len()), (1, 1, 0));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Detection {
    /// The runs.
    pub variants: Vec<Variant>,
    /// What was found in each run, that of the largest share first, then between them.
    pub findings: Vec<Finding>,
    /// What was looked at and is no finding, and why.
    pub notes: Vec<String>,
}

/// Looks at a run. `share` is the least part of its instructions that makes a loop matter, and of what its wrong predictions
/// and fetched lines cost that makes a branch or load matter.
///
/// ```
/// // It was not run in QEMU with models of caches.
/// assert!(modeler::detect::variant("plain", &poise_profile::Profile::default(), 0.05).is_err());
/// ```
///
/// # Errors
/// In a sentence: the run was not made for this.
pub fn variant(name: &str, profile: &Profile, share: f64) -> Result<Variant, String> {
    if profile.phases.modelled.is_empty() {
        return Err(format!("{name} has no models of caches and branches; make it with poise detect --keep."));
    }
    let fact = |key: &str| profile.metadata.get(key).cloned().unwrap_or_default();
    let names = Names::of([profile]);
    let mut sources = Sources::of(profile);
    let mut place = |region: u32, line: &Line| Place {
        function: names.show(&profile.regions[region as usize]),
        line: sources.line(line.step.address).unwrap_or_default(),
        address: line.step.address,
    };
    let mut listings = listings(profile);
    // What is executed before and after the program is not what anybody wants to know of it.
    listings.retain(|listing| profile.regions[listing.region as usize].name != OUTSIDE);
    let instructions = listings.iter().flat_map(|l| &l.lines).map(|line| line.executions).sum();
    let (branches, loads) = loads::find(&listings, instructions, share, &mut place);
    Ok(Variant {
        name: name.to_owned(),
        instruction_set: fact("instruction_set"),
        cache: fact("model.cache"),
        predictor: fact("model.branches"),
        instructions,
        loops: loops::find(&listings, instructions, share, &mut place),
        branches,
        loads,
        traffic: traffic::of(profile, &listings, &names),
    })
}

/// What is found in the runs, and between them.
///
/// ```
/// use modeler::detect::{Loop, Place, Variant, detect, mca::Schedule};
/// let place = Place { function: "sum".into(), line: "sum.c:7".into(), address: 0x1000 };
/// // Four cycles an iteration, of which a unit takes one: the additions wait for each other.
/// let schedule = Schedule { cycles: 4.0, units: 1.0, front_end: 0.5, chain: Some(4.0), ..Schedule::default() };
/// let sum = Loop { place, iterations: 1000, share: 0.9, schedule: Some(Ok(schedule)), ..Loop::default() };
/// let found = detect(vec![Variant { name: "plain".into(), loops: vec![sum], ..Variant::default() }], &[]);
/// assert_eq!(found.findings[0].what, "The loop in sum (sum.c:7) waits for its own results.");
/// ```
#[must_use]
pub fn detect(mut variants: Vec<Variant>, noise: &[noise::Absorbed]) -> Detection {
    let mut detection = Detection::default();
    for looked_at in variants.iter_mut().flat_map(|variant| &mut variant.loops) {
        looked_at.measured = noise::of(noise, &looked_at.place.function, &looked_at.lines);
    }
    for variant in &variants {
        // Of several runs each finding says whose it is.
        let prefix = if variants.len() > 1 { format!("{}: ", variant.name) } else { String::new() };
        let mut findings = Vec::new();
        for looked_at in &variant.loops {
            match looked_at.finding(&prefix) {
                Ok(finding) => findings.push(finding),
                Err(note) => detection.notes.push(format!("{prefix}{note}")),
            }
        }
        findings.extend(variant.loads.iter().map(|load| load.finding(variant, &prefix)));
        let mut findings = merged(findings);
        findings.sort_by(|a, b| b.share.total_cmp(&a.share));
        detection.findings.extend(findings);
    }
    let (findings, notes) = traffic::compare(&variants);
    detection.findings.extend(findings);
    detection.notes.extend(notes);
    detection.variants = variants;
    detection
}

/// What is said in the same words is one finding, with the evidence of the first: machine code has several loops or loads of one line
/// where a compiler copied it.
fn merged(findings: Vec<Finding>) -> Vec<Finding> {
    let mut merged: Vec<(Finding, Vec<f64>)> = Vec::new();
    for finding in findings {
        match merged.iter_mut().find(|(known, _)| known.what == finding.what) {
            Some((_, others)) => others.push(finding.share),
            None => merged.push((finding, Vec::new())),
        }
    }
    let whole = |(mut finding, others): (Finding, Vec<f64>)| {
        let sum: f64 = others.iter().sum();
        if !others.is_empty() {
            finding.share += sum;
            let (more, are) = (others.len(), if others.len() == 1 { "is" } else { "are" });
            finding.evidence.push(format!(
                "{more} more of the machine code {are} like it, {:.1} % of the instructions; the numbers are of the largest.",
                100.0 * sum
            ));
        }
        finding
    };
    merged.into_iter().map(whole).collect()
}

/// `numerator` of `denominator` in percent, for people.
fn percent(numerator: u64, denominator: u64) -> String {
    let percent = 100.0 * numerator as f64 / denominator.max(1) as f64;
    if percent >= 10.0 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_in_the_same_words_is_one_finding() {
        let finding = |what: &str, share| Finding {
            detector: "dependencies",
            what: what.into(),
            share,
            evidence: vec![format!("{share}")],
            doubt: Vec::new(),
        };
        let found = merged(vec![finding("a", 0.3), finding("b", 0.25), finding("a", 0.125), finding("a", 0.0625)]);
        assert_eq!(found.iter().map(|f| (f.what.as_str(), f.share)).collect::<Vec<_>>(), [("a", 0.4875), ("b", 0.25)]);
        assert_eq!(
            found[0].evidence,
            [
                "0.3",
                "2 more of the machine code are like it, 18.8 % of the instructions; the numbers are of the largest."
            ]
        );
        assert_eq!(found[1].evidence, ["0.25"]);
    }
}
