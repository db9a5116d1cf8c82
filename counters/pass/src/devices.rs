//! Code for other machines than the one that the program runs on.

use std::ffi::CStr;

/// Processors whose code is not of a program that the runtime could be in: a GPU's, the kernel's or the web's.
const DEVICES: [&str; 8] = ["nvptx", "amdgcn", "amdil", "r600", "spir", "bpf", "wasm", "dxil"];

/// Whether code for the machine of this name is of a program for a computer: compilers make code for devices in between, with the same options.
pub fn is_for_host(triple: &CStr) -> bool {
    let triple = triple.to_string_lossy();
    !DEVICES.iter().any(|device| triple.starts_with(device))
}
