//! MPI_Pcontrol: the program itself says of which of its MPI operations there is to be a record.
//!
//! An operation without a record runs through the same rules as any other, so that requests and logical clocks are followed on; only
//! the region that it enters is another, which the runtime leaves out of the profile with all that is told of it.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::library::{Function, Int, SUCCESS, family};
use crate::runtime::{Region, active};

/// Whether operations that begin now are recorded. The standard has it so from MPI_Init on.
static RECORDS: AtomicBool = AtomicBool::new(true);

static UNRECORDED: Region = Region::unrecorded();

/// The region that an operation is to enter whose own is `of`.
#[inline(always)]
pub fn region(of: &'static Region) -> &'static Region {
    // Relaxed: a thread that is to see the switch of another one has heard of it by other ways.
    if RECORDS.load(Ordering::Relaxed) { of } else { &UNRECORDED }
}

/// Level 0 ends the record and level 1 begins it again; other levels, and arguments after the level, have no meaning here. They need not be
/// named: where a function with variable arguments finds its first one, one with a single argument does as well.
///
/// # Safety
/// None is needed; the signature is MPI's.
#[unsafe(export_name = "MPI_Pcontrol")]
unsafe extern "C-unwind" fn control(level: Int) -> Int {
    static FUNCTION: Function = Function::new("MPI_Pcontrol\0");
    obey(&FUNCTION, level)
}

/// # Safety
/// As [`control`].
#[unsafe(export_name = "PMPI_Pcontrol")]
unsafe extern "C-unwind" fn profiling_control(level: Int) -> Int {
    static FUNCTION: Function = Function::new("PMPI_Pcontrol\0");
    obey(&FUNCTION, level)
}

fn obey(function: &Function, level: Int) -> Int {
    type Signature = unsafe extern "C-unwind" fn(Int, ...) -> Int;
    // SAFETY: the MPI standard gives the functions of these names this signature.
    let call: Signature = unsafe { std::mem::transmute(function.address()) };
    // SAFETY: the level is the program's, and no MPI library reads more.
    let result = unsafe { call(level) };
    // Ranks that share a process would switch for each other.
    let is_ours = result == SUCCESS && active() && family().is_some_and(|family| !family.has_coroutines);
    if let (true, 0 | 1) = (is_ours, level) {
        RECORDS.store(level == 1, Ordering::Relaxed);
    }
    result
}
