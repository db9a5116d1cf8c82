//! The function of logical waiting in a sweep over a grid of ranks whose messages were counted.
//!
//! Waiting divided by the stages that are waited for is what a stage costs: what a rank works and what its message takes.
//! The clock says what a message of so many bytes takes, so that the two can be told apart before anything is searched.

use crate::depth::{TOLERANCE, Waiting, add, depth, stages_of, times};
use crate::effort::Found;
use crate::library::Shape;

/// Bytes that the logical clock takes for a tick, the last ones of a message that make none left out (docs/mpi.md).
const BYTES_PER_TICK: f64 = 8.0;

/// Sweeps that the mean rank waits for, as a multiple of their number and a constant. Where every other sweep goes back, each
/// but the first waits for all of the one before, and of the first the mean rank waits for half. Where each begins when
/// the one before is over, half of each is waited for, and where they follow each other closely, half of the first alone.
const WAITED: [(f64, f64); 3] = [(1.0, -0.5), (0.5, 0.0), (0.0, 0.5)];

/// What is known of the sweeps over a grid of ranks, at each point and as functions of the parameters.
pub(crate) struct Sweeps<'a> {
    /// The parameter that is the number of ranks.
    pub ranks: usize,
    /// Those of the grid.
    pub dimensions: u32,
    /// How many there are.
    pub number: (&'a [f64], &'a Found),
    /// Bytes of a message between two ranks.
    pub message: (&'a [f64], &'a Found),
}

/// What a stage costs, at the points where ranks wait.
#[derive(Default)]
struct Stages<'p> {
    points: Vec<&'p [f64]>,
    /// All of it, in ticks.
    costs: Vec<f64>,
    /// The same without what the bytes of its message take.
    work: Vec<f64>,
}

impl Sweeps<'_> {
    /// The functions of the waiting `y`, in ticks, the mean over ranks; `None` where `find` finds none for what a
    /// stage costs without its message that would explain it.
    pub fn functions<'p>(
        &self,
        points: &[&'p [f64]],
        y: &[f64],
        mut find: impl FnMut(Vec<&'p [f64]>, &[f64]) -> Vec<Found>,
    ) -> Option<Waiting> {
        let mut tried: Vec<Vec<f64>> = Vec::new();
        let mut best: Option<((usize, f64), Waiting)> = None;
        for (multiple, more) in WAITED {
            let waited: Vec<f64> = self.number.0.iter().map(|number| multiple * number + more).collect();
            if tried.contains(&waited) {
                continue;
            }
            let stages = self.stages(points, y, &waited);
            tried.push(waited);
            let Some(stages) = stages else { continue };
            let found = find(stages.points.clone(), &stages.work);
            let costs: Vec<Found> = found.iter().map(|work| self.with_message(work, &stages)).collect();
            let Some(cost) = costs.first().filter(|cost| cost.residual < TOLERANCE) else { continue };
            let rank = (cost.terms.len(), cost.residual);
            if best.as_ref().is_none_or(|(least, _)| rank < *least) {
                let number = scaled(self.number.1, multiple, more);
                let stages = times(&number, &stages_of(self.ranks, self.dimensions));
                best = Some((rank, Waiting::of_stages(&costs, &stages)));
            }
        }
        best.map(|(_, waiting)| waiting)
    }

    /// What stages cost where ranks wait for so many sweeps; `None` where that cannot be.
    fn stages<'p>(&self, points: &[&'p [f64]], y: &[f64], waited: &[f64]) -> Option<Stages<'p>> {
        let mut stages = Stages::default();
        for (((point, y), waited), bytes) in points.iter().zip(y).zip(waited).zip(self.message.0) {
            let stages_waited = waited * depth(point[self.ranks] as u64, self.dimensions) as f64;
            if stages_waited == 0.0 {
                // A rank alone waits for nobody.
                if *y != 0.0 {
                    return None;
                }
                continue;
            }
            let cost = y / stages_waited;
            let work = cost - (bytes / BYTES_PER_TICK).floor();
            if work <= 0.0 {
                return None;
            }
            stages.points.push(*point);
            stages.costs.push(cost);
            stages.work.push(work);
        }
        Some(stages)
    }

    /// What a stage costs whose work is this: with its message.
    fn with_message(&self, work: &Found, stages: &Stages) -> Found {
        let mut cost = work.clone();
        let bytes = self.message.1;
        for (shape, c) in bytes.terms.iter().cloned().chain([(Shape::default(), bytes.constant)]) {
            add(&mut cost, shape, c / BYTES_PER_TICK);
        }
        cost.residual = cost.differs_by(&stages.points, &stages.costs);
        cost.exact = work.exact && bytes.exact && cost.residual < 1e-10;
        cost
    }
}

/// `multiple` times the function, and a constant more.
fn scaled(found: &Found, multiple: f64, more: f64) -> Found {
    let terms = found.terms.iter().map(|(shape, c)| (shape.clone(), multiple * c)).filter(|term| term.1 != 0.0);
    Found { constant: multiple * found.constant + more, terms: terms.collect(), ..found.clone() }
}
