//! Makes the linker say in one line that the runtime is missing.
//!
//! What instrumented code refers to is declared weak, so that the linker passes over it in silence. One constant, which all object files of
//! a program share, points to a symbol of the runtime's whose name says what to do: the only one that a link without the runtime
//! lacks. It costs a program eight bytes of data, which nothing reads, and a function of forty bytes, which nothing calls.

use std::ffi::CStr;

use llvm_sys::LLVMLinkage::{LLVMAppendingLinkage, LLVMLinkOnceODRLinkage};
use llvm_sys::LLVMVisibility::LLVMHiddenVisibility;
use llvm_sys::comdat::{LLVMGetOrInsertComdat, LLVMSetComdat};
use llvm_sys::core::*;
use llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};

use crate::function::Runtime;
use crate::module::{array, mark};

/// The runtime's symbol. `counters/runtime/src/demand.rs` defines it.
const RUNTIME: &CStr = c"poise_runtime_is_missing_link_with_poise_cc_or_lpoise_runtime";
/// The constant.
const DEMAND: &CStr = c"poise_demand";
/// The function.
const TYPES: &CStr = c"poise_types";

/// Makes `module`, which is instrumented, demand the runtime.
///
/// # Safety
/// Both must be valid and belong together.
pub unsafe fn runtime(module: LLVMModuleRef, runtime: &Runtime<'_>) {
    // SAFETY: the caller's promise; what is made belongs to the module.
    unsafe {
        // Bitcode may meet the pass again.
        if !LLVMGetNamedGlobal(module, DEMAND.as_ptr()).is_null() {
            return;
        }
        let comdat = LLVMGetOrInsertComdat(module, DEMAND.as_ptr());
        let share = |value| {
            LLVMSetLinkage(value, LLVMLinkOnceODRLinkage);
            LLVMSetVisibility(value, LLVMHiddenVisibility);
            LLVMSetComdat(value, comdat);
        };
        let procedure = LLVMFunctionType(LLVMVoidTypeInContext(LLVMGetModuleContext(module)), [].as_mut_ptr(), 0, 0);
        let demand = LLVMAddGlobal(module, runtime.pointer, DEMAND.as_ptr());
        LLVMSetInitializer(demand, LLVMAddFunction(module, RUNTIME.as_ptr(), procedure));
        LLVMSetGlobalConstant(demand, 1);
        share(demand);
        // An object file tells that a symbol is thread-local only where code refers to it, and linkers refuse a weak one that does not.
        let types = LLVMAddFunction(module, TYPES.as_ptr(), procedure);
        share(types);
        mark(types);
        let block = LLVMAppendBasicBlockInContext(LLVMGetModuleContext(module), types, c"".as_ptr());
        LLVMPositionBuilderAtEnd(runtime.builder, block);
        LLVMSetCurrentDebugLocation2(runtime.builder, std::ptr::null_mut());
        for variable in [runtime.thread, runtime.again, runtime.site] {
            LLVMSetVolatile(LLVMBuildLoad2(runtime.builder, runtime.word, variable, c"".as_ptr()), 1);
        }
        LLVMBuildRetVoid(runtime.builder);
        keep(module, runtime, &[demand, types]);
    }
}

/// Keeps the compiler and the linker from removing `values`: adds them to LLVM's list of such, which is a constant and is made anew.
unsafe fn keep(module: LLVMModuleRef, runtime: &Runtime<'_>, values: &[LLVMValueRef]) {
    const LIST: &CStr = c"llvm.used";
    // SAFETY: the caller gives a valid module and values of its own.
    unsafe {
        let mut all = Vec::new();
        let old = LLVMGetNamedGlobal(module, LIST.as_ptr());
        if !old.is_null() {
            let known = LLVMGetInitializer(old);
            all.extend((0..LLVMGetNumOperands(known)).map(|at| LLVMGetOperand(known, at as u32)));
            LLVMDeleteGlobal(old);
        }
        all.extend(values);
        let count = all.len() as u32;
        let list = LLVMAddGlobal(module, array(runtime.pointer, count), LIST.as_ptr());
        LLVMSetInitializer(list, constant_array(runtime, &mut all));
        LLVMSetLinkage(list, LLVMAppendingLinkage);
        LLVMSetSection(list, c"llvm.metadata".as_ptr());
    }
}

/// A constant array of pointers. LLVM 16 has not what replaces this function later.
#[allow(deprecated, reason = "The plugin's Rust part is the same for LLVMs that have only this.")]
unsafe fn constant_array(runtime: &Runtime<'_>, values: &mut [LLVMValueRef]) -> LLVMValueRef {
    // SAFETY: the caller gives pointers that are constants of the module.
    unsafe { LLVMConstArray(runtime.pointer, values.as_mut_ptr(), values.len() as u32) }
}
