//! Random control-flow graphs counted by the pass and by LLVM's SanitizerCoverage.

use std::fmt::Write;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

use crate::tools::{Bench, LLVMS, Source, total};

/// How a block of a generated function ends.
#[derive(Clone, Debug)]
enum End {
    Goto(usize),
    Branch(u32, usize, usize),
    Switch(Vec<usize>),
    Return,
}

/// Blocks of one function, jumping anywhere among each other; every block may call an earlier function.
type Function = Vec<(End, bool)>;

fn function() -> impl Strategy<Value = Function> {
    (2usize..14).prop_flat_map(|n| {
        let end = prop_oneof![
            2 => (0..n).prop_map(End::Goto),
            4 => (1u32..5, 0..n, 0..n).prop_map(|(bits, a, b)| End::Branch(bits, a, b)),
            1 => prop::collection::vec(0..n, 3..6).prop_map(End::Switch),
            1 => Just(End::Return),
        ];
        prop::collection::vec((end, prop::bool::weighted(0.2)), n)
    })
}

/// Functions that call each other: each group's members call earlier ones of the group.
const GROUP: usize = 3;
/// Functions in one program: compiling one by one would take hours.
const BATCH: usize = 120;

/// The program of these functions. A random number drives the branches, fuel ends every activation, and the last group may end the
/// program.
fn program(functions: &[Function]) -> String {
    let mut text = "#include <stdio.h>\n#include <stdlib.h>\nstatic unsigned x = 1;\nstatic long fuel;\n\
        static unsigned next(void) { x = x * 1664525u + 1013904223u; return x >> 8; }\n"
        .to_owned();
    for (number, blocks) in functions.iter().enumerate() {
        let first = number / GROUP * GROUP;
        let end = if first + GROUP >= functions.len() { "if (fuel < -1) exit(7); " } else { "" };
        writeln!(text, "__attribute__((noinline)) static unsigned f{number}(unsigned s) {{").unwrap();
        for (index, (how, calls)) in blocks.iter().enumerate() {
            writeln!(text, "b{index}: s += {index}; if (--fuel < 0) {{ {end}return s; }}").unwrap();
            if *calls && number > first {
                writeln!(text, "s ^= f{}(s);", first + (index * 7 + number) % (number - first)).unwrap();
            }
            match how {
                End::Goto(to) => writeln!(text, "goto b{to};"),
                End::Branch(bits, a, b) => writeln!(text, "if (next() & {bits}) goto b{a}; else goto b{b};"),
                End::Switch(to) => {
                    let cases = to.iter().enumerate().map(|(i, to)| format!("case {i}: goto b{to}; "));
                    writeln!(text, "switch (next() % {}) {{ {}}} return 1;", to.len() + 1, cases.collect::<String>())
                }
                End::Return => writeln!(text, "return s;"),
            }
            .unwrap();
        }
        text.push_str("}\n");
    }
    text.push_str("int main() { unsigned s = 0;\n");
    for number in 0..functions.len() {
        writeln!(text, "for (int i = 0; i < 10; i++) {{ fuel = 300; s += f{number}(i); }}").unwrap();
    }
    text.push_str("printf(\"%u\\n\", s); return 0; }\n");
    text
}

/// Programs for each level and LLVM; POISE_TEST_GRAPHS sets another number.
fn programs() -> u32 {
    std::env::var("POISE_TEST_GRAPHS").ok().and_then(|n| n.parse().ok()).unwrap_or(3)
}

/// Compares both counts of all programs that `texts` gives, at these levels.
fn agree(texts: impl Strategy<Value = String>, levels: &[&str]) {
    let config = Config { cases: programs(), max_shrink_iters: 40, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new(config);
    for llvm in LLVMS {
        for level in levels {
            runner
                .run(&texts, |text| {
                    let (bench, flags) = (Bench::of(llvm), [level, "-fwrapv"]);
                    let source = Source { text: &text, language: "c" };
                    let run = bench.measure(&bench.counted(&source, &flags), &[]);
                    let counted = total(run.profile());
                    prop_assert!(counted > 1000, "{}", counted);
                    prop_assert_eq!(counted, bench.covered(&source, &flags, &[]), "{} {}\n{}", llvm, level, text);
                    Ok(())
                })
                .unwrap();
        }
    }
}

/// Almost three thousand graphs of loops with many entries and exits, switches and calls.
#[test]
fn random_graphs_count_the_same() {
    let functions = prop::collection::vec(function(), BATCH);
    agree(functions.prop_map(|functions| program(&functions)), &["-O0", "-O1", "-O2", "-O3"]);
}

/// Structured code: what closed forms are for.
#[derive(Clone, Debug)]
enum Statement {
    /// Arithmetic on the array.
    Work(u32),
    /// `for` from, to as a multiple of the innermost variable or of n, step.
    For(u32, u32, u32, Vec<Statement>),
    /// A conditional on the data.
    If(u32, Vec<Statement>),
    /// A conditional break out of the innermost loop.
    Break(u32),
}

fn statements() -> impl Strategy<Value = Vec<Statement>> {
    let leaf = prop_oneof![4 => (1u32..9).prop_map(Statement::Work), 1 => (0u32..200).prop_map(Statement::Break)];
    let statement = leaf.prop_recursive(4, 16, 4, |inner| {
        let body = prop::collection::vec(inner, 1..4);
        prop_oneof![
            3 => (0u32..3, 0u32..4, 1u32..4, body.clone()).prop_map(|(a, b, c, body)| Statement::For(a, b, c, body)),
            1 => (1u32..8, body).prop_map(|(mask, body)| Statement::If(mask, body)),
        ]
    });
    prop::collection::vec(statement, 1..4)
}

/// The C text of `body`; `depth` loops surround it.
fn nest(body: &[Statement], depth: usize, text: &mut String) {
    let variable = format!("i{depth}");
    for statement in body {
        match statement {
            Statement::Work(factor) => writeln!(text, "a[({variable} * {factor}) & 63] += {factor} + s;"),
            Statement::Break(value) if depth > 0 => writeln!(text, "if (a[{variable} & 63] % 211 == {value}) break;"),
            Statement::Break(value) => writeln!(text, "s += {value};"),
            Statement::If(mask, body) => {
                writeln!(text, "if (a[{variable} & 63] & {mask}) {{").unwrap();
                nest(body, depth, text);
                writeln!(text, "}}")
            }
            Statement::For(from, to, step, body) => {
                let inner = depth + 1;
                let bound = if to % 2 == 0 { format!("n + {to}") } else { format!("{variable} + {}", 2 * to) };
                writeln!(text, "for (int i{inner} = {from}; i{inner} < {bound}; i{inner} += {step}) {{").unwrap();
                nest(body, inner, text);
                writeln!(text, "s ^= i{inner}; }}")
            }
        }
        .unwrap();
    }
}

/// The program of these loop nests, a function each.
fn nests(bodies: &[Vec<Statement>]) -> String {
    let mut text = "#include <stdio.h>\nstatic int a[64];\n".to_owned();
    for (number, body) in bodies.iter().enumerate() {
        writeln!(text, "__attribute__((noinline)) static int f{number}(int n, int i0) {{ int s = 0;").unwrap();
        nest(body, 0, &mut text);
        text.push_str("return s; }\n");
    }
    text.push_str("int main() { int s = 0;\n");
    for number in 0..bodies.len() {
        writeln!(text, "for (int n = 0; n < 9; n++) s += f{number}(n, n / 2);").unwrap();
    }
    text + "for (int i = 0; i < 64; i++) s ^= a[i];\nprintf(\"%d\\n\", s); return 0; }\n"
}

/// Almost three thousand nests of loops, most of them with trip counts known when they are entered, some with breaks.
#[test]
fn random_loop_nests_count_the_same() {
    agree(loop_nests(BATCH), &["-O0", "-O1", "-O2", "-O3"]);
}

/// Programs of so many functions with loop nests.
pub fn loop_nests(functions: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(statements(), functions).prop_map(|bodies| nests(&bodies))
}

/// One of what `strategy` may give, the same on every run.
pub fn one_of(strategy: impl Strategy<Value = String>) -> String {
    strategy.new_tree(&mut TestRunner::deterministic()).unwrap().current()
}
