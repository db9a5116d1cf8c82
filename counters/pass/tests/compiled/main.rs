//! The pass and the runtime together, on programs compiled by the real compiler.
//!
//! Block counts are compared with those of LLVM's SanitizerCoverage, an independent instrumentation that calls a
//! function in every basic block, put at the same position of the pipeline.

mod aarch64;
mod behaviour;
mod checkpoints;
mod counts;
mod filter;
mod inlined;
mod marks;
mod misfortune;
mod noise;
mod random;
mod recursion;
mod sanitizers;
mod threads;
mod tools;
mod tree;
mod weights;
