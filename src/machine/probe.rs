//! Fixed work, timed: what takes longer than its fastest repetition was disturbed.

use std::time::Instant;

use serde::Serialize;

/// Repetitions of the work. Together they take some ten milliseconds, long against a scheduler's time slice's beginning
/// and short against any run worth measuring.
const REPETITIONS: usize = 11;
/// Steps of the work: each depends on the one before, so that nothing but the clock's rate sets their pace.
const STEPS: u32 = 400_000;

/// How long fixed work took.
#[derive(Clone, Debug, Serialize)]
pub struct Probe {
    /// The fastest repetition.
    fastest_ns: f64,
    /// The slowest.
    slowest_ns: f64,
    /// All together over as many of the fastest, less 1: the share of time that disturbances took.
    noise: f64,
}

impl Probe {
    /// Does the work and times it.
    pub fn measure() -> Self {
        let times = (0..REPETITIONS).map(|i| {
            let begun = Instant::now();
            std::hint::black_box(work(i as u64 + 1));
            begun.elapsed().as_nanos() as f64
        });
        Self::of(times.collect())
    }

    /// Of the times of repetitions, ns; at least one.
    pub fn of(times: Vec<f64>) -> Self {
        let fastest_ns = times.iter().copied().fold(f64::INFINITY, f64::min).max(1.0);
        let slowest_ns = times.iter().copied().fold(0.0, f64::max);
        let noise = times.iter().sum::<f64>() / (times.len().max(1) as f64 * fastest_ns) - 1.0;
        Self { fastest_ns, slowest_ns, noise }
    }

    /// The fastest repetition, ns.
    pub fn fastest(&self) -> f64 {
        self.fastest_ns
    }

    /// The share of time that disturbances took; 0 on a quiet machine.
    pub fn noise(&self) -> f64 {
        self.noise
    }
}

/// Marsaglia's xorshift generator, for its chain of dependent instructions.
fn work(seed: u64) -> u64 {
    let mut x = seed;
    for _ in 0..STEPS {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_the_time_above_the_fastest() {
        let probe = Probe::of(vec![100.0, 100.0, 160.0]);
        assert_eq!((probe.fastest_ns, probe.slowest_ns), (100.0, 160.0));
        assert!((probe.noise - 0.2).abs() < 1e-12);
    }
}
