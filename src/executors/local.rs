//! Runs on this machine: one after the other, or several side by side within a budget of cores if the study asks for it.

use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc;

use super::Step;
use crate::campaign::Task;
use crate::error::{Error, Result};
use crate::run::Run;
use crate::run::misfortune::{Cause, Outcome};
use crate::study::Local;

/// Makes runs on this machine.
///
/// # Errors
/// Nothing could be started or written, or the user interrupted.
pub fn execute(place: &Local, tasks: &[Task], runs: &[Run], tell: &mut dyn FnMut(Step) -> Result<bool>) -> Result<()> {
    if place.side_by_side {
        return side_by_side(place, tasks, runs, tell);
    }
    one_by_one(tasks, runs, &|i| too_large(place, &runs[i]), tell)
}

/// Makes runs one after the other, and records those that `refuse` has a reason not to make.
pub fn one_by_one(
    tasks: &[Task],
    runs: &[Run],
    refuse: &dyn Fn(usize) -> Option<String>,
    tell: &mut dyn FnMut(Step) -> Result<bool>,
) -> Result<()> {
    for (i, (task, run)) in tasks.iter().zip(runs).enumerate() {
        if tell(Step::Begins(task))? {
            let outcome = one(refuse(i), task, run)?;
            tell(Step::Ended(task, outcome))?;
        }
    }
    Ok(())
}

fn one(refused: Option<String>, task: &Task, run: &Run) -> Result<Outcome> {
    match refused {
        Some(reason) => run.refuse(&task.folder, Cause::TooManyRanks, reason),
        None => run.execute(&task.folder),
    }
}

/// Why the core budget does not allow a run.
fn too_large(place: &Local, run: &Run) -> Option<String> {
    let budget = place.cores.filter(|&budget| run.cores as usize > budget)?;
    Some(format!("It needs {} cores, and `local.cores` is {budget}.", run.cores))
}

/// Starts runs in their order as soon as enough cores are free.
fn side_by_side(place: &Local, tasks: &[Task], runs: &[Run], tell: &mut dyn FnMut(Step) -> Result<bool>) -> Result<()> {
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let budget = place.cores.unwrap_or(available);
    let (send, receive) = mpsc::channel::<(usize, Result<Outcome>)>();
    let needed = |i: usize| (runs[i].cores as usize).clamp(1, budget);
    std::thread::scope(|scope| {
        let mut free = budget;
        let mut running = 0;
        let mut next = 0;
        let mut failure: Option<Error> = None;
        loop {
            while failure.is_none() && next < tasks.len() && needed(next) <= free {
                match tell(Step::Begins(&tasks[next])) {
                    Ok(true) => {
                        let (send, i) = (send.clone(), next);
                        scope.spawn(move || {
                            let made = || one(too_large(place, &runs[i]), &tasks[i], &runs[i]);
                            // A thread that is gone without a word would be waited for for ever.
                            let outcome = panic::catch_unwind(AssertUnwindSafe(made));
                            let gone = |_| Err(Error::Defect(format!("The thread of {} panicked.", tasks[i].name)));
                            send.send((i, outcome.unwrap_or_else(gone)))
                        });
                        free -= needed(i);
                        running += 1;
                    }
                    Ok(false) => {}
                    Err(error) => failure = Some(error),
                }
                next += 1;
            }
            if running == 0 {
                return failure.map_or(Ok(()), Err);
            }
            let (i, outcome) = receive.recv().map_err(|e| Error::Defect(format!("A run's thread is gone: {e}.")))?;
            free += needed(i);
            running -= 1;
            match outcome.and_then(|outcome| tell(Step::Ended(&tasks[i], outcome))) {
                Ok(_) => {}
                Err(error) => failure = failure.or(Some(error)),
            }
        }
    })
}
