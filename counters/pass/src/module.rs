//! What happens to a module: which functions count, and what they refer to.

use std::collections::HashSet;
use std::ffi::CStr;

use llvm_sys::LLVMLinkage::{LLVMAvailableExternallyLinkage, LLVMExternalWeakLinkage};
use llvm_sys::LLVMThreadLocalMode::LLVMInitialExecTLSModel;
use llvm_sys::core::*;
use llvm_sys::prelude::{LLVMContextRef, LLVMModuleRef, LLVMTypeRef, LLVMValueRef};

use crate::constants::Constants;
use crate::demand;
use crate::devices::is_for_host;
use crate::function::{self, Callee, Flow, Region, Runtime, instructions};
use crate::glue::{self, Analyses};
use crate::nodes::{self, Ranks, is_library, marks_regions};
use crate::noise;
use crate::options::Options;
use crate::paths::Paths;
use crate::recursion::Recursion;

/// Attributes of functions that are left alone: they cannot hold a prologue, must not be profiled, or will be split
/// into several functions.
const UNTOUCHED: [&CStr; 4] = [c"naked", c"noprofile", c"skipprofile", c"presplitcoroutine"];

/// The attribute of functions that are instrumented: bitcode meets the pass again when it is compiled, perhaps after it
/// was linked with bitcode that is not instrumented yet. For LLVM itself it has no meaning.
const INSTRUMENTED: &CStr = c"poise-instrumented";

/// Instruments all functions of `module`; gives whether there was any.
///
/// # Safety
/// Both must be valid and belong together.
pub unsafe fn instrument(module: LLVMModuleRef, analyses: *mut Analyses) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        // LLVM's text ends with a NUL and lives as long as the module.
        if !is_for_host(CStr::from_ptr(LLVMGetTarget(module))) {
            return false;
        }
        let functions = countable(module);
        if functions.is_empty() {
            return false;
        }
        let options = Options::get();
        let Ranks { mut nodes, quiet } = nodes::ranks(&functions, options, analyses);
        widen(module, &functions, analyses);
        let is_quiet = |callee: LLVMValueRef| quiet.contains(&callee) || nodes::is_quiet(callee, analyses);
        let runtime = runtime(module, &is_quiet);
        let mut constants = Constants::new(module, options.weights);
        for &function in &functions {
            let flow = Flow::new(function, analyses);
            let mut region = nodes.contains(&function).then(|| {
                let paths = if options.inlined {
                    Paths::of(function, &flow, &is_quiet, &options.filter)
                } else {
                    Paths::none()
                };
                // What is measured with noise is called by its function's name, and enters and leaves in the same function.
                let divides = !noise::is_wanted() && !nodes::is_program(function);
                let enters = |callee: LLVMValueRef| nodes.contains(&callee);
                let recursion = divides.then(|| Recursion::of(function, &flow.blocks, enters, analyses)).flatten();
                let (region, sites) = (constants.region(function, &paths), constants.sites(&paths));
                Region { region, sites, paths, recursion }
            });
            if let Some(Region { region, recursion: Some(recursion), .. }) = &mut region {
                let (enter, leave) = (runtime.enter.function, runtime.leave.function);
                recursion.shell = glue::poise_divide(function, *region, enter, leave);
                nodes.insert(recursion.shell);
                mark(recursion.shell);
            }
            function::instrument(function, flow, region, options.weights, &runtime, analyses);
            mark(function);
        }
        demand::runtime(module, &runtime);
        LLVMDisposeBuilder(runtime.builder);
        true
    }
}

/// What a list of LLVM's holds.
///
/// # Safety
/// `first` must be null or start the list that `next` follows.
pub unsafe fn list<T>(first: *mut T, next: unsafe extern "C" fn(*mut T) -> *mut T) -> Vec<*mut T> {
    let some = |item: *mut T| Some(item).filter(|item| !item.is_null());
    // SAFETY: `next` is LLVM's successor function of the list that `first` starts.
    std::iter::successors(some(first), |&item| some(unsafe { next(item) })).collect()
}

/// The name of a function.
///
/// # Safety
/// The value must be valid.
pub unsafe fn name(value: LLVMValueRef) -> String {
    let mut length = 0;
    // SAFETY: LLVM gives a pointer to `length` bytes that live as long as the value keeps its name.
    unsafe {
        let bytes = LLVMGetValueName2(value, &mut length);
        String::from_utf8_lossy(std::slice::from_raw_parts(bytes.cast(), length)).into_owned()
    }
}

/// Whether `function` has an attribute that LLVM knows.
///
/// # Safety
/// The function must be valid.
pub unsafe fn has_attribute(function: LLVMValueRef, attribute: &CStr) -> bool {
    // SAFETY: the function is valid; an attribute that this LLVM does not know has kind 0.
    unsafe {
        let kind = LLVMGetEnumAttributeKindForName(attribute.as_ptr(), attribute.count_bytes());
        kind != 0 && !LLVMGetEnumAttributeAtIndex(function, llvm_sys::LLVMAttributeFunctionIndex, kind).is_null()
    }
}

/// Gives `function` the attribute [`INSTRUMENTED`].
///
/// # Safety
/// The function must be valid.
pub unsafe fn mark(function: LLVMValueRef) {
    // SAFETY: the function is valid; LLVM copies both texts.
    unsafe {
        let context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
        let (key, length) = (INSTRUMENTED.as_ptr(), INSTRUMENTED.count_bytes() as u32);
        let attribute = LLVMCreateStringAttribute(context, key, length, c"".as_ptr(), 0);
        LLVMAddAttributeAtIndex(function, llvm_sys::LLVMAttributeFunctionIndex, attribute);
    }
}

unsafe fn is_marked(function: LLVMValueRef) -> bool {
    let (key, length) = (INSTRUMENTED.as_ptr(), INSTRUMENTED.count_bytes() as u32);
    // SAFETY: the function is valid.
    unsafe { !LLVMGetStringAttributeAtIndex(function, llvm_sys::LLVMAttributeFunctionIndex, key, length).is_null() }
}

/// The functions whose blocks are to be counted and are not yet.
unsafe fn countable(module: LLVMModuleRef) -> Vec<LLVMValueRef> {
    // SAFETY: the module is valid.
    unsafe {
        // Resolvers run while the program is being loaded, when thread-local storage may not be there yet.
        let ifuncs = list(LLVMGetFirstGlobalIFunc(module), LLVMGetNextGlobalIFunc);
        let resolvers: HashSet<_> = ifuncs.into_iter().map(|ifunc| LLVMGetGlobalIFuncResolver(ifunc)).collect();
        let mut functions = list(LLVMGetFirstFunction(module), LLVMGetNextFunction);
        functions.retain(|&function| {
            LLVMIsDeclaration(function) == 0
                && LLVMGetLinkage(function) != LLVMAvailableExternallyLinkage
                && !resolvers.contains(&function)
                && !is_marked(function)
                && !marks_regions(&name(function))
                && !UNTOUCHED.iter().any(|attribute| has_attribute(function, attribute))
        });
        functions
    }
}

/// Lets all functions that count, or that may call some that do in other modules, write memory, and all calls of them.
/// What came from const or pure would otherwise make the compiler reuse a counter's value across the call.
unsafe fn widen(module: LLVMModuleRef, functions: &[LLVMValueRef], analyses: *mut Analyses) {
    // SAFETY: the module is valid.
    unsafe {
        let is_harmless = |callee| is_library(callee, analyses);
        for function in list(LLVMGetFirstFunction(module), LLVMGetNextFunction) {
            if LLVMGetIntrinsicID(function) == 0 && !is_harmless(function) {
                glue::poise_widen_function(function);
            }
        }
        for &function in functions {
            for block in list(LLVMGetFirstBasicBlock(function), LLVMGetNextBasicBlock) {
                let calls = instructions(block).into_iter().filter(|&i| glue::poise_is_call(i));
                calls
                    .filter(|&call| !is_harmless(LLVMGetCalledValue(call)))
                    .for_each(|call| glue::poise_widen_call(call));
            }
        }
    }
}

/// Declares what instrumented code refers to, weakly: should the runtime be missing, `demand` makes the linker say so once.
unsafe fn runtime<'a>(module: LLVMModuleRef, is_quiet: &'a dyn Fn(LLVMValueRef) -> bool) -> Runtime<'a> {
    // SAFETY: the module is valid.
    unsafe {
        let context = LLVMGetModuleContext(module);
        let (word, pointer) = (LLVMInt64TypeInContext(context), pointer_type(context));
        let nothing = LLVMVoidTypeInContext(context);
        Runtime {
            builder: LLVMCreateBuilderInContext(context),
            word,
            thread: thread_local(module, c"poise_thread", array(word, function::THREAD_WORDS)),
            again: thread_local(module, c"poise_again", word),
            site: thread_local(module, c"poise_site", pointer),
            nowhere: LLVMConstNull(pointer),
            is_quiet,
            enter: declare(module, c"poise_enter", pointer, &mut [pointer]),
            leave: declare(module, c"poise_leave", nothing, &mut [pointer]),
            inlined: declare(module, c"poise_inlined", nothing, &mut [pointer, word]),
            pointer,
            return_to: declare(module, c"poise_return_to", nothing, &mut [pointer]),
        }
    }
}

/// A thread-local variable of the runtime, unless the program itself declares it already.
unsafe fn thread_local(module: LLVMModuleRef, name: &CStr, kind: LLVMTypeRef) -> LLVMValueRef {
    // SAFETY: the module and type are valid.
    unsafe {
        let known = LLVMGetNamedGlobal(module, name.as_ptr());
        if !known.is_null() {
            return known;
        }
        let global = LLVMAddGlobal(module, kind, name.as_ptr());
        LLVMSetThreadLocalMode(global, LLVMInitialExecTLSModel);
        LLVMSetLinkage(global, LLVMExternalWeakLinkage);
        global
    }
}

/// The type of pointers, by a function that LLVM has had for long.
///
/// # Safety
/// The context must be valid.
pub unsafe fn pointer_type(context: LLVMContextRef) -> LLVMTypeRef {
    // SAFETY: the context is valid.
    unsafe { LLVMPointerType(LLVMInt8TypeInContext(context), 0) }
}

/// An array type. LLVM 16 has not what replaces this function later.
#[allow(deprecated, reason = "The plugin's Rust part is the same for LLVMs that have only this.")]
///
/// # Safety
/// The type must be valid.
pub unsafe fn array(item: LLVMTypeRef, count: u32) -> LLVMTypeRef {
    // SAFETY: the type is valid.
    unsafe { LLVMArrayType(item, count) }
}

unsafe fn declare(module: LLVMModuleRef, name: &CStr, result: LLVMTypeRef, parameters: &mut [LLVMTypeRef]) -> Callee {
    // SAFETY: the module and types are valid.
    unsafe {
        let signature = LLVMFunctionType(result, parameters.as_mut_ptr(), parameters.len() as u32, 0);
        let known = LLVMGetNamedFunction(module, name.as_ptr());
        let function = if known.is_null() {
            let function = LLVMAddFunction(module, name.as_ptr(), signature);
            LLVMSetLinkage(function, LLVMExternalWeakLinkage);
            function
        } else {
            known
        };
        let context = LLVMGetModuleContext(module);
        for attribute in [c"nounwind", c"willreturn", c"nocallback"] {
            let kind = LLVMGetEnumAttributeKindForName(attribute.as_ptr(), attribute.count_bytes());
            let attribute = LLVMCreateEnumAttribute(context, kind, 0);
            LLVMAddAttributeAtIndex(function, llvm_sys::LLVMAttributeFunctionIndex, attribute);
        }
        Callee { signature, function }
    }
}
