//! Which register an instruction's text says that it writes, and which it reads: of x86-64 in AT&T's syntax, AArch64 and RISC-V. Operands that
//! the text does not show, such as flags, are not known here.

use std::collections::BTreeSet;

/// The registers in the text of an instruction, by the name of the widest register that each is part of.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Operands {
    pub writes: BTreeSet<String>,
    pub reads: BTreeSet<String>,
    /// Whether it reads flags, which no text shows.
    pub reads_flags: bool,
    /// Whether it writes them.
    pub writes_flags: bool,
    /// Whether it writes all of them always, so that none is left of what was written before.
    writes_all_flags: bool,
    /// Whether it reads a register that the text does not show.
    reads_more: bool,
    /// Whether it writes such.
    pub writes_more: bool,
    /// Whether it is a move between registers.
    is_move: bool,
}

/// What begins the names of instructions that read flags.
const READ_FLAGS: [&str; 18] = [
    "cmov", "set", "adc", "ado", "sbb", "j", "rcl", "rcr", "csel", "cs", "cin", "cneg", "ccm", "fccm", "fcsel", "b.",
    "sbc", "ngc",
];
/// What may stand before a name.
const PREFIXES: [&str; 8] = ["lock", "rep", "repe", "repne", "notrack", "{evex}", "{vex}", "{vex3}"];
/// What begins the names of x86-64's instructions that neither read nor write.
const X86_NOTHING: [&str; 7] = ["nop", "vzero", "endbr", "pause", "lfence", "sfence", "mfence"];
/// What begins the names of those that read their last operand, or jump to it, and write none; `cmp`, `bt` and `vptest` have others' names that
/// begin alike.
const X86_READ_ONLY: [&str; 12] =
    ["test", "ucomis", "comis", "vucomis", "vcomis", "push", "j", "call", "prefetch", "ptest", "vtestp", "kortest"];
/// What is in the names of those that write their last operand and do not read it, though they have but two.
const X86_WRITE_ONLY: [&str; 9] = ["mov", "lea", "sqrt", "cvt", "cnt", "rcp", "abs", "aesimc", "lddqu"];
/// Moves into a half of a register.
const X86_HALVES: [&str; 6] = ["movhps", "movhpd", "movlps", "movlpd", "movhlps", "movlhps"];
/// What begins the names of those that have three operands without being of AVX, and do not read the last.
const X86_THREE: [&str; 17] = [
    "imul",
    "pshufd",
    "pshuflw",
    "pshufhw",
    "pshufw",
    "round",
    "pext",
    "pdep",
    "extractps",
    "aeskeygen",
    "andn",
    "bextr",
    "bzhi",
    "rorx",
    "sarx",
    "shlx",
    "shrx",
];
/// What is in the names of AVX's instructions that read their last operand, too: multiply-add and the like.
const X86_ACCUMULATE: [&str; 17] = [
    "132",
    "213",
    "231",
    "maddc",
    "vpdp",
    "vdpbf16",
    "vpternlog",
    "vpmadd52",
    "vpermt2",
    "vpermi2",
    "vfixupimm",
    "vpshldv",
    "vpshrdv",
    "gather",
    "v4fmadd",
    "v4fnmadd",
    "vp4dp",
];
/// What begins the names of x86-64's instructions that write flags, but for those that write a vector.
const X86_WRITE_FLAGS: [&str; 37] = [
    "add", "sub", "and", "or", "xor", "inc", "dec", "neg", "cmp", "test", "bt", "sh", "sa", "ro", "rc", "adc", "sbb",
    "ado", "mul", "imul", "popcnt", "lzcnt", "tzcnt", "bsf", "bsr", "bls", "bextr", "bzhi", "xadd", "ucomis", "comis",
    "vucomis", "vcomis", "ptest", "vtest", "kortest", "rd",
];
/// What begins the names of shifts and products that do not.
const X86_KEEP_FLAGS: [&str; 5] = ["rorx", "sarx", "shlx", "shrx", "mulx"];
/// Of these, those that write all flags, by their names without the letter of a size.
const X86_ALL_FLAGS: [&str; 10] = ["add", "sub", "adc", "sbb", "and", "or", "xor", "neg", "cmp", "test"];
/// And by what begins their names.
const X86_ALL_FLAGS_BEGIN: [&str; 8] = ["ucomis", "comis", "vucomis", "vcomis", "ptest", "vptest", "popcnt", "andn"];
/// AArch64's instructions that write no register of their first operand: comparisons and branches.
const READ_ONLY: [&str; 16] = [
    "cmp", "cmn", "tst", "ccmp", "ccmn", "fcmp", "fcmpe", "fccmp", "fccmpe", "cbz", "cbnz", "tbz", "tbnz", "br", "blr",
    "ptest",
];
/// RISC-V's: stores and branches.
const READ_ONLY_NAMES: [&str; 21] = [
    "sb", "sh", "sw", "sd", "fsh", "fsw", "fsd", "beq", "bne", "blt", "bge", "bltu", "bgeu", "beqz", "bnez", "bltz",
    "bgez", "bgtz", "blez", "jr", "jalr",
];
/// What begins the names of AArch64's instructions that read the register which they write.
const ACCUMULATE: [&str; 38] = [
    "fmla", "fmls", "fcmla", "mla", "mls", "smlal", "smlsl", "umlal", "umlsl", "sqdmlal", "sqdmlsl", "sqrdmla",
    "sqrdmls", "sdot", "udot", "usdot", "sudot", "bfdot", "smmla", "ummla", "usmmla", "fmmla", "bfm", "bfi", "bfxil",
    "movk", "ins", "saba", "uaba", "sadalp", "uadalp", "ssra", "usra", "srsra", "ursra", "inc", "dec", "tbx",
];
/// Names of others that do.
const ACCUMULATE_NAMES: [&str; 17] = [
    "bsl",
    "bit",
    "bif",
    "sli",
    "sri",
    "aese",
    "aesd",
    "sha1c",
    "sha1p",
    "sha1m",
    "sha1su0",
    "sha1su1",
    "sha256h",
    "sha256h2",
    "sha256su0",
    "sha256su1",
    "cdot",
];
/// What begins the names of AArch64's instructions that write flags.
const WRITE_FLAGS: [&str; 8] = ["cmp", "cmn", "tst", "ccm", "fcmp", "fccm", "while", "ptest"];
/// Names of others that do.
const WRITE_FLAGS_NAMES: [&str; 13] =
    ["adds", "subs", "ands", "bics", "adcs", "sbcs", "negs", "ngcs", "ptrues", "brkas", "brkbs", "brkns", "rdffrs"];

/// The registers of a loop's instructions.
pub(crate) fn of<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> Vec<Operands> {
    let is_x86 = texts.clone().any(|text| text.contains('%'));
    texts.map(|text| if is_x86 { x86(text) } else { reduced(text) }).collect()
}

/// Who made a register that an instruction reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Maker {
    /// The instruction.
    pub index: usize,
    /// How many iterations before.
    pub before: usize,
    /// Whether llvm-mca takes another for it. It lets the copy that an eliminated move makes stand for the register that was copied, also
    /// after that was written anew: the reader of the copy then waits for what the register holds now.
    pub is_lost: bool,
}

/// Who made what an instruction reads, flags with it where that is certain. What moves in no time (`is_free`) makes nothing: what it reads was made by somebody else.
pub(super) fn makers(code: &[Operands], is_free: &[bool], reader: usize) -> Vec<Maker> {
    // Instructions of all iterations are numbered through, those of the reader's from 0.
    let count = code.len() as isize;
    let at = |number: isize| number.rem_euclid(count) as usize;
    let writes = |number: isize, register: &String| code[at(number)].writes.contains(register);
    let writer = |register: &String, before: isize| (before - count..before).rev().find(|&n| writes(n, register));
    let maker = |register: &String| {
        let mut found = writer(register, reader as isize)?;
        let mut is_lost = false;
        // A circle of moves ends, too.
        for _ in 0..code.len() {
            match code[at(found)].reads.first().filter(|_| code[at(found)].is_move && is_free[at(found)]) {
                Some(source) => {
                    is_lost |= (found + 1..reader as isize).any(|between| writes(between, source));
                    found = writer(source, found)?;
                }
                None => break,
            }
        }
        Some(Maker { index: at(found), before: -found.div_euclid(count) as usize, is_lost })
    };
    let flags = flags_maker(code, reader).map(|(index, before)| Maker { index, before, is_lost: false });
    code[reader].reads.iter().filter_map(maker).chain(flags).collect()
}

/// Who made the flags that an instruction reads, and how many iterations before, where that is certain: the last that wrote any wrote all.
pub(super) fn flags_maker(code: &[Operands], reader: usize) -> Option<(usize, usize)> {
    if !code[reader].reads_flags {
        return None;
    }
    let this = (0..reader).rev().map(|index| (index, 0));
    let before = (reader..code.len()).rev().map(|index| (index, 1));
    let last = this.chain(before).find(|&(index, _)| code[index].writes_flags || code[index].writes_more);
    last.filter(|&(index, _)| code[index].writes_all_flags)
}

/// Whether an instruction may need what another made though the texts do not say it ([`makers`] has what they do).
pub(super) fn may_need(code: &[Operands], maker: usize, reader: usize) -> bool {
    let may_need_flags = code[reader].reads_flags && code[maker].writes_flags && flags_maker(code, reader).is_none();
    let (maker, reader) = (&code[maker], &code[reader]);
    let makes_any = !maker.writes.is_empty() || maker.writes_more;
    may_need_flags
        || reader.reads_more && makes_any
        || maker.writes_more && (reader.reads_more || !reader.reads.is_empty())
}

fn reads_flags(name: &str) -> bool {
    begins(name, &READ_FLAGS)
}

fn begins(name: &str, starts: &[&str]) -> bool {
    starts.iter().any(|start| name.starts_with(start))
}

/// An instruction's name and its operands, of which those in brackets are one.
pub(super) fn parts(text: &str) -> (&str, Vec<&str>) {
    let split = |text: &'_ str| -> usize { text.find(char::is_whitespace).unwrap_or(text.len()) };
    let mut text = text.trim();
    while PREFIXES.contains(&&text[..split(text)]) && split(text) < text.len() {
        text = text[split(text)..].trim_start();
    }
    let (name, rest) = text.split_at(split(text));
    let mut depth = 0;
    let is_border = |c: char| {
        depth += i32::from(matches!(c, '(' | '[' | '{')) - i32::from(matches!(c, ')' | ']' | '}'));
        c == ',' && depth == 0
    };
    (name, rest.split(is_border).map(str::trim).filter(|operand| !operand.is_empty()).collect())
}

/// The words in an operand that may be registers.
fn words(operand: &str) -> impl Iterator<Item = &str> {
    operand.split(|c: char| !(c.is_ascii_alphanumeric() || c == '%')).filter(|word| !word.is_empty())
}

fn x86(text: &str) -> Operands {
    let (name, operands) = parts(text);
    let mut found = if begins(name, &X86_NOTHING) { Operands::default() } else { x86_registers(name, &operands) };
    // The stack of registers of the x87.
    if name.starts_with('f') {
        (found.reads_more, found.writes_more) = (true, true);
    }
    found.reads_flags = reads_flags(name);
    let is_vector = |register: &String| register.starts_with("zmm") || register.starts_with("rk");
    found.writes_flags = (begins(name, &X86_WRITE_FLAGS) || name == "vptest")
        && !begins(name, &X86_KEEP_FLAGS)
        && !found.writes.iter().any(is_vector);
    found.writes_all_flags = found.writes_flags
        && (X86_ALL_FLAGS.iter().any(|stem| is_sized(name, stem)) || begins(name, &X86_ALL_FLAGS_BEGIN));
    found
}

/// The name, or with the letter of a size.
fn is_sized(name: &str, stem: &str) -> bool {
    name.strip_prefix(stem).is_some_and(|rest| matches!(rest, "" | "b" | "w" | "l" | "q"))
}

fn x86_registers(name: &str, operands: &[&str]) -> Operands {
    let registers = |operand: &str| words(operand).filter_map(x86_register).collect::<Vec<_>>();
    let mut found = Operands::default();
    // How to round, `{rn-sae}`, is none.
    let operands: Vec<&str> = operands.iter().copied().filter(|operand| !operand.starts_with('{')).collect();
    let Some((last, others)) = operands.split_last() else {
        // Such as `cqto`, of rax and rdx.
        return Operands { reads_more: true, writes_more: true, ..found };
    };
    // `%zmm0 {%k1}` keeps what the mask leaves out, `%zmm0 {%k1} {z}` does not, nor does a mask that is written.
    let (last, mask) = last.split_once('{').unwrap_or((last, ""));
    let is_merged = !mask.is_empty() && !mask.contains("{z}") && !last.starts_with("%k");
    // The product of `mulx` has two registers.
    let sources = if name.starts_with("mulx") { 1.min(others.len()) } else { others.len() };
    found.reads.extend(others[..sources].iter().chain([&mask]).flat_map(|operand| registers(operand)));
    found.writes.extend(others[sources..].iter().flat_map(|operand| registers(operand)));
    if is_sized(name, "xchg") || is_sized(name, "xadd") {
        found.writes.extend(others.iter().filter(|other| !other.contains('(')).flat_map(|operand| registers(operand)));
    }
    // These have registers that the text does not show, products and quotients where they have one operand.
    let is_wide = others.is_empty() && (name.contains("mul") || name.contains("div"));
    let is_search = name.contains("pcmpistr") || name.contains("pcmpestr");
    found.writes_more = is_wide || is_search || name.starts_with("cmpxchg");
    found.reads_more = found.writes_more || name.starts_with("mulx");
    let is_read_only = begins(name, &X86_READ_ONLY)
        || is_sized(name, "cmp")
        || is_sized(name, "bt")
        || is_sized(name, "ktest")
        || name == "vptest";
    if is_wide || is_search || is_read_only || last.contains(['(', ':']) {
        found.reads.extend(registers(last));
        return found;
    }
    let is_conditional = name.starts_with("cmov");
    // AVX's and those of masks have an operand more than they compute with, but for moves and the like.
    let is_avx = name.starts_with(['v', 'k']);
    let is_load = others.iter().any(|operand| operand.contains('('));
    let reads_last = is_merged
        || match others.len() {
            0 => !name.starts_with("set") && !name.starts_with("pop") && !name.starts_with("rd"),
            _ if is_avx => X86_ACCUMULATE.iter().any(|part| name.contains(part)),
            // The upper part stays.
            1 if X86_HALVES.contains(&name) || matches!(name, "movss" | "movsd") && !is_load => true,
            1 => is_conditional || !(X86_WRITE_ONLY.iter().any(|part| name.contains(part)) || begins(name, &["bls"])),
            _ => !begins(name, &X86_THREE) && !name.starts_with("mulx"),
        };
    found.reads.extend(registers(last).into_iter().filter(|_| reads_last));
    found.writes.extend(registers(last));
    found.is_move = name.contains("mov") && others.len() == 1 && mask.is_empty() && !reads_last && !is_load;
    found
}

/// The register that a word names, of any of the instruction sets.
pub(super) fn register_of(word: &str) -> Option<String> {
    x86_register(word).or_else(|| reduced_register(word))
}

/// The widest register of which `%word` is a part.
fn x86_register(word: &str) -> Option<String> {
    let name = word.strip_prefix('%')?;
    if let Some(number) = name.strip_prefix(['x', 'y', 'z']).and_then(|rest| rest.strip_prefix("mm")) {
        return Some(format!("zmm{number}"));
    }
    if let Some(number) = name.strip_prefix('r').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
        return Some(format!("r{}", number.trim_end_matches(['d', 'w', 'b'])));
    }
    let core = name.strip_prefix(['r', 'e']).unwrap_or(name);
    Some(match core.as_bytes() {
        [letter @ (b'a' | b'b' | b'c' | b'd'), b'x' | b'l' | b'h'] => format!("r{}x", *letter as char),
        [_, b'i' | b'p', b'l'] => format!("r{}", &core[..2]),
        _ => format!("r{core}"),
    })
}

fn reduced(text: &str) -> Operands {
    let (name, operands) = parts(text);
    let registers = |operand: &str| words(operand).filter_map(reduced_register).collect::<Vec<_>>();
    let mut found = Operands {
        reads_flags: reads_flags(name),
        writes_flags: begins(name, &WRITE_FLAGS) || WRITE_FLAGS_NAMES.contains(&name),
        ..Operands::default()
    };
    // Stores that say whether they did write that into their first register.
    let is_store = name.starts_with("st") && !begins(name, &["stx", "stlx"]);
    // RISC-V's vector stores: `vse64.v v8, (a0)`; what else begins alike has no address.
    let is_vector_store = name.starts_with("vs") && operands.get(1).is_some_and(|operand| operand.starts_with('('));
    let is_read_only = is_store
        || is_vector_store
        || READ_ONLY.contains(&name)
        || READ_ONLY_NAMES.contains(&name)
        || begins(name, &["b.", "prf"]);
    let written = match () {
        () if is_read_only => 0,
        () if name.starts_with("ldp") || name.starts_with("ldnp") => 2,
        () => 1,
    };
    let reads_written = accumulates(name, &operands);
    for (index, operand) in operands.iter().enumerate() {
        let is_written = index < written;
        if is_written {
            found.writes.extend(registers(operand));
        }
        if !is_written || reads_written {
            found.reads.extend(registers(operand));
        }
        // An address that is moved on is written, too: `[x0, #8]!` and `[x0], #8`.
        if operand.starts_with('[') && (operand.ends_with('!') || index + 1 < operands.len()) {
            found.writes.extend(registers(operand).into_iter().take(1));
        }
    }
    // AArch64 writes its four together.
    found.writes_all_flags = found.writes_flags;
    let is_copy = matches!(name, "mov" | "fmov" | "mv" | "fmv.d" | "fmv.s");
    found.is_move = is_copy && operands.len() == 2 && !reads_written;
    found
}

/// Whether an instruction of AArch64 or RISC-V reads the register that it writes, too.
fn accumulates(name: &str, operands: &[&str]) -> bool {
    // A lane, `v0.d[1]` or `{ v0.d }[1]`, leaves the others, and so does a mask, `p0/m` or `v0.t`.
    let is_lane = operands.first().is_some_and(|first| first.ends_with(']') && !first.starts_with('['));
    let is_masked = operands.iter().any(|operand| operand.ends_with("/m") || *operand == "v0.t");
    // The upper half is written, as by `xtn2`.
    let is_upper = name.ends_with("n2") && name != "trn2";
    // `orr v0.4s, #1`.
    let is_immediate = matches!(name, "orr" | "bic") && operands.get(1).is_some_and(|operand| operand.starts_with('#'));
    // `sqincp`, `uqdecd`.
    let is_counter = begins(name, &["sqinc", "sqdec", "uqinc", "uqdec"]);
    // RISC-V's, such as `vfmacc.vv` and `vwmaccu.vx`.
    let is_vector = name.starts_with("vslideup")
        || name.starts_with('v') && ["macc", "msac", "madd", "msub"].iter().any(|part| name.contains(part));
    let is_named = begins(name, &ACCUMULATE) || ACCUMULATE_NAMES.contains(&name);
    is_named || is_lane || is_masked || is_upper || is_immediate || is_counter || is_vector
}

/// The register of which a word is the name: `w3` is part of `x3`, and `s3`, `d3` and `q3` of `v3`. RISC-V has each under one name, of which
/// floating-point ones begin with `f`.
fn reduced_register(word: &str) -> Option<String> {
    if word == "sp" {
        return Some(word.to_owned());
    }
    let (letters, number) = word.split_at(word.find(|c: char| c.is_ascii_digit())?);
    let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
    match letters {
        _ if !is_number => None,
        "w" | "x" => Some(format!("x{number}")),
        "b" | "h" | "d" | "q" | "v" | "z" => Some(format!("v{number}")),
        // AArch64's single precision, or a register of RISC-V that callees save: no loop has both.
        "s" => Some(format!("v{number}")),
        "a" | "t" | "fa" | "ft" | "fs" | "f" | "p" => Some(word.to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each of these writes and reads, by the instruction sets' manuals.
    #[test]
    fn registers_are_those_of_the_manuals() {
        let cases = [
            ("addsd\t-8(%rdi,%rax,8), %xmm0", "zmm0", "rdi rax zmm0"),
            ("movsd\t(%rdi), %xmm1", "zmm1", "rdi"),
            ("vaddsd\t(%rax), %xmm1, %xmm0", "zmm0", "rax zmm1"),
            ("vfmadd231sd\t(%rsi), %ymm1, %ymm0", "zmm0", "rsi zmm1 zmm0"),
            ("vsqrtsd\t%xmm2, %xmm1, %xmm0", "zmm0", "zmm2 zmm1"),
            ("vmovapd\t%ymm2, (%r10)", "", "r10 zmm2"),
            ("xorl\t%edx, %eax", "rax", "rdx rax"),
            ("imulq\t$3, %r9, %rsi", "rsi", "r9"),
            ("mulq\t%rdi", "", "rdi"),
            ("incq\t%rcx", "rcx", "rcx"),
            ("cmovlq\t%rdx, %rax", "rax", "rdx rax"),
            ("cmpl\t%r8d, %r15d", "", "r8 r15"),
            ("testb\t$1, %dil", "", "rdi"),
            ("jne\t-16", "", ""),
            ("%", "", ""),
        ];
        check(&cases);
        let cases = [
            ("fmadd\td0, d1, d2, d0", "v0", "v1 v2 v0"),
            ("fmla\tv0.2d, v1.2d, v2.d[1]", "v0", "v0 v1 v2"),
            ("ldr\td1, [x0], #8", "v1 x0", "x0"),
            ("ldr\tq1, [x0, x3, lsl #4]", "v1", "x0 x3"),
            ("ldp\tw3, w4, [sp, #16]!", "sp x3 x4", "sp"),
            ("str\td0, [x2, #8]!", "x2", "v0 x2"),
            ("eor\tx0, x0, x0, lsl #13", "x0", "x0"),
            ("subs\tw1, w1, #0x1", "x1", "x1"),
            ("b.ne\t#-20", "", ""),
            ("cbnz\tx4, #-8", "", "x4"),
            ("fadd.d\tfa0, fa0, ft1", "fa0", "fa0 ft1"),
            ("fsd\tfa5, 8(a0)", "", "fa5 a0"),
            ("bne\ta5, a4, -16", "", "a5 a4"),
        ];
        check(&cases);
    }

    /// As LLVM 19 prints them.
    #[test]
    fn names_of_x86_64_that_begin_alike_are_told_apart() {
        let cases = [
            ("btq\t%rcx, %rax", "", "rcx rax"),
            ("btsq\t$3, %rax", "rax", "rax"),
            ("btrl\t%ecx, %eax", "rax", "rcx rax"),
            ("btcw\t$3, %dx", "rdx", "rdx"),
            ("cmpb\t$3, (%rdi)", "", "rdi"),
            ("cmpltsd\t%xmm1, %xmm0", "zmm0", "zmm1 zmm0"),
            ("cmpeqps\t(%rdi), %xmm0", "zmm0", "rdi zmm0"),
            ("cmpxchgq\t%rcx, %rdx", "rdx", "rcx rdx"),
            ("lock\t\tcmpxchgq\t%rcx, (%rdx)", "", "rcx rdx"),
            ("xaddq\t%rax, %rbx", "rax rbx", "rax rbx"),
            ("vptest\t%ymm1, %ymm0", "", "zmm1 zmm0"),
            ("kortestw\t%k1, %k0", "", "rk1 rk0"),
            ("pshufb\t%xmm1, %xmm0", "zmm0", "zmm1 zmm0"),
            ("vpshufb\t%ymm2, %ymm1, %ymm0", "zmm0", "zmm2 zmm1"),
            ("movhpd\t(%rdi), %xmm0", "zmm0", "rdi zmm0"),
            ("movsd\t%xmm1, %xmm0", "zmm0", "zmm1 zmm0"),
            ("blsrq\t%rax, %rbx", "rbx", "rax"),
            ("popq\t%rax", "rax", ""),
            ("nopw\t%cs:(%rax,%rax)", "", ""),
            ("nop", "", ""),
            ("vzeroupper", "", ""),
        ];
        check(&cases);
    }

    #[test]
    fn the_last_of_three_operands_is_read_where_the_manual_says_so() {
        let cases = [
            ("shufps\t$1, %xmm1, %xmm0", "zmm0", "zmm1 zmm0"),
            ("pinsrq\t$1, %rax, %xmm0", "zmm0", "rax zmm0"),
            ("pclmulqdq\t$17, %xmm1, %xmm0", "zmm0", "zmm1 zmm0"),
            ("palignr\t$8, %xmm1, %xmm0", "zmm0", "zmm1 zmm0"),
            ("blendps\t$3, %xmm1, %xmm0", "zmm0", "zmm1 zmm0"),
            ("shldq\t$5, %rdx, %rax", "rax", "rdx rax"),
            ("shldq\t%cl, %rdx, %rax", "rax", "rcx rdx rax"),
            ("pshufd\t$27, %xmm1, %xmm0", "zmm0", "zmm1"),
            ("roundsd\t$9, %xmm1, %xmm0", "zmm0", "zmm1"),
            ("pextrq\t$1, %xmm0, %rax", "rax", "zmm0"),
            ("andnq\t%rax, %rbx, %rcx", "rcx", "rax rbx"),
            ("rorxq\t$3, %rax, %rbx", "rbx", "rax"),
            ("mulxq\t%rdi, %rax, %rbx", "rax rbx", "rdi"),
            ("{evex}\tvpdpbusd\t%ymm2, %ymm1, %ymm0", "zmm0", "zmm2 zmm1 zmm0"),
            ("vpternlogq\t$150, %zmm2, %zmm1, %zmm0", "zmm0", "zmm2 zmm1 zmm0"),
            ("vpmadd52luq\t%zmm2, %zmm1, %zmm0", "zmm0", "zmm2 zmm1 zmm0"),
            ("vpermt2pd\t%zmm2, %zmm1, %zmm0", "zmm0", "zmm2 zmm1 zmm0"),
            ("vfmadd231pd\t{rn-sae}, %zmm1, %zmm2, %zmm0", "zmm0", "zmm1 zmm2 zmm0"),
            ("vgatherdpd\t%ymm3, (%rax,%xmm1,8), %ymm0", "zmm0", "zmm3 rax zmm1 zmm0"),
        ];
        check(&cases);
    }

    #[test]
    fn masks_are_read() {
        let cases = [
            ("vaddpd\t%zmm1, %zmm2, %zmm0 {%k1}", "zmm0", "zmm1 zmm2 zmm0 rk1"),
            ("vaddpd\t%zmm1, %zmm2, %zmm0 {%k1} {z}", "zmm0", "zmm1 zmm2 rk1"),
            ("vmovapd\t%zmm1, %zmm0 {%k1}", "zmm0", "zmm1 zmm0 rk1"),
            ("vcmpltpd\t%zmm1, %zmm2, %k0 {%k1}", "rk0", "zmm1 zmm2 rk1"),
            ("vmovupd\t%zmm0, (%rdi) {%k1}", "", "zmm0 rdi rk1"),
            ("kandw\t%k1, %k2, %k0", "rk0", "rk1 rk2"),
        ];
        check(&cases);
        let cases = [
            ("fsqrt\tz0.d, p0/m, z1.d", "v0", "v0 p0 v1"),
            ("mov\tz0.d, p0/m, z1.d", "v0", "v0 p0 v1"),
            ("cmpgt\tp1.d, p0/z, z1.d, z2.d", "p1", "p0 v1 v2"),
            ("vadd.vv\tv8, v9, v10, v0.t", "v8", "v8 v9 v10 v0"),
        ];
        check(&cases);
    }

    #[test]
    fn what_reads_its_first_register_is_told_from_what_writes_it() {
        let cases = [
            ("tbz\tw0, #3, #16", "", "x0"),
            ("tbnz\tx1, #33, #16", "", "x1"),
            ("tbl\tv0.16b, { v1.16b }, v2.16b", "v0", "v1 v2"),
            ("tbx\tv0.16b, { v1.16b }, v2.16b", "v0", "v0 v1 v2"),
            ("umlal\tv0.2d, v1.2s, v2.2s", "v0", "v0 v1 v2"),
            ("umlsl2\tv0.2d, v1.4s, v2.4s", "v0", "v0 v1 v2"),
            ("bfi\tw0, w1, #3, #2", "x0", "x0 x1"),
            ("bfxil\tx0, x1, #3, #2", "x0", "x0 x1"),
            ("bsl\tv0.16b, v1.16b, v2.16b", "v0", "v0 v1 v2"),
            ("bit\tv0.16b, v1.16b, v2.16b", "v0", "v0 v1 v2"),
            ("bif\tv0.16b, v1.16b, v2.16b", "v0", "v0 v1 v2"),
            ("mov\tv0.d[1], v1.d[0]", "v0", "v0 v1"),
            ("mov\tv0.d[1], x3", "v0", "v0 x3"),
            ("ld1\t{ v0.d }[1], [x0]", "v0", "v0 x0"),
            ("ld1\t{ v0.2d, v1.2d }, [x0], #32", "v0 v1 x0", "x0"),
            ("saba\tv0.4s, v1.4s, v2.4s", "v0", "v0 v1 v2"),
            ("uabal\tv0.2d, v1.2s, v2.2s", "v0", "v0 v1 v2"),
            ("sadalp\tv0.2d, v1.4s", "v0", "v0 v1"),
            ("usra\tv0.2d, v1.2d, #3", "v0", "v0 v1"),
            ("sri\tv0.2d, v1.2d, #3", "v0", "v0 v1"),
            ("incd\tx0", "x0", "x0"),
            ("incd\tx0, all, mul #2", "x0", "x0"),
            ("sqincp\tx0, p0.d", "x0", "x0 p0"),
            ("xtn2\tv0.4s, v1.2d", "v0", "v0 v1"),
            ("trn2\tv0.2d, v1.2d, v2.2d", "v0", "v1 v2"),
            ("orr\tv0.4s, #1", "v0", "v0"),
            ("stxr\tw0, x1, [x2]", "x0", "x1 x2"),
            ("br\tx8", "", "x8"),
            ("prfd\tpldl1keep, p0, [x0]", "", "p0 x0"),
        ];
        check(&cases);
        let cases = [
            ("bltz\ta0, 16", "", "a0"),
            ("bgez\ta0, 16", "", "a0"),
            ("bgtz\ta0, 16", "", "a0"),
            ("blez\ta0, 16", "", "a0"),
            ("bltu\ta1, a0, 16", "", "a0 a1"),
            ("jr\ta5", "", "a5"),
            ("vfmacc.vv\tv0, v1, v2", "v0", "v0 v1 v2"),
            ("vfmacc.vf\tv8, fa0, v16", "v8", "v8 fa0 v16"),
            ("vmacc.vv\tv8, v9, v10", "v8", "v8 v9 v10"),
            ("vfnmsac.vv\tv8, v9, v10", "v8", "v8 v9 v10"),
            ("vwmaccu.vv\tv8, v12, v14", "v8", "v8 v12 v14"),
            ("vse64.v\tv8, (a0)", "", "v8 a0"),
            ("vsub.vv\tv8, v9, v10", "v8", "v9 v10"),
            ("vsetvli\ta3, a2, e64, m1, ta, ma", "a3", "a2"),
        ];
        check(&cases);
    }

    fn check(cases: &[(&str, &str, &str)]) {
        let found = of(cases.iter().map(|case| case.0));
        for ((text, writes, reads), found) in cases.iter().zip(found) {
            let set = |names: &str| names.split_whitespace().map(str::to_owned).collect();
            assert_eq!((found.writes, found.reads), (set(writes), set(reads)), "{text}");
        }
    }

    /// Whether one is the maker of something that the other reads.
    fn makes(code: &[Operands], is_free: &[bool], maker: usize, reader: usize) -> bool {
        makers(code, is_free, reader).iter().any(|found| found.index == maker)
    }

    /// `s = b[i] / s`: the quotient is copied, and its register is loaded anew before the copy is read.
    #[test]
    fn copies_whose_source_is_written_anew_are_known() {
        let texts = ["movsd\t(%rax), %xmm1", "divsd\t%xmm0, %xmm1", "movapd\t%xmm1, %xmm0"];
        let maker = |index, before, is_lost| Maker { index, before, is_lost };
        let of = |texts: &[&str]| makers(&super::of(texts.iter().copied()), &[false, false, true], 1);
        assert_eq!(of(&texts), [maker(1, 1, true), maker(0, 0, false)]);
        // Not so where something else is loaded.
        let other = ["movsd\t(%rax), %xmm2", "divsd\t%xmm0, %xmm1", "movapd\t%xmm1, %xmm0"];
        assert_eq!(of(&other), [maker(1, 1, false); 2]);
        // A copy of a copy whose own source is written anew.
        let twice = [
            "movsd\t(%rax), %xmm1",
            "divsd\t%xmm0, %xmm1",
            "movapd\t%xmm1, %xmm2",
            "movapd\t%xmm2, %xmm0",
            "movsd\t(%rbx), %xmm2",
        ];
        let code = super::of(twice.into_iter());
        assert_eq!(makers(&code, &[false, false, true, true, false], 1), [maker(1, 1, true), maker(0, 0, false)]);
        // The older of two sums is two iterations old.
        let code = super::of(["movq\t%rax, %rcx", "addq\t%rdx, %rax", "movq\t%rcx, %rdx"].into_iter());
        assert_eq!(makers(&code, &[true, false, true], 1), [maker(1, 1, false), maker(1, 2, true)]);
    }

    #[test]
    fn what_is_written_between_is_read() {
        let code = of(["movsd\t(%rdi), %xmm0", "mulsd\t(%rsi), %xmm0", "addsd\t%xmm0, %xmm1"].into_iter());
        let made: Vec<(usize, usize)> = (0..3)
            .flat_map(|m| (0..3).map(move |r| (m, r)))
            .filter(|&(m, r)| makes(&code, &[false; 3], m, r))
            .collect();
        assert_eq!(made, [(0, 1), (1, 2), (2, 2)]);
        // A move that takes no time is seen through, one that takes a cycle is not.
        let code = of(["movq\t%rax, %rdx", "shlq\t$13, %rdx", "xorq\t%rdx, %rax"].into_iter());
        assert!(makes(&code, &[true, false, false], 2, 1) && !makes(&code, &[false; 3], 2, 1));
        assert!(makes(&code, &[false; 3], 0, 1) && !makes(&code, &[true, false, false], 0, 1));
    }

    /// What multiplies rax and what is conditional may need what the text does not show.
    #[test]
    fn what_texts_do_not_show_is_known_to_be_missing() {
        let code = of(["mulq\t%rdi", "addq\t$1, %rdx", "cmpq\t%rcx, %rsi", "jne\t-16"].into_iter());
        let needs = |maker, reader| may_need(&code, maker, reader) || makes(&code, &[false; 4], maker, reader);
        assert!(needs(0, 1) && needs(1, 0) && needs(2, 3) && !needs(1, 2) && !needs(2, 1));
        let code = of(["cmp\tx0, x1", "csel\tx0, x0, x1, ge", "add\tx0, x0, #1", "b.ne\t#-12"].into_iter());
        let makers = |reader| makers(&code, &[false; 4], reader).iter().map(|maker| maker.index).collect::<Vec<_>>();
        assert_eq!([makers(1), makers(3)], [vec![2, 0], vec![0]], "x0 of the iteration before, flags of this one");
        assert!(!may_need(&code, 0, 1) && !may_need(&code, 1, 2));
    }

    /// Flags are those of the last that wrote all; `dec` leaves the carry that was written before, and what has operands that no text shows may write any.
    #[test]
    fn flags_are_those_of_the_last_that_wrote_all() {
        let maker = |texts: &[&str], reader| flags_maker(&of(texts.iter().copied()), reader);
        let sum = ["addb\t$-1, %cl", "adcq\t(%rdi,%rax), %rdx", "setb\t%cl", "addq\t$8, %rax", "cmpq\t%rsi, %rax"];
        assert_eq!([1, 2].map(|reader| maker(&sum, reader)), [Some((0, 0)), Some((1, 0))]);
        let code = of(sum.into_iter());
        assert!((0..5).all(|other| !may_need(&code, other, 1)));
        assert_eq!(maker(&["adcq\t%rdx, %rax", "movq\t%rax, (%rdi)"], 0), Some((0, 1)));
        let kept = ["adcq\t%rdx, %rax", "decq\t%rcx", "jne\t-16"];
        assert_eq!(maker(&kept, 0), None);
        let code = of(kept.into_iter());
        assert!(may_need(&code, 0, 0) && may_need(&code, 1, 0) && may_need(&code, 1, 2));
        assert_eq!(maker(&["setb\t%cl", "cmpq\t%rsi, %rax", "clc"], 0), None);
        assert_eq!(maker(&["addq\t$1, %rax", "movq\t%rax, %rdx"], 1), None);
    }

    /// Moves, jumps, what computes in vectors and stores make no flags.
    #[test]
    fn flags_are_needed_of_what_makes_them() {
        // Each alone with the reader, so that none overwrites another's.
        let makers = |texts: &[&str]| -> Vec<usize> {
            let is_needed = |maker: &usize| {
                let code = of([texts[0], texts[*maker]].into_iter());
                makes(&code, &[false; 2], 1, 0) && code[1].writes_flags || may_need(&code, 1, 0)
            };
            (0..texts.len()).filter(is_needed).collect()
        };
        let texts = [
            "cmovlq\t%rdx, %rax",
            "movq\t%rax, %rbx",
            "leaq\t8(%rax), %rbx",
            "jne\t-16",
            "addsd\t%xmm1, %xmm0",
            "shlxq\t%rcx, %rax, %rbx",
            "movq\t%rax, (%rdi)",
            "nop",
            "vzeroupper",
            "cmpltsd\t%xmm1, %xmm0",
            "cmpxchgq\t%rcx, %rdx",
            "decq\t(%rdi)",
            "cmpq\t%rax, (%rdi)",
            "ucomisd\t%xmm1, %xmm0",
            "btsq\t$3, %rax",
            "shlq\t$3, %rax",
            "orl\t%eax, %edx",
            "vptest\t%ymm1, %ymm0",
        ];
        assert_eq!(makers(&texts), [10, 11, 12, 13, 14, 15, 16, 17]);
        let texts = [
            "cset\tw0, eq",
            "mov\tx0, x1",
            "add\tx0, x0, #1",
            "ldr\tx0, [x1]",
            "subs\tx0, x0, #1",
            "fcmp\td0, d1",
            "whilelo\tp0.d, x3, x0",
            "cmpgt\tp1.d, p0/z, z1.d, z2.d",
        ];
        assert_eq!(makers(&texts), [4, 5, 6, 7]);
    }
}
