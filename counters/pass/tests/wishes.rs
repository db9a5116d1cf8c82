//! Runs the tests beside the code of `src/devices.rs`, `src/filter.rs`, `src/modes.rs`, `src/noise.rs` and `src/options.rs`, which need no LLVM; the library itself cannot be
//! linked into a test program.

#![allow(dead_code, reason = "the compiler calls them")]

#[path = "../src/devices.rs"]
mod devices;
#[path = "../src/filter.rs"]
mod filter;
#[path = "../src/modes.rs"]
mod modes;
#[path = "../src/noise.rs"]
mod noise;
#[path = "../src/options.rs"]
mod options;
