//! Runs the tests beside the code of `src/modes.rs` and `src/noise.rs`, which need no LLVM; the library itself cannot be
//! linked into a test program.

#![allow(dead_code, reason = "the compiler calls them")]

#[path = "../src/modes.rs"]
mod modes;
#[path = "../src/noise.rs"]
mod noise;
