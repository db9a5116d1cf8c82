//! Source-level call paths within one function: the functions inlined into it that have loops or call nodes of the call tree,
//! as debug locations tell them after inlining.
//!
//! Those that have loops have an accumulator of their own. What belongs to another one counts for the function that it was inlined
//! into, as what small functions execute counts for their callers.

use std::collections::{HashMap, HashSet};
use std::ptr::null_mut;

use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMGetSubprogram;
use llvm_sys::prelude::{LLVMMetadataRef, LLVMValueRef};

use crate::constants::described;
use crate::filter::{Filter, Verdict};
use crate::function::{Flow, instructions};
use crate::{glue, nodes};

/// Functions that one instruction can have been inlined from; what is inlined deeper counts for the last of them.
const DEEPEST: usize = 64;

/// Blocks times accumulators that one function may have, which is what the compiler's time and memory grow with: a function of a thousand
/// blocks may have 262 accumulators, one of a hundred thousand two.
const MOST: usize = 1 << 18;

/// An inlined function.
pub struct Path {
    /// The inlined function that it was inlined into, by number; `None` where that is the function itself.
    pub outer: Option<usize>,
    /// What debug information says of it.
    pub function: LLVMMetadataRef,
    /// Whether it has an accumulator.
    pub counts: bool,
}

/// The inlined functions of one function, outer ones before inner ones.
pub struct Paths {
    /// All of them.
    pub all: Vec<Path>,
    known: HashMap<(Option<usize>, LLVMMetadataRef), usize>,
    function: LLVMMetadataRef,
    /// Functions that a filter excludes, which are in no chain.
    excluded: HashSet<LLVMMetadataRef>,
}

impl Paths {
    /// No inlined functions.
    pub fn none() -> Self {
        Self { all: Vec::new(), known: HashMap::new(), function: null_mut(), excluded: HashSet::new() }
    }

    /// Those of `function`. Calls of what `is_quiet` holds for lead to no nodes. What the filter excludes belongs to the function that
    /// it was inlined into, and what it includes has an accumulator, with a loop or without.
    ///
    /// # Safety
    /// The function must be the one that `flow` is of.
    pub unsafe fn of(
        function: LLVMValueRef,
        flow: &Flow,
        is_quiet: &dyn Fn(LLVMValueRef) -> bool,
        filter: &Filter,
    ) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            let mut paths = Self { function: LLVMGetSubprogram(function), ..Self::none() };
            if paths.function.is_null() {
                return paths;
            }
            if !filter.is_empty() {
                paths.apply(filter, flow);
            }
            for (number, &block) in flow.blocks.iter().enumerate() {
                let latches = flow.predecessors[number].iter().filter(|&&from| from >= number);
                let ends: Vec<_> = latches.map(|&from| LLVMGetBasicBlockTerminator(flow.blocks[from])).collect();
                if !ends.is_empty() {
                    let owner = paths.owner(ends.into_iter().chain([flow.first(number)]));
                    if let Some(owner) = paths.add(&owner) {
                        paths.all[owner].counts = true;
                    }
                }
                for call in instructions(block).into_iter().filter(|&i| glue::poise_is_call(i)) {
                    if !is_quiet(LLVMGetCalledValue(call)) {
                        let chain = paths.chain(call);
                        paths.add(&chain);
                    }
                }
            }
            paths.limit(MOST / flow.blocks.len());
            paths
        }
    }

    /// Leaves accumulators to the first `most` functions that have one; the others count for those around them, which are before them.
    fn limit(&mut self, most: usize) {
        self.all.iter_mut().filter(|path| path.counts).skip(most).for_each(|path| path.counts = false);
    }

    /// Applies the filter to all functions that were inlined.
    unsafe fn apply(&mut self, filter: &Filter, flow: &Flow) {
        // SAFETY: the caller's promise; what was inlined has a description.
        unsafe {
            let all = flow.blocks.iter().flat_map(|&block| instructions(block)).flat_map(|i| inlined_from(i));
            let mut verdicts = HashMap::new();
            for function in all {
                verdicts.entry(function).or_insert_with(|| {
                    let name = described(function).unwrap_or_default().name;
                    nodes::verdict(filter, &String::from_utf8_lossy(&name), function)
                });
            }
            let with = |verdict| verdicts.iter().filter(move |(_, v)| **v == verdict).map(|(&function, _)| function);
            self.excluded = with(Verdict::Excluded).collect();
            let included: HashSet<_> = with(Verdict::Included).collect();
            for block in 1..flow.blocks.len() {
                let mut chain = self.chain(flow.first(block));
                chain.truncate(chain.iter().rposition(|function| included.contains(function)).map_or(0, |at| at + 1));
                if let Some(path) = self.add(&chain) {
                    self.all[path].counts = true;
                }
            }
        }
    }

    /// The chain that all of a loop's `marks` with a place in the source have in common: the loop's own, since what it calls was
    /// inlined from deeper chains.
    unsafe fn owner(&self, marks: impl Iterator<Item = LLVMValueRef>) -> Vec<LLVMMetadataRef> {
        // SAFETY: the marks are instructions of the function.
        let chains = unsafe { marks.filter(|&mark| glue::poise_has_location(mark)).map(|mark| self.chain(mark)) };
        let common = |mut a: Vec<LLVMMetadataRef>, b: Vec<LLVMMetadataRef>| {
            let equal = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
            a.truncate(equal);
            a
        };
        chains.reduce(common).unwrap_or_default()
    }

    /// The inlined functions that an instruction is in, outermost first. Recursion folds: a function that was inlined into itself, however
    /// indirectly, is one.
    unsafe fn chain(&self, instruction: LLVMValueRef) -> Vec<LLVMMetadataRef> {
        let mut chain = Vec::new();
        // SAFETY: the caller gives an instruction of the function.
        for function in unsafe { inlined_from(instruction) } {
            if self.excluded.contains(&function) {
                continue;
            }
            if function == self.function {
                chain.clear();
            } else if let Some(known) = chain.iter().position(|&outer| outer == function) {
                chain.truncate(known + 1);
            } else {
                chain.push(function);
            }
        }
        chain
    }

    /// The number of the last function of a chain, which becomes known with those around it; `None` where the chain is empty.
    fn add(&mut self, chain: &[LLVMMetadataRef]) -> Option<usize> {
        chain.iter().fold(None, |outer, &function| {
            let next = self.all.len();
            let number = *self.known.entry((outer, function)).or_insert(next);
            if number == next {
                self.all.push(Path { outer, function, counts: false });
            }
            Some(number)
        })
    }

    /// The innermost known function that an instruction is in; `None` where that is the function itself.
    ///
    /// # Safety
    /// The instruction must be of the function.
    pub unsafe fn at(&self, instruction: LLVMValueRef) -> Option<usize> {
        if self.all.is_empty() {
            return None;
        }
        let mut at = None;
        // SAFETY: the caller's promise.
        for function in unsafe { self.chain(instruction) } {
            match self.known.get(&(at, function)) {
                Some(&inner) => at = Some(inner),
                None => break,
            }
        }
        at
    }

    /// The innermost function with an accumulator that a block is in; `None` where that is the function itself.
    ///
    /// # Safety
    /// The number must be that of a block of `flow`, which must be of the function.
    pub unsafe fn counting(&self, flow: &Flow, block: usize) -> Option<usize> {
        // The entry is the function's, whatever was inlined there.
        if block == 0 {
            return None;
        }
        // SAFETY: the caller's promise.
        let mut at = unsafe { self.at(flow.first(block)) };
        while let Some(path) = at.filter(|&path| !self.all[path].counts) {
            at = self.all[path].outer;
        }
        at
    }
}

/// The functions that an instruction was inlined from, outermost first, as debug information has them.
unsafe fn inlined_from(instruction: LLVMValueRef) -> Vec<LLVMMetadataRef> {
    let mut functions = vec![null_mut(); DEEPEST];
    // SAFETY: the caller gives an instruction; there is room for as many as the call says.
    let count = unsafe { glue::poise_inlined_from(instruction, functions.as_mut_ptr(), DEEPEST) };
    functions.truncate(count);
    functions
}
