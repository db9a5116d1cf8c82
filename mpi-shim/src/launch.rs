//! Notices a program that another MPI's launcher started: its own MPI does not see the launcher's ranks, so that each
//! of them is a world of one, and all would write the one profile.

use crate::runtime::say;

/// The environment variables by which launchers tell number of ranks and rank: Open MPI's, and those of MPICH's
/// process manager and its like.
const LAUNCHERS: [(&str, &str); 2] = [("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"), ("PMI_SIZE", "PMI_RANK")];

/// Whether this process is alone where a launcher started several. The launcher's first says so on standard error.
pub fn is_alone_by_mistake(size: u32) -> bool {
    let value = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
    let launched = LAUNCHERS.map(|(size, rank)| (value(size), value(rank)));
    // One launcher may start another, which then is the one that counts: it started one rank, and here it is.
    if size != 1 || launched.iter().any(|&(size, _)| size == Some(1)) {
        return false;
    }
    let Some((ranks, rank)) = launched.iter().find_map(|&(size, rank)| Some((size?, rank))) else { return false };
    if rank.unwrap_or(0) == 0 {
        say(&format!(
            "the launcher started {ranks} ranks, but to this program's MPI each of them is alone: the \
             launcher is not of the MPI that the program was built with; start it with that MPI's; this run has no profile."
        ));
    }
    true
}
