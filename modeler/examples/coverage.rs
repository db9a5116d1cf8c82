//! How often intervals of models from times alone hold a new measurement: `cargo run --release -p modeler --example coverage -- [SERIES
//! [SEED]]`.
//!
//! So many series (1200) of each design are times of known functions under noise of 3 or 20 %, symmetric or exponential, each alone in its
//! experiment. An interval of 90 % at twice, or four times, the largest values of all parameters should hold 90 % of new measurements there.

use modeler::experiment::{ExperimentBuilder, Metric};
use modeler::{Experiment, Options, fit};
use rand::{SeedableRng, rngs::StdRng};
use rand_distr::{Distribution, Exp1, StandardNormal};
use std::process::ExitCode;

const P: [f64; 5] = [4.0, 8.0, 16.0, 32.0, 64.0];
const N: [f64; 5] = [100.0, 200.0, 300.0, 400.0, 500.0];

/// Where is measured, and how often.
struct Design {
    name: &'static str,
    points: Vec<Vec<f64>>,
    repetitions: usize,
}

fn designs() -> [Design; 5] {
    let line = || P.iter().map(|&p| vec![p]).collect();
    let cross = || P.iter().map(|&p| vec![p, N[0]]).chain(N[1..].iter().map(|&n| vec![P[0], n])).collect();
    let grid = || P.iter().flat_map(|&p| N.iter().map(move |&n| vec![p, n])).collect();
    let of = |name, points, repetitions| Design { name, points, repetitions };
    [
        of("5 values", line(), 1),
        of("5 values, 5 times", line(), 5),
        of("cross of 9", cross(), 1),
        of("cross of 9, 5 times", cross(), 5),
        of("5 x 5", grid(), 1),
    ]
}

const OF_P: [fn(f64) -> f64; 9] = [
    |_| 5.0,
    |p| 5.0 + 0.2 * p.log2(),
    |p| 2.0 + 0.1 * p,
    |p| 0.05 * p * p.log2(),
    |p| 1.0 + 200.0 / p,
    |p| 20.0 / p + p.log2(),
    |p| 0.5 * p.sqrt(),
    |p| 3.0 + 0.002 * p * p,
    |p| 1.0 + 0.3 * p.log2().powi(2),
];

const OF_BOTH: [fn(f64, f64) -> f64; 8] = [
    |p, n| 5.0 + 0.2 * p.log2() + 1e-4 * n * n,
    |p, n| 2.0 + 1e-6 * n.powi(3) / p,
    |p, n| 0.01 * n * p.log2(),
    |p, n| 1.0 + 1e-3 * n * p.sqrt(),
    |p, n| 0.1 * p + 0.02 * n,
    |p, n| 1e-3 * n * n.log2() / p + 0.1 * p.log2(),
    |_, n| 0.5 + 1e-5 * n * n,
    |_, _| 5.0,
];

/// The undisturbed time of one of the functions, in seconds.
fn seconds(function: usize, x: &[f64]) -> f64 {
    match *x {
        [p] => OF_P[function % OF_P.len()](p),
        [p, n] => OF_BOTH[function % OF_BOTH.len()](p, n),
        _ => unreachable!("designs have one or two parameters"),
    }
}

/// The factor that noise of a level makes of a time.
type Noise = fn(f64, &mut StdRng) -> f64;

fn symmetric(level: f64, rng: &mut StdRng) -> f64 {
    let normal: f64 = StandardNormal.sample(rng);
    (1.0 + level * normal).max(0.05)
}

fn exponential(level: f64, rng: &mut StdRng) -> f64 {
    let tail: f64 = Exp1.sample(rng);
    1.0 + level * tail
}

fn measured(design: &Design, mut measure: impl FnMut(&[f64]) -> f64) -> Experiment {
    let mut builder = ExperimentBuilder::new(["p", "n"][..design.points[0].len()].iter().copied());
    let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
    let callpath = builder.callpath(["solve"]);
    for x in &design.points {
        let point = builder.point(x);
        (0..design.repetitions).for_each(|_| builder.add(callpath, time, point, measure(x)));
    }
    builder.finish()
}

fn print(design: &Design, (name, noise, level): (&str, Noise, f64), factor: f64, series: usize, rng: &mut StdRng) {
    let largest = |l: usize| design.points.iter().map(|x| x[l]).fold(0.0, f64::max);
    let target: Vec<f64> = (0..design.points[0].len()).map(|l| factor * largest(l)).collect();
    let (mut below, mut above) = (0, 0);
    let (mut low, mut high, mut with_quotients) = (0.0, 0.0, 0.0);
    for function in 0..series {
        let experiment = measured(design, |x| seconds(function, x) * noise(level, rng));
        let there = fit(&experiment, &Options::default()).models[0].predict(&target, 0.9);
        let new = seconds(function, &target) * noise(level, rng);
        below += usize::from(new < there.lower);
        above += usize::from(new > there.upper);
        // What falls to zero there has no quotients.
        if there.value > 0.0 {
            low += (there.value / there.lower).ln();
            high += (there.upper / there.value).ln();
            with_quotients += 1.0;
        }
    }
    let n = series as f64;
    let percent = |count: usize| 100.0 * count as f64 / n;
    println!(
        "{:<20} {name:<12} {:>3.0} % {factor:>7.0} x {:>7.1} % {:>6.1} % {:>6.1} % {:>8.2} {:>6.2}",
        design.name,
        100.0 * level,
        percent(series - below - above),
        percent(below),
        percent(above),
        (low / with_quotients).exp(),
        (high / with_quotients).exp()
    );
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).map(|word| word.parse::<u64>());
    let (Ok(series), Ok(seed)) = (words.next().unwrap_or(Ok(1200)), words.next().unwrap_or(Ok(1))) else {
        eprintln!("The number of series and the seed are whole numbers.");
        return ExitCode::FAILURE;
    };
    println!(
        "inside, below, above: new measurements that are inside the interval, below it, above it; of the value by its"
    );
    println!("lower end and of its upper end by the value: geometric means");
    println!("design               noise       level    target   inside   below   above value/low high/value");
    for design in designs() {
        for (name, noise) in [("symmetric", symmetric as Noise), ("exponential", exponential)] {
            for level in [0.03, 0.2] {
                let rng = &mut StdRng::seed_from_u64(seed);
                for factor in [2.0, 4.0] {
                    print(&design, (name, noise, level), factor, series as usize, rng);
                }
            }
        }
    }
    ExitCode::SUCCESS
}
