//! The LLVM pass plugin that counts executed basic blocks and keeps the call path, loaded by
//! `clang -fpass-plugin=libpoise_pass.so`. What is counted, where in the pipeline and why stands in
//! `docs/counters.md`.
//!
//! `module` decides what to do to a module, `nodes` which functions are nodes of the call tree, by `options` and `filter`; `function` instruments one function, `paths` finds what was inlined into it, `recursion` how it calls itself, `constants` is what the runtime reads, `graph` is the arithmetic behind it, `devices` says which code is none of a program's;
//! `noise` says what noise a build gets and `modes` what noise is, for `cpp/noise.cpp` and its neighbours; `glue` declares what `cpp/` adds to LLVM's C interface.
//! One plugin serves several LLVMs: what is written in Rust uses of LLVM's C interface only what has been the same since LLVM 16,
//! and the C++ part is held once for each LLVM. Undefined LLVM symbols are the compiler's own.

mod constants;
mod demand;
mod devices;
mod filter;
mod function;
mod glue;
mod graph;
mod modes;
mod module;
mod nodes;
mod noise;
mod options;
mod paths;
mod recursion;

use std::ffi::{c_char, c_void};

/// LLVM's `PassPluginLibraryInfo`.
#[repr(C)]
pub struct PluginInfo {
    api_version: u32,
    name: *const c_char,
    version: *const c_char,
    register: unsafe extern "C" fn(*mut c_void),
}

/// `LLVM_PLUGIN_API_VERSION`, 1 since LLVM has plugins.
const API_VERSION: u32 = 1;

/// Adds both passes to the compiler's pipeline.
unsafe extern "C" fn register(builder: *mut c_void) {
    // SAFETY: LLVM gives its pass builder.
    unsafe {
        glue::poise_register(builder);
        glue::poise_register_noise(builder);
    }
}

/// The function by which LLVM finds what the plugin offers. Where the plugin has no part for this LLVM it says so in one
/// line, and a version of the interface that there never was makes the compiler fail in its own orderly way.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "LLVM gives the name.")]
pub extern "C" fn llvmGetPassPluginInfo() -> PluginInfo {
    let api_version = match glue::load() {
        Ok(()) => API_VERSION,
        Err(what) => {
            eprintln!("poise: {what}");
            0
        }
    };
    PluginInfo {
        api_version,
        name: c"poise".as_ptr(),
        version: concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast(),
        register,
    }
}
