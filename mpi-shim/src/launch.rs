//! Notices a program that another MPI's launcher started: its own MPI does not see the launcher's ranks, so that each
//! of them is a world of one, and all would write the one profile.

use std::sync::OnceLock;

use crate::library::Family;
use crate::runtime::fail;

/// The environment variables by which launchers tell the number of ranks: Open MPI's, and that of MPICH's process manager and its like.
const LAUNCHERS: [&str; 2] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"];

/// Whether this process is alone in MPI_COMM_WORLD where a launcher started several. The first to notice says so for all, as MPI begins: a
/// program that wants more ranks than one ends itself soon.
#[cold]
pub fn is_alone_by_mistake(family: &Family) -> bool {
    static IS_ALONE: OnceLock<bool> = OnceLock::new();
    *IS_ALONE.get_or_init(|| {
        let launched = LAUNCHERS.map(|name| std::env::var(name).ok()?.parse::<u32>().ok());
        // One launcher may start another, which then is the one that counts: it started one rank, and here it is.
        if family.has_coroutines || launched.contains(&Some(1)) || crate::finalize::place(family.world).1 != 1 {
            return false;
        }
        let Some(ranks) = launched.into_iter().flatten().next() else { return false };
        fail(&format!(
            "the launcher started {ranks} ranks, but to this program's MPI each of them is alone: the \
             launcher is not of the MPI that the program was built with; start it with that MPI's"
        ));
        true
    })
}
