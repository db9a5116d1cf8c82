//! Beyond one machine: with the feature `mpi`, `mpirun -n R poise model …` shares the series of an experiment out over
//! ranks, and rank 0 writes the same bytes as one process. Without the feature there is one rank, this process.

#[cfg(not(feature = "mpi"))]
use modeler::{Experiment, Fits, Options, Share, fit_in_parts};

use crate::error::{Error, Result};
#[cfg(not(feature = "mpi"))]
use crate::output::NotWritten;

/// Call paths that are fitted before their models are written, so that memory holds no more models than of these.
const PART: u32 = 4096;

/// The ranks that take part in a fit.
pub struct Ranks {
    #[cfg(feature = "mpi")]
    universe: Option<mpi::environment::Universe>,
}

impl Ranks {
    /// What the rank that speaks finds, at all ranks: files that are there at one may not be at others, and none may go on alone. Every rank
    /// has to ask.
    pub fn agree(&self, find: impl FnOnce() -> Result<()>) -> Result<()> {
        let found = if self.speaks() { find() } else { Ok(()) };
        let is_fine = self.go_on(found.is_ok());
        found.and(if is_fine { Ok(()) } else { Err(Error::AnotherRankSpeaks) })
    }
}

#[cfg(not(feature = "mpi"))]
impl Ranks {
    /// Only this process.
    pub fn start() -> Self {
        Self {}
    }

    /// Whether this rank prints and writes.
    pub fn speaks(&self) -> bool {
        true
    }

    /// What the rank that speaks says: whether the others are needed.
    pub fn go_on(&self, needed: bool) -> bool {
        needed
    }

    /// All models, at the rank that speaks.
    pub fn fit(&self, experiment: &Experiment, options: &Options) -> Option<Fits> {
        Some(modeler::fit(experiment, options))
    }

    /// All models part by part to `take`, at the rank that speaks.
    pub fn fit_in_parts(
        &self,
        experiment: &Experiment,
        options: &Options,
        take: impl FnMut(Fits) -> Result<(), NotWritten>,
    ) -> Result<(), NotWritten> {
        fit_in_parts(experiment, options, Share { index: 0, of: 1 }, PART).try_for_each(take)
    }
}

#[cfg(feature = "mpi")]
mod shared {
    use modeler::{Experiment, Fits, Options, Share, fit_in_parts};
    use mpi::topology::SimpleCommunicator;
    use mpi::traits::{Communicator, Destination, Root, Source};

    use super::{PART, Ranks};
    use crate::output::NotWritten;

    /// Models per message: far below the 2^31 bytes that one may have.
    const BATCH: usize = 100_000;

    impl Ranks {
        /// Joins the ranks that the launcher started.
        pub fn start() -> Self {
            Self { universe: mpi::initialize() }
        }

        fn world(&self) -> Option<SimpleCommunicator> {
            self.universe.as_ref().map(mpi::environment::Universe::world)
        }

        /// Whether this rank prints and writes.
        pub fn speaks(&self) -> bool {
            self.world().is_none_or(|world| world.rank() == 0)
        }

        /// What the rank that speaks says: whether the others are needed. Every rank has to ask.
        pub fn go_on(&self, mut needed: bool) -> bool {
            if let Some(world) = self.world() {
                world.process_at_rank(0).broadcast_into(&mut needed);
            }
            needed
        }

        /// All models, at the rank that speaks.
        pub fn fit(&self, experiment: &Experiment, options: &Options) -> Option<Fits> {
            let mut parts = Vec::new();
            let take = |part| {
                parts.push(part);
                Ok(())
            };
            let fitted = self.fit_in_parts(experiment, options, take);
            (fitted.is_ok() && self.speaks()).then(|| Fits::join(parts))
        }

        /// All models part by part to `take`, at the rank that speaks; all ranks fit a part at a time.
        pub fn fit_in_parts(
            &self,
            experiment: &Experiment,
            options: &Options,
            mut take: impl FnMut(Fits) -> Result<(), NotWritten>,
        ) -> Result<(), NotWritten> {
            let Some(world) = self.world().filter(|world| world.size() > 1) else {
                return fit_in_parts(experiment, options, Share { index: 0, of: 1 }, PART).try_for_each(take);
            };
            let (rank, ranks) = (world.rank(), world.size());
            let share = Share { index: rank.cast_unsigned() as usize, of: ranks.cast_unsigned() as usize };
            // What cannot be written must not leave the others waiting.
            let mut written = Ok(());
            let part = PART.saturating_mul(ranks.cast_unsigned());
            for mine in fit_in_parts(experiment, options, share, part) {
                if rank != 0 {
                    send(&world, mine);
                    continue;
                }
                let others = (1..ranks).map(|other| receive(&world, other));
                let all = Fits::join(std::iter::once(mine).chain(others));
                if written.is_ok() {
                    written = take(all);
                }
            }
            written
        }
    }

    /// Batches, and an empty one at the end.
    fn send(world: &SimpleCommunicator, fits: Fits) {
        for batch in fits.split(BATCH).chain([Fits::default()]) {
            let bytes = postcard::to_allocvec(&batch).expect("models are plain data");
            world.process_at_rank(0).send(&bytes[..]);
        }
    }

    fn receive(world: &SimpleCommunicator, from: i32) -> Fits {
        let mut all = Vec::new();
        loop {
            let (bytes, _) = world.process_at_rank(from).receive_vec::<u8>();
            let batch: Fits = postcard::from_bytes(&bytes).expect("every rank runs the same program");
            if batch.is_empty() {
                return Fits::join(all);
            }
            all.push(batch);
        }
    }
}
