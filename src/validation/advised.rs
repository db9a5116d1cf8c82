//! `poise bench validate --advised`: how accurate models of advised points are, beside those of the full grid. The program is
//! measured anew as a user of `poise advise` does it: at the points of a first design, then at those that the advice
//! names, until that says enough or half of the full grid's core-hours are spent. Every run is a run of the program.

use std::path::Path;

use modeler::advise::{AdviseOptions, End, LeastUncertainty, advise, first_design, least_uncertainty};
use modeler::experiment::{ExperimentBuilder, Metric, Values};
use modeler::{Experiment, fit};
use rand::rngs::StdRng;
use rand_distr::{Distribution as _, StandardNormal};
use serde::Serialize;

use super::execute::{self, Launcher};
use super::plan::{Executor, Plan};
use super::times::{self, Pattern, Subject, Times};
use super::{find, median};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::progress::Progress;

/// Patterns and percent of the noise that is put on top of what was measured.
const NOISES: [(Pattern, u32); 4] =
    [(Pattern::None, 0), (Pattern::Uniform, 10), (Pattern::Uniform, 50), (Pattern::Exponential, 50)];

/// Relative deviation of simulated times, which are otherwise the same in every run.
const BACKGROUND: f64 = 0.03;

/// Share of the full grid's core-hours that may be spent.
const BUDGET: f64 = 0.5;
/// Half the interval from which on it is enough, as `--tolerance` says.
const TOLERANCE: f64 = 0.01;
/// Runs that are made before advice is asked again, as `--steps` says by default.
pub const STEPS: usize = 12;

/// A way of choosing the points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// All combinations, once.
    FullGrid,
    /// The first design, once.
    FirstDesign,
    /// That and what the advice adds.
    Advised,
}

impl Choice {
    const ALL: [Self; 3] = [Self::FullGrid, Self::FirstDesign, Self::Advised];

    /// For tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::FullGrid => "full grid",
            Self::FirstDesign => "first design",
            Self::Advised => "advised",
        }
    }
}

/// Mean and median, in percent.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Errors {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub median: f64,
}

/// By how much errors are larger than those of the full grid with the same draw, in points of percent.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Excess {
    /// The mean over draws.
    pub mean: f64,
    /// Its standard error; `None` of a single draw.
    pub standard_error: Option<f64>,
}

/// One call path, over all draws of one noise.
#[derive(Clone, Debug, Serialize)]
pub struct OfCallPath {
    /// Names from the outermost inwards.
    pub callpath: Vec<String>,
    /// Mean relative error of its predicted time at the unseen point, in percent.
    pub error: f64,
    /// The mean with its sign: where it is nearly as large as the error, every draw is off to the same side, and the function is wrong.
    pub bias: f64,
    /// By how much the error exceeds the full grid's.
    pub excess: Excess,
}

/// A line of the table: over all draws of one noise.
#[derive(Debug, Serialize)]
pub struct Line {
    /// Pattern of the noise, and percent.
    pub noise: (Pattern, u32),
    /// How points were chosen.
    pub choice: Choice,
    /// Draws of the noise.
    pub draws: u32,
    /// Runs, in the mean.
    pub runs: f64,
    /// Core-hours in percent of the full grid's, in the mean.
    pub core_hours_percent: f64,
    /// Relative error of the whole program's predicted time at the unseen point.
    pub whole_program: Errors,
    /// Likewise of each call path.
    pub call_paths: Errors,
    /// By how much the whole program's error exceeds the full grid's.
    pub whole_program_excess: Excess,
    /// Likewise the mean error of the call paths of a draw.
    pub call_paths_excess: Excess,
    /// Each call path that takes time there.
    pub each: Vec<OfCallPath>,
}

/// What runs for half of the full grid's core-hours leave uncertain at least, the functions being those of the grid without artificial noise.
///
/// # Errors
/// A time of the grid is missing.
pub fn least(plan: &Plan, trained: &Experiment, subjects: &[Subject]) -> Result<Option<LeastUncertainty>> {
    let grid = Seen::of(plan, trained.clone(), subjects)?;
    let run = |(point, at): (usize, &Vec<f64>)| {
        let seconds: Vec<f64> = grid.times.iter().map(|times| times.0[point][0]).collect();
        Run { at: at.clone(), noisy: seconds.clone(), seconds }
    };
    let runs: Vec<Run> = trained.points.iter().enumerate().map(run).collect();
    let experiment = experiment(subjects, &runs, &grid);
    let fits = fit(&experiment, &super::options(&plan.spec, plan.seed));
    Ok(least_uncertainty(&experiment, &fits, &asked(plan, None), BUDGET))
}

/// Measures, advises and scores, with so many draws of each noise; `trained` is the full grid.
///
/// # Errors
/// A run failed, or the user interrupted.
pub fn compare(
    plan: &Plan,
    launcher: &Launcher,
    folder: &Path,
    trained: &Experiment,
    subjects: &[Subject],
    draws: u32,
    progress: &Progress,
) -> Result<Vec<Line>> {
    let grid = Seen::of(plan, trained.clone(), subjects)?;
    let axes: Vec<Vec<f64>> = plan.spec.parameters.iter().map(|p| p.values.clone()).collect();
    let design = first_design(&axes);
    let once: Vec<(Vec<f64>, u32)> = design.iter().map(|at| (at.clone(), 1)).collect();
    let seen = Seen::of(plan, execute::more(plan, launcher, folder, &once, progress)?, subjects)?;
    let mut work = Work { plan, launcher, folder, subjects, progress, seen };
    let mut lines = Vec::new();
    for noise in NOISES {
        let mut tallies = Choice::ALL.map(|_| Tally::default());
        for draw in 0..draws {
            progress.step(&format!("follow the advice with {}, draw {} of {draws}", named(noise), draw + 1));
            let mut random = times::generator(plan.seed, &[], &format!("advised, {}, {draw}", named(noise)));
            let all = trained.points.iter().map(|at| work.disturbed(&grid, at, 0, noise, &mut random));
            let all: Vec<Run> = all.collect::<Result<_>>()?;
            let cost = work.core_hours(&all);
            let (first, advised) = work.follow(&design, noise, BUDGET * cost, &mut random)?;
            let of = [(&all, &grid), (&first, &work.seen), (&advised, &work.seen)];
            for (tally, (runs, seen)) in tallies.iter_mut().zip(of) {
                work.score(runs, seen, cost, tally);
            }
        }
        let timed: Vec<&[String]> =
            subjects.iter().filter(|s| s.unseen > 0.0).map(|s| s.truth.callpath.as_slice()).collect();
        let line = |(choice, tally): (Choice, &Tally)| tally.line(noise, choice, draws, &timed, &tallies[0]);
        lines.extend(Choice::ALL.into_iter().zip(&tallies).map(line));
    }
    Ok(lines)
}

/// The noise in words.
pub fn named((pattern, level): (Pattern, u32)) -> String {
    if level == 0 { pattern.name().to_owned() } else { format!("{}, up to {level} %", pattern.name()) }
}

/// One run, as models get it.
#[derive(Clone)]
struct Run {
    at: Vec<f64>,
    /// The time of each subject without artificial noise.
    seconds: Vec<f64>,
    /// With it.
    noisy: Vec<f64>,
}

/// What was measured so far, and the times of all subjects in it, by point and repetition.
struct Seen {
    experiment: Experiment,
    times: Vec<Times>,
}

impl Seen {
    fn of(plan: &Plan, experiment: Experiment, subjects: &[Subject]) -> Result<Self> {
        let times = subjects.iter().map(|s| times::undisturbed(plan, s.truth, &experiment)).collect::<Result<_>>()?;
        Ok(Self { experiment, times })
    }

    /// How often a point was measured, and the number of the point.
    fn runs(&self, at: &[f64]) -> Option<(usize, usize)> {
        let point = self.experiment.points.iter().position(|known| known == at)?;
        Some((self.times.iter().map(|times| times.0[point].len()).min()?, point))
    }
}

/// These runs and nothing else.
fn experiment(subjects: &[Subject], runs: &[Run], seen: &Seen) -> Experiment {
    let mut builder = ExperimentBuilder::new(seen.experiment.parameters.clone());
    builder.include(Values::Exclusive);
    let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
    let is_run = |at: &[f64]| runs.iter().any(|run| run.at == at);
    for (i, subject) in subjects.iter().enumerate() {
        let callpath = builder.callpath(&subject.truth.callpath);
        for run in runs {
            let point = builder.point(&run.at);
            builder.add(callpath, time, point, run.noisy[i]);
        }
        times::copy_effort(&mut builder, &seen.experiment, subject, is_run);
    }
    builder.finish()
}

/// What advice is asked for.
fn asked(plan: &Plan, budget: Option<f64>) -> AdviseOptions {
    let ranks = plan.ranks();
    let down_to = |l| plan.fewest_ranks.filter(|_| Some(l) == ranks).map_or(f64::INFINITY, f64::from);
    AdviseOptions {
        target: plan.test(),
        ranks,
        budget,
        level: 0.9,
        tolerance: TOLERANCE,
        steps: STEPS,
        each: true,
        down_to: (0..plan.spec.parameters.len()).map(down_to).collect(),
    }
}

/// The way of a user who follows the advice.
struct Work<'a> {
    plan: &'a Plan,
    launcher: &'a Launcher,
    folder: &'a Path,
    subjects: &'a [Subject<'a>],
    progress: &'a Progress,
    seen: Seen,
}

impl Work<'_> {
    /// The runs of the first design, and those with what the advice added for at most `budget` core-hours.
    fn follow(
        &mut self,
        design: &[Vec<f64>],
        noise: (Pattern, u32),
        budget: f64,
        random: &mut StdRng,
    ) -> Result<(Vec<Run>, Vec<Run>)> {
        let mut runs = self.make(design, &[], noise, random)?;
        let first = runs.clone();
        loop {
            interrupt::check()?;
            let experiment = experiment(self.subjects, &runs, &self.seen);
            let options = asked(self.plan, Some(budget - self.core_hours(&runs)));
            let Some(advice) = advise(&experiment, &fit(&experiment, &self.options()), &options) else { break };
            let end = advice.end;
            let steps: Vec<Vec<f64>> = advice.steps.into_iter().map(|step| step.at).collect();
            let made = self.make(&steps, &runs, noise, random)?;
            let known = runs.len();
            for run in made {
                runs.push(run);
                // A run may cost more than was predicted: it is made and paid for, and the last one.
                if self.core_hours(&runs) >= budget {
                    return Ok((first, runs));
                }
            }
            if runs.len() == known || end == End::NothingHelps {
                break;
            }
        }
        Ok((first, runs))
    }

    /// Runs at these points, further repetitions where `before` has some already; what was not measured yet is.
    fn make(
        &mut self,
        points: &[Vec<f64>],
        before: &[Run],
        noise: (Pattern, u32),
        random: &mut StdRng,
    ) -> Result<Vec<Run>> {
        let is_simulated = self.plan.executor == Executor::Smpi;
        let times_before = |i: usize| {
            let earlier = before.iter().map(|run| &run.at).chain(&points[..i]).filter(|at| **at == points[i]).count();
            // What is simulated is the same in every run.
            if is_simulated { 0 } else { earlier }
        };
        let repetitions: Vec<usize> = (0..points.len()).map(times_before).collect();
        let is_missing = |(at, repetition): &(&Vec<f64>, &usize)| {
            self.seen.runs(at).is_none_or(|(measured, _)| measured <= **repetition)
        };
        let missing: Vec<(Vec<f64>, u32)> = points
            .iter()
            .zip(&repetitions)
            .filter(is_missing)
            .map(|(at, repetition)| (at.clone(), *repetition as u32 + 1))
            .collect();
        if !missing.is_empty() {
            let measured = execute::more(self.plan, self.launcher, self.folder, &missing, self.progress)?;
            self.seen = Seen::of(self.plan, measured, self.subjects)?;
        }
        let both = points.iter().zip(repetitions);
        both.map(|(at, repetition)| self.disturbed(&self.seen, at, repetition, noise, random)).collect()
    }

    /// A run that was measured, with a draw of the noise.
    ///
    /// # Errors
    /// It was not measured, which is a defect: what is missing stands for nothing else.
    fn disturbed(
        &self,
        seen: &Seen,
        at: &[f64],
        repetition: usize,
        (pattern, level): (Pattern, u32),
        random: &mut StdRng,
    ) -> Result<Run> {
        let is_simulated = self.plan.executor == Executor::Smpi;
        let point = seen.runs(at).filter(|(measured, _)| *measured > repetition).map(|(_, point)| point);
        let point = point.ok_or_else(|| {
            Error::Defect(format!("There is no run {} of the point {at:?}, which was to be measured.", repetition + 1))
        })?;
        let mut background = |seconds: f64| {
            let z: f64 = if is_simulated { StandardNormal.sample(random) } else { 0.0 };
            seconds * (1.0 + BACKGROUND * z).max(0.1)
        };
        let seconds: Vec<f64> = seen.times.iter().map(|times| background(times.0[point][repetition])).collect();
        let noisy = Times(vec![seconds.clone()]).disturbed(pattern, level, random).0.remove(0);
        Ok(Run { at: at.to_vec(), seconds, noisy })
    }

    /// What runs cost: the program's time without artificial noise, times its ranks.
    fn core_hours(&self, runs: &[Run]) -> f64 {
        let ranks = self.plan.ranks();
        let cores = |run: &Run| ranks.map_or(1.0, |l| run.at[l]);
        runs.iter().map(|run| run.seconds.iter().sum::<f64>() * cores(run) / 3600.0).sum()
    }

    fn options(&self) -> modeler::Options {
        super::options(&self.plan.spec, self.plan.seed)
    }

    /// Adds the errors of the models of these runs; `grid` is what the full grid cost.
    fn score(&self, runs: &[Run], seen: &Seen, grid: f64, tally: &mut Tally) {
        let experiment = experiment(self.subjects, runs, seen);
        let fits = fit(&experiment, &self.options());
        let test = self.plan.test();
        let predicted = |subject: &Subject| {
            let id = find(&experiment, &subject.truth.callpath);
            let is_time =
                |m: &&modeler::Model| Some(m.callpath) == id && experiment.metrics[m.metric as usize].name == "time";
            // What has no model is predicted to take no time.
            fits.models.iter().find(is_time).map_or(0.0, |model| model.predict(&test, 0.9).value)
        };
        let both: Vec<(f64, f64)> = self.subjects.iter().map(|s| (predicted(s), s.unseen)).collect();
        let deviation = |predicted: f64, unseen: f64| 100.0 * (predicted / unseen - 1.0);
        let [all, unseen] = [both.iter().map(|b| b.0).sum(), both.iter().map(|b| b.1).sum()];
        tally.whole.push(deviation(all, unseen).abs());
        tally.paths.push(both.iter().filter(|b| b.1 > 0.0).map(|b| deviation(b.0, b.1)).collect());
        tally.runs.push(runs.len() as f64);
        tally.cost.push(100.0 * self.core_hours(runs) / grid);
    }
}

/// Errors in percent, numbers of runs, and costs in percent of the full grid's, by draw.
#[derive(Default)]
struct Tally {
    whole: Vec<f64>,
    /// Of each call path, with its sign.
    paths: Vec<Vec<f64>>,
    runs: Vec<f64>,
    cost: Vec<f64>,
}

impl Tally {
    fn line(&self, noise: (Pattern, u32), choice: Choice, draws: u32, timed: &[&[String]], grid: &Self) -> Line {
        let errors = |values: &[f64]| Errors { mean: mean(values), median: median(values) };
        let of_paths = |tally: &Self| -> Vec<f64> { tally.paths.iter().map(|path| mean(&sizes(path))).collect() };
        let each = timed.iter().enumerate().map(|(i, callpath)| {
            let [here, there] = [self, grid].map(|tally| tally.paths.iter().map(|path| path[i]).collect::<Vec<f64>>());
            OfCallPath {
                callpath: callpath.to_vec(),
                error: mean(&sizes(&here)),
                bias: mean(&here),
                excess: Excess::of(&sizes(&here), &sizes(&there)),
            }
        });
        Line {
            each: each.collect(),
            noise,
            choice,
            draws,
            runs: mean(&self.runs),
            core_hours_percent: mean(&self.cost),
            whole_program: errors(&self.whole),
            call_paths: errors(&sizes(&self.paths.concat())),
            whole_program_excess: Excess::of(&self.whole, &grid.whole),
            call_paths_excess: Excess::of(&of_paths(self), &of_paths(grid)),
        }
    }
}

impl Excess {
    /// Whether it is farther from 0 than two standard errors, which of six draws is chance once in ten; `false` of a single draw.
    pub fn is_clear(&self) -> bool {
        self.standard_error.is_some_and(|error| self.mean.abs() > 2.0 * error)
    }

    /// Of these errors over those, draw by draw.
    fn of(errors: &[f64], grid: &[f64]) -> Self {
        let differences: Vec<f64> = errors.iter().zip(grid).map(|(error, of_grid)| error - of_grid).collect();
        let (centre, count) = (mean(&differences), differences.len() as f64);
        let squares: f64 = differences.iter().map(|difference| (difference - centre).powi(2)).sum();
        let standard_error = (count > 1.0).then(|| (squares / (count - 1.0) / count).sqrt());
        Self { mean: centre, standard_error }
    }
}

/// Without their signs.
fn sizes(deviations: &[f64]) -> Vec<f64> {
    deviations.iter().map(|d| d.abs()).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_path_has_its_error_and_the_side_to_which_it_is_off() {
        let paths = [vec!["main".to_owned(), "solve".to_owned()], vec!["main".to_owned(), "MPI_Bcast".to_owned()]];
        let timed: Vec<&[String]> = paths.iter().map(Vec::as_slice).collect();
        let tally = |paths: [[f64; 2]; 2]| {
            let [whole, cost, runs] = [0; 3].map(|_| vec![0.0; 2]);
            Tally { whole, paths: paths.map(Vec::from).to_vec(), runs, cost }
        };
        // Two draws of two call paths: the first errs to both sides, the second always to one.
        let (grid, advised) = (tally([[1.0, 9.0], [-3.0, 11.0]]), tally([[-2.0, 14.0], [4.0, 18.0]]));
        let line = advised.line((Pattern::None, 0), Choice::Advised, 2, &timed, &grid);
        let numbers: Vec<[f64; 4]> =
            line.each.iter().map(|e| [e.error, e.bias, e.excess.mean, e.excess.standard_error.unwrap()]).collect();
        assert_eq!(numbers, [[3.0, 1.0, 1.0, 0.0], [16.0, 2.0 * 8.0, 6.0, 1.0]]);
        assert_eq!(line.each[1].callpath, paths[1]);
        assert!(line.each.iter().all(|e| e.excess.is_clear()));
        let excess = |mean: f64| Excess { mean, standard_error: Some(1.5) };
        assert_eq!([3.1, 2.9, -3.1].map(|mean| excess(mean).is_clear()), [true, false, true]);
        assert_eq!((line.call_paths.mean, line.call_paths_excess.mean), (9.5, 3.5));
    }

    #[test]
    fn advice_is_asked_for_runs_as_small_as_the_command_line_says() {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            arguments: crate::cli::ValidateArgs,
        }
        let asked = |more: &[&str]| {
            let line = ["", "--quick", "--smpi", "--advised", "-o", "folder"].iter().chain(more);
            let arguments = <Line as clap::Parser>::parse_from(line).arguments;
            super::asked(&Plan::new(&arguments).unwrap(), Some(2.0))
        };
        let by_default = asked(&[]);
        assert_eq!(by_default.target, [256.0, 48_000.0]);
        assert_eq!((by_default.ranks, by_default.budget), (Some(0), Some(2.0)));
        assert_eq!(by_default.down_to, [f64::INFINITY; 2]);
        assert_eq!(asked(&["--fewest-ranks", "4"]).down_to, [4.0, f64::INFINITY]);
    }

    #[test]
    fn errors_exceed_the_grids_draw_by_draw() {
        // Differences 1, 2 and 6: their mean is 3, their variance (4 + 1 + 9) / 2 = 7.
        let excess = Excess::of(&[3.0, 5.0, 7.0], &[2.0, 3.0, 1.0]);
        assert!((excess.mean - 3.0).abs() < 1e-12);
        assert!((excess.standard_error.unwrap() - (7.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        let single = Excess::of(&[3.0], &[2.0]);
        assert!((single.mean - 1.0).abs() < 1e-12 && single.standard_error.is_none());
    }
}
