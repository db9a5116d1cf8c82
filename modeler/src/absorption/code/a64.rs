//! Decodes AArch64.

use yaxpeax_arch::{Decoder, U8Reader};
use yaxpeax_arm::armv8::a64::{InstDecoder, Instruction, Opcode, Operand};

use super::recurrence::{self, Dataflow};
use super::{Access, Flow, Step};
use crate::detect::registers;

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

/// What the same instructions wait for and make.
pub fn dataflow(code: &[u8], address: u64) -> Vec<Dataflow> {
    let decoder = InstDecoder::default();
    let one = |(word, at): (&[u8], u64)| {
        decoder
            .decode(&mut U8Reader::new(word))
            .map_or_else(|_| Dataflow { is_opaque: true, ..Dataflow::default() }, |instruction| flow(&instruction, at))
    };
    code.chunks_exact(4).zip((address..).step_by(4)).map(one).collect()
}

fn flow(instruction: &Instruction, address: u64) -> Dataflow {
    let text = instruction.to_string();
    let Some(operands) = registers::of([text.as_str()].into_iter()).pop() else { return Dataflow::default() };
    let name = text.split_whitespace().next().unwrap_or_default();
    let access = step(instruction, address);
    let is_load = name.starts_with("ld");
    // The address: its registers, its offset where there is but one, and whether it is moved on.
    let address_of = |operand: &Operand| match *operand {
        Operand::RegPreIndex(base, offset, is_moved) => Some((vec![base], Some(offset), is_moved)),
        Operand::RegPostIndex(base, _) => Some((vec![base], None, true)),
        Operand::RegPostIndexReg(base, step) => Some((vec![base, step], None, true)),
        Operand::RegRegOffset(base, index, ..) => Some((vec![base, index], None, false)),
        _ => None,
    };
    let register = |number: &u16| format!("x{number}");
    let memory = instruction.operands.iter().find_map(address_of);
    let base = memory.as_ref().filter(|(.., is_moved)| *is_moved).map(|(registers, ..)| register(&registers[0]));
    // Atomic ones read and write at once.
    const ATOMIC: [&str; 9] = ["ldadd", "ldclr", "ldset", "ldeor", "ldsm", "ldum", "swp", "cas", "stx"];
    let is_opaque =
        matches!(instruction.opcode, Opcode::BL | Opcode::BLR) || ATOMIC.iter().any(|a| name.starts_with(a));
    let mut found = Dataflow { reads: operands.reads, writes: operands.writes, is_opaque, ..Dataflow::default() };
    // The frame's registers do not change in a loop, as a rule, and its places are known by their offsets.
    for frame in ["sp", "x31", "x29"] {
        found.reads.remove(frame);
        found.writes.remove(frame);
    }
    let writes_a_vector = found.writes.iter().any(|register| register.starts_with('v'));
    found.cycles = recurrence::cycles(name.trim_start_matches('f'), writes_a_vector && !is_load);
    if let Some(base) = base {
        found.writes.remove(&base);
        found.moved = Some(base);
    }
    let slot = access.key.split_once(' ').map(|(_, slot)| slot.to_owned());
    match access.access {
        Access::Stack if is_load => {
            found.reads.extend(slot);
            found.cycles = recurrence::LOAD;
        }
        Access::Stack => found.writes.extend(slot),
        Access::Memory => {
            let (registers, offset, is_moved) = memory.unwrap_or_default();
            if let (Some(offset), false) = (offset, is_moved) {
                let (base, offset) = (register(&registers[0]), i64::from(offset));
                found.access =
                    Some(recurrence::Operand { base, offset, is_read: is_load, is_written: name.starts_with("st") });
            }
            if is_load {
                found.load = Some(registers.iter().map(register).collect());
                // Each is read for the address alone; what else is read, as the other lanes of a vector, is waited for, too.
                for number in &registers {
                    found.reads.remove(&register(number));
                }
            }
        }
        Access::None => {}
    }
    if operands.reads_flags && access.flow == Flow::Next {
        found.reads.insert("flags".into());
    }
    if operands.writes_flags {
        found.writes.insert("flags".into());
    }
    found
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
