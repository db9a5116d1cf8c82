//! Decodes AArch64.

use yaxpeax_arch::{Decoder, U8Reader};
use yaxpeax_arm::armv8::a64::{InstDecoder, Instruction, Opcode, Operand};

use super::{Access, Flow, Step};

/// The registers that address the frame: the stack pointer and, by convention, the frame pointer.
const FRAME: [u16; 2] = [31, 29];

/// The instructions of a function whose first is at `address`; data between them stay as unknown instructions.
pub fn decode(code: &[u8], address: u64) -> Vec<Step> {
    let decoder = InstDecoder::default();
    let one = |(word, at): (&[u8], u64)| match decoder.decode(&mut U8Reader::new(word)) {
        Ok(instruction) => step(&instruction, at),
        Err(_) => Step { address: at, flow: Flow::Next, access: Access::None, key: "unknown".into() },
    };
    code.chunks_exact(4).zip((address..).step_by(4)).map(one).collect()
}

fn step(instruction: &Instruction, address: u64) -> Step {
    let target = instruction.operands.iter().find_map(|operand| match operand {
        Operand::PCOffset(offset) => Some(address.wrapping_add_signed(*offset)),
        _ => None,
    });
    let flow = match (instruction.opcode, target) {
        (Opcode::B, Some(target)) => Flow::Jump(target),
        (Opcode::Bcc(_) | Opcode::CBZ | Opcode::CBNZ | Opcode::TBZ | Opcode::TBNZ, Some(target)) => {
            Flow::Branch(target)
        }
        (Opcode::BR | Opcode::RET, _) => Flow::Stop,
        _ => Flow::Next,
    };
    let memory = instruction.operands.iter().find_map(|operand| match *operand {
        Operand::RegPreIndex(base, offset, _) | Operand::RegPostIndex(base, offset) => Some((base, Some(offset))),
        Operand::RegRegOffset(base, ..) | Operand::RegPostIndexReg(base, _) => Some((base, None)),
        _ => None,
    });
    let (access, operand) = match memory {
        None => (Access::None, String::new()),
        Some((base, Some(offset))) if FRAME.contains(&base) => (Access::Stack, format!(" stack+{offset}")),
        Some(_) => (Access::Memory, " memory".to_owned()),
    };
    Step { address, flow, access, key: format!("{}{operand}", instruction.opcode) }
}
