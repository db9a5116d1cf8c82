//! Decodes x86-64.

use std::collections::BTreeSet;

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};

use super::recurrence::{self, Dataflow};
use super::{Access, Flow, Step};

/// The instructions of a function whose first is at `address`.
pub fn decode(code: &[u8], address: u64) -> Vec<Step> {
    let (instructions, framed) = instructions(code, address);
    instructions.iter().map(|instruction| step(instruction, framed)).collect()
}

/// What the same instructions wait for and make.
pub fn dataflow(code: &[u8], address: u64) -> Vec<Dataflow> {
    let (instructions, framed) = instructions(code, address);
    let mut factory = InstructionInfoFactory::new();
    instructions.iter().map(|instruction| flow(instruction, framed, &mut factory)).collect()
}

/// The instructions, and whether the frame is addressed by its own register, which is any other register elsewhere.
fn instructions(code: &[u8], address: u64) -> (Vec<Instruction>, bool) {
    let instructions: Vec<Instruction> =
        Decoder::with_ip(64, code, address, DecoderOptions::NONE).into_iter().collect();
    let framed = instructions.iter().any(|i| {
        i.mnemonic() == Mnemonic::Mov && (i.op0_register(), i.op1_register()) == (Register::RBP, Register::RSP)
    });
    (instructions, framed)
}

fn flow(instruction: &Instruction, framed: bool, factory: &mut InstructionInfoFactory) -> Dataflow {
    let reads =
        |access| matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite);
    let writes = |access| {
        matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
    };
    let name = |register: Register| format!("{:?}", register.full_register());
    let info = factory.info(instruction);
    // Those of strings move their addresses and load at once.
    let is_opaque = matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall)
        || instruction.is_string_instruction()
        || instruction.is_invalid();
    let mut found = Dataflow { is_opaque, ..Dataflow::default() };
    // The stack pointer is moved by a unit of its own.
    for used in info.used_registers().iter().filter(|used| used.register().full_register() != Register::RSP) {
        if reads(used.access()) {
            found.reads.insert(name(used.register()));
        }
        if writes(used.access()) {
            found.writes.insert(name(used.register()));
        }
    }
    let on_stack = step(instruction, framed).access == Access::Stack;
    for used in info.used_memory() {
        let slot = format!("stack+{:#x}", used.displacement());
        let address: BTreeSet<String> =
            [used.base(), used.index()].into_iter().filter(|&r| r != Register::None).map(name).collect();
        match on_stack {
            true => {
                found.reads.extend(reads(used.access()).then(|| slot.clone()));
                found.cycles += if reads(used.access()) { recurrence::LOAD } else { 0 };
                found.writes.extend(writes(used.access()).then_some(slot));
            }
            false => {
                let (is_read, is_written) = (reads(used.access()), writes(used.access()));
                if used.index() == Register::None && (is_read || is_written) {
                    let (base, offset) = (name(used.base()), used.displacement() as i64);
                    found.access = Some(recurrence::Operand { base, offset, is_read, is_written });
                }
                if is_read {
                    found.load.get_or_insert_default().extend(address);
                }
            }
        }
    }
    let is_branch = instruction.flow_control() != FlowControl::Next;
    if instruction.rflags_read() != 0 && !is_branch {
        found.reads.insert("flags".into());
    }
    if instruction.rflags_modified() != 0 {
        found.writes.insert("flags".into());
    }
    let writes_a_vector =
        info.used_registers().iter().any(|used| writes(used.access()) && used.register().is_vector_register());
    let mnemonic = format!("{:?}", instruction.mnemonic()).to_lowercase();
    // Compared with itself a register is all ones, whatever it held.
    if let [.., first, second] = (0..instruction.op_count()).map(|i| instruction.op_register(i)).collect::<Vec<_>>()[..]
        && mnemonic.trim_start_matches('v').starts_with("pcmpeq")
        && first == second
    {
        found.reads.remove(&name(first));
    }
    found.cycles += recurrence::cycles(mnemonic.trim_start_matches('v'), writes_a_vector);
    found
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
