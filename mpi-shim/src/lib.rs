//! The MPI interposition library: for every MPI call its call path, time, bytes and communicator size, by the rules
//! of `docs/mpi.md`. Preloaded (or linked) beside the runtime, whose call tree it extends; it keeps no tree, clock or
//! output format of its own, adds no synchronisation before MPI_Finalize, and holds no lock while MPI runs.
//!
//! One binary serves Open MPI, MPICH and SMPI: `library.rs` tells them apart when the program runs.

mod callers;
mod calls;
mod control;
mod coroutines;
mod finalize;
mod groups;
mod launch;
mod library;
mod meeting;
mod own;
mod pending;
mod requests;
mod rules;
mod runtime;
mod table;
mod waiting;
mod wrapper;
