//! Which resource binds a loop: the rules of Delval et al., "Noise Injection for Performance Bottleneck Analysis", sections
//! 4.2 and 5.2 (tables 1 and 3), as `docs/absorption.md` states them.
//!
//! The rules are asked for every combination of the ends of the modes' intervals. Only what all of them answer is a class.

use super::{Bottleneck, Code, Mode, State};

/// A resource whose idle share is below this is saturated.
const SATURATED: f64 = 0.25;
/// A ratio from which on noise counts as what sets the time.
const SLOWED: f64 = 1.25;
/// Less noise than one instruction for so many of the loop's says nothing where it slows nothing down.
const LITTLE: u32 = 4;
/// And less than this where nobody knows how many the loop has.
const LEAST: u32 = 16;
/// The memory is saturated below this: with noise that adds to the time from the first load on the share is near 0, with
/// noise that only takes over it is near 1.
const MEMORY_SATURATED: f64 = 0.5;
/// A nop that costs more than this, in nanoseconds, does not wait for the front end: every core that this program knows
/// takes four and more a cycle, at 1 GHz and more.
const SLOWEST_NOP: f64 = 0.25;
/// Nor does an addition, a multiplication or an access that costs more than this wait for its unit: such cores do one and
/// more a cycle, at 1.7 GHz and more. Division has no such bound, nor have loads from memory.
const SLOWEST: f64 = 0.6;
/// A front end that binds a loop takes as long for each of its instructions as for a nop, and twice as long for those that access memory,
/// which some processors take apart; longer by a share that measurements may be off, but not by more than this.
const MOST_NOPS: f64 = 1.25;
/// What a unit binds keeps it busy. A further instruction takes the unit for its slope, so that all of the loop's together fill at least this share of
/// its time; not all of them use the unit, hence a quarter and not the whole.
const LEAST_BUSY: f64 = 0.25;
/// A window that is full, and no unit, is what further instructions cost most with.
const FULL_WINDOW: &str = "the window of instructions in flight is full, which no class says";
/// Modes that occupy arithmetic units. Some processors have units of their own for each.
const ARITHMETIC: [&str; 5] = ["fp_add64", "fp_mul64", "fma64", "fp_div64", "int64_add"];
/// Modes that occupy the units for loads and stores, with data that the first-level cache holds.
const ACCESS: [&str; 2] = ["l1_ld64", "store64"];
/// So many modes at most are asked, since their ends are combined.
const VARIED: usize = 12;

/// What one mode may say.
#[derive(Clone, Copy)]
struct Evidence<'a> {
    mode: &'a str,
    /// Whether the loop itself saturates the mode's resource.
    saturated: bool,
    absorbed: f64,
    slack: f64,
    /// Nanoseconds per further instruction.
    slope: Option<f64>,
}

/// A class with the reason for it.
pub(crate) struct Verdict {
    pub class: Bottleneck,
    pub reason: String,
}

/// The class that `modes` tell, of a loop that has this machine code and takes so many nanoseconds an iteration; without them, where only the
/// times of whole executions are known, times are not compared with what instructions take.
pub(crate) fn verdict(modes: &[Mode], code: Option<&Code>, nanoseconds: Option<f64>) -> Verdict {
    let instructions = code.map(|code| code.instructions);
    let known: Vec<&Mode> = modes.iter().take(VARIED).collect();
    let mut answers: Vec<(Bottleneck, &'static str)> = Vec::new();
    for choice in 0..1u32 << known.len() {
        let evidence: Vec<Evidence> =
            known.iter().enumerate().map(|(i, mode)| end(mode, instructions, choice >> i & 1 == 1)).collect();
        let answer = rules(&evidence, code, nanoseconds);
        if !answers.contains(&answer) {
            answers.push(answer);
        }
    }
    answers.sort_by_key(|a| (a.0, a.1));
    let classes: Vec<Bottleneck> = answers.iter().map(|a| a.0).collect();
    match answers.as_slice() {
        [] => Verdict { class: Bottleneck::Undecided, reason: "no mode was measured".into() },
        [(class, reason), ..] if classes.iter().all(|c| c == class) => {
            Verdict { class: *class, reason: (*reason).to_owned() }
        }
        _ => {
            let mut names: Vec<&str> =
                classes.iter().map(|c| c.name()).filter(|&name| name != Bottleneck::Undecided.name()).collect();
            names.dedup();
            let mut reason = format!("the intervals allow {}", names.join(" and "));
            if let Some((_, doubt)) = answers.iter().find(|a| a.0 == Bottleneck::Undecided) {
                reason += &format!(", or none: {doubt}");
            }
            Verdict { class: Bottleneck::Undecided, reason }
        }
    }
}

/// One end of what a mode's interval allows.
fn end(mode: &Mode, instructions: Option<u32>, upper: bool) -> Evidence<'_> {
    let unbounded = mode.state != State::Measured && (upper || mode.state == State::AtLeast);
    let (absorbed, slack) = match (unbounded, upper) {
        (true, _) => (f64::INFINITY, 1.0),
        (false, true) => (mode.upper.unwrap_or(f64::INFINITY), mode.slack[2]),
        (false, false) => (mode.lower, mode.slack[0]),
    };
    let shown = || mode.points.iter().filter(|p| p.ratio.is_finite());
    let most = shown().map(|p| if upper { p.ratio } else { p.upper }).fold(0.0, f64::max);
    let largest = shown().map(|p| p.k).max().unwrap_or(0);
    // A loop that a resource binds has no more instructions for it than it has at all, and k further ones take k of their
    // times longer. So a quarter more time comes from a quarter as much noise, or the resource is not what binds it.
    let binds = most >= SLOWED;
    let little = !binds && instructions.map_or(largest < LEAST, |n| largest < n / LITTLE);
    let saturated = binds && (absorbed < 1.0 || slack < SATURATED) || (little && !upper);
    let absorbed = if binds { absorbed } else { absorbed.max(f64::from(largest)) };
    let slack = if binds || (little && !upper) { slack } else { 1.0 };
    Evidence { mode: &mode.name, saturated, absorbed, slack, slope: mode.slope_ns }
}

impl Evidence<'_> {
    /// Whether what is saturated cannot be the mode's unit, which is faster than that.
    fn fills_the_window(&self) -> bool {
        let slowest = match self.mode {
            "nop" => SLOWEST_NOP,
            "fp_div64" | "memory_ld64" => f64::INFINITY,
            _ => SLOWEST,
        };
        self.saturated && self.slope.is_some_and(|slope| slope > slowest)
    }
}

/// The decision rules, for a loop that has this machine code and takes so many nanoseconds an iteration, where that is known.
fn rules(evidence: &[Evidence], code: Option<&Code>, nanoseconds: Option<f64>) -> (Bottleneck, &'static str) {
    let instructions = code.map(|code| f64::from(code.instructions));
    let accesses = code.map(|code| f64::from(code.accesses + code.frame));
    let nops = code.map(|code| f64::from(code.instructions + code.accesses));
    let of =
        |names: &[&str]| -> Vec<Evidence> { evidence.iter().filter(|e| names.contains(&e.mode)).copied().collect() };
    let (arithmetic, access, memory) = (of(&ARITHMETIC), of(&ACCESS), of(&["memory_ld64"]).first().copied());
    let busy = |of: &[Evidence]| of.iter().any(|e| e.saturated);
    if nanoseconds.is_some() && evidence.iter().any(Evidence::fills_the_window) {
        return (Bottleneck::Undecided, FULL_WINDOW);
    }
    if let Some(nop) = of(&["nop"]).first().filter(|nop| nop.saturated) {
        return match (nop.slope, nops, nanoseconds) {
            (Some(slope), Some(nops), Some(nanoseconds)) if nanoseconds > MOST_NOPS * nops * slope => {
                (Bottleneck::Undecided, "nops are not absorbed, but the front end is idle for most of the time")
            }
            _ => (Bottleneck::FrontEnd, "not even nops are absorbed"),
        };
    }
    if arithmetic.is_empty() || access.is_empty() {
        return (Bottleneck::Undecided, "arithmetic and first-level loads were not both injected");
    }
    let fills = |e: &Evidence, own: Option<f64>| match (own, e.slope, nanoseconds) {
        (Some(own), Some(slope), Some(nanoseconds)) => own * slope >= LEAST_BUSY * nanoseconds,
        _ => true,
    };
    let lacks_room = |e: &Evidence| instructions.is_none_or(|own| e.absorbed < (own / f64::from(LITTLE)).max(1.0));
    let filled = |of: &[Evidence], own: Option<f64>| of.iter().any(|e| e.saturated && fills(e, own));
    if (busy(&arithmetic) || busy(&access)) && !filled(&arithmetic, instructions) && !filled(&access, accesses) {
        return (Bottleneck::Undecided, "noise is not absorbed, but the loop's own instructions leave the units idle");
    }
    match (busy(&arithmetic), busy(&access)) {
        (true, false) => (Bottleneck::Compute, "arithmetic is not absorbed, first-level loads are"),
        (false, true) => (Bottleneck::LoadStore, "first-level loads are not absorbed, arithmetic is"),
        (true, true) if of(&["nop"]).is_empty() => {
            (Bottleneck::Undecided, "nothing is absorbed, and without nops nobody knows whether the front end is why")
        }
        (true, true) if !filled(&access, accesses) => (
            Bottleneck::Compute,
            "arithmetic is not absorbed, and first-level loads cost time though their units are idle",
        ),
        (true, true) if !filled(&arithmetic, instructions) => (
            Bottleneck::LoadStore,
            "first-level loads are not absorbed, and arithmetic costs time though its units are idle",
        ),
        // A full overlap has room for neither. Where arithmetic has room for a good part of what the loop has, more likely its slope was measured badly.
        (true, true) if !arithmetic.iter().any(|e| e.saturated && fills(e, instructions) && lacks_room(e)) => {
            (Bottleneck::Undecided, "first-level loads are not absorbed, and arithmetic is in part")
        }
        (true, true) => (Bottleneck::Compute, "neither arithmetic nor first-level loads are absorbed, but nops are"),
        (false, false) => beyond_the_core(memory, code, nanoseconds),
    }
}

/// Nothing in the core is saturated: is it the memory, the latency of loads, or that of anything else? Noise does not tell the last from
/// lines that come no faster from a cache or, for one core, from memory, since both leave room for further loads from memory; the
/// machine code does, which shows whether iterations wait for each other.
fn beyond_the_core(
    memory: Option<Evidence>,
    code: Option<&Code>,
    nanoseconds: Option<f64>,
) -> (Bottleneck, &'static str) {
    if code.is_some_and(|code| code.accesses == 0 && code.recurrence.is_some()) {
        return (Bottleneck::Dependency, "everything is absorbed, and the loop does not touch memory");
    }
    let Some(memory) = memory else {
        return (Bottleneck::Undecided, "loads from memory were not injected");
    };
    if memory.slack < MEMORY_SATURATED {
        return (Bottleneck::Bandwidth, "all but loads from memory is absorbed");
    }
    let Some((code, recurrence)) = code.and_then(|code| Some((code, code.recurrence?))) else {
        return (Bottleneck::Undecided, "everything is absorbed, and no machine code shows what iterations wait for");
    };
    if recurrence.is_chase {
        return (Bottleneck::Latency, "everything is absorbed, and the address of a load comes from the load before");
    }
    let Some(nanoseconds) = nanoseconds else {
        return (Bottleneck::Undecided, "everything is absorbed, and how long an iteration takes is not known");
    };
    match () {
        () if recurrence.nanoseconds >= nanoseconds => {
            (Bottleneck::Dependency, "everything is absorbed, and iterations wait for each other's results")
        }
        () if memory.absorbed >= f64::from(code.accesses) => {
            (Bottleneck::Latency, "everything is absorbed, loads from memory included")
        }
        () => (
            Bottleneck::Bandwidth,
            "everything in the core is absorbed, and iterations do not wait for each other, but for lines of memory or of a cache beyond the first",
        ),
    }
}
