//! What runs cost: seconds and core-hours, estimated before anything has run and learned from the runs done.

use modeler::run_cost::RunCost;

use super::tasks::Done;
use crate::study::{Place, Policy, Study};

/// What the runs of a study's cases cost.
pub struct Costs<'a> {
    study: &'a Study,
    /// Case and elapsed seconds of each run that was made.
    made: Vec<(usize, f64)>,
    /// Of runs of the program as it is, and of those with noise, which take longer.
    learned: [Option<RunCost>; 2],
    /// Core-seconds of runs that failed, but for those with noise.
    lost: f64,
}

/// Where an estimate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Runs of the point itself.
    Measured,
    /// Runs of other points.
    Learned,
    /// Runs of other points, all of which have a smaller value of one of its parameters.
    Extrapolated,
    /// What the study expects.
    Expected,
    /// No more is known than the time limit.
    AtMost,
}

/// How long runs take together, s: of each case their number and how long each takes, where that is known, and how many are
/// made at a time; none where that is not known either.
pub fn time_left(cases: &[(usize, Option<f64>)], at_once: usize) -> Option<f64> {
    let cases: Vec<(usize, f64)> =
        cases.iter().map(|&(runs, each)| each.map(|each| (runs, each))).collect::<Option<_>>()?;
    let one_by_one: f64 = cases.iter().map(|&(runs, each)| runs as f64 * each).sum();
    let longest = cases.iter().map(|&(_, each)| each).fold(0.0, f64::max);
    (at_once > 0).then(|| longest.max(one_by_one / at_once as f64))
}

impl<'a> Costs<'a> {
    /// What is known of a study's costs after the runs `done` of each case.
    pub fn of(study: &'a Study, done: &[Vec<Done>]) -> Self {
        let made = |(case, done): (usize, &Vec<Done>)| done.iter().map(|done| (case, done.seconds)).collect::<Vec<_>>();
        let mut costs =
            Self { study, made: done.iter().enumerate().flat_map(made).collect(), learned: [None, None], lost: 0.0 };
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
        if self.is_budgeted(case) {
            self.lost += f64::from(self.cores(case)) * seconds;
        }
    }

    /// Whether a policy's budget pays for runs of a case. Runs with noise are one more of each point, whatever the policy says.
    pub fn is_budgeted(&self, case: usize) -> bool {
        !self.study.cases[case].absorbs
    }

    fn fit(&mut self) {
        let coordinates = |case: usize| self.study.cases[case].point.iter().map(|(_, value)| value.number).collect();
        self.learned = [false, true].map(|absorbs| {
            let alike = self.made.iter().filter(|(case, _)| self.study.cases[*case].absorbs == absorbs);
            let runs: Vec<(Vec<f64>, f64)> = alike.map(|&(case, seconds)| (coordinates(case), seconds)).collect();
            RunCost::learn(&runs)
        });
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
        // Until there is one with noise, what others take says more than nothing, and the other way round.
        let [alike, others] =
            [place.absorbs, !place.absorbs].map(|absorbs| self.learned[usize::from(absorbs)].as_ref());
        if let Some(learned) = alike.or(others) {
            // A run that takes longer is ended.
            return (learned.seconds(&coordinates).min(limit), self.learned_from(&coordinates));
        }
        let expected = self.study.expected_seconds.as_ref().and_then(|e| e.number(&|name| place.term(name)).ok());
        expected.map_or((limit, Source::AtMost), |expected| (expected.clamp(0.0, limit), Source::Expected))
    }

    /// Whether what was learned from the runs made says something of these coordinates, or of smaller ones.
    fn learned_from(&self, coordinates: &[f64]) -> Source {
        let points = || self.made.iter().map(|&(case, _)| &self.study.cases[case].point);
        let is_beyond =
            |(i, x): (usize, &f64)| points().all(|point| point.get(i).is_none_or(|(_, value)| value.number < *x));
        let is_extrapolated = coordinates.iter().enumerate().any(is_beyond);
        if is_extrapolated { Source::Extrapolated } else { Source::Learned }
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

    /// Whether the policy's budget is spent.
    pub fn is_spent(&self, done: &[Vec<Done>]) -> bool {
        let Policy::Interval { core_hours: Some(budget), .. } = self.study.repetitions.policy else { return false };
        self.spent_core_hours(done) >= budget
    }

    /// Core-hours of all runs done that a policy's budget pays for, and of those of them that failed in this call.
    fn spent_core_hours(&self, done: &[Vec<Done>]) -> f64 {
        let of_case = |(case, done): (usize, &Vec<Done>)| {
            f64::from(self.cores(case)) * done.iter().map(|done| done.seconds).sum::<f64>()
        };
        (self.lost + done.iter().enumerate().filter(|(case, _)| self.is_budgeted(*case)).map(of_case).sum::<f64>())
            / 3600.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A study of a program on one core, at these values of n, with a run with noise at each.
    fn study(folder: &std::path::Path) -> Study {
        let text = "command = [\"true\", \"{n}\"]\nabsorption = true\ntime_limit = 1000\nranks = 1\n[parameters]\nn = [10, 20, 40]\n";
        let path = folder.join("study.toml");
        std::fs::write(&path, text).unwrap();
        Study::read(&path).unwrap()
    }

    #[test]
    fn the_time_left_is_that_of_runs_beside_each_other_and_no_less_than_of_the_longest() {
        let cases = [(3, Some(10.0)), (1, Some(30.0))];
        // Three rows of 20 s at three at a time would be 20 s, less than the longest run.
        assert_eq!([1, 2, 3, 100].map(|at_once| time_left(&cases, at_once)), [60.0, 30.0, 30.0, 30.0].map(Some));
        assert_eq!(time_left(&cases, 0), None);
        assert_eq!(time_left(&[(1, Some(10.0)), (1, None)], 1), None);
        assert_eq!(time_left(&[], 1), Some(0.0));
    }

    #[test]
    fn runs_with_noise_are_learned_apart_and_no_budget_pays_for_them() {
        let folder = tempfile::tempdir().unwrap();
        let study = study(folder.path());
        let case = |absorbs: bool, n: f64| {
            let is_it = |case: &crate::study::Case| case.absorbs == absorbs && case.point[0].1.number == n;
            study.cases.iter().position(is_it).unwrap()
        };
        let mut done: Vec<Vec<Done>> = vec![Vec::new(); study.cases.len()];
        let mut made = |absorbs, n, seconds| {
            done[case(absorbs, n)].push(Done { repetition: 1, time: seconds, seconds });
            (Costs::of(&study, &done), done.clone())
        };
        // Runs take n seconds, those with noise ten times as long.
        made(false, 10.0, 10.0);
        let (mut costs, _) = made(false, 20.0, 20.0);
        let (before, source) = costs.estimate(case(true, 40.0));
        assert!((20.0..45.0).contains(&before) && source == Source::Extrapolated, "{before}");
        assert_eq!(costs.estimate(case(true, 20.0)).1, Source::Learned);
        costs.learn(case(true, 10.0), 100.0);
        costs.learn(case(true, 20.0), 200.0);
        let estimates = [false, true].map(|absorbs| costs.estimate(case(absorbs, 40.0)).0);
        assert!((estimates[1] / estimates[0] - 10.0).abs() < 1e-6, "{estimates:?}");
        let (mut costs, done) = made(true, 10.0, 100.0);
        let cores = f64::from(costs.cores(0));
        assert!((costs.spent_core_hours(&done) - 30.0 * cores / 3600.0).abs() < 1e-12);
        costs.lose(case(true, 20.0), 500.0);
        costs.lose(case(false, 40.0), 6.0);
        assert!((costs.spent_core_hours(&done) - 36.0 * cores / 3600.0).abs() < 1e-12);
    }
}
