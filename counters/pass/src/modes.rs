//! The noise modes: what one pattern of each is, per instruction set. Nothing of it may be seen by the program: no
//! flag that a program could test, no floating-point exception, no memory but the noise's own.
//!
//! Patterns do not depend on each other, so that what is measured is a resource's throughput. Where an instruction reads
//! its destination (SSE, and fused multiply-add on x86-64), several destinations take turns.

use std::fmt::Write;

/// An instruction set, as far as the patterns differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// x86-64 with two operands.
    Sse,
    /// x86-64 with three operands.
    Avx {
        /// Whether it has fused multiply-add.
        fma: bool,
    },
    /// AArch64.
    A64,
}

impl Instructions {
    /// Those of a function by LLVM's names of its target and features; `None` for processors that are not known.
    pub fn of(triple: &str, features: &str) -> Option<Self> {
        let has = |name: &str| features.split(',').any(|feature| feature.strip_prefix('+') == Some(name));
        match triple.split('-').next()? {
            "x86_64" if has("avx") => Some(Self::Avx { fma: has("fma") }),
            "x86_64" => Some(Self::Sse),
            "aarch64" => Some(Self::A64),
            _ => None,
        }
    }

    fn float(self) -> &'static str {
        if self == Self::A64 { "=&w" } else { "=&x" }
    }
}

/// What the assembly gets from the program around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Nothing.
    None,
    /// The address of a buffer and a random offset into it.
    Buffer,
    /// The address of a line on the stack.
    Line,
}

/// Inline assembly, in LLVM's notation.
#[derive(Debug, PartialEq, Eq)]
pub struct Assembly {
    /// The instructions.
    pub text: String,
    /// Constraints of outputs, then inputs.
    pub constraints: String,
    /// Outputs in floating-point registers that nothing reads.
    pub floats: u32,
    /// Outputs in integer registers that nothing reads.
    pub integers: u32,
    /// Inputs.
    pub input: Input,
}

/// One mode on one instruction set: `setup` once an iteration, then k times `pattern`.
struct Row {
    floats: u32,
    integers: u32,
    input: Input,
    /// `{}` is the number of a register: the setup is repeated for each that the patterns take turns in.
    setup: &'static str,
    /// `{r}` is the register whose turn it is, `{d}` a displacement.
    pattern: &'static str,
    /// How many registers take turns.
    turns: u32,
    /// Displacements: this distance, in an order without a stride.
    distance: u32,
}

/// A row without memory or turns.
const fn row(floats: u32, integers: u32, setup: &'static str, pattern: &'static str) -> Row {
    Row { floats, integers, input: Input::None, setup, pattern, turns: 1, distance: 0 }
}

/// Names of all modes; the first seven are measured unless others are asked for.
pub const MODES: [&str; 9] =
    ["fp_add64", "fp_mul64", "fma64", "int64_add", "l1_ld64", "memory_ld64", "nop", "fp_div64", "store64"];
/// How many of [`MODES`] are measured by default.
pub const DEFAULT_MODES: usize = 7;

/// The table. `None` where the instruction set lacks the mode.
fn lookup(mode: &str, instructions: Instructions) -> Option<Row> {
    use Instructions::{A64, Avx, Sse};
    let four = |pattern| Row { turns: 4, ..row(4, 0, "xorps ${r}, ${r}", pattern) };
    Some(match (mode, instructions) {
        ("fp_add64", Avx { .. }) => row(2, 0, "vxorps $1, $1, $1", "vaddsd $1, $1, $0"),
        ("fp_add64", Sse) => four("addsd ${r}, ${r}"),
        ("fp_add64", A64) => row(2, 0, "movi ${1:d}, #0", "fadd ${0:d}, ${1:d}, ${1:d}"),
        ("fp_mul64", Avx { .. }) => row(2, 0, "vxorps $1, $1, $1", "vmulsd $1, $1, $0"),
        ("fp_mul64", Sse) => four("mulsd ${r}, ${r}"),
        ("fp_mul64", A64) => row(2, 0, "movi ${1:d}, #0", "fmul ${0:d}, ${1:d}, ${1:d}"),
        ("fma64", Avx { fma: true }) => {
            Row { turns: 4, ..row(4, 0, "vxorps ${r}, ${r}, ${r}", "vfmadd231sd ${r}, ${r}, ${r}") }
        }
        ("fma64", A64) => row(2, 0, "movi ${1:d}, #0", "fmadd ${0:d}, ${1:d}, ${1:d}, ${1:d}"),
        // An address computation changes no flags.
        ("int64_add", Avx { .. } | Sse) => row(0, 1, "", "leaq 1(%rsp), $0"),
        ("int64_add", A64) => row(0, 1, "", "add $0, sp, #1"),
        // The first word of the thread's control block, which is its own address.
        ("l1_ld64", Avx { .. } | Sse) => row(0, 1, "", "movq %fs:0, $0"),
        ("l1_ld64", A64) => row(0, 1, "", "ldr $0, [sp]"),
        ("memory_ld64", Avx { .. } | Sse) => Row {
            input: Input::Buffer,
            distance: 516_160, // 126 pages and a line: other pages and other sets each time.
            ..row(0, 1, "", "movq {d}($1,$2), $0")
        },
        // A displacement has 12 bits, times 8 bytes.
        ("memory_ld64", A64) => {
            Row { input: Input::Buffer, distance: 504, ..row(0, 2, "add $1, $2, $3", "ldr $0, [$1, #{d}]") }
        }
        ("nop", _) => row(0, 0, "", "nop"),
        // One by one is one, exactly; made without a load.
        ("fp_div64", Avx { .. }) => {
            row(2, 0, "vpcmpeqd $1, $1, $1\n\tvpsllq $$54, $1, $1\n\tvpsrlq $$2, $1, $1", "vdivsd $1, $1, $0")
        }
        ("fp_div64", Sse) => Row {
            turns: 4,
            ..row(4, 0, "pcmpeqd ${r}, ${r}\n\tpsllq $$54, ${r}\n\tpsrlq $$2, ${r}", "divsd ${r}, ${r}")
        },
        ("fp_div64", A64) => row(2, 0, "fmov ${1:d}, #1.00000000", "fdiv ${0:d}, ${1:d}, ${1:d}"),
        ("store64", Avx { .. } | Sse) => Row { input: Input::Line, distance: 8, ..row(0, 0, "", "movq %rsp, {d}($0)") },
        ("store64", A64) => Row { input: Input::Line, distance: 8, ..row(0, 0, "", "str xzr, [$0, #{d}]") },
        _ => return None,
    })
}

/// Displacements repeat after this many patterns; those of the line fit into it.
const DISPLACEMENTS: u32 = 64;
/// A number without a common divisor with [`DISPLACEMENTS`], so that multiples of it visit all.
const JUMP: u32 = 37;
/// Words of the line on the stack.
const LINE: u32 = 8;

/// `k` patterns of `mode`; `None` where the instruction set lacks the mode.
pub fn assembly(mode: &str, k: u32, instructions: Instructions) -> Option<Assembly> {
    let row = lookup(mode, instructions)?;
    let mut lines = Vec::new();
    if !row.setup.is_empty() && k > 0 {
        lines.extend((0..row.turns.min(k)).map(|register| row.setup.replace("{r}", &register.to_string())));
    }
    let places = if row.input == Input::Line { LINE } else { DISPLACEMENTS };
    for index in 0..k {
        let displacement = index * JUMP % places * row.distance;
        let line = row.pattern.replace("{r}", &(index % row.turns).to_string());
        lines.push(line.replace("{d}", &displacement.to_string()));
    }
    let mut constraints = String::new();
    let mut add = |constraint: &str, times: u32| {
        for _ in 0..times {
            let comma = if constraints.is_empty() { "" } else { "," };
            let _ = write!(constraints, "{comma}{constraint}");
        }
    };
    add(instructions.float(), row.floats);
    add("=&r", row.integers);
    add(
        "r",
        match row.input {
            Input::None => 0,
            Input::Line => 1,
            Input::Buffer => 2,
        },
    );
    let Row { floats, integers, input, .. } = row;
    Some(Assembly { text: lines.join("\n\t"), constraints, floats, integers, input })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_exists_on_every_instruction_set_with_k_patterns() {
        for instructions in [Instructions::Sse, Instructions::Avx { fma: true }, Instructions::A64] {
            for mode in MODES {
                let Some(five) = assembly(mode, 5, instructions) else {
                    assert_eq!((mode, instructions), ("fma64", Instructions::Sse));
                    continue;
                };
                let six = assembly(mode, 6, instructions).unwrap();
                assert_eq!(six.text.lines().count(), five.text.lines().count() + 1, "{mode} {instructions:?}");
                assert_eq!(assembly(mode, 0, instructions).unwrap().text, "");
            }
        }
    }

    #[test]
    fn instruction_sets_are_known_by_their_names() {
        assert_eq!(Instructions::of("x86_64-pc-linux-gnu", "+sse2,+x87"), Some(Instructions::Sse));
        assert_eq!(Instructions::of("x86_64-pc-linux-gnu", "+avx2,+avx,-fma"), Some(Instructions::Avx { fma: false }));
        assert_eq!(Instructions::of("aarch64-unknown-linux-gnu", "+neon"), Some(Instructions::A64));
        assert_eq!(Instructions::of("riscv64-unknown-linux-gnu", ""), None);
    }

    #[test]
    fn loads_from_memory_go_to_other_lines_in_no_order() {
        let text = assembly("memory_ld64", 64, Instructions::Avx { fma: true }).unwrap().text;
        let places: Vec<i64> =
            text.lines().map(|line| line.trim_start().split([' ', '(']).nth(1).unwrap().parse().unwrap()).collect();
        let distinct: std::collections::BTreeSet<_> = places.iter().map(|place| place / 64).collect();
        assert_eq!(distinct.len(), 64);
        let steps: std::collections::BTreeSet<_> = places.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(steps.len() > 1);
    }
}
