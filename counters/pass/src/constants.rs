//! The constants in an instrumented program that the runtime reads: regions, and chains of inlined functions.

use std::collections::HashMap;

use llvm_sys::LLVMLinkage::LLVMPrivateLinkage;
use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMGetSubprogram;
use llvm_sys::prelude::{LLVMMetadataRef, LLVMModuleRef, LLVMValueRef};

use crate::glue::{self, Source};
use crate::module::{name, pointer_type};
use crate::options::Weights;
use crate::paths::Paths;

/// `enum poise_kind` of the runtime's interface.
const FUNCTION: u64 = 0;
/// The same, of inlined functions.
const INLINED: u64 = 3;
/// `POISE_LOOPS` and `POISE_PARTS` of the runtime's interface.
const LOOPS: u64 = 1;
const PARTS: u64 = 2;

/// A module's constants, each once.
pub struct Constants {
    module: LLVMModuleRef,
    /// Of `enum poise_flags` of the runtime's interface, what holds for all functions.
    flags: u64,
    strings: HashMap<Vec<u8>, LLVMValueRef>,
    inlined: HashMap<LLVMMetadataRef, LLVMValueRef>,
}

impl Constants {
    /// None yet in `module`, whose blocks have these weights.
    pub fn new(module: LLVMModuleRef, weights: Weights) -> Self {
        let flags = match weights {
            Weights::Blocks => 0,
            Weights::Loops => LOOPS,
        };
        Self { module, flags, strings: HashMap::new(), inlined: HashMap::new() }
    }

    /// The `struct poise_region` of `function`, with these functions inlined into it.
    ///
    /// # Safety
    /// The function must be of the module.
    pub unsafe fn region(&mut self, function: LLVMValueRef, paths: &Paths) -> LLVMValueRef {
        // SAFETY: the function is valid.
        unsafe {
            let Described { file, line, .. } = described(LLVMGetSubprogram(function)).unwrap_or_default();
            let name = name(function);
            let flags = if paths.all.iter().any(|path| path.counts) { PARTS } else { 0 };
            self.describe(name.trim_start_matches('\u{1}').as_bytes(), file.as_deref(), line, FUNCTION, flags)
        }
    }

    /// The `struct poise_inlined` of each path.
    ///
    /// # Safety
    /// The paths must be of a function of the module.
    pub unsafe fn sites(&mut self, paths: &Paths) -> Vec<LLVMValueRef> {
        let mut sites: Vec<LLVMValueRef> = Vec::with_capacity(paths.all.len());
        for path in &paths.all {
            // SAFETY: outer paths come before inner ones; all types are of the module's context.
            unsafe {
                let context = LLVMGetModuleContext(self.module);
                let outer = path.outer.map_or_else(|| LLVMConstNull(pointer_type(context)), |outer| sites[outer]);
                let mut fields = [outer, self.inlined(path.function)];
                let data = LLVMConstStructInContext(context, fields.as_mut_ptr(), fields.len() as u32, 0);
                sites.push(self.constant(data));
            }
        }
        sites
    }

    /// The `struct poise_region` of an inlined function.
    unsafe fn inlined(&mut self, function: LLVMMetadataRef) -> LLVMValueRef {
        if let Some(&known) = self.inlined.get(&function) {
            return known;
        }
        // SAFETY: the function is one that debug information describes.
        unsafe {
            let Described { name, file, line, .. } = described(function).unwrap_or_default();
            let region = self.describe(&name, file.as_deref(), line, INLINED, 0);
            self.inlined.insert(function, region);
            region
        }
    }

    unsafe fn describe(&mut self, name: &[u8], file: Option<&[u8]>, line: u32, kind: u64, flags: u64) -> LLVMValueRef {
        // SAFETY: the module is valid.
        unsafe {
            let context = LLVMGetModuleContext(self.module);
            let (half, quarter) = (LLVMInt32TypeInContext(context), LLVMInt16TypeInContext(context));
            let file = match file {
                Some(file) => self.string(file),
                None => LLVMConstNull(pointer_type(context)),
            };
            let mut fields = [
                self.string(name),
                file,
                LLVMConstInt(half, line.into(), 0),
                LLVMConstInt(quarter, kind, 0),
                LLVMConstInt(quarter, flags | self.flags, 0),
            ];
            let data = LLVMConstStructInContext(context, fields.as_mut_ptr(), fields.len() as u32, 0);
            let region = self.constant(data);
            // Not to be merged with an equal one: the address tells the function.
            LLVMSetUnnamedAddress(region, llvm_sys::LLVMUnnamedAddr::LLVMNoUnnamedAddr);
            region
        }
    }

    /// A constant string with a NUL at its end.
    #[allow(deprecated, reason = "LLVM 16 has not what replaces this function later.")]
    unsafe fn string(&mut self, text: &[u8]) -> LLVMValueRef {
        if let Some(&known) = self.strings.get(text) {
            return known;
        }
        // SAFETY: the module is valid, and LLVM copies the text.
        unsafe {
            let context = LLVMGetModuleContext(self.module);
            let data = LLVMConstStringInContext(context, text.as_ptr().cast(), text.len() as u32, 0);
            let string = self.constant(data);
            self.strings.insert(text.to_owned(), string);
            string
        }
    }

    /// A private constant holding `data`.
    unsafe fn constant(&self, data: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: the module and data are valid.
        unsafe {
            let global = LLVMAddGlobal(self.module, LLVMTypeOf(data), c"poise.".as_ptr());
            LLVMSetInitializer(global, data);
            LLVMSetLinkage(global, LLVMPrivateLinkage);
            LLVMSetGlobalConstant(global, 1);
            global
        }
    }
}

/// A function as debug information has it.
#[derive(Default)]
pub struct Described {
    /// The linker's name, or the source's where debug information lacks that.
    pub name: Vec<u8>,
    /// The source file as it was named to the compiler, but without the folder where it was compiled.
    pub file: Option<Vec<u8>>,
    /// The folder that a relative `file` begins in.
    pub folder: Vec<u8>,
    /// Source line.
    pub line: u32,
}

/// What debug information says of a function; `None` for null.
///
/// # Safety
/// `function` must be null or a function's description.
pub unsafe fn described(function: LLVMMetadataRef) -> Option<Described> {
    if function.is_null() {
        return None;
    }
    // SAFETY: the function is one that debug information describes; LLVM's texts live during this call.
    unsafe {
        let mut source: Source = std::mem::zeroed();
        glue::poise_describe(function, &mut source);
        let text = |text: *const std::ffi::c_char, length: usize| match length {
            0 => Vec::new(),
            _ => std::slice::from_raw_parts(text.cast::<u8>(), length).to_vec(),
        };
        let file = text(source.file, source.file_length);
        Some(Described {
            name: text(source.name, source.name_length),
            file: (!file.is_empty()).then_some(file),
            folder: text(source.folder, source.folder_length),
            line: source.line,
        })
    }
}
