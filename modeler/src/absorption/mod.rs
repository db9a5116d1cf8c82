//! Absorption: how many instructions a loop takes without slowing down, per kind of instruction, and which resource binds it
//! (Delval et al., "Noise Injection for Performance Bottleneck Analysis").
//!
//! The chain is bursts (a profile's) → samples relative to no noise (`samples`) → a bent curve with its interval
//! (`curve`, `hinge`) → a class (`bottleneck`) → text, JSON, CSV (`output`) or a plot
//! (`plot`). Nothing here measures; a profile is all that it knows.

mod bottleneck;
pub mod code;
mod curve;
mod hinge;
mod output;
mod plot;
mod samples;
pub mod scaling;

use std::collections::BTreeSet;

use poise_profile::{Loop, Profile};

use crate::formats::{Names, demangled};
pub use code::recurrence::Recurrence;
use curve::Draws;
pub use curve::{LEAST_BURSTS, LEAST_POINTS};
use samples::{Class, Group};

/// How the analysis runs.
///
/// ```
/// let options = modeler::absorption::Options { seed: 7, ..Default::default() };
/// assert!(options.level > 0.5 && options.level < 1.0 && options.replicates > 0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Nominal probability of the intervals.
    pub level: f64,
    /// Seed of the bootstrap.
    pub seed: u64,
    /// Replicates of the bootstrap.
    pub replicates: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { level: 0.9, seed: 0, replicates: 300 }
    }
}

/// How far an absorption is known.
///
/// ```
#[doc = include_str!("example.txt")]
/// assert_eq!(report.loops[0].modes[0].state, modeler::absorption::State::Measured);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The curve bends, and the interval says where.
    Measured,
    /// Nothing slowed down up to the value.
    AtLeast,
    /// Too few bursts or too much noise to tell.
    Undecided,
}

impl State {
    /// The contract's name.
    ///
    /// ```
    /// use modeler::absorption::State;
    /// assert_eq!([State::Measured, State::AtLeast].map(State::name), ["measured", "at-least"]);
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::AtLeast => "at-least",
            Self::Undecided => "undecided",
        }
    }
}

/// The resource that binds a loop.
///
/// ```
/// use modeler::absorption::Bottleneck;
/// let names: std::collections::BTreeSet<&str> = Bottleneck::ALL.iter().map(|(_, name)| *name).collect();
/// assert_eq!(names.len(), 7); // all different
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bottleneck {
    /// Arithmetic units.
    Compute,
    /// Units for loads and stores.
    LoadStore,
    /// Fetching, decoding and renaming instructions.
    FrontEnd,
    /// The memory's bandwidth.
    Bandwidth,
    /// The latency of loads that depend on each other or cannot overlap.
    Latency,
    /// The latency of other operations that depend on each other.
    Dependency,
    /// The measurements allow several, or none.
    Undecided,
}

impl Bottleneck {
    /// The classes with their names in the contract.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::Compute, "compute"),
        (Self::LoadStore, "load-store"),
        (Self::FrontEnd, "front-end"),
        (Self::Bandwidth, "bandwidth"),
        (Self::Latency, "latency"),
        (Self::Dependency, "dependency"),
        (Self::Undecided, "undecided"),
    ];

    /// The contract's name.
    ///
    /// ```
    /// use modeler::absorption::Bottleneck;
    /// assert!(Bottleneck::ALL.iter().all(|(class, name)| class.name() == *name));
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(class, _)| *class == self).map_or("undecided", |(_, name)| name)
    }

    /// The class as the end of "it is bound by …".
    #[must_use]
    pub(crate) fn binds(self) -> &'static str {
        match self {
            Self::Compute => "arithmetic",
            Self::LoadStore => "loads and stores in the core",
            Self::FrontEnd => "the front end",
            Self::Bandwidth => "memory bandwidth",
            Self::Latency => "the latency of memory",
            Self::Dependency => "the latency of operations that depend on each other",
            Self::Undecided => "something that the measurements do not tell",
        }
    }

    /// Whether executed basic blocks can set the time of a loop of this class: where the core is what it waits for.
    #[must_use]
    pub(crate) fn is_in_the_core(self) -> bool {
        matches!(self, Self::Compute | Self::LoadStore | Self::FrontEnd | Self::Dependency)
    }
}

/// The time at one noise quantity.
///
/// ```
#[doc = include_str!("example.txt")]
/// let last = report.loops[0].modes[0].points.last().expect("nine quantities");
/// assert_eq!((last.k, last.bursts), (32, 30));
/// assert!((last.ratio - 1.72).abs() < 0.01); // 24 of 3 ns more than 100 ns
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The noise quantity.
    pub k: u32,
    /// Time relative to that without noise; NaN where it was not used at all.
    pub ratio: f64,
    /// Lower end of its interval.
    pub lower: f64,
    /// Upper end of its interval.
    pub upper: f64,
    /// Bursts measured.
    pub bursts: usize,
    /// Why it did not take part in the fit, if it did not.
    pub unused: Option<String>,
}

/// What machine code one variant of a loop has, per iteration, counted from the final binary.
///
/// ```
/// use modeler::absorption::Injected;
/// // A variant with eight additions, and one instruction more that clears a register for them.
/// let variant = Injected { payload: 8, overhead: 1, spills: 0 };
/// assert!(variant.overhead >= variant.spills);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Injected {
    /// Noise instructions.
    pub payload: u32,
    /// Further instructions that the loop without noise does not have, spills among them.
    pub overhead: u32,
    /// Loads and stores of the stack that the loop without noise does not have.
    pub spills: u32,
}

/// What the machine code of a loop without noise has, and what its variants add.
///
/// ```
#[doc = include_str!("example.txt")]
/// use modeler::absorption::{Code, analyse};
/// let code = Code { instructions: 16, accesses: 4, ..Code::default() };
/// let report = analyse(&profile, &|_| Some(code.clone()), &Default::default());
/// assert_eq!(report.loops[0].code, Some((16, 4)));
/// assert!((report.loops[0].modes[0].relative.expect("16 instructions") - 0.5).abs() < 0.05); // 8 of 16
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Code {
    /// Instructions in the loop's body.
    pub instructions: u32,
    /// Loads and stores in it, but for those of the function's frame.
    pub accesses: u32,
    /// Loads and stores of the function's frame.
    pub frame: u32,
    /// How its iterations wait for each other; `None` where that is not known.
    pub recurrence: Option<Recurrence>,
    /// Variants by mode name and quantity.
    pub variants: std::collections::BTreeMap<(String, u32), Injected>,
}

/// The machine code of loops by what a profile says of them.
pub type CodeOf<'a> = &'a dyn Fn(&Loop) -> Option<Code>;

/// What one mode says of a loop.
///
/// ```
#[doc = include_str!("example.txt")]
/// let mode = &report.loops[0].modes[0];
/// assert_eq!(mode.name, "fp_add64");
/// assert!((mode.raw - 8.0).abs() < 0.5); // instructions per iteration
/// assert!((mode.slope_ns.expect("it slows down") - 3.0).abs() < 0.1);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Mode {
    /// Its name, such as `fp_add64`.
    pub name: String,
    /// How far the absorption is known.
    pub state: State,
    /// Instructions per iteration that are absorbed; NaN where undecided.
    pub raw: f64,
    /// Lower end of its interval.
    pub lower: f64,
    /// Upper end; `None` where no slowdown bounds it.
    pub upper: Option<f64>,
    /// Absorption per instruction of the loop's body, where that is known (equation 2).
    pub relative: Option<f64>,
    /// The quantity at which the slowdown starts, and that from which on it is linear (figure 2).
    pub k1: f64,
    /// See `k1`.
    pub k2: Option<f64>,
    /// Nanoseconds per further instruction and iteration once saturated.
    pub slope_ns: Option<f64>,
    /// The idle share of the resource's time: lower end, value, upper end. It is `slope · knee / (level + slope · knee)` of the
    /// flat-then-linear curve through `points`.
    pub slack: [f64; 3],
    /// The code of the smallest variant that the loop does not absorb, or of the largest there is.
    pub injected: Option<Injected>,
    /// The curve.
    pub points: Vec<Point>,
    /// Why it is undecided.
    pub reason: String,
}

impl Mode {
    /// Absorption times saturated slope, in nanoseconds per iteration: what of the time the resource is idle.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let slack = report.loops[0].modes[0].slack_ns().expect("it slows down");
    /// assert!((slack - 24.0).abs() < 2.0); // eight additions of 3 ns
    /// ```
    #[must_use]
    pub fn slack_ns(&self) -> Option<f64> {
        self.slope_ns.map(|slope| slope * self.raw)
    }
}

/// What the executions of a loop at a call path say.
///
/// ```
#[doc = include_str!("example.txt")]
/// let found = &report.loops[0];
/// assert_eq!((found.callpath.join("/"), found.executions), ("main/solve".to_owned(), 1200));
/// assert!((found.nanoseconds - 100.0).abs() < 0.1);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LoopReport {
    /// Index of the call path's node in the profile.
    pub node: u32,
    /// Names from the root.
    pub callpath: Vec<String>,
    /// The loop.
    pub target: Loop,
    /// Executions, measured or not.
    pub executions: u64,
    /// Bursts that did not fit into memory, and rounds of executions too brief for the clock.
    pub left_out: u64,
    /// Which class of executions this is, from 0, and of how many.
    pub part: (usize, usize),
    /// The share of the bursts without noise that are of it.
    pub share: f64,
    /// Whether times are per iteration of the machine code, as they should be, or per execution.
    pub per_iteration: bool,
    /// Nanoseconds per iteration or execution without noise.
    pub nanoseconds: f64,
    /// About how long all these executions took without noise, in nanoseconds.
    pub total_ns: f64,
    /// The machine code of the loop without noise: instructions and memory accesses per iteration.
    pub code: Option<(u32, u32)>,
    /// The class.
    pub class: Bottleneck,
    /// Why this class.
    pub reason: String,
    /// The modes, in the order of their names.
    pub modes: Vec<Mode>,
}

impl LoopReport {
    /// The mode of this name.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(report.loops[0].mode("fp_add64").is_some() && report.loops[0].mode("nop").is_none());
    /// ```
    #[must_use]
    pub fn mode(&self, name: &str) -> Option<&Mode> {
        self.modes.iter().find(|mode| mode.name == name)
    }

    /// What times and quantities are for one of.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(report.loops[0].unit(), "iteration"); // their number was counted
    /// ```
    #[must_use]
    pub fn unit(&self) -> &'static str {
        if self.per_iteration { "iteration" } else { "execution" }
    }

    /// What binds the loop, and what is free, in a sentence.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(report.loops[0].sentence().starts_with("Undecided: ")); // one mode alone tells no bottleneck
    /// ```
    #[must_use]
    pub fn sentence(&self) -> String {
        match self.class {
            Bottleneck::Undecided => format!("Undecided: {}.", self.reason),
            class => format!("Bound by {}: {}{}.", class.binds(), self.reason, self.free()),
        }
    }

    /// `; about 60 floating-point instructions per iteration are free`, or nothing where none are.
    fn free(&self) -> String {
        let free = ["fp_add64", "fp_mul64", "int64_add"].into_iter().find_map(|name| self.mode(name));
        let Some(mode) = free.filter(|mode| mode.state != State::Undecided && mode.k1 >= 1.0) else {
            return String::new();
        };
        format!("; {}", free_words(&mode.name, self.class, mode.k1, mode.state, self.unit()))
    }

    /// `solve.c:41`, or the function where the place is not known.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(report.loops[0].place(), "solve.c:41");
    /// ```
    #[must_use]
    pub fn place(&self) -> String {
        place(&self.target)
    }
}

/// `about 60 floating-point instructions per iteration are free`; of a loop that arithmetic binds, which of them.
fn free_words(mode: &str, class: Bottleneck, quantity: f64, state: State, unit: &str) -> String {
    let what = match (mode, class) {
        ("fp_add64", Bottleneck::Compute) => "floating-point addition",
        ("fp_mul64", Bottleneck::Compute) => "floating-point multiplication",
        (mode, _) if mode.starts_with("int") => "integer instruction",
        _ => "floating-point instruction",
    };
    let about = if state == State::AtLeast { "at least" } else { "about" };
    let (plural, are) = if quantity.round() == 1.0 { ("", "is") } else { ("s", "are") };
    format!("{about} {quantity:.0} {what}{plural} per {unit} {are} free")
}

fn place(target: &Loop) -> String {
    match target.file.rsplit('/').next() {
        Some(file) if !file.is_empty() => format!("{file}:{}", target.line),
        _ => format!("{} loop {}", target.function, target.id),
    }
}

/// A loop about which nothing can be said.
///
/// ```
#[doc = include_str!("example.txt")]
/// let mut untouched = profile.clone();
/// untouched.noise.series.clear();
/// untouched.noise.loops[0].refusal = "it calls functions".into();
/// let report = modeler::absorption::analyse(&untouched, &|_| None, &Default::default());
/// assert_eq!(report.refused[0].reason, "it calls functions");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// Names from the root, where the reason is one of this call path; empty where it is the loop's.
    pub callpath: Vec<String>,
    /// The loop.
    pub target: Loop,
    /// Why nothing can be said of it.
    pub reason: String,
}

impl Refused {
    /// The reason in a line: `solve.c:41 in solve: not measured at main -> solve, because it has too few executions (20).`
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let refused = modeler::absorption::Refused {
    ///     callpath: vec!["main".into(), "solve".into()],
    ///     target: profile.noise.loops[0].clone(),
    ///     reason: "it has too few executions (20)".into(),
    /// };
    /// let expected = "solve.c:41 in solve: not measured at main -> solve, because it has too few executions (20).";
    /// assert_eq!(refused.line(), expected);
    /// ```
    #[must_use]
    pub fn line(&self) -> String {
        let function = demangled(&self.target.function);
        let path = match &self.callpath[..] {
            [] => String::new(),
            path => format!(" at {}", path.join(" -> ")),
        };
        format!("{} in {function}: not measured{path}, because {}.", place(&self.target), self.reason)
    }
}

/// Why a loop has no bursts whose executions the runtime left out.
const BRIEF: &str =
    "it runs for less than 200 ns each time, beside other loops or other work, and no clock tells its time from theirs";

/// The absorption of all loops of a run.
///
/// ```
/// use modeler::absorption::{Options, analyse};
/// let report = analyse(&poise_profile::Profile::default(), &|_| None, &Options::default());
/// assert!(report.loops.is_empty() && report.refused.is_empty()); // nothing was injected
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Nominal probability of the intervals.
    pub level: f64,
    /// The loops by call path; of several classes of executions, the one with most time first.
    pub loops: Vec<LoopReport>,
    /// Loops about which nothing can be said, with the reason.
    pub refused: Vec<Refused>,
    /// What of the machine made the times of this run untrustworthy, one sentence each, without full stops; none unless somebody knows.
    pub concerns: Vec<String>,
}

/// Analyses what noise injection measured in a run. `code` gives the machine code of loops, where it is known.
///
/// ```
/// use modeler::absorption::{Options, analyse};
/// let report = analyse(&poise_profile::Profile::default(), &|_| None, &Options { level: 0.8, ..Options::default() });
/// assert_eq!((report.level, report.loops.len()), (0.8, 0)); // of a run without noise
/// ```
#[must_use]
pub fn analyse(profile: &Profile, code: CodeOf, options: &Options) -> Report {
    let names = Names::of([profile]);
    let mut loops = Vec::new();
    let mut refused = Vec::new();
    let bursts = profile.noise.series.iter().flat_map(|series| &series.bursts);
    let modes = bursts.filter(|burst| burst.k > 0).map(|burst| burst.mode).collect::<BTreeSet<u32>>().len();
    for group in samples::groups(&profile.noise) {
        let Some(target) = profile.noise.loops.get(group.target as usize) else { continue };
        let path = profile.path(group.node).unwrap_or_default();
        let callpath: Vec<String> = path.into_iter().map(|region| names.show(region)).collect();
        // Without a burst that has no noise there is nothing to compare with.
        if group.classes.iter().all(|class| class.nanoseconds.is_nan()) {
            let reason = match (self::bursts(&group), group.left_out) {
                (0, 1..) => BRIEF.to_owned(),
                _ => format!("it has {}", too_few(&group, modes)),
            };
            refused.push(Refused { callpath, target: target.clone(), reason });
            continue;
        }
        let code = code(target);
        let analysis = Analysis { profile, group: &group, target, code: code.as_ref(), modes, options };
        loops.extend((0..group.classes.len()).map(|part| analysis.of_class(part, &callpath)));
    }
    let known = |target: &Loop| !target.refusal.is_empty();
    let everywhere = |t: &Loop| Refused { callpath: Vec::new(), target: t.clone(), reason: t.refusal.clone() };
    refused.extend(profile.noise.loops.iter().filter(|t| known(t)).map(everywhere));
    Report { level: options.level, loops, refused, concerns: Vec::new() }
}

/// Bursts of a group.
fn bursts(group: &Group) -> usize {
    group.classes.iter().map(|class| class.samples.len()).sum()
}

/// `too few executions (20; about 240 are needed)`: as many as fill the bursts that curves of so many modes need, at the rate at which
/// these filled theirs.
fn too_few(group: &Group, modes: usize) -> String {
    let executions = group.executions;
    match (bursts(group) as u64, (curve::NEEDED * modes) as u64) {
        (filled, needed) if filled > 0 && filled < needed => {
            let enough = executions.saturating_mul(needed).div_ceil(filled);
            format!("too few executions ({executions}; about {enough} are needed)")
        }
        _ => format!("too few executions ({executions})"),
    }
}

/// All that the analysis of one loop at one call path needs.
struct Analysis<'a> {
    profile: &'a Profile,
    group: &'a Group,
    target: &'a Loop,
    code: Option<&'a Code>,
    /// How many modes the run measured anywhere.
    modes: usize,
    options: &'a Options,
}

impl Analysis<'_> {
    fn of_class(&self, part: usize, callpath: &[String]) -> LoopReport {
        let class = &self.group.classes[part];
        let draws = Draws::new(class.rounds, self.options);
        let mut present: Vec<u32> = class.samples.iter().filter(|s| s.k > 0).map(|s| s.mode).collect();
        present.sort_unstable();
        present.dedup();
        let mut modes: Vec<Mode> = present.into_iter().map(|mode| self.mode(class, mode, &draws)).collect();
        modes.sort_by(|a, b| a.name.cmp(&b.name));
        let body = self.code.map(|code| (code.instructions, code.accesses));
        let per_iteration = self.group.per_iteration.then_some(class.nanoseconds);
        let verdict = bottleneck::verdict(&modes, self.code, per_iteration);
        let is_short = self.group.per_iteration
            && verdict.class == Bottleneck::Undecided
            && bursts(self.group) < curve::NEEDED * self.modes
            && modes.iter().all(|mode| curve::lacks_bursts(&mode.points));
        LoopReport {
            node: self.group.node,
            callpath: callpath.to_vec(),
            target: self.target.clone(),
            executions: self.group.executions,
            left_out: self.group.left_out,
            part: (part, self.group.classes.len()),
            share: class.share,
            per_iteration: self.group.per_iteration,
            nanoseconds: class.nanoseconds,
            total_ns: class.total,
            code: body,
            class: verdict.class,
            reason: if is_short { too_few(self.group, self.modes) } else { verdict.reason },
            modes,
        }
    }

    fn mode(&self, class: &Class, mode: u32, draws: &Draws) -> Mode {
        let name = self.profile.noise.modes[mode as usize].clone();
        let injected = |k: u32| self.code.and_then(|code| code.variants.get(&(name.clone(), k)).copied());
        let refused = |k: u32| injected(k).and_then(Injected::refusal);
        let curve = curve::curve(class, mode, draws, &refused, self.options);
        let mut noisy = curve.points.iter().filter(|p| p.k > 0);
        let first_slowed = noisy.find(|p| f64::from(p.k) >= curve.raw).or(curve.points.last());
        let body = self.code.map(|code| f64::from(code.instructions.max(1)));
        Mode {
            state: curve.state,
            raw: curve.raw,
            lower: curve.lower,
            upper: curve.upper,
            relative: body.map(|body| curve.raw / body),
            k1: curve.k1,
            k2: curve.k2,
            slope_ns: curve.slope.map(|slope| slope * class.nanoseconds),
            slack: curve.slack,
            injected: first_slowed.and_then(|p| injected(p.k)),
            points: curve.points,
            reason: curve.reason,
            name,
        }
    }
}

impl Injected {
    /// Why the variant says nothing about its payload, if so: what comes with it is not small. Up to eight instructions
    /// make the addresses that noise loads from or clear registers.
    fn refusal(self) -> Option<String> {
        let share = self.payload / 8;
        let what = match self {
            Self { spills, .. } if spills > share.max(4) => format!("{spills} spills"),
            Self { overhead, .. } if overhead > share.max(8) => format!("{overhead} further instructions"),
            _ => return None,
        };
        Some(format!("{what} beside {} of noise", self.payload))
    }
}
