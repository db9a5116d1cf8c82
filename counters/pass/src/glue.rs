//! What `cpp/glue.cpp` adds to LLVM's C interface, and the way back from it.

use std::ffi::{c_uint, c_void};

use llvm_sys::prelude::{LLVMBasicBlockRef, LLVMModuleRef, LLVMValueRef};

/// LLVM's `FunctionAnalysisManager`.
#[repr(C)]
pub struct Analyses {
    opaque: [u8; 0],
}

unsafe extern "C" {
    /// Adds the pass to the compiler's pipeline, and to `opt` by the name `poise-count`.
    pub fn poise_register(builder: *mut c_void);
    /// Adds noise injection to the pipeline, and to `opt` by the name `poise-noise`.
    pub fn poise_register_noise(builder: *mut c_void);
    /// Whether control can come back to a block that it left.
    pub fn poise_has_cycle(function: LLVMValueRef) -> bool;
    /// Estimated executions of an edge, relative to others in the function.
    pub fn poise_edge_frequency(analyses: *mut Analyses, block: LLVMBasicBlockRef, successor: c_uint) -> u64;
    /// Whether a declared function is one of the C or C++ library's.
    pub fn poise_is_library(analyses: *mut Analyses, function: LLVMValueRef) -> bool;
    /// Whether an instruction calls a function, inline assembly and intrinsics aside.
    pub fn poise_is_call(instruction: LLVMValueRef) -> bool;
    /// Whether control may leave the instruction for good.
    pub fn poise_may_not_return(instruction: LLVMValueRef) -> bool;
    /// Whether the instruction is a call that must stay the last thing before a return.
    pub fn poise_is_musttail(instruction: LLVMValueRef) -> bool;
    /// Whether the instruction calls setjmp or the like.
    pub fn poise_returns_twice(instruction: LLVMValueRef) -> bool;
    /// Lets a function write memory.
    pub fn poise_widen_function(function: LLVMValueRef);
    /// Replaces accumulators of loops by closed forms where possible; may erase any of the phis.
    pub fn poise_close(analyses: *mut Analyses, function: LLVMValueRef, phis: *const LLVMValueRef, count: usize);
    /// Lets a call write memory.
    pub fn poise_widen_call(instruction: LLVMValueRef);
}

/// Instruments a module; the C++ pass calls it. A panic here ends the compiler, as its own internal errors do.
#[unsafe(no_mangle)]
extern "C" fn poise_instrument(module: LLVMModuleRef, analyses: *mut Analyses) -> bool {
    // SAFETY: LLVM gives a valid module and its analyses, which live during the call.
    unsafe { crate::module::instrument(module, analyses) }
}
