//! Decodes RISC-V with 64 bits (IMAFDC) by Capstone. Vector instructions are not known to it: they are of unknown kind.

use capstone::arch::riscv::{ArchExtraMode, ArchMode, RiscVOperand};
use capstone::arch::{ArchOperand, BuildsCapstone, BuildsCapstoneExtraMode};
use capstone::{Capstone, Insn};
use poise_profile::Code;

use super::classes::Class;
use crate::absorption::code::{Access, Flow, Step};

/// A decoded instruction.
struct Decoded {
    address: u64,
    /// Its name without the mark of compressed instructions; empty where it is not known.
    name: String,
    /// The last number among its operands.
    immediate: Option<i64>,
    /// The register that it addresses memory by.
    base: Option<String>,
}

/// Every instruction of a block; the two lowest bits of one tell whether it has 2 or 4 bytes.
fn decoded(code: &Code) -> Vec<Decoded> {
    let modes = [ArchExtraMode::RiscVC];
    let capstone =
        Capstone::new().riscv().mode(ArchMode::RiscV64).extra_mode(modes.into_iter()).detail(true).build().ok();
    let (mut all, mut at) = (Vec::new(), 0);
    while let Some(first) = code.bytes.get(at) {
        let address = code.address + at as u64;
        let length = if first & 3 == 3 { 4 } else { 2 };
        let bytes = &code.bytes[at..(at + length).min(code.bytes.len())];
        let found = capstone.as_ref().and_then(|capstone| {
            let found = capstone.disasm_count(bytes, address, 1).ok()?;
            found.iter().next().map(|instruction| one(capstone, instruction, address))
        });
        all.push(found.unwrap_or(Decoded { address, name: String::new(), immediate: None, base: None }));
        at += length;
    }
    all
}

fn one(capstone: &Capstone, instruction: &Insn, address: u64) -> Decoded {
    let name = instruction.mnemonic().unwrap_or_default();
    let name = name.strip_prefix("c.").unwrap_or(name).to_owned();
    let mut decoded = Decoded { address, name, immediate: None, base: None };
    let Ok(detail) = capstone.insn_detail(instruction) else { return decoded };
    for operand in detail.arch_detail().operands() {
        match operand {
            ArchOperand::RiscVOperand(RiscVOperand::Imm(number)) => decoded.immediate = Some(number),
            ArchOperand::RiscVOperand(RiscVOperand::Mem(memory)) => decoded.base = capstone.reg_name(memory.base()),
            _ => {}
        }
    }
    decoded
}

impl Decoded {
    fn is_branch(&self) -> bool {
        let conditions = ["beq", "bne", "blt", "bge", "bgt", "ble"];
        conditions.iter().any(|start| self.name.starts_with(start))
    }

    /// What the instruction is. One that reads and writes memory at once counts as a load, as AArch64's do, since each has one class.
    fn class(&self) -> Class {
        let name = self.name.as_str();
        let stem = name.split('.').next().unwrap_or_default();
        match stem.strip_suffix("sp").unwrap_or(stem) {
            "lb" | "lbu" | "lh" | "lhu" | "lw" | "lwu" | "ld" | "flh" | "flw" | "fld" | "lr" => Class::ScalarLoad,
            "sb" | "sh" | "sw" | "sd" | "fsh" | "fsw" | "fsd" | "sc" => Class::ScalarStore,
            _ if name.starts_with("amo") => Class::ScalarLoad,
            "j" | "jr" | "jal" | "jalr" | "ret" => Class::Branch,
            _ if self.is_branch() => Class::Branch,
            "" | "nop" | "fence" | "ecall" | "ebreak" | "fmv" | "fsgnj" => Class::Other,
            _ if name.starts_with("csr") || name.starts_with("fr") || name.starts_with("rd") => Class::Other,
            _ if name.starts_with('f') => Class::Fp,
            _ => Class::Int,
        }
    }

    fn flow(&self) -> Flow {
        let target = self.immediate.map(|offset| self.address.wrapping_add_signed(offset));
        match (self.name.as_str(), target) {
            ("j", Some(target)) => Flow::Jump(target),
            ("jr" | "ret", _) => Flow::Stop,
            (_, Some(target)) if self.is_branch() => Flow::Branch(target),
            _ => Flow::Next,
        }
    }
}

/// What the instructions of a block are: each one's address and kind.
pub fn classes(code: &Code) -> Vec<(u64, Class)> {
    decoded(code).iter().map(|instruction| (instruction.address, instruction.class())).collect()
}

/// The instructions of a block and where they continue.
pub(crate) fn steps(code: &Code) -> Vec<Step> {
    let step = |decoded: &Decoded| {
        let is_access = matches!(decoded.class(), Class::ScalarLoad | Class::ScalarStore);
        let access = match (is_access, decoded.base.as_deref()) {
            (false, _) => Access::None,
            (true, Some("sp" | "x2")) => Access::Stack,
            (true, _) if decoded.name.ends_with("sp") => Access::Stack,
            (true, _) => Access::Memory,
        };
        Step { address: decoded.address, flow: decoded.flow(), access, key: decoded.name.clone() }
    };
    decoded(code).iter().map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes as binutils' assembler writes them.
    #[test]
    fn instructions_have_their_classes() {
        use Class::{Branch, Fp, Int, Other, ScalarLoad, ScalarStore};
        let cases: [(&[u8], Class); 19] = [
            (&[0x53, 0x75, 0xb5, 0x02], Fp),          // fadd.d fa0, fa0, fa1
            (&[0x43, 0x75, 0xb5, 0x62], Fp),          // fmadd.d fa0, fa0, fa1, fa2
            (&[0x53, 0x05, 0x05, 0xd2], Fp),          // fcvt.d.w fa0, a0
            (&[0x53, 0x85, 0xa5, 0x22], Other),       // fmv.d fa0, fa1
            (&[0x07, 0x35, 0x05, 0x00], ScalarLoad),  // fld fa0, 0(a0)
            (&[0x08, 0x21], ScalarLoad),              // c.fld fa0, 0(a0)
            (&[0x27, 0x30, 0xa5, 0x00], ScalarStore), // fsd fa0, 0(a0)
            (&[0x08, 0xa1], ScalarStore),             // c.fsd fa0, 0(a0)
            (&[0x03, 0x35, 0x05, 0x00], ScalarLoad),  // ld a0, 0(a0)
            (&[0xa2, 0x60], ScalarLoad),              // c.ldsp ra, 8(sp)
            (&[0x06, 0xe4], ScalarStore),             // c.sdsp ra, 8(sp)
            (&[0x2f, 0xa5, 0xb5, 0x00], ScalarLoad),  // amoadd.w a0, a1, (a1)
            (&[0x33, 0x05, 0xb5, 0x02], Int),         // mul a0, a0, a1
            (&[0x05, 0x05], Int),                     // c.addi a0, 1
            (&[0x63, 0x04, 0xb5, 0x00], Branch),      // beq a0, a1, .+8
            (&[0x82, 0x80], Branch),                  // ret
            (&[0x01, 0xc5], Branch),                  // c.beqz a0, .+8
            (&[0x73, 0x00, 0x00, 0x00], Other),       // ecall
            (&[0x57, 0x70, 0x05, 0x05], Other),       // vsetvli, which is not known
        ];
        for (bytes, expected) in cases {
            let code = Code { address: 0x1000, bytes: bytes.to_vec(), ..Code::default() };
            let found = classes(&code);
            assert_eq!(found.len(), 1, "{bytes:02x?}");
            assert_eq!(found[0].1, expected, "{bytes:02x?} {}", decoded(&code)[0].name);
        }
    }

    #[test]
    fn branches_lead_where_they_say() {
        let flow = |bytes: &[u8]| steps(&Code { address: 0x1000, bytes: bytes.to_vec(), ..Code::default() })[0].flow;
        assert_eq!(flow(&[0x63, 0x04, 0xb5, 0x00]), Flow::Branch(0x1008));
        assert_eq!(flow(&[0x01, 0xc5]), Flow::Branch(0x1008));
        assert_eq!(flow(&[0x6f, 0x00, 0x80, 0x00]), Flow::Jump(0x1008));
        assert_eq!(flow(&[0x21, 0xa0]), Flow::Jump(0x1008));
        assert_eq!(flow(&[0x82, 0x80]), Flow::Stop);
        assert_eq!(flow(&[0xef, 0x00, 0x80, 0x00]), Flow::Next, "calls come back");
    }
}
