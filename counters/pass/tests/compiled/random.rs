//! Random control-flow graphs counted by the pass and by LLVM's SanitizerCoverage.

use std::fmt::Write;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::tools::{Bench, Source, total};

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

/// The program of these functions. A random number drives the branches, fuel ends every activation.
fn program(functions: &[Function]) -> String {
    let mut text = "#include <stdio.h>\n#include <stdlib.h>\nstatic unsigned x = 1;\nstatic long fuel = 3000;\n\
        static unsigned next(void) { x = x * 1664525u + 1013904223u; return x >> 8; }\n"
        .to_owned();
    for (number, blocks) in functions.iter().enumerate() {
        writeln!(text, "__attribute__((noinline)) static unsigned f{number}(unsigned s) {{").unwrap();
        for (index, (end, calls)) in blocks.iter().enumerate() {
            writeln!(text, "b{index}: s += {index}; if (--fuel < 0) {{ if (fuel < -20) exit(7); return s; }}").unwrap();
            if *calls && number > 0 {
                writeln!(text, "s ^= f{}(s);", (index * 7 + number) % number).unwrap();
            }
            match end {
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
    let last = functions.len() - 1;
    writeln!(text, "int main() {{ unsigned s = 0; for (int i = 0; i < 40; i++) {{ s += f{last}(i); fuel += 300; }}")
        .unwrap();
    text.push_str("printf(\"%u\\n\", s); return 0; }\n");
    text
}

/// POISE_TEST_GRAPHS sets how many programs are tried.
#[test]
fn random_graphs_count_the_same() {
    let cases = std::env::var("POISE_TEST_GRAPHS").ok().and_then(|n| n.parse().ok()).unwrap_or(12);
    let mut runner =
        TestRunner::new(Config { cases, max_shrink_iters: 60, failure_persistence: None, ..Config::default() });
    let levels = prop::sample::select(vec!["-O0", "-O1", "-O2", "-O3"]);
    runner
        .run(&(prop::collection::vec(function(), 1..4), levels), |(functions, level)| {
            let (bench, text) = (Bench::new(), program(&functions));
            let source = Source { text: &text, language: "c" };
            let run = bench.measure(&bench.counted(&source, &[level]), &[]);
            prop_assert_eq!(total(run.profile()), bench.covered(&source, &[level], &[]), "{}", level);
            Ok(())
        })
        .unwrap();
}
