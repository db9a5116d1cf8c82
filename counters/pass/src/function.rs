//! Instruments one function: an accumulator in SSA form that counts executed blocks, flushed to the thread's counter
//! wherever control may leave the function; and, for nodes of the call tree, the calls that enter and leave.

use std::collections::HashMap;

use llvm_sys::LLVMOpcode::{LLVMAlloca, LLVMLandingPad, LLVMPHI, LLVMResume, LLVMRet};
use llvm_sys::core::*;
use llvm_sys::prelude::{LLVMBasicBlockRef, LLVMBuilderRef, LLVMTypeRef, LLVMValueRef};

use crate::glue;
use crate::graph::{self, Edge};

/// A declared function of the runtime.
#[derive(Clone, Copy)]
pub struct Callee {
    /// Its type.
    pub signature: LLVMTypeRef,
    /// The function.
    pub function: LLVMValueRef,
}

/// What instrumented code of a module refers to.
pub struct Runtime {
    /// An instruction builder of the module's context.
    pub builder: LLVMBuilderRef,
    /// The 64-bit integer type.
    pub word: LLVMTypeRef,
    /// `poise_thread`, whose first word is the thread's block counter.
    pub thread: LLVMValueRef,
    /// `poise_enter`.
    pub enter: Callee,
    /// `poise_leave`.
    pub leave: Callee,
    /// `poise_resume`.
    pub resume: Callee,
}

impl Runtime {
    unsafe fn constant(&self, value: i64) -> LLVMValueRef {
        // SAFETY: the type is valid; the value is reinterpreted as unsigned, as two's complement addition wants.
        unsafe { LLVMConstInt(self.word, value as u64, 1) }
    }

    /// `value + addend`, at the builder's position.
    unsafe fn plus(&self, value: LLVMValueRef, addend: i64) -> LLVMValueRef {
        if addend == 0 {
            return value;
        }
        // SAFETY: both operands are of the word type; constants fold.
        unsafe { LLVMBuildAdd(self.builder, value, self.constant(addend), c"".as_ptr()) }
    }

    unsafe fn call(&self, callee: Callee, arguments: &mut [LLVMValueRef]) -> LLVMValueRef {
        let (pointer, length) = (arguments.as_mut_ptr(), arguments.len() as u32);
        // SAFETY: the arguments are of the callee's signature.
        unsafe { LLVMBuildCall2(self.builder, callee.signature, callee.function, pointer, length, c"".as_ptr()) }
    }
}

/// The function's control flow: blocks by number in reverse post-order, entry first, unreachable ones left out.
struct Flow {
    blocks: Vec<LLVMBasicBlockRef>,
    number: HashMap<LLVMBasicBlockRef, usize>,
    predecessors: Vec<Vec<usize>>,
    potentials: Vec<i64>,
}

unsafe fn successors(block: LLVMBasicBlockRef) -> Vec<LLVMBasicBlockRef> {
    // SAFETY: every block of a valid function has a terminator.
    unsafe {
        let terminator = LLVMGetBasicBlockTerminator(block);
        (0..LLVMGetNumSuccessors(terminator)).map(|i| LLVMGetSuccessor(terminator, i)).collect()
    }
}

/// The blocks that the entry reaches, in reverse post-order. Not recursive: generated code has deep graphs.
unsafe fn reverse_post_order(entry: LLVMBasicBlockRef) -> Vec<LLVMBasicBlockRef> {
    let mut order = Vec::new();
    let mut seen = std::collections::HashSet::from([entry]);
    // SAFETY: blocks of a valid function lead to blocks of a valid function.
    let mut stack = vec![(entry, unsafe { successors(entry) })];
    while let Some((block, rest)) = stack.last_mut() {
        match rest.pop() {
            Some(next) if seen.insert(next) => {
                // SAFETY: as above.
                stack.push((next, unsafe { successors(next) }));
            }
            Some(_) => {}
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

impl Flow {
    unsafe fn new(function: LLVMValueRef, analyses: *mut glue::Analyses) -> Self {
        // SAFETY: the caller gives a valid function with a body, and its analyses.
        unsafe {
            let blocks = reverse_post_order(LLVMGetEntryBasicBlock(function));
            let number: HashMap<_, _> = blocks.iter().enumerate().map(|(i, &block)| (block, i)).collect();
            let mut predecessors = vec![Vec::new(); blocks.len()];
            let mut edges: Vec<Edge> = Vec::new();
            for (from, &block) in blocks.iter().enumerate() {
                let start = edges.len();
                for (index, successor) in successors(block).iter().enumerate() {
                    let to = number[successor];
                    let frequency = glue::poise_edge_frequency(analyses, block, index as u32);
                    match edges[start..].iter_mut().find(|edge| edge.to == to) {
                        Some(edge) => edge.frequency = edge.frequency.saturating_add(frequency),
                        None => {
                            edges.push(Edge { from, to, frequency });
                            predecessors[to].push(from);
                        }
                    }
                }
            }
            let potentials = graph::potentials(blocks.len(), &edges);
            Self { blocks, number, predecessors, potentials }
        }
    }

    fn increment(&self, from: usize, to: usize) -> i64 {
        graph::increment(&self.potentials, from, to)
    }
}

/// The first instruction of `block` that is no phi and no landing pad: where code may be inserted.
unsafe fn first_insertion(block: LLVMBasicBlockRef) -> LLVMValueRef {
    // SAFETY: a block ends with a terminator, so the walk ends.
    unsafe {
        let mut instruction = LLVMGetFirstInstruction(block);
        while matches!(LLVMGetInstructionOpcode(instruction), LLVMPHI | LLVMLandingPad) {
            instruction = LLVMGetNextInstruction(instruction);
        }
        instruction
    }
}

/// The instructions of `block` as they are now.
pub unsafe fn instructions(block: LLVMBasicBlockRef) -> Vec<LLVMValueRef> {
    // SAFETY: the list of a valid block ends with null.
    unsafe {
        let first = LLVMGetFirstInstruction(block);
        std::iter::successors(Some(first).filter(|i| !i.is_null()), |&i| {
            Some(LLVMGetNextInstruction(i)).filter(|i| !i.is_null())
        })
        .collect()
    }
}

/// One activation's accumulator under construction.
struct Accumulator<'a> {
    runtime: &'a Runtime,
    flow: Flow,
    /// The token and region, in nodes of the call tree.
    node: Option<(LLVMValueRef, LLVMValueRef)>,
    /// The accumulator at the end of each block.
    at_end: Vec<LLVMValueRef>,
    /// Phis still without incoming values, with their blocks.
    phis: Vec<(usize, LLVMValueRef)>,
}

/// Instruments `function`; as a node of the call tree if it has a `region`.
///
/// # Safety
/// The function must have a body and belong to the module that `runtime` is of.
pub unsafe fn instrument(
    function: LLVMValueRef,
    region: Option<LLVMValueRef>,
    runtime: &Runtime,
    analyses: *mut glue::Analyses,
) {
    // SAFETY: the caller's promise; everything below walks and extends this one function.
    unsafe {
        // Before any change, since the frequencies come of analyses.
        let flow = Flow::new(function, analyses);
        let node = region.map(|region| (enter(function, region, runtime), region));
        let at_end = Vec::with_capacity(flow.blocks.len());
        let mut accumulator = Accumulator { runtime, flow, node, at_end, phis: Vec::new() };
        for block in 0..accumulator.flow.blocks.len() {
            accumulator.block(block);
        }
        accumulator.connect();
        let phis: Vec<LLVMValueRef> = accumulator.phis.iter().map(|&(_, phi)| phi).collect();
        glue::poise_close(analyses, function, phis.as_ptr(), phis.len());
    }
}

/// Calls `poise_enter` after the entry's allocas; gives the token.
unsafe fn enter(function: LLVMValueRef, region: LLVMValueRef, runtime: &Runtime) -> LLVMValueRef {
    // SAFETY: as in `instrument`.
    unsafe {
        let mut at = first_insertion(LLVMGetEntryBasicBlock(function));
        while LLVMGetInstructionOpcode(at) == LLVMAlloca {
            at = LLVMGetNextInstruction(at);
        }
        LLVMPositionBuilderBefore(runtime.builder, at);
        runtime.call(runtime.enter, &mut [region])
    }
}

impl Accumulator<'_> {
    /// Takes the accumulator through one block. Blocks come in reverse post-order, so a single predecessor was before.
    unsafe fn block(&mut self, number: usize) {
        // SAFETY: as in `instrument`.
        unsafe {
            let block = self.flow.blocks[number];
            let here = instructions(block);
            let mut value = self.at_start(number);
            let mut left = false;
            for instruction in here {
                let opcode = LLVMGetInstructionOpcode(instruction);
                // Nothing may stand between a call that must be a tail call and its return, which comes too late here.
                let leaves = matches!(opcode, LLVMRet | LLVMResume) || glue::poise_is_musttail(instruction);
                if (leaves || glue::poise_may_not_return(instruction)) && !left {
                    value = self.flush(number, value, instruction);
                }
                if leaves && !left {
                    left = true;
                    self.leave(instruction);
                }
                if opcode == LLVMLandingPad || glue::poise_returns_twice(instruction) {
                    self.resume(instruction);
                }
            }
            self.at_end.push(value);
        }
    }

    /// The accumulator where `number` starts.
    unsafe fn at_start(&mut self, number: usize) -> LLVMValueRef {
        // SAFETY: as in `instrument`.
        unsafe {
            let builder = self.runtime.builder;
            match self.flow.predecessors[number][..] {
                [] => self.runtime.constant(0),
                [from] if from < number => {
                    LLVMPositionBuilderBefore(builder, first_insertion(self.flow.blocks[number]));
                    self.runtime.plus(self.at_end[from], self.flow.increment(from, number))
                }
                _ => {
                    LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(self.flow.blocks[number]));
                    let phi = LLVMBuildPhi(builder, self.runtime.word, c"".as_ptr());
                    self.phis.push((number, phi));
                    phi
                }
            }
        }
    }

    /// Adds what was executed so far to the thread's counter, before `at`; gives the accumulator to go on with.
    unsafe fn flush(&self, number: usize, value: LLVMValueRef, at: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: as in `instrument`.
        unsafe {
            let Runtime { builder, word, thread, .. } = *self.runtime;
            let potential = self.flow.potentials[number];
            LLVMPositionBuilderBefore(builder, at);
            let executed = self.runtime.plus(value, potential);
            if LLVMIsNull(executed) == 0 {
                let before = LLVMBuildLoad2(builder, word, thread, c"".as_ptr());
                let after = LLVMBuildAdd(builder, before, executed, c"".as_ptr());
                LLVMBuildStore(builder, after, thread);
            }
            self.runtime.constant(-potential)
        }
    }

    unsafe fn leave(&self, at: LLVMValueRef) {
        if let Some((token, _)) = self.node {
            // SAFETY: as in `instrument`; the token's definition in the entry dominates everything.
            unsafe {
                LLVMPositionBuilderBefore(self.runtime.builder, at);
                self.runtime.call(self.runtime.leave, &mut [token]);
            }
        }
    }

    /// Control comes back here by other ways than a return: the call path is this function's again.
    unsafe fn resume(&self, after: LLVMValueRef) {
        if let Some((token, region)) = self.node {
            // SAFETY: as in `leave`; neither a landing pad nor a call that returns twice ends a block here.
            unsafe {
                LLVMPositionBuilderBefore(self.runtime.builder, LLVMGetNextInstruction(after));
                self.runtime.call(self.runtime.resume, &mut [token, region]);
            }
        }
    }

    /// Gives the phis their incoming values and removes those that all paths agree on.
    unsafe fn connect(&mut self) {
        // SAFETY: as in `instrument`.
        unsafe {
            let mut added = HashMap::new();
            for &(number, phi) in &self.phis {
                for (value, block) in self.incoming(number, &mut added) {
                    LLVMAddIncoming(phi, [value].as_mut_ptr(), [block].as_mut_ptr(), 1);
                }
            }
            while self.remove_trivial() {}
        }
    }

    /// One value per edge into the block, as phis want them.
    unsafe fn incoming(
        &self,
        to: usize,
        added: &mut HashMap<(usize, i64), LLVMValueRef>,
    ) -> Vec<(LLVMValueRef, LLVMBasicBlockRef)> {
        let mut incoming = Vec::new();
        // SAFETY: as in `instrument`. The addition stands before the predecessor's terminator and matters only on
        // this edge, so that no edge needs splitting.
        unsafe {
            for from in predecessors(self.flow.blocks[to]) {
                let value = match self.flow.number.get(&from) {
                    None => self.runtime.constant(0), // Nothing reaches it.
                    Some(&number) => {
                        let increment = self.flow.increment(number, to);
                        *added.entry((number, increment)).or_insert_with(|| {
                            LLVMPositionBuilderBefore(self.runtime.builder, LLVMGetBasicBlockTerminator(from));
                            self.runtime.plus(self.at_end[number], increment)
                        })
                    }
                };
                incoming.push((value, from));
            }
        }
        incoming
    }

    /// Removes phis whose incoming values are all the same or the phi itself; whether there were any.
    unsafe fn remove_trivial(&mut self) -> bool {
        let before = self.phis.len();
        // SAFETY: as in `instrument`; a removed phi is forgotten at once.
        self.phis.retain(|&(_, phi)| unsafe {
            let values = (0..LLVMCountIncoming(phi)).map(|i| LLVMGetIncomingValue(phi, i));
            let mut others = values.filter(|&value| value != phi);
            let Some(first) = others.next() else { return true };
            if others.any(|value| value != first) {
                return true;
            }
            LLVMReplaceAllUsesWith(phi, first);
            LLVMInstructionEraseFromParent(phi);
            false
        });
        self.phis.len() < before
    }
}

/// The block at the start of each edge into `block`, as often as there are edges.
unsafe fn predecessors(block: LLVMBasicBlockRef) -> Vec<LLVMBasicBlockRef> {
    let mut from = Vec::new();
    // SAFETY: users of a block are terminators and block addresses; only the former are instructions.
    unsafe {
        let mut usage = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));
        while !usage.is_null() {
            let user = LLVMGetUser(usage);
            if !LLVMIsAInstruction(user).is_null() && !LLVMIsATerminatorInst(user).is_null() {
                from.push(LLVMGetInstructionParent(user));
            }
            usage = LLVMGetNextUse(usage);
        }
    }
    from
}
