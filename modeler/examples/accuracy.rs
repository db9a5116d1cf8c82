//! How accurate the models of known synthetic programs are: `cargo run --release -p modeler --example
//! accuracy [functions [seed [verbose]]]`. What is drawn and measured is in `programs`.

#[path = "programs/mod.rs"]
mod programs;

use modeler::experiment::{ExperimentBuilder, Metric};
use modeler::{Experiment, Fits, MethodChoice, Model, Options, fit};
use programs::{N, P, Pattern, Program, TEST, communication, computation, measured, model_growth};
use rand::{SeedableRng, rngs::StdRng};

/// One experiment with every program as a call path `main -> program -> path`.
fn experiment(rng: &mut StdRng, programs: &[Program], pattern: Pattern, level: f64) -> Experiment {
    let mut builder = ExperimentBuilder::new(["p", "n"]);
    let metric = |name: &str, unit: &str| Metric { name: name.into(), unit: unit.into(), over_ranks: None };
    let time = builder.metric(metric("time", "s"));
    for (i, program) in programs.iter().enumerate() {
        let callpath = builder.callpath(["main", &format!("program{i}"), program.path]);
        for x in P.iter().flat_map(|&p| N.map(|n| [p, n])) {
            let point = builder.point(&x);
            for (name, count) in &program.counts {
                let id = builder.metric(metric(name, ""));
                builder.add(callpath, id, point, count(&x));
            }
            builder.add(callpath, time, point, measured(rng, (program.seconds)(&x), pattern, level));
        }
    }
    builder.finish()
}

/// What one way of modelling gave for many programs.
#[derive(Default)]
struct Tally {
    growth: f64,
    errors: Vec<f64>,
    covered: f64,
}

impl Tally {
    fn judge(&mut self, model: &Model, growth: &Model, program: &Program, held_out: f64) {
        let prediction = model.predict(&TEST, 0.9);
        self.errors.push((prediction.value / (program.seconds)(&TEST) - 1.0).abs());
        self.covered += f64::from(u8::from((prediction.lower..=prediction.upper).contains(&held_out)));
        self.growth += f64::from(u8::from(model_growth(growth) == program.growth));
    }

    fn print(&self) {
        let n = self.errors.len() as f64;
        let shares = [100.0 * self.growth / n, mean(&self.errors), median(&self.errors), 100.0 * self.covered / n];
        shares.iter().for_each(|s| print!("{s:>9.2}"));
    }
}

/// The models of metric `name`, one per program, in the programs' order.
fn models<'a>(fits: &'a Fits, experiment: &Experiment, name: &str) -> Vec<&'a Model> {
    fits.models.iter().filter(|m| experiment.metrics[m.metric as usize].name == name).collect()
}

/// Tallies of the models that effort shaped and of those from time alone.
fn run(programs: &[Program], pattern: Pattern, level: f64, seed: u64, verbose: bool) -> [Tally; 2] {
    let rng = &mut StdRng::seed_from_u64(seed + 1);
    let experiment = experiment(rng, programs, pattern, level);
    let by_effort = fit(&experiment, &Options::default());
    let by_time = fit(&experiment, &Options { method: MethodChoice::Time, ..Options::default() });
    let efforts = models(&by_effort, &experiment, programs[0].counts[0].0);
    let (ours, alone) = (models(&by_effort, &experiment, "time"), models(&by_time, &experiment, "time"));
    let mut tallies = [Tally::default(), Tally::default()];
    for (i, program) in programs.iter().enumerate() {
        let held_out = measured(rng, (program.seconds)(&TEST), pattern, level);
        tallies[0].judge(ours[i], efforts[i], program, held_out);
        tallies[1].judge(alone[i], alone[i], program, held_out);
        let text = |m: &Model| m.expression(&experiment.parameters);
        if verbose && model_growth(efforts[i]) != program.growth {
            println!("  want {:?} ({}): {}", program.growth, program.text, text(efforts[i]));
        }
        if verbose && tallies[0].errors[i] > 0.05 {
            println!("  off by {:.3}: {} | {}", tallies[0].errors[i], text(ours[i]), text(efforts[i]));
        }
    }
    tallies
}

fn mean(values: &[f64]) -> f64 {
    100.0 * values.iter().sum::<f64>() / values.len() as f64
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    100.0 * sorted[sorted.len() / 2]
}

fn main() {
    let functions: usize = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(200);
    let seed: u64 = std::env::args().nth(2).and_then(|a| a.parse().ok()).unwrap_or(1);
    let verbose = std::env::args().nth(3).is_some();
    println!("growth: leading exponents right, in %; mean, median: relative error at the test point, in %;");
    println!("inside: new measurements inside the 90 % interval, in %; first with effort, then from time alone");
    let columns = ["growth", "mean", "median", "inside"].map(|c| format!("{c:>9}")).concat();
    println!("{:<14}{:<12}{:>5} {columns} |{columns}", "kind", "noise", "level");
    for (kind, draw) in [("computation", computation as fn(&mut StdRng) -> Program), ("communication", communication)] {
        let rng = &mut StdRng::seed_from_u64(seed);
        let programs: Vec<Program> = (0..functions).map(|_| draw(rng)).collect();
        let mut cases = vec![(Pattern::None, 0.0)];
        for level in [0.1, 0.5, 0.75] {
            cases.extend([Pattern::Uniform, Pattern::Normal, Pattern::Exponential].map(|p| (p, level)));
        }
        for (pattern, level) in cases {
            let [ours, alone] = run(&programs, pattern, level, seed, verbose && level == 0.0);
            print!("{kind:<14}{:<12}{level:>5} ", format!("{pattern:?}"));
            ours.print();
            print!(" |");
            alone.print();
            println!();
        }
    }
}
