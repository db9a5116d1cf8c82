//! Loops that wait for their own results, and loops that keep a unit busy (section 4.1 of the paper).

use super::listing::{Line, Listing};
use super::mca::Schedule;
use super::noise::Absorbed;
use super::{Finding, Place, percent};
use crate::absorption::code::Flow;

/// What binds a loop whose data are at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// The chain of its own results.
    Dependency,
    /// A unit of execution.
    Unit,
    /// The front end.
    FrontEnd,
    /// The memory's bandwidth, of which measurements alone tell.
    Bandwidth,
    /// The latency of memory, of which measurements alone tell.
    Latency,
}

/// How many times longer the chain must be than what units and front end take, or the other way round, for a verdict.
pub(super) const CLEAR: f64 = 1.25;
/// Instructions that fewer of the loop's rounds execute are no part of the loop that is simulated.
const USUAL: f64 = 0.5;
/// Instructions that are executed in fewer may not be what the next iteration waits for.
const CERTAIN: f64 = 0.9;
/// Lines fetched from beyond the modelled caches in an iteration from which memory is doubted.
const FAR: f64 = 0.01;

/// An innermost loop.
///
/// ```
/// use modeler::detect::Loop;
/// let product = Loop { iterations: 1000, share: 0.9, fills: [125, 125], ..Loop::default() };
/// assert_eq!(product.fills[1] * 8, product.iterations); // every eighth iteration fetches a line of 64 bytes
/// ```
#[derive(Clone, Debug, Default)]
pub struct Loop {
    /// Its first instruction.
    pub place: Place,
    /// Lines of its instructions, the first one's first; empty where there is no debug information.
    pub lines: Vec<String>,
    /// Iterations: executions of the first instruction.
    pub iterations: u64,
    /// Its part of the run's instructions.
    pub share: f64,
    /// The code of the instructions that most iterations execute, in the order of memory.
    pub code: Vec<Vec<u8>>,
    /// Of each of these, whether next to all rounds of the loop execute it.
    pub certain: Vec<bool>,
    /// How many instructions are executed in fewer iterations, and left out.
    pub rare: usize,
    /// Lines fetched into the first and into the second level of the caches.
    pub fills: [u64; 2],
    /// Why it is not simulated; empty where it is.
    pub refusal: String,
    /// What llvm-mca says of it, once somebody has asked: an error says why it says nothing.
    pub schedule: Option<Result<Schedule, String>>,
    /// What noise injection measured of it.
    pub measured: Option<Absorbed>,
}

/// The loops of at least this share of the instructions, the largest first.
pub fn find(listings: &[Listing], all: u64, share: f64, place: &mut impl FnMut(u32, &Line) -> Place) -> Vec<Loop> {
    let mut loops = Vec::new();
    for listing in listings {
        for (header, body) in listing.innermost() {
            let lines: Vec<&Line> = body.iter().map(|&i| &listing.lines[i]).collect();
            let executed: u64 = lines.iter().map(|line| line.executions).sum();
            if executed as f64 >= share * all as f64 {
                let head = &listing.lines[header];
                let mut found = looked_at(&lines, head, executed as f64 / all as f64, place(listing.region, head));
                let others = lines.iter().map(|line| place(listing.region, line).line);
                found.lines =
                    std::iter::once(found.place.line.clone()).chain(others).filter(|l| !l.is_empty()).collect();
                found.lines.dedup();
                loops.push(found);
            }
        }
    }
    loops.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.place.address.cmp(&b.place.address)));
    loops
}

fn looked_at(lines: &[&Line], head: &Line, share: f64, place: Place) -> Loop {
    // A test at the loop's beginning is executed once more for each time that it is entered, which is no round.
    let iterations = rounds(lines, head);
    let rounds = iterations as f64;
    let is_usual = |line: &&&Line| line.executions as f64 >= USUAL * rounds;
    let usual: Vec<&&Line> = lines.iter().filter(is_usual).collect();
    // A loop whose body comes first in memory is entered at its end: it is the same loop, begun elsewhere.
    let start = usual.iter().position(|line| line.step.address == head.step.address).unwrap_or(0);
    let in_order = || usual[start..].iter().chain(&usual[..start]);
    let code = in_order().map(|line| line.bytes.clone()).collect();
    let certain = in_order().map(|line| line.executions as f64 >= CERTAIN * rounds).collect();
    let calls = usual.iter().any(|line| line.step.flow == Flow::Next && is_call(&line.step.key));
    let fills = [0, 1].map(|level| lines.iter().map(|line| line.fills[level]).sum());
    Loop {
        place,
        lines: Vec::new(),
        iterations,
        share,
        code,
        certain,
        rare: lines.len() - usual.len(),
        fills,
        refusal: if calls { "it calls functions".into() } else { String::new() },
        schedule: None,
        measured: None,
    }
}

/// How often the loop was gone through: one that tests where it begins executes its first instruction once more each time that it is
/// entered. What goes back there, and nowhere else within the loop, ends a round whether it goes back or leaves.
fn rounds(lines: &[&Line], head: &Line) -> u64 {
    let to = head.step.address;
    let is_within = |address: u64| lines.iter().any(|line| line.step.address == address);
    let ended = |line: &&Line| {
        let behind = line.step.address + line.bytes.len() as u64;
        let jumps = line.outcomes.jumps.min(line.executions);
        match line.step.flow {
            Flow::Next if behind == to => line.executions,
            Flow::Jump(target) if target == to => line.executions,
            Flow::Branch(target) if target == to && behind != to && is_within(behind) => jumps,
            Flow::Branch(target) if target != to && behind == to && is_within(target) => line.executions - jumps,
            Flow::Branch(target) if target == to || behind == to => line.executions,
            _ => 0,
        }
    };
    let rounds: u64 = lines.iter().map(ended).sum();
    if rounds == 0 { head.executions } else { head.executions.min(rounds) }
}

/// Whether an instruction's name is that of a call.
fn is_call(key: &str) -> bool {
    let name = key.split(' ').next().unwrap_or_default().to_lowercase();
    matches!(name.as_str(), "call" | "bl" | "blr" | "jal" | "jalr")
}

impl Bound {
    /// What a schedule says; `None` where it is not clear.
    #[must_use]
    pub(crate) fn of(schedule: &Schedule) -> Option<Self> {
        let throughput = schedule.units.max(schedule.front_end);
        match schedule.chain {
            Some(chain) if chain >= CLEAR * throughput => Some(Self::Dependency),
            _ if schedule.cycles >= CLEAR * throughput => None,
            _ if schedule.units >= schedule.front_end => Some(Self::Unit),
            _ => Some(Self::FrontEnd),
        }
    }

    /// What a class of noise injection says; `None` where it decided nothing.
    fn measured(class: &str) -> Option<Self> {
        match class {
            "dependency" => Some(Self::Dependency),
            "compute" | "load-store" => Some(Self::Unit),
            "front-end" => Some(Self::FrontEnd),
            "bandwidth" => Some(Self::Bandwidth),
            "latency" => Some(Self::Latency),
            _ => None,
        }
    }

    /// What such a loop does.
    fn what(self) -> &'static str {
        match self {
            Self::Dependency => "waits for its own results",
            Self::Unit => "keeps a unit of execution busy",
            Self::FrontEnd => "takes all that the front end gives",
            Self::Bandwidth => "takes all that memory gives",
            Self::Latency => "waits for memory",
        }
    }

    /// The public name.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Dependency => "dependency",
            Self::Unit => "unit",
            Self::FrontEnd => "front-end",
            Self::Bandwidth => "bandwidth",
            Self::Latency => "latency",
        }
    }
}

impl Loop {
    /// What binds it, where that is clear: what was measured, else what is simulated.
    #[must_use]
    pub(crate) fn bound(&self) -> Option<Bound> {
        self.measured().or_else(|| self.simulated().ok())
    }

    /// What noise injection says, where it decided.
    fn measured(&self) -> Option<Bound> {
        self.measured.as_ref().and_then(|measured| Bound::measured(&measured.class))
    }

    /// What llvm-mca says, or why it says nothing, as the end of a sentence about the loop.
    pub(super) fn simulated(&self) -> Result<Bound, String> {
        let schedule = match &self.schedule {
            _ if !self.refusal.is_empty() => return Err(format!("is not simulated: {}", self.refusal)),
            None => return Err("was not simulated".to_owned()),
            Some(Err(why)) => return Err(format!("could not be simulated: {why}")),
            Some(Ok(schedule)) => schedule,
        };
        Bound::of(schedule).ok_or_else(|| {
            format!(
                "has no chain and no unit that stands out ({:.1} cycles simulated, {:.1} by {}{})",
                schedule.cycles,
                schedule.units,
                schedule.unit,
                schedule.chain.map_or_else(String::new, |chain| format!(", {chain:.1} by the chain of its results"))
            )
        })
    }

    /// Whether it fetches lines from beyond the modelled caches.
    fn is_far(&self) -> bool {
        self.fills[1] as f64 >= FAR * self.iterations.max(1) as f64
    }

    /// What is found of it, or why nothing is.
    pub(super) fn finding(&self, prefix: &str) -> Result<Finding, String> {
        let place = &self.place;
        let bound = match (self.measured(), self.simulated()) {
            (Some(measured), _) => measured,
            (None, simulated) => simulated.map_err(|why| format!("The loop in {place} {why}."))?,
        };
        let is_doubtful = self.is_far() && self.measured().is_none();
        Ok(Finding {
            detector: "dependencies",
            what: format!(
                "{prefix}The loop in {place} {}{}.",
                bound.what(),
                if is_doubtful { ", if its data are at hand" } else { "" }
            ),
            share: self.share,
            evidence: self.evidence(),
            doubt: self.doubt(bound),
        })
    }

    fn evidence(&self) -> Vec<String> {
        let iterations = self.iterations;
        let mut evidence = vec![format!("{iterations} iterations, {:.0} % of the instructions.", 100.0 * self.share)];
        evidence.extend(self.measured.as_ref().map(|measured| {
            let amounts = measured.floating_point.join(", ");
            let colon = if amounts.is_empty() { "" } else { ": " };
            format!("Noise injection: class {} ({}){colon}{amounts}", measured.class, measured.place)
        }));
        let Some(Ok(schedule)) = &self.schedule else { return evidence };
        let Schedule { cycles, units, unit, front_end, processor, .. } = schedule;
        evidence.push(format!(
            "llvm-mca for {processor}: {cycles:.1} cycles an iteration; {unit} takes {units:.1} of them, the front end {front_end:.1}."
        ));
        evidence.push(format!(
            "Instructions that wait, on average: {:.1} for operands, {:.1} for a unit.",
            schedule.waiting, schedule.stalled
        ));
        if let Some(chain) = schedule.chain {
            let at_most = if schedule.chain_may_be_shorter { "at most " } else { "" };
            let takes = format!("from one iteration to the next takes {at_most}{}", cycles_of(chain));
            evidence.push(match self.chain_binds(schedule) {
                true => format!("The chain {takes}: {}.", schedule.chain_code.join("; ")),
                false => format!("The longest chain found {takes}, which is no bottleneck."),
            });
        }
        evidence
    }

    /// Whether the loop may wait for the chain that was found: it is what is said to bind, or takes nearly as long as an iteration. What a
    /// counter takes, one cycle of ten, explains nothing.
    fn chain_binds(&self, schedule: &Schedule) -> bool {
        self.bound() == Some(Bound::Dependency)
            || Bound::of(schedule) == Some(Bound::Dependency)
            || schedule.chain.is_some_and(|chain| CLEAR * chain >= schedule.cycles)
    }

    fn doubt(&self, bound: Bound) -> Vec<String> {
        let mut doubt = Vec::new();
        match (&self.measured, self.measured(), self.simulated()) {
            (None, ..) => doubt.push(
                "Nothing was measured: poise absorb --format json of a build with poise cc --noise, given with --absorption, would."
                    .to_owned(),
            ),
            (Some(measured), None, _) if !measured.several.is_empty() => doubt.push(format!(
                "Noise injection could not decide: by call path or kind of execution the loop has several classes, {}.",
                measured.several.join(" and ")
            )),
            (Some(_), None, _) => doubt.push("Noise injection could not decide.".into()),
            (_, Some(_), Ok(simulated)) if simulated == bound => {}
            (_, Some(_), simulated) => {
                let says = match simulated {
                    Ok(simulated) => format!("llvm-mca says otherwise: it {}", simulated.what()),
                    Err(why) => format!("llvm-mca does not say so: the loop {why}"),
                };
                doubt.push(format!(
                    "{says}. What is measured counts more; it was measured in a build with noise, whose compiler may have made another loop of it."
                ));
            }
        }
        if let Some(Ok(schedule)) = &self.schedule {
            doubt.extend(self.doubt_of(schedule));
        }
        doubt
    }

    /// What would make the simulation wrong.
    fn doubt_of(&self, schedule: &Schedule) -> Vec<String> {
        let mut doubt = Vec::new();
        // What keeps a unit busy needs no longer chain.
        let throughput = schedule.units.max(schedule.front_end);
        if schedule.chain.is_some_and(|chain| schedule.cycles >= CLEAR * chain.max(throughput)) {
            doubt.push(format!(
                "An iteration takes {:.1} cycles, more than this chain: another may be longer.",
                schedule.cycles
            ));
        }
        let binds = self.chain_binds(schedule);
        if schedule.chain_may_be_shorter && binds {
            doubt.push(
                "llvm-mca begins an instruction that loads and computes not before what makes its other operand has begun; processors load before that, and the chain and an iteration take less."
                    .to_owned(),
            );
        }
        if schedule.chain_by_move && binds {
            doubt.push(
                "llvm-mca loses what this chain hands on through a move that the processor eliminates; the texts show it, and the cycles of an iteration are the chain's."
                    .to_owned(),
            );
        }
        if schedule.chain_by_memory && binds {
            doubt.push(
                "The chain goes through memory: a load reads what an iteration before stored. llvm-mca takes loads for independent of stores; the cycles are those of a load and a store from and to the first-level cache, and processors that forward what is stored may take more or fewer."
                    .to_owned(),
            );
        }
        if let Some(aliased) = schedule.aliased {
            let unknown = match schedule.is_conditional {
                true => "some iterations alone store what is loaded, or load it",
                false => "the addresses do not show whether they are",
            };
            doubt.push(format!(
                "llvm-mca takes loads for independent of stores, and {unknown}: if loads read what was stored just before, an iteration takes up to {}.",
                cycles_of(aliased)
            ));
        }
        if self.is_far() && self.measured().is_none() {
            let part = percent(self.fills[1], self.iterations);
            doubt.push(format!("Iterations fetch lines from beyond the modelled caches ({part}), and llvm-mca knows no memory: it may be what binds."));
        }
        let sometimes = self.certain.iter().filter(|is_certain| !**is_certain).count();
        if sometimes > 0 {
            doubt.push(format!(
                "{sometimes} instructions that not all iterations execute are simulated as if they did."
            ));
        }
        if self.rare > 0 {
            doubt.push(format!(
                "{} instructions that fewer than half of the iterations execute are left out.",
                self.rare
            ));
        }
        doubt.push(format!(
            "llvm-mca's model of {} may not be this processor; it takes every branch for predicted and every load for a hit.",
            schedule.processor
        ));
        doubt
    }
}

/// Cycles of an iteration: a chain over several of them may have half a one.
fn cycles_of(chain: f64) -> String {
    let tenths = format!("{chain:.1}");
    let number = tenths.strip_suffix(".0").unwrap_or(&tenths);
    format!("{number} {}", if number == "1" { "cycle" } else { "cycles" })
}

#[cfg(test)]
mod tests {
    use super::super::listing::Outcomes;
    use super::*;
    use crate::absorption::code::{Access, Step};

    fn schedule(cycles: f64, units: f64, front_end: f64, chain: Option<f64>) -> Schedule {
        Schedule { cycles, units, front_end, chain, ..Schedule::default() }
    }

    #[test]
    fn the_longer_of_chain_and_units_binds() {
        let of = |cycles, units, front_end, chain| Bound::of(&schedule(cycles, units, front_end, chain));
        assert_eq!(of(4.0, 1.0, 0.7, Some(4.0)), Some(Bound::Dependency));
        assert_eq!(of(10.0, 10.0, 2.0, None), Some(Bound::Unit));
        assert_eq!(of(2.1, 1.0, 2.0, Some(1.0)), Some(Bound::FrontEnd));
        assert_eq!(of(5.0, 4.0, 1.0, None), None, "something that is neither");
        assert_eq!(of(4.4, 4.0, 1.0, Some(4.4)), Some(Bound::Unit), "the chain is not clearly longer");
    }

    /// A loop of these instructions: of one byte each, by address from 0, with where they continue, executions and jumps.
    fn made_of(code: &[(Flow, u64, u64)], head: usize) -> Loop {
        let line = |(address, &(flow, executions, jumps)): (u64, &(Flow, u64, u64))| Line {
            bytes: vec![0x90],
            step: Step { address, flow, access: Access::None, key: String::new() },
            is_load: false,
            is_access: false,
            executions,
            fills: [0; 2],
            outcomes: Outcomes { jumps, ..Outcomes::default() },
        };
        let lines: Vec<Line> = (0..).zip(code).map(line).collect();
        looked_at(&lines.iter().collect::<Vec<_>>(), &lines[head], 1.0, Place::default())
    }

    /// Which of its instructions are certain.
    fn certain(code: &[(Flow, u64, u64)], head: usize) -> Vec<bool> {
        made_of(code, head).certain
    }

    #[test]
    fn a_loop_that_tests_where_it_begins_has_a_round_less_than_tests() {
        use Flow::{Branch, Jump, Next};
        // while (…) {…}: eight rounds; the test leaves the ninth time.
        assert_eq!(certain(&[(Branch(9), 9, 1), (Next, 8, 0), (Jump(0), 8, 0)], 0), [true; 3]);
        // The body first in memory, entered at the test behind it.
        assert_eq!(certain(&[(Next, 8, 0), (Branch(0), 9, 8)], 1), [true; 2]);
        // do {if (…) …} while (…): nine rounds, the last of which does not go back; eight of nine are not all.
        let (test, last) = ((Branch(2), 9, 1), (Branch(0), 9, 8));
        assert_eq!(certain(&[test, (Next, 8, 0), last], 0), [true, false, true]);
        // while (…) {if (…) continue; …}: three of eight rounds go back early.
        let early = [(Branch(9), 9, 1), (Branch(0), 8, 3), (Next, 5, 0), (Jump(0), 5, 0)];
        assert_eq!(certain(&early, 0), [true, true, false, false]);
        // The same where the body that goes on jumps, and the others fall through into the test.
        let behind = [(Next, 5, 0), (Jump(3), 5, 0), (Branch(0), 8, 5), (Branch(2), 9, 8)];
        assert_eq!(certain(&behind, 3), [true, false, false, true]);
        // Nothing is known to go back.
        assert_eq!(certain(&[(Branch(9), 9, 1), (Next, 8, 0)], 0), [true, false]);
    }

    #[test]
    fn the_test_that_ends_a_loop_makes_no_instruction_rare() {
        use Flow::{Branch, Jump, Next};
        // while (…) {if (…) store; …}: entered ten times, two rounds each. The test is executed 30 times, the store in 12 of 20 rounds.
        let of = |stores: u64| {
            let store = [(Branch(10), 30, 10), (Branch(3), 20, 20 - stores), (Next, stores, 0), (Jump(0), 20, 0)];
            let found = made_of(&store, 0);
            assert_eq!(found.iterations, 20);
            (found.code.len(), found.rare, found.certain)
        };
        assert_eq!(of(12), (4, 0, vec![true, true, false, true]), "twelve of thirty would be rare");
        assert_eq!(of(9), (3, 1, vec![true; 3]), "nine of twenty are");
        // Entered ten times, of which eight find nothing to do: the body is the loop.
        let seldom = made_of(&[(Branch(10), 14, 10), (Next, 4, 0), (Jump(0), 4, 0)], 0);
        assert_eq!((seldom.code.len(), seldom.rare), (3, 0));
    }

    #[test]
    fn cycles_that_are_not_whole_are_not_rounded() {
        let told = [1.0, 1.02, 1.5, 2.5, 4.0, 10.04].map(cycles_of);
        assert_eq!(told, ["1 cycle", "1 cycle", "1.5 cycles", "2.5 cycles", "4 cycles", "10 cycles"]);
    }

    /// What is told of the chain of a loop of ten cycles: `addq` alone, or a sum.
    #[test]
    fn a_chain_that_takes_a_tenth_of_an_iteration_is_no_bottleneck() {
        let of = |cycles: f64, class: Option<&str>| {
            let code = vec!["addq\t$8, %rax".to_owned()];
            let schedule = Schedule {
                chain_code: code,
                chain_may_be_shorter: true,
                unit: "divider".into(),
                ..schedule(10.0, 10.0, 2.0, Some(cycles))
            };
            let measured = class.map(|class| Absorbed { class: class.into(), ..Absorbed::default() });
            let looked_at = Loop { iterations: 100, schedule: Some(Ok(schedule)), measured, ..Loop::default() };
            let finding = looked_at.finding("").unwrap();
            (finding.evidence.last().unwrap().clone(), finding.doubt.iter().any(|told| told.contains("the chain and")))
        };
        let none =
            "The longest chain found from one iteration to the next takes at most 1 cycle, which is no bottleneck.";
        assert_eq!(of(1.0, None), (none.to_owned(), false));
        // Eight of ten cycles are nearly all of them.
        let named =
            |cycles| format!("The chain from one iteration to the next takes at most {cycles} cycles: addq\t$8, %rax.");
        assert_eq!((of(8.0, None), of(7.5, None).0.contains("no bottleneck")), ((named("8"), true), true));
        // Where noise injection says that the loop waits for its results, what is known of them is told.
        assert_eq!(of(2.0, Some("dependency")), (named("2"), true));
    }

    #[test]
    fn what_is_measured_is_what_is_said_and_the_model_is_doubt() {
        let of = |schedule: Schedule, class: Option<&str>| Loop {
            place: Place { function: "f".into(), line: "a.c:3".into(), address: 0 },
            iterations: 100,
            fills: [0, 50],
            schedule: Some(Ok(schedule)),
            measured: class.map(|class| Absorbed { function: "f".into(), class: class.into(), ..Absorbed::default() }),
            ..Loop::default()
        };
        let (waits, busy) = (|| schedule(4.0, 1.0, 0.5, Some(4.0)), || schedule(10.0, 10.0, 2.0, None));
        let said = |schedule: Schedule, class| {
            let finding = of(schedule, class).finding("").unwrap();
            (finding.what, finding.doubt.join(" "))
        };
        let cases = [
            (
                waits(),
                "compute",
                "keeps a unit of execution busy",
                "llvm-mca says otherwise: it waits for its own results.",
            ),
            (
                busy(),
                "dependency",
                "waits for its own results",
                "llvm-mca says otherwise: it keeps a unit of execution busy.",
            ),
            (waits(), "bandwidth", "takes all that memory gives", "llvm-mca says otherwise"),
            (
                schedule(5.0, 4.0, 1.0, None),
                "latency",
                "waits for memory",
                "llvm-mca does not say so: the loop has no chain",
            ),
        ];
        for (schedule, class, expected, doubted) in cases {
            let (what, doubt) = said(schedule, Some(class));
            assert_eq!(what, format!("The loop in f (a.c:3) {expected}."));
            assert!(doubt.contains(doubted) && !doubt.contains("(50 %)"), "{doubt}");
        }
        let (what, doubt) = said(waits(), Some("dependency"));
        assert!(what.ends_with("its own results.") && !doubt.contains("otherwise"), "{what} {doubt}");
        // Nothing decided: the model alone, which knows no memory.
        for (class, expected) in [(Some("undecided"), "could not decide"), (None, "Nothing was measured")] {
            let (what, doubt) = said(waits(), class);
            assert!(what.ends_with("waits for its own results, if its data are at hand."), "{what}");
            assert!(doubt.contains(expected) && doubt.contains("(50 %)"), "{doubt}");
        }
        let mut several = of(waits(), Some("undecided"));
        several.measured.as_mut().unwrap().several = ["bandwidth", "compute"].map(String::from).into();
        let finding = several.finding("").unwrap();
        assert!(finding.what.ends_with("waits for its own results, if its data are at hand."), "{}", finding.what);
        assert!(finding.doubt[0].ends_with("several classes, bandwidth and compute."), "{:?}", finding.doubt);
        // What cannot be simulated may be measured.
        let called = |class| Loop { refusal: "it calls functions".into(), schedule: None, ..of(busy(), class) };
        assert!(called(Some("compute")).finding("").unwrap().what.ends_with("busy."));
        let note = called(None).finding("").unwrap_err();
        assert_eq!(note, "The loop in f (a.c:3) is not simulated: it calls functions.");
        assert_eq!(called(Some("latency")).bound().map(Bound::name), Some("latency"));
    }
}
