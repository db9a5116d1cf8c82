//! Which rank of a run ended first, and how: what launchers do not always tell. The ranks are found below the launcher, as far as they are on this
//! machine, and the kernel tells how they ended.

use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::time::Duration;

use super::misfortune::{self, First};
use super::{pidfd, processes};

/// Who has ranks to come is looked at again when the run has lasted so much longer.
const LATER: f64 = 1.25;
/// What ends in less than this may have ended in any order: a launcher hears of a rank's end before the rank has ended, and ends others meanwhile.
const TOGETHER: Duration = Duration::from_millis(10);

/// A rank's first process.
struct Rank {
    number: usize,
    process: OwnedFd,
    /// When in the run it was seen to have ended, if it was.
    ended: Option<Duration>,
}

/// The ranks of a run.
pub struct Ends {
    root: libc::pid_t,
    ranks: Vec<Rank>,
    /// How many ranks there are on all machines, where the launcher says it.
    size: Option<usize>,
    /// When ranks that have begun are looked for again.
    next: Duration,
}

impl Ends {
    /// Of the run whose launcher, or what starts it, is `root`.
    pub fn of(root: libc::pid_t) -> Self {
        Self { root, ranks: Vec::new(), size: None, next: Duration::ZERO }
    }

    /// Sees which ranks have begun and which have ended since the last look, when the run has lasted so long.
    pub fn look(&mut self, elapsed: Duration) {
        if elapsed >= self.next && self.size.is_none_or(|size| self.ranks.len() < size) {
            self.next = elapsed.mul_f64(LATER);
            for found in processes::ranks_below(self.root) {
                self.size = found.size;
                if self.ranks.iter().all(|rank| rank.number != found.number)
                    && let Some(process) = pidfd::open(found.process.id)
                {
                    self.ranks.push(Rank { number: found.number, process, ended: None });
                }
            }
        }
        let ended = pidfd::wait(&self.running(), 0).unwrap_or_default();
        let running = self.ranks.iter_mut().filter(|rank| rank.ended.is_none());
        running.zip(ended).filter(|(_, has_ended)| *has_ended).for_each(|(rank, _)| rank.ended = Some(elapsed));
    }

    /// The files of ranks that run.
    pub fn running(&self) -> Vec<RawFd> {
        let running = self.ranks.iter().filter(|rank| rank.ended.is_none());
        running.map(|rank| rank.process.as_raw_fd()).collect()
    }

    /// Whether the launcher has nothing left but to end: a signal has killed a rank, or none runs any more.
    pub fn are_over(&self) -> bool {
        let status = |rank: &Rank| rank.ended.and_then(|_| pidfd::status(rank.process.as_raw_fd()));
        let is_killed = |rank: &Rank| status(rank).is_some_and(|status| libc::WIFSIGNALED(status));
        !self.ranks.is_empty() && (self.running().is_empty() || self.ranks.iter().any(is_killed))
    }

    /// The rank that ended first; where that one ended well, the first that failed by itself.
    pub fn first(&self) -> Option<First> {
        let mut ranks: Vec<&Rank> = self.ranks.iter().collect();
        ranks.sort_by_key(|rank| (rank.ended.unwrap_or(Duration::MAX), rank.number));
        let status = |rank: &Rank| rank.ended.and_then(|_| pidfd::status(rank.process.as_raw_fd()));
        let ends: Vec<_> = ranks.into_iter().map(|rank| (rank.ended, rank.number, status(rank))).collect();
        let place = if self.size == Some(self.ranks.len()) { "First" } else { "First on this machine" };
        first(&ends).map(|(what, is_killed)| First { told: format!("{place}, {what}."), is_killed })
    }
}

/// When a rank was seen to have ended, its number, and the status that it ended with, as far as they are known.
type End = (Option<Duration>, usize, Option<libc::c_int>);

/// What is to be told of ranks in the order in which they ended, and whether a signal killed the one that is told. Nothing where it may be that
/// the launcher ended that one for another that ended otherwise.
fn first(ends: &[End]) -> Option<(String, bool)> {
    let by_launcher = |end: &&End| end.2.is_some_and(misfortune::may_be_launchers);
    let by_itself = |end: &&End| end.2.is_some_and(|status| status != 0) && !by_launcher(end);
    let first = ends.first()?;
    let is_with_first = |end: &&End| match (first.0, end.0) {
        (Some(first), Some(this)) => this - first < TOGETHER,
        (of_first, of_this) => of_first == of_this,
    };
    let mut together = ends.iter().take_while(is_with_first);
    let first = together.find(by_itself).unwrap_or(first);
    let first = if first.2 == Some(0) { ends.iter().find(by_itself).unwrap_or(first) } else { first };
    let &(_, number, Some(status)) = first else { return None };
    let is_killed = libc::WIFSIGNALED(status);
    if by_launcher(&first) && ends.iter().any(|end| end.2.is_none() || by_itself(&end)) {
        return None;
    }
    let is_one_of_many = by_launcher(&first) && ends.iter().filter(|end| end.2 == first.2).count() > 1;
    let other = if is_one_of_many { ", or another of those that were killed," } else { "" };
    Some((format!("rank {number}{other} {}", misfortune::end_in_words(status)), is_killed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_that_is_told_is_the_first_to_end_and_not_what_the_launcher_ended() {
        let exited = |status: libc::c_int| Some(status << 8);
        let (killed, ended) = (Some(libc::SIGKILL), Some(libc::SIGTERM));
        let cases: [(&[_], Option<&str>); 9] = [
            (&[(4, 3, killed), (5, 0, ended)], Some("rank 3 was killed by signal 9 (SIGKILL)")),
            (&[(4, 0, ended), (4, 3, exited(4))], Some("rank 3 ended with status 4")),
            (&[(4, 0, exited(0)), (5, 1, ended), (6, 3, exited(3))], Some("rank 3 ended with status 3")),
            (&[(4, 3, exited(0)), (5, 0, ended)], Some("rank 3 ended with status 0")),
            (
                &[(4, 0, killed), (5, 3, killed), (5, 1, exited(0))],
                Some("rank 0, or another of those that were killed, was killed by signal 9 (SIGKILL)"),
            ),
            (&[(4, 2, Some(libc::SIGSEGV)), (5, 3, exited(1))], Some("rank 2 was killed by signal 11 (SIGSEGV)")),
            // One of which nobody knows may have ended before, and the launcher the others.
            (&[(4, 2, None), (5, 3, exited(1))], None),
            (&[(4, 2, killed), (9, 3, None)], None),
            (&[(4, 0, ended), (5, 3, exited(4))], None),
        ];
        for (ends, told) in cases {
            let at = |look: u32| Some(2 * look * TOGETHER);
            let ends: Vec<_> = ends.iter().map(|&(look, rank, status)| (at(look), rank, status)).collect();
            let is_killed = |told: &str| told.contains("killed by");
            assert_eq!(first(&ends), told.map(|told| (told.to_owned(), is_killed(told))));
        }
        // Files of a process are closed before it has ended, so that its launcher may hear of it, and end others, before we do.
        let soon = [(Some(TOGETHER), 0, killed), (Some(TOGETHER + TOGETHER / 2), 3, exited(4))];
        assert_eq!(first(&soon), Some(("rank 3 ended with status 4".to_owned(), false)));
        assert_eq!(first(&[]), None);
    }
}
