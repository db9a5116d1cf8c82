//! Which functions of a module are nodes of the call tree, by the options and by what they do; the blocks of the others count
//! for their callers.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};

use cpp_demangle::{DemangleOptions, Symbol};
use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMGetSubprogram;
use llvm_sys::prelude::{LLVMMetadataRef, LLVMValueRef};

use crate::constants::described;
use crate::filter::{Filter, Verdict};
use crate::function::instructions;
use crate::glue::{self, Analyses};
use crate::module::{has_attribute, list, name};
use crate::options::{Options, Small};

/// Starts of the reserved names that clang gives to functions which initialise global variables.
const INITIALISERS: [&str; 2] = ["_GLOBAL__", "__cxx_global_"];

/// What marks regions by hand: the functions that `poise.h` calls, and the module in `poise.f90` as flang names it.
const MARKS: [&str; 3] = ["poise_region_begin", "poise_region_end", "_QMpoiseP"];

/// Whether `name` is of a function that marks regions: not instrumented, or the region would end with it.
pub fn marks_regions(name: &str) -> bool {
    MARKS.iter().any(|start| name.starts_with(start))
}

/// The function that calls back, of those of the C and C++ libraries that LLVM knows.
const CALLS_BACK: &str = "qsort";

/// Whether a called value is a function of the C or C++ library that LLVM knows, and does its work alone.
///
/// # Safety
/// The value must be of a module that the analyses are of.
pub unsafe fn is_library(callee: LLVMValueRef, analyses: *mut Analyses) -> bool {
    // SAFETY: the value is valid.
    unsafe {
        !LLVMIsAFunction(callee).is_null()
            && LLVMIsDeclaration(callee) != 0
            && glue::poise_is_library(analyses, callee)
            && name(callee) != CALLS_BACK
    }
}

/// Whether a called value of another file enters no node: a function of the C library, one that marks regions, or one that never
/// returns.
///
/// # Safety
/// As of [`is_library`].
pub unsafe fn is_quiet(callee: LLVMValueRef, analyses: *mut Analyses) -> bool {
    // SAFETY: the value is valid.
    unsafe {
        marks_regions(&name(callee))
            || !LLVMIsAFunction(callee).is_null() && has_attribute(callee, c"noreturn")
            || is_library(callee, analyses)
    }
}

/// What the functions of a module are to the call tree.
pub struct Ranks {
    /// Those that are nodes.
    pub nodes: HashSet<LLVMValueRef>,
    /// Those that are none and never lead to one.
    pub quiet: HashSet<LLVMValueRef>,
}

/// What is known of a function before its callees are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Node,
    Folded,
    /// A node, unless all that it calls leads to none.
    ByCallees,
}

/// What the functions are. By itself, a function is small, and no node, if it has no loop and calls nothing but small functions of this
/// module, the C library, marks of regions and what never returns, as asserts do. `main` is always a node. What initialises global
/// variables never is: it runs before `main`, and would be a root for each source file.
///
/// # Safety
/// The functions must be of one module and have bodies.
pub unsafe fn ranks(functions: &[LLVMValueRef], options: &Options, analyses: *mut Analyses) -> Ranks {
    // SAFETY: the caller's promise.
    unsafe {
        let standing: HashMap<_, _> = functions.iter().map(|&f| (f, standing(f, options))).collect();
        let mut open: Vec<_> = functions.iter().copied().filter(|f| standing[f] != Standing::Node).collect();
        let callees: HashMap<_, _> = open.iter().map(|&function| (function, callees(function))).collect();
        let mut quiet = HashSet::new();
        // From the leaves upwards, so that recursion never becomes quiet.
        loop {
            let leads_to_none = |callee: &LLVMValueRef| quiet.contains(callee) || is_quiet(*callee, analyses);
            let (now, later): (Vec<_>, Vec<_>) =
                open.iter().copied().partition(|function| callees[function].iter().all(leads_to_none));
            if now.is_empty() {
                break;
            }
            quiet.extend(now);
            open = later;
        }
        let is_node = |f: &LLVMValueRef| standing[f] != Standing::Folded && !quiet.contains(f) && !is_initialiser(*f);
        Ranks { nodes: functions.iter().copied().filter(is_node).collect(), quiet }
    }
}

unsafe fn standing(function: LLVMValueRef, options: &Options) -> Standing {
    // SAFETY: the caller gives a function with a body.
    unsafe {
        let linker_name = name(function);
        if is_main(&linker_name) {
            return Standing::Node;
        }
        match (verdict(&options.filter, &linker_name, LLVMGetSubprogram(function)), options.small) {
            (Verdict::Included, _) => Standing::Node,
            (Verdict::Excluded, _) => Standing::Folded,
            (Verdict::Open, Small::Blocks(most)) if LLVMCountBasicBlocks(function) as usize > most => Standing::Node,
            (Verdict::Open, Small::Blocks(_)) => Standing::Folded,
            (Verdict::Open, Small::Leaves) if glue::poise_has_cycle(function) => Standing::Node,
            (Verdict::Open, Small::Leaves) => Standing::ByCallees,
        }
    }
}

/// What the filter says of a function with this linker name, which debug information describes where it is not null.
///
/// # Safety
/// `description` must be null or a function's.
pub unsafe fn verdict(filter: &Filter, linker_name: &str, description: LLVMMetadataRef) -> Verdict {
    if filter.is_empty() {
        return Verdict::Open;
    }
    // SAFETY: the caller's promise.
    let described = unsafe { described(description) }.unwrap_or_default();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    // Patterns may begin where the name does that the compiler was given, or with a slash.
    let file = described.file.map(|file| text(&file));
    let whole = file.as_ref().map(|file| plain(&Path::new(&text(&described.folder)).join(file)));
    let files: Vec<String> = file.into_iter().chain(whole).collect();
    filter.verdict(&for_people(linker_name), linker_name, &files)
}

/// A path without `.` and `..`, which builds outside of the sources have.
fn plain(path: &Path) -> String {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain.display().to_string()
}

/// A function's names as people read them, with and without the list of its arguments; the linker's where it is no name of C++.
fn for_people(linker_name: &str) -> Vec<String> {
    let names = linker_name.starts_with("_Z").then(|| Symbol::new(linker_name).ok()).flatten().map(|symbol| {
        let options = || DemangleOptions::new().no_return_type();
        [options(), options().no_params()].iter().filter_map(|o| symbol.demangle_with_options(o).ok()).collect()
    });
    names.filter(|names: &Vec<String>| !names.is_empty()).unwrap_or_else(|| vec![linker_name.to_owned()])
}

/// Whether a function is the program itself: C's, or Fortran's as flang names it.
fn is_main(name: &str) -> bool {
    matches!(name, "main" | "_QQmain")
}

/// Whether a function is the program itself.
///
/// # Safety
/// The function must be valid.
pub unsafe fn is_program(function: LLVMValueRef) -> bool {
    // SAFETY: the caller's promise.
    is_main(&unsafe { name(function) })
}

unsafe fn is_initialiser(function: LLVMValueRef) -> bool {
    // SAFETY: the caller gives a function.
    let name = unsafe { name(function) };
    INITIALISERS.iter().any(|start| name.starts_with(start))
}

/// What `function` calls; indirectly called values stand for themselves and are no functions.
unsafe fn callees(function: LLVMValueRef) -> Vec<LLVMValueRef> {
    // SAFETY: the function is valid.
    unsafe {
        let blocks = list(LLVMGetFirstBasicBlock(function), LLVMGetNextBasicBlock);
        let all = blocks.into_iter().flat_map(|block| instructions(block));
        all.filter(|&i| glue::poise_is_call(i)).map(|call| LLVMGetCalledValue(call)).collect()
    }
}
