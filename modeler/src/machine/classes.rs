//! What kind of instructions a block of machine code holds: x86-64 decoded by iced-x86, AArch64 by yaxpeax-arm and its scalable
//! vectors by Capstone, RISC-V by Capstone.
//!
//! An instruction that accesses memory counts as a load or store (or both) besides what it computes, as the micro-operations of
//! a processor do: `addsd (%rdi), %xmm0` is a scalar load and an FP operation. What computes nothing from a vector's numbers but where
//! they stand is *other*, alike on all processors: moves, constants, shuffles, permutations, blends. Logic on vectors and what makes their numbers
//! wider or narrower is SIMD integer. Moves of integers are integer instructions.

use iced_x86::{FlowControl, InstructionInfoFactory, MemorySize, Mnemonic, OpAccess, Register};
use poise_profile::Code;
use yaxpeax_arch::{Decoder as _, U8Reader};
use yaxpeax_arm::armv8::a64::{InstDecoder, Operand, SIMDSizeCode};

use super::sve::Sve;

/// A kind of instructions.
///
/// ```
/// use modeler::phases::Class;
/// assert_eq!(Class::ALL[1].name(), "vector_load");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Reads a number from memory.
    ScalarLoad,
    /// Reads several numbers at once.
    VectorLoad,
    /// Writes a number to memory.
    ScalarStore,
    /// Writes several numbers at once.
    VectorStore,
    /// Floating-point arithmetic on one number.
    Fp,
    /// Floating-point arithmetic on several numbers.
    SimdFp,
    /// Integer arithmetic on several numbers.
    SimdInt,
    /// Integer arithmetic on one number, and addresses.
    Int,
    /// Transfers control.
    Branch,
    /// Anything else.
    Other,
}

impl Class {
    /// Every class, in the order of [`Classes`].
    pub const ALL: [Self; 10] = [
        Self::ScalarLoad,
        Self::VectorLoad,
        Self::ScalarStore,
        Self::VectorStore,
        Self::Fp,
        Self::SimdFp,
        Self::SimdInt,
        Self::Int,
        Self::Branch,
        Self::Other,
    ];

    /// The class's public name, such as `vector_load`.
    ///
    /// ```
    /// use modeler::phases::Class;
    /// assert_eq!([Class::SimdFp, Class::Branch].map(Class::name), ["simd_fp", "branch"]);
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ScalarLoad => "scalar_load",
            Self::VectorLoad => "vector_load",
            Self::ScalarStore => "scalar_store",
            Self::VectorStore => "vector_store",
            Self::Fp => "fp",
            Self::SimdFp => "simd_fp",
            Self::SimdInt => "simd_int",
            Self::Int => "int",
            Self::Branch => "branch",
            Self::Other => "other",
        }
    }
}

/// How many instructions are of each class, in the order of [`Class::ALL`].
pub type Classes = [u64; Class::ALL.len()];

/// What a block of machine code consists of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// The address of each instruction.
    pub addresses: Vec<u64>,
    /// The classes; `None` for an instruction set without a decoder.
    pub classes: Option<Classes>,
}

/// Decodes a block of the instruction set that a profile names: `x86_64`, `aarch64` or `riscv64`.
#[must_use]
pub fn decode(instruction_set: &str, code: &Code) -> Decoded {
    match instruction_set {
        "x86_64" => x86(code),
        "aarch64" => aarch64(code),
        "riscv64" => riscv(code),
        _ => Decoded::default(),
    }
}

fn x86(code: &Code) -> Decoded {
    let mut decoded = Decoded { addresses: Vec::new(), classes: Some(Classes::default()) };
    let mut factory = InstructionInfoFactory::new();
    let decoder = iced_x86::Decoder::with_ip(64, &code.bytes, code.address, iced_x86::DecoderOptions::NONE);
    for instruction in decoder {
        decoded.addresses.push(instruction.ip());
        let counts = decoded.classes.get_or_insert_default();
        let size = instruction.memory_size();
        let is_vector = size.is_packed() || size != MemorySize::Unknown && size.size() >= 16;
        for memory in factory.info(&instruction).used_memory() {
            let (reads, writes) = match memory.access() {
                OpAccess::Read | OpAccess::CondRead => (1, 0),
                OpAccess::Write | OpAccess::CondWrite => (0, 1),
                OpAccess::ReadWrite | OpAccess::ReadCondWrite => (1, 1),
                _ => (0, 0),
            };
            counts[if is_vector { Class::VectorLoad } else { Class::ScalarLoad } as usize] += reads;
            counts[if is_vector { Class::VectorStore } else { Class::ScalarStore } as usize] += writes;
        }
        if let Some(class) = x86_operation(&instruction) {
            counts[class as usize] += 1;
        }
    }
    decoded
}

/// What an instruction computes; `None` where it only moves to or from memory.
fn x86_operation(instruction: &iced_x86::Instruction) -> Option<Class> {
    if instruction.flow_control() != FlowControl::Next {
        return Some(Class::Branch);
    }
    let name = format!("{:?}", instruction.mnemonic()).to_lowercase();
    let has_memory = (0..instruction.op_count()).any(|i| instruction.op_kind(i) == iced_x86::OpKind::Memory);
    let registers = (0..instruction.op_count()).map(|i| instruction.op_register(i));
    let is_vector = registers.clone().any(|r| r.is_vector_register() || r.is_mm() || r.is_k());
    let is_x87 =
        registers.clone().any(Register::is_st) || name.starts_with('f') && instruction.op_count() <= 1 && !is_vector;
    if is_x87 {
        let moves = ["fld", "fst", "fxch"].iter().any(|start| name.starts_with(start));
        return if !moves { Some(Class::Fp) } else { (!has_memory).then_some(Class::Other) };
    }
    if is_vector {
        return vector_operation(name.strip_prefix('v').unwrap_or(&name), has_memory);
    }
    match instruction.mnemonic() {
        Mnemonic::Nop | Mnemonic::Endbr64 | Mnemonic::Pause => Some(Class::Other),
        Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Movsx | Mnemonic::Movsxd if has_memory => None,
        Mnemonic::Push | Mnemonic::Pop => None,
        _ if instruction.is_string_instruction() => None,
        _ => Some(Class::Int),
    }
}

/// The class of an SSE or AVX instruction by its name without the leading `v`.
fn vector_operation(name: &str, has_memory: bool) -> Option<Class> {
    const MOVES: [&str; 31] = [
        "mov",
        "lddqu",
        "broadcast",
        "extract",
        "insert",
        "shuf",
        "unpck",
        "perm",
        "blend",
        "gather",
        "scatter",
        "maskmov",
        "pshuf",
        "punpck",
        "pblend",
        "pbroadcast",
        "pextr",
        "pinsr",
        "palignr",
        "align",
        "compress",
        "expand",
        "pcompress",
        "pexpand",
        "pgather",
        "pscatter",
        "pmaskmov",
        "pmovmsk",
        "kmov",
        "kunpck",
        "zero",
    ];
    let ends = |endings: [&str; 2]| endings.iter().any(|ending| name.ends_with(ending));
    if MOVES.iter().any(|start| name.starts_with(start)) {
        return (!has_memory).then_some(Class::Other);
    }
    let is_logic = ["and", "or", "xor"].iter().any(|start| name.starts_with(start));
    Some(match name {
        _ if is_logic || name.starts_with('p') || name.starts_with('k') => Class::SimdInt,
        _ if name.contains("si2s") || name.contains("ss2si") || name.contains("sd2si") => Class::Fp,
        _ if ends(["ss", "sd"]) => Class::Fp,
        _ if ends(["ps", "pd"]) || name.contains("dq2p") || name.contains("2dq") => Class::SimdFp,
        _ => Class::SimdInt,
    })
}

fn aarch64(code: &Code) -> Decoded {
    let decoder = InstDecoder::default();
    let (mut classes, mut sve) = (Classes::default(), Sve::default());
    let words = code.bytes.chunks_exact(4);
    let addresses = (code.address..).step_by(4).take(words.len()).collect();
    for word in words {
        // Bits 25 to 28 tell what kind of instructions a word belongs to.
        let class = match decoder.decode(&mut U8Reader::new(word)) {
            _ if word[3] >> 1 & 0xf == 0b0010 => sve.class(word),
            Ok(instruction) => aarch64_class(&instruction),
            Err(_) => Class::Other,
        };
        classes[class as usize] += 1;
    }
    Decoded { addresses, classes: Some(classes) }
}

fn aarch64_class(instruction: &yaxpeax_arm::armv8::a64::Instruction) -> Class {
    const SHUFFLES: [&str; 12] =
        ["zip", "uzp", "trn", "tbl", "tbx", "ext", "rev", "ins", "umov", "smov", "movi", "mvni"];
    let name = instruction.opcode.to_string();
    let operands = || instruction.operands.iter();
    let is_lanes = operands().any(|o| {
        matches!(
            o,
            Operand::SIMDRegisterElements(..) | Operand::SIMDRegisterGroup(..) | Operand::SIMDRegisterGroupLane(..)
        )
    });
    let is_wide = is_lanes || operands().any(|o| matches!(o, Operand::SIMDRegister(SIMDSizeCode::Q, _)));
    let is_scalar_fp = operands().any(|o| matches!(o, Operand::SIMDRegister(..)));
    let is_lane = operands().any(|o| matches!(o, Operand::SIMDRegisterElementsLane(..)));
    match name.as_str() {
        _ if ["ld", "cas", "swp"].iter().any(|start| name.starts_with(start)) => {
            if is_wide {
                Class::VectorLoad
            } else {
                Class::ScalarLoad
            }
        }
        _ if name.starts_with("st") => {
            if is_wide {
                Class::VectorStore
            } else {
                Class::ScalarStore
            }
        }
        "b" | "bl" | "br" | "blr" | "ret" | "cbz" | "cbnz" | "tbz" | "tbnz" => Class::Branch,
        _ if name.starts_with("b.") => Class::Branch,
        "nop" | "hint" | "dmb" | "dsb" | "isb" | "svc" | "fmov" | "dup" | "mrs" | "msr" => Class::Other,
        _ if (is_lanes || is_scalar_fp || is_lane) && SHUFFLES.iter().any(|start| name.starts_with(start)) => {
            Class::Other
        }
        // `mov v0.16b, v1.16b`.
        "orr" if is_lanes && instruction.operands[1] == instruction.operands[2] => Class::Other,
        _ if name.starts_with('f') || name.starts_with("scvtf") || name.starts_with("ucvtf") => {
            if is_lanes {
                Class::SimdFp
            } else {
                Class::Fp
            }
        }
        _ if is_lanes || is_scalar_fp => Class::SimdInt,
        _ => Class::Int,
    }
}

fn riscv(code: &Code) -> Decoded {
    let mut classes = Classes::default();
    let all = super::riscv::classes(code);
    all.iter().for_each(|&(_, kind)| classes[kind as usize] += 1);
    Decoded { addresses: all.into_iter().map(|(address, _)| address).collect(), classes: Some(classes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(instruction_set: &str, bytes: &[u8]) -> Vec<Class> {
        let code = Code { address: 0x1000, bytes: bytes.to_vec(), ..Code::default() };
        let counts = decode(instruction_set, &code).classes.unwrap();
        Class::ALL.into_iter().flat_map(|class| vec![class; counts[class as usize] as usize]).collect()
    }

    /// Bytes as binutils' assembler writes them.
    #[test]
    fn x86_instructions_have_their_classes() {
        use Class::{Branch, Fp, Int, Other, ScalarLoad, ScalarStore, SimdFp, SimdInt, VectorLoad, VectorStore};
        let cases: [(&[u8], &[Class]); 14] = [
            (&[0xf2, 0x0f, 0x58, 0x07], &[ScalarLoad, Fp]),     // addsd (%rdi), %xmm0
            (&[0x66, 0x0f, 0x58, 0x07], &[VectorLoad, SimdFp]), // addpd (%rdi), %xmm0
            (&[0xc5, 0xfc, 0x10, 0x07], &[VectorLoad]),         // vmovups (%rdi), %ymm0
            (&[0xc5, 0xfc, 0x11, 0x07], &[VectorStore]),        // vmovups %ymm0, (%rdi)
            (&[0xc4, 0xe2, 0xf5, 0xb8, 0xc2], &[SimdFp]),       // vfmadd231pd %ymm2, %ymm1, %ymm0
            (&[0xc4, 0xe2, 0xf1, 0xb9, 0xc2], &[Fp]),           // vfmadd231sd
            (&[0x8b, 0x07], &[ScalarLoad]),                     // mov (%rdi), %eax
            (&[0x89, 0x07], &[ScalarStore]),                    // mov %eax, (%rdi)
            (&[0x01, 0x07], &[ScalarLoad, ScalarStore, Int]),   // add %eax, (%rdi)
            (&[0x48, 0x8d, 0x04, 0x37], &[Int]),                // lea (%rdi,%rsi), %rax
            (&[0x75, 0x00], &[Branch]),                         // jne
            (&[0x66, 0x0f, 0xfe, 0xc1], &[SimdInt]),            // paddd %xmm1, %xmm0
            (&[0xf2, 0x48, 0x0f, 0x2a, 0xc0], &[Fp]),           // cvtsi2sd %rax, %xmm0
            (&[0x0f, 0x1f, 0x40, 0x00], &[Other]),              // nopl
        ];
        for (bytes, expected) in cases {
            assert_eq!(classes("x86_64", bytes), expected, "{bytes:02x?}");
        }
    }

    #[test]
    fn aarch64_instructions_have_their_classes() {
        use Class::{Branch, Fp, Int, ScalarLoad, ScalarStore, SimdFp, VectorLoad};
        let cases: [(u32, Class); 11] = [
            (0xf940_0000, ScalarLoad),  // ldr x0, [x0]
            (0x88a0_7c41, ScalarLoad),  // cas w0, w1, [x2]
            (0xb820_8041, ScalarLoad),  // swp w0, w1, [x2]
            (0xb820_0041, ScalarLoad),  // ldadd w0, w1, [x2]
            (0x3dc0_0000, VectorLoad),  // ldr q0, [x0]
            (0xfd00_0000, ScalarStore), // str d0, [x0]
            (0x1e61_2800, Fp),          // fadd d0, d0, d1
            (0x4e61_d400, SimdFp),      // fadd v0.2d, v0.2d, v1.2d
            (0x8b01_0000, Int),         // add x0, x0, x1
            (0x5400_0001, Branch),      // b.ne
            (0xd65f_03c0, Branch),      // ret
        ];
        for (word, expected) in cases {
            assert_eq!(classes("aarch64", &word.to_le_bytes()), [expected], "{word:08x}");
        }
    }

    /// Words as binutils' assembler writes them.
    #[test]
    fn scalable_vectors_have_their_classes() {
        use Class::{Int, Other, SimdFp, SimdInt, VectorLoad, VectorStore};
        let cases = [
            (0xa5e0_a001, VectorLoad),  // ld1d { z1.d }, p0/z, [x0]
            (0xe5e0_e001, VectorStore), // st1d { z1.d }, p0, [x0]
            (0x8580_4001, VectorLoad),  // ldr z1, [x0]
            (0xc5c2_c001, VectorLoad),  // ld1d { z1.d }, p0/z, [x0, z2.d]
            (0x85c0_e001, VectorLoad),  // ld1rd { z1.d }, p0/z, [x0]
            (0x65e3_0041, SimdFp),      // fmla z1.d, p0/m, z2.d, z3.d
            (0x65c3_0041, SimdFp),      // fadd z1.d, z2.d, z3.d
            (0x65c0_2041, SimdFp),      // faddv d1, p0, z2.d
            (0x65d8_2041, SimdFp),      // fadda d1, p0, d1, z2.d
            (0x65d6_a041, SimdFp),      // scvtf z1.d, p0/m, z2.d
            (0x04e3_0041, SimdInt),     // add z1.d, z2.d, z3.d
            (0x04c1_2021, SimdInt),     // uaddv d1, p0, z1.d
            (0x25ea_1fe0, SimdInt),     // whilelo p0.d, xzr, x10
            (0x25d8_e3e0, SimdInt),     // ptrue p0.d
            (0x0420_bc41, Other),       // movprfx z1, z2
            (0x05e0_3921, Other),       // mov z1.d, x9
            (0x04f0_e3e9, Int),         // incd x9
            (0x04e0_e3e9, Int),         // cntd x9
            (0x85c0_6000, Other),       // prfd pldl1keep, p0, [x0]
        ];
        for (word, expected) in cases {
            let word: u32 = word;
            assert_eq!(classes("aarch64", &word.to_le_bytes()), [expected], "{word:08x}");
        }
    }

    /// Bytes and words as binutils' assembler writes them.
    #[test]
    fn shuffles_are_of_one_class_on_all_processors() {
        use Class::{Int, Other, ScalarLoad, SimdInt, VectorLoad};
        let x86: [(&[u8], &[Class]); 17] = [
            (&[0x66, 0x0f, 0xc6, 0xc1, 0x01], &[Other]),             // shufpd
            (&[0x66, 0x0f, 0x14, 0xc1], &[Other]),                   // unpcklpd
            (&[0x66, 0x0f, 0x70, 0xc1, 0x01], &[Other]),             // pshufd
            (&[0xc4, 0xe3, 0xfd, 0x01, 0xc1, 0x01], &[Other]),       // vpermpd
            (&[0xc4, 0xe3, 0x6d, 0x06, 0xc1, 0x01], &[Other]),       // vperm2f128
            (&[0xc4, 0xe3, 0x6d, 0x0d, 0xc1, 0x01], &[Other]),       // vblendpd
            (&[0x66, 0x0f, 0x62, 0xc1], &[Other]),                   // punpckldq
            (&[0x66, 0x0f, 0x3a, 0x0f, 0xc1, 0x08], &[Other]),       // palignr
            (&[0xc4, 0xe2, 0x75, 0x8c, 0x07], &[VectorLoad]),        // vpmaskmovd (%rdi), %ymm1, %ymm0
            (&[0x66, 0x0f, 0xd7, 0xc0], &[Other]),                   // pmovmskb
            (&[0x66, 0x0f, 0x50, 0xc0], &[Other]),                   // movmskpd
            (&[0xc5, 0xf8, 0x93, 0xc1], &[Other]),                   // kmovw
            (&[0xc5, 0xec, 0x41, 0xd9], &[SimdInt]),                 // kandw
            (&[0x62, 0xf3, 0x6d, 0x48, 0x03, 0xc1, 0x01], &[Other]), // valignd
            (&[0x62, 0xf2, 0xfd, 0x48, 0x8a, 0xc8], &[Other]),       // vcompresspd
            (&[0x66, 0x0f, 0xdb, 0xc1], &[SimdInt]),                 // pand
            (&[0x66, 0x0f, 0x38, 0x30, 0xc1], &[SimdInt]),           // pmovzxbw
        ];
        for (bytes, expected) in x86 {
            assert_eq!(classes("x86_64", bytes), expected, "{bytes:02x?}");
        }
        let mask = [0xc5, 0xf8, 0x90, 0x07]; // kmovw (%rdi), %k0
        assert_eq!(classes("x86_64", &mask), [ScalarLoad]);
        let arm: [(u32, Class); 43] = [
            (0x4ec2_3820, Other),   // zip1 v0.2d, v1.2d, v2.2d
            (0x4e82_5820, Other),   // uzp2 v0.4s, v1.4s, v2.4s
            (0x4ec2_2820, Other),   // trn1 v0.2d, v1.2d, v2.2d
            (0x4e02_0020, Other),   // tbl v0.16b, { v1.16b }, v2.16b
            (0x4e03_3020, Other),   // tbx v0.16b, { v1.16b, v2.16b }, v3.16b
            (0x6e02_4020, Other),   // ext v0.16b, v1.16b, v2.16b, #8
            (0x4ea0_0820, Other),   // rev64 v0.4s, v1.4s
            (0x6e60_0820, Other),   // rev32 v0.8h, v1.8h
            (0x6e18_0420, Other),   // mov v0.d[1], v1.d[0]
            (0x4e18_1c20, Other),   // mov v0.d[1], x1
            (0x4e18_3c20, Other),   // mov x0, v1.d[1]
            (0x4e0c_2c20, Other),   // smov x0, v1.s[1]
            (0x4e08_0420, Other),   // dup v0.2d, v1.d[0]
            (0x4e08_0c20, Other),   // dup v0.2d, x1
            (0x4ea1_1c20, Other),   // mov v0.16b, v1.16b
            (0x4ea2_1c20, SimdInt), // orr v0.16b, v1.16b, v2.16b
            (0x6f00_e400, Other),   // movi v0.2d, #0
            (0x6f00_0420, Other),   // mvni v0.4s, #1
            (0x6f03_f600, Other),   // fmov v0.2d, #1.0
            (0x6e62_1c20, SimdInt), // bsl v0.16b, v1.16b, v2.16b
            (0x0ea1_2820, SimdInt), // xtn v0.2s, v1.2d
            (0x5e18_0420, Other),   // mov d0, v1.d[1]
            (0xdac0_0c20, Int),     // rev x0, x1
            (0xdac0_0820, Int),     // rev32 x0, x1
            (0x93c2_0c20, Int),     // extr x0, x1, x2, #3
            (0xaa01_03e0, Int),     // mov x0, x1
            (0x05e3_6041, Other),   // zip1 z1.d, z2.d, z3.d
            (0x05a3_6c41, Other),   // uzp2 z1.s, z2.s, z3.s
            (0x05e3_7041, Other),   // trn1 z1.d, z2.d, z3.d
            (0x05e3_3041, Other),   // tbl z1.d, { z2.d }, z3.d
            (0x0521_0041, Other),   // ext z1.b, z1.b, z2.b, #8
            (0x05f8_3841, Other),   // rev z1.d, z2.d
            (0x05e4_8041, Other),   // revb z1.d, p0/m, z2.d
            (0x05ec_8041, Other),   // splice z1.d, p0, z1.d, z2.d
            (0x05e1_8041, Other),   // compact z1.d, p0, z2.d
            (0x05e3_c041, Other),   // sel z1.d, p0, z2.d, z3.d
            (0x05e4_3821, Other),   // insr z1.d, x1
            (0x05e1_a021, Other),   // lastb x1, p0, z1.d
            (0x05ea_8041, Other),   // clasta d1, p0, d1, z2.d
            (0x05e3_4041, Other),   // zip1 p1.d, p2.d, p3.d
            (0x0531_4041, Other),   // punpkhi p1.h, p2.b
            (0x05f1_3841, SimdInt), // sunpkhi z1.d, z2.s
            (0x0423_3041, SimdInt), // and z1.d, z2.d, z3.d
        ];
        for (word, expected) in arm {
            assert_eq!(classes("aarch64", &word.to_le_bytes()), [expected], "{word:08x}");
        }
    }

    #[test]
    fn riscv_instructions_have_places_and_classes() {
        // nop, addi, ret
        let code =
            Code { address: 0x100, bytes: vec![0x01, 0x00, 0x13, 0x05, 0x15, 0x00, 0x82, 0x80], ..Code::default() };
        let decoded = decode("riscv64", &code);
        assert_eq!(decoded.addresses, [0x100, 0x102, 0x106]);
        assert_eq!(classes("riscv64", &code.bytes), [Class::Int, Class::Branch, Class::Other]);
    }
}
