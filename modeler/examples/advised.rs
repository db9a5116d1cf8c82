//! How accurate models are that come of advised points, beside those of the full grid: `cargo run --release -p modeler
//! --example advised [programs [seed [each|whole [first]]]]`; `first` is the number of the first program, 0 by default.
//!
//! A program has three computations and three MPI operations of `programs`. The full grid measures 25 points once. The
//! advised way measures the first design, then follows the advice in rounds of twelve runs, refitting after each, until it
//! says enough, nothing helps any more or half the grid's core-hours are spent. The advice is for call paths, each alike,
//! or for the whole program. `poise bench validate --advised` does the same with programs that it compiles and runs.
//!
//! Beside the errors stands by how much those of advised points differ from those of the full grid, program by program,
//! with the standard error of that mean: what is within two of them may be chance.

#[path = "programs/mod.rs"]
mod programs;

use modeler::advise::{AdviseOptions, End, advise, first_design};
use modeler::experiment::{ExperimentBuilder, Metric};
use modeler::{Experiment, Options, fit};
use programs::{N, P, Pattern, Program, TEST, communication, computation, measured};
use rand::{SeedableRng, rngs::StdRng};

/// The measurements of one run: point, then one time per call path.
type Run = ([f64; 2], Vec<f64>);

fn run(rng: &mut StdRng, program: &[Program], x: [f64; 2], pattern: Pattern, level: f64) -> Run {
    (x, program.iter().map(|path| measured(rng, (path.seconds)(&x), pattern, level, 1.0)).collect())
}

fn experiment(program: &[Program], runs: &[Run]) -> Experiment {
    let mut builder = ExperimentBuilder::new(["p", "n"]);
    let metric = |name: &str, unit: &str| Metric { name: name.into(), unit: unit.into(), over_ranks: None };
    let time = builder.metric(metric("time", "s"));
    for (i, path) in program.iter().enumerate() {
        let callpath = builder.callpath(["main", &format!("part{i}"), path.path]);
        for (x, times) in runs {
            let point = builder.point(x);
            builder.add(callpath, time, point, times[i]);
            for (name, count) in &path.counts {
                let id = builder.metric(metric(name, ""));
                builder.add(callpath, id, point, count(x));
            }
        }
    }
    builder.finish()
}

fn truth(program: &[Program], x: &[f64; 2]) -> f64 {
    program.iter().map(|path| (path.seconds)(x)).sum()
}

fn core_hours(program: &[Program], runs: &[Run]) -> f64 {
    runs.iter().map(|(x, _)| truth(program, x) * x[0] / 3600.0).sum()
}

/// Relative error of the predicted time of the whole program at the test point, and of each call path.
fn errors(program: &[Program], runs: &[Run]) -> (f64, Vec<f64>) {
    let experiment = experiment(program, runs);
    let fits = fit(&experiment, &Options::default());
    let times = fits.models.iter().filter(|m| experiment.metrics[m.metric as usize].name == "time");
    let values: Vec<f64> = times.map(|m| m.predict(&TEST, 0.9).value).collect();
    let paths = values.iter().zip(program).map(|(v, path)| (v / (path.seconds)(&TEST) - 1.0).abs()).collect();
    ((values.iter().sum::<f64>() / truth(program, &TEST) - 1.0).abs(), paths)
}

/// Runs in a round, as many as `poise advise` lists.
const IN_ROUND: usize = 12;

/// Follows the advice from the first design on.
fn advised(rng: &mut StdRng, program: &[Program], pattern: Pattern, level: f64, budget: f64, each: bool) -> Vec<Run> {
    let mut at = |x: &[f64]| run(rng, program, [x[0], x[1]], pattern, level);
    let mut runs: Vec<Run> = first_design(&[P.to_vec(), N.to_vec()]).iter().map(|x| at(x)).collect();
    loop {
        let left = budget - core_hours(program, &runs);
        let experiment = experiment(program, &runs);
        let fits = fit(&experiment, &Options::default());
        let options = AdviseOptions {
            target: TEST.to_vec(),
            ranks: Some(0),
            budget: Some(left),
            level: 0.9,
            tolerance: 0.01,
            steps: IN_ROUND,
            each,
            down_to: Vec::new(),
        };
        let Some(advice) = advise(&experiment, &fits, &options) else { break };
        if advice.steps.is_empty() {
            break;
        }
        for step in advice.steps {
            runs.push(at(&step.at));
            // A run may cost more than was predicted: it is made and paid for, and the last one.
            if core_hours(program, &runs) >= budget {
                return runs;
            }
        }
        if advice.end == End::NothingHelps {
            break;
        }
    }
    runs
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Of paired errors, one of each way for each program: by how much the second are larger in the mean, the standard error
/// of that, and in how many programs they are smaller.
fn difference(first: &[f64], second: &[f64]) -> (f64, f64, usize) {
    let differences: Vec<f64> = first.iter().zip(second).map(|(a, b)| b - a).collect();
    let centre = mean(&differences);
    let squares: f64 = differences.iter().map(|d| (d - centre).powi(2)).sum();
    let count = differences.len() as f64;
    (centre, (squares / (count - 1.0) / count).sqrt(), differences.iter().filter(|d| **d < 0.0).count())
}

/// One way of choosing points.
#[derive(Default)]
struct Tally {
    whole: Vec<f64>,
    paths: Vec<f64>,
    /// The mean over the call paths of each program, whose errors share its points and are not independent.
    means: Vec<f64>,
    cost: Vec<f64>,
    runs: Vec<f64>,
}

impl Tally {
    fn add(&mut self, program: &[Program], runs: &[Run], grid: f64) {
        let (whole, paths) = errors(program, runs);
        self.whole.push(whole);
        self.means.push(mean(&paths));
        self.paths.extend(paths);
        self.cost.push(core_hours(program, runs) / grid);
        self.runs.push(runs.len() as f64);
    }

    fn text(&self) -> String {
        let percent =
            [mean(&self.whole), median(&self.whole), mean(&self.paths), median(&self.paths), mean(&self.cost)];
        let shown: String = percent.iter().map(|v| format!("{:>8.2}", 100.0 * v)).collect();
        format!("{shown}{:>7.1}", mean(&self.runs))
    }
}

fn main() {
    let count: usize = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(50);
    let seed: u64 = std::env::args().nth(2).and_then(|a| a.parse().ok()).unwrap_or(1);
    let each = std::env::args().nth(3).is_none_or(|goal| goal != "whole");
    let begin: u64 = std::env::args().nth(4).and_then(|a| a.parse().ok()).unwrap_or(0);
    println!("error at p = 4096, n = 48000 in %: of the whole program (mean, median), of call paths (mean, median);");
    println!(
        "core-hours in % of the full grid's; runs. First the full grid, then the first design alone, then advised"
    );
    let cases = [(Pattern::None, 0.0), (Pattern::Uniform, 0.1), (Pattern::Uniform, 0.5), (Pattern::Exponential, 0.5)];
    for (pattern, level) in cases {
        let mut tallies = [Tally::default(), Tally::default(), Tally::default()];
        for number in begin..begin + count as u64 {
            // The same programs whatever was measured of those before.
            let rng = &mut StdRng::seed_from_u64(seed << 32 | number);
            let draw = |i| if i < 3 { computation } else { communication };
            let program: Vec<Program> = (0..6).map(|i| draw(i)(rng)).collect();
            let grid: Vec<Run> =
                P.iter().flat_map(|&p| N.map(|n| [p, n])).map(|x| run(rng, &program, x, pattern, level)).collect();
            let cost = core_hours(&program, &grid);
            let design = first_design(&[P.to_vec(), N.to_vec()]);
            let first: Vec<Run> = design.iter().map(|x| run(rng, &program, [x[0], x[1]], pattern, level)).collect();
            let followed = advised(rng, &program, pattern, level, 0.5 * cost, each);
            for (tally, runs) in tallies.iter_mut().zip([&grid, &first, &followed]) {
                tally.add(&program, runs, cost);
            }
        }
        println!("{:<14}{level:>4} |{}", format!("{pattern:?}"), tallies.each_ref().map(Tally::text).join(" |"));
        let [grid, _, followed] = &tallies;
        let pairs = [("whole program", &grid.whole, &followed.whole), ("call paths", &grid.means, &followed.means)];
        // One program has no spread.
        for (of, full, advised) in pairs.into_iter().filter(|_| count > 1) {
            let (more, error, better) = difference(full, advised);
            let [more, error] = [more, error].map(|v| 100.0 * v);
            println!("    {of}: advised less full grid {more:+.2} ± {error:.2} points, lower in {better} of {count}");
        }
    }
}
