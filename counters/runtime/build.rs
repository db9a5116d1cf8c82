//! Names the shared library, and exports the thread-local block of `src/thread.rs`, which Rust's own list of exports
//! cannot hold because stable Rust cannot declare it. The linker must unite two version scripts, as lld does (rustc's
//! own on x86-64 Linux since 1.90); GNU ld refuses with an error, and wants `-Clink-arg=-fuse-ld=lld` in RUSTFLAGS.

use std::path::Path;

fn main() {
    let folder = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR for build scripts");
    let script = Path::new(&folder).join("exports.map");
    std::fs::write(&script, "{ global: poise_thread; poise_noise; };\n").expect("cargo's OUT_DIR is writable");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libpoise_runtime.so");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--version-script={}", script.display());
    println!("cargo:rerun-if-changed=build.rs");
}
