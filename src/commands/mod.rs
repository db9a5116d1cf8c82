//! The commands that read measurements or write programs, one file each.

pub mod absorb;
pub mod advise;
pub mod analyze;
pub mod check;
pub mod compare;
pub mod convert;
pub mod detect;
pub mod explain;
pub mod generate;
pub mod instructions;
pub mod manual;
pub mod merge;
pub mod messages;
pub mod model;
pub mod phases;
pub mod predict;
pub mod report;
pub mod run;

mod input;
