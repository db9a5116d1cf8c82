//! Names the shared library, and exports the thread-local variables of `src/thread.rs`, which Rust's own list of exports
//! cannot hold because stable Rust cannot declare it, and the names of functions in front of which ours stand. The linker must unite two version scripts, as lld does (rustc's
//! own on x86-64 Linux since 1.90); GNU ld refuses with an error, and wants `-Clink-arg=-fuse-ld=lld` in RUSTFLAGS.

use std::path::Path;

/// Functions in front of which ours stand that are called `__wrap_` and this: `src/starts.rs`, `src/openmp.rs`.
const REPLACED: [&str; 13] = [
    "pthread_create",
    "thrd_create",
    "GOMP_parallel",
    "GOMP_parallel_reductions",
    "GOMP_parallel_sections",
    "GOMP_parallel_loop_static",
    "GOMP_parallel_loop_dynamic",
    "GOMP_parallel_loop_guided",
    "GOMP_parallel_loop_runtime",
    "GOMP_parallel_loop_nonmonotonic_dynamic",
    "GOMP_parallel_loop_nonmonotonic_guided",
    "GOMP_parallel_loop_nonmonotonic_runtime",
    "GOMP_parallel_loop_maybe_nonmonotonic_runtime",
];

fn main() {
    let folder = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR for build scripts");
    let script = Path::new(&folder).join("exports.map");
    let names = format!(
        "{{ global: poise_thread; poise_site; poise_again; poise_noise; {} }};\n",
        REPLACED.map(|name| format!("{name};")).join(" ")
    );
    std::fs::write(&script, names).expect("cargo's OUT_DIR is writable");
    // In a static library these names would be there twice; there the linker's --wrap puts ours in front.
    for name in REPLACED {
        println!("cargo:rustc-cdylib-link-arg=-Wl,--defsym={name}=__wrap_{name}");
    }
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libpoise_runtime.so");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--version-script={}", script.display());
    println!("cargo:rerun-if-changed=build.rs");
}
