//! How accurate the models of known synthetic programs are: `cargo run --release -p modeler --example
//! accuracy [functions [seed [verbose]]]`.
//!
//! Programs are drawn as the seed paper's generator draws them: one to three kernels of one or two nested loops whose
//! bounds are `floor(x^i)` or `floor(log2(x)^j)` of the ranks p or the size n, and one MPI operation whose message has
//! such a size. They are measured once at p 128..2048 and n 8000..40000 with 3 % background noise and the paper's
//! artificial noise, and predicted at p = 4096 and n = 48000.

use modeler::experiment::{ExperimentBuilder, Metric};
use modeler::model::Exponent;
use modeler::{Experiment, ExponentSets, Fits, MethodChoice, Model, Options, fit};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use rand_distr::{Distribution, Exp1, StandardNormal};

const P: [f64; 5] = [128.0, 256.0, 512.0, 1024.0, 2048.0];
const N: [f64; 5] = [8000.0, 16000.0, 24000.0, 32000.0, 40000.0];
const TEST: [f64; 2] = [4096.0, 48000.0];
const BACKGROUND: f64 = 0.03;
/// No program counts more than this at the test point.
const MOST_BLOCKS: f64 = 1e13;

/// A loop bound `floor(x^exponent)` or `floor(log2(x)^log)`.
#[derive(Clone, Copy, Debug)]
struct Bound {
    parameter: usize,
    exponent: Exponent,
    log: i32,
}

impl Bound {
    fn draw(rng: &mut StdRng) -> Self {
        let parameter = rng.random_range(0..2);
        if rng.random_range(0..4) == 0 {
            return Self { parameter, exponent: Exponent::from_integer(0), log: rng.random_range(1..3) };
        }
        let exponents = ExponentSets::default().exponents;
        Self { parameter, exponent: exponents[rng.random_range(1..exponents.len())], log: 0 }
    }

    fn power(&self) -> f64 {
        f64::from(*self.exponent.numer()) / f64::from(*self.exponent.denom())
    }

    fn smooth(&self, x: &[f64]) -> f64 {
        x[self.parameter].powf(self.power()) * x[self.parameter].log2().powi(self.log)
    }

    fn trips(&self, x: &[f64]) -> f64 {
        (self.smooth(x) * (1.0 + 1e-12)).floor()
    }
}

/// Nested loops; `blocks[d]` basic blocks at depth d.
#[derive(Clone, Debug)]
struct Kernel {
    bounds: Vec<Bound>,
    blocks: Vec<f64>,
    seconds_per_block: f64,
}

impl Kernel {
    fn draw(rng: &mut StdRng) -> Self {
        let depth = rng.random_range(1..3);
        Self {
            bounds: (0..depth).map(|_| Bound::draw(rng)).collect(),
            blocks: (0..=depth).map(|_| f64::from(rng.random_range(1..8))).collect(),
            seconds_per_block: 1e-9 * rng.random_range(0.5..2.0),
        }
    }

    /// Coefficient and bounds of each term.
    fn terms(&self) -> impl Iterator<Item = (f64, &[Bound])> {
        (0..self.blocks.len()).map(|d| (self.blocks[d], &self.bounds[..d]))
    }

    fn count(&self, x: &[f64]) -> f64 {
        self.terms().map(|(c, bounds)| c * bounds.iter().map(|b| b.trips(x)).product::<f64>()).sum()
    }
}

/// Leading exponents of p and n over the terms of at least 1 % at the test point.
fn leading(terms: &[(f64, [Exponent; 2])]) -> [Exponent; 2] {
    let total: f64 = terms.iter().map(|t| t.0).sum();
    let zero = Exponent::from_integer(0);
    let in_parameter = |l: usize| {
        let matter = terms.iter().filter(|t| t.0.abs() >= 0.01 * total.abs());
        matter.map(|t| t.1[l]).max().unwrap_or(zero)
    };
    [in_parameter(0), in_parameter(1)]
}

fn model_growth(model: &Model) -> [Exponent; 2] {
    let exponent = |t: &modeler::model::Term, l: usize| {
        t.factors.iter().find(|f| f.parameter == l).map_or(Exponent::from_integer(0), |f| f.exponent)
    };
    let mut terms: Vec<_> = model.terms.iter().map(|t| (t.at(&TEST), [exponent(t, 0), exponent(t, 1)])).collect();
    terms.push((model.constant, [Exponent::from_integer(0); 2]));
    leading(&terms)
}

/// A function of the point p, n.
type Function = Box<dyn Fn(&[f64]) -> f64>;

/// A program with its truth: effort counts, seconds and growth.
struct Program {
    path: &'static str,
    counts: Vec<(&'static str, Function)>,
    seconds: Function,
    /// Growth of the first count.
    growth: [Exponent; 2],
    text: String,
}

fn bounds_growth(bounds: &[Bound]) -> [Exponent; 2] {
    let of = |l: usize| bounds.iter().filter(|b| b.parameter == l).map(|b| b.exponent).sum();
    [of(0), of(1)]
}

fn computation(rng: &mut StdRng) -> Program {
    loop {
        let kernels: Vec<Kernel> = (0..rng.random_range(1..4)).map(|_| Kernel::draw(rng)).collect();
        let smooth = |bounds: &[Bound]| bounds.iter().map(|b| b.smooth(&TEST)).product::<f64>();
        let terms: Vec<_> =
            kernels.iter().flat_map(Kernel::terms).map(|(c, b)| (c * smooth(b), bounds_growth(b))).collect();
        let growth = leading(&terms);
        // Powers beyond the exponent sets cannot be named by anyone.
        let sets = ExponentSets::default();
        let nameable = terms.iter().all(|t| t.1.iter().all(|e| sets.exponents.contains(e)));
        if terms.iter().map(|t| t.0).sum::<f64>() > MOST_BLOCKS || !nameable {
            continue;
        }
        let text = format!("{:?}", terms.iter().map(|t| (t.0, t.1.map(|e| e.to_string()))).collect::<Vec<_>>());
        let (a, b) = (kernels.clone(), kernels);
        return Program {
            path: "solve",
            counts: vec![("basic_blocks", Box::new(move |x| a.iter().map(|k| k.count(x)).sum()))],
            seconds: Box::new(move |x| b.iter().map(|k| k.seconds_per_block * k.count(x)).sum()),
            growth,
            text,
        };
    }
}

fn communication(rng: &mut StdRng) -> Program {
    let operations =
        ["MPI_Send", "MPI_Bcast", "MPI_Scatter", "MPI_Gather", "MPI_Allgather", "MPI_Reduce", "MPI_Allreduce"];
    loop {
        let path = operations[rng.random_range(0..operations.len())];
        let bounds: Vec<Bound> = (0..rng.random_range(1..3)).map(|_| Bound::draw(rng)).collect();
        let growth = bounds_growth(&bounds);
        let volume = move |x: &[f64]| 8.0 * bounds.iter().map(|b| b.trips(x)).product::<f64>();
        let nameable = growth.iter().all(|e| ExponentSets::default().exponents.contains(e));
        if !(64.0..1e11).contains(&volume(&TEST)) || !nameable {
            continue;
        }
        let (alpha, beta) = (1e-6 * rng.random_range(1.0..50.0), 1e-10 * rng.random_range(1.0..9.0));
        let bytes = volume.clone();
        let seconds = move |x: &[f64]| {
            let share = (x[0] - 1.0) / x[0];
            let (latency, per_byte) = match path {
                "MPI_Send" => (alpha, beta),
                "MPI_Bcast" => (alpha * x[0].log2(), beta),
                "MPI_Reduce" | "MPI_Allreduce" => (alpha * x[0].log2(), beta + share * 1e-10),
                _ => (alpha * x[0].log2(), beta * share),
            };
            latency + per_byte * volume(x)
        };
        return Program {
            path,
            counts: vec![
                ("bytes_sent", Box::new(bytes.clone())),
                ("bytes_received", Box::new(bytes)),
                ("visits", Box::new(|_| 1.0)),
                ("comm_size", Box::new(|x| x[0])),
            ],
            seconds: Box::new(seconds),
            growth,
            text: path.to_owned(),
        };
    }
}

/// Artificial noise: level and pattern.
#[derive(Clone, Copy, Debug)]
enum Pattern {
    None,
    Uniform,
    Normal,
    Exponential,
}

fn artificial(rng: &mut StdRng, pattern: Pattern) -> f64 {
    match pattern {
        Pattern::None => 0.0,
        Pattern::Uniform => rng.random(),
        Pattern::Normal => loop {
            let z: f64 = StandardNormal.sample(rng);
            if (0.0..=1.0).contains(&z) {
                break z;
            }
        },
        Pattern::Exponential => {
            let e: f64 = Exp1.sample(rng);
            e.min(1.0)
        }
    }
}

fn measured(rng: &mut StdRng, seconds: f64, pattern: Pattern, level: f64) -> f64 {
    let background: f64 = StandardNormal.sample(rng);
    seconds * (1.0 + BACKGROUND * background).max(0.1) * (1.0 + level * artificial(rng, pattern))
}

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
