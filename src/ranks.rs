//! Beyond one machine: with the feature `mpi`, `mpirun -n R poise model …` shares the series of an experiment out over
//! ranks, and rank 0 writes the same bytes as one process. Without the feature there is one rank, this process.

#[cfg(not(feature = "mpi"))]
use modeler::{Experiment, Fits, Options};

/// The ranks that take part in a fit.
pub struct Ranks {
    #[cfg(feature = "mpi")]
    universe: Option<mpi::environment::Universe>,
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

    /// All models, at the rank that speaks.
    pub fn fit(&self, experiment: &Experiment, options: &Options) -> Option<Fits> {
        Some(modeler::fit(experiment, options))
    }
}

#[cfg(feature = "mpi")]
mod shared {
    use modeler::{Experiment, Fits, Options};
    use mpi::topology::SimpleCommunicator;
    use mpi::traits::{Communicator, Destination, Source};

    use super::Ranks;

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

        /// All models, at the rank that speaks.
        pub fn fit(&self, experiment: &Experiment, options: &Options) -> Option<Fits> {
            let Some(world) = self.world().filter(|world| world.size() > 1) else {
                return Some(modeler::fit(experiment, options));
            };
            let (rank, ranks) = (world.rank(), world.size());
            let share = modeler::Share { index: rank.cast_unsigned() as usize, of: ranks.cast_unsigned() as usize };
            let mine = modeler::fit_share(experiment, options, share);
            if rank != 0 {
                send(&world, mine);
                return None;
            }
            let others = (1..ranks).map(|other| receive(&world, other));
            Some(Fits::join(std::iter::once(mine).chain(others)))
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
