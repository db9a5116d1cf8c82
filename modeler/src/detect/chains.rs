//! The chain of dependencies that leads from one iteration of a loop to the next, found in llvm-mca's timeline.
//!
//! The timeline tells no registers. But an instruction that always becomes ready just when another is done waits for that one if the text of both
//! names the register, or may do so if the texts do not show all, such as flags. Not so where a processor reads a register later than an instruction begins: the sum
//! of `addsd (%rdi), %xmm0` once the load is through, the addend of a fused multiply-add in its last cycles. Such an instruction is ready before the other is done, always by as much;
//! so is much else, and it is believed to wait only where the texts name the register, or show whose flags it reads.
//!
//! What llvm-mca does not simulate is not in its timeline: results that go through a move whose source is written anew ([`registers::makers`]), and those
//! that go through memory ([`memory`]). The texts show them.

use std::collections::VecDeque;

use super::memory::Forward;
use super::registers::{self, Operands};

/// When an instruction of one iteration got on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub dispatched: i64,
    pub ready: i64,
    pub issued: i64,
    pub done: i64,
}

/// An instruction as the search sees it.
pub(super) struct Instruction<'a> {
    pub text: &'a str,
    pub may_load: bool,
    pub may_store: bool,
    /// Whether next to all iterations execute it.
    pub is_certain: bool,
}

/// A chain that comes back to where it began.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chain {
    /// Its instructions, in the order of the loop.
    pub code: Vec<usize>,
    /// Cycles for each iteration.
    pub cycles: f64,
    /// Whether it may be shorter: llvm-mca starts an instruction that loads and computes at once, and not before what makes its other operand
    /// has started, while processors load before that.
    pub at_most: bool,
    /// Whether it goes through a move, and llvm-mca does not simulate that.
    pub by_move: bool,
    /// Whether it goes through memory, which llvm-mca does not simulate.
    pub by_memory: bool,
}

/// How it is known that an instruction waits for another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// By the timeline, and the texts do not deny it.
    Simulated,
    /// By the timeline and the texts.
    Named,
    /// By the texts alone, which show a move.
    Moved,
    /// By the texts alone, which show addresses.
    Forwarded,
}

/// What an instruction waits for.
#[derive(Clone, Copy)]
struct Edge {
    /// The instruction that it waits for.
    other: usize,
    /// How many iterations before.
    before: i64,
    /// How many cycles before that is done.
    early: i64,
    known: Known,
}

/// The chain that waits least for units. All that come back share the time of an iteration between what they take and what they wait for units, so
/// that it is the longest one, too. Looked at are through each instruction the one of the fewest, and all that the texts show. Of two that take as long
/// it is one of the former that is named in the texts, then the one that is earlier in the loop. `times` has the instructions of all iterations in a row.
pub(super) fn tightest(
    code: &[Instruction],
    operands: &[Operands],
    times: &[Times],
    forwards: &[Forward],
) -> Option<Chain> {
    let iterations = times.len().checked_div(code.len())?;
    if iterations < 4 || iterations * code.len() != times.len() {
        return None;
    }
    let edges = edges(operands, times, iterations, forwards);
    let last = &times[(iterations - 1) * code.len()..];
    let mut best: Option<(Length, Vec<Edge>)> = None;
    for only_named in [true, false] {
        for start in 0..code.len() {
            let Some(circle) = circle(&edges, start, only_named) else { continue };
            let length = Length::of(&circle, last);
            if best.as_ref().is_none_or(|(best, _)| length.exceeds(*best)) {
                best = Some((length, circle));
            }
        }
    }
    // Each is longer than the one before it, and there are only so many.
    while let Some(circle) = best.as_ref().and_then(|(length, _)| longer(&edges, last, *length)) {
        best = Some((Length::of(&circle, last), circle));
    }
    best.map(|(length, circle)| chain(code, operands, last, length, &circle))
}

/// What a circle takes, in so many iterations.
#[derive(Clone, Copy)]
struct Length {
    cycles: i64,
    iterations: i64,
}

impl Length {
    /// What the instructions take, but for waiting for units, less what the next one does not wait for.
    fn of(circle: &[Edge], last: &[Times]) -> Self {
        let cycles = circle.iter().map(|edge| edge.cycles(last)).sum();
        Self { cycles, iterations: circle.iter().map(|edge| edge.before).sum() }
    }

    /// Whether it takes longer for each iteration.
    fn exceeds(self, other: Self) -> bool {
        self.cycles * other.iterations > other.cycles * self.iterations
    }
}

impl Edge {
    /// What the other instruction takes until this one begins.
    fn cycles(&self, last: &[Times]) -> i64 {
        last[self.other].done - last[self.other].issued - self.early
    }
}

/// Which instructions may, by the texts, wait for their own result of an iteration before.
pub(super) fn come_back(operands: &[Operands]) -> Vec<bool> {
    let none_is_free = vec![false; operands.len()];
    let awaited = |reader: usize| {
        let makers = registers::makers(operands, &none_is_free, reader);
        (0..operands.len())
            .filter(|&maker| {
                makers.iter().any(|known| known.index == maker) || registers::may_need(operands, maker, reader)
            })
            .collect::<Vec<_>>()
    };
    let awaited: Vec<Vec<usize>> = (0..operands.len()).map(awaited).collect();
    let comes_back = |start: usize| {
        let mut is_reached = vec![false; operands.len()];
        let mut rest = awaited[start].clone();
        while let Some(next) = rest.pop() {
            if !std::mem::replace(&mut is_reached[next], true) {
                rest.extend(&awaited[next]);
            }
        }
        is_reached[start]
    };
    (0..operands.len()).map(comes_back).collect()
}

/// What each instruction waits for in all of the last iterations; the first ones wait for nothing yet.
fn edges(operands: &[Operands], times: &[Times], iterations: usize, forwards: &[Forward]) -> Vec<Vec<Edge>> {
    let count = operands.len();
    let time = |iteration: usize, instruction: usize| times[iteration * count + instruction];
    let is_free: Vec<bool> =
        (0..count).map(|i| time(iterations - 1, i).done == time(iterations - 1, i).issued).collect();
    let simulated = |instruction: usize, other: usize, is_named: bool, before: usize| {
        if before > iterations / 2 {
            return None;
        }
        let early = time(iterations - 1 - before, other).done - time(iterations - 1, instruction).ready;
        let always = || {
            (iterations / 2..iterations).all(|i| {
                let (waiting, awaited) = (time(i, instruction), time(i - before, other));
                // One that is ready when it comes waits for nothing.
                waiting.ready > waiting.dispatched
                    && awaited.done - waiting.ready == early
                    && awaited.issued <= waiting.ready
            })
        };
        let is_believed = is_named || early == 0 && registers::may_need(operands, other, instruction);
        let known = if is_named { Known::Named } else { Known::Simulated };
        (is_believed && early >= 0 && always()).then_some(Edge { other, before: before as i64, early, known })
    };
    let of = |instruction: usize| {
        let makers = registers::makers(operands, &is_free, instruction);
        let lost = makers.iter().filter(|maker| maker.is_lost);
        let moved =
            lost.map(|maker| Edge { other: maker.index, before: maker.before as i64, early: 0, known: Known::Moved });
        let loaded = forwards.iter().filter(|forward| forward.load == instruction);
        let forwarded = loaded.map(|forward| Edge {
            other: forward.store,
            before: forward.before,
            early: 0,
            known: Known::Forwarded,
        });
        let edge = |other: usize| {
            let named = makers.iter().filter(|maker| maker.index == other && !maker.is_lost);
            let before = named.map(|maker| maker.before).min();
            simulated(instruction, other, before.is_some(), before.unwrap_or(usize::from(other >= instruction)))
        };
        moved.chain(forwarded).chain((0..count).filter_map(edge)).collect()
    };
    (0..count).map(of).collect()
}

/// The way back from an instruction to itself in another iteration that has the fewest instructions, each with what the one before it waits for.
fn circle(edges: &[Vec<Edge>], start: usize, only_named: bool) -> Option<Vec<Edge>> {
    let mut from: Vec<Option<(usize, Edge)>> = vec![None; edges.len()];
    let mut queue = VecDeque::from([start]);
    while let Some(instruction) = queue.pop_front() {
        for &edge in edges[instruction].iter().filter(|edge| edge.known != Known::Simulated || !only_named) {
            if edge.other == start {
                let mut circle = vec![edge];
                let mut at = instruction;
                while let Some((previous, edge)) = from[at] {
                    circle.push(edge);
                    at = previous;
                }
                return (circle.iter().map(|edge| edge.before).sum::<i64>() > 0).then_some(circle);
            }
            if from[edge.other].is_none() {
                from[edge.other] = Some((instruction, edge));
                queue.push_back(edge.other);
            }
        }
    }
    None
}

/// A circle of what the texts show that takes longer for each iteration than `length`, if there is one (found as Bellman and Ford find circles). One
/// of few instructions need not be the longest: where a loop needs its last two results, the last one is what it waits for.
fn longer(edges: &[Vec<Edge>], last: &[Times], length: Length) -> Option<Vec<Edge>> {
    let excess = |edge: &Edge| edge.cycles(last) * length.iterations - length.cycles * edge.before;
    let mut most = vec![0; edges.len()];
    let mut from: Vec<Option<(usize, Edge)>> = vec![None; edges.len()];
    let mut raised = None;
    // What still rises when each has been looked at as often as there are instructions is behind a circle.
    for _ in 0..edges.len() {
        raised = None;
        for (instruction, awaited) in edges.iter().enumerate() {
            for &edge in awaited.iter().filter(|edge| edge.known != Known::Simulated) {
                let sum = most[instruction] + excess(&edge);
                if sum > most[edge.other] {
                    most[edge.other] = sum;
                    from[edge.other] = Some((instruction, edge));
                    raised = Some(edge.other);
                }
            }
        }
        raised?;
    }
    // So many steps back are on it.
    let back = |at: usize| from[at].map_or(at, |(instruction, _)| instruction);
    let start = (0..edges.len()).fold(raised?, |at, _| back(at));
    let mut circle = Vec::new();
    let mut at = start;
    loop {
        let (instruction, edge) = from[at]?;
        circle.push(edge);
        at = instruction;
        if at == start {
            return Some(circle);
        }
    }
}

/// The chain of a circle.
fn chain(code: &[Instruction], operands: &[Operands], last: &[Times], length: Length, circle: &[Edge]) -> Chain {
    // The one that waits for an edge's instruction is that of the next edge towards the start: each is its own successor's.
    let waiting = |index: usize| circle[(index + 1) % circle.len()].other;
    // One that the timeline lacks begins with its load, too, and one that waits for flags needs them after it.
    let held = |(index, edge): (usize, &Edge)| {
        let waiting = waiting(index);
        let is_for_flags = || registers::flags_maker(operands, waiting).is_some_and(|(maker, _)| maker == edge.other);
        let begins_with = edge.early > 0 && edge.cycles(last) == 0 || edge.early == 0 && is_for_flags();
        code[waiting].may_load && (edge.known == Known::Moved || begins_with)
    };
    let at_most = circle.iter().enumerate().any(held);
    let has = |known: Known| circle.iter().any(|edge| edge.known == known);
    let mut instructions: Vec<usize> = circle.iter().map(|edge| edge.other).collect();
    instructions.sort_unstable();
    let (by_move, by_memory) = (has(Known::Moved), has(Known::Forwarded));
    let cycles = length.cycles as f64 / length.iterations as f64;
    Chain { code: instructions, cycles, at_most, by_move, by_memory }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times of instructions that are all dispatched at once: each begins when it is ready.
    fn times(ready_and_done: &[(i64, i64)]) -> Vec<Times> {
        let of = |&(ready, done): &(i64, i64)| Times { dispatched: -1, ready, issued: ready, done };
        ready_and_done.iter().map(of).collect()
    }

    fn code<'a>(texts: &[&'a str]) -> Vec<Instruction<'a>> {
        texts
            .iter()
            .map(|text| Instruction { text, may_load: text.contains('('), may_store: false, is_certain: true })
            .collect()
    }

    fn tightest(code: &[Instruction], times: &[Times]) -> Option<Chain> {
        super::tightest(code, &registers::of(code.iter().map(|instruction| instruction.text)), times, &[])
    }

    /// A chain that is all in the timeline.
    fn simulated(code: &[usize], cycles: f64, at_most: bool) -> Chain {
        Chain { code: code.to_vec(), cycles, at_most, by_move: false, by_memory: false }
    }

    /// A sum takes three cycles and its load seven before: it begins seven cycles before the one that it adds to is done.
    #[test]
    fn what_is_read_late_is_believed_where_the_texts_name_it() {
        let late = times(&(0..8).map(|i| (3 * i, 3 * i + 10)).collect::<Vec<_>>());
        let expected = simulated(&[0], 3.0, false);
        assert_eq!(tightest(&code(&["addsd\t(%rdi), %xmm0"]), &late), Some(expected));
        for no_chain in ["movsd\t(%rdi), %xmm0", "vaddsd\t(%rdi), %xmm1, %xmm0", "addsd\t%xmm0, (%rdi)"] {
            assert_eq!(tightest(&code(&[no_chain]), &late), None, "{no_chain}");
        }
    }

    /// A product of three cycles, and the sum after it, which llvm-mca starts with it.
    #[test]
    fn a_load_that_is_held_back_makes_a_chain_of_at_most_so_many_cycles() {
        let both = times(&(0..8).flat_map(|i| [(10 * i, 10 * i + 3), (10 * i, 10 * i + 10)]).collect::<Vec<_>>());
        let found = tightest(&code(&["mulsd\t%xmm1, %xmm0", "addsd\t(%rdi), %xmm0"]), &both);
        assert_eq!(found, Some(simulated(&[0, 1], 10.0, true)));
    }

    /// An instruction of four cycles every five: it waits a cycle for a unit, which is no part of its chain.
    #[test]
    fn waiting_for_a_unit_is_no_part_of_a_chain() {
        let busy: Vec<Times> =
            (0..8).map(|i| Times { dispatched: -1, ready: 5 * i, issued: 5 * i + 1, done: 5 * i + 5 }).collect();
        assert_eq!(tightest(&code(&["mulsd\t%xmm1, %xmm0"]), &busy).unwrap().cycles, 4.0);
    }

    /// A loop that stores what it computed anew: each instruction happens to be ready when the other of the iteration before is done.
    #[test]
    fn chance_is_no_chain() {
        let both = times(&(0..8).flat_map(|i| [(2 * i, 2 * i + 1), (2 * i + 1, 2 * i + 2)]).collect::<Vec<_>>());
        assert_eq!(tightest(&code(&["vpsubd\t%xmm2, %xmm1, %xmm0", "movq\t%xmm0, %rax"]), &both), None);
    }

    /// Two that take turns, each ready when the other is done: the chain of one iteration is that of both by two.
    #[test]
    fn a_chain_of_two_iterations_is_shared_out() {
        let turns = times(&(0..8).flat_map(|i| [(3 * i, 3 * i + 1), (3 * i + 1, 3 * i + 3)]).collect::<Vec<_>>());
        let found = tightest(&code(&["add\t%rax, %rbx", "add\t%rbx, %rax"]), &turns).unwrap();
        assert_eq!((found.code, found.cycles), (vec![0, 1], 3.0));
        let crossed = times(&(0..8).flat_map(|i| [(2 * i, 2 * i + 2), (2 * i, 2 * i + 2)]).collect::<Vec<_>>());
        let found = tightest(&code(&["add\t%rax, %rbx", "add\t%rbx, %rax"]), &crossed).unwrap();
        assert_eq!(found.cycles, 2.0);
    }

    /// `t = a + b; a = b; b = t * 0.5` as gcc compiles it and llvm-mca 19 simulates it on a Zen 4: a sum of three cycles, then a product of three. A move hands
    /// on the product of two iterations before, too, for which the sum waits no longer than for the last one.
    #[test]
    fn of_two_results_that_are_needed_the_later_one_counts() {
        let of = |i: i64| {
            let free = (6 * i, 6 * i);
            [free, (i, i + 1), free, (6 * i, 6 * i + 3), (6 * i + 3, 6 * i + 3), (6 * i + 3, 6 * i + 6), (i + 1, i + 2)]
        };
        let times = times(&(0..8).flat_map(of).collect::<Vec<_>>());
        let texts = [
            "movapd\t%xmm0, %xmm2",
            "addq\t$1, %rax",
            "movapd\t%xmm1, %xmm0",
            "addsd\t%xmm1, %xmm2",
            "movapd\t%xmm2, %xmm1",
            "mulsd\t%xmm3, %xmm1",
            "cmpq\t%rax, %rdi",
        ];
        assert_eq!(tightest(&code(&texts), &times), Some(simulated(&[3, 5], 6.0, false)));
    }

    /// Three instructions of two cycles, each of which waits for the one before it and for its own result of two iterations before: the chain of all
    /// takes six cycles in an iteration, but through each of them leads one of fewer instructions.
    #[test]
    fn a_chain_of_more_instructions_may_be_the_longest() {
        let edge = |other: usize, before: i64| Edge { other, before, early: 0, known: Known::Named };
        let edges: Vec<Vec<Edge>> = (0..3).map(|i| vec![edge(i, 2), edge((i + 2) % 3, i64::from(i == 0))]).collect();
        let last = times(&[(0, 2), (2, 4), (4, 6)]);
        assert!((0..3).all(|start| circle(&edges, start, true).unwrap().len() == 1), "two cycles in two iterations");
        let found = longer(&edges, &last, Length { cycles: 2, iterations: 2 }).unwrap();
        let length = Length::of(&found, &last);
        assert_eq!((found.len(), length.cycles, length.iterations), (3, 6, 1));
        assert!(longer(&edges, &last, length).is_none());
    }

    /// A sum with carry as gcc 12 compiles it and llvm-mca 19 simulates it on a Zen 4: `adcq` of five cycles, begun with the `addb` that makes its carry.
    #[test]
    fn flags_come_from_the_last_that_wrote_them_and_loads_do_not_wait_for_them() {
        let of = |late: i64| {
            let of = move |i: i64| {
                let start = (6 + late) * i;
                let (sum, carry) = ((start + late, start + late + 5), (start + late + 5, start + late + 6));
                [(i, i + 5), (start, start + 1), sum, carry, (i, i + 1), (i + 1, i + 2)]
            };
            times(&(0..8).flat_map(of).collect::<Vec<_>>())
        };
        let texts = [
            "movq\t(%rdi,%r8,8), %r9",
            "addb\t$-1, %al",
            "adcq\t(%rsi,%r8,8), %r9",
            "setb\t%al",
            "addq\t$1, %r8",
            "cmpq\t%r8, %rcx",
        ];
        let found = |late: i64| tightest(&code(&texts), &of(late));
        assert_eq!(found(0), Some(simulated(&[1, 2, 3], 6.0, true)));
        // Other processors' models begin it after the `addb`.
        assert_eq!(found(1), Some(simulated(&[1, 2, 3], 7.0, true)));
    }

    /// `s = b[i] / s` as llvm-mca 19 simulates it on a Zen 4: the quotient of 13 cycles is copied by a move that takes no time, and then its register is
    /// loaded anew; each division waits for that load alone, and begins five cycles after the one before, when the divider is free.
    #[test]
    fn a_chain_through_a_move_is_found_without_the_timeline() {
        let of = |i: i64| {
            let (load, division) = ((5 * i, 5 * i + 7), (5 * i + 7, 5 * i + 20));
            [load, division, (5 * i + 20, 5 * i + 20)]
        };
        let times = times(&(0..8).flat_map(of).collect::<Vec<_>>());
        let texts = ["movsd\t(%rax), %xmm1", "divsd\t%xmm0, %xmm1", "movapd\t%xmm1, %xmm0"];
        let found = tightest(&code(&texts), &times);
        assert_eq!(found, Some(Chain { by_move: true, ..simulated(&[1], 13.0, false) }));
    }

    /// A load of 7 cycles, an addition of 3 and a store of 1, of which an iteration begins each cycle for llvm-mca.
    #[test]
    fn a_chain_through_memory_takes_a_store_and_a_load() {
        let times = times(&(0..8).flat_map(|i| [(i, i + 7), (i + 7, i + 10), (i + 10, i + 11)]).collect::<Vec<_>>());
        let texts = ["movsd\t(%rdi), %xmm0", "addsd\t%xmm1, %xmm0", "movsd\t%xmm0, (%rdi)"];
        let (code, operands) = (code(&texts), registers::of(texts.into_iter()));
        let found = |before| super::tightest(&code, &operands, &times, &[Forward { store: 2, load: 0, before }]);
        assert_eq!(found(1), Some(Chain { by_memory: true, ..simulated(&[0, 1, 2], 11.0, false) }));
        assert_eq!(found(2).unwrap().cycles, 5.5);
        assert_eq!(super::tightest(&code, &operands, &times, &[]), None);
    }

    /// Products and sums make the next; what is computed of them and stored does not.
    #[test]
    fn what_only_reads_a_circle_does_not_come_back() {
        let texts =
            ["imull\t$3, %eax, %eax", "addl\t$5, %eax", "movl\t%eax, %edx", "shrl\t$7, %edx", "movl\t%edx, (%rdi)"];
        assert_eq!(come_back(&registers::of(texts.into_iter())), [true, true, false, false, false]);
    }
}
