//! Where runs are made: on this machine, in SimGrid's simulation on this machine, or as jobs of a Slurm cluster.

use std::path::Path;

use crate::campaign::Task;
use crate::error::Result;
use crate::run::Run;
use crate::run::misfortune::Outcome;
use crate::study::{Place, Study};

mod local;
pub mod slurm;
pub mod smpi;

/// What an executor tells the campaign.
pub enum Step<'a> {
    /// A run is about to begin; the answer says whether it may.
    Begins(&'a Task),
    /// A run is about to be submitted, to begin some time later; the answer says whether it may.
    Queues(&'a Task),
    /// A run that was submitted has begun.
    Starts(&'a Task),
    /// A run has ended and its folder is there.
    Ended(&'a Task, Outcome),
    /// Runs are still awaited; an error ends the waiting.
    Waits,
    /// So many runs are in the queue and have not begun, for these reasons.
    Pending(usize, String),
    /// Something that concerns no run alone.
    Note(&'a str),
}

/// Makes runs, in their order as far as they are made one after the other.
///
/// # Errors
/// Nothing could be started or written, or the user interrupted.
pub fn execute(
    study: &Study,
    tasks: &[Task],
    runs: &[Run],
    results: &Path,
    tell: &mut dyn FnMut(Step) -> Result<bool>,
) -> Result<()> {
    match &study.place {
        Place::Local(place) => local::execute(place, tasks, runs, tell),
        Place::Smpi(place) => {
            let refuse = |i: usize| smpi::refusal(place, study.cores(&study.cases[tasks[i].case]).0);
            local::one_by_one(tasks, runs, &refuse, tell)
        }
        Place::Slurm(place) => slurm::execute(study, place, tasks, runs, results, tell),
    }
}
