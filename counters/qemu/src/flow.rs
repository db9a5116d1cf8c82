//! What a block's last instruction does to the control flow, by the three instruction sets' encodings.

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction};

/// Where an instruction may continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Behind itself, as far as the program can see: no transfer of control.
    Next,
    /// Elsewhere, or behind itself.
    Branch,
    /// Elsewhere.
    Jump,
    /// Where a register or memory says.
    IndirectJump,
    /// In another function, which comes back.
    Call,
    /// In the caller.
    Return,
}

/// An instruction set whose programs can be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// x86-64.
    X86_64,
    /// AArch64.
    Aarch64,
    /// RISC-V with 64 bits.
    Riscv64,
}

/// What is to be known of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Last {
    /// Where it may continue.
    pub flow: Flow,
    /// Whether QEMU executes it in a loop of its own, an iteration at a time.
    pub repeats: bool,
}

impl Isa {
    /// The instruction set by QEMU's name for it.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "x86_64" => Some(Self::X86_64),
            "aarch64" => Some(Self::Aarch64),
            "riscv64" => Some(Self::Riscv64),
            _ => None,
        }
    }

    /// Whether a system call of this number maps or unmaps memory: munmap, mremap and mmap of Linux.
    pub fn maps(self, number: i64) -> bool {
        match self {
            Self::X86_64 => matches!(number, 9 | 11 | 25),
            Self::Aarch64 | Self::Riscv64 => matches!(number, 215 | 216 | 222),
        }
    }

    /// Whether a system call of this number may start a thread: clone and clone3 of Linux.
    pub fn starts(self, number: i64) -> bool {
        match self {
            Self::X86_64 => matches!(number, 56 | 435),
            Self::Aarch64 | Self::Riscv64 => matches!(number, 220 | 435),
        }
    }

    /// What the instruction in `bytes` does.
    pub fn last(self, bytes: &[u8]) -> Last {
        let flow = |flow| Last { flow, repeats: false };
        match self {
            Self::X86_64 => x86(bytes),
            Self::Aarch64 => flow(bytes.try_into().map_or(Flow::Next, |word| aarch64(u32::from_le_bytes(word)))),
            Self::Riscv64 => flow(match *bytes {
                [a, b, c, d] => riscv(u32::from_le_bytes([a, b, c, d])),
                [a, b] => riscv_compressed(u16::from_le_bytes([a, b])),
                _ => Flow::Next,
            }),
        }
    }
}

fn x86(bytes: &[u8]) -> Last {
    let instruction: Instruction = Decoder::new(64, bytes, DecoderOptions::NONE).decode();
    let flow = match instruction.flow_control() {
        // System calls are calls to the decoder, too; the program does not see where they go.
        FlowControl::Call if instruction.code() == Code::Call_rel32_64 => Flow::Call,
        FlowControl::IndirectCall => Flow::Call,
        FlowControl::Return => Flow::Return,
        FlowControl::UnconditionalBranch => Flow::Jump,
        FlowControl::ConditionalBranch => Flow::Branch,
        FlowControl::IndirectBranch => Flow::IndirectJump,
        _ => Flow::Next,
    };
    let has_prefix = instruction.has_rep_prefix() || instruction.has_repne_prefix();
    Last { flow, repeats: has_prefix && instruction.is_string_instruction() }
}

/// Arm's Architecture Reference Manual for A-profile, C4.1.65, "Branches, Exception Generating and System instructions".
fn aarch64(word: u32) -> Flow {
    match word {
        w if w & 0xfc00_0000 == 0x1400_0000 => Flow::Jump,   // b
        w if w & 0xfc00_0000 == 0x9400_0000 => Flow::Call,   // bl
        w if w & 0xff00_0000 == 0x5400_0000 => Flow::Branch, // b.cond, bc.cond
        w if w & 0x7e00_0000 == 0x3400_0000 => Flow::Branch, // cbz, cbnz
        w if w & 0x7e00_0000 == 0x3600_0000 => Flow::Branch, // tbz, tbnz
        // br, blr and ret, also with authenticated pointers: bits 22 and 21 tell which.
        w if w & 0xfe1f_0000 == 0xd61f_0000 => match (w >> 21) & 3 {
            0 => Flow::IndirectJump,
            1 => Flow::Call,
            2 => Flow::Return,
            _ => Flow::Next,
        },
        _ => Flow::Next,
    }
}

/// Whether a register holds return addresses by convention: x1 and x5 (RISC-V unprivileged specification, table
/// "Return-address stack prediction hints").
fn is_link(register: u32) -> bool {
    matches!(register, 1 | 5)
}

/// RISC-V unprivileged specification, chapter "RV32/64G Instruction Set Listings".
fn riscv(word: u32) -> Flow {
    let (opcode, rd, rs1) = (word & 0x7f, (word >> 7) & 31, (word >> 15) & 31);
    match opcode {
        0x63 => Flow::Branch,
        0x6f if is_link(rd) => Flow::Call,
        0x6f => Flow::Jump,
        0x67 if is_link(rd) => Flow::Call,
        0x67 if is_link(rs1) => Flow::Return,
        0x67 => Flow::IndirectJump,
        _ => Flow::Next,
    }
}

/// The same specification, chapter "C Standard Extension for Compressed Instructions".
fn riscv_compressed(half: u16) -> Flow {
    let (quadrant, function) = (half & 3, half >> 13);
    match (quadrant, function) {
        (1, 0b101) => Flow::Jump,           // c.j
        (1, 0b110 | 0b111) => Flow::Branch, // c.beqz, c.bnez
        (2, 0b100) if half & 0x7c == 0 && half & 0xf80 != 0 => match (half & 0x1000 != 0, (half >> 7) & 31) {
            (true, _) => Flow::Call, // c.jalr
            (false, register) if is_link(register.into()) => Flow::Return,
            (false, _) => Flow::IndirectJump,
        },
        _ => Flow::Next,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes as binutils' assemblers write them.
    #[test]
    fn instructions_are_told_apart() {
        use Flow::{Branch, Call, IndirectJump, Jump, Next, Return};
        let cases: [(Isa, &[u8], Flow); 31] = [
            (Isa::X86_64, &[0xe8, 0, 0, 0, 0], Call),
            (Isa::X86_64, &[0xff, 0xd0], Call),             // call *%rax
            (Isa::X86_64, &[0x41, 0xff, 0x14, 0x24], Call), // call *(%r12)
            (Isa::X86_64, &[0xc3], Return),
            (Isa::X86_64, &[0xf2, 0xc3], Return), // bnd ret
            (Isa::X86_64, &[0x74, 0x05], Branch),
            (Isa::X86_64, &[0xeb, 0x05], Jump),
            (Isa::X86_64, &[0xff, 0x25, 0, 0, 0, 0], IndirectJump), // jmp *0(%rip)
            (Isa::X86_64, &[0x0f, 0x05], Next),                     // syscall
            (Isa::X86_64, &[0x90], Next),
            (Isa::Aarch64, &[0x00, 0x00, 0x00, 0x94], Call),         // bl
            (Isa::Aarch64, &[0x20, 0x00, 0x3f, 0xd6], Call),         // blr x1
            (Isa::Aarch64, &[0xc0, 0x03, 0x5f, 0xd6], Return),       // ret
            (Isa::Aarch64, &[0xff, 0x0b, 0x5f, 0xd6], Return),       // retaa
            (Isa::Aarch64, &[0x20, 0x02, 0x1f, 0xd6], IndirectJump), // br x17
            (Isa::Aarch64, &[0x41, 0x00, 0x00, 0x54], Branch),       // b.ne
            (Isa::Aarch64, &[0x40, 0x00, 0x00, 0xb4], Branch),       // cbz x0
            (Isa::Aarch64, &[0x40, 0x00, 0x08, 0x36], Branch),       // tbz w0, #1
            (Isa::Aarch64, &[0x01, 0x00, 0x00, 0xd4], Next),         // svc #0
            (Isa::Riscv64, &[0xef, 0x00, 0x80, 0x00], Call),         // jal ra, .+8
            (Isa::Riscv64, &[0x6f, 0x00, 0x80, 0x00], Jump),         // j .+8
            (Isa::Riscv64, &[0xe7, 0x80, 0x05, 0x00], Call),         // jalr a1
            (Isa::Riscv64, &[0x67, 0x80, 0x00, 0x00], Return),       // ret, 32 bits
            (Isa::Riscv64, &[0x67, 0x03, 0x0e, 0x00], IndirectJump), // jalr t1, t3: a procedure linkage table's
            (Isa::Riscv64, &[0x63, 0x04, 0xb5, 0x00], Branch),       // beq a0, a1, .+8
            (Isa::Riscv64, &[0x82, 0x80], Return),                   // c.jr ra
            (Isa::Riscv64, &[0x82, 0x87], IndirectJump),             // c.jr a5
            (Isa::Riscv64, &[0x82, 0x97], Call),                     // c.jalr a5
            (Isa::Riscv64, &[0x21, 0xa0], Jump),                     // c.j .+8
            (Isa::Riscv64, &[0x01, 0xc5], Branch),                   // c.beqz a0
            (Isa::Riscv64, &[0x73, 0x00, 0x00, 0x00], Next),         // ecall
        ];
        for (isa, bytes, flow) in cases {
            assert_eq!(isa.last(bytes).flow, flow, "{isa:?} {bytes:02x?}");
        }
    }

    #[test]
    fn string_instructions_that_repeat_are_known() {
        let repeats = |bytes: &[u8]| Isa::X86_64.last(bytes).repeats;
        assert!(repeats(&[0xf3, 0xa4]) && repeats(&[0xf3, 0x48, 0xab]) && repeats(&[0xf2, 0xae]));
        // `movsb` alone, and `pause` and `popcnt`, whose encodings have the same prefix.
        assert!(!repeats(&[0xa4]) && !repeats(&[0xf3, 0x90]) && !repeats(&[0xf3, 0x0f, 0xb8, 0xc0]));
    }
}
