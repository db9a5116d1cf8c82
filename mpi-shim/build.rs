//! Gives the shared library its name, which tools show and which a second copy is recognised by.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libpoise_mpi.so");
}
