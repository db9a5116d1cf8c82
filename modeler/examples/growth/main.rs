//! How often the growth of counts is found: `cargo run --release -p modeler --example growth [functions [seed
//! [verbose]]]`.
//!
//! Counts have no noise, so what is measured is the search for the function behind them, on two kinds of functions:
//! nests of loops as in `nests`, and what `benchgen` draws, as in `generated`. Points are p 128..2048 by n 8000..40000;
//! growth and error are judged at p = 4096, n = 48000.

mod generated;
mod nests;

use modeler::experiment::{ExperimentBuilder, Metric};
use modeler::model::{Exponent, Model, Term};
use modeler::{Experiment, Options, fit};

/// Numbers of ranks.
const P: [f64; 5] = [128.0, 256.0, 512.0, 1024.0, 2048.0];
/// Sizes.
const N: [f64; 5] = [8000.0, 16000.0, 24000.0, 32000.0, 40000.0];
/// Where growth and error are judged.
const TEST: [f64; 2] = [4096.0, 48000.0];

/// A function of the point p, n.
type Function = Box<dyn Fn(&[f64]) -> f64>;

/// A count of which the growth is known.
struct Case {
    /// The exact count.
    count: Function,
    /// Leading exponents in p and n over the terms of at least 1 % at the test point.
    growth: [Exponent; 2],
    /// What it is, for people.
    text: String,
}

/// Cases of one kind.
struct Group {
    name: String,
    /// Name of the innermost function and of the metric.
    callpath: &'static str,
    metric: &'static str,
    cases: Vec<Case>,
}

/// Leading exponents of p and n over the terms, of value and exponents, of at least 1 %.
fn leading(terms: &[(f64, [Exponent; 2])]) -> [Exponent; 2] {
    let total: f64 = terms.iter().map(|t| t.0).sum();
    let matter = || terms.iter().filter(|t| t.0.abs() >= 0.01 * total.abs());
    [0, 1].map(|l| matter().map(|t| t.1[l]).max().unwrap_or_default())
}

fn growth_of(model: &Model) -> [Exponent; 2] {
    let exponent =
        |t: &Term, l: usize| t.factors.iter().find(|f| f.parameter == l).map_or(Exponent::default(), |f| f.exponent);
    let mut terms: Vec<_> = model.terms.iter().map(|t| (t.at(&TEST), [0, 1].map(|l| exponent(t, l)))).collect();
    terms.push((model.constant, [Exponent::default(); 2]));
    leading(&terms)
}

fn experiment(group: &Group) -> Experiment {
    let mut builder = ExperimentBuilder::new(["p", "n"]);
    let metric = builder.metric(Metric { name: group.metric.into(), unit: String::new(), over_ranks: None });
    for (i, case) in group.cases.iter().enumerate() {
        let callpath = builder.callpath(["main", &format!("f{i}"), group.callpath]);
        for x in P.iter().flat_map(|&p| N.map(|n| [p, n])) {
            let point = builder.point(&x);
            builder.add(callpath, metric, point, (case.count)(&x));
        }
    }
    builder.finish()
}

/// Fits the group and prints a line about it; the cases whose growth is wrong or whose value is off by more than 1 %
/// too if `verbose`.
fn judge(group: &Group, verbose: bool) {
    let experiment = experiment(group);
    let start = std::time::Instant::now();
    let fits = fit(&experiment, &Options::default());
    let seconds = start.elapsed().as_secs_f64();
    let (mut right, mut errors) = (0, Vec::new());
    for (case, model) in group.cases.iter().zip(&fits.models) {
        let error = (model.at(&TEST) / (case.count)(&TEST) - 1.0).abs();
        let is_right = growth_of(model) == case.growth;
        if verbose && (!is_right || error > 0.01) {
            let [p, n] = case.growth;
            println!("  {} p^{p} n^{n}, off by {:.4}", if is_right { "right" } else { "WRONG" }, error);
            println!("      is    {}", case.text);
            println!("      found {}", model.expression(&experiment.parameters));
        }
        right += usize::from(is_right);
        errors.push(error);
    }
    let n = group.cases.len() as f64;
    let mean = errors.iter().sum::<f64>() / n;
    let beyond = errors.iter().filter(|e| **e > 0.01).count() as f64 / n;
    println!(
        "{:<36}{:>6}{:>9.2}{:>9.3}{:>9.2}{:>9.0}",
        group.name,
        group.cases.len(),
        100.0 * right as f64 / n,
        100.0 * mean,
        100.0 * beyond,
        n / seconds
    );
}

fn main() {
    let argument = |i: usize| std::env::args().nth(i);
    let functions: usize = argument(1).and_then(|a| a.parse().ok()).unwrap_or(100);
    let seed: u64 = argument(2).and_then(|a| a.parse().ok()).unwrap_or(1);
    let verbose = argument(3).is_some();
    println!("right: leading exponents right, in %; error: mean of the count at the test point, in %;");
    println!("beyond: functions with more than 1 % of error, in %; speed: fits per second");
    println!("{:<36}{:>6}{:>9}{:>9}{:>9}{:>9}", "kind", "number", "right", "error", "beyond", "speed");
    let mut groups = nests::groups(functions, seed);
    groups.extend(generated::groups(functions, seed));
    let wanted = argument(3).unwrap_or_default();
    for group in groups.iter().filter(|g| wanted == "verbose" || g.name.contains(&wanted)) {
        judge(group, verbose);
    }
}
