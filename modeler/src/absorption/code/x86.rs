//! Decodes x86-64.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};

use super::{Access, Flow, Step};

/// The instructions of a function whose first is at `address`.
pub fn decode(code: &[u8], address: u64) -> Vec<Step> {
    let instructions: Vec<Instruction> =
        Decoder::with_ip(64, code, address, DecoderOptions::NONE).into_iter().collect();
    // Whether the frame is addressed by its own register, which is any other register elsewhere.
    let framed = instructions.iter().any(|i| {
        i.mnemonic() == Mnemonic::Mov && (i.op0_register(), i.op1_register()) == (Register::RBP, Register::RSP)
    });
    instructions.iter().map(|instruction| step(instruction, framed)).collect()
}

fn step(instruction: &Instruction, framed: bool) -> Step {
    let flow = match instruction.flow_control() {
        FlowControl::UnconditionalBranch => Flow::Jump(instruction.near_branch_target()),
        FlowControl::ConditionalBranch => Flow::Branch(instruction.near_branch_target()),
        FlowControl::Return | FlowControl::IndirectBranch | FlowControl::Exception => Flow::Stop,
        _ => Flow::Next,
    };
    let mnemonic = instruction.mnemonic();
    let operands = (0..instruction.op_count()).map(|i| instruction.op_kind(i));
    let has_memory = operands.into_iter().any(|kind| kind == OpKind::Memory);
    let on_stack = instruction.memory_index() == Register::None
        && (instruction.memory_base() == Register::RSP || framed && instruction.memory_base() == Register::RBP);
    let access = match has_memory && !matches!(mnemonic, Mnemonic::Lea | Mnemonic::Nop) {
        false => Access::None,
        true if on_stack => Access::Stack,
        true => Access::Memory,
    };
    let operand = match has_memory {
        false => String::new(),
        // Spills of one place are told from other loads by the place.
        true if on_stack => format!(" stack+{:#x}", instruction.memory_displacement64()),
        true => format!(" {:?}", instruction.memory_segment()),
    };
    Step { address: instruction.ip(), flow, access, key: format!("{mnemonic:?}{operand}") }
}
