//! Nodes that call themselves. A call of a function that is on the call path already changes nothing but the number of visits, since
//! recursion folds; so it need not enter, leave or read the clock:
//!
//! ```text
//! function            enter; body; leave          what everybody else calls, also through pointers
//! function.poise      the code, which counts      what the code itself calls, after counting a visit
//! ```
//!
//! That holds as long as the call path is still the function's own. What it calls may change that: a function of another file, or
//! one without a node, may begin a region by hand for it. A function that calls such asks before it calls itself, and calls the
//! whole function where the call path is another.

use std::collections::HashSet;

use llvm_sys::LLVMOpcode::LLVMResume;
use llvm_sys::core::*;
use llvm_sys::prelude::{LLVMBasicBlockRef, LLVMValueRef};

use crate::function::instructions;
use crate::glue::{self, Analyses};
use crate::module::has_attribute;
use crate::nodes::is_library;

/// A function that calls itself, in two parts.
pub struct Recursion {
    /// The calls of itself.
    pub calls: HashSet<LLVMValueRef>,
    /// The whole function, which enters and leaves.
    pub shell: LLVMValueRef,
    /// Its code.
    pub body: LLVMValueRef,
    /// Whether what it calls may leave another call path behind.
    pub asks: bool,
    /// Whether its calls of itself come back for certain, and no other node is entered meanwhile: then what it counts may be added
    /// when it returns.
    pub waits: bool,
}

impl Recursion {
    /// The calls of itself of a function with these blocks; `None` where it cannot have two parts or does not call itself. `enters` says
    /// of functions of this module that they are nodes.
    ///
    /// # Safety
    /// The function must have a body, and the analyses be its.
    pub unsafe fn of(
        function: LLVMValueRef,
        blocks: &[LLVMBasicBlockRef],
        enters: impl Fn(LLVMValueRef) -> bool,
        analyses: *mut Analyses,
    ) -> Option<Self> {
        // SAFETY: the caller's promise.
        unsafe {
            let all: Vec<_> = blocks.iter().flat_map(|&block| instructions(block)).collect();
            let calls: HashSet<_> = all.iter().copied().filter(|&i| glue::poise_calls(i, function)).collect();
            let others = || all.iter().copied().filter(|i| !calls.contains(i));
            // Before such a call the function would have to be left, for which its shell is not there any more.
            let goes_elsewhere = others().any(|i| glue::poise_is_musttail(i));
            if calls.is_empty() || goes_elsewhere || !glue::poise_can_divide(function) {
                return None;
            }
            let comes_back_as_it_was = |callee: LLVMValueRef| {
                is_library(callee, analyses)
                    || !LLVMIsAFunction(callee).is_null()
                        && (has_attribute(callee, c"noreturn") || enters(callee) && glue::poise_is_exact(callee))
            };
            let asks = others().any(|i| glue::poise_is_call(i) && !comes_back_as_it_was(LLVMGetCalledValue(i)));
            let may_end = |i| LLVMGetInstructionOpcode(i) == LLVMResume || glue::poise_may_not_return(i);
            let enters_none = |i| !glue::poise_is_call(i) || is_library(LLVMGetCalledValue(i), analyses);
            let waits = others().all(|i| enters_none(i) && !may_end(i));
            Some(Self { calls, shell: function, body: function, asks, waits })
        }
    }

    /// Whether nothing needs to be added to the thread's counter before an instruction, as it will be after it.
    ///
    /// # Safety
    /// It must be an instruction of the function.
    pub unsafe fn waits_for(&self, instruction: LLVMValueRef) -> bool {
        // SAFETY: the caller's promise.
        self.waits && self.calls.contains(&instruction) && unsafe { !glue::poise_is_musttail(instruction) }
    }
}
