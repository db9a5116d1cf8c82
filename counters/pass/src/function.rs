//! Instruments one function: an accumulator in SSA form that counts executed blocks, flushed to the thread's counter
//! wherever control may leave the function; and, for nodes of the call tree, the calls that enter and leave.

use std::collections::{BTreeSet, HashMap, HashSet};

use llvm_sys::LLVMIntPredicate::{LLVMIntEQ, LLVMIntNE, LLVMIntUGE};
use llvm_sys::LLVMOpcode::{LLVMAlloca, LLVMLandingPad, LLVMPHI, LLVMResume, LLVMRet};
use llvm_sys::core::*;
use llvm_sys::prelude::{LLVMBasicBlockRef, LLVMBuilderRef, LLVMTypeRef, LLVMValueRef};

use crate::glue;
use crate::graph::{self, Edge, Forest};
use crate::module::list;
use crate::options::Weights;
use crate::paths::Paths;
use crate::recursion::Recursion;

/// A declared function of the runtime.
#[derive(Clone, Copy)]
pub struct Callee {
    /// Its type.
    pub signature: LLVMTypeRef,
    /// The function.
    pub function: LLVMValueRef,
}

/// What an accumulator holds at least to be told where a loop ends: some microseconds' work, beside which a call is nothing. The runtime reads
/// the clock from so many blocks on.
const MUCH: u64 = 1 << 12;

/// Words of `poise_thread`, which begins with the thread's block counter.
pub const THREAD_WORDS: u32 = 8;
/// The word that holds the current call path's node.
const CURRENT: u64 = 1;

/// What instrumented code of a module refers to.
pub struct Runtime<'a> {
    /// An instruction builder of the module's context.
    pub builder: LLVMBuilderRef,
    /// The 64-bit integer type.
    pub word: LLVMTypeRef,
    /// `poise_thread`, whose first word is the thread's block counter.
    pub thread: LLVMValueRef,
    /// `poise_again`, which counts visits of the current call path that did not enter it.
    pub again: LLVMValueRef,
    /// `poise_enter`.
    pub enter: Callee,
    /// `poise_leave`.
    pub leave: Callee,
    /// `poise_inlined`.
    pub inlined: Callee,
    /// The type of pointers.
    pub pointer: LLVMTypeRef,
    /// `poise_return_to`.
    pub return_to: Callee,
    /// `poise_site`.
    pub site: LLVMValueRef,
    /// A null pointer.
    pub nowhere: LLVMValueRef,
    /// Whether no node of the call tree is entered by calling a value, unless that calls back.
    pub is_quiet: &'a dyn Fn(LLVMValueRef) -> bool,
}

/// What a function is that is a node of the call tree.
pub struct Region {
    /// Its `struct poise_region`.
    pub region: LLVMValueRef,
    /// The functions inlined into it.
    pub paths: Paths,
    /// The `struct poise_inlined` of each.
    pub sites: Vec<LLVMValueRef>,
    /// Its calls of itself, where they need not enter it.
    pub recursion: Option<Recursion>,
}

impl Region {
    /// Whether accumulators are to be flushed before an instruction.
    unsafe fn ends(region: Option<&Self>, instruction: LLVMValueRef) -> bool {
        let recursion = region.and_then(|region| region.recursion.as_ref());
        // SAFETY: the caller gives an instruction of the function.
        unsafe { ends(instruction) && !recursion.is_some_and(|recursion| recursion.waits_for(instruction)) }
    }
}

impl Runtime<'_> {
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

    /// Adds to one of the thread's counters, at the builder's position.
    unsafe fn add_to(&self, address: LLVMValueRef, addend: LLVMValueRef) {
        // SAFETY: the address is that of a word.
        unsafe {
            let before = LLVMBuildLoad2(self.builder, self.word, address, c"".as_ptr());
            let after = LLVMBuildAdd(self.builder, before, addend, c"".as_ptr());
            LLVMBuildStore(self.builder, after, address);
        }
    }

    /// The current call path's node, at the builder's position.
    unsafe fn current(&self) -> LLVMValueRef {
        // SAFETY: the word is one of `poise_thread` and holds a pointer.
        unsafe {
            let mut index = [LLVMConstInt(self.word, CURRENT, 0)];
            let address = LLVMConstInBoundsGEP2(self.word, self.thread, index.as_mut_ptr(), index.len() as u32);
            LLVMBuildLoad2(self.builder, self.pointer, address, c"".as_ptr())
        }
    }

    unsafe fn call(&self, callee: Callee, arguments: &mut [LLVMValueRef]) -> LLVMValueRef {
        let (pointer, length) = (arguments.as_mut_ptr(), arguments.len() as u32);
        // SAFETY: the arguments are of the callee's signature.
        unsafe { LLVMBuildCall2(self.builder, callee.signature, callee.function, pointer, length, c"".as_ptr()) }
    }
}

/// The function's control flow: blocks by number in reverse post-order, entry first, unreachable ones left out.
pub struct Flow {
    /// The blocks by number.
    pub blocks: Vec<LLVMBasicBlockRef>,
    number: HashMap<LLVMBasicBlockRef, usize>,
    /// The blocks before each, each once.
    pub predecessors: Vec<Vec<usize>>,
    /// Those that were added before and behind loops: they do nothing, count for nothing, and lead to one block, whose they are.
    added: HashSet<usize>,
    forest: Forest,
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
    let mut seen = HashSet::from([entry]);
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
    /// The flow of a function, whose loops get blocks of their own before and behind them where they lack these.
    ///
    /// # Safety
    /// The function must be valid and have a body, and the analyses be its.
    pub unsafe fn new(function: LLVMValueRef, analyses: *mut glue::Analyses) -> Self {
        // SAFETY: the caller gives a valid function with a body, and its analyses.
        unsafe {
            let own: HashSet<_> = list(LLVMGetFirstBasicBlock(function), LLVMGetNextBasicBlock).into_iter().collect();
            glue::poise_part_loops(analyses, function);
            let blocks = reverse_post_order(LLVMGetEntryBasicBlock(function));
            let added = (0..blocks.len()).filter(|&block| !own.contains(&blocks[block])).collect();
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
            let forest = Forest::new(blocks.len(), &edges);
            Self { blocks, number, predecessors, added, forest }
        }
    }

    /// The first instruction of a block that does something, by which it is known what the block belongs to.
    ///
    /// # Safety
    /// The number must be that of a block, and the function valid.
    pub unsafe fn first(&self, block: usize) -> LLVMValueRef {
        let mut at = block;
        // SAFETY: the caller's promise; what was added has one successor, and where it leads to something is done.
        unsafe {
            while self.added.contains(&at) {
                at = self.number[&successors(self.blocks[at])[0]];
            }
            glue::poise_first(self.blocks[at])
        }
    }

    /// Whether a loop begins with a block: an edge leads back to it, from itself or a block after it.
    pub fn is_header(&self, block: usize) -> bool {
        self.predecessors[block].iter().any(|&from| from >= block)
    }

    /// The blocks of the loop that begins with `header`: those from which an edge leads back to it, and all before them.
    fn body(&self, header: usize) -> BTreeSet<usize> {
        let mut body = BTreeSet::from([header]);
        let mut rest: Vec<usize> = self.predecessors[header].iter().copied().filter(|&from| from >= header).collect();
        while let Some(block) = rest.pop() {
            if body.insert(block) {
                rest.extend(&self.predecessors[block]);
            }
        }
        body
    }

    /// By block, the accumulators of loops that end before it, where code around the loop has another one: there what they hold is told if it
    /// is much, so that it is known when it was executed. `counter` gives the accumulator of a block.
    fn ends_of_loops(&self, counter: &[usize]) -> Vec<Vec<usize>> {
        let blocks = 0..self.blocks.len();
        let mut successors = vec![Vec::new(); self.blocks.len()];
        blocks.clone().for_each(|block| self.predecessors[block].iter().for_each(|&from| successors[from].push(block)));
        let is_mixed = |mut blocks: Box<dyn Iterator<Item = usize> + '_>| {
            let first = blocks.next();
            blocks.any(|block| first.is_some_and(|first| counter[block] != counter[first]))
        };
        let mut ends = vec![Vec::new(); self.blocks.len()];
        // Of what is innermost around each block, as far as loops are known: outer ones begin before inner ones.
        let mut is_in_mixed = vec![is_mixed(Box::new(blocks.clone())); self.blocks.len()];
        for header in blocks.filter(|&block| self.is_header(block)) {
            let body = self.body(header);
            if is_in_mixed[header] {
                for &block in body.iter().flat_map(|&block| &successors[block]).filter(|block| !body.contains(block)) {
                    if !ends[block].contains(&counter[header]) {
                        ends[block].push(counter[header]);
                    }
                }
            }
            let is_mixed = is_mixed(Box::new(body.iter().copied()));
            body.iter().for_each(|&block| is_in_mixed[block] = is_mixed);
        }
        ends
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

/// One accumulator under construction.
struct Counter {
    /// The inlined function that it is of, as the runtime knows it; `None` for the function itself.
    site: Option<LLVMValueRef>,
    /// What each block adds.
    weights: Vec<i64>,
    potentials: Vec<i64>,
    /// Whether the accumulator may hold anything when a block starts, before that adds its own.
    holds: Vec<bool>,
    /// The accumulator at the end of each block.
    at_end: Vec<LLVMValueRef>,
    /// Phis still without incoming values, with their blocks.
    phis: Vec<(usize, LLVMValueRef)>,
}

impl Counter {
    fn new(site: Option<LLVMValueRef>, weights: Vec<i64>, flow: &Flow, flushes: &[bool]) -> Self {
        let potentials = flow.forest.potentials(&weights);
        let mut holds = vec![false; weights.len()];
        // Forwards from what adds something until a flush; again while loops bring something back.
        let mut changes = true;
        while changes {
            changes = false;
            for block in 0..weights.len() {
                let leaves = |&from: &usize| !flushes[from] && (holds[from] || weights[from] != 0);
                if !holds[block] && flow.predecessors[block].iter().any(leaves) {
                    holds[block] = true;
                    changes = true;
                }
            }
        }
        Self { site, weights, potentials, holds, at_end: Vec::new(), phis: Vec::new() }
    }

    fn increment(&self, from: usize, to: usize) -> i64 {
        graph::increment(&self.weights, &self.potentials, from, to)
    }
}

/// One function's counting under construction.
struct Counting<'a> {
    runtime: &'a Runtime<'a>,
    flow: Flow,
    /// What the runtime gives a node when it is entered.
    node: Option<Entered>,
    region: Option<Region>,
    counters: Vec<Counter>,
    /// By block, the accumulators that are told there if they hold much.
    told: Vec<Vec<usize>>,
    /// What is left in an accumulator where it was told, as a choice between nothing and all, and of which function it is.
    choices: Vec<(LLVMValueRef, LLVMValueRef)>,
    /// Whether a body is left on a call path that is not its own, and where.
    strays: Vec<(LLVMValueRef, LLVMValueRef)>,
}

/// What the runtime gives a node when it is entered.
struct Entered {
    /// What it is left by, unless its shell does that.
    token: Option<LLVMValueRef>,
    /// The node's own call path, where control may come back to it or it asks for it.
    here: Option<LLVMValueRef>,
}

/// Instruments the function of `flow`; as a node of the call tree if it has a `region`.
///
/// # Safety
/// The function must have a body and belong to the module that `runtime` is of, and `flow` be of it as it is.
pub unsafe fn instrument(
    function: LLVMValueRef,
    flow: Flow,
    region: Option<Region>,
    weights: Weights,
    runtime: &Runtime<'_>,
    analyses: *mut glue::Analyses,
) {
    // SAFETY: the caller's promise; everything below walks and extends this one function.
    unsafe {
        let (counters, told) = counters(&flow, region.as_ref(), weights);
        let node = region.as_ref().map(|region| enter(&flow, region, runtime));
        let mut counting =
            Counting { runtime, flow, node, region, counters, told, choices: Vec::new(), strays: Vec::new() };
        for block in 0..counting.flow.blocks.len() {
            counting.block(block);
        }
        counting.connect();
        let phis: Vec<LLVMValueRef> =
            counting.counters.iter().flat_map(|counter| &counter.phis).map(|&(_, phi)| phi).collect();
        glue::poise_close(analyses, function, phis.as_ptr(), phis.len());
        // Last, since it changes the control flow.
        for (left, site) in counting.choices {
            glue::poise_tell(left, site, runtime.inlined.function);
        }
        if let Some(here) = counting.node.and_then(|node| node.here) {
            for (strays, at) in counting.strays {
                glue::poise_go_back(strays, at, here, runtime.return_to.function);
            }
        }
    }
}

/// The accumulators of a function: its own, and those of inlined functions that have one. And where they are told if they hold much.
unsafe fn counters(flow: &Flow, region: Option<&Region>, weights: Weights) -> (Vec<Counter>, Vec<Vec<usize>>) {
    // SAFETY: as in `instrument`.
    unsafe {
        let blocks = 0..flow.blocks.len();
        let flushes: Vec<bool> =
            flow.blocks.iter().map(|&block| instructions(block).into_iter().any(|i| Region::ends(region, i))).collect();
        let owner: Vec<Option<usize>> =
            blocks.clone().map(|block| region.and_then(|region| region.paths.counting(flow, block))).collect();
        let is_counted = |block| weights == Weights::Blocks || block == 0 || flow.is_header(block);
        let has_weight = |block| is_counted(block) && !flow.added.contains(&block);
        let of = |path: Option<usize>, site| {
            let weights = blocks.clone().map(|block| i64::from(owner[block] == path && has_weight(block))).collect();
            Counter::new(site, weights, flow, &flushes)
        };
        let inlined = region.into_iter().flat_map(|region| region.paths.all.iter().zip(&region.sites).enumerate());
        let inlined =
            inlined.filter(|(_, (path, _))| path.counts).map(|(number, (_, &site))| (Some(number), Some(site)));
        let all: Vec<_> = std::iter::once((None, None)).chain(inlined).collect();
        let number: HashMap<_, _> = all.iter().enumerate().map(|(number, (path, _))| (*path, number)).collect();
        let counter: Vec<usize> = owner.iter().map(|path| number[path]).collect();
        // Where there is one, nothing comes between.
        let told = if all.len() > 1 { flow.ends_of_loops(&counter) } else { vec![Vec::new(); flow.blocks.len()] };
        (all.into_iter().map(|(path, site)| of(path, site)).collect(), told)
    }
}

/// Whether control may leave the function for good at an instruction, so that accumulators are to be flushed before it.
unsafe fn ends(instruction: LLVMValueRef) -> bool {
    // SAFETY: the caller gives an instruction.
    unsafe { leaves(instruction) || glue::poise_may_not_return(instruction) }
}

/// Whether the function is left at an instruction. Nothing may stand between a call that must be a tail call and its return, which
/// comes too late.
unsafe fn leaves(instruction: LLVMValueRef) -> bool {
    // SAFETY: the caller gives an instruction.
    unsafe {
        matches!(LLVMGetInstructionOpcode(instruction), LLVMRet | LLVMResume) || glue::poise_is_musttail(instruction)
    }
}

/// Whether control comes back to the function at an instruction by other ways than a return.
unsafe fn comes_back(instruction: LLVMValueRef) -> bool {
    // SAFETY: the caller gives an instruction.
    unsafe { LLVMGetInstructionOpcode(instruction) == LLVMLandingPad || glue::poise_returns_twice(instruction) }
}

/// Calls `poise_enter` after the entry's allocas, unless the function's shell does.
unsafe fn enter(flow: &Flow, region: &Region, runtime: &Runtime<'_>) -> Entered {
    // SAFETY: as in `instrument`.
    unsafe {
        let mut at = first_insertion(flow.blocks[0]);
        while LLVMGetInstructionOpcode(at) == LLVMAlloca {
            at = LLVMGetNextInstruction(at);
        }
        LLVMPositionBuilderBefore(runtime.builder, at);
        let token = region.recursion.is_none().then(|| runtime.call(runtime.enter, &mut [region.region]));
        let asks = region.recursion.as_ref().is_some_and(|recursion| recursion.asks);
        let may = asks || flow.blocks.iter().any(|&block| instructions(block).into_iter().any(|i| comes_back(i)));
        Entered { token, here: may.then(|| runtime.current()) }
    }
}

impl Counting<'_> {
    /// Takes the accumulators through one block. Blocks come in reverse post-order, so a single predecessor was before.
    unsafe fn block(&mut self, number: usize) {
        // SAFETY: as in `instrument`.
        unsafe {
            let block = self.flow.blocks[number];
            let here = instructions(block);
            let mut values: Vec<LLVMValueRef> = Vec::with_capacity(self.counters.len());
            let mut holds: Vec<bool> = Vec::with_capacity(self.counters.len());
            for counter in &mut self.counters {
                values.push(at_start(self.runtime, &self.flow, counter, number));
                holds.push(counter.holds[number] || counter.weights[number] != 0);
            }
            for index in std::mem::take(&mut self.told[number]).into_iter().filter(|&index| holds[index]) {
                values[index] = self.tell(index, number, values[index], &here);
            }
            let mut left = false;
            for instruction in here {
                if Region::ends(self.region.as_ref(), instruction) && !left {
                    for (index, holds) in holds.iter_mut().enumerate().filter(|(_, holds)| **holds) {
                        values[index] = self.flush(&self.counters[index], number, values[index], instruction);
                        *holds = false;
                    }
                }
                if !left {
                    self.recur(instruction);
                }
                if leaves(instruction) && !left {
                    left = true;
                    self.leave(instruction);
                } else if glue::poise_is_call(instruction) && !left {
                    self.tell_site(instruction);
                }
                if comes_back(instruction) {
                    self.resume(instruction);
                }
            }
            for (counter, value) in self.counters.iter_mut().zip(values) {
                counter.at_end.push(value);
            }
        }
    }

    /// Adds what was executed so far to the thread's counter or the inlined function's, before `at`; gives the accumulator to
    /// go on with.
    unsafe fn flush(&self, counter: &Counter, number: usize, value: LLVMValueRef, at: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: as in `instrument`.
        unsafe {
            let builder = self.runtime.builder;
            let potential = counter.potentials[number];
            LLVMPositionBuilderBefore(builder, at);
            let executed = self.runtime.plus(value, potential);
            match counter.site {
                _ if LLVMIsNull(executed) != 0 => {}
                Some(site) => {
                    self.runtime.call(self.runtime.inlined, &mut [site, executed]);
                }
                None => self.runtime.add_to(self.runtime.thread, executed),
            }
            self.runtime.constant(-potential)
        }
    }

    /// Tells what was executed so far where a loop has ended before this block, if it is much; gives the accumulator to go on with.
    unsafe fn tell(&mut self, index: usize, number: usize, value: LLVMValueRef, here: &[LLVMValueRef]) -> LLVMValueRef {
        // SAFETY: as in `instrument`.
        unsafe {
            let first = here.iter().find(|&&instruction| LLVMGetInstructionOpcode(instruction) != LLVMPHI);
            // An exception's end of the loop is told later.
            let Some(&at) = first.filter(|&&first| LLVMGetInstructionOpcode(first) != LLVMLandingPad) else {
                return value;
            };
            let &Runtime { builder, nowhere, .. } = self.runtime;
            let counter = &self.counters[index];
            let potential = counter.potentials[number];
            LLVMPositionBuilderBefore(builder, at);
            let executed = self.runtime.plus(value, potential);
            if !LLVMIsAConstant(executed).is_null() {
                return value;
            }
            let (much, nothing) = (self.runtime.constant(MUCH as i64), self.runtime.constant(0));
            let is_much = LLVMBuildICmp(builder, LLVMIntUGE, executed, much, c"".as_ptr());
            let left = LLVMBuildSelect(builder, is_much, nothing, executed, c"".as_ptr());
            self.choices.push((left, counter.site.unwrap_or(nowhere)));
            self.runtime.plus(left, -potential)
        }
    }

    /// Tells the runtime in which inlined function a call stands, in functions that have some.
    unsafe fn tell_site(&self, call: LLVMValueRef) {
        let Some(region) = self.region.as_ref().filter(|region| !region.paths.all.is_empty()) else { return };
        // SAFETY: as in `instrument`.
        unsafe {
            let callee = LLVMGetCalledValue(call);
            let is_direct = region.recursion.as_ref().is_some_and(|r| !r.asks && r.calls.contains(&call));
            if callee == self.runtime.enter.function
                || is_direct
                || !glue::poise_may_not_return(call) && (self.runtime.is_quiet)(callee)
            {
                return;
            }
            let site = region.paths.at(call).map_or(self.runtime.nowhere, |path| region.sites[path]);
            LLVMPositionBuilderBefore(self.runtime.builder, call);
            LLVMBuildStore(self.runtime.builder, site, self.runtime.site);
        }
    }

    /// A call of the function itself goes to its body, and is a visit, as long as the call path is the function's own.
    unsafe fn recur(&self, call: LLVMValueRef) {
        let recursion = self.region.as_ref().and_then(|region| region.recursion.as_ref());
        let Some(recursion) = recursion.filter(|recursion| recursion.calls.contains(&call)) else { return };
        let here = self.node.as_ref().and_then(|node| node.here).filter(|_| recursion.asks);
        // SAFETY: as in `instrument`; the body is of the shell's type, and what was asked in the entry dominates everything.
        unsafe {
            let &Runtime { builder, word, .. } = self.runtime;
            LLVMPositionBuilderBefore(builder, call);
            let Some(here) = here else {
                self.runtime.add_to(self.runtime.again, self.runtime.constant(1));
                glue::poise_call_instead(call, recursion.body);
                return;
            };
            let is_own = LLVMBuildICmp(builder, LLVMIntEQ, self.runtime.current(), here, c"".as_ptr());
            self.runtime.add_to(self.runtime.again, LLVMBuildZExt(builder, is_own, word, c"".as_ptr()));
            let callee = LLVMBuildSelect(builder, is_own, recursion.body, recursion.shell, c"".as_ptr());
            glue::poise_call_instead(call, callee);
        }
    }

    /// Leaves the node, if its shell does not. A body that began a region and did not end it goes back to its own call path, which is its
    /// caller's.
    unsafe fn leave(&mut self, at: LLVMValueRef) {
        let Some(node) = &self.node else { return };
        let asks = self.region.as_ref().and_then(|region| region.recursion.as_ref()).is_some_and(|r| r.asks);
        // SAFETY: as in `instrument`; the definitions in the entry dominate everything.
        unsafe {
            LLVMPositionBuilderBefore(self.runtime.builder, at);
            if let Some(token) = node.token {
                self.runtime.call(self.runtime.leave, &mut [token]);
            } else if let Some(here) = node.here.filter(|_| asks) {
                let current = self.runtime.current();
                self.strays.push((LLVMBuildICmp(self.runtime.builder, LLVMIntNE, current, here, c"".as_ptr()), at));
            }
        }
    }

    /// Control comes back here by other ways than a return: the call path is this function's again.
    unsafe fn resume(&self, after: LLVMValueRef) {
        if let Some(here) = self.node.as_ref().and_then(|node| node.here) {
            // SAFETY: as in `leave`; neither a landing pad nor a call that returns twice ends a block here.
            unsafe {
                LLVMPositionBuilderBefore(self.runtime.builder, LLVMGetNextInstruction(after));
                self.runtime.call(self.runtime.return_to, &mut [here]);
            }
        }
    }

    /// Gives the phis their incoming values and removes those that all paths agree on.
    unsafe fn connect(&mut self) {
        // SAFETY: as in `instrument`.
        unsafe {
            for counter in &mut self.counters {
                let mut added = HashMap::new();
                for &(number, phi) in &counter.phis {
                    for (value, block) in incoming(self.runtime, &self.flow, counter, number, &mut added) {
                        LLVMAddIncoming(phi, [value].as_mut_ptr(), [block].as_mut_ptr(), 1);
                    }
                }
                while remove_trivial(&mut counter.phis) {}
            }
        }
    }
}

/// The accumulator where block `number` starts.
unsafe fn at_start(runtime: &Runtime<'_>, flow: &Flow, counter: &mut Counter, number: usize) -> LLVMValueRef {
    // SAFETY: as in `instrument`.
    unsafe {
        if !counter.holds[number] {
            return runtime.constant(counter.weights[number] - counter.potentials[number]);
        }
        match flow.predecessors[number][..] {
            [from] if from < number => {
                LLVMPositionBuilderBefore(runtime.builder, first_insertion(flow.blocks[number]));
                runtime.plus(counter.at_end[from], counter.increment(from, number))
            }
            _ => {
                let phi = glue::poise_phi(flow.blocks[number], runtime.word);
                counter.phis.push((number, phi));
                phi
            }
        }
    }
}

/// One value per edge into block `to`, as phis want them.
unsafe fn incoming(
    runtime: &Runtime<'_>,
    flow: &Flow,
    counter: &Counter,
    to: usize,
    added: &mut HashMap<(usize, i64), LLVMValueRef>,
) -> Vec<(LLVMValueRef, LLVMBasicBlockRef)> {
    let mut incoming = Vec::new();
    // SAFETY: as in `instrument`. The addition stands before the predecessor's terminator and matters only on
    // this edge, so that no edge needs splitting.
    unsafe {
        for from in predecessors(flow.blocks[to]) {
            let value = match flow.number.get(&from) {
                None => runtime.constant(0), // Nothing reaches it.
                Some(&number) => {
                    let increment = counter.increment(number, to);
                    *added.entry((number, increment)).or_insert_with(|| {
                        LLVMPositionBuilderBefore(runtime.builder, LLVMGetBasicBlockTerminator(from));
                        runtime.plus(counter.at_end[number], increment)
                    })
                }
            };
            incoming.push((value, from));
        }
    }
    incoming
}

/// Removes phis whose incoming values are all the same or the phi itself; whether there were any.
unsafe fn remove_trivial(phis: &mut Vec<(usize, LLVMValueRef)>) -> bool {
    let before = phis.len();
    // SAFETY: as in `instrument`; a removed phi is forgotten at once.
    phis.retain(|&(_, phi)| unsafe {
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
    phis.len() < before
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
