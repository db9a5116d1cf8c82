//! The one table of the MPI functions that the library wraps. A row is
//!
//! `Name(argument: Kind, …) => Rule { fields };`
//!
//! where the kinds are those of [`crate::library`] (`Int`: int, `Wide`: MPI_Aint, MPI_Offset or MPI_Count, `Ints` and
//! `Wides`: arrays of counts, `Ptr`: any other pointer or array, `Handle`: an MPI handle by value) and the rule, one of [`crate::rules`], says from the arguments
//! what a call moved. Each chapter is a macro that hands its rows to another macro: [`crate::wrapper`] makes the
//! functions of them, the tests compare them with the installed `mpi.h` and with `docs/mpi.md`.
//!
//! What stands here is in Open MPI 4.1 and in MPICH 4.0, or as MPI 4.0's in the latter alone. Any other function reaches the MPI
//! library untouched; `tests/untouched.txt` says of each why.

mod collective;
mod environment;
mod large_counts;
mod one_sided;
mod persistent;
mod point_to_point;

pub(crate) use collective::collective;
pub(crate) use environment::environment;
pub(crate) use large_counts::large_counts;
pub(crate) use one_sided::one_sided;
pub(crate) use persistent::{added, persistent};
pub(crate) use point_to_point::point_to_point;
