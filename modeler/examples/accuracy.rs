//! How accurate the models of known synthetic programs are: `cargo run --release -p modeler --example
//! accuracy [functions [seed [effort] [alone] [disturbed=SHARE] [verbose]]]`. What is drawn and measured is in `programs`.
//!
//! `effort` leaves out the models from time alone; `alone` makes an experiment of each function, which then has
//! no others to learn the noise from; `disturbed=0.5` disturbs a random half of the measurements in place of
//! all; `verbose` shows each miss.

#[path = "programs/mod.rs"]
mod programs;

use modeler::experiment::{ExperimentBuilder, Metric};
use modeler::{Experiment, Fits, MethodChoice, Model, Options, fit};
use programs::{N, P, Pattern, Program, TEST, communication, computation, measured, model_growth};
use rand::{SeedableRng, rngs::StdRng};

/// The artificial noise of measurements.
#[derive(Clone, Copy, Debug)]
struct Noise {
    pattern: Pattern,
    level: f64,
    /// Share of the measurements that have it.
    disturbed: f64,
}

/// One experiment with every program as a call path `main -> program -> path`.
fn experiment(rng: &mut StdRng, programs: &[Program], noise: Noise) -> Experiment {
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
            builder.add(
                callpath,
                time,
                point,
                measured(rng, (program.seconds)(&x), noise.pattern, noise.level, noise.disturbed),
            );
        }
    }
    builder.finish()
}

/// What one way of modelling gave for many programs.
#[derive(Default)]
struct Tally {
    growth: f64,
    /// Relative to the undisturbed time.
    errors: Vec<f64>,
    /// Relative to a measurement with background noise.
    measured_errors: Vec<f64>,
    /// New measurements with all noise inside the interval.
    covered: f64,
    /// New measurements with background noise inside the interval.
    quiet_covered: f64,
    /// New measurements with all noise above the interval.
    above: f64,
}

impl Tally {
    /// `held_out` are new measurements with all noise and with background noise.
    fn judge(&mut self, model: &Model, growth: &Model, program: &Program, held_out: [f64; 2]) {
        let prediction = model.predict(&TEST, 0.9);
        let inside = |y: f64| f64::from(u8::from((prediction.lower..=prediction.upper).contains(&y)));
        self.errors.push((prediction.value / (program.seconds)(&TEST) - 1.0).abs());
        self.measured_errors.push((prediction.value / held_out[1] - 1.0).abs());
        self.covered += inside(held_out[0]);
        self.quiet_covered += inside(held_out[1]);
        self.above += f64::from(u8::from(held_out[0] > prediction.upper));
        self.growth += f64::from(u8::from(model_growth(growth) == program.growth));
    }

    fn print(&self) {
        let n = self.errors.len() as f64;
        let errors = [mean(&self.errors), median(&self.errors), mean(&self.measured_errors)];
        print!("{:>8.2}", 100.0 * self.growth / n);
        errors.iter().for_each(|e| print!("{e:>8.2}"));
        [self.covered, self.quiet_covered, self.above].iter().for_each(|c| print!("{:>8.2}", 100.0 * c / n));
    }
}

/// The models of metric `name`, one per program, in the programs' order.
fn models<'a>(fits: &'a Fits, experiment: &Experiment, name: &str) -> Vec<&'a Model> {
    fits.models.iter().filter(|m| experiment.metrics[m.metric as usize].name == name).collect()
}

/// What of the measurement was asked for.
#[derive(Clone, Copy, Debug)]
struct Choice {
    effort_only: bool,
    alone: bool,
    verbose: bool,
}

/// Tallies of the models that effort shaped and of those from time alone.
fn run(programs: &[Program], noise: Noise, seed: u64, choice: Choice) -> [Tally; 2] {
    let rng = &mut StdRng::seed_from_u64(seed + 1);
    let mut tallies = [Tally::default(), Tally::default()];
    let size = if choice.alone { 1 } else { programs.len() };
    for programs in programs.chunks(size) {
        run_one(rng, programs, noise, choice, &mut tallies);
    }
    tallies
}

/// The same for one experiment.
fn run_one(rng: &mut StdRng, programs: &[Program], noise: Noise, choice: Choice, tallies: &mut [Tally; 2]) {
    let experiment = experiment(rng, programs, noise);
    let by_effort = fit(&experiment, &Options::default());
    let efforts = models(&by_effort, &experiment, programs[0].counts[0].0);
    let ours = models(&by_effort, &experiment, "time");
    let by_time =
        (!choice.effort_only).then(|| fit(&experiment, &Options { method: MethodChoice::Time, ..Options::default() }));
    let alone = by_time.as_ref().map(|fits| models(fits, &experiment, "time"));
    for (i, program) in programs.iter().enumerate() {
        let truth = (program.seconds)(&TEST);
        let held_out = [
            measured(rng, truth, noise.pattern, noise.level, noise.disturbed),
            measured(rng, truth, Pattern::None, 0.0, 1.0),
        ];
        tallies[0].judge(ours[i], efforts[i], program, held_out);
        if let Some(alone) = &alone {
            tallies[1].judge(alone[i], alone[i], program, held_out);
        }
        let text = |m: &Model| m.expression(&experiment.parameters);
        if choice.verbose && model_growth(efforts[i]) != program.growth {
            println!("  want {:?} ({}): {}", program.growth, program.text, text(efforts[i]));
        }
        let error = ours[i].at(&TEST) / truth - 1.0;
        if choice.verbose && error.abs() > 0.05 {
            println!("  off by {error:.3}: {} | {}", text(ours[i]), text(efforts[i]));
        }
    }
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
    let asked = |word: &str| std::env::args().skip(3).any(|a| a == word);
    let share = std::env::args().find_map(|a| a.strip_prefix("disturbed=").map(str::to_owned));
    let disturbed = share.map_or(1.0, |text| match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => share,
        _ => panic!("disturbed={text} is no share from 0 to 1"),
    });
    let choice = Choice { effort_only: asked("effort"), alone: asked("alone"), verbose: asked("verbose") };
    println!(
        "growth: leading exponents right, in %; mean, median: error relative to the undisturbed time at the test point,"
    );
    println!(
        "in %; meas.: mean error relative to a measurement there with background noise; inside, quiet: measurements"
    );
    println!(
        "there with all noise and with background noise inside the 90 % interval, and with all noise above it, in %"
    );
    println!("first with effort, then from time alone");
    let columns = ["growth", "mean", "median", "meas.", "inside", "quiet", "above"].map(|c| format!("{c:>8}")).concat();
    println!("{:<14}{:<12}{:>5} {columns} |{columns}", "kind", "noise", "level");
    for (kind, draw) in [("computation", computation as fn(&mut StdRng) -> Program), ("communication", communication)] {
        let rng = &mut StdRng::seed_from_u64(seed);
        let programs: Vec<Program> = (0..functions).map(|_| draw(rng)).collect();
        let mut cases = vec![(Pattern::None, 0.0)];
        for level in [0.1, 0.5, 0.75] {
            cases.extend([Pattern::Uniform, Pattern::Normal, Pattern::Exponential].map(|p| (p, level)));
        }
        cases.extend([0.1, 0.5, 0.75].map(|level| (Pattern::Poisson, level)));
        for (pattern, level) in cases {
            let verbose = choice.verbose && level == 0.0;
            let [ours, alone] = run(&programs, Noise { pattern, level, disturbed }, seed, Choice { verbose, ..choice });
            print!("{kind:<14}{:<12}{level:>5} ", format!("{pattern:?}"));
            ours.print();
            print!(" |");
            if !choice.effort_only {
                alone.print();
            }
            println!();
        }
    }
}
