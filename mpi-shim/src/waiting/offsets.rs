//! The clocks of nodes: how far each is from that of MPI_COMM_WORLD's rank 0, measured by messages in MPI_Init, down a binomial tree
//! between ranks of different nodes. Times travel as rank 0's clock shows them. In MPI_Finalize the same is measured again, and by
//! how much the clocks have moved apart meanwhile goes into the profile.

use std::hash::{BuildHasher, Hasher};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Instant;

use super::messages::{LENGTH, Wire};
use super::replies::MOST;
use crate::library::{self, Family, Handle, Int, Ptr, SUCCESS};
use crate::runtime::{self, Stamp, say};

/// Questions to the rank above; the one that took least counts (Cristian's algorithm, Distributed Computing 3, 1989).
const ROUNDS: usize = 12;
/// The tag of these messages, which nothing else on their communicator has: what a program's message has left over there must not
/// be taken for one of them.
const TAG: Int = MOST as Int + 1;

/// What is to be added to this process's clock, in ticks.
static OFFSET: AtomicI64 = AtomicI64::new(0);
/// When that was measured.
static BEGUN: OnceLock<(Instant, u64)> = OnceLock::new();
/// The most that a clock has moved away from rank 0's, in nanoseconds.
static DRIFT: AtomicU64 = AtomicU64::new(0);

/// A time as all ranks read it.
pub fn to_wire(time: u64) -> u64 {
    time.wrapping_add_signed(OFFSET.load(Ordering::Relaxed)).wrapping_add_signed(skew())
}

/// Such a time by this process's clock.
pub fn from_wire(time: u64) -> u64 {
    time.wrapping_add_signed(-OFFSET.load(Ordering::Relaxed)).wrapping_add_signed(-skew())
}

/// By how many ticks this process's clock is wrong on purpose, which makes one node look like several.
fn skew() -> i64 {
    static SKEW: OnceLock<i64> = OnceLock::new();
    *SKEW.get_or_init(|| std::env::var("POISE_CLOCK_SKEW").ok().and_then(|skew| skew.parse().ok()).unwrap_or(0))
}

/// This process's clock.
fn now() -> u64 {
    runtime::now().wrapping_add_signed(skew())
}

/// The same for all processes that read the same clock: those of one running kernel.
pub fn host() -> u64 {
    static HOST: OnceLock<u64> = OnceLock::new();
    *HOST.get_or_init(|| {
        let boot = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        // Fixed keys: the same in each process.
        let mut hasher = std::hash::BuildHasherDefault::<std::hash::DefaultHasher>::default().build_hasher();
        hasher.write(&boot);
        hasher.write_i64(skew());
        hasher.finish() | 1
    })
}

/// A world of ranks with a communicator of ours.
pub struct World {
    /// The communicator that answers to questions go over, with other tags.
    pub comm: Handle,
    /// This rank.
    pub rank: Int,
    /// Number of ranks.
    pub size: Int,
}

impl World {
    /// MPI begins: measures how far this process's clock is from rank 0's.
    pub fn begin(&self, family: &Family) {
        let offset = self.measure(family);
        OFFSET.store(offset, Ordering::Relaxed);
        BEGUN.get_or_init(|| (Instant::now(), runtime::now()));
    }

    /// MPI ends: measures it again. All ranks take part.
    pub fn end(&self, family: &Family) {
        let moved = self.measure(family).abs_diff(OFFSET.load(Ordering::Relaxed));
        let scale = BEGUN.get().map_or(0.0, |(then, ticks)| {
            then.elapsed().as_nanos() as f64 / runtime::now().saturating_sub(*ticks).max(1) as f64
        });
        let (own, mut most) = ((moved as f64 * scale) as u64, 0_u64);
        let (from, to): (Ptr, Ptr) = ((&raw const own).cast_mut().cast(), (&raw mut most).cast());
        // SAFETY: every rank of the communicator, which is ours, makes the same call with room for a number.
        if unsafe { library::reduce(from, to, 1, family.uint64, family.max, 0, self.comm) } == SUCCESS {
            DRIFT.store(most, Ordering::Relaxed);
        }
    }

    /// What is to be added to this process's clock. Each rank asks the one above it in the tree, then answers those below.
    fn measure(&self, family: &Family) -> i64 {
        let mut step = 1;
        while step < self.size && self.rank & step == 0 {
            step *= 2;
        }
        let offset = if self.rank == 0 { 0 } else { self.ask(family, self.rank - step) };
        while step > 1 {
            step /= 2;
            if self.rank + step < self.size {
                self.answer(family, self.rank + step, offset);
            }
        }
        offset
    }

    /// Asks `above` for the time, as rank 0's clock shows it.
    fn ask(&self, family: &Family, above: Int) -> i64 {
        let mut best: Option<(u64, i64)> = None;
        for round in 0..ROUNDS {
            let begin = now();
            self.send(family, above, Stamp { clock: host(), time: 0 });
            let Some(answer) = self.receive(family, above) else { return 0 };
            let end = now();
            let middle = begin + end.saturating_sub(begin) / 2;
            // Processes that read the same clock differ by nothing; `clock` is the host above, `time` its offset then.
            if round == 0 && answer.clock == host() {
                return answer.time.cast_signed();
            }
            let found = (end.saturating_sub(begin), answer.time.wrapping_sub(middle).cast_signed());
            // The first answer says whether there will be others.
            if round > 0 && best.is_none_or(|best| found.0 < best.0) {
                best = Some(found);
            }
        }
        best.map_or(0, |best| best.1)
    }

    /// Answers the questions of `below`.
    fn answer(&self, family: &Family, below: Int, offset: i64) {
        for round in 0..ROUNDS {
            let Some(question) = self.receive(family, below) else { return };
            let time = if round == 0 { offset.cast_unsigned() } else { now().wrapping_add_signed(offset) };
            self.send(family, below, Stamp { clock: host(), time });
            if round == 0 && question.clock == host() {
                return;
            }
        }
    }

    fn send(&self, family: &Family, to: Int, stamp: Stamp) {
        let wire = Wire { stamp, question: 0 };
        // SAFETY: the bytes are there, and the receiver waits for them.
        unsafe { library::send((&raw const wire).cast(), LENGTH, family.byte, to, TAG, self.comm) };
    }

    fn receive(&self, family: &Family, from: Int) -> Option<Stamp> {
        let mut wire = Wire::default();
        let ignore = family.status_ignore as Ptr;
        // SAFETY: there is room, and the sender sends as much.
        let code = unsafe { library::recv((&raw mut wire).cast(), LENGTH, family.byte, from, TAG, self.comm, ignore) };
        if code != SUCCESS {
            say("messages between nodes failed; waiting across nodes is not right.");
        }
        (code == SUCCESS).then_some(wire.stamp)
    }
}

/// The most that a clock has moved away from rank 0's between MPI_Init and MPI_Finalize, in nanoseconds; known at rank 0.
pub fn drift() -> u64 {
    DRIFT.load(Ordering::Relaxed)
}
