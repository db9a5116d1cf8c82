//! What runs cost: seconds and core-hours, estimated before anything has run and learned from the runs done.

use modeler::run_cost::RunCost;

use super::tasks::Done;
use crate::study::{Place, Study};

/// What the runs of a study's cases cost.
pub struct Costs<'a> {
    study: &'a Study,
    /// Case and elapsed seconds of each run that was made.
    made: Vec<(usize, f64)>,
    learned: Option<RunCost>,
    /// Core-seconds of runs that failed.
    lost: f64,
}

/// Where an estimate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Runs of the point itself.
    Measured,
    /// Runs of other points.
    Learned,
    /// What the study expects.
    Expected,
    /// No more is known than the time limit.
    AtMost,
}

impl<'a> Costs<'a> {
    /// What is known of a study's costs after the runs `done` of each case.
    pub fn of(study: &'a Study, done: &[Vec<Done>]) -> Self {
        let made = |(case, done): (usize, &Vec<Done>)| done.iter().map(|done| (case, done.seconds)).collect::<Vec<_>>();
        let mut costs =
            Self { study, made: done.iter().enumerate().flat_map(made).collect(), learned: None, lost: 0.0 };
        costs.fit();
        costs
    }

    /// A run of a case was made.
    pub fn learn(&mut self, case: usize, seconds: f64) {
        self.made.push((case, seconds));
        self.fit();
    }

    /// A run of a case has failed, which costs the budget as much.
    pub fn lose(&mut self, case: usize, seconds: f64) {
        self.lost += f64::from(self.cores(case)) * seconds;
    }

    fn fit(&mut self) {
        let coordinates = |case: usize| self.study.cases[case].point.iter().map(|(_, value)| value.number).collect();
        let runs: Vec<(Vec<f64>, f64)> =
            self.made.iter().map(|&(case, seconds)| (coordinates(case), seconds)).collect();
        self.learned = RunCost::learn(&runs);
    }

    /// How long a run of a case probably takes, s; none where nothing but the limit is known.
    pub fn seconds(&self, case: usize) -> Option<f64> {
        let (seconds, source) = self.estimate(case);
        (source != Source::AtMost).then_some(seconds)
    }

    /// How long a run of a case takes, s, by the best that is known.
    pub fn estimate(&self, case: usize) -> (f64, Source) {
        let mut own: Vec<f64> = self.made.iter().filter(|(made, _)| *made == case).map(|(_, s)| *s).collect();
        let limit = self.study.time_limit.as_secs_f64();
        if !own.is_empty() {
            own.sort_by(f64::total_cmp);
            return (own[own.len() / 2], Source::Measured);
        }
        let place = &self.study.cases[case];
        let coordinates: Vec<f64> = place.point.iter().map(|(_, value)| value.number).collect();
        if let Some(learned) = &self.learned {
            // A run that takes longer is ended.
            return (learned.seconds(&coordinates).min(limit), Source::Learned);
        }
        let expected = self.study.expected_seconds.as_ref().and_then(|e| e.number(&|name| place.term(name)).ok());
        expected.map_or((limit, Source::AtMost), |expected| (expected.clamp(0.0, limit), Source::Expected))
    }

    /// Cores that a run of a case occupies: on this machine never more than there are.
    pub fn cores(&self, case: usize) -> u32 {
        let needed = self.study.cores(&self.study.cases[case]).1;
        match &self.study.place {
            Place::Slurm(_) => needed,
            Place::Smpi(_) => 1,
            Place::Local(local) => {
                let available = std::thread::available_parallelism().map_or(1, usize::from);
                let most = local.cores.unwrap_or(available);
                needed.min(u32::try_from(most).unwrap_or(u32::MAX))
            }
        }
    }

    /// Core-hours of all runs done, and of those that failed in this call.
    pub fn spent_core_hours(&self, done: &[Vec<Done>]) -> f64 {
        let of_case = |(case, done): (usize, &Vec<Done>)| {
            f64::from(self.cores(case)) * done.iter().map(|done| done.seconds).sum::<f64>()
        };
        (self.lost + done.iter().enumerate().map(of_case).sum::<f64>()) / 3600.0
    }
}
